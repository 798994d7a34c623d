//! Formats of results: TSV, CIGAR, SAM, PAF, and text for people.

use std::io::{Result, Write};

use crate::kernel::{Alignment, Step};
use crate::sequences::Sequence;

/// A pair with its names and letters.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub query: &'a Sequence,
    pub subject: &'a Sequence,
}

impl Pair<'_> {
    /// The strand of the query.
    fn strand(self) -> char {
        if self.query.is_reversed { '-' } else { '+' }
    }
}

pub fn score(out: &mut dyn Write, pair: Pair, score: i32, has_strand: bool) -> Result<()> {
    write!(out, "{}\t{}\t{score}", pair.query.name, pair.subject.name)?;
    if has_strand { writeln!(out, "\t{}", pair.strand()) } else { writeln!(out) }
}

/// Name of the query, its range, name of the subject, its range, score, path, and the strand if both were tried.
pub fn cigar(out: &mut dyn Write, pair: Pair, found: &Alignment, has_strand: bool) -> Result<()> {
    let Alignment { score, subject, .. } = found;
    let path = text_of_path(&steps(pair, found));
    let query = pair.query.range_in_file(&found.query);
    let (query_name, subject_name) = (&pair.query.name, &pair.subject.name);
    write!(
        out,
        "{query_name}\t{}\t{}\t{subject_name}\t{}\t{}\t{score}\t{path}",
        query.start, query.end, subject.start, subject.end
    )?;
    if has_strand { writeln!(out, "\t{}", pair.strand()) } else { writeln!(out) }
}

/// The lines of SAM before the first alignment.
pub fn sam_header(out: &mut dyn Write, subjects: &[Sequence]) -> Result<()> {
    writeln!(out, "@HD\tVN:1.6\tSO:unknown")?;
    for subject in subjects {
        writeln!(out, "@SQ\tSN:{}\tLN:{}", subject.name, subject.letters.len())?;
    }
    writeln!(out, "@PG\tID:nyala-align\tPN:nyala-align\tVN:{}", env!("CARGO_PKG_VERSION"))
}

/// The alignments of one query: the best one is primary, the others are secondary ones. A query without any is unmapped.
pub fn sam(out: &mut dyn Write, all: &[(Pair, Alignment)]) -> Result<()> {
    let aligned: Vec<_> = all.iter().filter(|(_, found)| !found.path.is_empty()).collect();
    // Of equal scores, the first one.
    let best = (0..aligned.len()).rev().max_by_key(|&i| aligned[i].1.score);
    for (i, (pair, found)) in aligned.iter().enumerate() {
        sam_line(out, *pair, found, best == Some(i))?;
    }
    if let (None, Some((pair, _))) = (best, all.first()) {
        let (query, (letters, qualities)) = (&pair.query.name, text_of_query(*pair));
        writeln!(out, "{query}\t4\t*\t0\t0\t*\t*\t0\t0\t{letters}\t{qualities}")?;
    }
    Ok(())
}

fn sam_line(out: &mut dyn Write, pair: Pair, found: &Alignment, is_primary: bool) -> Result<()> {
    let clip = |n: usize| if n == 0 { String::new() } else { format!("{n}S") };
    let (before, after) = (clip(found.query.start), clip(pair.query.letters.len() - found.query.end));
    let steps = steps(pair, found);
    let (path, distance) = (text_of_path(&steps), distance(&steps));
    let flags = if pair.query.is_reversed { 16 } else { 0 } + if is_primary { 0 } else { 256 };
    // The letters are in the primary line.
    let (letters, qualities) = if is_primary { text_of_query(pair) } else { ("*".into(), "*".into()) };
    let (query, subject, score) = (&pair.query.name, &pair.subject.name, found.score);
    let start = found.subject.start + 1;
    writeln!(
        out,
        "{query}\t{flags}\t{subject}\t{start}\t255\t{before}{path}{after}\t*\t0\t0\t{letters}\t{qualities}\tAS:i:{score}\tNM:i:{distance}"
    )
}

fn text_of_query(pair: Pair) -> (String, String) {
    let text = |all: &[u8]| or_star(&String::from_utf8_lossy(all)).to_owned();
    (text(&pair.query.letters), text(&pair.query.qualities))
}

/// The number of letters that differ or are in gaps.
fn distance(steps: &[(char, usize)]) -> usize {
    steps.iter().filter(|run| run.0 != '=').map(|run| run.1).sum()
}

/// Whether SAM allows the name for a query.
pub fn is_query_name(name: &str) -> bool {
    name.len() <= 254 && name.bytes().all(|letter| letter.is_ascii_graphic() && letter != b'@')
}

/// Whether SAM allows the name for a subject.
pub fn is_subject_name(name: &str) -> bool {
    let is_allowed = |letter: u8| letter.is_ascii_graphic() && !b"\\,\"`'()[]{}<>".contains(&letter);
    name.bytes().all(is_allowed) && !name.starts_with(['*', '='])
}

fn or_star(text: &str) -> &str {
    if text.is_empty() { "*" } else { text }
}

pub fn paf(out: &mut dyn Write, pair: Pair, found: &Alignment) -> Result<()> {
    let steps = steps(pair, found);
    let n_all = steps.iter().map(|run| run.1).sum::<usize>();
    let n_equal = n_all - distance(&steps);
    let Alignment { subject, score, .. } = found;
    let query = pair.query.range_in_file(&found.query);
    writeln!(
        out,
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{n_equal}\t{n_all}\t255\tAS:i:{score}\tNM:i:{}\tcg:Z:{}",
        pair.query.name,
        pair.query.letters.len(),
        query.start,
        query.end,
        pair.strand(),
        pair.subject.name,
        pair.subject.letters.len(),
        subject.start,
        subject.end,
        distance(&steps),
        text_of_path(&steps)
    )
}

/// Steps in the format CIGAR, with `=` and `X` for equal and different letters; `*` if there are none.
fn text_of_path(steps: &[(char, usize)]) -> String {
    let text: String = steps.iter().map(|(step, n)| format!("{n}{step}")).collect();
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
    let strand = if pair.query.is_reversed { " reverse complement" } else { "" };
    writeln!(out, "{} {}-{}{strand}", pair.query.name, query.start + query.len().min(1), query.end)?;
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
