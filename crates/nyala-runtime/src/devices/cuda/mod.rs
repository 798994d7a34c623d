//! NVIDIA's GPUs, through the driver's interface.
//!
//! Kernels are PTX, which the driver compiles for the device at the first launch of a program; the binary is
//! cached on disk. All work of a device is done in order, on its default stream, in the primary context, which it
//! shares with other libraries. `api` loads the driver.

mod api;

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};

use api::{Api, DevicePtr, Handle};

use super::kernel::{Launch, Loaded};
use super::profile::{self, Timed};
use super::{DeviceInfo, MemoryKind, Platform, cache, no_driver};

/// The platform; loaded the first time.
pub(super) fn platform() -> Result<&'static Cuda, String> {
    static CUDA: OnceLock<Result<Cuda, String>> = OnceLock::new();
    CUDA.get_or_init(Cuda::load).as_ref().map_err(Clone::clone)
}

/// The driver, and its devices.
pub struct Cuda {
    api: Api,
    version: c_int,
    devices: Vec<Gpu>,
    /// Modules by their code and device, and kernels by module and name.
    loaded: Mutex<LoadedCode>,
}

#[derive(Default)]
struct LoadedCode {
    modules: HashMap<(u128, u32), usize>,
    kernels: HashMap<(usize, CString), &'static Loaded>,
}

/// A device.
struct Gpu {
    ordinal: c_int,
    name: String,
    memory: usize,
    /// Major and minor version.
    capability: (c_int, c_int),
    processors: c_int,
    context: OnceLock<Result<Context, String>>,
    last: Mutex<Option<LastLaunch>>,
}

/// The last launched kernel, for errors that it may have caused.
struct LastLaunch {
    kernel: &'static Loaded,
    grid: [u32; 3],
    block: [u32; 3],
}

/// The device's primary context.
#[derive(Clone, Copy)]
struct Context(Handle);

// SAFETY: the driver lets all threads use a context.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// `CU_DEVICE_ATTRIBUTE_*`
const MULTIPROCESSORS: c_int = 16;
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;
/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`
const PORTABLE_AND_MAPPED: u32 = 1 | 2;
/// `CU_MEM_ATTACH_GLOBAL`
const ATTACH_GLOBAL: u32 = 1;
/// `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`
const ERROR_LOG: [c_int; 2] = [5, 6];
/// `CUDA_ERROR_NOT_READY`
const NOT_READY: c_int = 600;
/// `CU_JIT_INPUT_PTX`
const INPUT_PTX: c_int = 1;

thread_local! {
    /// The device of the thread's current context.
    static CURRENT: Cell<Option<u32>> = const { Cell::new(None) };
}

impl Cuda {
    fn load() -> Result<Cuda, String> {
        let api = Api::load().map_err(no_driver)?;
        let (mut version, mut count) = (0, 0);
        // SAFETY: the driver is initialized before other calls.
        unsafe {
            api.check((api.init)(0))?;
            api.check((api.driver_version)(&mut version))?;
            api.check((api.device_count)(&mut count))?;
        }
        let devices = (0..count).map(|ordinal| Gpu::new(&api, ordinal)).collect::<Result<_, _>>()?;
        Ok(Cuda { api, version, devices, loaded: Mutex::default() })
    }

    fn gpu(&self, device: u32) -> Result<&Gpu, String> {
        super::numbered(&self.devices, device)
    }

    /// Makes the context of a device the current one of the thread.
    fn enter(&self, device: u32) -> Result<&Gpu, String> {
        let gpu = self.gpu(device)?;
        if CURRENT.get() != Some(device) {
            let context = gpu.context(&self.api)?;
            // SAFETY: the context is never released.
            self.api.check(unsafe { (self.api.context_set)(context.0) })?;
            CURRENT.set(Some(device));
        }
        Ok(gpu)
    }

    /// The kernel of a launch, on the current device.
    fn kernel(&self, device: u32, launch: &Launch<'_>) -> Result<&'static Loaded, String> {
        let remembered = launch.kernel.remembered.load(Ordering::Acquire);
        // SAFETY: only this function writes it, and the value is never freed.
        if let Some(loaded) = unsafe { remembered.as_ref() }.filter(|loaded| loaded.device == device) {
            return Ok(loaded);
        }
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let code = cache::hash(launch.code());
        let module = match all.modules.get(&(code, device)) {
            Some(&module) => module,
            None => {
                let module = self.load_module(device, launch)?.addr();
                all.modules.insert((code, device), module);
                module
            }
        };
        let key = (module, launch.name().to_owned());
        let loaded = match all.kernels.get(&key) {
            Some(&loaded) => loaded,
            None => {
                let loaded = self.find_kernel(device, module, launch)?;
                all.kernels.insert(key, loaded);
                loaded
            }
        };
        launch.kernel.remembered.store(std::ptr::from_ref(loaded).cast_mut(), Ordering::Release);
        Ok(loaded)
    }

    fn find_kernel(
        &self,
        device: u32,
        module: usize,
        launch: &Launch<'_>,
    ) -> Result<&'static Loaded, String> {
        let mut function = null_mut();
        // SAFETY: the module came from the driver and is never unloaded.
        self.api.check(unsafe {
            (self.api.module_function)(&mut function, module as Handle, launch.name().as_ptr())
        })?;
        Ok(Box::leak(Box::new(Loaded {
            device,
            handle: function.addr(),
            name: launch.name().to_string_lossy().into_owned(),
            place: launch.place().to_string_lossy().into_owned(),
        })))
    }

    /// The module with a kernel: from disk if it was compiled before.
    fn load_module(&self, device: u32, launch: &Launch<'_>) -> Result<Handle, String> {
        let gpu = self.gpu(device)?;
        let (major, minor) = gpu.capability;
        let target = format!("cuda {} {} {major}.{minor}", self.version, gpu.name);
        let key = cache::Key::new(&target, launch.code());
        if let Some(module) = cache::read(&key).and_then(|binary| self.module(&binary).ok()) {
            return Ok(module);
        }
        let binary = self.compile(launch.code())?;
        let module = self.module(&binary)?;
        cache::write(&key, &binary);
        Ok(module)
    }

    fn module(&self, binary: &[u8]) -> Result<Handle, String> {
        let mut module = null_mut();
        // SAFETY: the binary contains its size.
        self.api.check(unsafe { (self.api.module_load)(&mut module, binary.as_ptr().cast()) })?;
        Ok(module)
    }

    /// Compiles PTX to a binary for the current device.
    fn compile(&self, ptx: &[u8]) -> Result<Vec<u8>, String> {
        let api = &self.api;
        let mut log = vec![0u8; 8192];
        let values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
        let mut linker = null_mut();
        // SAFETY: there are two options with two values; they and the binary outlive the linker. PTX ends with a
        // zero.
        let binary = unsafe {
            api.check((api.link_create)(2, ERROR_LOG.as_ptr(), values.as_ptr(), &mut linker))?;
            let (mut start, mut len) = (null(), 0);
            let added = api.check((api.link_add)(
                linker,
                INPUT_PTX,
                ptx.as_ptr().cast(),
                ptx.len() + 1,
                c"kernels".as_ptr(),
                0,
                null(),
                null(),
            ));
            let linked = added.and_then(|()| api.check((api.link_complete)(linker, &mut start, &mut len)));
            let binary = linked.map(|()| std::slice::from_raw_parts(start.cast::<u8>(), len).to_vec());
            (api.link_destroy)(linker);
            binary
        };
        binary.map_err(|error| {
            let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
            format!(
                "the kernels cannot be compiled: {error}: {}",
                String::from_utf8_lossy(&log[..end]).trim()
            )
        })
    }

    /// Adds the last kernel to an error that it may have caused.
    fn with_last_kernel(&self, gpu: &Gpu, error: String) -> String {
        let last = gpu.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(LastLaunch { kernel: Loaded { name, place, .. }, grid, block }) => format!(
                "{error}; the last kernel that was launched there is `{name}` ({place}) with grid {grid:?} and block {block:?}"
            ),
            None => error,
        }
    }

    /// A new event on the default stream of the thread's context.
    fn event(&self) -> Result<Handle, String> {
        let mut event = null_mut();
        // SAFETY: the thread has a context.
        self.api.check(unsafe { (self.api.event_create)(&mut event, 0) })?;
        // SAFETY: the event is new; the null stream is the default one.
        match self.api.check(unsafe { (self.api.event_record)(event, null_mut()) }) {
            Ok(()) => Ok(event),
            Err(error) => {
                // SAFETY: no other code has the event.
                unsafe { (self.api.event_destroy)(event) };
                Err(error)
            }
        }
    }

    /// Milliseconds between two events. The device has reached the second one.
    fn elapsed(&self, start: Handle, stop: Handle) -> Result<f32, String> {
        let mut time = 0.0;
        // SAFETY: both are our events.
        unsafe {
            self.api.check((self.api.event_synchronize)(stop))?;
            self.api.check((self.api.event_elapsed)(&mut time, start, stop))?;
        }
        Ok(time)
    }

    /// Counts an execution of a kernel that began at an event and ends now.
    fn count(&self, kernel: &Loaded, start: Handle) -> Result<(), String> {
        let stop = self.event()?;
        let elapsed = self.elapsed(start, stop);
        // SAFETY: no other code has the events.
        unsafe {
            (self.api.event_destroy)(start);
            (self.api.event_destroy)(stop);
        }
        profile::add(Timed { name: &kernel.name, place: &kernel.place, milliseconds: elapsed? });
        Ok(())
    }
}

impl Gpu {
    fn new(api: &Api, ordinal: c_int) -> Result<Gpu, String> {
        let (mut device, mut memory, mut name) = (0, 0, [0 as c_char; 256]);
        let attribute = |device: c_int, which: c_int| {
            let mut value = 0;
            // SAFETY: the pointer to the result is valid.
            api.check(unsafe { (api.device_attribute)(&mut value, which, device) }).map(|()| value)
        };
        // SAFETY: the pointers to results are valid, and the buffer of the name has the given size.
        let name = unsafe {
            api.check((api.device_get)(&mut device, ordinal))?;
            api.check((api.device_memory)(&mut memory, device))?;
            api.check((api.device_name)(name.as_mut_ptr(), name.len() as c_int, device))?;
            std::ffi::CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        Ok(Gpu {
            ordinal: device,
            name,
            memory,
            capability: (attribute(device, CAPABILITY_MAJOR)?, attribute(device, CAPABILITY_MINOR)?),
            processors: attribute(device, MULTIPROCESSORS)?,
            context: OnceLock::new(),
            last: Mutex::new(None),
        })
    }

    fn context(&self, api: &Api) -> Result<Context, String> {
        let create = || {
            let mut context = null_mut();
            // SAFETY: the pointer to the result is valid; the context is never released.
            api.check(unsafe { (api.context_retain)(&mut context, self.ordinal) }).map(|()| Context(context))
        };
        self.context.get_or_init(create).clone()
    }
}

impl Platform for Cuda {
    fn devices(&self) -> Result<Vec<DeviceInfo>, String> {
        let (major, minor) = (self.version / 1000, self.version % 1000 / 10);
        let info = |gpu: &Gpu| DeviceInfo {
            name: gpu.name.clone(),
            version: format!("sm_{}{}, driver for CUDA {major}.{minor}", gpu.capability.0, gpu.capability.1),
            memory: gpu.memory as u64,
            processors: gpu.processors.cast_unsigned(),
        };
        Ok(self.devices.iter().map(info).collect())
    }

    fn has_feature(&self, device: u32, feature: &str) -> Result<bool, String> {
        // Threads of a warp have run independently of each other since Volta.
        Ok(feature == "ITS" && self.gpu(device)?.capability.0 >= 7)
    }

    fn alloc(&self, device: u32, size: usize, kind: MemoryKind) -> Result<*mut c_void, String> {
        self.enter(device)?;
        let (api, mut address, mut block): (_, DevicePtr, _) = (&self.api, 0, null_mut());
        // SAFETY: the pointers to results are valid, and the size is not zero.
        unsafe {
            match kind {
                MemoryKind::Device => api.check((api.alloc)(&mut address, size))?,
                MemoryKind::Unified => api.check((api.alloc_managed)(&mut address, size, ATTACH_GLOBAL))?,
                MemoryKind::Host => api.check((api.alloc_host)(&mut block, size, PORTABLE_AND_MAPPED))?,
            }
        }
        Ok(if block.is_null() { address as usize as *mut c_void } else { block })
    }

    unsafe fn device_pointer(&self, device: u32, block: *mut c_void) -> Result<*mut c_void, String> {
        self.enter(device)?;
        let mut address = 0;
        // SAFETY: the caller guarantees it.
        self.api.check(unsafe { (self.api.host_pointer)(&mut address, block, 0) })?;
        Ok(address as usize as *mut c_void)
    }

    unsafe fn release(&self, device: u32, block: *mut c_void, kind: MemoryKind) -> Result<(), String> {
        let gpu = self.enter(device)?;
        // SAFETY: the caller guarantees it.
        let freed = self.api.check(unsafe {
            match kind {
                MemoryKind::Host => (self.api.free_host)(block),
                _ => (self.api.free)(block.addr() as DevicePtr),
            }
        });
        freed.map_err(|error| self.with_last_kernel(gpu, error))
    }

    unsafe fn copy(
        &self,
        from: (Option<u32>, *const c_void),
        to: (Option<u32>, *mut c_void),
        size: usize,
    ) -> Result<(), String> {
        let api = &self.api;
        let (source, target) = (from.1.addr() as DevicePtr, to.1.addr() as DevicePtr);
        let gpu = self.enter(to.0.or(from.0).unwrap_or(0))?;
        // SAFETY: the caller guarantees it.
        let copied = api.check(unsafe {
            match (from.0, to.0) {
                (None, Some(_)) => (api.copy_to)(target, from.1, size),
                (Some(_), None) => (api.copy_from)(to.1, source, size),
                (Some(a), Some(b)) if a != b => {
                    let (a, b) = (self.gpu(a)?.context(api)?, self.gpu(b)?.context(api)?);
                    (api.copy_peer)(target, b.0, source, a.0, size)
                }
                _ => (api.copy)(target, source, size),
            }
        });
        // Copies within a device are asynchronous.
        let done = copied.and_then(|()| match (from.0, to.0) {
            // SAFETY: the thread has a context.
            (Some(_), Some(_)) => api.check(unsafe { (api.context_synchronize)() }),
            _ => Ok(()),
        });
        done.map_err(|error| self.with_last_kernel(gpu, error))
    }

    unsafe fn launch(&self, device: u32, launch: &Launch<'_>) -> Result<(), String> {
        let gpu = self.enter(device)?;
        let kernel = self.kernel(device, launch)?;
        let [x, y, z] = launch.blocks().unwrap_or([0; 3]);
        let [threads_x, threads_y, threads_z] = launch.block;
        let args: Vec<*const c_void> = launch.args().map(|(_, value)| value).collect();
        let start = profile::is_on().then(|| self.event()).transpose()?;
        // SAFETY: there is one argument per parameter, valid during the call.
        let launched = self.api.check(unsafe {
            (self.api.launch)(
                kernel.handle as Handle,
                x,
                y,
                z,
                threads_x,
                threads_y,
                threads_z,
                0,
                null_mut(),
                args.as_ptr(),
                null(),
            )
        });
        if let (Err(_), Some(start)) = (&launched, start) {
            // SAFETY: no other code has it.
            unsafe { (self.api.event_destroy)(start) };
        }
        launched?;
        *gpu.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(LastLaunch { kernel, grid: launch.grid, block: launch.block });
        match start {
            Some(start) => self.count(kernel, start).map_err(|error| self.with_last_kernel(gpu, error)),
            None => Ok(()),
        }
    }

    fn synchronize(&self, device: u32) -> Result<(), String> {
        let gpu = self.enter(device)?;
        // SAFETY: the thread has a context.
        let done = self.api.check(unsafe { (self.api.context_synchronize)() });
        done.map_err(|error| self.with_last_kernel(gpu, error))
    }
    fn record(&self, device: u32) -> Result<usize, String> {
        let gpu = self.enter(device)?;
        self.event().map(|event| event.addr()).map_err(|error| self.with_last_kernel(gpu, error))
    }

    unsafe fn has_reached(&self, device: u32, event: usize, wait: bool) -> Result<bool, String> {
        let (gpu, event) = (self.enter(device)?, event as Handle);
        // SAFETY: the caller guarantees it.
        let status =
            unsafe { if wait { (self.api.event_synchronize)(event) } else { (self.api.event_query)(event) } };
        match status {
            NOT_READY => Ok(false),
            status => {
                self.api.check(status).map(|()| true).map_err(|error| self.with_last_kernel(gpu, error))
            }
        }
    }

    unsafe fn microseconds(&self, device: u32, start: usize, stop: usize) -> Result<f64, String> {
        let gpu = self.enter(device)?;
        let elapsed = self.elapsed(start as Handle, stop as Handle);
        elapsed.map(|time| f64::from(time) * 1000.0).map_err(|error| self.with_last_kernel(gpu, error))
    }

    unsafe fn release_event(&self, device: u32, event: usize) -> Result<(), String> {
        self.enter(device)?;
        // SAFETY: the caller guarantees it.
        self.api.check(unsafe { (self.api.event_destroy)(event as Handle) })
    }
}
