//! Turns local variables in memory into values: SSA construction across
//! continuations.
//!
//! A slot whose address is only used to load and store needs no memory. Its
//! *region* are the continuations that access it or lead to one that does, up to
//! the continuation that creates it. Each continuation of the region has a value
//! of the variable on entry:
//!
//! * the value that its one mentioner has at its end, if there is only one mention;
//! * else a new parameter. Calls hand over the value; where it is mentioned as the
//!   target of a branch or as the place to return to, a *trampoline* is put
//!   between, which hands over the value that the variable has at the mention.
//!
//! # Why that is the right value
//!
//! At a call of a member of the region, or a `branch` or `switch` to members, control
//! goes straight there. What is left is a call of something outside the region that
//! is handed a member, to return to. Nothing outside the region accesses the variable.
//! So the value at the mention is right if no member of the region runs between the
//! call and the member's entry, and if the member is entered at most once. Both hold
//! if (`region` checks all of it)
//!
//! * it is the only member that is handed over, and members are handed to nothing
//!   inside the region, so that whoever may run a member got it at this mention;
//! * its parameters hold no functions, and no function that is made while the program
//!   runs is stored in memory. To enter it again, somebody must hold it after it has
//!   been entered. What runs from then on knows only what it captured, which is
//!   older than the mention, what it is handed, and what is in memory.
//!
//! Bodies of `parallel`, `vectorize` and kernels take a continuation to go on
//! with, so their parameters hold functions, and what they access stays in memory.
//!
//! Where to look next: `region` decides which slots are promoted.

mod region;

use cranelift_entity::SecondaryMap;
use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, Ty, World};
use rustc_hash::FxHashMap;

use crate::rewrite::Rewriter;
use region::{Place, Variable, Variables};

/// Turns slots into values where that is possible; whether there was one.
///
/// Before: any verified world. After: every slot that is left is used for more
/// than loads and stores of known parts, or is accessed by what may run several times.
pub fn promote_slots(world: &mut World) -> bool {
    let Some(variables) = Variables::find(world) else { return false };
    Promoter::new(world, &variables).run();
    true
}

/// The values of variables at one point, by their number.
type Values = FxHashMap<usize, Def>;

struct Promoter<'a> {
    rewriter: Rewriter<'a>,
    variables: &'a Variables,
    /// For each continuation, the variables whose region it is in.
    inside: SecondaryMap<Cont, Vec<usize>>,
    /// The values on entry of continuations with one mention.
    entry_values: FxHashMap<Cont, Values>,
    /// How many parameters a continuation had before it got one for each variable.
    joins: FxHashMap<Cont, usize>,
}

impl<'a> Promoter<'a> {
    fn new(world: &'a mut World, variables: &'a Variables) -> Promoter<'a> {
        let mut inside = SecondaryMap::<Cont, Vec<usize>>::new();
        for (number, variable) in variables.all.iter().enumerate() {
            for &cont in &variable.region {
                inside[cont].push(number);
            }
        }
        let mut joins = FxHashMap::default();
        for &cont in &variables.order {
            if inside[cont].is_empty() || variables.mentions[cont] == 1 {
                continue;
            }
            joins.insert(cont, world.cont(cont).params.len());
            for &number in &inside[cont] {
                add_param(world, cont, &variables.all[number]);
            }
        }
        let rewriter = Rewriter::of(world, variables.replaced());
        Promoter { rewriter, variables, inside, entry_values: FxHashMap::default(), joins }
    }

    /// A continuation comes after those that dominate it, so everything it
    /// computes with is there, and so are its values on entry.
    fn run(mut self) {
        let variables = self.variables;
        for &cont in &variables.order {
            let values = self.on_entry(cont);
            let values = self.execute(cont, values);
            self.set_body(cont, &values);
        }
    }

    fn on_entry(&mut self, cont: Cont) -> Values {
        match self.joins.get(&cont) {
            Some(&first) => {
                let params = self.rewriter.world.cont(cont).params[first..].iter().copied();
                self.inside[cont].iter().copied().zip(params).collect()
            }
            None => self.entry_values.remove(&cont).unwrap_or_default(),
        }
    }

    /// Goes over the effects of `cont` in order; the values at its end.
    fn execute(&mut self, cont: Cont, mut values: Values) -> Values {
        let variables = self.variables;
        for &effect in variables.effects[cont].iter().filter(|effect| variables.is_promoted(effect)) {
            match self.rewriter.world.node(effect) {
                Node::Slot { mem } => {
                    let number = variables.by_slot[&effect];
                    values.insert(number, self.rewriter.world.undef(variables.all[number].ty));
                    self.skip(effect, mem, None);
                }
                Node::Load { mem, ptr } => {
                    let value = self.read(&values, &variables.places[&ptr]);
                    self.skip(effect, mem, Some(value));
                }
                Node::Store { mem, ptr, value } => {
                    let value = self.rewriter.def(value);
                    self.write(&mut values, &variables.places[&ptr], value);
                    let mem = self.rewriter.def(mem);
                    self.rewriter.replace(effect, mem);
                }
                node => panic!("{node:?} does not access a variable"),
            }
        }
        values
    }

    /// The parts of an effect are the memory before it, and its result.
    fn skip(&mut self, effect: Def, mem: Def, result: Option<Def>) {
        let mem = self.rewriter.def(mem);
        for &(index, part) in &self.variables.parts[&effect] {
            match (index, result) {
                (0, _) => self.rewriter.replace(part, mem),
                (_, Some(result)) => self.rewriter.replace(part, result),
                // The address of a slot: only accesses need it, and those go.
                (_, None) => {}
            }
        }
    }

    fn read(&mut self, values: &Values, place: &Place) -> Def {
        let whole = values[&place.variable];
        place.path.iter().fold(whole, |part, &index| self.rewriter.world.extract(part, index))
    }

    fn write(&mut self, values: &mut Values, place: &Place, value: Def) {
        let mut wholes = vec![values[&place.variable]];
        for &index in &place.path {
            let last = *wholes.last().expect("there is always the whole variable");
            wholes.push(self.rewriter.world.extract(last, index));
        }
        let around = wholes.iter().zip(&place.path).rev();
        let value =
            around.fold(value, |part, (&whole, &index)| self.rewriter.world.insert(whole, index, part));
        values.insert(place.variable, value);
    }

    fn set_body(&mut self, cont: Cont, values: &Values) {
        let Some(body) = self.rewriter.world.cont(cont).body.clone() else { return };
        let callee = self.rewriter.def(body.callee);
        let mut args: Defs = body.args.iter().map(|&arg| self.rewriter.def(arg)).collect();
        for arg in &mut args {
            *arg = self.hand_over(*arg, values, &body);
        }
        if let Some(callee) = self.rewriter.world.as_cont(callee) {
            if self.joins.contains_key(&callee) {
                args.extend(self.inside[callee].iter().map(|number| values[number]));
            } else {
                self.inherit(callee, values);
            }
        }
        if callee != body.callee || args != body.args {
            self.rewriter.world.replace_body(cont, Some(Body { callee, args, span: body.span }));
        }
    }

    /// What to mention in place of `arg`, so that it gets the values it needs.
    fn hand_over(&mut self, arg: Def, values: &Values, body: &Body) -> Def {
        let Some(target) = self.rewriter.world.as_cont(arg) else { return arg };
        let Some(&n_params) = self.joins.get(&target) else {
            self.inherit(target, values);
            return arg;
        };
        let world = &mut *self.rewriter.world;
        let data = world.cont(target).clone();
        let tys: Vec<Ty> = data.params[..n_params].iter().map(|&param| world.ty(param)).collect();
        world.span = data.span;
        let trampoline = world.new_cont(data.name, &tys);
        let mut args = world.cont(trampoline).params.clone();
        args.extend(self.inside[target].iter().map(|number| values[number]));
        world.replace_body(trampoline, Some(Body { callee: arg, args, span: body.span }));
        world.cont_def(trampoline)
    }

    /// Values on entry of a continuation that is mentioned here only.
    fn inherit(&mut self, target: Cont, values: &Values) {
        if !self.inside[target].is_empty() {
            let values = self.inside[target].iter().map(|&number| (number, values[&number]));
            self.entry_values.insert(target, values.collect());
        }
    }
}

/// Gives `cont` a parameter for the value of `variable`; nothing is specialised on it.
fn add_param(world: &mut World, cont: Cont, variable: &Variable) {
    let param = world.append_param(cont, variable.ty);
    if let Some(name) = variable.name {
        world.set_name(param, name);
    }
    let mut filter = world.cont(cont).filter.clone();
    if !filter.is_empty() {
        filter.push(world.lit_bool(false));
        world.set_filter(cont, filter);
    }
}

/// Whether `callee` goes straight to one of the continuations that it is handed.
fn is_jump(world: &World, callee: Def) -> bool {
    matches!(world.as_intrinsic(callee), Some(Intrinsic::Branch | Intrinsic::Switch))
}
