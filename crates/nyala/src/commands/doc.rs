//! `nyala doc`: a page about a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nyala_driver::Session;
use nyala_driver::documentation::{self, Subject};

use crate::cli::{MessageArgs, ReadingArgs};
use crate::output::{self, Mode};

/// Write a page that documents source files, or the prelude
///
/// The page has the declarations with their comments, when functions are specialized, examples with their output, the
/// source, and a search. It is one file. Examples run in the checked interpreter.
#[derive(Args)]
pub struct DocArgs {
    /// The files to document; `-` is standard input
    #[arg(required_unless_present = "prelude", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Document the prelude; `--edition` selects an older one
    #[arg(long, conflicts_with = "files")]
    prelude: bool,
    /// The page to write; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "doc.html")]
    output: PathBuf,
    /// The title of the page [default: the name of the first file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

pub fn run(args: DocArgs) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(args.reading.options());
    for path in &args.files {
        session.load(path);
    }
    let subject = if args.prelude { Subject::Prelude } else { Subject::Program };
    let page = documentation::page(&mut session, subject, &args.title());
    let status = output::show_diagnostics(&mut session, &args.messages)?;
    match page {
        Some(page) if args.output.as_os_str() == "-" => output::print(&page)?,
        Some(page) => output::write_file(&args.output, page.as_bytes(), Mode::Plain)?,
        None => {}
    }
    Ok(status)
}

impl DocArgs {
    fn title(&self) -> String {
        let file = self.files.first().and_then(|path| path.file_stem());
        let name = file.map_or("The prelude".into(), |stem| stem.to_string_lossy());
        self.title.clone().unwrap_or_else(|| name.into_owned())
    }
}
