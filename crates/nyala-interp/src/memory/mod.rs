//! The program's memory, every access checked.
//!
//! Memory is a set of allocations, each with its bytes, a bit per byte that says
//! whether it was written, and the functions stored in it (which have no bytes).
//! Allocation number `i` owns the addresses `(i + 1) * WINDOW ..`; so an address
//! names its allocation, can be converted to an integer and back, and does not
//! reach another allocation by going past the end.
//!
//! # Invariants
//!
//! * No address is allocated twice: a number that is used again continues in its
//!   window after the old allocation. A stale pointer is never valid by accident.
//! * Freed memory has no bytes, so that the bounds check also checks that the
//!   memory is alive; the reason of a failure is determined afterwards.
//!
//! # Where to look next
//!
//! [`shape`] says how values of a type lie in memory, [`access`] reads and writes
//! them, and [`race`](crate::race) watches accesses by parallel instances.

pub(crate) mod access;
pub(crate) mod shape;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

use nyala_span::Span;

use crate::errors::{AccessKind, Checked, ErrorKind, MemoryKind, Side};
use crate::race::{Races, Shadow};
use crate::value::{SlotToken, Value};

/// Addresses per allocation number, as a power of two: 64 GiB.
const WINDOW_BITS: u32 = 36;
/// Addresses between an allocation and the next one with the same number.
const GAP: u64 = 4096;
/// How many freed allocations are kept before their numbers are used again, so
/// that an error can say where the memory was allocated.
const REMEMBERED: usize = 1024;
/// How many places of leaked memory are shown, besides the first.
const SHOWN_LEAKS: usize = 7;
/// The alignment of memory from the host's allocation functions.
pub(crate) const HEAP_ALIGN: u64 = 64;

/// The call at the end of the block, instead of an operation.
pub(crate) const AT_CALL: u32 = u32::MAX;

/// All memory of a run.
pub(crate) struct Memory {
    allocs: Vec<Allocation>,
    /// Numbers to use again, the one that was freed first is the first.
    free: VecDeque<u32>,
    /// Local variables that lost their last owner.
    pub(crate) dead_slots: Rc<RefCell<Vec<u32>>>,
    used: u64,
    limit: u64,
    /// The operation being executed, or [`AT_CALL`]. It is here because accesses are
    /// recorded with it.
    pub(crate) at: u32,
    /// The side that the code being executed has no access to.
    foreign: Option<Side>,
    /// Detects data races between parallel instances.
    pub(crate) races: Races,
}

struct Allocation {
    base: u64,
    /// One past the last address.
    end: u64,
    kind: MemoryKind,
    alive: bool,
    made: Span,
    freed: Span,
    bytes: Vec<u8>,
    /// One bit per byte.
    init: Vec<u64>,
    /// Functions by their offsets.
    fns: BTreeMap<u64, Value>,
    token: Weak<SlotToken>,
    /// Whether its address was written to memory.
    is_address_stored: bool,
    /// The only side that has access to it.
    side: Option<Side>,
    shadow: Shadow,
}

/// A checked location in memory: the allocation's number and an offset.
#[derive(Clone, Copy)]
pub(crate) struct Location {
    alloc: u32,
    offset: usize,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Memory {
        Memory {
            allocs: vec![],
            free: VecDeque::new(),
            dead_slots: Rc::default(),
            used: 0,
            limit,
            at: AT_CALL,
            foreign: Some(Side::Device),
            races: Races::default(),
        }
    }

    /// Checks the limit with closures included: endless recursion is a chain of closures.
    #[inline]
    pub(crate) fn check_closures(&self, size: u64) -> Checked<()> {
        match self.used.saturating_add(size) > self.limit {
            true => Err(Box::new(ErrorKind::OutOfMemory { size })),
            false => Ok(()),
        }
    }

    /// Allocates uninitialized memory; returns its address.
    pub(crate) fn allocate(&mut self, size: u64, align: u64, kind: MemoryKind, made: Span) -> Checked<u64> {
        let fits = size < (1 << WINDOW_BITS) - 2 * GAP - align.min(1 << 30);
        // Many small allocations need more memory for bookkeeping than for bytes. Freed ones are a bounded overhead.
        let n_live = self.allocs.len().saturating_sub(self.free.len());
        let bookkeeping = (n_live * size_of::<Allocation>()) as u64;
        let used = self.used.saturating_add(size).saturating_add(bookkeeping);
        if !fits || used > self.limit || !is_available(size) {
            return Err(Box::new(ErrorKind::OutOfMemory { size }));
        }
        self.used += size;
        let (number, after) = self.number(size, align);
        let base = (after + GAP).next_multiple_of(align.max(8));
        let (len, words) = (size as usize, (size as usize).div_ceil(64));
        let alloc = Allocation {
            base,
            end: base + size,
            kind,
            alive: true,
            made,
            freed: Span::NONE,
            bytes: vec![0; len],
            init: vec![0; words],
            fns: BTreeMap::new(),
            token: Weak::new(),
            is_address_stored: false,
            side: None,
            shadow: Shadow::default(),
        };
        if number as usize == self.allocs.len() {
            self.allocs.push(alloc);
        } else {
            self.allocs[number as usize] = alloc;
        }
        Ok(base)
    }

    /// Heap memory that only one side has access to.
    pub(crate) fn allocate_on(&mut self, side: Side, size: u64, align: u64, made: Span) -> Checked<u64> {
        let addr = self.allocate(size, align, MemoryKind::Heap, made)?;
        self.allocs[window_number(addr) as usize].side = Some(side);
        Ok(addr)
    }

    /// From now on, code of `side` runs.
    pub(crate) fn switch_to(&mut self, side: Side) {
        self.foreign = Some(match side {
            Side::Host => Side::Device,
            Side::Device => Side::Host,
        });
    }

    /// Lets the runtime access memory of both sides.
    pub(crate) fn as_runtime<T>(&mut self, access: impl FnOnce(&mut Memory) -> T) -> T {
        let foreign = self.foreign.take();
        let result = access(self);
        self.foreign = foreign;
        result
    }

    /// A number for `size` bytes and the last address used under it so far.
    fn number(&mut self, size: u64, align: u64) -> (u32, u64) {
        while self.free.len() > REMEMBERED {
            let Some(number) = self.free.pop_front() else { break };
            let after = self.allocs[number as usize].end;
            let end = window_start(number) + (1 << WINDOW_BITS);
            // A window without space is never used again.
            if after + 2 * GAP + align + size < end {
                return (number, after);
            }
        }
        let number = self.allocs.len() as u32;
        (number, window_start(number))
    }

    /// A local variable. It is freed when the token is dropped.
    pub(crate) fn allocate_slot(
        &mut self,
        size: u64,
        align: u64,
        made: Span,
    ) -> Checked<(u64, Rc<SlotToken>)> {
        let addr = self.allocate(size, align, MemoryKind::Slot, made)?;
        let alloc = self.number_of(addr).expect("it was just allocated");
        let token = Rc::new(SlotToken { alloc, dead_slots: self.dead_slots.clone() });
        self.allocs[alloc as usize].token = Rc::downgrade(&token);
        Ok((addr, token))
    }

    /// Memory with these bytes, for constants and strings of the host.
    pub(crate) fn allocate_bytes(&mut self, bytes: &[u8], kind: MemoryKind) -> Checked<u64> {
        let addr = self.allocate(bytes.len() as u64, 8, kind, Span::NONE)?;
        let alloc = &mut self.allocs[window_number(addr) as usize];
        alloc.bytes.copy_from_slice(bytes);
        alloc.init.fill(!0);
        Ok(addr)
    }

    /// Sets all bytes of the allocation at `addr` to zero.
    pub(crate) fn zero(&mut self, addr: u64) {
        if let Some(number) = self.number_of(addr) {
            let alloc = &mut self.allocs[number as usize];
            alloc.bytes.fill(0);
            alloc.init.fill(!0);
        }
    }

    /// Frees heap memory.
    pub(crate) fn release(&mut self, addr: u64, at: Span) -> Checked<()> {
        let bad = |why, alloc: Option<&Allocation>| {
            let made = alloc.map_or(Span::NONE, |alloc| alloc.made);
            let freed = alloc.map_or(Span::NONE, |alloc| alloc.freed);
            Err(Box::new(ErrorKind::BadFree { why, made, freed }))
        };
        if addr == 0 {
            return Ok(());
        }
        let Some(number) = self.number_of(addr) else {
            return bad("the address is not in any allocation", None);
        };
        let alloc = &self.allocs[number as usize];
        if addr < alloc.base {
            return bad("it was freed before", None);
        }
        if !alloc.alive {
            return bad("it was freed before", Some(alloc));
        }
        if !matches!(alloc.kind, MemoryKind::Heap | MemoryKind::Boxed) {
            return bad("it does not come from the heap", Some(alloc));
        }
        if addr != alloc.base {
            return bad("the address is not the start of the allocation", Some(alloc));
        }
        self.free_allocation(number, at);
        Ok(())
    }

    /// Frees work-group memory.
    pub(crate) fn free_shared(&mut self, addr: u64) {
        if let Some(number) = self.number_of(addr) {
            self.free_allocation(number, Span::NONE);
        }
    }

    /// Frees the local variables that lost their last owner. A value in a freed
    /// variable may own others, hence the loop.
    pub(crate) fn free_dead_slots(&mut self) {
        loop {
            let dead = std::mem::take(&mut *self.dead_slots.borrow_mut());
            if dead.is_empty() {
                return;
            }
            for number in dead {
                self.free_allocation(number, Span::NONE);
            }
        }
    }

    pub(crate) fn has_dead_slots(&self) -> bool {
        !self.dead_slots.borrow().is_empty()
    }

    fn free_allocation(&mut self, number: u32, at: Span) {
        let alloc = &mut self.allocs[number as usize];
        self.used -= alloc.bytes.len() as u64;
        alloc.alive = false;
        alloc.freed = at;
        alloc.bytes = vec![];
        alloc.init = vec![];
        alloc.shadow = Shadow::default();
        drop(std::mem::take(&mut alloc.fns));
        self.free.push_back(number);
    }

    /// The owner of the local variable that `addr` lies in.
    pub(crate) fn slot_token(&self, addr: u64) -> Option<Rc<SlotToken>> {
        let alloc = &self.allocs[self.number_of(addr)? as usize];
        let inside = alloc.kind == MemoryKind::Slot && addr >= alloc.base;
        inside.then(|| alloc.token.upgrade()).flatten()
    }

    /// Whether the address of the local variable `alloc` was written to memory.
    pub(crate) fn is_address_stored(&self, alloc: u32) -> bool {
        self.allocs[alloc as usize].is_address_stored
    }

    /// The allocation that an address names; it may be dead.
    pub(crate) fn number_of(&self, addr: u64) -> Option<u32> {
        let number = window_number(addr);
        ((number as usize) < self.allocs.len()).then_some(number as u32)
    }

    /// The heap memory that is alive, as an error at the place of the first allocation.
    pub(crate) fn leak(&self) -> Option<(ErrorKind, Span)> {
        let heap = self.allocs.iter().filter(|alloc| alloc.alive && alloc.kind == MemoryKind::Heap);
        let first = heap.clone().next()?.made;
        let (count, bytes) = (heap.clone().count(), heap.clone().map(|alloc| alloc.bytes.len() as u64).sum());
        let mut others = vec![];
        for place in heap.map(|alloc| alloc.made).filter(|&made| made != first) {
            if others.len() < SHOWN_LEAKS && !others.contains(&place) {
                others.push(place);
            }
        }
        Some((ErrorKind::Leak { count, bytes, others }, first))
    }

    /// How many bytes there are from `addr` to the end of its allocation.
    pub(crate) fn bytes_after(&self, addr: u64) -> u64 {
        let Some(number) = self.number_of(addr) else { return 0 };
        let alloc = &self.allocs[number as usize];
        addr.checked_sub(alloc.base).map_or(0, |offset| (alloc.bytes.len() as u64).saturating_sub(offset))
    }

    /// Checks an access; returns its location.
    #[inline]
    pub(crate) fn check(
        &mut self,
        access: AccessKind,
        addr: u64,
        size: u64,
        align: u64,
    ) -> Checked<Location> {
        let number = window_number(addr);
        if let Some(alloc) = self.allocs.get(number as usize) {
            let offset = addr.wrapping_sub(alloc.base);
            let end = offset.wrapping_add(size);
            let inside = end <= alloc.bytes.len() as u64 && offset <= end && alloc.alive;
            let is_foreign = alloc.side.is_some() && alloc.side == self.foreign;
            if inside && !is_foreign && addr & (align - 1) == 0 {
                let location = Location { alloc: number as u32, offset: offset as usize };
                if self.races.is_watching() {
                    self.watch(access, location, size)?;
                }
                return Ok(location);
            }
        }
        Err(self.explain(access, addr, size, align))
    }

    #[cold]
    fn watch(&mut self, access: AccessKind, location: Location, size: u64) -> Checked<()> {
        let alloc = &mut self.allocs[location.alloc as usize];
        self.races.site.at = self.at;
        self.races.access(&mut alloc.shadow, access, location.offset, size as usize)
    }

    /// The reason why an access is invalid.
    #[cold]
    fn explain(&self, access: AccessKind, addr: u64, size: u64, align: u64) -> Box<ErrorKind> {
        let Some(number) = self.number_of(addr) else {
            return Box::new(ErrorKind::InvalidPointer { access, addr });
        };
        let alloc = &self.allocs[number as usize];
        let offset = addr.wrapping_sub(alloc.base) as i64;
        let (kind, made) = (alloc.kind, alloc.made);
        Box::new(if offset < -(GAP as i64) / 2 {
            // An earlier allocation with this number, of which no record exists.
            ErrorKind::Dangling { access, kind, made: Span::NONE, freed: Span::NONE }
        } else if !alloc.alive {
            ErrorKind::Dangling { access, kind, made, freed: alloc.freed }
        } else if offset < 0 || (offset as u64).saturating_add(size) > alloc.bytes.len() as u64 {
            let alloc_size = alloc.bytes.len() as u64;
            ErrorKind::OutOfBounds { access, size, offset, kind, alloc_size, made }
        } else if let Some(side) = alloc.side.filter(|_| alloc.side == self.foreign) {
            ErrorKind::WrongSide { access, memory: side, made }
        } else {
            ErrorKind::Misaligned { access, addr, align }
        })
    }
}

/// Whether the system can provide this much memory: a failed allocation aborts the process. Small sizes are not
/// checked.
fn is_available(size: u64) -> bool {
    const LARGE: u64 = 1 << 24;
    size < LARGE || Vec::<u8>::new().try_reserve_exact(size as usize).is_ok()
}

fn window_start(number: u32) -> u64 {
    (u64::from(number) + 1) << WINDOW_BITS
}

/// The allocation number of an address; out of range for addresses below the first
/// window.
fn window_number(addr: u64) -> u64 {
    (addr >> WINDOW_BITS).wrapping_sub(1)
}
