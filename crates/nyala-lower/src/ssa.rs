//! Where variables need a parameter: the algorithm of Braun et al. (Simple and Efficient
//! Construction of Static Single Assignment Form, 2013) on a [`Graph`] of blocks that
//! records the reads and writes of each block.
//!
//! As there, a variable's value is looked up only where it is read: in the block, then in
//! its predecessor. A block with several predecessors gets a *phi*, whose
//! operands are looked up in turn. So there are phis only for values that are read
//! (the form is *pruned*). A phi whose operands are only one other value and
//! itself is trivial. It is replaced by that value, which may make other phis trivial. The
//! control flow is reducible, so the result is *minimal* (Braun et al., 2.3).
//!
//! The graph is complete before the first look-up: all blocks are sealed. Variables are
//! independent, so they are processed one at a time. `skeleton` builds the
//! graphs, `frame` uses the result.

use std::collections::BTreeMap;

use nyala_sema::tree::LocalId;
use rustc_hash::{FxHashMap, FxHashSet};

/// A block, by number.
pub(crate) type Block = u32;

/// The blocks of a function, with their reads and writes of variables.
#[derive(Default)]
pub(crate) struct Graph {
    /// The predecessors of each block.
    preds: Vec<Vec<Block>>,
    /// Variables that a block writes.
    written: FxHashSet<(Block, LocalId)>,
    /// Blocks that read a variable before they write it, by the variable.
    reads: BTreeMap<LocalId, Vec<Block>>,
}

/// The result for one variable.
#[derive(Default)]
pub(crate) struct Flow {
    /// The blocks where its value is live-in, each with the source of the value.
    entry: FxHashMap<Block, Value>,
    /// The operands of phis, by their blocks.
    operands: FxHashMap<Block, Vec<Value>>,
    /// Trivial phis, with their replacements.
    same_as: FxHashMap<Block, Value>,
}

/// A value of the current variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    /// The last write of a block.
    Written(Block),
    /// The phi of a block.
    Phi(Block),
}

impl Graph {
    /// A new block after `preds`.
    pub(crate) fn block(&mut self, preds: Vec<Block>) -> Block {
        self.preds.push(preds);
        u32::try_from(self.preds.len() - 1).expect("there are fewer blocks than bytes of source text")
    }

    /// Adds the predecessor `pred` of `block`.
    pub(crate) fn add_pred(&mut self, block: Block, pred: Block) {
        self.preds[block as usize].push(pred);
    }

    /// Appends a read of `var` to a block.
    pub(crate) fn read(&mut self, block: Block, var: LocalId) {
        if !self.written.contains(&(block, var)) {
            let blocks = self.reads.entry(var).or_default();
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
        }
    }

    /// Appends a write of `var` to a block.
    pub(crate) fn write(&mut self, block: Block, var: LocalId) {
        self.written.insert((block, var));
    }

    /// The variables that one block writes and another one reads, in the order of
    /// their declarations.
    pub(crate) fn vars(&self) -> impl Iterator<Item = LocalId> {
        self.reads.keys().copied()
    }

    /// Follows the values of a variable.
    pub(crate) fn flow(&self, var: LocalId) -> Flow {
        let mut flow = Flow::default();
        let mut open = vec![];
        for &block in self.reads.get(&var).into_iter().flatten() {
            self.value_at_entry(var, block, &mut flow, &mut open);
        }
        while let Some(phi) = open.pop() {
            let preds = &self.preds[phi as usize];
            let values = preds.iter().map(|&pred| self.value_at_exit(var, pred, &mut flow, &mut open));
            let values = values.collect();
            flow.operands.insert(phi, values);
        }
        flow.remove_trivial();
        flow
    }

    fn value_at_exit(&self, var: LocalId, block: Block, flow: &mut Flow, open: &mut Vec<Block>) -> Value {
        match self.written.contains(&(block, var)) {
            true => Value::Written(block),
            false => self.value_at_entry(var, block, flow, open),
        }
    }

    /// The value at the start of a block; new phis without operands are added to `open`.
    fn value_at_entry(&self, var: LocalId, block: Block, flow: &mut Flow, open: &mut Vec<Block>) -> Value {
        let (mut at, mut path) = (block, vec![]);
        let value = loop {
            if let Some(&known) = flow.entry.get(&at) {
                break known;
            }
            path.push(at);
            match self.preds[at as usize][..] {
                // Variables are declared before their uses, so this is the entry.
                [] => break Value::Written(at),
                [pred] if self.written.contains(&(pred, var)) => break Value::Written(pred),
                [pred] => at = pred,
                _ => {
                    open.push(at);
                    break Value::Phi(at);
                }
            }
        };
        flow.entry.extend(path.into_iter().map(|passed| (passed, value)));
        value
    }

    /// The blocks that are reachable from `start`, itself included.
    pub(crate) fn reachable(&self, start: Block) -> FxHashSet<Block> {
        let mut after: Vec<Vec<Block>> = vec![vec![]; self.preds.len()];
        for (block, preds) in self.preds.iter().enumerate() {
            preds.iter().for_each(|&pred| after[pred as usize].push(block as Block));
        }
        let (mut seen, mut stack) = (FxHashSet::from_iter([start]), vec![start]);
        while let Some(block) = stack.pop() {
            stack.extend(after[block as usize].iter().filter(|&&next| seen.insert(next)));
        }
        seen
    }

    /// Whether one of `blocks` writes `var`.
    pub(crate) fn is_written_in(&self, blocks: &FxHashSet<Block>, var: LocalId) -> bool {
        blocks.iter().any(|&block| self.written.contains(&(block, var)))
    }
}

impl Flow {
    /// Whether the variable's value at the beginning of `block` is read later.
    pub(crate) fn is_live_at(&self, block: Block) -> bool {
        self.entry.contains_key(&block)
    }

    /// The blocks with phis, in order.
    pub(crate) fn phis(&self) -> Vec<Block> {
        let mut all: Vec<Block> =
            self.operands.keys().copied().filter(|phi| !self.same_as.contains_key(phi)).collect();
        all.sort_unstable();
        all
    }

    /// Removes trivial phis until none is left.
    fn remove_trivial(&mut self) {
        let mut users: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
        for (&phi, operands) in &self.operands {
            for operand in operands {
                if let &Value::Phi(used) = operand {
                    users.entry(used).or_default().push(phi);
                }
            }
        }
        let mut open: Vec<Block> = self.operands.keys().copied().collect();
        open.sort_unstable_by_key(|&phi| std::cmp::Reverse(phi));
        while let Some(phi) = open.pop() {
            if self.same_as.contains_key(&phi) {
                continue;
            }
            let Some(only) = self.only_other(phi) else { continue };
            self.same_as.insert(phi, only);
            let of_phi = users.remove(&phi).unwrap_or_default();
            open.extend(&of_phi);
            if let Value::Phi(other) = only {
                users.entry(other).or_default().extend(of_phi);
            }
        }
    }

    /// The one value that a phi has as operand besides itself.
    fn only_other(&mut self, phi: Block) -> Option<Value> {
        let mut only = None;
        for i in 0..self.operands[&phi].len() {
            let value = self.resolve(self.operands[&phi][i]);
            if value != Value::Phi(phi) && *only.get_or_insert(value) != value {
                return None;
            }
        }
        only
    }

    /// A value with trivial phis replaced.
    fn resolve(&mut self, value: Value) -> Value {
        let (mut end, mut passed) = (value, vec![]);
        while let Value::Phi(phi) = end
            && let Some(&same) = self.same_as.get(&phi)
        {
            passed.push(phi);
            end = same;
        }
        // Path compression.
        self.same_as.extend(passed.into_iter().map(|phi| (phi, end)));
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variable `x` in a graph of blocks, each with its predecessors and `r`, `w` or both in order.
    fn check(blocks: &[(&[Block], &str)], phis: &[Block], live_at: &[Block]) {
        let x = LocalId::from_u32(0);
        let mut graph = Graph::default();
        for (preds, _) in blocks {
            graph.block(preds.to_vec());
        }
        for (block, (_, does)) in (0..).zip(blocks) {
            for what in does.chars() {
                match what {
                    'r' => graph.read(block, x),
                    _ => graph.write(block, x),
                }
            }
        }
        let flow = graph.flow(x);
        assert_eq!(flow.phis(), phis);
        let live: Vec<Block> = (0..blocks.len() as Block).filter(|&block| flow.is_live_at(block)).collect();
        assert_eq!(live, live_at);
    }

    #[test]
    fn paths_that_write_meet_in_a_phi_if_the_value_is_read() {
        check(&[(&[], "w"), (&[0], "w"), (&[0], ""), (&[1, 2], "r")], &[3], &[2, 3]);
        check(&[(&[], "w"), (&[0], "w"), (&[0], ""), (&[1, 2], "wr")], &[], &[]);
        check(&[(&[], "w"), (&[0], ""), (&[0], "r"), (&[1, 2], "r")], &[], &[1, 2, 3]);
    }

    #[test]
    fn a_loop_carries_what_it_writes_and_reads_one_round_later() {
        // 1 is the head, 2 the body, 3 comes after the loop.
        check(&[(&[], "w"), (&[0, 2], ""), (&[1], "rw"), (&[1], "")], &[1], &[1, 2]);
        check(&[(&[], "w"), (&[0, 2], ""), (&[1], "w"), (&[1], "r")], &[1], &[1, 3]);
        // Written in each iteration and read only inside; only read; written before the exit.
        check(&[(&[], "w"), (&[0, 2], ""), (&[1], "wr"), (&[1], "")], &[], &[]);
        check(&[(&[], "w"), (&[0, 2], ""), (&[1], "r"), (&[1], "r")], &[], &[1, 2, 3]);
        check(&[(&[], "w"), (&[0, 2], ""), (&[1], ""), (&[1], "w"), (&[1, 3], "r")], &[4], &[1, 2, 4]);
    }

    #[test]
    fn trivial_phis_of_nested_loops_go_together() {
        // An outer loop with head 1 around an inner one with head 2.
        check(&[(&[], "w"), (&[0, 3], ""), (&[1, 2], ""), (&[2], ""), (&[1], "r")], &[], &[1, 2, 3, 4]);
    }

    #[test]
    fn many_blocks_need_no_stack() {
        let n = 100_000;
        let (mut graph, x) = (Graph::default(), LocalId::from_u32(0));
        let mut at = graph.block(vec![]);
        graph.write(at, x);
        for _ in 0..n {
            let (then, other) = (graph.block(vec![at]), graph.block(vec![at]));
            at = graph.block(vec![then, other]);
        }
        graph.read(at, x);
        assert_eq!(graph.flow(x).phis(), []);
    }
}
