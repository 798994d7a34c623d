//! Pairs of sequences: synthetic DNA with substitutions, insertions and deletions.

/// A case, as in `bench/align/peer.h`.
#[repr(C)]
pub struct Setting {
    /// 0 global, 1 semi-global, 2 local.
    pub mode: i32,
    /// The cost of the first letter of a gap, and of each other one; `first` is 0 for edit distances.
    pub first: i32,
    pub next: i32,
    pub has_path: i32,
}

/// Pairs, one after the other.
pub struct Pairs {
    pub queries: Vec<u8>,
    pub query_starts: Vec<i32>,
    pub subjects: Vec<u8>,
    pub subject_starts: Vec<i32>,
}

/// The sets: many short pairs, and single long ones.
pub fn sets(quick: bool) -> Vec<(&'static str, Pairs)> {
    let mut sets = vec![
        ("reads", Pairs::random(if quick { 2000 } else { 20_000 }, 150)),
        ("10k", Pairs::random(1, 10_000)),
    ];
    if !quick {
        sets.push(("100k", Pairs::random(1, 100_000)));
    }
    sets
}

/// The largest matrices that are checked with the recurrence of textbooks.
const MAX_CHECKED: f64 = 1.2e8;

impl Pairs {
    fn random(n: usize, length: usize) -> Pairs {
        let mut random = Random(0x9e37_79b9 + length as u64);
        let (mut queries, mut subjects) = (vec![], vec![]);
        let (mut query_starts, mut subject_starts) = (vec![0], vec![0]);
        for _ in 0..n {
            let query: Vec<u8> = (0..length).map(|_| random.letter()).collect();
            let mut subject = random.with_errors(&query);
            if n > 1 {
                // Reads have one length.
                subject.resize(length, b'A');
            }
            queries.extend(&query);
            subjects.extend(&subject);
            query_starts.push(queries.len() as i32);
            subject_starts.push(subjects.len() as i32);
        }
        Pairs { queries, query_starts, subjects, subject_starts }
    }

    pub fn len(&self) -> usize {
        self.query_starts.len() - 1
    }

    fn pair(&self, i: usize) -> (&[u8], &[u8]) {
        let range = |starts: &[i32]| starts[i] as usize..starts[i + 1] as usize;
        (&self.queries[range(&self.query_starts)], &self.subjects[range(&self.subject_starts)])
    }

    pub fn n_cells(&self) -> f64 {
        (0..self.len())
            .map(|i| self.pair(i))
            .map(|(query, subject)| (query.len() * subject.len()) as f64)
            .sum()
    }

    /// The sum of the scores by the recurrence of textbooks, unless that takes too long.
    pub fn expected(&self, setting: &Setting) -> Option<i64> {
        let is_small = self.n_cells() <= MAX_CHECKED;
        is_small.then(|| {
            (0..self.len()).map(|i| self.pair(i)).map(|(query, subject)| score(setting, query, subject)).sum()
        })
    }
}

fn score(setting: &Setting, query: &[u8], subject: &[u8]) -> i64 {
    let Setting { mode, first, next, .. } = *setting;
    let (same, different, first) = if first == 0 { (0, -1, next) } else { (2, -1, first) };
    let never = i32::MIN / 2;
    let start = |i: usize| if mode > 0 || i == 0 { 0 } else { -(first + (i as i32 - 1) * next) };
    let mut above: Vec<i32> = (0..=subject.len()).map(start).collect();
    let mut gaps = vec![never; subject.len() + 1];
    let mut best = if mode == 1 { above[subject.len()] } else { 0 };
    for (i, a) in query.iter().enumerate() {
        let (mut diagonal, mut gap) = (above[0], never);
        above[0] = start(i + 1);
        for (j, b) in subject.iter().enumerate() {
            gaps[j + 1] = (gaps[j + 1] - next).max(above[j + 1] - first);
            gap = (gap - next).max(above[j] - first);
            let pair = diagonal + if a == b { same } else { different };
            let cell = pair.max(gaps[j + 1]).max(gap).max(if mode == 2 { 0 } else { never });
            diagonal = above[j + 1];
            above[j + 1] = cell;
            if mode == 2 {
                best = best.max(cell);
            }
        }
        if mode == 1 {
            best = best.max(above[subject.len()]);
        }
    }
    let last = above[subject.len()];
    i64::from(match mode {
        0 => last,
        1 => above.into_iter().fold(best, i32::max),
        _ => best,
    })
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 16) % n
    }

    fn letter(&mut self) -> u8 {
        b"ACGT"[self.below(4) as usize]
    }

    /// A copy with 8 % substitutions, and 1 % each of short insertions and deletions.
    fn with_errors(&mut self, letters: &[u8]) -> Vec<u8> {
        let mut copy = vec![];
        let mut n_deleted = 0;
        for &letter in letters {
            if n_deleted > 0 {
                n_deleted -= 1;
                continue;
            }
            match self.below(100) {
                0 => {
                    for _ in 0..=self.below(4) {
                        copy.push(self.letter());
                    }
                    copy.push(letter);
                }
                1 => n_deleted = self.below(4),
                2..10 => copy.push(self.letter()),
                _ => copy.push(letter),
            }
        }
        copy
    }
}
