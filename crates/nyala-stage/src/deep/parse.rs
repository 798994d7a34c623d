//! The parser of DeepCPS.
//!
//! The token after the first value of an instruction tells what it is: an operator begins a computation, anything else
//! an argument of a call.

use nyala_span::SourceFile;

use super::{Binder, Block, Expr, Ident, Lambda, MAX_DEPTH, Param, Step, StepKind, Value};
use crate::errors::{Error, ErrorKind};
use crate::lex::TokenKind;
use crate::parser::{Parse, Parser};
use crate::primitive::{OPERATORS, Primitive};

/// A parsed file.
pub struct Parsed {
    /// The program; up to the first error.
    pub block: Block,
    /// The errors.
    pub errors: Vec<Error>,
}

/// Parses a program.
pub fn parse(file: &SourceFile) -> Parsed {
    let mut parser = Parser::new(file);
    let block = parser.program().unwrap_or_else(|error| {
        parser.errors.push(error);
        Block::default()
    });
    Parsed { block, errors: parser.errors }
}

/// The levels of operators, weakest first.
const LEVELS: [&[&str]; 5] = [
    &["||"],
    &["&&"],
    &["==", "!=", "<", "<=", ">", ">="],
    &["+", "-", "^"],
    &["*", "/", "%", "mod", "<<", ">>"],
];

impl Parser {
    fn program(&mut self) -> Parse<Block> {
        let block = self.block()?;
        if self.is_end() { Ok(block) } else { Err(self.unexpected("the end of the file")) }
    }

    /// Instructions up to `}` or the end of the file.
    fn block(&mut self) -> Parse<Block> {
        let mut steps = vec![];
        loop {
            let step = self.step()?;
            let goes_on = match &step.kind {
                StepKind::Call { binder, .. } => binder.is_some(),
                _ => true,
            };
            steps.push(step);
            if !goes_on {
                return Ok(Block(steps));
            }
        }
    }

    fn step(&mut self) -> Parse<Step> {
        let start = self.span();
        let stage = if self.eat("@") {
            let stage = self.stage_expr(None)?;
            self.expect(":")?;
            Some(stage)
        } else {
            None
        };
        let (kind, end) = if self.eat_word("let") {
            self.let_step()?
        } else if self.eat_word("fix") {
            self.eat_word("def");
            let stage = self.opt_stage_binder()?;
            let name = self.ident()?;
            let end = self.last_span();
            (StepKind::Fix { stage, name, function: self.braced_lambda()? }, end)
        } else {
            self.call_or_computation()?
        };
        Ok(Step { stage, kind, span: start.to(end) })
    }

    /// `let [s] x v`. A function that uses its own name is recursive.
    fn let_step(&mut self) -> Parse<(StepKind, nyala_span::Span)> {
        let stage = self.opt_stage_binder()?;
        let param = self.param()?;
        let end = self.last_span();
        self.eat("=");
        let value = self.value()?;
        let kind = match value {
            Value::Lambda(function) if function.mentions(param.ident) => {
                StepKind::Fix { stage, name: param.ident, function: *function }
            }
            value => StepKind::Let { stage, param, value },
        };
        Ok((kind, end))
    }

    fn call_or_computation(&mut self) -> Parse<(StepKind, nyala_span::Span)> {
        let first = self.value()?;
        if self.operator().is_some() {
            let expr = self.computation(0, Some(first))?;
            let end = self.last_span();
            let binder = self.binder()?;
            return Ok((StepKind::Compute { expr, binder }, end));
        }
        let (mut args, mut end) = (vec![], self.last_span());
        loop {
            if self.is("}") || self.is_end() {
                return Ok((StepKind::Call { callee: first, args, binder: None }, end));
            }
            if self.is("(") {
                let binder = self.binder()?;
                if !self.is("{") {
                    return Ok((StepKind::Call { callee: first, args, binder: Some(binder) }, end));
                }
                let body = self.braces()?;
                args.push(Value::Lambda(Box::new(Lambda { binder, body })));
            } else {
                args.push(self.value()?);
            }
            end = self.last_span();
        }
    }

    fn operator(&self) -> Option<Primitive> {
        let sign = match self.kind() {
            TokenKind::Sign(sign) => sign.to_owned(),
            TokenKind::Name(name) if name.as_str() == "mod" => "mod".into(),
            _ => return None,
        };
        OPERATORS.iter().find(|(operator, _)| *operator == sign).map(|(_, primitive)| *primitive)
    }

    /// Operators of a level and above; `first` is an operand that was read before.
    fn computation(&mut self, level: usize, first: Option<Value>) -> Parse<Expr> {
        let Some(signs) = LEVELS.get(level) else { return self.operand(first) };
        let mut left = self.computation(level + 1, first)?;
        let mut n_operators = 0;
        while let Some(primitive) = self.operator().filter(|operator| signs.contains(&&*operator.name())) {
            n_operators += 1;
            if n_operators > MAX_DEPTH {
                return Err(self.unexpected("a shorter computation"));
            }
            self.bump();
            let right = self.nested(|parser| parser.computation(level + 1, None))?;
            left = Expr::Binary(primitive, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operand(&mut self, first: Option<Value>) -> Parse<Expr> {
        if let Some(value) = first {
            return Ok(Expr::Value(value));
        }
        if self.eat("(") {
            let inner = self.nested(|parser| parser.computation(0, None))?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.value().map(Expr::Value)
    }

    fn value(&mut self) -> Parse<Value> {
        let span = self.span();
        let negative = self.is("-") && matches!(self.peek(1), TokenKind::Int(_) | TokenKind::Float(_));
        if negative {
            self.bump();
        }
        match self.kind() {
            TokenKind::Int(value) => {
                self.bump();
                Ok(Value::Int(if negative { value.wrapping_neg() } else { value }, span))
            }
            TokenKind::Float(value) => {
                self.bump();
                Ok(Value::Float(if negative { -value } else { value }, span))
            }
            TokenKind::Name(_) => {
                let ident = self.ident()?;
                Ok(match ident.name.as_str() {
                    "always" => Value::Always,
                    "never" => Value::Never,
                    _ => Value::Name(ident),
                })
            }
            TokenKind::Sign("(") => Ok(Value::Lambda(Box::new(self.braced_lambda()?))),
            TokenKind::Sign("[") => self.nested(Parser::tuple),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn tuple(&mut self) -> Parse<Value> {
        self.expect("[")?;
        let mut parts = vec![];
        while !self.is("]") {
            parts.push(self.value()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(Value::Tuple(parts))
    }

    fn braced_lambda(&mut self) -> Parse<Lambda> {
        let binder = self.binder()?;
        Ok(Lambda { binder, body: self.braces()? })
    }

    fn braces(&mut self) -> Parse<Block> {
        self.expect("{")?;
        let body = self.nested(Parser::block)?;
        self.expect("}")?;
        Ok(body)
    }

    fn binder(&mut self) -> Parse<Binder> {
        let start = self.span();
        self.expect("(")?;
        let mut params: Vec<Param> = vec![];
        while !self.is(")") {
            let param = self.param()?;
            if params.iter().any(|earlier| earlier.ident.name == param.ident.name) {
                let message = format!("the parameter `{}` is declared twice", param.ident.name);
                return Err(Error::new(ErrorKind::Syntax, param.ident.span, message));
            }
            params.push(param);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        let stage = self.opt_stage_binder()?;
        Ok(Binder { params, stage, span: start.to(self.last_span()) })
    }

    /// `float base`, `base: float`, or `base`.
    fn param(&mut self) -> Parse<Param> {
        let is_typed = self.is("[")
            || matches!((self.peek(0), self.peek(1)), (TokenKind::Name(_), TokenKind::Name(_)))
            || self.is_word("fn")
            || self.scalar().is_some() && self.is_at(1, "*");
        if is_typed {
            let ty = self.ty()?;
            return Ok(Param { ident: self.ident()?, ty: Some(ty) });
        }
        let ident = self.ident()?;
        let ty = if self.eat(":") { Some(self.ty()?) } else { None };
        Ok(Param { ident, ty })
    }
}

impl Lambda {
    /// Whether the function refers to `ident` outside of functions that declare the name again.
    fn mentions(&self, ident: Ident) -> bool {
        let declares = |binder: &Binder| binder.params.iter().any(|param| param.ident.name == ident.name);
        !declares(&self.binder) && self.body.mentions(ident, &declares)
    }
}

impl Block {
    fn mentions(&self, ident: Ident, declares: &dyn Fn(&Binder) -> bool) -> bool {
        for Step { kind, stage, .. } in &self.0 {
            if stage.as_ref().is_some_and(|stage| stage.mentions(ident)) {
                return true;
            }
            let in_value = |value: &Value| value.mentions(ident);
            let (found, hidden) = match kind {
                StepKind::Call { callee, args, binder } => {
                    (in_value(callee) || args.iter().any(in_value), binder.as_ref().is_some_and(declares))
                }
                StepKind::Compute { expr, binder } => (expr.mentions(ident), declares(binder)),
                StepKind::Let { value, param, .. } => (in_value(value), param.ident.name == ident.name),
                StepKind::Fix { function, name, .. } => {
                    (name.name != ident.name && function.mentions(ident), name.name == ident.name)
                }
            };
            if found {
                return true;
            }
            if hidden {
                return false;
            }
        }
        false
    }
}

impl Value {
    fn mentions(&self, ident: Ident) -> bool {
        match self {
            Value::Name(found) => found.name == ident.name,
            Value::Lambda(function) => function.mentions(ident),
            Value::Tuple(parts) => parts.iter().any(|part| part.mentions(ident)),
            _ => false,
        }
    }
}

impl Expr {
    fn mentions(&self, ident: Ident) -> bool {
        match self {
            Expr::Value(value) => value.mentions(ident),
            Expr::Binary(_, left, right) => left.mentions(ident) || right.mentions(ident),
        }
    }
}

impl super::StageExpr {
    fn mentions(&self, ident: Ident) -> bool {
        match self {
            super::StageExpr::Always | super::StageExpr::Never => false,
            super::StageExpr::Name(found) => found.name == ident.name,
            super::StageExpr::And(parts) | super::StageExpr::Or(parts) => {
                parts.iter().any(|part| part.mentions(ident))
            }
            super::StageExpr::Not(part) => part.mentions(ident),
        }
    }
}
