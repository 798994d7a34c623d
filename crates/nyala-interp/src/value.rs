//! What registers hold.
//!
//! A scalar is its bits, zero-extended, as in the graph's literals. A pointer is
//! an address and so a scalar too; which allocation it belongs to can be read off
//! the address, so casts between pointers and integers lose nothing. Aggregates
//! are shared and copied when written. A continuation is a [`Closure`].
//!
//! # Invariants
//!
//! * Every closure is made by `Closure::new`, which counts it.
//! * Dropping a value never recurses on the length of a chain of closures: a
//!   million return continuations, each holding the next, are dropped in a loop.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use nyala_ir::{Cont, Prim};
use smallvec::SmallVec;

/// A value of the program.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Any value: it may be passed around, but not be decided upon.
    #[default]
    Undef,
    /// A number, a `bool` or an address.
    Bits(u64),
    /// The parts of a tuple, struct, array or simd value; an enum value is its
    /// option number and its payload.
    Agg(Rc<Vec<Value>>),
    /// A continuation.
    Fn(Rc<Closure>),
}

impl Value {
    /// The value `()`.
    pub fn unit() -> Value {
        Value::agg(vec![])
    }

    /// An aggregate.
    pub fn agg(parts: Vec<Value>) -> Value {
        Value::Agg(Rc::new(parts))
    }

    /// A number of a primitive type from its bits, which are cut to its width.
    pub fn prim(prim: Prim, bits: u64) -> Value {
        Value::Bits(prim.canonical(bits))
    }

    /// A truth value.
    pub fn bool(value: bool) -> Value {
        Value::Bits(u64::from(value))
    }

    /// The bits of a scalar.
    pub fn as_bits(&self) -> Option<u64> {
        match self {
            Value::Bits(bits) => Some(*bits),
            _ => None,
        }
    }

    /// The parts of an aggregate.
    pub fn as_parts(&self) -> Option<&[Value]> {
        match self {
            Value::Agg(parts) => Some(parts),
            _ => None,
        }
    }

    /// Whether both are the same data; continuations are equal to nothing.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Undef, Value::Undef) => true,
            (Value::Bits(a), Value::Bits(b)) => a == b,
            (Value::Agg(a), Value::Agg(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }
}

/// A continuation as a value: where to go on, and with which registers.
#[derive(Debug)]
pub struct Closure {
    pub(crate) code: Code,
    /// The block that made it, for the chain of calls in an error.
    pub(crate) maker: Option<Place>,
    /// The instance that made it, to notice jumps out of a parallel body.
    pub(crate) task: u32,
    /// The registers that its block needs, in the order the block lists them.
    pub(crate) captured: SmallVec<[Value; 4]>,
    pub(crate) keeps: Option<Box<Keeps>>,
    /// Of a return continuation of an instance that may meet others: how often what returns to it has gone
    /// around its loops.
    pub(crate) rounds: OnceCell<Box<Rounds>>,
}

/// Rounds of loops.
#[derive(Debug, Default)]
pub(crate) struct Rounds(RefCell<Vec<(Place, u32)>>);

impl Rounds {
    /// How many rounds of the loop with this head have begun after the first.
    pub(crate) fn of(&self, head: Place) -> u32 {
        self.0.borrow().iter().find(|(other, _)| *other == head).map_or(0, |&(_, rounds)| rounds)
    }

    /// A round of the loop with this head begins. Loops inside of it will start anew.
    pub(crate) fn begin(&self, head: Place, is_inside: impl Fn(Place) -> bool) {
        let mut all = self.0.borrow_mut();
        all.retain(|&(other, _)| other == head || !is_inside(other));
        match all.iter_mut().find(|(other, _)| *other == head) {
            Some((_, rounds)) => *rounds += 1,
            None => all.push((head, 0)),
        }
    }
}

thread_local! {
    /// How many closures there are. They are counted here and not in the machine,
    /// because dropping one has no access to the machine.
    static CLOSURES: Cell<u64> = const { Cell::new(0) };
}

impl Closure {
    /// About how many bytes all closures take.
    pub(crate) fn bytes_of_all() -> u64 {
        CLOSURES.get() * size_of::<Closure>() as u64
    }

    pub(crate) fn new(code: Code) -> Closure {
        CLOSURES.set(CLOSURES.get() + 1);
        Closure {
            code,
            maker: None,
            task: 0,
            captured: SmallVec::new(),
            keeps: None,
            rounds: OnceCell::new(),
        }
    }

    pub(crate) fn value(code: Code) -> Value {
        Value::Fn(Rc::new(Closure::new(code)))
    }
}

/// A block of a compiled scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) scope: u32,
    pub(crate) block: u32,
}

/// Where a closure goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    /// At the start of a continuation that needs no registers.
    Func(Cont),
    /// In the middle of a scope.
    Block(Place),
    /// Out of the interpreter, with the arguments as results.
    Halt,
    /// Back to a function of C that has called the program, with the arguments as results.
    Back {
        /// How many such functions are around it.
        depth: u32,
    },
    /// The end of one instance of a parallel region.
    Done {
        /// Whose instance may end here.
        task: u32,
    },
    /// At the one captured closure, after letting go of what this one keeps.
    Guard,
}

/// Variables that are held, and not looked at.
pub(crate) type HeldSlots = SmallVec<[Rc<SlotToken>; 1]>;

/// What a closure keeps alive besides its registers.
#[derive(Debug, Default)]
pub(crate) struct Keeps {
    pub(crate) activation: Option<Rc<Activation>>,
    /// The variables whose addresses it captured.
    pub(crate) slots: HeldSlots,
}

/// One execution of a function that has made local variables. They live until
/// it is dropped: until the function is left and no closure made there is left.
#[derive(Debug)]
pub(crate) struct Activation {
    /// How many functions enclose this one in its scope.
    pub(crate) depth: u32,
    pub(crate) parent: Option<Rc<Activation>>,
    pub(crate) slots: RefCell<Slots>,
}

/// The local variables of an activation.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// The latest one of each operation that makes one.
    pub(crate) latest: Vec<(u32, Rc<SlotToken>)>,
    /// Earlier ones that somebody may still have the address of.
    pub(crate) earlier: Vec<Rc<SlotToken>>,
}

impl Slots {
    pub(crate) fn is_empty(&self) -> bool {
        self.latest.is_empty() && self.earlier.is_empty()
    }

    pub(crate) fn allocs(&self) -> impl Iterator<Item = u32> + '_ {
        let latest = self.latest.iter().map(|(_, token)| token);
        latest.chain(&self.earlier).map(|token| token.alloc)
    }
}

impl Drop for Activation {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut activation) = parent.and_then(Rc::into_inner) {
            parent = activation.parent.take();
        }
    }
}

/// Ownership of a local variable. When the last owner is gone, the variable is
/// put on the list of those to be freed, which the memory looks at.
#[derive(Debug)]
pub(crate) struct SlotToken {
    pub(crate) alloc: u32,
    pub(crate) graveyard: Rc<RefCell<Vec<u32>>>,
}

impl Drop for SlotToken {
    fn drop(&mut self) {
        self.graveyard.borrow_mut().push(self.alloc);
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        CLOSURES.set(CLOSURES.get() - 1);
        let holds_more = |value: &Value| matches!(value, Value::Fn(_) | Value::Agg(_));
        if self.captured.iter().any(holds_more) {
            drop_all(std::mem::take(&mut self.captured).into_iter().collect());
        }
    }
}

/// Drops values and what only they hold, without recursion.
fn drop_all(mut work: Vec<Value>) {
    while let Some(value) = work.pop() {
        match value {
            Value::Fn(closure) => {
                if let Some(mut closure) = Rc::into_inner(closure) {
                    work.extend(std::mem::take(&mut closure.captured));
                }
            }
            Value::Agg(parts) => {
                if let Some(parts) = Rc::into_inner(parts) {
                    work.extend(parts);
                }
            }
            Value::Undef | Value::Bits(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_two_words() {
        assert_eq!(size_of::<Value>(), 16);
    }

    #[test]
    fn a_long_chain_of_closures_is_dropped_without_recursion() {
        let mut chain = Value::Undef;
        for _ in 0..1_000_000 {
            let mut closure = Closure::new(Code::Halt);
            closure.captured.push(Value::agg(vec![chain]));
            chain = Value::Fn(Rc::new(closure));
        }
        drop(chain);
    }
}
