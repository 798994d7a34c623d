//! Brings a program into control-flow form: functions and their basic blocks.
//!
//! [`nyala_ir::analysis::functions`] defines the form. Partial evaluation leaves
//! functions that are nested in others, because they capture values, and blocks
//! that several functions share. After this pass
//!
//! * every function has its captures as parameters, before the return
//!   continuation (lambda lifting), and blocks of its own;
//! * a function with captures that is used as a value is a *closure*: a
//!   function that only calls the lifted one with the captures;
//! * an external function that is used as a value is a function that calls it;
//! * every target of a branch is a block, also if it was a return continuation.
//!
//! Escapes are left: a function that returns from an enclosing one.
//! [`Functions::obstacles`] finds them, and
//! [`convert_closures`](mod@crate::convert_closures) converts them.
//!
//! # Invariants
//!
//! * The meaning of the program does not change.
//! * Each function is built once; the cost is linear in the functions with their
//!   blocks. Nothing recurses on the depth of the program.

use nyala_ir::analysis::{Function, Functions};
use nyala_ir::{Body, Cont, Def, Defs, Global, Intrinsic, Node, Ty, World};
use nyala_span::Name;
use rustc_hash::FxHashMap;

/// Brings `world` into control-flow form, except for escapes.
///
/// Before: an evaluated program; filters are dropped. After: all obstacles that
/// [`Functions::obstacles`] finds are escapes.
pub fn lower_to_cff(world: &mut World) {
    let functions = Functions::new(world);
    lower(world, &functions);
}

/// Gives each of `functions` its captures as parameters, and blocks of its own.
pub(crate) fn lower(world: &mut World, functions: &Functions) {
    let heads = functions.all().iter().map(|function| (function.entry, head(world, function))).collect();
    let mut lowering = Lowering { world, functions, heads, bodies: vec![], wrappers: FxHashMap::default() };
    for function in functions.all() {
        lowering.function(function);
    }
    for global in lowering.world.globals().map(|(global, _)| global).collect::<Vec<_>>() {
        lowering.global(global);
    }
    // Bodies are set last: several functions may have read the same block.
    let bodies = std::mem::take(&mut lowering.bodies);
    for (cont, body) in bodies {
        world.set_filter(cont, vec![]);
        world.replace_body(cont, Some(body));
    }
}

/// The entry of a function with its captures as parameters. A function without captures
/// keeps its entry: it may be exported or in a global.
fn head(world: &mut World, function: &Function) -> Cont {
    if function.captures.is_empty() {
        return function.entry;
    }
    let data = world.cont(function.entry).clone();
    let mut sources = data.params;
    let at = sources.len() - usize::from(function.ret.is_some());
    sources.insert_many(at, function.captures.iter().copied());
    world.span = data.span;
    new_cont(world, data.name, &sources)
}

/// A continuation with parameters like `sources`.
fn new_cont(world: &mut World, name: Name, sources: &[Def]) -> Cont {
    let tys: Vec<Ty> = sources.iter().map(|&source| world.ty(source)).collect();
    let cont = world.new_cont(name, &tys);
    for (index, &source) in sources.iter().enumerate() {
        if let Some(name) = world.name(source) {
            world.set_name(world.param(cont, index), name);
        }
    }
    cont
}

struct Lowering<'a> {
    world: &'a mut World,
    functions: &'a Functions,
    /// The new entries of functions.
    heads: FxHashMap<Cont, Cont>,
    /// The bodies of new continuations.
    bodies: Vec<(Cont, Body)>,
    /// Functions that call external functions.
    wrappers: FxHashMap<Cont, Def>,
}

/// The function that is being built.
#[derive(Default)]
struct Context {
    /// The new values of old ones; blocks are separate from functions as values.
    values: FxHashMap<Def, Def>,
    blocks: FxHashMap<Cont, Cont>,
    /// Old and new blocks whose bodies are still to be made.
    work: Vec<(Cont, Cont)>,
}

impl Lowering<'_> {
    fn function(&mut self, function: &Function) {
        let head = self.heads[&function.entry];
        let mut context = Context::default();
        let old_params = self.world.cont(function.entry).params.clone();
        let at = old_params.len() - usize::from(function.ret.is_some());
        let old = old_params[..at].iter().chain(&function.captures).chain(&old_params[at..]);
        context.values.extend(old.copied().zip(self.world.cont(head).params.iter().copied()));
        context.work.push((function.entry, head));
        while let Some((old, new)) = context.work.pop() {
            let Some(body) = self.world.cont(old).body.clone() else { continue };
            let body = self.body(&mut context, &body);
            self.bodies.push((new, body));
        }
    }

    /// The initial value of a global, which depends on no parameter.
    fn global(&mut self, global: Global) {
        if let Some(init) = self.world.global(global).init {
            let init = self.def(&mut Context::default(), init);
            self.world.set_global_init(global, init);
        }
    }

    fn body(&mut self, context: &mut Context, body: &Body) -> Body {
        let is_jump =
            matches!(self.world.as_intrinsic(body.callee), Some(Intrinsic::Branch | Intrinsic::Switch));
        let mut args = Defs::with_capacity(body.args.len());
        for (index, &arg) in body.args.iter().enumerate() {
            args.push(match self.functions.styles().is_target(self.world, body, index) {
                true => self.target(context, arg, is_jump),
                false => self.def(context, arg),
            });
        }
        let callee = match self.world.as_cont(body.callee) {
            Some(callee) if self.world.cont(callee).body.is_none() => body.callee,
            Some(callee) => match self.functions.get(callee) {
                Some(function) => self.call(context, function, &mut args),
                None => self.block(context, callee),
            },
            None => self.def(context, body.callee),
        };
        Body { callee, args, span: body.span }
    }

    /// A call of a function passes its captures.
    fn call(&mut self, context: &mut Context, function: &Function, args: &mut Defs) -> Def {
        let captures: Vec<Def> = function.captures.iter().map(|&def| self.def(context, def)).collect();
        let at = args.len() - usize::from(function.ret.is_some());
        args.insert_many(at, captures);
        self.world.cont_def(self.heads[&function.entry])
    }

    /// The new target for an old one. The targets of a branch are blocks.
    fn target(&mut self, context: &mut Context, old: Def, is_jump: bool) -> Def {
        let functions = self.functions;
        match self.world.as_cont(old) {
            Some(cont) if self.world.cont(cont).body.is_some() => match functions.get(cont) {
                Some(function) if function.is_re_entered => self.block_that_enters(context, function),
                _ => self.block(context, cont),
            },
            None if !is_jump => self.def(context, old),
            _ => {
                let callee = self.def(context, old);
                self.block_that_calls(callee)
            }
        }
    }

    /// A block that passes its parameters to `callee`.
    fn block_that_calls(&mut self, callee: Def) -> Def {
        let tys = self.world.types.as_cn(self.world.ty(callee)).unwrap_or(&[]).to_vec();
        self.world.span = self.world.span_of(callee);
        let span = self.world.span;
        let block = self.world.new_cont("leave", &tys);
        let args = self.world.cont(block).params.clone();
        self.bodies.push((block, Body { callee, args, span }));
        self.world.cont_def(block)
    }

    /// A block that calls a function with its parameters.
    fn block_that_enters(&mut self, context: &mut Context, function: &Function) -> Def {
        let data = self.world.cont(function.entry).clone();
        self.world.span = data.span;
        let block = new_cont(self.world, data.name, &data.params);
        let mut args = self.world.cont(block).params.clone();
        let callee = self.call(context, function, &mut args);
        self.bodies.push((block, Body { callee, args, span: data.span }));
        self.world.cont_def(block)
    }

    /// The function's own copy of a block.
    fn block(&mut self, context: &mut Context, old: Cont) -> Def {
        if let Some(&new) = context.blocks.get(&old) {
            return self.world.cont_def(new);
        }
        let data = self.world.cont(old).clone();
        self.world.span = data.span;
        let new = new_cont(self.world, data.name, &data.params);
        context.values.extend(data.params.iter().copied().zip(self.world.cont(new).params.iter().copied()));
        context.blocks.insert(old, new);
        context.work.push((old, new));
        self.world.cont_def(new)
    }

    /// The new value of an old one. Operands come before users on an explicit stack.
    fn def(&mut self, context: &mut Context, old: Def) -> Def {
        let mut stack = vec![old];
        while let Some(&next) = stack.last() {
            if context.values.contains_key(&next) {
                stack.pop();
                continue;
            }
            let operands = self.operands(next);
            let before = stack.len();
            stack.extend(operands.iter().copied().filter(|operand| !context.values.contains_key(operand)));
            if stack.len() == before {
                let new: Vec<Def> = operands.iter().map(|operand| context.values[operand]).collect();
                let new = self.finish(next, &new);
                context.values.insert(next, new);
            }
        }
        context.values[&old]
    }

    /// The operands of an old value; those of a function are its captures.
    fn operands(&self, old: Def) -> Vec<Def> {
        match self.world.node(old) {
            Node::Cont(cont) => self.functions.get(cont).map_or(vec![], |function| function.captures.clone()),
            _ => self.world.operands(old),
        }
    }

    /// The new value for new operands.
    fn finish(&mut self, old: Def, operands: &[Def]) -> Def {
        match self.world.node(old) {
            Node::Cont(cont) => self.closure(cont, operands),
            _ => self.world.replace_operands(old, operands),
        }
    }

    /// A function as a value.
    fn closure(&mut self, cont: Cont, captures: &[Def]) -> Def {
        let Some(function) = self.functions.get(cont) else { return self.wrapper(cont) };
        let head = self.heads[&cont];
        if captures.is_empty() {
            return self.world.cont_def(head);
        }
        let data = self.world.cont(cont).clone();
        self.world.span = data.span;
        let closure = new_cont(self.world, data.name, &data.params);
        let mut args = self.world.cont(closure).params.clone();
        let at = args.len() - usize::from(function.ret.is_some());
        args.insert_many(at, captures.iter().copied());
        let callee = self.world.cont_def(head);
        self.bodies.push((closure, Body { callee, args, span: data.span }));
        self.world.cont_def(closure)
    }

    /// An external function as a value: a function of the program that calls it.
    fn wrapper(&mut self, cont: Cont) -> Def {
        let callee = self.world.cont_def(cont);
        if self.world.cont(cont).body.is_some() {
            return callee;
        }
        if let Some(&wrapper) = self.wrappers.get(&cont) {
            return wrapper;
        }
        let data = self.world.cont(cont).clone();
        self.world.span = data.span;
        let wrapper = new_cont(self.world, data.name, &data.params);
        let args = self.world.cont(wrapper).params.clone();
        self.bodies.push((wrapper, Body { callee, args, span: data.span }));
        *self.wrappers.entry(cont).or_insert(self.world.cont_def(wrapper))
    }
}
