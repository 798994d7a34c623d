//! Inference variables and unification.
//!
//! A variable is a type that is not known yet. Variables of literals accept numbers
//! only, and fall back to `i32` or `f64`.
//!
//! # Invariants
//!
//! * No variable is bound to a type that contains it.
//! * A variable is bound to `!` only if it is the result of an expression that never returns.

use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::Checker;
use crate::convert::{MAX_TYPE_DEPTH, MAX_TYPE_SIZE};
use crate::errors::Error;
use crate::types::{GenericFn, Prim, Ty, TyKind, TyParam, TyVar};

/// The maximum number of pairs of types that one unification compares.
const MAX_STEPS: usize = 100_000;

/// The types that a variable accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum VarKind {
    /// Any type.
    General,
    /// A number; falls back to `i32`.
    Num,
    /// A floating-point number; falls back to `f64`.
    Float,
    /// A number in a type: a length, or the argument of an integer parameter.
    Size,
}

/// The origin of a variable, for the message if it stays unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// The type of the expression here.
    Expr(Span),
    /// A local variable, and where its type may be written.
    Local(nyala_span::Name, Span),
    /// A type argument.
    TypeArg(nyala_span::Name, Span),
}

#[derive(Clone, Copy)]
pub(crate) struct Var {
    bound: Option<Ty>,
    pub kind: VarKind,
    pub origin: Origin,
    /// Whether it is the result of a function or lambda: the parameter of its `return`.
    is_result: bool,
    /// Whether it is the result of a call that never returns; falls back to `!`.
    diverges: bool,
    /// Whether an access waits for it.
    is_watched: bool,
}

/// The variables of one body.
#[derive(Default)]
pub(crate) struct Vars {
    vars: Vec<Var>,
    /// The overwritten variables since a snapshot.
    trail: Vec<(u32, Var)>,
    steps: usize,
    /// Computed numbers that must be equal when their variables are known; inference does not
    /// solve equations.
    deferred: Vec<Deferred>,
    /// The expression whose type is being found.
    blame: Span,
    /// Whether a variable that an access waits for was bound.
    is_woken: bool,
}

/// Two numbers that must be equal, and the expression that requires it.
#[derive(Clone, Copy)]
struct Deferred {
    expected: Ty,
    found: Ty,
    span: Span,
}

/// A state of the variables for [`Checker::rollback`].
pub(crate) struct Snapshot {
    n_trail: usize,
    n_deferred: usize,
}

impl<'a> Checker<'a> {
    /// A new variable.
    pub fn fresh(&mut self, kind: VarKind, origin: Origin) -> Ty {
        let var = TyVar::from_u32(self.body.vars.vars.len() as u32);
        self.body.vars.vars.push(Var {
            bound: None,
            kind,
            origin,
            is_result: false,
            diverges: false,
            is_watched: false,
        });
        self.program.types.intern(TyKind::Infer(var))
    }

    /// A new variable for the result of a function or lambda.
    pub fn fresh_result(&mut self, span: Span) -> Ty {
        let ty = self.fresh(VarKind::General, Origin::Expr(span));
        self.update_var(ty, |var| var.is_result = true);
        ty
    }

    /// Marks a result as that of a call that never returns.
    pub fn mark_diverging(&mut self, ty: Ty) {
        self.update_var(ty, |var| var.diverges = true);
    }

    /// An access waits for the type.
    pub fn watch(&mut self, ty: Ty) {
        self.update_var(ty, |var| var.is_watched = true);
    }

    /// Whether a type that an access waits for may be known by now, since this was asked last.
    pub fn is_woken(&mut self) -> bool {
        std::mem::take(&mut self.body.vars.is_woken)
    }

    fn update_var(&mut self, ty: Ty, change: impl FnOnce(&mut Var)) {
        let resolved = self.resolve(ty);
        if let TyKind::Infer(var) = *self.program.types.kind(resolved) {
            let vars = &mut self.body.vars;
            vars.trail.push((var.as_u32(), vars.vars[var.as_u32() as usize]));
            change(&mut vars.vars[var.as_u32() as usize]);
        }
    }

    /// `ty` with its head resolved: no bound variable, and a function in canonical form.
    pub fn resolve(&mut self, ty: Ty) -> Ty {
        if !self.program.types.info(ty).has_infer {
            return ty;
        }
        let ty = self.walk(ty);
        match self.program.types.kind(ty) {
            TyKind::Fn { params, ret } => {
                let (last, ret) = (params.last().copied(), *ret);
                let new_ret = self.walk(ret);
                let new_last = last.map(|last| self.walk(last));
                if new_ret == ret && (new_last == last || new_ret != self.program.types.never()) {
                    return ty;
                }
                let TyKind::Fn { params, .. } = self.program.types.kind(ty) else { return ty };
                let mut params = params.to_vec();
                if let (Some(slot), Some(new)) = (params.last_mut(), new_last) {
                    *slot = new;
                }
                self.program.types.func(&params, new_ret)
            }
            &TyKind::Arith(op, a, b) => {
                let (a, b) = (self.resolve(a), self.resolve(b));
                self.program.types.arith(op, a, b)
            }
            &TyKind::Simd(elem, lanes) => {
                let elem = self.resolve(elem);
                self.program.types.vector(elem, lanes)
            }
            _ => ty,
        }
    }

    /// The end of a chain of bound variables. Path compression binds all of them to it:
    /// chains can be as long as the program.
    fn walk(&mut self, ty: Ty) -> Ty {
        let Some(mut end) = self.bound(ty) else { return ty };
        while let Some(next) = self.bound(end) {
            end = next;
        }
        let mut ty = ty;
        while let TyKind::Infer(var) = *self.program.types.kind(ty)
            && let Some(next) = self.bound(ty)
            && next != end
        {
            let state = self.body.vars.vars[var.as_u32() as usize];
            self.set_var(var, Var { bound: Some(end), ..state });
            ty = next;
        }
        end
    }

    /// The type that `ty` is bound to, if `ty` is a bound variable.
    fn bound(&self, ty: Ty) -> Option<Ty> {
        match self.program.types.kind(ty) {
            TyKind::Infer(var) => self.body.vars.vars[var.as_u32() as usize].bound,
            _ => None,
        }
    }

    /// The variable, if `ty` is an unbound variable.
    pub fn as_var(&mut self, ty: Ty) -> Option<Var> {
        let ty = self.resolve(ty);
        match self.program.types.kind(ty) {
            TyKind::Infer(var) => Some(self.body.vars.vars[var.as_u32() as usize]),
            _ => None,
        }
    }

    /// Starts a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        let vars = &self.body.vars;
        Snapshot { n_trail: vars.trail.len(), n_deferred: vars.deferred.len() }
    }

    /// Restores the variables of the snapshot.
    pub fn rollback(&mut self, snapshot: Snapshot) {
        let vars = &mut self.body.vars;
        for (var, old) in vars.trail.drain(snapshot.n_trail..).rev() {
            vars.vars[var as usize] = old;
        }
        vars.deferred.truncate(snapshot.n_deferred);
    }

    /// Runs `f` and undoes all that it does to variables.
    pub fn probe<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let (snapshot, n_vars) = (self.snapshot(), self.body.vars.vars.len());
        let result = f(self);
        self.rollback(snapshot);
        self.body.vars.vars.truncate(n_vars);
        result
    }

    /// Says which expression requires what is unified next.
    pub fn blame(&mut self, span: Span) {
        self.body.vars.blame = span;
    }

    /// How many equations of numbers are deferred.
    pub fn n_deferred(&self) -> usize {
        self.body.vars.deferred.len()
    }

    /// Forgets the equations of numbers after the first `n`.
    pub fn forget_deferred(&mut self, n: usize) {
        self.body.vars.deferred.truncate(n);
    }

    /// Checks the equations of numbers, now that all variables are known that will be.
    pub fn check_deferred(&mut self) {
        for Deferred { expected, found, span } in std::mem::take(&mut self.body.vars.deferred) {
            if !self.unify(found, expected) {
                let (expected, found) = (self.shown(expected), self.shown(found));
                self.report(Error::LengthMismatch { expected, found, span });
            }
        }
    }

    /// Makes two types equal, if they can be.
    pub fn unify(&mut self, a: Ty, b: Ty) -> bool {
        self.body.vars.steps = 0;
        self.unify_at(a, b, 0)
    }

    /// As [`Checker::unify`], but changes nothing on failure.
    pub fn try_unify(&mut self, a: Ty, b: Ty) -> bool {
        let snapshot = self.snapshot();
        let equal = self.unify(a, b);
        if !equal {
            self.rollback(snapshot);
        }
        equal
    }

    fn unify_at(&mut self, a: Ty, b: Ty, depth: u16) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return true;
        }
        self.body.vars.steps += 1;
        if depth > MAX_TYPE_DEPTH || self.body.vars.steps > MAX_STEPS {
            return false;
        }
        match (self.program.types.kind(a), self.program.types.kind(b)) {
            (&TyKind::Infer(v), &TyKind::Infer(w)) => self.join(v, w),
            (&TyKind::Infer(v), _) => self.bind(v, b),
            (_, &TyKind::Infer(w)) => self.bind(w, a),
            (TyKind::Error, _) | (_, TyKind::Error) => true,
            (TyKind::Arith(..), _) | (_, TyKind::Arith(..)) => self.defer(a, b),
            _ => self.unify_parts(a, b, depth + 1),
        }
    }

    /// Two different numbers, one of them computed: equal only if a variable makes them so.
    fn defer(&mut self, found: Ty, expected: Ty) -> bool {
        let types = &self.program.types;
        let is_open = types.info(expected).has_infer || types.info(found).has_infer;
        if is_open {
            let span = self.body.vars.blame;
            self.body.vars.deferred.push(Deferred { expected, found, span });
        }
        is_open
    }

    fn unify_parts(&mut self, a: Ty, b: Ty, depth: u16) -> bool {
        match (self.program.types.kind(a).clone(), self.program.types.kind(b).clone()) {
            (TyKind::Tuple(x), TyKind::Tuple(y)) => self.unify_all(&x, &y, depth),
            (TyKind::Struct(s, x), TyKind::Struct(t, y)) => s == t && self.unify_all(&x, &y, depth),
            (TyKind::Enum(s, x), TyKind::Enum(t, y)) => s == t && self.unify_all(&x, &y, depth),
            (TyKind::Generic(f), TyKind::Generic(g)) => {
                f.function == g.function && self.unify_all(&f.args, &g.args, depth)
            }
            (TyKind::Array(x, n), TyKind::Array(y, m)) => self.unify_all(&[n, x], &[m, y], depth),
            (TyKind::Slice(x), TyKind::Slice(y)) => self.unify_at(x, y, depth),
            (TyKind::Simd(x, n), TyKind::Simd(y, m)) => self.unify_all(&[n, x], &[m, y], depth),
            // A vector of an unknown type may be one by members.
            (TyKind::Simd(x, n), kind) | (kind, TyKind::Simd(x, n)) => self.unify_members(x, n, &kind, depth),
            (
                TyKind::Ptr { kind: k, space: s, pointee: x },
                TyKind::Ptr { kind: l, space: t, pointee: y },
            ) => k == l && s == t && self.unify_at(x, y, depth),
            (TyKind::Fn { params: x, ret: r }, TyKind::Fn { params: y, ret: s }) => {
                self.unify_fns((&x, r), (&y, s), depth)
            }
            _ => false,
        }
    }

    /// Makes the vector of `elem`, which is unknown, a tuple or an array of vectors.
    fn unify_members(&mut self, elem: Ty, lanes: Ty, members: &TyKind, depth: u16) -> bool {
        let TyKind::Infer(var) = *self.program.types.kind(elem) else { return false };
        let span = self.body.vars.blame;
        match members {
            TyKind::Tuple(parts) if !parts.is_empty() => {
                let elems: Vec<Ty> = parts.iter().map(|_| self.fresh_general(span)).collect();
                let tuple = self.program.types.tuple(&elems);
                let vectors: Vec<Ty> =
                    elems.into_iter().map(|elem| self.program.types.vector(elem, lanes)).collect();
                self.bind(var, tuple) && self.unify_all(&vectors, parts, depth)
            }
            &TyKind::Array(part, len) => {
                let elem = self.fresh_general(span);
                let array = self.program.types.intern(TyKind::Array(elem, len));
                let vector = self.program.types.vector(elem, lanes);
                self.bind(var, array) && self.unify_at(vector, part, depth)
            }
            _ => false,
        }
    }

    fn unify_all(&mut self, a: &[Ty], b: &[Ty], depth: u16) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.unify_at(a, b, depth))
    }

    fn unify_fns(&mut self, (a, r): (&[Ty], Ty), (b, s): (&[Ty], Ty), depth: u16) -> bool {
        let never = self.program.types.never();
        // `fn(A, ?) -> !` and `fn(A) -> R`: the unknown is the continuation of `R`.
        if a.len() == b.len() + 1 && r == never && s != never {
            let cont = self.program.types.continuation(s);
            return self.unify_all(&a[..b.len()], b, depth) && self.unify_at(a[b.len()], cont, depth);
        }
        if b.len() == a.len() + 1 && s == never && r != never {
            return self.unify_fns((b, s), (a, r), depth);
        }
        // The parameters of `return` may turn out to be none or several.
        if r == never && s == never && a.len() != b.len() {
            return match (a, b) {
                (&[one], many) | (many, &[one]) if self.is_result_var(one) => {
                    let tuple = self.program.types.tuple(many);
                    self.unify_at(one, tuple, depth)
                }
                _ => false,
            };
        }
        self.unify_all(a, b, depth) && self.unify_at(r, s, depth)
    }

    fn is_result_var(&mut self, ty: Ty) -> bool {
        self.as_var(ty).is_some_and(|var| var.is_result)
    }

    fn join(&mut self, v: TyVar, w: TyVar) -> bool {
        let (from, to) = (self.body.vars.vars[v.as_u32() as usize], self.body.vars.vars[w.as_u32() as usize]);
        let joined = Var {
            bound: None,
            kind: from.kind.max(to.kind),
            origin: to.origin,
            is_result: from.is_result || to.is_result,
            diverges: from.diverges && to.diverges,
            is_watched: from.is_watched || to.is_watched,
        };
        let target = self.program.types.intern(TyKind::Infer(w));
        self.set_var(w, joined);
        self.set_var(v, Var { bound: Some(target), ..from });
        true
    }

    fn set_var(&mut self, var: TyVar, new: Var) {
        let vars = &mut self.body.vars;
        let slot = &mut vars.vars[var.as_u32() as usize];
        vars.trail.push((var.as_u32(), *slot));
        *slot = new;
    }

    fn bind(&mut self, var: TyVar, ty: Ty) -> bool {
        let state = self.body.vars.vars[var.as_u32() as usize];
        let fits = match (state.kind, self.program.types.kind(ty)) {
            (_, TyKind::Error) => true,
            (VarKind::General, TyKind::Never) => state.diverges,
            (VarKind::General, _) => true,
            (VarKind::Num, TyKind::Prim(prim)) => *prim != Prim::Bool,
            (VarKind::Float, TyKind::Prim(prim)) => prim.is_float(),
            (VarKind::Size, TyKind::Number(_) | TyKind::Param(_) | TyKind::Arith(..)) => true,
            _ => false,
        };
        if !fits || self.occurs(var, ty) {
            return false;
        }
        self.set_var(var, Var { bound: Some(ty), ..state });
        self.body.vars.is_woken |= state.is_watched;
        true
    }

    fn occurs(&mut self, var: TyVar, ty: Ty) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            let ty = self.walk(ty);
            if !self.program.types.info(ty).has_infer || !seen.insert(ty) {
                continue;
            }
            if *self.program.types.kind(ty) == TyKind::Infer(var) {
                return true;
            }
            self.program.types.kind(ty).for_each_part(|part| stack.push(part));
        }
        false
    }

    /// `ty` with all bound variables replaced.
    pub fn zonk(&mut self, ty: Ty) -> Ty {
        self.zonk_with(ty, &mut Zonk::new(), 0)
    }

    /// `ty` for a message: types of literals are their fallbacks.
    pub fn shown(&mut self, ty: Ty) -> Ty {
        self.zonk_with(ty, &mut Zonk { unknown: Unknown::Default, ..Zonk::new() }, 0)
    }

    /// `ty` with all bound variables replaced, with a memo that several types share.
    pub fn zonk_with(&mut self, ty: Ty, memo: &mut Zonk, depth: u16) -> Ty {
        if !self.program.types.info(ty).has_infer {
            return ty;
        }
        if let Some(&done) = memo.done.get(&ty) {
            return done;
        }
        // Too deep to be written: reported when the type is finished.
        if depth > 2 * MAX_TYPE_DEPTH {
            memo.too_large = true;
            return self.program.types.error();
        }
        let resolved = self.resolve(ty);
        let new = match self.program.types.kind(resolved).clone() {
            TyKind::Infer(var) => self.zonk_var(resolved, var, memo),
            kind => self.zonk_parts(kind, memo, depth + 1),
        };
        let info = self.program.types.info(new);
        let new = if info.depth > MAX_TYPE_DEPTH || info.size > MAX_TYPE_SIZE {
            memo.too_large = true;
            self.program.types.error()
        } else {
            new
        };
        memo.done.insert(ty, new);
        new
    }

    fn zonk_var(&mut self, ty: Ty, var: TyVar, memo: &Zonk) -> Ty {
        let state = self.body.vars.vars[var.as_u32() as usize];
        match (memo.unknown, state.kind) {
            (Unknown::Keep, _) => ty,
            (_, VarKind::Num) => self.program.types.prim(Prim::I32),
            (_, VarKind::Float) => self.program.types.prim(Prim::F64),
            (Unknown::Default, VarKind::General | VarKind::Size) => ty,
        }
    }

    fn zonk_parts(&mut self, kind: TyKind, memo: &mut Zonk, depth: u16) -> Ty {
        match kind {
            TyKind::Fn { params, ret } => {
                let is_return = ret == self.program.types.never();
                let flatten = matches!(*params, [one] if is_return && self.was_result_var(one));
                let params = self.zonk_all(&params, memo, depth);
                let ret = self.zonk_with(ret, memo, depth);
                match *params {
                    [one] if flatten => self.program.types.continuation(one),
                    _ => self.program.types.func(&params, ret),
                }
            }
            TyKind::Tuple(parts) => {
                let parts = self.zonk_all(&parts, memo, depth);
                self.program.types.tuple(&parts)
            }
            TyKind::Struct(id, args) => {
                let args = self.zonk_all(&args, memo, depth);
                self.program.types.intern(TyKind::Struct(id, args.into()))
            }
            TyKind::Enum(id, args) => {
                let args = self.zonk_all(&args, memo, depth);
                self.program.types.intern(TyKind::Enum(id, args.into()))
            }
            TyKind::Generic(generic) => {
                let args = self.zonk_all(&generic.args, memo, depth);
                self.program.types.intern(TyKind::Generic(GenericFn { args: args.into(), ..generic }))
            }
            TyKind::Array(elem, len) => {
                let elem = self.zonk_with(elem, memo, depth);
                let len = self.zonk_with(len, memo, depth);
                self.program.types.intern(TyKind::Array(elem, len))
            }
            TyKind::Slice(elem) => {
                let elem = self.zonk_with(elem, memo, depth);
                self.program.types.intern(TyKind::Slice(elem))
            }
            TyKind::Simd(elem, lanes) => {
                let elem = self.zonk_with(elem, memo, depth);
                let lanes = self.zonk_with(lanes, memo, depth);
                self.program.types.vector(elem, lanes)
            }
            TyKind::Arith(op, a, b) => {
                let a = self.zonk_with(a, memo, depth);
                let b = self.zonk_with(b, memo, depth);
                self.program.types.arith(op, a, b)
            }
            TyKind::Ptr { kind, space, pointee } => {
                let pointee = self.zonk_with(pointee, memo, depth);
                self.program.types.ptr(kind, space, pointee)
            }
            kind => self.program.types.intern(kind),
        }
    }

    fn zonk_all(&mut self, tys: &[Ty], memo: &mut Zonk, depth: u16) -> Vec<Ty> {
        tys.iter().map(|&ty| self.zonk_with(ty, memo, depth)).collect()
    }

    /// Whether a type was the result variable of a function, bound or not.
    fn was_result_var(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Infer(var) => self.body.vars.vars[var.as_u32() as usize].is_result,
            _ => false,
        }
    }

    /// Binds every unbound variable to its fallback; reports those without one.
    pub fn default_vars(&mut self) {
        for index in 0..self.body.vars.vars.len() {
            let var = self.body.vars.vars[index];
            let types = &self.program.types;
            let fallback = match var.kind {
                VarKind::General if var.diverges => types.never(),
                VarKind::General | VarKind::Size => continue,
                VarKind::Num => types.prim(Prim::I32),
                VarKind::Float => types.prim(Prim::F64),
            };
            if var.bound.is_none() {
                self.body.vars.vars[index].bound = Some(fallback);
                self.body.vars.is_woken |= var.is_watched;
            }
        }
    }

    /// Reports the variables that stay unknown; they become the error type.
    pub fn report_unknown(&mut self) {
        let error = self.program.types.error();
        let mut unknown = vec![];
        for var in self.body.vars.vars.iter_mut().filter(|var| var.bound.is_none()) {
            var.bound = Some(error);
            unknown.push((var.origin, var.kind == VarKind::Size));
        }
        // After an error, an unknown type is probably its consequence.
        if self.body.has_errors {
            return;
        }
        // A type for a name determines the expressions that use it. Of expressions, the first
        // probably determines the others.
        let is_local = |&(origin, _): &(Origin, bool)| matches!(origin, Origin::Local(..));
        if unknown.iter().any(is_local) {
            unknown.retain(is_local);
        } else {
            unknown.truncate(1);
        }
        for (origin, is_size) in unknown {
            let (what, span, name) = match origin {
                Origin::TypeArg(name, span) if is_size => {
                    self.report(Error::CannotInferNumber { name, span });
                    continue;
                }
                Origin::Expr(span) => ("the type of this".to_string(), span, None),
                Origin::Local(name, span) => (format!("the type of `{name}`"), span, Some(name)),
                Origin::TypeArg(name, span) => (format!("the type argument `{name}`"), span, None),
            };
            self.report(Error::CannotInfer { what, span, name });
        }
    }
}

/// The replacement of unbound variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Keep,
    Default,
}

/// The state of replacing variables in types.
pub(crate) struct Zonk {
    unknown: Unknown,
    done: FxHashMap<Ty, Ty>,
    /// Whether a type was too large and was replaced by the error type.
    pub too_large: bool,
    /// What type parameters are replaced by first.
    pub with: FxHashMap<TyParam, Ty>,
}

impl Zonk {
    /// Unknown variables stay.
    pub fn new() -> Zonk {
        Zonk::again(FxHashMap::default())
    }

    /// For a tree that is finished already: a copy with other types for its parameters.
    pub fn again(with: FxHashMap<TyParam, Ty>) -> Zonk {
        Zonk { unknown: Unknown::Keep, done: FxHashMap::default(), too_large: false, with }
    }

    /// Whether the tree is finished already, its literals included.
    pub fn is_again(&self) -> bool {
        !self.with.is_empty()
    }
}
