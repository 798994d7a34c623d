//! Tokens to syntax tree.
//!
//! The grammar is that of the paper's section 4.1. `let`, `if` and `sum` extend as far to the right as possible. Named
//! prefix operators bind tighter than infix operators, `-` binds between `*` and `**`. The parser stops at the first
//! error. It bounds the height of the tree, so that the stages after it may recurse.

use nyala_span::{SourceFile, Span};

use crate::ast::{BinaryOp, Channels, Expr, ExprKind, Filter, Let, Matrix, NEG_PRECEDENCE, Name, UnaryOp};
use crate::errors::FilterError;
use crate::lexer::{Kind, Token, lex};

/// The largest height of a syntax tree. A larger one is an error.
pub const MAX_HEIGHT: u32 = 256;

/// The most channels that a filter may specify.
pub const MAX_CHANNELS: u32 = 4;

/// Words that are no variables.
const KEYWORDS: [&str; 15] = [
    "let", "in", "if", "then", "else", "sum", "from", "to", "of", "image", "channels", "true", "false",
    "min", "max",
];

type Result<T> = std::result::Result<T, FilterError>;

/// Parses a filter.
pub fn parse(file: &SourceFile) -> Result<Filter> {
    let mut parser = Parser { tokens: lex(file), at: 0, depth: 0 };
    let filter = parser.filter()?;
    if parser.peek().kind != Kind::End {
        return Err(parser.expected("the end of the filter"));
    }
    Ok(filter)
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// How many expressions are being parsed.
    depth: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        // The last token is the end.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, text: &str) -> bool {
        let token = self.peek();
        token.text == text && matches!(token.kind, Kind::Word | Kind::Sign)
    }

    fn accept(&mut self, text: &str) -> bool {
        let is_next = self.is(text);
        if is_next {
            self.next();
        }
        is_next
    }

    fn expect(&mut self, text: &'static str) -> Result<Span> {
        let span = self.peek().span;
        if self.accept(text) { Ok(span) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    fn expected(&self, what: &str) -> FilterError {
        let token = self.peek();
        match token.kind {
            Kind::Unknown => FilterError::Character { at: token.span, text: token.text.into() },
            Kind::End => FilterError::Expected { at: token.span, what: what.into(), found: None },
            _ => {
                let found = Some(token.text.to_owned());
                FilterError::Expected { at: token.span, what: what.into(), found }
            }
        }
    }

    fn filter(&mut self) -> Result<Filter> {
        let mut lets = vec![];
        while self.is("let") {
            self.next();
            lets.push(self.definition()?);
            if lets.len() > MAX_HEIGHT as usize {
                return Err(FilterError::TooDeep { at: self.peek().span });
            }
        }
        let start = self.expect("[")?;
        let channels = self.channels()?;
        let span = start.to(self.expect("]")?);
        Ok(Filter { lets, channels, span })
    }

    fn channels(&mut self) -> Result<Channels> {
        // No other word may follow a number.
        if self.peek().kind == Kind::Int && self.tokens[self.at + 1].kind == Kind::Word {
            let (count, at) = (self.int()?, self.tokens[self.at - 1].span);
            self.expect("channels")?;
            self.expect(":")?;
            let count = u32::try_from(count).unwrap_or(0);
            if count == 0 || count > MAX_CHANNELS {
                return Err(FilterError::ChannelCount { at, count: count.into() });
            }
            return Ok(Channels::All(count, Box::new(self.expr()?)));
        }
        let mut channels = vec![self.expr()?];
        while self.accept(";") {
            let at = self.peek().span;
            channels.push(self.expr()?);
            if channels.len() > MAX_CHANNELS as usize {
                return Err(FilterError::ChannelCount { at, count: channels.len() as u64 });
            }
        }
        Ok(Channels::Each(channels))
    }

    /// `var = expr in`
    fn definition(&mut self) -> Result<Let> {
        let name = self.name()?;
        self.expect("=")?;
        let value = self.expr()?;
        self.expect("in")?;
        Ok(Let { name, value })
    }

    fn name(&mut self) -> Result<Name> {
        let token = self.peek();
        let is_operator = UnaryOp::ALL.iter().any(|op| op.name() == token.text);
        if token.kind != Kind::Word || KEYWORDS.contains(&token.text) || is_operator {
            return Err(self.expected("a name"));
        }
        self.next();
        Ok(Name { text: token.text.into(), span: token.span })
    }

    fn expr(&mut self) -> Result<Expr> {
        self.infix(0)
    }

    /// Operands and infix operators of at least this precedence.
    fn infix(&mut self, least: u8) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_HEIGHT {
            return Err(FilterError::TooDeep { at: self.peek().span });
        }
        let mut lhs = self.prefix()?;
        while let Some((op, precedence)) = self.infix_operator().filter(|&(_, found)| found >= least) {
            self.next();
            // Only powers associate to the right; the operand of a power may be negated.
            let rhs = match op {
                BinaryOp::Pow => self.infix(precedence.min(NEG_PRECEDENCE))?,
                _ => self.infix(precedence + 1)?,
            };
            let span = lhs.span.to(rhs.span);
            lhs = node(ExprKind::Binary(op, Box::new([lhs, rhs])), span)?;
        }
        self.depth -= 1;
        Ok(lhs)
    }

    fn infix_operator(&self) -> Option<(BinaryOp, u8)> {
        let mut operators = BinaryOp::ALL.into_iter().filter_map(|op| Some((op, op.precedence()?)));
        operators.find(|(op, _)| self.is(op.name()))
    }

    fn prefix(&mut self) -> Result<Expr> {
        let token = self.peek();
        let operator = UnaryOp::ALL.into_iter().find(|op| self.is(op.name()));
        if let Some(op) = operator {
            self.next();
            let operand = match op {
                UnaryOp::Neg => self.infix(NEG_PRECEDENCE)?,
                _ => self.infix(u8::MAX)?,
            };
            let span = token.span.to(operand.span);
            return node(ExprKind::Unary(op, Box::new(operand)), span);
        }
        match token.text {
            "let" => self.local_definition(),
            "if" => self.conditional(),
            "sum" => self.sum(),
            "image" => self.image(),
            "min" | "max" => self.prefix_of_two(),
            "(" => self.parenthesized(),
            "[" => self.matrix(),
            _ => self.atom(),
        }
    }

    fn local_definition(&mut self) -> Result<Expr> {
        let start = self.next().span;
        let definition = self.definition()?;
        let body = self.expr()?;
        let span = start.to(body.span);
        node(ExprKind::Let(Box::new(definition), Box::new(body)), span)
    }

    fn conditional(&mut self) -> Result<Expr> {
        let start = self.next().span;
        let condition = self.expr()?;
        self.expect("then")?;
        let then = self.expr()?;
        self.expect("else")?;
        let other = self.expr()?;
        let span = start.to(other.span);
        node(ExprKind::If(Box::new([condition, then, other])), span)
    }

    fn sum(&mut self) -> Result<Expr> {
        let start = self.next().span;
        let name = self.name()?;
        self.expect("from")?;
        let lower = self.expr()?;
        self.expect("to")?;
        let upper = self.expr()?;
        self.expect("of")?;
        let body = self.expr()?;
        let span = start.to(body.span);
        node(ExprKind::Sum(name, Box::new([lower, upper, body])), span)
    }

    fn image(&mut self) -> Result<Expr> {
        let start = self.next().span;
        self.expect("(")?;
        let row = self.expr()?;
        self.expect(",")?;
        let col = self.expr()?;
        self.expect(",")?;
        let channel = self.expr()?;
        let end = self.expect(")")?;
        node(ExprKind::Image(Box::new([row, col, channel])), start.to(end))
    }

    fn prefix_of_two(&mut self) -> Result<Expr> {
        let token = self.next();
        let op = if token.text == "min" { BinaryOp::Min } else { BinaryOp::Max };
        self.expect("(")?;
        let lhs = self.expr()?;
        self.expect(",")?;
        let rhs = self.expr()?;
        let end = self.expect(")")?;
        node(ExprKind::Binary(op, Box::new([lhs, rhs])), token.span.to(end))
    }

    fn parenthesized(&mut self) -> Result<Expr> {
        let start = self.next().span;
        let inner = self.expr()?;
        let span = start.to(self.expect(")")?);
        Ok(Expr { span, ..inner })
    }

    fn matrix(&mut self) -> Result<Expr> {
        let start = self.next().span;
        let (mut entries, mut rows, mut cols) = (vec![], 0, 0);
        loop {
            let (first, at) = (entries.len(), self.peek().span);
            while self.is("-") || matches!(self.peek().kind, Kind::Int | Kind::Float) {
                entries.push(self.entry()?);
            }
            let found = entries.len() - first;
            if found == 0 {
                return Err(self.expected("a number"));
            }
            if rows > 0 && found != cols {
                let at = at.to(self.tokens[self.at - 1].span);
                return Err(FilterError::MatrixRow { at, expected: cols, found });
            }
            (rows, cols) = (rows + 1, found);
            if !self.accept("|") {
                break;
            }
        }
        let end = self.expect("]")?;
        node(ExprKind::Matrix(Matrix { rows, cols, entries }), start.to(end))
    }

    /// A number of a matrix, with a sign. `Int` constants are coerced.
    fn entry(&mut self) -> Result<f32> {
        let is_negative = self.accept("-");
        let token = self.peek();
        if !matches!(token.kind, Kind::Int | Kind::Float) {
            return Err(self.expected("a number"));
        }
        self.next();
        let value = float(token)?;
        Ok(if is_negative { -value } else { value })
    }

    fn int(&mut self) -> Result<i32> {
        let token = self.next();
        token.text.parse().map_err(|_| FilterError::NumberTooLarge { at: token.span, ty: "Int" })
    }

    fn atom(&mut self) -> Result<Expr> {
        let token = self.peek();
        let kind = match token.kind {
            Kind::Int => ExprKind::Int(self.int()?),
            Kind::Float => {
                self.next();
                ExprKind::Float(float(token)?)
            }
            Kind::Word if self.accept("true") => ExprKind::Bool(true),
            Kind::Word if self.accept("false") => ExprKind::Bool(false),
            Kind::Word if !KEYWORDS.contains(&token.text) => return self.variable(),
            _ => return Err(self.expected("an expression")),
        };
        node(kind, token.span)
    }

    /// A variable, perhaps with indices.
    fn variable(&mut self) -> Result<Expr> {
        let token = self.next();
        if !self.accept("[") {
            return node(ExprKind::Var(token.text.into()), token.span);
        }
        let row = self.expr()?;
        self.expect(",")?;
        let col = self.expr()?;
        let end = self.expect("]")?;
        let name = Name { text: token.text.into(), span: token.span };
        node(ExprKind::Index(name, Box::new([row, col])), token.span.to(end))
    }
}

fn float(token: Token<'_>) -> Result<f32> {
    let value: f32 = token.text.parse().unwrap_or(f32::INFINITY);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(FilterError::NumberTooLarge { at: token.span, ty: "Float" })
    }
}

/// An expression, if its tree is not too high.
fn node(kind: ExprKind, span: Span) -> Result<Expr> {
    let tallest = |parts: &[Expr]| parts.iter().map(|part| part.height).max().unwrap_or(0);
    let height = 1 + match &kind {
        ExprKind::Unary(_, operand) => operand.height,
        ExprKind::Binary(_, parts) | ExprKind::Index(_, parts) => tallest(&parts[..]),
        ExprKind::Image(parts) | ExprKind::If(parts) | ExprKind::Sum(_, parts) => tallest(&parts[..]),
        ExprKind::Let(definition, body) => definition.value.height.max(body.height),
        _ => 0,
    };
    if height > MAX_HEIGHT { Err(FilterError::TooDeep { at: span }) } else { Ok(Expr { kind, span, height }) }
}
