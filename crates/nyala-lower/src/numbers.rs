//! Numbers of generic instances: lengths, and the values of integer parameters.
//!
//! Checking leaves open what depends on parameters. Here the parameters are known, and what an
//! instance makes of them is checked: each number fits its parameter, and each length an array.

use std::ops::RangeInclusive;

use nyala_ir::{Def, Prim};
use nyala_sema::types as sema;
use nyala_sema::types::TyParam;
use nyala_span::Span;

use crate::errors::LowerError;
use crate::lowerer::Lowerer;

/// So many calls that led to a wrong number are told.
const MAX_TOLD_CALLS: usize = 4;

impl Lowerer<'_> {
    /// An integer parameter's value in the current instance.
    pub(crate) fn number(&mut self, number: sema::Ty, prim: sema::Ty) -> Def {
        let closed = self.close_ty(number);
        // What does not fit is reported where the instance is made.
        let value = self.types.as_number(closed).unwrap_or(0);
        self.literal(prim, value as u64)
    }

    /// The length of an array or the number of lanes of a vector. Reports an error outside of the allowed range.
    pub(crate) fn length(&mut self, of: sema::Ty, len: sema::Ty, allowed: RangeInclusive<u64>) -> u64 {
        match self.types.as_length(len, *allowed.end()) {
            Some(len) if allowed.contains(&len) => len,
            _ => {
                let number = self.types.display(len).to_string();
                let what = format!("length `{number}` of `{}`", self.types.display(of));
                let why = format!("it must be between {} and {}", allowed.start(), allowed.end());
                self.report_number(what, why, self.world.span);
                // A vector of two lanes still is one.
                2
            }
        }
    }

    /// Whether arguments of a generic item fit its parameters; reports it if not.
    pub(crate) fn check_numbers(&mut self, tparams: &[TyParam], args: &[sema::Ty], at: Span) -> bool {
        for (&param, &arg) in tparams.iter().zip(args) {
            let Some(prim) = self.types.param_prim(param) else { continue };
            if self.types.as_number(arg).is_none_or(|value| !sema::fits(prim, value)) {
                let number = self.types.display(arg).to_string();
                let what = format!("argument `{number}` for `{}`", self.types.params[param].name);
                self.report_number(what, format!("it is no value of `{}`", prim.name()), at);
                return false;
            }
        }
        true
    }

    /// A vector's lane in an instance; reports what cannot be one.
    pub(crate) fn lane(&mut self, of: sema::Ty, lane: sema::Ty) -> sema::Ty {
        if matches!(self.types.kind(lane), sema::TyKind::Prim(_) | sema::TyKind::Ptr { .. }) {
            return lane;
        }
        let what = format!("lane `{}` of `{}`", self.types.display(lane), self.types.display(of));
        self.report_number(what, "lanes are no vectors".into(), self.world.span);
        self.types.prim(Prim::I32)
    }

    /// Reports what an instance makes of its arguments, with the calls that led to it.
    fn report_number(&mut self, what: String, why: String, at: Span) {
        let calls = self.generic_calls();
        self.errors.push(LowerError::BadNumber { what, why, at, calls });
    }

    /// The generic instances that the current one was made for, with the places of their first uses.
    pub(crate) fn generic_calls(&self) -> Vec<(String, Span)> {
        let mut calls = vec![];
        let mut instance = self.frame.instance;
        while let Some((name, span, caller)) = self.generic_call(instance)
            && calls.len() < MAX_TOLD_CALLS
        {
            calls.push((name, span));
            instance = caller;
        }
        calls
    }
}
