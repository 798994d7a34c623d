//! Calls of functions: of the program, and of the outside.

use nyala_ir::{Cont, Def, Linkage, Ty, TyKind};
use nyala_span::Span;

use super::function::FunctionWriter;
use super::is_value;
use super::value::{Type, Value, list};

/// A result of more words than this may be returned through memory, which the
/// caller owns: its frame is needed until then.
const MAX_RESULT_WORDS: usize = 2;

impl FunctionWriter<'_, '_> {
    /// Calls a function of the program.
    pub(crate) fn call_function(&mut self, cont: Cont, args: &[Def]) {
        let name = self.module.function_name(cont);
        let is_passing = self.module.program.styles().is_passing(cont);
        self.call_code(Some(cont), &name, vec![], args, is_passing);
    }

    /// Calls a function that is a value.
    pub(crate) fn call_value(&mut self, callee: Def, args: &[Def]) {
        let (code, environment) = self.code_and_environment(callee);
        let is_passing = self.module.program.styles().is_passing_type(self.world.ty(callee));
        self.call_code(None, &code, vec![environment], args, is_passing);
    }

    /// Calls `code`, of a function that is known or not; `typed` are arguments in front of `args`.
    fn call_code(
        &mut self,
        callee: Option<Cont>,
        code: &str,
        mut typed: Vec<String>,
        args: &[Def],
        is_passing: bool,
    ) {
        let ret = self.return_arg(args).filter(|_| !is_passing);
        let args = if ret.is_some() { &args[..args.len() - 1] } else { args };
        let world = self.world;
        let data: Vec<Def> = args.iter().copied().filter(|&arg| is_value(world, world.ty(arg))).collect();
        let types: Vec<Ty> = data.iter().map(|&arg| world.ty(arg)).collect();
        let arguments = self.module.arguments(callee, &types);
        let values: Vec<String> = data.iter().map(|&arg| self.value(arg)).collect();
        typed.extend(arguments.give(self, &values));
        let results = self.module.result_types(ret.map(|ret| self.world.ty(ret)));
        let ty = self.module.types.results(&results);
        let call = format!("call {}{ty} {code}({})", arguments.convention, typed.join(", "));
        if self.may_give_up_frame(ret, &ty, &results) {
            return self.tail_call(&call, &ty);
        }
        let values = self.finish_call(&call, &ty, results.len());
        match ret {
            Some(ret) => self.go_on(ret, &values),
            None if is_passing => self.line("ret void"),
            None => self.line("unreachable"),
        }
    }

    /// Goes to a place that is a value.
    pub(crate) fn leave_to(&mut self, place: Def, values: &[String]) {
        let (code, environment) = self.code_and_environment(place);
        let taken = self.module.result_types(Some(self.world.ty(place)));
        let mut typed = vec![environment];
        let arguments = self.module.arguments(None, &taken);
        typed.extend(arguments.give(self, values));
        let call = format!("call {}void {code}({})", arguments.convention, typed.join(", "));
        if self.may_give_up_frame(None, &Type::Void, &[]) {
            return self.tail_call(&call, &Type::Void);
        }
        self.line(call);
        let is_passing = self.module.program.styles().is_passing_type(self.world.ty(place));
        self.line(if is_passing { "ret void" } else { "unreachable" });
    }

    /// The code of a function that is a value, and its environment as an argument.
    fn code_and_environment(&mut self, function: Def) -> (String, String) {
        let pair = self.typed(function);
        let code = self.compute("code", format!("extractvalue {pair}, 0"));
        let environment = self.compute("env", format!("extractvalue {pair}, 1"));
        (code, format!("ptr {environment}"))
    }

    /// Whether nothing is left to do after a call with this return point.
    fn may_give_up_frame(&mut self, ret: Option<Def>, ty: &Type, results: &[Ty]) -> bool {
        let returns_there = ret == self.function.ret;
        let words: usize = results.iter().map(|&ty| self.words(ty)).sum();
        self.frees_frame && returns_there && words <= MAX_RESULT_WORDS && *ty == self.result()
    }

    /// How many scalars a value has.
    fn words(&self, ty: Ty) -> usize {
        match self.world.types.kind(ty) {
            TyKind::Prim(_) | TyKind::Ptr { .. } => 1,
            TyKind::Cn(_) => 2,
            _ => MAX_RESULT_WORDS + 1,
        }
    }

    /// A call that gives up the frame. The calling convention guarantees that; `musttail` would
    /// make LLVM keep the space for arguments as it is, whatever the callee needs.
    fn tail_call(&mut self, call: &str, ty: &Type) {
        if *ty == Type::Void {
            self.line(format!("tail {call}"));
            return self.line("ret void");
        }
        let result = self.compute("result", format!("tail {call}"));
        self.line(format!("ret {ty} {result}"));
    }

    pub(crate) fn finish_call(&mut self, call: &str, ty: &Type, n_results: usize) -> Vec<String> {
        if *ty == Type::Void {
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
        if self.module.options.gpu.is_some() {
            return self.call_on_device(name, args, span);
        }
        let ret = self.return_arg(args);
        let results = self.module.result_types(ret.map(|ret| world.ty(ret)));
        let given = if ret.is_some() { &args[..args.len() - 1] } else { args };
        let data: Vec<Def> = given.iter().copied().filter(|&arg| is_value(world, world.ty(arg))).collect();
        let ty = self.module.types.results(&results);
        let own = if is_device { self.device_function_on_host(name, &data, &ty) } else { None };
        let values = match is_device {
            _ if let Some(value) = own => self.split_results(&ty, value, results.len()),
            true if !name.starts_with("llvm.") => {
                self.module.unsupported(span, format!("the device function `{name}` on the host"));
                return self.line("unreachable");
            }
            true => {
                let args: Vec<Value> = data.iter().map(|&arg| self.typed(arg)).collect();
                let symbol = self.module.declare_for(name, &ty, &args, span);
                self.finish_call(&format!("call {ty} {symbol}({})", list(&args)), &ty, results.len())
            }
            false => {
                let params: Vec<Ty> = data.iter().map(|&arg| world.ty(arg)).collect();
                let border = self.module.border(&params, &results, span);
                let symbol = self.module.declare(name, border.result_type(), &border.param_types(), span);
                let values: Vec<String> = data.iter().map(|&arg| self.value_for_c(arg)).collect();
                let result = border.call(self, &symbol, &values);
                result.map_or(vec![], |all| self.split_results(&ty, all, results.len()))
            }
        };
        match ret {
            Some(ret) => self.go_on(ret, &values),
            None => self.line("unreachable"),
        }
    }

    /// Calls a function of the runtime or of the C library from within an operation.
    pub(crate) fn call_library(&mut self, name: &str, result: &Type, args: &[Value]) -> String {
        self.call_library_with("", name, result, args)
    }

    /// A call whose result has attributes, with a space behind them, that other calls of the function do not have.
    pub(crate) fn call_library_with(
        &mut self,
        attributes: &str,
        name: &str,
        result: &Type,
        args: &[Value],
    ) -> String {
        let symbol = self.module.declare_for(name, result, args, self.span);
        self.compute("call", format!("call {attributes}{result} {symbol}({})", list(args)))
    }
}
