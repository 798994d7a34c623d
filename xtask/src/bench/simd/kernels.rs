//! The kernels: their inputs, and the comparison of results.

use anyhow::Context as _;
use libloading::Library;
use nyala_tests::random::Random;

/// A function that all libraries have.
pub struct Kernel {
    pub name: &'static str,
    /// The number of lanes of ours. More lanes than fit into a register hide latencies.
    pub lanes: u32,
    /// The goal: the speedup over scalar C.
    pub goal: f64,
    /// The number of 32-bit results.
    pub n_results: usize,
    pub run: fn(&Library, &Inputs, &mut [u32]) -> anyhow::Result<()>,
    /// The value of such a result.
    meaning: fn(u32) -> f64,
    /// The tolerance, relative to the larger result or to 1.
    tolerance: f64,
    /// The fraction of results that may differ: rounding may change a branch.
    pub may_differ: f64,
}

pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "mandelbrot",
        lanes: 64,
        goal: 15.0,
        n_results: (MANDELBROT_WIDTH * MANDELBROT_HEIGHT) as usize,
        run: mandelbrot,
        meaning: integer,
        tolerance: 0.0,
        may_differ: 0.005,
    },
    Kernel {
        name: "aobench",
        lanes: 64,
        goal: 11.5,
        n_results: (AOBENCH_SIZE * AOBENCH_SIZE) as usize,
        run: aobench,
        meaning: float,
        tolerance: 0.02,
        may_differ: 0.02,
    },
    Kernel {
        name: "volume",
        lanes: 64,
        goal: 3.0,
        n_results: (VOLUME_SIZE * VOLUME_SIZE) as usize,
        run: volume,
        meaning: float,
        tolerance: 2e-3,
        may_differ: 0.005,
    },
    Kernel {
        name: "blackscholes",
        lanes: 64,
        goal: 10.0,
        n_results: OPTIONS,
        run: black_scholes,
        meaning: float,
        tolerance: 1e-4,
        may_differ: 1e-4,
    },
    Kernel {
        name: "binomial",
        lanes: 32,
        goal: 17.0,
        n_results: TREES,
        run: binomial,
        meaning: float,
        tolerance: 1e-3,
        may_differ: 1e-3,
    },
    Kernel {
        name: "nbody",
        lanes: 32,
        goal: 13.5,
        n_results: 3 * BODIES,
        run: nbody,
        meaning: float,
        tolerance: 1e-3,
        may_differ: 1e-3,
    },
    Kernel {
        name: "neighbours",
        lanes: 32,
        goal: 4.0,
        n_results: BODIES,
        run: neighbours,
        meaning: float,
        tolerance: 1e-4,
        may_differ: 1e-3,
    },
];

const MANDELBROT_WIDTH: i32 = 1536;
const MANDELBROT_HEIGHT: i32 = 1024;
const MANDELBROT_LIMIT: i32 = 256;
const AOBENCH_SIZE: i32 = 256;
const AOBENCH_SUBSAMPLES: i32 = 2;
const AOBENCH_SAMPLES: i32 = 4;
const VOLUME_SIZE: i32 = 512;
/// The edge length of the cube of densities.
const DENSITIES: usize = 128;
const OPTIONS: usize = 1 << 20;
const TREES: usize = 1 << 14;
const TREE_STEPS: i32 = 64;
const BODIES: usize = 4096;

/// The inputs of the kernels.
pub struct Inputs {
    densities: Vec<f32>,
    /// Price, strike, time, rate and volatility of each option.
    options: [Vec<f32>; 5],
    /// Position and mass of each body.
    bodies: [Vec<f32>; 4],
}

impl Inputs {
    pub fn new() -> Inputs {
        let mut random = Random::new(3, 0);
        let mut numbers = |count: usize, from: f32, to: f32| -> Vec<f32> {
            let unit = |random: &mut Random| random.below(1 << 24) as f32 / (1 << 24) as f32;
            (0..count).map(|_| from + (to - from) * unit(&mut random)).collect()
        };
        let options = [(5.0, 30.0), (1.0, 100.0), (0.25, 10.0), (0.02, 0.06), (0.1, 0.5)];
        let bodies = [1.0, 1.0, 1.0, 1.0 / BODIES as f32];
        Inputs {
            densities: densities(),
            options: options.map(|(from, to)| numbers(OPTIONS, from, to)),
            bodies: bodies.map(|to| numbers(BODIES, 0.0, to)),
        }
    }
}

/// A cloud with holes.
fn densities() -> Vec<f32> {
    let at = |index: usize| 6.0 * index as f32 / DENSITIES as f32 - 3.0;
    let mut all = vec![];
    for z in (0..DENSITIES).map(at) {
        for y in (0..DENSITIES).map(at) {
            for x in (0..DENSITIES).map(at) {
                let waves = 1.2 + (4.0 * x).sin() * (5.0 * y).sin() * (3.0 * z).sin();
                let density = (-0.35 * (x * x + y * y + z * z)).exp() * waves;
                all.push(if density > 0.2 { density } else { 0.0 });
            }
        }
    }
    all
}

impl Kernel {
    /// The fraction of results that differ.
    pub fn differing(&self, ours: &[u32], theirs: &[u32]) -> f64 {
        let is_close = |(&a, &b): (&u32, &u32)| {
            let (a, b) = ((self.meaning)(a), (self.meaning)(b));
            (a - b).abs() <= self.tolerance * b.abs().max(1.0)
        };
        let n_close = ours.iter().zip(theirs).filter(|&pair| is_close(pair)).count();
        1.0 - n_close as f64 / self.n_results as f64
    }
}

fn integer(bits: u32) -> f64 {
    f64::from(bits.cast_signed())
}

fn float(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// Calls a function of a library, with arguments of these types.
macro_rules! call {
    ($library:expr, $name:literal, $($value:expr => $ty:ty),* $(,)?) => {{
        let name = concat!($name, "\0");
        // SAFETY: all libraries have the function with parameters of these types. It reads
        // inputs and writes results within their lengths, which follow from the sizes it gets.
        unsafe {
            let function = $library.get::<unsafe extern "C" fn($($ty),*)>(name);
            function.context(concat!("there is no ", $name))?($($value),*);
        }
    }};
}

fn mandelbrot(library: &Library, _: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    call!(library, "mandelbrot",
        0 => i32, MANDELBROT_HEIGHT => i32, MANDELBROT_WIDTH => i32, MANDELBROT_HEIGHT => i32,
        MANDELBROT_LIMIT => i32, out.as_mut_ptr() => *mut u32);
    Ok(())
}

fn aobench(library: &Library, _: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    call!(library, "aobench",
        0 => i32, AOBENCH_SIZE => i32, AOBENCH_SIZE => i32, AOBENCH_SIZE => i32,
        AOBENCH_SUBSAMPLES => i32, AOBENCH_SAMPLES => i32, out.as_mut_ptr() => *mut u32);
    Ok(())
}

fn volume(library: &Library, inputs: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    call!(library, "volume",
        0 => i32, VOLUME_SIZE => i32, VOLUME_SIZE => i32, VOLUME_SIZE => i32, DENSITIES as i32 => i32,
        inputs.densities.as_ptr() => *const f32, out.as_mut_ptr() => *mut u32);
    Ok(())
}

fn black_scholes(library: &Library, inputs: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    let [price, strike, time, rate, volatility] = inputs.options.each_ref().map(Vec::as_ptr);
    call!(library, "blackscholes",
        0 => i32, OPTIONS as i32 => i32, price => *const f32, strike => *const f32, time => *const f32,
        rate => *const f32, volatility => *const f32, out.as_mut_ptr() => *mut u32);
    Ok(())
}

fn binomial(library: &Library, inputs: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    let [price, strike, time, rate, volatility] = inputs.options.each_ref().map(Vec::as_ptr);
    call!(library, "binomial",
        0 => i32, TREES as i32 => i32, TREE_STEPS => i32, price => *const f32, strike => *const f32,
        time => *const f32, rate => *const f32, volatility => *const f32, out.as_mut_ptr() => *mut u32);
    Ok(())
}

fn nbody(library: &Library, inputs: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    let [x, y, z, mass] = inputs.bodies.each_ref().map(Vec::as_ptr);
    let (ax, rest) = out.split_at_mut(BODIES);
    let (ay, az) = rest.split_at_mut(BODIES);
    call!(library, "nbody",
        0 => i32, BODIES as i32 => i32, BODIES as i32 => i32, x => *const f32, y => *const f32,
        z => *const f32, mass => *const f32, ax.as_mut_ptr() => *mut u32, ay.as_mut_ptr() => *mut u32,
        az.as_mut_ptr() => *mut u32);
    Ok(())
}

fn neighbours(library: &Library, inputs: &Inputs, out: &mut [u32]) -> anyhow::Result<()> {
    let [x, y, z, _] = inputs.bodies.each_ref().map(Vec::as_ptr);
    call!(library, "neighbours",
        0 => i32, BODIES as i32 => i32, BODIES as i32 => i32, x => *const f32, y => *const f32,
        z => *const f32, out.as_mut_ptr() => *mut u32);
    Ok(())
}
