//! Reads of variables that have no value yet, and compound assignments whose
//! value writes their target.
//!
//! One pass over the program in evaluation order finds both.
//!
//! # Which reads are reported
//!
//! A read of an uninitialized variable is reported if nothing before it in evaluation
//! order may write the variable. Branches make this conservative. Loops need care: in a
//! `while`, later code also precedes earlier code. So a write cancels the reports of reads in
//! the outermost enclosing loop that does not contain the declaration. A captured variable
//! may be written whenever its closure runs; its reads are reported only if nothing writes it.

use indexmap::IndexMap;
use nyala_span::Span;
use rustc_hash::FxBuildHasher;

use super::Warning;
use super::usage::Uses;
use crate::tree::{Coercion, Cond, Expr, ExprKind, LocalId, Pat, Program, Stmt};
use crate::visit::{self, Root};

pub(super) fn check(program: &Program, uses: &Uses) -> Vec<Warning> {
    let mut flow = Flow {
        program,
        uses,
        now: 0,
        loops: vec![],
        uninit: IndexMap::default(),
        compounds: vec![],
        warnings: vec![],
    };
    for root in visit::roots(program) {
        flow.expr(root);
    }
    flow.finish()
}

/// A variable declared without a value.
struct Uninit {
    /// The number of loops around the declaration.
    n_loops: usize,
    may_have_value: bool,
    /// Time and span of its first read without a value.
    first_read: Option<(u32, Span)>,
}

/// A compound assignment whose value is being evaluated.
struct Compound {
    root: Root,
    place: Span,
    load_first: bool,
    write: Option<Span>,
}

struct Flow<'a> {
    program: &'a Program,
    uses: &'a Uses,
    /// Counts reads and loops, in the order of evaluation.
    now: u32,
    /// The start times of the enclosing loops.
    loops: Vec<u32>,
    uninit: IndexMap<LocalId, Uninit, FxBuildHasher>,
    compounds: Vec<Compound>,
    warnings: Vec<Warning>,
}

impl<'a> Flow<'a> {
    fn finish(mut self) -> Vec<Warning> {
        for (local, uninit) in &self.uninit {
            if let Some((_, at)) = uninit.first_read {
                let local = &self.program.locals[*local];
                let (name, declared) = (local.name, local.span);
                self.warnings.push(Warning::Uninitialized { name, declared, at });
            }
        }
        self.warnings
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Local(local) => self.read(*local, expr.span),
            ExprKind::Assign { .. } => self.assign(expr),
            ExprKind::Step { place, .. } => {
                if let ExprKind::Local(local) = place.kind {
                    self.read(local, place.span);
                }
                self.place(place);
                self.write(place, expr.span);
            }
            ExprKind::AddrOf(place) | ExprKind::Coerce { kind: Coercion::AddrOf, expr: place } => {
                self.lend(expr, place);
            }
            ExprKind::Asm(asm) => {
                asm.outputs.iter().for_each(|(_, place)| self.place(place));
                asm.inputs.iter().for_each(|(_, value)| self.expr(value));
                asm.outputs.iter().for_each(|(_, place)| self.write(place, place.span));
            }
            ExprKind::While { cond, body, .. } => self.while_(cond, body),
            ExprKind::Block { stmts, value } => self.block(stmts, value.as_deref()),
            _ => visit::for_each_child(expr, &mut |child| self.expr(child)),
        }
    }

    fn block(&mut self, stmts: &'a [Stmt], value: Option<&'a Expr>) {
        for stmt in stmts {
            match stmt {
                Stmt::Let { init: Some(init), .. } => self.expr(init),
                Stmt::Let { pat, init: None } => self.declare(pat),
                Stmt::Expr(expr) => self.expr(expr),
                Stmt::Fn(_) => {}
            }
        }
        value.into_iter().for_each(|value| self.expr(value));
    }

    fn while_(&mut self, cond: &'a Cond, body: &'a Expr) {
        self.now += 1;
        self.loops.push(self.now);
        self.expr(visit::cond_expr(cond));
        self.expr(body);
        self.loops.pop();
    }

    fn assign(&mut self, expr: &'a Expr) {
        let ExprKind::Assign { op, place, value, load_first, .. } = &expr.kind else { return };
        self.place(place);
        match op.and_then(|_| visit::root_of(place)) {
            None => self.expr(value),
            Some(root) => {
                let (place, load_first) = (place.span, *load_first);
                self.compounds.push(Compound { root, place, load_first, write: None });
                self.expr(value);
                self.leave_compound();
            }
        }
        if let (Some(_), ExprKind::Local(local)) = (op, &place.kind) {
            self.read(*local, place.span);
        }
        self.write(place, expr.span);
    }

    fn leave_compound(&mut self) {
        if let Some(Compound { place, load_first, write: Some(write), .. }) = self.compounds.pop() {
            self.warnings.push(Warning::WritesOwnPlace { place, write, load_first });
        }
    }

    /// Evaluates the operands of a place, but does not read it.
    fn place(&mut self, place: &'a Expr) {
        match &place.kind {
            ExprKind::Local(_) | ExprKind::Static(_) => {}
            ExprKind::Field { base, .. } => self.place(base),
            ExprKind::Index { base, index } => {
                self.place(base);
                self.expr(index);
            }
            _ => self.expr(place),
        }
    }

    /// An address is taken: later code may write through it.
    fn lend(&mut self, expr: &'a Expr, place: &'a Expr) {
        self.place(place);
        if let Some(Root::Local(local)) = visit::root_of(place) {
            self.initialize(local);
        }
        visit::for_each_written(&self.program.types, expr, &mut |place| self.write(place, expr.span));
    }

    fn write(&mut self, place: &Expr, at: Span) {
        let Some(root) = visit::root_of(place) else { return };
        if let Root::Local(local) = root {
            self.initialize(local);
        }
        if let Some(compound) = self.compounds.iter_mut().rev().find(|compound| compound.root == root) {
            compound.write.get_or_insert(at);
        }
    }

    fn declare(&mut self, pat: &Pat) {
        for local in visit::bindings(pat) {
            if !self.program.locals[local].is_captured || !self.uses.is_written(local) {
                let n_loops = self.loops.len();
                self.uninit.insert(local, Uninit { n_loops, may_have_value: false, first_read: None });
            }
        }
    }

    fn read(&mut self, local: LocalId, at: Span) {
        self.now += 1;
        if let Some(uninit) = self.uninit.get_mut(&local)
            && !uninit.may_have_value
        {
            uninit.first_read.get_or_insert((self.now, at));
        }
    }

    fn initialize(&mut self, local: LocalId) {
        let Some(uninit) = self.uninit.get_mut(&local) else { return };
        uninit.may_have_value = true;
        if let (Some((when, _)), Some(&loop_start)) = (uninit.first_read, self.loops.get(uninit.n_loops))
            && when > loop_start
        {
            uninit.first_read = None;
        }
    }
}
