//! Loop headers and latches.

use nyala_ir::{Def, LaneOp};

use super::{Emitter, Var};
use crate::vectorize::shapes::data_params;

impl Emitter<'_> {
    /// Starts a loop: variables that change in it become parameters of its header.
    pub(super) fn header(&mut self, inner: usize, vertex: usize) {
        let flow = self.task.flow;
        let is_divergent = self.task.shapes.divergent_loops[inner];
        let mut vars: Vec<Var> = self.lifetimes.carried(inner).to_vec();
        if is_divergent {
            self.env.insert(Var::Deferred(vertex), self.mask);
            vars.push(Var::Deferred(vertex));
        }
        let args: Vec<Def> = vars.iter().map(|&var| self.value(var)).collect();
        let (cont, params) = self.block_with(vertex, &vars);
        self.jump_with_values(cont, &args);
        self.resume(cont);
        // Masks of an earlier iteration of an enclosing loop do not hold in this one.
        self.env.retain(|&var, _| match var {
            Var::Deferred(at) | Var::Mask(at) => !flow.is_in(at, inner) || at == vertex,
            _ => true,
        });
        self.env.extend(vars.iter().copied().zip(params));
        if is_divergent {
            self.mask = self.value(Var::Deferred(vertex));
            self.active = Some(self.mask);
        }
        self.headers.insert(inner, (cont, vars));
    }

    /// Lets the edges to the latch of a divergent loop that are known to have no lane for the next iteration exit the
    /// loop, if there are others.
    pub(super) fn exit_without_lanes(&mut self, inner: usize) {
        let flow = self.task.flow;
        let (latch, again) = (flow.latch(inner), Var::Deferred(flow.header(inner)));
        let Some(&next) = self.task.plan.next[latch].first() else { return };
        let edges = std::mem::take(&mut self.incoming[latch]);
        let none = self.empty_mask();
        let (exiting, others): (Vec<_>, Vec<_>) =
            edges.into_iter().partition(|edge| self.value_in(&edge.env, again) == none);
        if others.is_empty() {
            self.incoming[latch] = exiting;
            return;
        }
        self.incoming[latch] = others;
        self.incoming[next].extend(exiting);
    }

    /// Ends an iteration of a loop.
    pub(super) fn latch(&mut self, inner: usize) {
        let flow = self.task.flow;
        let (header, vars) = self.headers[&inner].clone();
        let header_at = flow.header(inner);
        let own = data_params(self.world, flow.blocks[header_at]);
        let args: Vec<Def> = vars
            .iter()
            .map(|&var| {
                let var = match var {
                    Var::Value(param) if own.contains(&param) => Var::Next(param),
                    other => other,
                };
                self.value(var)
            })
            .collect();
        let next = self.task.plan.next[flow.latch(inner)].first().copied();
        let again = self.value(Var::Deferred(header_at));
        let exits = next.filter(|&next| self.incoming[next].is_empty() || self.active != Some(again));
        if let Some(next) = exits {
            let any = self.world.lanes(LaneOp::Any, &[again]);
            let outside = self.split(any);
            self.jump_with_values(header, &args);
            self.resume(outside);
            self.env.remove(&Var::Deferred(header_at));
            self.goto(next);
        } else {
            self.jump_with_values(header, &args);
        }
    }
}
