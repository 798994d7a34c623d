//! What is known about functions of the outside, for LLVM to use.
//!
//! No function of the outside unwinds: the language has no exceptions. The runtime's
//! functions are ours, so we know what memory they touch. LLVM knows the C
//! library itself, but has to assume that mathematical functions set `errno`, which
//! no program of ours can see.

/// How a function is declared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    /// Attributes of its result.
    pub(crate) result: &'static str,
    /// A parameter, and its attributes.
    pub(crate) param: Option<(usize, &'static str)>,
    /// Its own attributes.
    pub(crate) function: &'static str,
}

/// Touches no memory.
const PURE: &str = "nounwind willreturn memory(none)";
/// Touches memory of its own only.
const OWN_MEMORY: &str = "nounwind willreturn memory(inaccessiblemem: readwrite)";
/// Also reads what its arguments point to.
const READS: &str = "nounwind willreturn memory(argmem: read, inaccessiblemem: readwrite)";
/// New memory, as many bytes as the second argument says.
const ALLOCATES: &str = "nounwind willreturn allockind(\"alloc,uninitialized\") allocsize(1) \
                         memory(inaccessiblemem: readwrite) \"alloc-family\"=\"anydsl\"";
/// Ends the life of such memory.
const RELEASES: &str = "nounwind willreturn allockind(\"free\") \
                        memory(argmem: readwrite, inaccessiblemem: readwrite) \"alloc-family\"=\"anydsl\"";

/// Names of mathematical functions on `f64`; those on `f32` end in `f`.
const MATH: [&str; 32] = [
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "hypot", "log", "log10", "log1p", "log2", "pow",
    "round", "sin", "sinh", "sqrt", "tan", "tanh",
];

/// What is known about a function with this name, result and parameters.
pub(crate) fn known(name: &str, result: &str, params: &[String]) -> Known {
    let is = |at: usize, ty: &str| params.get(at).is_some_and(|param| param == ty);
    let function = match name {
        "anydsl_alloc" if is(1, "i64") => {
            return Known { result: "noalias align 64 ", param: None, function: ALLOCATES };
        }
        "anydsl_alloc_host" | "anydsl_alloc_unified" if is(1, "i64") => {
            return Known { result: "noalias align 4096 ", param: None, function: ALLOCATES };
        }
        "anydsl_release" | "anydsl_release_host" if is(1, "ptr") => {
            return Known { result: "", param: Some((1, "allocptr captures(none)")), function: RELEASES };
        }
        "anydsl_print_string" if is(0, "ptr") => {
            return Known { result: "", param: Some((0, "readonly captures(none)")), function: READS };
        }
        "anydsl_print_i8"
        | "anydsl_print_i16"
        | "anydsl_print_i32"
        | "anydsl_print_i64"
        | "anydsl_print_u8"
        | "anydsl_print_u16"
        | "anydsl_print_u32"
        | "anydsl_print_u64"
        | "anydsl_print_f32"
        | "anydsl_print_f64"
        | "anydsl_print_char"
        | "anydsl_print_flush"
        | "anydsl_random_seed"
        | "anydsl_random_val_f32"
        | "anydsl_random_val_u64"
        | "anydsl_get_micro_time"
        | "anydsl_get_nano_time"
        | "anydsl_get_kernel_time" => OWN_MEMORY,
        "nyala_check_failed" => "cold noreturn nounwind",
        "anydsl_isinff" | "anydsl_isnanf" | "anydsl_isfinitef" | "anydsl_isinf" | "anydsl_isnan"
        | "anydsl_isfinite"
            if result == "i32" =>
        {
            return Known { result: "range(i32 0, 2) ", param: None, function: PURE };
        }
        "nyala_pext" | "nyala_pdep" => PURE,
        _ if is_math(name) => PURE,
        // LLVM's own are known to it.
        _ if name.starts_with("llvm.") => "",
        _ => "nounwind",
    };
    Known { function, ..Known::default() }
}

fn is_math(name: &str) -> bool {
    MATH.contains(&name) || name.strip_suffix('f').is_some_and(|name| MATH.contains(&name))
}
