//! The report of `nyala explain --vectorize`: how values, accesses, branches, loops and calls were
//! vectorized, and why.
//!
//! Nothing is decided here. [`facts`] reads the results of the analyses for one SIMD version of a
//! function, before it is written. For a varying value it finds the origin: a gather, the lane index,
//! or a divergent branch.

use nyala_ir::World;
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, LaneFunction, Linkage, Node};
use nyala_span::{Name, Span};
use rustc_hash::FxHashSet;

use super::calls;
use super::estimate::Estimate;
use super::flow::{End, Flow};
use super::forms::{Access, Form};
use super::function_values;
use super::linearize::Plan;
use super::prefetch;
use super::shapes::{Shape, Shapes, data_params, function_params};
use super::{ActiveLanes, Instance, Refusal};

/// The report on a call of `vectorize`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SiteFacts {
    /// The call.
    pub at: Span,
    /// The number of lanes, if it is known.
    pub lanes: Option<u32>,
    /// How many of them are executed at once, if that is another number: 1 if SIMD code is expected to be slower than a
    /// loop.
    pub at_once: Option<u32>,
    /// Why it is not vectorized.
    pub refused: Option<Reason>,
    /// The estimated cost, unless it is not vectorized or scalar code cannot do the same.
    pub estimate: Option<Estimate>,
    /// Whether the last group may be partial, and is masked.
    pub has_tail: bool,
    /// The SIMD functions: the body first, then its callees.
    pub functions: Vec<FunctionFacts>,
}

/// The report on a SIMD version of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionFacts {
    /// The function.
    pub name: Name,
    /// Its source location.
    pub at: Span,
    /// Whether only some lanes may call it.
    pub is_masked: bool,
    /// In the order of the source.
    pub facts: Vec<Fact>,
}

/// How one value, access, branch, loop or call was vectorized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// Its source location.
    pub at: Span,
    /// Its kind.
    pub subject: Subject,
    /// Its vector form.
    pub form: Form,
    /// Why it is masked, if it is.
    pub mask: Option<Reason>,
    /// Whether it is skipped if no lane is active.
    pub is_guarded: bool,
    /// Whether an index may wrap between lanes. The access then is a gather or scatter.
    pub may_wrap: bool,
    /// Why it has no better form.
    pub because: Option<Reason>,
}

/// The subject of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A named value.
    Value(Name),
    /// A load.
    Load,
    /// A store.
    Store,
    /// A branch.
    Branch,
    /// A loop.
    Loop,
    /// A call.
    Call(Name),
}

/// Why something is as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// A phrase for the user.
    pub what: String,
    /// The source location of the cause.
    pub at: Span,
}

impl Reason {
    fn new(what: &str, at: Span) -> Reason {
        Reason { what: what.into(), at }
    }
}

impl From<&Refusal> for Reason {
    fn from(refusal: &Refusal) -> Reason {
        Reason::new(&refusal.why, refusal.at)
    }
}

/// The report on a function; none for the version of the last, partial group.
pub(super) fn facts(
    world: &World,
    flow: &Flow,
    shapes: &Shapes,
    plan: &Plan,
    instance: &Instance,
) -> Option<FunctionFacts> {
    if instance.active == ActiveLanes::Prefix {
        return None;
    }
    let is_masked = instance.active == ActiveLanes::Any;
    let data = world.cont(instance.function);
    let reader = Reader { world, flow, shapes, plan, is_masked };
    let mut facts: Vec<Fact> = vec![];
    for block in 0..flow.blocks.len() {
        for fact in reader.block(block) {
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
    }
    facts.sort_by_key(|fact| (fact.at.lo, fact.at.hi));
    Some(FunctionFacts { name: data.name, at: data.span, is_masked, facts })
}

/// Removes duplicates: the body comes first, and a function that is called with and without a mask is
/// reported without.
pub(super) fn deduplicated(mut all: Vec<FunctionFacts>) -> Vec<FunctionFacts> {
    all.reverse();
    all.sort_by_key(|function| function.is_masked);
    let mut seen = FxHashSet::default();
    all.retain(|function| seen.insert((function.name, function.at)));
    all
}

struct Reader<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: &'a Shapes,
    plan: &'a Plan,
    is_masked: bool,
}

impl Reader<'_> {
    fn params(&self, block: usize) -> Vec<Def> {
        match block {
            0 => function_params(self.world, self.flow.blocks[0]),
            _ => data_params(self.world, self.flow.blocks[block]),
        }
    }

    fn block(&self, block: usize) -> Vec<Fact> {
        let mut facts = vec![];
        for param in self.params(block) {
            facts.extend(self.value(param, block));
        }
        for &def in self.flow.schedule.block(block) {
            facts.extend(self.value(def, block));
            facts.extend(self.access(def, block));
        }
        facts.extend(self.end(block));
        facts.extend(self.header(block));
        facts
    }

    fn fact(&self, at: Span, subject: Subject, form: Form) -> Fact {
        Fact { at, subject, form, mask: None, is_guarded: false, may_wrap: false, because: None }
    }

    /// A named value.
    fn value(&self, def: Def, block: usize) -> Option<Fact> {
        let name = self.world.name(def)?;
        let ty = self.world.ty(def);
        if ty == self.world.types.mem() || has_effect(self.world, def) {
            return None;
        }
        let form = Form::of_value(self.world, self.shapes.of(def), ty);
        let because = (form == Form::Varying).then(|| self.cause(def, block));
        let at = self.world.span_of(def);
        Some(Fact { because, ..self.fact(at, Subject::Value(name), form) })
    }

    fn access(&self, def: Def, block: usize) -> Option<Fact> {
        let (subject, ptr) = match self.world.node(def) {
            Node::Load { ptr, .. } => (Subject::Load, ptr),
            Node::Store { ptr, .. } => (Subject::Store, ptr),
            _ => return None,
        };
        let mask = self.mask(block);
        let access = Access::new(self.world, self.flow, self.shapes, (def, ptr), block, mask.is_none())?;
        let mask = mask.filter(|_| access.form != Form::Uniform);
        let because = access.is_varying.then(|| self.cause(ptr, block));
        let fact = self.fact(self.world.span_of(def), subject, access.form);
        Some(Fact { mask, because, may_wrap: access.may_wrap, is_guarded: self.is_guarded(block), ..fact })
    }

    fn end(&self, block: usize) -> Option<Fact> {
        let at = self.flow.places[block];
        let (subject, on) = match &self.flow.ends[block] {
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => (Subject::Branch, *on),
            End::Call { callee, .. } => {
                let data = self.world.cont(*callee);
                let form = match &data.linkage {
                    Linkage::Imported(name) if LaneFunction::from_name(name.as_str()).is_some() => {
                        Form::Collective
                    }
                    _ if self.is_called_once(block) => Form::Uniform,
                    _ if function_values::calls_one(self.world, *callee) => Form::PerLane,
                    _ if data.body.is_some() => Form::Simd,
                    _ => self.form_of_prefetch(block).unwrap_or(Form::PerLane),
                };
                let fact = self.fact(at, Subject::Call(data.name), form);
                return Some(Fact { mask: self.mask(block), is_guarded: self.is_guarded(block), ..fact });
            }
            _ => return None,
        };
        let diverges = self.shapes.diverges(self.flow, block);
        let form = if diverges { Form::Varying } else { Form::Uniform };
        let because = diverges.then(|| self.cause(on, block));
        Some(Fact { because, ..self.fact(at, subject, form) })
    }

    /// Whether the call at the end of a block is one for all lanes.
    fn is_called_once(&self, block: usize) -> bool {
        let End::Call { callee, args, .. } = &self.flow.ends[block] else { return false };
        let shape = |&arg: &Def| self.shapes.at(self.flow, arg, block);
        calls::is_called_once(self.flow, *callee, args.iter().map(shape))
    }

    /// The form of a prefetch for several lanes, if the call is one.
    fn form_of_prefetch(&self, block: usize) -> Option<Form> {
        let End::Call { callee, args, .. } = &self.flow.ends[block] else { return None };
        let shapes = args.iter().map(|&arg| self.shapes.at(self.flow, arg, block));
        let offsets = prefetch::line_offsets(self.world, *callee, shapes, self.shapes.n_lanes())?;
        Some(if offsets.len() == 1 { Form::Uniform } else { Form::PerCacheLine })
    }

    /// The loop whose header is `block`.
    fn header(&self, block: usize) -> Option<Fact> {
        let inner = self.flow.loop_of_header(block)?;
        let is_divergent = self.shapes.divergent_loops[inner];
        let form = if is_divergent { Form::Varying } else { Form::Uniform };
        let exits = |&vertex: &usize| {
            let is_block = vertex < self.flow.blocks.len();
            is_block && self.shapes.diverges(self.flow, vertex)
        };
        let because = self.flow.vertices_of(inner).iter().copied().find(exits).filter(|_| is_divergent);
        let because = because
            .map(|vertex| Reason::new("lanes exit in different iterations here", self.flow.places[vertex]));
        Some(Fact { because, ..self.fact(self.flow.places[block], Subject::Loop, form) })
    }

    fn is_guarded(&self, block: usize) -> bool {
        let dominators = std::iter::successors(Some(block), |&at| self.flow.doms.idom(at));
        let mut same = dominators.take_while(|&at| at == block || self.flow.post_doms.dominates(block, at));
        same.any(|at| self.plan.skip[at].is_some())
    }

    /// Why only some lanes are active in a block; none if all are.
    fn mask(&self, block: usize) -> Option<Reason> {
        if let Some(branch) = self.divergent_branch(block) {
            return Some(Reason::new("lanes diverge here", self.flow.places[branch]));
        }
        let around = self.flow.loops_around(block).find(|&around| self.shapes.divergent_loops[around]);
        if let Some(around) = around {
            let header = self.flow.places[self.flow.header(around)];
            return Some(Reason::new("lanes exit this loop in different iterations", header));
        }
        let entry = self.world.cont(self.flow.blocks[0]).span;
        self.is_masked.then(|| Reason::new("only some lanes call this function", entry))
    }

    /// The closest divergent branch whose lanes do not all get to `block`.
    fn divergent_branch(&self, block: usize) -> Option<usize> {
        std::iter::successors(self.flow.doms.idom(block), |&at| self.flow.doms.idom(at))
            .find(|&at| self.shapes.diverges(self.flow, at) && !self.flow.post_doms.dominates(block, at))
    }

    /// The origin of a varying value.
    fn cause(&self, mut def: Def, mut block: usize) -> Reason {
        let mut seen = FxHashSet::default();
        while seen.insert(def) {
            let at = self.world.span_of(def);
            if let Some(exited) = self.shapes.exited_loop(self.flow, def, block) {
                let header = self.flow.places[self.flow.header(exited)];
                return Reason::new("lanes exit this loop in different iterations", header);
            }
            block = self.shapes.home(self.flow, def, block).unwrap_or(block);
            let next = match self.world.node(def) {
                Node::Param { .. } => match self.param_cause(def, block) {
                    Ok(because) => return because,
                    Err(next) => Some(next),
                },
                Node::Load { .. } => return Reason::new("each lane loads it from its own address", at),
                Node::Extract { agg, .. } if self.is_element_of_lanes(agg, block) => {
                    return Reason::new("each lane has its own element of a vector", at);
                }
                Node::Slot { .. } => return Reason::new("each lane has its own variable", at),
                _ => self.varying_operand(def, block).map(|operand| (operand, block)),
            };
            match next {
                Some((operand, from)) => (def, block) = (operand, from),
                None => return Reason::new("it varies", at),
            }
        }
        Reason::new("it varies in each iteration", self.world.span_of(def))
    }

    /// Whether lanes take elements of this simd value of the program.
    fn is_element_of_lanes(&self, agg: Def, block: usize) -> bool {
        let is_uniform = self.shapes.at(self.flow, agg, block) == Shape::Uniform;
        is_uniform && self.world.types.is_simd(self.world.ty(agg))
    }

    fn varying_operand(&self, def: Def, block: usize) -> Option<Def> {
        let mut first = None;
        self.world.for_each_operand(def, |operand| {
            let is_mem = self.world.ty(operand) == self.world.types.mem();
            let rank = |def: Def| self.shapes.at(self.flow, def, block) == Shape::Varying;
            let differs = !is_mem && self.shapes.at(self.flow, operand, block) != Shape::Uniform;
            if differs && first.is_none_or(|known| rank(operand) && !rank(known)) {
                first = Some(operand);
            }
        });
        first
    }

    /// Why a parameter varies, or a varying argument and the block that passes it.
    fn param_cause(&self, param: Def, block: usize) -> Result<Reason, (Def, usize)> {
        let at = self.world.span_of(param);
        if block == 0 {
            let what = match self.shapes.of(param) {
                Shape::Strided { .. } => "it is the lane index",
                _ => "the argument varies",
            };
            return Ok(Reason::new(what, at));
        }
        let index = self.params(block).iter().position(|&one| one == param).unwrap_or(0);
        for (from, end) in self.flow.ends.iter().enumerate() {
            match end {
                End::Call { callee, next: Some(next), .. } if *next == block => {
                    let name = self.world.cont(*callee).name;
                    let what = format!("`{name}` returns a different value in each lane");
                    return Ok(Reason::new(&what, self.flow.places[from]));
                }
                End::Jump { target, args } if *target == block => {
                    let arg = args[index];
                    if arg != param && self.shapes.at(self.flow, arg, from) != Shape::Uniform {
                        return Err((arg, from));
                    }
                }
                _ => {}
            }
        }
        let branch = std::iter::successors(self.flow.doms.idom(block), |&at| self.flow.doms.idom(at))
            .find(|&above| self.shapes.diverges(self.flow, above));
        let at = branch.map_or(at, |branch| self.flow.places[branch]);
        Ok(Reason::new("it depends on a divergent branch here", at))
    }
}
