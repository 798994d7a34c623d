//! A target of a package as the program of a session: which packages it needs, and their lock file.
//!
//! The module `loading` reads their files.

use std::fs;
use std::path::{Path, PathBuf};

use nyala_doc::About;
use nyala_package::errors::PackageError;
use nyala_package::lock::Lock;
use nyala_package::manifest::Origin;
use nyala_package::resolve::{LibraryPath, read};
use nyala_package::targets::ProgramKind;
use nyala_package::{Folder, Graph, LOCK, Package, PackageIdx, Program, Resolver, Targets, Text};
use nyala_span::{Diagnostic, Span};

use crate::embedded;
use crate::errors::{NoSuchProgram, PROGRAM_OF_PACKAGE, choose_program};
use crate::session::Session;

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

/// A target of a package that is the program of a session.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// All packages that it needs.
    pub graph: Graph,
    /// Its package.
    pub root: PackageIdx,
    /// Which program; none for the library.
    pub program: Option<Program>,
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

    /// Makes a library the program: a dependency of the package in `folder`, or one of the library path.
    pub fn load_named_library(&mut self, folder: Option<&Path>, name: &str) {
        let resolved = match folder {
            Some(folder) => self.resolve_package(folder),
            None => Some((vec![], 0)),
        };
        let Some((mut graph, root)) = resolved else { return };
        let dependencies = graph.get(root).map_or(&[][..], |package| &package.dependencies);
        if let Some(&(_, library)) = dependencies.iter().find(|(known, _)| known == name) {
            // What a package depends on comes before it, so all that the library needs stays.
            graph.truncate(library + 1);
            return self.choose(graph, library, &TargetChoice::Library);
        }
        let libraries = self.library_path();
        let mut resolver =
            Resolver::new(&mut self.sources, &mut self.diagnostics, &libraries, Lock::default());
        let library = resolver.library(name, Span::NONE);
        let graph = resolver.into_graph();
        if let Some(library) = library {
            self.choose(graph, library, &TargetChoice::Library);
        }
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

    pub(crate) fn library_path(&self) -> LibraryPath {
        LibraryPath { folders: self.options.libraries.clone(), embedded: embedded::PACKAGES }
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
