//! The types of random programs.

use std::fmt::Write as _;

use crate::random::Random;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    U32,
    I32,
    Bool,
    Num(Num),
    Tuple(Vec<Ty>),
    /// An array; the length is a power of two.
    Array(Box<Ty>, usize),
    /// One of [`Types::structs`].
    Struct(usize),
    /// One of [`Types::enums`].
    Enum(usize),
    Fn(Vec<Ty>, Box<Ty>),
    /// An object of the library.
    Counter,
}

/// A number type other than `u32` and `i32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Num {
    I8,
    I16,
    I64,
    U8,
    U16,
    U64,
    F32,
    F64,
}

impl Num {
    pub const ALL: [Num; 8] = [Num::I8, Num::I16, Num::I64, Num::U8, Num::U16, Num::U64, Num::F32, Num::F64];

    pub fn name(self) -> &'static str {
        match self {
            Num::I8 => "i8",
            Num::I16 => "i16",
            Num::I64 => "i64",
            Num::U8 => "u8",
            Num::U16 => "u16",
            Num::U64 => "u64",
            Num::F32 => "f32",
            Num::F64 => "f64",
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Num::F32 | Num::F64)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Num::I8 | Num::I16 | Num::I64)
    }

    pub fn bits(self) -> u32 {
        match self {
            Num::I8 | Num::U8 => 8,
            Num::I16 | Num::U16 => 16,
            Num::F32 => 32,
            Num::I64 | Num::U64 | Num::F64 => 64,
        }
    }
}

/// The structs and enums of a program.
pub struct Types {
    /// The types of the fields.
    pub structs: Vec<Vec<Ty>>,
    /// The types of the payload of each option.
    pub enums: Vec<Vec<Vec<Ty>>>,
}

/// The maximum nesting of types; structs and enums count as one each.
const MAX_DEPTH: usize = 2;

impl Types {
    pub fn new(random: &mut Random) -> Types {
        Types::made_of(random, Types::any)
    }

    /// Types without functions.
    pub fn of_data(random: &mut Random) -> Types {
        Types::made_of(random, Types::data)
    }

    fn made_of(random: &mut Random, part: fn(&Types, &mut Random) -> Ty) -> Types {
        let mut types = Types { structs: vec![], enums: vec![] };
        // Alternately, so that structs contain enums and vice versa.
        for _ in 0..1 + random.below(3) {
            let n_fields = 1 + random.below(3);
            let fields = (0..n_fields).map(|_| part(&types, random)).collect();
            types.structs.push(fields);
            let n_options = 2 + random.below(2);
            let mut payload = || (0..random.below(3)).map(|_| part(&types, random)).collect();
            let options = (0..n_options).map(|_| payload()).collect();
            types.enums.push(options);
        }
        types
    }

    /// Any type.
    pub fn any(&self, random: &mut Random) -> Ty {
        match random.below(12) {
            0..2 => self.function(random),
            2 => Ty::Counter,
            3 => Ty::Array(Box::new(self.function(random)), 2),
            _ => self.data(random),
        }
    }

    /// A type without functions, unless a struct or an enum has some.
    pub fn data(&self, random: &mut Random) -> Ty {
        self.data_within(random, MAX_DEPTH)
    }

    fn data_within(&self, random: &mut Random, depth: usize) -> Ty {
        match random.below(16) {
            5 | 6 => Ty::I32,
            7 => Ty::Bool,
            8 | 9 => Ty::Num(*random.pick(&Num::ALL)),
            10 | 11 if depth > 0 => {
                Ty::Tuple((0..2 + random.below(2)).map(|_| self.data_within(random, depth - 1)).collect())
            }
            12 if depth > 0 => {
                let length = [2, 4, 8][random.below(3)];
                Ty::Array(Box::new(self.data_within(random, depth - 1)), length)
            }
            13 if !self.structs.is_empty() => Ty::Struct(random.below(self.structs.len())),
            14 if !self.enums.is_empty() => Ty::Enum(random.below(self.enums.len())),
            _ => Ty::U32,
        }
    }

    /// A function, sometimes a higher-order one.
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

    /// Whether values of this type contain no function.
    pub fn is_data(&self, ty: &Ty) -> bool {
        match ty {
            Ty::U32 | Ty::I32 | Ty::Bool | Ty::Num(_) => true,
            Ty::Fn(..) | Ty::Counter => false,
            Ty::Tuple(parts) => parts.iter().all(|ty| self.is_data(ty)),
            Ty::Array(element, _) => self.is_data(element),
            Ty::Struct(number) => self.structs[*number].iter().all(|ty| self.is_data(ty)),
            Ty::Enum(number) => self.enums[*number].iter().flatten().all(|ty| self.is_data(ty)),
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

    /// A type in the syntax of Impala.
    pub fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::U32 => "u32".into(),
            Ty::I32 => "i32".into(),
            Ty::Bool => "bool".into(),
            Ty::Num(num) => num.name().into(),
            Ty::Tuple(parts) => format!("({})", self.list(parts)),
            Ty::Array(element, length) => format!("[{} * {length}]", self.show(element)),
            Ty::Struct(number) => format!("S{number}"),
            Ty::Enum(number) => format!("E{number}"),
            Ty::Fn(params, ret) => format!("fn({}) -> {}", self.list(params), self.show(ret)),
            Ty::Counter => "Counter".into(),
        }
    }

    fn list(&self, types: &[Ty]) -> String {
        types.iter().map(|ty| self.show(ty)).collect::<Vec<_>>().join(", ")
    }

    /// An expression of type `u32` that depends on `value`.
    pub fn observe(&self, ty: &Ty, value: &str) -> String {
        match ty {
            Ty::U32 => value.into(),
            Ty::I32 => format!("({value} as u32)"),
            Ty::Bool => format!("(if {value} {{ 5u }} else {{ 6u }})"),
            Ty::Num(Num::F32) => format!("bits_of_f32({value})"),
            Ty::Num(Num::F64) => format!("bits_of_f64({value})"),
            Ty::Num(num) if num.bits() == 64 => format!("halves({value} as u64)"),
            Ty::Num(_) => format!("({value} as u32)"),
            Ty::Tuple(parts) => {
                self.observe_all(parts.iter().enumerate().map(|(i, ty)| (ty, format!("{value}({i})"))))
            }
            Ty::Array(element, length) => {
                let ends = [0, length - 1].into_iter();
                self.observe_all(ends.map(|i| (&**element, format!("{value}({i})"))))
            }
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

    /// A constant of a type.
    pub fn sample(&self, ty: &Ty) -> String {
        let all = |types: &[Ty]| types.iter().map(|ty| self.sample(ty)).collect::<Vec<_>>().join(", ");
        match ty {
            Ty::U32 => "6u".into(),
            Ty::I32 => "2".into(),
            Ty::Bool => "true".into(),
            Ty::Num(num) => format!("3{}", num.name()),
            Ty::Tuple(parts) => format!("({})", all(parts)),
            Ty::Array(element, length) => format!("[{}, .. {length}]", self.sample(element)),
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
