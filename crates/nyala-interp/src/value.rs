//! Values: the contents of registers.
//!
//! A scalar is its bits, zero-extended, as in the graph's literals. A pointer is
//! an address and so a scalar too; the address names its allocation, so casts
//! between pointers and integers lose nothing. Aggregates are shared, and copied
//! on write. A continuation is a [`Closure`].
//!
//! # Invariants
//!
//! * `Closure::new` creates every closure, and counts it.
//! * Dropping a value never recurses on the length of a chain of closures: a
//!   million return continuations, each holding the next, are dropped in a loop.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use nyala_ir::{Cont, Prim};
use smallvec::SmallVec;

/// A value of the program.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// An undefined value. It may be copied and computed with; no branch, address or size may depend on it.
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

    /// A number of a primitive type from its bits, truncated to its width.
    pub fn prim(prim: Prim, bits: u64) -> Value {
        Value::Bits(prim.canonical(bits))
    }

    /// A `bool`.
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

    /// Whether both are the same data. A continuation differs from every value.
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

/// A continuation as a value: its code and its captures.
#[derive(Debug)]
pub struct Closure {
    pub(crate) code: Code,
    /// The block that created it, for the chain of calls in an error.
    pub(crate) creator: Option<Place>,
    /// The instance that created it, to detect jumps out of a parallel body.
    pub(crate) task: u32,
    /// The registers that its block needs, in the order the block lists them.
    pub(crate) captured: SmallVec<[Value; 4]>,
    pub(crate) kept_alive: Option<Box<KeptAlive>>,
    /// For return continuations in groups: the iterations of the loops of the function that returns to it. See
    /// Note [Least progress first].
    pub(crate) iterations: OnceCell<Box<IterationCounts>>,
}

/// The iterations of loops, by their headers.
#[derive(Debug, Default)]
pub(crate) struct IterationCounts(RefCell<Vec<(Place, u32)>>);

impl IterationCounts {
    /// The number of iterations of a loop that have begun after the first.
    pub(crate) fn of(&self, header: Place) -> u32 {
        self.0.borrow().iter().find(|(other, _)| *other == header).map_or(0, |&(_, iterations)| iterations)
    }

    /// An iteration of a loop begins. The loops inside of it start again.
    pub(crate) fn begin(&self, header: Place, is_inside: impl Fn(Place) -> bool) {
        let mut all = self.0.borrow_mut();
        all.retain(|&(other, _)| other == header || !is_inside(other));
        match all.iter_mut().find(|(other, _)| *other == header) {
            Some((_, iterations)) => *iterations += 1,
            None => all.push((header, 0)),
        }
    }
}

thread_local! {
    /// The number of closures. It is not in the machine, because `Closure::drop` cannot access the machine.
    static CLOSURES: Cell<u64> = const { Cell::new(0) };
}

impl Closure {
    /// The approximate size of all closures in bytes.
    pub(crate) fn bytes_of_all() -> u64 {
        CLOSURES.get() * size_of::<Closure>() as u64
    }

    pub(crate) fn new(code: Code) -> Closure {
        CLOSURES.set(CLOSURES.get() + 1);
        Closure {
            code,
            creator: None,
            task: 0,
            captured: SmallVec::new(),
            kept_alive: None,
            iterations: OnceCell::new(),
        }
    }

    pub(crate) fn value(code: Code) -> Value {
        Value::Fn(Rc::new(Closure::new(code)))
    }

    /// Whether both are the same function, which has no captures.
    pub(crate) fn is_same_function(&self, other: &Closure) -> bool {
        matches!((self.code, other.code), (Code::Func(a), Code::Func(b)) if a == b)
    }
}

/// A block of a compiled scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) scope: u32,
    pub(crate) block: u32,
}

/// The code of a closure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    /// A top-level continuation, which needs no registers.
    Func(Cont),
    /// A block of a scope.
    Block(Place),
    /// Ends the program, with the arguments as results.
    Halt,
    /// Returns to a function of C that has called the program, with the arguments as results.
    ReturnToC {
        /// How many such functions enclose it.
        depth: u32,
    },
    /// Ends an instance of a parallel region.
    InstanceEnd {
        /// The instance.
        task: u32,
    },
    /// Calls the captured closure; until then it keeps an activation alive.
    KeepAlive,
}

/// Variables that are only kept alive.
pub(crate) type HeldSlots = SmallVec<[Rc<SlotToken>; 1]>;

/// What a closure keeps alive besides its captures.
#[derive(Debug, Default)]
pub(crate) struct KeptAlive {
    pub(crate) activation: Option<Rc<Activation>>,
    /// The variables whose addresses it captured.
    pub(crate) slots: HeldSlots,
}

/// One execution of a function that has local variables. They live until it is
/// dropped: when the function has ended and none of its closures exists.
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
    /// The latest one of each `slot` operation.
    pub(crate) latest: Vec<(u32, Rc<SlotToken>)>,
    /// Earlier ones whose addresses may still be in use.
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

/// Ownership of a local variable. When the last owner is dropped, the variable is
/// put on the list of variables that the memory frees.
#[derive(Debug)]
pub(crate) struct SlotToken {
    pub(crate) alloc: u32,
    pub(crate) dead_slots: Rc<RefCell<Vec<u32>>>,
}

impl Drop for SlotToken {
    fn drop(&mut self) {
        self.dead_slots.borrow_mut().push(self.alloc);
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

/// Drops values and what only they own, without recursion.
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
    fn dropping_a_long_chain_of_closures_does_not_recurse() {
        let mut chain = Value::Undef;
        for _ in 0..1_000_000 {
            let mut closure = Closure::new(Code::Halt);
            closure.captured.push(Value::agg(vec![chain]));
            chain = Value::Fn(Rc::new(closure));
        }
        drop(chain);
    }
}
