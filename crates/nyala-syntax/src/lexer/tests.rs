//! Tests of the lexer.

use nyala_span::SourceMap;

use super::lex;
use crate::token::TokenKind;

#[test]
fn element_selections_are_not_floats() {
    let mut map = SourceMap::default();
    let id = map.add("test", "t.0.1 + .5").expect("test texts are small");
    let kinds: Vec<_> = lex(map.file(id)).tokens.iter().map(|token| token.kind).collect();
    let is_dot = |kind: &&TokenKind| **kind == TokenKind::Dot;
    assert_eq!(kinds.iter().filter(is_dot).count(), 2);
    assert_eq!(kinds.len(), 8);
}
