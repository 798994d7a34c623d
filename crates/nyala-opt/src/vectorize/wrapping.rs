//! Accesses whose index may wrap between lanes.
//!
//! An index that is narrower than an address is widened. So `p(i + k)` with an index of type `u32`, or
//! of `i32` with `--wrapping`, is contiguous only if no lane wraps. That is nearly always so. One
//! comparison on the index of lane 0 decides: a contiguous access, or a gather or scatter.

use nyala_ir::{CmpOp, Cont, Def, Node, Ty, World};

use super::emit::{Emitter, Rep};
use super::flow::Flow;
use super::lanewise;
use super::shapes::{Shape, Shapes, Wraps};

/// The largest number of address computations between a part and the whole.
const MAX_STEPS: usize = 8;

/// An address that is strided unless an index wraps.
pub(super) struct Path {
    /// The steps from the address of an element to that of the accessed part.
    steps: Vec<Def>,
    /// The address of the array.
    base: Def,
    /// The index of the element.
    index: Def,
    /// The strides of the index, and of the address in bytes.
    index_stride: i64,
    pub stride: i64,
}

impl Path {
    /// The computation of a varying address, for `block`.
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

    /// The values that lane 0's address is computed from.
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

/// The values that an access reads besides its operands.
pub(super) fn operands(world: &World, flow: &Flow, shapes: &Shapes, def: Def, block: usize) -> Vec<Def> {
    match world.node(def) {
        Node::Load { ptr, .. } | Node::Store { ptr, .. } => {
            Path::new(world, flow, shapes, ptr, block).map_or(vec![], |path| path.operands(world))
        }
        _ => vec![],
    }
}

impl Emitter<'_> {
    /// Loads a `ty` per lane, from a varying address.
    pub fn load_varying(&mut self, at: Rep, ptr: Def, ty: Ty, block: usize) -> Def {
        let Some(contiguous) = self.branch_on_wrapping(ptr, block) else { return self.load(at, ty) };
        let lanes = lanewise::lanes_ty(self.world, ty, self.task.lanes);
        let parts = lanewise::flat(self.world, lanes);
        let (join, params) = self.start("access", &parts);
        let value = self.load(contiguous.at, ty);
        self.jump_with_values(join, &[value]);
        self.resume(contiguous.otherwise);
        let value = self.load(at, ty);
        self.jump_with_values(join, &[value]);
        self.resume(join);
        lanewise::unflattened(self.world, lanes, &mut params.into_iter())
    }

    /// Stores a `ty` per lane, to a varying address.
    pub fn store_varying(&mut self, at: Rep, ptr: Def, ty: Ty, value: Def, block: usize) {
        let Some(contiguous) = self.branch_on_wrapping(ptr, block) else { return self.store(at, ty, value) };
        let (join, _) = self.start("access", &[]);
        self.store(contiguous.at, ty, value);
        self.jump(join, &[]);
        self.resume(contiguous.otherwise);
        self.store(at, ty, value);
        self.jump(join, &[]);
        self.resume(join);
    }

    /// Branches on whether no index wraps, if the address is strided then. Continues in that case.
    fn branch_on_wrapping(&mut self, ptr: Def, block: usize) -> Option<Contiguous> {
        let path = Path::new(self.world, self.task.flow, self.task.shapes, ptr, block)?;
        let no_wrap = self.no_lane_wraps(&path, block)?;
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
        let otherwise = self.split(no_wrap);
        let shape = Shape::strided(path.stride, Wraps::Never);
        Some(Contiguous { at: Rep { shape, def: at }, otherwise })
    }

    /// Whether no lane's index wraps.
    fn no_lane_wraps(&mut self, path: &Path, block: usize) -> Option<Def> {
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

/// The access without wrapping, and the block for the other case.
struct Contiguous {
    at: Rep,
    otherwise: Cont,
}
