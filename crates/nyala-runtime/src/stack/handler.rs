//! The signal handler, and the state of each thread that it needs.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use super::symbols::Code;
use super::{Program, report};

/// Exit status of a program that has overflowed its stack, as of every error of the runtime.
const STATUS: c_int = 1;

/// Enough for the handler and the unwinder. Pages are taken when they are used.
const ALTERNATE_BYTES: usize = 128 << 10;

/// How far below the main thread's stack a fault may be: the kernel keeps that much free.
const MAIN_GUARD_BYTES: usize = 1 << 20;

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The program that is watched.
static CODE: AtomicPtr<Code> = AtomicPtr::new(null_mut());

/// The handlers that were there before, as [`SIGNALS`].
static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// The thread that reports a stack overflow, if one does.
static REPORTER: AtomicUsize = AtomicUsize::new(0);

/// The stack of a thread.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    /// The name of the thread in messages.
    pub(super) thread: &'static str,
    low: usize,
    /// How many bytes the program may use.
    pub(super) size: usize,
    guard: usize,
}

thread_local! {
    /// The stack of this thread, if it has a [`Guard`].
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
}

impl Stack {
    fn of_this_thread(thread: &'static str) -> Option<Stack> {
        let mut attributes = MaybeUninit::uninit();
        let (mut low, mut size, mut guard) = (null_mut(), 0, 0);
        // SAFETY: the attributes are initialized by the first function, read by the others and then destroyed.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size);
            libc::pthread_attr_getguardsize(attributes.as_ptr(), &mut guard);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        // SAFETY: the calls only read.
        let is_main = unsafe { libc::getpid() == libc::gettid() };
        let guard = if is_main { MAIN_GUARD_BYTES } else { guard };
        Some(Stack { thread, low: low.addr(), size, guard })
    }

    /// Whether a fault at this address comes from a full stack. Inside of the stack, there is no fault unless
    /// the system cannot make it larger.
    fn is_exceeded_at(&self, address: usize) -> bool {
        (self.low.saturating_sub(self.guard)..self.low + self.size).contains(&address)
    }
}

/// The alternate stack of a thread, on which the handler runs when the stack is full.
pub(super) struct Guard {
    /// The memory of the alternate stack, unless there is none.
    memory: *mut c_void,
    /// The previous alternate stack.
    previous: libc::stack_t,
    outer: Option<Stack>,
}

impl Guard {
    /// For the current thread.
    pub(super) fn new(thread: &'static str) -> Guard {
        let outer = STACK.replace(Stack::of_this_thread(thread));
        // SAFETY: the memory is new, and becomes a stack; all zeros is a valid description of a stack.
        unsafe {
            let mut previous: libc::stack_t = zeroed();
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let memory = libc::mmap(null_mut(), ALTERNATE_BYTES, protection, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return Guard { memory: null_mut(), previous, outer };
            }
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_BYTES };
            libc::sigaltstack(&stack, &mut previous);
            Guard { memory, previous, outer }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        STACK.set(self.outer);
        if !self.memory.is_null() {
            // SAFETY: the memory belongs to this guard, and is no longer a stack when it is released.
            unsafe {
                libc::sigaltstack(&self.previous, null_mut());
                libc::munmap(self.memory, ALTERNATE_BYTES);
            }
        }
    }
}

/// Whether threads need a [`Guard`].
pub(super) fn is_installed() -> bool {
    PREVIOUS.get().is_some()
}

/// Installs the handler for a program.
pub(super) fn install(program: Program) {
    let functions = program.functions.leak();
    set_code(match program.object {
        Some(object) => Code::loaded(object, functions),
        None => Code::of_this_process(functions),
    });
}

/// Installs the handler for the program that this process is.
pub(super) fn install_for_executable(functions: &'static [u8]) {
    set_code(Code::of_this_process(functions));
}

fn set_code(code: Code) {
    // The handler may read it at any time, so it is never freed.
    CODE.store(Box::leak(Box::new(code)), Ordering::Release);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = SIGNALS.map(|signal| {
            // SAFETY: the handler is a function of that type; all zeros is a valid set of no signals.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = on_fault as *const () as usize;
                // The handler also receives faults of its own code.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                let mut previous = zeroed();
                libc::sigaction(signal, &action, &mut previous);
                previous
            }
        });
        PREVIOUS.get_or_init(|| previous);
    });
}

/// The system calls this, on the alternate stack if the thread has one.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both for a fault with an address; the other calls only read.
    let (address, is_fault, me) =
        unsafe { ((*info).si_addr().addr(), (*info).si_code > 0, libc::pthread_self() as usize) };
    if REPORTER.load(Ordering::Acquire) == me {
        // The report itself failed. The message was written before.
        end();
    }
    let Some(stack) = STACK.get().filter(|stack| is_fault && stack.is_exceeded_at(address)) else {
        // SAFETY: these are the arguments from the system.
        return unsafe { pass_on(signal, info, context) };
    };
    if REPORTER.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // Another thread reports, and ends the process.
        loop {
            // SAFETY: it only waits.
            unsafe { libc::pause() };
        }
    }
    // SAFETY: the stored value is never freed.
    let code = unsafe { CODE.load(Ordering::Acquire).as_ref() };
    // SAFETY: the system passes the state of the thread.
    let at = unsafe { instruction(context) };
    report::stack_overflow(&stack, code, at);
    end()
}

/// Ends the process at once.
fn end() -> ! {
    // SAFETY: it may be called anywhere.
    unsafe { libc::_exit(STATUS) }
}

/// Calls the previous handler.
///
/// # Safety
/// The arguments are those of a handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let index = SIGNALS.iter().position(|&known| known == signal).unwrap_or(0);
    let Some(previous) = PREVIOUS.get().map(|previous| previous[index]) else { return };
    // SAFETY: the previous handler has the type that its flags say. Without one, the fault is repeated after this
    // function, and the system takes its default action.
    unsafe {
        match previous.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                let default = libc::sigaction { sa_sigaction: libc::SIG_DFL, ..zeroed() };
                libc::sigaction(signal, &default, null_mut());
                if (*info).si_code <= 0 {
                    // The signal was sent by a process, so it would not be repeated.
                    libc::raise(signal);
                }
            }
            handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// The instruction that failed.
///
/// # Safety
/// `context` is the third argument of a handler.
unsafe fn instruction(context: *mut c_void) -> usize {
    let context: *const libc::ucontext_t = context.cast();
    // SAFETY: the caller guarantees it.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
        #[cfg(target_arch = "riscv64")]
        return (*context).uc_mcontext.__gregs[libc::REG_PC as usize] as usize;
        #[allow(unreachable_code)]
        {
            let _ = (context, null::<c_void>());
            0
        }
    }
}
