//! What a continuation of the new program is made of.

use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use nyala_ir::table::table_hash;
use nyala_ir::{Cont, Def, Defs};

/// An old continuation with values. Copies share these.
#[derive(PartialEq, Eq, Clone)]
pub(super) struct Instance {
    hash: u32,
    pub(super) old: Cont,
    n_captured: u32,
    /// New values for `Plan::captures`, in that order; then for each old parameter the value it
    /// is specialised on.
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

    /// A hash of all that makes it.
    pub(super) fn hash(&self) -> u32 {
        self.hash
    }

    /// The same, specialised on other parameters.
    pub(super) fn with_fixed(&self, fixed: impl Iterator<Item = PackedOption<Def>>) -> Instance {
        Instance::new(self.old, self.values[..self.n_captured as usize].iter().copied(), fixed)
    }

    /// The values of captures.
    pub(super) fn captured(&self) -> impl Iterator<Item = Def> + '_ {
        self.values[..self.n_captured as usize].iter().filter_map(|value| value.expand())
    }

    /// For each old parameter the value it is specialised on.
    pub(super) fn fixed(&self) -> &[PackedOption<Def>] {
        &self.values[self.n_captured as usize..]
    }

    /// All values that make it.
    pub(super) fn parts(&self) -> impl Iterator<Item = Def> + '_ {
        self.values.iter().filter_map(|value| value.expand())
    }
}

/// What the continuations of the new program are, as far as they are instances.
pub(super) type Instances = SecondaryMap<Cont, Option<Instance>>;

/// The values of all parameters: those fixed, and `args` for the others.
pub(super) fn merge(fixed: &[PackedOption<Def>], args: &[Def]) -> Defs {
    let mut args = args.iter().copied();
    fixed
        .iter()
        .map(|fixed| fixed.expand().or_else(|| args.next()).expect("an argument for each open parameter"))
        .collect()
}
