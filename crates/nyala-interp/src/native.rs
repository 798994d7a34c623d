//! Calls of functions without a body: intrinsics and external functions.

use nyala_ir::functions::{DeviceFn, NumberFn};
use nyala_ir::{Cont, External, Function, Intrinsic, Linkage, Ty, TyKind, eval};
use smallvec::smallvec;

use crate::Ending;
use crate::compile::scalar;
use crate::errors::{Checked, ErrorKind, MemoryKind, malformed};
use crate::host::{self, Call, Known, Reply};
use crate::machine::{Machine, Results, Ret};
use crate::parallel::RegionKind;
use crate::value::Value;

impl Machine<'_, '_> {
    /// Calls `cont`, which has no body, with the return continuation `ret`.
    pub(crate) fn native(
        &mut self,
        cont: Cont,
        intrinsic: Option<Intrinsic>,
        args: &[Value],
        ret: Ret,
    ) -> Checked<()> {
        match intrinsic {
            Some(intrinsic) => self.intrinsic(intrinsic, cont, args, ret),
            None => self.external(cont, args, ret),
        }
    }

    fn external(&mut self, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        let known = match self.host.known.get(&cont) {
            Some(&known) => known,
            None => {
                let known = self.declared(cont)?;
                self.host.known.insert(cont, known);
                known
            }
        };
        let function = match known {
            Known::Host(function) => return self.call_host(cont, function, args, ret),
            Known::Other(function) => function,
        };
        match function {
            Function::Number(function) => {
                let result = self.number(function, cont, args)?;
                self.deliver(ret, smallvec![result])
            }
            Function::Atomic(function) => match self.device_atomic(function, cont, args) {
                Some(result) => self.deliver_as(cont, ret, smallvec![result?]),
                None => self.unknown_function(cont),
            },
            Function::WorkItem(query, dim) => match self.work_item(query, dim, args) {
                Some(result) => self.deliver(ret, smallvec![result]),
                None => self.unknown_function(cont),
            },
            Function::Collective(function) => self.collective(function, args, ret),
            Function::Lanes(function) => self.lane_function(function, cont, args, ret),
            Function::Device(DeviceFn::LoadCached) => self.load_cached(cont, args, ret),
            Function::Device(DeviceFn::Printf) => self.print_formatted(cont, args, ret),
            Function::Device(DeviceFn::DispatchPacket) => {
                let packet = self.dispatch_packet()?;
                self.deliver(ret, smallvec![packet])
            }
            Function::C(_) | Function::Runtime(_) => {
                match self.call_with_callbacks(function, cont, args, &ret) {
                    Some(done) => done,
                    None => self.unknown_function(cont),
                }
            }
            Function::Device(_) | Function::Vector(_) => self.unknown_function(cont),
        }
    }

    /// The function that a declaration refers to.
    fn declared(&self, cont: Cont) -> Checked<Known> {
        let (Linkage::Imported(name) | Linkage::Device(name)) = self.program.world.cont(cont).linkage else {
            return malformed(format!("`{}` has no body", self.program.world.cont(cont).name));
        };
        let Some(External { function, .. }) = External::named(name.as_str()) else {
            return self.unknown_function(cont);
        };
        if self.host.is_isolated && function.reaches_out() {
            let what = format!("`{name}` while the program is compiled");
            return Err(Box::new(ErrorKind::Unsupported { what }));
        }
        Ok(Known::of(function))
    }

    /// Reports a function that the interpreter does not have, or not with these parameters.
    pub(crate) fn unknown_function<T>(&self, cont: Cont) -> Checked<T> {
        Err(Box::new(ErrorKind::UnknownFunction { name: self.link_name(cont).into() }))
    }

    /// The link name of a declaration.
    pub(crate) fn link_name(&self, cont: Cont) -> &'static str {
        let data = self.program.world.cont(cont);
        match data.linkage {
            Linkage::Imported(name) | Linkage::Device(name) => name.as_str(),
            _ => data.name.as_str(),
        }
    }

    /// A mathematical function on the type of the declaration.
    fn number(&self, function: NumberFn, cont: Cont, args: &[Value]) -> Checked<Value> {
        let ty = self.param_types(cont).first().and_then(|&ty| scalar(self.program.world, ty));
        let arity = function.info().arity;
        let bits: Option<Vec<u64>> = args.iter().take(arity).map(Value::as_bits).collect();
        match (ty, bits) {
            (Some(prim), Some(bits)) if bits.len() == arity => {
                eval::number(function, prim, &bits).map(Value::Bits).map_err(|_| {
                    let why = format!("there is none for `{}`", prim.name());
                    Box::new(ErrorKind::BadArgument { name: self.link_name(cont).into(), why })
                })
            }
            _ => Ok(Value::Undef),
        }
    }

    /// `printf` with values of the types that the declaration says.
    fn print_formatted(&mut self, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        let world = self.program.world;
        let values = self.param_types(cont).into_iter().zip(args).map(|(ty, value)| {
            let undefined = || ErrorKind::UndefinedUse { what: "a value to print" };
            Ok((scalar(world, ty).unwrap_or(nyala_ir::Prim::U64), value.as_bits().ok_or_else(undefined)?))
        });
        let values: Vec<(nyala_ir::Prim, u64)> = values.collect::<Checked<_>>()?;
        let Some((&(_, format), values)) = values.split_first() else {
            return malformed("`printf` without a format");
        };
        let format = self.memory.c_string(format)?;
        let text = host::printf(&format, values, |addr| self.memory.c_string(addr))?;
        let io_error = |error: std::io::Error| ErrorKind::Io { error: error.to_string() };
        self.io.output.write_all(&text).map_err(io_error)?;
        self.deliver_as(cont, ret, smallvec![Value::Bits(text.len() as u64)])
    }

    /// CUDA's load through the read-only cache.
    fn load_cached(&mut self, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        let Machine { program, memory, .. } = self;
        let world = program.world;
        let ret_ty = world.cont(cont).params.last().and_then(|&param| world.types.as_cn(world.ty(param)));
        let ([Value::Bits(addr)], Some(&[_, ty])) = (args, ret_ty) else {
            return Err(Box::new(ErrorKind::UndefinedUse { what: "an address" }));
        };
        let value = memory.load(*addr, &program.shapes.of(&world.types, ty))?;
        self.deliver(ret, smallvec![value])
    }

    fn call_host(&mut self, cont: Cont, function: host::HostFn, args: &[Value], ret: Ret) -> Checked<()> {
        let (name, span) = (self.link_name(cont), self.place_in_program());
        let Machine { memory, io, host, .. } = self;
        let mut call = Call { name, args, memory, io, state: host, span };
        match function(&mut call)? {
            Reply::Exit(status) => {
                self.finish(Ending::Exit(status));
                Ok(())
            }
            Reply::Results(results) => self.deliver_as(cont, ret, results),
        }
    }

    /// Passes as many results to `ret` as the declaration has: old programs declare
    /// functions of C without their result, or with a unit result.
    pub(crate) fn deliver_as(&mut self, cont: Cont, ret: Ret, mut results: Results) -> Checked<()> {
        let expected = self.result_types(cont).len();
        if results.len() > expected {
            results.truncate(expected);
        }
        while results.len() < expected {
            results.push(Value::unit());
        }
        self.deliver(ret, results)
    }

    /// The result types of a declaration.
    pub(crate) fn result_types(&self, cont: Cont) -> Vec<Ty> {
        let world = self.program.world;
        let ret = world.cont(cont).params.last().and_then(|&param| world.types.as_cn(world.ty(param)));
        ret.into_iter().flatten().copied().filter(|&ty| ty != world.types.mem()).collect()
    }

    /// The types of the parameters of a declaration, without memory.
    pub(crate) fn param_types(&self, cont: Cont) -> Vec<Ty> {
        let world = self.program.world;
        let types = world.cont(cont).params.iter().map(|&param| world.ty(param));
        types.filter(|&ty| ty != world.types.mem()).collect()
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        match intrinsic {
            Intrinsic::Branch => match args {
                [Value::Bits(cond), then] => {
                    let target = if *cond != 0 { Ret::Value(then.clone()) } else { ret };
                    self.deliver(target, Results::new())
                }
                [Value::Undef, ..] => Err(Box::new(ErrorKind::UndefinedUse { what: "a condition" })),
                _ => self.bad_arguments(intrinsic, args),
            },
            Intrinsic::Unreachable => Err(Box::new(ErrorKind::Unreachable)),
            Intrinsic::Switch => self.bad_arguments(intrinsic, args),
            Intrinsic::Fence | Intrinsic::PeInfo | Intrinsic::PeAssert | Intrinsic::PeExpect => {
                self.deliver_as(cont, ret, Results::new())
            }
            // Nothing is evaluated here.
            Intrinsic::PeCost => self.deliver_as(cont, ret, [Value::Bits(0)].into_iter().collect()),
            Intrinsic::Atomic
            | Intrinsic::AtomicLoad
            | Intrinsic::AtomicStore
            | Intrinsic::CmpXchg
            | Intrinsic::CmpXchgWeak => self.atomic(intrinsic, cont, args, ret),
            Intrinsic::CreateGraph
            | Intrinsic::CreateTask
            | Intrinsic::CreateEdge
            | Intrinsic::ExecuteGraph => self.flow_graph(intrinsic, cont, args, ret),
            Intrinsic::ReserveShared => self.reserve_shared(cont, args, ret),
            Intrinsic::Spawn => self.spawn(args, ret),
            Intrinsic::Sync => self.sync(cont, args, ret),
            Intrinsic::Vectorize
            | Intrinsic::Parallel
            | Intrinsic::Fibers
            | Intrinsic::Pipeline
            | Intrinsic::Cuda
            | Intrinsic::Nvvm
            | Intrinsic::OpenCl
            | Intrinsic::OpenClSpirv
            | Intrinsic::AmdgpuHsa
            | Intrinsic::AmdgpuPal
            | Intrinsic::LevelZero
            | Intrinsic::Hls => {
                let (kind, body) = self.region_kind(intrinsic, args)?;
                let results = self.unit_results(cont);
                self.start_region(kind, body, ret, results)
            }
        }
    }

    pub(crate) fn bad_arguments<T>(&self, intrinsic: Intrinsic, args: &[Value]) -> Checked<T> {
        let what = format!("`{}` with {} arguments", intrinsic.name(), args.len());
        Err(Box::new(ErrorKind::Unsupported { what }))
    }

    // ---- Regions ----------------------------------------------------------------

    /// The instances that an intrinsic starts, by its number of arguments.
    fn region_kind(&self, intrinsic: Intrinsic, args: &[Value]) -> Checked<(RegionKind, Value)> {
        let Some((body, numbers)) = args.split_last() else { return self.bad_arguments(intrinsic, args) };
        let kind = match (intrinsic, numbers) {
            (Intrinsic::Vectorize, [width]) => lanes(int(width)?, 0, int(width)?)?,
            (Intrinsic::Vectorize, [width, lower, upper] | [width, _, lower, upper]) => {
                lanes(int(width)?, int(lower)?, int(upper)?)?
            }
            (Intrinsic::Parallel, [_, lower, upper]) => {
                RegionKind::Range { lower: int(lower)?, upper: int(upper)? }
            }
            (Intrinsic::Pipeline, [_, lower, upper]) => {
                RegionKind::Loop { lower: int(lower)?, upper: int(upper)? }
            }
            (Intrinsic::Fibers, [_, first, second]) => {
                let count = |value: i64| value.max(0) as u32;
                RegionKind::Pairs { first: count(int(first)?), second: count(int(second)?) }
            }
            (Intrinsic::Hls, [] | [_]) => RegionKind::Once,
            (_, [grid, block] | [_, grid, block]) => kernel(grid, block)?,
            _ => return self.bad_arguments(intrinsic, args),
        };
        Ok((kind, body.clone()))
    }

    pub(crate) fn unit_results(&self, cont: Cont) -> Results {
        self.result_types(cont).iter().map(|_| Value::unit()).collect()
    }

    fn spawn(&mut self, args: &[Value], ret: Ret) -> Checked<()> {
        let [body] = args else { return self.bad_arguments(Intrinsic::Spawn, args) };
        let id = self.threads.len();
        // A thread runs until it is joined.
        self.memory.races.begin();
        self.threads.push(None);
        let results = smallvec![Value::Bits(id as u64)];
        self.start_region(RegionKind::Once, body.clone(), ret, results)?;
        self.memory.races.make_thread(self.task);
        self.threads[id] = Some(self.task);
        Ok(())
    }

    fn sync(&mut self, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        let [Value::Bits(id)] = args else { return self.bad_arguments(Intrinsic::Sync, args) };
        let id = *id as i32;
        let thread = usize::try_from(id).ok().and_then(|id| self.threads.get_mut(id));
        match thread.and_then(Option::take) {
            Some(task) => self.memory.races.join(task),
            None => return Err(Box::new(ErrorKind::BadThread { id })),
        }
        self.deliver_as(cont, ret, Results::new())
    }

    /// Work-group memory: one allocation per call and group.
    fn reserve_shared(&mut self, cont: Cont, args: &[Value], ret: Ret) -> Checked<()> {
        let world = self.program.world;
        let pointee = self.result_types(cont).first().and_then(|&ty| world.types.as_ptr(ty));
        let (Some((pointee, _)), [Value::Bits(count)]) = (pointee, args) else {
            return self.bad_arguments(Intrinsic::ReserveShared, args);
        };
        let elem = world.layout(world.types.elem(pointee).unwrap_or(pointee));
        let Ok(count) = u64::try_from(*count as i32) else {
            return self.bad_arguments(Intrinsic::ReserveShared, args);
        };
        let place = (self.scope.id, self.block);
        let region = self.regions.iter().rposition(|region| matches!(region.kind, RegionKind::Kernel { .. }));
        let known = region.and_then(|at| self.regions[at].shared.get(&place).copied());
        let addr = match known {
            Some(addr) => addr,
            None => {
                let size = count.saturating_mul(elem.size);
                let addr =
                    self.memory.allocate(size, elem.align.max(16), MemoryKind::Shared, self.call_span())?;
                if let Some(at) = region {
                    self.regions[at].shared.insert(place, addr);
                }
                addr
            }
        };
        self.deliver(ret, smallvec![Value::Bits(addr)])
    }

    /// Passes results to `ret`; as one tuple if the declaration has one.
    pub(crate) fn deliver_tuple(&mut self, cont: Cont, ret: Ret, results: Results) -> Checked<()> {
        let expected = self.result_types(cont);
        let wants_tuple = match expected[..] {
            [one] => matches!(self.program.world.types.kind(one), TyKind::Tuple(parts) if !parts.is_empty()),
            _ => false,
        };
        if wants_tuple && results.len() > 1 {
            return self.deliver(ret, smallvec![Value::agg(results.into_vec())]);
        }
        self.deliver_as(cont, ret, results)
    }
}

fn int(value: &Value) -> Checked<i64> {
    match value {
        Value::Bits(bits) => Ok(i64::from(*bits as i32)),
        _ => Err(Box::new(ErrorKind::UndefinedUse { what: "a range" })),
    }
}

fn lanes(width: i64, lower: i64, upper: i64) -> Checked<RegionKind> {
    match u32::try_from(width) {
        Ok(width @ 1..=MAX_LANES) => Ok(RegionKind::Lanes { width, lower, upper }),
        _ => Err(Box::new(ErrorKind::Unsupported { what: format!("{width} lanes") })),
    }
}

fn kernel(grid: &Value, block: &Value) -> Checked<RegionKind> {
    let size = |value: &Value| -> Option<[u32; 3]> {
        let parts = value.as_parts()?;
        let part = |d: usize| u32::try_from(parts.get(d)?.as_bits()? as i32).ok();
        Some([part(0)?, part(1)?, part(2)?])
    };
    let (Some(grid), Some(block)) = (size(grid), size(block)) else {
        return Err(Box::new(ErrorKind::Unsupported {
            what: "a kernel of negative or undefined size".into(),
        }));
    };
    let fits = (0..3).all(|d| block[d] > 0 && grid[d].is_multiple_of(block[d]));
    let threads = block.iter().fold(1, |threads: u64, &size| threads.saturating_mul(size.into()));
    if !fits || threads > MAX_BLOCK {
        let what = format!("a kernel of {grid:?} threads in blocks of {block:?}");
        return Err(Box::new(ErrorKind::Unsupported { what }));
    }
    Ok(RegionKind::Kernel { grid, block })
}

/// The maximum size of a work group. Devices have 1024; the interpreter keeps the
/// state of all its threads at once.
const MAX_BLOCK: u64 = 1 << 16;

/// The maximum number of lanes of a `vectorize`, whose state is also kept at once. Compiled code has at most 64.
const MAX_LANES: u32 = 1 << 20;
