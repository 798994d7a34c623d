//! Translates blocks: registers, demanded operations, terminators. `operations` translates single nodes.

mod operations;

use std::rc::Rc;

use nyala_ir::analysis::{Graph, LoopForest};
use nyala_ir::{Body, Cont, Def, Intrinsic, Linkage, Node, Ty, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Flow, Program, const_reg, is_owning, live, no_body};
use crate::code::{Block, FRAME, List, Op, Reg, Scope, Target, Term};
use crate::errors::{Checked, malformed};
use crate::memory::Memory;
use crate::memory::shape::Shape;

/// The register of memory tokens, which have no value.
const NO_REG: Reg = Reg::MAX;

/// Compiles the continuations of `flow`.
pub(super) fn scope(program: &mut Program<'_>, memory: &mut Memory, flow: &Flow) -> Checked<Scope> {
    let mut emitter = Emitter::new(program, memory, flow.blocks.clone());
    let n_blocks = flow.conts.len();
    let mut blocks: Vec<Option<Block>> = (0..n_blocks).map(|_| None).collect();
    let mut ends = vec![FRAME; n_blocks];
    let mut uses = vec![vec![]; n_blocks];
    for &at in flow.doms.preorder() {
        let parent = flow.doms.idom(at);
        let outer = parent.and_then(|parent| blocks[parent].as_ref());
        let start = parent.map_or(FRAME, |parent| ends[parent]);
        emitter.open(start, flow.doms.depth(at));
        let block = emitter.block(at as u32, flow.conts[at], outer)?;
        ends[at] = emitter.next;
        uses[at] = std::mem::take(&mut emitter.uses);
        blocks[at] = Some(block);
    }
    let mut blocks: Vec<Block> = blocks.into_iter().flatten().collect();
    if blocks.len() != n_blocks {
        return malformed("a continuation that its scope does not reach");
    }
    let starts: Vec<Reg> = blocks.iter().map(|block| block.start).collect();
    let live = live::live(&flow.graph, &starts, uses);
    for (block, live) in blocks.iter_mut().zip(live) {
        let is_ptr = |position: &u32| emitter.pointers.contains(&live[*position as usize]);
        block.live_ptrs = (0..live.len() as u32).filter(is_ptr).collect();
        block.live_owning = live.iter().copied().filter(|reg| emitter.owning.contains(reg)).collect();
        block.live = live;
    }
    find_loops(&mut blocks, &flow.graph);
    emitter.order_closures(&blocks);
    find_ordered_jumps(&mut blocks, &emitter.pool);
    Ok(emitter.finish(blocks))
}

/// Compiles a constant expression into a scope of one block.
pub(super) fn expression(program: &mut Program<'_>, memory: &mut Memory, def: Def) -> Checked<(Scope, Reg)> {
    let mut emitter = Emitter::new(program, memory, FxHashMap::default());
    emitter.open(FRAME, 0);
    emitter.demand([def])?;
    let reg = emitter.reg(def)?;
    let ops = 0..emitter.ops.len() as u32;
    let block = Block {
        cont: Cont::from_u32(0),
        span: emitter.world.span_of(def),
        start: FRAME,
        params: vec![],
        ops,
        term: Term::Stop,
        live: vec![],
        live_ptrs: vec![],
        live_owning: vec![],
        owning: vec![],
        is_fn: true,
        depth: 0,
        owner: 0,
        ret: None,
        loops: vec![],
        is_header: false,
    };
    Ok((emitter.finish(vec![block]), reg))
}

/// Finds the loops that contain each block.
fn find_loops(blocks: &mut [Block], graph: &Graph) {
    let forest = LoopForest::new(graph, 0);
    for at in 0..blocks.len() {
        let around = std::iter::successors(forest.innermost(at), |&inner| forest.loops()[inner].parent);
        let loops: Vec<&[usize]> = around.map(|around| &forest.loops()[around].headers[..]).collect();
        // Loops of other functions and recursion do not count.
        let is_own = |headers: &&[usize]| {
            headers.iter().all(|&header| !blocks[header].is_fn && blocks[header].owner == blocks[at].owner)
        };
        let is_header = loops.first().is_some_and(|headers| is_own(headers) && headers.contains(&at));
        let loops = loops.into_iter().filter(is_own).map(|headers| headers[0] as u32).rev().collect();
        (blocks[at].is_header, blocks[at].loops) = (is_header, loops);
    }
}

/// Finds the jumps whose parameters can be set one by one.
fn find_ordered_jumps(blocks: &mut [Block], pool: &[Reg]) {
    let params: Vec<Vec<Reg>> = blocks.iter().map(|block| block.params.clone()).collect();
    for block in blocks {
        if let Term::Jump { block, args, in_order } = &mut block.term {
            let args = &pool[args.start as usize..][..args.len as usize];
            let params = &params[*block as usize];
            let is_intact = |(i, arg): (usize, &Reg)| !params[..i.min(params.len())].contains(arg);
            *in_order = args.iter().enumerate().all(is_intact);
        }
    }
}

struct Emitter<'a, 'w> {
    world: &'w World,
    program: &'a mut Program<'w>,
    memory: &'a mut Memory,
    /// The continuations of the scope.
    local: FxHashMap<Cont, u32>,
    ops: Vec<Op>,
    defs: Vec<Def>,
    /// The registers that each operation reads.
    reads: Vec<List>,
    pool: Vec<Reg>,
    shapes: Vec<Rc<Shape>>,
    shape_of: FxHashMap<Ty, u32>,
    /// Registers that hold closures or aggregates in some block, and those that
    /// hold pointers; blocks that do not dominate each other may use a number differently.
    owning: FxHashSet<Reg>,
    pointers: FxHashSet<Reg>,
    block_owning: Vec<Reg>,
    last: Reg,
    /// The registers of operations that this block and dominating blocks have executed.
    known: FxHashMap<Def, Reg>,
    /// The entries of `known` to remove after blocks at this depth.
    undo: Vec<(u32, Def)>,
    /// Closures, and aggregates that contain one: their registers in this block only.
    own: FxHashMap<Def, Reg>,
    /// Whether the value of an operation contains a closure of this scope.
    has_closure: FxHashMap<Def, bool>,
    depth: u32,
    start: Reg,
    next: Reg,
    uses: Vec<Reg>,
}

impl<'a, 'w> Emitter<'a, 'w> {
    fn new(
        program: &'a mut Program<'w>,
        memory: &'a mut Memory,
        local: FxHashMap<Cont, u32>,
    ) -> Emitter<'a, 'w> {
        Emitter {
            world: program.world,
            program,
            memory,
            local,
            ops: vec![],
            defs: vec![],
            reads: vec![],
            pool: vec![],
            shapes: vec![],
            shape_of: FxHashMap::default(),
            owning: FxHashSet::default(),
            pointers: FxHashSet::default(),
            block_owning: vec![],
            last: FRAME,
            known: FxHashMap::default(),
            undo: vec![],
            own: FxHashMap::default(),
            has_closure: FxHashMap::default(),
            depth: 0,
            start: FRAME,
            next: FRAME,
            uses: vec![],
        }
    }

    fn finish(self, blocks: Vec<Block>) -> Scope {
        Scope {
            id: self.program.next_id(),
            blocks,
            ops: self.ops,
            defs: self.defs,
            pool: self.pool,
            shapes: self.shapes,
            end: self.last,
        }
    }

    /// Begins a block at a depth of the dominator tree.
    fn open(&mut self, start: Reg, depth: u32) {
        while let Some(&(at, def)) = self.undo.last()
            && at >= depth
        {
            self.known.remove(&def);
            self.undo.pop();
        }
        self.own.clear();
        self.depth = depth;
        self.start = start;
        self.next = start;
    }

    fn block(&mut self, at: u32, cont: Cont, outer: Option<&Block>) -> Checked<Block> {
        let world = self.world;
        let data = world.cont(cont);
        let Some(body) = &data.body else { return no_body(world, cont) };
        let mut params = vec![];
        let mut ret = None;
        for &param in &data.params {
            let ty = world.ty(param);
            if self.program.is_mem(ty) {
                self.know(param, NO_REG);
                continue;
            }
            let reg = self.fresh(ty);
            self.know(param, reg);
            params.push(reg);
            if world.types.as_cn(ty).is_some() {
                ret = Some(reg);
            }
        }
        let first = self.ops.len() as u32;
        let term = self.body(body)?;
        let is_fn = ret.is_some() || outer.is_none();
        let depth = outer.map_or(0, |outer| outer.depth + u32::from(is_fn));
        let (owner, ret) = match outer {
            Some(outer) if !is_fn => (outer.owner, outer.ret),
            _ => (at, ret),
        };
        Ok(Block {
            cont,
            span: body.span,
            start: self.start,
            params,
            ops: first..self.ops.len() as u32,
            term,
            live: vec![],
            live_ptrs: vec![],
            live_owning: vec![],
            owning: std::mem::take(&mut self.block_owning),
            is_fn,
            depth,
            owner,
            ret,
            loops: vec![],
            is_header: false,
        })
    }

    // ---- Registers ------------------------------------------------------------

    fn fresh(&mut self, ty: Ty) -> Reg {
        let reg = self.next;
        self.next += 1;
        self.last = self.last.max(self.next);
        if is_owning(self.world, ty) {
            self.owning.insert(reg);
            self.block_owning.push(reg);
        }
        if self.world.types.as_ptr(ty).is_some() {
            self.pointers.insert(reg);
        }
        reg
    }

    /// Records the register of a value, for this block and those it dominates.
    fn know(&mut self, def: Def, reg: Reg) {
        self.known.insert(def, reg);
        self.undo.push((self.depth, def));
    }

    /// The register of a value that was demanded.
    fn reg(&mut self, def: Def) -> Checked<Reg> {
        let found = self.known.get(&def).or_else(|| self.own.get(&def)).copied();
        let reg = match found {
            Some(reg) => reg,
            None => match self.program.constant(def, self.memory)?.and_then(const_reg) {
                Some(reg) => reg,
                None => return malformed(format!("{def} is used where it is not known")),
            },
        };
        if (FRAME..self.start).contains(&reg) {
            self.uses.push(reg);
        }
        Ok(reg)
    }

    /// The registers of values, without memory tokens.
    fn list(&mut self, defs: &[Def]) -> Checked<List> {
        let regs: Vec<Reg> = defs.iter().map(|&def| self.reg(def)).collect::<Checked<_>>()?;
        Ok(self.regs(regs.into_iter().filter(|&reg| reg != NO_REG)))
    }

    fn regs(&mut self, regs: impl Iterator<Item = Reg>) -> List {
        let start = self.pool.len() as u32;
        self.pool.extend(regs);
        List { start, len: self.pool.len() as u32 - start }
    }

    fn shape(&mut self, ty: Ty) -> u32 {
        if let Some(&index) = self.shape_of.get(&ty) {
            return index;
        }
        let index = self.shapes.len() as u32;
        self.shapes.push(self.program.shapes.of(&self.world.types, ty));
        self.shape_of.insert(ty, index);
        index
    }

    // ---- Demand ---------------------------------------------------------------

    /// Emits all operations that `roots` need and that were not executed, each
    /// after its operands.
    fn demand(&mut self, roots: impl IntoIterator<Item = Def>) -> Checked<()> {
        for root in roots {
            let mut stack = vec![(root, false)];
            while let Some((def, is_ready)) = stack.pop() {
                if self.is_available(def)? {
                    continue;
                }
                if is_ready {
                    self.emit(def)?;
                } else {
                    stack.push((def, true));
                    let first = stack.len();
                    self.world.for_each_operand(def, |operand| stack.push((operand, false)));
                    stack[first..].reverse();
                }
            }
        }
        Ok(())
    }

    fn is_available(&mut self, def: Def) -> Checked<bool> {
        if self.known.contains_key(&def) || self.own.contains_key(&def) {
            return Ok(true);
        }
        Ok(match self.program.constant(def, self.memory)? {
            Some(index) if const_reg(index).is_some() => true,
            Some(index) => {
                let dst = self.fresh(self.world.ty(def));
                self.push(def, Op::Const { dst, index }, &[]);
                self.know(def, dst);
                true
            }
            None => false,
        })
    }

    fn push(&mut self, def: Def, op: Op, reads: &[Reg]) {
        let reads = self.regs(reads.iter().copied());
        self.ops.push(op);
        self.defs.push(def);
        self.reads.push(reads);
    }

    // ---- The end of a block -----------------------------------------------------

    fn body(&mut self, body: &Body) -> Checked<Term> {
        let callee = self.strip(body.callee);
        let Some(cont) = self.world.as_cont(callee) else {
            self.demand(body.args.iter().copied().chain([callee]))?;
            return Ok(Term::CallValue { callee: self.reg(callee)?, args: self.list(&body.args)? });
        };
        if let Some(&block) = self.local.get(&cont).filter(|&&block| block != 0) {
            self.demand(body.args.iter().copied())?;
            let args = self.list(&body.args)?;
            return Ok(Term::Jump { block, args, in_order: false });
        }
        let data = self.world.cont(cont);
        match (&data.body, &data.linkage) {
            (Some(_), _) => {
                self.demand(body.args.iter().copied())?;
                Ok(Term::Call { cont, args: self.list(&body.args)? })
            }
            (None, Linkage::Intrinsic(intrinsic)) => self.intrinsic(*intrinsic, cont, body),
            _ => self.native(None, cont, body),
        }
    }

    /// The callee without the marks for the partial evaluator.
    fn strip(&self, mut def: Def) -> Def {
        while let Node::Mark { callee: inner, .. } | Node::Hide(inner) = self.world.node(def) {
            def = inner;
        }
        def
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, cont: Cont, body: &Body) -> Checked<Term> {
        match (intrinsic, &body.args[..]) {
            (Intrinsic::Branch, &[mem, cond, then, other]) => {
                self.demand([mem, cond])?;
                let (then, other) = (self.target(then)?, self.target(other)?);
                Ok(Term::Branch { cond: self.reg(cond)?, then, other })
            }
            (Intrinsic::Switch, [mem, value, default, cases @ ..]) => {
                self.demand([*mem, *value])?;
                let default = self.target(*default)?;
                let cases = cases.chunks_exact(2).map(|case| {
                    let Some(bits) = self.world.as_lit(case[0]) else {
                        return malformed("a case that is no literal");
                    };
                    Ok((bits, self.target(case[1])?))
                });
                let cases = cases.collect::<Checked<Vec<(u64, Target)>>>()?;
                Ok(Term::Switch { value: self.reg(*value)?, default, cases })
            }
            (Intrinsic::Unreachable, args) => {
                self.demand(args.iter().copied())?;
                Ok(Term::Unreachable)
            }
            _ => self.native(Some(intrinsic), cont, body),
        }
    }

    fn native(&mut self, intrinsic: Option<Intrinsic>, cont: Cont, body: &Body) -> Checked<Term> {
        let is_cont = |def: &Def| self.world.types.as_cn(self.world.ty(*def)).is_some();
        let (args, ret) = match body.args.split_last() {
            Some((ret, args)) if is_cont(ret) => (args, Some(*ret)),
            _ => (&body.args[..], None),
        };
        self.demand(args.iter().copied())?;
        let ret = ret.map_or(Ok(Target::None), |ret| self.target(ret))?;
        Ok(Term::Native { cont, intrinsic, args: self.list(args)?, ret })
    }

    fn target(&mut self, def: Def) -> Checked<Target> {
        let stripped = self.strip(def);
        let block = self.world.as_cont(stripped).and_then(|cont| self.local.get(&cont));
        match block {
            Some(&block) if block != 0 => Ok(Target::Block(block)),
            _ => {
                self.demand([stripped])?;
                Ok(Target::Value(self.reg(stripped)?))
            }
        }
    }

    // ---- Closures that capture what their own block computes ---------------------

    /// A closure captures values of the block that creates it, so these must be
    /// computed first. Reorders the operations of blocks where a closure comes
    /// before a value that it captures.
    fn order_closures(&mut self, blocks: &[Block]) {
        for block in blocks {
            let range = block.ops.start as usize..block.ops.end as usize;
            let mut creator: FxHashMap<Reg, usize> = FxHashMap::default();
            for at in range.clone() {
                if let Some(dst) = self.ops[at].dst() {
                    creator.insert(dst, at);
                }
            }
            let is_late = |at: usize| match self.ops[at] {
                Op::Closure { block, .. } => {
                    blocks[block as usize].live.iter().any(|reg| creator.get(reg).is_some_and(|&by| by > at))
                }
                _ => false,
            };
            if range.clone().any(is_late) {
                self.reorder(range, &creator, blocks);
            }
        }
    }

    fn reorder(&mut self, range: std::ops::Range<usize>, creator: &FxHashMap<Reg, usize>, blocks: &[Block]) {
        let mut order = vec![];
        let mut state: FxHashMap<usize, bool> = FxHashMap::default();
        for root in range.clone() {
            let mut stack = vec![(root, false)];
            while let Some((at, is_ready)) = stack.pop() {
                if is_ready {
                    order.push(at);
                } else if state.insert(at, true).is_none() {
                    stack.push((at, true));
                    let captured: &[Reg] = match self.ops[at] {
                        Op::Closure { block, .. } => &blocks[block as usize].live,
                        _ => &[],
                    };
                    let reads = self.reads[at];
                    let reads = &self.pool[reads.start as usize..][..reads.len as usize];
                    let before = reads.iter().chain(captured).filter_map(|reg| creator.get(reg).copied());
                    // Effects stay in order among themselves.
                    let effect = (range.start..at).rev().find(|&earlier| self.ops[earlier].has_effect());
                    let effect = effect.filter(|_| self.ops[at].has_effect());
                    stack.extend(before.chain(effect).map(|before| (before, false)));
                }
            }
        }
        let ops: Vec<Op> = order.iter().map(|&at| self.ops[at]).collect();
        let defs: Vec<Def> = order.iter().map(|&at| self.defs[at]).collect();
        self.ops[range.clone()].copy_from_slice(&ops);
        self.defs[range].copy_from_slice(&defs);
    }
}
