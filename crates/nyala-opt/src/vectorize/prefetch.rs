//! Prefetches for all lanes.
//!
//! A prefetch loads the whole cache line of its address. So it is executed once if the address is
//! uniform, and once per cache line if it is strided. Addresses of inactive lanes do no harm: a
//! prefetch never fails.

use nyala_ir::functions::{DeviceFn, External, Function};
use nyala_ir::{Cont, Linkage, World};

use super::emit::{Emitter, Rep};
use super::shapes::Shape;

/// The usual size of a cache line in bytes.
const LINE: u64 = 64;

/// The offsets in bytes from lane 0's address that a prefetch is executed for, if it is not executed
/// for each lane. Lane 0's address is taken to be the beginning of a cache line.
pub(super) fn line_offsets(
    world: &World,
    callee: Cont,
    mut args: impl Iterator<Item = Shape>,
    lanes: u32,
) -> Option<Vec<i64>> {
    let is_prefetch = match &world.cont(callee).linkage {
        Linkage::Device(name) => {
            let function = External::named(name.as_str()).map(|external| external.function);
            function == Some(Function::Device(DeviceFn::Prefetch))
        }
        _ => false,
    };
    let address = args.next().filter(|_| is_prefetch && args.all(|shape| shape == Shape::Uniform))?;
    let stride = match address {
        Shape::Uniform => 0,
        Shape::Strided { stride, .. } if stride.unsigned_abs() <= LINE => stride,
        _ => return None,
    };
    let last = stride.unsigned_abs() * u64::from(lanes - 1);
    Some((0..=last).step_by(LINE as usize).map(|distance| distance as i64 * stride.signum()).collect())
}

impl Emitter<'_> {
    /// Executes a prefetch for each of these offsets from lane 0's address.
    pub(super) fn prefetch_lines(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
        offsets: Vec<i64>,
    ) -> Option<Vec<Rep>> {
        let ty = self.world.ty(args[0].def);
        let mut results = None;
        for offset in offsets {
            let mut args = args.to_vec();
            if offset != 0 {
                let offset = self.world.lit_i64(offset);
                args[0].def = self.bytes_from(args[0].def, ty, offset);
            }
            results = self.call_once(callee, &args, next);
        }
        results
    }
}
