//! What the outside sees of a program: its exported functions and statics, the functions it
//! imports, and the types that cross the border.
//!
//! Read in this order:
//!
//! * this file: the description of an interface, in terms that C and Rust share;
//! * `collect`: the interface of a checked program;
//! * [`c`]: as a C header;
//! * [`rust`]: as Rust declarations;
//! * `names`: identifiers that every language accepts.
//!
//! # Invariants
//!
//! * Every [`Type::Named`] is the name of one [`TypeDef`], or of one of the names in
//!   [`Interface::opaque`].
//! * Functions, statics, types and the tags of enums have different names. Parameters and fields have
//!   no name that a type has: C++ would take the type's name for theirs.
//! * A definition stands behind those of the types that it contains by value.
//!
//! ```
//! use nyala_interface::{c, collect};
//! use nyala_sema::{CheckFile, check};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("mean.impala", "extern fn mean(a: f32, b: f32) -> f32 { (a + b) / 2f }")?;
//! let parse = nyala_syntax::parse(sources.file(id));
//! let program = check(&[CheckFile { ast: &parse.file, is_prelude: false }]).program;
//! let header = c::header(&collect(&program, |_| true), "mean");
//! assert!(header.contains("float mean(float a, float b);"));
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

pub mod c;
mod collect;
mod names;
pub mod rust;

use std::fmt;

pub use collect::collect;
use nyala_span::Span;

/// What the outside sees of a program.
#[derive(Clone, Default, Debug)]
pub struct Interface {
    /// The types, each behind those it contains.
    pub types: Vec<TypeDef>,
    /// Types whose parts the outside must not know: they hold functions.
    pub opaque: Vec<String>,
    /// Functions that the outside may call.
    pub exports: Vec<Function>,
    /// Variables that the outside may use.
    pub statics: Vec<Static>,
    /// Functions that the outside defines and the program calls.
    pub imports: Vec<Function>,
    /// All declarations of C functions, those of the prelude too. One symbol may have several.
    pub declared: Vec<Function>,
}

impl Interface {
    /// The exported function with this symbol.
    pub fn export(&self, symbol: &str) -> Option<&Function> {
        self.exports.iter().find(|function| function.symbol == symbol)
    }

    /// The symbols that the program defines for the outside.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        let functions = self.exports.iter().map(|function| function.symbol.as_str());
        functions.chain(self.statics.iter().map(|item| item.symbol.as_str()))
    }

    /// All declarations of the C function with this symbol.
    pub fn declarations<'a>(&'a self, symbol: &'a str) -> impl Iterator<Item = &'a Function> {
        self.declared.iter().filter(move |function| function.symbol == symbol)
    }
}

/// A function with the C calling convention.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its symbol for the linker.
    pub symbol: String,
    /// Its name in declarations: the symbol if that is a name in all languages.
    pub name: String,
    /// The names of its parameters, where they have one; as many as the signature has.
    pub params: Vec<Option<String>>,
    /// Its type.
    pub signature: Signature,
    /// Where it stands in the program.
    pub span: Span,
}

/// The type of a function. Displays as Rust writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// What it takes.
    pub params: Vec<Type>,
    /// What it gives.
    pub result: Type,
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Static {
    /// Its symbol for the linker.
    pub symbol: String,
    /// Its name in declarations: the symbol if that is a name in all languages.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it may be written.
    pub is_mut: bool,
}

/// A type that crosses the border. Displays as Rust writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// No value: the result of a function that gives nothing. Behind a pointer: anything.
    Void,
    /// The result of a function that does not return.
    Never,
    /// A byte, 0 or 1.
    Bool,
    /// An integer.
    Int {
        /// 8 to 64.
        bits: u32,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A floating-point number.
    Float {
        /// 16 to 64.
        bits: u32,
    },
    /// An address.
    Ptr {
        /// Whether one may write there.
        is_mut: bool,
        /// What is there, once or more often.
        to: Box<Type>,
    },
    /// So many values in a row; only as a part of another type.
    Array {
        /// Each of them.
        elem: Box<Type>,
        /// How many.
        len: u64,
    },
    /// A type with a definition.
    Named(String),
    /// The address of a function.
    Function(Box<Signature>),
}

impl Type {
    /// An integer type.
    pub const fn int(bits: u32, is_signed: bool) -> Type {
        Type::Int { bits, is_signed }
    }

    /// A pointer.
    pub fn ptr(is_mut: bool, to: Type) -> Type {
        Type::Ptr { is_mut, to: Box::new(to) }
    }
}

/// A type with its definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeDef {
    /// Its name, which is an identifier.
    pub name: String,
    /// What it is.
    pub kind: TypeDefKind,
}

/// The kinds of defined types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeDefKind {
    /// Fields one after the other, with the alignment that C gives them.
    Struct(Vec<(String, Type)>),
    /// A union of payloads, and behind it the number of the option that is there.
    Enum {
        /// Names, and payloads where there are some.
        options: Vec<(String, Option<Type>)>,
        /// How many bits the number has.
        tag_bits: u32,
    },
    /// A vector of scalars.
    Simd {
        /// The scalar.
        elem: Type,
        /// How many.
        lanes: u32,
        /// Its size in bytes, which is also its alignment.
        bytes: u64,
    },
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("()"),
            Type::Never => f.write_str("!"),
            Type::Bool => f.write_str("bool"),
            Type::Int { bits, is_signed: true } => write!(f, "i{bits}"),
            Type::Int { bits, is_signed: false } => write!(f, "u{bits}"),
            Type::Float { bits } => write!(f, "f{bits}"),
            Type::Ptr { is_mut, to } => {
                f.write_str(if *is_mut { "*mut " } else { "*const " })?;
                if **to == Type::Void { f.write_str("c_void") } else { to.fmt(f) }
            }
            Type::Array { elem, len } => write!(f, "[{elem}; {len}]"),
            Type::Named(name) => f.write_str(name),
            Type::Function(signature) => signature.fmt(f),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("extern \"C\" fn(")?;
        for (index, param) in self.params.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{param}")?;
        }
        match self.result {
            Type::Void => f.write_str(")"),
            ref result => write!(f, ") -> {result}"),
        }
    }
}
