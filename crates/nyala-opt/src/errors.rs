//! What partial evaluation, vectorisation, the conversion of closures and the outlining of
//! kernels report.

use nyala_ir::Intrinsic;
use nyala_span::{Code, Diagnostic, Name, Span};

use crate::closures_left::Why;
use crate::partial_eval::{Asked, Limit, ParamAnswer, RUN_SHARE, Reason, UNASKED_SHARE, Unknown};
use crate::vectorize::Refusal;

/// A limit was reached.
pub(crate) struct LimitReached {
    pub limit: Limit,
    /// Whether compilation ends with this.
    pub stops: bool,
    pub function: Name,
    /// The call that would have been specialised next.
    pub call: Span,
    /// The filter that asks for it; none if nobody did.
    pub filter: Option<Span>,
    /// The function whose filter asks for the specialisations that led to this one, and that filter.
    pub leader: Option<(Name, Span)>,
    pub asked: Asked,
    /// The calls that lead into the circle, from the inside out.
    pub entries: Vec<Span>,
    pub params: Vec<String>,
    /// The values it was specialised on: in the first calls, and in the last.
    pub calls: Vec<Vec<Option<String>>>,
    /// How many calls of it there are, one inside the other.
    pub n_calls: usize,
    /// The functions of the circle, in the order of their calls.
    pub circle: Vec<Name>,
}

impl LimitReached {
    /// As a report for the user.
    pub fn diagnostic(&self) -> Diagnostic {
        let message = format!("partial evaluation of {} does not come to an end", called(self.function));
        let report = match self.stops {
            true => Diagnostic::error(Code("E0911"), self.call, message),
            false => Diagnostic::warning(Code("W0900"), self.call, message),
        };
        let mut report = report.with_label(match self.asked {
            Asked::Force => "`@@` specialises this call again and again",
            Asked::Run => "the evaluator runs here again and again",
            Asked::Filter => "this call is specialised again and again",
        });
        match (self.filter, self.leader) {
            (Some(filter), _) => report = report.with_secondary(filter, "this filter asks for it"),
            (None, Some((leader, filter))) if self.asked == Asked::Filter => {
                let text =
                    format!("this filter asks for the specialisations of {} that lead here", called(leader));
                report = report.with_secondary(filter, text);
            }
            _ => {}
        }
        for (i, &entry) in self.entries.iter().enumerate().filter(|&(_, &entry)| entry != self.call) {
            report = report.with_secondary(entry, if i == 0 { "it begins here" } else { "called from here" });
        }
        report = self.what_changes().into_iter().fold(report, Diagnostic::with_note);
        if self.circle.iter().any(|name| *name != self.function) {
            let names: Vec<String> = self.circle.iter().map(|&name| called(name)).collect();
            report = report.with_note(format!("the calls go round: {}, ..", names.join(" calls ")));
        }
        report.with_note(self.what_was_reached()).with_note(self.advice()).with_note(self.how_to_raise())
    }

    fn what_was_reached(&self) -> String {
        let (count, what) = match self.limit {
            Limit::Specialisations(limit) => (limit, "specialisations"),
            Limit::Unasked(limit) => (limit, "specialisations on functions that nobody asked for"),
            Limit::Growth(limit) if self.asked == Asked::Run => (limit, "new nodes and steps of runs"),
            Limit::Growth(limit) => (limit, "new nodes"),
            Limit::Depth(limit) => (limit, "specialised calls, one inside the other"),
        };
        let then = if self.stops { "" } else { "; its calls stay, and the rest goes on" };
        format!("stopped after {count} {what}{then}")
    }

    fn how_to_raise(&self) -> String {
        let (name, share) = match (self.limit, self.asked) {
            (Limit::Specialisations(_), _) => ("specialisations", String::new()),
            (Limit::Unasked(_), _) => {
                ("specialisations", format!(" (a share of 1/{UNASKED_SHARE} is for such calls)"))
            }
            (Limit::Growth(_), _) => ("growth", String::new()),
            (Limit::Depth(_), Asked::Run) => ("depth", format!(" (runs go to 1/{RUN_SHARE} of it)")),
            (Limit::Depth(_), _) => ("depth", String::new()),
        };
        let at_function = match self.function.as_str() {
            ANONYMOUS => String::new(),
            function => format!(", or `#[pe_{name} = N]` at `{function}`"),
        };
        format!("if it needs more, raise the limit: `--pe-{name} N`{share}{at_function}")
    }

    /// The values of each parameter that are not the same in all calls.
    fn changing(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.params.iter().enumerate().filter_map(|(index, name)| {
            let values: Vec<&str> =
                self.calls.iter().map(|call| call[index].as_deref().unwrap_or("_")).collect();
            let is_same = values.windows(2).all(|pair| pair[0] == pair[1]);
            (!is_same).then_some((name.as_str(), values))
        })
    }

    /// What changes, as far as it has a name: where a call returns to has none.
    fn what_changes(&self) -> Vec<String> {
        let mut notes = vec![];
        for (name, values) in self.changing().filter(|&(name, _)| name != "_") {
            let Some((last, first)) = values.split_last() else { continue };
            let gap = if self.n_calls > values.len() { ", .." } else { "" };
            notes.push(format!("`{name}` changes from call to call: {}{gap}, {last}", first.join(", ")));
        }
        if notes.is_empty() && self.changing().next().is_some() {
            notes.push("what follows the call changes from call to call".into());
        }
        notes
    }

    /// The first parameter with a name that changes and is a number, with its first and last value.
    fn first_number(&self) -> Option<(&str, i64, i64)> {
        let number = |values: &[&str]| {
            let numbers: Option<Vec<i64>> = values.iter().map(|value| value.parse().ok()).collect();
            numbers.and_then(|numbers| Some((*numbers.first()?, *numbers.last()?)))
        };
        self.changing().filter(|&(name, _)| name != "_").find_map(|(name, values)| {
            let (first, last) = number(&values)?;
            Some((name, first, last))
        })
    }

    fn advice(&self) -> String {
        let function = match self.function.as_str() {
            ANONYMOUS => "the anonymous function".into(),
            _ => called(self.function),
        };
        match (self.asked, self.filter) {
            (Asked::Force, _) => {
                return format!(
                    "leave out the `@@`, or end the recursion of {function} by something that is known"
                );
            }
            (Asked::Run, _) => {
                return format!(
                    "let {function} come to an end by something that is known, or put `@halt` in front of a call of it"
                );
            }
            (Asked::Filter, None) => {
                return format!("{function} hands on ever new functions; give it data instead");
            }
            (Asked::Filter, Some(_)) => {}
        }
        // So far is what is specialised on most often meant to go.
        const FAR: i64 = 100;
        let number = self.first_number();
        let changing = number.map_or("what changes".into(), |(name, ..)| format!("`{name}`"));
        let bound = number.and_then(|(name, first, last)| {
            let (up, down) = (first.saturating_add(FAR), first.saturating_sub(FAR));
            match last {
                _ if last >= up => Some(format!(", as in `@(?{name} & ({name} < {up}))`")),
                _ if last <= down => Some(format!(", as in `@(?{name} & ({name} > {down}))`")),
                _ => None,
            }
        });
        let example = bound.unwrap_or_default();
        format!("let the filter of {function} say when to end{example}, or hide {changing} with `$`")
    }
}

/// What functions without a name are called in the program.
const ANONYMOUS: &str = "lambda";

/// What to call a function.
fn called(function: Name) -> String {
    match function.as_str() {
        ANONYMOUS => "an anonymous function".into(),
        name => format!("`{name}`"),
    }
}

/// A call of a function that demands to be specialised, which it was not.
pub(crate) struct NotSpecialised {
    pub function: Name,
    pub declared: Span,
    pub call: Span,
    /// The arguments that it was not specialised on.
    pub params: Vec<ParamAnswer>,
}

impl NotSpecialised {
    /// As a report for the user.
    pub fn diagnostic(self) -> Diagnostic {
        let NotSpecialised { function, declared, call, params } = self;
        let message = format!("this call of `{function}` is not specialised");
        let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
        let mut report = Diagnostic::error(Code("E0910"), call, message)
            .with_label(format!("not on {}", names.join(", ")))
            .with_secondary(declared, "declared as `must_specialize`");
        let mut explained: Vec<(Span, String)> = vec![];
        for param in params {
            match param.reason {
                Reason::FilterFails { at, instantiated, unknown } => {
                    if explained.contains(&(at, instantiated.clone())) {
                        continue;
                    }
                    let is = if unknown.is_empty() {
                        "is false for these arguments"
                    } else {
                        "is not known to hold"
                    };
                    report = report.with_secondary(at, format!("this filter {is}: `{instantiated}`"));
                    report = unknown.iter().fold(report, blame);
                    explained.push((at, instantiated));
                }
                Reason::Limit => report = report.with_note("a limit of partial evaluation was reached"),
                _ => report = report.with_note(format!("`{}` has no filter", param.name)),
            }
        }
        report
    }
}

/// Says where an unknown value comes from.
fn blame(report: Diagnostic, unknown: &Unknown) -> Diagnostic {
    let Unknown { name, value, source, at } = unknown;
    let is = if name == value { String::new() } else { format!(" = {value}") };
    let text = format!("`{name}{is}` is not known: {}", source.describe());
    if at.is_none() { report.with_note(text) } else { report.with_secondary(*at, text) }
}

/// A run starts at a call of `function` that stands in `function`.
pub(crate) fn recursive_run(call: Span, function: Name) -> Diagnostic {
    Diagnostic::warning(
        Code("W0901"),
        call,
        format!("this call of `{function}` is recursive and runs the evaluator"),
    )
    .with_label("what a run leaves may contain this call again, so that another one starts there")
    .with_note(format!(
        "mark the calls of `{function}` from outside instead: a run unfolds recursive calls without a mark"
    ))
}

/// `pe_info`: what is known of a value.
pub(crate) struct Info {
    pub call: Span,
    pub message: String,
    /// The value, or why it is not known.
    pub value: Result<String, Unknown>,
}

impl Info {
    /// As a report for the user.
    pub fn diagnostic(self) -> Diagnostic {
        let note = |text: String| Diagnostic::note(Code("N0900"), self.call, text);
        match self.value {
            Ok(value) => note(format!("{}: {value}", self.message)).with_label("known here"),
            Err(unknown) => {
                blame(note(format!("{}: not known", self.message)).with_label("not known here"), &unknown)
            }
        }
    }
}

/// A `pe_assert` whose condition is known not to hold, or asks for what is not known.
pub(crate) struct AssertionFails {
    pub at: Span,
    pub message: String,
    /// What is not known and should be.
    pub unknown: Option<Unknown>,
    /// The calls that it is executed in, from the inside out.
    pub calls: Vec<Span>,
    /// A call outside of these that evaluation came by.
    pub before: Option<Span>,
}

impl AssertionFails {
    /// As a report for the user, whose call is among the outer ones.
    pub fn diagnostic(self) -> Diagnostic {
        /// More calls than these say little.
        const SHOWN_CALLS: usize = 4;
        let report = Diagnostic::error(Code("E0913"), self.at, self.message);
        let report = match &self.unknown {
            None => report.with_label("this is known not to hold"),
            Some(unknown) => blame(report.with_label("what this asks for is not known in the end"), unknown),
        };
        let outer = self.calls.into_iter().rev().take(SHOWN_CALLS);
        let report = outer.fold(report, |report, call| report.with_secondary(call, "in this call"));
        match self.before {
            Some(call) => report.with_secondary(call, "evaluation came by this call"),
            None => report,
        }
    }
}

impl Refusal {
    /// The report for the user, about the `vectorize` at `site`. Lanes that meet, by a
    /// function like `meeting`, cannot run one after the other.
    pub fn diagnostic(&self, site: Span, meeting: Option<Name>) -> Diagnostic {
        let report = match meeting {
            None => Diagnostic::warning(Code("W0910"), site, "this `vectorize` is not vectorised"),
            Some(_) => Diagnostic::error(Code("E0912"), site, "this `vectorize` cannot be vectorised"),
        };
        let why = format!("because of {}", self.why);
        let report = match self.at == site || self.at.is_none() {
            true => report.with_label(why),
            false => report.with_secondary(self.at, why),
        };
        report.with_note(match meeting {
            None => "its lanes run one after the other".into(),
            Some(name) => format!("its lanes meet in `{name}`, so they cannot run one after the other"),
        })
    }
}

/// A function is still a value after evaluation.
pub(crate) fn closure_left(at: Span, name: Name, why: Why) -> Diagnostic {
    let (message, label) = match why {
        Why::GoesOn(callee) => (
            format!("the rest of a function after a call of `{callee}` is a closure"),
            format!("`{callee}` is told where to go on, as somebody keeps where to return to"),
        ),
        _ => (format!("`{name}` is a closure when the program runs"), holder(why)),
    };
    Diagnostic::warning(Code("W0920"), at, message).with_label(label)
}

/// What holds a function that is a value.
fn holder(why: Why) -> String {
    match why {
        Why::InData => "it is part of a value whose parts are not told apart before".into(),
        Why::InMemory => "it is written to memory".into(),
        Why::InStatic => "it is in a static variable".into(),
        Why::Chosen => "which function is called is decided only then".into(),
        Why::Argument(callee) => format!("`{callee}` gets it and is not specialised on it"),
        Why::ArgumentOfUnknown => "a function that is itself a value gets it".into(),
        Why::Returned => "a function that was not specialised returns it".into(),
        Why::GoesOn(callee) => format!("`{callee}` goes on there"),
    }
}

/// Why a body cannot be a kernel.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum KernelError {
    /// Which function the body is, is not known.
    UnknownBody { at: Span, intrinsic: Intrinsic },
    /// It makes a function around it return.
    JumpOut { at: Span, intrinsic: Intrinsic },
    /// It needs a function as a value.
    FunctionValue { at: Span, name: Option<Name> },
    /// It needs the address of a variable of the host.
    HostVariable { at: Span, name: Option<Name>, declared: Option<Span> },
    /// It calls what is a value.
    UnknownCallee { at: Span, name: Option<Name> },
    /// It does what only the host can do.
    HostOnly { at: Span, what: String },
    /// A function calls itself.
    Recursion { at: Span, name: Name },
    /// The size of work-group memory is not known.
    UnknownSize { at: Span },
    /// It needs more work-group memory than there is.
    TooMuchShared { at: Span, bytes: u64, most: u64 },
    /// It captures more than can be handed over.
    TooManyArguments { at: Span, bytes: u64, most: u64 },
}

impl KernelError {
    /// As a report for the user.
    pub fn diagnostic(self) -> Diagnostic {
        let error = |code, at, message: String| Diagnostic::error(Code(code), at, message);
        let called = |name: Option<Name>| name.map_or(String::new(), |name| format!(" `{name}`"));
        match self {
            KernelError::UnknownBody { at, intrinsic } => {
                let name = intrinsic.name();
                error("E0940", at, format!("the body of `{name}` is not known when the program is compiled"))
                    .with_label("a kernel is compiled for the device, so its function must be known here")
                    .with_note("a filter, `@`, at the functions that hand the body on makes it known")
            }
            KernelError::JumpOut { at, intrinsic } => jump_out(at, intrinsic.name()),
            KernelError::FunctionValue { at, name } => {
                error("E0941", at, format!("a kernel needs the function{} as a value", called(name)))
                    .with_label("functions that are chosen when the program runs do not exist on a device")
                    .with_note("`nyala run --warn closures` tells why it is still a value")
            }
            KernelError::UnknownCallee { at, name } => {
                error("E0941", at, format!("a kernel calls a function{} that is not known", called(name)))
                    .with_label("which function is called here is only decided when the program runs")
                    .with_note("a filter, `@`, at the functions that hand it on makes it known")
            }
            KernelError::HostVariable { at, name, declared } => {
                let message = format!("a kernel uses the host's variable{}", called(name));
                let report = error("E0942", at, message)
                    .with_label("a device has no access to the memory of this variable")
                    .with_note("a kernel writes to memory of the device, from where results are copied");
                match declared {
                    Some(declared) => report.with_secondary(declared, "declared here"),
                    None => report,
                }
            }
            KernelError::HostOnly { at, what } => {
                error("E0943", at, format!("a kernel uses {what}, which only the host has"))
                    .with_label("this cannot be done on a device")
            }
            KernelError::Recursion { at, name } => error(
                "E0944",
                at,
                format!("`{name}` calls itself in a kernel"),
            )
            .with_label("devices have no stack for recursion")
            .with_note(
                "a call in tail position is a loop, and a filter can end the recursion at compile time",
            ),
            KernelError::UnknownSize { at } => {
                error("E0945", at, "how much memory `reserve_shared` reserves is not known".into())
                    .with_label("the number of elements must be known when the program is compiled")
            }
            KernelError::TooMuchShared { at, bytes, most } => {
                error("E0946", at, format!("a kernel reserves {bytes} bytes of memory for its blocks"))
                    .with_label(format!("with this, it is more than the {most} bytes that devices have"))
            }
            KernelError::TooManyArguments { at, bytes, most } => {
                error("E0948", at, format!("a kernel is launched with {bytes} bytes"))
                    .with_label(format!("what it captures is more than the {most} bytes that devices take"))
                    .with_note("large data goes to memory of the device, from where the kernel reads it")
            }
        }
    }
}

/// A body jumps out of what runs it.
pub(crate) fn jump_out(at: Span, name: &str) -> Diagnostic {
    Diagnostic::error(Code("E0920"), at, format!("the body of `{name}` jumps out of it"))
        .with_label("its instances run side by side, so each must come to its own end")
        .with_note("`continue` ends an instance; a variable can say that the others have no work left")
}
