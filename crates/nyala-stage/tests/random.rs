//! Staging changes the order of evaluation and nothing else: for programs without effects, every staging that does
//! not get stuck computes what the program computes without annotations.

use nyala_driver::native::NativeOptions;
use nyala_span::SourceMap;
use nyala_stage::code::{Const, Term};
use nyala_stage::errors::ErrorKind;
use nyala_stage::generate::{self, Ending};
use nyala_stage::machine::{Limits, Outcome, Silent};
use nyala_stage::native::Compiler;
use nyala_stage::program::{Language, Program, source};

const LIMITS: Limits = Limits { steps: 20_000, bodies: 20_000, memory: 1 << 20 };

/// A program of a seed.
fn text(seed: u64, with_annotations: bool, ending: Ending) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    generate::program(&mut random, with_annotations, ending)
}

fn read(text: &str) -> Program {
    let (sources, file) = source("random.deep", text).expect("it is short");
    Program::read(Language::Deep, sources.file(file)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The result of a program, or why it has none.
fn run(text: &str) -> Result<Const, ErrorKind> {
    let mut machine = read(text).machine(LIMITS);
    let outcome = machine.stage(&mut Silent).and_then(|_| machine.run_to_end(&mut Silent));
    match outcome.map_err(|error| error.kind)? {
        Outcome::Exit(Term::Const(value)) => Ok(value),
        other => panic!("a program ends with a number, and not with {other:?}\n{text}"),
    }
}

#[test]
fn every_staging_that_is_not_stuck_computes_the_same() {
    let (mut n_equal, mut n_stuck) = (0, 0);
    for seed in 0..4_000 {
        let ending = Ending::Call((seed % 12) as i32);
        let Ok(expected) = run(&text(seed, false, ending)) else { continue };
        let staged = text(seed, true, ending);
        match run(&staged) {
            Ok(found) => {
                assert_eq!(found, expected, "seed {seed}\n{staged}");
                n_equal += 1;
            }
            Err(ErrorKind::Stuck | ErrorKind::Unbound | ErrorKind::Runaway) => n_stuck += 1,
            Err(other) => panic!("seed {seed}: {other:?}\n{staged}"),
        }
    }
    // Both happen often enough to mean something.
    assert!(n_equal > 500 && n_stuck > 500, "{n_equal} equal, {n_stuck} stuck");
}

/// The residual of `main` as native code.
fn run_native(text: &str, n: i32) -> Result<Const, ErrorKind> {
    let mut machine = read(text).machine(LIMITS);
    machine.stage(&mut Silent).map_err(|error| error.kind)?;
    let Outcome::Exit(main) = machine.run_to_end(&mut Silent).map_err(|error| error.kind)? else {
        panic!("the program ends with `main`\n{text}")
    };
    let main = machine.closed(&main).expect("`main` is closed");
    let mut compiler = Compiler::new(NativeOptions::default(), SourceMap::default());
    let function =
        compiler.compile(&main, &machine.memory).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    // SAFETY: the program uses no memory.
    let result = unsafe { function.call(&[Const::Scalar(nyala_ir::Prim::I32, n as u64)], &machine.memory) };
    Ok(result.expect("it gets a number").expect("it has a result"))
}

#[test]
fn native_code_computes_the_same() {
    // LLVM needs more stack than a thread of a test has.
    let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        let mut n_equal = 0;
        for seed in 0..100 {
            let n = (seed % 12) as i32;
            let Ok(expected) = run(&text(seed, false, Ending::Call(n))) else { continue };
            let staged = text(seed, true, Ending::Function);
            if let Ok(found) = run_native(&staged, n) {
                assert_eq!(found, expected, "seed {seed}\n{staged}");
                n_equal += 1;
            }
        }
        assert!(n_equal > 10, "{n_equal} equal");
    });
    worker.expect("the system has room for a thread").join().expect("all results are equal");
}
