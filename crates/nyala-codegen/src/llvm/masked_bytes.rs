//! Masked accesses to bytes and numbers of 16 bits, for processors that have no instructions for them.
//!
//! AVX2 has masked loads and stores of 32 and 64 bits only. LLVM turns others into one branch for each lane. So
//! they are replaced by calls of functions that this module writes:
//!
//! * A load reads the whole vector if it lies in one page of memory with an active lane, and selects. An access to
//!   a page is allowed everywhere in it. LLVM must not know that bytes behind the end of a variable are read, so
//!   the address is hidden.
//! * Otherwise, and for stores, a mask of the first lanes is a copy of so many bytes, from or to the stack. Any
//!   other mask takes a step for each of its active lanes.
//!
//! A constant mask of the first lanes, as in the last group of a range of known length, is two accesses that overlap.
//!
//! That comes after LLVM's optimizations, which know the intrinsics.

use std::ffi::{c_int, c_uint};

use super::api::Ref;
use super::compile::{Machine, Module};
use super::versions::{name_of, set_attribute};
use super::{Llvm, LlvmError};

/// The smallest size of a page of any x86-64 system.
const PAGE: u32 = 4096;

/// LLVM's passes that inline the functions.
const PASSES_AFTER: &str = "always-inline,function(simplifycfg)";

/// The prefix of the functions that are written.
const PREFIX: &str = "nyala.masked.";

/// `LLVMInternalLinkage`.
const INTERNAL: c_int = 8;

/// An intrinsic that is replaced.
#[derive(Clone, Copy)]
struct Access {
    is_load: bool,
    n_lanes: u32,
    bits: u32,
}

impl Access {
    /// The access of an intrinsic, such as `llvm.masked.load.v32i8.p0`.
    fn of_intrinsic(name: &str) -> Option<Access> {
        let name = name.strip_prefix("llvm.masked.")?;
        let (kind, ty) = name.split_once('.')?;
        let (n_lanes, bits) = ty.strip_suffix(".p0")?.strip_prefix('v')?.split_once('i')?;
        let (n_lanes, bits) = (n_lanes.parse().ok()?, bits.parse().ok()?);
        let is_known = matches!(kind, "load" | "store") && matches!(bits, 8 | 16) && n_lanes > 1;
        is_known.then_some(Access { is_load: kind == "load", n_lanes, bits })
    }

    fn kind(self) -> &'static str {
        if self.is_load { "load" } else { "store" }
    }

    /// The function that replaces it.
    fn symbol(self) -> String {
        format!("{PREFIX}{}.v{}i{}", self.kind(), self.n_lanes, self.bits)
    }

    /// The types of the vector, of the mask, and of the mask as a number.
    fn types(self) -> [String; 3] {
        let Access { n_lanes: n, bits, .. } = self;
        [format!("<{n} x i{bits}>"), format!("<{n} x i1>"), format!("i{n}")]
    }

    /// Writes the function.
    fn define(self, text: &mut String) {
        let [.., int] = self.types();
        *text += &if self.is_load { self.load() } else { self.store() };
        for declaration in [
            format!("declare {int} @llvm.cttz.{int}({int}, i1 immarg)\n"),
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)\n".to_owned(),
        ] {
            if !text.contains(&declaration) {
                *text += &declaration;
            }
        }
    }

    fn load(self) -> String {
        let ([ty, mask, int], symbol, step) = (self.types(), self.symbol(), self.bits / 8);
        format!(
            "define {ty} @{symbol}(ptr %p, {mask} %m, {ty} %other) alwaysinline nounwind {{
entry:
  %bits = bitcast {mask} %m to {int}
  %is_none = icmp eq {int} %bits, 0
  br i1 %is_none, label %done, label %some
some:
  %address = ptrtoint ptr %p to i64
  %begin = and i64 %address, {offset}
  %is_in_page = icmp ule i64 %begin, {last}
  br i1 %is_in_page, label %fast, label %slow
fast:
  %hidden = call ptr asm \"\", \"=r,0\"(ptr %p)
  %all = load {ty}, ptr %hidden, align {step}
  br label %done
slow:
  %active = call {ty} @{symbol}.slow(ptr %p, {int} %bits)
  br label %done
done:
  %value = phi {ty} [ zeroinitializer, %entry ], [ %all, %fast ], [ %active, %slow ]
  %result = select {mask} %m, {ty} %value, {ty} %other
  ret {ty} %result
}}
define internal {ty} @{symbol}.slow(ptr %p, {int} %bits) noinline cold nounwind {{
entry:
  %place = alloca {ty}, align 64
  store {ty} zeroinitializer, ptr %place, align 64
{copy}
  %result = load {ty}, ptr %place, align 64
  ret {ty} %result
}}
",
            offset = PAGE - 1,
            last = PAGE - self.n_lanes * step,
            copy = self.copy("%p", "%place"),
        )
    }

    fn store(self) -> String {
        let ([ty, mask, int], symbol) = (self.types(), self.symbol());
        format!(
            "define void @{symbol}({ty} %v, ptr %p, {mask} %m) alwaysinline nounwind {{
  %bits = bitcast {mask} %m to {int}
  call void @{symbol}.lanes({ty} %v, ptr %p, {int} %bits)
  ret void
}}
define internal void @{symbol}.lanes({ty} %v, ptr %p, {int} %bits) noinline nounwind {{
entry:
  %place = alloca {ty}, align 64
  store {ty} %v, ptr %place, align 64
{copy}
  ret void
}}
",
            copy = self.copy("%place", "%p"),
        )
    }

    /// Code behind the block `entry` that copies the active lanes, those whose bit in `%bits` is set.
    fn copy(self, from: &str, to: &str) -> String {
        let ([.., int], lane, step) = (self.types(), format!("i{}", self.bits), self.bits / 8);
        format!(
            "  %next = add {int} %bits, 1
  %others = and {int} %next, %bits
  %is_front = icmp eq {int} %others, 0
  br i1 %is_front, label %front, label %any
front:
  %inverse = xor {int} %bits, -1
  %count = call {int} @llvm.cttz.{int}({int} %inverse, i1 false)
  %n = {count}
  %bytes = mul i64 %n, {step}
  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {from}, i64 %bytes, i1 false)
  br label %copied
any:
  %left = phi {int} [ %bits, %entry ], [ %rest, %any ]
  %at = call {int} @llvm.cttz.{int}({int} %left, i1 true)
  %lane = {at}
  %source = getelementptr {lane}, ptr {from}, i64 %lane
  %target = getelementptr {lane}, ptr {to}, i64 %lane
  %value = load {lane}, ptr %source, align {step}
  store {lane} %value, ptr %target, align {step}
  %less = add {int} %left, -1
  %rest = and {int} %left, %less
  %is_done = icmp eq {int} %rest, 0
  br i1 %is_done, label %copied, label %any
copied:",
            count = index(self.n_lanes, "%count"),
            at = index(self.n_lanes, "%at"),
        )
    }
}

/// A number of `bits` bits as an index.
fn index(bits: u32, number: &str) -> String {
    match bits {
        64 => format!("add i64 {number}, 0"),
        65.. => format!("trunc i{bits} {number} to i64"),
        _ => format!("zext i{bits} {number} to i64"),
    }
}

/// Replaces the accesses of an optimized module.
pub(super) fn replace(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) -> Result<(), LlvmError> {
    let api = &llvm.api;
    // SAFETY: the module is alive and no other code uses it; calls are listed before they are replaced. Only intrinsics
    // with the right name are called with these operands.
    unsafe {
        let intrinsics = module.functions().into_iter();
        let intrinsics = intrinsics.filter_map(|it| Some((it, Access::of_intrinsic(&name_of(llvm, it))?)));
        let calls = intrinsics.map(|(it, access)| (access, calls(llvm, it)));
        let calls: Vec<(Access, Vec<Ref>)> = calls.filter(|(_, calls)| !calls.is_empty()).collect();
        if calls.is_empty() || machine.instructions().avx512_words {
            return Ok(());
        }
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        let editor = Editor { llvm, context: module.context, builder };
        let by_function: Vec<(Access, Vec<Ref>)> = calls
            .into_iter()
            .map(|(access, calls)| {
                let others = calls.into_iter().filter(|&call| !editor.replace_prefix(access, call));
                (access, others.collect())
            })
            .filter(|(_, calls): &(Access, Vec<Ref>)| !calls.is_empty())
            .collect();
        if by_function.is_empty() {
            (api.LLVMDisposeBuilder)(builder);
            return Ok(());
        }
        let mut text = String::new();
        by_function.iter().for_each(|(access, _)| access.define(&mut text));
        module.link_text(text.as_bytes())?;
        let functions = module.functions().into_iter();
        let functions: Vec<Ref> = functions.filter(|&it| name_of(llvm, it).starts_with(PREFIX)).collect();
        for &function in &functions {
            // Functions for several processors are inlined into those for the same one.
            set_attribute(llvm, module, function, "target-cpu", &machine.cpu);
            set_attribute(llvm, module, function, "target-features", &machine.features);
            (api.LLVMSetLinkage)(function, INTERNAL);
        }
        for (access, calls) in by_function {
            let function = functions.iter().find(|&&it| name_of(llvm, it) == access.symbol());
            let function = *function.expect("the function was linked");
            calls.into_iter().for_each(|call| replace_call(llvm, builder, access, call, function));
        }
        (api.LLVMDisposeBuilder)(builder);
    }
    module.run_passes(machine, PASSES_AFTER)
}

/// The calls of an intrinsic.
///
/// # Safety
/// The intrinsic is a masked load or store of a module that no other code uses.
unsafe fn calls(llvm: &Llvm, intrinsic: Ref) -> Vec<Ref> {
    let api = &llvm.api;
    let mut calls = vec![];
    // SAFETY: the caller's promise; there are only calls of intrinsics.
    unsafe {
        let mut next = (api.LLVMGetFirstUse)(intrinsic);
        while !next.is_null() {
            calls.push((api.LLVMGetUser)(next));
            next = (api.LLVMGetNextUse)(next);
        }
    }
    calls
}

/// The operands are address, in older versions an alignment, mask, other lanes; or value, address, alignment, mask.
///
/// # Safety
/// It is a call of a masked load or store.
unsafe fn mask_index(llvm: &Llvm, call: Ref) -> c_uint {
    let api = &llvm.api;
    // SAFETY: the caller's promise.
    unsafe {
        let is_load = name_of(llvm, (api.LLVMGetCalledValue)(call)).starts_with("llvm.masked.load");
        (api.LLVMGetNumArgOperands)(call) - if is_load { 2 } else { 1 }
    }
}

/// Writes accesses with constant masks. Its methods are unsafe for the same reason: calls are of the access and
/// alive, and no other code uses their module.
struct Editor<'a> {
    llvm: &'a Llvm,
    context: Ref,
    builder: Ref,
}

impl Editor<'_> {
    /// Replaces a call by two accesses that overlap, or by one, if its mask is that of some first lanes. Whether it
    /// did.
    unsafe fn replace_prefix(&self, access: Access, call: Ref) -> bool {
        let api = &self.llvm.api;
        // SAFETY: see `Editor`; the operands are those of `mask_index`.
        unsafe {
            let index = mask_index(self.llvm, call);
            let Some(count) = self.prefix((api.LLVMGetOperand)(call, index), access.n_lanes) else {
                return false;
            };
            // Both parts have so many lanes, and the second one ends with the last active lane.
            let size = 1 << count.ilog2();
            (api.LLVMPositionBuilderBefore)(self.builder, call);
            let part = (api.LLVMVectorType)((api.LLVMIntTypeInContext)(self.context, access.bits), size);
            let at = |first: u32| {
                let address = (api.LLVMGetOperand)(call, u32::from(!access.is_load));
                let mut bytes = self.number(i64::from(first * access.bits / 8));
                let byte = (api.LLVMIntTypeInContext)(self.context, 8);
                (api.LLVMBuildGEP2)(self.builder, byte, address, &mut bytes, 1, c"".as_ptr())
            };
            let poison = (api.LLVMGetPoison)(part);
            if access.is_load {
                let load = |first: u32| {
                    let load = (api.LLVMBuildLoad2)(self.builder, part, at(first), c"".as_ptr());
                    (api.LLVMSetAlignment)(load, access.bits / 8);
                    load
                };
                let (low, high) = (load(0), if count > size { load(count - size) } else { poison });
                // Lanes of the second part are numbered behind those of the first.
                let lane = |lane: u32| match lane {
                    _ if lane < size => Some(lane),
                    _ => (lane < count).then(|| lane + 2 * size - count),
                };
                let all = self.shuffle(low, high, (0..access.n_lanes).map(lane));
                let others = (api.LLVMGetOperand)(call, index + 1);
                let own = (0..access.n_lanes)
                    .map(|lane| Some(if lane < count { lane } else { access.n_lanes + lane }));
                (api.LLVMReplaceAllUsesWith)(call, self.shuffle(all, others, own));
            } else {
                let value = (api.LLVMGetOperand)(call, 0);
                for first in [0, count - size].into_iter().take(if count > size { 2 } else { 1 }) {
                    let lanes = self.shuffle(value, value, (first..first + size).map(Some));
                    let store = (api.LLVMBuildStore)(self.builder, lanes, at(first));
                    (api.LLVMSetAlignment)(store, access.bits / 8);
                }
            }
            (api.LLVMInstructionEraseFromParent)(call);
        }
        true
    }

    /// The number of active lanes, if the mask is constant, and they are the first ones.
    unsafe fn prefix(&self, mask: Ref, n_lanes: u32) -> Option<u32> {
        let api = &self.llvm.api;
        // SAFETY: see `Editor`; the elements of a constant are constants.
        unsafe {
            if (api.LLVMIsConstant)(mask) == 0 {
                return None;
            }
            let is_active = |at: u32| {
                let lane = (api.LLVMGetAggregateElement)(mask, at);
                let is_number = !lane.is_null() && !(api.LLVMIsAConstantInt)(lane).is_null();
                is_number.then(|| (api.LLVMConstIntGetZExtValue)(lane) != 0)
            };
            let lanes: Vec<bool> = (0..n_lanes).map(is_active).collect::<Option<_>>()?;
            let count = lanes.iter().take_while(|&&lane| lane).count();
            let is_prefix = count > 0 && !lanes[count..].contains(&true);
            is_prefix.then_some(count as u32)
        }
    }

    unsafe fn number(&self, number: i64) -> Ref {
        let api = &self.llvm.api;
        // SAFETY: see `Editor`.
        unsafe { (api.LLVMConstInt)((api.LLVMInt64TypeInContext)(self.context), number.cast_unsigned(), 0) }
    }

    /// Lanes of two vectors; those of the second one are numbered behind those of the first, and `None` is any.
    unsafe fn shuffle(&self, a: Ref, b: Ref, lanes: impl Iterator<Item = Option<u32>>) -> Ref {
        let api = &self.llvm.api;
        // SAFETY: see `Editor`; the numbers are those of lanes.
        unsafe {
            let i32_ty = (api.LLVMInt32TypeInContext)(self.context);
            let number = |lane: Option<u32>| match lane {
                Some(lane) => (api.LLVMConstInt)(i32_ty, u64::from(lane), 0),
                None => (api.LLVMGetPoison)(i32_ty),
            };
            let mut order: Vec<Ref> = lanes.map(number).collect();
            let order = (api.LLVMConstVector)(order.as_mut_ptr(), order.len() as c_uint);
            (api.LLVMBuildShuffleVector)(self.builder, a, b, order, c"".as_ptr())
        }
    }
}

/// Replaces a call.
///
/// # Safety
/// It is a call of the access, the function that of the access, and both of one module.
unsafe fn replace_call(llvm: &Llvm, builder: Ref, access: Access, call: Ref, function: Ref) {
    let api = &llvm.api;
    // SAFETY: the caller's promise.
    unsafe {
        let operand = |index: c_uint| (api.LLVMGetOperand)(call, index);
        let mask = mask_index(llvm, call);
        let mut args = match access.is_load {
            true => [operand(0), operand(mask), operand(mask + 1)],
            false => [operand(0), operand(1), operand(mask)],
        };
        (api.LLVMPositionBuilderBefore)(builder, call);
        let ty = (api.LLVMGlobalGetValueType)(function);
        let new = (api.LLVMBuildCall2)(builder, ty, function, args.as_mut_ptr(), 3, c"".as_ptr());
        if access.is_load {
            (api.LLVMReplaceAllUsesWith)(call, new);
        }
        (api.LLVMInstructionEraseFromParent)(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// A function that loads and stores bytes under a mask.
    const TEXT: &str = "define void @f(ptr %p, ptr %q, <32 x i8> %x) {
           %m = icmp slt <32 x i8> %x, zeroinitializer
           %v = call <32 x i8> @llvm.masked.load.v32i8.p0(ptr %p, i32 1, <32 x i1> %m, <32 x i8> %x)
           call void @llvm.masked.store.v32i8.p0(<32 x i8> %v, ptr %q, i32 1, <32 x i1> %m)
           ret void
         }
         declare <32 x i8> @llvm.masked.load.v32i8.p0(ptr, i32, <32 x i1>, <32 x i8>)
         declare void @llvm.masked.store.v32i8.p0(<32 x i8>, ptr, i32, <32 x i1>)";

    #[test]
    fn bytes_are_not_accessed_one_by_one() {
        let code = x86_assembly(TEXT, "x86-64-v3");
        assert!(code.contains("tzcnt") && code.contains("memcpy"), "{code}");
        assert!(!code.contains("vpinsrb") && !code.contains("vpextrb"), "{code}");
    }

    #[test]
    fn first_lanes_that_are_known_are_two_accesses() {
        let bits: Vec<&str> = (0..32).map(|lane| if lane < 27 { "i1 true" } else { "i1 false" }).collect();
        let mask = format!("<32 x i1> <{}>", bits.join(", "));
        let code = x86_assembly(&TEXT.replace("<32 x i1> %m", &mask), "x86-64-v3");
        assert!(code.contains("11(%rdi)") && code.contains("11(%rsi)"), "{code}");
        assert!(!code.contains("vpinsrb") && !code.contains("memcpy") && !code.contains("tzcnt"), "{code}");
    }

    #[test]
    fn processors_with_such_instructions_use_them() {
        let code = x86_assembly(TEXT, "x86-64-v4");
        assert!(code.contains("vmovdqu8") && !code.contains("memcpy"), "{code}");
    }
}
