//! Compiled programs: made by LLVM, run in this process.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;

use nyala_codegen::llvm::{self, Jit, Llvm, Output};
use nyala_codegen::{CodegenError, text};
use nyala_ir::{Linkage, Prim, TyKind, World};

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
    match try_run(world, options, args) {
        Ok(status) => Some(status),
        Err(errors) => {
            session.diagnostics.extend(errors.iter().map(CodegenError::to_diagnostic));
            None
        }
    }
}

fn try_run(world: &World, options: &NativeOptions, args: &[String]) -> Result<i32, Vec<CodegenError>> {
    check_main(world).map_err(|why| vec![CodegenError::NoMain { why }])?;
    let text = text::write(world)?;
    run_text(&text, options, args).map_err(|error| vec![error.into()])
}

fn run_text(text: &str, options: &NativeOptions, args: &[String]) -> Result<i32, llvm::LlvmError> {
    let llvm = Llvm::get()?;
    let object = llvm::compile(llvm, text, &options.llvm, Output::Object)?;
    let jit = Jit::new(llvm)?;
    let symbols: Vec<(&str, *const c_void)> =
        nyala_runtime::SYMBOLS.iter().map(|symbol| (symbol.name, symbol.address)).collect();
    // SAFETY: these are the runtime's functions, which have the types that the
    // language's reference gives them.
    unsafe { jit.define(&symbols) }?;
    for library in &options.link {
        jit.link(library)?;
    }
    jit.add_object(&object)?;
    let main = jit.lookup("main")?;
    // SAFETY: every exported `main` is compiled to take at most these parameters and
    // to return an `int`; `check_main` looked at its parameters.
    let main: extern "C" fn(c_int, *const *const c_char) -> c_int = unsafe { std::mem::transmute(main) };
    let args: Vec<CString> = args.iter().map(|arg| c_arg(arg)).collect();
    let mut table: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    table.push(std::ptr::null());
    let status = main(c_int::try_from(args.len()).unwrap_or(c_int::MAX), table.as_ptr());
    nyala_runtime::print::anydsl_print_flush();
    Ok(status)
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
