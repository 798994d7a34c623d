//! Gathers, for processors on which they are slower than a load for each lane.
//!
//! A gather of 16 numbers takes AMD's Zen 5 19 cycles, 16 loads and the instructions that combine them 12. Of the other
//! processors with AVX2, LLVM takes those for fast that it has measured. Elsewhere, gathers are replaced by calls of
//! functions that this module writes: if all lanes are active, each lane is loaded; else they still gather, as each
//! lane would need a branch.
//!
//! That comes after LLVM's optimizations, which know the intrinsic.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};
use std::fmt::Write as _;

use super::api::{Api, Ref};
use super::compile::{Machine, Module};
use super::overlapping_loads::size_of;
use super::versions::{name_of, set_attribute};
use super::{Llvm, LlvmError};

/// `LLVMOpcode`s.
const GET_ELEMENT_PTR: c_int = 29;
const SIGN_EXTEND: c_int = 32;

/// `LLVMTypeKind`s.
const VECTOR: c_int = 13;

/// `LLVMInternalLinkage`.
const INTERNAL: c_int = 8;

/// The most lanes of a gather that is replaced: more would be much code.
const MAX_LANES: u32 = 32;

/// The prefix of the functions that are written.
const PREFIX: &str = "nyala.gather.";

/// LLVM's passes that inline the functions.
const PASSES_AFTER: &str = "always-inline,function(simplifycfg)";

/// The beginnings of the names of processors with AVX2 but without AVX-512 that have fast gathers.
const FAST: [&str; 8] = [
    "skylake",
    "alderlake",
    "raptorlake",
    "meteorlake",
    "arrowlake",
    "lunarlake",
    "pantherlake",
    "wildcatlake",
];

/// The addresses of a gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Addresses {
    /// A vector of them.
    Any,
    /// A base and an index of 32 bits with a sign for each lane, in steps of so many bytes.
    Indexed(i64),
}

/// A gather that is replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Gather {
    /// The name of the intrinsic.
    intrinsic: String,
    n_lanes: u32,
    /// The type of a lane, as LLVM writes it.
    lane: &'static str,
    addresses: Addresses,
}

impl Gather {
    /// The gather of an intrinsic such as `llvm.masked.gather.v16f32.v16p0`.
    fn of_intrinsic(name: &str) -> Option<Gather> {
        let (ty, _) = name.strip_prefix("llvm.masked.gather.v")?.split_once('.')?;
        let digits = ty.find(|c: char| !c.is_ascii_digit())?;
        let (n_lanes, lane) = ty.split_at(digits);
        let n_lanes: u32 = n_lanes.parse().ok()?;
        let lane = match lane {
            "i32" => "i32",
            "i64" => "i64",
            "f32" => "float",
            "f64" => "double",
            _ => return None,
        };
        let is_known = n_lanes.is_power_of_two() && (2..=MAX_LANES).contains(&n_lanes);
        is_known.then(|| Gather { intrinsic: name.to_owned(), n_lanes, lane, addresses: Addresses::Any })
    }

    /// The function that replaces it.
    fn symbol(&self) -> String {
        let Gather { n_lanes, lane, .. } = self;
        match self.addresses {
            Addresses::Any => format!("{PREFIX}{n_lanes}.{lane}"),
            Addresses::Indexed(step) => format!("{PREFIX}{n_lanes}.{lane}.{step}"),
        }
    }

    /// The function, and the declaration of the intrinsic. `has_alignment` says whether that has an operand for the
    /// alignment.
    fn definition(&self, has_alignment: bool) -> [String; 2] {
        let Gather { n_lanes: n, lane, intrinsic, addresses } = self;
        let symbol = self.symbol();
        let params = match addresses {
            Addresses::Any => format!("<{n} x ptr> %p"),
            Addresses::Indexed(_) => format!("ptr %base, <{n} x i32> %index"),
        };
        let alignment = if has_alignment { "i32 1, " } else { "" };
        let mut text = format!(
            "define <{n} x {lane}> @{symbol}({params}, <{n} x i1> %m, <{n} x {lane}> %other) alwaysinline nounwind {{
entry:
  %bits = bitcast <{n} x i1> %m to i{n}
  %is_full = icmp eq i{n} %bits, -1
  br i1 %is_full, label %all, label %some
all:
"
        );
        self.write_addresses(&mut text);
        let mut all = "poison".to_owned();
        for at in 0..*n {
            text += &format!("  %lane{at} = load {lane}, ptr %at{at}, align 1\n");
            text += &format!("  %v{at} = insertelement <{n} x {lane}> {all}, {lane} %lane{at}, i64 {at}\n");
            all = format!("%v{at}");
        }
        text += "  br label %done\nsome:\n";
        if let Addresses::Indexed(step) = addresses {
            text += &format!("  %wide = sext <{n} x i32> %index to <{n} x i64>\n");
            text += &format!("  %p = getelementptr [{step} x i8], ptr %base, <{n} x i64> %wide\n");
        }
        let tail = format!("<{n} x i1> %m, <{n} x {lane}> %other");
        text += &format!(
            "  %gathered = call <{n} x {lane}> @{intrinsic}(<{n} x ptr> %p, {alignment}{tail})
  br label %done
done:
  %result = phi <{n} x {lane}> [ {all}, %all ], [ %gathered, %some ]
  ret <{n} x {lane}> %result
}}
"
        );
        let alignment = if has_alignment { "i32 immarg, " } else { "" };
        let declaration = format!(
            "declare <{n} x {lane}> @{intrinsic}(<{n} x ptr>, {alignment}<{n} x i1>, <{n} x {lane}>)\n"
        );
        [text, declaration]
    }

    /// Writes the addresses of the lanes. Two indices are moved to a scalar register at once.
    fn write_addresses(&self, text: &mut String) {
        let n = self.n_lanes;
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "  {line}").expect("strings take all text");
        };
        let Addresses::Indexed(step) = self.addresses else {
            for at in 0..n {
                line(format_args!("%at{at} = extractelement <{n} x ptr> %p, i64 {at}"));
            }
            return;
        };
        let half = n / 2;
        line(format_args!("%pairs = bitcast <{n} x i32> %index to <{half} x i64>"));
        for pair in 0..half {
            let (low, high) = (2 * pair, 2 * pair + 1);
            line(format_args!("%pair{pair} = extractelement <{half} x i64> %pairs, i64 {pair}"));
            line(format_args!("%short{low} = trunc i64 %pair{pair} to i32"));
            line(format_args!("%i{low} = sext i32 %short{low} to i64"));
            line(format_args!("%i{high} = ashr i64 %pair{pair}, 32"));
        }
        for at in 0..n {
            line(format_args!("%at{at} = getelementptr [{step} x i8], ptr %base, i64 %i{at}"));
        }
    }
}

/// Replaces the gathers of an optimized module, if the machine is slow at them.
pub(super) fn replace(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) -> Result<(), LlvmError> {
    let api = &llvm.api;
    // SAFETY: the module is alive and no other code uses it; calls are listed before they are replaced. Only intrinsics
    // with the right name are called with these operands.
    unsafe {
        let intrinsics = module.functions().into_iter();
        let intrinsics = intrinsics.filter_map(|it| Some((it, Gather::of_intrinsic(&name_of(llvm, it))?)));
        let calls: Vec<Call> = intrinsics
            .flat_map(|(it, gather)| calls(api, it).into_iter().map(move |call| (call, gather.clone())))
            .map(|(call, gather)| Call::new(api, call, gather))
            .collect();
        if calls.is_empty() || !is_slow(machine) {
            return Ok(());
        }
        let items: BTreeSet<String> =
            calls.iter().flat_map(|call| call.gather.definition(call.n_operands > 3)).collect();
        module.link_text(items.into_iter().collect::<String>().as_bytes())?;
        let functions = module.functions().into_iter();
        let functions: Vec<Ref> = functions.filter(|&it| name_of(llvm, it).starts_with(PREFIX)).collect();
        for &function in &functions {
            // Functions for several processors are inlined into those for the same one.
            set_attribute(llvm, module, function, "target-cpu", &machine.cpu);
            set_attribute(llvm, module, function, "target-features", &machine.features);
            (api.LLVMSetLinkage)(function, INTERNAL);
        }
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        for call in calls {
            let function = functions.iter().find(|&&it| name_of(llvm, it) == call.gather.symbol());
            call.replace(api, builder, *function.expect("the function was linked"));
        }
        (api.LLVMDisposeBuilder)(builder);
    }
    module.run_passes(machine, PASSES_AFTER)
}

/// Whether a load for each lane is faster than a gather. Intel's processors with AVX-512 are fast at gathers.
fn is_slow(machine: &Machine<'_>) -> bool {
    let have = machine.instructions();
    let is_fast = have.avx512 || FAST.iter().any(|name| machine.cpu.starts_with(name));
    have.avx2 && (machine.cpu.starts_with("znver") || !is_fast)
}

/// The calls of an intrinsic.
///
/// # Safety
/// It is of a module that no other code uses.
unsafe fn calls(api: &Api, intrinsic: Ref) -> Vec<Ref> {
    // SAFETY: the caller's promise; there are only calls of intrinsics.
    unsafe {
        let some = |member: Ref| (!member.is_null()).then_some(member);
        let uses = std::iter::successors(some((api.LLVMGetFirstUse)(intrinsic)), |&it| {
            some((api.LLVMGetNextUse)(it))
        });
        uses.map(|it| (api.LLVMGetUser)(it)).collect()
    }
}

/// A call of a gather. Its operands are addresses, in older versions an alignment, mask, other lanes.
struct Call {
    call: Ref,
    n_operands: c_uint,
    gather: Gather,
}

impl Call {
    /// # Safety
    /// It is a call of the gather, and no other code uses its module.
    unsafe fn new(api: &Api, call: Ref, gather: Gather) -> Call {
        // SAFETY: the caller's promise; only instructions are asked for what they do.
        unsafe {
            let n_operands = (api.LLVMGetNumArgOperands)(call);
            let indexed = indexed(api, (api.LLVMGetOperand)(call, 0));
            let addresses = indexed.map_or(Addresses::Any, |(_, step)| Addresses::Indexed(step));
            Call { call, n_operands, gather: Gather { addresses, ..gather } }
        }
    }

    /// Calls the function instead.
    ///
    /// # Safety
    /// The function replaces the gather, and no other code uses their module.
    unsafe fn replace(self, api: &Api, builder: Ref, function: Ref) {
        // SAFETY: the caller's promise.
        unsafe {
            // The operands may be results of other gathers, which were replaced since.
            let pointers = (api.LLVMGetOperand)(self.call, 0);
            let mut args = indexed(api, pointers).map_or(vec![pointers], |(operands, _)| operands.to_vec());
            args.extend([2, 1].map(|from_end| (api.LLVMGetOperand)(self.call, self.n_operands - from_end)));
            (api.LLVMPositionBuilderBefore)(builder, self.call);
            let ty = (api.LLVMGlobalGetValueType)(function);
            let count = args.len() as c_uint;
            let new = (api.LLVMBuildCall2)(builder, ty, function, args.as_mut_ptr(), count, c"".as_ptr());
            (api.LLVMReplaceAllUsesWith)(self.call, new);
            (api.LLVMInstructionEraseFromParent)(self.call);
        }
    }
}

/// The base and the indices of 32 bits, and the size of a step, if these are the addresses.
///
/// # Safety
/// The addresses are alive.
unsafe fn indexed(api: &Api, pointers: Ref) -> Option<([Ref; 2], i64)> {
    // SAFETY: the caller's promise; only instructions are asked for what they do.
    unsafe {
        let is = |value: Ref, opcode: c_int| {
            !(api.LLVMIsAInstruction)(value).is_null() && (api.LLVMGetInstructionOpcode)(value) == opcode
        };
        if !is(pointers, GET_ELEMENT_PTR) || (api.LLVMGetNumOperands)(pointers) != 2 {
            return None;
        }
        let [base, wide] = [0, 1].map(|at| (api.LLVMGetOperand)(pointers, at));
        let step = size_of(api, (api.LLVMGetGEPSourceElementType)(pointers));
        let is_vector = |value: Ref| (api.LLVMGetTypeKind)((api.LLVMTypeOf)(value)) == VECTOR;
        if step == 0 || is_vector(base) || !is(wide, SIGN_EXTEND) {
            return None;
        }
        let index = (api.LLVMGetOperand)(wide, 0);
        let bits = (api.LLVMGetIntTypeWidth)((api.LLVMGetElementType)((api.LLVMTypeOf)(index)));
        (bits == 32).then_some(([base, index], step))
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// Gathers of all lanes, and of those of a mask.
    const TEXT: &str = "define <16 x float> @all(ptr %p, <16 x i32> %i) {
           %wide = sext <16 x i32> %i to <16 x i64>
           %at = getelementptr float, ptr %p, <16 x i64> %wide
           %v = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> %at, i32 4, <16 x i1> splat (i1 true), <16 x float> poison)
           ret <16 x float> %v
         }
         define <4 x i64> @some(<4 x ptr> %p, <4 x i1> %m) {
           %v = call <4 x i64> @llvm.masked.gather.v4i64.v4p0(<4 x ptr> %p, i32 8, <4 x i1> %m, <4 x i64> zeroinitializer)
           ret <4 x i64> %v
         }
         define <16 x i32> @twice(ptr %p, <16 x i32> %i) {
           %w = sext <16 x i32> %i to <16 x i64>
           %at = getelementptr i32, ptr %p, <16 x i64> %w
           %j = call <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr> %at, i32 4, <16 x i1> splat (i1 true), <16 x i32> poison)
           %wj = sext <16 x i32> %j to <16 x i64>
           %atj = getelementptr i32, ptr %p, <16 x i64> %wj
           %v = call <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr> %atj, i32 4, <16 x i1> splat (i1 true), <16 x i32> poison)
           ret <16 x i32> %v
         }
         declare <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr>, i32, <16 x i1>, <16 x i32>)
         declare <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr>, i32, <16 x i1>, <16 x float>)
         declare <4 x i64> @llvm.masked.gather.v4i64.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x i64>)";

    /// The assembly of the functions for a processor.
    fn assembly(cpu: &str) -> [String; 3] {
        let code = x86_assembly(TEXT, cpu);
        let (all, others) = code.split_once("some:").expect("the function");
        let (some, twice) = others.split_once("twice:").expect("the function");
        [all, some, twice].map(str::to_owned)
    }

    fn count(code: &str, instruction: &str) -> usize {
        code.matches(instruction).count()
    }

    #[test]
    fn lanes_are_loaded_where_gathers_are_slow() {
        for cpu in ["znver5", "x86-64-v3"] {
            let [all, some, twice] = assembly(cpu);
            assert_eq!((count(&all, "vgather"), count(&all, "vinsertps")), (0, 12), "{cpu}: {all}");
            assert!(count(&twice, "gather") == 0 && count(&twice, "vpinsrd") > 1, "{cpu}: {twice}");
            assert!(count(&some, "gather") == 1 && count(&some, "vmovq") > 1, "{cpu}: {some}");
        }
    }

    #[test]
    fn other_processors_gather() {
        for cpu in ["skylake", "x86-64-v4", "sapphirerapids"] {
            let [all, some, _] = assembly(cpu);
            assert!(all.contains("vgather") && some.contains("gather"), "{cpu}: {all} {some}");
        }
    }
}
