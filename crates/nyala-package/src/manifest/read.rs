//! From TOML to a [`Manifest`].

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use nyala_span::similar::most_similar;
use nyala_span::{Diagnostic, SourceFile, Span};
use toml_edit::{Array, Document, Item, TableLike, Value};

use super::{
    At, Dependency, GitOrigin, Manifest, Origin, Requirement, Target, Version, is_package_name,
    is_program_name,
};
use crate::errors::ManifestError;
use crate::span_in;

/// Reads a manifest.
pub(super) fn manifest(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Option<Manifest> {
    let before = diagnostics.len();
    let mut reader = Reader { file, diagnostics };
    let manifest = reader.manifest();
    manifest.filter(|_| diagnostics.len() == before)
}

struct Reader<'a> {
    file: &'a SourceFile,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// A table and its place.
#[derive(Clone, Copy)]
struct Table<'t> {
    table: &'t dyn TableLike,
    span: Span,
}

impl Reader<'_> {
    fn manifest(&mut self) -> Option<Manifest> {
        let document = match Document::parse(self.file.text.as_str()) {
            Ok(document) => document,
            Err(error) => {
                let span = self.span(error.span());
                return self.error(ManifestError::Syntax { span, message: error.message().into() });
            }
        };
        let root = Table { table: document.as_table(), span: self.file.span().start() };
        self.only_keys(root, "a manifest", &["package", "dependencies", "target"]);
        let package = self.table_at(root, "package");
        if root.table.get("package").is_none() {
            self.error::<()>(ManifestError::MissingKey { span: root.span, key: "[package]" });
        }
        let dependencies = self.table_at(root, "dependencies");
        let dependencies = dependencies.map(|table| self.dependencies(table)).unwrap_or_default();
        let targets = self.targets(root);
        let package = package?;
        self.only_keys(package, "`[package]`", &["name", "version", "edition", "description", "exports"]);
        Some(Manifest {
            name: self.package_name(package)?,
            version: self.version(package)?,
            edition: self.string(package, "edition"),
            description: self.string(package, "description").map(|text| text.value),
            exports: self.strings(package, "exports"),
            dependencies,
            targets,
        })
    }

    fn package_name(&mut self, package: Table<'_>) -> Option<At<String>> {
        let name = self.required_string(package, "name")?;
        if !is_package_name(&name.value) {
            return self.error(ManifestError::BadName { span: name.span, name: name.value });
        }
        Some(name)
    }

    fn version(&mut self, package: Table<'_>) -> Option<Version> {
        let text = self.required_string(package, "version")?;
        let version = Version::parse(&text.value);
        version.or_else(|| self.bad_value(text.span, "a version: three numbers, such as \"0.1.0\""))
    }

    fn dependencies(&mut self, table: Table<'_>) -> Vec<Dependency> {
        let mut dependencies = vec![];
        for (name, item) in table.table.iter() {
            let span = self.key_span(table, name);
            if !is_package_name(name) {
                self.error::<()>(ManifestError::BadName { span, name: name.into() });
                continue;
            }
            let name = At { value: name.into(), span };
            if let Some((origin, requirement)) = self.origin(item, span) {
                dependencies.push(Dependency { name, origin, requirement });
            }
        }
        dependencies
    }

    fn origin(&mut self, item: &Item, key: Span) -> Option<(Origin, Requirement)> {
        let span = self.item_span(item, key);
        if let Some(text) = item.as_str() {
            let requirement = self.requirement(At { value: text.into(), span })?;
            return Some((Origin::Library, requirement));
        }
        let what = "a version, `{ path = \"..\" }` or `{ git = \"..\", rev = \"..\" }`";
        let Some(table) = item.as_table_like() else { return self.bad_value(span, what) };
        let table = Table { table, span };
        let n_errors = self.diagnostics.len();
        self.only_keys(table, "a dependency", &["path", "git", "rev", "folder", "version"]);
        let (path, git) = (self.string(table, "path"), self.string(table, "git"));
        let requirement = match self.string(table, "version") {
            Some(text) => self.requirement(text)?,
            None => Requirement::default(),
        };
        let origin = match (path, git) {
            (Some(path), None) => {
                let others = ["rev", "folder"].into_iter().find(|key| table.table.contains_key(key));
                match others {
                    Some(key) => {
                        let span = self.key_span(table, key);
                        self.error(ManifestError::OnlyForGit { span, key })
                    }
                    None => Some(Origin::Path(path)),
                }
            }
            (None, Some(url)) => self.git(table, url).map(Origin::Git),
            // A misspelt key was probably meant to be the missing one.
            (None, None) if self.diagnostics.len() > n_errors => None,
            _ => self.bad_value(span, what),
        };
        Some((origin?, requirement))
    }

    fn requirement(&mut self, text: At<String>) -> Option<Requirement> {
        let requirement = Requirement::parse(&text.value);
        requirement.or_else(|| self.bad_value(text.span, "\"*\", or the first numbers of a version"))
    }

    fn git(&mut self, table: Table<'_>, url: At<String>) -> Option<GitOrigin> {
        let rev = self.required_string(table, "rev")?;
        // Git would take them for options.
        for text in [&url, &rev] {
            if text.value.is_empty() || text.value.starts_with('-') || text.value.contains(char::is_control) {
                return self.bad_value(text.span, "the name of a repository, commit, tag or branch");
            }
        }
        let folder = self.string(table, "folder");
        let folder = match folder {
            Some(folder) => Some(self.path_inside(&folder)?),
            None => None,
        };
        Some(GitOrigin { url, rev, folder })
    }

    /// A path that does not leave the folder it starts from.
    fn path_inside(&mut self, path: &At<String>) -> Option<PathBuf> {
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let found = Path::new(&path.value);
        match found.components().all(is_inside) {
            true => Some(found.to_owned()),
            false => self.bad_value(path.span, "a path inside of the package"),
        }
    }

    fn targets(&mut self, root: Table<'_>) -> Vec<Target> {
        let Some(item) = root.table.get("target") else { return vec![] };
        let key = self.key_span(root, "target");
        let Some(tables) = item.as_array_of_tables() else {
            self.bad_value::<()>(key, "tables: `[[target]]`");
            return vec![];
        };
        let mut targets: Vec<Target> = vec![];
        for table in tables.iter() {
            let span = self.span(table.span()).or(key);
            let Some(target) = self.target(Table { table, span }) else { continue };
            let is_library = |target: &Target| matches!(target, Target::Library { .. });
            if is_library(&target) && targets.iter().any(is_library) {
                self.error::<()>(ManifestError::TwoLibraries { span });
            }
            targets.push(target);
        }
        targets
    }

    fn target(&mut self, table: Table<'_>) -> Option<Target> {
        let kind = self.required_string(table, "kind")?;
        match kind.value.as_str() {
            "library" => {
                self.only_keys(table, "a library", &["kind", "files"]);
                let files = self.strings(table, "files").unwrap_or_default();
                for file in &files {
                    self.path_inside(file)?;
                }
                Some(Target::Library { files })
            }
            "program" => {
                self.only_keys(table, "a program", &["kind", "name", "main"]);
                let (name, main) = (self.required_string(table, "name"), self.required_string(table, "main"));
                let (name, main) = (name?, main?);
                self.path_inside(&main)?;
                match is_program_name(&name.value) {
                    true => Some(Target::Program { name, main }),
                    false => self.error(ManifestError::BadName { span: name.span, name: name.value }),
                }
            }
            _ => self.bad_value(kind.span, "\"library\" or \"program\""),
        }
    }

    // ---- Values -------------------------------------------------------------------

    fn table_at<'t>(&mut self, table: Table<'t>, key: &str) -> Option<Table<'t>> {
        let item = table.table.get(key)?;
        let span = self.key_span(table, key);
        let found = item.as_table_like().map(|table| Table { table, span });
        found.or_else(|| self.bad_value(span, "a table"))
    }

    fn required_string(&mut self, table: Table<'_>, key: &'static str) -> Option<At<String>> {
        if table.table.get(key).is_none() {
            return self.error(ManifestError::MissingKey { span: table.span, key });
        }
        self.string(table, key)
    }

    fn string(&mut self, table: Table<'_>, key: &str) -> Option<At<String>> {
        let item = table.table.get(key)?;
        let span = self.item_span(item, table.span);
        match item.as_str() {
            Some(text) => Some(At { value: text.into(), span }),
            None => self.bad_value(span, "a string"),
        }
    }

    fn strings(&mut self, table: Table<'_>, key: &str) -> Option<Vec<At<String>>> {
        let item = table.table.get(key)?;
        let span = self.item_span(item, table.span);
        let Some(array) = item.as_array() else { return self.bad_value(span, "a list of strings") };
        Some(self.elements(array))
    }

    fn elements(&mut self, array: &Array) -> Vec<At<String>> {
        let mut texts = vec![];
        for value in array.iter() {
            let span = self.span(value.span());
            match value {
                Value::String(text) => texts.push(At { value: text.value().clone(), span }),
                _ => {
                    self.bad_value::<()>(span, "a string");
                }
            }
        }
        texts
    }

    /// Reports keys that mean nothing.
    fn only_keys(&mut self, table: Table<'_>, of: &'static str, known: &[&'static str]) {
        for (key, _) in table.table.iter() {
            if !known.contains(&key) {
                let span = self.key_span(table, key);
                let similar = most_similar(key, known.iter().copied());
                let error =
                    ManifestError::UnknownKey { span, key: key.into(), of, known: known.to_vec(), similar };
                self.error::<()>(error);
            }
        }
    }

    // ---- Places ---------------------------------------------------------------------

    fn span(&self, range: Option<Range<usize>>) -> Span {
        range.map_or(Span::NONE, |range| span_in(self.file, range))
    }

    fn key_span(&self, table: Table<'_>, key: &str) -> Span {
        self.span(table.table.key(key).and_then(toml_edit::Key::span)).or(table.span)
    }

    fn item_span(&self, item: &Item, otherwise: Span) -> Span {
        self.span(item.span()).or(otherwise)
    }

    // ---- Errors -----------------------------------------------------------------------

    fn bad_value<T>(&mut self, span: Span, expected: &'static str) -> Option<T> {
        self.error(ManifestError::BadValue { span, expected })
    }

    fn error<T>(&mut self, error: ManifestError) -> Option<T> {
        self.diagnostics.push(error.into_diagnostic());
        None
    }
}
