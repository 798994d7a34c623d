//! Containment by value: types that contain themselves, and types that contain functions.
//!
//! A struct contains another if a field holds it by value. Type arguments count
//! if the parameter is held by value. So the checks go bottom-up: first along
//! the named structs, then along their type arguments.

use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::Checker;
use crate::convert::MAX_TYPE_SIZE;
use crate::errors::Error;
use crate::types::{EnumId, StructId, Ty, TyKind, TyParam};

/// A struct or an enum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Nominal {
    Struct(StructId),
    Enum(EnumId),
}

/// The maximum depth of containment by value.
const MAX_NESTING: u32 = 256;

/// Facts about nominal types.
#[derive(Default)]
struct Facts {
    /// Which type parameters are held by value.
    held: FxHashMap<Nominal, Vec<TyParam>>,
    /// Its depth of containment.
    nesting: FxHashMap<Nominal, u32>,
    /// The number of parts of a value; saturates.
    size: FxHashMap<Nominal, u32>,
}

impl<'a> Checker<'a> {
    /// Checks the structs and enums from these numbers on; reports those that contain themselves.
    pub fn check_containment(&mut self, first_struct: usize, first_enum: usize) {
        let structs = (first_struct..self.structs.len()).map(|i| Nominal::Struct(StructId::new(i)));
        let enums = (first_enum..self.enums.len()).map(|i| Nominal::Enum(EnumId::new(i)));
        let nominals: Vec<Nominal> = structs.chain(enums).collect();
        let mut facts = Facts::default();
        // First without type arguments: afterwards every nominal type is known to be finite.
        let order = self.check_cycles(&nominals, &facts);
        for &nominal in &order {
            let held = self.held_params(nominal, &facts);
            facts.held.insert(nominal, held);
        }
        let order = self.check_cycles(&nominals, &facts);
        for nominal in order {
            self.check_nesting(nominal, &mut facts);
        }
    }

    /// Depth-first along containment; reports cycles, and gives an order from the inside out.
    fn check_cycles(&mut self, roots: &[Nominal], facts: &Facts) -> Vec<Nominal> {
        let mut order = vec![];
        let mut is_done: FxHashMap<Nominal, bool> = FxHashMap::default();
        for &root in roots {
            let mut stack = vec![root];
            while let Some(&nominal) = stack.last() {
                match is_done.get(&nominal) {
                    Some(true) => {
                        stack.pop();
                    }
                    Some(false) => {
                        is_done.insert(nominal, true);
                        order.push(nominal);
                        stack.pop();
                    }
                    None => {
                        is_done.insert(nominal, false);
                        let parts = self.parts_by_value(nominal, facts);
                        if parts.iter().any(|part| is_done.get(part) == Some(&false)) {
                            self.report_infinite(nominal);
                        } else {
                            stack.extend(parts.into_iter().filter(|part| !is_done.contains_key(part)));
                        }
                    }
                }
            }
        }
        order
    }

    /// Reports a type that contains itself, and removes its fields so that later walks terminate.
    fn report_infinite(&mut self, nominal: Nominal) {
        let (name, span) = self.name_of(nominal);
        self.report(Error::InfiniteSize { name, span });
        self.clear_fields(nominal);
    }

    fn clear_fields(&mut self, nominal: Nominal) {
        let error = self.program.types.error();
        match nominal {
            Nominal::Struct(id) => {
                self.program.structs[id].fields.iter_mut().for_each(|field| field.ty = error);
            }
            Nominal::Enum(id) => {
                let fields = self.program.enums[id].options.iter_mut().flat_map(|option| &mut option.fields);
                fields.for_each(|field| field.ty = error);
            }
        }
    }

    fn name_of(&self, nominal: Nominal) -> (nyala_span::Name, nyala_span::Span) {
        match nominal {
            Nominal::Struct(id) => (self.program.structs[id].name, self.program.structs[id].span),
            Nominal::Enum(id) => (self.program.enums[id].name, self.program.enums[id].span),
        }
    }

    fn check_nesting(&mut self, nominal: Nominal, facts: &mut Facts) {
        let parts = self.parts_by_value(nominal, facts);
        let deepest = parts.iter().map(|part| facts.nesting.get(part).copied().unwrap_or(0)).max();
        let nesting = 1 + deepest.unwrap_or(0);
        let fields = self.field_types(nominal).into_iter();
        let size = fields.fold(1u32, |size, ty| size.saturating_add(self.value_size(ty, facts)));
        if nesting > MAX_NESTING || size > MAX_TYPE_SIZE {
            let (_, span) = self.name_of(nominal);
            self.report(Error::TypeTooLarge { span });
            self.clear_fields(nominal);
            return;
        }
        facts.nesting.insert(nominal, nesting);
        facts.size.insert(nominal, size);
    }

    /// The number of parts of a value of this type; an array counts as one element.
    /// The depth of types is bounded, so recursion is safe. Types with too many parts
    /// have been rejected before.
    fn value_size(&self, ty: Ty, facts: &Facts) -> u32 {
        match self.program.types.kind(ty) {
            TyKind::Tuple(parts) => {
                parts.iter().fold(1, |size: u32, &part| size.saturating_add(self.value_size(part, facts)))
            }
            TyKind::Array(elem, _) | TyKind::Simd(elem, _) => self.value_size(*elem, facts),
            TyKind::Struct(id, _) => facts.size.get(&Nominal::Struct(*id)).copied().unwrap_or(1),
            TyKind::Enum(id, _) => facts.size.get(&Nominal::Enum(*id)).copied().unwrap_or(1),
            _ => 1,
        }
    }

    pub(crate) fn field_types(&self, nominal: Nominal) -> Vec<Ty> {
        match nominal {
            Nominal::Struct(id) => self.program.structs[id].fields.iter().map(|field| field.ty).collect(),
            Nominal::Enum(id) => {
                let options = self.program.enums[id].options.iter();
                options.flat_map(|option| option.fields.iter().map(|field| field.ty)).collect()
            }
        }
    }

    /// The structs and enums that are held by value, in the order of fields.
    fn parts_by_value(&self, nominal: Nominal, facts: &Facts) -> Vec<Nominal> {
        let mut parts = vec![];
        self.walk_by_value(self.field_types(nominal), facts, &mut |kind| match kind {
            TyKind::Struct(id, _) => parts.push(Nominal::Struct(*id)),
            TyKind::Enum(id, _) => parts.push(Nominal::Enum(*id)),
            _ => {}
        });
        parts
    }

    fn held_params(&self, nominal: Nominal, facts: &Facts) -> Vec<TyParam> {
        let mut held = vec![];
        self.walk_by_value(self.field_types(nominal), facts, &mut |kind| {
            if let TyKind::Param(param) = kind {
                held.push(*param);
            }
        });
        held
    }

    /// Visits each type that is held by value once, type arguments included if `facts` says
    /// that they are held.
    fn walk_by_value(&self, roots: Vec<Ty>, facts: &Facts, visit: &mut dyn FnMut(&TyKind)) {
        let mut seen = FxHashSet::default();
        let mut stack = roots;
        stack.reverse();
        while let Some(ty) = stack.pop() {
            if !seen.insert(ty) {
                continue;
            }
            let kind = self.program.types.kind(ty);
            visit(kind);
            match kind {
                TyKind::Tuple(parts) => stack.extend(parts.iter().rev()),
                TyKind::Array(elem, _) | TyKind::Simd(elem, _) => stack.push(*elem),
                TyKind::Struct(id, args) => {
                    let tparams = &self.program.structs[*id].tparams;
                    let held = facts.held.get(&Nominal::Struct(*id));
                    push_held(tparams, args, held, &mut stack);
                }
                TyKind::Enum(id, args) => {
                    let tparams = &self.program.enums[*id].tparams;
                    push_held(tparams, args, facts.held.get(&Nominal::Enum(*id)), &mut stack);
                }
                _ => {}
            }
        }
    }

    /// Whether a value of this type contains a function.
    pub fn contains_function(&self, ty: Ty) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            if !seen.insert(ty) {
                continue;
            }
            match self.program.types.kind(ty) {
                TyKind::Fn { .. } => return true,
                TyKind::Tuple(parts) => stack.extend(parts),
                TyKind::Array(elem, _) | TyKind::Simd(elem, _) => stack.push(*elem),
                TyKind::Struct(id, args) => {
                    stack.extend(args);
                    stack.extend(self.field_types(Nominal::Struct(*id)));
                }
                TyKind::Enum(id, args) => {
                    stack.extend(args);
                    stack.extend(self.field_types(Nominal::Enum(*id)));
                }
                _ => {}
            }
        }
        false
    }
}

fn push_held(tparams: &[TyParam], args: &[Ty], held: Option<&Vec<TyParam>>, stack: &mut Vec<Ty>) {
    let Some(held) = held else { return };
    let args = tparams.iter().zip(args).filter(|(param, _)| held.contains(param));
    stack.extend(args.map(|(_, arg)| arg));
}
