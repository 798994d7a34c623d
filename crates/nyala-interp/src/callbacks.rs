//! Functions of C that call functions of the program: `qsort`, `bsearch`, `atexit`, and the runtime's
//! `anydsl_parallel_for`.
//!
//! The state of the caller is saved, the function of the program runs until it calls its return continuation, which
//! is [`Code::ReturnToC`], and the state is restored. The frame of the C function is on the native stack, so the
//! depth of such calls is limited, and a jump over them is an error.

use std::rc::Rc;

use nyala_ir::functions::{CFn, RuntimeFn};
use nyala_ir::{Cont, Function};
use smallvec::smallvec;

use crate::Ending;
use crate::errors::{Checked, ErrorKind, MemoryKind};
use crate::machine::{Machine, Results, Ret};
use crate::memory::HEAP_ALIGN;
use crate::parallel::RegionKind;
use crate::value::{Closure, Code, Place, Value};

/// The maximum depth of callbacks.
const MAX_DEPTH: usize = 64;

/// The result of a function of C.
enum Outcome {
    Results(Results),
    /// The program has ended.
    End,
}

/// The elements of an array of C, and how to compare them.
struct Elements {
    base: u64,
    count: u64,
    size: u64,
    order: Value,
}

impl Machine<'_, '_> {
    /// Calls a function of C that calls functions of the program; `None` for other functions and other parameters.
    pub(crate) fn call_with_callbacks(
        &mut self,
        function: Function,
        cont: Cont,
        args: &[Value],
        ret: &Ret,
    ) -> Option<Checked<()>> {
        let name = self.link_name(cont);
        let outcome = match (function, args) {
            (Function::C(CFn::Qsort), [array @ .., order]) => {
                self.elements(name, array, order).and_then(|all| self.sort(&all))
            }
            (Function::C(CFn::Bsearch), [key, array @ .., order]) => {
                self.elements(name, array, order).and_then(|all| self.search(key, &all))
            }
            (Function::C(CFn::Atexit), [function]) => {
                self.host.at_exit.push(function.clone());
                Ok(Outcome::Results(smallvec![Value::Bits(0)]))
            }
            (
                Function::Runtime(RuntimeFn::ParallelFor),
                &[_, Value::Bits(lower), Value::Bits(upper), Value::Bits(data), ref body],
            ) => {
                let (lower, upper) = (i64::from(lower as i32), i64::from(upper as i32));
                let kind = RegionKind::Chunks { data, lower, upper };
                return Some(self.start_region(kind, body.clone(), ret.clone(), Results::new()));
            }
            _ => return None,
        };
        Some(match outcome {
            Ok(Outcome::Results(results)) => self.deliver_as(cont, ret.clone(), results),
            Ok(Outcome::End) => Ok(()),
            Err(error) => Err(error),
        })
    }

    fn elements(&self, name: &str, array: &[Value], order: &Value) -> Checked<Elements> {
        let bad = |why: &str| Err(Box::new(ErrorKind::BadArgument { name: name.into(), why: why.into() }));
        let &[Value::Bits(base), Value::Bits(count), Value::Bits(size)] = array else {
            return bad("it needs an address, a count and a size");
        };
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.memory.bytes_after(base) => {
                Ok(Elements { base, count, size, order: order.clone() })
            }
            _ => bad("the memory at this address is smaller than the array"),
        }
    }

    /// A stable merge sort.
    fn sort(&mut self, all: &Elements) -> Checked<Outcome> {
        let count = all.count as usize;
        let mut sorted: Vec<u64> = (0..all.count).map(|i| all.base + i * all.size).collect();
        let mut run = 1;
        while run < count {
            let mut merged = Vec::with_capacity(count);
            for both in sorted.chunks(2 * run) {
                let (mut left, mut right) = both.split_at(run.min(both.len()));
                while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
                    let Some(order) = self.compare(&all.order, *a, *b)? else { return Ok(Outcome::End) };
                    if order > 0 {
                        merged.push(*b);
                        right = right_rest;
                    } else {
                        merged.push(*a);
                        left = left_rest;
                    }
                }
                merged.extend(left);
                merged.extend(right);
            }
            sorted = merged;
            run *= 2;
        }
        let bytes = all.count * all.size;
        let room = self.memory.allocate(bytes, HEAP_ALIGN, MemoryKind::Heap, self.call_span())?;
        for (&from, i) in sorted.iter().zip(0..) {
            self.memory.copy(from, room + i * all.size, all.size)?;
        }
        self.memory.copy(room, all.base, bytes)?;
        self.memory.free_shared(room);
        Ok(Outcome::Results(Results::new()))
    }

    /// An element of a sorted array that is equal to the key, or null.
    fn search(&mut self, key: &Value, all: &Elements) -> Checked<Outcome> {
        let Value::Bits(key) = *key else {
            return Err(Box::new(ErrorKind::UndefinedUse { what: "an address" }));
        };
        let (mut lower, mut upper) = (0, all.count);
        while lower < upper {
            let middle = lower + (upper - lower) / 2;
            let at = all.base + middle * all.size;
            match self.compare(&all.order, key, at)? {
                None => return Ok(Outcome::End),
                Some(0) => return Ok(Outcome::Results(smallvec![Value::Bits(at)])),
                Some(order) if order < 0 => upper = middle,
                Some(_) => lower = middle + 1,
            }
        }
        Ok(Outcome::Results(smallvec![Value::Bits(0)]))
    }

    /// The result of the comparison function; none if the program has ended.
    fn compare(&mut self, order: &Value, a: u64, b: u64) -> Checked<Option<i32>> {
        match self.call_back(order, &[Value::Bits(a), Value::Bits(b)])?.as_deref() {
            None => Ok(None),
            Some([Value::Bits(order)]) => Ok(Some(*order as i32)),
            Some(_) => Err(Box::new(ErrorKind::UndefinedUse { what: "the order of two elements" })),
        }
    }

    /// Calls a function of the program; returns its results, none if the program has ended.
    fn call_back(&mut self, function: &Value, args: &[Value]) -> Checked<Option<Vec<Value>>> {
        if self.callbacks.len() >= MAX_DEPTH {
            let what = format!("callbacks from C that are nested {MAX_DEPTH} deep");
            return Err(Box::new(ErrorKind::Unsupported { what }));
        }
        let here = Place { scope: self.scope.id, block: self.block };
        let mut back = Closure::new(Code::ReturnToC { depth: self.callbacks.len() as u32 });
        back.task = self.task;
        // For the chain of calls in an error.
        back.creator = Some(here);
        back.captured.extend(self.return_register(here).map(Value::Fn));
        let saved = self.save();
        self.callbacks.push(self.regions.len());
        self.args.clear();
        self.args.extend_from_slice(args);
        self.args.push(Value::Fn(Rc::new(back)));
        self.call_value(function.clone())?;
        let ending = self.run_on()?;
        self.callbacks.pop();
        self.restore(saved);
        match ending {
            Ending::Results(results) => Ok(Some(results)),
            Ending::Exit(_) => {
                self.finish(ending);
                Ok(None)
            }
        }
    }

    /// Calls the functions that were registered with `atexit`, the last one first.
    pub(crate) fn at_exit(&mut self, mut ending: Ending) -> Checked<Ending> {
        // The program may have called `exit` inside of regions and callbacks.
        self.regions.clear();
        self.callbacks.clear();
        self.task = 0;
        while let Some(function) = self.host.at_exit.pop() {
            self.args.clear();
            self.args.push(Closure::value(Code::Halt));
            self.call_value(function)?;
            if let exit @ Ending::Exit(_) = self.run_on()? {
                ending = exit;
            }
        }
        Ok(ending)
    }
}
