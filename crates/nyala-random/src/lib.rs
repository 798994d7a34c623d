//! The Mersenne Twister with 32 bits, as C++ has it: what programs are promised.
//!
//! Compiled programs get it from the runtime and interpreted ones from the interpreter;
//! both see the same numbers.
//!
//! ```
//! let mut random = nyala_random::MersenneTwister::new(nyala_random::MersenneTwister::DEFAULT_SEED);
//! // As C++ promises of `std::mt19937`.
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
    /// The seed of a program that sets none.
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

    /// Uniform over all numbers.
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

    /// Uniform in `[0, 1)`.
    pub fn next_f32(&mut self) -> f32 {
        let value = self.next_u32() as f32 / 4_294_967_296.0;
        value.min(1.0 - f32::EPSILON / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_the_one_of_the_standard() {
        let mut random = MersenneTwister::new(MersenneTwister::DEFAULT_SEED);
        let last = (0..10_000).map(|_| random.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}
