//! Kernels: the bodies that `cuda`, `nvvm`, `opencl` and `amdgpu` get, as programs of their own.
//!
//! In control-flow form such a body is a closure, which does nothing but call a function
//! with the values it captures. Here
//!
//! * each body becomes a *kernel*, an exported function whose parameters are the captured
//!   values, tuples and structs in their parts, so that every pointer is a parameter by itself;
//! * the kernels of a platform, with all they call, become a program for it;
//! * on the host, the call becomes one of the runtime's `nyala_launch` (see `launch`).
//!
//! A device can do less than the host. `check` finds what a kernel does that it cannot,
//! `host_variables` what it needs of the host's memory, and `aliases` which of its pointers have memory
//! of their own. `conditions` is for speed only.
//!
//! # What always holds
//!
//! * The host's program and those of the devices share no continuation, although they are
//!   made by copying: what a program does not reach from its roots is not part of it.
//! * Literals that a body captures stay literals.

mod aliases;
mod check;
mod conditions;
mod host_variables;
mod launch;

use nyala_ir::analysis::functions::return_param;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::analysis::{Functions, References};
use nyala_ir::layout::layout;
use nyala_ir::{Body, Cont, Def, Defs, Global, Intrinsic, Linkage, Node, Ty, TyKind, World};
use nyala_span::{Diagnostic, Name, SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::KernelError;
use aliases::Allocations;
use host_variables::{Origins, is_only_read};

/// A kernel that is launched with more is reported: the least that CUDA's drivers take.
const MAX_ARGUMENT_BYTES: u64 = 4096;

/// Larger tuples and structs become one parameter each.
const MAX_BYTES_IN_PARTS: u64 = 512;

/// What runs kernels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Platform {
    /// NVIDIA's GPUs.
    Cuda,
    /// Whatever has an OpenCL driver.
    OpenCl,
    /// AMD's GPUs.
    Hsa,
}

impl Platform {
    /// All of them.
    pub const ALL: [Platform; 3] = [Platform::Cuda, Platform::OpenCl, Platform::Hsa];

    /// The platform that an intrinsic runs kernels on.
    pub fn of(intrinsic: Intrinsic) -> Option<Platform> {
        match intrinsic {
            Intrinsic::Cuda | Intrinsic::Nvvm => Some(Platform::Cuda),
            Intrinsic::OpenCl => Some(Platform::OpenCl),
            Intrinsic::AmdgpuHsa => Some(Platform::Hsa),
            _ => None,
        }
    }

    /// Its number for the runtime: the low four bits of a device.
    pub fn number(self) -> u32 {
        match self {
            Platform::Cuda => 1,
            Platform::OpenCl => 2,
            Platform::Hsa => 3,
        }
    }

    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Cuda => "CUDA",
            Platform::OpenCl => "OpenCL",
            Platform::Hsa => "HSA",
        }
    }

    /// The symbol of the device code in the host's program, which whoever links it defines:
    /// its length in eight bytes, then the code.
    pub fn code_symbol(self) -> &'static str {
        match self {
            Platform::Cuda => "nyala_device_code_cuda",
            Platform::OpenCl => "nyala_device_code_opencl",
            Platform::Hsa => "nyala_device_code_hsa",
        }
    }
}

/// A program whose kernels are programs of their own: what back ends accept.
#[derive(Clone)]
pub struct Outlined {
    /// What runs on the host.
    pub host: World,
    /// What runs on devices, one program for each platform that has kernels.
    pub devices: Vec<DeviceProgram>,
}

/// The kernels of a platform.
#[derive(Clone)]
pub struct DeviceProgram {
    /// Where they run.
    pub platform: Platform,
    /// The program that exports them.
    pub world: World,
    /// Each of them.
    pub kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its symbol.
    pub name: Name,
    /// Its function in the device's program.
    pub entry: Cont,
    /// How many threads its blocks have in each dimension, if that is known.
    pub block: Option<[u32; 3]>,
    /// For each parameter, whether it points to memory that no other one points to.
    pub apart: Vec<bool>,
    /// Where it is launched in the source.
    pub span: Span,
}

/// Takes the kernels out of a program.
///
/// Before: a program in control-flow form. After: the same holds for all programs that are given.
/// Positions are described with the help of `sources`, for messages of the runtime; where there
/// is a choice, `is_own` says which are of the program itself and not of its prelude.
pub fn outline_kernels(
    world: World,
    sources: Option<&SourceMap>,
    is_own: impl Fn(Span) -> bool,
) -> Result<Outlined, Vec<Diagnostic>> {
    let sites = sites(&world, is_own);
    if sites.is_empty() {
        return Ok(Outlined { host: world, devices: vec![] });
    }
    let origins = Origins::new(&world);
    let (functions, allocations) = (Functions::styled(&world), Allocations::new(&world));
    let mut outliner = Outliner { world, origins, names: FxHashSet::default(), errors: vec![] };
    let mut launches = vec![];
    for site in sites {
        if let Some((mut kernel, captured)) = outliner.kernel(&functions, &site) {
            let values: Vec<Def> = captured.iter().map(|captured| captured.def).collect();
            kernel.apart = allocations.apart(&outliner.world, &values);
            launches.push((site, kernel, captured));
        }
    }
    let Outliner { world: mut host, mut errors, .. } = outliner;
    let kernels: Vec<(Platform, Kernel)> =
        launches.iter().map(|(site, kernel, _)| (site.platform, kernel.clone())).collect();
    let devices: Vec<DeviceProgram> = Platform::ALL
        .into_iter()
        .filter(|platform| kernels.iter().any(|(other, _)| other == platform))
        .map(|platform| device_program(&host, platform, &kernels))
        .collect();
    errors.extend(devices.iter().flat_map(check::check));
    if !errors.is_empty() {
        return Err(errors.into_iter().map(KernelError::diagnostic).collect());
    }
    launch::launch_all(&mut host, &launches, sources);
    Ok(Outlined { host, devices })
}

/// A place where a kernel is launched.
struct Site {
    /// The continuation that does.
    cont: Cont,
    body: Body,
    intrinsic: Intrinsic,
    platform: Platform,
    /// The function around it.
    around: Name,
    /// Where that is in the source: at the launch, or at the first call in the kernel if the
    /// launch is not of the program itself.
    at: Span,
}

fn sites(world: &World, is_own: impl Fn(Span) -> bool) -> Vec<Site> {
    let mut sites = vec![];
    let is_launch = |cont: Cont| world.cont(cont).body.as_ref().and_then(|body| platform_of(world, body));
    if !References::of_program(world).conts(world).any(|cont| is_launch(cont).is_some()) {
        return sites;
    }
    for function in Functions::styled(world).all() {
        for &cont in &function.blocks {
            if let Some((body, (intrinsic, platform))) = world.cont(cont).body.clone().zip(is_launch(cont)) {
                let around = world.cont(function.entry).name;
                let at = positions(world, &body).find(|&span| is_own(span)).unwrap_or(body.span);
                sites.push(Site { cont, body, intrinsic, platform, around, at });
            }
        }
    }
    sites
}

/// Where a launch and the calls in its kernel are.
fn positions(world: &World, launch: &Body) -> impl Iterator<Item = Span> {
    let kernels: Vec<Cont> = launch.args.iter().rev().skip(1).filter_map(|&arg| world.as_cont(arg)).collect();
    let conts: Vec<Cont> = References::from_roots(world, &kernels).conts(world).collect();
    let calls = conts.into_iter().filter_map(|cont| world.cont(cont).body.as_ref()).map(|body| body.span);
    std::iter::once(launch.span).chain(calls)
}

fn platform_of(world: &World, body: &Body) -> Option<(Intrinsic, Platform)> {
    let intrinsic = world.as_intrinsic(body.callee)?;
    Some((intrinsic, Platform::of(intrinsic)?))
}

/// What a kernel is launched with.
#[derive(Clone)]
struct Captured {
    /// The value, or the address of what is copied.
    def: Def,
    /// The type of the parameter.
    ty: Ty,
    /// If the kernel gets what is at the address when it is launched: which part of it.
    copied: Option<Vec<u32>>,
}

/// Makes kernels.
struct Outliner {
    world: World,
    origins: Origins,
    names: FxHashSet<String>,
    errors: Vec<KernelError>,
}

/// What a kernel is launched with.
struct Captures {
    values: Vec<Captured>,
    /// The types of the variables that the kernel has copies of, by the number of the argument.
    copied: FxHashMap<usize, Ty>,
}

impl Outliner {
    /// The kernel for a body, and what it is launched with.
    fn kernel(&mut self, functions: &Functions, site: &Site) -> Option<(Kernel, Vec<Captured>)> {
        let [_, .., block, body, _] = site.body.args[..] else { return None };
        let span = site.at;
        let Some(lambda) = self.world.as_cont(body).filter(|&body| functions.get(body).is_some()) else {
            self.errors.push(KernelError::UnknownBody { at: span, intrinsic: site.intrinsic });
            return None;
        };
        let (callee, args) = self.called(functions, lambda);
        let Captures { values, copied } = self.captures(site, lambda, callee, &args)?;
        let mem = self.world.types.mem();
        let params: Vec<Ty> = std::iter::once(mem).chain(values.iter().map(|value| value.ty)).collect();
        self.world.span = span;
        let name = self.unique_name(site.around);
        let entry = self.world.new_cont(name, &params);
        let ret_ty = self.world.types.cn(&[mem]);
        self.world.append_param(entry, ret_ty);
        self.name_params(entry, &values);
        let args = self.given(entry, lambda, &args, &copied);
        self.world.replace_body(entry, Some(Body { callee, args, span }));
        let block = self.known_block(block);
        Some((Kernel { name, entry, block, apart: vec![], span }, values))
    }

    /// What a kernel captures of the arguments of what it calls; none if something cannot be captured, which is
    /// reported.
    fn captures(&mut self, site: &Site, lambda: Cont, callee: Def, args: &[Def]) -> Option<Captures> {
        let n_errors = self.errors.len();
        let mut values = vec![];
        let mut copied = FxHashMap::default();
        for (at, &arg) in args.iter().enumerate() {
            if self.is_own(lambda, arg) || self.is_constant(arg) {
                continue;
            }
            match self.copied_variable(arg, (callee, at)) {
                Some(pointee) => {
                    copied.insert(at, pointee);
                    self.capture_copy(arg, pointee, &mut values);
                }
                None => self.capture(arg, site, &mut values),
            }
        }
        let tys: Vec<Ty> = values.iter().map(|value| value.ty).collect();
        let arguments = self.world.types.tuple(&tys);
        let bytes = layout(&self.world.types, arguments).size;
        if bytes > MAX_ARGUMENT_BYTES {
            let (at, most) = (site.at, MAX_ARGUMENT_BYTES);
            self.errors.push(KernelError::TooManyArguments { at, bytes, most });
        }
        (self.errors.len() == n_errors).then_some(Captures { values, copied })
    }

    /// What a kernel hands on of its parameters in place of these arguments.
    fn given(&mut self, entry: Cont, lambda: Cont, args: &[Def], copied: &FxHashMap<usize, Ty>) -> Defs {
        let params = self.world.cont(entry).params.clone();
        let [mut mem, ref parts @ .., ret] = params[..] else { unreachable!("it has memory and a return") };
        let mut parts = parts.iter().copied();
        let mut given = Defs::new();
        for (at, &arg) in args.iter().enumerate() {
            given.push(match (self.own(lambda, arg), copied.get(&at)) {
                // It is set once all variables are there.
                (Some(Own::Mem), _) => mem,
                (Some(Own::Ret), _) => ret,
                (None, _) if self.is_constant(arg) => arg,
                (None, Some(&pointee)) => {
                    let value = self.rebuilt(pointee, &mut parts);
                    let (after, address) = self.world.slot(mem, pointee);
                    mem = self.world.store(after, address, value);
                    address
                }
                (None, None) => self.rebuilt(self.world.ty(arg), &mut parts),
            });
        }
        for (at, &arg) in args.iter().enumerate() {
            if let Some(Own::Mem) = self.own(lambda, arg) {
                given[at] = mem;
            }
        }
        given
    }

    /// What a body calls with what it captures: itself if that is nothing.
    fn called(&self, functions: &Functions, lambda: Cont) -> (Def, Defs) {
        let data = self.world.cont(lambda);
        match &data.body {
            Some(body) if !functions.captures(lambda).is_empty() => (body.callee, body.args.clone()),
            _ => (data.def, data.params.clone()),
        }
    }

    fn own(&self, lambda: Cont, arg: Def) -> Option<Own> {
        let params = &self.world.cont(lambda).params;
        match arg {
            _ if params.first() == Some(&arg) => Some(Own::Mem),
            _ if return_param(&self.world, lambda) == Some(arg) => Some(Own::Ret),
            _ => None,
        }
    }

    fn is_own(&self, lambda: Cont, arg: Def) -> bool {
        self.own(lambda, arg).is_some()
    }

    /// Whether a device knows a value without being told.
    fn is_constant(&self, def: Def) -> bool {
        let mut is_constant = true;
        for_each_node(&self.world, [def], |part| {
            let is_part = matches!(
                self.world.node(part),
                Node::Lit(_) | Node::Undef | Node::Aggregate(_) | Node::Global(_) | Node::Bitcast(_)
            );
            is_constant &= is_part;
        });
        is_constant
    }

    /// The parts of a captured value that become parameters.
    fn capture(&mut self, value: Def, site: &Site, parts: &mut Vec<Captured>) {
        let mut work = vec![value];
        while let Some(part) = work.pop() {
            let ty = self.world.ty(part);
            match self.world.types.kind(ty) {
                _ if self.is_in_parts(ty) => {
                    let count = self.world.types.part_count(ty).unwrap_or(0) as u32;
                    let first = work.len();
                    work.extend((0..count).map(|index| self.world.extract_at(part, index)));
                    work[first..].reverse();
                }
                TyKind::Cn(_) => self.errors.push(self.captured_function(part, site)),
                TyKind::Ptr { .. } if let Some(name) = self.origins.host_variable(&self.world, part) => {
                    self.errors.push(KernelError::HostVariable { at: site.at, name, declared: None });
                }
                _ => parts.push(Captured { def: part, ty, copied: None }),
            }
        }
    }

    /// The type of a variable of the host, if an argument is its address and a copy will do: the
    /// argument `at` of the function that a kernel begins with.
    fn copied_variable(&self, arg: Def, (callee, at): (Def, usize)) -> Option<Ty> {
        let types = &self.world.types;
        let (pointee, _) = types.as_ptr(self.world.ty(arg))?;
        let is_data = !matches!(types.kind(pointee), TyKind::Slice(_) | TyKind::Cn(_) | TyKind::Mem);
        self.origins.host_variable(&self.world, arg).filter(|_| is_data)?;
        let callee = self.world.as_cont(callee)?;
        is_only_read(&self.world, callee, self.world.param(callee, at)).then_some(pointee)
    }

    /// The parts of what is at an address that become parameters.
    fn capture_copy(&mut self, address: Def, pointee: Ty, parts: &mut Vec<Captured>) {
        let mut work = vec![(pointee, vec![])];
        while let Some((ty, path)) = work.pop() {
            if !self.is_in_parts(ty) {
                parts.push(Captured { def: address, ty, copied: Some(path) });
                continue;
            }
            let count = self.world.types.part_count(ty).unwrap_or(0);
            for index in (0..count).rev() {
                let part = self.world.types.part(ty, index).expect("the index is below their number");
                work.push((part, [&path[..], &[index as u32]].concat()));
            }
        }
    }

    /// Whether the parts of such a value become parameters, rather than the value.
    fn is_in_parts(&self, ty: Ty) -> bool {
        matches!(self.world.types.kind(ty), TyKind::Tuple(_) | TyKind::Struct(_))
            && layout(&self.world.types, ty).size <= MAX_BYTES_IN_PARTS
    }

    fn captured_function(&self, value: Def, site: &Site) -> KernelError {
        let (at, intrinsic) = (site.at, site.intrinsic);
        let is_place = match self.world.node(value) {
            Node::Param { cont, .. } => return_param(&self.world, cont) == Some(value),
            _ => false,
        };
        match is_place {
            true => KernelError::JumpOut { at, intrinsic },
            false => KernelError::FunctionValue { at, name: self.world.name(value) },
        }
    }

    /// A value of type `ty` from the next parts.
    fn rebuilt(&mut self, ty: Ty, parts: &mut impl Iterator<Item = Def>) -> Def {
        if !self.is_in_parts(ty) {
            return parts.next().expect("each part of a captured value is a parameter");
        }
        let count = self.world.types.part_count(ty).unwrap_or(0);
        let fields: Vec<Ty> = (0..count).filter_map(|index| self.world.types.part(ty, index)).collect();
        let fields: Vec<Def> = fields.into_iter().map(|field| self.rebuilt(field, parts)).collect();
        self.world.aggregate(ty, &fields)
    }

    fn name_params(&mut self, entry: Cont, captured: &[Captured]) {
        for (index, captured) in captured.iter().enumerate() {
            if let Some(name) = self.world.name(captured.def) {
                self.world.set_name(self.world.param(entry, index + 1), name);
            }
        }
    }

    /// A name for a kernel that is launched in this function.
    fn unique_name(&mut self, around: Name) -> Name {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let around: String = around.as_str().chars().filter(|&letter| is_plain(letter)).collect();
        let mut names = std::iter::once(format!("{around}_kernel"))
            .chain((1..).map(|number| format!("{around}_kernel_{number}")));
        let name = names.find(|name| !self.names.contains(name)).expect("there is no last number");
        self.names.insert(name.clone());
        Name::new(&name)
    }

    /// The sizes of blocks, if all are known.
    fn known_block(&mut self, block: Def) -> Option<[u32; 3]> {
        let mut sizes = [0; 3];
        for (size, index) in sizes.iter_mut().zip(0..) {
            let part = self.world.extract_at(block, index);
            *size = u32::try_from(self.world.as_lit(part)?).ok().filter(|&size| size > 0)?;
        }
        Some(sizes)
    }
}

/// A parameter that every body has.
enum Own {
    Mem,
    Ret,
}

/// The program that exports the kernels of a platform, and nothing else.
fn device_program(world: &World, platform: Platform, kernels: &[(Platform, Kernel)]) -> DeviceProgram {
    let mut device = world.clone();
    let exported: Vec<Cont> = world
        .conts()
        .filter(|(_, data)| matches!(data.linkage, Linkage::Exported(_)))
        .map(|(cont, _)| cont)
        .collect();
    exported.into_iter().for_each(|cont| device.set_linkage(cont, Linkage::Internal));
    let kernels: Vec<Kernel> =
        kernels.iter().filter(|(other, _)| *other == platform).map(|(_, kernel)| kernel.clone()).collect();
    for kernel in &kernels {
        device.set_linkage(kernel.entry, Linkage::Exported(kernel.name));
    }
    let entries: Vec<Cont> = kernels.iter().map(|kernel| kernel.entry).collect();
    forget_other_globals(&mut device, &entries);
    conditions::merge_conditions(&mut device, &entries);
    DeviceProgram { platform, world: device, kernels }
}

/// What globals hold is part of a program, reached or not; these programs do not have those
/// that no kernel uses.
fn forget_other_globals(device: &mut World, entries: &[Cont]) {
    let used = used_globals(device, entries);
    let unused: Vec<(Global, Ty)> = device
        .globals()
        .filter(|(global, data)| data.init.is_some() && !used.contains(global))
        .map(|(global, data)| (global, data.ty))
        .collect();
    for (global, ty) in unused {
        let undef = device.undef(ty);
        device.set_global_init(global, undef);
    }
}

fn used_globals(world: &World, entries: &[Cont]) -> FxHashSet<Global> {
    let mut used = FxHashSet::default();
    let conts: Vec<Cont> = References::from_roots(world, entries).conts(world).collect();
    let bodies = conts.into_iter().filter_map(|cont| world.cont(cont).body.as_ref());
    let mut roots: Vec<Def> =
        bodies.flat_map(|body| body.args.iter().copied().chain([body.callee])).collect();
    // The first value of a global may have the address of another one.
    while !roots.is_empty() {
        let mut found = vec![];
        for_each_node(world, roots, |def| {
            if let Node::Global(global) = world.node(def)
                && used.insert(global)
            {
                found.extend(world.global(global).init);
            }
        });
        roots = found;
    }
    used
}
