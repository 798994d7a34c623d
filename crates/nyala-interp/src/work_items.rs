//! Functions by which a kernel's thread learns its place among the others.

use crate::errors::{Checked, MemoryKind};
use crate::machine::Machine;
use crate::parallel::{Region, RegionKind};
use crate::value::Value;

impl Machine<'_, '_> {
    /// The answer of a function that asks for the place of a kernel's thread, if it is one.
    pub(crate) fn work_item(&mut self, name: &str, args: &[Value]) -> Checked<Option<Value>> {
        if name == "llvm.amdgcn.dispatch.ptr" {
            return self.dispatch_packet().map(Some);
        }
        Ok(work_item(name, args).map(|(question, dim)| self.place_in_kernel(question, dim)))
    }

    fn place_in_kernel(&self, question: WorkItem, dim: usize) -> Value {
        let kernel = self.regions.iter().rev().find_map(|region| match region.kind {
            RegionKind::Kernel { grid, block } => Some((region, grid, block)),
            _ => None,
        });
        // Outside of a kernel there is one thread.
        let Some((region, grid, block)) = kernel else {
            return Value::Bits(u64::from(question.is_size()));
        };
        let part = |number: u64, sizes: [u32; 3]| {
            let before: u64 = sizes[..dim].iter().map(|&size| u64::from(size)).product();
            number / before % u64::from(sizes[dim]).max(1)
        };
        let blocks = [grid[0] / block[0], grid[1] / block[1], grid[2] / block[2]];
        let thread = part(u64::from(region.instances[region.current].number), block);
        let group = part(region.group, blocks);
        let (size, n_blocks) = (u64::from(block[dim]), u64::from(blocks[dim]));
        Value::Bits(match question {
            WorkItem::Thread => thread,
            WorkItem::Block => group,
            WorkItem::BlockSize => size,
            WorkItem::NumBlocks => n_blocks,
            WorkItem::Global => group * size + thread,
            WorkItem::GlobalSize => u64::from(grid[dim]),
            WorkItem::Offset => 0,
            WorkItem::Dimensions => 3,
        })
    }

    /// What an AMD device tells a kernel about its launch: block sizes in 16 bits each from
    /// byte 4 on, grid sizes in 32 bits from byte 12 on.
    fn dispatch_packet(&mut self) -> Checked<Value> {
        let is_kernel = |region: &&mut Region| matches!(region.kind, RegionKind::Kernel { .. });
        let region = self.regions.iter_mut().rev().find(is_kernel);
        let (grid, block) = match region.as_ref().map(|region| region.kind) {
            Some(RegionKind::Kernel { grid, block }) => (grid, block),
            _ => ([1; 3], [1; 3]),
        };
        if let Some(addr) = region.as_ref().and_then(|region| region.packet) {
            return Ok(Value::Bits(addr));
        }
        let mut packet = vec![0; 64];
        for dim in 0..3 {
            packet[4 + 2 * dim..][..2].copy_from_slice(&(block[dim] as u16).to_le_bytes());
            packet[12 + 4 * dim..][..4].copy_from_slice(&grid[dim].to_le_bytes());
        }
        let addr = self.memory.allocate_bytes(&packet, MemoryKind::Host)?;
        if let Some(region) = region {
            region.packet = Some(addr);
        }
        Ok(Value::Bits(addr))
    }
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
