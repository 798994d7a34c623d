//! Devices: they run kernels, and have memory.
//!
//! A device is a platform in the low four bits and a number above. Platform 0 is the host.
//! The others are found when a program first uses one of their devices, by loading
//! their driver: so a program with kernels starts on any machine.
//!
//! Read in this order:
//!
//! * this module: platforms, and how errors are reported;
//! * [`kernel`]: the descriptions of kernels in compiled programs, and launches;
//! * [`events`]: points in the work of a device, and the time between them;
//! * [`cuda`] and [`opencl`]: the platforms;
//! * [`cache`]: compiled kernels on disk;
//! * [`profile`]: times of kernels.

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

/// The kind of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// On the device.
    Device,
    /// On the host, mapped into the address space of the device.
    Host,
    /// Unified memory: the host and the device use the same address.
    Unified,
}

/// The description of a device for users.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Its generation, version or driver.
    pub version: String,
    /// The size of its memory in bytes.
    pub memory: u64,
    /// The number of its multiprocessors.
    pub processors: u32,
}

/// A driver of devices. Errors are the messages of the driver.
pub trait Platform: Sync {
    /// Its devices, in the order of their numbers.
    fn devices(&self) -> Result<Vec<DeviceInfo>, String>;
    /// Whether a device has a feature, by the platform's name of it.
    fn has_feature(&self, device: u32, feature: &str) -> Result<bool, String>;
    /// New memory.
    fn alloc(&self, device: u32, size: usize, kind: MemoryKind) -> Result<*mut c_void, String>;

    /// The device's address of mapped memory of the host.
    ///
    /// # Safety
    /// The memory came from [`Platform::alloc`].
    unsafe fn device_pointer(&self, device: u32, block: *mut c_void) -> Result<*mut c_void, String>;

    /// Frees memory of this kind. Unified memory may be freed as memory of the device.
    ///
    /// # Safety
    /// The memory came from [`Platform::alloc`] and is no longer used.
    unsafe fn release(&self, device: u32, block: *mut c_void, kind: MemoryKind) -> Result<(), String>;

    /// Copies memory, and waits for the copy. Without a device, an address is the host's.
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
    /// The arguments have the types of the kernel's parameters.
    unsafe fn launch(&self, device: u32, launch: &Launch<'_>) -> Result<(), String>;

    /// Waits for all kernels of a device.
    fn synchronize(&self, device: u32) -> Result<(), String>;

    /// A new event after all work that was submitted to the device.
    fn record(&self, device: u32) -> Result<usize, String>;

    /// Whether a device has reached an event; with `wait`, waits for it.
    ///
    /// # Safety
    /// The event came from [`Platform::record`] for this device, and was not released.
    unsafe fn has_reached(&self, device: u32, event: usize, wait: bool) -> Result<bool, String>;

    /// Microseconds from one event of a device to another. Waits for the second one.
    ///
    /// # Safety
    /// As for [`Platform::has_reached`], for both.
    unsafe fn microseconds(&self, device: u32, start: usize, stop: usize) -> Result<f64, String>;

    /// Releases an event.
    ///
    /// # Safety
    /// As for [`Platform::has_reached`].
    unsafe fn release_event(&self, device: u32, event: usize) -> Result<(), String>;
}

/// The platforms, in the order of their numbers.
const NAMES: [&str; 6] = ["host", "CUDA", "OpenCL", "HSA", "PAL", "Level Zero"];

/// Number and platform of a device that is not the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// The number of the platform.
    pub platform: u32,
    /// Its number among the devices of the platform.
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
    /// The device with this number in programs; none if it is the host.
    pub fn decode(device: i32) -> Option<Device> {
        let bits = device.cast_unsigned();
        let (platform, number) = (bits & 15, bits >> 4);
        (platform != 0).then_some(Device { platform, number })
    }

    /// Its platform, or the reason why the platform is unavailable.
    pub fn platform(self) -> Result<&'static dyn Platform, String> {
        match self.platform {
            1 => Ok(cuda::platform()?),
            2 => Ok(opencl::platform()?),
            3..=5 => Err(format!("there is no support for {} here", NAMES[self.platform as usize])),
            _ => Err("there is no such platform".into()),
        }
    }
}

/// Runs an operation on a device. Reports an error, and returns the default value then.
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

/// The handler of errors; null ends the process.
static HANDLER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the handler of device errors. After the handler the program continues: the failed operation had no effect,
/// and returned null. Without a handler, errors end the process.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_set_error_handler(handler: Option<Handler>) {
    let handler = handler.map_or(std::ptr::null_mut(), |handler| handler as *mut c_void);
    HANDLER.store(handler, Ordering::Release);
}

/// Reports an error to the handler; without one, prints it and ends the process.
pub(crate) fn report(message: fmt::Arguments<'_>) {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        fail(message);
    }
    let message = CString::new(message.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: only `nyala_set_error_handler` writes it, with a function of this type.
    unsafe {
        let handler: Handler = std::mem::transmute(handler);
        handler(message.as_ptr());
    }
}

/// The device with a number, or an error that lists the numbers.
fn numbered<T>(devices: &[T], number: u32) -> Result<&T, String> {
    devices.get(number as usize).ok_or_else(|| match devices.len() {
        0 => "there are no devices".into(),
        1 => "there is one device, 0".into(),
        n => format!("there are devices 0 to {}", n - 1),
    })
}

/// The message if there is no driver.
fn no_driver(error: libloading::Error) -> String {
    let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    format!("there is no driver: {reason}")
}

/// A text with all platforms and their devices, or the reason why there are none.
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
