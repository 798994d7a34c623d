//! The program as a graph: continuations, parameters and primitive operations.
//!
//! Read in this order:
//!
//! * [`types`]: the types of the graph, interned;
//! * [`node`]: the kinds of nodes;
//! * [`world`]: the store that owns them and builds them, one factory each;
//! * [`origin`]: annotations of functions in the source;
//! * [`layout`]: sizes, alignments and offsets in memory;
//! * [`eval`]: the meaning of operators on constants;
//! * [`fold`]: the rules by which factories simplify;
//! * [`free`]: free variables of nodes and continuations;
//! * [`text`]: the form that people read and tests are written in;
//! * [`analysis`]: scopes, control flow, dominance, loops, schedules;
//! * [`verify`](mod@verify): the rules that every program keeps;
//! * [`entry`]: the function that a process starts with;
//! * [`functions`]: functions of the outside and of the compiler: the one list of them;
//! * [`reduction`]: one value from those of all lanes;
//! * [`table`]: the hash table for hash-consing;
//! * [`rebuild`]: a node again, with other operands;
//! * [`dot`](mod@dot): a picture of the graph.
//!
//! This crate knows no source language and no target machine.
//!
//! ```
//! use nyala_ir::{ArithFlags, ArithOp, Linkage, Prim, World, text, verify};
//!
//! // `fn twice(x: i32) -> i32 { x + x }`, with the return continuation `ret`.
//! let mut world = World::new();
//! let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
//! let ret = world.types.cn(&[mem, i32]);
//! let twice = world.new_cont("twice", &[mem, i32, ret]);
//! world.set_linkage(twice, Linkage::Exported("twice".into()));
//! let [mem, x, ret] = world.cont(twice).params[..] else { unreachable!("it was made with three") };
//! let sum = world.arith(ArithOp::Add, ArithFlags::default(), x, x);
//! // The same node again, as it has the same operator and operands.
//! assert_eq!(sum, world.arith(ArithOp::Add, ArithFlags::default(), x, x));
//! world.set_body(twice, ret, [mem, sum]);
//!
//! verify(&world)?;
//! let form = text::print(&world);
//! assert_eq!(text::print(&text::parse(&form)?), form);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analysis;
pub mod dot;
pub mod entry;
pub mod eval;
pub mod fold;
pub mod free;
pub mod functions;
pub mod layout;
pub mod node;
pub mod origin;
pub mod rebuild;
pub mod reduction;
pub mod table;
pub mod text;
pub mod types;
pub mod verify;
pub mod world;

pub use functions::{External, Function, LaneFunction};
pub use node::{
    ArithFlags, ArithOp, AsmData, Body, CmpOp, Cont, ContData, Def, DefList, Defs, Global, GlobalData,
    Intrinsic, LaneOp, Linkage, Mark, MathOp, Node,
};
pub use reduction::Reduction;
pub use types::{EnumData, EnumId, FieldData, OptionData, Prim, StructData, StructId, Ty, TyKind, Types};
pub use verify::{VerifyErrors, verify};
pub use world::World;
