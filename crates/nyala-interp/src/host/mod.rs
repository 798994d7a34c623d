//! Host functions, which programs call by their link names.
//!
//! `nyala_ir::functions` lists them. [`host_fn`] has the code of those that need values and memory only:
//! `libc`, `runtime` and `vector`; `format` writes numbers. Functions
//! that call back into the program are in [`callbacks`](crate::callbacks), collective operations in
//! [`lanes`](crate::lanes), and work-item functions in [`work_items`](crate::work_items).

pub(crate) mod format;
mod libc;
mod runtime;
mod vector;

use nyala_ir::functions::DeviceFn;
use nyala_ir::{Cont, Function, Prim};
use nyala_random::MersenneTwister;
use nyala_span::Span;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

pub(crate) use format::printf;

use crate::errors::{Checked, ErrorKind};
use crate::machine::Results;
use crate::memory::Memory;
use crate::value::Value;
use crate::{Io, Options};

/// The state of host functions.
pub(crate) struct HostState {
    /// The functions of declarations that were called before.
    pub(crate) known: FxHashMap<Cont, Known>,
    random: MersenneTwister,
    /// The state of C's `rand`.
    rand: u32,
    /// Addresses of strings of the host.
    strings: FxHashMap<&'static str, u64>,
    /// Chooses the order of parallel instances.
    pub(crate) seed: u64,
    /// The functions to call at the end, the last one first.
    pub(crate) at_exit: Vec<Value>,
    /// Whether functions with access to the environment are errors.
    pub(crate) is_isolated: bool,
    /// Returns the next number for a generated argument.
    generate: fn() -> u64,
}

impl HostState {
    pub(crate) fn new(options: &Options) -> HostState {
        HostState {
            at_exit: vec![],
            is_isolated: options.is_isolated,
            generate: options.generate,
            known: FxHashMap::default(),
            random: MersenneTwister::new(MersenneTwister::DEFAULT_SEED),
            rand: 1,
            strings: FxHashMap::default(),
            seed: options.seed,
        }
    }
}

/// A call of a host function.
pub(crate) struct Call<'a, 'io> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a [Value],
    pub(crate) memory: &'a mut Memory,
    pub(crate) io: &'a mut Io<'io>,
    pub(crate) state: &'a mut HostState,
    pub(crate) span: Span,
}

/// A host function.
pub(crate) type HostFn = fn(&mut Call<'_, '_>) -> Checked<Reply>;

/// The outcome of a host function.
pub(crate) enum Reply {
    /// Its results.
    Results(Results),
    /// The program ends.
    Exit(i32),
}

/// The function that a declaration refers to.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// A function that needs values and memory only.
    Host(HostFn),
    /// Any other function.
    Other(Function),
}

impl Known {
    pub(crate) fn of(function: Function) -> Known {
        match host_fn(function) {
            Some(host) => Known::Host(host),
            None => Known::Other(function),
        }
    }
}

/// The code of a function that needs values and memory only.
fn host_fn(function: Function) -> Option<HostFn> {
    match function {
        Function::Runtime(function) => runtime::code(function),
        Function::C(function) => libc::code(function),
        Function::Vector(function) => Some(vector::code(function)),
        Function::Device(function) => device(function),
        Function::Number(_)
        | Function::WorkItem(..)
        | Function::Atomic(_)
        | Function::Collective(_)
        | Function::Lanes(_) => None,
    }
}

fn device(function: DeviceFn) -> Option<HostFn> {
    match function {
        // Writes are visible to all instances at once, and timing has no effect.
        DeviceFn::FenceBlock | DeviceFn::FenceDevice | DeviceFn::FenceSystem | DeviceFn::Sleep => {
            Some(|_| nothing())
        }
        DeviceFn::Prefetch => Some(|_| nothing()),
        DeviceFn::Expect => Some(|call| bits(call.bits(0)?)),
        DeviceFn::LoadCached | DeviceFn::Trap | DeviceFn::Printf | DeviceFn::DispatchPacket => None,
    }
}

impl Call<'_, '_> {
    /// Argument `at`, which must be a defined scalar.
    fn bits(&self, at: usize) -> Checked<u64> {
        match self.args.get(at) {
            Some(Value::Bits(bits)) => Ok(*bits),
            Some(Value::Undef) => self.bad(format!("argument {} is undefined", at + 1)),
            _ => self.bad(format!("argument {} is no number", at + 1)),
        }
    }

    fn int(&self, at: usize) -> Checked<i32> {
        self.bits(at).map(|bits| bits as i32)
    }

    /// A size or count, which must not be negative.
    fn size(&self, at: usize) -> Checked<u64> {
        let bits = self.bits(at)?;
        match i64::try_from(bits) {
            Ok(_) => Ok(bits),
            Err(_) => self.bad(format!("{} is no size", bits as i64)),
        }
    }

    fn bad<T>(&self, why: String) -> Checked<T> {
        Err(Box::new(ErrorKind::BadArgument { name: self.name.into(), why }))
    }

    fn write(&mut self, bytes: &[u8]) -> Checked<Reply> {
        self.io.output.write_all(bytes).map_err(io_error)?;
        nothing()
    }

    fn flush(&mut self) -> Checked<Reply> {
        self.io.output.flush().map_err(io_error)?;
        nothing()
    }

    /// The next byte of the input, if there is one.
    fn read_byte(&mut self) -> Checked<Option<u8>> {
        let mut byte = [0];
        loop {
            return match self.io.input.read(&mut byte) {
                Ok(0) => Ok(None),
                Ok(_) => Ok(Some(byte[0])),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(io_error(error)),
            };
        }
    }

    fn string(&mut self, at: usize) -> Checked<Vec<u8>> {
        let addr = self.bits(at)?;
        self.memory.c_string(addr)
    }
}

fn io_error(error: std::io::Error) -> Box<ErrorKind> {
    Box::new(ErrorKind::Io { error: error.to_string() })
}

fn nothing() -> Checked<Reply> {
    Ok(Reply::Results(Results::new()))
}

fn bits(bits: u64) -> Checked<Reply> {
    Ok(Reply::Results(smallvec![Value::Bits(bits)]))
}

fn int(value: i32) -> Checked<Reply> {
    bits(Prim::I32.canonical(value as u64))
}
