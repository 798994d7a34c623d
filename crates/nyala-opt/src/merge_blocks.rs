//! Merges blocks with their only predecessor.
//!
//! A block that one body calls, and nothing else mentions, is the rest of that body: the arguments
//! replace its parameters. Evaluation leaves such blocks if another reference to a block disappears late; so do
//! the clean-up passes. The same holds for functions; [`Merge`] selects
//! those that the evaluator still has to see.

use cranelift_entity::EntitySet;
use nyala_ir::{Body, Cont, Def, Defs, Linkage, World};

use crate::mentions::Mentions;
use crate::rewrite::Rewriter;

/// Which callees are merged with their only caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// Blocks, and functions that are not in the source: the evaluator records its decisions for the others.
    Blocks,
    /// Functions too, except those with `must_specialize`: the evaluator still has to check them.
    Inlinable,
    /// All functions.
    All,
}

/// Merges blocks with their only predecessor; whether there were any.
///
/// Before: any verified world. After: each block has several references, except those that lost
/// some by this pass.
pub fn merge_blocks(world: &mut World, what: Merge) -> bool {
    let mentions = Mentions::new(world);
    let mut merged = EntitySet::new();
    let mut values: Vec<(Def, Def)> = vec![];
    for &caller in &mentions.conts {
        let Some(body) = &world.cont(caller).body else { continue };
        if let Some(block) = world.as_cont(body.callee).filter(|&cont| is_rest(world, &mentions, cont, what))
        {
            merged.insert(block);
            values.extend(world.cont(block).params.iter().copied().zip(body.args.iter().copied()));
        }
    }
    if merged.is_empty() {
        return false;
    }
    let mut rewriter = Rewriter::of(world, values.iter().map(|&(param, _)| param));
    values.into_iter().for_each(|(param, value)| rewriter.unify(param, value));
    for &cont in mentions.conts.iter().filter(|&&cont| !merged.contains(cont)) {
        rewrite(&mut rewriter, cont, &merged);
    }
    true
}

/// Whether `block` is the rest of the body that calls it.
fn is_rest(world: &World, mentions: &Mentions, block: Cont, what: Merge) -> bool {
    let data = world.cont(block);
    mentions.count(block) == 1
        && data.body.is_some()
        && data.linkage == Linkage::Internal
        && !world.keeps_frame(block)
        && match what {
            Merge::Blocks => world.origin(block).is_none(),
            Merge::Inlinable => world.origin(block).is_none_or(|origin| !origin.must_specialize),
            Merge::All => true,
        }
}

/// Replaces the body of `cont` by the last of the bodies that are merged with it.
fn rewrite(rewriter: &mut Rewriter<'_>, cont: Cont, merged: &EntitySet<Cont>) {
    let data = rewriter.world.cont(cont);
    let Some(last) = data.body.as_ref().map(|body| rest_of(rewriter.world, body, merged)) else { return };
    let is_merged = data.body.as_ref().is_some_and(|body| !std::ptr::eq(body, last));
    let mut mentioned = std::iter::once(&last.callee).chain(&last.args).chain(&data.filter);
    if !is_merged && !mentioned.any(|&def| rewriter.is_affected(def)) {
        return;
    }
    let (last, filter) = (last.clone(), data.filter.clone());
    let callee = rewriter.def(last.callee);
    let args = last.args.iter().map(|&arg| rewriter.def(arg)).collect();
    let filter: Defs = filter.into_iter().map(|filter| rewriter.filter(filter)).collect();
    rewriter.world.set_filter(cont, filter);
    rewriter.world.replace_body(cont, Some(Body { callee, args, span: last.span }));
}

/// The last of the bodies that are merged with `body`.
fn rest_of<'a>(world: &'a World, body: &'a Body, merged: &EntitySet<Cont>) -> &'a Body {
    let mut last = body;
    while let Some(next) = world.as_cont(last.callee).filter(|&next| merged.contains(next)) {
        last = world.cont(next).body.as_ref().expect("merged blocks have bodies");
    }
    last
}
