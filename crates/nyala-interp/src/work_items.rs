//! Device functions that return the position of a work item and the sizes of the launch.

use nyala_ir::functions::{Dim, WorkItem};

use crate::errors::{Checked, MemoryKind};
use crate::machine::Machine;
use crate::parallel::{Region, RegionKind};
use crate::value::Value;

impl Machine<'_, '_> {
    /// The result of a work-item function, in the dimension of the function or of its argument;
    /// none if there is no such dimension.
    pub(crate) fn work_item(&mut self, query: WorkItem, dim: Option<Dim>, args: &[Value]) -> Option<Value> {
        let dim = match (query, dim) {
            (WorkItem::Dimensions, _) => 0,
            (_, Some(dim)) => dim.index(),
            (_, None) => {
                let dim = args.first().and_then(Value::as_bits).unwrap_or(0);
                usize::try_from(dim).ok().filter(|&dim| dim < 3)?
            }
        };
        Some(self.place_in_kernel(query, dim))
    }

    fn place_in_kernel(&self, query: WorkItem, dim: usize) -> Value {
        let kernel = self.regions.iter().rev().find_map(|region| match region.kind {
            RegionKind::Kernel { grid, block } => Some((region, grid, block)),
            _ => None,
        });
        // Outside of a kernel there is one work item.
        let Some((region, grid, block)) = kernel else {
            return Value::Bits(query.alone());
        };
        let part = |number: u64, sizes: [u32; 3]| {
            let before: u64 = sizes[..dim].iter().map(|&size| u64::from(size)).product();
            number / before % u64::from(sizes[dim]).max(1)
        };
        let blocks = [grid[0] / block[0], grid[1] / block[1], grid[2] / block[2]];
        let thread = part(u64::from(region.instances[region.current].number), block);
        let group = part(region.group, blocks);
        let (size, n_blocks) = (u64::from(block[dim]), u64::from(blocks[dim]));
        Value::Bits(match query {
            WorkItem::LocalId => thread,
            WorkItem::GroupId => group,
            WorkItem::LocalSize => size,
            WorkItem::NumGroups => n_blocks,
            WorkItem::GlobalId => group * size + thread,
            WorkItem::GlobalSize => u64::from(grid[dim]),
            WorkItem::GlobalOffset => 0,
            WorkItem::Dimensions => 3,
        })
    }

    /// The dispatch packet of AMD devices: work-group sizes in 16 bits each from byte 4 on, grid sizes
    /// in 32 bits from byte 12 on.
    pub(crate) fn dispatch_packet(&mut self) -> Checked<Value> {
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
