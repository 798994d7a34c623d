//! The interpreter agrees with [`nyala_ir::eval`] on every operator and type, scalar and SIMD, errors included.
//!
//! The interpreter has its own operations for common operators and types. Each program here has one operation on its
//! parameters. It runs on all edge values of the type and on random values.

use nyala_interp::{Ending, ErrorKind, Io, Options, Value};
use nyala_ir::eval::{self, EvalError, float_from_value};
use nyala_ir::functions::Domain;
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Linkage, MathOp, Prim, Ty, World};
use nyala_random::MersenneTwister;

/// Lanes of SIMD values.
const LANES: u32 = 4;

/// The number of random operands besides the edge values.
const N_RANDOM: usize = 8;

/// Edge values and random values.
fn values(prim: Prim) -> Vec<u64> {
    let mut random = MersenneTwister::new(prim.bits() * 2 + u32::from(prim.is_float()));
    let mut bits = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    let mut all: Vec<u64> = match prim {
        Prim::Bool => return vec![0, 1],
        Prim::F16 | Prim::F32 | Prim::F64 => {
            let mut all: Vec<u64> = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -2.5,
                3.0,
                255.0,
                -129.0,
                65_504.0,
                2_147_483_648.0,
                -9_223_372_036_854_775_808.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ]
            .map(|value| float_from_value(prim, value))
            .to_vec();
            let sign = 1 << (prim.bits() - 1);
            let nan = float_from_value(prim, f64::NAN);
            let infinity = float_from_value(prim, f64::INFINITY);
            // A negative NaN, one with a payload, the smallest and the largest subnormal numbers and normal ones.
            let smallest_normal = match prim {
                Prim::F16 => 1 << 10,
                Prim::F32 => 1 << 23,
                _ => 1 << 52,
            };
            all.extend([
                nan | sign,
                nan | 1,
                1,
                sign | 1,
                smallest_normal - 1,
                smallest_normal,
                infinity - 1,
            ]);
            all
        }
        _ => {
            let width = u64::from(prim.bits());
            let min = 1 << (width - 1);
            vec![0, 1, 2, u64::MAX, min, min - 1, min + 1, width - 1, width, width + 1, 3, u64::MAX - 1]
        }
    };
    for index in 0..N_RANDOM {
        // Some are small, so that some products and shifts stay in range.
        let random = bits() >> (index % 3 * 20);
        all.push(match prim.is_float() {
            true if index % 2 == 0 => float_from_value(prim, (random % 20_001) as f64 / 16.0 - 600.0),
            _ => random,
        });
    }
    let mut all: Vec<u64> = all.into_iter().map(|bits| prim.canonical(bits)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// All lists of `arity` operands; for three operands a selection.
fn operands(prim: Prim, arity: usize) -> Vec<Vec<u64>> {
    let values = values(prim);
    match arity {
        1 => values.iter().map(|&value| vec![value]).collect(),
        2 => values.iter().flat_map(|&a| values.iter().map(move |&b| vec![a, b])).collect(),
        _ => {
            let at = |index: usize| values[index % values.len()];
            let both = |a: usize, b: usize| vec![at(a), at(b), at(a * 7 + b * 3)];
            let n = values.len();
            (0..n).flat_map(|a| (0..n).step_by(3).map(move |b| both(a, b))).collect()
        }
    }
}

/// A program with one operation on the parameters of a function.
struct Program {
    world: World,
    cont: Cont,
    lanes: Option<u32>,
}

impl Program {
    /// With the operation that `build` creates from `arity` parameters; none if the type does not have it.
    fn new(
        (prim, result): (Prim, Prim),
        lanes: Option<u32>,
        arity: usize,
        build: impl FnOnce(&mut World, &[Def], Ty) -> Def,
    ) -> Option<Program> {
        let mut world = World::new();
        world.set_folding(false);
        let mem = world.types.mem();
        let [ty, result] = [prim, result].map(|prim| {
            let scalar = world.types.prim(prim);
            lanes.map_or(scalar, |lanes| world.types.simd(scalar, lanes))
        });
        let ret = world.types.cn(&[mem, result]);
        let params: Vec<Ty> =
            std::iter::once(mem).chain(std::iter::repeat_n(ty, arity)).chain([ret]).collect();
        let cont = world.new_cont("f", &params);
        world.set_linkage(cont, Linkage::Exported("f".into()));
        let params = world.cont(cont).params.clone();
        let [mem, args @ .., ret] = &params[..] else { unreachable!("it has memory and a return") };
        let value = build(&mut world, args, result);
        world.set_body(cont, *ret, [*mem, value]);
        nyala_ir::verify(&world).is_ok().then_some(Program { world, cont, lanes })
    }

    /// Runs it for each list of operands, and compares the result with `eval`.
    fn check(&self, what: &str, all: &[Vec<u64>], eval: impl Fn(&[u64]) -> Result<u64, EvalError>) {
        match self.lanes {
            None => {
                for operands in all {
                    let args: Vec<Value> = operands.iter().map(|&bits| Value::Bits(bits)).collect();
                    self.compare(what, operands, &args, eval(operands).map(Value::Bits));
                }
            }
            Some(lanes) => {
                for group in all.chunks_exact(lanes as usize) {
                    let part = |at: usize| group.iter().map(|lane| Value::Bits(lane[at])).collect();
                    let args: Vec<Value> = (0..group[0].len()).map(|at| Value::agg(part(at))).collect();
                    let results: Result<Vec<Value>, EvalError> =
                        group.iter().map(|lane| eval(lane).map(Value::Bits)).collect();
                    self.compare(what, &group.concat(), &args, results.map(Value::agg));
                }
            }
        }
    }

    fn compare(&self, what: &str, operands: &[u64], args: &[Value], expected: Result<Value, EvalError>) {
        let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
        let run = nyala_interp::call(&self.world, self.cont, args, &Options::default(), io);
        let found = match run {
            Ok(run) => match run.ending {
                Ending::Results(results) => Ok(results.into_iter().next().unwrap_or_default()),
                Ending::Exit(status) => panic!("{what} exits with {status}"),
            },
            Err(error) => match error.kind {
                ErrorKind::Eval { error, .. } => Err(error),
                other => panic!("{what} of {operands:x?}: {other}"),
            },
        };
        let is_same = match (&found, &expected) {
            (Ok(found), Ok(expected)) => found.same(expected),
            (Err(found), Err(expected)) => found == expected,
            _ => false,
        };
        assert!(is_same, "{what} of {operands:x?} is {found:x?} instead of {expected:x?}");
    }
}

/// Scalars and SIMD values.
const WIDTHS: [Option<u32>; 2] = [None, Some(LANES)];

#[test]
fn arithmetic_agrees_with_eval() {
    let mut n_programs = 0;
    for (op, prim) in pairs(&ArithOp::ALL, &Prim::ALL) {
        let operands = operands(prim, 2);
        for (flags, lanes) in pairs(&[ArithFlags::STRICT, ArithFlags::WRAP], &WIDTHS) {
            let build = |world: &mut World, args: &[Def], _| world.arith(op, flags, args[0], args[1]);
            let Some(program) = Program::new((prim, prim), lanes, 2, build) else { continue };
            let what = format!("`{}` on `{prim}`, {flags:?}, lanes {lanes:?}", op.name());
            program.check(&what, &operands, |args| eval::arith(op, flags, prim, args[0], args[1]));
            n_programs += 1;
        }
    }
    // Integers have all operators, floats half of them, `bool` three.
    assert_eq!(n_programs, 4 * (8 * 10 + 3 * 5 + 3));
}

#[test]
fn comparisons_agree_with_eval() {
    for (op, prim) in pairs(&CmpOp::ALL, &Prim::ALL) {
        let operands = operands(prim, 2);
        for lanes in WIDTHS {
            let build = |world: &mut World, args: &[Def], _| world.cmp(op, args[0], args[1]);
            let program =
                Program::new((prim, Prim::Bool), lanes, 2, build).expect("every type has comparisons");
            let what = format!("`{}` on `{prim}`, lanes {lanes:?}", op.name());
            program.check(&what, &operands, |args| Ok(u64::from(eval::cmp(op, prim, args[0], args[1]))));
        }
    }
}

#[test]
fn casts_agree_with_eval() {
    for (from, to) in pairs(&Prim::ALL, &Prim::ALL) {
        let operands = operands(from, 1);
        for lanes in WIDTHS {
            let build = |world: &mut World, args: &[Def], ty| world.cast(ty, args[0]);
            let program = Program::new((from, to), lanes, 1, build).expect("every type has casts");
            let what = format!("`{from}` as `{to}`, lanes {lanes:?}");
            program.check(&what, &operands, |args| eval::cast(from, to, args[0]));
        }
    }
}

#[test]
fn mathematical_functions_agree_with_eval() {
    let mut n_programs = 0;
    for (op, prim) in pairs(MathOp::ALL, &Prim::ALL) {
        let operands = operands(prim, op.arity());
        let result = if op.info().gives_bool { Prim::Bool } else { prim };
        for lanes in WIDTHS {
            let build = |world: &mut World, args: &[Def], _| world.math(op, ArithFlags::STRICT, args);
            let Some(program) = Program::new((prim, result), lanes, op.arity(), build) else { continue };
            let what = format!("`{}` on `{prim}`, lanes {lanes:?}", op.name());
            program.check(&what, &operands, |args| eval::math(op, prim, args));
            n_programs += 1;
        }
    }
    let n_bits = MathOp::ALL.iter().filter(|op| op.info().domain == Domain::Int).count();
    assert_eq!(n_programs, 2 * (3 * (MathOp::ALL.len() - n_bits) + 8 * n_bits));
}

fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|&a| second.iter().map(move |&b| (a, b))).collect()
}
