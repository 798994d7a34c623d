//! What the lanes' values have to do with each other, and which lanes go together.
//!
//! The *shape* of a value says how it differs between the lanes that are active where it is
//! computed: not at all, by a fixed stride from lane to lane, or in any way. Shapes
//! decide what stays in scalar registers and which accesses are neighbours.
//!
//! Lanes part where a condition varies. From there on until they meet again only some
//! lanes are active, and where they meet, the values that they bring along vary. Lanes that
//! leave a loop in different rounds bring values of different rounds, so these
//! vary even if they are the same for all lanes in each round. Such a loop is
//! *divergent*; in others all lanes stay together.
//!
//! Shapes start low and only rise, until nothing changes: first values, then what follows for
//! control flow, and again.

use nyala_ir::analysis::Number;
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Cont, Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls;
use super::flow::{End, Flow};
use super::private;
use super::strides::{self, Known, Lanes};
use super::{ActiveLanes, Instance};

/// How a value differs between active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Shape {
    /// Not at all.
    Uniform,
    /// Each lane has `stride` more than the one before, modulo the width of the type; bytes
    /// for pointers.
    Strided {
        stride: i64,
        /// Which lanes' values may differ from the first lane's by a multiple of 2^N more.
        wraps: Wraps,
    },
    /// In any way.
    Varying,
}

/// Where arithmetic modulo 2^N may show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Wraps {
    /// Nowhere.
    Never,
    /// The first lane was not active when arithmetic was done for it.
    FirstInactive,
    /// Arithmetic wraps by itself.
    Anywhere,
}

/// The shapes of a function's values, and how its lanes go.
pub(super) struct Shapes {
    shapes: FxHashMap<Def, Shape>,
    /// What is known of integers and addresses: bounds of active lanes', divisors of the first's.
    numbers: FxHashMap<Def, Number>,
    n_lanes: u32,
    /// Addresses in variables whose lanes lie next to each other: uniform if their indices are.
    private: FxHashSet<Def>,
    /// By operation: the blocks where it is computed.
    homes: FxHashMap<Def, Vec<usize>>,
    /// Loops that lanes leave in different rounds.
    pub divergent_loops: Vec<bool>,
    /// Blocks that not all lanes of the function get to together.
    pub partial: Vec<bool>,
    /// Vertices where lanes meet that have parted.
    joins: Vec<bool>,
    /// The parameters, by vertex and number, that get different values from different places.
    differing: FxHashSet<(usize, usize)>,
}

impl Shapes {
    /// The shapes in a SIMD version of a function.
    pub fn new(world: &World, flow: &Flow, instance: &Instance) -> Shapes {
        let first_is_active = instance.active != ActiveLanes::Any;
        let n_vertices = flow.dag.len();
        let mut shapes = Shapes {
            shapes: FxHashMap::default(),
            numbers: FxHashMap::default(),
            n_lanes: instance.lanes,
            private: private::addresses(world, flow),
            homes: FxHashMap::default(),
            divergent_loops: vec![false; flow.loops.loops().len()],
            partial: vec![!first_is_active; n_vertices],
            joins: vec![false; n_vertices],
            differing: differing(world, flow),
        };
        for (block, _) in flow.blocks.iter().enumerate() {
            for &def in flow.schedule.block(block) {
                shapes.homes.entry(def).or_default().push(block);
            }
            for &param in &world.cont(flow.blocks[block]).params {
                shapes.homes.insert(param, vec![block]);
            }
        }
        for (param, known) in data_params(world, flow.blocks[0]).into_iter().zip(&instance.params) {
            shapes.shapes.insert(param, known.shape);
            shapes.numbers.insert(param, known.number.within(world, world.ty(param)));
        }
        let mut analysis = Analysis { world, flow, shapes, changed: true };
        while std::mem::take(&mut analysis.changed) {
            analysis.values();
            analysis.control();
        }
        analysis.shapes
    }

    /// How many lanes there are.
    pub fn n_lanes(&self) -> u32 {
        self.n_lanes
    }

    /// Whether `def` is an address in a variable whose lanes lie next to each other.
    pub fn is_private(&self, def: Def) -> bool {
        self.private.contains(&def)
    }

    /// The shape of `def` where it is computed; constants are uniform.
    pub fn of(&self, def: Def) -> Shape {
        self.shapes.get(&def).copied().unwrap_or(Shape::Uniform)
    }

    /// What is known of the number `def`.
    pub fn number(&self, world: &World, def: Def) -> Number {
        match self.numbers.get(&def) {
            Some(&number) => number,
            None => Number::of_expression(world, def),
        }
    }

    /// The shape of `def` for those who use it in `block`.
    pub fn at(&self, flow: &Flow, def: Def, block: usize) -> Shape {
        match self.left_loop(flow, def, block) {
            Some(_) => Shape::Varying,
            None => self.of(def),
        }
    }

    /// The innermost divergent loop that `def` is computed in but `block` is not in: lanes
    /// that left it in different rounds use different values.
    pub fn left_loop(&self, flow: &Flow, def: Def, block: usize) -> Option<usize> {
        let home = self.home(flow, def, block)?;
        let around = flow.loops_around(home).find(|&around| self.divergent_loops[around])?;
        (!flow.is_in(block, around)).then_some(around)
    }

    /// The block whose value of `def` is used in `block`.
    pub fn home(&self, flow: &Flow, def: Def, block: usize) -> Option<usize> {
        let homes = self.homes.get(&def)?;
        homes.iter().copied().rfind(|&home| block >= flow.blocks.len() || flow.doms.dominates(home, block))
    }

    /// The blocks where `def` is computed.
    pub fn homes_of(&self, def: Def) -> &[usize] {
        self.homes.get(&def).map_or(&[], Vec::as_slice)
    }

    /// Whether the block ends by going different ways with different lanes.
    pub fn parts(&self, flow: &Flow, block: usize) -> bool {
        match flow.ends[block] {
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => {
                self.at(flow, on, block) != Shape::Uniform
            }
            _ => false,
        }
    }
}

/// The parameters that get different values from different places.
fn differing(world: &World, flow: &Flow) -> FxHashSet<(usize, usize)> {
    let mut first: FxHashMap<(usize, usize), Option<Def>> = FxHashMap::default();
    let mut differing = FxHashSet::default();
    for (block, end) in flow.ends.iter().enumerate() {
        let (target, args): (usize, Vec<Option<Def>>) = match end {
            End::Jump { target, args } => (*target, args.iter().copied().map(Some).collect()),
            // No two calls give the same.
            End::Call { next: Some(next), .. } if *next < flow.blocks.len() => {
                (*next, vec![None; data_params(world, flow.blocks[*next]).len()])
            }
            _ => continue,
        };
        let arrival = flow.route(block, target);
        for (index, arg) in args.into_iter().enumerate() {
            let known = first.insert((arrival, index), arg);
            if known.is_some_and(|known| known.is_none() || known != arg) {
                differing.insert((arrival, index));
            }
        }
    }
    differing
}

/// The parameters of a continuation without memory and the place to return to.
pub(super) fn data_params(world: &World, cont: Cont) -> Vec<Def> {
    let is_data = |&&param: &&Def| {
        let ty = world.ty(param);
        ty != world.types.mem() && world.types.as_cn(ty).is_none()
    };
    world.cont(cont).params.iter().filter(is_data).copied().collect()
}

impl Shape {
    /// The lanes differ by `stride`.
    pub fn strided(stride: i64, wraps: Wraps) -> Shape {
        if stride == 0 { Shape::Uniform } else { Shape::Strided { stride, wraps } }
    }

    /// What is as general as both.
    fn or(self, other: Shape) -> Shape {
        match (self, other) {
            _ if self == other => self,
            (Shape::Strided { stride: a, wraps: x }, Shape::Strided { stride: b, wraps: y }) if a == b => {
                Shape::Strided { stride: a, wraps: x.max(y) }
            }
            _ => Shape::Varying,
        }
    }
}

struct Analysis<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: Shapes,
    changed: bool,
}

// ---- Values ----------------------------------------------------------------------

impl Analysis<'_> {
    fn values(&mut self) {
        for &vertex in self.flow.order.iter().filter(|&&vertex| vertex < self.flow.blocks.len()) {
            for &def in self.flow.schedule.block(vertex) {
                if let Some(shape) = self.operation(def, vertex) {
                    self.raise(def, shape);
                    let number = Number::of(self.world, def, &mut |of| self.shapes.number(self.world, of));
                    self.learn(def, number);
                }
            }
            self.hand_over(vertex);
        }
    }

    /// Makes the shape of `def` at least `shape`.
    fn raise(&mut self, def: Def, shape: Shape) {
        let old = self.shapes.shapes.get(&def).copied();
        let new = old.map_or(shape, |old| old.or(shape));
        if old != Some(new) {
            self.shapes.shapes.insert(def, new);
            self.changed = true;
        }
    }

    /// Makes what is known of `def` at most `number`.
    fn learn(&mut self, def: Def, number: Number) {
        let ty = self.world.ty(def);
        let old = self.shapes.numbers.get(&def).copied();
        let new = old.map_or(number, |old| old.or(number)).within(self.world, ty);
        if old != Some(new) {
            self.shapes.numbers.insert(def, new);
            self.changed = true;
        }
    }

    /// What the end of a block gives to the parameters of the next.
    fn hand_over(&mut self, block: usize) {
        match &self.flow.ends[block] {
            End::Jump { target, args } => {
                let shapes: Vec<Option<Shape>> = args.iter().map(|&arg| self.known(arg, block)).collect();
                self.give(block, *target, &shapes);
                self.tell(*target, args);
            }
            End::Call { callee, args, next: Some(next) } => {
                let shapes: Vec<Option<Shape>> = args.iter().map(|&arg| self.known(arg, block)).collect();
                if let Some(shapes) = shapes.into_iter().collect::<Option<Vec<Shape>>>() {
                    let result = calls::result_shape(self.world, self.flow, *callee, &shapes);
                    let n_results = self.n_params(*next);
                    self.give(block, *next, &vec![Some(result); n_results]);
                }
            }
            _ => {}
        }
    }

    fn n_params(&self, vertex: usize) -> usize {
        self.flow.blocks.get(vertex).map_or(0, |&block| data_params(self.world, block).len())
    }

    /// Tells parameters what is known of the arguments.
    fn tell(&mut self, target: usize, args: &[Def]) {
        let Some(&block) = self.flow.blocks.get(target) else { return };
        for (param, &arg) in data_params(self.world, block).into_iter().zip(args) {
            if self.shapes.numbers.contains_key(&arg) || !self.shapes.homes.contains_key(&arg) {
                self.learn(param, self.shapes.number(self.world, arg));
            }
        }
    }

    fn give(&mut self, from: usize, target: usize, shapes: &[Option<Shape>]) {
        let Some(&block) = self.flow.blocks.get(target) else { return };
        let leaves_divergent =
            self.flow.loops_left(from, target).any(|left| self.shapes.divergent_loops[left]);
        let arrival = self.flow.route(from, target);
        for (index, (param, shape)) in data_params(self.world, block).into_iter().zip(shapes).enumerate() {
            let is_blend = self.shapes.joins[arrival] && self.shapes.differing.contains(&(arrival, index));
            if let Some(shape) = *shape {
                self.raise(param, if is_blend || leaves_divergent { Shape::Varying } else { shape });
            }
        }
    }

    /// The shape of an operand; none if it is not known yet.
    fn known(&self, def: Def, block: usize) -> Option<Shape> {
        if self.shapes.left_loop(self.flow, def, block).is_some() {
            return Some(Shape::Varying);
        }
        match self.shapes.homes.contains_key(&def) {
            true => self.shapes.shapes.get(&def).copied(),
            false => Some(Shape::Uniform),
        }
    }

    fn operation(&self, def: Def, block: usize) -> Option<Shape> {
        let world = self.world;
        let known =
            |def: Def| Some(Known { shape: self.known(def, block)?, number: self.shapes.number(world, def) });
        Some(match world.node(def) {
            Node::Slot { .. } if self.shapes.is_private(def) => Shape::Uniform,
            Node::Slot { .. } => {
                let pointer = world.types.part(world.ty(def), 1).and_then(|ptr| world.types.as_ptr(ptr));
                let size = pointer.map_or(0, |(pointee, _)| world.layout(pointee).size);
                Shape::strided(size as i64, Wraps::Never)
            }
            Node::Load { ptr, .. } => match self.known(ptr, block)? {
                Shape::Uniform if !self.shapes.is_private(ptr) => Shape::Uniform,
                _ => Shape::Varying,
            },
            Node::Alloc { .. } => Shape::Varying,
            Node::Extract { agg, .. } if has_effect(world, agg) => self.known(agg, block)?,
            Node::Hide(value) | Node::Streaming(value) => self.known(value, block)?,
            Node::Arith { op, flags, lhs, rhs } => {
                let (a, b) = (known(lhs)?, known(rhs)?);
                let lanes = Lanes { count: self.shapes.n_lanes, is_partial: self.shapes.partial[block] };
                match world.types.as_prim(world.ty(def)).filter(|prim| prim.is_int()) {
                    Some(prim) => strides::arith(lanes, prim, op, flags, a, b),
                    None if (a.shape, b.shape) == (Shape::Uniform, Shape::Uniform) => Shape::Uniform,
                    None => Shape::Varying,
                }
            }
            Node::Cast(value) | Node::Bitcast(value) => {
                let is_cast = matches!(world.node(def), Node::Cast(_));
                strides::convert(world, world.ty(value), world.ty(def), is_cast, known(value)?)
            }
            Node::Lea { ptr, index } if !self.shapes.is_private(def) => {
                let (base, at) = (known(ptr)?, known(index)?);
                let pointee = world.types.as_ptr(world.ty(ptr)).map(|(pointee, _)| pointee);
                match pointee.and_then(|pointee| world.types.elem(pointee)) {
                    Some(elem) => {
                        strides::element(world, elem, world.ty(index), base, at).unwrap_or(Shape::Varying)
                    }
                    None => base.shape,
                }
            }
            Node::Select { cond, then, other } => match self.known(cond, block)? {
                Shape::Uniform => self.known(then, block)?.or(self.known(other, block)?),
                _ => Shape::Varying,
            },
            _ => {
                let mut shape = Some(Shape::Uniform);
                world.for_each_operand(def, |operand| {
                    let is_mem = world.ty(operand) == world.types.mem();
                    if !is_mem && shape.is_some() && shape != Some(Shape::Varying) {
                        shape = self.known(operand, block).map(|known| match known {
                            Shape::Uniform => Shape::Uniform,
                            _ => Shape::Varying,
                        });
                    }
                });
                shape?
            }
        })
    }
}

// ---- Control ----------------------------------------------------------------------

impl Analysis<'_> {
    fn control(&mut self) {
        for block in 0..self.flow.blocks.len() {
            if self.shapes.parts(self.flow, block) {
                let targets = self.flow.ends[block].targets();
                for &target in &targets {
                    self.leave_loops(block, target, |_| true);
                }
                let sources: Vec<usize> =
                    targets.into_iter().map(|target| self.flow.route(block, target)).collect();
                self.spread(self.flow.innermost(block), &sources);
            }
        }
        for inner in 0..self.shapes.divergent_loops.len() {
            if self.shapes.divergent_loops[inner] {
                self.spread_exits(inner);
            }
        }
    }

    /// Lanes leave a divergent loop in different rounds, to wherever it is left to.
    fn spread_exits(&mut self, inner: usize) {
        let flow = self.flow;
        let mut sources = vec![];
        for &vertex in flow.vertices_of(inner) {
            mark(&mut self.shapes.partial[vertex], &mut self.changed);
            let targets = if vertex < flow.blocks.len() { flow.ends[vertex].targets() } else { vec![] };
            for target in targets.into_iter().filter(|&target| !flow.is_in(target, inner)) {
                self.leave_loops(vertex, target, |left| left != inner);
                let source = flow.route(vertex, target);
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        self.spread(flow.loops.loops()[inner].parent, &sources);
    }

    /// Notes that some lanes leave loops by this edge, and others do not.
    fn leave_loops(&mut self, from: usize, to: usize, counts: impl Fn(usize) -> bool) {
        for left in self.flow.loops_left(from, to).filter(|&left| counts(left)) {
            mark(&mut self.shapes.divergent_loops[left], &mut self.changed);
        }
    }

    /// Lanes part and go to different `sources`, in the loop `origin`. Follows them until
    /// all have met: each vertex knows which source, or which place where lanes met,
    /// its lanes come from; where lanes from different places arrive, they meet.
    fn spread(&mut self, origin: Option<usize>, sources: &[usize]) {
        let flow = self.flow;
        let Some(&first) = sources.first() else { return };
        if sources.len() < 2 {
            return;
        }
        let end = sources.iter().fold(first, |end, &source| flow.post_doms.common(end, source));
        let start = sources.iter().map(|&source| flow.position[source]).min().unwrap_or(0);
        let mut label: FxHashMap<usize, usize> = sources.iter().map(|&source| (source, source)).collect();
        for at in start..flow.order.len() {
            let vertex = flow.order[at];
            let mut from: Vec<usize> =
                flow.dag.preds(vertex).filter_map(|pred| label.get(&pred).copied()).collect();
            from.extend(label.get(&vertex).copied());
            let Some(&one) = from.first() else { continue };
            let meet = from.iter().any(|&other| other != one);
            if meet {
                mark(&mut self.shapes.joins[vertex], &mut self.changed);
            }
            if vertex == end {
                break;
            }
            label.insert(vertex, if meet { vertex } else { one });
            mark(&mut self.shapes.partial[vertex], &mut self.changed);
            if vertex < flow.blocks.len() {
                let around: Vec<usize> =
                    std::iter::successors(origin, |&inner| flow.loops.loops()[inner].parent).collect();
                for target in flow.ends[vertex].targets() {
                    self.leave_loops(vertex, target, |left| around.contains(&left));
                }
            }
        }
    }
}

fn mark(flag: &mut bool, changed: &mut bool) {
    if !std::mem::replace(flag, true) {
        *changed = true;
    }
}
