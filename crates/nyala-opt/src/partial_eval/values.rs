//! The values of old nodes in the new program, and the instances among them.
//!
//! A value is built on demand, and once for each body. A value that is the same everywhere is built
//! once. Nothing here recurses: values may be as deep as a program is long.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::{Cont, Def, Global, Intrinsic, Linkage, Node, Ty};

use super::engine::Engine;
use super::env::Env;
use super::instance::{Context, Instance};
use super::memo::Form;

/// How `known` of an unknown value folds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It stays: the value may become known in a later round.
    Residual,
    /// To `false`: a filter is decided now.
    Decide,
}

/// The values of old nodes, and reusable memory for building them.
#[derive(Default)]
pub(super) struct Values {
    /// The values of old nodes that are the same everywhere.
    constants: SecondaryMap<Def, PackedOption<Def>>,
    /// Globals whose initial values are still to be built: old and new.
    globals: Vec<(Global, Global)>,
    /// The environment of the body that is being built.
    body_env: Env,
    /// The environment of filters, constants and look-ahead.
    side_env: Env,
    /// Nodes to build, and operands of one node.
    stacks: (Vec<Def>, Vec<Def>),
}

impl Values {
    /// The value of `old` under `env`, if it is built.
    pub(super) fn get(&self, old: Def, env: &Env) -> Option<Def> {
        env.get(old).or_else(|| self.constants[old].expand())
    }

    /// A global whose initial value is still to be built.
    pub(super) fn next_global(&mut self) -> Option<(Global, Global)> {
        self.globals.pop()
    }

    /// Lends the environment for bodies.
    pub(super) fn take_body_env(&mut self) -> Env {
        std::mem::take(&mut self.body_env)
    }

    /// Returns the environment for bodies.
    pub(super) fn put_body_env(&mut self, env: Env) {
        self.body_env = env;
    }

    /// Lends the environment for filters, constants and look-ahead.
    pub(super) fn take_side_env(&mut self) -> Env {
        std::mem::take(&mut self.side_env)
    }

    /// Returns the environment for filters, constants and look-ahead.
    pub(super) fn put_side_env(&mut self, env: Env) {
        self.side_env = env;
    }
}

impl Engine<'_> {
    /// The value of an old node that is the same everywhere.
    pub(super) fn constant(&mut self, old: Def) -> Def {
        let mut env = self.values.take_side_env();
        env.clear();
        let value = self.def(old, &mut env, Mode::Residual);
        self.values.put_side_env(env);
        value
    }

    /// The value of `old` under `env`, which gets all values that are built for it.
    pub(super) fn def(&mut self, old: Def, env: &mut Env, mode: Mode) -> Def {
        if let Some(value) = self.values.get(old, env) {
            return value;
        }
        let (mut stack, mut operands) = std::mem::take(&mut self.values.stacks);
        stack.push(old);
        while let Some(&next) = stack.last() {
            if self.values.get(next, env).is_some() {
                stack.pop();
                continue;
            }
            operands.clear();
            if self.operands(next, env, &mut operands, &mut stack) {
                let new = self.finish(next, &operands, mode);
                if self.plan.is_constant(next) && mode == Mode::Residual {
                    self.values.constants[next] = new.into();
                } else {
                    env.insert(next, new);
                }
                stack.pop();
            }
        }
        self.values.stacks = (stack, operands);
        self.values.get(old, env).expect("built above")
    }

    /// Collects the values that `old` is built from, and pushes operands without a value onto the stack. Whether
    /// all operands have values.
    fn operands(&self, old: Def, env: &Env, operands: &mut Vec<Def>, stack: &mut Vec<Def>) -> bool {
        let before = stack.len();
        let each = |def: Def| match self.values.get(def, env) {
            Some(value) => operands.push(value),
            None => stack.push(def),
        };
        match self.old.node(old) {
            Node::Cont(cont) => self.plan.captures(cont).iter().copied().for_each(each),
            _ => self.old.for_each_operand(old, each),
        }
        stack.len() == before
    }

    /// The value of `old`, whose operands have these values.
    fn finish(&mut self, old: Def, operands: &[Def], mode: Mode) -> Def {
        match self.old.node(old) {
            Node::Cont(cont) => self.cont(cont, operands),
            Node::Global(global) => self.new_global(global),
            Node::Param { cont, index } => panic!(
                "parameter {index} of `{}` has no value here: the plan is wrong",
                self.old.cont(cont).name
            ),
            Node::Known(_) => {
                let value = operands[0];
                match (self.is_known(value), mode) {
                    (true, _) => self.new.lit_bool(true),
                    (false, Mode::Decide) => self.new.lit_bool(false),
                    (false, Mode::Residual) => self.new.known(value),
                }
            }
            node => {
                self.new.span = self.old.span_of(old);
                let new = self.new.rebuild_as(node, self.old.ty(old), operands);
                self.copy_name(old, new);
                new
            }
        }
    }

    fn copy_name(&mut self, old: Def, new: Def) {
        if let Some(name) = self.old.name(old)
            && self.new.name(new).is_none()
        {
            self.new.set_name(new, name);
        }
    }

    /// Names arguments after the user's parameters, if they are variables of a library: the counter of a loop is called
    /// as the user calls it.
    pub(super) fn name_args(&mut self, callee: Cont, args: &[Def]) {
        let old = self.old;
        for (&param, &arg) in old.cont(callee).params.iter().zip(args) {
            let (Some(name), Node::Param { cont, .. }) = (old.name(param), self.new.node(arg)) else {
                continue;
            };
            let is_better = self.is_variable_of_library(cont, arg)
                && old.origin(callee).is_some_and(|origin| !origin.is_foreign);
            if is_better {
                self.new.set_name(arg, name);
            }
        }
    }

    /// Whether a parameter of a function of a library still has the name that the library gave it.
    fn is_variable_of_library(&self, cont: Cont, param: Def) -> bool {
        let origin = self.new.origin(cont).filter(|origin| origin.is_foreign);
        let name = self.new.name(param);
        name.is_some() && origin.is_some_and(|origin| origin.params.iter().any(|param| param.name == name))
    }

    /// The instance of `cont` with these values for its captures.
    fn cont(&mut self, cont: Cont, captured: &[Def]) -> Def {
        let old = self.old;
        let data = old.cont(cont);
        if data.body.is_none() {
            return self.declaration(cont);
        }
        let fixed = data.params.iter().map(|_| None.into());
        let instance = self.instantiate(Instance::new(cont, captured.iter().map(|&def| def.into()), fixed));
        self.new.cont_def(instance)
    }

    /// The continuation for an instance that fixes no parameter.
    fn instantiate(&mut self, instance: Instance) -> Cont {
        match self.instances.form(&instance) {
            Some(Form::Cont(cont)) => cont,
            Some(Form::Unfolded(_)) => panic!("an instance that fixes no parameter is not unfolded"),
            None => self.make_cont(instance, self.current.context),
        }
    }

    /// A new continuation for an instance. It gets a body when it is evaluated.
    pub(super) fn make_cont(&mut self, instance: Instance, context: Context) -> Cont {
        let old = self.old;
        let data = old.cont(instance.old);
        let is_whole = instance.fixed().iter().all(|fixed| fixed.is_none());
        let ty = if is_whole {
            old.ty(data.def)
        } else {
            let open = data.params.iter().zip(instance.fixed()).filter(|(_, fixed)| fixed.is_none());
            let tys: Vec<Ty> = open.map(|(&param, _)| old.ty(param)).collect();
            self.new.types.cn(&tys)
        };
        self.new.span = data.span;
        let cont = self.new.new_cont_of(data.name, ty);
        let open = data.params.iter().zip(instance.fixed()).filter(|(_, fixed)| fixed.is_none());
        for (index, (&param, _)) in open.enumerate() {
            self.copy_name(param, self.new.param(cont, index));
        }
        if is_whole {
            self.new.set_linkage(cont, data.linkage.clone());
        }
        self.instances.add_cont(cont, instance, context);
        cont
    }

    /// A copy of a declaration.
    fn declaration(&mut self, cont: Cont) -> Def {
        let old = self.old;
        let data = old.cont(cont);
        let tys: Vec<Ty> = data.params.iter().map(|&param| old.ty(param)).collect();
        match data.linkage {
            Linkage::Intrinsic(Intrinsic::Branch) => return self.new.branch(),
            Linkage::Intrinsic(Intrinsic::Unreachable) => return self.new.unreachable(),
            Linkage::Intrinsic(Intrinsic::Switch) => return self.new.switch(tys[1], (tys.len() - 3) / 2),
            _ => {}
        }
        self.new.span = data.span;
        let new = self.new.new_cont(data.name, &tys);
        self.new.set_linkage(new, data.linkage.clone());
        self.new.cont_def(new)
    }

    fn new_global(&mut self, global: Global) -> Def {
        let data = self.old.global(global);
        self.new.span = data.span;
        let def = self.new.new_global(data.name, data.ty, data.is_mut, None);
        let Node::Global(new) = self.new.node(def) else { panic!("a new global is a global") };
        self.new.set_global_linkage(new, data.linkage.clone());
        if !data.is_mut && data.init.is_some() {
            // Loads of a constant fold to its value, so the value is built now.
            self.global_value(global, new);
        } else {
            self.values.globals.push((global, new));
        }
        def
    }
}
