//! Random functions with many parameters, which call each other.
//!
//! Parameters have all kinds of types: scalars of every width, SIMD vectors, structs, tuples, arrays and enums.
//! Functions call themselves and each other, in tail position and elsewhere, directly and as values; the first calls
//! come from `main` or from a body of `vectorize`. Arguments that do not fit into registers are passed on the stack, where caller and
//! callee must agree on every byte.
//!
//! Each function mixes its parameters into a number, so a wrong argument changes the result. The
//! first parameter counts down, so every program ends. The interpreter computes the expected result; native code must
//! agree without and with optimization, for several sizes of vector registers.

use std::fmt::Write as _;

use nyala_driver::{Options, Prelude, Session};
use nyala_tests::random::Random;

use super::executions::{Executions, processor};
use super::worker::Case;

/// The maximum number of operations of a program in the interpreter.
const MAX_STEPS: u64 = 4_000_000;

/// The library of the programs.
const PRELUDE: &str = "
extern \"thorin\" {
    fn bitcast[D, S](S) -> D;
    fn select[T, U](T, U, U) -> U;
    fn vectorize(i32, fn(i32) -> ()) -> ();
}
fn range(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); range(a + 1, b, body) } }
fn mix(h: u64, x: u64) -> u64 { (h ^ x) * 1099511628211u64 + 3u64 }
fn turned(x: u64) -> i32 { ((x ^ (x >> 32u64)) & 0x7fffffffu64) as i32 }
";

/// Runs the program of a case in all ways; returns whether all of it was vectorized.
pub fn run(case: &mut Case) -> Result<bool, String> {
    let text = program(&mut case.random());
    case.begin(&text);
    compare(case, &text)
}

fn compare(case: &mut Case, text: &str) -> Result<bool, String> {
    let mut session = Session::new(Options { prelude: Prelude::Absent, ..Options::default() });
    session.add_text("calls.impala", text);
    session.add_text("prelude.impala", PRELUDE);
    let (mut executions, world) = Executions::begin(case, session, "calls", MAX_STEPS)?;
    let (vectorized, is_vectorized) = executions.vectorize(&world);
    let program = executions.outline(vectorized)?;
    // The length serves as a random number that is the same in every run of this program.
    executions.run_native(&program, 0, processor(text.len()))?;
    executions.run_native(&program, 2 + text.len() as u8 % 2, processor(text.len() / 2))?;
    Ok(is_vectorized)
}

/// A random program.
fn program(random: &mut Random) -> String {
    let is_vectorized = random.below(4) == 0;
    let mut writer = Writer {
        random,
        text: String::new(),
        is_vectorized,
        structs: vec![],
        enums: vec![],
        functions: vec![],
    };
    writer.program();
    writer.text
}

#[derive(Clone, PartialEq)]
enum Type {
    Scalar(&'static str),
    Simd(&'static str, usize),
    /// A struct or enum by its number.
    Struct(usize),
    Enum(usize),
    Tuple(Vec<Type>),
    Array(Box<Type>, usize),
}

const SCALARS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "bool", "f16"];

/// The parameters of a function besides the counter and the hash.
type Signature = Vec<Type>;

struct Writer<'a> {
    random: &'a mut Random,
    text: String,
    /// Whether a body of `vectorize` calls the functions. Lanes have no SIMD values.
    is_vectorized: bool,
    structs: Vec<Vec<Type>>,
    enums: Vec<Type>,
    functions: Vec<Signature>,
}

impl Writer<'_> {
    fn program(&mut self) {
        for number in 0..self.random.below(3) {
            let fields: Vec<Type> = (0..1 + self.random.below(6)).map(|_| self.ty(1)).collect();
            let list = fields.iter().enumerate().map(|(at, ty)| format!("f{at}: {}", self.name(ty)));
            let list = list.collect::<Vec<_>>().join(", ");
            self.line(&format!("struct S{number} {{ {list} }}"));
            self.structs.push(fields);
        }
        if self.chance(3) {
            let payload = self.ty(2);
            let name = self.name(&payload);
            self.line(&format!("enum E0 {{ None, Some({name}) }}"));
            self.enums.push(payload);
        }
        // Few parameters fit into registers; many do not.
        for _ in 0..1 + self.random.below(4) {
            let signature = match self.functions.last().cloned() {
                Some(last) if self.chance(3) => last,
                _ => {
                    let most = *self.random.pick(&[3, 8, 12, 20]);
                    (0..1 + self.random.below(most)).map(|_| self.ty(2)).collect()
                }
            };
            self.functions.push(signature);
        }
        for number in 0..self.functions.len() {
            self.function(number);
        }
        self.main();
    }

    fn ty(&mut self, depth: usize) -> Type {
        let elem = *self.random.pick(&SCALARS);
        match self.random.below(12) {
            0..=4 => Type::Scalar(elem),
            5..=8 if !self.is_vectorized => Type::Simd(elem, *self.random.pick(&[2, 3, 4, 4, 8, 8, 16, 5])),
            9 if depth > 0 && !self.structs.is_empty() => Type::Struct(self.random.below(self.structs.len())),
            10 if depth > 0 => {
                let n = 2 + self.random.below(2);
                Type::Tuple((0..n).map(|_| self.ty(depth - 1)).collect())
            }
            11 if depth > 0 => Type::Array(Box::new(self.ty(depth - 1)), 1 + self.random.below(4)),
            _ if depth > 0 && !self.enums.is_empty() => Type::Enum(self.random.below(self.enums.len())),
            _ => Type::Scalar(elem),
        }
    }

    fn name(&self, ty: &Type) -> String {
        match ty {
            Type::Scalar(name) => (*name).to_owned(),
            Type::Simd(elem, lanes) => format!("simd[{elem} * {lanes}]"),
            Type::Struct(number) => format!("S{number}"),
            Type::Enum(number) => format!("E{number}"),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.name(part)).collect();
                format!("({})", parts.join(", "))
            }
            Type::Array(elem, len) => format!("[{} * {len}]", self.name(elem)),
        }
    }

    /// A value that is computed from `n`.
    fn value(&mut self, ty: &Type) -> String {
        let k = self.random.below(40);
        match ty {
            Type::Scalar("bool") => format!("((n + {k}) & 1 == 0)"),
            Type::Scalar("i32") => format!("(n + {k})"),
            Type::Scalar(name) => format!("((n + {k}) as {name})"),
            Type::Simd(elem, lanes) => {
                let elem = Type::Scalar(elem);
                let lanes: Vec<String> = (0..*lanes).map(|_| self.value(&elem)).collect();
                format!("simd[{}]", lanes.join(", "))
            }
            Type::Struct(number) => {
                let fields = self.structs[*number].clone();
                let fields: Vec<String> =
                    fields.iter().enumerate().map(|(at, ty)| format!("f{at}: {}", self.value(ty))).collect();
                format!("S{number} {{ {} }}", fields.join(", "))
            }
            Type::Enum(number) => {
                let payload = self.enums[*number].clone();
                let payload = self.value(&payload);
                format!("(if n & 1 == {} {{ E{number}::Some({payload}) }} else {{ E{number}::None }})", k & 1)
            }
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.value(part)).collect();
                format!("({})", parts.join(", "))
            }
            Type::Array(elem, len) => {
                let parts: Vec<String> = (0..*len).map(|_| self.value(elem)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }

    /// The numbers in a value.
    fn numbers(&self, ty: &Type, value: &str) -> Vec<String> {
        match ty {
            Type::Scalar("bool") => vec![format!("(if {value} {{ 5u64 }} else {{ 9u64 }})")],
            Type::Scalar("u64") => vec![value.to_owned()],
            Type::Scalar("f16") => vec![format!("({value} as f32 as u64)")],
            Type::Scalar(_) => vec![format!("({value} as u64)")],
            Type::Simd(elem, lanes) => (0..*lanes)
                .flat_map(|at| self.numbers(&Type::Scalar(elem), &format!("{value}({at})")))
                .collect(),
            Type::Struct(number) => {
                let fields = self.structs[*number].iter().enumerate();
                fields.flat_map(|(at, ty)| self.numbers(ty, &format!("{value}.f{at}"))).collect()
            }
            Type::Enum(number) => {
                let numbers = self.numbers(&self.enums[*number], "x").join(" * 3u64 + ");
                vec![format!(
                    "(match {value} {{ E{number}::Some(x) => {numbers}, E{number}::None => 77u64 }})"
                )]
            }
            Type::Tuple(parts) => {
                let parts = parts.iter().enumerate();
                parts.flat_map(|(at, ty)| self.numbers(ty, &format!("{value}({at})"))).collect()
            }
            Type::Array(elem, len) => {
                (0..*len).flat_map(|at| self.numbers(elem, &format!("{value}({at})"))).collect()
            }
        }
    }

    fn function(&mut self, number: usize) {
        let signature = self.functions[number].clone();
        let params: Vec<String> =
            signature.iter().enumerate().map(|(at, ty)| format!(", p{at}: {}", self.name(ty))).collect();
        self.line(&format!("fn f{number}(n: i32, h: u64{}) -> u64 {{", params.concat()));
        self.line("    let mut s = h;");
        let all = self.random.below(3) == 0;
        for (at, ty) in signature.iter().enumerate() {
            let mut numbers = self.numbers(ty, &format!("p{at}"));
            if !all && numbers.len() > 3 {
                let first = self.random.below(numbers.len() - 2);
                numbers = numbers[first..first + 3].to_vec();
            }
            numbers.iter().for_each(|number| self.line(&format!("    s = mix(s, {number});")));
        }
        self.line("    if n <= 0 { return(s) }");
        if self.chance(2) {
            let call = self.call(&signature, 2);
            self.line(&format!("    s = mix(s, {call});"));
        }
        let call = self.call(&signature, 1);
        let last = if self.chance(3) { format!("mix({call}, s)") } else { call };
        if self.chance(3) {
            let other = self.call(&signature, 1);
            self.line(&format!("    if s & 3u64 == 1u64 {{ return({other}) }}"));
        }
        self.line(&format!("    {last}"));
        self.line("}");
    }

    /// A call of some function from one with the signature `own`.
    fn call(&mut self, own: &Signature, less: usize) -> String {
        let number = self.random.below(self.functions.len());
        let taken = self.functions[number].clone();
        let args: Vec<String> = taken
            .iter()
            .map(|ty| {
                let same: Vec<usize> = (0..own.len()).filter(|&at| own[at] == *ty).collect();
                match same.is_empty() || self.chance(4) {
                    true => format!(", {}", self.value(ty)),
                    false => format!(", p{}", self.random.pick(&same)),
                }
            })
            .collect();
        let alike: Vec<usize> =
            (0..self.functions.len()).filter(|&at| at != number && self.functions[at] == taken).collect();
        let callee = match alike.is_empty() || self.is_vectorized || self.chance(2) {
            true => format!("f{number}"),
            // An indirect call of one of two functions.
            false => {
                format!("(if s & 1u64 == 0u64 {{ f{number} }} else {{ f{} }})", self.random.pick(&alike))
            }
        };
        format!("{callee}(n - {less}, s{})", args.concat())
    }

    fn main(&mut self) {
        self.line("fn main(n: i32) -> i32 {");
        self.line("    let mut s = 7u64;");
        if self.is_vectorized {
            let lanes = *self.random.pick(&[2, 3, 4, 8, 16]);
            let depth = *self.random.pick(&["l % 3", "l & 1", "0"]);
            let call = self
                .call(&vec![], 1)
                .replace("(n - 1,", &format!("({depth} + {},", 1 + self.random.below(4)));
            self.line(&format!("    let mut out: [u64 * {lanes}];"));
            self.line(&format!(
                "    for l in vectorize({lanes}) {{ let n = l + 1; let s = l as u64; out(l) = {call}; }}"
            ));
            self.line(&format!("    for l in range(0, {lanes}) {{ s = mix(s, out(l)); }}"));
        } else {
            for _ in 0..1 + self.random.below(2) {
                let depth = *self.random.pick(&[1, 3, 5, 8]);
                let call = self.call(&vec![], 1).replace("(n - 1,", &format!("(n + {depth},"));
                self.line(&format!("    s = mix(s, {call});"));
            }
        }
        self.line("    turned(s)");
        self.line("}");
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("strings take all text");
    }

    /// True with a probability of one in `n`.
    fn chance(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }
}
