//! Conversion of written types to types.
//!
//! Little text can describe a huge type (repeated `type B = (A, A);`). So the size of
//! every type is checked here, and too large ones are reported.

use nyala_span::Span;
use nyala_syntax::ast::{self, AddrSpace, PtrKind, Ret, TypeExpr, TypeKind};
use rustc_hash::FxHashMap;

use crate::checker::Checker;
use crate::errors::{Error, Namespace};
use crate::scope::{AliasId, Def};
use crate::types::{Prim, Ty, TyKind, TyParam};

/// The maximum nesting depth of types.
pub(crate) const MAX_TYPE_DEPTH: u16 = 256;

/// The maximum number of parts of a type when written out.
pub(crate) const MAX_TYPE_SIZE: u32 = 1_000_000;

/// Generic, global, texture, shared, constant memory, and the input variables of shaders.
const ADDRESS_SPACES: [u32; 6] = [0, 1, 2, 3, 4, 8];

impl<'a> Checker<'a> {
    /// The type that a written type denotes.
    pub fn convert(&mut self, ty: &'a TypeExpr) -> Ty {
        let converted = match &ty.kind {
            TypeKind::Path { path, args } => self.convert_path(path, args),
            TypeKind::Paren(inner) => return self.convert(inner),
            TypeKind::Tuple(parts) => {
                let parts = self.convert_sized_all(parts);
                self.program.types.tuple(&parts)
            }
            TypeKind::Array { elem, len } => {
                let elem = self.convert_sized(elem);
                match self.length(len) {
                    Some(len) => self.program.types.intern(TyKind::Array(elem, len)),
                    None => self.program.types.error(),
                }
            }
            TypeKind::Slice(elem) => {
                let elem = self.convert_sized(elem);
                self.program.types.intern(TyKind::Slice(elem))
            }
            TypeKind::Simd { elem, len } => self.convert_simd(elem, len),
            TypeKind::Ptr { kind, space, pointee } => self.convert_ptr(*kind, *space, pointee),
            TypeKind::Fn { tparams, .. } if !tparams.is_empty() => {
                self.report(Error::GenericFnType { span: ty.span });
                self.program.types.error()
            }
            TypeKind::Fn { params, ret, .. } => self.convert_fn(params, ret.as_deref(), ty.span),
            TypeKind::Cn(params) => {
                let params = self.convert_sized_all(params);
                let never = self.program.types.never();
                self.program.types.func(&params, never)
            }
            TypeKind::Typeof(expr) => self.infer_expr(expr, None).ty,
            TypeKind::Number(_) => {
                self.report(Error::TypeNeeded { span: ty.span });
                self.program.types.error()
            }
            TypeKind::Error => {
                self.body.has_errors = true;
                self.program.types.error()
            }
        };
        self.bounded(converted, ty.span)
    }

    /// `fn(A) -> R`
    pub fn convert_fn(&mut self, params: &'a [TypeExpr], ret: Option<&'a Ret>, span: Span) -> Ty {
        let params = self.convert_sized_all(params);
        let ret = match ret {
            Some(ret) => self.convert_ret(ret),
            None if self.body.home.edition_2015 => self.program.types.never(),
            None => {
                self.report(Error::MissingResult { span: span.end() });
                self.program.types.error()
            }
        };
        self.program.types.func(&params, ret)
    }

    /// The result type after `->`.
    pub fn convert_ret(&mut self, ret: &'a Ret) -> Ty {
        match ret {
            Ret::Type(ty) => self.convert_sized(ty),
            Ret::Never(_) => self.program.types.never(),
        }
    }

    /// A type whose values have a size.
    pub fn convert_sized(&mut self, ty: &'a TypeExpr) -> Ty {
        let converted = self.convert(ty);
        self.sized(converted, ty.span)
    }

    fn convert_sized_all(&mut self, tys: &'a [TypeExpr]) -> Vec<Ty> {
        tys.iter().map(|ty| self.convert_sized(ty)).collect()
    }

    /// `ty`, or the error type if its values have no size.
    pub fn sized(&mut self, ty: Ty, span: Span) -> Ty {
        let resolved = self.resolve(ty);
        if matches!(self.program.types.kind(resolved), TyKind::Slice(_)) {
            let ty = self.shown(ty);
            self.report(Error::Unsized { ty, span });
            return self.program.types.error();
        }
        ty
    }

    /// `ty`, or the error type if it is too large.
    pub fn bounded(&mut self, ty: Ty, span: Span) -> Ty {
        let info = self.program.types.info(ty);
        if info.depth <= MAX_TYPE_DEPTH && info.size <= MAX_TYPE_SIZE {
            return ty;
        }
        // A type with an error may be large because of the error.
        if !info.has_error {
            self.report(Error::TypeTooLarge { span });
        }
        self.program.types.error()
    }

    fn convert_simd(&mut self, elem: &'a TypeExpr, len: &'a ast::Expr) -> Ty {
        let lane = self.convert(elem);
        let lanes = self.lanes(len);
        match (self.lane(lane, elem.span), lanes) {
            (Some(lane), Some(lanes)) => self.program.types.vector(lane, lanes),
            _ => self.program.types.error(),
        }
    }

    /// `ty` as the element type of a vector.
    pub fn lane(&mut self, ty: Ty, span: Span) -> Option<Ty> {
        let resolved = self.resolve(ty);
        match self.program.types.kind(resolved) {
            // What a type parameter stands for is checked in each instance.
            TyKind::Prim(_)
            | TyKind::Ptr { .. }
            | TyKind::Struct(..)
            | TyKind::Enum(..)
            | TyKind::Fn { .. }
            | TyKind::Infer(_)
            | TyKind::Param(_) => Some(resolved),
            TyKind::Tuple(parts) if !parts.is_empty() => Some(resolved),
            TyKind::Array(..) => Some(resolved),
            TyKind::Error => None,
            _ => {
                let ty = self.shown(resolved);
                self.report(Error::SimdElement { ty, span });
                None
            }
        }
    }

    fn convert_ptr(&mut self, kind: PtrKind, space: Option<AddrSpace>, pointee: &'a TypeExpr) -> Ty {
        let pointee = self.convert(pointee);
        let space = match space {
            None => 0,
            Some(AddrSpace { number: Some(number), .. }) if ADDRESS_SPACES.contains(&number) => number,
            Some(AddrSpace { span, .. }) => {
                self.report(Error::AddrSpace { span });
                return self.program.types.error();
            }
        };
        self.program.types.ptr(kind, space, pointee)
    }

    fn convert_path(&mut self, path: &'a ast::Path, args: &'a [TypeExpr]) -> Ty {
        if let [single] = &*path.segments
            && let Some(prim) = prim_named(single.name.as_str())
            && self.lookup(single.name).is_none()
        {
            if !args.is_empty() {
                self.type_arg_count(format!("`{}`", single.name), 0, args.len(), path.span);
            }
            return self.program.types.prim(prim);
        }
        let (def, level) = self.resolve_path(path, Namespace::Type);
        let tparams = self.tparams_of(def);
        let mut tys = self.generic_args(args, &tparams);
        // Their fields may hold a value of the argument.
        if let Def::Struct(_) | Def::Enum(_) = def {
            tys = tys.into_iter().zip(args).map(|(ty, arg)| self.sized(ty, arg.span)).collect();
        }
        let what = match self.apply_type_def(def, &tys, path, level) {
            Ok(ty) => return ty,
            Err(what) => what,
        };
        let last = path.segments.last().expect("a path has at least one segment");
        self.report(Error::NotAType { name: last.name, what, wanted: "a type", span: path.span });
        self.program.types.error()
    }

    /// The parameters of a generic item.
    pub fn tparams_of(&self, def: Def) -> Vec<TyParam> {
        match def {
            Def::Struct(id) => self.program.structs[id].tparams.clone(),
            Def::Enum(id) | Def::Option(id, _) => self.program.enums[id].tparams.clone(),
            Def::Alias(id) => self.aliases[id].tparams.clone(),
            Def::Fn(id) => self.program.fns[id].tparams.clone(),
            Def::Local(id) => {
                let signature = self.program.types.signature(self.program.locals[id].ty);
                signature.map_or(vec![], |signature| signature.tparams.clone())
            }
            _ => vec![],
        }
    }

    /// A type definition applied to type arguments; `Err` has the noun of a definition that is no type.
    fn apply_type_def(
        &mut self,
        def: Def,
        args: &[Ty],
        path: &ast::Path,
        level: u32,
    ) -> Result<Ty, &'static str> {
        Ok(match def {
            Def::Struct(id) => {
                let n = self.program.structs[id].tparams.len();
                let args = self.fit_type_args(args, n, path);
                self.program.types.intern(TyKind::Struct(id, args.into()))
            }
            Def::Enum(id) => {
                let n = self.program.enums[id].tparams.len();
                let args = self.fit_type_args(args, n, path);
                self.program.types.intern(TyKind::Enum(id, args.into()))
            }
            Def::Alias(id) => self.apply_alias(id, args, path),
            Def::TyParam(param) if self.program.types.param_prim(param).is_none() => {
                self.fit_type_args(args, 0, path);
                let ty = self.reachable_param(param, level, path.span);
                ty.unwrap_or(self.program.types.error())
            }
            Def::TyParam(_) => return Err("integer parameter"),
            Def::Error => self.program.types.error(),
            other => return Err(other.noun()),
        })
    }

    fn apply_alias(&mut self, id: AliasId, args: &[Ty], path: &ast::Path) -> Ty {
        let tparams = self.aliases[id].tparams.clone();
        let args = self.fit_type_args(args, tparams.len(), path);
        let Some(ty) = self.aliases[id].ty else {
            // Happens only for a `typeof` in the alias itself.
            let name = self.aliases[id].name;
            self.report(Error::CyclicAlias { name: name.name, span: path.span });
            return self.program.types.error();
        };
        let with = substitution(&tparams, &args);
        self.program.types.substitute(ty, &with)
    }

    /// Type arguments, one for each parameter; reports a wrong number.
    fn fit_type_args(&mut self, args: &[Ty], n: usize, path: &ast::Path) -> Vec<Ty> {
        if args.len() == n {
            return args.to_vec();
        }
        let name = path.segments.last().expect("a path has at least one segment").name;
        self.type_arg_count(format!("`{name}`"), n, args.len(), path.span);
        vec![self.program.types.error(); n]
    }

    /// Reports a wrong number of type arguments.
    pub fn type_arg_count(&mut self, what: String, expected: usize, found: usize, span: Span) {
        self.report(Error::TypeArgCount { what, expected, found, span });
    }
}

/// Maps each type parameter to its argument.
pub(crate) fn substitution(params: &[TyParam], args: &[Ty]) -> FxHashMap<TyParam, Ty> {
    params.iter().copied().zip(args.iter().copied()).collect()
}

/// The primitive type with this name.
pub(crate) fn prim_named(name: &str) -> Option<Prim> {
    let alias = match name {
        "int" => Prim::I32,
        "uint" => Prim::U32,
        "half" => Prim::F16,
        "float" => Prim::F32,
        "double" => Prim::F64,
        _ => return Prim::ALL.into_iter().find(|prim| prim.name() == name),
    };
    Some(alias)
}
