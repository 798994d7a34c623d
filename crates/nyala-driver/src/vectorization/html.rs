//! The report as a page: the source, with what was decided beside each line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use nyala_opt::vectorize::{Fact, Form, SiteFacts, Subject};
use nyala_span::{FileId, Span};

use crate::annotated::{anchor, capitalized, escape, head, highlight, inline_code};

use super::Vectorization;
use super::text::{describe, describe_cause, describe_estimate, describe_site, notes, subject};

pub(super) fn page(report: &Vectorization<'_>) -> String {
    let mut page = Page { report, out: String::new() };
    page.write();
    page.out
}

/// A decision beside a line.
struct Note {
    class: &'static str,
    what: String,
    code: String,
    gist: String,
    reasons: Vec<String>,
}

struct Page<'a> {
    report: &'a Vectorization<'a>,
    out: String,
}

impl Page<'_> {
    fn write(&mut self) {
        let sources = &self.report.session.sources;
        let notes = self.notes();
        let is_shown = |id: &FileId| self.report.session.is_own(*id) || notes.contains_key(id);
        let files: Vec<FileId> = sources.files().map(|(id, _)| id).filter(is_shown).collect();
        let title = format!("Vectorization of {}", self.report.session.title_of(&files));
        self.out +=
            &head(&title, "How each loop of lanes became SIMD code, and why. Open a note for its reasons.");
        self.totals();
        for id in files {
            self.source(id, notes.get(&id).unwrap_or(&BTreeMap::new()));
        }
        self.out += "</main>\n";
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes all text");
    }

    /// All decisions, by file and line; equal ones once.
    fn notes(&self) -> BTreeMap<FileId, BTreeMap<u32, Vec<Note>>> {
        let sources = &self.report.session.sources;
        let mut notes: BTreeMap<FileId, BTreeMap<u32, Vec<Note>>> = BTreeMap::new();
        let mut add = |at: Span, note: Note| {
            let Some(id) = sources.file_of(at) else { return };
            let line = sources.file(id).line_col(at.lo).line;
            let here = notes.entry(id).or_default().entry(line).or_default();
            if !here.iter().any(|other| (&other.code, &other.gist) == (&note.code, &note.gist)) {
                here.push(note);
            }
        };
        for &(site, count) in &self.report.sites {
            add(site.at, self.site_note(site, count));
            for function in &site.functions {
                for fact in self.report.facts(function) {
                    add(fact.at, self.fact_note(site, fact));
                }
            }
        }
        notes
    }

    fn site_note(&self, site: &SiteFacts, count: usize) -> Note {
        let tail = site.has_tail.then(|| "the last group may be partial: it is masked".to_owned());
        let estimate = site.estimate.as_ref().map(describe_estimate);
        let causes = site.estimate.iter().flat_map(|estimate| &estimate.causes);
        let causes = causes.map(|cause| describe_cause(self.report, site.at, cause));
        Note {
            class: if site.refused.is_some() { "denied" } else { "specialized" },
            what: if site.refused.is_some() { "scalar" } else { "lanes" }.to_owned(),
            code: "vectorize".to_owned(),
            gist: describe_site(self.report, site, count),
            reasons: estimate.into_iter().chain(causes).chain(tail).collect(),
        }
    }

    fn fact_note(&self, site: &SiteFacts, fact: &Fact) -> Note {
        Note {
            class: class(fact),
            what: super::form(fact).to_owned(),
            code: subject(self.report, fact).replace('`', ""),
            gist: describe(fact),
            reasons: notes(self.report, site.at, fact),
        }
    }

    fn totals(&mut self) {
        let sites = &self.report.sites;
        let facts = || {
            let functions = sites.iter().flat_map(|(site, _)| &site.functions);
            functions.flat_map(|function| self.report.facts(function))
        };
        let is_access = |fact: &&Fact| matches!(fact.subject, Subject::Load | Subject::Store);
        let accesses = |wanted: &str| facts().filter(is_access).filter(|fact| class(fact) == wanted).count();
        let divergent = facts().filter(|fact| super::form(fact) == "divergent").count();
        let refused = sites.iter().filter(|(site, _)| site.refused.is_some()).count();
        let counts = [
            ("specialized", sites.len() - refused, "loops with SIMD code"),
            ("denied", refused, "loops without"),
            ("specialized", accesses("specialized"), "vector accesses"),
            ("inlined", accesses("inlined"), "scalar accesses"),
            ("partly", accesses("partly"), "strided accesses"),
            ("denied", accesses("denied"), "gathers and scatters"),
            ("partly", divergent, "divergent branches and loops"),
        ];
        self.out += "<ul class=\"totals\">\n";
        for (class, count, what) in counts.into_iter().filter(|&(_, count, _)| count > 0) {
            self.put(format_args!("<li><b class=\"{class}\">{count}</b><span>{what}</span></li>\n"));
        }
        self.out += "</ul>\n";
    }

    fn source(&mut self, id: FileId, notes: &BTreeMap<u32, Vec<Note>>) {
        let file = self.report.session.sources.file(id);
        self.put(format_args!("<h2>{}</h2>\n<div class=\"source\">\n", escape(&file.name)));
        let mut in_comment = false;
        let last = file.line_col(file.end()).line;
        for line in 1..=last {
            let range = file.line_range(line);
            if range.is_empty() && line == last {
                break;
            }
            let anchor = anchor(id, line);
            self.put(format_args!(
                "<div class=\"line\" id=\"{anchor}\"><a href=\"#{anchor}\">{line}</a><code>"
            ));
            highlight(&file.text[range], &mut in_comment, &mut self.out);
            self.out += "</code><div>";
            notes.get(&line).into_iter().flatten().for_each(|note| self.note(note));
            self.out += "</div></div>\n";
        }
        self.out += "</div>\n";
    }

    fn note(&mut self, note: &Note) {
        let Note { class, what, code, gist, reasons } = note;
        self.put(format_args!(
            "<details class=\"answer {class}\"><summary><b>{what}</b><code>{}</code><span>{}</span></summary>",
            escape(code),
            inline_code(gist)
        ));
        for reason in reasons {
            self.put(format_args!("<div>{}.</div>", inline_code(&capitalized(reason))));
        }
        self.out += "</details>";
    }
}

/// How good a form is, as the class of its colour.
fn class(fact: &Fact) -> &'static str {
    let is_access = matches!(fact.subject, Subject::Load | Subject::Store);
    match (fact.subject, fact.form) {
        (_, Form::Uniform) => "inlined",
        (Subject::Branch | Subject::Loop, _) => "partly",
        (_, Form::Contiguous | Form::Reversed | Form::Grouped(_) | Form::Simd | Form::Collective) => {
            "specialized"
        }
        (_, Form::Shuffled(_) | Form::Repeated(_) | Form::LookedUp(_) | Form::PerCacheLine) => "partly",
        (_, Form::PerLane) => "denied",
        (_, Form::Strided(_)) if is_access => "partly",
        (_, Form::Varying) if is_access => "denied",
        (_, Form::Strided(_) | Form::Varying) => "kept",
    }
}
