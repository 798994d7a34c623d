//! Calls of functions: of the program, and of the outside.

use nyala_ir::{Cont, Def, Linkage, Ty, TyKind};
use nyala_span::Span;

use super::function::FunctionWriter;
use super::is_data;

/// A result of more words than this may be returned through memory, which the
/// caller owns: its frame is needed until then.
const MAX_RESULT_WORDS: usize = 2;

impl FunctionWriter<'_, '_> {
    /// Calls a function of the program.
    pub(crate) fn call_function(&mut self, cont: Cont, args: &[Def]) {
        let world = self.world;
        let span = world.cont(cont).span;
        let ret = self.return_arg(args);
        let results = self.module.result_types(ret.map(|ret| world.ty(ret)));
        let (name, ty) = (self.module.function_name(cont), self.module.types.results(&results));
        let typed: Vec<String> = self.typed_data(args);
        let call = format!("call tailcc {ty} {name}({})", typed.join(", "));
        if self.may_give_up_frame(ret, &ty, &results) {
            return self.tail_call(&call, &ty);
        }
        let values = self.finish_call(&call, &ty, results.len());
        match ret {
            Some(ret) => self.go_on(ret, &values, span),
            None => self.line("unreachable"),
        }
    }

    /// Calls a function that does not return.
    pub(crate) fn call_and_stop(&mut self, cont: Cont, values: &[String]) {
        let name = self.module.function_name(cont);
        let params = self.module.data_params(cont);
        let typed: Vec<String> = params
            .iter()
            .zip(values)
            .map(|(&param, value)| format!("{} {value}", self.module.ty_of(param)))
            .collect();
        self.line(format!("call tailcc void {name}({})", typed.join(", ")));
        self.line("unreachable");
    }

    /// Whether nothing is left to do after a call with this return point.
    fn may_give_up_frame(&mut self, ret: Option<Def>, ty: &str, results: &[Ty]) -> bool {
        let returns_there = ret == self.function.ret;
        let words: usize = results.iter().map(|&ty| self.words(ty)).sum();
        self.frees_frame && returns_there && words <= MAX_RESULT_WORDS && ty == self.result()
    }

    /// How many scalars a value has.
    fn words(&self, ty: Ty) -> usize {
        match self.world.types.kind(ty) {
            TyKind::Prim(_) | TyKind::Ptr { .. } => 1,
            _ => MAX_RESULT_WORDS + 1,
        }
    }

    fn tail_call(&mut self, call: &str, ty: &str) {
        if ty == "void" {
            self.line(format!("musttail {call}"));
            return self.line("ret void");
        }
        let result = self.compute("result", format!("musttail {call}"));
        self.line(format!("ret {ty} {result}"));
    }

    pub(crate) fn finish_call(&mut self, call: &str, ty: &str, n_results: usize) -> Vec<String> {
        if ty == "void" {
            self.line(call);
            return vec![];
        }
        let all = self.compute("result", call);
        self.split_results(ty, all, n_results)
    }

    /// Calls a C function, or one that LLVM knows.
    pub(crate) fn call_outside(&mut self, cont: Cont, name: &str, args: &[Def], span: Span) {
        let world = self.world;
        let is_device = matches!(world.cont(cont).linkage, Linkage::Device(_));
        if is_device && !name.starts_with("llvm.") {
            self.module.unsupported(span, format!("the device function `{name}` on the host"));
            return self.line("unreachable");
        }
        let ret = self.return_arg(args);
        let results = self.module.result_types(ret.map(|ret| world.ty(ret)));
        let data: Vec<Def> = args.iter().copied().filter(|&arg| is_data(world, world.ty(arg))).collect();
        let ty = self.module.types.results(&results);
        let values = match is_device {
            true => {
                let params: Vec<String> = data.iter().map(|&arg| self.module.ty_of(arg)).collect();
                let symbol = self.module.declare(name, &ty, &params, span);
                let typed = self.typed_data(&data);
                self.finish_call(&format!("call {ty} {symbol}({})", typed.join(", ")), &ty, results.len())
            }
            false => {
                let params: Vec<Ty> = data.iter().map(|&arg| world.ty(arg)).collect();
                let border = self.module.border(&params, &results, span);
                let symbol = self.module.declare(name, &border.result_type(), &border.param_types(), span);
                let values = self.data_values(&data);
                let result = border.call(self, &symbol, &values);
                result.map_or(vec![], |all| self.split_results(&ty, all, results.len()))
            }
        };
        match ret {
            Some(ret) => self.go_on(ret, &values, span),
            None => self.line("unreachable"),
        }
    }

    /// Calls a function of the runtime or of the C library from within an operation.
    pub(crate) fn call_library(
        &mut self,
        name: &str,
        result: &str,
        params: &[&str],
        args: &[String],
    ) -> String {
        let types: Vec<String> = params.iter().map(|&ty| ty.to_owned()).collect();
        let symbol = self.module.declare(name, result, &types, self.span);
        let typed: Vec<String> = types.iter().zip(args).map(|(ty, arg)| format!("{ty} {arg}")).collect();
        self.compute("call", format!("call {result} {symbol}({})", typed.join(", ")))
    }

    fn typed_data(&mut self, args: &[Def]) -> Vec<String> {
        let world = self.world;
        let is_data = |&&arg: &&Def| is_data(world, world.ty(arg));
        args.iter().filter(is_data).map(|&arg| self.typed(arg)).collect()
    }
}
