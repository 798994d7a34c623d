//! Functions of the outside in kernels: where a thread is, atomic operations, numbers, fences.
//!
//! `nyala_ir::functions` says which of them a device has. A name that starts with `llvm.` is LLVM's. Mathematical
//! functions, by the names that the C library and the vendors' libraries give them, are those of NVIDIA's library,
//! or kernels of [`crate::vector_math`] that are called. Collective operations are in `warp`.

use nyala_ir::functions::{AtomicFn, DeviceFn, Dim, Domain, GpuSource, NumberFn, WorkItem};
use nyala_ir::{ArithFlags, Def, External, Function, MathOp, Prim, TyKind};

use super::super::ModuleWriter;
use super::super::function::FunctionWriter;
use super::super::math::llvm_name;
use super::super::value::{Scalar, Type, Value, list};
use super::super::vector_math::Kernel;
use super::{GLOBAL, GpuKind, INVARIANT};

impl FunctionWriter<'_, '_> {
    /// The result of a function that the device knows by name; nothing if it knows none.
    pub(super) fn device_function(&mut self, name: &str, args: &[Def], result: &Type) -> Option<String> {
        if name.starts_with("llvm.") {
            return Some(self.llvm_function(name, args, result));
        }
        let external = External::named(name)?;
        let is_known = match self.module.options.gpu?.kind {
            GpuKind::Nvptx => external.targets.ptx,
            GpuKind::Amdgpu => external.targets.amdgpu,
        };
        if !is_known {
            return None;
        }
        match external.function {
            Function::Number(function) => self.number_on_device(external.written, function, args, result),
            Function::WorkItem(query, dim) => self.place_in_grid(query, dim?),
            Function::Atomic(function) => self.atomic_by_name(function, args),
            Function::Collective(function) => self.collective(function, args, result),
            Function::Device(function) => self.memory_or_text(function, args),
            Function::Lanes(_) | Function::Vector(_) | Function::Runtime(_) | Function::C(_) => None,
        }
    }

    fn llvm_function(&mut self, name: &str, args: &[Def], result: &Type) -> String {
        let args: Vec<Value> = args.iter().map(|&arg| self.typed(arg)).collect();
        self.call_intrinsic(name, result, &args)
    }

    /// Calls a function of LLVM or of the device by its name.
    pub(super) fn call_intrinsic(&mut self, name: &str, result: &Type, args: &[Value]) -> String {
        let symbol = self.module.declare_for(name, result, args, self.flow.span());
        let call = format!("call {result} {symbol}({})", list(args));
        match result {
            Type::Void => {
                self.line(call);
                String::new()
            }
            _ => self.compute("result", call),
        }
    }

    fn prim(&self, def: Def) -> Prim {
        self.world.types.lane_prim(self.world.ty(def)).unwrap_or(Prim::U64)
    }

    /// A function of numbers. The name may say which type they have.
    fn number_on_device(
        &mut self,
        written: Option<Prim>,
        function: NumberFn,
        args: &[Def],
        result: &Type,
    ) -> Option<String> {
        let info = function.info();
        if args.len() < info.arity || written.is_some_and(|prim| self.prim(args[0]) != prim) {
            return None;
        }
        if info.domain != Domain::Float || info.gives_bool {
            return self.bits_or_class(function, args, result);
        }
        let is_float = |&arg: &Def| {
            let prim = self.world.types.as_prim(self.world.ty(arg));
            prim.is_some_and(|prim| matches!(prim, Prim::F32 | Prim::F64) && Type::from(prim) == *result)
        };
        if !args.iter().all(is_float) {
            return None;
        }
        let values: Vec<Value> = args.iter().map(|&arg| self.typed(arg)).collect();
        if let (NumberFn::Op(op), &Type::FLOAT) = (function, result) {
            let values: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
            if let Some(value) = self.approximate(op, &values) {
                return Some(value);
            }
        }
        if self.module.is_in_library(function) {
            let is_fast = self.module.options.gpu.is_some_and(|gpu| gpu.is_fast);
            return Some(self.library_function(function, self.prim(args[0]), is_fast, &values));
        }
        match (function, &values[..]) {
            (NumberFn::Fmod, _) => Some(self.device_remainder(ArithFlags::STRICT, args[0], args[1])),
            (NumberFn::Op(MathOp::Rsqrt), [x]) => Some(self.reciprocal_root(x)),
            (NumberFn::Op(op), _) if info.gpu == Some(GpuSource::Llvm) => {
                let name = format!("llvm.{}.{}", llvm_name(op), result.suffix());
                Some(self.call_intrinsic(&name, result, &values))
            }
            // Of a library that is not there.
            _ => None,
        }
    }

    /// A function that LLVM has no code for: NVIDIA's where it is installed, else our own.
    pub(crate) fn library_function(
        &mut self,
        function: NumberFn,
        prim: Prim,
        is_relaxed: bool,
        values: &[Value],
    ) -> String {
        if self.module.options.gpu.is_some_and(|gpu| gpu.has_libdevice) {
            let kind = if prim == Prim::F32 { "f" } else { "" };
            let name = format!("__nv_{}{kind}", function.info().name);
            return self.call_library(&name, &prim.into(), values);
        }
        self.kernel(Kernel { is_relaxed, ..Kernel::new(function, prim) }, values)
    }

    /// NVIDIA's hardware has one for `f32`, exact but for the last digit.
    fn reciprocal_root(&mut self, x: &Value) -> String {
        let is_nvidia = self.module.options.gpu.is_some_and(|gpu| gpu.kind == GpuKind::Nvptx);
        let (ty, args) = (&x.ty, std::slice::from_ref(x));
        if is_nvidia && *ty == Type::FLOAT {
            return self.call_intrinsic("llvm.nvvm.rsqrt.approx.f", ty, args);
        }
        let root = self.call_intrinsic(&format!("llvm.sqrt.{}", ty.suffix()), ty, args);
        self.compute("rsqrt", format!("fdiv {ty} 1.0, {root}"))
    }

    fn place_in_grid(&mut self, query: WorkItem, dim: Dim) -> Option<String> {
        let register = match query {
            WorkItem::LocalId => "tid",
            WorkItem::GroupId => "ctaid",
            WorkItem::LocalSize => "ntid",
            WorkItem::NumGroups => "nctaid",
            WorkItem::GlobalId | WorkItem::GlobalSize | WorkItem::GlobalOffset | WorkItem::Dimensions => {
                return None;
            }
        };
        let dim = dim.name();
        Some(self.call_intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{register}.{dim}"), &Type::I32, &[]))
    }

    /// An atomic operation among all threads of the device.
    pub(crate) fn atomic_by_name(&mut self, function: AtomicFn, args: &[Def]) -> Option<String> {
        const ORDER: &str = "syncscope(\"device\") monotonic";
        let (&addr, rest) = args.split_first()?;
        let prim = self.prim(*rest.first()?);
        let op = match function {
            AtomicFn::CompareExchange => {
                let &[expected, new] = rest else { return None };
                let (at, expected, new) = (self.typed(addr), self.typed(expected), self.typed(new));
                let text = format!("cmpxchg {at}, {expected}, {new} {ORDER} monotonic");
                let both = self.compute("exchanged", text);
                let ty = self.module.ty_of(rest[0]);
                return Some(self.compute("old", format!("extractvalue {{ {ty}, i1 }} {both}, 0")));
            }
            AtomicFn::Add if prim.is_float() => "fadd",
            AtomicFn::Add => "add",
            AtomicFn::Sub if prim.is_float() => "fsub",
            AtomicFn::Sub => "sub",
            AtomicFn::Min if prim.is_signed() => "min",
            AtomicFn::Min => "umin",
            AtomicFn::Max if prim.is_signed() => "max",
            AtomicFn::Max => "umax",
            AtomicFn::And => "and",
            AtomicFn::Or => "or",
            AtomicFn::Xor => "xor",
            AtomicFn::Exchange => "xchg",
            AtomicFn::Increment => "uinc_wrap",
            AtomicFn::Decrement => "udec_wrap",
        };
        let &[value] = rest else { return None };
        let (at, value) = (self.typed(addr), self.typed(value));
        Some(self.compute("old", format!("atomicrmw {op} {at}, {value} {ORDER}")))
    }

    /// A function of the bits of a number, or one that says what kind of float it is; nothing for others.
    pub(crate) fn bits_or_class(
        &mut self,
        function: NumberFn,
        args: &[Def],
        result: &Type,
    ) -> Option<String> {
        let &first = args.first()?;
        let x = self.typed(first);
        let ty = x.ty.clone();
        let by_llvm = |writer: &mut Self, name: &str| {
            writer.call_intrinsic(&format!("llvm.{name}.{}", ty.suffix()), &ty, std::slice::from_ref(&x))
        };
        let zeros = |writer: &mut Self, name: &str| {
            let args = [x.clone(), Value::new(Type::BOOL, "false")];
            writer.call_intrinsic(&format!("llvm.{name}.{}", ty.suffix()), &ty, &args)
        };
        let value = match function {
            NumberFn::IsInf | NumberFn::Op(MathOp::IsFinite) => {
                let magnitude = by_llvm(self, "fabs");
                let infinity = self.splat(first, self.prim(first), f64::INFINITY);
                let condition = if function == NumberFn::IsInf { "oeq" } else { "olt" };
                self.compute("is", format!("fcmp {condition} {ty} {magnitude}, {infinity}"))
            }
            NumberFn::Op(MathOp::IsNan) => self.compute("is", format!("fcmp uno {x}, {}", x.text)),
            NumberFn::Min | NumberFn::Max => {
                let &[_, other] = args else { return None };
                let (prim, which) = (self.prim(first), function.info().name);
                let name = match prim.is_float() {
                    true => format!("{which}num.{}", ty.suffix()),
                    false => format!("{}{which}.{}", if prim.is_signed() { 's' } else { 'u' }, ty.suffix()),
                };
                let y = self.typed(other);
                return Some(self.call_intrinsic(&format!("llvm.{name}"), &ty, &[x, y]));
            }
            NumberFn::Op(MathOp::Popcount) => by_llvm(self, "ctpop"),
            NumberFn::ReverseBits => by_llvm(self, "bitreverse"),
            NumberFn::Op(MathOp::Clz) => zeros(self, "ctlz"),
            NumberFn::Op(MathOp::Ctz) => zeros(self, "cttz"),
            NumberFn::FirstOne => {
                let zeros = zeros(self, "cttz");
                let number = self.compute("number", format!("add {ty} {zeros}, 1"));
                let is_zero = self.compute("is_zero", format!("icmp eq {x}, 0"));
                self.compute("ffs", format!("select i1 {is_zero}, {ty} 0, {ty} {number}"))
            }
            _ => return None,
        };
        let from = if function.info().gives_bool { Type::BOOL } else { ty };
        Some(match from {
            _ if from == *result => value,
            Type::BOOL => self.compute("int", format!("zext i1 {value} to {result}")),
            _ => self.compute("int", format!("trunc {from} {value} to {result}")),
        })
    }

    fn memory_or_text(&mut self, function: DeviceFn, args: &[Def]) -> Option<String> {
        match (function, args) {
            (DeviceFn::LoadCached, &[ptr]) => Some(self.load_unchanged(ptr)),
            (DeviceFn::FenceDevice, []) => Some(self.fence("syncscope(\"device\") ")),
            (DeviceFn::FenceBlock, []) => Some(self.fence("syncscope(\"block\") ")),
            (DeviceFn::FenceSystem, []) => Some(self.fence("")),
            (DeviceFn::Trap, []) => Some(self.call_intrinsic("llvm.trap", &Type::Void, &[])),
            (DeviceFn::Sleep, &[time]) => {
                let time = self.as_i32(time);
                Some(self.call_intrinsic("llvm.nvvm.nanosleep", &Type::Void, &[time]))
            }
            (DeviceFn::Printf, [format, values @ ..]) => Some(self.print_formatted(*format, values)),
            // Declared with other parameters, or LLVM's own.
            (
                DeviceFn::LoadCached
                | DeviceFn::FenceDevice
                | DeviceFn::FenceBlock
                | DeviceFn::FenceSystem
                | DeviceFn::Trap
                | DeviceFn::Sleep
                | DeviceFn::Printf
                | DeviceFn::Prefetch
                | DeviceFn::Expect
                | DeviceFn::DispatchPacket,
                _,
            ) => None,
        }
    }

    fn fence(&mut self, scope: &str) -> String {
        self.line(format!("fence {scope}seq_cst"));
        String::new()
    }

    /// Loads memory that is constant while the kernel runs.
    fn load_unchanged(&mut self, ptr: Def) -> String {
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        let ty = pointee.unwrap_or(self.world.types.unit());
        let (text, align) = (self.module.ty(ty), self.module.align_of(ty));
        let (typed, global) = (self.typed(ptr), Type::from(Scalar::Ptr(GLOBAL)));
        let at = match typed.ty == global {
            true => typed.text,
            false => self.compute("global", format!("addrspacecast {typed} to {global}")),
        };
        self.compute(
            "load",
            format!("load {text}, {global} {at}, align {align}, !invariant.load {INVARIANT}"),
        )
    }

    /// `printf`: the device's takes the values in memory, numbers at least as wide as C has them.
    fn print_formatted(&mut self, format: Def, values: &[Def]) -> String {
        let mut widened = vec![];
        for &value in values {
            let (typed, is_signed) = (self.typed(value), self.prim(value).is_signed());
            widened.push(match typed.ty {
                Type::Scalar(Scalar::Float | Scalar::Half) => {
                    Value::new(Type::DOUBLE, self.compute("wide", format!("fpext {typed} to double")))
                }
                Type::Scalar(Scalar::Int(8 | 16)) if is_signed => {
                    Value::new(Type::I32, self.compute("wide", format!("sext {typed} to i32")))
                }
                Type::Scalar(Scalar::Int(..=16)) => {
                    Value::new(Type::I32, self.compute("wide", format!("zext {typed} to i32")))
                }
                _ => typed,
            });
        }
        let types: Vec<Type> = widened.iter().map(|value| value.ty.clone()).collect();
        let all = Type::structure(&types);
        let room = self.local("printed", &all, 8);
        for (index, value) in widened.iter().enumerate() {
            let at =
                self.compute("at", format!("getelementptr inbounds {all}, ptr {room}, i32 0, i32 {index}"));
            self.line(format!("store {value}, ptr {at}"));
        }
        let format = self.generic(format);
        self.call_intrinsic("vprintf", &Type::I32, &[Value::ptr(format), Value::ptr(room)])
    }

    /// The address of a variable of the thread itself, for a result that goes through memory.
    pub(super) fn store_number(&mut self, ptr: Def, value: &str) {
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        let is_number = pointee.is_some_and(|ty| matches!(self.world.types.kind(ty), TyKind::Prim(_)));
        if is_number {
            let at = self.typed(ptr);
            self.line(format!("store i32 {value}, {at}, align 4"));
        }
    }
}

impl ModuleWriter<'_> {
    /// Whether a function of numbers comes from a library for devices; the host has none.
    pub(crate) fn is_in_library(&self, function: NumberFn) -> bool {
        self.options.gpu.is_some_and(|gpu| match function.info().gpu {
            Some(GpuSource::Library) => true,
            Some(GpuSource::Libdevice) => gpu.has_libdevice,
            Some(GpuSource::Llvm) | None => false,
        })
    }
}
