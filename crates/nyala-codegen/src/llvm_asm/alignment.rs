//! The alignment of vectors in memory.
//!
//! A vector has at least the alignment of its lanes. Often more is known: heap memory is aligned to 64 bytes, and
//! groups of 16 lanes begin at multiples of 16. What is known of parameters follows from all jumps and calls that pass
//! them values, if all are known; what is known of operations, from [`Number`].
//!
//! Streaming stores need it, and so do processors whose memory operands must be aligned.

use nyala_ir::analysis::{Functions, Number};
use nyala_ir::functions::{Effect, External};
use nyala_ir::layout::layout;
use nyala_ir::{ArithOp, Cont, Def, Linkage, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ModuleWriter;
use super::facts::{HEAP_ALIGN, is_known};

/// How many sums in an index are split into summands.
const MAX_SUMS: usize = 32;

/// The depth to which operands are analyzed.
const MAX_DEPTH: usize = 6;

/// Powers of two that divide integers and addresses.
pub(super) struct Alignment {
    /// By parameter, for those that were seen in a call.
    twos: FxHashMap<Def, u32>,
}

impl Alignment {
    /// Iterates over all jumps and calls to a fixed point.
    pub(super) fn of(world: &World, functions: &Functions) -> Alignment {
        let mut alignment = Alignment { twos: FxHashMap::default() };
        for cont in unknown(world, functions) {
            for &param in &world.cont(cont).params {
                alignment.twos.insert(param, Number::of_type(world, world.ty(param)).twos);
            }
        }
        let jumps = Jump::all(world, functions);
        loop {
            let mut changed = false;
            for jump in &jumps {
                let twos = jump.twos.unwrap_or_else(|| alignment.twos(world, jump.arg, MAX_DEPTH));
                let known = alignment.twos.get(&jump.param).copied();
                let new = known.map_or(twos, |known| known.min(twos));
                changed |= known != Some(new);
                alignment.twos.insert(jump.param, new);
            }
            if !changed {
                return alignment;
            }
        }
    }

    fn of_address(&self, world: &World, address: Def) -> u64 {
        1 << self.twos(world, address, MAX_DEPTH).min(HEAP_ALIGN.trailing_zeros())
    }

    /// The power of two that divides a number or an address.
    fn twos(&self, world: &World, def: Def, depth: usize) -> u32 {
        self.number(world, def, depth).twos
    }

    fn number(&self, world: &World, def: Def, depth: usize) -> Number {
        let all = Number::of_type(world, world.ty(def));
        let twos = match world.node(def) {
            _ if depth == 0 => all.twos,
            Node::Param { .. } => self.twos.get(&def).copied().unwrap_or(u64::BITS).max(all.twos),
            Node::Extract { agg, .. } => match world.node(agg) {
                Node::Alloc { .. } => HEAP_ALIGN.trailing_zeros(),
                _ => all.twos,
            },
            Node::Global(global) => {
                let data = world.global(global);
                let is_ours = matches!(data.linkage, Linkage::Internal | Linkage::Exported(_));
                let align = layout(&world.types, data.ty).align.max(1);
                if is_ours { align.trailing_zeros() } else { all.twos }
            }
            _ => return Number::of(world, def, &mut |operand| self.number(world, operand, depth - 1)),
        };
        Number { twos, ..all }
    }
}

impl ModuleWriter<'_> {
    /// The alignment of the address of a vector.
    pub(super) fn align_of_address(&self, address: Def) -> u64 {
        let alignment = self.alignment.get_or_init(|| Alignment::of(self.world, self.program.functions));
        alignment.of_address(self.world, address)
    }

    /// The summands of an index whose multiples by `size` are not known to be multiples of a power of two. Only the
    /// lowest bits matter, so it is the same whether the sum wraps around.
    pub(super) fn odd_summands(&self, index: Def, size: u64, power: u64) -> Vec<Def> {
        let alignment = self.alignment.get_or_init(|| Alignment::of(self.world, self.program.functions));
        let (mut left, mut odd, mut n_sums) = (vec![index], vec![], 0);
        while let Some(def) = left.pop() {
            // Sums that share operands would be split exponentially often.
            if let Node::Arith { op: ArithOp::Add, lhs, rhs, .. } = self.world.node(def)
                && n_sums < MAX_SUMS
            {
                n_sums += 1;
                left.extend([lhs, rhs]);
                continue;
            }
            let twos = alignment.twos(self.world, def, MAX_DEPTH).saturating_add(size.trailing_zeros());
            if twos < power.trailing_zeros() {
                odd.push(def);
            }
        }
        odd
    }
}

/// A parameter and an argument for it.
struct Jump {
    param: Def,
    arg: Def,
    /// What is known of the argument without analysis.
    twos: Option<u32>,
}

impl Jump {
    fn all(world: &World, functions: &Functions) -> Vec<Jump> {
        let mut jumps = vec![];
        let mut add = |cont: Cont, args: &[Def], twos: Option<u32>| {
            for (&param, &arg) in world.cont(cont).params.iter().zip(args) {
                let ty = world.ty(param);
                let is_int = world.types.as_prim(ty).is_some_and(|prim| prim.is_int());
                if is_int || world.types.as_ptr(ty).is_some() {
                    jumps.push(Jump { param, arg, twos });
                }
            }
        };
        for body in functions.all().iter().flat_map(|function| function.bodies(world)) {
            let Some(callee) = world.as_cont(body.callee) else { continue };
            let next = body.args.last().and_then(|&next| world.as_cont(next));
            match (allocated(&world.cont(callee).linkage), next) {
                (Some(align), Some(next)) => {
                    let params = world.cont(next).params.clone();
                    add(next, &params, Some(align.trailing_zeros()));
                }
                _ if world.cont(callee).body.is_some() => add(callee, &body.args, None),
                _ => {}
            }
        }
        jumps
    }
}

/// The continuations whose arguments are not all known.
fn unknown(world: &World, functions: &Functions) -> FxHashSet<Cont> {
    let is_unknown = |cont: Cont| functions.get(cont).is_some_and(|function| !is_known(world, function));
    let mut unknown: FxHashSet<Cont> =
        functions.all().iter().map(|function| function.entry).filter(|&entry| is_unknown(entry)).collect();
    for body in functions.all().iter().flat_map(|function| function.bodies(world)) {
        let callee = world.as_cont(body.callee).map(|callee| &world.cont(callee).linkage);
        let allocates = callee.and_then(allocated).is_some();
        let passed = if allocates { &body.args[..body.args.len() - 1] } else { &body.args[..] };
        unknown.extend(passed.iter().filter_map(|&arg| world.as_cont(arg)));
    }
    unknown
}

/// The alignment of memory that a function of the runtime allocates.
fn allocated(linkage: &Linkage) -> Option<u64> {
    let Linkage::Imported(name) = linkage else { return None };
    match External::named(name.as_str())?.function.effect() {
        Effect::Allocates { align } => Some(align),
        _ => None,
    }
}
