//! Functions of numbers: those that are operations of the graph, and those of libraries.
//!
//! They are pure. [`eval`](crate::eval) defines their results.
//! A row of a table has the names of a function, and the targets that have it. From the name, `sin`, follow those of
//! C (`sin`, `sinf`), of NVIDIA's library (`__nv_sin`, `__nv_sinf`) and of AMD's
//! (`__ocml_sin_f32`, `__ocml_sin_f64`).

use super::Signature;
use super::device::Shape;

/// Where code for a GPU gets a function from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GpuSource {
    /// LLVM has an instruction or an intrinsic, or a few of them do.
    Llvm,
    /// The device's library: NVIDIA's where it is installed, else ours.
    Library,
    /// NVIDIA's library only.
    Libdevice,
}

/// The types of a function of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// Floats.
    Float,
    /// Integers.
    Int,
    /// Integers and floats.
    Any,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Its name in the text form.
    pub name: &'static str,
    /// How many arguments it takes, all of one type.
    pub arity: usize,
    /// Of which types.
    pub domain: Domain,
    /// Whether it gives a `bool`, which C has as an integer; else a number of its arguments' type.
    pub gives_bool: bool,
    /// Its name in `extern "thorin"`.
    pub intrinsic: Option<&'static str>,
    /// Its names without type suffix.
    pub names: &'static [&'static str],
    /// Whether C's function of this name is this one.
    pub is_in_c: bool,
    /// Its name between `llvm.` and the type.
    pub llvm: Option<&'static str>,
    /// How GPUs have it.
    pub gpu: Option<GpuSource>,
    /// Its name in OpenCL C.
    pub opencl: Option<&'static str>,
}

impl Info {
    const fn new(name: &'static str, arity: usize) -> Info {
        Info {
            name,
            arity,
            domain: Domain::Float,
            gives_bool: false,
            intrinsic: None,
            names: &[],
            is_in_c: false,
            llvm: None,
            gpu: None,
            opencl: None,
        }
    }

    /// Known by these names.
    const fn named(self, names: &'static [&'static str]) -> Info {
        Info { names, ..self }
    }

    const fn in_c(self) -> Info {
        Info { is_in_c: true, ..self }
    }

    const fn on(self, domain: Domain) -> Info {
        Info { domain, ..self }
    }

    const fn bool(self) -> Info {
        Info { gives_bool: true, ..self }
    }

    const fn thorin(self, name: &'static str) -> Info {
        Info { intrinsic: Some(name), ..self }
    }

    const fn llvm(self, name: &'static str) -> Info {
        Info { llvm: Some(name), ..self }
    }

    const fn gpu(self, source: GpuSource) -> Info {
        Info { gpu: Some(source), ..self }
    }

    const fn opencl(self, name: &'static str) -> Info {
        Info { opencl: Some(name), ..self }
    }
}

use Domain::{Any, Int};
use GpuSource::{Libdevice, Library, Llvm};

macro_rules! math_ops {
    ($($(#[$meta:meta])* $op:ident $name:literal $arity:literal $(.$column:ident($($value:expr),*))*,)*) => {
        /// Mathematical functions that are operations of the graph. The result has the type of the first
        /// argument, unless said otherwise; on simd they work lane by lane.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum MathOp { $($(#[$meta])* $op,)* }

        impl MathOp {
            /// All of them.
            pub const ALL: &'static [MathOp] = &[$(MathOp::$op,)*];

            /// Its row of the table.
            pub const fn info(self) -> &'static Info {
                match self { $(MathOp::$op => const { &Info::new($name, $arity)$(.$column($($value),*))* },)* }
            }
        }
    };
}

impl MathOp {
    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        self.info().arity
    }

    /// The one that programs declare as `extern "thorin"` under this name.
    pub fn from_intrinsic_name(name: &str) -> Option<MathOp> {
        MathOp::ALL.iter().copied().find(|op| op.info().intrinsic == Some(name))
    }
}

math_ops! {
    /// |x|
    Fabs "fabs" 1 .named(&["fabs"]).in_c().thorin("fabs").llvm("fabs").gpu(Llvm).opencl("fabs"),
    /// The magnitude of the first with the sign of the second.
    Copysign "copysign" 2
        .named(&["copysign"]).in_c().thorin("copysign").llvm("copysign").gpu(Llvm).opencl("copysign"),
    /// Whether the sign bit is set; `bool`.
    Signbit "signbit" 1 .bool().thorin("signbit"),
    /// To the nearest integer, halves away from zero.
    Round "round" 1 .named(&["round"]).in_c().thorin("round").llvm("round").gpu(Llvm).opencl("round"),
    /// To the nearest integer, halves to even.
    RoundEven "round_even" 1
        .named(&["rint", "nearbyint", "roundeven"]).thorin("round_even").llvm("roundeven").gpu(Llvm).opencl("rint"),
    /// Toward zero.
    Trunc "trunc" 1 .named(&["trunc"]).in_c().thorin("trunc").llvm("trunc").gpu(Llvm).opencl("trunc"),
    /// Upwards.
    Ceil "ceil" 1 .named(&["ceil"]).in_c().thorin("ceil").llvm("ceil").gpu(Llvm).opencl("ceil"),
    /// Downwards.
    Floor "floor" 1 .named(&["floor"]).in_c().thorin("floor").llvm("floor").gpu(Llvm).opencl("floor"),
    /// The smaller; a number wins over NaN.
    Fmin "fmin" 2 .named(&["fmin"]).in_c().thorin("fmin").llvm("minnum").gpu(Llvm).opencl("fmin"),
    /// The larger; a number wins over NaN.
    Fmax "fmax" 2 .named(&["fmax"]).in_c().thorin("fmax").llvm("maxnum").gpu(Llvm).opencl("fmax"),
    /// Cosine.
    Cos "cos" 1 .named(&["cos"]).in_c().thorin("cos").llvm("cos").gpu(Library).opencl("cos"),
    /// Sine.
    Sin "sin" 1 .named(&["sin"]).in_c().thorin("sin").llvm("sin").gpu(Library).opencl("sin"),
    /// Tangent.
    Tan "tan" 1 .named(&["tan"]).in_c().thorin("tan").llvm("tan").gpu(Library).opencl("tan"),
    /// Arc cosine.
    Acos "acos" 1 .named(&["acos"]).in_c().thorin("acos").llvm("acos").gpu(Library).opencl("acos"),
    /// Arc sine.
    Asin "asin" 1 .named(&["asin"]).in_c().thorin("asin").llvm("asin").gpu(Library).opencl("asin"),
    /// Arc tangent.
    Atan "atan" 1 .named(&["atan"]).in_c().thorin("atan").llvm("atan").gpu(Library).opencl("atan"),
    /// Arc tangent of y/x in all quadrants.
    Atan2 "atan2" 2 .named(&["atan2"]).in_c().thorin("atan2").llvm("atan2").gpu(Library).opencl("atan2"),
    /// Hyperbolic sine.
    Sinh "sinh" 1 .named(&["sinh"]).in_c().thorin("sinh").llvm("sinh").gpu(Library).opencl("sinh"),
    /// Hyperbolic cosine.
    Cosh "cosh" 1 .named(&["cosh"]).in_c().thorin("cosh").llvm("cosh").gpu(Library).opencl("cosh"),
    /// Hyperbolic tangent.
    Tanh "tanh" 1 .named(&["tanh"]).in_c().thorin("tanh").llvm("tanh").gpu(Library).opencl("tanh"),
    /// Square root.
    Sqrt "sqrt" 1 .named(&["sqrt"]).in_c().thorin("sqrt").llvm("sqrt").gpu(Llvm).opencl("sqrt"),
    /// Reciprocal square root.
    Rsqrt "rsqrt" 1 .named(&["rsqrt"]).thorin("rsqrt").gpu(Llvm).opencl("rsqrt"),
    /// Cube root.
    Cbrt "cbrt" 1 .named(&["cbrt"]).in_c().thorin("cbrt").gpu(Library).opencl("cbrt"),
    /// Power.
    Pow "pow" 2 .named(&["pow"]).in_c().thorin("pow").llvm("pow").gpu(Library).opencl("pow"),
    /// e to the x.
    Exp "exp" 1 .named(&["exp"]).in_c().thorin("exp").llvm("exp").gpu(Library).opencl("exp"),
    /// 2 to the x.
    Exp2 "exp2" 1 .named(&["exp2"]).in_c().thorin("exp2").llvm("exp2").gpu(Library).opencl("exp2"),
    /// Natural logarithm.
    Log "log" 1 .named(&["log"]).in_c().thorin("log").llvm("log").gpu(Library).opencl("log"),
    /// Binary logarithm.
    Log2 "log2" 1 .named(&["log2"]).in_c().thorin("log2").llvm("log2").gpu(Library).opencl("log2"),
    /// Decimal logarithm.
    Log10 "log10" 1 .named(&["log10"]).in_c().thorin("log10").llvm("log10").gpu(Library).opencl("log10"),
    /// Error function.
    Erf "erf" 1 .named(&["erf"]).in_c().thorin("erf").gpu(Library).opencl("erf"),
    /// 1 - erf(x)
    Erfc "erfc" 1 .named(&["erfc"]).in_c().thorin("erfc").gpu(Library).opencl("erfc"),
    /// e to the x, minus 1.
    Expm1 "expm1" 1 .named(&["expm1"]).in_c().thorin("expm1").gpu(Library).opencl("expm1"),
    /// Natural logarithm of 1 + x.
    Log1p "log1p" 1 .named(&["log1p"]).in_c().thorin("log1p").gpu(Library).opencl("log1p"),
    /// Inverse hyperbolic cosine.
    Acosh "acosh" 1 .named(&["acosh"]).in_c().thorin("acosh").gpu(Library).opencl("acosh"),
    /// Inverse hyperbolic sine.
    Asinh "asinh" 1 .named(&["asinh"]).in_c().thorin("asinh").gpu(Library).opencl("asinh"),
    /// Inverse hyperbolic tangent.
    Atanh "atanh" 1 .named(&["atanh"]).in_c().thorin("atanh").gpu(Library).opencl("atanh"),
    /// The length of a vector of two components.
    Hypot "hypot" 2 .named(&["hypot"]).in_c().thorin("hypot").gpu(Library).opencl("hypot"),
    /// Fused multiply-add: one rounding.
    Fma "fma" 3 .named(&["fma"]).in_c().thorin("fma").llvm("fma").gpu(Llvm).opencl("fma"),
    /// Multiply-add, fused if that is faster.
    Fmuladd "fmuladd" 3 .named(&["fmuladd", "mad"]).thorin("fmuladd").llvm("fmuladd").gpu(Llvm).opencl("mad"),
    /// Whether it is NaN; `bool`.
    IsNan "is_nan" 1 .bool().named(&["isnan"]).thorin("isnan").gpu(Llvm).opencl("isnan"),
    /// Whether it is neither infinite nor NaN; `bool`.
    IsFinite "is_finite" 1
        .bool().named(&["isfinite", "finite"]).thorin("isfinite").gpu(Llvm).opencl("isfinite"),
    /// Number of one bits.
    Popcount "popcount" 1 .on(Int).named(&["popcount"]).llvm("ctpop").gpu(Llvm).opencl("popcount"),
    /// Number of leading zero bits; the width for 0.
    Clz "clz" 1 .on(Int).named(&["clz"]).llvm("ctlz").gpu(Llvm).opencl("clz"),
    /// Number of trailing zero bits; the width for 0.
    Ctz "ctz" 1 .on(Int).named(&["ctz"]).llvm("cttz").gpu(Llvm).opencl("ctz"),
    /// Gathers the bits of the first selected by the second.
    Pext "pext" 2 .on(Int).llvm("x86.bmi.pext"),
    /// Scatters the bits of the first to where the second has ones.
    Pdep "pdep" 2 .on(Int).llvm("x86.bmi.pdep"),
}

macro_rules! number_fns {
    ($($(#[$meta:meta])* $function:ident $name:literal $arity:literal $(.$column:ident($($value:expr),*))*,)*) => {
        /// Functions of numbers that programs call by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum NumberFn {
            /// An operation of the graph.
            Op(MathOp),
            $($(#[$meta])* $function,)*
        }

        impl NumberFn {
            /// Those that are no operations of the graph.
            pub const LIBRARY: &'static [NumberFn] = &[$(NumberFn::$function,)*];

            /// Its row of the table.
            pub const fn info(self) -> &'static Info {
                match self {
                    NumberFn::Op(op) => op.info(),
                    $(NumberFn::$function => const { &Info::new($name, $arity)$(.$column($($value),*))* },)*
                }
            }
        }
    };
}

impl NumberFn {
    /// The types that it is declared with. Conditions are integers, as in C.
    pub fn signature(self) -> Signature {
        const NUMBERS: [Shape; 3] = [Shape::T; 3];
        let info = self.info();
        let result = if info.gives_bool { Shape::I32 } else { Shape::T };
        Signature { params: &NUMBERS[..info.arity], result }
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = NumberFn> {
        MathOp::ALL.iter().map(|&op| NumberFn::Op(op)).chain(NumberFn::LIBRARY.iter().copied())
    }
}

number_fns! {
    /// The remainder of a division that truncates.
    Fmod "fmod" 2 .named(&["fmod"]).in_c().gpu(Llvm).opencl("fmod"),
    /// Whether it is infinite; `bool`.
    IsInf "is_inf" 1 .bool().named(&["isinf"]).gpu(Llvm).opencl("isinf"),
    /// The smaller of two numbers.
    Min "min" 2 .on(Any).named(&["min"]).gpu(Llvm).opencl("min"),
    /// The larger of two numbers.
    Max "max" 2 .on(Any).named(&["max"]).gpu(Llvm).opencl("max"),
    /// The number of the lowest one bit, counted from 1; 0 if there is none.
    FirstOne "first_one" 1 .on(Int).gpu(Llvm),
    /// The bits in reverse order.
    ReverseBits "reverse_bits" 1 .on(Int).gpu(Llvm),
    /// 10 to the x.
    Exp10 "exp10" 1 .named(&["exp10"]).gpu(Library).opencl("exp10"),
    /// The cosine of pi times x.
    Cospi "cospi" 1 .named(&["cospi"]).gpu(Library),
    /// The sine of pi times x.
    Sinpi "sinpi" 1 .named(&["sinpi"]).gpu(Library),
    /// The logarithm of the gamma function's magnitude.
    Lgamma "lgamma" 1 .named(&["lgamma"]).gpu(Libdevice),
    /// The gamma function.
    Tgamma "tgamma" 1 .named(&["tgamma"]).gpu(Libdevice),
    /// Reciprocal cube root.
    Rcbrt "rcbrt" 1 .named(&["rcbrt"]).gpu(Library),
    /// The reciprocal of the length of a vector of two components.
    Rhypot "rhypot" 2 .named(&["rhypot"]).gpu(Library),
    /// The first minus the second, and 0 if that is negative.
    Fdim "fdim" 2 .named(&["fdim"]).gpu(Library),
    /// e to the x, as fast as the device can.
    NativeExp "native_exp" 1 .named(&["native_exp"]).opencl("native_exp"),
    /// Natural logarithm, as fast as the device can.
    NativeLog "native_log" 1 .named(&["native_log"]).opencl("native_log"),
    /// Reciprocal square root, as fast as the device can.
    NativeRsqrt "native_rsqrt" 1 .named(&["native_rsqrt"]).opencl("native_rsqrt"),
    /// Square root, as fast as the device can.
    NativeSqrt "native_sqrt" 1 .named(&["native_sqrt"]).opencl("native_sqrt"),
}
