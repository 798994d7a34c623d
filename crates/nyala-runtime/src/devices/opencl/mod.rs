//! Devices with an OpenCL driver, numbered over all drivers that are installed.
//!
//! Kernels are source text, which the driver compiles at the first launch of a program; drivers have their own
//! caches. Memory is shared virtual memory (OpenCL 2.0), so that pointers are addresses. All work of a device is
//! done in order. `api` loads the drivers.

mod api;

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, OnceLock, PoisonError};

use api::{Api, Handle, check};

use super::kernel::Launch;
use super::profile::{self, Timed};
use super::{DeviceInfo, MemoryKind, Platform, cache, no_driver};

/// The platform; loaded the first time.
pub(super) fn platform() -> Result<&'static OpenCl, String> {
    static OPENCL: OnceLock<Result<OpenCl, String>> = OnceLock::new();
    OPENCL.get_or_init(OpenCl::load).as_ref().map_err(Clone::clone)
}

/// All drivers, and their devices.
pub struct OpenCl {
    api: Api,
    devices: Vec<ClDevice>,
}

/// A device. Operations hold its lock, because kernels keep their arguments.
struct ClDevice {
    device: Handle,
    state: Mutex<Option<State>>,
}

// SAFETY: all threads may use objects of OpenCL, except the arguments of kernels, which the lock protects.
unsafe impl Send for ClDevice {}
// SAFETY: as above.
unsafe impl Sync for ClDevice {}

/// The state of a device in use.
struct State {
    context: Handle,
    queue: Handle,
    programs: HashMap<u128, Handle>,
    kernels: HashMap<(usize, CString), Handle>,
    last: Option<String>,
}

const DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
const DEVICE_NAME: c_uint = 0x102b;
const DEVICE_VERSION: c_uint = 0x102f;
const DEVICE_MEMORY: c_uint = 0x101f;
const DEVICE_UNITS: c_uint = 0x1002;
const DEVICE_SVM: c_uint = 0x1053;
const SVM_COARSE_GRAIN: u64 = 1;
const SVM_FINE_GRAIN: u64 = 2;
const QUEUE_PROFILING: u64 = 2;
const MEM_READ_WRITE: u64 = 1;
const MEM_FINE_GRAIN: u64 = 1 << 10;
const BUILD_LOG: c_uint = 0x1183;
const EVENT_STATUS: c_uint = 0x11d3;
const EVENT_COMPLETE: c_int = 0;
const EVENT_START: c_uint = 0x1282;
const EVENT_END: c_uint = 0x1283;

impl OpenCl {
    fn load() -> Result<OpenCl, String> {
        let api = Api::load().map_err(no_driver)?;
        let mut devices = vec![];
        for platform in list(|len, all, count| {
            // SAFETY: the buffer has as many elements as the call says.
            unsafe { (api.platforms)(len, all, count) }
        })? {
            let found = list(|len, all, count| {
                // SAFETY: the buffer has as many elements as the call says.
                unsafe { (api.devices)(platform, DEVICE_TYPE_ALL, len, all, count) }
            });
            // A driver without devices returns an error.
            let found = found.unwrap_or_default().into_iter();
            devices.extend(found.map(|device| ClDevice { device, state: Mutex::new(None) }));
        }
        Ok(OpenCl { api, devices })
    }

    fn device(&self, device: u32) -> Result<&ClDevice, String> {
        super::numbered(&self.devices, device)
    }

    /// Runs an operation on a device, which is opened the first time.
    fn with<T>(
        &self,
        device: u32,
        run: impl FnOnce(&ClDevice, &mut State) -> Result<T, String>,
    ) -> Result<T, String> {
        let device = self.device(device)?;
        let mut state = device.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_none() {
            *state = Some(self.open(device)?);
        }
        match &mut *state {
            Some(state) => run(device, state),
            None => Err("the device cannot be used".into()),
        }
    }

    fn open(&self, device: &ClDevice) -> Result<State, String> {
        if self.number(device, DEVICE_SVM) & (SVM_COARSE_GRAIN | SVM_FINE_GRAIN) == 0 {
            return Err("the device has no shared virtual memory (OpenCL 2.0)".into());
        }
        let mut status = 0;
        // SAFETY: the device is valid; objects are never released.
        unsafe {
            let context = (self.api.create_context)(null(), 1, &device.device, null(), null(), &mut status);
            check(status)?;
            // Events have times only if the queue records them.
            let queue = (self.api.create_queue)(context, device.device, QUEUE_PROFILING, &mut status);
            check(status)?;
            Ok(State { context, queue, programs: HashMap::new(), kernels: HashMap::new(), last: None })
        }
    }

    fn info(&self, device: &ClDevice, what: c_uint) -> Vec<u8> {
        let mut len = 0;
        // SAFETY: the first call returns the length, the second one has a buffer of that length.
        unsafe {
            (self.api.device_info)(device.device, what, 0, null_mut(), &mut len);
            let mut bytes = vec![0u8; len];
            (self.api.device_info)(device.device, what, len, bytes.as_mut_ptr().cast(), null_mut());
            bytes
        }
    }

    fn text(&self, device: &ClDevice, what: c_uint) -> String {
        String::from_utf8_lossy(&self.info(device, what)).trim_end_matches('\0').trim().to_owned()
    }

    fn number(&self, device: &ClDevice, what: c_uint) -> u64 {
        let mut bytes = self.info(device, what);
        bytes.resize(8, 0);
        bytes.try_into().map_or(0, u64::from_le_bytes)
    }

    /// The kernel of a launch.
    fn kernel(&self, device: &ClDevice, state: &mut State, launch: &Launch<'_>) -> Result<Handle, String> {
        let code = cache::hash(launch.code());
        let program = match state.programs.get(&code) {
            Some(&program) => program,
            None => {
                let program = self.compile(device, state, launch.code())?;
                state.programs.insert(code, program);
                program
            }
        };
        let key = (program.addr(), launch.name().to_owned());
        if let Some(&kernel) = state.kernels.get(&key) {
            return Ok(kernel);
        }
        let mut status = 0;
        // SAFETY: the program is built, and the name a text.
        let kernel = unsafe { (self.api.create_kernel)(program, launch.name().as_ptr(), &mut status) };
        check(status)?;
        state.kernels.insert(key, kernel);
        Ok(kernel)
    }

    fn compile(&self, device: &ClDevice, state: &State, source: &[u8]) -> Result<Handle, String> {
        let (api, mut status, len) = (&self.api, 0, source.len());
        // SAFETY: one text with its length; the options are a text.
        unsafe {
            let text = source.as_ptr().cast();
            let program = (api.create_program)(state.context, 1, &text, &len, &mut status);
            check(status)?;
            let built = (api.build)(program, 1, &device.device, c"-cl-std=CL1.2".as_ptr(), null(), null());
            check(built).map_err(|error| {
                let log = self.build_log(device, program);
                format!("the kernels cannot be compiled: {error}\n{log}")
            })?;
            Ok(program)
        }
    }

    fn build_log(&self, device: &ClDevice, program: Handle) -> String {
        let mut len = 0;
        // SAFETY: the first call returns the length, the second one has a buffer of that length.
        unsafe {
            (self.api.build_info)(program, device.device, BUILD_LOG, 0, null_mut(), &mut len);
            let mut log = vec![0u8; len];
            let room = log.as_mut_ptr().cast();
            (self.api.build_info)(program, device.device, BUILD_LOG, len, room, null_mut());
            String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned()
        }
    }

    /// A time of an event in nanoseconds.
    fn time(&self, event: Handle, what: c_uint) -> Result<u64, String> {
        let mut time = 0u64;
        // SAFETY: the event is ours, and the buffer has the size of the number.
        check(unsafe { (self.api.event_time)(event, what, 8, (&raw mut time).cast(), null_mut()) })?;
        Ok(time)
    }

    /// Waits for the kernel of an event, and counts its execution.
    fn count(&self, launch: &Launch<'_>, event: Handle) -> Result<(), String> {
        // SAFETY: the event is ours.
        let done = check(unsafe { (self.api.wait)(1, &event) });
        let times = done.and_then(|()| Ok((self.time(event, EVENT_START)?, self.time(event, EVENT_END)?)));
        // SAFETY: no other code has it.
        unsafe { (self.api.release_event)(event) };
        let (start, end) = times?;
        let (name, place) = (launch.name().to_string_lossy(), launch.place().to_string_lossy());
        let milliseconds = end.saturating_sub(start) as f32 / 1e6;
        profile::add(Timed { name: &name, place: &place, milliseconds });
        Ok(())
    }
}

/// All objects that a function lists.
fn list(ask: impl Fn(c_uint, *mut Handle, *mut c_uint) -> c_int) -> Result<Vec<Handle>, String> {
    let mut count = 0;
    check(ask(0, null_mut(), &mut count))?;
    let mut all = vec![null_mut(); count as usize];
    check(ask(count, all.as_mut_ptr(), null_mut()))?;
    Ok(all)
}

fn with_last(state: &State, error: String) -> String {
    match &state.last {
        Some(last) => format!("{error}; the last launch there was of {last}"),
        None => error,
    }
}

impl Platform for OpenCl {
    fn devices(&self) -> Result<Vec<DeviceInfo>, String> {
        let info = |device: &ClDevice| DeviceInfo {
            name: self.text(device, DEVICE_NAME),
            version: self.text(device, DEVICE_VERSION),
            memory: self.number(device, DEVICE_MEMORY),
            processors: self.number(device, DEVICE_UNITS) as u32,
        };
        Ok(self.devices.iter().map(info).collect())
    }

    fn has_feature(&self, device: u32, _feature: &str) -> Result<bool, String> {
        self.device(device).map(|_| false)
    }

    fn alloc(&self, device: u32, size: usize, kind: MemoryKind) -> Result<*mut c_void, String> {
        self.with(device, |device, state| {
            let is_fine = self.number(device, DEVICE_SVM) & SVM_FINE_GRAIN != 0;
            let flags = match kind {
                MemoryKind::Device => MEM_READ_WRITE,
                _ if is_fine => MEM_READ_WRITE | MEM_FINE_GRAIN,
                _ => return Err("the device has no memory that the host can use at the same time".into()),
            };
            // SAFETY: the context is valid.
            let block = unsafe { (self.api.alloc)(state.context, flags, size, 0) };
            if block.is_null() { Err(with_last(state, "out of memory".into())) } else { Ok(block) }
        })
    }

    unsafe fn device_pointer(&self, device: u32, block: *mut c_void) -> Result<*mut c_void, String> {
        self.device(device).map(|_| block)
    }

    unsafe fn release(&self, device: u32, block: *mut c_void, _kind: MemoryKind) -> Result<(), String> {
        self.with(device, |_, state| {
            // Kernels may still use it.
            // SAFETY: the queue is valid.
            check(unsafe { (self.api.finish)(state.queue) }).map_err(|error| with_last(state, error))?;
            // SAFETY: the caller guarantees it.
            unsafe { (self.api.free)(state.context, block) };
            Ok(())
        })
    }

    unsafe fn copy(
        &self,
        from: (Option<u32>, *const c_void),
        to: (Option<u32>, *mut c_void),
        size: usize,
    ) -> Result<(), String> {
        if let (Some(a), Some(b)) = (from.0, to.0)
            && a != b
        {
            return Err("there is no copy from one device to another".into());
        }
        self.with(to.0.or(from.0).unwrap_or(0), |_, state| {
            // SAFETY: the caller guarantees it; the call waits.
            let copied =
                unsafe { (self.api.copy)(state.queue, 1, to.1, from.1, size, 0, null(), null_mut()) };
            check(copied).map_err(|error| with_last(state, error))
        })
    }

    unsafe fn launch(&self, device: u32, launch: &Launch<'_>) -> Result<(), String> {
        self.with(device, |device, state| {
            let (api, kernel) = (&self.api, self.kernel(device, state, launch)?);
            let is_timed = profile::is_on();
            let mut event = null_mut();
            let (grid, block) = (launch.grid.map(|n| n as usize), launch.block.map(|n| n as usize));
            // SAFETY: there is one argument per parameter; arguments are copied.
            unsafe {
                for (index, (param, value)) in (0..).zip(launch.args()) {
                    check(match param.is_pointer {
                        0 => (api.set_arg)(kernel, index, param.size as usize, value),
                        _ => (api.set_pointer)(kernel, index, value.cast::<*const c_void>().read()),
                    })?;
                }
                let event: *mut Handle = if is_timed { &mut event } else { null_mut() };
                let (grid, block) = (grid.as_ptr(), block.as_ptr());
                check((api.launch)(state.queue, kernel, 3, null(), grid, block, 0, null(), event))?;
                check((api.flush)(state.queue))?;
            }
            state.last = Some(launch.to_string());
            match is_timed {
                true => self.count(launch, event).map_err(|error| with_last(state, error)),
                false => Ok(()),
            }
        })
    }

    fn synchronize(&self, device: u32) -> Result<(), String> {
        self.with(device, |_, state| {
            // SAFETY: the queue is valid.
            check(unsafe { (self.api.finish)(state.queue) }).map_err(|error| with_last(state, error))
        })
    }
    fn record(&self, device: u32) -> Result<usize, String> {
        self.with(device, |_, state| {
            let mut event = null_mut();
            // SAFETY: the queue is valid; the marker comes after all of its work.
            check(unsafe { (self.api.marker)(state.queue, 0, null(), &mut event) })
                // SAFETY: as above.
                .and_then(|()| check(unsafe { (self.api.flush)(state.queue) }))
                .map_err(|error| with_last(state, error))?;
            Ok(event.addr())
        })
    }

    unsafe fn has_reached(&self, device: u32, event: usize, wait: bool) -> Result<bool, String> {
        self.with(device, |_, state| {
            let (event, mut status) = (event as Handle, 0 as c_int);
            // SAFETY: the caller guarantees it; the buffer has the size of the number.
            let asked = check(unsafe {
                match wait {
                    true => (self.api.wait)(1, &event),
                    false => {
                        let room = (&raw mut status).cast();
                        (self.api.event_info)(event, EVENT_STATUS, size_of::<c_int>(), room, null_mut())
                    }
                }
            });
            // An event that failed has a negative status.
            asked.and_then(|()| check(status.min(0))).map_err(|error| with_last(state, error))?;
            Ok(status == EVENT_COMPLETE)
        })
    }

    unsafe fn microseconds(&self, device: u32, start: usize, stop: usize) -> Result<f64, String> {
        self.with(device, |_, state| {
            let [start, stop] = [start as Handle, stop as Handle];
            // SAFETY: the caller guarantees it.
            check(unsafe { (self.api.wait)(2, [start, stop].as_ptr()) })
                .and_then(|()| Ok((self.time(start, EVENT_END)?, self.time(stop, EVENT_END)?)))
                .map(|(start, stop)| stop.saturating_sub(start) as f64 / 1000.0)
                .map_err(|error| with_last(state, error))
        })
    }

    unsafe fn release_event(&self, device: u32, event: usize) -> Result<(), String> {
        // SAFETY: the caller guarantees it.
        self.device(device).and_then(|_| check(unsafe { (self.api.release_event)(event as Handle) }))
    }
}
