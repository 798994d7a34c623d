//! `nyala filter`: apply an image filter to a picture.

mod show;

use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum, value_parser};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use nyala_driver::{Options, Session};
use nyala_filter::{Boundary, Device, Engine, Filter, Picture, RenderOptions, Renderer, Rules, files, gif};
use nyala_span::Diagnostic;

use crate::cli::MessageArgs;
use crate::output::{self, Mode, NewFile};

/// Apply an image filter to a picture
///
/// The filter is a file in the image-filter language. It is specialized to the size of the picture and the number
/// of the frame, and compiled.
#[derive(Args)]
pub struct FilterArgs {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// The picture, a PNG file
    #[arg(value_name = "PICTURE")]
    picture: PathBuf,
    /// The file to write: .png, .apng or .gif. Several frames as .png are a sequence of files with numbers
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["show", "residual"])]
    output: Option<PathBuf>,
    /// The number of frames; `iter` is 0 for the first one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(i32).range(1..=100_000))]
    frames: i32,
    /// Apply the filter to the frame before, and not to the picture
    #[arg(long)]
    iterate: bool,
    /// Milliseconds between frames of an animation
    #[arg(long, value_name = "MS", default_value_t = 40)]
    delay: u16,
    /// Render again whenever the filter's file is saved
    #[arg(long, conflicts_with = "show")]
    watch: bool,
    /// Show source, picture and frames on a page of this machine
    #[arg(long)]
    show: bool,
    /// Print what partial evaluation leaves of the filter for this picture and the first frame, and do not apply it
    #[arg(long, conflicts_with_all = ["show", "watch", "output", "engine"])]
    residual: bool,
    /// The port of the page; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "show")]
    port: u16,
    /// Do not open the page in a browser
    #[arg(long, requires = "show")]
    no_open: bool,
    #[command(flatten)]
    rendering: RenderingArgs,
    #[command(flatten)]
    messages: MessageArgs,
}

/// How pixels are computed.
#[derive(Args)]
struct RenderingArgs {
    /// The pixels outside of the picture
    #[arg(long, value_enum, value_name = "MODE", default_value = "clamp")]
    boundary: BoundaryArg,
    /// How pixels are computed
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "specialize")]
    engine: EngineArg,
    /// Where native code runs
    #[arg(long, value_enum, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceArg,
    /// The number of threads; 0 is one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(i32).range(0..=1024))]
    threads: i32,
    /// The most terms of a sum for one pixel, with the terms of the sums around it
    #[arg(long, value_name = "N", default_value_t = Rules::default().max_terms, value_parser = value_parser!(i64).range(1..=1 << 30))]
    max_terms: i64,
    /// The most leaves of an unrolled sum
    #[arg(long, value_name = "N", default_value_t = RenderOptions::default().unroll_leaves)]
    unroll: usize,
    /// Print the times of compilation and of rendering
    #[arg(long)]
    time: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BoundaryArg {
    /// The nearest pixel
    Clamp,
    /// The picture, repeated
    Wrap,
    /// The picture, mirrored at its edges
    Mirror,
    /// An error that names the pixel
    Error,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceArg {
    /// The processor
    Cpu,
    /// The first device of OpenCL
    Opencl,
    /// The first GPU of CUDA
    Cuda,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// The interpreter
    Interpret,
    /// Native code for all frames
    Compile,
    /// Native code after partial evaluation, for each frame if the filter uses `iter`
    Specialize,
}

pub fn run(args: FilterArgs) -> anyhow::Result<ExitCode> {
    if args.show {
        let picture = read_picture(&args.picture)?;
        let (filter, options, n_frames) = (args.filter.clone(), args.options(), args.frames);
        show::serve(show::Shown { filter, picture, options, n_frames }, args.port, !args.no_open)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.residual {
        return show_residual(&args);
    }
    let output = args.output.clone().unwrap_or_default();
    let format = Format::of(&output, args.frames)?;
    if !args.watch {
        return render(&args, &output, format);
    }
    loop {
        let before = show::changed(&args.filter);
        // Errors are shown, and the next version is waited for.
        match render(&args, &output, format) {
            Ok(status) if status == ExitCode::SUCCESS => {
                output::print(&format!("wrote {}\n", output.display()))?
            }
            Ok(_) => {}
            Err(error) => {
                output::fail(&error);
            }
        }
        while show::changed(&args.filter) == before {
            thread::sleep(WATCH_INTERVAL);
        }
    }
}

/// Prints the filter after partial evaluation, with the sizes of the syntax trees.
fn show_residual(args: &FilterArgs) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(Options::default());
    let Some(filter) = load(&mut session, &args.filter) else {
        return Ok(output::show_diagnostics(&mut session, &args.messages)?);
    };
    let renderer = Renderer::new(filter, read_picture(&args.picture)?, args.options());
    let Some(residual) = renderer.residual(0) else {
        bail!("a loop or an unknown index of a matrix is left, which cannot be shown as a filter");
    };
    let (before, after) = (renderer.filter().size(), residual.size());
    output::print(&format!("# {before} nodes before evaluation, {after} after it\n{residual}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// How often `--watch` looks at the filter's file.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Renders all frames to the output.
fn render(args: &FilterArgs, output: &Path, format: Format) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(Options::default());
    let Some(filter) = load(&mut session, &args.filter) else {
        return Ok(output::show_diagnostics(&mut session, &args.messages)?);
    };
    let picture = read_picture(&args.picture)?;
    let mut renderer = Renderer::new(filter, picture, args.options());
    let mut frames = Frames::new(&mut renderer, args.frames);
    let encoded = encode(&mut frames, args.delay, format);
    frames.bar.finish_and_clear();
    session.diagnostics.append(&mut frames.errors);
    if session.has_errors() {
        return Ok(output::show_diagnostics(&mut session, &args.messages)?);
    }
    write(output, format, &encoded.map_err(anyhow::Error::msg)?)?;
    if args.rendering.time {
        show_times(&renderer);
    }
    Ok(ExitCode::SUCCESS)
}

impl FilterArgs {
    fn options(&self) -> RenderOptions {
        let RenderingArgs { boundary, engine, device, threads, max_terms, unroll, .. } = self.rendering;
        let device = match device {
            DeviceArg::Cpu => Device::Cpu,
            DeviceArg::Opencl => Device::OpenCl,
            DeviceArg::Cuda => Device::Cuda,
        };
        let boundary = match boundary {
            BoundaryArg::Clamp => Boundary::Clamp,
            BoundaryArg::Wrap => Boundary::Wrap,
            BoundaryArg::Mirror => Boundary::Mirror,
            BoundaryArg::Error => Boundary::Error,
        };
        let engine = match engine {
            EngineArg::Interpret => Engine::Interpret,
            EngineArg::Compile => Engine::Compile,
            EngineArg::Specialize => Engine::Specialize,
        };
        let rules = Rules { boundary, max_terms };
        RenderOptions { engine, rules, iterate: self.iterate, threads, unroll_leaves: unroll, device }
    }
}

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Png,
    Sequence,
    Apng,
    Gif,
}

impl Format {
    fn of(path: &Path, n_frames: i32) -> anyhow::Result<Format> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("png") if n_frames > 1 => Ok(Format::Sequence),
            Some("png") => Ok(Format::Png),
            Some("apng") => Ok(Format::Apng),
            Some("gif") => Ok(Format::Gif),
            _ => bail!("`{}` must end in .png, .apng or .gif", path.display()),
        }
    }
}

/// Reads and checks a filter. Errors are reported to the session.
fn load(session: &mut Session, path: &Path) -> Option<Filter> {
    session.load(path);
    let (_, file) = session.sources.files().last()?;
    match nyala_filter::parse(file) {
        Ok(filter) => Some(filter),
        Err(errors) => {
            session.diagnostics.extend(errors);
            None
        }
    }
}

fn read_picture(path: &Path) -> anyhow::Result<Picture> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
    files::decode(&bytes).map_err(|error| anyhow::anyhow!("`{name}` is no picture that can be read: {error}"))
}

/// The frames of a filter, rendered one after the other, with a progress bar if there are several. They end at the
/// first fault.
struct Frames<'a> {
    renderer: &'a mut Renderer,
    numbers: Range<i32>,
    bar: ProgressBar,
    errors: Vec<Diagnostic>,
}

impl Frames<'_> {
    fn new(renderer: &mut Renderer, n_frames: i32) -> Frames<'_> {
        let bar = if n_frames > 1 { ProgressBar::new(n_frames as u64) } else { ProgressBar::hidden() };
        bar.set_style(style());
        Frames { renderer, numbers: 0..n_frames, bar, errors: vec![] }
    }
}

impl Iterator for Frames<'_> {
    type Item = Picture;

    fn next(&mut self) -> Option<Picture> {
        if !self.errors.is_empty() {
            return None;
        }
        match self.renderer.frame(self.numbers.next()?) {
            Ok(frame) => {
                self.bar.inc(1);
                Some(frame)
            }
            Err(errors) => {
                self.errors = errors;
                None
            }
        }
    }
}

fn style() -> ProgressStyle {
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        // A failure of the terminal is ignored.
        let _ = write!(out, "{:.1} frames/s", state.per_sec());
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {rate} {eta} left");
    style.expect("the template is valid").with_key("rate", rate)
}

/// The files of the output. No more than one frame is in memory, besides the files.
fn encode(frames: &mut Frames<'_>, delay: u16, format: Format) -> Result<Vec<Vec<u8>>, String> {
    match format {
        Format::Png | Format::Sequence => frames.map(|frame| files::encode(&frame)).collect(),
        Format::Apng => Ok(vec![files::animation(frames.numbers.len() as u32, frames, delay)?]),
        Format::Gif => Ok(vec![gif::animation(frames, delay)?]),
    }
}

/// Writes the files of the output: a sequence is `name-0000.png`, `name-0001.png`, ..
fn write(path: &Path, format: Format, contents: &[Vec<u8>]) -> anyhow::Result<()> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let numbered = |number| match format {
        Format::Sequence => path.with_file_name(format!("{stem}-{number:04}.png")),
        _ => path.to_owned(),
    };
    let file = |(number, contents)| NewFile { path: numbered(number), contents, mode: Mode::Plain };
    let files: Vec<NewFile<'_>> = contents.iter().map(Vec::as_slice).enumerate().map(file).collect();
    output::write_files(&files)
}

fn show_times(renderer: &Renderer) {
    let times = renderer.times;
    let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    // If standard error is closed, there is nothing left to do.
    let _ = io::Write::write_fmt(
        &mut io::stderr(),
        format_args!(
            "compiled {} times in {:.1} ms, rendered in {:.1} ms\n",
            times.n_compiled,
            millis(times.compile),
            millis(times.run)
        ),
    );
}
