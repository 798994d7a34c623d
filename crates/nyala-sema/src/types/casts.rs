//! Which types `as` converts between.

use super::{Ty, TyKind, Types};

/// What a message about an impossible cast adds.
pub const CASTS: &str = "casts convert between numbers, `bool`, and pointers; `bitcast` keeps the bits";

impl Types {
    /// Whether `as` converts from `from` to `to`. Of a type parameter only an instance tells: lowering asks again.
    pub fn can_cast(&self, from: Ty, to: Ty) -> bool {
        match (self.kind(from), self.kind(to)) {
            _ if from == to => true,
            (TyKind::Error | TyKind::Infer(_) | TyKind::Param(_), _)
            | (_, TyKind::Error | TyKind::Infer(_) | TyKind::Param(_)) => true,
            (TyKind::Prim(_), TyKind::Prim(_)) | (TyKind::Ptr { .. }, TyKind::Ptr { .. }) => true,
            (TyKind::Ptr { .. }, TyKind::Prim(prim)) | (TyKind::Prim(prim), TyKind::Ptr { .. }) => {
                prim.is_int()
            }
            (TyKind::Simd(a, n), TyKind::Simd(b, m)) => n == m && self.can_cast(*a, *b),
            _ => false,
        }
    }
}
