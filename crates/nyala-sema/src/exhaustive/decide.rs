//! Which arms can be reached, and which values none of them matches.
//!
//! # How it works
//!
//! An arm is a conjunction of [`Test`]s: "the value at this [`Occurrence`] was built by
//! this [`Ctor`]". An occurrence is a way into the matched value: the value itself, a
//! part of a product, or a part of an option's payload *given that option*.
//! So a test of a payload implies the test of its option, and an arm holds exactly
//! the tests of its pattern. Ignored parts take no space.
//!
//! [`decide`] performs the tests of a compiled match. The next test is the first open test
//! of the first arm that may still match. Its answers split the arms, with one more
//! answer for the constructors that no arm names. If the first arm has no open test, it is
//! reached. If no arm is left, the answers describe a value that no arm matches. This is
//! Maranget's usefulness ("Warnings for pattern matching", 2007), for all arms at once.
//!
//! # Invariants
//!
//! * Occurrences are numbered with parents before parts, and an arm's tests are sorted:
//!   a test comes after those it implies.
//! * The number of branches can be exponential in the number of tests, so the
//!   work is limited by `BASE_BUDGET`. The stack of the search is explicit.

use cranelift_entity::{SecondaryMap, entity_impl};
use rustc_hash::FxHashMap;

/// The number of arms that the search may visit for a match, however small it is.
/// Beyond the budget, exhaustiveness counts as not proven, and every arm as reachable.
const BASE_BUDGET: usize = 100_000;

/// The budget that each test adds.
const BUDGET_PER_TEST: usize = 100;

/// The maximum number of unmatched values in one report.
pub const MAX_WITNESSES: usize = 4;

/// A way into the matched value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Occurrence(u32);
entity_impl!(Occurrence, "at");

impl Occurrence {
    /// The matched value itself.
    pub const ROOT: Occurrence = Occurrence(0);
}

/// A constructor: an option of an enum, or a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ctor {
    /// An option's tag, or the bits of an integer, zero-extended.
    pub tag: u64,
    /// The largest tag of the type; all tags from 0 on exist.
    pub max_tag: u64,
    /// Whether it is an option: missing options are listed one by one.
    pub is_option: bool,
}

/// "The value at `at` was built by `ctor`."
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Test {
    /// The tested part of the value.
    pub at: Occurrence,
    /// The expected constructor.
    pub ctor: Ctor,
}

/// The arms of a match, as tests.
#[derive(Default)]
pub struct Matrix {
    parts: FxHashMap<(Occurrence, u64, u32), Occurrence>,
    /// The number of the last occurrence handed out.
    last: u32,
    arms: Vec<Vec<Test>>,
}

impl Matrix {
    /// Part `index` of the value at `at`, if that was built by the constructor `tag`; for
    /// products, which have one constructor, the tag is 0.
    pub fn part(&mut self, at: Occurrence, tag: u64, index: u32) -> Occurrence {
        *self.parts.entry((at, tag, index)).or_insert_with(|| {
            self.last += 1;
            Occurrence(self.last)
        })
    }

    /// As [`Matrix::part`], if an arm tests it.
    pub fn known_part(&self, at: Occurrence, tag: u64, index: u32) -> Option<Occurrence> {
        self.parts.get(&(at, tag, index)).copied()
    }

    /// Adds an arm that matches where all `tests` hold.
    pub fn push_arm(&mut self, mut tests: Vec<Test>) {
        // The only constructor of a type needs no test.
        tests.retain(|test| test.ctor.max_tag > 0);
        tests.sort_unstable();
        self.arms.push(tests);
    }

    /// Whether arm `arm` matches everything.
    pub fn is_irrefutable(&self, arm: usize) -> bool {
        self.arms[arm].is_empty()
    }

    /// For each arm, the first one that makes the same tests.
    pub fn first_equals(&self) -> Vec<usize> {
        let mut first = FxHashMap::default();
        self.arms.iter().enumerate().map(|(arm, tests)| *first.entry(tests).or_insert(arm)).collect()
    }

    fn budget(&self) -> usize {
        let n_tests: usize = self.arms.iter().map(Vec::len).sum();
        BASE_BUDGET + BUDGET_PER_TEST * n_tests
    }
}

/// A value that no arm matches: constructors at some occurrences, any value at others.
pub type Witness = FxHashMap<Occurrence, Ctor>;

/// The result for a match.
pub struct Decided {
    /// For each arm, whether some value reaches it.
    pub reached: Vec<bool>,
    /// Values that no arm matches, at most [`MAX_WITNESSES`].
    pub witnesses: Vec<Witness>,
}

/// The work exceeded its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooComplex;

/// Finds the reachable arms and the values that no arm matches.
pub fn decide(matrix: &Matrix) -> Result<Decided, TooComplex> {
    let mut search = Search {
        matrix,
        answers: SecondaryMap::new(),
        path: vec![],
        stack: vec![],
        work_left: matrix.budget(),
        decided: Decided { reached: vec![false; matrix.arms.len()], witnesses: vec![] },
    };
    search.visit((0..matrix.arms.len()).collect(), 0)?;
    while let Some(step) = search.stack.pop() {
        match step {
            Step::Retract => search.retract(),
            Step::Branch(branch) => {
                search.answer(branch.answer);
                search.visit(branch.rows, branch.first_open)?;
            }
        }
    }
    Ok(search.decided)
}

/// A step of the search.
enum Step {
    /// Enter a branch.
    Branch(Branch),
    /// Undo the last answer.
    Retract,
}

/// One answer to a test.
struct Branch {
    answer: Test,
    /// The arms that may still match, in order.
    rows: Vec<usize>,
    /// The tests of the first arm before this one are known to hold.
    first_open: usize,
}

struct Search<'a> {
    matrix: &'a Matrix,
    /// The answers so far, by occurrence.
    answers: SecondaryMap<Occurrence, Option<Ctor>>,
    /// The answered occurrences, in order.
    path: Vec<Occurrence>,
    stack: Vec<Step>,
    work_left: usize,
    decided: Decided,
}

impl Search<'_> {
    fn answer(&mut self, answer: Test) {
        self.answers[answer.at] = Some(answer.ctor);
        self.path.push(answer.at);
        self.stack.push(Step::Retract);
    }

    fn retract(&mut self) {
        if let Some(at) = self.path.pop() {
            self.answers[at] = None;
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), TooComplex> {
        self.work_left = self.work_left.checked_sub(work).ok_or(TooComplex)?;
        Ok(())
    }

    fn visit(&mut self, rows: Vec<usize>, first_open: usize) -> Result<(), TooComplex> {
        let Some(&first) = rows.first() else {
            self.add_witness(None);
            return Ok(());
        };
        let tests = &self.matrix.arms[first];
        let open = (first_open..tests.len()).find(|&i| self.answers[tests[i].at].is_none());
        self.spend(1 + open.unwrap_or(tests.len()) - first_open)?;
        match open {
            None => {
                self.decided.reached[first] = true;
                Ok(())
            }
            Some(open) => self.split(rows, open),
        }
    }

    /// Splits the rows by the test `open` of the first row.
    fn split(&mut self, rows: Vec<usize>, open: usize) -> Result<(), TooComplex> {
        let first = rows[0];
        let question = self.matrix.arms[first][open];
        // The arms that name a constructor, by constructor, and those that accept any.
        let mut named: Vec<(u64, usize)> = vec![];
        let mut any: Vec<usize> = vec![];
        for row in rows {
            let tests = &self.matrix.arms[row];
            match tests.binary_search_by_key(&question.at, |test| test.at) {
                Ok(i) => named.push((tests[i].ctor.tag, row)),
                Err(_) => any.push(row),
            }
        }
        named.sort_unstable();
        self.others(question, &named, &any)?;
        for group in named.chunk_by(|a, b| a.0 == b.0).rev() {
            self.spend(group.len() + any.len())?;
            let mut rows: Vec<usize> = group.iter().map(|&(_, row)| row).chain(any.iter().copied()).collect();
            rows.sort_unstable();
            let first_open = if rows[0] == first { open } else { 0 };
            let ctor = Ctor { tag: group[0].0, ..question.ctor };
            let answer = Test { ctor, ..question };
            self.stack.push(Step::Branch(Branch { answer, rows, first_open }));
        }
        Ok(())
    }

    /// The answer that no arm names, if there is one.
    fn others(&mut self, question: Test, named: &[(u64, usize)], any: &[usize]) -> Result<(), TooComplex> {
        let tags = named.iter().map(|&(tag, _)| tag);
        let limit = if any.is_empty() && question.ctor.is_option { MAX_WITNESSES } else { 1 };
        let missing = missing_tags(tags, question.ctor.max_tag, limit);
        let answers = missing.iter().map(|&tag| Test { ctor: Ctor { tag, ..question.ctor }, ..question });
        if any.is_empty() {
            answers.for_each(|answer| self.add_witness(Some(answer)));
            return Ok(());
        }
        for answer in answers {
            self.spend(any.len())?;
            self.stack.push(Step::Branch(Branch { answer, rows: any.to_vec(), first_open: 0 }));
        }
        Ok(())
    }

    /// Records that no arm matches the answers so far and `last`.
    fn add_witness(&mut self, last: Option<Test>) {
        if self.decided.witnesses.len() < MAX_WITNESSES {
            let answered = self.path.iter().filter_map(|&at| Some((at, self.answers[at]?)));
            let last = last.map(|test| (test.at, test.ctor));
            self.decided.witnesses.push(answered.chain(last).collect());
        }
    }
}

/// The smallest numbers up to `max_tag` that are not in the sorted `tags`, `limit` at most.
fn missing_tags(tags: impl Iterator<Item = u64>, max_tag: u64, limit: usize) -> Vec<u64> {
    let mut missing = vec![];
    // The smallest tag that may be missing; `None` after the largest.
    let mut next = Some(0);
    for tag in tags {
        if let Some(from) = next {
            missing.extend((from..tag).take(limit - missing.len()));
        }
        next = tag.checked_add(1);
    }
    if let Some(from) = next {
        missing.extend((from..=max_tag).take(limit - missing.len()));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOL: u64 = 1;

    /// A pattern over `u64` tags: anything, or a constructor `tag` of `max_tag + 1` with parts.
    enum Pat {
        Any,
        Of(u64, u64, Vec<Pat>),
    }
    use Pat::{Any, Of};

    fn lit(tag: u64, max_tag: u64) -> Pat {
        Of(tag, max_tag, vec![])
    }

    fn tuple(parts: impl IntoIterator<Item = Pat>) -> Pat {
        Of(0, 0, parts.into_iter().collect())
    }

    fn add_tests(matrix: &mut Matrix, at: Occurrence, pat: Pat, tests: &mut Vec<Test>) {
        if let Of(tag, max_tag, parts) = pat {
            tests.push(Test { at, ctor: Ctor { tag, max_tag, is_option: true } });
            for (i, part) in (0..).zip(parts) {
                let part_at = matrix.part(at, tag, i);
                add_tests(matrix, part_at, part, tests);
            }
        }
    }

    fn matrix(arms: impl IntoIterator<Item = Pat>) -> Matrix {
        let mut matrix = Matrix::default();
        for pat in arms {
            let mut tests = vec![];
            add_tests(&mut matrix, Occurrence::ROOT, pat, &mut tests);
            matrix.push_arm(tests);
        }
        matrix
    }

    /// Whether the arms are exhaustive, and which are never reached.
    fn check(arms: Vec<Pat>, exhaustive: bool, unreachable: &[usize]) {
        let decided = decide(&matrix(arms)).expect("small enough");
        assert_eq!(decided.witnesses.is_empty(), exhaustive);
        let found: Vec<usize> = (0..decided.reached.len()).filter(|&arm| !decided.reached[arm]).collect();
        assert_eq!(found, unreachable);
    }

    #[test]
    fn a_match_without_arms_covers_no_value() {
        check(vec![], false, &[]);
    }

    #[test]
    fn all_constructors_cover_everything() {
        check(vec![lit(0, BOOL), lit(1, BOOL)], true, &[]);
        check(vec![lit(1, BOOL)], false, &[]);
        check(vec![lit(0, BOOL), lit(1, BOOL), Any], true, &[2]);
        check((0..=255).map(|byte| lit(byte, 255)).collect(), true, &[]);
        check((0..=254).map(|byte| lit(byte, 255)).collect(), false, &[]);
    }

    #[test]
    fn the_second_arm_of_a_constructor_is_unreachable() {
        check(vec![lit(3, u64::MAX), lit(u64::MAX, u64::MAX), lit(3, u64::MAX), Any], true, &[2]);
    }

    #[test]
    fn combinations_of_parts_are_checked() {
        let both = |a, b| tuple([lit(a, BOOL), lit(b, BOOL)]);
        check(vec![both(0, 0), both(0, 1), both(1, 0)], false, &[]);
        check(vec![both(0, 0), both(0, 1), both(1, 0), both(1, 1)], true, &[]);
        check(vec![tuple([Any, lit(0, BOOL)]), tuple([lit(0, BOOL), Any]), both(1, 1), Any], true, &[3]);
    }

    #[test]
    fn a_test_of_a_payload_implies_its_option() {
        let some = |payload| Of(1, 1, vec![payload]);
        check(vec![some(lit(0, BOOL)), lit(0, 1)], false, &[]);
        check(vec![some(lit(0, BOOL)), lit(0, 1), some(lit(1, BOOL))], true, &[]);
        check(vec![some(Any), some(lit(1, BOOL)), lit(0, 1)], true, &[1]);
    }

    #[test]
    fn wide_matches_are_linear() {
        let arms = (0..50_000).map(|tag| lit(tag, u64::MAX)).chain([Any]);
        assert!(decide(&matrix(arms)).is_ok_and(|decided| decided.witnesses.is_empty()));
        let wide = tuple((0..20_000).map(|i| lit(i % 2, BOOL)));
        assert!(decide(&matrix([wide, Any])).is_ok_and(|decided| decided.reached == [true, true]));
    }

    #[test]
    fn exponential_matches_exceed_the_budget() {
        // Row i tests only two adjacent parts, so answers rarely exclude a row.
        let n = 60;
        let row = |i: usize| tuple((0..n).map(|part| if part / 2 == i { lit(1, BOOL) } else { Any }));
        assert_eq!(decide(&matrix((0..n / 2).map(row))).err(), Some(TooComplex));
    }

    #[test]
    fn missing_tags_are_the_smallest() {
        assert_eq!(missing_tags([0, 1, 3].into_iter(), 9, 3), [2, 4, 5]);
        assert_eq!(missing_tags([0, 0, 1].into_iter(), 1, 3), []);
        assert_eq!(missing_tags([u64::MAX].into_iter(), u64::MAX, 1), [0]);
        assert_eq!(missing_tags((0..=255).chain([255]), 255, 1), []);
    }
}
