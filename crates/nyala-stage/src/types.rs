//! Types of calculus terms, by unification.
//!
//! Types are optional in programs, and the machine ignores them. They are needed twice: the type of a literal such
//! as `1` follows from its use, and residual programs are compiled with the types of their parameters. The first
//! use is lenient, since functions may be used with several types before they are specialized; the second one
//! reports conflicts.

use nyala_ir::{Prim, eval};
use rustc_hash::FxHashMap;

use crate::code::{BodyKind, Closed, Code, Const, LambdaId, ParamId, Term, Ty, Value};
use crate::deep::Literal;
use crate::primitive::{Primitive, scalar_name};

/// A type variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Var(u32);

/// What is known about a type.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// The same as another variable.
    Same(Var),
    Unknown,
    /// An integer literal: any number.
    Number,
    /// A literal with a decimal point: a float.
    Decimal,
    Scalar(Prim),
    Stage,
    Ptr(Var),
    Tuple(Vec<Var>),
    Fn(Vec<Var>),
}

/// Two types that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    pub span: nyala_span::Span,
    pub message: String,
}

/// Sets the types of literals from their uses; without a use they are `int` and `float`.
pub(crate) fn set_literals(code: &mut Code, literals: &[Literal]) {
    let mut inference = Inference::new();
    let mut slots = FxHashMap::default();
    for literal in literals {
        let kind = if literal.is_decimal { Kind::Decimal } else { Kind::Number };
        slots.insert((literal.body.0, literal.slot), inference.fresh(kind));
    }
    // Conflicts are no errors here.
    inference.add(code, &slots);
    for literal in literals.iter().filter(|literal| literal.slot != usize::MAX) {
        let var = slots[&(literal.body.0, literal.slot)];
        let default = if literal.is_decimal { Prim::F32 } else { Prim::I32 };
        let prim = match inference.kind(var) {
            Kind::Scalar(prim) if *prim != Prim::Bool => *prim,
            _ => default,
        };
        let bits = match prim.is_float() {
            true => eval::float_from_value(prim, literal.value),
            false => prim.canonical(literal.value as i64 as u64),
        };
        let BodyKind::Apply { callee, args } = &mut code.bodies[literal.body.0 as usize].kind else {
            continue;
        };
        let slot = if literal.slot == 0 { Some(callee) } else { args.get_mut(literal.slot - 1) };
        if let Some(slot) = slot {
            *slot = Term::Const(Const::Scalar(prim, bits));
        }
    }
}

/// The types of all parameters of some codes.
pub(crate) struct Inference {
    kinds: Vec<Kind>,
    params: FxHashMap<(*const Code, u32), Var>,
    functions: FxHashMap<*const Code, Var>,
    pub(crate) conflicts: Vec<Conflict>,
}

/// The type of a literal by its body and position.
type Literals = FxHashMap<(u32, usize), Var>;

impl Inference {
    pub(crate) fn new() -> Inference {
        Inference {
            kinds: vec![],
            params: FxHashMap::default(),
            functions: FxHashMap::default(),
            conflicts: vec![],
        }
    }

    /// The types of a compiled function and of all functions that it uses.
    pub(crate) fn of(code: &Code) -> Inference {
        let mut inference = Inference::new();
        for code in reachable(code) {
            inference.add(code, &Literals::default());
        }
        inference
    }

    fn fresh(&mut self, kind: Kind) -> Var {
        self.kinds.push(kind);
        Var(self.kinds.len() as u32 - 1)
    }

    fn find(&self, mut var: Var) -> Var {
        while let Kind::Same(other) = self.kinds[var.0 as usize] {
            var = other;
        }
        var
    }

    fn kind(&self, var: Var) -> &Kind {
        &self.kinds[self.find(var).0 as usize]
    }

    fn scalar(&mut self, prim: Prim) -> Var {
        self.fresh(Kind::Scalar(prim))
    }

    fn of_ty(&mut self, ty: &Ty) -> Var {
        let kind = match ty {
            Ty::Scalar(prim) => Kind::Scalar(*prim),
            Ty::Stage => Kind::Stage,
            Ty::Ptr(elem) => Kind::Ptr(self.scalar(*elem)),
            Ty::Tuple(parts) => Kind::Tuple(parts.iter().map(|part| self.of_ty(part)).collect()),
            Ty::Fn(params) => Kind::Fn(params.iter().map(|param| self.of_ty(param)).collect()),
        };
        self.fresh(kind)
    }

    /// The variable of a parameter.
    pub(crate) fn param(&mut self, code: &Code, param: ParamId) -> Var {
        if let Some(var) = self.params.get(&(std::ptr::from_ref(code), param.0)) {
            return *var;
        }
        let var = match &code.param(param).ty {
            Some(ty) => self.of_ty(ty),
            None => self.fresh(Kind::Unknown),
        };
        self.params.insert((std::ptr::from_ref(code), param.0), var);
        var
    }

    fn lambda(&mut self, code: &Code, lambda: LambdaId) -> Var {
        let params = code.lambda(lambda).params.iter().map(|param| self.param(code, *param)).collect();
        self.fresh(Kind::Fn(params))
    }

    /// The variable of a closed function.
    pub(crate) fn function(&mut self, code: &Code) -> Var {
        if let Some(var) = self.functions.get(&std::ptr::from_ref(code)) {
            return *var;
        }
        let var = self.lambda(code, code.root);
        self.functions.insert(std::ptr::from_ref(code), var);
        var
    }

    pub(crate) fn value(&mut self, code: &Code, value: &Value) -> Var {
        match value {
            Term::Const(Const::Scalar(prim, _)) => self.scalar(*prim),
            Term::Const(Const::Ptr(pointer)) => self.of_ty(&Ty::Ptr(pointer.elem)),
            Term::Const(Const::Native(_)) => self.fresh(Kind::Unknown),
            Term::Always | Term::Never => self.fresh(Kind::Stage),
            Term::Param(param) => self.param(code, *param),
            Term::Lambda(lambda) => self.lambda(code, *lambda),
            Term::Closed(Closed(code)) => self.function(code),
            Term::Primitive(_) => self.fresh(Kind::Unknown),
            Term::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.value(code, part)).collect();
                self.fresh(Kind::Tuple(parts))
            }
        }
    }

    /// Adds the constraints of all bodies, outer ones first.
    fn add(&mut self, code: &Code, literals: &Literals) {
        for lambda in &code.lambdas {
            let Some(recursive) = lambda.recursive else { continue };
            let var = self.param(code, recursive);
            let params = lambda.params.iter().map(|param| self.param(code, *param)).collect();
            let function = self.fresh(Kind::Fn(params));
            self.unify(var, function, lambda.span);
        }
        for (index, body) in code.bodies.iter().enumerate() {
            let (callee, args) = match &body.kind {
                BodyKind::Apply { callee, args } => (callee, args),
                BodyKind::Fix { param, function, .. } => {
                    let (param, function) = (self.param(code, *param), self.lambda(code, *function));
                    self.unify(param, function, body.span);
                    continue;
                }
            };
            let mut vars = vec![];
            for (slot, arg) in args.iter().enumerate() {
                let literal = literals.get(&(index as u32, slot + 1)).copied();
                vars.push(literal.unwrap_or_else(|| self.value(code, arg)));
            }
            match callee {
                Term::Primitive(primitive) => self.primitive(*primitive, args, &vars, body.span),
                callee => {
                    let callee = self.value(code, callee);
                    self.call(callee, &vars, body.span);
                }
            }
        }
    }

    /// A call. Any value may be passed as a stage.
    fn call(&mut self, callee: Var, args: &[Var], span: nyala_span::Span) {
        let params = match self.kind(callee) {
            Kind::Fn(params) if params.len() == args.len() => params.clone(),
            _ => {
                let params = args.to_vec();
                let function = self.fresh(Kind::Fn(params));
                return self.unify(callee, function, span);
            }
        };
        for (param, arg) in params.into_iter().zip(args) {
            if *self.kind(param) != Kind::Stage {
                self.unify(param, *arg, span);
            }
        }
    }

    fn primitive(&mut self, primitive: Primitive, values: &[Value], args: &[Var], span: nyala_span::Span) {
        if args.len() != primitive.operands() + primitive.continuations() {
            return;
        }
        let bool = self.scalar(Prim::Bool);
        let result = match primitive {
            Primitive::Arith(_) => {
                self.unify(args[0], args[1], span);
                Some(args[0])
            }
            Primitive::Cmp(_) => {
                self.unify(args[0], args[1], span);
                Some(bool)
            }
            Primitive::Math(op) => {
                args[1..op.arity()].iter().for_each(|arg| self.unify(args[0], *arg, span));
                Some(if op.info().gives_bool { bool } else { args[0] })
            }
            Primitive::Convert(prim) => Some(self.scalar(prim)),
            Primitive::Not => Some(args[0]),
            Primitive::Select => {
                self.unify(args[0], bool, span);
                self.unify(args[1], args[2], span);
                Some(args[1])
            }
            Primitive::Get => {
                let index = match &values[1] {
                    Term::Const(Const::Scalar(_, index)) => usize::try_from(*index).ok(),
                    _ => None,
                };
                let part = match (self.kind(args[0]), index) {
                    (Kind::Tuple(parts), Some(index)) => parts.get(index).copied(),
                    _ => None,
                };
                Some(part.unwrap_or_else(|| self.fresh(Kind::Unknown)))
            }
            Primitive::Load | Primitive::Store => {
                let elem = self.fresh(Kind::Unknown);
                let pointer = self.fresh(Kind::Ptr(elem));
                self.unify(args[0], pointer, span);
                if primitive == Primitive::Store {
                    self.unify(elem, args[2], span);
                }
                Some(elem)
            }
            Primitive::Offset => Some(args[0]),
            Primitive::Alloc(elem) => Some(self.of_ty(&Ty::Ptr(elem))),
            Primitive::Arg => Some(self.scalar(Prim::I32)),
            Primitive::Compile => Some(args[0]),
            Primitive::If => {
                self.unify(args[0], bool, span);
                self.call(args[1], &[], span);
                return self.call(args[2], &[], span);
            }
            Primitive::Print | Primitive::Exit | Primitive::Quit => None,
        };
        if primitive.continuations() == 1 {
            let results = result.into_iter().filter(|_| primitive.has_result());
            self.call(args[primitive.operands()], &results.collect::<Vec<Var>>(), span);
        }
    }

    fn unify(&mut self, a: Var, b: Var, span: nyala_span::Span) {
        let mut work = vec![(a, b)];
        while let Some((a, b)) = work.pop() {
            let (a, b) = (self.find(a), self.find(b));
            if a == b {
                continue;
            }
            let (left, right) = (self.kinds[a.0 as usize].clone(), self.kinds[b.0 as usize].clone());
            let keeps_right = match (&left, &right) {
                (Kind::Unknown, _) => true,
                (_, Kind::Unknown) => false,
                (Kind::Number, Kind::Scalar(prim)) => *prim != Prim::Bool,
                (Kind::Scalar(prim), Kind::Number) if *prim != Prim::Bool => false,
                (Kind::Decimal, Kind::Scalar(prim)) => prim.is_float(),
                (Kind::Scalar(prim), Kind::Decimal) if prim.is_float() => false,
                (Kind::Number, Kind::Number | Kind::Decimal) | (Kind::Decimal, Kind::Decimal) => true,
                (Kind::Decimal, Kind::Number) => false,
                (Kind::Ptr(x), Kind::Ptr(y)) => {
                    work.push((*x, *y));
                    true
                }
                (Kind::Tuple(xs), Kind::Tuple(ys)) | (Kind::Fn(xs), Kind::Fn(ys)) if xs.len() == ys.len() => {
                    work.extend(xs.iter().copied().zip(ys.iter().copied()));
                    true
                }
                (left, right) if left == right => true,
                _ => {
                    self.conflict(a, b, span);
                    continue;
                }
            };
            let is_conflict = matches!(
                (&left, &right, keeps_right),
                (Kind::Number | Kind::Decimal, Kind::Scalar(_), false)
            );
            if is_conflict {
                self.conflict(a, b, span);
                continue;
            }
            let (from, to) = if keeps_right { (a, b) } else { (b, a) };
            self.kinds[from.0 as usize] = Kind::Same(to);
        }
    }

    fn conflict(&mut self, a: Var, b: Var, span: nyala_span::Span) {
        let message = format!("`{}` and `{}`", self.show(a, 0), self.show(b, 0));
        self.conflicts.push(Conflict { span, message });
    }

    fn show(&self, var: Var, depth: usize) -> String {
        let list = |parts: &[Var]| {
            let parts: Vec<String> = parts.iter().map(|part| self.show(*part, depth + 1)).collect();
            parts.join(", ")
        };
        match self.kind(var) {
            _ if depth > 8 => "..".into(),
            Kind::Same(_) | Kind::Unknown => "_".into(),
            Kind::Number => "int".into(),
            Kind::Decimal => "float".into(),
            Kind::Scalar(prim) => scalar_name(*prim).into(),
            Kind::Stage => "stage".into(),
            Kind::Ptr(elem) => format!("{}*", self.show(*elem, depth)),
            Kind::Tuple(parts) => format!("[{}]", list(parts)),
            Kind::Fn(params) => format!("fn[{}]", list(params)),
        }
    }

    /// The type of a variable. Unknown types are `int`: no operation depends on them. `None` for a type that
    /// contains itself.
    pub(crate) fn resolve(&self, var: Var) -> Option<Ty> {
        self.resolve_within(var, 64)
    }

    fn resolve_within(&self, var: Var, depth: usize) -> Option<Ty> {
        let depth = depth.checked_sub(1)?;
        let all = |parts: &[Var]| {
            parts.iter().map(|part| self.resolve_within(*part, depth)).collect::<Option<Vec<Ty>>>()
        };
        Some(match self.kind(var) {
            Kind::Same(_) | Kind::Unknown | Kind::Number => Ty::Scalar(Prim::I32),
            Kind::Decimal => Ty::Scalar(Prim::F32),
            Kind::Scalar(prim) => Ty::Scalar(*prim),
            Kind::Stage => Ty::Stage,
            Kind::Ptr(elem) => match self.resolve_within(*elem, depth)? {
                Ty::Scalar(prim) => Ty::Ptr(prim),
                _ => return None,
            },
            Kind::Tuple(parts) => Ty::Tuple(all(parts)?),
            Kind::Fn(params) => Ty::Fn(all(params)?),
        })
    }
}

/// A code and all closed functions that it uses, each once, users first.
pub(crate) fn reachable(code: &Code) -> Vec<&Code> {
    let mut seen = rustc_hash::FxHashSet::default();
    let (mut found, mut at) = (vec![code], 0);
    seen.insert(std::ptr::from_ref(code));
    while at < found.len() {
        let code: &Code = found[at];
        at += 1;
        for Closed(inner) in code.closed() {
            if seen.insert(std::rc::Rc::as_ptr(inner)) {
                found.push(inner);
            }
        }
    }
    found
}
