//! Mutants of the corpus: none may panic, and valid ones must format well.
//!
//! The generator is seeded, so a failure repeats; the message shows the text.

use std::panic;

use nyala_test_support::random::Random;

mod common;

/// The number of mutants; the environment variable `MUTANTS` overrides it.
const CASES: u64 = 20_000;

fn n_cases() -> u64 {
    std::env::var("MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES)
}

/// Texts whose insertion breaks or changes a program.
const SPLICES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "::",
    ".",
    "..",
    "...",
    "->",
    "=>",
    "=",
    "==",
    "@",
    "@@",
    "@?",
    "$",
    "?",
    "~",
    "!",
    "&",
    "&&",
    "|",
    "||",
    "+",
    "-",
    "--",
    "++",
    "*",
    "<",
    "if",
    "else",
    "match",
    "for",
    "in",
    "with",
    "let",
    "mut",
    "fn",
    "struct",
    "as",
    "simd",
    "asm",
    "extern",
    "implicit",
    "use",
    "1",
    "1.",
    ".5",
    "2f",
    "\"s\"",
    "'c'",
    "x",
    "_",
    "S { x: 1 }",
    "S { x = 1 }",
    "|x|",
    "@(x)",
    "$x + y",
    "[0; 4]",
    "[0, .. 4]",
    "t.0.1",
    "(a, b)",
    "{}",
    "#[a]",
    "if let x = y {}",
];

const COMMENTS: &[&str] = &[
    "/* c */",
    " // c\n",
    "\n// c\n",
    "\n\n// c\n\n",
    "\n/* c */\n",
    "/* c\n c */",
    " /* c */ // d\n",
    "/**/",
];

/// Words, white space, and everything else by the character.
fn tokens(text: &str) -> Vec<&str> {
    let class = |ch: char| match ch {
        ch if ch.is_alphanumeric() || ch == '_' => 1,
        ch if ch.is_whitespace() => 2,
        _ => 0,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let chars: Vec<_> = text.char_indices().collect();
    for pair in chars.windows(2) {
        let [(_, left), (at, right)] = pair else { continue };
        if class(*left) == 0 || class(*left) != class(*right) {
            tokens.push(&text[start..*at]);
            start = *at;
        }
    }
    tokens.push(&text[start..]);
    tokens
}

/// The items of the corpus, each with the comments in front of it.
fn snippets() -> Vec<String> {
    let mut snippets = Vec::new();
    for (_, text) in common::corpus() {
        common::with_parse(&text, |file, parse| {
            let mut start = 0;
            for item in &parse.file.items {
                let end = file.local(item.span).end;
                snippets.push(file.text[start..end].to_string());
                start = end;
            }
        });
    }
    snippets
}

fn mutant(random: &mut Random, snippets: &[String]) -> String {
    let n_items = 1 + random.below(2);
    let text: String = (0..n_items).map(|_| snippets[random.below(snippets.len())].as_str()).collect();
    let mut tokens: Vec<String> = tokens(&text).into_iter().map(String::from).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(tokens.len());
        let other = random.below(tokens.len());
        match random.below(9) {
            0 => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, tokens[at].clone()),
            2 => tokens.swap(at, other),
            3 => tokens.insert(at, tokens[other].clone()),
            4 => tokens.insert(at, random.pick(SPLICES).to_string()),
            5 => tokens[at] = random.pick(SPLICES).to_string(),
            6 => tokens.insert(at, format!(" {} ", random.pick(SPLICES))),
            _ => tokens.insert(at, random.pick(COMMENTS).to_string()),
        }
        if tokens.is_empty() {
            tokens.push(String::new());
        }
    }
    let text = tokens.concat();
    if random.below(10) == 0 { flip_byte(random, text) } else { text }
}

fn flip_byte(random: &mut Random, text: String) -> String {
    let mut bytes = text.into_bytes();
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutants_never_panic_and_format_well() {
    let snippets = snippets();
    let mut random = Random::new(1, 0);
    let mut n_formatted = 0;
    for case in 0..n_cases() {
        let text = mutant(&mut random, &snippets);
        let result = panic::catch_unwind(|| common::check_format("mutant", &text));
        match result {
            Ok(Ok(was_formatted)) => n_formatted += u64::from(was_formatted),
            Ok(Err(failure)) => panic!("case {case}: {failure}\n--- from:\n{text}"),
            Err(_) => panic!("case {case} panicked:\n{text}"),
        }
    }
    // If all mutants were malformed, only recovery would be tested.
    assert!(n_formatted > n_cases() / 20, "only {n_formatted} of {} mutants parse", n_cases());
}
