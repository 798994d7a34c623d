//! What can be wrong with the files of a program, before they are parsed.

use std::fmt;
use std::io;

use nyala_span::{Code, Diagnostic, SourceTooLarge, Span};

use crate::session::MAX_SOURCE_BYTES;

/// Why a source file could not be taken in.
#[derive(Debug)]
pub enum FileError {
    /// There is no such file.
    Missing,
    /// The path names a folder.
    Directory,
    /// The bytes are not UTF-8; the first bad one is here.
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// The file is larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// All files together are larger than positions can number.
    AllTooLarge(SourceTooLarge),
    /// The system refused for another reason.
    Unreadable(io::Error),
}

impl FileError {
    /// The report for the user about the file called `name`.
    pub fn into_diagnostic(self, name: &str) -> Diagnostic {
        let error = |code, message: fmt::Arguments<'_>| {
            Diagnostic::error(Code(code), Span::NONE, format!("cannot read `{name}`: {message}"))
        };
        match self {
            FileError::Missing => error("E0020", format_args!("there is no such file")),
            FileError::Directory => error("E0021", format_args!("it is a folder"))
                .with_note("give the source files themselves: all of them together form the program"),
            FileError::NotUtf8 { offset, line } => error("E0022", format_args!("it is not UTF-8 text"))
                .with_note(format!("the first invalid byte is number {offset}, in line {line}")),
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

/// What is wrong with the editions that files ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditionError {
    /// There is no such edition.
    Unknown {
        /// Where it is asked for.
        span: Span,
        /// What it is called there.
        name: String,
    },
    /// Two files ask for different ones.
    Several {
        /// The place in the later file.
        span: Span,
        /// The place in the earlier one.
        other: Span,
    },
}

impl EditionError {
    /// The report for the user.
    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        match self {
            EditionError::Unknown { span, name } => {
                Diagnostic::error(Code("E0025"), span, format!("there is no edition `{name}`"))
                    .with_note("the editions are `impala` (the default), `artic`, `2018` and `2019`")
            }
            EditionError::Several { span, other } => {
                let message = "the files of the program ask for different editions";
                Diagnostic::error(Code("E0026"), span, message)
                    .with_secondary(other, "another edition is asked for here")
                    .with_note("a program has one prelude; `--edition` decides which, whatever files ask for")
            }
        }
    }
}
