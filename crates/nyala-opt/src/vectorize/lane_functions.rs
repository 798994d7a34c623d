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
use super::memory::MAX_BALLOT;
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
        (Any | All | Ballot | NumLanes | Reduce(_) | Pack, _) => Shape::Uniform,
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
        (ScanBefore(reduction), &[value]) => match world.types.as_prim(world.ty(value)) {
            Some(prim) => world.lit(prim, reduction.neutral(prim)),
            None => value,
        },
        (Pack, &[ptr, value, kept]) => {
            let (mem, i32) = (pack_single(world, mem, ptr, value, kept), world.types.prim(Prim::I32));
            return vec![mem, world.cast(i32, kept)];
        }
        (Unpack, &[ptr, value, kept]) => {
            let (mem, own) = unpack_single(world, mem, ptr, value, kept);
            return vec![mem, own];
        }
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

/// A store if the condition holds: of a vector with an inactive lane behind the only one.
fn pack_single(world: &mut World, mem: Def, ptr: Def, value: Def, kept: Def) -> Def {
    let (value, mask) = (world.splat(value, 2), first_of_two(world, kept));
    world.store_lanes(mem, ptr, mask, value)
}

/// The mask of the first of two lanes, if a condition holds.
fn first_of_two(world: &mut World, kept: Def) -> Def {
    let (bool, no) = (world.types.bool(), world.lit_bool(false));
    let ty = world.types.simd(bool, 2);
    world.aggregate(ty, &[kept, no])
}

/// A load if the condition holds, and else a value.
fn unpack_single(world: &mut World, mem: Def, ptr: Def, value: Def, kept: Def) -> (Def, Def) {
    let mask = first_of_two(world, kept);
    let (mem, loaded) = world.load_lanes(mem, ptr, mask);
    let loaded = world.extract_at(loaded, 0);
    (mem, world.select(kept, loaded, value))
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
            (Scan(reduction), &[value]) => match ty {
                Some(ty) => self.scan_lanes(reduction, value, ty),
                None => None,
            },
            (ScanBefore(reduction), &[value]) => match ty {
                Some(ty) => self
                    .scan_lanes(reduction, value, ty)
                    .map(|all| Rep::varying(self.world.shifted(reduction, all.def, 1))),
                None => None,
            },
            (Pack, &[ptr, value, kept]) => {
                let ty = self.declared_ty(callee, 1);
                lanewise::is_scalar(self.world, ty).then(|| self.pack(ptr, value, kept, ty))
            }
            (Unpack, &[ptr, value, kept]) => {
                let ty = self.declared_ty(callee, 1);
                lanewise::is_scalar(self.world, ty).then(|| self.unpack(ptr, value, kept, ty))
            }
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
                let bits = self.ballot(votes);
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

    /// An inclusive scan over the active lanes, if it is defined for the type.
    fn scan_lanes(&mut self, reduction: Reduction, value: Rep, ty: Ty) -> Option<Rep> {
        let lanes = self.lanes_of(value, ty);
        let prim = self.world.types.as_prim(ty).filter(|&prim| reduction.is_for(prim))?;
        let neutral = self.world.lit(prim, reduction.neutral(prim));
        let neutral = self.world.splat(neutral, self.task.lanes);
        let lanes = self.world.select(self.mask, lanes, neutral);
        Some(Rep::varying(self.world.scan(reduction, lanes)))
    }

    /// Stores the kept values one behind the other; how many there are.
    fn pack(&mut self, ptr: Rep, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let (at, n_kept) = (self.first_pointer(ptr), self.number_of(kept));
        let front = self.world.lanes(LaneOp::Compress, &[value, kept]);
        let mask = self.first_lanes(n_kept);
        self.mem = self.world.store_lanes(self.mem, at, mask, front);
        Rep::uniform(n_kept)
    }

    /// Loads adjacent values into the kept lanes; the others keep theirs.
    fn unpack(&mut self, ptr: Rep, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let (at, n_kept) = (self.first_pointer(ptr), self.number_of(kept));
        let mask = self.first_lanes(n_kept);
        let (mem, front) = self.world.load_lanes(self.mem, at, mask);
        self.mem = mem;
        let moved = self.world.lanes(LaneOp::Expand, &[front, kept]);
        Rep::varying(self.world.select(kept, moved, value))
    }

    /// The pointer of the first active lane.
    fn first_pointer(&mut self, ptr: Rep) -> Def {
        if ptr.shape == Shape::Uniform {
            return ptr.def;
        }
        let ty = self.world.ty(ptr.def);
        let lanes = self.lanes_of(ptr, ty);
        let first = self.first_active();
        self.world.extract(lanes, first)
    }

    /// The number of the first active lane.
    pub fn first_active(&mut self) -> Def {
        if self.task.lanes <= MAX_BALLOT {
            let votes = self.world.lanes(LaneOp::Ballot, &[self.mask]);
            return self.world.math(MathOp::Ctz, ArithFlags::STRICT, &[votes]);
        }
        let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        let last = self.world.lit_i32(self.task.lanes as i32 - 1);
        let last = self.world.splat(last, self.task.lanes);
        let active = self.world.select(self.mask, own, last);
        self.world.reduce(Reduction::Min, active)
    }

    /// How many lanes of a mask are set, as `i32`.
    fn number_of(&mut self, mask: Def) -> Def {
        let i32 = self.world.types.prim(Prim::I32);
        let mut count = self.world.lit_i32(0);
        for first in (0..self.task.lanes).step_by(MAX_BALLOT as usize) {
            let n = MAX_BALLOT.min(self.task.lanes - first);
            let part = if n == self.task.lanes { mask } else { self.group_of(mask, first, n) };
            let votes = self.world.lanes(LaneOp::Ballot, &[part]);
            let votes = self.count(votes);
            let votes = self.world.cast(i32, votes);
            count = self.world.arith(ArithOp::Add, ArithFlags::WRAP, count, votes);
        }
        count
    }

    /// The lanes of a mask as bits; of more than 64 lanes, the first 64.
    fn ballot(&mut self, votes: Def) -> Def {
        let votes = match self.task.lanes > MAX_BALLOT {
            true => self.group_of(votes, 0, MAX_BALLOT),
            false => votes,
        };
        self.world.lanes(LaneOp::Ballot, &[votes])
    }

    /// The mask of the first `n` lanes.
    fn first_lanes(&mut self, n: Def) -> Def {
        let n = self.world.splat(n, self.task.lanes);
        let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        self.world.cmp(CmpOp::Lt, own, n)
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

    /// The index of the lane that is `by` lanes further, modulo the number of lanes. One distance for all lanes is
    /// computed once.
    fn rotation(&mut self, by: Rep) -> Def {
        let n = self.world.lit_i32(self.task.lanes as i32);
        let by = match by.shape {
            Shape::Uniform => by.def,
            _ => self.numbers(by),
        };
        let is_lanes = self.world.types.is_simd(self.world.ty(by));
        let limit = if is_lanes { self.world.splat(n, self.task.lanes) } else { n };
        // In front of the first lane, by less than all lanes, is behind it.
        let by = self.world.arith(ArithOp::Rem, ArithFlags::STRICT, by, limit);
        let by = self.world.arith(ArithOp::Add, ArithFlags::WRAP, by, limit);
        let by = self.world.arith(ArithOp::Rem, ArithFlags::STRICT, by, limit);
        let by = if is_lanes { by } else { self.world.splat(by, self.task.lanes) };
        let own = lanewise::steps(self.world, Prim::I32, 1, self.task.lanes);
        let from = self.world.arith(ArithOp::Add, ArithFlags::WRAP, own, by);
        let n = self.world.splat(n, self.task.lanes);
        let wrapped = self.world.arith(ArithOp::Sub, ArithFlags::WRAP, from, n);
        let is_inside = self.world.cmp(CmpOp::Lt, from, n);
        self.world.select(is_inside, from, wrapped)
    }

    /// Moves the kept values to the first active lanes.
    fn compact(&mut self, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        let front = self.compressed(ty, value, kept);
        if self.is_prefix() {
            return Rep::varying(front);
        }
        // Each active lane takes the kept value of its rank among the active lanes.
        let moved = self.expanded(ty, front, self.mask);
        let n_kept = self.number_of(kept);
        let is_kept = self.first_lanes(n_kept);
        let gets_kept = self.world.lanes(LaneOp::Expand, &[is_kept, self.mask]);
        Rep::varying(lanewise::select(self.world, ty, self.task.lanes, gets_kept, moved, value))
    }

    /// The kept lanes take the values of the first active lanes, in order.
    fn expand(&mut self, value: Rep, kept: Rep, ty: Ty) -> Rep {
        let (value, kept) = (self.lanes_of(value, ty), self.votes(kept));
        if self.is_prefix() {
            return Rep::varying(self.expanded(ty, value, kept));
        }
        let front = self.compressed(ty, value, self.mask);
        let moved = self.expanded(ty, front, kept);
        Rep::varying(lanewise::select(self.world, ty, self.task.lanes, kept, moved, value))
    }

    fn expanded(&mut self, ty: Ty, lanes: Def, kept: Def) -> Def {
        lanewise::map(self.world, ty, self.task.lanes, &[lanes], &mut |world, _, lanes| {
            world.lanes(LaneOp::Expand, &[lanes[0], kept])
        })
    }

    fn compressed(&mut self, ty: Ty, lanes: Def, kept: Def) -> Def {
        lanewise::map(self.world, ty, self.task.lanes, &[lanes], &mut |world, _, lanes| {
            world.lanes(LaneOp::Compress, &[lanes[0], kept])
        })
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
