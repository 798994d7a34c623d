//! Generates functions on vectors, and the same functions on scalars.
//!
//! Both have one body, in which `V` is the type of a value: a vector, or one number; `$Pair` is the type of a
//! struct of them, or of the vector of structs. A vectorial program computes in each lane what the scalar one
//! computes alone. The program returns the number of lanes in which it does not.

use std::fmt::Write as _;

use nyala_driver::native::{self, NativeOptions};
use nyala_driver::{Prelude, pipeline};

use crate::equivalence::{Agreed, Subject};
use crate::random::Random;

/// The functions of one program.
const FUNCTIONS: usize = 4;

/// The sets of arguments for each of them.
const ROUNDS: usize = 2;

/// The numbers of lanes.
const LANES: [usize; 4] = [2, 3, 4, 8];

/// What functions use.
const DECLARATIONS: &str = "struct Pair { a: i32, b: i32 }
enum Shape { One(i32), Two(i32, i32), Empty }
fn bump_s(p: &mut i32, by: i32) -> () { *p = *p + by & 255; }
fn bump_v[n: i32](p: &mut simd[i32 * n], by: simd[i32 * n]) -> () { *p = *p + by & 255; }
";

/// A variable or function of a body beside those that all bodies have.
struct Feature {
    /// How it is declared.
    declaration: &'static str,
    /// Statements that use it; `#` is a value.
    statements: &'static [&'static str],
    /// Values of it.
    values: &'static [&'static str],
}

const FEATURES: &[Feature] = &[
    Feature {
        declaration: "let mut pair: $Pair = Pair { a: a, b: b };",
        statements: &["pair.a = #;", "pair = Pair { a: #, b: pair.a };", "pair = Pair { a: 1, b: 2 };"],
        values: &["(pair.a & 63)", "(pair.b & 63)"],
    },
    Feature {
        declaration: "let mut shape: $Shape = Shape::One(a);",
        statements: &["shape = Shape::Two(#, #);", "shape = Shape::Empty;", "shape = Shape::One(#);"],
        values: &[
            "(match shape { Shape::One(u) => u & 63, Shape::Two(u, w) => u - w & 63, Shape::Empty => 5 })",
        ],
    },
    Feature {
        declaration: "let mut array: [V * 5] = [a, b, a - b, 7, 0];",
        statements: &["array(c & 3) = #;", "array(x & 3) = #;"],
        values: &["(array(c & 3) & 63)", "(array(k & 3) & 63)"],
    },
    Feature {
        declaration: "let mut cell: V = a;",
        statements: &["bump(&mut cell, #);", "cell = #;"],
        values: &["(cell & 63)"],
    },
    Feature {
        declaration: "let twist = |u: V| (3 * u - x) & 127;",
        statements: &["y = twist(#);"],
        values: &["twist(k)"],
    },
    Feature {
        declaration: "let mut count: V = 0; let more = |u: V| { count = count + u & 127; };",
        statements: &["more(#);", "k = count;"],
        values: &["(count & 63)"],
    },
    Feature {
        declaration: "fn inner(u: V) -> V { if u > 9 { return(u - 9) } u + 1 }",
        statements: &["y = inner(#);"],
        values: &["inner(x & 31)"],
    },
];

/// A program whose result is 0.
pub fn program(random: &mut Random) -> String {
    let (mut text, mut main) = (DECLARATIONS.to_owned(), String::new());
    for number in 0..FUNCTIONS {
        let lanes = *random.pick(&LANES);
        let body = Body::new(random, number).text;
        // Functions call those before them.
        for (suffix, ty) in [("v", format!("simd[i32 * {lanes}]")), ("s", "i32".into())] {
            let body = body.replace("V", &ty).replace("callee", &format!("f0_{suffix}"));
            let body = body.replace("bump", &format!("bump_{suffix}"));
            let of_lanes = |elem: &str| match suffix {
                "v" => format!("simd[{elem} * {lanes}]"),
                _ => elem.to_owned(),
            };
            let body = [("$Pair", "Pair"), ("$Shape", "Shape")]
                .iter()
                .fold(body, |body, (name, elem)| body.replace(name, &of_lanes(elem)));
            let generic = match suffix {
                "v" => body.replace(&format!("* {lanes}]"), "* n]"),
                _ => body,
            };
            let (head, ty) = if suffix == "v" { ("[n: i32]", "simd[i32 * n]") } else { ("", "i32") };
            let _ = writeln!(
                text,
                "fn f{number}_{suffix}{head}(a: {ty}, b: {ty}, c: i32, p: &mut [i32]) -> {ty} {generic}"
            );
        }
        for _ in 0..ROUNDS {
            let mut list = || {
                let numbers: Vec<String> = (0..lanes).map(|_| random.below(12).to_string()).collect();
                numbers.join(", ")
            };
            let (a, b) = (list(), list());
            let c = random.below(6);
            let _ = writeln!(
                main,
                "    {{
        let (a, b) = (simd[{a}], simd[{b}]);
        let mut cells: [i32 * 16];
        let mut other: [i32 * 16];
        let mut i = 0;
        while i < 16 {{ cells(i) = 3 * i; other(i) = 3 * i; ++i; }}
        let v = f{number}_v(a, b, {c}, &mut cells);
        i = 0;
        while i < {lanes} {{
            if v(i) != f{number}_s(a(i), b(i), {c}, &mut other) {{ ++wrong; }}
            ++i;
        }}
    }}"
            );
        }
    }
    format!("{text}\nfn main() -> i32 {{\n    let mut wrong = 0;\n{main}    wrong\n}}\n")
}

/// Checks that a program has the result 0 in the interpreter: as it is emitted, evaluated, and with the code of all
/// lanes.
pub fn check(text: &str) -> Result<Agreed, String> {
    let subject = Subject::new(text, Prelude::Absent).ok_or("it fails")?;
    if subject.reference.status != 0 {
        return Err(format!("{} lanes differ from the scalar program", subject.reference.status));
    }
    subject.check(text)?.ok_or("it has errors once it is evaluated".into())
}

/// Checks that the native code of a program has the result 0.
pub fn check_native(Agreed { world, mut session }: Agreed) -> Result<(), String> {
    let outlined = pipeline::outline(&mut session, world).ok_or("its kernels are not compiled")?;
    match native::run(&mut session, &outlined, &NativeOptions::default(), &["program".to_owned()]) {
        Some(0) => Ok(()),
        Some(wrong) => Err(format!("native code: {wrong} lanes differ from the scalar program")),
        None => Err("native code: it is not compiled".into()),
    }
}

/// The body of a function.
struct Body<'a> {
    random: &'a mut Random,
    /// The number of the function.
    number: usize,
    text: String,
    depth: usize,
    loops: usize,
    variables: usize,
    features: Vec<&'static Feature>,
}

impl<'a> Body<'a> {
    fn new(random: &'a mut Random, number: usize) -> Body<'a> {
        let text = String::from(
            "{\n    let (mut x, mut y, mut k): (V, V, V) = (a, b, a - b);\n    let mut fuel: V = 6;\n",
        );
        let features = FEATURES.iter().filter(|_| random.below(4) == 0).collect();
        let mut body = Body { random, number, text, depth: 1, loops: 0, variables: 0, features };
        for feature in body.features.clone() {
            body.line(feature.declaration);
        }
        for _ in 0..3 {
            body.statement();
        }
        let result = body.value(2);
        let _ = write!(body.text, "    x + {result}\n}}");
        body
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.depth));
    }

    fn block(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        for _ in 0..=self.random.below(2) {
            self.statement();
        }
        self.depth -= 1;
        self.line("}");
    }

    fn statement(&mut self) {
        let kind = if self.depth > 4 { self.random.below(3) } else { self.random.below(13) };
        match kind {
            10.. if !self.features.is_empty() => {
                let feature = *self.random.pick(&self.features);
                let mut statement = (*self.random.pick(feature.statements)).to_owned();
                while statement.contains('#') {
                    statement = statement.replacen('#', &self.value(1), 1);
                }
                self.line(&statement);
            }
            0..=2 => {
                let target = *self.random.pick(&["x", "y", "k"]);
                let op = *self.random.pick(&["=", "+=", "-="]);
                let value = self.value(2);
                self.line(&format!("{target} {op} {value};"));
            }
            3 | 4 => {
                let cond = self.cond(1);
                self.block(&format!("if {cond}"));
            }
            5 => {
                let (cond, then, other) = (self.cond(1), self.value(1), self.value(1));
                self.line(&format!("y = if {cond} {{ {then} }} else {{ {other} }};"));
            }
            6 => self.repeat(),
            7 => {
                let value = self.value(1);
                self.line(&format!("match ({value}) & 3 {{"));
                self.depth += 1;
                for arm in ["0 =>", "2 =>", "m =>"] {
                    let (target, value) = (*self.random.pick(&["x", "k"]), self.value(1));
                    let own = if arm.starts_with('m') { " + m" } else { "" };
                    self.line(&format!("{arm} {{ {target} = {value}{own}; }}"));
                }
                self.depth -= 1;
                self.line("}");
            }
            8 => {
                let (cond, value) = (self.cond(0), self.value(1));
                // A loop ends by itself, so that each lane takes its own number of rounds.
                let jump = match (self.loops, self.random.below(3)) {
                    (0, _) | (_, 0) => format!("return({value})"),
                    (_, 1) => "break()".into(),
                    _ => "continue()".into(),
                };
                self.line(&format!("if {cond} {{ {jump} }}"));
            }
            _ => {
                self.variables += 1;
                let (name, value) = (format!("v{}", self.variables), self.value(2));
                let kept = self.value(1);
                self.line(&format!("let {name} = {value} + {kept};"));
                self.line(&format!("k = {name} - k;"));
            }
        }
    }

    /// A loop of at most as many rounds as there is fuel.
    fn repeat(&mut self) {
        let cond = self.cond(0);
        self.line(&format!("while fuel > 0 && {cond} {{"));
        self.depth += 1;
        self.loops += 1;
        self.line("fuel -= 1;");
        for _ in 0..=self.random.below(2) {
            self.statement();
        }
        self.loops -= 1;
        self.depth -= 1;
        self.line("}");
    }

    fn cond(&mut self, depth: usize) -> String {
        let (a, b) = (self.value(1), self.value(0));
        let op = *self.random.pick(&["<", ">", "==", "!=", "<=", ">="]);
        let compare = format!("{a} {op} {b}");
        match self.random.below(4) {
            0 if depth > 0 => {
                let other = self.cond(depth - 1);
                let op = *self.random.pick(&["&&", "||"]);
                format!("({compare}) {op} ({other})")
            }
            _ => compare,
        }
    }

    /// A vector; numbers stay small.
    fn value(&mut self, depth: usize) -> String {
        if depth == 0 && !self.features.is_empty() && self.random.below(3) == 0 {
            let feature = *self.random.pick(&self.features);
            return (*self.random.pick(feature.values)).into();
        }
        if depth == 0 {
            return (*self.random.pick(&["x", "y", "k", "a", "b"])).into();
        }
        let (a, b) = (self.value(depth - 1), self.value(depth - 1));
        match self.random.below(8) {
            0 => format!("(({a} + {b}) & 255)"),
            1 => format!("({a} - c & 127)"),
            2 => format!("(3 * {a} & 63)"),
            3 => format!("(({a} & 15) * ({b} & 7))"),
            4 => format!("(({a} & 31) / (1 + ({b} & 3)))"),
            5 => format!("p({a} & 15)"),
            6 if self.number > 0 => format!("(callee({a} & 15, {b} & 15, c, p) & 255)"),
            _ => format!("({a} & 63)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential;

    /// A bounded part of `cargo xtask fuzz vectors`.
    #[test]
    fn vectorial_program_equals_its_lanes_run_one_by_one() {
        for case in 0..120 {
            let text = program(&mut Random::new(2017, case));
            if let Err(what) = check(&text) {
                panic!("case {case}: {what}\n{text}");
            }
        }
    }

    #[test]
    fn native_code_of_vectorial_programs_agrees() {
        for case in 0..3 {
            let mut random = Random::new(2014, case);
            let text = program(&mut random);
            let agrees = differential::compare(&text, &mut random, &mut |_| ());
            assert_eq!(agrees, Ok(true), "case {case}\n{text}");
        }
    }
}
