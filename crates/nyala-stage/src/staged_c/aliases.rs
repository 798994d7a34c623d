//! Which pointer variables of a function may point into the same array.
//!
//! Accesses through such variables are evaluated in the order of the text, whatever they are staged upon. Pointers
//! that are different parameters are taken to point into different arrays.

use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Expr, ExprKind, Param, Stmt, StmtKind, Target, Ty};

/// Classes of pointer variables, by one variable of each.
#[derive(Default)]
pub(super) struct Aliases {
    parents: FxHashMap<Name, Name>,
    pointers: FxHashSet<Name>,
}

impl Aliases {
    /// The classes of a function.
    pub(super) fn of(params: &[Param], body: &[Stmt]) -> Aliases {
        let mut aliases = Aliases::default();
        let pointers = params.iter().filter(|param| matches!(param.ty, Ty::Ptr(_)));
        aliases.pointers.extend(pointers.map(|param| param.ident.name));
        aliases.stmts(body);
        aliases
    }

    /// Whether a variable is a pointer.
    pub(super) fn is_pointer(&self, name: Name) -> bool {
        self.pointers.contains(&name)
    }

    /// The class of a variable.
    pub(super) fn class(&self, mut name: Name) -> Name {
        while let Some(parent) = self.parents.get(&name).filter(|parent| **parent != name) {
            name = *parent;
        }
        name
    }

    /// The class of the variable that a pointer is computed from.
    pub(super) fn class_of(&self, expr: &Expr) -> Option<Name> {
        match &expr.kind {
            ExprKind::Name(ident) => self.is_pointer(ident.name).then(|| self.class(ident.name)),
            ExprKind::Binary(_, left, right) => self.class_of(left).or_else(|| self.class_of(right)),
            ExprKind::Staged(_, inner) | ExprKind::Cast(_, inner) => self.class_of(inner),
            ExprKind::Choose(_, then, other) => self.class_of(then).or_else(|| self.class_of(other)),
            _ => None,
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let StmtKind::Declare(Ty::Ptr(_), ident, _) = &stmt.kind {
                self.pointers.insert(ident.name);
            }
            match &stmt.kind {
                StmtKind::Declare(_, ident, Some(value))
                | StmtKind::Assign(Target::Name(ident), _, value) => {
                    self.merge(ident.name, value);
                }
                StmtKind::If(_, then, other) => {
                    self.stmts(then);
                    self.stmts(other);
                }
                StmtKind::Loop { init, step, body, .. } => {
                    self.stmts(init);
                    self.stmts(body);
                    self.stmts(step);
                }
                StmtKind::Block(stmts) => self.stmts(stmts),
                _ => {}
            }
        }
    }

    fn merge(&mut self, name: Name, value: &Expr) {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            match &value.kind {
                ExprKind::Name(ident) if self.is_pointer(ident.name) && self.is_pointer(name) => {
                    let (a, b) = (self.class(name), self.class(ident.name));
                    if a != b {
                        self.parents.insert(a, b);
                    }
                }
                ExprKind::Binary(_, left, right) => values.extend([&**left, right]),
                ExprKind::Choose(_, then, other) => values.extend([&**then, other]),
                ExprKind::Staged(_, inner) | ExprKind::Cast(_, inner) => values.push(inner),
                _ => {}
            }
        }
    }
}
