//! The peers: shared libraries, compiled from `bench/align` with the system's C++ compiler.

use std::ffi::{CStr, c_char};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use libloading::Library;

use super::best_time;
use super::data::{Pairs, Setting};
use crate::bench::process::succeed;
use crate::{files, python};

/// A peer.
pub struct Side {
    pub name: &'static str,
    library: Library,
}

/// Pairs, as in `peer.h`.
#[repr(C)]
struct CPairs {
    n: i32,
    queries: *const u8,
    subjects: *const u8,
    query_starts: *const i32,
    subject_starts: *const i32,
}

type Variant = unsafe extern "C" fn(i32, *const Setting, *const CPairs) -> *const c_char;
type Run = unsafe extern "C" fn(i32, *const Setting, *const CPairs, *mut i64) -> i32;

/// All peers that can be compiled.
pub fn find() -> anyhow::Result<Vec<Side>> {
    let folder = files::repository().join("target/bench/align");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut sides = vec![];
    for (name, options) in [
        ("parasail", parasail()),
        ("seqan2", words("-std=c++17 -DNDEBUG -DSEQAN_SIMD_ENABLED -fopenmp -pthread")),
        ("seqan3", [words("-std=c++20 -DNDEBUG -pthread"), sdsl()].concat()),
        ("edlib", words("-std=c++17 -ledlib")),
        ("wfa2", words("-std=c++17 -I/usr/include/wfa2lib -lwfa2 -fopenmp")),
    ] {
        match Side::compile(name, &folder, &options) {
            Ok(side) => sides.push(side),
            Err(error) => {
                let error = format!("{error:#}");
                let reason = error.lines().find(|line| line.contains("error")).unwrap_or(&error);
                eprintln!("no comparison with {name}: {reason}");
                eprintln!(
                    "  try: apt-get install g++ libparasail-dev libseqan2-dev libseqan3-dev libedlib-dev libwfa2-dev"
                );
            }
        }
    }
    Ok(sides)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The library of the Python package, which is newer than Debian's, with Debian's headers.
fn parasail() -> Vec<String> {
    let place = "import parasail, os; print(os.path.dirname(parasail.__file__), end='')";
    let python = python::environment("parasail", &["parasail"], "import parasail");
    let folder = python.and_then(|python| Command::new(python).args(["-c", place]).output().ok());
    let folder = folder.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let library = folder.filter(|folder| Path::new(folder).join("libparasail.so").exists());
    let link =
        library.map(|folder| [format!("{folder}/libparasail.so"), format!("-Wl,-rpath,{folder}")].to_vec());
    [words("-std=c++17"), link.unwrap_or_else(|| words("-lparasail"))].concat()
}

/// Debian keeps the SDSL that SeqAn 3 needs among the headers of SeqAn 3.
fn sdsl() -> Vec<String> {
    let list = Command::new("dpkg").args(["-L", "libseqan3-dev"]).output();
    let list = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let folder = list.lines().find_map(|line| line.strip_suffix("/sdsl/sdsl_concepts.hpp"));
    folder.map(|folder| format!("-I{folder}")).into_iter().collect()
}

impl Side {
    fn compile(name: &'static str, folder: &Path, options: &[String]) -> anyhow::Result<Side> {
        let source = files::repository().join("bench/align").join(name).with_extension("cpp");
        let path: PathBuf = folder.join(name).with_extension("so");
        let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if changed(&path) < changed(&source) {
            eprintln!("compiling {name}, which may take minutes");
            let mut command = Command::new(std::env::var_os("CXX").unwrap_or("g++".into()));
            command.args(["-O3", "-march=native", "-w", "-shared", "-fPIC", "-o"]).arg(&path).arg(&source);
            succeed(command.args(options))?;
        }
        // SAFETY: the library was compiled from our sources.
        let library =
            unsafe { Library::new(&path) }.with_context(|| format!("cannot load {}", path.display()))?;
        Ok(Side { name, library })
    }

    /// The best variant whose sum is right, and its time.
    pub fn best(
        &self,
        setting: &Setting,
        pairs: &Pairs,
        sum: i64,
        quick: bool,
    ) -> anyhow::Result<Option<(String, f64)>> {
        let c_pairs = CPairs {
            n: pairs.len() as i32,
            queries: pairs.queries.as_ptr(),
            subjects: pairs.subjects.as_ptr(),
            query_starts: pairs.query_starts.as_ptr(),
            subject_starts: pairs.subject_starts.as_ptr(),
        };
        // SAFETY: the functions have these types in `peer.h`.
        let (variant, run) = unsafe {
            let variant: Variant = *self.library.get(b"variant")?;
            let run: Run = *self.library.get(b"run")?;
            (variant, run)
        };
        let mut best: Option<(String, f64)> = None;
        for index in 0.. {
            // SAFETY: the arguments are valid; the name is a string constant.
            let name = unsafe {
                let name = variant(index, setting, &c_pairs);
                if name.is_null() {
                    break;
                }
                CStr::from_ptr(name).to_string_lossy().into_owned()
            };
            let call = || {
                let mut found = 0;
                // SAFETY: the arguments are valid.
                let status = unsafe { run(index, setting, &c_pairs, &mut found) };
                Ok(if status == 0 { found } else { i64::MIN })
            };
            let found = call()?;
            if found != sum {
                let what = if found == i64::MIN {
                    "its scores do not fit".to_owned()
                } else {
                    format!("its sum is {found}, not {sum}")
                };
                let mode = ["global", "semiglobal", "local"][setting.mode as usize];
                eprintln!("{} ({name}), {mode}, gaps {} {}: {what}", self.name, setting.first, setting.next);
                continue;
            }
            let (seconds, _, _) = best_time(quick, call)?;
            if best.as_ref().is_none_or(|(_, least)| seconds < *least) {
                best = Some((name, seconds));
            }
        }
        Ok(best)
    }
}
