//! Identifiers that C, C++ and Rust accept.

use rustc_hash::FxHashSet;

/// Longer names are cut: they are for people.
const MAX_LEN: usize = 80;

/// Names, each given to one thing only.
#[derive(Default)]
pub(crate) struct Names {
    taken: FxHashSet<String>,
}

impl Names {
    /// Takes `name` for something that has to be called so.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// A name that nothing else has: `name`, or with a number behind it.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let name = identifier(name);
        let numbered = (2u64..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let free = free.find(|name| !self.taken.contains(name)).expect("there are more numbers than names");
        self.taken.insert(free.clone());
        free
    }
}

/// `name` as an identifier: with letters, digits and underscores only, and no keyword.
pub(crate) fn identifier(name: &str) -> String {
    let letters = name.chars().take(MAX_LEN);
    let mut name: String =
        letters.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        name.insert(0, 'e');
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Words that mean something in C, C++ or Rust, or that the headers we include define.
const KEYWORDS: &[&str] = &[
    "_",
    "alignas",
    "alignof",
    "and",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "crate",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "fn",
    "for",
    "friend",
    "gen",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "mutable",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "register",
    "restrict",
    "return",
    "self",
    "Self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typename",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "use",
    "using",
    "virtual",
    "void",
    "volatile",
    "where",
    "while",
    "xor",
    "yield",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "str",
    "usize",
    "isize",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_no_keywords() {
        assert_eq!(identifier("Point"), "Point");
        assert_eq!(identifier("0"), "e0");
        assert_eq!(identifier("double"), "double_");
        assert_eq!(identifier("a.b"), "a_b");
        assert_eq!(identifier(""), "e");
        assert_eq!(identifier(&"x".repeat(1000)).len(), MAX_LEN);
    }

    #[test]
    fn nothing_shares_its_name() {
        let mut names = Names::default();
        names.reserve("area");
        assert_eq!(
            [names.unique("area"), names.unique("area"), names.unique("b")],
            ["area_2", "area_3", "b"]
        );
    }
}
