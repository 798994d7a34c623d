//! Mathematical functions: of vectors our own kernels, where there are some; else LLVM's where
//! it has them, and the C library's.

use nyala_ir::functions::NumberFn;
use nyala_ir::{ArithFlags, Def, MathOp, Prim, TyKind};

use super::function::FunctionWriter;
use super::ops::fast;
use super::types::prim_type;
use super::vector_math::Kernel;
use crate::vector_math::has_kernel;

impl FunctionWriter<'_, '_> {
    pub(crate) fn math(&mut self, def: Def, op: MathOp, flags: ArithFlags, args: &[Def]) -> String {
        let prim = self.world.types.lane_prim(self.world.ty(args[0])).unwrap_or(Prim::F64);
        let ty = self.module.ty_of(args[0]);
        let values: Vec<String> = args.iter().map(|&arg| self.value(arg)).collect();
        let x = &values[0];
        let flag = if prim.is_float() { fast(flags) } else { "" };
        if let TyKind::Simd { lanes, .. } = *self.world.types.kind(self.world.ty(args[0]))
            && has_kernel(op, prim)
        {
            let kernel = Kernel { op, prim, lanes, is_relaxed: flags.fast };
            let symbol = self.module.kernel(kernel, self.span);
            let typed: Vec<String> = values.iter().map(|value| format!("{ty} {value}")).collect();
            return self.compute(op.name(), format!("call {ty} {symbol}({})", typed.join(", ")));
        }
        if flags.fast && ty == "float" {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
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
                let bits = self.compute("bits", format!("bitcast {ty} {x} to {bits_ty}"));
                self.compute("signbit", format!("icmp slt {bits_ty} {bits}, zeroinitializer"))
            }
            MathOp::IsNan => self.compute("is_nan", format!("fcmp uno {ty} {x}, zeroinitializer")),
            MathOp::IsFinite => {
                let magnitude = self.llvm_math("fabs", "", &ty, &values);
                let infinity = self.splat(args[0], prim, f64::INFINITY);
                self.compute("is_finite", format!("fcmp olt {ty} {magnitude}, {infinity}"))
            }
            MathOp::Clz | MathOp::Ctz => {
                let name = if op == MathOp::Clz { "ctlz" } else { "cttz" };
                let name = format!("llvm.{name}.{}", suffix(&ty));
                let symbol = self.module.declare(&name, &ty, &[ty.clone(), "i1 immarg".into()], self.span);
                self.compute(op.name(), format!("call {ty} {symbol}({ty} {x}, i1 false)"))
            }
            MathOp::Pext | MathOp::Pdep => self.lane_by_lane(def, op, prim, args, &values),
            // LLVM has no code of its own for these on devices.
            _ if self.module.is_in_library(NumberFn::Op(op)) => {
                self.lane_by_lane(def, op, prim, args, &values)
            }
            MathOp::Cbrt | MathOp::Erf => self.lane_by_lane(def, op, prim, args, &values),
            _ => self.llvm_math(llvm_name(op), flag, &ty, &values),
        }
    }

    /// A call of `llvm.name.type`, all of whose arguments have the type of the result.
    fn llvm_math(&mut self, name: &str, flag: &str, ty: &str, values: &[String]) -> String {
        let params = vec![ty.to_owned(); values.len()];
        let symbol = self.module.declare(&format!("llvm.{name}.{}", suffix(ty)), ty, &params, self.span);
        let typed: Vec<String> = values.iter().map(|value| format!("{ty} {value}")).collect();
        self.compute(name, format!("call {flag}{ty} {symbol}({})", typed.join(", ")))
    }

    /// A float constant of the type of `like`, the same in every lane.
    pub(crate) fn splat(&mut self, like: Def, prim: Prim, value: f64) -> String {
        let lane = super::constants::literal(prim, nyala_ir::eval::float_from_value(prim, value));
        match self.world.types.kind(self.world.ty(like)) {
            TyKind::Simd { .. } => format!("splat ({} {lane})", prim_type(prim)),
            _ => lane,
        }
    }

    /// A function that only exists for scalars.
    fn lane_by_lane(&mut self, def: Def, op: MathOp, prim: Prim, args: &[Def], values: &[String]) -> String {
        let TyKind::Simd { lanes, .. } = *self.world.types.kind(self.world.ty(args[0])) else {
            return self.scalar_call(op, prim, values);
        };
        let (vector, lane) = (self.module.ty_of(def), prim_type(prim));
        let mut all = "poison".to_owned();
        for at in 0..lanes {
            let parts: Vec<String> = values
                .iter()
                .map(|value| self.compute("lane", format!("extractelement {vector} {value}, i32 {at}")))
                .collect();
            let part = self.scalar_call(op, prim, &parts);
            all = self.compute("lanes", format!("insertelement {vector} {all}, {lane} {part}, i32 {at}"));
        }
        all
    }

    fn scalar_call(&mut self, op: MathOp, prim: Prim, values: &[String]) -> String {
        let ty = prim_type(prim);
        match (op, prim) {
            (MathOp::Pext | MathOp::Pdep, _) => self.gather_bits(op, ty, values),
            // The C library has no functions for half floats.
            (_, Prim::F16) => {
                let wide: Vec<String> = values
                    .iter()
                    .map(|value| self.compute("wide", format!("fpext half {value} to float")))
                    .collect();
                let result = self.scalar_call(op, Prim::F32, &wide);
                self.compute("narrow", format!("fptrunc float {result} to half"))
            }
            _ if self.module.options.gpu.is_some() => {
                let name = self.module.library_name(NumberFn::Op(op), ty);
                self.call_library(&name, ty, &vec![ty; values.len()], values)
            }
            (_, Prim::F32) => self.call_library(&format!("{}f", op.name()), ty, &[ty], values),
            _ => self.call_library(op.name(), ty, &[ty], values),
        }
    }

    /// `pext` and `pdep` by a function of the runtime, on 64 bits.
    fn gather_bits(&mut self, op: MathOp, ty: &str, values: &[String]) -> String {
        let mut wide = vec![];
        for value in values {
            wide.push(match ty {
                "i64" => value.clone(),
                _ => self.compute("wide", format!("zext {ty} {value} to i64")),
            });
        }
        let result = self.call_library(&format!("nyala_{}", op.name()), "i64", &["i64", "i64"], &wide);
        match ty {
            "i64" => result,
            _ => self.compute("narrow", format!("trunc i64 {result} to {ty}")),
        }
    }
}

/// How LLVM abbreviates a scalar or vector type in names.
pub(crate) fn suffix(ty: &str) -> String {
    let scalar = |ty: &str| match ty {
        "half" => "f16".to_owned(),
        "float" => "f32".to_owned(),
        "double" => "f64".to_owned(),
        "ptr" => "p0".to_owned(),
        int => int.to_owned(),
    };
    match ty.trim_matches(['<', '>']).split_once(" x ") {
        Some((lanes, lane)) => format!("v{lanes}{}", scalar(lane)),
        None => scalar(ty),
    }
}

fn unsigned_of(prim: Prim) -> Prim {
    match prim.bits() {
        16 => Prim::U16,
        32 => Prim::U32,
        _ => Prim::U64,
    }
}

/// The function of LLVM that computes an operation.
pub(crate) fn llvm_name(op: MathOp) -> &'static str {
    match op {
        // What `fmuladd` means is that one rounding is done, as folding does it.
        MathOp::Fmuladd => "fma",
        op => op.info().llvm.unwrap_or(op.name()),
    }
}
