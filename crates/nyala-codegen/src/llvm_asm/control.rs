//! How blocks end: with jumps, branches, returns and calls.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::{Def, Intrinsic, Linkage, Node, Ty, TyKind};
use nyala_span::Span;
use rustc_hash::FxHashSet;

use super::function::FunctionWriter;
use super::is_value;
use super::value::Type;

impl FunctionWriter<'_, '_> {
    /// The end of a block: a call of `callee`.
    pub(crate) fn call(&mut self, callee: Def, args: &[Def], span: Span) {
        if Some(callee) == self.function.ret {
            let values = self.values_of(args);
            return self.return_values(&values);
        }
        let Some(cont) = self.world.as_cont(callee) else {
            return self.call_value(callee, args);
        };
        match &self.world.cont(cont).linkage {
            Linkage::Intrinsic(intrinsic) => self.intrinsic(*intrinsic, args, span),
            Linkage::Imported(name) | Linkage::Device(name) => {
                self.call_outside(cont, name.as_str(), args, span)
            }
            Linkage::Internal | Linkage::Exported(_) | Linkage::Debugger => {
                let is_block = self.module.program.get(cont).is_none();
                if is_block || self.is_self_jump(callee, args) {
                    let values = self.values_of(args);
                    self.jump(cont, &values);
                } else {
                    self.call_function(cont, args);
                }
            }
        }
    }

    /// The intrinsics that only move control.
    pub(crate) fn control(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        match (intrinsic, args) {
            (Intrinsic::Branch, &[_, cond, then, other]) => {
                let cond = self.typed(cond);
                let (then, other) = (self.target(then, span), self.target(other, span));
                self.line(format!("br {cond}, label %{then}, label %{other}"));
            }
            (Intrinsic::Switch, [_, value, default, cases @ ..]) => {
                let (last, ty) = (self.last_option(*value, cases), self.module.ty_of(*value));
                let (value, default) = (self.typed(*value), self.target(*default, span));
                // Nothing is left but the last option, so there is nothing else.
                let (otherwise, last) = match last {
                    Some(last) => (
                        self.detour(|writer| writer.line("unreachable")),
                        format!(" {ty} {last}, label %{default}"),
                    ),
                    None => (default, String::new()),
                };
                let mut text = format!("switch {value}, label %{otherwise} [");
                for case in cases.chunks_exact(2) {
                    text += &format!(" {}, label %{}", self.typed(case[0]), self.target(case[1], span));
                }
                text += &last;
                self.line(text + " ]");
            }
            _ => self.line("unreachable"),
        }
    }

    /// The option of an enum that `cases` do not have, if there is one, and the value is which option it is.
    fn last_option(&self, value: Def, cases: &[Def]) -> Option<u64> {
        let Node::VariantTag(of) = self.world.node(value) else { return None };
        let TyKind::Enum(id) = *self.world.types.kind(self.world.ty(of)) else { return None };
        let options = self.world.types.enums[id].options.len() as u64;
        let taken: FxHashSet<u64> =
            cases.chunks_exact(2).filter_map(|case| self.world.as_lit(case[0])).collect();
        let mut left = (0..options).filter(|option| !taken.contains(option));
        left.next().filter(|_| left.next().is_none())
    }

    /// The label of a place that takes no data.
    fn target(&mut self, place: Def, span: Span) -> String {
        let cont = self.world.as_cont(place);
        match cont.and_then(|cont| self.block_label(cont)) {
            Some(label) => label.to_owned(),
            None => self.detour(|writer| writer.call(place, &[], span)),
        }
    }

    /// Goes on after a call, at the place it was told to return to.
    pub(crate) fn go_on(&mut self, place: Def, values: &[String]) {
        if Some(place) == self.function.ret {
            return self.return_values(values);
        }
        match self.world.as_cont(place) {
            Some(block) => self.jump(block, values),
            None => self.leave_to(place, values),
        }
    }

    fn return_values(&mut self, values: &[String]) {
        let result = self.result();
        let types = self.module.result_types(self.function.ret.map(|ret| self.world.ty(ret)));
        match values {
            [] => self.line("ret void"),
            [one] => self.line(format!("ret {result} {one}")),
            several => {
                let all = self.build_struct(&result, &types, several);
                self.line(format!("ret {result} {all}"));
            }
        }
    }

    /// A first-class struct with these parts.
    pub(crate) fn build_struct(&mut self, ty: &Type, parts: &[Ty], values: &[String]) -> String {
        let mut all = "poison".to_owned();
        for (index, (&part, value)) in parts.iter().zip(values).enumerate() {
            let part = self.module.ty(part);
            all = self.compute("all", format!("insertvalue {ty} {all}, {part} {value}, {index}"));
        }
        all
    }

    /// The parts of what a function with several results returns.
    pub(crate) fn split_results(&mut self, ty: &Type, all: String, count: usize) -> Vec<String> {
        match count {
            0 => vec![],
            1 => vec![all],
            _ => {
                (0..count).map(|i| self.compute("result", format!("extractvalue {ty} {all}, {i}"))).collect()
            }
        }
    }

    /// The values of arguments. The function's own place to return to is none.
    pub(crate) fn values_of(&mut self, args: &[Def]) -> Vec<String> {
        let (world, ret) = (self.world, self.function.ret);
        let is_value = |&&arg: &&Def| is_value(world, world.ty(arg)) && Some(arg) != ret;
        args.iter().filter(is_value).map(|&arg| self.value(arg)).collect()
    }

    /// The argument that says where to return to.
    pub(crate) fn return_arg(&self, args: &[Def]) -> Option<Def> {
        args.last().copied().filter(|&last| is_return(&self.world.types, self.world.ty(last)))
    }
}
