//! Packages as a user meets them: made, changed, checked, built and run; with dependencies from git; and libraries
//! for loose files.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Folder, nyala, run_command};

/// Exit status, standard output and standard error of nyala in a folder.
fn nyala_in(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    run_command(nyala().args(args).current_dir(folder).env_remove("NYALA_PATH"), "")
}

/// The same with a cache for git dependencies.
fn nyala_with_cache(folder: &Path, cache: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    run_command(nyala().args(args).current_dir(folder).env("NYALA_CACHE", cache), "")
}

/// What nyala prints in a folder, if it succeeds without a report.
fn prints(folder: &Path, args: &[&str]) -> String {
    let (status, stdout, stderr) = nyala_in(folder, args);
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{args:?}: {stdout}");
    stdout
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("the temporary folder is writable");
    fs::write(path, text).expect("the temporary folder is writable");
}

#[test]
fn a_new_package_runs_from_every_folder_in_it() {
    let folder = Folder::new("new-package");
    prints(&folder.0, &["new", "hello"]);
    let hello = folder.0.join("hello");
    for inside in ["", "src"] {
        assert_eq!(prints(&hello.join(inside), &["run"]), "Hello!\n");
    }
    assert_eq!(prints(&hello, &["interp"]), "Hello!\n");
    assert_eq!(prints(&folder.0, &["interp", "--package", "hello"]), "Hello!\n");
    assert_eq!(prints(&hello, &["check"]), "");
    assert_eq!(prints(&hello, &["fmt", "--check"]), "");
    assert!(prints(&hello, &["ir"]).contains("main"));
    assert!(!prints(&hello, &["explain"]).is_empty());
    assert_eq!(prints(&hello.join("src"), &["build", "--emit", "obj"]), "");
    assert!(hello.join("build/hello.o").is_file());
    let (status, _, stderr) = nyala_in(&folder.0, &["new", "hello"]);
    assert!(status != Some(0) && stderr.contains("`hello/nyala.toml` exists already"), "{stderr}");
    let (status, _, stderr) = nyala_in(&folder.0, &["new", "main"]);
    assert!(status != Some(0) && stderr.contains("cannot be the name"), "{stderr}");
    let here = folder.0.join("here");
    fs::create_dir(&here).expect("the temporary folder is writable");
    prints(&here, &["new", "."]);
    assert_eq!(prints(&here, &["interp"]), "Hello!\n");
    let (status, _, stderr) = nyala_in(&folder.0, &["new", "my-hello"]);
    assert!(status != Some(0) && stderr.contains("cannot be the name"), "{stderr}");
}

#[test]
fn without_files_and_without_a_package_the_usage_is_wrong() {
    let folder = Folder::new("no-package");
    for command in ["check", "fmt", "ir", "interp", "run", "build", "explain"] {
        let (status, _, stderr) = nyala_in(&folder.0, &[command]);
        assert!(status == Some(2) && stderr.contains("nyala.toml"), "{command}: {stderr}");
    }
}

#[test]
fn a_library_has_examples_and_dependents() {
    let folder = Folder::new("library-package");
    prints(&folder.0, &["new", "powers", "--lib"]);
    prints(&folder.0, &["new", "app"]);
    let (powers, app) = (folder.0.join("powers"), folder.0.join("app"));
    assert_eq!(prints(&powers, &["check"]), "");
    assert_eq!(prints(&powers, &["interp", "--program", "hello"]), "1024\n");
    assert_eq!(prints(&powers, &["interp", "--program", "examples/hello"]), "1024\n");
    assert!(prints(&powers, &["test", "--mode", "interp"]).contains("2 passed"));
    let (status, _, stderr) = nyala_in(&powers, &["run"]);
    assert!(status == Some(1) && stderr.contains("E0923") && stderr.contains("`examples/hello`"), "{stderr}");
    let page = prints(&powers, &["explain", "--program", "hello", "--format", "html"]);
    assert!(
        page.contains("<title>Partial evaluation of hello</title>") && !page.contains("nyala.toml"),
        "{page}"
    );
    let (status, _, stderr) = nyala_in(&powers, &["add", "powers", "--path", "."]);
    assert!(status == Some(1) && stderr.contains("E0034"), "{stderr}");
    let (status, _, stderr) = nyala_in(&powers, &["run", "--program", "none"]);
    assert!(status == Some(1) && stderr.contains("E0038") && stderr.contains("`examples/hello`"), "{stderr}");

    let manifest = || fs::read_to_string(app.join("nyala.toml")).expect("it was made");
    let before = manifest();
    let (status, _, stderr) = nyala_in(&app, &["add", "absent", "--path", "../absent"]);
    assert!(status == Some(1) && stderr.contains("E0027"), "{stderr}");
    assert_eq!(manifest(), before, "a dependency that is not found changes nothing");
    assert_eq!(prints(&app.join("src"), &["add", "powers", "--path", "../../powers"]), "");
    assert!(manifest().contains("powers = { path = \"../powers\" }"), "{}", manifest());
    assert_eq!(prints(&app, &["add", "stencil"]), "");
    write(
        &app,
        "src/main.impala",
        "use powers::power;\nfn main() -> i32 { power(3.0f, 3) as i32 + stencil::region(1, 0, 0, 0).xa }\n",
    );
    assert_eq!(nyala_in(&app, &["run"]), (Some(28), String::new(), String::new()));
    assert_eq!(prints(&app, &["remove", "stencil"]), "");
    assert!(!manifest().contains("stencil") && manifest().contains("powers"), "{}", manifest());
    let (status, _, stderr) = nyala_in(&app, &["remove", "stencil"]);
    assert!(status == Some(1) && stderr.contains("no dependency `stencil`"), "{stderr}");
}

#[test]
fn check_looks_at_the_whole_package_and_reports_once() {
    let folder = Folder::new("whole-package");
    write(&folder.0, "nyala.toml", "[package]\nname = \"all\"\nversion = \"0.1.0\"\n");
    write(&folder.0, "src/lib.impala", "fn f(unused: i32) -> i32 { 1 }\n");
    write(&folder.0, "examples/good.impala", "fn main() -> i32 { all::f(1) }\n");
    write(&folder.0, "tests/bad.impala", "fn main() -> i32 { all::g() }\n");
    let (status, _, stderr) = nyala_in(&folder.0, &["check"]);
    assert_eq!(status, Some(1));
    assert_eq!((stderr.matches("W0002").count(), stderr.matches("E0303").count()), (1, 1), "{stderr}");
    assert_eq!(nyala_in(&folder.0, &["check", "--lib"]).0, Some(0));
    assert_eq!(nyala_in(&folder.0, &["check", "--program", "good"]).0, Some(0));
}

#[test]
fn fmt_formats_all_files_of_a_package() {
    let folder = Folder::new("fmt-package");
    write(&folder.0, "nyala.toml", "[package]\nname = \"all\"\nversion = \"0.1.0\"\n");
    write(&folder.0, "src/main.impala", "mod   m;\nuse m::{ f  ,g as h };\nfn main()->i32{f()+h()}");
    write(&folder.0, "src/m/f.impala", "fn f()->i32{1}");
    write(&folder.0, "src/m/g.impala", "fn g()->i32{1}");
    assert_eq!(nyala_in(&folder.0, &["fmt", "--check"]).0, Some(1));
    assert_eq!(prints(&folder.0, &["fmt"]), "");
    assert_eq!(prints(&folder.0, &["fmt", "--check"]), "");
    let main = fs::read_to_string(folder.0.join("src/main.impala")).expect("it was made");
    assert_eq!(main, "mod m;\nuse m::{ f, g as h };\nfn main() -> i32 { f() + h() }\n");
    assert_eq!(nyala_in(&folder.0, &["interp"]).0, Some(2));
}

// ---- Git -------------------------------------------------------------------------

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command.args(args).current_dir(folder).output().expect("git is installed");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with a package whose function `value` returns `value`; gives the commit.
fn commit_value(repository: &Path, value: i32) -> String {
    write(repository, "nyala.toml", "[package]\nname = \"values\"\nversion = \"0.1.0\"\n");
    write(repository, "src/values.impala", &format!("fn value() -> i32 {{ {value} }}\n"));
    if !repository.join(".git").exists() {
        git(repository, &["init", "--quiet"]);
    }
    git(repository, &["add", "."]);
    git(repository, &["commit", "--quiet", "--message", "a value"]);
    git(repository, &["rev-parse", "HEAD"])
}

#[test]
fn a_git_dependency_is_locked_and_cached() {
    let folder = Folder::new("git-package");
    let (values, app, cache) = (folder.0.join("values"), folder.0.join("app"), folder.0.join("cache"));
    let first = commit_value(&values, 1);
    prints(&folder.0, &["new", "app"]);
    write(&app, "src/main.impala", "fn main() -> i32 { values::value() }\n");
    let url = values.display().to_string();
    let added = nyala_with_cache(&app, &cache, &["add", "values", "--git", &url, "--rev", "main"]);
    assert_eq!(added, (Some(0), String::new(), String::new()));
    let lock = || fs::read_to_string(app.join("nyala.lock")).expect("it was written");
    assert!(lock().contains(&first), "{}", lock());
    let status = || nyala_with_cache(&app, &cache, &["interp"]).0;
    assert_eq!(status(), Some(1));

    // The branch moves; the lock does not.
    let second = commit_value(&values, 2);
    assert_eq!(status(), Some(1));
    // Without the repository, the cache is enough.
    let away = folder.0.join("away");
    fs::rename(&values, &away).expect("the temporary folder is writable");
    assert_eq!(status(), Some(1));
    fs::rename(&away, &values).expect("the temporary folder is writable");
    // Without the lock file, the branch is looked up again; without the cache, the locked commit is fetched again.
    fs::remove_file(app.join("nyala.lock")).expect("it was written");
    assert_eq!(status(), Some(2));
    assert!(lock().contains(&second), "{}", lock());
    fs::remove_dir_all(&cache).expect("it was made");
    assert_eq!(status(), Some(2));
    // An update looks it up, too.
    let third = commit_value(&values, 3);
    let updated = nyala_with_cache(&app, &cache, &["update", "values"]);
    let shown = format!("{url} main: {} -> {}\n", &second[..10], &third[..10]);
    assert_eq!(updated, (Some(0), shown, String::new()));
    assert_eq!(status(), Some(3));
    assert_eq!(nyala_with_cache(&app, &cache, &["update"]), (Some(0), String::new(), String::new()));
    let (unknown, _, stderr) = nyala_with_cache(&app, &cache, &["update", "other"]);
    assert!(unknown == Some(1) && stderr.contains("no git dependency `other`"), "{stderr}");

    let (status, _, stderr) =
        nyala_with_cache(&app, &cache, &["add", "values", "--git", &url, "--rev", "v9"]);
    assert!(status == Some(1) && stderr.contains("E0036") && stderr.contains("`v9`"), "{stderr}");
    fs::write(app.join("nyala.lock"), "<<<<<<< ours").expect("the temporary folder is writable");
    let (status, _, stderr) = nyala_with_cache(&app, &cache, &["check"]);
    assert!(status == Some(1) && stderr.contains("E0037"), "{stderr}");
}

// ---- Loose files ---------------------------------------------------------------------

#[test]
fn loose_files_use_libraries_by_name_and_by_path() {
    let folder = Folder::new("loose-libraries");
    write(
        &folder.0,
        "libs/plain/plain.impala",
        "fn plain_value() -> i32 { 3 }\npriv fn hidden() -> i32 { 4 }\n",
    );
    write(&folder.0, "libs/full/nyala.toml", "[package]\nname = \"full\"\nversion = \"0.1.0\"\n");
    write(&folder.0, "libs/full/src/a.impala", "fn full_value() -> i32 { 5 }\n");
    let by_name =
        "// A program.\n\n// uses: plain, full\n\nfn main() -> i32 { plain_value() + full::full_value() }\n";
    write(&folder.0, "by_name.impala", by_name);
    write(
        &folder.0,
        "by_path.impala",
        "// uses: ./libs/plain\nfn main() -> i32 { plain::plain_value() + plain_value() }\n",
    );
    write(&folder.0, "by_option.impala", "use full::full_value;\nfn main() -> i32 { full_value() }\n");
    write(&folder.0, "hidden.impala", "// uses: ./libs/plain\nfn main() -> i32 { hidden() }\n");
    let quiet = |status| (Some(status), String::new(), String::new());
    assert_eq!(nyala_in(&folder.0, &["interp", "by_name.impala", "--library", "libs"]), quiet(8));
    let environment = run_command(
        nyala().args(["interp", "by_name.impala"]).current_dir(&folder.0).env("NYALA_PATH", "absent:libs"),
        "",
    );
    assert_eq!(environment, quiet(8));
    assert_eq!(nyala_in(&folder.0, &["interp", "by_path.impala"]), quiet(6));
    assert_eq!(nyala_in(&folder.0, &["interp", "by_option.impala", "--library", "libs/full"]), quiet(5));
    let (status, _, stderr) = nyala_in(&folder.0, &["check", "by_name.impala"]);
    assert!(status == Some(1) && stderr.contains("E0027") && stderr.contains("`plain`"), "{stderr}");
    let (status, _, stderr) = nyala_in(&folder.0, &["check", "hidden.impala"]);
    assert!(status == Some(1) && stderr.contains("E0301"), "{stderr}");
}

#[test]
fn modules_of_loose_files_are_beside_them() {
    let folder = Folder::new("loose-modules");
    write(&folder.0, "main.impala", "mod m;\nfn main() -> i32 { m::f() + m::n::g() }\n");
    write(&folder.0, "m.impala", "mod n;\nfn f() -> i32 { 1 }\n");
    write(&folder.0, "m/n.art", "fn g() -> i32 = 2;\n");
    let quiet = (Some(3), String::new(), String::new());
    assert_eq!(nyala_in(&folder.0, &["interp", "main.impala"]), quiet);
    assert_eq!(
        nyala_in(&folder.0, &["interp", "m.impala", "main.impala"]),
        quiet,
        "a module is no other file of the program"
    );
    let (status, _, stderr) = run_command(nyala().args(["check", "-"]), "mod m;\nfn main() -> i32 { 0 }\n");
    assert!(status == Some(1) && stderr.contains("E0028"), "{stderr}");
}

// ---- Tests and documentation ---------------------------------------------------------------

const DOCUMENTED: &str = "//! Numbers.

/// Twice.
/// ```
/// print_i32(double(21) + numbers::parts::half(4));
/// ```
fn double(x: i32) -> i32 { x + internal(x) }
fn internal(x: i32) -> i32 { x }
#[test] fn doubles() -> () { assert_equal(double(2), 4) }
mod parts;
priv mod hidden;
";

const PARTS: &str = "//! Parts of numbers.

/// Half of `x`.
/// ```
/// assert_equal(parts::half(8), other::four());
/// internal(1);
/// ```
fn @(?x) half(x: i32) -> i32 { x / 2 }
";

/// A package with modules, a dependency, a list of exports, and a program that tests it from outside.
fn documented(name: &str) -> Folder {
    let folder = Folder::new(name);
    let manifest = "[package]\nname = \"numbers\"\nversion = \"1.2.3\"\ndescription = \"Numbers & parts\"\n\
                    exports = [\"double\", \"parts\"]\n[dependencies]\nother = { path = \"../other\" }\n";
    write(&folder.0, "numbers/nyala.toml", manifest);
    write(&folder.0, "numbers/src/main.impala", "fn main() -> i32 { double(1) }");
    write(&folder.0, "numbers/src/numbers.impala", DOCUMENTED);
    write(&folder.0, "numbers/src/a.impala", "/// Not exported.\nfn unseen() -> i32 { 3 }");
    write(&folder.0, "numbers/src/parts.impala", PARTS);
    write(&folder.0, "numbers/src/hidden.impala", "/// Private.\nfn secret() -> i32 { 5 }");
    write(
        &folder.0,
        "numbers/tests/outside.impala",
        "#[test] fn quarters() -> () { assert_equal(numbers::parts::half(numbers::parts::half(8)), 2) }",
    );
    write(&folder.0, "other/nyala.toml", "[package]\nname = \"other\"\nversion = \"0.1.0\"\n");
    write(
        &folder.0,
        "other/src/other.impala",
        "fn four() -> i32 { 4 }\n#[test] fn not_ours() -> () { assert(false) }",
    );
    folder
}

#[test]
fn test_runs_the_tests_of_a_package_from_inside_and_outside() {
    let folder = documented("test-package");
    let (status, stdout, stderr) =
        nyala_in(&folder.0.join("numbers"), &["test", "--jobs", "1", "--mode", "interp"]);
    for line in
        ["ok      doubles\n", "ok      quarters\n", "ok      example of double at src/numbers.impala:4\n"]
    {
        assert!(stdout.contains(line), "{stdout}{stderr}");
    }
    // Examples see what others see.
    assert!(stdout.contains("FAILED  example of half at src/parts.impala:4"), "{stdout}");
    assert!(
        stdout.contains("error[E0301]: undefined value `internal`")
            && stdout.contains("src/parts.impala:6:5"),
        "{stdout}"
    );
    assert!(status == Some(1) && !stdout.contains("not_ours"), "{stdout}");
}

#[test]
fn doc_documents_what_others_see_of_a_package() {
    let folder = documented("doc-package");
    let numbers = folder.0.join("numbers");
    write(&numbers, "src/parts.impala", &PARTS.replace("/// internal(1);\n", ""));
    assert_eq!(prints(&numbers.join("src"), &["doc"]), "wrote ../build/doc.html\n");
    let page = fs::read_to_string(numbers.join("build/doc.html")).expect("it is written");
    for part in [
        "<title>numbers</title>",
        "<p class=\"lead\">Numbers &amp; parts</p>",
        "Version 1.2.3 · uses other",
        "<h2>parts</h2>",
        "id=\"parts::half\"",
        "Specialized when <code>x</code> is known.",
        "<samp>44</samp>",
        "<p>Parts of numbers.</p>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for part in ["internal</b>", "unseen", "secret", "This example fails"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    let opened =
        run_command(nyala().args(["doc", "--open"]).current_dir(&numbers).env("BROWSER", "echo"), "");
    assert!(opened.0 == Some(0) && opened.1.ends_with("/numbers/build/doc.html\n"), "{opened:?}");
    assert_eq!(prints(&numbers, &["doc", "--of", "other"]), "wrote build/other.html\n");
    let page = fs::read_to_string(numbers.join("build/other.html")).expect("it is written");
    assert!(page.contains("<title>other</title>") && page.contains("id=\"four\""), "{page}");
    assert_eq!(prints(&folder.0, &["doc", "--of", "stencil"]), "wrote stencil.html\n");
    let (status, _, stderr) = nyala_in(&folder.0, &["doc", "--of", "stencl"]);
    assert!(status == Some(1) && stderr.contains("`stencil` has a similar name"), "{stderr}");
    let (status, _, stderr) = nyala_in(&folder.0, &["doc"]);
    assert!(status == Some(2) && stderr.contains("no source files are given"), "{stderr}");
}
