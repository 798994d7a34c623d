//! Accesses whose form depends on a type that is not known yet.
//!
//! `p.x` needs the struct, and `p(i)` is a call or an index. If the type of `p` is unknown, the
//! expression is an [`Access`] with an inference variable as its type, and later code may determine the
//! type of `p`. An access is *solved* when that has happened: it gets the tree that it would have had. Types that
//! stay unknown are assumed to be functions, if they are called.

use nyala_span::Span;
use nyala_syntax::ast::{self, Dialect, FieldName, MarkKind};

use crate::checker::Checker;
use crate::errors::{Because, Error, Write};
use crate::tree::{Expr, ExprKind};
use crate::types::{Ty, TyKind};

use super::call::{Callee, literal_index};
use super::operator::Obligation;
use super::unify::VarKind;

/// An access to a value of unknown type.
pub(super) struct Access {
    base: Expr,
    form: Form,
    /// The type of the result.
    ty: Ty,
    span: Span,
    /// The writes to the place that it is.
    writes: Vec<Write>,
    /// Whether its address is taken.
    is_addressed: bool,
}

/// What is written behind the value.
enum Form {
    /// `.f`, `.0`
    Field(FieldName),
    /// `(a, b)`: a call or an index. A single literal can be the number of a tuple's element.
    Apply { args: Vec<Expr>, literal: Option<u64>, mark: Option<MarkKind> },
}

/// The accesses of a body, by the number in their `ExprKind::Deferred`.
#[derive(Default)]
pub(crate) struct Accesses {
    slots: Vec<Slot>,
    /// The numbers of those that are not solved, in order.
    pending: Vec<u32>,
}

enum Slot {
    Pending(Box<Access>),
    Solved(Box<Expr>),
    /// It is being solved.
    Taken,
}

impl Accesses {
    /// The tree of an access, if it is solved.
    pub(super) fn solved(&self, number: u32) -> Option<&Expr> {
        match &self.slots[number as usize] {
            Slot::Solved(expr) => Some(expr),
            _ => None,
        }
    }

    /// Records a write to the place that an unsolved access is.
    pub(super) fn add_write(&mut self, number: u32, write: Write) {
        if let Slot::Pending(access) = &mut self.slots[number as usize] {
            access.writes.push(write);
        }
    }

    /// Records that the address of an unsolved access is taken.
    pub(super) fn take_address(&mut self, number: u32) {
        if let Slot::Pending(access) = &mut self.slots[number as usize] {
            access.is_addressed = true;
        }
    }
}

impl<'a> Checker<'a> {
    /// `p.x`, where the type of `p` is unknown.
    pub(super) fn defer_field(&mut self, base: Expr, field: FieldName, span: Span) -> Expr {
        self.defer_access(base, Form::Field(field), span)
    }

    /// `p(a)`, where the type of `p` is unknown.
    pub(super) fn defer_call(
        &mut self,
        base: Expr,
        args: &'a [ast::Expr],
        mark: Option<MarkKind>,
        span: Span,
    ) -> Expr {
        let literal = match args {
            [arg] => literal_index(arg),
            _ => None,
        };
        let args = args.iter().map(|arg| self.infer_expr(arg, None)).collect();
        self.defer_access(base, Form::Apply { args, literal, mark }, span)
    }

    fn defer_access(&mut self, base: Expr, form: Form, span: Span) -> Expr {
        self.watch(base.ty);
        let ty = self.fresh_general(span);
        let accesses = &mut self.body.accesses;
        let number = accesses.slots.len() as u32;
        let access = Access { base, form, ty, span, writes: vec![], is_addressed: false };
        accesses.slots.push(Slot::Pending(Box::new(access)));
        accesses.pending.push(number);
        Expr { kind: ExprKind::Deferred(number), ty, span }
    }

    /// Whether the type is unknown, also after the accesses that can be solved are.
    pub(super) fn is_unknown(&mut self, ty: Ty) -> bool {
        let is_unknown = |this: &mut Self| this.as_var(ty).is_some_and(|var| var.kind == VarKind::General);
        is_unknown(self) && (!self.solve_accesses() || is_unknown(self))
    }

    /// Solves accesses if that may determine `ty`.
    pub(super) fn solve_for(&mut self, ty: Ty) {
        self.is_unknown(ty);
    }

    /// Solves the accesses whose types are known by now; whether there were any.
    pub(super) fn solve_accesses(&mut self) -> bool {
        let mut is_any = false;
        while self.is_woken() {
            for number in std::mem::take(&mut self.body.accesses.pending) {
                match self.base_of(number) {
                    Some(ty) if self.as_var(ty).is_some() => self.body.accesses.pending.push(number),
                    _ => {
                        self.solve_access(number);
                        is_any = true;
                    }
                }
            }
        }
        is_any
    }

    /// Solves all accesses at the end of a body. What is called and stays unknown is a function. A field of an
    /// unknown type is reported with the type.
    pub(super) fn finish_accesses(&mut self) {
        self.solve_accesses();
        let mut at = 0;
        while let Some(&number) = self.body.accesses.pending.get(at) {
            if self.assume_function(number) {
                self.solve_accesses();
                at = 0;
            } else {
                at += 1;
            }
        }
    }

    fn base_of(&self, number: u32) -> Option<Ty> {
        match &self.body.accesses.slots[number as usize] {
            Slot::Pending(access) => Some(access.base.ty),
            _ => None,
        }
    }

    /// Makes the type of a callee a function of its arguments.
    fn assume_function(&mut self, number: u32) -> bool {
        let Slot::Pending(access) = &self.body.accesses.slots[number as usize] else { return false };
        let Form::Apply { args, .. } = &access.form else { return false };
        let params: Vec<Ty> = args.iter().map(|arg| arg.ty).collect();
        let (base, ty, span) = (access.base.ty, access.ty, access.base.span);
        if !self.is_unknown(base) {
            return false;
        }
        let function = self.program.types.func(&params, ty);
        if !self.unify(base, function) {
            self.report(Error::InfiniteType { span });
            let error = self.program.types.error();
            self.unify(base, error);
        }
        true
    }

    fn solve_access(&mut self, number: u32) {
        let slot = std::mem::replace(&mut self.body.accesses.slots[number as usize], Slot::Taken);
        let Slot::Pending(access) = slot else { return };
        let Access { base, form, ty, span, writes, is_addressed } = *access;
        let value = match form {
            Form::Field(field) => self.field_of(base, &field, span),
            Form::Apply { args, literal, mark } => self.apply(base, args, literal, mark, span),
        };
        for write in writes {
            self.check_writable(&value, write);
        }
        if is_addressed {
            self.take_address(&value);
            // The type of the address was made before its space was known.
            if self.space_of(&value) != 0 {
                self.report(Error::CannotInfer { what: "the type of this".into(), span, name: None });
            }
        }
        if self.is_never(value.ty) && self.as_var(ty).is_some() {
            self.mark_diverging(ty);
            self.unify(ty, value.ty);
        }
        let value = self.coerce(value, ty, Because::Nothing);
        self.body.accesses.slots[number as usize] = Slot::Solved(Box::new(value));
    }

    /// `f(a, b)` or `a(i)`, with arguments that are checked already.
    fn apply(
        &mut self,
        base: Expr,
        mut args: Vec<Expr>,
        literal: Option<u64>,
        mark: Option<MarkKind>,
        span: Span,
    ) -> Expr {
        let ty = self.resolve(base.ty);
        if let TyKind::Fn { params, ret } = self.program.types.kind(ty).clone() {
            let callee = Callee { expr: base, params: params.into_vec(), ret };
            return self.apply_fn(callee, args, mark, span);
        }
        let whole = base.ty;
        let base = self.auto_deref(base);
        let ty = self.resolve(base.ty);
        match self.program.types.kind(ty).clone() {
            TyKind::Array(elem, _) | TyKind::Slice(elem) | TyKind::Simd(elem, _) if args.len() == 1 => {
                let index = args.remove(0);
                self.indexed(base, elem, index, span)
            }
            TyKind::Array(..) | TyKind::Slice(_) | TyKind::Simd(..) => {
                self.report(Error::IndexCount { found: args.len(), span });
                self.error_expr(span)
            }
            TyKind::Tuple(parts) if !parts.is_empty() => match literal {
                Some(index) => self.tuple_part(base, &parts, index, span, span),
                None => {
                    let ty = self.shown(ty);
                    self.report(Error::TupleIndex { ty, span });
                    self.error_expr(span)
                }
            },
            TyKind::Error => self.error_expr(span),
            TyKind::Struct(..) | TyKind::Enum(..) if self.has_call_operator(&base, args.len()) => {
                let all = [base].into_iter().chain(args).collect();
                self.overloaded_call(all, mark, span)
            }
            _ => {
                let ty = self.shown(whole);
                self.report(Error::NotCallable { ty, span: base.span });
                self.error_expr(span)
            }
        }
    }

    /// `base(index)` for an array or vector with such elements. In each lane of a vector of indices, it is another
    /// element.
    pub(super) fn indexed(&mut self, base: Expr, elem: Ty, index: Expr, span: Span) -> Expr {
        let (index_ty, base_ty) = (self.resolve(index.ty), self.resolve(base.ty));
        let is_array = !matches!(self.program.types.kind(base_ty), TyKind::Simd(..));
        let ty = match *self.program.types.kind(index_ty) {
            TyKind::Simd(lane, lanes) if is_array => {
                self.body.obligations.push(Obligation::Index { ty: lane, span: index.span });
                self.in_lanes(elem, lanes, span)
            }
            _ => {
                self.body.obligations.push(Obligation::Index { ty: index_ty, span: index.span });
                elem
            }
        };
        Expr { kind: ExprKind::Index { base: Box::new(base), index: Box::new(index) }, ty, span }
    }

    /// The type of what each lane reads from a place of its own, of type `elem`: of a vector, its own element.
    pub(super) fn in_lanes(&mut self, elem: Ty, lanes: Ty, span: Span) -> Ty {
        self.has_vector_control = true;
        let resolved = self.resolve(elem);
        if let TyKind::Simd(_, own) = *self.program.types.kind(resolved)
            && self.try_unify(own, lanes)
        {
            return resolved;
        }
        // The elements of a slice are accessed, not the slice.
        if let TyKind::Slice(_) = self.program.types.kind(resolved) {
            return self.program.types.vector(resolved, lanes);
        }
        match self.lane(resolved, span) {
            Some(lane) => self.program.types.vector(lane, lanes),
            None => self.program.types.error(),
        }
    }

    /// Of a place that each lane has for itself, the type there and the number of lanes.
    pub(super) fn own_place(&mut self, place: &Expr) -> Option<(Ty, Ty)> {
        match &place.kind {
            ExprKind::Deref(pointer) => {
                let ty = self.resolve(pointer.ty);
                let TyKind::Simd(pointer, lanes) = *self.program.types.kind(ty) else { return None };
                let pointer = self.resolve(pointer);
                let TyKind::Ptr { pointee, .. } = *self.program.types.kind(pointer) else { return None };
                Some((pointee, lanes))
            }
            ExprKind::Field { base, index } => {
                let (ty, lanes) = self.own_place(base)?;
                let ty = self.resolve(ty);
                match self.program.types.kind(ty).clone() {
                    TyKind::Struct(id, args) => Some((self.field_type(id, &args, *index), lanes)),
                    TyKind::Tuple(parts) => Some((parts[*index as usize], lanes)),
                    _ => None,
                }
            }
            ExprKind::Index { base, index } => {
                let own = self.own_place(base);
                let index = self.resolve(index.ty);
                let of_index = match *self.program.types.kind(index) {
                    TyKind::Simd(_, lanes) => Some(lanes),
                    _ => None,
                };
                let array = own.map_or(base.ty, |(ty, _)| ty);
                let array = self.resolve(array);
                match *self.program.types.kind(array) {
                    TyKind::Array(elem, _) | TyKind::Slice(elem) => {
                        Some((elem, own.map(|(_, lanes)| lanes).or(of_index)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn apply_fn(&mut self, callee: Callee, mut args: Vec<Expr>, mark: Option<MarkKind>, span: Span) -> Expr {
        let mut params = callee.params.clone();
        if args.len() > 1 && self.packs_arguments(&callee, args.len()) {
            let tys: Vec<Ty> = args.iter().map(|arg| arg.ty).collect();
            let ty = self.program.types.tuple(&tys);
            args = vec![Expr { kind: ExprKind::Tuple(args), ty, span }];
        } else if args.len() == params.len() + 1
            && !self.is_never(callee.ret)
            && args.last().is_some_and(|last| self.can_be_continuation(last.ty))
        {
            params.push(self.program.types.continuation(callee.ret));
        }
        if args.len() != params.len() {
            self.report_argument_count(&callee, args.len(), span);
            return self.error_expr(span);
        }
        let args = self.coerce_all(args, &params);
        self.build_call(callee, args, mark, span)
    }

    /// Whether the body is in Artic.
    pub(super) fn is_artic(&self) -> bool {
        self.body.home.dialect == Dialect::Artic
    }
}
