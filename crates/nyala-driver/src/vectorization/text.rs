//! The answers as text.

use std::fmt::Write as _;

use nyala_opt::vectorize::{Because, Fact, Form, FunctionFacts, SiteFacts, Subject};
use nyala_span::Span;

use super::Vectorization;

/// How much of the source is shown of an access or a condition.
const MAX_TEXT: usize = 40;

pub(super) fn write(answers: &Vectorization<'_>) -> String {
    let mut out = String::new();
    for site in &answers.sites {
        write_site(&mut out, answers, site);
    }
    if answers.sites.is_empty() {
        out += "no `vectorize` in what `main` and `extern` functions reach\n";
    }
    out
}

fn write_site(out: &mut String, answers: &Vectorization<'_>, site: &SiteFacts) {
    let at = answers.session.sources.describe(site.at);
    let lanes = match site.lanes {
        Some(1) => "1 lane".to_owned(),
        Some(lanes) => format!("{lanes} lanes"),
        None => "lanes of unknown number".to_owned(),
    };
    match &site.refused {
        None if site.lanes == Some(1) => line(out, 0, format_args!("{at}: {lanes}: an ordinary loop")),
        None => line(out, 0, format_args!("{at}: {lanes}")),
        Some(why) => {
            line(out, 0, format_args!("{at}: not vectorised, because of {}", because(answers, site.at, why)));
        }
    }
    for function in &site.functions {
        write_function(out, answers, site.at, function);
    }
    if site.has_tail {
        line(out, 1, format_args!("the last group may have fewer lanes: there, all is masked"));
    }
    out.push('\n');
}

fn write_function(out: &mut String, answers: &Vectorization<'_>, site: Span, function: &FunctionFacts) {
    let at = place(answers, site, function.at);
    let who = if function.is_masked { ", for some lanes" } else { "" };
    line(out, 1, format_args!("`{}` ({at}){who}:", function.name));
    for fact in answers.facts(function) {
        write_fact(out, answers, site, fact);
    }
}

fn write_fact(out: &mut String, answers: &Vectorization<'_>, site: Span, fact: &Fact) {
    let at = place(answers, site, fact.at);
    line(out, 2, format_args!("{at}: {}: {}", subject(answers, fact), describe(fact)));
    if let Some(why) = &fact.because {
        line(out, 3, format_args!("because {}", because(answers, site, why)));
    }
    if let Some(why) = &fact.mask {
        line(out, 3, format_args!("masked, because {}", because(answers, site, why)));
    }
    if fact.may_wrap {
        line(out, 3, format_args!("unless an index wraps around between lanes, which is asked first"));
    }
    if fact.is_guarded {
        line(out, 3, format_args!("left out if no lane is there"));
    }
}

fn subject(answers: &Vectorization<'_>, fact: &Fact) -> String {
    let text = answers.session.sources.text(fact.at);
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
        (Subject::Branch, Form::Uniform) => "stays a branch".into(),
        (Subject::Branch, _) => "lanes part; both sides are executed with masks".into(),
        (Subject::Loop, Form::Uniform) => "all lanes go round together".into(),
        (Subject::Loop, _) => "goes round until the last lane has left".into(),
        (Subject::Load, Form::Uniform) => "one address for all lanes: scalar".into(),
        (Subject::Store, Form::Uniform) => "one address for all lanes: one of them writes".into(),
        (Subject::Load | Subject::Store, Form::Contiguous) => "contiguous: one vector".into(),
        (Subject::Load | Subject::Store, Form::Reversed) => "contiguous in reverse order: one vector".into(),
        (Subject::Load | Subject::Store, Form::Strided(stride)) => {
            format!("strided: {stride} bytes from lane to lane")
        }
        (Subject::Load | Subject::Store, Form::Shuffled(stride)) => {
            format!("strided: {stride} bytes from lane to lane; vectors of all in between, and shuffles")
        }
        (_, Form::Grouped(lanes)) => {
            format!("contiguous in groups of {lanes} lanes: one vector each")
        }
        (Subject::Load, _) => "gathered".into(),
        (Subject::Store, _) => "scattered".into(),
        (Subject::Call(_), Form::Uniform) => "once for all lanes".into(),
        (_, Form::Uniform) => "uniform: stays scalar".into(),
        (_, Form::Contiguous) => "contiguous: one scalar for all lanes".into(),
        (_, Form::Reversed) => "contiguous in reverse order: one scalar for all lanes".into(),
        (_, Form::Strided(stride) | Form::Shuffled(stride)) => {
            format!("strided by {stride}: one scalar for all lanes")
        }
        (_, Form::Varying) => "varying: a vector".into(),
        (_, Form::Simd) => "its SIMD version".into(),
        (_, Form::EachLane) => "for one lane after the other".into(),
        (_, Form::EachLine) => "once for each line of a cache".into(),
        (_, Form::Meeting) => "lanes meet".into(),
    }
}

/// A reason with its place.
fn because(answers: &Vectorization<'_>, site: Span, why: &Because) -> String {
    match why.at.is_none() {
        true => why.what.clone(),
        false => format!("{} ({})", why.what, place(answers, site, why.at)),
    }
}

/// Where something stands: in the file of the `vectorize`, line and column are enough.
fn place(answers: &Vectorization<'_>, site: Span, span: Span) -> String {
    let sources = &answers.session.sources;
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
