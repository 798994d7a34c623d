//! One compilation: its options, its source files, and what was reported so far.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use nyala_lower::LowerOptions;
use nyala_opt::partial_eval::Options as EvaluationOptions;
use nyala_span::{Diagnostic, FileId, SourceMap};
use nyala_syntax::ast::Dialect;

use crate::compile_time::Limits;
use crate::edition::{Edition, Prelude};
use crate::errors::FileError;
use crate::library::Library;
use crate::timings::Timings;

/// The largest source file that is read. What is larger is reported, so that a
/// device file or a wrong path does not fill the memory.
pub const MAX_SOURCE_BYTES: u64 = 128 << 20;

/// What the user chose.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The dialect of every file of the program; found out per file when absent.
    pub dialect: Option<Dialect>,
    /// The prelude that is part of the program.
    pub prelude: Prelude,
    /// What operators mean.
    pub lower: LowerOptions,
    /// How much computing the values of statics may take.
    pub statics: Limits,
    /// Whether native code reports operations that fail.
    pub checked: bool,
    /// Whether to warn of functions that are still values after evaluation.
    pub warn_closures: bool,
    /// Whether native code tells debuggers of the source.
    pub debug: bool,
    /// How far partial evaluation goes.
    pub evaluation: EvaluationOptions,
    /// The GPUs to make code for, as their vendors name the generations; for those of whom there is none,
    /// the default of [`device`](crate::device).
    pub gpu_arch: Vec<String>,
}

/// One compilation.
///
/// Files are added first; then a function of [`pipeline`](crate::pipeline) takes
/// the program as far as it is asked to. What goes wrong on the way is kept in
/// [`diagnostics`](Session::diagnostics), in no particular order:
/// [`Report`](crate::Report) sorts and renders.
#[derive(Clone, Debug)]
pub struct Session {
    /// What the user chose.
    pub options: Options,
    /// The files: the program's, and the prelude's once a pipeline has started.
    pub sources: SourceMap,
    /// What was reported so far.
    pub diagnostics: Vec<Diagnostic>,
    /// How long the phases took so far.
    pub timings: Timings,
    prelude_files: Range<u32>,
    /// The edition of the program, once its prelude is there.
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

    /// Adds the prelude, unless it is there or not wanted, and libraries. After all files of the
    /// program are there, since they may choose it.
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
