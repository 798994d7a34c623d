//! Jumps out of the bodies of `parallel`, `vectorize`, `spawn` and kernels.
//!
//! Instances of such a body run in parallel, so none of them can continue with the code behind the loop or make the
//! enclosing function return. A body does so if it depends on a return continuation from outside.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::analysis::{DomTree, References};
use nyala_ir::{Body, Cont, Def, Intrinsic, Node, World};
use nyala_span::{Diagnostic, Span};

use crate::errors::jump_out;

/// An error for each jump out of a known body.
///
/// Before: an evaluated program, so that the bodies of generators are known.
pub fn jumps_out(world: &World) -> Vec<Diagnostic> {
    let sites: Vec<Site> =
        world.conts().filter_map(|(_, data)| Site::new(world, data.body.as_ref()?)).collect();
    if sites.is_empty() {
        return vec![];
    }
    let refs = References::of_program(world);
    let doms = DomTree::new(refs.graph(), refs.root());
    sites.iter().flat_map(|site| site.reports(world, &refs, &doms)).collect()
}

/// A call with a body that jumps out of it.
struct Site {
    intrinsic: Intrinsic,
    span: Span,
    body: Cont,
    /// The return continuations from outside that the body depends on.
    outer: Vec<Def>,
}

impl Site {
    fn new(world: &World, call: &Body) -> Option<Site> {
        let intrinsic = world.as_intrinsic(call.callee).filter(|callee| callee.declaration().takes_body)?;
        let (_, args) = call.args.split_last()?;
        let body = args.iter().rev().find_map(|&arg| world.as_cont(arg))?;
        let mut outer = world.cont_free_params(body);
        outer.retain(|&param| is_return(&world.types, world.ty(param)));
        (!outer.is_empty()).then_some(Site { intrinsic, span: call.span, body, outer })
    }

    /// A report for each jump; for the call if evaluation has removed their places.
    fn reports(&self, world: &World, refs: &References, doms: &DomTree) -> Vec<Diagnostic> {
        let Some(entry) = refs.index(world.cont_def(self.body)) else { return vec![] };
        let is_inside = |def: Def| refs.index(def).is_some_and(|vertex| doms.dominates(entry, vertex));
        let conts = refs.conts(world).filter(|&cont| is_inside(world.cont_def(cont)));
        let bodies = conts.filter_map(|cont| world.cont(cont).body.as_ref());
        let jumps = bodies.filter(|body| self.leaves(world, body, is_inside)).map(|body| body.span);
        let mut places: Vec<Span> = jumps.filter(|place| !place.is_none()).collect();
        if places.is_empty() {
            places.push(self.span);
        }
        places.into_iter().map(|place| jump_out(place, self.span, self.intrinsic.name())).collect()
    }

    /// Whether a call inside of the body has a continuation outside of it as callee or argument.
    fn leaves(&self, world: &World, call: &Body, is_inside: impl Fn(Def) -> bool) -> bool {
        let mut leaves = false;
        let operands = std::iter::once(call.callee).chain(call.args.iter().copied());
        for_each_node(world, operands, |def| {
            leaves |= match world.node(def) {
                Node::Param { .. } => self.outer.contains(&def),
                Node::Cont(cont) => !is_inside(def) && self.leads_out(world, cont),
                _ => false,
            }
        });
        leaves
    }

    /// Whether `cont` is a block that depends on a return continuation from outside.
    fn leads_out(&self, world: &World, cont: Cont) -> bool {
        let free = world.cont_free_set(cont);
        is_return(&world.types, world.cont(cont).ty)
            && self.outer.iter().any(|&outer| world.set_contains(free, outer))
    }
}
