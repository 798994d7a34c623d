//! How blocks end: with jumps, branches, returns and calls; and what is called.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::{Cont, Def, External, Function, Intrinsic, Linkage, Node, Prim, Ty};
use nyala_span::Span;

use super::function::FunctionWriter;
use crate::errors::CodegenError;
use crate::llvm_asm::is_value;

impl FunctionWriter<'_, '_> {
    /// The end of a block: a call of `callee`.
    pub(super) fn call(&mut self, callee: Def, args: &[Def], span: Span) {
        if Some(callee) == self.function.ret {
            let values = self.values_of(args);
            return self.return_values(&values);
        }
        let Some(cont) = self.world.as_cont(callee) else {
            self.module.unsupported(span, "a function that is a value on OpenCL devices");
            return;
        };
        match &self.world.cont(cont).linkage {
            Linkage::Intrinsic(intrinsic) => self.intrinsic(*intrinsic, args, span),
            Linkage::Imported(name) | Linkage::Device(name) => self.call_outside(name.as_str(), args, span),
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

    fn call_function(&mut self, cont: Cont, args: &[Def]) {
        let name = self.module.name(cont);
        let (mut values, ret, results) = self.arguments(args);
        let shared = self.module.shared.get(&cont).cloned().unwrap_or_default();
        values.extend(shared.into_iter().map(|shared| shared.name));
        let values = self.finish_call(&format!("{name}({})", values.join(", ")), &results);
        self.go_on(ret, &values);
    }

    /// The values of arguments, where to go on, and the types of the results.
    pub(super) fn arguments(&mut self, args: &[Def]) -> (Vec<String>, Option<Def>, Vec<Ty>) {
        let world = self.world;
        let ret = args.last().copied().filter(|&last| is_return(&world.types, world.ty(last)));
        let given = if ret.is_some() { &args[..args.len() - 1] } else { args };
        let is_value = |&&arg: &&Def| is_value(world, world.ty(arg));
        let values = given.iter().filter(is_value).map(|&arg| self.value(arg)).collect();
        (values, ret, self.module.result_types(ret.map(|ret| world.ty(ret))))
    }

    /// Writes a call; gives its results.
    pub(super) fn finish_call(&mut self, call: &str, results: &[Ty]) -> Vec<String> {
        match results {
            [] => {
                self.line(format!("{call};"));
                vec![]
            }
            [one] => vec![self.compute(*one, "result", call)],
            several => {
                let (ty, all) = (self.module.types.tuple(several), self.temporary("results"));
                self.line(format!("{ty} {all} = {call};"));
                (0..several.len()).map(|index| format!("{all}.e{index}")).collect()
            }
        }
    }

    /// Goes on after a call, at the place it was told to return to.
    pub(super) fn go_on(&mut self, place: Option<Def>, values: &[String]) {
        match place {
            None => self.unreachable(),
            Some(place) if Some(place) == self.function.ret => self.return_values(values),
            Some(place) => match self.world.as_cont(place) {
                Some(block) => self.jump(block, values),
                None => {
                    self.module.unsupported(self.span, "a place to return to that is a value");
                }
            },
        }
    }

    /// Goes on after what cannot be written and was reported.
    pub(super) fn go_on_without(&mut self, place: Option<Def>, results: &[Ty]) {
        let values = vec!["0".to_owned(); results.len()];
        self.go_on(place, &values);
    }

    fn return_values(&mut self, values: &[String]) {
        let result = self.result();
        match values {
            [] => self.line("return;"),
            [one] => self.line(format!("return {one};")),
            several => self.line(format!("return ({result}){{ {} }};", several.join(", "))),
        }
    }

    /// Control never gets here, but C wants to know how the function ends.
    pub(super) fn unreachable(&mut self) {
        let results = self.module.result_types(self.function.ret.map(|ret| self.world.ty(ret)));
        match &results[..] {
            [] => self.line("return;"),
            [ty] if self.world.types.as_prim(*ty).is_some() => self.line("return 0;"),
            _ => {
                let ty = self.result();
                self.line(format!("return ({ty}){{0}};"));
            }
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        match (intrinsic, args) {
            (Intrinsic::Branch, &[_, cond, then, other]) => {
                let cond = self.value(cond);
                self.line(format!("if ({}) {{", without_parentheses(&cond)));
                self.call(then, &[], span);
                self.line("} else {");
                self.call(other, &[], span);
                self.line("}");
            }
            (Intrinsic::Switch, [_, value, default, cases @ ..]) => {
                let value = self.value(*value);
                self.line(format!("switch ({}) {{", without_parentheses(&value)));
                for case in cases.chunks_exact(2) {
                    let value = self.value(case[0]);
                    self.line(format!("case {value}:"));
                    self.call(case[1], &[], span);
                }
                self.line("default:");
                self.call(*default, &[], span);
                self.line("}");
            }
            (Intrinsic::ReserveShared, &[.., ret]) => {
                let at = self.world.cont(self.function.entry);
                let own = self.module.shared.get(&self.function.entry).cloned().unwrap_or_default();
                let block = self.block_that_reserves(args);
                let name = own.into_iter().find(|shared| Some(shared.at) == block).map(|shared| shared.name);
                match name {
                    Some(name) => self.go_on(Some(ret), &[name]),
                    None => drop(self.module.unsupported(at.span, "shared memory of unknown size")),
                }
            }
            (Intrinsic::PeInfo | Intrinsic::PeAssert, &[.., ret]) => self.go_on(Some(ret), &[]),
            (Intrinsic::Fence, &[.., ret]) => {
                self.line("mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
                self.go_on(Some(ret), &[]);
            }
            (Intrinsic::Unreachable, _) => self.unreachable(),
            (
                Intrinsic::Atomic
                | Intrinsic::AtomicLoad
                | Intrinsic::AtomicStore
                | Intrinsic::CmpXchg
                | Intrinsic::CmpXchgWeak,
                _,
            ) => self.atomic(intrinsic, args, span),
            // Of another shape than the verifier accepts, or for the host only.
            (
                Intrinsic::Branch
                | Intrinsic::Switch
                | Intrinsic::ReserveShared
                | Intrinsic::PeInfo
                | Intrinsic::PeAssert
                | Intrinsic::Fence
                | Intrinsic::Vectorize
                | Intrinsic::Parallel
                | Intrinsic::Spawn
                | Intrinsic::Sync
                | Intrinsic::Fibers
                | Intrinsic::Cuda
                | Intrinsic::Nvvm
                | Intrinsic::OpenCl
                | Intrinsic::OpenClSpirv
                | Intrinsic::AmdgpuHsa
                | Intrinsic::AmdgpuPal
                | Intrinsic::LevelZero
                | Intrinsic::Hls
                | Intrinsic::Pipeline
                | Intrinsic::CreateGraph
                | Intrinsic::CreateTask
                | Intrinsic::CreateEdge
                | Intrinsic::ExecuteGraph,
                _,
            ) => drop(self.module.unsupported(span, format!("`{}` on OpenCL devices", intrinsic.name()))),
        }
    }

    /// The block that is being written, if it ends with these arguments.
    fn block_that_reserves(&self, args: &[Def]) -> Option<Cont> {
        let is_it =
            |cont: &&Cont| self.world.cont(**cont).body.as_ref().is_some_and(|body| *body.args == *args);
        self.function.blocks.iter().find(is_it).copied()
    }

    /// Calls a function that OpenCL C knows.
    fn call_outside(&mut self, name: &str, args: &[Def], span: Span) {
        let (_, ret, results) = self.arguments(args);
        let given =
            args.iter().copied().filter(|&arg| Some(arg) != ret && is_value(self.world, self.world.ty(arg)));
        let given: Vec<Def> = given.collect();
        let values: Vec<String> = given.into_iter().map(|arg| self.operand(arg)).collect();
        let is_float =
            |&arg: &Def| self.world.types.as_prim(self.world.ty(arg)).is_none_or(|prim| prim.is_float());
        let are_floats = args.iter().filter(|&&arg| is_value(self.world, self.world.ty(arg))).all(is_float);
        let Some(known) = known_function(name, are_floats) else {
            let error = CodegenError::NotOnDevice { at: span, name: name.into(), device: "OpenCL devices" };
            self.module.errors.push(error);
            return self.go_on_without(ret, &results);
        };
        let values = match (known, args.get(1).and_then(|&format| self.text(format))) {
            // Drivers want to see it.
            ("printf", Some(format)) => std::iter::once(format).chain(values.into_iter().skip(1)).collect(),
            _ => values,
        };
        let call = format!("{known}({})", values.join(", "));
        let call = match results[..] {
            [one] if self.world.types.as_prim(one) == Some(Prim::F16) => self.module.rounded(&call, 1),
            _ => call,
        };
        let values = self.finish_call(&call, &results);
        self.go_on(ret, &values);
    }

    /// A text that is known, as a literal of C.
    fn text(&self, def: Def) -> Option<String> {
        let mut def = def;
        while let Node::Bitcast(from) = self.world.node(def) {
            def = from;
        }
        let Node::Global(global) = self.world.node(def) else { return None };
        let data = self.world.global(global);
        let Node::Aggregate(parts) = self.world.node(data.init.filter(|_| !data.is_mut)?) else {
            return None;
        };
        let bytes: Option<Vec<u64>> =
            self.world.list(parts).iter().map(|&part| self.world.as_lit(part)).collect();
        let letter = |&byte: &u64| match byte as u8 {
            letter @ (b' ' | b'!' | b'#'..=b'[' | b']'..=b'~') => char::from(letter).to_string(),
            byte => format!("\\{byte:03o}"),
        };
        let bytes = bytes?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        Some(format!("\"{}\"", bytes[..end].iter().map(letter).collect::<String>()))
    }
}

/// A value that is written where there are parentheses already. One that is an expression has
/// its own around it.
fn without_parentheses(value: &str) -> &str {
    value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value)
}

/// The name of a function in OpenCL C, which has one name for all types of numbers.
fn known_function(name: &str, are_floats: bool) -> Option<&str> {
    let external = External::named(name).filter(|external| external.targets.opencl)?;
    match external.function {
        Function::Number(number) => number.info().opencl.filter(|_| are_floats || external.written.is_none()),
        _ => Some(name),
    }
}
