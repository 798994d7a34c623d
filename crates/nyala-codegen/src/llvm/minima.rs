//! Minima and maxima that replace one of their operands in memory, for x86.
//!
//! LLVM turns a store of `select(c, x, load p)` to `p` into a store of `x` under the mask `c`, before it sees that the
//! select is a minimum. Where a later load needs the result soon, as in the boxes of bins, it waits for such a store:
//! the processor does not forward it. With AVX2, masked stores are slow on some processors in any case. So these
//! selects become the instruction that computes them; it gives the second operand where one is NaN or both are zero, as
//! the select does.
//!
//! ```text
//! %y = load <8 x float>, ptr %p           %y = load <8 x float>, ptr %p
//! %c = fcmp olt <8 x float> %x, %y   =>
//! %m = select <8 x i1> %c, %x, %y         %m = call @llvm.x86.avx.min.ps.256(%x, %y)
//! store <8 x float> %m, ptr %p            store <8 x float> %m, ptr %p
//! ```
//!
//! That comes after LLVM's optimizations, which know selects better.

use std::collections::HashSet;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use super::Llvm;
use super::api::{Api, Ref, list};
use super::compile::{Machine, Module};

/// `LLVMOpcode`s.
const LOAD: c_int = 27;
const STORE: c_int = 28;
const FCMP: c_int = 43;
const SELECT: c_int = 46;

/// `LLVMRealPredicate`s.
const GREATER: c_int = 2;
const LESS: c_int = 4;

/// `LLVMTypeKind`s.
const FLOAT: c_int = 2;
const DOUBLE: c_int = 3;
const VECTOR: c_int = 13;

/// A select that is an instruction.
struct Bound {
    select: Ref,
    intrinsic: &'static str,
    operands: [Ref; 2],
    /// The instruction has a fourth operand: how it rounds.
    rounds: bool,
}

/// Replaces such selects of an optimized module.
///
/// # Safety
/// No other code uses the module.
pub(super) unsafe fn name_instructions(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once. Only selects that are listed are replaced, after
    // all of them are known.
    unsafe {
        let functions = module.functions().into_iter().filter(|&it| (api.LLVMIsDeclaration)(it) == 0);
        let blocks = functions
            .flat_map(|it| list((api.LLVMGetFirstBasicBlock)(it), |it| (api.LLVMGetNextBasicBlock)(it)));
        let instructions = blocks
            .flat_map(|it| list((api.LLVMGetFirstInstruction)(it), |it| (api.LLVMGetNextInstruction)(it)));
        // A select may be stored several times.
        let mut selects = HashSet::new();
        let bounds = instructions.filter_map(|it| bound_of_store(api, it));
        let bounds: Vec<Bound> = bounds.filter(|bound| selects.insert(bound.select)).collect();
        let have = if bounds.is_empty() { return } else { machine.instructions() };
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        for bound in bounds.iter().filter(|bound| if bound.rounds { have.avx512 } else { have.avx2 }) {
            replace(api, module, builder, bound);
        }
        (api.LLVMDisposeBuilder)(builder);
    }
}

/// The minimum or maximum that an instruction stores where it loads an operand.
///
/// # Safety
/// The instruction is alive, and no other code uses its module.
unsafe fn bound_of_store(api: &Api, store: Ref) -> Option<Bound> {
    // SAFETY: the caller's promise; instructions have as many operands as are asked for.
    unsafe {
        let has_opcode = |value: Ref, opcode: c_int| {
            !(api.LLVMIsAInstruction)(value).is_null() && (api.LLVMGetInstructionOpcode)(value) == opcode
        };
        let operand = |value: Ref, index: c_uint| (api.LLVMGetOperand)(value, index);
        if !has_opcode(store, STORE) {
            return None;
        }
        let [select, ptr] = [0, 1].map(|index| operand(store, index));
        if !has_opcode(select, SELECT) || !has_opcode(operand(select, 0), FCMP) {
            return None;
        }
        let [condition, yes, no] = [0, 1, 2].map(|index| operand(select, index));
        if ![yes, no].into_iter().any(|value| has_opcode(value, LOAD) && operand(value, 0) == ptr) {
            return None;
        }
        let compared = [0, 1].map(|index| operand(condition, index));
        let is_swapped = compared == [no, yes];
        if !is_swapped && compared != [yes, no] {
            return None;
        }
        let is_minimum = match (api.LLVMGetFCmpPredicate)(condition) {
            LESS => !is_swapped,
            GREATER => is_swapped,
            _ => return None,
        };
        let (intrinsic, rounds) = instruction(api, (api.LLVMTypeOf)(select), is_minimum)?;
        Some(Bound { select, intrinsic, operands: [yes, no], rounds })
    }
}

/// The intrinsic for a type, and whether it has an operand for rounding.
///
/// # Safety
/// The type is alive.
unsafe fn instruction(api: &Api, ty: Ref, is_minimum: bool) -> Option<(&'static str, bool)> {
    // SAFETY: the caller's promise; only vectors have elements.
    let (lanes, element) = unsafe {
        if (api.LLVMGetTypeKind)(ty) != VECTOR {
            return None;
        }
        ((api.LLVMGetVectorSize)(ty), (api.LLVMGetTypeKind)((api.LLVMGetElementType)(ty)))
    };
    let [minimum, maximum, rounds] = match (element, lanes) {
        (FLOAT, 4) => ["llvm.x86.sse.min.ps", "llvm.x86.sse.max.ps", ""],
        (FLOAT, 8) => ["llvm.x86.avx.min.ps.256", "llvm.x86.avx.max.ps.256", ""],
        (FLOAT, 16) => ["llvm.x86.avx512.min.ps.512", "llvm.x86.avx512.max.ps.512", "i32"],
        (DOUBLE, 2) => ["llvm.x86.sse2.min.pd", "llvm.x86.sse2.max.pd", ""],
        (DOUBLE, 4) => ["llvm.x86.avx.min.pd.256", "llvm.x86.avx.max.pd.256", ""],
        (DOUBLE, 8) => ["llvm.x86.avx512.min.pd.512", "llvm.x86.avx512.max.pd.512", "i32"],
        _ => return None,
    };
    Some((if is_minimum { minimum } else { maximum }, !rounds.is_empty()))
}

/// Replaces a select by its instruction.
///
/// # Safety
/// The select is of the module, builder and module are of one context, and no other code uses them.
unsafe fn replace(api: &Api, module: &Module<'_>, builder: Ref, bound: &Bound) {
    /// `_MM_FROUND_CUR_DIRECTION`: the processor's rounding, as for all other operations.
    const CURRENT: u64 = 4;
    let name = bound.intrinsic;
    // SAFETY: the caller's promise; the operands have the types of the intrinsic.
    unsafe {
        let id = (api.LLVMLookupIntrinsicID)(name.as_ptr().cast(), name.len());
        let function = (api.LLVMGetIntrinsicDeclaration)(module.module, id, null_mut(), 0);
        let ty = (api.LLVMGlobalGetValueType)(function);
        let mut args = bound.operands.to_vec();
        if bound.rounds {
            args.push((api.LLVMConstInt)((api.LLVMInt32TypeInContext)(module.context), CURRENT, 0));
        }
        (api.LLVMPositionBuilderBefore)(builder, bound.select);
        let n_args = args.len() as c_uint;
        let call = (api.LLVMBuildCall2)(builder, ty, function, args.as_mut_ptr(), n_args, c"".as_ptr());
        (api.LLVMReplaceAllUsesWith)(bound.select, call);
        (api.LLVMInstructionEraseFromParent)(bound.select);
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// The machine code of a function that replaces elements in memory by `select`.
    fn code(cpu: &str, ty: &str, comparison: &str, operands: &str) -> String {
        let bools = ty.replace("float", "i1").replace("double", "i1");
        let text = format!(
            "define void @f(ptr %p, {ty} %x) {{
               %y = load {ty}, ptr %p, align 4
               %c = fcmp {comparison} {ty} %x, %y
               %m = select {bools} %c, {operands}
               store {ty} %m, ptr %p, align 4
               ret void
             }}"
        );
        x86_assembly(&text, cpu)
    }

    #[test]
    fn minima_and_maxima_in_memory_are_one_instruction() {
        for (cpu, ty) in [
            ("x86-64-v3", "<4 x float>"),
            ("x86-64-v3", "<8 x float>"),
            ("x86-64-v3", "<4 x double>"),
            ("znver4", "<2 x double>"),
            ("znver4", "<8 x float>"),
            ("znver4", "<16 x float>"),
            ("znver4", "<8 x double>"),
        ] {
            for (comparison, is_swapped, instruction) in
                [("olt", false, "vmin"), ("olt", true, "vmax"), ("ogt", false, "vmax"), ("ogt", true, "vmin")]
            {
                let [x, y] = [format!("{ty} %x"), format!("{ty} %y")];
                let operands = if is_swapped { format!("{y}, {x}") } else { format!("{x}, {y}") };
                let code = code(cpu, ty, comparison, &operands);
                let is_plain =
                    code.contains(instruction) && !code.contains("vmaskmov") && !code.contains("{%k1}");
                assert!(is_plain, "{cpu}, {ty}, {comparison}: {code}");
            }
        }
    }

    #[test]
    fn a_minimum_that_is_stored_twice_is_computed_once() {
        let text = "define void @f(ptr %p, <8 x float> %x) {
               %y = load <8 x float>, ptr %p, align 4
               %c = fcmp olt <8 x float> %x, %y
               %m = select <8 x i1> %c, <8 x float> %x, <8 x float> %y
               store volatile <8 x float> %m, ptr %p, align 4
               store volatile <8 x float> %m, ptr %p, align 4
               ret void
             }";
        let code = x86_assembly(text, "x86-64-v3");
        assert_eq!(code.matches("vminps").count(), 1, "{code}");
    }

    #[test]
    fn other_selects_stay() {
        // NaN selects the other operand than the instruction would.
        let code = code("x86-64-v3", "<8 x float>", "ult", "<8 x float> %x, <8 x float> %y");
        assert!(!code.contains("vminps\t(%rdi)"), "{code}");
    }
}
