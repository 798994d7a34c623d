//! The functions of CUDA's driver that are used, as its header declares them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

/// A device's address.
pub(super) type DevicePtr = u64;
/// Any of the driver's objects.
pub(super) type Handle = *mut c_void;

macro_rules! api {
    ($($field:ident $name:literal: fn($($param:ty),*);)*) => {
        /// The functions. All of them return 0 or an error code.
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($param),*) -> c_int,)*
        }

        impl Api {
            /// Loads the driver and all functions.
            pub(super) fn load() -> Result<Api, libloading::Error> {
                const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
                // SAFETY: the driver's initializers only set up its own tables. It is never
                // unloaded, so the functions remain valid.
                let library: &'static Library = Box::leak(Box::new(unsafe { Library::new(DRIVER) }?));
                // SAFETY: the types are those of the header.
                Ok(Api { $($field: *unsafe { library.get($name) }?,)* })
            }
        }
    };
}

api! {
    init "cuInit": fn(c_uint);
    driver_version "cuDriverGetVersion": fn(*mut c_int);
    error_name "cuGetErrorName": fn(c_int, *mut *const c_char);
    error_string "cuGetErrorString": fn(c_int, *mut *const c_char);
    device_count "cuDeviceGetCount": fn(*mut c_int);
    device_get "cuDeviceGet": fn(*mut c_int, c_int);
    device_name "cuDeviceGetName": fn(*mut c_char, c_int, c_int);
    device_memory "cuDeviceTotalMem_v2": fn(*mut usize, c_int);
    device_attribute "cuDeviceGetAttribute": fn(*mut c_int, c_int, c_int);
    context_retain "cuDevicePrimaryCtxRetain": fn(*mut Handle, c_int);
    context_set "cuCtxSetCurrent": fn(Handle);
    context_synchronize "cuCtxSynchronize": fn();
    alloc "cuMemAlloc_v2": fn(*mut DevicePtr, usize);
    alloc_managed "cuMemAllocManaged": fn(*mut DevicePtr, usize, c_uint);
    alloc_host "cuMemHostAlloc": fn(*mut *mut c_void, usize, c_uint);
    free "cuMemFree_v2": fn(DevicePtr);
    free_host "cuMemFreeHost": fn(*mut c_void);
    host_pointer "cuMemHostGetDevicePointer_v2": fn(*mut DevicePtr, *mut c_void, c_uint);
    copy "cuMemcpy": fn(DevicePtr, DevicePtr, usize);
    copy_to "cuMemcpyHtoD_v2": fn(DevicePtr, *const c_void, usize);
    copy_from "cuMemcpyDtoH_v2": fn(*mut c_void, DevicePtr, usize);
    copy_peer "cuMemcpyPeer": fn(DevicePtr, Handle, DevicePtr, Handle, usize);
    module_load "cuModuleLoadData": fn(*mut Handle, *const c_void);
    module_function "cuModuleGetFunction": fn(*mut Handle, Handle, *const c_char);
    link_create "cuLinkCreate_v2": fn(c_uint, *const c_int, *const *mut c_void, *mut Handle);
    link_add "cuLinkAddData_v2":
        fn(Handle, c_int, *const c_void, usize, *const c_char, c_uint, *const c_int, *const *mut c_void);
    link_complete "cuLinkComplete": fn(Handle, *mut *const c_void, *mut usize);
    link_destroy "cuLinkDestroy": fn(Handle);
    launch "cuLaunchKernel": fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *const *const c_void,
        *const *mut c_void
    );
    event_create "cuEventCreate": fn(*mut Handle, c_uint);
    event_record "cuEventRecord": fn(Handle, Handle);
    event_query "cuEventQuery": fn(Handle);
    event_synchronize "cuEventSynchronize": fn(Handle);
    event_elapsed "cuEventElapsedTime": fn(*mut f32, Handle, Handle);
    event_destroy "cuEventDestroy_v2": fn(Handle);
}

impl Api {
    /// Turns a status into a result.
    pub(super) fn check(&self, status: c_int) -> Result<(), String> {
        match status {
            0 => Ok(()),
            status => Err(self.error(status)),
        }
    }

    fn error(&self, status: c_int) -> String {
        let ask = |ask: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = std::ptr::null();
            // SAFETY: the driver sets the pointer to a static text, or to null.
            unsafe {
                ask(status, &mut text);
                if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
            }
        };
        match (ask(self.error_name), ask(self.error_string)) {
            (Some(name), Some(text)) => format!("{text} ({name})"),
            _ => format!("error {status}"),
        }
    }
}
