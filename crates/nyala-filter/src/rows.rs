//! The same expression for pixels of several rows, so that they share accesses to the picture.
//!
//! Rows share an access if both of them execute it. So a conditional whose costly branch accesses the picture is
//! computed for all of them or for none: if one pixel needs the branch, it is computed for all, and the others do
//! not use the result. What fails there is no fault if the pixel does not need it. The question is one for all SIMD
//! lanes as well, so that accesses have no masks.

use nyala_ir::{ArithFlags, ArithOp, Def, LaneFunction, Linkage};

use crate::translate::{Env, Translator, is_simple};
use crate::tree::{Expr, Op, Ty};

impl Translator<'_> {
    /// The values of an expression for pixels with these environments.
    pub(crate) fn of_pixels(&mut self, expr: &Expr, envs: &mut [Env]) -> Vec<Def> {
        match &expr.op {
            Op::Let(var, parts) if envs.len() > 1 => {
                for env in &mut *envs {
                    self.within(env, |pixel| pixel.define(*var, &parts[0]));
                }
                if parts[0].varies(&self.varying) {
                    self.varying.push(*var);
                }
                self.of_pixels(&parts[1], envs)
            }
            Op::If(parts) if envs.len() > 1 && self.has_shared_branch(parts) => {
                self.for_all_or_none(parts, envs)
            }
            _ => envs.iter_mut().map(|env| self.within(env, |pixel| pixel.scalar(expr))).collect(),
        }
    }

    /// Whether the condition differs between the pixels of a row, and exactly one branch has accesses and is not
    /// simple.
    fn has_shared_branch(&self, [condition, then, other]: &[Expr; 3]) -> bool {
        let accesses = |branch: &Expr| branch.any(&|part| matches!(part.op, Op::Image(_)));
        let costly = if is_simple(then) { other } else { then };
        then.ty != Ty::Matrix
            && is_simple(then) != is_simple(other)
            && accesses(costly)
            && condition.varies(&self.varying)
    }

    /// A conditional whose costly branch is computed for all pixels or for none.
    fn for_all_or_none(&mut self, [condition, then, other]: &[Expr; 3], envs: &mut [Env]) -> Vec<Def> {
        let (costly, simple, is_then) =
            if is_simple(then) { (other, then, false) } else { (then, other, true) };
        let before: Vec<Option<Def>> = envs.iter().map(|env| env.is_needed).collect();
        for env in &mut *envs {
            let needed = self.within(env, |pixel| pixel.takes_branch(condition, is_then));
            env.is_needed = Some(needed);
        }
        let ty = self.world.types.prim(Translator::prim(then.ty));
        let join = self.new_block("join", &vec![ty; envs.len()]);
        let join_def = self.world.cont_def(join);
        let is_needed = self.is_needed_in_a_lane(envs);
        let [compute, skip] = self.branch(is_needed, ["costly", "simple"]);
        self.enter(skip);
        let values = self.of_pixels(simple, envs);
        self.jump(join_def, &values);
        self.enter(compute);
        let costly = self.of_pixels(costly, envs);
        let simple = self.of_pixels(simple, envs);
        let values = envs.iter().zip(costly.into_iter().zip(simple)).map(|(env, (costly, simple))| {
            let is_needed = env.is_needed.expect("it was set");
            self.world.select(is_needed, costly, simple)
        });
        let values: Vec<Def> = values.collect();
        self.jump(join_def, &values);
        for (env, before) in envs.iter_mut().zip(before) {
            env.is_needed = before;
        }
        self.enter(join)
    }

    /// Whether the pixel is needed, and its condition chooses this branch.
    fn takes_branch(&mut self, condition: &Expr, is_then: bool) -> Def {
        let condition = self.scalar(condition);
        let chosen = self.world.lit_bool(is_then);
        let differs = self.world.arith(ArithOp::Xor, ArithFlags::STRICT, condition, chosen);
        let yes = self.world.lit_bool(true);
        let takes = self.world.arith(ArithOp::Xor, ArithFlags::STRICT, differs, yes);
        match self.env.is_needed {
            Some(is_needed) => self.world.arith(ArithOp::And, ArithFlags::STRICT, is_needed, takes),
            None => takes,
        }
    }

    /// Whether one of the pixels is needed in one of the SIMD lanes.
    fn is_needed_in_a_lane(&mut self, envs: &[Env]) -> Def {
        let needed = envs.iter().filter_map(|env| env.is_needed);
        let needed = needed.reduce(|a, b| self.world.arith(ArithOp::Or, ArithFlags::STRICT, a, b));
        let needed = needed.expect("there are pixels");
        let (mem, bool) = (self.world.types.mem(), self.world.types.bool());
        let symbol = format!("rv_{}", LaneFunction::Any.name());
        let linkage = Linkage::Imported(symbol.as_str().into());
        let found = self.world.conts().find(|(_, data)| data.linkage == linkage).map(|(any, _)| any);
        let any = found.unwrap_or_else(|| {
            let ret = self.world.types.cn(&[mem, bool]);
            let any = self.world.new_cont(symbol.as_str(), &[mem, bool, ret]);
            self.world.set_linkage(any, linkage);
            any
        });
        let next = self.new_block("voted", &[bool]);
        let (any, next_def) = (self.world.cont_def(any), self.world.cont_def(next));
        self.jump(any, &[needed, next_def]);
        self.enter(next)[0]
    }
}
