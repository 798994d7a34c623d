//! What is documented: the items of files, with their signatures and comments.
//!
//! Signatures are declarations without bodies and comments, in the layout of the formatter. Tests, benchmarks, `main`,
//! imports that are not `pub` and private items are left out.

use std::collections::BTreeMap;

use nyala_span::{SourceFile, SourceMap, Span};
use nyala_syntax::ast::{
    self, Fields, FnBody, FnItem, Ident, Item, ItemKind, OptionDef, UseKind, UseTree, Vis,
};
use nyala_syntax::docs::{self, Docs};
use nyala_syntax::{ParseOptions, format, parse_with};

use crate::{SourceText, filters};

/// A file with what it documents.
pub(crate) struct Section<'a> {
    /// The module, or the name of the file without folders and ending.
    pub name: String,
    /// Its anchor.
    pub anchor: String,
    /// The documentation of the whole file.
    pub docs: Docs<'a>,
    /// Its text.
    pub source: &'a SourceFile,
    /// Its items, in order.
    pub entries: Vec<Entry<'a>>,
}

/// A documented item.
pub(crate) struct Entry<'a> {
    /// Its kind, as a keyword.
    pub kind: &'static str,
    /// Its name, with the modules around it.
    pub path: String,
    /// Its anchor, unique on a page.
    pub anchor: String,
    /// Its declaration.
    pub signature: String,
    /// When it is specialized, in sentences.
    pub filters: Vec<String>,
    /// Its documentation.
    pub docs: Docs<'a>,
    /// Those of its fields or options that have documentation of their own.
    pub members: Vec<Member<'a>>,
    /// Its place.
    pub span: Span,
    /// Whether its source shows more than its signature.
    pub has_body: bool,
    /// Whether the comment of the entry before it is about it too: see [`Collector::joins`].
    pub joins: bool,
}

/// A field of a struct or an option of an enum.
pub(crate) struct Member<'a> {
    /// Its name.
    pub name: String,
    /// Its documentation.
    pub docs: Docs<'a>,
}

/// The anchors of a page that are taken.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<String, usize>);

impl Names {
    /// An anchor for this name: the name itself, unless it is taken.
    fn anchor(&mut self, name: &str) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':' | '-');
        let name: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        let count = self.0.entry(name.clone()).or_insert(0);
        *count += 1;
        // Other anchors have no dot, so these are never taken.
        if *count == 1 { name } else { format!("{name}.{count}") }
    }
}

/// Entries from one on that share its comment.
pub(crate) fn groups<'e, 'a>(entries: &'e [Entry<'a>]) -> impl Iterator<Item = &'e [Entry<'a>]> {
    entries.chunk_by(|_, next| next.joins)
}

/// Finds what is documented in a file.
pub(crate) fn section<'a>(file: SourceText<'a>, names: &mut Names) -> Section<'a> {
    let SourceText { ast, source, module } = file;
    let base = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
    // A module may have several files.
    let name = match module.rsplit("::").next() {
        _ if module.is_empty() => stem.to_owned(),
        Some(last) if last == stem => module.to_owned(),
        _ => format!("{module} ({stem})"),
    };
    let modules = if module.is_empty() { String::new() } else { format!("{module}::") };
    let is_marked = docs::has_docs(ast, source);
    let docs = if is_marked { docs::file_docs(ast, source) } else { docs::plain_file_docs(ast, source) };
    let anchor = names.anchor(&format!("file-{name}"));
    let mut collector = Collector { ast, source, is_marked, names, entries: vec![] };
    collector.items(&ast.items, &modules);
    Section { name, anchor, docs, source, entries: collector.entries }
}

struct Collector<'a, 'n> {
    ast: &'a ast::File,
    source: &'a SourceFile,
    /// Whether documentation is marked in this file; otherwise plain comments are documentation.
    is_marked: bool,
    names: &'n mut Names,
    entries: Vec<Entry<'a>>,
}

impl<'a> Collector<'a, '_> {
    fn items(&mut self, items: &'a [Item], modules: &str) {
        for item in items.iter().filter(|item| is_shown(item)) {
            self.item(item, modules);
        }
    }

    fn item(&mut self, item: &'a Item, modules: &str) {
        let (kind, name, members) = match &item.kind {
            ItemKind::Fn(function) => return self.function(function, item.span, modules),
            ItemKind::ExternBlock { abi, fns } => {
                return self.extern_block(item.span, abi.span, fns, modules);
            }
            ItemKind::Mod { name, items: Some(items) } => {
                return self.module(item.span, name, items, modules);
            }
            ItemKind::Struct(ast) => ("struct", ast.name.name.as_str(), self.fields(&ast.fields)),
            ItemKind::Enum(ast) => ("enum", ast.name.name.as_str(), self.options(&ast.options)),
            ItemKind::Alias { name, .. } => ("type", name.name.as_str(), vec![]),
            ItemKind::Static { name, .. } => ("static", name.name.as_str(), vec![]),
            ItemKind::Implicit { .. } => ("implicit", "implicit", vec![]),
            // Its items are in files of their own. What is said about it is said here.
            ItemKind::Mod { name, items: None } if !self.docs(item.span).is_empty() => {
                ("mod", name.name.as_str(), vec![])
            }
            ItemKind::Use(tree) if item.vis == Some(Vis::Pub) => {
                return self.exported_use(item.span, tree, "", modules);
            }
            ItemKind::Mod { items: None, .. } | ItemKind::Use(_) | ItemKind::Error => return,
        };
        let signature = match &item.kind {
            // The value matters if only it says what the type is.
            ItemKind::Static { ty: Some(ty), .. } => {
                self.signature(Span::new(item.span.lo, ty.span.hi.clamp(item.span.lo, item.span.hi)), ";")
            }
            _ => self.signature(item.span, ""),
        };
        let entry = self.entry(kind, &format!("{modules}{name}"), item.span, signature, members);
        self.entries.push(entry);
    }

    /// Each name that a `pub use` makes part of the module. `outer` is the path around `tree`.
    fn exported_use(&mut self, span: Span, tree: &UseTree, outer: &str, modules: &str) {
        let path: Vec<&str> = tree.path.segments.iter().map(|name| name.name.as_str()).collect();
        let path = format!("{outer}{}", path.join("::"));
        let (name, signature) = match &tree.kind {
            UseKind::List(trees) => {
                let outer = format!("{path}::");
                return trees.iter().for_each(|tree| self.exported_use(span, tree, &outer, modules));
            }
            UseKind::Glob => (format!("{path}::*"), format!("pub use {path}::*")),
            UseKind::Name { rename: Some(name) } => {
                (name.name.to_string(), format!("pub use {path} as {}", name.name))
            }
            UseKind::Name { rename: None } => {
                (path.rsplit("::").next().unwrap_or(&path).to_owned(), format!("pub use {path}"))
            }
        };
        let entry = self.entry("use", &format!("{modules}{name}"), span, signature, vec![]);
        self.entries.push(entry);
    }

    /// The functions of a block, and what is said about all of them.
    fn extern_block(&mut self, span: Span, abi: Span, fns: &'a [FnItem], modules: &str) {
        if !self.docs(span).is_empty() {
            let name = format!("extern {}", self.text(abi));
            let entry = self.entry("extern", &name, span, name.clone(), vec![]);
            self.entries.push(entry);
        }
        fns.iter().for_each(|function| self.function(function, function.span, modules));
    }

    fn module(&mut self, span: Span, name: &Ident, items: &'a [Item], modules: &str) {
        let path = format!("{modules}{}", name.name);
        let entry = self.entry("mod", &path, span, format!("mod {}", name.name), vec![]);
        self.entries.push(entry);
        self.items(items, &format!("{path}::"));
    }

    fn function(&mut self, function: &'a FnItem, span: Span, modules: &str) {
        let body = match &function.body {
            Some(FnBody::Block(block)) => Some(block.span.lo),
            Some(FnBody::Expr(expr)) => Some(expr.span.lo),
            None => None,
        };
        let signature = match body {
            Some(body) => self.signature(Span::new(span.lo, body.clamp(span.lo, span.hi)), ";"),
            None => self.signature(span, ""),
        };
        let path = format!("{modules}{}", function.name.name);
        let mut entry = self.entry("fn", &path, span, signature, vec![]);
        entry.filters = filters::describe(function, self.source);
        entry.has_body = body.is_some();
        self.entries.push(entry);
    }

    fn entry(
        &mut self,
        kind: &'static str,
        path: &str,
        span: Span,
        signature: String,
        members: Vec<Member<'a>>,
    ) -> Entry<'a> {
        let docs = self.docs(span);
        let joins = self.joins(&docs, span);
        let (path, anchor) = (path.to_owned(), self.names.anchor(path));
        Entry { kind, path, anchor, signature, filters: vec![], docs, members, span, has_body: false, joins }
    }

    fn docs(&self, span: Span) -> Docs<'a> {
        match self.is_marked {
            true => docs::docs_before(self.ast, self.source, span),
            false => docs::plain_docs_before(self.ast, self.source, span),
        }
    }

    /// Whether an entry without a comment belongs to the one before: a plain comment is about all lines up to the next
    /// empty one.
    fn joins(&self, docs: &Docs<'_>, span: Span) -> bool {
        let Some(last) = self.entries.last().filter(|_| !self.is_marked && docs.is_empty()) else {
            return false;
        };
        let gap = self.text(Span::new(last.span.hi.min(span.lo), span.lo));
        last.kind == "fn" && gap.trim().is_empty() && gap.matches('\n').count() <= 1
    }

    fn fields(&self, fields: &Fields) -> Vec<Member<'a>> {
        let Fields::Record(fields) = fields else { return vec![] };
        fields.iter().filter_map(|field| self.member(field.name.name.as_str(), field.name.span)).collect()
    }

    fn options(&self, options: &[OptionDef]) -> Vec<Member<'a>> {
        options.iter().filter_map(|option| self.member(option.name.name.as_str(), option.name.span)).collect()
    }

    fn member(&self, name: &str, span: Span) -> Option<Member<'a>> {
        let docs = self.docs(span);
        (!docs.is_empty()).then(|| Member { name: name.to_owned(), docs })
    }

    fn text(&self, span: Span) -> &'a str {
        self.source.text.get(self.source.local(span)).unwrap_or_default()
    }

    /// The declaration at `span`, with `end` in place of what follows, in the layout of the formatter.
    fn signature(&self, span: Span, end: &str) -> String {
        let text = self.without_comments(span);
        let text = text.trim_end().trim_end_matches('=').trim_end();
        let formatted = self.formatted(&format!("{text}{end}"));
        let shown = formatted.as_deref().unwrap_or(text).trim_end();
        shown.strip_suffix(';').unwrap_or(shown).to_owned()
    }

    /// Nothing if the text has errors.
    fn formatted(&self, text: &str) -> Option<String> {
        let mut sources = SourceMap::default();
        let id = sources.add("signature", text).ok()?;
        let options =
            ParseOptions { dialect: Some(self.ast.dialect), edition_2015: Some(self.ast.edition_2015) };
        let parse = parse_with(sources.file(id), options);
        parse.errors.is_empty().then(|| format(&parse.file, sources.file(id)))
    }

    /// A part of the text. A comment leaves a space, one that is alone in its line nothing.
    fn without_comments(&self, span: Span) -> String {
        let first = self.ast.comments.partition_point(|comment| comment.span.lo < span.lo);
        let inside = self.ast.comments[first..].iter().take_while(|comment| comment.span.lo < span.hi);
        let mut text = String::new();
        let mut at = span.lo;
        for comment in inside {
            text += self.text(Span::new(at, comment.span.lo));
            match text.trim_end_matches([' ', '\t']).ends_with('\n') {
                true => text.truncate(text.trim_end().len()),
                false => text.push(' '),
            }
            at = comment.span.hi.min(span.hi);
        }
        text + self.text(Span::new(at, span.hi))
    }
}

/// Whether an item is part of what users see.
fn is_shown(item: &Item) -> bool {
    let is_tool = item.attrs.iter().any(|attr| matches!(attr.name.name.as_str(), "test" | "bench"));
    let is_main = matches!(&item.kind, ItemKind::Fn(function) if function.name.name.as_str() == "main");
    item.vis != Some(Vis::Priv) && !is_tool && !is_main
}
