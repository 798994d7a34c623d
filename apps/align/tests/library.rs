//! The library `align` on thousands of pairs, as native code: all modes, scorings and widths of scores agree with
//! the recurrence of textbooks, and the paths of alignments have their scores.

use nyala_driver::embed::Compiler;

const PROGRAM: &str = include_str!("library.impala");

/// Pairs per combination of mode and scoring.
const N_PAIRS: i32 = 200;

const MODES: [&str; 6] = [
    "global()",
    "semi_global()",
    "local()",
    "free_ends(true, false, false, false)",
    "free_ends(false, true, true, false)",
    "free_ends(false, false, false, true)",
];

/// Linear and affine gaps; scores of 8 bits, at the edges of 8 and 16 bits, and beyond; matrices.
const SCORINGS: [(&str, i32); 8] = [
    ("matching(2, -1, linear(1))", 4),
    ("matching(2, -1, affine(2, 1))", 4),
    ("ambiguous(5, -4, affine(10, 1))", 16),
    ("matching(251, -200, linear(2))", 3),
    ("matching(252, -200, linear(2))", 3),
    ("matching(65000, -32768, affine(30, 200))", 2),
    ("matching(40000, -40000, affine(10000, 9000))", 4),
    ("blosum62(affine(10, 1))", 24),
];

/// All modes with affine gaps, and all scorings with one of the modes.
fn cases() -> Vec<(&'static str, (&'static str, i32))> {
    let modes = MODES.iter().map(|&mode| (mode, SCORINGS[1]));
    let scorings = MODES.iter().cycle().zip(SCORINGS).map(|(&mode, scoring)| (mode, scoring));
    modes.chain(scorings).collect()
}

/// Runs `check` for each case, all in one program, and returns what was wrong.
fn wrong(check: &str) -> Vec<String> {
    let function = |(i, (mode, (scoring, alphabet))): (usize, &(&str, (&str, i32)))| {
        format!(
            "extern fn case_{i}(n: i32, seed: u32) -> i32 {{ {check}({mode}, {scoring}, {alphabet}, n, seed) }}\n"
        )
    };
    let cases = cases();
    let functions: String = cases.iter().enumerate().map(function).collect();
    let module = Compiler::new().text("library.impala", format!("{PROGRAM}{functions}")).compile().unwrap();
    let mut found = vec![];
    for (i, (mode, (scoring, _))) in cases.iter().enumerate() {
        // SAFETY: the functions use no memory but their own.
        let case =
            unsafe { module.function::<extern "C" fn(i32, u32) -> i32>(&format!("case_{i}")) }.unwrap();
        let n_wrong = case(N_PAIRS, 7 + i as u32);
        if n_wrong > 0 {
            found.push(format!("{n_wrong} of {N_PAIRS}: {mode}, {scoring}"));
        }
    }
    found
}

#[test]
fn scores_and_paths_of_pairs() {
    assert_eq!(wrong("check"), [""; 0]);
}

#[test]
fn scores_of_batches() {
    assert_eq!(wrong("check_batches"), [""; 0]);
}
