//! Three routes from a filter to its residual program: through this crate, embedded in Impala, and by an
//! interpreter in Impala whose program is a known string. Our evaluator leaves the same program of all three, up to
//! the order of operands that commute.

use std::fmt::Write as _;

use expect_test::expect;
use nyala_driver::{Options, Report, Session, pipeline};
use nyala_filter::interp::interpret;
use nyala_filter::render::Target;
use nyala_filter::residual::{code_of_pixel, read_back};
use nyala_filter::translate::{Setup, UNROLL_LEAVES};
use nyala_filter::tree::{BinaryOp, Expr, Op, Ty};
use nyala_filter::{Filter, Picture, Rules, parse};
use nyala_ir::{Linkage, Node, World};
use nyala_random::MersenneTwister;
use nyala_span::SourceMap;

const GRADIENT: &str = include_str!("../../../examples/filters/gradient.img");
const TEMPERATURE: &str = include_str!("../../../examples/filters/temperature.img");
const WAVE: &str = include_str!("../../../examples/filters/wave.img");

const SIZE: (i32, i32) = (64, 48);
const FRAME: i32 = 10;

fn filter(text: &str) -> Filter {
    let mut sources = SourceMap::default();
    let file = sources.add("f.img", text).expect("a small text");
    parse(sources.file(file)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// A residual program as text: definitions are in their places, and operands that commute are sorted.
fn normal_form(world: &World) -> String {
    let filter =
        read_back(world).unwrap_or_else(|| panic!("a loop is left:\n{}", nyala_ir::text::print(world)));
    let mut values: Vec<Option<Expr>> = vec![None; filter.n_slots as usize];
    for (var, value) in &filter.lets {
        values[var.0 as usize] = Some(normal(value, &values));
    }
    let channels = filter.channels.iter().map(|channel| normal(channel, &values)).collect();
    Filter { lets: vec![], channels, ..filter }.to_string()
}

fn normal(expr: &Expr, values: &[Option<Expr>]) -> Expr {
    let part = |part: &Expr| Box::new(normal(part, values));
    let op = match &expr.op {
        Op::Var(var) => match &values[var.0 as usize] {
            Some(value) => return value.clone(),
            None => expr.op.clone(),
        },
        Op::IntToFloat(operand) => Op::IntToFloat(part(operand)),
        Op::Unary(op, operand) => Op::Unary(*op, part(operand)),
        Op::Image(parts) => Op::Image(Box::new(parts.each_ref().map(|part| normal(part, values)))),
        Op::Binary(op, operands) => {
            let mut operands = operands.each_ref().map(|part| normal(part, values));
            if matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or) {
                operands.sort_by_key(|operand| format!("{:?}", operand.op));
            }
            Op::Binary(*op, Box::new(operands))
        }
        Op::If(parts) => {
            let parts = parts.each_ref().map(|part| normal(part, values));
            match parts {
                // Without a branch if the right side is cheap.
                [lhs, rhs, Expr { op: Op::Bool(false), .. }] => {
                    Op::Binary(BinaryOp::And, Box::new([lhs, rhs]))
                }
                [lhs, Expr { op: Op::Bool(true), .. }, rhs] => Op::Binary(BinaryOp::Or, Box::new([lhs, rhs])),
                parts => Op::If(Box::new(parts)),
            }
        }
        _ => expr.op.clone(),
    };
    Expr { op, ..expr.clone() }
}

/// The residual program of the front end.
fn by_translation(text: &str) -> String {
    let filter = filter(text);
    let picture = Picture::black(SIZE.0 as usize, SIZE.1 as usize, 3, 255).expect("it is small");
    let setup = Setup {
        rules: Rules::default(),
        specialize: true,
        unroll_leaves: UNROLL_LEAVES,
        n_channels: 3,
        size: SIZE,
    };
    let target = Target::new(&filter, &picture, setup, Some(FRAME));
    let mut session = Session::new(Options::default());
    normal_form(&pipeline::evaluate(&mut session, &code_of_pixel(&filter, &target)))
}

/// A program in Impala after evaluation, or the text of its errors.
fn evaluated(text: &str) -> Result<World, String> {
    let mut session = Session::new(Options::default());
    session.add_text("route.impala", format!("// uses: filter\n{text}"));
    let world = pipeline::emit(&mut session).map(|world| pipeline::evaluate(&mut session, &world));
    let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
    if report.contains("error") { Err(report) } else { Ok(world.expect("there are no errors")) }
}

/// The residual program of a filter of three channels in Impala, given as the body of a function.
fn in_impala(body: &str) -> String {
    let (width, height) = SIZE;
    let text = format!(
        "extern \"C\" {{ fn image(i32, i32, i32) -> f32; }}
        extern fn pixel(row: i32, col: i32) -> (f32, f32, f32) {{
            let at = Pixel {{ row: row, col: col, width: {width}, height: {height}, iter: {FRAME} }};
            let (width, height, iter) = (at.width, at.height, at.iter);
            let channel = @|current: i32| {{ {body} }};
            (channel(0), channel(1), channel(2))
        }}"
    );
    normal_form(&evaluated(&text).unwrap_or_else(|errors| panic!("{errors}")))
}

/// The text of a filter as a string of Impala: adjacent strings are joined.
fn quoted(text: &str) -> String {
    text.split('\n').map(|line| format!("{:?}\n", format!("{line}\n"))).collect()
}

fn by_interpretation(text: &str) -> String {
    in_impala(&format!("interpret({}, image, at, current)", quoted(text)))
}

/// The three routes have the same residual program.
fn check(text: &str, embedded: &str) -> String {
    let translated = by_translation(text);
    assert_eq!(translated, in_impala(embedded), "embedded\n{text}");
    assert_eq!(translated, by_interpretation(text), "interpreted\n{text}");
    translated
}

#[test]
fn gradient_is_the_same_by_all_routes() {
    let residual = check(
        GRADIENT,
        "let m = [1f, 0f, -1f, 2f, 0f, -2f, 1f, 0f, -1f];
         sum(0, 2, @|i| sum(0, 2, @|j| times(image(row - i + 1, col - j + 1, current), m(i * 3 + j))))",
    );
    expect!["[ -1.0 * image(1 + row, col - 2 + 1, 0) + image(1 + row, 1 + col, 0) + (-2.0 * image(row - 1 + 1, col - 2 + 1, 0) + 2.0 * image(row - 1 + 1, 1 + col, 0)) + (-1.0 * image(row - 2 + 1, col - 2 + 1, 0) + image(row - 2 + 1, 1 + col, 0));"].assert_eq(residual.lines().next().unwrap_or_default());
}

#[test]
fn temperature_is_the_same_by_all_routes() {
    check(
        TEMPERATURE,
        "let obr = (height / 10) as f32 + iter as f32 * over(height as f32, 150f) + (height / 4) as f32 * sin(over(iter as f32, 10f));
         let obc = (width / 2) as f32 + (width / 4) as f32 * cos(over(iter as f32, 30f));
         let inobj = power(col as f32 - obc, 2) + power(row as f32 - obr, 2) <= power(20f, 2);
         let m = [0f, 1f, 3f, 1f, 0f,  1f, 2f, 4f, 2f, 1f,  3f, 4f, 6f, 4f, 3f,  1f, 2f, 4f, 2f, 1f,  0f, 1f, 3f, 1f, 0f];
         let s = sum(0, 4, @|r| sum(0, 4, @|c| m(r * 5 + c)));
         if inobj { 0f }
         else { over(sum(-2, 2, @|r| sum(-2, 2, @|c| times(image(row + r, col + c, current), m((r + 2) * 5 + c + 2)))), s) }",
    );
}

#[test]
fn wave_is_the_same_by_all_routes() {
    let residual = check(
        WAVE,
        "let r1 = row + to_int(floor(times(20f, sin(over(times((iter + row) as f32, 3.14f), 30f)))));
         let r2 = if r1 <= 0 { 0 } else if r1 >= height { height - 1 } else { r1 };
         image(r2, col, current)",
    );
    // The row of each channel, which the normal form repeats.
    expect!["[ image(if floor(20.0 * sin(3.14 * (10 + row) * 0.033333335)) + row <= 0 then 0 else if floor(20.0 * sin(3.14 * (10 + row) * 0.033333335)) + row >= 48 then 47 else floor(20.0 * sin(3.14 * (10 + row) * 0.033333335)) + row, col, 0);"].assert_eq(residual.lines().next().unwrap_or_default());
}

/// Operators, definitions, conditions and channels that the filters of the paper do not have.
#[test]
fn the_rest_of_the_language_is_the_same_by_all_routes() {
    let residual = check(
        "let dim = max(0.25, 1 - iter / 20.0) in
         let inside = row > 2 && not (col = width - 1) in
         [ image(row, col, red) * dim; # red
           if inside then min(image(row, col, green), 0.5) ** 3 else abs(col % 5) / 3;
           sum i from 0 to iter / 5 of (let w = i + 1 in image(row, min(col + i, width - 1), blue) / w) ]",
        "let dim = max(0.25f, 1f - over(iter as f32, 20f));
         let inside = row > 2 && !(col == width - 1);
         if current == 0 { times(image(row, col, 0), dim) }
         else if current == 1 { if inside { power(min(image(row, col, 1), 0.5f), 3) } else { quotient(magnitude(remainder(col, 5)), 3) as f32 } }
         else { sum(0, quotient(iter, 5), @|i| over(image(row, smaller(col + i, width - 1), 2), (i + 1) as f32)) }",
    );
    expect![[r#"
        [ 0.5 * image(row, col, 0);
          if row > 2 && col <> 63 then min(image(row, col, 1), 0.5) * (min(image(row, col, 1), 0.5) * min(image(row, col, 1), 0.5)) else (if col % 5 < 0 then 0 - col % 5 else col % 5) / 3;
          0.5 * image(row, if 1 + col < 63 then 1 + col else 63, 2) + image(row, if col < 63 then col else 63, 2) + 0.33333334 * image(row, if 2 + col < 63 then 2 + col else 63, 2) ]"#]].assert_eq(&residual);
}

/// A filter of one channel whose intensities are between 0 and 1, from an expression with values around 0.
fn scaled(expr: &str) -> String {
    format!("[ 1 channels: (let e = {expr} in e) / 64.0 + 0.5 ]")
}

/// The interpreter in Impala gives the values of the one in Rust. If the pixel is known, its values are constants
/// after evaluation.
fn check_values(exprs: &[String]) {
    let (row, col) = (5, 11);
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let intensity = |index: usize| (index * 37 % 65536) as u16;
    let picture = Picture::from_interleaved(width, height, 3, u16::MAX, intensity).expect("it is small");
    let mut text = format!(
        "fn @image(row: i32, col: i32, channel: i32) -> f32 {{
            let (r, c) = (min(max(row, 0), {height} - 1), min(max(col, 0), {width} - 1));
            ((((r * {width} + c) * 3 + channel) * 37) & 65535) as f32 * (1f / 65535f)
        }}\n"
    );
    for (number, expr) in exprs.iter().enumerate() {
        let quoted = quoted(&scaled(expr));
        let pixel =
            format!("Pixel {{ row: {row}, col: {col}, width: {width}, height: {height}, iter: {FRAME} }}");
        let _ =
            writeln!(text, "extern fn value_{number}() -> f32 {{ interpret({quoted}, image, {pixel}, 0) }}");
    }
    let world = evaluated(&text).unwrap_or_else(|errors| panic!("{errors}"));
    for (number, expr) in exprs.iter().enumerate() {
        let result = interpret(&filter(&scaled(expr)), &picture, Rules::default(), FRAME);
        let expected = result.expect("no operation fails").at(row, col, 0);
        let found = constant(&world, &format!("value_{number}")).clamp(0.0, 1.0);
        assert!((expected - found).abs() <= 1e-4, "{expected} and {found}: {expr}");
    }
}

/// The constant that an exported function returns.
fn constant(world: &World, name: &str) -> f32 {
    let is_wanted =
        |linkage: &Linkage| matches!(linkage, Linkage::Exported(found) if found.to_string() == name);
    let (_, data) = world.conts().find(|(_, data)| is_wanted(&data.linkage)).expect("it is exported");
    let body = data.body.as_ref().expect("it is defined");
    match body.args.last().map(|&result| world.node(result)) {
        Some(Node::Lit(bits)) if Some(&body.callee) == data.params.last() => f32::from_bits(bits as u32),
        _ => panic!("the value of {name} is no constant:\n{}", nyala_ir::text::print(world)),
    }
}

#[test]
fn values_are_the_same_by_interpretation() {
    let exprs = [
        // Literals.
        "1.5 + .25e1 - 0.125".replace(".25e1", "0.25e1"),
        "1e1 - 2E-1 + 3.5e+0 + 16777217.0 - 16777216.0".into(),
        // Precedence and associativity.
        "1 - 2 - 3 * 4 / 5 % 3".into(),
        "-2 ** 2 + 2 ** 3 ** 1 - (-2) ** 3".into(),
        "2 ** -1 ** 2".replace("2 ** -1 ** 2", "2.0 ** -1 ** 2"),
        "if 1 + 2 = 3 && 2 < 1 || true then 1 else 2".into(),
        "if not true || not (1 > 2) then 1 else 2".into(),
        "if (1 < 2) = (3 >= 3) && true <> false then 4 else 5".into(),
        "- min(3, -4) - abs -5 + max(1.5, 2)".into(),
        // Types and coercions.
        "7 / 2 + 7 / 2.0 + -7 / 2 + -7 % 3".into(),
        "(if true then 7 else 2.5) / 2".into(),
        "floor 2.7 + ceil(2.1) + round(-2.5) + floor(-2.5) / 2".into(),
        "sin 1 + cos(2) * tan 0.5 - asin 0.3 + acos(0.2) + atan 3 + sqrt 2 + exp 1.5 - log 7".into(),
        "3 ** 0.5 + 2.5 ** 2 + 1.5 ** -2".into(),
        // Names, and what hides them.
        "let x = 3 in let y = x + 1 in let x = y * 2 in x - y".into(),
        "let row1 = 2 in let row = row1 + 1 in row + col + iter + width - height".into(),
        "red + green + blue + alpha + gray + current".into(),
        "let Big_1 = 2 in Big_1".into(),
        // Sums.
        "sum i from 1 to 3 of 6 / i".into(),
        "sum i from 3 to 1 of 6 / i".into(),
        "sum i from -1 to 2 of sum j from i to 2 of i * j / 2.0".into(),
        "sum i from 0 to 2 of if i = 1 then 10 else i".into(),
        "sum i from 0 to 60 of i % 2".into(),
        // Matrices.
        "let m = [ 1 -2.5 | 3.0 4e0 ] in m[0, 1] * m[1, 0] + m[row % 2, col % 2]".into(),
        "let m = if col > 3 then [ 1.0 ] else [ 2.0 | 3.0 ] in m[0, 0]".into(),
        // What is not evaluated does not fail.
        "if col <> 11 then 1 / (col - 11) else 3".into(),
        "if col = 11 || 1 / (col - 11) > 0 then 1 else 0".into(),
        "sum i from 0 to 2 of if i = 0 then 0 else 4 / i".into(),
        // The picture.
        "10 * image(row, col - 1, 2) + image(row - 9, col, current) + image(height, width, red)".into(),
    ];
    check_values(&exprs);
}

/// Random expressions: `ty` is one of `Int`, `Float` and `Bool`.
fn random_expr(random: &mut impl FnMut(usize) -> usize, ty: Ty, depth: usize) -> String {
    let leaf = depth == 0 || random(6) == 0;
    let mut part = |ty: Ty| random_expr(random, ty, depth.saturating_sub(1));
    match ty {
        _ if leaf => match ty {
            Ty::Int => ["row", "col", "iter", "3", "-2", "height - col", "current"][random(7)].to_owned(),
            Ty::Float => {
                ["0.5", "1.25", "0.0", "-1.5", "1", "image(row, col, 1)", "iter"][random(7)].to_owned()
            }
            _ => ["true", "row < col", "iter = 10"][random(3)].to_owned(),
        },
        Ty::Int => {
            let (a, b, c) = (part(Ty::Int), part(Ty::Int), part(Ty::Bool));
            let choices = [
                format!("({a} + {b}) % 50"),
                format!("{a} - ({b})"),
                format!("({a}) / (1 + abs({b}))"),
                format!("min({a}, {b})"),
                format!("if {c} then {a} else {b}"),
                format!("let x = {a} in x % 7 - ({b})"),
                format!("sum i from 0 to 2 of i * (({a}) % 9)"),
                format!("round({})", random_expr(random, Ty::Float, depth - 1)),
            ];
            format!("({})", choices[random(8)])
        }
        Ty::Float => {
            let (a, b, n, c) = (part(Ty::Float), part(Ty::Float), part(Ty::Int), part(Ty::Bool));
            let choices = [
                format!("{a} + {b}"),
                format!("{a} * sin({b})"),
                format!("max({a}, {n})"),
                format!("{a} / (2.5 + abs({b}))"),
                format!("if {c} then {n} else {b}"),
                format!("(let y = {a} in y - {b})"),
                format!("sum i from -1 to 1 of i * {a} + image(row + i, col, 0)"),
                format!("cos({a}) ** 2 - {b}"),
            ];
            format!("({})", choices[random(8)])
        }
        _ => {
            let (a, b, f, n) = (part(Ty::Bool), part(Ty::Bool), part(Ty::Float), part(Ty::Int));
            let choices = [
                format!("{a} && {b}"),
                format!("{a} || {b}"),
                format!("not ({a})"),
                format!("{f} <= {n}"),
                format!("{n} <> 3"),
                format!("({a}) = ({b})"),
            ];
            format!("({})", choices[random(6)])
        }
    }
}

#[test]
fn random_values_are_the_same_by_interpretation() {
    let mut numbers = MersenneTwister::new(27);
    let mut random = |below: usize| numbers.next_u32() as usize % below;
    let exprs: Vec<String> = (0..60).map(|_| random_expr(&mut random, Ty::Float, 3)).collect();
    check_values(&exprs);
}

/// The first error of a program that interprets this text.
fn error(text: &str) -> String {
    let program = format!(
        "fn @image(row: i32, col: i32, channel: i32) -> f32 {{ (row + col + channel) as f32 }}
        extern fn value(row: i32, col: i32) -> f32 {{
            interpret({}, image, Pixel {{ row: row, col: col, width: 9, height: 7, iter: 0 }}, 0)
        }}",
        quoted(text)
    );
    match evaluated(&program) {
        Ok(_) => "no error".into(),
        Err(report) => report.lines().next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn errors_in_strings_are_errors_of_the_program() {
    let texts = [
        "",
        "[ 1.0",
        "[ image(row, col) ]",
        "[ x ]",
        "[ sum i 0 to 2 of i ]",
        "[ if row then 1 else 2 ]",
        "[ 1 + ]",
        "[ 1.0 ] 2",
        "[ true ]",
        "[ 1.5 % 2 ]",
        "[ image(0.5, col, 0) ]",
        "let m = [ 1.0 ] in [ m[0, 1] ]",
        "[ 1 / 0 ]",
        "[ if true then 1.0 else false ]",
        "[ 99999999999 ]",
        "[ row && true ]",
        "[ 1.0; 2.0 ]",
    ];
    let found: String = texts.iter().map(|text| format!("{text}: {}\n", error(text))).collect();
    expect![[r#"
        : error[E0913]: a filter lacks an expression
        [ 1.0: error[E0913]: a filter lacks `]`
        [ image(row, col) ]: error[E0913]: a filter lacks an expression
        [ x ]: error[E0913]: a filter has a name that is not defined
        [ sum i 0 to 2 of i ]: error[E0913]: a filter lacks a keyword, such as `in`, `then`, `else`, `from`, `to` or `of`
        [ if row then 1 else 2 ]: error[E0913]: the condition of `if` has the type Bool
        [ 1 + ]: error[E0913]: a filter lacks an expression
        [ 1.0 ] 2: error[E0913]: a filter ends with the bracket behind its channels
        [ true ]: error[E0913]: a filter needs a number where it has a Bool or a Matrix
        [ 1.5 % 2 ]: error[E0913]: `%` takes operands of the type Int
        [ image(0.5, col, 0) ]: error[E0913]: a filter needs an Int; `floor` makes one of a Float
        let m = [ 1.0 ] in [ m[0, 1] ]: error[E0913]: a matrix does not have this entry
        [ 1 / 0 ]: error[E0913]: a filter divides by zero
        [ if true then 1.0 else false ]: error[E0913]: the branches of `if` have different types
        [ 99999999999 ]: error[E0913]: a filter has a number that is too large for an Int
        [ row && true ]: error[E0913]: `&&` and `||` take operands of the type Bool
        [ 1.0; 2.0 ]: no error
    "#]].assert_eq(&found);
}
