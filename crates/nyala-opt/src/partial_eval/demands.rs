//! What the program asks the evaluator: `pe_info`, `pe_assert`, and functions that must be specialised.
//!
//! An answer that is no yet may become one in a later round, so a no is given by the last
//! round only: the state keeps those of the current one.

use nyala_ir::{ArithOp, Cont, Def, Defs, Intrinsic, Node};

use super::calls::Rule;
use super::engine::{Call, Engine};
use super::explain::{ParamAnswer, Reason, Source, Unknown};
use super::instance::Instance;
use super::show;
use crate::errors::{AssertionFails, Info, NotSpecialised};

impl Engine<'_> {
    /// Answers a `pe_info` as soon as it can be answered, and goes on behind it. Those
    /// that are left are removed in the end.
    pub(super) fn answer_info(&mut self, call: &mut Call) {
        let is_info = self.new.as_intrinsic(call.callee) == Some(Intrinsic::PeInfo);
        let (true, &[mem, message, value, ret]) = (is_info, call.args.as_slice()) else { return };
        let text = show::string(&self.new, message).unwrap_or_else(|| "pe_info".into());
        let info = |message, value| Info { call: call.span, message, value }.diagnostic();
        if let Some(unknown) = self.unknown(value) {
            self.state.pending.push(info(text, Err(unknown)));
            return;
        }
        let shown = self.show(value);
        // What is unfolded may have to be evaluated again.
        if self.state.told.insert((call.span, format!("{text}: {shown}"))) {
            self.state.diagnostics.push(info(text, Ok(shown)));
        }
        self.counters.answered += 1;
        call.callee = ret;
        call.args = Defs::from_slice(&[mem]);
    }

    /// Goes on behind a `pe_assert` whose condition is known. One that does not hold is an error, and so is one that asks
    /// for something to be known that never is; any other is removed in the end.
    pub(super) fn check_assertion(&mut self, call: &mut Call) {
        let is_assertion = self.new.as_intrinsic(call.callee) == Some(Intrinsic::PeAssert);
        let (true, &[mem, condition, message, ret]) = (is_assertion, call.args.as_slice()) else { return };
        let holds = self.new.as_lit(condition);
        let unknown = match holds {
            Some(_) => None,
            None => self.denial(condition, MAX_CONDITION_DEPTH).and_then(|value| self.unknown(value)),
        };
        let text = show::string(&self.new, message).unwrap_or_else(|| "a condition does not hold".into());
        let is_denied = holds == Some(0) || unknown.is_some();
        if is_denied && (holds.is_none() || self.state.told.insert((call.span, text.clone()))) {
            let (calls, before) = self.calls_around(call.span);
            let is_pending = unknown.is_some();
            let report = AssertionFails { at: call.span, message: text, unknown, calls, before }.diagnostic();
            if is_pending { &mut self.state.pending } else { &mut self.state.diagnostics }.push(report);
        }
        if holds.is_none() {
            return;
        }
        self.counters.answered += 1;
        call.callee = ret;
        call.args = Defs::from_slice(&[mem]);
    }

    /// What is not known, where `condition` is false for that alone.
    fn denial(&self, condition: Def, depth: usize) -> Option<Def> {
        let denial = |condition| depth.checked_sub(1).and_then(|depth| self.denial(condition, depth));
        match self.new.node(condition) {
            Node::Known(value) => Some(value),
            Node::Arith { op: ArithOp::And, lhs, rhs, .. } => denial(lhs).or_else(|| denial(rhs)),
            Node::Arith { op: ArithOp::Or, lhs, rhs, .. } => denial(lhs).filter(|_| denial(rhs).is_some()),
            _ => None,
        }
    }

    /// Where a value comes from that is not known.
    fn unknown(&mut self, value: Def) -> Option<Unknown> {
        let (source, at) = self.source_of(value)?;
        let shown = self.show(value);
        Some(Unknown { name: shown.clone(), value: shown, source, at })
    }

    /// Whether `old` is a function all of whose calls must be specialised.
    pub(super) fn is_demanding(&self, old: Cont) -> bool {
        self.old.origin(old).is_some_and(|origin| origin.must_specialize)
    }

    /// Whether a call is specialised on all that its callee asks for: each parameter with
    /// a filter, or all data if it has no filters. What is missed is reported, unless a later
    /// round does better.
    pub(super) fn meets_demand(&mut self, instance: &Instance, call: &Call, rules: &[Option<Rule>]) -> bool {
        let old = self.old;
        let Some(origin) = old.origin(instance.old) else { return true };
        let filter = &old.cont(instance.old).filter;
        let asks = |index: usize| match filter.get(index) {
            Some(&filter) => old.as_lit(filter) != Some(0),
            None => !origin.has_filters(),
        };
        let open = (0..instance.fixed().len()).filter(|&index| instance.fixed()[index].is_none());
        let mem = self.new.types.mem();
        let mut is_missed = |index: usize, arg: Def, rule: Option<Rule>| {
            rule.is_none() && asks(index) && self.new.ty(arg) != mem && !self.is_continuation(arg)
        };
        if !open.zip(call.args.iter().zip(rules)).any(|(index, (&arg, &rule))| is_missed(index, arg, rule)) {
            return true;
        }
        let mut params = self.answers(instance, call, rules);
        params.retain(|param| !param.reason.is_specialised());
        // Its own version for unknown arguments exists because of another call, which is to blame.
        let is_own = |unknown: &Unknown| matches!(unknown.source, Source::Param { function, .. } if function == origin.name);
        let is_follow_up = |param: &ParamAnswer| match &param.reason {
            Reason::FilterFails { unknown, .. } => unknown.iter().any(is_own),
            _ => false,
        };
        if params.iter().any(is_follow_up) {
            return false;
        }
        let report = NotSpecialised { function: origin.name, declared: origin.span, call: call.span, params };
        self.state.pending.push(report.diagnostic());
        false
    }
}

/// How many operators a condition may nest to be asked what it wants to be known.
const MAX_CONDITION_DEPTH: usize = 16;
