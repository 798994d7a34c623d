//! Merges chains of branches to the same target into one branch on a combined condition.
//!
//! `if a && b && c { .. }` is three branches in control-flow form. On a GPU each of them may diverge,
//! and the next condition is computed only after the previous branch. If a condition is cheap, it is
//! better to compute all of them and to branch once:
//!
//! ```text
//! x(mem):                         x(mem):
//!     branch(mem, a, y, z)            branch(mem, select(a, b, false), t, z)
//! y(mem):
//!     branch(mem, b, t, z)
//! ```
//!
//! A select and not a conjunction: `b` may be undefined where `a` does not hold.

use nyala_ir::analysis::References;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::{ArithOp, Body, Cont, Def, Defs, Intrinsic, Node, World};
use rustc_hash::FxHashMap;

/// The largest number of operations of a condition that is always computed. A test of three coordinates against the
/// borders of a grid has about 20.
const MAX_OPERATIONS: usize = 32;

/// The longest chain of empty blocks that is followed; it may be a cycle.
const MAX_JUMPS: usize = 8;

/// Merges the branches of the kernels that start at `entries`.
pub(super) fn merge_conditions(world: &mut World, entries: &[Cont]) {
    let conts: Vec<Cont> = References::from_roots(world, entries).conts(world).collect();
    let mut mentions = mentions(world, &conts);
    // Later blocks first: the merged branch may be merged with its predecessor.
    for cont in conts.into_iter().rev() {
        while let Some((body, merged)) = merged(world, cont, &mentions) {
            world.replace_body(cont, Some(body));
            mentions.insert(merged, 0);
        }
    }
}

/// The number of uses of each continuation.
fn mentions(world: &World, conts: &[Cont]) -> FxHashMap<Cont, usize> {
    let mut mentions = FxHashMap::default();
    for body in conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()) {
        for_each_node(world, body.args.iter().copied().chain([body.callee]), |def| {
            if let Node::Cont(cont) = world.node(def) {
                *mentions.entry(cont).or_default() += 1;
            }
        });
    }
    mentions
}

/// A branch with two targets.
#[derive(Clone, Copy)]
struct Branch {
    mem: Def,
    cond: Def,
    then: Def,
    other: Def,
}

fn branch(world: &World, cont: Cont) -> Option<(Branch, &Body)> {
    let body = world.cont(cont).body.as_ref()?;
    match body.args[..] {
        [mem, cond, then, other] if world.as_intrinsic(body.callee) == Some(Intrinsic::Branch) => {
            Some((Branch { mem, cond, then, other }, body))
        }
        _ => None,
    }
}

/// A branch that replaces that of `cont` and the one in its successor, and that successor.
fn merged(world: &mut World, cont: Cont, mentions: &FxHashMap<Cont, usize>) -> Option<(Body, Cont)> {
    let (outer, body) = branch(world, cont)?;
    let (callee, span) = (body.callee, body.span);
    for (inside, outside, is_then) in [(outer.then, outer.other, true), (outer.other, outer.then, false)] {
        let Some(block) = world.as_cont(inside).filter(|block| mentions.get(block) == Some(&1)) else {
            continue;
        };
        let Some((inner, _)) = branch(world, block) else { continue };
        let does_nothing_else = world.cont(block).params[..] == [inner.mem];
        if !does_nothing_else || !is_cheap(world, inner.cond) {
            continue;
        }
        let (leads_to, place) = (jump_target(world, outside), |def| jump_target(world, def));
        // The combined condition where the second one is not evaluated.
        let otherwise = match (leads_to == place(inner.then), leads_to == place(inner.other)) {
            (true, _) => true,
            (_, true) => false,
            _ => continue,
        };
        let known = world.lit_bool(otherwise);
        let (a, b) = if is_then { (inner.cond, known) } else { (known, inner.cond) };
        let cond = world.select(outer.cond, a, b);
        let args = Defs::from_slice(&[outer.mem, cond, inner.then, inner.other]);
        return Some((Body { callee, args, span }, block));
    }
    None
}

/// The target of a jump, through blocks that only jump.
fn jump_target(world: &World, target: Def) -> Def {
    let mut target = target;
    for _ in 0..MAX_JUMPS {
        let Some(data) = world.as_cont(target).map(|cont| world.cont(cont)) else { return target };
        match &data.body {
            Some(body) if data.params.len() == 1 && body.args == data.params => target = body.callee,
            _ => return target,
        }
    }
    target
}

/// Whether a condition may be computed speculatively.
fn is_cheap(world: &World, cond: Def) -> bool {
    let (mut count, mut is_harmless) = (0, world.ty(cond) == world.types.bool());
    for_each_node(world, [cond], |def| match world.node(def) {
        Node::Lit(_) | Node::Param { .. } => {}
        Node::Arith { op: ArithOp::Div | ArithOp::Rem, .. } => is_harmless = false,
        Node::Arith { .. } | Node::Cmp { .. } | Node::Cast(_) | Node::Select { .. } => count += 1,
        _ => is_harmless = false,
    });
    is_harmless && count <= MAX_OPERATIONS
}
