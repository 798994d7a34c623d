//! Continuations and globals of a world: creation, bodies, filters, linkage.

use cranelift_entity::EntityRef;
use nyala_span::{Name, Span};

use super::{NodeData, World, for_each_operand, is_transparent};
use crate::fold;
use crate::node::{Body, Cont, ContData, Def, Defs, Global, GlobalData, Intrinsic, Linkage, Node};
use crate::types::Ty;

impl World {
    /// A new continuation of type `cn(params)`, without body.
    pub fn new_cont(&mut self, name: impl Into<Name>, params: &[Ty]) -> Cont {
        let ty = self.types.cn(params);
        self.new_cont_of(name, ty)
    }

    /// A new continuation of type `ty`, without body.
    pub fn new_cont_of(&mut self, name: impl Into<Name>, ty: Ty) -> Cont {
        let cont = Cont::new(self.conts.len());
        let span = self.span;
        let def = self.push_self(Node::Cont(cont), ty, span);
        let World { types, nodes, .. } = self;
        let tys = types.as_cn(ty).expect("the type of a continuation");
        let params = (0u32..)
            .zip(tys)
            .map(|(index, &ty)| nodes.push(NodeData::new(Node::Param { cont, index }, ty, span)));
        let params = params.collect();
        self.conts.push(ContData {
            name: name.into(),
            span,
            ty,
            def,
            params,
            filter: Defs::new(),
            body: None,
            linkage: Linkage::Internal,
        })
    }

    /// A new node.
    pub(super) fn push_self(&mut self, node: Node, ty: Ty, span: Span) -> Def {
        let def = self.nodes.push(NodeData::new(node, ty, span));
        self.classify(def);
        def
    }

    /// Records the operands of a new node.
    pub(super) fn classify(&mut self, def: Def) {
        let node = self.node(def);
        let is_cont = matches!(node, Node::Cont(_));
        let (mut contains_conts, mut is_constant) = (is_cont, is_transparent(self, node));
        for_each_operand(&self.pool, node, |operand| {
            contains_conts |= self.containers.contains(operand);
            is_constant &= self.made_of_constants.contains(operand);
        });
        if contains_conts {
            self.containers.insert(def);
        }
        if is_constant {
            self.made_of_constants.insert(def);
        }
    }

    /// Adds a parameter at the end, changing the continuation's type. Only for a
    /// continuation that has no uses yet: SSA construction
    /// finds out late which values a join needs.
    pub fn append_param(&mut self, cont: Cont, ty: Ty) -> Def {
        let index = self.conts[cont].params.len() as u32;
        let span = self.conts[cont].span;
        let param = self.push_self(Node::Param { cont, index }, ty, span);
        self.conts[cont].params.push(param);
        self.params_changed(cont);
        param
    }

    /// Removes the parameters for which `keeps` does not hold, with their filters, changing the continuation's
    /// type. Gives those that it had. Only for a continuation all of whose uses are
    /// calls, which the caller must update. A removed parameter has no owner and must not be used any more.
    pub fn retain_params(&mut self, cont: Cont, keeps: impl Fn(Def) -> bool) -> Defs {
        let data = &mut self.conts[cont];
        let kept = data.params.iter().copied().filter(|&param| keeps(param)).collect();
        let before = std::mem::replace(&mut data.params, kept);
        let mut params = before.iter();
        data.filter.retain(|_| params.next().is_some_and(|&param| keeps(param)));
        for (index, &param) in (0u32..).zip(&self.conts[cont].params) {
            self.nodes[param].node = Node::Param { cont, index };
        }
        self.params_changed(cont);
        before
    }

    /// Gives `cont` the type that its parameters say.
    fn params_changed(&mut self, cont: Cont) {
        let params: Vec<Ty> = self.conts[cont].params.iter().map(|&param| self.nodes[param].ty).collect();
        let ty = self.types.cn(&params);
        self.free.get_mut().changed(cont);
        self.conts[cont].ty = ty;
        let def = self.conts[cont].def;
        self.nodes[def].ty = ty;
    }

    /// Sets the body of `cont`, at the current span. A call whose target is known
    /// becomes a call of that target.
    pub fn set_body(&mut self, cont: Cont, callee: Def, args: impl IntoIterator<Item = Def>) {
        let (args, span) = (args.into_iter().collect(), self.span);
        self.replace_body(cont, Some(Body { callee, args, span }));
    }

    /// Replaces the whole body, span included.
    pub fn replace_body(&mut self, cont: Cont, body: Option<Body>) {
        self.free.get_mut().changed(cont);
        self.conts[cont].body = body.map(|Body { callee, args, span }| {
            let (callee, args) =
                if self.folding { fold::control::call(self, callee, args) } else { (callee, args) };
            Body { callee, args, span }
        });
    }

    /// Sets when to specialize on each parameter.
    pub fn set_filter(&mut self, cont: Cont, filter: impl IntoIterator<Item = Def>) {
        let filter: Defs = filter.into_iter().collect();
        debug_assert!(filter.is_empty() || filter.len() == self.conts[cont].params.len());
        self.free.get_mut().changed(cont);
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

    /// A new continuation for an intrinsic.
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
        let def = self.push_self(Node::Global(global), ptr, span);
        let linkage = Linkage::Internal;
        self.globals.push(GlobalData { name: name.into(), span, ty, is_mut, init, def, linkage });
        def
    }

    /// The address of the variables of this name and type, for debuggers.
    pub fn new_global_for_debuggers(&mut self, name: impl Into<Name>, ty: Ty) -> Def {
        let def = self.new_global(name, ty, true, None);
        if let Some(data) = self.globals.values_mut().next_back() {
            data.linkage = Linkage::Debugger;
        }
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

    /// Whether `ptr` is the address of a variable that only debuggers read.
    pub fn is_for_debuggers(&self, ptr: Def) -> bool {
        matches!(self.node(ptr), Node::Global(global) if self.globals[global].linkage == Linkage::Debugger)
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
