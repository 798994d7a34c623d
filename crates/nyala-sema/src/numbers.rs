//! Written numbers to numbers in types, and written arguments to those of generic items.
//!
//! `types/number.rs` defines numbers and their invariants. Numbers that depend on parameters
//! are checked when the parameters are known: `nyala-lower` reports what an instance makes of them.

use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, ChainLink, Expr, ExprKind, LitKind, TypeExpr, TypeKind, UnaryOp};

use crate::checker::Checker;
use crate::convert::prim_named;
use crate::errors::{Error, Namespace};
use crate::scope::Def;
use crate::types::{MAX_ARRAY_LEN, MAX_LANES, NumberOp, ParamKind, Prim, Ty, TyKind, TyParam, fits};

const WHAT_A_NUMBER_IS: &str = "a length must be an integer literal, an integer parameter, an immutable static with a literal value, or computed from those";

impl<'a> Checker<'a> {
    /// What written parameters of a generic item stand for.
    pub fn declare_tparams(&mut self, params: &'a [ast::GenericParam]) -> Vec<TyParam> {
        let mut declared = Vec::with_capacity(params.len());
        for param in params {
            let kind = param.ty.as_ref().map_or(ParamKind::Type, |ty| self.number_kind(param.name.name, ty));
            declared.push(self.program.types.declare_param(param.name.name, kind));
        }
        declared
    }

    /// The integer type of an integer parameter. Only a primitive type by its name: parameters are
    /// declared before any other name means something.
    fn number_kind(&mut self, name: Name, ty: &TypeExpr) -> ParamKind {
        let prim = match &ty.kind {
            TypeKind::Path { path, args } if args.is_empty() => match *path.segments {
                [single] => prim_named(single.name.as_str()),
                _ => None,
            },
            _ => None,
        };
        match prim.filter(|prim| prim.is_int()) {
            Some(prim) => ParamKind::Number(prim),
            None => {
                self.report(Error::NumberParamType { name, span: ty.span });
                ParamKind::Number(Prim::I32)
            }
        }
    }

    /// The arguments of a generic item with these parameters. What is one too many is taken for a type.
    pub fn generic_args(&mut self, args: &'a [TypeExpr], tparams: &[TyParam]) -> Vec<Ty> {
        let params = tparams.iter().copied().map(Some).chain(std::iter::repeat(None));
        args.iter().zip(params).map(|(arg, param)| self.generic_arg(arg, param)).collect()
    }

    fn generic_arg(&mut self, arg: &'a TypeExpr, param: Option<TyParam>) -> Ty {
        let Some(param) = param.filter(|&param| self.program.types.param_prim(param).is_some()) else {
            return self.convert(arg);
        };
        let number = match &arg.kind {
            TypeKind::Number(expr) => self.number(expr),
            TypeKind::Path { path, args } if args.is_empty() => self.named_number(path),
            TypeKind::Paren(inner) => return self.generic_arg(inner, Some(param)),
            TypeKind::Error => None,
            _ => {
                self.report(Error::NumberNeeded { span: arg.span });
                None
            }
        };
        let number = number.and_then(|number| self.check_range(number, param, arg.span));
        number.unwrap_or_else(|| {
            self.body.has_errors = true;
            self.program.types.error()
        })
    }

    /// A number as the value of a parameter; reports it if it is known and does not fit.
    fn check_range(&mut self, number: Ty, param: TyParam, span: Span) -> Option<Ty> {
        let types = &self.program.types;
        let (name, prim) = (types.params[param].name, types.param_prim(param)?);
        let info = types.info(number);
        let is_open = info.has_param || info.has_infer;
        if is_open || types.as_number(number).is_some_and(|value| fits(prim, value)) {
            return Some(number);
        }
        self.report(Error::NumberRange { number, name, prim, span });
        None
    }

    /// The number that an expression in a type denotes. Reports an error for other expressions.
    fn number(&mut self, expr: &'a Expr) -> Option<Ty> {
        match &expr.kind {
            ExprKind::Lit(lit) if int_literal(lit).is_some() => {
                int_literal(lit).map(|value| self.program.types.number(i128::from(value)))
            }
            ExprKind::Path(path) => self.named_number(path),
            ExprKind::Paren(inner) => self.number(inner),
            ExprKind::Unary { op: UnaryOp::Minus, operand, .. } => {
                let operand = self.number(operand)?;
                let zero = self.program.types.number(0);
                Some(self.program.types.arith(NumberOp::Sub, zero, operand))
            }
            ExprKind::Chain { first, rest } => self.number_chain(first, rest),
            ExprKind::Error => {
                self.body.has_errors = true;
                None
            }
            _ => self.no_number(expr.span),
        }
    }

    fn number_chain(&mut self, first: &'a Expr, rest: &'a [ChainLink]) -> Option<Ty> {
        let mut number = self.number(first)?;
        for link in rest {
            let Some(op) = NumberOp::of(link.op) else { return self.no_number(link.op_span) };
            let rhs = self.number(&link.rhs)?;
            number = self.program.types.arith(op, number, rhs);
        }
        let number = self.bounded(number, first.span);
        (number != self.program.types.error()).then_some(number)
    }

    fn no_number(&mut self, span: Span) -> Option<Ty> {
        self.report(Error::ArrayLength { span, why: WHAT_A_NUMBER_IS });
        None
    }

    /// The number that a path names: an integer parameter or a static.
    fn named_number(&mut self, path: &'a ast::Path) -> Option<Ty> {
        let span = path.span;
        if let [single] = *path.segments
            && prim_named(single.name.as_str()).is_some()
            && self.lookup(single.name).is_none()
        {
            self.report(Error::NumberNeeded { span });
            return None;
        }
        let (def, level) = self.resolve_path(path, Namespace::Value);
        match def {
            Def::Static(id) if !self.program.statics[id].is_mut => match self.statics[id].init {
                Some(Expr { kind: ExprKind::Lit(lit), .. }) if int_literal(lit).is_some() => {
                    int_literal(lit).map(|value| self.program.types.number(i128::from(value)))
                }
                _ => self.no_number(span),
            },
            Def::TyParam(param) if self.program.types.param_prim(param).is_some() => {
                self.reachable_param(param, level, span)
            }
            Def::TyParam(_) | Def::Struct(_) | Def::Enum(_) | Def::Alias(_) => {
                self.report(Error::NumberNeeded { span });
                None
            }
            Def::Error => None,
            _ => self.no_number(span),
        }
    }

    /// A parameter of a generic item as a type or number; reports it if it belongs to a function
    /// around the item that uses it.
    pub fn reachable_param(&mut self, param: TyParam, level: u32, span: Span) -> Option<Ty> {
        // A static has one value, not one for each instance.
        if level < self.body.generic_floor.max(self.body.local_floor) {
            self.report(Error::OuterGeneric { param, span });
            return None;
        }
        Some(self.program.types.intern(TyKind::Param(param)))
    }

    /// The lanes of a vector.
    pub fn lanes(&mut self, len: &'a Expr) -> Option<Ty> {
        let number = self.number(len)?;
        self.check_lanes(number, len.span)
    }

    /// A number of lanes; reports it if it is known and no vector has so many.
    pub fn check_lanes(&mut self, number: Ty, span: Span) -> Option<Ty> {
        let lanes = self.program.types.as_length(number, MAX_LANES).unwrap_or(0);
        if lanes == 0 && self.is_known_number(number) {
            self.report(Error::ArrayLength { span, why: "a vector has between 1 and 1024 lanes" });
            return None;
        }
        Some(number)
    }

    /// The length of an array.
    pub fn length(&mut self, len: &'a Expr) -> Option<Ty> {
        let number = self.number(len)?;
        if !self.is_known_number(number) || self.program.types.as_length(number, MAX_ARRAY_LEN).is_some() {
            return Some(number);
        }
        let why = match self.program.types.as_number(number) {
            Some(value) if value < 0 => "a length cannot be negative",
            Some(_) => "this array is too long",
            None => "this length cannot be computed",
        };
        self.report(Error::ArrayLength { span: len.span, why });
        None
    }

    fn is_known_number(&self, number: Ty) -> bool {
        let info = self.program.types.info(number);
        !info.has_param && !info.has_infer && !info.has_error
    }
}

fn int_literal(lit: &ast::Lit) -> Option<u64> {
    match lit.kind {
        LitKind::Int { value, suffix } if !suffix.is_some_and(Prim::is_float) => value,
        _ => None,
    }
}
