//! The report as one JSON object; the book's chapter on SIMD lists its fields.

use nyala_opt::vectorize::{Cause, Estimate, Fact, Form, FunctionFacts, Reason, SiteFacts, Subject};
use nyala_span::Span;
use serde_json::{Value, json};

use super::{Vectorization, form, kind};
use crate::render::json::place;

/// Changes when the meaning of a field does.
const VERSION: u32 = 3;

pub(super) fn object(report: &Vectorization<'_>) -> Value {
    let loops: Vec<Value> =
        report.sites.iter().map(|&(site, count)| site_object(report, site, count)).collect();
    json!({ "version": VERSION, "loops": loops })
}

fn site_object(report: &Vectorization<'_>, site: &SiteFacts, count: usize) -> Value {
    let functions: Vec<Value> =
        site.functions.iter().map(|function| function_object(report, function)).collect();
    json!({
        "place": place_or_null(report, site.at),
        "instances": count,
        "lanes": site.lanes,
        "at_once": if site.refused.is_some() { Some(1) } else { site.at_once.or(site.lanes) },
        "vectorized": site.refused.is_none(),
        "refused": reason_or_null(report, site.refused.as_ref()),
        "masked_tail": site.has_tail,
        "estimate": site.estimate.as_ref().map(|estimate| estimate_object(report, estimate)),
        "functions": functions,
    })
}

/// Costs in simple instructions for each lane.
fn estimate_object(report: &Vectorization<'_>, estimate: &Estimate) -> Value {
    let cause = |cause: &Cause| {
        json!({
            "percent": cause.percent,
            "text": cause.kind.description(),
            "place": place_or_null(report, cause.at),
        })
    };
    json!({
        "simd": estimate.simd as f64 / 10.0,
        "scalar": estimate.scalar as f64 / 10.0,
        "causes": estimate.causes.iter().map(cause).collect::<Vec<_>>(),
    })
}

fn function_object(report: &Vectorization<'_>, function: &FunctionFacts) -> Value {
    json!({
        "name": function.name.as_str(),
        "place": place_or_null(report, function.at),
        "masked": function.is_masked,
        "facts": report.facts(function).into_iter().map(|fact| fact_object(report, fact)).collect::<Vec<_>>(),
    })
}

fn fact_object(report: &Vectorization<'_>, fact: &Fact) -> Value {
    let mut object = json!({
        "place": place_or_null(report, fact.at),
        "kind": kind(fact.subject),
        "form": form(fact),
        "masked": reason_or_null(report, fact.mask.as_ref()),
        "guarded": fact.is_guarded,
        "may_wrap": fact.may_wrap,
        "because": reason_or_null(report, fact.because.as_ref()),
    });
    if let Subject::Value(name) | Subject::Call(name) = fact.subject {
        object["name"] = json!(name.as_str());
    }
    if let Form::Strided(stride) | Form::Shuffled(stride) = fact.form {
        object["stride"] = json!(stride);
    }
    if let Form::Grouped(lanes) | Form::Repeated(lanes) = fact.form {
        object["group"] = json!(lanes);
    }
    object
}

fn reason_or_null(report: &Vectorization<'_>, reason: Option<&Reason>) -> Value {
    reason.map_or(
        Value::Null,
        |reason| json!({ "text": reason.what, "place": place_or_null(report, reason.at) }),
    )
}

fn place_or_null(report: &Vectorization<'_>, span: Span) -> Value {
    place(span, &report.session.sources).map_or(Value::Null, Value::Object)
}
