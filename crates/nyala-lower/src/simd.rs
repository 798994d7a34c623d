//! Intrinsics on simd values, and collective operations.
//!
//! Outside of SIMD code a program operates on all lanes of a simd value. The intrinsics here have
//! no operators: reductions, permutations of lanes, and accesses to
//! memory through a pointer for each lane.

use nyala_ir::{Def, LaneFunction, LaneOp, Linkage, Node, Prim, Reduction, Ty, TyKind, World, verify};
use nyala_sema::tree::Function;
use nyala_span::Name;

use crate::errors::LowerError;
use crate::lowerer::Lowerer;

/// An operation on simd values that computes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SimdOp {
    /// The same value in each lane.
    Splat,
    /// The index of each lane.
    Seq,
    Lanes(LaneOp),
    Reduce(Reduction),
}

impl SimdOp {
    pub(crate) fn from_name(name: &str) -> Option<SimdOp> {
        let name = name.strip_prefix("simd_")?;
        let lane_op = || LaneOp::ALL.into_iter().find(|op| op.name() == name);
        match name {
            "splat" => Some(SimdOp::Splat),
            "seq" => Some(SimdOp::Seq),
            _ => lane_op().map(SimdOp::Lanes).or_else(|| Reduction::from_name(name).map(SimdOp::Reduce)),
        }
    }

    /// Its name, without `simd_`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SimdOp::Splat => "splat",
            SimdOp::Seq => "seq",
            SimdOp::Lanes(op) => op.name(),
            SimdOp::Reduce(reduction) => reduction.name(),
        }
    }

    pub(crate) fn arity(self) -> usize {
        match self {
            SimdOp::Seq => 0,
            SimdOp::Splat | SimdOp::Reduce(_) => 1,
            SimdOp::Lanes(op) => op.arity(),
        }
    }

    /// Its accepted types, in source syntax.
    pub(crate) fn shapes(self) -> &'static [&'static str] {
        match self {
            SimdOp::Splat => &["(T) -> simd[T * N]"],
            SimdOp::Seq => &["() -> simd[T * N]"],
            SimdOp::Lanes(LaneOp::Any | LaneOp::All) => &["(simd[bool * N]) -> bool"],
            SimdOp::Lanes(LaneOp::Ballot) => &["(simd[bool * N]) -> u64"],
            SimdOp::Lanes(LaneOp::Permute) => &["(simd[T * N], simd[i32 * N]) -> simd[T * N]"],
            SimdOp::Lanes(LaneOp::Compress | LaneOp::Expand) => {
                &["(simd[T * N], simd[bool * N]) -> simd[T * N]"]
            }
            SimdOp::Reduce(_) => &["(simd[T * N]) -> T"],
        }
    }

    /// Whether it has this `result` for these arguments.
    pub(crate) fn check(self, world: &World, args: &[Def], result: Ty) -> Result<(), String> {
        let types = &world.types;
        let Some(&first) = args.first() else {
            let is_number = types.lane_prim(result).is_some_and(|prim| prim != Prim::Bool);
            let shown = types.display(result);
            let is_right = types.is_simd(result) && is_number;
            return if is_right { Ok(()) } else { Err(format!("`{shown}` is no vector of numbers")) };
        };
        let first = world.ty(first);
        let is_right = match self {
            SimdOp::Lanes(op) => return verify::check_lanes(world, op, args, result),
            SimdOp::Seq => false,
            SimdOp::Splat => matches!(*types.kind(result), TyKind::Simd { elem, .. } if elem == first),
            SimdOp::Reduce(reduction) => {
                let prim = types.lane_prim(first).filter(|&prim| reduction.is_for(prim));
                types.is_simd(first) && prim.is_some() && types.elem(first) == Some(result)
            }
        };
        match is_right {
            true => Ok(()),
            false => {
                Err(format!("from `{}` it does not give `{}`", types.display(first), types.display(result)))
            }
        }
    }

    /// The node, after a check.
    pub(crate) fn build(self, world: &mut World, args: &[Def], result: Ty) -> Def {
        match self {
            SimdOp::Splat => world.splat(args[0], world.types.lanes(result).unwrap_or(1)),
            SimdOp::Seq => {
                let lanes = world.types.lanes(result).unwrap_or(1);
                let elem = world.types.elem(result).unwrap_or(result);
                let numbers: Vec<Def> = (0..lanes).map(|lane| world.lit_u32(lane)).collect();
                let numbers: Vec<Def> = numbers.into_iter().map(|number| world.cast(elem, number)).collect();
                world.aggregate(result, &numbers)
            }
            SimdOp::Lanes(op) => world.lanes(op, args),
            SimdOp::Reduce(reduction) => world.reduce(reduction, args[0]),
        }
    }
}

/// An access to memory for each active lane of a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneAccess {
    Load,
    Store,
}

impl LaneAccess {
    pub(crate) fn from_name(name: &str) -> Option<LaneAccess> {
        match name {
            "simd_load" => Some(LaneAccess::Load),
            "simd_store" => Some(LaneAccess::Store),
            _ => None,
        }
    }

    fn shapes(self) -> &'static [&'static str] {
        match self {
            LaneAccess::Load => &["(simd[&T * N], simd[bool * N]) -> simd[T * N]"],
            LaneAccess::Store => &["(simd[&mut T * N], simd[bool * N], simd[T * N]) -> ()"],
        }
    }
}

impl<'p> Lowerer<'p> {
    /// A collective operation; later stages know it by its symbol.
    pub(crate) fn lane_function(
        &mut self,
        function: &'p Function,
        symbol: Name,
        lane_function: LaneFunction,
    ) -> Def {
        if function.params.len() != lane_function.arity() {
            return self.wrong_shape(function, symbol, lane_function_shapes(lane_function));
        }
        let ret = self.ty(function.ret);
        if let TyKind::Tuple(parts) = self.world.types.kind(ret)
            && !parts.is_empty()
        {
            let reason = "lanes exchange one value; use a struct instead of a tuple".into();
            let name = lane_function.name();
            self.errors.push(LowerError::OperandTypes { name, at: self.world.span, reason });
        }
        self.declared(function, Linkage::Imported(symbol))
    }

    /// A continuation that accesses memory and returns.
    pub(crate) fn lane_access(&mut self, function: &'p Function, symbol: Name, access: LaneAccess) -> Def {
        let arity = if access == LaneAccess::Load { 2 } else { 3 };
        if function.params.len() != arity {
            return self.wrong_shape(function, symbol, access.shapes());
        }
        let cont = self.function_cont(function.name, &function.params, function.ret);
        let defs = self.world.cont(cont).params.clone();
        let [mem, ptr, mask, ref rest @ .., ret] = defs[..] else { unreachable!("the arity is checked") };
        let taken = self.world.types.as_cn(self.world.ty(ret)).expect("a return continuation")[1..].to_vec();
        let (node, gives) = match (rest, &taken[..]) {
            (&[value], []) => (Node::StoreLanes { mem, ptr, mask, value }, self.world.types.mem()),
            ([], &[result]) => {
                let mem_ty = self.world.types.mem();
                (Node::LoadLanes { mem, ptr, mask }, self.world.types.tuple(&[mem_ty, result]))
            }
            _ => return self.wrong_shape(function, symbol, access.shapes()),
        };
        if let Err(reason) = verify::check_node(&self.world, node, gives) {
            let name = if access == LaneAccess::Load { "simd_load" } else { "simd_store" };
            self.errors.push(LowerError::OperandTypes { name, at: function.span, reason });
            return self.world.undef(self.world.ty(self.world.cont_def(cont)));
        }
        let args = match rest {
            &[value] => vec![self.world.store_lanes(mem, ptr, mask, value)],
            _ => {
                let (mem, value) = self.world.load_lanes(mem, ptr, mask);
                vec![mem, value]
            }
        };
        self.world.set_body(cont, ret, args);
        self.specialize_always(cont);
        self.world.cont_def(cont)
    }
}

/// The accepted types of a lane function, in source syntax.
fn lane_function_shapes(function: LaneFunction) -> &'static [&'static str] {
    match function {
        LaneFunction::Mask => &["() -> bool"],
        LaneFunction::LaneId | LaneFunction::NumLanes => &["() -> i32"],
        LaneFunction::Any | LaneFunction::All => &["(bool) -> bool"],
        LaneFunction::Ballot => &["(bool) -> u64", "(bool) -> i32"],
        LaneFunction::Extract | LaneFunction::Shuffle => &["(T, i32) -> T"],
        LaneFunction::Match => &["(T, i32) -> bool"],
        LaneFunction::Insert => &["(T, i32, T) -> T"],
        LaneFunction::Compact | LaneFunction::Expand => &["(T, bool) -> T"],
        LaneFunction::Load => &["(&T, i32) -> T"],
        LaneFunction::Store => &["(&mut T, i32, T) -> ()"],
        LaneFunction::Align => &["(&i8, i32) -> &i8"],
        LaneFunction::Pack => &["(&mut T, T, bool) -> i32"],
        LaneFunction::Unpack => &["(&T, T, bool) -> T"],
        LaneFunction::Reduce(_) | LaneFunction::Scan(_) | LaneFunction::ScanBefore(_) => &["(T) -> T"],
    }
}
