//! Writes the SIMD version of a function.
//!
//! The vertices of the [`Flow`] are written in order; the [`Plan`] has the control flow. The state
//! of the function is kept in *variables*: values of all lanes, and masks. An edge adds its lanes to
//! the mask of its target and blends their values into the target's parameters. At a join point,
//! variables whose values differ become parameters of the block.
//!
//! `blocks` starts and ends blocks, `joins` merges edges, `edges` branches and passes arguments, `loops`
//! has headers and latches, `variables` the values of variables.
//!
//! # Invariants
//!
//! * A mask that was not written is empty; any other variable that was not written is undefined.
//! * A mask is never undefined, even where values are because no lane is active.
//! * Operations do not fail for inactive lanes: integers wrap, and operands that must not be 0 or the
//!   like are replaced.

mod blocks;
mod edges;
mod joins;
mod loops;
mod variables;

use std::collections::BTreeMap;

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{ArithFlags, ArithOp, Cont, Def, LaneOp, Node, Ty, World};
use rustc_hash::FxHashMap;

use super::blends::Blends;
use super::flow::{End, Flow};
use super::lanewise;
use super::lifetimes::Lifetimes;
use super::linearize::Plan;
use super::shapes::{Shape, Shapes, data_params, function_params};
use super::{Instances, Refusal};

/// A variable of the SIMD function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Var {
    /// The mask of the lanes that are deferred to a vertex.
    Deferred(usize),
    /// The mask of the lanes that have executed a block.
    Mask(usize),
    /// A value of the function, in the form of its shape.
    Value(Def),
    /// The value of a header's parameter in the next iteration.
    Next(Def),
    /// The live-out value of a divergent loop: for each lane, that of its last iteration.
    LiveOut(Def),
    /// A result of the function.
    Result(usize),
}

type Env = BTreeMap<Var, Def>;

/// A value with its shape. A strided value is represented by that of lane 0.
#[derive(Clone, Copy)]
pub(super) struct Rep {
    pub shape: Shape,
    pub def: Def,
}

/// An edge of the SIMD function to a vertex that is not written yet.
struct Incoming {
    /// The source, a continuation without a body.
    cont: Cont,
    mem: Def,
    env: Env,
    /// A mask that is empty on this edge.
    empty: Option<Def>,
    /// A mask that is not empty on this edge.
    active: Option<Def>,
}

/// The function to write.
pub(super) struct Task<'a> {
    pub flow: &'a Flow,
    pub shapes: &'a Shapes,
    pub plan: &'a Plan,
    /// The number of lanes.
    pub lanes: u32,
    /// The entry of the SIMD function, without a body. Its parameters are memory, the mask if there is
    /// one, the data, and the return continuation.
    pub head: Cont,
    pub is_masked: bool,
    /// Whether the lanes of the mask are consecutive, from lane 0 on.
    pub is_prefix: bool,
}

pub(super) struct Emitter<'a> {
    pub world: &'a mut World,
    pub instances: &'a mut Instances,
    pub task: &'a Task<'a>,
    pub cont: Cont,
    pub mem: Def,
    env: Env,
    /// The mask of the current block.
    pub mask: Def,
    /// A mask that has an active lane whenever the current block is executed.
    active: Option<Def>,
    /// The only lane that executes the current block, if that is known.
    pub only_lane: Option<Def>,
    incoming: Vec<Vec<Incoming>>,
    /// The headers of loops that are written, with the variables that are their parameters.
    headers: FxHashMap<usize, (Cont, Vec<Var>)>,
    lifetimes: Lifetimes,
    pub blends: Blends,
}

impl<'a> Emitter<'a> {
    /// Writes the function.
    pub fn run(
        world: &'a mut World,
        instances: &'a mut Instances,
        task: &'a Task<'a>,
    ) -> Result<(), Refusal> {
        let lifetimes = Lifetimes::new(world, task);
        let mem = world.param(task.head, 0);
        let mut emitter = Emitter {
            mask: world.lit_bool(true),
            world,
            instances,
            task,
            cont: task.head,
            mem,
            only_lane: None,
            active: None,
            env: Env::new(),
            incoming: (0..task.flow.dag.len()).map(|_| vec![]).collect(),
            headers: FxHashMap::default(),
            lifetimes,
            blends: Blends::default(),
        };
        emitter.check_types()?;
        emitter.bind_params();
        for &vertex in &task.flow.order {
            emitter.vertex(vertex)?;
        }
        Ok(())
    }

    /// Refuses values without a vector form that differ between lanes: where edges join, and after loops. Operations are
    /// checked when they are written.
    fn check_types(&self) -> Result<(), Refusal> {
        let (flow, shapes) = (self.task.flow, self.task.shapes);
        let is_joined =
            |param: &Def| shapes.of(*param) == Shape::Varying && self.lifetimes.is_read(Var::Value(*param));
        let params = flow.blocks[1..].iter().flat_map(|&block| data_params(self.world, block));
        let mut checked = params.filter(is_joined).chain(self.lifetimes.live_out().iter().copied());
        match checked.find(|&def| !lanewise::is_supported(self.world, value_ty(self.world, def))) {
            Some(def) => Err(Refusal::varying(self.world, def)),
            None => Ok(()),
        }
    }

    /// Binds the parameters of the function in its entry block.
    fn bind_params(&mut self) {
        let task = self.task;
        let params = self.world.cont(task.head).params.clone();
        let at = 1 + usize::from(task.is_masked);
        let mask = if task.is_masked { params[1] } else { self.full_mask() };
        self.env.insert(Var::Deferred(0), mask);
        for (old, new) in function_params(self.world, task.flow.blocks[0]).into_iter().zip(&params[at..]) {
            let value = self.lane_zero(old).unwrap_or(*new);
            self.env.insert(Var::Value(old), value);
        }
        let edge = self.edge_from_here();
        self.incoming[0].push(edge);
    }

    /// The value of lane 0 of a strided parameter, if it is known to be 0: the index of a single group.
    fn lane_zero(&mut self, param: Def) -> Option<Def> {
        let prim = self.world.types.as_prim(self.world.ty(param)).filter(|prim| prim.is_int())?;
        let is_strided = matches!(self.task.shapes.of(param), Shape::Strided { .. });
        let is_zero = self.task.shapes.number(self.world, param).twos >= prim.bits();
        (is_strided && is_zero).then(|| self.world.lit(prim, 0))
    }

    fn edge_from_here(&self) -> Incoming {
        let env = self.env.clone();
        Incoming { cont: self.cont, mem: self.mem, env, empty: None, active: self.active }
    }

    /// The current block continues at `vertex`.
    fn goto(&mut self, vertex: usize) {
        let edge = self.edge_from_here();
        self.incoming[vertex].push(edge);
    }

    fn vertex(&mut self, vertex: usize) -> Result<(), Refusal> {
        if self.incoming[vertex].is_empty() {
            return Ok(());
        }
        let flow = self.task.flow;
        if let Some(inner) = flow.loop_of_latch(vertex) {
            self.exit_without_lanes(inner);
        }
        self.merge_incoming(vertex);
        if let Some(inner) = flow.loop_of_latch(vertex) {
            self.latch(inner);
            return Ok(());
        }
        if vertex == flow.exit() {
            self.emit_return();
            return Ok(());
        }
        self.mask = self.mask_of(vertex);
        if let Some(instead) = self.task.plan.skip[vertex] {
            let any = self.world.lanes(LaneOp::Any, &[self.mask]);
            let [inside, outside] = self.branch(any);
            let skipping = Incoming { env: self.env.clone(), empty: Some(self.mask), ..outside };
            self.incoming[instead].push(skipping);
            self.cont = inside.cont;
            self.mem = inside.mem;
            self.active = Some(self.mask);
        }
        if let Some(inner) = flow.loop_of_header(vertex) {
            self.header(inner, vertex);
        }
        self.env.remove(&Var::Deferred(vertex));
        self.env.insert(Var::Mask(vertex), self.mask);
        self.block(vertex)
    }

    /// The mask of a block.
    fn mask_of(&mut self, vertex: usize) -> Def {
        match self.task.plan.same_mask[vertex] {
            Some(above) => self.value(Var::Mask(above)),
            None => self.value(Var::Deferred(vertex)),
        }
    }

    /// Whether all lanes are known to be active.
    pub fn is_full(&mut self) -> bool {
        let full = self.full_mask();
        self.mask == full
    }

    /// Whether the active lanes are known to be consecutive, from lane 0 on.
    pub fn is_prefix(&mut self) -> bool {
        let of_function = self.task.is_prefix.then(|| self.world.param(self.task.head, 1));
        self.is_full() || Some(self.mask) == of_function
    }

    pub fn full_mask(&mut self) -> Def {
        let yes = self.world.lit_bool(true);
        self.world.splat(yes, self.task.lanes)
    }

    pub fn empty_mask(&mut self) -> Def {
        let no = self.world.lit_bool(false);
        self.world.splat(no, self.task.lanes)
    }

    fn block(&mut self, vertex: usize) -> Result<(), Refusal> {
        let task = self.task;
        self.only_lane = self.only_lane_of(vertex);
        for &def in task.flow.schedule.block(vertex) {
            self.world.span = self.world.span_of(def);
            self.operation(def, vertex)?;
        }
        self.world.span = task.flow.spans[vertex];
        match &task.flow.ends[vertex] {
            End::Jump { target, args } => {
                let args: Vec<Rep> = args.iter().map(|&arg| self.rep(arg, vertex)).collect();
                self.edge(vertex, *target, self.mask, &args);
                self.continue_at_next(vertex);
            }
            End::Branch { cond, then, other } => self.branch_on(vertex, *cond, &[(None, *then)], *other),
            End::Switch { value, cases, default } => {
                let cases: Vec<(Option<Def>, usize)> =
                    cases.iter().map(|&(literal, target)| (Some(literal), target)).collect();
                self.branch_on(vertex, *value, &cases, *default);
            }
            End::Call { callee, args, next } => {
                let args: Vec<Rep> = args.iter().map(|&arg| self.rep(arg, vertex)).collect();
                let results = self.call(*callee, &args, *next)?;
                if let (Some(next), Some(results)) = (next, results) {
                    self.edge(vertex, *next, self.mask, &results);
                    self.continue_at_next(vertex);
                }
            }
            End::Unreachable => self.continue_at_next(vertex),
        }
        Ok(())
    }

    /// The representation of an old value in a block.
    pub fn rep(&mut self, old: Def, block: usize) -> Rep {
        let (flow, shapes) = (self.task.flow, self.task.shapes);
        if shapes.home(flow, old, block).is_none() {
            return Rep { shape: Shape::Uniform, def: old };
        }
        let var = match shapes.exited_loop(flow, old, block) {
            Some(_) => Var::LiveOut(old),
            None => Var::Value(old),
        };
        let def = self.value(var);
        Rep { shape: shapes.at(flow, old, block), def }
    }

    /// Sets the representation of an old value.
    pub fn set(&mut self, old: Def, new: Def) {
        if let Some(name) = self.world.name(old)
            && self.world.name(new).is_none()
            && !matches!(self.world.node(new), Node::Param { .. } | Node::Cont(_))
        {
            self.world.set_name(new, name);
        }
        self.env.insert(Var::Value(old), new);
    }

    /// `a & b`, where `b` may be undefined outside of `a`.
    pub fn and(&mut self, a: Def, b: Def) -> Def {
        let none = self.empty_mask();
        self.world.select(a, b, none)
    }

    pub fn or(&mut self, a: Def, b: Def) -> Def {
        self.world.arith(ArithOp::Or, ArithFlags::STRICT, a, b)
    }

    fn not(&mut self, a: Def) -> Def {
        let all = self.full_mask();
        self.world.arith(ArithOp::Xor, ArithFlags::STRICT, a, all)
    }
}

/// The type of an operation's result; for effects, of the result besides memory.
pub(super) fn value_ty(world: &World, def: Def) -> Ty {
    match has_effect(world, def) {
        true => world.types.part(world.ty(def), 1).unwrap_or(world.ty(def)),
        false => world.ty(def),
    }
}
