//! `nyala tune` as a library author meets it.

mod support;

use support::{Folder, nyala, run_command};

/// A package with a parameter that decides how much work is done in vain, and one that no benchmark measures.
const LIBRARY: &str = "
enum Way { Long, Short }

#[tune(100000, 10)] static rounds = 100000;
#[tune(Way::Short)] static way = Way::Long;
mod other { #[tune(1 + 1, 3)] static unused = 1; }

fn waste() -> () { for i in range(0, rounds) { black_box(i); } }
fn work() -> i32 {
    match way { Way::Long => { waste(); waste() }, Way::Short => waste() }
    42
}
fn chosen() -> i32 { rounds }

#[bench] fn speed() -> i32 { work() }
";

fn package(name: &str, library: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("nyala.toml", "[package]\nname = \"slow\"\nversion = \"0.1.0\"\n");
    folder.file("src/slow.impala", library);
    folder
        .file("examples/show.impala", "fn main() -> i32 { print_i32(slow::chosen()); print_char('\\n'); 0 }");
    folder
}

fn run(folder: &Folder, args: &[&str]) -> (Option<i32>, String, String) {
    run_command(nyala().args(args).current_dir(&folder.0), "")
}

fn succeed(folder: &Folder, args: &[&str]) -> (String, String) {
    let (status, stdout, stderr) = run(folder, args);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    (stdout, stderr)
}

fn tuned(folder: &Folder) -> Option<String> {
    std::fs::read_to_string(folder.0.join("nyala.tune")).ok()
}

const SHOW: [&str; 3] = ["run", "--program", "examples/show"];

#[test]
fn the_fastest_values_are_found_kept_and_used() {
    let folder = package("tune", LIBRARY);
    let (list, _) = succeed(&folder, &["tune", "--list"]);
    assert_eq!(
        list,
        "slow::rounds = 100000, one of 100000, 10, measured by speed\n\
         slow::way = Way::Long, one of Way::Long, Way::Short, measured by speed\n\
         slow::other::unused = 1, one of 1, 1 + 1, 3, measured by no benchmark\n"
    );
    assert_eq!(succeed(&folder, &SHOW), ("100000\n".into(), String::new()));

    let (table, progress) = succeed(&folder, &["tune", "--budget", "30"]);
    assert!(table.starts_with("rounds, way: 4 of 4 combinations measured in "), "{table}");
    let row = |mark: &str| {
        table.lines().find(|line| line.ends_with(mark)).map(|line| line.split_whitespace().collect())
    };
    let (chosen, source): (Option<Vec<&str>>, Option<Vec<&str>>) = (row("  chosen"), row("  in the source"));
    assert_eq!(chosen.expect("it is marked")[..2], ["10", "Way::Short"], "{table}");
    assert_eq!(source.expect("it is marked")[..2], ["100000", "Way::Long"], "{table}");
    assert!(table.contains("no benchmark measures `slow::other::unused`"), "{table}");
    assert!(progress.contains("rounds, way: 4 of 4 combinations in "), "{progress}");

    let file = tuned(&folder).expect("it was written");
    assert!(file.starts_with("# ") && file.contains("\"slow::rounds\" = \"10\"\n"), "{file}");
    assert!(file.contains("\"slow::way\" = \"Way::Short\"\n") && !file.contains("unused"), "{file}");
    assert_eq!(succeed(&folder, &SHOW), ("10\n".into(), String::new()));
    assert!(succeed(&folder, &["tune", "--list"]).0.starts_with("slow::rounds = 10 (tuned), one of "));
    // For another processor, nothing is tuned.
    let other = [&SHOW[..], &["--target-cpu", "x86-64"]].concat();
    assert_eq!(succeed(&folder, &other).0, "100000\n");
}

#[test]
fn results_are_written_as_json() {
    let folder = package("tune-json", LIBRARY);
    let (json, _) = succeed(&folder, &["tune", "--budget", "20", "--format", "json"]);
    assert_eq!(json.lines().count(), 1, "{json}");
    for part in [
        "\"event\":\"tuned\"",
        "\"search\":\"all\"",
        "\"slow::rounds\":\"10\"",
        "\"ratio\":",
        "\"ns\":{\"speed\":",
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
}

#[test]
fn candidates_with_another_result_or_with_errors_are_not_chosen() {
    let library = "
#[tune(10, 7, 5)] static rounds = 100000;
fn chosen() -> i32 { rounds }
#[bench] fn speed() -> (i32, f32) {
    for i in range(0, rounds) { black_box(i); }
    assert(rounds != 7);
    (if rounds == 5 { 41 } else { 42 }, 0.5f)
}
";
    let folder = package("tune-wrong", library);
    let (status, table, _) = run(&folder, &["tune", "--budget", "20"]);
    assert_eq!(status, Some(1), "{table}");
    assert!(table.contains("wrong: 5: the result of `speed` is 41, 0.5 instead of 42, 0.5"), "{table}");
    assert!(table.contains("fails: 7: src/slow.impala:6:5: error[E0985]: assertion failed"), "{table}");
    assert!(tuned(&folder).expect("it was written").contains("\"slow::rounds\" = \"10\"\n"));
}

#[test]
fn broken_and_outdated_files_are_warnings() {
    let folder = package("tune-broken", LIBRARY);
    folder.file("nyala.tune", "[znver3\n");
    let (output, warning) = succeed(&folder, &SHOW);
    assert_eq!(output, "100000\n");
    assert!(warning.contains("warning[W0031]") && warning.contains("nyala.tune:1:8"), "{warning}");
    let (status, _, error) = run(&folder, &["tune", "--budget", "1"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("nyala.tune` has no tuned values, and is not overwritten"), "{error}");
    assert_eq!(tuned(&folder).as_deref(), Some("[znver3\n"));

    let values = "\"slow::rounds\" = \"11\"\n\"slow::old\" = \"1\"\n\"slow::way\" = \"Way::Short\"\n";
    folder.file("nyala.tune", format!("[generic]\n{values}\n[x86-64]\n\"slow::rounds\" = \"10\"\n"));
    let (output, warnings) = succeed(&folder, &[&SHOW[..], &["--target-cpu", "generic"]].concat());
    assert_eq!(output, "100000\n");
    assert!(
        warnings.contains("warning[W0032]: `11` is no value of the parameter `slow::rounds`"),
        "{warnings}"
    );
    assert!(warnings.contains("warning[W0033]: there is no parameter `slow::old`"), "{warnings}");
    let (output, warnings) = succeed(&folder, &[&SHOW[..], &["--target-cpu", "x86-64"]].concat());
    assert_eq!((output.as_str(), warnings.as_str()), ("10\n", ""));
}

/// The program's own file wins over that of a package that it depends on.
#[test]
fn programs_tune_the_parameters_of_their_dependencies() {
    let library = package("tune-dependency", LIBRARY);
    library.file("nyala.tune", "[x86-64]\n\"slow::rounds\" = \"10\"\n");
    let folder = Folder::new("tune-user");
    let path = library.0.display();
    folder.file(
        "nyala.toml",
        format!("[package]\nname = \"user\"\nversion = \"0.1.0\"\n[dependencies]\nslow = {{ path = \"{path}\" }}\n"),
    );
    let program =
        "#[bench] fn use_it() -> i32 { slow::work() }\nfn main() -> i32 { print_i32(slow::chosen()); 0 }";
    folder.file("src/main.impala", program);
    assert_eq!(succeed(&folder, &["run", "--target-cpu", "x86-64"]).0, "10");
    let (list, _) = succeed(&folder, &["tune", "--list"]);
    assert!(list.contains("slow::rounds = 100000, one of 100000, 10, measured by use_it"), "{list}");
    folder.file("nyala.tune", "[x86-64]\n\"slow::rounds\" = \"100000\"\n");
    assert_eq!(succeed(&folder, &["run", "--target-cpu", "x86-64"]).0, "100000");
}

#[test]
fn loose_files_are_tuned() {
    let folder = Folder::new("tune-loose");
    folder.file("slow.impala", LIBRARY);
    succeed(&folder, &["tune", "--budget", "20", "slow.impala"]);
    let file = std::fs::read_to_string(folder.0.join("slow.tune")).expect("it was written");
    assert!(file.contains("rounds = \"10\"\n"), "{file}");
    folder.file("nothing.impala", "fn main() -> i32 { 0 }");
    let (status, _, error) = run(&folder, &["tune", "nothing.impala"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("there is no parameter that a benchmark measures"), "{error}");
}
