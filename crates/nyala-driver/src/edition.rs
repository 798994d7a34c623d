//! Editions: versions of the prelude.
//!
//! An edition is a stack of folders under `lib/`, starting with the default: a file of a later folder replaces the
//! one of the same name. It selects declarations, not the grammar, with one exception: marks at calls have another
//! meaning in 2015. The first line of a file may select the edition: `// edition: 2018`.

use std::collections::BTreeMap;

use nyala_span::{SourceFile, Span};
use nyala_syntax::declared_edition;

use crate::embedded;
use crate::errors::EditionError;
use crate::prelude::PreludeFile;

/// The choice of the prelude.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prelude {
    /// The edition that the files of the program select; the default one if none does.
    #[default]
    AsWritten,
    /// This edition; overrides the files.
    Edition(Edition),
    /// No prelude; the rules of the language are those that each file selects.
    Absent,
    /// No prelude, but the rules of the language of this edition.
    RulesOnly(Edition),
}

/// An edition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// The edition for new programs.
    #[default]
    Default,
    /// As 2018, but `@f(..)` and `$f(..)` run and halt the partial evaluator, and the prelude
    /// has no filters: `range` is a plain function.
    E2015,
    /// `vectorize` with alignment and bounds, `exec` with functions for each position,
    /// sizes of 32 bits, atomics without an order.
    E2018,
    /// As 2018, but with the current types of `vectorize` and `exec`.
    E2019,
    /// Generators and `exec` take their body first: `range(body)(a, b)`.
    Artic,
}

impl Edition {
    /// The edition of this name, as on the command line.
    pub fn from_name(name: &str) -> Option<Edition> {
        match name {
            "impala" => Some(Edition::Default),
            "artic" => Some(Edition::Artic),
            "2015" => Some(Edition::E2015),
            "2018" => Some(Edition::E2018),
            "2019" => Some(Edition::E2019),
            _ => None,
        }
    }

    /// The edition that the first lines of the files select.
    pub(crate) fn asked_for<'a>(
        files: impl IntoIterator<Item = &'a SourceFile>,
    ) -> Result<Option<(Edition, Span)>, EditionError> {
        let mut asked: Option<(Edition, Span)> = None;
        for (name, span) in files.into_iter().filter_map(declared_edition) {
            let edition = Edition::from_name(name)
                .ok_or_else(|| EditionError::Unknown { span, name: name.to_owned() })?;
            match asked {
                Some((other, place)) if other != edition => {
                    return Err(EditionError::Several { span, other: place });
                }
                _ => asked = Some((edition, span)),
            }
        }
        Ok(asked)
    }

    /// The files with their names for diagnostics, sorted by name.
    pub(crate) fn files(self) -> impl Iterator<Item = (String, &'static PreludeFile)> {
        let mut files = BTreeMap::new();
        for folder in self.folders() {
            for file in embedded::edition_folder(folder) {
                files.insert(file.stem, (*folder, file));
            }
        }
        files.into_iter().map(|(stem, (folder, file))| (format!("<prelude>/{folder}/{stem}.impala"), file))
    }

    /// The folders, the lowest first.
    fn folders(self) -> &'static [&'static str] {
        match self {
            Edition::Default => &["default"],
            Edition::E2015 => &["default", "2019", "2018", "2015"],
            Edition::E2018 => &["default", "2019", "2018"],
            Edition::E2019 => &["default", "2019"],
            Edition::Artic => &["default", "artic"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Session, pipeline};

    /// Every function of every edition is checked, used or not.
    #[test]
    fn editions_are_free_of_errors() {
        for edition in [Edition::Default, Edition::E2015, Edition::E2018, Edition::E2019, Edition::Artic] {
            let prelude = Prelude::Edition(edition);
            let mut session = Session::new(Options { prelude, whole_prelude: true, ..Options::default() });
            session.add_text("main.impala", "fn main() -> i32 { 0 }");
            assert!(pipeline::check(&mut session).is_some(), "{edition:?}: {:#?}", session.diagnostics);
        }
    }

    fn check(texts: &[&str]) -> Vec<String> {
        let mut session = Session::new(Options::default());
        for (index, text) in texts.iter().enumerate() {
            session.add_text(format!("{index}.impala"), *text);
        }
        let _ = pipeline::check(&mut session);
        session.diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect()
    }

    #[test]
    fn the_first_line_selects_the_edition() {
        let of_2018 = "// edition: 2018\nfn main() -> i32 { sizeof[i64]() }";
        assert!(check(&[of_2018]).is_empty());
        assert!(check(&[of_2018, "extern fn f() -> i32 { sizeof[i8]() }"]).is_empty());
        assert_eq!(
            check(&[of_2018, "// edition: artic"]),
            ["E0026: the files of the program select different editions"]
        );
        assert_eq!(check(&["// edition: 2017"]), ["E0025: unknown edition `2017`"]);
    }

    #[test]
    fn marks_of_2015_run_and_halt() {
        let text = "fn g(x: i32) -> i32 { x } extern fn f(x: i32) -> i32 { @g(x) + $g(x) }";
        let marks = |prelude, first_line| {
            let mut session = Session::new(Options { prelude, ..Options::default() });
            session.add_text("main.impala", format!("{first_line}\n{text}"));
            let text = nyala_ir::text::print(&pipeline::emit(&mut session).expect("it has no errors"));
            ["force(", "run(", "halt("].map(|mark| text.matches(mark).count())
        };
        assert_eq!(marks(Prelude::AsWritten, "// edition: 2015"), [0, 1, 1]);
        assert_eq!(marks(Prelude::Edition(Edition::E2015), ""), [0, 1, 1]);
        assert_eq!(marks(Prelude::AsWritten, ""), [1, 0, 0]);
        assert_eq!(marks(Prelude::Edition(Edition::E2018), "// edition: 2015"), [1, 0, 0]);
    }

    #[test]
    fn a_file_of_a_higher_folder_replaces_the_one_below() {
        let names: Vec<String> = Edition::E2018.files().map(|(name, _)| name).collect();
        assert!(names.contains(&"<prelude>/2018/loops.impala".to_owned()));
        assert!(names.contains(&"<prelude>/2019/core.impala".to_owned()));
        assert!(names.contains(&"<prelude>/default/math.impala".to_owned()));
        assert!(!names.contains(&"<prelude>/default/loops.impala".to_owned()));
    }
}
