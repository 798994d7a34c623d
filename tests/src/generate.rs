//! Random programs that are well-typed and end.
//!
//! A program is `main` and some functions that call each other, with a little library
//! around them: loops as generators, a counter object, an error handler, a hash
//! of all that was noted on the way. What a program does is its exit status, which
//! is that hash: it tells the order of effects and all values.
//!
//! Read on in `exprs` and `stmts`; `types` says what values there are.
//!
//! # Why they end, without a mistake
//!
//! * A function calls others only with one unit of `fuel` less than it got, and
//!   loops have small bounds. Together that may still be long, so runs need a limit.
//! * Closures mention what was defined before them, and no variable holds a function and
//!   changes.
//! * Signed numbers are masked before arithmetic, divisors and counts of shifts too;
//!   indices are masked with the length of arrays, a power of two.

mod exprs;
mod stmts;
mod types;

use std::fmt::Write as _;

use crate::random::Random;
use types::{Ty, Types};

/// What every program has besides its own functions.
const LIBRARY: &str = "\
static mut hash: u32 = 7u;
static table: [u32 * 8] = [3u, 1u, 4u, 1u, 5u, 9u, 2u, 6u];
static steps: [i32 * 4] = [2, 1, 3, 1];
struct Counter { next: fn() -> u32, add: fn(u32) -> () }
fn note(x: u32) -> () { hash = hash * 31u + x; }
fn noted(x: u32) -> u32 { note(x); x }
fn make_counter(start: u32) -> Counter {
    let mut n = start;
    Counter { next: || { n += 1u; n }, add: |d| { n += d; } }
}
fn count(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); count(a + 1, b, body) } }
fn count_down(a: i32, b: i32, body: fn(i32) -> ()) -> () {
    let mut i = b;
    while i > a { --i; body(i) }
}
fn stride(a: i32, b: i32, step: i32, body: fn(i32) -> ()) -> () {
    if a < b { body(a); stride(a + step, b, step, body) }
}
fn skip(a: i32, b: i32, body: fn(i32) -> ()) -> () {
    if a < b { body(a); skip(a + steps(a & 3), b, body) }
}
fn fold(a: i32, b: i32, acc: u32, body: fn(i32, u32) -> u32) -> u32 {
    if a < b { fold(a + 1, b, body(a, acc), body) } else { acc }
}
fn gather(a: i32, b: i32, body: fn(i32) -> u32) -> u32 {
    if a < b { let first = body(a); gather(a + 1, b, body) * 3u + first } else { 1u }
}
fn pow(x: u32, n: i32) -> u32 {
    if n <= 0 { 1u } else { if n % 2 == 0 { let y = pow(x, n / 2); y * y } else { x * pow(x, n - 1) } }
}
fn even(n: i32) -> bool { if n <= 0 { true } else { odd(n - 1) } }
fn odd(n: i32) -> bool { if n <= 0 { false } else { even(n - 1) } }
fn twice(f: fn(u32) -> u32) -> fn(u32) -> u32 { |x| f(f(x)) }
fn bump(p: &mut u32, d: u32) -> u32 { *p += d; *p }
fn check(x: u32, limit: u32, bad: fn(u32) -> !) -> u32 { if x > limit { bad(x) } x + 1u }
fn run(code: &[u8], pc: i32, acc: u32, x: u32) -> u32 {
    match code(pc) {
        'a' => run(code, pc + 1, acc + x, x),
        'm' => run(code, pc + 1, acc * 3u, x),
        'x' => run(code, pc + 1, acc ^ x, x),
        's' => if acc > 9u { run(code, pc + 2, acc, x) } else { run(code, pc + 1, acc, x) },
        _ => acc
    }
}
";

/// How many functions a program has at most.
const MAX_FUNCTIONS: usize = 5;

/// About how many expressions a function has.
const FUNCTION_SIZE: usize = 40;

/// A random program.
pub fn program(random: &mut Random) -> String {
    let types = Types::new(random);
    let n_functions = 1 + random.below(MAX_FUNCTIONS);
    let functions = (0..n_functions).map(|number| Function::new(random, &types, number)).collect();
    let mut generator = Generator {
        random,
        types: &types,
        functions,
        vars: vec![],
        exits: vec![],
        has_fuel: true,
        left: 0,
        n_names: 0,
        indent: 0,
    };
    let mut text = LIBRARY.to_owned();
    text += &types.declarations();
    for number in 0..n_functions {
        text += &generator.function(number);
    }
    text + &generator.main()
}

/// A function's name and type. Its first parameter, not among these, is its fuel.
struct Function {
    name: String,
    params: Vec<Ty>,
    ret: Ty,
}

impl Function {
    fn new(random: &mut Random, types: &Types, number: usize) -> Function {
        let n_params = 1 + random.below(4);
        let params = (0..n_params).map(|_| types.any(random)).collect();
        let ret = if random.below(3) == 0 { types.any(random) } else { Ty::U32 };
        Function { name: format!("f{number}"), params, ret }
    }
}

/// A variable in scope.
struct Var {
    name: String,
    ty: Ty,
    is_mut: bool,
}

/// A continuation in scope, by which a statement may leave what is around it.
struct Exit {
    name: String,
    takes: Option<Ty>,
}

/// Writes one program.
struct Generator<'a> {
    random: &'a mut Random,
    types: &'a Types,
    functions: Vec<Function>,
    vars: Vec<Var>,
    exits: Vec<Exit>,
    /// Whether `fuel` may be spent here.
    has_fuel: bool,
    /// How many more expressions the function at hand should have.
    left: usize,
    n_names: usize,
    indent: usize,
}

impl Generator<'_> {
    fn function(&mut self, number: usize) -> String {
        let Function { name, params, ret } = &self.functions[number];
        let (name, params, ret) = (name.clone(), params.clone(), ret.clone());
        self.left = FUNCTION_SIZE;
        let mut head = format!("fn {name}(fuel: i32");
        for ty in params {
            let param = self.define(ty.clone(), false);
            write!(head, ", {param}: {}", self.types.show(&ty)).expect("strings take all text");
        }
        self.exits.push(Exit { name: "return".into(), takes: Some(ret.clone()) });
        self.has_fuel = false;
        let base = self.in_scope(|g| g.expr(&ret, 2));
        self.has_fuel = true;
        let body = self.indented(|g| g.block(&ret, 4));
        self.vars.clear();
        self.exits.clear();
        format!("{head}) -> {} {{\n    if fuel <= 0 {{ {base} }} else {body}\n}}\n", self.types.show(&ret))
    }

    /// `argc` is all that is unknown at compile time.
    fn main(&mut self) -> String {
        self.left = FUNCTION_SIZE;
        self.has_fuel = false;
        self.vars.push(Var { name: "argc".into(), ty: Ty::I32, is_mut: false });
        self.vars.push(Var { name: "arg".into(), ty: Ty::U32, is_mut: false });
        let mut body = "    let arg = argc as u32 + 4u;\n".to_owned();
        self.indent = 1;
        for number in 0..self.functions.len() {
            for _ in 0..1 + self.random.below(2) {
                let fuel = if self.random.below(3) == 0 { "argc + 1" } else { "2" };
                let ret = self.functions[number].ret.clone();
                let call = self.call_function(number, fuel, 2);
                let result = self.define(ret.clone(), false);
                let observed = self.types.observe(&ret, &result);
                writeln!(body, "    let {result} = {call};\n    note({observed});").expect("as above");
            }
        }
        body += &self.statements(2);
        format!("fn main(argc: i32) -> i32 {{\n{body}    hash as i32\n}}\n")
    }

    /// A call of a function of the program.
    fn call_function(&mut self, number: usize, fuel: &str, depth: usize) -> String {
        let Function { name, params, .. } = &self.functions[number];
        let (name, params) = (name.clone(), params.clone());
        let args: Vec<String> = params.iter().map(|ty| self.expr(ty, depth)).collect();
        format!("{name}({fuel}, {})", args.join(", "))
    }

    /// A new variable in scope; its name.
    fn define(&mut self, ty: Ty, is_mut: bool) -> String {
        let name = self.fresh("v");
        self.vars.push(Var { name: name.clone(), ty, is_mut });
        name
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    /// What is defined within `write` is forgotten behind it.
    fn in_scope<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let (n_vars, n_exits) = (self.vars.len(), self.exits.len());
        let result = write(self);
        self.vars.truncate(n_vars);
        self.exits.truncate(n_exits);
        result
    }

    fn indented<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        self.indent += 1;
        let result = write(self);
        self.indent -= 1;
        result
    }

    fn line_start(&self) -> String {
        "    ".repeat(self.indent)
    }

    /// Whether something with this chance happens.
    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_driver::{Options, Prelude, Report, Session, pipeline};

    #[test]
    fn programs_are_well_typed() {
        for case in 0..200 {
            let mut session = Session::new(Options { prelude: Prelude::Absent, ..Options::default() });
            let text = program(&mut Random::new(1, case));
            session.add_text("random.impala", text.as_str());
            let world = pipeline::emit(&mut session);
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            assert!(world.is_some(), "case {case}\n{report}\n{text}");
        }
    }
}
