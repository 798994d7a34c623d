//! Checks that all executions of a generated program agree.
//!
//! Six executions of one program that differ as much as possible: the program itself, with little
//! evaluated at compile time; and two random assignments of filters, each of which gives a different
//! program to the passes after the evaluator and to LLVM.

use nyala_driver::native::{self, LlvmOptions, NativeOptions};
use nyala_driver::{Options, Outlined, Prelude, Report, Session, pipeline};
use nyala_ir::World;
use nyala_opt::partial_eval;
use nyala_span::Code;
use nyala_syntax::ast::Dialect;

use crate::annotate::Annotatable;
use crate::equivalence::{BUDGET, interpret_status};
use crate::random::Random;

/// A program with more steps is rejected.
const MAX_STEPS: u64 = 200_000;
/// After evaluation it may take some more.
const MAX_STEPS_AFTER: u64 = 4 * MAX_STEPS;

/// A step of the comparison.
pub enum Step<'a> {
    /// The program.
    Program(&'a str),
    /// The next execution.
    Execution(&'a str),
}

/// Executes a program in all ways. Returns whether it is without errors; or which executions differ, and how.
///
/// `watch` gets each step before it is executed, so that a crash can be reported.
pub fn compare(text: &str, random: &mut Random, watch: &mut dyn FnMut(Step<'_>)) -> Result<bool, String> {
    watch(Step::Program(text));
    let program = Annotatable::new(text).ok_or("it cannot be annotated")?;
    let Some((mut session, emitted)) = emit(text, program.dialect, Options::default()) else {
        return Err(format!("it has errors:\n{}", errors(text, program.dialect)));
    };
    well_formed(&emitted, "as emitted")?;
    watch(Step::Execution("interpreter, before evaluation"));
    let Ok(expected) = interpret_status(&mut session, &emitted, MAX_STEPS) else { return Ok(false) };
    let mut executions = Executions { expected, is_stopped: false, watch };
    let world = executions.prepare(&mut session, &emitted)?;
    let Some(outlined) = executions.outline(&mut session, world)? else { return Ok(false) };
    executions.native(&mut session, &outlined, 2)?;

    let annotated = program.assign(random);
    (executions.watch)(Step::Program(&annotated));
    if let Some((mut session, emitted)) = emit(&annotated, program.dialect, Options::default()) {
        let world = executions.prepare(&mut session, &emitted)?;
        executions.interpret(&mut session, &world)?;
        let Some(outlined) = executions.outline(&mut session, world)? else { return Ok(false) };
        executions.native(&mut session, &outlined, 0)?;
        executions.native(&mut session, &outlined, 3)?;
    }

    let annotated = program.assign(random);
    (executions.watch)(Step::Program(&annotated));
    let options = Options { checked: true, debug: true, ..Options::default() };
    if let Some((mut session, emitted)) = emit(&annotated, program.dialect, options) {
        let world = executions.prepare(&mut session, &emitted)?;
        let Some(outlined) = executions.outline(&mut session, world)? else { return Ok(false) };
        executions.native(&mut session, &outlined, 1)?;
    }
    Ok(true)
}

struct Executions<'a> {
    expected: i32,
    /// Whether evaluation reached a limit.
    is_stopped: bool,
    watch: &'a mut dyn FnMut(Step<'_>),
}

impl Executions<'_> {
    /// Transforms a program to the form that back ends accept, and verifies it at every stage.
    fn prepare(&mut self, session: &mut Session, emitted: &World) -> Result<World, String> {
        let options = partial_eval::Options { budget: BUDGET, ..Default::default() };
        let evaluated = nyala_opt::pipeline::evaluate(emitted, options);
        self.is_stopped = evaluated.diagnostics.iter().any(|report| report.code == Code("W0900"));
        let evaluated = evaluated.world;
        well_formed(&evaluated, "after evaluation")?;
        let world = pipeline::control_flow_form(session, evaluated);
        well_formed(&world, "in control-flow form")?;
        let world = pipeline::vectorize(session, world);
        well_formed(&world, "vectorized")?;
        Ok(world)
    }

    fn interpret(&mut self, session: &mut Session, world: &World) -> Result<(), String> {
        let how = "interpreter, after evaluation";
        (self.watch)(Step::Execution(how));
        let found = interpret_status(session, world, MAX_STEPS_AFTER);
        self.compare(how, found.map_err(|error| format!("{how}: {error}"))?)
    }

    /// The program for the host and its kernels. None if the budget leaves function values, which devices do not have.
    fn outline(&self, session: &mut Session, world: World) -> Result<Option<Outlined>, String> {
        match pipeline::outline(session, world) {
            None if !self.is_stopped => Err(format!("its kernels are not compiled: {}", rendered(session))),
            outlined => Ok(outlined),
        }
    }

    fn native(&mut self, session: &mut Session, program: &Outlined, opt_level: u8) -> Result<(), String> {
        let checked = if session.options.checked { ", checked, with debug information" } else { "" };
        let how = format!("native code, -O{opt_level}{checked}");
        (self.watch)(Step::Execution(&how));
        let llvm = LlvmOptions { opt_level, ..LlvmOptions::default() };
        let options = NativeOptions { llvm, ..NativeOptions::default() };
        match native::run(session, program, &options, &["program".to_owned()]) {
            Some(found) => self.compare(&how, found),
            None => Err(format!("{how}: {}", rendered(session))),
        }
    }

    fn compare(&self, how: &str, found: i32) -> Result<(), String> {
        if found == self.expected {
            return Ok(());
        }
        Err(format!("{how}: gives {found}, the interpreter gave {} before evaluation", self.expected))
    }
}

fn well_formed(world: &World, when: &str) -> Result<(), String> {
    nyala_ir::verify(world).map_err(|errors| format!("{when} it is not well-formed: {errors}"))
}

/// The graph of a program; none if it has errors.
fn emit(text: &str, dialect: Dialect, options: Options) -> Option<(Session, World)> {
    let mut session = session(text, dialect, options);
    let world = pipeline::emit(&mut session)?;
    Some((session, world))
}

fn session(text: &str, dialect: Dialect, options: Options) -> Session {
    let mut session = Session::new(Options { prelude: Prelude::Absent, dialect: Some(dialect), ..options });
    session.add_text("program.impala", text);
    session
}

fn errors(text: &str, dialect: Dialect) -> String {
    let mut session = session(text, dialect, Options::default());
    pipeline::emit(&mut session);
    rendered(&session)
}

fn rendered(session: &Session) -> String {
    let errors = session.diagnostics.iter().filter(|report| report.is_error()).cloned().collect();
    Report::new(errors).human(&session.sources, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    /// A bounded part of `cargo xtask fuzz whole`.
    #[test]
    fn all_executions_of_generated_programs_agree() {
        let mut executions = 0;
        for case in 0..40 {
            let mut random = Random::new(2018, case);
            let text = generate::program(&mut random);
            let mut count = |step: Step<'_>| executions += u32::from(matches!(step, Step::Execution(_)));
            if let Err(what) = compare(&text, &mut random, &mut count) {
                panic!("case {case}: {what}\n{text}");
            }
        }
        assert!(executions > 5 * 40, "too few programs are accepted: {executions} executions");
    }

    #[test]
    fn run_time_error_is_not_a_difference() {
        let text = "fn main(argc: i32) -> i32 { 7 / (argc - 1) }";
        assert_eq!(compare(text, &mut Random::new(1, 1), &mut |_| ()), Ok(false));
    }

    #[test]
    fn kernel_with_function_values_is_rejected_if_the_budget_is_spent() {
        let text = "
            extern \"thorin\" { fn opencl(i32, (i32, i32, i32), (i32, i32, i32), fn() -> ()) -> (); }
            fn count(a: i32, b: i32, body: fn(i32) -> ()) -> () { if a < b { body(a); @run count(a + 1, b, |i| body(i + 1)) } }
            fn main(argc: i32) -> i32 {
                for opencl(0, (1, 1, 1), (1, 1, 1)) {
                    let mut sum = 0;
                    for i in count(0, argc) { sum += i; }
                }
                0
            }";
        let found = compare(text, &mut Random::new(1, 0), &mut |_| ());
        assert_eq!(found, Ok(false));
    }
}
