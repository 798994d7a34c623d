//! The library `align` on thousands of pairs, as native code: all modes, scorings and widths of scores agree with
//! the recurrence of textbooks, and the paths of alignments have their scores.

use nyala_driver::embed::Compiler;

const PROGRAM: &str = include_str!("library.impala");

/// Linear and affine gaps; scores of 8 bits, at the edges of 8 and 16 bits, and beyond; matrices. The alphabet of each: the last letter of 16 codes is N.
const SCORINGS: [(&str, i32); 11] = [
    ("matching(2, -1, linear(1))", 4),
    ("matching(2, -1, affine(2, 1))", 4),
    ("ambiguous(5, -4, affine(10, 1))", 16),
    ("matching(127, -100, affine(20, 7))", 2),
    ("matching(251, -200, linear(2))", 3),
    ("matching(252, -200, linear(2))", 3),
    ("matching(65000, -32768, affine(30, 200))", 2),
    ("matching(40000, -40000, affine(10000, 9000))", 4),
    ("matching(2, -70000, affine(2, 1))", 3),
    ("matching(2, 1, linear(0))", 4),
    ("blosum62(affine(10, 1))", 24),
];

/// The longest sequence of pairs.
const LONGEST: i32 = 4200;

/// All combinations of free ends.
const FREE_ENDS: i32 = 16;

/// Runs `check`, a call without its last arguments, for some of the scorings, local ones and those with all combinations of free ends, all in one program. Each has this number of pairs. Returns what was
/// wrong.
fn wrong(check: &str, scorings: &[(&str, i32)], is_local: &[bool], n_pairs: i32) -> Vec<String> {
    let mut cases = vec![];
    for &(scoring, alphabet) in scorings {
        cases.extend(is_local.iter().map(|&is_local| (scoring, alphabet, is_local)));
    }
    let function = |(i, (scoring, alphabet, is_local)): (usize, &(&str, i32, bool))| {
        format!(
            "extern fn case_{i}(free: i32, n: i32, seed: u32) -> i32 {{
                {check}, mode_of({is_local}, free), {scoring}, Set {{ count: n, longest: {LONGEST}, alphabet: {alphabet}, seed: seed }})
            }}\n"
        )
    };
    let functions: String = cases.iter().enumerate().map(function).collect();
    let module = Compiler::new().text("library.impala", format!("{PROGRAM}{functions}")).compile().unwrap();
    let mut found = vec![];
    for (i, (scoring, _, is_local)) in cases.iter().enumerate() {
        // SAFETY: the functions use no memory but their own.
        let case =
            unsafe { module.function::<extern "C" fn(i32, i32, u32) -> i32>(&format!("case_{i}")) }.unwrap();
        let modes = if *is_local { 1 } else { FREE_ENDS };
        for free in 0..modes {
            let n = n_pairs / modes;
            let n_wrong = case(free, n, 7 + 100 * i as u32 + free as u32);
            if n_wrong > 0 {
                found.push(format!("{n_wrong} of {n}: {scoring}, local: {is_local}, free ends: {free:04b}"));
            }
        }
    }
    found
}

#[test]
fn scores_and_paths_of_pairs() {
    assert_eq!(wrong("check(usual()", &SCORINGS, &[true, false], 160), [""; 0]);
}

#[test]
fn paths_through_many_blocks() {
    assert_eq!(wrong("check(narrow()", &SCORINGS[1..2], &[true, false], 800), [""; 0]);
}

/// 16 bits have no tiles that are wide enough for such scores, and local scores of few letters take most of 32 bits.
#[test]
fn scores_of_millions() {
    let program = |n: i32| {
        format!(
        "{PROGRAM}extern fn wrong(seed: u32) -> i32 {{
            check(narrow(), local(), matching(10000000, -900000000, affine(4000000, 3000000)), Set {{ count: 200, longest: {n}, alphabet: 2, seed: seed }})
        }}")
    };
    let module = Compiler::new().text("library.impala", program(12)).compile().unwrap();
    // SAFETY: the function uses no memory but its own.
    let wrong = unsafe { module.function::<extern "C" fn(u32) -> i32>("wrong") }.unwrap();
    assert_eq!(wrong(3), 0);
}

/// A stack has 2 MiB here. What the library allocates for a pair must not stay there until the loop ends.
#[test]
fn loops_of_alignments_keep_their_stack() {
    let program = format!(
        "{PROGRAM}extern fn wrong(n: i32) -> i32 {{
            let scoring = matching(2, -1, affine(2, 1));
            let (letters, runs) = (\"ACGTTAGC\", ~[16: i32]);
            let mut wrong = 0;
            for i in range(0, n) {{
                let query = sequence(letters, 1 + (i & 7));
                let found = align(vectors(4, 2), global(), scoring, query, query, runs).score + score(vectors(4, 2), global(), scoring, query, query)
                    + align_in_band(global(), scoring, query, query, -1, 1, runs).score;
                if found != 6 * query.length {{ wrong += 1 }}
            }}
            wrong
        }}"
    );
    let module = Compiler::new().text("library.impala", program).compile().unwrap();
    // SAFETY: the function uses no memory but its own.
    let wrong = unsafe { module.function::<extern "C" fn(i32) -> i32>("wrong") }.unwrap();
    assert_eq!(wrong(200_000), 0);
}

#[test]
fn scores_of_batches() {
    assert_eq!(wrong("check_batches(usual()", &SCORINGS, &[true, false], 320), [""; 0]);
}

#[test]
fn bands_and_extensions() {
    assert_eq!(wrong("check_bands(usual()", &SCORINGS[..3], &[false], 480), [""; 0]);
}

#[test]
fn scores_of_similar_sequences() {
    assert_eq!(wrong("check_near(usual()", &SCORINGS, &[false], 32), [""; 0]);
    assert_eq!(wrong("check_near(narrow()", &SCORINGS[1..2], &[false], 16), [""; 0]);
}
