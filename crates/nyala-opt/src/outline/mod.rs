//! Outlining: turns the bodies of `cuda`, `nvvm`, `opencl` and `amdgpu` into programs for devices.
//!
//! In control-flow form such a body is a closure that only calls a function with its captures. This
//! pass
//!
//! * turns each body into a *kernel*, an exported function whose parameters are the captures; tuples
//!   and structs are split, so that every pointer is a parameter of its own;
//! * puts the kernels of a platform, with everything they call, into a program for it;
//! * replaces the launch on the host by a call of the runtime's `nyala_launch` (see `launch`).
//!
//! `check` reports operations that a device does not support, `host_variables` finds uses of host
//! memory, and `aliases` finds pointers that do not alias. `conditions` is an optimization.
//!
//! # Invariants
//!
//! * The host's program and those of the devices share no continuation: each is a copy that contains
//!   only what its roots reach.
//! * Captured literals stay literals.

mod aliases;
mod check;
mod conditions;
mod device;
mod host_variables;
mod kernels;
mod launch;
mod platform;

use nyala_ir::analysis::{Functions, References};
use nyala_ir::{Body, Cont, Def, Intrinsic, World};
use nyala_span::{Diagnostic, Name, SourceMap, Span};
use rustc_hash::FxHashSet;

use crate::errors::KernelError;
use aliases::Allocations;
use device::device_program;
use host_variables::Origins;
use kernels::{Captured, Outliner};
pub use platform::Platform;

/// A program whose kernels are programs of their own: the form that back ends accept.
#[derive(Clone)]
pub struct Outlined {
    /// The host's program.
    pub host: World,
    /// The programs of devices, one for each platform that has kernels.
    pub devices: Vec<DeviceProgram>,
}

/// The kernels of a platform.
#[derive(Clone)]
pub struct DeviceProgram {
    /// The platform.
    pub platform: Platform,
    /// The program that exports them.
    pub world: World,
    /// The kernels.
    pub kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its symbol.
    pub name: Name,
    /// Its function in the device's program.
    pub entry: Cont,
    /// The size of its work groups in each dimension, if it is known.
    pub block: Option<[u32; 3]>,
    /// For each parameter, whether it is a pointer that aliases no other parameter.
    pub apart: Vec<bool>,
    /// The source location of the launch.
    pub span: Span,
}

/// Outlines the kernels of a program.
///
/// Before: a program in control-flow form. After: all programs are. Locations are described with
/// `sources`, for messages of the runtime; `is_own` says whether a location is in the program itself
/// and not in its prelude.
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

/// A launch of a kernel.
struct Site {
    /// The continuation that launches it.
    cont: Cont,
    body: Body,
    intrinsic: Intrinsic,
    platform: Platform,
    /// The enclosing function.
    around: Name,
    /// Its source location: the launch. If that is in the prelude, the call that the launch returns to, or the
    /// first call in the kernel.
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

/// The locations of a launch, of what it returns to, and of the calls in its kernel. A return continuation has the
/// location of the call that it belongs to.
fn positions(world: &World, launch: &Body) -> impl Iterator<Item = Span> {
    let kernels: Vec<Cont> = launch.args.iter().rev().skip(1).filter_map(|&arg| world.as_cont(arg)).collect();
    let conts: Vec<Cont> = References::from_roots(world, &kernels).conts(world).collect();
    let calls = conts.into_iter().filter_map(|cont| world.cont(cont).body.as_ref()).map(|body| body.span);
    let ret = launch.args.last().and_then(|&ret| world.as_cont(ret)).map(|ret| world.cont(ret).span);
    std::iter::once(launch.span).chain(ret).chain(calls)
}

fn platform_of(world: &World, body: &Body) -> Option<(Intrinsic, Platform)> {
    let intrinsic = world.as_intrinsic(body.callee)?;
    Some((intrinsic, Platform::of(intrinsic)?))
}
