//! How blocks begin and end: with jumps, branches, returns and calls; and what is called.

use nyala_ir::functions::Targets;
use nyala_ir::{Cont, Def, External, Function, Intrinsic, Node, Prim, Ty};

use super::expr::{Expr, list};
use super::function::FunctionWriter;
use crate::errors::CodegenError;
use crate::skeleton::Printer;
use crate::skeleton::flow::Flow;
use crate::skeleton::program::{Call, Callee};

impl<'w> Printer<'w> for FunctionWriter<'_, 'w> {
    type Value = Expr;

    fn flow(&self) -> &Flow<'w> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<'w> {
        &mut self.flow
    }

    fn begin_block(&mut self) {
        self.begin();
    }

    fn write_operation(&mut self, def: Def) {
        self.operation(def);
    }

    fn value(&mut self, def: Def) -> Expr {
        FunctionWriter::value(self, def)
    }

    fn jump(&mut self, block: usize, values: &[Expr]) {
        self.pass(block, values);
        self.go_to_block(block);
    }

    fn branch(&mut self, cond: Def, then: Def, other: Def) {
        let cond = self.value(cond);
        self.line(format!("if ({}) {{", cond.bare()));
        self.nested(|writer| writer.go_to(then));
        self.line("} else {");
        self.nested(|writer| writer.go_to(other));
        self.line("}");
    }

    fn switch(&mut self, value: Def, default: Def, cases: &[(Def, Def)]) {
        let value = self.value(value);
        self.line(format!("switch ({}) {{", value.bare()));
        for &(literal, target) in cases {
            let literal = self.value(literal);
            self.line(format!("case {literal}:"));
            self.nested(|writer| writer.go_to(target));
        }
        self.line("default:");
        self.nested(|writer| writer.go_to(default));
        self.line("}");
    }

    fn return_values(&mut self, values: &[Expr]) {
        match values {
            [] => self.line("return;"),
            [one] => self.line(format!("return {one};")),
            several => {
                let result = self.result();
                self.line(format!("return ({result}){{ {} }};", list(several)));
            }
        }
    }

    fn return_to(&mut self, _: Def, _: &[Expr]) {
        self.reject("a return continuation that is a value on OpenCL devices".into());
    }

    /// C demands a value where the function ends.
    fn unreachable(&mut self) {
        let results = self.flow.program.results_of(self.flow.function);
        match &results[..] {
            [] => self.line("return;"),
            [ty] if self.world.types.as_prim(*ty).is_some() => self.line("return 0;"),
            _ => {
                let ty = self.result();
                self.line(format!("return ({ty}){{0}};"));
            }
        }
    }

    fn call(&mut self, callee: Callee<'w>, call: &Call) -> Option<Vec<Expr>> {
        match callee {
            Callee::Function(_) | Callee::Value(_) if call.is_passing => {
                self.reject("a return continuation that is a value on OpenCL devices".into());
                None
            }
            Callee::Function(cont) => Some(self.call_function(cont, call)),
            Callee::Value(_) => {
                self.reject("a function that is a value on OpenCL devices".into());
                None
            }
            Callee::External { name, .. } => Some(self.call_external(name, call)),
            Callee::Intrinsic(intrinsic) => self.intrinsic(intrinsic, call),
        }
    }

    fn reject(&mut self, what: String) {
        self.module.unsupported(self.flow.span(), what);
    }
}

impl FunctionWriter<'_, '_> {
    fn call_function(&mut self, cont: Cont, call: &Call) -> Vec<Expr> {
        let name = self.module.name(cont);
        let mut args = self.values_of(&call.args);
        let shared = self.module.shared.get(&cont).cloned().unwrap_or_default();
        args.extend(shared.into_iter().map(|shared| Expr::atom(shared.name)));
        self.finish_call(&format!("{name}({})", list(&args)), &call.results)
    }

    /// Writes a call; gives its results.
    fn finish_call(&mut self, call: &str, results: &[Ty]) -> Vec<Expr> {
        match results {
            [] => {
                self.line(format!("{call};"));
                vec![]
            }
            [one] => vec![self.compute(*one, "result", call)],
            several => {
                let (ty, all) = (self.module.types.tuple(several), self.temporary("results"));
                self.line(format!("{ty} {all} = {call};"));
                (0..several.len()).map(|index| Expr::atom(format!("{all}.e{index}"))).collect()
            }
        }
    }

    /// The results of a call that is not supported and was reported.
    pub(super) fn no_results(results: &[Ty]) -> Vec<Expr> {
        vec![Expr::atom("0"); results.len()]
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, call: &Call) -> Option<Vec<Expr>> {
        match intrinsic {
            Intrinsic::ReserveShared => match self.reserved_here() {
                Some(name) => Some(vec![Expr::atom(name)]),
                None => {
                    let at = self.world.cont(self.flow.function.entry).span;
                    self.module.unsupported(at, "shared memory of unknown size");
                    None
                }
            },
            Intrinsic::PeInfo | Intrinsic::PeAssert | Intrinsic::PeExpect => Some(vec![]),
            Intrinsic::PeCost => Some(vec![Expr::atom("0")]),
            Intrinsic::Fence => {
                self.line("mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
                Some(vec![])
            }
            Intrinsic::Atomic
            | Intrinsic::AtomicLoad
            | Intrinsic::AtomicStore
            | Intrinsic::CmpXchg
            | Intrinsic::CmpXchgWeak => Some(self.atomic(intrinsic, call)),
            // Of another shape than the verifier accepts, or for the host only.
            Intrinsic::Branch
            | Intrinsic::Switch
            | Intrinsic::Unreachable
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
            | Intrinsic::ExecuteGraph => {
                self.reject(format!("`{}` on OpenCL devices", intrinsic.name()));
                None
            }
        }
    }

    /// The shared memory that the current block reserves.
    fn reserved_here(&self) -> Option<String> {
        let block = self.flow.cont(self.flow.current());
        let reserved = self.module.shared.get(&self.flow.function.entry)?;
        reserved.iter().find(|shared| shared.at == block).map(|shared| shared.name.clone())
    }

    /// Calls a function of OpenCL C.
    fn call_external(&mut self, name: &str, call: &Call) -> Vec<Expr> {
        if let Some(External {
            function: Function::Atomic(function),
            targets: Targets { opencl: true, .. },
            ..
        }) = External::named(name)
        {
            return self.atomic_by_name(function, name, call);
        }
        let values: Vec<String> = call.args.iter().map(|&arg| self.operand(arg)).collect();
        let is_float =
            |&arg: &Def| self.world.types.as_prim(self.world.ty(arg)).is_none_or(|prim| prim.is_float());
        let are_floats = call.args.iter().all(is_float);
        let Some(known) = known_function(name, are_floats) else {
            let (at, name) = (self.flow.span(), name.into());
            self.module.errors.push(CodegenError::NotOnDevice { at, name, device: "OpenCL devices" });
            return FunctionWriter::no_results(&call.results);
        };
        let values = match (known, call.args.first().and_then(|&format| self.text(format))) {
            // Drivers demand a literal.
            ("printf", Some(format)) => std::iter::once(format).chain(values.into_iter().skip(1)).collect(),
            _ => values,
        };
        let text = format!("{known}({})", values.join(", "));
        let text = match call.results[..] {
            [one] if self.world.types.as_prim(one) == Some(Prim::F16) => self.module.rounded(&text, 1),
            _ => text,
        };
        self.finish_call(&text, &call.results)
    }

    /// A constant string, as a literal of C.
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

/// The name of a function in OpenCL C, which overloads it for all types of numbers.
fn known_function(name: &str, are_floats: bool) -> Option<&str> {
    let external = External::named(name).filter(|external| external.targets.opencl)?;
    match external.function {
        Function::Number(number) => number.info().opencl.filter(|_| are_floats || external.written.is_none()),
        _ => Some(name),
    }
}
