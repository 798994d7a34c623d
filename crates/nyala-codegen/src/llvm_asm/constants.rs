//! Constants: literals, and aggregates and addresses made of them.
//!
//! A value of an enum has no constant of the enum's LLVM type, whose storage is for any payload. As the initializer
//! of a global it is written with the type of its payload and padding: only the layout matters there.

use nyala_ir::layout::{enum_layout, layout, offset};
use nyala_ir::{Def, Node, Prim, TyKind};

use super::ModuleWriter;
use super::symbols::escaped;
use super::value::{Type, list};

impl ModuleWriter<'_> {
    /// `def` as a constant, without its type; none if it is computed at run time.
    pub(crate) fn constant(&mut self, def: Def) -> Option<String> {
        let world = self.world;
        match world.node(def) {
            Node::Lit(bits) => Some(match world.types.kind(world.ty(def)) {
                TyKind::Prim(prim) => literal(*prim, bits),
                _ if bits == 0 => "null".into(),
                _ => format!("inttoptr (i64 {bits} to {})", self.ty_of(def)),
            }),
            Node::Undef => Some("undef".into()),
            Node::Global(global) => Some(self.global(global)),
            Node::SizeOf(ty) => Some(layout(&world.types, ty).size.to_string()),
            Node::AlignOf(ty) => Some(layout(&world.types, ty).align.to_string()),
            Node::Known(_) => Some("false".into()),
            Node::Hide(value) | Node::Streaming(value) => self.constant(value),
            Node::Bitcast(value) if self.is_pointer(def) && self.is_pointer(value) => {
                let (from, to) = (self.ty_of(value), self.ty_of(def));
                let constant = self.constant(value)?;
                match from == to {
                    true => Some(constant),
                    false => Some(format!("addrspacecast ({from} {constant} to {to})")),
                }
            }
            Node::Aggregate(parts) => self.aggregate_constant(def, world.list(parts)),
            Node::Cont(cont) => self.function_constant(cont),
            _ => None,
        }
    }

    /// `def` as the initializer of a global: a type with the same layout, and a constant of it.
    pub(crate) fn initializer(&mut self, def: Def) -> Option<(Type, String)> {
        if let Some(constant) = self.part_constant(def) {
            return Some(constant);
        }
        let world = self.world;
        let ty = world.ty(def);
        let mut laid_out = LaidOut::default();
        match world.node(def) {
            Node::Hide(value) => return self.initializer(value),
            Node::Aggregate(parts) => {
                for (index, &part) in (0..).zip(world.list(parts)) {
                    let (part_ty, value) = self.initializer(part)?;
                    let size = layout(&world.types, world.ty(part)).size;
                    laid_out.add(offset(&world.types, ty, index), size, part_ty, &value);
                }
            }
            Node::Variant { option, payload } => {
                let TyKind::Enum(id) = *world.types.kind(ty) else { return None };
                let (payload_ty, value) = self.initializer(payload)?;
                laid_out.add(0, layout(&world.types, world.ty(payload)).size, payload_ty, &value);
                let (_, tag_at, tag_size) = enum_layout(&world.types, id);
                laid_out.add(tag_at, tag_size, self.types.tag(id), &option.to_string());
            }
            _ => return None,
        }
        Some(laid_out.finish(layout(&world.types, ty).size))
    }

    fn is_pointer(&self, def: Def) -> bool {
        matches!(self.world.types.kind(self.world.ty(def)), TyKind::Ptr { .. })
    }

    fn aggregate_constant(&mut self, def: Def, parts: &[Def]) -> Option<String> {
        if let Some(bytes) = self.byte_string(def, parts) {
            return Some(format!("c\"{}\"", escaped(&bytes)));
        }
        let is_simd = self.world.types.is_simd(self.world.ty(def));
        let mut texts = Vec::with_capacity(parts.len());
        for &part in parts {
            texts.push(match is_simd {
                true => format!("{} {}", self.ty_of(part), self.constant(part)?),
                false => {
                    let (ty, value) = self.part_constant(part)?;
                    format!("{ty} {value}")
                }
            });
        }
        let list = texts.join(", ");
        Some(match self.world.types.kind(self.world.ty(def)) {
            TyKind::Array { .. } => format!("[{list}]"),
            TyKind::Simd { .. } => format!("<{list}>"),
            _ if list.is_empty() => "{}".into(),
            _ => format!("{{ {list} }}"),
        })
    }

    /// A type and `def` as a constant of it, as a part of an aggregate or of memory.
    fn part_constant(&mut self, def: Def) -> Option<(Type, String)> {
        let (ty, world) = (self.part_ty(self.world.ty(def)), self.world);
        let value = match world.node(def) {
            Node::Aggregate(lanes) if ty != self.ty_of(def) => {
                let lane = |&lane: &Def| world.as_lit(lane).map(|bit| format!("i8 {bit}"));
                let lanes: Option<Vec<String>> = world.list(lanes).iter().map(lane).collect();
                format!("<{}>", lanes?.join(", "))
            }
            _ => self.constant(def)?,
        };
        Some((ty, value))
    }

    /// The bytes of an array of bytes.
    fn byte_string(&self, def: Def, parts: &[Def]) -> Option<Vec<u8>> {
        let elem = match self.world.types.kind(self.world.ty(def)) {
            TyKind::Array { elem, .. } => self.world.types.as_prim(*elem),
            _ => None,
        };
        matches!(elem, Some(Prim::U8 | Prim::I8))
            .then(|| parts.iter().map(|&part| self.world.as_lit(part).map(|bits| bits as u8)).collect())?
    }
}

/// A packed struct with explicit padding.
#[derive(Default)]
struct LaidOut {
    size: u64,
    types: Vec<Type>,
    values: Vec<String>,
}

impl LaidOut {
    fn pad(&mut self, to: u64) {
        if let Some(padding) = to.checked_sub(self.size).filter(|&padding| padding > 0) {
            let ty = Type::array(padding, &Type::I8);
            self.values.push(format!("{ty} zeroinitializer"));
            self.types.push(ty);
            self.size = to;
        }
    }

    fn add(&mut self, at: u64, size: u64, ty: Type, value: &str) {
        self.pad(at);
        self.values.push(format!("{ty} {value}"));
        self.types.push(ty);
        self.size += size;
    }

    fn finish(mut self, size: u64) -> (Type, String) {
        self.pad(size);
        let ty = Type::Aggregate(format!("<{{ {} }}>", list(&self.types)));
        (ty, format!("<{{ {} }}>", self.values.join(", ")))
    }
}

/// A literal of a primitive type.
pub(crate) fn literal(prim: Prim, bits: u64) -> String {
    match prim {
        Prim::Bool => (bits != 0).to_string(),
        Prim::F16 => format!("0xH{bits:04X}"),
        Prim::F32 => format!("0x{:016X}", widened(bits as u32)),
        Prim::F64 => format!("0x{bits:016X}"),
        _ => {
            let unused = 64 - prim.bits();
            ((bits << unused) as i64 >> unused).to_string()
        }
    }
}

/// The bits of the double that equals a float, which is how LLVM writes floats.
/// A NaN keeps its payload, which a conversion might change.
fn widened(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if !value.is_nan() {
        return f64::from(value).to_bits();
    }
    let (sign, fraction) = (u64::from(bits >> 31), u64::from(bits & 0x7f_ffff));
    sign << 63 | 0x7ff << 52 | fraction << 29
}
