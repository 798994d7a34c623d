//! Declarations of external functions, once per name.

use std::fmt;

use nyala_span::Span;
use rustc_hash::FxHashSet;

use super::known::{Known, known};
use super::symbols::symbol;
use super::value::{Type, Value};
use super::{Import, ModuleWriter};

/// The declarations of a module.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) text: String,
    /// The symbols that need no declaration any more: they are declared or defined.
    names: FxHashSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Functions that LLVM must have.
    pub(crate) intrinsics: Vec<Import>,
}

impl Declarations {
    /// No declarations yet, and none for these symbols, which the module defines.
    pub(crate) fn besides(defined: impl Iterator<Item = String>) -> Declarations {
        Declarations { names: defined.collect(), ..Declarations::default() }
    }
}

impl ModuleWriter<'_> {
    /// Declares an external function, once per name. Calls have the types of their arguments, so any declaration
    /// will do.
    pub(crate) fn declare(
        &mut self,
        name: &str,
        result: impl fmt::Display,
        params: &[impl fmt::Display],
        span: Span,
    ) -> String {
        let text = symbol(name);
        if self.declarations.names.insert(name.to_owned()) {
            let result = result.to_string();
            let mut params: Vec<String> = params.iter().map(ToString::to_string).collect();
            let Known { result: of_result, param, function } = known(name, &result, &params);
            if let Some((at, attributes)) = param {
                params[at] += &format!(" {attributes}");
            }
            let params = params.join(", ");
            let line = format!("declare {of_result}{result} {text}({params}) {function}");
            self.declarations.text += line.trim_end();
            self.declarations.text.push('\n');
            // Moves between lanes are defined when the machine is known.
            if !name.starts_with(crate::llvm::lane_moves::PREFIX) {
                let is_llvm = name.starts_with("llvm.");
                let list =
                    if is_llvm { &mut self.declarations.intrinsics } else { &mut self.declarations.imports };
                list.push(Import { name: name.to_owned(), span });
            }
        }
        text
    }

    /// Declares an external function by a call of it.
    pub(crate) fn declare_for(&mut self, name: &str, result: &Type, args: &[Value], span: Span) -> String {
        let params: Vec<&Type> = args.iter().map(|arg| &arg.ty).collect();
        self.declare(name, result, &params, span)
    }
}
