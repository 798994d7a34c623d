//! Functions of the runtime.

use nyala_ir::Prim;
use nyala_ir::eval::float_value;
use nyala_ir::functions::RuntimeFn;
use nyala_random::MersenneTwister;

use super::{Call, HostFn, Reply, bits, format, int, nothing};
use crate::errors::{Checked, ErrorKind, MemoryKind, Side};
use crate::memory::HEAP_ALIGN;

/// The bits of a device number that are its platform; 0 is the host.
const PLATFORM: i32 = 0xf;

/// The code of a function, unless it is in [`callbacks`](crate::callbacks) or only compiled code calls it.
pub(super) fn code(function: RuntimeFn) -> Option<HostFn> {
    Some(match function {
        RuntimeFn::Info => |call| call.write(b"interpreter: 1 device\n"),
        RuntimeFn::DeviceName => |call| host_string(call, "interpreter"),
        RuntimeFn::DeviceFeature => |_| bits(0),
        RuntimeFn::Alloc => alloc,
        RuntimeFn::AllocUnified => |call| alloc_for_all(call, HEAP_ALIGN),
        RuntimeFn::AllocHost => |call| alloc_for_all(call, 4096),
        RuntimeFn::GetDevicePtr => |call| bits(call.bits(1)?),
        RuntimeFn::Release | RuntimeFn::ReleaseHost => |call| release(call, 1),
        RuntimeFn::AlignedMalloc => aligned_malloc,
        RuntimeFn::AlignedFree => |call| release(call, 0),
        RuntimeFn::Copy => copy,
        RuntimeFn::Memset => |call| {
            let (addr, byte, size) = (call.bits(0)?, call.int(1)?, call.size(2)?);
            call.memory.as_runtime(|memory| memory.fill(addr, byte as u8, size))?;
            nothing()
        },
        RuntimeFn::Synchronize | RuntimeFn::SetLogLevel | RuntimeFn::SetCacheDirectory => |_| nothing(),
        // A launch returns when its kernel has ended, so an event is a time.
        RuntimeFn::EventRecord => |call| bits((call.io.nanos)()),
        RuntimeFn::EventWait | RuntimeFn::EventRelease => |_| nothing(),
        RuntimeFn::EventIsDone => |_| bits(1),
        RuntimeFn::EventMicroseconds => |call| {
            let nanos = call.bits(1)?.saturating_sub(call.bits(0)?);
            bits((nanos as f64 / 1000.0).to_bits())
        },
        RuntimeFn::RandomSeed => |call| {
            call.state.random = MersenneTwister::new(call.int(0)? as u32);
            nothing()
        },
        RuntimeFn::RandomF32 => |call| bits(u64::from(call.state.random.next_f32().to_bits())),
        RuntimeFn::RandomU64 => |call| {
            let (high, low) = (call.state.random.next_u32(), call.state.random.next_u32());
            bits(u64::from(high) << 32 | u64::from(low))
        },
        RuntimeFn::MicroTime => |call| bits((call.io.nanos)() / 1000),
        RuntimeFn::NanoTime => |call| bits((call.io.nanos)()),
        RuntimeFn::KernelTime => |_| bits(0),
        RuntimeFn::IsInfF32 => |call| classify(call, Prim::F32, f64::is_infinite),
        RuntimeFn::IsNanF32 => |call| classify(call, Prim::F32, f64::is_nan),
        RuntimeFn::IsFiniteF32 => |call| classify(call, Prim::F32, f64::is_finite),
        RuntimeFn::IsInfF64 => |call| classify(call, Prim::F64, f64::is_infinite),
        RuntimeFn::IsNanF64 => |call| classify(call, Prim::F64, f64::is_nan),
        RuntimeFn::IsFiniteF64 => |call| classify(call, Prim::F64, f64::is_finite),
        RuntimeFn::PrintI8 => |call| print_int(call, Prim::I8),
        RuntimeFn::PrintI16 => |call| print_int(call, Prim::I16),
        RuntimeFn::PrintI32 => |call| print_int(call, Prim::I32),
        RuntimeFn::PrintI64 => |call| print_int(call, Prim::I64),
        RuntimeFn::PrintU8 => |call| print_int(call, Prim::U8),
        RuntimeFn::PrintU16 => |call| print_int(call, Prim::U16),
        RuntimeFn::PrintU32 => |call| print_int(call, Prim::U32),
        RuntimeFn::PrintU64 => |call| print_int(call, Prim::U64),
        RuntimeFn::PrintF32 => |call| print_float(call, Prim::F32),
        RuntimeFn::PrintF64 => |call| print_float(call, Prim::F64),
        RuntimeFn::PrintChar => print_char,
        RuntimeFn::PrintString => print_string,
        RuntimeFn::PrintFlush => |call| call.flush(),
        RuntimeFn::Atoi => super::libc::atoi,
        RuntimeFn::AssertionFailed => assertion_failed,
        RuntimeFn::Generate => |call| bits((call.state.generate)()),
        RuntimeFn::BlackBox | RuntimeFn::BenchResult => |_| nothing(),
        RuntimeFn::Separate => separate,
        // See `callbacks`.
        RuntimeFn::ParallelFor => return None,
        // Only compiled code calls them.
        RuntimeFn::CheckFailed | RuntimeFn::Pext | RuntimeFn::Pdep => return None,
    })
}

/// `(place, template, values)`
fn assertion_failed(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let template = String::from_utf8_lossy(&call.string(1)?).into_owned();
    let values = call.bits(2)?;
    let n_values = nyala_message::count(&template) as u64;
    let read = |index| call.memory.load_scalar(values.wrapping_add(8 * index), 8);
    let values = (0..n_values).map(read).collect::<Checked<Vec<u64>>>()?;
    Err(Box::new(ErrorKind::AssertionFailed { message: nyala_message::fill(&template, &values) }))
}

/// The promise that two pointers lead to different allocations, which must hold.
fn separate(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let [first, second] = [call.bits(0)?, call.bits(1)?].map(|addr| call.memory.number_of(addr));
    match first.is_some() && first == second {
        true => call.bad("both pointers lead to the same allocation".into()),
        false => nothing(),
    }
}

/// Prints a byte.
pub(super) fn print_char(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let byte = call.bits(0)? as u8;
    call.write(&[byte])
}

/// Prints text.
pub(super) fn print_string(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let text = call.string(0)?;
    call.write(&text)
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

/// `(dev, size)`
fn alloc(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let side = if call.int(0)? & PLATFORM == 0 { Side::Host } else { Side::Device };
    let size = call.size(1)?;
    bits(call.memory.allocate_on(side, size, HEAP_ALIGN, call.span)?)
}

/// Memory that the host and devices have access to.
fn alloc_for_all(call: &mut Call<'_, '_>, align: u64) -> Checked<Reply> {
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
    call.memory.as_runtime(|memory| memory.copy(src, dst, size))?;
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
