//! A language for image filters: Herrmann and Langhammer, "Combining partial evaluation and staged interpretation
//! in the implementation of domain-specific languages" (SCP 62, 2006), as a small front end on our program graph.
//!
//! Read in this order:
//!
//! * [`ast`], [`lexer`], [`parser`]: text to syntax tree;
//! * [`tree`], [`check`]: names and types;
//! * [`picture`], `samples`: planes of intensities;
//! * [`interp`]: the meaning of filters;
//! * [`ranges`]: what is known before a filter runs;
//! * [`translate`], `rows`, `accesses`, `sums`: the code of pixels as nodes;
//! * [`render`], `loops`, `kernel`: the loops over the pixels, on processors and on devices;
//! * [`mod@compile`]: native code;
//! * [`residual`], `print`: residual programs, read back as filters, and as text;
//! * [`renderer`]: the frames of a filter;
//! * [`files`], [`gif`]: pictures and animations as bytes;
//! * [`errors`]: errors of filters.
//!
//! ```
//! use nyala_filter::{Picture, Rules, interp::interpret, parse};
//! use nyala_span::SourceMap;
//!
//! let mut sources = SourceMap::default();
//! let file = sources.add("negative.img", "[ 1 channels: 1 - image(row, col, current) ]")?;
//! let filter = parse(sources.file(file)).expect("it has no errors");
//! let picture = Picture::from_interleaved(2, 1, 1, 255, |index| [0, 200][index]).expect("it is small");
//! let result = interpret(&filter, &picture, Rules::default(), 0).expect("no operation fails");
//! assert_eq!(result.interleaved().collect::<Vec<u16>>(), [255, 55]);
//! # Ok::<(), nyala_span::SourceTooLarge>(())
//! ```

mod accesses;
pub mod ast;
pub mod check;
pub mod compile;
pub mod errors;
pub mod files;
pub mod gif;
pub mod interp;
mod kernel;
pub mod lexer;
mod loops;
pub mod parser;
pub mod picture;
mod print;
pub mod ranges;
pub mod render;
pub mod renderer;
pub mod residual;
mod rows;
mod samples;
mod sums;
pub mod translate;
pub mod tree;

use nyala_span::{Diagnostic, SourceFile};

pub use compile::{Compiled, compile};
pub use interp::Rules;
pub use picture::{Boundary, Picture};
pub use render::Device;
pub use renderer::{Engine, RenderOptions, Renderer};
pub use tree::Filter;

/// Parses and checks a filter.
pub fn parse(file: &SourceFile) -> Result<Filter, Vec<Diagnostic>> {
    let tree = parser::parse(file).map_err(|error| vec![error.to_diagnostic()])?;
    check::check(&tree).map_err(|errors| errors.iter().map(errors::FilterError::to_diagnostic).collect())
}
