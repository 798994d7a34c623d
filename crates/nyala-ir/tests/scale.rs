//! Large programs: nothing overflows the stack, and nothing is quadratic.
//!
//! The sizes are such that a quadratic step would take minutes.

use nyala_ir::analysis::{Cfg, Functions, LoopForest, Mode, Nesting, Schedule, Scope};
use nyala_ir::{ArithFlags, ArithOp, Cont, Linkage, Prim, World, verify};

/// `main` calls `next` `len` times, each call in the return point of the one
/// before, and hands on the sum of all results so far: deeply nested continuations
/// that share one long chain of operations.
fn calls_in_a_row(len: usize) -> (World, Cont) {
    let mut world = World::new();
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let ret = world.types.cn(&[mem, i32]);
    let next = world.new_cont("next", &[mem, i32, ret]);
    world.set_linkage(next, Linkage::Imported("next".into()));
    let next = world.cont_def(next);
    let main = world.new_cont("main", &[mem, i32, ret]);
    world.set_linkage(main, Linkage::Exported("main".into()));
    let (mut cont, mut sum) = (main, world.param(main, 1));
    for _ in 0..len {
        let point = world.new_cont("point", &[mem, i32]);
        let point_def = world.cont_def(point);
        world.set_body(cont, next, [world.param(cont, 0), sum, point_def]);
        sum = world.arith(ArithOp::Add, ArithFlags::STRICT, sum, world.param(point, 1));
        cont = point;
    }
    world.set_body(cont, world.param(main, 2), [world.param(cont, 0), sum]);
    (world, main)
}

#[test]
fn many_calls_in_a_row() {
    let len = 50_000;
    let (world, main) = calls_in_a_row(len);
    verify(&world).expect("the program is well-formed");
    assert_eq!(Nesting::new(&world).conts().len(), len + 2);
    let functions = Functions::styled(&world);
    assert_eq!(functions.get(main).map(|function| function.blocks.len()), Some(len + 1));
    let scope = Scope::new(&world, main);
    assert_eq!(scope.conts().len(), len + 1);
    assert!(scope.is_top_level());
    let cfg = Cfg::new(&world, &scope);
    assert_eq!(cfg.post_dominators().idom(0), Some(1));
    assert!(LoopForest::new(cfg.graph(), 0).loops().is_empty());
    for mode in [Mode::Early, Mode::Late, Mode::Smart, Mode::Machine, Mode::Demand] {
        let schedule = Schedule::new(&world, &cfg, mode);
        assert_eq!(schedule.block(0).len(), 0, "{mode:?}");
        assert_eq!(schedule.block(len).len(), 1, "{mode:?}");
    }
}

#[test]
fn a_long_expression() {
    let len = 100_000;
    let mut world = World::new();
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let ret = world.types.cn(&[mem, i32]);
    let main = world.new_cont("main", &[mem, i32, i32, ret]);
    world.set_linkage(main, Linkage::Exported("main".into()));
    let mut value = world.param(main, 1);
    for _ in 0..len {
        value = world.arith(ArithOp::Mul, ArithFlags::STRICT, value, world.param(main, 2));
    }
    world.set_body(main, world.param(main, 3), [world.param(main, 0), value]);
    verify(&world).expect("the program is well-formed");
    let cfg = Cfg::new(&world, &Scope::new(&world, main));
    assert_eq!(Schedule::demand(&world, &cfg).block(0).len(), len);
    assert_eq!(Schedule::new(&world, &cfg, Mode::Smart).block(0).len(), len);
}
