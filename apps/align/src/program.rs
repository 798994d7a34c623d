//! The program in Impala for a scoring, a mode and a device. It uses the library `align`.

use nyala_driver::embed::vector_bits;

use crate::cli::{Args, Device, Free, Letters, Matrix, Mode};

/// The name of the function of the host that kernels call with the number of cells that they have computed.
pub const DONE: &str = "nyala_align_done";

/// What a program computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The score of one pair.
    Score,
    /// The scores of many short pairs.
    Batch,
    /// The score and the path of one pair.
    Path,
    /// The scores and the paths of many short pairs.
    PathBatch,
}

impl Work {
    /// Whether it has paths.
    pub fn has_path(self) -> bool {
        matches!(self, Work::Path | Work::PathBatch)
    }

    /// Whether many pairs are computed at once.
    pub fn is_batch(self) -> bool {
        matches!(self, Work::Batch | Work::PathBatch)
    }
}

/// The program: its exported functions are those of [`crate::kernel`].
pub fn write(args: &Args, threads: u32, work: Work) -> String {
    let (scoring, mode) = (scoring(args), mode(args));
    let code = match args.letters {
        Letters::Dna => "dna_code",
        Letters::Protein => "protein_code",
    };
    let function = match work {
        Work::Score => SCORE.replace("EXPRESSION", &score_of_pair(args)),
        Work::Batch => BATCH.to_owned(),
        Work::Path => PATH.replace("EXPRESSION", &path_of_pair(args)),
        Work::PathBatch => PATH_BATCH.to_owned(),
    };
    format!(
        "// uses: align
use align::*;
extern \"C\" {{ fn {DONE}(i64) -> (); }}

fn @target() -> Target {{ reporting(@|cells| {DONE}(cells), on_threads({threads}, vectors_of({}))) }}
fn @scoring() -> Scoring {{ {scoring} }}
fn @mode() -> Mode {{ {mode} }}

extern fn encode(letters: &mut [u8], n: i32) -> () {{
    for i in range(0, n) {{ letters(i) = {code}(letters(i)); }}
}}
{function}",
        vector_bits()
    )
}

const SCORE: &str = "
extern fn score_pair(query: &[u8], n: i32, subject: &[u8], m: i32) -> i32 {
    EXPRESSION
}
";

const BATCH: &str = "
extern fn score_batch(n_pairs: i32, queries: &[u8], query_starts: &[i32], subjects: &[u8], subject_starts: &[i32],
                      scores: &mut [i32]) -> () {
    let batch = Batch {
        n_pairs: n_pairs, queries: queries, query_starts: query_starts, subjects: subjects, subject_starts: subject_starts
    };
    scores_of_batch(target(), mode(), scoring(), batch, scores)
}
";

const PATH: &str = "
extern fn align_pair(query: &[u8], n: i32, subject: &[u8], m: i32, runs: &mut [i32], found: &mut [i32]) -> () {
    let it = EXPRESSION;
    found(0) = it.score;
    found(1) = it.query_from;
    found(2) = it.query_to;
    found(3) = it.subject_from;
    found(4) = it.subject_to;
    found(5) = it.n_runs;
}
";

const PATH_BATCH: &str = "
extern fn align_batch_of(n_pairs: i32, queries: &[u8], query_starts: &[i32], subjects: &[u8], subject_starts: &[i32],
                         found: &mut [i32], runs: &mut [i32]) -> () {
    let batch = Batch {
        n_pairs: n_pairs, queries: queries, query_starts: query_starts, subjects: subjects, subject_starts: subject_starts
    };
    align_batch(target(), mode(), scoring(), batch, bitcast[&mut [Alignment]](found), runs)
}
";

fn score_of_pair(args: &Args) -> String {
    let sequences = "sequence(query, n), sequence(subject, m)";
    match (args.device, args.band) {
        (Device::Cuda(n), _) => format!("score_on_gpu(cuda_gpu({n}), mode(), scoring(), {sequences})"),
        (Device::Opencl(n), _) => format!("score_on_gpu(opencl_gpu({n}), mode(), scoring(), {sequences})"),
        (Device::Cpu, Some(band)) => {
            format!(
                "score_in_band(mode(), scoring(), {sequences}, min(m - n, 0) - {band}, max(m - n, 0) + {band}).score"
            )
        }
        (Device::Cpu, None) => format!("score(target(), mode(), scoring(), {sequences})"),
    }
}

fn path_of_pair(args: &Args) -> String {
    let sequences = "sequence(query, n), sequence(subject, m)";
    match args.band {
        Some(band) => {
            format!(
                "align_in_band(mode(), scoring(), {sequences}, min(m - n, 0) - {band}, max(m - n, 0) + {band}, runs)"
            )
        }
        None => format!("align(target(), mode(), scoring(), {sequences}, runs)"),
    }
}

fn scoring(args: &Args) -> String {
    let open = args.open.unwrap_or(if args.letters == Letters::Dna { 2 } else { 10 });
    let gaps = format!("affine({open}, {})", args.extend);
    match (args.letters, args.matrix) {
        (Letters::Dna, _) => format!("ambiguous({}, {}, {gaps})", args.same, args.different),
        (Letters::Protein, Matrix::Blosum62) => format!("blosum62({gaps})"),
        (Letters::Protein, Matrix::Pam250) => format!("pam250({gaps})"),
    }
}

fn mode(args: &Args) -> String {
    if !args.free.is_empty() {
        let is_free = |end| args.free.contains(&end);
        let ends = [Free::QueryStart, Free::QueryEnd, Free::SubjectStart, Free::SubjectEnd].map(is_free);
        return format!("free_ends({}, {}, {}, {})", ends[0], ends[1], ends[2], ends[3]);
    }
    match args.mode {
        Mode::Global => "global()",
        Mode::SemiGlobal => "semi_global()",
        Mode::Local => "local()",
    }
    .to_owned()
}
