//! Known arguments of specializations: numbers and aggregates.
//!
//! A struct, a tuple or an array by value is a list of its parts ([`Known::parts`], or an array of Rust). A
//! pointer to constant data is the data itself ([`Known::slice`], [`Known::text`]). It becomes part of the
//! program: the evaluator reads it at known indices, residual code at unknown ones.

use std::fmt;

use nyala_ir::{Def, Ty, TyKind, Types, World};
use nyala_span::Prim;

/// A known argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Known(Data);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Data {
    Number {
        prim: Prim,
        bits: u64,
    },
    /// The parts of a struct, tuple or array.
    Parts(Vec<Known>),
    /// A pointer to constant data.
    Slice(Vec<Known>),
}

macro_rules! known {
    ($($ty:ty, $prim:ident, $value:ident => $bits:expr;)*) => {
        $(
            impl From<$ty> for Known {
                fn from($value: $ty) -> Known {
                    Known(Data::Number { prim: Prim::$prim, bits: $bits })
                }
            }
        )*
    };
}

known! {
    bool, Bool, value => value.into();
    i8, I8, value => value.cast_unsigned().into();
    i16, I16, value => value.cast_unsigned().into();
    i32, I32, value => value.cast_unsigned().into();
    i64, I64, value => value.cast_unsigned();
    u8, U8, value => value.into();
    u16, U16, value => value.into();
    u32, U32, value => value.into();
    u64, U64, value => value;
    f32, F32, value => value.to_bits().into();
    f64, F64, value => value.to_bits();
}

/// An array by value.
impl<T: Into<Known>, const N: usize> From<[T; N]> for Known {
    fn from(parts: [T; N]) -> Known {
        Known::parts(parts.map(Into::into))
    }
}

impl Known {
    /// A struct, a tuple or an array by value, from its parts in order.
    pub fn parts(parts: impl IntoIterator<Item = Known>) -> Known {
        Known(Data::Parts(parts.into_iter().collect()))
    }

    /// A pointer to constant data: `&[T]`, `&[T * N]`, or `&T`.
    pub fn slice<T: Clone + Into<Known>>(values: &[T]) -> Known {
        Known(Data::Slice(values.iter().cloned().map(Into::into).collect()))
    }

    /// A pointer to a string: its bytes and a terminating zero.
    pub fn text(text: &str) -> Known {
        Known(Data::Slice(text.bytes().chain([0]).map(Into::into).collect()))
    }

    /// Whether it is a pointer.
    pub(super) fn is_pointer(&self) -> bool {
        matches!(self.0, Data::Slice(_))
    }

    /// Whether it is a value of a type of the program.
    pub(super) fn fits(&self, types: &Types, ty: Ty) -> bool {
        match (&self.0, types.kind(ty)) {
            (Data::Number { prim, .. }, TyKind::Prim(other)) => prim == other,
            (Data::Parts(parts), TyKind::Array { elem, len }) => {
                *len == parts.len() as u64 && parts.iter().all(|part| part.fits(types, *elem))
            }
            (Data::Parts(parts), TyKind::Struct(_) | TyKind::Tuple(_)) => {
                let n_parts = parts.len() as u64;
                let fits = |(index, part): (u64, &Known)| {
                    types.part(ty, index).is_some_and(|part_ty| part.fits(types, part_ty))
                };
                (0..).zip(parts).all(fits) && types.part(ty, n_parts).is_none()
            }
            (Data::Slice(values), TyKind::Ptr { pointee, space: 0 }) => {
                let (elem, is_long_enough) = match *types.kind(*pointee) {
                    TyKind::Slice(elem) => (elem, true),
                    TyKind::Array { elem, len } => (elem, len == values.len() as u64),
                    _ => (*pointee, values.len() == 1),
                };
                is_long_enough && values.iter().all(|value| value.fits(types, elem))
            }
            _ => false,
        }
    }

    /// Its value in the program, for a matching type.
    pub(super) fn value(&self, world: &mut World, ty: Ty) -> Option<Def> {
        match &self.0 {
            Data::Number { prim, bits } => Some(world.lit(*prim, *bits)),
            Data::Parts(parts) => {
                let parts: Option<Vec<Def>> = (0..)
                    .zip(parts)
                    .map(|(index, part)| {
                        let part_ty = world.types.elem(ty).or_else(|| world.types.part(ty, index))?;
                        part.value(world, part_ty)
                    })
                    .collect();
                Some(world.aggregate(ty, &parts?))
            }
            Data::Slice(values) => {
                let (pointee, _) = world.types.as_ptr(ty)?;
                let elem = world.types.elem(pointee).unwrap_or(pointee);
                let parts: Option<Vec<Def>> = values.iter().map(|value| value.value(world, elem)).collect();
                let array = world.types.array(elem, values.len() as u64);
                let all = world.aggregate(array, &parts?);
                let address = world.constant(all);
                Some(world.bitcast(ty, address))
            }
        }
    }
}

/// A description for messages.
impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Data::Slice(values) => match values.first() {
                Some(first) => write!(f, "a pointer to {} of `{}`", values.len(), Shape(first)),
                None => f.write_str("a pointer to nothing"),
            },
            _ => write!(f, "`{}`", Shape(self)),
        }
    }
}

/// The types of a value's parts.
struct Shape<'a>(&'a Known);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.0 {
            Data::Number { prim, .. } => write!(f, "{prim}"),
            Data::Parts(parts) => {
                f.write_str("(")?;
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{}{}", if index > 0 { ", " } else { "" }, Shape(part))?;
                }
                f.write_str(")")
            }
            Data::Slice(_) => f.write_str("*const _"),
        }
    }
}
