//! The text form of a world, for tests and for reading.
//!
//! ```text
//! struct Vec2 { x: f32, y: f32 }
//! enum Shape { Point, Circle: f32 }
//! const greeting: [u8 * 3] = "Hi\0"
//! global counter: i32 = 0
//! import puts(mem: mem, s: &[u8], ret: cn(mem, i32))
//! export main(mem: mem, x: i32, ret: cn(mem, i32)):
//!     pow(mem, x, 2, ret)
//! pow(mem: mem, x: i32, n: i32, ret: cn(mem, i32)) @ [false, false, known(n), false]:
//!     branch(mem, eq(n, 0), done, more)
//! done(mem: mem):
//!     pow.ret(mem, 1)
//! more(mem: mem):
//!     pow(mem, pow.x, sub(pow.n, 1), next)
//! next(mem: mem, r: i32):
//!     pow.ret(mem, mul(r, pow.x))
//! ```
//!
//! # Reading it
//!
//! * Names of parameters and of lines `d0 = add(x, y)` are local to the
//!   continuation they belong to; in others they are written `pow.x`. So a free
//!   variable shows at once whose it is. Hand-written text may leave the
//!   continuation out where only one has such a name. Continuations and
//!   globals share one space of names; `.x` is the one named `x` where a local
//!   `x` hides it.
//! * A short operation with one use is written inline, all
//!   others on a line of the first continuation that needs them. Operations
//!   on memory always have a line. A global whose value needs lines has them
//!   after a colon, the value last.
//! * `a.0` is `extract(a, 0)` with a literal `u32`; parts of tuples are numbered so.
//! * A literal without suffix has the type that its position requires (the
//!   parameter of a call, the other operand before it, `u32` for an index), and
//!   `i32` where the position requires no number. `f32(0x7fc00000)` is a float by its
//!   bits. An array of literal bytes is a string.
//! * `add[wrap](x, y)`, `mul[fast](x, y)`: flags. `cast[f32](x)`, `slot[i32](mem)`,
//!   `alloc[f32](mem, n)`, `size_of[i64](Vec2)`, `undef[i32]`, `null[&i32]`: types.
//!   `variant[Shape.Circle](1.0)`, `payload[Circle](s)`, `tag(s)`: enums.
//!   `(a, b)`, `[a, b]`, `simd[a, b]`, `Vec2 { a, b }`: aggregates; `splat[8](a)` has `a` in
//!   each lane.
//! * `branch`, `switch` and `unreachable` need no declaration.
//! * `@ e` is a filter `e` for all parameters. `= "symbol"` is left out where it
//!   is the name. A name that is not an identifier is in backquotes. `;` starts a comment.
//!
//! # Where to look next
//!
//! `lex` and `parse` read the form, `print` writes it, `names` chooses the names in it.
//!
//! # Invariants
//!
//! Parsing and printing a printed text gives the same text, byte for
//! byte. Parsing does not fold (see [`World::set_folding`](crate::World::set_folding)):
//! what is written is what the world holds. Nothing recurses on the depth of the graph.

mod lex;
mod names;
mod parse;
mod print;

pub use names::{Ident, TypeIdent};
pub use parse::{ParseError, parse};
pub use print::{PrintOptions, print, print_conts, print_node, print_with};

#[cfg(test)]
mod tests;
