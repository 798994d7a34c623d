//! Collective operations of the threads of a warp or a block.

use nyala_ir::functions::Collective;
use nyala_ir::{Def, Prim};

use super::super::function::FunctionWriter;

impl FunctionWriter<'_, '_> {
    /// The result of a collective operation; nothing if it is declared with other parameters.
    pub(super) fn collective(&mut self, function: Collective, args: &[Def], result: &str) -> Option<String> {
        match (function, args) {
            (Collective::Barrier, []) => Some(self.call_intrinsic("llvm.nvvm.barrier0", "void", &[])),
            (Collective::BarrierCount, &[vote]) => Some(self.block_vote("popc", vote)),
            (Collective::BarrierAnd, &[vote]) => Some(self.block_vote("and", vote)),
            (Collective::BarrierOr, &[vote]) => Some(self.block_vote("or", vote)),
            (Collective::WarpBarrier, &[mask]) => {
                let mask = self.value(mask);
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", "void", &[("i32", &mask)]))
            }
            (Collective::WarpBarrier, []) => {
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", "void", &[("i32", "-1")]))
            }
            (Collective::ActiveMask, []) => Some(self.call_intrinsic("llvm.nvvm.activemask", "i32", &[])),
            (Collective::Any, &[mask, vote]) => Some(self.warp_vote("any", mask, vote)),
            (Collective::All, &[mask, vote]) => Some(self.warp_vote("all", mask, vote)),
            (Collective::Ballot, &[mask, vote]) => Some(self.warp_vote("ballot", mask, vote)),
            (Collective::MatchAny, &[mask, value]) => {
                let (mask, ty) = (self.value(mask), self.module.ty_of(value));
                let value = self.as_bits_of(value);
                let name = format!("llvm.nvvm.match.any.sync.{}", bits_type(&ty));
                Some(self.call_intrinsic(&name, "i32", &[("i32", &mask), (bits_type(&ty), &value)]))
            }
            (Collective::MatchAll, &[mask, value, is_same]) => Some(self.match_all(mask, value, is_same)),
            (Collective::Shuffle, _) => self.shuffle("idx", args, result),
            (Collective::ShuffleUp, _) => self.shuffle("up", args, result),
            (Collective::ShuffleDown, _) => self.shuffle("down", args, result),
            (Collective::ShuffleXor, _) => self.shuffle("bfly", args, result),
            (
                Collective::Barrier
                | Collective::BarrierCount
                | Collective::BarrierAnd
                | Collective::BarrierOr
                | Collective::WarpBarrier
                | Collective::ActiveMask
                | Collective::Any
                | Collective::All
                | Collective::Ballot
                | Collective::MatchAny
                | Collective::MatchAll,
                _,
            ) => None,
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
    fn shuffle(&mut self, mode: &str, args: &[Def], result: &str) -> Option<String> {
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
