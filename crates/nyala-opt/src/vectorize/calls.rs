//! Calls, for all lanes at once.
//!
//! A function of the program is called as its own SIMD version, made for the shapes of the
//! arguments. What is defined elsewhere is called for one lane after the other. The
//! functions `rv_*`, by which lanes meet, become operations on the lanes.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, LaneOp, Linkage, MathOp, Prim, Ty, World};

use super::emit::{Emitter, Rep};
use super::lanewise;
use super::shapes::{Shape, Wraps};
use super::{ActiveLanes, Instance, Refusal};

/// The shape of what a call gives.
pub(super) fn result_shape(world: &World, callee: Cont, args: &[Shape]) -> Shape {
    let Linkage::Imported(name) = &world.cont(callee).linkage else { return Shape::Varying };
    match (name.as_str(), args) {
        ("rv_any" | "rv_all" | "rv_ballot" | "rv_num_lanes", _) => Shape::Uniform,
        ("rv_extract" | "rv_load", [_, Shape::Uniform]) => Shape::Uniform,
        ("rv_lane_id", _) => Shape::strided(1, Wraps::Never),
        ("rv_align", [pointer, _]) => *pointer,
        _ => Shape::Varying,
    }
}

impl Emitter<'_> {
    /// Calls a function; gives its results, or nothing if it does not come back.
    pub fn call(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let data = self.world.cont(callee);
        if args.iter().any(|arg| self.world.types.as_cn(self.world.ty(arg.def)).is_some()) {
            return self.refused("a function that is handed over");
        }
        match &data.linkage {
            Linkage::Imported(name) if name.as_str().starts_with("rv_") => {
                let name = name.to_string();
                self.lane_function(&name, args).map(Some)
            }
            _ if data.body.is_some() => self.call_simd(callee, args, next),
            _ => self.call_each(callee, args, next),
        }
    }

    fn refused<T>(&self, why: &str) -> Result<T, Refusal> {
        Err(Refusal { at: self.world.span, why: why.into() })
    }

    // ---- Functions of the program -----------------------------------------------------

    fn call_simd(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let param_tys = self.world.cont(callee).params.clone();
        let tys: Vec<Ty> =
            param_tys.iter().skip(1).take(args.len()).map(|&param| self.world.ty(param)).collect();
        let mut shapes = vec![];
        let mut values = vec![self.mem];
        let active = match self.is_full() {
            true => ActiveLanes::All,
            false => {
                values.push(self.mask);
                ActiveLanes::Any
            }
        };
        for (&arg, &ty) in args.iter().zip(&tys) {
            let shape = self.handed_over(arg, ty);
            if shape == Shape::Varying && !lanewise::is_supported(self.world, ty) {
                let ty = self.world.types.display(ty).to_string();
                return self.refused(&format!("a `{ty}` that differs between lanes, handed over"));
            }
            shapes.push(shape);
            values.push(if shape == Shape::Varying { self.lanes_of(arg, ty) } else { arg.def });
        }
        let results = self.lane_results(callee)?;
        let instance = Instance { function: callee, lanes: self.task.lanes, shapes, active };
        let head = self.instances.head(self.world, instance);
        let function = self.world.cont_def(head);
        if next.is_none() {
            self.world.set_body(self.cont, function, values);
            return Ok(None);
        }
        let tys: Vec<Ty> =
            results.iter().map(|&ty| lanewise::lanes_ty(self.world, ty, self.task.lanes)).collect();
        let (returned, params) = self.start("returned", &tys);
        values.push(self.world.cont_def(returned));
        self.world.set_body(self.cont, function, values);
        self.resume(returned);
        Ok(Some(params.into_iter().map(Rep::varying).collect()))
    }

    /// The shape in which an argument is handed over. There are few, so that a recursion
    /// needs few versions.
    fn handed_over(&self, arg: Rep, ty: Ty) -> Shape {
        let neighbour = match self.world.types.as_ptr(ty) {
            Some((pointee, _)) => self.world.layout(pointee).size as i64,
            None => 1,
        };
        match arg.shape {
            Shape::Uniform => Shape::Uniform,
            Shape::Strided { stride, .. } if stride == neighbour => arg.shape,
            _ => Shape::Varying,
        }
    }

    /// The scalar types of a function's results.
    fn lane_results(&self, callee: Cont) -> Result<Vec<Ty>, Refusal> {
        let ret = self.world.cont(callee).params.last().map(|&last| self.world.ty(last));
        let ret = ret.filter(|&ret| is_return(&self.world.types, ret));
        let results: Vec<Ty> = ret.and_then(|ret| self.world.types.as_cn(ret)).map_or(vec![], |results| {
            results.iter().copied().filter(|&ty| ty != self.world.types.mem()).collect()
        });
        match results.iter().find(|&&ty| !lanewise::is_supported(self.world, ty)) {
            Some(&ty) => {
                let ty = self.world.types.display(ty).to_string();
                self.refused(&format!("a `{ty}` that differs between lanes, returned"))
            }
            None => Ok(results),
        }
    }

    // ---- Functions of others ------------------------------------------------------------

    /// Calls a function for each lane that is there, one after the other.
    fn call_each(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let (function, n) = (self.world.cont_def(callee), self.task.lanes);
        let params = self.world.cont(callee).params.clone();
        let tys: Vec<Ty> =
            params.iter().skip(1).take(args.len()).map(|&param| self.world.ty(param)).collect();
        let all: Vec<(Rep, Def, Ty)> =
            args.iter().zip(tys).map(|(&arg, ty)| (arg, self.lanes_for_call(arg, ty), ty)).collect();
        let of_lane = |world: &mut World, lane: Def| -> Vec<Def> {
            all.iter()
                .map(|&(arg, lanes, ty)| match arg.shape {
                    Shape::Uniform => arg.def,
                    _ => lanewise::lane(world, ty, lanes, lane),
                })
                .collect()
        };
        if next.is_none() {
            let votes = self.world.lanes(LaneOp::Ballot, &[self.mask]);
            let first = self.world.math(MathOp::Ctz, ArithFlags::STRICT, &[votes]);
            let mut values = vec![self.mem];
            values.extend(of_lane(self.world, first));
            self.world.set_body(self.cont, function, values);
            return Ok(None);
        }
        let results = self.lane_results(callee)?;
        if results.iter().any(|&ty| lanewise::has_enums(self.world, ty)) {
            return self.refused("an enum value that another language returns");
        }
        let i32 = self.world.types.prim(Prim::I32);
        let mut tys = vec![i32];
        tys.extend(results.iter().map(|&ty| lanewise::lanes_ty(self.world, ty, n)).collect::<Vec<Ty>>());
        let (each, vars) = self.start("each_lane", &tys);
        let mut first = vec![self.world.lit_i32(0)];
        first.extend(tys[1..].iter().map(|&ty| self.world.undef(ty)).collect::<Vec<Def>>());
        self.jump(each, &first);
        self.resume(each);
        let (lane, limit, one) = (vars[0], self.world.lit_i32(n as i32), self.world.lit_i32(1));
        let more = self.world.cmp(CmpOp::Lt, lane, limit);
        let done = self.split(more);
        let following = self.world.arith(ArithOp::Add, ArithFlags::STRICT, lane, one);
        if !self.is_full() {
            let is_there = self.world.extract(self.mask, lane);
            let absent = self.split(is_there);
            let here = self.cont;
            self.resume(absent);
            let mut unchanged = vars.clone();
            unchanged[0] = following;
            self.jump(each, &unchanged);
            self.resume(here);
        }
        let (returned, values) = self.start("returned", &results);
        let mut call = vec![self.mem];
        call.extend(of_lane(self.world, lane));
        call.push(self.world.cont_def(returned));
        self.world.set_body(self.cont, function, call);
        self.resume(returned);
        let mut changed = vec![following];
        for (&lanes, value) in vars[1..].iter().zip(values) {
            changed.push(lanewise::with_lane(self.world, n, lanes, lane, value));
        }
        self.jump(each, &changed);
        self.resume(done);
        Ok(Some(vars[1..].iter().copied().map(Rep::varying).collect()))
    }

    fn lanes_for_call(&mut self, arg: Rep, ty: Ty) -> Def {
        match arg.shape {
            Shape::Uniform => arg.def,
            _ => self.lanes_of(arg, ty),
        }
    }

    // ---- Lanes that meet ------------------------------------------------------------------

    fn lane_function(&mut self, name: &str, args: &[Rep]) -> Result<Vec<Rep>, Refusal> {
        let n = self.task.lanes;
        let result = match (name, args) {
            ("rv_mask", _) => Rep::varying(self.mask),
            ("rv_num_lanes", _) => Rep::uniform(self.world.lit_i32(n as i32)),
            ("rv_lane_id", _) => Rep::counting(self.world.lit_i32(0)),
            ("rv_align", &[ptr, _]) => ptr,
            ("rv_any", &[vote]) => {
                let votes = self.votes(vote);
                Rep::uniform(self.world.lanes(LaneOp::Any, &[votes]))
            }
            ("rv_all", &[vote]) => {
                let bool = self.world.types.bool();
                let (votes, all) = (self.lanes_of(vote, bool), self.full_mask());
                let votes = self.world.select(self.mask, votes, all);
                Rep::uniform(self.world.lanes(LaneOp::All, &[votes]))
            }
            ("rv_ballot", &[vote]) => {
                let votes = self.votes(vote);
                let bits = self.world.lanes(LaneOp::Ballot, &[votes]);
                let i32 = self.world.types.prim(Prim::I32);
                Rep::uniform(self.world.cast(i32, bits))
            }
            ("rv_extract", &[value, lane]) => self.extract_lane(value, lane),
            ("rv_insert", &[value, lane, new]) => {
                let (old, new) = (self.floats(value), self.floats(new));
                let lane = self.numbers(lane);
                let own = lanewise::steps(self.world, Prim::I32, 1, n);
                let is_own = self.world.cmp(CmpOp::Eq, own, lane);
                Rep::varying(self.world.select(is_own, new, old))
            }
            ("rv_shuffle", &[value, by]) => {
                let (value, order) = (self.floats(value), self.rotation(by));
                Rep::varying(self.world.lanes(LaneOp::Permute, &[value, order]))
            }
            ("rv_compact", &[value, kept]) => self.compact(value, kept),
            ("rv_load", &[ptr, lane]) if lane.shape == Shape::Uniform => {
                let at = self.pointer_of_lane(ptr, lane.def);
                let (mem, value) = self.world.load(self.mem, at);
                self.mem = mem;
                Rep::uniform(value)
            }
            ("rv_store", &[ptr, lane, value]) if lane.shape == Shape::Uniform => {
                let at = self.pointer_of_lane(ptr, lane.def);
                let f32 = self.world.types.prim(Prim::F32);
                let value = self.last_lane(value, f32);
                self.mem = self.world.store(self.mem, at, value);
                return Ok(vec![]);
            }
            ("rv_load", &[ptr, lane]) => {
                let at = self.pointers_of_lanes(ptr, lane);
                let (mem, value) = self.world.load_lanes(self.mem, at, self.mask);
                self.mem = mem;
                Rep::varying(value)
            }
            ("rv_store", &[ptr, lane, value]) => {
                let (at, value) = (self.pointers_of_lanes(ptr, lane), self.floats(value));
                self.mem = self.world.store_lanes(self.mem, at, self.mask, value);
                return Ok(vec![]);
            }
            _ => return self.refused(&format!("this use of `{name}`")),
        };
        Ok(vec![result])
    }

    /// The lanes that are there and vote for something.
    fn votes(&mut self, vote: Rep) -> Def {
        let bool = self.world.types.bool();
        let votes = self.lanes_of(vote, bool);
        self.and(self.mask, votes)
    }

    fn floats(&mut self, value: Rep) -> Def {
        let f32 = self.world.types.prim(Prim::F32);
        self.lanes_of(value, f32)
    }

    fn numbers(&mut self, value: Rep) -> Def {
        let i32 = self.world.types.prim(Prim::I32);
        self.lanes_of(value, i32)
    }

    fn extract_lane(&mut self, value: Rep, lane: Rep) -> Rep {
        let lanes = self.floats(value);
        match lane.shape {
            Shape::Uniform => Rep::uniform(self.world.extract(lanes, lane.def)),
            _ => {
                let order = self.numbers(lane);
                Rep::varying(self.world.lanes(LaneOp::Permute, &[lanes, order]))
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
    fn compact(&mut self, value: Rep, kept: Rep) -> Rep {
        let (value, kept) = (self.floats(value), self.votes(kept));
        let front = self.world.lanes(LaneOp::Compress, &[value, kept]);
        if self.is_full() {
            return Rep::varying(front);
        }
        // Each lane takes the value of its rank among those that are there.
        let n = self.task.lanes;
        let count =
            |this: &mut Self, lanes: Def| this.world.math(MathOp::Popcount, ArithFlags::STRICT, &[lanes]);
        let there = self.world.lanes(LaneOp::Ballot, &[self.mask]);
        let there = self.world.splat(there, n);
        let before: Vec<Def> = (0..n).map(|lane| self.world.lit(Prim::U64, (1 << lane) - 1)).collect();
        let before_ty = self.world.ty(there);
        let before = self.world.aggregate(before_ty, &before);
        let before = self.world.arith(ArithOp::And, ArithFlags::STRICT, there, before);
        let rank = count(self, before);
        let n_kept = self.world.lanes(LaneOp::Ballot, &[kept]);
        let n_kept = count(self, n_kept);
        let n_kept = self.world.splat(n_kept, n);
        let gets_kept = self.world.cmp(CmpOp::Lt, rank, n_kept);
        let i32 = self.world.types.prim(Prim::I32);
        let order_ty = self.world.types.simd(i32, n);
        let order = self.world.cast(order_ty, rank);
        let moved = self.world.lanes(LaneOp::Permute, &[front, order]);
        Rep::varying(self.world.select(gets_kept, moved, value))
    }

    /// As [`Emitter::pointer_of_lane`], for a lane that each lane chooses.
    fn pointers_of_lanes(&mut self, ptr: Rep, lane: Rep) -> Def {
        let ty = self.world.ty(ptr.def);
        let lanes = self.numbers(lane);
        if ptr.shape != Shape::Uniform {
            let pointers = self.lanes_of(ptr, ty);
            return self.world.lanes(LaneOp::Permute, &[pointers, lanes]);
        }
        let i64 = self.world.types.prim(Prim::I64);
        let i64s = self.world.types.simd(i64, self.task.lanes);
        let size = self.world.lit_i64(4);
        let (lanes, size) = (self.world.cast(i64s, lanes), self.world.splat(size, self.task.lanes));
        let offset = self.world.arith(ArithOp::Mul, ArithFlags::WRAP, lanes, size);
        self.bytes_from(ptr.def, ty, offset)
    }

    /// The address of one lane; of one that all lanes share, the element with its number.
    fn pointer_of_lane(&mut self, ptr: Rep, lane: Def) -> Def {
        let ty = self.world.ty(ptr.def);
        match ptr.shape {
            Shape::Uniform => {
                let i64 = self.world.types.prim(Prim::I64);
                let (lane, size) = (self.world.cast(i64, lane), self.world.lit_i64(4));
                let offset = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, lane, size);
                self.bytes_from(ptr.def, ty, offset)
            }
            Shape::Strided { .. } => {
                let lanes = self.lanes_of(ptr, ty);
                self.world.extract(lanes, lane)
            }
            Shape::Varying => self.world.extract(ptr.def, lane),
        }
    }
}
