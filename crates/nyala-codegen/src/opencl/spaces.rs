//! The address spaces of generic pointers.
//!
//! OpenCL C demands one for each pointer. A generic pointer has the address space of what it is derived from:
//! private for a local variable, constant for a constant of the program, else global. A parameter has that of its
//! arguments.

use nyala_ir::analysis::Functions;
use nyala_ir::{Def, Node, World};
use rustc_hash::FxHashMap;

use super::pointer;

/// Global memory.
pub(super) const GLOBAL: u32 = 1;
/// Constants of the program.
pub(super) const CONSTANT: u32 = 4;
/// Local variables.
pub(super) const PRIVATE: u32 = 5;

/// The address spaces of parameters that are not global.
#[derive(Default)]
pub(super) struct Spaces {
    params: FxHashMap<Def, u32>,
    /// Parameters whose arguments have different address spaces, so that no type of OpenCL C fits.
    pub(super) mixed: Vec<Def>,
}

impl Spaces {
    /// Of a program.
    pub(super) fn new(world: &World, program: &Functions) -> Spaces {
        let mut spaces = Spaces::default();
        let bodies = program.all().iter().flat_map(|function| function.bodies(world));
        let calls: Vec<(Def, Def)> = bodies
            .filter_map(|body| Some((world.as_cont(body.callee)?, body)))
            .flat_map(|(callee, body)| {
                world.cont(callee).params.iter().copied().zip(body.args.iter().copied())
            })
            .filter(|&(param, _)| pointer(world, world.ty(param)).is_some_and(|(_, space)| space == 0))
            .collect();
        loop {
            let before = spaces.params.len();
            for &(param, arg) in &calls {
                match spaces.of(world, arg) {
                    GLOBAL => {}
                    space => {
                        spaces.params.entry(param).or_insert(space);
                    }
                }
            }
            if spaces.params.len() == before {
                break;
            }
        }
        // Null and undefined pointers fit every address space.
        let is_mixed = |&(param, arg): &(Def, Def)| {
            let is_null = matches!(world.node(arg), Node::Undef | Node::Lit(_));
            !is_null && spaces.of(world, param) != spaces.of(world, arg)
        };
        spaces.mixed = calls.into_iter().filter(is_mixed).map(|(param, _)| param).collect();
        spaces.mixed.dedup();
        spaces
    }

    /// The address space of a pointer.
    pub(super) fn of(&self, world: &World, def: Def) -> u32 {
        let mut def = def;
        loop {
            match pointer(world, world.ty(def)) {
                Some((_, 0)) => {}
                Some((_, space)) => return space,
                None => return GLOBAL,
            }
            match world.node(def) {
                Node::Lea { ptr: from, .. }
                | Node::Bitcast(from)
                | Node::Cast(from)
                | Node::Hide(from)
                | Node::Streaming(from)
                | Node::Select { then: from, .. } => def = from,
                Node::Extract { agg, .. } if matches!(world.node(agg), Node::Slot { .. }) => return PRIVATE,
                Node::Global(_) => return CONSTANT,
                _ => return self.params.get(&def).copied().unwrap_or(GLOBAL),
            }
        }
    }
}
