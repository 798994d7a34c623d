//! Whatever a manifest or a lock file contains, it is read or reported.

use nyala_package::lock::Lock;
use nyala_package::{Manifest, edit};
use nyala_random::MersenneTwister;
use nyala_span::SourceMap;

/// Parts of manifests, right and wrong.
const PARTS: &[&str] = &[
    "[package]\n",
    "[[package]]\n",
    "[dependencies]\n",
    "[[target]]\n",
    "[target]\n",
    "name = ",
    "version = ",
    "exports = ",
    "edition = ",
    "kind = ",
    "main = ",
    "files = ",
    "a = ",
    "git = ",
    "rev = ",
    "commit = ",
    "path = ",
    "\"fft\"",
    "\"0.1.0\"",
    "\"program\"",
    "\"library\"",
    "\"\"",
    "\"../x\"",
    "\"-x\"",
    "\"\\u0000\"",
    "'é'",
    "1",
    "1.5",
    "true",
    "1979-05-27",
    "[",
    "]",
    "{",
    "}",
    ",",
    "=",
    ".",
    "\n",
    "\"",
    "#",
    "\u{feff}",
    "\u{202e}",
    "x\0",
    "{ path = \"a\" }",
    "{ git = \"a\", rev = \"b\", folder = \"..\" }",
    "[\"a\", 1]",
    "\"*\"",
    "\"4294967296\"",
];

fn random_text(random: &mut MersenneTwister) -> String {
    let n_parts = random.next_u32() % 24;
    (0..n_parts).map(|_| PARTS[random.next_u32() as usize % PARTS.len()]).collect()
}

#[test]
fn any_text_is_read_or_reported() {
    let mut random = MersenneTwister::new(18);
    for _ in 0..20_000 {
        let text = random_text(&mut random);
        let mut sources = SourceMap::default();
        let id = sources.add("nyala.toml", text.as_str()).expect("a small text");
        let file = sources.file(id);
        let mut diagnostics = vec![];
        let manifest = Manifest::parse(file, &mut diagnostics);
        assert_eq!(manifest.is_none(), !diagnostics.is_empty(), "{text:?}");
        for diagnostic in &diagnostics {
            let span = diagnostic.primary.span;
            assert!(file.base <= span.lo && span.hi <= file.end(), "{text:?}: {diagnostic:?}");
        }
        let mut diagnostics = vec![];
        let lock = Lock::parse(file, &mut diagnostics);
        assert_eq!(lock.is_none(), !diagnostics.is_empty(), "{text:?}");
        if let Ok(changed) = edit::add_dependency(&text, "new", &edit::NewOrigin::Library) {
            assert!(changed.contains("new"), "{text:?}");
        }
    }
}

#[test]
fn a_manifest_is_read_completely() {
    let text = "[package]\nname = \"fft\"\nversion = \"1.2.3\"\ndescription = \"d\"\n[dependencies]\na.path = \"../a\"\nb = \"1.2\"\n[dependencies.c]\ngit = \"u\"\nrev = \"r\"\nfolder = \"x/y\"\n";
    let mut sources = SourceMap::default();
    let id = sources.add("nyala.toml", text).expect("a small text");
    let mut diagnostics = vec![];
    let manifest = Manifest::parse(sources.file(id), &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let manifest = manifest.expect("it has no errors");
    assert_eq!((manifest.name.value.as_str(), manifest.version.to_string().as_str()), ("fft", "1.2.3"));
    let names: Vec<&str> = manifest.dependencies.iter().map(|it| it.name.value.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(sources.text(manifest.dependencies[2].name.span), "c");
}
