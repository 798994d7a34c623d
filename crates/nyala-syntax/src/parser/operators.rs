//! The names of functions, which may be operators: `fn operator +(a: V, b: V) -> V`.
//!
//! `operator` is a word like any other, unless a symbol and a parameter list follow.

use nyala_span::Name;

use super::Parser;
use super::exprs::{assign_op, binary_op};
use crate::ast::{BinaryOp, Ident, Operator};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `f`, `operator +`, `operator()`
    pub(super) fn fn_name(&mut self) -> (Ident, Option<Operator>) {
        if !self.at_operator() {
            return (self.ident(), None);
        }
        let lo = self.span();
        self.bump();
        let symbol = self.bump().kind;
        let operator = match symbol {
            TokenKind::LParen => {
                self.bump();
                Some(Operator::Call)
            }
            TokenKind::Not => Some(Operator::Not),
            kind => binary_op(kind).map(|(op, _)| Operator::Binary(op)).filter(|&op| !is_lazy(op)),
        };
        let span = self.span_from(lo);
        let text = symbol.text().unwrap_or_default();
        if operator.is_none() {
            let of = assign_op(symbol).flatten().map(BinaryOp::symbol);
            self.push_error(SyntaxError::BadOperator { at: span, text, of });
        }
        let name = Name::new(&format!("operator {}", operator.map_or(text, Operator::symbol)));
        (Ident { name, span }, operator)
    }

    fn at_operator(&self) -> bool {
        let opens_list = |kind| matches!(kind, TokenKind::LParen | TokenKind::LBracket);
        let is_word = matches!(self.kind(), TokenKind::Ident(name) if name == self.words.operator);
        is_word
            && match (self.nth(1), self.nth(2)) {
                (TokenKind::LParen, TokenKind::RParen) => opens_list(self.nth(3)),
                (symbol, next) => symbol.is_punctuation() && !opens_list(symbol) && opens_list(next),
            }
    }
}

/// Whether the right operand is evaluated only if it is needed, which no function can do.
fn is_lazy(operator: Operator) -> bool {
    matches!(operator, Operator::Binary(BinaryOp::AndAnd | BinaryOp::OrOr))
}
