//! Runs the lexer, the parser and the checker on any bytes, and the formatter on valid
//! programs. None of them panics, and formatting does not change the tree.
//!
//! `cargo +nightly fuzz run front_end -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use nyala_sema::CheckFile;
use nyala_span::SourceMap;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sources = SourceMap::default();
    let Ok(id) = sources.add("fuzz", text) else { return };
    let parse = nyala_syntax::parse(sources.file(id));
    let _ = nyala_sema::check(&[CheckFile { ast: &parse.file, is_prelude: false }]);
    if parse.errors.is_empty() {
        let formatted = nyala_syntax::format(&parse.file, sources.file(id));
        let mut again = SourceMap::default();
        let Ok(id) = again.add("formatted", formatted) else { return };
        let parse_again = nyala_syntax::parse(again.file(id));
        assert_eq!(nyala_syntax::dump(&parse.file), nyala_syntax::dump(&parse_again.file));
    }
});
