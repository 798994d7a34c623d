//! The values of old nodes in the new program, and the instances among them.
//!
//! A value is built when it is asked for, and once for each body; what means the same everywhere is
//! built once. Nothing here recurses: values may be as deep as a program is long.

use nyala_ir::{Cont, Def, Global, Intrinsic, Linkage, Node, Ty};

use super::engine::Engine;
use super::env::Env;
use super::instance::Instance;
use super::memo::Made;

/// How far a filter has to be decided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// What is unknown may become known later.
    Residual,
    /// What is unknown now is unknown.
    Decide,
}

impl Engine<'_> {
    /// The value of an old node that means the same everywhere.
    pub(super) fn constant(&mut self, old: Def) -> Def {
        let mut env = std::mem::take(&mut self.filter_env);
        env.clear();
        let value = self.def(old, &mut env, Mode::Residual);
        self.filter_env = env;
        value
    }

    /// The value of `old` under `env`, which gets all values found on the way.
    pub(super) fn def(&mut self, old: Def, env: &mut Env, mode: Mode) -> Def {
        if let Some(value) = self.value(old, env) {
            return value;
        }
        let (mut stack, mut operands) = std::mem::take(&mut self.stacks);
        stack.push(old);
        while let Some(&next) = stack.last() {
            if self.value(next, env).is_some() {
                stack.pop();
                continue;
            }
            operands.clear();
            if self.operands(next, env, &mut operands, &mut stack) {
                let new = self.finish(next, &operands, mode);
                if self.plan.is_constant(next) && mode == Mode::Residual {
                    self.constants[next] = new.into();
                } else {
                    env.insert(next, new);
                }
                stack.pop();
            }
        }
        self.stacks = (stack, operands);
        self.value(old, env).expect("found above")
    }

    pub(super) fn value(&self, old: Def, env: &Env) -> Option<Def> {
        env.get(old).or_else(|| self.constants[old].expand())
    }

    /// The values that `old` is built from; those that are not known yet go onto the stack. Whether
    /// all are known.
    fn operands(&self, old: Def, env: &Env, operands: &mut Vec<Def>, stack: &mut Vec<Def>) -> bool {
        let before = stack.len();
        let each = |def: Def| match self.value(def, env) {
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

    /// The continuation for an instance on no parameter.
    fn instantiate(&mut self, instance: Instance) -> Cont {
        match self.memo.get(&instance) {
            Some(Made::Cont(cont)) => cont,
            Some(Made::Unfolded(_)) => panic!("what fixes no parameter is not unfolded"),
            None => {
                let cont = self.make_cont(instance);
                self.depths[cont] = self.depth;
                self.link_of[cont] = self.link;
                self.site_of[cont] = self.site;
                cont
            }
        }
    }

    /// A new continuation for an instance; it gets a body when it is needed.
    pub(super) fn make_cont(&mut self, instance: Instance) -> Cont {
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
        self.instances[cont] = Some(instance.clone());
        self.memo.insert(instance, Made::Cont(cont));
        cont
    }

    /// What is declared only stays as it is.
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
            // Its value steers evaluation, so it has to be there at once.
            self.global_value(global, new);
        } else {
            self.globals.push((global, new));
        }
        def
    }
}
