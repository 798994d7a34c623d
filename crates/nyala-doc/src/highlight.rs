//! Code as HTML: coloured, with links to what the page documents.

use std::collections::BTreeMap;
use std::ops::Range;

use nyala_span::SourceMap;
use nyala_syntax::classes::{TokenClass, classes};

/// The anchors of documented items, by name.
pub(crate) type Links = BTreeMap<String, String>;

/// Code as HTML. Names that are documented are links, save for `own`: that is the name of what is declared. Names
/// of fields and parameters are no links.
pub(crate) fn code(text: &str, links: &Links, own: Option<&str>) -> String {
    let mut sources = SourceMap::default();
    let Ok(id) = sources.add("code", text) else { return escape(text) };
    let source = sources.file(id);
    let mut out = String::with_capacity(2 * text.len());
    let mut at = 0;
    for (class, span) in classes(source) {
        let range = source.local(span);
        out += &escape(&source.text[at.min(range.start)..range.start]);
        let token = &source.text[range.clone()];
        out += &match class {
            TokenClass::Keyword => colored("k", token),
            TokenClass::Number => colored("n", token),
            TokenClass::Text => colored("s", token),
            TokenClass::Comment => colored("c", token),
            TokenClass::Other => escape(token),
            TokenClass::Name if own == Some(token) => format!("<b>{}</b>", escape(token)),
            TokenClass::Name => match links.get(token) {
                Some(anchor) if !is_member(&source.text, &range) => link(anchor, &escape(token)),
                _ => escape(token),
            },
        };
        at = range.end;
    }
    out + &escape(source.text.get(at..).unwrap_or_default())
}

/// Whether a name is the one of a field or parameter: `x: T`, `a.x`.
fn is_member(text: &str, range: &Range<usize>) -> bool {
    let after = text[range.end..].trim_start();
    text[..range.start].ends_with('.') || after.starts_with(':') && !after.starts_with("::")
}

fn colored(class: &str, token: &str) -> String {
    format!("<i class=\"{class}\">{}</i>", escape(token))
}

/// A link to an anchor of the page.
pub(crate) fn link(anchor: &str, html: &str) -> String {
    format!("<a href=\"#{}\">{html}</a>", escape(anchor))
}

/// Text as HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            letter if letter.is_control() && !letter.is_whitespace() => out.extend(letter.escape_default()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_escaped_and_linked() {
        let links = Links::from([("S".to_owned(), "S".to_owned())]);
        assert_eq!(
            code("fn f(s: &S) /* <b> */", &links, Some("f")),
            "<i class=\"k\">fn</i> <b>f</b>(s: &amp;<a href=\"#S\">S</a>) <i class=\"c\">/* &lt;b&gt; */</i>"
        );
    }

    #[test]
    fn fields_and_parameters_are_no_links() {
        let links = Links::from([("S".to_owned(), "S".to_owned())]);
        assert_eq!(code("S: x.S, S::A", &links, None), "S: x.S, <a href=\"#S\">S</a>::A");
    }

    #[test]
    fn text_that_is_no_code_is_kept() {
        let html = code("§ \"open", &Links::new(), None);
        assert!(html.starts_with("§ ") && html.contains("&quot;open"), "{html}");
    }
}
