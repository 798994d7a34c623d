//! The edges between blocks: branches, masks, arguments, and live-out values of loops.

use std::collections::BTreeMap;

use nyala_ir::{ArithOp, CmpOp, Cont, Def, Node, Ty, World};

use super::{Emitter, Rep, Var, value_ty};
use crate::vectorize::blends::Lanes;
use crate::vectorize::shapes::{Shape, data_params};

impl Emitter<'_> {
    /// Continues at the only successor in the plan.
    pub(super) fn continue_at_next(&mut self, vertex: usize) {
        match self.task.plan.next[vertex].first() {
            Some(&next) => self.goto(next),
            None => self.world.set_unreachable(self.cont, self.mem),
        }
    }

    /// Branches on a value: to the target of the literal that it equals, or for a case without literal,
    /// if it is true.
    pub(super) fn branch_on(
        &mut self,
        vertex: usize,
        on: Def,
        cases: &[(Option<Def>, usize)],
        default: usize,
    ) {
        let on = self.rep(on, vertex);
        let targets = self.task.flow.ends[vertex].targets();
        if let [target] = targets[..] {
            self.edge(vertex, target, self.mask, &[]);
            return self.continue_at_next(vertex);
        }
        if on.shape == Shape::Uniform {
            return self.uniform_branch(vertex, on, &targets, cases, default);
        }
        let ty = self.world.ty(on.def);
        let value = self.lanes_of(on, ty);
        let mut masks: BTreeMap<usize, Def> = BTreeMap::new();
        let mut rest = self.mask;
        for &(literal, target) in cases {
            let equal = match literal {
                Some(literal) => {
                    let literal = self.world.splat(literal, self.task.lanes);
                    self.world.cmp(CmpOp::Eq, value, literal)
                }
                None => value,
            };
            let (taken, other) = self.sides(equal);
            rest = self.and(rest, other);
            let known = masks.get(&target).copied();
            let all = known.map_or(taken, |known| self.or(known, taken));
            masks.insert(target, all);
        }
        let known = masks.get(&default).copied();
        let all = known.map_or(rest, |known| self.or(known, rest));
        masks.insert(default, all);
        for target in targets {
            self.edge(vertex, target, masks[&target], &[]);
        }
        self.continue_at_next(vertex);
    }

    /// The lanes for which a condition holds, and a mask of all others.
    ///
    /// A conjunction narrows the mask term by term: AVX-512 compares under a mask in one instruction. LLVM joins two terms again if the
    /// second one has no operand that the first one does not have, so comparisons with constants come first.
    fn sides(&mut self, cond: Def) -> (Def, Def) {
        let (mut terms, mut waiting) = (vec![], vec![cond]);
        while let Some(term) = waiting.pop() {
            match self.world.node(term) {
                Node::Arith { op: ArithOp::And, lhs, rhs, .. } => waiting.extend([rhs, lhs]),
                _ => terms.push(term),
            }
        }
        terms.sort_by_key(|&term| !is_comparison_with_constant(self.world, term));
        let taken = terms.iter().fold(self.mask, |mask, &term| self.and(mask, term));
        let other = if terms.len() == 1 { self.not(cond) } else { self.not(taken) };
        (taken, other)
    }

    /// A uniform branch stays a branch.
    fn uniform_branch(
        &mut self,
        vertex: usize,
        on: Rep,
        targets: &[usize],
        cases: &[(Option<Def>, usize)],
        default: usize,
    ) {
        let mem_ty = self.world.types.mem();
        let places: Vec<Cont> = targets.iter().map(|_| self.world.new_cont("edge", &[mem_ty])).collect();
        let place = |world: &World, target: usize| {
            let at = targets.iter().position(|&known| known == target).expect("each case has a target");
            world.cont_def(places[at])
        };
        let default = place(self.world, default);
        match cases {
            [(None, then)] => {
                let then = place(self.world, *then);
                self.world.set_branch(self.cont, self.mem, on.def, then, default);
            }
            _ => {
                let cases: Vec<(Def, Def)> = cases
                    .iter()
                    .filter_map(|&(literal, target)| Some((literal?, place(self.world, target))))
                    .collect();
                self.world.set_switch(self.cont, self.mem, on.def, default, &cases);
            }
        }
        let env = std::mem::take(&mut self.env);
        for (at, (&target, &place)) in targets.iter().zip(&places).enumerate() {
            self.env = env.clone();
            self.resume(place);
            self.edge(vertex, target, self.mask, &[]);
            let next = self.task.plan.next[vertex][at];
            self.goto(next);
        }
    }

    /// Passes the lanes of `mask` and their arguments from one block to another.
    pub(super) fn edge(&mut self, from: usize, to: usize, mask: Def, args: &[Rep]) {
        let flow = self.task.flow;
        self.keep_live_out_values(from, to, mask);
        let is_back = flow.is_back_edge(from, to);
        let arrival = flow.route(from, to);
        let exits_divergent =
            flow.exited_loops(from, to).any(|inner| self.task.shapes.divergent_loops[inner]);
        let is_first = flow.dag.preds(arrival).min_by_key(|&pred| flow.position[pred]) == Some(from);
        let params: Vec<Var> = match flow.blocks.get(to) {
            Some(&block) if is_back => data_params(self.world, block).into_iter().map(Var::Next).collect(),
            Some(&block) => data_params(self.world, block).into_iter().map(Var::Value).collect(),
            None => (0..args.len()).map(Var::Result).collect(),
        };
        let lanes = match exits_divergent {
            true => Lanes::of(mask),
            false => Lanes::among_arriving(mask, self.without_inactive(mask, arrival)),
        };
        for (var, &arg) in params.into_iter().zip(args) {
            if !self.lifetimes.is_read(var) {
                continue;
            }
            let ty = self.world.ty(arg.def);
            let value = match var {
                Var::Value(param) | Var::Next(param) if self.task.shapes.of(param) != Shape::Varying => {
                    arg.def
                }
                _ => {
                    let ty = self.arg_ty(var, ty);
                    let value = self.lanes_of(arg, ty);
                    match is_first && !exits_divergent {
                        true => {
                            self.blends.begin(var, lanes, value);
                            value
                        }
                        false => self.blend(var, ty, lanes, value),
                    }
                }
            };
            self.env.insert(var, value);
        }
        let is_known = to < flow.exit() && self.task.plan.same_mask[to].is_some();
        let stays_together =
            flow.loop_of_header(to).is_some_and(|inner| !self.task.shapes.divergent_loops[inner]);
        if to != flow.exit() && !is_known && !(is_back && stays_together) {
            let deferred = self.value(Var::Deferred(to));
            let deferred = self.or(deferred, mask);
            self.env.insert(Var::Deferred(to), deferred);
        }
    }

    /// A mask that is simpler for the values of an edge: where all lanes reconverge that were active at a branch, no
    /// other lane arrives, so the condition alone chooses.
    fn without_inactive(&mut self, mask: Def, arrival: usize) -> Def {
        let Some(above) = self.task.plan.same_mask.get(arrival).copied().flatten() else { return mask };
        let active = self.value(Var::Mask(above));
        let none = self.empty_mask();
        match self.world.node(mask) {
            Node::Select { cond, then, other } if cond == active && other == none => then,
            _ => mask,
        }
    }

    /// The scalar type of a variable.
    fn arg_ty(&mut self, var: Var, otherwise: Ty) -> Ty {
        match var {
            Var::Value(param) | Var::Next(param) => self.world.ty(param),
            Var::Result(index) => self.result_ty(index),
            _ => otherwise,
        }
    }

    /// Keeps the live-out values of divergent loops for the lanes that exit.
    fn keep_live_out_values(&mut self, from: usize, to: usize, mask: Def) {
        let (flow, shapes) = (self.task.flow, self.task.shapes);
        if !flow.exited_loops(from, to).any(|inner| shapes.divergent_loops[inner]) {
            return;
        }
        for old in self.lifetimes.live_out().to_vec() {
            let is_here = shapes.exited_loop(flow, old, from).is_none();
            let home = shapes.home(flow, old, from);
            let around =
                home.and_then(|home| flow.loops_around(home).find(|&around| shapes.divergent_loops[around]));
            if is_here && around.is_some_and(|around| !flow.is_in(to, around)) {
                let ty = value_ty(self.world, old);
                let rep = self.rep(old, from);
                let value = self.lanes_of(rep, ty);
                let value = self.blend(Var::LiveOut(old), ty, Lanes::of(mask), value);
                self.env.insert(Var::LiveOut(old), value);
            }
        }
    }

    /// Returns from the function.
    pub(super) fn emit_return(&mut self) {
        let head = self.world.cont(self.task.head);
        let ret = *head.params.last().expect("a function that returns has a return continuation");
        let n_results = self.world.types.as_cn(self.world.ty(ret)).map_or(0, |params| params.len() - 1);
        let mut args = vec![self.mem];
        for index in 0..n_results {
            args.push(self.value(Var::Result(index)));
        }
        self.world.set_body(self.cont, ret, args);
    }
}

fn is_comparison_with_constant(world: &World, def: Def) -> bool {
    let is_constant = |operand: Def| match world.node(operand) {
        Node::Aggregate(lanes) => world.list(lanes).iter().all(|&lane| world.as_lit(lane).is_some()),
        _ => false,
    };
    match world.node(def) {
        Node::Cmp { lhs, rhs, .. } => is_constant(lhs) || is_constant(rhs),
        _ => false,
    }
}
