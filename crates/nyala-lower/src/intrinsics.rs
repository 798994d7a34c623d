//! Functions that are declared here and defined elsewhere: by C code, by the
//! target's compiler, by this compiler.
//!
//! Intrinsics are known by link name *and* declared type, because the language's
//! generations gave one name several types. Those that compute a value become
//! nodes: at a direct call in place, elsewhere in the body of a small
//! continuation that is always specialised. The others stay continuations that
//! later stages know.

use nyala_ir::{Def, Intrinsic, LaneFunction, Linkage, MathOp, Node, Ty, verify};
use nyala_sema::tree::{self, Abi, Call, Expr, ExprKind, FnId, Function};
use nyala_sema::types as sema;
use nyala_span::Name;

use crate::errors::LowerError;
use crate::lowerer::Lowerer;
use crate::simd::{LaneAccess, SimdOp};

/// An intrinsic that computes a value from values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Bitcast,
    Select,
    Insert,
    SizeOf,
    AlignOf,
    Undef,
    Zeroed,
    Known,
    Streaming,
    /// A mathematical function of the first so many arguments.
    Math(MathOp),
    /// An operation on simd values.
    Simd(SimdOp),
}

/// What an operation says about types that its arguments do not.
#[derive(Clone, Copy)]
pub(crate) struct DirectOp {
    op: Op,
    /// The first type argument, for `sizeof` and `alignof`.
    of: Option<Ty>,
}

impl Op {
    /// The name that programs call it by.
    fn name(self) -> &'static str {
        match self {
            Op::Bitcast => "bitcast",
            Op::Select => "select",
            Op::Insert => "insert",
            Op::SizeOf => "sizeof",
            Op::AlignOf => "alignof",
            Op::Undef => "undef",
            Op::Zeroed => "zeroed",
            Op::Known => "pe_known",
            Op::Streaming => "streaming",
            Op::Math(op) => op.name(),
            Op::Simd(op) => op.name(),
        }
    }
}

impl<'p> Lowerer<'p> {
    /// The continuation of an imported function, whose instance is the frame's for now.
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
        if let Some(lane_function) = LaneFunction::from_name(symbol.as_str()) {
            return self.lane_function(function, symbol, lane_function);
        }
        if let Some(access) = LaneAccess::from_name(symbol.as_str()) {
            return self.lane_access(function, symbol, access);
        }
        if let Some(op) = value_op(symbol.as_str()) {
            return match self.fits(function, op) {
                true => self.wrapper(function, op),
                false => self.wrong_shape(function, symbol, op_shapes(op)),
            };
        }
        let name = if symbol.as_str() == "amdgpu" { "amdgpu_hsa" } else { symbol.as_str() };
        let shapes =
            Intrinsic::from_name(name).and_then(|intrinsic| Some((intrinsic, intrinsic_shapes(intrinsic)?)));
        let Some((intrinsic, (arities, shapes))) = shapes else {
            self.errors.push(LowerError::UnknownIntrinsic { name: symbol, at: function.span });
            let ty = self.ty(function.ty);
            return self.world.undef(ty);
        };
        if !arities.contains(&function.params.len()) {
            return self.wrong_shape(function, symbol, shapes);
        }
        self.declared(function, Linkage::Intrinsic(intrinsic))
    }

    /// Reports a type that an intrinsic never had.
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
        self.specialise_always(cont);
        self.world.cont_def(cont)
    }

    // ---- Operations in place ---------------------------------------------------------

    /// The operation that `call` is, if its callee is one by name.
    pub(crate) fn direct_op(&mut self, call: &Call) -> Option<DirectOp> {
        let ExprKind::Fn(id, args) = &call.callee.kind else { return None };
        let op = self.op_of(*id)?;
        let function = &self.program.fns[*id];
        if call.is_jump || call.args.len() != function.params.len() {
            return None;
        }
        let of = match op {
            Op::SizeOf | Op::AlignOf => args.first().map(|&arg| self.ty(arg)),
            _ => None,
        };
        Some(DirectOp { op, of })
    }

    /// The operation that a function stands for.
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
                let op = value_op(symbol.as_str())?;
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
        match (op, args) {
            (Op::Bitcast, &[value]) => self.world.bitcast(result, value),
            (Op::Select, &[cond, then, other]) => self.world.select(cond, then, other),
            (Op::Insert, &[whole, index, part]) => self.world.insert(whole, index, part),
            (Op::SizeOf, _) => self.world.size_of(result, of.expect("`sizeof` has a type argument")),
            (Op::AlignOf, _) => self.world.align_of(result, of.expect("`alignof` has a type argument")),
            (Op::Undef, _) => self.world.undef(result),
            (Op::Zeroed, _) => self.world.zero(result).unwrap_or_else(|| {
                let reason = format!("`{}` has no zero", self.world.types.display(result));
                self.errors.push(LowerError::OperandTypes { name: op.name(), at: self.world.span, reason });
                self.world.undef(result)
            }),
            (Op::Known, &[value]) => self.world.known(value),
            (Op::Streaming, &[ptr]) => self.world.streaming(ptr),
            (Op::Math(op), args) => {
                let flags = self.flags(self.world.ty(args[0]));
                self.world.math(op, flags, &args[..op.arity()])
            }
            (Op::Simd(op), args) => op.build(&mut self.world, args, result),
            _ => unreachable!("declarations are checked before they are used"),
        }
    }

    /// Whether an operation works on the types that a program has chosen for it.
    fn check_op(&self, op: Op, args: &[Def], result: Ty) -> Result<(), String> {
        let world = &self.world;
        let node = match (op, args) {
            (Op::Bitcast, &[value]) => Node::Bitcast(value),
            (Op::Select, &[cond, then, other]) => Node::Select { cond, then, other },
            (Op::Insert, &[agg, index, value]) => Node::Insert { agg, index, value },
            (Op::Streaming, &[ptr]) => Node::Streaming(ptr),
            (Op::Math(op), args) => return verify::check_math(world, op, &args[..op.arity()], result),
            (Op::Simd(op), args) => return op.check(world, args, result),
            _ => return Ok(()),
        };
        verify::check_node(world, node, result)
    }

    // ---- Declared types ---------------------------------------------------------------

    /// Whether an operation can have the type it is declared with.
    fn fits(&mut self, function: &Function, op: Op) -> bool {
        let params: Vec<sema::Ty> = function.params.iter().map(|param| param.ty).collect();
        let ret = function.ret;
        let prim = |ty: sema::Ty| match self.types.kind(ty) {
            sema::TyKind::Prim(prim) => Some(*prim),
            _ => None,
        };
        match (op, &params[..]) {
            (Op::Bitcast, [_]) => ret != self.types.never(),
            (Op::Select, [_, then, other]) => then == other && ret == *then,
            (Op::Insert, [whole, index, _]) => ret == *whole && prim(*index).is_some_and(sema::Prim::is_int),
            (Op::SizeOf | Op::AlignOf, []) => {
                function.tparams.len() == 1 && prim(ret).is_some_and(sema::Prim::is_int)
            }
            (Op::Undef | Op::Zeroed, []) => ret != self.types.never(),
            (Op::Known, [_]) => prim(ret) == Some(sema::Prim::Bool),
            (Op::Streaming, [ptr]) => ret == *ptr,
            (Op::Math(op), _) => self.fits_math(function, op),
            // The types are checked where it is called.
            (Op::Simd(op), params) => params.len() == op.arity() && ret != self.types.never(),
            _ => false,
        }
    }

    /// The function of C's mathematical library that a declaration means. C says what they do, so
    /// calls of them need no call.
    fn c_math(&mut self, function: &Function, symbol: &str) -> Option<MathOp> {
        let first = function.params.first()?.ty;
        let name = match self.types.kind(first) {
            sema::TyKind::Prim(sema::Prim::F32) => symbol.strip_suffix('f')?,
            sema::TyKind::Prim(sema::Prim::F64) => symbol,
            _ => return None,
        };
        let is_own =
            |op: &MathOp| matches!(op, MathOp::Signbit | MathOp::RoundEven | MathOp::Rsqrt | MathOp::Fmuladd);
        let op = float_op(name).filter(|op| !is_own(op))?;
        self.fits_math(function, op).then_some(op)
    }

    /// Whether a mathematical function can have the type it is declared with.
    fn fits_math(&mut self, function: &Function, op: MathOp) -> bool {
        // `llvm.ctlz` and `llvm.cttz` have a flag that says nothing about the value.
        let n_flags = usize::from(matches!(op, MathOp::Clz | MathOp::Ctz));
        let n_params = function.params.len();
        let Some(first) = function.params.first().map(|param| param.ty) else { return false };
        let args = &function.params[..op.arity().min(n_params)];
        let gives_bool = matches!(op, MathOp::Signbit | MathOp::IsNan | MathOp::IsFinite);
        let ret_fits = if gives_bool { function.ret == self.types.bool() } else { function.ret == first };
        let is_on_ints =
            matches!(op, MathOp::Popcount | MathOp::Clz | MathOp::Ctz | MathOp::Pext | MathOp::Pdep);
        let lane = match self.types.kind(first) {
            sema::TyKind::Simd(lane, _) => *lane,
            _ => first,
        };
        let lane_fits = match self.types.kind(lane) {
            sema::TyKind::Prim(prim) => {
                if is_on_ints {
                    prim.is_int()
                } else {
                    prim.is_float()
                }
            }
            // Checked where it is instantiated: a prelude gives it numbers only.
            sema::TyKind::Param(_) => true,
            _ => false,
        };
        (op.arity()..=op.arity() + n_flags).contains(&n_params)
            && args.iter().all(|param| param.ty == first)
            && ret_fits
            && lane_fits
    }
}

/// The operation of an intrinsic's name.
fn value_op(name: &str) -> Option<Op> {
    Some(match name {
        "bitcast" => Op::Bitcast,
        "select" => Op::Select,
        "insert" => Op::Insert,
        "sizeof" => Op::SizeOf,
        "alignof" => Op::AlignOf,
        "undef" => Op::Undef,
        "zeroed" => Op::Zeroed,
        "pe_known" => Op::Known,
        "streaming" => Op::Streaming,
        "isnan" => Op::Math(MathOp::IsNan),
        "isfinite" => Op::Math(MathOp::IsFinite),
        _ => match SimdOp::from_name(name) {
            Some(op) => Op::Simd(op),
            None => Op::Math(float_op(name)?),
        },
    })
}

/// The mathematical function on floats of this name.
fn float_op(name: &str) -> Option<MathOp> {
    use MathOp::*;
    let ops = [
        Fabs, Copysign, Signbit, Round, RoundEven, Trunc, Ceil, Floor, Fmin, Fmax, Cos, Sin, Tan, Acos, Asin,
        Atan, Atan2, Sinh, Cosh, Tanh, Sqrt, Rsqrt, Cbrt, Pow, Exp, Exp2, Log, Log2, Log10, Erf, Fma,
        Fmuladd,
    ];
    ops.into_iter().find(|op| op.name() == name)
}

/// The mathematical function that a name of LLVM's stands for.
fn device_math(name: &str) -> Option<MathOp> {
    let name = name.strip_prefix("llvm.")?;
    if let Some(bmi) = name.strip_prefix("x86.bmi.") {
        return match bmi {
            "pext.32" | "pext.64" => Some(MathOp::Pext),
            "pdep.32" | "pdep.64" => Some(MathOp::Pdep),
            _ => None,
        };
    }
    let (name, _) = name.split_once('.')?;
    match name {
        "minnum" => Some(MathOp::Fmin),
        "maxnum" => Some(MathOp::Fmax),
        "ctpop" => Some(MathOp::Popcount),
        "ctlz" => Some(MathOp::Clz),
        "cttz" => Some(MathOp::Ctz),
        "roundeven" => Some(MathOp::RoundEven),
        // Ours by another name, or with another meaning.
        "signbit" | "round_even" | "fmin" | "fmax" | "rsqrt" | "cbrt" | "erf" => None,
        _ => float_op(name),
    }
}

/// The types that an operation accepts, as people write them.
fn op_shapes(op: Op) -> &'static [&'static str] {
    match op {
        Op::Bitcast => &["bitcast[D, S](S) -> D"],
        Op::Select => &["select[T, U](T, U, U) -> U"],
        Op::Insert => &["insert[T, U](T, i32, U) -> T"],
        Op::SizeOf => &["sizeof[T]() -> i64", "sizeof[T]() -> i32"],
        Op::AlignOf => &["alignof[T]() -> i64", "alignof[T]() -> i32"],
        Op::Undef => &["undef[T]() -> T"],
        Op::Zeroed => &["zeroed[T]() -> T"],
        Op::Known => &["pe_known[T](T) -> bool"],
        Op::Streaming => &["streaming[T](&mut T) -> &mut T"],
        Op::Simd(op) => op.shapes(),
        Op::Math(MathOp::Signbit | MathOp::IsNan | MathOp::IsFinite) => &["(f32) -> bool", "(f64) -> bool"],
        Op::Math(op) if op.arity() == 1 => &["(f32) -> f32", "(f64) -> f64"],
        Op::Math(op) if op.arity() == 2 => &["(f32, f32) -> f32", "(f64, f64) -> f64"],
        Op::Math(_) => &["(f32, f32, f32) -> f32", "(f64, f64, f64) -> f64"],
    }
}

/// The numbers of parameters that an intrinsic may be declared with, and its types
/// as people write them; none for what no program declares.
fn intrinsic_shapes(intrinsic: Intrinsic) -> Option<(&'static [usize], &'static [&'static str])> {
    Some(match intrinsic {
        Intrinsic::Branch | Intrinsic::Switch | Intrinsic::Unreachable => return None,
        Intrinsic::Vectorize => (
            &[2, 4, 5],
            &[
                "vectorize(length: i32, body: fn(i32) -> ()) -> ()",
                "vectorize(length: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()",
                "vectorize(length: i32, alignment: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()",
            ],
        ),
        Intrinsic::Parallel => {
            (&[4], &["parallel(threads: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()"])
        }
        Intrinsic::Spawn => (&[1], &["spawn(body: fn() -> ()) -> i32"]),
        Intrinsic::Sync => (&[1], &["sync(id: i32) -> ()"]),
        Intrinsic::Fibers => {
            (&[4], &["fibers(threads: i32, blocks: i32, warps: i32, body: fn(i32, i32) -> ()) -> ()"])
        }
        Intrinsic::Cuda
        | Intrinsic::Nvvm
        | Intrinsic::OpenCl
        | Intrinsic::OpenClSpirv
        | Intrinsic::AmdgpuHsa
        | Intrinsic::AmdgpuPal
        | Intrinsic::LevelZero => (
            &[3, 4],
            &[
                "(dev: i32, grid: (i32, i32, i32), block: (i32, i32, i32), body: fn() -> ()) -> ()",
                "(grid: (i32, i32, i32), block: (i32, i32, i32), body: fn() -> ()) -> ()",
            ],
        ),
        Intrinsic::Hls => {
            (&[1, 2], &["hls(body: fn() -> ()) -> ()", "hls(dev: i32, body: fn() -> ()) -> ()"])
        }
        Intrinsic::Pipeline => {
            (&[4], &["pipeline(interval: i32, lower: i32, upper: i32, body: fn(i32) -> ()) -> ()"])
        }
        Intrinsic::CreateGraph => (&[0], &["create_graph() -> FlowGraph"]),
        Intrinsic::CreateTask => (&[2], &["create_task(graph: FlowGraph, body: fn() -> ()) -> FlowTask"]),
        Intrinsic::CreateEdge => (&[2], &["create_edge(before: FlowTask, after: FlowTask) -> ()"]),
        Intrinsic::ExecuteGraph => (&[2], &["execute_graph(graph: FlowGraph, first: FlowTask) -> ()"]),
        Intrinsic::ReserveShared => (&[1], &["reserve_shared[T](n: i32) -> &mut[3][T]"]),
        Intrinsic::Atomic => (
            &[3, 5],
            &[
                "atomic[T](op: u32, addr: &mut T, value: T) -> T",
                "atomic[T](op: u32, addr: &mut T, value: T, order: u32, scope: &[u8]) -> T",
            ],
        ),
        Intrinsic::AtomicLoad => (&[3], &["atomic_load[T](addr: &T, order: u32, scope: &[u8]) -> T"]),
        Intrinsic::AtomicStore => {
            (&[4], &["atomic_store[T](addr: &mut T, value: T, order: u32, scope: &[u8]) -> ()"])
        }
        Intrinsic::CmpXchg | Intrinsic::CmpXchgWeak => (
            &[3, 6],
            &[
                "(addr: &mut T, cmp: T, new: T) -> (T, bool)",
                "(addr: &mut T, cmp: T, new: T, success: u32, failure: u32, scope: &[u8]) -> (T, bool)",
            ],
        ),
        Intrinsic::Fence => (&[2], &["fence(order: u32, scope: &[u8]) -> ()"]),
        Intrinsic::PeInfo => (&[2], &["pe_info[T](message: &[u8], value: T) -> ()"]),
        Intrinsic::PeAssert => (&[2], &["pe_assert(condition: bool, message: &[u8]) -> ()"]),
    })
}
