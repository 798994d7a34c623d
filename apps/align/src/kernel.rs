//! Programs as functions of sequences. They are compiled when the app runs, in a fraction of a second: the code is specialized to the
//! scoring, the mode and the kind of result.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use nyala_driver::embed::{Compiler, Function, Module};

use crate::cli::Args;
use crate::program::{self, DONE, Work};

type Encode = unsafe extern "C" fn(*mut u8, i32);
type ScorePair = unsafe extern "C" fn(*const u8, i32, *const u8, i32) -> i32;
type ScoreBatch = unsafe extern "C" fn(i32, *const u8, *const i32, *const u8, *const i32, *mut i32);
type AlignPair = unsafe extern "C" fn(*const u8, i32, *const u8, i32, *mut i32, *mut i32);
type AlignBatch = unsafe extern "C" fn(i32, *const u8, *const i32, *const u8, *const i32, *mut i32, *mut i32);

/// The number of cells that kernels have computed.
pub static N_DONE: AtomicU64 = AtomicU64::new(0);

extern "C" fn done(n_cells: i64) {
    N_DONE.fetch_add(n_cells.unsigned_abs(), Ordering::Relaxed);
}

/// The program for one kind of work.
pub struct Kernel {
    encode: Function<Encode>,
    work: Compiled,
}

enum Compiled {
    Score(Function<ScorePair>),
    Batch(Function<ScoreBatch>),
    Path(Function<AlignPair>),
    PathBatch(Function<AlignBatch>),
}

/// The letters of a sequence as kernels need them.
pub struct Codes(Vec<u8>);

/// An alignment: ranges of letters, and a path between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    pub score: i32,
    pub query: std::ops::Range<usize>,
    pub subject: std::ops::Range<usize>,
    pub path: Vec<(Step, usize)>,
}

/// A part of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Letters of both sequences.
    Pair,
    /// Letters of the query alone.
    Query,
    /// Letters of the subject alone.
    Subject,
}

impl Kernel {
    pub fn compile(args: &Args, threads: u32, work: Work) -> Result<Kernel> {
        let text = program::write(args, threads, work);
        let compiler = Compiler::new().text("program.impala", text);
        let module: Module = compiler.define(DONE, done as extern "C" fn(i64)).compile()?;
        // SAFETY: the methods below pass valid arguments.
        unsafe {
            let work = match work {
                Work::Score => Compiled::Score(module.function("score_pair")?),
                Work::Batch => Compiled::Batch(module.function("score_batch")?),
                Work::Path => Compiled::Path(module.function("align_pair")?),
                Work::PathBatch => Compiled::PathBatch(module.function("align_batch_of")?),
            };
            Ok(Kernel { encode: module.function("encode")?, work })
        }
    }

    pub fn encode(&self, letters: &[u8]) -> Codes {
        let mut codes = letters.to_vec();
        let n = codes.len() as i32;
        // SAFETY: the function replaces `n` bytes.
        unsafe { (self.encode)(codes.as_mut_ptr(), n) };
        Codes(codes)
    }

    /// The score of a pair.
    pub fn score(&self, query: &Codes, subject: &Codes) -> Result<i32> {
        let Compiled::Score(score) = &self.work else {
            bail!("the kernel was not compiled for single scores")
        };
        let (Codes(query), Codes(subject)) = (query, subject);
        // SAFETY: the function reads the letters of both sequences.
        Ok(unsafe { score(query.as_ptr(), query.len() as i32, subject.as_ptr(), subject.len() as i32) })
    }

    /// The scores of pairs.
    pub fn scores(&self, pairs: &[(&Codes, &Codes)]) -> Result<Vec<i32>> {
        let Compiled::Batch(score) = &self.work else { bail!("the kernel was not compiled for batches") };
        let queries = Joined::of(pairs.iter().map(|pair| pair.0))?;
        let subjects = Joined::of(pairs.iter().map(|pair| pair.1))?;
        let mut scores = vec![0; pairs.len()];
        // SAFETY: there is one more start than there are sequences, and one score for each pair.
        unsafe {
            score(
                pairs.len() as i32,
                queries.letters.as_ptr(),
                queries.starts.as_ptr(),
                subjects.letters.as_ptr(),
                subjects.starts.as_ptr(),
                scores.as_mut_ptr(),
            );
        }
        Ok(scores)
    }

    /// The best alignment of a pair.
    pub fn align(&self, query: &Codes, subject: &Codes) -> Result<Alignment> {
        let Compiled::Path(align) = &self.work else { bail!("the kernel was not compiled for paths") };
        let (Codes(query), Codes(subject)) = (query, subject);
        let mut runs = vec![0; query.len() + subject.len() + 1];
        let mut found = [0; 6];
        // SAFETY: a path has at most one run for each letter; the numbers of an alignment are six.
        unsafe {
            align(
                query.as_ptr(),
                query.len() as i32,
                subject.as_ptr(),
                subject.len() as i32,
                runs.as_mut_ptr(),
                found.as_mut_ptr(),
            );
        }
        Ok(Alignment::of(found, &runs))
    }

    /// The best alignments of pairs.
    pub fn align_all(&self, pairs: &[(&Codes, &Codes)]) -> Result<Vec<Alignment>> {
        let Compiled::PathBatch(align) = &self.work else {
            bail!("the kernel was not compiled for batches of paths")
        };
        let queries = Joined::of(pairs.iter().map(|pair| pair.0))?;
        let subjects = Joined::of(pairs.iter().map(|pair| pair.1))?;
        let mut runs = vec![0; queries.letters.len() + subjects.letters.len() + 1];
        let mut found = vec![[0; 6]; pairs.len()];
        // SAFETY: there is one more start than there are sequences, six numbers for each alignment, and a run for each letter.
        unsafe {
            align(
                pairs.len() as i32,
                queries.letters.as_ptr(),
                queries.starts.as_ptr(),
                subjects.letters.as_ptr(),
                subjects.starts.as_ptr(),
                found.as_flattened_mut().as_mut_ptr(),
                runs.as_mut_ptr(),
            );
        }
        let first_run = |i: usize| (queries.starts[i] + subjects.starts[i]) as usize;
        Ok(found.iter().enumerate().map(|(i, &found)| Alignment::of(found, &runs[first_run(i)..])).collect())
    }
}

impl Alignment {
    /// From the numbers of an alignment in Impala, and its runs.
    fn of(
        [score, query_from, query_to, subject_from, subject_to, n_runs]: [i32; 6],
        runs: &[i32],
    ) -> Alignment {
        let step = |&run: &i32| {
            let step = [Step::Pair, Step::Query, Step::Subject][run as usize & 3];
            (step, run as usize >> 2)
        };
        Alignment {
            score,
            query: query_from as usize..query_to as usize,
            subject: subject_from as usize..subject_to as usize,
            path: runs[..n_runs as usize].iter().map(step).collect(),
        }
    }
}

/// Sequences one after the other.
struct Joined {
    letters: Vec<u8>,
    starts: Vec<i32>,
}

impl Joined {
    fn of<'a>(all: impl Iterator<Item = &'a Codes>) -> Result<Joined> {
        let mut joined = Joined { letters: vec![], starts: vec![0] };
        for Codes(letters) in all {
            joined.letters.extend_from_slice(letters);
            joined.starts.push(i32::try_from(joined.letters.len())?);
        }
        Ok(joined)
    }
}
