//! `vectorize` in SIMD code: each lane has its own inner lanes, which run one after the other. The
//! lanes outside are what machines have vectors for.

use nyala_ir::analysis::{Functions, References};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Prim, World};
use rustc_hash::FxHashSet;

use super::{Site, meeting};

/// Makes loops of those calls of `vectorize` that others get to with several lanes, and gives
/// them. Those whose lanes meet are left alone: whoever gets to them is not vectorised.
pub(super) fn run_in_sequence(world: &mut World, functions: &Functions, sites: &[Cont]) -> FxHashSet<Cont> {
    let mut nested = FxHashSet::default();
    if sites.len() < 2 {
        return nested;
    }
    let all: FxHashSet<Cont> = sites.iter().copied().collect();
    for &site in sites {
        if let Ok(Some(outer)) = Site::read(world, functions, site) {
            let reached = References::from_roots(world, &[outer.function]);
            nested.extend(reached.conts(world).filter(|cont| *cont != site && all.contains(cont)));
        }
    }
    nested.retain(|&cont| meeting(world, cont).is_none());
    let mut in_order: Vec<Cont> = sites.iter().copied().filter(|site| nested.contains(site)).collect();
    in_order.retain(|&cont| match Site::read_any(world, functions, cont) {
        Ok(inner) => {
            inner.write_loop(world);
            true
        }
        Err(_) => false,
    });
    in_order.into_iter().collect()
}

impl Site {
    /// Replaces the call by a loop over the numbers.
    fn write_loop(&self, world: &mut World) {
        let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
        world.span = self.span;
        let (lower, upper) = match self.range {
            Some(range) => range,
            None => (world.lit_i32(0), world.lit_i32(self.lanes as i32)),
        };
        let round = world.new_cont("round", &[mem, i32]);
        let [step, again, done] = ["step", "again", "done"].map(|name| world.new_cont(name, &[mem]));
        let [round_def, step_def, again_def, done_def] =
            [round, step, again, done].map(|cont| world.cont_def(cont));
        world.set_body(self.cont, round_def, [self.mem, lower]);
        let number = world.param(round, 1);
        let is_left = world.cmp(CmpOp::Lt, number, upper);
        world.set_branch(round, world.param(round, 0), is_left, step_def, done_def);
        let args = self.arguments(world.param(step, 0), None, number, again_def);
        world.set_body(step, world.cont_def(self.function), args);
        let one = world.lit_i32(1);
        let following = world.arith(ArithOp::Add, ArithFlags::WRAP, number, one);
        world.set_body(again, round_def, [world.param(again, 0), following]);
        world.set_body(done, self.next, [world.param(done, 0)]);
    }
}
