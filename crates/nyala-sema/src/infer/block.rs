//! Blocks, statements, and control flow.

use nyala_span::Span;
use nyala_syntax::ast;

use crate::checker::Checker;
use crate::collect::{Collected, Target};
use crate::errors::{Because, Error};
use crate::tree::{Coercion, Cond, Expr, ExprKind, FnId, Pat, PatKind, Stmt};
use crate::types::{Ty, TyKind};
use crate::visit;

use super::unify::VarKind;

/// The common type of arms, as far as it is known.
struct Arms {
    /// The type that every arm is converted to.
    ty: Option<Ty>,
    because: Because,
    /// Whether all arms so far never return.
    all_never: bool,
}

impl Arms {
    fn new(ty: Option<Ty>) -> Arms {
        Arms { ty, because: Because::Nothing, all_never: true }
    }
}

impl<'a> Checker<'a> {
    /// `{ .. }`
    pub(super) fn block(&mut self, block: &'a ast::Block, hint: Option<Ty>) -> Expr {
        self.body.scopes.enter();
        let n_implicits = self.body.implicits.len();
        let (mut stmts, mut nested) = self.block_items(&block.stmts);
        let mut jump: Option<Span> = None;
        for stmt in &block.stmts {
            if let Some(span) = code_span(stmt)
                && let Some(at) = jump.take()
            {
                self.report(Error::Unreachable { span, jump: at });
            }
            if let Some(at) = self.statement(stmt, &mut nested, &mut stmts) {
                jump = Some(at);
            }
        }
        let value = block.value.as_ref().map(|value| {
            if let Some(at) = jump {
                self.report(Error::Unreachable { span: value.span, jump: at });
            }
            Box::new(self.infer_expr(value, hint))
        });
        self.body.implicits.truncate(n_implicits);
        self.body.scopes.exit();
        let ty = match &value {
            // If the expected type is already wrong, one report is enough.
            Some(value) if hint.is_some_and(|hint| self.is_error(hint)) => value.ty,
            Some(value) => self.sized(value.ty, value.span),
            None if jump.is_some() => self.program.types.never(),
            None => self.program.types.unit(),
        };
        stmts.shrink_to_fit();
        Expr { kind: ExprKind::Block { stmts, value }, ty, span: block.span }
    }

    /// Declares the items of a block. Its functions are defined at its beginning. Their ids are
    /// returned too; the caller checks them at their position.
    fn block_items(&mut self, stmts: &'a [ast::Stmt]) -> (Vec<Stmt>, std::vec::IntoIter<FnId>) {
        let mut collected = Collected::default();
        let (home, before) = (self.body.home, self.item_counts());
        for stmt in stmts {
            if let ast::Stmt::Item(item) = stmt {
                self.collect_item(item, home, Target::Block, &mut collected);
            }
        }
        self.declare_items_since(before);
        for &id in &collected.statics {
            self.check_static(id);
        }
        let fns = collected.fns.iter().map(|&id| Stmt::Fn(id)).collect();
        (fns, collected.fns.into_iter())
    }

    /// Checks an item of a block.
    fn nested_item(
        &mut self,
        item: &'a ast::Item,
        nested: &mut std::vec::IntoIter<FnId>,
        into: &mut Vec<Stmt>,
    ) {
        match &item.kind {
            ast::ItemKind::Fn(_) => {
                let id = nested.next().expect("every function of the block was collected");
                self.nested_fn(id);
            }
            ast::ItemKind::ExternBlock { fns, .. } => nested.by_ref().take(fns.len()).for_each(drop),
            ast::ItemKind::Implicit { ty, value } => {
                let value = match ty {
                    Some(ty) => {
                        let written = self.convert_sized(ty);
                        self.check_expr(value, written, Because::Written(ty.span))
                    }
                    None => self.infer_expr(value, None),
                };
                let name = ast::Ident { name: "implicit".into(), span: value.span };
                let local = self.new_local(name, value.ty, false);
                let pat = Pat { kind: PatKind::Bind(local, None), ty: value.ty, span: value.span };
                self.offer_implicit(&pat);
                into.push(Stmt::Let { pat, init: Some(value) });
            }
            _ => {}
        }
    }

    /// Checks a statement; returns its span if control does not continue after it.
    fn statement(
        &mut self,
        stmt: &'a ast::Stmt,
        nested: &mut std::vec::IntoIter<FnId>,
        into: &mut Vec<Stmt>,
    ) -> Option<Span> {
        match stmt {
            ast::Stmt::Let { pat, init, .. } => {
                let (pat, init) = self.let_stmt(pat, init.as_ref());
                let jump = init.as_ref().filter(|init| self.never_returns(init)).map(|init| init.span);
                into.push(Stmt::Let { pat, init });
                jump
            }
            ast::Stmt::Item(item) => {
                self.nested_item(item, nested, into);
                None
            }
            ast::Stmt::Expr { expr, .. } => {
                let expr = self.infer_expr(expr, None);
                self.sized(expr.ty, expr.span);
                let jump = self.is_never(expr.ty).then_some(expr.span);
                into.push(Stmt::Expr(expr));
                jump
            }
        }
    }

    /// Whether an expression has no value, also if it stands where one of another type is expected.
    fn never_returns(&mut self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Coerce { kind: Coercion::Never, .. }) || self.is_never(expr.ty)
    }

    fn let_stmt(&mut self, pat: &'a ast::Pat, init: Option<&'a ast::Expr>) -> (Pat, Option<Expr>) {
        let Some(init) = init else {
            let ty = self.uninitialized_type(pat);
            return (self.check_pat(pat, ty), None);
        };
        // The value is outside the scope of the new names.
        match self.written_pat_type(pat) {
            Some(ty) => {
                let init = self.check_expr(init, ty, Because::Written(pat.span));
                (self.check_pat(pat, ty), Some(init))
            }
            None => {
                let init = self.infer_expr(init, None);
                self.solve_for(init.ty);
                (self.check_pat(pat, init.ty), Some(init))
            }
        }
    }

    /// The value of one arm, converted to the common type.
    fn arm(&mut self, value: Expr, arms: &mut Arms) -> Expr {
        if self.is_never(value.ty) {
            return value;
        }
        arms.all_never = false;
        match arms.ty {
            Some(ty) => self.coerce(value, ty, arms.because),
            None => {
                if !self.is_error(value.ty) {
                    arms.ty = Some(value.ty);
                    arms.because = Because::Arm(value.span);
                }
                value
            }
        }
    }

    /// The type of all arms together, and each arm as that type.
    fn join_arms(&mut self, arms: &Arms, values: Vec<Expr>) -> (Ty, Vec<Expr>) {
        if arms.all_never {
            return (self.program.types.never(), values);
        }
        let ty = arms.ty.unwrap_or(self.program.types.error());
        let values = values.into_iter().map(|value| {
            if self.is_never(value.ty) { self.coerce(value, ty, Because::Nothing) } else { value }
        });
        let values = values.collect();
        (ty, values)
    }

    /// The hint, if it is a known type that arms can be converted to.
    fn arms_hint(&mut self, hint: Option<Ty>) -> Option<Ty> {
        let hint = self.resolve(hint?);
        match self.program.types.kind(hint) {
            TyKind::Infer(_) | TyKind::Error | TyKind::Never => None,
            _ => Some(hint),
        }
    }

    /// `if c { .. } else { .. }`
    pub(super) fn if_expr(
        &mut self,
        arms: &'a [ast::IfArm],
        else_block: Option<&'a ast::Block>,
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let unit = self.program.types.unit();
        let mut state = match else_block {
            Some(_) => Arms::new(self.arms_hint(hint)),
            None => Arms { because: Because::NoElse(span), ..Arms::new(Some(unit)) },
        };
        let mut conds = Vec::with_capacity(arms.len());
        let mut values = Vec::with_capacity(arms.len() + 1);
        for arm in arms {
            self.body.scopes.enter();
            conds.push(self.cond(&arm.cond));
            if values.is_empty() && else_block.is_some() {
                self.lift_hint(&conds, &mut state);
            }
            let value = self.block(&arm.block, state.ty.or(hint));
            values.push(self.arm(value, &mut state));
            self.body.scopes.exit();
        }
        if let Some(block) = else_block {
            let value = self.block(block, state.ty.or(hint));
            values.push(self.arm(value, &mut state));
        } else {
            state.all_never = false;
        }
        let (mut ty, mut values) = self.join_arms(&state, values);
        if let Some(mask) = self.vectorial(&conds) {
            (ty, values) = self.vectorial_arms(mask, ty, values);
        }
        // An arm with a value and no `else` is reported once, at the arm.
        if else_block.is_none() && values.iter().any(|value| matches!(value.kind, ExprKind::Error)) {
            ty = self.program.types.error();
        }
        let other = else_block.and_then(|_| values.pop()).map(Box::new);
        let arms = conds.into_iter().zip(values).collect();
        Expr { kind: ExprKind::If { arms, other }, ty, span }
    }

    fn cond(&mut self, cond: &'a ast::Cond) -> Cond {
        match cond {
            ast::Cond::Expr(expr) => Cond::Expr(self.condition(expr, Because::Condition)),
            ast::Cond::Let(pat, expr) => {
                let value = self.infer_expr(expr, None);
                Cond::Let(self.check_pat(pat, value.ty), value)
            }
        }
    }

    /// The type of the first condition that is a vector.
    fn vectorial(&mut self, conds: &[Cond]) -> Option<Ty> {
        conds.iter().find_map(|cond| match cond {
            Cond::Expr(cond) => self.mask_type(cond.ty),
            Cond::Let(..) => None,
        })
    }

    /// Expects vectors of arms that lanes select.
    fn lift_hint(&mut self, conds: &[Cond], state: &mut Arms) {
        if let (Some(mask), Some(ty)) = (self.vectorial(conds), state.ty)
            && let TyKind::Simd(_, lanes) = *self.program.types.kind(mask)
        {
            state.ty = Some(self.vector_hint(ty, lanes));
        }
    }

    /// The hint for arms that lanes select.
    fn vector_hint(&mut self, hint: Ty, lanes: Ty) -> Ty {
        let hint = self.resolve(hint);
        match self.program.types.kind(hint) {
            TyKind::Infer(_) | TyKind::Error | TyKind::Never | TyKind::Fn { .. } => hint,
            _ if hint == self.program.types.unit() => hint,
            _ => self.program.types.vector(hint, lanes),
        }
    }

    /// Arms that lanes select: a scalar value becomes a vector.
    fn vectorial_arms(&mut self, mask: Ty, ty: Ty, values: Vec<Expr>) -> (Ty, Vec<Expr>) {
        let TyKind::Simd(_, lanes) = *self.program.types.kind(mask) else { return (ty, values) };
        let resolved = self.resolve(ty);
        let is_number = self.as_var(resolved).is_some_and(|var| var.kind != VarKind::General);
        let is_selected = is_number
            || match self.program.types.kind(resolved) {
                TyKind::Infer(_) | TyKind::Never | TyKind::Error | TyKind::Fn { .. } => false,
                _ => resolved != self.program.types.unit(),
            };
        if !is_selected {
            return (ty, values);
        }
        let vector = self.program.types.vector(resolved, lanes);
        if vector == resolved {
            return (ty, values);
        }
        let values = values.into_iter().map(|value| self.coerce(value, vector, Because::Nothing)).collect();
        (vector, values)
    }

    /// `match e { p => a, .. }`
    pub(super) fn match_expr(
        &mut self,
        scrutinee: &'a ast::Expr,
        arms: &'a [ast::MatchArm],
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        let scrutinee = self.infer_expr(scrutinee, None);
        self.solve_for(scrutinee.ty);
        let vector = self.vector_of_match(scrutinee.ty, arms);
        let hint = match vector {
            Some((_, lanes)) => hint.map(|hint| self.vector_hint(hint, lanes)),
            None => hint,
        };
        let mut state = Arms::new(self.arms_hint(hint));
        let mut pats = Vec::with_capacity(arms.len());
        let mut values = Vec::with_capacity(arms.len());
        for arm in arms {
            self.body.scopes.enter();
            pats.push(match vector {
                Some((lane, lanes)) => self.lane_pat(&arm.pat, lane, lanes),
                None => self.check_pat(&arm.pat, scrutinee.ty),
            });
            let value = self.infer_expr(&arm.value, state.ty.or(hint));
            values.push(self.arm(value, &mut state));
            self.body.scopes.exit();
        }
        let (mut ty, mut values) = self.join_arms(&state, values);
        if vector.is_some() {
            (ty, values) = self.vectorial_arms(scrutinee.ty, ty, values);
        }
        let arms = pats.into_iter().zip(values).collect();
        Expr { kind: ExprKind::Match { scrutinee: Box::new(scrutinee), arms }, ty, span }
    }

    /// The lane and the length of a matched vector, unless a pattern is that of all elements.
    fn vector_of_match(&mut self, ty: Ty, arms: &[ast::MatchArm]) -> Option<(Ty, Ty)> {
        let ty = self.resolve(ty);
        let TyKind::Simd(lane, lanes) = *self.program.types.kind(ty) else { return None };
        if arms.iter().any(|arm| matches!(arm.pat.kind, ast::PatKind::Simd(_))) {
            return None;
        }
        self.has_vector_control = true;
        Some((lane, lanes))
    }

    /// A pattern for the value of each lane. What it binds is a vector.
    fn lane_pat(&mut self, pat: &'a ast::Pat, lane: Ty, lanes: Ty) -> Pat {
        let pat = self.check_pat(pat, lane);
        for local in visit::bindings(&pat) {
            let ty = self.program.locals[local].ty;
            self.program.locals[local].ty = self.program.types.vector(ty, lanes);
        }
        pat
    }

    /// `while c { .. }`
    pub(super) fn while_expr(&mut self, cond: &'a ast::Cond, body: &'a ast::Block, span: Span) -> Expr {
        let unit = self.program.types.unit();
        self.body.scopes.enter();
        let cond = Box::new(self.cond(cond));
        self.body.scopes.enter();
        let break_local = self.new_return("break", unit, span);
        let continue_local = self.new_return("continue", unit, span);
        let body = Box::new(self.block(body, None));
        self.body.scopes.exit();
        self.body.scopes.exit();
        Expr { kind: ExprKind::While { cond, body, break_local, continue_local }, ty: unit, span }
    }

    /// A pattern that matches anything and binds nothing.
    pub(super) fn wild(&self, ty: Ty, span: Span) -> Pat {
        Pat { kind: PatKind::Wild, ty, span }
    }
}

/// The span of the executable code of a statement; `None` for items.
fn code_span(stmt: &ast::Stmt) -> Option<Span> {
    match stmt {
        ast::Stmt::Let { span, .. } => Some(*span),
        ast::Stmt::Item(_) => None,
        ast::Stmt::Expr { expr, .. } => Some(expr.span),
    }
}
