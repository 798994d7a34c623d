//! The runtime: functions that compiled programs call, with C symbols and the C calling convention.
//!
//! Read in this order:
//!
//! * [`memory`]: allocation, release, copies, on the host and on devices;
//! * `guard`: guard pages behind allocations;
//! * [`devices`]: GPUs and other devices, and the kernels they run;
//! * [`environments`]: memory for the environments of closures;
//! * [`threads`]: parallel loops and tasks;
//! * [`stack`]: the report of a stack overflow;
//! * [`flow_graphs`]: tasks with dependences;
//! * [`print`](mod@print): numbers and text to standard output;
//! * [`misc`]: time, random numbers, classification of floats, bits;
//! * [`lanes`]: lane functions outside of SIMD code;
//! * [`checks`]: failed checks and assertions of programs;
//! * [`tools`]: functions that tests and benchmarks call;
//! * [`helpers`]: functions that old test programs link.
//!
//! [`SYMBOLS`] lists all of them for programs that are compiled in memory.
//!
//! Programs cannot handle errors of the runtime: an error ends the process with a
//! message that names the operation.
//!
//! ```
//! use nyala_runtime::SYMBOLS;
//!
//! let print = SYMBOLS.iter().find(|symbol| symbol.name == "anydsl_print_i32").expect("programs print numbers");
//! assert_eq!(print.address, nyala_runtime::print::anydsl_print_i32 as *const _);
//! ```

pub mod checks;
pub mod devices;
pub mod environments;
pub mod flow_graphs;
mod guard;
pub mod helpers;
pub mod lanes;
pub mod memory;
pub mod misc;
pub mod print;
pub mod stack;
pub mod threads;
pub mod tools;

use std::ffi::c_void;

use devices::{events, kernel};

/// A function by its name.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Its name for programs.
    pub name: &'static str,
    /// Its symbol in the static library.
    pub linked: &'static str,
    /// Its address.
    pub address: *const c_void,
}

// SAFETY: the address is that of a function, which is the same for all threads.
unsafe impl Sync for Symbol {}

macro_rules! symbols {
    ($($prefix:literal $module:ident :: { $($name:ident),* $(,)? })*) => {
        /// All functions of the runtime.
        pub static SYMBOLS: &[Symbol] = &[$($(Symbol {
            name: stringify!($name),
            linked: concat!($prefix, stringify!($name)),
            address: $module::$name as *const c_void,
        },)*)*];
    };
}

symbols! {
    "" memory::{
        anydsl_info, anydsl_device_name, anydsl_device_check_feature_support,
        anydsl_alloc, anydsl_alloc_host, anydsl_alloc_unified, anydsl_get_device_ptr,
        anydsl_release, anydsl_release_host, anydsl_copy, anydsl_synchronize,
        anydsl_aligned_malloc, anydsl_aligned_free,
    }
    "" kernel::{ nyala_launch }
    "" devices::{ nyala_set_error_handler }
    "" events::{
        nyala_event_record, nyala_event_wait, nyala_event_is_done, nyala_event_microseconds, nyala_event_release,
    }
    "" checks::{ nyala_check_failed, nyala_assertion_failed }
    "" tools::{ nyala_generate, nyala_black_box, nyala_separate, nyala_result }
    "" environments::{ nyala_environment }
    "" threads::{ anydsl_parallel_for, anydsl_fibers_spawn, anydsl_spawn_thread, anydsl_sync_thread }
    "" flow_graphs::{
        anydsl_create_graph, anydsl_create_task, anydsl_create_edge, anydsl_execute_graph,
    }
    "" print::{
        anydsl_print_i8, anydsl_print_i16, anydsl_print_i32, anydsl_print_i64,
        anydsl_print_u8, anydsl_print_u16, anydsl_print_u32, anydsl_print_u64,
        anydsl_print_f32, anydsl_print_f64, anydsl_print_char, anydsl_print_string, anydsl_print_flush,
    }
    "" misc::{
        anydsl_random_seed, anydsl_random_val_f32, anydsl_random_val_u64,
        anydsl_get_micro_time, anydsl_get_nano_time, anydsl_get_kernel_time,
        anydsl_isinff, anydsl_isnanf, anydsl_isfinitef, anydsl_isinf, anydsl_isnan, anydsl_isfinite,
        nyala_pext, nyala_pdep,
    }
    "" lanes::{
        rv_mask, rv_any, rv_all, rv_ballot, rv_extract, rv_insert, rv_load, rv_store, rv_shuffle,
        rv_align, rv_compact, rv_lane_id, rv_num_lanes,
    }
    "nyala_helper_" helpers::{
        print_char, put_u8, print, println, print_int, print_f64, forty_two, read,
        anydsl_atoi, anydsl_memset, impala_memmove, impala_realloc,
    }
}

/// Functions that compiled code calls although no program declares them: of the runtime, and of C by LLVM. A
/// program must not define a function with such a name.
pub const CALLED_BY_COMPILED_CODE: &[&str] = &[
    "anydsl_create_edge",
    "anydsl_create_graph",
    "anydsl_create_task",
    "anydsl_execute_graph",
    "anydsl_fibers_spawn",
    "anydsl_parallel_for",
    "anydsl_spawn_thread",
    "anydsl_sync_thread",
    "bcmp",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "nyala_assertion_failed",
    "nyala_black_box",
    "nyala_check_failed",
    "nyala_environment",
    "nyala_generate",
    "nyala_launch",
    "nyala_result",
];

/// Ends the process with an error.
fn fail(what: std::fmt::Arguments<'_>) -> ! {
    print::anydsl_print_flush();
    eprintln!("error: {what}");
    std::process::exit(1)
}
