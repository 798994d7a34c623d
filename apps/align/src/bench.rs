//! Measures the speed of a job.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::pairs::Job;

/// The duration of a measurement.
const TIME: Duration = Duration::from_secs(2);

/// Computes all pairs repeatedly and prints the best speed. The sum of scores tells whether two runs computed the same.
pub fn measure(job: &Job) -> Result<()> {
    let start = Instant::now();
    let kernel = job.compile()?;
    let compile = start.elapsed();
    let queries: Vec<_> = job.queries.iter().map(|query| kernel.encode(&query.letters)).collect();
    let subjects: Vec<_> = job.subjects.iter().map(|subject| kernel.encode(&subject.letters)).collect();
    let pairs = job.pairs(0..job.n_pairs());
    let codes: Vec<_> = pairs.iter().map(|&(i, j)| (&queries[i], &subjects[j])).collect();
    let sum_of_scores = || -> Result<i64> {
        let scores = if job.work().has_path() {
            job.alignments(&kernel, &codes)?.into_iter().map(|found| found.score).collect()
        } else {
            job.scores(&kernel, &codes)?
        };
        Ok(scores.into_iter().map(i64::from).sum())
    };
    let (mut best, mut n, mut sum, start) = (Duration::MAX, 0, 0, Instant::now());
    while n == 0 || start.elapsed() < TIME {
        let start = Instant::now();
        sum = sum_of_scores()?;
        best = best.min(start.elapsed());
        n += 1;
    }
    let cells = job.n_cells() as f64;
    println!(
        "{} pairs, {cells:.3e} cells: {:.2} ms, {:.2} GCUPS (best of {n}); compiled in {:.0} ms; sum of scores {sum}",
        pairs.len(),
        best.as_secs_f64() * 1e3,
        cells / best.as_secs_f64() / 1e9,
        compile.as_secs_f64() * 1e3
    );
    Ok(())
}
