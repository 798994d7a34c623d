//! Rules of memory.
//!
//! A chain of memory tokens is one straight line of execution, so looking
//! back along it sees exactly the operations that come before. Looking back stops
//! after [`LOOK_BACK`] of them, at calls, and at writes that may concern the same place.

use smallvec::SmallVec;

use crate::analysis::schedule::can_fail;
use crate::node::{Def, Linkage, Node};
use crate::types::{Ty, TyKind};
use crate::world::World;

/// How many earlier operations a load looks at.
const LOOK_BACK: usize = 16;

/// The memory after a load, and the value, if they are known without it.
pub(crate) fn load(world: &mut World, mem: Def, ptr: Def) -> Option<(Def, Def)> {
    load_constant(world, ptr).or_else(|| load_back(world, mem, ptr)).map(|value| (mem, value))
}

/// Finds the operation that determines the value of a load.
fn load_back(world: &mut World, mem: Def, ptr: Def) -> Option<Def> {
    let mut at = mem;
    for _ in 0..LOOK_BACK {
        match world.node(at) {
            // load(store(m, p, v), p) = v
            Node::Store { ptr: stored, value, .. } if stored == ptr => return Some(value),
            // load(store(m, p, v), lea(p, i)) = v.i
            Node::Store { ptr: stored, value, .. } if let Some(part) = part_of(world, stored, value, ptr) => {
                return Some(part);
            }
            Node::Store { mem, ptr: stored, .. } if are_distinct(world, stored, ptr) => at = mem,
            Node::Demand { mem, .. } => at = mem,
            // The first part of an operation with results is its memory.
            Node::Extract { agg, .. } => match world.node(agg) {
                // load(m, p), load(.., p): the same value
                Node::Load { ptr: loaded, .. } if loaded == ptr => return Some(world.extract_at(agg, 1)),
                Node::Load { mem, .. } | Node::Slot { mem } | Node::Alloc { mem, .. } => at = mem,
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// demand(m, v) = m if `v` cannot fail, or was demanded just before.
pub(crate) fn demand(world: &World, mem: Def, value: Def) -> Option<Def> {
    let is_known = matches!(world.node(mem), Node::Demand { value: before, .. } if before == value);
    let may_fail = can_fail(world, value) && !matches!(world.node(value), Node::VariantPayload { .. });
    (is_known || !may_fail).then_some(mem)
}

/// store(store(m, p, v), p, w) = store(m, p, w)
pub(crate) fn store(world: &mut World, mem: Def, ptr: Def, value: Def) -> Option<Def> {
    match world.node(mem) {
        Node::Store { mem: before, ptr: stored, .. } if stored == ptr => {
            Some(world.store(before, ptr, value))
        }
        _ => None,
    }
}

/// Advice about a pointer is advice about the parts of what it points to:
/// `lea(streaming(p), i) = streaming(lea(p, i))`.
///
/// `lea(p as &[T], i) = lea(p, i)` for a `p` of type `&[T * n]`. A literal `i` must be
/// inside, so that what lies outside is not blamed on a place that cannot be.
pub(crate) fn lea(world: &mut World, ptr: Def, index: Def) -> Option<Def> {
    if let Node::Streaming(ptr) = world.node(ptr) {
        let part = world.lea(ptr, index);
        return Some(world.streaming(part));
    }
    let (Node::Cast(array) | Node::Bitcast(array)) = world.node(ptr) else { return None };
    let ((to, to_space), (from, from_space)) =
        (world.types.as_ptr(world.ty(ptr))?, world.types.as_ptr(world.ty(array))?);
    let is_known = match (world.types.kind(to), world.types.kind(from)) {
        (TyKind::Slice(a), TyKind::Array { elem, len }) => {
            let is_inside = |at: i64| u64::try_from(at).is_ok_and(|at| at < *len);
            a == elem && world.as_int(index).is_none_or(is_inside)
        }
        _ => false,
    };
    (is_known && to_space == from_space).then(|| world.lea(array, index))
}

/// The indices of a pointer into a variable. It is built for every load, so short ones are not allocated.
type Path = SmallVec<[Def; 4]>;

/// Whether two pointers certainly point to different places: into different
/// variables, or to different parts of one.
fn are_distinct(world: &World, a: Def, b: Def) -> bool {
    if let (Node::Lea { ptr: p, index: i }, Node::Lea { ptr: q, index: j }) = (world.node(a), world.node(b))
        && p == q
    {
        return matches!((world.as_int(i), world.as_int(j)), (Some(i), Some(j)) if i != j);
    }
    match (variable(world, a), variable(world, b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

/// The slot, allocation or global that `ptr` points into.
fn variable(world: &World, mut ptr: Def) -> Option<Def> {
    for _ in 0..LOOK_BACK {
        match world.node(ptr) {
            Node::Lea { ptr: inner, .. } | Node::Bitcast(inner) | Node::Streaming(inner) => ptr = inner,
            Node::Global(_) => return Some(ptr),
            Node::Extract { agg, .. } => {
                return matches!(world.node(agg), Node::Slot { .. } | Node::Alloc { .. }).then_some(ptr);
            }
            _ => return None,
        }
    }
    None
}

/// The value at a known place in an immutable global with a known value.
fn load_constant(world: &mut World, ptr: Def) -> Option<Def> {
    let mut path = Path::new();
    let mut at = ptr;
    let init = loop {
        match world.node(at) {
            Node::Lea { ptr: inner, index } => {
                path.push(index);
                at = inner;
            }
            Node::Bitcast(inner) | Node::Cast(inner)
                if is_same_array(world, world.ty(at), world.ty(inner)) =>
            {
                at = inner
            }
            Node::Global(global) => {
                let data = world.global(global);
                let is_fixed =
                    !data.is_mut && matches!(data.linkage, Linkage::Internal | Linkage::Exported(_));
                break data.init.filter(|_| is_fixed)?;
            }
            _ => return None,
        }
        // A type nests as deep as its text, which is short.
        if path.len() > LOOK_BACK {
            return None;
        }
    };
    extract_path(world, init, &path, ptr)
}

/// The part of `value`, which is stored at `stored`, that `ptr` points to, if it is a known one.
fn part_of(world: &mut World, stored: Def, value: Def, ptr: Def) -> Option<Def> {
    let mut path = Path::new();
    let mut at = ptr;
    while at != stored {
        let Node::Lea { ptr: inner, index } = world.node(at) else { return None };
        path.push(index);
        at = inner;
        if path.len() > LOOK_BACK {
            return None;
        }
    }
    extract_path(world, value, &path, ptr)
}

/// The part of `whole` at `path`, whose last index comes first, if `ptr` points to such a value.
fn extract_path(world: &mut World, whole: Def, path: &[Def], ptr: Def) -> Option<Def> {
    let mut value = whole;
    for &index in path.iter().rev() {
        let number = u64::try_from(world.as_int(index)?).ok()?;
        world.types.part(world.ty(value), number)?;
        value = world.extract(value, index);
    }
    let pointee = world.types.as_ptr(world.ty(ptr)).map(|(pointee, _)| pointee);
    (pointee == Some(world.ty(value))).then_some(value)
}

/// Whether one is `&[T]` and the other `&[T * n]`.
fn is_same_array(world: &World, a: Ty, b: Ty) -> bool {
    let elem = |ty: Ty| match world.types.as_ptr(ty).map(|(pointee, _)| world.types.kind(pointee)) {
        Some(TyKind::Slice(elem) | TyKind::Array { elem, .. }) => Some(*elem),
        _ => None,
    };
    elem(a).is_some() && elem(a) == elem(b)
}
