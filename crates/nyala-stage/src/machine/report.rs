//! Errors of an evaluation: the annotation, the missing binding, and the last steps.

use super::{B, LiveKind, LiveValue, Machine, P};
use crate::code::{Closed, Const, Term};
use crate::errors::{Error, ErrorKind};

impl Machine {
    /// The error of an active body that needs a value.
    pub(super) fn unbound(&self, body: B, param: P, why: &str) -> Error {
        let name = self.param(param).name;
        let message = format!("an active body needs the value of `{name}`, which is not bound");
        let error = Error::new(ErrorKind::Unbound, self.body(body).span, message).label(why);
        self.with_trace(error.note(format!("`@{name}:` evaluates it when `{name}` is bound")))
    }

    /// The error of a program that does not end.
    pub(super) fn stuck(&self) -> Error {
        let body = self.lambda(self.root).body;
        let missing = self.missing(body);
        let mut error =
            Error::new(ErrorKind::Stuck, self.body(body).span, "the program is stuck: no body is active")
                .label(match missing.is_empty() {
                    true => "its staging expression is never active".into(),
                    false => format!("waits for {missing}"),
                });
        let others = self.bodies.iter().enumerate().filter(|(index, data)| {
            !matches!(data.kind, LiveKind::Gone) && *index != body.0 as usize && !data.span.is_none()
        });
        let mut spans = vec![error.span];
        for (index, data) in others {
            let missing = self.missing(B(index as u32));
            if !missing.is_empty() && !spans.contains(&data.span) && spans.len() < 4 {
                spans.push(data.span);
                error = error.other(data.span, format!("waits for {missing}"));
            }
        }
        self.with_trace(error)
    }

    /// The unbound parameters of a staging expression.
    pub(super) fn missing(&self, body: B) -> String {
        let mut names: Vec<String> = vec![];
        self.body(body).stage.for_each_param(&mut |param| {
            let data = self.param(param);
            let name = match data.name.as_str() {
                "_" => "the call of its function".into(),
                name => format!("`{name}`"),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        });
        names.join(" and ")
    }

    /// The error with the last steps as a note.
    pub(super) fn with_trace(&self, mut error: Error) -> Error {
        if !self.last.is_empty() {
            error = error.note(format!("after {} steps; the last ones:", self.n_steps));
            for (at, (rule, span, callee)) in self.last.iter().enumerate() {
                let number = self.n_steps + 1 - (self.last.len() - at) as u64;
                let callee =
                    if rule.name().ends_with(callee) { String::new() } else { format!(" `{callee}`") };
                error = error.note(format!("  {number}: {}{callee}", rule.name()));
                let is_known = span.is_none() || *span == error.span;
                if at + 1 == self.last.len() && !is_known && error.others.is_empty() {
                    error = error.other(*span, "evaluated last");
                }
            }
        }
        error
    }

    /// A value for people to read.
    pub(super) fn name_of(&self, value: &LiveValue) -> String {
        match value {
            Term::Param(param) => self.param(*param).name.to_string(),
            Term::Lambda(lambda) => {
                let params = &self.lambda(*lambda).params;
                let names: Vec<&str> = params.iter().map(|param| self.param(*param).name.as_str()).collect();
                format!("({})", names.join(", "))
            }
            Term::Closed(Closed(code)) => code.name.to_string(),
            Term::Primitive(primitive) => primitive.name(),
            Term::Const(Const::Native(_)) => "compiled code".into(),
            _ => "a value".into(),
        }
    }
}
