//! The last step of evaluation: removes annotations for the evaluator, in place.
//!
//! `?e` becomes `false`, `$e` becomes `e`. Marks, filters, and remaining calls of `pe_info`, `pe_assert` and
//! `pe_expect` are removed. Calls of `pe_cost` are answered: now the functions contain all that they will execute.

use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, World};

use super::cost::cost_of;
use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Removes annotations for the evaluator.
///
/// Before: any verified world. After: no `known`, no `hide`, no mark, no filter, no `pe_info`, no `pe_assert`, no
/// `pe_expect`, no `pe_cost`.
pub(crate) fn remove_annotations(world: &mut World) {
    let conts = Mentions::new(world).conts;
    for &cont in &conts {
        if !world.cont(cont).filter.is_empty() {
            world.set_filter(cont, vec![]);
        }
    }
    let is_annotation =
        |&def: &Def| matches!(world.node(def), Node::Known(_) | Node::Hide(_) | Node::Mark { .. });
    let annotations: Vec<Def> = world.defs().filter(is_annotation).collect();
    let no = world.lit_bool(false);
    let mut rewriter = Rewriter::of(world, annotations.iter().copied());
    for def in annotations {
        match rewriter.world.node(def) {
            Node::Known(_) => rewriter.replace(def, no),
            Node::Hide(value) | Node::Mark { callee: value, .. } => rewriter.unify(def, value),
            node => panic!("{node:?} is no annotation"),
        }
    }
    for cont in conts {
        rewrite(&mut rewriter, cont);
    }
}

/// What remains of a call for the evaluator: the call of the return continuation.
fn rest_of_call(world: &mut World, cont: Cont) -> Option<(Def, Defs)> {
    let body = world.cont(cont).body.as_ref()?;
    match (world.as_intrinsic(body.callee), body.args.as_slice()) {
        (Some(Intrinsic::PeInfo | Intrinsic::PeAssert | Intrinsic::PeExpect), &[mem, _, _, ret]) => {
            Some((ret, Defs::from_slice(&[mem])))
        }
        (Some(Intrinsic::PeCost), &[mem, function, ret]) => {
            let cost = world.lit_i32(i32::try_from(cost_of(world, function)).unwrap_or(i32::MAX));
            Some((ret, Defs::from_slice(&[mem, cost])))
        }
        _ => None,
    }
}

fn rewrite(rewriter: &mut Rewriter<'_>, cont: Cont) {
    let rest = rest_of_call(rewriter.world, cont);
    let Some(body) = &rewriter.world.cont(cont).body else { return };
    let mut mentioned = std::iter::once(&body.callee).chain(&body.args);
    if rest.is_none() && !mentioned.any(|&def| rewriter.is_affected(def)) {
        return;
    }
    let Body { callee, args, span } = body.clone();
    let (callee, args) = rest.unwrap_or((callee, args));
    let callee = rewriter.def(callee);
    let args = args.into_iter().map(|arg| rewriter.def(arg)).collect();
    rewriter.world.replace_body(cont, Some(Body { callee, args, span }));
}
