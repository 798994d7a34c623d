//! Checks that a program computes the same at every stage of the compiler.
//!
//! The reference is the interpreter on the emitted program: filters have no effect
//! there. After partial evaluation, and in control-flow form, the program must compute
//! the same.

use nyala_driver::{Options, Prelude, Report, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::World;
use nyala_opt::partial_eval::{self, Budget};
use nyala_syntax::ast::Dialect;

use crate::annotate::Annotatable;
use crate::expectations::Expectations;
use crate::random::Random;

/// A program with more steps before evaluation is skipped.
const MAX_STEPS: u64 = 500_000;
/// After evaluation it may take some more.
const MAX_STEPS_AFTER: u64 = 4 * MAX_STEPS;

/// Random filters often lead to endless specialization. The budget ends it; the
/// test needs that to happen soon.
pub(crate) const BUDGET: Budget = Budget { specializations: 200, growth: 10_000, depth: 1_000 };

/// A program to be run under annotations.
pub struct Subject {
    program: Annotatable,
    prelude: Prelude,
    expected: Expectations,
    /// Its result.
    pub reference: Outcome,
}

/// The result of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The exit status of `main`.
    pub status: i32,
    /// Its output.
    pub output: String,
}

/// A program with the same result at all stages.
pub struct Agreed {
    /// In control-flow form, vectorized.
    pub world: World,
    /// Its session.
    pub session: Session,
}

impl Subject {
    /// A program that runs without an error; none for all others.
    pub fn new(text: &str, prelude: Prelude) -> Option<Subject> {
        let expected = Expectations::parse(text).ok()?;
        if expected.error.is_some() || expected.undefined_evaluated {
            return None;
        }
        let program = Annotatable::new(text)?;
        let (mut session, world) = emit(text, program.dialect, prelude)?;
        let reference = interpret(&mut session, &world, &expected, MAX_STEPS).ok()?;
        Some(Subject { program, prelude, expected, reference })
    }

    /// The program under a random assignment of annotations.
    pub fn assign(&self, random: &mut Random) -> String {
        self.program.assign(random)
    }

    /// Checks that the program, annotated as in `text`, computes at all stages what it computes
    /// without annotations. None if it has errors: some annotations are not allowed everywhere, and some
    /// leave too little known to vectorize.
    pub fn check(&self, text: &str) -> Result<Option<Agreed>, String> {
        let Some((mut session, emitted)) = emit(text, self.program.dialect, self.prelude) else {
            return Ok(None);
        };
        self.agrees(&mut session, &emitted, "before evaluation")?;
        let options = partial_eval::Options { budget: BUDGET, ..Default::default() };
        let evaluated = nyala_opt::pipeline::evaluate(&emitted, options).world;
        self.agrees(&mut session, &evaluated, "after evaluation")?;
        let world = pipeline::control_flow_form(&mut session, evaluated);
        nyala_ir::verify(&world)
            .map_err(|errors| format!("its control-flow form is not well-formed: {errors}"))?;
        let world = pipeline::vectorize(&mut session, world);
        // Collective operations need known numbers of lanes and known calls, which the budget may leave unknown: an
        // error (E0912).
        if session.has_errors() {
            return Ok(None);
        }
        self.agrees(&mut session, &world, "in control-flow form, vectorized,")?;
        Ok(Some(Agreed { world, session }))
    }

    fn agrees(&self, session: &mut Session, world: &World, when: &str) -> Result<(), String> {
        nyala_ir::verify(world).map_err(|errors| format!("{when} it is not well-formed: {errors}"))?;
        let outcome = interpret(session, world, &self.expected, MAX_STEPS_AFTER)
            .map_err(|error| format!("{when} it fails:\n{error}"))?;
        self.compare(&outcome, when)
    }

    /// Compares an outcome with that of the program.
    pub fn compare(&self, outcome: &Outcome, when: &str) -> Result<(), String> {
        if *outcome == self.reference {
            return Ok(());
        }
        Err(format!("{when} it does {outcome:?} instead of {:?}", self.reference))
    }
}

/// The graph of a program; none if it has errors.
fn emit(text: &str, dialect: Dialect, prelude: Prelude) -> Option<(Session, World)> {
    let options = Options { prelude, dialect: Some(dialect), ..Options::default() };
    let mut session = Session::new(options);
    session.add_text("program.impala", text);
    let world = pipeline::emit(&mut session)?;
    Some((session, world))
}

/// The outcome of the program, or its error.
fn interpret(
    session: &mut Session,
    world: &World,
    expected: &Expectations,
    steps: u64,
) -> Result<Outcome, String> {
    let mut output = vec![];
    let args = std::iter::once("program".to_owned()).chain(expected.args.iter().cloned()).collect();
    let options = nyala_interp::Options { steps: Some(steps), args, ..Default::default() };
    let io = Io { output: &mut output, input: &mut expected.stdin.as_bytes(), nanos: &mut || 0 };
    let status = pipeline::interp(session, world, &options, io);
    let status = status.ok_or_else(|| {
        let errors = std::mem::take(&mut session.diagnostics);
        Report::new(errors).human(&session.sources, false)
    })?;
    Ok(Outcome { status, output: String::from_utf8_lossy(&output).into_owned() })
}

/// The exit status of `main` without arguments, or the error.
pub(crate) fn interpret_status(session: &mut Session, world: &World, steps: u64) -> Result<i32, String> {
    interpret(session, world, &Expectations::default(), steps).map(|outcome| outcome.status)
}
