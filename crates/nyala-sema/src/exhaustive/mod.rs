//! Patterns: exhaustiveness of matches, reachability of arms, and irrefutability of the
//! patterns of `let`, parameters and loops.
//!
//! This module turns patterns into tests, and results into diagnostics. `decide` is the
//! search, and knows no types. `witness` prints a value that no arm matches, as a
//! pattern.

pub mod decide;
mod witness;

#[cfg(test)]
mod tests;

use cranelift_entity::SecondaryMap;
use nyala_span::{Code, Diagnostic, Span};

use crate::tree::{Cond, Expr, ExprKind, Lambda, Param, Pat, PatKind, Program, Stmt};
use crate::types::{Prim, Ty, TyKind, Types};
use crate::visit;
use decide::{Ctor, Decided, MAX_WITNESSES, Matrix, Occurrence, Test, TooComplex, decide};

/// Checks all patterns of a program. Patterns with errors are skipped.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    let mut checker = Checker { program, problems: vec![] };
    for function in program.fns.values() {
        checker.params("a parameter", &function.params);
    }
    for root in visit::roots(program) {
        visit::walk(root, |expr| checker.expr(expr));
    }
    checker.problems.into_iter().map(Problem::into_diagnostic).collect()
}

/// The errors of patterns.
enum Problem {
    Refutable { of: &'static str, at: Span, missing: Vec<String> },
    NotExhaustive { at: Span, missing: Vec<String> },
    NotProven { at: Span },
    Unreachable { at: Span, covered_by: Option<Span> },
    AlwaysMatches { keyword: &'static str, at: Span },
}

impl Problem {
    fn into_diagnostic(self) -> Diagnostic {
        match self {
            Problem::Refutable { of, at, missing } => {
                let message = format!("the pattern of {of} must match every value");
                Diagnostic::error(Code("E0501"), at, message)
                    .with_label(format!("{} not matched", quoted_and_are(&missing)))
                    .with_note("`match` and `if let` accept patterns that may fail")
            }
            Problem::NotExhaustive { at, missing } => {
                let message = format!("match is not exhaustive: {} not covered", quoted_and_are(&missing));
                Diagnostic::error(Code("E0502"), at, message)
                    .with_note("add the missing arms, or `_ => ..` for all other values")
            }
            Problem::NotProven { at } => {
                Diagnostic::error(Code("E0502"), at, "cannot prove that this match is exhaustive")
                    .with_label("too many combinations to check")
                    .with_note("add an arm `_ => ..` for all other values")
            }
            Problem::AlwaysMatches { keyword, at } => {
                let message = format!("the pattern of this `{keyword} let` matches every value");
                Diagnostic::error(Code("E0508"), at, message).with_note("a plain `let` binds the names")
            }
            Problem::Unreachable { at, covered_by } => {
                let warning = Diagnostic::warning(Code("W0010"), at, "this arm is never reached");
                match covered_by {
                    Some(earlier) => warning.with_secondary(earlier, "this arm matches all its values"),
                    None => warning.with_label("the arms before it match all its values"),
                }
            }
        }
    }
}

/// "`a` is", "`a` and `b` are", "`a`, `b` and `c` are", "`a`, `b`, `c` and others are".
fn quoted_and_are(values: &[String]) -> String {
    let mut quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    if let Some(last) = quoted.get_mut(MAX_WITNESSES - 1) {
        "others".clone_into(last);
    }
    match quoted.split_last() {
        Some((last, [])) => format!("{last} is"),
        Some((last, before)) => format!("{} and {last} are", before.join(", ")),
        None => "`_` is".into(),
    }
}

struct Checker<'a> {
    program: &'a Program,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Match { scrutinee, arms } => self.match_(scrutinee, arms),
            ExprKind::If { arms, .. } => arms.iter().for_each(|(cond, _)| self.cond("if", cond)),
            ExprKind::While { cond, .. } => self.cond("while", cond),
            ExprKind::Lambda(lambda) => self.params(self.owner_of_params(lambda), &lambda.params),
            ExprKind::Block { stmts, .. } => {
                for stmt in stmts {
                    if let Stmt::Let { pat, .. } = stmt {
                        self.irrefutable("a `let`", pat);
                    }
                }
            }
            _ => {}
        }
    }

    /// The noun for a parameter of a lambda: the body of a loop is a lambda, too.
    fn owner_of_params(&self, lambda: &Lambda) -> &'static str {
        let own_return = lambda.return_local.map(|local| self.program.locals[local].name.as_str());
        match own_return {
            Some("continue") => "a `for`",
            Some("break") => "a `with`",
            _ => "a parameter",
        }
    }

    fn params(&mut self, of: &'static str, params: &[Param]) {
        for param in params {
            self.irrefutable(of, &param.pat);
        }
    }

    /// A pattern that always matches is no condition.
    fn cond(&mut self, keyword: &'static str, cond: &Cond) {
        let Cond::Let(pat, _) = cond else { return };
        let Some(arms) = Arms::new(self.program, [pat]) else { return };
        if arms.matrix.is_irrefutable(0) {
            self.problems.push(Problem::AlwaysMatches { keyword, at: pat.span });
        }
    }

    fn irrefutable(&mut self, of: &'static str, pat: &Pat) {
        let Some(arms) = Arms::new(self.program, [pat]) else { return };
        if arms.matrix.is_irrefutable(0) {
            return;
        }
        let missing = match decide(&arms.matrix) {
            Ok(decided) => arms.show_witnesses(&decided),
            // The tests of one arm form a path. The work is linear, so the budget suffices.
            Err(TooComplex) => vec![],
        };
        if !missing.is_empty() {
            self.problems.push(Problem::Refutable { of, at: pat.span, missing });
        }
    }

    fn match_(&mut self, scrutinee: &Expr, arms: &[(Pat, Expr)]) {
        let types = &self.program.types;
        if [types.error(), types.never()].contains(&scrutinee.ty) {
            return;
        }
        let Some(lowered) = Arms::new(self.program, arms.iter().map(|(pat, _)| pat)) else { return };
        match decide(&lowered.matrix) {
            Ok(decided) => {
                if !decided.witnesses.is_empty() {
                    let missing = lowered.show_witnesses(&decided);
                    self.problems.push(Problem::NotExhaustive { at: scrutinee.span, missing });
                }
                self.unreachable(&lowered.matrix, &decided, arms);
            }
            Err(TooComplex) => {
                if !(0..arms.len()).any(|arm| lowered.matrix.is_irrefutable(arm)) {
                    self.problems.push(Problem::NotProven { at: scrutinee.span });
                }
            }
        }
    }

    fn unreachable(&mut self, matrix: &Matrix, decided: &Decided, arms: &[(Pat, Expr)]) {
        if decided.reached.iter().all(|&reached| reached) {
            return;
        }
        let first_equals = matrix.first_equals();
        let takes_all = (0..arms.len()).find(|&arm| matrix.is_irrefutable(arm));
        for (arm, (pat, _)) in arms.iter().enumerate() {
            if !decided.reached[arm] {
                let equal = Some(first_equals[arm]).filter(|&earlier| earlier < arm);
                let covered_by = equal.or(takes_all.filter(|&earlier| earlier < arm));
                let covered_by = covered_by.map(|earlier| arms[earlier].0.span);
                self.problems.push(Problem::Unreachable { at: pat.span, covered_by });
            }
        }
    }
}

/// Facts about the value at an occurrence, for printing.
#[derive(Clone, Copy)]
struct Place {
    ty: Ty,
    /// The number of parts of the pattern of a tuple, array or vector.
    n_parts: u32,
}

/// The patterns of a match as tests.
struct Arms<'a> {
    program: &'a Program,
    matrix: Matrix,
    places: SecondaryMap<Occurrence, Option<Place>>,
}

impl<'a> Arms<'a> {
    /// `None` if a pattern has an error.
    fn new(program: &'a Program, pats: impl IntoIterator<Item = &'a Pat>) -> Option<Arms<'a>> {
        let mut arms = Arms { program, matrix: Matrix::default(), places: SecondaryMap::new() };
        for pat in pats {
            let tests = arms.tests(pat)?;
            arms.matrix.push_arm(tests);
        }
        Some(arms)
    }

    /// The tests of `pat`.
    fn tests(&mut self, pat: &'a Pat) -> Option<Vec<Test>> {
        let mut tests = vec![];
        let mut stack = vec![(Occurrence::ROOT, pat)];
        while let Some((at, pat)) = stack.pop() {
            match &pat.kind {
                PatKind::Wild | PatKind::Bind(_, None) => continue,
                PatKind::Bind(_, Some(inner)) => stack.push((at, inner)),
                PatKind::Lit(bits) => {
                    let ctor = Ctor {
                        tag: *bits,
                        max_tag: max_bits(&self.program.types, pat.ty)?,
                        is_option: false,
                    };
                    tests.push(Test { at, ctor });
                }
                PatKind::Parts(parts) => {
                    let parts = (0..).zip(parts);
                    stack.extend(parts.map(|(i, part)| (self.matrix.part(at, 0, i), part)));
                }
                PatKind::Struct(fields) => {
                    stack.extend(fields.iter().map(|(i, part)| (self.matrix.part(at, 0, *i), part)));
                }
                PatKind::Variant(option, fields) => {
                    let tag = u64::from(*option);
                    tests.push(Test { at, ctor: self.option_ctor(pat.ty, tag)? });
                    stack.extend(fields.iter().map(|(i, part)| (self.matrix.part(at, tag, *i), part)));
                }
                PatKind::Error => return None,
            }
            let n_parts = if let PatKind::Parts(parts) = &pat.kind { parts.len() as u32 } else { 0 };
            self.places[at] = Some(Place { ty: pat.ty, n_parts });
        }
        Some(tests)
    }

    fn option_ctor(&self, ty: Ty, tag: u64) -> Option<Ctor> {
        let TyKind::Enum(id, _) = self.program.types.kind(ty) else { return None };
        let max_tag = self.program.enums[*id].options.len().saturating_sub(1) as u64;
        Some(Ctor { tag, max_tag, is_option: true })
    }

    fn show_witnesses(&self, decided: &Decided) -> Vec<String> {
        decided.witnesses.iter().map(|witness| witness::show(self, witness)).collect()
    }
}

/// The largest bit pattern of a primitive type with literal patterns.
fn max_bits(types: &Types, ty: Ty) -> Option<u64> {
    let TyKind::Prim(prim) = types.kind(ty) else { return None };
    match prim {
        Prim::Bool => Some(1),
        Prim::I8 | Prim::U8 => Some(u8::MAX.into()),
        Prim::I16 | Prim::U16 => Some(u16::MAX.into()),
        Prim::I32 | Prim::U32 => Some(u32::MAX.into()),
        Prim::I64 | Prim::U64 => Some(u64::MAX),
        Prim::F16 | Prim::F32 | Prim::F64 => None,
    }
}
