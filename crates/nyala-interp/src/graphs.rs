//! Flow graphs: tasks and the dependences between them.

use nyala_ir::{Cont, Intrinsic, Ty};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use crate::errors::{Checked, ErrorKind};
use crate::machine::{Machine, Results, Ret};
use crate::parallel::{RegionKind, Start};
use crate::value::Value;

/// The flow graphs of a program. All tasks are in one list: no edge connects two
/// graphs.
#[derive(Default)]
pub(crate) struct FlowGraphs {
    n_graphs: u32,
    tasks: Vec<FlowTask>,
}

struct FlowTask {
    body: Value,
    next: Vec<u32>,
}

impl FlowGraphs {
    /// The tasks that are reachable from `root`, which is the first.
    pub(crate) fn reachable_from(&self, root: u32) -> Vec<Start> {
        let mut numbers = FxHashMap::from_iter([(root, 0)]);
        let mut found = vec![root];
        let mut edges = vec![];
        let mut at = 0;
        while let Some(&task) = found.get(at) {
            for &next in &self.tasks[task as usize].next {
                let number = *numbers.entry(next).or_insert_with(|| {
                    found.push(next);
                    found.len() as u32 - 1
                });
                edges.push((at as u32, number));
            }
            at += 1;
        }
        let body = |&task: &u32| self.tasks[task as usize].body.clone();
        let mut all: Vec<Start> =
            found.iter().map(|task| Start { body: body(task), ..Start::default() }).collect();
        for (before, after) in edges {
            all[after as usize].after.push(before);
        }
        all
    }
}

/// Whether the dependences have a cycle, so that some tasks never start.
fn has_cycle(tasks: &[Start]) -> bool {
    let mut next = vec![vec![]; tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        task.after.iter().for_each(|&before| next[before as usize].push(at));
    }
    let mut missing: Vec<usize> = tasks.iter().map(|task| task.after.len()).collect();
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|&at| missing[at] == 0).collect();
    let mut n_started = 0;
    while let Some(done) = ready.pop() {
        n_started += 1;
        for &at in &next[done] {
            missing[at] -= 1;
            if missing[at] == 0 {
                ready.push(at);
            }
        }
    }
    n_started < tasks.len()
}

impl Machine<'_, '_> {
    /// Calls an intrinsic for flow graphs.
    pub(crate) fn flow_graph(
        &mut self,
        intrinsic: Intrinsic,
        cont: Cont,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        let bad = |why: &str| {
            let name = intrinsic.name().into();
            Err(Box::new(ErrorKind::BadArgument { name, why: why.into() }))
        };
        let graphs = &mut self.graphs;
        let is_task = |task: u64| (task as usize) < graphs.tasks.len();
        let result = match (intrinsic, args) {
            (Intrinsic::CreateGraph, []) => {
                graphs.n_graphs += 1;
                graphs.n_graphs - 1
            }
            (Intrinsic::CreateTask, [_, body]) => {
                graphs.tasks.push(FlowTask { body: body.clone(), next: vec![] });
                graphs.tasks.len() as u32 - 1
            }
            (Intrinsic::CreateEdge, [from, to])
                if let (Some(from), Some(to)) = (number(from), number(to))
                    && is_task(from)
                    && is_task(to) =>
            {
                graphs.tasks[from as usize].next.push(to as u32);
                return self.deliver_as(cont, ret, Results::new());
            }
            (Intrinsic::ExecuteGraph, [_, root])
                if let Some(root) = number(root)
                    && is_task(root) =>
            {
                if has_cycle(&graphs.reachable_from(root as u32)) {
                    return bad("its tasks depend on each other in a cycle");
                }
                let results = self.unit_results(cont);
                return self.start_region(
                    RegionKind::Graph { root: root as u32 },
                    Value::Undef,
                    ret,
                    results,
                );
            }
            _ => return bad("there is no such task"),
        };
        let number = Value::Bits(u64::from(result));
        let is_number = |ty: &Ty| self.program.world.types.as_prim(*ty).is_some();
        let handle = match self.result_types(cont).first().is_some_and(is_number) {
            true => number,
            false => Value::agg(vec![number]),
        };
        self.deliver_as(cont, ret, smallvec![handle])
    }
}

/// The number of a graph or task, which may be in a struct of its own.
fn number(handle: &Value) -> Option<u64> {
    match handle.as_parts() {
        Some([number]) => number.as_bits(),
        _ => handle.as_bits(),
    }
}
