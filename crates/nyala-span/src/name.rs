//! Interned identifiers.
//!
//! A [`Name`] is a small number for a string; equal strings have
//! equal numbers. The table is one per process and only grows, so a `Name` is
//! `Copy`, prints itself, and can be sent between threads. Strings live as long
//! as the process: a compiler reads far fewer distinct names than it has memory
//! for, and the lexer refuses identifiers of absurd length.

use std::cell::RefCell;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Mutex, OnceLock, RwLock};

use rustc_hash::FxHashMap;

/// An interned string. The order of two names is the order in which they were
/// first seen, so never let it reach output: sort by [`Name::as_str`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(NonZeroU32);

#[derive(Default)]
struct Table {
    by_text: Mutex<FxHashMap<&'static str, Name>>,
    texts: RwLock<Vec<&'static str>>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(Table::default)
}

thread_local! {
    /// The names that this thread has interned, so that the common case takes no lock.
    static SEEN: RefCell<FxHashMap<&'static str, Name>> = RefCell::default();
}

impl Name {
    /// The name for `text`.
    pub fn new(text: &str) -> Name {
        SEEN.with_borrow_mut(|seen| match seen.get(text) {
            Some(&name) => name,
            None => {
                let name = intern(text);
                seen.insert(name.as_str(), name);
                name
            }
        })
    }

    /// The text of this name.
    pub fn as_str(self) -> &'static str {
        let texts = table().texts.read().unwrap_or_else(|poison| poison.into_inner());
        texts[self.0.get() as usize - 1]
    }

    /// Whether this is the anonymous `_`.
    pub fn is_underscore(self) -> bool {
        self.as_str() == "_"
    }
}

fn intern(text: &str) -> Name {
    let mut by_text = table().by_text.lock().unwrap_or_else(|poison| poison.into_inner());
    if let Some(&name) = by_text.get(text) {
        return name;
    }
    let text: &'static str = Box::leak(text.into());
    let mut texts = table().texts.write().unwrap_or_else(|poison| poison.into_inner());
    texts.push(text);
    let number = u32::try_from(texts.len()).ok().and_then(NonZeroU32::new);
    let name = Name(number.expect("fewer than 2^32 distinct names fit in memory"));
    by_text.insert(text, name);
    name
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_names_in_every_thread() {
        let here = Name::new("range");
        let there = std::thread::spawn(|| Name::new("range")).join().unwrap();
        assert_eq!(here, there);
        assert_ne!(here, Name::new("unroll"));
        assert_eq!(here.as_str(), "range");
    }
}
