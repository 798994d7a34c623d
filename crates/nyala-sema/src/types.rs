//! The types of the source language, interned.
//!
//! # Function types
//!
//! `fn(A) -> R` and `fn(A, fn(R) -> !) -> !` are one type. Its canonical form here
//! is the direct one. [`Types::func`] turns a function that never returns and
//! whose last parameter is a continuation into a function with a result, if
//! the conversion is reversible:
//!
//! | continuation | result |
//! |---|---|
//! | `fn() -> !` | `()` |
//! | `fn(T) -> !`, `T` no tuple | `T` |
//! | `fn(T, U) -> !` | `(T, U)` |
//! | `fn((T, U)) -> !` | stays: one parameter that is a tuple is another type |
//!
//! So equal types have equal [`Ty`], messages show the form that users write, and an
//! unknown result type can still become a tuple.

mod casts;
mod generic_fn;
mod matching;
mod number;

use std::cell::Cell;
use std::collections::hash_map::Entry;
use std::fmt;

pub use casts::CASTS;
use cranelift_entity::{PrimaryMap, entity_impl};
pub use generic_fn::{FnRef, GenericFn, Signature};
pub use number::{MAX_ARRAY_LEN, MAX_LANES, NumberOp, fits};
use nyala_span::Name;
pub use nyala_span::Prim;
use rustc_hash::FxHashMap;

use nyala_syntax::ast::PtrKind;

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty(u32);
entity_impl!(Ty, "t");

/// A struct of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructId(u32);
entity_impl!(StructId, "struct");

/// An enum of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(u32);
entity_impl!(EnumId, "enum");

/// A type or integer parameter of an item; unique in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TyParam(u32);
entity_impl!(TyParam, "T");

/// An inference variable: a type that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TyVar(u32);
entity_impl!(TyVar, "?");

/// The kinds of types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// The type after an error. It matches every type, so that one mistake is reported once.
    Error,
    /// `!`: the type of an expression that never produces a value.
    Never,
    /// A primitive type.
    Prim(Prim),
    /// `(A, B)`; unit has no elements; no tuple has one element.
    Tuple(Box<[Ty]>),
    /// `[T * n]`; the length is a number.
    Array(Ty, Ty),
    /// `[T]`
    Slice(Ty),
    /// `simd[T * n]`; the lanes are a number. Of a struct, the fields are vectors. See [`Types::vector`].
    Simd(Ty, Ty),
    /// `&T`, `&mut[1] T`, `~T`
    Ptr {
        /// Shared, mutable or owned.
        kind: PtrKind,
        /// The address space; 0 is generic.
        space: u32,
        /// The type of the target.
        pointee: Ty,
    },
    /// `fn(A, B) -> R`; `R` is [`TyKind::Never`] for a continuation.
    Fn {
        /// The parameters.
        params: Box<[Ty]>,
        /// The result.
        ret: Ty,
    },
    /// A struct with its arguments, types and numbers.
    Struct(StructId, Box<[Ty]>),
    /// An enum with its arguments, types and numbers.
    Enum(EnumId, Box<[Ty]>),
    /// A type or integer parameter.
    Param(TyParam),
    /// A generic function as the argument for a parameter of type `fn[A](A) -> A`; see [`Signature`].
    Generic(GenericFn),
    /// A number.
    Number(i128),
    /// A number that depends on parameters; see [`Types::arith`].
    Arith(NumberOp, Ty, Ty),
    /// An inference variable. Exists only while a body is checked.
    Infer(TyVar),
}

impl TyKind {
    /// Calls `visit` on the types that this one is made of. The fields of a struct or enum are not among them.
    pub fn for_each_part(&self, mut visit: impl FnMut(Ty)) {
        match self {
            TyKind::Error
            | TyKind::Never
            | TyKind::Prim(_)
            | TyKind::Param(_)
            | TyKind::Number(_)
            | TyKind::Infer(_) => {}
            TyKind::Tuple(parts)
            | TyKind::Struct(_, parts)
            | TyKind::Enum(_, parts)
            | TyKind::Generic(GenericFn { args: parts, .. }) => parts.iter().copied().for_each(visit),
            TyKind::Array(a, b) | TyKind::Simd(a, b) | TyKind::Arith(_, a, b) => {
                visit(*a);
                visit(*b);
            }
            TyKind::Slice(part) | TyKind::Ptr { pointee: part, .. } => visit(*part),
            TyKind::Fn { params, ret } => {
                params.iter().copied().for_each(&mut visit);
                visit(*ret);
            }
        }
    }
}

/// The kind of a parameter of a generic item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A type.
    Type,
    /// A number that is a value of this integer type.
    Number(Prim),
}

/// A parameter of a generic item.
#[derive(Clone, Copy, Debug)]
pub struct ParamData {
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: ParamKind,
}

/// Facts about a type, stored with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TyInfo {
    /// Its nesting depth; saturates.
    pub depth: u16,
    /// Its number of parts when written out; saturates.
    pub size: u32,
    /// Whether an inference variable occurs in it.
    pub has_infer: bool,
    /// Whether a type parameter occurs in it.
    pub has_param: bool,
    /// Whether the error type occurs in it.
    pub has_error: bool,
}

/// All types of a program.
#[derive(Clone)]
pub struct Types {
    kinds: PrimaryMap<Ty, TyKind>,
    infos: PrimaryMap<Ty, TyInfo>,
    interned: FxHashMap<TyKind, Ty>,
    /// The names of structs, for printing types.
    pub struct_names: PrimaryMap<StructId, Name>,
    /// The names of enums, for printing types.
    pub enum_names: PrimaryMap<EnumId, Name>,
    /// The parameters of generic items.
    pub params: PrimaryMap<TyParam, ParamData>,
    /// The type parameters that stand for a generic function.
    signatures: FxHashMap<TyParam, Signature>,
}

impl Default for Types {
    fn default() -> Types {
        Types::new()
    }
}

impl Types {
    /// Only the primitive types, unit, `!` and the error type.
    pub fn new() -> Types {
        let mut types = Types {
            kinds: PrimaryMap::new(),
            infos: PrimaryMap::new(),
            interned: FxHashMap::default(),
            struct_names: PrimaryMap::new(),
            enum_names: PrimaryMap::new(),
            params: PrimaryMap::new(),
            signatures: FxHashMap::default(),
        };
        // The order that `error`, `never`, `unit` and `prim` rely on.
        types.intern(TyKind::Error);
        types.intern(TyKind::Never);
        types.intern(TyKind::Tuple(Box::new([])));
        for prim in Prim::ALL {
            types.intern(TyKind::Prim(prim));
        }
        types
    }

    /// A new parameter of a generic item.
    pub fn declare_param(&mut self, name: Name, kind: ParamKind) -> TyParam {
        self.params.push(ParamData { name, kind })
    }

    /// The type with this kind. Function types go through [`Types::func`].
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        match self.interned.entry(kind) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.infos.push(info_of(entry.key(), &self.infos));
                let ty = self.kinds.push(entry.key().clone());
                *entry.insert(ty)
            }
        }
    }

    /// The stored facts about `ty`.
    pub fn info(&self, ty: Ty) -> TyInfo {
        self.infos[ty]
    }

    /// The kind of `ty`.
    pub fn kind(&self, ty: Ty) -> &TyKind {
        &self.kinds[ty]
    }

    /// The error type.
    pub fn error(&self) -> Ty {
        Ty(0)
    }

    /// `!`: the type of an expression that never produces a value.
    pub fn never(&self) -> Ty {
        Ty(1)
    }

    /// `()`
    pub fn unit(&self) -> Ty {
        Ty(2)
    }

    /// A primitive type.
    pub fn prim(&self, prim: Prim) -> Ty {
        Ty(3 + prim as u32)
    }

    /// `bool`
    pub fn bool(&self) -> Ty {
        self.prim(Prim::Bool)
    }

    /// `(A, B)`; a tuple of one type is that type.
    pub fn tuple(&mut self, parts: &[Ty]) -> Ty {
        match parts {
            [one] => *one,
            parts => self.intern(TyKind::Tuple(parts.into())),
        }
    }

    /// `simd[elem * lanes]`: of numbers, pointers, structs, enums and functions, a vector. That of a tuple or an
    /// array is the tuple or array of vectors, and vectors in it stay as they are.
    pub fn vector(&mut self, elem: Ty, lanes: Ty) -> Ty {
        match self.kind(elem).clone() {
            TyKind::Tuple(parts) => {
                let parts: Vec<Ty> = parts.iter().map(|&part| self.vector(part, lanes)).collect();
                self.tuple(&parts)
            }
            TyKind::Array(elem, len) => {
                let elem = self.vector(elem, lanes);
                self.intern(TyKind::Array(elem, len))
            }
            TyKind::Slice(elem) => {
                let elem = self.vector(elem, lanes);
                self.intern(TyKind::Slice(elem))
            }
            TyKind::Simd(..) | TyKind::Error | TyKind::Never => elem,
            _ => self.intern(TyKind::Simd(elem, lanes)),
        }
    }

    /// A pointer.
    pub fn ptr(&mut self, kind: PtrKind, space: u32, pointee: Ty) -> Ty {
        self.intern(TyKind::Ptr { kind, space, pointee })
    }

    /// `fn(params) -> ret` in canonical form; see the module documentation.
    pub fn func(&mut self, params: &[Ty], ret: Ty) -> Ty {
        if ret == self.never()
            && let Some((&last, rest)) = params.split_last()
            && let Some(result) = self.result_of_continuation(last)
        {
            return self.intern(TyKind::Fn { params: rest.into(), ret: result });
        }
        self.intern(TyKind::Fn { params: params.into(), ret })
    }

    /// The result type of a function whose last parameter is the continuation `cont`.
    fn result_of_continuation(&mut self, cont: Ty) -> Option<Ty> {
        let TyKind::Fn { params, ret } = self.kind(cont) else { return None };
        if *ret != self.never() {
            return None;
        }
        match &**params {
            [one] if matches!(self.kind(*one), TyKind::Tuple(_)) => None,
            params => {
                let params = params.to_vec();
                Some(self.tuple(&params))
            }
        }
    }

    /// The parameters of the return continuation of a function with this result: the
    /// elements of a tuple, nothing for unit, else the value.
    pub fn result_params(&self, ret: Ty) -> Vec<Ty> {
        match self.kind(ret) {
            TyKind::Tuple(parts) => parts.to_vec(),
            TyKind::Never => vec![],
            _ => vec![ret],
        }
    }

    /// The return continuation `fn(R) -> !` of a function with result `ret`.
    pub fn continuation(&mut self, ret: Ty) -> Ty {
        let params = self.result_params(ret);
        // Not through `func`: a continuation whose last parameter is a
        // continuation is a function like any other.
        let never = self.never();
        self.func(&params, never)
    }

    /// Parameters and result of a function type.
    pub fn as_fn(&self, ty: Ty) -> Option<(&[Ty], Ty)> {
        match self.kind(ty) {
            TyKind::Fn { params, ret } => Some((params, *ret)),
            _ => None,
        }
    }

    /// `ty` with each type parameter replaced by its type in `with`.
    ///
    /// Linear in the number of different types in `ty`, which may be much smaller than its written size.
    pub fn substitute(&mut self, ty: Ty, with: &FxHashMap<TyParam, Ty>) -> Ty {
        if with.is_empty() {
            return ty;
        }
        self.substitute_memo(ty, &mut Substitution { with, done: FxHashMap::default() })
    }

    fn substitute_memo(&mut self, ty: Ty, with: &mut Substitution<'_>) -> Ty {
        if !self.info(ty).has_param {
            return ty;
        }
        if let Some(&done) = with.done.get(&ty) {
            return done;
        }
        let new = self.substitute_parts(ty, with);
        with.done.insert(ty, new);
        new
    }

    fn substitute_parts(&mut self, ty: Ty, with: &mut Substitution<'_>) -> Ty {
        match self.kind(ty).clone() {
            TyKind::Param(param) => with.with.get(&param).copied().unwrap_or(ty),
            TyKind::Error | TyKind::Never | TyKind::Prim(_) | TyKind::Number(_) | TyKind::Infer(_) => ty,
            TyKind::Tuple(parts) => {
                let parts = self.substitute_all(&parts, with);
                self.tuple(&parts)
            }
            TyKind::Array(elem, len) => {
                let elem = self.substitute_memo(elem, with);
                let len = self.substitute_memo(len, with);
                self.intern(TyKind::Array(elem, len))
            }
            TyKind::Slice(elem) => {
                let elem = self.substitute_memo(elem, with);
                self.intern(TyKind::Slice(elem))
            }
            TyKind::Simd(elem, lanes) => {
                let elem = self.substitute_memo(elem, with);
                let lanes = self.substitute_memo(lanes, with);
                self.vector(elem, lanes)
            }
            TyKind::Arith(op, a, b) => {
                let a = self.substitute_memo(a, with);
                let b = self.substitute_memo(b, with);
                self.arith(op, a, b)
            }
            TyKind::Ptr { kind, space, pointee } => {
                let pointee = self.substitute_memo(pointee, with);
                self.ptr(kind, space, pointee)
            }
            TyKind::Fn { params, ret } => {
                let params = self.substitute_all(&params, with);
                let ret = self.substitute_memo(ret, with);
                self.func(&params, ret)
            }
            TyKind::Struct(id, args) => {
                let args = self.substitute_all(&args, with);
                self.intern(TyKind::Struct(id, args.into()))
            }
            TyKind::Enum(id, args) => {
                let args = self.substitute_all(&args, with);
                self.intern(TyKind::Enum(id, args.into()))
            }
            TyKind::Generic(GenericFn { function, args, instance }) => {
                let args = self.substitute_all(&args, with);
                let passed = match function {
                    FnRef::Param(param) => {
                        with.with.get(&param).and_then(|&ty| self.applied(param, ty, &args))
                    }
                    FnRef::Fn(_) => None,
                };
                let same = GenericFn { function, args: args.into(), instance };
                self.intern(TyKind::Generic(passed.unwrap_or(same)))
            }
        }
    }

    fn substitute_all(&mut self, tys: &[Ty], with: &mut Substitution<'_>) -> Vec<Ty> {
        tys.iter().map(|&ty| self.substitute_memo(ty, with)).collect()
    }

    /// `ty` in source syntax; very long types are cut off.
    pub fn display(&self, ty: Ty) -> TyDisplay<'_> {
        TyDisplay { types: self, ty, budget: Cell::new(DISPLAY_PARTS) }
    }
}

/// A substitution and the types it has already rewritten.
struct Substitution<'a> {
    with: &'a FxHashMap<TyParam, Ty>,
    done: FxHashMap<Ty, Ty>,
}

fn info_of(kind: &TyKind, infos: &PrimaryMap<Ty, TyInfo>) -> TyInfo {
    let mut info = TyInfo {
        depth: 0,
        size: 1,
        has_infer: matches!(kind, TyKind::Infer(_)),
        has_param: matches!(
            kind,
            TyKind::Param(_) | TyKind::Generic(GenericFn { function: FnRef::Param(_), .. })
        ),
        has_error: matches!(kind, TyKind::Error),
    };
    kind.for_each_part(|part| {
        let part = infos[part];
        info.depth = info.depth.max(part.depth);
        info.size = info.size.saturating_add(part.size);
        info.has_infer |= part.has_infer;
        info.has_param |= part.has_param;
        info.has_error |= part.has_error;
    });
    info.depth = info.depth.saturating_add(1);
    info
}

/// The maximum number of printed parts of a type.
const DISPLAY_PARTS: u32 = 200;

/// A printable type; see [`Types::display`].
pub struct TyDisplay<'a> {
    types: &'a Types,
    ty: Ty,
    budget: Cell<u32>,
}

impl TyDisplay<'_> {
    fn list(&self, f: &mut fmt::Formatter<'_>, parts: &[Ty]) -> fmt::Result {
        for (i, &part) in parts.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            self.ty(f, part)?;
            if self.budget.get() == 0 {
                break;
            }
        }
        Ok(())
    }

    fn applied(&self, f: &mut fmt::Formatter<'_>, name: Name, args: &[Ty]) -> fmt::Result {
        write!(f, "{name}")?;
        if !args.is_empty() {
            f.write_str("[")?;
            self.list(f, args)?;
            f.write_str("]")?;
        }
        Ok(())
    }

    /// ` * n]`
    fn length(&self, f: &mut fmt::Formatter<'_>, len: Ty) -> fmt::Result {
        f.write_str(" * ")?;
        self.operand(f, len)?;
        f.write_str("]")
    }

    /// A number in parentheses, if it needs them.
    fn operand(&self, f: &mut fmt::Formatter<'_>, number: Ty) -> fmt::Result {
        if !matches!(self.types.kind(number), TyKind::Arith(..)) {
            return self.ty(f, number);
        }
        f.write_str("(")?;
        self.ty(f, number)?;
        f.write_str(")")
    }

    fn arith(&self, f: &mut fmt::Formatter<'_>, op: NumberOp, a: Ty, b: Ty) -> fmt::Result {
        self.operand(f, a)?;
        match self.types.as_number(b) {
            Some(less) if op == NumberOp::Add && less < 0 => write!(f, " - {}", -less),
            _ => {
                write!(f, " {} ", op.symbol())?;
                self.operand(f, b)
            }
        }
    }

    fn ty(&self, f: &mut fmt::Formatter<'_>, ty: Ty) -> fmt::Result {
        let Some(budget) = self.budget.get().checked_sub(1) else { return f.write_str("..") };
        self.budget.set(budget);
        match self.types.kind(ty) {
            TyKind::Error => f.write_str("{error}"),
            TyKind::Never => f.write_str("!"),
            TyKind::Prim(prim) => f.write_str(prim.name()),
            TyKind::Tuple(parts) => {
                f.write_str("(")?;
                self.list(f, parts)?;
                f.write_str(")")
            }
            TyKind::Array(elem, len) => {
                f.write_str("[")?;
                self.ty(f, *elem)?;
                self.length(f, *len)
            }
            TyKind::Slice(elem) => {
                f.write_str("[")?;
                self.ty(f, *elem)?;
                f.write_str("]")
            }
            TyKind::Simd(elem, lanes) => {
                f.write_str("simd[")?;
                self.ty(f, *elem)?;
                self.length(f, *lanes)
            }
            TyKind::Ptr { kind, space, pointee } => {
                let mutable = *kind == PtrKind::Mut;
                f.write_str(if *kind == PtrKind::Owned { "~" } else { "&" })?;
                f.write_str(if mutable { "mut" } else { "" })?;
                match space {
                    0 => f.write_str(if mutable { " " } else { "" })?,
                    space => write!(f, "[{space}]")?,
                }
                self.ty(f, *pointee)
            }
            TyKind::Fn { params, ret } => {
                f.write_str("fn(")?;
                self.list(f, params)?;
                f.write_str(") -> ")?;
                self.ty(f, *ret)
            }
            TyKind::Struct(id, args) => self.applied(f, self.types.struct_names[*id], args),
            TyKind::Enum(id, args) => self.applied(f, self.types.enum_names[*id], args),
            TyKind::Param(param) => write!(f, "{}", self.types.params[*param].name),
            TyKind::Generic(_) => f.write_str("{generic function}"),
            TyKind::Number(value) => write!(f, "{value}"),
            TyKind::Arith(op, a, b) => self.arith(f, *op, *a, *b),
            TyKind::Infer(_) => f.write_str("_"),
        }
    }
}

impl fmt::Display for TyDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.budget.set(DISPLAY_PARTS);
        self.ty(f, self.ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_and_continuation_passing_types_are_equal() {
        let mut types = Types::new();
        let (i32, f32, never) = (types.prim(Prim::I32), types.prim(Prim::F32), types.never());
        let direct = types.func(&[i32], f32);
        let cont = types.func(&[f32], never);
        assert_eq!(direct, types.func(&[i32, cont], never));
        assert_eq!(types.display(direct).to_string(), "fn(i32) -> f32");

        let pair = types.tuple(&[i32, f32]);
        let takes_two = types.func(&[i32, f32], never);
        let takes_pair = types.func(&[pair], never);
        assert_eq!(types.func(&[takes_two], never), types.func(&[], pair));
        assert_ne!(types.func(&[takes_pair], never), types.func(&[], pair));
    }
}
