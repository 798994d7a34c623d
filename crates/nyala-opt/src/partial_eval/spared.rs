//! Uses that will not come, because the side of a branch that has them is not taken.
//!
//! A side of a branch owns all that only it can reach. What it mentions besides is where it leaves to:
//! most often the one place where the sides meet again. If a side is never taken, these places lose
//! as many uses as it mentions them, and evaluation goes on there at once if one use is left. So a chain
//! of decisions that are known is evaluated in one round.

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use nyala_ir::{Body, Cont, Def, World};
use rustc_hash::FxHashMap;

use super::engine::Engine;
use super::env::Env;
use super::plan::Plan;
use super::values::Mode;

/// Places that a side leaves to, with how often it mentions them.
type Places = Rc<[(Cont, u32)]>;

/// How many uses in the old program will not come.
#[derive(Default)]
pub(super) struct Spared {
    /// Where a side leaves to. Found once: a branch may be decided very often.
    leaves: SecondaryMap<Cont, Option<Places>>,
    /// Of instances.
    of_instances: FxHashMap<Cont, u32>,
    /// Of old continuations whose captures have no values yet, while one body is built.
    here: FxHashMap<Cont, u32>,
}

impl Spared {
    /// Another body is built.
    pub(super) fn begin_body(&mut self) {
        self.here.clear();
    }

    /// How many uses of `instance`, which is one of `old`, will not come.
    pub(super) fn uses(&self, instance: Cont, old: Cont) -> u32 {
        let of = |spared: &FxHashMap<Cont, u32>, cont: Cont| spared.get(&cont).copied().unwrap_or(0);
        of(&self.of_instances, instance) + of(&self.here, old)
    }

    /// Evaluation has come to `instance`.
    pub(super) fn forget(&mut self, instance: Cont, old: Cont) {
        self.of_instances.remove(&instance);
        self.here.remove(&old);
    }
}

impl Engine<'_> {
    /// Notes that the sides of a branch that are not taken will not use what they mention.
    pub(super) fn spare_other_targets(&mut self, body: &Body, taken: Def, env: &mut Env) {
        let old = self.old;
        for side in body.args[2..].iter().filter(|&&arg| arg != taken).filter_map(|&arg| old.as_cont(arg)) {
            let leaves =
                self.spared.leaves[side].get_or_insert_with(|| leaves(old, &self.plan, side)).clone();
            for &(cont, mentions) in leaves.iter() {
                let is_whole = self.plan.captures(cont).iter().all(|&def| self.value(def, env).is_some());
                let uses = if is_whole {
                    let instance = self.def(old.cont(cont).def, env, Mode::Residual);
                    let instance = self.new.as_cont(instance).expect("an instance is a continuation");
                    self.spared.of_instances.entry(instance)
                } else {
                    self.spared.here.entry(cont)
                };
                *uses.or_default() += mentions;
            }
        }
    }
}

/// Where `side` leaves to. Functions are no such places: they are specialised, and that is counted.
fn leaves(world: &World, plan: &Plan, side: Cont) -> Places {
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
    let counted = order.into_iter().map(|cont| (cont, mentions[&cont]));
    counted.filter(|&(cont, seen)| seen < plan.uses(cont)).collect()
}
