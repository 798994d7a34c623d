//! Reads and writes values, with all checks.
//!
//! A read scalar must be initialized. An aggregate may have uninitialized parts,
//! which are undefined values: so partly filled structs can be copied. Writing an
//! undefined value makes the bytes uninitialized.

use crate::errors::{AccessKind, Checked, ErrorKind, MemoryKind, malformed};
use crate::memory::shape::{Shape, ShapeKind};
use crate::memory::{Allocation, Location, Memory};
use crate::value::Value;

/// Bytes that a function value takes.
const FN_SIZE: u64 = 16;

impl Memory {
    /// Reads a scalar of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(crate) fn load_scalar(&mut self, addr: u64, size: u64) -> Checked<u64> {
        self.load_scalar_as(AccessKind::Read, addr, size)
    }

    #[inline]
    pub(crate) fn load_scalar_as(&mut self, access: AccessKind, addr: u64, size: u64) -> Checked<u64> {
        let location = self.check(access, addr, size, size)?;
        let alloc = &self.allocs[location.alloc as usize];
        if !alloc.is_init(location.offset, size as usize) {
            return Err(alloc.uninitialized(location.offset, size as usize));
        }
        Ok(alloc.read(location.offset, size as usize))
    }

    /// Writes a scalar of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(crate) fn store_scalar(&mut self, addr: u64, size: u64, bits: u64) -> Checked<()> {
        self.store_scalar_as(AccessKind::Write, addr, size, bits)
    }

    #[inline]
    pub(crate) fn store_scalar_as(
        &mut self,
        access: AccessKind,
        addr: u64,
        size: u64,
        bits: u64,
    ) -> Checked<()> {
        let location = self.check(access, addr, size, size)?;
        let alloc = &mut self.allocs[location.alloc as usize];
        alloc.check_mutable()?;
        alloc.write(location.offset, size as usize, bits);
        Ok(())
    }

    /// Writes a pointer, and records that the address of its variable is in memory.
    pub(crate) fn store_ptr(&mut self, addr: u64, bits: u64) -> Checked<()> {
        self.store_scalar(addr, 8, bits)?;
        self.mark_address_stored(bits);
        Ok(())
    }

    fn mark_address_stored(&mut self, target: u64) {
        if let Some(number) = self.number_of(target) {
            self.allocs[number as usize].is_address_stored = true;
        }
    }

    /// Reads a value.
    pub(crate) fn load(&mut self, addr: u64, shape: &Shape) -> Checked<Value> {
        match shape.kind {
            ShapeKind::Prim(prim) => self.load_scalar(addr, prim.bytes()).map(|bits| Value::prim(prim, bits)),
            ShapeKind::Ptr => self.load_scalar(addr, 8).map(Value::Bits),
            ShapeKind::Parts(ref parts) if parts.is_empty() => Ok(Value::unit()),
            _ => {
                let location = self.check(AccessKind::Read, addr, shape.size, shape.align)?;
                let alloc = &self.allocs[location.alloc as usize];
                match (alloc.part(location.offset as u64, shape), &shape.kind) {
                    (Value::Undef, ShapeKind::Fn) if alloc.is_init(location.offset, FN_SIZE as usize) => {
                        Err(Box::new(ErrorKind::NotAFunction))
                    }
                    (Value::Undef, ShapeKind::Fn) => {
                        Err(alloc.uninitialized(location.offset, FN_SIZE as usize))
                    }
                    (Value::Undef, ShapeKind::Enum { tag_at, tag_size, .. }) => {
                        Err(alloc.uninitialized(location.offset + *tag_at as usize, *tag_size as usize))
                    }
                    (value, _) => Ok(value),
                }
            }
        }
    }

    /// Writes a value.
    pub(crate) fn store(&mut self, addr: u64, shape: &Shape, value: &Value) -> Checked<()> {
        let location = self.check(AccessKind::Write, addr, shape.size, shape.align)?;
        self.allocs[location.alloc as usize].check_mutable()?;
        self.store_at(location, shape, value)
    }

    /// Initializes a new global, also a constant. This is not an access, so it races
    /// with none.
    pub(crate) fn initialize(&mut self, addr: u64, shape: &Shape, value: &Value) -> Checked<()> {
        match self.number_of(addr) {
            Some(alloc) => self.store_at(Location { alloc, offset: 0 }, shape, value),
            None => malformed("a global without memory"),
        }
    }

    fn store_at(&mut self, location: Location, shape: &Shape, value: &Value) -> Checked<()> {
        let mut pointers = vec![];
        self.allocs[location.alloc as usize].put(location.offset as u64, shape, value, &mut pointers)?;
        for pointer in pointers {
            self.mark_address_stored(pointer);
        }
        Ok(())
    }

    /// Copies bytes, the functions stored there, and which bytes are initialized.
    pub(crate) fn copy(&mut self, src: u64, dst: u64, size: u64) -> Checked<()> {
        if size == 0 {
            return Ok(());
        }
        let from = self.check(AccessKind::Read, src, size, 1)?;
        let to = self.check(AccessKind::Write, dst, size, 1)?;
        self.allocs[to.alloc as usize].check_mutable()?;
        let (size, source) = (size as usize, &self.allocs[from.alloc as usize]);
        let bytes = source.bytes[from.offset..][..size].to_vec();
        let init: Vec<bool> = (0..size).map(|i| source.is_init(from.offset + i, 1)).collect();
        let (start, end) = (from.offset as u64, (from.offset + size) as u64);
        let whole = |at: u64| at + FN_SIZE <= end;
        let fns: Vec<(u64, Value)> = source
            .fns
            .range(start..end)
            .filter(|(at, _)| whole(**at))
            .map(|(at, function)| (at - start, function.clone()))
            .collect();
        let target = &mut self.allocs[to.alloc as usize];
        target.remove_fns(to.offset as u64, size as u64);
        target.bytes[to.offset..][..size].copy_from_slice(&bytes);
        for (i, is_init) in init.into_iter().enumerate() {
            target.set_init(to.offset + i, 1, is_init);
        }
        target.fns.extend(fns.into_iter().map(|(at, function)| (to.offset as u64 + at, function)));
        Ok(())
    }

    /// Fills bytes.
    pub(crate) fn fill(&mut self, dst: u64, byte: u8, size: u64) -> Checked<()> {
        if size == 0 {
            return Ok(());
        }
        let to = self.check(AccessKind::Write, dst, size, 1)?;
        let target = &mut self.allocs[to.alloc as usize];
        target.check_mutable()?;
        target.remove_fns(to.offset as u64, size);
        target.bytes[to.offset..][..size as usize].fill(byte);
        (0..size as usize).for_each(|i| target.set_init(to.offset + i, 1, true));
        Ok(())
    }

    /// Reads bytes up to the first zero.
    pub(crate) fn c_string(&mut self, addr: u64) -> Checked<Vec<u8>> {
        let mut text = vec![];
        loop {
            match self.load_scalar(addr.wrapping_add(text.len() as u64), 1)? {
                0 => return Ok(text),
                byte => text.push(byte as u8),
            }
        }
    }

    /// Reads initialized bytes.
    pub(crate) fn read_bytes(&mut self, addr: u64, size: u64) -> Checked<Vec<u8>> {
        (0..size).map(|i| self.load_scalar(addr.wrapping_add(i), 1).map(|byte| byte as u8)).collect()
    }

    /// Writes bytes.
    pub(crate) fn write_bytes(&mut self, addr: u64, bytes: &[u8]) -> Checked<()> {
        let mut each = bytes.iter().zip(0..);
        each.try_for_each(|(&byte, i)| self.store_scalar(addr.wrapping_add(i), 1, u64::from(byte)))
    }

    /// The bits of `value` as another type, through scratch memory.
    pub(crate) fn reinterpret(&mut self, value: &Value, from: &Shape, to: &Shape) -> Checked<Value> {
        let size = from.size.max(to.size) as usize;
        let mut scratch = Allocation::scratch(size);
        scratch.put(0, from, value, &mut vec![])?;
        Ok(scratch.part(0, to))
    }
}

impl Allocation {
    fn scratch(size: usize) -> Allocation {
        Allocation {
            base: 0,
            end: size as u64,
            kind: MemoryKind::Heap,
            alive: true,
            made: nyala_span::Span::NONE,
            freed: nyala_span::Span::NONE,
            bytes: vec![0; size],
            init: vec![0; size.div_ceil(64)],
            fns: Default::default(),
            token: Default::default(),
            is_address_stored: false,
            side: None,
            shadow: Default::default(),
        }
    }

    #[inline]
    fn check_mutable(&self) -> Checked<()> {
        match self.kind {
            MemoryKind::Constant | MemoryKind::Host => {
                Err(Box::new(ErrorKind::ConstantWritten { made: self.made }))
            }
            _ => Ok(()),
        }
    }

    /// Whether all of at most 64 bytes were written.
    #[inline]
    fn is_init(&self, offset: usize, size: usize) -> bool {
        let (word, bit) = (offset / 64, offset % 64);
        let mask = if size == 64 { !0 } else { (1u64 << size) - 1 };
        if bit + size <= 64 {
            return self.init[word] >> bit & mask == mask;
        }
        (offset..offset + size).all(|at| self.init[at / 64] >> (at % 64) & 1 == 1)
    }

    #[inline]
    fn set_init(&mut self, offset: usize, size: usize, is_init: bool) {
        let (word, bit) = (offset / 64, offset % 64);
        if bit + size <= 64 {
            let mask = if size == 64 { !0 } else { ((1u64 << size) - 1) << bit };
            let old = &mut self.init[word];
            *old = if is_init { *old | mask } else { *old & !mask };
            return;
        }
        for at in offset..offset + size {
            self.set_init(at, 1, is_init);
        }
    }

    #[cold]
    fn uninitialized(&self, offset: usize, size: usize) -> Box<ErrorKind> {
        let first = (offset..offset + size).find(|&at| !self.is_init(at, 1)).unwrap_or(offset);
        Box::new(ErrorKind::Uninitialized { kind: self.kind, offset: first as u64, made: self.made })
    }

    #[inline]
    fn read(&self, offset: usize, size: usize) -> u64 {
        let bytes = &self.bytes[offset..offset + size];
        match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
        }
    }

    #[inline]
    fn write(&mut self, offset: usize, size: usize, bits: u64) {
        if !self.fns.is_empty() {
            self.remove_fns(offset as u64, size as u64);
        }
        self.bytes[offset..offset + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        self.set_init(offset, size, true);
    }

    /// Removes functions that overlap these bytes.
    fn remove_fns(&mut self, offset: u64, size: u64) {
        if self.fns.is_empty() {
            return;
        }
        let first = (offset + 1).saturating_sub(FN_SIZE);
        let hit: Vec<u64> = self.fns.range(first..offset + size).map(|(&at, _)| at).collect();
        for at in hit {
            self.fns.remove(&at);
        }
    }

    /// The value at an offset; undefined where memory is uninitialized.
    fn part(&self, at: u64, shape: &Shape) -> Value {
        let scalar = |size: u64| {
            let (at, size) = (at as usize, size as usize);
            self.is_init(at, size).then(|| self.read(at, size))
        };
        match &shape.kind {
            ShapeKind::Prim(prim) => {
                scalar(prim.bytes()).map_or(Value::Undef, |bits| Value::prim(*prim, bits))
            }
            ShapeKind::Ptr => scalar(8).map_or(Value::Undef, Value::Bits),
            ShapeKind::Fn => self.fns.get(&at).cloned().unwrap_or_default(),
            ShapeKind::Parts(parts) => {
                Value::agg(parts.iter().map(|(offset, part)| self.part(at + offset, part)).collect())
            }
            ShapeKind::Repeat { elem, len } => {
                Value::agg((0..*len).map(|i| self.part(at + i * elem.size, elem)).collect())
            }
            ShapeKind::Enum { tag_at, tag_size, options } => {
                let (tag_at, tag_size) = ((at + tag_at) as usize, *tag_size as usize);
                if !self.is_init(tag_at, tag_size) {
                    return Value::Undef;
                }
                let tag = self.read(tag_at, tag_size);
                let payload = options.get(tag as usize).map_or(Value::Undef, |option| self.part(at, option));
                Value::agg(vec![Value::Bits(tag), payload])
            }
            ShapeKind::Nothing => Value::unit(),
        }
    }

    /// Writes a value at an offset, and adds the pointers in it to a list.
    fn put(&mut self, at: u64, shape: &Shape, value: &Value, pointers: &mut Vec<u64>) -> Checked<()> {
        if let Value::Undef = value {
            self.remove_fns(at, shape.size);
            (at..at + shape.size).for_each(|at| self.set_init(at as usize, 1, false));
            return Ok(());
        }
        match (&shape.kind, value) {
            (ShapeKind::Prim(prim), Value::Bits(bits)) => {
                self.write(at as usize, prim.bytes() as usize, *bits);
            }
            (ShapeKind::Ptr, Value::Bits(bits)) => {
                self.write(at as usize, 8, *bits);
                pointers.push(*bits);
            }
            (ShapeKind::Fn, Value::Fn(_)) => {
                self.remove_fns(at, FN_SIZE);
                self.set_init(at as usize, FN_SIZE as usize, true);
                self.fns.insert(at, value.clone());
            }
            (ShapeKind::Parts(parts), Value::Agg(values)) => {
                for ((offset, part), value) in parts.iter().zip(values.iter()) {
                    self.put(at + offset, part, value, pointers)?;
                }
            }
            (ShapeKind::Repeat { elem, .. }, Value::Agg(values)) => {
                for (i, value) in (0..).zip(values.iter()) {
                    self.put(at + i * elem.size, elem, value, pointers)?;
                }
            }
            (ShapeKind::Enum { tag_at, tag_size, options }, Value::Agg(values)) => {
                let [tag, payload] = &values[..] else { return malformed("an enum value of another form") };
                self.put_enum((at, at + tag_at, *tag_size), options, tag, payload, pointers)?;
            }
            (ShapeKind::Nothing, _) => {}
            _ => return malformed("a value is stored as another type"),
        }
        Ok(())
    }

    fn put_enum(
        &mut self,
        (at, tag_at, tag_size): (u64, u64, u64),
        options: &[std::rc::Rc<Shape>],
        tag: &Value,
        payload: &Value,
        pointers: &mut Vec<u64>,
    ) -> Checked<()> {
        let Some(tag) = tag.as_bits() else { return malformed("an enum value without a tag") };
        self.write(tag_at as usize, tag_size as usize, tag);
        match options.get(tag as usize) {
            Some(option) => self.put(at, option, payload, pointers),
            None => malformed("an enum value of no option"),
        }
    }
}
