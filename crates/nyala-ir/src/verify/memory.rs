//! The rule `memory`: effects happen in one order.

use rustc_hash::FxHashMap;

use super::{Place, Rule, Verifier, is_mem};
use crate::analysis::references::References;
use crate::analysis::schedule::taken_token;
use crate::node::{Def, Node};
use crate::types::TyKind;
use crate::world::World;

/// Reports every token that is used twice or by something that is no effect.
pub(super) fn check(verifier: &mut Verifier<'_>, refs: &References, nodes: &[Def]) {
    let world = verifier.world;
    let mut first_use: FxHashMap<Def, Place> = FxHashMap::default();
    for cont in refs.conts(world) {
        for &arg in world.cont(cont).body.iter().flat_map(|body| &body.args) {
            use_token(verifier, &mut first_use, arg, Place::Body(cont));
            if is_effect_result(world, arg) {
                let message = "hands over the whole result of an effect".into();
                verifier.report(Rule::Memory, Place::Body(cont), message);
            }
        }
    }
    // Nodes come in the order they were made, so the later use is at fault.
    for &def in nodes {
        let operands = world.operands(def);
        for &operand in &operands {
            use_token(verifier, &mut first_use, operand, Place::Node(def));
        }
        if let Some(message) = operands.iter().find_map(|&operand| misuse(world, def, operand)) {
            verifier.report(Rule::Memory, Place::Node(def), message.into());
        }
    }
}

fn use_token(verifier: &mut Verifier<'_>, first_use: &mut FxHashMap<Def, Place>, token: Def, place: Place) {
    let world = verifier.world;
    if !is_mem(world, world.ty(token)) || matches!(world.node(token), Node::Undef) {
        return;
    }
    if let Some(&first) = first_use.get(&token) {
        let first = super::show(world, first);
        let message = format!("uses the memory that `{first}` uses too");
        verifier.report(Rule::Memory, place, message);
    } else {
        first_use.insert(token, place);
    }
}

/// The error of `user` having `operand`, in the rules of memory.
fn misuse(world: &World, user: Def, operand: Def) -> Option<&'static str> {
    if is_mem(world, world.ty(operand)) {
        let is_taken = taken_token(world, user) == Some(operand);
        return (!is_taken).then_some("uses a memory token, but is no effect");
    }
    let takes_apart = matches!(world.node(user), Node::Extract { agg, index } if agg == operand && world.as_lit(index).is_some());
    (is_effect_result(world, operand) && !takes_apart).then_some("uses the whole result of an effect")
}

/// Whether `def` is a tuple with a memory token in it.
fn is_effect_result(world: &World, def: Def) -> bool {
    match world.types.kind(world.ty(def)) {
        TyKind::Tuple(parts) => parts.iter().any(|&part| is_mem(world, part)),
        _ => false,
    }
}
