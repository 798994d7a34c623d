//! Makes kernels: exported functions whose parameters are the captures of a body.

use nyala_ir::analysis::Functions;
use nyala_ir::analysis::functions::return_param;
use nyala_ir::analysis::references::for_each_node;
use nyala_ir::layout::layout;
use nyala_ir::{Body, Cont, Def, Defs, Node, Ty, TyKind, World};
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::host_variables::{Origins, is_only_read};
use super::{Kernel, Site};
use crate::errors::KernelError;

/// The largest total size of a kernel's parameters; more is reported. It is the limit of CUDA's
/// drivers.
const MAX_ARGUMENT_BYTES: u64 = 4096;

/// Larger tuples and structs, in bytes, become one parameter.
const MAX_BYTES_IN_PARTS: u64 = 512;

/// A parameter of a kernel.
#[derive(Clone)]
pub(super) struct Captured {
    /// The value, or the address of a copied variable.
    pub(super) def: Def,
    /// The type of the parameter.
    pub(super) ty: Ty,
    /// For a copied variable: the part of it.
    pub(super) copied: Option<Vec<u32>>,
}

/// Makes kernels.
pub(super) struct Outliner {
    pub(super) world: World,
    pub(super) origins: Origins,
    pub(super) names: FxHashSet<String>,
    pub(super) errors: Vec<KernelError>,
}

/// The captures of a kernel.
struct Captures {
    values: Vec<Captured>,
    /// The types of the variables that are copied, by argument.
    copied: FxHashMap<usize, Ty>,
}

impl Outliner {
    /// The kernel for a body, and its captures.
    pub(super) fn kernel(&mut self, functions: &Functions, site: &Site) -> Option<(Kernel, Vec<Captured>)> {
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

    /// The captures of a kernel; `None` after a report about an invalid one.
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

    /// The arguments of the function that a kernel calls, from the kernel's parameters.
    fn given(&mut self, entry: Cont, lambda: Cont, args: &[Def], copied: &FxHashMap<usize, Ty>) -> Defs {
        let params = self.world.cont(entry).params.clone();
        let [mut mem, ref parts @ .., ret] = params[..] else { unreachable!("it has memory and a return") };
        let mut parts = parts.iter().copied();
        let mut given = Defs::new();
        for (at, &arg) in args.iter().enumerate() {
            given.push(match (self.own(lambda, arg), copied.get(&at)) {
                // Set after all variables are initialized.
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

    /// The function that a body calls, and its arguments; without captures, the body itself.
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

    /// Whether a value is a constant on the device.
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

    /// The type of a host variable, if an argument is its address and can be copied: the argument `at`
    /// of the function that the kernel calls.
    fn copied_variable(&self, arg: Def, (callee, at): (Def, usize)) -> Option<Ty> {
        let types = &self.world.types;
        let (pointee, _) = types.as_ptr(self.world.ty(arg))?;
        let is_data = !matches!(types.kind(pointee), TyKind::Slice(_) | TyKind::Cn(_) | TyKind::Mem);
        self.origins.host_variable(&self.world, arg).filter(|_| is_data)?;
        let callee = self.world.as_cont(callee)?;
        is_only_read(&self.world, callee, self.world.param(callee, at)).then_some(pointee)
    }

    /// The parts of a copied variable that become parameters.
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

    /// Whether the parts of a value become parameters.
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

    /// The sizes of work groups, if all are known.
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
