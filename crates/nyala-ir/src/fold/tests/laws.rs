//! Folding agrees with evaluation: on all values of 8 bits, and on random
//! expressions of every type, of simd types too, and with aggregates in them.

use crate::eval::{self, EvalError};
use crate::node::{ArithFlags, ArithOp, CmpOp, Def, MathOp, Node};
use crate::types::{Prim, Ty};
use crate::world::World;
use nyala_test_support::random::Random;

/// An expression, apart from any world.
#[derive(Clone, Debug)]
enum Expr {
    Param(usize),
    /// A literal; in simd expressions, in each of two lanes.
    Lit([u64; 2]),
    Arith(ArithOp, ArithFlags, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A comparison of two expressions of the first type.
    Cmp(CmpOp, Prim, Box<Expr>, Box<Expr>),
    /// A cast from the first type.
    Cast(Prim, Box<Expr>),
    /// The bits of an expression of the first type, which has as many.
    Bitcast(Prim, Box<Expr>),
    /// A function on expressions of the first type.
    Math(MathOp, Prim, Vec<Expr>),
}

/// Types of the three parameters: the type under test, again, and `bool`.
struct Bench {
    world: World,
    params: Vec<Def>,
    /// All types are simd types with two lanes.
    is_simd: bool,
}

impl Bench {
    fn new(params: &[Prim]) -> Bench {
        Bench::with_types(params, false)
    }

    fn with_types(params: &[Prim], is_simd: bool) -> Bench {
        let mut bench = Bench { world: World::new(), params: vec![], is_simd };
        let tys: Vec<_> = params.iter().map(|&prim| bench.ty(prim)).collect();
        let cont = bench.world.new_cont("f", &tys);
        bench.params = bench.world.cont(cont).params.to_vec();
        bench
    }

    fn ty(&mut self, prim: Prim) -> Ty {
        let elem = self.world.types.prim(prim);
        if self.is_simd { self.world.types.simd(elem, 2) } else { elem }
    }

    fn build(&mut self, prim: Prim, expr: &Expr) -> Def {
        match expr {
            Expr::Param(i) => self.params[*i],
            Expr::Lit(bits) if self.is_simd => {
                let (ty, lanes) = (self.ty(prim), bits.map(|bits| self.world.lit(prim, bits)));
                self.world.aggregate(ty, &lanes)
            }
            Expr::Lit(bits) => self.world.lit(prim, bits[0]),
            Expr::Arith(op, flags, a, b) => {
                let (a, b) = (self.build(prim, a), self.build(prim, b));
                self.world.arith(*op, *flags, a, b)
            }
            Expr::Select(cond, a, b) => {
                let (cond, a, b) = (self.build(Prim::Bool, cond), self.build(prim, a), self.build(prim, b));
                self.world.select(cond, a, b)
            }
            Expr::Cmp(op, operand, a, b) => {
                let (a, b) = (self.build(*operand, a), self.build(*operand, b));
                self.world.cmp(*op, a, b)
            }
            Expr::Cast(from, a) => {
                let (a, ty) = (self.build(*from, a), self.ty(prim));
                self.world.cast(ty, a)
            }
            Expr::Bitcast(from, a) => {
                let (a, ty) = (self.build(*from, a), self.ty(prim));
                self.world.bitcast(ty, a)
            }
            Expr::Math(op, operand, args) => {
                let args: Vec<Def> = args.iter().map(|arg| self.build(*operand, arg)).collect();
                self.world.math(*op, ArithFlags::STRICT, &args)
            }
        }
    }

    /// The value of a folded node, in a lane if it has several.
    fn value(&self, def: Def, inputs: &[u64], lane: usize) -> Result<u64, EvalError> {
        let world = &self.world;
        let prim = |def| world.types.lane_prim(world.ty(def)).expect("all are numbers");
        let value = |def| self.value(def, inputs, lane);
        match world.node(def) {
            Node::Lit(bits) => Ok(bits),
            Node::Param { index, .. } => Ok(inputs[index as usize]),
            Node::Aggregate(lanes) => value(world.list(lanes)[lane]),
            Node::Arith { op, flags, lhs, rhs } => {
                eval::arith(op, flags, prim(lhs), value(lhs)?, value(rhs)?)
            }
            Node::Cmp { op, lhs, rhs } => {
                let (a, b) = (value(lhs)?, value(rhs)?);
                Ok(u64::from(eval::cmp(op, prim(lhs), a, b)))
            }
            Node::Select { cond, then, other } => {
                let (then, other) = (value(then)?, value(other)?);
                Ok(if value(cond)? != 0 { then } else { other })
            }
            Node::Cast(from) => eval::cast(prim(from), prim(def), value(from)?),
            Node::Bitcast(from) => eval::bitcast(prim(from), prim(def), value(from)?),
            Node::Math { op, args, .. } => {
                let list = world.list(args);
                let args: Vec<u64> = list.iter().map(|&arg| value(arg)).collect::<Result<_, _>>()?;
                eval::math(op, prim(list[0]), &args)
            }
            node => panic!("no expression folds to {node:?}"),
        }
    }
}

/// The value of an expression as it is written, in a lane if it has several.
fn evaluate(prim: Prim, expr: &Expr, inputs: &[u64], lane: usize) -> Result<u64, EvalError> {
    let value = |prim: Prim, expr: &Expr| evaluate(prim, expr, inputs, lane);
    match expr {
        Expr::Param(i) => Ok(inputs[*i]),
        Expr::Lit(bits) => Ok(prim.canonical(bits[lane])),
        Expr::Arith(op, flags, a, b) => eval::arith(*op, *flags, prim, value(prim, a)?, value(prim, b)?),
        Expr::Select(cond, a, b) => {
            let (a, b) = (value(prim, a)?, value(prim, b)?);
            Ok(if value(Prim::Bool, cond)? != 0 { a } else { b })
        }
        Expr::Cmp(op, operand, a, b) => {
            let (a, b) = (value(*operand, a)?, value(*operand, b)?);
            Ok(u64::from(eval::cmp(*op, *operand, a, b)))
        }
        Expr::Cast(from, a) => eval::cast(*from, prim, value(*from, a)?),
        Expr::Bitcast(from, a) => eval::bitcast(*from, prim, value(*from, a)?),
        Expr::Math(op, operand, args) => {
            let args: Vec<u64> = args.iter().map(|arg| value(*operand, arg)).collect::<Result<_, _>>()?;
            eval::math(*op, *operand, &args)
        }
    }
}

fn lit(bits: u64) -> Expr {
    Expr::Lit([bits; 2])
}

fn arith(op: ArithOp, flags: ArithFlags, a: Expr, b: Expr) -> Expr {
    Expr::Arith(op, flags, Box::new(a), Box::new(b))
}

fn is_nan(prim: Prim, bits: u64) -> bool {
    prim.is_float() && eval::float_value(prim, bits).is_nan()
}

/// Folding must keep every value. It must also keep every failure, except that of
/// an operand which a literal result no longer needs.
#[track_caller]
fn check(bench: &mut Bench, prim: Prim, expr: &Expr, inputs: impl Iterator<Item = Vec<u64>>) {
    let def = bench.build(prim, expr);
    let is_lit = bench.world.as_lit(def).is_some();
    for input in inputs {
        let (expected, folded) = (evaluate(prim, expr, &input, 0), bench.value(def, &input, 0));
        let same = match (expected, folded) {
            (Ok(a), Ok(b)) => a == b || (is_nan(prim, a) && is_nan(prim, b)),
            (Ok(_), Err(_)) => false,
            (Err(_), Err(_)) => true,
            (Err(_), Ok(_)) => is_lit,
        };
        assert!(same, "{expr:?} on {input:?} as {prim}: {expected:?}, folded {folded:?}");
    }
}

const FLAGS: [ArithFlags; 2] = [ArithFlags::STRICT, ArithFlags::WRAP];
const CONSTANTS: [u64; 9] = [0, 1, 2, 3, 7, 127, 128, 254, 255];

fn bytes() -> impl Iterator<Item = u64> {
    0..256
}

#[test]
fn two_operators_with_constants_on_all_bytes() {
    for prim in [Prim::I8, Prim::U8] {
        let mut bench = Bench::new(&[prim]);
        for (flags, op1, op2) in FLAGS.into_iter().flat_map(|flags| {
            ArithOp::ALL.into_iter().flat_map(move |op1| ArithOp::ALL.map(|op2| (flags, op1, op2)))
        }) {
            for (c1, c2) in CONSTANTS.into_iter().flat_map(|c1| CONSTANTS.map(|c2| (c1, c2))) {
                let x_c1 = arith(op1, flags, Expr::Param(0), lit(c1));
                check(
                    &mut bench,
                    prim,
                    &arith(op2, flags, x_c1.clone(), lit(c2)),
                    bytes().step_by(3).map(|x| vec![x]),
                );
                check(
                    &mut bench,
                    prim,
                    &arith(op2, flags, lit(c2), x_c1),
                    bytes().step_by(5).map(|x| vec![x]),
                );
            }
        }
    }
}

#[test]
fn one_operator_with_each_constant_on_all_bytes() {
    for prim in [Prim::I8, Prim::U8] {
        let mut bench = Bench::new(&[prim]);
        for (op, c) in ArithOp::ALL.into_iter().flat_map(|op| bytes().map(move |c| (op, c))) {
            for flags in FLAGS {
                let expr = arith(op, flags, Expr::Param(0), lit(c));
                check(&mut bench, prim, &expr, bytes().map(|x| vec![x]));
            }
        }
    }
}

#[test]
fn two_operators_that_share_an_operand() {
    let samples = || CONSTANTS.into_iter().chain([5, 64, 85, 170, 200]);
    let inputs = || samples().flat_map(move |x| samples().map(move |y| vec![x, y]));
    for prim in [Prim::I8, Prim::U8] {
        let mut bench = Bench::new(&[prim, prim]);
        for (flags, op1, op2) in FLAGS.into_iter().flat_map(|flags| {
            ArithOp::ALL.into_iter().flat_map(move |op1| ArithOp::ALL.map(|op2| (flags, op1, op2)))
        }) {
            let (x, y) = (|| Expr::Param(0), || Expr::Param(1));
            for inner in [arith(op1, flags, x(), y()), arith(op1, flags, y(), x())] {
                check(&mut bench, prim, &arith(op2, flags, x(), inner.clone()), inputs());
                check(&mut bench, prim, &arith(op2, flags, inner.clone(), x()), inputs());
                check(&mut bench, prim, &arith(op2, flags, inner.clone(), inner), inputs());
            }
        }
    }
}

#[test]
fn comparisons_with_constants_on_all_bytes() {
    for prim in [Prim::I8, Prim::U8] {
        let mut bench = Bench::new(&[prim]);
        for (op, c) in CmpOp::ALL.into_iter().flat_map(|op| bytes().map(move |c| (op, c))) {
            let compare = |a: Expr| Expr::Cmp(op, prim, Box::new(a), Box::new(lit(c)));
            let inputs = || bytes().map(|x| vec![x]);
            check(&mut bench, Prim::Bool, &compare(Expr::Param(0)), inputs());
            check(
                &mut bench,
                Prim::Bool,
                &arith(ArithOp::Xor, ArithFlags::STRICT, compare(Expr::Param(0)), lit(1)),
                inputs(),
            );
            for (flags, inner, c1) in [
                (ArithFlags::STRICT, ArithOp::Add, 3),
                (ArithFlags::WRAP, ArithOp::Add, 200),
                (ArithFlags::WRAP, ArithOp::Sub, 7),
                (ArithFlags::STRICT, ArithOp::Xor, 129),
                (ArithFlags::STRICT, ArithOp::Mul, 2),
            ] {
                let inner = arith(inner, flags, Expr::Param(0), lit(c1));
                check(&mut bench, Prim::Bool, &compare(inner), inputs().step_by(3));
            }
        }
    }
}

#[test]
fn chains_of_casts_over_every_three_types() {
    let interesting = |prim: Prim| {
        let mut bits: Vec<u64> =
            [0, 1, 2, 100, 127, 128, 255, 256, 32767, 65535, 65536, 16777217, 1 << 31, (1 << 53) + 1]
                .into_iter()
                .flat_map(|x: u64| [x, x.wrapping_neg(), !x])
                .map(|x| prim.canonical(x))
                .collect();
        if prim.is_float() {
            let values = [
                0.5,
                -0.9,
                1.5,
                127.9,
                255.5,
                300.0,
                65504.0,
                16777217.0,
                1e10,
                1e300,
                f64::NAN,
                f64::INFINITY,
            ];
            bits = values.iter().flat_map(|&x| [x, -x]).map(|x| eval::float_from_value(prim, x)).collect();
        }
        bits
    };
    for (from, mid) in Prim::ALL.into_iter().flat_map(|from| Prim::ALL.map(|mid| (from, mid))) {
        for to in Prim::ALL {
            let mut bench = Bench::new(&[from]);
            let inner = Expr::Cast(from, Box::new(Expr::Param(0)));
            let expr = Expr::Cast(mid, Box::new(inner));
            check(&mut bench, to, &expr, interesting(from).into_iter().map(|x| vec![x]));
        }
    }
}

// ---- Random expressions ------------------------------------------------------------

/// Random values and expressions.
struct Expressions {
    random: Random,
}

impl Expressions {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit as usize) as u64
    }

    /// A value that is likely to be special.
    fn value(&mut self, prim: Prim) -> u64 {
        let bits = match self.below(4) {
            0 => self.below(4),
            1 => self.below(4).wrapping_neg(),
            2 => 1 << self.below(u64::from(prim.bits())),
            _ => self.random.bits(),
        };
        if prim.is_float() && self.below(2) == 0 {
            let values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            return eval::float_from_value(prim, values[self.below(9) as usize]);
        }
        prim.canonical(bits)
    }

    fn lit(&mut self, prim: Prim) -> Expr {
        Expr::Lit([self.value(prim), self.value(prim)])
    }

    /// Parameters 0 and 1 have type `prim`, parameter 2 is a `bool`.
    fn expr(&mut self, main: Prim, prim: Prim, depth: u32) -> Expr {
        let leaf = depth == 0 || self.below(8) == 0;
        let below = depth.saturating_sub(1);
        match self.below(10) {
            0..=2 if leaf => self.lit(prim),
            _ if leaf && prim == main => Expr::Param(self.below(2) as usize),
            _ if leaf && prim == Prim::Bool => Expr::Param(2),
            _ if leaf => self.lit(prim),
            0 => Expr::Select(
                Box::new(self.expr(main, Prim::Bool, below)),
                Box::new(self.expr(main, prim, below)),
                Box::new(self.expr(main, prim, below)),
            ),
            1 | 2 if prim == Prim::Bool => {
                let op = CmpOp::ALL[self.below(6) as usize];
                Expr::Cmp(
                    op,
                    main,
                    Box::new(self.expr(main, main, below)),
                    Box::new(self.expr(main, main, below)),
                )
            }
            1 => Expr::Cast(Prim::Bool, Box::new(self.expr(main, Prim::Bool, below))),
            2 | 3 => self.function(main, prim, below),
            4 if prim != Prim::Bool => {
                // There and back, by another type of that width.
                let others: Vec<Prim> =
                    Prim::ALL.into_iter().filter(|other| other.bits() == prim.bits()).collect();
                let other = others[self.below(others.len() as u64) as usize];
                Expr::Bitcast(other, Box::new(Expr::Bitcast(prim, Box::new(self.expr(main, prim, below)))))
            }
            _ => {
                let flags = FLAGS[self.below(2) as usize];
                let op = match prim {
                    Prim::Bool => [ArithOp::And, ArithOp::Or, ArithOp::Xor][self.below(3) as usize],
                    _ if prim.is_float() => ArithOp::ALL[self.below(5) as usize],
                    _ => ArithOp::ALL[self.below(10) as usize],
                };
                arith(op, flags, self.expr(main, prim, below), self.expr(main, prim, below))
            }
        }
    }

    /// A function of the type `prim`, if it has any.
    fn function(&mut self, main: Prim, prim: Prim, below: u32) -> Expr {
        let of_floats = |op: MathOp| eval::math(op, Prim::F64, &vec![0; op.arity()]).is_ok();
        let gives_bool = |op| matches!(op, MathOp::Signbit | MathOp::IsNan | MathOp::IsFinite);
        let operand = if prim == Prim::Bool { main } else { prim };
        let fits = |op: MathOp| {
            operand != Prim::Bool
                && of_floats(op) == operand.is_float()
                && gives_bool(op) == (prim == Prim::Bool)
        };
        let all: Vec<MathOp> = MathOp::ALL.iter().copied().filter(|&op| fits(op)).collect();
        if all.is_empty() {
            return self.lit(prim);
        }
        let op = all[self.below(all.len() as u64) as usize];
        // No operation promises which sign its NaN has, so these look at what is given only.
        let below = if matches!(op, MathOp::Signbit | MathOp::Copysign) { 0 } else { below };
        Expr::Math(op, operand, (0..op.arity()).map(|_| self.expr(main, operand, below)).collect())
    }

    /// Makes expressions and compares what they fold to with what they mean.
    fn check(&mut self, prim: Prim, bench: &mut Bench) {
        for round in 0..2_000 {
            let result = if round % 4 == 0 { Prim::Bool } else { prim };
            let expr = self.expr(prim, result, 4);
            let def = bench.build(result, &expr);
            for at in 0..12 {
                let lane = at % if bench.is_simd { 2 } else { 1 };
                let input = vec![self.value(prim), self.value(prim), self.below(2)];
                let Ok(expected) = evaluate(result, &expr, &input, lane) else { continue };
                let folded = bench.value(def, &input, lane);
                let same = folded == Ok(expected)
                    || folded.is_ok_and(|bits| is_nan(result, bits) && is_nan(result, expected));
                assert!(same, "{expr:?} on {input:?} as {result}: {expected:?}, folded {folded:?}");
            }
        }
    }
}

#[test]
fn random_expressions_keep_their_values() {
    let mut expressions = Expressions { random: Random::new(1, 0) };
    for prim in Prim::ALL {
        expressions.check(prim, &mut Bench::new(&[prim, prim, Prim::Bool]));
    }
}

#[test]
fn random_simd_expressions_keep_their_values() {
    let mut expressions = Expressions { random: Random::new(2, 0) };
    for prim in Prim::ALL {
        expressions.check(prim, &mut Bench::with_types(&[prim, prim, Prim::Bool], true));
    }
}

/// Arrays of four numbers: what is read from a random mixture of literals, replaced
/// elements and choices is what a plain array would hold.
#[test]
fn random_aggregates_keep_their_parts() {
    const PARTS: usize = 4;
    let mut random = Random::new(3, 0);
    for _ in 0..3_000 {
        let mut world = World::new();
        let (i32, bool) = (world.types.prim(Prim::I32), world.types.bool());
        let ty = world.types.array(i32, PARTS as u64);
        let cont = world.new_cont("f", &[i32, i32, bool]);
        let params = world.cont(cont).params.clone();
        let inputs = [PARTS, PARTS, 2].map(|end| random.below(end) as u64);
        // Arrays with the values that they should have.
        let mut arrays: Vec<(Def, [u64; PARTS])> = vec![];
        for _ in 0..12 {
            let index = match random.below(3) {
                2 => random.below(PARTS) as u64,
                param => inputs[param],
            };
            let index_def = match random.below(2) {
                0 if index == inputs[0] => params[0],
                0 if index == inputs[1] => params[1],
                _ => world.lit_i32(index as i32),
            };
            let element = random.below(100) as u64;
            let any = |random: &mut Random| random.below(arrays.len());
            let made = match random.below(4) {
                0 | 1 if !arrays.is_empty() => {
                    let (array, mut values) = arrays[any(&mut random)];
                    let value = world.lit_i32(element as i32);
                    values[index as usize] = element;
                    (world.insert(array, index_def, value), values)
                }
                2 if !arrays.is_empty() => {
                    let ((a, a_values), (b, b_values)) = (arrays[any(&mut random)], arrays[any(&mut random)]);
                    let values = if inputs[2] != 0 { a_values } else { b_values };
                    (world.select(params[2], a, b), values)
                }
                _ => {
                    let values = std::array::from_fn(|_| random.below(100) as u64);
                    let parts = values.map(|value: u64| world.lit_i32(value as i32));
                    (world.aggregate(ty, &parts), values)
                }
            };
            arrays.push(made);
            let read = world.extract(made.0, index_def);
            assert_eq!(part(&world, read, &inputs), Part::Number(made.1[index as usize]));
        }
    }
}

/// The value of a number or of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Number(u64),
    Array(Vec<Part>),
}

fn part(world: &World, def: Def, inputs: &[u64]) -> Part {
    let number = |def| match part(world, def, inputs) {
        Part::Number(number) => number as usize,
        Part::Array(_) => panic!("an array where a number is expected"),
    };
    let array = |def| match part(world, def, inputs) {
        Part::Array(parts) => parts,
        Part::Number(_) => panic!("a number where an array is expected"),
    };
    match world.node(def) {
        Node::Lit(bits) => Part::Number(bits),
        Node::Param { index, .. } => Part::Number(inputs[index as usize]),
        Node::Aggregate(parts) => {
            Part::Array(world.list(parts).iter().map(|&def| part(world, def, inputs)).collect())
        }
        Node::Insert { agg, index, value } => {
            let mut parts = array(agg);
            parts[number(index)] = part(world, value, inputs);
            Part::Array(parts)
        }
        Node::Extract { agg, index } => array(agg)[number(index)].clone(),
        Node::Select { cond, then, other } => {
            let chosen = if number(cond) != 0 { then } else { other };
            part(world, chosen, inputs)
        }
        node => panic!("nothing folds to {node:?}"),
    }
}
