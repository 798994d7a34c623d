//! A document as a page: one file with its style and its search, without anything from elsewhere.

use std::fmt::Write as _;

use nyala_syntax::docs::Docs;

use crate::highlight::{Links, code, escape, link};
use crate::items::{Entry, Section, groups};
use crate::markdown::Context;
use crate::{About, Outcomes};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/search.js");

pub(crate) fn page(title: &str, about: &About, sections: &[Section<'_>], outcomes: &Outcomes) -> String {
    let mut links = Links::new();
    for entry in sections.iter().flat_map(|section| &section.entries) {
        let name = entry.path.rsplit("::").next().unwrap_or(&entry.path);
        links.entry(name.to_owned()).or_insert_with(|| entry.anchor.clone());
    }
    let context = Context { links: &links, outcomes };
    let mut page = Page { context, out: String::new() };
    page.write(title, about, sections);
    page.out
}

struct Page<'a> {
    context: Context<'a>,
    out: String,
}

impl Page<'_> {
    fn write(&mut self, title: &str, about: &About, sections: &[Section<'_>]) {
        let title = escape(title);
        self.put(format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n"
        ));
        self.contents(&title, sections);
        self.put(format_args!("<main>\n<h1>{title}</h1>\n"));
        if !about.description.is_empty() {
            self.put(format_args!("<p class=\"lead\">{}</p>\n", escape(&about.description)));
        }
        if !about.facts.is_empty() {
            self.put(format_args!("<p class=\"facts\">{}</p>\n", escape(&about.facts.join(" · "))));
        }
        // The title says enough about one file.
        let has_headings = sections.len() > 1;
        sections.iter().for_each(|section| self.section(section, has_headings));
        self.put(format_args!(
            "<p id=\"nothing\" hidden>Nothing is found.</p>\n</main>\n<script>\n{SCRIPT}</script>\n"
        ));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes all text");
    }

    /// The list of all items, which the search filters.
    fn contents(&mut self, title: &str, sections: &[Section<'_>]) {
        self.put(format_args!(
            "<nav>\n<strong>{title}</strong>\n\
             <input id=\"search\" type=\"search\" placeholder=\"Search (/)\" aria-label=\"Search\" autocomplete=\"off\">\n"
        ));
        for section in sections {
            let name = link(&section.anchor, &escape(&section.name));
            self.put(format_args!("<details open><summary>{name}</summary>\n<ul>\n"));
            for entry in &section.entries {
                let name = link(&entry.anchor, &escape(&entry.path));
                self.put(format_args!("<li class=\"{}\">{name}</li>\n", entry.kind));
            }
            self.out += "</ul></details>\n";
        }
        self.out += "</nav>\n";
    }

    fn section(&mut self, section: &Section<'_>, has_heading: bool) {
        self.put(format_args!("<section id=\"{}\">\n", escape(&section.anchor)));
        if has_heading {
            self.put(format_args!("<h2>{}</h2>\n", escape(&section.name)));
        }
        self.docs(&section.docs);
        for group in groups(&section.entries) {
            self.out += "<article>\n";
            group.iter().for_each(|entry| self.entry(section, entry));
            group.iter().for_each(|entry| self.details(entry));
            self.out += "</article>\n";
        }
        self.out += "</section>\n";
    }

    /// The declaration, with its source and its filters.
    fn entry(&mut self, section: &Section<'_>, entry: &Entry<'_>) {
        let name = entry.path.rsplit("::").next();
        let signature = code(&entry.signature, self.context.links, name);
        let anchor = escape(&entry.anchor);
        self.put(format_args!(
            "<div class=\"entry\" id=\"{anchor}\" data-name=\"{}\">\n\
             <h3><a href=\"#{anchor}\" aria-label=\"Link to {0}\">#</a><pre><code>{signature}</code></pre></h3>\n",
            escape(&entry.path)
        ));
        if !entry.filters.is_empty() {
            let words = self.context.inline(&entry.filters.join(" "));
            self.put(format_args!("<p class=\"filter\">{words}</p>\n"));
        }
        if entry.has_body {
            self.source(section, entry);
        }
        self.out += "</div>\n";
    }

    fn source(&mut self, section: &Section<'_>, entry: &Entry<'_>) {
        let range = section.source.local(entry.span);
        let text = section.source.text.get(range).unwrap_or_default();
        let place = section.source.line_col(entry.span.lo);
        let html = code(text, self.context.links, None);
        self.put(format_args!(
            "<details class=\"source\"><summary>Source, line {}</summary><pre><code>{html}</code></pre></details>\n",
            place.line
        ));
    }

    /// What is said about an item.
    fn details(&mut self, entry: &Entry<'_>) {
        self.docs(&entry.docs);
        if entry.members.is_empty() {
            return;
        }
        self.out += "<dl>\n";
        for member in &entry.members {
            let docs = self.context.html(&member.docs);
            self.put(format_args!("<dt><code>{}</code></dt><dd>{docs}</dd>\n", escape(&member.name)));
        }
        self.out += "</dl>\n";
    }

    fn docs(&mut self, docs: &Docs<'_>) {
        if !docs.is_empty() {
            let html = self.context.html(docs);
            self.put(format_args!("<div class=\"docs\">\n{html}</div>\n"));
        }
    }
}
