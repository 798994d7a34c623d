//! Imported functions: of C, of the target's compiler, and intrinsics of this
//! compiler.
//!
//! Link name *and* declared type select an intrinsic, because editions of the
//! language gave one name several types. Intrinsics that compute a value become
//! nodes: in place at a direct call, otherwise in the body of a small
//! continuation that is always specialized. The others stay continuations for
//! later stages.

use nyala_ir::functions::{Domain, External, ValueOp};
use nyala_ir::{Def, Intrinsic, LaneFunction, Linkage, MathOp, Node, Prim, Ty, verify};
use nyala_sema::tree::{self, Abi, Call, Expr, ExprKind, FnId, Function};
use nyala_sema::types as sema;
use nyala_span::Name;

use crate::errors::LowerError;
use crate::lowerer::Lowerer;
use crate::numeric::NumericOp;
use crate::simd::{LaneAccess, SimdOp};

/// An intrinsic that computes a value from values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Value(ValueOp),
    /// A mathematical function of the first arguments; the number is its arity.
    Math(MathOp),
    /// An operation on simd values.
    Simd(SimdOp),
    /// An operation on numbers of any type.
    Numeric(NumericOp),
}

/// An operation with the types that its arguments do not determine.
#[derive(Clone, Copy)]
pub(crate) struct DirectOp {
    op: Op,
    /// The first type argument, for `sizeof` and `alignof`.
    of: Option<Ty>,
}

impl Op {
    /// The operation of an intrinsic's name.
    fn from_name(name: &str) -> Option<Op> {
        let value = ValueOp::from_name(name).map(Op::Value);
        value
            .or_else(|| SimdOp::from_name(name).map(Op::Simd))
            .or_else(|| MathOp::from_intrinsic_name(name).map(Op::Math))
            .or_else(|| NumericOp::from_name(name).map(Op::Numeric))
    }

    /// Its name in programs.
    fn name(self) -> &'static str {
        match self {
            Op::Value(op) => op.name(),
            Op::Math(op) => op.name(),
            Op::Simd(op) => op.name(),
            Op::Numeric(op) => op.name(),
        }
    }

    /// Its accepted types, in source syntax.
    fn shapes(self) -> &'static [&'static str] {
        match self {
            Op::Value(op) => op.shapes(),
            Op::Simd(op) => op.shapes(),
            Op::Numeric(op) => op.shapes(),
            Op::Math(op) if op.info().gives_bool => &["(f32) -> bool", "(f64) -> bool"],
            Op::Math(op) if op.arity() == 1 => &["(f32) -> f32", "(f64) -> f64"],
            Op::Math(op) if op.arity() == 2 => &["(f32, f32) -> f32", "(f64, f64) -> f64"],
            Op::Math(_) => &["(f32, f32, f32) -> f32", "(f64, f64, f64) -> f64"],
        }
    }
}

impl<'p> Lowerer<'p> {
    /// The continuation of an imported function; the frame points to its instance in the meantime.
    pub(crate) fn import(&mut self, function: &'p Function, abi: Abi, symbol: Name) -> Def {
        match abi {
            Abi::C => match self.c_math(function, symbol.as_str()) {
                Some(op) => self.wrapper(function, Op::Math(op)),
                None => self.declared(function, Linkage::Imported(symbol)),
            },
            Abi::Device => match device_math(symbol.as_str()) {
                Some(op) if self.fits_math(function, op) => self.wrapper(function, Op::Math(op)),
                _ => self.declared(function, Linkage::Device(symbol)),
            },
            Abi::Intrinsic => self.intrinsic(function, symbol),
        }
    }

    pub(crate) fn declared(&mut self, function: &Function, linkage: Linkage) -> Def {
        let cont = self.function_cont(function.name, &function.params, function.ret);
        self.world.set_linkage(cont, linkage);
        self.world.cont_def(cont)
    }

    fn intrinsic(&mut self, function: &'p Function, symbol: Name) -> Def {
        if symbol.as_str() == "compare" {
            return self.compare_intrinsic(function, symbol);
        }
        if let Some(assertion) = self.assertion_of(function) {
            return match self.fits_assertion(function, assertion) {
                true => self.assertion_function(function, assertion),
                false => self.wrong_shape(function, symbol, assertion.shapes()),
            };
        }
        if let Some(lane_function) = LaneFunction::from_name(symbol.as_str()) {
            return self.lane_function(function, symbol, lane_function);
        }
        if let Some(access) = LaneAccess::from_name(symbol.as_str()) {
            return self.lane_access(function, symbol, access);
        }
        if let Some(op) = Op::from_name(symbol.as_str()) {
            return match self.fits(function, op) {
                true => self.wrapper(function, op),
                false => self.wrong_shape(function, symbol, op.shapes()),
            };
        }
        let Some(intrinsic) = Intrinsic::from_declared_name(symbol.as_str()) else {
            self.errors.push(LowerError::UnknownIntrinsic { name: symbol, at: function.span });
            let ty = self.ty(function.ty);
            return self.world.undef(ty);
        };
        let declaration = intrinsic.declaration();
        if !declaration.arities.contains(&function.params.len()) {
            return self.wrong_shape(function, symbol, declaration.shapes);
        }
        self.declared(function, Linkage::Intrinsic(intrinsic))
    }

    /// Reports a wrong type of an intrinsic.
    pub(crate) fn wrong_shape(
        &mut self,
        function: &Function,
        name: Name,
        accepted: &'static [&'static str],
    ) -> Def {
        let found = self.types.display(function.ty).to_string();
        self.errors.push(LowerError::IntrinsicShape { name, at: function.span, found, accepted });
        let ty = self.ty(function.ty);
        self.world.undef(ty)
    }

    /// A continuation that returns the value of an operation on its parameters.
    fn wrapper(&mut self, function: &'p Function, op: Op) -> Def {
        let cont = self.function_cont(function.name, &function.params, function.ret);
        let defs = self.world.cont(cont).params.clone();
        let [mem, args @ .., ret] = &defs[..] else { unreachable!("operations return their value") };
        let of = function.tparams.first().map(|&param| {
            let ty = self.types.intern(sema::TyKind::Param(param));
            self.ty(ty)
        });
        let result = self.ty(function.ret);
        let value = self.build_op(DirectOp { op, of }, args, result);
        let takes = self.world.types.as_cn(self.world.ty(*ret)).expect("a return continuation")[1..].to_vec();
        let mut all = vec![*mem];
        all.extend(self.adapt_args(&[value], &takes));
        self.world.set_body(cont, *ret, all);
        self.specialize_always(cont);
        self.world.cont_def(cont)
    }

    // ---- Operations in place ---------------------------------------------------------

    /// The operation of `call`, if its callee is an operation by name.
    pub(crate) fn direct_op(&mut self, call: &Call) -> Option<DirectOp> {
        let ExprKind::Fn(id, args) = &call.callee.kind else { return None };
        let op = self.op_of(*id)?;
        let function = &self.program.fns[*id];
        if call.is_jump || call.args.len() != function.params.len() {
            return None;
        }
        let of = match op {
            Op::Value(ValueOp::SizeOf | ValueOp::AlignOf) => args.first().map(|&arg| self.ty(arg)),
            _ => None,
        };
        Some(DirectOp { op, of })
    }

    /// The operation of a function.
    fn op_of(&mut self, id: FnId) -> Option<Op> {
        let function = &self.program.fns[id];
        let tree::Linkage::Import { abi, symbol } = function.linkage else { return None };
        match abi {
            Abi::C => self.c_math(function, symbol.as_str()).map(Op::Math),
            Abi::Device => {
                let op = device_math(symbol.as_str())?;
                self.fits_math(function, op).then_some(Op::Math(op))
            }
            Abi::Intrinsic => {
                let op = Op::from_name(symbol.as_str())?;
                self.fits(function, op).then_some(op)
            }
        }
    }

    /// The value of a direct call of an operation.
    pub(crate) fn direct_value(&mut self, expr: &'p Expr, call: &'p Call, op: DirectOp) -> Option<Def> {
        let args = self.arguments(&call.args)?;
        self.at(expr.span);
        let result = self.ty(expr.ty);
        let value = self.build_op(op, &args, result);
        Some(self.demanded(value))
    }

    /// The node of an operation, in a filter.
    pub(crate) fn op_node(&mut self, expr: &Expr, op: DirectOp, args: &[Def]) -> Def {
        let result = self.ty(expr.ty);
        self.build_op(op, args, result)
    }

    fn build_op(&mut self, DirectOp { op, of }: DirectOp, args: &[Def], result: Ty) -> Def {
        if let Err(reason) = self.check_op(op, args, result) {
            self.errors.push(LowerError::OperandTypes { name: op.name(), at: self.world.span, reason });
            return self.world.undef(result);
        }
        match op {
            Op::Value(op) => self.build_value(op, of, args, result),
            Op::Math(op) => {
                let flags = self.flags(self.world.ty(args[0]));
                self.world.math(op, flags, &args[..op.arity()])
            }
            Op::Simd(op) => op.build(&mut self.world, args, result),
            Op::Numeric(op) => self.numeric_op(op, args),
        }
    }

    /// The declaration was checked, so the number of arguments is right.
    fn build_value(&mut self, op: ValueOp, of: Option<Ty>, args: &[Def], result: Ty) -> Def {
        match op {
            ValueOp::Bitcast => self.world.bitcast(result, args[0]),
            ValueOp::Select => self.world.select(args[0], args[1], args[2]),
            ValueOp::Insert => self.world.insert(args[0], args[1], args[2]),
            ValueOp::SizeOf => self.size_of(result, of.expect("`sizeof` has a type argument")),
            ValueOp::AlignOf => self.world.align_of(result, of.expect("`alignof` has a type argument")),
            ValueOp::Undef => self.world.undef(result),
            ValueOp::Zeroed => self.world.zero(result).unwrap_or_else(|| {
                let reason = format!("`{}` has no zero", self.world.types.display(result));
                self.errors.push(LowerError::OperandTypes { name: op.name(), at: self.world.span, reason });
                self.world.undef(result)
            }),
            ValueOp::Known => self.world.known(args[0]),
            ValueOp::Checked => self.world.lit_bool(self.options.demands),
            ValueOp::Streaming => self.world.streaming(args[0]),
        }
    }

    /// The size of a type, which must fit into `result`.
    fn size_of(&mut self, result: Ty, of: Ty) -> Def {
        let max = match self.world.types.as_prim(result) {
            Some(prim) => u64::MAX >> (64 - prim.bits() + u32::from(prim.is_signed())),
            None => u64::MAX,
        };
        // Sizes saturate, so the largest number means overflow.
        let size = self.world.layout(of).size;
        if size > max || size == u64::MAX {
            let [of, result] = [of, result].map(|ty| self.world.types.display(ty).to_string());
            self.errors.push(LowerError::SizeTooLarge { of, result, at: self.world.span });
        }
        self.world.size_of(result, of)
    }

    /// Whether an operation supports these types.
    fn check_op(&self, op: Op, args: &[Def], result: Ty) -> Result<(), String> {
        let world = &self.world;
        let op = match op {
            Op::Value(op) => op,
            Op::Math(op) => return verify::check_math(world, op, &args[..op.arity()], result),
            Op::Simd(op) => return op.check(world, args, result),
            Op::Numeric(op) => return op.check(world, args, result),
        };
        let node = match op {
            ValueOp::Bitcast => Node::Bitcast(args[0]),
            ValueOp::Select => Node::Select { cond: args[0], then: args[1], other: args[2] },
            ValueOp::Insert => Node::Insert { agg: args[0], index: args[1], value: args[2] },
            ValueOp::Streaming => Node::Streaming(args[0]),
            // All types.
            ValueOp::SizeOf
            | ValueOp::AlignOf
            | ValueOp::Undef
            | ValueOp::Zeroed
            | ValueOp::Known
            | ValueOp::Checked => return Ok(()),
        };
        verify::check_node(world, node, result)
    }

    // ---- Declared types ---------------------------------------------------------------

    /// Whether an operation can have the type it is declared with.
    fn fits(&mut self, function: &Function, op: Op) -> bool {
        match op {
            Op::Value(op) => self.fits_value(function, op),
            Op::Math(op) => self.fits_math(function, op),
            // The types are checked where it is called.
            Op::Simd(op) => function.params.len() == op.arity() && function.ret != self.types.never(),
            Op::Numeric(op) => {
                function.params.len() == op.arity()
                    && function.params.iter().all(|param| param.ty == function.ret)
            }
        }
    }

    fn fits_value(&mut self, function: &Function, op: ValueOp) -> bool {
        let params: Vec<sema::Ty> = function.params.iter().map(|param| param.ty).collect();
        let (ret, params) = (function.ret, &params[..]);
        let prim = |ty: sema::Ty| match self.types.kind(ty) {
            sema::TyKind::Prim(prim) => Some(*prim),
            _ => None,
        };
        let is_int = |ty: sema::Ty| prim(ty).is_some_and(sema::Prim::is_int);
        match op {
            ValueOp::Bitcast => params.len() == 1 && ret != self.types.never(),
            ValueOp::Select => matches!(params, &[_, then, other] if then == other && ret == then),
            ValueOp::Insert => matches!(params, &[whole, index, _] if ret == whole && is_int(index)),
            ValueOp::SizeOf | ValueOp::AlignOf => {
                params.is_empty() && function.tparams.len() == 1 && is_int(ret)
            }
            ValueOp::Undef | ValueOp::Zeroed => params.is_empty() && ret != self.types.never(),
            ValueOp::Known => params.len() == 1 && prim(ret) == Some(sema::Prim::Bool),
            ValueOp::Checked => params.is_empty() && prim(ret) == Some(sema::Prim::Bool),
            ValueOp::Streaming => params == [ret],
        }
    }

    /// The function of C's mathematical library with this name, which also determines the type.
    fn c_math(&mut self, function: &Function, symbol: &str) -> Option<MathOp> {
        let external = External::named(symbol)?;
        let op = external.c_op()?;
        let prim = match self.types.kind(function.params.first()?.ty) {
            sema::TyKind::Prim(prim) => *prim,
            _ => return None,
        };
        let is_right = match prim {
            sema::Prim::F32 => external.written == Some(Prim::F32),
            sema::Prim::F64 => external.written.is_none(),
            _ => false,
        };
        (is_right && self.fits_math(function, op)).then_some(op)
    }

    /// Whether a mathematical function can have the type it is declared with.
    fn fits_math(&mut self, function: &Function, op: MathOp) -> bool {
        // The flag of `llvm.ctlz` and `llvm.cttz` does not affect the value.
        let n_flags = usize::from(matches!(op, MathOp::Clz | MathOp::Ctz));
        let n_params = function.params.len();
        let Some(first) = function.params.first().map(|param| param.ty) else { return false };
        let args = &function.params[..op.arity().min(n_params)];
        let info = op.info();
        let ret_fits =
            if info.gives_bool { function.ret == self.types.bool() } else { function.ret == first };
        let lane = match self.types.kind(first) {
            sema::TyKind::Simd(lane, _) => *lane,
            _ => first,
        };
        let lane_fits = match self.types.kind(lane) {
            sema::TyKind::Prim(prim) => match info.domain {
                Domain::Int => prim.is_int(),
                Domain::Float => prim.is_float(),
                Domain::Any => prim.is_int() || prim.is_float(),
            },
            // Checked at instantiation: the prelude instantiates it with numbers only.
            sema::TyKind::Param(_) => true,
            _ => false,
        };
        (op.arity()..=op.arity() + n_flags).contains(&n_params)
            && args.iter().all(|param| param.ty == first)
            && ret_fits
            && lane_fits
    }
}

/// The mathematical function of an LLVM intrinsic.
fn device_math(name: &str) -> Option<MathOp> {
    External::named(name)?.llvm_op()
}
