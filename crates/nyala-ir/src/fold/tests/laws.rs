//! Folding agrees with evaluation: on all values of 8 bits, and on random
//! expressions of every type.

use crate::eval::{self, EvalError};
use crate::node::{ArithFlags, ArithOp, CmpOp, Def, MathOp, Node};
use crate::types::{Prim, TyKind};
use crate::world::World;

/// An expression, apart from any world.
#[derive(Clone, Debug)]
enum Expr {
    Param(usize),
    Lit(u64),
    Arith(ArithOp, ArithFlags, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A comparison of two expressions of the first type.
    Cmp(CmpOp, Prim, Box<Expr>, Box<Expr>),
    /// A cast from the first type.
    Cast(Prim, Box<Expr>),
    Fmin(Box<Expr>, Box<Expr>),
}

/// Types of the three parameters: the type under test, again, and `bool`.
struct Bench {
    world: World,
    params: Vec<Def>,
}

impl Bench {
    fn new(params: &[Prim]) -> Bench {
        let mut world = World::new();
        let tys: Vec<_> = params.iter().map(|&prim| world.types.prim(prim)).collect();
        let cont = world.new_cont("f", &tys);
        Bench { params: world.cont(cont).params.clone(), world }
    }

    fn build(&mut self, prim: Prim, expr: &Expr) -> Def {
        match expr {
            Expr::Param(i) => self.params[*i],
            Expr::Lit(bits) => self.world.lit(prim, *bits),
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
                let a = self.build(*from, a);
                let ty = self.world.types.prim(prim);
                self.world.cast(ty, a)
            }
            Expr::Fmin(a, b) => {
                let (a, b) = (self.build(prim, a), self.build(prim, b));
                self.world.math(MathOp::Fmin, ArithFlags::STRICT, &[a, b])
            }
        }
    }

    /// The value of a folded node.
    fn value(&self, def: Def, inputs: &[u64]) -> Result<u64, EvalError> {
        let prim = |def| match self.world.types.kind(self.world.ty(def)) {
            TyKind::Prim(prim) => *prim,
            other => panic!("{other:?} is no number"),
        };
        match self.world.node(def) {
            Node::Lit(bits) => Ok(bits),
            Node::Param { index, .. } => Ok(inputs[index as usize]),
            Node::Arith { op, flags, lhs, rhs } => {
                eval::arith(op, flags, prim(lhs), self.value(lhs, inputs)?, self.value(rhs, inputs)?)
            }
            Node::Cmp { op, lhs, rhs } => {
                let (a, b) = (self.value(lhs, inputs)?, self.value(rhs, inputs)?);
                Ok(u64::from(eval::cmp(op, prim(lhs), a, b)))
            }
            Node::Select { cond, then, other } => {
                let (then, other) = (self.value(then, inputs)?, self.value(other, inputs)?);
                Ok(if self.value(cond, inputs)? != 0 { then } else { other })
            }
            Node::Cast(value) => eval::cast(prim(value), prim(def), self.value(value, inputs)?),
            Node::Math { op, args, .. } => {
                let list = self.world.list(args);
                let args: Vec<u64> =
                    list.iter().map(|&arg| self.value(arg, inputs)).collect::<Result<_, _>>()?;
                eval::math(op, prim(list[0]), &args)
            }
            node => panic!("no expression folds to {node:?}"),
        }
    }
}

/// The value of an expression as it is written.
fn evaluate(prim: Prim, expr: &Expr, inputs: &[u64]) -> Result<u64, EvalError> {
    match expr {
        Expr::Param(i) => Ok(inputs[*i]),
        Expr::Lit(bits) => Ok(prim.canonical(*bits)),
        Expr::Arith(op, flags, a, b) => {
            eval::arith(*op, *flags, prim, evaluate(prim, a, inputs)?, evaluate(prim, b, inputs)?)
        }
        Expr::Select(cond, a, b) => {
            let (a, b) = (evaluate(prim, a, inputs)?, evaluate(prim, b, inputs)?);
            Ok(if evaluate(Prim::Bool, cond, inputs)? != 0 { a } else { b })
        }
        Expr::Cmp(op, operand, a, b) => {
            let (a, b) = (evaluate(*operand, a, inputs)?, evaluate(*operand, b, inputs)?);
            Ok(u64::from(eval::cmp(*op, *operand, a, b)))
        }
        Expr::Cast(from, a) => eval::cast(*from, prim, evaluate(*from, a, inputs)?),
        Expr::Fmin(a, b) => {
            eval::math(MathOp::Fmin, prim, &[evaluate(prim, a, inputs)?, evaluate(prim, b, inputs)?])
        }
    }
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
        let (expected, folded) = (evaluate(prim, expr, &input), bench.value(def, &input));
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
                let x_c1 = arith(op1, flags, Expr::Param(0), Expr::Lit(c1));
                check(
                    &mut bench,
                    prim,
                    &arith(op2, flags, x_c1.clone(), Expr::Lit(c2)),
                    bytes().step_by(3).map(|x| vec![x]),
                );
                check(
                    &mut bench,
                    prim,
                    &arith(op2, flags, Expr::Lit(c2), x_c1),
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
                let expr = arith(op, flags, Expr::Param(0), Expr::Lit(c));
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
            let compare = |a: Expr| Expr::Cmp(op, prim, Box::new(a), Box::new(Expr::Lit(c)));
            let inputs = || bytes().map(|x| vec![x]);
            check(&mut bench, Prim::Bool, &compare(Expr::Param(0)), inputs());
            check(
                &mut bench,
                Prim::Bool,
                &arith(ArithOp::Xor, ArithFlags::STRICT, compare(Expr::Param(0)), Expr::Lit(1)),
                inputs(),
            );
            for (flags, inner, c1) in [
                (ArithFlags::STRICT, ArithOp::Add, 3),
                (ArithFlags::WRAP, ArithOp::Add, 200),
                (ArithFlags::WRAP, ArithOp::Sub, 7),
                (ArithFlags::STRICT, ArithOp::Xor, 129),
                (ArithFlags::STRICT, ArithOp::Mul, 2),
            ] {
                let inner = arith(inner, flags, Expr::Param(0), Expr::Lit(c1));
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

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    /// A value that is likely to be special.
    fn value(&mut self, prim: Prim) -> u64 {
        let bits = match self.below(4) {
            0 => self.below(4),
            1 => self.below(4).wrapping_neg(),
            2 => 1 << self.below(u64::from(prim.bits())),
            _ => self.next(),
        };
        if prim.is_float() && self.below(2) == 0 {
            let values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            return eval::float_from_value(prim, values[self.below(9) as usize]);
        }
        prim.canonical(bits)
    }

    /// Parameters 0 and 1 have type `prim`, parameter 2 is a `bool`.
    fn expr(&mut self, main: Prim, prim: Prim, depth: u32) -> Expr {
        let leaf = depth == 0 || self.below(8) == 0;
        let below = depth.saturating_sub(1);
        match self.below(10) {
            0..=2 if leaf => Expr::Lit(self.value(prim)),
            _ if leaf && prim == main => Expr::Param(self.below(2) as usize),
            _ if leaf && prim == Prim::Bool => Expr::Param(2),
            _ if leaf => Expr::Lit(self.value(prim)),
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
            2 if prim.is_float() => {
                Expr::Fmin(Box::new(self.expr(main, prim, below)), Box::new(self.expr(main, prim, below)))
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
}

#[test]
fn random_expressions_keep_their_values() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for prim in Prim::ALL {
        let mut bench = Bench::new(&[prim, prim, Prim::Bool]);
        for round in 0..2_000 {
            let result = if round % 4 == 0 { Prim::Bool } else { prim };
            let expr = random.expr(prim, result, 4);
            let def = bench.build(result, &expr);
            for _ in 0..12 {
                let input = vec![random.value(prim), random.value(prim), random.below(2)];
                let Ok(expected) = evaluate(result, &expr, &input) else { continue };
                let folded = bench.value(def, &input);
                let same = folded == Ok(expected)
                    || folded.is_ok_and(|bits| is_nan(result, bits) && is_nan(result, expected));
                assert!(same, "{expr:?} on {input:?} as {result}: {expected:?}, folded {folded:?}");
            }
        }
    }
}
