//! NVIDIA's library of mathematical functions, `libdevice`, where it is installed.
//!
//! It comes with the CUDA toolkit, and with packages for Python. The environment variable
//! `NYALA_LIBDEVICE` is its path, or `off`. Otherwise the search covers the toolkits of
//! `CUDA_HOME`, `CUDA_PATH` and `PATH`, and the usual places of
//! toolkits. Without it, the functions of `nyala_codegen::vector_math` are used.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use nyala_codegen::CodegenError;
use nyala_codegen::llvm::LlvmError;

/// The prefix of its functions.
pub(crate) const PREFIX: &str = "__nv_";

/// Its path in a toolkit.
const IN_TOOLKIT: &str = "nvvm/libdevice/libdevice.10.bc";

/// The usual places of toolkits.
const TOOLKITS: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"];

/// The library as bitcode, if it is installed. A named file that cannot be read is an error.
pub(crate) fn find() -> Result<Option<Vec<u8>>, Vec<CodegenError>> {
    match env::var_os("NYALA_LIBDEVICE").filter(|named| !named.is_empty()) {
        Some(named) if named == "off" => Ok(None),
        Some(named) => match fs::read(&named) {
            Ok(bitcode) => Ok(Some(bitcode)),
            Err(error) => {
                let path = Path::new(&named).display();
                let message = format!("NYALA_LIBDEVICE: cannot read `{path}`: {error}");
                Err(vec![CodegenError::Llvm(LlvmError::Link(message))])
            }
        },
        None => Ok(toolkits().into_iter().find_map(|toolkit| fs::read(toolkit.join(IN_TOOLKIT)).ok())),
    }
}

/// The folders that may be toolkits.
fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let programs = env::split_paths(&path).filter(|folder| folder.join("ptxas").exists());
    let beside: Vec<PathBuf> = programs.filter_map(|folder| Some(folder.parent()?.to_owned())).collect();
    named.chain(beside).chain(TOOLKITS.into_iter().map(PathBuf::from)).collect()
}
