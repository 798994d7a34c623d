//! What the evaluator has done at each call, and why: the answers, as data.
//!
//! A [`Site`] is a call in the source. It may be evaluated many times, in each
//! specialisation of the function it stands in; what happens there is kept as
//! [`Variant`]s, equal ones counted together. `journal` collects them.

use nyala_span::{Name, Span};

/// All that was recorded about an evaluation.
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
    /// Where the call stands.
    pub span: Span,
    /// What is called.
    pub callee: Name,
    /// Where the callee is declared.
    pub declared: Span,
    /// The body of the callee.
    pub body: Span,
    /// What happened, each once, at most [`Site::MAX_VARIANTS`].
    pub variants: Vec<Variant>,
    /// How often a new specialisation was made.
    pub specialised: u64,
    /// How many of these were taken back, because they led to a limit.
    pub taken_back: u64,
    /// How often a specialisation was there already.
    pub reused: u64,
    /// How often the callee was evaluated on the spot, being used only here.
    pub inlined: u64,
    /// How often a run of the evaluator went into the callee.
    pub unfolded: u64,
    /// How many calls have not been specialised, at the end.
    pub kept: u64,
    /// How many nodes were built for these calls.
    pub nodes: u64,
}

impl Site {
    /// How many different variants are kept; the others are counted.
    pub const MAX_VARIANTS: usize = 12;
}

/// What happened at a call, perhaps several times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// What became of the call.
    pub outcome: Outcome,
    /// The arguments, without memory and the place to return to.
    pub params: Vec<ParamAnswer>,
    /// How often.
    pub times: u64,
}

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the only use of its callee, and was evaluated on the spot.
    Inlined,
    /// It calls a new specialisation.
    Specialised,
    /// It calls a specialisation that was there.
    Reused,
    /// It calls the specialisation that it stands in: what is specialised on was handed on
    /// unchanged, so this is a loop.
    Looped,
    /// The evaluator runs, and has gone into the callee.
    Unfolded,
    /// It stays as it is.
    Kept,
}

/// An argument, and whether the call is specialised on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamAnswer {
    /// What the parameter is called; `return` for the place to return to.
    pub name: String,
    /// The argument.
    pub value: String,
    /// Whether the call is specialised on it, and why.
    pub reason: Reason,
}

/// Why a call is specialised on a parameter or why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// `@@` at the call.
    Forced,
    /// Its filter holds.
    Filter {
        /// The filter.
        at: Span,
    },
    /// It is a function that takes a function or returns.
    HigherOrder,
    /// It is a continuation, and the callee is no plain function.
    Continuation,
    /// The evaluator runs into the callee.
    Run,
    /// The evaluator is told to stay out of the callee.
    Halted,
    /// Nobody asked for it.
    NoFilter,
    /// Its filter does not hold.
    FilterFails {
        /// The filter.
        at: Span,
        /// The filter with the arguments put in.
        instantiated: String,
        /// The arguments in it that are not known.
        unknown: Vec<Unknown>,
    },
    /// A limit was reached.
    Limit,
}

impl Reason {
    /// Whether the call is specialised on the parameter.
    pub fn is_specialised(&self) -> bool {
        matches!(
            self,
            Reason::Forced | Reason::Filter { .. } | Reason::HigherOrder | Reason::Continuation | Reason::Run
        )
    }
}

/// An argument that is only known when the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// The parameter.
    pub name: String,
    /// The argument.
    pub value: String,
    /// Where the value comes from.
    pub source: Source,
    /// The place of that, as far as there is one.
    pub at: Span,
}

/// Where a value comes from that is only known when the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A parameter of a function that others call from outside.
    ExportedParam {
        /// The function.
        function: Name,
        /// The parameter.
        param: String,
    },
    /// A parameter of a function that stays one.
    Param {
        /// The function.
        function: Name,
        /// The parameter.
        param: String,
    },
    /// The result of a function that is defined elsewhere.
    ExternResult {
        /// The function.
        function: Name,
    },
    /// The result of a call that stays.
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
    /// Never initialised.
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

    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Source::ExportedParam { function, param } => {
                format!("`{param}` is a parameter of `{function}`, which is called from outside")
            }
            Source::Param { function, param } => {
                format!("`{param}` is a parameter of `{function}`, which stays a function")
            }
            Source::ExternResult { function } => format!("the result of the external function `{function}`"),
            Source::Result { function } => format!("the result of a call of `{function}` that stays"),
            Source::Join { variable } if variable.is_empty() => {
                "a value that a loop changes or that differs between branches".into()
            }
            Source::Join { variable } => {
                format!("`{variable}` is changed by a loop, or differs between branches")
            }
            Source::Load => "it is read from memory".into(),
            Source::Address => "it is an address that the running program finds".into(),
            Source::Hidden => "it is hidden by `$`".into(),
            Source::Undefined => "it is never initialised".into(),
            Source::Assembly => "it is computed by inline assembly".into(),
        }
    }
}
