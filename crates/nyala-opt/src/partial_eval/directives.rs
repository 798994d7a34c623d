//! Directives of the program: `pe_info`, `pe_assert`, `pe_expect` and `#[must_specialize]`.

use nyala_ir::{ArithOp, Cont, Def, Defs, Intrinsic, Node};
use nyala_span::Severity;

use super::engine::{Call, Engine};
use super::explain::{ParamAnswer, Reason, Source, Unknown};
use super::instance::Instance;
use super::rules::Rule;
use super::show;
use crate::errors::{AssertionFails, Info, NotSpecialized};

/// How many operators of a condition are searched for an unknown value.
const MAX_CONDITION_DEPTH: usize = 16;

impl Engine<'_> {
    /// Answers a `pe_info` when its value is known, and continues behind it. The others are removed at the end.
    pub(super) fn answer_info(&mut self, call: &mut Call) {
        let is_info = self.new.as_intrinsic(call.callee) == Some(Intrinsic::PeInfo);
        let (true, &[mem, message, value, ret]) = (is_info, call.args.as_slice()) else { return };
        let text = show::string(&self.new, message).unwrap_or_else(|| "pe_info".into());
        let info = |message, value| Info { call: call.span, message, value }.diagnostic();
        if let Some(unknown) = self.unknown(value) {
            self.state.reports.add_pending(info(text, Err(unknown)));
            return;
        }
        let shown = self.show(value);
        if self.state.reports.is_first(call.span, format!("{text}: {shown}")) {
            self.state.reports.add(info(text, Ok(shown)));
        }
        self.spent.counters.answered += 1;
        call.callee = ret;
        call.args = Defs::from_slice(&[mem]);
    }

    /// Continues behind a `pe_assert` whose condition is known. A false condition is an error. So is a condition
    /// that requires an unknown value to be known. Any other assertion is removed at the end. The same of a
    /// `pe_expect`, which is a warning, and never needs a known value.
    pub(super) fn check_assertion(&mut self, call: &mut Call) {
        let severity = match self.new.as_intrinsic(call.callee) {
            Some(Intrinsic::PeAssert) => Severity::Error,
            Some(Intrinsic::PeExpect) => Severity::Warning,
            _ => return,
        };
        let &[mem, condition, message, ret] = call.args.as_slice() else { return };
        let holds = self.new.as_lit(condition);
        let unknown = match (holds, severity) {
            (Some(_), _) | (_, Severity::Warning) => None,
            _ => self.required(condition, MAX_CONDITION_DEPTH).and_then(|value| self.unknown(value)),
        };
        let text = show::string(&self.new, message).unwrap_or_else(|| "a condition does not hold".into());
        let fails = holds == Some(0) || unknown.is_some();
        if fails && (holds.is_none() || self.state.reports.is_first(call.span, text.clone())) {
            let mut calls = self.active_calls(ret, self.current.context.link);
            calls.retain(|&active| active != call.span);
            let is_pending = unknown.is_some();
            let report =
                AssertionFails { at: call.span, severity, message: text, unknown, calls }.diagnostic();
            match is_pending {
                true => self.state.reports.add_pending(report),
                false => self.state.reports.add(report),
            }
        }
        if holds.is_none() {
            return;
        }
        self.spent.counters.answered += 1;
        call.callee = ret;
        call.args = Defs::from_slice(&[mem]);
    }

    /// A value that must be known for `condition` to hold.
    fn required(&self, condition: Def, depth: usize) -> Option<Def> {
        let required = |condition| depth.checked_sub(1).and_then(|depth| self.required(condition, depth));
        match self.new.node(condition) {
            Node::Known(value) => Some(value),
            Node::Arith { op: ArithOp::And, lhs, rhs, .. } => required(lhs).or_else(|| required(rhs)),
            Node::Arith { op: ArithOp::Or, lhs, rhs, .. } => {
                required(lhs).filter(|_| required(rhs).is_some())
            }
            _ => None,
        }
    }

    /// The source of a value that is unknown.
    fn unknown(&mut self, value: Def) -> Option<Unknown> {
        let (source, at) = self.source_of(value)?;
        let shown = self.show(value);
        Some(Unknown { name: shown.clone(), value: shown, source, at })
    }

    /// Whether `old` has the attribute `must_specialize`: all its calls must be specialized.
    pub(super) fn must_specialize(&self, old: Cont) -> bool {
        self.old.origin(old).is_some_and(|origin| origin.must_specialize)
    }

    /// Whether a call of a function with `must_specialize` is specialized on each parameter with
    /// a filter, or on all data if the function has no filters. Reports if not; the report is pending.
    pub(super) fn check_must_specialize(
        &mut self,
        instance: &Instance,
        call: &Call,
        rules: &[Option<Rule>],
    ) -> bool {
        let old = self.old;
        let Some(origin) = old.origin(instance.old) else { return true };
        let filter = &old.cont(instance.old).filter;
        let is_required = |index: usize| match filter.get(index) {
            Some(&filter) => old.as_lit(filter) != Some(0),
            None => !origin.has_filters(),
        };
        let open = (0..instance.fixed().len()).filter(|&index| instance.fixed()[index].is_none());
        let mem = self.new.types.mem();
        let mut is_missed = |index: usize, arg: Def, rule: Option<Rule>| {
            rule.is_none() && is_required(index) && self.new.ty(arg) != mem && !self.is_continuation(arg)
        };
        if !open.zip(call.args.iter().zip(rules)).any(|(index, (&arg, &rule))| is_missed(index, arg, rule)) {
            return true;
        }
        let mut params = self.answers(instance, call, rules);
        params.retain(|param| !param.reason.is_specialized());
        // The version of the function for unknown arguments exists because of another call. That call is reported.
        let is_own = |unknown: &Unknown| matches!(unknown.source, Source::Param { function, .. } if function == origin.name);
        let is_consequence = |param: &ParamAnswer| match &param.reason {
            Reason::FilterFails { unknown, .. } => unknown.iter().any(is_own),
            _ => false,
        };
        if params.iter().any(is_consequence) {
            return false;
        }
        let report = NotSpecialized { function: origin.name, declared: origin.span, call: call.span, params };
        self.state.reports.add_pending(report.diagnostic());
        false
    }
}
