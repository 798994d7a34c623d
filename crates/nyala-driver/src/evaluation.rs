//! The report of `nyala explain`: the decisions of partial evaluation, as text, JSON or HTML.
//!
//! [`Answers`] prepares the record of the evaluator: the selected calls, a summary
//! of each, and where the code grew. `text`, `json` and
//! `html` write it.

mod html;
mod json;
mod text;

use nyala_ir::World;
use nyala_opt::partial_eval::{Explanation, Outcome, ParamAnswer, Reason, Site, Variant};
use nyala_span::diagnostic::plural;
use nyala_span::{SourceMap, Span};

use crate::session::Session;

/// The selection of calls.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Only calls in functions of this name, and calls of them.
    pub function: Option<String>,
    /// Whether calls in the prelude are included.
    pub with_prelude: bool,
}

/// The report, in source order.
pub struct Answers<'a> {
    session: &'a Session,
    /// The selected function, if not all.
    function: Option<String>,
    /// The residual program.
    residual: &'a World,
    calls: Vec<CallAnswer<'a>>,
    growth: Vec<Growth>,
    nodes_before: u64,
    nodes_after: u64,
}

/// The decision at a call.
struct CallAnswer<'a> {
    site: &'a Site,
    groups: Vec<Group<'a>>,
}

/// Variants with the same outcome and reasons; the arguments may differ.
struct Group<'a> {
    outcome: Outcome,
    variants: Vec<&'a Variant>,
    times: u64,
}

/// The code size that calls of a function added.
struct Growth {
    function: String,
    declared: Span,
    instances: u64,
    nodes: u64,
}

impl<'a> Answers<'a> {
    /// The report on `question`, from the record of the evaluation that produced `residual`.
    pub fn new(
        session: &'a Session,
        residual: &'a World,
        explanation: &'a Explanation,
        question: &Question,
    ) -> Answers<'a> {
        let is_about =
            |site: &&Site| question.function.as_deref().is_none_or(|name| is_about(residual, site, name));
        let is_shown = |site: &&Site| {
            let is_prelude = session.sources.file_of(site.span).is_none_or(|file| session.is_foreign(file));
            question.with_prelude || !is_prelude
        };
        let about = || explanation.sites.iter().filter(is_about);
        Answers {
            session,
            function: question.function.clone(),
            residual,
            calls: about().filter(is_shown).map(CallAnswer::new).collect(),
            growth: growth(about(), &session.sources),
            nodes_before: explanation.nodes_before,
            nodes_after: explanation.nodes_after,
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// As one JSON object.
    pub fn json(&self) -> String {
        json::object(self).to_string() + "\n"
    }

    /// As one self-contained HTML file.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Why there are no calls.
    fn nothing(&self) -> String {
        match self.function.as_deref() {
            None => "no calls are reachable from `main` and `extern` functions".into(),
            Some(name) if self.residual.origins.named(name).next().is_none() => {
                format!("no function `{name}` is reachable from `main` and `extern` functions")
            }
            Some(name) => format!("no calls in `{name}` or of it"),
        }
    }

    fn sources(&self) -> &'a SourceMap {
        &self.session.sources
    }
}

/// Whether a call is in a function `name`, or calls one.
fn is_about(world: &World, site: &Site, name: &str) -> bool {
    let stands_in = |body: Span| body.contains(site.span.lo);
    site.callee.as_str() == name || world.origins.named(name).any(|origin| stands_in(origin.body))
}

/// Functions by the code size that their calls added, largest first.
fn growth<'a>(sites: impl Iterator<Item = &'a Site>, sources: &SourceMap) -> Vec<Growth> {
    let mut all: Vec<Growth> = vec![];
    for site in sites {
        let at = all.iter().position(|growth| growth.declared == site.declared).unwrap_or_else(|| {
            let function = function_name(site, sources);
            all.push(Growth { function, declared: site.declared, instances: 0, nodes: 0 });
            all.len() - 1
        });
        all[at].instances += site.specialized.saturating_sub(site.rolled_back);
        all[at].nodes += site.nodes;
    }
    all.retain(|growth| growth.nodes > 0 || growth.instances > 0);
    all.sort_by_key(|growth| (std::cmp::Reverse(growth.nodes), growth.declared));
    all
}

/// A lambda is identified by its position.
fn function_name(site: &Site, sources: &SourceMap) -> String {
    match site.callee.as_str() {
        "lambda" => format!("lambda at {}", sources.describe(site.declared)),
        name => name.into(),
    }
}

impl<'a> CallAnswer<'a> {
    fn new(site: &'a Site) -> CallAnswer<'a> {
        let mut groups: Vec<Group<'a>> = vec![];
        for variant in &site.variants {
            let is_same = |group: &&mut Group<'_>| {
                group.outcome == variant.outcome && is_alike(group.variants[0], variant)
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => {
                    group.variants.push(variant);
                    group.times += variant.times;
                }
                None => groups.push(Group {
                    outcome: variant.outcome,
                    variants: vec![variant],
                    times: variant.times,
                }),
            }
        }
        CallAnswer { site, groups }
    }

    /// The callee, if the call does not name it.
    fn callee(&self, sources: &SourceMap) -> String {
        match self.site.callee.as_str() {
            "lambda" => format!(", of the {}", function_name(self.site, sources)),
            _ => String::new(),
        }
    }

    /// The decision in one word.
    fn verdict(&self) -> Verdict {
        let site = self.site;
        let fails = |variant: &&Variant| {
            let is_denied =
                |param: &ParamAnswer| matches!(param.reason, Reason::FilterFails { .. } | Reason::Limit);
            variant.outcome == Outcome::Kept && variant.params.iter().any(is_denied)
        };
        let n_done =
            site.specialized.saturating_sub(site.rolled_back) + site.reused + site.inlined + site.unfolded;
        match (n_done > 0, site.variants.iter().find(fails)) {
            (true, Some(_)) => Verdict::Partly,
            (true, None) if site.unfolded > 0 => Verdict::Unfolded,
            (true, None) if site.specialized + site.reused == 0 => Verdict::Inlined,
            (true, None) => Verdict::Specialized,
            (false, Some(_)) => Verdict::Denied,
            (false, None) if site.rolled_back > 0 => Verdict::Denied,
            (false, None) => Verdict::Kept,
        }
    }

    /// The main fact in a few words: the reason for a kept call, or the size.
    fn gist(&self) -> String {
        let reasons =
            self.site.variants.iter().flat_map(|variant| &variant.params).map(|param| &param.reason);
        let mut denials = reasons.filter_map(|reason| match reason {
            Reason::FilterFails { unknown, .. } => Some(match unknown.first() {
                Some(unknown) => format!("`{}`: {}", unknown.name, unknown.source.describe()),
                None => "its filter is false".into(),
            }),
            Reason::Limit => Some("a limit was reached".into()),
            _ => None,
        });
        match self.verdict() {
            Verdict::Denied => denials.next().unwrap_or_else(|| "a limit was reached".into()),
            _ => self.counts(),
        }
    }

    /// `3 specializations, 2 reused, inlined, 120 nodes`
    fn counts(&self) -> String {
        let site = self.site;
        let mut parts = vec![];
        if site.specialized > 0 {
            parts.push(plural(site.specialized, "specialization"));
        }
        if site.rolled_back > 0 {
            parts.push(format!("{} rolled back", site.rolled_back));
        }
        if site.reused > 0 {
            parts.push(format!("{} reused", site.reused));
        }
        if site.unfolded > 0 {
            parts.push(format!("{} unfolded", site.unfolded));
        }
        if site.inlined > 0 {
            parts.push(format!("{} inlined", site.inlined));
        }
        if site.kept > 0 {
            parts.push(format!("{} left", plural(site.kept, "call")));
        }
        if site.nodes > 0 {
            parts.push(plural(site.nodes, "node"));
        }
        parts.join(", ")
    }
}

/// The full report on a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Specialized,
    /// In a run of the evaluator.
    Unfolded,
    Inlined,
    /// Specialized in some instances of the enclosing function, kept in others.
    Partly,
    /// A filter does not hold, or a limit was reached.
    Denied,
    /// There is no filter.
    Kept,
}

impl Verdict {
    fn describe(self) -> &'static str {
        match self {
            Verdict::Specialized => "specialized",
            Verdict::Unfolded => "unfolded",
            Verdict::Inlined => "inlined",
            Verdict::Partly => "partly specialized",
            Verdict::Denied => "not specialized",
            Verdict::Kept => "a call",
        }
    }
}

/// Whether two variants differ only in the values of arguments.
fn is_alike(a: &Variant, b: &Variant) -> bool {
    let same =
        |(a, b): (&ParamAnswer, &ParamAnswer)| a.name == b.name && is_alike_reason(&a.reason, &b.reason);
    a.params.len() == b.params.len() && a.params.iter().zip(&b.params).all(same)
}

fn is_alike_reason(a: &Reason, b: &Reason) -> bool {
    match (a, b) {
        (Reason::FilterFails { at: a, unknown: x, .. }, Reason::FilterFails { at: b, unknown: y, .. }) => {
            let sources = |unknown: &Vec<nyala_opt::partial_eval::Unknown>| {
                unknown.iter().map(|one| (one.name.clone(), one.source.clone())).collect::<Vec<_>>()
            };
            a == b && sources(x) == sources(y)
        }
        (a, b) => a == b,
    }
}

impl Group<'_> {
    /// The decision, as a sentence without subject.
    fn describe(&self) -> String {
        let names: Vec<String> = self.variants[0]
            .params
            .iter()
            .filter(|param| param.reason.is_specialized())
            .map(|param| format!("`{}`", param.name))
            .collect();
        let on = if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) };
        let what = match self.outcome {
            Outcome::Inlined => "inlined: this is the only use of the callee".into(),
            Outcome::Specialized => format!("specialized{on}"),
            Outcome::Reused => format!("calls an existing specialization{on}"),
            Outcome::Looped => format!("calls its own specialization{on}: a loop"),
            Outcome::Unfolded => "unfolded".into(),
            Outcome::Kept => "kept as a call".into(),
        };
        if self.times > 1 { format!("{what} ({} times)", self.times) } else { what }
    }

    /// The arguments with their values, grouped by reason.
    fn by_reason(&self) -> Vec<(&Reason, Vec<String>)> {
        let mut all: Vec<(&Reason, Vec<String>)> = vec![];
        for (index, param) in self.variants[0].params.iter().enumerate() {
            let argument = match param.reason {
                Reason::Continuation => param.name.clone(),
                _ => format!("{} = {}", param.name, self.values(index)),
            };
            match all.iter_mut().find(|(reason, _)| **reason == param.reason) {
                Some((_, arguments)) => arguments.push(argument),
                None => all.push((&param.reason, vec![argument])),
            }
        }
        all
    }

    /// The values of an argument, each once.
    fn values(&self, index: usize) -> String {
        let mut values: Vec<&str> = vec![];
        for variant in &self.variants {
            let value = variant.params[index].value.as_str();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let is_cut = self.is_cut() || values.len() > MAX_VALUES;
        let more = if is_cut && values.len() > 1 { ", .." } else { "" };
        values.truncate(MAX_VALUES);
        values.join(", ") + more
    }

    /// Whether there were more variants than were recorded.
    fn is_cut(&self) -> bool {
        self.variants.len() >= Site::MAX_VARIANTS / 2
    }
}

/// The reason, as a sentence about an argument.
fn describe_reason(reason: &Reason, sources: &SourceMap) -> String {
    match reason {
        Reason::Forced => "`@@` at the call".into(),
        Reason::Filter { at } => format!("the filter {} holds", filter_text(*at, sources)),
        Reason::HigherOrder => "calls are always specialized on functions".into(),
        Reason::Continuation => "the return continuation of a function with captures".into(),
        Reason::Run => "a run of the evaluator".into(),
        Reason::Halted => "`@halt` at the call".into(),
        Reason::NoFilter => "no filter".into(),
        Reason::FilterFails { at, unknown, .. } if unknown.is_empty() => {
            format!("the filter {} is false", filter_text(*at, sources))
        }
        Reason::FilterFails { at, instantiated, .. } => {
            format!("the filter {} is unknown, here it is `{instantiated}`", filter_text(*at, sources))
        }
        Reason::Limit => "a limit was reached".into(),
    }
}

/// `@`, `@(?n)`
fn filter_text(at: Span, sources: &SourceMap) -> String {
    match sources.text(at) {
        "" => "of the function".into(),
        text => format!("`{text}`"),
    }
}

/// The first line of a call, without the body of a loop.
fn call_text(span: Span, sources: &SourceMap) -> String {
    let text = sources.text(span);
    let line = text.lines().next().unwrap_or_default().trim_end();
    let cut: String = line.chars().take(MAX_CALL_CHARS).collect();
    if cut.len() < text.len() { format!("{} ..", cut.trim_end_matches(['{', ' '])) } else { cut }
}

/// The maximum number of values of an argument.
const MAX_VALUES: usize = 5;

/// The maximum length of a call in a headline.
const MAX_CALL_CHARS: usize = 60;
