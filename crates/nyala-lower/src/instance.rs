//! Functions and lambdas become continuations; generic ones, one for each use.
//!
//! A function is instantiated at its first use. Its continuation is created
//! immediately, its body later, from a queue, so chains of functions do not recurse.
//! The instance of a nested function belongs to the instance of the enclosing
//! function, whose variables it uses. It needs no closure: a continuation that uses
//! values of another one is nested in it.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_ir::{Cont, Def, Linkage, Ty};
use nyala_sema::tree::{self, AttrArg, Expr, FnId, Lambda, LocalId, Param, PatKind};
use nyala_sema::types as sema;
use nyala_sema::types::TyParam;
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::control::Tail;
use crate::errors::LowerError;
use crate::frame::Frame;
use crate::lowerer::Lowerer;
use crate::types::{MAX_INSTANCES, bind};

/// Type arguments.
pub(crate) type Subst = FxHashMap<TyParam, sema::Ty>;

/// An instance of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct InstanceId(u32);
entity_impl!(InstanceId, "instance");

impl InstanceId {
    /// The instance of initializers of statics, which belong to no function.
    pub(crate) const NOWHERE: InstanceId = InstanceId(0);
}

/// The function, its type arguments, and the enclosing instance.
#[derive(Clone, PartialEq, Eq, Hash)]
struct InstanceKey {
    function: FnId,
    args: Vec<sema::Ty>,
    parent: Option<InstanceId>,
}

/// An instance of a function; lambdas belong to the enclosing instance.
pub(crate) struct Instance {
    function: Option<(FnId, Cont)>,
    parent: Option<InstanceId>,
    /// Its own type arguments and those of the enclosing instances.
    pub(crate) subst: Rc<Subst>,
    /// Its variables, and those of its lambdas.
    locals: FxHashMap<LocalId, Binding>,
    /// Floats may be treated as real numbers.
    pub(crate) fast_math: bool,
    /// Where it was first used, and in which instance.
    first_use: (Span, InstanceId),
}

/// The instances of one lowering.
pub(crate) struct Instances {
    all: PrimaryMap<InstanceId, Instance>,
    /// The value of each used instance.
    values: FxHashMap<InstanceKey, Def>,
    /// Instances whose continuation exists but has no body yet.
    pending: VecDeque<InstanceId>,
    /// Nested functions whose captured variables are declared, in an enclosing instance.
    captures_exist: FxHashSet<(FnId, InstanceId)>,
    /// The number of generic instances.
    n_generic: usize,
}

impl Instances {
    /// Only the instance of statics: no function, no type parameters.
    pub(crate) fn new() -> Instances {
        let mut instances = Instances {
            all: PrimaryMap::new(),
            values: FxHashMap::default(),
            pending: VecDeque::new(),
            captures_exist: FxHashSet::default(),
            n_generic: 0,
        };
        let nowhere = instances.push(Instance::nowhere());
        debug_assert!(nowhere == InstanceId::NOWHERE);
        instances
    }

    pub(crate) fn push(&mut self, instance: Instance) -> InstanceId {
        self.all.push(instance)
    }

    /// The next instance without a body.
    pub(crate) fn next_pending(&mut self) -> Option<InstanceId> {
        self.pending.pop_front()
    }
}

impl Index<InstanceId> for Instances {
    type Output = Instance;

    fn index(&self, id: InstanceId) -> &Instance {
        &self.all[id]
    }
}

impl IndexMut<InstanceId> for Instances {
    fn index_mut(&mut self, id: InstanceId) -> &mut Instance {
        &mut self.all[id]
    }
}

/// The representation of a variable.
#[derive(Clone, Copy)]
pub(crate) enum Binding {
    /// Immutable: a value.
    Value(Def),
    /// Mutable: its value is in the frame.
    Var,
    /// In memory, at this address.
    Slot(Def),
    /// Immutable, with an address that is used: a value and the memory it is stored in. Reads need no memory, so
    /// the value is known although the address may escape.
    Stored { value: Def, slot: Def },
    /// A return continuation, with the parts of a tuple as parameters.
    Return(Def),
    /// A jump of a loop that is called by name only.
    Jump(Jump),
}

/// A jump of the loop with this `break`.
#[derive(Clone, Copy)]
pub(crate) enum Jump {
    /// To its header, with the values of its parameters.
    Continue(LocalId),
    /// To its exit.
    Break(LocalId),
}

impl Instance {
    /// The instance outside of functions.
    pub(crate) fn nowhere() -> Instance {
        Instance::expanded(Rc::default())
    }

    /// A function's body that is expanded in place, with these type arguments.
    pub(crate) fn expanded(subst: Rc<Subst>) -> Instance {
        Instance {
            function: None,
            parent: None,
            subst,
            locals: FxHashMap::default(),
            fast_math: false,
            first_use: (Span::NONE, InstanceId::NOWHERE),
        }
    }
}

// ---- Uses of functions ---------------------------------------------------------

impl<'p> Lowerer<'p> {
    /// A function as a value, with its own type arguments.
    pub(crate) fn fn_value(&mut self, id: FnId, args: &[sema::Ty], at: Span) -> Def {
        let args = self.close_type_args(args, at);
        let parent = self.parent_instance(id);
        self.fn_instance(id, args, parent, at)
    }

    /// A parameter that is a generic function as a value, with type arguments for that function.
    pub(crate) fn fn_param_value(&mut self, local: LocalId, args: &[sema::Ty], at: Span) -> Def {
        let ty = self.program.locals[local].ty;
        let sema::TyKind::Param(param) = *self.types.kind(ty) else {
            unreachable!("it stands for a function")
        };
        let (passed, args) = (self.close_ty(ty), self.close_type_args(args, at));
        let passed = self.types.applied(param, passed, &args).expect("it is known what is passed");
        let sema::FnRef::Fn(id) = passed.function else { unreachable!("all instances are closed") };
        let parent = passed.instance.map(InstanceId::from_u32);
        self.fn_instance(id, passed.args.into_vec(), parent, at)
    }

    /// The type arguments of an instance. What stands for a nested function refers to the instance of the enclosing
    /// one.
    fn close_type_args(&mut self, args: &[sema::Ty], at: Span) -> Vec<sema::Ty> {
        args.iter().map(|&arg| self.close_type_arg(arg, at)).collect()
    }

    fn close_type_arg(&mut self, arg: sema::Ty, at: Span) -> sema::Ty {
        let closed = self.close_ty(arg);
        let sema::TyKind::Generic(generic) = self.types.kind(closed).clone() else { return closed };
        match (generic.function, generic.instance) {
            (sema::FnRef::Fn(id), None) if self.program.fns[id].parent.is_some() => {
                self.check_captures(id, at);
                let instance = self.parent_instance(id).map(|parent| parent.as_u32());
                self.types.intern(sema::TyKind::Generic(sema::GenericFn { instance, ..generic }))
            }
            _ => closed,
        }
    }

    /// The current instance of the function that encloses `id`.
    fn parent_instance(&self, id: FnId) -> Option<InstanceId> {
        self.program.fns[id].parent.map(|parent| {
            self.instance_around(parent).expect("a nested function is visible only inside the one around it")
        })
    }

    /// An instance of a function as a value.
    fn fn_instance(&mut self, id: FnId, args: Vec<sema::Ty>, parent: Option<InstanceId>, at: Span) -> Def {
        let key = InstanceKey { function: id, args, parent };
        if let Some(&def) = self.instances.values.get(&key) {
            return def;
        }
        let is_around = parent.is_some_and(|parent| self.instances_around().any(|around| around == parent));
        // Of a function that was passed, this was checked where it was passed.
        if is_around {
            self.check_captures(id, at);
        }
        let is_sane = key.args.is_empty() || self.count_instance(id, &key.args, at);
        let def = self.instantiate(id, &key.args, parent, is_sane, at);
        self.instances.values.insert(key, def);
        def
    }

    /// The function of a generic instance with its arguments, where it was first used, and in which
    /// instance; none for others.
    pub(crate) fn generic_call(&self, instance: InstanceId) -> Option<(String, Span, InstanceId)> {
        let Instance { function, subst, first_use: (at, caller), .. } = &self.instances[instance];
        let (id, _) = (*function)?;
        let tparams = &self.program.fns[id].tparams;
        let arg = |param| subst.get(param).map(|&arg| self.types.display(arg).to_string());
        let args: Vec<String> = tparams.iter().filter_map(arg).collect();
        let name = self.program.fns[id].name;
        (!args.is_empty()).then(|| (format!("{name}[{}]", args.join(", ")), *at, *caller))
    }

    /// The current instance and the enclosing ones, innermost first.
    fn instances_around(&self) -> impl Iterator<Item = InstanceId> {
        std::iter::successors(Some(self.frame.instance), |&inner| self.instances[inner].parent)
    }

    /// The instance of `function` that is the current one or encloses it.
    fn instance_around(&self, function: FnId) -> Option<InstanceId> {
        self.instances_around()
            .find(|&around| self.instances[around].function.is_some_and(|(id, _)| id == function))
    }

    /// Whether one more generic instance is within the limit; reports an error if not.
    fn count_instance(&mut self, id: FnId, args: &[sema::Ty], at: Span) -> bool {
        self.instances.n_generic += 1;
        let too_many = self.instances.n_generic > MAX_INSTANCES;
        let is_small = !too_many && self.has_sane_size(args);
        if !is_small {
            self.report_instances(too_many, self.program.fns[id].name, at);
        }
        is_small && self.check_numbers(&self.program.fns[id].tparams, args, at)
    }

    fn instantiate(
        &mut self,
        id: FnId,
        args: &[sema::Ty],
        parent: Option<InstanceId>,
        is_sane: bool,
        at: Span,
    ) -> Def {
        let function = &self.program.fns[id];
        let outer = parent.map(|parent| Rc::clone(&self.instances[parent].subst)).unwrap_or_default();
        let subst = match args {
            [] => outer,
            args => {
                Rc::new(outer.iter().map(|(&k, &v)| (k, v)).chain(bind(&function.tparams, args)).collect())
            }
        };
        let has_attr = function.attrs.iter().any(|(name, arg)| is_on(*name, arg.as_ref(), "fast_math"));
        let fast_math = has_attr || parent.is_some_and(|parent| self.instances[parent].fast_math);
        let locals = FxHashMap::default();
        let first_use = (at, self.frame.instance);
        let instance =
            self.instances.push(Instance { function: None, parent, subst, locals, fast_math, first_use });

        let outer = std::mem::replace(&mut self.frame.instance, instance);
        let outer_span = std::mem::replace(&mut self.world.span, function.span);
        let def = match is_sane {
            true => self.declare(id, instance),
            false => {
                let ty = self.ty(function.ty);
                self.world.undef(ty)
            }
        };
        self.world.span = outer_span;
        self.frame.instance = outer;
        def
    }

    /// Creates the continuation of an instance, which the frame points to in the meantime.
    fn declare(&mut self, id: FnId, instance: InstanceId) -> Def {
        let function = &self.program.fns[id];
        if let tree::Linkage::Import { abi, symbol } = function.linkage {
            return self.import(function, abi, symbol);
        }
        let name = internal_name(function);
        self.function_origin(function, name);
        let cont = self.function_cont(name, &function.params, function.ret);
        match function.linkage {
            tree::Linkage::Export(symbol) => self.world.set_linkage(cont, Linkage::Exported(symbol)),
            _ if self.program.main == Some(id) => {
                self.world.set_linkage(cont, Linkage::Exported(Name::new("main")));
            }
            _ => {}
        }
        self.instances[instance].function = Some((id, cont));
        self.instances.pending.push_back(instance);
        self.world.cont_def(cont)
    }

    /// A continuation for a function with these parameters and this result.
    pub(crate) fn function_cont(&mut self, name: Name, params: &[Param], ret: sema::Ty) -> Cont {
        let mut tys = vec![self.world.types.mem()];
        for param in params {
            tys.push(self.ty(param.ty));
        }
        tys.extend(self.ret_ty(ret));
        self.world.new_cont(name, &tys)
    }

    /// The type of the return continuation for a result of type `ret`; `None` for `!`.
    pub(crate) fn ret_ty(&mut self, ret: sema::Ty) -> Option<Ty> {
        let ret = self.close_ty(ret);
        if ret == self.types.never() {
            return None;
        }
        let parts: Vec<Ty> = self.types.result_params(ret).iter().map(|&part| self.closed_ty(part)).collect();
        Some(self.cn(&parts, None))
    }

    /// Reports a nested function that is used before its captures have values, directly
    /// or through other nested functions. See Note [Why nested functions are lowered late].
    fn check_captures(&mut self, id: FnId, at: Span) {
        let (mut stack, mut seen) = (vec![id], FxHashSet::from_iter([id]));
        let mut all_exist = true;
        while let Some(next) = stack.pop() {
            let around = self.program.fns[next].parent.and_then(|parent| self.instance_around(parent));
            let key = around.map(|around| (next, around));
            if key.is_some_and(|key| self.instances.captures_exist.contains(&key)) {
                continue;
            }
            let Some(captures) = self.facts.captures(next) else { continue };
            for &local in &captures.locals {
                if self.binding(local).is_some() {
                    continue;
                }
                all_exist = false;
                let owner = self.facts.owner(local);
                // Variables of a function that is entered on the way have values by then.
                if owner.is_some_and(|owner| !seen.contains(&owner) && self.instance_around(owner).is_some())
                {
                    let (function, variable) = (self.program.fns[id].name, self.program.locals[local].name);
                    let bound_at = self.program.locals[local].span;
                    self.errors.push(LowerError::UsedTooEarly { function, variable, at, bound_at });
                    return;
                }
            }
            stack.extend(captures.fns.iter().filter(|&&called| seen.insert(called)));
        }
        if all_exist {
            let around = |id: FnId| Some((id, self.instance_around(self.program.fns[id].parent?)?));
            let checked: Vec<_> = seen.into_iter().filter_map(around).collect();
            self.instances.captures_exist.extend(checked);
        }
    }
}

// ---- Variables -----------------------------------------------------------------

impl Lowerer<'_> {
    /// The representation of a variable, if it is already declared.
    pub(crate) fn binding(&self, local: LocalId) -> Option<Binding> {
        self.instances_around().find_map(|around| self.instances[around].locals.get(&local).copied())
    }

    /// Sets the representation of a variable.
    pub(crate) fn set_binding(&mut self, local: LocalId, binding: Binding) {
        self.instances[self.frame.instance].locals.insert(local, binding);
    }

    /// Declares a variable; without a value it is uninitialized.
    pub(crate) fn bind_local(&mut self, local: LocalId, value: Option<Def>) {
        let data = &self.program.locals[local];
        if let Some(value) = value {
            self.name_after(local, value);
        }
        let ty = self.ty(data.ty);
        let is_large = data.is_mut && self.leaves(ty) > self.max_leaves(local);
        if is_large || self.facts.is_slot(local) {
            let slot = self.slot(ty, value);
            if !data.name.is_underscore() {
                self.world.set_name(slot, data.name);
            }
            let binding = match value {
                Some(value) if !data.is_mut => Binding::Stored { value, slot },
                _ => Binding::Slot(slot),
            };
            self.set_binding(local, binding);
            return;
        }
        let value = value.unwrap_or_else(|| self.world.undef(ty));
        if data.is_mut {
            self.set_binding(local, Binding::Var);
            self.frame.set_var(local, value);
        } else {
            self.set_binding(local, Binding::Value(value));
        }
    }

    /// The maximum number of parts of a mutable variable as a value. See Note [Which arrays are memory].
    fn max_leaves(&self, local: LocalId) -> u64 {
        match (self.facts.is_searched(local), self.facts.is_carried(local)) {
            (true, true) => MAX_SEARCHED_IN_LOOP,
            (true, false) => MAX_SEARCHED,
            (false, true) => MAX_CARRIED,
            (false, false) => MAX_VALUE,
        }
    }
}

// Note [Which arrays are memory]
//
// A mutable variable is a slot, although its address is not taken, if it has too many parts:
//
// * More than MAX_SEARCHED if an element of unknown index is used. Like an address-taken variable:
//   as a value, each such assignment would copy all of it.
// * More than MAX_SEARCHED_IN_LOOP if, besides, different values of it reach a join, as for the stack of a
//   traversal: each iteration would copy all of it, and with lanes select among all elements.
// * More than MAX_CARRIED if different values of it reach a join. LLVM is slow at that: an array of 512 parts that
//   one loop carries takes it 0.2 seconds, one of 4,000 parts two minutes.
// * More than MAX_VALUE in any case, for the same reason: a value of a million parts takes minutes.
//
// If indices become known, the evaluator turns slots into values again.
const MAX_SEARCHED: u64 = 64;
const MAX_SEARCHED_IN_LOOP: u64 = 4;
const MAX_CARRIED: u64 = 512;
const MAX_VALUE: u64 = 4096;

// ---- Bodies --------------------------------------------------------------------

/// The common parts of functions and lambdas.
struct Callable<'p> {
    params: &'p [Param],
    filter: Option<&'p Expr>,
    return_local: Option<LocalId>,
    body: &'p Expr,
}

impl<'p> Lowerer<'p> {
    /// Lowers the body of an instance.
    pub(crate) fn instance_body(&mut self, instance: InstanceId) {
        let (id, cont) = self.instances[instance].function.expect("only functions are queued");
        let function = &self.program.fns[id];
        // A declaration without linkage; checking has reported it if it is an error.
        let Some(body) = &function.body else { return };
        let filter = function.filter.as_ref();
        let callable =
            Callable { params: &function.params, filter, return_local: function.return_local, body };
        self.at(function.span);
        self.frame = Frame::new(&self.world, instance, cont);
        self.callable_body(callable, cont, false);
    }

    /// A lambda as a value.
    pub(crate) fn lambda(&mut self, lambda: &'p Lambda) -> Def {
        let span = self.world.span;
        let name = Name::new("lambda");
        self.lambda_origin(lambda, name);
        let cont = self.function_cont(name, &lambda.params, lambda.ret);
        let (params, filter) = (&lambda.params[..], lambda.filter.as_ref());
        let callable = Callable { params, filter, return_local: lambda.return_local, body: &lambda.body };
        let frame = Frame::new(&self.world, self.frame.instance, cont);
        let outer = std::mem::replace(&mut self.frame, frame);
        self.callable_body(callable, cont, true);
        self.frame = outer;
        self.at(span);
        self.world.cont_def(cont)
    }

    /// Lowers the body of a function, or of a lambda, which is mostly inlined.
    fn callable_body(&mut self, callable: Callable<'p>, cont: Cont, is_lambda: bool) {
        let defs = self.world.cont(cont).params[1..].to_vec();
        let (args, ret) = defs.split_at(callable.params.len());
        self.filters(callable.params, callable.filter, args, cont);
        for (param, &arg) in callable.params.iter().zip(args).filter(|_| is_lambda) {
            if let PatKind::Bind(local, None) = param.pat.kind {
                self.tell_debuggers_of(local, arg);
            }
        }
        self.callable_code(callable, args, ret.first().copied());
    }

    /// Lowers the body of a callable into the current block.
    fn callable_code(&mut self, callable: Callable<'p>, args: &[Def], ret: Option<Def>) {
        for (param, &arg) in callable.params.iter().zip(args) {
            self.bind_pat(&param.pat, arg);
        }
        if let (Some(local), Some(ret)) = (callable.return_local, ret) {
            self.set_binding(local, Binding::Return(ret));
        }
        let tail = match ret {
            Some(ret) => Tail::Return(ret),
            None => self.fall_through(callable.params, args),
        };
        self.tail(callable.body, tail);
    }

    /// Expands a call of a top-level function into the current block. Returns its
    /// value, if control stays in that block.
    pub(crate) fn expand(&mut self, id: FnId, type_args: &[sema::Ty], args: &[Def]) -> Option<Def> {
        let function = &self.program.fns[id];
        let type_args = self.close_type_args(type_args, function.span);
        let subst = Rc::new(bind(&function.tparams, &type_args));
        let block = self.frame.block;
        let function_at = Some((id, block));
        let instance = self.instances.push(Instance { function: function_at, ..Instance::expanded(subst) });
        let mut frame = Frame::new(&self.world, instance, block);
        (frame.mem, frame.expands_calls) = (self.frame.mem, true);
        let outer = std::mem::replace(&mut self.frame, frame);
        let after = match self.ret_ty(function.ret) {
            Some(ty) => {
                let takes = self.world.types.as_cn(ty).expect("results go to continuations").to_vec();
                Some(self.world.new_cont("next", &takes))
            }
            None => None,
        };
        let ret = after.map(|after| self.world.cont_def(after));
        let body = function.body.as_ref().expect("only functions with a body are expanded");
        let filter = function.filter.as_ref();
        let callable =
            Callable { params: &function.params, filter, return_local: function.return_local, body };
        self.callable_code(callable, args, ret);
        self.frame = outer;
        // Straight-line code ends in a return from the first block: continue there instead.
        let body = self.world.cont(block).body.clone().filter(|body| Some(body.callee) == ret)?;
        self.world.replace_body(block, None);
        self.frame.mem = body.args[0];
        Some(self.world.tuple(&body.args[1..]))
    }

    /// The target of the end of a body without return continuation: the last
    /// parameter, if that is a continuation.
    fn fall_through(&mut self, params: &[Param], args: &[Def]) -> Tail {
        let (Some(param), Some(&arg)) = (params.last(), args.last()) else { return Tail::Nowhere };
        let ty = self.close_ty(param.ty);
        match self.types.as_fn(ty) {
            Some((_, ret)) if ret == self.types.never() => Tail::Return(arg),
            _ => Tail::Nowhere,
        }
    }
}

// Note [Why nested functions are lowered late]
//
// All functions of a block are defined at its beginning, but may capture variables that
// are declared later. So their bodies are lowered after the enclosing function, when
// all its variables are declared. A use of the function before its captures have values is
// an error, which is found at the use.

/// The name of a function inside the program: `#[intern(name = "..")]` or its own.
fn internal_name(function: &tree::Function) -> Name {
    let intern = function.attrs.iter().find(|(name, _)| name.as_str() == "intern");
    match intern {
        Some((_, Some(AttrArg::Name(symbol)))) => *symbol,
        _ => function.name,
    }
}

/// Whether an attribute like `fast_math` is present and not `false`.
pub(crate) fn is_on(name: Name, arg: Option<&AttrArg>, wanted: &str) -> bool {
    let off = match arg {
        Some(AttrArg::Name(value)) => value.as_str() == "false",
        Some(AttrArg::Int(value)) => *value == 0,
        _ => false,
    };
    name.as_str() == wanted && !off
}
