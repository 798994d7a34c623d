//! The text form of the calculus: DeepCPS, one instruction per line.
//!
//! Natural staging is left out, and so are staging parameters without another use. Closed functions come first, each
//! once. The text of a residual program is a DeepCPS program again, unless pointers or compiled code occur in it.

use std::fmt::Write as _;

use nyala_ir::{Prim, eval};
use rustc_hash::FxHashMap;

use crate::code::{BodyId, BodyKind, Closed, Code, Const, LambdaId, ParamId, Stage, Term, Ty, Value};
use crate::primitive::scalar_name;
use crate::types::reachable;

/// A line of the text form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The depth of its braces.
    pub indent: usize,
    /// The text.
    pub text: String,
    /// The body that begins in it, unless it belongs to a closed function.
    pub body: Option<BodyId>,
}

/// A program as text.
pub fn print(code: &Code) -> String {
    let mut text = String::new();
    for Line { indent, text: line, .. } in lines(code) {
        let _ = writeln!(text, "{:width$}{line}", "", width = 2 * indent);
    }
    text
}

/// A program as lines.
pub fn lines(code: &Code) -> Vec<Line> {
    let codes = reachable(code);
    let mut names = FxHashMap::default();
    let mut taken: FxHashMap<String, usize> = FxHashMap::default();
    for code in &codes[1..] {
        names.insert(std::ptr::from_ref::<Code>(code), unique(&mut taken, code.name.as_str()));
    }
    let mut lines = vec![];
    for closed in codes[1..].iter().rev() {
        let mut printer = Printer::new(closed, &names);
        let root = closed.lambda(closed.root);
        let name = &names[&std::ptr::from_ref::<Code>(closed)];
        let keyword = if root.recursive.is_some() { "fix" } else { "let" };
        if let Some(recursive) = root.recursive {
            printer.param_names.insert(recursive, name.clone());
        }
        let head = format!("{keyword} {name} {} {{", printer.binder(closed.root));
        lines.push(Line { indent: 0, text: head, body: None });
        let body = printer.run(root.body, Some(root.stage), 1);
        lines.extend(body.into_iter().map(|line| Line { body: None, ..line }));
        lines.push(Line { indent: 0, text: "}".into(), body: None });
    }
    let root = code.lambda(code.root);
    lines.extend(Printer::new(code, &names).run(root.body, None, 0));
    lines
}

fn unique(taken: &mut FxHashMap<String, usize>, name: &str) -> String {
    let count = taken.entry(name.into()).or_insert(0);
    *count += 1;
    if *count == 1 { name.into() } else { format!("{name}_{count}") }
}

struct Printer<'a> {
    code: &'a Code,
    closed: &'a FxHashMap<*const Code, String>,
    param_names: FxHashMap<ParamId, String>,
    taken: FxHashMap<String, usize>,
    /// How often each parameter is used, other than as natural stage.
    uses: Vec<u32>,
    work: Vec<Work>,
    lines: Vec<Line>,
}

/// What is still to be written, the next one last.
enum Work {
    Body(BodyId, Option<ParamId>, usize),
    Text(String),
    Line(usize, String),
}

impl<'a> Printer<'a> {
    fn new(code: &'a Code, closed: &'a FxHashMap<*const Code, String>) -> Printer<'a> {
        let taken = closed.values().map(|name| (name.clone(), 1)).collect();
        let mut printer = Printer {
            code,
            closed,
            param_names: FxHashMap::default(),
            taken,
            uses: vec![],
            work: vec![],
            lines: vec![],
        };
        printer.uses = printer.count_uses();
        printer
    }

    fn count_uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.code.params.len()];
        let mut natural = vec![None; self.code.bodies.len()];
        for lambda in &self.code.lambdas {
            natural[lambda.body.0 as usize] = Some(lambda.stage);
        }
        for (body, natural) in self.code.bodies.iter().zip(natural) {
            if natural.is_none() || body.stage != natural.map_or(Stage::Never, Stage::Param) {
                body.stage.for_each_param(&mut |param| uses[param.0 as usize] += 1);
            }
            let BodyKind::Apply { callee, args } = &body.kind else { continue };
            for value in std::iter::once(callee).chain(args) {
                value.for_each_part(&mut |part| {
                    if let Term::Param(param) = part {
                        uses[param.0 as usize] += 1;
                    }
                });
            }
        }
        uses
    }

    fn name(&mut self, param: ParamId) -> String {
        if let Some(name) = self.param_names.get(&param) {
            return name.clone();
        }
        let name = match self.code.param(param).name.as_str() {
            "_" => "s",
            name => name,
        };
        let name = unique(&mut self.taken, name);
        self.param_names.insert(param, name.clone());
        name
    }

    /// `(x, y)[s]`
    fn binder(&mut self, lambda: LambdaId) -> String {
        let lambda = self.code.lambda(lambda);
        let mut params = vec![];
        for param in &lambda.params {
            let name = self.name(*param);
            params.push(match &self.code.param(*param).ty {
                Some(ty) => format!("{} {name}", type_name(ty)),
                None => name,
            });
        }
        let mut text = format!("({})", params.join(", "));
        if self.uses[lambda.stage.0 as usize] > 0 {
            let _ = write!(text, "[{}]", self.name(lambda.stage));
        }
        text
    }

    fn run(mut self, body: BodyId, natural: Option<ParamId>, indent: usize) -> Vec<Line> {
        self.work.push(Work::Body(body, natural, indent));
        while let Some(work) = self.work.pop() {
            match work {
                Work::Body(body, natural, indent) => self.body(body, natural, indent),
                Work::Text(text) => {
                    if let Some(line) = self.lines.last_mut() {
                        line.text += &text;
                    }
                }
                Work::Line(indent, text) => self.lines.push(Line { indent, text, body: None }),
            }
        }
        self.lines
    }

    fn body(&mut self, id: BodyId, natural: Option<ParamId>, indent: usize) {
        let body = self.code.body(id);
        let is_natural = match natural {
            Some(natural) => body.stage == Stage::Param(natural),
            None => body.stage == Stage::Always,
        };
        let mut head = match is_natural {
            true => String::new(),
            false => format!("@{}: ", self.stage(&body.stage, 0)),
        };
        // From the first to the last; they go to the stack in reverse.
        let mut after = vec![];
        match &body.kind {
            BodyKind::Fix { param, function, rest } => {
                let name = self.name(*param);
                let lambda = self.code.lambda(*function);
                if let Some(recursive) = lambda.recursive {
                    self.param_names.insert(recursive, name.clone());
                }
                let _ = write!(head, "fix {name} {} {{", self.binder(*function));
                after.push(Work::Body(lambda.body, Some(lambda.stage), indent + 1));
                after.push(Work::Line(indent, "}".into()));
                after.push(Work::Body(*rest, Some(*param), indent));
            }
            BodyKind::Apply { callee: Term::Lambda(function), args }
                if args.len() == 1 && self.code.lambda(*function).params.len() == 1 =>
            {
                let lambda = self.code.lambda(*function);
                head += "let ";
                if self.uses[lambda.stage.0 as usize] > 0 {
                    let _ = write!(head, "[{}] ", self.name(lambda.stage));
                }
                let param = lambda.params[0];
                if let Some(ty) = &self.code.param(param).ty {
                    let _ = write!(head, "{} ", type_name(ty));
                }
                head += &self.name(param);
                self.value(&args[0], indent, &mut after);
                after.push(Work::Body(lambda.body, Some(lambda.stage), indent));
            }
            BodyKind::Apply { callee: Term::Primitive(operator), args }
                if operator.is_operator() && args.len() == 3 =>
            {
                let (left, right) = (self.atom(&args[0]), self.atom(&args[1]));
                let _ = write!(head, "{left} {} {right}", operator.name());
                self.last(&args[2], indent, &mut after);
            }
            BodyKind::Apply { callee, args } => {
                let mut before = vec![];
                self.value(callee, indent, &mut before);
                if let Some(Work::Text(text)) = before.first_mut() {
                    *text = text.trim_start().to_owned();
                }
                after.append(&mut before);
                for (at, arg) in args.iter().enumerate() {
                    match at + 1 == args.len() {
                        true => self.last(arg, indent, &mut after),
                        false => self.value(arg, indent, &mut after),
                    }
                }
            }
        }
        self.lines.push(Line { indent, text: head, body: Some(id) });
        self.work.extend(after.into_iter().rev());
    }

    /// The last argument: the braces of a function are left out.
    fn last(&mut self, value: &Value, indent: usize, after: &mut Vec<Work>) {
        match value {
            Term::Lambda(lambda) => {
                after.push(Work::Text(format!(" {}", self.binder(*lambda))));
                let lambda = self.code.lambda(*lambda);
                after.push(Work::Body(lambda.body, Some(lambda.stage), indent));
            }
            other => self.value(other, indent, after),
        }
    }

    fn value(&mut self, value: &Value, indent: usize, after: &mut Vec<Work>) {
        match value {
            Term::Lambda(lambda) => {
                after.push(Work::Text(format!(" {} {{", self.binder(*lambda))));
                let lambda = self.code.lambda(*lambda);
                after.push(Work::Body(lambda.body, Some(lambda.stage), indent + 1));
                after.push(Work::Line(indent, "}".into()));
            }
            other => {
                let text = self.atom(other);
                after.push(Work::Text(format!(" {text}")));
            }
        }
    }

    fn atom(&mut self, value: &Value) -> String {
        match value {
            Term::Const(value) => show_const(*value),
            Term::Always => "always".into(),
            Term::Never => "never".into(),
            Term::Param(param) => self.name(*param),
            Term::Lambda(lambda) => format!("{} {{..}}", self.binder(*lambda)),
            Term::Closed(Closed(code)) => {
                self.closed.get(&std::rc::Rc::as_ptr(code)).cloned().unwrap_or_else(|| code.name.to_string())
            }
            Term::Primitive(primitive) => primitive.name(),
            Term::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.atom(part)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }

    fn stage(&mut self, stage: &Stage<ParamId>, level: usize) -> String {
        let (parts, sign, own) = match stage {
            Stage::Always => return "always".into(),
            Stage::Never => return "never".into(),
            Stage::Param(param) => return self.name(*param),
            Stage::Not(part) => return format!("!{}", self.stage(part, 2)),
            Stage::And(parts) => (parts, " & ", 1),
            Stage::Or(parts) => (parts, " | ", 0),
        };
        let parts: Vec<String> = parts.iter().map(|part| self.stage(part, own + 1)).collect();
        let text = parts.join(sign);
        if own < level { format!("({text})") } else { text }
    }
}

/// A type as programs write it.
pub fn type_name(ty: &Ty) -> String {
    let list = |parts: &[Ty]| parts.iter().map(type_name).collect::<Vec<_>>().join(", ");
    match ty {
        Ty::Scalar(prim) => scalar_name(*prim).into(),
        Ty::Stage => "stage".into(),
        Ty::Ptr(elem) => format!("{}*", scalar_name(*elem)),
        Ty::Tuple(parts) => format!("[{}]", list(parts)),
        Ty::Fn(params) => format!("fn[{}]", list(params)),
    }
}

/// A constant as programs write it.
pub fn show_const(value: Const) -> String {
    match value {
        Const::Scalar(Prim::Bool, bits) => (bits != 0).to_string(),
        Const::Scalar(prim, bits) if prim.is_float() => {
            let text = match prim {
                Prim::F32 => f32::from_bits(bits as u32).to_string(),
                _ => eval::float_value(prim, bits).to_string(),
            };
            if text.contains(['.', 'e', 'n', 'i']) { text } else { text + ".0" }
        }
        Const::Scalar(prim, bits) => prim.sign_extend(bits).to_string(),
        Const::Ptr(pointer) => format!("<{}* + {}>", scalar_name(pointer.elem), pointer.index),
        Const::Native(number) => format!("<compiled {number}>"),
    }
}
