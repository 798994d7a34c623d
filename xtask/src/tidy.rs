//! `cargo xtask tidy`: checks the repository.
//!
//! Cargo checks formatting, lints and documentation; [`texts`] has our
//! own rules, and [`book`] the generated parts of the book.

mod book;
mod texts;

use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::files;

/// Check formatting, lints, documentation, and our own rules
#[derive(Args)]
pub struct TidyArgs {
    /// Check only our own rules, which need no compiler
    #[arg(long)]
    texts_only: bool,
    /// Write the generated parts of the book instead of comparing them
    #[arg(long)]
    bless: bool,
}

pub fn run(args: &TidyArgs) -> anyhow::Result<()> {
    if args.bless {
        book::write()?;
    }
    let mut complaints = texts::check()?;
    complaints.extend(book::check()?);
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    ensure!(complaints.is_empty(), "{} complaints", complaints.len());
    if args.texts_only {
        return Ok(());
    }
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])
}

/// Runs cargo in the root of the repository; warnings of rustdoc are errors.
pub fn cargo(args: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(files::repository()).env("RUSTDOCFLAGS", "--deny warnings");
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo {} failed", args.join(" "));
    Ok(())
}
