//! The types of random programs.

use std::fmt::Write as _;

use crate::random::Random;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    U32,
    I32,
    Bool,
    Tuple(Vec<Ty>),
    /// So many `u32`s, a power of two.
    Array(usize),
    /// One of [`Types::structs`].
    Struct(usize),
    /// One of [`Types::enums`].
    Enum(usize),
    Fn(Vec<Ty>, Box<Ty>),
    /// An object of the library.
    Counter,
}

/// The structs and enums of a program.
pub struct Types {
    /// The types of the fields.
    pub structs: Vec<Vec<Ty>>,
    /// The types of the payload of each option.
    pub enums: Vec<Vec<Vec<Ty>>>,
}

impl Types {
    pub fn new(random: &mut Random) -> Types {
        let mut types = Types { structs: vec![], enums: vec![] };
        for _ in 0..1 + random.below(2) {
            let n_fields = 1 + random.below(3);
            let fields = (0..n_fields).map(|_| types.any(random)).collect();
            types.structs.push(fields);
        }
        for _ in 0..1 + random.below(2) {
            let n_options = 2 + random.below(2);
            let mut payload = || (0..random.below(3)).map(|_| types.data(random)).collect();
            let options = (0..n_options).map(|_| payload()).collect();
            types.enums.push(options);
        }
        types
    }

    /// Any type.
    pub fn any(&self, random: &mut Random) -> Ty {
        match random.below(12) {
            0..3 => self.function(random),
            3 => Ty::Counter,
            _ => self.data(random),
        }
    }

    /// A type that holds no function, unless a struct does.
    pub fn data(&self, random: &mut Random) -> Ty {
        match random.below(12) {
            0..5 => Ty::U32,
            5 | 6 => Ty::I32,
            7 => Ty::Bool,
            8 => Ty::Tuple((0..2 + random.below(2)).map(|_| self.data(random)).collect()),
            9 => Ty::Array([2, 4, 8][random.below(3)]),
            10 if !self.structs.is_empty() => Ty::Struct(random.below(self.structs.len())),
            11 if !self.enums.is_empty() => Ty::Enum(random.below(self.enums.len())),
            _ => Ty::U32,
        }
    }

    /// A function, sometimes one that takes or gives functions.
    pub fn function(&self, random: &mut Random) -> Ty {
        let simple = || Ty::Fn(vec![Ty::U32], Box::new(Ty::U32));
        match random.below(8) {
            0 => Ty::Fn(vec![simple(), Ty::U32], Box::new(Ty::U32)),
            1 => Ty::Fn(vec![Ty::U32], Box::new(simple())),
            2 => Ty::Fn(vec![Ty::I32, Ty::U32], Box::new(Ty::U32)),
            3 => Ty::Fn(vec![self.data(random)], Box::new(self.data(random))),
            _ => simple(),
        }
    }

    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for (number, fields) in self.structs.iter().enumerate() {
            let fields = fields.iter().enumerate().map(|(i, ty)| format!("a{i}: {}", self.show(ty)));
            let fields: Vec<String> = fields.collect();
            writeln!(text, "struct S{number} {{ {} }}", fields.join(", ")).expect("strings take all text");
        }
        for (number, options) in self.enums.iter().enumerate() {
            let options = options.iter().enumerate().map(|(i, payload)| self.option(i, payload));
            let options: Vec<String> = options.collect();
            writeln!(text, "enum E{number} {{ {} }}", options.join(", ")).expect("as above");
        }
        text
    }

    fn option(&self, number: usize, payload: &[Ty]) -> String {
        if payload.is_empty() { format!("O{number}") } else { format!("O{number}({})", self.list(payload)) }
    }

    /// A type as it is written.
    pub fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::U32 => "u32".into(),
            Ty::I32 => "i32".into(),
            Ty::Bool => "bool".into(),
            Ty::Tuple(parts) => format!("({})", self.list(parts)),
            Ty::Array(length) => format!("[u32 * {length}]"),
            Ty::Struct(number) => format!("S{number}"),
            Ty::Enum(number) => format!("E{number}"),
            Ty::Fn(params, ret) => format!("fn({}) -> {}", self.list(params), self.show(ret)),
            Ty::Counter => "Counter".into(),
        }
    }

    fn list(&self, types: &[Ty]) -> String {
        types.iter().map(|ty| self.show(ty)).collect::<Vec<_>>().join(", ")
    }

    /// An expression of type `u32` that tells something about `value`.
    pub fn observe(&self, ty: &Ty, value: &str) -> String {
        match ty {
            Ty::U32 => value.into(),
            Ty::I32 => format!("({value} as u32)"),
            Ty::Bool => format!("(if {value} {{ 5u }} else {{ 6u }})"),
            Ty::Tuple(parts) => {
                self.observe_all(parts.iter().enumerate().map(|(i, ty)| (ty, format!("{value}({i})"))))
            }
            Ty::Array(length) => format!("({value}(0) + {value}({}) * 7u)", length - 1),
            Ty::Struct(number) => {
                let fields = self.structs[*number].iter().enumerate();
                self.observe_all(fields.map(|(i, ty)| (ty, format!("{value}.a{i}"))))
            }
            Ty::Enum(number) => self.observe_option(*number, value),
            Ty::Fn(params, ret) => {
                let args: Vec<String> = params.iter().map(|ty| self.sample(ty)).collect();
                self.observe(ret, &format!("{value}({})", args.join(", ")))
            }
            Ty::Counter => format!("{value}.next()"),
        }
    }

    fn observe_all<'a>(&self, parts: impl Iterator<Item = (&'a Ty, String)>) -> String {
        let parts: Vec<String> = parts.map(|(ty, part)| self.observe(ty, &part)).collect();
        format!("({})", parts.join(" * 3u + "))
    }

    fn observe_option(&self, number: usize, value: &str) -> String {
        let mut arms = vec![];
        for (i, payload) in self.enums[number].iter().enumerate() {
            let names: Vec<String> = (0..payload.len()).map(|i| format!("p{i}")).collect();
            let parts = payload.iter().zip(&names).map(|(ty, name)| (ty, name.clone()));
            arms.push(match payload.len() {
                0 => format!("E{number}::O{i} => {i}u"),
                _ => format!("E{number}::O{i}({}) => {}", names.join(", "), self.observe_all(parts)),
            });
        }
        format!("(match {value} {{ {} }})", arms.join(", "))
    }

    /// Some value of a type, with no variable in it.
    pub fn sample(&self, ty: &Ty) -> String {
        let all = |types: &[Ty]| types.iter().map(|ty| self.sample(ty)).collect::<Vec<_>>().join(", ");
        match ty {
            Ty::U32 => "6u".into(),
            Ty::I32 => "2".into(),
            Ty::Bool => "true".into(),
            Ty::Tuple(parts) => format!("({})", all(parts)),
            Ty::Array(length) => format!("[1u, .. {length}]"),
            Ty::Struct(number) => {
                let fields = self.structs[*number].iter().enumerate();
                let fields: Vec<String> =
                    fields.map(|(i, ty)| format!("a{i}: {}", self.sample(ty))).collect();
                format!("S{number} {{ {} }}", fields.join(", "))
            }
            Ty::Enum(number) => match self.enums[*number][0].as_slice() {
                [] => format!("E{number}::O0"),
                payload => format!("E{number}::O0({})", all(payload)),
            },
            Ty::Fn(params, ret) => {
                let params = params.iter().enumerate().map(|(i, ty)| format!("x{i}: {}", self.show(ty)));
                let params: Vec<String> = params.collect();
                format!("|{}| -> {} {{ {} }}", params.join(", "), self.show(ret), self.sample(ret))
            }
            Ty::Counter => "make_counter(1u)".into(),
        }
    }
}
