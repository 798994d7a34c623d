//! Unused variables, parameters and functions, and unnecessary `mut`.

use cranelift_entity::{EntitySet, SecondaryMap};
use nyala_span::Span;

use super::Warning;
use crate::shadowing::Interface;
use crate::tree::{Expr, ExprKind, FnId, Function, Linkage, LocalId, Param, Pat, Program, StaticId};
use crate::types::Ty;
use crate::visit::{self, Root};

/// How the program uses its local variables.
pub(super) struct Uses {
    /// The number of mentions of each variable, and of those that only assign it as a whole.
    named: SecondaryMap<LocalId, u32>,
    assigned: SecondaryMap<LocalId, u32>,
    /// The variables that are written, at least in part, or have their address taken with `&mut`.
    written: EntitySet<LocalId>,
}

impl Uses {
    pub(super) fn of(program: &Program) -> Uses {
        let mut uses =
            Uses { named: SecondaryMap::new(), assigned: SecondaryMap::new(), written: EntitySet::new() };
        for root in visit::roots(program) {
            visit::walk(root, |expr| uses.expr(program, expr));
        }
        for function in program.fns.values() {
            if let Some(body) = &function.body {
                uses.end_of_body(program, &function.params, function.ret, body);
            }
        }
        uses
    }

    fn expr(&mut self, program: &Program, expr: &Expr) {
        match &expr.kind {
            ExprKind::Local(local) | ExprKind::FnParam(local, _) => self.named[*local] += 1,
            ExprKind::Assign { place, .. } => {
                if let ExprKind::Local(local) = place.kind {
                    self.assigned[local] += 1;
                }
            }
            ExprKind::Lambda(lambda) => {
                self.end_of_body(program, &lambda.params, lambda.ret, &lambda.body);
            }
            _ => {}
        }
        visit::for_each_written(&program.types, expr, &mut |place| {
            if let Some(Root::Local(local)) = visit::root_of(place) {
                self.written.insert(local);
            }
        });
    }

    /// A body whose end calls its last parameter uses that parameter.
    fn end_of_body(&mut self, program: &Program, params: &[Param], ret: Ty, body: &Expr) {
        if let Some(last) = visit::end_continuation(&program.types, params, ret)
            && body.ty != program.types.never()
        {
            for local in visit::bindings(&last.pat) {
                self.named[local] += 1;
            }
        }
    }

    /// Whether the value of `local` is ever read.
    fn is_read(&self, local: LocalId) -> bool {
        self.named[local] > self.assigned[local]
    }

    /// Whether `local` may change after it was bound.
    pub(super) fn is_written(&self, local: LocalId) -> bool {
        self.written.contains(local)
    }
}

/// Warns about unused variables, parameters and functions.
pub(super) fn check(
    program: &Program,
    uses: &Uses,
    interface: &Interface,
    is_foreign: &dyn Fn(Span) -> bool,
) -> Vec<Warning> {
    let mut variables = Variables { program, uses, warnings: vec![] };
    for (id, function) in &program.fns {
        if function.body.is_some() {
            // Callers outside of the program decide which parameters an entry point has.
            let is_entry = program.main == Some(id) || matches!(function.linkage, Linkage::Export(_));
            variables.params(&function.params, is_entry);
        }
    }
    for root in visit::roots(program) {
        visit::walk(root, |expr| variables.expr(expr));
    }
    let mut warnings = variables.warnings;
    warnings.extend(unused_fns(program, interface, is_foreign));
    warnings
}

struct Variables<'a> {
    program: &'a Program,
    uses: &'a Uses,
    warnings: Vec<Warning>,
}

impl Variables<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lambda(lambda) => self.params(&lambda.params, false),
            _ => visit::for_each_pattern(expr, |pat| self.pat(pat)),
        }
    }

    fn pat(&mut self, pat: &Pat) {
        for id in visit::bindings(pat) {
            let local = &self.program.locals[id];
            let (name, at) = (local.name, local.span);
            if !self.is_worth_a_warning(id) {
                self.unused_mut(id);
            } else if self.uses.is_written(id) {
                self.warnings.push(Warning::NeverRead { name, at });
            } else {
                self.warnings.push(Warning::UnusedVariable { name, at });
            }
        }
    }

    fn params(&mut self, params: &[Param], is_entry: bool) {
        for id in params.iter().flat_map(|param| visit::bindings(&param.pat)) {
            if !is_entry && self.is_worth_a_warning(id) {
                let local = &self.program.locals[id];
                self.warnings.push(Warning::UnusedParameter { name: local.name, at: local.span });
            } else {
                self.unused_mut(id);
            }
        }
    }

    fn is_worth_a_warning(&self, local: LocalId) -> bool {
        !self.uses.is_read(local) && !self.program.locals[local].name.as_str().starts_with('_')
    }

    fn unused_mut(&mut self, id: LocalId) {
        let local = &self.program.locals[id];
        if local.is_mut && !self.uses.is_written(id) {
            self.warnings.push(Warning::UnusedMut { name: local.name, at: local.span });
        }
    }
}

/// Functions that no entry point reaches. A program without entry points is a library:
/// none of its functions is reported.
fn unused_fns(program: &Program, interface: &Interface, is_foreign: &dyn Fn(Span) -> bool) -> Vec<Warning> {
    let is_root = |id: FnId, function: &Function| {
        program.main == Some(id) || matches!(function.linkage, Linkage::Export(_))
    };
    let mut reach = Reach::default();
    let mut is_complete = !interface.fns.is_empty();
    interface.fns.iter().for_each(|&id| reach.add_fn(id));
    interface.statics.iter().for_each(|&id| reach.add_static(id));
    for (id, function) in program.fns.iter().filter(|&(id, function)| is_root(id, function)) {
        reach.add_fn(id);
        is_complete |= !is_foreign(function.span);
    }
    if !is_complete {
        return vec![];
    }
    // A generic function uses the operators of its type arguments, which only its instances tell.
    program.operators.values().flatten().for_each(|&id| reach.add_fn(id));
    // Tests do not make a library complete: it has functions for others.
    let called_by_tools = program.fns.iter().filter(|(_, function)| function.role.is_some());
    called_by_tools.for_each(|(id, _)| reach.add_fn(id));
    let exported = program.statics.iter().filter(|(_, item)| matches!(item.linkage, Linkage::Export(_)));
    exported.for_each(|(id, _)| reach.add_static(id));
    reach.close(program);

    let is_unused = |&(id, function): &(FnId, &Function)| {
        let is_parent_used = function.parent.is_none_or(|parent| reach.fns.contains(parent));
        function.body.is_some()
            && !reach.fns.contains(id)
            && is_parent_used
            && !function.name.as_str().starts_with('_')
    };
    let unused = program.fns.iter().filter(is_unused);
    unused.map(|(_, function)| Warning::UnusedFunction { name: function.name, at: function.span }).collect()
}

/// The items that entry points reach.
#[derive(Default)]
struct Reach {
    fns: EntitySet<FnId>,
    statics: EntitySet<StaticId>,
    new_fns: Vec<FnId>,
    new_statics: Vec<StaticId>,
}

impl Reach {
    fn add_fn(&mut self, id: FnId) {
        if self.fns.insert(id) {
            self.new_fns.push(id);
        }
    }

    fn add_static(&mut self, id: StaticId) {
        if self.statics.insert(id) {
            self.new_statics.push(id);
        }
    }

    fn close(&mut self, program: &Program) {
        visit::field_defaults(program).for_each(|expr| self.add_all_in(expr));
        loop {
            if let Some(id) = self.new_fns.pop() {
                visit::fn_exprs(&program.fns[id]).for_each(|expr| self.add_all_in(expr));
            } else if let Some(id) = self.new_statics.pop() {
                let item = &program.statics[id];
                item.init.iter().chain(&item.candidates).for_each(|expr| self.add_all_in(expr));
            } else {
                return;
            }
        }
    }

    fn add_all_in(&mut self, expr: &Expr) {
        visit::walk(expr, |expr| match expr.kind {
            ExprKind::Fn(id, ..) => self.add_fn(id),
            ExprKind::Static(id) => self.add_static(id),
            _ => {}
        });
    }
}
