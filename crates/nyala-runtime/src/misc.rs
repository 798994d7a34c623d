//! Time, random numbers, classification of floats, bits.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Instant;

use nyala_random::MersenneTwister;

thread_local! {
    static RANDOM: RefCell<MersenneTwister> =
        RefCell::new(MersenneTwister::new(MersenneTwister::DEFAULT_SEED));
}

/// Seeds the calling thread's random numbers.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_random_seed(seed: u32) {
    RANDOM.set(MersenneTwister::new(seed));
}

/// A random number in `[0, 1)`.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_random_val_f32() -> f32 {
    RANDOM.with_borrow_mut(MersenneTwister::next_f32)
}

/// 64 random bits.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_random_val_u64() -> u64 {
    RANDOM.with_borrow_mut(|random| {
        let high = random.next_u32();
        u64::from(high) << 32 | u64::from(random.next_u32())
    })
}

fn nanos() -> u128 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos()
}

/// Microseconds of a monotonic clock.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_get_micro_time() -> u64 {
    (nanos() / 1000) as u64
}

/// Nanoseconds of a monotonic clock.
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_get_nano_time() -> u64 {
    nanos() as u64
}

/// Microseconds spent in kernels, if they are [profiled](crate::devices::profile).
#[unsafe(no_mangle)]
pub extern "C" fn anydsl_get_kernel_time() -> u64 {
    crate::devices::profile::microseconds()
}

macro_rules! classify {
    ($($name:ident $ty:ty, $is:ident;)*) => {
        $(
            /// Whether a number is of this class, as 0 or 1.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(number: $ty) -> i32 {
                i32::from(number.$is())
            }
        )*
    };
}

classify! {
    anydsl_isinff f32, is_infinite;
    anydsl_isnanf f32, is_nan;
    anydsl_isfinitef f32, is_finite;
    anydsl_isinf f64, is_infinite;
    anydsl_isnan f64, is_nan;
    anydsl_isfinite f64, is_finite;
}

/// Extracts the bits of `value` where `mask` has ones, and packs them.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_pext(value: u64, mask: u64) -> u64 {
    let ones = (0..64).filter(|bit| mask >> bit & 1 == 1);
    ones.enumerate().fold(0, |result, (to, from)| result | (value >> from & 1) << to)
}

/// Deposits the lowest bits of `value` where `mask` has ones.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_pdep(value: u64, mask: u64) -> u64 {
    let ones = (0..64).filter(|bit| mask >> bit & 1 == 1);
    ones.enumerate().fold(0, |result, (from, to)| result | (value >> from & 1) << to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pext_and_pdep_move_the_masked_bits() {
        assert_eq!(nyala_pext(0b1011_0010, 0b1111_0000), 0b1011);
        assert_eq!(nyala_pdep(0b1011, 0b1111_0000), 0b1011_0000);
        assert_eq!(nyala_pext(u64::MAX, u64::MAX), u64::MAX);
    }
}
