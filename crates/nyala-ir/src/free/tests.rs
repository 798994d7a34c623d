//! Free variables by example, against the definition, and at scale.

use std::collections::BTreeSet;

use crate::node::{ArithFlags, ArithOp, Cont, Def, Node};
use crate::text::parse;
use crate::types::Prim;
use crate::world::World;

/// The names of the free parameters of the continuation called `name`.
fn free_of(world: &World, name: &str) -> Vec<&'static str> {
    let (cont, _) = world.conts().find(|(_, data)| data.name.as_str() == name).expect("there is one");
    let params = world.cont_free_params(cont);
    params.into_iter().map(|param| world.name(param).expect("parsed ones have names").as_str()).collect()
}

#[test]
fn nested_continuations_use_parameters_of_enclosing_ones() {
    let world = parse(
        "
export pow(mem: mem, x: i32, n: i32, ret: cn(mem, i32)) @ [false, false, known(n), false]:
    branch(mem, eq(n, 0), done, more)
done(m: mem):
    pow.ret(m, 1)
more(m: mem):
    pow(m, pow.x, sub(pow.n, 1), next)
next(m: mem, r: i32):
    pow.ret(m, mul(r, pow.x))
",
    )
    .unwrap();
    assert_eq!(free_of(&world, "pow"), [] as [&str; 0]);
    assert_eq!(free_of(&world, "done"), ["ret"]);
    assert_eq!(free_of(&world, "next"), ["x", "ret"]);
    assert_eq!(free_of(&world, "more"), ["x", "n", "ret"]);
}

#[test]
fn recursion_reaches_a_fixed_point() {
    let world = parse(
        "
export main(mem: mem, a: i32, b: i32, c: i32, ret: cn(mem, i32)):
    even(mem, a)
even(m: mem, i: i32):
    branch(m, eq(i, main.b), stop, odd_1)
odd_1(m: mem):
    odd(m, even.i)
odd(m: mem, i: i32):
    branch(m, eq(i, main.c), stop, even_1)
even_1(m: mem):
    even(m, odd.i)
stop(m: mem):
    main.ret(m, main.a)
",
    )
    .unwrap();
    assert_eq!(free_of(&world, "even"), ["a", "b", "c", "ret"]);
    assert_eq!(free_of(&world, "odd"), ["a", "b", "c", "ret"]);
    assert_eq!(free_of(&world, "odd_1"), ["a", "b", "c", "ret", "i"]);
    assert_eq!(free_of(&world, "main"), [] as [&str; 0]);
}

#[test]
fn changes_invalidate_dependent_sets() {
    let mut world = parse(
        "
export main(mem: mem, a: i32, ret: cn(mem, i32)):
    f(mem)
f(m: mem):
    g(m)
g(m: mem):
    main.ret(m, main.a)
",
    )
    .unwrap();
    let conts: Vec<Cont> = world.conts().map(|(cont, _)| cont).collect();
    assert_eq!(free_of(&world, "f"), ["a", "ret"]);
    let (zero, ret) = (world.lit_i32(0), world.param(conts[0], 2));
    world.set_body(conts[2], ret, [world.param(conts[2], 0), zero]);
    assert_eq!(free_of(&world, "f"), ["ret"]);
    let a = world.param(conts[0], 1);
    let is_zero = world.cmp(crate::CmpOp::Eq, a, zero);
    world.set_filter(conts[1], vec![is_zero]);
    assert_eq!(free_of(&world, "f"), ["a", "ret"]);
    assert_eq!(free_of(&world, "g"), ["ret"]);
    assert!(world.is_top_level(conts[0]));
}

#[test]
fn functions_are_constants_when_they_are_closed() {
    let mut world = parse(
        "
export main(mem: mem, a: i32, k: cn(mem, cn(mem))):
    k(mem, inner)
inner(m: mem):
    main(m, main.a, main.k)
outer(m: mem):
    unreachable(m)
",
    )
    .unwrap();
    let defs: Vec<Def> = world.conts().map(|(_, data)| data.def).collect();
    assert!(world.is_constant(defs[0]));
    assert!(!world.is_constant(defs[1]));
    assert!(world.is_constant(defs[2]));
    let pair = world.tuple(&[defs[1], defs[2]]);
    assert!(!world.is_constant(pair));
    assert_eq!(world.free_params(pair).len(), 2);
    assert_eq!(world.mentions(pair), [defs[1], defs[2]]);
}

/// The definition, solved by brute force.
fn solve_naively(world: &World) -> Vec<BTreeSet<Def>> {
    let conts: Vec<Cont> = world.conts().map(|(cont, _)| cont).collect();
    let mut free = vec![BTreeSet::new(); conts.len()];
    loop {
        let before = free.clone();
        for (i, &cont) in conts.iter().enumerate() {
            let mut stack: Vec<Def> = world.cont(cont).filter.to_vec();
            stack
                .extend(world.cont(cont).body.iter().flat_map(|body| body.args.iter().chain([&body.callee])));
            while let Some(def) = stack.pop() {
                match world.node(def) {
                    Node::Cont(other) => {
                        let others = free[conts.iter().position(|&c| c == other).unwrap()].clone();
                        free[i].extend(others);
                    }
                    Node::Param { .. } => drop(free[i].insert(def)),
                    _ => stack.extend(world.operands(def)),
                }
            }
            for param in &world.cont(cont).params {
                free[i].remove(param);
            }
        }
        if free == before {
            return free;
        }
    }
}

#[test]
fn random_graphs_agree_with_the_definition() {
    let mut state = 7u64;
    let mut random = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % limit
    };
    for n in 1..40 {
        let mut world = World::new();
        let i32 = world.types.prim(Prim::I32);
        let conts: Vec<Cont> = (0..n).map(|_| world.new_cont("f", &[i32, i32])).collect();
        for step in 0..3 * n {
            let cont = conts[if step < n { step } else { random(n) }];
            let callee = world.cont_def(conts[random(n)]);
            let (a, b) = (world.param(conts[random(n)], 0), world.param(conts[random(n)], 1));
            let sum = world.arith(ArithOp::Add, ArithFlags::STRICT, a, b);
            world.set_body(cont, callee, [sum, world.param(cont, 0)]);
            if random(3) == 0 {
                world.cont_free_set(conts[random(n)]);
            }
        }
        let expected = solve_naively(&world);
        for (&cont, expected) in conts.iter().zip(&expected) {
            assert!(world.cont_free_params(cont).iter().eq(expected));
        }
    }
}

#[test]
fn long_chains_stay_linear() {
    let mut world = World::new();
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let outer = world.new_cont("outer", &[mem, i32]);
    let x = world.param(outer, 1);
    let mut conts = vec![outer];
    for _ in 0..50_000 {
        conts.push(world.new_cont("inner", &[mem, i32]));
    }
    let mut sum = x;
    for pair in conts.windows(2) {
        let y = world.param(pair[1], 1);
        sum = world.arith(ArithOp::Xor, ArithFlags::STRICT, sum, y);
        world.set_body(pair[0], world.cont_def(pair[1]), [world.param(pair[0], 0), sum]);
    }
    // Each uses the parameters of all before it and of the next.
    assert_eq!(world.cont_free_params(conts[25_000]).len(), 50_000);
    assert!(!world.is_top_level(outer));
    assert_eq!(world.free_params(sum).len(), 50_001);
}
