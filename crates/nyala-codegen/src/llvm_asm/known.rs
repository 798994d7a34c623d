//! Attributes of external functions.
//!
//! No external function unwinds: the language has no exceptions. It is known which memory the functions of the runtime
//! access. LLVM knows the C library, but has to assume that mathematical functions set `errno`, which programs cannot
//! read.

use nyala_ir::functions::{Effect, External, Function};

/// The attributes of a declaration.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// Attributes of its result, with a blank behind them.
    pub(crate) result: String,
    /// A parameter, and its attributes.
    pub(crate) param: Option<(usize, &'static str)>,
    /// Its own attributes.
    pub(crate) function: &'static str,
}

/// Any other function.
const PLAIN: &str = "nounwind";
/// Accesses no memory.
const PURE: &str = "nounwind willreturn memory(none)";
/// Accesses memory of its own only.
const OWN_MEMORY: &str = "nounwind willreturn memory(inaccessiblemem: readwrite)";
/// Also reads through its arguments.
const READS: &str = "nounwind willreturn memory(argmem: read, inaccessiblemem: readwrite)";
/// Allocates memory; the second argument is the size.
const ALLOCATES: &str = "nounwind willreturn allockind(\"alloc,uninitialized\") allocsize(1) \
                         memory(inaccessiblemem: readwrite) \"alloc-family\"=\"anydsl\"";
/// Releases such memory.
const RELEASES: &str = "nounwind willreturn allockind(\"free\") \
                        memory(argmem: readwrite, inaccessiblemem: readwrite) \"alloc-family\"=\"anydsl\"";

/// The attributes of a function with this name, result and parameters.
pub(crate) fn known(name: &str, result: &str, params: &[String]) -> Known {
    // LLVM knows its intrinsics.
    if name.starts_with("llvm.") {
        return Known::default();
    }
    let function = External::named(name).map(|external| external.function);
    // Any function may have a name that C does not reserve.
    let is_reserved = |function: &Function| match function {
        Function::Number(number) => number.info().is_in_c,
        _ => true,
    };
    let Some(function) = function.filter(is_reserved) else { return Known::function(PLAIN) };
    let is = |at: usize, ty: &str| params.get(at).is_some_and(|param| param == ty);
    let is_flag = matches!(function, Function::Runtime(_)) && result == "i32";
    match function.effect() {
        Effect::Allocates { align } if is(1, "i64") => {
            Known { result: format!("noalias align {align} "), ..Known::function(ALLOCATES) }
        }
        Effect::Releases if is(1, "ptr") => {
            Known { param: Some((1, "allocptr captures(none)")), ..Known::function(RELEASES) }
        }
        Effect::ReadsText if is(0, "ptr") => {
            Known { param: Some((0, "readonly captures(none)")), ..Known::function(READS) }
        }
        Effect::Pure if is_flag => Known { result: "range(i32 0, 2) ".into(), ..Known::function(PURE) },
        Effect::Pure => Known::function(PURE),
        Effect::OwnState => Known::function(OWN_MEMORY),
        Effect::Ends => Known::function("cold noreturn nounwind"),
        Effect::Allocates { .. } | Effect::Releases | Effect::ReadsText | Effect::Any => {
            Known::function(PLAIN)
        }
    }
}

impl Known {
    fn function(function: &'static str) -> Known {
        Known { function, ..Known::default() }
    }
}
