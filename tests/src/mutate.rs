//! Random changes to programs, for tests that find panics.
//!
//! Case number `k` of seed `s` is the same on every machine with the same
//! programs.

use crate::random::Random;

/// Programs to start from, as tokens.
pub struct Corpus<'a>(Vec<Vec<&'a str>>);

/// Inputs are small, so that many can be tried.
const MAX_TOKENS: usize = 5_000;

impl<'a> Corpus<'a> {
    /// The corpus of these programs; at least one.
    pub fn new(programs: impl IntoIterator<Item = &'a str>) -> Corpus<'a> {
        let files: Vec<_> = programs.into_iter().map(split).collect();
        assert!(!files.is_empty(), "there is no program to start from");
        Corpus(files)
    }

    /// One input: a changed program, or tokens in random order.
    pub fn input(&self, random: &mut Random) -> String {
        make_input(&self.0, random)
    }
}

fn make_input(corpus: &[Vec<&str>], random: &mut Random) -> String {
    let mut text = match random.below(8) {
        0 => random_tokens(corpus, random),
        _ => mutate_tokens(corpus, random),
    };
    if random.below(4) == 0 {
        text = mutate_bytes(text, random);
    }
    text
}

/// Tokens of random files in random order.
fn random_tokens(corpus: &[Vec<&str>], random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(400) {
        let from = random.pick(corpus);
        text.push_str(piece(from, 1, random).first().copied().unwrap_or(""));
        text.push(' ');
    }
    text
}

/// A file with some tokens deleted, doubled, swapped, or replaced by similar ones,
/// or with a part of another file between them.
fn mutate_tokens(corpus: &[Vec<&str>], random: &mut Random) -> String {
    let file = random.pick(corpus);
    let mut tokens = if file.len() > MAX_TOKENS { piece(file, MAX_TOKENS, random) } else { file }.to_vec();
    for _ in 0..1 + random.below(2) * random.below(5) {
        if tokens.is_empty() {
            break;
        }
        let at = random.below(tokens.len());
        match random.below(12) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            3 => {
                let other = random.pick(corpus);
                let length = random.below(30);
                tokens.splice(at..at, piece(other, length, random).iter().copied());
            }
            4 => {
                let end = tokens.len().min(at + random.below(20));
                tokens.drain(at..end);
            }
            // The most frequent change: it often keeps the program valid.
            _ => replace_by_similar(&mut tokens, at, random),
        }
    }
    tokens.concat()
}

/// Replaces the next word, number or sign from `at` on by another one of the file.
fn replace_by_similar(tokens: &mut [&str], at: usize, random: &mut Random) {
    let kind = |token: &str| {
        let first = token.chars().next().unwrap_or(' ');
        (first.is_ascii_digit(), first.is_alphabetic(), first.is_whitespace())
    };
    let is_text = |token: &&str| !token.trim().is_empty();
    let Some(at) = (at..tokens.len()).find(|&at| is_text(&tokens[at])) else { return };
    for _ in 0..20 {
        let other = *random.pick(tokens);
        if kind(other) == kind(tokens[at]) && other != tokens[at] {
            tokens[at] = other;
            return;
        }
    }
}

/// Up to `length` tokens from a random position on.
fn piece<'a, 'b>(tokens: &'b [&'a str], length: usize, random: &mut Random) -> &'b [&'a str] {
    if tokens.is_empty() {
        return tokens;
    }
    let start = random.below(tokens.len());
    &tokens[start..tokens.len().min(start + length)]
}

/// Changes some bytes; invalid UTF-8 becomes the replacement character.
fn mutate_bytes(text: String, random: &mut Random) -> String {
    let mut bytes = text.into_bytes();
    for _ in 0..1 + random.below(4) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Splits a text into words, spaces and single characters.
fn split(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        let end = chars.peek().map_or(text.len(), |&(next, _)| next);
        let goes_on = chars.peek().is_some_and(|&(_, next)| class(next) == class(c) && class(c) != 2);
        if !goes_on {
            tokens.push(&text[start..end]);
            start = end;
        }
    }
    tokens
}
