//! Whole-function vectorization: turns `vectorize` into SIMD code.
//!
//! Before: a program in control-flow form. After: each call of `vectorize` whose body and number of
//! lanes are known calls a SIMD function, which is ordinary code on simd values. Other calls are
//! unchanged and reported.
//!
//! Read in this order:
//!
//! * `flow`: the control-flow graph of a function, in the order in which it is linearized;
//! * `shapes`: which values are uniform, strided or varying, and where control flow diverges;
//!   `strides`: the shape of arithmetic; `private`: variables whose address does not escape;
//! * `hoist`: moves common computations above divergent branches;
//! * `linearize`: replaces divergent control flow by straight-line code under masks; `cost`: which
//!   blocks are skipped if no lane is active;
//! * `emit`: writes the SIMD function; `lifetimes`: liveness of its variables; `values`, `addresses`,
//!   `memory`, `lane_memory`, `calls`, `prefetch` and `lane_functions`: its operations; `wrapping`:
//!   accesses that are contiguous unless an index wraps; `runs`: accesses that are contiguous in groups
//!   of lanes;
//! * `lanewise`: aggregates of simd values; `blends`: selects at join points;
//! * `site`: reads and replaces a call of `vectorize`; `nested`: calls of `vectorize` inside SIMD code;
//! * `explain`: the report of `nyala explain --vectorize`.

mod addresses;
mod blends;
mod calls;
mod cost;
mod emit;
mod explain;
mod flow;
mod hoist;
mod lane_functions;
mod lane_memory;
mod lanewise;
mod lifetimes;
mod linearize;
mod memory;
mod nested;
mod prefetch;
mod private;
mod runs;
mod shapes;
mod site;
mod strides;
mod values;
mod wrapping;

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::{BlockParams, Functions, References};
use nyala_ir::{Cont, Def, Intrinsic, Ty, World};
use nyala_span::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use emit::{Emitter, Task};
pub use explain::{Fact, Form, FunctionFacts, Reason, SiteFacts, Subject};
use flow::Flow;
use linearize::Plan;
use shapes::{Shape, Shapes, function_params};
use site::{Site, collective_in_body, lanes_of_call};
use strides::Known;

/// Why something is not vectorized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The code that prevents it.
    pub at: Span,
    /// A noun phrase for the user.
    pub why: String,
}

impl Refusal {
    /// A value that differs between lanes has no vector form.
    fn varying(world: &World, def: Def) -> Refusal {
        let ty = emit::value_ty(world, def);
        let why = format!("varying values of type `{}`", world.types.display(ty));
        Refusal { at: world.span_of(def), why }
    }
}

/// Replaces all calls of `vectorize` that can be vectorized. Gives a diagnostic for each of the others:
/// a warning, or an error if the body has collective operations, whose lanes cannot run one after the
/// other.
///
/// Before and after: control-flow form.
pub fn vectorize(world: &mut World) -> Vec<Diagnostic> {
    run(world, false).0
}

/// As [`vectorize`], with a report for each call.
pub fn explained(world: &mut World) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    run(world, true)
}

fn run(world: &mut World, explains: bool) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    let is_site = |&cont: &Cont| {
        let body = world.cont(cont).body.as_ref();
        body.is_some_and(|body| world.as_intrinsic(body.callee) == Some(Intrinsic::Vectorize))
    };
    let sites: Vec<Cont> = conts.into_iter().filter(is_site).collect();
    let result = if sites.is_empty() { (vec![], vec![]) } else { vectorize_sites(world, &sites, explains) };
    lane_functions::replace_in_single_lane(world);
    result
}

fn vectorize_sites(world: &mut World, sites: &[Cont], explains: bool) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let functions = Functions::new(world);
    let nested = nested::replace_by_loops(world, &functions, sites);
    let functions = if nested.is_empty() { functions } else { Functions::new(world) };
    let block_params = BlockParams::new(world);
    let (mut reports, mut all_facts) = (vec![], vec![]);
    for &cont in sites.iter().filter(|site| !nested.contains(site)) {
        let span = world.cont(cont).body.as_ref().map_or(Span::NONE, |body| body.span);
        let mut facts = SiteFacts { at: span, lanes: lanes_of_call(world, cont), ..SiteFacts::default() };
        let mut instances = Instances { explains, ..Instances::default() };
        let result = match Site::read(world, &functions, cont) {
            Ok(Some(site)) => {
                facts.has_tail = site.range.is_some();
                site.write(world, &block_params, &mut instances)
            }
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal),
        };
        match result {
            Ok(()) => facts.functions = explain::deduplicated(instances.facts),
            Err(refusal) => {
                facts.refused = Some(Reason::from(&refusal));
                reports.push(refusal.diagnostic(span, collective_in_body(world, cont)));
            }
        }
        all_facts.push(facts);
    }
    (reports, all_facts)
}

/// Which lanes are active when a SIMD function is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ActiveLanes {
    /// Every lane.
    All,
    /// Lane 0 and some consecutive lanes after it.
    Prefix,
    /// At least one lane.
    Any,
}

/// A SIMD version of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Instance {
    function: Cont,
    lanes: u32,
    /// The shape and the range of each data parameter.
    params: Vec<Known>,
    active: ActiveLanes,
}

/// The SIMD versions of functions that are needed.
#[derive(Default)]
struct Instances {
    heads: FxHashMap<Instance, Cont>,
    waiting: Vec<(Instance, Cont)>,
    /// Whether to report on each function that is written, and the reports.
    explains: bool,
    facts: Vec<FunctionFacts>,
}

impl Instances {
    /// The entry of the SIMD function, whose body may not be written yet.
    fn head(&mut self, world: &mut World, instance: Instance) -> Cont {
        if let Some(&head) = self.heads.get(&instance) {
            return head;
        }
        let head = new_head(world, &instance);
        self.heads.insert(instance.clone(), head);
        self.waiting.push((instance, head));
        head
    }

    /// Writes all pending functions, and the functions that they call.
    fn write(&mut self, world: &mut World) -> Result<(), Refusal> {
        while let Some((instance, head)) = self.waiting.pop() {
            let mut flow = Flow::new(world, instance.function)?;
            let mut shapes = Shapes::new(world, &flow, &instance);
            if hoist::hoist(world, &mut flow, &shapes) {
                shapes = Shapes::new(world, &flow, &instance);
            }
            let plan = Plan::new(world, &flow, &shapes);
            if self.explains {
                self.facts.extend(explain::facts(world, &flow, &shapes, &plan, &instance));
            }
            let task = Task {
                flow: &flow,
                shapes: &shapes,
                plan: &plan,
                lanes: instance.lanes,
                head,
                is_masked: instance.active != ActiveLanes::All,
            };
            Emitter::run(world, self, &task)?;
        }
        Ok(())
    }
}

/// The entry of a SIMD function. Its parameters: memory, the mask if there is one, data, the return
/// continuation.
fn new_head(world: &mut World, instance: &Instance) -> Cont {
    let Instance { function, lanes, params: known, active } = instance;
    let data = world.cont(*function).clone();
    let mut tys = vec![world.types.mem()];
    if *active != ActiveLanes::All {
        let bool = world.types.bool();
        tys.push(world.types.simd(bool, *lanes));
    }
    let params = function_params(world, *function);
    let first = tys.len();
    for (&param, known) in params.iter().zip(known) {
        let ty = world.ty(param);
        tys.push(if known.shape == Shape::Varying { lanewise::lanes_ty(world, ty, *lanes) } else { ty });
    }
    let ret = data.params.last().map(|&last| world.ty(last)).filter(|&ty| is_return(&world.types, ty));
    if let Some(ret) = ret {
        let results: Vec<Ty> = world.types.as_cn(ret).unwrap_or(&[]).to_vec();
        let mem = world.types.mem();
        let results: Vec<Ty> = results
            .into_iter()
            .map(|ty| if ty == mem { mem } else { lanewise::lanes_ty(world, ty, *lanes) })
            .collect();
        tys.push(world.types.cn(&results));
    }
    world.span = data.span;
    let head = world.new_cont(format!("{}_x{lanes}", data.name).as_str(), &tys);
    for (index, param) in params.into_iter().enumerate() {
        if let Some(name) = world.name(param) {
            world.set_name(world.param(head, first + index), name);
        }
    }
    head
}
