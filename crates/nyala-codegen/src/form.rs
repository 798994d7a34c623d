//! The functions of a program and their basic blocks.
//!
//! The program is in control-flow form (see [`nyala_ir::analysis::functions`]), as far
//! as that is possible; what stands against it is found here, or when it is written.
//! Blocks are nested in their function. A continuation that neither is nested nor
//! returns counts as a function, even if it is used as a block: to jump there is to
//! call it.

use nyala_ir::analysis::{Cfg, Scope};
use nyala_ir::{Body, Cont, Def, Node, TyKind, World};
use rustc_hash::FxHashSet;

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
            [ret] => Some(ret),
            _ => return self.function_value(cont),
        };
        for &block in &cfg.conts()[1..] {
            if !returns(world, block).is_empty() {
                return self.closure(&cfg, block);
            }
        }
        for body in cfg.conts().iter().filter_map(|&block| world.cont(block).body.as_ref()) {
            for def in std::iter::once(callee(world, body)).chain(body.args.iter().copied()) {
                if let Some(other) = world.as_cont(def).filter(|&other| cfg.index(other).is_none()) {
                    self.reach(other);
                }
            }
        }
        Some(Function { cont, cfg, ret })
    }

    /// Reports a function that closes over values of the function it is in: whoever
    /// gets it needs it as a value.
    fn closure<T>(&mut self, cfg: &Cfg, closure: Cont) -> Option<T> {
        let world = self.world;
        let bodies = cfg.conts().iter().filter_map(|&block| world.cont(block).body.as_ref());
        let user = bodies.into_iter().find(|body| body.args.contains(&world.cont_def(closure)));
        let at = user.map_or(world.cont(closure).span, |user| user.span);
        let intrinsic = user.and_then(|user| world.as_intrinsic(callee(world, user)));
        self.errors.push(match intrinsic {
            Some(intrinsic) => CodegenError::Unsupported { at, what: format!("`{}`", intrinsic.name()) },
            None => CodegenError::FunctionValue { at, name: world.cont(cfg.conts()[0]).name.to_string() },
        });
        None
    }

    fn function_value<T>(&mut self, cont: Cont) -> Option<T> {
        let name = self.world.cont(cont).name.to_string();
        self.errors.push(CodegenError::FunctionValue { at: self.world.cont(cont).span, name });
        None
    }
}

/// The parameters of continuation type. More than one, or one that itself takes
/// continuations, is a function value; the latter is found where it is called.
fn returns(world: &World, cont: Cont) -> Vec<Def> {
    let is_cn = |&&param: &&Def| matches!(world.types.kind(world.ty(param)), TyKind::Cn(_));
    world.cont(cont).params.iter().filter(is_cn).copied().collect()
}
