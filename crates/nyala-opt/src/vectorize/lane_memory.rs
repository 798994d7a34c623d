//! Per-lane memory: allocations, and bit casts through memory.

use nyala_ir::Def;

use super::Refusal;
use super::emit::{Emitter, Rep};
use super::shapes::{Shape, Wraps};

impl Emitter<'_> {
    /// Allocates for one lane after the other; nothing for inactive lanes.
    pub fn allocate(&mut self, def: Def, count: Def, block: usize) {
        let n = self.task.lanes;
        let ptr = self.world.types.part(self.world.ty(def), 1).expect("an allocation gives an address");
        let slice = self.world.types.as_ptr(ptr).expect("an allocation gives an address").0;
        let elem = self.world.types.elem(slice).expect("what is allocated has elements");
        let counts = self.lanes(count, block);
        let none = self.world.lit_i64(0);
        let none = self.world.splat(none, n);
        let counts = self.world.select(self.mask, counts, none);
        let mut addresses = vec![];
        for lane in 0..n {
            let count = self.world.extract_at(counts, lane);
            let (mem, address) = self.world.alloc(self.mem, elem, count);
            self.mem = mem;
            addresses.push(address);
        }
        let ty = self.world.types.simd(ptr, n);
        let addresses = self.world.aggregate(ty, &addresses);
        self.set(def, addresses);
    }

    /// The bits of values as another type of the same size: stores them to a variable per lane, and
    /// loads them as the other type.
    pub fn bits_through_memory(&mut self, def: Def, value: Def, block: usize) -> Result<Def, Refusal> {
        let (from, to, n) = (self.world.ty(value), self.world.ty(def), self.task.lanes);
        let size = self.world.layout(from).size;
        if self.world.layout(to).size != size {
            return Err(Refusal {
                at: self.world.span_of(def),
                why: "a bit cast to a type of another size".into(),
            });
        }
        // An array of the type with the stricter alignment.
        let (is_more, strict) = match self.world.layout(from).align >= self.world.layout(to).align {
            true => (true, from),
            false => (false, to),
        };
        let all = self.world.types.array(strict, u64::from(n));
        let (mem, slot) = self.world.slot(self.mem, all);
        self.mem = mem;
        let first = self.world.lit_i32(0);
        let place = self.world.lea(slot, first);
        let other_ty = self.world.types.ptr(if is_more { to } else { from }, 0);
        let other = self.world.bitcast(other_ty, place);
        let (source, target) = if is_more { (place, other) } else { (other, place) };
        let shape = Shape::strided(size as i64, Wraps::Never);
        let lanes = self.lanes(value, block);
        self.store(Rep { shape, def: source }, from, lanes);
        Ok(self.load(Rep { shape, def: target }, to))
    }
}
