//! Random bodies for `vectorize` on numbers of all types, with every operator.
//!
//! Each lane reads and writes elements of its own, and of neighbours to read. Operations of signed numbers get operands for which they do not overflow.
//! `main` runs the body as a scalar loop and with each number of lanes in turn, and returns a checksum of all results. The
//! program itself, its SIMD form in the interpreter, and native code must agree on it; native code has a
//! random optimization level, and the instructions of a random processor.

use std::fmt::Write as _;

use nyala_driver::{Options, Session};
use nyala_tests::random::Random;

use super::executions::{Executions, processor};
use super::simd::MAX_STEPS;
use super::worker::Case;

/// The types of elements, with their suffixes; bytes are the ones with most rules.
const TYPES: [&str; 13] =
    ["u8", "u8", "i8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"];

/// The numbers of types, of elements and of lanes of a program.
const N_TYPES: usize = 3;
const ELEMENTS: [usize; 5] = [7, 16, 33, 64, 100];
const LANES: [usize; 11] = [2, 3, 4, 5, 7, 8, 16, 24, 32, 64, 100];

/// Runs the program of a case in all ways; returns whether all of it was vectorized.
pub fn run(case: &mut Case) -> Result<bool, String> {
    let mut random = case.random();
    let text = program(&mut random);
    case.begin(&text);
    let mut session = Session::new(Options::default());
    session.add_text("numbers.impala", text.as_str());
    let (mut executions, world) = Executions::begin(case, session, "numbers", MAX_STEPS)?;
    let (vectorized, _) = executions.vectorize(&world);
    executions.interpret_simd(&vectorized)?;
    let program = executions.outline(vectorized)?;
    let (level, processor) = (random.below(4) as u8, processor(random.below(4)));
    executions.run_native(&program, level, processor)?;
    Ok(true)
}

/// A random program.
fn program(random: &mut Random) -> String {
    let mut types = vec![];
    while types.len() < N_TYPES {
        let ty = *random.pick(&TYPES);
        if !types.contains(&ty) {
            types.push(ty);
        }
    }
    let n = *random.pick(&ELEMENTS);
    let mut writer = Writer { random, types, n, text: String::new(), names: vec![], n_names: 0 };
    writer.program();
    writer.text
}

struct Writer<'a> {
    random: &'a mut Random,
    /// The types of the arrays: `a_T` is read, and `o_T` written.
    types: Vec<&'static str>,
    /// The length of the arrays.
    n: usize,
    text: String,
    /// The variables in scope, with their types.
    names: Vec<(String, &'static str)>,
    n_names: usize,
}

fn is_float(ty: &str) -> bool {
    ty.starts_with('f')
}

fn is_signed(ty: &str) -> bool {
    ty.starts_with('i')
}

fn bits(ty: &str) -> u32 {
    ty[1..].parse().unwrap_or(32)
}

impl Writer<'_> {
    fn program(&mut self) {
        for ty in ["f16", "f32", "f64"] {
            self.line(&format!("fn @small_{ty}(x: {ty}) -> {ty} {{ if x > 0{ty} {{ if x < 100{ty} {{ x }} else {{ 100{ty} }} }} else {{ 0{ty} }} }}"));
        }
        let types = self.types.clone();
        let params: Vec<String> =
            types.iter().map(|ty| format!("a_{ty}: &[{ty}], o_{ty}: &mut [{ty}]")).collect();
        self.line("fn @each(lanes: i32, n: i32, body: fn(i32) -> ()) -> () {");
        self.line("if lanes == 0 { for i in range(0, n) { body(i) } } else { for i in vectorize_range(lanes, 0, n) { body(i) } }");
        self.line("}");
        self.line(&format!("fn @kernel(lanes: i32, {}) -> () {{", params.join(", ")));
        self.line(&format!("for i in each(lanes, {}) {{", self.n));
        for _ in 0..2 + self.random.below(4) {
            self.statement(2);
        }
        for ty in &types {
            let value = self.value(ty, 3);
            self.line(&format!("o_{ty}(i) = {value};"));
        }
        self.line("}\n}");
        self.main();
    }

    fn main(&mut self) {
        let (types, n) = (self.types.clone(), self.n);
        self.line("fn main() -> i32 {\nlet mut s = 12345u;\nlet mut h = 7u64;");
        for ty in &types {
            self.line(&format!("let (a_{ty}, o_{ty}) = (~[{n}: {ty}], ~[{n}: {ty}]);"));
        }
        self.line(&format!("for k in range(0, {n}) {{"));
        for ty in &types {
            let number = match *ty {
                _ if is_float(ty) => format!("((s >> 20u) & 255u) as {ty} * 0.25{ty} - 8{ty}"),
                "u64" | "i64" => format!("(s as u64 * 0x100000001u64 ^ (s >> 3u) as u64) as {ty}"),
                _ => format!("(s >> {}u) as {ty}", 8 * self.random.below(3)),
            };
            self.line(&format!("s = s * 1664525u + 1013904223u; a_{ty}(k) = {number};"));
        }
        self.line("}");
        let lanes = [0, *self.random.pick(&LANES), *self.random.pick(&LANES)];
        let args: Vec<String> = types.iter().map(|ty| format!("a_{ty}, o_{ty}")).collect();
        for lanes in lanes {
            self.line(&format!("for k in range(0, {n}) {{"));
            types.iter().for_each(|ty| self.line(&format!("o_{ty}(k) = 0{ty};")));
            self.line(&format!("}}\nkernel({lanes}, {});\nfor k in range(0, {n}) {{", args.join(", ")));
            for ty in &types {
                // NaNs differ in their bits.
                let value = match is_float(ty) {
                    true => format!(
                        "(if o_{ty}(k) != o_{ty}(k) {{ 9u64 }} else {{ bitcast[u{0}](o_{ty}(k)) as u64 }})",
                        bits(ty)
                    ),
                    false => format!("o_{ty}(k) as u64"),
                };
                self.line(&format!("h = h * 31u64 + {value};"));
            }
            self.line("}");
        }
        self.line("((h ^ (h >> 32u64)) & 0x7fffffffu64) as i32\n}");
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("strings take all text");
    }

    /// True with a probability of one in `n`.
    fn chance(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn ty(&mut self) -> &'static str {
        let choices: &[&'static str] = if self.random.below(5) == 0 { &TYPES } else { &self.types };
        choices[self.random.below(choices.len())]
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(if depth > 0 { 6 } else { 3 }) {
            0 | 1 => {
                self.n_names += 1;
                let (name, ty) = (format!("v{}", self.n_names), self.ty());
                let value = self.value(ty, 3);
                self.line(&format!("let mut {name} = {value};"));
                self.names.push((name, ty));
            }
            2 => {
                let ty = *self.random.pick(&self.types.clone());
                let value = self.value(ty, 3);
                self.line(&format!("o_{ty}(i) = {value};"));
            }
            3 if !self.names.is_empty() => {
                let (name, ty) = self.random.pick(&self.names.clone()).clone();
                let value = self.value(ty, 2);
                self.line(&format!("{name} = {value};"));
            }
            3 | 4 => {
                let cond = self.cond(1);
                self.line(&format!("if {cond} {{"));
                self.block(depth);
                if self.chance(2) {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            _ => {
                self.n_names += 1;
                let (name, limit) = (format!("c{}", self.n_names), self.value("u8", 1));
                self.line(&format!(
                    "let mut {name} = ({limit}) & 7u8;\nwhile {name} > 0u8 {{\n{name} -= 1u8;"
                ));
                self.block(depth);
                let cond = self.cond(1);
                let jump = *self.random.pick(&["break()", "continue()"]);
                self.line(&format!("if {cond} {{ {jump} }}\n}}"));
            }
        }
    }

    fn block(&mut self, depth: usize) {
        let n_names = self.names.len();
        for _ in 0..=self.random.below(2) {
            self.statement(depth - 1);
        }
        self.names.truncate(n_names);
    }

    fn cond(&mut self, depth: usize) -> String {
        if depth > 0 && self.chance(3) {
            let (a, b) = (self.cond(depth - 1), self.cond(depth - 1));
            let op = *self.random.pick(&["&&", "||", "&", "|", "^"]);
            return format!("({a} {op} {b})");
        }
        let ty = self.ty();
        let (a, b) = (self.value(ty, depth), self.value(ty, depth));
        let op = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        format!("({a} {op} {b})")
    }

    fn literal(&mut self, ty: &str) -> String {
        if is_float(ty) {
            return format!("{}{ty}", self.random.pick(&["0.5", "1.0", "2.25", "3.0", "0.125"]));
        }
        let bits = bits(ty);
        let largest = if is_signed(ty) { (1u64 << (bits - 1)) - 1 } else { u64::MAX >> (64 - bits) };
        let some = self.random.below(1 << (bits.min(16) - 1)) as u64;
        let number = *self.random.pick(&[0, 1, 2, 3, 7, some, largest]);
        if is_signed(ty) && self.chance(3) { format!("(-{number}{ty})") } else { format!("{number}{ty}") }
    }

    /// A value of an array, of a variable or of a literal.
    fn leaf(&mut self, ty: &'static str) -> String {
        let last = self.n - 1;
        let place =
            self.random.pick(&["i", "i", "i", "(LAST - i)", "(i / 2)", "(i % 4)", "(i * 3 % (LAST + 1))"]);
        let place = place.replace("LAST", &last.to_string());
        let names: Vec<String> =
            self.names.iter().filter(|(_, of)| *of == ty).map(|(name, _)| name.clone()).collect();
        match self.random.below(6) {
            0 | 1 if !names.is_empty() => self.random.pick(&names).clone(),
            0..=3 if self.types.contains(&ty) => format!("a_{ty}({place})"),
            0..=4 => {
                let from = *self.random.pick(&self.types.clone());
                converted(&format!("a_{from}({place})"), from, ty)
            }
            _ => self.literal(ty),
        }
    }

    fn value(&mut self, ty: &'static str, depth: usize) -> String {
        if depth == 0 || self.chance(8) {
            return self.leaf(ty);
        }
        match self.random.below(10) {
            0 => {
                let (cond, a, b) =
                    (self.cond(depth - 1), self.value(ty, depth - 1), self.value(ty, depth - 1));
                format!("(if {cond} {{ {a} }} else {{ {b} }})")
            }
            1 => {
                let from = *self.random.pick(&TYPES);
                converted(&self.value(from, depth - 1), from, ty)
            }
            2 | 3 if !is_float(ty) => self.wider(ty, depth),
            _ if is_float(ty) => {
                let (a, b) = (self.value(ty, depth - 1), self.value(ty, depth - 1));
                match *self.random.pick(&["+", "-", "*", "/"]) {
                    // Native code may round a product and the sum that it is used in once, so no sum has products.
                    "*" => format!("small_{ty}({a} * {b})"),
                    op => format!("({a} {op} {b})"),
                }
            }
            _ => self.integer(ty, depth),
        }
    }

    fn integer(&mut self, ty: &'static str, depth: usize) -> String {
        let (a, b, last) = (self.value(ty, depth - 1), self.value(ty, depth - 1), bits(ty) - 1);
        let small = |value: &str, mask: u32| match is_signed(ty) {
            true => format!("(({value}) & {mask}{ty})"),
            false => value.to_owned(),
        };
        let constant = *self.random.pick(&[1, 2, 3, 5, 7, 10, 16, 100, 127]);
        match self.random.below(14) {
            0..=2 => {
                let op = *self.random.pick(&["+", "-", "*"]);
                format!("({} {op} {})", small(&a, 7), small(&b, 7))
            }
            3 => format!("({a} / (({b} & 7{ty}) + 1{ty}))"),
            4 => format!("({a} % (({b} & 7{ty}) + 1{ty}))"),
            5 => format!("({a} / {constant}{ty})"),
            6 => format!("({a} % {constant}{ty})"),
            7 | 8 => format!("({a} {} {b})", self.random.pick(&["&", "|", "^"])),
            9 => format!("({} << ({b} & {}{ty}))", small(&a, 7), if is_signed(ty) { 3 } else { last }),
            10 => format!("({a} >> ({b} & {last}{ty}))"),
            11 => format!("({a} >> {}{ty})", self.random.below(bits(ty) as usize)),
            12 => format!("saturating_{}({a}, {b})", self.random.pick(&["add", "sub"])),
            _ => {
                let op = *self.random.pick(&["<", ">"]);
                format!("{{ let (p, q) = ({a}, {b}); if p {op} q {{ p }} else {{ q }} }}")
            }
        }
    }

    /// Narrow numbers that are computed with a wide type, as pixels are.
    fn wider(&mut self, ty: &'static str, depth: usize) -> String {
        let (from, wide) =
            (*self.random.pick(&["u8", "i8", "u16", "i16"]), *self.random.pick(&["i32", "u32", "i64"]));
        let mut sum = format!("{}{wide}", self.random.pick(&[0, 1, 128, 255]));
        for _ in 0..=self.random.below(3) {
            let (value, factor) =
                (self.value(from, depth - 1), *self.random.pick(&[1, 2, 3, 29, 77, 150, 255, 300]));
            let op = *self.random.pick(&["+", "+", "-"]);
            sum = format!("{sum} {op} (({value}) as {wide}) * {factor}{wide}");
        }
        for _ in 0..self.random.below(3) {
            sum = match self.random.below(5) {
                0 => format!("(({sum}) >> {}{wide})", self.random.pick(&[1, 4, 7, 8, 16])),
                1 => format!("(({sum}) / {}{wide})", self.random.pick(&[2, 3, 100, 255])),
                2 => format!("(({sum}) % {}{wide})", self.random.pick(&[3, 16, 255])),
                3 => format!("(({sum}) & {}{wide})", self.random.pick(&[15, 255, 4095])),
                _ => {
                    let (op, bound) = *self.random.pick(&[(">", 255), ("<", 0), (">", 127), ("<", 16)]);
                    format!("{{ let z = {sum}; if z {op} {bound}{wide} {{ {bound}{wide} }} else {{ z }} }}")
                }
            };
        }
        converted(&format!("({sum})"), wide, ty)
    }
}

/// A conversion for which the number is in range.
fn converted(value: &str, from: &str, to: &str) -> String {
    match (is_float(from), to) {
        _ if from == to => value.to_owned(),
        (true, _) if !is_float(to) => format!("(small_{from}({value}) as {to})"),
        (false, "f16") => format!("((({value}) & 63{from}) as f16)"),
        _ => format!("(({value}) as {to})"),
    }
}
