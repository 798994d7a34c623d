//! The report as one JSON object; the book's chapter on partial evaluation lists its fields.

use nyala_opt::partial_eval::{Outcome, ParamAnswer, Reason, Unknown, Variant};
use nyala_span::{SourceMap, Span};
use serde_json::{Value, json};

use super::{Answers, CallAnswer};
use crate::render::json::place;

/// Changes when the meaning of a field does.
const VERSION: u32 = 2;

pub(super) fn object(answers: &Answers<'_>) -> Value {
    let sources = answers.sources();
    let growth = answers.growth.iter().map(|growth| {
        json!({
            "function": growth.function,
            "declared": place_or_null(growth.declared, sources),
            "specializations": growth.instances,
            "nodes": growth.nodes,
        })
    });
    json!({
        "version": VERSION,
        "nodes_before": answers.nodes_before,
        "nodes_after": answers.nodes_after,
        "calls": answers.calls.iter().map(|answer| call(answer, sources)).collect::<Vec<_>>(),
        "growth": growth.collect::<Vec<_>>(),
        "residual": nyala_ir::text::print(answers.residual),
    })
}

fn call(answer: &CallAnswer<'_>, sources: &SourceMap) -> Value {
    let site = answer.site;
    json!({
        "place": place_or_null(site.span, sources),
        "text": sources.text(site.span),
        "callee": site.callee.as_str(),
        "declared": place_or_null(site.declared, sources),
        "verdict": answer.verdict().describe(),
        "specialized": site.specialized,
        "rolled_back": site.rolled_back,
        "reused": site.reused,
        "unfolded": site.unfolded,
        "inlined": site.inlined,
        "left": site.kept,
        "nodes": site.nodes,
        "variants": site.variants.iter().map(|one| variant(one, sources)).collect::<Vec<_>>(),
    })
}

fn variant(variant: &Variant, sources: &SourceMap) -> Value {
    let outcome = match variant.outcome {
        Outcome::Inlined => "inlined",
        Outcome::Specialized => "specialized",
        Outcome::Reused => "reused",
        Outcome::Looped => "looped",
        Outcome::Unfolded => "unfolded",
        Outcome::Kept => "kept",
    };
    json!({
        "outcome": outcome,
        "times": variant.times,
        "arguments": variant.params.iter().map(|param| argument(param, sources)).collect::<Vec<_>>(),
    })
}

fn argument(param: &ParamAnswer, sources: &SourceMap) -> Value {
    let mut object = json!({
        "parameter": param.name,
        "value": param.value,
        "specialized": param.reason.is_specialized(),
        "rule": rule(&param.reason),
    });
    if let Reason::Filter { at } | Reason::FilterFails { at, .. } = &param.reason {
        object["filter"] = json!({ "text": sources.text(*at), "place": place_or_null(*at, sources) });
    }
    if let Reason::FilterFails { instantiated, unknown: all, .. } = &param.reason {
        object["instantiated"] = json!(instantiated);
        object["unknown"] = all.iter().map(|one| unknown(one, sources)).collect();
    }
    object
}

fn rule(reason: &Reason) -> &'static str {
    match reason {
        Reason::Forced => "forced",
        Reason::Filter { .. } => "filter",
        Reason::HigherOrder => "higher-order",
        Reason::Continuation => "continuation",
        Reason::Run => "run",
        Reason::Halted => "halted",
        Reason::NoFilter => "none",
        Reason::FilterFails { .. } => "filter-fails",
        Reason::Limit => "limit",
    }
}

fn unknown(unknown: &Unknown, sources: &SourceMap) -> Value {
    json!({
        "parameter": unknown.name,
        "value": unknown.value,
        "source": unknown.source.kind(),
        "because": unknown.source.describe(),
        "place": place_or_null(unknown.at, sources),
    })
}

fn place_or_null(span: Span, sources: &SourceMap) -> Value {
    place(span, sources).map_or(Value::Null, Value::Object)
}
