//! Writes the SIMD version of a function.
//!
//! The vertices of the [`Flow`] are written one after the other, as the [`Plan`] says how
//! control goes through them. What the function computes is kept in *variables*: values of
//! all lanes, and masks. An edge of the function adds its lanes to the mask of its target
//! and blends their values into the target's parameters. Where control meets, variables
//! that differ become parameters of the block there. `edges` is how control gets from block to block.
//!
//! # What always holds
//!
//! * A variable of a mask that was not written holds no lane; of anything else, any value.
//! * A mask is never undefined, also where no lane is and values are.
//! * What is computed for lanes that are not there does not fail: integers wrap around, and
//!   operands that must not be 0 or the like are replaced.

mod edges;

use std::collections::{BTreeMap, BTreeSet};

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{ArithFlags, ArithOp, Cont, Def, LaneOp, Node, Ty, World};
use rustc_hash::FxHashMap;

use super::blends::Blends;
use super::flow::{End, Flow};
use super::lanewise;
use super::lifetimes::Lifetimes;
use super::linearize::Plan;
use super::shapes::{Shape, Shapes, data_params};
use super::{Instances, Refusal};

/// What is kept while a function is executed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Var {
    /// The lanes that have come to a vertex that is not executed yet.
    Arrived(usize),
    /// The lanes for which a block was executed.
    Mask(usize),
    /// A value of the function, as its shape says.
    Value(Def),
    /// What a header's parameter will be in the next round.
    Next(Def),
    /// A value of a divergent loop, for each lane that of the round in which it left.
    Left(Def),
    /// A result of the function.
    Result(usize),
}

type Env = BTreeMap<Var, Def>;

/// A value with its shape: strided ones are represented by the first lane's.
#[derive(Clone, Copy)]
pub(super) struct Rep {
    pub shape: Shape,
    pub def: Def,
}

/// Control on its way to a vertex.
struct Open {
    /// A continuation that does not have a body yet.
    cont: Cont,
    mem: Def,
    env: Env,
    /// A mask that has no lane here.
    empty: Option<Def>,
}

/// How a function is to be vectorised.
pub(super) struct Task<'a> {
    pub flow: &'a Flow,
    pub shapes: &'a Shapes,
    pub plan: &'a Plan,
    /// The number of lanes.
    pub lanes: u32,
    /// The SIMD function; it has no body yet. Its parameters are memory, the mask if
    /// there is one, the data, and the place to return to.
    pub head: Cont,
    pub is_masked: bool,
}

pub(super) struct Emitter<'a> {
    pub world: &'a mut World,
    pub instances: &'a mut Instances,
    pub task: &'a Task<'a>,
    pub cont: Cont,
    pub mem: Def,
    env: Env,
    /// The lanes of the current block.
    pub mask: Def,
    arriving: Vec<Vec<Open>>,
    /// The written headers of loops, with the variables that are their parameters.
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
            env: Env::new(),
            arriving: (0..task.flow.dag.len()).map(|_| vec![]).collect(),
            headers: FxHashMap::default(),
            lifetimes,
            blends: Blends::default(),
        };
        emitter.enter();
        for &vertex in &task.flow.order {
            emitter.vertex(vertex)?;
        }
        Ok(())
    }

    /// Gives the parameters of the function to its entry.
    fn enter(&mut self) {
        let task = self.task;
        let params = self.world.cont(task.head).params.clone();
        let at = 1 + usize::from(task.is_masked);
        let mask = if task.is_masked { params[1] } else { self.full_mask() };
        self.env.insert(Var::Arrived(0), mask);
        for (old, new) in data_params(self.world, task.flow.blocks[0]).into_iter().zip(&params[at..]) {
            self.env.insert(Var::Value(old), *new);
        }
        let open = self.open();
        self.arriving[0].push(open);
    }

    fn open(&self) -> Open {
        Open { cont: self.cont, mem: self.mem, env: self.env.clone(), empty: None }
    }

    /// The vertex is where control goes on from here.
    fn arrive(&mut self, vertex: usize) {
        let open = self.open();
        self.arriving[vertex].push(open);
    }

    fn vertex(&mut self, vertex: usize) -> Result<(), Refusal> {
        if self.arriving[vertex].is_empty() {
            return Ok(());
        }
        let flow = self.task.flow;
        self.meet(vertex);
        if let Some(inner) = flow.loop_of_latch(vertex) {
            self.latch(inner);
            return Ok(());
        }
        if vertex == flow.exit() {
            self.leave();
            return Ok(());
        }
        self.mask = self.mask_of(vertex);
        if let Some(instead) = self.task.plan.skip[vertex] {
            let any = self.world.lanes(LaneOp::Any, &[self.mask]);
            let [inside, outside] = self.branch(any);
            let skipping = Open { env: self.env.clone(), empty: Some(self.mask), ..outside };
            self.arriving[instead].push(skipping);
            self.cont = inside.cont;
            self.mem = inside.mem;
        }
        if let Some(inner) = flow.loop_of_header(vertex) {
            self.header(inner, vertex);
        }
        self.env.remove(&Var::Arrived(vertex));
        self.env.insert(Var::Mask(vertex), self.mask);
        self.block(vertex)
    }

    /// The lanes that are at a block.
    fn mask_of(&mut self, vertex: usize) -> Def {
        match self.task.plan.same_lanes[vertex] {
            Some(above) => self.value(Var::Mask(above)),
            None => self.value(Var::Arrived(vertex)),
        }
    }

    /// Whether all lanes are known to be there.
    pub fn is_full(&mut self) -> bool {
        let full = self.full_mask();
        self.mask == full
    }

    pub fn full_mask(&mut self) -> Def {
        let yes = self.world.lit_bool(true);
        self.world.splat(yes, self.task.lanes)
    }

    pub fn empty_mask(&mut self) -> Def {
        let no = self.world.lit_bool(false);
        self.world.splat(no, self.task.lanes)
    }

    // ---- Blocks ------------------------------------------------------------------------

    /// Ends the current block with a branch; the places where control goes on.
    fn branch(&mut self, cond: Def) -> [Open; 2] {
        let mem_ty = self.world.types.mem();
        let name = self.world.cont(self.cont).name;
        let targets = [(); 2].map(|()| self.world.new_cont(name, &[mem_ty]));
        let [then, other] = targets.map(|target| self.world.cont_def(target));
        self.world.set_branch(self.cont, self.mem, cond, then, other);
        targets.map(|cont| Open { cont, mem: self.world.param(cont, 0), env: Env::new(), empty: None })
    }

    /// Begins a block that is not entered yet, with parameters besides memory.
    pub fn start(&mut self, name: &str, tys: &[Ty]) -> (Cont, Vec<Def>) {
        let all: Vec<Ty> = std::iter::once(self.world.types.mem()).chain(tys.iter().copied()).collect();
        let cont = self.world.new_cont(name, &all);
        let params = self.world.cont(cont).params[1..].to_vec();
        (cont, params)
    }

    /// Goes on in a block that was begun.
    pub fn resume(&mut self, cont: Cont) {
        self.cont = cont;
        self.mem = self.world.param(cont, 0);
    }

    /// Ends the current block with a jump.
    pub fn jump(&mut self, target: Cont, args: &[Def]) {
        let all: Vec<Def> = std::iter::once(self.mem).chain(args.iter().copied()).collect();
        let callee = self.world.cont_def(target);
        self.world.set_body(self.cont, callee, all);
    }

    /// Ends the current block with a branch, and goes on in the first of two new blocks. Gives
    /// the second.
    pub fn split(&mut self, cond: Def) -> Cont {
        let [then, other] = self.branch(cond);
        self.resume(then.cont);
        other.cont
    }

    /// Makes one block of all that arrives at a vertex.
    fn meet(&mut self, vertex: usize) {
        let arriving = std::mem::take(&mut self.arriving[vertex]);
        let is_alive = |var: &Var| self.lifetimes.is_read_from(*var, self.task.flow.position[vertex]);
        if let [_] = arriving[..] {
            let open = arriving.into_iter().next().expect("there is one");
            (self.cont, self.mem) = (open.cont, open.mem);
            self.env = open.env.into_iter().filter(|(var, _)| is_alive(var)).collect();
            return;
        }
        let vars: BTreeSet<Var> =
            arriving.iter().flat_map(|open| open.env.keys().copied()).filter(is_alive).collect();
        let mut env = Env::new();
        let mut differing = vec![];
        for var in vars {
            match self.same_value(&arriving, var) {
                Some(value) => {
                    // Where nobody has brought it, there may not even be a mask of those who do.
                    if self.lanes_that_brought(&arriving, var).is_none() {
                        self.blends.forget(var, value);
                    }
                    env.insert(var, value);
                }
                None => differing.push(var),
            }
        }
        let (cont, params) = self.block_with(vertex, &differing);
        for (&var, &param) in differing.iter().zip(&params) {
            if let Some(mask) = self.lanes_that_brought(&arriving, var) {
                self.blends.begin(var, mask, param);
            }
        }
        for open in arriving {
            let args: Vec<Def> = differing.iter().map(|&var| self.value_in(&open.env, var)).collect();
            (self.cont, self.mem) = (open.cont, open.mem);
            self.hand_over(cont, &args);
        }
        env.extend(differing.into_iter().zip(params));
        self.env = env;
        self.resume(cont);
    }

    /// What a variable holds wherever control comes from. It may be anything where it is not written.
    fn same_value(&mut self, arriving: &[Open], var: Var) -> Option<Def> {
        let values: Vec<Def> = arriving.iter().map(|open| self.value_in(&open.env, var)).collect();
        let is_written = |&&value: &&Def| !matches!(self.world.node(value), Node::Undef);
        let Some(&value) = values.iter().find(is_written) else { return values.first().copied() };
        let has_it = |(open, &other): (&Open, &Def)| {
            let is_there = || open.env.values().any(|&known| known == value);
            other == value || (!is_written(&&other) && is_there())
        };
        arriving.iter().zip(&values).all(has_it).then_some(value)
    }

    /// The lanes that have brought what a variable holds, if only one way was there for them, which
    /// was left out if they are none.
    fn lanes_that_brought(&mut self, arriving: &[Open], var: Var) -> Option<Def> {
        let mut masks = arriving.iter().map(|open| {
            let value = self.value_in(&open.env, var);
            match self.world.node(value) {
                Node::Undef => open.empty,
                _ => self.blends.first_lanes(var, value),
            }
        });
        let first = masks.next()??;
        masks.all(|mask| mask == Some(first)).then_some(first)
    }

    /// Begins the block of a vertex with these variables as parameters, aggregates scalar by
    /// scalar; gives their values.
    fn block_with(&mut self, vertex: usize, vars: &[Var]) -> (Cont, Vec<Def>) {
        let tys: Vec<Ty> = vars.iter().map(|&var| self.var_ty(var)).collect();
        let block = self.task.flow.blocks.get(vertex);
        let name = block.map_or("meet".into(), |&block| self.world.cont(block).name.to_string());
        let flat: Vec<Ty> = tys.iter().flat_map(|&ty| lanewise::flat(self.world, ty)).collect();
        let (cont, params) = self.start(&name, &flat);
        let mut params = params.into_iter();
        let mut values = vec![];
        for (&var, &ty) in vars.iter().zip(&tys) {
            let value = lanewise::unflattened(self.world, ty, &mut params);
            if let Var::Value(old) | Var::Left(old) | Var::Next(old) = var
                && let Some(name) = self.world.name(old)
            {
                self.world.set_name(value, name);
            }
            values.push(value);
        }
        (cont, values)
    }

    /// Ends the current block with a jump to one that takes variables.
    pub fn hand_over(&mut self, target: Cont, values: &[Def]) {
        let args: Vec<Def> =
            values.iter().flat_map(|&value| lanewise::flattened(self.world, value)).collect();
        self.jump(target, &args);
    }

    /// What a variable holds here.
    pub fn value(&mut self, var: Var) -> Def {
        match self.env.get(&var) {
            Some(&value) => value,
            None => self.unwritten(var),
        }
    }

    /// What a variable holds in an environment.
    fn value_in(&mut self, env: &Env, var: Var) -> Def {
        match env.get(&var) {
            Some(&value) => value,
            None => self.unwritten(var),
        }
    }

    fn unwritten(&mut self, var: Var) -> Def {
        match var {
            Var::Arrived(_) | Var::Mask(_) => self.empty_mask(),
            _ => {
                let ty = self.var_ty(var);
                self.world.undef(ty)
            }
        }
    }

    fn var_ty(&mut self, var: Var) -> Ty {
        let lanes = self.task.lanes;
        if let Var::Value(old) | Var::Left(old) = var
            && self.task.shapes.is_private(old)
        {
            return self.private_ty(var, old);
        }
        let (old, varies) = match var {
            Var::Arrived(_) | Var::Mask(_) => {
                let bool = self.world.types.bool();
                return self.world.types.simd(bool, lanes);
            }
            Var::Value(old) | Var::Next(old) => {
                (value_ty(self.world, old), self.task.shapes.of(old) == Shape::Varying)
            }
            Var::Left(old) => (value_ty(self.world, old), true),
            Var::Result(index) => (self.result_ty(index), true),
        };
        if varies { lanewise::lanes_ty(self.world, old, lanes) } else { old }
    }

    /// The scalar type of a result of the function.
    fn result_ty(&self, index: usize) -> Ty {
        let entry = self.task.flow.blocks[0];
        let ret = self.world.cont(entry).params.last().map(|&ret| self.world.ty(ret));
        let results = ret.and_then(|ret| self.world.types.as_cn(ret)).unwrap_or(&[]);
        results[index + 1]
    }

    // ---- Loops -------------------------------------------------------------------------

    /// Begins a loop: what changes in it becomes a parameter of its header.
    fn header(&mut self, inner: usize, vertex: usize) {
        let flow = self.task.flow;
        let is_divergent = self.task.shapes.divergent_loops[inner];
        let mut vars: Vec<Var> = self.lifetimes.carried(inner).to_vec();
        if is_divergent {
            self.env.insert(Var::Arrived(vertex), self.mask);
            vars.push(Var::Arrived(vertex));
        }
        let args: Vec<Def> = vars.iter().map(|&var| self.value(var)).collect();
        let (cont, params) = self.block_with(vertex, &vars);
        self.hand_over(cont, &args);
        self.resume(cont);
        // What was computed in an earlier round of a loop around this one is not of this round.
        self.env.retain(|&var, _| match var {
            Var::Arrived(at) | Var::Mask(at) => !flow.is_in(at, inner) || at == vertex,
            _ => true,
        });
        self.env.extend(vars.iter().copied().zip(params));
        if is_divergent {
            self.mask = self.value(Var::Arrived(vertex));
        }
        self.headers.insert(inner, (cont, vars));
    }

    /// Ends a round of a loop.
    fn latch(&mut self, inner: usize) {
        let flow = self.task.flow;
        let (header, vars) = self.headers[&inner].clone();
        let header_at = flow.header(inner);
        let own = data_params(self.world, flow.blocks[header_at]);
        let args: Vec<Def> = vars
            .iter()
            .map(|&var| {
                let var = match var {
                    Var::Value(param) if own.contains(&param) => Var::Next(param),
                    other => other,
                };
                self.value(var)
            })
            .collect();
        let next = self.task.plan.next[flow.latch(inner)].first().copied();
        if let Some(next) = next {
            let again = self.value(Var::Arrived(header_at));
            let any = self.world.lanes(LaneOp::Any, &[again]);
            let outside = self.split(any);
            self.hand_over(header, &args);
            self.resume(outside);
            self.env.remove(&Var::Arrived(header_at));
            self.arrive(next);
        } else {
            self.hand_over(header, &args);
        }
    }

    // ---- Edges -------------------------------------------------------------------------

    fn block(&mut self, vertex: usize) -> Result<(), Refusal> {
        let task = self.task;
        for &def in task.flow.schedule.block(vertex) {
            self.world.span = self.world.span_of(def);
            self.operation(def, vertex)?;
        }
        self.world.span = task.flow.spans[vertex];
        match &task.flow.ends[vertex] {
            End::Jump { target, args } => {
                let args: Vec<Rep> = args.iter().map(|&arg| self.rep(arg, vertex)).collect();
                self.edge(vertex, *target, self.mask, &args);
                self.go_on(vertex);
            }
            End::Branch { cond, then, other } => self.choose(vertex, *cond, &[(None, *then)], *other),
            End::Switch { value, cases, default } => {
                let cases: Vec<(Option<Def>, usize)> =
                    cases.iter().map(|&(literal, target)| (Some(literal), target)).collect();
                self.choose(vertex, *value, &cases, *default);
            }
            End::Call { callee, args, next } => {
                let args: Vec<Rep> = args.iter().map(|&arg| self.rep(arg, vertex)).collect();
                let results = self.call(*callee, &args, *next)?;
                if let (Some(next), Some(results)) = (next, results) {
                    self.edge(vertex, *next, self.mask, &results);
                    self.go_on(vertex);
                }
            }
            End::Unreachable => self.go_on(vertex),
        }
        Ok(())
    }

    // ---- Values ------------------------------------------------------------------------

    /// What stands for an old value in a block.
    pub fn rep(&mut self, old: Def, block: usize) -> Rep {
        let (flow, shapes) = (self.task.flow, self.task.shapes);
        if shapes.home(flow, old, block).is_none() {
            return Rep { shape: Shape::Uniform, def: old };
        }
        let var = match shapes.left_loop(flow, old, block) {
            Some(_) => Var::Left(old),
            None => Var::Value(old),
        };
        let def = self.value(var);
        Rep { shape: shapes.at(flow, old, block), def }
    }

    /// Says what stands for an old value from here on.
    pub fn set(&mut self, old: Def, new: Def) {
        if let Some(name) = self.world.name(old)
            && self.world.name(new).is_none()
            && !matches!(self.world.node(new), Node::Param { .. } | Node::Cont(_))
        {
            self.world.set_name(new, name);
        }
        self.env.insert(Var::Value(old), new);
    }

    /// `a & b` where `b` may be undefined outside of `a`.
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

/// The type of the value that an operation gives; for effects, of that besides memory.
pub(super) fn value_ty(world: &World, def: Def) -> Ty {
    match has_effect(world, def) {
        true => world.types.part(world.ty(def), 1).unwrap_or(world.ty(def)),
        false => world.ty(def),
    }
}
