//! Functions of the host: the runtime's, those of the C library, and instructions of vector units.
//!
//! A row has the name of a function, its effect on memory, and whether it
//! reaches out of the program.

use super::Function;

/// The effect of a function on memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Nothing, and it gives the same for the same arguments.
    Pure,
    /// It has state of its own, which no pointer of the program leads to.
    OwnState,
    /// As before; also reads the target of its first argument.
    ReadsText,
    /// Gives new memory, as many bytes as its second argument says, with this alignment.
    Allocates {
        /// In bytes.
        align: u64,
    },
    /// Releases such memory, which its second argument points to.
    Releases,
    /// Ends the program.
    Ends,
    /// Anything that a function of C may do.
    Any,
}

use Effect::{Any, Ends, OwnState, Pure, ReadsText, Releases};

const ALIGN_HOST: Effect = Effect::Allocates { align: 4096 };
const ALIGN_HEAP: Effect = Effect::Allocates { align: 64 };

/// Whether a function depends on more than its arguments and the memory.
const OUT: bool = true;
const IN: bool = false;

macro_rules! host_functions {
    ($(#[$about:meta])* $enum:ident { $($(#[$meta:meta])* $function:ident [$($name:literal),+] $effect:expr, $reach:expr;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $enum { $($(#[$meta])* $function,)* }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [$enum] = &[$($enum::$function,)*];

            /// Its link names.
            pub fn names(self) -> &'static [&'static str] {
                match self { $($enum::$function => &[$($name),+],)* }
            }

            /// Its effect on memory.
            pub fn effect(self) -> Effect {
                match self { $($enum::$function => $effect,)* }
            }

            /// Whether it depends on more than its arguments and the memory.
            pub fn reaches_out(self) -> bool {
                match self { $($enum::$function => $reach,)* }
            }
        }
    };
}

host_functions! {
    /// Functions of the runtime.
    RuntimeFn {
        /// Lists the devices.
        Info ["anydsl_info"] Any, OUT;
        /// The name of a device.
        DeviceName ["anydsl_device_name"] Any, OUT;
        /// Whether a device has a feature.
        DeviceFeature ["anydsl_device_check_feature_support"] Any, OUT;
        /// Memory of a device.
        Alloc ["anydsl_alloc"] ALIGN_HEAP, IN;
        /// Memory of the host that a device can access.
        AllocHost ["anydsl_alloc_host"] ALIGN_HOST, IN;
        /// Memory of the host and a device.
        AllocUnified ["anydsl_alloc_unified"] ALIGN_HOST, IN;
        /// The device's address of memory of the host.
        GetDevicePtr ["anydsl_get_device_ptr"] Any, OUT;
        /// Releases memory of a device.
        Release ["anydsl_release"] Releases, IN;
        /// Releases memory of the host.
        ReleaseHost ["anydsl_release_host"] Releases, IN;
        /// Aligned memory.
        AlignedMalloc ["anydsl_aligned_malloc"] Any, IN;
        /// Releases aligned memory.
        AlignedFree ["anydsl_aligned_free"] Any, IN;
        /// Copies between devices.
        Copy ["anydsl_copy"] Any, IN;
        /// Fills memory with a byte.
        Memset ["anydsl_memset"] Any, IN;
        /// Waits for the kernels of a device.
        Synchronize ["anydsl_synchronize"] Any, IN;
        /// How much the runtime says.
        SetLogLevel ["anydsl_set_log_level"] Any, IN;
        /// Where compiled kernels are kept.
        SetCacheDirectory ["anydsl_set_cache_directory"] Any, IN;
        /// Runs a function for parts of a range on several threads.
        ParallelFor ["anydsl_parallel_for"] Any, IN;
        /// An event when all kernels so far are done.
        EventRecord ["nyala_event_record"] Any, OUT;
        /// Waits for an event.
        EventWait ["nyala_event_wait"] Any, OUT;
        /// Forgets an event.
        EventRelease ["nyala_event_release"] Any, OUT;
        /// Whether an event has happened.
        EventIsDone ["nyala_event_is_done"] Any, OUT;
        /// The time between two events.
        EventMicroseconds ["nyala_event_microseconds"] Any, OUT;
        /// Starts the sequence of random numbers.
        RandomSeed ["anydsl_random_seed"] OwnState, OUT;
        /// A random number.
        RandomF32 ["anydsl_random_val_f32"] OwnState, OUT;
        /// A random number.
        RandomU64 ["anydsl_random_val_u64"] OwnState, OUT;
        /// The time.
        MicroTime ["anydsl_get_micro_time"] OwnState, OUT;
        /// The time.
        NanoTime ["anydsl_get_nano_time"] OwnState, OUT;
        /// The time that kernels have taken.
        KernelTime ["anydsl_get_kernel_time"] OwnState, OUT;
        /// Whether an `f32` is infinite.
        IsInfF32 ["anydsl_isinff"] Pure, IN;
        /// Whether an `f32` is NaN.
        IsNanF32 ["anydsl_isnanf"] Pure, IN;
        /// Whether an `f32` is finite.
        IsFiniteF32 ["anydsl_isfinitef"] Pure, IN;
        /// Whether an `f64` is infinite.
        IsInfF64 ["anydsl_isinf"] Pure, IN;
        /// Whether an `f64` is NaN.
        IsNanF64 ["anydsl_isnan"] Pure, IN;
        /// Whether an `f64` is finite.
        IsFiniteF64 ["anydsl_isfinite"] Pure, IN;
        /// Prints a number.
        PrintI8 ["anydsl_print_i8"] OwnState, OUT;
        /// Prints a number.
        PrintI16 ["anydsl_print_i16"] OwnState, OUT;
        /// Prints a number.
        PrintI32 ["anydsl_print_i32"] OwnState, OUT;
        /// Prints a number.
        PrintI64 ["anydsl_print_i64"] OwnState, OUT;
        /// Prints a number.
        PrintU8 ["anydsl_print_u8"] OwnState, OUT;
        /// Prints a number.
        PrintU16 ["anydsl_print_u16"] OwnState, OUT;
        /// Prints a number.
        PrintU32 ["anydsl_print_u32"] OwnState, OUT;
        /// Prints a number.
        PrintU64 ["anydsl_print_u64"] OwnState, OUT;
        /// Prints a number.
        PrintF32 ["anydsl_print_f32"] OwnState, OUT;
        /// Prints a number.
        PrintF64 ["anydsl_print_f64"] OwnState, OUT;
        /// Prints a byte.
        PrintChar ["anydsl_print_char"] OwnState, OUT;
        /// Prints text.
        PrintString ["anydsl_print_string"] ReadsText, OUT;
        /// Flushes the output.
        PrintFlush ["anydsl_print_flush"] OwnState, OUT;
        /// The number that a text is.
        Atoi ["anydsl_atoi"] Any, IN;
        /// Reports a check that failed.
        CheckFailed ["nyala_check_failed"] Ends, OUT;
        /// Reports an assertion that failed.
        AssertionFailed ["nyala_assertion_failed"] Ends, IN;
        /// The next number for a generated argument.
        Generate ["nyala_generate"] OwnState, OUT;
        /// Uses a value in a way that the optimizer does not see.
        BlackBox ["nyala_black_box"] Any, IN;
        /// Promises that two pointers lead to different allocations.
        Separate ["nyala_separate"] OwnState, IN;
        /// Passes the result of a benchmark on to the tool that called it.
        BenchResult ["nyala_result"] Any, IN;
        /// `pext` on 64 bits.
        Pext ["nyala_pext"] Pure, IN;
        /// `pdep` on 64 bits.
        Pdep ["nyala_pdep"] Pure, IN;
    }
}

host_functions! {
    /// Functions of the C library, and helpers that old programs link.
    CFn {
        /// Prints a line.
        Puts ["puts"] Any, OUT;
        /// Prints a byte.
        Putchar ["putchar"] Any, OUT;
        /// Reads a byte.
        Getchar ["getchar"] Any, OUT;
        /// Reads a line.
        ReadLine ["read"] Any, OUT;
        /// Ends the program.
        Exit ["exit"] Any, OUT;
        /// Ends the program at once.
        Abort ["abort"] Any, OUT;
        /// |x| of an `int`.
        Abs ["abs"] Any, IN;
        /// |x| of a `long`.
        Labs ["labs", "llabs"] Any, IN;
        /// The number that a text is.
        Atoi ["atoi"] Any, IN;
        /// A random number.
        Rand ["rand"] Any, OUT;
        /// Starts the sequence of random numbers.
        Srand ["srand"] Any, OUT;
        /// The time.
        Clock ["clock"] Any, OUT;
        /// Memory.
        Malloc ["malloc"] Any, IN;
        /// Memory with zeros.
        Calloc ["calloc"] Any, IN;
        /// Memory of another size.
        Realloc ["realloc", "impala_realloc"] Any, IN;
        /// Releases memory.
        Free ["free"] Any, IN;
        /// Copies memory.
        Memmove ["memcpy", "memmove", "impala_memmove"] Any, IN;
        /// Fills memory with a byte.
        Memset ["memset"] Any, IN;
        /// Compares memory.
        Memcmp ["memcmp"] Any, IN;
        /// The length of a text.
        Strlen ["strlen"] Any, IN;
        /// Compares texts.
        Strcmp ["strcmp"] Any, IN;
        /// Sorts.
        Qsort ["qsort"] Any, IN;
        /// Binary search.
        Bsearch ["bsearch"] Any, IN;
        /// Calls a function at the end of the program.
        Atexit ["atexit"] Any, OUT;
        /// Prints a byte.
        PrintChar ["print_char", "put_u8"] Any, OUT;
        /// Prints text.
        Print ["print"] Any, OUT;
        /// Prints a line.
        Println ["println"] Any, OUT;
        /// Prints a number and ends the line.
        PrintInt ["print_int"] Any, OUT;
        /// Prints a number and ends the line.
        PrintF64 ["print_f64"] Any, OUT;
        /// 42
        FortyTwo ["forty_two"] Any, IN;
    }
}

host_functions! {
    /// Instructions of AVX on eight `f32`.
    VectorFn {
        /// The sign bits of all lanes.
        SignBits ["llvm.x86.avx.movmsk.ps.256"] Pure, IN;
        /// Reciprocals.
        Reciprocal ["llvm.x86.avx.rcp.ps.256"] Pure, IN;
        /// Compares as a predicate says; all ones or zeros.
        Compare ["llvm.x86.avx.cmp.ps.256"] Pure, IN;
        /// Lanes of the second where the third is negative, else of the first.
        Blend ["llvm.x86.avx.blendv.ps.256"] Pure, IN;
    }
}

/// All names with their functions.
pub(super) fn names() -> impl Iterator<Item = (&'static str, Function)> {
    let named = |names: &'static [&'static str], function| names.iter().map(move |&name| (name, function));
    let runtime = RuntimeFn::ALL.iter().flat_map(move |&f| named(f.names(), Function::Runtime(f)));
    let c = CFn::ALL.iter().flat_map(move |&f| named(f.names(), Function::C(f)));
    let vector = VectorFn::ALL.iter().flat_map(move |&f| named(f.names(), Function::Vector(f)));
    runtime.chain(c).chain(vector)
}
