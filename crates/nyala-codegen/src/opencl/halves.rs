//! `f16` for devices with and without `cl_khr_fp16`.
//!
//! The same source is compiled for all devices, and many have no arithmetic on `half`. So an `f16` is a `ushort`
//! with its bits, in memory, in parameters and in variables. Operations convert their operands to `float`, compute
//! with it, and round the result. The conversions are `vload_half` and `vstore_half_rte`, which every device has.
//!
//! For `+`, `-`, `*`, `/` and the square root, rounding to `float` and then to `f16` gives the same as rounding
//! once, as `float` has more than twice the digits and two more. But OpenCL's `/` and `sqrt` on `float` are not
//! rounded correctly, so a step of Newton's method follows them; and the sum in `fma` is rounded to odd, which
//! makes the second rounding correct.

use nyala_ir::{ArithOp, Def, MathOp, Prim};

use super::ModuleWriter;
use super::function::FunctionWriter;

/// A function on `f16` values that the program defines for itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HalfHelper {
    op: HalfOp,
    lanes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HalfOp {
    /// To `float`.
    Widen,
    /// From `float`, rounded.
    Round,
    /// From `double`, rounded.
    RoundDouble,
    /// A quotient of `float` values, rounded correctly.
    Divide,
    /// A square root of `float` values, rounded correctly.
    Root,
    /// `a * b + c` on `float` values that were `f16`, rounded to odd.
    MultiplyAdd,
}

impl HalfHelper {
    fn name(self) -> String {
        let name = match self.op {
            HalfOp::Widen => "to_float",
            HalfOp::Round => "from_float",
            HalfOp::RoundDouble => "from_double",
            HalfOp::Divide => "divide",
            HalfOp::Root => "sqrt",
            HalfOp::MultiplyAdd => "fma",
        };
        format!("nyala_f16_{name}{}", self.suffix())
    }

    /// The suffix of vector types and of functions on vectors.
    fn suffix(self) -> String {
        if self.lanes == 1 { String::new() } else { self.lanes.to_string() }
    }

    /// Its definition.
    pub(super) fn definition(self) -> String {
        let (name, n) = (self.name(), self.suffix());
        match self.op {
            HalfOp::Widen => format!(
                "static float{n} {name}(ushort{n} bits) {{ return vload_half{n}(0, (__private half*)&bits); }}\n"
            ),
            HalfOp::Round => self.round("float"),
            HalfOp::RoundDouble => self.round("double"),
            HalfOp::Divide => self.lane_by_lane(
                &["a", "b"],
                &[
                    "    float q = a / b;",
                    "    return isfinite(q) && q != 0 && isfinite(b) ? q + fma(-q, b, a) / b : q;",
                ],
            ),
            HalfOp::Root => self.lane_by_lane(
                &["a"],
                &[
                    "    float r = sqrt(a);",
                    "    return isfinite(r) && r != 0 ? r + fma(-r, r, a) / (2 * r) : r;",
                ],
            ),
            HalfOp::MultiplyAdd => self.lane_by_lane(
                &["a", "b", "c"],
                &[
                    // Products of two numbers of 11 digits are exact.
                    "    float p = a * b;",
                    "    float s = p + c;",
                    "    float t = s - p;",
                    "    float e = (p - (s - t)) + (c - t);",
                    "    if (!isfinite(s) || e == 0 || (as_uint(s) & 1)) return s;",
                    "    return as_float((e > 0) == (s > 0) ? as_uint(s) + 1 : as_uint(s) - 1);",
                ],
            ),
        }
    }

    fn round(self, from: &str) -> String {
        let (name, n) = (self.name(), self.suffix());
        format!(
            "static ushort{n} {name}({from}{n} value) {{\n    ushort{n} bits;\n    vstore_half{n}_rte(value, 0, (__private half*)&bits);\n    return bits;\n}}\n"
        )
    }

    /// A function on `float` values; on vectors it calls that on scalars for each lane.
    fn lane_by_lane(self, params: &[&str], body: &[&str]) -> String {
        let (name, n) = (self.name(), self.suffix());
        let typed =
            |ty: &str| params.iter().map(|param| format!("{ty} {param}")).collect::<Vec<_>>().join(", ");
        if self.lanes == 1 {
            let pragma = "    #pragma OPENCL FP_CONTRACT OFF\n";
            return format!("static float {name}({}) {{\n{pragma}{}\n}}\n", typed("float"), body.join("\n"));
        }
        let scalar = HalfHelper { lanes: 1, ..self }.name();
        let lane = |lane: u32| {
            let args: Vec<String> = params.iter().map(|param| format!("{param}.s{lane:x}")).collect();
            format!("{scalar}({})", args.join(", "))
        };
        let all: Vec<String> = (0..self.lanes).map(lane).collect();
        format!(
            "static float{n} {name}({}) {{ return (float{n})({}); }}\n",
            typed(&format!("float{n}")),
            all.join(", ")
        )
    }
}

impl ModuleWriter<'_> {
    /// A call of a helper, which the program then defines; one on vectors needs that on scalars.
    fn half_call(&mut self, op: HalfOp, lanes: u32, args: &[String]) -> String {
        if matches!(op, HalfOp::Divide | HalfOp::Root | HalfOp::MultiplyAdd) {
            self.half_helpers.insert(HalfHelper { op, lanes: 1 });
        }
        let helper = HalfHelper { op, lanes };
        self.half_helpers.insert(helper);
        format!("{}({})", helper.name(), args.join(", "))
    }

    /// An `f16` value as `float`.
    pub(super) fn widened(&mut self, value: &str, lanes: u32) -> String {
        self.half_call(HalfOp::Widen, lanes, &[value.to_owned()])
    }

    /// A `float` value as `f16`.
    pub(super) fn rounded(&mut self, value: &str, lanes: u32) -> String {
        self.half_call(HalfOp::Round, lanes, &[value.to_owned()])
    }
}

impl FunctionWriter<'_, '_> {
    /// Whether a value is `f16`, or has lanes that are.
    pub(super) fn is_half(&self, def: Def) -> bool {
        self.world.types.lane_prim(self.world.ty(def)) == Some(Prim::F16)
    }

    /// An operand; `f16` is converted to `float`.
    pub(super) fn operand(&mut self, def: Def) -> String {
        let value = self.value(def);
        match self.is_half(def) {
            true => self.module.widened(&value.to_string(), self.lanes(def).unwrap_or(1)),
            false => value.to_string(),
        }
    }

    /// An operator on `f16`.
    pub(super) fn half_arith(&mut self, op: ArithOp, lhs: Def, rhs: Def) -> String {
        let lanes = self.lanes(lhs).unwrap_or(1);
        let args = [self.operand(lhs), self.operand(rhs)];
        let wide = match op {
            ArithOp::Rem => format!("fmod({}, {})", args[0], args[1]),
            ArithOp::Div => self.module.half_call(HalfOp::Divide, lanes, &args),
            _ => format!("{} {} {}", args[0], op.sign(), args[1]),
        };
        self.module.rounded(&wide, lanes)
    }

    /// A mathematical function on `f16`; `name` is that of the function on `float`.
    pub(super) fn half_math(&mut self, def: Def, op: MathOp, name: &str, args: &[Def]) -> String {
        let lanes = self.lanes(args[0]).unwrap_or(1);
        let args: Vec<String> = args.iter().map(|&arg| self.operand(arg)).collect();
        let wide = match op {
            MathOp::Sqrt => self.module.half_call(HalfOp::Root, lanes, &args),
            MathOp::Fma | MathOp::Fmuladd => self.module.half_call(HalfOp::MultiplyAdd, lanes, &args),
            _ => format!("{name}({})", args.join(", ")),
        };
        if self.is_half(def) { self.module.rounded(&wide, lanes) } else { wide }
    }

    /// A conversion to `f16` from another type. Integers that `float` cannot represent are out of the range of `f16`.
    pub(super) fn half_cast(&mut self, from: Def) -> String {
        let (value, lanes) = (self.value(from).to_string(), self.lanes(from).unwrap_or(1));
        match self.world.types.lane_prim(self.world.ty(from)) {
            Some(Prim::F64) => self.module.half_call(HalfOp::RoundDouble, lanes, &[value]),
            Some(Prim::F32) => self.module.rounded(&value, lanes),
            _ if lanes > 1 => self.module.rounded(&format!("convert_float{lanes}({value})"), lanes),
            _ => self.module.rounded(&format!("(float){value}"), lanes),
        }
    }
}
