//! Divisors and bounds of the parameters of blocks, from the jumps to them.
//!
//! The counter of a loop begins at a known number and grows by a known step, so a power of two divides it, and it
//! is not negative. The facts are the least fixed point over all jumps, with the widening of [`Number::or`].

use rustc_hash::{FxHashMap, FxHashSet};

use super::numbers::Number;
use super::references::{References, conts_in_globals, for_each_mention};
use crate::{Cont, Def, Linkage, World};

/// The depth to which operands are followed.
const MAX_DEPTH: usize = 8;

/// Facts about the integer parameters of all continuations that are only jumped to.
pub struct BlockParams {
    /// None: no jump has reached the block so far.
    numbers: FxHashMap<Def, Option<Number>>,
}

impl BlockParams {
    /// Of the reachable program.
    pub fn new(world: &World) -> BlockParams {
        let jumps = jumps(world);
        let mut params = BlockParams { numbers: jumps.iter().map(|&(param, _)| (param, None)).collect() };
        let mut is_growing = true;
        while is_growing {
            is_growing = false;
            for &(param, arg) in &jumps {
                is_growing |= params.join(world, param, arg);
            }
        }
        params
    }

    /// Facts about `def`, from its operands.
    pub fn number(&self, world: &World, def: Def) -> Number {
        self.reached(world, def).unwrap_or_else(|| Number::of_type(world, world.ty(def)))
    }

    /// Adds a jump that passes `arg` for `param`; whether that is new.
    fn join(&mut self, world: &World, param: Def, arg: Def) -> bool {
        let Some(number) = self.reached(world, arg) else { return false };
        let before = self.numbers[&param];
        let after = before.map_or(number, |before| before.or(number)).within(world, world.ty(param));
        self.numbers.insert(param, Some(after));
        before != Some(after)
    }

    /// Facts about `def`; none if it depends on a block that no jump has reached so far.
    fn reached(&self, world: &World, def: Def) -> Option<Number> {
        let mut is_reached = true;
        let number = self.to_depth(world, def, MAX_DEPTH, &mut is_reached);
        is_reached.then_some(number)
    }

    fn to_depth(&self, world: &World, def: Def, depth: usize, is_reached: &mut bool) -> Number {
        let unknown = |def: Def| Number::of_type(world, world.ty(def));
        match self.numbers.get(&def) {
            Some(&Some(number)) => number,
            Some(None) => {
                *is_reached = false;
                unknown(def)
            }
            None => Number::of(world, def, &mut |operand| match depth {
                0 => unknown(operand),
                _ => self.to_depth(world, operand, depth - 1, is_reached),
            }),
        }
    }
}

/// The arguments of all jumps to continuations that are used in no other way, each with its parameter.
fn jumps(world: &World) -> Vec<(Def, Def)> {
    let refs = References::of_program(world);
    let mut values: FxHashSet<Cont> = conts_in_globals(world).into_iter().collect();
    for &def in refs.nodes() {
        let body = world.as_cont(def).and_then(|cont| world.cont(cont).body.as_ref());
        let mut is_callee = body.is_some();
        for_each_mention(world, def, |mentioned| {
            // The callee is the first mention of a continuation with a body.
            if !std::mem::take(&mut is_callee) {
                values.extend(world.as_cont(mentioned));
            }
        });
    }
    let is_block = |cont: &Cont| !values.contains(cont) && world.cont(*cont).linkage == Linkage::Internal;
    let is_int = |def: Def| world.types.as_prim(world.ty(def)).is_some_and(|prim| prim.is_int());
    let mut jumps = vec![];
    for body in refs.conts(world).filter_map(|cont| world.cont(cont).body.as_ref()) {
        let Some(block) = world.as_cont(body.callee).filter(is_block) else { continue };
        let params = world.cont(block).params.iter().copied().zip(body.args.iter().copied());
        jumps.extend(params.filter(|&(param, _)| is_int(param)));
    }
    jumps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    /// The facts about the parameter `i` of the block `head`.
    fn counter(program: &str) -> Number {
        let world = parse(program).expect("a well-formed program");
        let head = world.conts().find(|(_, data)| data.name.as_str() == "head").expect("it has a loop").0;
        BlockParams::new(&world).number(&world, world.param(head, 1))
    }

    fn counting(first: &str, next: &str) -> String {
        format!(
            "export f(mem: mem, n: i32, ret: cn(mem)):
    head(mem, {first})
head(mem: mem, i: i32):
    branch(mem, lt(i, f.n), body, done)
body(mem: mem):
    head(mem, {next})
done(mem: mem):
    f.ret(mem)
"
        )
    }

    const MAX: i128 = i32::MAX as i128;

    #[test]
    fn a_counter_has_the_common_divisor_of_start_and_step() {
        assert_eq!(counter(&counting("0", "add(head.i, 32)")), Number { twos: 5, min: 0, max: MAX });
        assert_eq!(counter(&counting("8", "add(head.i, 32)")), Number { twos: 3, min: 8, max: MAX });
        assert_eq!(counter(&counting("mul(f.n, 4)", "add(head.i, 6)")).twos, 1);
    }

    #[test]
    fn an_unknown_start_or_step_leaves_nothing_known() {
        let any = Number { twos: 0, min: i32::MIN.into(), max: MAX };
        assert_eq!(counter(&counting("f.n", "add(head.i, 32)")), any);
        assert_eq!(counter(&counting("0", "add(head.i, f.n)")), any);
    }

    #[test]
    fn the_results_of_calls_are_unknown() {
        let program = "import get(mem: mem, ret: cn(mem, i32))
export f(mem: mem, ret: cn(mem, i32)):
    get(mem, head)
head(mem: mem, i: i32):
    f.ret(mem, i)
";
        assert_eq!(counter(program).twos, 0);
    }
}
