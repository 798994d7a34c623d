//! The nodes to print: those that roots reach, and which of them are inline.

use cranelift_entity::EntityRef;

use crate::analysis::schedule::has_effect;
use crate::node::{Cont, ContData, Def, Global, Node};
use crate::types::Prim;
use crate::world::World;

/// An operation with more operators than this inside gets a line of its own.
const MAX_INLINE_OPS: u32 = 8;
/// An operation nested deeper than this gets a line of its own.
const MAX_INLINE_DEPTH: u32 = 4;

/// The nodes that roots reach.
pub(super) struct Reach<'w> {
    world: &'w World,
    pub(super) reached: Vec<bool>,
    /// Roots first, then in the order in which bodies mention them.
    pub(super) conts: Vec<Cont>,
    pub(super) globals: Vec<Global>,
}

impl<'w> Reach<'w> {
    pub(super) fn new(world: &'w World) -> Reach<'w> {
        Reach { world, reached: vec![false; world.node_count()], conts: vec![], globals: vec![] }
    }

    pub(super) fn from(&mut self, roots: &[Def]) {
        let roots: Vec<Def> = roots.iter().copied().filter(|&root| self.mark(root)).collect();
        let mut stack = vec![];
        for root in roots {
            self.push_uses(root, &mut stack);
            while let Some(def) = stack.pop() {
                if self.mark(def) {
                    self.push_uses(def, &mut stack);
                }
            }
        }
    }

    /// Whether `def` is new.
    fn mark(&mut self, def: Def) -> bool {
        if std::mem::replace(&mut self.reached[def.index()], true) {
            return false;
        }
        match self.world.node(def) {
            Node::Cont(cont) if !self.world.is_builtin(cont) => self.conts.push(cont),
            Node::Global(global) => self.globals.push(global),
            _ => {}
        }
        true
    }

    /// Pushes the nodes that `def` mentions, the first on top.
    fn push_uses(&self, def: Def, stack: &mut Vec<Def>) {
        let from = stack.len();
        for_each_mention(self.world, def, |used| stack.push(used));
        stack[from..].reverse();
    }
}

/// Calls `each` with the nodes that `def` mentions: operands, bodies, filters, values of
/// globals, owners of parameters.
fn for_each_mention(world: &World, def: Def, mut each: impl FnMut(Def)) {
    match world.node(def) {
        Node::Cont(cont) => mentioned_by_cont(world.cont(cont)).for_each(each),
        Node::Global(global) => world.global(global).init.into_iter().for_each(each),
        Node::Param { cont, .. } => each(world.cont_def(cont)),
        _ => world.for_each_operand(def, each),
    }
}

pub(super) fn mentioned_by_cont(data: &ContData) -> impl Iterator<Item = Def> {
    let body =
        data.body.iter().flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
    body.chain(data.filter.iter().copied())
}

/// For each reachable node, whether it is printed inline.
pub(super) fn choose_inline(world: &World, reached: &[bool]) -> Vec<bool> {
    let uses = count_uses(world, reached);
    let mut inline = vec![false; reached.len()];
    // The number and the depth of operators of inline nodes.
    let mut size = vec![(0u32, 0u32); reached.len()];
    for index in 0..reached.len() {
        let def = Def::new(index);
        if !reached[index] {
            continue;
        }
        let (mut ops, mut depth) = (0u32, 0);
        world.for_each_operand(def, |operand| {
            if inline[operand.index()] {
                let inner = size[operand.index()];
                ops = ops.saturating_add(inner.0);
                depth = depth.max(inner.1);
            }
        });
        (inline[index], size[index]) = match world.node(def) {
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => (false, (0, 0)),
            Node::Lit(_) | Node::Undef | Node::SizeOf(_) | Node::AlignOf(_) => (true, (0, 0)),
            _ if has_effect(world, def) => (false, (0, 0)),
            _ if is_transparent(world, def) => (true, (ops, depth)),
            _ => {
                let size = (ops.saturating_add(1), depth + 1);
                (uses[index] <= 1 && size.0 <= MAX_INLINE_OPS && size.1 <= MAX_INLINE_DEPTH, size)
            }
        };
    }
    inline
}

/// How often each node would be written if all stood inline where they are used once.
fn count_uses(world: &World, reached: &[bool]) -> Vec<u32> {
    let mut uses = vec![0u32; reached.len()];
    let is_reached = |index: &usize| reached[*index];
    for index in (0..reached.len()).filter(is_reached) {
        if let Node::Cont(_) | Node::Global(_) = world.node(Def::new(index)) {
            for_each_mention(world, Def::new(index), |used| uses[used.index()] += 1);
        }
    }
    // Operands are older than their users, so counts are complete.
    for index in (0..reached.len()).rev().filter(is_reached) {
        let def = Def::new(index);
        let times = if is_transparent(world, def) { uses[index] } else { 1 };
        world.for_each_operand(def, |used| uses[used.index()] = uses[used.index()].saturating_add(times));
    }
    uses
}

/// `a.0` and `()` are as short as a name.
fn is_transparent(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Extract { index, .. } => part_number(world, index).is_some(),
        Node::Aggregate(parts) => world.list(parts).is_empty(),
        _ => false,
    }
}

/// The value of a literal `u32`.
pub(super) fn part_number(world: &World, index: Def) -> Option<u64> {
    world.as_lit(index).filter(|_| world.ty(index) == world.types.prim(Prim::U32))
}
