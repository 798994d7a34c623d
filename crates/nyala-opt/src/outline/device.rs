//! The program of a platform: its kernels, with everything they call.

use nyala_ir::analysis::References;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::{Cont, Def, Global, Linkage, Node, Ty, World};
use rustc_hash::FxHashSet;

use super::{DeviceProgram, Kernel, Platform, conditions};

/// The program that exports the kernels of a platform, and nothing else.
pub(super) fn device_program(
    world: &World,
    platform: Platform,
    kernels: &[(Platform, Kernel)],
) -> DeviceProgram {
    let mut device = world.clone();
    let exported: Vec<Cont> = world
        .conts()
        .filter(|(_, data)| matches!(data.linkage, Linkage::Exported(_)))
        .map(|(cont, _)| cont)
        .collect();
    exported.into_iter().for_each(|cont| device.set_linkage(cont, Linkage::Internal));
    let kernels: Vec<Kernel> =
        kernels.iter().filter(|(other, _)| *other == platform).map(|(_, kernel)| kernel.clone()).collect();
    for kernel in &kernels {
        device.set_linkage(kernel.entry, Linkage::Exported(kernel.name));
    }
    let entries: Vec<Cont> = kernels.iter().map(|kernel| kernel.entry).collect();
    remove_unused_globals(&mut device, &entries);
    conditions::merge_conditions(&mut device, &entries);
    DeviceProgram { platform, world: device, kernels }
}

/// Removes globals that no kernel uses; otherwise their initializers would be part of the program.
fn remove_unused_globals(device: &mut World, entries: &[Cont]) {
    let used = used_globals(device, entries);
    let unused: Vec<(Global, Ty)> = device
        .globals()
        .filter(|(global, data)| data.init.is_some() && !used.contains(global))
        .map(|(global, data)| (global, data.ty))
        .collect();
    for (global, ty) in unused {
        let undef = device.undef(ty);
        device.set_global_init(global, undef);
    }
}

fn used_globals(world: &World, entries: &[Cont]) -> FxHashSet<Global> {
    let mut used = FxHashSet::default();
    let conts: Vec<Cont> = References::from_roots(world, entries).conts(world).collect();
    let bodies = conts.into_iter().filter_map(|cont| world.cont(cont).body.as_ref());
    let mut roots: Vec<Def> =
        bodies.flat_map(|body| body.args.iter().copied().chain([body.callee])).collect();
    // The initializer of a global may contain the address of another one.
    while !roots.is_empty() {
        let mut found = vec![];
        for_each_node(world, roots, |def| {
            if let Node::Global(global) = world.node(def)
                && used.insert(global)
            {
                found.extend(world.global(global).init);
            }
        });
        roots = found;
    }
    used
}
