//! Continuations that the compiler itself defines.

use nyala_ir::{Def, Intrinsic};
use nyala_span::Span;

use super::function::FunctionWriter;

impl FunctionWriter<'_, '_> {
    /// Ends a block with a call of an intrinsic.
    pub(crate) fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        match intrinsic {
            Intrinsic::Branch | Intrinsic::Switch | Intrinsic::Unreachable => {
                self.control(intrinsic, args, span)
            }
            Intrinsic::Atomic
            | Intrinsic::AtomicLoad
            | Intrinsic::AtomicStore
            | Intrinsic::CmpXchg
            | Intrinsic::CmpXchgWeak
            | Intrinsic::Fence => self.atomic(intrinsic, args, span),
            Intrinsic::Parallel
            | Intrinsic::Fibers
            | Intrinsic::Vectorize
            | Intrinsic::Pipeline
            | Intrinsic::Spawn
            | Intrinsic::Hls
            | Intrinsic::Sync => self.region(intrinsic, args, span),
            Intrinsic::CreateGraph
            | Intrinsic::CreateTask
            | Intrinsic::CreateEdge
            | Intrinsic::ExecuteGraph => self.flow_graph(intrinsic, args, span),
            Intrinsic::ReserveShared if self.module.options.gpu.is_some() => self.reserve_shared(args),
            // They have said what they know at compile time.
            Intrinsic::PeInfo | Intrinsic::PeAssert => match self.return_arg(args) {
                Some(ret) => self.go_on(ret, &[]),
                None => self.line("unreachable"),
            },
            // Outlining has made kernels of the bodies, and only kernels share memory.
            Intrinsic::Cuda
            | Intrinsic::Nvvm
            | Intrinsic::OpenCl
            | Intrinsic::OpenClSpirv
            | Intrinsic::AmdgpuHsa
            | Intrinsic::AmdgpuPal
            | Intrinsic::LevelZero
            | Intrinsic::ReserveShared => {
                self.module.unsupported(span, format!("`{}`", intrinsic.name()));
                self.line("unreachable");
            }
        }
    }
}
