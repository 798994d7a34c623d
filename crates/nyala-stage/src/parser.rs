//! The part of the parsers that both languages share: tokens, types and staging expressions.

use nyala_ir::Prim;
use nyala_span::{Name, SourceFile, Span};

use crate::code::Ty;
use crate::deep::{Ident, MAX_DEPTH, StageExpr};
use crate::errors::{Error, ErrorKind};
use crate::lex::{Token, TokenKind, lex};
use crate::primitive::SCALARS;

/// Tokens with a position.
pub(crate) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    pub(crate) errors: Vec<Error>,
}

/// The result of a rule; an error ends the parse.
pub(crate) type Parse<T> = Result<T, Error>;

impl Parser {
    pub(crate) fn new(file: &SourceFile) -> Parser {
        let (tokens, errors) = lex(file);
        Parser { tokens, at: 0, depth: 0, errors }
    }

    pub(crate) fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    /// The token `ahead` positions further.
    pub(crate) fn peek(&self, ahead: usize) -> TokenKind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before.
    pub(crate) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(crate) fn bump(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    pub(crate) fn is(&self, sign: &str) -> bool {
        self.is_at(0, sign)
    }

    pub(crate) fn is_at(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek(ahead), TokenKind::Sign(found) if found == sign)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Name(name) if name.as_str() == word)
    }

    pub(crate) fn is_end(&self) -> bool {
        self.kind() == TokenKind::End
    }

    pub(crate) fn eat(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn expect(&mut self, sign: &str) -> Parse<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    pub(crate) fn unexpected(&self, expected: &str) -> Error {
        let found = match self.kind() {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Int(_) | TokenKind::Float(_) => "a number".into(),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::End => "the end of the file".into(),
        };
        Error::new(ErrorKind::Syntax, self.span(), format!("expected {expected}, found {found}"))
    }

    /// Runs a rule that nests.
    pub(crate) fn nested<T>(&mut self, rule: impl FnOnce(&mut Parser) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(Error::new(ErrorKind::Syntax, self.span(), message));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn ident(&mut self) -> Parse<Ident> {
        match self.kind() {
            TokenKind::Name(name) => {
                let span = self.span();
                self.bump();
                Ok(Ident { name, span })
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// `[y]`, or `[]` for a stage without a name.
    pub(crate) fn opt_stage_binder(&mut self) -> Parse<Option<Ident>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let stage = if self.is("]") { None } else { Some(self.ident()?) };
        self.expect("]")?;
        Ok(stage)
    }

    /// The scalar type that the current token names.
    pub(crate) fn scalar(&self) -> Option<Prim> {
        let TokenKind::Name(name) = self.kind() else { return None };
        SCALARS.iter().find(|(scalar, _)| *scalar == name.as_str()).map(|(_, prim)| *prim)
    }

    /// `e & e`, `e | e`, `!e`, `(e)`, `always`, `never`, a name, and `*` if `star` gives its meaning.
    pub(crate) fn stage_expr(&mut self, star: Option<Name>) -> Parse<StageExpr> {
        let mut parts = vec![self.stage_and(star)?];
        while self.eat("|") {
            parts.push(self.stage_and(star)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { StageExpr::Or(parts) })
    }

    fn stage_and(&mut self, star: Option<Name>) -> Parse<StageExpr> {
        let mut parts = vec![self.stage_unary(star)?];
        while self.eat("&") {
            parts.push(self.stage_unary(star)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { StageExpr::And(parts) })
    }

    fn stage_unary(&mut self, star: Option<Name>) -> Parse<StageExpr> {
        let span = self.span();
        if self.eat("!") {
            return self.nested(|parser| Ok(StageExpr::Not(Box::new(parser.stage_unary(star)?))));
        }
        if self.eat("(") {
            let inner = self.nested(|parser| parser.stage_expr(star))?;
            self.expect(")")?;
            return Ok(inner);
        }
        if let Some(name) = star.filter(|_| self.eat("*")) {
            return Ok(StageExpr::Name(Ident { name, span }));
        }
        match self.kind() {
            TokenKind::Name(name) => {
                self.bump();
                Ok(match name.as_str() {
                    "always" => StageExpr::Always,
                    "never" => StageExpr::Never,
                    _ => StageExpr::Name(Ident { name, span }),
                })
            }
            _ => {
                let error = self.unexpected("a staging expression");
                Err(Error { kind: ErrorKind::Staging, ..error }
                    .note("a staging expression has parameters, `&`, `|`, `!`, `always` and `never`"))
            }
        }
    }

    /// A type of DeepCPS.
    pub(crate) fn ty(&mut self) -> Parse<Ty> {
        let ty = if let Some(prim) = self.scalar() {
            self.bump();
            if self.eat("*") { Ty::Ptr(prim) } else { Ty::Scalar(prim) }
        } else if self.eat_word("stage") {
            Ty::Stage
        } else if self.eat_word("fn") {
            Ty::Fn(self.nested(Parser::type_list)?)
        } else if self.is("[") {
            Ty::Tuple(self.nested(Parser::type_list)?)
        } else {
            return Err(self.unexpected("a type"));
        };
        Ok(ty)
    }

    fn type_list(&mut self) -> Parse<Vec<Ty>> {
        self.expect("[")?;
        let mut types = vec![];
        while !self.is("]") {
            types.push(self.ty()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(types)
    }
}
