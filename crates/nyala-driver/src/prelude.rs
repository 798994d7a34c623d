//! The part of the prelude that a program needs.
//!
//! A program mentions few names of the prelude. [`select`] finds the items of these names and all items that those
//! mention in turn; only they are parsed and checked. So the size of the prelude costs a small program nothing. The
//! build script lists the items of each file with the names that they mention (see [`nyala_syntax::outline`]).
//!
//! # Invariants
//!
//! * A program means the same with the whole prelude. A name may be mentioned with another meaning, as a local
//!   variable or a field. Then an item is superfluous, which does no harm.
//! * Items that matter without being named are part of every program.

use std::ops::Range;

use nyala_span::Name;
use nyala_syntax::ast::Dialect;

use crate::embedded::PRELUDE_NAMES;

/// A file of the prelude.
#[derive(Debug)]
pub(crate) struct PreludeFile {
    /// The name without extension.
    pub stem: &'static str,
    pub text: &'static str,
    pub dialect: Dialect,
    /// The items, in order.
    pub items: &'static [PreludeItem],
    /// Where each `extern` block opens and closes, as bytes of the text.
    pub blocks: &'static [[(u32, u32); 2]],
}

/// An item of a file of the prelude.
#[derive(Debug)]
pub(crate) struct PreludeItem {
    /// The number of its name in [`PRELUDE_NAMES`]; none if it is part of every program.
    pub name: Option<u16>,
    /// The number of its link name.
    pub link_name: Option<u16>,
    /// Its text, as bytes of the file.
    pub text: (u32, u32),
    /// The number of the `extern` block around it.
    pub block: Option<u16>,
    /// The numbers of the names of the prelude that it mentions.
    pub mentions: &'static [u16],
}

/// The pieces of each file that a program with these names and link names needs.
///
/// The checker compares all declarations of a link name, so an item is needed if the program has its link name.
pub(crate) fn select(
    files: &[&'static PreludeFile],
    names: impl IntoIterator<Item = Name>,
) -> Vec<Vec<Range<usize>>> {
    let mut is_mentioned = vec![false; PRELUDE_NAMES.len()];
    for number in names.into_iter().filter_map(|name| PRELUDE_NAMES.binary_search(&name.as_str()).ok()) {
        is_mentioned[number] = true;
    }
    let is_mentioned = |number: Option<u16>| number.is_some_and(|number| is_mentioned[usize::from(number)]);
    let mut items: Vec<Option<&PreludeItem>> = vec![None; PRELUDE_NAMES.len()];
    let mut open: Vec<u16> = vec![];
    for item in files.iter().flat_map(|file| file.items) {
        match item.name {
            Some(name) => {
                items[usize::from(name)] = Some(item);
                let is_root = is_mentioned(item.name) || is_mentioned(item.link_name);
                open.extend(is_root.then_some(name));
            }
            None => open.extend(item.mentions),
        }
    }
    let mut is_needed = vec![false; PRELUDE_NAMES.len()];
    while let Some(name) = open.pop() {
        if !std::mem::replace(&mut is_needed[usize::from(name)], true)
            && let Some(item) = items[usize::from(name)]
        {
            open.extend(item.mentions);
        }
    }
    let is_selected = |item: &PreludeItem| item.name.is_none_or(|name| is_needed[usize::from(name)]);
    files.iter().map(|file| pieces(file, is_selected)).collect()
}

/// The texts of the selected items of a file, with their `extern` blocks.
fn pieces(file: &PreludeFile, is_selected: impl Fn(&PreludeItem) -> bool) -> Vec<Range<usize>> {
    let mut pieces = vec![];
    let mut block = None;
    let close = |block: Option<u16>| block.map(|block| file.blocks[usize::from(block)][1]);
    for item in file.items.iter().filter(|item| is_selected(item)) {
        if item.block != block {
            pieces.extend(close(block));
            pieces.extend(item.block.map(|block| file.blocks[usize::from(block)][0]));
            block = item.block;
        }
        pieces.push(item.text);
    }
    pieces.extend(close(block));
    pieces.into_iter().map(|(from, to)| from as usize..to as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edition, Options, Session, pipeline};

    /// The names of the selected functions and structs, for a program with these names.
    fn selected(names: &[&str]) -> Vec<&'static str> {
        let files: Vec<&PreludeFile> = Edition::Default.files().map(|(_, file)| file).collect();
        let pieces = select(&files, names.iter().map(|name| Name::new(name)));
        let mut found = vec![];
        for (file, pieces) in files.iter().zip(pieces) {
            let is_piece =
                |item: &&PreludeItem| pieces.iter().any(|piece| piece.start == item.text.0 as usize);
            let names = file.items.iter().filter(is_piece).filter_map(|item| item.name);
            found.extend(names.map(|name| PRELUDE_NAMES[usize::from(name)]));
        }
        found
    }

    #[test]
    fn a_mentioned_item_comes_with_the_items_that_it_mentions() {
        assert_eq!(selected(&[]), [""; 0]);
        assert_eq!(selected(&["range", "no_name_of_the_prelude"]), ["unroll_step", "range"]);
        assert_eq!(selected(&["anydsl_print_i32"]), ["print_i32"]);
        assert_eq!(selected(&["alloc_cpu"]), ["BufferSize", "Buffer", "alloc", "alloc_cpu", "runtime_alloc"]);
    }

    #[test]
    fn names_are_suggested_from_the_whole_prelude() {
        let mut session = Session::new(Options::default());
        session.add_text("main.impala", "fn main() -> () { print_i33(1) }");
        assert!(pipeline::check(&mut session).is_none());
        let report = crate::Report::new(session.diagnostics.clone()).human(&session.sources, false);
        assert!(report.contains("`print_i32`"), "{report}");
    }
}
