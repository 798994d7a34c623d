//! Copies of terms: from a [`Code`] into the tables, inside of the tables, and back.

use std::rc::Rc;

use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use super::{B, L, LiveBody, LiveKind, LiveLambda, LiveParam, LiveValue, Machine, P, Parent};
use crate::code::{
    Body, BodyId, BodyKind, Closed, Code, Lambda, LambdaId, Param, ParamId, Stage, Term, Ty, Value,
};

impl Machine {
    fn new_param(&mut self, name: Name, ty: Option<Ty>) -> P {
        let data = LiveParam { name, ty, users: vec![] };
        match self.free_params.pop() {
            Some(param) => {
                self.params[param.0 as usize] = data;
                param
            }
            None => {
                self.params.push(data);
                P(self.params.len() as u32 - 1)
            }
        }
    }

    fn new_lambda(&mut self, data: LiveLambda) -> L {
        match self.free_lambdas.pop() {
            Some(lambda) => {
                self.lambdas[lambda.0 as usize] = data;
                lambda
            }
            None => {
                self.lambdas.push(data);
                L(self.lambdas.len() as u32 - 1)
            }
        }
    }

    /// A body that is filled in later.
    fn new_body(&mut self, span: Span) -> B {
        let parent = Parent::Lambda(self.root);
        let data = LiveBody { stage: Stage::Never, kind: LiveKind::Gone, parent, span, is_pending: false };
        match self.free_bodies.pop() {
            Some(body) => {
                self.bodies[body.0 as usize] = data;
                body
            }
            None => {
                self.bodies.push(data);
                B(self.bodies.len() as u32 - 1)
            }
        }
    }

    /// Fills a body in, and lists it with its parameters.
    fn set_body(&mut self, body: B, stage: Stage<P>, kind: LiveKind) {
        stage.for_each_param(&mut |param| self.params[param.0 as usize].users.push(body));
        match &kind {
            LiveKind::Apply { callee, args } => {
                for value in std::iter::once(callee).chain(args) {
                    self.note_users(value, body);
                    self.set_owner(value, body);
                }
            }
            LiveKind::Fix { function, rest, .. } => {
                self.lambda_mut(*function).owner = Some(body);
                self.body_mut(*rest).parent = Parent::Fix(body);
            }
            LiveKind::Gone => {}
        }
        let data = self.body_mut(body);
        (data.stage, data.kind) = (stage, kind);
    }

    /// The function of a code as a live function.
    pub(super) fn live_lambda(&mut self, code: &Code) -> L {
        let instance = Instance::new(self, code);
        let root = instance.lambdas[code.root.0 as usize].expect("all functions are made");
        instance.fill_bodies(self, code);
        root
    }

    /// Evaluates a call of a closed function in a hole; returns the new bodies.
    pub(super) fn apply_closed(&mut self, code: &Rc<Code>, args: Vec<LiveValue>, hole: Parent) -> Vec<B> {
        let root = code.lambda(code.root);
        let has_functions = args.iter().any(|arg| matches!(arg, Term::Lambda(_) | Term::Tuple(_)));
        if has_functions {
            // The general way counts the uses of arguments.
            let lambda = self.live_lambda(code);
            let mut changed = vec![];
            if let Some(recursive) = self.lambda(lambda).recursive {
                changed = self.bind(recursive, Term::Closed(Closed(code.clone())));
                self.free_param(recursive);
                self.lambda_mut(lambda).recursive = None;
            }
            changed.extend(self.apply_lambda(lambda, args, hole));
            return changed;
        }
        let mut instance = Instance::without_root(self, code);
        let mut known = root.params.iter().copied().zip(args).collect::<Vec<_>>();
        known.push((root.stage, Term::Always));
        known.extend(root.recursive.map(|recursive| (recursive, Term::Closed(Closed(code.clone())))));
        for (param, value) in known {
            instance.params[param.0 as usize] = value;
        }
        instance.fill_bodies(self, code);
        let body = instance.bodies[root.body.0 as usize];
        self.fill(hole, body);
        instance.bodies
    }

    /// All bodies in a hole.
    fn bodies_inside(&self, hole: Parent) -> Vec<B> {
        let mut found = vec![self.body_in(hole)];
        let mut at = 0;
        while at < found.len() {
            let body = found[at];
            at += 1;
            match &self.body(body).kind {
                LiveKind::Apply { callee, args } => {
                    for value in std::iter::once(callee).chain(args) {
                        value.for_each_part(&mut |part| {
                            if let Term::Lambda(lambda) = part {
                                found.push(self.lambda(*lambda).body);
                            }
                        });
                    }
                }
                LiveKind::Fix { function, rest, .. } => {
                    found.push(self.lambda(*function).body);
                    found.push(*rest);
                }
                LiveKind::Gone => {}
            }
        }
        found
    }

    /// All bodies of a function.
    pub(super) fn bodies_of(&self, lambda: L) -> Vec<B> {
        self.bodies_inside(Parent::Lambda(lambda))
    }

    /// A copy of a value, functions included.
    pub(super) fn copy_value(&mut self, value: &LiveValue) -> LiveValue {
        match value {
            Term::Lambda(lambda) => Term::Lambda(self.copy_lambda(*lambda)),
            Term::Tuple(parts) => Term::Tuple(parts.iter().map(|part| self.copy_value(part)).collect()),
            other => other.clone(),
        }
    }

    /// A copy of a live function.
    pub(super) fn copy_lambda(&mut self, lambda: L) -> L {
        let mut copy = Copy { params: FxHashMap::default(), lambdas: vec![], bodies: vec![] };
        let new = copy.lambda(self, lambda);
        copy.finish(self);
        new
    }

    /// A live function as a code, with the live body of each body; `None` if it is not closed.
    pub(super) fn freeze(&self, lambda: L) -> Option<(Code, Vec<B>)> {
        let mut freeze = Freeze {
            machine: self,
            code: Code {
                name: Name::new("f"),
                params: vec![],
                lambdas: vec![],
                bodies: vec![],
                root: LambdaId(0),
            },
            params: FxHashMap::default(),
            work: vec![],
            origins: vec![],
        };
        freeze.lambda(lambda);
        while let Some(work) = freeze.work.pop() {
            freeze.body(work)?;
        }
        let Freeze { mut code, origins, .. } = freeze;
        if let Some(recursive) = code.lambda(code.root).recursive {
            code.name = code.param(recursive).name;
        }
        Some((code, origins))
    }

    /// As [`Machine::freeze`], with a name for the function.
    pub(super) fn freeze_named(&self, lambda: L, name: Name) -> Option<Code> {
        let (mut code, _) = self.freeze(lambda)?;
        code.name = name;
        Some(code)
    }
}

/// The live copies of the parts of a code.
struct Instance {
    params: Vec<LiveValue>,
    lambdas: Vec<Option<L>>,
    bodies: Vec<B>,
}

impl Instance {
    fn new(machine: &mut Machine, code: &Code) -> Instance {
        Instance::make(machine, code, None)
    }

    /// Without the function itself: its parameters are replaced.
    fn without_root(machine: &mut Machine, code: &Code) -> Instance {
        Instance::make(machine, code, Some(code.root))
    }

    fn make(machine: &mut Machine, code: &Code, skip: Option<LambdaId>) -> Instance {
        let mut is_skipped = vec![false; code.params.len()];
        if let Some(skip) = skip {
            let Lambda { params, stage, recursive, .. } = code.lambda(skip);
            params
                .iter()
                .chain([stage])
                .chain(recursive)
                .for_each(|param| is_skipped[param.0 as usize] = true);
        }
        let params = code.params.iter().zip(is_skipped).map(|(param, is_skipped)| match is_skipped {
            true => Term::Never,
            false => Term::Param(machine.new_param(param.name, param.ty.clone())),
        });
        let params: Vec<LiveValue> = params.collect();
        let bodies: Vec<B> = code.bodies.iter().map(|body| machine.new_body(body.span)).collect();
        let live = |param: ParamId| match params[param.0 as usize] {
            Term::Param(param) => param,
            _ => unreachable!("only the parameters of the root are skipped"),
        };
        let mut lambdas = vec![];
        for (index, lambda) in code.lambdas.iter().enumerate() {
            if skip == Some(LambdaId(index as u32)) {
                lambdas.push(None);
                continue;
            }
            let body = bodies[lambda.body.0 as usize];
            let new = machine.new_lambda(LiveLambda {
                params: lambda.params.iter().map(|param| live(*param)).collect(),
                stage: live(lambda.stage),
                recursive: lambda.recursive.map(live),
                body,
                owner: None,
                span: lambda.span,
            });
            machine.body_mut(body).parent = Parent::Lambda(new);
            lambdas.push(Some(new));
        }
        Instance { params, lambdas, bodies }
    }

    fn fill_bodies(&self, machine: &mut Machine, code: &Code) {
        for (body, live) in code.bodies.iter().zip(&self.bodies) {
            let stage =
                body.stage.replace(&mut |param: ParamId| Stage::of_value(&self.params[param.0 as usize]));
            let kind = match &body.kind {
                BodyKind::Apply { callee, args } => LiveKind::Apply {
                    callee: self.value(callee),
                    args: args.iter().map(|arg| self.value(arg)).collect(),
                },
                BodyKind::Fix { param, function, rest } => {
                    let Term::Param(param) = self.params[param.0 as usize] else {
                        unreachable!("only the parameters of the root are replaced")
                    };
                    let function = self.lambdas[function.0 as usize].expect("the root is not in a body");
                    LiveKind::Fix { param, function, rest: self.bodies[rest.0 as usize] }
                }
            };
            machine.set_body(*live, stage, kind);
        }
    }

    fn value(&self, value: &Value) -> LiveValue {
        match value {
            Term::Const(value) => Term::Const(*value),
            Term::Always => Term::Always,
            Term::Never => Term::Never,
            Term::Param(param) => self.params[param.0 as usize].clone(),
            Term::Lambda(lambda) => {
                Term::Lambda(self.lambdas[lambda.0 as usize].expect("the root is not in a body"))
            }
            Term::Closed(closed) => Term::Closed(closed.clone()),
            Term::Primitive(primitive) => Term::Primitive(*primitive),
            Term::Tuple(parts) => Term::Tuple(parts.iter().map(|part| self.value(part)).collect()),
        }
    }
}

/// A copy of a live function in progress.
struct Copy {
    params: FxHashMap<P, P>,
    /// The old and the new body of functions that are not yet copied.
    lambdas: Vec<(B, B)>,
    /// The copied bodies, which are filled in at the end.
    bodies: Vec<(B, Stage<P>, LiveKind)>,
}

impl Copy {
    fn param(&mut self, machine: &mut Machine, param: P) -> P {
        let data = machine.param(param);
        let (name, ty) = (data.name, data.ty.clone());
        let new = machine.new_param(name, ty);
        self.params.insert(param, new);
        new
    }

    fn lambda(&mut self, machine: &mut Machine, lambda: L) -> L {
        let data = machine.lambda(lambda);
        let (params, stage, recursive) = (data.params.clone(), data.stage, data.recursive);
        let (old_body, span) = (data.body, data.span);
        let body = machine.new_body(machine.body(old_body).span);
        let params = params.into_iter().map(|param| self.param(machine, param)).collect();
        let stage = self.param(machine, stage);
        let recursive = recursive.map(|param| self.param(machine, param));
        let new = machine.new_lambda(LiveLambda { params, stage, recursive, body, owner: None, span });
        machine.body_mut(body).parent = Parent::Lambda(new);
        self.lambdas.push((old_body, body));
        new
    }

    fn finish(mut self, machine: &mut Machine) {
        while let Some((old, new)) = self.lambdas.pop() {
            self.body(machine, old, new);
        }
        for (body, stage, kind) in self.bodies {
            let of = |param: &P| self.params.get(param).copied().unwrap_or(*param);
            let stage = stage.replace(&mut |param: P| Stage::Param(of(&param)));
            let kind = match kind {
                LiveKind::Apply { callee, args } => LiveKind::Apply {
                    callee: renamed(callee, &of),
                    args: args.into_iter().map(|arg| renamed(arg, &of)).collect(),
                },
                LiveKind::Fix { param, function, rest } => {
                    LiveKind::Fix { param: of(&param), function, rest }
                }
                LiveKind::Gone => LiveKind::Gone,
            };
            machine.set_body(body, stage, kind);
        }
    }

    fn body(&mut self, machine: &mut Machine, old: B, new: B) {
        let stage = machine.body(old).stage.clone();
        let kind = match &machine.body(old).kind {
            LiveKind::Apply { callee, args } => {
                let (callee, args) = (callee.clone(), args.clone());
                let callee = self.value(machine, callee);
                let args = args.into_iter().map(|arg| self.value(machine, arg)).collect();
                LiveKind::Apply { callee, args }
            }
            &LiveKind::Fix { param, function, rest } => {
                self.param(machine, param);
                let function = self.lambda(machine, function);
                let new_rest = machine.new_body(machine.body(rest).span);
                self.lambdas.push((rest, new_rest));
                LiveKind::Fix { param, function, rest: new_rest }
            }
            LiveKind::Gone => LiveKind::Gone,
        };
        self.bodies.push((new, stage, kind));
    }

    fn value(&mut self, machine: &mut Machine, value: LiveValue) -> LiveValue {
        match value {
            Term::Lambda(lambda) => Term::Lambda(self.lambda(machine, lambda)),
            Term::Tuple(parts) => {
                Term::Tuple(parts.into_iter().map(|part| self.value(machine, part)).collect())
            }
            other => other,
        }
    }
}

fn renamed(value: LiveValue, of: &impl Fn(&P) -> P) -> LiveValue {
    match value {
        Term::Param(param) => Term::Param(of(&param)),
        Term::Tuple(parts) => Term::Tuple(parts.into_iter().map(|part| renamed(part, of)).collect()),
        other => other,
    }
}

/// A live function on its way into a code.
struct Freeze<'a> {
    machine: &'a Machine,
    code: Code,
    params: FxHashMap<P, ParamId>,
    work: Vec<Work>,
    origins: Vec<B>,
}

/// A body that is to be written, and where its number goes.
enum Work {
    Lambda(B, LambdaId),
    Rest(B, BodyId),
}

impl Freeze<'_> {
    fn param(&mut self, param: P) -> ParamId {
        let LiveParam { name, ty, .. } = self.machine.param(param);
        self.code.params.push(Param { name: *name, ty: ty.clone() });
        let id = ParamId(self.code.params.len() as u32 - 1);
        self.params.insert(param, id);
        id
    }

    fn lambda(&mut self, lambda: L) -> LambdaId {
        let data = self.machine.lambda(lambda);
        let params = data.params.iter().map(|param| self.param(*param)).collect();
        let stage = self.param(data.stage);
        let recursive = data.recursive.map(|param| self.param(param));
        let id = LambdaId(self.code.lambdas.len() as u32);
        self.code.lambdas.push(Lambda { params, stage, recursive, body: BodyId(0), span: data.span });
        self.work.push(Work::Lambda(data.body, id));
        id
    }

    fn body(&mut self, work: Work) -> Option<()> {
        let id = BodyId(self.code.bodies.len() as u32);
        let body = match work {
            Work::Lambda(body, lambda) => {
                self.code.lambdas[lambda.0 as usize].body = id;
                body
            }
            Work::Rest(body, fix) => {
                if let BodyKind::Fix { rest, .. } = &mut self.code.bodies[fix.0 as usize].kind {
                    *rest = id;
                }
                body
            }
        };
        self.origins.push(body);
        let data = self.machine.body(body);
        let mut is_closed = true;
        data.stage.for_each_param(&mut |param| is_closed &= self.params.contains_key(&param));
        if !is_closed {
            return None;
        }
        let stage = data.stage.replace(&mut |param: P| Stage::Param(self.params[&param]));
        let first = self.work.len();
        let kind = match &data.kind {
            LiveKind::Apply { callee, args } => {
                let callee = self.value(callee)?;
                let args = args.iter().map(|arg| self.value(arg)).collect::<Option<_>>()?;
                BodyKind::Apply { callee, args }
            }
            LiveKind::Fix { param, function, rest } => {
                let param = self.param(*param);
                let function = self.lambda(*function);
                self.work.push(Work::Rest(*rest, id));
                BodyKind::Fix { param, function, rest: BodyId(0) }
            }
            LiveKind::Gone => unreachable!("a body of a live function is live"),
        };
        // The first function is written first.
        self.work[first..].reverse();
        self.code.bodies.push(Body { stage, kind, span: data.span });
        Some(())
    }

    fn value(&mut self, value: &LiveValue) -> Option<Value> {
        Some(match value {
            Term::Const(value) => Term::Const(*value),
            Term::Always => Term::Always,
            Term::Never => Term::Never,
            Term::Param(param) => Term::Param(*self.params.get(param)?),
            Term::Lambda(lambda) => Term::Lambda(self.lambda(*lambda)),
            Term::Closed(closed) => Term::Closed(closed.clone()),
            Term::Primitive(primitive) => Term::Primitive(*primitive),
            Term::Tuple(parts) => {
                Term::Tuple(parts.iter().map(|part| self.value(part)).collect::<Option<_>>()?)
            }
        })
    }
}
