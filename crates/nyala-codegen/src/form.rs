//! Which continuations are functions, and which are their basic blocks.
//!
//! A program in control-flow form has two kinds of continuations:
//!
//! * *functions* need no parameter of another. They take memory, data, and at
//!   most one continuation: where to return to;
//! * *blocks* are nested in exactly one function, and take memory and data.
//!
//! One more kind is as good as a block: a nested continuation with a return
//! parameter whose calls, but for those it makes itself, all return to the same
//! place. That is what loops look like. Its return parameter is that place.

use nyala_ir::analysis::{Cfg, Scope};
use nyala_ir::{Body, Cont, Def, Node, TyKind, World};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::CodegenError;

/// A function with its blocks.
#[derive(Debug)]
pub struct Function {
    /// Where it starts.
    pub cont: Cont,
    /// Its blocks and how control moves between them.
    pub cfg: Cfg,
    /// Where it returns to; none if it never does.
    pub ret: Option<Def>,
    /// The place that each return parameter of a nested continuation stands for.
    places: FxHashMap<Def, Def>,
}

impl Function {
    /// The place that a continuation in this function stands for: the function's
    /// own return parameter, a block, or another function.
    pub fn place(&self, mut def: Def) -> Def {
        // Continuations that only call each other return in a circle.
        for _ in 0..self.places.len() {
            let Some(&place) = self.places.get(&def) else { break };
            def = place;
        }
        def
    }
}

/// All functions that the outside can reach, exported ones first.
pub fn functions(world: &World) -> Result<Vec<Function>, Vec<CodegenError>> {
    let mut finder = Finder { world, seen: FxHashSet::default(), waiting: vec![], errors: vec![] };
    for (cont, data) in world.conts() {
        if matches!(data.linkage, nyala_ir::Linkage::Exported(_)) {
            finder.reach(cont);
        }
    }
    let mut functions = vec![];
    let mut next = 0;
    while let Some(&cont) = finder.waiting.get(next) {
        functions.extend(finder.function(cont));
        next += 1;
    }
    if finder.errors.is_empty() { Ok(functions) } else { Err(finder.errors) }
}

/// Callee without what the partial evaluator was told about it.
pub(crate) fn callee(world: &World, body: &Body) -> Def {
    let mut callee = body.callee;
    while let Node::Run(inner) | Node::Hide(inner) = world.node(callee) {
        callee = inner;
    }
    callee
}

struct Finder<'a> {
    world: &'a World,
    seen: FxHashSet<Cont>,
    waiting: Vec<Cont>,
    errors: Vec<CodegenError>,
}

impl Finder<'_> {
    fn reach(&mut self, cont: Cont) {
        if self.world.cont(cont).body.is_some() && self.seen.insert(cont) {
            self.waiting.push(cont);
        }
    }

    fn function(&mut self, cont: Cont) -> Option<Function> {
        let world = self.world;
        let cfg = Cfg::new(world, &Scope::new(world, cont));
        let ret = match returns(world, cont)[..] {
            [] => None,
            [(_, ret)] => Some(ret),
            _ => return self.function_value(cont, cont),
        };
        let places = self.places(&cfg)?;
        for body in cfg.conts().iter().filter_map(|&block| world.cont(block).body.as_ref()) {
            for def in std::iter::once(callee(world, body)).chain(body.args.iter().copied()) {
                if let Some(other) = world.as_cont(def).filter(|&other| cfg.index(other).is_none()) {
                    self.reach(other);
                }
            }
        }
        Some(Function { cont, cfg, ret, places })
    }

    /// Where each nested continuation with a return parameter returns to.
    fn places(&mut self, cfg: &Cfg) -> Option<FxHashMap<Def, Def>> {
        let world = self.world;
        let mut rets: FxHashMap<Cont, (usize, Def)> = FxHashMap::default();
        for &block in &cfg.conts()[1..] {
            match returns(world, block)[..] {
                [] => {}
                [ret] => drop(rets.insert(block, ret)),
                _ => return self.function_value(cfg.conts()[0], block),
            }
        }
        let mut places: FxHashMap<Def, Def> = FxHashMap::default();
        for body in cfg.conts().iter().filter_map(|&block| world.cont(block).body.as_ref()) {
            let Some(block) = world.as_cont(callee(world, body)) else { continue };
            let Some(&(index, ret)) = rets.get(&block) else { continue };
            let place = body.args[index];
            if place != ret && *places.entry(ret).or_insert(place) != place {
                let name = |cont: Cont| world.cont(cont).name.to_string();
                let (at, inside) = (world.cont(block).span, name(cfg.conts()[0]));
                self.errors.push(CodegenError::LocalFunction { at, name: name(block), inside });
                return None;
            }
        }
        Some(places)
    }

    fn function_value<T>(&mut self, user: Cont, at: Cont) -> Option<T> {
        let name = self.world.cont(user).name.to_string();
        self.errors.push(CodegenError::FunctionValue { at: self.world.cont(at).span, name });
        None
    }
}

/// The parameters of continuation type. More than one, or one that itself takes
/// continuations, is a function value; the latter is found where it is called.
fn returns(world: &World, cont: Cont) -> Vec<(usize, Def)> {
    let is_cn = |&(_, &param): &(usize, &Def)| matches!(world.types.kind(world.ty(param)), TyKind::Cn(_));
    let params = world.cont(cont).params.iter().enumerate();
    params.filter(is_cn).map(|(index, &param)| (index, param)).collect()
}
