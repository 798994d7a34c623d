//! Identifiers that C, C++ and Rust accept.

use rustc_hash::FxHashSet;

/// Longer names are truncated.
const MAX_LEN: usize = 80;

/// A set of unique names.
#[derive(Clone, Default)]
pub(crate) struct Names {
    taken: FxHashSet<String>,
}

impl Names {
    /// Reserves a fixed name.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Reserves a fixed name, unless it is taken. Returns whether it was free.
    pub(crate) fn try_reserve(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// A unique name: `name`, or `name` with a number after it.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let name = identifier(name);
        let numbered = (2u64..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let free = free.find(|name| !self.taken.contains(name)).expect("there are more numbers than names");
        self.taken.insert(free.clone());
        free
    }
}

/// `name` as an identifier: letters, digits and underscores, and not a keyword.
pub(crate) fn identifier(name: &str) -> String {
    let letters = name.chars().take(MAX_LEN);
    let mut name: String =
        letters.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        name.insert(0, 'e');
    }
    if is_reserved(&name) {
        name.push('_');
    }
    name
}

/// Keywords of C.
#[rustfmt::skip]
const C: &[&str] = &[
    "alignas", "alignof", "auto", "bool", "break", "case", "char", "const", "constexpr", "continue",
    "default", "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline",
    "int", "long", "nullptr", "register", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "struct", "switch", "thread_local", "true", "typedef", "typeof", "typeof_unqual",
    "union", "unsigned", "void", "volatile", "while", "asm",
];

/// Keywords of C++ that C does not have.
#[rustfmt::skip]
const CPP: &[&str] = &[
    "and", "and_eq", "bitand", "bitor", "catch", "char8_t", "char16_t", "char32_t", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "consteval", "constinit", "const_cast", "decltype",
    "delete", "dynamic_cast", "explicit", "export", "friend", "import", "module", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "operator", "or", "or_eq", "private", "protected", "public",
    "reinterpret_cast", "requires", "static_cast", "template", "this", "throw", "try", "typeid", "typename",
    "using", "virtual", "wchar_t", "xor", "xor_eq",
];

/// Keywords and primitive types of Rust.
#[rustfmt::skip]
const RUST: &[&str] = &[
    "_", "abstract", "as", "async", "await", "become", "box", "crate", "dyn", "final", "fn", "gen", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "self",
    "Self", "str", "super", "trait", "type", "unsafe", "unsized", "use", "where", "yield", "f16", "f32",
    "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize",
];

/// Types and macros of compilers, of the headers that we include, and of other common headers.
/// [`is_of_integers`] recognizes integer types and their limits.
#[rustfmt::skip]
const DEFINED: &[&str] = &[
    "BUFSIZ", "EOF", "FILE", "I", "NULL", "assert", "complex", "errno", "i386", "imaginary", "linux",
    "max_align_t", "offsetof", "ptrdiff_t", "size_t", "ssize_t", "stderr", "stdin", "stdout", "unix",
    "va_arg", "va_copy", "va_end", "va_list", "va_start",
];

/// Whether a name means something in C, C++ or Rust, or in the headers that users include.
fn is_reserved(name: &str) -> bool {
    [C, CPP, RUST, DEFINED].iter().any(|words| words.contains(&name))
        || is_of_integers(name)
        || is_of_compilers(name)
}

/// `int32_t`, `uint_fast8_t`, `INT_MAX`, `UINT64_C` and the like, of `stdint.h` and `limits.h`.
fn is_of_integers(name: &str) -> bool {
    let is_type = name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"));
    let is_upper = !name.contains(|letter: char| letter.is_ascii_lowercase());
    let is_limit = ["_MAX", "_MIN", "_WIDTH", "_BIT"].iter().any(|end| name.ends_with(end));
    let is_constant = name.ends_with("_C") && (name.starts_with("INT") || name.starts_with("UINT"));
    is_type || is_upper && (is_limit || is_constant)
}

/// `__LINE__`, `_Bool` and the like.
fn is_of_compilers(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_word = bytes.len() > 2 && bytes[0] == b'_' && bytes[1].is_ascii_uppercase();
    is_word || name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_not_keywords() {
        assert_eq!(identifier("Point"), "Point");
        assert_eq!(identifier("0"), "e0");
        for reserved in ["double", "int32_t", "class", "INT_MAX", "NULL", "co_await", "_Bool", "fn", "linux"]
        {
            assert_eq!(identifier(reserved), format!("{reserved}_"));
        }
        assert_eq!(
            ["point_t", "MAX", "_x", "interval"].map(identifier),
            ["point_t", "MAX", "_x", "interval"]
        );
        assert_eq!(identifier("a.b"), "a_b");
        assert_eq!(identifier(""), "e");
        assert_eq!(identifier(&"x".repeat(1000)).len(), MAX_LEN);
    }

    #[test]
    fn names_are_unique() {
        let mut names = Names::default();
        names.reserve("area");
        assert_eq!(
            [names.unique("area"), names.unique("area"), names.unique("b")],
            ["area_2", "area_3", "b"]
        );
    }
}
