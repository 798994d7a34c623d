//! Compiles the cases of a unit for one way to run them, and calls them.
//!
//! All of this happens in a process of its own; see `process`.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write as _};
use std::time::Instant;

use nyala_driver::native::{self, LlvmOptions, Loaded, NativeOptions};
use nyala_driver::timings::TimingTable;
use nyala_driver::{Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::World;
use nyala_lower::Interface;

use crate::discover::{Case, Unit};

/// A way to run programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// In the checked interpreter.
    Interp,
    /// As native code, optimized this much.
    Native(u8),
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mode::Interp => f.write_str("interp"),
            Mode::Native(level) => write!(f, "O{level}"),
        }
    }
}

/// How programs are compiled and run.
#[derive(Clone, Debug, Default)]
pub struct ExecuteOptions {
    /// How native code is made; the mode says how much it is optimized.
    pub native: NativeOptions,
    /// Whether memory that is never released is a failure, in the interpreter.
    pub leaks: bool,
}

/// The cases of a unit, ready to be called.
pub struct Compiled {
    code: Code,
    session: Session,
    symbols: Vec<String>,
    /// What is known about each case: the arguments that it generates, and its result.
    pub entries: Vec<Interface>,
    leaks: bool,
}

enum Code {
    Graph(Box<World>),
    Native(Loaded),
}

/// Compiles the cases of a unit; the error is what the compiler reports, drawn.
pub fn compile(
    unit: &Unit,
    cases: &[&Case],
    mode: Mode,
    options: &ExecuteOptions,
) -> Result<Compiled, String> {
    let mut session = unit.session.clone();
    let code = try_compile(&mut session, cases, mode, options);
    match code {
        Some((code, symbols, entries)) if !session.has_errors() => {
            Ok(Compiled { code, session, symbols, entries, leaks: options.leaks })
        }
        _ => Err(drawn_errors(&mut session)),
    }
}

type Ready = (Code, Vec<String>, Vec<Interface>);

fn try_compile(
    session: &mut Session,
    cases: &[&Case],
    mode: Mode,
    options: &ExecuteOptions,
) -> Option<Ready> {
    let symbols: Vec<String> = (0..cases.len()).map(|number| format!("nyala_entry_{number}")).collect();
    session.options.lower.demands = mode == Mode::Interp;
    // The program itself need not mention the functions that make devices.
    session.options.whole_prelude |= cases.iter().any(|case| case.platform.is_some());
    let finder = session.clone();
    let (world, interfaces) = pipeline::emit_entries(session, |program| {
        let entries = cases.iter().zip(&symbols);
        entries.map(|(case, symbol)| case.entry(&finder, program, symbol)).collect()
    })?;
    let level = match mode {
        Mode::Interp => return Some((Code::Graph(Box::new(world)), symbols, interfaces)),
        Mode::Native(level) => level,
    };
    let program = pipeline::prepare_graph(session, &world)?;
    let llvm = LlvmOptions { opt_level: level, ..options.native.llvm.clone() };
    let loaded = native::load_entries(session, &program, &NativeOptions { llvm, ..options.native.clone() })?;
    Some((Code::Native(loaded), symbols, interfaces))
}

/// The errors of a session, without its warnings.
fn drawn_errors(session: &mut Session) -> String {
    let all = std::mem::take(&mut session.diagnostics);
    let errors = all.into_iter().filter(nyala_span::Diagnostic::is_error).collect();
    Report::new(errors).human(&session.sources, false)
}

impl Compiled {
    /// Calls a case once for each list of numbers that its arguments are made of, after `before` is told its number.
    /// The result is the exit status. Native code that fails ends the process.
    pub fn call(&self, case: usize, tapes: &[Vec<u64>], before: impl FnMut(usize)) -> i32 {
        match &self.code {
            Code::Graph(_) => self.call_all(case, tapes, before),
            Code::Native(loaded) => {
                loaded.watched(&self.symbols[case], || self.call_all(case, tapes, before))
            }
        }
    }

    fn call_all(&self, case: usize, tapes: &[Vec<u64>], mut before: impl FnMut(usize)) -> i32 {
        for (number, tape) in tapes.iter().enumerate() {
            before(number);
            set_tape(tape);
            let is_well = match &self.code {
                Code::Graph(_) => self.interpret(case),
                Code::Native(loaded) => self.run_native(loaded, case),
            };
            if !is_well {
                return 1;
            }
        }
        0
    }

    fn interpret(&self, case: usize) -> bool {
        let Code::Graph(world) = &self.code else { unreachable!("called for graphs") };
        let Some(entry) = nyala_interp::exported(world, &self.symbols[case]) else {
            return self.absent();
        };
        let start = Instant::now();
        let mut stdout = io::stdout().lock();
        let io = Io {
            output: &mut stdout,
            input: &mut io::empty(),
            nanos: &mut || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
        };
        let options =
            nyala_interp::Options { leaks: self.leaks, generate: next_number, ..Default::default() };
        let result = nyala_interp::call(world, entry, &[], &options, io);
        let _ = stdout.flush();
        match result {
            Ok(run) => !matches!(run.ending, nyala_interp::Ending::Exit(status) if status != 0),
            Err(mut error) => {
                // The outermost function is not the user's.
                error.calls.pop();
                let report = Report::new(vec![error.to_diagnostic()]);
                eprint!("{}", report.human(&self.session.sources, false));
                false
            }
        }
    }

    fn run_native(&self, loaded: &Loaded, case: usize) -> bool {
        // SAFETY: entries have neither parameters nor results, and the program stays until the process ends.
        let Some(entry) = (unsafe { loaded.entry(&self.symbols[case]) }) else { return self.absent() };
        nyala_runtime::tools::set_generator(next_number);
        entry();
        true
    }

    fn absent(&self) -> bool {
        eprintln!("error: the function is not in the compiled program");
        false
    }

    /// The function of a case, if it is native code.
    pub fn native_entry(&self, case: usize) -> Option<native::EntryFn> {
        match &self.code {
            // SAFETY: as above.
            Code::Native(loaded) => unsafe { loaded.entry(&self.symbols[case]) },
            Code::Graph(_) => None,
        }
    }

    /// How long the phases of the compiler took.
    pub fn timings(&self) -> TimingTable {
        self.session.timings.table()
    }
}

thread_local! {
    /// The numbers that are left for generated arguments, the last one first.
    static TAPE: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

fn set_tape(tape: &[u64]) {
    TAPE.set(tape.iter().rev().copied().collect());
}

fn next_number() -> u64 {
    TAPE.with_borrow_mut(|tape| tape.pop().unwrap_or(0))
}
