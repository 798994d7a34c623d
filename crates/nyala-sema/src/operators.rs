//! Declarations of operators: `fn operator +(a: V, b: V) -> V`.
//!
//! An operator belongs to the types of its operands, not to a module: it applies wherever values of these types meet.
//! `infer::overload` selects the one that an expression means.
//!
//! # Coherence
//!
//! For any two operands, at most one operator is declared. Two rules make sure that packages that do not know each
//! other never break this:
//!
//! * One operand is a struct or enum of the operator's own package; of `()`, the first one.
//! * An operand that is a type parameter `T` alone has `T` in the type of the other operand.
//!
//! For let `A` be a type of one package, and `B` of another. An operator of the first package that accepts `B` as
//! an operand has the operands `T` and `A[.. T ..]`, one of the second that accepts `A` has `B[.. U ..]` and `U`.
//! Both would need `T = B[.. U ..]` and `U = A[.. T ..]`, which is an infinite type. Inside a package, and with the
//! packages that it knows, overlapping operators are reported.

use nyala_span::Span;
use nyala_syntax::ast::{self, BinaryOp, Operator, Vis};

use crate::checker::Checker;
use crate::errors::Error;
use crate::infer::Body;
use crate::scope::PackageId;
use crate::tree::FnId;
use crate::types::{Ty, TyKind, TyParam};

impl<'a> Checker<'a> {
    /// Registers a function as an operator.
    pub fn collect_operator(&mut self, id: FnId, operator: Operator, vis: Option<Vis>) {
        let ast = self.fns[id].ast;
        if self.fns[id].home.in_block {
            self.malformed_operator(ast.name.span, "an operator is declared in a module, not in a block");
            return;
        }
        if vis == Some(Vis::Priv) {
            let why = "an operator is visible wherever the types of its operands are";
            self.malformed_operator(ast.name.span, why);
        }
        self.program.operators.entry((operator, ast.params.len())).or_default().push(id);
    }

    fn malformed_operator(&mut self, span: Span, why: impl Into<String>) {
        self.report(Error::MalformedOperator { span, why: why.into() });
    }

    /// Checks the declaration of a function if it is an operator.
    pub fn check_operator(&mut self, id: FnId) {
        let Some(operator) = self.fns[id].ast.operator.filter(|_| !self.fns[id].home.in_block) else {
            return;
        };
        if !self.check_operator_signature(id, operator) {
            return;
        }
        let params = self.fns[id].params.clone();
        if params.iter().any(|&ty| self.program.types.info(ty).has_error) {
            return;
        }
        if !self.check_operator_owner(id, operator, &params) {
            return;
        }
        if operator != Operator::Call {
            self.check_lone_params(id, &params);
        }
        self.check_operator_overlap(id, operator);
    }

    /// Whether an operator has the right number of operands and a written result.
    fn check_operator_signature(&mut self, id: FnId, operator: Operator) -> bool {
        let ast = self.fns[id].ast;
        let (span, n) = (ast.name.span, ast.params.len());
        let expected = match operator {
            Operator::Binary(BinaryOp::Sub) if matches!(n, 1 | 2) => None,
            Operator::Binary(BinaryOp::Sub) => Some("one operand or two"),
            Operator::Binary(_) if n != 2 => Some("two operands"),
            Operator::Not if n != 1 => Some("one operand"),
            Operator::Call if n == 0 => Some("at least one operand: the value that is called"),
            _ => None,
        };
        if let Some(expected) = expected {
            self.malformed_operator(span, format!("`{}` has {expected}", operator.symbol()));
            return false;
        }
        if ast.is_extern || self.fns[id].abi.is_some() || ast.link_name.is_some() {
            self.malformed_operator(span, "an operator is neither exported nor imported");
        }
        if let Some(param) = ast.params.iter().find(|param| param.is_implicit) {
            self.malformed_operator(param.span, "an operand is not implicit");
        }
        match &ast.ret {
            Some(ast::Ret::Type(_)) => true,
            Some(ast::Ret::Never(at)) => {
                self.malformed_operator(*at, "an operator returns a value");
                false
            }
            None => {
                self.malformed_operator(span, "an operator has a written result type: `-> T`");
                let error = self.program.types.error();
                self.set_result(id, error);
                false
            }
        }
    }

    /// Whether an operand belongs to the package of the operator; reports it if none does.
    fn check_operator_owner(&mut self, id: FnId, operator: Operator, params: &[Ty]) -> bool {
        let package = self.modules[self.fns[id].home.module].package;
        let candidates = if operator == Operator::Call { &params[..1] } else { params };
        let is_owned = candidates.iter().any(|&ty| self.package_of(ty) == Some(package));
        if !is_owned {
            let ast = self.fns[id].ast;
            let operands = params.iter().zip(&ast.params).map(|(&ty, param)| (ty, param.span)).collect();
            let is_call = operator == Operator::Call;
            self.report(Error::ForeignOperator { span: ast.name.span, operands, is_call });
        }
        is_owned
    }

    /// The package that a struct or enum belongs to.
    pub fn package_of(&self, ty: Ty) -> Option<PackageId> {
        let home = match *self.program.types.kind(ty) {
            TyKind::Struct(id, _) => self.structs[id].home,
            TyKind::Enum(id, _) => self.enums[id].home,
            TyKind::Simd(elem, _) => return self.package_of(elem),
            _ => return None,
        };
        Some(self.modules[home.module].package)
    }

    /// Reports an operand that is a type parameter alone, unless the other operand has it too.
    fn check_lone_params(&mut self, id: FnId, params: &[Ty]) {
        for (i, &ty) in params.iter().enumerate() {
            let TyKind::Param(param) = *self.program.types.kind(ty) else { continue };
            let others = params.iter().enumerate().filter(|&(other, _)| other != i);
            if others.into_iter().all(|(_, &other)| !self.mentions(other, param)) {
                let name = self.program.types.params[param].name;
                let span = self.fns[id].ast.params[i].span;
                self.malformed_operator(span, format!("`{name}` is not part of the other operand's type"));
            }
        }
    }

    fn mentions(&mut self, ty: Ty, param: TyParam) -> bool {
        let with = [(param, self.program.types.error())].into_iter().collect();
        self.program.types.substitute(ty, &with) != ty
    }

    fn check_operator_overlap(&mut self, id: FnId, operator: Operator) {
        let key = (operator, self.fns[id].params.len());
        let declared = self.program.operators.get(&key).map_or(&[][..], |fns| fns);
        let earlier: Vec<FnId> = declared.iter().copied().take_while(|&other| other != id).collect();
        if let Some(first) = earlier.into_iter().find(|&other| self.overlap(id, other)) {
            let (span, first) = (self.program.fns[id].span, self.program.fns[first].span);
            self.report(Error::OperatorOverlap { operator: operator.symbol(), span, first });
        }
    }

    /// Whether two operators apply to the same operands.
    fn overlap(&mut self, a: FnId, b: FnId) -> bool {
        let home = self.fns[a].home;
        self.in_own_body(Body::new(home), |this| {
            let span = this.program.fns[a].span;
            let (a, b) = (this.operand_types(a, span), this.operand_types(b, span));
            a.into_iter().zip(b).all(|(a, b)| this.unify(a, b))
        })
    }
}
