//! The loops over the pixels on processors: rows on threads, channels, and columns as SIMD lanes.

use std::ops::Range;

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Intrinsic, Ty};

use crate::ranges::Ranges;
use crate::render::{Builder, Channels, Params, SMALL};
use crate::sums::unrolled_leaves;
use crate::translate::Setup;
use crate::tree::{Expr, Filter};

/// The number of SIMD lanes: two registers of AVX2.
const LANES: i32 = 16;

/// How many rows a loop computes at once, if its code is short enough.
const ROWS_AT_ONCE: [i32; 2] = [4, 2];

/// A loop that computes several rows has fewer leaves than this.
const MAX_LEAVES: usize = 1024;

/// A loop that is not inside of another one.
struct Loop {
    /// Its body; the parameter is memory.
    body: Cont,
    /// The index, from 0 on.
    index: Def,
    /// What the body continues with.
    next: Def,
}

/// The rows that a loop computes: the first one, and how many.
type Rows = (Def, i32);

impl Builder<'_> {
    /// Ends `filter` with the loops.
    pub(crate) fn loops(&mut self, filter: Cont, mem: Def, threads: Def, ret: Def, params: Params) {
        let [_, height, _] = params.sizes;
        let body_types = self.body_types();
        let parallel = self.intrinsic(Intrinsic::Parallel);
        let rows = self.world.new_cont("row", &body_types);
        let (rows_def, zero) = (self.world.cont_def(rows), self.world.lit_i32(0));
        let at_once = self.rows_at_once();
        let n_blocks = self.blocks_of_rows(height, at_once);
        self.world.set_body(filter, parallel, [mem, threads, zero, n_blocks, rows_def, ret]);
        let [mem, block, ret] = self.world.cont(rows).params[..] else {
            unreachable!("it was made with three")
        };
        let first = self.first_row(block, height, at_once);
        self.world.set_name(first, "row");
        self.channels(params, (first, at_once), (rows, mem), ret);
    }

    /// `(mem, index, ret)`
    fn body_types(&mut self) -> [Ty; 3] {
        let (mem, int) = (self.world.types.mem(), self.int());
        [mem, int, self.world.types.cn(&[mem])]
    }

    /// `parallel` or `vectorize`.
    fn intrinsic(&mut self, intrinsic: Intrinsic) -> Def {
        let types = self.body_types();
        let [mem, int, done] = types;
        let body = self.world.types.cn(&types);
        self.world.declare_intrinsic(intrinsic, &[mem, int, int, int, body, done])
    }

    /// Computes the channels of some rows. A loop over the columns for each channel accesses fewer rows of the
    /// picture at a time, which matters if that is not in a cache. But it computes common definitions again, so
    /// these have to be small. The code of a small picture takes longer to compile than to run, so all channels
    /// have one loop over the columns, unless they have the same code.
    fn channels(&mut self, params: Params, rows: Rows, start: (Cont, Def), ret: Def) {
        let n_channels = self.filter.channels.len();
        let has_own_loops = self.has_small_definitions();
        if has_own_loops && let Some((current, expr)) = self.filter.of_any_channel() {
            let count = self.world.lit_i32(n_channels as i32);
            let Loop { body, index, next } = self.counted("channels", start, count, ret);
            let channels = Channels::Any { number: index, current, expr: expr.clone() };
            let mem = self.world.param(body, 0);
            return self.columns(channels, params, rows, (body, mem), next);
        }
        let group = if has_own_loops && !self.is_small() { 1 } else { n_channels };
        let groups: Vec<Range<usize>> =
            (0..n_channels).step_by(group).map(|first| first..first + group).collect();
        let mem_ty = self.world.types.mem();
        let mut before = start;
        for channels in groups {
            let next = self.world.new_cont("channel", &[mem_ty]);
            let after = if channels.end == n_channels { ret } else { self.world.cont_def(next) };
            self.columns(Channels::These(channels), params, rows, before, after);
            before = (next, self.world.param(next, 0));
        }
    }

    /// A loop over the columns.
    fn columns(&mut self, channels: Channels, params: Params, rows: Rows, start: (Cont, Def), after: Def) {
        let [width, _, _] = params.sizes;
        let body_types = self.body_types();
        let vectorize = self.intrinsic(Intrinsic::Vectorize);
        let (zero, lanes) = (self.world.lit_i32(0), self.world.lit_i32(LANES));
        let pixel = self.world.new_cont("pixel", &body_types);
        let pixel_def = self.world.cont_def(pixel);
        let [mem, lane, ret] = self.world.cont(pixel).params[..] else {
            unreachable!("it was made with three")
        };
        let col = if self.has_whole_groups() {
            let (group, first, next) = self.groups_of_columns(start, width, after);
            let mem = self.world.param(group, 0);
            self.world.set_body(group, vectorize, [mem, lanes, zero, lanes, pixel_def, next]);
            self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, lane)
        } else {
            self.world.set_body(start.0, vectorize, [start.1, lanes, zero, width, pixel_def, after]);
            lane
        };
        self.world.set_name(col, "col");
        let (first, n_rows) = rows;
        let pixels = (0..n_rows).map(|index| {
            let index = self.world.lit_i32(index);
            [self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, index), col]
        });
        let pixels: Vec<[Def; 2]> = pixels.collect();
        self.pixels(channels, params, (pixel, mem), ret, &pixels);
    }

    /// How many rows a loop computes: several share the pixels that they access. That needs accesses to other rows,
    /// and code without loops, which is not long.
    fn rows_at_once(&self) -> i32 {
        let Setup { size, specialize, .. } = self.target.setup;
        let shares = specialize && self.target.margin.rows > 0 && !self.is_small();
        let mut ranges = Ranges::new(self.filter, self.target.known());
        let leaves = self.filter.exprs().map(|expr| unrolled_leaves(expr, MAX_LEAVES, &mut ranges));
        let leaves = leaves.max().unwrap_or(0);
        let fits = |n_rows: &i32| *n_rows <= size.1 && leaves * (*n_rows as usize) < MAX_LEAVES;
        ROWS_AT_ONCE.into_iter().find(fits).filter(|_| shares).unwrap_or(1)
    }

    /// How many blocks of rows the picture has.
    fn blocks_of_rows(&mut self, height: Def, at_once: i32) -> Def {
        let (more, at_once) = (self.world.lit_i32(at_once - 1), self.world.lit_i32(at_once));
        let rows = self.world.arith(ArithOp::Add, ArithFlags::STRICT, height, more);
        self.world.arith(ArithOp::Div, ArithFlags::STRICT, rows, at_once)
    }

    /// The first row of a block. The last block may begin in the one before: some rows are computed twice, and both
    /// threads store the same values.
    fn first_row(&mut self, block: Def, height: Def, at_once: i32) -> Def {
        if at_once == 1 {
            return block;
        }
        let at_once = self.world.lit_i32(at_once);
        let row = self.world.arith(ArithOp::Mul, ArithFlags::STRICT, block, at_once);
        let last = self.world.arith(ArithOp::Sub, ArithFlags::STRICT, height, at_once);
        let is_inside = self.world.cmp(CmpOp::Lt, row, last);
        self.world.select(is_inside, row, last)
    }

    /// Whether rows of a small picture are cut into whole groups of lanes, which is less code than a group with a
    /// mask besides.
    fn has_whole_groups(&self) -> bool {
        self.target.setup.specialize && self.is_small() && self.target.setup.size.0 >= LANES
    }

    /// A loop over the groups of columns of a row: the block for a group, its first column, and what it continues
    /// with. The last group may begin in the one before: both store the same values.
    fn groups_of_columns(&mut self, start: (Cont, Def), width: Def, after: Def) -> (Cont, Def, Def) {
        let strict = ArithFlags::STRICT;
        let (lanes, rest) = (self.world.lit_i32(LANES), self.world.lit_i32(LANES - 1));
        let count = self.world.arith(ArithOp::Add, strict, width, rest);
        let count = self.world.arith(ArithOp::Div, strict, count, lanes);
        let Loop { body, index, next } = self.counted("columns", start, count, after);
        let first = self.world.arith(ArithOp::Mul, strict, index, lanes);
        let last = self.world.arith(ArithOp::Sub, strict, width, lanes);
        let is_before_last = self.world.cmp(CmpOp::Lt, first, last);
        (body, self.world.select(is_before_last, first, last), next)
    }

    /// A loop with this number of rounds.
    fn counted(&mut self, name: &str, (before, mem): (Cont, Def), count: Def, after: Def) -> Loop {
        let (mem_ty, int) = (self.world.types.mem(), self.int());
        let (zero, one) = (self.world.lit_i32(0), self.world.lit_i32(1));
        let head = self.world.new_cont(name, &[mem_ty, int]);
        let [body, step, end] = ["body", "step", "end"].map(|name| self.world.new_cont(name, &[mem_ty]));
        let [head_def, body_def, next, end_def] =
            [head, body, step, end].map(|cont| self.world.cont_def(cont));
        self.world.set_body(before, head_def, [mem, zero]);
        let (mem, index) = (self.world.param(head, 0), self.world.param(head, 1));
        let goes_on = self.world.cmp(CmpOp::Lt, index, count);
        self.world.set_branch(head, mem, goes_on, body_def, end_def);
        let following = self.world.arith(ArithOp::Add, ArithFlags::STRICT, index, one);
        self.world.set_body(step, head_def, [self.world.param(step, 0), following]);
        self.world.set_body(end, after, [self.world.param(end, 0)]);
        Loop { body, index, next }
    }

    fn is_small(&self) -> bool {
        let (width, height) = self.target.setup.size;
        i64::from(width) * i64::from(height) < SMALL
    }

    /// Whether the common definitions of a pixel are smaller than its channels. Definitions that are the same in a
    /// whole row are computed outside of the loops over the columns.
    fn has_small_definitions(&self) -> bool {
        let Filter { lets, channels, .. } = self.filter;
        let mut ranges = Ranges::new(self.filter, self.target.known());
        let mut leaves = |expr: &Expr| unrolled_leaves(expr, self.target.setup.unroll_leaves, &mut ranges);
        let varying = self.filter.varying();
        let mut common = 0;
        for (var, value) in lets {
            let size = leaves(value);
            if varying.contains(var) {
                common += size;
            }
        }
        let own: usize = channels.iter().map(leaves).sum();
        common <= own
    }
}
