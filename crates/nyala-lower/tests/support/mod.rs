//! Support for tests: lowering of source text to a graph.

use expect_test::Expect;
use nyala_lower::{Constant, Failure, LowerOptions, Lowered, Statics, lower};
use nyala_sema::{check, package::Package};
use nyala_span::{Diagnostic, SourceMap};

/// The graph of `text`, or the diagnostics of lowering.
pub fn lowered(text: &str) -> Result<nyala_ir::World, Vec<Diagnostic>> {
    lowered_with_warnings(text).map(|lowered| lowered.world)
}

/// As [`lowered`], with warnings.
pub fn lowered_with_warnings(text: &str) -> Result<Lowered, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    let file = sources.add("test", text).expect("tests are small");
    let parse = nyala_syntax::parse(sources.file(file));
    assert_eq!(parse.errors, [], "the test's text has errors");
    let checked = check(&[Package::program([&parse.file])]);
    let errors: Vec<_> = checked.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    assert_eq!(errors, [], "the test's program has errors");
    // The executed code is always the same.
    let run = |_: &nyala_ir::World, _| -> Result<Constant, Failure> {
        Ok(Constant::Parts(vec![Constant::Bits(7), Constant::Undef]))
    };
    lower(&checked.program, &sources, &LowerOptions::default(), &Statics::new(&run))
}

/// Compares the graph of `text`, as text.
pub fn check_graph(text: &str, expected: Expect) {
    let world = lowered(text).expect("lowering reports nothing");
    nyala_ir::verify::verify(&world).unwrap_or_else(|errors| panic!("{errors}"));
    expected.assert_eq(&nyala_ir::text::print(&world));
}
