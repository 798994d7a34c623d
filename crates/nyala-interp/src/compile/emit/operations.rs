//! Nodes as operations on registers.

use nyala_ir::{Cont, Def, Node, Prim, Ty, TyKind};

use super::{Emitter, NO_REG};
use crate::code::{Op, Reg};
use crate::compile::scalar;
use crate::errors::{Checked, malformed};

impl Emitter<'_, '_> {
    /// Emits one operation, whose operands were emitted.
    pub(super) fn emit(&mut self, def: Def) -> Checked<()> {
        match self.world.node(def) {
            Node::Cont(cont) => self.closure(def, cont),
            Node::Param { .. } => malformed(format!("{def}, a parameter, is used outside its scope")),
            Node::Load { .. } | Node::Store { .. } | Node::Slot { .. } | Node::Alloc { .. } => {
                self.effect(def)
            }
            Node::LoadLanes { .. } | Node::StoreLanes { .. } => self.lane_access(def),
            // The operand has been computed; there is no result.
            Node::Demand { .. } => {
                self.know(def, NO_REG);
                Ok(())
            }
            Node::Asm { .. } => {
                let what = "inline assembly".into();
                Err(Box::new(crate::errors::ErrorKind::Unsupported { what }))
            }
            _ => self.pure(def),
        }
    }

    fn closure(&mut self, def: Def, cont: Cont) -> Checked<()> {
        let Some(&block) = self.local.get(&cont) else {
            return malformed(format!("`{}` is used outside its scope", self.world.cont(cont).name));
        };
        let dst = self.fresh(self.world.ty(def));
        self.push(def, Op::Closure { dst, block }, &[]);
        self.own.insert(def, dst);
        self.has_closure.insert(def, true);
        Ok(())
    }

    fn effect(&mut self, def: Def) -> Checked<()> {
        let world = self.world;
        let part = |ty: Ty| world.types.part(ty, 1);
        match world.node(def) {
            Node::Load { ptr, .. } => {
                let Some(ty) = part(world.ty(def)) else { return malformed("a load of another type") };
                let ptr = self.reg(ptr)?;
                let dst = self.fresh(ty);
                let op = match world.types.kind(ty) {
                    TyKind::Prim(prim) => Op::LoadPrim { dst, ptr, prim: *prim },
                    TyKind::Ptr { .. } => Op::LoadPtr { dst, ptr },
                    _ => Op::Load { dst, ptr, shape: self.shape(ty) },
                };
                self.push(def, op, &[ptr]);
                self.know(def, dst);
            }
            Node::Store { ptr, value, .. } => {
                let ty = world.ty(value);
                let (ptr, value) = (self.reg(ptr)?, self.reg(value)?);
                let op = match world.types.kind(ty) {
                    TyKind::Prim(prim) => Op::StorePrim { ptr, value, prim: *prim },
                    TyKind::Ptr { .. } => Op::StorePtr { ptr, value },
                    _ => Op::Store { ptr, value, shape: self.shape(ty) },
                };
                self.push(def, op, &[ptr, value]);
                self.know(def, NO_REG);
            }
            Node::Slot { .. } | Node::Alloc { .. } => {
                let pointee = part(world.ty(def)).and_then(|ptr| Some((ptr, world.types.as_ptr(ptr)?.0)));
                let Some((ptr_ty, pointee)) = pointee else { return malformed("a slot of another type") };
                let dst = self.fresh(ptr_ty);
                if let Node::Alloc { count, .. } = world.node(def) {
                    let elem = world.types.elem(pointee).unwrap_or(pointee);
                    let (count, shape) = (self.reg(count)?, self.shape(elem));
                    self.push(def, Op::Alloc { dst, count, shape }, &[count]);
                } else {
                    let shape = self.shape(pointee);
                    self.push(def, Op::Slot { dst, shape }, &[]);
                }
                self.know(def, dst);
            }
            _ => {}
        }
        Ok(())
    }

    fn lane_access(&mut self, def: Def) -> Checked<()> {
        let world = self.world;
        let (Node::LoadLanes { ptr, mask, .. } | Node::StoreLanes { ptr, mask, .. }) = world.node(def) else {
            return malformed("no access of lanes");
        };
        let Some((elem, _)) = world.types.lane_ptr(world.ty(ptr)) else { return malformed("no pointers") };
        let (ptr, mask, shape) = (self.reg(ptr)?, self.reg(mask)?, self.shape(elem));
        if let Node::StoreLanes { value, .. } = world.node(def) {
            let value = self.reg(value)?;
            self.push(def, Op::StoreLanes { ptr, mask, value, shape }, &[ptr, mask, value]);
            self.know(def, NO_REG);
        } else {
            let dst = self.fresh(world.types.part(world.ty(def), 1).unwrap_or(elem));
            self.push(def, Op::LoadLanes { dst, ptr, mask, shape }, &[ptr, mask]);
            self.know(def, dst);
        }
        Ok(())
    }

    fn pure(&mut self, def: Def) -> Checked<()> {
        let world = self.world;
        let operands = world.operands(def);
        let has_closure = operands
            .iter()
            .any(|operand| self.has_closure.get(operand).is_some_and(|&has_closure| has_closure));
        let reg = match self.alias(def)? {
            Some(reg) => reg,
            None => {
                let regs: Vec<Reg> =
                    operands.iter().map(|&operand| self.reg(operand)).collect::<Checked<_>>()?;
                let dst = self.fresh(world.ty(def));
                let op = self.pure_op(def, dst, &regs)?;
                self.push(def, op, &regs);
                dst
            }
        };
        self.has_closure.insert(def, has_closure);
        if has_closure {
            self.own.insert(def, reg);
        } else {
            self.know(def, reg);
        }
        Ok(())
    }

    /// The register of an operand that already holds the value of `def`.
    fn alias(&mut self, def: Def) -> Checked<Option<Reg>> {
        let world = self.world;
        Ok(match world.node(def) {
            Node::Hide(inner) | Node::Mark { callee: inner, .. } | Node::Streaming(inner) => {
                Some(self.reg(inner)?)
            }
            Node::Extract { agg, index } if self.is_effect(agg) => match world.as_lit(index) {
                Some(0) => Some(NO_REG),
                _ => Some(self.reg(agg)?),
            },
            Node::Cast(inner) | Node::Bitcast(inner) => {
                let (from, to) = (scalar(world, world.ty(inner)), scalar(world, world.ty(def)));
                let is_same = match (world.node(def), from, to) {
                    (Node::Bitcast(_), Some(from), Some(to)) => {
                        from.bytes() == to.bytes() && to != Prim::Bool
                    }
                    (_, Some(from), Some(to)) => from == to,
                    _ => false,
                };
                if is_same { Some(self.reg(inner)?) } else { None }
            }
            _ => None,
        })
    }

    fn is_effect(&self, def: Def) -> bool {
        matches!(
            self.world.node(def),
            Node::Load { .. } | Node::LoadLanes { .. } | Node::Slot { .. } | Node::Alloc { .. }
        )
    }

    fn pure_op(&mut self, def: Def, dst: Reg, regs: &[Reg]) -> Checked<Op> {
        let world = self.world;
        let prim_of = |def: Def| scalar(world, world.ty(def));
        let op = match (world.node(def), regs) {
            (Node::Arith { op, flags, lhs, .. }, &[a, b]) => prim_of(lhs).map(|prim| {
                let wrap = flags.wrap;
                Op::fast_arith(op, prim, wrap, dst, a, b).unwrap_or(Op::Arith { op, prim, wrap, dst, a, b })
            }),
            (Node::Cmp { op, lhs, .. }, &[a, b]) => prim_of(lhs)
                .map(|prim| Op::fast_cmp(op, prim, dst, a, b).unwrap_or(Op::Cmp { op, prim, dst, a, b })),
            (Node::Cast(value), &[a]) => match (prim_of(value), prim_of(def)) {
                (Some(from), Some(to)) => Some(Op::Cast { from, to, dst, a }),
                _ => None,
            },
            (Node::Select { cond, .. }, &[cond_reg, then, other]) => {
                prim_of(cond).map(|_| Op::Select { dst, cond: cond_reg, then, other })
            }
            (Node::Aggregate(_), _) => Some(Op::Aggregate { dst, args: self.regs(regs.iter().copied()) }),
            (Node::Extract { index, .. }, &[agg, _]) => {
                let index = world.as_lit(index).and_then(|index| u32::try_from(index).ok());
                index.map(|index| Op::Extract { dst, agg, index })
            }
            (Node::VariantTag(_), &[agg]) => Some(Op::Extract { dst, agg, index: 0 }),
            (Node::Lea { ptr, index }, &[ptr_reg, index_reg]) => {
                self.lea(world.ty(ptr), index, dst, ptr_reg, index_reg)
            }
            _ => None,
        };
        Ok(op.unwrap_or_else(|| Op::Node { dst, args: self.regs(regs.iter().copied()) }))
    }

    fn lea(&mut self, ptr_ty: Ty, index: Def, dst: Reg, ptr: Reg, index_reg: Reg) -> Option<Op> {
        let world = self.world;
        let (pointee, _) = world.types.as_ptr(ptr_ty)?;
        if let Some(elem) = world.types.elem(pointee) {
            let prim = world.types.as_prim(world.ty(index))?;
            let shape = self.shape(elem);
            return Some(Op::Element { dst, ptr, index: index_reg, prim, shape });
        }
        let offset = nyala_ir::layout::offset(&world.types, pointee, world.as_lit(index)?);
        u32::try_from(offset).ok().map(|offset| Op::Field { dst, ptr, offset })
    }
}
