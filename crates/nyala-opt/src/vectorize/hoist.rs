//! Hoisting of common computations above divergent branches.
//!
//! The schedule computes a value in each block that needs it, which is best if only one of these blocks
//! is executed. At a divergent branch all of them are. So a value that several of them compute is
//! computed once, before the branch.

use nyala_ir::analysis::schedule::{can_fail, has_effect};
use nyala_ir::{Def, Node, World};
use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::shapes::Shapes;

/// Moves operations above divergent branches; whether there were any.
pub(super) fn hoist(world: &World, flow: &mut Flow, shapes: &Shapes) -> bool {
    let mut hoister = Hoister { world, flow, shapes, homes: FxHashMap::default(), moves: vec![] };
    let blocks: Vec<usize> =
        flow.order.iter().copied().filter(|&vertex| vertex < flow.blocks.len()).collect();
    for &block in &blocks {
        for &def in flow.schedule.block(block) {
            hoister.homes.entry(def).or_default().push(block);
        }
    }
    for &block in &blocks {
        for &def in flow.schedule.block(block) {
            hoister.operation(def);
        }
    }
    let moves = hoister.moves;
    flow.schedule.compute_once(&moves);
    !moves.is_empty()
}

struct Hoister<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: &'a Shapes,
    /// By operation: the blocks that compute it.
    homes: FxHashMap<Def, Vec<usize>>,
    moves: Vec<(Def, usize)>,
}

impl Hoister<'_> {
    fn operation(&mut self, def: Def) {
        let world = self.world;
        let homes = &self.homes[&def];
        let is_pinned = has_effect(world, def)
            || can_fail(world, def)
            || matches!(world.node(def), Node::Extract { agg, .. } if has_effect(world, agg));
        if homes.len() < 2 || is_pinned {
            return;
        }
        let Some(target) = self.common(homes) else { return };
        let parts = |&home: &usize| self.diverges_between(target, home);
        if homes.iter().any(parts) && self.has_operands(def, target) {
            self.homes.insert(def, vec![target]);
            self.moves.push((def, target));
        }
    }

    /// The closest common dominator that is in no loop that one of `homes` is not in.
    fn common(&self, homes: &[usize]) -> Option<usize> {
        let flow = self.flow;
        let mut target = homes.iter().copied().reduce(|a, b| flow.doms.common(a, b))?;
        while let Some(inner) = flow.innermost(target) {
            if homes.iter().all(|&home| flow.is_in(home, inner)) {
                break;
            }
            target = flow.doms.idom(flow.header(inner))?;
        }
        Some(target)
    }

    /// Whether a branch between a block and one that it dominates diverges.
    fn diverges_between(&self, from: usize, to: usize) -> bool {
        let above = std::iter::successors(self.flow.doms.idom(to), |&block| self.flow.doms.idom(block));
        let mut on_the_way = above.take_while(|&block| self.flow.doms.dominates(from, block));
        on_the_way.any(|block| self.shapes.diverges(self.flow, block))
    }

    /// Whether all operands are available at the end of a block.
    fn has_operands(&self, def: Def, block: usize) -> bool {
        let mut all = true;
        self.world.for_each_operand(def, |operand| {
            all &= match self.homes.get(&operand) {
                Some(homes) => homes.iter().any(|&home| self.flow.doms.dominates(home, block)),
                None => {
                    self.shapes.homes_of(operand).iter().all(|&home| self.flow.doms.dominates(home, block))
                }
            };
        });
        all
    }
}
