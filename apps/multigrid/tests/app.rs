//! Runs the app on small problems, and checks the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder per test, with a problem in it.
fn folder(name: &str, problem: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("problem.toml"), problem).unwrap();
    folder
}

fn app(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nyala-multigrid"));
    command.current_dir(folder).arg("problem.toml").args(args).output().unwrap()
}

/// The output of a run, which must succeed.
fn output(folder: &Path, args: &[&str]) -> String {
    let result = app(folder, args);
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8(result.stdout).unwrap()
}

/// The message of a run, which must fail with status 1.
fn failure(folder: &Path, args: &[&str]) -> String {
    let result = app(folder, args);
    assert_eq!(result.status.code(), Some(1));
    String::from_utf8(result.stderr).unwrap()
}

/// The values in a VTK file.
fn values(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    let head = b"LOOKUP_TABLE default\n";
    let start = bytes.windows(head.len()).position(|window| window == head).unwrap() + head.len();
    bytes[start..].chunks_exact(8).map(|bytes| f64::from_be_bytes(bytes.try_into().unwrap())).collect()
}

const POISSON: &str = "[problem]\nequation = \"poisson\"\nintervals = 32\nsource = \"19.7392088 * sin(3.14159265 * x) * sin(3.14159265 * y)\"\n";

#[test]
fn a_poisson_problem_is_solved() {
    let folder = folder("poisson", POISSON);
    let text = output(&folder, &["-o", "u.png", "--vtk", "u.vtk", "--threads", "2"]);
    assert!(text.contains("\nsolved after ") && text.contains('█'), "{text}");
    let values = values(&folder.join("u.vtk"));
    assert_eq!(values.len(), 33 * 33);
    // In the middle the solution is 1, up to the error of the discretization.
    assert!((values[16 * 33 + 16] - 1.0).abs() < 2e-3, "{}", values[16 * 33 + 16]);
    let picture = image::open(folder.join("u.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (33, 33));
    assert_eq!((picture.get_pixel(16, 16).0, picture.get_pixel(0, 0).0), ([255, 250, 200], [10, 10, 60]));
}

#[test]
fn a_run_that_was_stopped_goes_on_with_the_same_result() {
    let short = format!("{POISSON}[solver]\nsweeps = 1\nsmoother = \"jacobi\"\ncycles = 5\n");
    let long = short.replace("cycles = 5", "cycles = 10");
    let stopped = folder("stopped", &short);
    assert!(
        output(&stopped, &["--checkpoint", "state", "--threads", "1"]).contains("not solved after 5 cycles")
    );
    fs::write(stopped.join("problem.toml"), &long).unwrap();
    let text = output(&stopped, &["--checkpoint", "state", "--vtk", "u.vtk", "--threads", "1"]);
    assert!(
        text.contains("going on after 5 cycles") && text.contains("not solved after 10 cycles"),
        "{text}"
    );
    let whole = folder("whole", &long);
    output(&whole, &["--vtk", "u.vtk", "--threads", "1"]);
    assert_eq!(values(&stopped.join("u.vtk")), values(&whole.join("u.vtk")));
}

#[test]
fn heat_spreads_and_is_kept() {
    let problem = "[problem]\nequation = \"heat\"\nintervals = 16\nboundary = \"periodic\"\nstart = \"if x == 0.5 && y == 0.5 { 256.0 } else { 0.0 }\"\n[time]\nsteps = 40\nsteps_per_frame = 20\n";
    let folder = folder("heat", problem);
    let text = output(&folder, &["-o", "u.gif", "--frames", "frames", "--vtk", "u.vtk"]);
    assert!(text.contains("40 steps"), "{text}");
    let values = values(&folder.join("u.vtk"));
    let sum: f64 = (0..16).flat_map(|y| &values[y * 17..y * 17 + 16]).sum();
    assert!((sum - 256.0).abs() < 1e-9, "{sum}");
    assert!(values[8 * 17 + 8] < 10.0);
    assert_eq!(fs::read_dir(folder.join("frames")).unwrap().count(), 3);
    assert!(fs::read(folder.join("u.gif")).unwrap().starts_with(b"GIF89a"));
}

#[test]
fn an_expression_that_does_not_end_is_an_error() {
    let source = "{ let mut s = 0.0; while s >= 0.0 { s += if y > 0.7 { 0.0 } else { -1.0 } } s }";
    let folder = folder(
        "endless",
        &format!("[problem]\nequation = \"poisson\"\nintervals = 8\nsource = \"{source}\"\n"),
    );
    let error = failure(&folder, &[]);
    assert!(
        error.contains("problem.toml:4: after 10 s, `problem.source` still has no value for y = 0.75"),
        "{error}"
    );
}

#[test]
fn a_periodic_coefficient_continues_at_the_other_side() {
    // Heat is kept, though the coefficient jumps at the border.
    let problem = "[problem]\nequation = \"heat\"\nintervals = 16\nboundary = \"periodic\"\ncoefficient = \"if x > 0.5 { 1.0 } else { 0.1 }\"\nstart = \"x\"\n[time]\nsteps = 100\n";
    let folder = folder("coefficient", problem);
    output(&folder, &["--vtk", "u.vtk"]);
    let values = values(&folder.join("u.vtk"));
    let sum: f64 = (0..16).flat_map(|y| &values[y * 17..y * 17 + 16]).sum();
    assert!((sum - 16.0 * 7.5).abs() < 1e-9, "{sum}");
}

#[test]
fn a_grid_that_is_larger_than_the_caches_has_all_its_values() {
    // Far from the boundary, each step adds `4 dt` to a paraboloid.
    let problem = "[problem]\nequation = \"heat\"\nintervals = 2048\nstart = \"x * x + y * y\"\n[time]\nstep = 1e-8\nsteps = 4\nsteps_per_frame = 4\n";
    let folder = folder("large", problem);
    output(&folder, &["--vtk", "u.vtk", "--threads", "1"]);
    let values = values(&folder.join("u.vtk"));
    let at = |i: usize| i as f64 / 2048.0;
    for y in 5..2044 {
        for x in 5..2044 {
            let expected = at(x).powi(2) + at(y).powi(2) + 16e-8;
            let found = values[y * 2049 + x];
            assert!((found - expected).abs() < 1e-12, "{x}, {y}: {found} and {expected}");
        }
    }
}

#[test]
fn a_wave_in_space_swings() {
    // A standing wave: `cos(pi t sqrt(3))` times its start.
    let problem = "[problem]\nequation = \"wave\"\ndimensions = 3\nintervals = 16\nprecision = \"f64\"\nstart = \"sin(3.14159265 * x) * sin(3.14159265 * y) * sin(3.14159265 * z)\"\n[time]\nstep = 0.02\nsteps = 29\n";
    let folder = folder("wave", problem);
    output(&folder, &["--vtk", "u.vtk"]);
    let middle = values(&folder.join("u.vtk"))[(8 * 17 + 8) * 17 + 8];
    assert!(middle < -0.95, "{middle}");
}

#[test]
fn errors_name_what_is_wrong() {
    let cases = [
        ("x = [", "TOML"),
        ("[problem]\nequation = \"poison\"\n", "`problem.equation` must be one of `poisson`, `heat`, `wave`"),
        ("[problem]\nequation = \"heat\"\nintervalls = 3\n", "there is no key `problem.intervalls`"),
        ("[problem]\nequation = \"heat\"\nintervals = 1\n", "`problem.intervals` must be a number from 2"),
        ("[problem]\nequation = \"poisson\"\nintervals = 7\n", "`problem.intervals` must be even"),
        ("[problem]\nequation = \"poisson\"\nintervals = 8\nsource = \"x +\"\n", "problem.toml:4:"),
        (
            "[problem]\nequation = \"poisson\"\nintervals = 8\ncoefficient = \"x - 0.5\"\n",
            "problem.toml:4: `problem.coefficient` must be greater than 0 and finite, but it is -0.4375 at (0.0625, 0.125)",
        ),
        (
            "[problem]\nequation = \"wave\"\nintervals = 8\nstart = \"1.0 / x\"\n",
            "problem.toml:4: `problem.start` must be finite, but it is inf at (0.0, 0.0)",
        ),
        (
            "[problem]\nequation = \"poisson\"\nintervals = 8\nprecision = \"f32\"\nsource = \"1e99\"\n",
            "problem.toml:5: `problem.source` must be finite, but it is 1e99 at (0.0, 0.0)",
        ),
        (
            "[problem]\nequation = \"heat\"\nintervals = 8\nstart = \"x * x * y\"\n[time]\nstep = 1.0\n",
            "choose a smaller `time.step`",
        ),
    ];
    for (problem, message) in cases {
        let folder = folder("errors", problem);
        let error = failure(&folder, &[]);
        assert!(error.contains(message), "{problem}\n{error}");
    }
    let folder = folder("output", POISSON);
    assert!(failure(&folder, &["-o", "u.gif"]).contains("only heat and wave problems have animations"));
    assert!(failure(&folder, &["-o", "missing/u.png"]).contains("cannot write `missing/u.png`"));
    fs::write(folder.join("state"), "no checkpoint").unwrap();
    assert!(failure(&folder, &["--checkpoint", "state"]).contains("is not a checkpoint of this problem"));
}
