//! The command line.

use std::path::PathBuf;
use std::thread;

use clap::Parser;

use crate::program::Processors;

/// Solves Poisson, heat and wave problems
#[derive(Parser)]
#[command(name = "nyala-multigrid", version)]
pub struct Args {
    /// The problem, in TOML
    pub problem: PathBuf,

    /// Write the solution as a PNG picture, or a time series as a GIF animation
    #[arg(short, long, value_name = "FILE.png|FILE.gif")]
    pub output: Option<PathBuf>,

    /// Write the frames of a time series as PNG pictures into this folder
    #[arg(long, value_name = "FOLDER")]
    pub frames: Option<PathBuf>,

    /// Write the solution for ParaView and others
    #[arg(long, value_name = "FILE.vtk")]
    pub vtk: Option<PathBuf>,

    /// Store the state here from time to time, and go on from it if it exists
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// The number of threads; 0 are all cores [default: 0, with `--mpi` 1]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Work as one of several processes of Open MPI, which `mpirun` starts. All of them read the same files, the first one writes
    #[arg(long)]
    pub mpi: bool,

    /// Print the program in Impala and exit
    #[arg(long)]
    pub show_program: bool,
}

impl Args {
    pub fn processors(&self) -> Processors {
        let threads = match self.threads.unwrap_or(u32::from(self.mpi)) {
            0 => thread::available_parallelism().map_or(1, |n| n.get() as u32),
            n => n,
        };
        Processors { threads, mpi: self.mpi }
    }
}
