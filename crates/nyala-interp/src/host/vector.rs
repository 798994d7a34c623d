//! Intrinsics of AVX on eight `f32`, which programs call by name.

use nyala_ir::functions::VectorFn;
use smallvec::smallvec;

use super::{Call, HostFn, Reply, bits};
use crate::errors::Checked;
use crate::value::Value;

/// The code of a function.
pub(super) fn code(function: VectorFn) -> HostFn {
    match function {
        VectorFn::SignBits => |call| {
            let signs = call.floats(0)?.into_iter().map(|lane| u64::from(lane.is_sign_negative()));
            bits(signs.rev().fold(0, |mask, sign| mask << 1 | sign))
        },
        VectorFn::Reciprocal => |call| lanes(call.floats(0)?.into_iter().map(|lane| (1.0 / lane).to_bits())),
        VectorFn::Compare => |call| {
            let (a, b, predicate) = (call.floats(0)?, call.floats(1)?, call.bits(2)? as u8);
            let compare = |(a, b): (f32, f32)| if holds(predicate, a, b) { u32::MAX } else { 0 };
            lanes(a.into_iter().zip(b).map(compare))
        },
        VectorFn::Blend => |call| {
            let (a, b, mask) = (call.floats(0)?, call.floats(1)?, call.floats(2)?);
            let choose = |((a, b), mask): ((f32, f32), f32)| if mask.is_sign_negative() { b } else { a };
            lanes(a.into_iter().zip(b).zip(mask).map(choose).map(f32::to_bits))
        },
    }
}

/// Whether a predicate of `cmpps` holds for two numbers.
fn holds(predicate: u8, a: f32, b: f32) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    // Bit 3 inverts the result for unordered numbers, bit 2 the result.
    let is_inverted = predicate & 4 != 0;
    let base = match (predicate & 8 != 0, predicate & 3) {
        (false, 0) => a == b,
        (false, 1) => a < b,
        (false, 2) => a <= b,
        (false, _) => unordered,
        (true, 0) => a == b || unordered,
        (true, 1) => a < b || unordered,
        (true, 2) => a <= b || unordered,
        (true, _) => false,
    };
    base != is_inverted
}

fn lanes(lanes: impl Iterator<Item = u32>) -> Checked<Reply> {
    let lanes = lanes.map(|bits| Value::Bits(u64::from(bits))).collect();
    Ok(Reply::Results(smallvec![Value::agg(lanes)]))
}

impl Call<'_, '_> {
    /// The lanes of a vector of `f32`, all of which must be defined.
    fn floats(&self, at: usize) -> Checked<Vec<f32>> {
        let lanes = self.args.get(at).and_then(Value::as_parts).unwrap_or_default();
        let defined: Option<Vec<f32>> =
            lanes.iter().map(|lane| lane.as_bits().map(|bits| f32::from_bits(bits as u32))).collect();
        match defined {
            Some(lanes) if !lanes.is_empty() => Ok(lanes),
            _ => self.bad(format!("argument {} has undefined lanes", at + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_predicates_match_cmpps() {
        let nan = f32::NAN;
        let cases = [
            (0, 1.0, 1.0, true),   // equal
            (1, 1.0, 2.0, true),   // less
            (3, nan, 1.0, true),   // unordered
            (4, nan, 1.0, true),   // not equal
            (5, nan, 1.0, true),   // not less
            (7, 1.0, 2.0, true),   // ordered
            (8, nan, nan, true),   // equal or unordered
            (9, nan, 1.0, true),   // not greater or equal
            (12, nan, 1.0, false), // less or greater
            (13, 2.0, 1.0, true),  // greater or equal
            (13, nan, 1.0, false),
            (14, 2.0, 1.0, true), // greater
            (14, 1.0, 1.0, false),
            (11, 1.0, 1.0, false), // never
            (15, nan, 1.0, true),  // always
        ];
        for (predicate, a, b, expected) in cases {
            assert_eq!(holds(predicate, a, b), expected, "{predicate} of {a} and {b}");
        }
    }
}
