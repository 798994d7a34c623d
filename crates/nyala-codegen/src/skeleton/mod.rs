//! What all back ends share: the way through a program and its functions.
//!
//! A program in control-flow form is made of functions, and a function of basic blocks
//! ([`nyala_ir::analysis::functions`]). A back end prints them. It implements [`Printer`] for the state in which it
//! writes one function; [`Printer::write_blocks`] then goes through the blocks and calls it for each operation and
//! each end of a block. What the end of a block means is decided here: a return, a jump, a branch, a call, and
//! where control continues after a call.
//!
//! Read `program` (functions, their parameters and results, calls), `names`, `flow` (the blocks of a function),
//! `values` (what stands for a node), and the two ways to pass arguments to blocks: `phis`, and variables with
//! `moves`. `trips` finds loops with a known number of iterations.
//!
//! # Invariants
//!
//! * An operation is printed where the schedule puts it, so nothing that may fail is executed unless the program
//!   demands it. Memory tokens are not printed: the schedule keeps their order.
//! * Blocks are printed in reverse post order: a value is computed before the blocks that use it.

pub(crate) mod flow;
pub(crate) mod moves;
pub(crate) mod names;
pub(crate) mod phis;
pub(crate) mod program;
pub(crate) mod trips;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use nyala_ir::{Cont, Def, Intrinsic};

use flow::Flow;
use program::{Call, Callee};

/// What a back end prints of a function.
pub(crate) trait Printer<'w> {
    /// What stands for a node in operands.
    type Value: Clone;

    /// The function that is written, and the position in it.
    fn flow(&self) -> &Flow<'w>;
    /// The same, to move on.
    fn flow_mut(&mut self) -> &mut Flow<'w>;

    /// Begins the current block.
    fn begin_block(&mut self);
    /// Writes an operation, and remembers its value.
    fn write_operation(&mut self, def: Def);
    /// The value of `def` in the current block.
    fn value(&mut self, def: Def) -> Self::Value;

    /// Ends a block: a jump to a block of this function with values for its parameters.
    fn jump(&mut self, block: usize, values: &[Self::Value]);
    /// Ends a block: goes to one of two continuations, which take no values. [`Printer::go_to`] writes the ways there.
    fn branch(&mut self, cond: Def, then: Def, other: Def);
    /// Ends a block: goes to one of several continuations; `cases` are pairs of a literal and a continuation.
    fn switch(&mut self, value: Def, default: Def, cases: &[(Def, Def)]);
    /// Ends a block: returns from the function.
    fn return_values(&mut self, values: &[Self::Value]);
    /// Ends a block: passes values to a return continuation that is a value.
    fn return_to(&mut self, ret: Def, values: &[Self::Value]);
    /// Ends a block that control does not reach the end of.
    fn unreachable(&mut self);
    /// Writes a call; gives its results. Nothing if it ended the block: as a tail call, or with an error.
    fn call(&mut self, callee: Callee<'w>, call: &Call) -> Option<Vec<Self::Value>>;
    /// Reports something that the back end cannot write.
    fn reject(&mut self, what: String);

    /// Writes all blocks.
    fn write_blocks(&mut self) {
        for block in 0..self.flow().n_blocks() {
            self.flow_mut().enter(block);
            self.begin_block();
            for index in 0..self.flow().operations(block).len() {
                let def = self.flow().operations(block)[index];
                self.write_operation(def);
            }
            match self.flow().end() {
                Some(body) => self.end_block(body.callee, &body.args),
                None => self.unreachable(),
            }
        }
    }

    /// Ends a block by a call of `callee`.
    fn end_block(&mut self, callee: Def, args: &[Def]) {
        let (program, function) = (self.flow().program, self.flow().function);
        if Some(callee) == function.ret {
            let values = self.values_of(args);
            return self.return_values(&values);
        }
        let called = program.callee(callee);
        match called {
            Callee::Function(cont)
                if program.functions.get(cont).is_none() || self.flow().is_self_jump(callee, args) =>
            {
                let values = self.values_of(args);
                self.jump_to(cont, &values);
            }
            Callee::Intrinsic(Intrinsic::Branch) if let &[_, cond, then, other] = args => {
                self.branch(cond, then, other);
            }
            Callee::Intrinsic(Intrinsic::Switch) if let [_, value, default, cases @ ..] = args => {
                let cases: Vec<(Def, Def)> = cases.chunks_exact(2).map(|case| (case[0], case[1])).collect();
                self.switch(*value, *default, &cases);
            }
            Callee::Intrinsic(Intrinsic::Unreachable) => self.unreachable(),
            Callee::Function(_) | Callee::Value(_) | Callee::External { .. } | Callee::Intrinsic(_) => {
                let call = program.call(called, args);
                if let Some(values) = self.call(called, &call) {
                    self.resume(call.ret, &values);
                }
            }
        }
    }

    /// Continues at a continuation that takes no values.
    fn go_to(&mut self, target: Def) {
        self.end_block(target, &[]);
    }

    /// Continues after a call, at its return continuation.
    fn resume(&mut self, ret: Option<Def>, values: &[Self::Value]) {
        match ret {
            None => self.unreachable(),
            Some(ret) if Some(ret) == self.flow().function.ret => self.return_values(values),
            Some(ret) => match self.flow().program.world.as_cont(ret) {
                Some(cont) => self.jump_to(cont, values),
                None => self.return_to(ret, values),
            },
        }
    }

    /// Jumps to a continuation that is a block of this function.
    fn jump_to(&mut self, cont: Cont, values: &[Self::Value]) {
        match self.flow().block_of(cont) {
            Some(block) => self.jump(block, values),
            None => {
                let name = self.flow().program.world.cont(cont).name;
                self.reject(format!("a jump to `{name}`, which is no block of the function"));
            }
        }
    }

    /// The values of the arguments, without the function's own return continuation.
    fn values_of(&mut self, args: &[Def]) -> Vec<Self::Value> {
        let (program, ret) = (self.flow().program, self.flow().function.ret);
        program.values_but(ret, args).into_iter().map(|arg| self.value(arg)).collect()
    }
}
