//! Rules of operations on lanes.

use super::lanes as literals;
use crate::node::{Def, LaneOp, Node};
use crate::types::Prim;
use crate::world::World;

/// What an operation of lanes on each other simplifies to.
pub(crate) fn lanes(world: &mut World, op: LaneOp, args: &[Def]) -> Option<Def> {
    match op {
        // Votes of known lanes are known.
        LaneOp::Any => literals(world, args[0]).map(|lanes| world.lit_bool(lanes.contains(&1))),
        LaneOp::All => literals(world, args[0]).map(|lanes| world.lit_bool(!lanes.contains(&0))),
        LaneOp::Ballot => {
            let lanes = literals(world, args[0])?;
            let bits = lanes.iter().zip(0..).fold(0, |bits, (&lane, at)| bits | lane << at);
            Some(world.lit(Prim::U64, bits))
        }
        // permute(v, (0, 1, ..)) = v, and of the same value in each lane, that value
        LaneOp::Permute => {
            let order = literals(world, args[1])?;
            let in_order = order.iter().zip(0..).all(|(&lane, at)| lane == at);
            let in_range = order.iter().all(|&lane| lane < order.len() as u64);
            if in_order || in_range && is_splat(world, args[0]) {
                return Some(args[0]);
            }
            // Known lanes change places now.
            let lanes = literals(world, args[0]).filter(|_| in_range)?;
            let prim = world.types.lane_prim(world.ty(args[0]))?;
            let moved: Vec<Def> = order.iter().map(|&from| world.lit(prim, lanes[from as usize])).collect();
            Some(world.aggregate(world.ty(args[0]), &moved))
        }
        // compress and expand of all lanes, or of none, change nothing
        LaneOp::Compress | LaneOp::Expand => {
            let mask = literals(world, args[1])?;
            (!mask.contains(&0) || !mask.contains(&1)).then_some(args[0])
        }
    }
}

/// Whether a simd value is written as the same value in each lane.
fn is_splat(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Aggregate(parts) => world.list(parts).windows(2).all(|pair| pair[0] == pair[1]),
        _ => false,
    }
}
