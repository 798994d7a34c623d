//! Instances: the origins of the continuations of the new program.
//!
//! [`Instances`] is the one table of them. It maps a continuation to its instance and to the
//! [`Context`] that it is evaluated in, and an instance to the [`Form`] that it has.

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::table::table_hash;
use nyala_ir::{Cont, Def, Defs};

use super::chains::LinkId;
use super::journal::SiteId;
use super::memo::{Form, Memo};
use super::unfold::UnfoldingId;

/// An old continuation with values. Clones share the values.
#[derive(PartialEq, Eq, Clone)]
pub(super) struct Instance {
    hash: u32,
    pub(super) old: Cont,
    n_captured: u32,
    /// New values for `Plan::captures`, in that order; then for each old parameter the value it
    /// is specialized on.
    values: Rc<[PackedOption<Def>]>,
}

impl Instance {
    pub(super) fn new(
        old: Cont,
        captured: impl ExactSizeIterator<Item = PackedOption<Def>>,
        fixed: impl Iterator<Item = PackedOption<Def>>,
    ) -> Instance {
        let n_captured = captured.len() as u32;
        let values: Rc<[PackedOption<Def>]> = captured.chain(fixed).collect();
        Instance { hash: table_hash(&(old, &values)), old, n_captured, values }
    }

    /// A hash of the old continuation and the values.
    pub(super) fn hash(&self) -> u32 {
        self.hash
    }

    /// The same continuation and captures, specialized on other parameters.
    pub(super) fn with_fixed(&self, fixed: impl Iterator<Item = PackedOption<Def>>) -> Instance {
        Instance::new(self.old, self.values[..self.n_captured as usize].iter().copied(), fixed)
    }

    /// The values of captures.
    pub(super) fn captured(&self) -> impl Iterator<Item = Def> + '_ {
        self.values[..self.n_captured as usize].iter().filter_map(|value| value.expand())
    }

    /// For each old parameter the value it is specialized on.
    pub(super) fn fixed(&self) -> &[PackedOption<Def>] {
        &self.values[self.n_captured as usize..]
    }

    /// The values of captures and of fixed parameters.
    pub(super) fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        self.values.iter().filter_map(|value| value.expand())
    }
}

/// Why an instance exists. Its body is evaluated in this context.
#[derive(Clone, Copy, Default)]
pub(super) struct Context {
    /// How many implicit specializations led to it.
    pub(super) implicit_depth: u32,
    /// The specialization it belongs to.
    pub(super) link: PackedOption<LinkId>,
    /// The call in the source that it is built for.
    pub(super) site: Option<SiteId>,
}

/// The instances of a round.
#[derive(Default)]
pub(super) struct Instances {
    of_conts: SecondaryMap<Cont, Option<Instance>>,
    contexts: SecondaryMap<Cont, Context>,
    /// For each block or return continuation, how many specializations of it were made.
    copies: SecondaryMap<Cont, u32>,
    memo: Memo,
}

impl Instances {
    /// The instance that a continuation of the new program is.
    pub(super) fn get(&self, cont: Cont) -> Option<&Instance> {
        self.of_conts[cont].as_ref()
    }

    /// The context that `cont` is evaluated in.
    pub(super) fn context(&self, cont: Cont) -> Context {
        self.contexts[cont]
    }

    /// Counts a specialization of a block or return continuation.
    pub(super) fn count_copy(&mut self, callee: Cont) {
        self.copies[callee] += 1;
    }

    /// How many specializations of a block or return continuation were made.
    pub(super) fn n_copies(&self, callee: Cont) -> u32 {
        self.copies[callee]
    }

    /// The form of an instance that exists.
    pub(super) fn form(&self, instance: &Instance) -> Option<Form> {
        self.memo.get(instance)
    }

    /// From now on, `cont` is `instance`.
    pub(super) fn add_cont(&mut self, cont: Cont, instance: Instance, context: Context) {
        self.of_conts[cont] = Some(instance.clone());
        self.contexts[cont] = context;
        self.memo.insert(instance, Form::Cont(cont));
    }

    /// From now on, `instance` is unfolded in a body.
    pub(super) fn add_unfolded(&mut self, instance: Instance, id: UnfoldingId) {
        self.memo.insert(instance, Form::Unfolded(id));
    }
}

/// The values of all parameters: those fixed, and `args` for the others.
pub(super) fn merge(fixed: &[PackedOption<Def>], args: &[Def]) -> Defs {
    let mut args = args.iter().copied();
    fixed
        .iter()
        .map(|fixed| fixed.expand().or_else(|| args.next()).expect("an argument for each open parameter"))
        .collect()
}
