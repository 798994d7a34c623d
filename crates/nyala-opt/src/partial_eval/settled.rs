//! Whether another round could do anything.
//!
//! A round costs as much as the program is large, and most programs have nothing left to do after the
//! first. What a round does begins with a call of something whose body is there. Such a call stays as it is if
//! it goes to a block with several uses, or to a function that is not specialised: no filter can hold, and
//! it takes no function but one place to return to.

use nyala_ir::{ArithOp, Body, Cont, Def, Intrinsic, Linkage, Node, Types, World};

use super::State;
use crate::mentions::Mentions;

/// Whether a round would leave `world` as it is. A no may be wrong, a yes is not.
pub(super) fn is_settled(world: &World, state: &State) -> bool {
    let mentions = Mentions::new(world);
    let mut calls = Calls { world, state, types: world.types.clone() };
    mentions.conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()).all(|body| {
        match world.node(body.callee) {
            Node::Param { .. } => true,
            Node::Cont(callee) if world.cont(callee).body.is_none() => !is_decided(world, body),
            Node::Cont(callee) => {
                let is_sole_use = mentions.count(callee) == 1;
                !(is_sole_use && world.cont(callee).linkage == Linkage::Internal) && calls.stays(callee, body)
            }
            _ => false,
        }
    })
}

/// Whether `body` is an assertion that holds or does not.
fn is_decided(world: &World, body: &Body) -> bool {
    match (world.as_intrinsic(body.callee), body.args.as_slice()) {
        (Some(Intrinsic::PeAssert), &[_, condition, ..]) => world.as_lit(condition).is_some(),
        _ => false,
    }
}

/// Decides about calls.
struct Calls<'a> {
    world: &'a World,
    state: &'a State,
    types: Types,
}

/// How many operators a filter may nest to be decided here.
const MAX_FILTER_DEPTH: usize = 32;

impl Calls<'_> {
    /// Whether nothing is specialised at a call of `callee`.
    fn stays(&mut self, callee: Cont, body: &Body) -> bool {
        let data = self.world.cont(callee);
        let key = (data.span, data.name);
        let is_stopped = self.state.is_stopped(key);
        let mem = self.types.mem();
        let asks = |(&filter, &arg): (&Def, &Def)| {
            self.world.ty(arg) != mem && !self.fails(filter, callee, &body.args, MAX_FILTER_DEPTH)
        };
        if !is_stopped && data.filter.iter().zip(&body.args).any(asks) {
            return false;
        }
        let orders: Vec<u32> = body.args.iter().map(|&arg| self.types.order(self.world.ty(arg))).collect();
        let n_functions = orders.iter().filter(|&&order| order > 0).count();
        let is_plain = n_functions == 0
            || n_functions == 1 && !orders.iter().any(|&order| order > 1) && self.world.is_top_level(callee);
        is_plain || self.state.deep_enough.contains(&key)
    }

    /// Whether `filter` certainly does not hold for a call of `callee` with `args`.
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

    /// Whether `value` depends on what is only known when the program runs.
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
