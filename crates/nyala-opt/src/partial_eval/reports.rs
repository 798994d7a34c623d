//! The diagnostics of an evaluation.
//!
//! A negative answer may become positive in a later round. So such a diagnostic is pending until the round after it;
//! the pending ones of the last round are final.

use nyala_span::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use crate::errors::LimitReached;

/// The diagnostics of all rounds.
#[derive(Default)]
pub(super) struct Reports {
    /// Certain in every round.
    certain: Vec<Diagnostic>,
    /// Of the current round: a later round may remove the reason.
    pending: Vec<Diagnostic>,
    /// The limits that were reached, with the numbers of their diagnostics in `certain`.
    limits: Vec<(usize, LimitReached)>,
    /// The messages that are reported once for each place.
    reported: FxHashSet<(Span, String)>,
}

impl Reports {
    pub(super) fn new(certain: Vec<Diagnostic>) -> Reports {
        Reports { certain, ..Reports::default() }
    }

    /// Starts a round.
    pub(super) fn begin_round(&mut self) {
        self.pending.clear();
    }

    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        self.certain.push(diagnostic);
    }

    pub(super) fn add_limit(&mut self, limit: LimitReached) {
        self.certain.push(limit.diagnostic());
        self.limits.push((self.certain.len() - 1, limit));
    }

    pub(super) fn add_pending(&mut self, diagnostic: Diagnostic) {
        self.pending.push(diagnostic);
    }

    /// Whether `message` is reported at `span` for the first time. Code may be evaluated more than once.
    pub(super) fn is_first(&mut self, span: Span, message: String) -> bool {
        self.reported.insert((span, message))
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// All diagnostics, after the last round, and the limits among them.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, Vec<(usize, LimitReached)>) {
        self.certain.extend(self.pending);
        (self.certain, self.limits)
    }
}
