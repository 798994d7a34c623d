//! Names that a target accepts, each given out once.

use nyala_ir::{Cont, Linkage, World};
use rustc_hash::FxHashMap;

/// Gives out names, each once.
pub(crate) struct Names {
    /// What stands between a name and the number that makes it unique.
    separator: char,
    /// The names given out, with the number of further requests for each.
    taken: FxHashMap<String, u32>,
}

impl Names {
    /// No name is taken yet.
    pub(crate) fn new(separator: char) -> Names {
        Names { separator, taken: FxHashMap::default() }
    }

    /// A name that looks like `wanted`.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        let base = plain(wanted);
        let mut name = base.clone();
        while self.taken.contains_key(&name) {
            let count = self.taken.entry(base.clone()).or_insert(0);
            *count += 1;
            name = format!("{base}{}{count}", self.separator);
        }
        self.taken.insert(name.clone(), 0);
        name
    }

    /// Takes a name that must stay as it is.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned(), 0);
    }

    /// Takes the names under which the outside knows functions and globals.
    pub(crate) fn reserve_linked(&mut self, world: &World) {
        let functions = world.conts().map(|(_, data)| &data.linkage);
        for linkage in functions.chain(world.globals().map(|(_, data)| &data.linkage)) {
            if let Linkage::Exported(name) | Linkage::Imported(name) | Linkage::Device(name) = linkage {
                self.reserve(name.as_str());
            }
        }
    }
}

/// The symbols of the functions of a program. A function has one from the first mention on, so calls of it may be
/// written before it is.
#[derive(Default)]
pub(crate) struct FunctionSymbols {
    symbols: FxHashMap<Cont, String>,
}

impl FunctionSymbols {
    /// The symbol of a function, made by `name` at the first mention.
    pub(crate) fn get_or_insert(&mut self, cont: Cont, name: impl FnOnce() -> String) -> String {
        self.symbols.entry(cont).or_insert_with(name).clone()
    }

    /// The symbol of a function that has been mentioned.
    pub(crate) fn get(&self, cont: Cont) -> Option<&str> {
        self.symbols.get(&cont).map(String::as_str)
    }

    /// All symbols, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.symbols.values().map(String::as_str)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_unique() {
        let mut names = Names::new('_');
        let wanted = ["x", "x_1", "x", "x"];
        assert_eq!(wanted.map(|name| names.unique(name)), ["x", "x_1", "x_2", "x_3"]);
    }

    #[test]
    fn letters_that_targets_reject_are_replaced() {
        let mut names = Names::new('.');
        assert_eq!(["é", "1st", "a-b"].map(|name| names.unique(name)), ["_", "_1st", "a_b"]);
    }
}
