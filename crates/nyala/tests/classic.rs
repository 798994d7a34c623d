//! The classic programs of the benchmarks: nothing of their generators and helpers is left
//! when they are compiled, and they print the same as their C versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nyala_driver::{Options, Session, pipeline};
use nyala_ir::TyKind;
use nyala_ir::analysis::Functions;

const PROGRAMS: [&str; 8] = [
    "aobench",
    "fannkuch_redux",
    "fasta",
    "mandelbrot",
    "n_body",
    "pidigits",
    "reverse_complement",
    "spectral_norm",
];

fn folder() -> PathBuf {
    nyala_tests::files::repository().join("bench/classic")
}

fn sources(name: &str) -> [PathBuf; 2] {
    ["support", name].map(|name| folder().join(format!("{name}.impala")))
}

#[test]
fn no_closure_and_no_generator_is_left() {
    for program in PROGRAMS {
        let mut session = Session::new(Options::default());
        for path in sources(program) {
            session.load(&path);
        }
        let world = pipeline::prepare(&mut session).unwrap_or_else(|| panic!("{program} has errors")).host;
        let functions = Functions::new(&world);
        assert!(functions.obstacles(&world).is_empty(), "{program} has closures");
        let is_cn = |param: &&nyala_ir::Def| matches!(world.types.kind(world.ty(**param)), TyKind::Cn(_));
        // Besides the return continuation, a parameter of that type is a function.
        for function in functions.all() {
            let data = world.cont(function.entry);
            let given = data.params.iter().filter(is_cn).count();
            assert!(given <= 1, "{program}: `{}` is given functions", data.name);
        }
    }
}

fn output(command: &mut Command, input: Option<&Path>) -> Vec<u8> {
    let input = input.map_or(Stdio::null(), |path| std::fs::File::open(path).expect("there is input").into());
    let output = command.stdin(input).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn outputs_equal_those_of_other_languages() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no C compiler for the peers");
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classic");
    std::fs::create_dir_all(&place).expect("the folder can be made");
    let input = place.join("input");
    for program in PROGRAMS {
        let (ours, peer) = (place.join(program), place.join(format!("{program}.peer")));
        let mut build = Command::new(env!("CARGO_BIN_EXE_nyala"));
        output(build.args(["build", "-O2", "-o"]).arg(&ours).args(sources(program)), None);
        let c = folder().join(format!("{program}.c"));
        output(Command::new("cc").args(["-O2", "-w", "-o"]).arg(&peer).arg(c).arg("-lm"), None);
        let read = (program == "reverse_complement").then_some(input.as_path());
        let expected = output(&mut Command::new(&peer), read);
        assert!(output(&mut Command::new(&ours), read) == expected, "{program} prints something else");
        // The output of one program is the input of another.
        if program == "fasta" {
            std::fs::write(&input, expected).expect("the input can be written");
        }
    }
}
