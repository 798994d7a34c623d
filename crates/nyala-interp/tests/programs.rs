//! Programs in text form, with the expected results of their execution.
//!
//! Each file in `tests/programs` is a program with directives in comments:
//!
//! ```text
//! ; run: fac(5) == 120
//! ; run: main() == 0 prints "hello\n"
//! ; run: main() == 0 reads "input\n" prints "tupni\n"
//! ; fails: main() E0960
//! ; fails: main() E0950 outside the local variable
//! ; option: seed 3 / option: leaks / option: steps 1000 / option: memory 1000
//! ```
//!
//! A text after the code of `fails` must be part of the message. Options apply to
//! the directives after them.

use std::fs;
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use nyala_interp::{Ending, InterpError, Io, Options, Run, Value};
use nyala_ir::{Prim, Ty, World, text};

fn main() {
    let args = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of test programs")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ir"))
        .collect();
    files.sort();
    let trial = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a file name").to_string_lossy().into_owned();
        Trial::test(name, move || check_file(&path))
    };
    libtest_mimic::run(&args, files.into_iter().map(trial).collect()).exit();
}

fn check_file(path: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(path)?;
    let world = text::parse(&source).map_err(|error| error.to_string())?;
    let mut options = Options { steps: Some(100_000_000), ..Options::default() };
    let mut n_checks = 0;
    for (line, number) in source.lines().zip(1..) {
        let at = |error: String| Failed::from(format!("line {number}: {error}"));
        if let Some(option) = line.strip_prefix("; option: ") {
            set_option(&mut options, option).map_err(at)?;
        } else if let Some(directive) = line.strip_prefix("; run: ") {
            check_run(&world, &options, directive).map_err(at)?;
            n_checks += 1;
        } else if let Some(directive) = line.strip_prefix("; fails: ") {
            check_failure(&world, &options, directive).map_err(at)?;
            n_checks += 1;
        }
    }
    if n_checks == 0 {
        return Err("no directive: nothing was checked".into());
    }
    Ok(())
}

fn set_option(options: &mut Options, option: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    match option.split_once(' ').unwrap_or((option, "")) {
        ("seed", value) => options.seed = number(value)?,
        ("steps", value) => options.steps = Some(number(value)?),
        ("memory", value) => options.memory = number(value)?,
        ("leaks", _) => options.leaks = true,
        ("args", value) => options.args = value.split(' ').map(String::from).collect(),
        _ => return Err(format!("no option `{option}`")),
    }
    Ok(())
}

/// `name(args) == results [reads "text"] [prints "text"]`
fn check_run(world: &World, options: &Options, directive: &str) -> Result<(), String> {
    let (directive, prints) = split_text(directive, " prints ")?;
    let (directive, reads) = split_text(directive, " reads ")?;
    let (call, expected) = directive.split_once("==").unwrap_or((directive, ""));
    let (result, output) = run(world, options, call.trim(), reads.as_deref().unwrap_or(""));
    let run = result?.map_err(|error| format!("failed: {error}"))?;
    let results = match run.ending {
        Ending::Results(results) => results,
        Ending::Exit(status) => vec![Value::Bits(status as u64)],
    };
    let types = result_types(world, call)?;
    let expected: Vec<Value> = list(expected.trim())
        .zip(&types)
        .map(|(text, &ty)| value(world, ty, text))
        .collect::<Result<_, _>>()?;
    let is_same = expected.len() == results.len() && expected.iter().zip(&results).all(|(a, b)| a.same(b));
    if !is_same {
        return Err(format!("expected {expected:?}, got {results:?}"));
    }
    match prints {
        Some(expected) if expected != output => Err(format!("expected output {expected:?}, got {output:?}")),
        _ => Ok(()),
    }
}

/// `name(args) CODE [part of the message]`
fn check_failure(world: &World, options: &Options, directive: &str) -> Result<(), String> {
    let (call, rest) = directive.split_once(')').ok_or("no call")?;
    let (code, part) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let (result, _) = run(world, options, &format!("{call})"), "");
    match result? {
        Ok(run) => Err(format!("expected {code}, but it succeeded: {:?}", run.ending)),
        Err(error) => {
            let diagnostic = error.to_diagnostic();
            let message = format!("{} {}", diagnostic.message, diagnostic.notes.join(" "));
            match diagnostic.code.0 == code && message.contains(part) {
                true => Ok(()),
                false => Err(format!("expected {code} {part}, got {error} ({message})")),
            }
        }
    }
}

type RunResult = Result<Result<Run, Box<InterpError>>, String>;

fn run(world: &World, options: &Options, call: &str, input: &str) -> (RunResult, String) {
    let mut output = vec![];
    let io = Io { output: &mut output, input: &mut input.as_bytes(), nanos: &mut || 0 };
    let result = run_call(world, options, call, io);
    (result, String::from_utf8_lossy(&output).into_owned())
}

fn run_call(world: &World, options: &Options, call: &str, io: Io<'_>) -> RunResult {
    if call == "main" {
        let steps = 0;
        let run = |status| Run { ending: Ending::Results(vec![Value::Bits(status as u32 as u64)]), steps };
        return Ok(nyala_interp::run_main(world, options, io).map(run));
    }
    let (name, args) = call.split_once('(').ok_or("no call")?;
    let cont = find(world, name)?;
    let types: Vec<Ty> = world.cont(cont).params.iter().map(|&param| world.ty(param)).collect();
    let types = types.into_iter().filter(|&ty| ty != world.types.mem());
    let args: Vec<Value> = list(args.trim_end_matches(')'))
        .zip(types)
        .map(|(text, ty)| value(world, ty, text))
        .collect::<Result<_, _>>()?;
    Ok(nyala_interp::call(world, cont, &args, options, io))
}

fn find(world: &World, name: &str) -> Result<nyala_ir::Cont, String> {
    let found = world.conts().find(|(_, data)| data.name.as_str() == name && data.body.is_some());
    found.map(|(cont, _)| cont).ok_or(format!("no `{name}`"))
}

fn result_types(world: &World, call: &str) -> Result<Vec<Ty>, String> {
    let name = call.split('(').next().unwrap_or(call).trim();
    let params = &world.cont(find(world, name)?).params;
    let ret = params.last().and_then(|&param| world.types.as_cn(world.ty(param))).unwrap_or(&[]);
    Ok(ret.iter().copied().filter(|&ty| ty != world.types.mem()).collect())
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// A scalar of a type from its text.
fn value(world: &World, ty: Ty, text: &str) -> Result<Value, String> {
    let prim = world.types.as_prim(ty).ok_or("only scalars can be written in directives")?;
    let bad = |_| format!("`{text}` is no `{prim}`");
    Ok(match prim {
        Prim::Bool => Value::bool(text == "true"),
        Prim::F32 => Value::Bits(u64::from(text.parse::<f32>().map_err(|_| bad(()))?.to_bits())),
        Prim::F64 => Value::Bits(text.parse::<f64>().map_err(|_| bad(()))?.to_bits()),
        _ => Value::prim(prim, text.parse::<i128>().map_err(|_| bad(()))? as u64),
    })
}

/// Cuts `keyword "text"` off the end.
fn split_text<'a>(line: &'a str, keyword: &str) -> Result<(&'a str, Option<String>), String> {
    let Some((before, text)) = line.split_once(keyword) else { return Ok((line, None)) };
    let text = text.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let text = text.ok_or(format!("{keyword}without text"))?;
    Ok((before, Some(text.replace("\\n", "\n"))))
}
