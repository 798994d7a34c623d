//! The LLVM library: found and loaded at run time, and used through its C interface.
//!
//! LLVM is not needed to build this crate. Every Rust toolchain ships the library, so most machines have one.
//!
//! * [`find`]: the search for it;
//! * `api`: the functions of it that are used;
//! * [`compile`](mod@compile): LLVM assembly to an object file, assembly, or optimized
//!   LLVM assembly;
//! * `versions`: code for several processors in one object file;
//! * `accumulators`: reductions of lanes in loops;
//! * `masked_bytes`, `masks`, `wide_masks`: masked accesses to bytes, long masks, and masks without registers for
//!   them, for processors that are bad at them;
//! * `minima`: minima and maxima that replace an operand in memory;
//! * `gathers`: loads of each lane, for processors that are bad at gathers;
//! * `overlapping_loads`: neighbouring elements in registers of 512 bits;
//! * `pairs`: arithmetic on pairs in memory;
//! * `lane_moves`, `lane_registers`: moves of values between lanes, by the machine's instructions;
//! * `kernel_levels`: versions of mathematical functions, by the machine's instructions;
//! * [`faults`]: the versions that can be used, and what is wrong with them; `single_lanes` and `assumptions`
//!   work around some of that;
//! * [`jit`]: loads an object file into this process;
//! * [`functions`](mod@functions): the functions in an object file;
//! * `processors`: the names of processors that it knows;
//! * [`fatal`]: fatal errors of LLVM.
//!
//! A compilation uses a context of its own, so several may run at once.

mod accumulators;
mod api;
mod assumptions;
pub mod compile;
pub mod fatal;
pub mod faults;
pub mod find;
pub mod functions;
mod gathers;
pub mod jit;
pub(crate) mod kernel_levels;
pub(crate) mod lane_moves;
mod lane_registers;
mod masked_bytes;
mod masks;
mod minima;
mod overlapping_loads;
mod pairs;
mod processors;
mod single_lanes;
#[cfg(test)]
mod testing;
mod versions;
mod wide_masks;

use std::error::Error as _;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use compile::{Options, Output, compile};
pub use jit::Jit;

use api::{Api, LoadError};
use faults::{Fault, SUPPORTED, Version};
use processors::Processors;

/// The library, loaded.
pub struct Llvm {
    api: Api,
    processors: Processors,
    /// The file it came from.
    pub path: PathBuf,
    /// Its version, one of those that can be used.
    pub version: Version,
    works_around_faults: bool,
}

/// An error of LLVM, or of loading it.
#[derive(Clone, Debug)]
pub enum LlvmError {
    /// There is no library.
    Missing {
        /// The searched places, with the errors there.
        searched: Vec<String>,
    },
    /// There is a library, but the system has no memory for it.
    NoMemory {
        /// The library.
        path: PathBuf,
    },
    /// LLVM does not know the target.
    Target(String),
    /// LLVM does not know the processor.
    Processor {
        /// Its name.
        name: String,
        /// The target.
        target: String,
    },
    /// Code for several processors cannot be in one file.
    Versions(String),
    /// LLVM does not accept the program.
    Rejected(String),
    /// The program cannot be linked: a symbol is undefined, for example.
    Link(String),
}

impl fmt::Display for LlvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LlvmError::Missing { .. } => {
                let (first, last) = (SUPPORTED.start(), SUPPORTED.end());
                write!(f, "no LLVM library was found that can be used: the versions are {first} to {last}")
            }
            LlvmError::NoMemory { path } => {
                write!(f, "out of memory: the LLVM library `{}` cannot be loaded", path.display())
            }
            LlvmError::Target(message) => write!(f, "LLVM cannot compile for this target: {message}"),
            LlvmError::Processor { name, target } => {
                write!(f, "LLVM knows no processor `{name}` for the target `{target}`")
            }
            LlvmError::Versions(message) => write!(f, "code for several processors: {message}"),
            LlvmError::Rejected(message) => write!(f, "LLVM does not accept the program: {message}"),
            LlvmError::Link(message) => write!(f, "the program cannot be linked: {message}"),
        }
    }
}

impl std::error::Error for LlvmError {}

/// Sets options that LLVM has for the whole process only. See [`Fault::ShrinkWrapping`].
///
/// Shrink-wrapping creates a frame only on the paths of a function that need one. On the other paths of a `tailcc`
/// function, LLVM then does not remove the arguments from the stack.
fn set_options(api: &Api) {
    let options = [c"nyala", c"-enable-shrink-wrap=false"].map(CStr::as_ptr);
    // SAFETY: these are so many strings, and LLVM does nothing else yet.
    unsafe { (api.LLVMParseCommandLineOptions)(options.len() as c_int, options.as_ptr(), std::ptr::null()) }
}

impl Llvm {
    /// The library. It is loaded by the first call and never unloaded.
    pub fn get() -> Result<&'static Llvm, LlvmError> {
        Llvm::get_or_load(true)
    }

    /// The library without work-arounds for its faults, to test for them.
    /// Only the first use of the library in a process decides.
    pub fn with_faults() -> Result<&'static Llvm, LlvmError> {
        Llvm::get_or_load(false)
    }

    fn get_or_load(works_around_faults: bool) -> Result<&'static Llvm, LlvmError> {
        static LLVM: OnceLock<Result<Llvm, LlvmError>> = OnceLock::new();
        LLVM.get_or_init(|| Llvm::load(works_around_faults)).as_ref().map_err(Clone::clone)
    }

    fn load(works_around_faults: bool) -> Result<Llvm, LlvmError> {
        let mut searched = vec![];
        for place in find::places() {
            let files = place.libraries();
            if files.is_empty() {
                searched.push(format!("{place}: nothing there"));
            }
            for path in files {
                match Api::load(&path) {
                    Ok((api, processors, version)) => {
                        // SAFETY: the handler may be called at any time, from any thread.
                        unsafe { (api.LLVMInstallFatalErrorHandler)(fatal::handle) };
                        let llvm = Llvm { api, processors, path, version, works_around_faults };
                        if Fault::ShrinkWrapping.matters_to(&llvm) {
                            set_options(&llvm.api);
                        }
                        return Ok(llvm);
                    }
                    Err(LoadError::Version(version)) => {
                        let what =
                            version.map_or("older than LLVM 16".into(), |version| format!("LLVM {version}"));
                        searched.push(format!("{}: this is {what}", path.display()));
                    }
                    Err(LoadError::Library(error)) => {
                        // The message of the system follows that of the loader, and mostly begins with the path.
                        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                        if is_about_memory(&reason) {
                            return Err(LlvmError::NoMemory { path });
                        }
                        let path = format!("{}: ", path.display());
                        searched.push(format!("{path}{}", reason.strip_prefix(&path).unwrap_or(&reason)));
                    }
                }
            }
        }
        Err(LlvmError::Missing { searched })
    }

    /// The name of this machine's processor.
    pub fn host_cpu(&self) -> String {
        // SAFETY: it gives a string that the caller owns.
        unsafe { self.take_message((self.api.LLVMGetHostCPUName)()) }
    }

    /// Whether LLVM itself defines functions with this name, which starts with `llvm.`.
    pub fn has_intrinsic(&self, name: &str) -> bool {
        // SAFETY: the name is that many bytes, which are only read.
        unsafe { (self.api.LLVMLookupIntrinsicID)(name.as_ptr().cast(), name.len()) != 0 }
    }

    /// The text of a message that LLVM allocated, which is freed.
    ///
    /// # Safety
    /// `message` is null or a string from LLVM that no other code frees.
    unsafe fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM's strings end with a zero, and the caller owns this one.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.api.LLVMDisposeMessage)(message);
            text
        }
    }
}

/// Whether the message of the system's loader, which is in English, is about missing memory.
fn is_about_memory(reason: &str) -> bool {
    ["failed to map segment", "cannot map", "Cannot allocate memory", "cannot allocate memory"]
        .iter()
        .any(|words| reason.contains(words))
}

/// `text` as a C string. A zero inside ends it early, and LLVM rejects the rest.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).expect("there is no zero before the first zero")
}
