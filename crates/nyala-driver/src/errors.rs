//! Errors outside of the program text: of files, editions and libraries, of linking, and of
//! embedding.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use nyala_interface::Signature;
use nyala_package::Program;
use nyala_span::{Code, Diagnostic, SourceTooLarge, Span, without_controls};

use crate::session::MAX_SOURCE_BYTES;

/// Why a source file could not be read.
#[derive(Debug)]
pub enum FileError {
    /// The file does not exist.
    Missing,
    /// The path names a folder.
    Directory,
    /// The bytes are not UTF-8.
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// The file is larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// All files together are larger than the range of positions.
    AllTooLarge(SourceTooLarge),
    /// Another error of the system.
    Unreadable(io::Error),
}

impl FileError {
    /// The diagnostic for the file `name`.
    pub fn into_diagnostic(self, name: &str) -> Diagnostic {
        let name = without_controls(name);
        let error = |code, message: fmt::Arguments<'_>| {
            Diagnostic::error(Code(code), Span::NONE, format!("cannot read `{name}`: {message}"))
        };
        match self {
            FileError::Missing => error("E0020", format_args!("file not found")),
            FileError::Directory => error("E0021", format_args!("it is a folder"))
                .with_note("name the source files; together they form the program"),
            FileError::NotUtf8 { offset, line } => error("E0022", format_args!("it is not UTF-8 text"))
                .with_note(format!("the first invalid byte is at offset {offset}, in line {line}")),
            FileError::TooLarge => error("E0023", format_args!("it is too large"))
                .with_note(format!("a source file has at most {MAX_SOURCE_BYTES} bytes")),
            FileError::AllTooLarge(reason) => error("E0023", format_args!("{reason}")),
            FileError::Unreadable(reason) => error("E0024", format_args!("{reason}")),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(reason: io::Error) -> FileError {
        match reason.kind() {
            io::ErrorKind::NotFound => FileError::Missing,
            io::ErrorKind::IsADirectory => FileError::Directory,
            _ => FileError::Unreadable(reason),
        }
    }
}

/// Errors of editions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditionError {
    /// The edition does not exist.
    Unknown {
        /// The span of the line.
        span: Span,
        /// The unknown name.
        name: String,
    },
    /// Two files select different editions.
    Several {
        /// The line in the later file.
        span: Span,
        /// The line in the earlier one.
        other: Span,
    },
}

impl EditionError {
    /// The diagnostic.
    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        match self {
            EditionError::Unknown { span, name } => {
                Diagnostic::error(Code("E0025"), span, format!("unknown edition `{name}`"))
                    .with_note("the editions are `impala` (the default), `artic`, `2015`, `2018` and `2019`")
            }
            EditionError::Several { span, other } => {
                let message = "the files of the program select different editions";
                Diagnostic::error(Code("E0026"), span, message)
                    .with_secondary(other, "another edition is selected here")
                    .with_note("a program has one prelude; `--edition` overrides the files")
            }
        }
    }
}

/// A package does not have the requested program, or the request fits several.
#[derive(Debug)]
pub(crate) struct NoSuchProgram {
    /// The package.
    pub package: String,
    /// The requested name, if there was one.
    pub program: Option<String>,
    /// All programs.
    pub programs: Vec<Program>,
}

impl NoSuchProgram {
    /// The diagnostic.
    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        let NoSuchProgram { package, program, programs } = self;
        let message = match program {
            Some(name) => format!("the package `{package}` has no program `{}`", without_controls(&name)),
            None if programs.is_empty() => format!("the package `{package}` has no program"),
            None => format!("the package `{package}` has several programs"),
        };
        let report = Diagnostic::error(Code("E0038"), Span::NONE, message);
        match programs.is_empty() {
            true => report.with_note(PROGRAM_OF_PACKAGE),
            false => report.with_note(choose_program(&programs)),
        }
    }
}

/// A note for packages without programs.
pub(crate) const PROGRAM_OF_PACKAGE: &str = "`src/main.impala` is the program of a package";

/// A note for packages with programs.
pub(crate) fn choose_program(programs: &[Program]) -> String {
    let paths: Vec<String> = programs.iter().map(|program| format!("`{}`", program.path)).collect();
    format!("`--program NAME` chooses a program; there are {}", paths.join(", "))
}

/// Why an object file was not linked.
#[derive(Debug)]
pub enum LinkError {
    /// The C compiler cannot be started.
    NoLinker {
        /// The command.
        program: OsString,
        /// The error of the system.
        error: io::Error,
    },
    /// The linker reports errors.
    Failed {
        /// Its output.
        message: String,
    },
    /// The program exports nothing, so a library of it is empty.
    NoExports,
    /// The static library of the runtime was not found.
    NoRuntime {
        /// The searched path.
        searched: PathBuf,
    },
    /// The target is another machine.
    OtherMachine {
        /// The target.
        target: String,
    },
    /// A temporary file cannot be written or read.
    Temporary {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The perf map cannot be written.
    NoPerfMap {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl LinkError {
    /// The diagnostic.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let error = |code, message: String| Diagnostic::error(Code(code), Span::NONE, message);
        match self {
            LinkError::NoLinker { program, error: reason } => {
                error("E0930", format!("cannot start the linker `{}`: {reason}", program.display()))
                    .with_note("the system's C compiler links executables: `cc`, or the value of the environment variable CC")
                    .with_note("`--emit obj` writes an object file, which needs no linker")
            }
            LinkError::Failed { message } => {
                let report = error("E0931", "the linker reports errors".into());
                message.lines().fold(report, |report, line| report.with_note(line))
            }
            LinkError::NoExports => error("E0979", "the library exports nothing".into())
                .with_note("`extern fn` (`#[export]` in Artic) exports a function"),
            LinkError::NoRuntime { searched } => {
                error("E0932", "the static library of the runtime was not found".into())
                    .with_note(format!("searched {}", searched.display()))
                    .with_note("NYALA_RUNTIME is the file `libnyala_runtime.a` or its folder; if it is not set, the library of the compiler is used")
            }
            LinkError::OtherMachine { target } => {
                error("E0933", format!("cannot link for the target `{target}` on this machine"))
                    .with_note("`--emit obj` writes an object file for it")
            }
            LinkError::Temporary { path, error: reason } => error(
                "E0931",
                format!("cannot link the program: cannot use `{}`: {reason}", path.display()),
            )
            .with_note("TMPDIR sets the folder for temporary files"),
            LinkError::NoPerfMap { path, error: reason } => {
                error("E0936", format!("cannot write `{}`: {reason}", path.display()))
                    .with_note("`--perf-map` writes the names of the functions to this file")
            }
        }
    }
}

const RESERVED: &str = "compiled code calls the function of the runtime or of C with this name";

/// An example in a documentation comment that fails, for the reason `message`.
pub(crate) fn failed_example(at: Span, message: &str) -> Diagnostic {
    Diagnostic::warning(Code("W0030"), at, format!("this example fails: {message}"))
}

/// The program exports a reserved symbol.
pub(crate) fn reserved_symbol(symbol: &str, at: Span) -> Diagnostic {
    let message = format!("the symbol `{symbol}` is reserved");
    Diagnostic::error(Code("E0426"), at, message).with_note(RESERVED)
}

/// Errors between a program and the Rust program that embeds it.
#[derive(Debug)]
pub enum EmbedError {
    /// The type of a host function differs from its declaration.
    OtherType {
        /// Its name.
        name: String,
        /// Its type.
        defined: Signature,
        /// The type that the program declares.
        declared: Signature,
        /// Where.
        at: Span,
    },
    /// The host defines two functions with one name.
    DefinedTwice {
        /// The name.
        name: String,
    },
    /// The host defines a function that the program exports.
    Exported {
        /// The name.
        name: String,
        /// The definition in the program.
        at: Span,
    },
    /// The host defines a reserved symbol.
    Reserved {
        /// The name.
        name: String,
    },
    /// The system has no memory, or no room for another thread.
    NoThread {
        /// The error of the system.
        error: io::Error,
    },
    /// The output of a build script cannot be written.
    Unwritable {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl EmbedError {
    /// The diagnostic.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let error = |code, message| Diagnostic::error(Code(code), Span::NONE, message);
        match self {
            EmbedError::OtherType { name, defined, declared, at } => Diagnostic::error(
                Code("E0934"),
                *at,
                format!("the type of the host function `{name}` differs from its declaration"),
            )
            .with_note(format!("the host defines `{defined}`"))
            .with_note(format!("the program declares `{declared}`")),
            EmbedError::DefinedTwice { name } => {
                error("E0937", format!("the host defines the function `{name}` twice"))
            }
            EmbedError::Exported { name, at } => Diagnostic::error(
                Code("E0937"),
                *at,
                format!("both the host and the program define the function `{name}`"),
            )
            .with_label("exported here"),
            EmbedError::Reserved { name } => {
                error("E0937", format!("the host must not define the function `{name}`")).with_note(RESERVED)
            }
            EmbedError::NoThread { error: reason } => {
                error("E0939", format!("out of memory: cannot start a thread for the compiler: {reason}"))
            }
            EmbedError::Unwritable { folder, error: reason } => {
                error("E0935", format!("cannot write to `{}`: {reason}", folder.display()))
            }
        }
    }
}
