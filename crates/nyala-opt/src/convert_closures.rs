//! Closure conversion: prepares the functions that are still values for native code.
//!
//! After evaluation and lambda lifting, function values are in aggregates or
//! memory, are chosen at run time, or are arguments of unknown functions.
//! A back end represents each as a pair of code and environment, with the captures that
//! [`Functions`] finds. For that
//!
//! * a function whose return continuation is used as a value becomes *passing*
//!   (see [`Styles`](nyala_ir::analysis::Styles)), and so do all its callers:
//!   the return continuations of these calls become closures;
//! * a variable that a closure captures is moved to the heap, since the closure may outlive
//!   the function that made it; so is every variable of a
//!   passing function whose address escapes.
//!
//! # Invariants
//!
//! * The meaning of the program does not change, for the interpreter as well.
//! * A program without function values does not change.

use nyala_ir::analysis::{AddressUse, Function, Functions, References, address_uses};
use nyala_ir::{Body, Cont, Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower_to_cff::lower;
use crate::rewrite::Rewriter;

/// Prepares the functions of `world` that are values.
///
/// Before: as after [`lower_to_cff`](crate::lower_to_cff()). After: there is no obstacle to
/// control-flow form in the styles of [`Functions::styled`], and captured variables
/// outlive the functions that make the closures.
pub fn convert_closures(world: &mut World) {
    let functions = Functions::styled(world);
    if !functions.styles().is_empty() {
        lower(world, &functions);
    }
    let moved = Variables::new(world).that_outlive_their_function();
    move_to_heap(world, moved);
}

/// The variables of all functions, and the uses of their addresses.
struct Variables<'a> {
    world: &'a World,
    functions: Functions,
    /// Slots and parameters whose variable must outlive the function they are in.
    outliving: FxHashSet<Def>,
    /// For each parameter that gets addresses, the slots and parameters that these belong to.
    lenders: FxHashMap<Def, Vec<Def>>,
}

impl<'a> Variables<'a> {
    fn new(world: &'a World) -> Variables<'a> {
        let functions = Functions::styled(world);
        let mut variables =
            Variables { world, functions, outliving: FxHashSet::default(), lenders: FxHashMap::default() };
        let has_closures = |function: &Function| function.may_outlive && !function.captures.is_empty();
        let is_needed =
            !variables.functions.styles().is_empty() || variables.functions.all().iter().any(has_closures);
        if is_needed {
            for at in 0..variables.functions.all().len() {
                variables.visit(at);
            }
        }
        variables
    }

    fn visit(&mut self, at: usize) {
        let function = &self.functions.all()[at];
        let is_passing = self.functions.styles().is_passing(function.entry);
        let outlives = |cont: Cont| self.functions.get(cont).is_some_and(|value| value.may_outlive);
        let makes_closures = function
            .mentions
            .iter()
            .any(|&mentioned| outlives(mentioned) && !self.functions.captures(mentioned).is_empty());
        for (variable, how) in address_uses(self.world, &self.functions, function) {
            let outlives = match how {
                _ if is_passing => true,
                AddressUse::Captured(value) => self.world.as_cont(value).is_some_and(outlives),
                AddressUse::Kept => makes_closures,
                AddressUse::Passed { callee, index } => {
                    if let Some(param) = self.param(callee, index) {
                        self.lenders.entry(param).or_default().push(variable);
                    }
                    false
                }
            };
            if outlives {
                self.outliving.insert(variable);
            }
        }
    }

    /// The parameter that argument `index` becomes in a call of a known function.
    fn param(&self, callee: Def, index: usize) -> Option<Def> {
        let function = self.functions.get(self.world.as_cont(callee)?)?;
        self.world.cont(function.entry).params.get(index).copied()
    }

    /// The slots that must be on the heap, each after those it depends on.
    fn that_outlive_their_function(mut self) -> Vec<Def> {
        let mut work: Vec<Def> = self.outliving.iter().copied().collect();
        while let Some(variable) = work.pop() {
            for &lender in self.lenders.get(&variable).into_iter().flatten() {
                if self.outliving.insert(lender) {
                    work.push(lender);
                }
            }
        }
        let is_slot = |&def: &Def| matches!(self.world.node(def), Node::Slot { .. });
        let mut slots: Vec<Def> = self.outliving.into_iter().filter(is_slot).collect();
        slots.sort_unstable();
        slots
    }
}

/// Allocates `slots` on the heap. Operands come before users.
fn move_to_heap(world: &mut World, slots: Vec<Def>) {
    if slots.is_empty() {
        return;
    }
    let conts: Vec<Cont> = References::of_program(world).conts(world).collect();
    let mut rewriter = Rewriter::new(world);
    for slot in slots {
        let Node::Slot { mem } = rewriter.world.node(slot) else { continue };
        let mem = rewriter.def(mem);
        let new = variable_on_heap(rewriter.world, slot, mem);
        rewriter.replace(slot, new);
    }
    for cont in conts {
        let Some(body) = rewriter.world.cont(cont).body.clone() else { continue };
        let callee = rewriter.def(body.callee);
        let args = body.args.iter().map(|&arg| rewriter.def(arg)).collect();
        rewriter.world.replace_body(cont, Some(Body { callee, args, span: body.span }));
    }
}

/// Memory and address of a variable like `slot`, on the heap.
fn variable_on_heap(world: &mut World, slot: Def, mem: Def) -> Def {
    let pointer = world.types.part(world.ty(slot), 1).expect("a slot gives memory and an address");
    let (ty, _) = world.types.as_ptr(pointer).expect("an address is a pointer");
    world.span = world.span_of(slot);
    let one = world.lit_i64(1);
    let (mem, elements) = world.alloc(mem, ty, one);
    let zero = world.lit_i64(0);
    let address = world.lea(elements, zero);
    if let Some(name) = world.name(slot) {
        world.set_name(address, name);
    }
    world.tuple(&[mem, address])
}
