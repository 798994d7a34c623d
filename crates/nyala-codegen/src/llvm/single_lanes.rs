//! Stores of one lane of a vector.
//!
//! For AVX512, LLVM 22 miscompiles a masked store of one lane that is truncated: it turns
//! `masked.store(trunc(x), p, <true, false, ...>)` first into a truncating store, and then into a scalar store
//! as wide as `x`. That overwrites the elements behind the lane. (llvm-project#179489; see
//! [`Fault::SingleLaneStores`](super::faults::Fault::SingleLaneStores).)
//!
//! So masked stores of a single lane are replaced by scalar stores before, which is what LLVM should do. A store
//! that LLVM splits because it is wider than a register never becomes a truncating one: its operand is wider still.

use std::ffi::c_uint;
use std::slice;

use super::Llvm;
use super::api::Ref;

const MASKED_STORE: &[u8] = b"llvm.masked.store.";

/// Replaces masked stores whose mask is a constant with a single lane by scalar stores.
///
/// # Safety
/// The module is alive and of that context, and no other code uses it.
pub(super) unsafe fn store_as_scalars(llvm: &Llvm, context: Ref, module: Ref) {
    let api = &llvm.api;
    // SAFETY: the caller's promise; names belong to the functions.
    unsafe {
        let mut function = (api.LLVMGetFirstFunction)(module);
        while !function.is_null() {
            let mut len = 0;
            let name = (api.LLVMGetValueName2)(function, &mut len);
            if slice::from_raw_parts(name.cast::<u8>(), len).starts_with(MASKED_STORE) {
                store_calls(llvm, context, function);
            }
            function = (api.LLVMGetNextFunction)(function);
        }
    }
}

/// Replaces the calls of one of the intrinsics.
///
/// # Safety
/// As for [`store_as_scalars`]; `intrinsic` is a masked store, of which there are only calls.
unsafe fn store_calls(llvm: &Llvm, context: Ref, intrinsic: Ref) {
    let api = &llvm.api;
    // SAFETY: the operands of a call are alive as long as it is. A use goes with its call, so the
    // next one is asked for before. Builder and module are of one context.
    unsafe {
        let mut next = (api.LLVMGetFirstUse)(intrinsic);
        while !next.is_null() {
            let call = (api.LLVMGetUser)(next);
            next = (api.LLVMGetNextUse)(next);
            // Value, address, in older versions an alignment, mask.
            let [value, ptr] = [0, 1].map(|index| (api.LLVMGetOperand)(call, index));
            let mask = (api.LLVMGetOperand)(call, (api.LLVMGetNumArgOperands)(call) - 1);
            let Some(lane) = single_lane(llvm, mask) else { continue };
            let builder = (api.LLVMCreateBuilderInContext)(context);
            (api.LLVMPositionBuilderBefore)(builder, call);
            let mut index = (api.LLVMConstInt)((api.LLVMInt64TypeInContext)(context), u64::from(lane), 0);
            let scalar = (api.LLVMBuildExtractElement)(builder, value, index, c"".as_ptr());
            let ty = (api.LLVMTypeOf)(scalar);
            let at = (api.LLVMBuildGEP2)(builder, ty, ptr, &mut index, 1, c"".as_ptr());
            let store = (api.LLVMBuildStore)(builder, scalar, at);
            // Scalars of x86 need no alignment.
            (api.LLVMSetAlignment)(store, 1);
            (api.LLVMDisposeBuilder)(builder);
            (api.LLVMInstructionEraseFromParent)(call);
        }
    }
}

/// The single lane that a constant mask selects.
///
/// # Safety
/// `mask` is alive and a vector of `i1`.
unsafe fn single_lane(llvm: &Llvm, mask: Ref) -> Option<c_uint> {
    let api = &llvm.api;
    // SAFETY: the caller's promise; only constants are asked for their elements, and only
    // numbers for what they are.
    unsafe {
        if (api.LLVMIsConstant)(mask) == 0 {
            return None;
        }
        let mut single = None;
        for lane in 0..(api.LLVMGetVectorSize)((api.LLVMTypeOf)(mask)) {
            let element = (api.LLVMGetAggregateElement)(mask, lane);
            if element.is_null() {
                return None;
            }
            // LLVM takes undefined lanes for inactive ones.
            if (api.LLVMIsUndef)(element) != 0 {
                continue;
            }
            if (api.LLVMIsAConstantInt)(element).is_null() {
                return None;
            }
            let is_active = (api.LLVMConstIntGetZExtValue)(element) != 0;
            if is_active && single.replace(lane).is_some() {
                return None;
            }
        }
        single
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// The instructions that store, in machine code for AVX512 of a function that stores `lanes` of four.
    fn stores(lanes: [bool; 4]) -> Vec<String> {
        let mask = lanes.map(|is_active| format!("i1 {is_active}")).join(", ");
        let text = format!(
            "define void @f(ptr %p, <4 x i64> %x) {{
               %narrow = trunc <4 x i64> %x to <4 x i8>
               call void @llvm.masked.store.v4i8.p0(<4 x i8> %narrow, ptr %p, i32 1, <4 x i1> <{mask}>)
               ret void
             }}
             declare void @llvm.masked.store.v4i8.p0(<4 x i8>, ptr, i32, <4 x i1>)"
        );
        let code = x86_assembly(&text, "znver4");
        let stores = code.lines().filter(|line| line.contains("(%rdi)"));
        stores.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn one_lane_is_one_byte() {
        for lane in 0..4 {
            let mut lanes = [false; 4];
            lanes[lane] = true;
            let stores = stores(lanes);
            assert!(matches!(&*stores, [store] if ["movb", "vpextrb"].contains(&&**store)), "{stores:?}");
        }
    }

    #[test]
    fn several_lanes_are_stored_at_once() {
        assert_eq!(stores([true, true, false, true]), ["vpmovqb"]);
    }
}
