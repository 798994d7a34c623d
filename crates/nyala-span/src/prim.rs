//! The primitive types: the same in the source, in the typed tree and in the graph.

use std::fmt;

/// The primitive types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Prim {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Prim {
    /// All of them.
    pub const ALL: [Prim; 12] = [
        Prim::Bool,
        Prim::I8,
        Prim::I16,
        Prim::I32,
        Prim::I64,
        Prim::U8,
        Prim::U16,
        Prim::U32,
        Prim::U64,
        Prim::F16,
        Prim::F32,
        Prim::F64,
    ];

    /// Its name in the text form, which is the source language's too.
    pub fn name(self) -> &'static str {
        match self {
            Prim::Bool => "bool",
            Prim::I8 => "i8",
            Prim::I16 => "i16",
            Prim::I32 => "i32",
            Prim::I64 => "i64",
            Prim::U8 => "u8",
            Prim::U16 => "u16",
            Prim::U32 => "u32",
            Prim::U64 => "u64",
            Prim::F16 => "f16",
            Prim::F32 => "f32",
            Prim::F64 => "f64",
        }
    }

    /// Its size in memory, in bytes; also its alignment.
    pub fn bytes(self) -> u64 {
        match self {
            Prim::Bool | Prim::I8 | Prim::U8 => 1,
            Prim::I16 | Prim::U16 | Prim::F16 => 2,
            Prim::I32 | Prim::U32 | Prim::F32 => 4,
            Prim::I64 | Prim::U64 | Prim::F64 => 8,
        }
    }

    /// How many bits a value has; 1 for `bool`.
    pub fn bits(self) -> u32 {
        if self == Prim::Bool { 1 } else { self.bytes() as u32 * 8 }
    }

    /// `i8` to `i64`.
    pub fn is_signed(self) -> bool {
        matches!(self, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64)
    }

    /// `i8` to `u64`, without `bool`.
    pub fn is_int(self) -> bool {
        self.is_signed() || matches!(self, Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64)
    }

    /// `f16`, `f32`, `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Prim::F16 | Prim::F32 | Prim::F64)
    }

    /// `bits` cut to this type's width, zero-extended: the canonical form in literals.
    pub fn canonical(self, bits: u64) -> u64 {
        match self.bits() {
            64 => bits,
            width => bits & ((1 << width) - 1),
        }
    }

    /// The value of canonical `bits` as a signed number: sign-extended for signed types.
    pub fn sign_extend(self, bits: u64) -> i64 {
        let unused = 64 - self.bits();
        if self.is_signed() { ((bits << unused) as i64) >> unused } else { bits as i64 }
    }
}

impl fmt::Display for Prim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
