//! Loops that LLVM vectorizes under assumptions.
//!
//! LLVM's loop vectorizer may assume that an index does not wrap around, and tests that before the loop. LLVM 20 to
//! 22 apply the test of a wide index to a narrow one: `p(4 * i + (k & 3)) = 1` in a loop over `k` becomes one
//! contiguous store of four elements, although `k & 3` wraps around in between. (llvm-project#191382; see
//! [`Fault::NarrowIndices`].)
//!
//! So a program is compiled again, without LLVM's loop vectorizer, if it tested such an assumption in a function
//! where narrow numbers are part of an index. The scalar loop, which is executed where the test fails, is still
//! there, and so is the index. SIMD code of `vectorize` is unaffected.

use std::ffi::{CStr, c_int, c_uint};
use std::slice;

use super::Llvm;
use super::api::Ref;
use super::faults::Fault;

/// The prefix of the labels of tests of assumptions.
const TEST_LABEL: &[u8] = b"vector.scevcheck";

/// LLVM does not vectorize functions with this attribute. Their vectors stay.
const NO_NEW_VECTORS: &CStr = c"noimplicitfloat";

/// `LLVMAttributeFunctionIndex`: an attribute of a function, not of its parameters.
const OF_FUNCTION: c_uint = c_uint::MAX;

/// Whether loops were vectorized under assumptions that this LLVM may get wrong.
///
/// # Safety
/// The module is alive and no other code uses it.
pub(super) unsafe fn may_be_wrong(llvm: &Llvm, module: Ref) -> bool {
    // SAFETY: the caller's promise; blocks belong to their function, and names to their block.
    Fault::NarrowIndices.matters_to(llvm)
        && unsafe { functions(llvm, module) }.any(|function| unsafe { tests_assumption(llvm, function) })
}

/// Whether the vectorizer tests an assumption in a function where a narrow number is part of an index.
///
/// # Safety
/// The function is alive and no other code uses it.
unsafe fn tests_assumption(llvm: &Llvm, function: Ref) -> bool {
    let api = &llvm.api;
    let (mut has_test, mut has_narrow) = (false, false);
    // SAFETY: the caller's promise; blocks belong to their function, and names and instructions to their block.
    unsafe {
        let mut block = (api.LLVMGetFirstBasicBlock)(function);
        while !block.is_null() {
            let mut len = 0;
            let name = (api.LLVMGetValueName2)((api.LLVMBasicBlockAsValue)(block), &mut len);
            has_test |= slice::from_raw_parts(name.cast::<u8>(), len).starts_with(TEST_LABEL);
            let mut instruction = (api.LLVMGetFirstInstruction)(block);
            while !instruction.is_null() && !has_narrow {
                has_narrow = (api.LLVMGetInstructionOpcode)(instruction) == GEP && {
                    let n_operands = (api.LLVMGetNumOperands)(instruction) as c_uint;
                    (1..n_operands).any(|index| is_narrow(llvm, (api.LLVMGetOperand)(instruction, index)))
                };
                instruction = (api.LLVMGetNextInstruction)(instruction);
            }
            block = (api.LLVMGetNextBasicBlock)(block);
        }
    }
    has_test && has_narrow
}

/// `LLVMOpcode`s of integer operations.
const GEP: c_int = 29;
const AND: c_int = 23;
const PHI: c_int = 44;
/// Sums, differences, products, shifts, `or`, and conversions: indices are computed by these.
const STEPS: [c_int; 8] = [8, 10, 12, 20, 24, 30, 31, 32];

/// `LLVMIntegerTypeKind`.
const INTEGER: c_int = 8;

/// Indices of fewer bits are narrow.
const INDEX_BITS: c_uint = 32;

/// The depth to which operands are analyzed.
const MAX_VALUES: usize = 64;

/// Whether an index is computed from a number of less than 32 bits, or from some low bits of one.
///
/// # Safety
/// The value is alive and no other code uses its module.
unsafe fn is_narrow(llvm: &Llvm, index: Ref) -> bool {
    let api = &llvm.api;
    let mut waiting = vec![index];
    let mut seen = 0;
    // SAFETY: the caller's promise; operands are alive as long as what they are operands of. Only instructions are
    // asked for their opcode, only integer types for their width, and only constants for their value.
    unsafe {
        while let Some(value) = waiting.pop() {
            seen += 1;
            if (api.LLVMIsAInstruction)(value).is_null() {
                continue;
            }
            let opcode = (api.LLVMGetInstructionOpcode)(value);
            let operands = || {
                let n_operands = (api.LLVMGetNumOperands)(value) as c_uint;
                (0..n_operands).map(|index| (api.LLVMGetOperand)(value, index))
            };
            let ty = (api.LLVMTypeOf)(value);
            let bits = if (api.LLVMGetTypeKind)(ty) == INTEGER { (api.LLVMGetIntTypeWidth)(ty) } else { 0 };
            let counts = opcode == PHI || STEPS.contains(&opcode);
            let is_mask = |mask: Ref| {
                !(api.LLVMIsAConstantInt)(mask).is_null()
                    && is_low(bits, (api.LLVMConstIntGetZExtValue)(mask))
            };
            if seen > MAX_VALUES
                || counts && (1..INDEX_BITS).contains(&bits)
                || opcode == AND && operands().any(is_mask)
            {
                return true;
            }
            if STEPS.contains(&opcode) {
                waiting.extend(operands());
            }
        }
    }
    false
}

/// Whether a mask selects low bits only, and fewer than an index has.
fn is_low(bits: c_uint, mask: u64) -> bool {
    bits <= u64::BITS && mask.trailing_ones() < INDEX_BITS.min(bits) && mask & mask.wrapping_add(1) == 0
}

/// The attributes that keep LLVM from vectorizing.
pub(super) struct Forbidden {
    kind: c_uint,
}

/// Keeps LLVM from vectorizing a module.
///
/// # Safety
/// The module is alive and of that context, and no other code uses it.
pub(super) unsafe fn forbid_vectors(llvm: &Llvm, context: Ref, module: Ref) -> Forbidden {
    let api = &llvm.api;
    // SAFETY: the caller's promise; the name is that many bytes.
    unsafe {
        let name = NO_NEW_VECTORS;
        let kind = (api.LLVMGetEnumAttributeKindForName)(name.as_ptr(), name.count_bytes());
        let attribute = (api.LLVMCreateEnumAttribute)(context, kind, 0);
        functions(llvm, module)
            .for_each(|function| (api.LLVMAddAttributeAtIndex)(function, OF_FUNCTION, attribute));
        Forbidden { kind }
    }
}

impl Forbidden {
    /// Removes the attributes, so that code generation may use vector registers.
    ///
    /// # Safety
    /// The module is alive and no other code uses it.
    pub(super) unsafe fn allow_again(self, llvm: &Llvm, module: Ref) {
        // SAFETY: the caller's promise.
        unsafe {
            functions(llvm, module).for_each(|function| {
                (llvm.api.LLVMRemoveEnumAttributeAtIndex)(function, OF_FUNCTION, self.kind);
            });
        }
    }
}

/// The functions that a module defines.
///
/// # Safety
/// The module outlives the iterator, and no other code uses it.
unsafe fn functions(llvm: &Llvm, module: Ref) -> impl Iterator<Item = Ref> {
    let api = &llvm.api;
    // SAFETY: the caller's promise, here and for each next function.
    let first = unsafe { (api.LLVMGetFirstFunction)(module) };
    let some = |function: Ref| (!function.is_null()).then_some(function);
    std::iter::successors(some(first), move |&function| some(unsafe { (api.LLVMGetNextFunction)(function) }))
        .filter(move |&function| unsafe { (api.LLVMIsDeclaration)(function) == 0 })
}
