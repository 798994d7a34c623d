//! Functions of devices that a program calls on the host.
//!
//! Many of them mean something here: mathematical functions under the names of all platforms, atomic operations,
//! functions on bits, fences, and the place of a thread in a kernel, of which there is one outside of kernels, and which
//! waits for nobody. So a function that kernels call can be called on the host as well. What threads tell each other
//! has no meaning here, and is reported at the call.

use nyala_ir::{ArithFlags, Def, MathOp};

use super::function::FunctionWriter;

impl FunctionWriter<'_, '_> {
    /// The result of a function of a device, if it means something here.
    pub(crate) fn device_function_on_host(
        &mut self,
        name: &str,
        args: &[Def],
        result: &str,
    ) -> Option<String> {
        if let Some(number) = place_of_the_only_thread(name) {
            return Some(number.into());
        }
        if matches!(
            name,
            "__syncthreads" | "__syncwarp" | "barrier" | "llvm.nvvm.barrier0" | "llvm.amdgcn.s.barrier"
        ) {
            return Some(String::new());
        }
        if name.starts_with("llvm.") {
            return None;
        }
        match (name, args) {
            ("__ldg", &[ptr]) => {
                let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee)?;
                let pointee = self.world.types.elem(pointee).unwrap_or(pointee);
                let at = self.value(ptr);
                return Some(self.load_from(&at, pointee));
            }
            ("__threadfence" | "__threadfence_block" | "__threadfence_system", []) => {
                self.line("fence seq_cst");
                return Some(String::new());
            }
            _ => {}
        }
        let plain = plain_name(name);
        if let Some(value) = self.math_by_name(plain, args, result) {
            return Some(value);
        }
        self.cuda_atomic(name, args).or_else(|| self.cuda_number(plain, args, result))
    }

    /// A mathematical function of floats by its name, which may end in a letter for the type.
    fn math_by_name(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        let is_float = |&arg: &Def| {
            let prim = self.world.types.as_prim(self.world.ty(arg));
            prim.is_some_and(|prim| prim.is_float())
        };
        if args.is_empty() || !args.iter().all(is_float) || result != self.module.ty_of(args[0]) {
            return None;
        }
        let names = [name, name.strip_suffix('f').unwrap_or(name)];
        if names.contains(&"fmod") {
            let &[x, y] = args else { return None };
            let (x, y) = (self.typed(x), self.value(y));
            return Some(self.compute("fmod", format!("frem {x}, {y}")));
        }
        let names = names.map(|name| if matches!(name, "rint" | "nearbyint") { "roundeven" } else { name });
        let op =
            MathOp::ALL.iter().copied().find(|op| names.contains(&op.name()) && op.arity() == args.len())?;
        Some(self.math(args[0], op, ArithFlags::STRICT, args))
    }
}

/// What a function is called without what platforms add to its name.
fn plain_name(name: &str) -> &str {
    if let Some(name) = name.strip_prefix("__ocml_") {
        return name.rsplit_once('_').map_or(name, |(name, _)| name);
    }
    let name = name.strip_prefix("__nv_").unwrap_or(name);
    match name {
        "isinff" | "isinfd" => "isinf",
        "isnanf" | "isnand" => "isnan",
        "finite" | "finitef" | "isfinitef" | "isfinited" => "isfinite",
        name => name,
    }
}

/// What a function says that asks for the place of a thread in a kernel: outside there is one thread.
fn place_of_the_only_thread(name: &str) -> Option<&'static str> {
    match name {
        "get_local_id" | "get_group_id" | "get_global_id" | "get_global_offset" => return Some("0"),
        "get_local_size" | "get_num_groups" | "get_global_size" | "get_work_dim" => return Some("1"),
        _ => {}
    }
    let (question, dim) = name.rsplit_once(['_', '.'])?;
    if !matches!(dim, "x" | "y" | "z") {
        return None;
    }
    match question {
        "threadIdx" | "llvm.nvvm.read.ptx.sreg.tid" | "llvm.amdgcn.workitem.id" => Some("0"),
        "blockIdx" | "llvm.nvvm.read.ptx.sreg.ctaid" | "llvm.amdgcn.workgroup.id" => Some("0"),
        "anydsl.amdpal.workitem.id" | "anydsl.amdpal.workgroup.id" => Some("0"),
        "blockDim" | "llvm.nvvm.read.ptx.sreg.ntid" | "anydsl.amdpal.workgroup.size" => Some("1"),
        "gridDim" | "llvm.nvvm.read.ptx.sreg.nctaid" | "anydsl.amdpal.nblk" => Some("1"),
        _ => None,
    }
}
