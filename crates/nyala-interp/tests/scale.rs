//! Large programs and deep ones.

use nyala_interp::{Ending, InterpError, Io, Options, Value};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Prim, World};

fn run(world: &World, cont: Cont, args: &[u64]) -> Result<u64, Box<InterpError>> {
    let args: Vec<Value> = args.iter().map(|&bits| Value::Bits(bits)).collect();
    let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
    let run = nyala_interp::call(world, cont, &args, &Options::default(), io)?;
    match run.ending {
        Ending::Results(results) => match results[..] {
            [Value::Bits(bits)] => Ok(bits),
            _ => panic!("one number is returned, not {results:?}"),
        },
        Ending::Exit(status) => panic!("exit with {status}"),
    }
}

/// `cn(mem, i32, cn(mem, i32))`
fn function(world: &mut World, name: &str) -> Cont {
    let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let ret = world.types.cn(&[mem, i32]);
    world.new_cont(name, &[mem, i32, ret])
}

fn add(world: &mut World, a: Def, b: Def) -> Def {
    world.arith(ArithOp::Add, ArithFlags::WRAP, a, b)
}

#[test]
fn expression_with_100_000_operations() {
    let mut world = World::new();
    let cont = function(&mut world, "f");
    let (mem, x, ret) = (world.param(cont, 0), world.param(cont, 1), world.param(cont, 2));
    let mut sum = x;
    for _ in 0..100_000 {
        let doubled = world.arith(ArithOp::Xor, ArithFlags::WRAP, sum, x);
        sum = add(&mut world, doubled, x);
    }
    world.set_body(cont, ret, [mem, sum]);
    let mut expected = 3u32;
    for _ in 0..100_000 {
        expected = (expected ^ 3).wrapping_add(3);
    }
    assert_eq!(run(&world, cont, &[3]).unwrap(), u64::from(expected));
}

/// Each block calls a function, whose return continuation is nested in the block and uses
/// its results: all of them are in one scope.
#[test]
fn function_with_50_000_calls() {
    let mut world = World::new();
    let (mem_ty, i32) = (world.types.mem(), world.types.prim(Prim::I32));
    let callee = function(&mut world, "inc");
    let (mem, x, ret) = (world.param(callee, 0), world.param(callee, 1), world.param(callee, 2));
    let one = world.lit_i32(1);
    let more = add(&mut world, x, one);
    world.set_body(callee, ret, [mem, more]);

    let entry = function(&mut world, "f");
    let (ret, callee) = (world.param(entry, 2), world.cont_def(callee));
    let (mut block, mut sum) = (entry, world.param(entry, 1));
    for _ in 0..50_000 {
        let next = world.new_cont("next", &[mem_ty, i32]);
        let (mem, next_def) = (world.param(block, 0), world.cont_def(next));
        world.set_body(block, callee, [mem, sum, next_def]);
        let result = world.param(next, 1);
        sum = add(&mut world, sum, result);
        block = next;
    }
    let mem = world.param(block, 0);
    world.set_body(block, ret, [mem, sum]);
    let expected = (0..50_000).fold(1u32, |sum, _| sum.wrapping_mul(2).wrapping_add(1));
    assert_eq!(run(&world, entry, &[1]).unwrap(), u64::from(expected));
}

/// A chain of early exits: every block branches to the common end.
#[test]
fn chain_of_50_000_branches() {
    let mut world = World::new();
    let mem_ty = world.types.mem();
    let entry = function(&mut world, "f");
    let (x, ret) = (world.param(entry, 1), world.param(entry, 2));
    let end = world.new_cont("end", &[mem_ty]);
    let (end_mem, end_def) = (world.param(end, 0), world.cont_def(end));
    world.set_body(end, ret, [end_mem, x]);
    let mut block = entry;
    for i in 0..50_000 {
        let next = world.new_cont("rung", &[mem_ty]);
        let limit = world.lit_i32(i);
        let cond = world.cmp(CmpOp::Eq, x, limit);
        let (mem, next_def) = (world.param(block, 0), world.cont_def(next));
        world.set_branch(block, mem, cond, end_def, next_def);
        block = next;
    }
    let mem = world.param(block, 0);
    let minus_one = world.lit_i32(-1);
    world.set_body(block, ret, [mem, minus_one]);
    assert_eq!(run(&world, entry, &[49_999]).unwrap(), 49_999);
    assert_eq!(run(&world, entry, &[50_000]).unwrap(), u64::from(u32::MAX));
}
