//! Folders of packages: on disk, or built into the compiler.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::EXTENSIONS;

/// A package that is built into the compiler.
#[derive(Debug, PartialEq, Eq)]
pub struct EmbeddedPackage {
    /// The name of its folder.
    pub name: &'static str,
    /// Its files: paths in the folder, separated by `/`, and their texts.
    pub files: &'static [(&'static str, &'static str)],
}

/// A folder of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// On disk.
    Disk(PathBuf),
    /// Built into the compiler.
    Embedded {
        /// The package.
        package: &'static EmbeddedPackage,
        /// The path in it: empty, or ends with `/`.
        path: String,
    },
}

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub folder: Folder,
    /// Its name in the folder.
    pub name: String,
}

/// Where the text of a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// In a file.
    Disk(PathBuf),
    /// In the compiler.
    Embedded(&'static str),
}

impl Folder {
    /// The root of a package that is built into the compiler.
    pub fn embedded(package: &'static EmbeddedPackage) -> Folder {
        Folder::Embedded { package, path: String::new() }
    }

    /// A folder inside of this one. The path is relative, separated by `/`.
    pub fn join(&self, path: &str) -> Folder {
        match self {
            Folder::Disk(folder) => Folder::Disk(normal(&folder.join(path))),
            Folder::Embedded { package, path: own } => {
                let path = path.trim_matches('/');
                let own = if path.is_empty() { own.clone() } else { format!("{own}{path}/") };
                Folder::Embedded { package, path: own }
            }
        }
    }

    /// A file in this folder, if it is there.
    pub fn file(&self, name: &str) -> Option<Source> {
        let is_there = match self {
            Folder::Disk(folder) => folder.join(name).is_file(),
            Folder::Embedded { package, path } => {
                package.files.iter().any(|(file, _)| file.strip_prefix(path.as_str()) == Some(name))
            }
        };
        is_there.then(|| Source { folder: self.clone(), name: name.into() })
    }

    /// A file at a path in this folder, if it is there.
    pub fn file_at(&self, path: &str) -> Option<Source> {
        match path.rsplit_once('/') {
            Some((folder, name)) => self.join(folder).file(name),
            None => self.file(path),
        }
    }

    /// The source file with this stem, if it is there.
    pub fn source(&self, stem: &str) -> Option<Source> {
        EXTENSIONS.iter().find_map(|extension| self.file(&format!("{stem}.{extension}")))
    }

    /// All source files directly in this folder, sorted; none if there is no such folder.
    pub fn sources(&self) -> Vec<Source> {
        let mut names: Vec<String> = match self {
            Folder::Disk(folder) => {
                let entries = fs::read_dir(non_empty(folder)).into_iter().flatten().flatten();
                let files = entries.filter(|entry| entry.path().is_file());
                files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Folder::Embedded { package, path } => {
                let inside = package.files.iter().filter_map(|(file, _)| file.strip_prefix(path.as_str()));
                inside.filter(|name| !name.contains('/')).map(str::to_owned).collect()
            }
        };
        names.retain(|name| EXTENSIONS.iter().any(|extension| stem_before(name, extension).is_some()));
        names.sort();
        names.into_iter().map(|name| Source { folder: self.clone(), name }).collect()
    }

    /// Whether it is there.
    pub fn exists(&self) -> bool {
        match self {
            Folder::Disk(folder) => non_empty(folder).is_dir(),
            Folder::Embedded { package, path } => {
                package.files.iter().any(|(file, _)| file.starts_with(path.as_str()))
            }
        }
    }

    /// What messages call it.
    pub fn shown(&self) -> String {
        match self {
            Folder::Disk(folder) => non_empty(folder).display().to_string(),
            Folder::Embedded { package, path } => {
                format!("<{}>/{}", package.name, path).trim_end_matches('/').into()
            }
        }
    }

    /// What it is called itself: the last part of its path.
    pub fn name(&self) -> Option<String> {
        match self {
            Folder::Disk(folder) => {
                let name = folder.file_name().map(ToOwned::to_owned);
                let name = name
                    .or_else(|| fs::canonicalize(non_empty(folder)).ok()?.file_name().map(ToOwned::to_owned));
                name.and_then(|name| name.into_string().ok())
            }
            Folder::Embedded { package, .. } => Some(package.name.into()),
        }
    }

    /// The same folder under the one path that all ways to it have in common.
    pub(crate) fn identity(&self) -> Folder {
        match self {
            Folder::Disk(folder) => {
                Folder::Disk(fs::canonicalize(non_empty(folder)).unwrap_or_else(|_| folder.clone()))
            }
            embedded => embedded.clone(),
        }
    }
}

impl Source {
    /// The name without its extension.
    pub fn stem(&self) -> &str {
        EXTENSIONS.iter().find_map(|extension| stem_before(&self.name, extension)).unwrap_or(&self.name)
    }

    /// Where its text is; an error if a file of the compiler is not there.
    pub fn text(&self) -> io::Result<Text> {
        match &self.folder {
            Folder::Disk(folder) => Ok(Text::Disk(folder.join(&self.name))),
            Folder::Embedded { package, path } => {
                let own = |file: &str| file.strip_prefix(path.as_str()) == Some(self.name.as_str());
                let found = package.files.iter().find(|(file, _)| own(file));
                found.map(|&(_, text)| Text::Embedded(text)).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// What messages call it.
    pub fn shown(&self) -> String {
        match &self.folder {
            Folder::Disk(folder) => folder.join(&self.name).display().to_string(),
            folder => format!("{}/{}", folder.shown(), self.name),
        }
    }
}

fn stem_before<'a>(name: &'a str, extension: &str) -> Option<&'a str> {
    name.strip_suffix(extension)?.strip_suffix('.').filter(|stem| !stem.is_empty())
}

/// The path for the system, which does not take the empty one for the current folder.
fn non_empty(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The path without `.` and without `..` behind a name, so that messages are short.
pub fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = vec![];
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static PACKAGE: EmbeddedPackage = EmbeddedPackage {
        name: "p",
        files: &[
            ("nyala.toml", "[package]"),
            ("src/b.impala", "b"),
            ("src/a.impala", "a"),
            ("src/m/c.art", "c"),
        ],
    };

    #[test]
    fn embedded_folders_list_their_own_sources() {
        let root = Folder::embedded(&PACKAGE);
        let names = |folder: &Folder| folder.sources().into_iter().map(|it| it.shown()).collect::<Vec<_>>();
        assert_eq!(names(&root), [""; 0]);
        assert_eq!(names(&root.join("src")), ["<p>/src/a.impala", "<p>/src/b.impala"]);
        let c = root.join("src").join("m").source("c").expect("it is there");
        assert_eq!((c.stem(), c.text().ok()), ("c", Some(Text::Embedded("c"))));
        assert!(!root.join("none").exists() && root.join("src/m").exists());
    }

    #[test]
    fn normal_paths_are_short() {
        assert_eq!(normal(Path::new("a/./b/../c")), Path::new("a/c"));
        assert_eq!(normal(Path::new("../../a")), Path::new("../../a"));
    }
}
