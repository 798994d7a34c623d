//! The generated parts of the book: the index of diagnostics, its part of
//! the table of contents, and the reference of the prelude.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use nyala_driver::documentation::{Subject, chapter};
use nyala_driver::{Options, Session};

use super::texts::is_code;
use crate::files;

const INDEX: &str = "docs/src/diagnostics/README.md";
const SUMMARY: &str = "docs/src/SUMMARY.md";
const PRELUDE: &str = "docs/src/prelude.md";

/// In the table of contents, everything after this line is generated.
const GENERATED: &str = "- [Diagnostics](diagnostics/README.md)\n";

/// The files that are out of date.
pub fn check() -> anyhow::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for (path, text) in generate()? {
        if std::fs::read_to_string(files::repository().join(path)).ok().as_deref() != Some(&text) {
            complaints.push(format!("{path} is out of date: `cargo xtask tidy --bless` writes it"));
        }
    }
    Ok(complaints)
}

/// Updates all generated files.
pub fn write() -> anyhow::Result<()> {
    for (path, text) in generate()? {
        std::fs::write(files::repository().join(path), text)
            .with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

fn generate() -> anyhow::Result<[(&'static str, String); 3]> {
    let mut index = "# Diagnostics\n\n\
        Every error and warning has a code. `nyala check --explain CODE` prints its entry.\n\n"
        .to_owned();
    let summary = std::fs::read_to_string(files::repository().join(SUMMARY))?;
    let (kept, _) =
        summary.split_once(GENERATED).context("the table of contents has lost its diagnostics")?;
    let mut summary = kept.to_owned() + GENERATED;
    for entry in files::with_extension("docs/src/diagnostics", "md")? {
        let code = entry.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        if !is_code(code) {
            continue;
        }
        let title = entry.text.lines().next().unwrap_or("").trim_start_matches("# ");
        ensure!(title.starts_with(code), "{}: the first line is not its title", entry.path.display());
        writeln!(index, "- [{title}]({code}.md)")?;
        writeln!(summary, "  - [{title}](diagnostics/{code}.md)")?;
    }
    Ok([(INDEX, index), (SUMMARY, summary), (PRELUDE, prelude()?)])
}

/// The reference of the prelude, from its sources.
fn prelude() -> anyhow::Result<String> {
    let mut session = Session::new(Options::default());
    chapter(&mut session, Subject::Prelude, "The prelude").context("the prelude has syntax errors")
}
