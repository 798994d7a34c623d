//! Analyses against their definitions, on random well-formed programs.

use std::collections::{BTreeMap, BTreeSet};

use nyala_ir::analysis::references::{for_each_node, is_operation};
use nyala_ir::analysis::schedule::can_fail;
use nyala_ir::analysis::{Cfg, DomTree, Mode, Nesting, Schedule, Scope};
use nyala_ir::{ArithFlags, ArithOp, Cont, Def, Linkage, Node, Prim, World};
use nyala_test_support::random::Random;

/// Continuations nested at random; each hands some that it can see, and
/// operations on the parameters that it can see, to the outside. Types of calls
/// do not matter here.
fn random_program(random: &mut Random) -> (World, Vec<Cont>) {
    let mut world = World::new();
    let i32 = world.types.prim(Prim::I32);
    let sink = world.new_cont("sink", &[]);
    world.set_linkage(sink, Linkage::Imported("sink".into()));
    let len = 2 + random.below(10);
    let conts: Vec<Cont> = (0..len).map(|i| world.new_cont(&*format!("k{i}"), &[i32, i32])).collect();
    world.set_linkage(conts[0], Linkage::Exported("k0".into()));
    let outer: Vec<Option<usize>> =
        (0..len).map(|i| (i > 0 && random.below(5) > 0).then(|| random.below(i))).collect();
    let around = |i: usize| std::iter::successors(Some(i), |&i| outer[i]);
    for i in 0..len {
        let visible: Vec<usize> = around(i).collect();
        let mut args = vec![];
        for j in (0..len).filter(|&j| outer[j].is_none_or(|outer| visible.contains(&outer))) {
            if random.below(3) > 0 {
                args.push(world.cont_def(conts[j]));
            }
        }
        for _ in 0..random.below(3) {
            let mut value = world.param(conts[visible[random.below(visible.len())]], 0);
            for _ in 0..random.below(4) {
                let op = [ArithOp::Xor, ArithOp::And, ArithOp::Div][random.below(3)];
                let other = world.param(conts[visible[random.below(visible.len())]], random.below(2));
                value = world.arith(op, ArithFlags::STRICT, value, other);
            }
            args.push(value);
        }
        let sink = world.cont_def(sink);
        world.set_body(conts[i], sink, args);
    }
    (world, conts)
}

/// The free parameters of each continuation: the least sets with
/// `free(c) = (mentioned by c + free of those mentioned by c) - parameters of c`.
fn free_params(world: &World, conts: &[Cont]) -> BTreeMap<Cont, BTreeSet<Def>> {
    let mut free: BTreeMap<Cont, BTreeSet<Def>> = conts.iter().map(|&cont| (cont, BTreeSet::new())).collect();
    loop {
        let before = free.clone();
        for &cont in conts {
            let mut all = BTreeSet::new();
            let data = world.cont(cont);
            for_each_node(world, data.body.iter().flat_map(|body| body.args.clone()), |def| {
                match world.node(def) {
                    Node::Param { .. } => all.extend([def]),
                    Node::Cont(mentioned) => all.extend(&before[&mentioned]),
                    _ => {}
                }
            });
            all.retain(|param| !data.params.contains(param));
            free.insert(cont, all);
        }
        if free == before {
            return free;
        }
    }
}

/// All that each continuation is nested in: the owners of its free parameters,
/// and what those are nested in.
fn enclosing(world: &World, free: &BTreeMap<Cont, BTreeSet<Def>>, cont: Cont) -> BTreeSet<Cont> {
    let mut all = BTreeSet::new();
    let mut work = vec![cont];
    while let Some(cont) = work.pop() {
        for &param in &free[&cont] {
            let Node::Param { cont: owner, .. } = world.node(param) else { unreachable!("only parameters") };
            if all.insert(owner) {
                work.push(owner);
            }
        }
    }
    all
}

fn reachable(world: &World, from: Cont) -> BTreeSet<Cont> {
    let mut all = BTreeSet::from([from]);
    let mut work = vec![from];
    while let Some(cont) = work.pop() {
        let args = world.cont(cont).body.iter().flat_map(|body| &body.args);
        for mentioned in args.filter_map(|&arg| world.as_cont(arg)) {
            if all.insert(mentioned) {
                work.push(mentioned);
            }
        }
    }
    all
}

fn for_random_programs(mut check: impl FnMut(&World, &[Cont])) {
    let mut random = Random::new(1, 0);
    for _ in 0..400 {
        let (world, conts) = random_program(&mut random);
        check(&world, &conts);
    }
}

#[test]
fn scopes_and_nesting_agree_with_their_definitions() {
    for_random_programs(|world, conts| {
        let free = free_params(world, conts);
        let nesting = Nesting::new(world);
        for &cont in &reachable(world, conts[0]) {
            let around = enclosing(world, &free, cont);
            assert_eq!(nesting.depth(cont) as usize, around.len());
            let innermost = around.iter().copied().max_by_key(|&owner| enclosing(world, &free, owner).len());
            assert_eq!(nesting.parent(cont), innermost);

            let scope = Scope::new(world, cont);
            let is_inside = |&inner: &Cont| inner == cont || enclosing(world, &free, inner).contains(&cont);
            let inside: BTreeSet<Cont> = reachable(world, cont).into_iter().filter(is_inside).collect();
            assert_eq!(scope.conts().iter().copied().collect::<BTreeSet<_>>(), inside);
            assert_eq!(scope.free_params().iter().copied().collect::<BTreeSet<_>>(), free[&cont]);
        }
    });
}

#[test]
fn schedules_compute_all_operands_and_no_early_failure() {
    for_random_programs(|world, conts| {
        for &cont in conts {
            let cfg = Cfg::new(world, &Scope::new(world, cont));
            let doms = cfg.dominators();
            for mode in [Mode::Early, Mode::Late, Mode::Smart, Mode::Machine, Mode::Demand] {
                check_schedule(world, &cfg, &doms, &Schedule::new(world, &cfg, mode));
            }
        }
    });
}

fn check_schedule(world: &World, cfg: &Cfg, doms: &DomTree, schedule: &Schedule) {
    let is_there = |def: Def, vertex: usize, before: usize| {
        let earlier = schedule.block(vertex)[..before].contains(&def);
        let above =
            |up: &usize| *up != vertex && doms.dominates(*up, vertex) && schedule.block(*up).contains(&def);
        !is_operation(world, def) || earlier || (0..cfg.exit()).any(|up| above(&up))
    };
    for vertex in 0..cfg.exit() {
        let ops = schedule.block(vertex);
        let cont = cfg.cont(vertex).expect("the exit is last");
        let args = &world.cont(cont).body.as_ref().expect("all have bodies").args;
        assert!(args.iter().all(|&arg| is_there(arg, vertex, ops.len())), "the body has what it needs");
        let mut demanded = BTreeSet::new();
        for_each_node(world, args.iter().copied(), |def| demanded.extend([def]));
        for (at, &op) in ops.iter().enumerate() {
            assert!(
                world.operands(op).into_iter().all(|def| is_there(def, vertex, at)),
                "operands come first"
            );
            assert!(!is_there(op, vertex, at), "nothing is computed twice on one path");
            assert!(!can_fail(world, op) || demanded.contains(&op), "an operation that can fail is demanded");
        }
    }
}
