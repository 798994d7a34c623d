//! The report as text.

use std::fmt::Write as _;

use nyala_opt::tenths;
use nyala_opt::vectorize::{Cause, Estimate, Fact, Form, FunctionFacts, Reason, SiteFacts, Subject};
use nyala_span::Span;

use super::Vectorization;

/// The longest source text of an access or a condition that is shown.
const MAX_TEXT: usize = 40;

pub(super) fn write(report: &Vectorization<'_>) -> String {
    let mut out = String::new();
    for &(site, count) in &report.sites {
        write_site(&mut out, report, site, count);
    }
    if report.sites.is_empty() {
        out += "no `vectorize` is reachable from `main` and `extern` functions\n";
    }
    out
}

fn write_site(out: &mut String, report: &Vectorization<'_>, site: &SiteFacts, count: usize) {
    let at = report.session.sources.describe(site.at);
    line(out, 0, format_args!("{at}: {}", describe_site(report, site, count)));
    if let Some(estimate) = &site.estimate {
        line(out, 1, format_args!("{}", describe_estimate(estimate)));
        for cause in &estimate.causes {
            line(out, 2, format_args!("{}", describe_cause(report, site.at, cause)));
        }
    }
    for function in &site.functions {
        write_function(out, report, site.at, function);
    }
    if site.has_tail {
        line(out, 1, format_args!("the last group may be partial: it is masked"));
    }
    out.push('\n');
}

/// The estimated cost of a lane.
pub(super) fn describe_estimate(estimate: &Estimate) -> String {
    let (simd, scalar) = (tenths(estimate.simd), tenths(estimate.scalar));
    let outcome = match (estimate.scalar, estimate.simd) {
        (_, _) if estimate.is_slower() => ": slower".to_owned(),
        (0, _) | (_, 0) => String::new(),
        (scalar, simd) => format!(": {:.1} times faster", scalar as f64 / simd as f64),
    };
    format!("for each lane about {simd} simple instructions, {scalar} in a scalar loop{outcome}")
}

/// A large part of the cost.
pub(super) fn describe_cause(report: &Vectorization<'_>, site: Span, cause: &Cause) -> String {
    let at = place(report, site, cause.at);
    format!("{} % of that: {} ({at})", cause.percent, cause.kind.description())
}

/// The outcome for a call of `vectorize` with this number of instances.
pub(super) fn describe_site(report: &Vectorization<'_>, site: &SiteFacts, count: usize) -> String {
    let lanes = match site.lanes {
        Some(1) => "1 lane".to_owned(),
        Some(lanes) => format!("{lanes} lanes"),
        None => "unknown number of lanes".to_owned(),
    };
    let outcome = match &site.refused {
        None if site.lanes == Some(1) => format!("{lanes}: an ordinary loop"),
        None if site.at_once == Some(1) => format!("{lanes}, one after the other"),
        None if let Some(at_once) = site.at_once => format!("{lanes}, {at_once} at a time"),
        None => lanes,
        Some(why) => format!("not vectorized because of {}", reason(report, site.at, why)),
    };
    if count == 1 { outcome } else { format!("{outcome}, in {count} instances") }
}

fn write_function(out: &mut String, report: &Vectorization<'_>, site: Span, function: &FunctionFacts) {
    let at = place(report, site, function.at);
    let who = if function.is_masked { ", under a mask" } else { "" };
    line(out, 1, format_args!("`{}` ({at}){who}:", function.name));
    for fact in report.facts(function) {
        write_fact(out, report, site, fact);
    }
}

fn write_fact(out: &mut String, report: &Vectorization<'_>, site: Span, fact: &Fact) {
    let at = place(report, site, fact.at);
    line(out, 2, format_args!("{at}: {}: {}", subject(report, fact), describe(fact)));
    for note in notes(report, site, fact) {
        line(out, 3, format_args!("{note}"));
    }
}

/// Why a subject has its form, and what else is to say about it.
pub(super) fn notes(report: &Vectorization<'_>, site: Span, fact: &Fact) -> Vec<String> {
    let because = fact.because.as_ref().map(|why| format!("because {}", reason(report, site, why)));
    let mask = fact.mask.as_ref().map(|why| format!("masked because {}", reason(report, site, why)));
    let wraps = "unless an index wraps between lanes, which is tested before the access";
    let may_wrap = fact.may_wrap.then(|| wraps.to_owned());
    let guarded = fact.is_guarded.then(|| "skipped if no lane is active".to_owned());
    [because, mask, may_wrap, guarded].into_iter().flatten().collect()
}

pub(super) fn subject(report: &Vectorization<'_>, fact: &Fact) -> String {
    let text = report.session.sources.text(fact.at);
    let is_short = text.len() <= MAX_TEXT && !text.contains('\n');
    let shown = if is_short { format!(" `{text}`") } else { String::new() };
    match fact.subject {
        Subject::Value(name) => format!("`{name}`"),
        Subject::Load => format!("load{shown}"),
        Subject::Store => format!("store{shown}"),
        Subject::Branch => format!("branch{shown}"),
        Subject::Loop => "loop".into(),
        Subject::Call(name) => format!("call of `{name}`"),
    }
}

pub(super) fn describe(fact: &Fact) -> String {
    match (fact.subject, fact.form) {
        (Subject::Branch, Form::Uniform) => "uniform: stays a branch".into(),
        (Subject::Branch, _) => "divergent: both sides are executed under masks".into(),
        (Subject::Loop, Form::Uniform) => "uniform: all lanes execute the same iterations".into(),
        (Subject::Loop, _) => "divergent: runs until every lane has exited".into(),
        (Subject::Load, Form::Uniform) => "uniform address: one scalar load".into(),
        (Subject::Store, Form::Uniform) => "uniform address: the last active lane stores".into(),
        (Subject::Load | Subject::Store, Form::Contiguous) => "contiguous: one vector access".into(),
        (Subject::Load | Subject::Store, Form::Reversed) => {
            "contiguous in reverse order: one vector access".into()
        }
        (Subject::Load, Form::LookedUp(n)) => {
            format!("varying addresses in an array of {n} elements: it is loaded into registers and permuted")
        }
        (Subject::Load, Form::PerLane) => "varying addresses: one load per lane".into(),
        (Subject::Store, Form::PerLane) => "varying addresses: one store per lane".into(),
        (Subject::Load, Form::Strided(stride)) => format!("strided by {stride} bytes: gathered"),
        (Subject::Store, Form::Strided(stride)) => format!("strided by {stride} bytes: scattered"),
        (Subject::Load | Subject::Store, Form::Shuffled(stride)) => {
            format!("strided by {stride} bytes: vector accesses and shuffles")
        }
        (_, Form::Grouped(lanes)) => {
            format!("contiguous in groups of {lanes} lanes: one vector access each")
        }
        (_, Form::Repeated(lanes)) => {
            format!("one element for {lanes} lanes each: one vector access and a shuffle")
        }
        (Subject::Load, _) => "varying addresses: gathered".into(),
        (Subject::Store, _) => "varying addresses: scattered".into(),
        (Subject::Call(_), Form::Uniform) => "one call for all lanes".into(),
        (_, Form::Uniform) => "uniform: stays scalar".into(),
        (_, Form::Contiguous) => "contiguous: one scalar for all lanes".into(),
        (_, Form::Reversed) => "contiguous in reverse order: one scalar for all lanes".into(),
        (_, Form::Strided(stride) | Form::Shuffled(stride)) => {
            format!("strided by {stride}: one scalar for all lanes")
        }
        (_, Form::Varying) => "varying: a vector".into(),
        (_, Form::Simd) => "calls the SIMD version".into(),
        (_, Form::LookedUp(n)) => format!("an element of an array of {n}"),
        (_, Form::PerLane) => "one call per active lane".into(),
        (_, Form::PerCacheLine) => "one prefetch per cache line".into(),
        (_, Form::Collective) => "collective operation".into(),
    }
}

/// A reason with its location.
fn reason(report: &Vectorization<'_>, site: Span, why: &Reason) -> String {
    match why.at.is_none() {
        true => why.what.clone(),
        false => format!("{} ({})", why.what, place(report, site, why.at)),
    }
}

/// A location; in the file of the `vectorize`, without the file name.
fn place(report: &Vectorization<'_>, site: Span, span: Span) -> String {
    let sources = &report.session.sources;
    match sources.file_of(span) {
        Some(id) if sources.file_of(site) == Some(id) => {
            let at = sources.file(id).line_col(span.lo);
            format!("{}:{}", at.line, at.col)
        }
        _ => sources.describe(span),
    }
}

fn line(out: &mut String, indent: usize, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{:1$}{text}", "", 2 * indent).expect("a string takes all text");
}
