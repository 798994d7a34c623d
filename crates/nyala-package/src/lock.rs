//! The lock file: which commits the revisions of git dependencies were when they were first used.
//!
//! A tag or a branch may move. With `nyala.lock` beside the manifest, a package is built from the same
//! commits everywhere, until its manifest asks for another revision or the file is deleted.

use std::fmt::Write as _;

use nyala_span::{Diagnostic, SourceFile};
use toml_edit::{Document, Table};

use crate::errors::PackageError;

/// The commits of git dependencies, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lock {
    entries: Vec<Entry>,
}

/// A revision and its commit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    git: String,
    rev: String,
    commit: String,
}

const HEAD: &str = "# Written by nyala: the commits of git dependencies. Keep it under version control.\n";

impl Lock {
    /// Reads a lock file; reports what is wrong with it.
    pub fn parse(file: &SourceFile, diagnostics: &mut Vec<Diagnostic>) -> Option<Lock> {
        let entries = entries(&file.text);
        entries
            .map(|entries| Lock { entries })
            .map_err(|reason| {
                let error = PackageError::Lock { span: file.span().start(), reason };
                diagnostics.push(error.into_diagnostic());
            })
            .ok()
    }

    /// The commit of a revision, if it is locked.
    pub fn commit(&self, git: &str, rev: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.git == git && entry.rev == rev);
        entry.map(|entry| entry.commit.as_str())
    }

    /// Locks a revision.
    pub fn insert(&mut self, git: &str, rev: &str, commit: &str) {
        let entry = Entry { git: git.into(), rev: rev.into(), commit: commit.into() };
        self.entries.retain(|old| (&old.git, &old.rev) != (&entry.git, &entry.rev));
        self.entries.push(entry);
        self.entries.sort();
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text of the lock file.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for Entry { git, rev, commit } in &self.entries {
            let value = |text: &str| toml_edit::Value::from(text).to_string();
            let (git, rev, commit) = (value(git), value(rev), value(commit));
            write!(text, "\n[[package]]\ngit = {git}\nrev = {rev}\ncommit = {commit}\n")
                .expect("strings take all text");
        }
        text
    }
}

fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let document = Document::parse(text).map_err(|error| error.message().trim_end().replace('\n', ", "))?;
    let Some(item) = document.as_table().get("package") else { return Ok(vec![]) };
    let tables = item.as_array_of_tables().ok_or("`package` is not a list of tables")?;
    tables.iter().map(entry).collect()
}

fn entry(table: &Table) -> Result<Entry, String> {
    let string = |key: &str| {
        let text = table.get(key).and_then(|item| item.as_str()).map(str::to_owned);
        text.ok_or_else(|| format!("an entry has no `{key}`"))
    };
    let entry = Entry { git: string("git")?, rev: string("rev")?, commit: string("commit")? };
    match is_commit(&entry.commit) {
        true => Ok(entry),
        false => Err(format!("`{}` is not a commit", nyala_span::without_controls(&entry.commit))),
    }
}

/// Whether this is the full name of a commit.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use nyala_span::SourceMap;

    use super::*;

    fn parse(text: &str) -> (Option<Lock>, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        let id = sources.add("nyala.lock", text).expect("a small text");
        let mut diagnostics = vec![];
        (Lock::parse(sources.file(id), &mut diagnostics), diagnostics)
    }

    #[test]
    fn a_lock_file_is_read_as_it_is_written() {
        let mut lock = Lock::default();
        lock.insert("https://example.org/b", "main", &"b".repeat(40));
        lock.insert("a \"quoted\" path", "v1", &"0".repeat(40));
        lock.insert("https://example.org/b", "main", &"c".repeat(40));
        let (read, diagnostics) = parse(&lock.text());
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(read.as_ref(), Some(&lock));
        assert_eq!(lock.commit("https://example.org/b", "main"), Some("c".repeat(40).as_str()));
        assert_eq!(lock.commit("https://example.org/b", "v1"), None);
    }

    #[test]
    fn a_broken_lock_file_is_reported() {
        for text in [
            "[[",
            "package = 1",
            "[[package]]\ngit = \"a\"",
            "[[package]]\ngit=\"a\"\nrev=\"b\"\ncommit=\"x\"",
        ] {
            let (lock, diagnostics) = parse(text);
            assert!(lock.is_none() && diagnostics[0].code.0 == "E0037", "{text}");
        }
        assert!(parse("").0.is_some_and(|lock| lock.is_empty()));
    }
}
