//! Checks kernels for operations that devices do not have.
//!
//! Devices have no heap, no threads to start, no variables of the host and no functions of
//! it. They call functions by name only, and have no stack that grows.

use nyala_ir::analysis::functions::Uses;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::analysis::{Function, Functions, Graph, References};
use nyala_ir::layout::layout;
use nyala_ir::{Body, Cont, Def, External, Intrinsic, Linkage, Node, World};
use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{DeviceProgram, Kernel};
use crate::errors::KernelError;

/// The maximum size of work-group memory, which every device has.
const MAX_SHARED_BYTES: u64 = 48 << 10;

/// All that is wrong with the kernels of a program, each thing once.
pub(super) fn check(device: &DeviceProgram) -> Vec<KernelError> {
    let (world, functions) = (&device.world, Functions::styled(&device.world));
    let mut checker = Checker { world, functions: &functions, errors: vec![] };
    for function in functions.all() {
        for body in function.bodies(world) {
            let is_known = checker.call(body);
            checker.operations(body, is_known);
        }
    }
    checker.recursion();
    for kernel in &device.kernels {
        checker.shared_memory(kernel);
    }
    let mut seen = FxHashSet::default();
    checker.errors.retain(|error| seen.insert(error.clone()));
    checker.errors
}

struct Checker<'a> {
    world: &'a World,
    functions: &'a Functions,
    errors: Vec<KernelError>,
}

impl Checker<'_> {
    /// Checks the callee; returns whether it is known.
    fn call(&mut self, body: &Body) -> bool {
        let at = body.span;
        let Some(callee) = self.world.as_cont(body.callee) else {
            let is_return = self.functions.all().iter().any(|function| function.ret == Some(body.callee));
            if !is_return {
                self.errors.push(KernelError::UnknownCallee { at, name: self.world.name(body.callee) });
            }
            return is_return;
        };
        match &self.world.cont(callee).linkage {
            // Whether the device of this kernel has the function is known when code is generated for it.
            Linkage::Imported(name) if !External::is_on_devices(name.as_str()) => {
                self.errors.push(KernelError::HostOnly { at, what: format!("`{name}`") });
            }
            Linkage::Intrinsic(intrinsic) if !intrinsic.declaration().is_for_devices => {
                self.errors.push(KernelError::HostOnly { at, what: format!("`{}`", intrinsic.name()) });
            }
            _ => {}
        }
        true
    }

    /// What is computed for a call. Functions are the callee's fault if that is not known.
    fn operations(&mut self, body: &Body, is_known: bool) {
        let (world, errors) = (self.world, &mut self.errors);
        let values = Uses::of(world, self.functions.styles(), body).values;
        for_each_node(world, values, |def| match world.node(def) {
            Node::Alloc { .. } => {
                let what = "memory from the heap".into();
                errors.push(KernelError::HostOnly { at: or(world.span_of(def), body.span), what });
            }
            Node::Global(global) if world.global(global).is_mut && !world.is_for_debuggers(def) => {
                let data = world.global(global);
                errors.push(KernelError::HostVariable {
                    at: body.span,
                    name: Some(data.name),
                    declared: Some(data.span),
                });
            }
            Node::Cont(cont) if is_known => {
                let name = Some(world.cont(cont).name);
                errors.push(KernelError::FunctionValue { at: body.span, name });
            }
            _ => {}
        });
    }

    /// Functions that call themselves, other than to start anew.
    fn recursion(&mut self) {
        let all = self.functions.all();
        let number: FxHashMap<Cont, usize> =
            (0..).zip(all).map(|(at, function)| (function.entry, at)).collect();
        let mut calls = vec![];
        for (from, function) in all.iter().enumerate() {
            for body in function.bodies(self.world) {
                let callee = self.world.as_cont(body.callee).and_then(|callee| number.get(&callee));
                if let Some(&to) = callee.filter(|&&to| to != from || !is_loop(function, body)) {
                    calls.push((from, to, body.span));
                }
            }
        }
        let edges: Vec<(usize, usize)> = calls.iter().map(|&(from, to, _)| (from, to)).collect();
        let graph = Graph::new(all.len(), &edges);
        let vertices: Vec<usize> = (0..all.len()).collect();
        for component in graph.components(&vertices, |_| true) {
            let is_inside = |at: usize| component.contains(&at);
            if let Some(&(_, to, at)) = calls.iter().find(|&&(from, to, _)| is_inside(from) && is_inside(to))
            {
                let name = self.world.cont(all[to].entry).name;
                self.errors.push(KernelError::Recursion { at, name });
            }
        }
    }

    fn shared_memory(&mut self, kernel: &Kernel) {
        let mut total: u64 = 0;
        let mut last = kernel.span;
        for cont in References::from_roots(self.world, &[kernel.entry]).conts(self.world) {
            let Some(body) = &self.world.cont(cont).body else { continue };
            if self.world.as_intrinsic(body.callee) == Some(Intrinsic::ReserveShared) {
                match reserved_bytes(self.world, body) {
                    Some(bytes) => total = total.saturating_add(bytes),
                    None => self.errors.push(KernelError::UnknownSize { at: body.span }),
                }
                last = body.span;
            }
        }
        if total > MAX_SHARED_BYTES {
            self.errors.push(KernelError::TooMuchShared { at: last, bytes: total, most: MAX_SHARED_BYTES });
        }
    }
}

/// The bytes that a call of `reserve_shared` reserves, if known.
fn reserved_bytes(world: &World, body: &Body) -> Option<u64> {
    let &[_, count, ret] = &body.args[..] else { return None };
    let &[_, ptr] = world.types.as_cn(world.ty(ret))? else { return None };
    let (array, _) = world.types.as_ptr(ptr)?;
    let size = layout(&world.types, world.types.elem(array).unwrap_or(array)).size;
    world.as_lit(count).map(|count| size.saturating_mul(count))
}

/// Whether a call of a function by itself is a jump to its start.
fn is_loop(function: &Function, body: &Body) -> bool {
    function.ret.is_none_or(|ret: Def| body.args.contains(&ret))
}

fn or(span: Span, otherwise: Span) -> Span {
    if span.is_none() { otherwise } else { span }
}
