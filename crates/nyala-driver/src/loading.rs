//! The files of a session's packages: those of the program, of what it depends on, and a prelude for each edition among
//! them.
//!
//! A program is a set of loose files, or a target of a package on disk. Libraries are found by `// uses:` and by the
//! command line in the first case, by manifests in the second; see [`packages`](crate::packages).

use std::path::PathBuf;

use nyala_package::lock::Lock;
use nyala_package::resolve::{LibraryPath, own_name};
use nyala_package::targets::ProgramKind;
use nyala_package::{Folder, Package, PackageIdx, Resolver, Source, TUNED, Text};
use nyala_sema::package::{Dependency, Role};
use nyala_span::{Diagnostic, Name, SourceFile, Span};

use crate::edition::{Edition, Prelude};
use crate::errors::EditionError;
use crate::modules::{ModuleFile, Read};
use crate::packages::Chosen;
use crate::prelude::PreludeFile;
use crate::session::Session;
use crate::uses::{self, Use};

/// A package of a session, ready to be parsed and checked.
#[derive(Clone, Debug)]
pub(crate) struct LoadedPackage {
    pub name: Option<Name>,
    pub files: Vec<ModuleFile>,
    pub edition: Option<Edition>,
    /// The number of its prelude.
    pub prelude: Option<usize>,
    /// What it depends on; numbers of packages before this one.
    pub dependencies: Vec<Dependency>,
    pub exports: Option<Vec<(Name, Span)>>,
    pub role: Role,
    pub warn_shadowing: bool,
    /// The file with tuned values, which need not be there.
    pub tuned: Option<PathBuf>,
    /// If it is a prelude: the items of each file.
    pub prelude_files: Vec<&'static PreludeFile>,
}

impl LoadedPackage {
    pub fn is_prelude(&self) -> bool {
        !self.prelude_files.is_empty()
    }
}

impl Session {
    /// Finds and reads all files, unless that was done. Gives nothing if something is wrong.
    pub(crate) fn load_packages(&mut self) -> Option<&[LoadedPackage]> {
        if self.packages.is_empty() {
            let packages = match self.chosen.clone() {
                Some(chosen) => self.load_chosen(&chosen),
                None => self.load_loose(),
            };
            self.packages = self.with_preludes(packages?);
        }
        (!self.has_errors()).then_some(&self.packages)
    }

    /// The packages of a target: the program last.
    fn load_chosen(&mut self, Chosen { graph, root, program }: &Chosen) -> Option<Vec<LoadedPackage>> {
        let outside = program.as_ref().filter(|program| program.kind != ProgramKind::Inside);
        let inside = program.as_ref().filter(|program| program.kind == ProgramKind::Inside);
        let outside = match self.example {
            Some(id) => {
                let files = vec![Read { id, source: None, modules: None }];
                Some(self.load_user(&graph[*root], *root, files, Some(Span::NONE)))
            }
            None => outside.map(|program| {
                let files = self.read_all([program.main.clone()]);
                self.warn_of_uses_in_package(&files);
                self.load_user(&graph[*root], *root, files, None)
            }),
        };
        let mut packages: Vec<Option<LoadedPackage>> = vec![None; graph.len()];
        // The user's files first, so that what is reported about them comes first.
        for (index, package) in graph.iter().enumerate().rev() {
            let main = inside.filter(|_| index == *root).map(|program| program.main.clone());
            let loaded = self.load_graph_package(package, index == *root, main);
            packages[index] = Some(loaded);
        }
        let mut packages: Vec<LoadedPackage> = packages.into_iter().flatten().collect();
        packages.extend(outside);
        Some(packages)
    }

    fn load_graph_package(
        &mut self,
        package: &Package,
        is_root: bool,
        main: Option<Source>,
    ) -> LoadedPackage {
        let has_main = main.is_some();
        let sources = package.targets.library.iter().cloned().chain(main);
        let files = self.read_all(sources);
        let is_shared = package.targets.is_shared() || !has_main;
        let role = match is_root {
            false => Role::Foreign,
            true if is_shared => Role::Library,
            true => Role::Program,
        };
        if is_root {
            self.warn_of_uses_in_package(&files);
        }
        let manifest = package.manifest.as_ref();
        let written = manifest.and_then(|manifest| manifest.edition.as_ref());
        let written = written.map(|edition| (edition.value.as_str(), edition.span));
        let edition = self.edition_of(&files, written, is_root);
        let exports = manifest.and_then(|manifest| manifest.exports.as_ref());
        let exports =
            exports.map(|names| names.iter().map(|name| (Name::new(&name.value), name.span)).collect());
        LoadedPackage {
            name: Some(Name::new(&package.name)),
            files: self.module_files(files),
            edition,
            prelude: None,
            dependencies: dependencies(package),
            exports,
            role,
            warn_shadowing: is_root,
            prelude_files: vec![],
            tuned: tuned_file(package),
        }
    }

    /// A program outside of a package's module, which uses the package like any other. With `glob` it knows all visible
    /// names of the package without a path.
    fn load_user(
        &mut self,
        package: &Package,
        root: PackageIdx,
        files: Vec<Read>,
        glob: Option<Span>,
    ) -> LoadedPackage {
        let mut dependencies = dependencies(package);
        if !package.targets.library.is_empty() || glob.is_some() {
            dependencies.push(Dependency { name: Name::new(&package.name), package: root, glob });
        }
        let written = package.manifest.as_ref().and_then(|manifest| manifest.edition.as_ref());
        let edition = self.edition_of(&files, written.map(|it| (it.value.as_str(), it.span)), true);
        LoadedPackage {
            name: None,
            files: self.module_files(files),
            edition,
            prelude: None,
            dependencies,
            exports: None,
            role: Role::Program,
            warn_shadowing: true,
            prelude_files: vec![],
            tuned: tuned_file(package),
        }
    }

    /// A program of loose files and the libraries that it names.
    fn load_loose(&mut self) -> Option<Vec<LoadedPackage>> {
        let files = self.files.clone();
        let tuned = files.last().and_then(|file| match file.source.as_ref()?.text().ok()? {
            Text::Disk(path) => Some(path.with_extension(LOOSE_TUNED)),
            Text::Embedded(_) => None,
        });
        let edition = self.edition_of(&files, None, true);
        let libraries = self.library_path();
        self.warn_of_misplaced_uses(&files, &libraries);
        let wanted = self.uses_of(&files);
        let mut resolver =
            Resolver::new(&mut self.sources, &mut self.diagnostics, &libraries, Lock::default());
        let mut dependencies: Vec<(PackageIdx, Option<Span>)> = vec![];
        for (folder, it) in &wanted {
            let found = match it.is_path() {
                true => resolver.library_at(&Folder::Disk(folder.join(&it.library)), it.span),
                false => resolver.library(&it.library, it.span),
            };
            dependencies.extend(found.map(|package| (package, Some(it.span))));
        }
        for folder in libraries.folders.iter().filter(|folder| own_name(folder).is_some()) {
            let found = resolver.library_at(&Folder::Disk(folder.clone()), Span::NONE);
            dependencies.extend(found.map(|package| (package, None)));
        }
        let graph = resolver.into_graph();
        let mut seen = vec![];
        dependencies.retain(|&(package, _)| {
            !seen.contains(&package) && {
                seen.push(package);
                true
            }
        });
        let program = LoadedPackage {
            name: None,
            files: self.module_files(files),
            edition,
            prelude: None,
            dependencies: dependencies
                .into_iter()
                .map(|(package, glob)| Dependency { name: Name::new(&graph[package].name), package, glob })
                .collect(),
            exports: None,
            role: Role::Program,
            warn_shadowing: edition == Some(Edition::Default),
            prelude_files: vec![],
            tuned,
        };
        let mut packages: Vec<LoadedPackage> = vec![];
        for package in &graph {
            packages.push(self.load_graph_package(package, false, None));
        }
        packages.push(program);
        Some(packages)
    }

    /// Puts a prelude for each edition in front of the packages.
    fn with_preludes(&mut self, mut packages: Vec<LoadedPackage>) -> Vec<LoadedPackage> {
        let mut editions: Vec<Edition> = packages.iter().filter_map(|package| package.edition).collect();
        editions.sort();
        editions.dedup();
        for package in &mut packages {
            package.prelude = editions.iter().position(|&edition| Some(edition) == package.edition);
            package.dependencies.iter_mut().for_each(|dependency| dependency.package += editions.len());
        }
        let mut all: Vec<LoadedPackage> =
            editions.iter().map(|&edition| self.load_prelude(edition)).collect();
        all.append(&mut packages);
        all
    }

    fn load_prelude(&mut self, edition: Edition) -> LoadedPackage {
        let (mut files, mut prelude_files) = (vec![], vec![]);
        for (name, file) in edition.files() {
            if let Some(id) = self.add_source(name, file.text) {
                files.push(ModuleFile { id, module: None });
                prelude_files.push(file);
            }
        }
        LoadedPackage {
            name: None,
            files,
            edition: None,
            prelude: None,
            dependencies: vec![],
            exports: None,
            role: Role::Foreign,
            warn_shadowing: false,
            prelude_files,
            tuned: None,
        }
    }

    /// The edition of a package: what its manifest says, or its files; for the program, what the user chose.
    fn edition_of(
        &mut self,
        files: &[Read],
        written: Option<(&str, Span)>,
        is_program: bool,
    ) -> Option<Edition> {
        let prelude = if is_program { self.options.prelude } else { Prelude::AsWritten };
        match prelude {
            Prelude::Absent | Prelude::RulesOnly(_) => return None,
            Prelude::Edition(edition) => return Some(edition),
            Prelude::AsWritten => {}
        }
        let sources = files.iter().map(|file| self.sources.file(file.id));
        let asked = Edition::asked_for(sources).and_then(|asked| match (written, asked) {
            (None, asked) => Ok(asked.map(|(edition, _)| edition)),
            (Some((name, span)), asked) => {
                let edition = Edition::from_name(name);
                let edition = edition.ok_or_else(|| EditionError::Unknown { span, name: name.to_owned() })?;
                match asked {
                    Some((other, place)) if other != edition => {
                        Err(EditionError::Several { span: place, other: span })
                    }
                    _ => Ok(Some(edition)),
                }
            }
        });
        match asked {
            Ok(edition) => Some(edition.unwrap_or_default()),
            Err(error) => {
                self.diagnostics.push(error.into_diagnostic());
                None
            }
        }
    }

    // ---- Files --------------------------------------------------------------------------

    fn read_all(&mut self, sources: impl IntoIterator<Item = Source>) -> Vec<Read> {
        let mut files = vec![];
        for source in sources {
            let id = self.load_source(&source);
            let modules = Some(source.folder.clone());
            files.extend(id.map(|id| Read { id, source: Some(source), modules }));
        }
        files
    }

    /// The libraries that loose files ask for, with the folders that paths start from.
    fn uses_of(&self, files: &[Read]) -> Vec<(PathBuf, Use)> {
        let mut found = vec![];
        for file in files {
            let folder = match &file.modules {
                Some(Folder::Disk(folder)) => folder.clone(),
                _ => PathBuf::new(),
            };
            let uses = uses::leading(self.sources.file(file.id));
            found.extend(uses.into_iter().map(|it| (folder.clone(), it)));
        }
        found
    }

    fn warn_of_misplaced_uses(&mut self, files: &[Read], libraries: &LibraryPath) {
        let is_library = |it: &Use| it.is_path() || libraries.find(&it.library).is_some();
        self.warn_of_uses(files, |file| uses::misplaced(file, is_library));
    }

    fn warn_of_uses_in_package(&mut self, files: &[Read]) {
        let libraries = self.library_path();
        let is_library = |it: &Use| it.is_path() || libraries.find(&it.library).is_some();
        self.warn_of_uses(files, |file| uses::in_package(file, is_library));
    }

    fn warn_of_uses(&mut self, files: &[Read], warnings: impl Fn(&SourceFile) -> Vec<Diagnostic>) {
        let found: Vec<Diagnostic> =
            files.iter().flat_map(|file| warnings(self.sources.file(file.id))).collect();
        self.diagnostics.extend(found);
    }
}

/// What the name of the file with tuned values of a loose file ends with.
const LOOSE_TUNED: &str = "tune";

fn tuned_file(package: &Package) -> Option<PathBuf> {
    match &package.folder {
        Folder::Disk(folder) => Some(folder.join(TUNED)),
        Folder::Embedded { .. } => None,
    }
}

fn dependencies(package: &Package) -> Vec<Dependency> {
    let dependency = |(name, package): &(String, PackageIdx)| Dependency {
        name: Name::new(name),
        package: *package,
        glob: None,
    };
    package.dependencies.iter().map(dependency).collect()
}
