//! Functions that lanes load from memory.
//!
//! The program is whole, so all functions of a type that memory can hold are known: those that are used as values. A function tells for
//! one lane after the other which of them is loaded; what is called is then an element of a known array:
//!
//! ```text
//! p(i)(x)    =>    k = which(&p(i));  [one, two, ..](k)(x)
//! ```
//!
//! The last element stands for all others, such as closures and functions of C: the lanes load and call them one after the other.
//!
//! # Invariants
//!
//! * A lane writes nothing between the load and the call, so loading again gives the same function.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::references::{conts_in_globals, is_operation};
use nyala_ir::analysis::{Functions, References};
use nyala_ir::{Body, CmpOp, Cont, Def, Linkage, Node, Prim, Ty, World};

use super::{Call, Calls, MAX_FUNCTIONS};
use crate::rewrite::Rewriter;

/// The call of a function that is loaded in the same block.
pub(super) struct Loaded {
    cont: Cont,
    /// The memory that the load reads and the one after it.
    read: Def,
    after: Def,
    ptr: Def,
    ty: Ty,
    mem: Def,
    args: Vec<Def>,
    ret: Def,
}

impl Loaded {
    /// The call in a body, if only loads are between it and that of the function.
    pub(super) fn read(world: &World, cont: Cont) -> Option<Loaded> {
        let body = world.cont(cont).body.as_ref()?;
        let (callee, _) = world.without_mark(body.callee);
        let (load, 1) = part(world, callee)? else { return None };
        let Node::Load { mem: read, ptr } = world.node(load) else { return None };
        let [mem, args @ .., ret] = &body.args[..] else { return None };
        let mut after = *mem;
        loop {
            let (other, 0) = part(world, after)? else { return None };
            let Node::Load { mem: before, .. } = world.node(other) else { return None };
            if other == load {
                break;
            }
            after = before;
        }
        let returns = is_return(&world.types, world.ty(*ret));
        let ty = world.ty(callee);
        returns.then(|| Loaded { cont, read, after, ptr, ty, mem: *mem, args: args.to_vec(), ret: *ret })
    }
}

/// The aggregate that a value is a part of, and which.
fn part(world: &World, def: Def) -> Option<(Def, u64)> {
    let Node::Extract { agg, index } = world.node(def) else { return None };
    Some((agg, world.as_lit(index)?))
}

/// The functions without captures that are used as values.
pub(super) fn values(world: &World, functions: &Functions) -> Vec<Cont> {
    let program = References::of_program(world);
    let mut mentioned = conts_in_globals(world);
    for &def in program.nodes() {
        match world.as_cont(def).map(|cont| &world.cont(cont).body) {
            Some(Some(body)) => mentioned.extend(body.args.iter().filter_map(|&arg| world.as_cont(arg))),
            None if is_operation(world, def) => {
                world.for_each_operand(def, |operand| mentioned.extend(world.as_cont(operand)));
            }
            _ => {}
        }
    }
    let mut values = vec![];
    for cont in mentioned {
        let is_plain = functions.get(cont).is_some_and(|function| function.captures.is_empty());
        let is_own = world.cont(cont).body.is_some() && world.cont(cont).linkage == Linkage::Internal;
        if is_plain && is_own && !values.contains(&cont) {
            values.push(cont);
        }
    }
    values
}

impl Calls<'_> {
    /// Replaces calls of loaded functions; `values` are the functions that memory can hold.
    pub(super) fn replace_loaded(&mut self, loaded: &[Loaded], values: &[Cont]) {
        let mut skipped = vec![];
        for call in loaded {
            let has_type = |&&cont: &&Cont| self.world.ty(self.world.cont_def(cont)) == call.ty;
            let known: Vec<Cont> = values.iter().filter(has_type).copied().collect();
            if !known.is_empty() && known.len() < MAX_FUNCTIONS {
                let call_of_known = self.call_of_known(call, &known);
                self.replace(&call_of_known);
                skipped.push((call.after, call.read));
            }
        }
        if !skipped.is_empty() {
            self.skip_loads(&skipped);
        }
    }

    /// The same call, of an element of an array.
    fn call_of_known(&mut self, loaded: &Loaded, known: &[Cont]) -> Call {
        let (mem_ty, i32) = (self.world.types.mem(), self.world.types.prim(Prim::I32));
        let found = self.world.new_cont("found", &[mem_ty, i32]);
        let which = self.which(self.world.ty(loaded.ptr), known);
        let next = self.world.cont_def(found);
        self.world.set_body(loaded.cont, which, vec![loaded.mem, loaded.ptr, next]);
        let known = known.iter().map(|&cont| self.world.cont_def(cont));
        Call {
            cont: found,
            functions: known.chain([loaded.ptr]).collect(),
            index: self.world.param(found, 1),
            prim: Prim::I32,
            mem: self.world.param(found, 0),
            args: loaded.args.clone(),
            ret: loaded.ret,
        }
    }

    /// The function that tells which of the known ones is behind a pointer; their number if it is another one.
    fn which(&mut self, ptr_ty: Ty, known: &[Cont]) -> Def {
        if let Some(&function) = self.which.get(&ptr_ty) {
            return self.world.cont_def(function);
        }
        let (mem_ty, i32) = (self.world.types.mem(), self.world.types.prim(Prim::I32));
        let ret_ty = self.world.types.cn(&[mem_ty, i32]);
        let function = self.world.new_cont("which_function", &[mem_ty, ptr_ty, ret_ty]);
        let [mem, ptr, ret] = [0, 1, 2].map(|at| self.world.param(function, at));
        let (mem, loaded) = self.world.load(mem, ptr);
        let mut which = self.world.lit_i32(known.len() as i32);
        for (number, &cont) in known.iter().enumerate().rev() {
            let value = self.world.cont_def(cont);
            let is_this = self.world.cmp(CmpOp::Eq, loaded, value);
            let number = self.world.lit_i32(number as i32);
            which = self.world.select(is_this, number, which);
        }
        self.world.set_body(function, ret, vec![mem, which]);
        self.which.insert(ptr_ty, function);
        self.new.push(function);
        self.world.cont_def(function)
    }

    /// Takes loads out of the order of effects: lanes have no vector of functions. Each is the memory after it, and that before.
    fn skip_loads(&mut self, skipped: &[(Def, Def)]) {
        let conts: Vec<Cont> = References::of_program(self.world).conts(self.world).collect();
        let mut rewriter = Rewriter::of(self.world, skipped.iter().map(|&(after, _)| after));
        skipped.iter().for_each(|&(after, before)| rewriter.unify(after, before));
        for cont in conts {
            let Some(body) = rewriter.world.cont(cont).body.clone() else { continue };
            let callee = rewriter.def(body.callee);
            let args = body.args.iter().map(|&arg| rewriter.def(arg)).collect();
            rewriter.world.replace_body(cont, Some(Body { callee, args, span: body.span }));
        }
    }
}
