//! Tests of the lexer.

use expect_test::{Expect, expect};
use nyala_span::SourceMap;

use super::{MAX_WORD, lex};
use crate::ast::LitKind;
use crate::token::TokenKind;

/// The tokens of `text`, then the codes of the errors.
fn check(text: &str, expected: Expect) {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    let lexed = lex(map.file(id), None);
    let show = |kind: TokenKind| match kind {
        TokenKind::Lit(index) | TokenKind::Str(index) => match &lexed.lits[index as usize] {
            LitKind::Str(string) => format!("\"{}\"", string.bytes.escape_ascii()),
            LitKind::Int { value, suffix } => {
                format!("{value:?}{suffix:?}").replace("Some", "").replace("None", "")
            }
            LitKind::Float { digits, suffix } => {
                format!("{digits}{suffix:?}").replace("Some", "").replace("None", "")
            }
            lit => format!("{lit:?}"),
        },
        TokenKind::Ident(name) => name.to_string(),
        TokenKind::Unknown => "?".into(),
        TokenKind::Eof => "end".into(),
        kind => kind.text().unwrap_or_default().into(),
    };
    let tokens: Vec<_> = lexed.tokens.iter().map(|token| show(token.kind)).collect();
    let codes: Vec<_> = lexed.errors.into_iter().map(|error| error.into_diagnostic().code.0).collect();
    expected.assert_eq(format!("{} {}", tokens.join(" "), codes.join(" ")).trim_end());
}

#[test]
fn integers_have_bases_separators_and_suffixes() {
    check(
        "0 42 1_000 0b1010 0o17 0xff_ff 42i 42u 7i8 7i16 7i32 7i64 7u8 7u16 7u32 7u64 0xffu8",
        expect![
            "(0) (42) (1000) (10) (15) (65535) (42)(I32) (42)(U32) (7)(I8) (7)(I16) (7)(I32) (7)(I64) (7)(U8) (7)(U16) (7)(U32) (7)(U64) (255)(U8) end"
        ],
    );
    check(
        "18446744073709551615 18446744073709551616 0x1ffffffffffffffff",
        expect!["(18446744073709551615)   end E0010 E0010"],
    );
    check(
        "0b 0x_ 0b2 0o8 12kb 0b1f32 0xfi9",
        expect!["Error Error Error Error Error Error Error end E0009 E0009 E0008 E0008 E0011 E0011 E0011"],
    );
}

#[test]
fn floats_have_points_exponents_and_suffixes() {
    check(
        "1.5 1., .5, 1e5 1.5e-3 1E+4 1_0.0_1 1337f 0f32 2h 1.5f16 1f64 99999999999999999999f",
        expect![
            "1.5 1. , .5 , 1e5 1.5e-3 1E+4 10.01 (1337)(F32) (0)(F32) (2)(F16) 1.5(F16) (1)(F64) 99999999999999999999(F32) end"
        ],
    );
    check("1.5i32 1e 1.x", expect!["Error Error Error end E0011 E0011 E0011"]);
}

#[test]
fn points_after_operands_select_elements() {
    check(
        "t.0.1 (x).5 f(.5) x+.5 a(1).2 [1, ..16] 1..2",
        expect!["t . (0) . (1) ( x ) . (5) f ( .5 ) x + .5 a ( (1) ) . (2) [ (1) , .. (16) ] (1) .. (2) end"],
    );
    check("t.0x1 t.1u t.99999999999", expect!["t . Error t . Error t . Error end E0127 E0127 E0127"]);
}

#[test]
fn characters_and_strings() {
    check(
        r#"'x' '\0' '\n' '\t' '\'' '\"' '\\' '\x41' '\101' '\a' '\b' '\r' '\v' '\f' '"'"#,
        expect![
            "Char(120) Char(0) Char(10) Char(9) Char(39) Char(34) Char(92) Char(65) Char(65) Char(7) Char(8) Char(13) Char(11) Char(12) Char(34) end"
        ],
    );
    check(r#""" "a\n\x41\101\"" "ä" "it's""#, expect![[r#""" "a\nAA\"" "\xc3\xa4" "it\'s" end"#]]);
    check(
        r#"'' 'ab' 'ä' '\q' '\400' "\xzz" "\é""#,
        expect![[r#"Error Error Error Error Error "zz" "" end E0006 E0007 E0007 E0005 E0005 E0005 E0005"#]],
    );
    check("'a; 'b", expect!["Error ; Error end E0003 E0003"]);
    check("\"no end\n\"and again", expect![[r#""no end" "and again" end E0002 E0002"#]]);
}

#[test]
fn the_longest_punctuation_wins() {
    check(
        "a-->b <<= >>= ... .. :: -> => @@ @? || && ++ -- != == <= >= @(x) $ ~ # ?",
        expect!["a -- > b <<= >>= ... .. :: -> => @@ @? || && ++ -- != == <= >= @ ( x ) $ ~ # ? end"],
    );
}

#[test]
fn words_are_keywords_or_names() {
    check(
        "as asm else fn simd loop extern use return i32 _ _x x1 typeof with",
        expect!["as asm else fn simd loop extern use return i32 _ _x x1 typeof with end"],
    );
}

#[test]
fn comments_are_kept_and_do_not_nest() {
    let mut map = SourceMap::default();
    let id = map.add("test", "a // b\r\n/* c /* d */ e //").expect("test texts are small");
    let file = map.file(id);
    let comments: Vec<_> =
        lex(file, None).comments.iter().map(|comment| &file.text[file.local(comment.span)]).collect();
    assert_eq!(comments, ["// b", "/* c /* d */", "//"]);
    check("a /* b", expect!["a end E0004"]);
}

#[test]
fn invisible_characters_are_reported_everywhere() {
    check(
        "a\0b // \u{202e}\n\"\u{2066}\" \u{feff}",
        expect![[r#"a b "\xe2\x81\xa6" end E0013 E0013 E0013 E0013"#]],
    );
    check("a ` \\ \u{20ac}\u{20ac} gr\u{f6}\u{df}e", expect!["a ? ? ? größe end E0001 E0001 E0001 E0001"]);
}

#[test]
fn too_long_words_are_cut() {
    let mut map = SourceMap::default();
    let id = map.add("test", "x".repeat(MAX_WORD + 1)).expect("test texts are small");
    let lexed = lex(map.file(id), None);
    assert_eq!(lexed.errors.len(), 1);
    let TokenKind::Ident(name) = lexed.tokens[0].kind else { panic!("a name is expected") };
    assert_eq!(name.as_str().len(), MAX_WORD);
}
