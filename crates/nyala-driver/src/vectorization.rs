//! The report of `nyala explain --vectorize`: how each `vectorize` was vectorized, and why, as text or JSON.

mod json;
mod text;

use nyala_opt::vectorize::{Fact, Form, FunctionFacts, SiteFacts, Subject};
use nyala_span::Span;

use crate::session::Session;

/// The report, in the order of the source.
pub struct Vectorization<'a> {
    session: &'a Session,
    sites: Vec<&'a SiteFacts>,
    /// Whether facts about the prelude are included.
    with_prelude: bool,
}

impl<'a> Vectorization<'a> {
    /// The report on these calls of `vectorize`.
    pub fn new(session: &'a Session, sites: &'a [SiteFacts], with_prelude: bool) -> Vectorization<'a> {
        let mut sites: Vec<&SiteFacts> = sites.iter().collect();
        sites.sort_by_key(|site| site.at.lo);
        Vectorization { session, sites, with_prelude }
    }

    /// As text.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// As one JSON object.
    pub fn json(&self) -> String {
        json::object(self).to_string() + "\n"
    }

    fn facts<'f>(&'f self, function: &'f FunctionFacts) -> impl Iterator<Item = &'f Fact> {
        function.facts.iter().filter(|fact| self.with_prelude || self.is_own(fact.at))
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
        Form::Varying => match fact.subject {
            Subject::Load => "gather",
            Subject::Store => "scatter",
            _ => "varying",
        },
        Form::Simd => "simd",
        Form::PerLane => "per-lane",
        Form::PerCacheLine => "per-cache-line",
        Form::Collective => "collective",
    }
}
