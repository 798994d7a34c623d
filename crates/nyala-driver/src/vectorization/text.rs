//! The report as text.

use std::fmt::Write as _;

use nyala_opt::vectorize::{Fact, Form, FunctionFacts, Reason, SiteFacts, Subject};
use nyala_span::Span;

use super::Vectorization;

/// The longest source text of an access or a condition that is shown.
const MAX_TEXT: usize = 40;

pub(super) fn write(report: &Vectorization<'_>) -> String {
    let mut out = String::new();
    for site in &report.sites {
        write_site(&mut out, report, site);
    }
    if report.sites.is_empty() {
        out += "no `vectorize` is reachable from `main` and `extern` functions\n";
    }
    out
}

fn write_site(out: &mut String, report: &Vectorization<'_>, site: &SiteFacts) {
    let at = report.session.sources.describe(site.at);
    let lanes = match site.lanes {
        Some(1) => "1 lane".to_owned(),
        Some(lanes) => format!("{lanes} lanes"),
        None => "unknown number of lanes".to_owned(),
    };
    match &site.refused {
        None if site.lanes == Some(1) => line(out, 0, format_args!("{at}: {lanes}: an ordinary loop")),
        None => line(out, 0, format_args!("{at}: {lanes}")),
        Some(why) => {
            line(out, 0, format_args!("{at}: not vectorized because of {}", reason(report, site.at, why)));
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
    if let Some(why) = &fact.because {
        line(out, 3, format_args!("because {}", reason(report, site, why)));
    }
    if let Some(why) = &fact.mask {
        line(out, 3, format_args!("masked because {}", reason(report, site, why)));
    }
    if fact.may_wrap {
        line(out, 3, format_args!("unless an index wraps between lanes, which is tested before the access"));
    }
    if fact.is_guarded {
        line(out, 3, format_args!("skipped if no lane is active"));
    }
}

fn subject(report: &Vectorization<'_>, fact: &Fact) -> String {
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

fn describe(fact: &Fact) -> String {
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
        (Subject::Load, Form::Strided(stride)) => format!("strided by {stride} bytes: gather"),
        (Subject::Store, Form::Strided(stride)) => format!("strided by {stride} bytes: scatter"),
        (Subject::Load | Subject::Store, Form::Shuffled(stride)) => {
            format!("strided by {stride} bytes: vector accesses and shuffles")
        }
        (_, Form::Grouped(lanes)) => {
            format!("contiguous in groups of {lanes} lanes: one vector access each")
        }
        (Subject::Load, _) => "varying addresses: gather".into(),
        (Subject::Store, _) => "varying addresses: scatter".into(),
        (Subject::Call(_), Form::Uniform) => "one call for all lanes".into(),
        (_, Form::Uniform) => "uniform: stays scalar".into(),
        (_, Form::Contiguous) => "contiguous: one scalar for all lanes".into(),
        (_, Form::Reversed) => "contiguous in reverse order: one scalar for all lanes".into(),
        (_, Form::Strided(stride) | Form::Shuffled(stride)) => {
            format!("strided by {stride}: one scalar for all lanes")
        }
        (_, Form::Varying) => "varying: a vector".into(),
        (_, Form::Simd) => "calls the SIMD version".into(),
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
