//! The functions by which lanes meet, as operations on the lanes, and what they are where there
//! is only one lane: in bodies of `vectorize` for one, and outside.
//!
//! Their names begin with `rv_`; [`LaneFunction`] lists them. Each may be declared for several
//! types.

use nyala_ir::analysis::References;
use nyala_ir::{
    ArithFlags, ArithOp, CmpOp, Cont, Def, LaneFunction, LaneOp, Linkage, MathOp, Prim, Ty, World,
};

use super::Refusal;
use super::emit::{Emitter, Rep};
use super::lanewise;
use super::shapes::{Shape, Wraps};

/// The lane function that a continuation stands for.
pub(super) fn lane_function(world: &World, cont: Cont) -> Option<LaneFunction> {
    match &world.cont(cont).linkage {
        Linkage::Imported(name) => LaneFunction::from_name(name.as_str()),
        _ => None,
    }
}

/// The shape of what a lane function gives.
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

// ---- Alone --------------------------------------------------------------------------------

/// Replaces all calls of lane functions by what they give in the only lane that there is.
pub(super) fn run_alone(world: &mut World) {
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    for cont in conts {
        let Some(body) = world.cont(cont).body.clone() else { continue };
        let Some(function) = world.as_cont(body.callee).and_then(|callee| lane_function(world, callee))
        else {
            continue;
        };
        if let [mem, ref args @ .., next] = body.args[..] {
            world.span = body.span;
            let result = alone(world, function, mem, args, next);
            world.set_body(cont, next, result);
        }
    }
}

/// The memory and the results that are handed to `next`.
fn alone(world: &mut World, function: LaneFunction, mem: Def, args: &[Def], next: Def) -> Vec<Def> {
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

/// The address of an element of the array whose first element is at `ptr`.
fn element(world: &mut World, ptr: Def, index: Def) -> Def {
    let Some((elem, space)) = world.types.as_ptr(world.ty(ptr)) else { return ptr };
    let slice = world.types.slice(elem);
    let slice = world.types.ptr(slice, space);
    let array = world.bitcast(slice, ptr);
    world.lea(array, index)
}

// ---- Together -----------------------------------------------------------------------------

impl Emitter<'_> {
    /// What a lane function gives in the lanes that are there.
    pub fn meet_lanes(
        &mut self,
        callee: Cont,
        function: LaneFunction,
        args: &[Rep],
    ) -> Result<Vec<Rep>, Refusal> {
        use LaneFunction::*;
        let n = self.task.lanes;
        let results = self.lane_results(callee)?;
        let result = match (function, args) {
            (Mask, _) => Rep::varying(self.mask),
            (NumLanes, _) => Rep::uniform(self.world.lit_i32(n as i32)),
            (LaneId, _) => Rep::counting(self.world.lit_i32(0)),
            (Align, &[ptr, _]) => ptr,
            (Any, &[vote]) => {
                let votes = self.votes(vote);
                Rep::uniform(self.world.lanes(LaneOp::Any, &[votes]))
            }
            (All, &[vote]) => {
                let bool = self.world.types.bool();
                let (votes, all) = (self.lanes_of(vote, bool), self.full_mask());
                let votes = self.world.select(self.mask, votes, all);
                Rep::uniform(self.world.lanes(LaneOp::All, &[votes]))
            }
            (Ballot, &[vote]) => {
                let votes = self.votes(vote);
                let bits = self.world.lanes(LaneOp::Ballot, &[votes]);
                Rep::uniform(self.world.cast(results[0], bits))
            }
            (Reduce(reduction), &[value]) => {
                let (ty, lanes) = (results[0], self.lanes_of(value, results[0]));
                let prim = self.world.types.as_prim(ty).filter(|&prim| reduction.is_for(prim));
                let Some(prim) = prim else { return self.refused_use(function, ty) };
                let neutral = self.world.lit(prim, reduction.neutral(prim));
                let neutral = self.world.splat(neutral, n);
                let lanes = self.world.select(self.mask, lanes, neutral);
                Rep::uniform(self.world.reduce(reduction, lanes))
            }
            (Match, &[value, lane]) if lanewise::is_scalar(self.world, self.declared_ty(callee, 0)) => {
                let ty = self.declared_ty(callee, 0);
                let (own, other) = (self.lanes_of(value, ty), self.of_lane(value, lane, ty));
                let other = self.lanes_of(other, ty);
                Rep::varying(self.world.cmp(CmpOp::Eq, own, other))
            }
            (Extract, &[value, lane]) => self.of_lane(value, lane, results[0]),
            (Insert, &[value, lane, new]) => {
                let ty = results[0];
                let (old, new) = (self.lanes_of(value, ty), self.lanes_of(new, ty));
                let lane = self.numbers(lane);
                let own = lanewise::steps(self.world, Prim::I32, 1, n);
                let is_own = self.world.cmp(CmpOp::Eq, own, lane);
                Rep::varying(lanewise::select(self.world, ty, n, is_own, new, old))
            }
            (Shuffle, &[value, by]) => {
                let (value, order) = (self.lanes_of(value, results[0]), self.rotation(by));
                Rep::varying(self.permuted(results[0], value, order))
            }
            (Compact, &[value, kept]) => self.compact(value, kept, results[0]),
            (Expand, &[value, kept]) => self.expand(value, kept, results[0]),
            (Load, &[ptr, lane]) if lane.shape == Shape::Uniform => {
                let at = self.pointer_of_lane(ptr, lane.def);
                let (mem, value) = self.world.load(self.mem, at);
                self.mem = mem;
                Rep::uniform(value)
            }
            (Store, &[ptr, lane, value]) if lane.shape == Shape::Uniform => {
                let at = self.pointer_of_lane(ptr, lane.def);
                let ty = self.declared_ty(callee, 2);
                let value = self.last_lane(value, ty);
                self.mem = self.world.store(self.mem, at, value);
                return Ok(vec![]);
            }
            (Load, &[ptr, lane]) if lanewise::is_scalar(self.world, results[0]) => {
                let at = self.pointers_of_lanes(ptr, lane);
                let (mem, value) = self.world.load_lanes(self.mem, at, self.mask);
                self.mem = mem;
                Rep::varying(value)
            }
            (Store, &[ptr, lane, value]) if lanewise::is_scalar(self.world, self.declared_ty(callee, 2)) => {
                let ty = self.declared_ty(callee, 2);
                let (at, value) = (self.pointers_of_lanes(ptr, lane), self.lanes_of(value, ty));
                self.mem = self.world.store_lanes(self.mem, at, self.mask, value);
                return Ok(vec![]);
            }
            _ => {
                let ty = self.declared_ty(callee, 0);
                return self.refused_use(function, ty);
            }
        };
        Ok(vec![result])
    }

    fn refused_use<T>(&self, function: LaneFunction, ty: Ty) -> Result<T, Refusal> {
        let ty = self.world.types.display(ty).to_string();
        self.refused(&format!("`{}` of `{ty}`", function.name()))
    }

    /// The type of an argument, as it is declared.
    fn declared_ty(&self, callee: Cont, index: usize) -> Ty {
        self.world.ty(self.world.param(callee, 1 + index))
    }

    /// The lanes that are there and vote for something.
    fn votes(&mut self, vote: Rep) -> Def {
        let bool = self.world.types.bool();
        let votes = self.lanes_of(vote, bool);
        self.and(self.mask, votes)
    }

    fn numbers(&mut self, value: Rep) -> Def {
        let i32 = self.world.types.prim(Prim::I32);
        self.lanes_of(value, i32)
    }

    /// Values of type `ty` with their lanes in another order.
    fn permuted(&mut self, ty: Ty, lanes: Def, order: Def) -> Def {
        lanewise::map(self.world, ty, self.task.lanes, &[lanes], &mut |world, _, lanes| {
            world.lanes(LaneOp::Permute, &[lanes[0], order])
        })
    }

    /// The value of a lane, which each lane may choose for itself.
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

    /// The number of the lane `by` further, after the last one the first again.
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

    /// Kept values move to the first lanes that are there.
    fn compact(&mut self, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let front = self.compressed(ty, value, kept);
        if self.is_full() {
            return Rep::varying(front);
        }
        // Each lane takes the value of its rank among those that are there.
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

    /// The lanes that are kept take the values of the first lanes that are there.
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

    /// How many lanes of `mask` are before each lane, as `i32`.
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

    /// As [`Emitter::pointer_of_lane`], for a lane that each lane chooses.
    fn pointers_of_lanes(&mut self, ptr: Rep, lane: Rep) -> Def {
        let ty = self.world.ty(ptr.def);
        let lanes = self.numbers(lane);
        if ptr.shape != Shape::Uniform {
            let pointers = self.lanes_of(ptr, ty);
            return self.world.lanes(LaneOp::Permute, &[pointers, lanes]);
        }
        element(self.world, ptr.def, lanes)
    }

    /// The address of one lane; of one that all lanes share, the element with its number.
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
