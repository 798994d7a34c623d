//! Accesses whose index may wrap around between one lane and the next.
//!
//! Indices that are narrower than addresses are widened, and so `p(i + k)` with an index of type
//! `u32`, or one that is computed with `--wrapping`, is not surely next to `p(i + k - 1)`. It nearly
//! always is, though. Whether an index gets beyond the largest number is one comparison on
//! the first lane's; behind it, lanes access neighbours, and otherwise each its own place.

use nyala_ir::{CmpOp, Cont, Def, Node, Ty, World};

use super::emit::{Emitter, Rep};
use super::flow::Flow;
use super::lanewise;
use super::shapes::{Shape, Shapes, Wraps};

/// So many addresses are looked at, from that of a part to that of the whole.
const MAX_STEPS: usize = 8;

/// An address that differs by a fixed stride between lanes unless an index wraps around.
pub(super) struct Path {
    /// From the address of an element to that of the part of it that is accessed.
    steps: Vec<Def>,
    /// The array.
    base: Def,
    /// Which element.
    index: Def,
    /// From lane to lane: of the index, and of the address in bytes.
    index_stride: i64,
    pub stride: i64,
}

impl Path {
    /// How an address that may differ in any way is computed for `block`.
    pub fn new(world: &World, flow: &Flow, shapes: &Shapes, ptr: Def, block: usize) -> Option<Path> {
        let shape = |def: Def| shapes.at(flow, def, block);
        let mut steps = vec![];
        let mut at = ptr;
        while steps.len() < MAX_STEPS && shape(at) == Shape::Varying && !shapes.is_private(at) {
            let (inner, index) = match world.node(at) {
                Node::Bitcast(inner) => (inner, None),
                Node::Lea { ptr, index } => (ptr, Some(index)),
                _ => return None,
            };
            if let Some(index) = index
                && let Shape::Strided { stride: index_stride, .. } = shape(index)
            {
                let own = match shape(inner) {
                    Shape::Uniform => 0,
                    Shape::Strided { stride, .. } => stride,
                    Shape::Varying => return None,
                };
                let (pointee, _) = world.types.as_ptr(world.ty(inner))?;
                let size = world.layout(world.types.elem(pointee)?).size as i64;
                let stride = index_stride.checked_mul(size)?.checked_add(own)?;
                steps.reverse();
                return Some(Path { steps, base: inner, index, index_stride, stride });
            }
            if index.is_some_and(|index| shape(index) != Shape::Uniform) {
                return None;
            }
            world.types.as_ptr(world.ty(inner))?;
            steps.push(at);
            at = inner;
        }
        None
    }

    /// What the first lane's address is computed from.
    pub fn operands(&self, world: &World) -> Vec<Def> {
        let mut operands = vec![self.base, self.index];
        for &step in &self.steps {
            if let Node::Lea { index, .. } = world.node(step) {
                operands.push(index);
            }
        }
        operands
    }
}

/// What an access reads besides its operands.
pub(super) fn operands(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> Vec<Def> {
    match world.node(def) {
        Node::Load { ptr, .. } | Node::Store { ptr, .. } => {
            Path::new(world, flow, shapes, ptr, block).map_or(vec![], |path| path.operands(world))
        }
        _ => vec![],
    }
}

impl Emitter<'_> {
    /// Loads a `ty` for each lane, from an address that may differ in any way.
    pub fn load_elsewhere(&mut self, at: Rep, ptr: Def, ty: Ty, block: usize) -> Def {
        let Some(near) = self.begin_near(ptr, block) else { return self.load(at, ty) };
        let lanes = lanewise::lanes_ty(self.world, ty, self.task.lanes);
        let parts = lanewise::flat(self.world, lanes);
        let (meet, params) = self.start("near_or_not", &parts);
        let value = self.load(near.at, ty);
        self.hand_over(meet, &[value]);
        self.resume(near.otherwise);
        let value = self.load(at, ty);
        self.hand_over(meet, &[value]);
        self.resume(meet);
        lanewise::unflattened(self.world, lanes, &mut params.into_iter())
    }

    /// Stores a `ty` for each lane, to an address that may differ in any way.
    pub fn store_elsewhere(&mut self, at: Rep, ptr: Def, ty: Ty, value: Def, block: usize) {
        let Some(near) = self.begin_near(ptr, block) else { return self.store(at, ty, value) };
        let (meet, _) = self.start("near_or_not", &[]);
        self.store(near.at, ty, value);
        self.jump(meet, &[]);
        self.resume(near.otherwise);
        self.store(at, ty, value);
        self.jump(meet, &[]);
        self.resume(meet);
    }

    /// Goes on where no index wraps around, if that is all that keeps lanes from a fixed stride.
    fn begin_near(&mut self, ptr: Def, block: usize) -> Option<Near> {
        let path = Path::new(self.world, self.task.flow, self.task.shapes, ptr, block)?;
        let is_near = self.stays_in_range(&path, block)?;
        let (base, index) = (self.rep(path.base, block).def, self.rep(path.index, block).def);
        let mut at = self.world.lea(base, index);
        for &step in &path.steps {
            at = match self.world.node(step) {
                Node::Lea { index, .. } => {
                    let index = self.rep(index, block).def;
                    self.world.lea(at, index)
                }
                _ => {
                    let ty = self.world.ty(step);
                    self.world.bitcast(ty, at)
                }
            };
        }
        let otherwise = self.split(is_near);
        let shape = Shape::strided(path.stride, Wraps::Never);
        Some(Near { at: Rep { shape, def: at }, otherwise })
    }

    /// Whether all lanes' indices are what they would be in a wider type.
    fn stays_in_range(&mut self, path: &Path, block: usize) -> Option<Def> {
        let prim = self.world.types.as_prim(self.world.ty(path.index))?;
        let span = path.index_stride.checked_mul(i64::from(self.task.lanes) - 1)?;
        let (least, most) = match prim.is_signed() {
            true => (-1i64 << (prim.bits() - 1), (1i64 << (prim.bits() - 1)) - 1),
            false => (0, (1i64 << prim.bits()) - 1),
        };
        let (op, limit) = if span > 0 { (CmpOp::Le, most - span) } else { (CmpOp::Ge, least - span) };
        if !(least..=most).contains(&limit) {
            return None;
        }
        let first = self.rep(path.index, block).def;
        let limit = self.world.lit(prim, limit as u64);
        Some(self.world.cmp(op, first, limit))
    }
}

/// What to do if no index wraps around, and if one does.
struct Near {
    at: Rep,
    otherwise: Cont,
}
