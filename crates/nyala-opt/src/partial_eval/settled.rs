//! Whether another round could do anything.
//!
//! A round costs as much as the program is large, and most programs have nothing left to do after the
//! first: no call of a function whose body is there, and no block with a single use. Then all
//! calls go to blocks, to what is defined elsewhere, and back to where a function was called
//! from, and no rule of evaluation is about any of these.

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::references::{for_each_mention, reachable};
use nyala_ir::{Cont, Linkage, Node, World};

/// Whether a round would leave `world` as it is. A no may be wrong, a yes is not.
pub(super) fn is_settled(world: &World) -> bool {
    let nodes = reachable(world);
    let mut uses: SecondaryMap<Cont, u32> = SecondaryMap::new();
    for &def in &nodes {
        for_each_mention(world, def, |mentioned| {
            if let Some(cont) = world.as_cont(mentioned) {
                uses[cont] += 1;
            }
        });
    }
    let mut types = world.types.clone();
    let mut is_block = |cont: Cont| {
        let data = world.cont(cont);
        data.filter.is_empty() && data.params.iter().all(|&param| types.order(world.ty(param)) == 0)
    };
    let callees = nodes.iter().filter_map(|&def| world.cont(world.as_cont(def)?).body.as_ref());
    callees.map(|body| body.callee).all(|callee| match world.node(callee) {
        Node::Param { .. } => true,
        Node::Cont(cont) if world.cont(cont).body.is_none() => true,
        Node::Cont(cont) => {
            let is_sole_use = uses[cont] == 1 && world.cont(cont).linkage == Linkage::Internal;
            !is_sole_use && is_block(cont)
        }
        _ => false,
    })
}
