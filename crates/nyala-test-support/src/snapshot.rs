//! Comparison with a stored text.

use std::fmt::Write as _;
use std::path::Path;

/// Whether stored texts are rewritten instead of compared.
fn is_blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Compares `actual` with the text of the file at `path`.
pub fn compare(path: &Path, actual: &str) -> Result<(), String> {
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    if stored == actual {
        return Ok(());
    }
    if is_blessing() {
        return std::fs::write(path, actual).map_err(|error| format!("{}: {error}", path.display()));
    }
    Err(format!("{} differs (BLESS=1 rewrites it)\n{}", path.display(), difference(&stored, actual)))
}

/// The lines that differ, from the first to the last.
pub fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let same_front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same_front..], &new[same_front..]);
    let same_back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = format!("from line {}:\n", same_front + 1);
    for (sign, lines) in [('-', old), ('+', new)] {
        for line in &lines[..lines.len() - same_back] {
            writeln!(text, "{sign} {line}").expect("strings take all text");
        }
    }
    text
}
