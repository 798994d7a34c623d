//! Functions by which an instance learns its place among the others, or meets them.

use nyala_ir::Prim;
use smallvec::{SmallVec, smallvec};

use crate::errors::{Checked, ErrorKind, malformed};
use crate::machine::{Machine, Results, Ret};
use crate::parallel::{Meeting, RegionKind};
use crate::value::Value;

/// An instance's number in its group, and the arguments it came with.
type Arrived = (u32, SmallVec<[Value; 4]>);

impl Machine<'_, '_> {
    // ---- Work items ---------------------------------------------------------------

    /// The answer of a function that asks for the place of a kernel's thread.
    pub(crate) fn work_item(&self, name: &str, args: &[Value]) -> Option<Value> {
        let (question, dim) = work_item(name, args)?;
        let kernel = self.regions.iter().rev().find_map(|region| match region.kind {
            RegionKind::Kernel { grid, block } => Some((region, grid, block)),
            _ => None,
        });
        // Outside of a kernel there is one thread.
        let Some((region, grid, block)) = kernel else {
            return Some(Value::Bits(u64::from(question.is_size())));
        };
        let part = |number: u64, sizes: [u32; 3]| {
            let before: u64 = sizes[..dim].iter().map(|&size| u64::from(size)).product();
            number / before % u64::from(sizes[dim]).max(1)
        };
        let blocks = [grid[0] / block[0], grid[1] / block[1], grid[2] / block[2]];
        let thread = part(u64::from(region.instances[region.current].number), block);
        let group = part(region.group, blocks);
        let (size, n_blocks) = (u64::from(block[dim]), u64::from(blocks[dim]));
        Some(Value::Bits(match question {
            WorkItem::Thread => thread,
            WorkItem::Block => group,
            WorkItem::BlockSize => size,
            WorkItem::NumBlocks => n_blocks,
            WorkItem::Global => group * size + thread,
            WorkItem::GlobalSize => u64::from(grid[dim]),
            WorkItem::Offset => 0,
            WorkItem::Dimensions => 3,
        }))
    }

    // ---- Meeting others -------------------------------------------------------------

    /// Calls a lane function or barrier.
    pub(crate) fn lane_function(&mut self, name: &str, args: &[Value], ret: Ret) -> Checked<()> {
        if let Some(answer) = self.lane_fact(name, args) {
            return self.deliver(ret, smallvec![answer]);
        }
        let Some(meeting) = meeting(name) else {
            return Err(Box::new(ErrorKind::UnknownFunction { name: name.into() }));
        };
        if self.can_meet(meeting) {
            return self.wait(meeting, args, ret);
        }
        let alone = [(0, SmallVec::from(args))];
        let results = self.meeting_results(meeting, 1, &alone)?.pop().unwrap_or_default();
        self.deliver(ret, results)
    }

    /// What a lane can answer without the others.
    fn lane_fact(&self, name: &str, args: &[Value]) -> Option<Value> {
        let lanes = self.regions.last().and_then(|region| match region.kind {
            RegionKind::Lanes { width, .. } => Some((region.instances[region.current].number, width)),
            _ => None,
        });
        let (lane, width) = lanes.unwrap_or((0, 1));
        match (name, args) {
            ("rv_mask", _) => Some(Value::bool(true)),
            ("rv_lane_id", _) => Some(Value::Bits(u64::from(lane))),
            ("rv_num_lanes", _) => Some(Value::Bits(u64::from(width))),
            ("rv_align", [ptr, _]) => Some(ptr.clone()),
            _ => None,
        }
    }

    /// What each of those that met gets.
    pub(crate) fn meeting_results(
        &mut self,
        meeting: Meeting,
        width: u32,
        arrived: &[Arrived],
    ) -> Checked<Vec<Results>> {
        let is_true = |(_, args): &Arrived| match args.first() {
            Some(Value::Bits(bits)) => Ok(*bits != 0),
            _ => Err(Box::new(ErrorKind::UndefDecides { what: "a lane's condition" })),
        };
        let same = |value: Value| Ok(arrived.iter().map(|_| smallvec![value.clone()]).collect());
        match meeting {
            Meeting::Barrier => Ok(arrived.iter().map(|_| Results::new()).collect()),
            Meeting::Any | Meeting::All | Meeting::Ballot => {
                let votes: Vec<bool> = arrived.iter().map(is_true).collect::<Checked<_>>()?;
                let mask = arrived.iter().zip(&votes).filter(|(_, vote)| **vote);
                same(match meeting {
                    Meeting::Any => Value::bool(votes.contains(&true)),
                    Meeting::All => Value::bool(!votes.contains(&false)),
                    _ => Value::prim(Prim::I32, mask.fold(0, |mask, ((lane, _), _)| mask | 1 << (lane % 32))),
                })
            }
            Meeting::Extract => arrived
                .iter()
                .map(|(_, args)| Ok(smallvec![at_lane(arrived, lane_arg(args, 1, width)?, 0)]))
                .collect(),
            Meeting::Insert => arrived
                .iter()
                .map(|(lane, args)| {
                    let chosen = if lane_arg(args, 1, width)? == *lane { 2 } else { 0 };
                    Ok(smallvec![args.get(chosen).cloned().unwrap_or_default()])
                })
                .collect(),
            Meeting::Shuffle => arrived
                .iter()
                .map(|(lane, args)| {
                    let by = number_arg(args, 1)?.rem_euclid(i64::from(width)) as u32;
                    Ok(smallvec![at_lane(arrived, (lane + by) % width, 0)])
                })
                .collect(),
            Meeting::Compact => compact(arrived),
            Meeting::Load | Meeting::Store => self.lane_access(meeting, width, arrived),
        }
    }

    /// `rv_load` and `rv_store`: through the pointer of a lane, or through one
    /// that all share to the element of that number.
    fn lane_access(&mut self, meeting: Meeting, width: u32, arrived: &[Arrived]) -> Checked<Vec<Results>> {
        let first = arrived.first().and_then(|(_, args)| args.first().cloned()).unwrap_or_default();
        let is_uniform = arrived.iter().all(|(_, args)| args.first().is_some_and(|ptr| ptr.same(&first)));
        let mut results = vec![];
        for (_, args) in arrived {
            let lane = if width == 1 { number_arg(args, 1)? } else { i64::from(lane_arg(args, 1, width)?) };
            let ptr = if is_uniform { first.clone() } else { at_lane(arrived, lane as u32, 0) };
            let Value::Bits(ptr) = ptr else {
                return Err(Box::new(ErrorKind::UndefDecides { what: "an address" }));
            };
            let addr = if is_uniform { ptr.wrapping_add((lane * 4) as u64) } else { ptr };
            results.push(match (meeting, args.get(2)) {
                (Meeting::Store, Some(Value::Bits(value))) => {
                    self.memory.store_scalar(addr, 4, *value)?;
                    Results::new()
                }
                (Meeting::Store, _) => return malformed("`rv_store` of an undefined value"),
                _ => smallvec![Value::Bits(self.memory.load_scalar(addr, 4)?)],
            });
        }
        Ok(results)
    }
}

fn meeting(name: &str) -> Option<Meeting> {
    Some(match name {
        "__syncthreads" | "llvm.nvvm.barrier0" | "llvm.amdgcn.s.barrier" | "barrier" => Meeting::Barrier,
        "rv_any" => Meeting::Any,
        "rv_all" => Meeting::All,
        "rv_ballot" => Meeting::Ballot,
        "rv_extract" => Meeting::Extract,
        "rv_insert" => Meeting::Insert,
        "rv_load" => Meeting::Load,
        "rv_store" => Meeting::Store,
        "rv_shuffle" => Meeting::Shuffle,
        "rv_compact" => Meeting::Compact,
        _ => return None,
    })
}

/// Argument `at` of the instance in this lane; undefined if it is not there.
fn at_lane(arrived: &[Arrived], lane: u32, at: usize) -> Value {
    let found = arrived.iter().find(|(number, _)| *number == lane);
    found.and_then(|(_, args)| args.get(at).cloned()).unwrap_or_default()
}

fn number_arg(args: &[Value], at: usize) -> Checked<i64> {
    match args.get(at) {
        Some(Value::Bits(bits)) => Ok(i64::from(*bits as i32)),
        _ => Err(Box::new(ErrorKind::UndefDecides { what: "a lane" })),
    }
}

/// A lane's number; alone there is only the own one.
fn lane_arg(args: &[Value], at: usize, width: u32) -> Checked<u32> {
    let lane = number_arg(args, at)?;
    match u32::try_from(lane) {
        _ if width == 1 => Ok(0),
        Ok(number) if number < width => Ok(number),
        _ => Err(Box::new(ErrorKind::IndexRange { index: lane, len: width as usize })),
    }
}

/// The values of lanes whose second argument is true, moved to the front.
fn compact(arrived: &[Arrived]) -> Checked<Vec<Results>> {
    let mut kept = vec![];
    for (_, args) in arrived {
        match args.get(1) {
            Some(Value::Bits(0)) => {}
            Some(Value::Bits(_)) => kept.push(args[0].clone()),
            _ => return Err(Box::new(ErrorKind::UndefDecides { what: "a lane's condition" })),
        }
    }
    let own = |(_, args): &Arrived| args.first().cloned().unwrap_or_default();
    let mut kept = kept.into_iter();
    Ok(arrived.iter().map(|lane| smallvec![kept.next().unwrap_or_else(|| own(lane))]).collect())
}

/// What a work-item function asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WorkItem {
    Thread,
    Block,
    BlockSize,
    NumBlocks,
    Global,
    GlobalSize,
    Offset,
    Dimensions,
}

impl WorkItem {
    fn is_size(self) -> bool {
        matches!(
            self,
            WorkItem::BlockSize | WorkItem::NumBlocks | WorkItem::GlobalSize | WorkItem::Dimensions
        )
    }
}

/// The question behind a name and the dimension it is about.
fn work_item(name: &str, args: &[Value]) -> Option<(WorkItem, usize)> {
    let opencl = match name {
        "get_local_id" => Some(WorkItem::Thread),
        "get_group_id" => Some(WorkItem::Block),
        "get_local_size" => Some(WorkItem::BlockSize),
        "get_num_groups" => Some(WorkItem::NumBlocks),
        "get_global_id" => Some(WorkItem::Global),
        "get_global_size" => Some(WorkItem::GlobalSize),
        "get_global_offset" => Some(WorkItem::Offset),
        "get_work_dim" => return Some((WorkItem::Dimensions, 0)),
        _ => None,
    };
    if let Some(question) = opencl {
        let dim = args.first().and_then(Value::as_bits).unwrap_or(0);
        // Dimensions that there are not have one thread.
        return match usize::try_from(dim) {
            Ok(dim) if dim < 3 => Some((question, dim)),
            _ => None,
        };
    }
    let (question, dim) = name.rsplit_once(['_', '.'])?;
    let dim = ["x", "y", "z"].iter().position(|known| *known == dim)?;
    let question = match question {
        "threadIdx" | "llvm.nvvm.read.ptx.sreg.tid" | "llvm.amdgcn.workitem.id" => WorkItem::Thread,
        "anydsl.amdpal.workitem.id" => WorkItem::Thread,
        "blockIdx" | "llvm.nvvm.read.ptx.sreg.ctaid" | "llvm.amdgcn.workgroup.id" => WorkItem::Block,
        "anydsl.amdpal.workgroup.id" => WorkItem::Block,
        "blockDim" | "llvm.nvvm.read.ptx.sreg.ntid" | "anydsl.amdpal.workgroup.size" => WorkItem::BlockSize,
        "gridDim" | "llvm.nvvm.read.ptx.sreg.nctaid" | "anydsl.amdpal.nblk" => WorkItem::NumBlocks,
        _ => return None,
    };
    Some((question, dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_platforms_are_known() {
        let dim = [Value::Bits(1)];
        assert_eq!(work_item("get_local_id", &dim), Some((WorkItem::Thread, 1)));
        assert_eq!(work_item("blockIdx_z", &[]), Some((WorkItem::Block, 2)));
        assert_eq!(work_item("llvm.nvvm.read.ptx.sreg.ntid.x", &[]), Some((WorkItem::BlockSize, 0)));
        assert_eq!(work_item("printf_x", &[]), None);
    }
}
