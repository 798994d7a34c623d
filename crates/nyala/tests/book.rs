//! The chapters "Write a library" and "A language in an afternoon" do what they say: their files are written to an
//! empty folder, their commands run there, and they print what the chapter shows.
//!
//! The first is the way of a library from an empty folder to its users: two packages outside of the repository, of
//! which one depends on the other, built, tested, tuned, documented, and used from C, Rust and Python.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Folder, nyala, run_command};

/// Stands for any text in a line; in a line of its own, for any lines.
const ANY: &str = "…";

/// A part of the chapter.
enum Step {
    File { path: String, text: String },
    Command { line: String, printed: String },
}

/// Writes the files of a chapter to a folder and runs its commands there; how many commands ran.
fn follow(chapter: &str, folder: &Folder) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(chapter);
    let chapter = std::fs::read_to_string(path).expect("it is in the repository");
    let mut current = folder.0.clone();
    let mut n_commands = 0;
    for step in steps(&chapter) {
        match step {
            Step::File { path, text } => drop(folder.file(&path, text)),
            Step::Command { line, printed } => {
                n_commands += usize::from(run(&line, &printed, &mut current));
            }
        }
    }
    n_commands
}

#[test]
fn the_chapter_a_language_in_an_afternoon_does_what_it_says() {
    let folder = Folder::new("language-in-an-afternoon");
    assert_eq!(follow("afternoon.md", &folder), 3);
    // The string leaves the same program as the functions.
    let graph = |file: &str| {
        let mut command = nyala();
        command.args(["ir", "--stage", "evaluated", file]).current_dir(&folder.0).env_remove("NYALA_PATH");
        run_command(&mut command, "").1
    };
    assert_eq!(graph("edges.impala"), graph("string.impala"));
}

#[test]
fn the_chapter_write_a_library_does_what_it_says() {
    let folder = Folder::new("write-a-library");
    let n_commands = follow("library.md", &folder);
    assert!(n_commands > 10, "only {n_commands} commands ran");
    let page = std::fs::read_to_string(folder.path("fir/build/doc.html")).expect("`nyala doc` wrote it");
    for part in ["uses weights", "Specialized at every call.", "<samp>4</samp>", "id=\"convolve\""] {
        assert!(page.contains(part), "{part}");
    }
    let tuned = std::fs::read_to_string(folder.path("fir/nyala.tune")).expect("`nyala tune` wrote it");
    assert!(tuned.contains("\"fir::lanes\" = "), "{tuned}");
}

/// The files and commands of a chapter, in order.
fn steps(chapter: &str) -> Vec<Step> {
    let mut steps = vec![];
    for block in chapter.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a block has lines");
        if let Some((_, path)) = language.split_once(",file=") {
            steps.push(Step::File { path: path.to_owned(), text: format!("{text}\n") });
        } else if language == "console" {
            for command in format!("\n{text}").split("\n$ ").skip(1) {
                let (line, printed) = command.split_once('\n').unwrap_or((command, ""));
                steps.push(Step::Command { line: line.to_owned(), printed: printed.to_owned() });
            }
        }
    }
    steps
}

/// Runs a command of the chapter; whether that was possible.
fn run(line: &str, printed: &str, current: &mut PathBuf) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command has a name");
    if program == "cd" {
        current.push(words.next().expect("it has a folder"));
        return true;
    }
    let mut command = if program == "nyala" { nyala() } else { Command::new(program) };
    let is_tool = ["cc", "rustc", "python3"].contains(&program);
    if is_tool && Command::new(program).arg("--version").output().is_err() {
        eprintln!("skipped, there is no {program}: {line}");
        return false;
    }
    if program.starts_with("./") && !current.join(program).exists() {
        eprintln!("skipped, it was not compiled: {line}");
        return false;
    }
    let (status, stdout, stderr) =
        run_command(command.args(words).current_dir(&current).env_remove("NYALA_PATH"), "");
    assert_eq!(status, Some(0), "{line}\n{stdout}{stderr}");
    assert!(matches(printed, &stdout), "{line}\nshown:\n{printed}\nprinted:\n{stdout}{stderr}");
    true
}

/// Whether a command has printed what is shown.
fn matches(shown: &str, printed: &str) -> bool {
    let shown: Vec<&str> = shown.trim_end().lines().collect();
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    let (mut at, mut is_any) = (0, false);
    for line in shown {
        if line == ANY {
            is_any = true;
            continue;
        }
        let found = printed[at..].iter().position(|printed| matches_line(line, printed));
        match found {
            Some(distance) if is_any || distance == 0 => at += distance + 1,
            _ => return false,
        }
        is_any = false;
    }
    is_any || at == printed.len()
}

fn matches_line(shown: &str, printed: &str) -> bool {
    let mut rest = printed.trim_end();
    let mut parts = shown.trim_end().split(ANY);
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    let mut has_any = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        has_any = part.is_empty();
    }
    rest.is_empty() || has_any
}
