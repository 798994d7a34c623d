//! Names for the profiler `perf`, for code without a file.
//!
//! `perf` reads `perf-PID.map` in the folder for temporary files: a line for each function, with its
//! address, its size and its name.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use nyala_codegen::llvm::functions::FunctionInObject;

use crate::errors::LinkError;

/// Writes the functions that were loaded with `known`, which is at this address.
pub(crate) fn write(functions: &[FunctionInObject], known: &str, at: u64) -> Result<(), LinkError> {
    let path = std::env::temp_dir().join(format!("perf-{}.map", std::process::id()));
    let result = write_new(&path, &lines(functions, known, at));
    result.map_err(|error| LinkError::NoPerfMap { path, error })
}

/// A file of an earlier process with this number is replaced, not written to: it may be a link.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(text.as_bytes())
}

/// Functions of other sections are omitted: their addresses are unknown.
fn lines(functions: &[FunctionInObject], known: &str, at: u64) -> String {
    let mut lines = String::new();
    let Some(known) = functions.iter().find(|function| function.name == known) else { return lines };
    let start = at.wrapping_sub(known.offset);
    for FunctionInObject { name, offset, size, .. } in
        functions.iter().filter(|function| function.section == known.section)
    {
        let address = start.wrapping_add(*offset);
        let _ = writeln!(lines, "{address:x} {size:x} {name}");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_a_known_function() {
        let function = |name: &str, section: &str, offset, size| FunctionInObject {
            name: name.into(),
            section: section.into(),
            offset,
            size,
        };
        let functions = [
            function("work", ".text", 0, 32),
            function("main", ".text", 0x40, 8),
            function("rare", ".text.unlikely.", 0, 4),
        ];
        assert_eq!(lines(&functions, "main", 0x7f40), "7f00 20 work\n7f40 8 main\n");
        assert_eq!(lines(&functions, "missing", 0x7f40), "");
    }
}
