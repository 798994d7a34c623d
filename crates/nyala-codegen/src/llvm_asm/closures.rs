//! Functions as values.
//!
//! A function value is a pair: the address of its code and that of its environment, which holds its captures. The
//! code takes the environment as its first parameter. A function without captures has no environment. It may be
//! called directly too, so the code of its value is a wrapper.
//!
//! Environments are immutable. Those of loop bodies that do not outlive the loop are on the stack (see
//! [`Function::may_outlive`](nyala_ir::analysis::Function::may_outlive)); others are on the heap and are never freed.

use nyala_ir::layout::layout;
use nyala_ir::{Cont, Def, Ty, World};

use super::ModuleWriter;
use super::arguments::param_names;
use super::border::{Code, Wrapper};
use super::function::FunctionWriter;
use super::types::FUNCTION;
use super::value::{Type, Value};

/// The type of an environment as a parameter: the function writes nothing that is in it.
pub(crate) const ENVIRONMENT: &str = "ptr noalias readonly";

/// The layout of an environment.
struct Environment {
    offsets: Vec<u64>,
    size: u64,
    align: u64,
}

impl Environment {
    fn new(world: &World, captures: &[Def]) -> Environment {
        let mut environment = Environment { offsets: vec![], size: 0, align: 1 };
        for &capture in captures {
            let layout = layout(&world.types, world.ty(capture));
            let offset = environment.size.next_multiple_of(layout.align);
            environment.offsets.push(offset);
            environment.size = offset + layout.size;
            environment.align = environment.align.max(layout.align);
        }
        environment
    }
}

impl ModuleWriter<'_> {
    /// The value of a function without captures.
    pub(crate) fn function_constant(&mut self, cont: Cont) -> Option<String> {
        let function = self.program.functions.get(cont).filter(|function| function.captures.is_empty())?;
        if let Some(code) = self.wrapper_symbols.values.get(&cont) {
            return Some(format!("{{ ptr {code}, ptr null }}"));
        }
        let results = self.program.result_types(function.ret.map(|ret| self.world.ty(ret)));
        let result = self.types.results(&results);
        let params: Vec<Ty> =
            self.program.value_params(cont).iter().map(|&param| self.world.ty(param)).collect();
        let (given, taken) = (self.arguments(Some(cont), &params), self.arguments(None, &params));
        let mut wrapper = Wrapper::new();
        let (typed, values) = taken.take(&mut wrapper, &param_names(params.len()), &[]);
        let args = given.give(&mut wrapper, &values);
        let (code, callee) = (self.value_name(cont), self.function_name(cont));
        let mut params = vec!["ptr %env".to_owned()];
        params.extend(typed);
        let head =
            format!("define internal {}{result} {code}({}) #0 {{", taken.convention, params.join(", "));
        let call = format!("tail call {}{result} {callee}({})", given.convention, args.join(", "));
        match result {
            Type::Void => {
                wrapper.line(call);
                wrapper.line("ret void".into());
            }
            _ => {
                let value = wrapper.compute("result", call);
                wrapper.line(format!("ret {result} {value}"));
            }
        }
        self.functions.push(format!("{head}\n{}}}\n", wrapper.text()));
        Some(format!("{{ ptr {code}, ptr null }}"))
    }

    fn value_name(&mut self, cont: Cont) -> String {
        let name = format!("@{}", self.names.unique(&format!("{}.value", self.world.cont(cont).name)));
        self.wrapper_symbols.values.insert(cont, name.clone());
        name
    }
}

impl FunctionWriter<'_, '_> {
    /// The attributes of the function's environment.
    pub(crate) fn environment_facts(&self) -> String {
        let Environment { size, align, .. } = Environment::new(self.world, &self.flow.function.captures);
        match size {
            0 => String::new(),
            _ => format!(" noundef nonnull dereferenceable({size}) align {align}"),
        }
    }

    /// Loads the captures of the function from its environment.
    pub(crate) fn open_environment(&mut self, env: &str) {
        let captures = &self.flow.function.captures;
        for (&capture, offset) in captures.iter().zip(Environment::new(self.world, captures).offsets) {
            let at = self.compute("captured", format!("getelementptr inbounds i8, ptr {env}, i64 {offset}"));
            let ty = self.world.ty(capture);
            if self.module.is_large(ty) {
                // Environments are immutable.
                self.set_address(capture, at);
            } else {
                let value = self.load_from(&at, ty);
                self.set(capture, value);
            }
        }
    }

    /// A closure of a function over its captures.
    pub(crate) fn closure(&mut self, cont: Cont) -> String {
        let program = self.module.program.functions;
        let captures = program.captures(cont);
        let Environment { offsets, size, align } = Environment::new(self.world, captures);
        let env = match program.get(cont).is_some_and(|function| function.may_outlive) {
            true => {
                let args = [size, align].map(|number| Value::new(Type::I64, number.to_string()));
                self.call_library("nyala_environment", &Type::PTR, &args)
            }
            false => self.local("env", &Type::array(size, &Type::I8), align),
        };
        for (&capture, offset) in captures.iter().zip(offsets) {
            let at = self.compute("at", format!("getelementptr inbounds i8, ptr {env}, i64 {offset}"));
            self.store_to(&at, capture);
        }
        let code = self.module.function_name(cont);
        closure_value(self, &code, &env)
    }
}

/// The function value with this code and environment.
pub(crate) fn closure_value(to: &mut impl Code, code: &str, environment: &str) -> String {
    to.compute("closure", format!("insertvalue {FUNCTION} {{ ptr {code}, ptr undef }}, ptr {environment}, 1"))
}
