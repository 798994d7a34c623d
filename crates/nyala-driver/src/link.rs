//! Executables and libraries: an object file and the runtime, linked by the system's C compiler.
//!
//! Temporary files are in a new folder, which is always removed. The result is the contents of a
//! file.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::archive::archive;
use crate::embedded::RUNTIME;
use crate::errors::LinkError;

/// A library on the command line: a file, or the name of a library of the system without
/// `lib`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Library {
    /// A file.
    File(PathBuf),
    /// `m` for `libm.so`.
    Named(String),
}

impl Library {
    /// A file if it exists or `name` is a path; else a name.
    pub fn new(name: &OsStr) -> Library {
        let path = Path::new(name);
        match name.to_str() {
            Some(name) if !name.contains(['/', '.']) && !path.is_file() => Library::Named(name.to_owned()),
            // Absolute, because the loader does not search the current folder.
            _ => Library::File(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
        }
    }

    /// The name for the loader of the system.
    pub fn to_load(&self) -> PathBuf {
        match self {
            Library::File(path) => path.clone(),
            Library::Named(name) => {
                format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX).into()
            }
        }
    }

    /// The arguments for the linker. When the program starts, the loader searches a shared library
    /// at its current path.
    fn to_link(&self) -> Vec<OsString> {
        match self {
            Library::Named(name) => vec![format!("-l{name}").into()],
            Library::File(path) => {
                let mut args = vec![path.clone().into_os_string()];
                if let Some(folder) = path.parent().filter(|_| path.extension() != Some(OsStr::new("a"))) {
                    args.push("-Wl,-rpath".into());
                    let mut rpath = OsString::from("-Wl,");
                    rpath.push(folder);
                    args.push(rpath);
                }
                args
            }
        }
    }
}

/// The kinds of output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Product<'a> {
    /// A program.
    Executable,
    /// A shared library that other programs find under this name.
    SharedLibrary {
        /// Its file name.
        name: &'a str,
    },
    /// A static library. It has the runtime inside, but not other libraries.
    StaticLibrary,
}

/// The input of the linker.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The object file.
    pub object: &'a [u8],
    /// The kind of output.
    pub product: Product<'a>,
    /// The visible symbols of a library. All others are hidden, so that several libraries can be part
    /// of one program, and of one that is written in Rust.
    pub exports: &'a [&'a str],
    /// The libraries that it needs.
    pub libraries: &'a [Library],
    /// Whether debug information is kept.
    pub debug: bool,
}

impl Link<'_> {
    /// The contents of the product's file.
    pub fn link(&self) -> Result<Vec<u8>, LinkError> {
        let folder = WorkFolder::new()?;
        let input = folder.file("program.o", self.object)?;
        let runtime = runtime_library(&folder)?;
        let output = folder.0.join("program");
        let mut command = linker();
        match self.product {
            Product::Executable => command.args([REMOVE_UNUSED]),
            Product::SharedLibrary { name } => {
                let mut script = OsString::from("-Wl,--version-script=");
                script.push(folder.file("exports", version_script(self.exports).as_bytes())?);
                command.args(["-shared", REMOVE_UNUSED]).arg(format!("-Wl,-soname,{name}")).arg(script)
            }
            Product::StaticLibrary => {
                // A partial link keeps what these symbols reach. Without section groups: the linker of a Rust
                // program would replace those that its own standard library has too.
                let roots = self.exports.iter().map(|symbol| format!("-Wl,-u,{symbol}"));
                command.args(["-r", "-nostdlib", "-Wl,--force-group-allocation", REMOVE_UNUSED]).args(roots)
            }
        };
        command.arg(&input).arg(runtime);
        if self.product != Product::StaticLibrary {
            command.args(self.libraries.iter().flat_map(Library::to_link)).args(SYSTEM_LIBRARIES);
        }
        execute(command.args((!self.debug).then_some(STRIP_DEBUG)).arg("-o").arg(&output))?;
        if self.product == Product::StaticLibrary {
            hide_others(&folder, &output, self.exports)?;
        }
        let contents = fs::read(&output).map_err(cannot_use(&output))?;
        Ok(if self.product == Product::StaticLibrary { archive(&contents, self.exports) } else { contents })
    }
}

/// The linker script for a library with these symbols only.
fn version_script(exports: &[&str]) -> String {
    let exports: String = exports.iter().map(|symbol| format!("\"{symbol}\"; ")).collect();
    format!("{{ global: {exports}local: *; }};")
}

/// Makes all symbols of the object file local, except for these.
fn hide_others(folder: &WorkFolder, object: &Path, exports: &[&str]) -> Result<(), LinkError> {
    let mut list = OsString::from("--keep-global-symbols=");
    list.push(folder.file("exports", exports.join("\n").as_bytes())?);
    let chosen = env::var_os("OBJCOPY").filter(|program| !program.is_empty());
    let mut command = Command::new(chosen.unwrap_or("objcopy".into()));
    // Rust's standard library contains LLVM bitcode. Tools with an older LLVM report errors for it.
    execute(command.arg(list).args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]).arg(object))
}

/// Runs a tool of the system.
fn execute(command: &mut Command) -> Result<(), LinkError> {
    let program = command.get_program().to_owned();
    let result = command.output().map_err(|error| LinkError::NoLinker { program, error })?;
    match result.status.success() {
        true => Ok(()),
        false => Err(LinkError::Failed { message: String::from_utf8_lossy(&result.stderr).into_owned() }),
    }
}

/// The error for a temporary file.
fn cannot_use(path: &Path) -> impl Fn(io::Error) -> LinkError {
    move |error| LinkError::Temporary { path: path.to_owned(), error }
}

/// Libraries of the system that programs and the runtime may need besides the C library.
const SYSTEM_LIBRARIES: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

/// Removes unreachable functions: for most programs, most of the runtime.
const REMOVE_UNUSED: &str = if cfg!(target_os = "macos") { "-Wl,-dead_strip" } else { "-Wl,--gc-sections" };

/// Removes the debug information of the runtime, which is much larger than the program.
const STRIP_DEBUG: &str = "-Wl,-S";

/// The C compiler, which knows the options of the linker: `CC`, else `cc`.
fn linker() -> Command {
    let chosen = env::var("CC").unwrap_or_default();
    let mut words = chosen.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command
}

/// The runtime as a static library: the embedded one, unless the environment names another.
fn runtime_library(folder: &WorkFolder) -> Result<PathBuf, LinkError> {
    if let Some(path) = env::var_os("NYALA_RUNTIME").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let file = if path.is_dir() { path.join(RUNTIME_FILE) } else { path };
        return if file.is_file() { Ok(file) } else { Err(LinkError::NoRuntime { searched: file }) };
    }
    folder.file(RUNTIME_FILE, RUNTIME)
}

const RUNTIME_FILE: &str = "libnyala_runtime.a";

/// A temporary folder; dropping it removes it.
struct WorkFolder(PathBuf);

impl WorkFolder {
    fn new() -> Result<WorkFolder, LinkError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("nyala-link-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // Left behind by a process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map_err(cannot_use(&path)).map(|()| WorkFolder(path)),
            }
        }
    }
}

impl WorkFolder {
    /// A new file in the folder.
    fn file(&self, name: &str, contents: &[u8]) -> Result<PathBuf, LinkError> {
        let path = self.0.join(name);
        fs::write(&path, contents).map_err(cannot_use(&path))?;
        Ok(path)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Remaining temporary files do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_scripts_hide_all_but_the_exports() {
        assert_eq!(version_script(&["fft", "plan"]), "{ global: \"fft\"; \"plan\"; local: *; };");
    }

    #[test]
    fn a_library_is_a_file_or_a_name() {
        let named = Library::new(OsStr::new("sqlite3"));
        assert_eq!(named, Library::Named("sqlite3".into()));
        assert_eq!(named.to_link(), ["-lsqlite3"]);
        assert!(named.to_load().to_string_lossy().contains("libsqlite3."));
        let file = Library::new(OsStr::new("/absent/libx.so"));
        assert_eq!(file.to_link(), ["/absent/libx.so", "-Wl,-rpath", "-Wl,/absent"]);
        assert_eq!(file.to_load(), Path::new("/absent/libx.so"));
    }
}
