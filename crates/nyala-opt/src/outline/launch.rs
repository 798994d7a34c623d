//! The host's side of a launch: a call of the runtime's `nyala_launch`.
//!
//! Its arguments are the device, a description of the kernel, the sizes of grid and block, and the
//! captures as a tuple in memory. The description is a global in which the runtime also caches the
//! loaded kernel:
//!
//! ```text
//! kernel = (remembered: u64, code: &[u8], name: &[u8], place: &[u8], params: &[param], n_params: u32)
//! param  = (offset in the tuple: u32, size: u32, whether it is a pointer: u32)
//! ```
//!
//! `nyala-runtime` declares the same as structs of C.

use nyala_ir::layout::{layout, offset};
use nyala_ir::{ArithFlags, ArithOp, Body, Def, Defs, Linkage, Node, Prim, Ty, TyKind, World};
use nyala_span::{Name, SourceMap};
use rustc_hash::FxHashMap;

use super::{Captured, Kernel, Platform, Site};

/// Replaces the calls at all sites.
pub(super) fn launch_all(
    world: &mut World,
    launches: &[(Site, Kernel, Vec<Captured>)],
    sources: Option<&SourceMap>,
) {
    let byte = world.types.prim(Prim::U8);
    let bytes = world.types.slice(byte);
    let bytes = world.types.ptr(bytes, 0);
    let launch = declare_launch(world, bytes);
    let mut launcher = Launcher { world, launch, bytes, codes: FxHashMap::default() };
    for (site, kernel, captured) in launches {
        let place = sources.map_or_else(String::new, |sources| sources.describe(kernel.span));
        launcher.launch(site, kernel, captured, &place);
    }
}

/// The runtime's function.
fn declare_launch(world: &mut World, bytes: Ty) -> Def {
    let (mem, device) = (world.types.mem(), world.types.prim(Prim::I32));
    let ret = world.types.cn(&[mem]);
    let cont = world.new_cont("launch", &[mem, device, bytes, bytes, bytes, bytes, ret]);
    world.set_linkage(cont, Linkage::Imported(Name::new("nyala_launch")));
    world.cont_def(cont)
}

struct Launcher<'a> {
    world: &'a mut World,
    launch: Def,
    /// A pointer to bytes, or to anything.
    bytes: Ty,
    /// The code of device programs.
    codes: FxHashMap<Platform, Def>,
}

impl Launcher<'_> {
    fn launch(&mut self, site: &Site, kernel: &Kernel, captured: &[Captured], place: &str) {
        let [mem, device @ .., grid, block, _, ret] = &site.body.args[..] else { return };
        let span = site.body.span;
        self.world.span = span;
        let device = self.device(device.first().copied(), site.platform);
        let (mem, grid) = self.in_memory(*mem, *grid);
        let (mem, block) = self.in_memory(mem, *block);
        let (mem, values) = self.values(mem, captured);
        let known = self.kernel(kernel, site.platform, &values, place);
        let values = self.world.tuple(&values);
        let (mem, values) = self.in_memory(mem, values);
        let ret = self.continuation_without_results(*ret);
        let args = Defs::from_slice(&[mem, device, known, grid, block, values, ret]);
        self.world.replace_body(site.cont, Some(Body { callee: self.launch, args, span }));
    }

    /// `platform | (index << 4)`; the first device by default.
    fn device(&mut self, number: Option<Def>, platform: Platform) -> Def {
        let number = number.unwrap_or_else(|| self.world.lit_i32(0));
        let (bits, platform) = (self.world.lit_i32(4), self.world.lit_i32(platform.number() as i32));
        let shifted = self.world.arith(ArithOp::Shl, ArithFlags::WRAP, number, bits);
        self.world.arith(ArithOp::Or, ArithFlags::WRAP, platform, shifted)
    }

    /// The values of captures. Variables are read now.
    fn values(&mut self, mem: Def, captured: &[Captured]) -> (Def, Vec<Def>) {
        let mut mem = mem;
        let mut values = vec![];
        for captured in captured {
            let Some(path) = &captured.copied else {
                values.push(captured.def);
                continue;
            };
            let (after, whole) = self.world.load(mem, captured.def);
            mem = after;
            values.push(path.iter().fold(whole, |part, &index| self.world.extract_at(part, index)));
        }
        (mem, values)
    }

    /// The address of a local variable with this value.
    fn in_memory(&mut self, mem: Def, value: Def) -> (Def, Def) {
        let (mem, address) = self.world.slot(mem, self.world.ty(value));
        let mem = self.world.store(mem, address, value);
        (mem, self.world.bitcast(self.bytes, address))
    }

    /// The return continuation of a call without results: old programs declare a unit result.
    fn continuation_without_results(&mut self, ret: Def) -> Def {
        let taken = self.world.types.as_cn(self.world.ty(ret)).unwrap_or(&[]).to_vec();
        let [_, results @ ..] = &taken[..] else { return ret };
        if results.is_empty() {
            return ret;
        }
        let block = self.world.new_cont("launched", &taken[..1]);
        let mut args = vec![self.world.param(block, 0)];
        args.extend(results.iter().map(|&ty| self.world.undef(ty)));
        self.world.set_body(block, ret, args);
        self.world.cont_def(block)
    }

    /// The address of the description of a kernel.
    fn kernel(&mut self, kernel: &Kernel, platform: Platform, captured: &[Def], place: &str) -> Def {
        let code = self.code(platform);
        let name = self.text(kernel.name.as_str());
        let place = self.text(place);
        let params = self.params(captured);
        let remembered = self.world.lit(Prim::U64, 0);
        let n_params = self.world.lit_u32(captured.len() as u32);
        let known = self.world.tuple(&[remembered, code, name, place, params, n_params]);
        self.variable(kernel.name.as_str(), known)
    }

    /// The address of the code for a platform, which the linker resolves.
    fn code(&mut self, platform: Platform) -> Def {
        if let Some(&code) = self.codes.get(&platform) {
            return code;
        }
        let byte = self.world.types.prim(Prim::U8);
        let none = self.world.types.array(byte, 0);
        let code = self.world.new_global(platform.code_symbol(), none, false, None);
        if let Node::Global(global) = self.world.node(code) {
            self.world.set_global_linkage(global, Linkage::Imported(Name::new(platform.code_symbol())));
        }
        let code = self.world.bitcast(self.bytes, code);
        self.codes.insert(platform, code);
        code
    }

    /// The address of a new global that the runtime may write to.
    fn variable(&mut self, name: &str, value: Def) -> Def {
        let global = self.world.new_global(name, self.world.ty(value), true, Some(value));
        self.world.bitcast(self.bytes, global)
    }

    /// The address of a zero-terminated string.
    fn text(&mut self, text: &str) -> Def {
        let letters: Vec<Def> =
            text.bytes().chain([0]).map(|byte| self.world.lit(Prim::U8, u64::from(byte))).collect();
        let byte = self.world.types.prim(Prim::U8);
        let ty = self.world.types.array(byte, letters.len() as u64);
        let value = self.world.aggregate(ty, &letters);
        let address = self.world.constant(value);
        self.world.bitcast(self.bytes, address)
    }

    /// The address of a table: for each parameter its offset, its size, and whether it is a pointer.
    fn params(&mut self, captured: &[Def]) -> Def {
        let tys: Vec<Ty> = captured.iter().map(|&value| self.world.ty(value)).collect();
        let tuple = self.world.types.tuple(&tys);
        let mut rows = vec![];
        for (index, &ty) in (0..).zip(&tys) {
            let is_pointer = matches!(self.world.types.kind(ty), TyKind::Ptr { .. });
            let (at, size) = match &tys[..] {
                // A tuple of one element is the element.
                [_] => (0, layout(&self.world.types, ty).size),
                _ => (offset(&self.world.types, tuple, index), layout(&self.world.types, ty).size),
            };
            let row =
                [at as u32, size as u32, u32::from(is_pointer)].map(|number| self.world.lit_u32(number));
            rows.push(self.world.tuple(&row));
        }
        let number = self.world.types.prim(Prim::U32);
        let row = self.world.types.tuple(&[number; 3]);
        let ty = self.world.types.array(row, rows.len() as u64);
        let table = self.world.aggregate(ty, &rows);
        let address = self.world.constant(table);
        self.world.bitcast(self.bytes, address)
    }
}
