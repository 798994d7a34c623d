//! Names for addresses: the symbol table of an ELF file, and the program's own list of functions.
//!
//! The file is parsed in place when a name is needed. A file of another format has no symbols.

use std::ffi::c_int;
use std::ptr::null_mut;

use super::LoadedObject;

/// The code of a program.
pub(super) struct Code {
    object: Option<Object>,
    functions: &'static [u8],
}

/// An object file, as it was loaded.
struct Object {
    bytes: &'static [u8],
    /// A function of it, and where that is.
    symbol: &'static [u8],
    address: usize,
}

/// A function of the program.
#[derive(Clone, Copy)]
pub(super) struct Function<'a> {
    symbol: &'a [u8],
    pub(super) name: &'a [u8],
    /// File and line.
    pub(super) place: &'a [u8],
}

impl Function<'_> {
    /// Whether this is the symbol of `inner` that C calls.
    pub(super) fn is_around(&self, inner: &Function<'_>) -> bool {
        self.symbol != inner.symbol && (self.name, self.place) == (inner.name, inner.place)
    }
}

impl Code {
    /// Code that was loaded from an object file.
    pub(super) fn loaded(object: LoadedObject, functions: &'static [u8]) -> Code {
        let LoadedObject { bytes, symbol, address } = object;
        let symbol = symbol.leak().as_bytes();
        Code { object: Some(Object { bytes: bytes.leak(), symbol, address }), functions }
    }

    /// The code of this process.
    pub(super) fn of_this_process(functions: &'static [u8]) -> Code {
        Code { object: None, functions }
    }

    /// The symbols, if the file has any.
    pub(super) fn symbols(&self) -> Option<Symbols<'_>> {
        match &self.object {
            Some(object) => {
                let file = Elf::new(object.bytes)?;
                let known = file.symbols().find(|symbol| symbol.name == object.symbol)?;
                // The addresses of other sections are unknown.
                let base = (object.address as u64).wrapping_sub(known.value);
                Some(Symbols { file, base, section: Some(known.section), functions: self.functions })
            }
            None => {
                let file = Elf::new(executable_file()?)?;
                let base = file.load_address();
                Some(Symbols { file, base, section: None, functions: self.functions })
            }
        }
    }
}

/// The contents of this process's executable file.
fn executable_file() -> Option<&'static [u8]> {
    // SAFETY: the file is opened, measured and mapped; the mapping stays.
    unsafe {
        let file: c_int = libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let mut status: libc::stat = std::mem::zeroed();
        if file < 0 || libc::fstat(file, &mut status) != 0 {
            return None;
        }
        let len = usize::try_from(status.st_size).ok()?;
        let start = libc::mmap(null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file, 0);
        (start != libc::MAP_FAILED).then(|| std::slice::from_raw_parts(start.cast(), len))
    }
}

/// The functions of a program by address.
pub(super) struct Symbols<'a> {
    file: Elf<'a>,
    /// The offset of symbol values.
    base: u64,
    /// The section of the symbols, if it is restricted.
    section: Option<u16>,
    functions: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// The function of the program that has this instruction.
    pub(super) fn function_at(&self, address: usize) -> Option<Function<'a>> {
        let address = (address as u64).wrapping_sub(self.base);
        let mut symbols = self.file.symbols();
        let symbol = symbols.find(|symbol| {
            self.section.is_none_or(|section| symbol.section == section)
                && symbol.is_function
                && address.wrapping_sub(symbol.value) < symbol.size
        })?;
        // LLVM's versions of a function have its name and a suffix.
        let mut name = symbol.name;
        loop {
            if let Some(found) = self.listed(name) {
                return Some(found);
            }
            name = &name[..name.iter().rposition(|&byte| byte == b'.')?];
        }
    }

    fn listed(&self, symbol: &[u8]) -> Option<Function<'a>> {
        let mut texts = self.functions.split(|&byte| byte == 0);
        loop {
            let found = texts.next().filter(|symbol| !symbol.is_empty())?;
            let (name, place) = (texts.next()?, texts.next()?);
            if found == symbol {
                return Some(Function { symbol: found, name, place });
            }
        }
    }
}

/// A little-endian file for 64-bit machines.
#[derive(Clone, Copy)]
struct Elf<'a>(&'a [u8]);

/// A symbol of a file.
struct Symbol<'a> {
    name: &'a [u8],
    value: u64,
    size: u64,
    section: u16,
    is_function: bool,
}

const SYMBOL_BYTES: usize = 24;
const SYMBOL_TABLE: u32 = 2;
const PROGRAM_HEADERS: u32 = 6;
const FUNCTION: u8 = 2;

impl<'a> Elf<'a> {
    fn new(bytes: &'a [u8]) -> Option<Elf<'a>> {
        bytes.starts_with(b"\x7fELF\x02\x01").then_some(Elf(bytes))
    }

    fn read<const N: usize>(self, at: u64) -> Option<[u8; N]> {
        let at = usize::try_from(at).ok()?;
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(self, at: u64) -> Option<u16> {
        self.read(at).map(u16::from_le_bytes)
    }

    fn u32(self, at: u64) -> Option<u32> {
        self.read(at).map(u32::from_le_bytes)
    }

    fn u64(self, at: u64) -> Option<u64> {
        self.read(at).map(u64::from_le_bytes)
    }

    fn range(self, at: u64, len: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(at).ok()?;
        self.0.get(at..at.checked_add(usize::try_from(len).ok()?)?)
    }

    /// The offset of a section's header.
    fn section(self, index: u64) -> Option<u64> {
        let (table, size) = (self.u64(0x28)?, u64::from(self.u16(0x3a)?));
        table.checked_add(index.checked_mul(size)?)
    }

    /// The contents of a section with this header.
    fn contents(self, header: u64) -> Option<&'a [u8]> {
        self.range(self.u64(header.wrapping_add(0x18))?, self.u64(header.wrapping_add(0x20))?)
    }

    /// The symbols and their names.
    fn tables(self) -> Option<(&'a [u8], &'a [u8])> {
        let count = u64::from(self.u16(0x3c)?);
        let mut headers = (0..count).filter_map(|index| self.section(index));
        let header = headers.find(|&header| self.u32(header.wrapping_add(4)) == Some(SYMBOL_TABLE))?;
        let names = self.section(u64::from(self.u32(header.wrapping_add(0x28))?))?;
        Some((self.contents(header)?, self.contents(names)?))
    }

    fn symbols(self) -> impl Iterator<Item = Symbol<'a>> {
        let (symbols, names) = self.tables().unwrap_or_default();
        symbols.chunks_exact(SYMBOL_BYTES).filter_map(move |symbol| {
            let symbol = Elf(symbol);
            let name = names.get(symbol.u32(0)? as usize..)?;
            Some(Symbol {
                name: &name[..name.iter().position(|&byte| byte == 0)?],
                value: symbol.u64(8)?,
                size: symbol.u64(16)?,
                section: symbol.u16(6)?,
                is_function: symbol.0[4] & 0xf == FUNCTION,
            })
        })
    }

    /// The load address of this file in the process.
    fn load_address(self) -> u64 {
        // SAFETY: the call only reads.
        let loaded = unsafe { libc::getauxval(libc::AT_PHDR) };
        self.program_headers().map_or(0, |address| loaded.wrapping_sub(address))
    }

    /// The address of the program headers in the file.
    fn program_headers(self) -> Option<u64> {
        let (table, size, count) = (self.u64(0x20)?, u64::from(self.u16(0x36)?), u64::from(self.u16(0x38)?));
        let mut headers = (0..count).filter_map(|index| table.checked_add(index * size));
        let header = headers.find(|&header| self.u32(header) == Some(PROGRAM_HEADERS))?;
        self.u64(header.wrapping_add(0x10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    extern "C" fn known() -> usize {
        let here: extern "C" fn() -> usize = known;
        here as usize
    }

    #[test]
    fn functions_of_this_process_have_names() {
        let list = b"other\0other\0\0needle\0g\0a.impala:3\0\0";
        let file = Elf::new(executable_file().expect("it can be read")).expect("it is one");
        let base = file.load_address();
        let at = (known() as u64).wrapping_sub(base);
        let symbol = file.symbols().find(|symbol| symbol.is_function && symbol.value == at);
        let symbol = symbol.expect("test programs are not stripped").name;
        assert!(symbol.windows(5).any(|part| part == b"known"), "{}", String::from_utf8_lossy(symbol));
        let symbols = Symbols { file, base, section: None, functions: list };
        assert!(symbols.function_at(known()).is_none());
        let found = symbols.listed(b"needle").expect("it is in the list");
        assert_eq!((found.name, found.place), (&b"g"[..], &b"a.impala:3"[..]));
        assert!(symbols.listed(b"need").is_none() && symbols.listed(b"").is_none());
    }

    #[test]
    fn invalid_files_have_no_symbols() {
        assert!(Elf::new(b"MZ").is_none());
        for len in 0..64 {
            let mut bytes = b"\x7fELF\x02\x01".to_vec();
            bytes.resize(6 + len, 0xff);
            let file = Elf::new(&bytes).expect("it starts like one");
            assert_eq!(file.symbols().count(), 0);
            assert!(file.program_headers().is_none());
        }
    }
}
