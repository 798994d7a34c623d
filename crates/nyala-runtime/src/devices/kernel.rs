//! Kernels, as compiled programs describe them, and their launches.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::sync::atomic::AtomicPtr;

use super::{Device, report, with_device};

/// What a compiled program says about a kernel. The compiler builds such globals, field by field.
#[repr(C)]
pub struct Kernel {
    /// What the platform remembers of it; see [`Loaded`].
    pub(super) remembered: AtomicPtr<Loaded>,
    /// The device code that it is in: its length in eight bytes, then the code, then a zero.
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
    /// Where its value is among the arguments, in bytes.
    pub offset: u32,
    /// How many bytes it has.
    pub size: u32,
    /// Whether it is a pointer, as 0 or 1.
    pub is_pointer: u32,
}

/// A kernel on a device, as its platform knows it. It is never freed, and there is one for
/// each kernel and device.
pub(super) struct Loaded {
    /// Which device.
    pub device: u32,
    /// The driver's handle.
    pub handle: usize,
    /// The kernel's name.
    pub name: String,
    /// Where it is launched in the source.
    pub place: String,
}

/// A launch of a kernel.
pub struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    /// How many threads there are in each dimension.
    pub grid: [u32; 3],
    /// How many of them are in each block.
    pub block: [u32; 3],
    args: *const u8,
}

impl Launch<'_> {
    /// The kernel's name.
    pub fn name(&self) -> &CStr {
        // SAFETY: the compiler writes texts that end with a zero.
        unsafe { CStr::from_ptr(self.kernel.name) }
    }

    /// Where the launch is in the source.
    pub fn place(&self) -> &CStr {
        // SAFETY: the compiler writes texts that end with a zero.
        unsafe { CStr::from_ptr(self.kernel.place) }
    }

    /// The device code that the kernel is in.
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
            // SAFETY: the compiler writes as many parameters as it says.
            n => unsafe { std::slice::from_raw_parts(self.kernel.params, n as usize) },
        };
        // SAFETY: the arguments are where the parameters say.
        params.iter().map(|&param| (param, unsafe { self.args.add(param.offset as usize) }.cast()))
    }

    /// How many blocks there are in each dimension, if the sizes fit.
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
/// The program's compiler has written the kernel, `grid` and `block` have three numbers, and
/// the arguments are where the kernel's parameters say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nyala_launch(
    device: i32,
    kernel: *const Kernel,
    grid: *const [u32; 3],
    block: *const [u32; 3],
    args: *const u8,
) {
    // SAFETY: the caller's promise.
    let launch = unsafe { Launch { kernel: &*kernel, grid: *grid, block: *block, args } };
    let Some(device) = Device::decode(device) else {
        return report(format_args!("launch of {launch}: the host runs no kernels"));
    };
    match launch.blocks() {
        None => report(format_args!(
            "launch of {launch} on {device}: the grid counts threads, so it is a multiple of the block"
        )),
        // Nothing to do.
        Some(blocks) if blocks.contains(&0) => {}
        Some(_) => {
            // SAFETY: the caller's promise.
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
    fn what_the_compiler_writes_is_read() {
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
            // SAFETY: the parameter says where a number is.
            .map(|(_, value)| unsafe { value.cast::<u32>().read() })
            .collect();
        assert_eq!(values, [3]);
    }
}
