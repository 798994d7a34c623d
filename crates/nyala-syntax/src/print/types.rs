//! Types and patterns.

use super::{BRACES, BRACKETS, PARENS, Printer};
use crate::ast::{AddrSpace, Expr, FieldPat, Lit, LitKind, Pat, PatKind, PtrKind, Ret, TypeExpr, TypeKind};

impl Printer<'_> {
    pub(super) fn ty(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Path { path, args } => {
                self.path(path);
                self.opt_types(args);
            }
            TypeKind::Tuple(types) => self.types(types),
            TypeKind::Paren(inner) => self.types(std::slice::from_ref(inner)),
            TypeKind::Array { elem, len } => self.array_type(elem, Some(len)),
            TypeKind::Slice(elem) => self.array_type(elem, None),
            TypeKind::Simd { elem, len } => {
                self.tok("simd");
                self.array_type(elem, Some(len));
            }
            TypeKind::Ptr { kind, space, pointee } => self.pointer(*kind, space.as_ref(), pointee),
            TypeKind::Fn { tparams, params, ret } => {
                self.tok("fn");
                self.opt_tparams(tparams);
                self.types(params);
                self.opt_ret(ret.as_deref());
            }
            TypeKind::Cn(params) => {
                self.tok("cn");
                self.types(params);
            }
            TypeKind::Typeof(expr) => {
                self.tok("typeof");
                self.tok("(");
                self.expr(expr);
                self.tok(")");
            }
            TypeKind::Number(expr) => self.expr(expr),
            TypeKind::Error => {}
        }
    }

    fn types(&mut self, types: &[impl std::borrow::Borrow<TypeExpr>]) {
        self.list(PARENS, types, |_| false, |printer, ty| printer.ty(ty.borrow()));
    }

    /// `[A, B]`, if there are any.
    pub(super) fn opt_types(&mut self, types: &[TypeExpr]) {
        // Empty brackets may have been written.
        if !types.is_empty() || self.at("[") {
            self.list(BRACKETS, types, |_| false, Self::ty);
        }
    }

    fn array_type(&mut self, elem: &TypeExpr, len: Option<&Expr>) {
        self.tok("[");
        self.ty(elem);
        if let Some(len) = len {
            self.space();
            self.tok("*");
            self.space();
            self.expr(len);
        }
        self.tok("]");
    }

    fn pointer(&mut self, kind: PtrKind, space: Option<&AddrSpace>, pointee: &TypeExpr) {
        self.tok(if kind == PtrKind::Owned { "~" } else { "&" });
        if kind == PtrKind::Mut {
            self.tok("mut");
        }
        match space {
            Some(space) => self.address_space(space, kind),
            None if kind == PtrKind::Mut => self.space(),
            None => {}
        }
        self.ty(pointee);
    }

    /// `[1]`, `addrspace(1)`, `global`; what follows a word is set off by a space.
    fn address_space(&mut self, space: &AddrSpace, kind: PtrKind) {
        let end = self.source.local(space.span).end;
        if !self.at("[") && kind == PtrKind::Mut {
            self.space();
        }
        let is_word = !self.at("[") && !self.at("addrspace");
        while self.pos < end {
            let start = self.next_token();
            let rest = &self.source.text[start..end];
            let word = rest.find(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_').unwrap_or(rest.len());
            self.comments_until(start);
            self.move_to(start + word.max(1));
            self.word(&rest[..word.max(1)]);
        }
        if is_word {
            self.space();
        }
    }

    /// ` -> R`
    pub(super) fn opt_ret(&mut self, ret: Option<&Ret>) {
        let Some(ret) = ret else { return };
        self.space();
        self.tok("->");
        self.space();
        match ret {
            Ret::Type(ty) => self.ty(ty),
            Ret::Never(_) => self.tok("!"),
        }
    }

    pub(super) fn lit(&mut self, lit: &Lit) {
        match &lit.kind {
            LitKind::Str(string) => self.string(string),
            _ => self.span(lit.span),
        }
    }

    // ---- Patterns -------------------------------------------------------------------

    pub(super) fn pat(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Bind { is_mut, name, sub } => {
                if *is_mut {
                    self.tok("mut");
                    self.space();
                }
                self.ident(name);
                if let Some(sub) = sub {
                    self.space();
                    self.tok("as");
                    self.space();
                    self.pat(sub);
                }
            }
            PatKind::Typed { pat, ty } => match &ty.kind {
                TypeKind::Path { args, .. } if ty.span.lo == pat.span.lo => self.path_pat(pat, args),
                _ => {
                    self.pat(pat);
                    self.type_annotation(ty);
                }
            },
            PatKind::Tuple(pats) => self.pats(PARENS, pats),
            PatKind::Paren(inner) => self.pats(PARENS, std::slice::from_ref(inner)),
            PatKind::Lit { neg, lit } => {
                if *neg {
                    self.tok("-");
                }
                self.lit(lit);
            }
            PatKind::Option { .. } | PatKind::Record { .. } => self.path_pat(pat, &[]),
            PatKind::Array(pats) => self.pats(BRACKETS, pats),
            PatKind::Simd(pats) => {
                self.tok("simd");
                self.pats(BRACKETS, pats);
            }
            PatKind::Error => {}
        }
    }

    /// An option or a struct, with type arguments inside its path.
    fn path_pat(&mut self, pat: &Pat, type_args: &[TypeExpr]) {
        match &pat.kind {
            PatKind::Option { path, args } => {
                self.generic_path(path, type_args);
                if let Some(args) = args {
                    self.pats(PARENS, args);
                }
            }
            PatKind::Record { path, fields, rest } => {
                self.generic_path(path, type_args);
                self.space();
                self.field_pats(fields, *rest);
            }
            _ => unreachable!("only options and structs have a path"),
        }
    }

    fn pats(&mut self, style: super::ListStyle, pats: &[impl std::borrow::Borrow<Pat>]) {
        self.list(style, pats, |_| false, |printer, pat| printer.pat(pat.borrow()));
    }

    /// `: T`
    pub(super) fn type_annotation(&mut self, ty: &TypeExpr) {
        self.tok(":");
        self.space();
        self.ty(ty);
    }

    fn field_pats(&mut self, fields: &[FieldPat], rest: bool) {
        let fields: Vec<_> = fields.iter().map(Some).chain(rest.then_some(None)).collect();
        self.list(
            BRACES,
            &fields,
            |_| false,
            |printer, field| match field {
                Some(field) => {
                    printer.ident(&field.name);
                    printer.space();
                    printer.tok("=");
                    printer.space();
                    printer.pat(&field.pat);
                }
                None => printer.tok("..."),
            },
        );
    }
}
