//! What must be known about variables before the function that owns them is lowered.
//!
//! A variable is a *slot*, that is memory, if
//!
//! 1. its address is taken;
//! 2. it is mutable and a nested function or lambda uses it: both must see the
//!    same variable;
//! 3. it is mutable and `break` or `continue` of some loop in its function is used
//!    as a value: whoever jumps there later does not know the variable's value.
//!
//! (Lowering adds large arrays, once it knows the types.) All others are values,
//! and a loop has one parameter for each of them that it assigns. A call that returns
//! a second time, because its return continuation was kept, finds those as they
//! were when it was made; slots it finds as they are.

use cranelift_entity::EntitySet;
use nyala_sema::tree::{Call, Expr, ExprKind, FnId, Lambda, LocalId, Param, Pat, Program, Stmt};
use nyala_sema::tree::{Coercion, Cond};
use nyala_sema::visit::{self, Root};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known about the variables of a program.
#[derive(Default)]
pub(crate) struct Facts {
    /// The variables that live in memory.
    slots: EntitySet<LocalId>,
    /// The loops, by their `break`.
    loops: FxHashMap<LocalId, LoopFacts>,
    /// The functions that captured variables belong to.
    owners: FxHashMap<LocalId, FnId>,
    /// What nested functions use of the functions around them.
    captures: FxHashMap<FnId, Captures>,
}

/// What is known about a `while`.
#[derive(Default)]
pub(crate) struct LoopFacts {
    /// Variables declared before and assigned inside, slots included, in source order.
    pub(crate) assigned: Vec<LocalId>,
    /// `break` is called or used as a value.
    pub(crate) has_break: bool,
    /// `break` or `continue` is used as a value.
    pub(crate) has_values: bool,
}

/// What a nested function uses of the functions around it.
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

    /// Whether `local` lives in memory, whatever its type.
    pub(crate) fn is_slot(&self, local: LocalId) -> bool {
        self.slots.contains(local)
    }

    /// The loop with this `break`.
    pub(crate) fn loop_facts(&self, break_local: LocalId) -> &LoopFacts {
        &self.loops[&break_local]
    }

    /// The function that a captured variable belongs to.
    pub(crate) fn owner(&self, local: LocalId) -> Option<FnId> {
        self.owners.get(&local).copied()
    }

    /// What a nested function captures.
    pub(crate) fn captures(&self, id: FnId) -> Option<&Captures> {
        self.captures.get(&id)
    }
}

/// The variable that `call` jumps to, if it is one by name.
pub(crate) fn jump_target(call: &Call) -> Option<LocalId> {
    match call.callee.kind {
        ExprKind::Local(local) => Some(local),
        _ => None,
    }
}

/// A function or lambda, by number.
type Owner = u32;

/// Where a variable is declared.
#[derive(Clone, Copy)]
struct Declaration {
    owner: Owner,
    /// How many loops are around it.
    loops: usize,
    function: Option<FnId>,
}

/// A jump of a loop.
struct Jump {
    owner: Owner,
    /// Of a `while`, which is a block of its owner rather than a function.
    of_while: Option<LocalId>,
}

struct Finder<'p> {
    program: &'p Program,
    facts: Facts,
    owner: Owner,
    owners: u32,
    function: Option<FnId>,
    /// The `while` loops around, each by its `break`.
    loops: Vec<LocalId>,
    declared: FxHashMap<LocalId, Declaration>,
    jumps: FxHashMap<LocalId, Jump>,
    /// Jumps called by name.
    called: FxHashSet<LocalId>,
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
            owner: 0,
            owners: 0,
            function: None,
            loops: vec![],
            declared: FxHashMap::default(),
            jumps: FxHashMap::default(),
            called: FxHashSet::default(),
            used: FxHashSet::default(),
            uses: vec![],
        }
    }

    /// Something with variables of its own.
    fn owned<'e>(&mut self, params: &[Param], exprs: impl Iterator<Item = &'e Expr>) {
        let outer = self.owner;
        self.owners += 1;
        self.owner = self.owners;
        for param in params {
            self.declare(&param.pat);
        }
        exprs.for_each(|expr| self.visit(expr));
        self.owner = outer;
    }

    fn declare(&mut self, pat: &Pat) {
        let place = Declaration { owner: self.owner, loops: self.loops.len(), function: self.function };
        for local in visit::bindings(pat) {
            self.declared.insert(local, place);
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
            ExprKind::While { .. } => self.while_loop(expr),
            ExprKind::Call(call) => self.call(call),
            _ => {
                self.declarations(expr);
                self.writes(expr);
                visit::for_each_child(expr, &mut |child| self.visit(child));
            }
        }
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.owned(&lambda.params, std::iter::once(&lambda.body));
    }

    fn while_loop(&mut self, expr: &Expr) {
        let ExprKind::While { cond, break_local, continue_local, .. } = &expr.kind else { return };
        for local in [*break_local, *continue_local] {
            self.jumps.insert(local, Jump { owner: self.owner, of_while: Some(*break_local) });
        }
        self.facts.loops.insert(*break_local, LoopFacts::default());
        self.loops.push(*break_local);
        if let Cond::Let(pat, _) = &**cond {
            self.declare(pat);
        }
        visit::for_each_child(expr, &mut |child| self.visit(child));
        self.loops.pop();
    }

    fn call(&mut self, call: &Call) {
        if let Some(local) = call.break_local {
            self.jumps.insert(local, Jump { owner: self.owner, of_while: None });
        }
        match jump_target(call) {
            Some(local) => {
                self.called.insert(local);
                self.use_local(local);
            }
            None => self.visit(&call.callee),
        }
        call.args.iter().for_each(|arg| self.visit(arg));
    }

    /// Variables that come into being in `expr`.
    fn declarations(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Block { stmts, .. } => {
                for stmt in stmts {
                    if let Stmt::Let { pat, .. } = stmt {
                        self.declare(pat);
                    }
                }
            }
            ExprKind::Match { arms, .. } => arms.iter().for_each(|(pat, _)| self.declare(pat)),
            ExprKind::If { arms, .. } => {
                for (cond, _) in arms {
                    if let Cond::Let(pat, _) = cond {
                        self.declare(pat);
                    }
                }
            }
            _ => {}
        }
    }

    /// Variables that `expr` assigns or takes the address of.
    fn writes(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Assign { place, .. } | ExprKind::Step { place, .. } => self.assign(place),
            ExprKind::Asm(asm) => asm.outputs.iter().for_each(|(_, place)| self.assign(place)),
            ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
                if let Some(Root::Local(local)) = visit::root_of(place) {
                    self.facts.slots.insert(local);
                }
            }
            _ => {}
        }
    }

    fn assign(&mut self, place: &Expr) {
        let Some(Root::Local(local)) = visit::root_of(place) else { return };
        let Some(declared) = self.declared.get(&local) else { return };
        for around in self.loops.iter().skip(declared.loops) {
            let facts = self.facts.loops.get_mut(around).expect("loops are known while inside them");
            // A variable assigned twice in a row is the common case; `finish` finds the others.
            if facts.assigned.last() != Some(&local) {
                facts.assigned.push(local);
            }
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
        let mut jumpy: FxHashSet<Owner> = FxHashSet::default();
        for (local, jump) in &self.jumps {
            let captured = self.program.locals[*local].is_captured;
            let as_value = self.used.contains(local) || (jump.of_while.is_some() && captured);
            if as_value {
                jumpy.insert(jump.owner);
            }
            if let Some(break_local) = jump.of_while {
                let facts = self.facts.loops.get_mut(&break_local).expect("every while is known");
                facts.has_values |= as_value;
                facts.has_break |= *local == break_local && (as_value || self.called.contains(local));
            }
        }
        for (id, local) in &self.program.locals {
            let owner = self.declared.get(&id).map(|declared| declared.owner);
            let of_jumpy = owner.is_some_and(|owner| jumpy.contains(&owner));
            if local.address_taken || (local.is_mut && (local.is_captured || of_jumpy)) {
                self.facts.slots.insert(id);
            }
        }
        for facts in self.facts.loops.values_mut() {
            let mut seen = FxHashSet::default();
            facts.assigned.retain(|&local| seen.insert(local));
        }
        self.captures();
        self.facts
    }

    fn captures(&mut self) {
        for (function, used) in std::mem::take(&mut self.uses) {
            let captures = self.facts.captures.entry(function).or_default();
            match used {
                Used::Local(local) => {
                    let owner = self.declared.get(&local).and_then(|declared| declared.function);
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
