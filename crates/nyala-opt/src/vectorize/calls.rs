//! Calls.
//!
//! A function of the program is called as a SIMD version, made for the shapes of the arguments. A
//! function with uniform arguments and no lane-dependent behaviour is called once. An external function, an inner
//! group of lanes (`nested`), or a function value (`function_values`) is called for one active lane after the other;
//! prefetches are an exception (`prefetch`). `lane_functions` has the collective operations.

use nyala_ir::analysis::Number;
use nyala_ir::analysis::functions::is_return;
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Prim, Ty, World};

use super::emit::{Emitter, Rep};
use super::flow::Flow;
use super::lane_functions::{self, lane_function};
use super::lanewise;
use super::prefetch;
use super::shapes::Shape;
use super::strides::Known;
use super::{ActiveLanes, Instance, Refusal};

/// The shape of the results of a call.
pub(super) fn result_shape(world: &World, flow: &Flow, callee: Cont, args: &[Shape]) -> Shape {
    match lane_function(world, callee) {
        Some(function) => lane_functions::result_shape(function, args),
        None if is_called_once(flow, callee, args.iter().copied()) => Shape::Uniform,
        None => Shape::Varying,
    }
}

/// Whether one call serves all lanes.
pub(super) fn is_called_once(flow: &Flow, callee: Cont, mut args: impl Iterator<Item = Shape>) -> bool {
    flow.shared.contains(&callee) && args.all(|shape| shape == Shape::Uniform)
}

/// An argument of a function that is called lane by lane.
#[derive(Clone, Copy)]
struct LaneArg {
    arg: Rep,
    /// The argument of all lanes; a uniform one itself.
    lanes: Def,
    ty: Ty,
}

impl Emitter<'_> {
    /// Calls a function. Gives its results, or none if it does not return.
    pub fn call(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let data = self.world.cont(callee);
        let is_per_lane = self.instances.per_lane.contains(&callee);
        let is_function = |arg: &Rep| self.world.types.as_cn(self.world.ty(arg.def)).is_some();
        if args.iter().any(|arg| is_function(arg) && !(is_per_lane && arg.shape == Shape::Uniform)) {
            return self.refused("a function as an argument");
        }
        match lane_function(self.world, callee) {
            Some(function) => self.collective(callee, function, args).map(Some),
            None if is_called_once(self.task.flow, callee, args.iter().map(|arg| arg.shape)) => {
                Ok(self.call_once(callee, args, next))
            }
            // It calls what is not known, or its vectors have the lanes of an inner group.
            None if is_per_lane => self.call_per_lane(callee, args, next),
            None if data.body.is_some() => self.call_simd(callee, args, next),
            None => {
                let shapes = args.iter().map(|arg| arg.shape);
                match prefetch::line_offsets(self.world, callee, shapes, self.task.lanes) {
                    Some(offsets) if next.is_some() => Ok(self.prefetch_lines(callee, args, next, offsets)),
                    _ => self.call_per_lane(callee, args, next),
                }
            }
        }
    }

    pub fn refused<T>(&self, why: &str) -> Result<T, Refusal> {
        Err(Refusal { at: self.world.span, why: why.into() })
    }

    // ---- Functions of the program -----------------------------------------------------

    /// Calls the scalar function, once for all lanes.
    pub(super) fn call_once(&mut self, callee: Cont, args: &[Rep], next: Option<usize>) -> Option<Vec<Rep>> {
        let mut values = vec![self.mem];
        values.extend(args.iter().map(|arg| arg.def));
        let function = self.world.cont_def(callee);
        if next.is_none() {
            self.world.set_body(self.cont, function, values);
            return None;
        }
        let results = self.results(callee);
        let (returned, params) = self.start("returned", &results);
        values.push(self.world.cont_def(returned));
        self.world.set_body(self.cont, function, values);
        self.resume(returned);
        Some(params.into_iter().map(Rep::uniform).collect())
    }

    fn call_simd(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let param_tys = self.world.cont(callee).params.clone();
        let tys: Vec<Ty> =
            param_tys.iter().skip(1).take(args.len()).map(|&param| self.world.ty(param)).collect();
        let mut params = vec![];
        let mut values = vec![self.mem];
        let active = match self.is_full() {
            true => ActiveLanes::All,
            false => {
                values.push(self.mask);
                ActiveLanes::Any
            }
        };
        for (&arg, &ty) in args.iter().zip(&tys) {
            let shape = self.argument_shape(arg, ty);
            if shape == Shape::Varying && !lanewise::is_supported(self.world, ty) {
                let ty = self.world.types.display(ty).to_string();
                return self.refused(&format!("a varying argument of type `{ty}`"));
            }
            params.push(Known { shape, number: Number::ANY });
            values.push(if shape == Shape::Varying { self.lanes_of(arg, ty) } else { arg.def });
        }
        let results = self.lane_results(callee)?;
        let elements = vec![None; params.len()];
        let instance = Instance { function: callee, lanes: self.task.lanes, params, elements, active };
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

    /// The shape of an argument in the SIMD version. Few shapes are distinguished, so that a recursive
    /// function needs few versions.
    fn argument_shape(&self, arg: Rep, ty: Ty) -> Shape {
        let unit = match self.world.types.as_ptr(ty) {
            Some((pointee, _)) => self.world.layout(pointee).size as i64,
            None => 1,
        };
        match arg.shape {
            Shape::Uniform => Shape::Uniform,
            Shape::Strided { stride, .. } if stride == unit => arg.shape,
            _ => Shape::Varying,
        }
    }

    /// The types of a function's results.
    fn results(&self, callee: Cont) -> Vec<Ty> {
        let ret = self.world.cont(callee).params.last().map(|&last| self.world.ty(last));
        let ret = ret.filter(|&ret| is_return(&self.world.types, ret));
        ret.and_then(|ret| self.world.types.as_cn(ret)).map_or(vec![], |results| {
            results.iter().copied().filter(|&ty| ty != self.world.types.mem()).collect()
        })
    }

    /// The types of a function's results, which may vary.
    pub fn lane_results(&self, callee: Cont) -> Result<Vec<Ty>, Refusal> {
        let results = self.results(callee);
        match results.iter().find(|&&ty| !lanewise::is_supported(self.world, ty)) {
            Some(&ty) => {
                let ty = self.world.types.display(ty).to_string();
                self.refused(&format!("a varying result of type `{ty}`"))
            }
            None => Ok(results),
        }
    }

    // ---- External functions -------------------------------------------------------------

    /// Calls a function for one active lane after the other: a loop over the lanes.
    fn call_per_lane(
        &mut self,
        callee: Cont,
        args: &[Rep],
        next: Option<usize>,
    ) -> Result<Option<Vec<Rep>>, Refusal> {
        let args = self.lane_args(callee, args);
        if next.is_none() {
            let first = self.first_active();
            self.call_of_lane(callee, &args, first, None);
            return Ok(None);
        }
        let results = self.lane_results(callee)?;
        if results.iter().any(|&ty| lanewise::has_enums(self.world, ty)) {
            return self.refused("an enum value that an external function returns");
        }
        let n = self.task.lanes;
        let i32 = self.world.types.prim(Prim::I32);
        let mut tys = vec![i32];
        tys.extend(results.iter().map(|&ty| lanewise::lanes_ty(self.world, ty, n)).collect::<Vec<Ty>>());
        let (each, vars) = self.start("per_lane", &tys);
        let mut first = vec![self.world.lit_i32(0)];
        first.extend(tys[1..].iter().map(|&ty| self.world.undef(ty)).collect::<Vec<Def>>());
        self.jump(each, &first);
        self.resume(each);
        let (lane, limit, one) = (vars[0], self.world.lit_i32(n as i32), self.world.lit_i32(1));
        let more = self.world.cmp(CmpOp::Lt, lane, limit);
        let done = self.split(more);
        let following = self.world.arith(ArithOp::Add, ArithFlags::STRICT, lane, one);
        if !self.is_full() {
            let is_active = self.world.extract(self.mask, lane);
            let inactive = self.split(is_active);
            let here = self.cont;
            self.resume(inactive);
            let mut unchanged = vars.clone();
            unchanged[0] = following;
            self.jump(each, &unchanged);
            self.resume(here);
        }
        let (returned, values) = self.start("returned", &results);
        self.call_of_lane(callee, &args, lane, Some(returned));
        self.resume(returned);
        let mut changed = vec![following];
        for (&lanes, value) in vars[1..].iter().zip(values) {
            changed.push(lanewise::with_lane(self.world, n, lanes, lane, value));
        }
        self.jump(each, &changed);
        self.resume(done);
        Ok(Some(vars[1..].iter().copied().map(Rep::varying).collect()))
    }

    /// The arguments for all lanes, with their types.
    fn lane_args(&mut self, callee: Cont, args: &[Rep]) -> Vec<LaneArg> {
        let params = self.world.cont(callee).params.clone();
        let tys: Vec<Ty> = params.iter().skip(1).map(|&param| self.world.ty(param)).collect();
        let arg = |(&arg, ty)| LaneArg { arg, lanes: self.argument_lanes(arg, ty), ty };
        args.iter().zip(tys).map(arg).collect()
    }

    /// Ends the block by a call for one lane.
    fn call_of_lane(&mut self, callee: Cont, args: &[LaneArg], lane: Def, returned: Option<Cont>) {
        let mut values = vec![self.mem];
        for &LaneArg { arg, lanes, ty } in args {
            values.push(match arg.shape {
                Shape::Uniform => arg.def,
                _ => lanewise::lane(self.world, ty, lanes, lane),
            });
        }
        values.extend(returned.map(|returned| self.world.cont_def(returned)));
        let function = self.world.cont_def(callee);
        self.world.set_body(self.cont, function, values);
    }

    fn argument_lanes(&mut self, arg: Rep, ty: Ty) -> Def {
        match arg.shape {
            Shape::Uniform => arg.def,
            _ => self.lanes_of(arg, ty),
        }
    }
}
