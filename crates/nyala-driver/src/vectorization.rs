//! The report of `nyala explain --vectorize`: how each `vectorize` was vectorized, and why, as text, as JSON or as
//! a page.

mod html;
mod json;
mod text;

use nyala_opt::vectorize::{Fact, Form, FunctionFacts, SiteFacts, Subject};
use nyala_span::Span;

use crate::session::Session;

/// The report, in the order of the source.
pub struct Vectorization<'a> {
    session: &'a Session,
    /// The calls, and how many instances each has: those with equal facts are one.
    sites: Vec<(&'a SiteFacts, usize)>,
    /// Whether facts about the prelude are included.
    with_prelude: bool,
}

impl<'a> Vectorization<'a> {
    /// The report on these calls of `vectorize`.
    pub fn new(session: &'a Session, sites: &'a [SiteFacts], with_prelude: bool) -> Vectorization<'a> {
        let mut merged: Vec<(&SiteFacts, usize)> = vec![];
        for site in sites {
            match merged.iter_mut().find(|(other, _)| *other == site) {
                Some((_, count)) => *count += 1,
                None => merged.push((site, 1)),
            }
        }
        merged.sort_by_key(|(site, _)| site.at.lo);
        Vectorization { session, sites: merged, with_prelude }
    }

    /// As a page with the annotated source.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// As text.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// As one JSON object.
    pub fn json(&self) -> String {
        json::object(self).to_string() + "\n"
    }

    /// The facts about a function, equal ones once.
    fn facts<'f>(&self, function: &'f FunctionFacts) -> Vec<&'f Fact> {
        let mut facts: Vec<&Fact> = vec![];
        for fact in function.facts.iter().filter(|fact| self.with_prelude || self.is_own(fact.at)) {
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
        facts
    }

    /// Whether the location is in the program itself, not in the prelude.
    fn is_own(&self, span: Span) -> bool {
        self.session.sources.file_of(span).is_some_and(|file| !self.session.is_foreign(file))
    }
}

/// The kind of a subject, in one word.
fn kind(subject: Subject) -> &'static str {
    match subject {
        Subject::Value(_) => "value",
        Subject::Load => "load",
        Subject::Store => "store",
        Subject::Branch => "branch",
        Subject::Loop => "loop",
        Subject::Call(_) => "call",
    }
}

/// The form of a subject, in one word.
fn form(fact: &Fact) -> &'static str {
    let is_control = matches!(fact.subject, Subject::Branch | Subject::Loop);
    match fact.form {
        Form::Varying if is_control => "divergent",
        Form::Uniform => "uniform",
        Form::Contiguous => "contiguous",
        Form::Reversed => "reversed",
        Form::Strided(_) => "strided",
        Form::Shuffled(_) => "shuffled",
        Form::Grouped(_) => "grouped",
        Form::Repeated(_) => "repeated",
        Form::Varying => match fact.subject {
            Subject::Load => "gathered",
            Subject::Store => "scattered",
            _ => "varying",
        },
        Form::Simd => "simd",
        Form::LookedUp(_) => "looked-up",
        Form::PerLane => "per-lane",
        Form::PerCacheLine => "per-cache-line",
        Form::Collective => "collective",
    }
}
