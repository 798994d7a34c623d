//! Types and values of LLVM. Both are printed as LLVM writes them: `<4 x float>`, `i32 %x`.

use std::fmt;

use nyala_ir::Prim;

/// A type of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    /// An integer of so many bits.
    Int(u32),
    Half,
    Float,
    Double,
    /// A pointer into an address space.
    Ptr(u32),
}

impl Scalar {
    /// The integers that are addresses.
    pub(crate) const WORD: Scalar = Scalar::Int(64);
    /// A generic pointer.
    pub(crate) const PTR: Scalar = Scalar::Ptr(0);

    pub(crate) fn bits(self) -> u32 {
        match self {
            Scalar::Int(bits) => bits,
            Scalar::Half => 16,
            Scalar::Float => 32,
            Scalar::Double | Scalar::Ptr(_) => 64,
        }
    }
}

impl From<Prim> for Scalar {
    fn from(prim: Prim) -> Scalar {
        match prim {
            Prim::Bool => Scalar::Int(1),
            Prim::F16 => Scalar::Half,
            Prim::F32 => Scalar::Float,
            Prim::F64 => Scalar::Double,
            Prim::I8 | Prim::U8 | Prim::I16 | Prim::U16 | Prim::I32 | Prim::U32 | Prim::I64 | Prim::U64 => {
                Scalar::Int(prim.bits())
            }
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(bits) => write!(f, "i{bits}"),
            Scalar::Half => f.write_str("half"),
            Scalar::Float => f.write_str("float"),
            Scalar::Double => f.write_str("double"),
            Scalar::Ptr(0) => f.write_str("ptr"),
            Scalar::Ptr(space) => write!(f, "ptr addrspace({space})"),
        }
    }
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    Vector {
        lanes: u32,
        elem: Scalar,
    },
    /// A struct, an array or a named type, as LLVM writes it.
    Aggregate(String),
}

impl Type {
    pub(crate) const BOOL: Type = Type::int(1);
    pub(crate) const I8: Type = Type::int(8);
    pub(crate) const I32: Type = Type::int(32);
    pub(crate) const I64: Type = Type::int(64);
    pub(crate) const FLOAT: Type = Type::Scalar(Scalar::Float);
    pub(crate) const DOUBLE: Type = Type::Scalar(Scalar::Double);
    /// A generic pointer.
    pub(crate) const PTR: Type = Type::Scalar(Scalar::PTR);

    pub(crate) const fn int(bits: u32) -> Type {
        Type::Scalar(Scalar::Int(bits))
    }

    pub(crate) fn vector(lanes: u32, elem: impl Into<Scalar>) -> Type {
        Type::Vector { lanes, elem: elem.into() }
    }

    /// A struct without a name.
    pub(crate) fn structure(fields: &[Type]) -> Type {
        let fields: Vec<String> = fields.iter().map(Type::to_string).collect();
        Type::Aggregate(if fields.is_empty() { "{}".into() } else { format!("{{ {} }}", fields.join(", ")) })
    }

    pub(crate) fn array(len: u64, elem: &Type) -> Type {
        Type::Aggregate(format!("[{len} x {elem}]"))
    }

    /// How the names of intrinsics abbreviate the type: `v4f32`.
    pub(crate) fn suffix(&self) -> String {
        let scalar = |scalar: Scalar| match scalar {
            Scalar::Int(bits) => format!("i{bits}"),
            Scalar::Half => "f16".to_owned(),
            Scalar::Float => "f32".to_owned(),
            Scalar::Double => "f64".to_owned(),
            Scalar::Ptr(space) => format!("p{space}"),
        };
        match self {
            Type::Scalar(elem) => scalar(*elem),
            Type::Vector { lanes, elem } => format!("v{lanes}{}", scalar(*elem)),
            // No intrinsic that we call is overloaded for these.
            Type::Void | Type::Aggregate(_) => String::new(),
        }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

impl From<Prim> for Type {
    fn from(prim: Prim) -> Type {
        Type::Scalar(prim.into())
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Scalar(scalar) => scalar.fmt(f),
            Type::Vector { lanes, elem } => write!(f, "<{lanes} x {elem}>"),
            Type::Aggregate(text) => f.write_str(text),
        }
    }
}

/// An operand with its type.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) ty: Type,
    /// The operand: a name or a constant.
    pub(crate) text: String,
}

impl Value {
    pub(crate) fn new(ty: impl Into<Type>, text: impl Into<String>) -> Value {
        Value { ty: ty.into(), text: text.into() }
    }

    /// A generic pointer.
    pub(crate) fn ptr(text: impl Into<String>) -> Value {
        Value::new(Type::PTR, text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.text)
    }
}

/// Values or types with commas between them, as parameters and arguments are written.
pub(crate) fn list(items: &[impl fmt::Display]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}
