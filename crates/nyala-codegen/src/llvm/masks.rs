//! Masks of more lanes than a register has.
//!
//! A comparison of 64 floats takes four registers and gives four masks of 16 bits. With AVX512BW, which has masks
//! of 64 bits, LLVM concatenates the four, and splits them again for the next operation on floats. Functions with
//! lanes of 32 and 64 bits only have no other use for AVX512BW, and are faster without it.
//!
//! The comparison of lane numbers with the end of a range does not count: it is in bytes, once for the last group.
//!
//! AVX512BW is part of the calling convention: it decides how masks and bytes are passed. So functions that pass
//! vectors to each other get the same answer.

use std::ffi::{c_int, c_uint};

use super::Llvm;
use super::api::Ref;
use super::compile::{Machine, Module};
use super::versions::{name_of, set_attribute};

/// The feature that limits masks to 16 bits.
const NO_LONG_MASKS: &str = "-avx512bw";

/// The size of a mask of one register of 32-bit lanes.
const MASK_BITS: c_uint = 16;

/// `LLVMOpcode`s.
const STORE: c_int = 28;
const CALL: c_int = 45;
const INSERT_ELEMENT: c_int = 51;
const SHUFFLE_VECTOR: c_int = 52;

/// `LLVMTypeKind`s.
const HALF: c_int = 1;
const INTEGER: c_int = 8;
const STRUCT: c_int = 10;
const ARRAY: c_int = 11;
const VECTOR: c_int = 13;
const BFLOAT: c_int = 18;

/// What the vectors of a function are.
#[derive(Default)]
struct Vectors {
    /// There are masks of several registers.
    have_long_masks: bool,
    /// There are lanes of 8 or 16 bits, and more is done with them than a comparison of lane numbers.
    are_narrow: bool,
    /// Vectors are passed to or from another function.
    are_passed: bool,
}

impl Vectors {
    fn prefer_short_masks(&self) -> bool {
        self.have_long_masks && !self.are_narrow
    }
}

/// Keeps masks short in the functions of an optimized module that are faster so.
///
/// # Safety
/// No other thread uses the module.
pub(super) unsafe fn keep_short(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: the caller's promise; the functions are of the module.
    unsafe {
        let functions = module.functions().into_iter().filter(|&it| (api.LLVMIsDeclaration)(it) == 0);
        let all: Vec<(Ref, Vectors)> = functions.map(|it| (it, vectors(llvm, it))).collect();
        let mut passing = all.iter().map(|(_, vectors)| vectors).filter(|vectors| vectors.are_passed);
        let passing_prefer =
            passing.clone().any(Vectors::prefer_short_masks) && !passing.any(|it| it.are_narrow);
        let features = format!("{},{NO_LONG_MASKS}", machine.features);
        for (function, vectors) in &all {
            if if vectors.are_passed { passing_prefer } else { vectors.prefer_short_masks() } {
                set_attribute(llvm, module, *function, "target-features", features.trim_start_matches(','));
            }
        }
    }
}

/// What the vectors of a function are.
///
/// # Safety
/// The function is alive, and no other code uses its module.
unsafe fn vectors(llvm: &Llvm, function: Ref) -> Vectors {
    let api = &llvm.api;
    // SAFETY: the caller's promise; types, blocks, instructions and operands live as long as the function.
    unsafe {
        let mut found = Vectors::default();
        let returned = (api.LLVMGetReturnType)((api.LLVMGlobalGetValueType)(function));
        found.are_passed = may_have_vector(llvm, returned);
        let mut param = (api.LLVMGetFirstParam)(function);
        while !param.is_null() {
            found.are_passed |= may_have_vector(llvm, (api.LLVMTypeOf)(param));
            param = (api.LLVMGetNextParam)(param);
        }
        let mut block = (api.LLVMGetFirstBasicBlock)(function);
        while !block.is_null() {
            let mut instruction = (api.LLVMGetFirstInstruction)(block);
            while !instruction.is_null() {
                found.add(llvm, instruction);
                instruction = (api.LLVMGetNextInstruction)(instruction);
            }
            block = (api.LLVMGetNextBasicBlock)(block);
        }
        found
    }
}

impl Vectors {
    /// Adds an instruction.
    ///
    /// # Safety
    /// As for [`vectors`].
    unsafe fn add(&mut self, llvm: &Llvm, instruction: Ref) {
        let api = &llvm.api;
        // SAFETY: the caller's promise; the called function is an operand.
        unsafe {
            let opcode = (api.LLVMGetInstructionOpcode)(instruction);
            let own = (api.LLVMTypeOf)(instruction);
            self.have_long_masks |= lane(llvm, own).is_some_and(|(bits, n)| bits == 1 && n > MASK_BITS);
            let is_narrow = |ty: Ref| lane(llvm, ty).is_some_and(|(bits, _)| matches!(bits, 8 | 16));
            self.are_narrow |= is_narrow(own) && !matches!(opcode, INSERT_ELEMENT | SHUFFLE_VECTOR);
            if !matches!(opcode, STORE | CALL) {
                return;
            }
            let operands = 0..(api.LLVMGetNumOperands)(instruction) as c_uint;
            let tys: Vec<Ref> =
                operands.map(|at| (api.LLVMTypeOf)((api.LLVMGetOperand)(instruction, at))).collect();
            self.are_narrow |= tys.iter().any(|&ty| is_narrow(ty));
            if opcode == CALL && !name_of(llvm, (api.LLVMGetCalledValue)(instruction)).starts_with("llvm.") {
                self.are_passed |= tys.iter().chain([&own]).any(|&ty| may_have_vector(llvm, ty));
            }
        }
    }
}

/// The bits of a lane, and the number of lanes, if it is a vector.
///
/// # Safety
/// The type is alive.
unsafe fn lane(llvm: &Llvm, ty: Ref) -> Option<(c_uint, c_uint)> {
    let api = &llvm.api;
    // SAFETY: only vectors are asked for lanes, and only integers for their width.
    unsafe {
        if (api.LLVMGetTypeKind)(ty) != VECTOR {
            return None;
        }
        let lane = (api.LLVMGetElementType)(ty);
        let bits = match (api.LLVMGetTypeKind)(lane) {
            INTEGER => (api.LLVMGetIntTypeWidth)(lane),
            HALF | BFLOAT => 16,
            _ => 32,
        };
        Some((bits, (api.LLVMGetVectorSize)(ty)))
    }
}

/// Whether values of a type may contain vectors.
///
/// # Safety
/// The type is alive.
unsafe fn may_have_vector(llvm: &Llvm, ty: Ref) -> bool {
    // SAFETY: the caller's promise.
    matches!(unsafe { (llvm.api.LLVMGetTypeKind)(ty) }, VECTOR | STRUCT | ARRAY)
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// A function that compares 64 floats twice, and is given more to do.
    fn comparing(name: &str, more: &str) -> String {
        format!(
            "define void @{name}(ptr %p, ptr %q) {{
               %x = load <64 x float>, ptr %p
               %y = load <64 x float>, ptr %q
               %lt = fcmp olt <64 x float> %x, %y
               %sum = fadd <64 x float> %x, %y
               %ge = fcmp oge <64 x float> %sum, %y
               %both = and <64 x i1> %lt, %ge
               %z = select <64 x i1> %both, <64 x float> %x, <64 x float> %sum
               store <64 x float> %z, ptr %p
               {more}
               ret void
             }}\n"
        )
    }

    /// For each function whether its masks are concatenated.
    fn have_long_masks(text: &str) -> Vec<bool> {
        let code = x86_assembly(text, "znver4");
        code.split(",@function").skip(1).map(|function| function.contains("kunpck")).collect()
    }

    const BYTES: &str = "%b = load <64 x i8>, ptr %q
        %c = icmp ult <64 x i8> %b, splat (i8 9)
        %d = and <64 x i1> %c, %both
        %e = select <64 x i1> %d, <64 x i8> %b, <64 x i8> zeroinitializer
        store <64 x i8> %e, ptr %q";

    #[test]
    fn masks_of_wide_lanes_are_short() {
        assert_eq!(have_long_masks(&comparing("f", "")), [false]);
    }

    #[test]
    fn masks_of_narrow_lanes_are_long_in_their_function_only() {
        assert_eq!(have_long_masks(&(comparing("f", "") + &comparing("g", BYTES))), [false, true]);
    }

    #[test]
    fn a_comparison_of_lane_numbers_is_not_narrow() {
        let numbers: Vec<String> = (0..64).map(|lane| format!("i8 {lane}")).collect();
        let compare = format!(
            "%bits = load i8, ptr %q
             %first = insertelement <64 x i8> poison, i8 %bits, i32 0
             %n = shufflevector <64 x i8> %first, <64 x i8> poison, <64 x i32> zeroinitializer
             %in = icmp ult <64 x i8> <{}>, %n
             %w = select <64 x i1> %in, <64 x float> %z, <64 x float> %y
             store <64 x float> %w, ptr %p",
            numbers.join(", ")
        );
        assert_eq!(have_long_masks(&comparing("f", &compare)), [false]);
    }

    #[test]
    fn functions_that_pass_vectors_agree() {
        let callee = "declare <64 x i1> @callee(<64 x i1>)\n";
        let call = |more: &str| {
            format!("%r = call <64 x i1> @callee(<64 x i1> %both)\n store <64 x i1> %r, ptr %q\n {more}")
        };
        let code = have_long_masks(&format!(
            "{callee}{}{}",
            comparing("f", &call(BYTES)),
            comparing("g", &call(""))
        ));
        assert_eq!(code, [true, true]);
        let code = have_long_masks(&format!("{callee}{}", comparing("g", &call(""))));
        assert_eq!(code, [false]);
    }
}
