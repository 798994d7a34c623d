//! Calls of `vectorize`: reading them, and the loop over groups of lanes that replaces them.

use nyala_ir::analysis::{BlockParams, Functions, Number, References};
use nyala_ir::{ArithFlags, ArithOp, Body, CmpOp, Cont, Def, LaneFunction, Linkage, Node, Prim, World};
use nyala_span::{Name, Span};

use super::lanewise;
use super::shapes::{Shape, Wraps};
use super::strides::{self, Known};
use super::{ActiveLanes, Instance, Instances, Refusal};

/// The largest number of lanes. A ballot has the first 64.
const MAX_LANES: i64 = 256;

/// Up to so many lanes, the mask of the last group comes from a comparison of 32-bit numbers.
const WIDE_LANES: u32 = 16;

/// A call of `vectorize`.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) cont: Cont,
    pub(super) lanes: u32,
    /// The lower and the upper bound; none means from 0 to the number of lanes.
    pub(super) range: Option<(Def, Def)>,
    /// The function that is executed for each index.
    pub(super) function: Cont,
    /// Its arguments besides memory and the return continuation; `None` is the index.
    pub(super) args: Vec<Option<Def>>,
    pub(super) next: Def,
    pub(super) mem: Def,
    pub(super) span: Span,
}

impl Site {
    /// Reads a call. A call with one lane is left to the back ends: it is an ordinary loop.
    pub(super) fn read(world: &World, functions: &Functions, cont: Cont) -> Result<Option<Site>, Refusal> {
        match lanes_of_call(world, cont) {
            Some(1) => Ok(None),
            _ => Site::read_any(world, functions, cont).map(Some),
        }
    }

    /// Reads a call with any number of lanes.
    pub(super) fn read_any(world: &World, functions: &Functions, cont: Cont) -> Result<Site, Refusal> {
        let Some(Body { args, span, .. }) = world.cont(cont).body.clone() else {
            return Err(Refusal { at: Span::NONE, why: "a missing call".into() });
        };
        let refuse = |why: &str| Err(Refusal { at: span, why: why.into() });
        let [mem, ref numbers @ .., body, next] = args[..] else {
            return refuse("a call with unexpected arguments");
        };
        let (lanes, range) = match *numbers {
            [lanes] => (lanes, None),
            [lanes, lower, upper] | [lanes, _, lower, upper] => (lanes, Some((lower, upper))),
            _ => return refuse("a call with unexpected arguments"),
        };
        let lanes = match world.as_int(lanes) {
            Some(lanes @ 1..=MAX_LANES) => lanes as u32,
            Some(_) => return refuse("a number of lanes outside of 1 to 256"),
            None => return refuse("an unknown number of lanes"),
        };
        let Some(entry) = world.as_cont(body).filter(|&body| world.cont(body).body.is_some()) else {
            return refuse("an unknown body");
        };
        let captures = functions.get(entry).is_some_and(|function| !function.captures.is_empty());
        let (function, args) = match captures {
            false => (entry, vec![None]),
            true => match lifted(world, entry) {
                Some(lifted) => lifted,
                None => return refuse("a body that jumps out of the enclosing function"),
            },
        };
        Ok(Site { cont, lanes, range, function, args, next, mem, span })
    }

    /// Replaces the call.
    pub(super) fn write(
        &self,
        world: &mut World,
        block_params: &BlockParams,
        instances: &mut Instances,
    ) -> Result<(), Refusal> {
        let mut head = |world: &mut World, active: ActiveLanes| {
            let instance = self.instance(world, block_params, active);
            instances.head(world, instance)
        };
        let full = head(world, ActiveLanes::All);
        let has_tail = self.has_tail(world, block_params);
        let tail = has_tail.then(|| head(world, ActiveLanes::Prefix));
        instances.write(world)?;
        world.span = self.span;
        let count = self.count(world, block_params);
        let is_single = [count.min, count.max] == [i128::from(self.lanes); 2];
        match self.range.filter(|_| !is_single) {
            Some(range) => self.groups(world, range, full, tail),
            None => {
                let first = self.range.map_or_else(|| world.lit_i32(0), |(lower, _)| lower);
                let args = self.arguments(self.mem, None, first, self.next);
                world.set_body(self.cont, world.cont_def(full), args);
            }
        }
        Ok(())
    }

    /// Whether the last group may be partial.
    pub(super) fn has_tail(&self, world: &World, block_params: &BlockParams) -> bool {
        let Number { twos, min, max } = self.count(world, block_params);
        let is_multiple = match min == max {
            true => min % i128::from(self.lanes) == 0,
            false => self.lanes.is_power_of_two() && twos >= self.lanes.trailing_zeros(),
        };
        !is_multiple
    }

    /// How many indices there are: the difference of the bounds, which is no count if it is negative.
    fn count(&self, world: &World, block_params: &BlockParams) -> Number {
        let Some((lower, upper)) = self.range else { return Number::exactly(self.lanes.into()) };
        if let Node::Arith { op: ArithOp::Add, flags, lhs, rhs } = world.node(upper)
            && !flags.wrap
            && (lhs == lower || rhs == lower)
        {
            return block_params.number(world, if lhs == lower { rhs } else { lhs });
        }
        let [lower, upper] = [lower, upper].map(|bound| block_params.number(world, bound));
        Number::exact(ArithOp::Sub, upper, lower).unwrap_or(Number::ANY)
    }

    /// The SIMD version of the function for a group.
    pub(super) fn instance(
        &self,
        world: &World,
        block_params: &BlockParams,
        active: ActiveLanes,
    ) -> Instance {
        let number =
            Known { shape: Shape::strided(1, Wraps::Never), number: self.number(world, block_params) };
        let shared = |&arg: &Def| Known { shape: Shape::Uniform, number: block_params.number(world, arg) };
        let params = self.args.iter().map(|arg| arg.as_ref().map_or(number, shared)).collect();
        let stride = |arg: &Option<Def>| strides::of_elements(world, (*arg)?, &|_| None);
        let elements = self.args.iter().map(stride).collect();
        Instance { function: self.function, lanes: self.lanes, params, elements, active }
    }

    /// Whether the function gets vectors of the program, or addresses of them.
    pub(super) fn has_vectors(&self, world: &World) -> bool {
        self.args.iter().flatten().any(|&arg| {
            let ty = world.ty(arg);
            let pointee = world.types.as_ptr(ty).map_or(ty, |(pointee, _)| pointee);
            world.types.lanes(pointee).is_some()
        })
    }

    /// The same call, so many lanes at a time.
    pub(super) fn with_lanes(&self, world: &mut World, lanes: u32) -> Site {
        let all = || (world.lit_i32(0), world.lit_i32(self.lanes as i32));
        Site { lanes, range: Some(self.range.unwrap_or_else(all)), ..self.clone() }
    }

    /// The range of the index. Each group of lanes begins at the lower bound plus a multiple of the
    /// number of lanes.
    fn number(&self, world: &World, block_params: &BlockParams) -> Number {
        let Some((lower, upper)) = self.range else {
            return Number { max: i128::from(self.lanes) - 1, ..Number::exactly(0) };
        };
        let [lower, upper] = [lower, upper].map(|bound| block_params.number(world, bound));
        Number { twos: lower.twos.min(self.lanes.trailing_zeros()), min: lower.min, max: upper.max - 1 }
    }

    /// The arguments of the SIMD function for the group whose lane 0 has the index `first`.
    pub(super) fn arguments(&self, mem: Def, mask: Option<Def>, first: Def, next: Def) -> Vec<Def> {
        let own = self.args.iter().map(|arg| arg.unwrap_or(first));
        [mem].into_iter().chain(mask).chain(own).chain([next]).collect()
    }

    /// A loop over groups of lanes; with `tail`, the last group may be partial. The first index of a group is compared
    /// with 64 bits, so the loop also ends at the largest `i32`; the counter is not increased beyond the upper bound,
    /// so it does not wrap. It is compared with an invariant value: LLVM then knows the number of groups, and unrolls.
    fn groups(&self, world: &mut World, (lower, upper): (Def, Def), full: Cont, tail: Option<Cont>) {
        let (mem, i64) = (world.types.mem(), world.types.prim(Prim::I64));
        let i32 = world.types.prim(Prim::I32);
        let group = world.new_cont("group", &[mem, i32]);
        let [full_group, next_group, done] =
            ["full", "next", "done"].map(|name| world.new_cont(name, &[mem]));
        let rest = tail.map_or(done, |_| world.new_cont("tail", &[mem]));
        let defs = [group, full_group, next_group, rest].map(|cont| world.cont_def(cont));
        let [group_def, full_group_def, next_group_def, rest_def] = defs;
        let upper = world.cast(i64, upper);
        world.set_body(self.cont, group_def, [self.mem, lower]);

        let first = world.param(group, 1);
        let at = world.cast(i64, first);
        let lanes = world.lit_i64(i64::from(self.lanes));
        let last = world.arith(ArithOp::Sub, ArithFlags::WRAP, upper, lanes);
        let is_full = world.cmp(CmpOp::Le, at, last);
        world.set_branch(group, world.param(group, 0), is_full, full_group_def, rest_def);

        let mem_of = |world: &World, cont: Cont| world.param(cont, 0);
        let args = self.arguments(mem_of(world, full_group), None, first, next_group_def);
        world.set_body(full_group, world.cont_def(full), args);
        let step = world.lit_i32(self.lanes as i32);
        let following = world.arith(ArithOp::Add, ArithFlags::STRICT, first, step);
        world.set_body(next_group, group_def, [mem_of(world, next_group), following]);

        if let Some(tail) = tail {
            let partial = world.new_cont("partial", &[mem]);
            let [partial_def, done_def] = [partial, done].map(|cont| world.cont_def(cont));
            let remaining = world.arith(ArithOp::Sub, ArithFlags::WRAP, upper, at);
            let zero = world.lit_i64(0);
            let is_partial = world.cmp(CmpOp::Gt, remaining, zero);
            world.set_branch(rest, mem_of(world, rest), is_partial, partial_def, done_def);
            let mask = self.first_lanes(world, remaining);
            let args = self.arguments(mem_of(world, partial), Some(mask), first, self.next);
            world.set_body(partial, world.cont_def(tail), args);
        }
        world.set_body(done, self.next, [mem_of(world, done)]);
    }
}

impl Site {
    /// The mask of the first `remaining` lanes, which are less than all. Narrow numbers need one comparison of one register.
    fn first_lanes(&self, world: &mut World, remaining: Def) -> Def {
        let prim = match u8::try_from(self.lanes) {
            _ if self.lanes <= WIDE_LANES => Prim::I32,
            Ok(_) => Prim::U8,
            Err(_) => Prim::U16,
        };
        let numbers = lanewise::steps(world, prim, 1, self.lanes);
        let ty = world.types.prim(prim);
        let limit = world.cast(ty, remaining);
        let limit = world.splat(limit, self.lanes);
        world.cmp(CmpOp::Lt, numbers, limit)
    }
}

/// The function that a closure calls, and its arguments; `None` is the index.
fn lifted(world: &World, closure: Cont) -> Option<(Cont, Vec<Option<Def>>)> {
    let data = world.cont(closure);
    let (body, number) = (data.body.as_ref()?, *data.params.get(1)?);
    let function = world.as_cont(body.callee).filter(|&callee| world.cont(callee).body.is_some())?;
    let ends_alike = body.args.first() == data.params.first() && body.args.last() == data.params.last();
    let args = body.args.get(1..body.args.len().checked_sub(1)?)?;
    let own = |arg: &&Def| **arg != number && data.params.contains(arg);
    let args = || args.iter().map(|&arg| (arg != number).then_some(arg)).collect();
    let uses_others = body.args[1..body.args.len() - 1].iter().any(|arg| own(&arg));
    (ends_alike && !uses_others).then(|| (function, args()))
}

/// The number of lanes that `cont` calls `vectorize` with, if it is known.
pub(super) fn lanes_of_call(world: &World, cont: Cont) -> Option<u32> {
    let lanes = *world.cont(cont).body.as_ref()?.args.get(1)?;
    world.as_int(lanes).and_then(|lanes| u32::try_from(lanes).ok())
}

/// A collective operation in the body that `cont` calls `vectorize` with.
pub(super) fn collective_in_body(world: &World, cont: Cont) -> Option<Name> {
    let call = world.cont(cont).body.as_ref()?;
    let body = call.args.iter().rev().nth(1).and_then(|&body| world.as_cont(body));
    let reached = match body {
        Some(body) => References::from_roots(world, &[body]),
        None => References::of_program(world),
    };
    let symbol = |cont: Cont| match world.cont(cont).linkage {
        Linkage::Imported(name) => LaneFunction::from_name(name.as_str()).map(|_| name),
        _ => None,
    };
    reached.conts(world).find_map(symbol)
}
