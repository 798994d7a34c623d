//! `vectorize` inside SIMD code: the inner lanes of each outer lane run in a loop, one after the other.
//! The outer lanes are the lanes of the vectors.

use nyala_ir::analysis::{Functions, References};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Prim, World};
use rustc_hash::FxHashSet;

use super::site::{Site, collective_in_body};

/// Turns the calls of `vectorize` that other calls reach into loops, and gives them. Calls whose body
/// has collective operations are kept; the outer call is then not vectorized.
pub(super) fn replace_by_loops(world: &mut World, functions: &Functions, sites: &[Cont]) -> FxHashSet<Cont> {
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
    nested.retain(|&cont| collective_in_body(world, cont).is_none());
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
    /// Replaces the call by a loop over the indices.
    fn write_loop(&self, world: &mut World) {
        let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
        world.span = self.span;
        let (lower, upper) = match self.range {
            Some(range) => range,
            None => (world.lit_i32(0), world.lit_i32(self.lanes as i32)),
        };
        let header = world.new_cont("header", &[mem, i32]);
        let [body, next, done] = ["body", "next", "done"].map(|name| world.new_cont(name, &[mem]));
        let [header_def, body_def, next_def, done_def] =
            [header, body, next, done].map(|cont| world.cont_def(cont));
        world.set_body(self.cont, header_def, [self.mem, lower]);
        let number = world.param(header, 1);
        let is_inside = world.cmp(CmpOp::Lt, number, upper);
        world.set_branch(header, world.param(header, 0), is_inside, body_def, done_def);
        let args = self.arguments(world.param(body, 0), None, number, next_def);
        world.set_body(body, world.cont_def(self.function), args);
        let one = world.lit_i32(1);
        let following = world.arith(ArithOp::Add, ArithFlags::WRAP, number, one);
        world.set_body(next, header_def, [world.param(next, 0), following]);
        world.set_body(done, self.next, [world.param(done, 0)]);
    }
}
