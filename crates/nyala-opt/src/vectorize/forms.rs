//! The vector forms of values and accesses, as the report and the estimate of costs tell them apart.

use nyala_ir::analysis::Table;
use nyala_ir::{Def, Node, Ty, World};

use super::flow::Flow;
use super::lanewise;
use super::memory;
use super::runs::{self, Groups};
use super::shapes::{Shape, Shapes, Wraps};
use super::wrapping::Path;

/// A vector form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The same in all lanes; of a branch or loop, not divergent.
    Uniform,
    /// Stride 1; of an access, one vector.
    Contiguous,
    /// Stride -1; of an access, one vector in reverse order.
    Reversed,
    /// A constant stride; in bytes for pointers and accesses.
    Strided(i64),
    /// An access with a small stride, in bytes: vectors of everything in between, and shuffles.
    Shuffled(i64),
    /// An access that is contiguous in groups of this many lanes.
    Grouped(u32),
    /// A load of the same element in groups of this many lanes, and of consecutive ones in these.
    Repeated(u32),
    /// Varying; of an access, a gather or scatter; of a branch or loop, divergent.
    Varying,
    /// A call of a SIMD version.
    Simd,
    /// A load from an array of this many elements, which is loaded into registers.
    LookedUp(u64),
    /// A call or an access for one active lane after the other.
    PerLane,
    /// A prefetch for each cache line.
    PerCacheLine,
    /// A collective operation.
    Collective,
}

impl Form {
    /// The form of a value of type `ty`.
    pub(super) fn of_value(world: &World, shape: Shape, ty: Ty) -> Form {
        let unit = match world.types.as_ptr(ty) {
            Some((pointee, _)) => world.layout(pointee).size as i64,
            None => 1,
        };
        match shape {
            Shape::Uniform => Form::Uniform,
            Shape::Strided { stride, .. } if stride == unit => Form::Contiguous,
            Shape::Strided { stride, .. } if stride == -unit => Form::Reversed,
            Shape::Strided { stride, .. } => Form::Strided(stride),
            Shape::Varying => Form::Varying,
        }
    }
}

/// A load or store.
pub(super) struct Access {
    /// The type of the accessed value.
    pub ty: Ty,
    pub form: Form,
    /// Whether the form holds only if no index wraps between lanes.
    pub may_wrap: bool,
    /// Whether the addresses vary, whatever the form is.
    pub is_varying: bool,
}

impl Access {
    /// The access `def` to `ptr`, whose lanes are all active if it is full.
    pub fn new(
        world: &World,
        flow: &Flow,
        shapes: &Shapes,
        (def, ptr): (Def, Def),
        block: usize,
        is_full: bool,
    ) -> Option<Access> {
        debug_assert!(matches!(world.node(def), Node::Load { .. } | Node::Store { .. }), "it is no access");
        let shape = shapes.at(flow, ptr, block);
        let path = match shape {
            Shape::Varying => Path::new(world, flow, shapes, ptr, block),
            _ => None,
        };
        let shape = path.as_ref().map_or(shape, |path| Shape::strided(path.stride, Wraps::Never));
        let (ty, _) = world.types.as_ptr(world.ty(ptr))?;
        let is_full = is_full || shape == Shape::Uniform;
        let form = match runs::of_access(world, (flow, shapes), def, block, is_full) {
            Some(Groups::Contiguous(lanes)) => Form::Grouped(lanes),
            Some(Groups::Repeated(lanes)) => Form::Repeated(lanes),
            None => form_of_access(world, shape, (ptr, ty), is_full),
        };
        let is_varying = form == Form::Varying;
        let is_spread = matches!(form, Form::Varying | Form::Strided(_));
        let is_load = matches!(world.node(def), Node::Load { .. });
        let in_registers = |table: &Table| shapes.at(flow, table.array, block) == Shape::Uniform;
        let form = match Table::of(world, ptr).filter(in_registers) {
            Some(table) if is_spread && is_load => Form::LookedUp(table.len),
            _ if is_spread && is_narrow(world, ty) => Form::PerLane,
            _ => form,
        };
        Some(Access { ty, form, may_wrap: path.is_some(), is_varying })
    }
}

/// Whether no machine gathers or scatters values of a type.
fn is_narrow(world: &World, ty: Ty) -> bool {
    world.types.as_prim(ty).is_some_and(|prim| prim.bits() < 32)
}

/// The form of an access. Contiguous structs are accessed field by field.
fn form_of_access(world: &World, shape: Shape, (ptr, pointee): (Def, Ty), is_full: bool) -> Form {
    let Shape::Strided { stride, .. } = shape else { return Form::of_value(world, shape, world.ty(ptr)) };
    let Some(smallest) = smallest_scalar(world, pointee) else { return Form::Strided(stride) };
    let n_scalars = memory::n_scalars(world, pointee) as i64;
    match stride.checked_div(smallest) {
        Some(1) => Form::Contiguous,
        Some(-1) => Form::Reversed,
        Some(steps)
            if (2..=MAX_SHUFFLED).contains(&steps.abs())
                && stride % smallest == 0
                && (is_full || 2 * n_scalars >= steps.abs()) =>
        {
            Form::Shuffled(stride)
        }
        _ => Form::Strided(stride),
    }
}

/// The largest stride, in scalars, of accesses that native code turns into vectors and shuffles; with a
/// mask, at most half of the accessed scalars may be unused. Adjacent accesses may share vectors, which
/// is not considered here.
const MAX_SHUFFLED: i64 = 4;

/// The size of the smallest scalar of a type.
fn smallest_scalar(world: &World, ty: Ty) -> Option<i64> {
    match lanewise::is_scalar(world, ty) {
        true => Some(world.layout(ty).size as i64),
        false => lanewise::parts(world, ty).into_iter().filter_map(|part| smallest_scalar(world, part)).min(),
    }
}
