//! Why a program has no native code.

use nyala_ir::entry::{MAIN_TYPES, NoEntry};
use nyala_span::{Code, Diagnostic, Span};

use crate::llvm::LlvmError;

/// Why a program cannot be compiled.
#[derive(Clone, Debug)]
pub enum CodegenError {
    /// The body of a parallel or vectorized loop jumps out of it.
    JumpOut {
        /// The loop.
        at: Span,
        /// The intrinsic that runs it.
        name: &'static str,
    },
    /// A function that captures values is passed to C.
    Captures {
        /// The call.
        at: Span,
    },
    /// An argument that must be one of some literals.
    Argument {
        /// The call.
        at: Span,
        /// What the argument chooses.
        what: String,
        /// The argument, if it is known.
        found: Option<u64>,
        /// The valid literals.
        allowed: String,
    },
    /// An invalid template of inline assembly.
    AsmTemplate {
        /// The assembly.
        at: Span,
        /// What is wrong with it.
        what: String,
    },
    /// A construct that the back end does not support.
    Unsupported {
        /// Its position.
        at: Span,
        /// The construct.
        what: String,
    },
    /// A function that a device does not have.
    NotOnDevice {
        /// A call of it.
        at: Span,
        /// Its name.
        name: String,
        /// The devices.
        device: &'static str,
    },
    /// The program has no `main` that can be executed.
    NoMain(NoEntry),
    /// A function without a definition.
    Undefined {
        /// A call of it.
        at: Span,
        /// Its symbol.
        name: String,
    },
    /// An error of LLVM, or of loading it.
    Llvm(LlvmError),
}

impl CodegenError {
    /// The report for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        match self {
            CodegenError::JumpOut { at, name } => {
                let message = format!("the body of `{name}` jumps out of its loop");
                Diagnostic::error(Code("E0920"), *at, message)
                    .with_label("its instances run in parallel, so each must run to its end")
                    .with_note(
                        "`continue` ends one instance; a shared variable can tell the others to do the same",
                    )
            }
            CodegenError::Captures { at } => {
                let message =
                    "a function that is passed to C must be known at compile time and capture nothing";
                Diagnostic::error(Code("E0921"), *at, message)
                    .with_label("C passes the address of the code only")
                    .with_note("pass a function that uses no variables of enclosing functions")
            }
            CodegenError::Argument { at, what, found, allowed } => {
                let message = match found {
                    Some(found) => format!("{found} is not a valid {what}"),
                    None => format!("the {what} is not known at compile time"),
                };
                Diagnostic::error(Code("E0928"), *at, message).with_note(format!("valid are {allowed}"))
            }
            CodegenError::AsmTemplate { at, what } => {
                Diagnostic::error(Code("E0929"), *at, format!("the template of `asm` has {what}"))
                    .with_note("operands are `$0`, `$1` and so on: outputs first, then inputs")
            }
            CodegenError::Unsupported { at, what } => {
                Diagnostic::error(Code("E0922"), *at, format!("native code does not support {what}"))
            }
            CodegenError::NotOnDevice { at, name, device } => {
                Diagnostic::error(Code("E0947"), *at, format!("{device} have no function `{name}`"))
                    .with_label("called in a kernel")
            }
            CodegenError::NoMain(NoEntry::Missing) => {
                let message = "the program cannot be run: there is no exported function `main`";
                Diagnostic::error(Code("E0923"), Span::NONE, message)
            }
            CodegenError::NoMain(NoEntry::Type { at }) => {
                Diagnostic::error(Code("E0415"), *at, "`main` has a wrong type").with_note(MAIN_TYPES)
            }
            CodegenError::Undefined { at, name } if name.starts_with("llvm.") => {
                Diagnostic::error(Code("E0927"), *at, format!("LLVM has no intrinsic `{name}`")).with_note(
                    "LLVM's language reference lists the intrinsics; the types are part of their names",
                )
            }
            CodegenError::Undefined { at, name } => {
                Diagnostic::error(Code("E0927"), *at, format!("undefined C function `{name}`"))
                    .with_note("`--link LIB` links a shared library that defines it")
            }
            CodegenError::Llvm(error) => llvm_diagnostic(error),
        }
    }
}

impl From<LlvmError> for CodegenError {
    fn from(error: LlvmError) -> CodegenError {
        CodegenError::Llvm(error)
    }
}

fn llvm_diagnostic(error: &LlvmError) -> Diagnostic {
    let report = |code| Diagnostic::error(Code(code), Span::NONE, error.to_string());
    match error {
        LlvmError::Missing { searched } => searched
            .iter()
            .fold(report("E0924"), |report, place| report.with_note(format!("searched {place}")))
            .with_note("set NYALA_LLVM to the library or to its folder, or install Rust, which has one"),
        LlvmError::NoMemory { .. } => {
            report("E0939").with_note("native code needs about 500 MB; `check` and `interp` need less")
        }
        LlvmError::Target(_) | LlvmError::Versions(_) => report("E0925"),
        LlvmError::Processor { target, .. } => report("E0925").with_note(match target.split('-').next() {
            Some("nvptx64") => {
                "`--gpu-arch` takes the names of NVIDIA's generations, such as `sm_70` or `sm_90a`"
            }
            Some("amdgcn") => "`--gpu-arch` takes the names of AMD's processors, such as `gfx90a`",
            _ => "`--target-cpu` takes the names that clang's `-march` or `-mcpu` does, and `native`",
        }),
        LlvmError::Rejected(_) => report("E0926").with_note(
            "unless the program uses `asm` or declares an `llvm.` function, this is a bug in nyala",
        ),
        LlvmError::Link(_) => report("E0927"),
    }
}
