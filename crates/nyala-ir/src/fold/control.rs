//! Rules of calls and of marks for the partial evaluator.

use crate::node::{Def, Defs, Intrinsic, Mark, Node};
use crate::world::World;

/// A call of `callee` with `args`, simplified.
pub(crate) fn call(world: &World, callee: Def, args: Defs) -> (Def, Defs) {
    match (world.as_intrinsic(callee), args.as_slice()) {
        (Some(Intrinsic::Branch), &[mem, cond, then, other]) => {
            // branch(m, true, a, b) = a(m),  branch(m, c, a, a) = a(m)
            let target = match world.as_lit(cond) {
                Some(0) => other,
                Some(_) => then,
                None if then == other => then,
                None => return (callee, args),
            };
            (target, Defs::from_slice(&[mem]))
        }
        (Some(Intrinsic::Switch), &[mem, value, default, ref cases @ ..]) => {
            // switch(m, l, d, .., l, t, ..) = t(m), or d(m) if no case fits
            if world.as_lit(value).is_none() || cases.chunks(2).any(|case| world.as_lit(case[0]).is_none()) {
                return (callee, args);
            }
            let found = cases.chunks_exact(2).find(|case| case[0] == value);
            (found.map_or(default, |case| case[1]), Defs::from_slice(&[mem]))
        }
        _ => (callee, args),
    }
}

/// mark(other_mark(f)) = mark(f)
pub(crate) fn mark(world: &mut World, mark: Mark, callee: Def) -> Option<Def> {
    match world.node(callee) {
        Node::Mark { callee, .. } => Some(world.mark(mark, callee)),
        _ => None,
    }
}

/// known(c) = true for constants. Otherwise the partial evaluator decides.
pub(crate) fn known(world: &mut World, value: Def) -> Option<Def> {
    world.is_constant(value).then(|| world.lit_bool(true))
}
