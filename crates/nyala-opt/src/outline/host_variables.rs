//! Host variables that kernels capture by their address.
//!
//! A mutable variable that partial evaluation did not remove is in memory of the host, on its stack or,
//! if a function captures it, on its heap. A device can access neither. A kernel that only reads such a
//! variable gets a copy of its value at the launch; any other use is reported.
//!
//! [`Origins`] finds the origin of addresses, [`is_only_read`] the uses in a kernel.

use nyala_ir::analysis::References;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::{Cont, ContData, Def, Linkage, Node, TyKind, World};
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

/// The origins of the parameters of functions and blocks.
pub(super) struct Origins {
    given: FxHashMap<Def, Vec<Def>>,
}

impl Origins {
    /// The origins in a program.
    pub(super) fn new(world: &World) -> Origins {
        let mut given: FxHashMap<Def, Vec<Def>> = FxHashMap::default();
        for cont in References::of_program(world).conts(world) {
            let Some(body) = &world.cont(cont).body else { continue };
            let Some(callee) = world.as_cont(body.callee) else { continue };
            let data = world.cont(callee);
            if matches!(data.linkage, Linkage::Internal) {
                for (&param, &arg) in data.params.iter().zip(&body.args) {
                    given.entry(param).or_default().push(arg);
                }
            }
        }
        Origins { given }
    }

    /// The host variable that an address may belong to: its name, if it has one.
    pub(super) fn host_variable(&self, world: &World, address: Def) -> Option<Option<Name>> {
        let mut seen = FxHashSet::default();
        let mut work = vec![address];
        while let Some(address) = work.pop() {
            if !seen.insert(address) {
                continue;
            }
            match world.node(address) {
                Node::Lea { ptr: from, .. }
                | Node::Bitcast(from)
                | Node::Cast(from)
                | Node::Hide(from)
                | Node::Streaming(from) => work.push(from),
                Node::Select { then, other, .. } => work.extend([then, other]),
                Node::Param { .. } => work.extend(self.given.get(&address).into_iter().flatten()),
                Node::Extract { agg, .. }
                    if matches!(world.node(agg), Node::Slot { .. } | Node::Alloc { .. }) =>
                {
                    let named = seen.iter().find_map(|&address| world.name(address));
                    return Some(world.name(agg).or(named));
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether a kernel only reads from an address. It begins with a call of `callee`, whose parameter
/// `param` is the address.
pub(super) fn is_only_read(world: &World, callee: Cont, param: Def) -> bool {
    let conts: Vec<Cont> = References::from_roots(world, &[callee]).conts(world).collect();
    let mut derived = FxHashSet::from_iter([param]);
    loop {
        let before = derived.len();
        for body in conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()) {
            let mut is_fine = true;
            for_each_node(world, body.args.iter().copied(), |def| {
                is_fine &= is_fine_operation(world, def, &mut derived);
            });
            let callee = world.as_cont(body.callee).map(|callee| world.cont(callee));
            let params = match callee {
                Some(ContData { linkage: Linkage::Internal | Linkage::Exported(_), params, .. }) => {
                    &params[..]
                }
                _ => &[],
            };
            for (at, arg) in body.args.iter().enumerate() {
                if derived.contains(arg) {
                    is_fine &= at < params.len();
                    derived.extend(params.get(at));
                }
            }
            if !is_fine {
                return false;
            }
        }
        if derived.len() == before {
            return true;
        }
    }
}

/// Whether an operation on the address only derives another one or reads.
fn is_fine_operation(world: &World, def: Def, derived: &mut FxHashSet<Def>) -> bool {
    let mut is_used = false;
    world.for_each_operand(def, |operand| is_used |= derived.contains(&operand));
    if !is_used {
        return true;
    }
    match world.node(def) {
        Node::Load { .. } => true,
        Node::Lea { .. }
        | Node::Bitcast(_)
        | Node::Cast(_)
        | Node::Hide(_)
        | Node::Streaming(_)
        | Node::Select { .. }
            if matches!(world.types.kind(world.ty(def)), TyKind::Ptr { .. }) =>
        {
            derived.insert(def);
            true
        }
        _ => false,
    }
}
