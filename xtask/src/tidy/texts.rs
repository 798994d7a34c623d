//! Our own rules for source texts.
//!
//! * Every Rust module opens with `//!` documentation. That of a crate root or a `mod.rs` names each of its modules.
//! * Every mention of a Note (`See Note [..]`) has its Note.
//! * Every code of a diagnostic has an entry in the book, and every entry a code.
//! * No Rust file is longer than [`MAX_LINES`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::{self, TextFile};

/// A longer file should be split by topic.
const MAX_LINES: usize = 700;

/// The folders of our Rust sources.
const FOLDERS: [&str; 4] = ["apps", "crates", "tests", "xtask"];

/// Violations of the rules, one line each.
pub fn check() -> anyhow::Result<Vec<String>> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        sources.extend(files::with_extension(folder, "rs")?);
    }
    let mut complaints = Vec::new();
    for file in &sources {
        check_module(file, &mut complaints);
    }
    check_notes(&sources, &mut complaints);
    let entries = files::with_extension("docs/src/diagnostics", "md")?;
    check_codes(&sources, &entries, &mut complaints);
    Ok(complaints)
}

fn check_module(file: &TextFile, complaints: &mut Vec<String>) {
    let path = file.path.display();
    if !file.text.starts_with("//!") {
        complaints.push(format!("{path}:1: the module does not open with `//!` documentation"));
    }
    let n_lines = file.text.lines().count();
    if n_lines > MAX_LINES {
        complaints.push(format!("{path}: {n_lines} lines; split it by topic"));
    }
    if ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| file.path.ends_with(name)) {
        for module in unnamed_modules(&file.text) {
            complaints.push(format!("{path}: the documentation does not name the module `{module}`"));
        }
    }
}

/// The modules that a file declares and its `//!` documentation does not name. Test modules need no name.
fn unnamed_modules(text: &str) -> impl Iterator<Item = &str> {
    let documentation = text.lines().take_while(|line| line.starts_with("//!"));
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let named: BTreeSet<&str> = documentation.flat_map(|line| line.split(is_separator)).collect();
    let declared = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    declared.filter(move |module| !named.contains(module) && !module.starts_with("test"))
}

/// A Note is a comment line that begins with `Note [title]`; every other
/// `Note [title]` is a mention.
fn check_notes(sources: &[TextFile], complaints: &mut Vec<String>) {
    let mut notes = BTreeSet::new();
    let mut mentions = Vec::new();
    for file in sources.iter().filter(|file| !file.path.ends_with(file!())) {
        for (idx, line) in file.text.lines().enumerate() {
            let Some((before, rest)) = line.split_once("Note [") else { continue };
            let Some((title, _)) = rest.split_once(']') else { continue };
            if before.trim().chars().all(|c| "/!*#".contains(c)) {
                notes.insert(title);
            } else {
                mentions.push((file.path.display(), idx + 1, title));
            }
        }
    }
    for (path, line, title) in mentions {
        if !notes.contains(title) {
            complaints.push(format!("{path}:{line}: there is no Note [{title}]"));
        }
    }
}

fn check_codes(sources: &[TextFile], entries: &[TextFile], complaints: &mut Vec<String>) {
    let mut used: BTreeMap<&str, &Path> = BTreeMap::new();
    let is_compiler =
        |path: &Path| path.starts_with("crates") && path.components().any(|part| part.as_os_str() == "src");
    for file in sources.iter().filter(|file| is_compiler(&file.path)) {
        for literal in file.text.split('"').filter(|literal| is_code(literal)) {
            used.entry(literal).or_insert(&file.path);
        }
    }
    let mut explained = BTreeSet::new();
    for entry in entries {
        let path = entry.path.display();
        let stem = entry.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        if !is_code(stem) {
            continue;
        }
        explained.insert(stem);
        if !entry.text.starts_with(&format!("# {stem}: ")) {
            complaints.push(format!("{path}:1: the first line is not `# {stem}: title`"));
        }
        if !used.contains_key(stem) {
            complaints.push(format!("{path}: nothing reports {stem}"));
        }
    }
    for (code, path) in used.iter().filter(|(code, _)| !explained.contains(*code)) {
        complaints.push(format!("{}: {code} has no entry in docs/src/diagnostics", path.display()));
    }
}

/// `E0203`, `W0001`, `N0900`
pub fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix(['E', 'W', 'N']);
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::unnamed_modules;

    #[test]
    fn modules_are_named_as_whole_words() {
        let text = "//! See `parse` and [`print`]; parser.\n\nmod parse;\npub mod print;\npub(crate) mod parse_all;\nmod tests;\n";
        assert_eq!(unnamed_modules(text).collect::<Vec<_>>(), ["parse_all"]);
    }
}
