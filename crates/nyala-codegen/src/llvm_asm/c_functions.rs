//! Function values that are passed to and from C, where a function is the address of its code.
//!
//! A function of the program is passed as the address of a wrapper with the C calling convention. It must capture
//! nothing; otherwise it is reported. A C function that is a result becomes a pair like every function value: code
//! that calls it, and its address as the environment.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::{Cont, Def, Linkage, Ty};
use nyala_span::Span;

use super::arguments::param_names;
use super::border::{Code as _, Wrapper};
use super::function::FunctionWriter;
use super::symbols::symbol;
use super::{ModuleWriter, whole_param};
use crate::errors::CodegenError;
use crate::skeleton::program::is_value;

impl FunctionWriter<'_, '_> {
    /// A value as an argument of a C function.
    pub(crate) fn value_for_c(&mut self, value: Def) -> String {
        if self.world.types.as_cn(self.world.ty(value)).is_none() {
            return self.value(value);
        }
        let known = self.world.as_cont(value).and_then(|cont| self.module.address_for_c(cont));
        known.unwrap_or_else(|| {
            self.module.errors.push(CodegenError::Captures { at: self.flow.span() });
            "poison".into()
        })
    }
}

impl ModuleWriter<'_> {
    /// The address of a function for C; nothing if the function captures values.
    fn address_for_c(&mut self, cont: Cont) -> Option<String> {
        let world = self.world;
        let data = world.cont(cont);
        match &data.linkage {
            Linkage::Exported(name) => return Some(symbol(name.as_str())),
            Linkage::Imported(name) => {
                let (params, results) = self.types_of_function(data.ty);
                let signature = self.c_signature(&params, &results, data.span);
                let (result, params) = (signature.result_type(), signature.param_types());
                return Some(self.declare(name.as_str(), &result, &params, data.span));
            }
            Linkage::Internal | Linkage::Device(_) | Linkage::Intrinsic(_) | Linkage::Debugger => {}
        }
        if let Some(name) = self.wrapper_symbols.for_c.get(&cont) {
            return Some(name.clone());
        }
        let function = self.program.functions.get(cont).filter(|function| function.captures.is_empty())?;
        let name = format!("@{}", self.names.unique(&format!("{}.c", data.name)));
        self.wrapper_symbols.for_c.insert(cont, name.clone());
        let text = self.for_c(function, "internal ", &name);
        self.functions.push(text);
        Some(name)
    }

    /// The code of a function that is the result of a C function.
    pub(crate) fn code_of_result(&mut self, results: &[Ty], at: Span) -> Option<String> {
        let &[function] = results else { return None };
        self.world.types.as_cn(function)?;
        if let Some(name) = self.wrapper_symbols.of_c.get(&function) {
            return Some(name.clone());
        }
        if self.program.functions.styles().is_passing_type(function) {
            return Some(self.unsupported(at, "a function of C where other functions of its type jump away"));
        }
        let (params, results) = self.types_of_function(function);
        let signature = self.c_signature(&params, &results, at);
        let mut code = Wrapper::new();
        let arguments = self.arguments(None, &params);
        let (taken, values) = arguments.take(&mut code, &param_names(params.len()), &[]);
        let values: Vec<String> = params
            .iter()
            .zip(values)
            .map(|(&ty, value)| match self.is_stored_wrongly(ty) {
                true => {
                    let text = self.ty(ty);
                    code.compute("whole", whole_param(&text, &value))
                }
                false => value,
            })
            .collect();
        let value = signature.call(&mut code, "%function", &values);
        let result = self.types.results(&results);
        code.line(value.map_or("ret void".into(), |value| format!("ret {result} {value}")));
        let mut typed = vec!["ptr %function".to_owned()];
        typed.extend(taken);
        let name = format!("@{}", self.names.unique("call_c"));
        self.wrapper_symbols.of_c.insert(function, name.clone());
        let (head, text) =
            (format!("{}{result} {name}({})", arguments.convention, typed.join(", ")), code.text());
        self.functions.push(format!("define internal {head} #0 {{\n{text}}}\n"));
        Some(name)
    }

    /// The parameters and results of functions of a type.
    fn types_of_function(&self, function: Ty) -> (Vec<Ty>, Vec<Ty>) {
        let types = &self.world.types;
        let all = types.as_cn(function).unwrap_or(&[]);
        let ret = all.last().copied().filter(|&last| is_return(types, last));
        let params = if ret.is_some() { &all[..all.len() - 1] } else { all };
        let params = params.iter().copied().filter(|&ty| is_value(self.world, ty)).collect();
        (params, self.program.result_types(ret))
    }
}
