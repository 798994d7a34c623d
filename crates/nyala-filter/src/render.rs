//! The program of a filter: the loops over the pixels around the code of one pixel.
//!
//! The program exports `render`, which computes all pixels: rows on several threads, and the pixels of a row as
//! SIMD lanes. It calls `filter`, whose sizes and frame are parameters. With specialization the arguments are
//! literals and a filter of `filter` says to specialize on them; without it they come from the caller. `loops` has
//! the loops for processors, `kernel` those for devices.

use std::ops::Range;

use nyala_ir::{ArithFlags, ArithOp, Cont, Def, Linkage, MathOp, Prim, Ty, World};

use crate::picture::{Boundary, Margin, Picture};
use crate::ranges::{self, Base, Inside, Known, Ranges, inside};
use crate::samples::LINE;
use crate::translate::{Image, Place, Setup, translate};
use crate::tree::{Expr, Filter, Op, Var};

/// Fewer pixels than this are a small picture: compilation takes longer than the run that it makes faster.
pub(crate) const SMALL: i64 = 256 * 256;

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
        self.margin.rows * self.margin.stride(self.setup.size.0 as usize) + self.margin.before_row()
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

/// The channels that code computes.
pub(crate) enum Channels {
    /// These, each by its own code.
    These(Range<usize>),
    /// The one with this number, which the code is the same for: this expression, whose variable `current` is the
    /// number.
    Any { number: Def, current: Var, expr: Expr },
}

impl Builder<'_> {
    pub(crate) fn int(&mut self) -> Ty {
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

    /// The function `filter`: the loops, or the launch of a kernel.
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
        self.loops(filter, mem, threads, ret, params);
        filter
    }

    /// The body of a work item: the channels of a pixel.
    pub(crate) fn pixel(&mut self, params: Params, start: (Cont, Def), ret: Def, row: Def, col: Def) {
        let channels = Channels::These(0..self.filter.channels.len());
        self.pixels(channels, params, start, ret, &[[row, col]]);
    }

    /// Computes some channels of some pixels of a column, from a block on. All of them are computed before the
    /// first one is stored, so that they share accesses.
    pub(crate) fn pixels(
        &mut self,
        channels: Channels,
        params: Params,
        start: (Cont, Def),
        ret: Def,
        pixels: &[[Def; 2]],
    ) {
        let (block, mut mem, stores) = self.intensities(channels, params, start, pixels);
        for (address, value) in stores {
            mem = self.world.store(mem, address, value);
        }
        self.world.set_body(block, ret, [mem]);
    }

    /// The intensities of some channels of some pixels of a column, rounded to integers, with the addresses that
    /// they are stored to.
    fn intensities(
        &mut self,
        channels: Channels,
        params: Params,
        start: (Cont, Def),
        pixels: &[[Def; 2]],
    ) -> (Cont, Def, Vec<(Def, Def)>) {
        let strict = ArithFlags::STRICT;
        let [width, height, _] = params.sizes;
        let margin = self.target.margin;
        let rows = self.world.lit_i32(2 * margin.rows as i32);
        let stride = self.stride(width);
        let all_rows = self.world.arith(ArithOp::Add, strict, height, rows);
        let plane = self.world.arith(ArithOp::Mul, strict, stride, all_rows);
        let Params { src: first, fault, sizes, .. } = params;
        let mut ranges = Ranges::new(self.filter, self.target.known());
        let (numbers, exprs, current) = self.code_of(channels, &mut ranges);
        let place = Place { image: Image::Planes { first, fault }, sizes, current, stride, plane };
        let filter = Filter { channels: exprs, ..self.filter.clone() };
        let (block, mem, values) =
            translate(self.world, &filter, self.target.setup, ranges, place, pixels, start);
        let mut stores = vec![];
        for (channel, values) in numbers.into_iter().zip(values) {
            let before = self.world.arith(ArithOp::Mul, strict, channel, plane);
            for (&[row, col], value) in pixels.iter().zip(values) {
                let value = self.quantized(value);
                let start = self.world.arith(ArithOp::Mul, strict, row, stride);
                let first = self.world.arith(ArithOp::Add, strict, start, col);
                let index = self.world.arith(ArithOp::Add, strict, before, first);
                stores.push((self.world.lea(params.dst, index), value));
            }
        }
        (block, mem, stores)
    }

    /// The distance between rows of this many pixels, as [`Margin::stride`] computes it.
    fn stride(&mut self, width: Def) -> Def {
        let (strict, margin) = (ArithFlags::STRICT, self.target.margin);
        let beside = (margin.before_row() + margin.cols + LINE - 1) as i32;
        let (beside, line) = (self.world.lit_i32(beside), self.world.lit_i32(LINE as i32));
        let end = self.world.arith(ArithOp::Add, strict, width, beside);
        let n_lines = self.world.arith(ArithOp::Div, strict, end, line);
        self.world.arith(ArithOp::Mul, strict, n_lines, line)
    }

    /// The numbers of channels, their expressions, and `current` if one expression is for any of them.
    fn code_of(
        &mut self,
        channels: Channels,
        ranges: &mut Ranges,
    ) -> (Vec<Def>, Vec<Expr>, Option<(Var, Def)>) {
        match channels {
            Channels::These(numbers) => {
                let exprs = self.filter.channels[numbers.clone()].to_vec();
                (numbers.map(|number| self.world.lit_i32(number as i32)).collect(), exprs, None)
            }
            Channels::Any { number, current, expr } => {
                let high = self.filter.channels.len() as i64 - 1;
                ranges.set(current, Some(ranges::Range { base: Base::Zero, low: 0, high }));
                (vec![number], vec![expr], Some((current, number)))
            }
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
