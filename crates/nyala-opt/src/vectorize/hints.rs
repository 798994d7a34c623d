//! Hints that memory is needed soon, for all lanes at once.
//!
//! A prefetch is for the whole cache line in which its address lies. So it is not repeated for each lane: once does where all
//! lanes have the same address, and once for each line where they lie side by side. Addresses of lanes that are missing do no
//! harm, as a hint never fails.

use nyala_ir::functions::{DeviceFn, External, Function};
use nyala_ir::{Cont, Linkage, World};

use super::emit::{Emitter, Rep};
use super::shapes::Shape;

/// How many bytes processors have in a line of their caches, as a rule.
const LINE: u64 = 64;

/// If the call is a hint that needs not be given for each lane: the distances in bytes from the first lane's address
/// for which it is given, as if that were the first one of its line.
pub(super) fn distances(
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
    /// Calls a prefetch for these distances from the first lane's address.
    pub(super) fn give_hints(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
        distances: Vec<i64>,
    ) -> Option<Vec<Rep>> {
        let ty = self.world.ty(args[0].def);
        let mut results = None;
        for distance in distances {
            let mut args = args.to_vec();
            if distance != 0 {
                let distance = self.world.lit_i64(distance);
                args[0].def = self.bytes_from(args[0].def, ty, distance);
            }
            results = self.call_once(callee, &args, next);
        }
        results
    }
}
