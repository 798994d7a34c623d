//! The staged calculus: terms of continuation-passing style with staging expressions (Figure 2 of the paper).
//!
//! ```text
//! v ::= c | λ[y] x̄. b | x | y          values; also tuples, primitives and shared closed functions
//! e ::= ⊤ | ⊥ | v | e and e | e or e | not e
//! b ::= [e] v v̄ | [e] fix x = λ[y] x̄. b in b
//! ```
//!
//! A [`Code`] is one closed function, stored flat: values name parameters, functions and bodies by index. So
//! terms of any depth are copied, printed and dropped without recursion.
//!
//! # Invariants
//!
//! * A `Code` has no free parameters. A function that is used in several places is a [`Value::Closed`].
//! * Every function has its own parameters, and every body belongs to exactly one function or `fix`.
//! * If [`Lambda::recursive`] is a parameter, it stands for the function itself in its body.
//!
//! # Where to look next
//!
//! [`machine`](crate::machine) evaluates, `print` writes the text form, [`lower`](crate::lower) compiles.

use std::rc::Rc;

use nyala_ir::Prim;
use nyala_span::{Name, Span};

use crate::primitive::Primitive;

/// A parameter of a [`Code`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ParamId(pub u32);

/// A function of a [`Code`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LambdaId(pub u32);

/// A body of a [`Code`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BodyId(pub u32);

/// A type. Programs may leave types out: the calculus is untyped, and [`lower`](crate::lower) infers them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// A number or a `bool`.
    Scalar(Prim),
    /// A staging parameter.
    Stage,
    /// A pointer to elements.
    Ptr(Prim),
    /// `[A, B]`
    Tuple(Vec<Ty>),
    /// `fn[A, B]`
    Fn(Vec<Ty>),
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Const {
    /// A number or a `bool`: its bits in canonical form.
    Scalar(Prim, u64),
    /// A pointer into the memory of the machine.
    Ptr(Pointer),
    /// Compiled code, by its number in the [`Host`](crate::machine::Host).
    Native(u32),
}

/// A pointer: an object of the machine, or an address of the running process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// The target.
    pub base: Base,
    /// The distance from the start of the target, in elements.
    pub index: i64,
    /// The type of the elements.
    pub elem: Prim,
}

/// The target of a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    /// An object in the memory of the machine.
    Object(u32),
    /// An address of the running program, which compiled code passed to the compiler.
    Address(u64),
}

/// A value. `P` names parameters and `L` functions: those of a [`Code`], or the live ones of a machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Term<P, L> {
    /// A constant.
    Const(Const),
    /// `⊤` as a value of type `stage`.
    Always,
    /// `⊥` as a value of type `stage`.
    Never,
    /// A parameter.
    Param(P),
    /// A function, which belongs to the body that contains this value.
    Lambda(L),
    /// A closed function, which may be used in several places.
    Closed(Closed),
    /// A built-in function.
    Primitive(Primitive),
    /// `[a, b]`
    Tuple(Vec<Term<P, L>>),
}

/// A value of a [`Code`].
pub type Value = Term<ParamId, LambdaId>;

/// A closed function. Equality is identity.
#[derive(Clone, Debug)]
pub struct Closed(pub Rc<Code>);

impl PartialEq for Closed {
    fn eq(&self, other: &Closed) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<P: Copy, L: Copy> Term<P, L> {
    /// An `int`.
    pub fn int(value: i32) -> Self {
        Term::Const(Const::Scalar(Prim::I32, Prim::I32.canonical(value as u64)))
    }

    /// Calls `each` with the parts of nested tuples, or with the value itself.
    pub fn for_each_part<'a>(&'a self, each: &mut impl FnMut(&'a Self)) {
        match self {
            Term::Tuple(parts) => parts.iter().for_each(|part| part.for_each_part(each)),
            other => each(other),
        }
    }
}

/// A staging expression over parameters `P`. Known values are `Always`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage<P> {
    /// `⊤`
    Always,
    /// `⊥`
    Never,
    /// A parameter: active once it is bound to a known value.
    Param(P),
    /// All of them.
    And(Box<[Stage<P>]>),
    /// One of them.
    Or(Box<[Stage<P>]>),
    /// Its negation.
    Not(Box<Stage<P>>),
}

impl<P: Copy> Stage<P> {
    /// The judgment `A(e)`: unbound parameters are `⊥`.
    pub fn is_active(&self) -> bool {
        match self {
            Stage::Always => true,
            Stage::Never | Stage::Param(_) => false,
            Stage::And(parts) => parts.iter().all(Stage::is_active),
            Stage::Or(parts) => parts.iter().any(Stage::is_active),
            Stage::Not(part) => !part.is_active(),
        }
    }

    /// The conjunction, simplified.
    pub fn and(parts: impl IntoIterator<Item = Stage<P>>) -> Stage<P> {
        let mut kept = vec![];
        for part in parts {
            match part {
                Stage::Always => {}
                Stage::Never => return Stage::Never,
                Stage::And(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Stage::Always,
            1 => kept.remove(0),
            _ => Stage::And(kept.into()),
        }
    }

    /// The disjunction, simplified.
    pub fn or(parts: impl IntoIterator<Item = Stage<P>>) -> Stage<P> {
        let mut kept = vec![];
        for part in parts {
            match part {
                Stage::Never => {}
                Stage::Always => return Stage::Always,
                Stage::Or(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Stage::Never,
            1 => kept.remove(0),
            _ => Stage::Or(kept.into()),
        }
    }

    /// The negation, simplified.
    pub fn negate(self) -> Stage<P> {
        match self {
            Stage::Always => Stage::Never,
            Stage::Never => Stage::Always,
            Stage::Not(inner) => *inner,
            other => Stage::Not(Box::new(other)),
        }
    }

    /// The expression with each parameter replaced.
    pub fn replace<Q: Copy>(&self, with: &mut impl FnMut(P) -> Stage<Q>) -> Stage<Q> {
        match self {
            Stage::Always => Stage::Always,
            Stage::Never => Stage::Never,
            Stage::Param(param) => with(*param),
            Stage::And(parts) => Stage::and(parts.iter().map(|part| part.replace(with)).collect::<Vec<_>>()),
            Stage::Or(parts) => Stage::or(parts.iter().map(|part| part.replace(with)).collect::<Vec<_>>()),
            Stage::Not(part) => part.replace(with).negate(),
        }
    }

    /// Calls `each` with every parameter.
    pub fn for_each_param(&self, each: &mut impl FnMut(P)) {
        match self {
            Stage::Always | Stage::Never => {}
            Stage::Param(param) => each(*param),
            Stage::And(parts) | Stage::Or(parts) => parts.iter().for_each(|part| part.for_each_param(each)),
            Stage::Not(part) => part.for_each_param(each),
        }
    }

    /// The stage at which `value` is known.
    pub fn of_value<L>(value: &Term<P, L>) -> Stage<P> {
        match value {
            Term::Param(param) => Stage::Param(*param),
            Term::Never => Stage::Never,
            Term::Tuple(parts) => Stage::and(parts.iter().map(Stage::of_value).collect::<Vec<_>>()),
            Term::Const(_) | Term::Always | Term::Lambda(_) | Term::Closed(_) | Term::Primitive(_) => {
                Stage::Always
            }
        }
    }
}

/// A parameter's name and declared type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// For people to read; need not be unique.
    pub name: Name,
    /// The type, if the program has it.
    pub ty: Option<Ty>,
}

/// `λ[y] x̄. b`
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// The parameters `x̄`.
    pub params: Vec<ParamId>,
    /// The implicit staging parameter `y`.
    pub stage: ParamId,
    /// The parameter that stands for the function itself.
    pub recursive: Option<ParamId>,
    /// The body.
    pub body: BodyId,
    /// Where it is in the source.
    pub span: Span,
}

/// A body with its staging expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// The staging expression.
    pub stage: Stage<ParamId>,
    /// What it does when it is active.
    pub kind: BodyKind,
    /// Where it is in the source.
    pub span: Span,
}

/// The two kinds of bodies.
#[derive(Clone, PartialEq, Debug)]
pub enum BodyKind {
    /// `[e] v v̄`
    Apply {
        /// The function.
        callee: Value,
        /// Its arguments.
        args: Vec<Value>,
    },
    /// `[e] fix x = λ[y] x̄. b in b`
    Fix {
        /// `x` in the rest; in the function itself, its [`Lambda::recursive`] parameter.
        param: ParamId,
        /// The function.
        function: LambdaId,
        /// The body in which it is defined.
        rest: BodyId,
    },
}

/// A closed function of the calculus.
#[derive(Clone, PartialEq, Debug)]
pub struct Code {
    /// The name of the function.
    pub name: Name,
    /// All parameters.
    pub params: Vec<Param>,
    /// All functions.
    pub lambdas: Vec<Lambda>,
    /// All bodies.
    pub bodies: Vec<Body>,
    /// The function itself.
    pub root: LambdaId,
}

impl Code {
    /// A parameter.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0 as usize]
    }

    /// A function.
    pub fn lambda(&self, id: LambdaId) -> &Lambda {
        &self.lambdas[id.0 as usize]
    }

    /// A body.
    pub fn body(&self, id: BodyId) -> &Body {
        &self.bodies[id.0 as usize]
    }

    /// The closed functions that occur in it, in order, with repetitions.
    pub fn closed(&self) -> Vec<&Closed> {
        let mut found = vec![];
        for body in &self.bodies {
            let BodyKind::Apply { callee, args } = &body.kind else { continue };
            for value in std::iter::once(callee).chain(args) {
                value.for_each_part(&mut |part| {
                    if let Term::Closed(closed) = part {
                        found.push(closed);
                    }
                });
            }
        }
        found
    }
}

/// Closed functions may form long chains, as continuations of recursive calls do: they are dropped one by one and
/// not recursively.
impl Drop for Code {
    fn drop(&mut self) {
        let mut bodies = std::mem::take(&mut self.bodies);
        while let Some(body) = bodies.pop() {
            let BodyKind::Apply { callee, args } = body.kind else { continue };
            let mut values = args;
            values.push(callee);
            while let Some(value) = values.pop() {
                match value {
                    Term::Tuple(parts) => values.extend(parts),
                    Term::Closed(Closed(code)) => {
                        if let Ok(mut code) = Rc::try_unwrap(code) {
                            bodies.append(&mut code.bodies);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
