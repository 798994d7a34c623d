//! Filters that end an evaluation that reached a limit, found by trying them.
//!
//! An endless specialization mostly has this reason: the filter is right for some parameters, and should not hold
//! for those that the recursion changes. So the program is evaluated again, in a small budget, with a filter for
//! the parameters that stay the same. If the function reaches no limit then, the report says how to write it.

use nyala_ir::{Cont, Def, World};
use nyala_span::Name;

use crate::errors::LimitReached;
use crate::partial_eval::{Budget, Evaluated, OnLimit, Options};
use crate::pipeline::resume;

/// The budget of a trial. A recursion that ends mostly does so much earlier.
const BUDGET: Budget = Budget { specializations: 20_000, growth: 200_000, depth: 20_000 };

/// So many reports get a trial; each takes some tenths of a second at most.
const MAX_TRIALS: usize = 2;

/// Adds the remedies that work to the diagnostics of an evaluation.
pub(crate) fn try_remedies(world: &World, evaluated: &mut Evaluated) {
    let can_help = |limit: &LimitReached| limit.filter.is_some() && !limit.steady.is_empty();
    for (index, limit) in evaluated.limits.iter_mut().filter(|(_, limit)| can_help(limit)).take(MAX_TRIALS) {
        if let Some(remedy) = remedy(world, limit) {
            limit.remedy = Some(remedy);
            evaluated.diagnostics[*index] = limit.diagnostic();
        }
    }
}

/// The function with its filters, if evaluation ends with them.
fn remedy(world: &World, limit: &LimitReached) -> Option<String> {
    let mut trial = world.clone();
    let is_function = |&cont: &Cont| {
        let data = world.cont(cont);
        (data.span, data.name) == limit.key && data.body.is_some()
    };
    let instances: Vec<Cont> = world.conts().map(|(cont, _)| cont).filter(is_function).collect();
    let params = world.origin(*instances.first()?)?.params.iter().map(|param| param.name);
    let written: Vec<String> = params.map(|name| parameter(name, &limit.steady)).collect();
    for cont in instances {
        let params = world.cont(cont).params.clone();
        let is_steady = |&param: &Def| world.name(param).is_some_and(|name| limit.steady.contains(&name));
        let filter: Vec<Def> = params.iter().map(|param| trial.lit_bool(is_steady(param))).collect();
        trial.set_filter(cont, filter);
    }
    let options = Options { budget: BUDGET, on_limit: OnLimit::Continue, explain: false };
    let tried = resume(&trial, options);
    let ends = tried.limits.iter().all(|(_, other)| other.key != limit.key);
    ends.then(|| format!("{}({})", limit.function, written.join(", ")))
}

fn parameter(name: Option<Name>, steady: &[Name]) -> String {
    match name {
        Some(name) if steady.contains(&name) => format!("@{name}"),
        Some(name) => name.to_string(),
        None => "_".into(),
    }
}
