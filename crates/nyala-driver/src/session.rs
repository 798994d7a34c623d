//! One compilation: its options, its source files, and its diagnostics.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nyala_lower::LowerOptions;
use nyala_opt::partial_eval::Options as EvaluationOptions;
use nyala_package::{Folder, Source, Text};
use nyala_sema::package::Role;
use nyala_span::{Diagnostic, FileId, Name, SourceMap, Span};
use nyala_syntax::ast::Dialect;

use crate::compile_time::Limits;
use crate::edition::{Edition, Prelude};
use crate::errors::FileError;
use crate::excerpts::{Excerpt, Excerpts};
use crate::loading::LoadedPackage;
use crate::modules::Read as ReadFile;
use crate::packages::Chosen;
use crate::timings::Timings;
use crate::tuning::{Parameter, Tuning};

/// The maximum size of a source file. Larger ones are reported, so that a device
/// file or a wrong path does not fill the memory.
pub const MAX_SOURCE_BYTES: u64 = 128 << 20;

/// From this optimization level on, [`Options::adapts_lanes`] is usual for code for one processor.
pub const LEVEL_THAT_ADAPTS_LANES: u8 = 2;

/// The options of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The dialect of every file of the program; if absent, it is detected per file.
    pub dialect: Option<Dialect>,
    /// The prelude that is part of the program.
    pub prelude: Prelude,
    /// Whether all items of the prelude are checked, also those that the program does not need.
    pub whole_prelude: bool,
    /// Folders that are libraries, or hold libraries as folders.
    pub libraries: Vec<PathBuf>,
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
    /// The values of parameters.
    pub tuning: Tuning,
    /// The processor whose tuned values are used; by default this one.
    pub cpu: Option<String>,
    /// Whether the processor decides how many lanes of a `vectorize` are executed at once.
    pub adapts_lanes: bool,
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
    /// The files: the program's, and those of libraries and the prelude once a pipeline has started.
    pub sources: SourceMap,
    /// The diagnostics so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The times of the phases so far.
    pub timings: Timings,
    /// The parameters of the program and its packages, once it is parsed.
    pub(crate) parameters: Option<Vec<Parameter>>,
    /// The functions that pass ever new functions to themselves, so that evaluation stopped there.
    pub(crate) deep_functions: Vec<Name>,
    /// The files of a program that is not a package.
    pub(crate) files: Vec<ReadFile>,
    /// The parts of other files among them.
    pub(crate) excerpts: Excerpts,
    /// The target of a package that is the program.
    pub(crate) chosen: Option<Chosen>,
    /// An example in the documentation of that package, which is the program instead.
    pub(crate) example: Option<FileId>,
    /// All packages, once a pipeline has started; the program last.
    pub(crate) packages: Vec<LoadedPackage>,
}

impl Session {
    /// A session without files.
    pub fn new(options: Options) -> Session {
        Session {
            options,
            sources: SourceMap::default(),
            diagnostics: vec![],
            timings: Timings::new("read"),
            parameters: None,
            deep_functions: vec![],
            files: vec![],
            excerpts: Excerpts::default(),
            chosen: None,
            example: None,
            packages: vec![],
        }
    }

    /// Reads the file at `path`, or standard input if that is `-`. Reports
    /// unreadable files.
    pub fn load(&mut self, path: &Path) {
        if path == Path::new("-") {
            let text = read_at_most(io::stdin().lock()).and_then(decode);
            return match text {
                Ok(text) => self.add_text("<stdin>", text),
                Err(error) => self.diagnostics.push(error.into_diagnostic("<stdin>")),
            };
        }
        let Some(id) = self.load_file(path) else { return };
        let folder = Folder::Disk(path.parent().map(Path::to_owned).unwrap_or_default());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let source = Source { folder: folder.clone(), name };
        self.files.push(ReadFile { id, source: Some(source), modules: Some(folder) });
    }

    /// Adds a text to the program, under a name for diagnostics.
    pub fn add_text(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let id = self.add_source(name, text);
        self.files.extend(id.map(|id| ReadFile { id, source: None, modules: None }));
    }

    /// Adds a part of another file to the program, with text before and after it.
    pub fn add_excerpt(&mut self, excerpt: Excerpt, before: &str, after: &str) {
        let text = [before, &excerpt.code, after].concat();
        let Some(id) = self.add_source(excerpt.file.as_str(), text) else { return };
        self.files.push(ReadFile { id, source: None, modules: None });
        self.excerpts.add(excerpt, id, before.len());
    }

    /// Moves diagnostics of excerpts to the files that these are from.
    pub(crate) fn trace_back_excerpts(&mut self) {
        self.excerpts.trace_back(&mut self.diagnostics, &mut self.sources);
    }

    /// Reads a file of a package. What cannot be read is reported.
    pub(crate) fn load_source(&mut self, source: &Source) -> Option<FileId> {
        match source.text() {
            Ok(Text::Disk(path)) => self.load_file(&path),
            Ok(Text::Embedded(text)) => self.add_source(source.shown(), text),
            Err(error) => {
                self.diagnostics.push(FileError::from(error).into_diagnostic(&source.shown()));
                None
            }
        }
    }

    fn load_file(&mut self, path: &Path) -> Option<FileId> {
        let name = path.display().to_string();
        let text = File::open(path).map_err(FileError::from).and_then(read_at_most).and_then(decode);
        match text {
            Ok(text) => self.add_source(name, text),
            Err(error) => {
                self.diagnostics.push(error.into_diagnostic(&name));
                None
            }
        }
    }

    /// Adds a text, under a name for diagnostics.
    pub(crate) fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> Option<FileId> {
        let name = name.into();
        let added = self.sources.add(name.as_str(), text);
        added
            .map_err(|error| self.diagnostics.push(FileError::AllTooLarge(error).into_diagnostic(&name)))
            .ok()
    }

    /// The edition of the program, once a pipeline has started.
    pub(crate) fn edition(&self) -> Option<Edition> {
        self.packages.last().and_then(|package| package.edition)
    }

    /// Whether a file belongs to the program itself, and not to a package that it uses.
    pub fn is_of_program(&self, file: FileId) -> bool {
        self.packages.last().is_some_and(|program| program.files.iter().any(|found| found.id == file))
    }

    /// Whether a file belongs to the prelude or to a library that is not the user's.
    pub fn is_foreign(&self, file: FileId) -> bool {
        self.package_of(file).is_some_and(|package| package.role == Role::Foreign)
    }

    /// Whether a source file is the user's; manifests and the like are not source files.
    pub(crate) fn is_own(&self, file: FileId) -> bool {
        self.package_of(file).is_some_and(|package| package.role != Role::Foreign)
    }

    fn package_of(&self, file: FileId) -> Option<&LoadedPackage> {
        self.packages.iter().find(|package| package.files.iter().any(|found| found.id == file))
    }

    /// What a page about these files is called: as the target of a package, or as the files.
    pub(crate) fn title_of(&self, files: &[FileId]) -> String {
        let names: Vec<&str> = files.iter().map(|&id| self.sources.file(id).name.as_str()).collect();
        self.target_name().map_or_else(|| names.join(", "), str::to_owned)
    }

    /// The files that were read from disk, manifests too.
    pub(crate) fn files_on_disk(&self) -> Vec<String> {
        let names = self.sources.files().map(|(_, file)| &file.name);
        names.filter(|name| Path::new(name).is_file()).cloned().collect()
    }

    /// The source text of the prelude and the libraries.
    pub fn library_text(&self) -> Vec<Span> {
        let files = self.sources.files().filter(|&(id, _)| self.is_foreign(id));
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
