//! Slot promotion: turns local variables in memory into values. This is SSA construction across
//! continuations.
//!
//! A slot whose address is only used to load and store needs no memory. Its
//! *region* are the continuations that access it or lead to one that does, up to
//! the continuation that creates it. Each continuation of the region has a value
//! of the variable on entry:
//!
//! * the value at the end of its only user, if it is mentioned once;
//! * else a new parameter. Calls pass the value; where the continuation is the
//!   target of a branch or a return continuation, a *trampoline* takes its
//!   place, which passes the value that the variable has at the mention.
//!
//! See Note [Why promotion is correct]. Bodies of `parallel`, `vectorize` and kernels take a return
//! continuation, so their parameters contain functions, and variables that they access stay in memory.
//!
//! Where to look next: `region` decides which slots are promoted.

// Note [Why promotion is correct]
//
// A call of a member of the region, and a `branch` or `switch` to members, jumps there
// directly, so the value is that at the jump. The other case is a call of a callee outside the region that
// gets a member as an argument, to return to. No code outside the region accesses the variable.
// So the value at the mention is correct if no member of the region runs between the
// call and the entry of the member, and if the member is entered at most once. Both hold
// if (`region` checks it)
//
// * it is the only member among the arguments, and no callee inside the region gets a member,
//   so that code that may run a member got it at this mention;
// * its parameters contain no functions, and no function that is made at run time
//   is stored in memory. To enter the member again, code that runs after the first entry would need a
//   reference to it. That code has its captures, which are older than the mention, its
//   arguments, and memory.

mod region;

use cranelift_entity::SecondaryMap;
use nyala_ir::{Body, Cont, Def, Defs, Intrinsic, Node, Ty, World};
use rustc_hash::FxHashMap;

use crate::rewrite::Rewriter;
use region::{Place, Variable, Variables};

/// Promotes slots to values; whether there was one.
///
/// Before: any verified world. After: every slot that is left is used for more
/// than loads and stores of known parts, or is accessed by code that may run several times.
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

    /// A continuation comes after those that dominate it, so its operands and its values on entry
    /// are computed.
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

    /// Executes the effects of `cont` in order; returns the values at its end.
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
                // The address of a slot: only accesses use it, and they are removed.
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
            *arg = self.with_values(*arg, values, &body);
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

    /// The argument in place of `arg` that passes the values of variables.
    fn with_values(&mut self, arg: Def, values: &Values, body: &Body) -> Def {
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

/// Adds a parameter for the value of `variable` to `cont`, with the filter `false`.
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

/// Whether `callee` jumps directly to one of its arguments.
fn is_jump(world: &World, callee: Def) -> bool {
    matches!(world.as_intrinsic(callee), Some(Intrinsic::Branch | Intrinsic::Switch))
}
