//! Checks of the values of a problem's functions, before they are used: all are finite, coefficients are positive, and
//! their computation ends.

use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::kernel::Kernel;
use crate::problem::Problem;
use crate::program;

/// The time between two looks at what is computed, and how many of them without a new slice of the grid mean that a
/// loop does not end. A process that is stopped for a while does not look either.
const PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSES: u32 = 100;

/// A slice of the grid: the number of the function that is computed there, the number of the slice, and how many there
/// are.
type Slice = (i32, i32, i32);

/// The slices that have been begun, and the last one.
static BEGUN: Mutex<(u64, Slice)> = Mutex::new((0, (0, 0, 1)));

/// What the program calls for each slice.
pub extern "C" fn hear(function: i32, slice: i32, n_slices: i32) {
    let mut begun = BEGUN.lock().expect("no thread panics with the lock");
    *begun = (begun.0 + 1, (function, slice, n_slices));
}

/// A value that a problem cannot have.
#[derive(Clone, Copy)]
pub struct Wrong {
    /// The number of the function.
    pub function: usize,
    pub position: [f64; 3],
    pub value: f64,
}

pub fn check(problem: &Problem, kernel: &Kernel) -> Result<()> {
    let find = kernel.finder();
    let (sender, receiver) = mpsc::channel();
    // The thread is left behind if it does not end; it ends with the process. Nothing receives its result then.
    thread::spawn(move || sender.send(find()).is_ok());
    let (mut last, mut n_pauses) = (0, 0);
    loop {
        match receiver.recv_timeout(PAUSE) {
            Ok(None) => return Ok(()),
            Ok(Some(wrong)) => bail!("{}", describe(problem, wrong)),
            Err(RecvTimeoutError::Disconnected) => bail!("the values of the problem were not computed"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (n_begun, slice) = *BEGUN.lock().expect("no thread panics with the lock");
        n_pauses = if n_begun == last { n_pauses + 1 } else { 0 };
        last = n_begun;
        if n_pauses == MAX_PAUSES {
            bail!("{}", describe_loop(problem, slice));
        }
    }
}

fn describe(problem: &Problem, wrong: Wrong) -> String {
    let (name, place) = named(problem, wrong.function);
    let position: Vec<String> =
        wrong.position[..problem.dims as usize].iter().map(|x| format!("{x:?}")).collect();
    let must = if name == "coefficient" { "greater than 0 and finite" } else { "finite" };
    format!(
        "{place}: `problem.{name}` must be {must}, but it is {:?} at ({})",
        wrong.value,
        position.join(", ")
    )
}

fn describe_loop(problem: &Problem, (function, slice, n_slices): Slice) -> String {
    let (name, place) = named(problem, function as usize);
    let axis = if problem.dims == 2 { "y" } else { "z" };
    let at = f64::from(slice) / f64::from((n_slices - 1).max(1));
    let seconds = PAUSE.as_secs_f64() * f64::from(MAX_PAUSES);
    format!(
        "{place}: after {seconds} s, `problem.{name}` still has no value for {axis} = {at}: does a loop of it end?"
    )
}

/// The name of a function, and where it was written.
fn named(problem: &Problem, function: usize) -> (&'static str, String) {
    let found = program::functions(problem).nth(function).expect("the program numbers the functions so");
    (found.0, found.1.to_string())
}
