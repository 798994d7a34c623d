//! The last step of evaluation: removes annotations for the evaluator, in place.
//!
//! `?e` becomes `false`, `$e` becomes `e`. Marks, filters, and remaining calls of `pe_info`, `pe_assert` and
//! `pe_expect` are removed.

use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, World};

use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Removes annotations for the evaluator.
///
/// Before: any verified world. After: no `known`, no `hide`, no mark, no filter, no `pe_info`, no `pe_assert`, no
/// `pe_expect`.
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

/// The memory token and the return continuation of a `pe_info`, `pe_assert` or `pe_expect`.
fn pe_call(world: &World, cont: Cont) -> Option<(Def, Def)> {
    let body = world.cont(cont).body.as_ref()?;
    match (world.as_intrinsic(body.callee), body.args.as_slice()) {
        (Some(Intrinsic::PeInfo | Intrinsic::PeAssert | Intrinsic::PeExpect), &[mem, _, _, ret]) => {
            Some((mem, ret))
        }
        _ => None,
    }
}

fn rewrite(rewriter: &mut Rewriter<'_>, cont: Cont) {
    let Some(body) = &rewriter.world.cont(cont).body else { return };
    let pe_call = pe_call(rewriter.world, cont);
    let mut mentioned = std::iter::once(&body.callee).chain(&body.args);
    if pe_call.is_none() && !mentioned.any(|&def| rewriter.is_affected(def)) {
        return;
    }
    let Body { callee, args, span } = body.clone();
    let (callee, args) = pe_call.map_or((callee, args), |(mem, ret)| (ret, Defs::from_slice(&[mem])));
    let callee = rewriter.def(callee);
    let args = args.into_iter().map(|arg| rewriter.def(arg)).collect();
    rewriter.world.replace_body(cont, Some(Body { callee, args, span }));
}
