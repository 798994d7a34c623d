//! Three routes from a filter to its residual program: through this crate, embedded in Impala, and by an interpreter in Impala
//! whose program is a known string. Our evaluator leaves the same program of all three, up to the order of operands that
//! commute, and the width of indices.

use expect_test::expect;
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_filter::render::Target;
use nyala_filter::residual::code_of_pixel;
use nyala_filter::translate::{Setup, UNROLL_LEAVES};
use nyala_filter::{Boundary, Picture, Rules, parse};
use nyala_ir::{ArithOp, Def, Linkage, Node, Prim, World};
use nyala_span::SourceMap;

/// The size of the pictures. With a margin of 1, rows are 66 intensities apart, and channels 3300.
const SIZE: (i32, i32) = (64, 48);

/// The value that the exported function returns, if it is straight-line code: an expression in which the operands of sums and
/// products are sorted.
fn result(world: &World) -> String {
    let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
    let (_, pixel) = world.conts().find(|(_, data)| is_exported(&data.linkage)).expect("it is exported");
    let body = pixel.body.as_ref().expect("it is defined");
    assert_eq!(Some(&body.callee), pixel.params.last(), "no call is left:\n{}", nyala_ir::text::print(world));
    expression(world, body.args[1])
}

fn expression(world: &World, def: Def) -> String {
    match world.node(def) {
        Node::Param { .. } => world.name(def).map_or_else(String::new, |name| name.to_string()),
        Node::Lit(bits) => match world.types.as_prim(world.ty(def)) {
            Some(Prim::F32) => format!("{:?}", f32::from_bits(bits as u32)),
            _ => format!("{}", bits as i32),
        },
        Node::Arith { op, lhs, rhs, .. } => {
            let mut operands = [lhs, rhs].map(|operand| expression(world, operand));
            if matches!(op, ArithOp::Add | ArithOp::Mul) {
                operands.sort();
            }
            format!("({} {} {})", operands[0], op.sign(), operands[1])
        }
        // Indices may have 32 or 64 bits.
        Node::Cast(value) => expression(world, value),
        Node::Lea { ptr, index } => format!("{}[{}]", expression(world, ptr), expression(world, index)),
        Node::Extract { agg, .. } => match world.node(agg) {
            Node::Load { ptr, .. } => expression(world, ptr),
            other => panic!("{other:?} is no load"),
        },
        other => panic!("{other:?} is not expected in a convolution"),
    }
}

/// The residual program of a filter of one channel, as text.
fn by_translation(text: &str) -> String {
    let mut sources = SourceMap::default();
    let file = sources.add("f.img", format!("[ 1 channels: {text} ]")).expect("a small text");
    let filter = parse(sources.file(file)).unwrap_or_else(|errors| panic!("{errors:?}"));
    let picture = Picture::black(SIZE.0 as usize, SIZE.1 as usize, 3, 255).expect("it is small");
    let rules = Rules { boundary: Boundary::Clamp, ..Rules::default() };
    let setup = Setup { rules, specialize: true, unroll_leaves: UNROLL_LEAVES, n_channels: 3, size: SIZE };
    let target = Target::new(&filter, &picture, setup, Some(0));
    let mut session = Session::new(Options::default());
    let world = pipeline::evaluate(&mut session, &code_of_pixel(&filter, &target));
    result(&world)
}

/// The residual program of a function in Impala: `body` is its body, and `image` the picture.
fn in_impala(body: &str) -> String {
    let mut session = Session::new(Options::default());
    session.add_text(
        "route.impala",
        format!(
            "// uses: filter\n\
             extern fn pixel(pixels: &[f32], row: i32, col: i32) -> f32 {{\n\
                 let image = @|r: i32, c: i32, channel: i32| pixels(channel * 3300 + r * 66 + c);\n{body}\n}}\n"
        ),
    );
    let world = pipeline::emit(&mut session);
    let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
    let world = world.unwrap_or_else(|| panic!("{report}"));
    result(&pipeline::evaluate(&mut session, &world))
}

fn by_interpretation(text: &str) -> String {
    in_impala(&format!("interpret(\"{text}\", image, row, col, 0)"))
}

#[test]
fn gradient_is_the_same_by_all_routes() {
    let text = "let m = [ 1.0 0.0 -1.0 | 2.0 0.0 -2.0 | 1.0 0.0 -1.0 ] in \
                sum i from 0 to 2 of sum j from 0 to 2 of image(row - i + 1, col - j + 1, current) * m[i, j]";
    let translated = by_translation(text);
    let embedded = in_impala(
        "let m = [1f, 0f, -1f, 2f, 0f, -2f, 1f, 0f, -1f];
         sum(0, 2, @|i| sum(0, 2, @|j| times(image(row - i + 1, col - j + 1, 0), m(i * 3 + j))))",
    );
    let expected = expect![
        "((((-1.0 * pixels[(((1 + row) * 66) + ((col - 2) + 1))]) + pixels[(((1 + row) * 66) + (1 + col))]) + ((-2.0 * pixels[((((row - 1) + 1) * 66) + ((col - 2) + 1))]) + (2.0 * pixels[((((row - 1) + 1) * 66) + (1 + col))]))) + ((-1.0 * pixels[((((row - 2) + 1) * 66) + ((col - 2) + 1))]) + pixels[((((row - 2) + 1) * 66) + (1 + col))]))"
    ];
    expected.assert_eq(&translated);
    assert_eq!(translated, embedded);
    assert_eq!(translated, by_interpretation(text));
}

#[test]
fn blur_is_the_same_by_all_routes() {
    let text = "let m = [ 0.0 1.0 0.0 | 1.0 4.0 1.0 | 0.0 1.0 0.0 ] in \
                let s = sum i from 0 to 2 of sum j from 0 to 2 of m[i, j] in \
                (sum i from -1 to 1 of sum j from -1 to 1 of image(row + i, col + j, current) * m[i + 1, j + 1]) / s";
    let translated = by_translation(text);
    let embedded = in_impala(
        "let m = [0f, 1f, 0f, 1f, 4f, 1f, 0f, 1f, 0f];
         let s = sum(0, 2, @|i| sum(0, 2, @|j| m(i * 3 + j)));
         over(sum(-1, 1, @|i| sum(-1, 1, @|j| times(image(row + i, col + j, 0), m((i + 1) * 3 + j + 1)))), s)",
    );
    assert_eq!(translated, embedded);
    assert_eq!(translated, by_interpretation(text));
}
