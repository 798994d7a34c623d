//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Filters pictures: PNG, JPEG, TIFF and WebP, of 8 and 16 bits, gray or in colour.
///
/// Filters are written in Impala, and compiled for the chain, the schedule and the format of the picture.
#[derive(Parser, Debug)]
#[command(name = "nyala-image", version)]
pub struct Args {
    /// Filters, separated by commas, with parameters after colons: `gauss:sigma=2,unsharp`
    #[arg(required_unless_present = "list")]
    pub filter: Option<String>,

    /// Pictures, and folders of pictures
    #[arg(required_unless_present = "list")]
    pub inputs: Vec<PathBuf>,

    /// The output file; its extension sets the format. For several pictures, a folder
    #[arg(short, long, required_unless_present_any = ["list", "bench", "show_program"])]
    pub output: Option<PathBuf>,

    /// Another filter, applied to the result of those before; may be repeated
    #[arg(long, value_name = "FILTER")]
    pub then: Vec<String>,

    /// Filters of your own: an Impala file or the folder of a package, with functions whose result is a `Stencil[f32, f32]`; may be repeated
    #[arg(long, value_name = "FILE")]
    pub filters: Vec<PathBuf>,

    /// The boundary mode: the value of pixels outside of the picture
    #[arg(long, value_enum, default_value = "mirror")]
    pub boundary: Boundary,

    /// The value outside of the picture, between 0 and 1, for `--boundary constant`
    #[arg(long, value_name = "VALUE", default_value_t = 0.0)]
    pub outside: f32,

    /// How a picture is computed: seq, vec, rows, tile or par, or an expression in Impala with the operator `op`, such
    /// as `tile_at_most(256, 32, rows(4, 16, op))`; on a device: pixel or column, or as `tile_gpu(acc, 32, 4, at_once(1, 2, op))`
    #[arg(long, value_name = "SCHEDULE")]
    pub schedule: Option<String>,

    /// The device that computes
    #[arg(long, value_enum, default_value = "cpu")]
    pub device: Device,

    /// The number of threads; 0 is one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=1024))]
    pub threads: i32,

    /// Bits of each channel of the result; those of the picture if not given
    #[arg(long, value_enum)]
    pub bits: Option<Bits>,

    /// Compute several times, and print the speed
    #[arg(long)]
    pub bench: bool,

    /// Print how long each picture takes: to read, compile, filter and write
    #[arg(long)]
    pub time: bool,

    /// Print the program in Impala, and exit
    #[arg(long)]
    pub show_program: bool,

    /// List all filters with their parameters
    #[arg(long)]
    pub list: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boundary {
    /// The nearest pixel
    Clamp,
    /// The picture, mirrored at its edge
    Mirror,
    /// The picture, repeated
    Wrap,
    /// A constant
    Constant,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// The processor
    Cpu,
    /// The first device of OpenCL
    Opencl,
    /// The first GPU of CUDA
    Cuda,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bits {
    #[value(name = "8")]
    Eight,
    #[value(name = "16")]
    Sixteen,
}
