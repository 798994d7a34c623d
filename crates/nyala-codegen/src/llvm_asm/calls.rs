//! Calls: of functions of the program, of function values, and of external functions.

use nyala_ir::functions::RuntimeFn;
use nyala_ir::{Cont, Def, Ty, TyKind};

use super::function::FunctionWriter;
use super::value::{Type, Value, list};
use crate::skeleton::program::Call;

/// A larger result may be returned in memory that the caller owns, so the frame of the caller is needed until the
/// callee returns.
const MAX_RESULT_WORDS: usize = 2;

impl FunctionWriter<'_, '_> {
    /// Calls a function of the program; gives its results, or nothing if it is a tail call.
    pub(super) fn call_function(&mut self, cont: Cont, call: &Call) -> Option<Vec<String>> {
        let name = self.module.function_name(cont);
        self.call_code(Some(cont), &name, vec![], call)
    }

    /// Calls a function value.
    pub(super) fn call_value(&mut self, callee: Def, call: &Call) -> Option<Vec<String>> {
        let (code, environment) = self.code_and_environment(callee);
        self.call_code(None, &code, vec![environment], call)
    }

    /// Calls `code`, of a function that is known or not; `typed` are arguments in front of those of the call.
    fn call_code(
        &mut self,
        callee: Option<Cont>,
        code: &str,
        mut typed: Vec<String>,
        call: &Call,
    ) -> Option<Vec<String>> {
        let types: Vec<Ty> = call.args.iter().map(|&arg| self.world.ty(arg)).collect();
        let arguments = self.module.arguments(callee, &types);
        let values: Vec<String> = call.args.iter().map(|&arg| self.value(arg)).collect();
        typed.extend(arguments.give(self, &values));
        let ty = self.module.types.results(&call.results);
        let text = format!("call {}{ty} {code}({})", arguments.convention, typed.join(", "));
        if self.may_give_up_frame(call.ret, &ty, &call.results) {
            self.tail_call(&text, &ty);
            return None;
        }
        let values = self.finish_call(&text, &ty, call.results.len());
        if call.is_passing {
            self.line("ret void");
            return None;
        }
        Some(values)
    }

    /// Passes values to a return continuation that is a value.
    pub(super) fn call_return_continuation(&mut self, ret: Def, values: &[String]) {
        let (code, environment) = self.code_and_environment(ret);
        let taken = self.module.program.result_types(Some(self.world.ty(ret)));
        let mut typed = vec![environment];
        let arguments = self.module.arguments(None, &taken);
        typed.extend(arguments.give(self, values));
        let call = format!("call {}void {code}({})", arguments.convention, typed.join(", "));
        if self.may_give_up_frame(None, &Type::Void, &[]) {
            return self.tail_call(&call, &Type::Void);
        }
        self.line(call);
        let is_passing = self.module.program.functions.styles().is_passing_type(self.world.ty(ret));
        self.line(if is_passing { "ret void" } else { "unreachable" });
    }

    /// The code of a function value, and its environment as an argument.
    fn code_and_environment(&mut self, function: Def) -> (String, String) {
        let pair = self.typed(function);
        let code = self.compute("code", format!("extractvalue {pair}, 0"));
        let environment = self.compute("env", format!("extractvalue {pair}, 1"));
        (code, format!("ptr {environment}"))
    }

    /// Whether a call with this return continuation can be a tail call.
    fn may_give_up_frame(&mut self, ret: Option<Def>, ty: &Type, results: &[Ty]) -> bool {
        let returns_there = ret == self.flow.function.ret;
        let words: usize = results.iter().map(|&ty| self.words(ty)).sum();
        self.frame.is_free_at_tail_calls && returns_there && words <= MAX_RESULT_WORDS && *ty == self.result()
    }

    /// The number of scalars of a value.
    fn words(&self, ty: Ty) -> usize {
        match self.world.types.kind(ty) {
            TyKind::Prim(_) | TyKind::Ptr { .. } => 1,
            TyKind::Cn(_) => 2,
            _ => MAX_RESULT_WORDS + 1,
        }
    }

    /// A call that gives up the frame, as the calling convention guarantees. With `musttail` LLVM would demand that
    /// caller and callee have the same space for arguments on the stack.
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

    /// Calls a C function, one that LLVM knows, or one of devices; gives its results.
    pub(super) fn call_external(&mut self, name: &str, is_device: bool, call: &Call) -> Option<Vec<String>> {
        let (ty, n_results) = (self.module.types.results(&call.results), call.results.len());
        if self.module.options.gpu.is_some() {
            let value = self.call_on_device(name, &call.args, &ty)?;
            return Some(self.split_results(&ty, value, n_results));
        }
        if !is_device {
            return Some(self.call_c(name, &ty, call));
        }
        if let Some(value) = self.device_function_on_host(name, &call.args, &ty) {
            return Some(self.split_results(&ty, value, n_results));
        }
        if !name.starts_with("llvm.") {
            let what = format!("the device function `{name}` on the host");
            self.module.unsupported(self.flow.span(), what);
            self.line("unreachable");
            return None;
        }
        let args: Vec<Value> = call.args.iter().map(|&arg| self.typed(arg)).collect();
        let symbol = self.module.declare_for(name, &ty, &args, self.flow.span());
        Some(self.finish_call(&format!("call {ty} {symbol}({})", list(&args)), &ty, n_results))
    }

    /// Promises LLVM that two pointers lead to different allocations.
    fn assume_separate(&mut self, first: Def, second: Def) {
        let symbol = self.module.declare("llvm.assume", Type::Void, &["i1"], self.flow.span());
        let [first, second] = [first, second].map(|ptr| self.generic(ptr));
        self.line(format!("call void {symbol}(i1 true) [ \"separate_storage\"(ptr {first}, ptr {second}) ]"));
    }

    fn call_c(&mut self, name: &str, ty: &Type, call: &Call) -> Vec<String> {
        if let ([symbol], &[first, second]) = (RuntimeFn::Separate.names(), &*call.args)
            && *symbol == name
        {
            self.assume_separate(first, second);
            return vec![];
        }
        let span = self.flow.span();
        let params: Vec<Ty> = call.args.iter().map(|&arg| self.world.ty(arg)).collect();
        let signature = self.module.c_signature(&params, &call.results, span);
        let symbol = self.module.declare(name, signature.result_type(), &signature.param_types(), span);
        let values: Vec<String> = call.args.iter().map(|&arg| self.value_for_c(arg)).collect();
        let result = signature.call(self, &symbol, &values);
        result.map_or(vec![], |all| self.split_results(ty, all, call.results.len()))
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
        let symbol = self.module.declare_for(name, result, args, self.flow.span());
        self.compute("call", format!("call {attributes}{result} {symbol}({})", list(args)))
    }
}
