//! Statics: values if possible, memory if necessary.
//!
//! An immutable static is replaced by its value, so that it folds. If
//! its address is taken, or an element of unknown index is read, it is a
//! constant global. A mutable static is a global.
//!
//! An initializer is lowered like other code, in its own block. It is
//! constant if the block has no calls and no memory operations, and
//! the value depends on no parameter. So literals, operators on them, aggregates,
//! other statics, functions and lambdas are constant, and so are operators of the
//! compiler such as `bitcast`.
//!
//! A call by name of a function with a body is expanded in place. Conditions that
//! fold choose their arm, so recursion on known numbers ends. See [`MAX_EXPANSIONS`]. Initializers
//! with loops or memory are executed, see `computed`; then the value must be plain data.

use nyala_ir::{Def, Linkage, Node};
use nyala_sema::tree::{self, Call, Expr, ExprKind, FnId, Program, StaticId};
use nyala_sema::types as sema;
use nyala_sema::visit;
use nyala_span::{Diagnostic, SourceMap};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::LowerOptions;
use crate::computed::Statics;
use crate::errors::LowerError;
use crate::frame::Frame;
use crate::instance::InstanceId;
use crate::lowerer::Lowerer;

/// The state of a static.
#[derive(Clone, Copy, Default)]
struct StaticState {
    /// Its initial value.
    value: Option<Def>,
    /// The global that holds it.
    address: Option<Def>,
}

/// The states of all statics that are initialized or being initialized.
#[derive(Default)]
pub(crate) struct StaticStates {
    known: FxHashMap<StaticId, StaticState>,
    /// Statics whose values are being computed.
    open: FxHashSet<StaticId>,
}

/// Calls that are expanded in place, in filters and in initializers of statics.
#[derive(Default)]
pub(crate) struct Expansion {
    /// The number of calls that were expanded for the current static or filter.
    pub(crate) n_calls: usize,
    /// The functions that are being expanded in a filter.
    pub(crate) open: Vec<FnId>,
    /// The number of enclosing expressions, over all bodies that are being expanded.
    pub(crate) nesting: usize,
}

impl Expansion {
    /// Whether one more call is within the limits.
    pub(crate) fn is_within_limits(&self) -> bool {
        self.nesting < MAX_NESTING && self.n_calls < MAX_EXPANSIONS
    }
}

/// Computes the values of all statics that may have errors, to report them.
pub(crate) fn check(
    program: &Program,
    sources: &SourceMap,
    options: &LowerOptions,
    statics: &Statics<'_>,
) -> Vec<Diagnostic> {
    let is_open = |item: &tree::Static| item.init.as_ref().is_some_and(must_be_computed);
    let open: Vec<StaticId> =
        program.statics.iter().filter(|(_, item)| is_open(item)).map(|(id, _)| id).collect();
    if open.is_empty() {
        return vec![];
    }
    let mut lowerer = Lowerer::new(program, sources, *options, statics);
    open.into_iter().for_each(|id| lowerer.initialize(id));
    lowerer.errors.into_iter().map(LowerError::diagnostic).collect()
}

/// Whether an initializer is more than a literal value.
fn must_be_computed(init: &Expr) -> bool {
    let mut found = false;
    visit::walk_while(init, |expr| {
        found |= !matches!(
            expr.kind,
            ExprKind::Lit(_)
                | ExprKind::Str(_)
                | ExprKind::Fn(..)
                | ExprKind::FnParam(..)
                | ExprKind::Constructor(_)
                | ExprKind::Static(_)
                | ExprKind::Lambda(_)
                | ExprKind::Tuple(_)
                | ExprKind::Array(_)
                | ExprKind::Struct { .. }
                | ExprKind::Variant { .. }
                | ExprKind::Coerce { .. }
        );
        !found && !matches!(expr.kind, ExprKind::Lambda(_))
    });
    found
}

impl<'p> Lowerer<'p> {
    /// The value of an immutable static; `None` if it must be read from memory.
    pub(crate) fn static_value(&mut self, id: StaticId) -> Option<Def> {
        let item = &self.program.statics[id];
        if item.is_mut || item.init.is_none() {
            return None;
        }
        self.initialize(id);
        self.statics.known[&id].value
    }

    /// The global that holds a static.
    pub(crate) fn static_address(&mut self, id: StaticId) -> Def {
        self.initialize(id);
        let state = self.statics.known[&id];
        if let Some(address) = state.address {
            return address;
        }
        let item = &self.program.statics[id];
        let span = std::mem::replace(&mut self.world.span, item.span);
        let ty = self.closed_ty(item.ty);
        let address = self.world.new_global(item.name, ty, item.is_mut, state.value);
        let linkage = match item.linkage {
            tree::Linkage::Internal => Linkage::Internal,
            tree::Linkage::Export(symbol) => Linkage::Exported(symbol),
            tree::Linkage::Import { symbol, .. } => Linkage::Imported(symbol),
        };
        if let Node::Global(global) = self.world.node(address) {
            self.world.set_global_linkage(global, linkage);
        }
        self.world.span = span;
        self.statics.known.insert(id, StaticState { address: Some(address), ..state });
        address
    }

    /// Computes the initial value of a static, after those of the statics it
    /// uses. The stack is explicit, since they may form a long chain.
    fn initialize(&mut self, id: StaticId) {
        let mut stack = vec![(id, false)];
        while let Some((id, is_ready)) = stack.pop() {
            if self.statics.known.contains_key(&id) {
                continue;
            }
            let item = &self.program.statics[id];
            if is_ready {
                let value = item.init.as_ref().and_then(|init| self.initial_value(id, init));
                self.statics.open.remove(&id);
                self.statics.known.insert(id, StaticState { value, address: None });
                continue;
            }
            // Checking has found cycles, but does not look into functions.
            if !self.statics.open.insert(id) {
                self.errors.push(LowerError::StaticCycle { name: item.name, at: item.span });
                self.statics.known.insert(id, StaticState::default());
                continue;
            }
            stack.push((id, true));
            if let Some(init) = &item.init {
                visit::walk(init, |expr| {
                    if let ExprKind::Static(used) = expr.kind {
                        stack.push((used, false));
                    }
                });
            }
        }
    }

    fn initial_value(&mut self, id: StaticId, init: &'p Expr) -> Option<Def> {
        let item = &self.program.statics[id];
        let span = std::mem::replace(&mut self.world.span, item.span);
        let block = self.new_block("static_init", &[]);
        let frame = Frame::new(&self.world, InstanceId::NOWHERE, block);
        let outer = std::mem::replace(&mut self.frame, frame);
        self.frame.expands_calls = true;
        self.expansion.n_calls = 0;
        let start = self.frame.mem;
        let n_errors = self.errors.len();
        let value = self.value(init);
        let is_straight = self.frame.block == block && self.frame.mem == start;
        self.frame = outer;
        self.world.span = span;
        let value = value.filter(|&value| is_straight && self.is_constant(value));
        // An unknown value after another error is not reported.
        if value.is_none() && self.errors.len() == n_errors {
            return self.computed_value(id, init);
        }
        value
    }

    /// The value of a call that is expanded in place; `None` if it cannot be expanded, or
    /// does not end in its first block.
    pub(crate) fn expanded_call(&mut self, call: &'p Call) -> Option<Def> {
        let ExprKind::Fn(id, type_args) = &call.callee.kind else { return None };
        if call.is_jump || !self.can_expand(*id) {
            return None;
        }
        let args = self.arguments(&call.args)?;
        self.expanded(*id, type_args, &args)
    }

    fn can_expand(&self, id: FnId) -> bool {
        let function = &self.program.fns[id];
        let is_known = function.body.is_some() && function.parent.is_none();
        is_known && self.expansion.is_within_limits()
    }

    /// The value of a call that is expanded into the current block.
    pub(crate) fn expanded(&mut self, id: FnId, type_args: &[sema::Ty], args: &[Def]) -> Option<Def> {
        if !self.can_expand(id) {
            return None;
        }
        self.expansion.n_calls += 1;
        self.expand(id, type_args, args)
    }

    /// Whether a value depends on no parameter and no memory.
    fn is_constant(&self, value: Def) -> bool {
        self.all_operands(value, |node| {
            !matches!(
                node,
                Node::Param { .. }
                    | Node::Load { .. }
                    | Node::Store { .. }
                    | Node::Slot { .. }
                    | Node::Alloc { .. }
                    | Node::Asm { .. }
                    // With constant operands it would have folded: it has no value.
                    | Node::Arith { .. }
            )
        })
    }

    /// Whether a value is plain data: no functions, no operations.
    pub(crate) fn is_constant_data(&self, value: Def) -> bool {
        self.all_operands(value, |node| {
            matches!(node, Node::Lit(_) | Node::Aggregate(_) | Node::Variant { .. } | Node::Global(_))
        })
    }

    fn all_operands(&self, value: Def, holds: impl Fn(Node) -> bool) -> bool {
        let mut seen = FxHashSet::from_iter([value]);
        let mut stack = vec![value];
        while let Some(def) = stack.pop() {
            if !holds(self.world.node(def)) {
                return false;
            }
            self.world.for_each_operand(def, |operand| {
                if seen.insert(operand) {
                    stack.push(operand);
                }
            });
        }
        true
    }
}

/// The maximum number of expanded calls for one static or filter; beyond it is not constant.
const MAX_EXPANSIONS: usize = 10_000;

/// The maximum number of enclosing expressions, over all bodies that are being expanded, of an
/// expanded call. It bounds the machine stack.
const MAX_NESTING: usize = 256;
