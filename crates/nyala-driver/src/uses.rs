//! `// uses: fft, ./filters`: the libraries of a program of loose files.
//!
//! The comments that a file begins with name the libraries it needs: by a name on the library path, or by a path that
//! begins with `.` or `/`. All visible names of such a library are then known without a path.

use nyala_span::{Code, Diagnostic, SourceFile, Span};

/// A library that a file asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    /// Its name or path.
    pub library: String,
    /// The line that asks for it.
    pub span: Span,
}

impl Use {
    /// Whether it is a path and not a name.
    pub(crate) fn is_path(&self) -> bool {
        self.library.starts_with(['.', '/'])
    }
}

/// The libraries that the comments at the beginning of a file ask for.
pub(crate) fn leading(file: &SourceFile) -> Vec<Use> {
    (1..=n_leading_lines(file)).flat_map(|line| uses_in(file, line)).collect()
}

/// Warnings about libraries that comments behind the beginning of a file ask for. So that prose is left alone, only
/// those count that could be meant.
pub(crate) fn misplaced(file: &SourceFile, is_library: impl Fn(&Use) -> bool) -> Vec<Diagnostic> {
    let n_lines = file.line_col(file.end()).line;
    let misplaced = (n_leading_lines(file) + 1..=n_lines).flat_map(|line| uses_in(file, line));
    misplaced.filter(|it| is_library(it)).map(|it| warning(it.span, BEHIND)).collect()
}

/// Warnings about libraries that a file of a package asks for.
pub(crate) fn in_package(file: &SourceFile, is_library: impl Fn(&Use) -> bool) -> Vec<Diagnostic> {
    leading(file).into_iter().filter(is_library).map(|it| warning(it.span, IN_PACKAGE)).collect()
}

const BEHIND: &str = "only the comments that a file begins with name libraries";
const IN_PACKAGE: &str = "the dependencies of a package are in `nyala.toml`";

fn warning(span: Span, note: &str) -> Diagnostic {
    Diagnostic::warning(Code("W0013"), span, "this `uses:` has no effect").with_note(note)
}

/// The lines at the beginning of a file that are comments or empty.
fn n_leading_lines(file: &SourceFile) -> u32 {
    let n_lines = file.line_col(file.end()).line;
    let is_leading = |&line: &u32| {
        let text = file.line_text(line).trim_start();
        text.is_empty() || text.starts_with("//")
    };
    (1..=n_lines).take_while(is_leading).count() as u32
}

fn uses_in(file: &SourceFile, line: u32) -> Vec<Use> {
    let comment = file.line_text(line).trim_start().strip_prefix("//");
    let Some(names) = comment.and_then(|comment| comment.trim_start().strip_prefix("uses:")) else {
        return vec![];
    };
    let span = file.line_span(line);
    names.split(',').map(|name| Use { library: name.trim().into(), span }).collect()
}
