//! Intrinsics.

use nyala_ir::Intrinsic;

use super::function::FunctionWriter;
use crate::skeleton::program::Call;

impl FunctionWriter<'_, '_> {
    /// Writes a call of an intrinsic; gives its results, or nothing if it ended the block.
    pub(crate) fn intrinsic(&mut self, intrinsic: Intrinsic, call: &Call) -> Option<Vec<String>> {
        let args = &call.args[..];
        Some(match intrinsic {
            Intrinsic::Atomic
            | Intrinsic::AtomicLoad
            | Intrinsic::AtomicStore
            | Intrinsic::CmpXchg
            | Intrinsic::CmpXchgWeak
            | Intrinsic::Fence => self.atomic(intrinsic, args),
            Intrinsic::Parallel
            | Intrinsic::Fibers
            | Intrinsic::Vectorize
            | Intrinsic::Pipeline
            | Intrinsic::Spawn
            | Intrinsic::Hls
            | Intrinsic::Sync => self.region(intrinsic, call),
            Intrinsic::CreateGraph
            | Intrinsic::CreateTask
            | Intrinsic::CreateEdge
            | Intrinsic::ExecuteGraph => self.flow_graph(intrinsic, call),
            Intrinsic::ReserveShared if self.module.options.gpu.is_some() => self.reserve_shared(call),
            // They had their effect at compile time.
            Intrinsic::PeInfo | Intrinsic::PeAssert | Intrinsic::PeExpect => vec![],
            Intrinsic::PeCost => vec!["0".into()],
            // Of another shape than the verifier accepts.
            Intrinsic::Branch | Intrinsic::Switch | Intrinsic::Unreachable => {
                self.line("unreachable");
                return None;
            }
            // Outlining has turned the bodies into kernels, and only kernels have shared memory.
            Intrinsic::Cuda
            | Intrinsic::Nvvm
            | Intrinsic::OpenCl
            | Intrinsic::OpenClSpirv
            | Intrinsic::AmdgpuHsa
            | Intrinsic::AmdgpuPal
            | Intrinsic::LevelZero
            | Intrinsic::ReserveShared => {
                self.module.unsupported(self.flow.span(), format!("`{}`", intrinsic.name()));
                self.line("unreachable");
                return None;
            }
        })
    }
}
