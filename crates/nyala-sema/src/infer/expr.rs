//! Expressions: dispatch to one function per kind.
//!
//! [`Checker::infer_expr`] only dispatches. The functions it calls are kept out of its
//! stack frame, because expressions nest as deeply as the parser accepts.

use nyala_span::Span;
use nyala_syntax::ast::{self, ExprKind as Ast};

use crate::checker::Checker;
use crate::convert::substitution;
use crate::errors::{Because, Error, Namespace, Write};
use crate::scope::Def;
use crate::tree::{self, Constructor, Expr, ExprKind};
use crate::types::{EnumId, StructId, Ty, TyKind, TyParam};

use super::operator::Obligation;
use super::unify::{Origin, VarKind};

impl<'a> Checker<'a> {
    /// The typed form of an expression. The hint is the type it is expected to have
    /// or to be converted to; the result may have another.
    pub fn infer_expr(&mut self, expr: &'a ast::Expr, hint: Option<Ty>) -> Expr {
        self.depth += 1;
        let mut typed = self.infer_kind(expr, hint);
        self.depth -= 1;
        typed.ty = self.bounded(typed.ty, expr.span);
        self.blame(expr.span);
        typed
    }

    fn infer_kind(&mut self, expr: &'a ast::Expr, hint: Option<Ty>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            Ast::Lit(lit) => self.literal(lit, false, span, hint),
            Ast::Path(path) => self.path_expr(path, &[], hint),
            Ast::Paren(inner) => self.infer_expr(inner, hint),
            Ast::Tuple(parts) => self.tuple(parts, span, hint),
            Ast::Array { is_simd, elems } => self.array(*is_simd, elems, span, hint),
            Ast::Repeat { is_simd, value, len } => self.repeat(*is_simd, value, len, span, hint),
            Ast::HeapArray { len, elem } => self.heap_array(len, elem, span),
            Ast::Struct { path, args, fields } => self.struct_literal(path, args, fields, span, hint),
            Ast::Update { base, fields } => self.update(base, fields, span, hint),
            Ast::Block(block) => self.block(block, hint),
            Ast::If { arms, else_block } => self.if_expr(arms, else_block.as_ref(), span, hint),
            Ast::Match { scrutinee, arms } => self.match_expr(scrutinee, arms, span, hint),
            Ast::While { cond, body } => self.while_expr(cond, body, span),
            Ast::For(ast) => self.for_expr(ast, span, hint),
            Ast::With(ast) => self.with_expr(ast, span, hint),
            Ast::Lambda(lambda) => self.lambda(lambda, span, hint),
            Ast::Asm(asm) => self.asm(asm, span),
            Ast::Unary { op, op_span, operand } => self.unary(*op, *op_span, operand, span, hint),
            Ast::Chain { first, rest } => self.chain(first, rest, hint),
            Ast::Assign { op, op_span, place, value } => self.assign(*op, *op_span, place, value, span),
            Ast::Cast { expr, ty } => self.cast(expr, ty, span),
            Ast::Ascribe { expr, ty } => self.ascribe(expr, ty),
            Ast::Call { callee, args, mark } => {
                self.call(callee, args, mark.map(|mark| mark.kind), span, hint)
            }
            Ast::TypeArgs { expr, args } => self.type_args(expr, args, span, hint),
            Ast::Field { base, field } => self.field(base, field, span),
            Ast::Error => self.error_expr(span),
        }
    }

    fn ascribe(&mut self, expr: &'a ast::Expr, ty: &'a ast::TypeExpr) -> Expr {
        let written = self.convert_sized(ty);
        let value = self.infer_expr(expr, Some(written));
        // A jump has no value, whatever type is written.
        if self.is_never(value.ty) { value } else { self.coerce(value, written, Because::Written(ty.span)) }
    }

    fn type_args(
        &mut self,
        expr: &'a ast::Expr,
        args: &'a [ast::TypeExpr],
        span: Span,
        hint: Option<Ty>,
    ) -> Expr {
        match &expr.kind {
            Ast::Path(path) if self.is_summon(path) => self.summon_expr(args, span),
            Ast::Path(path) => {
                let mut typed = self.path_expr(path, args, hint);
                typed.span = span;
                typed
            }
            Ast::Paren(inner) => self.type_args(inner, args, span, hint),
            _ => {
                self.infer_expr(expr, None);
                self.report(Error::NotGeneric { span });
                self.error_expr(span)
            }
        }
    }

    /// A name as a value.
    pub(super) fn path_expr(
        &mut self,
        path: &'a ast::Path,
        args: &'a [ast::TypeExpr],
        hint: Option<Ty>,
    ) -> Expr {
        let span = path.span;
        if args.is_empty() && self.is_summon(path) {
            return self.summon_expr(args, span);
        }
        let (def, level) = self.resolve_path(path, Namespace::Value);
        let name = path.segments.last().expect("a path has at least one segment").name;
        let is_generic = !self.tparams_of(def).is_empty();
        if matches!(def, Def::Local(_) | Def::Static(_)) && !args.is_empty() && !is_generic {
            // Probably an index, so the brackets may not contain a type.
            self.report(Error::NotGeneric { span });
            return self.error_expr(span);
        }
        if let Def::Fn(id) = def {
            // Declares it, with its parameters.
            self.fn_type(id, span);
        }
        let given = self.generic_args(args, &self.tparams_of(def));
        let what = match def {
            Def::Local(id) if is_generic && level >= self.body.local_floor => {
                let generic = self.generic_param_expr(id, &given, span);
                return generic.expect("it has a signature");
            }
            Def::Local(id) => return self.local_expr(id, level, span),
            Def::Fn(id) => return self.fn_expr(id, &given, span),
            Def::Static(id) => {
                let ty = self.static_type(id, span);
                return Expr { kind: ExprKind::Static(id), ty, span };
            }
            Def::Option(of, option) => return self.option_expr(of, option, &given, span, hint),
            Def::Struct(id) => match self.struct_expr(id, &given, span) {
                Some(expr) => return expr,
                None => def.noun(),
            },
            Def::TyParam(param) if args.is_empty() && self.program.types.param_prim(param).is_some() => {
                return self.number_expr(param, level, span);
            }
            Def::Error => return self.error_expr(span),
            other => other.noun(),
        };
        self.report(Error::NotAValue { name, what, span });
        self.error_expr(span)
    }

    /// An integer parameter as a value.
    fn number_expr(&mut self, param: TyParam, level: u32, span: Span) -> Expr {
        let prim = self.program.types.param_prim(param);
        match (self.reachable_param(param, level, span), prim) {
            (Some(number), Some(prim)) => {
                Expr { kind: ExprKind::Number(number), ty: self.program.types.prim(prim), span }
            }
            _ => self.error_expr(span),
        }
    }

    fn local_expr(&mut self, id: tree::LocalId, level: u32, span: Span) -> Expr {
        if level < self.body.local_floor {
            let name = self.program.locals[id].name;
            self.report(Error::OuterLocal { name, span });
            return self.error_expr(span);
        }
        if level < self.body.level {
            self.program.locals[id].is_captured = true;
        }
        if let Some(&function) = self.body.inferred_returns.get(&id)
            && self.as_var(self.body.returns[&id]).is_some()
        {
            let function = &self.program.fns[function];
            let (name, declared) = (function.name, function.span);
            self.report(Error::ReturnWithoutResult { name, span, declared });
            return self.error_expr(span);
        }
        let ty = self.program.locals[id].ty;
        Expr { kind: ExprKind::Local(id), ty, span }
    }

    /// A function as a value, with inference variables for type arguments that are not given.
    pub(super) fn fn_expr(&mut self, id: tree::FnId, given: &[Ty], span: Span) -> Expr {
        let ty = self.fn_type(id, span);
        let tparams = self.program.fns[id].tparams.clone();
        let what = self.program.fns[id].name;
        let args = self.instantiate(&tparams, given, &format_args!("`{what}`"), span);
        let ty = self.program.types.substitute(ty, &substitution(&tparams, &args));
        Expr { kind: ExprKind::Fn(id, args), ty, span }
    }

    /// The given type arguments, then inference variables.
    pub(super) fn instantiate(
        &mut self,
        tparams: &[TyParam],
        given: &[Ty],
        what: &dyn std::fmt::Display,
        span: Span,
    ) -> Vec<Ty> {
        // What stands for a generic function comes last, and is never written.
        let is_written = |param: &&TyParam| !self.program.types.is_generic_fn(**param);
        let n_written = tparams.iter().take_while(is_written).count();
        if given.len() > n_written {
            self.type_arg_count(what.to_string(), n_written, given.len(), span);
        }
        let given = &given[..given.len().min(n_written)];
        let missing = tparams.iter().skip(given.len());
        let fresh: Vec<Ty> = missing
            .map(|&param| {
                let name = self.program.types.params[param].name;
                let kind = match self.program.types.param_prim(param) {
                    Some(_) => VarKind::Size,
                    None => VarKind::General,
                };
                self.fresh(kind, Origin::TypeArg(name, span))
            })
            .collect();
        given.iter().copied().chain(fresh).collect()
    }

    /// An enum with type arguments that are given, expected, or unknown.
    pub(super) fn enum_type(
        &mut self,
        of: EnumId,
        given: &[Ty],
        span: Span,
        hint: Option<Ty>,
    ) -> (Ty, Vec<Ty>) {
        let tparams = self.program.enums[of].tparams.clone();
        let name = self.program.enums[of].name;
        let args = self.instantiate(&tparams, given, &format_args!("`{name}`"), span);
        let ty = self.program.types.intern(TyKind::Enum(of, args.clone().into()));
        self.prefer(ty, hint);
        (ty, args)
    }

    /// A struct with type arguments that are given, expected, or unknown.
    pub(super) fn struct_type(
        &mut self,
        id: StructId,
        given: &[Ty],
        span: Span,
        hint: Option<Ty>,
    ) -> (Ty, Vec<Ty>) {
        let tparams = self.program.structs[id].tparams.clone();
        let name = self.program.structs[id].name;
        let args = self.instantiate(&tparams, given, &format_args!("`{name}`"), span);
        let ty = self.program.types.intern(TyKind::Struct(id, args.clone().into()));
        self.prefer(ty, hint);
        (ty, args)
    }

    /// Binds unknown parts of a type as in the hint.
    pub(super) fn prefer(&mut self, ty: Ty, hint: Option<Ty>) {
        let Some(hint) = hint else { return };
        if !self.program.types.info(ty).has_infer || self.as_var(hint).is_some() {
            return;
        }
        let n_deferred = self.n_deferred();
        if !self.try_unify(ty, hint)
            && let Some(pointee) = self.pointee_hint(hint)
        {
            self.try_unify(ty, pointee);
        }
        // A hint proves nothing: what it says about computed lengths is checked where it must hold.
        self.forget_deferred(n_deferred);
    }

    fn option_expr(&mut self, of: EnumId, option: u32, given: &[Ty], span: Span, hint: Option<Ty>) -> Expr {
        let info = self.program.enums[of].options.get(option as usize);
        let Some((n_fields, is_record, name)) =
            info.map(|info| (info.fields.len(), info.is_record, info.name))
        else {
            return self.error_expr(span);
        };
        if is_record && n_fields > 0 {
            self.report(Error::NoPayload { name, span });
            return self.error_expr(span);
        }
        if n_fields == 0 {
            let (ty, _) = self.enum_type(of, given, span, hint);
            return Expr { kind: ExprKind::Variant { option, fields: vec![] }, ty, span };
        }
        let (result, args) = self.enum_type(of, given, span, None);
        let with = substitution(&self.program.enums[of].tparams, &args);
        let fields = &self.program.enums[of].options[option as usize].fields;
        let tys: Vec<Ty> = fields.iter().map(|field| field.ty).collect();
        let params: Vec<Ty> = tys.iter().map(|&ty| self.program.types.substitute(ty, &with)).collect();
        let ty = self.program.types.func(&params, result);
        Expr { kind: ExprKind::Constructor(Constructor::Option { of, option }), ty, span }
    }

    /// A tuple-like struct as its constructor, an empty one as its value.
    fn struct_expr(&mut self, id: StructId, given: &[Ty], span: Span) -> Option<Expr> {
        let is_unit = matches!(self.structs[id].ast.fields, ast::Fields::Unit);
        if !self.program.structs[id].is_tuple_like && !is_unit {
            return None;
        }
        let (result, args) = self.struct_type(id, given, span, None);
        if is_unit {
            return Some(Expr { kind: ExprKind::Struct { base: None, fields: vec![] }, ty: result, span });
        }
        let with = substitution(&self.program.structs[id].tparams, &args);
        let tys: Vec<Ty> = self.program.structs[id].fields.iter().map(|field| field.ty).collect();
        let params: Vec<Ty> = tys.iter().map(|&ty| self.program.types.substitute(ty, &with)).collect();
        let ty = self.program.types.func(&params, result);
        Some(Expr { kind: ExprKind::Constructor(Constructor::Struct(id)), ty, span })
    }

    fn asm(&mut self, asm: &'a ast::Asm, span: Span) -> Expr {
        let outputs = asm.outputs.iter().map(|(constraint, place)| {
            let place = self.infer_expr(place, None);
            self.check_writable(&place, Write::Asm);
            self.body.obligations.push(Obligation::Asm { ty: place.ty, span: place.span });
            (constraint.bytes.clone(), place)
        });
        let outputs = outputs.collect();
        let inputs = asm.inputs.iter().map(|(constraint, value)| {
            let value = self.infer_expr(value, None);
            self.body.obligations.push(Obligation::Asm { ty: value.ty, span: value.span });
            (constraint.bytes.clone(), value)
        });
        let inputs = inputs.collect();
        let bytes = |texts: &[ast::StrLit]| texts.iter().map(|text| text.bytes.clone()).collect();
        let asm = tree::Asm {
            template: asm.template.bytes.clone(),
            outputs,
            inputs,
            clobbers: bytes(&asm.clobbers),
            options: bytes(&asm.options),
        };
        Expr { kind: ExprKind::Asm(Box::new(asm)), ty: self.program.types.unit(), span }
    }
}
