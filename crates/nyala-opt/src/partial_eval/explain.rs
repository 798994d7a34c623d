//! The decisions of the evaluator at each call, with reasons, as data.
//!
//! A [`Site`] is a call in the source. It may be evaluated many times, once in each
//! specialization of the enclosing function. The results are
//! [`Variant`]s; equal ones are counted together. `journal` collects them.

use nyala_span::{Name, Span};

/// The record of an evaluation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The calls, in the order of the source.
    pub sites: Vec<Site>,
    /// The size of the program before.
    pub nodes_before: u64,
    /// The size of the program after.
    pub nodes_after: u64,
}

/// A call in the source, of one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The place of the call.
    pub span: Span,
    /// The callee.
    pub callee: Name,
    /// Where the callee is declared.
    pub declared: Span,
    /// The body of the callee.
    pub body: Span,
    /// The different outcomes, at most [`Site::MAX_VARIANTS`].
    pub variants: Vec<Variant>,
    /// How often a new specialization was made.
    pub specialized: u64,
    /// How many of these were rolled back, because they led to a limit.
    pub rolled_back: u64,
    /// How often an existing specialization was reused.
    pub reused: u64,
    /// How often the callee was inlined, since this is its only use.
    pub inlined: u64,
    /// How often a run of the evaluator unfolded the callee.
    pub unfolded: u64,
    /// How many calls are not specialized at the end.
    pub kept: u64,
    /// How many nodes were built for these calls.
    pub nodes: u64,
}

impl Site {
    /// How many different variants are recorded; the others are only counted.
    pub const MAX_VARIANTS: usize = 12;
}

/// An outcome of a call, with its number of occurrences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The decision.
    pub outcome: Outcome,
    /// The arguments, without the memory token and the return continuation.
    pub params: Vec<ParamAnswer>,
    /// How often.
    pub times: u64,
}

/// The decision at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the only use of its callee, and was inlined.
    Inlined,
    /// It calls a new specialization.
    Specialized,
    /// It calls an existing specialization.
    Reused,
    /// It calls the enclosing specialization, with the same known arguments, so this is a loop.
    Looped,
    /// A run of the evaluator unfolded the callee.
    Unfolded,
    /// It is kept.
    Kept,
}

/// An argument, and whether the call is specialized on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamAnswer {
    /// The name of the parameter; `return` for the return continuation.
    pub name: String,
    /// The argument.
    pub value: String,
    /// Whether the call is specialized on it, and why.
    pub reason: Reason,
}

/// Why a call is or is not specialized on a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// `@@` at the call.
    Forced,
    /// Its filter holds.
    Filter {
        /// The filter.
        at: Span,
    },
    /// The argument is a function.
    HigherOrder,
    /// The argument is a continuation, and the callee is no plain function.
    Continuation,
    /// A run of the evaluator unfolds the callee.
    Run,
    /// The call has the mark `@halt`.
    Halted,
    /// The parameter has no filter.
    NoFilter,
    /// Its filter does not hold.
    FilterFails {
        /// The filter.
        at: Span,
        /// The filter with the arguments put in.
        instantiated: String,
        /// The arguments in it that are unknown.
        unknown: Vec<Unknown>,
    },
    /// A limit was reached.
    Limit,
}

impl Reason {
    /// Whether the call is specialized on the parameter.
    pub fn is_specialized(&self) -> bool {
        matches!(
            self,
            Reason::Forced | Reason::Filter { .. } | Reason::HigherOrder | Reason::Continuation | Reason::Run
        )
    }
}

/// An argument that is only known at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// The parameter.
    pub name: String,
    /// The argument.
    pub value: String,
    /// The source of the value.
    pub source: Source,
    /// The place of the source, or none.
    pub at: Span,
}

/// The source of a value that is only known at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A parameter of an exported function.
    ExportedParam {
        /// The function.
        function: Name,
        /// The parameter.
        param: String,
    },
    /// A parameter of a function that is not specialized on it.
    Param {
        /// The function.
        function: Name,
        /// The parameter.
        param: String,
    },
    /// The result of an external function.
    ExternResult {
        /// The function.
        function: Name,
    },
    /// The result of a call that is kept.
    Result {
        /// The function.
        function: Name,
    },
    /// A variable that a loop changes, or that differs between branches.
    Join {
        /// The variable, if it has a name.
        variable: String,
    },
    /// Read from memory.
    Load,
    /// The address of a variable or of allocated memory.
    Address,
    /// Hidden by `$`.
    Hidden,
    /// Never initialized.
    Undefined,
    /// Computed by inline assembly.
    Assembly,
}

impl Source {
    /// A short name for tools, stable.
    pub fn kind(&self) -> &'static str {
        match self {
            Source::ExportedParam { .. } => "exported-parameter",
            Source::Param { .. } => "parameter",
            Source::ExternResult { .. } => "extern-result",
            Source::Result { .. } => "result",
            Source::Join { .. } => "join",
            Source::Load => "load",
            Source::Address => "address",
            Source::Hidden => "hidden",
            Source::Undefined => "undefined",
            Source::Assembly => "assembly",
        }
    }

    /// A description for diagnostics.
    pub fn describe(&self) -> String {
        match self {
            Source::ExportedParam { function, param } => {
                format!("`{param}` is a parameter of the exported function `{function}`")
            }
            Source::Param { function, param } => {
                format!("`{function}` is not specialized on its parameter `{param}`")
            }
            Source::ExternResult { function } => format!("the result of the external function `{function}`"),
            Source::Result { function } => {
                format!("the result of a call of `{function}` that is not evaluated")
            }
            Source::Join { variable } if variable.is_empty() => {
                "a value that a loop changes or that differs between branches".into()
            }
            Source::Join { variable } => {
                format!("`{variable}` is changed by a loop, or differs between branches")
            }
            Source::Load => "it is read from memory".into(),
            Source::Address => "it is an address, which only the running program knows".into(),
            Source::Hidden => "it is hidden by `$`".into(),
            Source::Undefined => "it is never initialized".into(),
            Source::Assembly => "it is computed by inline assembly".into(),
        }
    }
}
