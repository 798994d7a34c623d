//! Accumulators of loops over groups of lanes.
//!
//! A loop that adds up `lanes_sum` of each group combines the lanes in every iteration, by a tree of permutes, although
//! only the last result is used. This pass gives such a loop accumulators with one element for each lane, and combines them
//! once behind the loop:
//!
//! ```text
//! loop:                                   loop:
//!   s = phi [s0], [next]                    v = phi [zero], [next]
//!   next = s + combined(x)          =>      next = v + x
//! exit:                                   exit:
//!   use next                                use s0 + combined(next)
//! ```
//!
//! That is done for operations whose order does not matter: those of integers, and those of floats if the program treats
//! them as real numbers. LLVM has unrolled the loop before; then up to [`MAX_ACCUMULATORS`] of them hide the latency.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_int, c_uint};

use super::Llvm;
use super::api::{Api, Ref};

/// The number of accumulators of an unrolled loop: the latency of an addition times the additions of one cycle.
const MAX_ACCUMULATORS: usize = 4;

/// LLVM's passes that remove what has become unused.
pub(super) const PASSES_AFTER: &str = "function(adce,simplifycfg)";

/// `LLVMOpcode`s.
const ADD: c_int = 8;
const FADD: c_int = 9;
const AND: c_int = 23;
const OR: c_int = 24;
const XOR: c_int = 25;
const PHI: c_int = 44;
const CALL: c_int = 45;
const EXTRACT_ELEMENT: c_int = 50;
const SHUFFLE_VECTOR: c_int = 52;

/// `LLVMVectorTypeKind`.
const VECTOR: c_int = 13;
/// `LLVMFastMathAllowReassoc`.
const REASSOCIATE: c_uint = 1;

/// Calls of these are operations on integers, whose order and number do not matter.
const BOUNDS: [&CStr; 4] = [c"llvm.smin", c"llvm.smax", c"llvm.umin", c"llvm.umax"];

/// Gives all loops of a module that combine groups of lanes accumulators. Whether there was one.
///
/// # Safety
/// The module is alive and of that context, and no other code uses it.
pub(super) unsafe fn introduce(llvm: &Llvm, context: Ref, module: Ref) -> bool {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once. New phis are put before those that were listed.
    unsafe {
        let builder = (api.LLVMCreateBuilderInContext)(context);
        let editor = Editor { api, context, module, builder };
        let mut has_changed = false;
        let functions = list((api.LLVMGetFirstFunction)(module), |it| (api.LLVMGetNextFunction)(it));
        for function in functions {
            let blocks = list((api.LLVMGetFirstBasicBlock)(function), |it| (api.LLVMGetNextBasicBlock)(it));
            for phi in blocks.into_iter().flat_map(|block| editor.phis(block)) {
                if let Some(chain) = editor.chain_of(phi) {
                    editor.rewrite(&chain);
                    has_changed = true;
                }
            }
        }
        (api.LLVMDisposeBuilder)(builder);
        has_changed
    }
}

/// The members of one of LLVM's lists.
fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Ref> {
    let some = |member: Ref| (!member.is_null()).then_some(member);
    std::iter::successors(some(first), |&member| some(next(member))).collect()
}

/// An operation that combines values in any order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// By opcode: a value may not be combined twice, and zero changes nothing.
    Sum(c_int),
    /// By opcode: values may be combined several times.
    Logic(c_int),
    /// By intrinsic.
    Bound(&'static CStr),
}

impl Operation {
    fn is_idempotent(self) -> bool {
        !matches!(self, Operation::Sum(_))
    }
}

/// A value that each iteration of a loop combines with lanes.
struct Chain {
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

/// How the result of a loop is used.
enum Exit {
    /// In blocks behind this one, which only the loop enters.
    Block(Ref),
    /// By these phis, which have values of other blocks, too.
    Phis(Vec<Ref>, HashSet<Ref>),
}

/// Reads and writes instructions. Its methods are unsafe for the same reason: all arguments must be alive and of `module`,
/// of which nothing else is used meanwhile.
struct Editor<'a> {
    api: &'a Api,
    context: Ref,
    module: Ref,
    builder: Ref,
}

// ---- Reading --------------------------------------------------------------------------------------

impl Editor<'_> {
    unsafe fn opcode(&self, value: Ref) -> Option<c_int> {
        // SAFETY: only instructions are asked for their opcode.
        unsafe {
            let is_instruction = !(self.api.LLVMIsAInstruction)(value).is_null();
            is_instruction.then(|| (self.api.LLVMGetInstructionOpcode)(value))
        }
    }

    unsafe fn operand(&self, value: Ref, index: c_uint) -> Ref {
        // SAFETY: callers know the number of operands.
        unsafe { (self.api.LLVMGetOperand)(value, index) }
    }

    unsafe fn block_of(&self, instruction: Ref) -> Ref {
        // SAFETY: see `Editor`.
        unsafe { (self.api.LLVMGetInstructionParent)(instruction) }
    }

    unsafe fn users(&self, value: Ref) -> Vec<Ref> {
        // SAFETY: see `Editor`.
        unsafe {
            let uses = list((self.api.LLVMGetFirstUse)(value), |it| (self.api.LLVMGetNextUse)(it));
            uses.into_iter().map(|it| (self.api.LLVMGetUser)(it)).collect()
        }
    }

    unsafe fn phis(&self, block: Ref) -> Vec<Ref> {
        // SAFETY: see `Editor`.
        unsafe {
            let all =
                list((self.api.LLVMGetFirstInstruction)(block), |it| (self.api.LLVMGetNextInstruction)(it));
            all.into_iter().take_while(|&it| self.opcode(it) == Some(PHI)).collect()
        }
    }

    /// The values of a phi with the blocks that they come from.
    unsafe fn incoming(&self, phi: Ref) -> Vec<(Ref, Ref)> {
        let api = self.api;
        // SAFETY: see `Editor`.
        unsafe {
            let all = 0..(api.LLVMCountIncoming)(phi);
            all.map(|at| ((api.LLVMGetIncomingValue)(phi, at), (api.LLVMGetIncomingBlock)(phi, at))).collect()
        }
    }

    unsafe fn is_vector(&self, value: Ref) -> bool {
        // SAFETY: see `Editor`.
        unsafe { (self.api.LLVMGetTypeKind)((self.api.LLVMTypeOf)(value)) == VECTOR }
    }

    unsafe fn n_lanes(&self, vector: Ref) -> usize {
        // SAFETY: callers ask for vectors only.
        unsafe { (self.api.LLVMGetVectorSize)((self.api.LLVMTypeOf)(vector)) as usize }
    }

    /// The operation of an instruction, if its order does not matter.
    unsafe fn operation(&self, value: Ref) -> Option<Operation> {
        // SAFETY: see `Editor`; the called function is the last operand of a call.
        unsafe {
            match self.opcode(value)? {
                FADD => {
                    let may = (self.api.LLVMGetFastMathFlags)(value) & REASSOCIATE != 0;
                    may.then_some(Operation::Sum(FADD))
                }
                opcode @ (ADD | XOR) => Some(Operation::Sum(opcode)),
                opcode @ (AND | OR) => Some(Operation::Logic(opcode)),
                CALL => self.bound(value),
                _ => None,
            }
        }
    }

    /// As [`Editor::operation`]. In a tree that combines the lanes of one value, the order of floats need not be free: it is
    /// that of the tree, and the tree as a whole is an operand.
    unsafe fn operation_of_lanes(&self, value: Ref) -> Option<Operation> {
        // SAFETY: see `Editor`.
        unsafe {
            match self.opcode(value)? {
                FADD => Some(Operation::Sum(FADD)),
                _ => self.operation(value),
            }
        }
    }

    unsafe fn bound(&self, call: Ref) -> Option<Operation> {
        // SAFETY: names belong to the functions; the called function is alive.
        unsafe {
            let mut len = 0;
            let name = (self.api.LLVMGetValueName2)((self.api.LLVMGetCalledValue)(call), &mut len);
            let name = std::slice::from_raw_parts(name.cast::<u8>(), len);
            let is_it =
                |bound: &CStr| name.strip_prefix(bound.to_bytes()).is_some_and(|it| it.starts_with(b"."));
            BOUNDS.into_iter().find(|bound| is_it(bound)).map(Operation::Bound)
        }
    }

    /// The vector whose lanes a value combines, each once.
    unsafe fn lanes_of(&self, value: Ref, operation: Operation) -> Option<Ref> {
        // SAFETY: see `Editor`; opcodes tell the number of operands.
        unsafe {
            if self.opcode(value)? != EXTRACT_ELEMENT || self.users(value).len() != 1 {
                return None;
            }
            let index = self.operand(value, 1);
            if (self.api.LLVMIsAConstantInt)(index).is_null() {
                return None;
            }
            let mut lanes = self.operand(value, 0);
            let n_lanes = self.n_lanes(lanes);
            let mut needed = HashSet::from([(self.api.LLVMConstIntGetZExtValue)(index) as usize]);
            while needed.len() < n_lanes {
                if self.operation_of_lanes(lanes)? != operation {
                    return None;
                }
                let (a, b) = (self.operand(lanes, 0), self.operand(lanes, 1));
                let (whole, moved) = if self.is_permute_of(b, a) { (a, b) } else { (b, a) };
                if !self.is_permute_of(moved, whole) {
                    return None;
                }
                // Each lane that is needed is the sum of two others.
                for lane in needed.clone() {
                    let from = (self.api.LLVMGetMaskValue)(moved, lane as c_uint);
                    if !needed.insert(usize::try_from(from).ok().filter(|&from| from < n_lanes)?) {
                        return None;
                    }
                }
                lanes = whole;
            }
            n_lanes.is_power_of_two().then_some(lanes)
        }
    }

    unsafe fn is_permute_of(&self, value: Ref, vector: Ref) -> bool {
        // SAFETY: see `Editor`.
        unsafe {
            self.opcode(value) == Some(SHUFFLE_VECTOR)
                && self.operand(value, 0) == vector
                && (self.api.LLVMGetNumMaskElements)(value) as usize == self.n_lanes(vector)
        }
    }

    /// The blocks of a loop.
    unsafe fn members(&self, header: Ref, latch: Ref) -> HashSet<Ref> {
        let mut members = HashSet::from([header]);
        let mut waiting = vec![latch];
        while let Some(block) = waiting.pop() {
            if members.insert(block) {
                // SAFETY: see `Editor`.
                waiting.extend(unsafe { self.predecessors(block) });
            }
        }
        members
    }

    unsafe fn predecessors(&self, block: Ref) -> Vec<Ref> {
        // SAFETY: see `Editor`; instructions that use a block are the ends of others.
        unsafe {
            let users = self.users((self.api.LLVMBasicBlockAsValue)(block));
            let ends = users.into_iter().filter(|&user| self.opcode(user).is_some());
            ends.map(|end| self.block_of(end)).collect()
        }
    }

    /// What a loop combines in a phi of its first block, if it combines lanes.
    unsafe fn chain_of(&self, phi: Ref) -> Option<Chain> {
        // SAFETY: see `Editor`.
        unsafe {
            let incoming = self.incoming(phi);
            let &[first, second] = &*incoming else { return None };
            if self.is_vector(phi) || self.users(phi).len() != 1 {
                return None;
            }
            let header = self.block_of(phi);
            [(first, second), (second, first)].into_iter().find_map(|(before, next)| {
                let operation = self.operation(next.0)?;
                let (vectors, scalars) = self.operands(next.0, phi, operation)?;
                let members = self.members(header, next.1);
                if members.contains(&before.1) || !members.contains(&self.block_of(next.0)) {
                    return None;
                }
                let exit = self.exit(phi, next.0, members)?;
                Some(Chain { operation, phi, before, next, vectors, scalars, exit })
            })
        }
    }

    /// The vectors and the scalars that are combined with a phi, once.
    unsafe fn operands(&self, next: Ref, phi: Ref, operation: Operation) -> Option<(Vec<Ref>, Vec<Ref>)> {
        let (mut vectors, mut scalars, mut has_phi) = (vec![], vec![], false);
        let mut waiting = vec![next];
        // SAFETY: see `Editor`; operations have two operands.
        unsafe {
            while let Some(value) = waiting.pop() {
                let is_part = value == next || self.users(value).len() == 1;
                if value == phi {
                    has_phi = true;
                } else if is_part && self.operation(value) == Some(operation) {
                    waiting.extend([self.operand(value, 1), self.operand(value, 0)]);
                } else {
                    let ty = |vector: Ref| (self.api.LLVMTypeOf)(vector);
                    match self.lanes_of(value, operation) {
                        Some(lanes) if vectors.first().is_none_or(|&it| ty(it) == ty(lanes)) => {
                            vectors.push(lanes)
                        }
                        _ => scalars.push(value),
                    }
                }
            }
        }
        // SAFETY: see `Editor`.
        unsafe { self.sort_by_position(&mut vectors, next) };
        (has_phi && !vectors.is_empty()).then_some((vectors, scalars))
    }

    /// Puts vectors into the order in which the block of `next` computes them: loads at rising addresses are prefetched best.
    unsafe fn sort_by_position(&self, vectors: &mut [Ref], next: Ref) {
        // SAFETY: see `Editor`.
        unsafe {
            let first = (self.api.LLVMGetFirstInstruction)(self.block_of(next));
            let body = list(first, |it| (self.api.LLVMGetNextInstruction)(it));
            let positions: HashMap<Ref, usize> = body.into_iter().zip(0..).collect();
            vectors.sort_by_key(|vector| positions.get(vector));
        }
    }

    /// How the value after an iteration is used behind the loop, if it is not used in it.
    unsafe fn exit(&self, phi: Ref, next: Ref, members: HashSet<Ref>) -> Option<Exit> {
        // SAFETY: see `Editor`.
        unsafe {
            let mut users = self.users(next);
            users.sort_unstable();
            users.dedup();
            users.retain(|&user| user != phi);
            if users.is_empty() || users.iter().any(|&user| members.contains(&self.block_of(user))) {
                return None;
            }
            let is_exit = |user: Ref| {
                self.opcode(user) == Some(PHI)
                    && self
                        .incoming(user)
                        .iter()
                        .all(|&(value, from)| value != next || members.contains(&from))
            };
            if users.iter().all(|&user| is_exit(user)) {
                return Some(Exit::Phis(users, members));
            }
            let mut exits = members.iter().flat_map(|&block| self.successors(block));
            let exit = exits.find(|block| !members.contains(block))?;
            let others =
                members.iter().flat_map(|&block| self.successors(block)).filter(|it| !members.contains(it));
            let is_only = others.count() == 1 && self.predecessors(exit).len() == 1;
            (is_only && self.phis(exit).is_empty()).then_some(Exit::Block(exit))
        }
    }

    unsafe fn successors(&self, block: Ref) -> Vec<Ref> {
        let api = self.api;
        // SAFETY: see `Editor`; blocks are complete.
        unsafe {
            let end = (api.LLVMGetBasicBlockTerminator)(block);
            (0..(api.LLVMGetNumSuccessors)(end)).map(|at| (api.LLVMGetSuccessor)(end, at)).collect()
        }
    }
}

// ---- Writing --------------------------------------------------------------------------------------

impl Editor<'_> {
    unsafe fn rewrite(&self, chain: &Chain) {
        let api = self.api;
        // SAFETY: see `Editor`. New values are written where their operands are there: those of an iteration before its
        // result, and those behind the loop at the exit.
        unsafe {
            let (before, entry) = chain.before;
            let (next, latch) = chain.next;
            let n_accumulators = chain.vectors.len().min(MAX_ACCUMULATORS);
            let starts: Vec<Ref> = (0..n_accumulators).map(|_| self.start(chain, before, entry)).collect();
            let header = self.block_of(chain.phi);
            let phis: Vec<Ref> = starts.iter().map(|&start| self.phi(header, &[(start, entry)])).collect();
            let scalar = if chain.scalars.is_empty() { before } else { self.phi(header, &[(before, entry)]) };

            (api.LLVMPositionBuilderBefore)(self.builder, next);
            let mut sums = phis.clone();
            for (at, &vector) in chain.vectors.iter().enumerate() {
                let sum = &mut sums[at % n_accumulators];
                *sum = self.combined(chain, *sum, vector);
            }
            let total = chain.scalars.iter().fold(scalar, |sum, &other| self.combined(chain, sum, other));
            phis.iter().zip(&sums).for_each(|(&phi, &sum)| self.add_incoming(phi, sum, latch));
            if total != before {
                self.add_incoming(scalar, total, latch);
            }

            match &chain.exit {
                Exit::Block(exit) => {
                    let others = self.users(next).into_iter().filter(|&user| user != chain.phi);
                    let others: Vec<Ref> = others.collect();
                    (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetFirstInstruction)(*exit));
                    let result = self.result(chain, total, &sums);
                    others.into_iter().for_each(|user| self.replace_operands(user, next, result));
                }
                Exit::Phis(users, members) => {
                    for &user in users {
                        let pairs = self.incoming(user);
                        let split = |inside: Ref, outside: &dyn Fn(Ref, Ref) -> Ref| -> Vec<(Ref, Ref)> {
                            let part = |&(value, from): &(Ref, Ref)| match members.contains(&from)
                                && value == next
                            {
                                true => (inside, from),
                                false => (outside(value, from), from),
                            };
                            pairs.iter().map(part).collect()
                        };
                        let block = self.block_of(user);
                        let own = self.phi(block, &split(total, &|value, _| value));
                        let parts = sums.iter().map(|&sum| {
                            self.phi(block, &split(sum, &|value, from| self.start(chain, value, from)))
                        });
                        let parts: Vec<Ref> = parts.collect();
                        let body =
                            list((api.LLVMGetFirstInstruction)(block), |it| (api.LLVMGetNextInstruction)(it));
                        let first = body.into_iter().find(|&it| self.opcode(it) != Some(PHI));
                        (api.LLVMPositionBuilderBefore)(self.builder, first.unwrap_or(user));
                        let result = self.result(chain, own, &parts);
                        (api.LLVMReplaceAllUsesWith)(user, result);
                        (api.LLVMInstructionEraseFromParent)(user);
                    }
                }
            }
        }
    }

    /// The value of an accumulator that changes nothing when it is combined with `value`, which comes from a block.
    unsafe fn start(&self, chain: &Chain, value: Ref, from: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Editor`; the value is there at the end of the block.
        unsafe {
            let ty = (api.LLVMTypeOf)(chain.vectors[0]);
            if !chain.operation.is_idempotent() {
                return (api.LLVMConstNull)(ty);
            }
            (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetBasicBlockTerminator)(from));
            let poison = (api.LLVMGetPoison)(ty);
            let zero = (api.LLVMConstInt)((api.LLVMInt64TypeInContext)(self.context), 0, 0);
            let first = (api.LLVMBuildInsertElement)(self.builder, poison, value, zero, c"".as_ptr());
            self.shuffle(first, &vec![0; self.n_lanes(chain.vectors[0])])
        }
    }

    /// A phi at the begin of a block.
    unsafe fn phi(&self, block: Ref, incoming: &[(Ref, Ref)]) -> Ref {
        let api = self.api;
        // SAFETY: see `Editor`; callers give at least one value.
        unsafe {
            (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetFirstInstruction)(block));
            let phi = (api.LLVMBuildPhi)(self.builder, (api.LLVMTypeOf)(incoming[0].0), c"".as_ptr());
            incoming.iter().for_each(|&(value, from)| self.add_incoming(phi, value, from));
            phi
        }
    }

    unsafe fn add_incoming(&self, phi: Ref, mut value: Ref, mut from: Ref) {
        // SAFETY: see `Editor`; one value and one block.
        unsafe { (self.api.LLVMAddIncoming)(phi, &mut value, &mut from, 1) }
    }

    unsafe fn combined(&self, chain: &Chain, a: Ref, b: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Editor`; both values have the same type.
        unsafe {
            match chain.operation {
                Operation::Sum(opcode) | Operation::Logic(opcode) => {
                    let value = (api.LLVMBuildBinOp)(self.builder, opcode, a, b, c"".as_ptr());
                    if opcode == FADD && self.opcode(value) == Some(FADD) {
                        (api.LLVMSetFastMathFlags)(value, (api.LLVMGetFastMathFlags)(chain.next.0));
                    }
                    value
                }
                Operation::Bound(name) => {
                    let mut ty = (api.LLVMTypeOf)(a);
                    let id = (api.LLVMLookupIntrinsicID)(name.as_ptr(), name.count_bytes());
                    let function = (api.LLVMGetIntrinsicDeclaration)(self.module, id, &mut ty, 1);
                    let function_ty = (api.LLVMGlobalGetValueType)(function);
                    let mut operands = [a, b];
                    (api.LLVMBuildCall2)(
                        self.builder,
                        function_ty,
                        function,
                        operands.as_mut_ptr(),
                        2,
                        c"".as_ptr(),
                    )
                }
            }
        }
    }

    /// The lanes that an order selects.
    unsafe fn shuffle(&self, vector: Ref, order: &[usize]) -> Ref {
        let api = self.api;
        // SAFETY: see `Editor`; all indices are those of lanes.
        unsafe {
            let i32_ty = (api.LLVMInt32TypeInContext)(self.context);
            let mut order: Vec<Ref> =
                order.iter().map(|&lane| (api.LLVMConstInt)(i32_ty, lane as u64, 0)).collect();
            let mask = (api.LLVMConstVector)(order.as_mut_ptr(), order.len() as c_uint);
            let poison = (api.LLVMGetPoison)((api.LLVMTypeOf)(vector));
            (api.LLVMBuildShuffleVector)(self.builder, vector, poison, mask, c"".as_ptr())
        }
    }

    /// A scalar and the lanes of all accumulators, combined.
    unsafe fn result(&self, chain: &Chain, scalar: Ref, accumulators: &[Ref]) -> Ref {
        let (&first, others) = accumulators.split_first().expect("a chain has vectors");
        // SAFETY: see `Editor`; the number of lanes is a power of two.
        unsafe {
            let mut all = others.iter().fold(first, |sum, &other| self.combined(chain, sum, other));
            let mut n_lanes = self.n_lanes(all);
            while n_lanes > 1 {
                n_lanes /= 2;
                let halves = [0..n_lanes, n_lanes..2 * n_lanes];
                let [low, high] = halves.map(|half| self.shuffle(all, &half.collect::<Vec<_>>()));
                all = self.combined(chain, low, high);
            }
            let zero = (self.api.LLVMConstInt)((self.api.LLVMInt64TypeInContext)(self.context), 0, 0);
            let lanes = (self.api.LLVMBuildExtractElement)(self.builder, all, zero, c"".as_ptr());
            self.combined(chain, scalar, lanes)
        }
    }

    unsafe fn replace_operands(&self, user: Ref, old: Ref, new: Ref) {
        let api = self.api;
        // SAFETY: see `Editor`.
        unsafe {
            for index in 0..(api.LLVMGetNumOperands)(user) as c_uint {
                if (api.LLVMGetOperand)(user, index) == old {
                    (api.LLVMSetOperand)(user, index, new);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::{Llvm, Options, Output, compile};

    /// A loop that combines the lanes of each group of four by `combine`, and `next` with the result of the groups before.
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

    /// Whether the optimized program combines lanes in a loop.
    fn combines_in_loop(text: &str) -> bool {
        let options = Options {
            target: Some("x86_64-unknown-linux-gnu".into()),
            cpu: Some("x86-64-v3".into()),
            ..Options::default()
        };
        let llvm = Llvm::get().expect("a Rust toolchain has LLVM");
        let code = compile(llvm, text, &options, Output::Llvm, |_| {}).expect("it is well formed");
        let code = String::from_utf8(code).expect("LLVM assembly is text");
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
            assert!(!combines_in_loop(&program("i32", operation, operation)), "{operation}");
        }
    }

    #[test]
    fn sums_of_floats_are_combined_behind_the_loop_if_they_are_real_numbers() {
        assert!(!combines_in_loop(&program("float", "fadd", "fadd reassoc nsz")));
        assert!(combines_in_loop(&program("float", "fadd", "fadd")));
    }

    #[test]
    fn lanes_that_are_combined_otherwise_stay_in_the_loop() {
        assert!(combines_in_loop(&program("i32", "or", "add")));
    }

    #[test]
    fn sums_that_are_stored_in_each_iteration_stay_in_the_loop() {
        let text = program("i32", "add", "add").replace("%j = add", "store i32 %next, ptr %p\n %j = add");
        assert!(combines_in_loop(&text));
    }
}
