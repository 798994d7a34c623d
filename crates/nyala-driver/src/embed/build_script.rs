//! Programs that are compiled together with a crate, by its build script.
//!
//! In `build.rs`:
//!
//! ```no_run
//! # use nyala_driver::embed::{CompileError, Compiler};
//! fn main() -> Result<(), CompileError> {
//!     Compiler::new().file("src/kernels.impala").build_script("kernels")
//! }
//! ```
//!
//! and in the crate, which gets the declarations of all exported functions and their types:
//!
//! ```ignore
//! mod kernels {
//!     include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! }
//! ```
//!
//! The code is for every processor of the target; [`Compiler::native`] chooses another one. A
//! program that uses the runtime, for printing or for memory, needs the crate `nyala-runtime`
//! as a dependency of the crate; its declarations contain an `extern crate` for it.

use std::env;
use std::fs;
use std::path::Path;

use nyala_interface::{Interface, rust};

use super::{CompileError, Compiler, on_large_stack};
use crate::archive;
use crate::errors::EmbedError;
use crate::native::{self, Output};
use crate::pipeline;
use crate::session::Session;

impl Compiler {
    /// Compiles the program to a static library called `name`, which cargo links to the crate,
    /// and writes the declarations for Rust to `name.rs`, both in the folder `OUT_DIR`.
    ///
    /// For build scripts: the environment has the target and the optimization level.
    pub fn build_script(mut self, name: &str) -> Result<(), CompileError> {
        let out_dir = env::var_os("OUT_DIR").unwrap_or_else(|| ".".into());
        let llvm = &mut self.native.llvm;
        llvm.target = llvm.target.take().or_else(|| env::var("TARGET").ok());
        if let Some(level) = env::var("OPT_LEVEL").ok().and_then(|level| level.parse().ok()) {
            llvm.opt_level = level;
        }
        let sources = on_large_stack(|| {
            let mut session = self.session();
            match self.write(&mut session, name, out_dir.as_ref()) {
                Some(()) => Ok(session.files_on_disk()),
                None => Err(CompileError::of(session)),
            }
        })?;
        tell_cargo(&sources, name, out_dir.as_ref());
        Ok(())
    }

    fn write(&self, session: &mut Session, name: &str, out_dir: &Path) -> Option<()> {
        let (mut program, interface) = pipeline::prepare_with_interface(session)?;
        native::use_linked_names(&mut program.host);
        let uses_runtime = native::uses_runtime(&program.host);
        let object = native::compile(session, &program, &self.native.llvm, Output::Object)?;
        let library = archive::archive(&object, &interface.symbols().collect::<Vec<_>>());
        let declarations = declarations(&interface, uses_runtime);
        let result = fs::write(out_dir.join(format!("lib{name}.a")), library)
            .and_then(|()| fs::write(out_dir.join(format!("{name}.rs")), declarations));
        let cannot_write = |error| EmbedError::Unwritable { folder: out_dir.to_owned(), error };
        result.map_err(|error| session.diagnostics.push(cannot_write(error).to_diagnostic())).ok()
    }
}

/// Instructions for cargo: files to watch and libraries to link.
fn tell_cargo(sources: &[String], name: &str, out_dir: &Path) {
    for path in sources {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rustc-link-search=native={}", out_dir.display());
    println!("cargo::rustc-link-lib=static={name}");
}

fn declarations(interface: &Interface, uses_runtime: bool) -> String {
    let mut text = rust::bindings(interface);
    if uses_runtime {
        text += "\n// The program calls functions of the runtime.\nextern crate nyala_runtime as _;\n";
    }
    text
}
