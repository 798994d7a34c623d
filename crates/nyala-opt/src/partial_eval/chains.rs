//! Chains of specializations: which specialization led to which.
//!
//! Each specialization is a *link*. It points to the link that was evaluated when it was made. The links from the
//! current one to the outermost form the current chain. A function that occurs in it more than once is part of a
//! *cycle*: its specializations lead to more of the same.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};
use nyala_ir::{Cont, Def};
use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::instance::Instance;
use super::unfold::UnfoldingId;

/// A specialization.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LinkId(u32);
entity_impl!(LinkId, "link");

/// A specialization and the one that led to it.
pub(super) struct Link {
    /// The specialization.
    pub(super) instance: Instance,
    /// The link that was evaluated at the call.
    from: PackedOption<LinkId>,
    /// The call.
    pub(super) span: Span,
    /// Its return continuation, if it has one.
    pub(super) ret: PackedOption<Def>,
    /// The unfolding, if it was unfolded.
    pub(super) unfolding: PackedOption<UnfoldingId>,
    /// The length of the chain up to here.
    depth: u32,
    /// Whether a run unfolded it.
    pub(super) is_run: bool,
}

/// How many links of a chain are searched for a cycle.
const MAX_CYCLE: usize = 64;

/// How many links of a chain are searched for an earlier specialization by the same call.
const MAX_RECURSION: usize = 4096;

/// All links of a round.
#[derive(Default)]
pub(super) struct Chains {
    links: PrimaryMap<LinkId, Link>,
}

impl Chains {
    /// Adds a link behind `from`.
    pub(super) fn add(
        &mut self,
        from: PackedOption<LinkId>,
        instance: Instance,
        span: Span,
        ret: PackedOption<Def>,
    ) -> LinkId {
        let depth = self.depth(from) + 1;
        self.links.push(Link { instance, from, span, ret, unfolding: None.into(), depth, is_run: false })
    }

    /// Notes that a link was unfolded.
    pub(super) fn set_unfolding(&mut self, link: LinkId, id: UnfoldingId) {
        self.links[link].unfolding = id.into();
    }

    /// Notes that a run unfolded a link.
    pub(super) fn set_run(&mut self, link: LinkId) {
        self.links[link].is_run = true;
    }

    pub(super) fn link(&self, link: LinkId) -> &Link {
        &self.links[link]
    }

    /// The function that a link specializes.
    pub(super) fn old_of(&self, link: LinkId) -> Cont {
        self.links[link].instance.old
    }

    /// The length of the chain that ends with `last`.
    pub(super) fn depth(&self, last: PackedOption<LinkId>) -> u32 {
        last.expand().map_or(0, |link| self.links[link].depth)
    }

    /// The chain that ends with `last`, from the inside out.
    pub(super) fn chain(&self, last: PackedOption<LinkId>) -> impl Iterator<Item = LinkId> + '_ {
        std::iter::successors(last.expand(), |&link| self.links[link].from.expand())
    }

    /// Whether the end of the chain specializes `old`.
    pub(super) fn leads_through(&self, last: PackedOption<LinkId>, old: Cont) -> bool {
        self.chain(last).take(MAX_CYCLE).any(|link| self.old_of(link) == old)
    }

    /// The last specialization of `old` in the chain that the call at `span` has made.
    pub(super) fn earlier(&self, last: PackedOption<LinkId>, old: Cont, span: Span) -> Option<&Instance> {
        let recent = self.chain(last).take(MAX_RECURSION).map(|link| &self.links[link]);
        let mut same = recent.filter(|link| link.instance.old == old && link.span == span);
        same.next().map(|link| &link.instance)
    }

    /// The functions that occur more than once at the end of the chain with `next` behind it; `next` alone if
    /// there is none.
    pub(super) fn cycle(&self, last: PackedOption<LinkId>, next: Cont) -> FxHashSet<Cont> {
        let mut counts: FxHashMap<Cont, usize> = FxHashMap::default();
        let recent = self.chain(last).take(MAX_CYCLE).map(|link| self.old_of(link));
        recent.chain([next]).for_each(|old| *counts.entry(old).or_default() += 1);
        let repeated: FxHashSet<Cont> =
            counts.into_iter().filter(|&(_, count)| count > 1).map(|(old, _)| old).collect();
        if repeated.is_empty() { FxHashSet::from_iter([next]) } else { repeated }
    }
}
