//! Which continuations are functions, and which are the basic blocks of which.
//!
//! A program is in *control-flow form* if it is made of
//!
//! * *functions*, with parameters `(mem, data.., ret)`; `ret`, the return continuation,
//!   is missing if the function never returns. Only the function itself
//!   and its blocks use `ret`, to call it or to pass it in a tail call;
//! * *basic blocks* of one function each. They are only called, targets of `branch`
//!   and `switch`, or return continuations of calls.
//!
//! A function that is only called depends on no other function's values. One that is
//! used as a *value* may: these values are its [captures](Function::captures), and
//! a use of the function as a value makes a closure over them. The bodies that
//! `parallel`, `vectorize` and kernels get are such values.
//!
//! [`Functions`] finds this structure in any program, and the violations of it:
//! [`Functions::obstacles`]. With [`Styles`] even escapes are part of it: a function
//! whose `ret` is used as a value gets it as a parameter like any other.
//!
//! # Return or function?
//!
//! In a program of continuations `fn(i32) -> !` and a return continuation that takes an `i32`
//! have the same type. Types decide: the last parameter of a callee is its return
//! continuation, if it is a continuation that does not itself return. What is
//! passed in any other position is a value.

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::references::{References, for_each_node, is_operation, owner};
use super::schedule::has_effect;
use super::styles::Styles;
use crate::node::{Body, Cont, Def, Intrinsic, Linkage, Node};
use crate::types::{Ty, TyKind, Types};
use crate::world::World;

/// The functions of a program.
#[derive(Clone, Debug)]
pub struct Functions {
    all: Vec<Function>,
    index: FxHashMap<Cont, usize>,
    styles: Styles,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its entry.
    pub entry: Cont,
    /// Where it returns to: its last parameter. None if it never returns, or if
    /// the place is a value (see [`Styles`]).
    pub ret: Option<Def>,
    /// Its basic blocks, the entry first.
    pub blocks: Vec<Cont>,
    /// The values of other functions that it, or a function it mentions, needs.
    pub captures: Vec<Def>,
    /// Whether it is used as a value, not only called.
    pub is_value: bool,
    /// Whether a value of it may be there when the function that made it is not: it is not
    /// only the body of a `parallel` or `vectorize`.
    pub may_outlive: bool,
    /// The functions that it mentions.
    pub mentions: Vec<Cont>,
    /// Whether it would be a block, if another function were not nested in one activation of it
    /// and started another one. Even who jumps to it calls it.
    pub is_re_entered: bool,
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
    /// The functions of a well-formed program, as if all of them could return directly.
    pub fn new(world: &World) -> Functions {
        Functions::with_styles(world, Styles::default())
    }

    /// The functions of a well-formed program, in the styles that they need.
    pub fn styled(world: &World) -> Functions {
        let mut functions = Functions::new(world);
        loop {
            let styles = Styles::of(world, &functions);
            if styles == functions.styles {
                return functions;
            }
            // Where calls return to may be functions now.
            functions = Functions::with_styles(world, styles);
        }
    }

    fn with_styles(world: &World, styles: Styles) -> Functions {
        let mut roles = Roles::new(world, &styles);
        let mut functions = Functions { all: vec![], index: FxHashMap::default(), styles };
        loop {
            functions.all.clear();
            for &entry in roles.conts.iter().filter(|&&cont| roles.is_function(world, cont)) {
                functions.index.insert(entry, functions.all.len());
                functions.all.push(Function::new(world, &roles, &functions.styles, entry));
            }
            let re_entered = functions.all.iter().flat_map(|function| function.re_entered(world));
            let re_entered: Vec<Cont> = re_entered.collect();
            if re_entered.is_empty() {
                break;
            }
            re_entered.into_iter().for_each(|cont| roles.is_re_entered[cont] = true);
        }
        functions.find_captures(world);
        functions
    }

    /// How functions return.
    pub fn styles(&self) -> &Styles {
        &self.styles
    }

    /// All of them, in the order found from the roots of the program.
    pub fn all(&self) -> &[Function] {
        &self.all
    }

    /// The function with this `entry`.
    pub fn get(&self, entry: Cont) -> Option<&Function> {
        self.index.get(&entry).map(|&at| &self.all[at])
    }

    /// The captures of a continuation that is used as a value.
    pub fn captures(&self, cont: Cont) -> &[Def] {
        self.get(cont).map_or(&[], |function| &function.captures)
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

    /// The violations of control-flow form.
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
                function
                    .kept_return(world, &self.styles)
                    .map(|ret| Obstacle::Escape { from: function.entry, ret }),
            );
        }
        obstacles
    }
}

impl Function {
    fn new(world: &World, roles: &Roles, styles: &Styles, entry: Cont) -> Function {
        let ret = return_param(world, entry).filter(|_| !styles.is_passing(entry));
        let mut function = Function {
            entry,
            ret,
            blocks: vec![entry],
            captures: vec![],
            is_value: roles.is_value[entry],
            may_outlive: roles.may_outlive[entry],
            mentions: vec![],
            is_re_entered: roles.is_re_entered[entry],
            members: FxHashSet::from_iter([entry]),
        };
        let mut at = 0;
        while let Some(&block) = function.blocks.get(at) {
            if let Some(body) = &world.cont(block).body {
                function.look_at(world, roles, styles, body);
            }
            at += 1;
        }
        let mut seen = FxHashSet::default();
        function.mentions.retain(|&mentioned| seen.insert(mentioned));
        function
    }

    fn look_at(&mut self, world: &World, roles: &Roles, styles: &Styles, body: &Body) {
        let uses = Uses::of(world, styles, body);
        if let Some(callee) = world.as_cont(body.callee) {
            if roles.is_function(world, callee) {
                self.mentions.push(callee);
            } else {
                self.add_block(world, callee);
            }
        }
        for target in uses.targets.iter().filter_map(|&target| world.as_cont(target)) {
            if roles.is_re_entered[target] {
                self.mentions.push(target);
            } else {
                self.add_block(world, target);
            }
        }
        // Many bodies may share long chains of operations, most of which mention no function.
        let values = uses.values.into_iter().filter(|&value| world.contains_conts(value));
        for_each_node(world, values, |def| {
            self.mentions.extend(world.as_cont(def).filter(|&cont| world.cont(cont).body.is_some()));
        });
    }

    fn add_block(&mut self, world: &World, cont: Cont) {
        if world.cont(cont).body.is_some() && self.members.insert(cont) {
            self.blocks.push(cont);
        }
    }

    /// The blocks in which the function is nested: in one activation of the block, whose
    /// values it needs, while it starts another one. A loop whose body is a value is such a block.
    fn re_entered(&self, world: &World) -> Vec<Cont> {
        let free = world.cont_free_params(self.entry);
        let owners: FxHashSet<Cont> = free.iter().map(|&param| owner(world, param)).collect();
        self.blocks[1..].iter().copied().filter(|block| owners.contains(block)).collect()
    }

    /// Whether `cont` is one of its blocks.
    pub fn contains(&self, cont: Cont) -> bool {
        self.members.contains(&cont)
    }

    /// Whether `def` depends on something that the function computes.
    pub fn computes(&self, world: &World, def: Def) -> bool {
        world.free_params(def).iter().any(|&param| self.contains(owner(world, param)))
    }

    /// The uses in its blocks.
    pub fn bodies<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Body> + 'a {
        self.blocks.iter().filter_map(|&block| world.cont(block).body.as_ref())
    }

    /// Its own `ret`, if it is used as a value.
    pub(super) fn kept_return(&self, world: &World, styles: &Styles) -> Option<Def> {
        let mut values = self.bodies(world).flat_map(|body| Uses::of(world, styles, body).values);
        self.ret.filter(|&ret| values.any(|value| world.has_mention(value, ret)))
    }
}

/// The parameter of a continuation that is, by its type, its return continuation.
pub fn return_param(world: &World, cont: Cont) -> Option<Def> {
    world.cont(cont).params.last().copied().filter(|&last| is_return(&world.types, world.ty(last)))
}

/// The uses of operands in a body.
pub struct Uses {
    /// Where control may go: targets of jumps, and the place a call returns to.
    pub targets: Vec<Def>,
    /// The arguments, and the callee if it is computed.
    pub values: Vec<Def>,
}

impl Uses {
    /// Of one body.
    pub fn of(world: &World, styles: &Styles, body: &Body) -> Uses {
        let mut uses = Uses { targets: vec![], values: vec![] };
        if is_operation(world, body.callee) {
            uses.values.push(body.callee);
        }
        for (index, &arg) in body.args.iter().enumerate() {
            let is_target = styles.is_target(world, body, index);
            if is_target { &mut uses.targets } else { &mut uses.values }.push(arg);
        }
        uses
    }
}

/// Whether argument `index` of a call is a place where control may go from there.
/// One that is computed is a value first of all.
pub fn is_target(world: &World, body: &Body, index: usize) -> bool {
    let is_known = matches!(world.node(body.args[index]), Node::Cont(_) | Node::Param { .. });
    is_known && is_place(world, body, index)
}

/// Whether control may go to argument `index` of a call from there, computed or not.
pub(super) fn is_place(world: &World, body: &Body, index: usize) -> bool {
    let ty = world.ty(body.args[index]);
    match world.as_intrinsic(body.callee) {
        Some(Intrinsic::Branch | Intrinsic::Switch) => world.types.as_cn(ty).is_some(),
        _ => index + 1 == body.args.len() && is_return(&world.types, ty),
    }
}

/// Whether a value of type `ty` is a return continuation rather than a function:
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

/// Whether all instances of a body end before its intrinsic returns.
fn awaits_body(intrinsic: Intrinsic) -> bool {
    matches!(intrinsic, Intrinsic::Parallel | Intrinsic::Fibers | Intrinsic::Vectorize | Intrinsic::Pipeline)
}

/// How continuations are mentioned.
struct Roles {
    conts: Vec<Cont>,
    is_value: SecondaryMap<Cont, bool>,
    may_outlive: SecondaryMap<Cont, bool>,
    is_target: SecondaryMap<Cont, bool>,
    /// See [`Function::re_entered`]: such blocks must be functions.
    is_re_entered: SecondaryMap<Cont, bool>,
}

impl Roles {
    fn new(world: &World, styles: &Styles) -> Roles {
        let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
        let mut roles = Roles {
            conts,
            is_value: SecondaryMap::new(),
            may_outlive: SecondaryMap::new(),
            is_target: SecondaryMap::new(),
            is_re_entered: SecondaryMap::new(),
        };
        let mut values: Vec<Def> = world.globals().filter_map(|(_, global)| global.init).collect();
        for body in roles.conts.iter().filter_map(|&cont| world.cont(cont).body.as_ref()) {
            let Uses { targets, values: mut used } = Uses::of(world, styles, body);
            if world.as_intrinsic(body.callee).is_some_and(awaits_body) {
                let bodies: Vec<Cont> = used.iter().filter_map(|&value| world.as_cont(value)).collect();
                bodies.into_iter().for_each(|cont| roles.is_value[cont] = true);
                used.retain(|&value| world.as_cont(value).is_none());
            }
            values.extend(used);
            for target in targets.into_iter().filter_map(|target| world.as_cont(target)) {
                roles.is_target[target] = true;
            }
        }
        for_each_node(world, values, |def| {
            if let Some(cont) = world.as_cont(def) {
                roles.is_value[cont] = true;
                roles.may_outlive[cont] = true;
            }
        });
        roles
    }

    fn is_function(&self, world: &World, cont: Cont) -> bool {
        let data = world.cont(cont);
        let returns = return_param(world, cont).is_some();
        let is_exported = matches!(data.linkage, Linkage::Exported(_));
        let is_called = returns && !self.is_target[cont];
        data.body.is_some() && (is_exported || self.is_value[cont] || self.is_re_entered[cont] || is_called)
    }
}

/// Finds the captures of a function.
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

/// Whether `def` is a parameter or part of the result of an effect.
fn is_source(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Param { .. } => true,
        Node::Extract { agg, .. } => has_effect(world, agg),
        _ => has_effect(world, def),
    }
}
