//! Accesses to pictures and matrices, with the checks that are not known to hold.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Prim};

use crate::picture::Boundary;
use crate::ranges::{Base, Inside, inside};
use crate::translate::{Image, Translator, Value};
use crate::tree::{BinaryOp, Expr, Matrix, Op, Var};

impl Translator<'_> {
    pub(crate) fn entries_ty(&mut self) -> nyala_ir::Ty {
        let f32 = self.world.types.prim(Prim::F32);
        let slice = self.world.types.slice(f32);
        self.world.types.ptr(slice, 0)
    }

    pub(crate) fn matrix(&mut self, matrix: &Matrix) -> Value {
        let entries: Vec<Def> = matrix.entries.iter().map(|&entry| self.float(entry)).collect();
        let f32 = self.world.types.prim(Prim::F32);
        let array = self.world.types.array(f32, entries.len() as u64);
        let entries = self.world.aggregate(array, &entries);
        let address = self.world.constant(entries);
        let ty = self.entries_ty();
        let address = self.world.cast(ty, address);
        let (rows, cols) = (self.world.lit_i32(matrix.rows as i32), self.world.lit_i32(matrix.cols as i32));
        Value::Matrix([address, rows, cols])
    }

    pub(crate) fn index(&mut self, var: Var, parts: &[Expr; 2]) -> Def {
        let Value::Matrix([address, rows, cols]) = self.var(var) else {
            unreachable!("the checker saw a `Matrix`")
        };
        let (row, col) = (self.scalar(&parts[0]), self.scalar(&parts[1]));
        let outside = [self.is_outside(row, rows), self.is_outside(col, cols)];
        let outside = self.world.arith(ArithOp::Or, ArithFlags::STRICT, outside[0], outside[1]);
        self.fault_if(outside);
        let start = self.world.arith(ArithOp::Mul, ArithFlags::WRAP, row, cols);
        let index = self.world.arith(ArithOp::Add, ArithFlags::WRAP, start, col);
        let zero = self.world.lit_i32(0);
        let index = self.world.select(outside, zero, index);
        self.load(address, index)
    }

    fn load(&mut self, address: Def, index: Def) -> Def {
        let address = self.world.lea(address, index);
        let (mem, value) = self.world.load(self.mem, address);
        self.mem = mem;
        value
    }

    /// Whether an index is negative, or not below `size`.
    fn is_outside(&mut self, index: Def, size: Def) -> Def {
        let zero = self.world.lit_i32(0);
        let is_below = self.world.cmp(CmpOp::Lt, index, zero);
        let is_above = self.world.cmp(CmpOp::Ge, index, size);
        self.world.arith(ArithOp::Or, ArithFlags::STRICT, is_below, is_above)
    }

    pub(crate) fn image(&mut self, parts: &[Expr; 3]) -> Def {
        let [row, col, channel] = parts;
        let first = match self.place.image {
            Image::Planes { first, .. } => first,
            Image::Function(function) => return self.sample(function, parts),
        };
        let [width, height, _] = self.place.sizes;
        let at = [
            self.coordinate(row, Base::Row, self.setup.size.1, height),
            self.coordinate(col, Base::Col, self.setup.size.0, width),
            self.channel(channel),
        ];
        let mut outside = self.world.lit_bool(false);
        for (_, is_outside) in at {
            outside = self.world.arith(ArithOp::Or, ArithFlags::STRICT, outside, is_outside);
        }
        self.fault_if(outside);
        let [row, col, channel] = at.map(|(index, _)| index);
        let i64 = self.world.types.prim(Prim::I64);
        let [channel, plane, stride] =
            [channel, self.place.plane, self.place.stride].map(|def| self.world.cast(i64, def));
        let plane = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, channel, plane);
        let start = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, row, stride);
        let start = self.world.arith(ArithOp::Add, ArithFlags::STRICT, plane, start);
        let index = self.world.arith(ArithOp::Add, ArithFlags::STRICT, start, col);
        let zero = self.world.lit_i64(0);
        let index = self.world.select(outside, zero, index);
        self.load(first, index)
    }

    /// An `Int` in 64 bits. Where its range is known, so are its parts computed: then addresses of neighbouring
    /// pixels differ by constants, also in SIMD code, whose lanes may be inactive and so may overflow in 32 bits.
    fn wide(&mut self, expr: &Expr) -> Def {
        let i64 = self.world.types.prim(Prim::I64);
        let op = match &expr.op {
            Op::Binary(BinaryOp::Add, _) => Some(ArithOp::Add),
            Op::Binary(BinaryOp::Sub, _) => Some(ArithOp::Sub),
            _ => None,
        };
        match (op, &expr.op) {
            (Some(op), Op::Binary(_, operands)) if self.ranges.of(expr).is_some() => {
                let [lhs, rhs] = operands.each_ref().map(|operand| self.wide(operand));
                self.world.arith(op, ArithFlags::STRICT, lhs, rhs)
            }
            _ => {
                let value = self.scalar(expr);
                self.world.cast(i64, value)
            }
        }
    }

    fn sample(&mut self, function: Def, parts: &[Expr; 3]) -> Def {
        let [row, col, channel] = parts.each_ref().map(|part| self.scalar(part));
        let f32 = self.world.types.prim(Prim::F32);
        let next = self.new_block("sampled", &[f32]);
        let next_def = self.world.cont_def(next);
        self.jump(function, &[row, col, channel, next_def]);
        self.enter(next)[0]
    }

    /// A row or a column of the picture in 64 bits, and whether it is outside.
    fn coordinate(&mut self, expr: &Expr, base: Base, size: i32, size_def: Def) -> (Def, Def) {
        let no = self.world.lit_bool(false);
        let boundary = self.setup.rules.boundary;
        match inside(self.ranges.of(expr), base, size) {
            Inside::Picture => return (self.wide(expr), no),
            Inside::Margin(_) if boundary != Boundary::Error => return (self.wide(expr), no),
            _ => {}
        }
        let index = self.scalar(expr);
        let (index, is_outside) = match boundary {
            Boundary::Error => (index, self.is_outside(index, size_def)),
            boundary => (self.mapped(boundary, index, size_def), no),
        };
        let i64 = self.world.types.prim(Prim::I64);
        (self.world.cast(i64, index), is_outside)
    }

    /// The index inside that stands for any index, as [`Boundary::map`] computes it.
    fn mapped(&mut self, boundary: Boundary, index: Def, size: Def) -> Def {
        let (zero, one) = (self.world.lit_i32(0), self.world.lit_i32(1));
        let strict = ArithFlags::STRICT;
        match boundary {
            Boundary::Clamp | Boundary::Error => {
                let last = self.world.arith(ArithOp::Sub, strict, size, one);
                let index = self.smaller(CmpOp::Gt, index, zero);
                self.smaller(CmpOp::Lt, index, last)
            }
            Boundary::Wrap => self.modulo(index, size),
            Boundary::Mirror => {
                let twice = self.world.arith(ArithOp::Add, strict, size, size);
                let there = self.modulo(index, twice);
                let last = self.world.arith(ArithOp::Sub, strict, twice, one);
                let back = self.world.arith(ArithOp::Sub, strict, last, there);
                self.smaller(CmpOp::Lt, there, back)
            }
        }
    }

    /// The remainder that is not negative, by a positive number.
    fn modulo(&mut self, value: Def, by: Def) -> Def {
        let zero = self.world.lit_i32(0);
        let rest = self.world.arith(ArithOp::Rem, ArithFlags::STRICT, value, by);
        let is_negative = self.world.cmp(CmpOp::Lt, rest, zero);
        let above = self.world.arith(ArithOp::Add, ArithFlags::STRICT, rest, by);
        self.world.select(is_negative, above, rest)
    }

    fn channel(&mut self, expr: &Expr) -> (Def, Def) {
        let count = self.setup.n_channels;
        let range = self.ranges.of(expr);
        let channel = self.scalar(expr);
        let is_proved = inside(range, Base::Zero, count) == Inside::Picture;
        let count = self.world.lit_i32(count);
        let outside = if is_proved { self.world.lit_bool(false) } else { self.is_outside(channel, count) };
        (channel, outside)
    }
}
