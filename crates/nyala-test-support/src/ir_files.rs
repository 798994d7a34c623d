//! Tests that are `.ir` files: a program in text form, and the expected output.
//!
//! ```text
//! test partial-eval
//!
//! ;; A branch whose condition is known is replaced by a jump.
//! export main(mem: mem, ret: cn(mem, i32)):
//!     branch(mem, true, yes, no)
//! ..
//! ; expect:
//! ; export main(mem: mem, ret: cn(mem, i32)):
//! ;     ret(mem, 1)
//! ```
//!
//! The first line names the test and its arguments: `test NAME ARGUMENTS..`. A `;;` comment
//! states the behaviour. A test function renders the whole file from the text without its
//! expectation. The test passes if the result equals the file. `BLESS=1` writes the result;
//! read the diff.
//!
//! [`run`] also checks every input for print, parse, print stability; [`verified_text`] does so for
//! every output.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use nyala_ir::verify::verify;
use nyala_ir::{Cont, World, text};

pub use libtest_mimic::Failed;

use crate::snapshot;

/// Renders a test file as it should be.
pub type Render = fn(&TestFile) -> Result<String, Failed>;

/// The line above an expectation, which runs to the end of the file.
const EXPECT: &str = "; expect:\n";

/// The parts of a test file.
pub struct TestFile {
    /// The name of the test.
    pub name: String,
    /// The other words of the first line.
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

    /// The program of the file.
    pub fn world(&self) -> Result<World, Failed> {
        // An empty line stands for the first line, so that error messages have the right line numbers.
        text::parse(&format!("\n{}", self.input)).map_err(|error| Failed::from(error.to_string()))
    }

    /// The program of the file, which must be well-formed.
    pub fn verified_world(&self) -> Result<World, Failed> {
        let world = self.world()?;
        verify(&world)?;
        Ok(world)
    }

    /// An error if the file has no `;;` comment that states the behaviour.
    pub fn require_summary(&self) -> Result<(), Failed> {
        let has_summary = self.input.lines().any(|line| line.starts_with(";; "));
        has_summary.then_some(()).ok_or_else(|| "a `;;` comment must state the behaviour".into())
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

/// The text of a program that a pass built. The program must be well-formed, and its text
/// must be stable under print, parse, print.
pub fn verified_text(world: &World) -> Result<String, Failed> {
    let printed = text::print(world);
    verify(world).map_err(|errors| Failed::from(format!("{errors}\n\n{printed}")))?;
    check_round_trip(world)?;
    Ok(printed)
}

/// Print, parse, print must give the same text twice.
fn check_round_trip(world: &World) -> Result<(), Failed> {
    let printed = text::print(world);
    let parsed = text::parse(&printed)
        .map_err(|error| Failed::from(format!("the printed program does not parse: {error}\n\n{printed}")))?;
    let again = text::print(&parsed);
    if again == printed {
        return Ok(());
    }
    let difference = snapshot::difference(&printed, &again);
    Err(format!("the text changes under print, parse, print\n{difference}").into())
}

/// Runs `render` on every `.ir` file of `folder`; each is a test named after the file.
///
/// Tests call this as `ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/FOLDER"), render)`.
pub fn run(folder: impl AsRef<Path>, render: Render) -> ExitCode {
    let folder = folder.as_ref();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()))
        .map(|entry| entry.expect("a listed entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ir"))
        .collect();
    assert!(!paths.is_empty(), "there is no `.ir` file in {}", folder.display());
    paths.sort();
    let trials = paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path, render))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn check(path: &Path, render: Render) -> Result<(), Failed> {
    let file = TestFile::read(&std::fs::read_to_string(path)?)?;
    check_round_trip(&file.world()?)?;
    Ok(snapshot::compare(path, &render(&file)?)?)
}
