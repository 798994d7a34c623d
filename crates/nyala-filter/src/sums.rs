//! Sums as loops, and how they unroll: section 5.3 of the paper.
//!
//! A sum of terms 0 to n - 1 is emitted as functions with filters. Our evaluator decides which of them it unfolds:
//!
//! 1. `prefix` adds terms as long as everything is known: index, number of terms, and the sum so far. This is the
//!    static prefix of the paper. A term that is multiplied by 0 is known.
//! 2. `blocks` adds the others in blocks of N terms, in a loop. N follows from the number of leaves of a term and
//!    the limit M: N = M / E - 1. The terms of a block are always unfolded.
//! 3. `tail` adds the rest, which is less than a block. It is unfolded if its bounds are known. A sum of less than
//!    N terms has no blocks, so all of it is unfolded.
//!
//! Without specialization a sum is one loop.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Prim};

use crate::ranges::Ranges;
use crate::translate::Translator;
use crate::tree::{Expr, Op, Ty, Var};

/// The most terms of a block if the number of terms is unknown. A longer block does not save time, but takes time
/// to compile.
const MAX_DYNAMIC_BLOCK: usize = 8;

/// A sum that is being emitted.
struct Sum<'e> {
    var: Var,
    parts: &'e [Expr; 3],
    ty: Ty,
    lower: Def,
    /// The number of terms, an `i32`.
    n: Def,
    /// Gets the sum.
    exit: Def,
}

impl Translator<'_> {
    pub(crate) fn sum(&mut self, var: Var, parts: &[Expr; 3], ty: Ty) -> Def {
        let (lower, upper) = (self.scalar(&parts[0]), self.scalar(&parts[1]));
        let n_max = self.ranges.terms(&parts[0], &parts[1]);
        let (outer, outer_max) = (self.outer, self.outer_max);
        let n = self.terms(lower, upper, n_max);
        let result_ty = self.world.types.prim(Translator::prim(ty));
        let exit = self.new_block("summed", &[result_ty]);
        let sum = Sum { var, parts, ty, lower, n, exit: self.world.cont_def(exit) };
        let range = self.ranges.of_sum(&parts[0], &parts[1]);
        self.ranges.set(var, range);
        if self.setup.specialize {
            let block = block_size(&parts[2], self.setup.unroll_leaves, &mut self.ranges.clone());
            let block = if n_max.is_some() { block } else { block.min(MAX_DYNAMIC_BLOCK) };
            self.unrolled(&sum, block);
        } else {
            let zero = self.world.lit_i32(0);
            let start = self.zero(ty);
            self.plain_loop(&sum, zero, start, None);
        }
        (self.outer, self.outer_max) = (outer, outer_max);
        self.enter(exit)[0]
    }

    /// The number of terms, after the check that there are not too many. Sets the terms around for the terms of
    /// this sum.
    fn terms(&mut self, lower: Def, upper: Def, n_max: Option<u64>) -> Def {
        let (i32, i64) = (self.world.types.prim(Prim::I32), self.world.types.prim(Prim::I64));
        let strict = ArithFlags::STRICT;
        let limit = self.setup.rules.max_terms;
        let all_max = self.outer_max.zip(n_max).and_then(|(outer, n)| outer.checked_mul(n));
        let all_max = all_max.filter(|&all| i128::from(all) <= i128::from(limit));
        if let Some(all_max) = all_max {
            let (zero, one) = (self.world.lit_i32(0), self.world.lit_i32(1));
            let n = self.world.arith(ArithOp::Sub, strict, upper, lower);
            let n = self.world.arith(ArithOp::Add, strict, n, one);
            let is_some = self.world.cmp(CmpOp::Gt, n, zero);
            self.outer_max = Some(all_max.max(1));
            let n = self.world.select(is_some, n, zero);
            let wide = self.world.cast(i64, n);
            self.outer = self.world.arith(ArithOp::Mul, strict, self.outer, wide);
            return n;
        }
        let (zero, one) = (self.world.lit_i64(0), self.world.lit_i64(1));
        let (lower, upper) = (self.world.cast(i64, lower), self.world.cast(i64, upper));
        let n = self.world.arith(ArithOp::Sub, strict, upper, lower);
        let n = self.world.arith(ArithOp::Add, strict, n, one);
        let is_some = self.world.cmp(CmpOp::Gt, n, zero);
        let n = self.world.select(is_some, n, zero);
        let all = self.world.arith(ArithOp::Mul, strict, self.outer, n);
        let limit = self.world.lit_i64(limit);
        let is_too_long = self.world.cmp(CmpOp::Gt, all, limit);
        self.fault_if(is_too_long);
        (self.outer, self.outer_max) = (all, None);
        let n = self.world.select(is_too_long, zero, n);
        self.world.cast(i32, n)
    }

    fn zero(&mut self, ty: Ty) -> Def {
        if ty == Ty::Int { self.world.lit_i32(0) } else { self.float(0.0) }
    }

    fn accumulate(&mut self, ty: Ty, sum: Def, term: Def) -> Def {
        match ty {
            Ty::Int => self.world.arith(ArithOp::Add, ArithFlags::WRAP, sum, term),
            _ => self.add(sum, term),
        }
    }

    fn next_index(&mut self, index: Def) -> Def {
        let one = self.world.lit_i32(1);
        self.world.arith(ArithOp::Add, ArithFlags::STRICT, index, one)
    }

    /// `lower + index`. Both bounds are of the type `Int`, so this does not overflow.
    fn value(&mut self, sum: &Sum<'_>, index: Def) -> Def {
        self.world.arith(ArithOp::Add, ArithFlags::STRICT, sum.lower, index)
    }

    /// A loop over the terms from `start` on. Each term is emitted in place, or is a call of `term`.
    fn plain_loop(&mut self, sum: &Sum<'_>, start: Def, so_far: Def, term: Option<Def>) {
        let (i32, ty) = (self.world.types.prim(Prim::I32), self.world.ty(so_far));
        let head = self.new_block("sum", &[i32, ty]);
        let head_def = self.world.cont_def(head);
        self.jump(head_def, &[start, so_far]);
        let params = self.enter(head);
        let [index, so_far] = params[..] else { unreachable!("it was made with two") };
        let goes_on = self.world.cmp(CmpOp::Lt, index, sum.n);
        let [more, end] = self.branch(goes_on, ["term", "end"]);
        self.enter(end);
        self.jump(sum.exit, &[so_far]);
        self.enter(more);
        let value = match term {
            Some(term) => self.call_term(term, index, ty),
            None => {
                let at = self.value(sum, index);
                self.bind_index(sum, at);
                self.scalar(&sum.parts[2])
            }
        };
        let so_far = self.accumulate(sum.ty, so_far, value);
        let next = self.next_index(index);
        self.jump(head_def, &[next, so_far]);
    }

    fn bind_index(&mut self, sum: &Sum<'_>, value: Def) {
        let range = self.ranges.of_sum(&sum.parts[0], &sum.parts[1]);
        self.bind(sum.var, value, range);
    }

    /// The term as a function of its index.
    fn term_function(&mut self, sum: &Sum<'_>, ty: nyala_ir::Ty) -> Def {
        let (block, mem) = (self.block, self.mem);
        let i32 = self.world.types.prim(Prim::I32);
        let mem_ty = self.world.types.mem();
        let ret = self.world.types.cn(&[mem_ty, ty]);
        let term = self.new_block("term", &[i32, ret]);
        self.unfold_if_known(term, &[]);
        let params = self.enter(term);
        let at = self.value(sum, params[0]);
        self.bind_index(sum, at);
        let value = self.scalar(&sum.parts[2]);
        self.jump(params[1], &[value]);
        (self.block, self.mem) = (block, mem);
        self.world.cont_def(term)
    }

    fn call_term(&mut self, term: Def, index: Def, ty: nyala_ir::Ty) -> Def {
        let after = self.new_block("added", &[ty]);
        let after_def = self.world.cont_def(after);
        self.jump(term, &[index, after_def]);
        self.enter(after)[0]
    }

    fn unrolled(&mut self, sum: &Sum<'_>, block: usize) {
        let start = self.zero(sum.ty);
        let ty = self.world.ty(start);
        let (term, i32) = (self.term_function(sum, ty), self.world.types.prim(Prim::I32));
        let zero = self.world.lit_i32(0);
        if self.world.as_lit(sum.n).is_some_and(|n| n < block as u64) {
            // Nothing but the tail is left of the blocks, so nothing else is emitted: the evaluator has less to do.
            let tail = self.new_block("tail", &[i32, ty]);
            let tail_def = self.world.cont_def(tail);
            self.jump(tail_def, &[zero, start]);
            return self.tail(sum, term, tail);
        }
        let step = self.new_block("step", &[i32, ty]);
        let prefix = self.new_block("prefix", &[i32, ty]);
        let (step_def, prefix_def) = (self.world.cont_def(step), self.world.cont_def(prefix));
        self.jump(step_def, &[zero, start]);

        // All known so far: add the next term. Otherwise the rest.
        let params = self.enter(step);
        let [index, so_far] = params[..] else { unreachable!("it was made with two") };
        self.unfold_if_known(step, &[index]);
        let (is_known, n_is_known) = (self.world.known(so_far), self.world.known(sum.n));
        let is_static = self.world.arith(ArithOp::And, ArithFlags::STRICT, is_known, n_is_known);
        let [go_on, rest] = self.branch(is_static, ["known", "rest"]);
        self.enter(go_on);
        self.jump(prefix_def, &[index, so_far]);
        self.enter(rest);
        self.rest(sum, block, term, index, so_far);

        let params = self.enter(prefix);
        let [index, so_far] = params[..] else { unreachable!("it was made with two") };
        self.unfold_if_known(prefix, &[index, so_far, sum.n]);
        self.one_term(sum, term, index, so_far, step_def);
    }

    /// Ends the block with `next(index + 1, so_far + term(index))`, or with the end of the sum.
    fn one_term(&mut self, sum: &Sum<'_>, term: Def, index: Def, so_far: Def, next: Def) {
        let goes_on = self.world.cmp(CmpOp::Lt, index, sum.n);
        let [more, end] = self.branch(goes_on, ["more", "end"]);
        self.enter(end);
        self.jump(sum.exit, &[so_far]);
        self.enter(more);
        let ty = self.world.ty(so_far);
        let value = self.call_term(term, index, ty);
        let so_far = self.accumulate(sum.ty, so_far, value);
        let index = self.next_index(index);
        self.jump(next, &[index, so_far]);
    }

    /// The terms from `index` on: blocks, then the tail.
    fn rest(&mut self, sum: &Sum<'_>, block: usize, term: Def, index: Def, so_far: Def) {
        if block <= 1 {
            let hidden = self.world.hide(index);
            return self.plain_loop(sum, hidden, so_far, Some(term));
        }
        let (i32, ty) = (self.world.types.prim(Prim::I32), self.world.ty(so_far));
        let (blocks, tail) = (self.new_block("blocks", &[i32, ty]), self.new_block("tail", &[i32, ty]));
        let (blocks_def, tail_def) = (self.world.cont_def(blocks), self.world.cont_def(tail));
        let size = self.world.lit_i32(block as i32);
        let strict = ArithFlags::STRICT;

        let left = self.world.arith(ArithOp::Sub, strict, sum.n, index);
        let has_block = self.world.cmp(CmpOp::Ge, left, size);
        let [some, none] = self.branch(has_block, ["some", "none"]);
        self.enter(none);
        self.jump(tail_def, &[index, so_far]);
        self.enter(some);
        let hidden = self.world.hide(index);
        self.jump(blocks_def, &[hidden, so_far]);

        let params = self.enter(blocks);
        let [first, so_far] = params[..] else { unreachable!("it was made with two") };
        let left_here = self.world.arith(ArithOp::Sub, strict, sum.n, first);
        let has_block = self.world.cmp(CmpOp::Ge, left_here, size);
        let [one, last] = self.branch(has_block, ["block", "last"]);
        self.enter(last);
        // The start of the tail is known if the bounds are, although the index of the loop is not.
        let n_blocks = self.world.arith(ArithOp::Div, strict, left, size);
        let done = self.world.arith(ArithOp::Mul, strict, n_blocks, size);
        let start = self.world.arith(ArithOp::Add, strict, index, done);
        self.jump(tail_def, &[start, so_far]);
        self.enter(one);
        self.block(sum, block, term, (first, so_far), blocks_def);
        self.tail(sum, term, tail);
    }

    /// The terms from the parameter of `tail` on, one by one.
    fn tail(&mut self, sum: &Sum<'_>, term: Def, tail: Cont) {
        let params = self.enter(tail);
        let [index, so_far] = params[..] else { unreachable!("it was made with two") };
        self.unfold_if_known(tail, &[index, sum.n]);
        let tail = self.world.cont_def(tail);
        self.one_term(sum, term, index, so_far, tail);
    }

    /// The terms of a block, unfolded; then the next block.
    fn block(&mut self, sum: &Sum<'_>, block: usize, term: Def, (first, so_far): (Def, Def), next: Def) {
        let (i32, ty) = (self.world.types.prim(Prim::I32), self.world.ty(so_far));
        let chain = self.new_block("chain", &[i32, ty]);
        let chain_def = self.world.cont_def(chain);
        let (zero, size) = (self.world.lit_i32(0), self.world.lit_i32(block as i32));
        self.jump(chain_def, &[zero, so_far]);
        let params = self.enter(chain);
        let [offset, so_far] = params[..] else { unreachable!("it was made with two") };
        self.unfold_if_known(chain, &[offset]);
        let goes_on = self.world.cmp(CmpOp::Lt, offset, size);
        let [more, end] = self.branch(goes_on, ["more", "end"]);
        self.enter(end);
        let first_of_next = self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, size);
        self.jump(next, &[first_of_next, so_far]);
        self.enter(more);
        let index = self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, offset);
        let value = self.call_term(term, index, ty);
        let so_far = self.accumulate(sum.ty, so_far, value);
        let offset = self.next_index(offset);
        self.jump(chain_def, &[offset, so_far]);
    }
}

/// The paper's N: how many terms a block has, for a limit of `most` leaves.
fn block_size(term: &Expr, most: usize, ranges: &mut Ranges) -> usize {
    (most / unrolled_leaves(term, most, ranges)).saturating_sub(1)
}

/// The leaves of an expression whose sums are unrolled.
pub(crate) fn unrolled_leaves(expr: &Expr, most: usize, ranges: &mut Ranges) -> usize {
    if let Op::Let(var, parts) = &expr.op {
        let value = unrolled_leaves(&parts[0], most, ranges);
        let range = ranges.of(&parts[0]);
        ranges.set(*var, range);
        return value + unrolled_leaves(&parts[1], most, ranges);
    }
    let Op::Sum(var, parts) = &expr.op else {
        let leaves = expr.parts().iter().map(|part| unrolled_leaves(part, most, ranges)).sum::<usize>();
        return leaves.clamp(1, most);
    };
    let n = ranges.terms(&parts[0], &parts[1]);
    let range = ranges.of_sum(&parts[0], &parts[1]);
    ranges.set(*var, range);
    let term = unrolled_leaves(&parts[2], most, ranges);
    let block = (most / term).saturating_sub(1);
    match n {
        _ if block <= 1 => term,
        Some(n) if n < block as u64 => (term * n as usize).clamp(1, most),
        _ => most,
    }
}
