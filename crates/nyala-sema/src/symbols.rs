//! Symbols: what the linker sees of a program.
//!
//! A symbol is exported once. Several declarations may import one C function, and a declaration may import what
//! the program exports itself; then their types must agree. Where two imports disagree, one of them is wrong, but
//! the program may never call it: a warning. Where an import disagrees with the definition in the same program, it
//! is an error.
//!
//! Types agree if a caller of one may call the other with C's calling convention: addresses are addresses, and
//! integers of one size are the same. Two different aggregates are not compared.

use nyala_span::{Code, Diagnostic, Name, Span};
use rustc_hash::FxHashMap;

use crate::tree::{Abi, Function, Linkage, Program};
use crate::types::{Ty, TyKind};

/// Variadic functions of C. Each use has its own declaration.
const VARIADIC: &[&str] = &[
    "asprintf", "dprintf", "execl", "execle", "execlp", "fcntl", "fprintf", "fscanf", "fwprintf", "fwscanf",
    "ioctl", "mremap", "open", "openat", "prctl", "printf", "ptrace", "scanf", "semctl", "snprintf",
    "sprintf", "sscanf", "swprintf", "swscanf", "syscall", "syslog", "wprintf", "wscanf",
];

/// Reports symbols that are exported twice, and declarations of one symbol whose types disagree.
pub(crate) fn check(program: &Program, is_foreign: &dyn Fn(Span) -> bool) -> Vec<Diagnostic> {
    let mut reports = vec![];
    let exports = exports(program, &mut reports);
    let mut imports: FxHashMap<Name, Vec<&Function>> = FxHashMap::default();
    for function in program.fns.values() {
        let Linkage::Import { abi: Abi::C, symbol } = function.linkage else { continue };
        if let Some(Some(definition)) = exports.get(&symbol).map(|export| export.function)
            && !agree(program, definition, function)
        {
            reports.push(import_of_export(program, symbol, function, definition, is_foreign));
        }
        let earlier = imports.entry(symbol).or_default();
        let clash = earlier.iter().find(|other| !agree(program, other, function));
        if let Some(clash) = clash.filter(|_| !VARIADIC.contains(&symbol.as_str())) {
            reports.push(two_imports(program, symbol, function, clash));
        }
        // A declaration that agrees with an earlier one adds nothing.
        if earlier.is_empty() || clash.is_some() && earlier.len() < MAX_COMPARED {
            earlier.push(function);
        }
    }
    reports.retain(|report| !is_foreign(report.primary.span));
    reports
}

/// At most this many declarations of one symbol are compared with each other.
const MAX_COMPARED: usize = 16;

/// The export of a symbol.
struct Export<'p> {
    span: Span,
    /// None for a static.
    function: Option<&'p Function>,
}

fn exports<'p>(program: &'p Program, reports: &mut Vec<Diagnostic>) -> FxHashMap<Name, Export<'p>> {
    let functions = program.fns.iter().filter_map(|(id, function)| match function.linkage {
        Linkage::Export(symbol) => Some((symbol, function)),
        Linkage::Internal if program.main == Some(id) => Some((Name::new("main"), function)),
        _ => None,
    });
    let functions = functions
        .map(|(symbol, function)| (symbol, Export { span: function.span, function: Some(function) }));
    let statics = program.statics.values().filter_map(|item| match item.linkage {
        Linkage::Export(symbol) => Some((symbol, Export { span: item.span, function: None })),
        _ => None,
    });
    let mut exports: FxHashMap<Name, Export<'p>> = FxHashMap::default();
    for (symbol, export) in functions.chain(statics) {
        match exports.get(&symbol) {
            Some(first) => {
                let message = format!("the symbol `{symbol}` is exported twice");
                reports.push(
                    Diagnostic::error(Code("E0424"), export.span, message)
                        .with_secondary(first.span, "first exported here"),
                );
            }
            None => {
                exports.insert(symbol, export);
            }
        }
    }
    exports
}

/// A C function is declared with two types.
fn two_imports(program: &Program, symbol: Name, function: &Function, other: &Function) -> Diagnostic {
    let message = format!("the C function `{symbol}` is declared with two types");
    Diagnostic::warning(Code("W0011"), function.span, message)
        .with_label(format!("declared as `{}`", program.types.display(function.ty)))
        .with_secondary(other.span, format!("declared as `{}`", program.types.display(other.ty)))
        .with_note("calls with the wrong type pass arguments and results in the wrong registers")
}

/// A function that the program exports is declared with another type. A declaration of the prelude or another
/// library only causes a warning: most programs do not call it.
fn import_of_export(
    program: &Program,
    symbol: Name,
    import: &Function,
    definition: &Function,
    is_foreign: &dyn Fn(Span) -> bool,
) -> Diagnostic {
    let declared = format!("declared as `{}`", program.types.display(import.ty));
    let defined = format!("exported as `{}`", program.types.display(definition.ty));
    match is_foreign(import.span) {
        true => {
            let message = format!("a library declares `{symbol}` with another type");
            Diagnostic::warning(Code("W0011"), definition.span, message)
                .with_label(defined)
                .with_secondary(import.span, declared)
                .with_note("functions of the library that call it call this one")
        }
        false => {
            let message = format!("the exported function `{symbol}` is declared with another type");
            Diagnostic::error(Code("E0425"), import.span, message)
                .with_label(declared)
                .with_secondary(definition.span, defined)
        }
    }
}

/// Whether calls of one function may reach the other.
fn agree(program: &Program, a: &Function, b: &Function) -> bool {
    let types = &program.types;
    let (Some((params_a, result_a)), Some((params_b, result_b))) = (types.as_fn(a.ty), types.as_fn(b.ty))
    else {
        return true;
    };
    let passed = |params: &[Ty]| -> Vec<Ty> {
        params.iter().copied().filter(|&param| !is_unit(program, param)).collect()
    };
    let (params_a, params_b) = (passed(params_a), passed(params_b));
    params_a.len() == params_b.len()
        && params_a.iter().zip(&params_b).all(|(&a, &b)| values_agree(program, a, b))
        && results_agree(program, result_a, result_b)
}

/// A caller may ignore a result, and a function may never return.
fn results_agree(program: &Program, a: Ty, b: Ty) -> bool {
    let is_none = |ty| is_unit(program, ty) || matches!(program.types.kind(ty), TyKind::Never);
    is_none(a) || is_none(b) || values_agree(program, a, b)
}

fn values_agree(program: &Program, a: Ty, b: Ty) -> bool {
    let is_address = |kind: &TyKind| matches!(kind, TyKind::Ptr { .. } | TyKind::Fn { .. });
    match (program.types.kind(a), program.types.kind(b)) {
        _ if a == b => true,
        (TyKind::Prim(a), TyKind::Prim(b)) => a.is_int() && b.is_int() && a.bits() == b.bits(),
        (a, b) if is_address(a) || is_address(b) => is_address(a) && is_address(b),
        (TyKind::Prim(_), _) | (_, TyKind::Prim(_)) => false,
        _ => true,
    }
}

fn is_unit(program: &Program, ty: Ty) -> bool {
    matches!(program.types.kind(ty), TyKind::Tuple(parts) if parts.is_empty())
}
