//! The packages of a session: the program, what it depends on, and a prelude for each edition among them.
//!
//! A program is a set of loose files, or a target of a package on disk. Libraries are found by `// uses:` and by the
//! command line in the first case, by manifests in the second.

use std::fs;
use std::path::{Path, PathBuf};

use nyala_doc::About;
use nyala_package::errors::PackageError;
use nyala_package::lock::Lock;
use nyala_package::manifest::Origin;
use nyala_package::resolve::{LibraryPath, own_name, read};
use nyala_package::targets::ProgramKind;
use nyala_package::{
    Folder, Graph, LOCK, Package, PackageIdx, Program, Resolver, Source, TUNED, Targets, Text,
};
use nyala_sema::package::{Dependency, Role};
use nyala_span::{Diagnostic, Name, SourceFile, Span};

use crate::edition::{Edition, Prelude};
use crate::embedded;
use crate::errors::{EditionError, NoSuchProgram, PROGRAM_OF_PACKAGE, choose_program};
use crate::modules::{ModuleFile, Read};
use crate::prelude::PreludeFile;
use crate::session::Session;
use crate::uses::{self, Use};

/// Which part of a package is the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TargetChoice {
    /// Its only program; the library if it has none.
    #[default]
    Default,
    /// The library.
    Library,
    /// The program of this name or path.
    Program(String),
}

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

/// A target of a package that is the program of a session.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    graph: Graph,
    root: PackageIdx,
    program: Option<Program>,
}

impl Chosen {
    fn name(&self) -> &str {
        self.program.as_ref().map_or(&self.graph[self.root].name, |program| &program.name)
    }
}

impl Session {
    /// Makes a target of the package in `folder` the program. What is wrong is reported.
    pub fn load_package(&mut self, folder: &Path, target: &TargetChoice) {
        if let Some((graph, root)) = self.resolve_package(folder) {
            self.choose(graph, root, target);
        }
    }

    fn choose(&mut self, graph: Graph, root: PackageIdx, target: &TargetChoice) {
        match chosen_program(&graph[root], target) {
            Ok(program) => self.chosen = Some(Chosen { graph, root, program }),
            Err(error) => self.diagnostics.push(error.into_diagnostic()),
        }
    }

    /// Makes the library of the package in `folder` the program, or, if it has none, its only program.
    pub fn load_library(&mut self, folder: &Path) {
        let Some((graph, root)) = self.resolve_package(folder) else { return };
        let target = match graph[root].targets.library.is_empty() {
            true => TargetChoice::Default,
            false => TargetChoice::Library,
        };
        self.choose(graph, root, &target);
    }

    /// What the package says about itself, if the program is part of one.
    pub(crate) fn about_package(&self) -> Option<About> {
        let Chosen { graph, root, .. } = self.chosen.as_ref()?;
        let package = &graph[*root];
        let manifest = package.manifest.as_ref()?;
        let mut facts = vec![format!("Version {}", manifest.version)];
        facts.extend(manifest.edition.iter().map(|edition| format!("edition {}", edition.value)));
        if !package.dependencies.is_empty() {
            let names: Vec<&str> = package.dependencies.iter().map(|(name, _)| name.as_str()).collect();
            facts.push(format!("uses {}", names.join(", ")));
        }
        let exports = manifest.exports.as_ref();
        Some(About {
            description: manifest.description.clone().unwrap_or_default(),
            facts,
            exports: exports.map(|names| names.iter().map(|name| name.value.clone()).collect()),
        })
    }

    /// What the target of the package is called, if the program is one.
    pub fn target_name(&self) -> Option<&str> {
        self.chosen.as_ref().map(Chosen::name)
    }

    /// Where files that are made from the target of a package go, without their extensions.
    pub fn output_name(&self) -> Option<PathBuf> {
        let chosen = self.chosen.as_ref()?;
        match &chosen.graph[chosen.root].folder {
            Folder::Disk(folder) => Some(folder.join("build").join(chosen.name())),
            Folder::Embedded { .. } => None,
        }
    }

    /// Adds the programs of the package to a report that the program has no `main`, if the program is a library.
    pub(crate) fn with_programs(&self, report: Diagnostic) -> Diagnostic {
        let Some(Chosen { graph, root, program: None }) = &self.chosen else { return report };
        let Package { name, targets, .. } = &graph[*root];
        let report = report.with_note(format!("this is the library of the package `{name}`"));
        match targets.programs.is_empty() {
            true => report.with_note(PROGRAM_OF_PACKAGE),
            false => report.with_note(choose_program(&targets.programs)),
        }
    }

    /// Whether the program is a part of the package of this name without all that the package consists of.
    pub(crate) fn is_part_of_package(&self, name: &str) -> bool {
        self.chosen.as_ref().is_some_and(|Chosen { graph, root, program }| {
            let own = graph[*root].targets.own_programs();
            let is_inside = program.as_ref().is_some_and(|program| program.kind == ProgramKind::Inside);
            graph[*root].name == name && own.len() > usize::from(is_inside)
        })
    }

    /// The programs in the folder `tests` of the package, each as a session.
    pub fn test_programs(&self) -> Vec<Session> {
        let Some(Chosen { graph, root, .. }) = &self.chosen else { return vec![] };
        let programs = graph[*root].targets.programs.iter();
        let tests = programs.filter(|program| program.kind == ProgramKind::Test);
        let session = |program: &Program| {
            let chosen = Chosen { graph: graph.clone(), root: *root, program: Some(program.clone()) };
            Session { chosen: Some(chosen), ..self.clone() }
        };
        tests.map(session).collect()
    }

    /// What is made from the package in `folder`, and all source files that it consists of.
    pub fn package_targets(&mut self, folder: &Path) -> Option<Targets> {
        let (graph, root) = self.resolve_package(folder)?;
        graph.into_iter().nth(root).map(|package| package.targets)
    }

    /// The git dependencies of the package in `folder`: their names and repositories.
    pub fn git_dependencies(&mut self, folder: &Path) -> Option<Vec<(String, String)>> {
        let (graph, root) = self.resolve_package(folder)?;
        let dependencies = graph[root].manifest.iter().flat_map(|manifest| &manifest.dependencies);
        let of_git = dependencies.filter_map(|dependency| match &dependency.origin {
            Origin::Git(git) => Some((dependency.name.value.clone(), git.url.value.clone())),
            _ => None,
        });
        Some(of_git.collect())
    }

    /// Looks up what the revisions of git dependencies are now, those of the package in `folder` and those of its
    /// dependencies: all, or only those of some repositories. Gives the lock files before and after.
    pub fn update_lock(&mut self, folder: &Path, only: Option<&[String]>) -> Option<(Lock, Lock)> {
        let before = self.read_lock(&folder.join(LOCK))?;
        let mut kept = before.clone();
        match only {
            Some(repositories) => repositories.iter().for_each(|git| kept.remove(git)),
            None => kept = Lock::default(),
        }
        self.resolve_with(folder, &kept)?;
        let after = self.read_lock(&folder.join(LOCK))?;
        Some((before, after))
    }

    fn resolve_package(&mut self, folder: &Path) -> Option<(Graph, PackageIdx)> {
        let lock = self.read_lock(&folder.join(LOCK))?;
        self.resolve_with(folder, &lock)
    }

    /// All packages that the package in `folder` needs. The lock file is written if the commits differ from `lock`.
    fn resolve_with(&mut self, folder: &Path, lock: &Lock) -> Option<(Graph, PackageIdx)> {
        let libraries = self.library_path();
        let mut resolver = Resolver::new(&mut self.sources, &mut self.diagnostics, &libraries, lock.clone());
        let root = resolver.package(&Folder::Disk(folder.to_owned()));
        let used = resolver.used.clone();
        let graph = resolver.into_graph();
        let root = root?;
        if !used.is_empty() && used != *lock {
            self.write_lock(&folder.join(LOCK), &used);
        }
        Some((graph, root))
    }

    fn read_lock(&mut self, path: &Path) -> Option<Lock> {
        if !path.exists() {
            return Some(Lock::default());
        }
        let shown = path.display().to_string();
        let text = read(Text::Disk(path.to_owned())).map_err(|error| error.to_string());
        let added =
            text.and_then(|text| self.sources.add(shown.as_str(), text).map_err(|error| error.to_string()));
        match added {
            Ok(id) => Lock::parse(self.sources.file(id), &mut self.diagnostics),
            Err(reason) => {
                let error = PackageError::Unreadable { span: Span::NONE, path: shown, reason };
                self.diagnostics.push(error.into_diagnostic());
                None
            }
        }
    }

    fn write_lock(&mut self, path: &Path, lock: &Lock) {
        if let Err(error) = fs::write(path, lock.text()) {
            let (path, reason) = (path.display().to_string(), error.to_string());
            self.diagnostics.push(PackageError::Unwritable { path, reason }.into_diagnostic());
        }
    }

    fn library_path(&self) -> LibraryPath {
        LibraryPath { folders: self.options.libraries.clone(), embedded: embedded::PACKAGES }
    }

    // ---- Loading ----------------------------------------------------------------------

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

/// The program that is chosen; none for the library.
fn chosen_program(package: &Package, target: &TargetChoice) -> Result<Option<Program>, NoSuchProgram> {
    let named = match target {
        TargetChoice::Library => return Ok(None),
        TargetChoice::Program(name) => package.targets.programs_named(name),
        TargetChoice::Default => {
            let own = package.targets.own_programs();
            let of_package = own.iter().position(|program| program.name == package.name);
            of_package.map_or(own.clone(), |index| vec![own[index]])
        }
    };
    match (&*named, target) {
        ([program], _) => Ok(Some((*program).clone())),
        ([], TargetChoice::Default) if !package.targets.library.is_empty() => Ok(None),
        _ => Err(NoSuchProgram {
            package: package.name.clone(),
            program: match target {
                TargetChoice::Program(name) => Some(name.clone()),
                _ => None,
            },
            programs: package.targets.programs.clone(),
        }),
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
