//! The values and types of variables.

use nyala_ir::{Def, Ty};

use super::{Emitter, Env, Var, value_ty};
use crate::vectorize::lanewise;
use crate::vectorize::shapes::Shape;

impl Emitter<'_> {
    /// The value of a variable in the current block.
    pub fn value(&mut self, var: Var) -> Def {
        match self.env.get(&var) {
            Some(&value) => value,
            None => self.unwritten(var),
        }
    }

    /// The value of a variable on an edge.
    pub(super) fn value_in(&mut self, env: &Env, var: Var) -> Def {
        match env.get(&var) {
            Some(&value) => value,
            None => self.unwritten(var),
        }
    }

    pub(super) fn unwritten(&mut self, var: Var) -> Def {
        match var {
            Var::Deferred(_) | Var::Mask(_) => self.empty_mask(),
            _ => {
                let ty = self.var_ty(var);
                self.world.undef(ty)
            }
        }
    }

    pub(super) fn var_ty(&mut self, var: Var) -> Ty {
        let lanes = self.task.lanes;
        if let Var::Value(old) | Var::LiveOut(old) = var
            && self.task.shapes.is_private(old)
        {
            return self.private_ty(var, old);
        }
        let (old, varies) = match var {
            Var::Deferred(_) | Var::Mask(_) => {
                let bool = self.world.types.bool();
                return self.world.types.simd(bool, lanes);
            }
            Var::Value(old) | Var::Next(old) => {
                (value_ty(self.world, old), self.task.shapes.of(old) == Shape::Varying)
            }
            Var::LiveOut(old) => (value_ty(self.world, old), true),
            Var::Result(index) => (self.result_ty(index), true),
        };
        if varies { lanewise::lanes_ty(self.world, old, lanes) } else { old }
    }

    /// The scalar type of a result of the function.
    pub(super) fn result_ty(&self, index: usize) -> Ty {
        let entry = self.task.flow.blocks[0];
        let ret = self.world.cont(entry).params.last().map(|&ret| self.world.ty(ret));
        let results = ret.and_then(|ret| self.world.types.as_cn(ret)).unwrap_or(&[]);
        results[index + 1]
    }
}
