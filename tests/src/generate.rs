//! Random programs that are well-typed and terminate.
//!
//! A program is `main` and some functions that call each other, with a small library
//! around them: loops as generators, a counter object, an error handler, generic functions, and a hash
//! of all noted values. The result of a program is its exit status, which
//! is that hash: it depends on the order of effects and on all values.
//!
//! Read on in `exprs`, `numbers` and `stmts`; `types` has the types of values, `lanes` the code for SIMD lanes
//! and threads, and `kernels` the code for devices.
//!
//! # Why they terminate without an error
//!
//! * A function calls others with one unit of `fuel` less than it got, and
//!   loops have small bounds. A program may still be long, so runs need a limit.
//! * Closures capture only earlier definitions, and mutable variables contain no
//!   functions.
//! * Lanes and threads change their own memory, and memory that only atomic operations change. They call pure
//!   functions only: those that change only their own variables.
//! * Floats are compared and noted, but converted to integers only if they fit.
//! * Signed numbers are masked before arithmetic, divisors and counts of shifts too;
//!   indices are masked with the length of arrays, a power of two.

mod exprs;
mod kernels;
mod lanes;
mod numbers;
mod stmts;
mod types;

use std::fmt::Write as _;

use crate::random::Random;
pub use kernels::kernel_program;
use types::{Ty, Types};

/// The library of every program.
const LIBRARY: &str = include_str!("generate/library.impala");

/// The maximum number of functions.
const MAX_FUNCTIONS: usize = 4;

/// The maximum number of pure functions.
const MAX_PURE: usize = 2;

/// The approximate number of expressions of a function.
const FUNCTION_SIZE: usize = 24;

/// A random program.
pub fn program(random: &mut Random) -> String {
    let types = Types::new(random);
    let n_functions = 1 + random.below(MAX_FUNCTIONS);
    let n_pure = random.below(MAX_PURE + 1);
    let functions =
        (0..n_functions).map(|number| Function::new(random, &types, number, number < n_pure)).collect();
    let mut generator = Generator::new(random, &types, functions);
    let mut text = LIBRARY.to_owned();
    text += &types.declarations();
    for number in 0..n_functions {
        text += &generator.function(number);
    }
    text + &generator.main()
}

/// A function's name and type, without the first parameter, which is its fuel.
struct Function {
    name: String,
    params: Vec<Ty>,
    ret: Ty,
    /// Whether it changes only its own variables.
    is_pure: bool,
}

impl Function {
    fn new(random: &mut Random, types: &Types, number: usize, is_pure: bool) -> Function {
        let n_params = 1 + random.below(4);
        // A function argument might not be pure.
        let any = |random: &mut Random| match types.any(random) {
            ty if is_pure && !types.is_data(&ty) => Ty::U32,
            ty => ty,
        };
        let params = (0..n_params).map(|_| any(random)).collect();
        let ret = if random.below(3) == 0 { any(random) } else { Ty::U32 };
        Function { name: format!("f{number}"), params, ret, is_pure }
    }
}

/// A variable in scope.
struct Var {
    name: String,
    ty: Ty,
    is_mut: bool,
}

/// A continuation in scope, by which a statement may leave an enclosing construct.
struct Exit {
    name: String,
    takes: Option<Ty>,
}

/// The kind of code that is generated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Sequential,
    Threads,
    Lanes,
    /// A device, which has neither closures nor recursion.
    Kernel,
}

/// Writes one program.
struct Generator<'a> {
    random: &'a mut Random,
    types: &'a Types,
    functions: Vec<Function>,
    vars: Vec<Var>,
    exits: Vec<Exit>,
    /// The fuel for calls of functions of the program, if they are allowed.
    fuel: Option<&'static str>,
    /// The variable for notes, where the code must not change the hash of the program.
    sink: Option<String>,
    region: Region,
    /// The number of expressions that are left for the current function.
    left: usize,
    n_names: usize,
    indent: usize,
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, types: &'a Types, functions: Vec<Function>) -> Generator<'a> {
        Generator {
            random,
            types,
            functions,
            vars: vec![],
            exits: vec![],
            fuel: None,
            sink: None,
            region: Region::Sequential,
            left: 0,
            n_names: 0,
            indent: 0,
        }
    }

    fn function(&mut self, number: usize) -> String {
        let Function { name, params, ret, is_pure } = &self.functions[number];
        let (name, params, ret, is_pure) = (name.clone(), params.clone(), ret.clone(), *is_pure);
        self.left = FUNCTION_SIZE;
        let mut head = format!("fn {name}(fuel: i32");
        for ty in params {
            let param = self.define(ty.clone(), false);
            write!(head, ", {param}: {}", self.types.show(&ty)).expect("strings take all text");
        }
        let mut start = "";
        if is_pure {
            // Lanes and threads may call it.
            (self.sink, self.region) = (Some("own".into()), Region::Lanes);
            start = "    let mut own = 7u;\n";
            self.vars.push(Var { name: "own".into(), ty: Ty::U32, is_mut: false });
        } else {
            self.vars.push(Var { name: "last".into(), ty: Ty::U32, is_mut: true });
        }
        self.exits.push(Exit { name: "return".into(), takes: Some(ret.clone()) });
        let base = self.in_scope(|g| g.expr(&ret, 2));
        self.fuel = Some("fuel - 1");
        let body = self.indented(|g| g.block(&ret, 4));
        (self.fuel, self.sink, self.region) = (None, None, Region::Sequential);
        self.vars.clear();
        self.exits.clear();
        format!(
            "{head}) -> {} {{\n{start}    if fuel <= 0 {{ {base} }} else {body}\n}}\n",
            self.types.show(&ret)
        )
    }

    /// Only `argc` is unknown at compile time.
    fn main(&mut self) -> String {
        self.left = FUNCTION_SIZE;
        self.vars.push(Var { name: "argc".into(), ty: Ty::I32, is_mut: false });
        self.vars.push(Var { name: "arg".into(), ty: Ty::U32, is_mut: false });
        let mut body = "    let arg = argc as u32 + 4u;\n".to_owned();
        self.indent = 1;
        body += &self.unknown_numbers("argc");
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

    /// Adds a variable to the scope; returns its name.
    fn define(&mut self, ty: Ty, is_mut: bool) -> String {
        let name = self.fresh("v");
        self.vars.push(Var { name: name.clone(), ty, is_mut });
        name
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("{prefix}{}", self.n_names)
    }

    /// Removes the definitions of `write` from the scope afterwards.
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

    /// True with a probability of one in `n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_driver::{Options, Prelude, Report, Session, pipeline};

    #[test]
    fn case_is_reproducible() {
        let program = |case| program(&mut Random::new(5, case));
        assert_eq!(program(3), program(3));
        assert_ne!(program(3), program(4));
    }

    #[test]
    fn all_features_occur() {
        let texts: Vec<String> = (0..100).map(|case| program(&mut Random::new(1, case))).collect();
        let own = texts.iter().map(|text| &text[LIBRARY.len()..]);
        let own: Vec<&str> = own.collect();
        for feature in
            ["vectorize(", "vectorize_range(", "parallel(", "atomic[", "Ways {", "= break;", "f64", "i8"]
        {
            assert!(own.iter().any(|text| text.contains(feature)), "no program has `{feature}`");
        }
    }

    #[test]
    fn programs_are_well_typed() {
        for case in 0..200 {
            let mut session = Session::new(Options { prelude: Prelude::Absent, ..Options::default() });
            let generate = if case % 8 == 0 { kernel_program } else { program };
            let text = generate(&mut Random::new(1, case));
            session.add_text("random.impala", text.as_str());
            let world = pipeline::emit(&mut session);
            let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
            assert!(world.is_some(), "case {case}\n{report}\n{text}");
        }
    }
}
