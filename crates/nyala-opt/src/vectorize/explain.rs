//! What became of the values, accesses, branches, loops and calls of SIMD code, and why: for
//! people who want to know why a loop is slow.
//!
//! Nothing is decided here. [`facts`] reads what the analyses have found out about one SIMD
//! version of a function, before it is written. For what differs between lanes it looks for
//! the place where that begins: a load from different addresses, the number of the lane, ways
//! that lanes go apart.

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, LaneFunction, Linkage, Node};
use nyala_ir::{Ty, World};
use nyala_span::{Name, Span};
use rustc_hash::FxHashSet;

use super::calls;
use super::flow::{End, Flow};
use super::hints;
use super::lanewise;
use super::linearize::Plan;
use super::memory;
use super::runs;
use super::shapes::{Shape, Shapes, Wraps, data_params};
use super::wrapping::Path;
use super::{ActiveLanes, Instance, Refusal};

/// What became of a call of `vectorize`.
#[derive(Clone, Default, Debug)]
pub struct SiteFacts {
    /// The call.
    pub at: Span,
    /// How many lanes there are, if that is known.
    pub lanes: Option<u32>,
    /// Why it is not vectorised, and where that stands.
    pub refused: Option<Because>,
    /// Whether the last group of lanes may have fewer, and so has masks everywhere.
    pub has_tail: bool,
    /// What was made for it: the body first, then what it calls.
    pub functions: Vec<FunctionFacts>,
}

/// The SIMD version of a function.
#[derive(Clone, Debug)]
pub struct FunctionFacts {
    /// The function.
    pub name: Name,
    /// Where it stands.
    pub at: Span,
    /// Whether only some lanes may be there when it is called.
    pub is_masked: bool,
    /// In the order of the source.
    pub facts: Vec<Fact>,
}

/// What became of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// Where it stands.
    pub at: Span,
    /// What it is.
    pub subject: Subject,
    /// What became of it.
    pub form: Form,
    /// Whether only lanes of a mask do it, and why.
    pub mask: Option<Because>,
    /// Whether it is left out if no lane is there.
    pub is_guarded: bool,
    /// Whether an index may wrap around between lanes: then they go elsewhere, each for itself.
    pub may_wrap: bool,
    /// Why it is no better.
    pub because: Option<Because>,
}

/// What a fact is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A value with a name.
    Value(Name),
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Goes one of several ways.
    Branch,
    /// Goes round.
    Loop,
    /// Calls a function.
    Call(Name),
}

/// What became of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The same for all lanes; of branches and loops, that all lanes go the same way.
    Uniform,
    /// One more from lane to lane; of accesses, neighbours.
    Contiguous,
    /// Neighbours, the last lane first.
    Reversed,
    /// So much more from lane to lane; of pointers and accesses in bytes.
    Strided(i64),
    /// Of accesses: so many bytes from lane to lane, which is so little that all in between is
    /// accessed too.
    Shuffled(i64),
    /// Of accesses: neighbours in groups of so many lanes.
    Grouped(u32),
    /// Differs in any way; of accesses, a gather or scatter; of branches and loops, that lanes go
    /// different ways.
    Varying,
    /// A function that has a SIMD version.
    Simd,
    /// A function that is called for one lane after the other.
    EachLane,
    /// A hint that memory is needed, for each line of a cache.
    EachLine,
    /// A function by which lanes meet.
    Meeting,
}

/// Why something is as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Because {
    /// For people to read.
    pub what: String,
    /// Where that stands.
    pub at: Span,
}

impl Because {
    fn new(what: &str, at: Span) -> Because {
        Because { what: what.into(), at }
    }
}

impl From<&Refusal> for Because {
    fn from(refusal: &Refusal) -> Because {
        Because::new(&refusal.why, refusal.at)
    }
}

/// So many scalars from lane to lane at most, native code accesses all that lies between; with a mask, if that is
/// at most twice as much as is meant. Of several accesses to neighbours each is judged alone here.
const MAX_SHUFFLED: i64 = 4;

/// The size of the smallest scalar in values of a type.
fn smallest_scalar(world: &World, ty: Ty) -> Option<i64> {
    match lanewise::is_scalar(world, ty) {
        true => Some(world.layout(ty).size as i64),
        false => lanewise::parts(world, ty).into_iter().filter_map(|part| smallest_scalar(world, part)).min(),
    }
}

/// What became of a function; nothing for those that only the last group of lanes needs.
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

/// Each function once: the body first, and of functions that some lanes call and others all, what
/// became of them for all.
pub(super) fn without_doubles(mut all: Vec<FunctionFacts>) -> Vec<FunctionFacts> {
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
    fn block(&self, block: usize) -> Vec<Fact> {
        let mut facts = vec![];
        for param in data_params(self.world, self.flow.blocks[block]) {
            facts.extend(self.value(param, block));
        }
        for &def in self.flow.schedule.block(block) {
            facts.extend(self.value(def, block));
            facts.extend(self.access(def, block));
        }
        facts.extend(self.end(block));
        facts.extend(self.round(block));
        facts
    }

    fn fact(&self, at: Span, subject: Subject, form: Form) -> Fact {
        Fact { at, subject, form, mask: None, is_guarded: false, may_wrap: false, because: None }
    }

    /// A value that has a name.
    fn value(&self, def: Def, block: usize) -> Option<Fact> {
        let name = self.world.name(def)?;
        let ty = self.world.ty(def);
        if ty == self.world.types.mem() || has_effect(self.world, def) {
            return None;
        }
        let form = self.form(self.shapes.of(def), ty);
        let because = (form == Form::Varying).then(|| self.cause(def, block));
        let at = self.world.span_of(def);
        Some(Fact { because, ..self.fact(at, Subject::Value(name), form) })
    }

    /// The form of a value of type `ty`.
    fn form(&self, shape: Shape, ty: Ty) -> Form {
        let unit = match self.world.types.as_ptr(ty) {
            Some((pointee, _)) => self.world.layout(pointee).size as i64,
            None => 1,
        };
        match shape {
            Shape::Uniform => Form::Uniform,
            Shape::Strided { stride, .. } if stride == unit => Form::Contiguous,
            Shape::Strided { stride, .. } if stride == -unit => Form::Reversed,
            Shape::Strided { stride, .. } => Form::Strided(stride),
            Shape::Varying => Form::Varying,
        }
    }

    fn access(&self, def: Def, block: usize) -> Option<Fact> {
        let (subject, ptr) = match self.world.node(def) {
            Node::Load { ptr, .. } => (Subject::Load, ptr),
            Node::Store { ptr, .. } => (Subject::Store, ptr),
            _ => return None,
        };
        let shape = self.shapes.at(self.flow, ptr, block);
        let path = match shape {
            Shape::Varying => Path::new(self.world, self.flow, self.shapes, ptr, block),
            _ => None,
        };
        let shape = path.as_ref().map_or(shape, |path| Shape::strided(path.stride, Wraps::Never));
        let mask = if shape == Shape::Uniform { None } else { self.mask(block) };
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        let groups = pointee.and_then(|ty| {
            runs::of_access(self.world, (self.flow, self.shapes), (ptr, ty), block, mask.is_none())
        });
        let form = match groups {
            Some(lanes) => Form::Grouped(lanes),
            None => self.form_of_access(shape, ptr, mask.is_none()),
        };
        let because = (form == Form::Varying).then(|| self.cause(ptr, block));
        let fact = self.fact(self.world.span_of(def), subject, form);
        Some(Fact { mask, because, may_wrap: path.is_some(), is_guarded: self.is_guarded(block), ..fact })
    }

    /// The form of an access. Structs that are neighbours are accessed field by field.
    fn form_of_access(&self, shape: Shape, ptr: Def, is_full: bool) -> Form {
        let Shape::Strided { stride, .. } = shape else { return self.form(shape, self.world.ty(ptr)) };
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        let Some(smallest) = pointee.and_then(|ty| smallest_scalar(self.world, ty)) else {
            return Form::Strided(stride);
        };
        let n_scalars = pointee.map_or(1, |ty| memory::n_scalars(self.world, ty)) as i64;
        match stride.checked_div(smallest) {
            Some(1) => Form::Contiguous,
            Some(-1) => Form::Reversed,
            Some(steps)
                if (2..=MAX_SHUFFLED).contains(&steps.abs())
                    && stride % smallest == 0
                    && (is_full || 2 * n_scalars >= steps.abs()) =>
            {
                Form::Shuffled(stride)
            }
            _ => Form::Strided(stride),
        }
    }

    fn end(&self, block: usize) -> Option<Fact> {
        let at = self.flow.spans[block];
        let (subject, on) = match &self.flow.ends[block] {
            End::Branch { cond: on, .. } | End::Switch { value: on, .. } => (Subject::Branch, *on),
            End::Call { callee, .. } => {
                let data = self.world.cont(*callee);
                let form = match &data.linkage {
                    Linkage::Imported(name) if LaneFunction::from_name(name.as_str()).is_some() => {
                        Form::Meeting
                    }
                    _ if self.is_called_once(block) => Form::Uniform,
                    _ if data.body.is_some() => Form::Simd,
                    _ => self.form_of_hint(block).unwrap_or(Form::EachLane),
                };
                let fact = self.fact(at, Subject::Call(data.name), form);
                return Some(Fact { mask: self.mask(block), is_guarded: self.is_guarded(block), ..fact });
            }
            _ => return None,
        };
        let parts = self.shapes.parts(self.flow, block);
        let form = if parts { Form::Varying } else { Form::Uniform };
        let because = parts.then(|| self.cause(on, block));
        Some(Fact { because, ..self.fact(at, subject, form) })
    }

    /// Whether the call at the end of a block is one for all lanes.
    fn is_called_once(&self, block: usize) -> bool {
        let End::Call { callee, args, .. } = &self.flow.ends[block] else { return false };
        let shape = |&arg: &Def| self.shapes.at(self.flow, arg, block);
        calls::is_called_once(self.flow, *callee, args.iter().map(shape))
    }

    /// How the call at the end of a block becomes a hint for several lanes, if it does.
    fn form_of_hint(&self, block: usize) -> Option<Form> {
        let End::Call { callee, args, .. } = &self.flow.ends[block] else { return None };
        let shapes = args.iter().map(|&arg| self.shapes.at(self.flow, arg, block));
        let distances = hints::distances(self.world, *callee, shapes, self.shapes.n_lanes())?;
        Some(if distances.len() == 1 { Form::Uniform } else { Form::EachLine })
    }

    /// The loop that begins at a block.
    fn round(&self, block: usize) -> Option<Fact> {
        let inner = self.flow.loop_of_header(block)?;
        let is_divergent = self.shapes.divergent_loops[inner];
        let form = if is_divergent { Form::Varying } else { Form::Uniform };
        let leaves = |&vertex: &usize| {
            let is_block = vertex < self.flow.blocks.len();
            is_block && self.shapes.parts(self.flow, vertex)
        };
        let because = self.flow.vertices_of(inner).iter().copied().find(leaves).filter(|_| is_divergent);
        let because = because
            .map(|vertex| Because::new("lanes leave it in different rounds, here", self.flow.spans[vertex]));
        Some(Fact { because, ..self.fact(self.flow.spans[block], Subject::Loop, form) })
    }

    fn is_guarded(&self, block: usize) -> bool {
        let dominators = std::iter::successors(Some(block), |&at| self.flow.doms.idom(at));
        let mut same = dominators.take_while(|&at| at == block || self.flow.post_doms.dominates(block, at));
        same.any(|at| self.plan.skip[at].is_some())
    }

    /// Why only some lanes are at a block; none if all are.
    fn mask(&self, block: usize) -> Option<Because> {
        if let Some(branch) = self.parting(block) {
            return Some(Because::new("lanes part here", self.flow.spans[branch]));
        }
        let around = self.flow.loops_around(block).find(|&around| self.shapes.divergent_loops[around]);
        if let Some(around) = around {
            let header = self.flow.spans[self.flow.header(around)];
            return Some(Because::new("lanes leave this loop in different rounds", header));
        }
        let entry = self.world.cont(self.flow.blocks[0]).span;
        self.is_masked.then(|| Because::new("not all lanes call this function", entry))
    }

    /// The closest branch whose lanes do not all get to a block.
    fn parting(&self, block: usize) -> Option<usize> {
        std::iter::successors(self.flow.doms.idom(block), |&at| self.flow.doms.idom(at))
            .find(|&at| self.shapes.parts(self.flow, at) && !self.flow.post_doms.dominates(block, at))
    }

    /// Where the difference between the lanes' values of `def` begins.
    fn cause(&self, mut def: Def, mut block: usize) -> Because {
        let mut seen = FxHashSet::default();
        while seen.insert(def) {
            let at = self.world.span_of(def);
            if let Some(left) = self.shapes.left_loop(self.flow, def, block) {
                let header = self.flow.spans[self.flow.header(left)];
                return Because::new("it comes from different rounds of this loop", header);
            }
            block = self.shapes.home(self.flow, def, block).unwrap_or(block);
            let next = match self.world.node(def) {
                Node::Param { .. } => match self.param_cause(def, block) {
                    Ok(because) => return because,
                    Err(next) => Some(next),
                },
                Node::Load { .. } => return Because::new("it is loaded from different addresses", at),
                Node::Slot { .. } => return Because::new("each lane has a variable of its own", at),
                _ => self.differing_operand(def, block).map(|operand| (operand, block)),
            };
            match next {
                Some((operand, from)) => (def, block) = (operand, from),
                None => return Because::new("it differs between lanes", at),
            }
        }
        Because::new("it changes from round to round in different ways", self.world.span_of(def))
    }

    fn differing_operand(&self, def: Def, block: usize) -> Option<Def> {
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

    /// Why a parameter differs, or what is handed over that does, and where.
    fn param_cause(&self, param: Def, block: usize) -> Result<Because, (Def, usize)> {
        let at = self.world.span_of(param);
        let params = data_params(self.world, self.flow.blocks[block]);
        if block == 0 {
            let what = match self.shapes.of(param) {
                Shape::Strided { .. } => "it counts the lanes",
                _ => "it is handed over, and differs between lanes",
            };
            return Ok(Because::new(what, at));
        }
        let index = params.iter().position(|&one| one == param).unwrap_or(0);
        for (from, end) in self.flow.ends.iter().enumerate() {
            match end {
                End::Call { callee, next: Some(next), .. } if *next == block => {
                    let name = self.world.cont(*callee).name;
                    let what = format!("`{name}` gives each lane a value of its own");
                    return Ok(Because::new(&what, self.flow.spans[from]));
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
            .find(|&above| self.shapes.parts(self.flow, above));
        let at = branch.map_or(at, |branch| self.flow.spans[branch]);
        Ok(Because::new("lanes get it on different ways, which part here", at))
    }
}
