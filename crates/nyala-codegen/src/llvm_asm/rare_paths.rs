//! Operations before branches that they do not need.
//!
//! The sine, cosine and tangent of vectors branch: large arguments take a slow path, which is rare. LLVM orders instructions
//! within blocks only, so what is written after such a branch never starts before it, although it may need no result of it: square
//! roots that could be computed beside the sine come after it. Therefore a block begins with what needs none of these functions.
//!
//! # Invariants
//!
//! * Operands come before users, and operations that can fail keep their order.

use nyala_ir::analysis::schedule::can_fail;
use nyala_ir::{Def, MathOp, Node, World};
use rustc_hash::FxHashSet;

/// The operations of a block in this order, if there is such a function among them.
pub(super) fn order(world: &World, operations: &[Def]) -> Option<Vec<Def>> {
    let first = operations.iter().position(|&def| has_rare_path(world, def))?;
    let (mut ordered, mut after) = (operations[..first].to_vec(), vec![]);
    let (mut needing, mut fails_after) = (FxHashSet::default(), false);
    for &def in &operations[first..] {
        let mut is_after = has_rare_path(world, def) || fails_after && can_fail(world, def);
        world.for_each_operand(def, |operand| is_after |= needing.contains(&operand));
        if is_after {
            needing.insert(def);
            fails_after |= can_fail(world, def);
            after.push(def);
        } else {
            ordered.push(def);
        }
    }
    ordered.append(&mut after);
    Some(ordered)
}

fn has_rare_path(world: &World, def: Def) -> bool {
    let is_rare = matches!(world.node(def), Node::Math { op: MathOp::Sin | MathOp::Cos | MathOp::Tan, .. });
    is_rare && world.types.is_simd(world.ty(def))
}
