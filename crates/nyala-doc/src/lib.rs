//! Documentation of source files: comments and declarations in, a page out.
//!
//! Read in this order: `items` finds what is documented; `filters` describes filters in words; `markdown` turns
//! comments into HTML; `highlight` colours code; `page` is the page, and `book` the same as a chapter of a book.
//!
//! # Invariants
//!
//! * A page is one file that refers to no other one, and all text from sources is escaped.
//! * Every text gives a page: files with errors too.
//!
//! ```
//! use nyala_doc::{Outcomes, SourceText, document};
//!
//! let mut sources = nyala_span::SourceMap::default();
//! let id = sources.add("power.impala", "/// `x` to the power of `n`.\nfn @(?n) power(x: i32, n: i32) -> i32 { 1 }")?;
//! let ast = nyala_syntax::parse(sources.file(id)).file;
//! let document = document("powers", &[SourceText { ast: &ast, source: sources.file(id), module: "" }]);
//! let page = document.html(&Outcomes::new());
//! assert!(page.contains("Specialized when <code>n</code> is known."));
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

mod book;
mod filters;
mod highlight;
mod items;
mod markdown;
mod page;

use std::collections::BTreeMap;

use nyala_span::SourceFile;
use nyala_syntax::ast;
use nyala_syntax::docs::Example;

use items::{Names, Section};

/// A file to document.
#[derive(Clone, Copy)]
pub struct SourceText<'a> {
    /// Its tree.
    pub ast: &'a ast::File,
    /// Its text.
    pub source: &'a SourceFile,
    /// The module that it belongs to, with those around it; empty for the root module.
    pub module: &'a str,
}

/// What a package says about itself.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct About {
    /// What it is for.
    pub description: String,
    /// Its version, edition and dependencies, in words.
    pub facts: Vec<String>,
    /// The names of the root module that others see; all if there is no list.
    pub exports: Option<Vec<String>>,
}

/// What running an example showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its output.
    Output(String),
    /// A message: it has errors.
    Failure(String),
}

/// What the examples showed, by the position of their opening fences.
pub type Outcomes = BTreeMap<u32, Outcome>;

/// What is known about documented files.
pub struct Document<'a> {
    title: String,
    about: About,
    sections: Vec<Section<'a>>,
}

/// Finds what is documented in files.
pub fn document<'a>(title: &str, files: &[SourceText<'a>]) -> Document<'a> {
    let mut names = Names::default();
    let sections = files.iter().map(|&file| items::section(file, &mut names)).collect();
    Document { title: title.to_owned(), about: About::default(), sections }
}

impl<'a> Document<'a> {
    /// The document of a package: what it says about itself, and what others see of it.
    pub fn about(mut self, about: About) -> Document<'a> {
        if let Some(exports) = &about.exports {
            let is_seen = |path: &str| exports.iter().any(|name| path.split("::").next() == Some(name));
            for section in &mut self.sections {
                section.entries.retain(|entry| is_seen(&entry.path));
            }
        }
        self.sections.retain(|section| !section.entries.is_empty() || !section.docs.is_empty());
        Document { about, ..self }
    }

    /// The examples, with the files that they are in.
    pub fn examples(&self) -> impl Iterator<Item = (&'a SourceFile, Example<'_, 'a>)> {
        self.sections.iter().flat_map(|section| {
            let of_entries = section.entries.iter().flat_map(|entry| {
                std::iter::once(&entry.docs).chain(entry.members.iter().map(|member| &member.docs))
            });
            let docs = std::iter::once(&section.docs).chain(of_entries);
            docs.flat_map(|docs| docs.examples()).map(|example| (section.source, example))
        })
    }

    /// As a page of its own.
    pub fn html(&self, outcomes: &Outcomes) -> String {
        page::page(&self.title, &self.about, &self.sections, outcomes)
    }

    /// As a chapter of a book, in Markdown.
    pub fn chapter(&self) -> String {
        book::chapter(&self.title, &self.sections)
    }
}
