//! Collective operations of the threads of a warp or a block.

use nyala_ir::functions::Collective;
use nyala_ir::{Def, Prim};

use super::super::function::FunctionWriter;
use super::super::value::{Scalar, Type, Value};

impl FunctionWriter<'_, '_> {
    /// The result of a collective operation; nothing if it is declared with other parameters.
    pub(super) fn collective(&mut self, function: Collective, args: &[Def], result: &Type) -> Option<String> {
        match (function, args) {
            (Collective::Barrier, []) => Some(self.call_intrinsic("llvm.nvvm.barrier0", &Type::Void, &[])),
            (Collective::BarrierCount, &[vote]) => Some(self.block_vote("popc", vote)),
            (Collective::BarrierAnd, &[vote]) => Some(self.block_vote("and", vote)),
            (Collective::BarrierOr, &[vote]) => Some(self.block_vote("or", vote)),
            (Collective::WarpBarrier, &[mask]) => {
                let mask = self.as_i32(mask);
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", &Type::Void, &[mask]))
            }
            (Collective::WarpBarrier, []) => {
                let all = Value::new(Type::I32, "-1");
                Some(self.call_intrinsic("llvm.nvvm.bar.warp.sync", &Type::Void, &[all]))
            }
            (Collective::ActiveMask, []) => {
                Some(self.call_intrinsic("llvm.nvvm.activemask", &Type::I32, &[]))
            }
            (Collective::Any, &[mask, vote]) => Some(self.warp_vote("any", mask, vote)),
            (Collective::All, &[mask, vote]) => Some(self.warp_vote("all", mask, vote)),
            (Collective::Ballot, &[mask, vote]) => Some(self.warp_vote("ballot", mask, vote)),
            (Collective::MatchAny, &[mask, value]) => {
                let (mask, bits) = (self.as_i32(mask), self.as_bits_of(value));
                let name = format!("llvm.nvvm.match.any.sync.{}", bits.ty);
                Some(self.call_intrinsic(&name, &Type::I32, &[mask, bits]))
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
        let vote = self.as_i32(vote);
        self.call_intrinsic(&format!("llvm.nvvm.barrier0.{how}"), &Type::I32, &[vote])
    }

    fn warp_vote(&mut self, how: &str, mask: Def, vote: Def) -> String {
        let (mask, vote) = (self.as_i32(mask), self.typed(vote));
        let vote = match vote.ty {
            Type::BOOL => vote,
            _ => Value::new(Type::BOOL, self.compute("vote", format!("icmp ne {vote}, 0"))),
        };
        let (name, args) = (format!("llvm.nvvm.vote.{how}.sync"), [mask, vote]);
        match how {
            "ballot" => self.call_intrinsic(&name, &Type::I32, &args),
            _ => {
                let answer = self.call_intrinsic(&name, &Type::BOOL, &args);
                self.compute("answer", format!("zext i1 {answer} to i32"))
            }
        }
    }

    fn match_all(&mut self, mask: Def, value: Def, is_same: Def) -> String {
        let (mask, bits) = (self.as_i32(mask), self.as_bits_of(value));
        let name = format!("llvm.nvvm.match.all.sync.{}p", bits.ty);
        let ty = Type::structure(&[Type::I32, Type::BOOL]);
        let both = self.call_intrinsic(&name, &ty, &[mask, bits]);
        let same = self.compute("same", format!("extractvalue {ty} {both}, 1"));
        let same = self.compute("same", format!("zext i1 {same} to i32"));
        self.store_number(is_same, &same);
        self.compute("mask", format!("extractvalue {ty} {both}, 0"))
    }

    /// A number as an integer of its size.
    fn as_bits_of(&mut self, value: Def) -> Value {
        let value = self.typed(value);
        match value.ty {
            Type::Scalar(float @ (Scalar::Float | Scalar::Double)) => {
                let bits = Type::int(float.bits());
                let text = self.compute("bits", format!("bitcast {value} to {bits}"));
                Value::new(bits, text)
            }
            _ => value,
        }
    }

    /// A value of another thread of the warp. The hardware is told the size of the segments
    /// that threads exchange values in, and the last lane of them.
    fn shuffle(&mut self, mode: &str, args: &[Def], result: &Type) -> Option<String> {
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
        let (mask, value, lane) = (self.as_i32(mask), self.value(value), self.as_i32(lane));
        let args = [mask, Value::new(result.clone(), value), lane, Value::new(Type::I32, clamp)];
        Some(self.call_intrinsic(&format!("llvm.nvvm.shfl.sync.{mode}.{kind}"), result, &args))
    }
}
