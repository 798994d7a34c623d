//! What can go wrong when a program runs, and how it is told.
//!
//! An [`InterpError`] says what happened, where, and by which chain of calls the
//! program got there. [`InterpError::to_diagnostic`] is the one place that turns
//! it into a message.

use std::fmt;

use nyala_ir::eval::EvalError;
use nyala_span::diagnostic::plural;
use nyala_span::{Code, Diagnostic, Span};

/// A run that went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterpError {
    /// How many steps were taken before it.
    pub steps: u64,
    /// What happened.
    pub kind: ErrorKind,
    /// The operation or call to blame.
    pub span: Span,
    /// The calls that led there, the innermost first.
    pub calls: Vec<Frame>,
    /// How many calls in the middle of `calls` are left out, and after which.
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

/// What kind of memory an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// A local variable.
    Slot,
    /// From `~`: it is never freed.
    Boxed,
    /// From `alloc` or `malloc`: to be freed by hand.
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

/// What was done to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It was read.
    Read,
    /// It was written.
    Write,
    /// It was read and written at once.
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

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// An access that is not inside its allocation.
    OutOfBounds {
        /// Read or write.
        access: AccessKind,
        /// How many bytes.
        size: u64,
        /// Where, from the start of the allocation.
        offset: i64,
        /// What was missed.
        kind: MemoryKind,
        /// How large it is.
        alloc_size: u64,
        /// Where it was made.
        made: Span,
    },
    /// An access to memory that is gone.
    Dangling {
        /// Read or write.
        access: AccessKind,
        /// What it was.
        kind: MemoryKind,
        /// Where it was made.
        made: Span,
        /// Where it was freed; none for a local variable.
        freed: Span,
    },
    /// An access through an address that belongs to nothing.
    InvalidPointer {
        /// Read or write.
        access: AccessKind,
        /// The address; 0 is null.
        addr: u64,
    },
    /// An access at an address that its type does not allow.
    Misaligned {
        /// Read or write.
        access: AccessKind,
        /// The address.
        addr: u64,
        /// What it should be a multiple of.
        align: u64,
    },
    /// A read of bytes that were never written.
    Uninitialised {
        /// Of what.
        kind: MemoryKind,
        /// Where, from the start of the allocation.
        offset: u64,
        /// Where it was made.
        made: Span,
    },
    /// A write to a constant.
    ConstantWritten {
        /// Where it was made.
        made: Span,
    },
    /// A release of something that cannot be released.
    BadFree {
        /// Why not.
        why: &'static str,
        /// Where the memory was made, if it is known.
        made: Span,
        /// Where it was freed before, if it was.
        freed: Span,
    },
    /// Memory that was still allocated at the end.
    Leak {
        /// How many allocations.
        count: usize,
        /// How many bytes in all.
        bytes: u64,
    },
    /// An operator failed.
    Eval {
        /// How.
        error: EvalError,
        /// The operation with its operands.
        what: String,
    },
    /// Control reached what the program says is never reached.
    Unreachable,
    /// The program decided on an undefined value.
    UndefDecides {
        /// What for.
        what: &'static str,
    },
    /// The budget of steps is spent.
    OutOfSteps {
        /// How many there were.
        limit: u64,
    },
    /// A function that is declared, but that nobody here knows.
    UnknownFunction {
        /// Its symbol.
        name: String,
    },
    /// A body that runs in parallel left by a continuation of the outside.
    JumpOut,
    /// Two instances used the same memory without order, one of them writing.
    Race {
        /// This access.
        access: AccessKind,
        /// The other access.
        other: AccessKind,
        /// Where the other one happened.
        other_span: Span,
        /// This instance and the other one.
        instances: (u32, u32),
    },
    /// Instances wait at different barriers.
    BarrierDivergence {
        /// Where some wait.
        here: Span,
        /// Another place where instances wait.
        other: Span,
    },
    /// More memory than the interpreter gives.
    OutOfMemory {
        /// How much was asked for.
        size: u64,
    },
    /// Something that cannot be interpreted.
    Unsupported {
        /// What.
        what: String,
    },
    /// There is no such function to start with, or it has another shape.
    NoEntry {
        /// What is wrong.
        why: String,
    },
    /// An index that is not in an aggregate value.
    IndexRange {
        /// The index.
        index: i64,
        /// How many parts there are.
        len: usize,
    },
    /// The payload of another option than the value has.
    WrongOption {
        /// What the value is.
        found: u32,
        /// What was asked for.
        expected: u32,
    },
    /// A function was read from bytes that do not hold one.
    NotAFunction,
    /// A thread id that no thread has, or a thread that was joined before.
    BadThread {
        /// The id.
        id: i32,
    },
    /// An argument that a function of the host cannot take.
    BadArgument {
        /// The function.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Reading input or writing output failed.
    Io {
        /// What the system said.
        error: String,
    },
    /// The program breaks a rule of the graph that the verifier checks.
    Malformed {
        /// What was found.
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
            ErrorKind::Uninitialised { .. } => "E0954",
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
            ErrorKind::UndefDecides { .. } => "E0963",
            ErrorKind::OutOfSteps { .. } => "E0964",
            ErrorKind::UnknownFunction { .. } => "E0965",
            ErrorKind::JumpOut => "E0966",
            ErrorKind::Race { .. } => "E0967",
            ErrorKind::BarrierDivergence { .. } => "E0968",
            ErrorKind::OutOfMemory { .. } => "E0969",
            ErrorKind::Unsupported { .. } => "E0970",
            ErrorKind::NoEntry { .. } => "E0971",
            ErrorKind::IndexRange { .. } => "E0972",
            ErrorKind::WrongOption { .. } => "E0973",
            ErrorKind::NotAFunction => "E0974",
            ErrorKind::BadThread { .. } => "E0975",
            ErrorKind::BadArgument { .. } => "E0976",
            ErrorKind::Io { .. } => "E0977",
            ErrorKind::Malformed { .. } => "E0978",
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
                write!(f, "{} of a local variable whose function was left", access.verb())
            }
            ErrorKind::Dangling { access, kind, .. } => {
                write!(f, "{} of a {kind} that was freed", access.verb())
            }
            ErrorKind::InvalidPointer { access, addr: 0 } => {
                write!(f, "{} through a null pointer", access.verb())
            }
            ErrorKind::InvalidPointer { access, addr } => {
                write!(f, "{} at address {addr:#x}, which belongs to nothing", access.verb())
            }
            ErrorKind::Misaligned { access, addr, align } => {
                write!(f, "{} at address {addr:#x}, which is no multiple of {align}", access.verb())
            }
            ErrorKind::Uninitialised { kind, offset, .. } => {
                write!(f, "read of uninitialised memory at offset {offset} of a {kind}")
            }
            ErrorKind::ConstantWritten { .. } => f.write_str("write to a constant"),
            ErrorKind::BadFree { why, .. } => write!(f, "cannot free this memory: {why}"),
            ErrorKind::Leak { count: 1, bytes } => {
                write!(f, "a heap allocation of {} was never freed", plural(*bytes, "byte"))
            }
            ErrorKind::Leak { count, bytes } => {
                write!(f, "{count} heap allocations of {} in all were never freed", plural(*bytes, "byte"))
            }
            ErrorKind::Eval { error, what } => write!(f, "{error}: {what}"),
            ErrorKind::Unreachable => f.write_str("reached code that is marked as unreachable"),
            ErrorKind::UndefDecides { what } => write!(f, "an undefined value is used as {what}"),
            ErrorKind::OutOfSteps { limit } => {
                write!(f, "the program did not end within {}", plural(*limit, "step"))
            }
            ErrorKind::UnknownFunction { name } => {
                write!(f, "the interpreter does not know the external function `{name}`")
            }
            ErrorKind::JumpOut => f.write_str("a parallel body is left by a jump to the outside"),
            ErrorKind::Race { access, other, instances: (this, that), .. } => write!(
                f,
                "data race: {} by instance {this} and {} by instance {that} without order",
                access.verb(),
                other.verb()
            ),
            ErrorKind::BarrierDivergence { .. } => {
                f.write_str("instances of one block wait at different barriers")
            }
            ErrorKind::OutOfMemory { size } => write!(f, "cannot allocate {}", plural(*size, "byte")),
            ErrorKind::Unsupported { what } => write!(f, "the interpreter does not support {what}"),
            ErrorKind::NoEntry { why } => f.write_str(why),
            ErrorKind::IndexRange { index, len } => {
                write!(f, "index {index} is outside a value of {}", plural(*len as u64, "part"))
            }
            ErrorKind::WrongOption { found, expected } => {
                write!(f, "payload of option {expected} taken from a value of option {found}")
            }
            ErrorKind::NotAFunction => f.write_str("the called value is no function"),
            ErrorKind::BadThread { id } => write!(f, "there is no thread {id} to join"),
            ErrorKind::BadArgument { name, why } => write!(f, "bad argument to `{name}`: {why}"),
            ErrorKind::Io { error } => write!(f, "input or output failed: {error}"),
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
            | ErrorKind::Uninitialised { made, .. }
            | ErrorKind::ConstantWritten { made } => point(*made, "the memory is made here"),
            ErrorKind::Dangling { made, freed, .. } | ErrorKind::BadFree { made, freed, .. } => {
                point(*made, "the memory is made here");
                point(*freed, "and freed here");
            }
            ErrorKind::Race { other_span, .. } => point(*other_span, "the other access"),
            ErrorKind::BarrierDivergence { here, other } => {
                point(*here, "some wait here");
                point(*other, "others wait here");
            }
            _ => {}
        }
        for (i, frame) in self.calls.iter().enumerate() {
            if let Some((after, count)) = self.omitted
                && after == i
            {
                diagnostic.notes.push(format!("... {count} more calls ..."));
            }
            diagnostic.notes.push(format!("in `{}`", frame.function));
            if let Some(call) = frame.call.filter(|call| !call.is_none()) {
                let label =
                    nyala_span::Label { span: call, message: format!("`{}` is called here", frame.function) };
                diagnostic.secondary.push(label);
            }
        }
        diagnostic
    }
}

impl fmt::Display for InterpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.kind)
    }
}

impl std::error::Error for InterpError {}

/// What a checked step gives.
pub(crate) type Checked<T> = Result<T, Box<ErrorKind>>;

/// Shorthand for the rules that the verifier checks before.
pub(crate) fn malformed<T>(what: impl Into<String>) -> Checked<T> {
    Err(Box::new(ErrorKind::Malformed { what: what.into() }))
}
