//! Functions that programs know by CUDA's names: where a thread is, atomic operations, bits,
//! classification of floats, fences.
//!
//! A name that starts with `llvm.` is LLVM's. Mathematical functions, by the names that the C
//! library and the vendors' libraries give them, are those of the device's own library.

use nyala_ir::{Def, Prim, TyKind};

use super::super::ModuleWriter;
use super::super::function::FunctionWriter;
use super::super::math::suffix;
use super::super::types::pointer_to;
use super::{GLOBAL, GpuKind, INVARIANT};

impl FunctionWriter<'_, '_> {
    /// The result of a function that the device knows by name; nothing if it knows none.
    pub(super) fn device_function(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        if name.starts_with("llvm.") {
            return Some(self.llvm_function(name, args, result));
        }
        if let Some(value) = self.library_function(name, args, result) {
            return Some(value);
        }
        match self.module.options.gpu?.kind {
            GpuKind::Nvptx => self
                .place_in_grid(name)
                .or_else(|| self.cuda_atomic(name, args))
                .or_else(|| self.cuda_number(name, args, result))
                .or_else(|| self.cuda_memory(name, args))
                .or_else(|| self.meeting(name, args, result)),
            GpuKind::Amdgpu => None,
        }
    }

    fn llvm_function(&mut self, name: &str, args: &[Def], result: &str) -> String {
        let params: Vec<String> = args.iter().map(|&arg| self.module.ty_of(arg)).collect();
        let symbol = self.module.declare(name, result, &params, self.span);
        let typed: Vec<String> = args.iter().map(|&arg| self.typed(arg)).collect();
        self.finish_device_call(result, format!("call {result} {symbol}({})", typed.join(", ")))
    }

    fn finish_device_call(&mut self, result: &str, call: String) -> String {
        match result {
            "void" => {
                self.line(call);
                String::new()
            }
            _ => self.compute("result", call),
        }
    }

    /// Calls a function of LLVM or of the device by its name and the types of its arguments.
    pub(super) fn call_intrinsic(&mut self, name: &str, result: &str, args: &[(&str, &str)]) -> String {
        let params: Vec<String> = args.iter().map(|&(ty, _)| ty.to_owned()).collect();
        let symbol = self.module.declare(name, result, &params, self.span);
        let typed: Vec<String> = args.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
        self.finish_device_call(result, format!("call {result} {symbol}({})", typed.join(", ")))
    }

    fn prim(&self, def: Def) -> Prim {
        self.world.types.lane_prim(self.world.ty(def)).unwrap_or(Prim::U64)
    }

    /// A mathematical function of the C library.
    fn library_function(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        let is_float = |&arg: &Def| matches!(self.prim(arg), Prim::F32 | Prim::F64);
        if args.is_empty() || !args.iter().all(is_float) || !matches!(result, "float" | "double") {
            return None;
        }
        let typed: Vec<(String, String)> =
            args.iter().map(|&arg| (self.module.ty_of(arg), self.value(arg))).collect();
        let typed: Vec<(&str, &str)> =
            typed.iter().map(|(ty, value)| (ty.as_str(), value.as_str())).collect();
        let op = name_without_type(name, result);
        if result == "float" {
            let values: Vec<&str> = typed.iter().map(|&(_, value)| value).collect();
            if let Some(value) = self.approximate(op, &values) {
                return Some(value);
            }
        }
        if self.module.is_in_library(op) {
            return Some(self.call_intrinsic(&self.module.library_name(op, result), result, &typed));
        }
        let own = match (op, &typed[..]) {
            ("fmod", [(ty, x), (_, y)]) => return Some(self.compute("fmod", format!("frem {ty} {x}, {y}"))),
            ("rsqrt", [(ty, x)]) => return Some(self.reciprocal_root(ty, x)),
            ("sqrt" | "fabs" | "floor" | "ceil" | "trunc" | "round" | "copysign" | "fma", _) => op,
            ("fmax", _) => "maxnum",
            ("fmin", _) => "minnum",
            ("rint" | "nearbyint", _) => "roundeven",
            _ => return None,
        };
        Some(self.call_intrinsic(&format!("llvm.{own}.{}", suffix(result)), result, &typed))
    }

    /// NVIDIA's hardware has one for `f32`, exact but for the last digit.
    fn reciprocal_root(&mut self, ty: &str, x: &str) -> String {
        let is_nvidia = self.module.options.gpu.is_some_and(|gpu| gpu.kind == GpuKind::Nvptx);
        if is_nvidia && ty == "float" {
            return self.call_intrinsic("llvm.nvvm.rsqrt.approx.f", "float", &[("float", x)]);
        }
        let root = self.call_intrinsic(&format!("llvm.sqrt.{}", suffix(ty)), ty, &[(ty, x)]);
        self.compute("rsqrt", format!("fdiv {ty} 1.0, {root}"))
    }

    fn place_in_grid(&mut self, name: &str) -> Option<String> {
        let (question, dim) = name.split_once('_').filter(|(_, dim)| matches!(*dim, "x" | "y" | "z"))?;
        let register = match question {
            "threadIdx" => "tid",
            "blockIdx" => "ctaid",
            "blockDim" => "ntid",
            "gridDim" => "nctaid",
            _ => return None,
        };
        Some(self.call_intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{register}.{dim}"), "i32", &[]))
    }

    /// An atomic operation among all threads of the device.
    pub(crate) fn cuda_atomic(&mut self, name: &str, args: &[Def]) -> Option<String> {
        const ORDER: &str = "syncscope(\"device\") monotonic";
        let (&addr, rest) = args.split_first()?;
        if name == "atomicCAS" {
            let &[expected, new] = rest else { return None };
            let (at, expected, new) = (self.typed(addr), self.typed(expected), self.typed(new));
            let text = format!("cmpxchg {at}, {expected}, {new} {ORDER} monotonic");
            let both = self.compute("exchanged", text);
            let ty = self.module.ty_of(rest[0]);
            return Some(self.compute("old", format!("extractvalue {{ {ty}, i1 }} {both}, 0")));
        }
        let &[value] = rest else { return None };
        let prim = self.prim(value);
        let op = match name {
            "atomicAdd" if prim.is_float() => "fadd",
            "atomicAdd" => "add",
            "atomicSub" if prim.is_float() => "fsub",
            "atomicSub" => "sub",
            "atomicMin" if prim.is_signed() => "min",
            "atomicMin" => "umin",
            "atomicMax" if prim.is_signed() => "max",
            "atomicMax" => "umax",
            "atomicAnd" => "and",
            "atomicOr" => "or",
            "atomicXor" => "xor",
            "atomicExch" => "xchg",
            "atomicInc" => "uinc_wrap",
            "atomicDec" => "udec_wrap",
            _ => return None,
        };
        let (at, value) = (self.typed(addr), self.typed(value));
        Some(self.compute("old", format!("atomicrmw {op} {at}, {value} {ORDER}")))
    }

    pub(crate) fn cuda_number(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        let &first = args.first()?;
        let (ty, x) = (self.module.ty_of(first), self.value(first));
        let is_long = name.ends_with("ll");
        let value = match name.trim_end_matches("ll") {
            "isinf" | "isfinite" => {
                let magnitude = self.call_intrinsic(&format!("llvm.fabs.{}", suffix(&ty)), &ty, &[(&ty, &x)]);
                let infinity = self.splat(first, self.prim(first), f64::INFINITY);
                let condition = if name == "isinf" { "oeq" } else { "olt" };
                self.compute("is", format!("fcmp {condition} {ty} {magnitude}, {infinity}"))
            }
            "isnan" => self.compute("is", format!("fcmp uno {ty} {x}, {x}")),
            "min" | "max" => {
                let &[_, other] = args else { return None };
                let (sign, y) = (if self.prim(first).is_signed() { 's' } else { 'u' }, self.value(other));
                let name = format!("llvm.{sign}{name}.{ty}");
                return Some(self.call_intrinsic(&name, &ty, &[(&ty, &x), (&ty, &y)]));
            }
            "__popc" => self.call_intrinsic(&format!("llvm.ctpop.{ty}"), &ty, &[(&ty, &x)]),
            "__brev" => self.call_intrinsic(&format!("llvm.bitreverse.{ty}"), &ty, &[(&ty, &x)]),
            "__clz" => self.call_intrinsic(&format!("llvm.ctlz.{ty}"), &ty, &[(&ty, &x), ("i1", "false")]),
            "__ffs" => {
                let zeros =
                    self.call_intrinsic(&format!("llvm.cttz.{ty}"), &ty, &[(&ty, &x), ("i1", "false")]);
                let number = self.compute("number", format!("add {ty} {zeros}, 1"));
                let is_zero = self.compute("is_zero", format!("icmp eq {ty} {x}, 0"));
                self.compute("ffs", format!("select i1 {is_zero}, {ty} 0, {ty} {number}"))
            }
            _ => return None,
        };
        let from = match name {
            "isinf" | "isfinite" | "isnan" => "i1",
            _ if is_long => "i64",
            _ => ty.as_str(),
        };
        Some(match (from, result) {
            (from, result) if from == result => value,
            ("i1", _) => self.compute("int", format!("zext i1 {value} to {result}")),
            _ => self.compute("int", format!("trunc {from} {value} to {result}")),
        })
    }

    fn cuda_memory(&mut self, name: &str, args: &[Def]) -> Option<String> {
        match (name, args) {
            ("__ldg", &[ptr]) => Some(self.load_unchanged(ptr)),
            ("__threadfence", []) => Some(self.fence("syncscope(\"device\") ")),
            ("__threadfence_block", []) => Some(self.fence("syncscope(\"block\") ")),
            ("__threadfence_system", []) => Some(self.fence("")),
            ("__trap", []) => Some(self.call_intrinsic("llvm.trap", "void", &[])),
            ("__nanosleep", &[time]) => {
                let time = self.value(time);
                Some(self.call_intrinsic("llvm.nvvm.nanosleep", "void", &[("i32", &time)]))
            }
            ("printf" | "vprintf", [format, values @ ..]) => Some(self.print_formatted(*format, values)),
            _ => None,
        }
    }

    fn fence(&mut self, scope: &str) -> String {
        self.line(format!("fence {scope}seq_cst"));
        String::new()
    }

    /// Reads what nobody writes while the kernel runs.
    fn load_unchanged(&mut self, ptr: Def) -> String {
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        let ty = pointee.unwrap_or(self.world.types.unit());
        let (text, align) = (self.module.ty(ty), self.module.align_of(ty));
        let global = pointer_to(GLOBAL);
        let at = match self.module.ty_of(ptr) {
            from if from == global => self.value(ptr),
            _ => {
                let typed = self.typed(ptr);
                self.compute("global", format!("addrspacecast {typed} to {global}"))
            }
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
            let (ty, text) = (self.module.ty_of(value), self.value(value));
            widened.push(match (ty.as_str(), self.prim(value)) {
                ("float" | "half", _) => {
                    ("double".to_owned(), self.compute("wide", format!("fpext {ty} {text} to double")))
                }
                ("i8" | "i16", prim) if prim.is_signed() => {
                    ("i32".into(), self.compute("wide", format!("sext {ty} {text} to i32")))
                }
                ("i1" | "i8" | "i16", _) => {
                    ("i32".into(), self.compute("wide", format!("zext {ty} {text} to i32")))
                }
                _ => (ty, text),
            });
        }
        let types: Vec<&str> = widened.iter().map(|(ty, _)| ty.as_str()).collect();
        let all = format!("{{ {} }}", types.join(", "));
        let room = self.local("printed", &all, 8);
        for (index, (ty, value)) in widened.iter().enumerate() {
            let at =
                self.compute("at", format!("getelementptr inbounds {all}, ptr {room}, i32 0, i32 {index}"));
            self.line(format!("store {ty} {value}, ptr {at}"));
        }
        let format = self.generic(format);
        self.call_intrinsic("vprintf", "i32", &[("ptr", &format), ("ptr", &room)])
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

/// What a mathematical function is called, whatever its type. C adds an `f` to the names of
/// those on `f32`, AMD adds the type.
fn name_without_type<'n>(name: &'n str, result: &str) -> &'n str {
    if let Some(name) = name.strip_prefix("__ocml_") {
        return name.strip_suffix("_f32").or(name.strip_suffix("_f64")).unwrap_or(name);
    }
    let name = name.strip_prefix("__nv_").unwrap_or(name);
    name.strip_suffix('f').filter(|_| result == "float").unwrap_or(name)
}

/// Functions of the device's own library.
const LIBRARY: [&str; 22] = [
    "acos", "asin", "atan", "atan2", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "hypot",
    "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh",
];

/// Functions that NVIDIA's library has besides.
const MORE_IN_LIBDEVICE: [&str; 12] = [
    "acosh", "asinh", "atanh", "cospi", "exp10", "ldexp", "lgamma", "rcbrt", "rhypot", "sinpi", "tgamma",
    "fdim",
];

impl ModuleWriter<'_> {
    /// Whether the device's library has a mathematical function; the host has none.
    pub(crate) fn is_in_library(&self, name: &str) -> bool {
        self.options.gpu.is_some_and(|gpu| {
            LIBRARY.contains(&name) || gpu.has_libdevice && MORE_IN_LIBDEVICE.contains(&name)
        })
    }

    /// The symbol of a function of the device's library, by its name and the type of its result.
    pub(crate) fn library_name(&self, name: &str, ty: &str) -> String {
        let has_libdevice = self.options.gpu.is_some_and(|gpu| gpu.has_libdevice);
        let (prefix, kind) =
            (if has_libdevice { "__nv_" } else { "nyala_" }, if ty == "float" { "f" } else { "" });
        format!("{prefix}{name}{kind}")
    }
}
