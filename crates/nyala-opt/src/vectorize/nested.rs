//! `vectorize` inside SIMD code: each outer lane executes the inner group of lanes. Collective operations are those
//! of the innermost group.
//!
//! * Without collective operations, the inner lanes of each outer lane run in a loop, one after the other: the outer lanes
//!   are the lanes of the vectors.
//! * With collective operations, the inner lanes are the lanes of vectors. The inner call becomes a function of its own,
//!   which is vectorized first. In the SIMD code of the outer call it is called once, if its arguments are the same in
//!   all lanes, and otherwise for one active lane after the other (`calls`).

use nyala_ir::analysis::{Functions, References};
use nyala_ir::{ArithFlags, ArithOp, Body, CmpOp, Cont, Def, Prim, Ty, World};
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::site::{Site, collective_in_body};

/// The calls of `vectorize` that other calls reach.
#[derive(Default)]
pub(super) struct Nested {
    /// Those that became loops.
    pub(super) loops: FxHashSet<Cont>,
    /// Those that became functions, the innermost first.
    pub(super) groups: Vec<Group>,
}

/// An inner call of `vectorize` as a function of its own.
pub(super) struct Group {
    /// The call in that function.
    pub(super) site: Site,
    /// The continuation with the original call, and that call.
    pub(super) cont: Cont,
    call: Body,
    /// A collective operation in its body.
    pub(super) collective: Name,
}

impl Nested {
    /// Turns the calls of `vectorize` that other calls reach into loops, or into functions if they have collective operations.
    pub(super) fn replace(world: &mut World, functions: &Functions, sites: &[Cont]) -> Nested {
        let inside = sites_inside(world, functions, sites);
        let nested: FxHashSet<Cont> = inside.values().flatten().copied().collect();
        let in_order: Vec<Cont> = sites.iter().copied().filter(|site| nested.contains(site)).collect();
        let mut replaced = Nested::default();
        let mut collective = vec![];
        for cont in in_order {
            let Ok(inner) = Site::read_any(world, functions, cont) else { continue };
            match collective_in_body(world, cont) {
                Some(name) => collective.push((inner, name)),
                None => {
                    inner.write_loop(world);
                    replaced.loops.insert(cont);
                }
            }
        }
        // A call reaches all calls inside of those that it reaches. In a recursion the order does not matter: it is refused.
        collective.sort_by_key(|(inner, _)| inside.get(&inner.cont).map_or(0, FxHashSet::len));
        let groups = collective.into_iter().filter_map(|(inner, name)| Group::new(world, inner, name));
        replaced.groups = groups.collect();
        replaced
    }
}

/// For each call, the other calls that its body reaches.
fn sites_inside(world: &World, functions: &Functions, sites: &[Cont]) -> FxHashMap<Cont, FxHashSet<Cont>> {
    let mut inside = FxHashMap::default();
    if sites.len() < 2 {
        return inside;
    }
    let all: FxHashSet<Cont> = sites.iter().copied().collect();
    for &site in sites {
        if let Ok(Some(outer)) = Site::read(world, functions, site) {
            let reached = References::from_roots(world, &[outer.function]);
            let reached = reached.conts(world).filter(|cont| *cont != site && all.contains(cont));
            inside.insert(site, reached.collect());
        }
    }
    inside
}

impl Group {
    /// Replaces a call by one of a new function, whose body is still missing. The function gets all that the call depends on
    /// as parameters.
    fn new(world: &mut World, inner: Site, collective: Name) -> Option<Group> {
        let call = world.cont(inner.cont).body.clone()?;
        let bounds = inner.range.into_iter().flat_map(|(lower, upper)| [lower, upper]);
        let mut values: Vec<Def> = bounds.chain(inner.args.iter().flatten().copied()).collect();
        values.retain(|&value| !world.free_set(value).is_empty());
        values.sort_unstable();
        values.dedup();
        let mut tys: Vec<Ty> = vec![world.types.mem()];
        tys.extend(values.iter().map(|&value| world.ty(value)));
        tys.push(world.ty(inner.next));
        world.span = inner.span;
        let function = world.new_cont("lanes", &tys);
        let param_of: FxHashMap<Def, Def> =
            values.iter().enumerate().map(|(at, &value)| (value, world.param(function, at + 1))).collect();
        let param = |value: Def| param_of.get(&value).copied().unwrap_or(value);
        let site = Site {
            cont: function,
            lanes: inner.lanes,
            range: inner.range.map(|(lower, upper)| (param(lower), param(upper))),
            function: inner.function,
            args: inner.args.iter().map(|arg| arg.map(param)).collect(),
            next: world.param(function, values.len() + 1),
            mem: world.param(function, 0),
            span: inner.span,
        };
        let args: Vec<Def> = [inner.mem].into_iter().chain(values).chain([inner.next]).collect();
        world.set_body(inner.cont, world.cont_def(function), args);
        Some(Group { site, cont: inner.cont, call, collective })
    }

    /// Restores the original call.
    pub(super) fn undo(self, world: &mut World) {
        world.set_body(self.cont, self.call.callee, self.call.args);
    }
}

impl Site {
    /// Replaces the call by a loop over the indices.
    pub(super) fn write_loop(&self, world: &mut World) {
        let (mem, i32) = (world.types.mem(), world.types.prim(Prim::I32));
        world.span = self.span;
        let (lower, upper) = match self.range {
            Some(range) => range,
            None => (world.lit_i32(0), world.lit_i32(self.lanes as i32)),
        };
        let header = world.new_cont("header", &[mem, i32]);
        let [body, next, done] = ["body", "next", "done"].map(|name| world.new_cont(name, &[mem]));
        let [header_def, body_def, next_def, done_def] =
            [header, body, next, done].map(|cont| world.cont_def(cont));
        world.set_body(self.cont, header_def, [self.mem, lower]);
        let number = world.param(header, 1);
        let is_inside = world.cmp(CmpOp::Lt, number, upper);
        world.set_branch(header, world.param(header, 0), is_inside, body_def, done_def);
        let args = self.arguments(world.param(body, 0), None, number, next_def);
        world.set_body(body, world.cont_def(self.function), args);
        let one = world.lit_i32(1);
        let following = world.arith(ArithOp::Add, ArithFlags::WRAP, number, one);
        world.set_body(next, header_def, [world.param(next, 0), following]);
        world.set_body(done, self.next, [world.param(done, 0)]);
    }
}
