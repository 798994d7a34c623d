//! The filters of the library `stencil`, as native code, agree with plain loops (`reference`): for all boundary
//! modes, and for sizes smaller than their footprint. The functions are those of `tests/images/filters.impala`.
//!
//! Kernels run on the first device of OpenCL, if there is one: PoCL needs no GPU. They are the functions of
//! `tests/images/devices.impala`.
//!
//! Pictures of 4096 x 4096 pixels take minutes, so these tests are ignored by default; `cargo xtask images` runs them.

mod reference;

use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_driver::embed::Compiler;
use nyala_driver::embed::signature::CType;
use nyala_driver::embed::specialize::Specializer;
use nyala_tests::files;
use nyala_tests::random::Random;

use reference::{BOUNDARIES, Boundary, Picture, Remap};

const SMALL: &[(i32, i32)] = &[(1, 1), (3, 7), (41, 2), (257, 131)];
const LARGE: &[(i32, i32)] = &[(4096, 4096)];

/// A filter: the function in Impala, and its reference.
struct Filter {
    name: &'static str,
    reference_filter: fn(&Picture) -> Picture,
    /// The tolerance of a pixel.
    tolerance: f64,
    /// The fraction of pixels that may differ more: where a decision depends on the last digit.
    undecided: f64,
    has_boundary: bool,
}

impl Filter {
    const fn new(name: &'static str, reference_filter: fn(&Picture) -> Picture) -> Filter {
        Filter { name, reference_filter, tolerance: 2e-5, undecided: 0.0, has_boundary: true }
    }

    fn boundaries(&self) -> &'static [Boundary] {
        if self.has_boundary { &BOUNDARIES } else { &BOUNDARIES[..1] }
    }

    /// The name of a test of the filter.
    fn title(&self, boundary: Boundary) -> String {
        match self.has_boundary {
            true => format!("{} {boundary:?}", self.name),
            false => self.name.to_owned(),
        }
    }
}

const FILTERS: &[Filter] = &[
    Filter::new("box_blur_3", |picture| reference::box_blur(picture, 1)),
    Filter::new("gaussian_5", |picture| reference::gaussian(picture, 2, 1.1)),
    Filter::new("gaussian_13", |picture| reference::gaussian(picture, 6, 2.0)),
    Filter::new("sobel_x", reference::sobel_x),
    Filter::new("sobel_y", reference::sobel_y),
    Filter::new("gradient", reference::gradient_size),
    Filter::new("laplacian", reference::laplace),
    Filter::new("corners", |picture| reference::harris(picture, 0.04)),
    Filter::new("sharpen", |picture| reference::unsharp(picture, 1.5, 2, 1.1)),
    Filter::new("bilateral_5", |picture| reference::bilateral(picture, 2, 1.5, 0.2)),
    Filter { tolerance: 0.0, ..Filter::new("median_3", |picture| reference::median(picture, 1)) },
    Filter { tolerance: 0.0, ..Filter::new("median_5", |picture| reference::median(picture, 2)) },
    Filter { tolerance: 0.0, ..Filter::new("edges", reference::ridges) },
    Filter::new("jacobi_step", |picture| reference::jacobi(picture, 0.5)),
    Filter::new("grid", |picture| reference::bilateral_grid(picture, 8, 0.1)),
    Filter::new("odd_grid", |picture| reference::bilateral_grid(picture, 5, 0.037)),
    Filter::new("laplacian_pyramid", |picture| {
        reference::local_laplacian(picture, 4, 5, &Remap { sigma: 0.2, detail: 0.75, edge: 0.9 })
    }),
    // A ridge where two adjacent pixels differ in the last digit may move by a pixel.
    Filter {
        undecided: 0.002,
        ..Filter::new("canny_edges", |picture| reference::canny(picture, 0.05, 0.15))
    },
    Filter {
        tolerance: 0.0,
        has_boundary: false,
        ..Filter::new("connected", |picture| reference::connected(picture, 0.4, 0.8))
    },
    Filter { has_boundary: false, ..Filter::new("equalized", reference::equalize) },
];

fn main() -> ExitCode {
    let mut trials = vec![];
    for filter in FILTERS {
        for &boundary in filter.boundaries() {
            let name = filter.title(boundary);
            trials.push(
                Trial::test(&name, move || compare(&NATIVE, filter, boundary, SMALL)).with_kind("filter"),
            );
            let large =
                Trial::test(&name, move || compare(&NATIVE, filter, boundary, LARGE)).with_kind("large");
            trials.push(large.with_ignored_flag(true));
        }
    }
    add_kernels(&mut trials);
    trials.push(Trial::test("core", interior_only).with_kind("filter"));
    for layout in [Layout::Planar, Layout::Interleaved] {
        for &boundary in &BOUNDARIES {
            let mut add = |pixel: &str, test: fn(Layout, Boundary) -> Result<(), Failed>| {
                let name = format!("{layout:?} {pixel} {boundary:?}");
                trials.push(Trial::test(name, move || test(layout, boundary)).with_kind("layout"));
            };
            add("u8", channels::<u8>);
            add("u16", channels::<u16>);
            add("i32", channels::<i32>);
            add("f32", channels::<f32>);
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The functions under test. A function is specialized to each boundary mode.
type Functions = LazyLock<Specializer>;

static NATIVE: Functions = LazyLock::new(|| functions("filters.impala"));
static KERNELS: Functions = LazyLock::new(|| functions("devices.impala"));

fn functions(file: &str) -> Specializer {
    let path = files::repository().join("tests/images").join(file);
    let specializer = Compiler::new().file(path).opt_level(1).specializer();
    specializer.unwrap_or_else(|error| panic!("{error}"))
}

/// The filters on OpenCL; ignored if there is no device.
fn add_kernels(trials: &mut Vec<Trial>) {
    let devices = nyala_driver::device::list();
    let mut lines = devices.lines().skip_while(|line| *line != "OpenCL");
    let has_device = lines.nth(1).is_some_and(|line| line.starts_with("  "));
    if !has_device {
        eprintln!("skipped: filters on OpenCL, as there is no device");
    }
    for filter in FILTERS {
        for &boundary in filter.boundaries() {
            let trial =
                Trial::test(filter.title(boundary), move || compare(&KERNELS, filter, boundary, SMALL));
            trials.push(trial.with_kind("opencl").with_ignored_flag(!has_device));
        }
    }
}

/// Runs a function on a picture of this pixel type; pixels that it does not write stay 0.
fn run<T: CType + Copy + Default>(
    functions: &Functions,
    name: &str,
    boundary: Boundary,
    width: i32,
    height: i32,
    from: &[T],
) -> Result<Vec<T>, Failed> {
    type Function<T> = extern "C" fn(*mut T, *mut T, i32, i32);
    let (mut from, mut to) = (from.to_vec(), vec![T::default(); from.len()]);
    // SAFETY: the functions access as many pixels as both have; the tests check that.
    let function = unsafe { functions.function::<Function<T>>(name, &[Some((boundary as i32).into())]) }?;
    function(from.as_mut_ptr(), to.as_mut_ptr(), width, height);
    Ok(to)
}

/// A picture of noise and edges. Its values are multiples of 1/256, so that sums of a few are exact.
fn picture(width: i32, height: i32, boundary: Boundary) -> Picture {
    let mut random = Random::new(2018, u64::from(width.unsigned_abs()));
    let mut value = |x: i32, y: i32| (((x / 9 + y / 5) % 3) * 64 + random.below(96) as i32) as f64 / 256.0;
    let data = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| value(x, y)).collect();
    Picture { width: width.into(), height: height.into(), boundary, data }
}

fn compare(
    functions: &Functions,
    filter: &Filter,
    boundary: Boundary,
    sizes: &[(i32, i32)],
) -> Result<(), Failed> {
    for &(width, height) in sizes {
        let source = picture(width, height, boundary);
        let pixels: Vec<f32> = source.data.iter().map(|v| *v as f32).collect();
        let found = run(functions, filter.name, boundary, width, height, &pixels)?;
        let wanted = (filter.reference_filter)(&source);
        let is_wrong = |(found, wanted): &(&f32, &f64)| {
            let difference = (f64::from(**found) - **wanted).abs();
            difference.is_nan() || difference > filter.tolerance
        };
        let wrong: Vec<usize> = (found.iter().zip(&wanted.data).enumerate())
            .filter(|(_, pair)| is_wrong(pair))
            .map(|(index, _)| index)
            .collect();
        if wrong.len() as f64 > filter.undecided * found.len() as f64 {
            let (x, y) = (wrong[0] as i32 % width, wrong[0] as i32 / width);
            let (found, wanted) = (found[wrong[0]], wanted.data[wrong[0]]);
            let n = wrong.len();
            return Err(format!("{width}x{height}: {n} pixels, at {x}, {y}: {found}, wanted {wanted}").into());
        }
    }
    Ok(())
}

/// Without a boundary mode, the frame keeps its values, and the interior is computed.
fn interior_only() -> Result<(), Failed> {
    for &(width, height) in SMALL {
        let source = picture(width, height, Boundary::Clamp);
        let pixels: Vec<f32> = source.data.iter().map(|v| *v as f32).collect();
        let found = run(&NATIVE, "core", Boundary::Clamp, width, height, &pixels)?;
        let wanted = reference::gaussian(&source, 2, 1.1);
        for (index, (found, wanted)) in found.iter().zip(&wanted.data).enumerate() {
            let (x, y) = (index as i32 % width, index as i32 / width);
            let is_inside = x >= 2 && y >= 2 && x < width - 2 && y < height - 2;
            let wanted = if is_inside { *wanted } else { 0.0 };
            if (f64::from(*found) - wanted).abs() > 2e-5 {
                return Err(format!("{width}x{height}, at {x}, {y}: {found}, wanted {wanted}").into());
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Planar,
    Interleaved,
}

const N_CHANNELS: usize = 3;

/// A pixel type: its conversion from a number between 0 and 1, and the mean of nine pixels.
trait Pixel: CType + Copy + Default {
    const NAME: &str;

    fn of(value: f64) -> Self;
    /// The means of 3 x 3 pixels.
    fn blurred(source: &Picture) -> Picture {
        reference::box_blur(source, 1)
    }
    /// The pixel as a number between 0 and 1.
    fn value(self) -> f64;
    /// The rounding error of a pixel.
    const ROUNDED: f64;
}

macro_rules! whole_pixel {
    ($ty:ident) => {
        impl Pixel for $ty {
            const NAME: &str = stringify!($ty);
            const ROUNDED: f64 = 0.501 / $ty::MAX as f64;

            fn of(value: f64) -> $ty {
                (value * f64::from($ty::MAX)).round() as $ty
            }
            fn value(self) -> f64 {
                f64::from(self) / f64::from($ty::MAX)
            }
        }
    };
}

whole_pixel!(u8);
whole_pixel!(u16);

impl Pixel for f32 {
    const NAME: &str = "f32";
    const ROUNDED: f64 = 1e-6;

    fn of(value: f64) -> f32 {
        value as f32
    }
    fn value(self) -> f64 {
        self.into()
    }
}

/// Numbers up to 256, whose means are rounded down for rows and then for columns.
impl Pixel for i32 {
    const NAME: &str = "i32";
    const ROUNDED: f64 = 0.0;

    fn of(value: f64) -> i32 {
        (value * 256.0) as i32
    }
    fn value(self) -> f64 {
        f64::from(self) / 256.0
    }
    fn blurred(source: &Picture) -> Picture {
        let at = |x, y| (source.at(x, y) * 256.0) as i32;
        let across = |x: i64, y: i64| (at(x - 1, y) + at(x, y) + at(x + 1, y)) / 3;
        source.map(|x, y| f64::from((across(x, y - 1) + across(x, y) + across(x, y + 1)) / 3) / 256.0)
    }
}

/// Three channels, each filtered separately.
fn channels<T: Pixel>(layout: Layout, boundary: Boundary) -> Result<(), Failed> {
    let name = format!("{layout:?}_{}", T::NAME).to_lowercase();
    for &(width, height) in SMALL {
        let size = (width * height) as usize;
        let place = |channel: usize, index: usize| match layout {
            Layout::Planar => channel * size + index,
            Layout::Interleaved => index * N_CHANNELS + channel,
        };
        let mut pixels = vec![T::default(); N_CHANNELS * size];
        let mut wanted = vec![0.0; pixels.len()];
        for channel in 0..N_CHANNELS {
            let mut source = picture(width, height, boundary);
            for (index, value) in source.data.iter_mut().enumerate() {
                let pixel = T::of(*value * (channel + 1) as f64 / N_CHANNELS as f64);
                pixels[place(channel, index)] = pixel;
                *value = pixel.value();
            }
            let blurred = T::blurred(&source);
            (0..size).for_each(|index| wanted[place(channel, index)] = blurred.data[index]);
        }
        let found = run(&NATIVE, &name, boundary, width, height, &pixels)?;
        for (index, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let found = found.value();
            if (found - wanted).abs() > T::ROUNDED {
                return Err(format!("{width}x{height}, at {index}: {found}, wanted {wanted}").into());
            }
        }
    }
    Ok(())
}
