//! A copy computes the same as the original, on random programs.
//!
//! The programs branch, loop and call each other and themselves, in tail position
//! and elsewhere; the interpreter runs them.

use nyala_interp::{Ending, ErrorKind, Io, Options, Run, Value};
use nyala_ir::analysis::Scope;
use nyala_ir::{ArithFlags, ArithOp, Body, CmpOp, Cont, Def, Linkage, Prim, Ty, World, text, verify};
use nyala_opt::mangle;
use nyala_test_support::random::Random;

// ---- Random programs ----------------------------------------------------------

/// Functions `cn(mem, x, y, n, ret)` that count `n` down with every call.
struct Program {
    world: World,
    functions: Vec<Cont>,
    /// Loop headers.
    heads: Vec<Cont>,
}

struct Builder<'a> {
    random: &'a mut Random,
    program: Program,
    mem: Ty,
    int: Ty,
    function: Cont,
}

/// A block under construction, and the numbers it can see.
#[derive(Clone)]
struct Block {
    cont: Cont,
    numbers: Vec<Def>,
}

fn random_program(random: &mut Random) -> Program {
    let mut world = World::new();
    let (mem, int) = (world.types.mem(), world.types.prim(Prim::I32));
    let ret = world.types.cn(&[mem, int]);
    let functions: Vec<Cont> =
        ["f", "g"].into_iter().map(|name| world.new_cont(name, &[mem, int, int, int, ret])).collect();
    for &function in &functions {
        world.set_linkage(function, Linkage::Exported(world.cont(function).name));
    }
    let function = functions[0];
    let program = Program { world, functions: functions.clone(), heads: vec![] };
    let mut builder = Builder { random, program, mem, int, function };
    for function in functions {
        builder.function = function;
        let numbers = (1..4).map(|index| builder.program.world.param(function, index)).collect();
        builder.fill(Block { cont: function, numbers }, 4);
    }
    builder.program
}

impl Builder<'_> {
    fn world(&mut self) -> &mut World {
        &mut self.program.world
    }

    /// A value computed from the values in scope of `block`.
    fn number(&mut self, block: &Block) -> Def {
        let mut value = block.numbers[self.random.below(block.numbers.len())];
        for _ in 0..self.random.below(3) {
            let op = [ArithOp::Add, ArithOp::Sub, ArithOp::Mul, ArithOp::Xor][self.random.below(4)];
            let lit = self.random.below(5) as i32;
            let other = match self.random.below(2) {
                0 => self.world().lit_i32(lit),
                _ => block.numbers[self.random.below(block.numbers.len())],
            };
            value = self.world().arith(op, ArithFlags::WRAP, value, other);
        }
        value
    }

    /// A continuation after `block`, with memory and `n_numbers` numbers of its own.
    fn after(&mut self, block: &Block, name: &str, n_numbers: usize) -> Block {
        let mut tys = vec![self.mem];
        tys.resize(1 + n_numbers, self.int);
        let cont = self.world().new_cont(name, &tys);
        let own = self.program.world.cont(cont).params[1..].iter();
        Block { cont, numbers: block.numbers.iter().chain(own).copied().collect() }
    }

    fn jump(&mut self, block: &Block, callee: Def, rest: &[Def]) {
        let mem = self.program.world.param(block.cont, 0);
        let args: Vec<Def> = std::iter::once(mem).chain(rest.iter().copied()).collect();
        self.world().set_body(block.cont, callee, args);
    }

    fn branch(&mut self, block: &Block, cond: Def, then: &Block, other: &Block) {
        let branch = self.world().branch();
        let targets = [then, other].map(|target| self.program.world.cont_def(target.cont));
        self.jump(block, branch, &[cond, targets[0], targets[1]]);
    }

    fn fill(&mut self, block: Block, depth: u32) {
        match self.random.below(if depth == 0 { 1 } else { 6 }) {
            0 => self.fill_return(&block),
            1 | 2 => self.fill_branch(block, depth - 1),
            3 => self.fill_loop(block, depth - 1),
            _ => self.fill_call(block, depth - 1),
        }
    }

    fn fill_return(&mut self, block: &Block) {
        let (ret, value) = (self.program.world.param(self.function, 4), self.number(block));
        self.jump(block, ret, &[value]);
    }

    fn fill_branch(&mut self, block: Block, depth: u32) {
        let (lhs, rhs) = (self.number(&block), self.number(&block));
        let op = CmpOp::ALL[self.random.below(6)];
        let cond = self.world().cmp(op, lhs, rhs);
        let (then, other) = (self.after(&block, "then", 0), self.after(&block, "else", 0));
        self.branch(&block, cond, &then, &other);
        self.fill(then, depth);
        self.fill(other, depth);
    }

    /// `for i in 0..limit { acc = .. }`
    fn fill_loop(&mut self, block: Block, depth: u32) {
        let head = self.after(&block, "head", 2);
        self.program.heads.push(head.cont);
        let limit = self.random.below(4) as i32;
        let (zero, one, limit) =
            (self.world().lit_i32(0), self.world().lit_i32(1), self.world().lit_i32(limit));
        let first = self.number(&block);
        let head_def = self.program.world.cont_def(head.cont);
        self.jump(&block, head_def, &[zero, first]);
        let i = self.program.world.param(head.cont, 1);
        let cond = self.world().cmp(CmpOp::Lt, i, limit);
        let (body, done) = (self.after(&head, "body", 0), self.after(&head, "done", 0));
        self.branch(&head, cond, &body, &done);
        let (up, acc) = (self.world().arith(ArithOp::Add, ArithFlags::WRAP, i, one), self.number(&body));
        self.jump(&body, head_def, &[up, acc]);
        self.fill(done, depth);
    }

    /// A call of `f` or `g` while `n` lasts. Some hand on their own arguments, so
    /// that copies find calls of themselves.
    fn fill_call(&mut self, block: Block, depth: u32) {
        let n = self.program.world.param(self.function, 3);
        let (zero, one) = (self.world().lit_i32(0), self.world().lit_i32(1));
        let cond = self.world().cmp(CmpOp::Gt, n, zero);
        let (call, other) = (self.after(&block, "call", 0), self.after(&block, "else", 0));
        self.branch(&block, cond, &call, &other);
        self.fill(other, depth);
        let callee = self.program.functions[self.random.below(2)];
        let callee = self.program.world.cont_def(callee);
        let mut given = [1, 2].map(|index| self.program.world.param(self.function, index));
        for arg in &mut given {
            if self.random.below(2) == 0 {
                *arg = self.number(&call);
            }
        }
        let less = self.world().arith(ArithOp::Sub, ArithFlags::WRAP, n, one);
        if self.random.below(2) == 0 {
            let ret = self.program.world.param(self.function, 4);
            return self.jump(&call, callee, &[given[0], given[1], less, ret]);
        }
        let point = self.after(&call, "point", 1);
        let point_def = self.program.world.cont_def(point.cont);
        self.jump(&call, callee, &[given[0], given[1], less, point_def]);
        self.fill(point, depth);
    }
}

// ---- Running ---------------------------------------------------------------------

/// Programs that take longer are not compared.
const MAX_STEPS: u64 = 20_000;

/// The result of `cont` for these numbers, unless it takes too long.
fn run(world: &World, cont: Cont, numbers: &[i32]) -> Option<u64> {
    let args: Vec<Value> = numbers.iter().map(|&number| Value::Bits(u64::from(number as u32))).collect();
    let options = Options { steps: Some(MAX_STEPS), ..Options::default() };
    let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
    match nyala_interp::call(world, cont, &args, &options, io) {
        Ok(Run { ending: Ending::Results(results), .. }) => match results[..] {
            [Value::Bits(bits)] => Some(bits),
            _ => panic!("functions return one number, not {results:?}"),
        },
        Ok(Run { ending: Ending::Exit(status), .. }) => panic!("unexpected exit {status}"),
        Err(error) if matches!(error.kind, ErrorKind::OutOfSteps { .. }) => None,
        Err(error) => panic!("{error:?}\n{}", text::print(world)),
    }
}

// ---- Properties -----------------------------------------------------------------

fn for_random_programs(mut check: impl FnMut(&mut Random, Program)) {
    let mut random = Random::new(1, 0);
    for _ in 0..300 {
        let program = random_program(&mut random);
        verify(&program.world).expect("random programs are well-formed");
        check(&mut random, program);
    }
}

fn samples(random: &mut Random) -> Vec<[i32; 3]> {
    (0..5).map(|_| [0; 3].map(|_| random.below(5) as i32 - 1)).collect()
}

#[test]
fn dropping_parameters_keeps_the_meaning() {
    let mut compared = 0;
    for_random_programs(|random, mut program| {
        let world = &mut program.world;
        let original = program.functions[0];
        let scope = Scope::new(world, original);
        for sample in samples(random) {
            let dropped = [0; 4].map(|_| random.below(2) == 0);
            let caller = call_of_copy(world, &scope, sample, dropped);
            verify(world).unwrap_or_else(|errors| panic!("{errors}\n{}", text::print(world)));
            let kept: Vec<i32> = (0..3).filter(|&index| !dropped[index]).map(|index| sample[index]).collect();
            // A copy may be quicker, never slower but for the call of it.
            if let Some(expected) = run(world, original, &sample) {
                assert_eq!(run(world, caller, &kept), Some(expected), "{sample:?}\n{}", text::print(world));
                compared += 1;
            }
        }
    });
    assert!(compared > 1_000, "only {compared} runs ended");
}

/// A function that hands its parameters to a copy of `scope`, which has dropped
/// some numbers for their values in `sample`, and maybe its return continuation for
/// that of the caller.
fn call_of_copy(world: &mut World, scope: &Scope, sample: [i32; 3], dropped: [bool; 4]) -> Cont {
    let params = world.cont(scope.entry()).params.clone();
    let is_kept = |index: usize| !(1..4).contains(&index) || !dropped[index - 1];
    let tys: Vec<Ty> = (0..5).filter(|&index| is_kept(index)).map(|index| world.ty(params[index])).collect();
    let caller = world.new_cont("caller", &tys);
    world.set_linkage(caller, Linkage::Exported("caller".into()));
    let mut args = world.cont(caller).params.clone();
    let mut drop = vec![None; 5];
    for index in (1..4).filter(|&index| !is_kept(index)) {
        drop[index] = Some(world.lit_i32(sample[index - 1]));
    }
    if dropped[3] {
        drop[4] = args.pop();
    }
    let copy = mangle(world, scope, &drop);
    world.set_body(caller, world.cont_def(copy), args);
    caller
}

#[test]
fn lifting_free_variables_of_a_loop_keeps_the_meaning() {
    let mut compared = 0;
    for_random_programs(|random, mut program| {
        let world = &mut program.world;
        let original = program.functions[0];
        let samples = samples(random);
        let before: Vec<Option<u64>> = samples.iter().map(|sample| run(world, original, sample)).collect();
        for &head in &program.heads {
            let mut lift = Scope::new(world, head).captures().to_vec();
            lift.retain(|_| random.below(3) > 0);
            let scope = Scope::lifting(world, head, &lift);
            let copy = mangle(world, &scope, &[None; 3]);
            call_instead(world, head, copy, &lift);
        }
        verify(world).unwrap_or_else(|errors| panic!("{errors}\n{}", text::print(world)));
        for (sample, expected) in samples.iter().zip(before).filter(|(_, before)| before.is_some()) {
            assert_eq!(run(world, original, sample), expected, "{sample:?}\n{}", text::print(world));
            compared += program.heads.len().min(1);
        }
    });
    assert!(compared > 300, "only {compared} runs ended");
}

/// Makes every call of `old` a call of `new` with the lifted values.
fn call_instead(world: &mut World, old: Cont, new: Cont, lift: &[Def]) {
    let conts: Vec<Cont> = world.conts().map(|(cont, _)| cont).collect();
    for cont in conts {
        let Some(body) = world.cont(cont).body.clone() else { continue };
        if world.as_cont(body.callee) == Some(old) {
            let args = body.args.iter().chain(lift).copied().collect();
            world.replace_body(cont, Some(Body { callee: world.cont_def(new), args, span: body.span }));
        }
    }
}
