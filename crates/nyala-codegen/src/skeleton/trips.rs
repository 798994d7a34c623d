//! Loops with a known number of iterations.

use nyala_ir::{ArithOp, CmpOp, Def, Intrinsic, Node, World};

use super::flow::Flow;

/// A loop whose only exit is a comparison of a counter with a literal, in its header.
pub(crate) struct CountedLoop {
    /// How often its body is executed.
    pub n_trips: u64,
    /// The operations of one iteration.
    pub n_operations: usize,
}

impl Flow<'_> {
    /// The loop with this header, if it contains no other one and its number of iterations is known.
    pub(crate) fn counted_loop(&self, header: usize) -> Option<CountedLoop> {
        let blocks = self.loop_blocks(header);
        if blocks.iter().any(|&block| block != header && self.n_back_edges(block) > 0) {
            return None;
        }
        let (cmp, then, other) = self.exit_of(header)?;
        let is_inside = |target: Def| {
            let block = self.program.world.as_cont(target).and_then(|cont| self.block_of(cont));
            block.is_some_and(|block| blocks.contains(&block))
        };
        let op = match (is_inside(then), is_inside(other)) {
            (true, false) => cmp.op,
            (false, true) => negated(cmp.op),
            _ => return None,
        };
        let counter = self.counter(header, cmp.lhs, &blocks)?;
        let n_trips = counter.trips(op, cmp.limit)?;
        let n_operations = blocks.iter().map(|&block| self.operations(block).len()).sum();
        Some(CountedLoop { n_trips, n_operations })
    }

    /// The blocks of a loop.
    fn loop_blocks(&self, header: usize) -> Vec<usize> {
        let mut blocks = vec![header];
        let mut work: Vec<usize> =
            self.preds(header).filter(|&pred| self.dominates(header, pred) && pred != header).collect();
        while let Some(block) = work.pop() {
            if !blocks.contains(&block) {
                blocks.push(block);
                work.extend(self.preds(block));
            }
        }
        blocks
    }

    /// The comparison that ends a header, and its targets.
    fn exit_of(&self, header: usize) -> Option<(Comparison, Def, Def)> {
        let world = self.program.world;
        let body = world.cont(self.cont(header)).body.as_ref()?;
        let &[_, cond, then, other] = &body.args[..] else { return None };
        let Node::Cmp { op, lhs, rhs } = world.node(cond) else { return None };
        let is_branch = world.as_intrinsic(body.callee) == Some(Intrinsic::Branch);
        let limit = world.as_int(rhs).filter(|_| is_branch)?;
        Some((Comparison { op, lhs, limit }, then, other))
    }

    /// How a parameter of the header counts.
    fn counter(&self, header: usize, param: Def, blocks: &[usize]) -> Option<Counter> {
        let world = self.program.world;
        let Node::Param { cont, index } = world.node(param) else { return None };
        if cont != self.cont(header) {
            return None;
        }
        let (mut first, mut step) = (None, None);
        for pred in self.preds(header) {
            let body = world.cont(self.cont(pred)).body.as_ref()?;
            if world.as_cont(body.callee) != Some(cont) {
                return None;
            }
            let value = body.args[index as usize];
            let (slot, number) = match blocks.contains(&pred) {
                true => (&mut step, increment(world, param, value)?),
                false => (&mut first, world.as_int(value)?),
            };
            if *slot.get_or_insert(number) != number {
                return None;
            }
        }
        Some(Counter { first: first?, step: step? })
    }
}

struct Comparison {
    op: CmpOp,
    lhs: Def,
    limit: i64,
}

struct Counter {
    first: i64,
    step: i64,
}

impl Counter {
    /// How many values are counted while `value op limit` holds.
    fn trips(&self, op: CmpOp, limit: i64) -> Option<u64> {
        let (first, step, limit) = (i128::from(self.first), i128::from(self.step), i128::from(limit));
        let distance = match (op, step > 0) {
            (CmpOp::Lt, true) => limit - first,
            (CmpOp::Le, true) => limit - first + 1,
            (CmpOp::Gt, false) => first - limit,
            (CmpOp::Ge, false) => first - limit + 1,
            (CmpOp::Ne, is_up) if (limit - first) % step == 0 => {
                if is_up {
                    limit - first
                } else {
                    first - limit
                }
            }
            _ => return None,
        };
        let step = step.unsigned_abs();
        u64::try_from(distance).ok().map(|distance| u128::from(distance).div_ceil(step) as u64)
    }
}

/// The comparison that holds where `op` does not.
fn negated(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
    }
}

/// What is added to the counter.
fn increment(world: &World, param: Def, value: Def) -> Option<i64> {
    match world.node(value) {
        Node::Arith { op: ArithOp::Add, lhs, rhs, .. } if lhs == param => world.as_int(rhs),
        Node::Arith { op: ArithOp::Sub, lhs, rhs, .. } if lhs == param => {
            world.as_int(rhs).and_then(i64::checked_neg)
        }
        _ => None,
    }
    .filter(|&step| step != 0)
}
