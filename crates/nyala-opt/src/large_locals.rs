//! Local variables that no stack has room for.

use nyala_ir::analysis::Functions;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::layout::layout;
use nyala_ir::{Body, Def, Node, World};
use nyala_span::Diagnostic;

use crate::errors::{huge_local, large_local};

/// The stack of a thread of the runtime. The system sets the stack of the main thread of an executable, which is
/// mostly less.
const STACK_BYTES: u64 = 64 << 20;

/// Machine code addresses variables by 32 bits from the stack pointer.
const MAX_BYTES: u64 = 1 << 30;

/// An error for each variable in memory that is too large for machine code, and a warning for each that is
/// larger than a thread's stack, in the order of the program's functions.
///
/// Before: a program in control-flow form.
pub fn large_locals(world: &World) -> Vec<Diagnostic> {
    let is_large = |&def: &Def| size(world, def).is_some_and(|bytes| bytes > STACK_BYTES);
    // Hardly any program has one.
    if !world.defs().any(|def| is_large(&def)) {
        return vec![];
    }
    let functions = Functions::styled(world);
    let bodies = functions.all().iter().flat_map(|function| function.bodies(world));
    let operands = |body: &Body| {
        let args = body.args.iter().copied();
        std::iter::once(body.callee).chain(args).collect::<Vec<_>>()
    };
    let mut found = vec![];
    for_each_node(world, bodies.flat_map(operands), |def| found.extend(Some(def).filter(is_large)));
    found.into_iter().filter_map(|def| Some(report(world, def, size(world, def)?))).collect()
}

fn report(world: &World, slot: Def, bytes: u64) -> Diagnostic {
    let (at, name) = (world.span_of(slot), world.name(slot));
    let report = if bytes > MAX_BYTES { huge_local } else { large_local };
    report(at, name, bytes)
}

/// The size of a variable in memory; `None` for other nodes.
fn size(world: &World, slot: Def) -> Option<u64> {
    let Node::Slot { .. } = world.node(slot) else { return None };
    let (pointee, _) = world.types.as_ptr(world.types.part(world.ty(slot), 1)?)?;
    Some(layout(&world.types, pointee).size)
}
