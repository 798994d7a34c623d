//! Errors in SIMD mode.

use nyala_span::{Code, Diagnostic, Name, Span};

use crate::types::{Ty, Types};

/// A vector with another number of lanes.
pub(super) fn other_length(types: &Types, ty: Ty, at: Span, lanes: Ty, entered: Span) -> Diagnostic {
    let ty = types.display(ty);
    let lanes = match types.as_number(lanes) {
        Some(1) => "1 lane".into(),
        _ => format!("{} lanes", types.display(lanes)),
    };
    Diagnostic::error(Code("E0450"), at, format!("`{ty}` in SIMD mode of {lanes}"))
        .with_label("this has another number of lanes")
        .with_secondary(entered, format!("SIMD mode of {lanes} begins here"))
}

/// The call of a scalar function.
pub(super) fn scalar_call(name: Option<Name>, at: Span, entered: Span) -> Diagnostic {
    let what =
        name.map_or("a function value of scalar mode".into(), |name| format!("the scalar function `{name}`"));
    Diagnostic::error(Code("E0451"), at, format!("{what} is called in SIMD mode"))
        .with_secondary(entered, "SIMD mode begins here")
        .with_note(
            "`with scalar() { .. }` calls it once, `for lane in for_each_active() { .. }` once for each active lane; a \
             function with vectors among its parameters is called for all lanes",
        )
}

/// A function that only SIMD mode can call is used as a value of scalar mode.
pub(super) fn function_of_lanes(name: Name, declared: Span, at: Span) -> Diagnostic {
    let what = format!("`{name}` calls a parameter in SIMD mode, and is a value of scalar mode here");
    Diagnostic::error(Code("E0451"), at, what)
        .with_label("it can only be called")
        .with_secondary(declared, "SIMD mode begins at its calls")
}

/// Code without a meaning in SIMD mode.
pub(super) fn unsupported(what: &str, at: Span, entered: Span) -> Diagnostic {
    Diagnostic::error(Code("E0452"), at, format!("{what} in SIMD mode"))
        .with_label("not possible here")
        .with_secondary(entered, "SIMD mode begins here")
}

/// A result that is no vector, although lanes may have different ones.
pub(super) fn scalar_result(types: &Types, ty: Ty, at: Span, entered: Span) -> Diagnostic {
    let ty = types.display(ty);
    Diagnostic::error(Code("E0453"), at, format!("lanes may have different results, but `{ty}` is no vector"))
        .with_secondary(entered, "SIMD mode begins here")
}
