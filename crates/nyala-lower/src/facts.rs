//! Which variables need memory, decided before the function that owns them is lowered.
//!
//! A variable is a *slot*, that is memory, if
//!
//! 1. its address is taken;
//! 2. it is mutable and a nested function or lambda uses it: both must see the
//!    same variable;
//! 3. it is mutable, `break` or `continue` of some loop escapes as a value, and the variable may
//!    have changed when that value is called (`skeleton`).
//!
//! (Lowering adds arrays of many parts, once it knows the types: Note [Which arrays are memory].) All
//! others are values, and a block has one parameter for each variable whose values differ between its
//! predecessors. A call that returns a second time, because its return continuation escaped,
//! sees variables as they were at the call; slots it sees with their current content.

use cranelift_entity::EntitySet;
use nyala_sema::tree::{Call, Expr, ExprKind, FnId, Lambda, LocalId, Param, Pat, PatKind, Program, Stmt};
use nyala_sema::tree::{Coercion, Cond};
use nyala_sema::visit::{self, Root};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::skeleton::{self, Join, Known};

/// Facts about the variables of a program.
#[derive(Default)]
pub(crate) struct Facts {
    /// The variables in memory.
    slots: EntitySet<LocalId>,
    /// The variables with a use of an element of unknown index.
    searched: EntitySet<LocalId>,
    /// The variables that are a parameter at a join.
    carried: EntitySet<LocalId>,
    /// `break` and `continue` of loops that are used as values.
    kept: FxHashSet<LocalId>,
    /// The variables whose values differ between the predecessors, for each join.
    joins: FxHashMap<Join, Vec<LocalId>>,
    /// The functions that captured variables belong to.
    owners: FxHashMap<LocalId, FnId>,
    /// The captures of nested functions.
    captures: FxHashMap<FnId, Captures>,
}

/// The captures of a nested function.
#[derive(Default)]
pub(crate) struct Captures {
    /// Variables.
    pub(crate) locals: Vec<LocalId>,
    /// Nested functions.
    pub(crate) fns: Vec<FnId>,
}

impl Facts {
    /// The facts about all functions and statics.
    pub(crate) fn of(program: &Program) -> Facts {
        let mut finder = Finder::new(program);
        for (id, function) in &program.fns {
            finder.function = Some(id);
            finder.owned(&function.params, function.body.iter().chain(&function.filter));
        }
        finder.function = None;
        for item in program.statics.values() {
            finder.owned(&[], item.init.iter());
        }
        finder.finish()
    }

    /// Whether `local` is in memory, independent of its type.
    pub(crate) fn is_slot(&self, local: LocalId) -> bool {
        self.slots.contains(local)
    }

    /// Whether an element of `local` is read or written at an unknown index.
    pub(crate) fn is_searched(&self, local: LocalId) -> bool {
        self.searched.contains(local)
    }

    /// Whether different values of `local` reach a join.
    pub(crate) fn is_carried(&self, local: LocalId) -> bool {
        self.carried.contains(local)
    }

    /// Whether `break` or `continue` of a loop is used as a value.
    pub(crate) fn is_kept(&self, jump: LocalId) -> bool {
        self.kept.contains(&jump)
    }

    /// The variables whose values differ between the predecessors of a join; none if it was not analyzed.
    pub(crate) fn joined_vars(&self, join: Join) -> Option<&[LocalId]> {
        self.joins.get(&join).map(|vars| &vars[..])
    }

    /// The function that a captured variable belongs to.
    pub(crate) fn owner(&self, local: LocalId) -> Option<FnId> {
        self.owners.get(&local).copied()
    }

    /// The captures of a nested function.
    pub(crate) fn captures(&self, id: FnId) -> Option<&Captures> {
        self.captures.get(&id)
    }
}

/// The variable that `call` calls, if the callee is a variable.
pub(crate) fn jump_target(call: &Call) -> Option<LocalId> {
    match call.callee.kind {
        ExprKind::Local(local) => Some(local),
        _ => None,
    }
}

struct Finder<'p> {
    program: &'p Program,
    facts: Facts,
    function: Option<FnId>,
    /// The functions that variables are declared in.
    declared: FxHashMap<LocalId, Option<FnId>>,
    /// Immutable variables whose values are known.
    known: FxHashSet<LocalId>,
    /// `break` and `continue` of loops: whether of a `while`, which is a block rather than a function.
    jumps: FxHashMap<LocalId, bool>,
    /// Variables used as values.
    used: FxHashSet<LocalId>,
    /// Uses of variables and functions by each function.
    uses: Vec<(FnId, Used)>,
}

enum Used {
    Local(LocalId),
    Fn(FnId),
}

impl<'p> Finder<'p> {
    fn new(program: &'p Program) -> Finder<'p> {
        Finder {
            program,
            facts: Facts::default(),
            function: None,
            declared: FxHashMap::default(),
            known: FxHashSet::default(),
            jumps: FxHashMap::default(),
            used: FxHashSet::default(),
            uses: vec![],
        }
    }

    /// A function, lambda or initializer: the owner of variables.
    fn owned<'e>(&mut self, params: &[Param], exprs: impl Iterator<Item = &'e Expr>) {
        for param in params {
            self.declare(&param.pat);
        }
        exprs.for_each(|expr| self.visit(expr));
    }

    fn declare(&mut self, pat: &Pat) {
        for local in visit::bindings(pat) {
            self.declared.insert(local, self.function);
        }
    }

    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Local(local) => {
                self.used.insert(*local);
                self.use_local(*local);
            }
            ExprKind::Fn(id, _) => self.use_fn(*id),
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::Call(call) => self.call(call),
            _ => {
                self.declarations(expr);
                self.places(expr);
                visit::for_each_child(expr, &mut |child| self.visit(child));
            }
        }
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.owned(&lambda.params, std::iter::once(&lambda.body));
    }

    fn call(&mut self, call: &Call) {
        if let Some(local) = call.break_local {
            self.jumps.insert(local, false);
        }
        match jump_target(call) {
            Some(local) => self.use_local(local),
            None => self.visit(&call.callee),
        }
        call.args.iter().for_each(|arg| self.visit(arg));
    }

    /// The variables that `expr` declares.
    fn declarations(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Block { stmts, .. } => {
                for stmt in stmts {
                    if let Stmt::Let { pat, init } = stmt {
                        self.declare(pat);
                        self.note_known(pat, init.as_ref());
                    }
                }
            }
            ExprKind::Match { arms, .. } => arms.iter().for_each(|(pat, _)| self.declare(pat)),
            ExprKind::If { arms, .. } => {
                for (cond, _) in arms {
                    self.cond(cond);
                }
            }
            ExprKind::While { cond, break_local, continue_local, .. } => {
                self.jumps.extend([(*break_local, true), (*continue_local, true)]);
                self.cond(cond);
            }
            _ => {}
        }
    }

    fn cond(&mut self, cond: &Cond) {
        if let Cond::Let(pat, _) = cond {
            self.declare(pat);
        }
    }

    /// The variables of which `expr` takes the address, or uses an element of unknown index.
    fn places(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
                if let Some(Root::Local(local)) = visit::root_of(place) {
                    self.facts.slots.insert(local);
                }
            }
            ExprKind::Index { base, index } => {
                if let Some(Root::Local(local)) = visit::root_of(base)
                    && !self.is_known(index)
                {
                    self.facts.searched.insert(local);
                }
            }
            _ => {}
        }
    }

    fn note_known(&mut self, pat: &Pat, init: Option<&Expr>) {
        if let PatKind::Bind(local, None) = pat.kind
            && !self.program.locals[local].is_mut
            && init.is_some_and(|init| self.is_known(init))
        {
            self.known.insert(local);
        }
    }

    /// Whether the value of an expression is certain to be a literal once it is lowered.
    fn is_known(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Lit(_) => true,
            ExprKind::Local(local) => self.known.contains(local),
            ExprKind::Static(id) => {
                let item = &self.program.statics[*id];
                !item.is_mut && item.init.is_some()
            }
            ExprKind::Neg(inner) | ExprKind::Not(inner) | ExprKind::Cast(inner) => self.is_known(inner),
            ExprKind::Chain { first, rest } => {
                self.is_known(first) && rest.iter().all(|link| link.by.is_none() && self.is_known(&link.rhs))
            }
            _ => false,
        }
    }

    fn use_local(&mut self, local: LocalId) {
        let Some(function) = self.function else { return };
        if self.program.fns[function].parent.is_some() && self.program.locals[local].is_captured {
            self.uses.push((function, Used::Local(local)));
        }
    }

    fn use_fn(&mut self, id: FnId) {
        let Some(function) = self.function else { return };
        if self.program.fns[function].parent.is_some() && self.program.fns[id].parent.is_some() {
            self.uses.push((function, Used::Fn(id)));
        }
    }

    fn finish(mut self) -> Facts {
        for (&local, &of_while) in &self.jumps {
            let is_captured = self.program.locals[local].is_captured;
            if self.used.contains(&local) || (of_while && is_captured) {
                self.facts.kept.insert(local);
            }
        }
        let mut vars = EntitySet::new();
        for (id, local) in &self.program.locals {
            if local.address_taken || (local.is_mut && local.is_captured) {
                self.facts.slots.insert(id);
            } else if local.is_mut && !self.facts.slots.contains(id) {
                vars.insert(id);
            }
        }
        let found = skeleton::joins(self.program, &Known { vars, kept: &self.facts.kept });
        self.facts.slots.extend(found.in_memory);
        self.facts.carried.extend(found.vars.values().flatten().copied());
        self.facts.joins = found.vars;
        self.captures();
        self.facts
    }

    fn captures(&mut self) {
        for (function, used) in std::mem::take(&mut self.uses) {
            let captures = self.facts.captures.entry(function).or_default();
            match used {
                Used::Local(local) => {
                    let owner = self.declared.get(&local).copied().flatten();
                    if let Some(owner) = owner.filter(|&owner| owner != function) {
                        self.facts.owners.insert(local, owner);
                        captures.locals.push(local);
                    }
                }
                Used::Fn(id) => captures.fns.push(id),
            }
        }
    }
}
