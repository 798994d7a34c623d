//! Liveness of the variables of a SIMD function: a variable that is not read later is not passed on.

use std::collections::BTreeSet;

use nyala_ir::{Cont, Def, World};
use rustc_hash::FxHashMap;

use super::emit::{Task, Var};
use super::flow::End;
use super::shapes::data_params;
use super::{addresses, one_lane, runs, wrapping};

/// The live ranges of variables.
pub(super) struct Lifetimes {
    /// The last position where each is read. If it is read in a loop and written outside, that is the
    /// loop's latch.
    last: FxHashMap<Var, usize>,
    /// By loop: the variables that are passed on to the next iteration, or read after the loop.
    carried: Vec<Vec<Var>>,
    /// The live-out values of divergent loops.
    live_out: Vec<Def>,
}

impl Lifetimes {
    pub fn new(world: &World, task: &Task<'_>) -> Lifetimes {
        let mut lifetimes = Lifetimes { last: FxHashMap::default(), carried: vec![], live_out: vec![] };
        for block in 0..task.flow.blocks.len() {
            lifetimes.read_block(world, task, block);
            lifetimes.read_masks(task, block);
        }
        lifetimes.read_arguments(world, task);
        let exit = task.flow.position[task.flow.exit()];
        lifetimes
            .last
            .extend((0..n_results(world, task.flow.blocks[0])).map(|index| (Var::Result(index), exit)));
        let live_out = lifetimes.last.keys().filter_map(|&var| match var {
            Var::LiveOut(old) => Some(old),
            _ => None,
        });
        lifetimes.live_out = live_out.collect();
        lifetimes.live_out.sort_unstable();
        for old in lifetimes.live_out.clone() {
            // Exiting lanes read it, wherever it was computed.
            for &home in task.shapes.homes_of(old) {
                let mut around = task.flow.loops_around(home);
                if let Some(around) = around.find(|&around| task.shapes.divergent_loops[around]) {
                    let latch = task.flow.position[task.flow.latch(around)];
                    let last = lifetimes.last.entry(Var::Value(old)).or_insert(latch);
                    *last = latch.max(*last);
                }
            }
        }
        lifetimes.carried =
            (0..task.flow.loops.loops().len()).map(|inner| lifetimes.carry(world, task, inner)).collect();
        lifetimes
    }

    fn read_block(&mut self, world: &World, task: &Task<'_>, block: usize) {
        for &def in task.flow.schedule.block(block) {
            world.for_each_operand(def, |operand| self.read(task, operand, block));
            addresses::index_parts(world, def).into_iter().for_each(|part| self.read(task, part, block));
            let path = wrapping::operands(world, task.flow, task.shapes, def, block);
            let run = runs::operands(world, task.flow, task.shapes, def, block);
            path.into_iter().chain(run).for_each(|operand| self.read(task, operand, block));
        }
        let lane = one_lane::operands(world, task.flow, task.shapes, task.plan, block);
        lane.into_iter().for_each(|operand| self.read(task, operand, block));
        match &task.flow.ends[block] {
            // An argument is read if the parameter is.
            End::Jump { target, .. } if *target < task.flow.exit() => {}
            End::Jump { args, .. } | End::Call { args, .. } => {
                args.iter().for_each(|&arg| self.read(task, arg, block));
            }
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => self.read(task, *on, block),
            End::Unreachable => {}
        }
    }

    /// Marks the arguments of parameters that are read.
    fn read_arguments(&mut self, world: &World, task: &Task<'_>) {
        let mut n_read = usize::MAX;
        while n_read != self.last.len() {
            n_read = self.last.len();
            for (block, end) in task.flow.ends.iter().enumerate() {
                let End::Jump { target, args } = end else { continue };
                let Some(&next) = task.flow.blocks.get(*target) else { continue };
                for (param, &arg) in data_params(world, next).into_iter().zip(args) {
                    if self.is_read(Var::Value(param)) || self.is_read(Var::LiveOut(param)) {
                        self.read(task, arg, block);
                    }
                }
            }
        }
    }

    /// The mask of a vertex is read there; in a loop, also before each iteration but the first.
    fn read_masks(&mut self, task: &Task<'_>, block: usize) {
        let position = task.flow.position[block];
        let header = task.flow.loop_of_header(block);
        let last_read = header.map_or(position, |inner| task.flow.position[task.flow.latch(inner)]);
        self.last.insert(Var::Deferred(block), last_read);
        if let Some(above) = task.plan.same_mask[block] {
            let last = self.last.entry(Var::Mask(above)).or_insert(position);
            *last = position.max(*last);
        }
    }

    fn read(&mut self, task: &Task<'_>, old: Def, block: usize) {
        let (flow, shapes) = (task.flow, task.shapes);
        let Some(home) = shapes.home(flow, old, block) else { return };
        let var = match shapes.exited_loop(flow, old, block) {
            Some(_) => Var::LiveOut(old),
            None => Var::Value(old),
        };
        // If the use is in a loop and the definition is not, each iteration reads it.
        let outermost = flow.loops_around(block).take_while(|&around| !flow.is_in(home, around)).last();
        let position = flow.position[outermost.map_or(block, |around| flow.latch(around))];
        let last = self.last.entry(var).or_insert(position);
        *last = position.max(*last);
        // Each iteration of a loop reads the parameters of its header.
        if let Some(inner) = flow.loop_of_header(home) {
            self.last.insert(Var::Next(old), flow.position[flow.latch(inner)]);
        }
    }

    /// Whether a variable is read at all.
    pub fn is_read(&self, var: Var) -> bool {
        self.is_read_from(var, 0)
    }

    /// Whether a variable is read at this position or later.
    pub fn is_read_from(&self, var: Var, position: usize) -> bool {
        self.last.get(&var).is_some_and(|&last| last >= position)
    }

    pub fn carried(&self, inner: usize) -> &[Var] {
        &self.carried[inner]
    }

    pub fn live_out(&self) -> &[Def] {
        &self.live_out
    }

    /// The variables that are written in a loop and read in its next iteration or after it.
    fn carry(&self, world: &World, task: &Task<'_>, inner: usize) -> Vec<Var> {
        let flow = task.flow;
        let header = flow.blocks[flow.header(inner)];
        let latch = flow.position[flow.latch(inner)];
        let mut carried: BTreeSet<Var> = data_params(world, header)
            .into_iter()
            .filter(|&param| self.is_read(Var::Next(param)))
            .map(Var::Value)
            .collect();
        for &vertex in flow.vertices_of(inner).iter().filter(|&&vertex| vertex < flow.blocks.len()) {
            for target in flow.ends[vertex].targets() {
                if flow.is_in(target, inner) || !task.shapes.divergent_loops[inner] {
                    continue;
                }
                match flow.blocks.get(target) {
                    Some(&block) => {
                        let var = if flow.is_back_edge(vertex, target) { Var::Next } else { Var::Value };
                        let params = data_params(world, block).into_iter().map(var);
                        carried.extend(params.filter(|&param| self.is_read(param)));
                        let mask = Some(Var::Deferred(target));
                        carried.extend(mask.filter(|_| task.plan.same_mask[target].is_none()));
                    }
                    None => carried.extend((0..n_results(world, flow.blocks[0])).map(Var::Result)),
                }
            }
        }
        for &old in &self.live_out {
            let var = Var::LiveOut(old);
            // It is written on the exits of the divergent loop that computes it, which may be inside of
            // other loops.
            let divergent =
                |home: usize| flow.loops_around(home).find(|&around| task.shapes.divergent_loops[around]);
            let in_loop = task.shapes.homes_of(old).iter().any(|&home| {
                let around = divergent(home);
                flow.is_in(home, inner) || around.is_some_and(|around| flow.is_in(flow.header(inner), around))
            });
            if in_loop && self.last[&var] > latch && task.shapes.divergent_loops[inner] {
                carried.insert(var);
            }
        }
        carried.into_iter().collect()
    }
}

/// The number of results of a function.
fn n_results(world: &World, entry: Cont) -> usize {
    let ret = world.cont(entry).params.last().map(|&ret| world.ty(ret));
    ret.and_then(|ret| world.types.as_cn(ret)).map_or(0, |params| params.len().saturating_sub(1))
}
