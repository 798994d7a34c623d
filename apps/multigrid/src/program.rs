//! The program in Impala for a problem: the functions that it is given by, its parts, and [`KERNELS`], which are the
//! same for all problems.

use std::fmt::Write;

use nyala_driver::embed::Compiler;

use crate::expression::Expression;
use crate::problem::{Boundary, Cycle, Equation, Precision, Problem, Smoother};

const KERNELS: &str = include_str!("kernels.impala");

/// The host function that hears of each cycle.
pub const PROGRESS: &str = "multigrid_progress";

/// The host function that hears which values are computed next.
pub const CHECKS: &str = "multigrid_checks";

/// Who executes the program.
#[derive(Clone, Copy)]
pub struct Processors {
    /// The threads of each process.
    pub threads: u32,
    /// Whether the process is one of several of MPI.
    pub mpi: bool,
}

impl Processors {
    pub const ONE: Processors = Processors { threads: 1, mpi: false };
}

/// The whole program as one text.
pub fn write(problem: &Problem, processors: Processors) -> String {
    let mut text = head(problem);
    for (name, expression) in functions(problem) {
        text += &expression.definition(name);
    }
    text + &body(problem, processors)
}

/// The same for a compiler. Errors of expressions point to the file of the problem.
pub fn compiler(problem: &Problem, processors: Processors) -> Compiler {
    let text = head(problem) + &body(problem, processors);
    let compiler = Compiler::new().text("problem.impala", text);
    functions(problem).fold(compiler, |compiler, (name, expression)| expression.define(name, compiler))
}

/// The functions that the problem is given by.
pub fn functions(problem: &Problem) -> impl Iterator<Item = (&'static str, &Expression)> {
    let all = [
        ("source", Some(&problem.source)),
        ("start", Some(&problem.start)),
        ("coefficient", problem.coefficient.as_ref()),
    ];
    all.into_iter().filter_map(|(name, expression)| Some((name, expression?)))
}

fn head(problem: &Problem) -> String {
    let number = match problem.precision {
        Precision::F32 => "f32",
        Precision::F64 => "f64",
    };
    format!("// uses: multigrid\nuse multigrid::*;\n\ntype Number = {number};\n")
}

fn body(problem: &Problem, processors: Processors) -> String {
    let mut text = String::new();
    for (name, value) in parts(problem, processors) {
        let _ = writeln!(text, "fn @{name} {{ {value} }}");
    }
    text + KERNELS
}

/// The functions of the program that differ between problems.
fn parts(problem: &Problem, processors: Processors) -> Vec<(&'static str, String)> {
    let dims = problem.dims;
    let operators = match problem.coefficient {
        Some(_) => {
            format!("diffusion({dims}, @|x, y, z| coefficient_at(x, y, z) as Number)")
        }
        None => format!("poisson({dims})"),
    };
    let [x, y, z] = problem.boundaries.map(boundary);
    let coefficient = match problem.coefficient {
        // Half an interval outside, the coefficient is that of the point whose value is used there.
        Some(_) => {
            let [x, y, z] = problem.boundaries.map(inside);
            format!("coefficient({x}(x as f64), {y}(y as f64), {z}(z as f64))")
        }
        None => "1.0".to_owned(),
    };
    let sweeps = problem.solver.sweeps;
    let smoother = match problem.solver.smoother {
        Smoother::Jacobi => format!("jacobi({sweeps}, 0.8 as Number)"),
        Smoother::RedBlack => format!("red_black({sweeps})"),
        Smoother::Chebyshev => format!("chebyshev({sweeps}, 0.5 as Number, 2.0 as Number)"),
    };
    let cycle = match problem.solver.cycle {
        Cycle::V => "v_cycle()",
        Cycle::W => "w_cycle()",
        Cycle::F => "f_cycle()",
    };
    let step = match problem.equation {
        Equation::Wave => "wave",
        _ => "heat",
    };
    let lanes = match problem.precision {
        Precision::F32 => 16,
        Precision::F64 => 8,
    };
    let has_given = problem.boundaries[..dims as usize].contains(&Boundary::Dirichlet);
    let target = match processors.threads {
        1 => format!("vectors({lanes})"),
        // Tiles of slices, some for each thread, but not too small: neighbours overlap.
        n => format!("on_threads({n}, with_tiles(64, {}, vectors({lanes})))", (problem.n / (2 * n)).max(16)),
    };
    // Passes read as many slices of other ranks as they have steps, with two more for the residual and its restriction.
    let steps = if let Smoother::RedBlack = problem.solver.smoother { 2 * sweeps } else { sweeps };
    let (target, begin, end) = match processors.mpi {
        true => (
            format!("with_mpi({}, {target}, body)", (steps + 2).max(4)),
            "begin_mpi(); mpi_rank()",
            "end_mpi()",
        ),
        false => (format!("body({target})"), "0", "()"),
    };
    vec![
        ("n_dims() -> i32", dims.to_string()),
        ("n_levels() -> i32", problem.solver.levels.to_string()),
        ("operators() -> Operators[Number]", operators),
        ("coefficient_at(x: Number, y: Number, z: Number) -> f64", coefficient),
        ("boundaries() -> Boundaries", format!("Boundaries {{ x: {x}(), y: {y}(), z: {z}() }}")),
        ("has_given_values() -> bool", has_given.to_string()),
        ("has_coefficient() -> bool", problem.coefficient.is_some().to_string()),
        ("smoother() -> Smoother[Number]", smoother),
        ("cycle() -> Cycle", cycle.to_owned()),
        ("time_step(dt: f64) -> TimeStep[Number]", format!("{step}(dt as Number)")),
        ("with_target(body: fn(Target) -> ()) -> ()", target),
        ("begin_ranks() -> i32", begin.to_owned()),
        ("end_ranks() -> ()", end.to_owned()),
    ]
}

fn boundary(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Dirichlet => "dirichlet",
        Boundary::Neumann => "neumann",
        Boundary::Periodic => "periodic",
    }
}

/// The function from a position to the one whose value it has.
fn inside(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Dirichlet => "unchanged",
        Boundary::Neumann => "mirrored",
        Boundary::Periodic => "wrapped",
    }
}
