//! `nyala doc`: a page about a program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use clap::Args;
use nyala_driver::documentation::{self, Subject};
use nyala_driver::{Session, TargetChoice};

use crate::cli::{MessageArgs, ReadingArgs, TargetArgs};
use crate::output::{self, Mode};

/// Write a page that documents a package, source files, or the prelude
///
/// The page has the declarations with their comments, when functions are specialized, examples with their output, the
/// source, and a search. It is one file. Examples run in the checked interpreter.
#[derive(Args)]
pub struct DocArgs {
    /// The files to document; `-` is standard input [default: the library of the package around the current folder]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    /// Document the prelude; `--edition` selects an older one
    #[arg(long, conflicts_with = "files")]
    prelude: bool,
    /// Document a dependency of the package around the current folder, or a library of the library path
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["files", "prelude", "program", "lib"])]
    of: Option<String>,
    /// The page to write; `-` is standard output [default: doc.html; for a package, doc.html in its folder `build`]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Show the page in the browser, which the environment variable BROWSER may name
    #[arg(long)]
    open: bool,
    /// The title of the page [default: the name of the package, or of the first file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

pub fn run(args: DocArgs) -> anyhow::Result<ExitCode> {
    let mut session = args.session();
    let subject = if args.prelude { Subject::Prelude } else { Subject::Program };
    let title = args.title(&session);
    let page = documentation::page(&mut session, subject, &title);
    let status = output::show_diagnostics(&mut session, &args.messages)?;
    let Some(page) = page else { return Ok(status) };
    let path = args.output(&session)?;
    if path.as_os_str() == "-" {
        anyhow::ensure!(!args.open, "`--open` needs a file, and not standard output");
        output::print(&page)?;
        return Ok(status);
    }
    output::write_file(&path, page.as_bytes(), Mode::Plain)?;
    if args.output.is_none() {
        output::print(&format!("wrote {}\n", path.display()))?;
    }
    if args.open {
        show_in_browser(&path)?;
    }
    Ok(status)
}

/// Opens a page as the desktop does, and waits until it is handed over.
fn show_in_browser(page: &Path) -> anyhow::Result<()> {
    let page = fs::canonicalize(page).with_context(|| format!("cannot find `{}`", page.display()))?;
    let opener = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let opener = opener.unwrap_or_else(|| if cfg!(target_os = "macos") { "open" } else { "xdg-open" }.into());
    let status = Command::new(&opener).arg(&page).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start `{}`", opener.display()))?;
    anyhow::ensure!(status.success(), "`{}` ended with {status}", opener.display());
    Ok(())
}

impl DocArgs {
    fn session(&self) -> Session {
        let mut session = Session::new(self.reading.options());
        if let Some(library) = &self.of {
            session.load_named_library(self.target.opt_folder().as_deref(), library);
            return session;
        }
        self.files.iter().for_each(|path| session.load(path));
        if self.files.is_empty() && !self.prelude {
            match self.target.target() {
                TargetChoice::Default => session.load_library(&self.target.folder()),
                target => session.load_package(&self.target.folder(), &target),
            }
        }
        session
    }

    fn title(&self, session: &Session) -> String {
        let file = self.files.first().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy());
        let name = file.or(session.target_name().map(Into::into)).unwrap_or("The prelude".into());
        self.title.clone().unwrap_or_else(|| name.into_owned())
    }

    /// The page to write. The folder `build` of a package may be new.
    fn output(&self, session: &Session) -> anyhow::Result<PathBuf> {
        // The page about another package is the user's file.
        let (build, page) = match &self.of {
            Some(library) => {
                (self.target.opt_folder().map(|folder| folder.join("build")), format!("{library}.html"))
            }
            None => {
                (session.output_name().and_then(|path| path.parent().map(Path::to_owned)), PAGE.to_owned())
            }
        };
        match (&self.output, build) {
            (Some(path), _) => Ok(path.clone()),
            (None, None) => Ok(page.into()),
            (None, Some(build)) => {
                fs::create_dir_all(&build).with_context(|| format!("cannot create `{}`", build.display()))?;
                Ok(build.join(page))
            }
        }
    }
}

/// The name of the page.
const PAGE: &str = "doc.html";
