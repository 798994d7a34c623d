//! Runs the front end and the interpreter of image filters on any bytes. None of them panics.
//!
//! `cargo +nightly fuzz run filter -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use nyala_filter::{Boundary, Picture, Rules, interp, parse};
use nyala_span::SourceMap;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sources = SourceMap::default();
    let Ok(id) = sources.add("fuzz", text) else { return };
    let Ok(filter) = parse(sources.file(id)) else { return };
    let Some(picture) = Picture::from_interleaved(3, 2, 3, 255, |index| index as u16) else { return };
    let rules = Rules { boundary: Boundary::Mirror, max_terms: 200 };
    let _ = interp::interpret(&filter, &picture, rules, 1);
});
