//! The end of evaluation: removes what only speaks to the evaluator, in place.
//!
//! `?e` becomes `false`, `$e` becomes `e`; marks, filters and what is left of `pe_info` and `pe_assert` go.

use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, World};

use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Removes what only speaks to the evaluator.
///
/// Before: any verified world. After: no `known`, no `hide`, no mark, no filter, no `pe_info`, no `pe_assert`.
pub(crate) fn remove_questions(world: &mut World) {
    let conts = Mentions::new(world).conts;
    for &cont in &conts {
        if !world.cont(cont).filter.is_empty() {
            world.set_filter(cont, vec![]);
        }
    }
    let is_question =
        |&def: &Def| matches!(world.node(def), Node::Known(_) | Node::Hide(_) | Node::Mark { .. });
    let questions: Vec<Def> = world.defs().filter(is_question).collect();
    let no = world.lit_bool(false);
    let mut rewriter = Rewriter::of(world, questions.iter().copied());
    for def in questions {
        match rewriter.world.node(def) {
            Node::Known(_) => rewriter.replace(def, no),
            Node::Hide(value) | Node::Mark { callee: value, .. } => rewriter.unify(def, value),
            node => panic!("{node:?} is no question"),
        }
    }
    for cont in conts {
        rewrite(&mut rewriter, cont);
    }
}

/// The memory before a `pe_info` or `pe_assert`, and where it goes on.
fn information(world: &World, cont: Cont) -> Option<(Def, Def)> {
    let body = world.cont(cont).body.as_ref()?;
    match (world.as_intrinsic(body.callee), body.args.as_slice()) {
        (Some(Intrinsic::PeInfo | Intrinsic::PeAssert), &[mem, _, _, ret]) => Some((mem, ret)),
        _ => None,
    }
}

fn rewrite(rewriter: &mut Rewriter<'_>, cont: Cont) {
    let Some(body) = &rewriter.world.cont(cont).body else { return };
    let told = information(rewriter.world, cont);
    let mut mentioned = std::iter::once(&body.callee).chain(&body.args);
    if told.is_none() && !mentioned.any(|&def| rewriter.is_affected(def)) {
        return;
    }
    let Body { callee, args, span } = body.clone();
    let (callee, args) = told.map_or((callee, args), |(mem, ret)| (ret, Defs::from_slice(&[mem])));
    let callee = rewriter.def(callee);
    let args = args.into_iter().map(|arg| rewriter.def(arg)).collect();
    rewriter.world.replace_body(cont, Some(Body { callee, args, span }));
}
