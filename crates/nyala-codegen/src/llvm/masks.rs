//! Masks of more lanes than a register has.
//!
//! Comparing 64 floats takes four registers and gives four masks of 16 bits. A processor with
//! AVX512BW has masks of 64 bits, so LLVM joins the four there, only to take them apart again
//! for the next operation on floats. Those who compute with lanes of 32 and 64 bits only have no other
//! use for AVX512BW, and are faster without.

/// Leaves the processor masks of 16 bits.
pub(super) const NO_LONG_MASKS: &str = "-avx512bw";

/// A mask of one register of 32-bit lanes.
const MASK_BITS: u32 = 16;

/// Whether masks in LLVM assembly should stay in parts: there are long ones, and no vectors of narrow
/// lanes that they could be for.
pub(super) fn stay_in_parts(text: &str) -> bool {
    let mut has_long_masks = false;
    for vector in text.split('<').skip(1) {
        let Some((count, rest)) = vector.split_once(" x ") else { continue };
        let Ok(count) = count.parse::<u32>() else { continue };
        match rest.split_once('>').map(|(lane, _)| lane) {
            Some("i1") => has_long_masks |= count > MASK_BITS,
            Some("i8" | "i16" | "half" | "bfloat") => return false,
            _ => {}
        }
    }
    has_long_masks
}

#[cfg(test)]
mod tests {
    use super::stay_in_parts;

    #[test]
    fn long_masks_of_wide_lanes_stay_in_parts() {
        assert!(stay_in_parts("%a = fcmp ogt <64 x float> %x, %y\n%b = and <64 x i1> %a, %c"));
        assert!(stay_in_parts("%b = or <32 x i1> %a, <32 x i1> splat (i1 true)"));
    }

    #[test]
    fn short_masks_and_those_of_narrow_lanes_are_left_alone() {
        assert!(!stay_in_parts("%b = and <16 x i1> %a, %c"));
        assert!(!stay_in_parts("%b = and <64 x i1> %a, %c\n%d = add <64 x i8> %x, %y"));
        assert!(!stay_in_parts("%a = type { <2 x float> } ; a < b, [64 x i1]"));
    }
}
