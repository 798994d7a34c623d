//! Text to syntax tree, and back.
//!
//! Read in this order: [`ast`] is the output; `token` and `lexer` split the text into tokens; `delims` pairs
//! brackets; `parser` builds the tree; `print` formats it (`nyala fmt`); [`docs`] finds documentation comments;
//! [`mod@outline`] lists items by name; [`classes`] says how tokens are coloured; [`dump()`] shows the structure of
//! a tree to tests.
//!
//! Parsing never fails: it returns a tree and a list of errors, so that
//! editors can work with incomplete text. Nothing here knows types.
//!
//! ```
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let id = sources.add("add.impala", "fn add(a:i32,b:i32)->i32{a+b}")?;
//! let parse = nyala_syntax::parse(sources.file(id));
//! assert!(parse.errors.is_empty());
//! let text = nyala_syntax::format(&parse.file, sources.file(id));
//! assert_eq!(text, "fn add(a: i32, b: i32) -> i32 { a + b }\n");
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

pub mod ast;
pub mod classes;
mod delims;
pub mod docs;
mod dump;
mod errors;
mod lexer;
pub mod outline;
mod parser;
mod print;
mod token;

pub use dump::dump;
pub use parser::{Parse, ParseOptions, declared_edition, parse, parse_pieces, parse_with};
pub use print::format;
