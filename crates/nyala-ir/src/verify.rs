//! Checks the invariants of a world.
//!
//! A violation is a bug of a pass; source programs cannot cause one.
//! Only reachable nodes are checked: dead nodes of a rewrite may be
//! in any state.
//!
//! # The rules
//!
//! 1. `call`: the callee of a body is a continuation, and takes the arguments,
//!    by number and type. The cases of a `switch` are literals.
//! 2. `operand`: the operands of an operation have the types that it works on,
//!    and its own type is the one that it gives.
//! 3. `literal`: a literal has no bits beyond its type's width; a null pointer is 0.
//! 4. `intrinsic`: an intrinsic is declared in one of the shapes it has.
//! 5. `body`: imports and intrinsics have no body, all others have one.
//! 6. `filter`: there is one filter for each parameter or none at all; each is a
//!    `bool`, computed without effects.
//! 7. `memory`: a memory token is used at most once, and by effects and calls only;
//!    the result of an effect is only taken apart.
//! 8. `nesting`: a parameter is used only where its continuation encloses the use,
//!    that is, dominates it in the graph of who mentions whom. So what is exported
//!    or stored in a global depends on no parameter, and nesting is a tree.
//! 9. `global`: the first value of a global is a constant of its type.
//!
//! All rules are checked everywhere, so one run reports all violations. The
//! cost is near-linear in the size of the program.

mod calls;
mod memory;
mod operands;

use std::fmt;

use cranelift_entity::EntitySet;

use crate::analysis::dominance::DomTree;
use crate::analysis::references::{References, for_each_node, owner};
use crate::analysis::schedule::has_effect;
use crate::node::{Cont, Def, LaneOp, Linkage, MathOp, Node};
use crate::text::print_node;
use crate::types::{Ty, TyKind};
use crate::world::World;

/// Checks every rule.
pub fn verify(world: &World) -> Result<(), VerifyErrors> {
    let mut verifier = Verifier { world, violations: vec![] };
    let refs = References::of_program(world);
    verifier.nesting(&refs);
    for cont in refs.conts(world) {
        verifier.cont(cont);
    }
    for (_, global) in world.globals() {
        verifier.global(global.def, global.ty, global.init);
    }
    let nodes = reachable_nodes(world, &refs);
    for &def in &nodes {
        if let Err((rule, message)) = operands::check(world, def) {
            verifier.report(rule, Place::Node(def), message);
        }
    }
    memory::check(&mut verifier, &refs, &nodes);
    match verifier.violations {
        violations if violations.is_empty() => Ok(()),
        violations => Err(VerifyErrors { violations }),
    }
}

/// The error of a node of type `ty`, before it is built: for operations
/// that programs name, with types of their choice.
pub fn check_node(world: &World, node: Node, ty: Ty) -> Result<(), String> {
    operands::check_node(world, node, ty)
}

/// As [`check_node`], for a mathematical function.
pub fn check_math(world: &World, op: MathOp, args: &[Def], ty: Ty) -> Result<(), String> {
    operands::check_math(world, op, args, ty)
}

/// As [`check_node`], for an operation of lanes on each other.
pub fn check_lanes(world: &World, op: LaneOp, args: &[Def], ty: Ty) -> Result<(), String> {
    operands::check_lanes(world, op, args, ty)
}

/// The rules, by the names they are reported under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Rule {
    Call,
    Operand,
    Literal,
    Intrinsic,
    Body,
    Filter,
    Memory,
    Nesting,
    Global,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Call => "call",
            Rule::Operand => "operand",
            Rule::Literal => "literal",
            Rule::Intrinsic => "intrinsic",
            Rule::Body => "body",
            Rule::Filter => "filter",
            Rule::Memory => "memory",
            Rule::Nesting => "nesting",
            Rule::Global => "global",
        })
    }
}

/// The violator of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A node by itself.
    Node(Def),
    /// The call that a continuation makes.
    Body(Cont),
    /// The head of a continuation: its type, linkage and filter.
    Head(Cont),
}

/// One broken rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// The violator.
    pub place: Place,
    /// That, printed.
    pub shown: String,
    /// The violation.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (rule `{}`)", self.shown, self.message, self.rule)
    }
}

/// All that is wrong with a world: at least one violation.
#[derive(Clone, Debug)]
pub struct VerifyErrors {
    /// In the order of the program's continuations, globals and nodes.
    pub violations: Vec<Violation>,
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.violations.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyErrors {}

/// A broken rule, before it is known where.
type Broken = (Rule, String);

struct Verifier<'a> {
    world: &'a World,
    violations: Vec<Violation>,
}

impl Verifier<'_> {
    fn report(&mut self, rule: Rule, place: Place, message: String) {
        let shown = show(self.world, place);
        self.violations.push(Violation { rule, place, shown, message });
    }

    fn cont(&mut self, cont: Cont) {
        let data = self.world.cont(cont);
        let place = Place::Head(cont);
        if let Linkage::Intrinsic(intrinsic) = data.linkage
            && let Err(message) = calls::check_declaration(self.world, intrinsic, data.ty)
        {
            self.report(Rule::Intrinsic, place, message);
        }
        if let Err(message) = self.filter(cont) {
            self.report(Rule::Filter, place, message);
        }
        let is_elsewhere = !matches!(data.linkage, Linkage::Internal | Linkage::Exported(_));
        match &data.body {
            Some(_) if is_elsewhere => {
                self.report(Rule::Body, place, "has a body although it is defined elsewhere".into());
            }
            Some(body) => {
                if let Err(message) = calls::check_call(self.world, body) {
                    self.report(Rule::Call, Place::Body(cont), message);
                }
            }
            None if is_elsewhere => {}
            None => self.report(Rule::Body, place, "has no body".into()),
        }
    }

    fn filter(&self, cont: Cont) -> Result<(), String> {
        let world = self.world;
        let data = world.cont(cont);
        if !data.filter.is_empty() && data.filter.len() != data.params.len() {
            return Err(format!("has {} filters for {} parameters", data.filter.len(), data.params.len()));
        }
        let bool = world.types.bool();
        for &filter in &data.filter {
            if world.ty(filter) != bool {
                return Err(format!("a filter has type `{}`", world.types.display(world.ty(filter))));
            }
        }
        let mut effect = None;
        for_each_node(world, data.filter.iter().copied(), |def| {
            effect = effect.or(has_effect(world, def).then_some(def));
        });
        effect.map_or(Ok(()), |def| Err(format!("a filter executes `{}`", print_node(world, def))))
    }

    fn nesting(&mut self, refs: &References) {
        let world = self.world;
        let doms = DomTree::new(refs.graph(), refs.root());
        for &(user, param) in refs.uses() {
            let owner = owner(world, param);
            let at = refs.index(world.cont_def(owner));
            if !at.is_some_and(|at| doms.dominates(at, user)) {
                let (param, name) = (print_node(world, param), world.cont(owner).name);
                let message = format!("uses `{param}`, but `{name}` does not enclose it");
                let user = refs.nodes()[user];
                let place = world.as_cont(user).map_or(Place::Node(user), Place::Body);
                self.report(Rule::Nesting, place, message);
            }
        }
    }

    fn global(&mut self, def: Def, ty: Ty, init: Option<Def>) {
        let world = self.world;
        let Some(init) = init else { return };
        if world.ty(init) != ty {
            let message = mismatch(world, "its value", world.ty(init), ty);
            self.report(Rule::Global, Place::Node(def), message);
        }
        let mut varying = None;
        for_each_node(world, [init], |node| {
            let is_param = matches!(world.node(node), Node::Param { .. });
            varying = varying.or((is_param || has_effect(world, node)).then_some(node));
        });
        if let Some(node) = varying {
            let message = format!("its value depends on `{}`", print_node(world, node));
            self.report(Rule::Global, Place::Node(def), message);
        }
    }
}

/// `what` has type `found`, expected `expected`
fn mismatch(world: &World, what: &str, found: Ty, expected: Ty) -> String {
    let (found, expected) = (world.types.display(found), world.types.display(expected));
    format!("{what} has type `{found}`, expected `{expected}`")
}

fn is_mem(world: &World, ty: Ty) -> bool {
    matches!(world.types.kind(ty), TyKind::Mem)
}

fn show(world: &World, place: Place) -> String {
    match place {
        Place::Node(def) => print_node(world, def),
        Place::Head(cont) => format!("`{}`", world.cont(cont).name),
        Place::Body(cont) => {
            let name = world.cont(cont).name;
            world.cont(cont).body.as_ref().map_or(format!("`{name}`"), |body| {
                let args: Vec<String> = body.args.iter().map(|&arg| show_operand(world, arg)).collect();
                format!("{name}: {}({})", show_operand(world, body.callee), args.join(", "))
            })
        }
    }
}

/// A node as an operand: by name, literal or id.
fn show_operand(world: &World, def: Def) -> String {
    let printed = print_node(world, def);
    match printed.split_once(" = ") {
        Some((id, _)) => id.to_owned(),
        None => printed,
    }
}

/// Every node that a reachable body, filter or global needs, in the order they were made.
fn reachable_nodes(world: &World, refs: &References) -> Vec<Def> {
    let mut seen = EntitySet::with_capacity(world.node_count());
    let mut nodes = vec![];
    let mut add = |def: Def| {
        if seen.insert(def) {
            nodes.push(def);
        }
    };
    for &def in refs.nodes() {
        add(def);
        world.for_each_operand(def, &mut add);
        let Some(data) = world.as_cont(def).map(|cont| world.cont(cont)) else { continue };
        data.params.iter().chain(&data.filter).copied().for_each(&mut add);
        if let Some(body) = &data.body {
            std::iter::once(body.callee).chain(body.args.iter().copied()).for_each(&mut add);
        }
    }
    for (_, global) in world.globals() {
        add(global.def);
        for_each_node(world, global.init, &mut add);
    }
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Prim;

    /// The text form writes literals by value, so this one needs the interner.
    #[test]
    fn a_literal_fits_its_type() {
        let mut world = World::new();
        let (mem, byte) = (world.types.mem(), world.types.prim(Prim::U8));
        let ret = world.types.cn(&[byte]);
        let cont = world.new_cont("f", &[mem, ret]);
        world.set_linkage(cont, Linkage::Exported("f".into()));
        let wide = world.intern(Node::Lit(0x1ff), byte);
        world.set_body(cont, world.param(cont, 1), [wide]);
        let errors = verify(&world).expect_err("0x1ff has nine bits");
        assert_eq!(errors.violations.len(), 1);
        assert_eq!(errors.violations[0].rule, Rule::Literal);
        assert_eq!(errors.violations[0].message, "0x1ff does not fit into `u8`");
    }
}
