//! C calling conventions: how values are passed to and from C.
//!
//! Scalars and vectors are passed as they are. An aggregate is passed in registers, piece by piece, or in memory,
//! depending on its size and on its scalars. [`signature`] decides for a whole function, because registers
//! run out; `border` writes the instructions.
//!
//! The rules are those of the System V ABI for x86-64, of AAPCS64, and of the RISC-V ABI `lp64d`, each in its own
//! function.

use nyala_ir::layout::{Layout, enum_layout, layout, offset, sequence};
use nyala_ir::{Prim, Ty, TyKind, Types};

use super::value::{self, Type};

/// A calling convention of C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi {
    /// System V on x86-64.
    SysV,
    /// AAPCS64 on AArch64.
    Aapcs64,
    /// `lp64d` on RISC-V.
    Lp64d,
    /// A convention whose rules for aggregates are not implemented.
    Other,
}

impl Default for Abi {
    fn default() -> Abi {
        Abi::of_arch(std::env::consts::ARCH)
    }
}

impl Abi {
    /// The convention of a target, or of this machine.
    pub fn of_target(target: Option<&str>) -> Abi {
        target.map_or_else(Abi::default, |triple| match triple.contains("windows") {
            true => Abi::Other,
            false => Abi::of_arch(triple.split('-').next().unwrap_or_default()),
        })
    }

    fn of_arch(arch: &str) -> Abi {
        match arch {
            "x86_64" => Abi::SysV,
            "aarch64" | "arm64" => Abi::Aapcs64,
            "riscv64" | "riscv64gc" => Abi::Lp64d,
            _ => Abi::Other,
        }
    }
}

/// How one value is passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// Not at all: it has no bytes.
    Nothing,
    /// As it is, with this extension to a register.
    Direct(&'static str),
    /// As these parts, each a value of its own.
    Pieces(Vec<Piece>),
    /// In memory that the callee owns: a parameter on the stack.
    Stack,
    /// By the address of memory that the callee owns.
    Address,
}

/// Some bytes of a value, as a value of another type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) ty: Type,
}

/// How all values of a function are passed.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) params: Vec<Pass>,
    pub(crate) result: Pass,
}

/// How the parameters and results of a function are passed, or a type that cannot be passed. Several results are one
/// struct.
pub(crate) fn signature(types: &Types, abi: Abi, params: &[Ty], results: &[Ty]) -> Result<Signature, Ty> {
    let mut registers = Registers::full(abi);
    let result = registers.result(types, results)?;
    let params = params.iter().map(|&ty| registers.param(types, ty)).collect::<Result<_, Ty>>()?;
    Ok(Signature { params, result })
}

/// The registers that are left for parameters.
struct Registers {
    abi: Abi,
    ints: usize,
    floats: usize,
}

impl Registers {
    fn full(abi: Abi) -> Registers {
        let ints = if abi == Abi::SysV { 6 } else { 8 };
        Registers { abi, ints, floats: 8 }
    }

    fn result(&mut self, types: &Types, results: &[Ty]) -> Result<Pass, Ty> {
        if let [one] = *results
            && let Some(extension) = direct(types, self.abi, one)
        {
            return Ok(Pass::Direct(extension));
        }
        let pass = Registers::full(self.abi).aggregate(types, results)?;
        match pass {
            Pass::Stack | Pass::Address => {
                // On AArch64 the address has a dedicated register.
                self.take(usize::from(self.abi != Abi::Aapcs64), 0);
                Ok(Pass::Address)
            }
            pass => Ok(pass),
        }
    }

    fn param(&mut self, types: &Types, ty: Ty) -> Result<Pass, Ty> {
        let Some(extension) = direct(types, self.abi, ty) else { return self.aggregate(types, &[ty]) };
        let in_float = types.lane_prim(ty).is_some_and(Prim::is_float) || types.is_simd(ty);
        match in_float && (self.floats > 0 || self.abi != Abi::Lp64d) {
            true => self.take(0, 1),
            false => self.take(1, 0),
        }
        Ok(Pass::Direct(extension))
    }

    fn take(&mut self, ints: usize, floats: usize) {
        self.ints = self.ints.saturating_sub(ints);
        self.floats = self.floats.saturating_sub(floats);
    }

    fn aggregate(&mut self, types: &Types, parts: &[Ty]) -> Result<Pass, Ty> {
        let whole = sequence(types, parts.iter().copied());
        if whole.size == 0 {
            return Ok(Pass::Nothing);
        }
        let scalars = Scalars::of(types, parts, whole)?;
        match self.abi {
            Abi::SysV => Ok(self.sysv(&scalars)),
            Abi::Aapcs64 => Ok(self.aapcs64(&scalars)),
            Abi::Lp64d => Ok(self.lp64d(&scalars)),
            Abi::Other => Err(parts[0]),
        }
    }

    /// Each eightbyte is passed in a float register if it has floats only. A value is passed in registers or on the
    /// stack as a whole.
    fn sysv(&mut self, scalars: &Scalars) -> Pass {
        if let [Scalar { kind: Kind::Vector(ty), .. }] = &scalars.list[..] {
            self.take(0, 1);
            return Pass::Pieces(vec![Piece { offset: 0, ty: ty.clone() }]);
        }
        if scalars.size > 16 {
            return Pass::Stack;
        }
        let words = (0..scalars.size.div_ceil(8)).map(|word| (word * 8, scalars.word(word * 8)));
        let pieces: Vec<Piece> = words.map(|(offset, ty)| Piece { offset, ty }).collect();
        let ints = pieces.iter().filter(|piece| piece.ty == Type::I64).count();
        let floats = pieces.len() - ints;
        if ints > self.ints || floats > self.floats {
            return Pass::Stack;
        }
        self.take(ints, floats);
        Pass::Pieces(pieces)
    }

    /// Up to four equal floats or vectors are passed in float registers, other values of up to sixteen bytes in integer
    /// registers. LLVM keeps the elements of an array together when registers run out.
    fn aapcs64(&mut self, scalars: &Scalars) -> Pass {
        if let Some((count, ty)) = scalars.homogeneous() {
            self.take(0, count);
            return Pass::Pieces(vec![Piece { offset: 0, ty: Type::array(count as u64, &ty) }]);
        }
        self.words(scalars)
    }

    /// A struct of one or two scalars, at least one of them a float, is passed like these scalars.
    fn lp64d(&mut self, scalars: &Scalars) -> Pass {
        let is_float = |scalar: &Scalar| matches!(scalar.kind, Kind::Float(_));
        let floats = scalars.list.iter().filter(|scalar| is_float(scalar)).count();
        let ints = scalars.list.len() - floats;
        let fits = scalars.list.len() <= 2 && floats > 0 && floats <= self.floats && ints <= self.ints;
        if !fits || scalars.has_union || scalars.list.iter().any(|scalar| scalar.size > 8) {
            return self.words(scalars);
        }
        self.take(ints, floats);
        let piece = |scalar: &Scalar| Piece { offset: scalar.offset, ty: scalar.ty() };
        Pass::Pieces(scalars.list.iter().map(piece).collect())
    }

    /// Up to two registers for integers, else memory.
    fn words(&mut self, scalars: &Scalars) -> Pass {
        let ty = match scalars.size {
            0..=8 => Type::I64,
            9..=16 if scalars.align > 8 => Type::int(128),
            9..=16 => Type::array(2, &Type::I64),
            _ => {
                self.take(1, 0);
                return Pass::Address;
            }
        };
        self.take(if scalars.size > 8 { 2 } else { 1 }, 0);
        Pass::Pieces(vec![Piece { offset: 0, ty }])
    }
}

/// How a scalar or vector is extended to a register; nothing for aggregates.
fn direct(types: &Types, abi: Abi, ty: Ty) -> Option<&'static str> {
    let prim = match types.kind(ty) {
        TyKind::Prim(prim) => *prim,
        TyKind::Ptr { .. } | TyKind::Simd { .. } => return Some(""),
        // As the address of its code. In an aggregate it cannot be passed.
        TyKind::Cn(_) => return Some(""),
        _ => return None,
    };
    Some(match (abi, prim) {
        // The callee extends its parameters.
        (Abi::Aapcs64, _) => "",
        (_, Prim::Bool | Prim::U8 | Prim::U16) => "zeroext",
        (_, Prim::I8 | Prim::I16) => "signext",
        // 32 bits are always sign-extended.
        (Abi::Lp64d, Prim::I32 | Prim::U32) => "signext",
        _ => "",
    })
}

/// Larger aggregates are passed in memory by every convention: four vectors are not larger.
const MAX_REGISTER_BYTES: u64 = 64;

/// The scalars of an aggregate.
struct Scalars {
    size: u64,
    align: u64,
    /// By offset; none if the aggregate is too large for registers.
    list: Vec<Scalar>,
    has_union: bool,
}

struct Scalar {
    offset: u64,
    size: u64,
    kind: Kind,
}

enum Kind {
    Int,
    Float(Prim),
    Vector(Type),
}

impl Scalar {
    fn ty(&self) -> Type {
        match &self.kind {
            Kind::Int => Type::int(8 * self.size as u32),
            Kind::Float(prim) => Type::from(*prim),
            Kind::Vector(ty) => ty.clone(),
        }
    }
}

impl Scalars {
    /// Of the struct with these fields, or a type that has no layout in C.
    fn of(types: &Types, parts: &[Ty], whole: Layout) -> Result<Scalars, Ty> {
        let Layout { size, align } = whole;
        let mut scalars = Scalars { size, align, list: vec![], has_union: false };
        let mut at = 0u64;
        let mut work: Vec<(u64, Ty)> = vec![];
        for &part in parts {
            let part_layout = layout(types, part);
            at = at.next_multiple_of(part_layout.align);
            work.push((at, part));
            at = at.saturating_add(part_layout.size);
        }
        while let Some((at, ty)) = work.pop() {
            match types.kind(ty) {
                TyKind::Cn(_) => return Err(ty),
                _ if size > MAX_REGISTER_BYTES || layout(types, ty).size == 0 => {}
                TyKind::Enum(id) => {
                    scalars.has_union = true;
                    let (_, tag_at, tag) = enum_layout(types, *id);
                    scalars.list.push(Scalar { offset: at + tag_at, size: tag, kind: Kind::Int });
                    work.extend(types.enums[*id].options.iter().map(|option| (at, option.payload)));
                }
                TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Simd { .. } => {
                    scalars.list.push(scalar(types, at, ty));
                }
                _ => {
                    let parts = (0..).map_while(|index| Some((index, types.part(ty, index)?)));
                    work.extend(parts.map(|(index, part)| (at + offset(types, ty, index), part)));
                }
            }
        }
        scalars.list.sort_by_key(|scalar| scalar.offset);
        Ok(scalars)
    }

    /// The type of the eightbyte at `offset`, on x86-64.
    fn word(&self, offset: u64) -> Type {
        let inside: Vec<&Scalar> =
            self.list.iter().filter(|scalar| (offset..offset + 8).contains(&scalar.offset)).collect();
        if inside.iter().any(|scalar| matches!(scalar.kind, Kind::Int)) {
            return Type::I64;
        }
        match inside[..] {
            [Scalar { size: 4, .. }] => Type::FLOAT,
            [Scalar { size: 4, .. }, Scalar { size: 4, .. }] => Type::vector(2, value::Scalar::Float),
            _ => Type::DOUBLE,
        }
    }

    /// The number and the type of up to four equal floats or vectors without gaps.
    fn homogeneous(&self) -> Option<(usize, Type)> {
        let first = self.list.first()?;
        let (count, ty) = (self.list.len(), first.ty());
        let is_same = |scalar: &Scalar| !matches!(scalar.kind, Kind::Int) && scalar.ty() == ty;
        let is_dense = self.size == first.size * count as u64;
        (count <= 4 && is_dense && self.list.iter().all(is_same)).then_some((count, ty))
    }
}

fn scalar(types: &Types, offset: u64, ty: Ty) -> Scalar {
    let kind = match types.kind(ty) {
        TyKind::Simd { elem, lanes } => {
            let lane = types.as_prim(*elem).map_or(value::Scalar::PTR, value::Scalar::from);
            Kind::Vector(Type::vector(*lanes, lane))
        }
        TyKind::Prim(prim) if prim.is_float() => Kind::Float(*prim),
        _ => Kind::Int,
    };
    Scalar { offset, size: layout(types, ty).size, kind }
}
