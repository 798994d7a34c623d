//! One compilation: its options, its source files, and what was reported so far.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nyala_lower::LowerOptions;
use nyala_span::{Diagnostic, FileId, SourceMap};
use nyala_syntax::ast::Dialect;

use crate::embedded;
use crate::errors::FileError;

/// The largest source file that is read. What is larger is reported, so that a
/// device file or a wrong path does not fill the memory.
pub const MAX_SOURCE_BYTES: u64 = 128 << 20;

/// What the user chose.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialect of every file of the program; found out per file when absent.
    pub dialect: Option<Dialect>,
    /// Whether the prelude is part of the program.
    pub prelude: bool,
    /// What operators mean.
    pub lower: LowerOptions,
}

impl Default for Options {
    fn default() -> Options {
        Options { dialect: None, prelude: true, lower: LowerOptions::default() }
    }
}

/// One compilation.
///
/// Files are added first; then a function of [`pipeline`](crate::pipeline) takes
/// the program as far as it is asked to. What goes wrong on the way is kept in
/// [`diagnostics`](Session::diagnostics), in no particular order:
/// [`Report`](crate::Report) sorts and renders.
#[derive(Debug)]
pub struct Session {
    /// What the user chose.
    pub options: Options,
    /// The files: first the prelude, then the program's.
    pub sources: SourceMap,
    /// What was reported so far.
    pub diagnostics: Vec<Diagnostic>,
    n_prelude_files: u32,
}

impl Session {
    /// A session with the prelude loaded if `options` ask for it.
    pub fn new(options: Options) -> Session {
        let mut session =
            Session { options, sources: SourceMap::default(), diagnostics: vec![], n_prelude_files: 0 };
        if session.options.prelude {
            for (name, text) in embedded::prelude() {
                session.add_text(name, text);
                session.n_prelude_files += 1;
            }
        }
        session
    }

    /// Reads the file at `path`, or standard input if that is `-`. What cannot
    /// be read is reported.
    pub fn load(&mut self, path: &Path) {
        let (name, bytes) = if path == Path::new("-") {
            ("<stdin>".to_owned(), read_at_most(io::stdin().lock()))
        } else {
            (path.display().to_string(), File::open(path).map_err(FileError::from).and_then(read_at_most))
        };
        match bytes.and_then(decode) {
            Ok(text) => self.add_text(name, text),
            Err(error) => self.diagnostics.push(error.into_diagnostic(&name)),
        }
    }

    /// Adds a text to the program, under a name for diagnostics.
    pub fn add_text(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let name = name.into();
        if let Err(error) = self.sources.add(name.as_str(), text) {
            self.diagnostics.push(FileError::AllTooLarge(error).into_diagnostic(&name));
        }
    }

    /// Whether a file belongs to the prelude.
    pub fn is_prelude(&self, file: FileId) -> bool {
        file.0 < self.n_prelude_files
    }

    /// Whether the program is rejected because of something reported so far.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

fn read_at_most(reader: impl Read) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    reader.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES { Err(FileError::TooLarge) } else { Ok(bytes) }
}

fn decode(bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count();
        FileError::NotUtf8 { offset, line }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(path: &Path) -> String {
        let mut session = Session::new(Options::default());
        session.load(path);
        session.diagnostics.iter().map(|d| format!("{}: {}\n", d.code, d.message)).collect()
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        let folder = std::env::temp_dir().join(format!("nyala-session-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let latin1 = folder.join("latin1.impala");
        std::fs::write(&latin1, b"// caf\xe9\n").expect("the temporary folder is writable");
        assert!(load(&folder).starts_with("E0021"), "{}", load(&folder));
        assert!(load(&folder.join("absent.impala")).starts_with("E0020"));
        assert!(load(&latin1).starts_with("E0022"));
        std::fs::remove_dir_all(&folder).expect("it was just made");
    }

    #[test]
    fn endless_input_is_too_large() {
        assert!(matches!(read_at_most(io::repeat(b' ')), Err(FileError::TooLarge)));
    }
}
