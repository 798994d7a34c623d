//! One program, executed in several ways that must agree on the result of `main`.
//!
//! The interpreter on the program as it was written gives the expected result. The interpreter on its SIMD form and
//! native code are compared with it.

use std::io;

use nyala_driver::native::{self, LlvmOptions, NativeOptions};
use nyala_driver::{Outlined, Session, pipeline};
use nyala_interp::Io;
use nyala_ir::World;
use nyala_span::Severity;

use super::worker::Case;

/// The executions of the program of a case.
pub(super) struct Executions<'c> {
    case: &'c mut Case,
    session: Session,
    /// The only argument of the program: the interpreter and the system have the same `argc`.
    name: &'static str,
    /// The maximum number of operations in the interpreter.
    max_steps: u64,
    expected: i32,
}

impl<'c> Executions<'c> {
    /// Compiles the program of a session, and interprets it as it was written.
    pub fn begin(
        case: &'c mut Case,
        session: Session,
        name: &'static str,
        max_steps: u64,
    ) -> Result<(Executions<'c>, World), String> {
        let mut executions = Executions { case, session, name, max_steps, expected: 0 };
        let Some(world) = pipeline::emit(&mut executions.session) else {
            return Err(executions.failed("does not compile"));
        };
        executions.case.execute("interpreter, before evaluation");
        match executions.interpret(&world) {
            Some(expected) => executions.expected = expected,
            None => return Err(executions.failed("does not run")),
        }
        Ok((executions, world))
    }

    /// The program after vectorization, and whether all of it was vectorized.
    pub fn vectorize(&mut self, world: &World) -> (World, bool) {
        self.session.diagnostics.clear();
        let evaluated = pipeline::evaluate(&mut self.session, world);
        let in_form = pipeline::control_flow_form(&mut self.session, evaluated);
        let vectorized = pipeline::vectorize(&mut self.session, in_form);
        (vectorized, self.session.diagnostics.is_empty())
    }

    /// Compares SIMD code in the interpreter.
    pub fn interpret_simd(&mut self, vectorized: &World) -> Result<(), String> {
        let how = "interpreter, SIMD code";
        self.case.execute(how);
        let found = self.interpret(vectorized);
        self.compare(how, found)
    }

    /// The vectorized program, ready for native code.
    pub fn outline(&mut self, vectorized: World) -> Result<Outlined, String> {
        pipeline::outline(&mut self.session, vectorized)
            .ok_or_else(|| self.failed("is not ready for native code"))
    }

    /// Compares native code for a processor, which is this one if none is named.
    pub fn run_native(&mut self, program: &Outlined, opt_level: u8, cpu: Option<&str>) -> Result<(), String> {
        let how = format!("native code, -O{opt_level} for {}", cpu.unwrap_or("this processor"));
        self.case.execute(&how);
        let llvm = LlvmOptions { opt_level, cpu: cpu.map(str::to_owned), ..LlvmOptions::default() };
        let options = NativeOptions { llvm, ..NativeOptions::default() };
        let found = native::run(&mut self.session, program, &options, &[self.name.into()]);
        self.compare(&how, found)
    }

    fn interpret(&mut self, world: &World) -> Option<i32> {
        let args = vec![self.name.to_owned()];
        let options = nyala_interp::Options { steps: Some(self.max_steps), args, ..Default::default() };
        let io = Io { output: &mut io::sink(), input: &mut io::empty(), nanos: &mut || 0 };
        pipeline::interp(&mut self.session, world, &options, io)
    }

    fn compare(&self, how: &str, found: Option<i32>) -> Result<(), String> {
        match found {
            Some(found) if found == self.expected => Ok(()),
            Some(found) => Err(format!("{how}: gives {found}, not {}", self.expected)),
            None => Err(self.failed(how)),
        }
    }

    /// The errors of the program, which should be free of them.
    fn failed(&self, what: &str) -> String {
        let reports = self.session.diagnostics.iter();
        let errors = reports.filter(|report| report.severity == Severity::Error);
        let messages: Vec<&str> = errors.map(|report| report.message.as_str()).collect();
        format!("{what}: {}", messages.join("; "))
    }
}

/// A processor with vectors of 16, 32 or 64 bytes; this one where it does not run the code of the chosen one. So a
/// finding of one machine is chosen again on every other.
pub(super) fn processor(number: usize) -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let has_v3 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
        let has_v4 = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl");
        match number % 4 {
            1 => return Some("x86-64"),
            2 if has_v3 => return Some("x86-64-v3"),
            3 if has_v4 => return Some("x86-64-v4"),
            _ => {}
        }
    }
    None
}
