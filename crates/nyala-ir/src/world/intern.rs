//! Interning: every operation exists once, found by content and type.
//!
//! The operands of a requested operation were requested just before it. So it is looked up among the users of its
//! newest operand, which were made at about the same time and are still in the cache. An entry in the hash table of
//! a large program would not be. Only operations without operands, and those after the first few users of an
//! operand with many, are in the table.

use std::hash::Hash;

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHasher;

use super::{World, for_each_operand};
use crate::node::{ArithFlags, Def, DefList, Node};
use crate::table;
use crate::types::Ty;

/// How many users of a node are listed with it.
const MAX_USERS: usize = 8;

/// Where an operation is to be found.
#[derive(Debug)]
pub(super) enum Place {
    /// Among the users of this node.
    User(Def),
    /// In the table, at this hash.
    Table(u32),
}

/// The operations that have a node as their latest operand: the newest of those listed, and for an operation the
/// one listed before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Users {
    newest: PackedOption<Def>,
    before: PackedOption<Def>,
}

impl World {
    /// The node with this content; an old one if there is one.
    pub(crate) fn intern(&mut self, node: Node, ty: Ty) -> Def {
        match self.find(node, ty) {
            Ok(def) => def,
            Err(place) => {
                let def = self.push_self(node, ty, self.span);
                self.put(def, place);
                def
            }
        }
    }

    /// The node with this content, or where to put it.
    pub(super) fn find(&self, node: Node, ty: Ty) -> Result<Def, Place> {
        let same = |def: Def| self.nodes[def].ty == ty && self.same(self.nodes[def].node, node);
        let mut latest = None;
        for_each_operand(&self.pool, node, |operand| latest = latest.max(Some(operand)));
        if let Some(latest) = latest {
            let mut n_users = 0;
            let mut next = self.nodes[latest].users.newest;
            while let Some(user) = next.expand() {
                if same(user) {
                    return Ok(user);
                }
                n_users += 1;
                next = self.nodes[user].users.before;
            }
            if n_users < MAX_USERS {
                return Err(Place::User(latest));
            }
        }
        let hash = hash_node(&self.pool, node, ty);
        self.interned.find(hash, same).ok_or(Place::Table(hash))
    }

    /// Lets `def` be found at `place`.
    pub(super) fn put(&mut self, def: Def, place: Place) {
        match place {
            Place::User(operand) => {
                self.nodes[def].users.before = self.nodes[operand].users.newest;
                self.nodes[operand].users.newest = def.into();
            }
            Place::Table(hash) => self.interned.insert(hash, def),
        }
    }

    /// As [`World::intern`], for a node with a list of operands.
    pub(super) fn intern_list(
        &mut self,
        operands: &[Def],
        ty: Ty,
        node: impl FnOnce(DefList) -> Node,
    ) -> Def {
        let start = self.pool.len();
        self.pool.extend_from_slice(operands);
        let list = DefList { start: start as u32, len: operands.len() as u32 };
        let before = self.nodes.len();
        let def = self.intern(node(list), ty);
        if self.nodes.len() == before {
            self.pool.truncate(start);
        }
        def
    }

    fn same(&self, a: Node, b: Node) -> bool {
        let lists = |a: DefList, b: DefList| self.list(a) == self.list(b);
        match (a, b) {
            (Node::Aggregate(a), Node::Aggregate(b)) => lists(a, b),
            (Node::Math { op, flags, args }, Node::Math { op: op2, flags: flags2, args: args2 }) => {
                op == op2 && flags == flags2 && lists(args, args2)
            }
            (Node::Lanes { op, args }, Node::Lanes { op: op2, args: args2 }) => {
                op == op2 && lists(args, args2)
            }
            (Node::Asm { asm, args }, Node::Asm { asm: asm2, args: args2 }) => {
                asm == asm2 && lists(args, args2)
            }
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b) && Key::of(a) == Key::of(b),
        }
    }
}

/// A node without a list of operands, as plain data to compare and hash.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    tag: std::mem::Discriminant<Node>,
    small: u32,
    a: u64,
    b: u32,
    c: u32,
}

impl Key {
    fn of(node: Node) -> Key {
        let flags = |flags: ArithFlags| u32::from(flags.wrap) | u32::from(flags.fast) << 1;
        let (small, a, b, c) = match node {
            Node::Lit(bits) => (0, bits, 0, 0),
            Node::Arith { op, flags: f, lhs, rhs } => {
                ((op as u32) << 2 | flags(f), id(lhs), id(rhs) as u32, 0)
            }
            Node::Cmp { op, lhs, rhs } => (op as u32, id(lhs), id(rhs) as u32, 0),
            Node::Math { op, flags: f, .. } => ((op as u32) << 2 | flags(f), 0, 0, 0),
            Node::Lanes { op, .. } => (op as u32, 0, 0, 0),
            Node::StoreLanes { mem, ptr, mask, value } => {
                (id(ptr) as u32, id(mem), id(mask) as u32, id(value) as u32)
            }
            Node::Variant { option, payload } => (option, id(payload), 0, 0),
            Node::VariantPayload { option, value } => (option, id(value), 0, 0),
            Node::SizeOf(ty) | Node::AlignOf(ty) => (0, ty.index() as u64, 0, 0),
            Node::Select { cond: x, then: y, other: z }
            | Node::Insert { agg: x, index: y, value: z }
            | Node::Store { mem: x, ptr: y, value: z }
            | Node::LoadLanes { mem: x, ptr: y, mask: z } => (0, id(x), id(y) as u32, id(z) as u32),
            Node::Extract { agg: x, index: y }
            | Node::Load { mem: x, ptr: y }
            | Node::Alloc { mem: x, count: y }
            | Node::Demand { mem: x, value: y }
            | Node::Lea { ptr: x, index: y } => (0, id(x), id(y) as u32, 0),
            Node::Cast(x)
            | Node::Bitcast(x)
            | Node::VariantTag(x)
            | Node::Known(x)
            | Node::Hide(x)
            | Node::Streaming(x)
            | Node::Slot { mem: x } => (0, id(x), 0, 0),
            Node::Mark { mark, callee } => (mark as u32, id(callee), 0, 0),
            Node::Asm { asm, .. } => (0, asm.index() as u64, 0, 0),
            Node::Cont(cont) => (0, cont.index() as u64, 0, 0),
            Node::Param { cont, index } => (index, cont.index() as u64, 0, 0),
            Node::Global(global) => (0, global.index() as u64, 0, 0),
            Node::Aggregate(_) | Node::Undef => (0, 0, 0, 0),
        };
        Key { tag: std::mem::discriminant(&node), small, a, b, c }
    }
}

fn id(def: Def) -> u64 {
    def.index() as u64
}

fn hash_node(pool: &[Def], node: Node, ty: Ty) -> u32 {
    // Neighbouring numbers are often requested in sequence, so they are stored side by side.
    if let Node::Lit(bits) = node {
        const LOW: u64 = 7;
        return table::table_hash(&(ty, bits & !LOW)) & !(LOW as u32) | (bits & LOW) as u32;
    }
    let mut hasher = FxHasher::default();
    ty.hash(&mut hasher);
    Key::of(node).hash(&mut hasher);
    if let Node::Aggregate(list)
    | Node::Math { args: list, .. }
    | Node::Lanes { args: list, .. }
    | Node::Asm { args: list, .. } = node
    {
        list.of(pool).hash(&mut hasher);
    }
    table::finish(hasher)
}
