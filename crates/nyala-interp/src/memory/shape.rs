//! The layout of values in memory.
//!
//! A [`Shape`] is a type with its layout, so that loads and stores do not compute
//! the layout again.

use std::rc::Rc;

use nyala_ir::layout;
use nyala_ir::{Prim, Ty, TyKind, Types};
use rustc_hash::FxHashMap;

/// A type with its layout.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) kind: ShapeKind,
}

/// The components of a value.
#[derive(Debug)]
pub(crate) enum ShapeKind {
    Prim(Prim),
    Ptr,
    Fn,
    /// A tuple or struct: parts with their offsets.
    Parts(Vec<(u64, Rc<Shape>)>),
    /// An array or simd value.
    Repeat {
        elem: Rc<Shape>,
        len: u64,
    },
    Enum {
        tag_at: u64,
        tag_size: u64,
        options: Vec<Rc<Shape>>,
    },
    /// Without values in memory: `mem`, `[T]`.
    Nothing,
}

/// The shapes of types, computed once.
#[derive(Default)]
pub(crate) struct Shapes {
    known: FxHashMap<Ty, Rc<Shape>>,
}

impl Shapes {
    /// The shape of `ty`. Recurses on the nesting of types, which the program's
    /// declarations bound.
    pub(crate) fn of(&mut self, types: &Types, ty: Ty) -> Rc<Shape> {
        if let Some(shape) = self.known.get(&ty) {
            return shape.clone();
        }
        let layout = layout::layout(types, ty);
        let kind = self.kind(types, ty);
        let shape = Rc::new(Shape { size: layout.size, align: layout.align, kind });
        self.known.insert(ty, shape.clone());
        shape
    }

    fn kind(&mut self, types: &Types, ty: Ty) -> ShapeKind {
        match types.kind(ty) {
            TyKind::Prim(prim) => ShapeKind::Prim(*prim),
            TyKind::Ptr { .. } => ShapeKind::Ptr,
            TyKind::Cn(_) => ShapeKind::Fn,
            TyKind::Tuple(parts) => self.parts(types, ty, parts),
            TyKind::Struct(id) => {
                let fields: Vec<Ty> = types.structs[*id].fields.iter().map(|field| field.ty).collect();
                self.parts(types, ty, &fields)
            }
            TyKind::Array { elem, len } => ShapeKind::Repeat { elem: self.of(types, *elem), len: *len },
            TyKind::Simd { elem, lanes } => {
                ShapeKind::Repeat { elem: self.of(types, *elem), len: u64::from(*lanes) }
            }
            TyKind::Enum(id) => {
                let (_, tag_at, tag_size) = layout::enum_layout(types, *id);
                let options = types.enums[*id].options.iter();
                let options = options.map(|option| self.of(types, option.payload)).collect();
                ShapeKind::Enum { tag_at, tag_size, options }
            }
            TyKind::Mem | TyKind::Slice(_) => ShapeKind::Nothing,
        }
    }

    fn parts(&mut self, types: &Types, ty: Ty, parts: &[Ty]) -> ShapeKind {
        let offsets = (0..).map(|i| layout::offset(types, ty, i));
        ShapeKind::Parts(offsets.zip(parts.iter().map(|&part| self.of(types, part))).collect())
    }
}
