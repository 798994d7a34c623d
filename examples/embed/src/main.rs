//! A Rust program with parts in Impala.
//!
//! `filters.impala` is compiled together with this crate, by `build.rs`, and its declarations
//! are generated. A polynomial is compiled when the program runs, from its coefficients; and a
//! function is specialized to an argument that is known at run time.

use std::error::Error;
use std::sync::atomic::{AtomicI32, Ordering};

use nyala_driver::embed::{Compiler, Function};

mod filters {
    include!(concat!(env!("OUT_DIR"), "/filters.rs"));
}

static PROGRESS: AtomicI32 = AtomicI32::new(0);

/// Called by `smooth`, once for each element.
#[unsafe(no_mangle)]
extern "C" fn report_progress(done: i32, _all: i32) {
    PROGRESS.store(done, Ordering::Relaxed);
}

fn signal(data: &mut [f32]) -> filters::Signal {
    let len = i32::try_from(data.len()).expect("signals are short");
    filters::Signal { data: data.as_mut_ptr(), len }
}

/// The smoothed signal, and its lowest and highest value.
fn smooth(data: &mut [f32]) -> (Vec<f32>, filters::Extent) {
    let mut smoothed = vec![0.0; data.len()];
    let (from, to) = (signal(data), signal(&mut smoothed));
    // SAFETY: both have their declared sizes, and at least one element.
    let extent = unsafe {
        filters::smooth(&from, &to);
        filters::print_signal(&to);
        filters::extent(&to)
    };
    (smoothed, extent)
}

type Polynomial = extern "C" fn(f64) -> f64;

/// A function for these coefficients: they are constants in its code.
fn polynomial(coefficients: &[f64]) -> Result<Function<Polynomial>, Box<dyn Error>> {
    let horner = coefficients.iter().rev().fold("0.0".to_owned(), |sum, c| format!("({sum} * x + ({c:?}))"));
    let program = format!("extern fn value(x: f64) -> f64 {{ {horner} }}");
    let module = Compiler::new().text("polynomial.impala", program).compile()?;
    // SAFETY: the program contains only arithmetic.
    Ok(unsafe { module.function("value") }?)
}

/// A program whose loop is unrolled if its number of iterations is known.
const POWER: &str = "
    fn @(?n) go(x: f64, n: i32) -> f64 { if n == 0 { 1.0 } else { x * go(x, n - 1) } }
    extern fn power(x: f64, n: i32) -> f64 { go(x, n) }";

/// The function that raises numbers to this power, as multiplications only.
fn power(exponent: i32) -> Result<Function<Polynomial>, Box<dyn Error>> {
    let specializer = Compiler::new().text("power.impala", POWER).specializer()?;
    // SAFETY: the program contains only arithmetic.
    Ok(unsafe { specializer.function("power", &[None, Some(exponent.into())]) }?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (_, extent) = smooth(&mut [1.0, 1.0, 5.0, 1.0, 1.0]);
    println!(
        "between {} and {}, {} elements",
        extent.lowest,
        extent.highest,
        PROGRESS.load(Ordering::Relaxed)
    );
    let value = polynomial(&[1.0, -2.0, 3.0])?;
    println!("1 - 2x + 3x² at 2 is {}", value(2.0));
    println!("x⁵ at 2 is {}", power(5)?(2.0));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_compiled_with_the_crate() {
        let (smoothed, extent) = smooth(&mut [1.0, 1.0, 5.0, 1.0, 1.0]);
        assert_eq!(smoothed, [1.0, 2.0, 3.0, 2.0, 1.0]);
        assert_eq!((extent.lowest, extent.highest), (1.0, 3.0));
        assert_eq!(PROGRESS.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn polynomial_is_compiled_at_run_time() {
        let value = polynomial(&[1.0, -2.0, 3.0]).expect("it is a program");
        assert_eq!(value(2.0), 9.0);
    }

    #[test]
    fn power_is_specialized_to_the_exponent() {
        assert_eq!(power(5).expect("it is a program")(2.0), 32.0);
    }
}
