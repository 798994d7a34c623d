//! Pseudo-random numbers that are the same in every run.

/// A xorshift generator (Marsaglia 2003, with the multiplier of Vigna 2016).
pub struct Random(u64);

impl Random {
    /// A generator for a seed and a stream.
    pub fn new(seed: u64, stream: u64) -> Random {
        // An odd multiplier spreads the stream's bits; the state must not be zero.
        let mixed = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Random(mixed | 1 << 63);
        random.bits();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
