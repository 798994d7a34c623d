//! The interpreter: operations per second in a counting loop, in memory and in
//! floats; calls per second in recursion and through closures.

use anyhow::{Context as _, bail};
use nyala_interp::{Ending, Io, Options, Value};
use nyala_ir::{World, text};

use super::Row;
use super::process::thread_seconds;

/// A program whose exported `run(n)` is measured.
struct Case {
    name: &'static str,
    source: &'static str,
    /// The argument for a full run; a quick one has a tenth of it.
    size: u32,
    /// The unit: steps of the interpreter, or a number per unit of `n`.
    unit: Unit,
    expected: fn(n: u64) -> u64,
}

enum Unit {
    Steps,
    Calls,
}

const CASES: &[Case] = &[
    Case {
        name: "counting loop",
        source: "
            export run(mem: mem, n: i32, ret: cn(mem, i32)):
                head(mem, 0, 0)
            head(mem: mem, i: i32, acc: i32):
                branch(mem, lt(i, run.n), body, exit)
            body(mem: mem):
                head(mem, add(head.i, 1), xor(head.acc, mul(and(head.i, 255), 3)))
            exit(mem: mem):
                run.ret(mem, head.acc)",
        size: 20_000_000,
        unit: Unit::Steps,
        expected: |n| (0..n).fold(0, |acc, i| acc ^ ((i & 255) * 3)),
    },
    Case {
        name: "array in memory",
        source: "
            export run(mem: mem, n: i32, ret: cn(mem, i32)):
                s = slot[[i32 * 256]](mem)
                w = store(s.0, s.1, zeros)
                head(w, 0)
            head(mem: mem, i: i32):
                branch(mem, lt(i, run.n), body, exit)
            body(mem: mem):
                p = lea(run.s.1, and(head.i, 255))
                r = load(mem, p)
                w = store(r.0, p, add(r.1, 1))
                head(w, add(head.i, 1))
            exit(mem: mem):
                r = load(mem, lea(run.s.1, 0i32))
                run.ret(r.0, r.1)",
        size: 10_000_000,
        unit: Unit::Steps,
        expected: |n| n.div_ceil(256),
    },
    Case {
        name: "recursion",
        source: "
            export run(mem: mem, n: i32, ret: cn(mem, i32)):
                loop(mem, 0)
            loop(mem: mem, i: i32):
                branch(mem, lt(i, div(run.n, 1000)), body, exit)
            body(mem: mem):
                depth(mem, 1000, next)
            next(mem: mem, x: i32):
                loop(mem, add(loop.i, 1))
            exit(mem: mem):
                run.ret(mem, mul(loop.i, 1000))
            depth(mem: mem, n: i32, ret: cn(mem, i32)):
                branch(mem, eq(n, 0), end, more)
            end(mem: mem):
                depth.ret(mem, 0)
            more(mem: mem):
                depth(mem, sub(depth.n, 1), up)
            up(mem: mem, r: i32):
                depth.ret(mem, add(r, 1))",
        size: 5_000_000,
        unit: Unit::Calls,
        expected: |n| n / 1000 * 1000,
    },
    Case {
        name: "generator with a closure",
        source: "
            range(mem: mem, a: i32, b: i32, body: cn(mem, i32, cn(mem)), ret: cn(mem)):
                branch(mem, lt(a, b), step, end)
            step(mem: mem):
                range.body(mem, range.a, next)
            next(mem: mem):
                range(mem, add(range.a, 1), range.b, range.body, range.ret)
            end(mem: mem):
                range.ret(mem)
            export run(mem: mem, n: i32, ret: cn(mem, i32)):
                s = slot[i32](mem)
                w = store(s.0, s.1, 0)
                range(w, 0, n, body, exit)
            body(mem: mem, i: i32, continue: cn(mem)):
                r = load(mem, run.s.1)
                w = store(r.0, run.s.1, add(r.1, 1))
                continue(w)
            exit(mem: mem):
                r = load(mem, run.s.1)
                run.ret(r.0, r.1)",
        size: 3_000_000,
        unit: Unit::Calls,
        expected: |n| n,
    },
];

pub fn run(quick: bool) -> anyhow::Result<Vec<Row>> {
    CASES.iter().map(|case| measure(case, quick)).collect()
}

fn measure(case: &Case, quick: bool) -> anyhow::Result<Row> {
    // Items of the text form start in the first column.
    let source: Vec<&str> =
        case.source.lines().map(|line| line.strip_prefix("            ").unwrap_or(line)).collect();
    let source = source.join("\n").replace("zeros", &format!("[{}]", vec!["0i32"; 256].join(", ")));
    let world = text::parse(&source).map_err(|error| anyhow::anyhow!("{}: {error}", case.name))?;
    let n = if quick { case.size / 10 } else { case.size };
    let mut best = f64::INFINITY;
    let mut steps = 0;
    for _ in 0..3 {
        let start = thread_seconds();
        let (result, n_steps) = call(&world, n).with_context(|| case.name)?;
        best = best.min(thread_seconds() - start);
        steps = n_steps;
        let expected = (case.expected)(u64::from(n));
        if result != expected {
            bail!("{}: got {result} instead of {expected}", case.name);
        }
    }
    let (count, unit) = match case.unit {
        Unit::Steps => (steps as f64, "ops/s"),
        Unit::Calls => (f64::from(n), "calls/s"),
    };
    Ok(Row { case: case.name.into(), unit, ours: count / best, peer: None, checked: true })
}

/// The result of `run(n)` and the steps it took.
fn call(world: &World, n: u32) -> anyhow::Result<(u64, u64)> {
    let entry = nyala_interp::exported(world, "run").context("no function `run`")?;
    let io = Io { output: &mut std::io::sink(), input: &mut std::io::empty(), nanos: &mut || 0 };
    let run = nyala_interp::call(world, entry, &[Value::Bits(u64::from(n))], &Options::default(), io)?;
    match run.ending {
        Ending::Results(results) => match results[..] {
            [Value::Bits(bits)] => Ok((bits, run.steps)),
            _ => bail!("no number but {results:?}"),
        },
        Ending::Exit(status) => bail!("exit status {status}"),
    }
}
