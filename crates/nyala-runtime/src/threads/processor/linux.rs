//! Which processor a worker runs on: not that of the thread that woke it.
//!
//! Linux wakes a thread on an idle processor, or else near the thread that wakes it. In a virtual machine a processor
//! counts as busy that was idle for so long that the host has taken it back. Then a worker would wait on the
//! processor of the owner of a loop until that one has executed all iterations.

use std::mem;

/// Up to 1024 processors, one bit for each.
type Processors = [usize; 1024 / usize::BITS as usize];

/// The current thread.
const SELF: libc::pid_t = 0;

/// The processor of the current thread, where it is known.
pub(super) fn current() -> Option<u32> {
    // SAFETY: the function has no arguments, and only returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Executes `body` on other processors than this one, if the current thread may run on others. Afterwards it may run
/// on the same ones as before: threads that it starts inherit that.
pub(super) fn elsewhere(processor: u32, body: impl FnOnce()) {
    let Some((all, others)) = allowed().and_then(|all| Some((all, without(all, processor)?))) else {
        return body();
    };
    let has_left = allow(&others);
    body();
    // Others may have changed it meanwhile.
    if has_left && allowed() == Some(others) {
        allow(&all);
    }
}

fn without(mut processors: Processors, processor: u32) -> Option<Processors> {
    *processors.get_mut((processor / usize::BITS) as usize)? &= !(1 << (processor % usize::BITS));
    processors.iter().any(|&word| word != 0).then_some(processors)
}

/// Where the current thread may run.
fn allowed() -> Option<Processors> {
    let mut processors: Processors = [0; _];
    let to = (&raw mut processors).cast::<libc::cpu_set_t>();
    // SAFETY: the kernel writes at most as many bytes as the array has.
    (unsafe { libc::sched_getaffinity(SELF, mem::size_of::<Processors>(), to) } == 0).then_some(processors)
}

fn allow(processors: &Processors) -> bool {
    let from = (&raw const *processors).cast::<libc::cpu_set_t>();
    // SAFETY: the kernel reads as many bytes as the array has.
    unsafe { libc::sched_setaffinity(SELF, mem::size_of::<Processors>(), from) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_elsewhere_for_a_while() {
        let before = allowed().expect("the system tells where a thread may run");
        let n_allowed: u32 = before.iter().map(|word| word.count_ones()).sum();
        let processor = current().expect("the system tells where a thread runs");
        let mut inside = None;
        elsewhere(processor, || inside = current());
        assert_eq!(inside != Some(processor), n_allowed > 1);
        assert_eq!(allowed(), Some(before));
    }
}
