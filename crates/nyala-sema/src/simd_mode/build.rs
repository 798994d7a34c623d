//! Pieces of the tree that replace vectorial code.

use nyala_span::{Name, Span};
use nyala_syntax::ast::PtrKind;

use crate::tree::{
    Abi, Call, Expr, ExprKind, FnId, Function, Linkage, Local, LocalId, Param, Pat, PatKind, Stmt,
};
use crate::types::{ParamKind, Prim, Ty, TyKind};

use super::SimdMode;

/// The declaration of an intrinsic; `None` is its type parameter.
pub(super) struct Intrinsic<'a> {
    pub(super) symbol: &'static str,
    pub(super) params: &'a [Option<Ty>],
    pub(super) ret: Option<Ty>,
}

impl SimdMode<'_> {
    /// `()`
    pub(super) fn unit(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Tuple(vec![]), ty: self.program.types.unit(), span }
    }

    /// A variable named after another one.
    pub(super) fn new_local(&mut self, name: Name, ty: Ty, is_mut: bool, span: Span) -> LocalId {
        self.program.locals.push(Local { name, span, ty, is_mut, address_taken: false, is_captured: false })
    }

    pub(super) fn local(&self, id: LocalId, span: Span) -> Expr {
        Expr { kind: ExprKind::Local(id), ty: self.program.locals[id].ty, span }
    }

    pub(super) fn bind(&self, id: LocalId) -> Pat {
        let local = &self.program.locals[id];
        Pat { kind: PatKind::Bind(id, None), ty: local.ty, span: local.span }
    }

    pub(super) fn let_(&self, id: LocalId, init: Option<Expr>) -> Stmt {
        Stmt::Let { pat: self.bind(id), init }
    }

    pub(super) fn assign(&self, place: Expr, value: Expr) -> Stmt {
        let span = value.span;
        let (place, value) = (Box::new(place), Box::new(value));
        let kind = ExprKind::Assign { op: None, place, value, load_first: false, by: None };
        Stmt::Expr(Expr { kind, ty: self.program.types.unit(), span })
    }

    pub(super) fn block(&self, stmts: Vec<Stmt>, value: Option<Expr>, span: Span) -> Expr {
        let ty = value.as_ref().map_or(self.program.types.unit(), |value| value.ty);
        Expr { kind: ExprKind::Block { stmts, value: value.map(Box::new) }, ty, span }
    }

    /// The address of a place in memory.
    pub(super) fn address_of(&mut self, place: Expr, is_mut: bool) -> Expr {
        let (kind, span) = (if is_mut { PtrKind::Mut } else { PtrKind::Shared }, place.span);
        let ty = self.program.types.ptr(kind, 0, place.ty);
        Expr { kind: ExprKind::AddrOf(Box::new(place)), ty, span }
    }

    pub(super) fn call(&self, callee: Expr, args: Vec<Expr>, ret: Ty, span: Span) -> Expr {
        let call = Call { callee, args, is_jump: false, mark: None, break_local: None, args_first: false };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: ret, span }
    }

    /// A call of an intrinsic with these arguments. `None` in its declaration is the type `value`.
    pub(super) fn call_intrinsic(
        &mut self,
        declared: &Intrinsic<'_>,
        args: Vec<Expr>,
        value: Ty,
        span: Span,
    ) -> Expr {
        let id = self.intrinsic(declared, span);
        let function = &self.program.fns[id];
        let with = function.tparams.iter().map(|&param| (param, value)).collect();
        let (ty, ret) = (function.ty, function.ret);
        let (ty, ret) = (self.program.types.substitute(ty, &with), self.program.types.substitute(ret, &with));
        let callee = Expr { kind: ExprKind::Fn(id, vec![value]), ty, span };
        self.call(callee, args, ret, span)
    }

    /// Any value of a type.
    pub(super) fn undef(&mut self, ty: Ty, span: Span) -> Expr {
        self.call_intrinsic(&Intrinsic { symbol: "undef", params: &[], ret: None }, vec![], ty, span)
    }

    fn intrinsic(&mut self, declared: &Intrinsic<'_>, span: Span) -> FnId {
        if let Some(&known) = self.intrinsics.get(declared.symbol) {
            return known;
        }
        let tparam = self.program.types.declare_param(Name::new("T"), ParamKind::Type);
        let any = self.program.types.intern(TyKind::Param(tparam));
        let params: Vec<Ty> = declared.params.iter().map(|ty| ty.unwrap_or(any)).collect();
        let ret = declared.ret.unwrap_or(any);
        let param = |&ty: &Ty| {
            let pat = Pat { kind: PatKind::Wild, ty, span };
            Param { pat, ty, filter: None, span }
        };
        let (name, ty) = (Name::new(declared.symbol), self.program.types.func(&params, ret));
        let id = self.program.fns.push(Function {
            name,
            span,
            tparams: vec![tparam],
            params: params.iter().map(param).collect(),
            ret,
            ty,
            filter: None,
            return_local: None,
            body: None,
            linkage: Linkage::Import { abi: Abi::Intrinsic, symbol: name },
            attrs: vec![],
            role: None,
            parent: None,
        });
        self.intrinsics.insert(declared.symbol, id);
        id
    }

    pub(super) fn i32(&self) -> Ty {
        self.program.types.prim(Prim::I32)
    }

    /// An integer as an `i32`.
    pub(super) fn as_i32(&self, value: Expr) -> Expr {
        let (i32, span) = (self.i32(), value.span);
        match value.ty == i32 {
            true => value,
            false => Expr { kind: ExprKind::Cast(Box::new(value)), ty: i32, span },
        }
    }

    pub(super) fn true_(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Lit(1), ty: self.program.types.bool(), span }
    }
}
