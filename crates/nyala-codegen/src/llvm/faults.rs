//! The supported versions of LLVM, and what is wrong with them.
//!
//! A [`Fault`] is wrong code that some supported version makes, or a crash, and that is worked around. This module
//! is the only list of which version has which fault. `tests/llvm_faults.rs` compiles a small module for each fault
//! with the LLVM that is found, without work-arounds. It fails where the table is wrong, so a work-around that no
//! supported version needs is noticed.

use std::fmt;
use std::ops::RangeInclusive;

use super::Llvm;

/// The major versions that can be used.
pub const SUPPORTED: RangeInclusive<u32> = 20..=22;

/// A version of LLVM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// What the table of faults is about.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Wrong code that LLVM makes, and crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Loops over narrow indices are vectorized as if these did not wrap around; see `assumptions`.
    /// (llvm-project#191382)
    NarrowIndices,
    /// A masked store of one lane with AVX512 stores more than that; see `single_lanes`. (llvm-project#179489)
    SingleLaneStores,
    /// x86-64: caller and callee of a `tailcc` function disagree about vectors on the stack;
    /// see Note [Vectors on the stack].
    StackVectors,
    /// x86-64: a crash where a tail call has the result of a comparison on the stack; see Note [Bytes on the stack].
    StackBytes,
    /// The known bits of `x + (x ^ c)` are wrong where `x` has just become known, so a division by it is folded to
    /// a wrong value. Its operands are written so that LLVM does not see the pattern: in `llvm_asm/ops.rs`.
    SumWithXor,
    /// AArch64: shrink-wrapped functions return without removing their arguments from the stack.
    ShrinkWrapping,
    /// AArch64: without optimization, `tailcc` functions do not remove their arguments from the stack.
    UnoptimizedTailcc,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 7] = [
        Fault::NarrowIndices,
        Fault::SingleLaneStores,
        Fault::StackVectors,
        Fault::StackBytes,
        Fault::SumWithXor,
        Fault::ShrinkWrapping,
        Fault::UnoptimizedTailcc,
    ];

    /// The supported versions that have the fault.
    pub fn versions(self) -> RangeInclusive<u32> {
        match self {
            Fault::SingleLaneStores | Fault::SumWithXor => 22..=22,
            Fault::NarrowIndices
            | Fault::StackVectors
            | Fault::StackBytes
            | Fault::ShrinkWrapping
            | Fault::UnoptimizedTailcc => 20..=22,
        }
    }

    /// Whether the fault has to be worked around.
    pub(super) fn matters_to(self, llvm: &Llvm) -> bool {
        llvm.works_around_faults && self.versions().contains(&llvm.version.major)
    }
}
