//! Kernels, as compiled programs describe them, and their launches.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::sync::atomic::AtomicPtr;

use super::{Device, report, with_device};

/// The description of a kernel in a compiled program. The compiler emits it as a global with these fields.
#[repr(C)]
pub struct Kernel {
    /// The cache of the platform; see [`Loaded`].
    pub(super) remembered: AtomicPtr<Loaded>,
    /// The device code that contains it: its length in eight bytes, then the code, then a zero.
    code: *const u8,
    name: *const c_char,
    place: *const c_char,
    params: *const Param,
    n_params: u32,
}

/// A parameter of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The offset of its value among the arguments, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Whether it is a pointer, as 0 or 1.
    pub is_pointer: u32,
}

/// A loaded kernel. It is never freed, and there is one per kernel and device.
pub(super) struct Loaded {
    /// The device.
    pub device: u32,
    /// The driver's handle.
    pub handle: usize,
    /// The kernel's name.
    pub name: String,
    /// The position of the launch in the source.
    pub place: String,
}

/// A launch of a kernel.
pub struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    /// The number of work items in each dimension.
    pub grid: [u32; 3],
    /// The size of a work group in each dimension.
    pub block: [u32; 3],
    args: *const u8,
}

impl Launch<'_> {
    /// The kernel's name.
    pub fn name(&self) -> &CStr {
        // SAFETY: the compiler writes texts that end with a zero.
        unsafe { CStr::from_ptr(self.kernel.name) }
    }

    /// The position of the launch in the source.
    pub fn place(&self) -> &CStr {
        // SAFETY: the compiler writes texts that end with a zero.
        unsafe { CStr::from_ptr(self.kernel.place) }
    }

    /// The device code that contains the kernel.
    pub fn code(&self) -> &[u8] {
        // SAFETY: the compiler writes the length in front of the code.
        unsafe {
            let start = self.kernel.code;
            let len = start.cast::<[u8; 8]>().read();
            std::slice::from_raw_parts(start.add(8), u64::from_le_bytes(len) as usize)
        }
    }

    /// The parameters, each with the address of its value.
    pub fn args(&self) -> impl ExactSizeIterator<Item = (Param, *const c_void)> + '_ {
        let params: &[Param] = match self.kernel.n_params {
            0 => &[],
            // SAFETY: the compiler emits this number of parameters.
            n => unsafe { std::slice::from_raw_parts(self.kernel.params, n as usize) },
        };
        // SAFETY: the parameters have the offsets of the arguments.
        params.iter().map(|&param| (param, unsafe { self.args.add(param.offset as usize) }.cast()))
    }

    /// The number of work groups in each dimension, if the grid is a multiple of the work group.
    pub fn blocks(&self) -> Option<[u32; 3]> {
        let [x, y, z] = std::array::from_fn(|dim| self.grid[dim].checked_div(self.block[dim]));
        let fits = (0..3).all(|dim| self.block[dim] != 0 && self.grid[dim].is_multiple_of(self.block[dim]));
        fits.then_some([x?, y?, z?])
    }
}

impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, place) = (self.name().to_string_lossy(), self.place().to_string_lossy());
        write!(f, "kernel `{name}` ({place}) with grid {:?} and block {:?}", self.grid, self.block)
    }
}

/// Launches a kernel, for compiled programs.
///
/// # Safety
/// The compiler has emitted the kernel, `grid` and `block` have three numbers, and the arguments have the offsets
/// of the kernel's parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_launch(
    device: i32,
    kernel: *const Kernel,
    grid: *const [u32; 3],
    block: *const [u32; 3],
    args: *const u8,
) {
    // SAFETY: the caller guarantees it.
    let launch = unsafe { Launch { kernel: &*kernel, grid: *grid, block: *block, args } };
    let Some(device) = Device::decode(device) else {
        return report(format_args!("launch of {launch}: the host runs no kernels"));
    };
    match launch.blocks() {
        None => report(format_args!(
            "launch of {launch} on {device}: the size of the grid must be a multiple of the size of the block"
        )),
        // Nothing to do.
        Some(blocks) if blocks.contains(&0) => {}
        Some(_) => {
            // SAFETY: the caller guarantees it.
            with_device(device, format_args!("launch of {launch}"), |platform| unsafe {
                platform.launch(device.number, &launch)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_reads_the_description_of_the_compiler() {
        let code = b"\x03\0\0\0\0\0\0\0abc\0";
        let params = [Param { offset: 8, size: 4, is_pointer: 0 }];
        let kernel = Kernel {
            remembered: AtomicPtr::default(),
            code: code.as_ptr(),
            name: c"f".as_ptr(),
            place: c"a.impala:1:2".as_ptr(),
            params: params.as_ptr(),
            n_params: 1,
        };
        let args = [1u32, 2, 3];
        let launch =
            Launch { kernel: &kernel, grid: [64, 2, 1], block: [32, 1, 1], args: args.as_ptr().cast() };
        assert_eq!(launch.code(), b"abc");
        assert_eq!(launch.blocks(), Some([2, 2, 1]));
        assert_eq!(Launch { block: [48, 1, 1], ..launch }.blocks(), None);
        let shown = Launch { kernel: &kernel, grid: [1; 3], block: [1; 3], args: args.as_ptr().cast() };
        assert_eq!(shown.to_string(), "kernel `f` (a.impala:1:2) with grid [1, 1, 1] and block [1, 1, 1]");
        let values: Vec<u32> = shown
            .args()
            // SAFETY: the parameter has the offset of a number.
            .map(|(_, value)| unsafe { value.cast::<u32>().read() })
            .collect();
        assert_eq!(values, [3]);
    }
}
