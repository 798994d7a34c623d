//! Devices: what runs kernels, and its memory.
//!
//! A device is a platform in the low four bits and a number above. Platform 0 is the host.
//! The others are found when a program first asks for one of their devices, by loading
//! their driver, so that a program with kernels starts anywhere.
//!
//! Read in this order:
//!
//! * this module: platforms, and how errors are reported;
//! * [`kernel`]: what compiled programs say about their kernels, and launches;
//! * [`events`]: points in the work of a device, and the time between them;
//! * [`cuda`] and [`opencl`]: the platforms;
//! * [`cache`]: compiled kernels on disk;
//! * [`profile`]: how long kernels take.

pub mod cache;
pub mod cuda;
pub mod events;
pub mod kernel;
pub mod opencl;
pub mod profile;

use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::fail;
use kernel::Launch;

/// Where memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// On the device.
    Device,
    /// On the host, where the device reaches it.
    Host,
    /// Where it is needed; both sides know its address.
    Unified,
}

/// A device, as people want to know it.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Its generation, version or driver.
    pub version: String,
    /// How much memory it has, in bytes.
    pub memory: u64,
    /// How many processors it has that run blocks of threads.
    pub processors: u32,
}

/// What runs kernels. Errors are the driver's own words.
pub trait Platform: Sync {
    /// Its devices, in the order of their numbers.
    fn devices(&self) -> Result<Vec<DeviceInfo>, String>;
    /// Whether a device has a feature, by the platform's name for it.
    fn has_feature(&self, device: u32, feature: &str) -> Result<bool, String>;
    /// New memory.
    fn alloc(&self, device: u32, size: usize, kind: MemoryKind) -> Result<*mut c_void, String>;

    /// The device's address of memory on the host that it reaches.
    ///
    /// # Safety
    /// The memory came from [`Platform::alloc`].
    unsafe fn device_pointer(&self, device: u32, block: *mut c_void) -> Result<*mut c_void, String>;

    /// Frees memory of this kind, or unified memory that is said to be the device's.
    ///
    /// # Safety
    /// The memory came from [`Platform::alloc`] and is not used any more.
    unsafe fn release(&self, device: u32, block: *mut c_void, kind: MemoryKind) -> Result<(), String>;

    /// Copies memory, and waits until that is done. Without a device, an address is the host's.
    ///
    /// # Safety
    /// Both ranges are valid there, the destination for writing.
    unsafe fn copy(
        &self,
        from: (Option<u32>, *const c_void),
        to: (Option<u32>, *mut c_void),
        size: usize,
    ) -> Result<(), String>;

    /// Starts a kernel, and does not wait for it.
    ///
    /// # Safety
    /// The arguments are what the kernel expects.
    unsafe fn launch(&self, device: u32, launch: &Launch<'_>) -> Result<(), String>;

    /// Waits for all kernels of a device.
    fn synchronize(&self, device: u32) -> Result<(), String>;

    /// A new event behind all that the device was told to do so far.
    fn record(&self, device: u32) -> Result<usize, String>;

    /// Whether a device has got to an event; it is waited for if that is asked for.
    ///
    /// # Safety
    /// The event came from [`Platform::record`] for this device, and was not forgotten.
    unsafe fn has_reached(&self, device: u32, event: usize, wait: bool) -> Result<bool, String>;

    /// Microseconds from one event of a device to another, which is waited for.
    ///
    /// # Safety
    /// As for [`Platform::has_reached`], for both.
    unsafe fn microseconds(&self, device: u32, start: usize, stop: usize) -> Result<f64, String>;

    /// Forgets an event.
    ///
    /// # Safety
    /// As for [`Platform::has_reached`].
    unsafe fn forget(&self, device: u32, event: usize) -> Result<(), String>;
}

/// The platforms that devices are numbered by.
const NAMES: [&str; 6] = ["host", "CUDA", "OpenCL", "HSA", "PAL", "Level Zero"];

/// Number and platform of a device that is not the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Of the platform.
    pub platform: u32,
    /// Among the devices of the platform.
    pub number: u32,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.platform as usize) {
            Some(name) => write!(f, "{name} device {}", self.number),
            None => write!(f, "device {} of platform {}", self.number, self.platform),
        }
    }
}

impl Device {
    /// The device that programs mean by this; nothing if it is the host.
    pub fn decode(device: i32) -> Option<Device> {
        let bits = device.cast_unsigned();
        let (platform, number) = (bits & 15, bits >> 4);
        (platform != 0).then_some(Device { platform, number })
    }

    /// Its platform, or why there is none.
    pub fn platform(self) -> Result<&'static dyn Platform, String> {
        match self.platform {
            1 => Ok(cuda::platform()?),
            2 => Ok(opencl::platform()?),
            3..=5 => Err(format!("there is no support for {} here", NAMES[self.platform as usize])),
            _ => Err("there is no such platform".into()),
        }
    }
}

/// Does something with a device, and reports what goes wrong; then it gives the default.
pub(crate) fn with_device<T: Default>(
    device: Device,
    what: fmt::Arguments<'_>,
    run: impl FnOnce(&'static dyn Platform) -> Result<T, String>,
) -> T {
    device.platform().and_then(run).unwrap_or_else(|error| {
        report(format_args!("{what} on {device}: {error}"));
        T::default()
    })
}

type Handler = unsafe extern "C" fn(*const c_char);

/// What to call when a device reports an error; null ends the process.
static HANDLER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Makes errors of devices known to the host, which then goes on: what failed has done nothing,
/// and gives null. Without a handler, or with null, they end the process.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_set_error_handler(handler: Option<Handler>) {
    let handler = handler.map_or(std::ptr::null_mut(), |handler| handler as *mut c_void);
    HANDLER.store(handler, Ordering::Release);
}

/// Reports an error: to the host if it wants to know, else to the user, and ends the process.
pub(crate) fn report(message: fmt::Arguments<'_>) {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        fail(message);
    }
    let message = CString::new(message.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: only `nyala_set_error_handler` writes there, and a handler takes a text.
    unsafe {
        let handler: Handler = std::mem::transmute(handler);
        handler(message.as_ptr());
    }
}

/// The device with a number, or what there is instead.
fn numbered<T>(devices: &[T], number: u32) -> Result<&T, String> {
    devices.get(number as usize).ok_or_else(|| match devices.len() {
        0 => "there are no devices".into(),
        1 => "there is one device, 0".into(),
        n => format!("there are devices 0 to {}", n - 1),
    })
}

/// What a user is told whose system has no driver.
fn no_driver(error: libloading::Error) -> String {
    let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    format!("there is no driver: {reason}")
}

/// All platforms with their devices, or why there are none, as text.
pub fn describe() -> String {
    let mut text = String::from("host\n");
    for platform in [1, 2] {
        let device = Device { platform, number: 0 };
        text += NAMES[platform as usize];
        let devices = device.platform().and_then(|platform| platform.devices());
        match devices {
            Ok(devices) if devices.is_empty() => text += ": no devices\n",
            Ok(devices) => {
                text.push('\n');
                for (number, DeviceInfo { name, version, memory, processors }) in devices.iter().enumerate() {
                    let gib = *memory as f64 / f64::from(1 << 30);
                    text +=
                        &format!("  {number}: {name} ({version}), {gib:.1} GiB, {processors} processors\n");
                }
            }
            Err(error) => text += &format!(": {error}\n"),
        }
    }
    text
}
