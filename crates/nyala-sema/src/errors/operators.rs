//! Errors of operators as diagnostics.

use nyala_span::Diagnostic;

use super::render::{Render, error};
use super::{Error, NoDeclaredOperator, Operand};
use crate::tree::FnId;
use crate::types::TyKind;

/// So many operators are listed in a message.
const MAX_LISTED: usize = 4;

impl Render<'_> {
    pub(super) fn operator(&self, error_: Error) -> Result<Diagnostic, Error> {
        Ok(match error_ {
            Error::NoDeclaredOperator(error) => {
                let NoDeclaredOperator { operator, op_span, operands, close, can_declare } = error;
                let report = self.no_operator(operator, &operands, op_span);
                let report = self.with_operators(report, &close);
                match can_declare {
                    true => report.with_note(self.declaration(operator, &operands)),
                    false => report,
                }
            }
            Error::OperandTypes { op, op_span, lhs, rhs } => {
                let (lhs_ty, rhs_ty) = (self.ty(lhs.ty), self.ty(rhs.ty));
                let message = format!("`{op}` needs operands of one type, found {lhs_ty} and {rhs_ty}");
                let diagnostic = error("E0212", op_span, message)
                    .with_secondary(lhs.span, format!("this is {lhs_ty}"))
                    .with_secondary(rhs.span, format!("this is {rhs_ty}"));
                // The count of a shift follows what is shifted; otherwise nothing should be lost.
                let is_shift = matches!(op, "<<" | ">>");
                if !is_shift && self.rank(lhs.ty) < self.rank(rhs.ty) {
                    self.suggest_cast(diagnostic, lhs, rhs.ty)
                } else {
                    self.suggest_cast(diagnostic, rhs, lhs.ty)
                }
            }
            Error::NoOperator { op, ty, span, op_span, is_late } => {
                let report = error("E0211", op_span, format!("`{op}` is not defined for {}", self.ty(ty)))
                    .with_secondary(span, format!("this is {}", self.ty(ty)));
                let can_be_declared =
                    matches!(self.program.types.kind(ty), TyKind::Struct(..) | TyKind::Enum(..));
                match is_late && can_be_declared {
                    true => report.with_note(
                        "a declared operator needs the types of its operands here: write the type of one",
                    ),
                    false => report,
                }
            }
            Error::AmbiguousOperator { operator, op_span, fitting } => {
                let message = format!("several operators `{operator}` fit these operands");
                let report = error("E0226", op_span, message).with_note(
                    "write the type of the operand that is not known yet: `2f`, or a `let` with a type",
                );
                self.with_operators(report, &fitting)
            }
            Error::MalformedOperator { span, why } => {
                error("E0432", span, "malformed declaration of an operator").with_label(why)
            }
            Error::ForeignOperator { span, operands, is_call } => {
                let message = match is_call {
                    true => "the first operand of `()` must be a struct or enum of this package",
                    false => "an operand of an operator must be a struct or enum of this package",
                };
                let report = error("E0433", span, message)
                    .with_note("so two packages never declare the same operator; define a struct, or a function with a name");
                let n_shown = if is_call { 1 } else { operands.len() };
                operands.into_iter().take(n_shown).fold(report, |report, (ty, at)| {
                    report.with_secondary(at, format!("{} is not", self.ty(ty)))
                })
            }
            Error::OperatorOverlap { operator, span, first } => {
                error("E0434", span, format!("two operators `{operator}` apply to the same operands"))
                    .with_label("declared again here")
                    .with_secondary(first, "first declared here")
            }
            other => return Err(other),
        })
    }

    fn no_operator(&self, operator: &str, operands: &[Operand], op_span: nyala_span::Span) -> Diagnostic {
        match operands {
            [lhs, rhs] if lhs.ty != rhs.ty => {
                let (lhs_ty, rhs_ty) = (self.ty(lhs.ty), self.ty(rhs.ty));
                let message = format!("`{operator}` is not defined for {lhs_ty} and {rhs_ty}");
                error("E0212", op_span, message)
                    .with_secondary(lhs.span, format!("this is {lhs_ty}"))
                    .with_secondary(rhs.span, format!("this is {rhs_ty}"))
            }
            _ => {
                let operand = &operands[0];
                error("E0211", op_span, format!("`{operator}` is not defined for {}", self.ty(operand.ty)))
                    .with_secondary(operand.span, format!("this is {}", self.ty(operand.ty)))
            }
        }
    }

    /// Adds the places of declarations, with their operands.
    fn with_operators(&self, report: Diagnostic, fns: &[FnId]) -> Diagnostic {
        fns.iter().take(MAX_LISTED).fold(report, |report, &id| {
            let function = &self.program.fns[id];
            let operands: Vec<String> = function.params.iter().map(|param| self.ty(param.ty)).collect();
            report.with_secondary(function.span, format!("declared for {}", operands.join(" and ")))
        })
    }

    /// The operator that a program can declare, if these operands can have one.
    fn declaration(&self, operator: &str, operands: &[Operand]) -> String {
        let types = &self.program.types;
        if let [lhs, rhs] = operands
            && let (TyKind::Simd(_, left), TyKind::Simd(_, right)) = (types.kind(lhs.ty), types.kind(rhs.ty))
            && left != right
        {
            return "vectors of different lengths do not mix".into();
        }
        let ty = |operand: &Operand| types.display(operand.ty).to_string();
        let params: Vec<String> = operands
            .iter()
            .zip(["a", "b"])
            .map(|(operand, name)| format!("{name}: {}", ty(operand)))
            .collect();
        let is_nominal = |operand: &&Operand| {
            matches!(types.kind(operand.ty), TyKind::Struct(..) | TyKind::Enum(..) | TyKind::Simd(..))
        };
        let result = match operator {
            "==" | "!=" | "<" | "<=" | ">" | ">=" => "bool".to_owned(),
            _ => operands.iter().find(is_nominal).map_or_else(String::new, ty),
        };
        format!(
            "a program can declare it: `fn @operator {operator}({}) -> {result} {{ .. }}`",
            params.join(", ")
        )
    }
}
