//! From the graph to code: one scope at a time, when it is called.
//!
//! Operations are executed where they are demanded: in each block whose body
//! needs them, unless a dominating block has executed them. So a division in one
//! branch is not executed on the path to the other one.
//!
//! # Invariants
//!
//! * An operation that touches memory is executed once per execution of the
//!   block whose body its memory token leads to; dominated blocks read its result
//!   from its register.
//! * Each block that uses a closure creates it, and so with every aggregate that
//!   contains a closure. Otherwise two closures that use each other would have to
//!   capture each other.
//!
//! # Where to look next
//!
//! [`emit`] translates the operations of a block, [`live`] computes what a closure
//! captures.

mod emit;
mod live;

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use nyala_ir::analysis::references::ContinuationFinder;
use nyala_ir::analysis::{DomTree, Graph, Nesting};
use nyala_ir::{Body, Cont, Def, Global, Node, Prim, Ty, TyKind, World};
use rustc_hash::FxHashMap;

use crate::code::{FRAME, Reg, Scope};
use crate::errors::{Checked, ErrorKind, MemoryKind, malformed};
use crate::memory::Memory;
use crate::memory::shape::Shapes;
use crate::value::{Closure, Code, Value};

/// A program and its compiled scopes.
pub(crate) struct Program<'w> {
    pub(crate) world: &'w World,
    /// The top-level continuation that each one is nested in.
    roots: SecondaryMap<Cont, Option<Cont>>,
    scopes: Vec<Rc<Scope>>,
    scope_of: SecondaryMap<Cont, Option<u32>>,
    /// The constants; the first ones have registers.
    pub(crate) consts: Vec<Value>,
    const_of: FxHashMap<Def, Option<u32>>,
    pub(crate) shapes: Shapes,
    globals: FxHashMap<Global, u64>,
    /// Globals that have an address but not yet their first value.
    pub(crate) new_globals: Vec<Global>,
}

impl<'w> Program<'w> {
    /// The program as `entry` sees it.
    pub(crate) fn new(world: &'w World, entry: Cont) -> Program<'w> {
        let nesting = Nesting::with_entry(world, entry);
        let mut conts = nesting.conts().to_vec();
        conts.sort_by_key(|&cont| nesting.depth(cont));
        let mut roots: SecondaryMap<Cont, Option<Cont>> = SecondaryMap::new();
        for cont in conts {
            roots[cont] = nesting.parent(cont).map_or(Some(cont), |parent| roots[parent]);
        }
        Program {
            world,
            roots,
            scopes: vec![],
            scope_of: SecondaryMap::new(),
            consts: vec![],
            const_of: FxHashMap::default(),
            shapes: Shapes::default(),
            globals: FxHashMap::default(),
            new_globals: vec![],
        }
    }

    pub(crate) fn scope(&self, id: u32) -> &Rc<Scope> {
        &self.scopes[id as usize]
    }

    /// The code of a top-level continuation.
    pub(crate) fn enter(&mut self, cont: Cont, memory: &mut Memory) -> Checked<Rc<Scope>> {
        if let Some(id) = self.scope_of[cont] {
            return Ok(self.scopes[id as usize].clone());
        }
        let flow = self.flow(cont);
        let scope = emit::scope(self, memory, &flow)?;
        self.scope_of[cont] = Some(scope.id);
        Ok(self.add(scope))
    }

    /// Code that computes a constant expression, and the register of its value.
    pub(crate) fn expression(&mut self, def: Def, memory: &mut Memory) -> Checked<(Rc<Scope>, Reg)> {
        let (scope, reg) = emit::expression(self, memory, def)?;
        Ok((self.add(scope), reg))
    }

    fn add(&mut self, scope: Scope) -> Rc<Scope> {
        let scope = Rc::new(scope);
        self.scopes.push(scope.clone());
        scope
    }

    fn next_id(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// The control-flow graph of a scope.
    fn flow(&self, entry: Cont) -> Flow {
        let mut conts = vec![entry];
        let mut index = FxHashMap::from_iter([(entry, 0)]);
        let mut edges = vec![];
        let mut finder = ContinuationFinder::new(self.world);
        let mut from = 0;
        while let Some(&cont) = conts.get(from) {
            let roots: Vec<Def> = self.world.cont(cont).body.iter().flat_map(body_roots).collect();
            for def in finder.find(&roots) {
                if let Node::Cont(to) = self.world.node(def)
                    && to != entry
                    && self.roots[to] == Some(entry)
                {
                    let to = *index.entry(to).or_insert_with(|| {
                        conts.push(to);
                        conts.len() - 1
                    });
                    edges.push((from, to));
                }
            }
            from += 1;
        }
        let order = Graph::new(conts.len(), &edges).reverse_post_order(0);
        let mut place = vec![0; conts.len()];
        order.iter().enumerate().for_each(|(block, &vertex)| place[vertex] = block);
        let conts: Vec<Cont> = order.iter().map(|&vertex| conts[vertex]).collect();
        let edges: Vec<(usize, usize)> = edges.iter().map(|&(from, to)| (place[from], place[to])).collect();
        let graph = Graph::new(conts.len(), &edges);
        let doms = DomTree::new(&graph, 0);
        let blocks = conts.iter().zip(0..).map(|(&cont, block)| (cont, block)).collect();
        Flow { conts, blocks, graph, doms }
    }

    /// The constant that `def` is, if it is one.
    fn constant(&mut self, def: Def, memory: &mut Memory) -> Checked<Option<u32>> {
        let mut stack = vec![def];
        while let Some(&next) = stack.last() {
            if self.const_of.contains_key(&next) {
                stack.pop();
                continue;
            }
            let missing: Vec<Def> = match self.world.node(next) {
                Node::Aggregate(_)
                | Node::Variant { .. }
                | Node::Hide(_)
                | Node::Mark { .. }
                | Node::Streaming(_) => {
                    let mut missing = self.world.operands(next);
                    missing.retain(|operand| !self.const_of.contains_key(operand));
                    missing
                }
                _ => vec![],
            };
            if missing.is_empty() {
                stack.pop();
                let value = self.constant_value(next, memory)?;
                let index = value.map(|value| self.add_const(value));
                self.const_of.insert(next, index);
            } else {
                stack.extend(missing);
            }
        }
        Ok(self.const_of[&def])
    }

    fn add_const(&mut self, value: Value) -> u32 {
        self.consts.push(value);
        self.consts.len() as u32 - 1
    }

    /// The value of a constant, after those of its operands.
    fn constant_value(&mut self, def: Def, memory: &mut Memory) -> Checked<Option<Value>> {
        let world = self.world;
        let known = |def: &Def| {
            let index = self.const_of[def]?;
            Some(self.consts[index as usize].clone())
        };
        Ok(match world.node(def) {
            Node::Lit(bits) => Some(Value::Bits(bits)),
            Node::Undef => Some(Value::Undef),
            Node::Known(_) => Some(Value::bool(false)),
            Node::SizeOf(ty) => Some(self.int_of(def, world.layout(ty).size)),
            Node::AlignOf(ty) => Some(self.int_of(def, world.layout(ty).align)),
            Node::Global(global) => Some(Value::Bits(self.global(global, memory)?)),
            Node::Cont(cont) => {
                let is_top = self.roots[cont].is_none_or(|root| root == cont);
                is_top.then(|| Closure::value(Code::Func(cont)))
            }
            Node::Aggregate(parts) => {
                let parts: Option<Vec<Value>> = world.list(parts).iter().map(known).collect();
                parts.map(Value::agg)
            }
            Node::Variant { option, payload } => {
                known(&payload).map(|payload| Value::agg(vec![Value::Bits(u64::from(option)), payload]))
            }
            Node::Hide(inner) | Node::Mark { callee: inner, .. } | Node::Streaming(inner) => known(&inner),
            _ => None,
        })
    }

    fn int_of(&self, def: Def, value: u64) -> Value {
        let prim = self.world.types.as_prim(self.world.ty(def)).unwrap_or(Prim::U64);
        Value::prim(prim, value)
    }

    /// The address of a global, which is allocated at the first use.
    fn global(&mut self, global: Global, memory: &mut Memory) -> Checked<u64> {
        if let Some(&addr) = self.globals.get(&global) {
            return Ok(addr);
        }
        let data = self.world.global(global);
        let layout = self.world.layout(data.ty);
        let kind = if data.is_mut { MemoryKind::Global } else { MemoryKind::Constant };
        let addr = memory.allocate(layout.size, layout.align, kind, data.span)?;
        self.globals.insert(global, addr);
        self.new_globals.push(global);
        Ok(addr)
    }

    /// The address of a global that has one.
    pub(crate) fn global_addr(&self, global: Global) -> Option<u64> {
        self.globals.get(&global).copied()
    }

    fn is_mem(&self, ty: Ty) -> bool {
        ty == self.world.types.mem()
    }
}

/// The blocks of a scope, in reverse post order.
struct Flow {
    conts: Vec<Cont>,
    blocks: FxHashMap<Cont, u32>,
    graph: Graph,
    doms: DomTree,
}

/// The operands of a body: the arguments, then the callee.
fn body_roots(body: &Body) -> impl Iterator<Item = Def> + '_ {
    body.args.iter().copied().chain(std::iter::once(body.callee))
}

/// Whether a value of this type may hold a closure or share parts.
fn is_owning(world: &World, ty: Ty) -> bool {
    !matches!(world.types.kind(ty), TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Mem)
}

/// The primitive type of a scalar type; an address is a `u64`.
pub(crate) fn scalar(world: &World, ty: Ty) -> Option<Prim> {
    match world.types.kind(ty) {
        TyKind::Prim(prim) => Some(*prim),
        TyKind::Ptr { .. } => Some(Prim::U64),
        _ => None,
    }
}

/// The register of a constant that has one.
fn const_reg(index: u32) -> Option<Reg> {
    (index < FRAME).then_some(index)
}

fn no_body<T>(world: &World, cont: Cont) -> Checked<T> {
    let data = world.cont(cont);
    match &data.linkage {
        nyala_ir::Linkage::Imported(name) | nyala_ir::Linkage::Device(name) => {
            Err(Box::new(ErrorKind::UnknownFunction { name: name.as_str().into() }))
        }
        _ => malformed(format!("`{}` has no body", data.name)),
    }
}
