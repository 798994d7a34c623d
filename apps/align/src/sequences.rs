//! Sequences in files: FASTA and FASTQ, also compressed by gzip. Errors name the file and the line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::bufread::MultiGzDecoder;

use crate::cli::Letters;

/// A sequence with the letters of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The header up to the first space.
    pub name: String,
    pub letters: Vec<u8>,
    /// One for each letter in FASTQ, none in FASTA.
    pub qualities: Vec<u8>,
    /// The line of the header.
    pub line: usize,
    /// Whether this is the reverse complement of the sequence in the file.
    pub is_reversed: bool,
}

impl Sequence {
    /// The other strand of DNA.
    pub fn reverse_complement(&self) -> Sequence {
        Sequence {
            name: self.name.clone(),
            letters: self.letters.iter().rev().map(|&letter| complement(letter)).collect(),
            qualities: self.qualities.iter().rev().copied().collect(),
            line: self.line,
            is_reversed: !self.is_reversed,
        }
    }

    /// A range of its letters, as a range of those in the file.
    pub fn range_in_file(&self, range: &Range<usize>) -> Range<usize> {
        let n = self.letters.len();
        if self.is_reversed { n - range.end..n - range.start } else { range.clone() }
    }
}

/// The nucleotide on the other strand; an ambiguity code stands for those of its nucleotides.
fn complement(letter: u8) -> u8 {
    const PAIRS: [[u8; 2]; 6] = [*b"AT", *b"CG", *b"MK", *b"RY", *b"VB", *b"HD"];
    let upper = match letter.to_ascii_uppercase() {
        b'U' => b'A',
        upper => PAIRS
            .iter()
            .find_map(|&[a, b]| if upper == a { Some(b) } else { (upper == b).then_some(a) })
            .unwrap_or(upper),
    };
    if letter.is_ascii_lowercase() { upper.to_ascii_lowercase() } else { upper }
}

/// The most letters of a sequence: lengths in kernels are of the type `i32`, with room for sums of two.
const MAX_LETTERS: usize = 500_000_000;

/// Letters of nucleotides and the ambiguity codes of IUPAC.
const NUCLEOTIDES: &[u8] = b"ACGTUMRWSYKVHDBN";

/// Some programs begin texts in UTF-8 with it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// All sequences of a file; `-` is standard input.
pub fn read(path: &Path, letters: Letters) -> Result<Vec<Sequence>> {
    let file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?)
    };
    let mut file = BufReader::new(file);
    let start = file.fill_buf().with_context(|| format!("cannot read `{}`", path.display()))?;
    let is_compressed = start.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> =
        if is_compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    parse(BufReader::new(text), &path.display().to_string(), letters)
}

/// The sequences of a text; `name` is that of its file.
pub fn parse(text: impl BufRead, name: &str, letters: Letters) -> Result<Vec<Sequence>> {
    let mut lines = Lines { text, name, letters, number: 0, line: vec![] };
    let mut sequences = vec![];
    let mut is_first = true;
    while is_first || !lines.line.is_empty() {
        if is_first && !lines.next_full()? {
            bail!("{name}: there is no sequence");
        }
        is_first = false;
        let sequence = match lines.line[0] {
            b'>' => lines.fasta()?,
            b'@' => lines.fastq()?,
            _ => return lines.fail("expected a header, which begins with `>` (FASTA) or `@` (FASTQ)"),
        };
        sequences.push(sequence);
    }
    Ok(sequences)
}

struct Lines<'a, Text> {
    text: Text,
    name: &'a str,
    letters: Letters,
    number: usize,
    /// The current line without its end; empty at the end of the file.
    line: Vec<u8>,
}

impl<Text: BufRead> Lines<'_, Text> {
    /// Reads the next line that is not empty; false at the end of the file.
    fn next_full(&mut self) -> Result<bool> {
        while self.next()? {
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next line, without space at its end.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        let n = self.text.read_until(b'\n', &mut self.line);
        let n = n.with_context(|| format!("{}:{}: cannot read", self.name, self.number + 1))?;
        self.line.truncate(self.line.trim_ascii_end().len());
        if self.number == 0 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        self.number += 1;
        if self.line.contains(&b'\r') {
            return self.fail("there is a carriage return inside the line; lines end with a line feed");
        }
        Ok(n > 0)
    }

    fn fail<T>(&self, message: &str) -> Result<T> {
        bail!("{}:{}: {message}", self.name, self.number)
    }

    /// A sequence without letters, by its header.
    fn header(&self) -> Result<Sequence> {
        let header = String::from_utf8_lossy(&self.line[1..]).into_owned();
        let Some(name) = header.split_whitespace().next() else {
            return self.fail("the sequence has no name");
        };
        Ok(Sequence {
            name: name.to_owned(),
            letters: vec![],
            qualities: vec![],
            line: self.number,
            is_reversed: false,
        })
    }

    /// A sequence on several lines, up to the next header.
    fn fasta(&mut self) -> Result<Sequence> {
        let mut sequence = self.header()?;
        while self.next_full()? && self.line[0] != b'>' {
            self.add_letters(&mut sequence)?;
        }
        Ok(sequence)
    }

    /// A sequence on one line, `+`, and a line with as many qualities.
    fn fastq(&mut self) -> Result<Sequence> {
        let mut sequence = self.header()?;
        self.next()?;
        self.add_letters(&mut sequence)?;
        if !self.next()? || self.line.first() != Some(&b'+') {
            return self.fail("expected `+` after the letters");
        }
        self.next()?;
        if self.line.len() != sequence.letters.len() {
            let (found, wanted) = (self.line.len(), sequence.letters.len());
            return self.fail(&format!("there are {found} qualities for {wanted} letters"));
        }
        if let Some(wrong) = self.line.iter().find(|quality| !quality.is_ascii_graphic()) {
            return self.fail(&format!("`{}` is not a quality", wrong.escape_ascii()));
        }
        sequence.qualities.clone_from(&self.line);
        self.next_full()?;
        Ok(sequence)
    }

    fn add_letters(&self, sequence: &mut Sequence) -> Result<()> {
        if let Some(&wrong) =
            self.line.iter().find(|letter| !letter.is_ascii_alphabetic() && **letter != b'*')
        {
            return self.fail(&format!("`{}` is not a letter of a sequence", wrong.escape_ascii()));
        }
        let is_nucleotide = |letter: &&u8| NUCLEOTIDES.contains(&letter.to_ascii_uppercase());
        if self.letters == Letters::Dna
            && let Some(&wrong) = self.line.iter().find(|letter| !is_nucleotide(letter))
        {
            let wrong = char::from(wrong);
            return self.fail(&format!("`{wrong}` is not a nucleotide; `--letters protein` is for proteins"));
        }
        sequence.letters.extend_from_slice(&self.line);
        if sequence.letters.len() > MAX_LETTERS {
            return self.fail(&format!("the sequence has more than {MAX_LETTERS} letters"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String)>> {
        let letters = |sequence: Sequence| (sequence.name, String::from_utf8(sequence.letters).unwrap());
        Ok(parse(text.as_bytes(), "file", Letters::Dna)?.into_iter().map(letters).collect())
    }

    fn error(text: &str) -> String {
        parsed(text).unwrap_err().to_string()
    }

    #[test]
    fn fasta_has_letters_on_several_lines() {
        let found = parsed("\n>a first\nAC\n\nGT\r\n>b\n>c\nN\n").unwrap();
        let wanted = [("a", "ACGT"), ("b", ""), ("c", "N")];
        assert_eq!(found, wanted.map(|(name, letters)| (name.to_owned(), letters.to_owned())));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(parsed("\u{feff}>a\nAC\n").unwrap(), [("a".to_owned(), "AC".to_owned())]);
        assert_eq!(error("\u{feff}"), "file: there is no sequence");
    }

    #[test]
    fn fastq_has_qualities() {
        let found = parsed("@a\nACGT\n+\n@@@@\n@b\nA\n+b\nI").unwrap();
        assert_eq!(found, [("a", "ACGT"), ("b", "A")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn the_other_strand_has_complements_in_reverse_order() {
        let sequence =
            &parse(&b"@a\nACGTUmrwsykvhdbN\n+\nABCDEFGHIJKLMNOP\n"[..], "file", Letters::Dna).unwrap()[0];
        let other = sequence.reverse_complement();
        assert_eq!(other.letters.escape_ascii().to_string(), "NvhdbmrswykAACGT");
        assert_eq!(other.qualities.escape_ascii().to_string(), "PONMLKJIHGFEDCBA");
        assert_eq!(other.range_in_file(&(1..3)), 13..15);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(error(""), "file: there is no sequence");
        assert_eq!(
            error("ACGT\n"),
            "file:1: expected a header, which begins with `>` (FASTA) or `@` (FASTQ)"
        );
        assert_eq!(error(">a\nAC\nA-C\n"), "file:3: `-` is not a letter of a sequence");
        assert_eq!(
            error(">a\nACE\n"),
            "file:2: `E` is not a nucleotide; `--letters protein` is for proteins"
        );
        assert_eq!(
            error(">a\nAC\rGT\n"),
            "file:2: there is a carriage return inside the line; lines end with a line feed"
        );
        assert_eq!(error("> \nA\n"), "file:1: the sequence has no name");
        assert_eq!(error("@a\nACG\n+\nII\n"), "file:4: there are 2 qualities for 3 letters");
        assert_eq!(error("@a\nACG\n+\nI\x07I\n"), "file:4: `\\x07` is not a quality");
        assert_eq!(error("@a\nACG\n"), "file:3: expected `+` after the letters");
    }
}
