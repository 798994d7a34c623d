//! Whether the evaluator has reached a fixed point: another round would change nothing.
//!
//! A round takes time proportional to the program, and most programs are evaluated after the
//! first. A change of a round starts at a call of a callee with a body. Such a call is kept
//! if the callee is a block with several uses, or a function that is not specialized: no filter can hold, and
//! its only function argument is one return continuation.

use nyala_ir::{ArithOp, Body, Cont, Def, Intrinsic, Linkage, Node, Types, World};

use super::limits::LimitState;
use crate::mentions::Mentions;

/// Whether a round would leave `world` as it is. `true` is certain; `false` may be wrong.
pub(super) fn is_fixed_point(world: &World, limits: &LimitState) -> bool {
    let mentions = Mentions::new(world);
    let mut calls = Calls { world, limits, types: world.types.clone() };
    mentions.conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()).all(|body| {
        match world.node(body.callee) {
            Node::Param { .. } => true,
            Node::Cont(callee) if world.cont(callee).body.is_none() => !is_decided(world, body),
            Node::Cont(callee) => {
                let is_only_use = mentions.count(callee) == 1;
                !(is_only_use && world.cont(callee).linkage == Linkage::Internal)
                    && calls.is_kept(callee, body)
            }
            _ => false,
        }
    })
}

/// Whether `body` is an assertion whose condition is known.
fn is_decided(world: &World, body: &Body) -> bool {
    match (world.as_intrinsic(body.callee), body.args.as_slice()) {
        (Some(Intrinsic::PeAssert | Intrinsic::PeExpect), &[_, condition, ..]) => {
            world.as_lit(condition).is_some()
        }
        _ => false,
    }
}

/// Decides about calls.
struct Calls<'a> {
    world: &'a World,
    limits: &'a LimitState,
    types: Types,
}

/// A filter with more nested operators than this may hold.
const MAX_FILTER_DEPTH: usize = 32;

impl Calls<'_> {
    /// Whether a call of `callee` is certainly not specialized.
    fn is_kept(&mut self, callee: Cont, body: &Body) -> bool {
        let data = self.world.cont(callee);
        let key = (data.span, data.name);
        let is_stopped = self.limits.is_stopped(key);
        let mem = self.types.mem();
        let may_hold = |(&filter, &arg): (&Def, &Def)| {
            self.world.ty(arg) != mem && !self.fails(filter, callee, &body.args, MAX_FILTER_DEPTH)
        };
        if !is_stopped && data.filter.iter().zip(&body.args).any(may_hold) {
            return false;
        }
        let orders: Vec<u32> = body.args.iter().map(|&arg| self.types.order(self.world.ty(arg))).collect();
        let n_functions = orders.iter().filter(|&&order| order > 0).count();
        let is_plain = n_functions == 0
            || n_functions == 1 && !orders.iter().any(|&order| order > 1) && self.world.is_top_level(callee);
        is_plain || self.limits.is_first_order(key)
    }

    /// Whether `filter` is certainly false for a call of `callee` with `args`.
    fn fails(&self, filter: Def, callee: Cont, args: &[Def], depth: usize) -> bool {
        let fails = |filter: Def| depth > 0 && self.fails(filter, callee, args, depth - 1);
        match self.world.node(filter) {
            Node::Lit(bits) => bits == 0,
            Node::Known(value) => self.is_unknown(value, callee, args),
            Node::Arith { op: ArithOp::And, lhs, rhs, .. } => fails(lhs) || fails(rhs),
            Node::Arith { op: ArithOp::Or, lhs, rhs, .. } => fails(lhs) && fails(rhs),
            _ => false,
        }
    }

    /// Whether `value` is certainly unknown in a call of `callee` with `args`.
    fn is_unknown(&self, value: Def, callee: Cont, args: &[Def]) -> bool {
        match self.world.node(value) {
            Node::Param { cont, index } if cont == callee => match self.world.node(args[index as usize]) {
                Node::Lit(_) => false,
                Node::Hide(_) => true,
                _ => !self.world.free_set(args[index as usize]).is_empty(),
            },
            _ => false,
        }
    }
}
