//! Functions by which the threads of a warp or a block meet, by CUDA's names.

use nyala_ir::{Def, Prim};

use super::super::function::FunctionWriter;

impl FunctionWriter<'_, '_> {
    /// The result of such a function; nothing if there is none of this name.
    pub(super) fn meeting(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        match (name, args) {
            ("__syncthreads", []) => Some(self.call_intrinsic("llvm.nvvm.barrier0", "void", &[])),
            ("__syncthreads_count", &[vote]) => Some(self.block_vote("popc", vote)),
            ("__syncthreads_and", &[vote]) => Some(self.block_vote("and", vote)),
            ("__syncthreads_or", &[vote]) => Some(self.block_vote("or", vote)),
            ("__syncwarp", &[mask]) => {
                let mask = self.value(mask);
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", "void", &[("i32", &mask)]))
            }
            ("__syncwarp", []) => {
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", "void", &[("i32", "-1")]))
            }
            ("__activemask", []) => Some(self.call_intrinsic("llvm.nvvm.activemask", "i32", &[])),
            ("__any_sync", &[mask, vote]) => Some(self.warp_vote("any", mask, vote)),
            ("__all_sync", &[mask, vote]) => Some(self.warp_vote("all", mask, vote)),
            ("__ballot_sync", &[mask, vote]) => Some(self.warp_vote("ballot", mask, vote)),
            ("__match_any_sync", &[mask, value]) => {
                let (mask, ty) = (self.value(mask), self.module.ty_of(value));
                let value = self.as_bits_of(value);
                let name = format!("llvm.nvvm.match.any.sync.{}", bits_type(&ty));
                Some(self.call_intrinsic(&name, "i32", &[("i32", &mask), (bits_type(&ty), &value)]))
            }
            ("__match_all_sync", &[mask, value, is_same]) => Some(self.match_all(mask, value, is_same)),
            _ => self.shuffle(name, args, result),
        }
    }

    fn block_vote(&mut self, how: &str, vote: Def) -> String {
        let vote = self.value(vote);
        self.call_intrinsic(&format!("llvm.nvvm.barrier0.{how}"), "i32", &[("i32", &vote)])
    }

    fn warp_vote(&mut self, how: &str, mask: Def, vote: Def) -> String {
        let (mask, vote, ty) = (self.value(mask), self.value(vote), self.module.ty_of(vote));
        let vote = match ty.as_str() {
            "i1" => vote,
            _ => self.compute("vote", format!("icmp ne {ty} {vote}, 0")),
        };
        let (name, args) = (format!("llvm.nvvm.vote.{how}.sync"), [("i32", mask.as_str()), ("i1", &vote)]);
        match how {
            "ballot" => self.call_intrinsic(&name, "i32", &args),
            _ => {
                let answer = self.call_intrinsic(&name, "i1", &args);
                self.compute("answer", format!("zext i1 {answer} to i32"))
            }
        }
    }

    fn match_all(&mut self, mask: Def, value: Def, is_same: Def) -> String {
        let (mask, ty) = (self.value(mask), self.module.ty_of(value));
        let value = self.as_bits_of(value);
        let name = format!("llvm.nvvm.match.all.sync.{}p", bits_type(&ty));
        let both = self.call_intrinsic(&name, "{ i32, i1 }", &[("i32", &mask), (bits_type(&ty), &value)]);
        let same = self.compute("same", format!("extractvalue {{ i32, i1 }} {both}, 1"));
        let same = self.compute("same", format!("zext i1 {same} to i32"));
        self.store_number(is_same, &same);
        self.compute("mask", format!("extractvalue {{ i32, i1 }} {both}, 0"))
    }

    /// A number as an integer of its size.
    fn as_bits_of(&mut self, value: Def) -> String {
        let (ty, text) = (self.module.ty_of(value), self.value(value));
        match ty.as_str() {
            "float" => self.compute("bits", format!("bitcast float {text} to i32")),
            "double" => self.compute("bits", format!("bitcast double {text} to i64")),
            _ => text,
        }
    }

    /// A value of another thread of the warp. The hardware is told the size of the segments
    /// that threads exchange values in, and the last lane of them.
    fn shuffle(&mut self, name: &str, args: &[Def], result: &str) -> Option<String> {
        let mode = match name {
            "__shfl_sync" => "idx",
            "__shfl_up_sync" => "up",
            "__shfl_down_sync" => "down",
            "__shfl_xor_sync" => "bfly",
            _ => return None,
        };
        let (&[mask, value, lane], width) = (args.get(..3)?, args.get(3)) else { return None };
        let kind = match self.world.types.as_prim(self.world.ty(value))? {
            Prim::F32 => "f32",
            Prim::I32 | Prim::U32 => "i32",
            _ => return None,
        };
        let width = width.map_or("32".into(), |&width| self.value(width));
        let rest = self.compute("rest", format!("sub i32 32, {width}"));
        let segment = self.compute("segment", format!("shl i32 {rest}, 8"));
        let clamp = match mode {
            "up" => segment,
            _ => self.compute("clamp", format!("or i32 {segment}, 31")),
        };
        let (mask, value, lane) = (self.value(mask), self.value(value), self.value(lane));
        let args = [("i32", mask.as_str()), (result, &value), ("i32", &lane), ("i32", &clamp)];
        Some(self.call_intrinsic(&format!("llvm.nvvm.shfl.sync.{mode}.{kind}"), result, &args))
    }
}

/// The integer type with the bits of a number.
fn bits_type(ty: &str) -> &str {
    match ty {
        "float" => "i32",
        "double" => "i64",
        _ => ty,
    }
}
