//! Types in the text form.

use super::super::lex::TokenKind;
use super::super::names::prim_from_name;
use super::{Nominal, Parsed, Parser};
use crate::types::Ty;

impl<'a> Parser<'a> {
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        self.nested(Parser::ty_here)
    }

    fn ty_here(&mut self) -> Parsed<Ty> {
        if self.eat(b'(') {
            let parts = self.list(b')', |this, _| this.ty())?;
            return Ok(self.world.types.tuple(&parts));
        }
        if self.eat(b'&') {
            return self.pointer();
        }
        if self.eat(b'[') {
            return self.array();
        }
        let TokenKind::Ident(name, quoted) = *self.peek() else {
            return self.error("expected a type");
        };
        if quoted {
            return self.nominal().map(Nominal::ty);
        }
        match name {
            "mem" => {
                self.next();
                Ok(self.world.types.mem())
            }
            "cn" => {
                self.next();
                self.expect(b'(')?;
                let params = self.list(b')', |this, _| this.ty())?;
                Ok(self.world.types.cn(&params))
            }
            "simd" => self.simd(),
            _ => match prim_from_name(name) {
                Some(prim) => {
                    self.next();
                    Ok(self.world.types.prim(prim))
                }
                None => self.nominal().map(Nominal::ty),
            },
        }
    }

    /// `&T` or `&[1]T`, after the `&`.
    fn pointer(&mut self) -> Parsed<Ty> {
        let mut space = 0;
        if let (true, TokenKind::Int(..)) = (self.is_punct(b'['), self.look(1)) {
            self.next();
            let number = self.int()?;
            let Ok(number) = u32::try_from(number) else {
                return self.error("no such address space");
            };
            space = number;
            self.expect(b']')?;
        }
        let pointee = self.ty()?;
        Ok(self.world.types.ptr(pointee, space))
    }

    /// `[T]` or `[T * n]`, after the bracket.
    fn array(&mut self) -> Parsed<Ty> {
        let elem = self.ty()?;
        let ty = if self.eat(b'*') {
            let len = self.int()?;
            self.world.types.array(elem, len)
        } else {
            self.world.types.slice(elem)
        };
        self.expect(b']')?;
        Ok(ty)
    }

    fn simd(&mut self) -> Parsed<Ty> {
        self.next();
        self.expect(b'[')?;
        let elem = self.ty()?;
        self.expect(b'*')?;
        let Ok(lanes) = u32::try_from(self.int()?) else {
            return self.error("too many lanes");
        };
        self.expect(b']')?;
        Ok(self.world.types.simd(elem, lanes))
    }

    /// The struct or enum of this name.
    pub(super) fn nominal(&mut self) -> Parsed<Nominal> {
        let at = self.at;
        let name = self.ident()?;
        match self.types.get(name) {
            Some(&nominal) => Ok(nominal),
            None => self.error_at(at, format!("unknown type `{name}`")),
        }
    }
}

impl Nominal {
    pub(super) fn ty(self) -> Ty {
        match self {
            Nominal::Struct(_, ty) | Nominal::Enum(_, ty) => ty,
        }
    }
}
