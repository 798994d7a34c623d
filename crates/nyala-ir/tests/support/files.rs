//! Test files: text in, text out.
//!
//! The first line says what runs: `test NAME ARGUMENTS..`. The test renders the
//! whole file as it should be, from the text without its expectations, and passes
//! if that is what the file says. `BLESS=1` writes it instead; read the diff.

// Each test uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_ir::{Cont, World, text};

/// What starts the lines of an expectation at the end of a file.
const EXPECT: &str = "; expect:\n";

/// A file, taken apart.
pub struct TestFile {
    /// What runs.
    pub name: String,
    /// The rest of the first line, as words.
    pub args: Vec<String>,
    /// The first line.
    first_line: String,
    /// The program between the first line and the expectation.
    pub input: String,
}

impl TestFile {
    fn read(content: &str) -> Result<TestFile, Failed> {
        let (first_line, rest) = content.split_once('\n').ok_or("the file is empty")?;
        let mut words = first_line.split_whitespace().map(str::to_owned);
        if words.next().as_deref() != Some("test") {
            return Err("the first line is not `test NAME ..`".into());
        }
        let name = words.next().ok_or("the first line names no test")?;
        let input = rest.split(EXPECT).next().unwrap_or(rest).to_owned();
        Ok(TestFile { name, args: words.collect(), first_line: first_line.to_owned(), input })
    }

    /// The world that the file describes.
    pub fn world(&self) -> Result<World, Failed> {
        // One line was cut off above the input; an empty one keeps the numbers.
        text::parse(&format!("\n{}", self.input)).map_err(|error| Failed::from(error.to_string()))
    }

    /// The file with `input` in place of its own.
    pub fn with_input(&self, input: &str) -> String {
        format!("{}\n{input}", self.first_line)
    }

    /// The file with `output` as its expectation.
    pub fn expecting(&self, output: &str) -> String {
        let comment = |line: &str| if line.is_empty() { ";\n".into() } else { format!("; {line}\n") };
        let output: String = output.lines().map(comment).collect();
        format!("{}\n{}{EXPECT}{output}", self.first_line, self.input)
    }
}

/// The continuation called `name`.
pub fn find_cont(world: &World, name: &str) -> Result<Cont, Failed> {
    let mut named = world.conts().filter(|(_, data)| data.name.as_str() == name);
    named.next().map(|(cont, _)| cont).ok_or_else(|| Failed::from(format!("there is no `{name}`")))
}

/// Runs `render` on every file of `folder`, a path in the crate.
pub fn run(folder: &str, render: fn(&TestFile) -> Result<String, Failed>) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&root)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", root.display()))
        .map(|entry| entry.expect("a listed entry can be read").path())
        .collect();
    paths.sort();
    let trials = paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path, render))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn check(path: &Path, render: fn(&TestFile) -> Result<String, Failed>) -> Result<(), Failed> {
    let content = std::fs::read_to_string(path)?;
    let rendered = render(&TestFile::read(&content)?)?;
    if rendered == content {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, rendered)?);
    }
    Err(format!("{} is not as expected; it should be:\n{rendered}", path.display()).into())
}
