//! Removes unreachable nodes, in place.
//!
//! The remaining nodes are renumbered in the old order: operands stay before users, and normal
//! forms stay normal. No node is rebuilt, so the cost is that of the reachability search.

use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};

use super::intern::Users;
use super::{NodeData, World, for_each_operand_mut};
use crate::free::Free;
use crate::node::{Cont, Def, DefList, Global, Linkage, Node};
use crate::table::Table;

/// The new ids of the remaining nodes.
struct Renumbering {
    defs: Numbers<Def>,
    conts: Numbers<Cont>,
    globals: Numbers<Global>,
}

/// The new ids of one kind.
struct Numbers<Id: EntityRef + ReservedValue>(SecondaryMap<Id, PackedOption<Id>>);

impl<Id: EntityRef + ReservedValue> Numbers<Id> {
    /// Numbers those of `all` that are marked.
    fn new(mut marks: SecondaryMap<Id, PackedOption<Id>>, all: impl Iterator<Item = Id>) -> Numbers<Id> {
        let mut next = 0;
        for id in all {
            if marks[id].is_some() {
                marks[id] = Id::new(next).into();
                next += 1;
            }
        }
        Numbers(marks)
    }

    fn keeps(&self, id: Id) -> bool {
        self.0[id].is_some()
    }

    /// The new number of one that stays.
    fn of(&self, id: Id) -> Id {
        self.0[id].expect("what is reachable is numbered")
    }

    fn renumber(&self, id: &mut Id) {
        *id = self.of(*id);
    }
}

impl World {
    /// Removes nodes that neither exported continuations nor exported globals reach.
    ///
    /// All ids change: who keeps some from before must not use them any more.
    pub fn compact(&mut self) {
        let numbers = self.reachable_numbers();
        self.compact_nodes(&numbers);
        self.compact_conts(&numbers);
        let globals = std::mem::take(&mut self.globals);
        for (_, mut data) in globals.into_iter().filter(|&(global, _)| numbers.globals.keeps(global)) {
            numbers.defs.renumber(&mut data.def);
            data.init.iter_mut().for_each(|init| numbers.defs.renumber(init));
            self.globals.push(data);
        }
        let kept = |def: Def| numbers.defs.0[def].expand();
        self.branch = self.branch.and_then(kept);
        self.unreachable = self.unreachable.and_then(kept);
        self.switches = self.switches.drain().filter_map(|(key, def)| Some((key, kept(def)?))).collect();
        let constants = self.constants.drain();
        self.constants =
            constants.filter_map(|(value, global)| Some((kept(value)?, kept(global)?))).collect();
        let depths = self.insert_depths.drain();
        self.insert_depths = depths.filter_map(|(def, depth)| Some((kept(def)?, depth))).collect();
        *self.free.get_mut() = Free::new();
    }

    fn reachable_numbers(&self) -> Renumbering {
        let mut defs: SecondaryMap<Def, PackedOption<Def>> = SecondaryMap::with_capacity(self.nodes.len());
        let (mut conts, mut globals) = (SecondaryMap::new(), SecondaryMap::new());
        let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
        let roots = self.conts.values().filter(|data| is_exported(&data.linkage)).map(|data| data.def);
        let variables = self.globals.values().filter(|data| is_exported(&data.linkage));
        let mut stack: Vec<Def> = roots.chain(variables.map(|data| data.def)).collect();
        while let Some(def) = stack.pop() {
            if defs[def].is_some() {
                continue;
            }
            defs[def] = def.into();
            match self.node(def) {
                Node::Cont(cont) => {
                    conts[cont] = cont.into();
                    let data = &self.conts[cont];
                    stack.extend(data.params.iter().chain(&data.filter));
                    stack.extend(data.body.iter().flat_map(|body| body.args.iter().chain([&body.callee])));
                }
                Node::Global(global) => {
                    globals[global] = global.into();
                    stack.extend(self.globals[global].init);
                }
                // Parameters are renumbered with their continuation.
                Node::Param { cont, .. } => stack.push(self.conts[cont].def),
                _ => self.for_each_operand(def, |operand| {
                    if defs[operand].is_none() {
                        stack.push(operand);
                    }
                }),
            }
        }
        Renumbering {
            defs: Numbers::new(defs, self.nodes.keys()),
            conts: Numbers::new(conts, self.conts.keys()),
            globals: Numbers::new(globals, self.globals.keys()),
        }
    }

    /// Moves each remaining node to its new index, which is never larger than the old one.
    fn compact_nodes(&mut self, numbers: &Renumbering) {
        let old_pool = std::mem::take(&mut self.pool);
        self.interned = Table::new();
        self.containers = EntitySet::new();
        self.made_of_constants = EntitySet::new();
        let mut len = 0;
        for old in self.nodes.keys().filter(|&def| numbers.defs.keeps(def)) {
            let new = numbers.defs.of(old);
            len = new.index() + 1;
            let mut data = NodeData { users: Users::default(), ..self.nodes[old] };
            let mut place = None;
            match &mut data.node {
                Node::Cont(cont) | Node::Param { cont, .. } => numbers.conts.renumber(cont),
                Node::Global(global) => numbers.globals.renumber(global),
                node => {
                    if let Some(list) = for_each_operand_mut(node, |operand| numbers.defs.renumber(operand)) {
                        let start = self.pool.len() as u32;
                        self.pool.extend(list.of(&old_pool).iter().map(|&operand| numbers.defs.of(operand)));
                        *list = DefList { start, ..*list };
                    }
                    place = self.find(*node, data.ty).err();
                }
            }
            self.nodes[new] = data;
            self.classify(new);
            if let Some(place) = place {
                self.put(new, place);
            }
        }
        let mut nodes: Vec<NodeData> = std::mem::take(&mut self.nodes).into();
        nodes.truncate(len);
        nodes.shrink_to_fit();
        self.nodes = nodes.into();
    }

    fn compact_conts(&mut self, numbers: &Renumbering) {
        let conts = std::mem::take(&mut self.conts);
        for (_, mut data) in conts.into_iter().filter(|&(cont, _)| numbers.conts.keeps(cont)) {
            let body = data.body.iter_mut().flat_map(|body| body.args.iter_mut().chain([&mut body.callee]));
            let lists = data.params.iter_mut().chain(&mut data.filter).chain(body);
            lists.chain([&mut data.def]).for_each(|def| numbers.defs.renumber(def));
            self.conts.push(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::node::{ArithFlags, ArithOp};
    use crate::{text, verify};

    #[test]
    fn compaction_keeps_meaning_and_hash_consing() {
        let source = "\
export main(mem: mem, x: i32, ret: cn(mem, i32)):
    f(mem, mul(x, 7))
f(mem: mem, y: i32):
    main.ret(mem, add(y, main.x))
dead(mem: mem, z: i32, ret: cn(mem, i32)):
    ret(mem, add(z, 5))
";
        let mut world = text::parse(source).expect("the program is well-formed");
        world.set_folding(true);
        let before = text::print(&world);
        let (n_nodes, n_conts) = (world.node_count(), world.cont_count());
        world.compact();
        assert_eq!(text::print(&world), before);
        verify(&world).expect("what is left is well-formed");
        assert!(world.node_count() < n_nodes && world.cont_count() == n_conts - 1);
        let n_nodes = world.node_count();
        let main = world.conts().next().expect("`main` is left").0;
        let seven = world.lit_i32(7);
        world.arith(ArithOp::Mul, ArithFlags::STRICT, world.param(main, 1), seven);
        assert_eq!(world.node_count(), n_nodes, "the product is there already");
    }
}
