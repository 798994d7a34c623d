//! Where the sides of a branch lead to.
//!
//! A side of a branch owns all that only it can reach. What it mentions besides is where it leaves to:
//! most often the one place where the sides meet again. If a side is never taken, these places lose
//! as many uses as it mentions them.

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use nyala_ir::{Cont, World};
use rustc_hash::FxHashMap;

use super::plan::Plan;

/// Places that a side leaves to, with how often it mentions them.
type Places = Rc<[(Cont, u32)]>;

/// For each side that was asked for, where it leaves to.
#[derive(Default)]
pub(super) struct Leaves(SecondaryMap<Cont, Option<Places>>);

impl Leaves {
    /// The places that `side` leaves to. Found once: a branch may be decided very often.
    pub(super) fn of(&mut self, world: &World, plan: &Plan, side: Cont) -> Places {
        self.0[side].get_or_insert_with(|| find(world, plan, side)).clone()
    }
}

/// Functions are no places to leave to: they are specialised, and that is counted.
fn find(world: &World, plan: &Plan, side: Cont) -> Places {
    let mut mentions: FxHashMap<Cont, u32> = FxHashMap::default();
    let mut order = vec![];
    let mut stack = vec![side];
    while let Some(cont) = stack.pop() {
        if world.origin(cont).is_some() {
            continue;
        }
        let seen = mentions.entry(cont).or_insert_with(|| {
            order.push(cont);
            0
        });
        *seen += 1;
        // All of its uses are on this side.
        if *seen == plan.uses(cont)
            && let Some(body) = &world.cont(cont).body
        {
            let mentioned = std::iter::once(body.callee).chain(body.args.iter().copied());
            stack.extend(mentioned.filter_map(|def| world.as_cont(def)));
        }
    }
    order
        .into_iter()
        .map(|cont| (cont, mentions[&cont]))
        .filter(|&(cont, seen)| seen < plan.uses(cont))
        .collect()
}
