//! Accumulators of loops over groups of lanes.
//!
//! A loop that adds up `lanes_sum` of each group combines the lanes in every iteration, by a tree of permutes,
//! although only the last result is used. This pass gives such a loop accumulators with one element for each lane,
//! and combines them once behind the loop:
//!
//! ```text
//! loop:                                   loop:
//!   s = phi [s0], [next]                    v = phi [zero], [next]
//!   next = s + combined(x)          =>      next = v + x
//! exit:                                   exit:
//!   use next                                use s0 + combined(next)
//! ```
//!
//! The operation must be associative and commutative: that of integers, or of floats with the flag `reassoc`, which
//! `--fast-math` sets. If LLVM has unrolled the loop, it gets up to [`MAX_ACCUMULATORS`] of them, to hide the latency.
//!
//! [`find`] recognizes such a reduction; [`rewrite`] replaces it.

mod find;
mod rewrite;

use std::collections::HashSet;
use std::ffi::{CStr, c_int, c_uint};

use super::Llvm;
use super::api::{Api, Ref, list};

/// The number of accumulators of an unrolled loop: the latency of an addition times the additions of one cycle.
const MAX_ACCUMULATORS: usize = 4;

/// LLVM's passes that remove what has become unused.
pub(super) const PASSES_AFTER: &str = "function(adce,simplifycfg)";

/// `LLVMOpcode`s.
const FADD: c_int = 9;
const PHI: c_int = 44;

/// `LLVMVectorTypeKind`.
const VECTOR: c_int = 13;

/// Gives accumulators to all loops of a module that reduce groups of lanes. Returns whether there was one.
///
/// # Safety
/// The module is alive and of that context, and no other code uses it.
pub(super) unsafe fn introduce(llvm: &Llvm, context: Ref, module: Ref) -> bool {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once. New phis are inserted before the listed ones.
    unsafe {
        let builder = (api.LLVMCreateBuilderInContext)(context);
        let rewriter = Rewriter { api, context, module, builder };
        let mut has_changed = false;
        let functions = list((api.LLVMGetFirstFunction)(module), |it| (api.LLVMGetNextFunction)(it));
        for function in functions {
            let blocks = list((api.LLVMGetFirstBasicBlock)(function), |it| (api.LLVMGetNextBasicBlock)(it));
            for phi in blocks.into_iter().flat_map(|block| rewriter.phis(block)) {
                if let Some(reduction) = rewriter.reduction_of(phi) {
                    rewriter.rewrite(&reduction);
                    has_changed = true;
                }
            }
        }
        (api.LLVMDisposeBuilder)(builder);
        has_changed
    }
}

/// An associative and commutative operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// By opcode: an operation with the neutral element 0, not idempotent.
    Sum(c_int),
    /// By opcode: an idempotent operation.
    Logic(c_int),
    /// By intrinsic: a minimum or maximum, which are idempotent.
    Bound(&'static CStr),
}

impl Operation {
    fn is_idempotent(self) -> bool {
        !matches!(self, Operation::Sum(_))
    }
}

/// A reduction in a loop: each iteration combines the value so far with the lanes of vectors.
struct Reduction {
    operation: Operation,
    phi: Ref,
    /// The value before the loop, and the block where the loop is entered.
    before: (Ref, Ref),
    /// The value after an iteration, and the last block of the loop.
    next: (Ref, Ref),
    /// The vectors whose lanes are combined, all of one type, and the other values.
    vectors: Vec<Ref>,
    scalars: Vec<Ref>,
    exit: Exit,
}

/// The uses of the result behind the loop.
enum Exit {
    /// Code that this block dominates; only the loop enters it.
    Block(Ref),
    /// These phis, which also have values from blocks outside of the loop; and the blocks of the loop.
    Phis(Vec<Ref>, HashSet<Ref>),
}

/// A module that is rewritten. The methods are unsafe for one reason: all arguments must be alive and of `module`,
/// and no other code may use it meanwhile.
struct Rewriter<'a> {
    api: &'a Api,
    context: Ref,
    module: Ref,
    builder: Ref,
}

impl Rewriter<'_> {
    unsafe fn opcode(&self, value: Ref) -> Option<c_int> {
        // SAFETY: see `Rewriter`; only instructions have opcodes.
        unsafe {
            let is_instruction = !(self.api.LLVMIsAInstruction)(value).is_null();
            is_instruction.then(|| (self.api.LLVMGetInstructionOpcode)(value))
        }
    }

    unsafe fn operand(&self, value: Ref, index: c_uint) -> Ref {
        // SAFETY: the index is that of an operand.
        unsafe { (self.api.LLVMGetOperand)(value, index) }
    }

    unsafe fn block_of(&self, instruction: Ref) -> Ref {
        // SAFETY: see `Rewriter`.
        unsafe { (self.api.LLVMGetInstructionParent)(instruction) }
    }

    unsafe fn users(&self, value: Ref) -> Vec<Ref> {
        // SAFETY: see `Rewriter`.
        unsafe {
            let uses = list((self.api.LLVMGetFirstUse)(value), |it| (self.api.LLVMGetNextUse)(it));
            uses.into_iter().map(|it| (self.api.LLVMGetUser)(it)).collect()
        }
    }

    unsafe fn phis(&self, block: Ref) -> Vec<Ref> {
        // SAFETY: see `Rewriter`.
        unsafe {
            let all =
                list((self.api.LLVMGetFirstInstruction)(block), |it| (self.api.LLVMGetNextInstruction)(it));
            all.into_iter().take_while(|&it| self.opcode(it) == Some(PHI)).collect()
        }
    }

    /// The values of a phi with the blocks that they come from.
    unsafe fn incoming(&self, phi: Ref) -> Vec<(Ref, Ref)> {
        let api = self.api;
        // SAFETY: see `Rewriter`.
        unsafe {
            let all = 0..(api.LLVMCountIncoming)(phi);
            all.map(|at| ((api.LLVMGetIncomingValue)(phi, at), (api.LLVMGetIncomingBlock)(phi, at))).collect()
        }
    }

    unsafe fn is_vector(&self, value: Ref) -> bool {
        // SAFETY: see `Rewriter`.
        unsafe { (self.api.LLVMGetTypeKind)((self.api.LLVMTypeOf)(value)) == VECTOR }
    }

    unsafe fn n_lanes(&self, vector: Ref) -> usize {
        // SAFETY: the value is a vector.
        unsafe { (self.api.LLVMGetVectorSize)((self.api.LLVMTypeOf)(vector)) as usize }
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::Output;
    use crate::llvm::testing::{X86, compiled};

    /// A loop that combines the lanes of each group of four by `combine`, and `next` with the result of the groups
    /// before.
    fn program(ty: &str, combine: &str, next: &str) -> String {
        format!(
            "define {ty} @f(ptr %p, i64 %n, {ty} %start) {{
             entry:
               br label %loop
             loop:
               %i = phi i64 [ 0, %entry ], [ %j, %loop ]
               %sum = phi {ty} [ %start, %entry ], [ %next, %loop ]
               %at = getelementptr <4 x {ty}>, ptr %p, i64 %i
               %x = load <4 x {ty}>, ptr %at
               %a = shufflevector <4 x {ty}> %x, <4 x {ty}> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
               %b = {combine} <4 x {ty}> %x, %a
               %c = shufflevector <4 x {ty}> %b, <4 x {ty}> poison, <4 x i32> <i32 1, i32 2, i32 3, i32 0>
               %d = {combine} <4 x {ty}> %b, %c
               %lane = extractelement <4 x {ty}> %d, i64 0
               %next = {next} {ty} %sum, %lane
               %j = add i64 %i, 1
               %more = icmp ult i64 %j, %n
               br i1 %more, label %loop, label %exit
             exit:
               ret {ty} %next
             }}"
        )
    }

    /// Whether the optimized program reduces lanes in a loop.
    fn reduces_lanes_in_loop(text: &str) -> bool {
        let code = compiled(text, X86, "x86-64-v3", Output::Llvm);
        let loops = code.split("\n\n").filter(|block| {
            let label = block.split(':').next().unwrap_or_default();
            block.lines().any(|line| line.contains("br ") && line.contains(&format!("label %{label}")))
        });
        let loops: Vec<&str> = loops.collect();
        assert!(!loops.is_empty(), "{code}");
        loops.iter().any(|block| block.contains("shufflevector") || block.contains("vector.reduce"))
    }

    #[test]
    fn sums_of_integers_are_combined_behind_the_loop() {
        for operation in ["add", "xor", "or", "and"] {
            assert!(!reduces_lanes_in_loop(&program("i32", operation, operation)), "{operation}");
        }
    }

    #[test]
    fn sums_of_floats_are_combined_behind_the_loop_if_they_may_be_reordered() {
        assert!(!reduces_lanes_in_loop(&program("float", "fadd", "fadd reassoc nsz")));
        assert!(reduces_lanes_in_loop(&program("float", "fadd", "fadd")));
    }

    #[test]
    fn reductions_with_another_operator_stay_in_the_loop() {
        assert!(reduces_lanes_in_loop(&program("i32", "or", "add")));
    }

    #[test]
    fn sums_that_are_stored_in_each_iteration_stay_in_the_loop() {
        let text = program("i32", "add", "add").replace("%j = add", "store i32 %next, ptr %p\n %j = add");
        assert!(reduces_lanes_in_loop(&text));
    }
}
