//! Collective operations, as operations on simd values, and their meaning for a single lane: in bodies
//! of `vectorize` with one lane, and outside of `vectorize`.
//!
//! The names of these functions begin with `rv_`; [`LaneFunction`] lists them. Each may be declared for
//! several types.

use nyala_ir::analysis::References;
use nyala_ir::{
    ArithFlags, ArithOp, CmpOp, Cont, Def, LaneFunction, LaneOp, Linkage, MathOp, Prim, Reduction, Ty, World,
};

use super::Refusal;
use super::emit::{Emitter, Rep};
use super::lanewise;
use super::shapes::{Shape, Wraps};

/// The collective operation of a continuation.
pub(super) fn lane_function(world: &World, cont: Cont) -> Option<LaneFunction> {
    match &world.cont(cont).linkage {
        Linkage::Imported(name) => LaneFunction::from_name(name.as_str()),
        _ => None,
    }
}

/// The shape of the result of a collective operation.
pub(super) fn result_shape(function: LaneFunction, args: &[Shape]) -> Shape {
    use LaneFunction::*;
    match (function, args) {
        (Any | All | Ballot | NumLanes | Reduce(_), _) => Shape::Uniform,
        (Extract | Load, [_, Shape::Uniform]) => Shape::Uniform,
        (LaneId, _) => Shape::strided(1, Wraps::Never),
        (Align, [pointer, _]) => *pointer,
        _ => Shape::Varying,
    }
}

// ---- A single lane ------------------------------------------------------------------------

/// Replaces all remaining calls of collective operations by their result in a single lane.
pub(super) fn replace_in_single_lane(world: &mut World) {
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    for cont in conts {
        let Some(body) = world.cont(cont).body.clone() else { continue };
        let Some(function) = world.as_cont(body.callee).and_then(|callee| lane_function(world, callee))
        else {
            continue;
        };
        if let [mem, ref args @ .., next] = body.args[..] {
            world.span = body.span;
            let result = single_lane_results(world, function, mem, args, next);
            world.set_body(cont, next, result);
        }
    }
}

/// The arguments of `next`: memory and the results.
fn single_lane_results(
    world: &mut World,
    function: LaneFunction,
    mem: Def,
    args: &[Def],
    next: Def,
) -> Vec<Def> {
    use LaneFunction::*;
    let result = match (function, args) {
        (Mask | Match, _) => world.lit_bool(true),
        (LaneId, _) => world.lit_i32(0),
        (NumLanes, _) => world.lit_i32(1),
        (Ballot, &[vote]) => {
            let taken = world.types.as_cn(world.ty(next)).unwrap_or(&[]).to_vec();
            taken.get(1).map_or(vote, |&ty| world.cast(ty, vote))
        }
        (Insert, &[_, _, new]) => new,
        (Load, &[ptr, lane]) => {
            let at = element(world, ptr, lane);
            let (mem, value) = world.load(mem, at);
            return vec![mem, value];
        }
        (Store, &[ptr, lane, value]) => {
            let at = element(world, ptr, lane);
            return vec![world.store(mem, at, value)];
        }
        (_, &[value, ..]) => value,
        _ => return vec![mem],
    };
    vec![mem, result]
}

/// The address of an element of the array that begins at `ptr`.
fn element(world: &mut World, ptr: Def, index: Def) -> Def {
    let Some((elem, space)) = world.types.as_ptr(world.ty(ptr)) else { return ptr };
    let slice = world.types.slice(elem);
    let slice = world.types.ptr(slice, space);
    let array = world.bitcast(slice, ptr);
    world.lea(array, index)
}

// ---- Several lanes ------------------------------------------------------------------------

impl Emitter<'_> {
    /// The result of a collective operation of the active lanes.
    pub fn collective(
        &mut self,
        callee: Cont,
        function: LaneFunction,
        args: &[Rep],
    ) -> Result<Vec<Rep>, Refusal> {
        use LaneFunction::*;
        let results = self.lane_results(callee)?;
        let ty = results.first().copied();
        let result = match (function, args) {
            (Mask, _) => Some(Rep::varying(self.mask)),
            (NumLanes, _) => Some(Rep::uniform(self.world.lit_i32(self.task.lanes as i32))),
            (LaneId, _) => Some(Rep::counting(self.world.lit_i32(0))),
            (Align, &[ptr, _]) => Some(ptr),
            (Any | All | Ballot, &[vote]) => ty.map(|ty| self.vote(function, vote, ty)),
            (Reduce(reduction), &[value]) => match ty {
                Some(ty) => self.reduce_lanes(reduction, value, ty),
                None => None,
            },
            (Match, &[value, lane]) => {
                let ty = self.declared_ty(callee, 0);
                lanewise::is_scalar(self.world, ty).then(|| self.matches(value, lane, ty))
            }
            (Load, &[ptr, lane]) => match ty {
                Some(ty) => self.load_of_lane(ptr, lane, ty),
                None => None,
            },
            (Store, &[ptr, lane, value]) => {
                let ty = self.declared_ty(callee, 2);
                if self.store_of_lane(ptr, lane, value, ty) {
                    return Ok(vec![]);
                }
                None
            }
            _ => ty.and_then(|ty| self.exchange(function, args, ty)),
        };
        match result {
            Some(result) => Ok(vec![result]),
            None => {
                let ty = self.declared_ty(callee, 0);
                self.refuse_operand(function, ty)
            }
        }
    }

    /// A vote of the active lanes; `ty` is the type of a ballot.
    fn vote(&mut self, function: LaneFunction, vote: Rep, ty: Ty) -> Rep {
        if function == LaneFunction::All {
            let bool = self.world.types.bool();
            let (votes, all) = (self.lanes_of(vote, bool), self.full_mask());
            let votes = self.world.select(self.mask, votes, all);
            return Rep::uniform(self.world.lanes(LaneOp::All, &[votes]));
        }
        let votes = self.votes(vote);
        Rep::uniform(match function {
            LaneFunction::Any => self.world.lanes(LaneOp::Any, &[votes]),
            _ => {
                let bits = self.world.lanes(LaneOp::Ballot, &[votes]);
                self.world.cast(ty, bits)
            }
        })
    }

    /// A reduction over the active lanes, if it is defined for the type. Inactive lanes have the
    /// neutral element.
    fn reduce_lanes(&mut self, reduction: Reduction, value: Rep, ty: Ty) -> Option<Rep> {
        let lanes = self.lanes_of(value, ty);
        let prim = self.world.types.as_prim(ty).filter(|&prim| reduction.is_for(prim))?;
        let neutral = self.world.lit(prim, reduction.neutral(prim));
        let neutral = self.world.splat(neutral, self.task.lanes);
        let lanes = self.world.select(self.mask, lanes, neutral);
        Some(Rep::uniform(self.world.reduce(reduction, lanes)))
    }

    /// Whether each lane has the same value as a lane.
    fn matches(&mut self, value: Rep, lane: Rep, ty: Ty) -> Rep {
        let (own, other) = (self.lanes_of(value, ty), self.of_lane(value, lane, ty));
        let other = self.lanes_of(other, ty);
        Rep::varying(self.world.cmp(CmpOp::Eq, own, other))
    }

    /// An operation that moves values of type `ty` between lanes; none if it is another one.
    fn exchange(&mut self, function: LaneFunction, args: &[Rep], ty: Ty) -> Option<Rep> {
        Some(match (function, args) {
            (LaneFunction::Extract, &[value, lane]) => self.of_lane(value, lane, ty),
            (LaneFunction::Insert, &[value, lane, new]) => {
                let (old, new) = (self.lanes_of(value, ty), self.lanes_of(new, ty));
                let lane = self.numbers(lane);
                let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
                let is_own = self.world.cmp(CmpOp::Eq, own, lane);
                Rep::varying(lanewise::select(self.world, ty, self.task.lanes, is_own, new, old))
            }
            (LaneFunction::Shuffle, &[value, by]) => {
                let (value, order) = (self.lanes_of(value, ty), self.rotation(by));
                Rep::varying(self.permuted(ty, value, order))
            }
            (LaneFunction::Compact, &[value, kept]) => self.compact(value, kept, ty),
            (LaneFunction::Expand, &[value, kept]) => self.expand(value, kept, ty),
            _ => return None,
        })
    }

    /// A load through the pointer of a lane; none if the index varies and `ty` is not a scalar.
    fn load_of_lane(&mut self, ptr: Rep, lane: Rep, ty: Ty) -> Option<Rep> {
        if lane.shape == Shape::Uniform {
            let at = self.pointer_of_lane(ptr, lane.def);
            let (mem, value) = self.world.load(self.mem, at);
            self.mem = mem;
            return Some(Rep::uniform(value));
        }
        if !lanewise::is_scalar(self.world, ty) {
            return None;
        }
        let at = self.pointers_of_lanes(ptr, lane);
        let (mem, value) = self.world.load_lanes(self.mem, at, self.mask);
        self.mem = mem;
        Some(Rep::varying(value))
    }

    /// A store through the pointer of a lane. Fails if the index varies and `ty` is not a scalar.
    fn store_of_lane(&mut self, ptr: Rep, lane: Rep, value: Rep, ty: Ty) -> bool {
        if lane.shape == Shape::Uniform {
            let at = self.pointer_of_lane(ptr, lane.def);
            let value = self.last_lane(value, ty);
            self.mem = self.world.store(self.mem, at, value);
            return true;
        }
        let is_scalar = lanewise::is_scalar(self.world, ty);
        if is_scalar {
            let (at, value) = (self.pointers_of_lanes(ptr, lane), self.lanes_of(value, ty));
            self.mem = self.world.store_lanes(self.mem, at, self.mask, value);
        }
        is_scalar
    }

    fn refuse_operand<T>(&self, function: LaneFunction, ty: Ty) -> Result<T, Refusal> {
        let ty = self.world.types.display(ty).to_string();
        self.refused(&format!("`{}` of `{ty}`", function.name()))
    }

    /// The declared type of an argument.
    fn declared_ty(&self, callee: Cont, index: usize) -> Ty {
        self.world.ty(self.world.param(callee, 1 + index))
    }

    /// The active lanes in which `vote` is true.
    fn votes(&mut self, vote: Rep) -> Def {
        let bool = self.world.types.bool();
        let votes = self.lanes_of(vote, bool);
        self.and(self.mask, votes)
    }

    fn numbers(&mut self, value: Rep) -> Def {
        let i32 = self.world.types.prim(Prim::I32);
        self.lanes_of(value, i32)
    }

    /// Permutes the lanes of a value of type `ty`.
    fn permuted(&mut self, ty: Ty, lanes: Def, order: Def) -> Def {
        lanewise::map(self.world, ty, self.task.lanes, &[lanes], &mut |world, _, lanes| {
            world.lanes(LaneOp::Permute, &[lanes[0], order])
        })
    }

    /// The value of one lane, whose index may vary: a broadcast or a permutation.
    fn of_lane(&mut self, value: Rep, lane: Rep, ty: Ty) -> Rep {
        let lanes = self.lanes_of(value, ty);
        match lane.shape {
            Shape::Uniform => Rep::uniform(lanewise::lane(self.world, ty, lanes, lane.def)),
            _ => {
                let order = self.numbers(lane);
                Rep::varying(self.permuted(ty, lanes, order))
            }
        }
    }

    /// The index of the lane that is `by` lanes further, modulo the number of lanes.
    fn rotation(&mut self, by: Rep) -> Def {
        let n = self.world.lit_i32(self.task.lanes as i32);
        let n = self.world.splat(n, self.task.lanes);
        let by = self.numbers(by);
        let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        let by = self.world.arith(ArithOp::Rem, ArithFlags::STRICT, by, n);
        let from = self.world.arith(ArithOp::Add, ArithFlags::WRAP, own, by);
        let from = self.world.arith(ArithOp::Add, ArithFlags::WRAP, from, n);
        self.world.arith(ArithOp::Rem, ArithFlags::STRICT, from, n)
    }

    /// Moves the kept values to the first active lanes.
    fn compact(&mut self, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let front = self.compressed(ty, value, kept);
        if self.is_full() {
            return Rep::varying(front);
        }
        // Each active lane takes the kept value of its rank among the active lanes.
        let rank = self.ranks(self.mask);
        let n_kept = self.world.lanes(LaneOp::Ballot, &[kept]);
        let n_kept = self.count(n_kept);
        let i32 = self.world.types.prim(Prim::I32);
        let n_kept = self.world.cast(i32, n_kept);
        let n_kept = self.world.splat(n_kept, self.task.lanes);
        let gets_kept = self.world.cmp(CmpOp::Lt, rank, n_kept);
        let moved = self.permuted(ty, front, rank);
        Rep::varying(lanewise::select(self.world, ty, self.task.lanes, gets_kept, moved, value))
    }

    /// The kept lanes take the values of the first active lanes, in order.
    fn expand(&mut self, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let front = self.compressed(ty, value, self.mask);
        let rank = self.ranks(kept);
        let moved = self.permuted(ty, front, rank);
        Rep::varying(lanewise::select(self.world, ty, self.task.lanes, kept, moved, value))
    }

    fn compressed(&mut self, ty: Ty, lanes: Def, kept: Def) -> Def {
        lanewise::map(self.world, ty, self.task.lanes, &[lanes], &mut |world, _, lanes| {
            world.lanes(LaneOp::Compress, &[lanes[0], kept])
        })
    }

    /// The number of lanes of `mask` before each lane, as `i32`.
    fn ranks(&mut self, mask: Def) -> Def {
        let n = self.task.lanes;
        let set = self.world.lanes(LaneOp::Ballot, &[mask]);
        let set = self.world.splat(set, n);
        let before: Vec<Def> = (0..n).map(|lane| self.world.lit(Prim::U64, (1 << lane) - 1)).collect();
        let before_ty = self.world.ty(set);
        let before = self.world.aggregate(before_ty, &before);
        let before = self.world.arith(ArithOp::And, ArithFlags::STRICT, set, before);
        let rank = self.count(before);
        let i32 = self.world.types.prim(Prim::I32);
        let order_ty = self.world.types.simd(i32, n);
        self.world.cast(order_ty, rank)
    }

    fn count(&mut self, bits: Def) -> Def {
        self.world.math(MathOp::Popcount, ArithFlags::STRICT, &[bits])
    }

    /// As [`Emitter::pointer_of_lane`], with an index that varies.
    fn pointers_of_lanes(&mut self, ptr: Rep, lane: Rep) -> Def {
        let ty = self.world.ty(ptr.def);
        let lanes = self.numbers(lane);
        if ptr.shape != Shape::Uniform {
            let pointers = self.lanes_of(ptr, ty);
            return self.world.lanes(LaneOp::Permute, &[pointers, lanes]);
        }
        element(self.world, ptr.def, lanes)
    }

    /// The address of one lane; for a uniform pointer, the element with the lane's index.
    fn pointer_of_lane(&mut self, ptr: Rep, lane: Def) -> Def {
        let ty = self.world.ty(ptr.def);
        match ptr.shape {
            Shape::Uniform => element(self.world, ptr.def, lane),
            Shape::Strided { .. } => {
                let lanes = self.lanes_of(ptr, ty);
                self.world.extract(lanes, lane)
            }
            Shape::Varying => self.world.extract(ptr.def, lane),
        }
    }
}
