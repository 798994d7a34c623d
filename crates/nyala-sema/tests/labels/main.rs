//! Types and errors as labels under the code: `//  ^^^^ i32` says that the text above
//! is an expression or variable of that type, `//  ^^^^ error: ..` that an error with
//! this text is reported there. Errors without a label fail a test. `accept` has programs
//! without errors, `reject` those with errors.

use nyala_sema::tree::{Expr, Program};
use nyala_sema::{Checked, check, package::Package, visit};
use nyala_span::{Diagnostic, SourceMap, Span};

mod accept;
mod reject;

/// A label: where it points, and what it says.
struct Label {
    span: Span,
    text: String,
}

/// Checks a program and compares with its labels.
fn check_labels(source: &str) {
    let mut map = SourceMap::default();
    let id = map.add("test.impala", source).expect("tests are small");
    let file = map.file(id);
    let parse = nyala_syntax::parse(file);
    assert!(parse.errors.is_empty(), "syntax: {:#?}", parse.errors);
    let checked = check(&[Package::program([&parse.file])]);
    let labels = labels(source, file.base);
    let errors: Vec<&Diagnostic> = checked.diagnostics.iter().filter(|it| it.is_error()).collect();
    for error in &errors {
        let is_expected = labels.iter().any(|label| is_error_label(label, error));
        assert!(is_expected, "{}: {}\n{error:#?}", map.describe(error.primary.span), error.message);
    }
    if errors.is_empty() {
        assert_all_known(&checked.program);
    }
    for label in labels {
        match label.text.strip_prefix("error: ") {
            Some(text) => {
                let found = errors.iter().any(|error| is_error_label(&label, error));
                assert!(found, "{}: no error `{text}`", map.describe(label.span));
            }
            None => {
                let found = type_at(&checked, label.span);
                assert_eq!(found.as_deref(), Some(&*label.text), "at {}", map.describe(label.span));
            }
        }
    }
}

/// A program without errors has no type that is unknown or wrong.
fn assert_all_known(program: &Program) {
    let assert_known = |ty, span: Span| {
        let info = program.types.info(ty);
        assert!(!info.has_error && !info.has_infer, "{} at {span:?}", program.types.display(ty));
    };
    program.locals.values().for_each(|local| assert_known(local.ty, local.span));
    program.fns.values().for_each(|function| assert_known(function.ty, function.span));
    program.statics.values().for_each(|it| assert_known(it.ty, it.span));
    for root in visit::roots(program) {
        visit::walk(root, |expr| assert_known(expr.ty, expr.span));
    }
}

fn is_error_label(label: &Label, error: &Diagnostic) -> bool {
    let text = label.text.strip_prefix("error: ");
    text.is_some_and(|text| error.primary.span == label.span && error.message.contains(text))
}

fn labels(source: &str, base: u32) -> Vec<Label> {
    let mut labels = vec![];
    let mut line_start = 0;
    let mut code_start = 0;
    for line in source.split_inclusive('\n') {
        let trimmed = line.trim_start();
        match trimmed.strip_prefix("//").map(str::trim_start) {
            Some(rest) if rest.starts_with('^') => {
                let col = line.find('^').expect("the text starts with it");
                let width = rest.chars().take_while(|&c| c == '^').count();
                let lo = base + (code_start + col) as u32;
                let span = Span::new(lo, lo + width as u32);
                labels.push(Label { span, text: rest[width..].trim().to_string() });
            }
            _ => code_start = line_start,
        }
        line_start += line.len();
    }
    labels
}

/// The type of the expression or variable with exactly this span.
fn type_at(checked: &Checked, span: Span) -> Option<String> {
    let program = &checked.program;
    let local = program.locals.values().find(|local| local.span == span).map(|local| local.ty);
    let ty = local.or_else(|| expr_type(program, span))?;
    Some(program.types.display(ty).to_string())
}

/// Of several expressions with one span, implicit conversions are outside: the innermost counts.
fn expr_type(program: &Program, span: Span) -> Option<nyala_sema::types::Ty> {
    let mut found = None;
    for root in visit::roots(program) {
        visit::walk(root, |expr: &Expr| {
            if expr.span == span {
                found = Some(expr.ty);
            }
        });
    }
    found
}
