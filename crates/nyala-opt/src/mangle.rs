//! Lambda mangling: a copy of a scope under other parameters.
//!
//! The copy may *drop* parameters, for which it uses given values instead, and
//! may *lift* values that are free in the scope to parameters. The original
//! stays, and so do its callers: the copy is equal to it under
//!
//! ```text
//! entry(args..) = copy(args that are not dropped.., values that are lifted..)
//! ```
//!
//! for all arguments that agree with the values dropped. Calls within the copy
//! that agree become calls of the copy, so a parameter that a recursion only
//! passes on disappears from it. (Leißa, Köster, Hack: "A graph-based higher-order
//! intermediate representation", CGO 2015.)
//!
//! # Invariants
//!
//! * Operations are rebuilt through the factories of the [`World`], so they
//!   fold with the dropped values. A `branch` or `switch` with a
//!   known condition becomes a jump; only reachable continuations are copied.
//! * The cost is linear in the scope; nothing recurses on its depth.

use nyala_ir::analysis::Scope;
use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, Ty, World};
use rustc_hash::FxHashMap;

/// How the copy of a scope differs from the original.
#[derive(Clone, Debug)]
pub struct Mangling<'a> {
    /// The scope to copy. Its lifted values (see [`Scope::lifting`]) become
    /// parameters, after those that are kept.
    pub scope: &'a Scope,
    /// For each parameter of the entry, the value that it is dropped for; it must
    /// be available wherever the copy is called.
    pub drop: Vec<Option<Def>>,
}

/// The entry of a copy of `scope`, with its lifted values as parameters and
/// without those for which `drop` has a value.
pub fn mangle(world: &mut World, scope: &Scope, drop: &[Option<Def>]) -> Cont {
    mangle_group(world, &[Mangling { scope, drop: drop.to_vec() }])[0]
}

/// The entries of copies that call each other wherever the original entries call
/// each other with arguments that agree: mutual recursion becomes a loop.
pub fn mangle_group(world: &mut World, group: &[Mangling<'_>]) -> Vec<Cont> {
    let span = world.span;
    let copies: Vec<Cont> = group.iter().map(|mangling| new_entry(world, mangling)).collect();
    for (mangling, &copy) in group.iter().zip(&copies) {
        Mangler::new(world, group, &copies, mangling, copy).run();
    }
    world.span = span;
    copies
}

/// The head of the copy: its parameters are those that are kept, then those lifted.
fn new_entry(world: &mut World, mangling: &Mangling<'_>) -> Cont {
    let old = world.cont(mangling.scope.entry()).clone();
    debug_assert_eq!(old.params.len(), mangling.drop.len());
    let sources: Vec<Def> =
        kept(&old.params, mangling).chain(mangling.scope.lifted().iter().copied()).collect();
    let tys: Vec<Ty> = sources.iter().map(|&def| world.ty(def)).collect();
    world.span = old.span;
    let new = world.new_cont(old.name, &tys);
    copy_names(world, &sources, new);
    new
}

/// Of `all`, one for each parameter of the entry, those that belong to a parameter that is kept.
fn kept<'a>(all: &'a [Def], mangling: &'a Mangling<'_>) -> impl Iterator<Item = Def> + 'a {
    all.iter().zip(&mangling.drop).filter(|(_, drop)| drop.is_none()).map(|(&def, _)| def)
}

fn copy_names(world: &mut World, old: &[Def], new: Cont) {
    for (index, &old_def) in old.iter().enumerate() {
        if let Some(name) = world.name(old_def) {
            world.set_name(world.param(new, index), name);
        }
    }
}

/// Makes one copy.
struct Mangler<'a> {
    world: &'a mut World,
    group: &'a [Mangling<'a>],
    copies: &'a [Cont],
    mangling: &'a Mangling<'a>,
    copy: Cont,
    /// The nodes of the copy by old node.
    map: FxHashMap<Def, Def>,
    /// Old and new continuations whose bodies are still to be made.
    work: Vec<(Cont, Cont)>,
}

impl<'a> Mangler<'a> {
    fn new(
        world: &'a mut World,
        group: &'a [Mangling<'a>],
        copies: &'a [Cont],
        mangling: &'a Mangling<'a>,
        copy: Cont,
    ) -> Mangler<'a> {
        let mut map = FxHashMap::default();
        let new_params = &world.cont(copy).params;
        let (kept, lifted) = new_params.split_at(new_params.len() - mangling.scope.lifted().len());
        let mut kept = kept.iter().copied();
        map.extend(mangling.scope.lifted().iter().copied().zip(lifted.iter().copied()));
        for (&old_param, drop) in world.cont(mangling.scope.entry()).params.iter().zip(&mangling.drop) {
            let new = drop.or_else(|| kept.next());
            map.insert(old_param, new.expect("a new parameter for each one that is kept"));
        }
        Mangler { world, group, copies, mangling, copy, map, work: vec![] }
    }

    fn run(mut self) {
        let entry = self.mangling.scope.entry();
        self.entry_filter(entry);
        self.body(entry, self.copy);
        while let Some((old, new)) = self.work.pop() {
            self.filter(old, new);
            self.body(old, new);
        }
    }

    fn filter(&mut self, old: Cont, new: Cont) {
        let filter = self.world.cont(old).filter.clone();
        let filter: Defs = filter.iter().map(|&def| self.def(def)).collect();
        self.world.set_filter(new, filter);
    }

    /// Parameters keep their filters; lifted ones have the filter `false`.
    fn entry_filter(&mut self, entry: Cont) {
        let filter = self.world.cont(entry).filter.clone();
        if filter.is_empty() {
            return;
        }
        let old: Vec<Def> = kept(&filter, self.mangling).collect();
        let mut new: Vec<Def> = old.iter().map(|&def| self.def(def)).collect();
        let never = self.world.lit_bool(false);
        new.extend(self.mangling.scope.lifted().iter().map(|_| never));
        self.world.set_filter(self.copy, new);
    }

    fn body(&mut self, old: Cont, new: Cont) {
        let Some(mut body) = self.world.cont(old).body.clone() else { return };
        while let Some(next) = self.jump(&body) {
            body = next;
        }
        let callee = self.def(body.callee);
        let args = body.args.iter().map(|&arg| self.def(arg)).collect();
        let body = self.redirect(Body { callee, args, span: body.span });
        self.world.replace_body(new, Some(body));
    }

    /// The old body to continue with, if `body` branches on a condition that is known in the
    /// copy: that of the target, if this is its only use, else a jump to the target.
    fn jump(&mut self, body: &Body) -> Option<Body> {
        let target = self.known_target(body)?;
        let mem = body.args[0];
        let call = Body { callee: target, args: Defs::from_slice(&[mem]), span: body.span };
        let Some(cont) = self.world.as_cont(target).filter(|&cont| self.may_inline(cont)) else {
            return Some(call);
        };
        let new_mem = self.def(mem);
        self.map.insert(self.world.param(cont, 0), new_mem);
        self.world.cont(cont).body.clone()
    }

    fn may_inline(&self, cont: Cont) -> bool {
        let is_copied = self.map.contains_key(&self.world.cont_def(cont));
        self.mangling.scope.has_sole_user(cont) && !is_copied && self.world.cont(cont).body.is_some()
    }

    /// The target of a `branch` or `switch`, if it is known in the copy.
    fn known_target(&mut self, body: &Body) -> Option<Def> {
        match (self.world.as_intrinsic(body.callee)?, body.args.as_slice()) {
            (Intrinsic::Branch, &[_, cond, then, other]) => {
                let cond = self.def(cond);
                Some(if self.world.as_lit(cond)? != 0 { then } else { other })
            }
            (Intrinsic::Switch, &[_, value, default, ref cases @ ..]) => {
                let value = self.def(value);
                self.world.as_lit(value)?;
                // Literals are interned: the same value is the same node.
                let case = cases.chunks_exact(2).find(|case| case[0] == value);
                Some(case.map_or(default, |case| case[1]))
            }
            _ => None,
        }
    }

    /// A call of one of the copies instead, if `body` calls an original with
    /// arguments that agree with the dropped values.
    fn redirect(&mut self, body: Body) -> Body {
        let (original, mark) = self.world.without_mark(body.callee);
        let Some(original) = self.world.as_cont(original) else { return body };
        let agrees = |mangling: &Mangling<'_>| {
            let same = |(drop, &arg): (&Option<Def>, &Def)| drop.is_none_or(|drop| drop == arg);
            mangling.scope.entry() == original && mangling.drop.iter().zip(&body.args).all(same)
        };
        let Some(at) = self.group.iter().position(agrees) else { return body };
        let group = self.group;
        let mut args: Defs = kept(&body.args, &group[at]).collect();
        args.extend(group[at].scope.lifted().iter().map(|&lifted| self.def(lifted)));
        let copy = self.world.cont_def(self.copies[at]);
        let callee = mark.map_or(copy, |mark| self.world.mark(mark, copy));
        Body { callee, args, span: body.span }
    }

    /// The node for `old` in the copy. Operands come before users on an
    /// explicit stack.
    fn def(&mut self, old: Def) -> Def {
        let mut stack = vec![old];
        while let Some(&next) = stack.last() {
            if self.map.contains_key(&next) {
                stack.pop();
                continue;
            }
            if self.is_unchanged(next) {
                self.map.insert(next, next);
                continue;
            }
            let operands = self.world.operands(next);
            let before = stack.len();
            stack.extend(operands.iter().rev().filter(|operand| !self.map.contains_key(operand)));
            if stack.len() == before {
                let new = self.finish(next, &operands);
                self.map.insert(next, new);
                stack.pop();
            }
        }
        self.map[&old]
    }

    /// An operation that depends on nothing in the scope.
    fn is_unchanged(&self, old: Def) -> bool {
        let is_cont = matches!(self.world.node(old), Node::Cont(_));
        !is_cont && !self.mangling.scope.computes(old)
    }

    /// The node for an old one whose operands have been mapped.
    fn finish(&mut self, old: Def, old_operands: &[Def]) -> Def {
        if let Node::Cont(cont) = self.world.node(old) {
            return self.cont(cont);
        }
        let operands: Vec<Def> = old_operands.iter().map(|operand| self.map[operand]).collect();
        self.world.replace_operands(old, &operands)
    }

    /// A continuation of the scope is copied when it is first mentioned; all
    /// others, and the entry as a value, are shared.
    fn cont(&mut self, old: Cont) -> Def {
        let data = self.world.cont(old);
        if old == self.mangling.scope.entry() || !self.mangling.scope.contains(old) {
            return data.def;
        }
        let (name, span, old_params) = (data.name, data.span, data.params.clone());
        let tys: Vec<Ty> = old_params.iter().map(|&param| self.world.ty(param)).collect();
        self.world.span = span;
        let new = self.world.new_cont(name, &tys);
        copy_names(self.world, &old_params, new);
        for (index, &old_param) in old_params.iter().enumerate() {
            self.map.insert(old_param, self.world.param(new, index));
        }
        self.work.push((old, new));
        self.world.cont_def(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_ir::{ArithFlags, ArithOp, Linkage, Prim, verify};

    #[test]
    fn a_long_expression_is_rewritten_without_recursion() {
        let len = 100_000;
        let mut world = World::new();
        let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
        let ret = world.types.cn(&[mem, i32]);
        let main = world.new_cont("main", &[mem, i32, i32, ret]);
        let mut value = world.param(main, 1);
        for _ in 0..len {
            value = world.arith(ArithOp::Mul, ArithFlags::STRICT, value, world.param(main, 2));
        }
        world.set_body(main, world.param(main, 3), [world.param(main, 0), value]);
        let scope = Scope::new(&world, main);
        let before = world.node_count();
        let copy = mangle(&mut world, &scope, &[None; 4]);
        world.set_linkage(copy, Linkage::Exported("copy".into()));
        // One continuation, four parameters, and every operation again.
        assert_eq!(world.node_count() - before, len + 5);
        verify(&world).expect("the copy is well-formed");
    }
}
