//! Liveness: the registers that a block and its successors read.
//!
//! A register is live in a block if it was set before the block, and the block or
//! a successor reads it. The sets are short sorted lists: a long function has many
//! registers, but few of them are live at once.

use nyala_ir::analysis::Graph;

use crate::code::Reg;

/// For each block, the live registers below `starts[block]`. `uses` are the
/// registers that a block reads itself.
pub(crate) fn live(graph: &Graph, starts: &[Reg], uses: Vec<Vec<Reg>>) -> Vec<Vec<Reg>> {
    let mut live: Vec<Vec<Reg>> = uses;
    for (block, regs) in live.iter_mut().enumerate() {
        regs.retain(|&reg| reg < starts[block]);
        regs.sort_unstable();
        regs.dedup();
    }
    let mut is_queued = vec![true; starts.len()];
    // Blocks are in reverse post order, so the last ones come first.
    let mut work: Vec<usize> = (0..starts.len()).collect();
    while let Some(block) = work.pop() {
        is_queued[block] = false;
        let mut grown = live[block].clone();
        for succ in graph.succs(block) {
            grown = union(&grown, &live[succ], starts[block]);
        }
        if grown.len() > live[block].len() {
            live[block] = grown;
            for pred in graph.preds(block) {
                if !std::mem::replace(&mut is_queued[pred], true) {
                    work.push(pred);
                }
            }
        }
    }
    live
}

/// The union of two sorted lists; of the second one only registers below `end`.
fn union(a: &[Reg], b: &[Reg], end: Reg) -> Vec<Reg> {
    let b = &b[..b.partition_point(|&reg| reg < end)];
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        all.push(a[i].min(b[j]));
        let (x, y) = (a[i], b[j]);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_used_after_a_loop_are_live_in_it() {
        // 0 -> 1 (header) -> 2 (body) -> 1, 1 -> 3 (exit); 3 reads what 0 set.
        let graph = Graph::new(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let starts = [0, 5, 6, 6];
        let live = live(&graph, &starts, vec![vec![], vec![5], vec![5], vec![2, 3]]);
        assert_eq!(live, [vec![], vec![2, 3], vec![2, 3, 5], vec![2, 3]]);
    }

    #[test]
    fn union_is_sorted() {
        assert_eq!(union(&[1, 4, 6], &[2, 4, 9], 9), [1, 2, 4, 6]);
    }
}
