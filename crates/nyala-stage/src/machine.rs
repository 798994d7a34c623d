//! The interpreter of the calculus: evaluates active bodies, the deepest ones first (section 3.3 of the paper).
//!
//! A machine holds the program as live terms, in tables: each parameter lists the bodies that mention it. That is the
//! paper's *staging list*: when a parameter is bound, exactly these bodies are rewritten, and those whose staging
//! expression becomes active are scheduled.
//!
//! # Invariants
//!
//! * `pending` holds all active bodies. The deepest one is on top; of two in different arguments of one body, the
//!   left one is. A step at a body activates only bodies inside of it, which go on top. So a body is evaluated when
//!   all of its parts are waiting, as the paper's rules demand, and arguments of an evaluated body have no active
//!   bodies: copying them never copies a scheduled one.
//! * A live function belongs to one body. A function that is bound to a parameter with several uses is shared if it is
//!   closed, since no binding can then reach into it; else it is copied.
//!
//! Note [Calls of recursive functions]: the paper's rule for `fix` binds `x` to `λ[y] x̄. [y and e] fix x = .. in b`. In a
//! call of it, `b` is deeper than the new `fix`, and would be evaluated before `x` is bound. Here a call of a recursive
//! function binds its own name together with its parameters, which is what that `fix` is for.
//!
//! # Where to look next
//!
//! `bind` substitutes, `instance` copies terms into and out of the tables, `operations` evaluates primitives,
//! `report` describes errors, [`Memory`] holds objects, [`trace`](crate::trace) listens.

mod bind;
mod instance;
mod memory;
mod operations;
mod report;

use std::collections::VecDeque;
use std::rc::Rc;

use nyala_span::{Name, Span};

use crate::code::{Closed, Code, Const, Stage, Term, Ty};
use crate::errors::{Error, ErrorKind};
use crate::primitive::Primitive;

pub use memory::Memory;
pub use operations::show_scalar;

/// A live parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct P(pub(crate) u32);

/// A live function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct L(pub(crate) u32);

/// A live body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct B(pub(crate) u32);

/// A live value.
pub type LiveValue = Term<P, L>;

struct LiveParam {
    name: Name,
    ty: Option<Ty>,
    /// The bodies that mention it; some of them may be gone.
    users: Vec<B>,
}

struct LiveLambda {
    params: Vec<P>,
    stage: P,
    recursive: Option<P>,
    body: B,
    /// The body that contains it; the root has none.
    owner: Option<B>,
    span: Span,
}

struct LiveBody {
    stage: Stage<P>,
    kind: LiveKind,
    parent: Parent,
    span: Span,
    /// Whether it is in `pending`.
    is_pending: bool,
}

enum LiveKind {
    Apply {
        callee: LiveValue,
        args: Vec<LiveValue>,
    },
    Fix {
        param: P,
        function: L,
        rest: B,
    },
    /// Not in use.
    Gone,
}

/// What a body is the body of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Lambda(L),
    Fix(B),
}

/// The limits of an evaluation. If one is reached, the program is reported as runaway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The number of steps.
    pub steps: u64,
    /// The number of live bodies.
    pub bodies: usize,
    /// The number of bytes in memory.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 50_000_000, bodies: 1_000_000, memory: 1 << 30 }
    }
}

/// The rules of evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A function is applied to its arguments.
    Apply,
    /// A recursive function is applied: it is bound to its name again.
    Unfold,
    /// A recursive function is defined.
    Fix,
    /// A primitive is evaluated and its continuation applied.
    Primitive(Primitive),
    /// Compiled code is called.
    Native,
    /// The program starts: its staging parameter is set.
    Run,
}

impl Rule {
    /// Its name in traces.
    pub fn name(self) -> String {
        match self {
            Rule::Apply => "apply".into(),
            Rule::Unfold => "unfold".into(),
            Rule::Fix => "fix".into(),
            Rule::Primitive(primitive) => format!("primitive {}", primitive.name()),
            Rule::Native => "native".into(),
            Rule::Run => "run".into(),
        }
    }
}

/// A step of the evaluation.
#[derive(Clone, Debug)]
pub struct StepEvent {
    /// Its number, from 1.
    pub number: u64,
    /// The rule.
    pub rule: Rule,
    /// The evaluated body, whose place its result has taken.
    pub body: B,
    /// Where it is in the source.
    pub span: Span,
    /// The function that was applied, or the name that was defined.
    pub callee: String,
    /// The bodies around the evaluated one: those that the rebuilding rules assemble again.
    pub rebuilt: usize,
    /// The bodies that have become active.
    pub activated: Vec<B>,
}

/// What the machine needs from outside.
pub trait Host {
    /// Prints a line.
    fn print(&mut self, line: &str);

    /// An argument of the program as a number.
    fn arg(&mut self, index: i64) -> i32;

    /// Compiles a closed function; `None` keeps it as it is.
    fn compile(&mut self, _code: &Rc<Code>, _memory: &Memory) -> Result<Option<u32>, String> {
        Ok(None)
    }

    /// Calls compiled code.
    fn call(&mut self, _native: u32, _args: &[Const], _memory: &Memory) -> Result<Option<Const>, String> {
        Err("there is no compiled code".into())
    }

    /// Whether steps are observed.
    fn observes(&self) -> bool {
        false
    }

    /// A step was made.
    fn step(&mut self, _event: &StepEvent, _machine: &Machine) {}
}

/// A host that ignores output.
pub struct Silent;

impl Host for Silent {
    fn print(&mut self, _: &str) {}

    fn arg(&mut self, _: i64) -> i32 {
        0
    }
}

/// The end of a program.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// `exit value`
    Exit(LiveValue),
    /// `quit status`
    Quit(i32),
    /// No body is active, and the program has not ended.
    Waiting,
}

/// How many of the last steps an error lists.
const SHOWN_STEPS: usize = 6;

/// A program under evaluation.
pub struct Machine {
    params: Vec<LiveParam>,
    lambdas: Vec<LiveLambda>,
    bodies: Vec<LiveBody>,
    free_params: Vec<P>,
    free_lambdas: Vec<L>,
    free_bodies: Vec<B>,
    root: L,
    pending: Vec<B>,
    /// The memory of the program.
    pub memory: Memory,
    limits: Limits,
    n_steps: u64,
    last: VecDeque<(Rule, Span, String)>,
}

impl Machine {
    /// A machine that has not evaluated anything of the program.
    pub fn new(code: &Code, memory: Memory, limits: Limits) -> Machine {
        let mut machine = Machine {
            params: vec![],
            lambdas: vec![],
            bodies: vec![],
            free_params: vec![],
            free_lambdas: vec![],
            free_bodies: vec![],
            root: L(0),
            pending: vec![],
            memory,
            limits,
            n_steps: 0,
            last: VecDeque::new(),
        };
        machine.root = machine.live_lambda(code);
        let bodies = machine.bodies_of(machine.root);
        machine.schedule(bodies, machine.root);
        machine
    }

    /// Evaluates active bodies until none is left.
    pub fn stage(&mut self, host: &mut dyn Host) -> Result<Outcome, Error> {
        while let Some(body) = self.pending.pop() {
            self.body_mut(body).is_pending = false;
            self.step(body, host)?;
        }
        Ok(self.outcome())
    }

    /// Sets the staging parameter of the program, and evaluates it to its end.
    pub fn run(&mut self, host: &mut dyn Host) -> Result<Outcome, Error> {
        self.set_run(host);
        self.stage(host)
    }

    fn set_run(&mut self, host: &mut dyn Host) {
        let (root, stage) = (self.root, self.lambda(self.root).stage);
        let changed = self.bind(stage, Term::Always);
        let activated = self.schedule(changed, root);
        let body = self.lambda(root).body;
        self.tell(host, Rule::Run, body, String::new(), activated);
    }

    /// As [`Machine::run`]; a program that does not end is an error.
    pub fn run_to_end(&mut self, host: &mut dyn Host) -> Result<Outcome, Error> {
        match self.run(host)? {
            Outcome::Waiting => Err(self.stuck()),
            outcome => Ok(outcome),
        }
    }

    /// Gives the parameters of the program their values, and evaluates it.
    pub fn apply_to(&mut self, values: Vec<LiveValue>, host: &mut dyn Host) -> Result<Outcome, Error> {
        let params = self.lambda(self.root).params.clone();
        let mut changed = vec![];
        for (param, value) in params.into_iter().zip(values) {
            changed.extend(self.bind(param, value));
        }
        self.schedule(changed, self.root);
        self.stage(host)
    }

    /// A value as a closed function.
    pub fn closed(&self, value: &LiveValue) -> Option<Rc<Code>> {
        match value {
            Term::Lambda(lambda) => self.freeze_named(*lambda, Name::new("compiled")).map(Rc::new),
            Term::Closed(Closed(code)) => Some(code.clone()),
            _ => None,
        }
    }

    /// The program as it is now, with the live body of each body.
    pub fn snapshot(&self) -> (Code, Vec<B>) {
        self.freeze(self.root).expect("the program is closed")
    }

    /// The number of steps so far.
    pub fn steps(&self) -> u64 {
        self.n_steps
    }

    /// Whether a body is active.
    pub fn is_active(&self, body: B) -> bool {
        self.body(body).stage.is_active()
    }

    fn outcome(&self) -> Outcome {
        match &self.body(self.lambda(self.root).body).kind {
            LiveKind::Apply { callee: Term::Primitive(Primitive::Exit), args } if args.len() == 1 => {
                let is_active = self.body(self.lambda(self.root).body).stage.is_active();
                if is_active { Outcome::Exit(args[0].clone()) } else { Outcome::Waiting }
            }
            LiveKind::Apply { callee: Term::Primitive(Primitive::Quit), args } => match args[..] {
                [Term::Const(Const::Scalar(prim, status))] => Outcome::Quit(prim.sign_extend(status) as i32),
                _ => Outcome::Waiting,
            },
            _ => Outcome::Waiting,
        }
    }

    fn step(&mut self, body: B, host: &mut dyn Host) -> Result<(), Error> {
        if matches!(
            &self.body(body).kind,
            LiveKind::Apply { callee: Term::Primitive(Primitive::Exit | Primitive::Quit), .. }
        ) {
            // The program ends once this is its outermost body.
            return Ok(());
        }
        self.n_steps += 1;
        self.check_limits(body)?;
        let kind = std::mem::replace(&mut self.body_mut(body).kind, LiveKind::Gone);
        let hole = self.body(body).parent;
        let (rule, callee, changed) = match kind {
            LiveKind::Fix { param, function, rest } => {
                let name = self.param(param).name.to_string();
                self.fill(hole, rest);
                self.remember(Rule::Fix, body, &name);
                let changed = self.bind(param, Term::Lambda(function));
                self.free_param(param);
                (Rule::Fix, name, changed)
            }
            LiveKind::Apply { callee, args } => {
                let name = self.name_of(&callee);
                let rule = rule_of(&callee, self);
                self.remember(rule, body, &name);
                let changed = self.apply(body, callee, args, host)?;
                (rule, name, changed)
            }
            LiveKind::Gone => unreachable!("a pending body is live"),
        };
        let root = self.hole_lambda(hole);
        let activated = self.schedule(changed, root);
        let now = self.body_in(hole);
        self.tell(host, rule, now, callee, activated);
        if matches!(self.body(body).kind, LiveKind::Gone) {
            self.free_bodies.push(body);
        }
        Ok(())
    }

    /// The body in a hole.
    fn body_in(&self, hole: Parent) -> B {
        match hole {
            Parent::Lambda(lambda) => self.lambda(lambda).body,
            Parent::Fix(fix) => match self.body(fix).kind {
                LiveKind::Fix { rest, .. } => rest,
                _ => unreachable!("this hole is that of a fix"),
            },
        }
    }

    /// The function that a hole is in.
    fn hole_lambda(&self, mut hole: Parent) -> L {
        loop {
            match hole {
                Parent::Lambda(lambda) => return lambda,
                Parent::Fix(fix) => hole = self.body(fix).parent,
            }
        }
    }

    /// Applies a function in the place of `body`; returns the bodies that have changed.
    fn apply(
        &mut self,
        body: B,
        callee: LiveValue,
        args: Vec<LiveValue>,
        host: &mut dyn Host,
    ) -> Result<Vec<B>, Error> {
        let hole = self.body(body).parent;
        match callee {
            Term::Lambda(lambda) => {
                self.check_arity(body, self.lambda(lambda).params.len(), args.len(), "the function")?;
                Ok(self.apply_lambda(lambda, args, hole))
            }
            Term::Closed(Closed(code)) => {
                let n_params = code.lambda(code.root).params.len();
                self.check_arity(body, n_params, args.len(), &format!("`{}`", code.name))?;
                Ok(self.apply_closed(&code, args, hole))
            }
            Term::Primitive(primitive) => self.apply_primitive(body, primitive, args, host),
            Term::Const(Const::Native(native)) => self.apply_native(body, native, args, host),
            Term::Param(param) => Err(self.unbound(body, param, "it is called here")),
            Term::Const(_) | Term::Tuple(_) | Term::Always | Term::Never => {
                let message = "the callee of an active body is not a function";
                Err(self.with_trace(Error::new(ErrorKind::Operand, self.body(body).span, message)))
            }
        }
    }

    /// Evaluates `[e] (λ[y] x̄. b) v̄`.
    fn apply_lambda(&mut self, lambda: L, args: Vec<LiveValue>, hole: Parent) -> Vec<B> {
        let mut changed = vec![];
        // See Note [Calls of recursive functions].
        if let Some(recursive) = self.lambda(lambda).recursive {
            let copy = self.copy_lambda(lambda);
            changed.extend(self.bind(recursive, Term::Lambda(copy)));
            self.free_param(recursive);
        }
        let LiveLambda { stage, body, .. } = *self.lambda(lambda);
        let params = std::mem::take(&mut self.lambda_mut(lambda).params);
        self.fill(hole, body);
        changed.extend(self.bind(stage, Term::Always));
        self.free_param(stage);
        for (param, arg) in params.into_iter().zip(args) {
            changed.extend(self.bind(param, arg));
            self.free_param(param);
        }
        self.free_lambdas.push(lambda);
        changed
    }

    /// Puts a body into a hole.
    fn fill(&mut self, hole: Parent, body: B) {
        self.body_mut(body).parent = hole;
        match hole {
            Parent::Lambda(lambda) => self.lambda_mut(lambda).body = body,
            Parent::Fix(fix) => {
                let LiveKind::Fix { rest, .. } = &mut self.body_mut(fix).kind else {
                    unreachable!("this hole is that of a fix");
                };
                *rest = body;
            }
        }
    }

    /// Adds the active ones of `changed`, which are all inside of `root`, to the pending bodies.
    fn schedule(&mut self, changed: Vec<B>, root: L) -> Vec<B> {
        let mut active = vec![];
        for body in changed {
            let data = self.body_mut(body);
            if !data.is_pending && !matches!(data.kind, LiveKind::Gone) && data.stage.is_active() {
                data.is_pending = true;
                active.push(body);
            }
        }
        if active.len() > 1 {
            // Deeper bodies first, then from left to right.
            let mut paths: Vec<(Vec<usize>, B)> =
                active.iter().map(|body| (self.path(*body, root), *body)).collect();
            paths.sort_by(|(a, _), (b, _)| {
                let common = a.iter().zip(b).position(|(x, y)| x != y);
                common.map_or_else(|| b.len().cmp(&a.len()), |at| a[at].cmp(&b[at]))
            });
            active = paths.into_iter().map(|(_, body)| body).collect();
        }
        self.pending.extend(active.iter().rev());
        active
    }

    /// The positions of the functions around `body`, from `root` inwards.
    fn path(&self, body: B, root: L) -> Vec<usize> {
        let mut path = vec![];
        let mut parent = self.body(body).parent;
        loop {
            let (owner, position) = match parent {
                Parent::Lambda(lambda) if lambda == root => break,
                Parent::Lambda(lambda) => {
                    let Some(owner) = self.lambda(lambda).owner else { break };
                    (owner, self.position(owner, lambda))
                }
                Parent::Fix(fix) => (fix, 1),
            };
            path.push(position);
            parent = self.body(owner).parent;
        }
        path.reverse();
        path
    }

    /// The position of a function among the values of its body.
    fn position(&self, owner: B, lambda: L) -> usize {
        let LiveKind::Apply { callee, args } = &self.body(owner).kind else { return 0 };
        let (mut at, mut found) = (0, 0);
        for value in std::iter::once(callee).chain(args) {
            value.for_each_part(&mut |part| {
                if *part == Term::Lambda(lambda) {
                    found = at;
                }
                at += 1;
            });
        }
        found
    }

    fn check_arity(&self, body: B, expected: usize, found: usize, what: &str) -> Result<(), Error> {
        if expected == found {
            return Ok(());
        }
        let message = format!("{what} takes {expected} arguments, and gets {found}");
        Err(self.with_trace(Error::new(ErrorKind::Operand, self.body(body).span, message)))
    }

    fn check_limits(&self, body: B) -> Result<(), Error> {
        let Limits { steps, bodies, memory } = self.limits;
        let what = if self.n_steps > steps {
            format!("{steps} steps")
        } else if self.bodies.len() - self.free_bodies.len() > bodies {
            format!("the program had grown to {bodies} bodies")
        } else if self.memory.bytes() > memory {
            format!("{memory} bytes of memory")
        } else {
            return Ok(());
        };
        let message = format!("evaluation was stopped after {what}");
        let error = Error::new(ErrorKind::Runaway, self.body(body).span, message)
            .label("active when the limit was reached")
            .note("an active recursive call without an end, or one whose end depends on a value that is not bound, does not stop");
        Err(self.with_trace(error))
    }

    fn remember(&mut self, rule: Rule, body: B, callee: &str) {
        if self.last.len() == SHOWN_STEPS {
            self.last.pop_front();
        }
        let span = self.body(body).span;
        self.last.push_back((rule, span, callee.to_owned()));
    }

    fn tell(&self, host: &mut dyn Host, rule: Rule, body: B, callee: String, activated: Vec<B>) {
        if host.observes() {
            let span = self.last.back().map_or(Span::NONE, |(_, span, _)| *span);
            let rebuilt = self.path(body, self.root).len();
            let event = StepEvent { number: self.n_steps, rule, body, span, callee, rebuilt, activated };
            host.step(&event, self);
        }
    }
}

fn rule_of(callee: &LiveValue, machine: &Machine) -> Rule {
    match callee {
        Term::Primitive(primitive) => Rule::Primitive(*primitive),
        Term::Const(Const::Native(_)) => Rule::Native,
        Term::Lambda(lambda) if machine.lambda(*lambda).recursive.is_some() => Rule::Unfold,
        Term::Closed(Closed(code)) if code.lambda(code.root).recursive.is_some() => Rule::Unfold,
        _ => Rule::Apply,
    }
}
