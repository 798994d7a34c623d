//! The functions of OpenCL that are used, as its header declares them.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

/// Any of OpenCL's objects.
pub(super) type Handle = *mut c_void;

macro_rules! api {
    ($($field:ident $name:literal: fn($($param:ty),*) -> $result:ty;)*) => {
        /// The functions.
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($param),*) -> $result,)*
        }

        impl Api {
            /// Loads the library and all functions.
            pub(super) fn load() -> Result<Api, libloading::Error> {
                const LOADER: &str = if cfg!(windows) { "OpenCL.dll" } else { "libOpenCL.so.1" };
                // SAFETY: the loader's initializers only look for drivers. It is never
                // unloaded, so the functions remain valid.
                let library: &'static Library = Box::leak(Box::new(unsafe { Library::new(LOADER) }?));
                // SAFETY: the types are those of the header.
                Ok(Api { $($field: *unsafe { library.get($name) }?,)* })
            }
        }
    };
}

api! {
    platforms "clGetPlatformIDs": fn(c_uint, *mut Handle, *mut c_uint) -> c_int;
    devices "clGetDeviceIDs": fn(Handle, u64, c_uint, *mut Handle, *mut c_uint) -> c_int;
    device_info "clGetDeviceInfo": fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    create_context "clCreateContext":
        fn(*const isize, c_uint, *const Handle, *const c_void, *const c_void, *mut c_int) -> Handle;
    create_queue "clCreateCommandQueue": fn(Handle, Handle, u64, *mut c_int) -> Handle;
    alloc "clSVMAlloc": fn(Handle, u64, usize, c_uint) -> *mut c_void;
    free "clSVMFree": fn(Handle, *mut c_void) -> ();
    copy "clEnqueueSVMMemcpy":
        fn(Handle, c_uint, *mut c_void, *const c_void, usize, c_uint, *const Handle, *mut Handle) -> c_int;
    create_program "clCreateProgramWithSource":
        fn(Handle, c_uint, *const *const c_char, *const usize, *mut c_int) -> Handle;
    build "clBuildProgram":
        fn(Handle, c_uint, *const Handle, *const c_char, *const c_void, *const c_void) -> c_int;
    build_info "clGetProgramBuildInfo": fn(Handle, Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    create_kernel "clCreateKernel": fn(Handle, *const c_char, *mut c_int) -> Handle;
    set_arg "clSetKernelArg": fn(Handle, c_uint, usize, *const c_void) -> c_int;
    set_pointer "clSetKernelArgSVMPointer": fn(Handle, c_uint, *const c_void) -> c_int;
    launch "clEnqueueNDRangeKernel": fn(
        Handle, Handle, c_uint, *const usize, *const usize, *const usize, c_uint, *const Handle, *mut Handle
    ) -> c_int;
    flush "clFlush": fn(Handle) -> c_int;
    finish "clFinish": fn(Handle) -> c_int;
    wait "clWaitForEvents": fn(c_uint, *const Handle) -> c_int;
    marker "clEnqueueMarkerWithWaitList": fn(Handle, c_uint, *const Handle, *mut Handle) -> c_int;
    event_info "clGetEventInfo": fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    event_time "clGetEventProfilingInfo": fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    release_event "clReleaseEvent": fn(Handle) -> c_int;
}

/// Turns a status into a result.
pub(super) fn check(status: c_int) -> Result<(), String> {
    let name = match status {
        0 => return Ok(()),
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -30 => "CL_INVALID_VALUE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -55 => "CL_INVALID_WORK_ITEM_SIZE",
        -63 => "CL_INVALID_GLOBAL_WORK_SIZE",
        -1001 => "no driver is installed (CL_PLATFORM_NOT_FOUND_KHR)",
        status => return Err(format!("OpenCL error {status}")),
    };
    Err(name.into())
}
