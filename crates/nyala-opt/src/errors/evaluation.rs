//! The diagnostics of the partial evaluator.

use nyala_span::{Code, Diagnostic, Name, Severity, Span};

use crate::partial_eval::{IMPLICIT_SHARE, Limit, ParamAnswer, RUN_SHARE, Reason, Request, Unknown};

/// A limit was reached.
#[derive(Clone)]
pub(crate) struct LimitReached {
    pub limit: Limit,
    /// Whether compilation ends with this.
    pub stops: bool,
    pub function: Name,
    /// The call that would have been specialized next.
    pub call: Span,
    /// The filter that requests it; `None` if it is implicit.
    pub filter: Option<Span>,
    /// The function whose filter requests the specializations that led to this one, and that filter.
    pub leader: Option<(Name, Span)>,
    pub request: Request,
    /// The calls that lead into the cycle, from the inside out.
    pub entries: Vec<Span>,
    pub params: Vec<String>,
    /// The values it was specialized on: in the first calls, and in the last.
    pub calls: Vec<Vec<Option<String>>>,
    /// How many of its calls nest.
    pub n_calls: usize,
    /// The functions of the cycle, in the order of their calls.
    pub cycle: Vec<Name>,
    /// The function, by place and name.
    pub key: (Span, Name),
    /// Its named parameters that are known and the same in all calls of the cycle.
    pub steady: Vec<Name>,
    /// How to write the function so that it is specialized on these only; set if that was tried, and evaluation ends.
    pub remedy: Option<String>,
}

impl LimitReached {
    /// The report for the user.
    pub fn diagnostic(&self) -> Diagnostic {
        let function = called(self.function);
        let message = format!("partial evaluation of {function} was stopped after {}", self.reached());
        let report = match self.stops {
            true => Diagnostic::error(Code("E0911"), self.call, message),
            false => Diagnostic::warning(Code("W0900"), self.call, message),
        };
        let mut report = report.with_label(match self.request {
            Request::Force => "`@@` specializes this call repeatedly",
            Request::Run => "the evaluator unfolds this call repeatedly",
            Request::Filter => "this call is specialized repeatedly",
        });
        match (self.filter, self.leader) {
            (Some(filter), _) => report = report.with_secondary(filter, "this filter requests it"),
            (None, Some((leader, filter))) if self.request == Request::Filter => {
                let leader = called(leader);
                let text = format!("this filter requests the specializations of {leader} that lead here");
                report = report.with_secondary(filter, text);
            }
            _ => {}
        }
        for (i, &entry) in self.entries.iter().enumerate().filter(|&(_, &entry)| entry != self.call) {
            let text = if i == 0 { "the first call" } else { "called from here" };
            report = report.with_secondary(entry, text);
        }
        report = self.what_changes().into_iter().fold(report, Diagnostic::with_note);
        if self.cycle.iter().any(|name| *name != self.function) {
            let names: Vec<String> = self.cycle.iter().map(|&name| called(name)).collect();
            report = report.with_note(format!("the calls form a cycle: {}, ..", names.join(" calls ")));
        }
        if !self.stops {
            report = report.with_note("its calls are kept, and the rest of the program is evaluated");
        }
        report.with_note(self.advice()).with_note(self.how_to_raise())
    }

    fn reached(&self) -> String {
        let (count, what) = match self.limit {
            Limit::Specializations(limit) => (limit, "specializations"),
            Limit::Implicit(limit) => (limit, "specializations on functions without a filter"),
            Limit::Growth(limit) if self.request == Request::Run => (limit, "new nodes and steps of runs"),
            Limit::Growth(limit) => (limit, "new nodes"),
            Limit::Depth(limit) => (limit, "nested specializations"),
        };
        format!("{count} {what}")
    }

    fn how_to_raise(&self) -> String {
        let (name, share) = match (self.limit, self.request) {
            (Limit::Specializations(_), _) => ("specializations", String::new()),
            (Limit::Implicit(_), _) => {
                ("specializations", format!(" (such calls get 1/{IMPLICIT_SHARE} of it)"))
            }
            (Limit::Growth(_), _) => ("growth", String::new()),
            (Limit::Depth(_), Request::Run) => ("depth", format!(" (runs get 1/{RUN_SHARE} of it)")),
            (Limit::Depth(_), _) => ("depth", String::new()),
        };
        let at_function = match self.function.as_str() {
            ANONYMOUS => String::new(),
            function => format!(", or `#[pe_{name} = N]` at `{function}`"),
        };
        format!("to raise the limit, use `--pe-{name} N`{share}{at_function}")
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

    /// The parameters that change. The return continuation has no name.
    fn what_changes(&self) -> Vec<String> {
        let mut notes = vec![];
        for (name, values) in self.changing().filter(|&(name, _)| name != "_") {
            let Some((last, first)) = values.split_last() else { continue };
            let gap = if self.n_calls > values.len() { ", .." } else { "" };
            notes.push(format!("`{name}` changes with each call: {}{gap}, {last}", first.join(", ")));
        }
        if notes.is_empty() && self.changing().next().is_some() {
            notes.push("the return continuation changes with each call".into());
        }
        notes
    }

    /// The first named parameter that changes and is a number, with its first and last value.
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
        match (self.request, self.filter) {
            (Request::Force, _) => {
                format!("remove the `@@`, or end the recursion of {function} by a known condition")
            }
            (Request::Run, _) => {
                format!("end {function} by a known condition, or put `@halt` in front of a call of it")
            }
            (Request::Filter, None) => format!("{function} gets ever new functions; pass data instead"),
            (Request::Filter, Some(_)) if let Some(remedy) = &self.remedy => {
                let names: Vec<String> = self.steady.iter().map(|name| format!("`{name}`")).collect();
                format!("specialize {function} on {} only, and evaluation ends: `{remedy}`", names.join(", "))
            }
            (Request::Filter, Some(_)) => {
                let changing = self
                    .first_number()
                    .map_or("the changing argument".into(), |(name, ..)| format!("`{name}`"));
                let example = self.bounded_filter().unwrap_or_default();
                format!(
                    "bound the recursion in the filter of {function}{example}, or hide {changing} with `$`"
                )
            }
        }
    }

    /// An example of a filter with a bound on the number that changes.
    fn bounded_filter(&self) -> Option<String> {
        /// A bound that few intended recursions reach.
        const FAR: i64 = 100;
        let (name, first, last) = self.first_number()?;
        let (up, down) = (first.saturating_add(FAR), first.saturating_sub(FAR));
        match last {
            _ if last >= up => Some(format!(", as in `@(?{name} & ({name} < {up}))`")),
            _ if last <= down => Some(format!(", as in `@(?{name} & ({name} > {down}))`")),
            _ => None,
        }
    }
}

/// The name of functions without a name.
const ANONYMOUS: &str = "lambda";

/// A function in a message.
fn called(function: Name) -> String {
    match function.as_str() {
        ANONYMOUS => "an anonymous function".into(),
        name => format!("`{name}`"),
    }
}

/// A call of a function with `must_specialize` is not specialized.
pub(crate) struct NotSpecialized {
    pub function: Name,
    pub declared: Span,
    pub call: Span,
    /// The arguments that it is not specialized on.
    pub params: Vec<ParamAnswer>,
}

impl NotSpecialized {
    /// The report for the user.
    pub fn diagnostic(self) -> Diagnostic {
        let NotSpecialized { function, declared, call, params } = self;
        let message = format!("this call of `{function}` is not specialized");
        let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
        let mut report = Diagnostic::error(Code("E0910"), call, message)
            .with_label(format!("not specialized on {}", names.join(", ")))
            .with_secondary(declared, "declared as `must_specialize`");
        let mut explained: Vec<(Span, String)> = vec![];
        for param in params {
            match param.reason {
                Reason::FilterFails { at, instantiated, unknown } => {
                    if explained.contains(&(at, instantiated.clone())) {
                        continue;
                    }
                    let is = if unknown.is_empty() { "is false for these arguments" } else { "is unknown" };
                    report = report.with_secondary(at, format!("this filter {is}: `{instantiated}`"));
                    report = unknown.iter().fold(report, with_source);
                    explained.push((at, instantiated));
                }
                Reason::Limit => report = report.with_note("a limit of partial evaluation was reached"),
                _ => report = report.with_note(format!("`{}` has no filter", param.name)),
            }
        }
        report
    }
}

/// Adds the source of an unknown value.
fn with_source(report: Diagnostic, unknown: &Unknown) -> Diagnostic {
    let Unknown { name, value, source, at } = unknown;
    let is = if name == value { String::new() } else { format!(" = {value}") };
    let text = format!("`{name}{is}` is unknown: {}", source.describe());
    if at.is_none() { report.with_note(text) } else { report.with_secondary(*at, text) }
}

/// A run starts at a call of `function` within `function`.
pub(crate) fn recursive_run(call: Span, function: Name) -> Diagnostic {
    Diagnostic::warning(
        Code("W0901"),
        call,
        format!("this call of `{function}` is recursive and runs the evaluator"),
    )
    .with_label("the residual code of the run may contain this call, which starts another run")
    .with_note(format!(
        "mark the calls of `{function}` from outside instead: a run unfolds recursive calls without a mark"
    ))
}

/// `pe_info`: the value, if it is known.
pub(crate) struct Info {
    pub call: Span,
    pub message: String,
    /// The value, or why it is unknown.
    pub value: Result<String, Unknown>,
}

impl Info {
    /// The report for the user.
    pub fn diagnostic(self) -> Diagnostic {
        let note = |text: String| Diagnostic::note(Code("N0900"), self.call, text);
        match self.value {
            Ok(value) => note(format!("{}: {value}", self.message)).with_label("known here"),
            Err(unknown) => {
                with_source(note(format!("{}: unknown", self.message)).with_label("unknown here"), &unknown)
            }
        }
    }
}

/// A `pe_assert` or `pe_expect` whose condition is false, or requires an unknown value to be known.
pub(crate) struct AssertionFails {
    pub at: Span,
    /// An error or a warning.
    pub severity: Severity,
    pub message: String,
    /// The unknown value.
    pub unknown: Option<Unknown>,
    /// The active calls, innermost first.
    pub calls: Vec<Span>,
}

impl AssertionFails {
    /// The report for the user, with the outermost calls: the user's own call is among them.
    pub fn diagnostic(self) -> Diagnostic {
        /// How many calls are shown.
        const SHOWN_CALLS: usize = 4;
        let report = match self.severity {
            Severity::Error => Diagnostic::error(Code("E0913"), self.at, self.message),
            _ => Diagnostic::warning(Code("W0015"), self.at, self.message),
        };
        let report = match &self.unknown {
            None => report.with_label("this condition is false"),
            Some(unknown) => with_source(report.with_label("this condition needs a known value"), unknown),
        };
        let outer = self.calls.into_iter().rev().take(SHOWN_CALLS);
        outer.fold(report, |report, call| report.with_secondary(call, "in this call"))
    }
}
