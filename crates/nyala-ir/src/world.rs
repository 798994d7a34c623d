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
//! * Nothing depends on the order of a hash table: ids are given in the order of
//!   construction.
//!
//! # Where to look next
//!
//! [`node`](crate::node) says what the nodes mean.

use std::hash::{Hash, Hasher};

use cranelift_entity::{EntityRef, PrimaryMap};
use hashbrown::HashTable;
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHasher};

use crate::layout;
use crate::node::{
    ArithFlags, ArithOp, AsmData, AsmId, Body, CmpOp, Cont, ContData, Def, DefList, Global, GlobalData,
    Intrinsic, Linkage, MathOp, Node,
};
use crate::types::{Prim, Ty, TyKind, Types};

/// All nodes of one program.
#[derive(Clone)]
pub struct World {
    /// The types.
    pub types: Types,
    /// Where the nodes built next stand in the source.
    pub span: Span,
    nodes: PrimaryMap<Def, NodeData>,
    pool: Vec<Def>,
    interned: HashTable<Def>,
    conts: PrimaryMap<Cont, ContData>,
    globals: PrimaryMap<Global, GlobalData>,
    constants: FxHashMap<Def, Def>,
    asms: PrimaryMap<AsmId, AsmData>,
    branch: Option<Def>,
    unreachable: Option<Def>,
    switches: FxHashMap<(Ty, usize), Def>,
    names: FxHashMap<Def, Name>,
    folding: bool,
}

#[derive(Clone, Copy)]
struct NodeData {
    node: Node,
    ty: Ty,
    span: Span,
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
            nodes: PrimaryMap::new(),
            pool: vec![],
            interned: HashTable::new(),
            conts: PrimaryMap::new(),
            globals: PrimaryMap::new(),
            constants: FxHashMap::default(),
            asms: PrimaryMap::new(),
            branch: None,
            unreachable: None,
            switches: FxHashMap::default(),
            names: FxHashMap::default(),
            folding: true,
        }
    }

    /// Whether factories simplify. Without folding they build exactly the node that
    /// is asked for; the parser of the text form works so.
    pub fn set_folding(&mut self, folding: bool) {
        self.folding = folding;
    }

    /// What a parameter or operation is called in the text form. Continuations
    /// and globals have their names in their data.
    pub fn name(&self, def: Def) -> Option<Name> {
        self.names.get(&def).copied()
    }

    /// Names a parameter or operation for people to read; need not be unique.
    pub fn set_name(&mut self, def: Def, name: impl Into<Name>) {
        self.names.insert(def, name.into());
    }

    /// What `def` is.
    pub fn node(&self, def: Def) -> Node {
        self.nodes[def].node
    }

    /// The type of `def`.
    pub fn ty(&self, def: Def) -> Ty {
        self.nodes[def].ty
    }

    /// Where `def` stands in the source.
    pub fn span_of(&self, def: Def) -> Span {
        self.nodes[def].span
    }

    /// How many nodes there are, dead ones included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes of a list.
    pub fn list(&self, list: DefList) -> &[Def] {
        &self.pool[list.start as usize..][..list.len as usize]
    }

    /// All continuations, dead ones included, in the order they were made.
    pub fn conts(&self) -> impl Iterator<Item = (Cont, &ContData)> {
        self.conts.iter()
    }

    /// A continuation.
    pub fn cont(&self, cont: Cont) -> &ContData {
        &self.conts[cont]
    }

    /// The node of a continuation.
    pub fn cont_def(&self, cont: Cont) -> Def {
        self.conts[cont].def
    }

    /// The continuation that `def` is.
    pub fn as_cont(&self, def: Def) -> Option<Cont> {
        match self.node(def) {
            Node::Cont(cont) => Some(cont),
            _ => None,
        }
    }

    /// The intrinsic that `def` is.
    pub fn as_intrinsic(&self, def: Def) -> Option<Intrinsic> {
        match self.cont(self.as_cont(def)?).linkage {
            Linkage::Intrinsic(intrinsic) => Some(intrinsic),
            _ => None,
        }
    }

    /// Parameter `index` of `cont`.
    pub fn param(&self, cont: Cont, index: usize) -> Def {
        self.conts[cont].params[index]
    }

    /// All globals, in the order they were made.
    pub fn globals(&self) -> impl Iterator<Item = (Global, &GlobalData)> {
        self.globals.iter()
    }

    /// A global.
    pub fn global(&self, global: Global) -> &GlobalData {
        &self.globals[global]
    }

    /// Inline assembly.
    pub fn asm_data(&self, asm: AsmId) -> &AsmData {
        &self.asms[asm]
    }

    /// The bits of a literal.
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
    pub fn for_each_operand(&self, def: Def, mut each: impl FnMut(Def)) {
        match self.node(def) {
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
            | Node::Run(a)
            | Node::Slot { mem: a }
            | Node::Variant { payload: a, .. }
            | Node::VariantPayload { value: a, .. } => each(a),
            Node::Arith { lhs: a, rhs: b, .. }
            | Node::Cmp { lhs: a, rhs: b, .. }
            | Node::Extract { agg: a, index: b }
            | Node::Load { mem: a, ptr: b }
            | Node::Alloc { mem: a, count: b }
            | Node::Lea { ptr: a, index: b } => {
                each(a);
                each(b);
            }
            Node::Select { cond: a, then: b, other: c }
            | Node::Insert { agg: a, index: b, value: c }
            | Node::Store { mem: a, ptr: b, value: c } => {
                each(a);
                each(b);
                each(c);
            }
            Node::Aggregate(list) | Node::Math { args: list, .. } | Node::Asm { args: list, .. } => {
                for &def in self.list(list) {
                    each(def);
                }
            }
        }
    }

    /// The operands of `def`; see [`World::for_each_operand`].
    pub fn operands(&self, def: Def) -> Vec<Def> {
        let mut operands = vec![];
        self.for_each_operand(def, |operand| operands.push(operand));
        operands
    }
}

// ---- Continuations and globals -----------------------------------------------

impl World {
    /// A new continuation of type `cn(params)`, without body.
    pub fn new_cont(&mut self, name: impl Into<Name>, params: &[Ty]) -> Cont {
        let ty = self.types.cn(params);
        let cont = Cont::new(self.conts.len());
        let span = self.span;
        let def = self.nodes.push(NodeData { node: Node::Cont(cont), ty, span });
        let params = params
            .iter()
            .enumerate()
            .map(|(index, &ty)| {
                let node = Node::Param { cont, index: index as u32 };
                self.nodes.push(NodeData { node, ty, span })
            })
            .collect();
        self.conts.push(ContData {
            name: name.into(),
            span,
            ty,
            def,
            params,
            filter: vec![],
            body: None,
            linkage: Linkage::Internal,
        })
    }

    /// Adds a parameter at the end, changing the continuation's type. Only for a
    /// continuation whose node nobody but its maker has seen: SSA construction
    /// finds out late which values a join needs.
    pub fn append_param(&mut self, cont: Cont, ty: Ty) -> Def {
        let index = self.conts[cont].params.len() as u32;
        let span = self.conts[cont].span;
        let param = self.nodes.push(NodeData { node: Node::Param { cont, index }, ty, span });
        self.conts[cont].params.push(param);
        let params: Vec<Ty> = self.conts[cont].params.iter().map(|&param| self.nodes[param].ty).collect();
        let ty = self.types.cn(&params);
        self.conts[cont].ty = ty;
        let def = self.conts[cont].def;
        self.nodes[def].ty = ty;
        param
    }

    /// Sets what `cont` does, at the current span.
    pub fn set_body(&mut self, cont: Cont, callee: Def, args: impl Into<Vec<Def>>) {
        let span = self.span;
        self.conts[cont].body = Some(Body { callee, args: args.into(), span });
    }

    /// Replaces the whole body, span included.
    pub fn replace_body(&mut self, cont: Cont, body: Option<Body>) {
        self.conts[cont].body = body;
    }

    /// Sets when to specialise on each parameter.
    pub fn set_filter(&mut self, cont: Cont, filter: Vec<Def>) {
        debug_assert!(filter.is_empty() || filter.len() == self.conts[cont].params.len());
        self.conts[cont].filter = filter;
    }

    /// Sets how `cont` is known outside.
    pub fn set_linkage(&mut self, cont: Cont, linkage: Linkage) {
        self.conts[cont].linkage = linkage;
    }

    /// `cont` calls `branch(mem, cond, then, other)`.
    pub fn set_branch(&mut self, cont: Cont, mem: Def, cond: Def, then: Def, other: Def) {
        let branch = self.branch();
        self.set_body(cont, branch, [mem, cond, then, other]);
    }

    /// `cont` calls `switch(mem, value, default, cases..)`.
    pub fn set_switch(&mut self, cont: Cont, mem: Def, value: Def, default: Def, cases: &[(Def, Def)]) {
        let switch = self.switch(self.ty(value), cases.len());
        let mut args = vec![mem, value, default];
        args.extend(cases.iter().flat_map(|&(lit, target)| [lit, target]));
        self.set_body(cont, switch, args);
    }

    /// `cont` calls `unreachable(mem)`.
    pub fn set_unreachable(&mut self, cont: Cont, mem: Def) {
        let unreachable = self.unreachable();
        self.set_body(cont, unreachable, [mem]);
    }

    /// The intrinsic `branch`.
    pub fn branch(&mut self) -> Def {
        if let Some(def) = self.branch {
            return def;
        }
        let (mem, bool) = (self.types.mem(), self.types.bool());
        let target = self.types.cn(&[mem]);
        let def = self.declare_intrinsic(Intrinsic::Branch, &[mem, bool, target, target]);
        self.branch = Some(def);
        def
    }

    /// The intrinsic `switch` on a type with this many cases.
    pub fn switch(&mut self, ty: Ty, n_cases: usize) -> Def {
        if let Some(&def) = self.switches.get(&(ty, n_cases)) {
            return def;
        }
        let mem = self.types.mem();
        let target = self.types.cn(&[mem]);
        let mut params = vec![mem, ty, target];
        params.extend((0..n_cases).flat_map(|_| [ty, target]));
        let def = self.declare_intrinsic(Intrinsic::Switch, &params);
        self.switches.insert((ty, n_cases), def);
        def
    }

    /// The intrinsic `unreachable`.
    pub fn unreachable(&mut self) -> Def {
        if let Some(def) = self.unreachable {
            return def;
        }
        let mem = self.types.mem();
        let def = self.declare_intrinsic(Intrinsic::Unreachable, &[mem]);
        self.unreachable = Some(def);
        def
    }

    /// Whether `cont` is what [`World::branch`], [`World::switch`] or
    /// [`World::unreachable`] gives, which need no declaration in the text form.
    pub(crate) fn is_builtin(&self, cont: Cont) -> bool {
        let data = &self.conts[cont];
        let own = match data.linkage {
            Linkage::Intrinsic(Intrinsic::Branch) => self.branch,
            Linkage::Intrinsic(Intrinsic::Unreachable) => self.unreachable,
            Linkage::Intrinsic(Intrinsic::Switch) if data.params.len() >= 3 => {
                let key = (self.ty(data.params[1]), (data.params.len() - 3) / 2);
                self.switches.get(&key).copied()
            }
            _ => None,
        };
        own == Some(data.def)
    }

    /// A new continuation that stands for an intrinsic.
    pub fn declare_intrinsic(&mut self, intrinsic: Intrinsic, params: &[Ty]) -> Def {
        let cont = self.new_cont(intrinsic.name(), params);
        self.conts[cont].linkage = Linkage::Intrinsic(intrinsic);
        self.conts[cont].def
    }

    /// A new global of type `ty`; its node is a pointer to it.
    pub fn new_global(&mut self, name: impl Into<Name>, ty: Ty, is_mut: bool, init: Option<Def>) -> Def {
        let global = Global::new(self.globals.len());
        let ptr = self.types.ptr(ty, 0);
        let span = self.span;
        let def = self.nodes.push(NodeData { node: Node::Global(global), ty: ptr, span });
        let linkage = Linkage::Internal;
        self.globals.push(GlobalData { name: name.into(), span, ty, is_mut, init, def, linkage });
        def
    }

    /// Sets the first value of a global.
    pub fn set_global_init(&mut self, global: Global, init: Def) {
        self.globals[global].init = Some(init);
    }

    /// Sets how a global is known outside.
    pub fn set_global_linkage(&mut self, global: Global, linkage: Linkage) {
        self.globals[global].linkage = linkage;
    }

    /// The address of an immutable global that holds `value`; the same for the same value.
    pub fn constant(&mut self, value: Def) -> Def {
        if let Some(&def) = self.constants.get(&value) {
            return def;
        }
        let def = self.new_global("const", self.ty(value), false, Some(value));
        self.constants.insert(value, def);
        def
    }
}

// ---- Building primitive operations --------------------------------------------

impl World {
    /// A literal of a primitive type from its bits.
    pub fn lit(&mut self, prim: Prim, bits: u64) -> Def {
        let ty = self.types.prim(prim);
        self.intern(Node::Lit(prim.canonical(bits)), ty)
    }

    /// A literal `i32`.
    pub fn lit_i32(&mut self, value: i32) -> Def {
        self.lit(Prim::I32, value as u64)
    }

    /// A literal `u32`; what parts of tuples and structs are numbered by.
    pub fn lit_u32(&mut self, value: u32) -> Def {
        self.lit(Prim::U32, u64::from(value))
    }

    /// A literal `i64`.
    pub fn lit_i64(&mut self, value: i64) -> Def {
        self.lit(Prim::I64, value as u64)
    }

    /// A literal `bool`.
    pub fn lit_bool(&mut self, value: bool) -> Def {
        self.lit(Prim::Bool, u64::from(value))
    }

    /// The null pointer of a pointer type.
    pub fn null(&mut self, ptr_ty: Ty) -> Def {
        self.intern(Node::Lit(0), ptr_ty)
    }

    /// The unit value.
    pub fn unit(&mut self) -> Def {
        let unit = self.types.unit();
        self.aggregate(unit, &[])
    }

    /// Any value of `ty`.
    pub fn undef(&mut self, ty: Ty) -> Def {
        self.intern(Node::Undef, ty)
    }

    /// `lhs op rhs`, simplified.
    pub fn arith(&mut self, op: ArithOp, flags: ArithFlags, lhs: Def, rhs: Def) -> Def {
        let ty = self.ty(lhs);
        self.intern(Node::Arith { op, flags, lhs, rhs }, ty)
    }

    /// `lhs op rhs`, simplified.
    pub fn cmp(&mut self, op: CmpOp, lhs: Def, rhs: Def) -> Def {
        let ty = self.bool_like(self.ty(lhs));
        self.intern(Node::Cmp { op, lhs, rhs }, ty)
    }

    /// A mathematical function, simplified.
    pub fn math(&mut self, op: MathOp, flags: ArithFlags, args: &[Def]) -> Def {
        let first = self.ty(args[0]);
        let ty = match op {
            MathOp::Signbit | MathOp::IsNan | MathOp::IsFinite => self.bool_like(first),
            _ => first,
        };
        self.intern_list(args, ty, |args| Node::Math { op, flags, args })
    }

    /// `value as ty`, simplified.
    pub fn cast(&mut self, ty: Ty, value: Def) -> Def {
        if self.folding && self.ty(value) == ty {
            return value;
        }
        self.intern(Node::Cast(value), ty)
    }

    /// The bits of `value` as a `ty`, simplified.
    pub fn bitcast(&mut self, ty: Ty, value: Def) -> Def {
        if self.folding && self.ty(value) == ty {
            return value;
        }
        self.intern(Node::Bitcast(value), ty)
    }

    /// `cond ? then : other`, simplified.
    pub fn select(&mut self, cond: Def, then: Def, other: Def) -> Def {
        let ty = self.ty(then);
        self.intern(Node::Select { cond, then, other }, ty)
    }

    /// A tuple, struct, array or simd value of type `ty`. One part of a type that
    /// is no aggregate is that part itself (there are no one-tuples).
    pub fn aggregate(&mut self, ty: Ty, parts: &[Def]) -> Def {
        if let [one] = parts
            && self.ty(*one) == ty
        {
            return *one;
        }
        self.intern_list(parts, ty, Node::Aggregate)
    }

    /// The tuple of `parts`; one part is itself.
    pub fn tuple(&mut self, parts: &[Def]) -> Def {
        let tys: Vec<Ty> = parts.iter().map(|&part| self.ty(part)).collect();
        let ty = self.types.tuple(&tys);
        self.aggregate(ty, parts)
    }

    /// Part `index` of `agg`, simplified.
    pub fn extract(&mut self, agg: Def, index: Def) -> Def {
        let ty = self.part_ty(self.ty(agg), index);
        self.intern(Node::Extract { agg, index }, ty)
    }

    /// Part number `index` of `agg`, simplified.
    pub fn extract_at(&mut self, agg: Def, index: u32) -> Def {
        let index = self.lit_u32(index);
        self.extract(agg, index)
    }

    /// `agg` with part `index` replaced, simplified.
    pub fn insert(&mut self, agg: Def, index: Def, value: Def) -> Def {
        let ty = self.ty(agg);
        self.intern(Node::Insert { agg, index, value }, ty)
    }

    /// Option `option` of the enum `ty` with its payload.
    pub fn variant(&mut self, ty: Ty, option: u32, payload: Def) -> Def {
        self.intern(Node::Variant { option, payload }, ty)
    }

    /// The option number of an enum value, as `u32`.
    pub fn variant_tag(&mut self, value: Def) -> Def {
        let ty = self.types.prim(Prim::U32);
        self.intern(Node::VariantTag(value), ty)
    }

    /// The payload of an enum value known to be `option`.
    pub fn variant_payload(&mut self, option: u32, value: Def) -> Def {
        let TyKind::Enum(id) = *self.types.kind(self.ty(value)) else {
            panic!("variant_payload of a value that is no enum");
        };
        let ty = self.types.enums[id].options[option as usize].payload;
        self.intern(Node::VariantPayload { option, value }, ty)
    }

    /// The size of `of` as an integer of type `ty`.
    pub fn size_of(&mut self, ty: Ty, of: Ty) -> Def {
        self.intern(Node::SizeOf(of), ty)
    }

    /// The alignment of `of` as an integer of type `ty`.
    pub fn align_of(&mut self, ty: Ty, of: Ty) -> Def {
        self.intern(Node::AlignOf(of), ty)
    }

    /// `?value`
    pub fn known(&mut self, value: Def) -> Def {
        let ty = self.types.bool();
        self.intern(Node::Known(value), ty)
    }

    /// `$value`
    pub fn hide(&mut self, value: Def) -> Def {
        let ty = self.ty(value);
        self.intern(Node::Hide(value), ty)
    }

    /// `callee`, to be specialised on all arguments.
    pub fn run(&mut self, callee: Def) -> Def {
        let ty = self.ty(callee);
        self.intern(Node::Run(callee), ty)
    }

    /// Reads through `ptr`: the new memory and the value.
    pub fn load(&mut self, mem: Def, ptr: Def) -> (Def, Def) {
        let (pointee, _) = self.types.as_ptr(self.ty(ptr)).expect("load through a pointer");
        let ty = self.effect_ty(&[pointee]);
        let load = self.intern(Node::Load { mem, ptr }, ty);
        (self.extract_at(load, 0), self.extract_at(load, 1))
    }

    /// Writes through `ptr`: the new memory.
    pub fn store(&mut self, mem: Def, ptr: Def, value: Def) -> Def {
        let ty = self.types.mem();
        self.intern(Node::Store { mem, ptr, value }, ty)
    }

    /// A local variable of type `ty`: the new memory and its address.
    pub fn slot(&mut self, mem: Def, ty: Ty) -> (Def, Def) {
        let ptr = self.types.ptr(ty, 0);
        let ty = self.effect_ty(&[ptr]);
        let slot = self.intern(Node::Slot { mem }, ty);
        (self.extract_at(slot, 0), self.extract_at(slot, 1))
    }

    /// `count` elements on the heap: the new memory and their address, `&[elem]`.
    pub fn alloc(&mut self, mem: Def, elem: Ty, count: Def) -> (Def, Def) {
        let slice = self.types.slice(elem);
        let ptr = self.types.ptr(slice, 0);
        let ty = self.effect_ty(&[ptr]);
        let alloc = self.intern(Node::Alloc { mem, count }, ty);
        (self.extract_at(alloc, 0), self.extract_at(alloc, 1))
    }

    /// The address of part `index` of what `ptr` points to, simplified.
    pub fn lea(&mut self, ptr: Def, index: Def) -> Def {
        let (pointee, space) = self.types.as_ptr(self.ty(ptr)).expect("lea on a pointer");
        let part = self.part_ty(pointee, index);
        let ty = self.types.ptr(part, space);
        self.intern(Node::Lea { ptr, index }, ty)
    }

    /// Inline assembly: the new memory and the outputs.
    pub fn asm(&mut self, mem: Def, asm: AsmData, inputs: &[Def], outputs: &[Ty]) -> (Def, Vec<Def>) {
        let node = self.asm_node(mem, asm, inputs, outputs);
        if outputs.is_empty() {
            return (node, vec![]);
        }
        let results = (1..=outputs.len()).map(|i| self.extract_at(node, i as u32)).collect();
        (self.extract_at(node, 0), results)
    }

    /// Inline assembly, as `(mem, outputs..)`.
    pub(crate) fn asm_node(&mut self, mem: Def, asm: AsmData, inputs: &[Def], outputs: &[Ty]) -> Def {
        let ty = self.effect_ty(outputs);
        let asm = self.asms.push(asm);
        let args: Vec<Def> = std::iter::once(mem).chain(inputs.iter().copied()).collect();
        self.intern_list(&args, ty, |args| Node::Asm { asm, args })
    }

    /// `(mem, parts..)`
    pub(crate) fn effect_ty(&mut self, parts: &[Ty]) -> Ty {
        let all: Vec<Ty> = std::iter::once(self.types.mem()).chain(parts.iter().copied()).collect();
        self.types.tuple(&all)
    }

    /// `bool`, or `simd[bool * n]` for a simd type.
    fn bool_like(&mut self, ty: Ty) -> Ty {
        let bool = self.types.bool();
        match *self.types.kind(ty) {
            TyKind::Simd { lanes, .. } => self.types.simd(bool, lanes),
            _ => bool,
        }
    }

    fn part_ty(&self, ty: Ty, index: Def) -> Ty {
        let elem = self.types.elem(ty);
        elem.or_else(|| self.types.part(ty, self.as_lit(index)?))
            .expect("a literal index within a tuple or struct")
    }

    /// The layout of a type.
    pub fn layout(&self, ty: Ty) -> layout::Layout {
        layout::layout(&self.types, ty)
    }
}

// ---- Hash-consing -----------------------------------------------------------

impl World {
    /// The node with this content; an old one if there is one.
    pub(crate) fn intern(&mut self, node: Node, ty: Ty) -> Def {
        let hash = self.hash(node, ty);
        let same = |&def: &Def| self.nodes[def].ty == ty && self.same(self.nodes[def].node, node);
        if let Some(&def) = self.interned.find(hash, same) {
            return def;
        }
        let def = self.nodes.push(NodeData { node, ty, span: self.span });
        let World { interned, nodes, pool, .. } = self;
        interned.insert_unique(hash, def, |&def| hash_node(pool, nodes[def].node, nodes[def].ty));
        def
    }

    /// As [`World::intern`], for a node with a list of operands.
    fn intern_list(&mut self, operands: &[Def], ty: Ty, node: impl FnOnce(DefList) -> Node) -> Def {
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

    fn hash(&self, node: Node, ty: Ty) -> u64 {
        hash_node(&self.pool, node, ty)
    }

    fn same(&self, a: Node, b: Node) -> bool {
        let lists = |a: DefList, b: DefList| self.list(a) == self.list(b);
        match (a, b) {
            (Node::Aggregate(a), Node::Aggregate(b)) => lists(a, b),
            (Node::Math { op, flags, args }, Node::Math { op: op2, flags: flags2, args: args2 }) => {
                op == op2 && flags == flags2 && lists(args, args2)
            }
            (Node::Asm { asm, args }, Node::Asm { asm: asm2, args: args2 }) => {
                asm == asm2 && lists(args, args2)
            }
            (a, b) => Key::of(a) == Key::of(b),
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
            Node::Variant { option, payload } => (option, id(payload), 0, 0),
            Node::VariantPayload { option, value } => (option, id(value), 0, 0),
            Node::SizeOf(ty) | Node::AlignOf(ty) => (0, ty.index() as u64, 0, 0),
            Node::Select { cond: x, then: y, other: z }
            | Node::Insert { agg: x, index: y, value: z }
            | Node::Store { mem: x, ptr: y, value: z } => (0, id(x), id(y) as u32, id(z) as u32),
            Node::Extract { agg: x, index: y }
            | Node::Load { mem: x, ptr: y }
            | Node::Alloc { mem: x, count: y }
            | Node::Lea { ptr: x, index: y } => (0, id(x), id(y) as u32, 0),
            Node::Cast(x)
            | Node::Bitcast(x)
            | Node::VariantTag(x)
            | Node::Known(x)
            | Node::Hide(x)
            | Node::Run(x)
            | Node::Slot { mem: x } => (0, id(x), 0, 0),
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

fn hash_node(pool: &[Def], node: Node, ty: Ty) -> u64 {
    let mut hasher = FxHasher::default();
    ty.hash(&mut hasher);
    Key::of(node).hash(&mut hasher);
    if let Node::Aggregate(list) | Node::Math { args: list, .. } | Node::Asm { args: list, .. } = node {
        pool[list.start as usize..][..list.len as usize].hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

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
