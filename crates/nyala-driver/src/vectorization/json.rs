//! The answers as one JSON object; the book's chapter on SIMD lists its fields.

use nyala_opt::vectorize::{Because, Fact, Form, FunctionFacts, SiteFacts, Subject};
use nyala_span::Span;
use serde_json::{Value, json};

use super::{Vectorization, form, kind};
use crate::render::json::place;

/// Changes when the meaning of a field does.
const VERSION: u32 = 1;

pub(super) fn object(answers: &Vectorization<'_>) -> Value {
    let loops: Vec<Value> = answers.sites.iter().map(|site| site_object(answers, site)).collect();
    json!({ "version": VERSION, "loops": loops })
}

fn site_object(answers: &Vectorization<'_>, site: &SiteFacts) -> Value {
    let functions: Vec<Value> =
        site.functions.iter().map(|function| function_object(answers, function)).collect();
    json!({
        "place": place_or_null(answers, site.at),
        "lanes": site.lanes,
        "vectorized": site.refused.is_none(),
        "refused": because_or_null(answers, site.refused.as_ref()),
        "masked_tail": site.has_tail,
        "functions": functions,
    })
}

fn function_object(answers: &Vectorization<'_>, function: &FunctionFacts) -> Value {
    json!({
        "name": function.name.as_str(),
        "place": place_or_null(answers, function.at),
        "masked": function.is_masked,
        "facts": answers.facts(function).map(|fact| fact_object(answers, fact)).collect::<Vec<_>>(),
    })
}

fn fact_object(answers: &Vectorization<'_>, fact: &Fact) -> Value {
    let mut object = json!({
        "place": place_or_null(answers, fact.at),
        "kind": kind(fact.subject),
        "form": form(fact),
        "masked": because_or_null(answers, fact.mask.as_ref()),
        "guarded": fact.is_guarded,
        "may_wrap": fact.may_wrap,
        "because": because_or_null(answers, fact.because.as_ref()),
    });
    if let Subject::Value(name) | Subject::Call(name) = fact.subject {
        object["name"] = json!(name.as_str());
    }
    if let Form::Strided(stride) | Form::Shuffled(stride) = fact.form {
        object["stride"] = json!(stride);
    }
    if let Form::Grouped(lanes) = fact.form {
        object["group"] = json!(lanes);
    }
    object
}

fn because_or_null(answers: &Vectorization<'_>, because: Option<&Because>) -> Value {
    because.map_or(
        Value::Null,
        |because| json!({ "text": because.what, "place": place_or_null(answers, because.at) }),
    )
}

fn place_or_null(answers: &Vectorization<'_>, span: Span) -> Value {
    place(span, &answers.session.sources).map_or(Value::Null, Value::Object)
}
