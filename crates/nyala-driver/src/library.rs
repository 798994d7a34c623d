//! Libraries that come with the compiler: folders under `lib/` besides the prelude.
//!
//! The first comment of a file names the libraries it needs: `// uses: stencil`. Their files are
//! part of the program, like those of the prelude: there are no imports, and the program may redefine
//! their names.

use nyala_span::{SourceFile, Span};

use crate::embedded;
use crate::errors::UnknownLibrary;

/// A library: its name, and its files as pairs of a name without extension and a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const LIBRARIES: &[Library] = &[Library { name: "stencil", files: embedded::LIBRARY_STENCIL }];

impl Library {
    /// The libraries that the files use, each once, in a fixed order.
    pub(crate) fn asked_for<'a>(
        files: impl Iterator<Item = &'a SourceFile>,
    ) -> Result<Vec<Library>, UnknownLibrary> {
        let mut asked = vec![false; LIBRARIES.len()];
        for (name, span) in files.flat_map(uses) {
            let found = LIBRARIES.iter().position(|library| library.name == name);
            let known = LIBRARIES.iter().map(|library| library.name);
            let index = found.ok_or_else(|| UnknownLibrary {
                span,
                name: name.to_owned(),
                known: known.collect(),
            })?;
            asked[index] = true;
        }
        Ok(LIBRARIES.iter().zip(asked).filter(|(_, asked)| *asked).map(|(library, _)| *library).collect())
    }

    /// The sources: the name for diagnostics, and the text.
    pub(crate) fn sources(self) -> impl Iterator<Item = (String, &'static str)> {
        self.files.iter().map(move |(stem, text)| (format!("<{}>/{stem}.impala", self.name), *text))
    }
}

/// The names after `// uses:` in the comment at the beginning of a file, with the places of their lines.
fn uses(file: &SourceFile) -> Vec<(&str, Span)> {
    let mut found = vec![];
    for number in 1.. {
        let line = file.line_text(number);
        let Some(comment) = line.strip_prefix("//") else { break };
        let Some(names) = comment.trim_start().strip_prefix("uses:") else { continue };
        let span = file.line_span(number);
        found.extend(names.split(',').map(|name| (name.trim(), span)));
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::{Options, Session, pipeline};

    fn check(text: &str) -> Vec<String> {
        let mut session = Session::new(Options::default());
        session.add_text("main.impala", text);
        let _ = pipeline::check(&mut session);
        session.diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect()
    }

    #[test]
    fn the_first_comment_selects_libraries() {
        let body = "fn main() -> i32 { region(1, 0, 0, 0).xa }";
        assert!(check(&format!("// A program.\n// uses: stencil\n{body}")).is_empty());
        assert_eq!(check(body)[0], "E0301: undefined value `region`");
        assert_eq!(check("// uses: stencils\nfn main() -> i32 { 0 }"), ["E0027: unknown library `stencils`"]);
    }
}
