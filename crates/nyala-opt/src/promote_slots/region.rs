//! Which slots can be promoted, and the region of each.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef as _, SecondaryMap};
use nyala_ir::analysis::references::for_each_mention;
use nyala_ir::analysis::schedule::taken_token;
use nyala_ir::{Cont, Def, Node, Ty, TyKind, World};
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::is_jump;
use crate::mentions::Mentions;

/// A slot that is promoted.
pub(super) struct Variable {
    /// The type of its value.
    pub ty: Ty,
    /// The name of its address.
    pub name: Option<Name>,
    /// The continuations that access it or lead to an access, without the one that creates it.
    pub region: FxHashSet<Cont>,
}

/// A part of a variable.
pub(super) struct Place {
    /// Its number.
    pub variable: usize,
    /// The indices from the outside in; literals.
    pub path: Vec<Def>,
}

/// All slots that are promoted.
pub(super) struct Variables {
    /// The variables by number.
    pub all: Vec<Variable>,
    /// The numbers of the slots.
    pub by_slot: FxHashMap<Def, usize>,
    /// The place of each address.
    pub places: FxHashMap<Def, Place>,
    /// The reachable continuations; dominators in the graph of mentions first.
    pub order: Vec<Cont>,
    /// How often bodies of reachable continuations mention this one directly.
    pub mentions: SecondaryMap<Cont, u32>,
    /// The effects on each continuation's own memory, in order.
    pub effects: SecondaryMap<Cont, Vec<Def>>,
    /// The parts of effects: index and node of each.
    pub parts: FxHashMap<Def, Vec<(u64, Def)>>,
    accesses: FxHashSet<Def>,
}

impl Variables {
    /// The slots of the program that can be promoted; none if there are none.
    pub fn find(world: &mut World) -> Option<Variables> {
        let program = Program::new(world)?;
        let may_return_twice = program.stores_functions;
        let mut found = vec![];
        for &slot in &program.slots {
            if let Some(candidate) = program.candidate(world, slot)
                && program.is_sound(world, &candidate, may_return_twice)
            {
                found.push(candidate);
            }
        }
        (!found.is_empty()).then(|| program.with(world, found))
    }

    /// The nodes that are replaced.
    pub fn replaced(&self) -> Vec<Def> {
        let parts = self.accesses.iter().filter_map(|access| self.parts.get(access));
        let parts = parts.flatten().map(|&(_, part)| part);
        self.accesses.iter().copied().chain(parts).collect()
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
    order: Vec<Cont>,
    slots: Vec<Def>,
    parts: FxHashMap<Def, Vec<(u64, Def)>>,
    /// The users of the address of a slot or of a part of one: operations, and continuations in their bodies.
    users: FxHashMap<Def, Vec<Def>>,
    effects: SecondaryMap<Cont, Vec<Def>>,
    /// The continuation that executes an effect.
    owner: SecondaryMap<Def, PackedOption<Cont>>,
    mentions: SecondaryMap<Cont, u32>,
    mentioners: SecondaryMap<Cont, Vec<Cont>>,
    /// Continuations that are mentioned by an operation or a filter.
    opaque: FxHashSet<Cont>,
    /// Whether a function that is made at run time is stored in memory.
    stores_functions: bool,
}

impl Program {
    /// None if there is no slot.
    fn new(world: &mut World) -> Option<Program> {
        if !world.defs().any(|def| matches!(world.node(def), Node::Slot { .. })) {
            return None;
        }
        let mentions = Mentions::new(world);
        let mut program = Program {
            // Each was found through an earlier one, so its dominators come before it.
            order: mentions.conts,
            slots: vec![],
            parts: FxHashMap::default(),
            users: FxHashMap::default(),
            effects: SecondaryMap::with_capacity(world.cont_count()),
            owner: SecondaryMap::with_capacity(world.node_count()),
            mentions: SecondaryMap::with_capacity(world.cont_count()),
            mentioners: SecondaryMap::with_capacity(world.cont_count()),
            opaque: FxHashSet::default(),
            stores_functions: false,
        };
        for &def in &mentions.operations {
            world.for_each_operand(def, |operand| program.opaque.extend(world.as_cont(operand)));
        }
        program.visit_operations(world);
        for cont in program.order.clone() {
            program.visit_cont(world, cont);
        }
        Some(program)
    }

    fn visit_operations(&mut self, world: &mut World) {
        let mut is_address: SecondaryMap<Def, bool> = SecondaryMap::with_capacity(world.node_count());
        let is_needed = needed(world, &self.order);
        // Operands have smaller numbers than their users.
        for def in world.defs().filter(|def| is_needed[def.index()]) {
            world.for_each_operand(def, |operand| {
                if is_address[operand] {
                    self.users.entry(operand).or_default().push(def);
                }
            });
            match world.node(def) {
                Node::Slot { .. } => self.slots.push(def),
                Node::Extract { agg, index } if is_effect(world, agg) => {
                    if let Some(index) = world.as_lit(index) {
                        self.parts.entry(agg).or_default().push((index, def));
                        is_address[def] = index == 1 && matches!(world.node(agg), Node::Slot { .. });
                    }
                }
                Node::Lea { ptr, .. } | Node::Bitcast(ptr) if is_address[ptr] => is_address[def] = true,
                Node::Store { value, .. } => {
                    let is_function = world.types.order(world.ty(value)) > 0;
                    self.stores_functions |= is_function && !world.is_constant(value);
                }
                _ => {}
            }
        }
        for &cont in &self.order {
            for_each_mention(world, world.cont_def(cont), |mentioned| {
                if is_address[mentioned] {
                    self.users.entry(mentioned).or_default().push(world.cont_def(cont));
                }
            });
        }
    }

    fn visit_cont(&mut self, world: &World, cont: Cont) {
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
        effects.iter().for_each(|&effect| self.owner[effect] = cont.into());
        self.effects[cont] = effects;
    }

    /// `slot`, if its address is only used to load and store, by effects whose order is known.
    fn candidate(&self, world: &World, slot: Def) -> Option<Candidate> {
        let creator = self.owner[slot].expand()?;
        let ty = slot_ty(world, slot);
        if !is_small(world, ty) {
            return None;
        }
        let addresses = self.parts.get(&slot)?.iter().filter(|&&(index, _)| index == 1);
        let mut work: Vec<(Def, Ty, Vec<Def>)> =
            addresses.map(|&(_, address)| (address, ty, vec![])).collect();
        let (mut places, mut accesses) = (vec![], vec![slot]);
        while let Some((address, ty, path)) = work.pop() {
            for &user in self.users.get(&address).into_iter().flatten() {
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

    /// The continuations that access a slot or lead to an access; none if one of them has a use other
    /// than a mention in a body.
    fn region(&self, creator: Cont, accesses: &[Def]) -> Option<FxHashSet<Cont>> {
        let mut region = FxHashSet::default();
        let mut work = vec![];
        for &access in accesses {
            work.push(self.owner[access].expand()?);
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
    /// its mention. See Note [Why promotion is correct].
    fn is_sound(&self, world: &mut World, candidate: &Candidate, may_return_twice: bool) -> bool {
        let region = &candidate.region;
        let is_member =
            |world: &World, def: Def| world.as_cont(def).is_some_and(|cont| region.contains(&cont));
        std::iter::once(&candidate.creator).chain(region).all(|&cont| {
            let Some(body) = world.cont(cont).body.clone() else { return true };
            let passed: Vec<Def> = body.args.iter().copied().filter(|&arg| is_member(world, arg)).collect();
            if is_jump(world, body.callee) || passed.is_empty() {
                return true;
            }
            !is_member(world, body.callee)
                && !may_return_twice
                && passed.len() == 1
                && world.types.order(world.ty(passed[0])) == 1
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

/// The nodes that the bodies and filters of `conts` need, by number.
fn needed(world: &World, conts: &[Cont]) -> Vec<bool> {
    let mut is_needed = vec![false; world.node_count()];
    for &cont in conts {
        for_each_mention(world, world.cont_def(cont), |mentioned| is_needed[mentioned.index()] = true);
    }
    // Users have larger numbers than their operands.
    for def in world.defs().rev() {
        if is_needed[def.index()] {
            world.for_each_operand(def, |operand| is_needed[operand.index()] = true);
        }
    }
    is_needed
}

/// Whether the parts of a node are the memory after it and a result.
fn is_effect(world: &World, def: Def) -> bool {
    matches!(world.node(def), Node::Slot { .. } | Node::Load { .. })
}

/// The type of the variable of a slot.
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

/// The most parts of a variable that is promoted. A larger one would be
/// copied as a whole wherever it is passed on.
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

/// The effects between the memory parameter of `cont` and `mem`, in order; none
/// if `mem` does not depend on it.
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
        at = taken_token(world, effect)?;
    }
    effects.reverse();
    Some(effects)
}
