//! From the typed tree to the program graph: the code of one pixel.
//!
//! The translation is a staged interpreter: it walks the tree as `interp` does, and emits nodes where that computes
//! values. It decides nothing about binding times. Partial evaluation is left to our evaluator: the translation
//! only says by filters what to unfold, and only if [`Setup::specialize`] is set.
//!
//! An operation that may fail is emitted with a check, which stores to the fault of the [`Image`] and goes on with
//! a harmless value. Checks of known operands fold.
//!
//! `rows` has what pixels of several rows share, `accesses` the accesses to pictures and matrices, `sums` the loops
//! of sums.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, MathOp, Prim, World};

use crate::interp::{GREATEST_INT, LEAST_INT, Rules};
use crate::ranges::{Range, Ranges};
use crate::tree::{BinaryOp, Expr, Filter, Op, Ty, UnaryOp, Var};

/// The paper's limit M for the leaves of an unrolled sum.
pub const UNROLL_LEAVES: usize = 2000;

/// What code is emitted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The boundary mode and the limit of terms.
    pub rules: Rules,
    /// Whether sizes and frame are known, and our evaluator unfolds what depends on them only.
    pub specialize: bool,
    /// The most leaves of an unrolled sum.
    pub unroll_leaves: usize,
    /// The channels of the picture.
    pub n_channels: i32,
    /// The width and the height of the picture.
    pub size: (i32, i32),
}

/// Where intensities come from.
#[derive(Clone, Copy, Debug)]
pub enum Image {
    /// From memory.
    Planes {
        /// The address of the first pixel.
        first: Def,
        /// The address of an `i32` that a fault sets to 1.
        fault: Def,
    },
    /// From a function of row, column and channel, which checks them. Nothing else is checked either. This is for
    /// residual programs that are read back; see `residual`.
    Function(Def),
}

/// The nodes that the code of all pixels uses.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where intensities come from.
    pub image: Image,
    /// The width and the height of the picture, and the number of the frame.
    pub sizes: [Def; 3],
    /// The variable `current` with the number of the channel, if the code is for any channel.
    pub current: Option<(Var, Def)>,
    /// The distance between rows.
    pub stride: Def,
    /// The distance between channels.
    pub plane: Def,
}

/// A value while code is emitted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Scalar(Def),
    /// The address of the entries, the number of rows and the number of columns.
    Matrix([Def; 3]),
}

/// What is known of a pixel while code is emitted.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    values: Vec<Option<Value>>,
    /// Whether what is computed is needed; none if it always is.
    pub(crate) is_needed: Option<Def>,
}

/// The state of a translation: the environment, and the place where code is added.
pub(crate) struct Translator<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) setup: Setup,
    pub(crate) ranges: Ranges,
    pub(crate) place: Place,
    /// The environment of the pixel whose code is added.
    pub(crate) env: Env,
    /// The variables that differ between the pixels of a row.
    pub(crate) varying: Vec<Var>,
    /// The block that gets the next code, and its memory.
    pub(crate) block: Cont,
    pub(crate) mem: Def,
    /// The terms of the sums around, as an `i64`.
    pub(crate) outer: Def,
    /// The most terms of the sums around, if known.
    pub(crate) outer_max: Option<u64>,
}

/// Emits the code of some pixels of a column, given as row and column, at the end of `block`. Gives the last block,
/// its memory and the intensities: for each channel those of the pixels.
pub(crate) fn translate(
    world: &mut World,
    filter: &Filter,
    setup: Setup,
    ranges: Ranges,
    place: Place,
    pixels: &[[Def; 2]],
    (block, mem): (Cont, Def),
) -> (Cont, Def, Vec<Vec<Def>>) {
    let outer = world.lit_i64(1);
    let env = Env { values: vec![None; filter.n_slots as usize], is_needed: None };
    let (outer_max, varying) = (Some(1), filter.varying());
    let mut translator =
        Translator { world, setup, ranges, place, env, varying, block, mem, outer, outer_max };
    let mut envs: Vec<Env> = pixels.iter().map(|&pixel| translator.environment(filter, pixel)).collect();
    let values = filter.channels.iter().map(|channel| translator.of_pixels(channel, &mut envs)).collect();
    (translator.block, translator.mem, values)
}

impl Translator<'_> {
    /// The environment of a pixel after the definitions that all channels share.
    fn environment(&mut self, filter: &Filter, [row, col]: [Def; 2]) -> Env {
        let [width, height, iter] = self.place.sizes;
        let initial =
            [(Var::ROW, row), (Var::COL, col), (Var::WIDTH, width), (Var::HEIGHT, height), (Var::ITER, iter)];
        let mut env = self.env.clone();
        for (var, def) in initial.into_iter().chain(self.place.current) {
            env.values[var.0 as usize] = Some(Value::Scalar(def));
        }
        self.within(&mut env, |pixel| filter.lets.iter().for_each(|(var, value)| pixel.define(*var, value)));
        env
    }

    /// Emits code of the pixel with this environment.
    pub(crate) fn within<T>(&mut self, env: &mut Env, emit: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.env, env);
        let emitted = emit(self);
        std::mem::swap(&mut self.env, env);
        emitted
    }

    pub(crate) fn bind(&mut self, var: Var, def: Def, range: Option<Range>) {
        self.env.values[var.0 as usize] = Some(Value::Scalar(def));
        self.ranges.set(var, range);
    }

    pub(crate) fn define(&mut self, var: Var, expr: &Expr) {
        let value = self.expr(expr);
        let range = self.ranges.of(expr);
        self.env.values[var.0 as usize] = Some(value);
        self.ranges.set(var, range);
    }

    pub(crate) fn var(&self, var: Var) -> Value {
        self.env.values[var.0 as usize].expect("variables are defined before they are used")
    }

    /// A `Bool`, an `Int` or a `Float`.
    pub(crate) fn scalar(&mut self, expr: &Expr) -> Def {
        match self.expr(expr) {
            Value::Scalar(def) => def,
            Value::Matrix(_) => unreachable!("the checker saw no `Matrix`"),
        }
    }

    fn expr(&mut self, expr: &Expr) -> Value {
        let span = std::mem::replace(&mut self.world.span, expr.span);
        let value = self.node(expr);
        self.world.span = span;
        value
    }

    fn node(&mut self, expr: &Expr) -> Value {
        Value::Scalar(match &expr.op {
            Op::Bool(value) => self.world.lit_bool(*value),
            Op::Int(value) => self.world.lit_i32(*value),
            Op::Float(value) => self.float(*value),
            Op::Matrix(matrix) => return self.matrix(matrix),
            Op::Var(var) => return self.var(*var),
            Op::Image(parts) => self.image(parts),
            Op::IntToFloat(part) => {
                let part = self.scalar(part);
                let ty = self.world.types.prim(Prim::F32);
                self.world.cast(ty, part)
            }
            Op::Unary(op, operand) => {
                let operand_ty = operand.ty;
                let operand = self.scalar(operand);
                self.unary(*op, operand_ty, operand)
            }
            Op::Binary(op, operands) => self.binary(*op, operands, expr),
            Op::If(parts) => return self.conditional(parts),
            Op::Let(var, parts) => {
                self.define(*var, &parts[0]);
                return self.expr(&parts[1]);
            }
            Op::Sum(var, parts) => self.sum(*var, parts, expr.ty),
            Op::Index(var, parts) => self.index(*var, parts),
        })
    }

    pub(crate) fn float(&mut self, value: f32) -> Def {
        self.world.lit(Prim::F32, u64::from(value.to_bits()))
    }

    pub(crate) fn prim(ty: Ty) -> Prim {
        match ty {
            Ty::Bool => Prim::Bool,
            Ty::Int => Prim::I32,
            Ty::Float => Prim::F32,
            Ty::Matrix => unreachable!("a matrix is no number"),
        }
    }

    // ---- Control flow --------------------------------------------------------

    /// A block with memory and these parameters.
    pub(crate) fn new_block(&mut self, name: &str, params: &[nyala_ir::Ty]) -> Cont {
        let mut types = vec![self.world.types.mem()];
        types.extend_from_slice(params);
        self.world.new_cont(name, &types)
    }

    /// Continues in `block`. Gives its parameters without memory.
    pub(crate) fn enter(&mut self, block: Cont) -> Vec<Def> {
        self.block = block;
        self.mem = self.world.param(block, 0);
        self.world.cont(block).params[1..].to_vec()
    }

    /// Ends the block with a call of `target` with these values.
    pub(crate) fn jump(&mut self, target: Def, values: &[Def]) {
        let args = std::iter::once(self.mem).chain(values.iter().copied());
        self.world.set_body(self.block, target, args);
    }

    /// Ends the block with a branch to two new blocks.
    pub(crate) fn branch(&mut self, condition: Def, names: [&str; 2]) -> [Cont; 2] {
        let blocks = names.map(|name| self.new_block(name, &[]));
        let [then, other] = blocks.map(|block| self.world.cont_def(block));
        self.world.set_branch(self.block, self.mem, condition, then, other);
        blocks
    }

    /// Records a fault if the condition holds, and the value is needed.
    pub(crate) fn fault_if(&mut self, condition: Def) {
        let Image::Planes { fault, .. } = self.place.image else { return };
        if self.world.as_lit(condition) == Some(0) {
            return;
        }
        let condition = match self.env.is_needed {
            Some(is_needed) => self.world.arith(ArithOp::And, ArithFlags::STRICT, condition, is_needed),
            None => condition,
        };
        let [failed, next] = self.branch(condition, ["fault", "next"]);
        let next_def = self.world.cont_def(next);
        self.enter(failed);
        let zero = self.world.lit_i32(0);
        let one = self.world.lit_i32(1);
        let address = self.world.lea(fault, zero);
        self.mem = self.world.store(self.mem, address, one);
        self.jump(next_def, &[]);
        self.enter(next);
    }

    fn conditional(&mut self, parts: &[Expr; 3]) -> Value {
        let [condition, then, other] = parts;
        let condition = self.scalar(condition);
        if then.ty != Ty::Matrix && is_simple(then) && is_simple(other) {
            let (then, other) = (self.scalar(then), self.scalar(other));
            return Value::Scalar(self.world.select(condition, then, other));
        }
        let types: Vec<nyala_ir::Ty> = match then.ty {
            Ty::Matrix => {
                let entries = self.entries_ty();
                let i32 = self.world.types.prim(Prim::I32);
                vec![entries, i32, i32]
            }
            ty => vec![self.world.types.prim(Translator::prim(ty))],
        };
        let join = self.new_block("join", &types);
        let join_def = self.world.cont_def(join);
        let blocks = self.branch(condition, ["then", "else"]);
        for (block, expr) in blocks.into_iter().zip([then, other]) {
            self.enter(block);
            match self.expr(expr) {
                Value::Scalar(value) => self.jump(join_def, &[value]),
                Value::Matrix(parts) => self.jump(join_def, &parts),
            }
        }
        match self.enter(join)[..] {
            [value] => Value::Scalar(value),
            [address, rows, cols] => Value::Matrix([address, rows, cols]),
            _ => unreachable!("a join has the parts of one value"),
        }
    }

    // ---- Operators -----------------------------------------------------------

    fn unary(&mut self, op: UnaryOp, ty: Ty, operand: Def) -> Def {
        let zero = self.world.lit_i32(0);
        match (op, ty) {
            (UnaryOp::Not, _) => {
                let yes = self.world.lit_bool(true);
                self.world.arith(ArithOp::Xor, ArithFlags::STRICT, operand, yes)
            }
            (UnaryOp::Neg, Ty::Int) => self.world.arith(ArithOp::Sub, ArithFlags::WRAP, zero, operand),
            (UnaryOp::Neg, _) => {
                let minus_zero = self.float(-0.0);
                self.world.arith(ArithOp::Sub, ArithFlags::STRICT, minus_zero, operand)
            }
            (UnaryOp::Abs, Ty::Int) => {
                let negated = self.world.arith(ArithOp::Sub, ArithFlags::WRAP, zero, operand);
                let is_negative = self.world.cmp(CmpOp::Lt, operand, zero);
                self.world.select(is_negative, negated, operand)
            }
            (UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round, _) => self.rounded(op, operand),
            _ => self.math(math_op(op), &[operand]),
        }
    }

    pub(crate) fn math(&mut self, op: MathOp, args: &[Def]) -> Def {
        self.world.math(op, ArithFlags::STRICT, args)
    }

    fn rounded(&mut self, op: UnaryOp, operand: Def) -> Def {
        let whole = self.math(math_op(op), &[operand]);
        let (least, greatest) = (self.float(LEAST_INT), self.float(GREATEST_INT));
        let inside = self.math(MathOp::Fmax, &[whole, least]);
        let inside = self.math(MathOp::Fmin, &[inside, greatest]);
        let ty = self.world.types.prim(Prim::I32);
        self.world.cast(ty, inside)
    }

    fn binary(&mut self, op: BinaryOp, operands: &[Expr; 2], whole: &Expr) -> Def {
        let [lhs, rhs] = operands;
        let ty = lhs.ty;
        if matches!(op, BinaryOp::And | BinaryOp::Or) && !is_simple(rhs) {
            return self.short_circuit(op, operands);
        }
        let (lhs, rhs_ty, rhs) = (self.scalar(lhs), rhs.ty, self.scalar(rhs));
        match (op, ty) {
            (BinaryOp::And, _) => self.world.arith(ArithOp::And, ArithFlags::STRICT, lhs, rhs),
            (BinaryOp::Or, _) => self.world.arith(ArithOp::Or, ArithFlags::STRICT, lhs, rhs),
            (BinaryOp::Pow, Ty::Int) => self.power_of_int(lhs, rhs),
            (BinaryOp::Pow, _) if rhs_ty == Ty::Int => self.power_of_float(lhs, rhs),
            (BinaryOp::Pow, _) => self.math(MathOp::Pow, &[lhs, rhs]),
            (BinaryOp::Min, Ty::Float) => self.math(MathOp::Fmin, &[lhs, rhs]),
            (BinaryOp::Max, Ty::Float) => self.math(MathOp::Fmax, &[lhs, rhs]),
            (BinaryOp::Min, _) => self.smaller(CmpOp::Lt, lhs, rhs),
            (BinaryOp::Max, _) => self.smaller(CmpOp::Gt, lhs, rhs),
            (BinaryOp::Div | BinaryOp::Mod, Ty::Int) => self.quotient(op, lhs, rhs),
            (BinaryOp::Add, Ty::Float) => self.add(lhs, rhs),
            (BinaryOp::Mul, Ty::Float) => self.mul(lhs, rhs),
            (BinaryOp::Div, Ty::Float) => self.div(lhs, rhs),
            (BinaryOp::Eq | BinaryOp::Ne, Ty::Bool) => {
                let differ = self.world.arith(ArithOp::Xor, ArithFlags::STRICT, lhs, rhs);
                if op == BinaryOp::Ne { differ } else { self.unary(UnaryOp::Not, Ty::Bool, differ) }
            }
            _ => match compare_op(op) {
                Some(op) => self.world.cmp(op, lhs, rhs),
                None => {
                    let flags = self.flags(whole);
                    self.world.arith(arith_op(op), flags, lhs, rhs)
                }
            },
        }
    }

    /// An `Int` wraps around, unless its range is known: then it does not overflow, and neighbouring pixels have
    /// neighbouring addresses.
    fn flags(&mut self, expr: &Expr) -> ArithFlags {
        let is_inside = expr.ty == Ty::Float || self.ranges.of(expr).is_some();
        if is_inside { ArithFlags::STRICT } else { ArithFlags::WRAP }
    }

    fn short_circuit(&mut self, op: BinaryOp, operands: &[Expr; 2]) -> Def {
        let [lhs, rhs] = operands;
        let lhs = self.scalar(lhs);
        let bool = self.world.types.bool();
        let join = self.new_block("join", &[bool]);
        let join_def = self.world.cont_def(join);
        let [yes, no] = self.branch(lhs, ["then", "else"]);
        let (decided, open) = if op == BinaryOp::And { (no, yes) } else { (yes, no) };
        let value = self.world.lit_bool(op == BinaryOp::Or);
        self.enter(decided);
        self.jump(join_def, &[value]);
        self.enter(open);
        let rhs = self.scalar(rhs);
        self.jump(join_def, &[rhs]);
        self.enter(join)[0]
    }

    /// `lhs` if `lhs op rhs`, else `rhs`.
    pub(crate) fn smaller(&mut self, op: CmpOp, lhs: Def, rhs: Def) -> Def {
        let is_smaller = self.world.cmp(op, lhs, rhs);
        self.world.select(is_smaller, lhs, rhs)
    }

    /// `value` if `operand` is known to be 0, else `other`. Evaluation decides it: at its end nothing is left of the
    /// question. So the paper's laws 0 * x = 0 and 0 + x = x hold for constants, and all other arithmetic stays that
    /// of IEEE 754.
    fn if_known_zero(&mut self, operand: Def, value: Def, other: Def) -> Def {
        if !self.setup.specialize {
            return other;
        }
        let zero = self.float(0.0);
        let is_zero = self.world.cmp(CmpOp::Eq, operand, zero);
        let is_known = self.world.known(operand);
        let holds = self.world.arith(ArithOp::And, ArithFlags::STRICT, is_known, is_zero);
        self.world.select(holds, value, other)
    }

    /// The sum of two `Float`s.
    pub(crate) fn add(&mut self, lhs: Def, rhs: Def) -> Def {
        let sum = self.world.arith(ArithOp::Add, ArithFlags::STRICT, lhs, rhs);
        let sum = self.if_known_zero(lhs, rhs, sum);
        self.if_known_zero(rhs, lhs, sum)
    }

    /// The product of two `Float`s.
    fn mul(&mut self, lhs: Def, rhs: Def) -> Def {
        let zero = self.float(0.0);
        let product = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, lhs, rhs);
        let product = self.if_known_zero(lhs, zero, product);
        self.if_known_zero(rhs, zero, product)
    }

    /// The quotient of two `Float`s. A division by a constant is a product with its inverse, if that is finite.
    fn div(&mut self, lhs: Def, rhs: Def) -> Def {
        let quotient = self.world.arith(ArithOp::Div, ArithFlags::STRICT, lhs, rhs);
        if !self.setup.specialize {
            return quotient;
        }
        let (one, zero, infinity) = (self.float(1.0), self.float(0.0), self.float(f32::INFINITY));
        let inverse = self.world.arith(ArithOp::Div, ArithFlags::STRICT, one, rhs);
        let size = self.math(MathOp::Fabs, &[inverse]);
        let product = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, lhs, inverse);
        let conditions = [
            self.world.known(rhs),
            self.world.cmp(CmpOp::Gt, size, zero),
            self.world.cmp(CmpOp::Lt, size, infinity),
        ];
        let holds = conditions
            .into_iter()
            .reduce(|all, one| self.world.arith(ArithOp::And, ArithFlags::STRICT, all, one))
            .expect("there are three");
        self.world.select(holds, product, quotient)
    }

    /// The quotient or the remainder of two `Int`s. A division by -1 overflows for the least `Int`, so it is
    /// emitted as a negation.
    fn quotient(&mut self, op: BinaryOp, lhs: Def, rhs: Def) -> Def {
        let (zero, one, minus_one) = (self.world.lit_i32(0), self.world.lit_i32(1), self.world.lit_i32(-1));
        let is_zero = self.world.cmp(CmpOp::Eq, rhs, zero);
        let is_minus_one = self.world.cmp(CmpOp::Eq, rhs, minus_one);
        self.fault_if(is_zero);
        let is_special = self.world.arith(ArithOp::Or, ArithFlags::STRICT, is_zero, is_minus_one);
        let divisor = self.world.select(is_special, one, rhs);
        let (arith, special) = match op {
            BinaryOp::Div => (ArithOp::Div, self.world.arith(ArithOp::Sub, ArithFlags::WRAP, zero, lhs)),
            _ => (ArithOp::Rem, zero),
        };
        let quotient = self.world.arith(arith, ArithFlags::STRICT, lhs, divisor);
        self.world.select(is_minus_one, special, quotient)
    }

    fn power_of_int(&mut self, base: Def, exponent: Def) -> Def {
        let zero = self.world.lit_i32(0);
        let is_negative = self.world.cmp(CmpOp::Lt, exponent, zero);
        self.fault_if(is_negative);
        let exponent = self.world.select(is_negative, zero, exponent);
        let one = self.world.lit_i32(1);
        self.power(base, exponent, one)
    }

    fn power_of_float(&mut self, base: Def, exponent: Def) -> Def {
        let (zero, one) = (self.world.lit_i32(0), self.float(1.0));
        let size = self.unary(UnaryOp::Abs, Ty::Int, exponent);
        let power = self.power(base, size, one);
        let inverse = self.world.arith(ArithOp::Div, ArithFlags::STRICT, one, power);
        let is_negative = self.world.cmp(CmpOp::Lt, exponent, zero);
        self.world.select(is_negative, inverse, power)
    }

    /// A power by squaring. It is unfolded if the exponent is known.
    fn power(&mut self, base: Def, exponent: Def, one: Def) -> Def {
        let (ty, i32) = (self.world.ty(base), self.world.types.prim(Prim::I32));
        let head = self.new_block("power", &[i32, ty, ty]);
        let done = self.new_block("powered", &[ty]);
        let (head_def, done_def) = (self.world.cont_def(head), self.world.cont_def(done));
        self.jump(head_def, &[exponent, base, one]);
        let params = self.enter(head);
        let [rest, square, power] = params[..] else { unreachable!("it was made with three") };
        self.unfold_if_known(head, &[rest]);
        let (zero, bit) = (self.world.lit_i32(0), self.world.lit_i32(1));
        let goes_on = self.world.cmp(CmpOp::Gt, rest, zero);
        let [more, end] = self.branch(goes_on, ["more", "end"]);
        self.enter(end);
        self.jump(done_def, &[power]);
        self.enter(more);
        let low = self.world.arith(ArithOp::And, ArithFlags::STRICT, rest, bit);
        let is_odd = self.world.cmp(CmpOp::Eq, low, bit);
        let product = self.world.arith(ArithOp::Mul, ArithFlags::WRAP, power, square);
        let power = self.world.select(is_odd, product, power);
        let square = self.world.arith(ArithOp::Mul, ArithFlags::WRAP, square, square);
        let rest = self.world.arith(ArithOp::Shr, ArithFlags::STRICT, rest, bit);
        self.jump(head_def, &[rest, square, power]);
        self.enter(done)[0]
    }

    /// Sets the filter of a function: calls are unfolded if these values are known.
    pub(crate) fn unfold_if_known(&mut self, function: Cont, values: &[Def]) {
        if !self.setup.specialize {
            return;
        }
        let mut holds = self.world.lit_bool(true);
        for &value in values {
            let is_known = self.world.known(value);
            holds = self.world.arith(ArithOp::And, ArithFlags::STRICT, holds, is_known);
        }
        let n_params = self.world.cont(function).params.len();
        let no = self.world.lit_bool(false);
        let filter = std::iter::once(no).chain(std::iter::repeat_n(holds, n_params - 1));
        self.world.set_filter(function, filter);
    }
}

/// Whether both branches of a conditional may be computed: what is cheap, does not fail, and needs no control flow.
pub(crate) fn is_simple(expr: &Expr) -> bool {
    let is_costly = |expr: &Expr| match &expr.op {
        Op::Image(_) | Op::Sum(..) | Op::Index(..) | Op::If(_) | Op::Matrix(_) | Op::Let(..) => true,
        Op::Binary(BinaryOp::Pow, _) => true,
        Op::Binary(BinaryOp::Div | BinaryOp::Mod, _) => expr.ty == Ty::Int,
        Op::Unary(op, _) => !matches!(op, UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs) && !op.is_rounding(),
        _ => false,
    };
    match &expr.op {
        Op::If(parts) => parts.iter().all(is_simple),
        _ => !expr.any(&is_costly),
    }
}

fn math_op(op: UnaryOp) -> MathOp {
    match op {
        UnaryOp::Abs => MathOp::Fabs,
        UnaryOp::Floor => MathOp::Floor,
        UnaryOp::Ceil => MathOp::Ceil,
        UnaryOp::Round => MathOp::Round,
        UnaryOp::Sqrt => MathOp::Sqrt,
        UnaryOp::Sin => MathOp::Sin,
        UnaryOp::Cos => MathOp::Cos,
        UnaryOp::Tan => MathOp::Tan,
        UnaryOp::Asin => MathOp::Asin,
        UnaryOp::Acos => MathOp::Acos,
        UnaryOp::Atan => MathOp::Atan,
        UnaryOp::Exp => MathOp::Exp,
        UnaryOp::Log => MathOp::Log,
        UnaryOp::Neg | UnaryOp::Not => unreachable!("these are arithmetic"),
    }
}

fn arith_op(op: BinaryOp) -> ArithOp {
    match op {
        BinaryOp::Add => ArithOp::Add,
        BinaryOp::Sub => ArithOp::Sub,
        BinaryOp::Mul => ArithOp::Mul,
        BinaryOp::Div => ArithOp::Div,
        _ => unreachable!("the others are no plain arithmetic"),
    }
}

fn compare_op(op: BinaryOp) -> Option<CmpOp> {
    match op {
        BinaryOp::Eq => Some(CmpOp::Eq),
        BinaryOp::Ne => Some(CmpOp::Ne),
        BinaryOp::Lt => Some(CmpOp::Lt),
        BinaryOp::Le => Some(CmpOp::Le),
        BinaryOp::Gt => Some(CmpOp::Gt),
        BinaryOp::Ge => Some(CmpOp::Ge),
        _ => None,
    }
}
