//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};

/// Renders a scene of triangles: OBJ, PLY, glTF or GLB.
///
/// Kernels are written in Impala, and compiled for the machine when the app runs.
#[derive(Parser, Debug)]
#[command(name = "nyala-raytrace", version)]
pub struct Args {
    /// The scene
    pub scene: PathBuf,

    /// The picture, PNG
    #[arg(short, long, value_name = "FILE", default_value = "out.png", value_parser = png)]
    pub output: PathBuf,

    /// What is computed
    #[arg(long, value_enum, default_value = "primary")]
    pub mode: Mode,

    /// Width and height of the picture
    #[arg(long, value_name = "WxH", default_value = "800x600", value_parser = size)]
    pub size: (u32, u32),

    /// Samples per pixel
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: u32,

    /// The most bounces of a path
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub bounces: u32,

    /// The position of the camera [default: such that the whole scene is visible]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = vector)]
    pub eye: Option<[f32; 3]>,

    /// The point that the camera looks at [default: the center of the scene]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = vector)]
    pub look_at: Option<[f32; 3]>,

    /// The direction that is up in the picture
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, default_value = "0,1,0", value_parser = vector)]
    pub up: [f32; 3],

    /// The field of view along the shorter side, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 45.0, value_parser = degrees)]
    pub fov: f32,

    /// The direction to the sun, for paths
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, default_value = "0.4,1,0.6", value_parser = vector)]
    pub sun: [f32; 3],

    /// The color of the sun
    #[arg(long, value_name = "R,G,B", default_value = "1.1,1,0.85", value_parser = vector)]
    pub sun_color: [f32; 3],

    /// The color of the sky
    #[arg(long, value_name = "R,G,B", default_value = "0.45,0.55,0.7", value_parser = vector)]
    pub sky: [f32; 3],

    /// How far ambient occlusion looks [default: a tenth of the scene's diagonal]
    #[arg(long, value_name = "DISTANCE", value_parser = distance)]
    pub distance: Option<f32>,

    /// A JSON file with `eye`, `look_at`, `up`, `fov`, `sun`, `sun_color`, `sky`, `distance`, `samples` and `bounces`, each optional; it overrides flags
    #[arg(long, value_name = "FILE")]
    pub view: Option<PathBuf>,

    /// The number of threads; 0 is one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub threads: u32,

    /// Trace rays on a device, such as cuda:0 or opencl:0
    #[arg(long, value_name = "PLATFORM:N", value_parser = device)]
    pub device: Option<Device>,

    /// Measure, and print millions of rays per second for each kind of ray
    #[arg(long)]
    pub bench: bool,

    /// Serve a page on this port of the loopback interface, where one turns the camera; 0 chooses a port
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "8080")]
    pub serve: Option<u16>,

    /// Print the program in Impala, and exit
    #[arg(long)]
    pub show_program: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The first triangles that rays hit, lit from the eye
    Primary,
    /// Ambient occlusion
    Ao,
    /// Diffuse path tracing
    Path,
}

/// A device of a platform, `cuda` or `opencl`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    pub platform: &'static str,
    pub number: u8,
}

fn png(text: &str) -> Result<PathBuf> {
    let path = PathBuf::from(text);
    let is_png = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    ensure!(is_png, "the name of a picture ends with .png");
    Ok(path)
}

fn device(text: &str) -> Result<Device> {
    let (platform, number) = text.split_once(':').unwrap_or((text, "0"));
    let platform = ["cuda", "opencl"].into_iter().find(|known| *known == platform);
    let platform = platform.with_context(|| format!("`{text}` is no device such as cuda:0 or opencl:0"))?;
    let number = number.parse().with_context(|| format!("`{number}` is not the number of a device"))?;
    Ok(Device { platform, number })
}

/// The most pixels of a picture; paths take 100 bytes for each.
const MOST_PIXELS: u32 = 1 << 26;

fn size(text: &str) -> Result<(u32, u32)> {
    let (width, height) = text.split_once('x').context("a size is written as 800x600")?;
    let side = |text: &str| match text.parse() {
        Ok(side @ 1..=16384u32) => Ok(side),
        _ => bail!("a side has 1 to 16384 pixels, not `{text}`"),
    };
    let (width, height) = (side(width)?, side(height)?);
    ensure!(width * height <= MOST_PIXELS, "a picture has at most {MOST_PIXELS} pixels");
    Ok((width, height))
}

/// Three finite numbers, separated by commas.
fn vector(text: &str) -> Result<[f32; 3]> {
    let numbers: Vec<f32> =
        text.split(',').filter_map(|part| part.trim().parse().ok()).filter(|x: &f32| x.is_finite()).collect();
    numbers.try_into().ok().with_context(|| format!("`{text}` is not three numbers such as 1,0.5,2"))
}

fn distance(text: &str) -> Result<f32> {
    match text.parse() {
        Ok(distance) if (0.0..=f32::MAX).contains(&distance) => Ok(distance),
        _ => bail!("a distance is a number that is not below zero"),
    }
}

fn degrees(text: &str) -> Result<f32> {
    match text.parse() {
        Ok(degrees) if degrees > 0.1 && degrees < 179.0 => Ok(degrees),
        _ => bail!("a field of view has 0.1 to 179 degrees"),
    }
}
