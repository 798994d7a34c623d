//! From a package to all packages that it needs.
//!
//! A [`Resolver`] reads manifests and finds dependencies, depth first, so that each package comes after those it
//! depends on. A package is one folder: whoever depends on it by whatever path gets the same one.

use std::fs;
use std::path::{Path, PathBuf};

use nyala_span::similar::most_similar;
use nyala_span::{Diagnostic, SourceMap, Span};

use crate::MANIFEST;
use crate::errors::{ManifestError, PackageError};
use crate::folder::{EmbeddedPackage, Folder, Source, Text};
use crate::git::Cache;
use crate::lock::Lock;
use crate::manifest::{Dependency, GitOrigin, Manifest, Origin, Requirement, is_package_name};
use crate::targets::Targets;

/// The packages of a program, each behind those it depends on.
pub type Graph = Vec<Package>;

/// A package of a [`Graph`].
pub type PackageIdx = usize;

/// A package and what it depends on.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Where its files are.
    pub folder: Folder,
    /// What it says about itself; none for a folder without a manifest.
    pub manifest: Option<Manifest>,
    /// What is made from it.
    pub targets: Targets,
    /// The packages it depends on, by the names it has for them.
    pub dependencies: Vec<(String, PackageIdx)>,
}

/// Where libraries are found by name.
#[derive(Clone, Debug, Default)]
pub struct LibraryPath {
    /// Folders that are libraries, or hold libraries as folders. The first one with a name counts.
    pub folders: Vec<PathBuf>,
    /// What is built into the compiler; looked at last.
    pub embedded: &'static [EmbeddedPackage],
}

/// How deep dependencies may nest.
const MAX_DEPTH: usize = 256;

/// The largest manifest that is read, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;

/// Finds packages, and remembers those it has found.
pub struct Resolver<'a> {
    /// Manifests are added here, for their places.
    pub sources: &'a mut SourceMap,
    /// What is wrong.
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// Where libraries are found by name.
    pub libraries: &'a LibraryPath,
    /// The commits of git dependencies.
    pub lock: Lock,
    /// The revisions that were used.
    pub used: Lock,
    graph: Graph,
    seen: Vec<Seen>,
}

/// A folder that was looked at.
struct Seen {
    /// As it was first called.
    folder: Folder,
    identity: Folder,
    name: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its dependencies are being found.
    Open,
    Done(PackageIdx),
    Failed,
}

/// Who asks for a package.
#[derive(Clone, Copy)]
struct Asker<'f> {
    /// Where it asks.
    span: Span,
    /// The checkout that its paths must not leave.
    checkout: Option<&'f Path>,
}

impl<'a> Resolver<'a> {
    /// Knows no packages yet.
    pub fn new(
        sources: &'a mut SourceMap,
        diagnostics: &'a mut Vec<Diagnostic>,
        libraries: &'a LibraryPath,
        lock: Lock,
    ) -> Resolver<'a> {
        let used = Lock::default();
        Resolver { sources, diagnostics, libraries, lock, used, graph: vec![], seen: vec![] }
    }

    /// All packages that were found.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// The package in a folder with a manifest.
    pub fn package(&mut self, folder: &Folder) -> Option<PackageIdx> {
        let asker = Asker { span: Span::NONE, checkout: None };
        if folder.file(MANIFEST).is_none() {
            let what = format!("no package in `{}`", folder.shown());
            let notes = vec![format!("a package is a folder with `{MANIFEST}`; `nyala new NAME` makes one")];
            return self.error(PackageError::NotFound { span: asker.span, what, notes, similar: None });
        }
        self.at(folder, asker)
    }

    /// The library in a folder, with or without a manifest.
    pub fn library_at(&mut self, folder: &Folder, span: Span) -> Option<PackageIdx> {
        let package = self.at(folder, Asker { span, checkout: None })?;
        self.check_library(package, span)
    }

    /// The library of this name.
    pub fn library(&mut self, name: &str, span: Span) -> Option<PackageIdx> {
        let Some(folder) = self.libraries.find(name) else {
            let known = self.libraries.names();
            let similar = most_similar(name, known.iter().map(String::as_str)).map(str::to_owned);
            let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let list = format!("the libraries are {}", list.join(", "));
            let mut notes: Vec<String> = similar.is_none().then_some(list).into_iter().collect();
            notes.push(
                "`--library DIR` and the environment variable NYALA_PATH name folders with others".into(),
            );
            let what = format!("unknown library `{name}`");
            return self.error(PackageError::NotFound { span, what, notes, similar });
        };
        self.library_at(&folder, span)
    }

    /// A folder without a manifest has no version, and is accepted.
    fn check_version(&mut self, package: PackageIdx, requirement: &Requirement, span: Span) -> Option<()> {
        let Package { name, manifest, .. } = &self.graph[package];
        match manifest.as_ref().map(|manifest| manifest.version) {
            Some(version) if !requirement.accepts(version) => {
                let (name, found, wanted) = (name.clone(), version.to_string(), requirement.to_string());
                self.error(PackageError::OtherVersion { span, name, found, wanted })
            }
            _ => Some(()),
        }
    }

    fn at(&mut self, folder: &Folder, asker: Asker<'_>) -> Option<PackageIdx> {
        let identity = folder.identity();
        match self.seen.iter().find(|seen| seen.identity == identity).map(|seen| seen.state) {
            Some(State::Done(package)) => return Some(package),
            Some(State::Failed) => return None,
            Some(State::Open) => return self.cycle(&identity, asker.span),
            None => {}
        }
        let number = self.seen.len();
        self.seen.push(Seen {
            folder: folder.clone(),
            identity,
            name: folder.name().unwrap_or_default(),
            state: State::Open,
        });
        let found = self.new_package(folder, number, asker);
        self.seen[number].state = found.map_or(State::Failed, State::Done);
        found
    }

    fn new_package(&mut self, folder: &Folder, number: usize, asker: Asker<'_>) -> Option<PackageIdx> {
        let n_open = self.seen.iter().filter(|seen| seen.state == State::Open).count();
        if n_open > MAX_DEPTH {
            let what = format!("dependencies nest deeper than {MAX_DEPTH} packages");
            return self.error(PackageError::NotFound {
                span: asker.span,
                what,
                notes: vec![],
                similar: None,
            });
        }
        let manifest = match folder.file(MANIFEST) {
            Some(file) => Some(self.manifest(&file, asker.span)?),
            None => None,
        };
        let name = match &manifest {
            Some(manifest) => manifest.name.value.clone(),
            None => self.plain_name(folder, asker.span)?,
        };
        self.check_name(&name, number, folder, asker.span)?;
        self.seen[number].name.clone_from(&name);
        let mut dependencies = vec![];
        let mut is_complete = true;
        for dependency in manifest.iter().flat_map(|manifest| &manifest.dependencies) {
            let asker = Asker { span: dependency.name.span, checkout: asker.checkout };
            match self.dependency(folder, dependency, asker) {
                Some(package) => dependencies.push((dependency.name.value.clone(), package)),
                None => is_complete = false,
            }
        }
        let n_errors = self.diagnostics.len();
        let targets = Targets::of(folder, manifest.as_ref(), self.diagnostics);
        if !is_complete || self.diagnostics.len() > n_errors {
            return None;
        }
        self.graph.push(Package { name, folder: folder.clone(), manifest, targets, dependencies });
        Some(self.graph.len() - 1)
    }

    fn manifest(&mut self, file: &Source, asker: Span) -> Option<Manifest> {
        let text = match file.text().and_then(read) {
            Ok(text) => text,
            Err(error) => {
                let reason = error.to_string();
                return self.error(PackageError::Unreadable { span: asker, path: file.shown(), reason });
            }
        };
        let id = match self.sources.add(file.shown(), text) {
            Ok(id) => id,
            Err(error) => {
                let reason = error.to_string();
                return self.error(PackageError::Unreadable { span: asker, path: file.shown(), reason });
            }
        };
        Manifest::parse(self.sources.file(id), self.diagnostics)
    }

    /// The name of a folder without a manifest.
    fn plain_name(&mut self, folder: &Folder, span: Span) -> Option<String> {
        let targets = Targets::of(folder, None, self.diagnostics);
        if targets.library.is_empty() {
            let what = format!("no library in `{}`", folder.shown());
            let notes = vec![format!("a library is a folder with `{MANIFEST}`, or with source files")];
            return self.error(PackageError::NotFound { span, what, notes, similar: None });
        }
        let name = folder.name().unwrap_or_default();
        if !is_package_name(&name) {
            self.diagnostics.push(ManifestError::BadName { span, name }.into_diagnostic());
            return None;
        }
        Some(name)
    }

    fn check_name(&mut self, name: &str, number: usize, folder: &Folder, span: Span) -> Option<()> {
        let mut others = self.seen[..number].iter().filter(|seen| seen.state != State::Failed);
        let Some(other) = others.find(|seen| seen.name == name) else { return Some(()) };
        let folders = [other.folder.shown(), folder.shown()];
        self.error(PackageError::TwoPackages { span, name: name.into(), folders })
    }

    fn dependency(
        &mut self,
        folder: &Folder,
        dependency: &Dependency,
        asker: Asker<'_>,
    ) -> Option<PackageIdx> {
        let package = match &dependency.origin {
            Origin::Path(path) => {
                let target = folder.join(&path.value);
                let asker = Asker { span: path.span, ..asker };
                self.check_path(&target, asker)?;
                let package = self.at(&target, asker)?;
                self.check_library(package, asker.span)
            }
            Origin::Git(origin) => self.git(folder, origin),
            Origin::Library => self.library(&dependency.name.value, asker.span),
        }?;
        self.check_version(package, &dependency.requirement, asker.span)?;
        Some(package)
    }

    /// A path in a commit leads to the same commit: what is around its checkout differs between machines.
    fn check_path(&mut self, target: &Folder, asker: Asker<'_>) -> Option<()> {
        if !target.exists()
            || target.file(MANIFEST).is_none() && Targets::of(target, None, &mut vec![]).library.is_empty()
        {
            let what = format!("no package in `{}`", target.shown());
            let notes = vec![format!("a package is a folder with `{MANIFEST}`")];
            return self.error(PackageError::NotFound { span: asker.span, what, notes, similar: None });
        }
        let is_inside = match (asker.checkout, target.identity()) {
            (Some(checkout), Folder::Disk(target)) => target.starts_with(checkout),
            _ => true,
        };
        match is_inside {
            true => Some(()),
            false => {
                let what = format!("`{}` is outside of the git repository", target.shown());
                let notes = vec!["paths in a git dependency stay in its repository".into()];
                self.error(PackageError::NotFound { span: asker.span, what, notes, similar: None })
            }
        }
    }

    fn git(&mut self, folder: &Folder, origin: &GitOrigin) -> Option<PackageIdx> {
        let (url, rev, span) = (&origin.url.value, &origin.rev.value, origin.url.span);
        let base = match folder {
            Folder::Disk(path) => Some(path.as_path()),
            Folder::Embedded { .. } => None,
        };
        let cache = Cache::of_user().ok_or_else(|| "there is no folder for it: set NYALA_CACHE".to_owned());
        let checkout = cache.and_then(|cache| cache.checkout(url, rev, self.lock.commit(url, rev), base));
        let checkout = match checkout {
            Ok(checkout) => checkout,
            Err(reason) => return self.error(PackageError::Git { span, url: url.clone(), reason }),
        };
        self.lock.insert(url, rev, &checkout.commit);
        self.used.insert(url, rev, &checkout.commit);
        let root = fs::canonicalize(&checkout.folder).unwrap_or(checkout.folder);
        let inside = origin.folder.as_ref().map_or_else(|| root.clone(), |folder| root.join(folder));
        let asker = Asker { span, checkout: Some(&root) };
        let target = Folder::Disk(inside);
        self.check_path(&target, asker)?;
        let package = self.at(&target, asker)?;
        self.check_library(package, span)
    }

    /// A dependency must have something to offer.
    fn check_library(&mut self, package: PackageIdx, span: Span) -> Option<PackageIdx> {
        let Package { name, targets, .. } = &self.graph[package];
        if targets.library.is_empty() {
            let name = name.clone();
            return self.error(PackageError::NoLibrary { span, name });
        }
        Some(package)
    }

    fn cycle(&mut self, identity: &Folder, span: Span) -> Option<PackageIdx> {
        let open = self.seen.iter().filter(|seen| seen.state == State::Open);
        let mut names: Vec<String> = open
            .skip_while(|seen| seen.identity != *identity)
            .map(|seen| format!("`{}`", seen.name))
            .collect();
        names.extend(names.first().cloned());
        self.error(PackageError::Cycle { span, names })
    }

    fn error<T>(&mut self, error: PackageError) -> Option<T> {
        self.diagnostics.push(error.into_diagnostic());
        None
    }
}

impl LibraryPath {
    /// The folder of a library.
    pub fn find(&self, name: &str) -> Option<Folder> {
        if !is_package_name(name) {
            return None;
        }
        let on_disk = self.folders.iter().find_map(|folder| library_in(folder, name));
        let embedded = || self.embedded.iter().find(|package| package.name == name).map(Folder::embedded);
        on_disk.or_else(embedded)
    }

    /// The names of all libraries, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.embedded.iter().map(|package| package.name.to_owned()).collect();
        for folder in &self.folders {
            let inside = fs::read_dir(folder).into_iter().flatten().flatten();
            let inside = inside.filter_map(|entry| entry.file_name().into_string().ok());
            names.extend(inside.filter(|name| library_in(folder, name).is_some()));
            names.extend(own_name(folder));
        }
        names.sort();
        names.dedup();
        names
    }
}

/// The library that a folder of the library path is itself, if it is one.
pub fn own_name(folder: &Path) -> Option<String> {
    let own = Folder::Disk(folder.to_owned());
    match own.file(MANIFEST) {
        Some(file) => {
            let mut sources = SourceMap::default();
            let id = sources.add(file.shown(), file.text().and_then(read).ok()?).ok()?;
            Manifest::parse(sources.file(id), &mut vec![]).map(|manifest| manifest.name.value)
        }
        None if own.sources().is_empty() => None,
        None => own.name().filter(|name| is_package_name(name)),
    }
}

fn library_in(folder: &Path, name: &str) -> Option<Folder> {
    if own_name(folder).as_deref() == Some(name) {
        return Some(Folder::Disk(folder.to_owned()));
    }
    let inside = Folder::Disk(folder.join(name));
    let is_library = inside.file(MANIFEST).is_some() || !inside.sources().is_empty();
    is_library.then_some(inside)
}

/// Reads a manifest or a lock file.
pub fn read(text: Text) -> std::io::Result<String> {
    match text {
        Text::Disk(path) => {
            let too_large = fs::metadata(&path)?.len() > MAX_MANIFEST;
            if too_large { Err(std::io::Error::other("it is too large")) } else { fs::read_to_string(path) }
        }
        Text::Embedded(text) => Ok(text.to_owned()),
    }
}
