//! Formatting over a corpus that uses every production of the grammar.

use nyala_span::SourceMap;
use nyala_syntax::parse;

mod common;

#[test]
fn the_corpus_parses() {
    for (name, text) in common::corpus() {
        let mut map = SourceMap::default();
        let id = map.add(name, text).expect("corpus files are small");
        let errors: Vec<_> = parse(map.file(id))
            .errors
            .iter()
            .map(|error| format!("{}: {}: {}", map.describe(error.primary.span), error.code, error.message))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

#[test]
fn formatting_keeps_the_tree_and_all_comments_and_is_stable() {
    for (name, text) in common::corpus() {
        assert_eq!(common::check_format(&name, &text), Ok(true), "{name}");
    }
}
