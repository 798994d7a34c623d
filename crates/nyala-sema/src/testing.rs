//! Typed trees built by hand, for tests of the checks that run over them.

use nyala_span::{Diagnostic, Name, Span};
use nyala_syntax::ast::{BinaryOp, PtrKind};

use crate::tree::{
    Abi, Call, ChainLink, Enum, EnumOption, Expr, ExprKind, Field, FnId, Function, Lambda, Linkage, Local,
    LocalId, Param, Pat, PatKind, Program, Static, StaticId, Stmt, Struct,
};
use crate::types::{Prim, Ty, TyKind};

/// Builds a program; every node gets its own span.
pub(crate) struct Build {
    pub(crate) program: Program,
    pub(crate) i32: Ty,
    pub(crate) bool: Ty,
    pub(crate) unit: Ty,
    next_pos: u32,
}

impl Build {
    pub(crate) fn new() -> Build {
        let program = Program::default();
        let types = &program.types;
        let (i32, bool, unit) = (types.prim(Prim::I32), types.bool(), types.unit());
        Build { program, i32, bool, unit, next_pos: 1 }
    }

    fn span(&mut self) -> Span {
        self.next_pos += 2;
        Span::new(self.next_pos - 2, self.next_pos - 1)
    }

    // ---- Types ----

    fn fields(&mut self, tys: &[Ty]) -> Vec<Field> {
        let field = |i: usize, ty: &Ty| Field {
            name: Name::new(["x", "y", "z"][i]),
            span: Span::NONE,
            ty: *ty,
            default: None,
            is_uniform: false,
        };
        tys.iter().enumerate().map(|(i, ty)| field(i, ty)).collect()
    }

    pub(crate) fn enum_(&mut self, name: &str, options: &[(&str, &[Ty])]) -> Ty {
        let name = Name::new(name);
        let mut built = vec![];
        for (option, tys) in options {
            let fields = self.fields(tys);
            built.push(EnumOption { name: Name::new(option), span: Span::NONE, fields, is_record: false });
        }
        let id = self.program.enums.push(Enum { name, span: Span::NONE, tparams: vec![], options: built });
        self.program.types.enum_names.push(name);
        self.program.types.intern(TyKind::Enum(id, Box::new([])))
    }

    pub(crate) fn struct_(&mut self, name: &str, tys: &[Ty]) -> Ty {
        let name = Name::new(name);
        let fields = self.fields(tys);
        let item = Struct { name, span: Span::NONE, tparams: vec![], fields, is_tuple_like: false };
        let id = self.program.structs.push(item);
        self.program.types.struct_names.push(name);
        self.program.types.intern(TyKind::Struct(id, Box::new([])))
    }

    // ---- Patterns ----

    pub(crate) fn pat(&mut self, ty: Ty, kind: PatKind) -> Pat {
        Pat { kind, ty, span: self.span() }
    }

    pub(crate) fn wild(&mut self, ty: Ty) -> Pat {
        self.pat(ty, PatKind::Wild)
    }

    pub(crate) fn lit_pat(&mut self, ty: Ty, bits: u64) -> Pat {
        self.pat(ty, PatKind::Lit(bits))
    }

    pub(crate) fn option_pat(&mut self, ty: Ty, option: u32, parts: Vec<Pat>) -> Pat {
        self.pat(ty, PatKind::Variant(option, (0..).zip(parts).collect()))
    }

    pub(crate) fn tuple_pat(&mut self, parts: Vec<Pat>) -> Pat {
        let tys: Vec<Ty> = parts.iter().map(|part| part.ty).collect();
        let ty = self.program.types.tuple(&tys);
        self.pat(ty, PatKind::Parts(parts))
    }

    pub(crate) fn local(&mut self, name: &str, ty: Ty, is_mut: bool) -> LocalId {
        let span = self.span();
        let local =
            Local { name: Name::new(name), span, ty, is_mut, address_taken: false, is_captured: false };
        self.program.locals.push(local)
    }

    pub(crate) fn bind(&mut self, local: LocalId) -> Pat {
        let ty = self.program.locals[local].ty;
        self.pat(ty, PatKind::Bind(local, None))
    }

    // ---- Expressions ----

    pub(crate) fn expr(&mut self, ty: Ty, kind: ExprKind) -> Expr {
        Expr { kind, ty, span: self.span() }
    }

    pub(crate) fn lit(&mut self, value: u64) -> Expr {
        self.expr(self.i32, ExprKind::Lit(value))
    }

    pub(crate) fn read(&mut self, local: LocalId) -> Expr {
        self.expr(self.program.locals[local].ty, ExprKind::Local(local))
    }

    pub(crate) fn read_static(&mut self, id: StaticId) -> Expr {
        self.expr(self.program.statics[id].ty, ExprKind::Static(id))
    }

    pub(crate) fn add(&mut self, lhs: Expr, rhs: Expr) -> Expr {
        let (ty, span) = (lhs.ty, lhs.span);
        let rest = vec![ChainLink { op: BinaryOp::Add, rhs, ty, span, by: None }];
        self.expr(ty, ExprKind::Chain { first: Box::new(lhs), rest })
    }

    pub(crate) fn assign(&mut self, op: Option<BinaryOp>, place: Expr, value: Expr) -> Expr {
        let (place, value) = (Box::new(place), Box::new(value));
        self.expr(self.unit, ExprKind::Assign { op, place, value, load_first: false, by: None })
    }

    pub(crate) fn addr_of(&mut self, kind: PtrKind, place: Expr) -> Expr {
        let ty = self.program.types.ptr(kind, 0, place.ty);
        self.expr(ty, ExprKind::AddrOf(Box::new(place)))
    }

    pub(crate) fn call(&mut self, callee: FnId, args: Vec<Expr>) -> Expr {
        let function = &self.program.fns[callee];
        let (ty, ret) = (function.ty, function.ret);
        let callee = self.expr(ty, ExprKind::Fn(callee, vec![]));
        let call = Call { callee, args, is_jump: false, mark: None, break_local: None, args_first: false };
        self.expr(ret, ExprKind::Call(Box::new(call)))
    }

    pub(crate) fn lambda(&mut self, params: Vec<Param>, body: Expr) -> Expr {
        let tys: Vec<Ty> = params.iter().map(|param| param.ty).collect();
        let ty = self.program.types.func(&tys, body.ty);
        let lambda = Lambda { params, filter: None, ret: body.ty, return_local: None, body };
        self.expr(ty, ExprKind::Lambda(Box::new(lambda)))
    }

    pub(crate) fn let_(&mut self, local: LocalId, init: Option<Expr>) -> Stmt {
        Stmt::Let { pat: self.bind(local), init }
    }

    pub(crate) fn block(&mut self, stmts: Vec<Stmt>, value: Option<Expr>) -> Expr {
        let ty = value.as_ref().map_or(self.unit, |value| value.ty);
        self.expr(ty, ExprKind::Block { stmts, value: value.map(Box::new) })
    }

    pub(crate) fn match_(&mut self, scrutinee: Expr, pats: Vec<Pat>) -> Expr {
        let arms = pats.into_iter().map(|pat| (pat, self.lit(0))).collect();
        self.expr(self.i32, ExprKind::Match { scrutinee: Box::new(scrutinee), arms })
    }

    // ---- Items ----

    pub(crate) fn param(&mut self, local: LocalId, filter: Option<Expr>) -> Param {
        let pat = self.bind(local);
        let (ty, span) = (pat.ty, pat.span);
        Param { pat, ty, filter, span }
    }

    /// A function that is not exported; its body may be set later.
    pub(crate) fn function(&mut self, name: &str, params: Vec<Param>, ret: Ty) -> FnId {
        let tys: Vec<Ty> = params.iter().map(|param| param.ty).collect();
        let ty = self.program.types.func(&tys, ret);
        let span = self.span();
        self.program.fns.push(Function {
            name: Name::new(name),
            span,
            tparams: vec![],
            params,
            ret,
            ty,
            filter: None,
            return_local: None,
            body: None,
            linkage: Linkage::Internal,
            attrs: vec![],
            role: None,
            parent: None,
        })
    }

    /// A function that C code defines.
    pub(crate) fn import(&mut self, name: &str, ret: Ty) -> FnId {
        let id = self.function(name, vec![], ret);
        self.program.fns[id].linkage = Linkage::Import { abi: Abi::C, symbol: Name::new(name) };
        id
    }

    /// `main`, with this body.
    pub(crate) fn main(&mut self, body: Expr) {
        let main = self.function("main", vec![], body.ty);
        self.program.fns[main].body = Some(body);
        self.program.main = Some(main);
    }

    pub(crate) fn static_(&mut self, name: &str, is_mut: bool, init: Expr) -> StaticId {
        let (ty, span) = (init.ty, self.span());
        let (name, linkage) = (Name::new(name), Linkage::Internal);
        self.program.statics.push(Static {
            name,
            span,
            ty,
            is_mut,
            init: Some(init),
            candidates: vec![],
            linkage,
        })
    }
}

/// Diagnostics in short: `code: message`.
pub(crate) fn summary(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message)).collect()
}
