//! Native code of residual programs, in this process or in files, and the compiler that running programs call.
//!
//! The graph goes through the driver's pipeline without partial evaluation. [`run`] executes a program in this
//! process: its calls of `compile` come back to `compile_site`, which binds the values, stages the function, and
//! compiles the residual. See Note [Specialization at run time] in [`lower`](crate::lower).

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::io::Write as _;
use std::rc::Rc;

use nyala_codegen::llvm::Jit;
use nyala_driver::native::{self, HostFunction, NativeOptions, Output, Product};
use nyala_driver::{Options, Outlined, Report, Session, pipeline};
use nyala_interface::Interface;
use nyala_ir::World;
use nyala_span::{Code as DiagnosticCode, Diagnostic, Name, SourceMap, Span};
use rustc_hash::FxHashMap;

use crate::code::{Base, Code, Const, Pointer, Term, Ty};
use crate::errors::Error;
use crate::lower::calls::{CALL, COMPILE, signature};
use crate::lower::{Context, ENTRY, Lowered, Site, SiteValue, lower_function, lower_library, lower_program};
use crate::machine::{Host, Limits, Machine, Memory, Outcome};

/// Compiled code of a closed function.
#[derive(Clone, Debug)]
pub struct Function {
    address: usize,
    params: Vec<Ty>,
    result: Option<Ty>,
}

/// Takes arguments from an array of words, and writes the result to another one.
type EntryFn = unsafe extern "C" fn(*const u64, *mut u64);

/// Compiles functions in this process. The code lives as long as the compiler.
pub struct Compiler {
    options: NativeOptions,
    sources: SourceMap,
    /// Whether floats may be treated as real numbers.
    pub fast_math: bool,
    code: Vec<Jit<'static>>,
}

impl Compiler {
    /// A compiler with these options.
    pub fn new(options: NativeOptions, sources: SourceMap) -> Compiler {
        Compiler { options, sources, fast_math: false, code: vec![] }
    }

    /// Compiles a closed function.
    pub fn compile(&mut self, code: &Rc<Code>, memory: &Memory) -> Result<Function, Vec<Diagnostic>> {
        let context = Context { memory, in_process: true, first_site: 0, fast_math: self.fast_math };
        let (lowered, ty) = lower_function(code, context).map_err(|errors| diagnostics(&errors))?;
        if let Some(site) = lowered.sites.first() {
            let message = "a function that is compiled has a `compile` inside that is not active yet";
            return Err(vec![Diagnostic::error(DiagnosticCode("E1020"), site.span, message)]);
        }
        let mut session = session(&self.sources);
        let outlined = prepare(&mut session, lowered.world);
        let jit = outlined.and_then(|outlined| native::load(&mut session, &outlined, &self.options, &[]));
        let Some(jit) = jit else { return Err(session.diagnostics) };
        let address = jit.lookup(ENTRY).map(|address| address.addr());
        self.code.push(jit);
        let (params, mut results) = signature(&ty).expect("lowering has checked it");
        let address = address.map_err(|error| {
            vec![Diagnostic::error(DiagnosticCode("E1020"), Span::NONE, error.to_string())]
        })?;
        Ok(Function { address, params, result: results.pop() })
    }
}

impl Function {
    /// Calls the code.
    ///
    /// # Safety
    /// The compiler lives, and the function accesses only valid memory for these arguments.
    pub unsafe fn call(&self, args: &[Const], memory: &Memory) -> Result<Option<Const>, String> {
        if args.len() != self.params.len() {
            return Err(format!(
                "compiled code takes {} arguments, and gets {}",
                self.params.len(),
                args.len()
            ));
        }
        let mut words = vec![];
        for (arg, param) in args.iter().zip(&self.params) {
            words.push(match (arg, param) {
                (Const::Scalar(prim, bits), Ty::Scalar(expected)) if prim == expected => *bits,
                (Const::Ptr(pointer), Ty::Ptr(elem)) if pointer.elem == *elem => memory.address(*pointer),
                _ => return Err("compiled code gets an argument of another type".into()),
            });
        }
        let mut out = 0u64;
        // SAFETY: the entry has this type; the rest is the caller's promise.
        unsafe {
            let entry = std::mem::transmute::<usize, EntryFn>(self.address);
            entry(words.as_ptr(), &mut out);
        }
        Ok(self.result.as_ref().map(|ty| constant(ty, out)))
    }
}

/// A word as a constant.
fn constant(ty: &Ty, word: u64) -> Const {
    match ty {
        Ty::Ptr(elem) => Const::Ptr(Pointer { base: Base::Address(word), index: 0, elem: *elem }),
        Ty::Scalar(prim) => Const::Scalar(*prim, prim.canonical(word)),
        Ty::Stage | Ty::Tuple(_) | Ty::Fn(_) => unreachable!("a signature has data only"),
    }
}

fn diagnostics(errors: &[Error]) -> Vec<Diagnostic> {
    errors.iter().map(Error::to_diagnostic).collect()
}

/// A session for graphs of a program.
pub fn session(sources: &SourceMap) -> Session {
    let mut session = Session::new(Options::default());
    session.sources = sources.clone();
    session
}

/// A graph up to the input of back ends, without partial evaluation.
pub fn prepare(session: &mut Session, world: World) -> Option<Outlined> {
    let world = pipeline::control_flow_form(session, world);
    let world = pipeline::vectorize(session, world);
    if session.has_errors() {
        return None;
    }
    pipeline::outline(session, world)
}

/// A residual program: what is compiled.
#[derive(Clone, Copy)]
pub struct Residual<'a> {
    /// Its code.
    pub code: &'a Code,
    /// The objects that it refers to.
    pub memory: &'a Memory,
    /// The functions that it exports, if it is a library.
    pub exports: &'a [Name],
    /// Whether floats may be treated as real numbers.
    pub fast_math: bool,
}

impl Residual<'_> {
    /// Lowers it; reports errors to the session.
    fn lower(self, session: &mut Session) -> Option<Lowered> {
        let Residual { memory, fast_math, .. } = self;
        let context = Context { memory, in_process: false, first_site: 0, fast_math };
        let lowered = match self.exports.is_empty() {
            true => lower_program(self.code, context),
            false => lower_library(self.code, self.exports, context),
        };
        lowered.map_err(|errors| session.diagnostics.extend(diagnostics(&errors))).ok()
    }
}

/// Lowers the residual program to its graph.
pub fn graph(session: &mut Session, residual: Residual<'_>) -> Option<World> {
    residual.lower(session).map(|lowered| lowered.world)
}

/// Lowers the residual program for another process, which has no compiler.
fn lower_for_file(session: &mut Session, residual: Residual<'_>) -> Option<World> {
    let Lowered { world, sites } = residual.lower(session)?;
    if let Some(site) = sites.first() {
        let message = "a file cannot specialize while it runs, since it does not contain the compiler";
        let error = Diagnostic::error(DiagnosticCode("E1020"), site.span, message)
            .with_note("`nyala stage --run` executes the program in the process of the compiler");
        session.diagnostics.push(error);
        return None;
    }
    Some(world)
}

/// Compiles the residual program to the contents of a file.
pub fn compile_file(
    session: &mut Session,
    residual: Residual<'_>,
    options: &NativeOptions,
    output: Output,
) -> Option<Vec<u8>> {
    let world = lower_for_file(session, residual)?;
    let outlined = prepare(session, world)?;
    native::compile(session, &outlined, &options.llvm, output)
}

/// Compiles and links the residual program to the contents of an executable.
pub fn link(session: &mut Session, residual: Residual<'_>, options: &NativeOptions) -> Option<Vec<u8>> {
    let world = lower_for_file(session, residual)?;
    let outlined = prepare(session, world)?;
    native::link(session, outlined, &Interface::default(), options, Product::Executable)
}

/// Compiles the residual program and executes it in this process; returns its exit status.
pub fn run(
    session: &mut Session,
    residual: Residual<'_>,
    options: &NativeOptions,
    limits: Limits,
    args: &[String],
) -> Option<i32> {
    let Lowered { world, sites } = residual.lower(session)?;
    let outlined = prepare(session, world)?;
    let host = [(COMPILE, compile_site as *const () as usize), (CALL, call_code as *const () as usize)];
    let host = if sites.is_empty() { &[][..] } else { &host[..] };
    let host: Vec<HostFunction> =
        host.iter().map(|(name, address)| HostFunction { name: (*name).into(), address: *address }).collect();
    let jit = native::load(session, &outlined, options, &host)?;
    let main = match jit.lookup("main") {
        Ok(main) => main.addr(),
        Err(error) => {
            session.diagnostics.push(Diagnostic::error(
                DiagnosticCode("E1020"),
                Span::NONE,
                error.to_string(),
            ));
            return None;
        }
    };
    let mut compiler = Compiler::new(options.clone(), session.sources.clone());
    compiler.fast_math = residual.fast_math;
    let numbers = args.iter().skip(1).map(|arg| arg.parse().unwrap_or(0)).collect();
    RUNNING.set(Some(Running {
        compiler,
        sites,
        memory: residual.memory.clone(),
        limits,
        args: numbers,
        compiled: FxHashMap::default(),
    }));
    let c_args: Vec<CString> =
        args.iter().map(|arg| CString::new(arg.replace('\0', "")).unwrap_or_default()).collect();
    let mut pointers: Vec<*const c_char> = c_args.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: lowering exports a `main` of this type; the code and the arguments live until it returns.
    let status = unsafe {
        let main = std::mem::transmute::<usize, extern "C" fn(c_int, *const *const c_char) -> c_int>(main);
        main(args.len() as c_int, pointers.as_ptr())
    };
    // The output is complete or the process has no output.
    let _ = nyala_runtime::print::flush();
    RUNNING.set(None);
    Some(status)
}

/// What the compiler needs while a compiled program runs on this thread.
struct Running {
    compiler: Compiler,
    sites: Vec<Site>,
    memory: Memory,
    limits: Limits,
    args: Vec<i32>,
    /// The code of each site for each list of values.
    compiled: FxHashMap<(usize, Vec<u64>), usize>,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// The host of functions that are specialized at run time: their output goes to that of the program.
struct RunHost(Vec<i32>);

impl Host for RunHost {
    fn print(&mut self, line: &str) {
        // The program's own output comes first.
        let _ = nyala_runtime::print::flush();
        println!("{line}");
    }

    fn arg(&mut self, index: i64) -> i32 {
        usize::try_from(index).ok().and_then(|index| self.0.get(index)).copied().unwrap_or(0)
    }
}

/// Specializes and compiles the function of a site: called by compiled programs.
///
/// # Safety
/// `words` points to the words of the site's values.
unsafe extern "C" fn compile_site(site: i64, words: *const u64) -> i64 {
    let result = RUNNING.with_borrow_mut(|running| {
        let running = running.as_mut().expect("a compiled program runs");
        let n_words =
            running.sites[site as usize].values.iter().filter(|value| matches!(value, SiteValue::Word(_)));
        // SAFETY: the caller's promise.
        let words = unsafe { std::slice::from_raw_parts(words, n_words.count()) };
        running
            .specialize(site as usize, words)
            .map_err(|errors| Report::new(errors).human(&running.compiler.sources, false))
    });
    result.unwrap_or_else(|report| {
        let _ = nyala_runtime::print::flush();
        let _ = write!(std::io::stderr(), "{report}");
        std::process::exit(1)
    }) as i64
}

impl Running {
    fn specialize(&mut self, site: usize, words: &[u64]) -> Result<usize, Vec<Diagnostic>> {
        let key = (site, words.to_vec());
        if let Some(address) = self.compiled.get(&key) {
            return Ok(*address);
        }
        let Site { code, values, span, .. } = self.sites[site].clone();
        let mut words = words.iter();
        let values = values.into_iter().map(|value| match value {
            SiteValue::Word(ty) => Term::Const(constant(&ty, *words.next().expect("one for each"))),
            SiteValue::Stage => Term::Always,
            SiteValue::Function(closed) => Term::Closed(closed),
        });
        let mut machine = Machine::new(&code, self.memory.clone(), self.limits);
        let mut host = RunHost(self.args.clone());
        let outcome = machine.apply_to(values.collect(), &mut host).map_err(|error| diagnostics(&[error]))?;
        let function = match &outcome {
            Outcome::Exit(function) => machine.closed(function),
            Outcome::Quit(_) | Outcome::Waiting => None,
        };
        let function = function.ok_or_else(|| {
            let message = "the function to compile is not closed";
            vec![Diagnostic::error(DiagnosticCode("E1020"), span, message)]
        })?;
        let address = self.compiler.compile(&function, &machine.memory)?.address;
        self.compiled.insert(key, address);
        Ok(address)
    }
}

/// Calls compiled code: called by compiled programs.
///
/// # Safety
/// `address` comes from [`compile_site`], and the arrays have the words of its function.
unsafe extern "C" fn call_code(address: i64, args: *const u64, out: *mut u64) {
    // SAFETY: the caller's promise.
    unsafe { std::mem::transmute::<usize, EntryFn>(address as usize)(args, out) }
}
