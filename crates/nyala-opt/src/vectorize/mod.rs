//! Whole-function vectorisation: `vectorize` as SIMD code.
//!
//! Before: a program in control-flow form. After: a call of `vectorize` whose body and
//! number of lanes are known calls a function for all lanes at once, which is ordinary
//! code on simd values. What cannot be vectorised stays as it is, and is reported.
//!
//! Read in this order:
//!
//! * `flow`: the function as a graph, in the order in which lanes go through it;
//! * `shapes`: what is the same for all lanes, or differs by a fixed stride, and where
//!   lanes go different ways; `strides`: what follows from strides; `private`: variables in memory that nobody else sees;
//! * `hoist`: what lanes would compute twice, because they part;
//! * `linearize`: one way through the function for all lanes; `cost`: which parts of
//!   it are left out if no lane is there;
//! * `emit`: writes the function; `lifetimes`: how long it needs what; `values`, `memory`, `own_memory`, `calls` and
//!   `lane_functions`: its operations; `wrapping`: accesses that are nearly always neighbours; `runs`: those that are in groups;
//! * `lanewise`: values of all lanes; `blends`: those of lanes that come from different places;
//! * `nested`: calls of `vectorize` in SIMD code;
//! * `explain`: what became of everything, for people.

mod blends;
mod calls;
mod cost;
mod emit;
mod explain;
mod flow;
mod hints;
mod hoist;
mod lane_functions;
mod lanewise;
mod lifetimes;
mod linearize;
mod memory;
mod nested;
mod own_memory;
mod private;
mod runs;
mod shapes;
mod strides;
mod values;
mod wrapping;

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::{Functions, Number, References};
use nyala_ir::{
    ArithFlags, ArithOp, Body, CmpOp, Cont, Def, Intrinsic, LaneFunction, Linkage, Prim, Ty, World,
};
use nyala_span::{Diagnostic, Name, Span};
use rustc_hash::FxHashMap;

use emit::{Emitter, Task};
pub use explain::{Because, Fact, Form, FunctionFacts, SiteFacts, Subject};
use flow::Flow;
use linearize::Plan;
use shapes::{Shape, Shapes, Wraps, data_params};
use strides::Known;

/// The most lanes; masks are kept as numbers of 64 bits.
const MAX_LANES: i64 = 64;

/// Why something is not vectorised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// What stands against it.
    pub at: Span,
    /// For people to read: a noun.
    pub why: String,
}

/// Replaces all calls of `vectorize` that can be vectorised; a report for each of the others:
/// a warning, or an error if its lanes meet and so cannot run one after the other.
///
/// Before: control-flow form. After: that too.
pub fn vectorize(world: &mut World) -> Vec<Diagnostic> {
    run(world, false).0
}

/// As [`vectorize`], and says what became of each call.
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
    lane_functions::run_alone(world);
    result
}

fn vectorize_sites(world: &mut World, sites: &[Cont], explains: bool) -> (Vec<Diagnostic>, Vec<SiteFacts>) {
    let functions = Functions::new(world);
    let nested = nested::run_in_sequence(world, &functions, sites);
    let functions = if nested.is_empty() { functions } else { Functions::new(world) };
    let (mut reports, mut all_facts) = (vec![], vec![]);
    for &cont in sites.iter().filter(|site| !nested.contains(site)) {
        let span = world.cont(cont).body.as_ref().map_or(Span::NONE, |body| body.span);
        let mut facts = SiteFacts { at: span, lanes: lanes_of_call(world, cont), ..SiteFacts::default() };
        let mut instances = Instances { explains, ..Instances::default() };
        let result = match Site::read(world, &functions, cont) {
            Ok(Some(site)) => {
                facts.has_tail = site.range.is_some();
                site.write(world, &mut instances)
            }
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal),
        };
        match result {
            Ok(()) => facts.functions = explain::without_doubles(instances.facts),
            Err(refusal) => {
                facts.refused = Some(Because::from(&refusal));
                reports.push(refusal.diagnostic(span, meeting(world, cont)));
            }
        }
        all_facts.push(facts);
    }
    (reports, all_facts)
}

/// The number of lanes that `cont` calls `vectorize` with, if it is known.
fn lanes_of_call(world: &World, cont: Cont) -> Option<u32> {
    let lanes = *world.cont(cont).body.as_ref()?.args.get(1)?;
    world.as_int(lanes).and_then(|lanes| u32::try_from(lanes).ok())
}

/// A function by which lanes meet in the body that `cont` calls `vectorize` with.
fn meeting(world: &World, cont: Cont) -> Option<Name> {
    let call = world.cont(cont).body.as_ref()?;
    let body = call.args.iter().rev().nth(1).and_then(|&body| world.as_cont(body));
    let reached = match body {
        Some(body) => References::from_roots(world, &[body]),
        None => References::of_program(world),
    };
    let symbol = |cont: Cont| match world.cont(cont).linkage {
        Linkage::Imported(name) => LaneFunction::from_name(name.as_str()).map(|_| name),
        _ => None,
    };
    reached.conts(world).find_map(symbol)
}

/// Which lanes are there when a SIMD function is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ActiveLanes {
    /// All of them.
    All,
    /// The first and some that follow it.
    Prefix,
    /// At least one.
    Any,
}

/// A SIMD version of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Instance {
    function: Cont,
    lanes: u32,
    /// What is known of its data.
    params: Vec<Known>,
    active: ActiveLanes,
}

/// The SIMD versions of functions that are needed.
#[derive(Default)]
struct Instances {
    heads: FxHashMap<Instance, Cont>,
    waiting: Vec<(Instance, Cont)>,
    /// Whether to say what became of those that are written, and what that is.
    explains: bool,
    facts: Vec<FunctionFacts>,
}

impl Instances {
    /// The SIMD function, which may not be written yet.
    fn head(&mut self, world: &mut World, instance: Instance) -> Cont {
        if let Some(&head) = self.heads.get(&instance) {
            return head;
        }
        let head = new_head(world, &instance);
        self.heads.insert(instance.clone(), head);
        self.waiting.push((instance, head));
        head
    }

    /// Writes all functions that are waiting, and those that they need.
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

/// A continuation for a SIMD function: memory, the mask if there is one, data, return.
fn new_head(world: &mut World, instance: &Instance) -> Cont {
    let Instance { function, lanes, params: known, active } = instance;
    let data = world.cont(*function).clone();
    let mut tys = vec![world.types.mem()];
    if *active != ActiveLanes::All {
        let bool = world.types.bool();
        tys.push(world.types.simd(bool, *lanes));
    }
    let params = data_params(world, *function);
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

/// A call of `vectorize`.
struct Site {
    cont: Cont,
    lanes: u32,
    /// From where to where; none is from 0 to the number of lanes.
    range: Option<(Def, Def)>,
    /// What is executed for each number.
    function: Cont,
    /// Its arguments besides memory and return; none is the number.
    args: Vec<Option<Def>>,
    next: Def,
    mem: Def,
    span: Span,
}

impl Site {
    /// Reads a call. One lane is left to those who run lanes one after the other.
    fn read(world: &World, functions: &Functions, cont: Cont) -> Result<Option<Site>, Refusal> {
        match lanes_of_call(world, cont) {
            Some(1) => Ok(None),
            _ => Site::read_any(world, functions, cont).map(Some),
        }
    }

    /// Reads a call.
    fn read_any(world: &World, functions: &Functions, cont: Cont) -> Result<Site, Refusal> {
        let Some(Body { args, span, .. }) = world.cont(cont).body.clone() else {
            return Err(Refusal { at: Span::NONE, why: "a call that is not there".into() });
        };
        let refuse = |why: &str| Err(Refusal { at: span, why: why.into() });
        let [mem, ref numbers @ .., body, next] = args[..] else { return refuse("a call of another shape") };
        let (lanes, range) = match *numbers {
            [lanes] => (lanes, None),
            [lanes, lower, upper] | [lanes, _, lower, upper] => (lanes, Some((lower, upper))),
            _ => return refuse("a call of another shape"),
        };
        let lanes = match world.as_int(lanes) {
            Some(lanes @ 1..=MAX_LANES) => lanes as u32,
            Some(_) => return refuse("a number of lanes that is not between 1 and 64"),
            None => return refuse("a number of lanes that is not known"),
        };
        let Some(entry) = world.as_cont(body).filter(|&body| world.cont(body).body.is_some()) else {
            return refuse("a body that is not known");
        };
        let captures = functions.get(entry).is_some_and(|function| !function.captures.is_empty());
        let (function, args) = match captures {
            false => (entry, vec![None]),
            true => match lifted(world, entry) {
                Some(lifted) => lifted,
                None => return refuse("a body that leaves the function around it"),
            },
        };
        Ok(Site { cont, lanes, range, function, args, next, mem, span })
    }

    /// Replaces the call.
    fn write(&self, world: &mut World, instances: &mut Instances) -> Result<(), Refusal> {
        let full = self.instance(world, instances, ActiveLanes::All);
        let tail = self.range.map(|_| self.instance(world, instances, ActiveLanes::Prefix));
        instances.write(world)?;
        world.span = self.span;
        match (self.range, tail) {
            (Some(range), Some(tail)) => self.groups(world, range, full, tail),
            _ => {
                let zero = world.lit_i32(0);
                let args = self.arguments(self.mem, None, zero, self.next);
                world.set_body(self.cont, world.cont_def(full), args);
            }
        }
        Ok(())
    }

    fn instance(&self, world: &mut World, instances: &mut Instances, active: ActiveLanes) -> Cont {
        let number = Known { shape: Shape::strided(1, Wraps::Never), number: self.number(world) };
        let shared = |&arg: &Def| Known { shape: Shape::Uniform, number: Number::of_expression(world, arg) };
        let params = self.args.iter().map(|arg| arg.as_ref().map_or(number, shared)).collect();
        instances.head(world, Instance { function: self.function, lanes: self.lanes, params, active })
    }

    /// What is known of the numbers: each group of lanes begins a multiple of their count after the
    /// first one.
    fn number(&self, world: &World) -> Number {
        let Some((lower, upper)) = self.range else {
            return Number { max: i128::from(self.lanes) - 1, ..Number::exactly(0) };
        };
        let [lower, upper] = [lower, upper].map(|bound| Number::of_expression(world, bound));
        Number { twos: lower.twos.min(self.lanes.trailing_zeros()), min: lower.min, max: upper.max - 1 }
    }

    /// The arguments of the SIMD function, for the lanes from the number `first` on.
    fn arguments(&self, mem: Def, mask: Option<Def>, first: Def, next: Def) -> Vec<Def> {
        let own = self.args.iter().map(|arg| arg.unwrap_or(first));
        [mem].into_iter().chain(mask).chain(own).chain([next]).collect()
    }

    /// A loop over the numbers in groups; the last group may have fewer lanes. Counts
    /// with 64 bits, so that it ends also at the end of the range of `i32`.
    fn groups(&self, world: &mut World, (lower, upper): (Def, Def), full: Cont, tail: Cont) {
        let (mem, i64) = (world.types.mem(), world.types.prim(Prim::I64));
        let i32 = world.types.prim(Prim::I32);
        let group = world.new_cont("group", &[mem, i64]);
        let [whole, again, rest, part, done] =
            ["whole", "again", "rest", "part", "done"].map(|name| world.new_cont(name, &[mem]));
        let defs = [group, whole, again, rest, part, done].map(|cont| world.cont_def(cont));
        let [group_def, whole_def, again_def, rest_def, part_def, done_def] = defs;
        let (lower, upper) = (world.cast(i64, lower), world.cast(i64, upper));
        world.set_body(self.cont, group_def, [self.mem, lower]);

        let at = world.param(group, 1);
        let lanes = world.lit_i64(i64::from(self.lanes));
        let left = world.arith(ArithOp::Sub, ArithFlags::WRAP, upper, at);
        let first = world.cast(i32, at);
        let is_whole = world.cmp(CmpOp::Ge, left, lanes);
        world.set_branch(group, world.param(group, 0), is_whole, whole_def, rest_def);

        let mem_of = |world: &World, cont: Cont| world.param(cont, 0);
        let args = self.arguments(mem_of(world, whole), None, first, again_def);
        world.set_body(whole, world.cont_def(full), args);
        let following = world.arith(ArithOp::Add, ArithFlags::WRAP, at, lanes);
        world.set_body(again, group_def, [mem_of(world, again), following]);

        let zero = world.lit_i64(0);
        let is_part = world.cmp(CmpOp::Gt, left, zero);
        world.set_branch(rest, mem_of(world, rest), is_part, part_def, done_def);
        let numbers = lanewise::steps(world, Prim::I64, 1, self.lanes);
        let limit = world.splat(left, self.lanes);
        let mask = world.cmp(CmpOp::Lt, numbers, limit);
        let args = self.arguments(mem_of(world, part), Some(mask), first, self.next);
        world.set_body(part, world.cont_def(tail), args);
        world.set_body(done, self.next, [mem_of(world, done)]);
    }
}

/// The function that a closure calls, and with what; none stands for the closure's number.
fn lifted(world: &World, closure: Cont) -> Option<(Cont, Vec<Option<Def>>)> {
    let data = world.cont(closure);
    let (body, number) = (data.body.as_ref()?, *data.params.get(1)?);
    let function = world.as_cont(body.callee).filter(|&callee| world.cont(callee).body.is_some())?;
    let ends_alike = body.args.first() == data.params.first() && body.args.last() == data.params.last();
    let args = body.args.get(1..body.args.len().checked_sub(1)?)?;
    let own = |arg: &&Def| **arg != number && data.params.contains(arg);
    let args = || args.iter().map(|&arg| (arg != number).then_some(arg)).collect();
    let uses_others = body.args[1..body.args.len() - 1].iter().any(|arg| own(&arg));
    (ends_alike && !uses_others).then(|| (function, args()))
}
