//! Marked calls that may start an unbounded number of runs.
//!
//! A run leaves residual code. If that contains the marked call itself, the
//! next run starts there, and so on. This needs a marked call that is recursive: one
//! within the function that it calls. A call of a recursive function from outside is harmless.

use nyala_ir::analysis::References;
use nyala_ir::{Mark, World};
use nyala_span::Diagnostic;

use super::super::plan::Components;
use crate::errors::recursive_run;

/// A warning for each marked call that is recursive, in the order of the source.
pub(crate) fn recursive_runs(world: &World) -> Vec<Diagnostic> {
    let marked = world.conts().filter_map(|(cont, data)| {
        let body = data.body.as_ref()?;
        let (callee, mark) = world.without_mark(body.callee);
        (mark == Some(Mark::Run)).then_some((world.cont_def(cont), callee, body.span))
    });
    let marked: Vec<_> = marked.collect();
    if marked.is_empty() {
        return vec![];
    }
    let refs = References::of_program(world);
    let components = Components::new(world, &refs);
    let recursive = marked.into_iter().filter(|&(caller, callee, _)| components.share(&refs, caller, callee));
    let mut found: Vec<_> = recursive
        .filter_map(|(_, callee, span)| {
            let callee = world.as_cont(callee)?;
            let name = world.origin(callee).map_or(world.cont(callee).name, |origin| origin.name);
            Some((span, name))
        })
        .collect();
    found.sort_unstable_by_key(|&(span, _)| span);
    // A generic function has one copy for each type.
    found.dedup_by_key(|&mut (span, _)| span);
    found.into_iter().map(|(span, name)| recursive_run(span, name)).collect()
}
