//! One compilation: its options, its source files, and its diagnostics.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use nyala_lower::LowerOptions;
use nyala_opt::partial_eval::Options as EvaluationOptions;
use nyala_span::{Diagnostic, FileId, SourceMap, Span};
use nyala_syntax::ast::Dialect;

use crate::compile_time::Limits;
use crate::edition::{Edition, Prelude};
use crate::errors::FileError;
use crate::library::Library;
use crate::timings::Timings;

/// The maximum size of a source file. Larger ones are reported, so that a device
/// file or a wrong path does not fill the memory.
pub const MAX_SOURCE_BYTES: u64 = 128 << 20;

/// The options of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The dialect of every file of the program; if absent, it is detected per file.
    pub dialect: Option<Dialect>,
    /// The prelude that is part of the program.
    pub prelude: Prelude,
    /// The meaning of operators.
    pub lower: LowerOptions,
    /// The limits for initializers of statics.
    pub statics: Limits,
    /// Whether native code checks operations.
    pub checked: bool,
    /// Whether to warn about closures that remain after evaluation.
    pub warn_closures: bool,
    /// Whether native code has debug information.
    pub debug: bool,
    /// The options of the partial evaluator.
    pub evaluation: EvaluationOptions,
    /// The target GPUs, in the terms of their vendors. A vendor without entry gets the default of
    /// [`device`](crate::device).
    pub gpu_arch: Vec<String>,
}

/// One compilation.
///
/// Files are added first; then a function of [`pipeline`](crate::pipeline) takes
/// the program to a stage. Errors are stored in
/// [`diagnostics`](Session::diagnostics), in any order:
/// [`Report`](crate::Report) sorts and renders them.
#[derive(Clone, Debug)]
pub struct Session {
    /// What the user chose.
    pub options: Options,
    /// The files: the program's, and the prelude's once a pipeline has started.
    pub sources: SourceMap,
    /// The diagnostics so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The times of the phases so far.
    pub timings: Timings,
    prelude_files: Range<u32>,
    /// The edition of the program, once its prelude is loaded.
    pub(crate) edition: Option<Edition>,
}

impl Session {
    /// A session without files.
    pub fn new(options: Options) -> Session {
        Session {
            options,
            sources: SourceMap::default(),
            diagnostics: vec![],
            timings: Timings::new("read"),
            prelude_files: 0..0,
            edition: None,
        }
    }

    /// Reads the file at `path`, or standard input if that is `-`. Reports
    /// unreadable files.
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

    /// Adds the prelude, unless it is loaded or disabled, and libraries. All files of the
    /// program must be loaded before, since they may select the edition.
    pub(crate) fn add_prelude(&mut self) {
        if !self.prelude_files.is_empty() {
            return;
        }
        let edition = match self.options.prelude {
            Prelude::Absent => return,
            Prelude::Edition(edition) => edition,
            Prelude::AsWritten => match Edition::asked_for(self.sources.files().map(|(_, file)| file)) {
                Ok(edition) => edition.unwrap_or_default(),
                Err(error) => return self.diagnostics.push(error.into_diagnostic()),
            },
        };
        let libraries = match Library::asked_for(self.sources.files().map(|(_, file)| file)) {
            Ok(libraries) => libraries,
            Err(error) => return self.diagnostics.push(error.into_diagnostic()),
        };
        self.edition = Some(edition);
        let first = self.n_files();
        for (name, text) in edition.sources().chain(libraries.into_iter().flat_map(Library::sources)) {
            self.add_text(name, text);
        }
        self.prelude_files = first..self.n_files();
    }

    fn n_files(&self) -> u32 {
        self.sources.files().last().map_or(0, |(id, _)| id.0 + 1)
    }

    /// Whether a file belongs to the prelude or a library.
    pub fn is_prelude(&self, file: FileId) -> bool {
        self.prelude_files.contains(&file.0)
    }

    /// The source text of the prelude and the libraries.
    pub fn library_text(&self) -> Vec<Span> {
        let files = self.sources.files().filter(|&(id, _)| self.is_prelude(id));
        files.map(|(_, file)| Span::new(file.base, file.base + file.text.len() as u32)).collect()
    }

    /// Whether an error was reported.
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
    fn unreadable_files_are_reported() {
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
