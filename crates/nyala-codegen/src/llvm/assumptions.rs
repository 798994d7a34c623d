//! Loops that LLVM vectorises under assumptions.
//!
//! LLVM's own vectoriser may assume that an index does not wrap around, and asks before the loop whether that
//! holds. From LLVM 20 to 22 it takes what holds of a wide index for an answer about a narrow one: of
//! `p(4 * i + (k & 3)) = 1` in a loop over `k` it makes one store to four neighbours, although `k & 3` begins again in between.
//! (llvm-project#191382; later versions are right.)
//!
//! So a program in which it asked so is compiled again, without such vectors. These are few: indices of type `i32`, without
//! `--wrapping`, need no such assumption. SIMD code of `vectorize` is ours, and stays.

use std::ffi::{CStr, c_uint};
use std::ops::RangeInclusive;
use std::slice;

use super::api::Ref;
use super::{Llvm, find};

/// The versions that take one answer for another.
const WRONG: RangeInclusive<u32> = 20..=22;

/// How the vectoriser calls the places where it asks.
const QUESTION: &[u8] = b"vector.scevcheck";

/// LLVM makes no vectors in functions with this attribute. Those that are there stay.
const NO_NEW_VECTORS: &CStr = c"noimplicitfloat";

/// `LLVMAttributeFunctionIndex`: an attribute of a function, not of its parameters.
const OF_FUNCTION: c_uint = c_uint::MAX;

/// Whether loops were vectorised under assumptions that this LLVM may get wrong.
///
/// # Safety
/// The module is alive and nobody else uses it.
pub(super) unsafe fn may_be_wrong(llvm: &Llvm, module: Ref) -> bool {
    // SAFETY: the caller's promise; blocks belong to their function, and names to their block.
    WRONG.contains(&find::version(&llvm.path))
        && unsafe { functions(llvm, module) }.any(|function| unsafe { asks(llvm, function) })
}

/// Whether the vectoriser asks something in a function.
///
/// # Safety
/// The function is alive and nobody else uses it.
unsafe fn asks(llvm: &Llvm, function: Ref) -> bool {
    let api = &llvm.api;
    // SAFETY: the caller's promise; blocks belong to their function, and names to their block.
    unsafe {
        let mut block = (api.LLVMGetFirstBasicBlock)(function);
        while !block.is_null() {
            let mut len = 0;
            let name = (api.LLVMGetValueName2)((api.LLVMBasicBlockAsValue)(block), &mut len);
            if slice::from_raw_parts(name.cast::<u8>(), len).starts_with(QUESTION) {
                return true;
            }
            block = (api.LLVMGetNextBasicBlock)(block);
        }
    }
    false
}

/// What keeps LLVM from making vectors.
pub(super) struct Forbidden {
    kind: c_uint,
}

/// Lets LLVM make no vectors of its own in a module.
///
/// # Safety
/// The module is alive and of that context, and nobody else uses it.
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
    /// Lets those use vector registers again who make machine code.
    ///
    /// # Safety
    /// The module is alive and nobody else uses it.
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
/// The module is alive as long as the functions are asked for, and nobody else uses it.
unsafe fn functions(llvm: &Llvm, module: Ref) -> impl Iterator<Item = Ref> {
    let api = &llvm.api;
    // SAFETY: the caller's promise, here and each time that the next one is asked for.
    let first = unsafe { (api.LLVMGetFirstFunction)(module) };
    let some = |function: Ref| (!function.is_null()).then_some(function);
    std::iter::successors(some(first), move |&function| some(unsafe { (api.LLVMGetNextFunction)(function) }))
        .filter(move |&function| unsafe { (api.LLVMIsDeclaration)(function) == 0 })
}
