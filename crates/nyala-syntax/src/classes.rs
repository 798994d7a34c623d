//! Classes of tokens, for tools that colour source text.

use nyala_span::{SourceFile, Span};

use crate::lexer;
use crate::token::{Token, TokenKind};

/// What a part of a text is to a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenClass {
    /// A reserved word.
    Keyword,
    /// A name.
    Name,
    /// A number.
    Number,
    /// A string or a character.
    Text,
    /// Punctuation, and text that is no token.
    Other,
    /// A comment.
    Comment,
}

/// All tokens and comments of a text, in order. White space lies between them.
pub fn classes(source: &SourceFile) -> Vec<(TokenClass, Span)> {
    let lexed = lexer::lex(source, None);
    let tokens: Vec<&Token> = lexed.tokens.iter().filter(|token| token.span.lo < token.span.hi).collect();
    let class_at = |i: usize| match declares_operator(&tokens, i) {
        true => TokenClass::Keyword,
        false => class(source, tokens[i]),
    };
    let mut classes: Vec<_> = (0..tokens.len()).map(|i| (class_at(i), tokens[i].span)).collect();
    classes.extend(lexed.comments.iter().map(|comment| (TokenClass::Comment, comment.span)));
    classes.sort_by_key(|(_, span)| span.lo);
    classes
}

/// Whether token `i` is the word in `fn operator +(`; elsewhere it is a name.
fn declares_operator(tokens: &[&Token], i: usize) -> bool {
    let kind = |i: usize| tokens.get(i).map_or(TokenKind::Eof, |token| token.kind);
    let is_word = matches!(kind(i), TokenKind::Ident(name) if name.as_str() == "operator");
    is_word
        && i > 0
        && matches!(kind(i - 1), TokenKind::Fn | TokenKind::At | TokenKind::RParen)
        && match kind(i + 1) {
            TokenKind::LParen => (kind(i + 2), kind(i + 3)) == (TokenKind::RParen, TokenKind::LParen),
            symbol => symbol.is_punctuation() && symbol != TokenKind::LBracket,
        }
}

fn class(source: &SourceFile, token: &Token) -> TokenClass {
    match token.kind {
        TokenKind::Ident(name) if WORDS.contains(&name.as_str()) => TokenClass::Keyword,
        TokenKind::Ident(_) => TokenClass::Name,
        TokenKind::Str(_) => TokenClass::Text,
        TokenKind::Lit(_) if source.text[source.local(token.span)].starts_with('\'') => TokenClass::Text,
        TokenKind::Lit(_) => TokenClass::Number,
        kind if kind.is_keyword() => TokenClass::Keyword,
        _ => TokenClass::Other,
    }
}

/// Words that one dialect reserves, or that are keywords where their construct can start. A reader takes them for
/// keywords everywhere.
const WORDS: [&str; 9] = ["extern", "impl", "implicit", "priv", "pub", "trait", "typeof", "use", "with"];

#[cfg(test)]
mod tests {
    use nyala_span::SourceMap;

    use super::*;

    #[test]
    fn comments_and_words_of_one_dialect_have_classes_too() {
        let mut sources = SourceMap::default();
        let id = sources.add("f.impala", "extern fn f() /* c */ { 'x' + 1 }").expect("it is small");
        let source = sources.file(id);
        let found = classes(source);
        let of = |class| {
            let spans = found.iter().filter(move |(other, _)| *other == class);
            spans.map(|(_, span)| &source.text[source.local(*span)]).collect::<Vec<_>>()
        };
        assert_eq!(of(TokenClass::Keyword), ["extern", "fn"]);
        assert_eq!(of(TokenClass::Name), ["f"]);
        assert_eq!(of(TokenClass::Text), ["'x'"]);
        assert_eq!(of(TokenClass::Number), ["1"]);
        assert_eq!(of(TokenClass::Comment), ["/* c */"]);
    }

    #[test]
    fn operator_is_a_keyword_before_a_symbol_only() {
        let mut sources = SourceMap::default();
        let text = "fn @operator +(a: V) fn operator(operator: i32) fn operator()(v: V)";
        let id = sources.add("f.impala", text).expect("it is small");
        let is_keyword = |(class, span): (TokenClass, Span)| {
            let is_word = &sources.file(id).text[sources.file(id).local(span)] == "operator";
            is_word.then_some(class == TokenClass::Keyword)
        };
        let found: Vec<bool> = classes(sources.file(id)).into_iter().filter_map(is_keyword).collect();
        assert_eq!(found, [true, false, false, true]);
    }
}
