//! Operations on SIMD values: masked loads and stores, addresses per lane, and operations across lanes.
//!
//! Only active lanes access memory. A mask must not be undefined.

use nyala_ir::layout;
use nyala_ir::{Def, LaneOp, Ty};

use crate::code::Reg;
use crate::errors::{Checked, ErrorKind, malformed};
use crate::machine::Machine;
use crate::memory::shape::Shape;
use crate::value::Value;

impl Machine<'_, '_> {
    /// A masked load; inactive lanes are undefined.
    pub(crate) fn load_lanes(&mut self, ptr: Reg, mask: Reg, shape: &Shape) -> Checked<Value> {
        let mask = truth_values(&self.regs[mask as usize])?;
        let mut lanes = vec![Value::Undef; mask.len()];
        for lane in (0..mask.len()).filter(|&lane| mask[lane]) {
            let addr = lane_address(&self.regs[ptr as usize], lane, shape)?;
            lanes[lane] = self.memory.load(addr, shape)?;
        }
        Ok(Value::agg(lanes))
    }

    /// A masked store.
    pub(crate) fn store_lanes(&mut self, ptr: Reg, mask: Reg, value: Reg, shape: &Shape) -> Checked<()> {
        let mask = truth_values(&self.regs[mask as usize])?;
        for lane in (0..mask.len()).filter(|&lane| mask[lane]) {
            let addr = lane_address(&self.regs[ptr as usize], lane, shape)?;
            let value = part(&self.regs[value as usize], lane);
            self.memory.store(addr, shape, &value)?;
        }
        Ok(())
    }

    /// The addresses of parts, where the pointer or the index is a SIMD value.
    pub(crate) fn lea_lanes(&self, ptr_ty: Ty, index: Def, ptr: &Value, at: &Value) -> Checked<Value> {
        let world = self.program.world;
        let Some((pointee, _)) = world.types.lane_ptr(ptr_ty) else { return malformed("no pointers") };
        let Some(n_lanes) = world.types.lanes(ptr_ty).or(world.types.lanes(world.ty(index))) else {
            return malformed("no lanes");
        };
        let prim = world.types.lane_prim(world.ty(index));
        let elem_size = world.types.elem(pointee).map(|elem| world.layout(elem).size);
        let offset = |lane: usize| -> Option<u64> {
            let number = lane_bits(at, lane)?;
            Some(match elem_size {
                Some(size) => (prim?.sign_extend(number) as u64).wrapping_mul(size),
                None => layout::offset(&world.types, pointee, number),
            })
        };
        let address = |lane: usize| Some(lane_bits(ptr, lane)?.wrapping_add(offset(lane)?));
        let lanes = (0..n_lanes as usize).map(|lane| address(lane).map_or(Value::Undef, Value::Bits));
        Ok(Value::agg(lanes.collect()))
    }
}

/// An operation across lanes.
pub(crate) fn lane_op(op: LaneOp, args: &[Value]) -> Checked<Value> {
    let [first, rest @ ..] = args else { return malformed("no lanes") };
    match (op, rest) {
        (LaneOp::Any, _) => Ok(Value::bool(truth_values(first)?.contains(&true))),
        (LaneOp::All, _) => Ok(Value::bool(!truth_values(first)?.contains(&false))),
        (LaneOp::Ballot, _) => {
            let votes = truth_values(first)?;
            let bits = votes.iter().zip(0..64).fold(0, |bits, (&vote, at)| bits | u64::from(vote) << at);
            Ok(Value::Bits(bits))
        }
        (LaneOp::Permute, [order]) => {
            let n_lanes = order.as_parts().map_or(0, <[Value]>::len);
            let source = |lane| lane_bits(order, lane).filter(|&from| from < n_lanes as u64);
            let lanes =
                (0..n_lanes).map(|lane| source(lane).map_or(Value::Undef, |from| part(first, from as usize)));
            Ok(Value::agg(lanes.collect()))
        }
        (LaneOp::Compress, [mask]) => {
            let mask = truth_values(mask)?;
            let mut kept = (0..mask.len()).filter(|&lane| mask[lane]);
            let lanes = (0..mask.len()).map(|lane| part(first, kept.next().unwrap_or(lane)));
            Ok(Value::agg(lanes.collect()))
        }
        (LaneOp::Expand, [mask]) => {
            let mut front = 0..;
            let source = |(lane, is_set): (usize, bool)| if is_set { front.next() } else { Some(lane) };
            let sources = truth_values(mask)?.into_iter().enumerate().map(source);
            Ok(Value::agg(sources.map(|from| part(first, from.unwrap_or_default())).collect()))
        }
        _ => malformed(format!("`{}` of other operands", op.name())),
    }
}

/// The lanes of a mask, which must all be defined.
fn truth_values(mask: &Value) -> Checked<Vec<bool>> {
    let undefined = || Box::new(ErrorKind::UndefinedUse { what: "a mask" });
    let lanes = mask.as_parts().ok_or_else(undefined)?;
    lanes.iter().map(|lane| lane.as_bits().map(|bits| bits != 0).ok_or_else(undefined)).collect()
}

/// One lane of a value; a scalar has the same value in every lane.
fn part(value: &Value, lane: usize) -> Value {
    match value.as_parts() {
        Some(parts) => parts.get(lane).cloned().unwrap_or_default(),
        None => value.clone(),
    }
}

fn lane_bits(value: &Value, lane: usize) -> Option<u64> {
    part(value, lane).as_bits()
}

/// The address of a lane.
fn lane_address(ptr: &Value, lane: usize, shape: &Shape) -> Checked<u64> {
    match (lane_bits(ptr, lane), ptr.as_parts()) {
        (Some(addr), Some(_)) => Ok(addr),
        (Some(addr), None) => Ok(addr.wrapping_add(lane as u64 * shape.size)),
        (None, _) => Err(Box::new(ErrorKind::UndefinedUse { what: "an address" })),
    }
}
