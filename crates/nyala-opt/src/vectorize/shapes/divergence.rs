//! The fixed-point iteration of the divergence analysis.
//!
//! Shapes start at uniform and only rise. Each round first computes the shapes of values, then the
//! divergence of control flow that follows from them, which may raise shapes again.

use nyala_ir::analysis::Number;
use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::{Def, Node, World};
use rustc_hash::FxHashMap;

use super::{Shape, Shapes, Wraps, data_params};
use crate::vectorize::calls;
use crate::vectorize::flow::{End, Flow};
use crate::vectorize::strides::{self, Known, Lanes};

/// Raises shapes and marks divergent control flow until nothing changes.
pub(super) fn analyze(world: &World, flow: &Flow, shapes: Shapes) -> Shapes {
    let mut analysis = Analysis { world, flow, shapes, changed: true };
    while std::mem::take(&mut analysis.changed) {
        analysis.values();
        analysis.control();
    }
    analysis.shapes
}

struct Analysis<'a> {
    world: &'a World,
    flow: &'a Flow,
    shapes: Shapes,
    changed: bool,
}

// ---- Values ----------------------------------------------------------------------

impl Analysis<'_> {
    fn values(&mut self) {
        for &vertex in self.flow.order.iter().filter(|&&vertex| vertex < self.flow.blocks.len()) {
            for &def in self.flow.schedule.block(vertex) {
                if let Some(shape) = self.operation(def, vertex) {
                    self.raise(def, shape);
                    let number = Number::of(self.world, def, &mut |of| self.shapes.number(self.world, of));
                    self.widen(def, number);
                }
            }
            self.propagate(vertex);
        }
    }

    /// Raises the shape of `def` to at least `shape`.
    fn raise(&mut self, def: Def, shape: Shape) {
        let old = self.shapes.shapes.get(&def).copied();
        let new = old.map_or(shape, |old| old.or(shape));
        if old != Some(new) {
            self.shapes.shapes.insert(def, new);
            self.changed = true;
        }
    }

    /// Widens the range of `def` to include `number`.
    fn widen(&mut self, def: Def, number: Number) {
        let ty = self.world.ty(def);
        let old = self.shapes.numbers.get(&def).copied();
        let new = old.map_or(number, |old| old.or(number)).within(self.world, ty);
        if old != Some(new) {
            self.shapes.numbers.insert(def, new);
            self.changed = true;
        }
    }

    /// Passes shapes from the terminator of a block to the parameters of its successor.
    fn propagate(&mut self, block: usize) {
        match &self.flow.ends[block] {
            End::Jump { target, args } => {
                let shapes: Vec<Option<Shape>> = args.iter().map(|&arg| self.known(arg, block)).collect();
                self.join_shapes(block, *target, &shapes);
                self.join_ranges(*target, args);
            }
            End::Call { callee, args, next: Some(next) } => {
                let shapes: Vec<Option<Shape>> = args.iter().map(|&arg| self.known(arg, block)).collect();
                if let Some(shapes) = shapes.into_iter().collect::<Option<Vec<Shape>>>() {
                    let result = calls::result_shape(self.world, self.flow, *callee, &shapes);
                    let n_results = self.n_params(*next);
                    self.join_shapes(block, *next, &vec![Some(result); n_results]);
                }
            }
            _ => {}
        }
    }

    fn n_params(&self, vertex: usize) -> usize {
        self.flow.blocks.get(vertex).map_or(0, |&block| data_params(self.world, block).len())
    }

    /// Passes the ranges of arguments to parameters.
    fn join_ranges(&mut self, target: usize, args: &[Def]) {
        let Some(&block) = self.flow.blocks.get(target) else { return };
        for (param, &arg) in data_params(self.world, block).into_iter().zip(args) {
            if self.shapes.numbers.contains_key(&arg) || !self.shapes.homes.contains_key(&arg) {
                self.widen(param, self.shapes.number(self.world, arg));
            }
        }
    }

    fn join_shapes(&mut self, from: usize, target: usize, shapes: &[Option<Shape>]) {
        let Some(&block) = self.flow.blocks.get(target) else { return };
        let exits_divergent =
            self.flow.exited_loops(from, target).any(|inner| self.shapes.divergent_loops[inner]);
        let arrival = self.flow.route(from, target);
        for (index, (param, shape)) in data_params(self.world, block).into_iter().zip(shapes).enumerate() {
            let is_blend = self.shapes.joins[arrival] && self.shapes.differing.contains(&(arrival, index));
            if let Some(shape) = *shape {
                self.raise(param, if is_blend || exits_divergent { Shape::Varying } else { shape });
            }
        }
    }

    /// The shape of an operand; none if it is not computed yet.
    fn known(&self, def: Def, block: usize) -> Option<Shape> {
        if self.shapes.exited_loop(self.flow, def, block).is_some() {
            return Some(Shape::Varying);
        }
        match self.shapes.homes.contains_key(&def) {
            true => self.shapes.shapes.get(&def).copied(),
            false => Some(Shape::Uniform),
        }
    }

    fn operation(&self, def: Def, block: usize) -> Option<Shape> {
        let world = self.world;
        let known =
            |def: Def| Some(Known { shape: self.known(def, block)?, number: self.shapes.number(world, def) });
        Some(match world.node(def) {
            Node::Slot { .. } if self.shapes.is_private(def) => Shape::Uniform,
            Node::Slot { .. } => {
                let pointer = world.types.part(world.ty(def), 1).and_then(|ptr| world.types.as_ptr(ptr));
                let size = pointer.map_or(0, |(pointee, _)| world.layout(pointee).size);
                Shape::strided(size as i64, Wraps::Never)
            }
            Node::Load { ptr, .. } => match self.known(ptr, block)? {
                Shape::Uniform if !self.shapes.is_private(ptr) => Shape::Uniform,
                _ => Shape::Varying,
            },
            Node::Alloc { .. } => Shape::Varying,
            Node::Extract { agg, .. } if has_effect(world, agg) => self.known(agg, block)?,
            Node::Extract { agg, index } if self.known(agg, block) == Some(Shape::Uniform) => {
                let index = known(index)?;
                match self.shapes.of_elements(world, agg, index) {
                    Some(shape) => shape,
                    None if index.shape == Shape::Uniform => Shape::Uniform,
                    None => Shape::Varying,
                }
            }
            Node::Hide(value) | Node::Streaming(value) => self.known(value, block)?,
            Node::Arith { op, flags, lhs, rhs } => {
                let (a, b) = (known(lhs)?, known(rhs)?);
                let lanes = Lanes { count: self.shapes.n_lanes, is_partial: self.shapes.partial[block] };
                match world.types.as_prim(world.ty(def)).filter(|prim| prim.is_int()) {
                    Some(prim) => strides::arith(lanes, prim, op, flags, a, b),
                    None if (a.shape, b.shape) == (Shape::Uniform, Shape::Uniform) => Shape::Uniform,
                    None => Shape::Varying,
                }
            }
            Node::Cast(value) | Node::Bitcast(value) => {
                let is_cast = matches!(world.node(def), Node::Cast(_));
                strides::convert(world, world.ty(value), world.ty(def), is_cast, known(value)?)
            }
            Node::Lea { ptr, index } if !self.shapes.is_private(def) => {
                let (base, at) = (known(ptr)?, known(index)?);
                let pointee = world.types.as_ptr(world.ty(ptr)).map(|(pointee, _)| pointee);
                match pointee.and_then(|pointee| world.types.elem(pointee)) {
                    Some(elem) => {
                        strides::element(world, elem, world.ty(index), base, at).unwrap_or(Shape::Varying)
                    }
                    None => base.shape,
                }
            }
            Node::Select { cond, then, other } => match self.known(cond, block)? {
                Shape::Uniform => self.known(then, block)?.or(self.known(other, block)?),
                _ => Shape::Varying,
            },
            _ => {
                let mut shape = Some(Shape::Uniform);
                world.for_each_operand(def, |operand| {
                    let is_mem = world.ty(operand) == world.types.mem();
                    if !is_mem && shape.is_some() && shape != Some(Shape::Varying) {
                        shape = self.known(operand, block).map(|known| match known {
                            Shape::Uniform => Shape::Uniform,
                            _ => Shape::Varying,
                        });
                    }
                });
                shape?
            }
        })
    }
}

// ---- Control ----------------------------------------------------------------------

impl Analysis<'_> {
    fn control(&mut self) {
        for block in 0..self.flow.blocks.len() {
            if self.shapes.diverges(self.flow, block) {
                let targets = self.flow.ends[block].targets();
                for &target in &targets {
                    self.mark_exited_loops(block, target, |_| true);
                }
                let sources: Vec<usize> =
                    targets.into_iter().map(|target| self.flow.route(block, target)).collect();
                self.propagate_divergence(self.flow.innermost(block), &sources);
            }
        }
        for inner in 0..self.shapes.divergent_loops.len() {
            if self.shapes.divergent_loops[inner] {
                self.diverge_at_exits(inner);
            }
        }
    }

    /// Lanes exit a divergent loop in different iterations, so they diverge to its exits.
    fn diverge_at_exits(&mut self, inner: usize) {
        let flow = self.flow;
        let mut sources = vec![];
        for &vertex in flow.vertices_of(inner) {
            mark(&mut self.shapes.partial[vertex], &mut self.changed);
            let targets = if vertex < flow.blocks.len() { flow.ends[vertex].targets() } else { vec![] };
            for target in targets.into_iter().filter(|&target| !flow.is_in(target, inner)) {
                self.mark_exited_loops(vertex, target, |exited| exited != inner);
                let source = flow.route(vertex, target);
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        self.propagate_divergence(flow.loops.loops()[inner].parent, &sources);
    }

    /// Marks the loops that some lanes exit by this edge.
    fn mark_exited_loops(&mut self, from: usize, to: usize, counts: impl Fn(usize) -> bool) {
        for inner in self.flow.exited_loops(from, to).filter(|&inner| counts(inner)) {
            mark(&mut self.shapes.divergent_loops[inner], &mut self.changed);
        }
    }

    /// Lanes diverge to `sources`, in the loop `origin`. Each vertex is labelled with the source, or
    /// the join point, that its lanes come from. A vertex with predecessors of different labels is a
    /// join point. Ends at the vertex where all lanes have reconverged.
    fn propagate_divergence(&mut self, origin: Option<usize>, sources: &[usize]) {
        let flow = self.flow;
        let Some(&first) = sources.first() else { return };
        if sources.len() < 2 {
            return;
        }
        let end = sources.iter().fold(first, |end, &source| flow.post_doms.common(end, source));
        let start = sources.iter().map(|&source| flow.position[source]).min().unwrap_or(0);
        let mut label: FxHashMap<usize, usize> = sources.iter().map(|&source| (source, source)).collect();
        for at in start..flow.order.len() {
            let vertex = flow.order[at];
            let mut from: Vec<usize> =
                flow.dag.preds(vertex).filter_map(|pred| label.get(&pred).copied()).collect();
            from.extend(label.get(&vertex).copied());
            let Some(&one) = from.first() else { continue };
            let joins = from.iter().any(|&other| other != one);
            if joins {
                mark(&mut self.shapes.joins[vertex], &mut self.changed);
            }
            if vertex == end {
                break;
            }
            label.insert(vertex, if joins { vertex } else { one });
            mark(&mut self.shapes.partial[vertex], &mut self.changed);
            if vertex < flow.blocks.len() {
                let around: Vec<usize> =
                    std::iter::successors(origin, |&inner| flow.loops.loops()[inner].parent).collect();
                for target in flow.ends[vertex].targets() {
                    self.mark_exited_loops(vertex, target, |exited| around.contains(&exited));
                }
            }
        }
    }
}

fn mark(flag: &mut bool, changed: &mut bool) {
    if !std::mem::replace(flag, true) {
        *changed = true;
    }
}
