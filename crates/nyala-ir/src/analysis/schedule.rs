//! Where to compute the operations of a scope, or of a function.
//!
//! The program has only dependences. A schedule assigns operations to
//! the continuations of a scope (its *blocks*), each after its operands.
//!
//! # Which operations may be moved
//!
//! An operation that can fail, or that touches memory, is executed exactly where
//! its value is demanded: in each block whose body needs it, unless a dominator
//! already needed it. Two branches that divide both divide themselves; what runs
//! before them does not. The same holds for everything computed from such an
//! operation, as it could not move without taking the operation along. All this is
//! *pinned*; it is what [`Mode::Demand`] does with every operation, so that an
//! interpreter evaluates exactly what the program demands.
//!
//! Everything else may be computed once, anywhere between the first block in
//! which all operands are there (*early*) and the last one that dominates all
//! uses (*late*). [`Mode::Smart`] takes the latest block among those in the
//! fewest loops (Click 1995). [`Mode::Machine`] does so too, except that addresses stay where
//! they are demanded.
//!
//! # Functions
//!
//! In a function of a program in control-flow form, what it captures is there from the start,
//! and another function that is used as a value is an operation on what that one captures.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::Cfg;
use super::dominance::DomTree;
use super::functions::{Function, Functions, Uses};
use super::loops::LoopForest;
use super::references::owner;
use super::scope::Nesting;
use crate::node::{ArithOp, Def, Node};
use crate::types::{Prim, Ty};
use crate::world::World;

/// How to choose among the blocks that are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// As soon as the operands are there.
    Early,
    /// As late as one place can serve all uses.
    Late,
    /// The latest place in the fewest loops.
    Smart,
    /// The same for machine code: an address is a part of the instruction that reads or writes there,
    /// while one that is computed ahead occupies a register.
    Machine,
    /// In each block that needs the value, unless a dominator already did.
    Demand,
}

/// The operations of a scope, by block.
#[derive(Clone, Debug)]
pub struct Schedule {
    blocks: Vec<Vec<Def>>,
}

impl Schedule {
    /// Schedules the scope of `cfg`.
    pub fn new(world: &World, cfg: &Cfg, mode: Mode) -> Schedule {
        Schedule::build(View { world, cfg, within: None }, mode)
    }

    /// Schedules one of `functions` with the control flow graph `cfg` of its blocks.
    pub fn of_function(
        world: &World,
        functions: &Functions,
        function: &Function,
        cfg: &Cfg,
        mode: Mode,
    ) -> Schedule {
        let captures = function.captures.iter().copied().collect();
        Schedule::build(View { world, cfg, within: Some(Within { functions, captures }) }, mode)
    }

    fn build(view: View<'_>, mode: Mode) -> Schedule {
        let ops = Ops::new(&view, mode);
        let doms = view.cfg.dominators();
        let mut blocks = pinned(&view, &ops, &doms);
        if mode != Mode::Demand {
            Placer::new(&view, &ops, &doms, mode).run(&mut blocks);
        }
        for block in &mut blocks {
            block.sort_by_key(|def| ops.order[def]);
        }
        Schedule { blocks }
    }

    /// Every operation in each block that needs it, unless a dominator already did.
    pub fn demand(world: &World, cfg: &Cfg) -> Schedule {
        Schedule::new(world, cfg, Mode::Demand)
    }

    /// Computes each of these operations once, at the end of a block, and nowhere else. Their
    /// operands must be there, those that are moved too before what needs them.
    pub fn compute_once(&mut self, moves: &[(Def, usize)]) {
        let moved: FxHashSet<Def> = moves.iter().map(|&(def, _)| def).collect();
        for block in &mut self.blocks {
            block.retain(|def| !moved.contains(def));
        }
        for &(def, vertex) in moves {
            self.blocks[vertex].push(def);
        }
    }

    /// Computes the operations of the block of this vertex in another order, in which operands still come before users.
    pub fn set_block(&mut self, vertex: usize, operations: Vec<Def>) {
        self.blocks[vertex] = operations;
    }

    /// The operations of the block of this vertex, in order.
    pub fn block(&self, vertex: usize) -> &[Def] {
        &self.blocks[vertex]
    }
}

/// Whether `def` reads or writes memory, or is ordered with operations that do.
pub fn has_effect(world: &World, def: Def) -> bool {
    taken_token(world, def).is_some()
}

/// The memory token that `def` takes; `None` if it has no effect.
pub fn taken_token(world: &World, def: Def) -> Option<Def> {
    match world.node(def) {
        Node::Load { mem, .. }
        | Node::Store { mem, .. }
        | Node::LoadLanes { mem, .. }
        | Node::StoreLanes { mem, .. }
        | Node::Slot { mem }
        | Node::Alloc { mem, .. }
        | Node::Demand { mem, .. } => Some(mem),
        Node::Asm { args, .. } => world.list(args).first().copied(),
        _ => None,
    }
}

/// Whether executing `def` can be an error of the program, given operands that
/// were computed without one. Conservative.
pub fn can_fail(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Arith { op, flags, lhs, rhs } => arith_can_fail(world, op, flags.wrap, world.ty(lhs), rhs),
        Node::Cast(value) => {
            let prim = |def: Def| world.types.lane_prim(world.ty(def));
            prim(value).is_some_and(Prim::is_float) && prim(def).is_some_and(Prim::is_int)
        }
        Node::Extract { agg, index } | Node::Insert { agg, index, .. } => {
            let in_range = |index| world.types.part(world.ty(agg), index).is_some();
            !world.as_lit(index).is_some_and(in_range)
        }
        Node::VariantPayload { .. } => true,
        _ => has_effect(world, def),
    }
}

fn arith_can_fail(world: &World, op: ArithOp, wraps: bool, ty: Ty, rhs: Def) -> bool {
    let Some(prim) = world.types.lane_prim(ty).filter(|prim| prim.is_int()) else {
        return false;
    };
    match op {
        ArithOp::Add | ArithOp::Sub | ArithOp::Mul => prim.is_signed() && !wraps,
        // The least number divided by -1 overflows.
        ArithOp::Div | ArithOp::Rem => match world.as_int(rhs) {
            Some(0) | None => true,
            Some(divisor) => prim.is_signed() && divisor == -1,
        },
        ArithOp::Shl | ArithOp::Shr => world.as_lit(rhs).is_none_or(|count| count >= u64::from(prim.bits())),
        ArithOp::And | ArithOp::Or | ArithOp::Xor => false,
    }
}

/// The input of scheduling.
struct View<'a> {
    world: &'a World,
    cfg: &'a Cfg,
    within: Option<Within<'a>>,
}

/// The function that is scheduled.
struct Within<'a> {
    functions: &'a Functions,
    /// The values that it is made with.
    captures: FxHashSet<Def>,
}

impl View<'_> {
    fn for_each_operand(&self, def: Def, mut each: impl FnMut(Def)) {
        match (&self.within, self.world.node(def)) {
            (Some(within), Node::Cont(cont)) => {
                within.functions.captures(cont).iter().for_each(|&capture| each(capture))
            }
            (Some(within), _) if within.captures.contains(&def) => {}
            _ => self.world.for_each_operand(def, each),
        }
    }

    fn is_operation(&self, def: Def) -> bool {
        let mut has_operand = false;
        self.for_each_operand(def, |_| has_operand = true);
        has_operand
    }

    /// The nodes that the body of a block needs.
    fn needs(&self, vertex: usize) -> Vec<Def> {
        let body = self.cfg.cont(vertex).and_then(|cont| self.world.cont(cont).body.as_ref());
        match (&self.within, body) {
            (_, None) => vec![],
            (None, Some(body)) => std::iter::once(body.callee).chain(body.args.iter().copied()).collect(),
            (Some(within), Some(body)) => {
                // A jump target is not computed.
                let Uses { values, targets } = Uses::of(self.world, within.functions.styles(), body);
                let places = std::iter::once(body.callee).chain(targets);
                values
                    .into_iter()
                    .chain(places.filter(|&place| self.world.as_cont(place).is_none()))
                    .collect()
            }
        }
    }
}

/// The operations that the bodies of a scope need.
struct Ops {
    /// Operands before users.
    list: Vec<Def>,
    /// The position in `list`.
    order: FxHashMap<Def, usize>,
    /// By position: whether it stays where it is demanded.
    is_pinned: Vec<bool>,
}

impl Ops {
    fn new(view: &View<'_>, mode: Mode) -> Ops {
        let mut ops = Ops { list: vec![], order: FxHashMap::default(), is_pinned: vec![] };
        for vertex in 0..view.cfg.exit() {
            let is_known = |ops: &Ops, def: Def| ops.order.contains_key(&def);
            visit_operands_first(view, vertex, is_known, Ops::add(view, mode), &mut ops);
        }
        ops
    }

    fn add<'a>(view: &'a View<'_>, mode: Mode) -> impl FnMut(&mut Ops, Def) + 'a {
        move |ops, def| {
            let mut is_pinned = match mode {
                Mode::Demand => true,
                Mode::Machine => {
                    can_fail(view.world, def) || matches!(view.world.node(def), Node::Lea { .. })
                }
                Mode::Early | Mode::Late | Mode::Smart => can_fail(view.world, def),
            };
            view.for_each_operand(def, |operand| is_pinned |= ops.is_pinned(operand));
            ops.order.insert(def, ops.list.len());
            ops.list.push(def);
            ops.is_pinned.push(is_pinned);
        }
    }

    fn is_pinned(&self, def: Def) -> bool {
        self.order.get(&def).is_some_and(|&at| self.is_pinned[at])
    }
}

/// Calls `finish` for each operation that the block of `vertex` needs and that is not
/// `done`, operands first. `finish` must make it done.
fn visit_operands_first<S>(
    view: &View<'_>,
    vertex: usize,
    done: impl Fn(&S, Def) -> bool,
    mut finish: impl FnMut(&mut S, Def),
    state: &mut S,
) {
    let mut stack: Vec<(Def, bool)> =
        view.needs(vertex).into_iter().rev().map(|root| (root, false)).collect();
    while let Some((def, operands_are_done)) = stack.pop() {
        if done(state, def) || !view.is_operation(def) {
            continue;
        }
        if operands_are_done {
            finish(state, def);
            continue;
        }
        stack.push((def, true));
        let first = stack.len();
        view.for_each_operand(def, |operand| stack.push((operand, false)));
        stack[first..].reverse();
    }
}

/// The pinned operations of each block.
fn pinned(view: &View<'_>, ops: &Ops, doms: &DomTree) -> Vec<Vec<Def>> {
    struct State {
        blocks: Vec<Vec<Def>>,
        /// Where each operation was placed last. Blocks come in preorder of the
        /// dominator tree, so if any earlier place dominates the current block,
        /// the last one does.
        last: FxHashMap<Def, usize>,
    }
    let mut state = State { blocks: vec![vec![]; view.cfg.exit()], last: FxHashMap::default() };
    for &vertex in doms.preorder().iter().filter(|&&vertex| vertex != view.cfg.exit()) {
        let is_there = |state: &State, def: Def| {
            !ops.is_pinned(def) || state.last.get(&def).is_some_and(|&last| doms.dominates(last, vertex))
        };
        let place = |state: &mut State, def: Def| {
            state.blocks[vertex].push(def);
            state.last.insert(def, vertex);
        };
        visit_operands_first(view, vertex, is_there, place, &mut state);
    }
    state.blocks
}

/// Finds one block for each operation that is not pinned.
struct Placer<'a> {
    view: &'a View<'a>,
    ops: &'a Ops,
    doms: &'a DomTree,
    mode: Mode,
    /// By position: the first block where all operands are there.
    early: Vec<usize>,
    /// By position: the last block that dominates all uses seen so far.
    late: Vec<Option<usize>>,
    /// By block: the closest dominator that is in fewer loops.
    fewer_loops: Vec<Option<usize>>,
}

impl<'a> Placer<'a> {
    fn new(view: &'a View<'a>, ops: &'a Ops, doms: &'a DomTree, mode: Mode) -> Placer<'a> {
        let early = early_blocks(view, ops, doms);
        let fewer_loops = fewer_loops(view.cfg, doms);
        Placer { view, ops, doms, mode, early, late: vec![None; ops.list.len()], fewer_loops }
    }

    fn run(mut self, blocks: &mut [Vec<Def>]) {
        for (vertex, block) in blocks.iter().enumerate() {
            self.view.needs(vertex).into_iter().for_each(|def| self.use_in(def, vertex));
            for &def in block {
                self.use_operands_in(def, vertex);
            }
        }
        // Users before operands, so that all uses of an operation are known.
        for at in (0..self.ops.list.len()).rev().filter(|&at| !self.ops.is_pinned[at]) {
            let late = self.late[at].expect("an operation is listed because something needs it");
            let vertex = self.choose(self.early[at], late);
            blocks[vertex].push(self.ops.list[at]);
            self.use_operands_in(self.ops.list[at], vertex);
        }
    }

    fn use_operands_in(&mut self, def: Def, vertex: usize) {
        let view = self.view;
        view.for_each_operand(def, |operand| self.use_in(operand, vertex));
    }

    fn use_in(&mut self, def: Def, vertex: usize) {
        if let Some(&at) = self.ops.order.get(&def) {
            self.late[at] = Some(self.late[at].map_or(vertex, |late| self.doms.common(late, vertex)));
        }
    }

    fn choose(&self, early: usize, late: usize) -> usize {
        match self.mode {
            Mode::Early => early,
            Mode::Late | Mode::Demand => late,
            Mode::Smart | Mode::Machine => {
                let mut best = late;
                while let Some(up) = self.fewer_loops[best].filter(|&up| self.doms.dominates(early, up)) {
                    best = up;
                }
                best
            }
        }
    }
}

/// For each operation, the deepest block that one of its operands needs.
fn early_blocks(view: &View<'_>, ops: &Ops, doms: &DomTree) -> Vec<usize> {
    let View { world, cfg, within } = view;
    let nesting = within.is_none().then(|| Nesting::within(world, cfg.conts()[cfg.entry()]));
    let parent = |cont| nesting.as_ref().and_then(|nesting| nesting.parent(cont));
    let mut early: Vec<usize> = Vec::with_capacity(ops.list.len());
    for &def in &ops.list {
        let mut block = cfg.entry();
        view.for_each_operand(def, |operand| {
            let available = match world.node(operand) {
                Node::Param { .. } => cfg.index(owner(world, operand)),
                // A continuation can be made where all that it captures is there.
                Node::Cont(cont) if within.is_none() => parent(cont).and_then(|parent| cfg.index(parent)),
                _ => ops.order.get(&operand).map(|&at| early[at]),
            };
            block = available.filter(|&at| doms.depth(at) > doms.depth(block)).unwrap_or(block);
        });
        early.push(block);
    }
    early
}

/// For each block, the closest dominator that is in fewer loops.
fn fewer_loops(cfg: &Cfg, doms: &DomTree) -> Vec<Option<usize>> {
    let loops = LoopForest::new(cfg.graph(), cfg.entry());
    let mut result = vec![None; cfg.graph().len()];
    for &vertex in doms.preorder() {
        let mut up = doms.idom(vertex);
        while let Some(above) = up.filter(|&above| loops.depth(above) >= loops.depth(vertex)) {
            up = result[above];
        }
        result[vertex] = up;
    }
    result
}
