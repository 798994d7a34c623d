//! Functions of the C library, and helpers that old programs link.

use nyala_ir::Prim;
use nyala_ir::functions::CFn;

use super::{Call, HostFn, Reply, bits, int, nothing};
use crate::errors::{Checked, MemoryKind};

/// The alignment of `malloc`.
const MALLOC_ALIGN: u64 = 16;

/// The code of a function, unless it is in [`callbacks`](crate::callbacks).
pub(super) fn code(function: CFn) -> Option<HostFn> {
    Some(match function {
        CFn::Puts => |call| {
            let text = call.string(0)?;
            call.write(&text)?;
            call.write(b"\n")?;
            int(0)
        },
        CFn::Putchar => |call| {
            let byte = call.int(0)?;
            call.write(&[byte as u8])?;
            int(byte)
        },
        CFn::Getchar => |call| int(call.read_byte()?.map_or(-1, i32::from)),
        CFn::ReadLine => read_line,
        CFn::Exit => |call| Ok(Reply::Exit(call.int(0)?)),
        CFn::Abort => |call| {
            call.state.at_exit.clear();
            Ok(Reply::Exit(134))
        },
        CFn::Abs => |call| int(call.int(0)?.wrapping_abs()),
        CFn::Labs => |call| bits((call.bits(0)? as i64).wrapping_abs() as u64),
        CFn::Atoi => atoi,
        CFn::Rand => rand,
        CFn::Srand => |call| {
            call.state.rand = call.int(0)? as u32;
            nothing()
        },
        CFn::Clock => |call| bits((call.io.nanos)() / 1000),
        CFn::Malloc => |call| {
            let size = call.size(0)?;
            bits(call.memory.allocate(size, MALLOC_ALIGN, MemoryKind::Heap, call.span)?)
        },
        CFn::Calloc => calloc,
        CFn::Realloc => realloc,
        CFn::Free => |call| {
            let addr = call.bits(0)?;
            call.memory.release(addr, call.span)?;
            nothing()
        },
        CFn::Memmove => |call| {
            let (dst, src, size) = (call.bits(0)?, call.bits(1)?, call.size(2)?);
            call.memory.copy(src, dst, size)?;
            bits(dst)
        },
        CFn::Memset => |call| {
            let (dst, byte, size) = (call.bits(0)?, call.int(1)?, call.size(2)?);
            call.memory.fill(dst, byte as u8, size)?;
            bits(dst)
        },
        CFn::Memcmp => memcmp,
        CFn::Strlen => |call| {
            let text = call.string(0)?;
            bits(text.len() as u64)
        },
        CFn::Strcmp => |call| {
            let (a, b) = (call.string(0)?, call.string(1)?);
            int(a.cmp(&b) as i32)
        },
        CFn::PrintChar => super::runtime::print_char,
        CFn::Print => super::runtime::print_string,
        CFn::Println => |call| {
            let text = call.string(0)?;
            call.write(&text)?;
            call.write(b"\n")
        },
        CFn::PrintInt => |call| {
            let text = format!("{}\n", call.int(0)?);
            call.write(text.as_bytes())
        },
        CFn::PrintF64 => |call| {
            let text = format!("{:.9}\n", f64::from_bits(call.bits(0)?));
            call.write(text.as_bytes())
        },
        CFn::FortyTwo => |_| int(42),
        // See `callbacks`.
        CFn::Qsort | CFn::Bsearch | CFn::Atexit => return None,
    })
}

/// A linear congruential generator, as in the example of the C standard.
fn rand(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let next = call.state.rand.wrapping_mul(1_103_515_245).wrapping_add(12_345);
    call.state.rand = next;
    int((next >> 16 & 0x7fff) as i32)
}

/// Reads a line of the input into a buffer, and terminates it with a zero.
fn read_line(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let mut line = vec![];
    while let Some(byte) = call.read_byte()?.filter(|&byte| byte != b'\n') {
        line.push(byte);
    }
    line.push(0);
    let addr = call.bits(0)?;
    call.memory.write_bytes(addr, &line)?;
    nothing()
}

pub(super) fn atoi(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let text = call.string(0)?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = digits.chars().take_while(char::is_ascii_digit);
    let value = digits.fold(0i64, |value, digit| {
        value.wrapping_mul(10).wrapping_add(i64::from(digit.to_digit(10).unwrap_or(0)))
    });
    int(if text.starts_with('-') { value.wrapping_neg() } else { value } as i32)
}

fn calloc(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let (count, size) = (call.size(0)?, call.size(1)?);
    let size = count.saturating_mul(size);
    let addr = call.memory.allocate(size, MALLOC_ALIGN, MemoryKind::Heap, call.span)?;
    call.memory.zero(addr);
    bits(addr)
}

fn realloc(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let (old, size) = (call.bits(0)?, call.size(1)?);
    let new = call.memory.allocate(size, MALLOC_ALIGN, MemoryKind::Heap, call.span)?;
    if old != 0 {
        let kept = call.memory.bytes_after(old).min(size);
        call.memory.copy(old, new, kept)?;
        call.memory.release(old, call.span)?;
    }
    bits(new)
}

fn memcmp(call: &mut Call<'_, '_>) -> Checked<Reply> {
    let (a, b, size) = (call.bits(0)?, call.bits(1)?, call.size(2)?);
    let order = call.memory.read_bytes(a, size)?.cmp(&call.memory.read_bytes(b, size)?);
    int(Prim::I32.sign_extend(order as u64) as i32)
}
