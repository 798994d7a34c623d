//! How blocks begin and end: with jumps, branches, returns and calls.

use nyala_ir::{Def, Node, Ty, TyKind};
use rustc_hash::FxHashSet;

use super::function::FunctionWriter;
use super::value::Type;
use crate::skeleton::Printer;
use crate::skeleton::flow::Flow;
use crate::skeleton::program::{Call, Callee};

impl<'w> Printer<'w> for FunctionWriter<'_, 'w> {
    type Value = String;

    fn flow(&self) -> &Flow<'w> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<'w> {
        &mut self.flow
    }

    fn begin_block(&mut self) {
        let block = self.flow.current();
        self.begin(block);
        self.accesses.begin_block(self.world, self.flow.operations(block));
        self.declare_params(block);
    }

    fn write_operation(&mut self, def: Def) {
        self.debug.at = self.world.span_of(def);
        if let Some(value) = self.operation(def) {
            self.declare_value(def, &value);
            self.set(def, value);
        }
        self.debug.at = self.flow.span();
    }

    fn value(&mut self, def: Def) -> String {
        FunctionWriter::value(self, def)
    }

    fn jump(&mut self, block: usize, values: &[String]) {
        let label = self.pass(block, values);
        let unrolling = self.unrolling(block);
        self.line(format!("br label %{label}{unrolling}"));
    }

    fn branch(&mut self, cond: Def, then: Def, other: Def) {
        let cond = self.typed(cond);
        let (then, other) = (self.target(then), self.target(other));
        self.line(format!("br {cond}, label %{then}, label %{other}"));
    }

    fn switch(&mut self, value: Def, default: Def, cases: &[(Def, Def)]) {
        let last = self.last_option(value, cases);
        let (value, default) = (self.typed(value), self.target(default));
        // Only the last option is left, so nothing else needs a target.
        let (otherwise, last) = match last {
            Some(last) => {
                let last = format!(" {} {last}, label %{default}", value.ty);
                (self.detour(|writer| writer.line("unreachable")), last)
            }
            None => (default, String::new()),
        };
        let mut text = format!("switch {value}, label %{otherwise} [");
        for &(literal, target) in cases {
            text += &format!(" {}, label %{}", self.typed(literal), self.target(target));
        }
        self.line(text + &last + " ]");
    }

    fn return_values(&mut self, values: &[String]) {
        let result = self.result();
        match values {
            [] => self.line("ret void"),
            [one] => self.line(format!("ret {result} {one}")),
            several => {
                let types = self.flow.program.results_of(self.flow.function);
                let all = self.build_struct(&result, &types, several);
                self.line(format!("ret {result} {all}"));
            }
        }
    }

    fn return_to(&mut self, ret: Def, values: &[String]) {
        self.call_return_continuation(ret, values);
    }

    fn unreachable(&mut self) {
        self.line("unreachable");
    }

    fn call(&mut self, callee: Callee<'w>, call: &Call) -> Option<Vec<String>> {
        match callee {
            Callee::Function(cont) => self.call_function(cont, call),
            Callee::Value(value) => self.call_value(value, call),
            Callee::External { name, is_device } => self.call_external(name, is_device, call),
            Callee::Intrinsic(intrinsic) => self.intrinsic(intrinsic, call),
        }
    }

    fn reject(&mut self, what: String) {
        self.module.unsupported(self.flow.span(), what);
    }
}

impl FunctionWriter<'_, '_> {
    /// The option of an enum that `cases` do not have, if there is one, and the value is which option it is.
    fn last_option(&self, value: Def, cases: &[(Def, Def)]) -> Option<u64> {
        let Node::VariantTag(of) = self.world.node(value) else { return None };
        let TyKind::Enum(id) = *self.world.types.kind(self.world.ty(of)) else { return None };
        let options = self.world.types.enums[id].options.len() as u64;
        let taken: FxHashSet<u64> =
            cases.iter().filter_map(|&(literal, _)| self.world.as_lit(literal)).collect();
        let mut left = (0..options).filter(|option| !taken.contains(option));
        left.next().filter(|_| left.next().is_none())
    }

    /// The label of a continuation that takes no values.
    fn target(&mut self, target: Def) -> String {
        let block = self.world.as_cont(target).and_then(|cont| self.flow.block_of(cont));
        match block.filter(|&block| block > 0).and_then(|block| self.label_without_params(block)) {
            Some(label) => label.to_owned(),
            None => self.detour(|writer| writer.go_to(target)),
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
}
