//! The interpreter, compiled filters, and compiled filters after partial evaluation compute the same pictures.

use nyala_driver::{Options, Session};
use nyala_filter::render::Target;
use nyala_filter::residual::residual;
use nyala_filter::translate::{Setup, UNROLL_LEAVES};
use nyala_filter::{
    Boundary, Device, Engine, Filter, Picture, RenderOptions, Renderer, Rules, compile, interp, parse,
};
use nyala_span::SourceMap;

const GRADIENT: &str = include_str!("../../../examples/filters/gradient.img");
const TEMPERATURE: &str = include_str!("../../../examples/filters/temperature.img");
const WAVE: &str = include_str!("../../../examples/filters/wave.img");

const SIZE: (i32, i32) = (67, 45);

fn filter(text: &str) -> Filter {
    let mut sources = SourceMap::default();
    let file = sources.add("test.img", text).expect("a small text");
    parse(sources.file(file)).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A picture of smooth colours with some noise.
fn picture(width: usize, height: usize) -> Picture {
    let value = |index: usize| {
        let (pixel, channel) = (index / 3, index % 3);
        let (row, col) = (pixel / width, pixel % width);
        let noise = (index as u32).wrapping_mul(2_654_435_761) >> 29;
        ((row * 3 + col * (channel + 1) * 2) as u32 + noise * 5) as u16 % 256
    };
    Picture::from_interleaved(width, height, 3, 255, value).expect("it is small")
}

fn setup(rules: Rules, specialize: bool, size: (i32, i32)) -> Setup {
    Setup { rules, specialize, unroll_leaves: UNROLL_LEAVES, n_channels: 3, size }
}

/// The picture that a compiled filter computes.
fn compiled(
    filter: &Filter,
    picture: &Picture,
    setup: Setup,
    iter: i32,
) -> Result<Picture, compile::Faulted> {
    let target = Target::new(filter, picture, setup, setup.specialize.then_some(iter));
    let mut session = Session::new(Options::default());
    let code = compile(&mut session, filter, &target).unwrap_or_else(|| panic!("{:?}", session.diagnostics));
    let mut source = picture.clone().with_margin(target.margin);
    source.fill_margin(setup.rules.boundary);
    let result = Picture::black(picture.width, picture.height, filter.channels.len(), 255);
    let mut result = result.expect("it is small").with_margin(target.margin);
    code.apply(&mut source, &mut result, iter, 1)?;
    Ok(result)
}

/// The largest difference of two pictures, in levels.
fn difference(a: &Picture, b: &Picture) -> u16 {
    a.interleaved().zip(b.interleaved()).map(|(a, b)| a.abs_diff(b)).max().unwrap_or(0)
}

fn check(text: &str, boundary: Boundary, iter: i32) {
    check_size(text, boundary, iter, SIZE);
}

fn check_size(text: &str, boundary: Boundary, iter: i32, size: (i32, i32)) {
    let filter = filter(text);
    let picture = picture(size.0 as usize, size.1 as usize);
    let rules = Rules { boundary, ..Rules::default() };
    let expected = interp::interpret(&filter, &picture, rules, iter).expect("no operation fails");
    for specialize in [false, true] {
        let found =
            compiled(&filter, &picture, setup(rules, specialize, size), iter).expect("no operation fails");
        let difference = difference(&expected, &found);
        // One level where a contracted product is on the other side of a half.
        assert!(difference <= 1, "{difference} levels, specialize: {specialize}\n{text}");
    }
}

#[test]
fn filters_of_the_paper_agree() {
    for iter in [0, 7] {
        check(GRADIENT, Boundary::Clamp, iter);
        check(TEMPERATURE, Boundary::Mirror, iter);
        check(WAVE, Boundary::Wrap, iter);
    }
}

/// Pictures that are not small have a loop for each channel, and loops that compute four rows or two. The number of
/// rows is no multiple.
#[test]
fn large_pictures_agree() {
    for text in [GRADIENT, TEMPERATURE, WAVE] {
        check_size(text, Boundary::Mirror, 3, (265, 249));
    }
    check_size(GRADIENT, Boundary::Clamp, 0, (70_000, 1));
    check_size(GRADIENT, Boundary::Wrap, 0, (35_001, 2));
    check_size(GRADIENT, Boundary::Mirror, 0, (22_003, 3));
    check_size(GRADIENT, Boundary::Clamp, 0, (13_121, 5));
    // An error in one of two rows, and a common definition that depends on the picture.
    check_size(
        "let g = image(row + 1, col, 0) in [ g / 2; if row = 248 then 1 / (row - 247) else g; g ]",
        Boundary::Wrap,
        0,
        (265, 249),
    );
}

/// A picture whose loops compute several rows.
const SEVERAL_ROWS: (i32, i32) = (265, 249);

/// A branch with accesses is computed for all rows if one of them needs it. The others keep the value of the other
/// branch.
#[test]
fn rows_share_branches() {
    let filters = [
        "[3 channels: if (row + 2 * col) % 7 = 0 then 0.25 else (image(row - 1, col, current) + image(row + 1, col, current)) / 2]",
        "[3 channels: if col % 5 <> row % 3 then image(row + 2, col, current) else row / 300]",
        "[3 channels: let d = col - row in if d > 3 then d / 100 else image(row + 1, col + d % 2, current)]",
        "[3 channels: if col < row then 0.0 else if col % 3 = 0 then 1.0 else
            let a = image(row - 1, col, current) in if a < 0.5 then a else 1 - a]",
        "[3 channels: if image(row + 1, col, current) < 0.5 then image(row - 1, col, 2 - current) else current / 2]",
        "let m = [0.5 | 0.25 | 0.125] in
            [3 channels: if row % 2 = 0 then 0.5 else image(row + 1, col, current) * m[current, 0]]",
    ];
    for text in filters {
        check_size(text, Boundary::Mirror, 3, SEVERAL_ROWS);
    }
}

/// What fails in a branch is an error of the pixels that need the branch, not of others that it is computed for.
#[test]
fn unneeded_branches_do_not_fail() {
    let text = |safe: i32| {
        format!("[3 channels: if col = {safe} then 0.5 else image(row + 1, col, current) * (99 / (col - 9))]")
    };
    check_size(&text(9), Boundary::Clamp, 0, SEVERAL_ROWS);
    let (filter, (width, height)) = (filter(&text(8)), SEVERAL_ROWS);
    let picture = picture(width as usize, height as usize);
    let found = compiled(&filter, &picture, setup(Rules::default(), true, SEVERAL_ROWS), 0);
    assert_eq!(found.err(), Some(compile::Faulted));
}

/// Partial evaluation does not change what a filter computes, and its residual can be interpreted again.
#[test]
fn residual_filters_agree() {
    let mut sizes = vec![];
    for text in [GRADIENT, TEMPERATURE, WAVE] {
        let filter = filter(text);
        let picture = picture(SIZE.0 as usize, SIZE.1 as usize);
        let rules = Rules::default();
        let target = Target::new(&filter, &picture, setup(rules, true, SIZE), Some(5));
        let residual = residual(&filter, &target).expect("no loop is left");
        let expected = interp::interpret(&filter, &picture, rules, 5).expect("no operation fails");
        // Its text is the same filter.
        for residual in [&residual, &self::filter(&residual.to_string())] {
            let found = interp::interpret(residual, &picture, rules, 5).expect("no operation fails");
            assert!(difference(&expected, &found) <= 1, "{text}");
        }
        sizes.push((filter.size(), residual.size()));
    }
    // The paper has (80, 226), (163, 613) and (48, 38).
    assert_eq!(sizes, [(74, 225), (165, 619), (49, 39)]);
}

/// Needs a device of OpenCL, such as PoCL; it is skipped without one.
#[test]
fn kernels_agree_with_the_interpreter() {
    if !nyala_driver::device::list().contains("OpenCL\n") {
        eprintln!("skipped: there is no device of OpenCL");
        return;
    }
    for text in [GRADIENT, TEMPERATURE, WAVE, "[ if col > 3 then 1 / (col - 70) else 0 ]"] {
        let filter = filter(text);
        let picture = picture(SIZE.0 as usize, SIZE.1 as usize);
        let render = |engine, device| {
            let options = RenderOptions { engine, device, ..RenderOptions::default() };
            Renderer::new(filter.clone(), picture.clone(), options).frame(5).expect("no operation fails")
        };
        let expected = render(Engine::Interpret, Device::Cpu);
        assert!(difference(&expected, &render(Engine::Specialize, Device::OpenCl)) <= 1, "{text}");
    }
}
