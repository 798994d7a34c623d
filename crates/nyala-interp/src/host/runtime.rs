//! The runtime's functions, `anydsl_*`, and the helpers that test programs link.

use nyala_ir::Prim;
use nyala_ir::eval::float_value;
use nyala_random::MersenneTwister;

use super::{Call, HostFn, Reply, bits, format, int, nothing};
use crate::errors::{Checked, MemoryKind};
use crate::memory::HEAP_ALIGN;

pub(super) fn lookup(name: &str) -> Option<HostFn> {
    Some(match name {
        "anydsl_info" => |call| call.write(b"interpreter: 1 device\n"),
        "anydsl_device_name" => |call| host_string(call, "interpreter"),
        "anydsl_device_check_feature_support" => |_| bits(0),
        "anydsl_alloc" | "anydsl_alloc_unified" => |call| alloc(call, HEAP_ALIGN),
        "anydsl_alloc_host" => |call| alloc(call, 4096),
        "anydsl_get_device_ptr" => |call| bits(call.bits(1)?),
        "anydsl_release" | "anydsl_release_host" => |call| release(call, 1),
        "anydsl_aligned_malloc" => aligned_malloc,
        "anydsl_aligned_free" => |call| release(call, 0),
        "anydsl_copy" => copy,
        "anydsl_memset" => |call| {
            let (addr, byte, size) = (call.bits(0)?, call.int(1)?, call.size(2)?);
            call.memory.fill(addr, byte as u8, size)?;
            nothing()
        },
        "anydsl_synchronize" | "anydsl_set_log_level" | "anydsl_set_cache_directory" => |_| nothing(),
        // Kernels are done when they are launched, so that an event is a time.
        "nyala_event_record" => |call| bits((call.io.nanos)()),
        "nyala_event_wait" | "nyala_event_release" => |_| nothing(),
        "nyala_event_is_done" => |_| bits(1),
        "nyala_event_microseconds" => |call| {
            let nanos = call.bits(1)?.saturating_sub(call.bits(0)?);
            bits((nanos as f64 / 1000.0).to_bits())
        },
        // Instances see each other's writes at once, and time does not matter to them.
        "__threadfence" | "__threadfence_block" | "__threadfence_system" | "__nanosleep" => |_| nothing(),
        "llvm.prefetch" | "llvm.prefetch.p0" => |_| nothing(),
        "llvm.expect.i1" => |call| bits(call.bits(0)?),
        "anydsl_random_seed" => |call| {
            call.state.random = MersenneTwister::new(call.int(0)? as u32);
            nothing()
        },
        "anydsl_random_val_f32" => |call| bits(u64::from(call.state.random.next_f32().to_bits())),
        "anydsl_random_val_u64" => |call| {
            let (high, low) = (call.state.random.next_u32(), call.state.random.next_u32());
            bits(u64::from(high) << 32 | u64::from(low))
        },
        "anydsl_get_micro_time" => |call| bits((call.io.nanos)() / 1000),
        "anydsl_get_nano_time" => |call| bits((call.io.nanos)()),
        "anydsl_get_kernel_time" => |_| bits(0),
        "anydsl_isinff" => |call| classify(call, Prim::F32, f64::is_infinite),
        "anydsl_isnanf" => |call| classify(call, Prim::F32, f64::is_nan),
        "anydsl_isfinitef" => |call| classify(call, Prim::F32, f64::is_finite),
        "anydsl_isinf" => |call| classify(call, Prim::F64, f64::is_infinite),
        "anydsl_isnan" => |call| classify(call, Prim::F64, f64::is_nan),
        "anydsl_isfinite" => |call| classify(call, Prim::F64, f64::is_finite),
        "anydsl_print_i8" => |call| print_int(call, Prim::I8),
        "anydsl_print_i16" => |call| print_int(call, Prim::I16),
        "anydsl_print_i32" => |call| print_int(call, Prim::I32),
        "anydsl_print_i64" => |call| print_int(call, Prim::I64),
        "anydsl_print_u8" => |call| print_int(call, Prim::U8),
        "anydsl_print_u16" => |call| print_int(call, Prim::U16),
        "anydsl_print_u32" => |call| print_int(call, Prim::U32),
        "anydsl_print_u64" => |call| print_int(call, Prim::U64),
        "anydsl_print_f32" => |call| print_float(call, Prim::F32),
        "anydsl_print_f64" => |call| print_float(call, Prim::F64),
        "anydsl_print_char" | "print_char" | "put_u8" => |call| {
            let byte = call.bits(0)? as u8;
            call.write(&[byte])
        },
        "anydsl_print_string" | "print" => |call| {
            let text = call.string(0)?;
            call.write(&text)
        },
        "anydsl_print_flush" => |call| call.flush(),
        "anydsl_atoi" => super::libc::atoi,
        "println" => |call| {
            let text = call.string(0)?;
            call.write(&text)?;
            call.write(b"\n")
        },
        "print_int" => |call| {
            let text = format!("{}\n", call.int(0)?);
            call.write(text.as_bytes())
        },
        "print_f64" => |call| {
            let text = format!("{:.9}\n", f64::from_bits(call.bits(0)?));
            call.write(text.as_bytes())
        },
        "forty_two" => |_| int(42),
        _ => return None,
    })
}

fn host_string(call: &mut Call<'_, '_>, text: &'static str) -> Checked<Reply> {
    if let Some(&addr) = call.state.strings.get(text) {
        return bits(addr);
    }
    let bytes: Vec<u8> = text.bytes().chain([0]).collect();
    let addr = call.memory.allocate_bytes(&bytes, MemoryKind::Host)?;
    call.state.strings.insert(text, addr);
    bits(addr)
}

fn alloc(call: &mut Call<'_, '_>, align: u64) -> Checked<Reply> {
    let size = call.size(1)?;
    bits(call.memory.allocate(size, align, MemoryKind::Heap, call.span)?)
}

fn aligned_malloc(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let (size, align) = (call.size(0)?, call.size(1)?);
    if !align.is_power_of_two() || align > 1 << 30 {
        return call.bad(format!("{align} is no alignment"));
    }
    bits(call.memory.allocate(size, align, MemoryKind::Heap, call.span)?)
}

fn release(call: &mut Call<'_, '_>, at: usize) -> Checked<Reply> {
    let addr = call.bits(at)?;
    call.memory.release(addr, call.span)?;
    nothing()
}

/// `(src_dev, src, src_off, dst_dev, dst, dst_off, size)`
fn copy(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let src = call.bits(1)?.wrapping_add(call.bits(2)?);
    let dst = call.bits(4)?.wrapping_add(call.bits(5)?);
    let size = call.size(6)?;
    call.memory.copy(src, dst, size)?;
    nothing()
}

fn classify(call: &mut Call<'_, '_>, prim: Prim, is: fn(f64) -> bool) -> Checked<Reply> {
    int(i32::from(is(float_value(prim, call.bits(0)?))))
}

fn print_int(call: &mut Call<'_, '_>, prim: Prim) -> Checked<Reply> {
    let value = call.bits(0)?;
    let text = match prim.is_signed() {
        true => prim.sign_extend(value).to_string(),
        false => prim.canonical(value).to_string(),
    };
    call.write(text.as_bytes())
}

fn print_float(call: &mut Call<'_, '_>, prim: Prim) -> Checked<Reply> {
    let text = format::general(float_value(prim, call.bits(0)?), 6);
    call.write(text.as_bytes())
}
