//! Mathematical functions: the kernels of `vector_math` for vectors and on GPUs, else LLVM's intrinsics, else the C
//! library.

use nyala_ir::functions::NumberFn;
use nyala_ir::{ArithFlags, Def, MathOp, Prim, TyKind};

use super::function::FunctionWriter;
use super::ops::fast;
use super::value::{Scalar, Type, Value, list};
use super::vector_math::Kernel;
use crate::vector_math::has_kernel;

impl FunctionWriter<'_, '_> {
    pub(crate) fn math(&mut self, op: MathOp, flags: ArithFlags, args: &[Def]) -> String {
        let prim = self.world.types.lane_prim(self.world.ty(args[0])).unwrap_or(Prim::F64);
        let ty = self.module.ty_of(args[0]);
        let values: Vec<Value> = args.iter().map(|&arg| self.typed(arg)).collect();
        let x = &values[0];
        let flag = if prim.is_float() { fast(flags) } else { "" };
        if let TyKind::Simd { lanes, .. } = *self.world.types.kind(self.world.ty(args[0]))
            && has_kernel(NumberFn::Op(op), prim)
        {
            let kernel = Kernel {
                lanes: Some(lanes),
                is_relaxed: flags.fast,
                shares_angle: self.angles.has_both(&self.flow, op, args),
                ..Kernel::new(NumberFn::Op(op), prim)
            };
            return self.kernel(kernel, &values);
        }
        if flags.fast && ty == Type::FLOAT {
            let values: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
            if let Some(value) = self.approximate(op, &values) {
                return value;
            }
        }
        match op {
            MathOp::Rsqrt => {
                let root = self.llvm_math("sqrt", flag, &ty, &values);
                let one = self.splat(args[0], prim, 1.0);
                self.compute("rsqrt", format!("fdiv {flag}{ty} {one}, {root}"))
            }
            MathOp::Signbit => {
                let bits_ty = self.same_lanes(self.world.ty(args[0]), unsigned_of(prim));
                let bits = self.compute("bits", format!("bitcast {x} to {bits_ty}"));
                self.compute("signbit", format!("icmp slt {bits_ty} {bits}, zeroinitializer"))
            }
            MathOp::IsNan => self.compute("is_nan", format!("fcmp uno {x}, zeroinitializer")),
            MathOp::IsFinite => {
                let magnitude = self.llvm_math("fabs", "", &ty, &values);
                let infinity = self.splat(args[0], prim, f64::INFINITY);
                self.compute("is_finite", format!("fcmp olt {ty} {magnitude}, {infinity}"))
            }
            MathOp::Clz | MathOp::Ctz => {
                let name = if op == MathOp::Clz { "ctlz" } else { "cttz" };
                let name = format!("llvm.{name}.{}", ty.suffix());
                let symbol =
                    self.module.declare(&name, &ty, &[&ty.to_string(), "i1 immarg"], self.flow.span());
                self.compute(op.name(), format!("call {ty} {symbol}({x}, i1 false)"))
            }
            MathOp::Pext | MathOp::Pdep => self.lane_by_lane(op, flags, args, &values),
            // LLVM has no code for these, or none on devices.
            _ if op.info().llvm.is_none() || self.module.is_in_library(NumberFn::Op(op)) => {
                self.lane_by_lane(op, flags, args, &values)
            }
            _ => self.llvm_math(llvm_name(op), flag, &ty, &values),
        }
    }

    /// A call of a kernel.
    pub(crate) fn kernel(&mut self, kernel: Kernel, values: &[Value]) -> String {
        let symbol = self.module.kernel(kernel, self.flow.span());
        self.compute(
            kernel.function.info().name,
            format!("call {} {symbol}({})", kernel.float(), list(values)),
        )
    }

    /// A call of `llvm.name.type`, all of whose arguments have the type of the result.
    fn llvm_math(&mut self, name: &str, flag: &str, ty: &Type, values: &[Value]) -> String {
        let symbol = format!("llvm.{name}.{}", ty.suffix());
        let symbol = self.module.declare_for(&symbol, ty, values, self.flow.span());
        self.compute(name, format!("call {flag}{ty} {symbol}({})", list(values)))
    }

    /// A float constant of the type of `like`, broadcast to all lanes.
    pub(crate) fn splat(&mut self, like: Def, prim: Prim, value: f64) -> String {
        let lane = super::constants::literal(prim, nyala_ir::eval::float_from_value(prim, value));
        match self.world.types.kind(self.world.ty(like)) {
            TyKind::Simd { .. } => format!("splat ({} {lane})", Scalar::from(prim)),
            _ => lane,
        }
    }

    /// A function that exists for scalars only.
    fn lane_by_lane(&mut self, op: MathOp, flags: ArithFlags, args: &[Def], values: &[Value]) -> String {
        let prim = self.world.types.lane_prim(self.world.ty(args[0])).unwrap_or(Prim::F64);
        let TyKind::Simd { lanes, .. } = *self.world.types.kind(self.world.ty(args[0])) else {
            return self.scalar_call(op, prim, flags, values);
        };
        self.each_lane(lanes, prim, values, |writer, parts| writer.scalar_call(op, prim, flags, parts))
    }

    /// Calls `compute` with the parts of vectors for each lane; returns the vector of its results.
    pub(crate) fn each_lane(
        &mut self,
        lanes: u32,
        prim: Prim,
        values: &[Value],
        mut compute: impl FnMut(&mut Self, &[Value]) -> String,
    ) -> String {
        let (vector, lane) = (Type::vector(lanes, prim), Scalar::from(prim));
        let mut all = "poison".to_owned();
        for at in 0..lanes {
            let mut part = |value: &Value| {
                Value::new(lane, self.compute("lane", format!("extractelement {value}, i32 {at}")))
            };
            let parts: Vec<Value> = values.iter().map(&mut part).collect();
            let part = compute(self, &parts);
            all = self.compute("lanes", format!("insertelement {vector} {all}, {lane} {part}, i32 {at}"));
        }
        all
    }

    /// Computes with half floats as `float`s.
    pub(crate) fn in_f32(
        &mut self,
        values: &[Value],
        compute: impl FnOnce(&mut Self, &[Value]) -> String,
    ) -> String {
        let mut widen =
            |value: &Value| Value::new(Type::FLOAT, self.compute("wide", format!("fpext {value} to float")));
        let wide: Vec<Value> = values.iter().map(&mut widen).collect();
        let result = compute(self, &wide);
        self.compute("narrow", format!("fptrunc float {result} to half"))
    }

    fn scalar_call(&mut self, op: MathOp, prim: Prim, flags: ArithFlags, values: &[Value]) -> String {
        let ty = Type::from(prim);
        match (op, prim) {
            (MathOp::Pext | MathOp::Pdep, _) => self.gather_bits(op, &ty, values),
            // The C library has no functions for half floats.
            (_, Prim::F16) => {
                self.in_f32(values, |writer, wide| writer.scalar_call(op, Prim::F32, flags, wide))
            }
            _ if self.module.options.gpu.is_some() => {
                self.library_function(NumberFn::Op(op), prim, flags.fast, values)
            }
            (_, Prim::F32) => self.call_library(&format!("{}f", op.name()), &ty, values),
            _ => self.call_library(op.name(), &ty, values),
        }
    }

    /// `pext` and `pdep` by a function of the runtime, on 64 bits.
    fn gather_bits(&mut self, op: MathOp, ty: &Type, values: &[Value]) -> String {
        let mut wide = vec![];
        for value in values {
            wide.push(match *ty {
                Type::I64 => value.clone(),
                _ => Value::new(Type::I64, self.compute("wide", format!("zext {value} to i64"))),
            });
        }
        let result = self.call_library(&format!("nyala_{}", op.name()), &Type::I64, &wide);
        match *ty {
            Type::I64 => result,
            _ => self.compute("narrow", format!("trunc i64 {result} to {ty}")),
        }
    }
}

fn unsigned_of(prim: Prim) -> Prim {
    match prim.bits() {
        16 => Prim::U16,
        32 => Prim::U32,
        _ => Prim::U64,
    }
}

/// The intrinsic of an operation.
pub(crate) fn llvm_name(op: MathOp) -> &'static str {
    match op {
        // `fmuladd` rounds once, as folding does.
        MathOp::Fmuladd => "fma",
        op => op.info().llvm.unwrap_or(op.name()),
    }
}
