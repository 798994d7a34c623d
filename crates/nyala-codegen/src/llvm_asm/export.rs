//! Exported functions: for each a wrapper with its link name and the C calling convention.

use nyala_ir::analysis::Function;
use nyala_ir::analysis::functions::return_param;
use nyala_ir::layout::sequence;
use nyala_ir::{Linkage, Prim, Ty};

use super::ModuleWriter;
use super::arguments::param_names;
use super::border::{Code, Wrapper};
use super::closures::closure_value;
use super::symbols::symbol;
use super::types::FUNCTION;
use super::value::Type;

impl ModuleWriter<'_> {
    /// Writes the wrapper of an exported function.
    pub(crate) fn export(&mut self, function: &Function) {
        let Linkage::Exported(name) = &self.world.cont(function.entry).linkage else { return };
        if let Some(gpu) = self.options.gpu {
            let text = self.device_export(function, name.as_str(), gpu);
            return self.functions.push(text);
        }
        self.wrappers.push((name.to_string(), function.entry));
        let text = match name.as_str() {
            "main" => self.exported_main(function),
            name => self.for_c(function, "", &symbol(name)),
        };
        self.functions.push(text);
    }

    /// A wrapper with the C calling convention around a function of the program.
    pub(crate) fn for_c(&mut self, function: &Function, linkage: &str, name: &str) -> String {
        let (params, results) = self.signature(function);
        let signature = self.c_signature(&params, &results, self.world.cont(function.entry).span);
        let (mut code, debug) = self.wrapper(function);
        let values = signature.enter(&mut code);
        let value = self.call_inner(&mut code, function, &values);
        signature.give_back(&mut code, value.as_deref());
        let result = signature.result_type();
        let types = signature.param_types().into_iter().enumerate();
        let params: Vec<String> = types.map(|(index, ty)| format!("{ty} %{index}")).collect();
        format!("define {linkage}{result} {name}({}) #0 {debug}{{\n{}}}\n", params.join(", "), code.text())
    }

    /// The wrapper of `main` returns an `int`, whatever the program's `main` returns.
    fn exported_main(&mut self, function: &Function) -> String {
        let (params, results) = self.signature(function);
        let names: Vec<String> = (0..params.len()).map(|index| format!("%{index}")).collect();
        let (mut code, debug) = self.wrapper(function);
        let value = self.call_inner(&mut code, function, &names);
        let status = match (value, &results[..]) {
            (Some(value), &[ty]) => self.exit_status(&mut code, ty, value),
            _ => "0".into(),
        };
        code.line(format!("ret i32 {status}"));
        let params: Vec<String> =
            params.iter().zip(names).map(|(&ty, name)| format!("{} {name}", self.ty(ty))).collect();
        format!("define i32 @main({}) #0 {debug}{{\n{}}}\n", params.join(", "), code.text())
    }

    /// The exit status of `main`: its result if that is an integer, else 0.
    fn exit_status(&mut self, code: &mut Wrapper, ty: Ty, value: String) -> String {
        match self.world.types.as_prim(ty) {
            Some(Prim::I32 | Prim::U32) => value,
            Some(Prim::I64 | Prim::U64) => code.compute("status", format!("trunc i64 {value} to i32")),
            Some(prim) if prim.is_int() || prim == Prim::Bool => {
                let (extend, ty) = (if prim.is_signed() { "sext" } else { "zext" }, self.ty(ty));
                code.compute("status", format!("{extend} {ty} {value} to i32"))
            }
            _ => "0".into(),
        }
    }

    /// A new wrapper of a function, and the debug information of its definition.
    pub(crate) fn wrapper(&mut self, function: &Function) -> (Wrapper, String) {
        let span = self.world.cont(function.entry).span;
        let told = self.debug.as_mut().map(|debug| {
            let scope = debug.function(function.entry, true);
            (format!(", !dbg {}", debug.location(&scope, span)), scope.attachment())
        });
        let (place, attachment) = told.unwrap_or_default();
        (Wrapper::at(place), attachment)
    }

    /// The parameters and results of a function, without its return continuation.
    pub(crate) fn signature(&self, function: &Function) -> (Vec<Ty>, Vec<Ty>) {
        let ret = return_param(self.world, function.entry);
        let params =
            self.program.value_params(function.entry).into_iter().filter(|&param| Some(param) != ret);
        let params = params.map(|param| self.world.ty(param)).collect();
        (params, self.program.result_types(ret.map(|ret| self.world.ty(ret))))
    }

    /// Calls a function of the program; gives its results as one value.
    fn call_inner(&mut self, code: &mut Wrapper, function: &Function, values: &[String]) -> Option<String> {
        let (params, results) = self.signature(function);
        let (inner, result) = (self.function_name(function.entry), self.types.results(&results));
        let arguments = self.arguments(Some(function.entry), &params);
        let args = arguments.give(code, values);
        let is_passing = self.program.functions.styles().is_passing(function.entry);
        if is_passing && return_param(self.world, function.entry).is_some() {
            return self.call_passing_function(code, &inner, args, &results);
        }
        let result = if is_passing { Type::Void } else { result };
        let call = format!("call {}{result} {inner}({})", arguments.convention, args.join(", "));
        if result == Type::Void {
            code.line(call);
            return None;
        }
        Some(code.compute("result", call))
    }

    /// Calls a function that takes its return continuation as a value, with one that stores the results. All calls of
    /// such a program are tail calls, so the return of that continuation returns here.
    fn call_passing_function(
        &mut self,
        code: &mut Wrapper,
        inner: &str,
        mut args: Vec<String>,
        results: &[Ty],
    ) -> Option<String> {
        let ty = self.types.results(results);
        let align = sequence(&self.world.types, results.iter().copied()).align;
        let room = if results.is_empty() { Type::structure(&[]) } else { ty.clone() };
        let kept = code.local("kept", &room, align);
        let ret = self.storing_continuation(results, &ty, align);
        args.push(format!("{FUNCTION} {}", closure_value(code, &ret, &kept)));
        code.line(format!("call {}void {inner}({})", self.convention(), args.join(", ")));
        (!results.is_empty()).then(|| code.compute("result", format!("load {ty}, ptr {kept}, align {align}")))
    }

    /// A return continuation that stores its arguments to its environment.
    pub(crate) fn storing_continuation(&mut self, results: &[Ty], ty: &Type, align: u64) -> String {
        let name = format!("@{}", self.names.unique("done"));
        let types: Vec<Type> = results.iter().map(|&part| self.ty(part)).collect();
        let mut params = vec!["ptr %kept".to_owned()];
        let mut code = Wrapper::new();
        let arguments = self.arguments(None, results);
        let (taken, values) = arguments.take(&mut code, &param_names(results.len()), &[]);
        params.extend(taken);
        let all = match &types[..] {
            [] => None,
            [_] => values.into_iter().next(),
            parts => {
                let parts = parts.iter().zip(values).enumerate();
                Some(parts.fold("poison".to_owned(), |all, (index, (part, value))| {
                    code.compute("all", format!("insertvalue {ty} {all}, {part} {value}, {index}"))
                }))
            }
        };
        if let Some(all) = all {
            code.line(format!("store {ty} {all}, ptr %kept, align {align}"));
        }
        code.line("ret void".into());
        let (head, text) =
            (format!("{}void {name}({})", arguments.convention, params.join(", ")), code.text());
        self.functions.push(format!("define internal {head} #0 {{\n{text}}}\n"));
        name
    }
}
