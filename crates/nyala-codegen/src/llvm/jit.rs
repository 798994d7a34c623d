//! Loads an object file into this process.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::mpsc::{self, Sender};

use libloading::os::unix;

use super::api::{Api, Lookup, Ref, SearchIn, SymbolAddress};
use super::{Llvm, LlvmError, c_string};

/// `LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable`
const EXPORTED_FUNCTION: u8 = 1 | 4;

/// Code in this process, until it is dropped.
///
/// It is in a library of its own. In its main library LLVM defines `atexit` itself, and decides when the handlers
/// run.
pub struct Jit<'a> {
    llvm: &'a Llvm,
    jit: Ref,
    session: Ref,
    library: Ref,
    /// Whether the process may execute the code after this is dropped.
    is_kept: bool,
}

// SAFETY: a lock guards the state of LLVM's JIT; nothing here belongs to a thread.
unsafe impl Send for Jit<'_> {}
// SAFETY: as above.
unsafe impl Sync for Jit<'_> {}

impl<'a> Jit<'a> {
    /// Without any code, but with all symbols of the process.
    pub fn new(llvm: &'a Llvm) -> Result<Jit<'a>, LlvmError> {
        let api = &llvm.api;
        let mut jit = null_mut();
        // SAFETY: without a builder the defaults are used; the library and the session are the
        // JIT's, and the interface of LLVM lives longer than both.
        let jit = unsafe {
            llvm.check((api.LLVMOrcCreateLLJIT)(&mut jit, null_mut())).map_err(LlvmError::Link)?;
            let context = std::ptr::from_ref(api).cast_mut().cast();
            let session = (api.LLVMOrcLLJITGetExecutionSession)(jit);
            (api.LLVMOrcExecutionSessionSetErrorReporter)(session, forget_error, context);
            let library = (api.LLVMOrcExecutionSessionCreateBareJITDylib)(session, c"program".as_ptr());
            Jit { llvm, jit, session, library, is_kept: false }
        };
        jit.add_generator(|generator, prefix| {
            // SAFETY: no filter is given, so every symbol is allowed.
            unsafe {
                (api.LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess)(generator, prefix, null(), null())
            }
        })?;
        Ok(jit)
    }

    /// Registers code that is added from now on with debuggers.
    pub fn tell_debuggers(&self) -> Result<(), LlvmError> {
        if self.llvm.version.major < 22 {
            make_visible(&self.llvm.path)?;
        }
        // SAFETY: the JIT is alive, and the error is ours.
        let told = unsafe { self.llvm.check((self.llvm.api.LLVMOrcLLJITEnableDebugSupport)(self.jit)) };
        told.map_err(LlvmError::Link)
    }

    /// Adds the symbols of a shared library.
    pub fn link(&self, path: &Path) -> Result<(), LlvmError> {
        let api = &self.llvm.api;
        let name = c_string(&path.to_string_lossy());
        self.add_generator(|generator, prefix| {
            // SAFETY: the path is a string, and no filter is given.
            unsafe {
                (api.LLVMOrcCreateDynamicLibrarySearchGeneratorForPath)(
                    generator,
                    name.as_ptr(),
                    prefix,
                    null(),
                    null(),
                )
            }
        })
    }

    fn add_generator(&self, create: impl FnOnce(*mut Ref, c_char) -> Ref) -> Result<(), LlvmError> {
        let api = &self.llvm.api;
        let mut generator = null_mut();
        // SAFETY: the JIT is alive, and the library takes over the generator.
        unsafe {
            let prefix = (api.LLVMOrcLLJITGetGlobalPrefix)(self.jit);
            self.llvm.check(create(&mut generator, prefix)).map_err(LlvmError::Link)?;
            (api.LLVMOrcJITDylibAddGenerator)(self.library, generator);
        }
        Ok(())
    }

    /// Defines symbols for functions of this process.
    ///
    /// # Safety
    /// The addresses are those of functions with the types that the code expects.
    pub unsafe fn define(&self, symbols: &[(&str, *const c_void)]) -> Result<(), LlvmError> {
        let api = &self.llvm.api;
        // SAFETY: names are interned by the JIT, which takes over the references.
        unsafe {
            let intern = |name: &str| (api.LLVMOrcLLJITMangleAndIntern)(self.jit, c_string(name).as_ptr());
            let mut pairs: Vec<SymbolAddress> = symbols
                .iter()
                .map(|&(name, address)| SymbolAddress {
                    name: intern(name),
                    address: address.addr() as u64,
                    generic_flags: EXPORTED_FUNCTION,
                    target_flags: 0,
                })
                .collect();
            let unit = (api.LLVMOrcAbsoluteSymbols)(pairs.as_mut_ptr(), pairs.len());
            self.llvm.check((api.LLVMOrcJITDylibDefine)(self.library, unit)).map_err(LlvmError::Link)
        }
    }

    /// Adds an object file.
    pub fn add_object(&self, object: &[u8]) -> Result<(), LlvmError> {
        let api = &self.llvm.api;
        // SAFETY: the bytes are copied into a buffer, which the JIT takes over.
        unsafe {
            let (start, len) = (object.as_ptr().cast(), object.len());
            let buffer = (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(start, len, c"program".as_ptr());
            let error = (api.LLVMOrcLLJITAddObjectFile)(self.jit, self.library, buffer);
            self.llvm.check(error).map_err(LlvmError::Link)
        }
    }

    /// The address of a function, which is linked now with all that it needs.
    pub fn lookup(&self, name: &str) -> Result<*const c_void, LlvmError> {
        /// `LLVMOrcLookupKindStatic`
        const STATIC: c_int = 0;
        let api = &self.llvm.api;
        let (found, result) = mpsc::channel();
        let answer = Answer { llvm: self.llvm, found };
        // SAFETY: the JIT is alive, the name is interned by it and taken over; the answer is alive until it
        // has come, which is waited for.
        unsafe {
            let name = (api.LLVMOrcLLJITMangleAndIntern)(self.jit, c_string(name).as_ptr());
            let (what, place) = (Lookup { name, flags: 0 }, SearchIn { library: self.library, flags: 0 });
            let answer: *const Answer<'_> = &answer;
            let look_up = api.LLVMOrcExecutionSessionLookup;
            look_up(self.session, STATIC, &place, 1, &what, 1, on_found, answer.cast_mut().cast());
        }
        let result = result.recv().unwrap_or_else(|error| Err(error.to_string()));
        result.map(|address| address as usize as *const c_void).map_err(LlvmError::Link)
    }

    /// Keeps the code until the process ends.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }
}

/// Makes the symbols of a loaded LLVM visible in the whole process.
///
/// LLVM 20 and 21 look up their function for debuggers there, but the library was loaded without that. Its symbols have
/// versions, so they do not replace those of another LLVM.
fn make_visible(path: &Path) -> Result<(), LlvmError> {
    // SAFETY: the library is loaded already, so no initializer runs.
    let library = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_GLOBAL) };
    // LLVM is never unloaded.
    std::mem::forget(library.map_err(|error| LlvmError::Link(error.to_string()))?);
    Ok(())
}

/// The result of a lookup.
struct Answer<'a> {
    llvm: &'a Llvm,
    found: Sender<Result<u64, String>>,
}

/// Receives the result of a lookup of one symbol.
///
/// # Safety
/// No other code owns the error, there are that many symbols, and `answer` is an [`Answer`] that is alive.
unsafe extern "C" fn on_found(error: Ref, symbols: *const SymbolAddress, count: usize, answer: *mut c_void) {
    // SAFETY: the caller's promise.
    let (answer, found) = unsafe {
        let answer = &*answer.cast::<Answer<'_>>();
        let found = answer.llvm.check(error).and_then(|()| match count {
            0 => Err("nothing was found".into()),
            _ => Ok((*symbols).address),
        });
        (answer, found)
    };
    // The other end waits, so sending succeeds.
    let _ = answer.found.send(found);
}

/// Discards an error that the failed operation returns too; LLVM would print it.
///
/// # Safety
/// `api` is the interface of the library that calls this, and the error its own.
unsafe extern "C" fn forget_error(api: *mut c_void, error: Ref) {
    // SAFETY: the caller's promise.
    unsafe { ((*api.cast::<Api>()).LLVMConsumeError)(error) }
}

impl Drop for Jit<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // SAFETY: it is ours, and no code of it is executed any more. An error cannot be reported from here.
        let _ = unsafe { self.llvm.check((self.llvm.api.LLVMOrcDisposeLLJIT)(self.jit)) };
    }
}
