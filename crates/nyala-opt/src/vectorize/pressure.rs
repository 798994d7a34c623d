//! Register pressure: how many vector registers the values of a function need at once.
//!
//! A group of lanes that is wider than a register takes several registers for each value. If the values do not fit into
//! the registers of the machine, parts of the group are better executed one after the other. [`fitting_lanes`] says how
//! many lanes to execute at once. The lanes of a group do not communicate without collective operations, so this does
//! not show.
//!
//! Only functions are narrowed whose lanes take the same way and which call nothing: wide groups hide the latencies of
//! masks and of divergent loops, and calls spill registers anyway.

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::value_ty;
use super::estimate::Machine;
use super::flow::{End, Flow};
use super::lanewise;
use super::shapes::{Shape, Shapes, data_params};

/// The number of lanes that are executed at once: those of the program, or a half, a quarter and so on, so that the
/// values fit into the registers of the machine. Values of the largest type take at least one register.
pub(super) fn fitting_lanes(world: &World, flow: &Flow, shapes: &Shapes, machine: Machine) -> u32 {
    let lanes = shapes.n_lanes();
    let diverges = |block: usize| shapes.diverges(flow, block);
    let calls = |end: &End| matches!(end, End::Call { .. });
    if flow.ends.iter().any(calls) || (0..flow.blocks.len()).any(diverges) {
        return lanes;
    }
    let Needs { bits, widest } = Pressure { world, flow, shapes, once: used_once(world, flow) }.needs();
    let registers = |lanes: u32| (bits * u64::from(lanes)).div_ceil(machine.register_bits.into());
    let mut fitting = lanes;
    while registers(fitting) > machine.registers.into()
        && fitting.is_multiple_of(2)
        && fitting / 2 * widest >= machine.register_bits
    {
        fitting /= 2;
    }
    fitting
}

/// What one lane needs.
struct Needs {
    /// The bits of all values that are needed at once.
    bits: u64,
    /// The bits of the widest scalar.
    widest: u32,
}

struct Pressure<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: &'a Shapes,
    /// The values that are used once.
    once: FxHashSet<Def>,
}

impl Pressure<'_> {
    /// The largest needs of any block.
    fn needs(&self) -> Needs {
        let live_out = self.live_out();
        let mut all = Needs { bits: 0, widest: 0 };
        for (block, mut live) in live_out.into_iter().enumerate() {
            self.read_end(block, &mut live);
            let mut bits: u64 = live.iter().map(|&def| self.bits(def)).sum();
            all.bits = all.bits.max(bits);
            for &def in self.flow.schedule.block(block).iter().rev() {
                if live.remove(&def) {
                    all.widest = all.widest.max(self.widest(def));
                    bits -= self.bits(def);
                }
                self.world.for_each_operand(def, |operand| {
                    let operand = origin(self.world, operand);
                    if self.is_counted(operand) && live.insert(operand) {
                        bits += self.bits(operand);
                    }
                });
                all.bits = all.bits.max(bits);
            }
        }
        all
    }

    /// By block: the values that later blocks need.
    fn live_out(&self) -> Vec<FxHashSet<Def>> {
        let n_blocks = self.flow.blocks.len();
        let mut live_in: Vec<FxHashSet<Def>> = vec![FxHashSet::default(); n_blocks];
        let after = |live_in: &[FxHashSet<Def>], block: usize| -> FxHashSet<Def> {
            let targets = self.flow.ends[block].targets();
            targets.into_iter().filter_map(|target| live_in.get(target)).flatten().copied().collect()
        };
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for block in (0..n_blocks).rev() {
                let mut live = after(&live_in, block);
                self.read_end(block, &mut live);
                for &def in self.flow.schedule.block(block).iter().rev() {
                    live.remove(&def);
                    self.world.for_each_operand(def, |operand| {
                        live.extend(
                            Some(origin(self.world, operand)).filter(|&origin| self.is_counted(origin)),
                        );
                    });
                }
                for param in data_params(self.world, self.flow.blocks[block]) {
                    live.remove(&param);
                }
                has_changed |= live.len() > live_in[block].len();
                live_in[block] = live;
            }
        }
        (0..n_blocks).map(|block| after(&live_in, block)).collect()
    }

    /// Adds what the end of a block reads.
    fn read_end(&self, block: usize, live: &mut FxHashSet<Def>) {
        if let End::Jump { args, .. } = &self.flow.ends[block] {
            let origins = args.iter().map(|&arg| origin(self.world, arg));
            live.extend(origins.filter(|&origin| self.is_counted(origin)));
        }
    }

    /// Whether a value takes vector registers. Addresses are parts of accesses, and what is loaded for one use is
    /// loaded there.
    fn is_counted(&self, def: Def) -> bool {
        let is_free = match self.world.node(def) {
            Node::Store { .. } => true,
            Node::Load { .. } => self.once.contains(&def),
            _ => false,
        };
        self.shapes.of(def) == Shape::Varying
            && !is_free
            && self.world.types.as_ptr(value_ty(self.world, def)).is_none()
    }

    fn bits(&self, def: Def) -> u64 {
        self.scalars(def).map(u64::from).sum()
    }

    fn widest(&self, def: Def) -> u32 {
        self.scalars(def).max().unwrap_or(0)
    }

    /// The sizes of the scalars of a value. Masks are in registers of their own, or not needed for long.
    fn scalars(&self, def: Def) -> impl Iterator<Item = u32> {
        let parts = lanewise::flat(self.world, value_ty(self.world, def));
        let bits = |ty| self.world.types.as_prim(ty).map_or(0, |prim| prim.bits());
        parts.into_iter().map(bits).filter(|&bits| bits > 1)
    }
}

/// The operation that computes a value: a load is one with the extraction of its value.
fn origin(world: &World, def: Def) -> Def {
    match world.node(def) {
        Node::Extract { agg, .. } if has_effect(world, agg) => agg,
        _ => def,
    }
}

/// The values that one operation or one end of a block uses.
fn used_once(world: &World, flow: &Flow) -> FxHashSet<Def> {
    let mut uses: FxHashMap<Def, u32> = FxHashMap::default();
    let mut count = |def: Def| *uses.entry(origin(world, def)).or_default() += 1;
    for (block, end) in flow.ends.iter().enumerate() {
        for &def in flow.schedule.block(block).iter().filter(|&&def| origin(world, def) == def) {
            world.for_each_operand(def, &mut count);
        }
        if let End::Jump { args, .. } = end {
            args.iter().copied().for_each(&mut count);
        }
    }
    uses.into_iter().filter(|&(_, n)| n == 1).map(|(def, _)| def).collect()
}
