//! The function that a process starts with.

use nyala_span::Span;

use crate::{Cont, Def, Linkage, Prim, Ty, TyKind, World};

/// Why a program cannot be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoEntry {
    /// It exports no function `main`.
    Missing,
    /// `main` takes or returns something else than a process does.
    Type {
        /// Where it is declared.
        at: Span,
    },
}

/// The types that `main` can have, for messages.
pub const MAIN_TYPES: &str = "a program starts with a `main` that takes no parameters, `argc: i32`, or `argc: i32, \
                              argv: &[&[u8]]` (or `i8`), and returns `i32` or `()`";

/// The continuation that is exported under a symbol.
pub fn exported(world: &World, symbol: &str) -> Option<Cont> {
    let is_it = |linkage: &Linkage| matches!(linkage, Linkage::Exported(name) if name.as_str() == symbol);
    world.conts().find(|(_, data)| is_it(&data.linkage)).map(|(cont, _)| cont)
}

/// The exported `main`, if a process can start with it.
pub fn main(world: &World) -> Result<Cont, NoEntry> {
    let main = exported(world, "main").ok_or(NoEntry::Missing)?;
    match is_entry(world, main) {
        true => Ok(main),
        false => Err(NoEntry::Type { at: world.cont(main).span }),
    }
}

fn is_entry(world: &World, main: Cont) -> bool {
    let kind = |def: &Def| world.types.kind(world.ty(*def));
    let params: Vec<Def> = world.cont(main).params.to_vec();
    let data: Vec<Ty> = params
        .iter()
        .filter(|param| !matches!(kind(param), TyKind::Mem | TyKind::Cn(_)))
        .map(|&param| world.ty(param))
        .collect();
    let args_fit = match data[..] {
        [] => true,
        [argc] => is_i32(world, argc),
        [argc, argv] => is_i32(world, argc) && is_argv(world, argv),
        _ => false,
    };
    let returns: Vec<Def> = params.into_iter().filter(|param| matches!(kind(param), TyKind::Cn(_))).collect();
    let result_fits = match returns[..] {
        [] => true,
        [ret] => match world.types.as_cn(world.ty(ret)) {
            Some([_]) => true,
            Some(&[_, status]) => is_i32(world, status),
            _ => false,
        },
        _ => false,
    };
    args_fit && result_fits
}

fn is_i32(world: &World, ty: Ty) -> bool {
    world.types.as_prim(ty) == Some(Prim::I32)
}

/// Whether this is a pointer to pointers to bytes.
fn is_argv(world: &World, ty: Ty) -> bool {
    let elem = |ty: Ty| match *world.types.kind(ty) {
        TyKind::Ptr { pointee, .. } => match *world.types.kind(pointee) {
            TyKind::Slice(elem) => Some(elem),
            _ => None,
        },
        _ => None,
    };
    let byte = elem(ty).and_then(elem).and_then(|byte| world.types.as_prim(byte));
    matches!(byte, Some(Prim::U8 | Prim::I8))
}
