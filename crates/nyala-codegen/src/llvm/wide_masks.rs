//! Masks as vectors of integers, for x86-64 without AVX-512.
//!
//! AVX2 has no registers for masks: a comparison of 8 floats gives 8 integers of 32 bits. LLVM keeps that form from
//! a comparison to its uses in the same block. Where masks are combined by `and` and `or`, or live in several
//! blocks, such as the active lanes of a loop, it packs them to bytes and unpacks them for each use. That doubled
//! the time of divergent loops.
//!
//! So such masks become vectors of integers that are 0 or -1 ([`widen`]):
//!
//! ```text
//! %m = phi <8 x i1> [ .. ]                       %m = phi <8 x i32> [ .. ]
//! %c = fcmp olt <8 x float> %x, %y        =>     %c = sext (fcmp olt <8 x float> %x, %y)
//! %n = and <8 x i1> %m, %c                       %n = and <8 x i32> %m, %c
//! select <8 x i1> %n, ..                         select (icmp slt <8 x i32> %n, 0), ..
//! ```
//!
//! The integers are as wide as most of the lanes that are compared and selected. That comes after LLVM's
//! optimizations, which would undo it.

use std::collections::{HashMap, HashSet};
use std::ffi::{c_int, c_uint};

use super::Llvm;
use super::api::{Api, Ref};
use super::compile::{Machine, Module};
use super::versions::name_of;

/// `LLVMOpcode`s.
const AND: c_int = 23;
const OR: c_int = 24;
const XOR: c_int = 25;
const TRUNC: c_int = 30;
const ICMP: c_int = 42;
const FCMP: c_int = 43;
const PHI: c_int = 44;
const CALL: c_int = 45;
const SELECT: c_int = 46;

/// `LLVMTypeKind`s.
const HALF: c_int = 1;
const FLOAT: c_int = 2;
const INTEGER: c_int = 8;
const VECTOR: c_int = 13;
const BFLOAT: c_int = 18;

/// `LLVMIntSLT`.
const SIGNED_LESS: c_int = 40;

/// Widens the masks of an optimized module, if the processor has no registers for them.
///
/// # Safety
/// No other code uses the module.
pub(super) unsafe fn widen(llvm: &Llvm, machine: &Machine<'_>, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once.
    unsafe {
        let functions = module.functions().into_iter().filter(|&it| (api.LLVMIsDeclaration)(it) == 0);
        let all = functions.filter_map(|function| Masks::of(llvm, function));
        let all: Vec<Masks> = all.collect();
        if all.is_empty() || machine.instructions().avx512 {
            return;
        }
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        for masks in all {
            Rewriter {
                api,
                context: module.context,
                builder,
                masks,
                wide: HashMap::new(),
                narrow: HashMap::new(),
            }
            .run();
        }
        (api.LLVMDisposeBuilder)(builder);
    }
}

/// The members of one of LLVM's lists.
fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Ref> {
    let some = |member: Ref| (!member.is_null()).then_some(member);
    std::iter::successors(some(first), |&member| some(next(member))).collect()
}

/// The masks of a function that are widened.
#[derive(Default)]
struct Masks {
    /// The blocks, each after those that dominate it.
    blocks: Vec<Ref>,
    /// The masks that are computed from others, and those that other blocks use: their width in bits.
    widths: HashMap<Ref, c_uint>,
}

/// Groups of masks that are computed from each other, by representatives.
#[derive(Default)]
struct Groups {
    parents: HashMap<Ref, Ref>,
    /// How many lanes of each width are compared or selected, by members.
    votes: HashMap<Ref, Vec<c_uint>>,
}

impl Groups {
    fn find(&mut self, mask: Ref) -> Ref {
        let mut root = mask;
        while let Some(&parent) = self.parents.get(&root).filter(|&&parent| parent != root) {
            root = parent;
        }
        self.parents.insert(mask, root);
        root
    }

    fn join(&mut self, a: Ref, b: Ref) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents.insert(a, b);
    }

    /// The width of most lanes of each group; of equally many, the larger one.
    fn widths(&mut self) -> HashMap<Ref, c_uint> {
        let mut all: HashMap<Ref, Vec<c_uint>> = HashMap::new();
        for (mask, votes) in std::mem::take(&mut self.votes) {
            all.entry(self.find(mask)).or_default().extend(votes);
        }
        let count = |votes: &[c_uint], bits: c_uint| votes.iter().filter(|&&it| it == bits).count();
        all.into_iter()
            .filter_map(|(root, votes)| {
                let width = [8, 16, 32, 64].into_iter().max_by_key(|&bits| count(&votes, bits))?;
                (count(&votes, width) > 0).then_some((root, width))
            })
            .collect()
    }
}

impl Masks {
    /// The masks of a function, if any should be widened.
    ///
    /// # Safety
    /// The function is alive, and no other code uses its module.
    unsafe fn of(llvm: &Llvm, function: Ref) -> Option<Masks> {
        let api = &llvm.api;
        let mut groups = Groups::default();
        let (mut needed, mut all) = (HashSet::new(), vec![]);
        // SAFETY: the caller's promise.
        unsafe {
            let blocks = order(api, function);
            for &block in &blocks {
                for mask in instructions(api, block).into_iter().filter(|&it| is_mask(api, it)) {
                    all.push(mask);
                    let opcode = (api.LLVMGetInstructionOpcode)(mask);
                    if is_combined(api, mask) {
                        needed.insert(mask);
                        for operand in operands(api, mask).into_iter().filter(|&it| is_mask(api, it)) {
                            if (api.LLVMIsConstant)(operand) == 0 {
                                groups.join(mask, operand);
                            }
                        }
                    } else if matches!(opcode, ICMP | FCMP | TRUNC) {
                        let compared = (api.LLVMGetOperand)(mask, 0);
                        groups.votes.entry(mask).or_default().extend(lane_bits(api, compared));
                    }
                    for user in users(api, mask) {
                        if !is_combined(api, user) && (api.LLVMGetInstructionParent)(user) != block {
                            needed.insert(mask);
                        }
                        groups.votes.entry(mask).or_default().extend(selected_bits(llvm, user));
                    }
                }
            }
            let widths = groups.widths();
            let widths: HashMap<Ref, c_uint> = all
                .into_iter()
                .filter(|mask| needed.contains(mask))
                .filter_map(|mask| Some((mask, *widths.get(&groups.find(mask))?)))
                .collect();
            (!widths.is_empty()).then_some(Masks { blocks, widths })
        }
    }
}

/// Writes the wide form of masks. Its methods are unsafe for the same reason: all values are alive and of one
/// function, which no other code uses.
struct Rewriter<'a> {
    api: &'a Api,
    context: Ref,
    builder: Ref,
    masks: Masks,
    wide: HashMap<Ref, Ref>,
    /// The masks that wide ones are, by the block that uses them.
    narrow: HashMap<(Ref, Ref), Ref>,
}

impl Rewriter<'_> {
    unsafe fn run(&mut self) {
        let api = self.api;
        // SAFETY: see `Rewriter`. Operands are written before their uses, except for those of phis.
        unsafe {
            let all: Vec<Ref> =
                self.masks.blocks.iter().flat_map(|&block| instructions(api, block)).collect();
            let all: Vec<Ref> = all.into_iter().filter(|mask| self.masks.widths.contains_key(mask)).collect();
            let opcode = |mask: Ref| (api.LLVMGetInstructionOpcode)(mask);
            let (phis, others): (Vec<Ref>, Vec<Ref>) = all.iter().partition(|&&mask| opcode(mask) == PHI);
            for &mask in &phis {
                (api.LLVMPositionBuilderBefore)(self.builder, mask);
                let ty = self.wide_ty(mask, self.masks.widths[&mask]);
                let phi = (api.LLVMBuildPhi)(self.builder, ty, c"".as_ptr());
                self.wide.insert(mask, phi);
            }
            for mask in others {
                let value = match is_combined(api, mask) {
                    true => self.combined(mask),
                    false => self.of_source(mask, self.masks.widths[&mask]),
                };
                self.wide.insert(mask, value);
            }
            phis.into_iter().for_each(|mask| self.add_incoming(mask));
            all.iter().for_each(|&mask| self.replace_uses(mask));
            for mask in all.into_iter().filter(|&mask| is_combined(api, mask)) {
                (api.LLVMReplaceAllUsesWith)(mask, (api.LLVMGetPoison)((api.LLVMTypeOf)(mask)));
                (api.LLVMInstructionEraseFromParent)(mask);
            }
        }
    }

    /// Gives the wide form of a phi its operands. Two edges from one block have the same.
    unsafe fn add_incoming(&mut self, mask: Ref) {
        let api = self.api;
        let mut known: HashMap<Ref, Ref> = HashMap::new();
        // SAFETY: see `Rewriter`; a block has an end.
        unsafe {
            for at in 0..(api.LLVMCountIncoming)(mask) {
                let mut block = (api.LLVMGetIncomingBlock)(mask, at);
                let value = (api.LLVMGetIncomingValue)(mask, at);
                let end = (api.LLVMGetBasicBlockTerminator)(block);
                let bits = self.masks.widths[&mask];
                let mut wide = *known.entry(block).or_insert_with(|| self.operand(value, bits, end));
                (api.LLVMAddIncoming)(self.wide[&mask], &mut wide, &mut block, 1);
            }
        }
    }

    unsafe fn wide_ty(&self, mask: Ref, bits: c_uint) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; a mask is a vector.
        unsafe {
            let lane = (api.LLVMIntTypeInContext)(self.context, bits);
            (api.LLVMVectorType)(lane, (api.LLVMGetVectorSize)((api.LLVMTypeOf)(mask)))
        }
    }

    /// The wide form of an operand, which is written in front of an instruction if it is not there yet.
    unsafe fn operand(&mut self, mask: Ref, bits: c_uint, before: Ref) -> Ref {
        let api = self.api;
        if let Some(&wide) = self.wide.get(&mask) {
            return wide;
        }
        // SAFETY: see `Rewriter`.
        unsafe {
            let is_local = !(api.LLVMIsAInstruction)(mask).is_null()
                && (api.LLVMGetInstructionParent)(mask) != (api.LLVMGetInstructionParent)(before);
            if is_local && (api.LLVMGetInstructionOpcode)(mask) != PHI {
                let wide = self.of_source(mask, bits);
                self.wide.insert(mask, wide);
                return wide;
            }
            (api.LLVMPositionBuilderBefore)(self.builder, before);
            (api.LLVMBuildSExt)(self.builder, mask, self.wide_ty(mask, bits), c"".as_ptr())
        }
    }

    /// The wide form of a mask that is not computed from others, behind it.
    unsafe fn of_source(&self, mask: Ref, bits: c_uint) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; no mask is the last instruction of a block.
        unsafe {
            (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetNextInstruction)(mask));
            (api.LLVMBuildSExt)(self.builder, mask, self.wide_ty(mask, bits), c"".as_ptr())
        }
    }

    /// The wide form of a mask that is computed from others.
    unsafe fn combined(&mut self, mask: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; opcodes tell the operands. A lane that `select` does not choose may be poison,
        // which is not poison for `and` and `or` behind `freeze`.
        unsafe {
            let bits = self.masks.widths[&mask];
            let opcode = (api.LLVMGetInstructionOpcode)(mask);
            let given = operands(api, mask);
            let is_by_lane = opcode != SELECT || is_mask(api, given[0]);
            let wide: Vec<Ref> = given
                .iter()
                .map(|&it| if is_mask(api, it) { self.operand(it, bits, mask) } else { it })
                .collect();
            (api.LLVMPositionBuilderBefore)(self.builder, mask);
            let build = |opcode, a, b| (api.LLVMBuildBinOp)(self.builder, opcode, a, b, c"".as_ptr());
            let freeze = |value: Ref| match (api.LLVMIsConstant)(value) {
                0 => (api.LLVMBuildFreeze)(self.builder, value, c"".as_ptr()),
                _ => value,
            };
            match opcode {
                SELECT if !is_by_lane => {
                    (api.LLVMBuildSelect)(self.builder, wide[0], wide[1], wide[2], c"".as_ptr())
                }
                SELECT if (api.LLVMIsNull)(given[2]) != 0 => build(AND, wide[0], freeze(wide[1])),
                SELECT if is_true(api, given[1]) => build(OR, wide[0], freeze(wide[2])),
                SELECT => {
                    let (then, other) = (freeze(wide[1]), freeze(wide[2]));
                    let differing = build(AND, wide[0], build(XOR, then, other));
                    build(XOR, other, differing)
                }
                _ => build(opcode, wide[0], wide[1]),
            }
        }
    }

    /// Lets all instructions that are not masks themselves use the wide form.
    unsafe fn replace_uses(&mut self, mask: Ref) {
        let api = self.api;
        // SAFETY: see `Rewriter`.
        unsafe {
            let own = (api.LLVMGetInstructionParent)(mask);
            let is_source = !is_combined(api, mask);
            for user in users(api, mask) {
                let block = (api.LLVMGetInstructionParent)(user);
                let is_done = self.masks.widths.contains_key(&user) && is_combined(api, user);
                if is_done || (is_source && block == own) {
                    continue;
                }
                let narrow = self.narrow(mask, block);
                for index in 0..(api.LLVMGetNumOperands)(user) as c_uint {
                    if (api.LLVMGetOperand)(user, index) == mask {
                        (api.LLVMSetOperand)(user, index, narrow);
                    }
                }
            }
        }
    }

    /// The mask that a wide one is, for a block.
    unsafe fn narrow(&mut self, mask: Ref, block: Ref) -> Ref {
        let api = self.api;
        if let Some(&narrow) = self.narrow.get(&(mask, block)) {
            return narrow;
        }
        // SAFETY: see `Rewriter`; a block has an end.
        unsafe {
            let wide = self.wide[&mask];
            let is_here = (api.LLVMGetInstructionParent)(mask) == block;
            let is_phi = (api.LLVMGetInstructionOpcode)(mask) == PHI;
            let before = match is_here && !is_phi {
                true => mask,
                false => first_behind_phis(api, block),
            };
            (api.LLVMPositionBuilderBefore)(self.builder, before);
            let zero = (api.LLVMConstNull)((api.LLVMTypeOf)(wide));
            let narrow = (api.LLVMBuildICmp)(self.builder, SIGNED_LESS, wide, zero, c"".as_ptr());
            self.narrow.insert((mask, block), narrow);
            narrow
        }
    }
}

// All functions below are unsafe for the same reason: values are alive, and no other code uses their module.

/// The blocks that can be reached, each after those that dominate it.
unsafe fn order(api: &Api, function: Ref) -> Vec<Ref> {
    let mut finished = vec![];
    // SAFETY: see above; a block has an end.
    unsafe {
        let entry = (api.LLVMGetFirstBasicBlock)(function);
        let mut seen = HashSet::from([entry]);
        let mut open = vec![(entry, 0)];
        while let Some((block, at)) = open.last_mut() {
            let end = (api.LLVMGetBasicBlockTerminator)(*block);
            if *at == (api.LLVMGetNumSuccessors)(end) {
                finished.push(*block);
                open.pop();
                continue;
            }
            let next = (api.LLVMGetSuccessor)(end, *at);
            *at += 1;
            if seen.insert(next) {
                open.push((next, 0));
            }
        }
    }
    finished.reverse();
    finished
}

unsafe fn instructions(api: &Api, block: Ref) -> Vec<Ref> {
    // SAFETY: see above.
    unsafe { list((api.LLVMGetFirstInstruction)(block), |it| (api.LLVMGetNextInstruction)(it)) }
}

unsafe fn first_behind_phis(api: &Api, block: Ref) -> Ref {
    // SAFETY: see above; the end of a block is no phi.
    unsafe {
        let mut first = (api.LLVMGetFirstInstruction)(block);
        while (api.LLVMGetInstructionOpcode)(first) == PHI {
            first = (api.LLVMGetNextInstruction)(first);
        }
        first
    }
}

unsafe fn users(api: &Api, value: Ref) -> Vec<Ref> {
    // SAFETY: see above; the users of an instruction are instructions.
    unsafe {
        let uses = list((api.LLVMGetFirstUse)(value), |it| (api.LLVMGetNextUse)(it));
        let mut users: Vec<Ref> = uses.into_iter().map(|it| (api.LLVMGetUser)(it)).collect();
        let mut seen = HashSet::new();
        users.retain(|&user| seen.insert(user));
        users
    }
}

unsafe fn operands(api: &Api, instruction: Ref) -> Vec<Ref> {
    // SAFETY: see above.
    unsafe {
        let all = 0..(api.LLVMGetNumOperands)(instruction) as c_uint;
        all.map(|at| (api.LLVMGetOperand)(instruction, at)).collect()
    }
}

/// Whether a value is a vector of `i1`.
unsafe fn is_mask(api: &Api, value: Ref) -> bool {
    // SAFETY: see above.
    unsafe { lane_bits(api, value) == Some(1) }
}

/// Whether a value is the mask of all lanes.
unsafe fn is_true(api: &Api, value: Ref) -> bool {
    // SAFETY: see above; the elements of a constant are constants.
    unsafe {
        if (api.LLVMIsConstant)(value) == 0 {
            return false;
        }
        let all = 0..(api.LLVMGetVectorSize)((api.LLVMTypeOf)(value));
        let is_one = |lane: Ref| {
            !lane.is_null()
                && !(api.LLVMIsAConstantInt)(lane).is_null()
                && (api.LLVMConstIntGetZExtValue)(lane) == 1
        };
        all.into_iter().all(|at| is_one((api.LLVMGetAggregateElement)(value, at)))
    }
}

/// Whether an instruction computes a mask from others.
unsafe fn is_combined(api: &Api, instruction: Ref) -> bool {
    // SAFETY: see above.
    unsafe {
        let opcode = (api.LLVMGetInstructionOpcode)(instruction);
        is_mask(api, instruction) && matches!(opcode, AND | OR | XOR | PHI | SELECT)
    }
}

/// The bits of a lane of a vector.
unsafe fn lane_bits(api: &Api, value: Ref) -> Option<c_uint> {
    // SAFETY: see above; only vectors are asked for lanes, and only integers for their width.
    unsafe {
        let ty = (api.LLVMTypeOf)(value);
        if (api.LLVMGetTypeKind)(ty) != VECTOR {
            return None;
        }
        let lane = (api.LLVMGetElementType)(ty);
        Some(match (api.LLVMGetTypeKind)(lane) {
            INTEGER => (api.LLVMGetIntTypeWidth)(lane),
            HALF | BFLOAT => 16,
            FLOAT => 32,
            _ => 64,
        })
    }
}

/// The bits of the lanes that an instruction selects, loads or stores by a mask.
unsafe fn selected_bits(llvm: &Llvm, user: Ref) -> Option<c_uint> {
    let api = &llvm.api;
    // SAFETY: see above; the first operand of a masked store is the value.
    unsafe {
        let value = match (api.LLVMGetInstructionOpcode)(user) {
            SELECT => user,
            CALL => {
                let name = name_of(llvm, (api.LLVMGetCalledValue)(user));
                let is_store = name.starts_with("llvm.masked.store");
                match name.starts_with("llvm.masked.") {
                    true if is_store => (api.LLVMGetOperand)(user, 0),
                    true => user,
                    false => return None,
                }
            }
            _ => return None,
        };
        lane_bits(api, value).filter(|&bits| bits > 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// A loop that each lane leaves by itself, under masks that are combined and live in several blocks.
    const LOOP: &str = "define void @f(ptr %p, ptr %q, <16 x i32> %limit) {
         start:
           %x = load <16 x i32>, ptr %p
           br label %head
         head:
           %v = phi <16 x i32> [ %x, %start ], [ %next, %body ]
           %active = phi <16 x i1> [ splat (i1 true), %start ], [ %stays, %body ]
           %more = icmp slt <16 x i32> %v, %limit
           %stays = select <16 x i1> %active, <16 x i1> %more, <16 x i1> zeroinitializer
           %bits = bitcast <16 x i1> %stays to i16
           %none = icmp eq i16 %bits, 0
           br i1 %none, label %exit, label %body
         body:
           %sum = add <16 x i32> %v, %x
           %next = select <16 x i1> %stays, <16 x i32> %sum, <16 x i32> %v
           br label %head
         exit:
           store <16 x i32> %v, ptr %q
           ret void
         }";

    #[test]
    fn masks_of_loops_are_not_packed() {
        let code = x86_assembly(LOOP, "x86-64-v3");
        assert!(!code.contains("vpmovzx") && !code.contains("vpunpck"), "{code}");
    }

    #[test]
    fn processors_with_registers_for_masks_use_them() {
        assert!(x86_assembly(LOOP, "x86-64-v4").contains("%k1"));
    }

    #[test]
    fn masked_gathers_have_no_branches() {
        let text = "define <8 x i32> @f(ptr %p, <8 x i64> %at, <8 x i32> %x) {
               %m = icmp slt <8 x i32> %x, zeroinitializer
               %all = getelementptr i32, ptr %p, <8 x i64> %at
               %v = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %all, i32 4, <8 x i1> %m, <8 x i32> %x)
               ret <8 x i32> %v
             }
             declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i32>)";
        let code = x86_assembly(text, "skylake");
        assert!(code.contains("vpgatherqd") && !code.contains("pinsr"), "{code}");
    }
}
