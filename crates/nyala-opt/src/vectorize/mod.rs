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
//! * `one_lane`: blocks that one lane executes;
//! * `hoist`: moves common computations above divergent branches;
//! * `linearize`: replaces divergent control flow by straight-line code under masks; `cost`: which
//!   blocks are skipped if no lane is active;
//! * `emit`: writes the SIMD function; `lifetimes`: liveness of its variables; `values`, `addresses`,
//!   `memory`, `lane_memory`, `calls`, `prefetch` and `lane_functions`: its operations; `narrow`: bytes that
//!   are computed with 16 bits; `wrapping`:
//!   accesses that are contiguous unless an index wraps; `runs`: accesses that are contiguous in groups
//!   of lanes;
//! * `lanewise`: aggregates of simd values; `blends`: selects at join points;
//! * `site`: reads and replaces a call of `vectorize`; `nested`: calls of `vectorize` inside SIMD code;
//!   `function_values`: calls of functions that differ between lanes;
//! * `explain`: the report of `nyala explain --vectorize`; `forms`: the vector forms that it names; `estimate`: what the
//!   SIMD code costs beside the scalar loop; `pressure`: how many lanes fit into the registers.

mod addresses;
mod blends;
mod calls;
mod cost;
mod emit;
mod estimate;
mod explain;
mod flow;
mod forms;
mod function_values;
mod hoist;
mod lane_functions;
mod lane_memory;
mod lanewise;
mod lifetimes;
mod linearize;
mod memory;
mod narrow;
mod nested;
mod one_lane;
mod prefetch;
mod pressure;
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
use nyala_span::{Diagnostic, Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use emit::{Emitter, Task};
use estimate::Counts;
pub use estimate::{Cause, CauseKind, Estimate, Machine, Masks};
pub use explain::{Fact, FunctionFacts, Reason, SiteFacts, Subject};
use flow::Flow;
pub use forms::Form;
use linearize::Plan;
use nested::Nested;
use shapes::{Shape, Shapes, function_params};
use site::{Site, collective_in_body, lanes_of_call};
use strides::{Elements, Known};

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

/// What the vectorizer depends on besides the program.
#[derive(Clone, Debug)]
pub struct Options {
    /// The machine whose costs are estimated.
    pub machine: Machine,
    /// Whether the machine decides how many lanes are executed at once in the user's code: a part of a group if more do
    /// not fit into the registers, one if SIMD code is expected to be slower. Otherwise the code does not depend on the
    /// machine.
    pub adapts_lanes: bool,
    /// The files of the user, in which reports say where something is; if there are none, all code is the user's.
    pub own_files: Vec<Span>,
}

impl Options {
    fn is_own(&self, span: Span) -> bool {
        self.own_files.is_empty() || self.own_files.iter().any(|file| (file.lo..=file.hi).contains(&span.lo))
    }
}

/// Replaces all calls of `vectorize` that can be vectorized. Gives a diagnostic for each of the others:
/// a warning, or an error if the body has collective operations, whose lanes cannot run one after the
/// other.
///
/// Before and after: control-flow form.
pub fn vectorize(world: &mut World, options: &Options) -> Vec<Diagnostic> {
    run(world, options, false).0
}

/// As [`vectorize`], with a report for each call.
pub fn explained(world: &mut World, options: &Options) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    run(world, options, true)
}

fn run(world: &mut World, options: &Options, explains: bool) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    let is_site = |&cont: &Cont| {
        let body = world.cont(cont).body.as_ref();
        body.is_some_and(|body| world.as_intrinsic(body.callee) == Some(Intrinsic::Vectorize))
    };
    let sites: Vec<Cont> = conts.into_iter().filter(is_site).collect();
    let result =
        if sites.is_empty() { (vec![], vec![]) } else { vectorize_sites(world, &sites, options, explains) };
    lane_functions::replace_in_single_lane(world);
    result
}

fn vectorize_sites(
    world: &mut World,
    sites: &[Cont],
    options: &Options,
    explains: bool,
) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let per_lane = function_values::replace(world, sites);
    let functions = Functions::new(world);
    let Nested { loops: mut inner, groups } = Nested::replace(world, &functions, sites);
    let mut run = Run {
        block_params: BlockParams::new(world),
        options: options.clone(),
        explains,
        per_lane,
        reports: vec![],
        facts: vec![],
    };
    for group in groups {
        inner.insert(group.cont);
        // The collective operations of a single lane are replaced at the end.
        if group.site.lanes == 1 {
            group.site.write_loop(world);
            run.per_lane.push(group.site.cont);
            continue;
        }
        match run.vectorize(world, group.cont, Ok(Some(&group.site)), Some(group.collective)) {
            true => run.per_lane.push(group.site.cont),
            false => group.undo(world),
        }
    }
    let functions = if inner.is_empty() { functions } else { Functions::new(world) };
    for &cont in sites.iter().filter(|site| !inner.contains(site)) {
        let site = Site::read(world, &functions, cont);
        run.vectorize(world, cont, site.as_ref().map(Option::as_ref), None);
    }
    (run.reports, run.facts)
}

/// The vectorization of one call after the other.
struct Run {
    block_params: BlockParams,
    options: Options,
    explains: bool,
    /// The functions that are called for one lane after the other: those that inner calls with collective operations became, and those that
    /// call a function value.
    per_lane: Vec<Cont>,
    reports: Vec<Diagnostic>,
    facts: Vec<SiteFacts>,
}

impl Run {
    /// Vectorizes the call in `cont`, or reports why it is not; whether it is vectorized or left to the back ends.
    fn vectorize(
        &mut self,
        world: &mut World,
        cont: Cont,
        site: Result<Option<&Site>, &Refusal>,
        collective: Option<Name>,
    ) -> bool {
        let (span, lanes) = match site {
            Ok(Some(site)) => (site.span, Some(site.lanes)),
            _ => (flow::body_span(world, cont), lanes_of_call(world, cont)),
        };
        let narrowed = site.ok().flatten().and_then(|site| self.narrowed(world, site));
        let site = narrowed.as_ref().map_or(site, |narrowed| Ok(Some(narrowed)));
        let at_once = narrowed.as_ref().map(|narrowed| narrowed.lanes);
        let mut facts = SiteFacts { at: span, lanes, at_once, ..SiteFacts::default() };
        let per_lane = self.per_lane.iter().copied().collect();
        let mut instances = Instances::new(self.options.clone(), self.explains, per_lane);
        let result = match site {
            Ok(Some(site)) => {
                facts.has_tail = site.has_tail(world, &self.block_params);
                site.write(world, &self.block_params, &mut instances)
            }
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal.clone()),
        };
        let is_done = result.is_ok();
        match result {
            Ok(()) => {
                facts.functions = explain::deduplicated(instances.facts);
                facts.estimate = site
                    .ok()
                    .flatten()
                    .and_then(|site| estimate::estimate(&instances.counts, site.function, site.lanes));
                let is_own = self.options.is_own(span);
                let slower = facts.estimate.as_ref().filter(|estimate| is_own && estimate.is_slower());
                if let (Some(estimate), Ok(Some(site))) = (slower, site) {
                    let is_loop = estimate.is_surely_slower() && self.adapts_lanes(world, site);
                    self.reports.push(estimate.diagnostic(span, is_loop));
                    if is_loop {
                        site.write_loop(world);
                        facts.at_once = Some(1);
                    }
                }
            }
            Err(refusal) => {
                facts.refused = Some(Reason::from(&refusal));
                let collective = collective.or_else(|| collective_in_body(world, cont));
                self.reports.push(refusal.diagnostic(span, collective));
            }
        }
        self.facts.push(facts);
        is_done
    }

    /// Whether the machine decides how many lanes of a call are executed at once. It does not in the code of the user's
    /// vectors.
    fn adapts_lanes(&self, world: &World, site: &Site) -> bool {
        self.options.adapts_lanes && self.options.is_own(site.span) && !site.has_vectors(world)
    }

    /// The call with fewer lanes, if the machine has too few registers for all.
    fn narrowed(&self, world: &mut World, site: &Site) -> Option<Site> {
        if !self.adapts_lanes(world, site) {
            return None;
        }
        let flow = Flow::new(world, site.function).ok()?;
        let instance = site.instance(world, &self.block_params, ActiveLanes::All);
        let shapes = Shapes::new(world, &flow, &instance);
        let lanes = pressure::fitting_lanes(world, &flow, &shapes, self.options.machine);
        (lanes < site.lanes).then(|| site.with_lanes(world, lanes))
    }
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
    /// The strides between the elements of each data parameter that is a simd value of the program, if they are known.
    elements: Vec<Option<Elements>>,
    active: ActiveLanes,
}

/// The SIMD versions of functions that are needed.
struct Instances {
    heads: FxHashMap<Instance, Cont>,
    waiting: Vec<(Instance, Cont)>,
    /// The functions that are called for one lane after the other.
    per_lane: FxHashSet<Cont>,
    /// Whether to report on each function that is written, and the reports.
    explains: bool,
    facts: Vec<FunctionFacts>,
    options: Options,
    /// The counts of each function that is written.
    counts: Vec<Counts>,
}

impl Instances {
    fn new(options: Options, explains: bool, per_lane: FxHashSet<Cont>) -> Instances {
        Instances {
            heads: FxHashMap::default(),
            waiting: vec![],
            per_lane,
            explains,
            facts: vec![],
            options,
            counts: vec![],
        }
    }

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
            flow.place_in_own_code(world, &self.options);
            let mut shapes = Shapes::new(world, &flow, &instance);
            if hoist::hoist(world, &mut flow, &shapes) {
                shapes = Shapes::new(world, &flow, &instance);
            }
            let plan = Plan::new(world, &flow, &shapes);
            if self.explains {
                self.facts.extend(explain::facts(world, &flow, &shapes, &plan, &instance));
            }
            if instance.active != ActiveLanes::Prefix {
                let id = (instance.function, instance.active);
                self.counts.push(estimate::count(world, &flow, &shapes, &plan, id, self.options.machine));
            }
            let task = Task {
                flow: &flow,
                shapes: &shapes,
                plan: &plan,
                lanes: instance.lanes,
                head,
                is_masked: instance.active != ActiveLanes::All,
                is_prefix: instance.active == ActiveLanes::Prefix,
            };
            Emitter::run(world, self, &task)?;
        }
        Ok(())
    }
}

/// The entry of a SIMD function. Its parameters: memory, the mask if there is one, data, the return
/// continuation.
fn new_head(world: &mut World, instance: &Instance) -> Cont {
    let Instance { function, lanes, params: known, active, .. } = instance;
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
