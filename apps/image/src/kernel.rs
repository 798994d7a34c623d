//! Programs as functions of pictures.
//!
//! Programs are compiled when the app runs: the code is specialized to the chain of filters, the schedule, the boundary
//! mode and the format of the picture. Compilation takes a fraction of a second, once per format;
//! the machine code is kept on disk.

use std::collections::HashMap;

use anyhow::{Result, bail};
use nyala_driver::embed::{Compiler, Function};

use crate::picture::{Picture, Samples};
use crate::program::{Format, Plan};

type Run<From, To> = unsafe extern "C" fn(*mut From, *mut To, *mut f32, *mut f32, i32, i32);
type Least = unsafe extern "C" fn() -> i32;

/// A program for pictures of one format.
struct Kernel {
    run: Bits,
    /// The width and height of the smallest picture that its schedule supports.
    least: (i32, i32),
}

/// The function of a program, by the bits of its source and its result.
enum Bits {
    Bytes(Function<Run<u8, u8>>),
    Widen(Function<Run<u8, u16>>),
    Narrow(Function<Run<u16, u8>>),
    Words(Function<Run<u16, u16>>),
}

/// Filters pictures; reuses its memory for the next picture.
pub struct Filtering {
    plan: Plan,
    kernels: HashMap<Format, Kernel>,
    memory: [Vec<f32>; 2],
}

impl Filtering {
    pub fn new(plan: Plan) -> Filtering {
        Filtering { plan, kernels: HashMap::new(), memory: [vec![], vec![]] }
    }

    /// Compiles the code for pictures of this format, if that was not done before.
    pub fn prepare(&mut self, format: Format) -> Result<()> {
        if !self.kernels.contains_key(&format) {
            let kernel = compile(&self.plan, format)?;
            self.kernels.insert(format, kernel);
        }
        Ok(())
    }

    /// The picture after all filters.
    pub fn apply(&mut self, picture: &mut Picture) -> Result<Picture> {
        let format = picture.format();
        self.prepare(format)?;
        let mut result = Picture::black(picture.width, picture.height, self.plan.result(format));
        self.apply_to(picture, &mut result)?;
        Ok(result)
    }

    /// Fills `result`, which has the size of the picture. The picture is not changed.
    pub fn apply_to(&mut self, picture: &mut Picture, result: &mut Picture) -> Result<()> {
        let format = picture.format();
        let n_pixels = u64::from(picture.width) * u64::from(picture.height);
        // Indices into a picture with all its channels are of the type `i32`.
        if n_pixels * format.channels() as u64 > i32::MAX as u64 {
            bail!("{} x {} pixels are too many", picture.width, picture.height);
        }
        self.prepare(format)?;
        let kernel = &self.kernels[&format];
        let (width, height) = (picture.width as i32, picture.height as i32);
        let (tile_width, tile_height) = kernel.least;
        if width < tile_width || height < tile_height {
            bail!("a tile of {tile_width} x {tile_height} is larger than the picture of {width} x {height}");
        }
        let size = n_pixels as usize * format.colours;
        for memory in &mut self.memory {
            if memory.len() < size {
                *memory = vec![0.0; size];
            }
        }
        let [memory, more] = &mut self.memory;
        let (memory, more) = (memory.as_mut_ptr(), more.as_mut_ptr());
        // SAFETY: the program supports pictures of this format and any size. It reads all samples of the picture
        // and writes all of the result, which has the same number of pixels; both buffers have space for all
        // channels, and no other code uses them during the call.
        match (&kernel.run, &mut picture.samples, &mut result.samples) {
            (Bits::Bytes(run), Samples::Bytes(from), Samples::Bytes(to)) => unsafe {
                run(from.as_mut_ptr(), to.as_mut_ptr(), memory, more, width, height)
            },
            (Bits::Widen(run), Samples::Bytes(from), Samples::Words(to)) => unsafe {
                run(from.as_mut_ptr(), to.as_mut_ptr(), memory, more, width, height)
            },
            (Bits::Narrow(run), Samples::Words(from), Samples::Bytes(to)) => unsafe {
                run(from.as_mut_ptr(), to.as_mut_ptr(), memory, more, width, height)
            },
            (Bits::Words(run), Samples::Words(from), Samples::Words(to)) => unsafe {
                run(from.as_mut_ptr(), to.as_mut_ptr(), memory, more, width, height)
            },
            _ => unreachable!("the kernel is compiled for the bits of the picture and of the result"),
        }
        Ok(())
    }

    /// The format of the result for pictures of this format.
    pub fn result(&self, format: Format) -> Format {
        self.plan.result(format)
    }
}

fn compile(plan: &Plan, format: Format) -> Result<Kernel> {
    let sources = plan.sources(format).into_iter();
    let compiler = sources.fold(Compiler::new().cached(), |compiler, (name, text)| compiler.text(name, text));
    let module = plan.own.files.iter().fold(compiler, Compiler::file).compile()?;
    // SAFETY: the only caller passes valid arguments; see `Filtering::apply_to`.
    let run = unsafe {
        match (format.is_wide, plan.result(format).is_wide) {
            (false, false) => Bits::Bytes(module.function("run")?),
            (false, true) => Bits::Widen(module.function("run")?),
            (true, false) => Bits::Narrow(module.function("run")?),
            (true, true) => Bits::Words(module.function("run")?),
        }
    };
    // SAFETY: both are functions of the program without parameters that return a number.
    let least = unsafe {
        let width: Function<Least> = module.function("least_width")?;
        let height: Function<Least> = module.function("least_height")?;
        (width(), height())
    };
    Ok(Kernel { run, least })
}
