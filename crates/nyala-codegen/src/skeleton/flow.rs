//! The control flow of one function, and the block that is being written.
//!
//! Blocks are numbered in reverse post order: what dominates a block comes before it. Block 0 is the entry.

use nyala_ir::analysis::functions::Uses;
use nyala_ir::analysis::{Cfg, DomTree, Function, Mode, Schedule};
use nyala_ir::{Body, Cont, Def};
use nyala_span::Span;
use rustc_hash::FxHashSet;

use super::program::Program;

/// A function and a position in it.
pub(crate) struct Flow<'w> {
    pub(crate) program: Program<'w>,
    pub(crate) function: &'w Function,
    cfg: Cfg,
    doms: DomTree,
    schedule: Schedule,
    /// Whether a tail call of the function by itself may be a jump to its entry.
    reuses_frame: bool,
    /// The block that is being written.
    current: usize,
    /// The call that ends it; nothing before the first block.
    span: Span,
}

impl<'w> Flow<'w> {
    /// At the entry of a function. If it `reuses_frame`, its tail calls of itself are jumps to its entry; no address of
    /// a local variable may be in use then.
    pub(crate) fn new(
        program: Program<'w>,
        function: &'w Function,
        mode: Mode,
        reuses_frame: bool,
    ) -> Flow<'w> {
        let Program { world, functions } = program;
        let cfg = Cfg::of_function(world, functions, function);
        let schedule = Schedule::of_function(world, functions, function, &cfg, mode);
        Flow {
            program,
            function,
            doms: cfg.dominators(),
            cfg,
            schedule,
            reuses_frame,
            current: 0,
            span: Span::NONE,
        }
    }

    // ---- Blocks -------------------------------------------------------------------

    /// How many blocks there are.
    pub(crate) fn n_blocks(&self) -> usize {
        self.cfg.conts().len()
    }

    /// The continuation of a block.
    pub(crate) fn cont(&self, block: usize) -> Cont {
        self.cfg.conts()[block]
    }

    /// The block of a continuation, if it is one of this function.
    pub(crate) fn block_of(&self, cont: Cont) -> Option<usize> {
        self.cfg.index(cont)
    }

    /// The operations of a block, in order.
    pub(crate) fn operations(&self, block: usize) -> &[Def] {
        self.schedule.block(block)
    }

    /// Replaces the order of operations in blocks for which there is another one.
    pub(crate) fn reorder(&mut self, order: impl Fn(&[Def]) -> Option<Vec<Def>>) {
        for block in 0..self.n_blocks() {
            if let Some(operations) = order(self.schedule.block(block)) {
                self.schedule.set_block(block, operations);
            }
        }
    }

    /// Whether control reaches a block from one other block only. Its parameters then are what that block passes.
    pub(crate) fn has_one_predecessor(&self, block: usize) -> bool {
        block > 0 && self.cfg.graph().preds(block).count() == 1
    }

    /// The blocks that control reaches a block from.
    pub(super) fn preds(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.cfg.graph().preds(block)
    }

    /// Whether every path to `block` goes through `dominator`.
    pub(crate) fn dominates(&self, dominator: usize, block: usize) -> bool {
        self.doms.dominates(dominator, block)
    }

    /// How many edges to a block are back edges.
    pub(crate) fn n_back_edges(&self, block: usize) -> usize {
        self.preds(block).filter(|&pred| self.dominates(block, pred)).count()
    }

    /// Whether control can come back to a block.
    pub(crate) fn is_in_cycle(&self, block: usize) -> bool {
        let graph = self.cfg.graph();
        let mut seen = FxHashSet::default();
        let mut work: Vec<usize> = graph.succs(block).collect();
        while let Some(block) = work.pop() {
            if seen.insert(block) {
                work.extend(graph.succs(block));
            }
        }
        seen.contains(&block)
    }

    // ---- The position ---------------------------------------------------------------

    /// The block that is being written.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Begins to write a block.
    pub(super) fn enter(&mut self, block: usize) {
        self.current = block;
        self.span = self.end().map_or(Span::NONE, |body| body.span);
    }

    /// The call that ends the current block.
    pub(crate) fn end(&self) -> Option<&'w Body> {
        self.program.world.cont(self.cont(self.current)).body.as_ref()
    }

    /// Where the call that ends the current block is in the source.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Whether values of `block` are known in the current one.
    pub(crate) fn dominates_current(&self, block: usize) -> bool {
        self.doms.dominates(block, self.current)
    }

    // ---- Loops over the whole function ------------------------------------------------

    /// Whether there is a jump to the entry.
    pub(crate) fn is_entry_jumped_to(&self) -> bool {
        let Program { world, functions } = self.program;
        let entry = world.cont_def(self.function.entry);
        self.function.bodies(world).any(|body| {
            self.is_self_jump(body.callee, &body.args)
                || Uses::of(world, functions.styles(), body).targets.contains(&entry)
        })
    }

    /// Whether a call is a tail call of the function by itself that can be a jump to its entry.
    pub(crate) fn is_self_jump(&self, callee: Def, args: &[Def]) -> bool {
        self.reuses_frame
            && self.program.world.as_cont(callee) == Some(self.function.entry)
            && self.function.ret.is_none_or(|ret| args.contains(&ret))
    }
}
