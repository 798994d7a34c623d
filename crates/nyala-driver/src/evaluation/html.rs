//! The report as a page: the annotated source, the growth of the code,
//! and the residual program.

use std::fmt::Write as _;

use nyala_opt::partial_eval::{Reason, Unknown};
use nyala_span::{FileId, SourceFile, Span};

use crate::annotated::{anchor, capitalized, escape, head, highlight, inline_code};

use super::{Answers, CallAnswer, Group, Verdict, call_text, describe_reason, plural};

/// The maximum number of functions in the chart.
const MAX_BARS: usize = 20;

pub(super) fn page(answers: &Answers<'_>) -> String {
    let mut page = Page { answers, out: String::new() };
    page.write();
    page.out
}

struct Page<'a> {
    answers: &'a Answers<'a>,
    out: String,
}

impl<'a> Page<'a> {
    fn write(&mut self) {
        let session = self.answers.session;
        let is_shown = |id: &FileId| session.is_own(*id) || self.has_calls(*id);
        let files: Vec<FileId> = session.sources.files().map(|(id, _)| id).filter(is_shown).collect();
        self.out += &head(
            &format!("Partial evaluation of {}", session.title_of(&files)),
            "What was decided at each call, and why. Open an answer for its reasons.",
        );
        self.totals();
        for id in files {
            self.source(id);
        }
        self.growth();
        self.out += "<h2>The residual program</h2>\n<pre>";
        self.out += &escape(&nyala_ir::text::print(self.answers.residual));
        self.out += "</pre>\n</main>\n";
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes all text");
    }

    fn has_calls(&self, id: FileId) -> bool {
        self.answers.calls.iter().any(|call| self.answers.sources().file_of(call.site.span) == Some(id))
    }

    fn totals(&mut self) {
        use Verdict::*;
        self.out += "<ul class=\"totals\">\n";
        for verdict in [Specialized, Inlined, Partly, Denied, Kept] {
            let count = self.answers.calls.iter().filter(|call| call.verdict() == verdict).count();
            if count > 0 {
                let (class, what) =
                    (class(verdict), if verdict == Kept { "left as calls" } else { verdict.describe() });
                self.put(format_args!("<li><b class=\"{class}\">{count}</b><span>{what}</span></li>\n"));
            }
        }
        let (before, after) = (self.answers.nodes_before, self.answers.nodes_after);
        self.put(format_args!(
            "<li><b>{before} → {after}</b><span>nodes of the program</span></li>\n</ul>\n"
        ));
    }

    // ---- Source ------------------------------------------------------------------

    fn source(&mut self, id: FileId) {
        let file = self.answers.sources().file(id);
        self.put(format_args!("<h2>{}</h2>\n<div class=\"source\">\n", escape(&file.name)));
        let mut calls = self
            .answers
            .calls
            .iter()
            .filter(|call| self.answers.sources().file_of(call.site.span) == Some(id))
            .peekable();
        let mut in_comment = false;
        for line in 1..=file.line_col(file.end()).line {
            let range = file.line_range(line);
            let mut here = vec![];
            while let Some(call) = calls.next_if(|call| file.line_col(call.site.span.lo).line <= line) {
                here.push(call);
            }
            if range.is_empty() && here.is_empty() && line == file.line_col(file.end()).line {
                break;
            }
            let anchor = anchor(id, line);
            self.put(format_args!(
                "<div class=\"line\" id=\"{anchor}\"><a href=\"#{anchor}\">{line}</a><code>"
            ));
            self.code(&file.text[range.clone()], &marks(file, range.start, &here), &mut in_comment);
            self.out += "</code><div>";
            for call in here {
                self.answer(call);
            }
            self.out += "</div></div>\n";
        }
        self.out += "</div>\n";
    }

    /// A line of source, with its calls marked.
    fn code(&mut self, line: &str, marks: &[Mark], in_comment: &mut bool) {
        let mut at = 0;
        for mark in marks.iter().filter(|mark| mark.end <= line.len()) {
            if mark.start < at {
                continue;
            }
            highlight(&line[at..mark.start], in_comment, &mut self.out);
            self.put(format_args!("<mark class=\"{}\">", class(mark.verdict)));
            highlight(&line[mark.start..mark.end], in_comment, &mut self.out);
            self.out += "</mark>";
            at = mark.end;
        }
        highlight(&line[at..], in_comment, &mut self.out);
    }

    // ---- Calls -------------------------------------------------------------------

    fn answer(&mut self, call: &CallAnswer<'a>) {
        let sources = self.answers.sources();
        let verdict = call.verdict();
        self.put(format_args!(
            "<details class=\"answer {}\"><summary><b>{}</b><code>{}</code><span>{}</span></summary>",
            class(verdict),
            verdict.describe(),
            escape(&call_text(call.site.span, sources)),
            inline_code(&call.gist())
        ));
        if call.gist() != call.counts() {
            self.put(format_args!("<div class=\"counts\">{}</div>", capitalized(&call.counts())));
        }
        let callee = call.callee(sources);
        if !callee.is_empty() {
            self.put(format_args!("<div>A call{}.</div>", escape(&callee)));
        }
        call.groups.iter().for_each(|group| self.group(group));
        self.out += "</details>";
    }

    fn group(&mut self, group: &Group<'_>) {
        self.put(format_args!("<h3>{}</h3>", inline_code(&capitalized(&group.describe()))));
        self.out += "<dl>";
        for (reason, arguments) in group.by_reason() {
            let why = describe_reason(reason, self.answers.sources());
            self.put(format_args!("<dt>{}</dt>", inline_code(&capitalized(&why))));
            for argument in arguments {
                self.put(format_args!("<dd><code>{}</code></dd>", escape(&argument)));
            }
            if let Reason::FilterFails { unknown, .. } = reason {
                unknown.iter().for_each(|unknown| self.unknown(unknown));
            }
        }
        self.out += "</dl>";
    }

    fn unknown(&mut self, unknown: &Unknown) {
        let text = format!("`{}` is unknown: {}", unknown.name, unknown.source.describe());
        let place = self.link(unknown.at);
        self.put(format_args!("<p>{}{place}</p>", inline_code(&text)));
    }

    /// A link to a line of the page.
    fn link(&self, at: Span) -> String {
        let sources = self.answers.sources();
        match sources.file_of(at) {
            Some(id) if !self.answers.session.is_foreign(id) => {
                let line = sources.file(id).line_col(at.lo).line;
                format!(" (<a href=\"#{}\">line {line}</a>)", anchor(id, line))
            }
            _ => String::new(),
        }
    }

    // ---- Growth ------------------------------------------------------------------

    fn growth(&mut self) {
        let Some(most) = self.answers.growth.first().map(|growth| growth.nodes) else { return };
        self.out += "<h2>Where the code grew</h2>\n<div class=\"bars\">\n<span class=\"head\">function</span>\
                     <span class=\"head n\">specializations</span><span class=\"head n\">nodes</span><span></span>\n";
        for growth in self.answers.growth.iter().take(MAX_BARS) {
            let percent = growth.nodes * 100 / most.max(1);
            self.put(format_args!(
                "<code>{}</code><span class=\"n\">{}</span><span class=\"n\">{}</span>\
                 <span class=\"bar\" style=\"width: {}%\"></span>\n",
                escape(&growth.function),
                growth.instances,
                growth.nodes,
                percent.max(1)
            ));
        }
        if let Some(more) = self.answers.growth.len().checked_sub(MAX_BARS).filter(|&more| more > 0) {
            self.put(format_args!("<span class=\"head\">{}</span>\n", plural(more as u64, "more function")));
        }
        self.out += "</div>\n";
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Specialized | Verdict::Unfolded => "specialized",
        Verdict::Inlined => "inlined",
        Verdict::Partly => "partly",
        Verdict::Denied => "denied",
        Verdict::Kept => "kept",
    }
}

/// A part of a line that is a call.
struct Mark {
    start: usize,
    end: usize,
    verdict: Verdict,
}

/// The name of each call: its text up to the arguments.
fn marks(file: &SourceFile, line_start: usize, calls: &[&CallAnswer<'_>]) -> Vec<Mark> {
    let mark = |call: &&CallAnswer<'_>| {
        let range = file.local(call.site.span);
        let text = &file.text[range.clone()];
        let length = text.find(['(', '{', '\n']).unwrap_or(text.len());
        let start = range.start.checked_sub(line_start)?;
        Some(Mark { start, end: start + length, verdict: call.verdict() })
    };
    calls.iter().filter_map(mark).collect()
}
