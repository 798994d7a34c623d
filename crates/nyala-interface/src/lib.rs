//! The interface of a program: its exported functions and statics, the functions it imports, and their types.
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
//!   names of types: in C++ the name of a type would hide theirs.
//! * A definition comes after those of the types that it contains by value.
//!
//! ```
//! use nyala_interface::{c, collect};
//! use nyala_sema::{check, package::Package};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("mean.impala", "extern fn mean(a: f32, b: f32) -> f32 { (a + b) / 2f }")?;
//! let parse = nyala_syntax::parse(sources.file(id));
//! let program = check(&[Package::program([&parse.file])]).program;
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

/// The interface of a program.
#[derive(Clone, Default, Debug)]
pub struct Interface {
    /// The types, each after those it contains.
    pub types: Vec<TypeDef>,
    /// Opaque types: they contain functions.
    pub opaque: Vec<String>,
    /// Functions that the host may call.
    pub exports: Vec<Function>,
    /// Variables that the host may use.
    pub statics: Vec<Static>,
    /// Functions that the host defines and the program calls.
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
    /// The names of its parameters, where they have one; one per parameter of the signature.
    pub params: Vec<Option<String>>,
    /// Its type.
    pub signature: Signature,
    /// Its position in the program.
    pub span: Span,
}

/// The type of a function. Displays in the syntax of Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The types of its parameters.
    pub params: Vec<Type>,
    /// The type of its result.
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

/// A type of the interface. Displays in the syntax of Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// No value: the result of a function without one. As a pointee: any type.
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
        /// Whether the pointee may be written.
        is_mut: bool,
        /// The type of the pointee, or of the elements.
        to: Box<Type>,
    },
    /// An array; only as a part of another type.
    Array {
        /// The type of the elements.
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
    /// Its definition.
    pub kind: TypeDefKind,
}

/// The kinds of defined types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeDefKind {
    /// Fields one after the other, with the alignment that C gives them.
    Struct(Vec<(String, Type)>),
    /// A union of payloads, followed by the tag: the number of the option.
    Enum {
        /// Names, and payloads where there are some.
        options: Vec<(String, Option<Type>)>,
        /// The number of bits of the tag.
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
