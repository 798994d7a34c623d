//! Device functions that a program calls on the host.
//!
//! So a function of the program can be called in kernels and on the host. Mathematical functions, atomic
//! operations, functions on bits and fences mean the same. The host is a grid of one work item, so its indices are
//! 0 and its barriers do nothing. Other collective operations are reported at the call.

use nyala_ir::functions::{Collective, DeviceFn, Domain, NumberFn};
use nyala_ir::{ArithFlags, Def, External, Function};

use super::function::FunctionWriter;
use super::value::{Type, Value};
use super::vector_math::Kernel;
use crate::vector_math::has_kernel;

impl FunctionWriter<'_, '_> {
    /// The result of a device function; nothing if it has no meaning on the host.
    pub(crate) fn device_function_on_host(
        &mut self,
        name: &str,
        args: &[Def],
        result: &Type,
    ) -> Option<String> {
        match External::named(name)?.function {
            Function::WorkItem(query, _) => Some(query.alone().to_string()),
            Function::Collective(Collective::Barrier | Collective::WarpBarrier) => Some(String::new()),
            // They are intrinsics of LLVM on the host too.
            _ if name.starts_with("llvm.") => None,
            Function::Device(function) => self.memory_on_host(function, args),
            Function::Number(function) => self.number_on_host(function, args, result),
            Function::Atomic(function) => self.atomic_by_name(function, args),
            // They exchange values between work items.
            Function::Collective(_) => None,
            // They are not device functions.
            Function::Lanes(_) | Function::Vector(_) | Function::Runtime(_) | Function::C(_) => None,
        }
    }

    fn memory_on_host(&mut self, function: DeviceFn, args: &[Def]) -> Option<String> {
        match function {
            DeviceFn::LoadCached => {
                let &[ptr] = args else { return None };
                let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee)?;
                let pointee = self.world.types.elem(pointee).unwrap_or(pointee);
                let at = self.value(ptr);
                Some(self.load_from(&at, pointee))
            }
            DeviceFn::FenceDevice | DeviceFn::FenceBlock | DeviceFn::FenceSystem => {
                self.line("fence seq_cst");
                Some(String::new())
            }
            DeviceFn::Trap
            | DeviceFn::Sleep
            | DeviceFn::Printf
            | DeviceFn::Prefetch
            | DeviceFn::Expect
            | DeviceFn::DispatchPacket => None,
        }
    }

    fn number_on_host(&mut self, function: NumberFn, args: &[Def], result: &Type) -> Option<String> {
        let info = function.info();
        if info.domain != Domain::Float || info.gives_bool {
            return self.bits_or_class(function, args, result);
        }
        let is_float = |&arg: &Def| {
            let prim = self.world.types.as_prim(self.world.ty(arg));
            prim.is_some_and(|prim| prim.is_float())
        };
        if args.len() != info.arity || !args.iter().all(is_float) || *result != self.module.ty_of(args[0]) {
            return None;
        }
        match function {
            NumberFn::Op(op) => Some(self.math(op, ArithFlags::STRICT, args)),
            NumberFn::Fmod => {
                let (x, y) = (self.typed(args[0]), self.value(args[1]));
                Some(self.compute("fmod", format!("frem {x}, {y}")))
            }
            // The C library does not have it.
            _ => {
                let prim = self.world.types.as_prim(self.world.ty(args[0]))?;
                let values: Vec<Value> = args.iter().map(|&arg| self.typed(arg)).collect();
                has_kernel(function, prim).then(|| self.kernel(Kernel::new(function, prim), &values))
            }
        }
    }
}
