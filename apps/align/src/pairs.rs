//! All pairs of a job, with a progress bar.

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::cli::{Args, Device, Format, Pairs, Strands};
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
    /// Of both strands, first all of one strand, then all of the other one.
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

    fn n_strands(&self) -> usize {
        match self.args.strand {
            Strands::Forward => 1,
            Strands::Both => 2,
        }
    }

    pub fn n_pairs(&self) -> usize {
        match self.args.pairs {
            Pairs::Pairwise => self.queries.len(),
            Pairs::All => self.queries.len() * self.subjects.len(),
        }
    }

    /// The indices of the query and the subject of some pairs; both strands are adjacent. There may be too many pairs for a list of all.
    pub fn pairs(&self, range: Range<usize>) -> Vec<(usize, usize)> {
        let (n_strands, n_subjects) = (self.n_strands(), self.subjects.len());
        let n_queries = self.queries.len() / n_strands;
        let of_strand = |k: usize| {
            let (k, strand) = (k / n_strands, k % n_strands);
            let (i, j) = match self.args.pairs {
                Pairs::Pairwise => (k, k),
                Pairs::All => (k / n_subjects, k % n_subjects),
            };
            (i + strand * n_queries, j)
        };
        range.map(of_strand).collect()
    }

    pub fn n_cells(&self) -> u64 {
        let length = |sequence: &Sequence| sequence.letters.len() as u64;
        match self.args.pairs {
            Pairs::Pairwise => {
                let pairs = self.queries.iter().zip(self.subjects.iter().cycle());
                pairs.map(|(query, subject)| length(query) * length(subject)).sum()
            }
            Pairs::All => {
                let sum = |all: &[Sequence]| all.iter().map(length).sum::<u64>();
                sum(self.queries).saturating_mul(sum(self.subjects))
            }
        }
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
        if self.args.format == Format::Sam {
            output::sam_header(out, self.subjects)?;
        }
        let has_path = self.work().has_path();
        let mut printer = Printer { job: self, is_coloured, is_first: true, group: vec![] };
        with_progress(self.n_cells(), || {
            let n_strands = self.n_strands();
            let size = if self.work().is_batch() { BATCH } else { n_strands };
            for first in (0..self.n_pairs()).step_by(size) {
                let some = self.pairs(first..self.n_pairs().min(first + size));
                let codes: Vec<_> = some.iter().map(|&(i, j)| (&queries[i], &subjects[j])).collect();
                if has_path {
                    let found = self.alignments(&kernel, &codes)?;
                    for (strands, found) in some.chunks(n_strands).zip(found.chunks(n_strands)) {
                        let best = best(found.iter().map(|found| found.score));
                        printer.print(out, self.pair(strands[best]), &found[best])?;
                    }
                } else {
                    let scores = self.scores(&kernel, &codes)?;
                    for (strands, scores) in some.chunks(n_strands).zip(scores.chunks(n_strands)) {
                        let best = best(scores.iter().copied());
                        output::score(out, self.pair(strands[best]), scores[best], n_strands > 1)?;
                    }
                }
            }
            printer.finish(out)
        })
    }

    /// The scores of pairs.
    pub fn scores(&self, kernel: &Kernel, pairs: &[(&Codes, &Codes)]) -> Result<Vec<i32>> {
        if self.work().is_batch() {
            kernel.scores(pairs)
        } else {
            pairs.iter().map(|(query, subject)| kernel.score(query, subject)).collect()
        }
    }

    /// The best alignments of pairs.
    pub fn alignments(&self, kernel: &Kernel, pairs: &[(&Codes, &Codes)]) -> Result<Vec<Alignment>> {
        if self.work().is_batch() {
            kernel.align_all(pairs)
        } else {
            pairs.iter().map(|(query, subject)| kernel.align(query, subject)).collect()
        }
    }
}

/// The index of the best score, the first one if there are several.
fn best(scores: impl DoubleEndedIterator<Item = i32> + ExactSizeIterator) -> usize {
    scores.enumerate().rev().max_by_key(|&(_, score)| score).map_or(0, |(i, _)| i)
}

/// Prints alignments.
struct Printer<'a> {
    job: &'a Job<'a>,
    is_coloured: bool,
    is_first: bool,
    /// The alignments of the current query, for SAM.
    group: Vec<(Pair<'a>, Alignment)>,
}

impl<'a> Printer<'a> {
    fn print(&mut self, out: &mut dyn Write, pair: Pair<'a>, found: &Alignment) -> Result<()> {
        let args = self.job.args;
        if let (Some(path), true) = (&args.picture, self.is_first) {
            picture::write(path, pair, found)?;
        }
        self.is_first = false;
        let has_strand = args.strand == Strands::Both;
        match args.format {
            Format::Tsv => output::score(out, pair, found.score, has_strand)?,
            Format::Cigar => output::cigar(out, pair, found, has_strand)?,
            Format::Paf => output::paf(out, pair, found)?,
            Format::Human => output::human(out, pair, found, self.is_coloured)?,
            Format::Sam => {
                // Each query has a line of its own.
                if self.group.first().is_some_and(|(first, _)| first.query.line != pair.query.line) {
                    self.finish(out)?;
                }
                self.group.push((pair, found.clone()));
            }
        }
        Ok(())
    }

    /// Prints the buffered alignments of the current query.
    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        output::sam(out, &self.group)?;
        self.group.clear();
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
