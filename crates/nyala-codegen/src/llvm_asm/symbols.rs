//! Symbols and strings as LLVM writes them.

/// A symbol of the outside: as it is if plain, else in quotes.
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
