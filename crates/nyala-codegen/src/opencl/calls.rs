//! How blocks end: with jumps, branches, returns and calls; and what is called.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::{Cont, Def, Intrinsic, Linkage, Prim, Ty};
use nyala_span::Span;

use super::function::FunctionWriter;
use super::types::{prim_type, space_name};
use crate::errors::CodegenError;
use crate::text::is_value;

impl FunctionWriter<'_, '_> {
    /// The end of a block: a call of `callee`.
    pub(super) fn call(&mut self, callee: Def, args: &[Def], span: Span) {
        if Some(callee) == self.function.ret {
            let values = self.values_of(args);
            return self.return_values(&values);
        }
        let Some(cont) = self.world.as_cont(callee) else {
            self.module.unsupported(span, "a function that is a value on OpenCL devices");
            return;
        };
        match &self.world.cont(cont).linkage {
            Linkage::Intrinsic(intrinsic) => self.intrinsic(*intrinsic, args, span),
            Linkage::Imported(name) | Linkage::Device(name) => self.call_outside(name.as_str(), args, span),
            Linkage::Internal | Linkage::Exported(_) => {
                let is_block = self.module.program.get(cont).is_none();
                if is_block || self.is_self_jump(callee, args) {
                    let values = self.values_of(args);
                    self.jump(cont, &values);
                } else {
                    self.call_function(cont, args);
                }
            }
        }
    }

    fn call_function(&mut self, cont: Cont, args: &[Def]) {
        let name = self.module.name(cont);
        let (mut values, ret, results) = self.arguments(args);
        let shared = self.module.shared.get(&cont).cloned().unwrap_or_default();
        values.extend(shared.into_iter().map(|shared| shared.name));
        let values = self.finish_call(&format!("{name}({})", values.join(", ")), &results);
        self.go_on(ret, &values);
    }

    /// The values of arguments, where to go on, and the types of the results.
    fn arguments(&mut self, args: &[Def]) -> (Vec<String>, Option<Def>, Vec<Ty>) {
        let world = self.world;
        let ret = args.last().copied().filter(|&last| is_return(&world.types, world.ty(last)));
        let given = if ret.is_some() { &args[..args.len() - 1] } else { args };
        let is_value = |&&arg: &&Def| is_value(world, world.ty(arg));
        let values = given.iter().filter(is_value).map(|&arg| self.value(arg)).collect();
        (values, ret, self.module.result_types(ret.map(|ret| world.ty(ret))))
    }

    /// Writes a call; gives its results.
    fn finish_call(&mut self, call: &str, results: &[Ty]) -> Vec<String> {
        match results {
            [] => {
                self.line(format!("{call};"));
                vec![]
            }
            [one] => vec![self.compute(*one, "result", call)],
            several => {
                let (ty, all) = (self.module.types.tuple(several), self.temporary("results"));
                self.line(format!("{ty} {all} = {call};"));
                (0..several.len()).map(|index| format!("{all}.e{index}")).collect()
            }
        }
    }

    /// Goes on after a call, at the place it was told to return to.
    fn go_on(&mut self, place: Option<Def>, values: &[String]) {
        match place {
            None => self.unreachable(),
            Some(place) if Some(place) == self.function.ret => self.return_values(values),
            Some(place) => match self.world.as_cont(place) {
                Some(block) => self.jump(block, values),
                None => {
                    self.module.unsupported(self.span, "a place to return to that is a value");
                }
            },
        }
    }

    /// Goes on after what cannot be written and was reported.
    fn go_on_without(&mut self, place: Option<Def>, results: &[Ty]) {
        let values = vec!["0".to_owned(); results.len()];
        self.go_on(place, &values);
    }

    fn return_values(&mut self, values: &[String]) {
        let result = self.result();
        match values {
            [] => self.line("return;"),
            [one] => self.line(format!("return {one};")),
            several => self.line(format!("return ({result}){{ {} }};", several.join(", "))),
        }
    }

    /// Control never gets here, but C wants to know how the function ends.
    pub(super) fn unreachable(&mut self) {
        let results = self.module.result_types(self.function.ret.map(|ret| self.world.ty(ret)));
        match &results[..] {
            [] => self.line("return;"),
            [ty] if self.world.types.as_prim(*ty).is_some() => self.line("return 0;"),
            _ => {
                let ty = self.result();
                self.line(format!("return ({ty}){{0}};"));
            }
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        match (intrinsic, args) {
            (Intrinsic::Branch, &[_, cond, then, other]) => {
                let cond = self.value(cond);
                self.line(format!("if ({}) {{", without_parentheses(&cond)));
                self.call(then, &[], span);
                self.line("} else {");
                self.call(other, &[], span);
                self.line("}");
            }
            (Intrinsic::Switch, [_, value, default, cases @ ..]) => {
                let value = self.value(*value);
                self.line(format!("switch ({}) {{", without_parentheses(&value)));
                for case in cases.chunks_exact(2) {
                    let value = self.value(case[0]);
                    self.line(format!("case {value}:"));
                    self.call(case[1], &[], span);
                }
                self.line("default:");
                self.call(*default, &[], span);
                self.line("}");
            }
            (Intrinsic::ReserveShared, &[.., ret]) => {
                let at = self.world.cont(self.function.entry);
                let own = self.module.shared.get(&self.function.entry).cloned().unwrap_or_default();
                let block = self.block_that_reserves(args);
                let name = own.into_iter().find(|shared| Some(shared.at) == block).map(|shared| shared.name);
                match name {
                    Some(name) => self.go_on(Some(ret), &[name]),
                    None => drop(self.module.unsupported(at.span, "shared memory of unknown size")),
                }
            }
            (Intrinsic::PeInfo, &[.., ret]) => self.go_on(Some(ret), &[]),
            (Intrinsic::Fence, &[.., ret]) => {
                self.line("mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
                self.go_on(Some(ret), &[]);
            }
            (Intrinsic::Unreachable, _) => self.unreachable(),
            _ => self.atomic(intrinsic, args, span),
        }
    }

    /// The block that is being written, if it ends with these arguments.
    fn block_that_reserves(&self, args: &[Def]) -> Option<Cont> {
        let is_it =
            |cont: &&Cont| self.world.cont(**cont).body.as_ref().is_some_and(|body| body.args == args);
        self.function.blocks.iter().find(is_it).copied()
    }

    fn atomic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        let (values, ret, results) = self.arguments(args);
        let data = &args[1..args.len() - usize::from(ret.is_some())];
        let call = match (intrinsic, data, &values[..]) {
            (Intrinsic::Atomic, &[op, addr, value, ..], [_, at, operand, ..]) => {
                self.read_modify_write(op, addr, value, at, operand)
            }
            (Intrinsic::AtomicLoad, &[addr, ..], [at, ..]) => {
                self.address(addr, at).map(|(at, ty)| format!("atomic_or({at}, ({ty})0)"))
            }
            (Intrinsic::AtomicStore, &[addr, ..], [at, value, ..]) => {
                if let Some((at, _)) = self.address(addr, at) {
                    self.line(format!("atomic_xchg({at}, {value});"));
                    return self.go_on(ret, &[]);
                }
                None
            }
            (Intrinsic::CmpXchg | Intrinsic::CmpXchgWeak, &[addr, expected, ..], [at, old, new, ..]) => {
                if let Some((at, _)) = self.address(addr, at) {
                    let ty = self.world.ty(expected);
                    let found = self.compute(ty, "found", format!("atomic_cmpxchg({at}, {old}, {new})"));
                    let is_same = self.world.types.bool();
                    let same = self.compute(is_same, "same", format!("{found} == {old}"));
                    return self.go_on(ret, &[found, same]);
                }
                None
            }
            _ => None,
        };
        match call {
            Some(call) => {
                let values = self.finish_call(&call, &results);
                self.go_on(ret, &values);
            }
            None => {
                self.module
                    .unsupported(span, format!("this form of `{}` on OpenCL devices", intrinsic.name()));
                self.go_on_without(ret, &results);
            }
        }
    }

    /// An address for an atomic operation, and the type that is there: numbers of 32 bits.
    fn address(&mut self, addr: Def, value: &str) -> Option<(String, &'static str)> {
        let (pointee, _) = self.world.types.as_ptr(self.world.ty(addr))?;
        let prim = self.world.types.as_prim(pointee)?;
        let ty = matches!(prim, Prim::I32 | Prim::U32 | Prim::F32).then(|| prim_type(prim))?;
        let space = space_name(self.module.spaces.of(self.world, addr));
        Some((format!("(volatile {space}{ty}*){value}"), ty))
    }

    fn read_modify_write(
        &mut self,
        op: Def,
        addr: Def,
        value: Def,
        at: &str,
        operand: &str,
    ) -> Option<String> {
        let (at, ty) = self.address(addr, at)?;
        let prim = self.world.types.as_prim(self.world.ty(value))?;
        let function = match (self.world.as_lit(op)?, prim.is_float()) {
            (0, _) => "atomic_xchg",
            (1 | 11, true) | (12 | 2, true) => {
                let is_local = at.contains("__local");
                self.module.adds_floats[usize::from(is_local)] = true;
                let sign = if matches!(self.world.as_lit(op), Some(2 | 12)) { "-" } else { "" };
                let place = if is_local { "local" } else { "global" };
                return Some(format!("atomic_add_float_{place}({at}, {sign}{operand})"));
            }
            (1, _) => "atomic_add",
            (2, _) => "atomic_sub",
            (3, _) => "atomic_and",
            (5, _) => "atomic_or",
            (6, _) => "atomic_xor",
            (7, _) | (9, _) if prim.is_signed() == (self.world.as_lit(op) == Some(7)) => "atomic_max",
            (8, _) | (10, _) if prim.is_signed() == (self.world.as_lit(op) == Some(8)) => "atomic_min",
            _ => return None,
        };
        Some(format!("{function}({at}, ({ty}){operand})"))
    }

    /// Calls a function that OpenCL C knows.
    fn call_outside(&mut self, name: &str, args: &[Def], span: Span) {
        let (values, ret, results) = self.arguments(args);
        let is_float =
            |&arg: &Def| self.world.types.as_prim(self.world.ty(arg)).is_none_or(|prim| prim.is_float());
        let are_floats = args.iter().filter(|&&arg| is_value(self.world, self.world.ty(arg))).all(is_float);
        let Some(known) = known_function(name, are_floats) else {
            let error = CodegenError::NotOnDevice { at: span, name: name.into(), device: "OpenCL devices" };
            self.module.errors.push(error);
            return self.go_on_without(ret, &results);
        };
        let values = self.finish_call(&format!("{known}({})", values.join(", ")), &results);
        self.go_on(ret, &values);
    }
}

/// A value that is written where there are parentheses already. One that is an expression has
/// its own around it.
fn without_parentheses(value: &str) -> &str {
    value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value)
}

/// The name of a function in OpenCL C. Those of the C library on `f32` have their own names there.
fn known_function(name: &str, are_floats: bool) -> Option<&str> {
    const WORK_ITEMS: [&str; 16] = [
        "get_local_id",
        "get_group_id",
        "get_global_id",
        "get_local_size",
        "get_global_size",
        "get_num_groups",
        "get_global_offset",
        "get_work_dim",
        "barrier",
        "mem_fence",
        "read_mem_fence",
        "write_mem_fence",
        "printf",
        "isinf",
        "isnan",
        "isfinite",
    ];
    const MATH: [&str; 44] = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp10",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "hypot",
        "log",
        "log10",
        "log1p",
        "log2",
        "mad",
        "pow",
        "rint",
        "round",
        "rsqrt",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "native_exp",
        "native_log",
        "native_rsqrt",
        "native_sqrt",
    ];
    const WHOLE: [&str; 6] = ["min", "max", "clz", "ctz", "popcount", "abs"];
    match name {
        _ if WORK_ITEMS.contains(&name) || WHOLE.contains(&name) => Some(name),
        _ if MATH.contains(&name) => Some(name),
        _ => name.strip_suffix('f').filter(|base| are_floats && MATH.contains(base)),
    }
}

/// A function that adds a float to one in an address space, and gives what was there.
pub(super) fn atomic_float_add(space: &str) -> String {
    let place = space.trim_start_matches('_');
    format!(
        "static float atomic_add_float_{place}(volatile {space} float* at, float value) {{\n    \
         uint old;\n    \
         uint now = *(volatile {space} uint*)at;\n    \
         do {{\n        \
         old = now;\n        \
         now = atomic_cmpxchg((volatile {space} uint*)at, old, as_uint(as_float(old) + value));\n    \
         }} while (now != old);\n    \
         return as_float(old);\n}}\n"
    )
}
