//! Calls of function values: lanes with the same function call it together.
//!
//! A function value that differs between lanes has no vector form. If it is an element of an array or vector whose elements are known
//! to be functions of the program, its call is replaced before vectorization:
//!
//! ```text
//! [one, two, one, three](i)(x)    =>    if i == 0 || i == 2 { one(x) } else if i == 1 { two(x) } else { three(x) }
//! ```
//!
//! The branches diverge like all others, so each function is called once, as a SIMD version, with the mask of the lanes that have it. An
//! element that is not known, such as a parameter, is called by a function of its own, for one active lane after the other. `loaded` brings
//! functions that lanes load from memory into this form.
//!
//! # Invariants
//!
//! * The meaning of the program does not change.
//! * A program without such calls does not change.

mod loaded;

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::{Functions, References};
use nyala_ir::{ArithFlags, ArithOp, Body, CmpOp, Cont, Def, Node, Prim, Ty, TyKind, World};
use rustc_hash::FxHashMap;

use loaded::Loaded;

/// The most functions that a call is tested for.
const MAX_FUNCTIONS: usize = 16;

/// Replaces calls of function values in the bodies of these calls of `vectorize`. Gives the functions that call what is not known: one
/// lane after the other calls them.
pub(super) fn replace(world: &mut World, sites: &[Cont]) -> Vec<Cont> {
    let body = |&site: &Cont| world.as_cont(*world.cont(site).body.as_ref()?.args.iter().rev().nth(1)?);
    let bodies: Vec<Cont> = sites.iter().filter_map(body).collect();
    let reached = References::from_roots(world, &bodies);
    if !reached.conts(world).any(|cont| calls_one(world, cont)) {
        return vec![];
    }
    let functions = Functions::new(world);
    let found: Vec<Call> =
        reached.conts(world).filter_map(|cont| Call::read(world, &functions, cont)).collect();
    let loaded: Vec<Loaded> = reached.conts(world).filter_map(|cont| Loaded::read(world, cont)).collect();
    let values = if loaded.is_empty() { vec![] } else { loaded::values(world, &functions) };
    let mut calls = Calls { world, unknown: FxHashMap::default(), which: FxHashMap::default(), new: vec![] };
    found.iter().for_each(|call| calls.replace(call));
    calls.replace_loaded(&loaded, &values);
    calls.new
}

/// Whether a function calls a function value.
pub(super) fn calls_one(world: &World, function: Cont) -> bool {
    let Some(body) = &world.cont(function).body else { return false };
    let (callee, _) = world.without_mark(body.callee);
    world.as_cont(callee).is_none() && !is_return(&world.types, world.ty(callee))
}

/// The call of an element of an array of functions.
struct Call {
    cont: Cont,
    /// A pointer stands for the function that it points to.
    functions: Vec<Def>,
    index: Def,
    /// The type of the index.
    prim: Prim,
    mem: Def,
    args: Vec<Def>,
    ret: Def,
}

impl Call {
    /// The call in a body, if an element is a function of the program, and none is a closure.
    fn read(world: &World, all: &Functions, cont: Cont) -> Option<Call> {
        let Body { callee, args, .. } = world.cont(cont).body.as_ref().filter(|_| calls_one(world, cont))?;
        let (callee, _) = world.without_mark(*callee);
        let Node::Extract { agg, index } = world.node(callee) else { return None };
        let Node::Aggregate(functions) = world.node(agg) else { return None };
        let is_array = matches!(world.types.kind(world.ty(agg)), TyKind::Array { .. } | TyKind::Simd { .. });
        let functions = world.list(functions).to_vec();
        let mut known = functions.iter().filter_map(|&function| world.as_cont(function)).peekable();
        let is_known = known.peek().is_some()
            && known.all(|cont| all.get(cont).is_some_and(|function| function.captures.is_empty()));
        let [mem, args @ .., ret] = &args[..] else { return None };
        let returns = is_return(&world.types, world.ty(*ret));
        let prim = world.types.as_prim(world.ty(index)).filter(|_| is_array && is_known && returns)?;
        Some(Call { cont, functions, index, prim, mem: *mem, args: args.to_vec(), ret: *ret })
    }

    /// The functions, each once.
    fn distinct(&self) -> Vec<Def> {
        let mut distinct = vec![];
        for &function in &self.functions {
            if !distinct.contains(&function) {
                distinct.push(function);
            }
        }
        distinct
    }
}

struct Calls<'a> {
    world: &'a mut World,
    /// The functions that call a function value, by its type.
    unknown: FxHashMap<Ty, Cont>,
    /// The functions that tell which one a pointer points to, by its type.
    which: FxHashMap<Ty, Cont>,
    /// All of them.
    new: Vec<Cont>,
}

impl Calls<'_> {
    /// One call for each function; the last one needs no test.
    fn replace(&mut self, call: &Call) {
        let distinct = call.distinct();
        if distinct.len() > MAX_FUNCTIONS {
            return;
        }
        let Some((&last, tested)) = distinct.split_last() else { return };
        let (mut at, mut mem) = (call.cont, call.mem);
        for &function in tested {
            let is_here = self.is_element(call, function);
            let mem_ty = self.world.types.mem();
            let [same, other] = ["same", "other"].map(|name| self.world.new_cont(name, &[mem_ty]));
            let [same_def, other_def] = [same, other].map(|cont| self.world.cont_def(cont));
            self.world.set_branch(at, mem, is_here, same_def, other_def);
            self.call(same, self.world.param(same, 0), call, function);
            (at, mem) = (other, self.world.param(other, 0));
        }
        self.call(at, mem, call, last);
    }

    /// Whether the index is one of those of a function.
    fn is_element(&mut self, call: &Call, function: Def) -> Def {
        let mut is_any = self.world.lit_bool(false);
        for number in (0..call.functions.len()).filter(|&number| call.functions[number] == function) {
            let number = self.world.lit(call.prim, number as u64);
            let is_this = self.world.cmp(CmpOp::Eq, call.index, number);
            is_any = self.world.arith(ArithOp::Or, ArithFlags::STRICT, is_any, is_this);
        }
        is_any
    }

    /// Calls a function with a return continuation of its own.
    fn call(&mut self, at: Cont, mem: Def, call: &Call, function: Def) {
        let results = self.world.types.as_cn(self.world.ty(call.ret)).unwrap_or_default().to_vec();
        let returned = self.world.new_cont("returned", &results);
        let values: Vec<Def> = self.world.cont(returned).params.to_vec();
        self.world.set_body(returned, call.ret, values);
        let returned = self.world.cont_def(returned);
        let (callee, first) = match self.world.as_cont(function) {
            Some(_) => (function, None),
            None => (self.caller_of(self.world.ty(function)), Some(function)),
        };
        let args = [mem].into_iter().chain(first).chain(call.args.iter().copied()).chain([returned]);
        let args: Vec<Def> = args.collect();
        self.world.set_body(at, callee, args);
    }

    /// The function that calls its first argument, or what that points to, with the others.
    fn caller_of(&mut self, ty: Ty) -> Def {
        if let Some(&known) = self.unknown.get(&ty) {
            return self.world.cont_def(known);
        }
        let pointee = self.world.types.as_ptr(ty).map(|(pointee, _)| pointee);
        let params = self.world.types.as_cn(pointee.unwrap_or(ty)).unwrap_or_default().to_vec();
        let mut tys = vec![self.world.types.mem(), ty];
        tys.extend(&params[1..]);
        let function = self.world.new_cont("call_function", &tys);
        let params = self.world.cont(function).params.clone();
        let (mem, callee) = match pointee {
            Some(_) => self.world.load(params[0], params[1]),
            None => (params[0], params[1]),
        };
        let args: Vec<Def> = [mem].into_iter().chain(params[2..].iter().copied()).collect();
        self.world.set_body(function, callee, args);
        self.unknown.insert(ty, function);
        self.new.push(function);
        self.world.cont_def(function)
    }
}
