//! Any text is a filter or has errors: nothing panics or hangs. Texts are mutations of the examples.

use nyala_filter::{Boundary, Engine, Picture, RenderOptions, Renderer, Rules, parse};
use nyala_random::MersenneTwister;
use nyala_span::SourceMap;

const SOURCES: [&str; 4] = [
    include_str!("../../../examples/filters/gradient.img"),
    include_str!("../../../examples/filters/temperature.img"),
    include_str!("../../../examples/filters/wave.img"),
    "let b = true && not (row = 1) in [ if b then min(1.0, col ** 2 / 3) else -abs(row - 2) % 3; sqrt(exp(1e-3)) ]",
];

/// Pieces that are inserted.
const PIECES: [&str; 24] = [
    "let ",
    "in ",
    "if ",
    "then ",
    "else ",
    "sum i from 0 to 9 of ",
    "(",
    ")",
    "[",
    "]",
    "|",
    ",",
    ";",
    "iter",
    "row",
    "m",
    "1.5",
    "2000000000",
    "-",
    "**",
    "/ 0",
    "%",
    "\u{e9}",
    "#",
];

fn mutated(random: &mut impl FnMut(usize) -> usize) -> String {
    let mut text: Vec<char> = SOURCES[random(SOURCES.len())].chars().collect();
    for _ in 0..1 + random(4) {
        let at = random(text.len() + 1);
        match random(3) {
            0 => {
                let end = (at + 1 + random(6)).min(text.len());
                text.drain(at..end);
            }
            1 => {
                text.splice(at..at, PIECES[random(PIECES.len())].chars());
            }
            _ => {
                let from = random(text.len() + 1);
                let copy: Vec<char> = text[from..(from + 12).min(text.len())].to_vec();
                text.splice(at..at, copy);
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn mutated_filters_are_rejected_or_rendered() {
    let mut numbers = MersenneTwister::new(1);
    let mut random = |below: usize| numbers.next_u32() as usize % below;
    let (mut n_accepted, mut n_compiled) = (0, 0);
    for _ in 0..4000 {
        let text = mutated(&mut random);
        let mut sources = SourceMap::default();
        let file = sources.add("f.img", text.as_str()).expect("a small text");
        let Ok(filter) = parse(sources.file(file)) else { continue };
        n_accepted += 1;
        // Most are interpreted, some compiled.
        let engine = if n_accepted % 20 == 0 { Engine::Specialize } else { Engine::Interpret };
        n_compiled += usize::from(engine == Engine::Specialize);
        let rules = Rules { boundary: [Boundary::Error, Boundary::Mirror][n_accepted % 2], max_terms: 200 };
        let options = RenderOptions { engine, rules, threads: 1, ..RenderOptions::default() };
        let picture = Picture::from_interleaved(3, 2, 3, 255, |index| index as u16).expect("it is small");
        let _ = Renderer::new(filter, picture, options).frame(1);
    }
    assert!(n_accepted > 200 && n_compiled > 10, "{n_accepted} of 4000 texts are filters");
}
