//! The 32-bit Mersenne Twister of C++ (`std::mt19937`).
//!
//! The runtime and the interpreter use it, so compiled and interpreted programs get the same numbers.
//!
//! ```
//! let mut random = nyala_random::MersenneTwister::new(nyala_random::MersenneTwister::DEFAULT_SEED);
//! // The C++ standard requires this number.
//! let ten_thousandth = (0..10_000).map(|_| random.next_u32()).last();
//! assert_eq!(ten_thousandth, Some(4_123_659_995));
//! ```

const N: usize = 624;
const M: usize = 397;

/// A generator of 32-bit numbers.
pub struct MersenneTwister {
    state: [u32; N],
    at: usize,
}

impl MersenneTwister {
    /// The default seed.
    pub const DEFAULT_SEED: u32 = 5489;

    /// The generator with this seed.
    pub fn new(seed: u32) -> MersenneTwister {
        let mut state = [seed; N];
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ last >> 30).wrapping_add(i as u32);
        }
        MersenneTwister { state, at: N }
    }

    /// The next number, uniformly distributed.
    pub fn next_u32(&mut self) -> u32 {
        if self.at == N {
            self.twist();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    fn twist(&mut self) {
        for i in 0..N {
            let y = self.state[i] & 0x8000_0000 | self.state[(i + 1) % N] & 0x7fff_ffff;
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ y >> 1 ^ odd;
        }
        self.at = 0;
    }

    /// The next number, uniformly distributed in `[0, 1)`.
    pub fn next_f32(&mut self) -> f32 {
        let value = self.next_u32() as f32 / 4_294_967_296.0;
        value.min(1.0 - f32::EPSILON / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousandth_number_matches_the_cpp_standard() {
        let mut random = MersenneTwister::new(MersenneTwister::DEFAULT_SEED);
        let last = (0..10_000).map(|_| random.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
