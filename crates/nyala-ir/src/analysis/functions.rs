//! Which continuations are functions, and which are the basic blocks of which.
//!
//! A program is in *control-flow form* if it is made of
//!
//! * *functions*, with parameters `(mem, data.., ret)`; `ret`, the place to return
//!   to, is missing if the function never returns. Only the function itself
//!   and its blocks use `ret`, to call it or to hand it to what they call last;
//! * *basic blocks* of one function each. They are only called, targets of `branch`
//!   and `switch`, or places where calls return to.
//!
//! A function that is only called depends on no other function's values. One that is
//! used as a *value* may: these values are its [captures](Function::captures), and
//! whoever needs the function as a value closes over them. The bodies that
//! `parallel`, `vectorize` and kernels get are such values.
//!
//! [`Functions`] finds this structure in any program, and what stands against it:
//! [`Functions::obstacles`].
//!
//! # Return or function?
//!
//! In a program of continuations `fn(i32) -> !` and the place where an `i32` is
//! returned to look the same. Types decide: the last parameter of a callee is where
//! it returns to, if it is a continuation that does not itself return. What is
//! handed over in any other place is a value.

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::references::{References, for_each_node, is_operation, owner};
use super::schedule::has_effect;
use crate::node::{Body, Cont, Def, Intrinsic, Linkage, Node};
use crate::types::{Ty, TyKind, Types};
use crate::world::World;

/// The functions of a program.
#[derive(Clone, Debug)]
pub struct Functions {
    all: Vec<Function>,
    index: FxHashMap<Cont, usize>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Where it begins.
    pub entry: Cont,
    /// Where it returns to: its last parameter.
    pub ret: Option<Def>,
    /// Its basic blocks, the entry first.
    pub blocks: Vec<Cont>,
    /// The values of other functions that it, or a function it mentions, needs.
    pub captures: Vec<Def>,
    /// Whether it is used as a value, not only called.
    pub is_value: bool,
    /// The functions that it mentions.
    pub mentions: Vec<Cont>,
    members: FxHashSet<Cont>,
}

/// Why a program is not in control-flow form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A function that is only called needs values of others.
    Nested(Cont),
    /// A block is a block of several functions.
    Shared(Cont),
    /// A function makes another one return: the place is captured.
    Escape {
        /// Who does.
        from: Cont,
        /// The place.
        ret: Def,
    },
}

impl Functions {
    /// The functions of a well-formed program.
    pub fn new(world: &World) -> Functions {
        let roles = Roles::new(world);
        let mut functions = Functions { all: vec![], index: FxHashMap::default() };
        for &entry in roles.conts.iter().filter(|&&cont| roles.is_function(world, cont)) {
            functions.index.insert(entry, functions.all.len());
            functions.all.push(Function::new(world, &roles, entry));
        }
        functions.find_captures(world);
        functions
    }

    /// All of them, in the order found from the roots of the program.
    pub fn all(&self) -> &[Function] {
        &self.all
    }

    /// The function that begins with `entry`.
    pub fn get(&self, entry: Cont) -> Option<&Function> {
        self.index.get(&entry).map(|&at| &self.all[at])
    }

    /// Whatever a function that is mentioned needs from outside must be at hand where it
    /// is mentioned.
    fn find_captures(&mut self, world: &World) {
        let mut finders: Vec<Captures> =
            self.all.iter().map(|function| Captures::of_bodies(world, function)).collect();
        let mut callers: Vec<Vec<usize>> = vec![vec![]; self.all.len()];
        for (at, function) in self.all.iter().enumerate() {
            for mentioned in &function.mentions {
                callers[self.index[mentioned]].push(at);
            }
        }
        let mut work: Vec<usize> = (0..self.all.len()).collect();
        while let Some(at) = work.pop() {
            let needed = finders[at].found.clone();
            for &caller in &callers[at] {
                let before = finders[caller].found.len();
                finders[caller].look_at(world, &self.all[caller], needed.iter().copied());
                if finders[caller].found.len() > before {
                    work.push(caller);
                }
            }
        }
        for (function, finder) in self.all.iter_mut().zip(finders) {
            function.captures = finder.found;
        }
    }

    /// What stands against control-flow form.
    pub fn obstacles(&self, world: &World) -> Vec<Obstacle> {
        let rets: FxHashSet<Def> = self.all.iter().filter_map(|function| function.ret).collect();
        let mut seen = FxHashSet::default();
        let mut obstacles = vec![];
        for function in &self.all {
            let escapes = function.captures.iter().copied().filter(|capture| rets.contains(capture));
            obstacles.extend(escapes.map(|ret| Obstacle::Escape { from: function.entry, ret }));
            if !function.captures.is_empty() && !function.is_value {
                obstacles.push(Obstacle::Nested(function.entry));
            }
            obstacles.extend(
                function.blocks.iter().filter(|&&block| !seen.insert(block)).map(|&b| Obstacle::Shared(b)),
            );
            obstacles.extend(
                function.kept_returns(world).map(|ret| Obstacle::Escape { from: function.entry, ret }),
            );
        }
        obstacles
    }
}

impl Function {
    fn new(world: &World, roles: &Roles, entry: Cont) -> Function {
        let ret =
            world.cont(entry).params.last().copied().filter(|&last| is_return(&world.types, world.ty(last)));
        let mut function = Function {
            entry,
            ret,
            blocks: vec![entry],
            captures: vec![],
            is_value: roles.is_value[entry],
            mentions: vec![],
            members: FxHashSet::from_iter([entry]),
        };
        let mut at = 0;
        while let Some(&block) = function.blocks.get(at) {
            if let Some(body) = &world.cont(block).body {
                function.look_at(world, roles, body);
            }
            at += 1;
        }
        let mut seen = FxHashSet::default();
        function.mentions.retain(|&mentioned| seen.insert(mentioned));
        function
    }

    fn look_at(&mut self, world: &World, roles: &Roles, body: &Body) {
        let uses = Uses::of(world, body);
        if let Some(callee) = world.as_cont(body.callee) {
            if roles.is_function(world, callee) {
                self.mentions.push(callee);
            } else {
                self.add_block(world, callee);
            }
        }
        for target in uses.targets.iter().filter_map(|&target| world.as_cont(target)) {
            self.add_block(world, target);
        }
        for_each_node(world, uses.values, |def| {
            self.mentions.extend(world.as_cont(def).filter(|&cont| world.cont(cont).body.is_some()));
        });
    }

    fn add_block(&mut self, world: &World, cont: Cont) {
        if world.cont(cont).body.is_some() && self.members.insert(cont) {
            self.blocks.push(cont);
        }
    }

    /// Whether `cont` is one of its blocks.
    pub fn contains(&self, cont: Cont) -> bool {
        self.members.contains(&cont)
    }

    /// Whether `def` depends on something that the function computes.
    pub fn computes(&self, world: &World, def: Def) -> bool {
        world.free_params(def).iter().any(|&param| self.contains(owner(world, param)))
    }

    /// Its own `ret`, where it is used as a value.
    fn kept_returns<'a>(&'a self, world: &'a World) -> impl Iterator<Item = Def> + 'a {
        let bodies = self.blocks.iter().filter_map(|&block| world.cont(block).body.as_ref());
        let values = bodies.flat_map(|body| Uses::of(world, body).values);
        let ret = self.ret;
        let mut mentioned = false;
        for_each_node(world, values, |def| mentioned |= Some(def) == ret);
        ret.filter(|_| mentioned).into_iter()
    }
}

/// What a body does with its operands.
pub struct Uses {
    /// Where control may go: targets of jumps, and the place a call returns to.
    pub targets: Vec<Def>,
    /// What is handed over, and the callee if it is computed.
    pub values: Vec<Def>,
}

impl Uses {
    /// Of one body.
    pub fn of(world: &World, body: &Body) -> Uses {
        let mut uses = Uses { targets: vec![], values: vec![] };
        if is_operation(world, body.callee) {
            uses.values.push(body.callee);
        }
        for (index, &arg) in body.args.iter().enumerate() {
            let is_target = is_target(world, body, index);
            if is_target { &mut uses.targets } else { &mut uses.values }.push(arg);
        }
        uses
    }
}

/// Whether argument `index` of a call is a place where control may go from there.
/// One that is computed is a value first of all.
pub fn is_target(world: &World, body: &Body, index: usize) -> bool {
    let is_place = matches!(world.node(body.args[index]), Node::Cont(_) | Node::Param { .. });
    match world.as_intrinsic(body.callee) {
        Some(Intrinsic::Branch | Intrinsic::Switch) => {
            is_place && world.types.as_cn(world.ty(body.args[index])).is_some()
        }
        _ => is_place && index + 1 == body.args.len() && is_return(&world.types, world.ty(body.args[index])),
    }
}

/// Whether a value of type `ty` is a place to return to rather than a function:
/// a continuation that does not itself return.
pub fn is_return(types: &Types, ty: Ty) -> bool {
    // Each level of the type turns the answer around.
    let (mut ty, mut returns) = (ty, false);
    while let TyKind::Cn(params) = types.kind(ty) {
        returns = !returns;
        match params.last() {
            Some(&last) => ty = last,
            None => break,
        }
    }
    returns
}

/// How continuations are mentioned.
struct Roles {
    conts: Vec<Cont>,
    is_value: SecondaryMap<Cont, bool>,
    is_target: SecondaryMap<Cont, bool>,
}

impl Roles {
    fn new(world: &World) -> Roles {
        let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
        let mut roles = Roles { conts, is_value: SecondaryMap::new(), is_target: SecondaryMap::new() };
        let mut values: Vec<Def> = world.globals().filter_map(|(_, global)| global.init).collect();
        for body in roles.conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()) {
            let uses = Uses::of(world, body);
            values.extend(uses.values);
            for target in uses.targets.into_iter().filter_map(|target| world.as_cont(target)) {
                roles.is_target[target] = true;
            }
        }
        for_each_node(world, values, |def| {
            if let Some(cont) = world.as_cont(def) {
                roles.is_value[cont] = true;
            }
        });
        roles
    }

    fn is_function(&self, world: &World, cont: Cont) -> bool {
        let data = world.cont(cont);
        let returns = data.params.last().is_some_and(|&last| is_return(&world.types, world.ty(last)));
        let is_exported = matches!(data.linkage, Linkage::Exported(_));
        data.body.is_some() && (is_exported || self.is_value[cont] || (returns && !self.is_target[cont]))
    }
}

/// Finds what a function needs from outside.
struct Captures {
    found: Vec<Def>,
    seen: FxHashSet<Def>,
}

impl Captures {
    fn of_bodies(world: &World, function: &Function) -> Captures {
        let mut captures = Captures { found: vec![], seen: FxHashSet::default() };
        for &block in &function.blocks {
            if let Some(body) = &world.cont(block).body {
                let roots = std::iter::once(body.callee).chain(body.args.iter().copied());
                captures.look_at(world, function, roots);
            }
        }
        captures
    }

    /// What effects outside have given is captured. Other operations are done again,
    /// where they are needed: they may fail, and must not if they are not needed.
    fn look_at(&mut self, world: &World, function: &Function, roots: impl Iterator<Item = Def>) {
        let mut stack: Vec<Def> = roots.collect();
        stack.reverse();
        while let Some(def) = stack.pop() {
            if matches!(world.node(def), Node::Cont(_)) || !self.seen.insert(def) {
                continue;
            }
            if is_source(world, def) && !function.computes(world, def) {
                self.found.push(def);
            } else {
                let first = stack.len();
                world.for_each_operand(def, |operand| stack.push(operand));
                stack[first..].reverse();
            }
        }
    }
}

/// Whether `def` is a parameter or part of what an effect gives.
fn is_source(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Param { .. } => true,
        Node::Extract { agg, .. } => has_effect(world, agg),
        _ => has_effect(world, def),
    }
}
