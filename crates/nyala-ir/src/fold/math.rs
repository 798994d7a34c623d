//! Rules of mathematical functions.

use super::{constant, lanes, make_constant, make_lanes};
use crate::eval;
use crate::node::{Def, MathOp, Node};
use crate::types::{Prim, Ty};
use crate::world::World;

/// What `op(args)` simplifies to, as a value of type `ty`.
pub(crate) fn math(world: &mut World, op: MathOp, args: &[Def], ty: Ty) -> Option<Def> {
    let prim = world.types.lane_prim(world.ty(args[0]))?;
    let constants: Option<Vec<u64>> = args.iter().map(|&arg| constant(world, arg)).collect();
    if let Some(constants) = constants {
        let bits = eval::math(op, prim, &constants).ok()?;
        return make_constant(world, ty, bits);
    }
    if let Some(folded) = fold_lanes(world, op, prim, args, ty) {
        return Some(folded);
    }
    match (op, args) {
        // fmin(x, x) = x,  fmax(x, x) = x
        (MathOp::Fmin | MathOp::Fmax, &[x, y]) if x == y => Some(x),
        // fabs(fabs(x)) = fabs(x), and so for the roundings
        (
            MathOp::Fabs | MathOp::Round | MathOp::RoundEven | MathOp::Trunc | MathOp::Ceil | MathOp::Floor,
            &[x],
        ) => match world.node(x) {
            Node::Math { op: inner, .. } if inner == op => Some(x),
            _ => None,
        },
        // pow(x, 1) = x,  pow(x, 0) = 1, for NaN too
        (MathOp::Pow, &[x, y]) => {
            let exponent = eval::float_value(prim, constant(world, y)?);
            if exponent == 1.0 {
                return Some(x);
            }
            let one = eval::float_from_value(prim, 1.0);
            if exponent == 0.0 { make_constant(world, ty, one) } else { None }
        }
        _ => None,
    }
}

/// Lane by lane, if all are known.
fn fold_lanes(world: &mut World, op: MathOp, prim: Prim, args: &[Def], ty: Ty) -> Option<Def> {
    let lanes: Vec<Vec<u64>> = args.iter().map(|&arg| lanes(world, arg)).collect::<Option<_>>()?;
    let eval = |lane: usize| {
        let args: Vec<u64> = lanes.iter().map(|lanes| lanes[lane]).collect();
        eval::math(op, prim, &args).ok()
    };
    let results: Vec<u64> = (0..lanes[0].len()).map(eval).collect::<Option<_>>()?;
    let result = world.types.lane_prim(ty)?;
    Some(make_lanes(world, ty, result, &results))
}
