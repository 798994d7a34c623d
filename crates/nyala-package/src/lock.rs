//! The lock file: which commits the revisions of git dependencies were when they were first used.
//!
//! A tag or a branch may move. With `nyala.lock` beside the manifest, a package is built from the same
//! commits everywhere, until its manifest asks for another revision or the file is deleted.

use std::fmt::Write as _;
use std::ops::Range;

use nyala_span::{Diagnostic, SourceFile};
use toml_edit::{Document, Table};

use crate::errors::PackageError;
use crate::span_in;

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
        match entries(&file.text) {
            Ok(entries) => Some(Lock { entries }),
            Err(Malformed { at, reason }) => {
                let span = at.map_or(file.span().start(), |range| span_in(file, range));
                diagnostics.push(PackageError::Lock { span, reason }.into_diagnostic());
                None
            }
        }
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

    /// Forgets the commits of a repository.
    pub fn remove(&mut self, git: &str) {
        self.entries.retain(|entry| entry.git != git);
    }

    /// The revisions whose commits differ from those of an older lock file: repository, revision, old and new commit.
    pub fn changes<'a>(&'a self, old: &'a Lock) -> Vec<(&'a str, &'a str, Option<&'a str>, &'a str)> {
        let changes = self.entries.iter().map(|Entry { git, rev, commit }| {
            (git.as_str(), rev.as_str(), old.commit(git, rev), commit.as_str())
        });
        changes.filter(|&(_, _, old, new)| old != Some(new)).collect()
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

/// What is wrong with a lock file, and where.
struct Malformed {
    at: Option<Range<usize>>,
    reason: String,
}

fn entries(text: &str) -> Result<Vec<Entry>, Malformed> {
    let document = Document::parse(text).map_err(|error| Malformed {
        at: error.span(),
        reason: error.message().trim_end().replace('\n', ", "),
    })?;
    let Some(item) = document.as_table().get("package") else { return Ok(vec![]) };
    let tables = item.as_array_of_tables();
    let tables = tables
        .ok_or_else(|| Malformed { at: item.span(), reason: "`package` is not a list of tables".into() })?;
    tables.iter().map(|table| entry(table).map_err(|reason| Malformed { at: table.span(), reason })).collect()
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
        let mut other = lock.clone();
        other.remove("https://example.org/b");
        assert_eq!(other.changes(&lock), []);
        let new = "c".repeat(40);
        assert_eq!(lock.changes(&other), [("https://example.org/b", "main", None, new.as_str())]);
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
        let (_, diagnostics) = parse("[[package]]\ngit = \"a\"\nnonsense\n");
        assert!(diagnostics[0].primary.span.lo > 20, "it is at its line");
        assert!(parse("").0.is_some_and(|lock| lock.is_empty()));
    }
}
