//! What can be wrong with packages.

use nyala_span::{Code, Diagnostic, Span, without_controls};

use crate::manifest::NAME_RULE;

/// What is wrong with a manifest by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManifestError {
    /// It is not TOML.
    Syntax {
        /// Where.
        span: Span,
        /// What the parser of TOML says.
        message: String,
    },
    /// A key that means nothing.
    UnknownKey {
        /// Its place.
        span: Span,
        /// The key.
        key: String,
        /// What it is in.
        of: &'static str,
        /// The keys that mean something there.
        known: Vec<&'static str>,
        /// The one that was probably meant.
        similar: Option<&'static str>,
    },
    /// A key that must be there is not.
    MissingKey {
        /// The table that lacks it.
        span: Span,
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong kind.
    BadValue {
        /// Its place.
        span: Span,
        /// What is needed.
        expected: &'static str,
    },
    /// A name that cannot begin a path.
    BadName {
        /// Its place.
        span: Span,
        /// The name.
        name: String,
    },
    /// A key that only git dependencies have.
    OnlyForGit {
        /// Its place.
        span: Span,
        /// The key.
        key: &'static str,
    },
    /// A second library.
    TwoLibraries {
        /// Its table.
        span: Span,
    },
}

impl ManifestError {
    /// The report for the user.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            ManifestError::Syntax { span, message } => {
                let message = message.trim_end().replace('\n', ", ");
                error("E0030", span, format!("this is not TOML: {}", without_controls(&message)))
            }
            ManifestError::UnknownKey { span, key, of, known, similar } => {
                let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
                let report = error("E0031", span, format!("{of} has no key `{}`", without_controls(&key)))
                    .with_note(format!("the keys are {}", known.join(", ")));
                match similar {
                    Some(similar) => report.with_suggestion(span, similar, format!("write `{similar}`")),
                    None => report,
                }
            }
            ManifestError::MissingKey { span, key } => error("E0032", span, format!("`{key}` is missing")),
            ManifestError::BadValue { span, expected } => {
                error("E0032", span, "this value is not valid here")
                    .with_label(format!("expected {expected}"))
            }
            ManifestError::BadName { span, name } => {
                let name = without_controls(&name);
                error("E0032", span, format!("`{name}` cannot be the name of a package")).with_note(NAME_RULE)
            }
            ManifestError::OnlyForGit { span, key } => {
                error("E0032", span, format!("`{key}` belongs to a dependency with `git`"))
            }
            ManifestError::TwoLibraries { span } => error("E0032", span, "a package has one library"),
        }
    }
}

/// What is wrong with packages and their dependencies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PackageError {
    /// There is no package where one is looked for.
    NotFound {
        /// Who looks for it.
        span: Span,
        /// What is not there.
        what: String,
        /// What would help.
        notes: Vec<String>,
        /// The name that was probably meant.
        similar: Option<String>,
    },
    /// A package has no library.
    NoLibrary {
        /// Who depends on it.
        span: Span,
        /// Its name.
        name: String,
    },
    /// A library has another version.
    OtherVersion {
        /// Who depends on it.
        span: Span,
        /// Its name.
        name: String,
        /// The version that it has.
        found: String,
        /// The version that is wanted.
        wanted: String,
    },
    /// A package depends on itself.
    Cycle {
        /// The dependency that leads back.
        span: Span,
        /// The packages on the way.
        names: Vec<String>,
    },
    /// Two packages have one name.
    TwoPackages {
        /// Who depends on the second one.
        span: Span,
        /// The name.
        name: String,
        /// The folders of both.
        folders: [String; 2],
    },
    /// Git did not do what was asked.
    Git {
        /// The dependency.
        span: Span,
        /// The repository.
        url: String,
        /// What git or the system says.
        reason: String,
    },
    /// The lock file cannot be used.
    Lock {
        /// Its place.
        span: Span,
        /// What is wrong.
        reason: String,
    },
    /// A file that the manifest names is not there.
    NoFile {
        /// Where it is named.
        span: Span,
        /// The file.
        path: String,
    },
    /// The lock file cannot be written.
    Unwritable {
        /// Its path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// A file cannot be read.
    Unreadable {
        /// Who needs it.
        span: Span,
        /// Which.
        path: String,
        /// What the system says.
        reason: String,
    },
}

impl PackageError {
    /// The report for the user.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            PackageError::NotFound { span, what, notes, similar } => {
                let report = error("E0027", span, without_controls(&what));
                let report = notes.into_iter().fold(report, Diagnostic::with_note);
                match similar {
                    Some(similar) => report.with_note(format!("`{similar}` has a similar name")),
                    None => report,
                }
            }
            PackageError::NoLibrary { span, name } => {
                error("E0033", span, format!("the package `{name}` has no library"))
                    .with_note("`src/main.impala` is not part of a library; items for other packages go to other files in `src`")
            }
            PackageError::OtherVersion { span, name, found, wanted } => {
                error("E0033", span, format!("the package `{name}` has version {found}, and not {wanted}"))
            }
            PackageError::Cycle { span, names } => {
                error("E0034", span, "this dependency leads back to the package itself")
                    .with_note(names.join(" -> "))
            }
            PackageError::TwoPackages { span, name, folders: [first, second] } => {
                error("E0035", span, format!("two packages are called `{name}`"))
                    .with_note(format!("one is in {}", without_controls(&first)))
                    .with_note(format!("the other one is in {}", without_controls(&second)))
            }
            PackageError::Git { span, url, reason } => {
                let report = error("E0036", span, format!("cannot get `{}`", without_controls(&url)));
                reason.lines().fold(report, |report, line| report.with_note(without_controls(line)))
            }
            PackageError::Lock { span, reason } => {
                error("E0037", span, "the lock file cannot be read").with_note(reason)
                    .with_note("nyala writes a new one if it is deleted")
            }
            PackageError::Unwritable { path, reason } => {
                error("E0037", Span::NONE, format!("cannot write `{}`: {reason}", without_controls(&path)))
            }
            PackageError::NoFile { span, path } => {
                error("E0020", span, format!("cannot read `{}`: there is no such file", without_controls(&path)))
            }
            PackageError::Unreadable { span, path, reason } => {
                error("E0024", span, format!("cannot read `{}`: {reason}", without_controls(&path)))
            }
        }
    }
}

fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code(code), span, message)
}
