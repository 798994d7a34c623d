//! Blocks, conditions, loops, and where values go.
//!
//! `a && b` is control flow, unless everything after the first operand is
//! trivially pure: then it is one `and`, which is cheaper than a branch and lets
//! the partial evaluator and SIMD code see one condition. Arithmetic is not
//! trivially pure, because it can fail (`i < n && i + 1 < m`).

use nyala_ir::{Cont, Def, Ty};
use nyala_sema::tree::{ChainLink, Cond, Expr, ExprKind, LocalId, Pat, Stmt};
use nyala_syntax::ast::BinaryOp;

use crate::frame::{End, Mark, OpenLoop};
use crate::instance::{Binding, Jump};
use crate::lowerer::Lowerer;
use crate::skeleton::Join;

/// Where a function's body leads.
#[derive(Clone, Copy)]
pub(crate) enum Tail {
    /// To a continuation that takes its value.
    Return(Def),
    /// Nowhere: the end is never reached.
    Nowhere,
}

/// The paths on which a condition holds, and does not.
#[derive(Default)]
pub(crate) struct Split {
    then: Vec<End>,
    other: Vec<End>,
}

impl<'p> Lowerer<'p> {
    /// Lowers an expression in tail position; ends the current block.
    pub(crate) fn tail(&mut self, expr: &'p Expr, tail: Tail) {
        self.expansion.nesting += 1;
        self.tail_of_kind(expr, tail);
        self.expansion.nesting -= 1;
    }

    fn tail_of_kind(&mut self, expr: &'p Expr, tail: Tail) {
        match &expr.kind {
            ExprKind::Block { stmts, value } => self.block_tail(expr, stmts, value.as_deref(), tail),
            ExprKind::If { arms, other } => {
                self.if_arms(arms, other.as_deref(), &mut |this, arm| this.arm_tail(arm, tail));
            }
            ExprKind::Match { scrutinee, arms } => {
                self.match_arms(expr.span, scrutinee, arms, &mut |this, arm| this.tail(arm, tail));
            }
            ExprKind::Call(call) => self.call_tail(expr, call, tail),
            _ => {
                if let Some(value) = self.value(expr) {
                    self.at(expr.span);
                    self.leave(value, tail);
                }
            }
        }
    }

    /// Hands `value` on; ends the current block.
    pub(crate) fn leave(&mut self, value: Def, tail: Tail) {
        match tail {
            Tail::Return(ret) => {
                let takes = self.world.types.as_cn(self.world.ty(ret)).expect("a return continuation");
                let takes: Vec<Ty> = takes[1..].to_vec();
                let args = self.adapt_args(&[value], &takes);
                self.jump(ret, &args);
            }
            Tail::Nowhere => self.world.set_unreachable(self.frame.block, self.frame.mem),
        }
    }

    fn arm_tail(&mut self, arm: Option<&'p Expr>, tail: Tail) {
        match arm {
            Some(arm) => self.tail(arm, tail),
            None => {
                let unit = self.world.unit();
                self.leave(unit, tail);
            }
        }
    }

    fn block_tail(&mut self, block: &'p Expr, stmts: &'p [Stmt], value: Option<&'p Expr>, tail: Tail) {
        let (stmts, last) = match (value, stmts.split_last()) {
            (Some(value), _) => (stmts, Some(value)),
            // `{ ..; f(x); }`: the call of a unit function is the end.
            (None, Some((Stmt::Expr(last), rest))) if self.is_end(last) => (rest, Some(last)),
            (None, _) => (stmts, None),
        };
        if self.statements(stmts).is_none() {
            return;
        }
        self.at(block.span.end());
        self.arm_tail(last, tail);
    }

    /// Whether the value of a statement is what its block's would be.
    fn is_end(&self, stmt: &Expr) -> bool {
        stmt.ty == self.types.unit() || stmt.ty == self.types.never()
    }

    fn statements(&mut self, stmts: &'p [Stmt]) -> Option<()> {
        for stmt in stmts {
            match stmt {
                Stmt::Let { pat, init: Some(init) } => {
                    let value = self.value(init)?;
                    self.at(pat.span);
                    self.bind_pat(pat, value);
                }
                Stmt::Let { pat, init: None } => self.bind_uninit(pat),
                Stmt::Expr(expr) => self.effect(expr)?,
                // Lowered at its first use.
                Stmt::Fn(_) => {}
            }
        }
        Some(())
    }

    /// The value of a block, condition, match or loop.
    pub(crate) fn control_value(&mut self, expr: &'p Expr) -> Option<Def> {
        match &expr.kind {
            ExprKind::Block { stmts, value } => {
                self.statements(stmts)?;
                match value {
                    Some(value) => self.value(value),
                    None => Some(self.world.unit()),
                }
            }
            ExprKind::If { arms, other } => {
                let (base, mut ends) = (self.frame.mark(), vec![]);
                self.if_arms(arms, other.as_deref(), &mut |this, arm| {
                    let value = match arm {
                        Some(arm) => this.value(arm),
                        None => Some(this.world.unit()),
                    };
                    ends.extend(value.map(|value| this.close(base, Some(value))));
                });
                self.join(base, ends, Join::After(expr))
            }
            ExprKind::Match { scrutinee, arms } => self.match_value(expr, scrutinee, arms),
            ExprKind::While { cond, body, break_local, continue_local } => {
                self.while_loop(expr, cond, body, (*break_local, *continue_local))
            }
            _ => unreachable!("called for control flow"),
        }
    }

    fn match_value(&mut self, expr: &'p Expr, scrutinee: &'p Expr, arms: &'p [(Pat, Expr)]) -> Option<Def> {
        // The scrutinee may change variables: those changes hold on every path.
        let scrutinee = self.value(scrutinee)?;
        let (base, mut ends) = (self.frame.mark(), vec![]);
        self.match_on(expr.span, scrutinee, arms, &mut |this, arm| {
            let value = this.value(arm);
            ends.extend(value.map(|value| this.close(base, Some(value))));
        });
        self.join(base, ends, Join::After(expr))
    }

    /// Lowers each arm of an `if` on its path, by `arm`.
    fn if_arms(
        &mut self,
        arms: &'p [(Cond, Expr)],
        other: Option<&'p Expr>,
        arm: &mut dyn FnMut(&mut Self, Option<&'p Expr>),
    ) {
        let base = self.frame.mark();
        for (i, (cond, value)) in arms.iter().enumerate() {
            let split = self.cond(cond, base);
            if self.resume(base, split.then, Join::Before(value)) {
                arm(self, Some(value));
            }
            if !self.resume(base, split.other, Join::past_arm(arms, i, other)) {
                return;
            }
        }
        arm(self, other);
    }

    // ---- Conditions ----------------------------------------------------------------

    /// Evaluates a condition; all paths are open, and the frame is back at `base`.
    fn cond(&mut self, cond: &'p Cond, base: Mark) -> Split {
        match cond {
            Cond::Expr(expr) => self.cond_expr(expr, base),
            Cond::Let(pat, expr) => self.cond_let(pat, expr, base),
        }
    }

    fn cond_expr(&mut self, expr: &'p Expr, base: Mark) -> Split {
        match &expr.kind {
            ExprKind::Not(inner) => {
                let split = self.cond_expr(inner, base);
                Split { then: split.other, other: split.then }
            }
            ExprKind::Chain { first, rest }
                if is_lazy(rest) && !rest.iter().all(|link| self.is_pure(&link.rhs)) =>
            {
                self.lazy_cond(first, rest, rest[0].op, base)
            }
            _ => {
                let Some(cond) = self.value(expr) else { return Split::default() };
                self.at(expr.span);
                match self.world.as_lit(cond) {
                    Some(0) => Split { then: vec![], other: vec![self.close(base, None)] },
                    Some(_) => Split { then: vec![self.close(base, None)], other: vec![] },
                    None => {
                        let (then, other) = self.split(base, cond);
                        Split { then: vec![then], other: vec![other] }
                    }
                }
            }
        }
    }

    /// `a && b && c` or `a || b || c` by control flow; `op` says which.
    fn lazy_cond(&mut self, first: &'p Expr, rest: &'p [ChainLink], op: BinaryOp, base: Mark) -> Split {
        let is_and = op == BinaryOp::AndAnd;
        let mut decided = vec![];
        let mut undecided = vec![];
        let operands = std::iter::once(first).chain(rest.iter().map(|link| &link.rhs));
        for (i, operand) in operands.enumerate() {
            if i > 0 && !self.resume(base, std::mem::take(&mut undecided), Join::Before(operand)) {
                break;
            }
            let split = self.cond_expr(operand, base);
            let (stop, go_on) = if is_and { (split.other, split.then) } else { (split.then, split.other) };
            decided.extend(stop);
            undecided = go_on;
        }
        match is_and {
            true => Split { then: undecided, other: decided },
            false => Split { then: decided, other: undecided },
        }
    }

    /// `a && b`, `a || b` as a value.
    pub(crate) fn lazy_chain(&mut self, expr: &'p Expr, rest: &'p [ChainLink]) -> Option<Def> {
        let ExprKind::Chain { first, .. } = &expr.kind else { unreachable!("called for chains") };
        if rest.iter().all(|link| self.is_pure(&link.rhs)) {
            let mut value = self.value(first)?;
            for link in rest {
                let rhs = self.value(&link.rhs)?;
                self.at(link.span);
                value = self.binary_op(link.op, value, rhs);
            }
            return Some(value);
        }
        let base = self.frame.mark();
        let (last, rest) = rest.split_last().expect("a chain has two operands at least");
        let split = self.lazy_cond(first, rest, last.op, base);
        let is_and = last.op == BinaryOp::AndAnd;
        let (decided, undecided) = if is_and { (split.other, split.then) } else { (split.then, split.other) };
        let outcome = self.world.lit_bool(!is_and);
        let mut ends: Vec<End> = decided.into_iter().map(|end| end.with_value(outcome)).collect();
        if self.resume(base, undecided, Join::Before(&last.rhs)) {
            let value = self.value(&last.rhs);
            ends.extend(value.map(|value| self.close(base, Some(value))));
        }
        self.at(expr.span);
        self.join(base, ends, Join::After(expr))
    }

    /// Whether evaluating `expr` costs next to nothing, cannot fail and has no effect.
    fn is_pure(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Lit(_) => true,
            ExprKind::Local(local) => matches!(self.binding(*local), Some(Binding::Value(_) | Binding::Var)),
            ExprKind::Not(inner) | ExprKind::Known(inner) | ExprKind::Field { base: inner, .. } => {
                self.is_pure(inner)
            }
            ExprKind::Chain { first, rest } => {
                let harmless = |op| {
                    use BinaryOp::{And, AndAnd, Eq, Ge, Gt, Le, Lt, Ne, Or, OrOr, Xor};
                    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor | AndAnd | OrOr)
                };
                let is_built_in = |link: &ChainLink, ty: nyala_sema::types::Ty| {
                    link.by.is_none() && !self.types.info(ty).has_param && harmless(link.op)
                };
                self.is_pure(first)
                    && rest.iter().all(|link| is_built_in(link, link.rhs.ty) && self.is_pure(&link.rhs))
            }
            _ => false,
        }
    }

    fn cond_let(&mut self, pat: &'p Pat, expr: &'p Expr, base: Mark) -> Split {
        let Some(value) = self.value(expr) else { return Split::default() };
        self.at(pat.span);
        let fail = self.new_block("if_else", &[]);
        let decision = self.decide(value, std::iter::once(pat), Some(fail));
        let before = self.close(base, None);
        let mut split = Split::default();
        for leaf in decision.leaves.into_iter().flatten() {
            self.go_on(base, before.led_to(leaf.block, leaf.mem));
            self.bind_leaf(leaf);
            split.then.push(self.close(base, None));
        }
        if decision.may_fail {
            split.other.push(before.led_to(fail, self.world.param(fail, 0)));
        }
        split
    }

    // ---- Loops -----------------------------------------------------------------------

    fn while_loop(
        &mut self,
        expr: &'p Expr,
        cond: &'p Cond,
        body: &'p Expr,
        (break_local, continue_local): (LocalId, LocalId),
    ) -> Option<Def> {
        let span = self.world.span;
        let carried = self.facts.joined_vars(Join::Head(body)).unwrap_or_default().to_vec();
        let carried: Vec<LocalId> = carried.into_iter().filter(|&local| self.is_var(local)).collect();
        let values = self.var_values(&carried);
        let tys: Vec<Ty> = values.iter().map(|&value| self.world.ty(value)).collect();

        let head = self.new_block("while_head", &tys);
        let head_def = self.world.cont_def(head);
        let kept_exit = self.bind_loop_jumps(head_def, break_local, continue_local);

        self.jump(head_def, &values);
        self.enter(head);
        for (i, &local) in carried.iter().enumerate() {
            self.take_param(local, self.world.param(head, 1 + i));
        }
        let base = self.frame.mark();
        let open = OpenLoop { head, carried, base, breaks: vec![] };
        self.frame.loops.insert(break_local, open);
        let split = self.cond(cond, base);
        if self.resume(base, split.then, Join::Before(body)) && self.effect(body).is_some() {
            self.at(span);
            self.loop_jump(Jump::Continue(break_local));
        }
        self.at(span);
        let open = self.frame.loops.remove(&break_local).expect("loops are closed once");
        let ends = split.other.into_iter().chain(open.breaks).collect();
        let ends_by_name = self.resume(base, ends, Join::After(expr));
        match kept_exit {
            Some(exit) => {
                if ends_by_name {
                    let exit = self.world.cont_def(exit);
                    self.jump(exit, &[]);
                }
                self.enter(exit);
            }
            None if !ends_by_name => return None,
            None => {}
        }
        Some(self.world.unit())
    }

    /// Binds `break` and `continue` of a loop. If the program keeps `break` as a value, it is a block, which is
    /// returned.
    fn bind_loop_jumps(&mut self, head: Def, break_local: LocalId, continue_local: LocalId) -> Option<Cont> {
        let continues = match self.facts.is_kept(continue_local) {
            // Then the head has no parameters: the variables of the loop are in memory.
            true => Binding::Value(head),
            false => Binding::Jump(Jump::Continue(break_local)),
        };
        let kept_exit = self.facts.is_kept(break_local).then(|| self.new_block("while_exit", &[]));
        let breaks = match kept_exit {
            Some(exit) => Binding::Value(self.world.cont_def(exit)),
            None => Binding::Jump(Jump::Break(break_local)),
        };
        self.set_binding(continue_local, continues);
        self.set_binding(break_local, breaks);
        kept_exit
    }

    /// Whether a variable's value is in the frame.
    fn is_var(&self, local: LocalId) -> bool {
        matches!(self.binding(local), Some(Binding::Var))
    }

    fn var_values(&self, vars: &[LocalId]) -> Vec<Def> {
        let value = |&local| self.frame.var(local).expect("what a loop carries has a value at its head");
        vars.iter().map(value).collect()
    }

    /// Jumps to the head or the end of a loop.
    pub(crate) fn loop_jump(&mut self, jump: Jump) {
        match jump {
            Jump::Continue(break_local) => {
                let open = &self.frame.loops[&break_local];
                let values = self.var_values(&open.carried);
                let head = self.world.cont_def(open.head);
                self.jump(head, &values);
            }
            Jump::Break(break_local) => {
                let end = self.end(self.frame.loops[&break_local].base, None);
                let open = self.frame.loops.get_mut(&break_local).expect("the line above has found it");
                open.breaks.push(end);
            }
        }
    }
}

/// Whether a chain is one of `&&` or `||`.
pub(crate) fn is_lazy(rest: &[ChainLink]) -> bool {
    rest.first().is_some_and(|link| matches!(link.op, BinaryOp::AndAnd | BinaryOp::OrOr))
}
