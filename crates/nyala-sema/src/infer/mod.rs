//! Checks bodies: expressions, statements and patterns, with inference.
//!
//! Expected types flow inwards as *hints*. An expression returns the type it
//! has, and [`coerce`] converts it to the expected one with explicit conversions.
//! Unknown types are inference variables ([`unify`]) that later code may bind.
//! After a body has been checked, [`finish`] replaces all variables.
//!
//! `function` begins a body. There is a module for each part of the language: `expr` (the dispatch), `literal`,
//! `operator`, `overload` (declared operators), `place`, `aggregate`, `access` (forms that depend on types),
//! `call`, `lambda`, `generic_fn` (as arguments), `implicits`, `block`, `for_loop`, `pattern`, and `filter`.
//!
//! A nested function is part of the enclosing body. All other functions and all
//! statics are separate bodies, checked on demand if an inferred result is
//! needed.

mod access;
mod aggregate;
mod block;
mod call;
mod coerce;
mod expr;
mod filter;
mod finish;
mod for_loop;
mod function;
mod generic_fn;
mod implicits;
mod lambda;
mod literal;
mod operator;
mod overload;
mod pattern;
mod place;
mod unify;

use nyala_span::Span;
use nyala_syntax::ast::Ident;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::{Checker, Home};
use crate::resolve::is_anonymous;
use crate::scope::{Def, Scopes};
use crate::tree::{self, FnId, Local, LocalId, StaticId};
use crate::types::Ty;

use access::Accesses;
use implicits::Implicit;
use literal::PendingLit;
use operator::Obligation;
use unify::Vars;

/// The state of the current body.
pub(crate) struct Body {
    pub home: Home,
    pub scopes: Scopes,
    /// The number of enclosing functions and lambdas.
    pub level: u32,
    /// Type parameters below this level cannot be used.
    pub generic_floor: u32,
    /// Local variables below this level cannot be used.
    pub local_floor: u32,
    /// Whether an error was reported.
    pub has_errors: bool,
    vars: Vars,
    /// The literals of unknown type, by the number in their `ExprKind::Lit`.
    literals: Vec<PendingLit>,
    /// The result type of each `return`, `break` and `continue`.
    returns: FxHashMap<LocalId, Ty>,
    /// The `return`s of functions whose result is inferred, with their functions. Artic does not infer it from them.
    inferred_returns: FxHashMap<LocalId, FnId>,
    /// The converted types in patterns, by span.
    pat_types: FxHashMap<Span, Ty>,
    /// The parameters of functions and lambdas.
    params: FxHashSet<LocalId>,
    /// The first local variable of the current pattern.
    pattern_start: usize,
    /// The accesses to values of unknown type.
    accesses: Accesses,
    /// Rules that are checked when all types are known.
    obligations: Vec<Obligation>,
    /// The nested functions and statics that are part of this body.
    fns: Vec<FnId>,
    statics: Vec<StaticId>,
    /// The implicit values in scope, innermost last.
    implicits: Vec<Implicit>,
    /// The variables that the body owns.
    locals: Vec<LocalId>,
    /// The current function.
    current_fn: Option<FnId>,
}

impl Body {
    pub fn new(home: Home) -> Body {
        Body {
            home,
            scopes: Scopes::default(),
            level: 0,
            generic_floor: 0,
            local_floor: 0,
            has_errors: false,
            vars: Vars::default(),
            literals: vec![],
            returns: FxHashMap::default(),
            inferred_returns: FxHashMap::default(),
            pat_types: FxHashMap::default(),
            params: FxHashSet::default(),
            pattern_start: 0,
            accesses: Accesses::default(),
            obligations: vec![],
            fns: vec![],
            statics: vec![],
            implicits: vec![],
            locals: vec![],
            current_fn: None,
        }
    }
}

impl<'a> Checker<'a> {
    /// A new local variable, without a name in scope.
    fn new_local(&mut self, ident: Ident, ty: Ty, is_mut: bool) -> LocalId {
        let local = Local {
            name: ident.name,
            span: ident.span,
            ty,
            is_mut,
            address_taken: false,
            is_captured: false,
        };
        let id = self.program.locals.push(local);
        self.body.locals.push(id);
        id
    }

    /// Defines the name of a variable in the innermost scope.
    fn define_local(&mut self, ident: Ident, id: LocalId) {
        let level = self.body.level;
        if let Err(old) = self.body.scopes.define(ident.name, Def::Local(id), ident.span, level) {
            self.report_redefinition(ident.name, ident.span, old.span);
        }
    }

    /// A continuation `return`, `break` or `continue` for this result type.
    fn new_return(&mut self, name: &str, ret: Ty, span: Span) -> LocalId {
        let ty = self.program.types.continuation(ret);
        let ident = Ident { name: name.into(), span };
        let id = self.new_local(ident, ty, false);
        self.body.returns.insert(id, ret);
        self.define_local(ident, id);
        id
    }

    fn is_anonymous(&self, ident: Ident) -> bool {
        is_anonymous(ident.name, self.body.home.dialect)
    }

    fn error_expr(&mut self, span: Span) -> tree::Expr {
        self.body.has_errors = true;
        tree::Expr { kind: tree::ExprKind::Error, ty: self.program.types.error(), span }
    }

    fn is_error(&mut self, ty: Ty) -> bool {
        let ty = self.resolve(ty);
        ty == self.program.types.error()
    }

    fn is_never(&mut self, ty: Ty) -> bool {
        let ty = self.resolve(ty);
        ty == self.program.types.never()
    }
}
