//! Source files, positions, names and diagnostics, for all other crates.
//!
//! * [`span`]: positions and ranges, eight bytes each, valid across all files;
//! * [`source`]: the source files of one compilation and line/column look-up;
//! * [`name`]: interned identifiers;
//! * [`prim`]: the primitive types;
//! * [`similar`]: the known name that is most similar to an unknown one;
//! * [`diagnostic`]: diagnostics as data.
//!
//! Nothing here touches the file system or prints: the driver reads files and
//! renders diagnostics.
//!
//! ```
//! use nyala_span::{Code, Diagnostic, SourceMap, Span};
//!
//! let mut sources = SourceMap::default();
//! let file = sources.add("half.impala", "fn half(x: f32) -> f32 {\n    x / 2\n}\n")?;
//! let at = sources.file(file).base + 33;
//! let report = Diagnostic::error(Code("E0203"), Span::new(at, at + 1), "expected `f32`, found `i32`");
//! assert_eq!(sources.describe(Span::new(at, at + 1)), "half.impala:2:9");
//! assert!(report.is_error());
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

pub mod diagnostic;
pub mod name;
pub mod prim;
pub mod similar;
pub mod source;
pub mod span;

pub use diagnostic::{Code, Diagnostic, Label, Severity, Suggestion};
pub use name::Name;
pub use prim::Prim;
pub use source::{FileId, LineCol, SourceFile, SourceMap, SourceTooLarge, without_controls};
pub use span::Span;
