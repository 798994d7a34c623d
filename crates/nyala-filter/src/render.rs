//! The program of a filter: the loops over the pixels around the code of one pixel.
//!
//! The program exports `render`, which computes all pixels: rows on several threads, and the pixels of a row as SIMD
//! lanes. It calls `filter`, whose sizes and frame are parameters. With specialization the arguments are literals and a
//! filter of `filter` says to specialize on them; without it they come from the caller. `kernel` has the loops for devices.

use std::ops::Range;

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, Intrinsic, Linkage, MathOp, Prim, Ty, World};

use crate::picture::{Boundary, Margin, Picture};
use crate::ranges::{Base, Inside, Known, Ranges, inside};
use crate::sums::unrolled_leaves;
use crate::translate::{Image, Place, Setup, translate};
use crate::tree::{Expr, Filter, Op, Var};

/// The number of SIMD lanes: two registers of AVX2.
const LANES: i32 = 16;

/// Fewer pixels than this are a small picture: compilation takes longer than the run that it makes faster.
pub(crate) const SMALL: i64 = 256 * 256;

/// Filters with an expression of as many leaves compute one row at a time.
const MAX_SHARING: usize = 512;

/// The symbol of the exported function.
pub const SYMBOL: &str = "render";

/// Where pixels are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The first device of OpenCL.
    OpenCl,
    /// The first GPU of CUDA.
    Cuda,
}

/// What a program is made for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Target {
    /// The options of the translation.
    pub setup: Setup,
    /// The margin of the pictures.
    pub margin: Margin,
    /// The largest integer intensity.
    pub max_value: u16,
    /// The number of the frame; none if the program is for all frames.
    pub iter: Option<i32>,
    /// Where pixels are computed.
    pub device: Device,
}

impl Target {
    /// The target for a picture.
    pub fn new(filter: &Filter, picture: &Picture, setup: Setup, iter: Option<i32>) -> Target {
        let known = Known { width: setup.size.0, height: setup.size.1, iter };
        let margin = margin(filter, setup.rules.boundary, known);
        Target { setup, margin, max_value: picture.max_value, iter, device: Device::Cpu }
    }

    /// The same target on another device.
    #[must_use]
    pub fn on(self, device: Device) -> Target {
        Target { device, ..self }
    }

    /// The index of the first pixel in a picture with its margin.
    pub(crate) fn first_pixel(&self) -> usize {
        let Margin { rows, cols } = self.margin;
        rows * (self.setup.size.0 as usize + 2 * cols) + cols
    }

    pub(crate) fn known(&self) -> Known {
        Known { width: self.setup.size.0, height: self.setup.size.1, iter: self.iter }
    }
}

/// The margin that the accesses of a filter need.
fn margin(filter: &Filter, boundary: Boundary, known: Known) -> Margin {
    let mut margin = Margin::default();
    if boundary == Boundary::Error {
        return margin;
    }
    Ranges::new(filter, known).visit(filter, &mut |ranges, expr| {
        let Op::Image(parts) = &expr.op else { return };
        let row = inside(ranges.of(&parts[0]), Base::Row, known.height);
        let col = inside(ranges.of(&parts[1]), Base::Col, known.width);
        if let Inside::Margin(rows) = row {
            margin.rows = margin.rows.max(rows as usize);
        }
        if let Inside::Margin(cols) = col {
            margin.cols = margin.cols.max(cols as usize);
        }
    });
    margin
}

/// The program of a filter.
pub fn program(filter: &Filter, target: &Target) -> World {
    let mut world = World::new();
    let mut builder = Builder { filter, target, world: &mut world };
    builder.render();
    world
}

pub(crate) struct Builder<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) target: &'a Target,
    pub(crate) world: &'a mut World,
}

/// The parameters of `filter` that its loops use.
#[derive(Clone, Copy)]
pub(crate) struct Params {
    pub(crate) src: Def,
    pub(crate) dst: Def,
    pub(crate) fault: Def,
    pub(crate) sizes: [Def; 3],
}

impl Builder<'_> {
    fn int(&mut self) -> Ty {
        self.world.types.prim(Prim::I32)
    }

    fn slice(&mut self, prim: Prim) -> Ty {
        let elem = self.world.types.prim(prim);
        let slice = self.world.types.slice(elem);
        self.world.types.ptr(slice, 0)
    }

    /// `(mem, picture, result, fault, threads, width, height, iter, ret)`
    fn signature(&mut self) -> Vec<Ty> {
        let (mem, int) = (self.world.types.mem(), self.int());
        let (samples, flag) = (self.slice(Prim::F32), self.slice(Prim::I32));
        let ret = self.world.types.cn(&[mem]);
        vec![mem, samples, samples, flag, int, int, int, int, ret]
    }

    fn render(&mut self) {
        let signature = self.signature();
        let render = self.world.new_cont(SYMBOL, &signature);
        self.world.set_linkage(render, Linkage::Exported(SYMBOL.into()));
        let filter = self.whole_picture(&signature);
        let mut args: Vec<Def> = self.world.cont(render).params.to_vec();
        if self.target.setup.specialize {
            let known = self.target.known();
            args[5] = self.world.lit_i32(known.width);
            args[6] = self.world.lit_i32(known.height);
            if let Some(iter) = known.iter {
                args[7] = self.world.lit_i32(iter);
            }
            let (yes, no) = (self.world.lit_bool(true), self.world.lit_bool(false));
            let known_iter = if known.iter.is_some() { yes } else { no };
            self.world.set_filter(filter, [no, no, no, no, no, yes, yes, known_iter, no]);
        }
        let filter = self.world.cont_def(filter);
        self.world.set_body(render, filter, args);
    }

    /// The function `filter`: rows on threads.
    fn whole_picture(&mut self, signature: &[Ty]) -> Cont {
        let filter = self.world.new_cont("filter", signature);
        let params = self.world.cont(filter).params.to_vec();
        let [mem, src, dst, fault, threads, width, height, iter, ret] = params[..] else {
            unreachable!("it was made with nine")
        };
        let params = Params { src, dst, fault, sizes: [width, height, iter] };
        if self.target.device != Device::Cpu {
            self.launch(filter, mem, ret, params);
            return filter;
        }
        let (mem_ty, int) = (self.world.types.mem(), self.int());
        let done = self.world.types.cn(&[mem_ty]);
        let body = self.world.types.cn(&[mem_ty, int, done]);
        let parallel =
            self.world.declare_intrinsic(Intrinsic::Parallel, &[mem_ty, int, int, int, body, done]);
        let vectorize =
            self.world.declare_intrinsic(Intrinsic::Vectorize, &[mem_ty, int, int, int, body, done]);
        let (zero, lanes) = (self.world.lit_i32(0), self.world.lit_i32(LANES));
        let row_body = self.world.new_cont("row", &[mem_ty, int, done]);
        let row_def = self.world.cont_def(row_body);
        let at_once = self.rows_at_once();
        let n_blocks = self.blocks_of_rows(height, at_once);
        self.world.set_body(filter, parallel, [mem, threads, zero, n_blocks, row_def, ret]);
        let (block, row_ret) = (self.world.param(row_body, 1), self.world.param(row_body, 2));
        let row = self.first_row(block, height, at_once);
        self.world.set_name(row, "row");
        let groups = self.channel_groups();
        let mut before = row_body;
        for (index, group) in groups.iter().enumerate() {
            let pixel_body = self.world.new_cont("pixel", &[mem_ty, int, done]);
            let (pixel_def, lane) = (self.world.cont_def(pixel_body), self.world.param(pixel_body, 1));
            let next = self.world.new_cont("channel", &[mem_ty]);
            let is_last = index + 1 == groups.len();
            let after = if is_last { row_ret } else { self.world.cont_def(next) };
            let mem = self.world.param(before, 0);
            let col = if self.has_whole_groups() {
                let (group, first, next) = self.groups_of_columns((before, mem), width, after);
                let mem = self.world.param(group, 0);
                self.world.set_body(group, vectorize, [mem, lanes, zero, lanes, pixel_def, next]);
                self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, lane)
            } else {
                self.world.set_body(before, vectorize, [mem, lanes, zero, width, pixel_def, after]);
                lane
            };
            self.world.set_name(col, "col");
            let (mem, ret) = (self.world.param(pixel_body, 0), self.world.param(pixel_body, 2));
            self.pixels(group.clone(), params, (pixel_body, mem), ret, (row, at_once), col);
            before = next;
        }
        filter
    }

    /// How many rows a loop computes: two share the pixels that both access. That needs accesses to other rows, and code without loops,
    /// which is not long.
    fn rows_at_once(&self) -> i32 {
        let Setup { size, specialize, .. } = self.target.setup;
        let mut ranges = Ranges::new(self.filter, self.target.known());
        let mut leaves = |expr: &Expr| unrolled_leaves(expr, MAX_SHARING, &mut ranges);
        let is_short = self.filter.exprs().map(&mut leaves).all(|leaves| leaves < MAX_SHARING);
        let shares = specialize && self.target.margin.rows > 0 && size.1 > 1;
        if shares && is_short && !self.is_small() { 2 } else { 1 }
    }

    /// How many blocks of rows the picture has.
    fn blocks_of_rows(&mut self, height: Def, at_once: i32) -> Def {
        let (more, at_once) = (self.world.lit_i32(at_once - 1), self.world.lit_i32(at_once));
        let rows = self.world.arith(ArithOp::Add, ArithFlags::STRICT, height, more);
        self.world.arith(ArithOp::Div, ArithFlags::STRICT, rows, at_once)
    }

    /// The first row of a block. The last block may begin in the one before: its first row is computed twice, and both threads store the
    /// same values.
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

    /// Whether rows of a small picture are cut into whole groups of lanes, which is less code than a group with a mask besides.
    fn has_whole_groups(&self) -> bool {
        self.target.setup.specialize && self.is_small() && self.target.setup.size.0 >= LANES
    }

    /// A loop over the groups of columns of a row: the block for a group, its first column, and what it continues with. The last group may begin in
    /// the one before: both store the same values.
    fn groups_of_columns(&mut self, (before, mem): (Cont, Def), width: Def, after: Def) -> (Cont, Def, Def) {
        let (mem_ty, int, strict) = (self.world.types.mem(), self.int(), ArithFlags::STRICT);
        let (zero, one, lanes) = (self.world.lit_i32(0), self.world.lit_i32(1), self.world.lit_i32(LANES));
        let columns = self.world.new_cont("columns", &[mem_ty, int]);
        let [group, next, end] = ["group", "next", "end"].map(|name| self.world.new_cont(name, &[mem_ty]));
        let [columns_def, group_def, next_def, end_def] =
            [columns, group, next, end].map(|cont| self.world.cont_def(cont));
        self.world.set_body(before, columns_def, [mem, zero]);
        let number = self.world.param(columns, 1);
        let start = self.world.arith(ArithOp::Mul, strict, number, lanes);
        let is_inside = self.world.cmp(CmpOp::Lt, start, width);
        self.world.set_branch(columns, self.world.param(columns, 0), is_inside, group_def, end_def);
        let following = self.world.arith(ArithOp::Add, strict, number, one);
        self.world.set_body(next, columns_def, [self.world.param(next, 0), following]);
        self.world.set_body(end, after, [self.world.param(end, 0)]);
        let last = self.world.arith(ArithOp::Sub, strict, width, lanes);
        let is_before_last = self.world.cmp(CmpOp::Lt, start, last);
        let first = self.world.select(is_before_last, start, last);
        (group, first, next_def)
    }

    fn is_small(&self) -> bool {
        let (width, height) = self.target.setup.size;
        i64::from(width) * i64::from(height) < SMALL
    }

    /// The channels that one loop computes. A loop for each accesses fewer rows at a time, which matters if the picture is not in a cache.
    /// But it computes common definitions again, so these have to be small.
    fn channel_groups(&self) -> Vec<Range<usize>> {
        let n_channels = self.filter.channels.len();
        let group = if self.has_small_definitions() { 1 } else { n_channels };
        (0..n_channels).step_by(group).map(|first| first..first + group).collect()
    }

    /// Whether the picture is not small, and the common definitions of a pixel are smaller than its channels. Definitions that are the same
    /// in a whole row are computed outside of the loops.
    fn has_small_definitions(&self) -> bool {
        let Filter { lets, channels, .. } = self.filter;
        let mut ranges = Ranges::new(self.filter, self.target.known());
        let mut leaves = |expr: &Expr| unrolled_leaves(expr, self.target.setup.unroll_leaves, &mut ranges);
        let (mut of_pixel, mut common) = (vec![Var::COL], 0);
        for (var, value) in lets {
            let is_of_pixel = value.any(&|part| match &part.op {
                Op::Image(_) | Op::Sum(..) => true,
                Op::Var(var) => of_pixel.contains(var),
                _ => false,
            });
            let size = leaves(value);
            if is_of_pixel {
                of_pixel.push(*var);
                common += size;
            }
        }
        let own: usize = channels.iter().map(leaves).sum();
        !self.is_small() && common <= own
    }

    /// The body of a loop over the columns, from a block on: some channels of the pixels of one or more rows. All of them are computed before
    /// the first one is stored, so that they share accesses.
    fn pixels(
        &mut self,
        group: Range<usize>,
        params: Params,
        start: (Cont, Def),
        ret: Def,
        (first, n_rows): (Def, i32),
        col: Def,
    ) {
        let (mut at, mut stores) = (start, vec![]);
        for index in 0..n_rows {
            let index = self.world.lit_i32(index);
            let row = self.world.arith(ArithOp::Add, ArithFlags::STRICT, first, index);
            self.intensities(group.clone(), params, &mut at, [row, col], &mut stores);
        }
        let (block, mut mem) = at;
        for (address, value) in stores {
            mem = self.world.store(mem, address, value);
        }
        self.world.set_body(block, ret, [mem]);
    }

    /// The body of a work item: the channels of a pixel.
    pub(crate) fn pixel(&mut self, params: Params, start: (Cont, Def), ret: Def, row: Def, col: Def) {
        self.pixels(0..self.filter.channels.len(), params, start, ret, (row, 1), col);
    }

    /// The intensities of some channels of a pixel, rounded to integers, with the addresses that they are stored to.
    fn intensities(
        &mut self,
        group: Range<usize>,
        params: Params,
        at: &mut (Cont, Def),
        pixel: [Def; 2],
        stores: &mut Vec<(Def, Def)>,
    ) {
        let strict = ArithFlags::STRICT;
        let [width, height, _] = params.sizes;
        let Margin { rows, cols } = self.target.margin;
        let (rows, cols) = (self.world.lit_i32(2 * rows as i32), self.world.lit_i32(2 * cols as i32));
        let stride = self.world.arith(ArithOp::Add, strict, width, cols);
        let all_rows = self.world.arith(ArithOp::Add, strict, height, rows);
        let plane = self.world.arith(ArithOp::Mul, strict, stride, all_rows);
        let Params { src: first, fault, sizes, .. } = params;
        let place = Place { image: Image::Planes { first, fault }, pixel, sizes, stride, plane };
        let ranges = Ranges::new(self.filter, self.target.known());
        let filter = Filter { channels: self.filter.channels[group.clone()].to_vec(), ..self.filter.clone() };
        let (block, mem, values) = translate(self.world, &filter, self.target.setup, ranges, place, *at);
        *at = (block, mem);
        let [row, col] = pixel;
        let start = self.world.arith(ArithOp::Mul, strict, row, stride);
        let first = self.world.arith(ArithOp::Add, strict, start, col);
        for (channel, value) in group.zip(values) {
            let value = self.quantized(value);
            let channel = self.world.lit_i32(channel as i32);
            let before = self.world.arith(ArithOp::Mul, strict, channel, plane);
            let index = self.world.arith(ArithOp::Add, strict, before, first);
            stores.push((self.world.lea(params.dst, index), value));
        }
    }

    /// The nearest intensity that an integer stands for, as [`Picture::set`] computes it.
    fn quantized(&mut self, value: Def) -> Def {
        let max = f32::from(self.target.max_value);
        let strict = ArithFlags::STRICT;
        let mut lit = |value: f32| self.world.lit(Prim::F32, u64::from(value.to_bits()));
        let (zero, one, half, max, scale) = (lit(0.0), lit(1.0), lit(0.5), lit(max), lit(1.0 / max));
        let value = self.world.math(MathOp::Fmax, strict, &[value, zero]);
        let value = self.world.math(MathOp::Fmin, strict, &[value, one]);
        let level = self.world.arith(ArithOp::Mul, strict, value, max);
        let level = self.world.arith(ArithOp::Add, strict, level, half);
        let level = self.world.math(MathOp::Floor, strict, &[level]);
        self.world.arith(ArithOp::Mul, strict, level, scale)
    }
}
