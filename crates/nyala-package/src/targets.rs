//! Which files make a package's library and its programs.
//!
//! By default all source files in `src` are the library, and form one module. `src/main.impala` is a program: it is
//! part of the same module. Each file in `examples` and `tests` is a program that uses the library from outside,
//! like another package. `[[target]]` tables name other files.
//!
//! A folder without a manifest is a library of all source files in it.

use std::fs;
use std::path::{Path, PathBuf};

use nyala_span::Diagnostic;

use crate::errors::PackageError;
use crate::folder::{Folder, Source, Text};
use crate::manifest::{At, Manifest, Target};

/// What is made from a package.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Targets {
    /// The files of the root module, without those of programs.
    pub library: Vec<Source>,
    /// Whether the package is meant to be used by others. Otherwise it is the sum of its programs.
    pub is_library: bool,
    /// The programs: that of the package first, then by name.
    pub programs: Vec<Program>,
}

/// A program of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// The file with `main`.
    pub main: Source,
    /// The path of that file in the package, without extension.
    pub path: String,
    /// How it uses the package.
    pub kind: ProgramKind,
}

/// How a program uses its package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramKind {
    /// It is part of the package's root module.
    Inside,
    /// It is a package of its own that depends on this one.
    Outside,
    /// The same, in the folder `examples`.
    Example,
    /// The same, in the folder `tests`.
    Test,
}

/// The folder of a package's source files.
const SRC: &str = "src";

/// The folders of programs that use the package from outside.
const EXAMPLES: &str = "examples";
const TESTS: &str = "tests";

impl Targets {
    /// The targets of a package.
    pub fn of(folder: &Folder, manifest: Option<&Manifest>, diagnostics: &mut Vec<Diagnostic>) -> Targets {
        match manifest {
            Some(manifest) => Targets::of_manifest(folder, manifest, diagnostics),
            None => Targets { library: plain_sources(folder), is_library: true, programs: vec![] },
        }
    }

    fn of_manifest(folder: &Folder, manifest: &Manifest, diagnostics: &mut Vec<Diagnostic>) -> Targets {
        let mut programs = vec![];
        let mut library = None;
        for target in &manifest.targets {
            match target {
                Target::Program { name, main } => {
                    programs.extend(named_program(folder, &name.value, main, diagnostics));
                }
                Target::Library { files } => library = Some(named_files(folder, files, diagnostics)),
            }
        }
        let src = folder.join(SRC);
        let main = src.source("main");
        programs.extend(
            main.and_then(|main| {
                new_program(&programs, &manifest.name.value, SRC, main, ProgramKind::Inside)
            }),
        );
        for (name, kind) in [(EXAMPLES, ProgramKind::Example), (TESTS, ProgramKind::Test)] {
            for main in folder.join(name).sources() {
                let stem = main.stem().to_owned();
                programs.extend(new_program(&programs, &stem, name, main, kind));
            }
        }
        let is_named = library.as_ref().is_some() || manifest.exports.is_some();
        let library = match library {
            Some(files) if !files.is_empty() => files,
            _ => src.sources(),
        };
        let is_main = |file: &Source| programs.iter().any(|program: &Program| program.main == *file);
        let library: Vec<Source> = library.into_iter().filter(|file| !is_main(file)).collect();
        let has_own_program = programs.iter().any(|program| program.kind == ProgramKind::Inside);
        let is_library = is_named || !has_own_program && !library.is_empty();
        Targets { library, is_library, programs }
    }

    /// The program of this name, or with this path; all that fit, if there are several.
    pub fn programs_named(&self, name: &str) -> Vec<&Program> {
        let by_path = self.programs.iter().find(|program| program.path == name);
        match by_path {
            Some(program) => vec![program],
            None => self.programs.iter().filter(|program| program.name == name).collect(),
        }
    }

    /// The programs to choose from if none is named: those that are neither examples nor tests.
    pub fn own_programs(&self) -> Vec<&Program> {
        let is_own = |program: &&Program| matches!(program.kind, ProgramKind::Inside | ProgramKind::Outside);
        self.programs.iter().filter(is_own).collect()
    }

    /// All source files of a package on disk: those in its usual folders, and those that targets name. Sorted.
    pub fn files_on_disk(&self, package: &Path) -> Vec<PathBuf> {
        let mut found = vec![];
        let mut open: Vec<PathBuf> = [SRC, EXAMPLES, TESTS].map(|name| package.join(name)).into();
        while let Some(folder) = open.pop() {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()));
            found.extend(Folder::Disk(folder).sources());
        }
        let mains = self.programs.iter().map(|program| &program.main);
        found.extend(self.library.iter().chain(mains).cloned());
        let mut paths: Vec<PathBuf> = found
            .iter()
            .filter_map(|source| match source.text() {
                Ok(Text::Disk(path)) => Some(path),
                _ => None,
            })
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Whether files of the library belong to several programs.
    pub fn is_shared(&self) -> bool {
        self.is_library || self.programs.len() > 1
    }
}

fn new_program(
    known: &[Program],
    name: &str,
    folder: &str,
    main: Source,
    kind: ProgramKind,
) -> Option<Program> {
    let path = format!("{folder}/{}", main.stem());
    let is_known = known.iter().any(|program| program.main == main);
    (!is_known).then(|| Program { name: name.into(), main, path, kind })
}

fn named_program(
    folder: &Folder,
    name: &str,
    main: &At<String>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let Some(source) = folder.file_at(&main.value) else {
        diagnostics.push(no_file(folder, main));
        return None;
    };
    let kind = match main.value.split_once('/') {
        Some((SRC, rest)) if !rest.contains('/') => ProgramKind::Inside,
        Some((EXAMPLES, _)) => ProgramKind::Example,
        Some((TESTS, _)) => ProgramKind::Test,
        _ => ProgramKind::Outside,
    };
    let path = main.value.trim_end_matches(&source.name).to_owned() + source.stem();
    Some(Program { name: name.into(), main: source, path, kind })
}

/// The files of a list: paths, and `folder/*.impala` for all of a folder.
fn named_files(folder: &Folder, files: &[At<String>], diagnostics: &mut Vec<Diagnostic>) -> Vec<Source> {
    let mut found: Vec<Source> = vec![];
    for file in files {
        let (inside, name) = file.value.rsplit_once('/').unwrap_or(("", &file.value));
        let matching: Vec<Source> = match name.strip_prefix('*') {
            Some(ending) => {
                let sources = folder.join(inside).sources().into_iter();
                sources.filter(|source| source.name.ends_with(ending)).collect()
            }
            None => folder.file_at(&file.value).into_iter().collect(),
        };
        if matching.is_empty() {
            diagnostics.push(no_file(folder, file));
        }
        found.extend(matching);
    }
    let mut seen: Vec<Source> = vec![];
    for file in found {
        if !seen.contains(&file) {
            seen.push(file);
        }
    }
    seen
}

fn no_file(folder: &Folder, path: &At<String>) -> Diagnostic {
    let shown = format!("{}/{}", folder.shown(), path.value);
    PackageError::NoFile { span: path.span, path: shown }.into_diagnostic()
}

fn plain_sources(folder: &Folder) -> Vec<Source> {
    let own = folder.sources();
    if own.is_empty() { folder.join(SRC).sources() } else { own }
}
