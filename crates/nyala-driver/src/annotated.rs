//! Pages with annotated source, for `nyala explain`: one file, without scripts and external resources.

use nyala_span::FileId;

const STYLE: &str = include_str!("annotated.css");

/// The beginning of a page: everything before its content.
pub(crate) fn head(title: &str, lead: &str) -> String {
    let (title, lead) = (escape(title), escape(lead));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n"
    )
}

/// The anchor of a line.
pub(crate) fn anchor(file: FileId, line: u32) -> String {
    format!("f{}l{line}", file.0)
}

/// Highlights keywords, literals and comments; `in_comment` is whether a comment is open.
pub(crate) fn highlight(text: &str, in_comment: &mut bool, out: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let (class, length) = if *in_comment || rest.starts_with("/*") {
            let end = rest.find("*/").map(|end| end + 2);
            *in_comment = end.is_none();
            ("c", end.unwrap_or(rest.len()))
        } else {
            token(rest)
        };
        let (token, after) = rest.split_at(length);
        match class {
            "" => *out += &escape(token),
            class => *out += &format!("<i class=\"{class}\">{}</i>", escape(token)),
        }
        rest = after;
    }
}

/// The class and the length of the first token of a text that is not empty.
fn token(text: &str) -> (&'static str, usize) {
    let first = text.chars().next().unwrap_or(' ');
    let while_word = || text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if text.starts_with("//") {
        ("c", text.len())
    } else if first == '"' {
        let mut is_escaped = false;
        let closes = |c: char| {
            let closes = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            closes
        };
        ("s", text[1..].find(closes).map_or(text.len(), |end| end + 2))
    } else if first.is_ascii_digit() {
        ("n", while_word())
    } else if first.is_alphabetic() || first == '_' {
        let length = while_word();
        (if KEYWORDS.contains(&&text[..length]) { "k" } else { "" }, length)
    } else {
        ("", first.len_utf8())
    }
}

const KEYWORDS: [&str; 23] = [
    "as", "asm", "else", "enum", "extern", "false", "fn", "for", "if", "implicit", "in", "let", "match",
    "mod", "mut", "return", "static", "struct", "true", "type", "use", "while", "with",
];

/// Text with a capital letter at its beginning.
pub(crate) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Text with `code` in backquotes, as HTML.
pub(crate) fn inline_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(i, part)| match i % 2 {
            0 => escape(part),
            _ => format!("<code>{}</code>", escape(part)),
        })
        .collect()
}

/// Text as HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}
