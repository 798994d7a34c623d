//! Errors in SIMD mode.

use nyala_span::{Code, Diagnostic, Name, Span};

use crate::types::{Ty, Types};

/// A vector with another number of lanes.
pub(super) fn other_length(types: &Types, ty: Ty, at: Span, lanes: Ty, entered: Span) -> Diagnostic {
    let (ty, lanes) = (types.display(ty), types.display(lanes));
    Diagnostic::error(Code("E0450"), at, format!("`{ty}` in SIMD mode of {lanes} lanes"))
        .with_label("this has another number of lanes")
        .with_secondary(entered, format!("SIMD mode of {lanes} lanes begins here"))
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
