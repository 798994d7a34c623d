//! Errors of filters: their codes, their places, their messages.

use expect_test::{Expect, expect};
use nyala_filter::{Boundary, Engine, Picture, RenderOptions, Renderer, Rules, parse};
use nyala_span::{Diagnostic, SourceMap};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&messages(text));
}

/// Renders a filter on a small picture with each engine: all report the same.
fn messages(text: &str) -> String {
    let rules = Rules { boundary: Boundary::Error, max_terms: 1000 };
    let mut found: Vec<String> = vec![];
    for engine in [Engine::Interpret, Engine::Compile, Engine::Specialize] {
        let mut sources = SourceMap::default();
        let file = sources.add("f.img", text).expect("a small text");
        let diagnostics = match parse(sources.file(file)) {
            Ok(filter) => {
                let picture = Picture::from_interleaved(5, 4, 3, 255, |index| index as u16);
                let options = RenderOptions { engine, rules, threads: 1, ..RenderOptions::default() };
                let mut renderer = Renderer::new(filter, picture.expect("it is small"), options);
                renderer.frame(0).err().unwrap_or_default()
            }
            Err(diagnostics) => diagnostics,
        };
        let line = |error: &Diagnostic| {
            let notes = error.notes.iter().map(|note| format!("\n  {note}")).collect::<String>();
            let suggested = error.suggestions.iter().map(|change| format!(" (`{}`?)", change.replacement));
            let suggested: String = suggested.collect();
            let place = sources.describe(error.primary.span);
            format!("{} {place}: {}{suggested}{notes}\n", error.code, error.message)
        };
        found.push(diagnostics.iter().map(line).collect());
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    found.swap_remove(0)
}

#[test]
fn syntax_errors_are_reported_at_their_token() {
    check(
        "[ 1.0 ? ]",
        expect![[r#"
        E1200 f.img:1:7: the character `?` starts no token
    "#]],
    );
    check(
        "[ sum i from 0 to 2 of ]",
        expect![[r#"
        E1201 f.img:1:24: expected an expression, found `]`
    "#]],
    );
    check(
        "let if = 1 in [ 1.0 ]",
        expect![[r#"
        E1201 f.img:1:5: expected a name, found `if`
    "#]],
    );
    check(
        "[ image(row, col) ]",
        expect![[r#"
        E1201 f.img:1:17: expected `,`, found `)`
    "#]],
    );
    check(
        "[ 1.0",
        expect![[r#"
        E1201 f.img:1:6: expected `]`, but the filter ends here
    "#]],
    );
    check(
        "",
        expect![[r#"
            E1201 f.img:1:1: expected `[`, but the filter ends here
              a filter ends with its channels, as in `[ 3 channels: image(row, col, current) ]`
        "#]],
    );
    check(
        "[ 99999999999 ]",
        expect![[r#"
        E1202 f.img:1:3: this number is too large for the type `Int`
    "#]],
    );
    check(
        "[ 5 channels: 0.5 ]",
        expect![[r#"
        E1205 f.img:1:3: a picture has 1 to 4 channels, not 5
    "#]],
    );
    check(
        "let m = [ 1.0 2.0 | 3.0 ] in [ 1.0 ]",
        expect![[r#"
        E1204 f.img:1:21: this row has 1 column, not 2
    "#]],
    );
    check(
        &format!("[ {}1{} ]", "(".repeat(300), ")".repeat(300)),
        expect![[r#"
        E1203 f.img:1:259: this expression is nested too deeply
          the limit is 256 levels; a `let` shortens an expression
    "#]],
    );
    check(
        &format!("[ 1{} ]", " + 1".repeat(300)),
        expect![[r#"
        E1203 f.img:1:3: this expression is nested too deeply
          the limit is 256 levels; a `let` shortens an expression
    "#]],
    );
}

/// Mistakes of people who know other languages.
#[test]
fn forms_of_other_languages_get_notes() {
    let texts = [
        "image(row, col, red)",
        "// negative",
        "[ .5 ]",
        "[ if row == 1 then 1 else 2 ]",
        "[ if row != 1 then 1 else 2 ]",
        "[ 0.5, 0.5 ]",
        "[ 3 channels: 1; 2 ]",
        "[ 3 chanels: 1 ]",
        "[ if row > 3 then 1 ]",
        "[ \"a\" ]",
        "[ \u{7} ]",
    ];
    expect![[r#"
        E1201 f.img:1:1: expected `[`, found `image`
          a filter ends with its channels, as in `[ 3 channels: image(row, col, current) ]`
        E1201 f.img:1:1: expected `[`, found `/`
          `#` starts a comment
        E1200 f.img:1:3: the character `.` starts no token
          a number begins with a digit, as in `0.5`
        E1201 f.img:1:11: expected an expression, found `=`
          `=` compares, there is no `==`
        E1200 f.img:1:10: the character `!` starts no token
          `not` negates, and `<>` compares for inequality
        E1201 f.img:1:6: expected `]`, found `,`
          `;` separates channels
        E1201 f.img:1:16: expected `]`, found `;`
          `[ n channels: .. ]` has one expression for all channels
        E1201 f.img:1:5: expected `channels`, found `chanels`
        E1201 f.img:1:21: expected `else`, found `]`
          an `if` has a value, so it needs both branches
        E1200 f.img:1:3: the character `"` starts no token
        E1200 f.img:1:3: the character `\u{7}` starts no token
    "#]]
    .assert_eq(&texts.map(messages).concat());
}

#[test]
fn names_and_types() {
    check(
        "[ image(row, column, gray) ]",
        expect![[r#"
        E1206 f.img:1:14: there is no variable `column`
    "#]],
    );
    check(
        "[ current ]",
        expect![[r#"
        E1206 f.img:1:3: there is no variable `current`
          only `[ n channels: .. ]` defines `current`
    "#]],
    );
    check(
        "[ image(row / 2.0, col, gray) ]",
        expect![[r#"
        E1207 f.img:1:9: expected `Int`, found `Float`
          `floor` turns a `Float` into an `Int`
    "#]],
    );
    check(
        "[ 3 channels: if row then 1.0 else true ]",
        expect![[r#"
        E1207 f.img:1:18: expected `Bool`, found `Int`
    "#]],
    );
    check(
        "[ if row = 1 then 1.0 else true ]",
        expect![[r#"
        E1207 f.img:1:28: expected `Float`, found `Bool`
    "#]],
    );
    check(
        "[ 1.5 % 2 + sum i from 0 to 2 of true ]",
        expect![[r#"
        E1207 f.img:1:3: `%` takes no operands of the types `Float` and `Int`
        E1207 f.img:1:34: expected a number, found `Bool`
    "#]],
    );
    check(
        "let m = [1.0] in [ m ]",
        expect![[r#"
        E1207 f.img:1:20: expected `Float`, found `Matrix`
    "#]],
    );
    check(
        "[ row[0, 0] ]",
        expect![[r#"
        E1207 f.img:1:3: expected `Matrix`, found `Int`
    "#]],
    );
}

#[test]
fn operations_that_fail_are_reported() {
    check(
        "[ image(row - 1, col, gray) ]",
        expect![[r#"
        E1208 f.img:1:3: there is no pixel at row -1, column 0
          the picture has 4 rows and 5 columns; `--boundary clamp` takes the nearest pixel
          this happens first for the output pixel at row 0, column 0
    "#]],
    );
    check(
        "[ image(row, col, row) ]",
        expect![[r#"
        E1209 f.img:1:3: there is no channel 3: the picture has 3 channels
          this happens first for the output pixel at row 3, column 0
    "#]],
    );
    check(
        "let m = [ 1.0 2.0 | 3.0 4.0 ] in [ m[1, col] ]",
        expect![[r#"
        E1210 f.img:1:36: the matrix has no entry at row 1, column 2
          it has 2 rows and 2 columns, counted from 0
          this happens first for the output pixel at row 0, column 2
    "#]],
    );
    check(
        "[ 1 / (col - 3) ]",
        expect![[r#"
        E1211 f.img:1:3: division by zero
          this happens first for the output pixel at row 0, column 3
    "#]],
    );
    check(
        "[ col % (row - 1) ]",
        expect![[r#"
        E1211 f.img:1:3: division by zero
          this happens first for the output pixel at row 1, column 0
    "#]],
    );
    check(
        "[ 2 ** (1 - col) ]",
        expect![[r#"
        E1212 f.img:1:3: the exponent of an `Int` is negative: -1
          this happens first for the output pixel at row 0, column 2
    "#]],
    );
    check(
        "[ sum i from 0 to 2000000000 of 0.1 ]",
        expect![[r#"
        E1213 f.img:1:3: this sum has 2000000001 terms for one pixel
          the limit is 1000, with the terms of the sums around it; `--max-terms` changes it
          this happens first for the output pixel at row 0, column 0
    "#]],
    );
    check(
        "[ sum i from 0 to 40 of sum j from 0 to i * col of 0.1 ]",
        expect![[r#"
        E1213 f.img:1:25: this sum has 1025 terms for one pixel
          the limit is 1000, with the terms of the sums around it; `--max-terms` changes it
          this happens first for the output pixel at row 0, column 1
    "#]],
    );
}

#[test]
fn unneeded_operands_may_fail() {
    check("[ if col = 3 || 1 / (col - 3) > 0 then 1.0 else 0.0 ]", expect![[""]]);
    check("[ if row > 0 then image(row - 1, col, gray) else 0.0 ]", expect![[""]]);
    check("[ 1.0 / (col - 3.0) + (-2147483647 - 1) / (col * 0 - 1) ]", expect![[""]]);
}
