//! Analyses: facts about a program that do not change it.
//!
//! Everything is computed on demand and never stored in the
//! [`World`](crate::World), so nothing can go stale. Read in this order:
//!
//! * [`graph`]: plain directed graphs;
//! * [`references`]: which continuations mention which;
//! * [`scope`]: which continuations are nested in which, implied by their use of parameters;
//! * [`functions`]: which continuations are functions, and which are basic blocks of which;
//! * [`styles`]: which functions return, and which take their return continuation as a closure;
//! * [`addresses`]: uses of the addresses of variables;
//! * [`numbers`]: divisors and bounds of integers;
//! * [`block_params`]: the same for loop counters and other parameters of blocks;
//! * [`mod@cfg`]: control flow within a scope;
//! * [`dominance`]: dominators and post-dominators;
//! * [`loops`]: which continuations form loops;
//! * [`tables`]: small arrays that lanes read;
//! * [`schedule`]: where to compute the operations of a scope.

pub mod addresses;
pub mod block_params;
pub mod cfg;
pub mod dominance;
pub mod functions;
pub mod graph;
pub mod loops;
pub mod numbers;
pub mod references;
pub mod schedule;
pub mod scope;
pub mod styles;
pub mod tables;

pub use addresses::{AddressUse, address_uses};
pub use block_params::BlockParams;
pub use cfg::Cfg;
pub use dominance::DomTree;
pub use functions::{Function, Functions, Obstacle};
pub use graph::Graph;
pub use loops::LoopForest;
pub use numbers::Number;
pub use references::References;
pub use schedule::{Mode, Schedule};
pub use scope::{Nesting, Scope};
pub use styles::Styles;
pub use tables::Table;
