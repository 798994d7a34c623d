//! The interface of a checked program.
//!
//! Each type is defined once, under a unique name. Pointees are defined too, but later: only the types that a type
//! contains by value must be defined before it. So types may refer to each other, and this code does not recurse.

use std::collections::VecDeque;

use nyala_sema::tree::{Abi, Function as SourceFn, Linkage, PatKind, Program};
use nyala_sema::types::{MAX_ARRAY_LEN, MAX_LANES, Prim, Ty, TyKind, TyParam, Types};
use nyala_span::Span;
use nyala_syntax::ast::PtrKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::{Names, identifier};
use crate::{Function, Interface, Signature, Static, Type, TypeDef, TypeDefKind};

/// The maximum number of definitions. Generic types may refer to ever larger ones through pointers; types beyond the
/// limit have no definition.
const MAX_TYPES: usize = 10_000;

/// The interface of a program without errors. `is_own` separates the program's functions from those of the prelude,
/// by their positions.
pub fn collect(program: &Program, is_own: impl Fn(Span) -> bool) -> Interface {
    let declared = collect_with(program, |_| true).imports;
    Interface { declared, ..collect_with(program, is_own) }
}

fn collect_with(program: &Program, is_own: impl Fn(Span) -> bool) -> Interface {
    let mut collector = Collector::new(program);
    for function in program.fns.values() {
        let (symbol, to) = match &function.linkage {
            Linkage::Export(symbol) => (symbol, Direction::Export),
            Linkage::Import { abi: Abi::C, symbol } if is_own(function.span) => (symbol, Direction::Import),
            _ => continue,
        };
        collector.function(function, symbol.as_str(), to);
    }
    for item in program.statics.values() {
        if let Linkage::Export(symbol) = &item.linkage {
            let (ty, name) = (collector.ty(item.ty), collector.declared_name(symbol.as_str()));
            let item = Static { symbol: symbol.to_string(), name, ty, is_mut: item.is_mut };
            collector.interface.statics.push(item);
        }
    }
    collector.define_all();
    collector.rename_params_and_fields();
    collector.interface
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Export,
    Import,
}

struct Collector<'a> {
    program: &'a Program,
    types: Types,
    names: Names,
    /// The names of types that have or will have a definition.
    named: FxHashMap<Ty, String>,
    /// Types that have a name and no definition yet.
    waiting: VecDeque<Ty>,
    interface: Interface,
}

impl<'a> Collector<'a> {
    fn new(program: &'a Program) -> Collector<'a> {
        let mut names = Names::default();
        let linkages = program.fns.values().map(|function| &function.linkage);
        for linkage in linkages.chain(program.statics.values().map(|item| &item.linkage)) {
            if let Linkage::Export(symbol) | Linkage::Import { symbol, .. } = linkage {
                names.reserve(symbol.as_str());
            }
        }
        Collector {
            program,
            types: program.types.clone(),
            names,
            named: FxHashMap::default(),
            waiting: VecDeque::new(),
            interface: Interface::default(),
        }
    }

    fn function(&mut self, function: &SourceFn, symbol: &str, direction: Direction) {
        let Some((params, _)) = self.types.as_fn(function.ty) else { return };
        let is_passed = |&(_, &param): &(usize, &Ty)| param != self.types.unit();
        let passed = params.iter().enumerate().filter(is_passed);
        let names = passed.map(|(index, _)| self.param_name(function, index)).collect();
        let Some(signature) = self.signature(function.ty) else { return };
        let (name, span) = (self.declared_name(symbol), function.span);
        let function = Function { symbol: symbol.to_owned(), name, params: names, signature, span };
        match direction {
            Direction::Export => self.interface.exports.push(function),
            Direction::Import => self.interface.imports.push(function),
        }
    }

    /// The name of a symbol in declarations.
    fn declared_name(&mut self, symbol: &str) -> String {
        // Symbols that are identifiers were reserved before.
        if identifier(symbol) == symbol { symbol.to_owned() } else { self.names.unique(symbol) }
    }

    /// Renames parameters and fields: their names are unique, and differ from those of types.
    fn rename_params_and_fields(&mut self) {
        let Interface { types, opaque, exports, imports, .. } = &mut self.interface;
        let mut names = Names::default();
        types.iter().map(|def| &def.name).chain(opaque.iter()).for_each(|name| names.reserve(name));
        for function in exports.iter_mut().chain(imports) {
            let mut names = names.clone();
            function.params.iter_mut().flatten().for_each(|param| *param = names.unique(param));
        }
        for def in types {
            let mut names = names.clone();
            match &mut def.kind {
                TypeDefKind::Struct(fields) => {
                    fields.iter_mut().for_each(|(name, _)| *name = names.unique(name));
                }
                TypeDefKind::Enum { options, .. } => {
                    options.iter_mut().for_each(|(name, _)| *name = names.unique(name));
                }
                TypeDefKind::Simd { .. } => {}
            }
        }
    }

    /// The type of a function. A parameter of size 0 is not passed.
    fn signature(&mut self, function: Ty) -> Option<Signature> {
        let (params, ret) = self.types.as_fn(function)?;
        let params: Vec<Ty> = params.iter().copied().filter(|&param| param != self.types.unit()).collect();
        let params = params.into_iter().map(|param| self.value(param)).collect();
        Some(Signature { params, result: self.value(ret) })
    }

    fn param_name(&self, function: &SourceFn, index: usize) -> Option<String> {
        match function.params.get(index)?.pat.kind {
            PatKind::Bind(local, _) => Some(identifier(self.program.locals[local].name.as_str())),
            _ => None,
        }
    }

    /// A type as a parameter or result: C passes arrays in structs, and addresses of functions.
    fn value(&mut self, ty: Ty) -> Type {
        match self.types.kind(ty) {
            TyKind::Array(..) => Type::Named(self.name(ty)),
            // The types of these functions contain no functions, so this ends.
            TyKind::Fn { .. } => {
                self.signature(ty).map_or(Type::Void, |signature| Type::Function(Box::new(signature)))
            }
            _ => self.ty(ty),
        }
    }

    /// A type, as a part of another.
    fn ty(&mut self, mut ty: Ty) -> Type {
        // From the outside in: pointers and arrays, then the innermost type.
        let mut around = vec![];
        let mut inner = loop {
            match *self.types.kind(ty) {
                TyKind::Ptr { kind, pointee, .. } => {
                    around.push(Wrapper::Ptr { is_mut: kind != PtrKind::Shared });
                    // A pointer to elements has no length.
                    ty = match *self.types.kind(pointee) {
                        TyKind::Slice(elem) | TyKind::Array(elem, _) => elem,
                        _ => pointee,
                    };
                    if matches!(self.types.kind(ty), TyKind::Array(..)) {
                        break Type::Named(self.name(ty));
                    }
                }
                TyKind::Array(elem, len) => {
                    // What is no length is an error of the program.
                    let len = self.types.as_length(len, MAX_ARRAY_LEN).unwrap_or(0);
                    around.push(Wrapper::Array { len });
                    ty = elem;
                }
                TyKind::Prim(prim) => break primitive(prim),
                TyKind::Never => break Type::Never,
                TyKind::Tuple(ref parts) if parts.is_empty() => break Type::Void,
                TyKind::Tuple(_) | TyKind::Struct(..) | TyKind::Enum(..) | TyKind::Simd(..) => {
                    break Type::Named(self.name(ty));
                }
                // Functions are pointees or in opaque types only.
                _ => break Type::Void,
            }
        };
        for around in around.into_iter().rev() {
            inner = match around {
                Wrapper::Ptr { is_mut } => Type::ptr(is_mut, inner),
                Wrapper::Array { len } => Type::Array { elem: Box::new(inner), len },
            };
        }
        inner
    }

    /// The name of a type, which will be defined with it.
    fn name(&mut self, ty: Ty) -> String {
        if let Some(name) = self.named.get(&ty) {
            return name.clone();
        }
        let wanted = match self.types.kind(ty) {
            TyKind::Tuple(_) => "tuple",
            TyKind::Array(..) => "array",
            TyKind::Simd(..) => "simd",
            _ => "",
        };
        let wanted = format!("{wanted}{}", words(&self.types.display(ty).to_string()));
        let name = self.names.unique(wanted.trim_start_matches('_'));
        self.named.insert(ty, name.clone());
        self.waiting.push_back(ty);
        name
    }

    /// Defines all types that have a name, and those that their definitions use.
    fn define_all(&mut self) {
        let mut seen = FxHashSet::default();
        let mut opaque = FxHashSet::default();
        while let Some(root) = self.waiting.pop_front() {
            // Contained types come first: a type is visited again after its parts.
            let mut stack = vec![(root, false)];
            while let Some((ty, are_parts_done)) = stack.pop() {
                let parts = self.parts(ty);
                if are_parts_done {
                    let is_opaque = |part: &Ty| {
                        opaque.contains(part) || matches!(self.types.kind(*part), TyKind::Fn { .. })
                    };
                    if parts.iter().any(is_opaque) || self.interface.types.len() >= MAX_TYPES {
                        opaque.insert(ty);
                    }
                    self.define(ty, opaque.contains(&ty));
                } else if seen.insert(ty) {
                    stack.push((ty, true));
                    stack.extend(parts.into_iter().map(|part| (part, false)));
                }
            }
        }
    }

    /// The types that a type contains by value.
    fn parts(&mut self, ty: Ty) -> Vec<Ty> {
        match self.types.kind(ty) {
            TyKind::Tuple(parts) => parts.to_vec(),
            TyKind::Array(elem, _) => vec![*elem],
            TyKind::Struct(..) => self.struct_fields(ty).into_iter().map(|(_, ty)| ty).collect(),
            TyKind::Enum(..) => {
                self.enum_options(ty).into_iter().flat_map(|(_, fields)| fields).map(|(_, ty)| ty).collect()
            }
            _ => vec![],
        }
    }

    /// Defines a type whose parts are defined. Arrays have a definition only where they
    /// have a name: elsewhere they are parts.
    fn define(&mut self, ty: Ty, is_opaque: bool) {
        let kind = self.types.kind(ty).clone();
        let needs_definition = match kind {
            TyKind::Array(..) => self.named.contains_key(&ty),
            TyKind::Tuple(ref parts) => !parts.is_empty(),
            TyKind::Struct(..) | TyKind::Enum(..) | TyKind::Simd(..) => true,
            _ => false,
        };
        if !needs_definition {
            return;
        }
        let name = self.name(ty);
        if is_opaque {
            self.interface.opaque.push(name);
            return;
        }
        let kind = match kind {
            TyKind::Tuple(parts) => {
                let fields = parts.iter().enumerate().map(|(index, &part)| (format!("e{index}"), part));
                self.fields(fields.collect())
            }
            TyKind::Array(..) => TypeDefKind::Struct(vec![("e".into(), self.ty(ty))]),
            TyKind::Struct(..) => {
                let fields = self.struct_fields(ty);
                self.fields(fields)
            }
            TyKind::Simd(elem, lanes) => {
                let lanes = self.types.as_length(lanes, MAX_LANES).unwrap_or(0);
                self.simd(elem, lanes as u32)
            }
            _ => self.enumeration(ty, &name),
        };
        self.interface.types.push(TypeDef { name, kind });
    }

    fn fields(&mut self, fields: Vec<(String, Ty)>) -> TypeDefKind {
        let mut names = Names::default();
        let field = |(name, ty): (String, Ty)| (names.unique(&name), self.ty(ty));
        // A field of size 0 is omitted.
        let fields = fields.into_iter().map(field).filter(|(_, ty)| *ty != Type::Void);
        TypeDefKind::Struct(fields.collect())
    }

    fn simd(&mut self, elem: Ty, lanes: u32) -> TypeDefKind {
        // Vectors of C have numbers only: `bool` is a byte, and a pointer a number.
        let (elem, bits) = match self.ty(elem) {
            elem @ (Type::Int { bits, .. } | Type::Float { bits }) => (elem, bits),
            Type::Bool => (Type::int(8, false), 8),
            _ => (Type::int(64, false), 64),
        };
        let bytes = (u64::from(bits / 8) * u64::from(lanes)).next_power_of_two();
        TypeDefKind::Simd { elem, lanes, bytes }
    }

    fn enumeration(&mut self, ty: Ty, name: &str) -> TypeDefKind {
        let mut names = Names::default();
        let mut options = vec![];
        for (option, fields) in self.enum_options(ty) {
            let mut numbered = (0..).map(|_| names.unique(&option));
            let is_free = |option: &String| self.names.try_reserve(&format!("{name}_{option}"));
            let option = numbered.find(is_free).expect("there are more numbers than names");
            let payload = match &fields[..] {
                [] => None,
                [(_, one)] => Some(self.ty(*one)),
                _ => {
                    let kind = self.fields(fields);
                    let name = self.names.unique(&format!("{name}_{option}_payload"));
                    self.interface.types.push(TypeDef { name: name.clone(), kind });
                    Some(Type::Named(name))
                }
            };
            options.push((option, payload.filter(|payload| *payload != Type::Void)));
        }
        let tag_bits = match options.len() {
            0..=0x100 => 8,
            0x101..=0x1_0000 => 16,
            _ => 32,
        };
        TypeDefKind::Enum { options, tag_bits }
    }

    fn struct_fields(&mut self, ty: Ty) -> Vec<(String, Ty)> {
        let TyKind::Struct(id, args) = self.types.kind(ty) else { return vec![] };
        let item = &self.program.structs[*id];
        let with = substitution(&item.tparams, args);
        let field = |(index, field): (usize, &nyala_sema::tree::Field)| {
            (field_name(field.name.as_str(), index), self.types.substitute(field.ty, &with))
        };
        item.fields.iter().enumerate().map(field).collect()
    }

    fn enum_options(&mut self, ty: Ty) -> Vec<(String, Vec<(String, Ty)>)> {
        let TyKind::Enum(id, args) = self.types.kind(ty) else { return vec![] };
        let item = &self.program.enums[*id];
        let with = substitution(&item.tparams, args);
        let mut option = |option: &nyala_sema::tree::EnumOption| {
            let field = |(index, field): (usize, &nyala_sema::tree::Field)| {
                (field_name(field.name.as_str(), index), self.types.substitute(field.ty, &with))
            };
            (option.name.to_string(), option.fields.iter().enumerate().map(field).collect())
        };
        item.options.iter().map(&mut option).collect()
    }
}

/// A type constructor around a type.
enum Wrapper {
    Ptr { is_mut: bool },
    Array { len: u64 },
}

fn substitution(params: &[TyParam], args: &[Ty]) -> FxHashMap<TyParam, Ty> {
    params.iter().copied().zip(args.iter().copied()).collect()
}

/// The name of a field; those without one have their number.
fn field_name(name: &str, index: usize) -> String {
    if name.is_empty() || name == "_" { format!("e{index}") } else { name.to_owned() }
}

fn primitive(prim: Prim) -> Type {
    match prim {
        Prim::Bool => Type::Bool,
        _ if prim.is_float() => Type::Float { bits: prim.bits() },
        _ => Type::int(prim.bits(), prim.is_signed()),
    }
}

/// The words in a displayed type, each after an underscore.
fn words(displayed: &str) -> String {
    let words = displayed.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty() && *word != "simd").map(|word| format!("_{word}")).collect()
}
