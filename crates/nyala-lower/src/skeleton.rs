//! The joins of a function and the variables that need a block parameter there, found before lowering.
//!
//! Nodes are immutable, so a block needs its parameters when it is created: a loop
//! header before its body is lowered. So each function and
//! lambda is first traversed for its blocks and their reads and writes of variables, and
//! `ssa` decides where a variable needs a parameter. Lowering creates exactly these, see `frame`.
//!
//! # Invariants
//!
//! * The walk follows lowering: the same constructs split and join, in the
//!   same order of evaluation. A control-flow join is a [`Join`].
//! * Lowering may omit paths, if a condition is constant or a value has type `!` in one instance
//!   of a generic function, but it never adds any. Fewer paths need fewer parameters.
//!
//! # Escaping jumps
//!
//! `break` and `continue` are values. A later call of one does not pass the values of variables. So a
//! variable is memory if it is live at the target of such a jump and may have
//! changed before: in the loop itself, or behind it. Variables that are
//! dead there, or do not change, stay values. `return` leaves the function that owns the
//! variables, so it never matters.

use cranelift_entity::EntitySet;
use nyala_sema::tree::{Asm, Call, ChainLink, Cond, Expr, ExprKind, LocalId, Param, Pat, Program, Stmt};
use nyala_sema::types::Ty;
use nyala_sema::visit;
use nyala_syntax::ast::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::control::is_lazy;
use crate::facts::jump_target;
use crate::ssa::{Block, Graph};

/// A control-flow join, named by an expression of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Join {
    /// The start of the expression.
    Before(*const Expr),
    /// The end of the expression.
    After(*const Expr),
    /// Where the condition of this last arm is false and no `else` follows.
    Instead(*const Expr),
    /// The header of the loop with this body.
    Head(*const Expr),
}

impl Join {
    /// Where the condition of an arm of `if` leads if it does not hold.
    pub(crate) fn past_arm(arms: &[(Cond, Expr)], arm: usize, other: Option<&Expr>) -> Join {
        match (arms.get(arm + 1), other) {
            (Some((cond, _)), _) => Join::Before(visit::cond_expr(cond)),
            (None, Some(other)) => Join::Before(other),
            (None, None) => Join::Instead(&arms[arm].1),
        }
    }
}

/// Facts about variables before the walk.
pub(crate) struct Known<'f> {
    /// The mutable variables that may be values.
    pub(crate) vars: EntitySet<LocalId>,
    /// `break` and `continue` of loops that are used as values.
    pub(crate) kept: &'f FxHashSet<LocalId>,
}

/// The result.
#[derive(Default)]
pub(crate) struct Joins {
    /// The variables that need a parameter at each join, in the order of their declarations.
    pub(crate) vars: FxHashMap<Join, Vec<LocalId>>,
    /// The variables that must be memory because of an escaping jump.
    pub(crate) in_memory: Vec<LocalId>,
}

/// Finds the joins of all functions, lambdas and initializers.
pub(crate) fn joins(program: &Program, known: &Known<'_>) -> Joins {
    let mut found = Joins::default();
    let mut open: Vec<(&[Param], &Expr)> = vec![];
    for function in program.fns.values() {
        open.extend(function.body.iter().map(|body| (&function.params[..], body)));
    }
    open.extend(program.statics.values().filter_map(|item| item.init.as_ref()).map(|init| (&[][..], init)));
    while let Some((params, body)) = open.pop() {
        let mut walk = Walk::new(known, program.types.never());
        params.iter().for_each(|param| walk.declare(&param.pat));
        walk.value(body);
        open.append(&mut walk.lambdas);
        walk.finish(&mut found);
    }
    found
}

/// The walk over one function or lambda.
struct Walk<'k, 'p> {
    known: &'k Known<'k>,
    never: Ty,
    graph: Graph,
    /// The current block; `None` if unreachable.
    at: Option<Block>,
    joins: Vec<(Block, Join)>,
    /// The targets of jumps of the enclosing loops.
    jumps: FxHashMap<LocalId, Target>,
    /// The targets of escaping jumps, and the blocks from which control reaches them.
    kept: Vec<(Block, Block)>,
    /// Lambdas, to be walked on their own.
    lambdas: Vec<(&'p [Param], &'p Expr)>,
}

/// The target of a jump by name.
enum Target {
    Head(Block),
    /// The exit of a loop, with its predecessors.
    Exit(Vec<Block>),
}

/// The blocks from which control goes on if a condition holds, and if not.
#[derive(Default)]
struct Split {
    then: Vec<Block>,
    other: Vec<Block>,
}

impl<'k, 'p> Walk<'k, 'p> {
    fn new(known: &'k Known<'k>, never: Ty) -> Walk<'k, 'p> {
        let mut graph = Graph::default();
        let at = Some(graph.block(vec![]));
        let (joins, jumps) = (vec![], FxHashMap::default());
        Walk { known, never, graph, at, joins, jumps, kept: vec![], lambdas: vec![] }
    }

    fn finish(self, found: &mut Joins) {
        let names: FxHashMap<Block, Join> = self.joins.into_iter().collect();
        found.vars.extend(names.values().map(|&join| (join, vec![])));
        let kept: Vec<_> = self.kept.iter().map(|&(to, from)| (to, self.graph.reachable(from))).collect();
        for var in self.graph.vars() {
            let flow = self.graph.flow(var);
            if kept.iter().any(|(to, after)| flow.is_live_at(*to) && self.graph.is_written_in(after, var)) {
                found.in_memory.push(var);
                continue;
            }
            for phi in flow.phis() {
                found.vars.entry(names[&phi]).or_default().push(var);
            }
        }
    }

    // ---- Blocks and variables ----------------------------------------------------------

    /// Continues at the join of `ends`.
    fn join(&mut self, ends: Vec<Block>, join: Join) {
        self.at = (!ends.is_empty()).then(|| self.graph.block(ends));
        self.joins.extend(self.at.map(|block| (block, join)));
    }

    fn read(&mut self, local: Option<LocalId>) {
        if let (Some(block), Some(local)) = (self.at, local.filter(|&local| self.known.vars.contains(local)))
        {
            self.graph.read(block, local);
        }
    }

    fn write(&mut self, local: Option<LocalId>) {
        if let (Some(block), Some(local)) = (self.at, local.filter(|&local| self.known.vars.contains(local)))
        {
            self.graph.write(block, local);
        }
    }

    fn declare(&mut self, pat: &Pat) {
        visit::bindings(pat).into_iter().for_each(|local| self.write(Some(local)));
    }

    // ---- Expressions -------------------------------------------------------------------

    /// Walks an expression, if it is reachable.
    fn value(&mut self, expr: &'p Expr) {
        if self.at.is_none() {
            return;
        }
        match &expr.kind {
            ExprKind::Local(_) | ExprKind::Field { .. } | ExprKind::Index { .. } => {
                let root = self.place(expr);
                self.read(root);
            }
            ExprKind::AddrOf(place) => {
                let root = self.place(place);
                self.read(root);
            }
            ExprKind::Block { stmts, value } => {
                stmts.iter().for_each(|stmt| self.statement(stmt));
                value.iter().for_each(|value| self.value(value));
            }
            ExprKind::If { arms, other } => self.if_arms(expr, arms, other.as_deref()),
            ExprKind::Match { scrutinee, arms } => self.match_arms(expr, scrutinee, arms),
            ExprKind::While { cond, body, break_local, continue_local } => {
                self.while_loop(expr, cond, body, (*break_local, *continue_local));
            }
            ExprKind::Chain { first, rest } if is_lazy(rest) => self.lazy_chain(expr, first, rest),
            ExprKind::Lambda(lambda) => self.lambdas.push((&lambda.params, &lambda.body)),
            ExprKind::Call(call) => self.call(expr, call),
            ExprKind::Assign { .. } | ExprKind::Step { .. } => self.assign(expr),
            ExprKind::Asm(asm) => self.asm(asm),
            _ => visit::for_each_child(expr, &mut |child| self.value(child)),
        }
    }

    fn statement(&mut self, stmt: &'p Stmt) {
        match stmt {
            Stmt::Let { pat, init } => {
                init.iter().for_each(|init| self.value(init));
                self.declare(pat);
            }
            Stmt::Expr(expr) => self.value(expr),
            Stmt::Fn(_) => {}
        }
    }

    /// Walks the operands of a place; returns its variable.
    fn place(&mut self, expr: &'p Expr) -> Option<LocalId> {
        match &expr.kind {
            ExprKind::Local(local) => Some(*local),
            ExprKind::Field { base, .. } => self.place(base),
            ExprKind::Index { base, index } => {
                let root = self.place(base);
                self.value(index);
                root
            }
            _ => {
                self.value(expr);
                None
            }
        }
    }

    fn assign(&mut self, expr: &'p Expr) {
        match &expr.kind {
            ExprKind::Assign { op, place, value, load_first, .. } => {
                let root = self.place(place);
                if op.is_some() && *load_first {
                    self.read(root);
                }
                self.value(value);
                if op.is_some() && !load_first {
                    self.read(root);
                }
                self.assign_place(place, root);
            }
            ExprKind::Step { place, .. } => {
                let root = self.place(place);
                self.read(root);
                self.assign_place(place, root);
            }
            _ => unreachable!("called for assignments"),
        }
    }

    /// A new value of a part is a new value of the whole, with the other parts as they were.
    fn assign_place(&mut self, place: &Expr, root: Option<LocalId>) {
        if !matches!(place.kind, ExprKind::Local(_)) {
            self.read(root);
        }
        self.write(root);
    }

    fn asm(&mut self, asm: &'p Asm) {
        let roots: Vec<_> = asm.outputs.iter().map(|(_, place)| (place, self.place(place))).collect();
        asm.inputs.iter().for_each(|(_, input)| self.value(input));
        roots.into_iter().for_each(|(place, root)| self.assign_place(place, root));
    }

    fn call(&mut self, expr: &'p Expr, call: &'p Call) {
        let jump = jump_target(call).filter(|local| !self.known.kept.contains(local));
        if let Some(target) = jump.and_then(|local| self.jumps.get_mut(&local)) {
            match (target, self.at.take()) {
                (Target::Head(head), Some(at)) => self.graph.add_pred(*head, at),
                (Target::Exit(ends), at) => ends.extend(at),
                (Target::Head(_), None) => {}
            }
            return;
        }
        visit::for_each_child(expr, &mut |child| self.value(child));
        if call.is_jump || expr.ty == self.never {
            self.at = None;
        }
        if call.break_local.is_some_and(|local| self.known.kept.contains(&local)) {
            self.at = self.at.map(|at| self.graph.block(vec![at]));
            self.kept.extend(self.at.map(|next| (next, next)));
        }
    }

    // ---- Control flow --------------------------------------------------------------------

    fn if_arms(&mut self, expr: &'p Expr, arms: &'p [(Cond, Expr)], other: Option<&'p Expr>) {
        let mut ends = vec![];
        for (i, (cond, value)) in arms.iter().enumerate() {
            let split = self.cond(cond);
            self.join(split.then, Join::Before(value));
            self.value(value);
            ends.extend(self.at);
            self.join(split.other, Join::past_arm(arms, i, other));
            if self.at.is_none() {
                break;
            }
        }
        other.into_iter().for_each(|other| self.value(other));
        ends.extend(self.at);
        self.join(ends, Join::After(expr));
    }

    fn match_arms(&mut self, expr: &'p Expr, scrutinee: &'p Expr, arms: &'p [(Pat, Expr)]) {
        self.value(scrutinee);
        let Some(before) = self.at else { return };
        let mut ends = vec![];
        for (pat, value) in arms {
            self.at = Some(self.graph.block(vec![before]));
            self.declare(pat);
            self.value(value);
            ends.extend(self.at);
        }
        self.join(ends, Join::After(expr));
    }

    fn cond(&mut self, cond: &'p Cond) -> Split {
        let (pat, expr) = match cond {
            Cond::Expr(expr) => return self.cond_expr(expr),
            Cond::Let(pat, expr) => (pat, expr),
        };
        self.value(expr);
        let Some(before) = self.at else { return Split::default() };
        let then = self.graph.block(vec![before]);
        self.at = Some(then);
        self.declare(pat);
        Split { then: vec![then], other: vec![before] }
    }

    fn cond_expr(&mut self, expr: &'p Expr) -> Split {
        match &expr.kind {
            ExprKind::Not(inner) => {
                let split = self.cond_expr(inner);
                Split { then: split.other, other: split.then }
            }
            ExprKind::Chain { first, rest } if is_lazy(rest) => self.lazy_cond(first, rest, rest[0].op),
            ExprKind::Lit(0) => Split { then: vec![], other: self.at.into_iter().collect() },
            ExprKind::Lit(_) => Split { then: self.at.into_iter().collect(), other: vec![] },
            _ => {
                self.value(expr);
                let at: Vec<Block> = self.at.into_iter().collect();
                Split { then: at.clone(), other: at }
            }
        }
    }

    fn lazy_cond(&mut self, first: &'p Expr, rest: &'p [ChainLink], op: BinaryOp) -> Split {
        let is_and = op == BinaryOp::AndAnd;
        let (mut decided, mut undecided) = (vec![], vec![]);
        let operands = std::iter::once(first).chain(rest.iter().map(|link| &link.rhs));
        for (i, operand) in operands.enumerate() {
            if i > 0 {
                self.join(undecided, Join::Before(operand));
            }
            let split = self.cond_expr(operand);
            let (stop, go_on) = if is_and { (split.other, split.then) } else { (split.then, split.other) };
            decided.extend(stop);
            undecided = go_on;
        }
        match is_and {
            true => Split { then: undecided, other: decided },
            false => Split { then: decided, other: undecided },
        }
    }

    fn lazy_chain(&mut self, expr: &'p Expr, first: &'p Expr, rest: &'p [ChainLink]) {
        let (last, rest) = rest.split_last().expect("a chain has two operands at least");
        let split = self.lazy_cond(first, rest, last.op);
        let is_and = last.op == BinaryOp::AndAnd;
        let (mut ends, undecided) =
            if is_and { (split.other, split.then) } else { (split.then, split.other) };
        self.join(undecided, Join::Before(&last.rhs));
        self.value(&last.rhs);
        ends.extend(self.at);
        self.join(ends, Join::After(expr));
    }

    fn while_loop(&mut self, expr: &'p Expr, cond: &'p Cond, body: &'p Expr, jumps: (LocalId, LocalId)) {
        let (break_local, continue_local) = jumps;
        self.join(self.at.into_iter().collect(), Join::Head(body));
        let Some(head) = self.at else { return };
        self.jumps.insert(continue_local, Target::Head(head));
        self.jumps.insert(break_local, Target::Exit(vec![]));
        let split = self.cond(cond);
        self.join(split.then, Join::Before(body));
        self.value(body);
        if let Some(end) = self.at {
            self.graph.add_pred(head, end);
        }
        let mut exits = split.other;
        if let Some(Target::Exit(ends)) = self.jumps.remove(&break_local) {
            exits.extend(ends);
        }
        // The position of the call is unknown; the loop header precedes all of them.
        if self.known.kept.contains(&break_local) {
            exits.push(head);
        }
        self.join(exits, Join::After(expr));
        if self.known.kept.contains(&break_local) {
            self.kept.extend(self.at.map(|exit| (exit, head)));
        }
        if self.known.kept.contains(&continue_local) {
            self.kept.push((head, head));
        }
    }
}
