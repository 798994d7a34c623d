//! Names in the text form: how they are written, and how they become unique.

use std::fmt::{self, Display, Write};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::types::Prim;

/// The name of a value as the text form writes it: in backquotes if it is no
/// identifier or would be read as a literal.
pub struct Ident<'a>(pub &'a str);

/// The name of a struct or enum as the text form writes it.
pub struct TypeIdent<'a>(pub &'a str);

impl Display for Ident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0, is_plain(self.0) && !matches!(self.0, "true" | "false"))
    }
}

impl Display for TypeIdent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reserved = matches!(self.0, "mem" | "cn" | "simd") || prim_from_name(self.0).is_some();
        write_quoted(f, self.0, is_plain(self.0) && !reserved)
    }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, name: &str, plain: bool) -> fmt::Result {
    if plain {
        return f.write_str(name);
    }
    f.write_char('`')?;
    for c in name.chars() {
        f.write_char(if is_quotable(c) { c } else { '_' })?;
    }
    f.write_char('`')
}

/// Characters that need no escape between backquotes.
fn is_quotable(c: char) -> bool {
    c != '`' && !c.is_control()
}

fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_ident_start) && bytes.all(is_ident_continue)
}

pub(super) fn is_ident_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$'
}

pub(super) fn is_ident_continue(byte: u8) -> bool {
    is_ident_start(byte) || byte.is_ascii_digit()
}

pub(super) fn prim_from_name(name: &str) -> Option<Prim> {
    Prim::ALL.into_iter().find(|prim| prim.name() == name)
}

/// A space of names: gives out each name once.
///
/// A name that is free is given as it is. So text whose names are all different
/// keeps them, whatever they look like; this is why printing is stable.
#[derive(Default)]
pub(super) struct NameSpace {
    taken: FxHashSet<String>,
    next: FxHashMap<String, u32>,
}

impl NameSpace {
    /// `wanted`, or if that is taken, its stem with the first free number.
    pub fn unique(&mut self, wanted: &str) -> String {
        let wanted: String = wanted.chars().map(|c| if is_quotable(c) { c } else { '_' }).collect();
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let stem = stem(&wanted);
        let next = self.next.entry(stem.to_owned()).or_insert(1);
        loop {
            let name = format!("{stem}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// The first free `d0`, `d1`, ..
    pub fn numbered(&mut self) -> String {
        let next = self.next.entry(String::new()).or_insert(0);
        loop {
            let name = format!("d{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Whether `name` was given out.
    pub fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

/// Whether the printer makes such names up by itself.
pub(super) fn is_numbered(name: &str) -> bool {
    name.strip_prefix('d').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// `name` without a trailing `_123`.
fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('_') {
        Some(stem) if stem.len() + 1 < name.len() && !stem.is_empty() => stem,
        _ => name,
    }
}
