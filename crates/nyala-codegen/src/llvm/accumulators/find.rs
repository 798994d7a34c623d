//! Finds the reductions of lanes in loops.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_int, c_uint};

use super::{Exit, FADD, Operation, PHI, Reduction, Rewriter, list};
use crate::llvm::api::Ref;

/// `LLVMOpcode`s.
const ADD: c_int = 8;
const AND: c_int = 23;
const OR: c_int = 24;
const XOR: c_int = 25;
const CALL: c_int = 45;
const EXTRACT_ELEMENT: c_int = 50;
const SHUFFLE_VECTOR: c_int = 52;

/// `LLVMFastMathAllowReassoc`.
const REASSOCIATE: c_uint = 1;

/// The intrinsics that select one of two integers.
const BOUNDS: [&CStr; 4] = [c"llvm.smin", c"llvm.smax", c"llvm.umin", c"llvm.umax"];

impl Rewriter<'_> {
    /// The operation of an instruction, if it is associative and commutative.
    unsafe fn operation(&self, value: Ref) -> Option<Operation> {
        // SAFETY: see `Rewriter`; the called function is the last operand of a call.
        unsafe {
            match self.opcode(value)? {
                FADD => {
                    let is_free = (self.api.LLVMGetFastMathFlags)(value) & REASSOCIATE != 0;
                    is_free.then_some(Operation::Sum(FADD))
                }
                opcode @ (ADD | XOR) => Some(Operation::Sum(opcode)),
                opcode @ (AND | OR) => Some(Operation::Logic(opcode)),
                CALL => self.bound(value),
                _ => None,
            }
        }
    }

    /// As [`Rewriter::operation`], in a tree that combines the lanes of one vector. Floats need no flag there:
    /// `lanes_sum` leaves the order of its operands open.
    unsafe fn operation_of_lanes(&self, value: Ref) -> Option<Operation> {
        // SAFETY: see `Rewriter`.
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

    /// The vector, if a value is the reduction of all its lanes.
    unsafe fn lanes_of(&self, value: Ref, operation: Operation) -> Option<Ref> {
        // SAFETY: see `Rewriter`; the opcode implies the number of operands.
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
                // Each needed lane is the sum of two lanes of the operand.
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
        // SAFETY: see `Rewriter`.
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
                // SAFETY: see `Rewriter`.
                waiting.extend(unsafe { self.predecessors(block) });
            }
        }
        members
    }

    unsafe fn predecessors(&self, block: Ref) -> Vec<Ref> {
        // SAFETY: see `Rewriter`; the instructions that use a block are terminators.
        unsafe {
            let users = self.users((self.api.LLVMBasicBlockAsValue)(block));
            let ends = users.into_iter().filter(|&user| self.opcode(user).is_some());
            ends.map(|end| self.block_of(end)).collect()
        }
    }

    /// The reduction that a phi of a loop header carries, if it reduces lanes.
    pub(super) unsafe fn reduction_of(&self, phi: Ref) -> Option<Reduction> {
        // SAFETY: see `Rewriter`.
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
                Some(Reduction { operation, phi, before, next, vectors, scalars, exit })
            })
        }
    }

    /// The vectors and the scalars that an iteration combines with the phi.
    unsafe fn operands(&self, next: Ref, phi: Ref, operation: Operation) -> Option<(Vec<Ref>, Vec<Ref>)> {
        let (mut vectors, mut scalars, mut has_phi) = (vec![], vec![], false);
        let mut waiting = vec![next];
        // SAFETY: see `Rewriter`; operations have two operands.
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
        // SAFETY: see `Rewriter`.
        unsafe { self.sort_by_position(&mut vectors, next) };
        (has_phi && !vectors.is_empty()).then_some((vectors, scalars))
    }

    /// Puts vectors into the order in which the block of `next` computes them: loads at rising addresses are
    /// prefetched best.
    unsafe fn sort_by_position(&self, vectors: &mut [Ref], next: Ref) {
        // SAFETY: see `Rewriter`.
        unsafe {
            let first = (self.api.LLVMGetFirstInstruction)(self.block_of(next));
            let body = list(first, |it| (self.api.LLVMGetNextInstruction)(it));
            let positions: HashMap<Ref, usize> = body.into_iter().zip(0..).collect();
            vectors.sort_by_key(|vector| positions.get(vector));
        }
    }

    /// The uses of the value after an iteration, if all of them are behind the loop.
    unsafe fn exit(&self, phi: Ref, next: Ref, members: HashSet<Ref>) -> Option<Exit> {
        // SAFETY: see `Rewriter`.
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
        // SAFETY: see `Rewriter`; blocks have terminators.
        unsafe {
            let end = (api.LLVMGetBasicBlockTerminator)(block);
            (0..(api.LLVMGetNumSuccessors)(end)).map(|at| (api.LLVMGetSuccessor)(end, at)).collect()
        }
    }
}
