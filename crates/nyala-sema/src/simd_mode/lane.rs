//! Rewrites code of SIMD mode as that of one lane.

use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::tree::{Coercion, Expr, ExprKind, FnId, Lambda, Local, LocalId, Param, Pat, PatKind, Stmt};
use crate::types::{Ty, TyKind};
use crate::visit;

use super::SimdMode;
use super::build::Intrinsic;
use super::errors;

/// The lanes for which code is rewritten.
pub(super) struct Lanes {
    /// Their number; in a function whose type has no vectors itself, there is none.
    pub(super) lanes: Option<Ty>,
    /// Where SIMD mode begins.
    pub(super) entered: Span,
    pub(super) index: Index,
    /// The variables of one lane, or of the rewritten function, for others.
    pub(super) twins: FxHashMap<LocalId, LocalId>,
    /// Variables with vectors of which there is one for all lanes.
    pub(super) outside: FxHashSet<LocalId>,
    /// Whether the code stays where it is as well, so that it needs variables of its own.
    pub(super) is_copy: bool,
    /// Whether the code becomes a lambda in that of the lane.
    pub(super) is_lambda: bool,
    /// Pointers to variables that exist once for all lanes.
    pub(super) pointers: FxHashMap<LocalId, LocalId>,
    /// The copies of nested functions.
    pub(super) nested: FxHashMap<FnId, FnId>,
    /// The function that is rewritten.
    pub(super) function: Option<FnId>,
    /// Declarations of variables that exist once for all lanes, before the code of the lanes.
    pub(super) shared: Vec<Stmt>,
    /// Declarations at the beginning of each lane.
    pub(super) first: Vec<Stmt>,
    /// Whether the code is that of a nested function, which may run several times at once.
    pub(super) is_nested: bool,
    /// Whether the code is in the body of a generator that selects one lane, such as `scalar`.
    pub(super) is_one_lane: bool,
    /// Whether an error was reported.
    has_errors: bool,
}

/// Where the index of the lane is.
pub(super) enum Index {
    Variable(LocalId),
    /// The result of a collective operation.
    Function,
}

impl Lanes {
    pub(super) fn new(lanes: Option<Ty>, entered: Span, index: Index) -> Lanes {
        let is_copy = matches!(index, Index::Function);
        Lanes {
            lanes,
            entered,
            index,
            twins: FxHashMap::default(),
            outside: FxHashSet::default(),
            is_copy,
            is_lambda: false,
            pointers: FxHashMap::default(),
            nested: FxHashMap::default(),
            function: None,
            shared: vec![],
            first: vec![],
            is_nested: false,
            is_one_lane: false,
            has_errors: false,
        }
    }
}

impl SimdMode<'_> {
    /// Rewrites an expression.
    pub(super) fn value(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        self.check_ty(expr.ty, expr.span, lanes);
        if lanes.has_errors {
            return;
        }
        let is_vector_literal = self.is_vector_literal(expr);
        match &mut expr.kind {
            ExprKind::Local(_)
            | ExprKind::Static(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::Deref(_) => return self.read(expr, lanes),
            ExprKind::Array(_) | ExprKind::Repeat(_) if is_vector_literal => {
                return self.vector(expr, lanes);
            }
            ExprKind::Coerce { kind: Coercion::Broadcast, expr: inner } => {
                self.element_value(inner, lanes);
                let span = expr.span;
                *expr = std::mem::replace(&mut **inner, self.unit(span));
                return;
            }
            ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
                self.address(place, lanes);
            }
            ExprKind::Struct { base, fields } => {
                base.iter_mut().for_each(|base| self.value(base, lanes));
                fields.iter_mut().for_each(|(_, value)| self.value(value, lanes));
            }
            ExprKind::Assign { .. } => return self.write(expr, lanes),
            ExprKind::Step { place, .. } => self.scalar_place(place, lanes),
            ExprKind::Lambda(lambda) => self.lambda(lambda, lanes),
            ExprKind::Call(_) => return self.call_in_lanes(expr, lanes),
            ExprKind::Fn(..) => self.callee(expr, lanes),
            ExprKind::Block { stmts, value } => {
                self.statements(stmts, lanes);
                value.iter_mut().for_each(|value| self.value(value, lanes));
            }
            ExprKind::Match { scrutinee, arms } => {
                self.value(scrutinee, lanes);
                for (pat, value) in arms {
                    self.pattern(pat, lanes);
                    self.value(value, lanes);
                }
            }
            ExprKind::While { cond, body, break_local, continue_local } => {
                self.cond(cond, lanes);
                self.declare(break_local, lanes);
                self.declare(continue_local, lanes);
                self.value(body, lanes);
            }
            ExprKind::If { arms, other } => {
                for (cond, value) in arms {
                    self.cond(cond, lanes);
                    self.value(value, lanes);
                }
                other.iter_mut().for_each(|other| self.value(other, lanes));
            }
            ExprKind::Chain { first, rest } => {
                self.value(first, lanes);
                for link in rest {
                    self.value(&mut link.rhs, lanes);
                    link.ty = self.lane_ty(link.ty);
                    link.by.iter_mut().for_each(|by| self.callee(&mut by.callee, lanes));
                }
            }
            ExprKind::Box(inner) if self.has_vectors(inner.ty) => {
                self.unsupported("a vector is moved to the heap", expr.span, lanes);
            }
            ExprKind::Asm(_) => self.unsupported("assembly", expr.span, lanes),
            _ => visit::for_each_child_mut(expr, &mut |child| self.value(child, lanes)),
        }
        expr.ty = self.lane_ty(expr.ty);
    }

    fn cond(&mut self, cond: &mut crate::tree::Cond, lanes: &mut Lanes) {
        match cond {
            crate::tree::Cond::Expr(cond) => self.value(cond, lanes),
            crate::tree::Cond::Let(pat, value) => {
                self.value(value, lanes);
                self.pattern(pat, lanes);
            }
        }
    }

    /// The statements of a block; one may become several.
    fn statements(&mut self, stmts: &mut Vec<Stmt>, lanes: &mut Lanes) {
        for mut stmt in std::mem::take(stmts) {
            if let Stmt::Let { pat, init } = &mut stmt
                && let Some(local) = self.shared_variable(pat)
                && !lanes.is_nested
            {
                init.iter_mut().for_each(|init| self.value(init, lanes));
                stmts.extend(self.initialize(local, init.take(), lanes));
                continue;
            }
            self.statement(&mut stmt, lanes);
            stmts.push(stmt);
        }
    }

    pub(super) fn statement(&mut self, stmt: &mut Stmt, lanes: &mut Lanes) {
        match stmt {
            Stmt::Let { pat, init } => {
                init.iter_mut().for_each(|init| self.value(init, lanes));
                self.pattern(pat, lanes);
            }
            Stmt::Expr(expr) => self.value(expr, lanes),
            // It is copied where it is used.
            Stmt::Fn(_) => {}
        }
    }

    /// A variable with vectors whose address is taken: it exists once for all lanes, so that their elements are adjacent.
    fn shared_variable(&self, pat: &Pat) -> Option<LocalId> {
        let PatKind::Bind(local, None) = pat.kind else { return None };
        let ty = self.program.locals[local].ty;
        let is_addressed = self.program.locals[local].address_taken;
        (is_addressed && self.has_vectors(ty) && self.has_writable_parts(ty)).then_some(local)
    }

    /// Each lane initializes its part of a shared variable.
    fn initialize(&mut self, local: LocalId, init: Option<Expr>, lanes: &mut Lanes) -> Vec<Stmt> {
        let span = self.program.locals[local].span;
        let ty = self.program.locals[local].ty;
        self.check_ty(ty, span, lanes);
        if lanes.is_copy {
            self.place_of_first_lane(local, lanes);
        } else {
            lanes.outside.insert(local);
            self.program.locals[local].is_captured = true;
            self.program.locals[local].is_mut = true;
            lanes.shared.push(self.let_(local, None));
        }
        let mut stmts = vec![];
        if let Some(init) = init {
            let mut place = self.local(local, span);
            self.stored(&mut place, lanes);
            self.assign_lane(place, init, lanes, &mut stmts);
        }
        stmts
    }

    /// In a function for lanes, each of them has a variable for the vectors of all lanes; that of the first active lane is used. Its
    /// address is what the others get.
    fn place_of_first_lane(&mut self, local: LocalId, lanes: &mut Lanes) {
        let (name, span) = (self.program.locals[local].name, self.program.locals[local].span);
        let copy = Local { address_taken: true, is_mut: true, ..self.program.locals[local].clone() };
        let own = self.program.locals.push(copy);
        let i32 = self.i32();
        let declared = Intrinsic { symbol: "rv_min", params: &[None], ret: None };
        let index = self.lane_index(lanes, span);
        let first = self.call_intrinsic(&declared, vec![index], i32, span);
        let address = self.address_of(self.local(own, span), true);
        let ty = address.ty;
        let common = self.element_of_lane(address, first, span);
        let pointer = self.new_local(name, ty, false, span);
        self.program.locals[pointer].is_captured = true;
        lanes.pointers.insert(local, pointer);
        lanes.first.extend([self.let_(own, None), self.let_(pointer, Some(common))]);
    }

    /// A lambda: its own code is executed by the lanes that call it.
    fn lambda(&mut self, lambda: &mut Lambda, lanes: &mut Lanes) {
        self.params(&mut lambda.params, lanes);
        lambda.return_local.iter_mut().for_each(|local| self.declare(local, lanes));
        lambda.filter.iter_mut().for_each(|filter| self.value(filter, lanes));
        lambda.ret = self.lane_ty(lambda.ret);
        self.value(&mut lambda.body, lanes);
    }

    pub(super) fn params(&mut self, params: &mut [Param], lanes: &mut Lanes) {
        for param in &mut *params {
            self.pattern(&mut param.pat, lanes);
            param.ty = self.lane_ty(param.ty);
        }
        for param in params {
            param.filter.iter_mut().for_each(|filter| self.value(filter, lanes));
        }
    }

    /// A pattern, with the variables that it declares.
    fn pattern(&mut self, pat: &mut Pat, lanes: &mut Lanes) {
        self.check_ty(pat.ty, pat.span, lanes);
        let is_vector = matches!(self.program.types.kind(pat.ty), TyKind::Simd(..));
        pat.ty = self.lane_ty(pat.ty);
        match &mut pat.kind {
            PatKind::Bind(local, inner) => {
                self.declare(local, lanes);
                inner.iter_mut().for_each(|inner| self.pattern(inner, lanes));
            }
            PatKind::Parts(_) if is_vector => {
                self.unsupported("a pattern of the elements of a vector", pat.span, lanes);
            }
            PatKind::Parts(parts) => parts.iter_mut().for_each(|part| self.pattern(part, lanes)),
            PatKind::Struct(fields) | PatKind::Variant(_, fields) => {
                fields.iter_mut().for_each(|(_, part)| self.pattern(part, lanes));
            }
            PatKind::Wild | PatKind::Lit(_) | PatKind::Error => {}
        }
    }

    /// A variable that the code declares.
    pub(super) fn declare(&mut self, local: &mut LocalId, lanes: &mut Lanes) {
        let ty = self.program.locals[*local].ty;
        let lane_ty = self.lane_ty(ty);
        if lanes.is_copy {
            let copy = self.program.locals[*local].clone();
            let own = self.program.locals.push(copy);
            lanes.twins.insert(*local, own);
            *local = own;
        }
        self.program.locals[*local].ty = lane_ty;
    }

    /// Reports a vector with another number of lanes, or without a form for one lane.
    pub(super) fn check_ty(&mut self, ty: Ty, span: Span, lanes: &mut Lanes) {
        let mut lengths = vec![];
        self.lengths(ty, &mut lengths);
        if lanes.has_errors || lengths.is_empty() {
            return;
        }
        if let Some(own) = lanes.lanes
            && lengths.iter().any(|&length| length != own)
        {
            let error = errors::other_length(&self.program.types, ty, span, own, lanes.entered);
            self.report(error, lanes);
        } else if lanes.lanes.is_none() {
            self.unsupported("a vector of another length", span, lanes);
        }
    }

    pub(super) fn unsupported(&mut self, what: &str, span: Span, lanes: &mut Lanes) {
        self.report(errors::unsupported(what, span, lanes.entered), lanes);
    }

    /// Reports the first error of a region.
    pub(super) fn report(&mut self, error: nyala_span::Diagnostic, lanes: &mut Lanes) {
        if !std::mem::replace(&mut lanes.has_errors, true) {
            self.errors.push(error);
        }
    }

    /// An element of a vector. A scalar function is one, if it is named; it is not called here.
    fn element_value(&mut self, elem: &mut Expr, lanes: &mut Lanes) {
        if !matches!(elem.kind, ExprKind::Fn(..)) || self.has_vectors(elem.ty) {
            self.value(elem, lanes);
        }
    }

    /// Whether an array literal is one of a vector: its elements are not those of its type.
    fn is_vector_literal(&self, expr: &Expr) -> bool {
        match (&expr.kind, self.program.types.kind(expr.ty)) {
            (ExprKind::Array(elems), TyKind::Array(elem, _)) => {
                let is_vector = |part: &Expr| self.has_vectors(*elem) && !self.has_vectors(part.ty);
                elems.first().is_some_and(is_vector)
            }
            (_, TyKind::Array(..)) => false,
            _ => true,
        }
    }

    /// `simd[a, b]`: the element of this lane.
    fn vector(&mut self, expr: &mut Expr, lanes: &mut Lanes) {
        match &mut expr.kind {
            ExprKind::Array(elems) => elems.iter_mut().for_each(|elem| self.element_value(elem, lanes)),
            ExprKind::Repeat(elem) => {
                self.value(elem, lanes);
                let span = expr.span;
                let elem = std::mem::replace(&mut **elem, self.unit(span));
                *expr = elem;
                return;
            }
            _ => {}
        }
        let whole = std::mem::replace(expr, self.unit(expr.span));
        *expr = self.lane_of(whole, lanes);
    }
}
