//! Which slots can be promoted, and which continuations are concerned.

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::references::is_operation;
use nyala_ir::analysis::{DomTree, References};
use nyala_ir::{Cont, Def, Node, Ty, TyKind, World};
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::is_jump;

/// A slot that is promoted.
pub(super) struct Variable {
    /// The type of its value.
    pub ty: Ty,
    /// What its address is called.
    pub name: Option<Name>,
    /// Who accesses it or leads there, without who creates it.
    pub region: FxHashSet<Cont>,
}

/// A part of a variable.
pub(super) struct Place {
    /// Its number.
    pub variable: usize,
    /// Which part of which part; literals.
    pub path: Vec<Def>,
}

/// All slots that are promoted.
pub(super) struct Variables {
    /// By their numbers.
    pub all: Vec<Variable>,
    /// The numbers of the slots.
    pub by_slot: FxHashMap<Def, usize>,
    /// What each address in one of them means.
    pub places: FxHashMap<Def, Place>,
    /// The reachable continuations; dominators in the graph of mentions first.
    pub order: Vec<Cont>,
    /// How often the body of a reachable continuation mentions this one by itself.
    pub mentions: SecondaryMap<Cont, u32>,
    /// The effects on each continuation's own memory, in order.
    pub effects: SecondaryMap<Cont, Vec<Def>>,
    /// How effects are taken apart: number and node of each part.
    pub parts: FxHashMap<Def, Vec<(u64, Def)>>,
    accesses: FxHashSet<Def>,
}

impl Variables {
    /// Looks at all slots of the program.
    pub fn find(world: &mut World) -> Variables {
        let program = Program::new(world);
        let may_return_twice = program.stores_functions(world);
        let mut found = vec![];
        for &slot in &program.slots {
            if let Some(candidate) = program.candidate(world, slot)
                && program.is_sound(world, &candidate, may_return_twice)
            {
                found.push(candidate);
            }
        }
        program.with(world, found)
    }

    /// Whether an effect creates or accesses a promoted slot.
    pub fn is_promoted(&self, effect: &Def) -> bool {
        self.accesses.contains(effect)
    }
}

/// A slot whose address is only used to load and store.
struct Candidate {
    slot: Def,
    creator: Cont,
    places: Vec<(Def, Vec<Def>)>,
    accesses: Vec<Def>,
    region: FxHashSet<Cont>,
}

/// Facts about the whole program.
struct Program {
    refs: References,
    order: Vec<Cont>,
    slots: Vec<Def>,
    parts: FxHashMap<Def, Vec<(u64, Def)>>,
    effects: SecondaryMap<Cont, Vec<Def>>,
    /// Whose effect it is.
    owner: FxHashMap<Def, Cont>,
    mentions: SecondaryMap<Cont, u32>,
    mentioners: SecondaryMap<Cont, Vec<Cont>>,
    /// Continuations that are mentioned by an operation or a filter.
    opaque: FxHashSet<Cont>,
}

impl Program {
    fn new(world: &World) -> Program {
        let refs = References::of_program(world);
        let doms = DomTree::new(refs.graph(), refs.root());
        let cont_at = |&vertex: &usize| refs.nodes().get(vertex).and_then(|&def| world.as_cont(def));
        let order: Vec<Cont> = doms.preorder().iter().filter_map(cont_at).collect();
        let mut program = Program {
            refs,
            order,
            slots: vec![],
            parts: FxHashMap::default(),
            effects: SecondaryMap::new(),
            owner: FxHashMap::default(),
            mentions: SecondaryMap::new(),
            mentioners: SecondaryMap::new(),
            opaque: FxHashSet::default(),
        };
        program.look_at_operations(world);
        for cont in program.order.clone() {
            program.look_at_cont(world, cont);
        }
        program
    }

    fn look_at_operations(&mut self, world: &World) {
        for &def in self.refs.nodes() {
            match world.node(def) {
                Node::Slot { .. } => self.slots.push(def),
                Node::Extract { agg, index } => {
                    if let Some(index) = world.as_lit(index) {
                        self.parts.entry(agg).or_default().push((index, def));
                    }
                }
                _ => {}
            }
            if is_operation(world, def) {
                world.for_each_operand(def, |operand| self.opaque.extend(world.as_cont(operand)));
            }
        }
    }

    fn look_at_cont(&mut self, world: &World, cont: Cont) {
        let data = world.cont(cont);
        self.opaque.extend(data.filter.iter().filter_map(|&filter| world.as_cont(filter)));
        let Some(body) = &data.body else { return };
        for mentioned in std::iter::once(body.callee).chain(body.args.iter().copied()) {
            if let Some(mentioned) = world.as_cont(mentioned) {
                self.mentions[mentioned] += 1;
                self.mentioners[mentioned].push(cont);
            }
        }
        let mem = body.args.iter().copied().find(|&arg| world.ty(arg) == world.types.mem());
        let effects = mem.and_then(|mem| effects_before(world, cont, mem)).unwrap_or_default();
        self.owner.extend(effects.iter().map(|&effect| (effect, cont)));
        self.effects[cont] = effects;
    }

    /// Whether a function that is made while the program runs is ever put into memory.
    fn stores_functions(&self, world: &mut World) -> bool {
        self.refs.nodes().iter().any(|&def| match world.node(def) {
            Node::Store { value, .. } => world.types.order(world.ty(value)) > 0 && !world.is_constant(value),
            _ => false,
        })
    }

    /// `slot`, if its address is only used to load and store, by effects whose order is known.
    fn candidate(&self, world: &World, slot: Def) -> Option<Candidate> {
        let creator = *self.owner.get(&slot)?;
        let ty = slot_ty(world, slot);
        if !is_small(world, ty) {
            return None;
        }
        let addresses = self.parts.get(&slot)?.iter().filter(|&&(index, _)| index == 1);
        let mut work: Vec<(Def, Ty, Vec<Def>)> =
            addresses.map(|&(_, address)| (address, ty, vec![])).collect();
        let (mut places, mut accesses) = (vec![], vec![slot]);
        while let Some((address, ty, path)) = work.pop() {
            let vertex = self.refs.index(address)?;
            for user in self.refs.graph().preds(vertex) {
                let user = *self.refs.nodes().get(user)?;
                match world.node(user) {
                    Node::Load { ptr, .. } if ptr == address => accesses.push(user),
                    Node::Store { ptr, value, .. } if ptr == address && value != address => {
                        accesses.push(user)
                    }
                    Node::Lea { ptr, index } if ptr == address && index != address => {
                        let part = world.types.part(ty, u64::try_from(world.as_int(index)?).ok()?)?;
                        work.push((user, part, path.iter().copied().chain([index]).collect()));
                    }
                    Node::Bitcast(_) if is_slice_of(world, user, ty) => work.push((user, ty, path.clone())),
                    _ => return None,
                }
            }
            places.push((address, path));
        }
        let region = self.region(creator, &accesses)?;
        Some(Candidate { slot, creator, places, accesses, region })
    }

    /// Who accesses a slot or leads there; none if one of them can be got at in
    /// another way than by a mention in a body.
    fn region(&self, creator: Cont, accesses: &[Def]) -> Option<FxHashSet<Cont>> {
        let mut region = FxHashSet::default();
        let mut work = vec![];
        for access in accesses {
            work.push(*self.owner.get(access)?);
        }
        while let Some(cont) = work.pop() {
            if cont == creator || !region.insert(cont) {
                continue;
            }
            if self.opaque.contains(&cont) || self.mentioners[cont].is_empty() {
                return None;
            }
            work.extend(&self.mentioners[cont]);
        }
        Some(region)
    }

    /// Whether every member of the region gets the value that the variable has at
    /// its mention; see the module's documentation.
    fn is_sound(&self, world: &mut World, candidate: &Candidate, may_return_twice: bool) -> bool {
        let region = &candidate.region;
        let is_member =
            |world: &World, def: Def| world.as_cont(def).is_some_and(|cont| region.contains(&cont));
        std::iter::once(&candidate.creator).chain(region).all(|&cont| {
            let Some(body) = world.cont(cont).body.clone() else { return true };
            let handed: Vec<Def> = body.args.iter().copied().filter(|&arg| is_member(world, arg)).collect();
            if is_jump(world, body.callee) || handed.is_empty() {
                return true;
            }
            !is_member(world, body.callee)
                && !may_return_twice
                && handed.len() == 1
                && world.types.order(world.ty(handed[0])) == 1
        })
    }

    fn with(self, world: &World, candidates: Vec<Candidate>) -> Variables {
        let mut variables = Variables {
            all: vec![],
            by_slot: FxHashMap::default(),
            places: FxHashMap::default(),
            order: self.order,
            mentions: self.mentions,
            effects: self.effects,
            parts: self.parts,
            accesses: FxHashSet::default(),
        };
        for (number, candidate) in candidates.into_iter().enumerate() {
            let ty = slot_ty(world, candidate.slot);
            let name = candidate.places.first().and_then(|&(address, _)| world.name(address));
            variables.all.push(Variable { ty, name, region: candidate.region });
            variables.by_slot.insert(candidate.slot, number);
            variables.accesses.extend(candidate.accesses);
            for (address, path) in candidate.places {
                variables.places.insert(address, Place { variable: number, path });
            }
        }
        variables
    }
}

/// The type of what a slot holds.
fn slot_ty(world: &World, slot: Def) -> Ty {
    let address = world.types.part(world.ty(slot), 1);
    address.and_then(|ty| world.types.as_ptr(ty)).expect("a slot gives a pointer").0
}

/// Whether `ptr` is a `&[T]` to an array `[T * n]`: the same places, by the same indices.
fn is_slice_of(world: &World, ptr: Def, array: Ty) -> bool {
    let pointee = world.types.as_ptr(world.ty(ptr)).map(|(pointee, _)| world.types.kind(pointee));
    match (pointee, world.types.kind(array)) {
        (Some(TyKind::Slice(elem)), TyKind::Array { elem: array_elem, .. }) => elem == array_elem,
        _ => false,
    }
}

/// How many parts a variable may have to become a value. A larger one would be
/// copied as a whole wherever it is handed on.
const MAX_PARTS: u64 = 256;

fn is_small(world: &World, ty: Ty) -> bool {
    let mut n_parts = 0u64;
    let mut work = vec![(ty, 1u64)];
    while let Some((ty, times)) = work.pop() {
        n_parts = times.saturating_add(n_parts);
        if n_parts > MAX_PARTS {
            return false;
        }
        match *world.types.kind(ty) {
            TyKind::Array { elem, len } if len > 0 => work.push((elem, times.saturating_mul(len))),
            TyKind::Tuple(_) | TyKind::Struct(_) => {
                let count = world.types.part_count(ty).unwrap_or(0);
                work.extend(
                    (0..count).filter_map(|index| world.types.part(ty, index)).map(|part| (part, times)),
                );
            }
            _ => {}
        }
    }
    true
}

/// The effects between the memory that `cont` is given and `mem`, in order; none
/// if `mem` does not come from there.
fn effects_before(world: &World, cont: Cont, mem: Def) -> Option<Vec<Def>> {
    let mut effects = vec![];
    let mut at = mem;
    loop {
        let effect = match world.node(at) {
            Node::Param { cont: owner, .. } => break (owner == cont).then_some(())?,
            Node::Extract { agg, .. } => agg,
            _ => at,
        };
        effects.push(effect);
        at = match world.node(effect) {
            Node::Load { mem, .. }
            | Node::Store { mem, .. }
            | Node::LoadLanes { mem, .. }
            | Node::StoreLanes { mem, .. }
            | Node::Slot { mem }
            | Node::Alloc { mem, .. } => mem,
            Node::Asm { args, .. } => *world.list(args).first()?,
            _ => return None,
        };
    }
    effects.reverse();
    Some(effects)
}
