//! A document as a chapter of a book, in Markdown.

use std::fmt::Write as _;

use crate::items::{Entry, Section, groups};

/// The first line says where the text comes from.
const GENERATED: &str = "<!-- Generated from the sources; do not edit. -->";

/// The chapter: a part for each file, with the comments and the declarations under them.
pub(crate) fn chapter(title: &str, sections: &[Section<'_>]) -> String {
    let mut out = format!("{GENERATED}\n\n# {title}\n");
    for section in sections {
        put(&mut out, format_args!("\n## `{}`\n", section.name));
        if !section.docs.is_empty() {
            put(&mut out, format_args!("\n{}", section.docs.text()));
        }
        for group in groups(&section.entries) {
            self::group(group, &mut out);
        }
    }
    out
}

fn group(entries: &[Entry<'_>], out: &mut String) {
    // A declaration is no program of its own, which the second word says.
    out.push_str("\n```impala,signature\n");
    entries.iter().for_each(|entry| put(out, format_args!("{}\n", entry.signature)));
    out.push_str("```\n");
    let docs = entries.iter().filter(|entry| !entry.docs.is_empty());
    docs.for_each(|entry| put(out, format_args!("\n{}", entry.docs.text())));
    for entry in entries {
        for member in &entry.members {
            put(out, format_args!("\n- `{}`: {}", member.name, member.docs.text()));
        }
    }
    filters(entries, out);
}

/// When the functions are specialized. What holds for all of them is said once.
fn filters(entries: &[Entry<'_>], out: &mut String) {
    let first = &entries[0].filters;
    if entries.iter().all(|entry| entry.filters == *first) {
        if !first.is_empty() {
            put(out, format_args!("\n{}\n", first.join(" ")));
        }
        return;
    }
    out.push('\n');
    for entry in entries.iter().filter(|entry| !entry.filters.is_empty()) {
        put(out, format_args!("- `{}`: {}\n", entry.path, entry.filters.join(" ")));
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all text");
}
