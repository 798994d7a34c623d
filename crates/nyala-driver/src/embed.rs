//! Programs inside of a Rust program: compiled at run time, called like Rust functions.
//!
//! ```
//! use nyala_driver::embed::Compiler;
//!
//! let program = "extern fn hypot2(x: f64, y: f64) -> f64 { x * x + y * y }";
//! let module = Compiler::new().text("hypot.impala", program).compile()?;
//! // SAFETY: the program uses no memory but its own.
//! let hypot2 = unsafe { module.function::<extern "C" fn(f64, f64) -> f64>("hypot2") }?;
//! assert_eq!(hypot2(3.0, 4.0), 25.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The types of a function are compared with the requested Rust type, so a wrong one is an error
//! and not a crash. The host defines callbacks for programs by name, with
//! [`Compiler::define`]; their types are compared as well.
//!
//! Compilers, modules and functions may be used from several threads at once.
//!
//! [`signature`] has the types that can be passed, [`specialize`] functions that are
//! specialized to arguments known at run time, and [`build_script`] programs that are compiled
//! together with a crate.

pub mod build_script;
mod known;
pub mod signature;
pub mod specialize;

use std::fmt;
use std::ops::Deref;
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use nyala_codegen::llvm::Jit;
use nyala_interface::{Interface, Signature};
use nyala_opt::outline::Outlined;
use nyala_runtime::CALLED_BY_COMPILED_CODE;
use nyala_span::Diagnostic;

use crate::errors::EmbedError;
use crate::excerpts::Excerpt;
use crate::link::Library;
use crate::native::{self, HostFunction, NativeOptions};
use crate::packages::TargetChoice;
use crate::render::Report;
use crate::session::{LEVEL_THAT_ADAPTS_LANES, Options, Session};
use crate::{STACK_BYTES, pipeline};
use signature::{CFunction, fits};

/// The width of the widest vectors of this machine, in bits: programs may choose their number of lanes by it.
pub fn vector_bits() -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") {
        return 512;
    } else if is_x86_feature_detected!("avx2") {
        return 256;
    }
    128
}

/// A program and its options.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// Options of the front end and the evaluator.
    pub options: Options,
    /// Options for native code.
    pub native: NativeOptions,
    sources: Vec<Source>,
    defined: Vec<Defined>,
}

#[derive(Clone, Debug)]
enum Source {
    Text { name: String, text: String },
    Excerpt { excerpt: Excerpt, before: String, after: String },
    File(PathBuf),
    Package(PathBuf),
}

/// A function of the host.
#[derive(Clone, Debug)]
struct Defined {
    function: HostFunction,
    signature: Signature,
}

impl Compiler {
    /// Without source text, and with the options that the command line has by default.
    pub fn new() -> Compiler {
        Compiler::default()
    }

    /// Adds source text, under a name for diagnostics.
    #[must_use]
    pub fn text(mut self, name: impl Into<String>, text: impl Into<String>) -> Compiler {
        self.sources.push(Source::Text { name: name.into(), text: text.into() });
        self
    }

    /// Adds a part of another file, such as an expression in a configuration, with text before and after it.
    /// Diagnostics point to that file.
    #[must_use]
    pub fn excerpt(
        mut self,
        excerpt: Excerpt,
        before: impl Into<String>,
        after: impl Into<String>,
    ) -> Compiler {
        self.sources.push(Source::Excerpt { excerpt, before: before.into(), after: after.into() });
        self
    }

    /// Adds a source file.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Compiler {
        self.sources.push(Source::File(path.into()));
        self
    }

    /// Takes the library of the package in a folder as the program.
    #[must_use]
    pub fn package(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.sources.push(Source::Package(folder.into()));
        self
    }

    /// Adds a folder to the library path: it is a library, or holds libraries as folders.
    #[must_use]
    pub fn library(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.options.libraries.push(folder.into());
        self
    }

    /// Sets the optimization level of LLVM, 0 to 3.
    #[must_use]
    pub fn opt_level(mut self, level: u8) -> Compiler {
        self.native.llvm.opt_level = level;
        self
    }

    /// Keeps the machine code on disk: LLVM does not compile the same program twice. The environment variable
    /// `NYALA_CACHE` sets the folder, or turns this `off`.
    #[must_use]
    pub fn cached(mut self) -> Compiler {
        self.native.is_cached = true;
        self
    }

    /// Adds a library whose functions the program may call.
    #[must_use]
    pub fn link(mut self, library: Library) -> Compiler {
        self.native.link.push(library);
        self
    }

    /// Defines a function of the host, which the program declares in `extern "C"`. Its
    /// type is compared with all declarations of its name. One for a declaration with the result `!` is an
    /// `extern "C" fn(..) -> !`.
    #[must_use]
    pub fn define<F: CFunction>(mut self, name: impl Into<String>, function: F) -> Compiler {
        let function = HostFunction { name: name.into(), address: function.address().addr() };
        self.defined.push(Defined { function, signature: F::signature() });
        self
    }

    /// Compiles the program to code in this process.
    pub fn compile(&self) -> Result<Module, CompileError> {
        on_large_stack(|| {
            let mut session = self.session();
            let code = self.make_code(&mut session);
            code.map(|code| Module { code: Arc::new(code) }).ok_or_else(|| CompileError::of(session))
        })
    }

    fn session(&self) -> Session {
        let llvm = &self.native.llvm;
        let is_for_one = llvm.versions.is_empty() && llvm.target.is_none();
        let adapts_lanes = is_for_one && llvm.opt_level >= LEVEL_THAT_ADAPTS_LANES;
        let mut session = Session::new(Options { adapts_lanes, ..self.options.clone() });
        for source in &self.sources {
            match source {
                Source::Text { name, text } => session.add_text(name.as_str(), text.as_str()),
                Source::Excerpt { excerpt, before, after } => {
                    session.add_excerpt(excerpt.clone(), before, after)
                }
                Source::File(path) => session.load(path),
                Source::Package(folder) => session.load_package(folder, &TargetChoice::Library),
            }
        }
        session
    }

    fn make_code(&self, session: &mut Session) -> Option<Code> {
        let (program, interface) = pipeline::prepare_with_interface(session)?;
        self.check_defined(session, &interface);
        let jit = if session.has_errors() { None } else { self.load(session, &program, &interface) };
        jit.map(|jit| Code { jit, interface })
    }

    /// Compares the host functions with the declarations of the program.
    fn check_defined(&self, session: &mut Session, interface: &Interface) {
        for (index, defined) in self.defined.iter().enumerate() {
            let name = &defined.function.name;
            if self.defined[..index].iter().any(|earlier| earlier.function.name == *name) {
                let error = EmbedError::DefinedTwice { name: name.clone() };
                session.diagnostics.push(error.to_diagnostic());
            }
            session.diagnostics.extend(defined.check(interface).iter().map(EmbedError::to_diagnostic));
        }
    }

    /// Loads a compiled program that may call the host functions.
    fn load(&self, session: &mut Session, program: &Outlined, interface: &Interface) -> Option<Jit<'static>> {
        // LLVM also calls functions of C that the program does not declare. They are not replaced.
        let is_declared =
            |defined: &&Defined| interface.declarations(&defined.function.name).next().is_some();
        let host = self.defined.iter().filter(is_declared).map(|defined| defined.function.clone());
        native::load(session, program, &self.native, &host.collect::<Vec<HostFunction>>())
    }
}

/// Runs `work` on a thread with a large stack. LLVM needs more than the usual stack of
/// a thread.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, CompileError> + Send) -> Result<T, CompileError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("nyala".into()).stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, work) {
            Ok(worker) => worker.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
            Err(error) => {
                let mut session = Session::new(Options::default());
                session.diagnostics.push(EmbedError::NoThread { error }.to_diagnostic());
                Err(CompileError::of(session))
            }
        }
    })
}

impl Defined {
    /// The error if the function differs from a declaration of the program.
    fn check(&self, interface: &Interface) -> Vec<EmbedError> {
        let name = &self.function.name;
        if CALLED_BY_COMPILED_CODE.contains(&name.as_str()) {
            return vec![EmbedError::Reserved { name: name.clone() }];
        }
        if let Some(exported) = interface.export(name) {
            return vec![EmbedError::Exported { name: name.clone(), at: exported.span }];
        }
        let others =
            interface.declarations(name).filter(|declared| !fits(&self.signature, &declared.signature));
        let error = |declared: &nyala_interface::Function| EmbedError::OtherType {
            name: name.clone(),
            defined: self.signature.clone(),
            declared: declared.signature.clone(),
            at: declared.span,
        };
        others.map(error).collect()
    }
}

/// A compiled program. Its code lives as long as the module or one of its functions.
#[derive(Clone)]
pub struct Module {
    code: Arc<Code>,
}

struct Code {
    jit: Jit<'static>,
    interface: Interface,
}

impl Module {
    /// The exported function with this name, if it has this type.
    ///
    /// # Safety
    /// Types are checked, memory accesses are not: the program must access only valid memory
    /// for all arguments of calls. A copy of the function must not be called after the
    /// [`Function`] and the module are dropped.
    pub unsafe fn function<F: CFunction>(&self, name: &str) -> Result<Function<F>, LookupError> {
        let exported =
            self.code.interface.export(name).ok_or_else(|| LookupError::absent(name, self.interface()))?;
        if !fits(&exported.signature, &F::signature()) {
            let actual = exported.signature.clone();
            return Err(LookupError::OtherType { name: name.into(), asked: F::signature(), actual });
        }
        let address = self.code.jit.lookup(name).map_err(|error| LookupError::Broken(error.to_string()))?;
        // SAFETY: this is the address of a function with the C calling convention, whose
        // types have just been compared.
        let function = unsafe { F::from_address(address) };
        Ok(Function { function, _module: self.clone() })
    }

    /// The exports and imports of the program.
    pub fn interface(&self) -> &Interface {
        &self.code.interface
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.interface().exports.iter().map(|function| &function.symbol);
        f.debug_set().entries(names).finish()
    }
}

/// A function of a module. It keeps the code of the module alive.
#[derive(Clone, Debug)]
pub struct Function<F> {
    function: F,
    _module: Module,
}

impl<F> Deref for Function<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.function
    }
}

/// Why a program was not compiled.
#[derive(Clone)]
pub struct CompileError {
    /// The diagnostics, in any order.
    pub diagnostics: Vec<Diagnostic>,
    /// The errors as text.
    text: String,
}

impl CompileError {
    fn of(mut session: Session) -> CompileError {
        session.trace_back_excerpts();
        let errors = session.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let report = Report::new(errors.cloned().collect());
        CompileError { text: report.human(&session.sources, false), diagnostics: session.diagnostics }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

/// As `Display`, because `main` prints returned errors with `Debug`.
impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program was not compiled\n{self}")
    }
}

impl std::error::Error for CompileError {}

/// Why a function of a module cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupError {
    /// No exported function has this name.
    Absent {
        /// The name.
        name: String,
        /// The names of all exported functions.
        exported: Vec<String>,
    },
    /// The function has another type.
    OtherType {
        /// Its name.
        name: String,
        /// The requested type.
        asked: Signature,
        /// The actual type.
        actual: Signature,
    },
    /// LLVM cannot find it.
    Broken(String),
}

impl LookupError {
    fn absent(name: &str, interface: &Interface) -> LookupError {
        let exported = interface.exports.iter().map(|function| function.symbol.clone()).collect();
        LookupError::Absent { name: name.into(), exported }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupError::Absent { name, exported } if exported.is_empty() => {
                write!(f, "the program exports no function `{name}`, and no other")
            }
            LookupError::Absent { name, exported } => {
                write!(f, "the program exports no function `{name}`; it exports {}", exported.join(", "))
            }
            LookupError::OtherType { name, asked, actual } => {
                write!(f, "the function `{name}` is `{actual}`, and not `{asked}`")
            }
            LookupError::Broken(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for LookupError {}
