//! All pairs of a job, with a progress bar.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::cli::{Args, Device, Format, Pairs};
use crate::kernel::{Alignment, Codes, Kernel, N_DONE};
use crate::output::{self, Pair};
use crate::picture;
use crate::program::{self, Work};
use crate::sequences::Sequence;

/// Sequences up to this length are scored in batches.
const SHORT: usize = 1000;
/// The pairs of a batch.
const BATCH: usize = 4096;
/// Fewer cells than this take no noticeable time, and have no progress bar.
const FEW_CELLS: u64 = 2_000_000_000;

/// What the app has to do.
pub struct Job<'a> {
    pub args: &'a Args,
    pub threads: u32,
    pub queries: &'a [Sequence],
    pub subjects: &'a [Sequence],
}

impl<'a> Job<'a> {
    pub fn work(&self) -> Work {
        let is_short = |all: &[Sequence]| all.iter().all(|sequence| sequence.letters.len() <= SHORT);
        let on_cpu = self.args.device == Device::Cpu && self.args.band.is_none();
        let is_batch = on_cpu && is_short(self.queries) && is_short(self.subjects);
        let has_path = self.args.format != Format::Tsv || self.args.picture.is_some();
        match (has_path, is_batch) {
            (false, false) => Work::Score,
            (false, true) => Work::Batch,
            (true, false) => Work::Path,
            (true, true) => Work::PathBatch,
        }
    }

    pub fn program(&self) -> String {
        program::write(self.args, self.threads, self.work())
    }

    pub fn compile(&self) -> Result<Kernel> {
        Kernel::compile(self.args, self.threads, self.work())
    }

    /// The indices of the query and the subject of each pair.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        match self.args.pairs {
            Pairs::Pairwise => (0..self.queries.len()).map(|i| (i, i)).collect(),
            Pairs::All => {
                let subjects = 0..self.subjects.len();
                (0..self.queries.len()).flat_map(|i| subjects.clone().map(move |j| (i, j))).collect()
            }
        }
    }

    pub fn n_cells(&self, pairs: &[(usize, usize)]) -> u64 {
        let length = |all: &[Sequence], i: usize| all[i].letters.len() as u64;
        pairs.iter().map(|&(i, j)| length(self.queries, i) * length(self.subjects, j)).sum()
    }

    fn pair(&self, (i, j): (usize, usize)) -> Pair<'a> {
        Pair { query: &self.queries[i], subject: &self.subjects[j] }
    }

    /// Aligns all pairs and prints the results.
    pub fn run(&self, out: &mut dyn Write, is_coloured: bool) -> Result<()> {
        let kernel = self.compile()?;
        let coded = |all: &[Sequence]| -> Vec<Codes> {
            all.iter().map(|sequence| kernel.encode(&sequence.letters)).collect()
        };
        let (queries, subjects) = (coded(self.queries), coded(self.subjects));
        let pairs = self.pairs();
        if self.args.format == Format::Sam {
            output::sam_header(out, self.subjects)?;
        }
        let work = self.work();
        with_progress(self.n_cells(&pairs), || {
            let size = if work.is_batch() { BATCH } else { 1 };
            for (n, some) in pairs.chunks(size).enumerate() {
                let codes: Vec<_> = some.iter().map(|&(i, j)| (&queries[i], &subjects[j])).collect();
                match work {
                    Work::Batch => {
                        for (&pair, score) in some.iter().zip(kernel.scores(&codes)?) {
                            output::score(out, self.pair(pair), score)?;
                        }
                    }
                    Work::Score => {
                        let (query, subject) = codes[0];
                        output::score(out, self.pair(some[0]), kernel.score(query, subject)?)?;
                    }
                    Work::Path => {
                        let (query, subject) = codes[0];
                        let found = kernel.align(query, subject)?;
                        self.print(out, self.pair(some[0]), &found, n == 0, is_coloured)?;
                    }
                    Work::PathBatch => {
                        for (k, found) in kernel.align_all(&codes)?.iter().enumerate() {
                            self.print(out, self.pair(some[k]), found, n == 0 && k == 0, is_coloured)?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    fn print(
        &self,
        out: &mut dyn Write,
        pair: Pair,
        found: &Alignment,
        is_first: bool,
        is_coloured: bool,
    ) -> Result<()> {
        if let (Some(path), true) = (&self.args.picture, is_first) {
            picture::write(path, pair, found)?;
        }
        match self.args.format {
            Format::Tsv => output::score(out, pair, found.score)?,
            Format::Cigar => output::cigar(out, pair, found)?,
            Format::Sam => output::sam(out, pair, found)?,
            Format::Paf => output::paf(out, pair, found)?,
            Format::Human => output::human(out, pair, found, is_coloured)?,
        }
        Ok(())
    }
}

/// Executes the body, with a bar on standard error that shows how many cells are computed.
fn with_progress(n_cells: u64, body: impl FnOnce() -> Result<()>) -> Result<()> {
    if n_cells < FEW_CELLS {
        return body();
    }
    let bar = ProgressBar::new(n_cells).with_style(style());
    let is_done = AtomicBool::new(false);
    let before = N_DONE.load(Ordering::Relaxed);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                bar.set_position(N_DONE.load(Ordering::Relaxed).saturating_sub(before).min(n_cells));
                thread::sleep(Duration::from_millis(100));
            }
        });
        let result = body();
        is_done.store(true, Ordering::Relaxed);
        result
    });
    bar.finish_and_clear();
    result
}

fn style() -> ProgressStyle {
    let share = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let percent = 100.0 * state.pos() as f64 / state.len().unwrap_or(1).max(1) as f64;
        // A failure of the terminal is ignored.
        let _ = write!(out, "{percent:.1} % of {:.3e} cells", state.len().unwrap_or(0) as f64);
    };
    let time_left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        if state.pos() > 0 {
            let _ = write!(out, "{:#} left", HumanDuration(state.eta()));
        }
    };
    let style = ProgressStyle::with_template("{bar:30} {share} {time_left}");
    style.expect("the template is valid").with_key("share", share).with_key("time_left", time_left)
}
