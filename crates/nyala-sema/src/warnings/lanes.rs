//! Updates of shared variables that lanes of `vectorize` lose.
//!
//! Each lane computes the new value from the same old one, and one of the results stays: `s += x(i)` adds the
//! number of one lane. It is reported if all lanes that get there execute it: not in code for a single lane, nor
//! where the value comes from a call that may be a collective operation.

use nyala_span::{Name, Span};
use nyala_syntax::ast::BinaryOp;
use rustc_hash::FxHashSet;

use super::Warning;
use crate::tree::{Abi, Call, Cond, Expr, ExprKind, Function, Lambda, Linkage, LocalId, Program, Stmt};
use crate::visit;

/// The generators of the prelude whose body one lane executes at a time, or the lanes that have the same value.
const ONE_LANE: [&str; 3] = ["scalar", "for_each_active", "for_each_unique"];

pub(super) fn check(program: &Program) -> Vec<Warning> {
    let mut warnings = vec![];
    for root in visit::roots(program) {
        visit::walk(root, |expr| {
            if let Some((lambda, generator)) = body_of_lanes(program, expr) {
                let found = Body::new(program, lambda).lost_updates();
                let warning = |(name, at)| Warning::LostUpdate { name, generator, at };
                warnings.extend(found.into_iter().map(warning));
            }
        });
    }
    warnings
}

/// The body of a call of `vectorize`, and the name of the function in the call.
fn body_of_lanes<'a>(program: &Program, expr: &'a Expr) -> Option<(&'a Lambda, Name)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let function = called(program, call)?;
    match symbol(function)? == "vectorize" {
        true => Some((call.args.iter().find_map(lambda_of)?, function.name)),
        false => None,
    }
}

fn called<'a>(program: &'a Program, call: &Call) -> Option<&'a Function> {
    match call.callee.kind {
        ExprKind::Fn(id, _) => program.fns.get(id),
        _ => None,
    }
}

/// The symbol of an intrinsic.
fn symbol(function: &Function) -> Option<&str> {
    match &function.linkage {
        Linkage::Import { abi: Abi::Intrinsic, symbol } => Some(symbol.as_str()),
        _ => None,
    }
}

fn lambda_of(expr: &Expr) -> Option<&Lambda> {
    match &expr.kind {
        ExprKind::Lambda(lambda) => Some(lambda),
        ExprKind::Coerce { expr, .. } => lambda_of(expr),
        _ => None,
    }
}

/// The body of lanes.
struct Body<'a> {
    program: &'a Program,
    lambda: &'a Lambda,
    /// Variables of the body whose values may come from collective operations.
    opaque: FxHashSet<LocalId>,
}

impl<'a> Body<'a> {
    fn new(program: &'a Program, lambda: &'a Lambda) -> Body<'a> {
        let mut body = Body { program, lambda, opaque: FxHashSet::default() };
        visit::walk(&lambda.body, |expr| {
            let ExprKind::Block { stmts, .. } = &expr.kind else { return };
            for stmt in stmts {
                if let Stmt::Let { pat, init: Some(init) } = stmt
                    && body.is_opaque(init)
                {
                    body.opaque.extend(visit::bindings(pat));
                }
            }
        });
        body
    }

    /// The variables that lanes update together, and where.
    fn lost_updates(&self) -> Vec<(Name, Span)> {
        let mut found = vec![];
        visit::walk_while(&self.lambda.body, |expr| {
            let updated = match &expr.kind {
                ExprKind::Assign { op, place, value, .. } => self
                    .shared(place)
                    .filter(|&local| (op.is_some() || mentions(value, local)) && !self.is_opaque(value)),
                ExprKind::Step { place, .. } => self.shared(place),
                _ => None,
            };
            if let Some(local) = updated {
                found.push((self.program.locals[local].name, expr.span));
            }
            !self.may_be_one_lane(expr)
        });
        found
    }

    /// The variable from outside that a place is, or points to.
    fn shared(&self, place: &Expr) -> Option<LocalId> {
        match &place.kind {
            ExprKind::Local(local) => {
                let (own, body) = (self.program.locals[*local].span, self.lambda.body.span);
                let is_own = body.lo <= own.lo && own.hi <= body.hi;
                let is_param = self.lambda.params.iter().any(|it| visit::bindings(&it.pat).contains(local));
                (!is_own && !is_param).then_some(*local)
            }
            ExprKind::Deref(inner) | ExprKind::Coerce { expr: inner, .. } => self.shared(inner),
            _ => None,
        }
    }

    /// Whether a value may come from a collective operation.
    fn is_opaque(&self, value: &Expr) -> bool {
        let mut is_opaque = false;
        visit::walk(value, |expr| {
            is_opaque |= match &expr.kind {
                ExprKind::Local(local) => self.opaque.contains(local),
                ExprKind::Call(call) => {
                    let symbol = called(self.program, call).and_then(symbol);
                    symbol.is_none_or(|symbol| symbol.starts_with("rv_"))
                }
                _ => false,
            };
        });
        is_opaque
    }

    /// Whether code inside may be executed by one lane only, or belongs to other lanes.
    fn may_be_one_lane(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Call(call) => {
                let function = called(self.program, call);
                function.is_none_or(|function| ONE_LANE.contains(&function.name.as_str()))
                    || body_of_lanes(self.program, expr).is_some()
            }
            ExprKind::If { arms, .. } => arms.iter().any(|(cond, _)| match cond {
                Cond::Expr(cond) => self.is_opaque(cond) || compares_for_equality(cond),
                Cond::Let(..) => true,
            }),
            _ => false,
        }
    }
}

fn mentions(value: &Expr, local: LocalId) -> bool {
    let mut found = false;
    visit::walk(value, |expr| found |= matches!(expr.kind, ExprKind::Local(it) if it == local));
    found
}

fn compares_for_equality(cond: &Expr) -> bool {
    let mut found = false;
    visit::walk(cond, |expr| {
        if let ExprKind::Chain { rest, .. } = &expr.kind {
            found |= rest.iter().any(|link| link.op == BinaryOp::Eq);
        }
    });
    found
}
