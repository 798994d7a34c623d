//! Native code: made by LLVM, for a file or to be run in this process.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;

use nyala_codegen::CodegenError;
use nyala_codegen::llvm::{self, Jit, Llvm, LlvmError};
pub use nyala_codegen::llvm::{Options as LlvmOptions, Output};
use nyala_codegen::text::{self, Abi, Module};
use nyala_ir::{Linkage, Prim, TyKind, World};
use nyala_runtime::{SYMBOLS, Symbol};

use crate::session::Session;

/// How to compile and link.
#[derive(Clone, Default, Debug)]
pub struct NativeOptions {
    /// For what, and how well, LLVM compiles.
    pub llvm: llvm::Options,
    /// Shared libraries whose functions the program may call.
    pub link: Vec<PathBuf>,
}

/// Compiles the program and runs its `main` with these arguments, the program's
/// name first; gives its exit status.
pub fn run(session: &mut Session, world: &World, options: &NativeOptions, args: &[String]) -> Option<i32> {
    let result = try_run(session, world, options, args);
    reported(session, result)
}

/// Compiles the program to the contents of a file.
pub fn compile(
    session: &mut Session,
    world: &World,
    options: &llvm::Options,
    output: Output,
) -> Option<Vec<u8>> {
    let compiled = text::write(world, &text_options(session, options)).and_then(|module| {
        let compiled = Llvm::get().and_then(|llvm| llvm::compile(llvm, &module.text, options, output));
        compiled.map_err(|error| vec![error.into()])
    });
    reported(session, compiled)
}

fn reported<T>(session: &mut Session, result: Result<T, Vec<CodegenError>>) -> Option<T> {
    let report = |errors: Vec<CodegenError>| {
        session.diagnostics.extend(errors.iter().map(CodegenError::to_diagnostic));
    };
    result.map_err(report).ok()
}

fn text_options<'a>(session: &'a Session, options: &llvm::Options) -> text::Options<'a> {
    text::Options { abi: Abi::of_target(options.target.as_deref()), sources: Some(&session.sources) }
}

fn try_run(
    session: &Session,
    world: &World,
    options: &NativeOptions,
    args: &[String],
) -> Result<i32, Vec<CodegenError>> {
    check_main(world).map_err(|why| vec![CodegenError::NoMain { why }])?;
    let module = text::write(world, &text_options(session, &options.llvm))?;
    let one = |error: LlvmError| vec![error.into()];
    let llvm = Llvm::get().map_err(one)?;
    let jit = load_libraries(llvm, &module, options).map_err(one)?;
    check_imports(&jit, &module)?;
    let object = llvm::compile(llvm, &module.text, &options.llvm, Output::Object).map_err(one)?;
    jit.add_object(&object).map_err(one)?;
    let main = jit.lookup("main").map_err(one)?;
    // SAFETY: every exported `main` is compiled to take at most these parameters and
    // to return an `int`; `check_main` looked at its parameters.
    let main: MainFn = unsafe { std::mem::transmute(main) };
    Ok(call_main(main, args))
}

/// `main`, as the system calls it.
type MainFn = extern "C" fn(c_int, *const *const c_char) -> c_int;

fn call_main(main: MainFn, args: &[String]) -> i32 {
    let args: Vec<CString> = args.iter().map(|arg| c_arg(arg)).collect();
    let mut table: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    table.push(std::ptr::null());
    let status = main(c_int::try_from(args.len()).unwrap_or(c_int::MAX), table.as_ptr());
    nyala_runtime::print::anydsl_print_flush();
    status
}

/// Makes known what the program may call: the runtime and the libraries of the options.
fn load_libraries<'a>(
    llvm: &'a Llvm,
    module: &Module,
    options: &NativeOptions,
) -> Result<Jit<'a>, LlvmError> {
    let jit = Jit::new(llvm)?;
    // Only those that are needed: a program may have a function with such a name.
    let is_needed = |symbol: &&Symbol| module.imports.iter().any(|import| import.name == symbol.name);
    let symbols: Vec<(&str, *const c_void)> =
        SYMBOLS.iter().filter(is_needed).map(|symbol| (symbol.name, symbol.address)).collect();
    // SAFETY: these are the runtime's functions, which have the types that the
    // language's reference gives them.
    unsafe { jit.define(&symbols) }?;
    for library in &options.link {
        jit.link(library)?;
    }
    Ok(jit)
}

/// Finds functions that nobody defines, before linking finds them without a place.
fn check_imports(jit: &Jit<'_>, module: &Module) -> Result<(), Vec<CodegenError>> {
    let undefined = module.imports.iter().filter(|import| jit.lookup(&import.name).is_err());
    let errors: Vec<CodegenError> = undefined
        .map(|import| CodegenError::Undefined { at: import.span, name: import.name.clone() })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// An argument as C has it: up to its first zero.
fn c_arg(arg: &str) -> CString {
    let end = arg.find('\0').unwrap_or(arg.len());
    CString::new(&arg[..end]).expect("there is no zero before the first zero")
}

/// Whether there is a `main` that the system could call: with nothing, or with the
/// number of arguments and the arguments.
fn check_main(world: &World) -> Result<(), String> {
    let is_main = |linkage: &Linkage| matches!(linkage, Linkage::Exported(name) if name.as_str() == "main");
    let Some((_, main)) = world.conts().find(|(_, data)| is_main(&data.linkage)) else {
        return Err("there is no exported function `main`".into());
    };
    let types = main.params.iter().map(|&param| world.types.kind(world.ty(param)));
    let data: Vec<&TyKind> = types.filter(|kind| !matches!(kind, TyKind::Mem | TyKind::Cn(_))).collect();
    match data[..] {
        [] | [TyKind::Prim(Prim::I32)] | [TyKind::Prim(Prim::I32), TyKind::Ptr { .. }] => Ok(()),
        _ => Err("`main` takes either nothing, or the number of arguments and the arguments".into()),
    }
}
