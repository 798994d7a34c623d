//! Generated arguments: which values a test is tried with, and how a failing case is made smaller.
//!
//! An argument is a list of numbers, one for each of its parts, as bits. Numbers at the edges of their types come
//! often, and small ones more often than large ones. Floats are finite. The values of case `k` depend on the seed
//! and on `k` only.

use nyala_ir::Prim;
use nyala_ir::eval::float_value;
use nyala_lower::Input;
use nyala_random::MersenneTwister;

/// The numbers of a case, for parts of these types.
pub fn tape(parts: &[Prim], seed: u32, case: usize) -> Vec<u64> {
    let mut random = MersenneTwister::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(case as u32));
    let draw = |&prim: &Prim| match case {
        // The simplest case comes first.
        0 => 0,
        _ if random.next_u32().is_multiple_of(4) => edge(prim, random.next_u32()),
        _ => number(prim, &mut random),
    };
    parts.iter().map(draw).collect()
}

/// A number at an edge of its type.
fn edge(prim: Prim, choice: u32) -> u64 {
    let bits = prim.bits();
    let max = u64::MAX >> (64 - bits);
    let edges: Vec<u64> = match prim {
        Prim::Bool => vec![0, 1],
        Prim::F16 => vec![0, 0x8000, 0x3c00, 0xbc00, 0x3800, 1, 0x0400, 0x7bff, 0xfbff],
        Prim::F32 => {
            let values = [0.0, -0.0, 1.0, -1.0, 0.5, f32::EPSILON, f32::MIN_POSITIVE, f32::MAX, f32::MIN];
            values.iter().map(|value| u64::from(value.to_bits())).collect()
        }
        Prim::F64 => {
            let values = [0.0, -0.0, 1.0, -1.0, 0.5, f64::EPSILON, f64::MIN_POSITIVE, f64::MAX, f64::MIN];
            values.iter().map(|value| value.to_bits()).collect()
        }
        _ => vec![0, 1, 2, max, max - 1, max >> 1, (max >> 1) + 1],
    };
    edges[choice as usize % edges.len()]
}

/// Any number of a type, mostly a small one.
fn number(prim: Prim, random: &mut MersenneTwister) -> u64 {
    let wide = u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    if prim == Prim::Bool {
        return wide & 1;
    }
    if prim.is_float() {
        // An integer with up to 20 bits, or 10 where more do not fit, divided by a power of two.
        let n_bits = if prim == Prim::F16 { 10 } else { 20 };
        let integer = wide & ((1 << n_bits) - 1);
        let integer = integer as f64 / f64::from(1u32 << (random.next_u32() % (n_bits + 1)));
        let value = if wide >> 63 == 1 { -integer } else { integer };
        return nyala_ir::eval::float_from_value(prim, value);
    }
    let bits = prim.bits();
    let small = wide >> (63 - random.next_u32() % bits);
    prim.canonical(if prim.is_signed() && random.next_u32().is_multiple_of(2) {
        small.wrapping_neg()
    } else {
        small
    })
}

/// Makes a failing case smaller as long as `fails` says that it still fails; returns how many steps helped.
pub fn shrink(parts: &[Prim], tape: &mut [u64], mut fails: impl FnMut(&[u64]) -> Option<bool>) -> usize {
    let mut n_steps = 0;
    loop {
        let mut is_smaller = false;
        for part in 0..tape.len() {
            let mut candidates = simpler(parts[part], tape[part]).into_iter();
            while let Some(candidate) = candidates.next() {
                let before = std::mem::replace(&mut tape[part], candidate);
                match fails(tape) {
                    Some(true) => {
                        (is_smaller, n_steps) = (true, n_steps + 1);
                        candidates = simpler(parts[part], candidate).into_iter();
                    }
                    Some(false) => tape[part] = before,
                    None => {
                        tape[part] = before;
                        return n_steps;
                    }
                }
            }
        }
        if !is_smaller {
            return n_steps;
        }
    }
}

/// Simpler numbers than this one, the simplest first. Each has a smaller magnitude, no sign or
/// fewer digits, so shrinking ends.
fn simpler(prim: Prim, bits: u64) -> Vec<u64> {
    if bits == 0 {
        return vec![];
    }
    if prim == Prim::Bool {
        return vec![0];
    }
    if prim.is_float() {
        return simpler_floats(prim, bits);
    }
    let (value, is_negative) = match prim.is_signed() {
        true => (prim.sign_extend(bits).unsigned_abs(), prim.sign_extend(bits) < 0),
        false => (bits, false),
    };
    let mut found = vec![0];
    let max = u64::MAX >> (65 - prim.bits());
    if is_negative && value <= max {
        found.push(value);
    }
    // From half of it up to one less: a binary search for the smallest that fails.
    let mut step = value / 2;
    while step > 0 {
        let smaller = value - step;
        found.push(prim.canonical(if is_negative { smaller.wrapping_neg() } else { smaller }));
        step /= 2;
    }
    found
}

fn simpler_floats(prim: Prim, bits: u64) -> Vec<u64> {
    let value = float_value(prim, bits);
    let size = |value: f64| (value.is_sign_negative(), value.fract() != 0.0, value.abs());
    let candidates = [0.0, 1.0, -value, value.trunc(), value / 2.0, (value / 2.0).trunc(), value - 1.0];
    let bits_of = |value| nyala_ir::eval::float_from_value(prim, value);
    // Positive before negative, integers before fractions, small before large.
    let is_simpler = |candidate: &f64| size(float_value(prim, bits_of(*candidate))) < size(value);
    candidates.into_iter().filter(is_simpler).map(bits_of).collect()
}

/// The arguments that a case has, as people write them.
pub fn shown(inputs: &[Input], tape: &[u64]) -> String {
    let mut rest = tape;
    let mut texts = vec![];
    for input in inputs {
        let (own, after) = rest.split_at(input.parts.len().min(rest.len()));
        let values: Vec<u64> =
            own.iter().zip(&input.parts).map(|(&bits, &prim)| for_message(prim, bits)).collect();
        let value = nyala_message::fill(&input.template, &values);
        let name = if input.name.is_empty() { "_" } else { &input.name };
        texts.push(format!("{name} = {value}"));
        rest = after;
    }
    texts.join(", ")
}

/// The bits as a template takes them.
fn for_message(prim: Prim, bits: u64) -> u64 {
    match prim {
        Prim::F16 => u64::from((float_value(prim, bits) as f32).to_bits()),
        _ if prim.is_signed() && !prim.is_float() => prim.sign_extend(bits).cast_unsigned(),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [Prim; 4] = [Prim::I32, Prim::U8, Prim::F32, Prim::Bool];

    #[test]
    fn a_case_depends_on_its_number_and_the_seed() {
        assert_eq!(tape(&PARTS, 1, 0), [0; 4]);
        assert_eq!(tape(&PARTS, 1, 9), tape(&PARTS, 1, 9));
        assert_ne!(tape(&PARTS, 1, 9), tape(&PARTS, 2, 9));
    }

    #[test]
    fn numbers_fit_their_types_and_floats_are_finite() {
        for prim in [Prim::I8, Prim::U16, Prim::I64, Prim::F16, Prim::F32, Prim::F64, Prim::Bool] {
            for case in 0..1000 {
                let bits = tape(&[prim], 7, case)[0];
                assert_eq!(bits, prim.canonical(bits), "{prim}");
                assert!(!prim.is_float() || float_value(prim, bits).is_finite(), "{prim} {bits:#x}");
            }
        }
    }

    fn smallest(prim: Prim, from: u64, fails: impl Fn(u64) -> bool) -> u64 {
        let mut tape = [prim.canonical(from)];
        shrink(&[prim], &mut tape, |tape| Some(fails(tape[0])));
        tape[0]
    }

    #[test]
    fn shrinking_finds_the_smallest_integer_that_fails() {
        assert_eq!(smallest(Prim::U32, 4_000_000_000, |bits| bits > 1234), 1235);
        assert_eq!(smallest(Prim::I32, (-70_000i64) as u64, |bits| Prim::I32.sign_extend(bits) < -99), {
            Prim::I32.canonical((-100i64) as u64)
        });
        assert_eq!(smallest(Prim::I32, (-70_000i64) as u64, |bits| Prim::I32.sign_extend(bits) != 0), 1);
        assert_eq!(smallest(Prim::I64, 1 << 63, |_| true), 0);
    }

    #[test]
    fn shrinking_prefers_simple_floats() {
        let fails = |bits: u64| f64::from_bits(bits) > 2.5;
        assert_eq!(f64::from_bits(smallest(Prim::F64, 1234.5678f64.to_bits(), fails)), 3.0);
        assert_eq!(f64::from_bits(smallest(Prim::F64, (-0.0f64).to_bits(), |_| true)), 0.0);
    }

    #[test]
    fn arguments_are_shown_by_name() {
        let input = |name: &str, parts: &[Prim], template: &str| Input {
            name: name.into(),
            parts: parts.to_vec(),
            template: template.into(),
        };
        let inputs = [input("x", &[Prim::I8], "%i8"), input("a", &[Prim::U8, Prim::U8], "[%u8, %u8]")];
        assert_eq!(shown(&inputs, &[255, 1, 2]), "x = -1, a = [1, 2]");
    }
}
