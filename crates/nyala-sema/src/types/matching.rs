//! Types with parameters as patterns: which arguments make them equal to a given type.

use rustc_hash::FxHashMap;

use super::{Ty, TyKind, TyParam, Types};

impl Types {
    /// The arguments with which each pattern is equal to its type, which has no parameters; `None` if there are none.
    pub fn match_all(&mut self, patterns: &[Ty], tys: &[Ty]) -> Option<FxHashMap<TyParam, Ty>> {
        let mut found = FxHashMap::default();
        let fit = patterns.len() == tys.len()
            && patterns.iter().zip(tys).all(|(&pattern, &ty)| self.matches(pattern, ty, &mut found));
        // Computed lengths match anything at first.
        let is_equal = |(&pattern, &ty): (&Ty, &Ty)| self.substitute(pattern, &found) == ty;
        (fit && patterns.iter().zip(tys).all(is_equal)).then_some(found)
    }

    fn matches(&self, pattern: Ty, ty: Ty, found: &mut FxHashMap<TyParam, Ty>) -> bool {
        if !self.info(pattern).has_param {
            return pattern == ty;
        }
        let mut all = |patterns: &[Ty], tys: &[Ty]| {
            patterns.len() == tys.len()
                && patterns.iter().zip(tys).all(|(&pattern, &ty)| self.matches(pattern, ty, found))
        };
        match (self.kind(pattern), self.kind(ty)) {
            (TyKind::Param(param), _) => *found.entry(*param).or_insert(ty) == ty,
            (TyKind::Arith(..), TyKind::Number(_)) => true,
            (TyKind::Struct(a, x), TyKind::Struct(b, y)) => a == b && all(x, y),
            (TyKind::Enum(a, x), TyKind::Enum(b, y)) => a == b && all(x, y),
            (TyKind::Tuple(x), TyKind::Tuple(y)) => all(x, y),
            (TyKind::Array(x, n), TyKind::Array(y, m)) | (TyKind::Simd(x, n), TyKind::Simd(y, m)) => {
                all(&[*x, *n], &[*y, *m])
            }
            (TyKind::Slice(x), TyKind::Slice(y)) => all(&[*x], &[*y]),
            (
                TyKind::Ptr { kind, space, pointee },
                TyKind::Ptr { kind: other, space: other_space, pointee: target },
            ) => kind == other && space == other_space && all(&[*pointee], &[*target]),
            (TyKind::Fn { params, ret }, TyKind::Fn { params: others, ret: result }) => {
                all(params, others) && all(&[*ret], &[*result])
            }
            _ => false,
        }
    }
}
