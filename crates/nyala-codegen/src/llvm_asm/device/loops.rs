//! Short loops of kernels are unrolled completely.
//!
//! LLVM unrolls a loop with a known number of iterations up to a size that suits CPUs. A GPU executes its
//! instructions in order: those that count and compute addresses take the place of arithmetic, and loads of one
//! iteration wait for the previous one.

use crate::llvm_asm::function::FunctionWriter;

/// The most operations of an unrolled loop.
const MAX_OPERATIONS: u64 = 1024;

/// The number of the first node of metadata for loops; those of debug information are below.
const FIRST_NODE: usize = 1_000_000;

impl FunctionWriter<'_, '_> {
    /// The attachment of a jump back to the header of a loop.
    pub(in crate::llvm_asm) fn unrolling(&mut self, header: usize) -> String {
        if self.module.options.gpu.is_none() || !self.flow.dominates_current(header) {
            return String::new();
        }
        let is_short = self.flow.counted_loop(header).is_some_and(|counted| {
            let size = counted.n_trips.saturating_mul(counted.n_operations as u64);
            size <= MAX_OPERATIONS
        });
        if !is_short {
            return String::new();
        }
        self.module.n_unrolled_loops += 1;
        format!(", !llvm.loop !{}", FIRST_NODE + self.module.n_unrolled_loops)
    }
}

/// The metadata of this many loops.
pub(in crate::llvm_asm) fn metadata(n_loops: usize) -> String {
    if n_loops == 0 {
        return String::new();
    }
    let node = |index: usize| {
        let number = FIRST_NODE + index;
        format!("!{number} = distinct !{{!{number}, !{FIRST_NODE}}}\n")
    };
    let nodes: String = (1..=n_loops).map(node).collect();
    format!("!{FIRST_NODE} = !{{!\"llvm.loop.unroll.full\"}}\n{nodes}")
}
