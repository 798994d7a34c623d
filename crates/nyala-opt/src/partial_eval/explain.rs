//! What the evaluator has done at each call, and why.

use nyala_ir::Cont;
use nyala_span::Span;

/// One decision about one call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Where the call stands in the source.
    pub span: Span,
    /// What is called, in the program that the round evaluated.
    pub callee: Cont,
    /// The parameters it is specialised on, by number, each with the reason.
    pub reasons: Vec<(usize, Reason)>,
    /// What became of the call.
    pub outcome: Outcome,
}

/// Why a call is specialised on a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// `@@` at the call.
    Forced,
    /// Its filter holds.
    Filter,
    /// It is a function that takes a function or returns.
    HigherOrder,
    /// It is a continuation, and the callee is no plain function.
    Continuation,
}

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the only use of its callee, and was evaluated on the spot.
    Inlined,
    /// It calls a new specialisation.
    Specialised(Cont),
    /// It calls a specialisation that was there.
    Reused(Cont),
    /// It stays as it is.
    Kept,
}
