//! References from branch targets that are not taken.
//!
//! A target of a branch owns the blocks that only it reaches. The other blocks that it mentions are its exits:
//! in most cases the one join of the branch. If the target is not taken, each exit loses the references
//! from there. If one reference is left, the exit is evaluated in place. So one round evaluates a chain of known
//! branches.
//!
//! The branch of a loop that is unfolded is folded several times, and its exits, which are outside of the loop, are
//! the same each time. So a target counts once for an exit, and not at all once it is taken.

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use nyala_ir::{Body, Cont, Def, World};
use rustc_hash::FxHashMap;

use super::engine::Engine;
use super::env::Env;
use super::plan::Plan;
use super::values::Mode;

/// The exits of a branch target, each with the number of references to it.
type Exits = Rc<[(Cont, u32)]>;

/// How many references of the old program come from targets that are not taken.
#[derive(Default)]
pub(super) struct UntakenUses {
    /// The exits of each target. A branch may be folded very often, so they are computed once.
    exits: SecondaryMap<Cont, Option<Exits>>,
    /// Of instances.
    of_instances: Counts,
    /// Of old continuations whose captures have no values yet, in the body that is being built.
    of_old: Counts,
}

/// References by exit.
#[derive(Default)]
struct Counts {
    exits: FxHashMap<Cont, Exit>,
    /// For how many exits a target counts.
    n_exits: FxHashMap<Cont, u32>,
}

/// The references to an exit that will not come.
#[derive(Default)]
struct Exit {
    references: u32,
    /// The targets that they come from.
    targets: Vec<Cont>,
}

impl Counts {
    fn of(&self, exit: Cont) -> u32 {
        self.exits.get(&exit).map_or(0, |exit| exit.references)
    }

    fn has(&self, target: Cont) -> bool {
        self.n_exits.get(&target).is_some_and(|&n| n > 0)
    }

    /// `target` is not taken.
    fn add(&mut self, target: Cont, exit: Cont, references: u32) {
        let exit = self.exits.entry(exit).or_default();
        if !exit.targets.contains(&target) {
            exit.targets.push(target);
            exit.references += references;
            *self.n_exits.entry(target).or_default() += 1;
        }
    }

    /// `target` is taken.
    fn subtract(&mut self, target: Cont, exit: Cont, references: u32) {
        let Some(exit) = self.exits.get_mut(&exit) else { return };
        if let Some(at) = exit.targets.iter().position(|&counted| counted == target) {
            exit.targets.swap_remove(at);
            exit.references -= references;
            *self.n_exits.entry(target).or_default() -= 1;
        }
    }

    fn remove(&mut self, exit: Cont) {
        for target in self.exits.remove(&exit).unwrap_or_default().targets {
            *self.n_exits.entry(target).or_default() -= 1;
        }
    }

    fn clear(&mut self) {
        self.exits.clear();
        self.n_exits.clear();
    }
}

impl UntakenUses {
    /// Starts another body.
    pub(super) fn begin_body(&mut self) {
        self.of_old.clear();
    }

    /// Whether `target` was not taken before.
    fn is_counted(&self, target: Cont) -> bool {
        self.of_instances.has(target) || self.of_old.has(target)
    }

    /// The references to `instance`, an instance of `old`, that will not come.
    pub(super) fn count(&self, instance: Cont, old: Cont) -> u32 {
        self.of_instances.of(instance) + self.of_old.of(old)
    }

    /// Removes the counts of an instance that is evaluated in place.
    pub(super) fn remove(&mut self, instance: Cont, old: Cont) {
        self.of_instances.remove(instance);
        self.of_old.remove(old);
    }
}

impl Engine<'_> {
    /// Counts the references from the targets of a branch other than `taken`.
    pub(super) fn count_untaken_uses(&mut self, body: &Body, taken: Def, env: &mut Env) {
        let old = self.old;
        for target in body.args[2..].iter().filter_map(|&arg| old.as_cont(arg)) {
            let is_taken = old.cont(target).def == taken;
            if is_taken && !self.untaken.is_counted(target) {
                continue;
            }
            let exits =
                self.untaken.exits[target].get_or_insert_with(|| exits(old, &self.plan, target)).clone();
            for &(cont, references) in exits.iter() {
                let captures = self.plan.captures(cont);
                let (counts, exit) = if captures.iter().all(|&def| self.values.get(def, env).is_some()) {
                    let instance = self.def(old.cont(cont).def, env, Mode::Residual);
                    let instance = self.new.as_cont(instance).expect("an instance is a continuation");
                    (&mut self.untaken.of_instances, instance)
                } else {
                    (&mut self.untaken.of_old, cont)
                };
                match is_taken {
                    true => counts.subtract(target, exit, references),
                    false => counts.add(target, exit, references),
                }
            }
        }
    }
}

/// The exits of `target`. Functions are no exits: their specializations are counted separately.
fn exits(world: &World, plan: &Plan, target: Cont) -> Exits {
    let mut references: FxHashMap<Cont, u32> = FxHashMap::default();
    let mut order = vec![];
    let mut stack = vec![target];
    while let Some(cont) = stack.pop() {
        if world.origin(cont).is_some() {
            continue;
        }
        let seen = references.entry(cont).or_insert_with(|| {
            order.push(cont);
            0
        });
        *seen += 1;
        // Only `target` reaches it.
        if *seen == plan.uses(cont)
            && let Some(body) = &world.cont(cont).body
        {
            let mentioned = std::iter::once(body.callee).chain(body.args.iter().copied());
            stack.extend(mentioned.filter_map(|def| world.as_cont(def)));
        }
    }
    let counted = order.into_iter().map(|cont| (cont, references[&cont]));
    counted.filter(|&(cont, seen)| seen < plan.uses(cont)).collect()
}
