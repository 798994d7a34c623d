//! Expressions and calls in the text form.

use super::super::lex::TokenKind;
use super::{Nominal, Parsed, Parser};
use crate::eval;
use crate::node::{Cont, Def};
use crate::types::{Prim, Ty};

impl<'a> Parser<'a> {
    /// An operand in a position that requires type `hint`.
    pub(super) fn expr(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.nested(|this| {
            let def = this.primary(hint)?;
            this.parts(def)
        })
    }

    /// `.0.1` after an operand.
    fn parts(&mut self, mut def: Def) -> Parsed<Def> {
        while let (true, &TokenKind::Int(_, number, _)) = (self.is_punct(b'.'), self.look(1)) {
            let at = self.at;
            self.at += 2;
            let index = self.world.lit(Prim::U32, number);
            self.part_ty(at, self.world.ty(def), index)?;
            def = self.world.extract(def, index);
        }
        Ok(def)
    }

    fn primary(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        match self.peek().clone() {
            TokenKind::Int(negative, number, suffix) => self.int_literal(negative, number, suffix, hint),
            TokenKind::Float(digits, suffix) => self.float_literal(&digits, suffix, hint),
            TokenKind::Str(bytes) => {
                self.next();
                let parts: Vec<Def> = bytes.iter().map(|&b| self.world.lit(Prim::U8, u64::from(b))).collect();
                let elem = self.world.types.prim(Prim::U8);
                let ty = self.world.types.array(elem, parts.len() as u64);
                Ok(self.world.aggregate(ty, &parts))
            }
            TokenKind::Punct(b'(') => self.tuple(hint),
            TokenKind::Punct(b'[') => self.array_value(hint),
            TokenKind::Punct(b'.') => self.name(),
            TokenKind::Ident(word, false) => self.word(word, hint),
            TokenKind::Ident(_, true) if *self.look(1) == TokenKind::Punct(b'{') => self.struct_value(),
            TokenKind::Ident(_, true) => self.name(),
            _ => self.error("expected a value"),
        }
    }

    fn word(&mut self, word: &'a str, hint: Option<Ty>) -> Parsed<Def> {
        match (word, self.look(1)) {
            ("true" | "false", _) => {
                self.next();
                Ok(self.world.lit_bool(word == "true"))
            }
            (_, TokenKind::Punct(b'{')) => self.struct_value(),
            ("simd", TokenKind::Punct(b'[')) => {
                self.next();
                self.array_value(hint)
            }
            ("switch", TokenKind::Punct(b'[')) => self.switch_value(),
            (_, TokenKind::Punct(b'(' | b'[')) => self.operator(word, hint),
            _ => self.name(),
        }
    }

    /// `x`, `pow.x`, `.x`: a local, a local of another item, an item.
    fn name(&mut self) -> Parsed<Def> {
        let at = self.at;
        let top_only = self.eat(b'.');
        let name = self.ident()?;
        if let (true, &TokenKind::Ident(local, _)) = (self.is_punct(b'.'), self.look(1)) {
            self.at += 2;
            let owner = self.top.get(name).copied();
            let found = owner.and_then(|owner| self.locals.get(&(owner, local)).copied());
            return found.map_or_else(|| self.error_at(at, format!("unknown name `{name}.{local}`")), Ok);
        }
        let local =
            self.owner.filter(|_| !top_only).and_then(|owner| self.locals.get(&(owner, name)).copied());
        let found = local.or_else(|| self.top.get(name).copied());
        match (found, name) {
            (Some(def), _) => Ok(def),
            (None, "branch") => Ok(self.world.branch()),
            (None, "unreachable") => Ok(self.world.unreachable()),
            _ => match self.params.get(name) {
                Some(Some(param)) => Ok(*param),
                Some(None) => self.error_at(at, format!("several continuations have a parameter `{name}`")),
                None => self.error_at(at, format!("unknown name `{name}`")),
            },
        }
    }

    /// `switch[ty, n]` where it is not called.
    fn switch_value(&mut self) -> Parsed<Def> {
        self.at += 2;
        let ty = self.ty()?;
        self.expect(b',')?;
        let n_cases = self.int()?;
        if n_cases > self.text.len() as u64 {
            return self.error("too many cases");
        }
        self.expect(b']')?;
        Ok(self.world.switch(ty, n_cases as usize))
    }

    // ---- Calls

    /// `callee(args)`, the body of `cont`.
    pub(super) fn call(&mut self, cont: Cont) -> Parsed<()> {
        if self.calls_switch() {
            return self.switch_call(cont);
        }
        let callee = if self.callee_is_operator() { self.expr(None)? } else { self.called_name()? };
        let params = self.world.types.as_cn(self.world.ty(callee)).unwrap_or_default().to_vec();
        self.expect(b'(')?;
        let args = self.list(b')', |this, i| this.expr(params.get(i).copied()))?;
        self.world.set_body(cont, callee, args);
        Ok(())
    }

    fn called_name(&mut self) -> Parsed<Def> {
        let def = self.name()?;
        self.parts(def)
    }

    /// Whether `word(..)` or `word[..]` is an operator whose result is called:
    /// then something follows its closing bracket.
    fn callee_is_operator(&self) -> bool {
        if !matches!(self.peek(), TokenKind::Ident(_, false)) {
            return false;
        }
        match self.look(1) {
            TokenKind::Punct(b'[') => return true,
            TokenKind::Punct(b'(') => {}
            _ => return false,
        }
        let (mut depth, mut ahead) = (0, 1);
        loop {
            match self.look(ahead) {
                TokenKind::Punct(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Punct(b')' | b']' | b'}') => depth -= 1,
                TokenKind::End => return false,
                _ => {}
            }
            ahead += 1;
            if depth == 0 {
                return matches!(self.look(ahead), TokenKind::Punct(b'(' | b'.'));
            }
        }
    }

    /// Whether this calls the `switch` that needs no declaration.
    fn calls_switch(&self) -> bool {
        let at = usize::from(self.is_punct(b'.'));
        let hidden = at == 0 && self.owner.is_some_and(|owner| self.locals.contains_key(&(owner, "switch")));
        *self.look(at) == TokenKind::Ident("switch", false)
            && *self.look(at + 1) == TokenKind::Punct(b'(')
            && !hidden
            && !self.top.contains_key("switch")
    }

    fn switch_call(&mut self, cont: Cont) -> Parsed<()> {
        self.eat(b'.');
        self.at += 2;
        let at = self.at;
        let mut value_ty = None;
        let args = self.list(b')', |this, i| {
            let arg = this.expr(value_ty.filter(|_| i > 2))?;
            if i == 1 {
                value_ty = Some(this.world.ty(arg));
            }
            Ok(arg)
        })?;
        match value_ty {
            Some(ty) if args.len() % 2 == 1 => {
                let switch = self.world.switch(ty, (args.len() - 3) / 2);
                self.world.set_body(cont, switch, args);
                Ok(())
            }
            _ => self.error_at(at, "expected `switch(mem, value, default, literal, target, ..)`"),
        }
    }

    // ---- Literals and aggregates

    fn int_literal(
        &mut self,
        negative: bool,
        number: u64,
        suffix: Option<Prim>,
        hint: Option<Ty>,
    ) -> Parsed<Def> {
        let at = self.at;
        self.next();
        let prim = self.literal_prim(suffix, hint, Prim::I32);
        if prim.is_float() {
            let sign = if negative { "-" } else { "" };
            return self.float_bits(at, prim, &format!("{sign}{number}"));
        }
        let bits = if negative { number.wrapping_neg() } else { number };
        let limit = if prim.is_signed() { 1u64 << (prim.bits() - 1) } else { prim.canonical(u64::MAX) };
        let fits = match (prim.is_signed(), negative) {
            (true, true) => number <= limit,
            (true, false) => number < limit,
            (false, _) => number <= limit && (!negative || number == 0),
        };
        if !fits {
            return self.error_at(at, format!("the literal does not fit into `{prim}`"));
        }
        Ok(self.world.lit(prim, bits))
    }

    fn float_literal(&mut self, digits: &str, suffix: Option<Prim>, hint: Option<Ty>) -> Parsed<Def> {
        let at = self.at;
        self.next();
        let prim = self.literal_prim(suffix, hint, Prim::F64);
        if !prim.is_float() {
            return self.error_at(at, format!("a float where `{prim}` is expected"));
        }
        self.float_bits(at, prim, digits)
    }

    /// The type of a literal: its suffix's, its place's if that is a number, or `default`.
    fn literal_prim(&self, suffix: Option<Prim>, hint: Option<Ty>, default: Prim) -> Prim {
        let hint = hint.and_then(|ty| self.world.types.as_prim(ty));
        suffix.or(hint.filter(|prim| prim.is_int() || prim.is_float())).unwrap_or(default)
    }

    fn float_bits(&mut self, at: usize, prim: Prim, digits: &str) -> Parsed<Def> {
        let bits = match prim {
            Prim::F32 => digits.parse().map(|value: f32| u64::from(value.to_bits())),
            Prim::F64 => digits.parse().map(f64::to_bits),
            _ => digits.parse().map(|value| eval::float_from_value(Prim::F16, value)),
        };
        match bits {
            Ok(bits) => Ok(self.world.lit(prim, bits)),
            Err(_) => self.error_at(at, "a bad float"),
        }
    }

    fn tuple(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.next();
        let parts = self.list(b')', |this, i| {
            let hint = hint.and_then(|ty| this.world.types.part(ty, i as u64));
            this.expr(hint)
        })?;
        Ok(self.world.tuple(&parts))
    }

    /// `[a, b]`, also after `simd`.
    fn array_value(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        let is_simd = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Ident("simd", false);
        let at = self.at;
        self.next();
        let mut elem = hint.and_then(|ty| self.world.types.elem(ty));
        let mut first = None;
        let parts = self.list(b']', |this, _| {
            let part = this.expr(first.or(elem))?;
            first = first.or(Some(this.world.ty(part)));
            Ok(part)
        })?;
        elem = first;
        match elem {
            None => self.error_at(at, "the type of an empty array; write `aggregate[T]()`"),
            Some(elem) if is_simd => {
                let ty = self.world.types.simd(elem, parts.len() as u32);
                Ok(self.world.aggregate(ty, &parts))
            }
            Some(elem) => {
                let ty = self.world.types.array(elem, parts.len() as u64);
                Ok(self.world.aggregate(ty, &parts))
            }
        }
    }

    fn struct_value(&mut self) -> Parsed<Def> {
        let at = self.at;
        let Nominal::Struct(_, ty) = self.nominal()? else {
            return self.error_at(at, "expected a struct");
        };
        self.expect(b'{')?;
        let parts = self.list(b'}', |this, i| {
            let hint = this.world.types.part(ty, i as u64);
            this.expr(hint)
        })?;
        Ok(self.world.aggregate(ty, &parts))
    }
}
