//! Alias analysis for the pointers that a kernel captures.
//!
//! Each allocation of the runtime has an address of its own. Captured pointers that are derived from
//! different allocations do not alias.

use nyala_ir::analysis::References;
use nyala_ir::functions::{Effect, External};
use nyala_ir::{Cont, Def, Linkage, Node, TyKind, World};
use rustc_hash::FxHashMap;

/// The return continuations of calls that allocate, if they have no other predecessor.
pub(super) struct Allocations {
    places: FxHashMap<Cont, bool>,
}

impl Allocations {
    /// The allocations of a program.
    pub(super) fn new(world: &World) -> Allocations {
        let mut places: FxHashMap<Cont, bool> = FxHashMap::default();
        for cont in References::of_program(world).conts(world) {
            let Some(body) = &world.cont(cont).body else { continue };
            let allocates = world.as_cont(body.callee).is_some_and(|callee| allocates(world, callee));
            let mentioned = body.args.iter().copied().chain([body.callee]);
            for place in mentioned.filter_map(|def| world.as_cont(def)) {
                places.entry(place).and_modify(|is_sole| *is_sole = false).or_insert(allocates);
            }
        }
        Allocations { places }
    }

    /// For each captured value, whether it is a pointer that aliases no other captured pointer.
    pub(super) fn apart(&self, world: &World, captured: &[Def]) -> Vec<bool> {
        let is_pointer = |def: Def| matches!(world.types.kind(world.ty(def)), TyKind::Ptr { .. });
        let are_plain =
            captured.iter().all(|&def| is_pointer(def) || world.types.as_prim(world.ty(def)).is_some());
        let roots: Vec<Option<Def>> =
            captured.iter().map(|&def| self.root(world, def).filter(|_| is_pointer(def))).collect();
        // A pointer of unknown origin, or inside of an aggregate, may alias anything.
        let all_known = captured.iter().zip(&roots).all(|(&def, root)| !is_pointer(def) || root.is_some());
        let is_sole = |root: Def| roots.iter().filter(|&&other| other == Some(root)).count() == 1;
        roots.iter().map(|root| are_plain && all_known && root.is_some_and(is_sole)).collect()
    }

    /// The allocation that an address is derived from, if it is known.
    fn root(&self, world: &World, address: Def) -> Option<Def> {
        let mut address = address;
        loop {
            match world.node(address) {
                Node::Lea { ptr: from, .. } | Node::Bitcast(from) | Node::Hide(from) => address = from,
                Node::Param { cont, .. } => {
                    return self.places.get(&cont).copied().unwrap_or(false).then_some(address);
                }
                _ => return None,
            }
        }
    }
}

/// Whether a function of the runtime gives memory of its own.
fn allocates(world: &World, callee: Cont) -> bool {
    let Linkage::Imported(name) = &world.cont(callee).linkage else { return false };
    let external = External::named(name.as_str());
    external.is_some_and(|external| matches!(external.function.effect(), Effect::Allocates { .. }))
}
