//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};

/// Aligns the sequences of two files: FASTA or FASTQ, also compressed by gzip.
///
/// Kernels are written in Impala, and compiled for the scoring, the mode and the machine.
#[derive(Parser, Debug)]
#[command(name = "nyala-align", version)]
pub struct Args {
    /// The queries; `-` is standard input
    pub query: PathBuf,

    /// The subjects; `-` is standard input
    pub subject: PathBuf,

    /// Which queries are aligned with which subjects
    #[arg(long, value_enum, default_value = "all")]
    pub pairs: Pairs,

    /// Where alignments begin and end
    #[arg(long, value_enum, default_value = "global")]
    pub mode: Mode,

    /// Letters that need no partner, separated by commas, instead of `--mode`: query-start, query-end, subject-start, subject-end
    #[arg(long, value_enum, value_name = "ENDS", value_delimiter = ',', conflicts_with = "mode")]
    pub free: Vec<Free>,

    /// The kind of sequences
    #[arg(long, value_enum, default_value = "dna")]
    pub letters: Letters,

    /// The strands of queries; of both, the one with the better score is printed
    #[arg(long, value_enum, default_value = "forward")]
    pub strand: Strands,

    /// The score of equal letters of DNA
    #[arg(long, value_name = "SCORE", default_value_t = 2, value_parser = clap::value_parser!(i32).range(0..=10_000))]
    pub same: i32,

    /// The score of different letters of DNA
    #[arg(long, value_name = "SCORE", default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-10_000..=10_000))]
    pub different: i32,

    /// The scores of amino acids
    #[arg(long, value_enum, default_value = "blosum62")]
    pub matrix: Matrix,

    /// The cost of a gap, besides that of its letters; 0 for linear gaps [default: 2, and 10 for proteins]
    #[arg(long, value_name = "COST", value_parser = clap::value_parser!(i32).range(0..=10_000))]
    pub open: Option<i32>,

    /// The cost of each letter of a gap
    #[arg(long, value_name = "COST", default_value_t = 1, value_parser = clap::value_parser!(i32).range(0..=10_000))]
    pub extend: i32,

    /// Only alignments whose path is at most this far from the diagonal, which is fast for similar sequences
    #[arg(long, value_name = "LETTERS", value_parser = clap::value_parser!(i32).range(0..=1_000_000))]
    pub band: Option<i32>,

    /// What is printed
    #[arg(long, value_enum, default_value = "tsv")]
    pub format: Format,

    /// The output file; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// A picture of the first pair, PNG or SVG: common words as dots, and the path
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,

    /// Whether readable alignments are coloured
    #[arg(long, value_enum, default_value = "auto")]
    pub color: Color,

    /// The device that computes scores: cpu, cuda:N or opencl:N
    #[arg(long, default_value = "cpu", value_parser = Device::parse)]
    pub device: Device,

    /// The number of threads; 0 is one per core
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub threads: u32,

    /// Compute several times, and print the speed in GCUPS: billions of cells per second
    #[arg(long)]
    pub bench: bool,

    /// Print the program in Impala, and exit
    #[arg(long)]
    pub show_program: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// Each query with each subject
    All,
    /// The first query with the first subject, and so on
    Pairwise,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Both sequences as a whole
    Global,
    /// Gaps at all ends are free
    SemiGlobal,
    /// The best parts of both sequences
    Local,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Free {
    QueryStart,
    QueryEnd,
    SubjectStart,
    SubjectEnd,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Letters {
    /// Nucleotides, with the ambiguity codes of IUPAC; two codes are equal if they have a nucleotide in common
    Dna,
    /// Amino acids
    Protein,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strands {
    /// As they are in the file
    Forward,
    /// Their reverse complements too
    Both,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matrix {
    Blosum62,
    Pam250,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Names and scores
    Tsv,
    /// Names, scores, ranges and paths as CIGAR
    Cigar,
    Sam,
    Paf,
    /// Aligned letters below each other
    Human,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless the environment variable NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    Cpu,
    Cuda(u32),
    Opencl(u32),
}

impl Device {
    fn parse(text: &str) -> Result<Device> {
        let (platform, number) = text.split_once(':').unwrap_or((text, "0"));
        let number = || number.parse().with_context(|| format!("`{number}` is not the number of a device"));
        match platform {
            "cpu" if text == "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(number()?)),
            "opencl" => Ok(Device::Opencl(number()?)),
            _ => bail!("a device is `cpu`, `cuda:N` or `opencl:N`"),
        }
    }
}
