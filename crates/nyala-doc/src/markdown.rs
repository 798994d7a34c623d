//! Documentation comments as HTML: the part of Markdown that comments use.
//!
//! Paragraphs, headings, lists of one level, tables, fenced code, `code`, *emphasis*, **strong** and links. All
//! else is text, and HTML in comments is text too. Links lead to web pages, mail addresses and anchors; other
//! addresses are shown as text.

use nyala_syntax::docs::{DocLine, Docs, Example};

use crate::highlight::{self, Links, escape, link};
use crate::{Outcome, Outcomes};

/// How deep emphasis and links may nest; deeper marks are text.
const MAX_NESTING: usize = 4;

/// How many bytes code, emphasis and links may span. This bounds the search for their ends.
const MAX_SPAN: usize = 2000;

/// What comments refer to.
pub(crate) struct Context<'a> {
    /// The documented names.
    pub links: &'a Links,
    /// What the examples showed.
    pub outcomes: &'a Outcomes,
}

impl Context<'_> {
    /// Documentation as HTML.
    pub fn html(&self, docs: &Docs<'_>) -> String {
        let mut out = String::new();
        let mut rest = &docs.lines[..];
        for example in docs.examples() {
            let start = rest.iter().position(|line| line.span == example.open.span).unwrap_or(rest.len());
            self.blocks(&rest[..start], &mut out);
            self.example(&example, &mut out);
            let used = start + 1 + example.lines.len() + usize::from(example.close.is_some());
            rest = rest.get(used..).unwrap_or_default();
        }
        self.blocks(rest, &mut out);
        out
    }

    fn example(&self, example: &Example<'_, '_>, out: &mut String) {
        let text: Vec<&str> = example.lines.iter().map(|line| line.text).collect();
        let text = text.join("\n");
        let html = match example.tags.first() {
            None | Some(&("impala" | "artic" | "fails" | "no_run")) => {
                highlight::code(&text, self.links, None)
            }
            Some(_) => escape(&text),
        };
        *out += &format!("<pre class=\"example\"><code>{html}</code></pre>\n");
        match self.outcomes.get(&example.open.span.lo) {
            Some(Outcome::Output(output)) if !output.is_empty() => {
                *out += &format!("<pre class=\"output\"><samp>{}</samp></pre>\n", escape(output.trim_end()));
            }
            Some(Outcome::Failure(message)) => {
                *out += &format!("<p class=\"failure\">This example fails: {}</p>\n", self.inline(message));
            }
            _ => {}
        }
    }

    // ---- Blocks ------------------------------------------------------------------

    fn blocks(&self, lines: &[DocLine<'_>], out: &mut String) {
        let mut block = Block::None;
        let mut lines = lines.iter().peekable();
        while let Some(line) = lines.next() {
            let text = line.text.trim();
            if is_row(text) && lines.next_if(|next| is_rule(next.text.trim())).is_some() {
                block.end(self, out);
                *out += "<table>\n";
                self.row(text, "th", out);
                while let Some(row) = lines.next_if(|next| is_row(next.text.trim())) {
                    self.row(row.text.trim(), "td", out);
                }
                *out += "</table>\n";
            } else if text.is_empty() {
                block.end(self, out);
            } else if let Some((level, title)) = heading(text) {
                block.end(self, out);
                *out += &format!("<h{level}>{}</h{level}>\n", self.inline(title));
            } else if let Some((is_numbered, item)) = list_item(text) {
                block.start_item(self, is_numbered, item, out);
            } else {
                block.push(text);
            }
        }
        block.end(self, out);
    }

    /// A row of a table.
    fn row(&self, line: &str, tag: &str, out: &mut String) {
        *out += "<tr>";
        for cell in cells(line) {
            *out += &format!("<{tag}>{}</{tag}>", self.inline(cell.trim()));
        }
        *out += "</tr>\n";
    }

    /// Text with marks as HTML.
    pub fn inline(&self, text: &str) -> String {
        let mut out = String::new();
        self.spans(text, MAX_NESTING, &mut out);
        out
    }

    fn spans(&self, text: &str, nesting: usize, out: &mut String) {
        let mut rest = text;
        let mut in_word = false;
        while let Some(at) = rest.find(['`', '*', '_', '[', '\\']) {
            *out += &escape(&rest[..at]);
            in_word = rest[..at].chars().next_back().map_or(in_word, char::is_alphanumeric);
            rest = &rest[at..];
            // An underscore in a name is part of it.
            let used = match in_word && rest.starts_with('_') {
                true => self.plain(rest, out),
                false => self.span(rest, nesting, out),
            };
            in_word = rest[..used].ends_with('_') && in_word;
            rest = &rest[used..];
        }
        *out += &escape(rest);
    }

    /// The marked text at the start of `text`, or the mark as text; gives its length.
    fn span(&self, text: &str, nesting: usize, out: &mut String) -> usize {
        let marked = match text.as_bytes()[0] {
            b'`' => self.code(text, out),
            b'*' | b'_' if nesting > 0 => self.emphasis(text, nesting, out),
            b'[' if nesting > 0 => self.link(text, nesting, out),
            b'\\' if text[1..].starts_with(|next: char| next.is_ascii_punctuation()) => {
                *out += &escape(&text[1..2]);
                Some(2)
            }
            _ => None,
        };
        marked.unwrap_or_else(|| self.plain(text, out))
    }

    /// The run of equal marks at the start of `text` as text; gives its length.
    fn plain(&self, text: &str, out: &mut String) -> usize {
        let length = text.len() - text.trim_start_matches(&text[..1]).len();
        *out += &escape(&text[..length]);
        length
    }

    fn code(&self, text: &str, out: &mut String) -> Option<usize> {
        let inside = text.trim_start_matches('`');
        let ticks = &text[..text.len() - inside.len()];
        let length = window(inside).find(ticks)?;
        let code = inside[..length].trim();
        let html = format!("<code>{}</code>", escape(code));
        // A call names its function.
        let name = code.split('(').next().unwrap_or(code);
        *out += &self.links.get(name).map_or(html.clone(), |anchor| link(anchor, &html));
        Some(2 * ticks.len() + length)
    }

    fn emphasis(&self, text: &str, nesting: usize, out: &mut String) -> Option<usize> {
        let (mark, tag) = match text.as_bytes() {
            [first, second, ..] if first == second => (&text[..2], "strong"),
            _ => (&text[..1], "em"),
        };
        let inside = &text[mark.len()..];
        let ends_word = |at: &usize| {
            !mark.starts_with('_') || !inside[at + mark.len()..].starts_with(char::is_alphanumeric)
        };
        let length = window(inside).match_indices(mark).map(|(at, _)| at).find(ends_word)?;
        let words = &inside[..length];
        if words.is_empty() || words.starts_with(char::is_whitespace) || words.ends_with(char::is_whitespace)
        {
            return None;
        }
        *out += &format!("<{tag}>");
        self.spans(words, nesting - 1, out);
        *out += &format!("</{tag}>");
        Some(2 * mark.len() + length)
    }

    fn link(&self, text: &str, nesting: usize, out: &mut String) -> Option<usize> {
        let middle = window(text).find("](")?;
        let address = window(&text[middle + 2..]);
        let length = address.find(')')?;
        let address = address[..length].trim();
        let is_safe = ["https://", "http://", "mailto:", "#"].iter().any(|start| address.starts_with(start));
        if !is_safe || address.contains(char::is_whitespace) {
            return None;
        }
        *out += &format!("<a href=\"{}\">", escape(address));
        self.spans(&text[1..middle], nesting - 1, out);
        *out += "</a>";
        Some(middle + 2 + length + 1)
    }
}

/// A paragraph or list that is being read.
enum Block {
    None,
    Paragraph(String),
    List { is_numbered: bool, item: String },
}

impl Block {
    /// Adds a line.
    fn push(&mut self, line: &str) {
        match self {
            Block::None => *self = Block::Paragraph(line.to_owned()),
            Block::Paragraph(text) | Block::List { item: text, .. } => {
                text.push('\n');
                *text += line;
            }
        }
    }

    /// Begins the next item of a list.
    fn start_item(&mut self, context: &Context<'_>, is_numbered: bool, text: &str, out: &mut String) {
        match self {
            Block::List { is_numbered: other, item } if *other == is_numbered => {
                *out += &format!("<li>{}</li>\n", context.inline(item));
                *item = text.to_owned();
            }
            _ => {
                self.end(context, out);
                *out += if is_numbered { "<ol>\n" } else { "<ul>\n" };
                *self = Block::List { is_numbered, item: text.to_owned() };
            }
        }
    }

    fn end(&mut self, context: &Context<'_>, out: &mut String) {
        match std::mem::replace(self, Block::None) {
            Block::None => {}
            Block::Paragraph(text) => *out += &format!("<p>{}</p>\n", context.inline(&text)),
            Block::List { is_numbered, item } => {
                let end = if is_numbered { "</ol>" } else { "</ul>" };
                *out += &format!("<li>{}</li>\n{end}\n", context.inline(&item));
            }
        }
    }
}

/// The level on the page and the text of a heading. Items have headings of level 3.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| ((level + 3).min(6), title.trim()))
}

/// Whether a line is a row of a table.
fn is_row(line: &str) -> bool {
    line.len() > 1 && line.starts_with('|') && line.ends_with('|')
}

/// Whether a line is the one below the head of a table.
fn is_rule(line: &str) -> bool {
    is_row(line) && line.contains('-') && line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' '))
}

/// The cells of a row. `\|` is part of a cell, and so is `|` in code.
fn cells(row: &str) -> Vec<&str> {
    let inside = &row[1..row.len() - 1];
    let (mut cells, mut start, mut in_code, mut is_escaped) = (vec![], 0, false, false);
    for (at, letter) in inside.char_indices() {
        match letter {
            '`' => in_code = !in_code,
            '|' if !in_code && !is_escaped => {
                cells.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    cells.push(&inside[start..]);
    cells
}

/// Whether a list is numbered, and the text of its item.
fn list_item(line: &str) -> Option<(bool, &str)> {
    if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some((false, item));
    }
    let (number, item) = line.split_once(". ")?;
    (!number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some((true, item))
}

/// The start of a text, in which the end of a mark is searched.
fn window(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SPAN)]
}

#[cfg(test)]
mod tests {
    use nyala_span::Span;

    use super::*;

    fn html(text: &str) -> String {
        let links = Links::from([("range".to_owned(), "range".to_owned())]);
        let lines = text.lines().enumerate().map(|(at, text)| {
            let at = at as u32 + 1;
            DocLine { text, span: Span::new(at, at + 1) }
        });
        let outcomes = Outcomes::from([(1, Outcome::Output("<6>\n".into()))]);
        Context { links: &links, outcomes: &outcomes }.html(&Docs { lines: lines.collect() })
    }

    #[test]
    fn paragraphs_and_lists() {
        assert_eq!(html("One\ntwo.\n\nThree."), "<p>One\ntwo.</p>\n<p>Three.</p>\n");
        assert_eq!(html("- a\n  b\n- c"), "<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n");
        assert_eq!(html("1. a\n\nx"), "<ol>\n<li>a</li>\n</ol>\n<p>x</p>\n");
        assert_eq!(html("# Title"), "<h4>Title</h4>\n");
    }

    #[test]
    fn marks_in_text() {
        assert_eq!(
            html("a `b<c` *d* **e `f`**"),
            "<p>a <code>b&lt;c</code> <em>d</em> <strong>e <code>f</code></strong></p>\n"
        );
        assert_eq!(html("2 * 3 * 4, \\*x"), "<p>2 * 3 * 4, *x</p>\n");
        assert_eq!(html("`range(0, n)`"), "<p><a href=\"#range\"><code>range(0, n)</code></a></p>\n");
    }

    #[test]
    fn underscores_mark_words_and_are_part_of_names() {
        assert_eq!(html("_a b_ __c__"), "<p><em>a b</em> <strong>c</strong></p>\n");
        assert_eq!(html("range_2d and print_i32_x, __init"), "<p>range_2d and print_i32_x, __init</p>\n");
        assert_eq!(html("a `b`_c d_"), "<p>a <code>b</code><em>c d</em></p>\n");
    }

    #[test]
    fn tables_have_a_head_and_rows() {
        assert_eq!(
            html("Sizes:\n| a | b |\n|---|--:|\n| `x|y` | *2* |\nEnd"),
            "<p>Sizes:</p>\n<table>\n<tr><th>a</th><th>b</th></tr>\n\
             <tr><td><code>x|y</code></td><td><em>2</em></td></tr>\n</table>\n<p>End</p>\n"
        );
        assert_eq!(html("|a|\n|b|"), "<p>|a|\n|b|</p>\n");
    }

    #[test]
    fn html_and_addresses_that_run_code_are_text() {
        assert_eq!(html("<script>x</script>"), "<p>&lt;script&gt;x&lt;/script&gt;</p>\n");
        assert_eq!(html("[x](javascript:y)"), "<p>[x](javascript:y)</p>\n");
        assert_eq!(html("[x](https://a/\"b)"), "<p><a href=\"https://a/&quot;b\">x</a></p>\n");
    }

    #[test]
    fn examples_show_their_output() {
        assert_eq!(
            html("```\nf();\n```\nEnd."),
            "<pre class=\"example\"><code>f();</code></pre>\n\
             <pre class=\"output\"><samp>&lt;6&gt;</samp></pre>\n<p>End.</p>\n"
        );
    }

    #[test]
    fn unclosed_marks_are_text() {
        for text in [
            "`", "``a`", "*", "**a*", "[a](", "\\", "[[[[[[[[", "* * *", "```", "_", "__a_", "|", "||\n|-|",
            "|`|\n|-|",
        ] {
            assert!(html(text).len() < 100, "{text}");
        }
        assert!(html(&"[*`".repeat(20_000)).len() < 200_000);
        assert!(html(&" _a".repeat(20_000)).len() < 200_000);
    }
}
