//! The items of a file by name, for programs that need some of them.
//!
//! A program mentions few items of its prelude. [`outline`] lists the items of a file with the names that each of them
//! mentions. So the items that a program needs are found without parsing the file, and
//! [`parse_pieces`](crate::parse_pieces) parses these.

use std::ops::Range;

use nyala_span::{Name, SourceFile, Span};

use crate::ast::{AttrValue, File, FnItem, Item, ItemKind, Lit, LitKind, StrLit};
use crate::lexer::lex_pieces;
use crate::token::TokenKind;

/// The items of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outline {
    /// The items, in order; each function of an `extern` block is one.
    pub items: Vec<OutlineItem>,
    /// The `extern` blocks.
    pub blocks: Vec<OutlineBlock>,
}

/// An item without its contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineItem {
    /// Its name. An item without a name matters to programs that do not mention it.
    pub name: Option<Name>,
    /// The link name of a declaration, if it is written.
    pub link_name: Option<Name>,
    /// Its text, as bytes of the file.
    pub text: Range<usize>,
    /// The `extern` block around it.
    pub block: Option<usize>,
    /// The names in its text, in order.
    pub mentions: Vec<Name>,
}

/// The text around the functions of an `extern` block, as bytes of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineBlock {
    /// `extern "C" {`
    pub open: Range<usize>,
    /// `}`
    pub close: Range<usize>,
}

/// The items of a file without syntax errors.
pub fn outline(source: &SourceFile, file: &File) -> Outline {
    let mut outline = Outline::default();
    for item in &file.items {
        match &item.kind {
            ItemKind::ExternBlock { fns, .. } if item.attrs.is_empty() && !fns.is_empty() => {
                let block = outline.blocks.len();
                let open = source.local(Span::new(item.span.lo, fns[0].span.lo));
                let close = source.local(Span::new(item.span.hi - 1, item.span.hi));
                outline.blocks.push(OutlineBlock { open, close });
                for function in fns {
                    let names = (Some(function.name.name), written_link_name(function));
                    outline.items.push(outline_item(source, names, function.span, Some(block)));
                }
            }
            _ => {
                let names = (name_of(item), link_name_of(item));
                outline.items.push(outline_item(source, names, item.span, None));
            }
        }
    }
    outline
}

fn outline_item(
    source: &SourceFile,
    (name, link_name): (Option<Name>, Option<Name>),
    span: Span,
    block: Option<usize>,
) -> OutlineItem {
    let text = source.local(span);
    let tokens = lex_pieces(source, std::slice::from_ref(&text), None).tokens;
    let mentions = tokens.iter().filter_map(|token| match token.kind {
        TokenKind::Ident(name) => Some(name),
        _ => None,
    });
    OutlineItem { name, link_name, mentions: mentions.collect(), text, block }
}

fn written_link_name(function: &FnItem) -> Option<Name> {
    function.link_name.as_ref().map(name_in)
}

fn name_in(text: &StrLit) -> Name {
    Name::new(&String::from_utf8_lossy(&text.bytes))
}

/// `#[import(name = "..")]`
fn link_name_of(item: &Item) -> Option<Name> {
    let args = item.attrs.iter().filter_map(|attr| match &attr.value {
        AttrValue::List(args) => Some(args),
        _ => None,
    });
    let mut names = args.flatten().filter(|arg| arg.name.name.as_str() == "name");
    names.find_map(|arg| match &arg.value {
        AttrValue::Lit(Lit { kind: LitKind::Str(text), .. }) => Some(name_in(text)),
        _ => None,
    })
}

/// The name by which programs use an item. Attributes other than `import` may give it an effect of its own.
fn name_of(item: &Item) -> Option<Name> {
    if item.attrs.iter().any(|attr| attr.name.name.as_str() != "import") {
        return None;
    }
    match &item.kind {
        ItemKind::Fn(function) if function.is_extern || function.operator.is_some() => None,
        ItemKind::Fn(function) => Some(function.name.name),
        ItemKind::Struct(it) => Some(it.name.name),
        ItemKind::Enum(it) => Some(it.name.name),
        ItemKind::Alias { name, .. } | ItemKind::Static { name, .. } | ItemKind::Mod { name, .. } => {
            Some(name.name)
        }
        ItemKind::ExternBlock { .. } | ItemKind::Use(_) | ItemKind::Implicit { .. } | ItemKind::Error => None,
    }
}

#[cfg(test)]
mod tests {
    use nyala_span::SourceMap;

    use super::*;
    use crate::{ParseOptions, dump, parse, parse_pieces};

    const TEXT: &str = "\
// A file.
extern \"C\" {
    fn first(i32) -> i32;
    // The second.
    fn \"2\" second(Pair) -> ();
}
struct Pair { a: i32, b: i32 }
#[import(cc = \"thorin\", name = \"3\")] fn third() -> i32;
#[export] fn exported() -> i32 { first(third()) }
";

    #[test]
    fn items_have_their_names_texts_and_mentions() {
        let mut sources = SourceMap::default();
        let id = sources.add("a.impala", TEXT).expect("it is small");
        let source = sources.file(id);
        let outline = outline(source, &parse(source).file);
        let shown = |item: &OutlineItem| {
            let names = [item.name, item.link_name].map(|name| name.map_or("", Name::as_str));
            (names, &source.text[item.text.clone()])
        };
        let items: Vec<_> = outline.items.iter().map(shown).collect();
        assert_eq!(
            items,
            [
                (["first", ""], "fn first(i32) -> i32;"),
                (["second", "2"], "fn \"2\" second(Pair) -> ();"),
                (["Pair", ""], "struct Pair { a: i32, b: i32 }"),
                (["third", "3"], "#[import(cc = \"thorin\", name = \"3\")] fn third() -> i32;"),
                (["", ""], "#[export] fn exported() -> i32 { first(third()) }"),
            ]
        );
        let mentions: Vec<&str> = outline.items[4].mentions.iter().map(|name| name.as_str()).collect();
        assert_eq!(mentions, ["export", "exported", "i32", "first", "third"]);
    }

    #[test]
    fn pieces_are_parsed_as_a_file_without_the_rest() {
        let mut sources = SourceMap::default();
        let id = sources.add("a.impala", TEXT).expect("it is small");
        let source = sources.file(id);
        let Outline { items, blocks } = outline(source, &parse(source).file);
        let pieces = [&blocks[0].open, &items[1].text, &blocks[0].close, &items[2].text].map(Range::clone);
        let parse = parse_pieces(source, &pieces, ParseOptions::default());
        assert!(parse.errors.is_empty(), "{:?}", parse.errors);
        let rest = "extern \"C\" { fn \"2\" second(Pair) -> (); } struct Pair { a: i32, b: i32 }";
        let id = sources.add("b.impala", rest).expect("it is small");
        let expected = crate::parse(sources.file(id)).file;
        assert_eq!(dump(&parse.file), dump(&expected));
        let ItemKind::Struct(pair) = &parse.file.items[1].kind else { panic!("it is a struct") };
        assert_eq!(&TEXT[sources.file(nyala_span::FileId(0)).local(pair.name.span)], "Pair");
    }
}
