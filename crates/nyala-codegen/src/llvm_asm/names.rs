//! Names that LLVM accepts and nobody else has.

use rustc_hash::FxHashMap;

/// Gives out names, each once.
#[derive(Default)]
pub(crate) struct Names {
    /// The names given out, and how often each was asked for again.
    taken: FxHashMap<String, u32>,
}

impl Names {
    /// A name that looks like `wanted`.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        let base = plain(wanted);
        let mut name = base.clone();
        while self.taken.contains_key(&name) {
            let count = self.taken.entry(base.clone()).or_insert(0);
            *count += 1;
            name = format!("{base}.{count}");
        }
        self.taken.insert(name.clone(), 0);
        name
    }

    /// Takes a name that must stay as it is.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned(), 0);
    }
}

/// `name` with only letters, digits and `_`, not starting with a digit.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let text: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    match text.chars().next() {
        Some(first) if !first.is_ascii_digit() => text,
        _ => format!("_{text}"),
    }
}

/// A symbol of the outside as LLVM writes it: as it is if plain, else in quotes.
pub(crate) fn symbol(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-');
    if name.bytes().all(is_plain) && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("@{name}");
    }
    format!("@\"{}\"", escaped(name.as_bytes()))
}

/// Bytes as in an LLVM string.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let escape = |&byte: &u8| match byte {
        b' '..=b'~' if byte != b'"' && byte != b'\\' => char::from(byte).to_string(),
        _ => format!("\\{byte:02X}"),
    };
    bytes.iter().map(escape).collect()
}
