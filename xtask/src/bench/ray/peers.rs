//! Embree 3 (a package of Debian) and Embree 4 (a Python package), as shared libraries compiled from `bench/ray`.

use std::ffi::{CStr, c_char, c_void};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use libloading::Library;

use super::scenes::{Hit, Ray, Scene};
use super::{best_time, median_time};
use crate::bench::process::succeed;
use crate::{files, python};

/// A version of Embree.
pub struct Side {
    name: &'static str,
    library: Library,
}

/// A scene in it, at both qualities.
pub struct Built<'a> {
    pub name: &'static str,
    side: &'a Side,
    scenes: [*mut c_void; 2],
    /// At medium quality: the median of several.
    pub seconds: f64,
    pub bytes: i64,
}

type Variant = unsafe extern "C" fn(i32) -> *const c_char;
type Make = unsafe extern "C" fn(*const f32, i64, *const u32, i64, i32, *mut i64) -> *mut c_void;
type Drop_ = unsafe extern "C" fn(*mut c_void);
type Trace = unsafe extern "C" fn(*mut c_void, i32, i32, i32, i32, *const Ray, *mut Hit);

/// All versions that can be compiled.
pub fn find() -> anyhow::Result<Vec<Side>> {
    let folder = files::repository().join("target/bench/ray");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut sides = vec![];
    for (name, version, options) in
        [("Embree 3", "3", vec!["-lembree3".to_owned()]), ("Embree 4", "4", embree4())]
    {
        match Side::compile(name, version, &folder, &options) {
            Ok(side) => sides.push(side),
            Err(error) => {
                let error = format!("{error:#}");
                let reason = error.lines().find(|line| line.contains("error")).unwrap_or(&error);
                eprintln!("no comparison with {name}: {reason}");
                eprintln!("  try: apt-get install g++ libembree-dev, pip install embreex");
            }
        }
    }
    Ok(sides)
}

/// The library of the Python package.
fn embree4() -> Vec<String> {
    let place = "import embreex, os; print(os.path.dirname(os.path.dirname(embreex.__file__)) + '/embreex.libs', end='')";
    let python = python::environment("embree", &["numpy", "embreex"], "import embreex");
    let folder = python.and_then(|python| Command::new(python).args(["-c", place]).output().ok());
    let folder =
        folder.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_embree = |path: &Path| path.to_string_lossy().contains("libembree4");
    match files.into_iter().find(|path| is_embree(path)) {
        Some(library) => vec![library.display().to_string(), format!("-Wl,-rpath,{folder}")],
        None => vec!["-lembree4".to_owned()],
    }
}

impl Side {
    fn compile(name: &'static str, version: &str, folder: &Path, options: &[String]) -> anyhow::Result<Side> {
        let source = files::repository().join("bench/ray/embree.cpp");
        let path = folder.join(format!("embree{version}.so"));
        let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if changed(&path) < changed(&source) {
            let mut command = Command::new(std::env::var_os("CXX").unwrap_or("g++".into()));
            command.args(["-O3", "-march=native", "-w", "-shared", "-fPIC", "-std=c++17"]);
            command.arg(format!("-DEMBREE={version}")).arg("-o").arg(&path).arg(&source);
            succeed(command.args(options))?;
        }
        // SAFETY: the library was compiled from our source.
        let library =
            unsafe { Library::new(&path) }.with_context(|| format!("cannot load {}", path.display()))?;
        Ok(Side { name, library })
    }

    pub fn build(&self, scene: &Scene) -> Built<'_> {
        let mut bytes = 0;
        let mut make = |is_high: i32| {
            // SAFETY: the function has this type, and corners of triangles are indices of vertices.
            unsafe {
                let make = self.library.get::<Make>(b"make").expect("the source defines it");
                make(
                    scene.vertices.as_ptr().cast(),
                    scene.vertices.len() as i64,
                    scene.triangles.as_ptr().cast(),
                    scene.triangles.len() as i64,
                    is_high,
                    &mut bytes,
                )
            }
        };
        let high = make(1);
        let (medium, seconds) = median_time(|| make(0), |scene| self.release(scene));
        Built { name: self.name, side: self, scenes: [medium, high], seconds, bytes }
    }

    fn release(&self, scene: *mut c_void) {
        // SAFETY: the function has this type, and scenes are released once.
        unsafe { self.library.get::<Drop_>(b"drop").expect("the source defines it")(scene) };
    }
}

impl Built<'_> {
    /// The processor time of each variant; the hits are those of the last one.
    pub fn measure(
        &self,
        rays: &[Ray],
        any: bool,
        is_coherent: bool,
        hits: &mut [Hit],
        quick: bool,
    ) -> Vec<(String, f64)> {
        let library = &self.side.library;
        // SAFETY: the functions have these types.
        let (variant, trace) = unsafe {
            (
                *library.get::<Variant>(b"variant").expect("the source defines it"),
                *library.get::<Trace>(b"trace").expect("the source defines it"),
            )
        };
        let mut times = vec![];
        let mut least = f64::INFINITY;
        for (is_high, quality) in [(0, ""), (1, ", high quality")] {
            for (flag, hint) in [(0, ""), (1, ", coherent")] {
                if flag == 1 && !is_coherent {
                    continue;
                }
                for index in 0.. {
                    // SAFETY: the name is a string constant or null.
                    let name = unsafe {
                        let name = variant(index);
                        if name.is_null() {
                            break;
                        }
                        CStr::from_ptr(name).to_string_lossy().into_owned()
                    };
                    let run = || {
                        // SAFETY: there is a hit for each ray.
                        unsafe {
                            trace(
                                self.scenes[is_high],
                                index,
                                flag,
                                i32::from(any),
                                rays.len() as i32,
                                rays.as_ptr(),
                                hits.as_mut_ptr(),
                            );
                        }
                    };
                    let (seconds, _) = best_time(quick, least, run);
                    least = least.min(seconds);
                    times.push((format!("{name}{hint}{quality}"), seconds));
                }
            }
        }
        times
    }
}

impl Drop for Built<'_> {
    fn drop(&mut self) {
        for scene in self.scenes {
            self.side.release(scene);
        }
    }
}
