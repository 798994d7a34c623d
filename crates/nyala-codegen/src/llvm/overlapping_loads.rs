//! Loads that overlap, for processors with registers of 256 and 512 bits.
//!
//! A register of 512 bits is as wide as a cache line. So of the loads of a stencil, such as `x(i - 1)`, `x(i)` and
//! `x(i + 1)`, at most one is within a line, and each of the others takes the time of two. But the elements between
//! those of the first and of the last load are in two registers already, so that a permutation of both gives them:
//!
//! ```text
//! %a = load <16 x float>, ptr %p - 4           %a = load <16 x float>, ptr %p - 4
//! %b = load <16 x float>, ptr %p          =>   %c = load <16 x float>, ptr %p + 4
//! %c = load <16 x float>, ptr %p + 4           %b = shufflevector %a, %c, <1, 2, .., 15, 30>
//! ```
//!
//! Then a sum of five neighbours takes 0.6 times the time. In registers of 256 bits, lanes that stay in their half of
//! 128 bits move in one instruction. That is enough for loads within 12 bytes, or 16 for lanes of 64 bits, as most
//! lanes are in both vectors:
//!
//! ```text
//! %b = shufflevector %a, %c, <1, 2, 9, 10, 5, 6, 13, 14>
//! ```
//!
//! That comes after LLVM's optimizations, which have brought loads of one block together.

use std::collections::HashMap;
use std::ffi::{c_int, c_uint};

use super::Llvm;
use super::api::{Api, Ref, list};
use super::compile::{Machine, Module};
use super::versions::name_of;

/// `LLVMOpcode`s.
const LOAD: c_int = 27;
const STORE: c_int = 28;
const GET_ELEMENT_PTR: c_int = 29;
const CALL: c_int = 45;
const FENCE: c_int = 55;
const COMPARE_EXCHANGE: c_int = 56;
const READ_MODIFY_WRITE: c_int = 57;

/// `LLVMTypeKind`s.
const FLOAT: c_int = 2;
const DOUBLE: c_int = 3;
const INTEGER: c_int = 8;
const VECTOR: c_int = 13;

/// How the elements between two loads are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shuffles {
    /// Within each half of a register of 256 bits.
    InHalves,
    /// Between all lanes of a register of 512 bits.
    Any,
}

impl Shuffles {
    /// What the machine has.
    fn of(machine: &Machine<'_>) -> Option<Shuffles> {
        let have = machine.instructions();
        let in_halves = have.avx2.then_some(Shuffles::InHalves);
        if have.avx512 { Some(Shuffles::Any) } else { in_halves }
    }

    /// The size of a register in bytes.
    fn register(self) -> i64 {
        match self {
            Shuffles::InHalves => 32,
            Shuffles::Any => 64,
        }
    }

    /// The largest distance in bytes of two loads of so many bytes, whose lanes of this size give all elements in
    /// between by one shuffle each.
    fn span(self, size: i64, lane: i64) -> i64 {
        match self {
            Shuffles::InHalves if lane == 4 => HALF - lane,
            Shuffles::InHalves => HALF,
            Shuffles::Any => size,
        }
    }
}

/// The size in bytes of a half of a register of 256 bits.
const HALF: i64 = 16;

/// The smallest register of [`Shuffles`].
const LEAST_REGISTER: i64 = 32;

/// A load of a vector.
#[derive(Clone, Copy)]
struct Load {
    instruction: Ref,
    /// Its position among the loads of its group.
    index: usize,
    /// In bytes from the base.
    offset: i64,
}

/// Loads of vectors of one type from one base, between which no memory is written.
struct Group {
    base: Ref,
    ty: Ref,
    loads: Vec<Load>,
}

/// Replaces the inner ones of overlapping loads of an optimized module.
///
/// # Safety
/// No other code uses the module.
pub(super) unsafe fn permute(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once.
    unsafe {
        let functions = module.functions().into_iter().filter(|&it| (api.LLVMIsDeclaration)(it) == 0);
        let blocks = functions
            .flat_map(|it| list((api.LLVMGetFirstBasicBlock)(it), |it| (api.LLVMGetNextBasicBlock)(it)));
        let name = "nontemporal";
        let streaming =
            (api.LLVMGetMDKindIDInContext)(module.context, name.as_ptr().cast(), name.len() as c_uint);
        let groups: Vec<Group> = blocks.flat_map(|block| groups(llvm, block, streaming)).collect();
        if groups.is_empty() {
            return;
        }
        let Some(shuffles) = Shuffles::of(machine) else { return };
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        let rewriter = Rewriter { api, context: module.context, builder, shuffles };
        let is_whole = |group: &Group| size_of(api, group.ty) % shuffles.register() == 0;
        for mut group in groups.into_iter().filter(is_whole) {
            group.loads.sort_by_key(|load| load.offset);
            let [size, lane] = [group.ty, (api.LLVMGetElementType)(group.ty)].map(|ty| size_of(api, ty));
            for run in runs(&group.loads, shuffles.span(size, lane)) {
                rewriter.rewrite(&group, run);
            }
        }
        (api.LLVMDisposeBuilder)(builder);
    }
}

/// The groups of a block with at least three loads.
///
/// # Safety
/// The block is alive, and no other code uses its module.
unsafe fn groups(llvm: &Llvm, block: Ref, streaming: c_uint) -> Vec<Group> {
    let api = &llvm.api;
    let mut groups: Vec<Group> = vec![];
    let mut open: HashMap<(Ref, Ref), usize> = HashMap::new();
    // SAFETY: the caller's promise.
    unsafe {
        for instruction in list((api.LLVMGetFirstInstruction)(block), |it| (api.LLVMGetNextInstruction)(it)) {
            if may_write(llvm, instruction) {
                open.clear();
            }
            if !is_wide_load(api, instruction) || !(api.LLVMGetMetadata)(instruction, streaming).is_null() {
                continue;
            }
            let (base, offset) = place(api, (api.LLVMGetOperand)(instruction, 0));
            let ty = (api.LLVMTypeOf)(instruction);
            let at = *open.entry((base, ty)).or_insert_with(|| {
                groups.push(Group { base, ty, loads: vec![] });
                groups.len() - 1
            });
            let index = groups[at].loads.len();
            groups[at].loads.push(Load { instruction, index, offset });
        }
    }
    groups.retain(|group| group.loads.len() > 2);
    groups
}

/// Neighbouring loads of which the first and the last contain all elements of the others, in order; at least three.
fn runs(loads: &[Load], span: i64) -> Vec<&[Load]> {
    let (mut all, mut rest) = (vec![], loads);
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|load| load.offset - first.offset <= span).count();
        let (run, others) = rest.split_at(n);
        all.push(run);
        rest = others;
    }
    all.retain(|run| run.len() > 2);
    all
}

/// Whether an instruction may write memory, or not be followed by the next one.
///
/// # Safety
/// The instruction is alive.
unsafe fn may_write(llvm: &Llvm, instruction: Ref) -> bool {
    let api = &llvm.api;
    // SAFETY: the caller's promise; calls have a callee.
    unsafe {
        match (api.LLVMGetInstructionOpcode)(instruction) {
            CALL => {
                // LLVM's functions that give vectors write nothing.
                let gives_vector = (api.LLVMGetTypeKind)((api.LLVMTypeOf)(instruction)) == VECTOR;
                !gives_vector || !name_of(llvm, (api.LLVMGetCalledValue)(instruction)).starts_with("llvm.")
            }
            opcode => matches!(opcode, STORE | FENCE | COMPARE_EXCHANGE | READ_MODIFY_WRITE),
        }
    }
}

/// Whether an instruction loads whole registers of lanes with 32 or 64 bits.
///
/// # Safety
/// The instruction is alive.
unsafe fn is_wide_load(api: &Api, instruction: Ref) -> bool {
    // SAFETY: the caller's promise; only vectors are asked for lanes.
    unsafe {
        if (api.LLVMGetInstructionOpcode)(instruction) != LOAD || (api.LLVMGetVolatile)(instruction) != 0 {
            return false;
        }
        let ty = (api.LLVMTypeOf)(instruction);
        (api.LLVMGetTypeKind)(ty) == VECTOR
            && matches!(size_of(api, (api.LLVMGetElementType)(ty)), 4 | 8)
            && size_of(api, ty) % LEAST_REGISTER == 0
    }
}

/// The size in bytes of a number or of a vector of them; 0 for other types.
///
/// # Safety
/// The type is alive.
pub(super) unsafe fn size_of(api: &Api, ty: Ref) -> i64 {
    // SAFETY: the caller's promise.
    unsafe {
        match (api.LLVMGetTypeKind)(ty) {
            FLOAT => 4,
            DOUBLE => 8,
            INTEGER if (api.LLVMGetIntTypeWidth)(ty).is_multiple_of(8) => {
                i64::from((api.LLVMGetIntTypeWidth)(ty) / 8)
            }
            VECTOR => i64::from((api.LLVMGetVectorSize)(ty)) * size_of(api, (api.LLVMGetElementType)(ty)),
            _ => 0,
        }
    }
}

/// The base of an address, and its known distance from it in bytes.
///
/// # Safety
/// The address is alive.
unsafe fn place(api: &Api, mut address: Ref) -> (Ref, i64) {
    let mut offset = 0_i64;
    // SAFETY: the caller's promise; only instructions are asked for what they do.
    unsafe {
        while !(api.LLVMIsAInstruction)(address).is_null()
            && (api.LLVMGetInstructionOpcode)(address) == GET_ELEMENT_PTR
            && (api.LLVMGetNumOperands)(address) == 2
        {
            let index = (api.LLVMGetOperand)(address, 1);
            let size = size_of(api, (api.LLVMGetGEPSourceElementType)(address));
            if size == 0 || (api.LLVMIsAConstantInt)(index).is_null() {
                break;
            }
            let distance = (api.LLVMConstIntGetSExtValue)(index).wrapping_mul(size);
            offset = offset.wrapping_add(distance);
            address = (api.LLVMGetOperand)(address, 0);
        }
    }
    (address, offset)
}

/// Writes loads and permutations. Its methods are unsafe for the same reason: all values are alive and of one
/// block, which no other code uses.
struct Rewriter<'a> {
    api: &'a Api,
    context: Ref,
    builder: Ref,
    shuffles: Shuffles,
}

impl Rewriter<'_> {
    /// Replaces loads by the first and the last, which are executed where the earliest was, and permutations of both.
    unsafe fn rewrite(&self, group: &Group, run: &[Load]) {
        let api = self.api;
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        // SAFETY: see `Rewriter`. The base is known before each of the loads.
        unsafe {
            let lane = size_of(api, (api.LLVMGetElementType)(group.ty));
            let distance = |load: &Load| load.offset.wrapping_sub(first.offset);
            if run.iter().any(|load| distance(load) % lane != 0) {
                return;
            }
            let Some(earliest) = run.iter().min_by_key(|load| load.index) else { return };
            (api.LLVMPositionBuilderBefore)(self.builder, earliest.instruction);
            let (low, high) = (self.load(group, first), self.load(group, last));
            let value = |load: &Load| match load.offset {
                offset if offset == first.offset => low,
                offset if offset == last.offset => high,
                _ => self.between(low, high, distance(load) / lane, distance(last) / lane),
            };
            // The builder is in front of a load that is erased.
            let values: Vec<Ref> = run.iter().map(value).collect();
            for (load, value) in run.iter().zip(values) {
                (api.LLVMReplaceAllUsesWith)(load.instruction, value);
                (api.LLVMInstructionEraseFromParent)(load.instruction);
            }
        }
    }

    /// The same load, at the builder's position.
    unsafe fn load(&self, group: &Group, load: &Load) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`.
        unsafe {
            let byte = (api.LLVMIntTypeInContext)(self.context, 8);
            let int = (api.LLVMInt64TypeInContext)(self.context);
            let mut offset = (api.LLVMConstInt)(int, load.offset as u64, 1);
            let at = (api.LLVMBuildGEP2)(self.builder, byte, group.base, &mut offset, 1, c"".as_ptr());
            let value = (api.LLVMBuildLoad2)(self.builder, group.ty, at, c"".as_ptr());
            (api.LLVMSetAlignment)(value, (api.LLVMGetAlignment)(load.instruction));
            value
        }
    }

    /// The elements from the `by`-th of the first vector on, given the elements from the `end`-th on.
    unsafe fn between(&self, low: Ref, high: Ref, by: i64, end: i64) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`. Each index is of one of both vectors, as `by <= end <= n`.
        unsafe {
            let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(low));
            let int = (api.LLVMInt32TypeInContext)(self.context);
            let n = i64::from(n);
            let per_half = HALF / size_of(api, (api.LLVMGetElementType)((api.LLVMTypeOf)(low)));
            let source = |lane: i64| {
                let is_low = match self.shuffles {
                    Shuffles::Any => lane + by < n,
                    // The shuffle takes the first lanes of each half from one vector, and as many from the other.
                    Shuffles::InHalves => lane % per_half < per_half / 2,
                };
                if is_low { lane + by } else { n + lane + by - end }
            };
            let mut order: Vec<Ref> =
                (0..n).map(|lane| (api.LLVMConstInt)(int, source(lane) as u64, 0)).collect();
            let order = (api.LLVMConstVector)(order.as_mut_ptr(), order.len() as c_uint);
            (api.LLVMBuildShuffleVector)(self.builder, low, high, order, c"".as_ptr())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// The instructions for a processor of a function that adds `<16 x float>` vectors at these offsets in floats.
    fn sum_of(cpu: &str, offsets: &[i32], between: &str) -> String {
        let mut text =
            "define <16 x float> @f(ptr %p, i64 %i, ptr %q) {\n  %at = getelementptr float, ptr %p, i64 %i\n"
                .to_owned();
        for (k, offset) in offsets.iter().enumerate() {
            text += &format!("  %at{k} = getelementptr float, ptr %at, i64 {offset}\n");
            text += &format!("  %x{k} = load <16 x float>, ptr %at{k}, align 4\n");
            text += between;
        }
        text += "  %s0 = fadd <16 x float> %x0, %x0\n";
        for k in 1..offsets.len() {
            text += &format!("  %s{k} = fadd <16 x float> %s{}, %x{k}\n", k - 1);
        }
        text += &format!("  ret <16 x float> %s{}\n}}\n", offsets.len() - 1);
        x86_assembly(&text, cpu)
    }

    /// How many vectors are loaded from the array, and how many are permuted.
    fn counts(code: &str) -> (usize, usize) {
        let has = |line: &&str, name: &str| line.trim_start().starts_with(name);
        let loads = code.lines().filter(|line| line.contains("(%rdi,%rsi,4)") && line.contains("mm"));
        let names = ["vperm", "valign", "vshufp", "vpalign"];
        let permutations = code.lines().filter(|line| names.iter().any(|name| has(line, name)));
        (loads.count(), permutations.count())
    }

    #[test]
    fn inner_neighbours_are_permutations_of_the_outer_ones() {
        assert_eq!(counts(&sum_of("znver5", &[-1, 0, 1], "")), (2, 1));
        assert_eq!(counts(&sum_of("znver4", &[1, -2, 0, 2, -1], "")), (2, 3));
    }

    #[test]
    fn elements_in_neither_vector_are_loaded() {
        assert_eq!(counts(&sum_of("znver4", &[0, 1, 17, 64], "")), (4, 0));
        assert_eq!(counts(&sum_of("znver4", &[0, 7, 16, 17], "")), (3, 1));
    }

    #[test]
    fn loads_behind_a_store_are_kept() {
        assert_eq!(counts(&sum_of("znver4", &[-1, 0, 1], "  store float 1.0, ptr %q\n")), (3, 0));
    }

    #[test]
    fn lanes_of_short_registers_stay_in_their_half() {
        // Each vector is two registers.
        assert_eq!(counts(&sum_of("x86-64-v3", &[-1, 0, 1], "")), (4, 2));
        assert_eq!(counts(&sum_of("x86-64-v3", &[0, 1, 2, 3], "")), (4, 4));
        assert_eq!(counts(&sum_of("x86-64-v3", &[0, 1, 2, 3, 4], "")), (6, 4));
        assert_eq!(counts(&sum_of("x86-64-v3", &[0, 2, 5], "")).1, 0);
        assert_eq!(counts(&sum_of("x86-64-v2", &[-1, 0, 1], "")).1, 0);
    }
}
