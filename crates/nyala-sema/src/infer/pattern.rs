//! Patterns.

use cranelift_entity::EntityRef;
use nyala_span::Span;
use nyala_syntax::ast::{self, Ident, LitKind, PatKind as Ast};
use rustc_hash::FxHashMap;

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::{Error, Namespace, Operand};
use crate::scope::Def;
use crate::tree::{Field, LocalId, Pat, PatKind};
use crate::types::{EnumId, Prim, StructId, Ty, TyKind};

use super::unify::{Origin, VarKind};

/// The struct or option of a pattern with a path.
struct Shape {
    ty: Ty,
    name: nyala_span::Name,
    option: Option<u32>,
    /// Names and types of the fields.
    fields: Vec<(nyala_span::Name, Ty)>,
}

impl<'a> Checker<'a> {
    /// A pattern that matches values of type `ty`; its names go into the innermost scope.
    pub fn check_pat(&mut self, pat: &'a ast::Pat, ty: Ty) -> Pat {
        self.body.pattern_start = self.program.locals.len();
        self.pat(pat, ty)
    }

    /// The pattern of a parameter.
    pub(super) fn param_pat(&mut self, pat: &'a ast::Pat, ty: Ty) -> Pat {
        let pat = self.check_pat(pat, ty);
        self.body.params.extend(crate::visit::bindings(&pat));
        pat
    }

    fn pat(&mut self, pat: &'a ast::Pat, ty: Ty) -> Pat {
        let span = pat.span;
        match &pat.kind {
            Ast::Bind { is_mut, name, sub } => self.bind_pat(*is_mut, *name, sub.as_deref(), ty, span),
            Ast::Typed { pat, ty: written } => {
                let known = self.body.pat_types.remove(&written.span);
                let written_ty = known.unwrap_or_else(|| self.convert_sized(written));
                self.expect_pat_type(ty, written_ty, written.span);
                self.pat(pat, written_ty)
            }
            Ast::Paren(inner) => self.pat(inner, ty),
            Ast::Tuple(parts) => self.tuple_pat(parts, ty, span),
            Ast::Lit { neg, lit } => self.literal_pat(*neg, lit, ty, span),
            Ast::Option { path, args } => self.option_pat(path, args.as_deref(), ty, span),
            Ast::Record { path, fields, rest } => self.record_pat(path, fields, *rest, ty, span),
            Ast::Array(parts) => self.array_pat(parts, false, ty, span),
            Ast::Simd(parts) => self.array_pat(parts, true, ty, span),
            Ast::Error => self.error_pat(span),
        }
    }

    fn error_pat(&mut self, span: Span) -> Pat {
        self.body.has_errors = true;
        Pat { kind: PatKind::Error, ty: self.program.types.error(), span }
    }

    /// Reports an error if values of type `found` are not of type `expected`.
    fn expect_pat_type(&mut self, found: Ty, expected: Ty, span: Span) -> bool {
        // An expression that never produces a value is never matched.
        if self.is_never(found) || self.unify(found, expected) {
            return true;
        }
        let (expected, of_value) = (self.shown(expected), self.shown(found));
        let because = crate::errors::Because::Nothing;
        let found = Operand { ty: expected, span, is_tight: false };
        self.report(Error::Mismatch { expected: of_value, found, because, semicolon: None });
        false
    }

    fn bind_pat(&mut self, is_mut: bool, name: Ident, sub: Option<&'a ast::Pat>, ty: Ty, span: Span) -> Pat {
        if !is_mut && sub.is_none() {
            // A single name may be an option that a `use` imports.
            if let Some(Def::Option(of, option)) = self.lookup(name.name) {
                let shape = self.option_shape(of, option, span);
                return self.fill_shape(shape, &[], ty, span);
            }
        }
        if self.is_anonymous(name) {
            return match sub {
                Some(sub) => self.pat(sub, ty),
                None => Pat { kind: PatKind::Wild, ty, span },
            };
        }
        let ty = self.sized(ty, span);
        let local = self.new_local(name, ty, is_mut);
        let level = self.body.level;
        if let Err(old) = self.body.scopes.define(name.name, Def::Local(local), name.span, level) {
            let is_own = |id: LocalId| id.index() >= self.body.pattern_start;
            match old.def {
                Def::Local(id) if is_own(id) => {
                    self.report(Error::BoundTwice { name: name.name, span: name.span, first: old.span });
                }
                _ => self.report_redefinition(name.name, name.span, old.span),
            }
        }
        let sub = sub.map(|sub| Box::new(self.pat(sub, ty)));
        Pat { kind: PatKind::Bind(local, sub), ty, span }
    }

    fn tuple_pat(&mut self, parts: &'a [ast::Pat], ty: Ty, span: Span) -> Pat {
        let resolved = self.resolve(ty);
        let tys = match self.program.types.kind(resolved).clone() {
            TyKind::Tuple(tys) if tys.len() == parts.len() => tys.into_vec(),
            TyKind::Infer(_) => {
                let tys: Vec<Ty> = parts.iter().map(|part| self.fresh_general(part.span)).collect();
                let tuple = self.program.types.tuple(&tys);
                self.expect_pat_type(ty, tuple, span);
                tys
            }
            TyKind::Error | TyKind::Never => vec![resolved; parts.len()],
            _ => {
                let ty = self.shown(ty);
                self.report(Error::PatternType {
                    ty,
                    span,
                    what: format!("a tuple of {} patterns", parts.len()),
                });
                vec![self.program.types.error(); parts.len()]
            }
        };
        let parts = parts.iter().zip(tys).map(|(part, ty)| self.pat(part, ty)).collect();
        Pat { kind: PatKind::Parts(parts), ty, span }
    }

    fn array_pat(&mut self, parts: &'a [ast::Pat], is_simd: bool, ty: Ty, span: Span) -> Pat {
        let resolved = self.resolve(ty);
        let n = self.program.types.number(parts.len() as i128);
        let elem = match self.program.types.kind(resolved).clone() {
            TyKind::Array(elem, len) if !is_simd && self.try_unify(len, n) => elem,
            TyKind::Simd(elem, lanes) if is_simd && self.try_unify(lanes, n) => elem,
            TyKind::Error | TyKind::Never => resolved,
            _ => {
                let ty = self.shown(ty);
                let kind = if is_simd { "a vector" } else { "an array" };
                self.report(Error::PatternType {
                    ty,
                    span,
                    what: format!("{kind} of {} patterns", parts.len()),
                });
                self.program.types.error()
            }
        };
        let parts = parts.iter().map(|part| self.pat(part, elem)).collect();
        Pat { kind: PatKind::Parts(parts), ty, span }
    }

    fn literal_pat(&mut self, neg: bool, lit: &'a ast::Lit, ty: Ty, span: Span) -> Pat {
        let is_float = match &lit.kind {
            LitKind::Float { .. } => true,
            LitKind::Int { suffix: Some(suffix), .. } => suffix.is_float(),
            _ => false,
        };
        if is_float {
            self.report(Error::FloatPattern { span });
            return self.error_pat(span);
        }
        if let LitKind::Str(text) = &lit.kind {
            return self.string_pat(text, ty, span);
        }
        let Some((index, lit_ty)) = self.pending_literal(lit, neg, span) else {
            return self.error_pat(span);
        };
        if !self.expect_pat_type(ty, lit_ty, span) {
            return self.error_pat(span);
        }
        let resolved = self.resolve(ty);
        if matches!(self.program.types.kind(resolved), TyKind::Prim(prim) if prim.is_float()) {
            self.report(Error::FloatPattern { span });
            return self.error_pat(span);
        }
        Pat { kind: PatKind::Lit(index), ty, span }
    }

    /// A string matches an array of its bytes and the terminating zero.
    fn string_pat(&mut self, text: &ast::StrLit, ty: Ty, span: Span) -> Pat {
        let string = self.string(text, span);
        if !self.expect_pat_type(ty, string.ty, span) {
            return self.error_pat(span);
        }
        let bytes = text.bytes.iter().copied().chain([0]);
        let byte = |byte: u8| {
            let (index, ty) = self.fixed_literal(byte.into(), Prim::U8, span);
            Pat { kind: PatKind::Lit(index), ty, span }
        };
        let parts = bytes.map(byte).collect();
        Pat { kind: PatKind::Parts(parts), ty, span }
    }

    fn option_pat(&mut self, path: &'a ast::Path, args: Option<&'a [ast::Pat]>, ty: Ty, span: Span) -> Pat {
        let args = args.unwrap_or_default();
        let Some(shape) = self.shape(path) else {
            for arg in args {
                let error = self.program.types.error();
                self.pat(arg, error);
            }
            return self.error_pat(span);
        };
        self.fill_shape(shape, args, ty, span)
    }

    fn fill_shape(&mut self, shape: Shape, args: &'a [ast::Pat], ty: Ty, span: Span) -> Pat {
        let shape = self.shape_in(shape, ty);
        let fits = self.expect_pat_type(ty, shape.ty, span);
        if fits && shape.fields.len() != args.len() {
            let (expected, found) = (shape.fields.len(), args.len());
            self.report(Error::OptionArity { name: shape.name, expected, found, span });
        }
        let error = self.program.types.error();
        let check = |(i, arg): (usize, &'a ast::Pat)| {
            let ty = shape.fields.get(i).map_or(error, |&(_, ty)| ty);
            (i as u32, self.pat(arg, ty))
        };
        let fields: Vec<(u32, Pat)> = args.iter().enumerate().map(check).collect();
        let kind = match shape.option {
            _ if !fits => PatKind::Error,
            Some(option) => PatKind::Variant(option, fields),
            None => PatKind::Struct(fields),
        };
        Pat { kind, ty, span }
    }

    /// The struct or option of a path in a pattern.
    fn shape(&mut self, path: &'a ast::Path) -> Option<Shape> {
        let name = path.segments.last().expect("a path has at least one segment").name;
        let what = match self.resolve_path(path, Namespace::Pattern).0 {
            Def::Option(of, option) => return Some(self.option_shape(of, option, path.span)),
            Def::Struct(id) => return Some(self.struct_shape(id, path.span)),
            Def::Alias(id) => {
                let ty = self.aliases[id].ty?;
                match *self.program.types.kind(ty) {
                    TyKind::Struct(id, _) => return Some(self.struct_shape(id, path.span)),
                    TyKind::Error => return None,
                    _ => "type",
                }
            }
            Def::Error => return None,
            other => other.noun(),
        };
        self.report(Error::NotAType { name, what, wanted: "an option or a struct", span: path.span });
        None
    }

    fn option_shape(&mut self, of: EnumId, option: u32, span: Span) -> Shape {
        let (ty, args) = self.enum_type(of, &[], span, None);
        let it = &self.program.enums[of];
        let with = substitution(&it.tparams, &args);
        let name = self.enums[of].ast.options[option as usize].name.name;
        let fields = it.options.get(option as usize).map(|option| field_types(&option.fields));
        let fields = fields.unwrap_or_default().into_iter();
        let fields = fields.map(|(name, ty)| (name, self.program.types.substitute(ty, &with))).collect();
        Shape { ty, name, option: Some(option), fields }
    }

    /// The shape of a pattern for a value of type `ty`: of a vector of structs, vectors.
    fn shape_in(&mut self, mut shape: Shape, ty: Ty) -> Shape {
        let ty = self.resolve(ty);
        let (TyKind::Simd(elem, lanes), TyKind::Struct(id, _)) =
            (self.program.types.kind(ty).clone(), self.program.types.kind(shape.ty).clone())
        else {
            return shape;
        };
        if !self.try_unify(elem, shape.ty) {
            return shape;
        }
        shape.ty = self.program.types.vector(shape.ty, lanes);
        for (field, (_, ty)) in self.program.structs[id].fields.iter().zip(&mut shape.fields) {
            if !field.is_uniform {
                *ty = self.program.types.vector(*ty, lanes);
            }
        }
        shape
    }

    fn struct_shape(&mut self, id: StructId, span: Span) -> Shape {
        let (ty, args) = self.struct_type(id, &[], span, None);
        let it = &self.program.structs[id];
        let (with, name) = (substitution(&it.tparams, &args), it.name);
        let fields = field_types(&it.fields).into_iter();
        let fields = fields.map(|(name, ty)| (name, self.program.types.substitute(ty, &with))).collect();
        Shape { ty, name, option: None, fields }
    }

    fn record_pat(
        &mut self,
        path: &'a ast::Path,
        fields: &'a [ast::FieldPat],
        rest: bool,
        ty: Ty,
        span: Span,
    ) -> Pat {
        let error = self.program.types.error();
        let Some(shape) = self.shape(path) else {
            for field in fields {
                self.pat(&field.pat, error);
            }
            return self.error_pat(span);
        };
        let shape = self.shape_in(shape, ty);
        let fits = self.expect_pat_type(ty, shape.ty, span);
        let numbers: FxHashMap<_, _> =
            shape.fields.iter().enumerate().map(|(i, &(name, _))| (name, i)).collect();
        let mut given: FxHashMap<usize, Span> = FxHashMap::default();
        let mut typed = vec![];
        for field in fields {
            let Ident { name, span } = field.name;
            let number = numbers.get(&name).copied();
            let field_ty = number.map_or(error, |number| shape.fields[number].1);
            let pat = self.pat(&field.pat, field_ty);
            match number {
                None => {
                    let ty = self.shown(shape.ty);
                    let similar =
                        crate::resolve::most_similar(name, shape.fields.iter().map(|field| field.0));
                    self.report(Error::NoSuchField { ty, name, span, similar });
                }
                Some(number) => match given.insert(number, span) {
                    Some(first) => self.report(Error::FieldTwice { name, span, first }),
                    None => typed.push((number as u32, pat)),
                },
            }
        }
        if !rest {
            self.check_all_fields(&shape, &given, span);
        }
        let kind = match shape.option {
            _ if !fits => PatKind::Error,
            Some(option) => PatKind::Variant(option, typed),
            None => PatKind::Struct(typed),
        };
        Pat { kind, ty, span }
    }

    fn check_all_fields(&mut self, shape: &Shape, given: &FxHashMap<usize, Span>, span: Span) {
        let all = shape.fields.iter().enumerate();
        let missing = all.filter(|(i, _)| !given.contains_key(i)).map(|(_, &(name, _))| name);
        let names: Vec<_> = missing.collect();
        if !names.is_empty() {
            self.report(Error::MissingFieldPatterns { of: shape.name, names, span });
        }
    }

    /// The type that is written in a pattern, if there is one.
    pub fn written_pat_type(&mut self, pat: &'a ast::Pat) -> Option<Ty> {
        match &pat.kind {
            Ast::Typed { ty, .. } => {
                let converted = self.convert_sized(ty);
                self.body.pat_types.insert(ty.span, converted);
                Some(converted)
            }
            Ast::Paren(inner) | Ast::Bind { sub: Some(inner), .. } => self.written_pat_type(inner),
            Ast::Array(parts) => self.written_elem_type(parts, false, pat.span),
            Ast::Simd(parts) => self.written_elem_type(parts, true, pat.span),
            Ast::Record { path, .. } | Ast::Option { path, .. } => self.named_pat_type(path),
            Ast::Tuple(parts) if !parts.is_empty() => {
                let tys: Vec<Option<Ty>> = parts.iter().map(|part| self.written_pat_type(part)).collect();
                if tys.iter().all(Option::is_none) {
                    return None;
                }
                let span = pat.span;
                let tys = tys.into_iter();
                let tys: Vec<Ty> = tys.map(|ty| ty.unwrap_or_else(|| self.fresh_general(span))).collect();
                Some(self.program.types.tuple(&tys))
            }
            _ => None,
        }
    }

    /// The type of an array or vector pattern, if the type of an element is written.
    fn written_elem_type(&mut self, parts: &'a [ast::Pat], is_simd: bool, span: Span) -> Option<Ty> {
        let written: Vec<Option<Ty>> = parts.iter().map(|part| self.written_pat_type(part)).collect();
        let elem = written.into_iter().flatten().next()?;
        let len = self.program.types.number(parts.len() as i128);
        Some(self.array_type(is_simd, elem, len, span))
    }

    /// The type of a struct that a pattern names, if it has no parameters.
    fn named_pat_type(&mut self, path: &'a ast::Path) -> Option<Ty> {
        match self.resolve_path(path, Namespace::Pattern).0 {
            Def::Struct(id) if self.program.structs[id].tparams.is_empty() => {
                Some(self.program.types.intern(TyKind::Struct(id, [].into())))
            }
            _ => None,
        }
    }

    /// The type of the variable of a `let` without value: later code must determine it.
    pub(super) fn uninitialized_type(&mut self, pat: &'a ast::Pat) -> Ty {
        match (&pat.kind, self.written_pat_type(pat)) {
            (_, Some(ty)) => ty,
            (Ast::Bind { name, .. }, None) => {
                self.fresh(VarKind::General, Origin::Local(name.name, name.span))
            }
            _ => self.fresh_general(pat.span),
        }
    }
}

fn field_types(fields: &[Field]) -> Vec<(nyala_span::Name, Ty)> {
    fields.iter().map(|field| (field.name, field.ty)).collect()
}
