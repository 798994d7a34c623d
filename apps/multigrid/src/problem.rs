//! Problems, as files in TOML describe them.
//!
//! Functions of the position are expressions in Impala, of `x`, `y` and `z` between 0 and 1. They become part of the program, where they are
//! checked.

use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use toml_edit::{Document, Item, TableLike};

use crate::expression::Expression;

pub struct Problem {
    pub equation: Equation,
    /// 2 or 3.
    pub dims: u32,
    /// The intervals in each dimension.
    pub n: u32,
    /// For x, y and z.
    pub boundaries: [Boundary; 3],
    pub precision: Precision,
    /// The right-hand side, or the source of heat or waves.
    pub source: Expression,
    /// The coefficient `k` of `-div (k grad u)`, if it is not 1.
    pub coefficient: Option<Expression>,
    /// The state at the start, and the given values at the boundary.
    pub start: Expression,
    pub solver: Solver,
    pub time: Time,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Equation {
    Poisson,
    Heat,
    Wave,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    Dirichlet,
    Neumann,
    Periodic,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

/// How a Poisson problem is solved.
pub struct Solver {
    pub cycle: Cycle,
    pub smoother: Smoother,
    pub sweeps: u32,
    pub levels: u32,
    pub tolerance: f64,
    pub cycles: u32,
}

#[derive(Clone, Copy)]
pub enum Cycle {
    V,
    W,
    F,
}

#[derive(Clone, Copy)]
pub enum Smoother {
    Jacobi,
    RedBlack,
    Chebyshev,
}

/// The steps of a time series.
pub struct Time {
    pub step: f64,
    pub steps: u32,
    /// Steps between two frames of an animation.
    pub steps_per_frame: u32,
}

/// Grids of more points do not fit into the indices of fields.
const MAX_POINTS: u64 = 1 << 30;

impl Problem {
    /// The problem that a file with this name describes.
    pub fn read(file: &str, text: &str) -> Result<Problem> {
        let document = Document::parse(text)?;
        let root = Table { name: String::new(), table: document.as_table() };
        root.check_keys(&["problem", "solver", "time"])?;
        let problem = root.table_of("problem")?;
        problem.check_keys(&[
            "equation",
            "dimensions",
            "intervals",
            "boundary",
            "precision",
            "source",
            "coefficient",
            "start",
        ])?;
        let dims = problem.number("dimensions", 2, 2, 3)? as u32;
        let n = problem.number("intervals", 256, 2, 1 << 20)? as u32;
        ensure!(
            u64::from(n + 1).pow(dims) <= MAX_POINTS,
            "`intervals` is too large: there are at most 2^30 points"
        );
        ensure!(n.is_multiple_of(2), "`problem.intervals` must be even, as each level halves them");
        let equation = problem.choice(
            "equation",
            &[("poisson", Equation::Poisson), ("heat", Equation::Heat), ("wave", Equation::Wave)],
        )?;
        let equation = equation.context("`problem.equation` is missing")?;
        let expression = |key: &str| problem.expression(key, file, text);
        let zero = || Expression::constant("0.0");
        let (source, start) = (expression("source")?, expression("start")?);
        let coefficient = expression("coefficient")?;
        let time = Time::read(&root.table_of("time")?, equation, dims, n)?;
        Ok(Problem {
            equation,
            dims,
            n,
            boundaries: problem.boundaries()?,
            precision: problem
                .choice("precision", &[("f32", Precision::F32), ("f64", Precision::F64)])?
                .unwrap_or(Precision::F64),
            source: source.unwrap_or_else(zero),
            coefficient,
            start: start.unwrap_or_else(zero),
            solver: Solver::read(&root.table_of("solver")?, n)?,
            time,
        })
    }

    /// The points of a side.
    pub fn side(&self) -> usize {
        self.n as usize + 1
    }

    pub fn n_points(&self) -> usize {
        self.side().pow(self.dims)
    }
}

impl Solver {
    fn read(table: &Table, n: u32) -> Result<Solver> {
        table.check_keys(&["cycle", "smoother", "sweeps", "levels", "tolerance", "cycles"])?;
        // Each level halves the intervals; the coarsest has at least two.
        let most_levels = i64::from(n.trailing_zeros().max(1)).min(12);
        let cycles = &[("v", Cycle::V), ("w", Cycle::W), ("f", Cycle::F)];
        let smoothers = &[
            ("jacobi", Smoother::Jacobi),
            ("red-black", Smoother::RedBlack),
            ("chebyshev", Smoother::Chebyshev),
        ];
        Ok(Solver {
            cycle: table.choice("cycle", cycles)?.unwrap_or(Cycle::V),
            smoother: table.choice("smoother", smoothers)?.unwrap_or(Smoother::RedBlack),
            sweeps: table.number("sweeps", 2, 1, 8)? as u32,
            levels: table.number("levels", most_levels, 1, most_levels)? as u32,
            tolerance: table.float("tolerance", 1e-8)?,
            cycles: table.number("cycles", 30, 1, 10_000)? as u32,
        })
    }
}

impl Time {
    fn read(table: &Table, equation: Equation, dims: u32, n: u32) -> Result<Time> {
        table.check_keys(&["step", "steps", "steps_per_frame"])?;
        let spacing = 1.0 / f64::from(n);
        // Just stable, for a coefficient of at most 1.
        let default = match equation {
            Equation::Wave => 0.9 * spacing / f64::from(dims).sqrt(),
            _ => 0.9 * spacing * spacing / f64::from(2 * dims),
        };
        let step = table.float("step", default)?;
        ensure!(step > 0.0, "`time.step` must be greater than 0");
        let steps = table.number("steps", 1000, 1, 1 << 30)? as u32;
        let per_frame = i64::from(steps.div_ceil(50));
        Ok(Time {
            step,
            steps,
            steps_per_frame: table.number("steps_per_frame", per_frame, 1, i64::from(steps))? as u32,
        })
    }
}

/// A table of the file, with its name for messages.
struct Table<'a> {
    name: String,
    table: &'a dyn TableLike,
}

impl<'a> Table<'a> {
    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    fn check_keys(&self, known: &[&str]) -> Result<()> {
        match self.table.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => {
                bail!("there is no key `{}`; the keys here are `{}`", self.path(key), known.join("`, `"))
            }
            None => Ok(()),
        }
    }

    /// A table in this one; a missing one is empty.
    fn table_of(&self, key: &str) -> Result<Table<'a>> {
        static EMPTY: LazyLock<toml_edit::Table> = LazyLock::new(toml_edit::Table::new);
        let name = self.path(key);
        let Some(item) = self.table.get(key) else { return Ok(Table { name, table: &*EMPTY }) };
        let table = item.as_table_like().with_context(|| format!("`{name}` must be a table"))?;
        Ok(Table { name, table })
    }

    /// A function of the position, in the file with this name and text.
    fn expression(&self, key: &str, file: &str, text: &str) -> Result<Option<Expression>> {
        let Some(item) = self.table.get(key) else { return Ok(None) };
        let expression = Expression::read(file, text, item);
        expression.with_context(|| format!("`{}` must be a string", self.path(key))).map(Some)
    }

    fn number(&self, key: &str, default: i64, least: i64, most: i64) -> Result<i64> {
        let Some(item) = self.table.get(key) else { return Ok(default) };
        let number = item.as_integer().filter(|number| (least..=most).contains(number));
        number.with_context(|| format!("`{}` must be a number from {least} to {most}", self.path(key)))
    }

    fn float(&self, key: &str, default: f64) -> Result<f64> {
        let Some(item) = self.table.get(key) else { return Ok(default) };
        let number = item.as_float().or_else(|| item.as_integer().map(|number| number as f64));
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.with_context(|| format!("`{}` must be a number that is not negative", self.path(key)))
    }

    fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        self.table.get(key).map(|item| one_of(&self.path(key), item, choices)).transpose()
    }

    /// One condition for all dimensions, or an array of conditions.
    fn boundaries(&self) -> Result<[Boundary; 3]> {
        let choices = &[
            ("dirichlet", Boundary::Dirichlet),
            ("neumann", Boundary::Neumann),
            ("periodic", Boundary::Periodic),
        ];
        let path = self.path("boundary");
        let Some(item) = self.table.get("boundary") else { return Ok([Boundary::Dirichlet; 3]) };
        let Some(array) = item.as_array() else { return Ok([one_of(&path, item, choices)?; 3]) };
        let all = array.iter().map(|value| one_of(&path, &Item::Value(value.clone()), choices));
        match all.collect::<Result<Vec<Boundary>>>()?[..] {
            [x, y] => Ok([x, y, Boundary::Dirichlet]),
            [x, y, z] => Ok([x, y, z]),
            _ => bail!("`{path}` must have a condition for each dimension"),
        }
    }
}

fn one_of<T: Copy>(path: &str, item: &Item, choices: &[(&str, T)]) -> Result<T> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let chosen = item.as_str().and_then(|text| choices.iter().find(|(name, _)| *name == text));
    let (_, value) = chosen.with_context(|| format!("`{path}` must be one of `{}`", names.join("`, `")))?;
    Ok(*value)
}
