//! Private variables: variables whose address does not escape.
//!
//! A variable in memory exists once per lane. If its address is used by loads and stores only, the
//! layout cannot be observed. Then the variable gets the vector form of its type, in which the lanes of
//! each scalar are adjacent: a `[f32 * 4]` is an array of four simd values, and an access with a
//! uniform index is contiguous. The addresses in such a variable are *private*: one is uniform if its
//! indices are, although each lane accesses its own part.

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::value_ty;
use super::flow::{End, Flow};
use super::lanewise;

/// The private addresses of a function: variables, and the addresses of their parts.
pub(super) fn addresses(world: &World, flow: &Flow) -> FxHashSet<Def> {
    let mut search = Search { world, variable_of: FxHashMap::default(), escaped: FxHashSet::default() };
    let blocks = flow.order.iter().copied().filter(|&vertex| vertex < flow.blocks.len());
    for block in blocks {
        for &def in flow.schedule.block(block) {
            search.operation(def);
        }
        match &flow.ends[block] {
            End::Jump { args, .. } | End::Call { args, .. } => {
                args.iter().for_each(|&arg| search.escape(arg));
            }
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => search.escape(*on),
            End::Unreachable => {}
        }
    }
    let Search { variable_of, escaped, .. } = search;
    variable_of.into_iter().filter(|(_, variable)| !escaped.contains(variable)).map(|(def, _)| def).collect()
}

struct Search<'a> {
    world: &'a World,
    /// By address: the variable that it is in.
    variable_of: FxHashMap<Def, Def>,
    /// The variables whose address escapes.
    escaped: FxHashSet<Def>,
}

impl Search<'_> {
    fn operation(&mut self, def: Def) {
        let world = self.world;
        match world.node(def) {
            Node::Slot { .. } if is_regular(world, def) => drop(self.variable_of.insert(def, def)),
            Node::Extract { agg, .. } if has_effect(world, agg) => {
                if world.ty(def) != world.types.mem() {
                    self.derive(def, agg);
                }
            }
            Node::Lea { ptr, .. } => self.derive(def, ptr),
            Node::Load { .. } | Node::Demand { .. } => {}
            Node::Store { value, .. } => self.escape(value),
            _ => world.for_each_operand(def, |operand| self.escape(operand)),
        }
    }

    /// The address `def` is in the same variable as `from`.
    fn derive(&mut self, def: Def, from: Def) {
        if let Some(&variable) = self.variable_of.get(&from) {
            self.variable_of.insert(def, variable);
        }
    }

    fn escape(&mut self, def: Def) {
        self.escaped.extend(self.variable_of.get(&def));
    }
}

/// Whether a variable can have the vector form of its type: options of enums share their memory.
fn is_regular(world: &World, slot: Def) -> bool {
    let pointee = world.types.as_ptr(value_ty(world, slot)).map(|(pointee, _)| pointee);
    pointee.is_some_and(|ty| lanewise::is_supported(world, ty) && !lanewise::has_enums(world, ty))
}
