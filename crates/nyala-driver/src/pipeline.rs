//! The stages of the compiler, one after the other.
//!
//! Each function takes a program as far as its name says. It reports to the
//! session, and returns nothing if the program has errors.

use nyala_syntax::{Parse, ParseOptions};

use crate::session::Session;

/// Parses all files of the session; none if one of them could not even be read.
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
    Some(trees)
}

/// Reports what is wrong with the program.
pub fn check(session: &mut Session) {
    parse(session);
}
