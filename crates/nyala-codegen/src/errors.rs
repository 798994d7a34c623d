//! What native code cannot be made for.

use nyala_span::{Code, Diagnostic, Span};

use crate::llvm::LlvmError;

/// Why a program cannot be compiled.
#[derive(Clone, Debug)]
pub enum CodegenError {
    /// A function is a value at run time.
    FunctionValue {
        /// Where it is used.
        at: Span,
        /// The function, or the one that uses it.
        name: String,
    },
    /// A function uses variables of the function around it, and its calls return
    /// to different places.
    LocalFunction {
        /// Where it stands.
        at: Span,
        /// Its name.
        name: String,
        /// The function around it.
        inside: String,
    },
    /// Something that the language has and the back end does not know yet.
    Unsupported {
        /// Where.
        at: Span,
        /// What.
        what: String,
    },
    /// There is nothing to run.
    NoMain {
        /// What is there instead.
        why: String,
    },
    /// Something is wrong with LLVM, or LLVM finds something wrong.
    Llvm(LlvmError),
}

impl CodegenError {
    /// The report for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        match self {
            CodegenError::FunctionValue { at, name } => {
                let message = format!("`{name}` needs a function that is known only when it runs");
                Diagnostic::error(Code("E0920"), *at, message)
                    .with_label("this function is still a value after evaluation")
                    .with_note("native code for function values is not there yet; `nyala interp` runs them")
            }
            CodegenError::LocalFunction { at, name, inside } => {
                let message = format!("`{name}` cannot be compiled apart from `{inside}`");
                Diagnostic::error(Code("E0921"), *at, message)
                    .with_label(format!("uses variables of `{inside}` and returns to several places"))
                    .with_note("native code for such functions is not there yet; `nyala interp` runs them")
            }
            CodegenError::Unsupported { at, what } => {
                Diagnostic::error(Code("E0922"), *at, format!("no native code can be made for {what} yet"))
            }
            CodegenError::NoMain { why } => {
                Diagnostic::error(Code("E0923"), Span::NONE, format!("the program cannot be run: {why}"))
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
        LlvmError::Target(_) => report("E0925"),
        LlvmError::Rejected(_) => report("E0926").with_note(
            "if the program declares no `llvm.` function itself, this is a mistake of the compiler",
        ),
        LlvmError::Link(_) => {
            report("E0927").with_note("`--link LIB` makes the functions of a shared library known")
        }
    }
}
