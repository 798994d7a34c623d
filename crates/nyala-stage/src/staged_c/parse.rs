//! The parser of Staged-C.

use nyala_span::{Name, SourceFile};

use super::{Expr, ExprKind, Function, Head, Item, Param, STAR, Special, Stmt, StmtKind, Target, Ty};
use crate::deep::{MAX_DEPTH, StageExpr};
use crate::errors::Error;
use crate::lex::TokenKind;
use crate::parser::{Parse, Parser};
use crate::primitive::{OPERATORS, Primitive};

/// A parsed file.
pub struct Parsed {
    /// The definitions, up to the first error.
    pub items: Vec<Item>,
    /// The errors.
    pub errors: Vec<Error>,
}

/// Parses a program.
pub fn parse(file: &SourceFile) -> Parsed {
    let mut parser = Parser::new(file);
    let mut items = vec![];
    while !parser.is_end() {
        match parser.item() {
            Ok(item) => items.push(item),
            Err(error) => {
                parser.errors.push(error);
                break;
            }
        }
    }
    Parsed { items, errors: parser.errors }
}

/// The levels of operators, weakest first.
const LEVELS: [&[&str]; 6] =
    [&["||"], &["&&"], &["==", "!="], &["<", "<=", ">", ">="], &["+", "-"], &["*", "/", "%", "<<", ">>"]];

/// The assignments with their operators.
const ASSIGNMENTS: [(&str, &str); 5] = [("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/"), ("%=", "%")];

fn operator(sign: &str) -> Option<Primitive> {
    OPERATORS.iter().find(|(found, _)| *found == sign).map(|(_, primitive)| *primitive)
}

impl Parser {
    fn item(&mut self) -> Parse<Item> {
        let after_type = if self.is_at(1, "*") { 2 } else { 1 };
        if self.is_c_type() && self.is_at(after_type + 1, "=") {
            let (ty, ident) = (self.c_type()?, self.ident()?);
            self.expect("=")?;
            let value = self.expr()?;
            self.expect(";")?;
            return Ok(Item::Global(ty, ident, value));
        }
        let head = self.head()?;
        if self.is("=") {
            return self.special(head).map(Item::Special);
        }
        self.expect("{")?;
        let body = self.nested(Parser::stmts)?;
        Ok(Item::Function(Function { head, body }))
    }

    /// `float f(int x, float* p)`
    fn head(&mut self) -> Parse<Head> {
        let is_static = self.eat_word("static");
        let result = self.c_type()?;
        let ident = self.ident()?;
        self.expect("(")?;
        let mut params = vec![];
        while !self.is(")") {
            let ty = self.c_type()?;
            params.push(Param { ty, ident: self.ident()? });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(Head { is_static, result, ident, params })
    }

    /// `= generic<a, b>;`
    fn special(&mut self, head: Head) -> Parse<Special> {
        self.expect("=")?;
        let generic = self.ident()?;
        self.expect("<")?;
        let mut args = vec![];
        while !self.is(">") {
            // A comparison needs parentheses here.
            args.push(self.binary(4)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(">")?;
        self.expect(";")?;
        Ok(Special { head, generic, args })
    }

    fn is_c_type(&self) -> bool {
        self.scalar().is_some() || self.is_word("void") || self.is_word("stage")
    }

    fn c_type(&mut self) -> Parse<Ty> {
        if self.eat_word("void") {
            return Ok(Ty::Void);
        }
        if self.eat_word("stage") {
            return Ok(Ty::Stage);
        }
        let Some(prim) = self.scalar() else { return Err(self.unexpected("a type")) };
        self.bump();
        if self.eat("*") {
            return Ok(Ty::Ptr(prim));
        }
        if self.is("[") && self.is_at(1, "]") {
            self.bump();
            self.bump();
            return Ok(Ty::Ptr(prim));
        }
        Ok(Ty::Scalar(prim))
    }

    /// Statements up to `}`, which is taken too.
    fn stmts(&mut self) -> Parse<Vec<Stmt>> {
        let mut stmts = vec![];
        while !self.eat("}") {
            if self.is_end() {
                return Err(self.unexpected("`}`"));
            }
            stmts.push(self.stmt()?);
        }
        Ok(stmts)
    }

    /// A statement as a list, for bodies without braces.
    fn body(&mut self) -> Parse<Vec<Stmt>> {
        self.nested(|parser| match parser.eat("{") {
            true => parser.stmts(),
            false => Ok(vec![parser.stmt()?]),
        })
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        let start = self.span();
        let label = if self.is("@") { Some(self.label()?) } else { None };
        let kind = self.stmt_kind()?;
        Ok(Stmt { label, kind, span: start.to(self.last_span()) })
    }

    fn label(&mut self) -> Parse<StageExpr> {
        self.expect("@")?;
        let stage = self.stage_expr(Some(Name::new(STAR)))?;
        self.expect(":")?;
        Ok(stage)
    }

    fn stmt_kind(&mut self) -> Parse<StmtKind> {
        if self.eat("{") {
            return self.nested(Parser::stmts).map(StmtKind::Block);
        }
        if self.eat(";") {
            return Ok(StmtKind::Block(vec![]));
        }
        if self.eat_word("if") {
            let condition = self.condition()?;
            let then = self.body()?;
            let other = if self.eat_word("else") { self.body()? } else { vec![] };
            return Ok(StmtKind::If(condition, then, other));
        }
        if self.eat_word("while") {
            let condition = Some(self.condition()?);
            return Ok(StmtKind::Loop { init: vec![], condition, step: vec![], body: self.body()? });
        }
        if self.eat_word("for") {
            return self.for_loop();
        }
        if self.eat_word("return") {
            let value = if self.is(";") { None } else { Some(self.expr()?) };
            self.expect(";")?;
            return Ok(StmtKind::Return(value));
        }
        let kind = self.simple()?;
        if !matches!(kind, StmtKind::Special(_)) {
            self.expect(";")?;
        }
        Ok(kind)
    }

    fn condition(&mut self) -> Parse<Expr> {
        self.expect("(")?;
        let condition = self.expr()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn for_loop(&mut self) -> Parse<StmtKind> {
        self.expect("(")?;
        let init = self.simple_list(";")?;
        self.expect(";")?;
        let condition = if self.is(";") { None } else { Some(self.expr()?) };
        self.expect(";")?;
        let step = self.simple_list(")")?;
        self.expect(")")?;
        Ok(StmtKind::Loop { init, condition, step, body: self.body()? })
    }

    fn simple_list(&mut self, end: &str) -> Parse<Vec<Stmt>> {
        let mut stmts = vec![];
        while !self.is(end) {
            let start = self.span();
            let kind = self.simple()?;
            stmts.push(Stmt { label: None, kind, span: start.to(self.last_span()) });
            if !self.eat(",") {
                break;
            }
        }
        Ok(stmts)
    }

    /// A declaration, an assignment or a call.
    fn simple(&mut self) -> Parse<StmtKind> {
        if self.is_c_type() {
            if let Some(head) = self.local_head()? {
                return self.special(head).map(StmtKind::Special);
            }
            let ty = self.c_type()?;
            let ident = self.ident()?;
            let init = if self.eat("=") { Some(self.expr()?) } else { None };
            return Ok(StmtKind::Declare(ty, ident, init));
        }
        for (sign, operation) in [("++", "+"), ("--", "-")] {
            if self.eat(sign) {
                let target = self.target()?;
                return Ok(self.increment(target, operation));
            }
        }
        let start = self.span();
        let expr = self.expr()?;
        for (sign, operation) in [("++", "+"), ("--", "-")] {
            if self.eat(sign) {
                let target = self.as_target(expr)?;
                return Ok(self.increment(target, operation));
            }
        }
        if self.eat("=") {
            let target = self.as_target(expr)?;
            return Ok(StmtKind::Assign(target, None, self.expr()?));
        }
        for (sign, operation) in ASSIGNMENTS {
            if self.eat(sign) {
                let target = self.as_target(expr)?;
                return Ok(StmtKind::Assign(target, operator(operation), self.expr()?));
            }
        }
        match expr.kind {
            ExprKind::Call(..) => Ok(StmtKind::Call(expr)),
            _ => {
                let error = Error::new(
                    crate::errors::ErrorKind::Syntax,
                    start.to(self.last_span()),
                    "this expression is not a statement",
                );
                Err(error.note(
                    "a statement is a declaration, an assignment, a call, `if`, `for`, `while` or `return`",
                ))
            }
        }
    }

    fn increment(&self, target: Target, operation: &str) -> StmtKind {
        let one = Expr { kind: ExprKind::Int(1), span: self.last_span() };
        StmtKind::Assign(target, operator(operation), one)
    }

    /// The head of a local specialization, if there is one.
    fn local_head(&mut self) -> Parse<Option<Head>> {
        let skip = if self.is_at(1, "*") { 2 } else { 1 };
        let is_head = matches!(self.peek(skip), TokenKind::Name(_)) && self.is_at(skip + 1, "(");
        if is_head { self.head().map(Some) } else { Ok(None) }
    }

    fn target(&mut self) -> Parse<Target> {
        let expr = self.postfix()?;
        self.as_target(expr)
    }

    fn as_target(&self, expr: Expr) -> Parse<Target> {
        match expr.kind {
            ExprKind::Name(ident) => Ok(Target::Name(ident)),
            ExprKind::Index(pointer, index) => Ok(Target::Element(*pointer, *index)),
            _ => Err(Error::new(
                crate::errors::ErrorKind::Syntax,
                expr.span,
                "only variables and elements of arrays are assigned",
            )),
        }
    }

    fn expr(&mut self) -> Parse<Expr> {
        self.nested(|parser| {
            let condition = parser.binary(0)?;
            if !parser.eat("?") {
                return Ok(condition);
            }
            let then = parser.expr()?;
            parser.expect(":")?;
            let other = parser.expr()?;
            let span = condition.span.to(other.span);
            let kind = ExprKind::Choose(Box::new(condition), Box::new(then), Box::new(other));
            Ok(Expr { kind, span })
        })
    }

    fn binary(&mut self, level: usize) -> Parse<Expr> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut n_operators = 0;
        while let TokenKind::Sign(sign) = self.kind() {
            let Some(primitive) = operator(sign).filter(|_| signs.contains(&sign)) else { break };
            n_operators += 1;
            if n_operators > MAX_DEPTH {
                return Err(self.unexpected("a shorter expression"));
            }
            self.bump();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(primitive, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        let wrap = |kind: fn(Box<Expr>) -> ExprKind, parser: &mut Parser| {
            let inner = parser.nested(Parser::unary)?;
            let span = start.to(inner.span);
            Ok(Expr { kind: kind(Box::new(inner)), span })
        };
        if self.eat("-") {
            return wrap(ExprKind::Negate, self);
        }
        if self.eat("!") {
            return wrap(ExprKind::Not, self);
        }
        if self.is("*") {
            self.bump();
            return Ok(Expr { kind: ExprKind::Star, span: start });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let mut expr = self.primary()?;
        while self.eat("[") {
            let index = self.expr()?;
            self.expect("]")?;
            let span = expr.span.to(self.last_span());
            expr = Expr { kind: ExprKind::Index(Box::new(expr), Box::new(index)), span };
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Parse<Expr> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Int(value) => {
                self.bump();
                ExprKind::Int(value)
            }
            TokenKind::Float(value) => {
                self.bump();
                ExprKind::Float(value)
            }
            TokenKind::Name(_) => {
                let ident = self.ident()?;
                match ident.name.as_str() {
                    "true" => ExprKind::Bool(true),
                    "false" => ExprKind::Bool(false),
                    _ if self.eat("(") => ExprKind::Call(ident, self.expr_list(")")?),
                    _ => ExprKind::Name(ident),
                }
            }
            TokenKind::Sign("{") => {
                self.bump();
                ExprKind::Array(self.expr_list("}")?)
            }
            TokenKind::Sign("(") => {
                self.bump();
                return self.nested(Parser::parenthesized);
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, span: span.to(self.last_span()) })
    }

    /// After `(`: a cast, a staged expression, or a grouped one.
    fn parenthesized(&mut self) -> Parse<Expr> {
        let start = self.last_span();
        if self.is_c_type() {
            let ty = self.c_type()?;
            self.expect(")")?;
            let inner = self.unary()?;
            let span = start.to(inner.span);
            return Ok(Expr { kind: ExprKind::Cast(ty, Box::new(inner)), span });
        }
        let label = if self.is("@") { Some(self.label()?) } else { None };
        let inner = self.expr()?;
        self.expect(")")?;
        let span = start.to(self.last_span());
        Ok(match label {
            Some(stage) => Expr { kind: ExprKind::Staged(stage, Box::new(inner)), span },
            None => inner,
        })
    }

    fn expr_list(&mut self, end: &str) -> Parse<Vec<Expr>> {
        let mut list = vec![];
        while !self.is(end) {
            list.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(end)?;
        Ok(list)
    }
}
