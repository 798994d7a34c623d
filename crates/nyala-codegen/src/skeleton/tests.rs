//! A back end that prints a listing: what a printer has to add to the skeleton, and what the skeleton decides.

use expect_test::{Expect, expect};
use nyala_ir::World;
use nyala_ir::analysis::{Function, Functions, Mode};
use nyala_ir::{Def, Intrinsic, Node};

use super::Printer;
use super::flow::Flow;
use super::names::Names;
use super::program::{Call, Callee, Program};
use super::values::Values;

struct Listing<'w> {
    flow: Flow<'w>,
    names: Names,
    values: Values<String>,
    text: String,
}

impl<'w> Listing<'w> {
    fn write(program: Program<'w>, function: &'w Function) -> String {
        let mut listing = Listing {
            flow: Flow::new(program, function, Mode::Smart, true),
            names: Names::new('_'),
            values: Values::default(),
            text: String::new(),
        };
        for block in 0..listing.flow.n_blocks() {
            for param in program.value_params(listing.flow.cont(block)) {
                let name = listing.fresh(param);
                listing.values.set_param(param, block, name);
            }
        }
        listing.write_blocks();
        listing.text
    }

    fn fresh(&mut self, def: Def) -> String {
        let name = self.flow.program.world.name(def);
        self.names.unique(name.as_ref().map_or("v", |name| name.as_str()))
    }

    fn name(&self, cont: nyala_ir::Cont) -> &'static str {
        self.flow.program.world.cont(cont).name.as_str()
    }

    fn line(&mut self, line: &str) {
        self.text += &format!("  {line}\n");
    }

    fn shown(&mut self, defs: &[Def]) -> String {
        let values: Vec<String> = defs.iter().map(|&def| self.value(def)).collect();
        values.join(", ")
    }
}

impl<'w> Printer<'w> for Listing<'w> {
    type Value = String;

    fn flow(&self) -> &Flow<'w> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<'w> {
        &mut self.flow
    }

    fn begin_block(&mut self) {
        let cont = self.flow.cont(self.flow.current());
        let params: Vec<Def> = self.flow.program.value_params(cont);
        let params = self.shown(&params);
        self.text += &format!("{}({params}):\n", self.name(cont));
    }

    fn write_operation(&mut self, def: Def) {
        let (op, operands) = match self.flow.program.world.node(def) {
            Node::Arith { op, lhs, rhs, .. } => (op.name(), [lhs, rhs]),
            Node::Cmp { op, lhs, rhs } => (op.name(), [lhs, rhs]),
            _ => return,
        };
        let (operands, name) = (self.shown(&operands), self.fresh(def));
        self.line(&format!("{name} = {op} {operands}"));
        self.values.set(def, self.flow.current(), name);
    }

    fn value(&mut self, def: Def) -> String {
        let literal = self.flow.program.world.as_lit(def).map(|bits| bits.to_string());
        literal.or_else(|| self.values.get(def, &self.flow).cloned()).unwrap_or_else(|| "?".into())
    }

    fn jump(&mut self, block: usize, values: &[String]) {
        let name = self.name(self.flow.cont(block));
        self.line(&format!("jump {name}({})", values.join(", ")));
    }

    fn branch(&mut self, cond: Def, then: Def, other: Def) {
        let cond = self.value(cond);
        self.line(&format!("if {cond}"));
        self.go_to(then);
        self.line("else");
        self.go_to(other);
    }

    fn switch(&mut self, value: Def, default: Def, cases: &[(Def, Def)]) {
        let value = self.value(value);
        for &(literal, target) in cases {
            let literal = self.value(literal);
            self.line(&format!("if {value} == {literal}"));
            self.go_to(target);
        }
        self.go_to(default);
    }

    fn return_values(&mut self, values: &[String]) {
        self.line(&format!("return {}", values.join(", ")));
    }

    fn return_to(&mut self, ret: Def, values: &[String]) {
        let ret = self.value(ret);
        self.line(&format!("return to {ret}({})", values.join(", ")));
    }

    fn unreachable(&mut self) {
        self.line("unreachable");
    }

    fn call(&mut self, callee: Callee<'w>, call: &Call) -> Option<Vec<String>> {
        let callee = match callee {
            Callee::Function(cont) => self.name(cont).to_owned(),
            Callee::Value(value) => self.value(value),
            Callee::External { name, .. } => name.to_owned(),
            Callee::Intrinsic(intrinsic) => Intrinsic::name(intrinsic).to_owned(),
        };
        let results: Vec<String> = call.results.iter().map(|_| self.names.unique("r")).collect();
        let args = self.shown(&call.args);
        self.line(&format!("{} = call {callee}({args})", results.join(", ")));
        Some(results)
    }

    fn reject(&mut self, what: String) {
        self.line(&format!("error: {what}"));
    }
}

fn check(program: &str, expected: Expect) {
    let unindented: String = program
        .lines()
        .map(|line| line.strip_prefix("         ").unwrap_or(line).to_owned() + "\n")
        .collect();
    let world: World = nyala_ir::text::parse(&unindented).expect("the program is well formed");
    nyala_ir::verify(&world).expect("the program keeps the rules");
    let functions = Functions::styled(&world);
    let program = Program { world: &world, functions: &functions };
    let listings: Vec<String> =
        functions.all().iter().map(|function| Listing::write(program, function)).collect();
    expected.assert_eq(&listings.join("\n"));
}

#[test]
fn a_tail_call_of_the_function_by_itself_is_a_jump() {
    check(
        "export sum(mem: mem, n: u64, acc: u64, ret: cn(mem, u64)):
             branch(mem, eq(n, 0), done, more)
         done(mem: mem):
             sum.ret(mem, sum.acc)
         more(mem: mem):
             sum(mem, sub(sum.n, 1), add(sum.acc, sum.n), sum.ret)",
        expect![[r#"
            sum(n, acc):
              v = eq n, 0
              if v
              jump done()
              else
              jump more()
            done():
              return acc
            more():
              v_1 = sub n, 1
              v_2 = add acc, n
              jump sum(v_1, v_2)
        "#]],
    );
}

#[test]
fn a_call_resumes_at_its_return_continuation() {
    check(
        "export f(mem: mem, x: i32, ret: cn(mem, i32)):
             g(mem, x, next)
         next(mem: mem, y: i32):
             g(mem, add(y, f.x), f.ret)
         g(mem: mem, z: i32, ret: cn(mem, i32)):
             ret(mem, mul(z, z))",
        expect![[r#"
            f(x):
              r = call g(x)
              jump next(r)
            next(y):
              v = add y, x
              r_1 = call g(v)
              return r_1

            g(z):
              v = mul z, z
              return v
        "#]],
    );
}

#[test]
fn a_value_of_two_branches_is_computed_in_each() {
    check(
        "export f(mem: mem, a: i32, b: i32, ret: cn(mem, i32)):
             switch(mem, a, other, 0, zero, 1, one)
         zero(mem: mem):
             f.ret(mem, div(f.a, f.b))
         one(mem: mem):
             f.ret(mem, div(f.a, f.b))
         other(mem: mem):
             f.ret(mem, 0)",
        expect![[r#"
            f(a, b):
              if a == 0
              jump zero()
              if a == 1
              jump one()
              jump other()
            other():
              return 0
            zero():
              v = div a, b
              return v
            one():
              v_1 = div a, b
              return v_1
        "#]],
    );
}
