//! Replaces reductions by accumulators.

use std::collections::HashSet;
use std::ffi::c_uint;

use super::{Exit, FADD, MAX_ACCUMULATORS, Operation, PHI, Reduction, Rewriter, list};
use crate::llvm::api::Ref;

impl Rewriter<'_> {
    pub(super) unsafe fn rewrite(&self, reduction: &Reduction) {
        let api = self.api;
        // SAFETY: see `Rewriter`. Operands dominate the new values: those of an iteration are written before its
        // result, and those behind the loop at the exit.
        unsafe {
            let (before, entry) = reduction.before;
            let (next, latch) = reduction.next;
            let n_accumulators = reduction.vectors.len().min(MAX_ACCUMULATORS);
            let starts: Vec<Ref> =
                (0..n_accumulators).map(|_| self.start(reduction, before, entry)).collect();
            let header = self.block_of(reduction.phi);
            let phis: Vec<Ref> = starts.iter().map(|&start| self.phi(header, &[(start, entry)])).collect();
            let scalar =
                if reduction.scalars.is_empty() { before } else { self.phi(header, &[(before, entry)]) };

            (api.LLVMPositionBuilderBefore)(self.builder, next);
            let mut sums = phis.clone();
            for (at, &vector) in reduction.vectors.iter().enumerate() {
                let sum = &mut sums[at % n_accumulators];
                *sum = self.combined(reduction, *sum, vector);
            }
            let total =
                reduction.scalars.iter().fold(scalar, |sum, &other| self.combined(reduction, sum, other));
            phis.iter().zip(&sums).for_each(|(&phi, &sum)| self.add_incoming(phi, sum, latch));
            if total != before {
                self.add_incoming(scalar, total, latch);
            }

            match &reduction.exit {
                Exit::Block(exit) => {
                    let others = self.users(next).into_iter().filter(|&user| user != reduction.phi);
                    let others: Vec<Ref> = others.collect();
                    (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetFirstInstruction)(*exit));
                    let result = self.result(reduction, total, &sums);
                    others.into_iter().for_each(|user| self.replace_operands(user, next, result));
                }
                Exit::Phis(users, members) => {
                    for &user in users {
                        self.replace_phi(reduction, user, members, (total, &sums));
                    }
                }
            }
        }
    }

    /// Replaces a phi behind the loop. Where it had the result of the loop, `members`, its value consists of a
    /// scalar and accumulators.
    unsafe fn replace_phi(
        &self,
        reduction: &Reduction,
        old: Ref,
        members: &HashSet<Ref>,
        (scalar, accumulators): (Ref, &[Ref]),
    ) {
        let api = self.api;
        // SAFETY: see `Rewriter`; accumulators are computed where the result was.
        unsafe {
            let block = self.block_of(old);
            let incoming = self.incoming(old);
            let phi = |inside: Ref, outside: &dyn Fn(Ref, Ref) -> Ref| {
                let pair = |&(value, from): &(Ref, Ref)| {
                    let is_result = value == reduction.next.0 && members.contains(&from);
                    (if is_result { inside } else { outside(value, from) }, from)
                };
                self.phi(block, &incoming.iter().map(pair).collect::<Vec<_>>())
            };
            let scalar = phi(scalar, &|value, _| value);
            let start = |value, from| self.start(reduction, value, from);
            let accumulators: Vec<Ref> = accumulators.iter().map(|&sum| phi(sum, &start)).collect();
            let body = list((api.LLVMGetFirstInstruction)(block), |it| (api.LLVMGetNextInstruction)(it));
            let first = body.into_iter().find(|&it| self.opcode(it) != Some(PHI));
            (api.LLVMPositionBuilderBefore)(self.builder, first.unwrap_or(old));
            let result = self.result(reduction, scalar, &accumulators);
            (api.LLVMReplaceAllUsesWith)(old, result);
            (api.LLVMInstructionEraseFromParent)(old);
        }
    }

    /// The initial value of an accumulator: a neutral element for `value`, which comes from a block.
    unsafe fn start(&self, reduction: &Reduction, value: Ref, from: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; the value is defined at the end of the block.
        unsafe {
            let ty = (api.LLVMTypeOf)(reduction.vectors[0]);
            if !reduction.operation.is_idempotent() {
                return (api.LLVMConstNull)(ty);
            }
            (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetBasicBlockTerminator)(from));
            let poison = (api.LLVMGetPoison)(ty);
            let zero = (api.LLVMConstInt)((api.LLVMInt64TypeInContext)(self.context), 0, 0);
            let first = (api.LLVMBuildInsertElement)(self.builder, poison, value, zero, c"".as_ptr());
            self.shuffle(first, &vec![0; self.n_lanes(reduction.vectors[0])])
        }
    }

    /// A new phi at the beginning of a block.
    unsafe fn phi(&self, block: Ref, incoming: &[(Ref, Ref)]) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; callers give at least one value.
        unsafe {
            (api.LLVMPositionBuilderBefore)(self.builder, (api.LLVMGetFirstInstruction)(block));
            let phi = (api.LLVMBuildPhi)(self.builder, (api.LLVMTypeOf)(incoming[0].0), c"".as_ptr());
            incoming.iter().for_each(|&(value, from)| self.add_incoming(phi, value, from));
            phi
        }
    }

    unsafe fn add_incoming(&self, phi: Ref, mut value: Ref, mut from: Ref) {
        // SAFETY: see `Rewriter`; one value and one block.
        unsafe { (self.api.LLVMAddIncoming)(phi, &mut value, &mut from, 1) }
    }

    unsafe fn combined(&self, reduction: &Reduction, a: Ref, b: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; both values have the same type.
        unsafe {
            match reduction.operation {
                Operation::Sum(opcode) | Operation::Logic(opcode) => {
                    let value = (api.LLVMBuildBinOp)(self.builder, opcode, a, b, c"".as_ptr());
                    if opcode == FADD && self.opcode(value) == Some(FADD) {
                        (api.LLVMSetFastMathFlags)(value, (api.LLVMGetFastMathFlags)(reduction.next.0));
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

    /// A permute: the lanes of a vector in the given order.
    unsafe fn shuffle(&self, vector: Ref, order: &[usize]) -> Ref {
        let api = self.api;
        // SAFETY: see `Rewriter`; all indices are those of lanes.
        unsafe {
            let i32_ty = (api.LLVMInt32TypeInContext)(self.context);
            let mut order: Vec<Ref> =
                order.iter().map(|&lane| (api.LLVMConstInt)(i32_ty, lane as u64, 0)).collect();
            let mask = (api.LLVMConstVector)(order.as_mut_ptr(), order.len() as c_uint);
            let poison = (api.LLVMGetPoison)((api.LLVMTypeOf)(vector));
            (api.LLVMBuildShuffleVector)(self.builder, vector, poison, mask, c"".as_ptr())
        }
    }

    /// Combines a scalar with the lanes of all accumulators.
    unsafe fn result(&self, reduction: &Reduction, scalar: Ref, accumulators: &[Ref]) -> Ref {
        let (&first, others) = accumulators.split_first().expect("a reduction has vectors");
        // SAFETY: see `Rewriter`; the number of lanes is a power of two.
        unsafe {
            let mut all = others.iter().fold(first, |sum, &other| self.combined(reduction, sum, other));
            let mut n_lanes = self.n_lanes(all);
            while n_lanes > 1 {
                n_lanes /= 2;
                let halves = [0..n_lanes, n_lanes..2 * n_lanes];
                let [low, high] = halves.map(|half| self.shuffle(all, &half.collect::<Vec<_>>()));
                all = self.combined(reduction, low, high);
            }
            let zero = (self.api.LLVMConstInt)((self.api.LLVMInt64TypeInContext)(self.context), 0, 0);
            let lanes = (self.api.LLVMBuildExtractElement)(self.builder, all, zero, c"".as_ptr());
            self.combined(reduction, scalar, lanes)
        }
    }

    unsafe fn replace_operands(&self, user: Ref, old: Ref, new: Ref) {
        let api = self.api;
        // SAFETY: see `Rewriter`.
        unsafe {
            for index in 0..(api.LLVMGetNumOperands)(user) as c_uint {
                if (api.LLVMGetOperand)(user, index) == old {
                    (api.LLVMSetOperand)(user, index, new);
                }
            }
        }
    }
}
