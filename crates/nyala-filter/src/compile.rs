//! Native code of filters, in this process.

use std::ffi::c_void;

use nyala_codegen::llvm::Jit;
use nyala_driver::native::{self, NativeOptions};
use nyala_driver::{Session, pipeline};
use nyala_runtime::memory::{anydsl_alloc, anydsl_copy, anydsl_release};

use crate::picture::Picture;
use crate::render::{Device, SMALL, SYMBOL, Target, program};
use crate::tree::Filter;

/// `render`, as the program exports it: picture, result, fault, threads, width, height, frame.
type Render = unsafe extern "C" fn(*const f32, *mut f32, *mut i32, i32, i32, i32, i32);

/// The optimization levels of LLVM for pictures with fewer pixels than this.
const LEVELS: [(i64, u8); 2] = [(SMALL, 0), (4 * SMALL, 1)];

/// A compiled filter.
pub struct Compiled {
    render: Render,
    target: Target,
    /// Owns the code.
    _jit: Jit<'static>,
}

/// A compiled filter met an operation that failed. The interpreter finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faulted;

/// Compiles a filter. Errors, which are those of the system, are reported to the session.
pub fn compile(session: &mut Session, filter: &Filter, target: &Target) -> Option<Compiled> {
    session.timings.enter("translate");
    let world = program(filter, target);
    let outlined = pipeline::prepare_graph(session, &world)?;
    let mut options = NativeOptions::default();
    options.llvm.opt_level = opt_level(target);
    let jit = native::load(session, &outlined, &options, &[])?;
    let address = jit.lookup(SYMBOL).ok()?;
    // SAFETY: the program exports a function with this symbol and these types.
    let render = unsafe { std::mem::transmute::<*const c_void, Render>(address) };
    Some(Compiled { render, target: *target, _jit: jit })
}

fn opt_level(target: &Target) -> u8 {
    let (width, height) = target.setup.size;
    let n_pixels = i64::from(width) * i64::from(height);
    LEVELS.iter().find(|(limit, _)| n_pixels < *limit).map_or(2, |(_, level)| *level)
}

impl Compiled {
    /// The target that the code is for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Computes a frame. `picture` has the size and the margin of the target, with its pixels set; `result` as
    /// well, and the channels of the filter. 0 threads are as many as there are cores.
    ///
    /// # Panics
    /// If the pictures have other sizes.
    pub fn apply(
        &self,
        picture: &mut Picture,
        result: &mut Picture,
        iter: i32,
        threads: i32,
    ) -> Result<(), Faulted> {
        let Target { setup, margin, .. } = self.target;
        let (width, height) = setup.size;
        for found in [&*picture, result] {
            let size = (found.width as i32, found.height as i32);
            assert_eq!((size, found.margin()), (setup.size, margin), "pictures of the target");
        }
        assert_eq!(picture.n_channels as i32, setup.n_channels, "a picture of the target");
        let mut fault = 0;
        if self.target.device == Device::Cpu {
            let (from, to) = (picture.first_pixel(), result.first_pixel());
            // SAFETY: all accesses are inside of the pictures with their margins, as their sizes are those of the
            // target; the fault is one `i32`; and the code is alive.
            unsafe { (self.render)(from, to, &raw mut fault, threads, width, height, iter) };
        } else {
            let device = self.target.device.number();
            let from = OnDevice::new(device, picture.samples_mut());
            let to = OnDevice::new(device, result.samples_mut());
            let flag = OnDevice::new(device, std::slice::from_mut(&mut fault));
            // SAFETY: as above, with copies in the device's memory. Copies wait for the kernel.
            unsafe {
                (self.render)(from.address(), to.address(), flag.address(), threads, width, height, iter)
            };
            to.copy_to(result.samples_mut());
            flag.copy_to(std::slice::from_mut(&mut fault));
        }
        if fault == 0 { Ok(()) } else { Err(Faulted) }
    }
}

impl Device {
    /// Its number for the runtime: the platform, and the first device of it.
    fn number(self) -> i32 {
        match self {
            Device::Cpu => 0,
            Device::Cuda => 1,
            Device::OpenCl => 2,
        }
    }
}

/// A copy of data in the memory of a device. The runtime ends the process if the device fails.
struct OnDevice {
    device: i32,
    block: *mut c_void,
}

impl OnDevice {
    fn new<T: Copy>(device: i32, data: &[T]) -> OnDevice {
        let size = size_of_val(data) as i64;
        let block = anydsl_alloc(device, size);
        // SAFETY: the block was just allocated with this size.
        unsafe { anydsl_copy(0, data.as_ptr().cast(), 0, device, block, 0, size) };
        OnDevice { device, block }
    }

    fn address<T>(&self) -> *mut T {
        self.block.cast()
    }

    /// Copies the data back.
    fn copy_to<T: Copy>(&self, data: &mut [T]) {
        let size = size_of_val(data) as i64;
        // SAFETY: the block has the size of the data that it was made of, which has the same length.
        unsafe { anydsl_copy(self.device, self.block, 0, 0, data.as_mut_ptr().cast(), 0, size) };
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        // SAFETY: it came from the same device and is used no more.
        unsafe { anydsl_release(self.device, self.block) };
    }
}
