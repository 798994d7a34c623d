//! Compiled kernels and programs on disk, so that they start faster the next time.
//!
//! The name of an entry is a hash of its input: the device with its driver or the processor with its compiler, the
//! code, and the version of this library. An entry starts with a checksum; an entry with a wrong checksum is
//! ignored. Entries are written under a temporary name and renamed, so that no reader sees a part of one. A failure
//! is not an error: the code is compiled again.
//!
//! The environment variable `NYALA_CACHE` sets the folder, or turns the cache `off`. The default is `nyala` in the
//! user's folder for caches.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// The input of an entry.
#[derive(Debug)]
pub struct Key {
    name: String,
}

/// The first bytes of every entry.
const MAGIC: &[u8; 8] = b"nyala001";

impl Key {
    /// For code that is compiled for a target: a device and its driver, or a processor and its compiler.
    pub fn new(target: &str, code: &[u8]) -> Key {
        let version = env!("CARGO_PKG_VERSION");
        let target = hash(format!("{version} {target}").as_bytes());
        Key { name: format!("{target:032x}-{:032x}.bin", hash(code)) }
    }
}

/// The entry for a key, if there is a valid one.
pub fn read(key: &Key) -> Option<Vec<u8>> {
    read_from(&folder()?, key)
}

/// Writes an entry.
pub fn write(key: &Key, binary: &[u8]) {
    if let Some(folder) = folder() {
        write_to(&folder, key, binary);
    }
}

fn read_from(folder: &Path, key: &Key) -> Option<Vec<u8>> {
    let contents = fs::read(folder.join(&key.name)).ok()?;
    let rest = contents.strip_prefix(MAGIC)?;
    let (sum, binary) = rest.split_first_chunk::<16>()?;
    (u128::from_le_bytes(*sum) == hash(binary)).then(|| binary.to_vec())
}

fn write_to(folder: &Path, key: &Key, binary: &[u8]) {
    /// Threads of one process may write the same entry.
    static N_DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = N_DRAFTS.fetch_add(1, Ordering::Relaxed);
    let contents = [&MAGIC[..], &hash(binary).to_le_bytes(), binary].concat();
    let draft = folder.join(format!("{}.{}.{number}", key.name, process::id()));
    // After a failure there is no entry.
    let _ = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&draft, contents))
        .and_then(|()| fs::rename(&draft, folder.join(&key.name)))
        .map_err(|_| fs::remove_file(&draft));
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    match set("NYALA_CACHE") {
        Some(value) if value == "off" => None,
        Some(value) => Some(value.into()),
        None => {
            let caches = set("XDG_CACHE_HOME").map(PathBuf::from);
            Some(caches.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?.join("nyala"))
        }
    }
}

/// 128 bits that depend on all bytes (FNV-1a).
pub(super) fn hash(bytes: &[u8]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(START, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary_folder(name: &str) -> PathBuf {
        env::temp_dir().join(format!("nyala-cache-{name}-{}", process::id()))
    }

    #[test]
    fn entries_are_read_unless_they_are_damaged() {
        let folder = temporary_folder("damaged");
        let read = |key: &Key| read_from(&folder, key);
        let key = Key::new("device", b"code");
        assert_eq!(read(&key), None);
        write_to(&folder, &key, b"binary");
        assert_eq!(read(&key).as_deref(), Some(&b"binary"[..]));
        assert_eq!(read(&Key::new("other device", b"code")), None);
        assert_eq!(read(&Key::new("device", b"other code")), None);
        let path = folder.join(&key.name);
        let mut contents = fs::read(&path).expect("it was written");
        *contents.last_mut().expect("it is not empty") ^= 1;
        fs::write(&path, contents).expect("the folder can be written to");
        assert_eq!(read(&key), None);
        write_to(&folder, &key, b"binary");
        assert!(read(&key).is_some());
        fs::remove_dir_all(&folder).expect("it was made here");
    }

    #[test]
    fn threads_that_write_one_entry_read_all_of_it() {
        let (folder, key) = (temporary_folder("threads"), Key::new("device", b"code"));
        let binary = vec![7; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        write_to(&folder, &key, &binary);
                        assert!(read_from(&folder, &key).is_some_and(|found| found == binary));
                    }
                });
            }
        });
        fs::remove_dir_all(&folder).expect("it was made here");
    }

    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
