//! Runs the app on small files, and checks the results.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

/// An empty folder per test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn app(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nyala-align")).current_dir(folder).args(args).output().unwrap()
}

/// The output of a run, which must succeed.
fn output(folder: &Path, args: &[&str]) -> String {
    let result = app(folder, args);
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    String::from_utf8(result.stdout).unwrap()
}

/// The status and the message of a run, which must fail.
fn failure(folder: &Path, args: &[&str]) -> (i32, String) {
    let result = app(folder, args);
    (result.status.code().unwrap(), String::from_utf8(result.stderr).unwrap())
}

/// Two queries as FASTA, and two subjects as FASTQ compressed by gzip.
fn with_files(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("q.fa"), ">q1 of two\nACGTAC\nGTTAG\n>q2\nacgtTGCA\n").unwrap();
    let file = fs::File::create(folder.join("s.fq.gz")).unwrap();
    let mut file = GzEncoder::new(file, Compression::default());
    file.write_all(b"@s1\nACGTACTTAG\n+\nIIIIIIIIII\n@s2\nTTACGTTNCATT\n+\nIIIIIIIIIIII\n").unwrap();
    file.finish().unwrap();
    folder
}

#[test]
fn scores_of_all_pairs_and_of_pairs_in_order() {
    let folder = with_files("scores");
    let all = output(&folder, &["q.fa", "s.fq.gz"]);
    assert_eq!(all, "q1\ts1\t17\nq1\ts2\t4\nq2\ts1\t3\nq2\ts2\t8\n");
    let in_order = output(&folder, &["q.fa", "s.fq.gz", "--pairs", "pairwise", "--threads", "2"]);
    assert_eq!(in_order, "q1\ts1\t17\nq2\ts2\t8\n");
}

#[test]
fn paths_have_the_formats_of_other_tools() {
    let folder = with_files("paths");
    let run = |format| {
        output(
            &folder,
            &["q.fa", "s.fq.gz", "--pairs", "pairwise", "--mode", "semi-global", "--format", format],
        )
    };
    assert_eq!(run("cigar"), "q1\t0\t11\ts1\t0\t10\t17\t6=1I4=\nq2\t0\t8\ts2\t2\t10\t16\t5=1X2=\n");
    let sam = run("sam");
    assert!(sam.contains("@SQ\tSN:s2\tLN:12\n"), "{sam}");
    assert!(sam.ends_with("q2\t0\ts2\t3\t255\t5=1X2=\t*\t0\t0\tacgtTGCA\t*\tAS:i:16\tNM:i:1\n"), "{sam}");
    let paf = run("paf");
    assert!(
        paf.ends_with("q2\t8\t0\t8\t+\ts2\t12\t2\t10\t7\t8\t255\tAS:i:16\tNM:i:1\tcg:Z:5=1X2=\n"),
        "{paf}"
    );
}

#[test]
fn local_alignment_clips_the_query() {
    let folder = folder("local");
    fs::write(folder.join("q.fa"), ">q\nTTTTTTACGGCATTACC\n").unwrap();
    fs::write(folder.join("s.fa"), ">s\nGGGACGGCATTACGGGG\n").unwrap();
    let sam = output(&folder, &["q.fa", "s.fa", "--mode", "local", "--format", "sam"]);
    assert!(sam.contains("\ts\t4\t255\t6S10=1S\t"), "{sam}");
}

#[test]
fn readable_alignments_have_marks_and_colours() {
    let folder = with_files("human");
    let run = |color| {
        output(&folder, &["q.fa", "s.fq.gz", "--pairs", "pairwise", "--format", "human", "--color", color])
    };
    assert!(run("never").contains("1 ACGTACGTTAG 11\n          |||||| ||||\n        1 ACGTAC-TTAG 10\n"));
    assert!(run("always").contains("\x1b[32mA\x1b[0m"));
}

#[test]
fn proteins_have_matrices() {
    let folder = folder("proteins");
    fs::write(folder.join("a.fa"), ">a\nWLYKM*\n").unwrap();
    fs::write(folder.join("b.fa"), ">b\nWLFKM*\n").unwrap();
    let score = |matrix| output(&folder, &["a.fa", "b.fa", "--letters", "protein", "--matrix", matrix]);
    // 11 + 4 + 3 + 5 + 5 + 1, and 17 + 6 + 7 + 5 + 6 + 1
    assert_eq!(score("blosum62"), "a\tb\t29\n");
    assert_eq!(score("pam250"), "a\tb\t42\n");
}

#[test]
fn pictures_are_png_or_svg() {
    let folder = with_files("pictures");
    for name in ["picture.png", "picture.svg"] {
        output(&folder, &["q.fa", "s.fq.gz", "--picture", name]);
    }
    let png = image::open(folder.join("picture.png")).unwrap().into_rgb8();
    assert_eq!(png.dimensions(), (12, 11));
    // The path begins in a corner.
    assert_eq!(png.get_pixel(0, 0).0, [200, 40, 30]);
    let svg = fs::read_to_string(folder.join("picture.svg")).unwrap();
    assert!(svg.contains("<polyline"), "{svg}");
}

#[test]
fn errors_name_file_line_and_option() {
    let folder = with_files("errors");
    fs::write(folder.join("bad.fa"), ">a\nACGT\nAC1T\n").unwrap();
    let (status, message) = failure(&folder, &["bad.fa", "q.fa"]);
    assert_eq!((status, message.as_str()), (1, "error: bad.fa:3: `1` is not a letter of a sequence\n"));
    let (status, message) = failure(&folder, &["none.fa", "q.fa"]);
    assert_eq!(status, 1);
    assert!(message.starts_with("error: cannot open `none.fa`"), "{message}");
    let (status, message) = failure(&folder, &["q.fa", "q.fa", "--device", "opencl", "--format", "sam"]);
    assert_eq!(status, 2);
    assert!(message.contains("devices compute scores only"), "{message}");
    fs::write(folder.join("one.fa"), ">a\nACGT\n").unwrap();
    let (status, message) = failure(&folder, &["one.fa", "q.fa", "--pairs", "pairwise"]);
    assert_eq!(
        (status, message.as_str()),
        (1, "error: there are 1 queries and 2 subjects, which are no pairs\n")
    );
}

#[test]
fn sam_has_qualities_and_distinct_subjects() {
    let folder = with_files("sam");
    let sam = output(&folder, &["s.fq.gz", "q.fa", "--mode", "semi-global", "--format", "sam"]);
    assert!(sam.contains("\tACGTACTTAG\tIIIIIIIIII\tAS:i:"), "{sam}");
    fs::write(folder.join("twice.fa"), ">a\nACGT\n>a\nACGA\n").unwrap();
    let (status, message) = failure(&folder, &["q.fa", "twice.fa", "--format", "sam"]);
    assert_eq!(status, 1);
    assert!(message.starts_with("error: twice.fa:3: `a` is the name of the subject on line 1"), "{message}");
}

#[test]
fn the_better_strand_is_printed() {
    let folder = folder("strands");
    fs::write(folder.join("q.fq"), "@q\nAATGCCGTTT\n+\nABCDEFGHIJ\n@p\nCACGGCAT\n+\nIIIIIIII\n").unwrap();
    fs::write(folder.join("s.fa"), ">s\nGGGACGGCATTACG\n").unwrap();
    let run = |format| {
        let args = ["q.fq", "s.fa", "--strand", "both", "--mode", "local", "--format", format];
        output(&folder, &args)
    };
    assert_eq!(run("tsv"), "q\ts\t16\t-\np\ts\t14\t+\n");
    assert_eq!(run("cigar"), "q\t0\t8\ts\t3\t11\t16\t8=\t-\np\t1\t8\ts\t3\t10\t14\t7=\t+\n");
    assert!(run("paf").starts_with("q\t10\t0\t8\t-\ts\t14\t3\t11\t8\t8\t255\tAS:i:16\tNM:i:0\tcg:Z:8=\n"));
    let sam = run("sam");
    assert!(
        sam.contains("q\t16\ts\t4\t255\t2S8=\t*\t0\t0\tAAACGGCATT\tJIHGFEDCBA\tAS:i:16\tNM:i:0\n"),
        "{sam}"
    );
    assert!(run("human").contains("q 3-10 reverse complement\n"));
    let (status, message) = failure(&folder, &["q.fq", "s.fa", "--strand", "both", "--letters", "protein"]);
    assert_eq!((status, message.as_str()), (2, "error: proteins have no strands\n"));
}

#[test]
fn one_alignment_of_a_query_is_primary() {
    let folder = folder("primary");
    fs::write(folder.join("q.fa"), ">q\nACGTACGT\n>none\nNNNN\n").unwrap();
    fs::write(folder.join("s.fa"), ">a\nACGTTCGT\n>b\nACGTACGT\n>c\nACGTACGT\n").unwrap();
    let sam = output(&folder, &["q.fa", "s.fa", "--mode", "local", "--different=-3", "--format", "sam"]);
    let lines: Vec<&str> = sam.lines().filter(|line| line.starts_with('q')).collect();
    assert_eq!(
        lines,
        [
            "q\t256\ta\t1\t255\t4=1X3=\t*\t0\t0\t*\t*\tAS:i:11\tNM:i:1",
            "q\t0\tb\t1\t255\t8=\t*\t0\t0\tACGTACGT\t*\tAS:i:16\tNM:i:0",
            "q\t256\tc\t1\t255\t8=\t*\t0\t0\t*\t*\tAS:i:16\tNM:i:0",
        ]
    );
    fs::write(folder.join("empty.fa"), ">none\n").unwrap();
    let sam = output(&folder, &["empty.fa", "s.fa", "--mode", "local", "--format", "sam"]);
    assert!(sam.ends_with("none\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n"), "{sam}");
    assert_eq!(sam.lines().filter(|line| line.starts_with("none")).count(), 1);
    fs::write(folder.join("odd.fa"), ">a(1)\nACGT\n").unwrap();
    let (status, message) = failure(&folder, &["q.fa", "odd.fa", "--format", "sam"]);
    assert_eq!((status, message.as_str()), (1, "error: odd.fa:1: SAM does not allow the name `a(1)`\n"));
}

#[test]
fn truncated_and_binary_files_are_errors() {
    let folder = with_files("truncated");
    let whole = fs::read(folder.join("s.fq.gz")).unwrap();
    for length in [2, 12, whole.len() / 2, whole.len() - 1] {
        fs::write(folder.join("part.fq.gz"), &whole[..length]).unwrap();
        let (status, message) = failure(&folder, &["part.fq.gz", "q.fa"]);
        assert_eq!(status, 1);
        assert!(message.starts_with("error: part.fq.gz:"), "{message}");
    }
    for (text, line) in [(&b""[..], ""), (b"\0\x01\xff", "1:"), (b">a\nAC\0T\n", "2:")] {
        fs::write(folder.join("binary.fa"), text).unwrap();
        let (status, message) = failure(&folder, &["q.fa", "binary.fa"]);
        assert_eq!(status, 1);
        assert!(message.starts_with(&format!("error: binary.fa:{line}")), "{message}");
    }
}

#[test]
fn speed_is_printed() {
    let folder = with_files("speed");
    let text = output(&folder, &["q.fa", "s.fq.gz", "--bench"]);
    assert!(text.starts_with("4 pairs, 4.180e2 cells:") && text.contains("GCUPS"), "{text}");
}

#[test]
fn outputs_never_replace_inputs() {
    let folder = with_files("replaced");
    fs::copy(folder.join("q.fa"), folder.join("q.svg")).unwrap();
    for (input, option, file) in
        [("q.fa", "-o", "q.fa"), ("q.fa", "-o", "./q.fa"), ("q.svg", "--picture", "q.svg")]
    {
        let before = fs::read(folder.join(input)).unwrap();
        let (status, message) = failure(&folder, &["s.fq.gz", input, option, file]);
        let expected = format!("error: `{file}` would replace the sequences in `{input}`\n");
        assert_eq!((status, message), (1, expected));
        assert_eq!(fs::read(folder.join(input)).unwrap(), before);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    let folder = with_files("full");
    let (status, message) = failure(&folder, &["q.fa", "q.fa", "-o", "/dev/full"]);
    assert_eq!(status, 1);
    assert!(message.starts_with("error: cannot write `/dev/full`: No space left"), "{message}");
}
