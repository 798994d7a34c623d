//! Join points: one block for all edges that lead to a vertex.

use std::collections::BTreeSet;

use nyala_ir::{Cont, Def, Node, Ty};

use super::{Emitter, Env, Incoming, Var};
use crate::vectorize::blends::Lanes;
use crate::vectorize::lanewise;

impl Emitter<'_> {
    /// Merges all incoming edges of a vertex into one block.
    pub(super) fn merge_incoming(&mut self, vertex: usize) {
        let incoming = std::mem::take(&mut self.incoming[vertex]);
        let is_alive = |var: &Var| self.lifetimes.is_read_from(*var, self.task.flow.position[vertex]);
        if let [_] = incoming[..] {
            let edge = incoming.into_iter().next().expect("there is one edge");
            (self.cont, self.mem) = (edge.cont, edge.mem);
            self.active = edge.active;
            self.env = edge.env.into_iter().filter(|(var, _)| is_alive(var)).collect();
            return;
        }
        let first = incoming.first().and_then(|edge| edge.active);
        self.active = first.filter(|_| incoming.iter().all(|edge| edge.active == first));
        let vars: BTreeSet<Var> =
            incoming.iter().flat_map(|edge| edge.env.keys().copied()).filter(is_alive).collect();
        let mut env = Env::new();
        let mut differing = vec![];
        for var in vars {
            match self.same_value(&incoming, var) {
                Some(value) => {
                    // No edge wrote it, so there may be no mask of the lanes that did.
                    if self.lanes_that_wrote(&incoming, var).is_none() {
                        self.blends.discard(var, value);
                    }
                    env.insert(var, value);
                }
                None => differing.push(var),
            }
        }
        let (cont, params) = self.block_with(vertex, &differing);
        for (&var, &param) in differing.iter().zip(&params) {
            if let Some(mask) = self.lanes_that_wrote(&incoming, var) {
                self.blends.begin(var, Lanes::of(mask), param);
            }
        }
        for edge in incoming {
            let args: Vec<Def> = differing.iter().map(|&var| self.value_in(&edge.env, var)).collect();
            (self.cont, self.mem) = (edge.cont, edge.mem);
            self.jump_with_values(cont, &args);
        }
        env.extend(differing.into_iter().zip(params));
        self.env = env;
        self.resume(cont);
    }

    /// The value of a variable that is the same on all edges. Where it is not written, it may be
    /// anything.
    pub(super) fn same_value(&mut self, incoming: &[Incoming], var: Var) -> Option<Def> {
        let values: Vec<Def> = incoming.iter().map(|edge| self.value_in(&edge.env, var)).collect();
        let is_written = |&&value: &&Def| !matches!(self.world.node(value), Node::Undef);
        let Some(&value) = values.iter().find(is_written) else { return values.first().copied() };
        let has_it = |(edge, &other): (&Incoming, &Def)| {
            let is_there = || self.world.is_constant(value) || edge.env.values().any(|&known| known == value);
            other == value || (!is_written(&&other) && is_there())
        };
        incoming.iter().zip(&values).all(has_it).then_some(value)
    }

    /// The lanes that wrote a variable, if they all did so on one edge. That edge was skipped if there
    /// are none.
    pub(super) fn lanes_that_wrote(&mut self, incoming: &[Incoming], var: Var) -> Option<Def> {
        let mut masks = incoming.iter().map(|edge| {
            let value = self.value_in(&edge.env, var);
            match self.world.node(value) {
                Node::Undef => edge.empty,
                _ => self.blends.first_lanes(var, value),
            }
        });
        let first = masks.next()??;
        masks.all(|mask| mask == Some(first)).then_some(first)
    }

    /// Starts the block of a vertex with these variables as parameters, aggregates scalar by scalar.
    /// Gives their values.
    pub(super) fn block_with(&mut self, vertex: usize, vars: &[Var]) -> (Cont, Vec<Def>) {
        let tys: Vec<Ty> = vars.iter().map(|&var| self.var_ty(var)).collect();
        let block = self.task.flow.blocks.get(vertex);
        let name = block.map_or("join".into(), |&block| self.world.cont(block).name.to_string());
        let flat: Vec<Ty> = tys.iter().flat_map(|&ty| lanewise::flat(self.world, ty)).collect();
        let (cont, params) = self.start(&name, &flat);
        let mut params = params.into_iter();
        let mut values = vec![];
        for (&var, &ty) in vars.iter().zip(&tys) {
            let value = lanewise::unflattened(self.world, ty, &mut params);
            if let Var::Value(old) | Var::LiveOut(old) | Var::Next(old) = var
                && let Some(name) = self.world.name(old)
            {
                self.world.set_name(value, name);
            }
            values.push(value);
        }
        (cont, values)
    }

    /// Ends the current block with a jump to a block whose parameters are variables.
    pub fn jump_with_values(&mut self, target: Cont, values: &[Def]) {
        let args: Vec<Def> =
            values.iter().flat_map(|&value| lanewise::flattened(self.world, value)).collect();
        self.jump(target, &args);
    }
}
