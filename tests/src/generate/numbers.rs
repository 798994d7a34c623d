//! Random arithmetic, in all widths.

use super::Generator;
use super::types::{Num, Ty};

impl Generator<'_> {
    /// A constant, often an extreme value of its type.
    pub fn literal(&mut self, num: Num) -> String {
        let name = num.name();
        if num.is_float() {
            let value = *self.random.pick(&["0.0", "1.0", "0.5", "3.25", "-2.0", "1000000.0", "-0.0"]);
            return format!("({value}{name})");
        }
        let max = u64::MAX >> (64 - num.bits() + u32::from(num.is_signed()));
        let value = *self.random.pick(&[0, 1, 2, 5, max / 3, max - 1, max]);
        let sign = if num.is_signed() && self.one_in(3) { "-" } else { "" };
        format!("({sign}{value}{name})")
    }

    /// Variables of several types, computed from an unknown number.
    pub fn unknown_numbers(&mut self, from: &str) -> String {
        let start = self.line_start();
        let variable = |g: &mut Self| {
            let num = *g.random.pick(&Num::ALL);
            let (name, factor) = (g.define(Ty::Num(num), false), 1 + g.random.below(100));
            format!("{start}let {name} = ({from} * {factor} - 50) as {};\n", num.name())
        };
        (0..1 + self.random.below(3)).map(|_| variable(self)).collect()
    }

    /// A number computed from others.
    pub fn number(&mut self, num: Num, depth: usize) -> String {
        if self.one_in(4) {
            return self.conversion(num, depth);
        }
        let ty = Ty::Num(num);
        let (a, b) = (self.expr(&ty, depth), self.expr(&ty, depth));
        let name = num.name();
        if num.is_float() {
            let operator = *self.random.pick(&["+", "-", "*", "/", "+", "-"]);
            return format!("({a} {operator} {b})");
        }
        if num.is_signed() {
            return self.signed(name, num.bits(), &a, &b);
        }
        self.unsigned(name, num.bits(), &a, &b)
    }

    /// A number from one of another type.
    fn conversion(&mut self, num: Num, depth: usize) -> String {
        let name = num.name();
        match self.random.below(3) {
            0 => format!("({} as {name})", self.expr(&Ty::U32, depth)),
            1 => format!("({} as {name})", self.expr(&Ty::I32, depth)),
            _ => {
                let from = *self.random.pick(&Num::ALL);
                let x = self.expr(&Ty::Num(from), depth);
                match from.is_float() && !num.is_float() {
                    true => format!("(whole({x} as f64) as {name})"),
                    // A cast to the same type is allowed, and warned of.
                    false => format!("({x} as {name})"),
                }
            }
        }
    }

    /// Unsigned arithmetic wraps.
    fn unsigned(&mut self, ty: &str, bits: u32, a: &str, b: &str) -> String {
        let last = bits - 1;
        match self.random.below(10) {
            0 => format!("({a} - {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} & {b})"),
            3 => format!("({a} | {b})"),
            4 => format!("({a} ^ {b})"),
            5 => format!("({a} / ({b} | 1{ty}))"),
            6 => format!("({a} % ({b} | 1{ty}))"),
            7 => format!("({a} << ({b} & {last}{ty}))"),
            8 => format!("({a} >> ({b} & {last}{ty}))"),
            _ => format!("({a} + {b})"),
        }
    }

    /// Signed arithmetic must not overflow: operands of sums have two unused bits, those of products use
    /// half of the bits.
    fn signed(&mut self, ty: &str, bits: u32, a: &str, b: &str) -> String {
        let last = bits - 1;
        let (part, half) = ((1u64 << (bits - 2)) - 1, (1u64 << (bits / 2 - 1)) - 1);
        match self.random.below(10) {
            0 => format!("(({a} & {part}{ty}) - ({b} & {part}{ty}))"),
            1 => format!("(({a} & {half}{ty}) * ({b} & {half}{ty}))"),
            2 => format!("({a} ^ {b})"),
            3 => format!("({a} / (({b} & 15{ty}) + 1{ty}))"),
            4 => format!("({a} % (({b} & 15{ty}) + 1{ty}))"),
            5 => format!("({a} >> ({b} & {last}{ty}))"),
            6 => format!("(({a} & {half}{ty}) << ({b} & {}{ty}))", bits / 2 - 1),
            7 => format!("(-({a} & {part}{ty}))"),
            8 => format!("(!{a} | ({b} & 1{ty}))"),
            _ => format!("(({a} & {part}{ty}) + ({b} & {part}{ty}))"),
        }
    }

    pub fn arithmetic(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => format!("({} as u32)", self.expr(&Ty::I32, depth)),
            1 => {
                let from = *self.random.pick(&Num::ALL);
                let x = self.expr(&Ty::Num(from), depth);
                self.types.observe(&Ty::Num(from), &x)
            }
            _ => {
                let (a, b) = (self.expr(&Ty::U32, depth), self.expr(&Ty::U32, depth));
                self.unsigned("u32", 32, &a, &b)
            }
        }
    }

    pub fn signed_arithmetic(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => format!("({} as i32)", self.expr(&Ty::U32, depth)),
            1 => format!("whole({})", self.expr(&Ty::Num(Num::F64), depth)),
            2 => format!("({} as i32)", self.expr(&Ty::Num(Num::I8), depth)),
            _ => {
                let (a, b) = (self.expr(&Ty::I32, depth), self.expr(&Ty::I32, depth));
                self.signed("i32", 32, &a, &b)
            }
        }
    }

    pub fn comparison(&mut self, depth: usize) -> String {
        let ty = match self.random.below(3) {
            0 => Ty::I32,
            1 => Ty::U32,
            _ => Ty::Num(*self.random.pick(&Num::ALL)),
        };
        match self.random.below(7) {
            0 => format!("({} && {})", self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth)),
            1 => format!("({} || {})", self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth)),
            2 => format!("(!{})", self.expr(&Ty::Bool, depth)),
            n => {
                let operator = ["<", "==", ">=", "!="][n - 3];
                format!("({} {operator} {})", self.expr(&ty, depth), self.expr(&ty, depth))
            }
        }
    }
}
