//! Run-time errors.
//!
//! An [`InterpError`] has the kind of error, the operation, and the chain of calls
//! that led to it. [`InterpError::to_diagnostic`] turns it into a message.

use std::fmt;

use nyala_ir::entry::{MAIN_TYPES, NoEntry};
use nyala_ir::eval::EvalError;
use nyala_span::diagnostic::plural;
use nyala_span::{Code, Diagnostic, Span};

/// A failed run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterpError {
    /// The number of steps before the error.
    pub steps: u64,
    /// The kind of error.
    pub kind: ErrorKind,
    /// The operation or call that failed.
    pub span: Span,
    /// The calls that led there, the innermost first.
    pub calls: Vec<Frame>,
    /// The calls that are omitted in the middle of `calls`: their position and number.
    pub omitted: Option<(usize, usize)>,
}

/// One link in a chain of calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The function that was executing.
    pub function: String,
    /// The call that entered it; none for the outermost.
    pub call: Option<Span>,
}

/// The kind of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// A local variable.
    Slot,
    /// From `~`; never freed.
    Boxed,
    /// From `alloc` or `malloc`; the program frees it.
    Heap,
    /// A global variable.
    Global,
    /// A constant.
    Constant,
    /// Given by the host: program arguments, device names.
    Host,
    /// Work-group memory of a kernel.
    Shared,
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryKind::Slot => "local variable",
            MemoryKind::Boxed | MemoryKind::Heap => "heap allocation",
            MemoryKind::Global => "global",
            MemoryKind::Constant => "constant",
            MemoryKind::Host => "string of the host",
            MemoryKind::Shared => "block of shared memory",
        })
    }
}

/// The side that memory is on, or that code runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host.
    Host,
    /// A device: its memory, and kernels.
    Device,
}

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// An atomic read, write, or both.
    Atomic,
}

impl AccessKind {
    fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic access",
        }
    }
}

/// The kinds of errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// An access outside of its allocation.
    OutOfBounds {
        /// Read or write.
        access: AccessKind,
        /// The size of the access in bytes.
        size: u64,
        /// The offset from the start of the allocation.
        offset: i64,
        /// The kind of the allocation.
        kind: MemoryKind,
        /// The size of the allocation in bytes.
        alloc_size: u64,
        /// Where it was allocated.
        made: Span,
    },
    /// An access to memory that was freed.
    Dangling {
        /// Read or write.
        access: AccessKind,
        /// The kind of the allocation.
        kind: MemoryKind,
        /// Where it was allocated.
        made: Span,
        /// Where it was freed; none for a local variable.
        freed: Span,
    },
    /// An access at an address outside of all allocations.
    InvalidPointer {
        /// Read or write.
        access: AccessKind,
        /// The address; 0 is null.
        addr: u64,
    },
    /// An access at an address that is not aligned for its type.
    Misaligned {
        /// Read or write.
        access: AccessKind,
        /// The address.
        addr: u64,
        /// The alignment of the type.
        align: u64,
    },
    /// A read of uninitialized bytes.
    Uninitialized {
        /// The kind of the allocation.
        kind: MemoryKind,
        /// The offset from the start of the allocation.
        offset: u64,
        /// Where it was allocated.
        made: Span,
    },
    /// An access of a kernel to memory of the host, or of the host to memory of a device.
    WrongSide {
        /// Read or write.
        access: AccessKind,
        /// The side of the memory; the other one accesses it.
        memory: Side,
        /// Where it was allocated.
        made: Span,
    },
    /// A write to a constant.
    ConstantWritten {
        /// Where the constant is defined.
        made: Span,
    },
    /// A release of memory that cannot be released.
    BadFree {
        /// The reason.
        why: &'static str,
        /// Where the memory was allocated, if it is known.
        made: Span,
        /// Where it was freed before, if it was.
        freed: Span,
    },
    /// Memory that was not freed at the end.
    Leak {
        /// The number of allocations.
        count: usize,
        /// Their size in bytes.
        bytes: u64,
        /// Where else memory was allocated.
        others: Vec<Span>,
    },
    /// An operator failed.
    Eval {
        /// The reason.
        error: EvalError,
        /// The operation with its operands.
        what: String,
    },
    /// Control reached code that is marked as unreachable.
    Unreachable,
    /// An undefined value was used as a condition, an address, a size or the like.
    UndefinedUse {
        /// Its use.
        what: &'static str,
    },
    /// The limit of steps is reached.
    OutOfSteps {
        /// The limit.
        limit: u64,
    },
    /// An external function that the interpreter does not have.
    UnknownFunction {
        /// Its symbol.
        name: String,
    },
    /// A parallel body called a continuation from outside of the body.
    JumpOut,
    /// Two unordered accesses of instances to the same memory, one of them a write.
    Race {
        /// This access.
        access: AccessKind,
        /// The other access.
        other: AccessKind,
        /// The operation of the other access.
        other_span: Span,
        /// This instance and the other one.
        instances: (u32, u32),
    },
    /// Instances wait at different barriers.
    BarrierDivergence {
        /// One barrier.
        here: Span,
        /// The other barrier.
        other: Span,
    },
    /// The limit of memory is reached.
    OutOfMemory {
        /// The requested size.
        size: u64,
    },
    /// A feature that the interpreter does not have.
    Unsupported {
        /// The feature.
        what: String,
    },
    /// The entry function does not exist or has the wrong parameters.
    NoEntry(NoEntry),
    /// An index outside of an aggregate value.
    IndexRange {
        /// The index.
        index: i64,
        /// The number of parts.
        len: usize,
    },
    /// The payload of an option was read from a value of another option.
    WrongOption {
        /// The option of the value.
        found: u32,
        /// The option of the payload.
        expected: u32,
    },
    /// A function was loaded from bytes that do not contain one.
    NotAFunction,
    /// A `sync` with an invalid thread id, or with a thread that was joined before.
    BadThread {
        /// The id.
        id: i32,
    },
    /// An invalid argument of a host function.
    BadArgument {
        /// The function.
        name: String,
        /// The reason.
        why: String,
    },
    /// Reading input or writing output failed.
    Io {
        /// The error of the system.
        error: String,
    },
    /// An assertion of the program failed.
    AssertionFailed {
        /// The assertion in the first line, and its values in the others.
        message: String,
    },
    /// The program violates a rule of the graph that the verifier checks.
    Malformed {
        /// The violation.
        what: String,
    },
}

impl ErrorKind {
    /// The stable code of this kind.
    pub fn code(&self) -> Code {
        Code(match self {
            ErrorKind::OutOfBounds { .. } => "E0950",
            ErrorKind::Dangling { .. } => "E0951",
            ErrorKind::InvalidPointer { .. } => "E0952",
            ErrorKind::Misaligned { .. } => "E0953",
            ErrorKind::Uninitialized { .. } => "E0954",
            ErrorKind::WrongSide { .. } => "E0980",
            ErrorKind::ConstantWritten { .. } => "E0955",
            ErrorKind::BadFree { .. } => "E0956",
            ErrorKind::Leak { .. } => "E0957",
            ErrorKind::Eval { error, .. } => match error {
                EvalError::Overflow => "E0958",
                EvalError::ShiftRange => "E0959",
                EvalError::DivisionByZero => "E0960",
                EvalError::CastRange => "E0961",
                EvalError::Unsupported => "E0978",
            },
            ErrorKind::Unreachable => "E0962",
            ErrorKind::UndefinedUse { .. } => "E0963",
            ErrorKind::OutOfSteps { .. } => "E0964",
            ErrorKind::UnknownFunction { .. } => "E0965",
            ErrorKind::JumpOut => "E0966",
            ErrorKind::Race { .. } => "E0967",
            ErrorKind::BarrierDivergence { .. } => "E0968",
            ErrorKind::OutOfMemory { .. } => "E0969",
            ErrorKind::Unsupported { .. } => "E0970",
            ErrorKind::NoEntry(NoEntry::Missing) => "E0971",
            ErrorKind::NoEntry(NoEntry::Type { .. }) => "E0415",
            ErrorKind::IndexRange { .. } => "E0972",
            ErrorKind::WrongOption { .. } => "E0973",
            ErrorKind::NotAFunction => "E0974",
            ErrorKind::BadThread { .. } => "E0975",
            ErrorKind::BadArgument { .. } => "E0976",
            ErrorKind::Io { .. } => "E0977",
            ErrorKind::Malformed { .. } => "E0978",
            ErrorKind::AssertionFailed { .. } => "E0985",
        })
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::OutOfBounds { access, size, offset, kind, alloc_size, .. } => write!(
                f,
                "{} of {} at offset {offset} is outside the {kind} of {}",
                access.verb(),
                plural(*size, "byte"),
                plural(*alloc_size, "byte")
            ),
            ErrorKind::Dangling { access, kind: MemoryKind::Slot, .. } => {
                write!(f, "{} of a local variable whose function has ended", access.verb())
            }
            ErrorKind::Dangling { access, kind, .. } => {
                write!(f, "{} of a {kind} that was freed", access.verb())
            }
            ErrorKind::InvalidPointer { access, addr: 0 } => {
                write!(f, "{} through a null pointer", access.verb())
            }
            ErrorKind::InvalidPointer { access, addr } => {
                write!(f, "{} at address {addr:#x}, which is not in any allocation", access.verb())
            }
            ErrorKind::Misaligned { access, addr, align } => {
                write!(f, "{} at address {addr:#x}, which is not a multiple of {align}", access.verb())
            }
            ErrorKind::Uninitialized { kind, offset, .. } => {
                write!(f, "read of uninitialized memory at offset {offset} of a {kind}")
            }
            ErrorKind::WrongSide { access, memory: Side::Host, .. } => {
                write!(f, "{} of host memory in a kernel", access.verb())
            }
            ErrorKind::WrongSide { access, memory: Side::Device, .. } => {
                write!(f, "{} of device memory on the host", access.verb())
            }
            ErrorKind::ConstantWritten { .. } => f.write_str("write to a constant"),
            ErrorKind::BadFree { why, .. } => write!(f, "cannot free this memory: {why}"),
            ErrorKind::Leak { count: 1, bytes, .. } => {
                write!(f, "a heap allocation of {} was never freed", plural(*bytes, "byte"))
            }
            ErrorKind::Leak { count, bytes, .. } => {
                write!(f, "{count} heap allocations of {} in all were never freed", plural(*bytes, "byte"))
            }
            ErrorKind::Eval { error, what } => write!(f, "{error}: {what}"),
            ErrorKind::Unreachable => f.write_str("reached code that is marked as unreachable"),
            ErrorKind::UndefinedUse { what } => write!(f, "an undefined value is used as {what}"),
            ErrorKind::OutOfSteps { limit } => {
                write!(f, "the program did not end within {}", plural(*limit, "step"))
            }
            ErrorKind::UnknownFunction { name } => {
                write!(f, "the interpreter does not know the external function `{name}`")
            }
            ErrorKind::JumpOut => f.write_str("a jump leaves a parallel body"),
            ErrorKind::Race { access, other, instances: (this, that), .. } => write!(
                f,
                "data race: {} by instance {this} and {} by instance {that} are not ordered",
                access.verb(),
                other.verb()
            ),
            ErrorKind::BarrierDivergence { .. } => {
                f.write_str("work items of one work group wait at different barriers")
            }
            ErrorKind::OutOfMemory { size } => write!(f, "cannot allocate {}", plural(*size, "byte")),
            ErrorKind::Unsupported { what } => write!(f, "the interpreter does not support {what}"),
            ErrorKind::NoEntry(NoEntry::Missing) => f.write_str("there is no exported function `main`"),
            ErrorKind::NoEntry(NoEntry::Type { .. }) => f.write_str(MAIN_TYPES),
            ErrorKind::IndexRange { index, len } => {
                write!(f, "index {index} is outside a value of {}", plural(*len as u64, "part"))
            }
            ErrorKind::WrongOption { found, expected } => {
                write!(f, "payload of option {expected} taken from a value of option {found}")
            }
            ErrorKind::NotAFunction => f.write_str("the called value is not a function"),
            ErrorKind::BadThread { id } => write!(f, "there is no thread {id} to join"),
            ErrorKind::BadArgument { name, why } => write!(f, "bad argument to `{name}`: {why}"),
            ErrorKind::Io { error } => write!(f, "input or output failed: {error}"),
            ErrorKind::AssertionFailed { message } => f.write_str(message.lines().next().unwrap_or_default()),
            ErrorKind::Malformed { what } => write!(f, "malformed program: {what}"),
        }
    }
}

impl InterpError {
    /// The error as a message for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.kind.code(), self.span, self.kind.to_string());
        let mut point = |span: Span, message: &str| {
            if !span.is_none() {
                let label = nyala_span::Label { span, message: message.into() };
                diagnostic.secondary.push(label);
            }
        };
        match &self.kind {
            ErrorKind::OutOfBounds { made, .. }
            | ErrorKind::Uninitialized { made, .. }
            | ErrorKind::WrongSide { made, .. }
            | ErrorKind::ConstantWritten { made } => point(*made, "the memory is allocated here"),
            ErrorKind::Dangling { made, freed, .. } | ErrorKind::BadFree { made, freed, .. } => {
                point(*made, "the memory is allocated here");
                point(*freed, "and freed here");
            }
            ErrorKind::Leak { others, .. } => {
                others.iter().for_each(|&other| point(other, "and allocated here"));
                diagnostic.primary.message = "allocated here".into();
            }
            ErrorKind::Race { other_span, .. } => point(*other_span, "the other access"),
            ErrorKind::BarrierDivergence { here, other } => {
                point(*here, "some work items wait here");
                point(*other, "other work items wait here");
            }
            ErrorKind::AssertionFailed { message } => {
                diagnostic.notes.extend(message.lines().skip(1).map(String::from));
            }
            _ => {}
        }
        for (i, frame) in self.calls.iter().enumerate() {
            if let Some((after, count)) = self.omitted
                && after == i
            {
                diagnostic.notes.push(format!("... {count} more calls ..."));
            }
            let name = shown_name(&frame.function);
            diagnostic.notes.push(format!("in {name}"));
            if let Some(call) = frame.call.filter(|call| !call.is_none()) {
                let label = nyala_span::Label { span: call, message: format!("{name} is called here") };
                diagnostic.secondary.push(label);
            }
        }
        diagnostic
    }
}

/// A function in a message. Lowering calls functions without a name `lambda`.
fn shown_name(function: &str) -> String {
    match function {
        "lambda" => "an anonymous function".into(),
        name => format!("`{name}`"),
    }
}

impl fmt::Display for InterpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.kind)
    }
}

impl std::error::Error for InterpError {}

/// The result of an operation that may fail.
pub(crate) type Checked<T> = Result<T, Box<ErrorKind>>;

/// An error for programs that the verifier would reject.
pub(crate) fn malformed<T>(what: impl Into<String>) -> Checked<T> {
    Err(Box::new(ErrorKind::Malformed { what: what.into() }))
}
