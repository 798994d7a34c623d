//! Positions in source text.
//!
//! All files of a compilation share one numbering: a file added to a
//! [`SourceMap`](crate::SourceMap) gets a base offset, and a [`Span`] is a range
//! in that numbering. So a span is eight bytes and names its file by itself.

use std::fmt;

/// A half-open range of bytes `lo..hi` in the numbering of a `SourceMap`.
///
/// Position 0 belongs to no file: [`Span::NONE`] is the span of things that
/// have no source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// The span of nodes without source text.
    pub const NONE: Span = Span { lo: 0, hi: 0 };

    /// The range `lo..hi`.
    pub fn new(lo: u32, hi: u32) -> Span {
        debug_assert!(lo <= hi);
        Span { lo, hi }
    }

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.hi == 0
    }

    /// The smallest span that covers both; `NONE` is neutral.
    pub fn to(self, other: Span) -> Span {
        match (self.is_none(), other.is_none()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span::new(self.lo.min(other.lo), self.hi.max(other.hi)),
        }
    }

    /// This span, or another one if this is [`Span::NONE`].
    pub fn or(self, otherwise: Span) -> Span {
        if self.is_none() { otherwise } else { self }
    }

    /// The empty span at the end of this one: where something is missing.
    pub fn end(self) -> Span {
        Span::new(self.hi, self.hi)
    }

    /// The empty span at the start of this one.
    pub fn start(self) -> Span {
        Span::new(self.lo, self.lo)
    }

    /// Whether `pos` lies inside.
    pub fn contains(self, pos: u32) -> bool {
        self.lo <= pos && pos < self.hi
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.lo, self.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_with_none_is_neutral() {
        let span = Span::new(3, 5);
        assert_eq!(span.to(Span::NONE), span);
        assert_eq!(Span::NONE.to(span), span);
        assert_eq!(span.to(Span::new(7, 9)), Span::new(3, 9));
    }
}
