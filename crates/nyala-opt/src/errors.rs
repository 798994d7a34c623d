//! The diagnostics of the passes: of the evaluator in `evaluation`, of the vectorizer, of closure conversion
//! and of the outlining of kernels here.

mod evaluation;

use nyala_ir::Intrinsic;
use nyala_span::{Code, Diagnostic, Name, Span};

use crate::closures_left::Why;
use crate::vectorize::{CauseKind, Estimate, Refusal};
pub(crate) use evaluation::{AssertionFails, Info, LimitReached, NotSpecialized, recursive_run};

impl Refusal {
    /// The diagnostic for the `vectorize` at `site`. A body with a collective operation is
    /// rejected, because its lanes cannot run one after the other.
    pub fn diagnostic(&self, site: Span, collective: Option<Name>) -> Diagnostic {
        let report = match collective {
            None => Diagnostic::warning(Code("W0910"), site, "this `vectorize` is not vectorized"),
            Some(_) => Diagnostic::error(Code("E0912"), site, "this `vectorize` cannot be vectorized"),
        };
        let why = format!("because of {}", self.why);
        let report = match self.at == site || self.at.is_none() {
            true => report.with_label(why),
            false => report.with_secondary(self.at, why),
        };
        report.with_note(match collective {
            None => "its lanes run one after the other".into(),
            Some(name) => {
                format!("`{name}` is a collective operation, so the lanes cannot run one after the other")
            }
        })
    }
}

impl Estimate {
    /// The SIMD code is expected to be slower than the scalar loop, which may be executed instead.
    pub(crate) fn diagnostic(&self, site: Span, is_loop: bool) -> Diagnostic {
        let report =
            Diagnostic::warning(Code("W0911"), site, "this `vectorize` is expected to be slower than a loop")
                .with_label(format!(
                    "for each lane about {} simple instructions, {} in a scalar loop",
                    tenths(self.simd),
                    tenths(self.scalar)
                ));
        let report = self.causes.iter().fold(report, |report, cause| {
            let what = format!("{} % of that: {}", cause.percent, cause.kind.description());
            match cause.at.is_none() || cause.at == site {
                true => report.with_note(what),
                false => report.with_secondary(cause.at, what),
            }
        });
        match is_loop {
            true => report.with_note("so its lanes run one after the other"),
            false => report,
        }
    }
}

impl CauseKind {
    /// A phrase for the user.
    pub fn description(self) -> &'static str {
        match self {
            CauseKind::Gather => "gathered from varying addresses",
            CauseKind::Scatter => "scattered to varying addresses",
            CauseKind::MaskedAccess => {
                "accessed by one lane after the other, as the machine has no masks for it"
            }
            CauseKind::PerLane => "called by one lane after the other",
            CauseKind::Divergence => "masks and selects where lanes diverge",
            CauseKind::Latency => "iterations that wait for the one before",
        }
    }
}

/// A number in tenths as people write it: without a fraction if it is large.
pub fn tenths(number: u64) -> String {
    match number {
        0..200 => format!("{}.{}", number / 10, number % 10),
        _ => format!("{}", (number + 5) / 10),
    }
}

/// Partial evaluation ended without a fixed point.
/// `last` is the function that was specialized last, by place and name.
pub(crate) fn too_many_rounds(rounds: usize, last: Option<(Span, Name)>) -> Diagnostic {
    let message = format!("partial evaluation was stopped after {rounds} rounds");
    let (at, name) = last.map_or((Span::NONE, None), |(at, name)| (at, Some(name)));
    let warning = Diagnostic::warning(Code("W0902"), at, message);
    let warning = match name {
        Some(name) => warning.with_label(format!("each round specializes `{name}` once more")),
        None => warning,
    };
    warning
        .with_note("the program is compiled as it is; what another round would have found out stays unknown")
        .with_note("bound the recursion in the filter, or hide an argument with `$`")
}

/// A local variable is larger than the stack of a thread.
pub(crate) fn large_local(at: Span, name: Option<Name>, bytes: u64) -> Diagnostic {
    let message = format!("{} is larger than the stack of a thread", variable(name));
    Diagnostic::warning(Code("W0921"), at, message)
        .with_label(format!("has {bytes} bytes"))
        .with_note("threads of the runtime have 64 MiB; the system sets the stack of the main thread")
        .with_note("memory from `alloc_cpu` and statics are not on the stack")
}

/// A local variable is larger than machine code can address.
pub(crate) fn huge_local(at: Span, name: Option<Name>, bytes: u64) -> Diagnostic {
    let message = format!("{} is too large for a local variable", variable(name));
    Diagnostic::error(Code("E0938"), at, message)
        .with_label(format!("has {bytes} bytes"))
        .with_note("a local variable has at most 1 GiB")
        .with_note("memory from `alloc_cpu` and statics are not on the stack")
}

fn variable(name: Option<Name>) -> String {
    name.map_or("a value in memory".into(), |name| format!("`{name}`"))
}

/// A function is a closure after evaluation.
pub(crate) fn closure_left(at: Span, name: Name, why: Why) -> Diagnostic {
    let (message, label) = match why {
        Why::ReturnOf(callee) => (
            format!("the return continuation of a call of `{callee}` is a closure"),
            format!("a return continuation is used as a value, so `{callee}` gets its own as an argument"),
        ),
        _ => (format!("`{name}` is a closure at run time"), holder(why)),
    };
    Diagnostic::warning(Code("W0920"), at, message).with_label(label)
}

/// Where a function is used as a value.
fn holder(why: Why) -> String {
    match why {
        Why::InData => "it is part of an aggregate that is not split at compile time".into(),
        Why::InMemory => "it is written to memory".into(),
        Why::InStatic => "it is in a static variable".into(),
        Why::Chosen => "the called function is chosen at run time".into(),
        Why::Argument(callee) => format!("it is an argument of `{callee}`, which is not specialized on it"),
        Why::ArgumentOfUnknown => "it is an argument of a function that is a value itself".into(),
        Why::Returned => "a function that is not specialized returns it".into(),
        Why::ReturnOf(callee) => format!("it is the return continuation of a call of `{callee}`"),
    }
}

/// Why a body cannot be a kernel.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum KernelError {
    /// The body is not known.
    UnknownBody { at: Span, intrinsic: Intrinsic },
    /// It makes an enclosing function return.
    JumpOut { at: Span, intrinsic: Intrinsic },
    /// It needs a function as a value.
    FunctionValue { at: Span, name: Option<Name> },
    /// It needs the address of a variable of the host.
    HostVariable { at: Span, name: Option<Name>, declared: Option<Span> },
    /// It calls a function value.
    UnknownCallee { at: Span, name: Option<Name> },
    /// It uses an operation of the host.
    HostOnly { at: Span, what: String },
    /// A function calls itself.
    Recursion { at: Span, name: Name },
    /// The size of work-group memory is not known.
    UnknownSize { at: Span },
    /// It needs too much work-group memory.
    TooMuchShared { at: Span, bytes: u64, most: u64 },
    /// Its captures are too large for the arguments of a launch.
    TooManyArguments { at: Span, bytes: u64, most: u64 },
}

impl KernelError {
    /// The diagnostic.
    pub fn diagnostic(self) -> Diagnostic {
        let error = |code, at, message: String| Diagnostic::error(Code(code), at, message);
        let called = |name: Option<Name>| name.map_or(String::new(), |name| format!(" `{name}`"));
        match self {
            KernelError::UnknownBody { at, intrinsic } => {
                let name = intrinsic.name();
                error("E0940", at, format!("the body of `{name}` is not known at compile time"))
                    .with_label("a kernel is compiled for the device, so its body must be known")
                    .with_note("a filter `@` on the functions that pass the body makes it known")
            }
            KernelError::JumpOut { at, intrinsic } => jump_out(at, at, intrinsic.name()),
            KernelError::FunctionValue { at, name } => {
                error("E0941", at, format!("a kernel needs the function{} as a value", called(name)))
                    .with_label("devices have no function values")
                    .with_note("`nyala run --warn closures` reports why it is still a value")
            }
            KernelError::UnknownCallee { at, name } => {
                error("E0941", at, format!("a kernel calls a function{} that is not known", called(name)))
                    .with_label("the callee is chosen at run time")
                    .with_note("a filter `@` on the functions that pass it makes it known")
            }
            KernelError::HostVariable { at, name, declared } => {
                let message = format!("a kernel uses the host variable{}", called(name));
                let report = error("E0942", at, message)
                    .with_label("a device has no access to the memory of this variable")
                    .with_note("let the kernel write to device memory, and copy the results to the host");
                match declared {
                    Some(declared) => report.with_secondary(declared, "declared here"),
                    None => report,
                }
            }
            KernelError::HostOnly { at, what } => {
                error("E0943", at, format!("a kernel uses {what}, which only the host has"))
                    .with_label("not available on a device")
            }
            KernelError::Recursion { at, name } => {
                error("E0944", at, format!("`{name}` calls itself in a kernel"))
                    .with_label("kernels cannot recurse: devices have little stack")
                    .with_note(
                        "a tail call becomes a loop; a filter can unfold the recursion at compile time",
                    )
            }
            KernelError::UnknownSize { at } => {
                error("E0945", at, "the size of `reserve_shared` is not known at compile time".into())
                    .with_label("the number of elements must be known")
            }
            KernelError::TooMuchShared { at, bytes, most } => {
                error("E0946", at, format!("a kernel reserves {bytes} bytes of shared memory"))
                    .with_label(format!("this exceeds the {most} bytes of a device"))
            }
            KernelError::TooManyArguments { at, bytes, most } => {
                error("E0948", at, format!("a kernel captures {bytes} bytes"))
                    .with_label(format!("a launch passes at most {most} bytes"))
                    .with_note("copy large data to device memory, and read it there")
            }
        }
    }
}

/// A parallel body, of a call of `name` at `site`, jumps out of its loop. If the place of the jump is not known, it
/// is `site`.
pub(crate) fn jump_out(jump: Span, site: Span, name: &str) -> Diagnostic {
    let reason = "its instances run in parallel, so each must run to its end";
    let report =
        Diagnostic::error(Code("E0920"), jump, format!("the body of `{name}` jumps out of its loop"));
    let report = match jump == site {
        true => report.with_label(reason),
        false => {
            report.with_label("jumps out of the loop").with_secondary(site, format!("the loop: {reason}"))
        }
    };
    let report = report
        .with_note("`continue` ends one instance; a shared variable can tell the others to do the same");
    match name {
        "vectorize" => report.with_note(
            "`vectorize_until` stops after the lanes that agree to, and `vectorize_find` finds the first index",
        ),
        _ => report,
    }
}
