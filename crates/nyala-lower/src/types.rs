//! Types of the source to types of the graph, with instances of structs and enums.

use nyala_ir::{FieldData, OptionData, Ty, TyKind};
use nyala_sema::types as sema;
use nyala_sema::types::{StructId, TyParam};
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::LowerError;
use crate::instance::Subst;
use crate::lowerer::Lowerer;

/// The maximum number of instances of generic functions and types in a program.
pub(crate) const MAX_INSTANCES: usize = 10_000;

/// The maximum nesting depth of type arguments.
const MAX_DEPTH: u32 = 256;
/// The maximum number of parts of type arguments when written out.
const MAX_SIZE: u64 = 1_000_000;

/// Names of instances write out type arguments up to this size.
const MAX_NAME_SIZE: u64 = 32;

/// Converted types and facts about them.
#[derive(Default)]
pub(crate) struct TypeTable {
    lowered: FxHashMap<sema::Ty, Ty>,
    /// Structs and enums that have no fields yet.
    unfilled: Vec<(sema::Ty, Ty)>,
    /// Names of structs and enums.
    names: FxHashSet<Name>,
    /// Depth and size of types.
    measures: FxHashMap<sema::Ty, (u32, u64)>,
    /// The number of scalar parts of a type.
    leaves: FxHashMap<Ty, u64>,
    /// One instance of each generic struct and enum.
    some_instance: FxHashMap<Nominal, Ty>,
    instances: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Nominal {
    Struct(StructId),
    Enum(sema::EnumId),
}

impl Lowerer<'_> {
    /// The type `ty` in the current instance.
    pub(crate) fn ty(&mut self, ty: sema::Ty) -> Ty {
        let closed = self.close_ty(ty);
        self.closed_ty(closed)
    }

    /// `ty` with the current instance's type arguments.
    pub(crate) fn close_ty(&mut self, ty: sema::Ty) -> sema::Ty {
        let subst = self.subst();
        self.types.substitute(ty, &subst)
    }

    /// A type without type parameters.
    pub(crate) fn closed_ty(&mut self, ty: sema::Ty) -> Ty {
        let lowered = self.lower_ty(ty);
        // Fields are filled in later, so that chains of structs do not recurse.
        while let Some((source, target)) = self.lowered_types.unfilled.pop() {
            self.fill(source, target);
        }
        lowered
    }

    fn lower_ty(&mut self, ty: sema::Ty) -> Ty {
        if let Some(&lowered) = self.lowered_types.lowered.get(&ty) {
            return lowered;
        }
        let lowered = self.lower_new_ty(ty);
        self.lowered_types.lowered.insert(ty, lowered);
        lowered
    }

    fn lower_new_ty(&mut self, ty: sema::Ty) -> Ty {
        match self.types.kind(ty).clone() {
            // A value of type `!` never exists.
            sema::TyKind::Never => self.world.types.unit(),
            // The instance of the function that gets it knows all about it.
            sema::TyKind::Generic(_) => self.world.types.unit(),
            sema::TyKind::Prim(prim) => self.world.types.prim(prim),
            sema::TyKind::Tuple(parts) => {
                let parts = self.lower_tys(&parts);
                self.world.types.tuple(&parts)
            }
            sema::TyKind::Array(elem, len) => {
                let elem = self.lower_ty(elem);
                let len = self.length(ty, len, 0..=sema::MAX_ARRAY_LEN);
                self.world.types.array(elem, len)
            }
            sema::TyKind::Slice(elem) => {
                let elem = self.lower_ty(elem);
                self.world.types.slice(elem)
            }
            sema::TyKind::Simd(elem, lanes) => {
                let lanes = self.length(ty, lanes, 1..=sema::MAX_LANES);
                self.lower_vector(ty, elem, lanes)
            }
            sema::TyKind::Ptr { space, pointee, .. } => {
                let pointee = self.lower_ty(pointee);
                self.world.types.ptr(pointee, space)
            }
            sema::TyKind::Fn { params, ret } => {
                let params = self.lower_tys(&params);
                let ret = self.lower_ret(ret);
                self.cn(&params, ret)
            }
            sema::TyKind::Struct(id, args) => self.nominal(ty, Nominal::Struct(id), &args),
            sema::TyKind::Enum(id, args) => self.nominal(ty, Nominal::Enum(id), &args),
            sema::TyKind::Error
            | sema::TyKind::Param(_)
            | sema::TyKind::Number(_)
            | sema::TyKind::Arith(..)
            | sema::TyKind::Infer(_) => {
                unreachable!("a program without errors has known types where types are expected")
            }
        }
    }

    /// `ty`, a vector of `elem`; see `vectors`.
    fn lower_vector(&mut self, ty: sema::Ty, elem: sema::Ty, lanes: u64) -> Ty {
        match *self.types.kind(elem) {
            sema::TyKind::Struct(id, _) => {
                // What is wrong with the struct is reported there.
                let lane = self.lower_ty(elem);
                if lanes == 1 {
                    return lane;
                }
                let name = self.instance_name(ty, self.program.structs[id].name);
                let vector = self.world.types.declare_struct(name).1;
                self.lowered_types.unfilled.push((ty, vector));
                vector
            }
            sema::TyKind::Enum(..) | sema::TyKind::Fn { .. } => {
                let elem = self.lower_ty(elem);
                if lanes == 1 { elem } else { self.world.types.array(elem, lanes) }
            }
            _ => {
                let lane = self.lane(ty, elem);
                let elem = self.lower_ty(lane);
                self.world.types.simd(elem, lanes as u32)
            }
        }
    }

    fn lower_tys(&mut self, tys: &[sema::Ty]) -> Vec<Ty> {
        tys.iter().map(|&ty| self.lower_ty(ty)).collect()
    }

    /// The type of the return continuation for a result; `None` for `!`.
    pub(crate) fn lower_ret(&mut self, ret: sema::Ty) -> Option<Ty> {
        if ret == self.types.never() {
            return None;
        }
        let parts = self.types.result_params(ret);
        let parts = self.lower_tys(&parts);
        Some(self.cn(&parts, None))
    }

    /// `cn(mem, params.., ret)`
    pub(crate) fn cn(&mut self, params: &[Ty], ret: Option<Ty>) -> Ty {
        let mem = self.world.types.mem();
        let all: Vec<Ty> = std::iter::once(mem).chain(params.iter().copied()).chain(ret).collect();
        self.world.types.cn(&all)
    }

    /// An instance of a struct or enum, to be filled later.
    fn nominal(&mut self, ty: sema::Ty, which: Nominal, args: &[sema::Ty]) -> Ty {
        let (name, span) = match which {
            Nominal::Struct(id) => (self.program.structs[id].name, self.program.structs[id].span),
            Nominal::Enum(id) => (self.program.enums[id].name, self.program.enums[id].span),
        };
        if !args.is_empty() {
            self.lowered_types.instances += 1;
            let too_many = self.lowered_types.instances > MAX_INSTANCES;
            let tparams = match which {
                Nominal::Struct(id) => &self.program.structs[id].tparams,
                Nominal::Enum(id) => &self.program.enums[id].tparams,
            };
            self.check_numbers(tparams, args, self.world.span);
            if (too_many || !self.has_sane_size(args))
                && let Some(&instance) = self.lowered_types.some_instance.get(&which)
            {
                self.report_instances(too_many, name, span);
                return instance;
            }
        }
        let name = self.instance_name(ty, name);
        let lowered = match which {
            Nominal::Struct(_) => self.world.types.declare_struct(name).1,
            Nominal::Enum(_) => self.world.types.declare_enum(name).1,
        };
        self.lowered_types.some_instance.entry(which).or_insert(lowered);
        self.lowered_types.unfilled.push((ty, lowered));
        lowered
    }

    /// Reports, once for each name, that there are too many instances.
    pub(crate) fn report_instances(&mut self, too_many: bool, name: Name, at: Span) {
        let known = self.errors.iter().any(|error| match error {
            LowerError::EndlessInstances { name: other, .. }
            | LowerError::HugeInstance { name: other, .. } => *other == name,
            _ => false,
        });
        if !known {
            self.errors.push(match too_many {
                true => LowerError::EndlessInstances { name, at, limit: MAX_INSTANCES },
                false => LowerError::HugeInstance { name, at },
            });
        }
    }

    /// Whether type arguments are within the limits.
    pub(crate) fn has_sane_size(&mut self, args: &[sema::Ty]) -> bool {
        args.iter().all(|&arg| {
            let (depth, size) = self.measure(arg);
            depth <= MAX_DEPTH && size <= MAX_SIZE
        })
    }

    /// Depth and written size of a type.
    fn measure(&mut self, ty: sema::Ty) -> (u32, u64) {
        if let Some(&measure) = self.lowered_types.measures.get(&ty) {
            return measure;
        }
        let parts: Vec<sema::Ty> = match self.types.kind(ty) {
            sema::TyKind::Tuple(parts) => parts.to_vec(),
            sema::TyKind::Struct(_, args) | sema::TyKind::Enum(_, args) => args.to_vec(),
            sema::TyKind::Generic(generic) => generic.args.to_vec(),
            sema::TyKind::Fn { params, ret } => params.iter().copied().chain([*ret]).collect(),
            sema::TyKind::Array(part, _)
            | sema::TyKind::Slice(part)
            | sema::TyKind::Simd(part, _)
            | sema::TyKind::Ptr { pointee: part, .. } => vec![*part],
            _ => vec![],
        };
        let (mut depth, mut size) = (0, 1u64);
        for part in parts {
            let (part_depth, part_size) = self.measure(part);
            depth = depth.max(part_depth);
            size = size.saturating_add(part_size);
        }
        self.lowered_types.measures.insert(ty, (depth + 1, size));
        (depth + 1, size)
    }

    /// A name that no other type has: `Buf[f32]`.
    fn instance_name(&mut self, ty: sema::Ty, base: Name) -> Name {
        let (_, size) = self.measure(ty);
        let full =
            if size <= MAX_NAME_SIZE { self.types.display(ty).to_string() } else { format!("{base}[..]") };
        let mut name = Name::new(&full);
        let mut n = 1;
        while !self.lowered_types.names.insert(name) {
            name = Name::new(&format!("{full}.{n}"));
            n += 1;
        }
        name
    }

    /// Sets the fields or options of an instance.
    fn fill(&mut self, source: sema::Ty, target: Ty) {
        match (self.types.kind(source).clone(), self.world.types.kind(target).clone()) {
            (sema::TyKind::Struct(id, args), TyKind::Struct(target)) => {
                let item = &self.program.structs[id];
                let subst = bind(&item.tparams, &args);
                let fields = item
                    .fields
                    .iter()
                    .map(|field| FieldData { name: field.name, ty: self.field_ty(field.ty, &subst) });
                let fields = fields.collect();
                self.world.types.structs[target].fields = fields;
            }
            (sema::TyKind::Simd(elem, lanes), TyKind::Struct(target)) => {
                let sema::TyKind::Struct(id, args) = self.types.kind(elem).clone() else {
                    unreachable!("only vectors of structs are structs")
                };
                let item = &self.program.structs[id];
                let subst = bind(&item.tparams, &args);
                let fields = item.fields.iter().map(|field| {
                    let ty = self.types.substitute(field.ty, &subst);
                    let ty = if field.is_uniform { ty } else { self.types.vector(ty, lanes) };
                    FieldData { name: field.name, ty: self.lower_ty(ty) }
                });
                let fields = fields.collect();
                self.world.types.structs[target].fields = fields;
            }
            (sema::TyKind::Enum(id, args), TyKind::Enum(target)) => {
                let item = &self.program.enums[id];
                let subst = bind(&item.tparams, &args);
                let options = item.options.iter().map(|option| {
                    let payload: Vec<Ty> =
                        option.fields.iter().map(|field| self.field_ty(field.ty, &subst)).collect();
                    OptionData { name: option.name, payload: self.world.types.tuple(&payload) }
                });
                let options = options.collect();
                self.world.types.enums[target].options = options;
            }
            _ => unreachable!("only structs and enums wait for their parts"),
        }
    }

    fn field_ty(&mut self, ty: sema::Ty, subst: &Subst) -> Ty {
        let ty = self.types.substitute(ty, subst);
        self.lower_ty(ty)
    }

    /// The number of scalar parts of a value of `ty`.
    pub(crate) fn leaves(&mut self, ty: Ty) -> u64 {
        if let Some(&leaves) = self.lowered_types.leaves.get(&ty) {
            return leaves;
        }
        let leaves = match self.world.types.kind(ty).clone() {
            TyKind::Tuple(parts) => self.leaves_of(&parts),
            TyKind::Struct(id) => {
                let fields: Vec<Ty> =
                    self.world.types.structs[id].fields.iter().map(|field| field.ty).collect();
                self.leaves_of(&fields)
            }
            TyKind::Array { elem, len } => self.leaves(elem).saturating_mul(len),
            _ => 1,
        };
        self.lowered_types.leaves.insert(ty, leaves);
        leaves
    }

    fn leaves_of(&mut self, parts: &[Ty]) -> u64 {
        parts.iter().fold(0, |sum, &part| sum.saturating_add(self.leaves(part)))
    }
}

/// Type parameters with their arguments.
pub(crate) fn bind(tparams: &[TyParam], args: &[sema::Ty]) -> Subst {
    tparams.iter().copied().zip(args.iter().copied()).collect()
}
