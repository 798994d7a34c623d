//! Tests of the parser.

use nyala_span::SourceMap;

use super::{Parse, parse};

fn parse_text(text: &str) -> Parse {
    let mut map = SourceMap::default();
    let id = map.add("test", text).expect("test texts are small");
    parse(map.file(id))
}

#[test]
fn a_file_of_both_dialects_parses() {
    let parse = parse_text(
        "extern fn f(x: &[1][f32], n: i32) -> f32 { for i in range(0, n) @{ @@g(i, 2f) } x(0) }\n\
         #[export] fn g(_: i32) = S { x = 1 : u8 }.{ x = 2 };\n",
    );
    assert_eq!(parse.errors, []);
    assert_eq!(parse.file.items.len(), 2);
}
