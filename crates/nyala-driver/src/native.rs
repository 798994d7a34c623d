//! Native code, compiled by LLVM to a file or to memory.

use std::env;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use nyala_codegen::CodegenError;
pub use nyala_codegen::llvm::fatal::set_hook as set_fatal_hook;
use nyala_codegen::llvm::functions::functions;
use nyala_codegen::llvm::{self, Jit, Llvm, LlvmError};
pub use nyala_codegen::llvm::{Options as LlvmOptions, Output};
use nyala_codegen::llvm_asm::{self, Abi, Import, Module};
use nyala_interface::Interface;
use nyala_ir::entry::{self, NoEntry};
use nyala_ir::{Intrinsic, Linkage, World};
use nyala_opt::outline::Outlined;
use nyala_runtime::devices::cache;
use nyala_runtime::stack::{self, LoadedObject};
use nyala_runtime::{SYMBOLS, Symbol};
use nyala_span::{Code, Diagnostic, Name, Span};

use crate::device::{self, Bundle};
use crate::errors::LinkError;
pub use crate::link::Product;
use crate::link::{Library, Link};
use crate::perf_map;
use crate::session::Session;
use crate::timings::Timings;

/// Options to compile and link.
#[derive(Clone, Default, Debug)]
pub struct NativeOptions {
    /// Target and optimization level.
    pub llvm: llvm::Options,
    /// Libraries whose functions the program may call.
    pub link: Vec<Library>,
    /// Whether `nyala run` writes a perf map.
    pub perf_map: bool,
    /// Whether the machine code of programs in memory is kept on disk, in the folder of
    /// [`nyala_runtime::devices::cache`].
    pub is_cached: bool,
}

/// Compiles the program and runs its `main` with these arguments, the program's
/// name first; returns its exit status.
pub fn run(
    session: &mut Session,
    program: &Outlined,
    options: &NativeOptions,
    args: &[String],
) -> Option<i32> {
    let bundle = device::bundle(session, program, &options.llvm)?;
    let result = try_run(session, &bundle, options, args);
    reported(session, result)
}

/// Compiles the program to the contents of a file.
pub fn compile(
    session: &mut Session,
    program: &Outlined,
    options: &llvm::Options,
    output: Output,
) -> Option<Vec<u8>> {
    let bundle = device::bundle(session, program, options)?;
    let result = try_compile(session, &bundle, options, output, false);
    reported(session, result.map(|(_, contents)| contents).map_err(diagnostics))
}

/// Compiles the program and links it with the runtime to the contents of an executable or a library.
pub fn link(
    session: &mut Session,
    mut program: Outlined,
    interface: &Interface,
    options: &NativeOptions,
    product: Product<'_>,
) -> Option<Vec<u8>> {
    use_linked_names(&mut program.host);
    let bundle = device::bundle(session, &program, &options.llvm)?;
    let result = try_link(session, &bundle, interface, options, product);
    reported(session, result)
}

pub(crate) fn reported<T>(session: &mut Session, result: Result<T, Vec<Diagnostic>>) -> Option<T> {
    result.map_err(|errors| session.diagnostics.extend(errors)).ok()
}

pub(crate) fn diagnostics(errors: Vec<CodegenError>) -> Vec<Diagnostic> {
    errors.iter().map(CodegenError::to_diagnostic).collect()
}

pub(crate) fn one(error: LlvmError) -> Vec<CodegenError> {
    vec![error.into()]
}

/// Loads LLVM, which takes some time.
pub(crate) fn load_llvm(timings: &mut Timings) -> Result<&'static Llvm, Vec<CodegenError>> {
    timings.enter("LLVM: load");
    Llvm::get().map_err(one)
}

/// The base folder of file names, for debug information.
pub(crate) fn directory_for_debuggers(session: &Session) -> Option<PathBuf> {
    session.options.debug.then(|| env::current_dir().unwrap_or_default())
}

fn write(
    session: &mut Session,
    bundle: &Bundle<'_>,
    options: &llvm::Options,
    is_executable: bool,
) -> Result<Module, Vec<CodegenError>> {
    session.timings.enter("write LLVM assembly");
    let abi = Abi::of_target(options.target.as_deref());
    let checked = session.options.checked;
    let directory = directory_for_debuggers(session);
    let directory = directory.as_ref().map(|directory| directory.to_string_lossy());
    let contents = bundle.contents();
    let options = llvm_asm::Options {
        abi,
        checked,
        sources: Some(&session.sources),
        debug: directory.as_deref(),
        gpu: None,
        is_executable,
        contents: &contents,
    };
    llvm_asm::write(bundle.host, &options)
}

/// The program as LLVM assembly, and the loaded LLVM.
fn write_for_llvm(
    session: &mut Session,
    bundle: &Bundle<'_>,
    options: &llvm::Options,
    is_executable: bool,
) -> Result<(Module, &'static Llvm), Vec<CodegenError>> {
    let module = write(session, bundle, options, is_executable)?;
    let llvm = load_llvm(&mut session.timings)?;
    all_defined(&module.intrinsics, |name| llvm.has_intrinsic(name))?;
    Ok((module, llvm))
}

fn try_compile(
    session: &mut Session,
    bundle: &Bundle<'_>,
    options: &llvm::Options,
    output: Output,
    is_executable: bool,
) -> Result<(Module, Vec<u8>), Vec<CodegenError>> {
    let (module, llvm) = write_for_llvm(session, bundle, options, is_executable)?;
    let timings = &mut session.timings;
    let contents = llvm::compile(llvm, &module.text, options, output, |phase| timings.enter(phase));
    Ok((module, contents.map_err(one)?))
}

/// A function of this process that programs may call.
#[derive(Clone, Debug)]
pub struct HostFunction {
    /// Its name for programs.
    pub name: String,
    /// Its address.
    pub address: usize,
}

/// Compiles the program to code in this process. It may call the functions of the host, of the
/// runtime and of libraries, in this order.
///
/// The host's functions must have the types that the program declares them with.
pub fn load(
    session: &mut Session,
    program: &Outlined,
    options: &NativeOptions,
    host: &[HostFunction],
) -> Option<Jit<'static>> {
    let bundle = device::bundle(session, program, &options.llvm)?;
    let result = try_load(session, &bundle, options, host).map(|(jit, ..)| jit);
    reported(session, result.map_err(diagnostics))
}

/// The program's code in this process, the object file that it comes from, and the list of its functions.
fn try_load(
    session: &mut Session,
    bundle: &Bundle<'_>,
    options: &NativeOptions,
    host: &[HostFunction],
) -> Result<(Jit<'static>, Vec<u8>, Vec<u8>), Vec<CodegenError>> {
    if !options.llvm.versions.is_empty() {
        return Err(one(LlvmError::Versions("code in memory is for one processor".into())));
    }
    let (module, llvm) = write_for_llvm(session, bundle, &options.llvm, false)?;
    session.timings.enter("link");
    let mut jit = load_libraries(llvm, &module, options, host).map_err(one)?;
    if module.imports.iter().any(|import| AT_EXIT.iter().any(|symbol| symbol.name == import.name)) {
        jit.keep();
    }
    if session.options.debug {
        jit.tell_debuggers().map_err(one)?;
    }
    // The linker would report missing functions without a position.
    all_defined(&module.imports, |name| jit.lookup(name).is_ok())?;
    let object = machine_code(session, llvm, &module.text, options).map_err(one)?;
    session.timings.enter("link");
    jit.add_object(&object).map_err(one)?;
    Ok((jit, object, module.function_list))
}

/// The object file of LLVM assembly, from the cache if it is there.
fn machine_code(
    session: &mut Session,
    llvm: &Llvm,
    text: &str,
    options: &NativeOptions,
) -> Result<Vec<u8>, LlvmError> {
    let key = options.is_cached.then(|| {
        let target = format!("{} {:?} {:?} {:?}", llvm.host_cpu(), llvm.version, options.llvm, this_build());
        cache::Key::new(&target, text.as_bytes())
    });
    if let Some(object) = key.as_ref().and_then(cache::read) {
        return Ok(object);
    }
    let timings = &mut session.timings;
    let object = llvm::compile(llvm, text, &options.llvm, Output::Object, |phase| timings.enter(phase))?;
    if let Some(key) = key {
        cache::write(&key, &object);
    }
    Ok(object)
}

/// The size and the time of the file of this program: another build may compile in another way.
fn this_build() -> Option<(u64, SystemTime)> {
    let data = env::current_exe().and_then(fs::metadata).ok()?;
    Some((data.len(), data.modified().ok()?))
}

/// A program in memory, of which a tool calls single functions.
pub struct Loaded {
    jit: Jit<'static>,
    object: Vec<u8>,
    functions: Vec<u8>,
}

/// A function without parameters and results.
pub type EntryFn = extern "C" fn();

impl Loaded {
    /// An exported function.
    ///
    /// # Safety
    /// The function has neither parameters nor results, and is not called once the program is dropped.
    pub unsafe fn entry(&self, symbol: &str) -> Option<EntryFn> {
        let address = self.jit.lookup(symbol).ok()?;
        // SAFETY: the caller's promise.
        Some(unsafe { std::mem::transmute::<*const c_void, EntryFn>(address) })
    }

    /// Calls an exported function in `body`. A stack overflow ends the process with a message.
    pub fn watched<T>(&self, symbol: &str, body: impl FnOnce() -> T) -> T {
        let address = self.jit.lookup(symbol).map_or(0, |address| address.addr());
        let object = LoadedObject { bytes: self.object.clone(), symbol: symbol.into(), address };
        let code = stack::Program { object: Some(object), functions: self.functions.clone() };
        let result = stack::watch(code, body);
        // A test cannot do anything about output that is not taken.
        let _ = nyala_runtime::print::flush();
        result
    }
}

/// Compiles a program whose functions a tool calls.
pub fn load_entries(session: &mut Session, program: &Outlined, options: &NativeOptions) -> Option<Loaded> {
    let bundle = device::bundle(session, program, &options.llvm)?;
    let result = try_load(session, &bundle, options, &[]);
    let (jit, object, functions) = reported(session, result.map_err(diagnostics))?;
    Some(Loaded { jit, object, functions })
}

fn try_run(
    session: &mut Session,
    bundle: &Bundle<'_>,
    options: &NativeOptions,
    args: &[String],
) -> Result<i32, Vec<Diagnostic>> {
    check_main(session, bundle.host)?;
    let (jit, object, functions) = try_load(session, bundle, options, &[]).map_err(diagnostics)?;
    let main = jit.lookup("main").map_err(|error| diagnostics(one(error)))?;
    if options.perf_map {
        write_perf_map(&object, main.addr())?;
    }
    let object = LoadedObject { bytes: object, symbol: "main".into(), address: main.addr() };
    let code = stack::Program { object: Some(object), functions };
    // SAFETY: every exported `main` is compiled to take at most these parameters and
    // to return an `int`; `check_main` looked at its parameters.
    let main: MainFn = unsafe { std::mem::transmute(main) };
    session.timings.enter("run");
    let status = stack::watch(code, || call_main(main, args));
    match nyala_runtime::print::flush() {
        // A closed pipe is not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(vec![output_failed(&error)]),
        _ => Ok(status),
    }
}

/// The error if the output of the program was lost.
fn output_failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code("E0977"), Span::NONE, format!("cannot write to standard output: {error}"))
}

/// Writes the perf map of an object file whose `main` was loaded to this address.
fn write_perf_map(object: &[u8], main: usize) -> Result<(), Vec<Diagnostic>> {
    let functions = Llvm::get().and_then(|llvm| functions(llvm, object));
    let functions = functions.map_err(|error| diagnostics(one(error)))?;
    perf_map::write(&functions, "main", main as u64).map_err(|error| vec![error.to_diagnostic()])
}

fn try_link(
    session: &mut Session,
    bundle: &Bundle<'_>,
    interface: &Interface,
    options: &NativeOptions,
    product: Product<'_>,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let exports: Vec<&str> = interface.symbols().collect();
    let is_executable = product == Product::Executable;
    if is_executable {
        check_main(session, bundle.host).map_err(|mut errors| {
            let libraries = "`--emit shared` and `--emit staticlib` make libraries for other languages";
            let missing = errors.iter_mut().filter(|error| error.code == Code("E0923"));
            missing.for_each(|error| error.notes.push(libraries.into()));
            errors
        })?;
    } else if exports.is_empty() {
        return Err(vec![LinkError::NoExports.to_diagnostic()]);
    }
    if let Some(target) = options.llvm.target.as_ref().filter(|target| !is_this_machine(target)) {
        return Err(vec![LinkError::OtherMachine { target: target.clone() }.to_diagnostic()]);
    }
    let (module, object) =
        try_compile(session, bundle, &options.llvm, Output::Object, is_executable).map_err(diagnostics)?;
    session.timings.enter("link");
    let (libraries, debug) = (&options.link[..], session.options.debug);
    let link = Link { object: &object, product, exports: &exports, libraries, debug };
    link.link().map_err(|error| match undefined(&module, &error) {
        undefined if undefined.is_empty() => vec![error.to_diagnostic()],
        undefined => diagnostics(undefined),
    })
}

/// Whether programs for this target run on this machine.
fn is_this_machine(triple: &str) -> bool {
    triple.split('-').next() == Some(env::consts::ARCH) && triple.contains(env::consts::OS)
}

/// Makes the program call the runtime's functions by their symbols in its library.
pub(crate) fn use_linked_names(world: &mut World) {
    let linked = |name: &str| SYMBOLS.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.linked);
    let imported = world.conts().filter_map(|(cont, data)| match data.linkage {
        Linkage::Imported(name) => Some((cont, linked(name.as_str())?)),
        _ => None,
    });
    for (cont, symbol) in imported.collect::<Vec<_>>() {
        world.set_linkage(cont, Linkage::Imported(Name::new(symbol)));
    }
}

/// Whether the program calls functions of the runtime, by their symbols in its library, or
/// uses operations that compile to such calls.
pub(crate) fn uses_runtime(world: &World) -> bool {
    let is_runtime = |name: &str| SYMBOLS.iter().any(|symbol| symbol.linked == name);
    world.conts().any(|(_, data)| match data.linkage {
        Linkage::Imported(name) => is_runtime(name.as_str()),
        Linkage::Intrinsic(
            Intrinsic::Parallel
            | Intrinsic::Fibers
            | Intrinsic::Spawn
            | Intrinsic::Sync
            | Intrinsic::CreateGraph
            | Intrinsic::CreateTask
            | Intrinsic::CreateEdge
            | Intrinsic::ExecuteGraph,
        ) => true,
        _ => false,
    })
}

/// The undefined functions of the linker's output that the program declares.
fn undefined(module: &Module, error: &LinkError) -> Vec<CodegenError> {
    let LinkError::Failed { message } = error else { return vec![] };
    let is_missed = |name: &str| {
        // The messages of the linkers of GNU, LLVM and Apple.
        let phrases = [format!("`{name}'"), format!("undefined symbol: {name}\n"), format!("\"_{name}\"")];
        phrases.iter().any(|phrase| message.contains(phrase))
    };
    let missed = module.imports.iter().filter(|import| is_missed(&import.name));
    missed.map(|import| CodegenError::Undefined { at: import.span, name: import.name.clone() }).collect()
}

/// `main`, as the system calls it.
type MainFn = extern "C" fn(c_int, *const *const c_char) -> c_int;

fn call_main(main: MainFn, args: &[String]) -> i32 {
    let args: Vec<CString> = args.iter().map(|arg| c_arg(arg)).collect();
    let mut table: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    table.push(std::ptr::null());
    main(c_int::try_from(args.len()).unwrap_or(c_int::MAX), table.as_ptr())
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
    #[cfg(target_os = "linux")]
    fn at_quick_exit(handler: extern "C" fn()) -> c_int;
}

/// Functions of C that register exit handlers. No shared library has them: each executable has its
/// own.
static AT_EXIT: &[Symbol] = &[
    Symbol { name: "atexit", linked: "atexit", address: atexit as *const c_void },
    #[cfg(target_os = "linux")]
    Symbol { name: "at_quick_exit", linked: "at_quick_exit", address: at_quick_exit as *const c_void },
];

/// Defines the symbols that the program may call.
fn load_libraries<'a>(
    llvm: &'a Llvm,
    module: &Module,
    options: &NativeOptions,
    host: &[HostFunction],
) -> Result<Jit<'a>, LlvmError> {
    let jit = Jit::new(llvm)?;
    let host_symbols =
        host.iter().map(|function| (function.name.as_str(), function.address as *const c_void));
    let is_host = |name: &str| host.iter().any(|function| function.name == name);
    // Only the used ones: a program may define a function with such a name.
    let is_needed = |symbol: &&Symbol| module.imports.iter().any(|import| import.name == symbol.name);
    let runtime = SYMBOLS.iter().chain(AT_EXIT).filter(is_needed).filter(|symbol| !is_host(symbol.name));
    let runtime = runtime.map(|symbol| (symbol.name, symbol.address));
    let symbols: Vec<(&str, *const c_void)> = host_symbols.chain(runtime).collect();
    // SAFETY: the runtime's functions have the types that the language's reference gives
    // them, and those of the host what the program declares.
    unsafe { jit.define(&symbols) }?;
    for library in &options.link {
        jit.link(&library.to_load())?;
    }
    Ok(jit)
}

/// Reports undefined functions.
fn all_defined(imports: &[Import], is_defined: impl Fn(&str) -> bool) -> Result<(), Vec<CodegenError>> {
    let undefined = imports.iter().filter(|import| !is_defined(&import.name));
    let errors: Vec<CodegenError> = undefined
        .map(|import| CodegenError::Undefined { at: import.span, name: import.name.clone() })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// An argument as a C string: up to its first zero.
fn c_arg(arg: &str) -> CString {
    let end = arg.find('\0').unwrap_or(arg.len());
    CString::new(&arg[..end]).expect("there is no zero before the first zero")
}

/// Whether a process can start with `main`.
fn check_main(session: &Session, world: &World) -> Result<(), Vec<Diagnostic>> {
    entry::main(world).map(drop).map_err(|reason| {
        let is_missing = matches!(reason, NoEntry::Missing);
        let report = CodegenError::NoMain(reason).to_diagnostic();
        vec![if is_missing { session.with_programs(report) } else { report }]
    })
}
