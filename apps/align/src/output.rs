//! Formats of results: TSV, CIGAR, SAM, PAF, and text for people.

use std::io::{Result, Write};

use crate::kernel::{Alignment, Step};
use crate::sequences::Sequence;

/// A pair with its names and letters.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub query: &'a Sequence,
    pub subject: &'a Sequence,
}

pub fn score(out: &mut dyn Write, pair: Pair, score: i32) -> Result<()> {
    writeln!(out, "{}\t{}\t{score}", pair.query.name, pair.subject.name)
}

/// Name of the query, its range, name of the subject, its range, score, path.
pub fn cigar(out: &mut dyn Write, pair: Pair, found: &Alignment) -> Result<()> {
    let Alignment { score, query, subject, .. } = found;
    let path = text_of_path(pair, found);
    let (query_name, subject_name) = (&pair.query.name, &pair.subject.name);
    let (from, to) = (query.start, query.end);
    writeln!(
        out,
        "{query_name}\t{from}\t{to}\t{subject_name}\t{}\t{}\t{score}\t{path}",
        subject.start, subject.end
    )
}

/// The lines of SAM before the first alignment.
pub fn sam_header(out: &mut dyn Write, subjects: &[Sequence]) -> Result<()> {
    writeln!(out, "@HD\tVN:1.6\tSO:unknown")?;
    for subject in subjects {
        writeln!(out, "@SQ\tSN:{}\tLN:{}", subject.name, subject.letters.len())?;
    }
    writeln!(out, "@PG\tID:nyala-align\tPN:nyala-align\tVN:{}", env!("CARGO_PKG_VERSION"))
}

pub fn sam(out: &mut dyn Write, pair: Pair, found: &Alignment) -> Result<()> {
    let clip = |n: usize| if n == 0 { String::new() } else { format!("{n}S") };
    let (before, after) = (clip(found.query.start), clip(pair.query.letters.len() - found.query.end));
    let path = text_of_path(pair, found);
    let letters = String::from_utf8_lossy(&pair.query.letters);
    let qualities = String::from_utf8_lossy(&pair.query.qualities);
    let (letters, qualities) = (or_star(&letters), or_star(&qualities));
    let (query, subject, score) = (&pair.query.name, &pair.subject.name, found.score);
    if found.path.is_empty() {
        return writeln!(out, "{query}\t4\t*\t0\t0\t*\t*\t0\t0\t{letters}\t{qualities}");
    }
    let start = found.subject.start + 1;
    writeln!(
        out,
        "{query}\t0\t{subject}\t{start}\t255\t{before}{path}{after}\t*\t0\t0\t{letters}\t{qualities}\tAS:i:{score}"
    )
}

fn or_star(text: &str) -> &str {
    if text.is_empty() { "*" } else { text }
}

pub fn paf(out: &mut dyn Write, pair: Pair, found: &Alignment) -> Result<()> {
    let steps = steps(pair, found);
    let count = |wanted| steps.iter().filter(|run| run.0 == wanted).map(|run| run.1).sum::<usize>();
    let (n_equal, n_all) = (count('='), steps.iter().map(|run| run.1).sum::<usize>());
    let Alignment { query, subject, score, .. } = found;
    writeln!(
        out,
        "{}\t{}\t{}\t{}\t+\t{}\t{}\t{}\t{}\t{n_equal}\t{n_all}\t255\tAS:i:{score}\tcg:Z:{}",
        pair.query.name,
        pair.query.letters.len(),
        query.start,
        query.end,
        pair.subject.name,
        pair.subject.letters.len(),
        subject.start,
        subject.end,
        text_of_path(pair, found)
    )
}

/// A path in the format CIGAR, with `=` and `X` for equal and different letters; `*` if it is empty.
fn text_of_path(pair: Pair, found: &Alignment) -> String {
    let text: String = steps(pair, found).iter().map(|(step, n)| format!("{n}{step}")).collect();
    or_star(&text).to_owned()
}

/// The steps of a path as letters of CIGAR.
fn steps(pair: Pair, found: &Alignment) -> Vec<(char, usize)> {
    let mut steps: Vec<(char, usize)> = vec![];
    let (mut i, mut j) = (found.query.start, found.subject.start);
    for &(step, length) in &found.path {
        match step {
            Step::Pair => {
                for k in 0..length {
                    let is_equal = same(pair.query.letters[i + k], pair.subject.letters[j + k]);
                    let letter = if is_equal { '=' } else { 'X' };
                    match steps.last_mut() {
                        Some((last, n)) if *last == letter => *n += 1,
                        _ => steps.push((letter, 1)),
                    }
                }
                (i, j) = (i + length, j + length);
            }
            Step::Query => {
                steps.push(('I', length));
                i += length;
            }
            Step::Subject => {
                steps.push(('D', length));
                j += length;
            }
        }
    }
    steps
}

fn same(a: u8, b: u8) -> bool {
    a.eq_ignore_ascii_case(&b)
}

/// Letters in a row of readable output.
const COLUMNS: usize = 60;

/// Aligned letters below each other, with marks between equal ones.
pub fn human(out: &mut dyn Write, pair: Pair, found: &Alignment, is_coloured: bool) -> Result<()> {
    let steps = steps(pair, found);
    let (query, subject) = (&found.query, &found.subject);
    writeln!(out, "{} {}-{}", pair.query.name, query.start + query.len().min(1), query.end)?;
    writeln!(out, "{} {}-{}", pair.subject.name, subject.start + subject.len().min(1), subject.end)?;
    let count =
        |wanted: &[char]| steps.iter().filter(|run| wanted.contains(&run.0)).map(|run| run.1).sum::<usize>();
    let (n_equal, n_all) = (count(&['=']), count(&['=', 'X', 'I', 'D']));
    let percent = 100.0 * n_equal as f64 / n_all.max(1) as f64;
    let n_gaps = count(&['I', 'D']);
    writeln!(out, "score {}, {n_equal} of {n_all} equal ({percent:.1} %), {n_gaps} in gaps\n", found.score)?;
    let columns: Vec<char> = steps.iter().flat_map(|&(step, n)| std::iter::repeat_n(step, n)).collect();
    let (mut i, mut j) = (query.start, subject.start);
    for row in columns.chunks(COLUMNS) {
        let (from_i, from_j) = (i, j);
        let [mut above, mut marks, mut below] = [const { String::new() }; 3];
        for &step in row {
            let upper = if step == 'D' { '-' } else { char::from(pair.query.letters[i]) };
            let lower = if step == 'I' { '-' } else { char::from(pair.subject.letters[j]) };
            above += &coloured(upper, step, is_coloured);
            below += &coloured(lower, step, is_coloured);
            marks.push(if step == '=' { '|' } else { ' ' });
            i += usize::from(step != 'D');
            j += usize::from(step != 'I');
        }
        writeln!(out, "{:>9} {above} {i}", from_i + usize::from(i > from_i))?;
        writeln!(out, "{:>9} {}", "", marks.trim_end())?;
        writeln!(out, "{:>9} {below} {j}\n", from_j + usize::from(j > from_j))?;
    }
    Ok(())
}

/// A letter in the colour of its step: green for equal ones, red for different ones, yellow for gaps.
fn coloured(letter: char, step: char, is_coloured: bool) -> String {
    let colour = match step {
        '=' => 32,
        'X' => 31,
        _ => 33,
    };
    if is_coloured { format!("\x1b[{colour}m{letter}\x1b[0m") } else { letter.to_string() }
}
