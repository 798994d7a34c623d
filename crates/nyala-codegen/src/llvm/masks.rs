//! Masks of more lanes than a register has.
//!
//! A comparison of 64 floats takes four registers and gives four masks of 16 bits. With AVX512BW, which has masks of 64
//! bits, LLVM concatenates the four, and splits them again for the next operation on floats. Programs with lanes of 32 and
//! 64 bits only have no other use for AVX512BW, and are faster without it.

/// The feature that limits masks to 16 bits.
pub(super) const NO_LONG_MASKS: &str = "-avx512bw";

/// The size of a mask of one register of 32-bit lanes.
const MASK_BITS: u32 = 16;

/// Whether long masks in LLVM assembly should be several short ones: there are long ones, and no vectors of narrow lanes.
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
    fn short_masks_and_masks_of_narrow_lanes_do_not_count() {
        assert!(!stay_in_parts("%b = and <16 x i1> %a, %c"));
        assert!(!stay_in_parts("%b = and <64 x i1> %a, %c\n%d = add <64 x i8> %x, %y"));
        assert!(!stay_in_parts("%a = type { <2 x float> } ; a < b, [64 x i1]"));
    }
}
