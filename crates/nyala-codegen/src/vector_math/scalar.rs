//! A machine with one lane, which computes.

use nyala_ir::functions::NumberFn;
use nyala_ir::{MathOp, Prim};

use super::value::{Float, Kind, Level, Machine, Op, Table, Value};

/// Computes at once.
pub(super) struct Scalar {
    pub is_relaxed: bool,
    /// Whether products and sums are rounded once.
    pub fusion: Fusion,
    /// Whether arguments were widened from `f32`.
    pub is_widened: bool,
    /// Whether both the sine and the cosine of an angle are computed.
    pub shares_angle: bool,
}

impl Scalar {
    pub fn new(is_relaxed: bool, fusion: Fusion) -> Scalar {
        Scalar { is_relaxed, fusion, is_widened: false, shares_angle: false }
    }
}

/// How products and sums are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fusion {
    /// Twice.
    Never,
    /// Once, which kernels do not know.
    Usual,
    /// Once, which kernels know.
    Always,
    /// Likewise, and there are instructions for exponents.
    WithExponents,
}

impl Fusion {
    pub const ALL: [Fusion; 4] = [Fusion::Never, Fusion::Usual, Fusion::Always, Fusion::WithExponents];
}

/// What a kernel gives for floats of type `prim`, as bits.
pub(super) fn run(machine: &Scalar, function: NumberFn, prim: Prim, args: &[u64]) -> u64 {
    let args: Vec<Float> = args.iter().map(|&bits| Float::new(machine, prim, Value(bits))).collect();
    super::kernel(function, &args).value().0
}

impl Machine for Scalar {
    fn is_relaxed(&self) -> bool {
        self.is_relaxed
    }

    fn level(&self) -> Level {
        match self.fusion {
            Fusion::Never | Fusion::Usual => Level::Base,
            Fusion::Always => Level::Fused,
            Fusion::WithExponents => Level::Exponents,
        }
    }

    fn shares_angle(&self) -> bool {
        self.shares_angle
    }

    fn constant(&self, of: Kind, bits: u64) -> Value {
        match of {
            Kind::Int(Prim::F32) => Value(u64::from(bits as u32)),
            _ => Value(bits),
        }
    }

    fn compute(&self, op: Op, prim: Prim, args: &[Value]) -> Value {
        Value(match prim {
            Prim::F32 => self.single(op, &args.iter().map(|arg| arg.0 as u32).collect::<Vec<u32>>()),
            _ => self.double(op, &args.iter().map(|arg| arg.0).collect::<Vec<u64>>()),
        })
    }

    fn lookup(&self, table: &'static Table, index: Value) -> Value {
        Value(table.words[index.0 as usize])
    }

    fn rarely(&self, rare: Value, usual: Value, op: MathOp, prim: Prim, args: &[Value]) -> Value {
        let args: Vec<u64> = args.iter().map(|arg| arg.0).collect();
        Value(match (rare.0, prim) {
            (0, _) => usual.0,
            (_, Prim::F32) => {
                let wide: Vec<u64> =
                    args.iter().map(|&bits| f64::from(f32::from_bits(bits as u32)).to_bits()).collect();
                let widened = Scalar { is_widened: true, shares_angle: false, ..*self };
                u64::from(
                    (f64::from_bits(run(&widened, NumberFn::Op(op), Prim::F64, &wide)) as f32).to_bits(),
                )
            }
            _ => super::far_kernel(op, Float::new(self, prim, Value(args[0])), self.is_widened).value().0,
        })
    }
}

macro_rules! arithmetic {
    ($name:ident, $float:ty, $bits:ty, $int:ty, $wide:ty, $scale:path) => {
        fn $name(&self, op: Op, args: &[$bits]) -> u64 {
            let x = |at: usize| <$float>::from_bits(args[at]);
            let float = |x: $float| u64::from(x.to_bits());
            let n = |at: usize| args[at] as $int;
            let int = |n: $int| u64::from(n as $bits);
            match op {
                Op::Add => float(x(0) + x(1)),
                Op::Sub => float(x(0) - x(1)),
                Op::Mul => float(x(0) * x(1)),
                Op::Div => float(x(0) / x(1)),
                Op::MulAdd if self.fusion != Fusion::Never => float(x(0).mul_add(x(1), x(2))),
                Op::MulAdd => float(x(0) * x(1) + x(2)),
                Op::Sqrt => float(x(0).sqrt()),
                Op::Less => u64::from(x(0) < x(1)),
                Op::Equal => u64::from(x(0) == x(1)),
                Op::Select => u64::from(if args[0] != 0 { args[1] } else { args[2] }),
                Op::MaskAnd | Op::IntAnd => u64::from(args[0] & args[1]),
                Op::MaskOr | Op::IntOr => u64::from(args[0] | args[1]),
                Op::MaskNot => u64::from(args[0] == 0),
                Op::IntXor => u64::from(args[0] ^ args[1]),
                Op::ToBits | Op::FromBits => u64::from(args[0]),
                Op::ToFloat => float(n(0) as $float),
                Op::IntAdd => int(n(0).wrapping_add(n(1))),
                Op::IntSub => int(n(0).wrapping_sub(n(1))),
                Op::IntMul => int(n(0).wrapping_mul(n(1))),
                Op::IntMulHigh => {
                    let product = <$wide>::from(args[0]) * <$wide>::from(args[1]);
                    u64::from((product >> <$bits>::BITS) as $bits)
                }
                Op::IntShrZero => u64::from(args[0] >> args[1]),
                Op::IntShl => int(n(0) << n(1)),
                Op::IntShr => int(n(0) >> n(1)),
                Op::IntMax => int(n(0).max(n(1))),
                Op::IntEqual => u64::from(n(0) == n(1)),
                Op::IntLess => u64::from(n(0) < n(1)),
                Op::Widen => f64::from(x(0) as f32).to_bits(),
                Op::Narrow => u64::from((x(0) as f32).to_bits()),
                Op::Exponent => float(exponent(f64::from(x(0))) as $float),
                Op::Mantissa => float(mantissa(f64::from(x(0))) as $float),
                Op::Scale => float($scale(x(0), x(1).clamp(-9e3, 9e3) as i32)),
                Op::Fraction if x(0).is_infinite() => float(0.0),
                Op::Fraction => float(x(0) - x(0).round_ties_even()),
            }
        }
    };
}

impl Scalar {
    arithmetic!(single, f32, u32, i32, u64, libm::scalbnf);
    arithmetic!(double, f64, u64, i64, u128, libm::scalbn);
}

/// [`Op::Exponent`].
fn exponent(x: f64) -> f64 {
    match x {
        0.0 => f64::NEG_INFINITY,
        _ if !x.is_finite() => x.abs(),
        _ => f64::from(libm::ilogb(x)),
    }
}

/// [`Op::Mantissa`].
fn mantissa(x: f64) -> f64 {
    match x {
        _ if x < 0.0 || x.is_nan() => f64::NAN,
        0.0 | f64::INFINITY => 1.0,
        _ => {
            let (fraction, _) = libm::frexp(x);
            if fraction < 0.75 { fraction * 2.0 } else { fraction }
        }
    }
}
