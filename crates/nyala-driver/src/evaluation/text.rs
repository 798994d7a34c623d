//! The report as text.

use std::fmt::Write as _;

use nyala_opt::partial_eval::{Reason, Unknown};

use super::{Answers, CallAnswer, call_text, describe_reason, plural};

/// The maximum number of functions in the summary.
const MAX_GROWTH: usize = 10;

pub(super) fn write(answers: &Answers<'_>) -> String {
    let mut out = String::new();
    for call in &answers.calls {
        write_call(&mut out, answers, call);
    }
    if answers.calls.is_empty() {
        out += &format!("{}\n\n", answers.nothing());
    }
    write_growth(&mut out, answers);
    out
}

fn write_call(out: &mut String, answers: &Answers<'_>, call: &CallAnswer<'_>) {
    let sources = answers.sources();
    let (at, text) = (sources.describe(call.site.span), call_text(call.site.span, sources));
    line(out, 0, format_args!("{at}: {text}{}", call.callee(sources)));
    line(out, 1, format_args!("{}: {}", call.verdict().describe(), call.counts()));
    for group in &call.groups {
        line(out, 1, format_args!("- {}", group.describe()));
        for (reason, arguments) in group.by_reason() {
            line(out, 3, format_args!("{}: {}", describe_reason(reason, sources), arguments.join("; ")));
            if let Reason::FilterFails { unknown, .. } = reason {
                unknown.iter().for_each(|unknown| write_unknown(out, answers, unknown));
            }
        }
    }
    out.push('\n');
}

fn write_unknown(out: &mut String, answers: &Answers<'_>, unknown: &Unknown) {
    let place = match unknown.at.is_none() {
        true => String::new(),
        false => format!(" ({})", answers.sources().describe(unknown.at)),
    };
    line(out, 5, format_args!("`{}` is unknown: {}{place}", unknown.name, unknown.source.describe()));
}

fn write_growth(out: &mut String, answers: &Answers<'_>) {
    if !answers.growth.is_empty() {
        line(out, 0, format_args!("where the code grew:"));
        line(out, 0, format_args!("{:>9} {:>9}  of", "nodes", "instances"));
    }
    for growth in answers.growth.iter().take(MAX_GROWTH) {
        line(out, 0, format_args!("{:>9} {:>9}  {}", growth.nodes, growth.instances, growth.function));
    }
    if let Some(more) = answers.growth.len().checked_sub(MAX_GROWTH).filter(|&more| more > 0) {
        line(out, 0, format_args!("{:>21} {}", "", plural(more as u64, "more function")));
    }
    let (before, after) = (answers.nodes_before, answers.nodes_after);
    line(out, 0, format_args!("the program: {} before, {after} after", plural(before, "node")));
}

fn line(out: &mut String, indent: usize, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{:1$}{text}", "", 2 * indent).expect("a string takes all text");
}
