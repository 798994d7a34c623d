//! Gives every function one return continuation.
//!
//! A function may take several continuations: one to return, others to leave
//! a search or to raise an exception. Machines have one way to return. So
//!
//! ```text
//! f(mem, x, found: cn(mem, i32), ret: cn(mem))
//! ```
//!
//! becomes a function that returns the number of the continuation, and the values for it:
//!
//! ```text
//! f(mem, x, ret: cn(mem, i32, i32))
//! ```
//!
//! The caller dispatches to one of the continuations. If that is a
//! parameter of the caller, the caller returns in turn: leaving several calls
//! costs one test for each.
//!
//! # Invariants
//!
//! * Only functions that are never values are changed, and only if their continuations are only
//!   called or passed on to calls, so that all uses are known.
//! * A function that passes on all its continuations in a tail call passes on the merged one:
//!   tail calls stay tail calls.

use nyala_ir::analysis::References;
use nyala_ir::analysis::functions::{is_return, is_target};
use nyala_ir::analysis::references::is_operation;
use nyala_ir::{Body, Cont, Def, Defs, Linkage, Node, Prim, Ty, World};
use nyala_span::Span;
use rustc_hash::FxHashMap;

use crate::rewrite::Rewriter;

/// Merges the return continuations of functions that take several; whether there was one.
///
/// Before: any verified world. After: functions with several such parameters are used as
/// values, or use the parameters so.
pub fn merge_returns(world: &mut World) -> bool {
    let refs = References::of_program(world);
    let conts: Vec<Cont> = refs.conts(world).collect();
    let candidates = Candidates::new(world, &refs, &conts);
    if candidates.returns.is_empty() {
        return false;
    }
    let mut heads = FxHashMap::default();
    let mut rewriter = Rewriter::new(world);
    for &cont in conts.iter().filter(|cont| candidates.returns.contains_key(cont)) {
        heads.insert(cont, new_head(&mut rewriter, cont, &candidates.returns[&cont]));
    }
    let mut merger = Merger { rewriter, candidates: &candidates, heads };
    for &cont in &conts {
        merger.rewrite(cont);
    }
    true
}

/// The functions that are changed.
struct Candidates {
    /// The parameters of each that are return continuations, by index.
    returns: FxHashMap<Cont, Vec<usize>>,
}

impl Candidates {
    fn new(world: &World, refs: &References, conts: &[Cont]) -> Candidates {
        let mut candidates = Candidates { returns: FxHashMap::default() };
        for &cont in conts {
            let data = world.cont(cont);
            let is_return_param = |&index: &usize| is_return(&world.types, world.ty(data.params[index]));
            let returns: Vec<usize> = (0..data.params.len()).filter(is_return_param).collect();
            let ends_with_one = returns.last() == Some(&data.params.len().wrapping_sub(1));
            if ends_with_one && returns.len() > 1 && data.linkage == Linkage::Internal && data.body.is_some()
            {
                candidates.returns.insert(cont, returns);
            }
        }
        for &def in refs.nodes().iter().filter(|&&def| is_operation(world, def)) {
            world.for_each_operand(def, |operand| candidates.reject_value(world, operand));
        }
        for (_, global) in world.globals() {
            global.init.into_iter().for_each(|init| candidates.reject_value(world, init));
        }
        // The arguments of a rejected function are used as values.
        let mut before = usize::MAX;
        while candidates.returns.len() < before {
            before = candidates.returns.len();
            for &cont in conts {
                candidates.visit(world, cont);
            }
        }
        candidates
    }

    fn visit(&mut self, world: &World, cont: Cont) {
        let data = world.cont(cont);
        data.filter.iter().for_each(|&filter| self.reject_value(world, filter));
        let Some(body) = &data.body else { return };
        let callee = world.as_cont(body.callee);
        for (index, &arg) in body.args.iter().enumerate() {
            let is_return_param =
                callee.and_then(|callee| self.returns.get(&callee)).is_some_and(|p| p.contains(&index));
            match world.as_cont(arg) {
                Some(mentioned) => drop(self.returns.remove(&mentioned)),
                None if !is_return_param && !is_target(world, body, index) => self.reject_value(world, arg),
                None => {}
            }
        }
    }

    /// Notes that `def` is used as a value.
    fn reject_value(&mut self, world: &World, def: Def) {
        match world.node(def) {
            Node::Cont(cont) => drop(self.returns.remove(&cont)),
            Node::Param { cont, .. } if self.place(world, def).is_some() => drop(self.returns.remove(&cont)),
            _ => {}
        }
    }

    /// The function that has `def` as a return continuation, and its number among them.
    fn place(&self, world: &World, def: Def) -> Option<(Cont, usize)> {
        let Node::Param { cont, index } = world.node(def) else { return None };
        let number = self.returns.get(&cont)?.iter().position(|&place| place == index as usize)?;
        Some((cont, number))
    }
}

/// The function with one return continuation.
fn new_head(rewriter: &mut Rewriter<'_>, old: Cont, returns: &[usize]) -> Cont {
    let world = &mut *rewriter.world;
    let data = world.cont(old).clone();
    let mut merged = vec![world.types.mem(), world.types.prim(Prim::I32)];
    for &place in returns {
        merged.extend(payload(world, world.ty(data.params[place])));
    }
    let kept: Vec<Def> =
        (0..data.params.len()).filter(|at| !returns.contains(at)).map(|at| data.params[at]).collect();
    let mut tys: Vec<Ty> = kept.iter().map(|&param| world.ty(param)).collect();
    tys.push(world.types.cn(&merged));
    world.span = data.span;
    let new = world.new_cont(data.name, &tys);
    let sources = kept.iter().chain(data.params.last());
    for (index, &source) in sources.enumerate() {
        let param = world.param(new, index);
        if let Some(name) = world.name(source) {
            world.set_name(param, name);
        }
    }
    for (index, param) in kept.into_iter().enumerate() {
        let new_param = rewriter.world.param(new, index);
        rewriter.replace(param, new_param);
    }
    new
}

/// The types that a return continuation takes besides memory.
fn payload(world: &World, place: Ty) -> Vec<Ty> {
    let params = world.types.as_cn(place).unwrap_or(&[]);
    params.iter().copied().filter(|&param| param != world.types.mem()).collect()
}

struct Merger<'a> {
    rewriter: Rewriter<'a>,
    candidates: &'a Candidates,
    /// The new heads of functions.
    heads: FxHashMap<Cont, Cont>,
}

impl Merger<'_> {
    fn rewrite(&mut self, old: Cont) {
        let Some(body) = self.rewriter.world.cont(old).body.clone() else { return };
        let new = self.heads.get(&old).copied().unwrap_or(old);
        let body = self.body(&body);
        self.rewriter.world.replace_body(new, Some(body));
    }

    fn body(&mut self, old: &Body) -> Body {
        let callee = self.rewriter.world.as_cont(old.callee);
        if let Some(callee) = callee.filter(|callee| self.heads.contains_key(callee)) {
            return self.call(callee, old);
        }
        let mut args = Defs::new();
        for (index, &arg) in old.args.iter().enumerate() {
            let is_return_param = self.candidates.place(self.rewriter.world, arg).is_some();
            args.push(match is_return_param && is_target(self.rewriter.world, old, index) {
                true => self.adapter(arg, old.span),
                false => self.rewriter.def(arg),
            });
        }
        self.jump_to(old.callee, args, old.span)
    }

    /// A call of the old continuation `place`, which may be one of several of a function.
    fn jump_to(&mut self, place: Def, args: Defs, span: Span) -> Body {
        let Some((function, number)) = self.candidates.place(self.rewriter.world, place) else {
            return Body { callee: self.rewriter.def(place), args, span };
        };
        let world = &mut *self.rewriter.world;
        let mem = args.iter().copied().find(|&arg| world.ty(arg) == world.types.mem());
        let mem = mem.unwrap_or_else(|| world.undef(world.types.mem()));
        let mut payload_args = args.into_iter().filter(|&arg| arg != mem);
        let mut merged = Defs::from_slice(&[mem, world.lit_i32(number as i32)]);
        for (at, &index) in self.candidates.returns[&function].iter().enumerate() {
            for ty in payload(world, world.ty(world.param(function, index))) {
                let own = if at == number { payload_args.next() } else { None };
                merged.push(own.unwrap_or_else(|| world.undef(ty)));
            }
        }
        Body { callee: self.merged_return(function), args: merged, span }
    }

    /// The merged return continuation of a function.
    fn merged_return(&self, function: Cont) -> Def {
        *self.rewriter.world.cont(self.heads[&function]).params.last().expect("it was added last")
    }

    /// A block that calls a return continuation of a function.
    fn adapter(&mut self, place: Def, span: Span) -> Def {
        let world = &mut *self.rewriter.world;
        let tys = world.types.as_cn(world.ty(place)).unwrap_or(&[]).to_vec();
        world.span = span;
        let block = world.new_cont("leave", &tys);
        let args = world.cont(block).params.clone();
        let body = self.jump_to(place, args, span);
        self.rewriter.world.replace_body(block, Some(body));
        self.rewriter.world.cont_def(block)
    }

    /// A call of a function that is changed.
    fn call(&mut self, callee: Cont, old: &Body) -> Body {
        let returns = &self.candidates.returns[&callee];
        let targets: Vec<Def> = returns.iter().map(|&place| old.args[place]).collect();
        let mut args = Defs::new();
        for (_, &arg) in old.args.iter().enumerate().filter(|(index, _)| !returns.contains(index)) {
            args.push(self.rewriter.def(arg));
        }
        args.push(match self.passed_on(callee, &targets) {
            Some(place) => place,
            None => self.dispatch(callee, &targets, old.span),
        });
        Body { callee: self.rewriter.world.cont_def(self.heads[&callee]), args, span: old.span }
    }

    /// The merged return continuation of the caller, if the callee gets all its continuations in order.
    fn passed_on(&self, callee: Cont, targets: &[Def]) -> Option<Def> {
        let world = &*self.rewriter.world;
        let (caller, _) = self.candidates.place(world, targets[0])?;
        let all =
            (0..targets.len()).all(|at| self.candidates.place(world, targets[at]) == Some((caller, at)));
        let merged = self.merged_return(caller);
        let is_same = world.ty(merged) == world.ty(self.merged_return(callee));
        (all && is_same && self.candidates.returns[&caller].len() == targets.len()).then_some(merged)
    }

    /// A block that jumps to the target whose number it gets.
    fn dispatch(&mut self, callee: Cont, targets: &[Def], span: Span) -> Def {
        let world = &mut *self.rewriter.world;
        world.span = span;
        let ty = world.ty(*world.cont(self.heads[&callee]).params.last().expect("it was added last"));
        let tys = world.types.as_cn(ty).expect("a return continuation is a continuation").to_vec();
        let block = world.new_cont("returned", &tys);
        let params = world.cont(block).params.clone();
        let mut rest = params[2..].iter().copied();
        let mut arms = vec![];
        for (number, &target) in targets.iter().enumerate() {
            let place = self.candidates.returns[&callee][number];
            let ret_ty = self.rewriter.world.ty(self.rewriter.world.param(callee, place));
            arms.push(self.arm(target, ret_ty, &mut rest, span));
        }
        let world = &mut *self.rewriter.world;
        world.span = span;
        let last = arms.pop().expect("there are several continuations");
        let cases: Vec<(Def, Def)> =
            arms.into_iter().zip(0..).map(|(arm, number)| (world.lit_i32(number), arm)).collect();
        world.set_switch(block, params[0], params[1], last, &cases);
        world.cont_def(block)
    }

    /// A block that passes the values for `target`.
    fn arm(&mut self, target: Def, place: Ty, rest: &mut impl Iterator<Item = Def>, span: Span) -> Def {
        let world = &mut *self.rewriter.world;
        let mem_ty = world.types.mem();
        world.span = span;
        let arm = world.new_cont("to", &[mem_ty]);
        let mem = world.param(arm, 0);
        let params = world.types.as_cn(place).unwrap_or(&[]).to_vec();
        let args =
            params.iter().map(|&ty| if ty == mem_ty { mem } else { rest.next().expect("one for each") });
        let args = args.collect();
        let body = self.jump_to(target, args, span);
        self.rewriter.world.replace_body(arm, Some(body));
        self.rewriter.world.cont_def(arm)
    }
}
