//! Chains of branches to the same place become one branch on a combined condition.
//!
//! `if a && b && c { .. }` is three branches in control-flow form. On a GPU each one may split a
//! warp, and the next condition is only computed once it is known where all threads go. Where a
//! condition costs little, it is cheaper to compute all of them and to branch once:
//!
//! ```text
//! x(mem):                         x(mem):
//!     branch(mem, a, y, z)            branch(mem, select(a, b, false), t, z)
//! y(mem):
//!     branch(mem, b, t, z)
//! ```
//!
//! A select, and not a conjunction: `b` may have no meaning where `a` does not hold.

use nyala_ir::analysis::References;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::{ArithOp, Body, Cont, Def, Defs, Intrinsic, Node, World};
use rustc_hash::FxHashMap;

/// A condition of more operations is computed only when it is needed.
const MAX_OPERATIONS: usize = 12;

/// Blocks that do nothing are followed so far; they may lead in a circle.
const MAX_JUMPS: usize = 8;

/// Merges the branches of the kernels that start at `entries`.
pub(super) fn merge_conditions(world: &mut World, entries: &[Cont]) {
    let conts: Vec<Cont> = References::from_roots(world, entries).conts(world).collect();
    let mut mentions = mentions(world, &conts);
    // Those that come later first: what they become may be merged with what leads to them.
    for cont in conts.into_iter().rev() {
        while let Some((body, merged)) = merged(world, cont, &mentions) {
            world.replace_body(cont, Some(body));
            mentions.insert(merged, 0);
        }
    }
}

/// How often each continuation is mentioned.
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

/// A branch on two sides.
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

/// A branch that does what that of `cont` does and the one behind it, and the block that it replaces.
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
        let (leads_to, place) = (goal(world, outside), |def| goal(world, def));
        // What the combined condition is where the second one is not asked.
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

/// Where a jump ends: blocks that do nothing but go on are passed through.
fn goal(world: &World, target: Def) -> Def {
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

/// Whether a condition may be computed without need.
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
