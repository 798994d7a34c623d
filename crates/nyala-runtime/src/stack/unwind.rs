//! The frames of a thread whose stack is full, by the unwind tables of its code.

use std::ffi::{c_int, c_void};

/// The number of frames that are kept at each end. It exceeds the number that is shown, because frames of
/// libraries are between those of the program.
const KEPT: usize = 64;

/// The maximum number of frames that are visited. Only a very large stack has more.
const MAX_FRAMES: usize = 8_000_000;

/// Addresses of instructions, from the inside out: the first ones and the last ones.
pub(super) struct Frames {
    first: [usize; KEPT],
    /// A ring.
    last: [usize; KEPT],
    count: usize,
    /// The instruction that failed. Frames inside of that are the handler's.
    start: usize,
    is_started: bool,
}

/// The frames of the current thread, from the function with the instruction `at` outwards.
pub(super) fn walk(at: usize) -> Frames {
    let mut frames = Frames { first: [0; KEPT], last: [0; KEPT], count: 0, start: at, is_started: false };
    // SAFETY: `visit` has the required type, and the frames outlive the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut frames).cast()) };
    if frames.count == 0 {
        frames.push(at);
    }
    frames
}

impl Frames {
    fn push(&mut self, address: usize) {
        if let Some(place) = self.first.get_mut(self.count) {
            *place = address;
        }
        self.last[self.count % KEPT] = address;
        self.count += 1;
    }

    /// The innermost frames, with their numbers.
    pub(super) fn innermost(&self) -> impl Iterator<Item = (usize, usize)> {
        self.first.iter().copied().take(self.count).enumerate()
    }

    /// The outermost frames, with their numbers.
    pub(super) fn outermost(&self) -> impl Iterator<Item = (usize, usize)> {
        (self.count.saturating_sub(KEPT)..self.count).map(|index| (index, self.last[index % KEPT]))
    }

    /// Whether there are more frames than were counted.
    pub(super) fn is_cut(&self) -> bool {
        self.count >= MAX_FRAMES
    }
}

/// `_URC_NO_REASON` continues the walk; any other code stops it.
const CONTINUE: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_before: *mut c_int) -> usize;
}

unsafe extern "C" fn visit(context: *mut c_void, frames: *mut c_void) -> c_int {
    let mut is_before = 0;
    // SAFETY: the unwinder passes its context, and the pointer from `walk`.
    let (frames, address) =
        unsafe { (&mut *frames.cast::<Frames>(), _Unwind_GetIPInfo(context, &mut is_before)) };
    frames.is_started |= address == frames.start;
    if frames.is_started {
        // The return address is after the call, possibly in the next function.
        frames.push(if is_before == 0 { address.wrapping_sub(1) } else { address });
    }
    if frames.count < MAX_FRAMES { CONTINUE } else { STOP }
}
