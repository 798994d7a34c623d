//! The program graph: every node of a program, stored once.
//!
//! A [`World`] owns all nodes. Asking it for a node that already exists returns
//! the old [`Def`], and asking for one that simplifies returns what it
//! simplifies to. So two nodes are equal exactly when their ids are equal.
//!
//! # Invariants
//!
//! * Operands exist before the node that uses them; only a continuation's body
//!   and filter and a global's value are set later.
//! * Nodes of continuations, parameters and globals are unique; all others are
//!   interned by content and type.
//! * No node in the table matches a rule in `fold`, unless it was
//!   built without folding; a rule builds nodes through the factories.
//! * Nothing depends on the order of a hash table: ids are given in the order of
//!   construction.
//!
//! # Where to look next
//!
//! [`node`](crate::node) defines the nodes, `fold` the
//! rules, [`eval`](crate::eval) the meaning of operators, and
//! [`free`](crate::free) the free variables.

mod build;
mod compact;
mod conts;
mod intern;

use std::cell::RefCell;

use cranelift_entity::{EntitySet, PrimaryMap};
use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use self::intern::Users;
use crate::free::Free;
use crate::node::{
    AsmData, AsmId, Cont, ContData, Def, DefList, Global, GlobalData, Intrinsic, Linkage, Node,
};
use crate::origin::Origins;
use crate::table::Table;
use crate::types::{Ty, TyKind, Types};

/// All nodes of one program.
#[derive(Clone)]
pub struct World {
    /// The types.
    pub types: Types,
    /// The span of the next nodes.
    pub span: Span,
    /// Annotations of functions in the source.
    pub origins: Origins,
    nodes: PrimaryMap<Def, NodeData>,
    /// The nodes that are or contain continuations.
    containers: EntitySet<Def>,
    /// The nodes that are made of constants and continuations only.
    made_of_constants: EntitySet<Def>,
    pool: Vec<Def>,
    /// The operations that are not listed with an operand: see `intern`.
    interned: Table<Def>,
    conts: PrimaryMap<Cont, ContData>,
    globals: PrimaryMap<Global, GlobalData>,
    constants: FxHashMap<Def, Def>,
    asms: PrimaryMap<AsmId, AsmData>,
    branch: Option<Def>,
    unreachable: Option<Def>,
    switches: FxHashMap<(Ty, usize), Def>,
    folding: bool,
    /// How many `insert`s a large aggregate is away from being written out.
    insert_depths: FxHashMap<Def, u32>,
    /// A cache that queries fill, so in a cell.
    pub(crate) free: RefCell<Free>,
}

#[derive(Clone, Copy)]
struct NodeData {
    node: Node,
    ty: Ty,
    span: Span,
    name: Option<Name>,
    users: Users,
}

impl NodeData {
    fn new(node: Node, ty: Ty, span: Span) -> NodeData {
        NodeData { node, ty, span, name: None, users: Users::default() }
    }
}

impl Default for World {
    fn default() -> World {
        World::new()
    }
}

// ---- Reading ----------------------------------------------------------------

impl World {
    /// The empty program.
    pub fn new() -> World {
        World {
            types: Types::new(),
            span: Span::NONE,
            origins: Origins::default(),
            nodes: PrimaryMap::new(),
            containers: EntitySet::new(),
            made_of_constants: EntitySet::new(),
            pool: vec![],
            interned: Table::new(),
            conts: PrimaryMap::new(),
            globals: PrimaryMap::new(),
            constants: FxHashMap::default(),
            asms: PrimaryMap::new(),
            branch: None,
            unreachable: None,
            switches: FxHashMap::default(),
            folding: true,
            insert_depths: FxHashMap::default(),
            free: RefCell::new(Free::new()),
        }
    }

    /// The empty program with the types, the inline assembly and the origins of `other`, so
    /// that a type means the same in both.
    pub fn with_types_of(other: &World) -> World {
        let (types, asms, origins) = (other.types.clone(), other.asms.clone(), other.origins.clone());
        World { types, asms, origins, ..World::new() }
    }

    /// Whether factories simplify. Without folding they build exactly the requested node,
    /// as the parser of the text form needs it.
    pub fn set_folding(&mut self, folding: bool) {
        self.folding = folding;
    }

    /// The name of a parameter or operation in the text form. Continuations
    /// and globals have their names in their data.
    pub fn name(&self, def: Def) -> Option<Name> {
        self.nodes[def].name
    }

    /// Names a parameter or operation, for readability; names may repeat.
    pub fn set_name(&mut self, def: Def, name: impl Into<Name>) {
        self.nodes[def].name = Some(name.into());
    }

    /// The node of `def`.
    #[inline]
    pub fn node(&self, def: Def) -> Node {
        self.nodes[def].node
    }

    /// The type of `def`.
    #[inline]
    pub fn ty(&self, def: Def) -> Ty {
        self.nodes[def].ty
    }

    /// The span of `def`.
    #[inline]
    pub fn span_of(&self, def: Def) -> Span {
        self.nodes[def].span
    }

    /// All nodes, dead ones included; operands before their users.
    pub fn defs(&self) -> impl DoubleEndedIterator<Item = Def> + use<> {
        self.nodes.keys()
    }

    /// Whether `def` is a continuation or has one among its operands, or their operands. Most nodes are data
    /// and lead to no continuation: searches for continuations can skip them.
    #[inline]
    pub fn contains_conts(&self, def: Def) -> bool {
        self.containers.contains(def)
    }

    /// Whether `def` has no other leaves than literals, the addresses of globals, and continuations, and no operation
    /// that could be executed.
    #[inline]
    pub fn is_made_of_constants(&self, def: Def) -> bool {
        self.made_of_constants.contains(def)
    }

    /// How many nodes there are, dead ones included.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many continuations there are.
    pub fn cont_count(&self) -> usize {
        self.conts.len()
    }

    /// How many operands of nodes with lists of them there are.
    #[cfg(test)]
    pub(crate) fn pool_len(&self) -> usize {
        self.pool.len()
    }

    /// The nodes of a list.
    #[inline]
    pub fn list(&self, list: DefList) -> &[Def] {
        list.of(&self.pool)
    }

    /// All continuations, dead ones included, in the order they were made.
    pub fn conts(&self) -> impl Iterator<Item = (Cont, &ContData)> {
        self.conts.iter()
    }

    /// A continuation.
    #[inline]
    pub fn cont(&self, cont: Cont) -> &ContData {
        &self.conts[cont]
    }

    /// The node of a continuation.
    #[inline]
    pub fn cont_def(&self, cont: Cont) -> Def {
        self.conts[cont].def
    }

    /// The continuation that `def` is.
    #[inline]
    pub fn as_cont(&self, def: Def) -> Option<Cont> {
        match self.node(def) {
            Node::Cont(cont) => Some(cont),
            _ => None,
        }
    }

    /// The intrinsic that `def` is.
    #[inline]
    pub fn as_intrinsic(&self, def: Def) -> Option<Intrinsic> {
        match self.cont(self.as_cont(def)?).linkage {
            Linkage::Intrinsic(intrinsic) => Some(intrinsic),
            _ => None,
        }
    }

    /// Parameter `index` of `cont`.
    #[inline]
    pub fn param(&self, cont: Cont, index: usize) -> Def {
        self.conts[cont].params[index]
    }

    /// All globals, in the order they were made.
    pub fn globals(&self) -> impl Iterator<Item = (Global, &GlobalData)> {
        self.globals.iter()
    }

    /// A global.
    #[inline]
    pub fn global(&self, global: Global) -> &GlobalData {
        &self.globals[global]
    }

    /// Inline assembly.
    pub fn asm_data(&self, asm: AsmId) -> &AsmData {
        &self.asms[asm]
    }

    /// The bits of a literal.
    #[inline]
    pub fn as_lit(&self, def: Def) -> Option<u64> {
        match self.node(def) {
            Node::Lit(bits) => Some(bits),
            _ => None,
        }
    }

    /// The primitive type and value of an integer literal.
    pub fn as_int(&self, def: Def) -> Option<i64> {
        let prim = self.types.as_prim(self.ty(def))?;
        self.as_lit(def).map(|bits| prim.sign_extend(bits))
    }

    /// Calls `each` with every operand of `def`, in order. A continuation's body
    /// and a global's value are not operands.
    #[inline]
    pub fn for_each_operand(&self, def: Def, each: impl FnMut(Def)) {
        for_each_operand(&self.pool, self.node(def), each);
    }

    /// How many `insert`s into a large aggregate `def` is the last of.
    pub(crate) fn insert_depth(&self, def: Def) -> u32 {
        self.insert_depths.get(&def).copied().unwrap_or(0)
    }

    pub(crate) fn set_insert_depth(&mut self, def: Def, depth: u32) {
        self.insert_depths.insert(def, depth);
    }

    /// The operands of `def`; see [`World::for_each_operand`].
    pub fn operands(&self, def: Def) -> Vec<Def> {
        let mut operands = vec![];
        self.for_each_operand(def, |operand| operands.push(operand));
        operands
    }
}

/// Calls `each` with every operand of a node.
fn for_each_operand(pool: &[Def], mut node: Node, mut each: impl FnMut(Def)) {
    if let Some(list) = for_each_operand_mut(&mut node, |operand| each(*operand)) {
        list.of(pool).iter().for_each(|&operand| each(operand));
    }
}

/// Calls `each` with every operand that a node holds itself; if they are in a list, gives that.
fn for_each_operand_mut(node: &mut Node, mut each: impl FnMut(&mut Def)) -> Option<&mut DefList> {
    match node {
        Node::Cont(_)
        | Node::Param { .. }
        | Node::Global(_)
        | Node::Lit(_)
        | Node::Undef
        | Node::SizeOf(_)
        | Node::AlignOf(_) => {}
        Node::Cast(a)
        | Node::Bitcast(a)
        | Node::VariantTag(a)
        | Node::Known(a)
        | Node::Hide(a)
        | Node::Mark { callee: a, .. }
        | Node::Streaming(a)
        | Node::Slot { mem: a }
        | Node::Variant { payload: a, .. }
        | Node::VariantPayload { value: a, .. } => each(a),
        Node::Arith { lhs: a, rhs: b, .. }
        | Node::Cmp { lhs: a, rhs: b, .. }
        | Node::Extract { agg: a, index: b }
        | Node::Load { mem: a, ptr: b }
        | Node::Alloc { mem: a, count: b }
        | Node::Demand { mem: a, value: b }
        | Node::Lea { ptr: a, index: b } => {
            each(a);
            each(b);
        }
        Node::Select { cond: a, then: b, other: c }
        | Node::Insert { agg: a, index: b, value: c }
        | Node::Store { mem: a, ptr: b, value: c }
        | Node::LoadLanes { mem: a, ptr: b, mask: c } => {
            each(a);
            each(b);
            each(c);
        }
        Node::StoreLanes { mem, ptr, mask, value } => {
            each(mem);
            each(ptr);
            each(mask);
            each(value);
        }
        Node::Aggregate(list)
        | Node::Math { args: list, .. }
        | Node::Lanes { args: list, .. }
        | Node::Asm { args: list, .. } => return Some(list),
    }
    None
}

/// Whether a node is constant when its operands are. Other operations that have
/// constant operands were not folded, because they would fail or must not be.
fn is_transparent(world: &World, node: Node) -> bool {
    match node {
        Node::Cont(_) | Node::Global(_) => true,
        Node::Lit(_) | Node::Undef | Node::SizeOf(_) | Node::AlignOf(_) => true,
        Node::Aggregate(_) | Node::Insert { .. } | Node::Variant { .. } => true,
        Node::Bitcast(_) | Node::Lea { .. } | Node::Mark { .. } | Node::Streaming(_) => true,
        Node::Cast(value) => matches!(world.types.kind(world.ty(value)), TyKind::Ptr { .. }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{ArithFlags, ArithOp};
    use crate::types::Prim;

    #[test]
    fn equal_nodes_are_one_node() {
        let mut world = World::new();
        let i32 = world.types.prim(Prim::I32);
        let cont = world.new_cont("f", &[i32, i32]);
        let (x, y) = (world.param(cont, 0), world.param(cont, 1));
        let sum = world.arith(ArithOp::Add, ArithFlags::STRICT, x, y);
        assert_eq!(sum, world.arith(ArithOp::Add, ArithFlags::STRICT, x, y));
        assert_ne!(sum, world.arith(ArithOp::Add, ArithFlags::WRAP, x, y));
        let pair = world.tuple(&[x, y]);
        assert_eq!(pair, world.tuple(&[x, y]));
        assert_ne!(pair, world.tuple(&[y, x]));
    }
}
