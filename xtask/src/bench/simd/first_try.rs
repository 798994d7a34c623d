//! Kernels at the first try: small loops on all topics of SIMD code, as a user of ISPC writes them first.
//!
//! `bench/simd/first` has them in Impala and in C. The peer of a kernel is the fastest of all C compilers that are
//! here, each with automatic vectorization, `omp simd`, vector versions of mathematical functions (`libmvec`), and
//! for some kernels a second version that is blocked by hand. Arrays fit into the first or the second level of the
//! cache.
//!
//! All functions have the same parameters: a count, two inputs, and an output. Results are compared. Each is also
//! compiled for AVX2. Without a compiler for AVX-512 there is only that.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use libloading::Library;
use nyala_tests::random::Random;

use crate::bench::peer::Compiler;
use crate::bench::process::{succeed, thread_seconds};
use crate::bench::{Peer, Row};
use crate::files;

/// The sizes of inputs: those of the first and of the second level of the cache, not multiples of the lanes.
const SIZES: [(&str, usize); 2] = [("L1", 2003), ("L2", 20011)];
/// The least time of one measurement in seconds, and the number of measurements.
const LEAST_TIME: f64 = 4e-4;
const ROUNDS: usize = 15;
const QUICK_ROUNDS: usize = 5;

/// The processors to compile for: ours and C's name, and what the rows say.
const PROCESSORS: [(&str, &str, &str); 2] =
    [("native", "native", "AVX-512"), ("x86-64-v3", "x86-64-v3", "AVX2")];

type Function = unsafe extern "C" fn(i32, *const u8, *const u8, *mut u8);

/// A kernel.
struct Kernel {
    name: &'static str,
    inputs: [Input; 2],
    /// The elements of the output.
    output: Output,
    /// The argument for an input of this many elements, and the number of results.
    sizes: fn(usize) -> (usize, usize),
}

/// The contents of an input, or of an element of it.
#[derive(Clone, Copy, PartialEq)]
enum Input {
    None,
    /// Floats between these bounds.
    F32(f32, f32),
    F64(f64, f64),
    /// Integers below this one.
    U32(u32),
    /// Integers of both signs below this one.
    I32(i32),
    /// Sorted numbers.
    Sorted,
    I16,
    /// Bytes below this one.
    Bytes(u8),
    /// A sparse matrix with rows of up to 32 entries.
    Sparse,
}

#[derive(Clone, Copy)]
enum Output {
    Exact(usize),
    /// Up to this tolerance.
    F32(f32),
    F64(f64),
}

const ELEMENTWISE: fn(usize) -> (usize, usize) = |n| (n, n);
const ONE_RESULT: fn(usize) -> (usize, usize) = |n| (n, 1);
const INTS: Output = Output::Exact(4);
const BYTES: Output = Output::Exact(1);
const SINGLE: Output = Output::F32(1e-4);
const DOUBLE: Output = Output::F64(1e-12);
const SIGNED: Input = Input::F32(-2.0, 2.0);
const TEXT: Input = Input::Bytes(255);

const fn kernel(
    name: &'static str,
    first: Input,
    second: Input,
    output: Output,
    sizes: fn(usize) -> (usize, usize),
) -> Kernel {
    Kernel { name, inputs: [first, second], output, sizes }
}

const KERNELS: &[Kernel] = &[
    kernel("sum_f32", Input::F32(0.0, 1.0), Input::None, SINGLE, ONE_RESULT),
    kernel("sum_f64", Input::F64(0.0, 1.0), Input::None, DOUBLE, ONE_RESULT),
    kernel("dot_f32", Input::F32(0.0, 1.0), Input::F32(0.0, 1.0), SINGLE, ONE_RESULT),
    kernel("max_f32", SIGNED, Input::None, SINGLE, ONE_RESULT),
    kernel("argmin_f32", SIGNED, Input::None, INTS, ONE_RESULT),
    kernel("sum_bytes", TEXT, Input::None, INTS, ONE_RESULT),
    kernel("count_lines", Input::Bytes(20), Input::None, INTS, ONE_RESULT),
    kernel("softmax_f32", SIGNED, Input::None, SINGLE, ELEMENTWISE),
    kernel("sparse_rows", Input::Sparse, SIGNED, Output::F32(1e-3), |n| (n / 16, n / 16)),
    kernel("sparse_entries", Input::Sparse, SIGNED, Output::F32(1e-3), |n| (n / 16, n / 16)),
    kernel("prefix_sum_i32", Input::I32(100), Input::None, INTS, ELEMENTWISE),
    kernel("prefix_sum_f32", Input::F32(0.0, 1.0), Input::None, Output::F32(1e-3), ELEMENTWISE),
    kernel("saxpy", SIGNED, SIGNED, SINGLE, ELEMENTWISE),
    kernel("stencil_1d", SIGNED, Input::None, SINGLE, ELEMENTWISE),
    kernel("stencil_2d", SIGNED, Input::None, SINGLE, ELEMENTWISE),
    kernel("blur_bytes", TEXT, Input::None, BYTES, |n| (4 * n, 4 * n)),
    kernel("mix_audio", Input::I16, Input::I16, Output::Exact(2), ELEMENTWISE),
    kernel("brighten", TEXT, TEXT, BYTES, |n| (4 * n, 4 * n)),
    kernel("blend_pixels", TEXT, TEXT, BYTES, |n| (4 * n, 4 * n)),
    kernel("gray", TEXT, Input::None, BYTES, |n| (n, n)),
    kernel("multiply_complex", SIGNED, SIGNED, SINGLE, |n| (n / 2, n / 2 * 2)),
    kernel("random_numbers", Input::U32(u32::MAX), Input::None, SINGLE, ELEMENTWISE),
    kernel("collatz", Input::U32(1000), Input::None, INTS, |n| (n / 4, n / 4)),
    kernel("polynomial", Input::F64(-1.0, 1.0), Input::None, DOUBLE, ELEMENTWISE),
    kernel("exp_f32", Input::F32(-80.0, 80.0), Input::None, SINGLE, ELEMENTWISE),
    kernel("sin_f32", Input::F32(-30.0, 30.0), Input::None, SINGLE, ELEMENTWISE),
    kernel("pow_f32", Input::F32(0.01, 10.0), Input::F32(-5.0, 5.0), Output::F32(1e-3), ELEMENTWISE),
    kernel("exp_f64", Input::F64(-300.0, 300.0), Input::None, DOUBLE, ELEMENTWISE),
    kernel("log_f64", Input::F64(1e-3, 1e3), Input::None, DOUBLE, ELEMENTWISE),
    kernel("sin_f64", Input::F64(-30.0, 30.0), Input::None, DOUBLE, ELEMENTWISE),
    kernel("pow_f64", Input::F64(0.01, 10.0), Input::F64(-5.0, 5.0), Output::F64(1e-11), ELEMENTWISE),
    kernel("histogram", TEXT, Input::None, INTS, |n| (n, 256)),
    kernel("find_byte", TEXT, Input::None, INTS, |n| (4 * n, 1)),
    kernel("find_pair", TEXT, Input::None, INTS, |n| (4 * n, 1)),
    kernel("upper_case", TEXT, Input::None, BYTES, |n| (4 * n, 4 * n)),
    kernel("keep_positive", SIGNED, Input::None, SINGLE, |n| (n, n / 3)),
    kernel("partition", Input::I32(1000), Input::None, INTS, ELEMENTWISE),
    kernel("binary_search", Input::U32(1 << 20), Input::Sorted, INTS, ELEMENTWISE),
    kernel("boxes_of_structs", SIGNED, Input::None, SINGLE, |n| (n / 6, n / 6)),
    kernel("boxes_of_arrays", SIGNED, Input::None, SINGLE, |n| (n / 6, n / 6)),
    kernel("small_matrices", SIGNED, SIGNED, SINGLE, |n| (n / 16, n / 16 * 16)),
    kernel("matrix_product", SIGNED, SIGNED, Output::F32(1e-3), |n| {
        (n.isqrt() / 4 * 4, (n.isqrt() / 4 * 4).pow(2))
    }),
    kernel("blocked_product", SIGNED, SIGNED, Output::F32(1e-3), |n| {
        (n.isqrt() / 4 * 4, (n.isqrt() / 4 * 4).pow(2))
    }),
    kernel("sort_columns", SIGNED, Input::None, SINGLE, |n| (n / 8, n / 8 * 8)),
];

/// The room in bytes for an element of an input or output: the largest, and more behind for arrays of structs.
const ROOM: usize = 16;

/// Numbers of any type. The first one is at the begin of a cache line, which is as wide as the processor's largest
/// registers.
struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
}

impl Buffer {
    fn new(n_bytes: usize) -> Buffer {
        const LINE: usize = 64;
        let bytes = vec![0; n_bytes.next_multiple_of(LINE) + 2 * LINE];
        let begin = bytes.as_ptr().align_offset(LINE);
        Buffer { bytes, begin }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..]
    }
}

/// The arrays of a sparse matrix. It points to vectors that it owns.
#[repr(C)]
struct Sparse {
    bounds: *const i32,
    columns: *const i32,
    values: *const f32,
}

/// An input and what it refers to.
struct Data {
    buffer: Buffer,
    _parts: (Vec<i32>, Vec<i32>, Vec<f32>),
}

impl Data {
    /// `n` elements of an input, in the bytes of at least four times as many.
    fn new(input: Input, n: usize, random: &mut Random) -> Data {
        let mut buffer = Buffer::new(n * ROOM);
        let mut parts = (vec![], vec![], vec![]);
        let unit = |random: &mut Random| random.below(1 << 24) as f64 / f64::from(1 << 24);
        let mut fill = |size: usize, element: &mut dyn FnMut(usize) -> u64| {
            for (index, bytes) in buffer.bytes().chunks_exact_mut(size).enumerate() {
                bytes.copy_from_slice(&element(index).to_le_bytes()[..size]);
            }
        };
        match input {
            Input::None => {}
            Input::F32(low, high) => {
                fill(4, &mut |_| u64::from((low + (high - low) * unit(random) as f32).to_bits()))
            }
            Input::F64(low, high) => fill(8, &mut |_| (low + (high - low) * unit(random)).to_bits()),
            Input::U32(end) => fill(4, &mut |_| 1 + random.below(end as usize - 1) as u64),
            Input::I32(end) => {
                fill(4, &mut |_| (random.below(2 * end as usize) as i64 - i64::from(end)) as u64);
            }
            Input::Sorted => fill(4, &mut |index| (index as u64) << 10),
            Input::I16 => fill(2, &mut |_| random.below(1 << 16) as u64),
            Input::Bytes(end) => fill(1, &mut |_| random.below(end.into()) as u64),
            Input::Sparse => {
                let (bounds, columns, values) = &mut parts;
                bounds.push(0);
                for _ in 0..n / 16 {
                    for _ in 0..random.below(33) {
                        columns.push(random.below(n) as i32);
                        values.push(unit(random) as f32);
                    }
                    bounds.push(columns.len() as i32);
                }
                let sparse =
                    Sparse { bounds: bounds.as_ptr(), columns: columns.as_ptr(), values: values.as_ptr() };
                // SAFETY: the buffer is longer than the struct, and aligned.
                unsafe { buffer.bytes().as_mut_ptr().cast::<Sparse>().write(sparse) };
            }
        }
        Data { buffer, _parts: parts }
    }
}

/// A library of kernels: ours, or those of a C compiler.
struct Side {
    name: String,
    library: Library,
}

impl Side {
    /// The versions of a kernel.
    fn versions(&self, kernel: &Kernel) -> Vec<Function> {
        let names = [kernel.name.to_owned(), format!("{}_blocked", kernel.name)];
        // SAFETY: all functions of these libraries have this type.
        names
            .iter()
            .filter_map(|name| unsafe { self.library.get(name.as_bytes()) }.ok().map(|it| *it))
            .collect()
    }
}

/// Measures all kernels for all processors.
pub(super) fn rows(
    nyala: &Path,
    folder: &Path,
    compiler: &Compiler,
    quick: bool,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for (ours, c, label) in PROCESSORS {
        let builder = Builder { nyala, folder, compiler };
        let sides = builder.sides(ours, c, label)?;
        let mut ratios = vec![];
        for (size, n) in SIZES {
            for kernel in KERNELS {
                let row = measure(kernel, &sides, n, &format!("{label} {size}"), quick)?;
                ratios.extend(row.ratio());
                rows.push(row);
            }
        }
        let mean = (ratios.iter().map(|ratio: &f64| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let losses = ratios.iter().filter(|&&ratio| ratio < 0.95).count();
        rows.push(Row {
            case: format!("first try, {label}: mean, {losses} of {} slower", ratios.len()),
            unit: "",
            ours: mean,
            peer: None,
            checked: true,
        });
    }
    Ok(rows)
}

/// Compiles the kernels.
struct Builder<'a> {
    nyala: &'a Path,
    folder: &'a Path,
    compiler: &'a Compiler,
}

impl Builder<'_> {
    /// Ours first.
    fn sides(&self, ours: &str, c: &str, label: &str) -> anyhow::Result<Vec<Side>> {
        let source = files::repository().join("bench/simd/first");
        let object = self.folder.join(format!("first {label}.o"));
        let mut command = Command::new(self.nyala);
        command
            .args(["build", "-O3", "--fast-math", "--emit", "obj", "--target-cpu", ours, "-o"])
            .arg(&object);
        for name in ["reductions", "arrays", "mathematics", "tables"] {
            command.arg(source.join(name).with_extension("impala"));
        }
        succeed(&mut command)?;
        let mut sides = vec![self.load(&format!("ours {label}"), &object)?];
        let c_source = source.join("kernels.c");
        let common = ["-O3", "-ffast-math", "-fopenmp-simd", "-fPIC", "-w", "-c"];
        let mut compilers: Vec<(&str, Command, Vec<&str>)> = vec![
            ("clang", self.compiler.bare(), vec!["-fveclib=libmvec"]),
            ("gcc", Command::new("gcc"), vec![]),
        ];
        for (name, command, own) in &mut compilers {
            let widths: &[&str] = if c == "native" { &["256", "512"] } else { &["256"] };
            for width in widths {
                let object = self.folder.join(format!("first {name} {label} {width}.o"));
                // Zig spells the levels of x86-64 with underscores.
                let compile = |march: &str| {
                    let mut one = Command::new(command.get_program());
                    one.args(command.get_args()).arg(format!("-march={march}")).args(common).args(&*own);
                    one.arg(format!("-mprefer-vector-width={width}")).arg("-o").arg(&object).arg(&c_source);
                    succeed(&mut one).is_ok()
                };
                if compile(c) || compile(&c.replace('-', "_")) {
                    sides.push(self.load(&format!("{name} {label} {width}"), &object)?);
                }
            }
        }
        ensure!(sides.len() > 1, "no C compiler for the kernels");
        Ok(sides)
    }

    /// A shared library of an object file.
    fn load(&self, name: &str, object: &Path) -> anyhow::Result<Side> {
        let path: PathBuf = self.folder.join(format!("first {name}.so"));
        let mut command = Command::new("cc");
        command.args(["-shared", "-o"]).arg(&path).arg(object).args(["-lmvec", "-lm"]);
        succeed(&mut command)?;
        // SAFETY: the library was just compiled from the kernels, and has no code that runs when it is loaded.
        let library = unsafe { Library::new(&path) };
        let library = library.with_context(|| format!("cannot load {}", path.display()))?;
        Ok(Side { name: name.to_owned(), library })
    }
}

/// A version of a kernel: the name of its side, its results, its best time, and how often one measurement repeats it.
struct Version<'a> {
    side: &'a str,
    function: Function,
    results: Vec<f64>,
    best: f64,
    repeats: usize,
}

/// Measures a kernel on all sides, alternately. The fastest C is the peer. All versions write to the same place:
/// addresses that differ by a multiple of a page cost time.
fn measure(kernel: &Kernel, sides: &[Side], n: usize, label: &str, quick: bool) -> anyhow::Result<Row> {
    let mut random = Random::new(7, 0);
    let mut inputs = kernel.inputs.map(|input| Data::new(input, n, &mut random));
    let (count, n_results) = (kernel.sizes)(n);
    let mut output = Buffer::new(n * ROOM);
    let [x, y] = inputs.each_mut().map(|input| input.buffer.bytes().as_ptr());
    // SAFETY: inputs and output have room for what the kernel reads and writes.
    let call = |function: Function, output: &mut Buffer| unsafe {
        function(count as i32, x, y, output.bytes().as_mut_ptr());
    };
    let mut versions = vec![];
    for side in sides {
        for function in side.versions(kernel) {
            output.bytes().fill(0);
            call(function, &mut output);
            let results = results(kernel, output.bytes(), n_results);
            versions.push(Version { side: &side.name, function, results, best: f64::INFINITY, repeats: 1 });
        }
    }
    for round in 0..=if quick { QUICK_ROUNDS } else { ROUNDS } {
        for version in &mut versions {
            loop {
                let before = thread_seconds();
                for _ in 0..version.repeats {
                    call(version.function, &mut output);
                }
                let seconds = thread_seconds() - before;
                if round > 0 || seconds >= LEAST_TIME {
                    version.best = version.best.min(seconds / version.repeats as f64);
                    break;
                }
                version.repeats *= 2;
            }
        }
    }
    let (first, others) = versions.split_first().context("no version of a kernel")?;
    let mut peer = Peer { name: String::new(), value: f64::INFINITY };
    for other in others {
        let mut pairs = first.results.iter().zip(&other.results);
        if let Some(at) = pairs.position(|(&ours, &theirs)| !is_alike(kernel, ours, theirs)) {
            let (ours, theirs, name) = (first.results[at], other.results[at], other.side);
            anyhow::bail!("{}: result {at} is {ours}, and {theirs} by {name}", kernel.name);
        }
        if other.best * 1e6 < peer.value {
            peer = Peer { name: other.side.to_owned(), value: other.best * 1e6 };
        }
    }
    Ok(Row {
        case: format!("{} {label}", kernel.name),
        unit: "us",
        ours: first.best * 1e6,
        peer: Some(peer),
        checked: true,
    })
}

/// The results of a kernel as numbers.
fn results(kernel: &Kernel, bytes: &[u8], n_results: usize) -> Vec<f64> {
    let of = |size: usize| bytes.chunks_exact(size).take(n_results).map(word);
    match kernel.output {
        Output::Exact(size) => of(size).map(|bits| bits as f64).collect(),
        Output::F32(_) => of(4).map(|bits| f64::from(f32::from_bits(bits as u32))).collect(),
        Output::F64(_) => of(8).map(f64::from_bits).collect(),
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn is_alike(kernel: &Kernel, ours: f64, theirs: f64) -> bool {
    let tolerance = match kernel.output {
        Output::Exact(_) => 0.0,
        Output::F32(tolerance) => f64::from(tolerance),
        Output::F64(tolerance) => tolerance,
    };
    (ours - theirs).abs() <= tolerance * ours.abs().max(theirs.abs()).max(1.0)
}
