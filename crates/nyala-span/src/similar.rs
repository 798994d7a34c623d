//! The known name that an unknown one was probably meant to be.

/// Longer names are not compared.
const MAX_LEN: usize = 64;

/// The candidate that `wanted` was probably meant to be; ties go to the first in
/// alphabetical order. Names that begin with an underscore are not meant to be found.
pub fn most_similar<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > MAX_LEN {
        return None;
    }
    let limit = (wanted.len() / 3).max(1);
    candidates
        .filter(|text| text.len().abs_diff(wanted.len()) <= limit && !text.starts_with('_'))
        .map(|text| (edit_distance(wanted.as_bytes(), text.as_bytes()), text))
        .filter(|&(distance, text)| distance <= limit && distance > 0 && distance < text.len())
        .min()
        .map(|(_, text)| text)
}

/// How many letters to insert, delete, replace, or swap with a neighbour.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_one_edit() {
        assert_eq!(edit_distance(b"range", b"rnage"), 1);
        assert_eq!(edit_distance(b"range", b"orange"), 1);
        assert_eq!(edit_distance(b"", b"abc"), 3);
    }
}
