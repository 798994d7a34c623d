//! The memory of a program while it is staged: objects, and addresses of the running program.

use nyala_ir::Prim;

use crate::code::{Base, Pointer};

/// The objects of a program. Pointers name them by number, so a copy of the memory is a copy of all objects.
#[derive(Clone, Default, Debug)]
pub struct Memory {
    objects: Vec<Object>,
    bytes: usize,
}

/// Elements of one type.
#[derive(Clone, Debug)]
pub struct Object {
    /// The type of the elements.
    pub elem: Prim,
    /// How many there are.
    pub len: usize,
    /// Whether it is a constant of the program.
    pub is_const: bool,
    /// The bytes; words, so that every element is aligned.
    words: Vec<u64>,
}

impl Memory {
    /// A constant array; equal ones are one object.
    pub fn constant(&mut self, elem: Prim, elements: &[u64]) -> Pointer {
        let mut object = Object::new(elem, elements.len());
        object.is_const = true;
        elements.iter().enumerate().for_each(|(index, bits)| object.set(index, *bits));
        let same = |found: &Object| found.is_const && found.elem == elem && found.words == object.words;
        let same = self.objects.iter().position(|found| same(found) && found.len == object.len);
        self.pointer(same, object)
    }

    /// New elements, all zero; `None` if there are too many.
    pub fn alloc(&mut self, elem: Prim, len: i64, limit: usize) -> Option<Pointer> {
        let len = usize::try_from(len).ok()?;
        let bytes = len.checked_mul(elem.bytes() as usize)?.checked_add(self.bytes)?;
        if bytes > limit {
            return None;
        }
        Some(self.pointer(None, Object::new(elem, len)))
    }

    fn pointer(&mut self, found: Option<usize>, object: Object) -> Pointer {
        let elem = object.elem;
        let at = found.unwrap_or_else(|| {
            self.bytes += object.words.len() * 8;
            self.objects.push(object);
            self.objects.len() - 1
        });
        Pointer { base: Base::Object(at as u32), index: 0, elem }
    }

    /// An object.
    pub fn object(&self, object: u32) -> &Object {
        &self.objects[object as usize]
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The element `index` after a pointer.
    pub fn load(&self, pointer: Pointer, index: i64) -> Result<u64, String> {
        match pointer.base {
            Base::Object(object) => {
                let object = &self.objects[object as usize];
                Ok(object.get(object.check(pointer, index)?))
            }
            Base::Address(address) => {
                let at = element(address, pointer, index);
                // SAFETY: compiled code passes its own pointers to the compiler, and a program in compiled code
                // promises to access only memory that is valid. See `native`.
                unsafe { Ok(read(at as *const u8, pointer.elem)) }
            }
        }
    }

    /// Sets the element `index` after a pointer.
    pub fn store(&mut self, pointer: Pointer, index: i64, bits: u64) -> Result<(), String> {
        match pointer.base {
            Base::Object(object) => {
                let object = &mut self.objects[object as usize];
                let at = object.check(pointer, index)?;
                if object.is_const {
                    return Err("the array is a constant".into());
                }
                object.set(at, bits);
            }
            Base::Address(address) => {
                let at = element(address, pointer, index);
                // SAFETY: as for `load`.
                unsafe { write(at as *mut u8, pointer.elem, bits) };
            }
        }
        Ok(())
    }

    /// The address of a pointer in this process. It is valid until the memory is dropped.
    pub fn address(&self, pointer: Pointer) -> u64 {
        let base = match pointer.base {
            Base::Object(object) => self.objects[object as usize].words.as_ptr() as u64,
            Base::Address(address) => address,
        };
        element(base, pointer, 0)
    }
}

fn element(base: u64, pointer: Pointer, index: i64) -> u64 {
    let at = pointer.index.wrapping_add(index);
    base.wrapping_add(at.wrapping_mul(pointer.elem.bytes() as i64) as u64)
}

impl Object {
    fn new(elem: Prim, len: usize) -> Object {
        let words = vec![0; (len * elem.bytes() as usize).div_ceil(8)];
        Object { elem, len, is_const: false, words }
    }

    fn check(&self, pointer: Pointer, index: i64) -> Result<usize, String> {
        let at = pointer.index.checked_add(index);
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < self.len);
        at.ok_or_else(|| {
            format!("element {} of an array with {} elements", pointer.index.wrapping_add(index), self.len)
        })
    }

    /// An element.
    pub fn get(&self, index: usize) -> u64 {
        debug_assert!(index < self.len);
        // SAFETY: the element is inside of the words.
        unsafe { read(self.words.as_ptr().cast::<u8>().add(index * self.elem.bytes() as usize), self.elem) }
    }

    fn set(&mut self, index: usize, bits: u64) {
        debug_assert!(index < self.len);
        // SAFETY: the element is inside of the words.
        unsafe {
            let at = self.words.as_mut_ptr().cast::<u8>().add(index * self.elem.bytes() as usize);
            write(at, self.elem, bits);
        }
    }
}

/// # Safety
/// `at` points to an element of this type.
unsafe fn read(at: *const u8, elem: Prim) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match elem.bytes() {
            1 => u64::from(at.read()),
            2 => u64::from(at.cast::<u16>().read_unaligned()),
            4 => u64::from(at.cast::<u32>().read_unaligned()),
            _ => at.cast::<u64>().read_unaligned(),
        }
    }
}

/// # Safety
/// `at` points to an element of this type.
unsafe fn write(at: *mut u8, elem: Prim, bits: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match elem.bytes() {
            1 => at.write(bits as u8),
            2 => at.cast::<u16>().write_unaligned(bits as u16),
            4 => at.cast::<u32>().write_unaligned(bits as u32),
            _ => at.cast::<u64>().write_unaligned(bits),
        }
    }
}
