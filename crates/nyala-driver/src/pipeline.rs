//! The stages of the compiler, one after the other.
//!
//! Each function takes a program as far as its name says. It reports to the
//! session, and returns nothing if the program has errors.

use nyala_syntax::{Parse, ParseOptions};

use crate::session::Session;

/// Parses all files of the session.
fn parse(session: &mut Session) -> Option<Vec<nyala_syntax::ast::File>> {
    if session.has_errors() {
        return None;
    }
    let mut trees = Vec::new();
    for (id, file) in session.sources.files() {
        let dialect = session.options.dialect.filter(|_| !session.is_prelude(id));
        let Parse { file, errors } = nyala_syntax::parse_with(file, ParseOptions { dialect });
        trees.push(file);
        session.diagnostics.extend(errors);
    }
    (!session.has_errors()).then_some(trees)
}

/// Writes the one file of the session in canonical form.
pub fn format(session: &mut Session) -> Option<String> {
    let trees = parse(session)?;
    let (_, file) = session.sources.files().next()?;
    Some(nyala_syntax::format(trees.first()?, file))
}

/// Reports what is wrong with the program.
pub fn check(session: &mut Session) {
    parse(session);
}
