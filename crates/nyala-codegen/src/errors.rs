//! What native code cannot be made for.

use nyala_span::{Code, Diagnostic, Span};

use crate::llvm::LlvmError;

/// Why a program cannot be compiled.
#[derive(Clone, Debug)]
pub enum CodegenError {
    /// The body of a parallel or vectorized loop jumps out of it.
    JumpOut {
        /// The loop.
        at: Span,
        /// What runs it.
        name: &'static str,
    },
    /// A function that captures values is passed to C.
    Captures {
        /// The call.
        at: Span,
    },
    /// An argument that must be one of some numbers, and known.
    Argument {
        /// The call.
        at: Span,
        /// Whose argument it is, and what it says.
        what: String,
        /// The argument, if it is known.
        found: Option<u64>,
        /// What it may be.
        allowed: String,
    },
    /// A template of inline assembly that LLVM does not take.
    AsmTemplate {
        /// The assembly.
        at: Span,
        /// What the template has.
        what: String,
    },
    /// Something that the language has and the back end does not know yet.
    Unsupported {
        /// Where.
        at: Span,
        /// What.
        what: String,
    },
    /// A function that a device does not have.
    NotOnDevice {
        /// A call of it.
        at: Span,
        /// Its name.
        name: String,
        /// What has none.
        device: &'static str,
    },
    /// There is nothing to run.
    NoMain {
        /// What is there instead.
        why: String,
    },
    /// A function that nobody defines.
    Undefined {
        /// A call of it.
        at: Span,
        /// Its symbol.
        name: String,
    },
    /// Something is wrong with LLVM, or LLVM finds something wrong.
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
                let message = "a function that is passed to C is not known, or captures values";
                Diagnostic::error(Code("E0921"), *at, message)
                    .with_label("C passes the address of code, and nothing else")
                    .with_note("a function fits that uses no variables of others, once the compiler knows which one it is")
            }
            CodegenError::Argument { at, what, found, allowed } => {
                let message = match found {
                    Some(found) => format!("{found} is no {what}"),
                    None => format!("the {what} is not known at compile time"),
                };
                Diagnostic::error(Code("E0928"), *at, message).with_note(format!("it is one of {allowed}"))
            }
            CodegenError::AsmTemplate { at, what } => {
                Diagnostic::error(Code("E0929"), *at, format!("the template of `asm` has {what}"))
                    .with_note("operands are `$0`, `$1` and so on: outputs first, then inputs")
            }
            CodegenError::Unsupported { at, what } => {
                Diagnostic::error(Code("E0922"), *at, format!("no native code can be made for {what} yet"))
            }
            CodegenError::NotOnDevice { at, name, device } => {
                Diagnostic::error(Code("E0947"), *at, format!("{device} have no function `{name}`"))
                    .with_label("called in a kernel")
            }
            CodegenError::NoMain { why } => {
                Diagnostic::error(Code("E0923"), Span::NONE, format!("the program cannot be run: {why}"))
            }
            CodegenError::Undefined { at, name } if name.starts_with("llvm.") => Diagnostic::error(
                Code("E0927"),
                *at,
                format!("LLVM does not know the function `{name}`"),
            )
            .with_note(
                "LLVM's own functions are those of its language reference, with the types in their names",
            ),
            CodegenError::Undefined { at, name } => {
                Diagnostic::error(Code("E0927"), *at, format!("nobody defines the C function `{name}`"))
                    .with_note("`--link LIB` makes the functions of a shared library known")
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
            "if the program has no `asm` and declares no `llvm.` function, this is a mistake of the compiler",
        ),
        LlvmError::Link(_) => report("E0927"),
    }
}
