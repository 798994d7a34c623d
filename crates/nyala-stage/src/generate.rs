//! Random DeepCPS programs without effects, for tests and fuzzing.
//!
//! A program is generated with or without its staging annotations from the same random numbers. It is a function of one
//! number: [`main`](Ending) is called by the program itself, or is its result.

use std::fmt::Write as _;

/// How a program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// `main` is called with this number.
    Call(i32),
    /// The result is `main` itself.
    Function,
}

/// A program. `random` gives a number below its argument; without annotations, the program is evaluated from top to
/// bottom.
pub fn program(random: &mut dyn FnMut(u64) -> u64, with_annotations: bool, ending: Ending) -> String {
    let mut generator =
        Generator { random, with_annotations, text: String::new(), n_names: 0, functions: vec![] };
    let n_functions = 1 + generator.below(3);
    for _ in 0..n_functions {
        match generator.below(3) {
            0 => generator.recursive_function(),
            1 if !generator.functions.is_empty() => generator.specialization(),
            _ => generator.function(),
        }
    }
    generator.main();
    generator.text += &match ending {
        Ending::Call(n) => format!("@run: main {n} (int r)\nexit r\n"),
        Ending::Function => "@run: exit main\n".into(),
    };
    generator.text
}

struct Generator<'a> {
    random: &'a mut dyn FnMut(u64) -> u64,
    with_annotations: bool,
    text: String,
    n_names: u32,
    /// The functions of two numbers and a continuation.
    functions: Vec<String>,
}

/// The names that a block can use.
#[derive(Clone, Default)]
struct Scope {
    numbers: Vec<String>,
    stages: Vec<String>,
}

impl Generator<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        (self.random)(bound)
    }

    fn fresh(&mut self, base: &str) -> String {
        self.n_names += 1;
        format!("{base}{}", self.n_names)
    }

    fn pick(&mut self, names: &[String]) -> String {
        let at = self.below(names.len() as u64) as usize;
        names[at].clone()
    }

    /// A parameter or a constant.
    fn number(&mut self, scope: &Scope) -> String {
        if self.below(3) == 0 { self.below(10).to_string() } else { self.pick(&scope.numbers) }
    }

    fn function(&mut self) {
        let (name, stage) = (self.fresh("f"), self.fresh("s"));
        let annotation = self.annotation(&Scope::default(), &[]);
        let _ = writeln!(self.text, "{annotation}let {name} (int a, int b, fn[int] cont)[{stage}] {{");
        let scope = Scope { numbers: vec!["a".into(), "b".into()], stages: vec![stage] };
        self.block(scope, 0);
        self.text += "}\n";
        self.functions.push(name);
    }

    /// A function that calls itself a few times.
    fn recursive_function(&mut self) {
        let (name, stage) = (self.fresh("g"), self.fresh("s"));
        let scope = Scope { numbers: vec!["n".into(), "a".into()], stages: vec![stage.clone()] };
        let (first, second) = (self.annotation(&scope, &["n"]), self.annotation(&scope, &["k"]));
        let _ = writeln!(self.text, "let {name} (int n, int a, fn[int] cont)[{stage}] {{");
        let _ = writeln!(self.text, "{first}n % 6 (int k)\n{second}k <= 0 (bool stop)");
        let again = self.fresh("s");
        let _ = writeln!(self.text, "if stop () {{ cont a }} ()[{again}]");
        let mut scope = scope;
        scope.stages.push(again);
        scope.numbers.push("k".into());
        let third = self.annotation(&scope, &["k"]);
        let (other, sign) = (self.number(&scope), if self.below(2) == 0 { "+" } else { "-" });
        let (fourth, fifth) = (self.annotation(&scope, &["a", &other]), self.annotation(&scope, &["t"]));
        let _ = writeln!(
            self.text,
            "{third}k - 1 (int m)\n{fourth}a {sign} {other} (int t)\n{fifth}t % 1009 (int c)"
        );
        let last = self.annotation(&scope, &["m"]);
        let _ = writeln!(self.text, "{last}{name} m c cont\n}}");
        self.functions.push(name);
    }

    /// A function that calls another one before it is called.
    fn specialization(&mut self) {
        let (name, generic) = (self.fresh("h"), self.pick(&self.functions.clone()));
        let (stage, constant) = (self.fresh("s"), self.below(8));
        let args = if self.below(2) == 0 { format!("a {constant}") } else { format!("{constant} b") };
        let (outer, inner, end) = match self.with_annotations {
            true => (format!("@{generic}: "), format!("@{generic}: "), format!("@r & {stage}: ")),
            false => (String::new(), String::new(), String::new()),
        };
        let _ = writeln!(
            self.text,
            "{outer}let {name} (int a, int b, fn[int] cont)[{stage}] {{\n{inner}{generic} {args} (int r)[]\n{end}cont r\n}}"
        );
        self.functions.push(name);
    }

    fn main(&mut self) {
        let stage = self.fresh("s");
        let _ = writeln!(self.text, "let main (int n, fn[int] cont)[{stage}] {{");
        self.block(Scope { numbers: vec!["n".into()], stages: vec![stage] }, 0);
        self.text += "}\n";
    }

    /// Instructions up to a call of `cont`.
    fn block(&mut self, mut scope: Scope, depth: u64) {
        for _ in 0..1 + self.below(4) {
            self.instruction(&mut scope, depth);
        }
        let value = self.number(&scope);
        let annotation = self.annotation(&scope, &["cont", &value]);
        let _ = writeln!(self.text, "{annotation}cont {value}");
    }

    fn instruction(&mut self, scope: &mut Scope, depth: u64) {
        let (a, b) = (self.number(scope), self.number(scope));
        let annotation = self.annotation(scope, &[&a, &b]);
        let (result, stage) = (self.fresh("v"), self.fresh("s"));
        match self.below(8) {
            0 if depth < 2 => {
                let (then, condition) = (self.fresh("s"), self.fresh("c"));
                let _ = writeln!(self.text, "{annotation}{a} < {b} (bool {condition})");
                let annotation = self.annotation(scope, &[&condition]);
                let _ = writeln!(self.text, "{annotation}if {condition} ()[{then}] {{");
                let mut inner = scope.clone();
                inner.stages.push(then);
                self.block(inner, depth + 1);
                let _ = writeln!(self.text, "}} ()[{stage}]");
                scope.stages.push(stage);
                return;
            }
            1 | 2 if !self.functions.is_empty() => {
                let function = self.pick(&self.functions.clone());
                let _ = writeln!(self.text, "{annotation}{function} {a} {b} (int {result})[{stage}]");
            }
            3 => {
                let part = self.below(2);
                let _ = writeln!(self.text, "{annotation}get [{a}, {b}] {part} (int {result})[{stage}]");
            }
            4 => {
                let _ = writeln!(self.text, "{annotation}{a} * {b} % 1009 (int {result})[{stage}]");
            }
            5 if self.below(3) == 0 => {
                let _ = writeln!(self.text, "{annotation}{a} / {b} (int {result})[{stage}]");
            }
            6 => {
                let _ = writeln!(self.text, "{annotation}let [{stage}] int {result} {a}");
            }
            _ => {
                let sign = if self.below(2) == 0 { "+" } else { "-" };
                let _ = writeln!(self.text, "{annotation}{a} {sign} {b} (int {result})[{stage}]");
            }
        }
        scope.numbers.push(result);
        scope.stages.push(stage);
    }

    /// A staging annotation for an instruction that needs some values, or nothing for natural staging. Most of them
    /// wait for what is needed.
    fn annotation(&mut self, scope: &Scope, needs: &[&str]) -> String {
        let names: Vec<String> =
            scope.numbers.iter().chain(&scope.stages).chain(&self.functions).cloned().collect();
        let kind = self.below(12);
        let (first, second) = match names.is_empty() {
            true => (String::from("always"), String::from("always")),
            false => (self.pick(&names), self.pick(&names)),
        };
        let mut needs: Vec<&str> =
            needs.iter().copied().filter(|name| !name.starts_with(char::is_numeric)).collect();
        needs.push("always");
        let needs = needs.join(" & ");
        let stage = match kind {
            0..=4 => return String::new(),
            5..=7 => needs,
            8 => format!("{needs} & {first}"),
            9 => format!("{needs} & ({first} | {second})"),
            10 => format!("{needs} & !never"),
            _ => format!("{first} & {second}"),
        };
        if self.with_annotations { format!("@{stage}: ") } else { String::new() }
    }
}
