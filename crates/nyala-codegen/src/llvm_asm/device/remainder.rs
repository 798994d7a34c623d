//! The remainder of floats, which is exact as in C.
//!
//! LLVM computes `frem` on GPUs as `x - trunc(x / y) * y`, which is wrong as soon as the quotient or the product is
//! rounded. So each type has a function. Usually the quotient has few bits: then a fused multiplication and addition
//! gives the exact remainder of the rounded quotient, which is the quotient or one more. Otherwise the remainder of
//! the significands is computed in integers, some bits of the quotient at a time.
//!
//! The remainder of `f16` is that of the same numbers as `f32`.

use nyala_ir::{ArithFlags, Def, Prim, TyKind};
use nyala_span::Span;

use super::super::ModuleWriter;
use super::super::constants::literal;
use super::super::function::FunctionWriter;
use super::super::value::{Type, Value};

impl FunctionWriter<'_, '_> {
    /// `x % y` on a GPU.
    pub(crate) fn device_remainder(&mut self, flags: ArithFlags, x: Def, y: Def) -> String {
        let ty = self.world.ty(x);
        let prim = self.world.types.lane_prim(ty).unwrap_or(Prim::F64);
        let values = [self.typed(x), self.typed(y)];
        if flags.fast {
            let [x, y] = values;
            return self.compute("rem", format!("frem fast {x}, {}", y.text));
        }
        match *self.world.types.kind(ty) {
            TyKind::Simd { lanes, .. } => {
                self.each_lane(lanes, prim, &values, |writer, parts| writer.scalar_remainder(prim, parts))
            }
            _ => self.scalar_remainder(prim, &values),
        }
    }

    fn scalar_remainder(&mut self, prim: Prim, values: &[Value]) -> String {
        if prim == Prim::F16 {
            return self.in_f32(values, |writer, wide| writer.scalar_remainder(Prim::F32, wide));
        }
        let symbol = self.module.remainder(prim);
        let [x, y] = values else { unreachable!("a remainder has two operands") };
        self.compute("rem", format!("call {} {symbol}({x}, {y})", x.ty))
    }
}

impl ModuleWriter<'_> {
    /// The symbol of the function for a type, which is written if it was not yet.
    fn remainder(&mut self, prim: Prim) -> String {
        let text = definitions(prim);
        if !self.functions.contains(&text) {
            self.functions.push(text);
            let (float, int) = (Type::from(prim), Type::int(prim.bits()));
            for (name, params) in [("fabs", 1), ("trunc", 1), ("copysign", 2), ("fma", 3)] {
                let name = format!("llvm.{name}.{}", float.suffix());
                self.declare(&name, &float, &vec![&float; params], Span::NONE);
            }
            self.declare(&format!("llvm.umin.{int}"), &int, &[&int, &int], Span::NONE);
            self.declare(&format!("llvm.ctlz.{int}"), &int, &[&int.to_string(), "i1 immarg"], Span::NONE);
        }
        symbol(prim)
    }
}

fn symbol(prim: Prim) -> String {
    format!("@nyala.rem.{}", Type::from(prim).suffix())
}

/// The function for a type, and what it calls for quotients of many bits.
fn definitions(prim: Prim) -> String {
    let (float, int) = (Type::from(prim), Type::int(prim.bits()));
    let (symbol, suffix) = (symbol(prim), float.suffix());
    let digits = if prim == Prim::F32 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
    // The stored bits of a significand; `one` is the bit before them, which normal numbers do not store.
    let fraction_bits = digits - 1;
    let one = 1u64 << fraction_bits;
    let fraction = one - 1;
    let sign = 1u64 << (prim.bits() - 1);
    let magnitude = sign - 1;
    let infinity = magnitude - fraction;
    let number = |value: f64| literal(prim, nyala_ir::eval::float_from_value(prim, value));
    // A quotient below this is rounded to the quotient before or after it.
    let limit = number((one / 2) as f64);
    let (zero, nan) = (number(0.0), number(f64::NAN));
    // How far a significand can be shifted, and how far a number with all its zeros is.
    let step = prim.bits() - digits;
    format!(
        "define internal {float} {symbol}({float} %x, {float} %y) nounwind {{
  %a = call {float} @llvm.fabs.{suffix}({float} %x)
  %b = call {float} @llvm.fabs.{suffix}({float} %y)
  %limit = fmul {float} %b, {limit}
  %is_usual = fcmp olt {float} %a, %limit
  br i1 %is_usual, label %usual, label %rare
usual:
  %quotient = fdiv {float} %a, %b
  %count = call {float} @llvm.trunc.{suffix}({float} %quotient)
  %less = fneg {float} %count
  %rest = call {float} @llvm.fma.{suffix}({float} %less, {float} %b, {float} %a)
  %is_negative = fcmp olt {float} %rest, {zero}
  %one_less = fadd {float} %rest, %b
  %reduced = select i1 %is_negative, {float} %one_less, {float} %rest
  ; The divisor may be infinite.
  %is_below = fcmp olt {float} %a, %b
  %magnitude = select i1 %is_below, {float} %a, {float} %reduced
  %result = call {float} @llvm.copysign.{suffix}({float} %magnitude, {float} %x)
  ret {float} %result
rare:
  %slow = call {float} {symbol}.slow({float} %x, {float} %y)
  ret {float} %slow
}}

define internal {float} {symbol}.slow({float} %x, {float} %y) noinline cold nounwind {{
entry:
  %x.bits = bitcast {float} %x to {int}
  %y.bits = bitcast {float} %y to {int}
  %a = and {int} %x.bits, {magnitude}
  %b = and {int} %y.bits, {magnitude}
  ; Zero becomes the largest integer.
  %b.before = sub {int} %b, 1
  %is_not_divisor = icmp uge {int} %b.before, {infinity}
  %is_not_finite = icmp uge {int} %a, {infinity}
  %is_nan = or i1 %is_not_divisor, %is_not_finite
  br i1 %is_nan, label %nan, label %numbers
nan:
  ret {float} {nan}
numbers:
  %a.stored = lshr {int} %a, {fraction_bits}
  %b.stored = lshr {int} %b, {fraction_bits}
  %a.normal = icmp ne {int} %a.stored, 0
  %b.normal = icmp ne {int} %b.stored, 0
  %a.exponent = select i1 %a.normal, {int} %a.stored, {int} 1
  %b.exponent = select i1 %b.normal, {int} %b.stored, {int} 1
  %a.one = select i1 %a.normal, {int} {one}, {int} 0
  %b.one = select i1 %b.normal, {int} {one}, {int} 0
  %a.fraction = and {int} %a, {fraction}
  %b.fraction = and {int} %b, {fraction}
  %a.significand = or {int} %a.fraction, %a.one
  %b.significand = or {int} %b.fraction, %b.one
  %distance = sub {int} %a.exponent, %b.exponent
  br label %reduce
reduce:
  %significand = phi {int} [ %a.significand, %numbers ], [ %rest, %reduce ]
  %left = phi {int} [ %distance, %numbers ], [ %left.next, %reduce ]
  %shift = call {int} @llvm.umin.{int}({int} %left, {int} {step})
  %shifted = shl {int} %significand, %shift
  %rest = urem {int} %shifted, %b.significand
  %left.next = sub {int} %left, %shift
  %is_done = icmp eq {int} %left.next, 0
  br i1 %is_done, label %normalize, label %reduce
normalize:
  %zeros = call {int} @llvm.ctlz.{int}({int} %rest, i1 false)
  %missing = sub {int} %zeros, {step}
  %lowerable = sub {int} %b.exponent, 1
  %lowered = call {int} @llvm.umin.{int}({int} %missing, {int} %lowerable)
  %normal = shl {int} %rest, %lowered
  %exponent = sub {int} %lowerable, %lowered
  %high = shl {int} %exponent, {fraction_bits}
  %sum = add {int} %high, %normal
  %is_zero = icmp eq {int} %rest, 0
  %bits = select i1 %is_zero, {int} 0, {int} %sum
  %sign = and {int} %x.bits, {sign}
  %signed = or {int} %bits, %sign
  %result = bitcast {int} %signed to {float}
  ret {float} %result
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm::{Jit, Llvm, Options, Output, compile};

    /// Compiles the function for the host, and calls `check` with it.
    fn with_remainder(prim: Prim, check: impl FnOnce(*const std::ffi::c_void)) {
        let (float, symbol) = (Type::from(prim), symbol(prim));
        let text = format!(
            "{}define {float} @entry({float} %x, {float} %y) {{
               %r = call {float} {symbol}({float} %x, {float} %y)
               ret {float} %r
             }}",
            definitions(prim)
        );
        let llvm = Llvm::get().expect("a Rust toolchain has LLVM");
        let object =
            compile(llvm, &text, &Options::default(), Output::Object, |_| {}).expect("it is well formed");
        let jit = Jit::new(llvm).expect("this machine can run its own code");
        jit.add_object(&object).expect("the object was just made");
        check(jit.lookup("entry").expect("the function is defined"));
    }

    /// Bits of numbers of all sizes: each special one, and random ones.
    fn samples(bits: u32, special: &[u64]) -> impl Iterator<Item = (u64, u64)> {
        let pairs: Vec<(u64, u64)> =
            special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
        let mut state = 1u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> (64 - bits)
        };
        let any = (0..200_000).map(move |_| (random(), random()));
        // Of similar size, so that the quotient has few bits.
        let near = any.clone().map(move |(x, y)| (x, x ^ (y >> 8 >> (y % 4))));
        pairs.into_iter().chain(any).chain(near)
    }

    #[test]
    fn remainder_is_that_of_the_host() {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            3.0,
            1e30,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::INFINITY,
            f64::NAN,
        ];
        with_remainder(Prim::F64, |code| {
            // SAFETY: the function takes and returns two of these in C's convention.
            let rem: extern "C" fn(f64, f64) -> f64 = unsafe { std::mem::transmute(code) };
            for (x, y) in samples(64, &SPECIAL.map(f64::to_bits)) {
                let (x, y) = (f64::from_bits(x), f64::from_bits(y));
                let (found, expected) = (rem(x, y), x % y);
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x:e} % {y:e} is {found:e}"
                );
            }
        });
        with_remainder(Prim::F32, |code| {
            // SAFETY: as above.
            let rem: extern "C" fn(f32, f32) -> f32 = unsafe { std::mem::transmute(code) };
            let special =
                SPECIAL.map(|x| u64::from((x as f32).to_bits())).into_iter().chain([1, 0x7f_ffff, 0x80_0000]);
            for (x, y) in samples(32, &special.collect::<Vec<_>>()) {
                let (x, y) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
                let (found, expected) = (rem(x, y), x % y);
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x:e} % {y:e} is {found:e}"
                );
            }
        });
    }
}
