//! Divergence analysis: the shapes of values, and where control flow diverges.
//!
//! The *shape* of a value says how it differs between the active lanes: uniform, strided, or varying.
//! Shapes decide which values stay in scalar registers and which accesses are contiguous.
//!
//! Lanes diverge at a branch on a varying condition. Until they reconverge, only some lanes are active;
//! block parameters at the join point are varying. A loop whose lanes exit in different iterations is
//! *divergent*. Its live-out values are varying even if they are uniform in each iteration.
//!
//! `divergence` computes this by fixed-point iteration.

mod divergence;

use nyala_ir::analysis::Number;
use nyala_ir::analysis::functions::is_return;
use nyala_ir::{Cont, Def, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{End, Flow};
use super::private;
use super::strides::{self, Elements, Known};
use super::{ActiveLanes, Instance};

/// How a value differs between active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Shape {
    /// The same in all active lanes.
    Uniform,
    /// Lane `i` has the value of lane 0 plus `i * stride`, modulo the width of the type; in bytes for
    /// pointers.
    Strided {
        stride: i64,
        /// Whether the values, as numbers of unlimited width, may differ from that by a multiple of
        /// 2^N.
        wraps: Wraps,
    },
    /// Possibly different in each lane.
    Varying,
}

/// Where wrapping shows between lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Wraps {
    /// Nowhere.
    Never,
    /// Only against lane 0, which was not active when the value was computed.
    FirstInactive,
    /// Between any two lanes.
    Anywhere,
}

/// The shapes of a function's values, and the divergence of its control flow.
pub(super) struct Shapes {
    shapes: FxHashMap<Def, Shape>,
    /// Ranges of the active lanes' integers and addresses, and powers of two that divide those of lane
    /// 0.
    numbers: FxHashMap<Def, Number>,
    /// The strides between elements of parameters that are simd values of the program.
    elements: FxHashMap<Def, Elements>,
    n_lanes: u32,
    /// Addresses in private variables: uniform if their indices are.
    private: FxHashSet<Def>,
    /// By operation: the blocks that compute it.
    homes: FxHashMap<Def, Vec<usize>>,
    /// Loops whose lanes exit in different iterations.
    pub divergent_loops: Vec<bool>,
    /// Blocks that only some of the function's active lanes may execute.
    pub partial: Vec<bool>,
    /// Vertices where divergent lanes reconverge.
    joins: Vec<bool>,
    /// The block parameters, by vertex and index, that get different values on different edges.
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
            elements: FxHashMap::default(),
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
        let params = function_params(world, flow.blocks[0]);
        let elements = params.iter().zip(&instance.elements);
        shapes.elements.extend(elements.filter_map(|(&param, &stride)| Some((param, stride?))));
        for (param, known) in params.into_iter().zip(&instance.params) {
            shapes.shapes.insert(param, known.shape);
            shapes.numbers.insert(param, known.number.within(world, world.ty(param)));
        }
        divergence::analyze(world, flow, shapes)
    }

    /// The number of lanes.
    pub fn n_lanes(&self) -> u32 {
        self.n_lanes
    }

    /// Whether `def` is an address in a private variable.
    pub fn is_private(&self, def: Def) -> bool {
        self.private.contains(&def)
    }

    /// The shape of `def` where it is computed; constants are uniform.
    pub fn of(&self, def: Def) -> Shape {
        self.shapes.get(&def).copied().unwrap_or(Shape::Uniform)
    }

    /// The range of the integer or address `def`.
    pub fn number(&self, world: &World, def: Def) -> Number {
        match self.numbers.get(&def) {
            Some(&number) => number,
            None => Number::of_expression(world, def),
        }
    }

    /// The shape of the elements of a uniform simd value, of which each lane takes its own.
    fn of_elements(&self, world: &World, agg: Def, index: Known) -> Option<Shape> {
        let Elements { lanes, stride } = self.own_elements(world, agg, index)?;
        (lanes == self.n_lanes).then_some(Shape::strided(stride, Wraps::Never))
    }

    /// The elements of a uniform simd value, of which each lane takes its own.
    pub fn own_elements(&self, world: &World, agg: Def, index: Known) -> Option<Elements> {
        let is_lane_index =
            matches!(index.shape, Shape::Strided { stride: 1, .. }) && index.number.twos >= i32::BITS;
        if !is_lane_index || world.types.lanes(world.ty(agg)) != Some(self.n_lanes) {
            return None;
        }
        strides::of_elements(world, agg, &|param| self.elements.get(&param).copied())
    }

    /// The shape of `def` for uses in `block`.
    pub fn at(&self, flow: &Flow, def: Def, block: usize) -> Shape {
        match self.exited_loop(flow, def, block) {
            Some(_) => Shape::Varying,
            None => self.of(def),
        }
    }

    /// The innermost divergent loop that computes `def` and does not contain `block`: the value is live
    /// out of the loop, and lanes have it from different iterations.
    pub fn exited_loop(&self, flow: &Flow, def: Def, block: usize) -> Option<usize> {
        let home = self.home(flow, def, block)?;
        let around = flow.loops_around(home).find(|&around| self.divergent_loops[around])?;
        (!flow.is_in(block, around)).then_some(around)
    }

    /// The block whose value of `def` is used in `block`.
    pub fn home(&self, flow: &Flow, def: Def, block: usize) -> Option<usize> {
        let homes = self.homes.get(&def)?;
        homes.iter().copied().rfind(|&home| block >= flow.blocks.len() || flow.doms.dominates(home, block))
    }

    /// The blocks that compute `def`.
    pub fn homes_of(&self, def: Def) -> &[usize] {
        self.homes.get(&def).map_or(&[], Vec::as_slice)
    }

    /// Whether the terminator of the block diverges.
    pub fn diverges(&self, flow: &Flow, block: usize) -> bool {
        match flow.ends[block] {
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => {
                self.at(flow, on, block) != Shape::Uniform
            }
            _ => false,
        }
    }
}

/// The block parameters that get different values on different edges.
fn differing(world: &World, flow: &Flow) -> FxHashSet<(usize, usize)> {
    let mut first: FxHashMap<(usize, usize), Option<Def>> = FxHashMap::default();
    let mut differing = FxHashSet::default();
    for (block, end) in flow.ends.iter().enumerate() {
        let (target, args): (usize, Vec<Option<Def>>) = match end {
            End::Jump { target, args } => (*target, args.iter().copied().map(Some).collect()),
            // Each call has results of its own.
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

/// The parameters of a block without memory. Functions among them are values: only a function has a return
/// continuation.
pub(super) fn data_params(world: &World, block: Cont) -> Vec<Def> {
    let is_data = |&&param: &&Def| world.ty(param) != world.types.mem();
    world.cont(block).params.iter().filter(is_data).copied().collect()
}

/// The parameters of a function without memory and the return continuation.
pub(super) fn function_params(world: &World, entry: Cont) -> Vec<Def> {
    let mut params = data_params(world, entry);
    params.pop_if(|last| is_return(&world.types, world.ty(*last)));
    params
}

impl Shape {
    /// The shape with this stride; stride 0 is uniform.
    pub fn strided(stride: i64, wraps: Wraps) -> Shape {
        if stride == 0 { Shape::Uniform } else { Shape::Strided { stride, wraps } }
    }

    /// The least upper bound.
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
