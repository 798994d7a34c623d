//! Expressions and calls in the text form.

use super::super::lex::TokenKind;
use super::super::names::prim_from_name;
use super::{Nominal, Parsed, Parser};
use crate::eval;
use crate::node::{ArithFlags, ArithOp, AsmData, CmpOp, Cont, Def, LaneOp, Mark, MathOp, Node};
use crate::types::{Prim, Ty, TyKind};

/// More lanes are not written as a `splat`.
const MAX_SPLAT: u32 = 1 << 16;

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

// ---- Operators ---------------------------------------------------------------------

impl<'a> Parser<'a> {
    fn operator(&mut self, word: &'a str, hint: Option<Ty>) -> Parsed<Def> {
        if let Some(op) = ArithOp::ALL.into_iter().find(|op| op.name() == word) {
            let (flags, args) = self.numeric(2)?;
            return Ok(self.world.arith(op, flags, args[0], args[1]));
        }
        if let Some(op) = CmpOp::ALL.into_iter().find(|op| op.name() == word) {
            let (_, args) = self.numeric(2)?;
            return Ok(self.world.cmp(op, args[0], args[1]));
        }
        if let Some(&op) = MathOp::ALL.iter().find(|op| op.name() == word) {
            let (flags, args) = self.numeric(op.arity())?;
            return Ok(self.world.math(op, flags, &args));
        }
        if let Some(prim) = prim_from_name(word) {
            self.at += 2;
            let bits = self.int()?;
            self.expect(b')')?;
            return Ok(self.world.lit(prim, bits));
        }
        if let Some(op) = LaneOp::ALL.into_iter().find(|op| op.name() == word) {
            return self.lane_operator(op);
        }
        match word {
            "load" | "store" | "slot" | "alloc" | "lea" | "demand" => self.memory_operator(word),
            "load_lanes" | "store_lanes" => self.lane_access(word),
            "splat" => self.splat(hint),
            "extract" | "insert" | "variant" | "payload" | "tag" => self.part_operator(word),
            "undef" | "null" | "address" | "cast" | "bitcast" | "size_of" | "align_of" | "aggregate" => {
                self.typed_operator(word)
            }
            "asm" => self.asm(),
            _ => self.plain_operator(word, hint),
        }
    }

    fn plain_operator(&mut self, word: &str, hint: Option<Ty>) -> Parsed<Def> {
        match word {
            "select" => {
                let cond = self.first_arg(None)?;
                let then = self.next_arg(hint)?;
                let other = self.next_arg(Some(self.world.ty(then)))?;
                self.expect(b')')?;
                Ok(self.world.select(cond, then, other))
            }
            "known" => {
                let value = self.only_arg(None)?;
                Ok(self.world.known(value))
            }
            "hide" => {
                let value = self.only_arg(hint)?;
                Ok(self.world.hide(value))
            }
            "streaming" => {
                let ptr = self.only_arg(hint)?;
                Ok(self.world.streaming(ptr))
            }
            _ => match Mark::ALL.into_iter().find(|mark| mark.name() == word) {
                Some(mark) => {
                    let callee = self.only_arg(None)?;
                    Ok(self.world.mark(mark, callee))
                }
                None => self.error(format!("unknown operator `{word}`")),
            },
        }
    }

    /// `word(arg`
    fn first_arg(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.next();
        self.expect(b'(')?;
        self.expr(hint)
    }

    /// `, arg`
    fn next_arg(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.expect(b',')?;
        self.expr(hint)
    }

    /// `word(arg)`
    fn only_arg(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        let arg = self.first_arg(hint)?;
        self.expect(b')')?;
        Ok(arg)
    }

    /// `word[flags](args)`, `n_args` of them, all of the first one's type.
    fn numeric(&mut self, n_args: usize) -> Parsed<(ArithFlags, Vec<Def>)> {
        self.next();
        let mut flags = ArithFlags::STRICT;
        if self.eat(b'[') {
            self.list(b']', |this, _| {
                let at = this.at;
                match this.ident()? {
                    "wrap" => flags.wrap = true,
                    "fast" => flags.fast = true,
                    word => return this.error_at(at, format!("unknown flag `{word}`")),
                }
                Ok(())
            })?;
        }
        let at = self.at;
        self.expect(b'(')?;
        let mut ty = None;
        let args = self.list(b')', |this, _| {
            let arg = this.expr(ty)?;
            ty = ty.or(Some(this.world.ty(arg)));
            Ok(arg)
        })?;
        if args.len() != n_args {
            return self.error_at(at, format!("expected {n_args} operands, found {}", args.len()));
        }
        Ok((flags, args))
    }

    fn part_ty(&self, at: usize, ty: Ty, index: Def) -> Parsed<Ty> {
        let types = &self.world.types;
        let part = types.elem(ty).or_else(|| types.part(ty, self.world.as_lit(index)?));
        part.map_or_else(|| self.error_at(at, format!("`{}` has no such part", types.display(ty))), Ok)
    }

    fn part_operator(&mut self, word: &str) -> Parsed<Def> {
        let at = self.at;
        match word {
            "extract" | "insert" => {
                let agg = self.first_arg(None)?;
                let index = self.next_arg(Some(self.world.types.prim(Prim::U32)))?;
                let part = self.part_ty(at, self.world.ty(agg), index)?;
                if word == "extract" {
                    self.expect(b')')?;
                    return Ok(self.world.extract(agg, index));
                }
                let value = self.next_arg(Some(part))?;
                self.expect(b')')?;
                Ok(self.world.insert(agg, index, value))
            }
            "variant" => {
                self.at += 2;
                let Nominal::Enum(_, ty) = self.nominal()? else {
                    return self.error_at(at, "expected an enum");
                };
                self.expect(b'.')?;
                let (option, payload) = self.option(ty)?;
                let value = self.bracketed_arg(Some(payload))?;
                Ok(self.world.variant(ty, option, value))
            }
            "payload" => {
                // The name of the option precedes the value that gives it a meaning.
                self.at += 2;
                let option_at = self.at;
                self.ident()?;
                let value = self.bracketed_arg(None)?;
                let end = std::mem::replace(&mut self.at, option_at);
                let (option, _) = self.option(self.world.ty(value))?;
                self.at = end;
                Ok(self.world.variant_payload(option, value))
            }
            _ => {
                let value = self.only_arg(None)?;
                Ok(self.world.variant_tag(value))
            }
        }
    }

    /// `](arg)`
    fn bracketed_arg(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.expect(b']')?;
        self.expect(b'(')?;
        let arg = self.expr(hint)?;
        self.expect(b')')?;
        Ok(arg)
    }

    /// An option of the enum `ty`: its number and payload.
    fn option(&mut self, ty: Ty) -> Parsed<(u32, Ty)> {
        let at = self.at;
        let name = self.ident()?;
        let TyKind::Enum(id) = *self.world.types.kind(ty) else {
            return self.error_at(at, format!("`{}` is no enum", self.world.types.display(ty)));
        };
        let mut options = self.world.types.enums[id].options.iter().enumerate();
        match options.find(|(_, option)| option.name.as_str() == name) {
            Some((i, option)) => Ok((i as u32, option.payload)),
            None => self.error_at(at, format!("no option `{name}`")),
        }
    }

    /// `word[ty]`
    fn type_arg(&mut self) -> Parsed<Ty> {
        self.next();
        self.expect(b'[')?;
        let ty = self.ty()?;
        self.expect(b']')?;
        Ok(ty)
    }

    fn typed_operator(&mut self, word: &str) -> Parsed<Def> {
        let ty = self.type_arg()?;
        match word {
            "undef" => return Ok(self.world.undef(ty)),
            "null" => return Ok(self.world.null(ty)),
            _ => self.expect(b'(')?,
        }
        let def = match word {
            "address" => {
                let bits = self.int()?;
                self.world.intern(Node::Lit(bits), ty)
            }
            "size_of" => {
                let of = self.ty()?;
                self.world.size_of(ty, of)
            }
            "align_of" => {
                let of = self.ty()?;
                self.world.align_of(ty, of)
            }
            "aggregate" => {
                let parts = self.list(b')', |this, _| this.expr(None))?;
                return Ok(self.world.aggregate(ty, &parts));
            }
            "cast" => {
                let value = self.expr(None)?;
                self.world.cast(ty, value)
            }
            _ => {
                let value = self.expr(None)?;
                self.world.bitcast(ty, value)
            }
        };
        self.expect(b')')?;
        Ok(def)
    }

    fn lane_operator(&mut self, op: LaneOp) -> Parsed<Def> {
        self.next();
        let at = self.at;
        self.expect(b'(')?;
        let args = self.list(b')', |this, _| this.expr(None))?;
        match args.len() == op.arity() {
            true => Ok(self.world.lanes(op, &args)),
            false => self.error_at(at, format!("expected {} operands", op.arity())),
        }
    }

    /// `load_lanes(mem, ptr, mask)`, `store_lanes(mem, ptr, mask, value)`
    fn lane_access(&mut self, word: &str) -> Parsed<Def> {
        let at = self.at;
        let mem = self.first_arg(None)?;
        self.expect(b',')?;
        let (ptr, elem) = self.pointer_arg()?;
        let mask = self.next_arg(None)?;
        let Some(lanes) = self.world.types.lanes(self.world.ty(mask)) else {
            return self.error_at(at, "the mask has no lanes");
        };
        if word == "store_lanes" {
            let value = self.next_arg(None)?;
            self.expect(b')')?;
            return Ok(self.world.store_lanes(mem, ptr, mask, value));
        }
        self.expect(b')')?;
        let value = self.world.types.simd(elem, lanes);
        let ty = self.world.effect_ty(&[value]);
        Ok(self.world.intern(Node::LoadLanes { mem, ptr, mask }, ty))
    }

    /// `splat[n](lane)`
    fn splat(&mut self, hint: Option<Ty>) -> Parsed<Def> {
        self.at += 2;
        let at = self.at;
        let lanes = self.int()?;
        let elem = hint.and_then(|ty| self.world.types.elem(ty));
        let lane = self.bracketed_arg(elem)?;
        match u32::try_from(lanes).ok().filter(|lanes| (2..=MAX_SPLAT).contains(lanes)) {
            Some(lanes) => Ok(self.world.splat(lane, lanes)),
            None => self.error_at(at, format!("{lanes} lanes")),
        }
    }

    /// A pointer operand, and the type of its target.
    fn pointer_arg(&mut self) -> Parsed<(Def, Ty)> {
        let at = self.at;
        let ptr = self.expr(None)?;
        match self.world.types.lane_ptr(self.world.ty(ptr)) {
            Some((pointee, _)) => Ok((ptr, pointee)),
            None => self.error_at(at, "expected a pointer"),
        }
    }

    fn memory_operator(&mut self, word: &str) -> Parsed<Def> {
        let at = self.at;
        if let "slot" | "alloc" = word {
            return self.allocation(word);
        }
        if word == "lea" {
            self.next();
            self.expect(b'(')?;
            let (ptr, pointee) = self.pointer_arg()?;
            let index = self.next_arg(Some(self.world.types.prim(Prim::U32)))?;
            self.expect(b')')?;
            self.part_ty(at, pointee, index)?;
            return Ok(self.world.lea(ptr, index));
        }
        let mem = self.first_arg(None)?;
        if word == "demand" {
            let value = self.next_arg(None)?;
            self.expect(b')')?;
            return Ok(self.world.demand(mem, value));
        }
        self.expect(b',')?;
        let (ptr, pointee) = self.pointer_arg()?;
        if self.world.types.is_simd(self.world.ty(ptr)) {
            return self.error_at(at, "expected one pointer");
        }
        if word == "load" {
            self.expect(b')')?;
            let ty = self.world.effect_ty(&[pointee]);
            return Ok(self.world.intern(Node::Load { mem, ptr }, ty));
        }
        let value = self.next_arg(Some(pointee))?;
        self.expect(b')')?;
        Ok(self.world.store(mem, ptr, value))
    }

    fn allocation(&mut self, word: &str) -> Parsed<Def> {
        let mut ty = self.type_arg()?;
        self.expect(b'(')?;
        let mem = self.expr(None)?;
        let node = if word == "slot" {
            Node::Slot { mem }
        } else {
            let count = self.next_arg(Some(self.world.types.prim(Prim::I64)))?;
            ty = self.world.types.slice(ty);
            Node::Alloc { mem, count }
        };
        self.expect(b')')?;
        let ptr = self.world.types.ptr(ty, 0);
        let ty = self.world.effect_ty(&[ptr]);
        Ok(self.world.intern(node, ty))
    }

    /// `asm["template", (types), (outputs), (inputs), (clobbers), (options)](mem, inputs)`
    fn asm(&mut self) -> Parsed<Def> {
        self.next();
        self.expect(b'[')?;
        let template = self.string()?;
        self.expect(b',')?;
        self.expect(b'(')?;
        let tys = self.list(b')', |this, _| this.ty())?;
        let mut lists = vec![];
        for _ in 0..4 {
            self.expect(b',')?;
            self.expect(b'(')?;
            lists.push(self.list(b')', |this, _| this.string())?);
        }
        self.expect(b']')?;
        let at = self.at;
        self.expect(b'(')?;
        let args = self.list(b')', |this, _| this.expr(None))?;
        let Ok([outputs, inputs, clobbers, options]) = <[_; 4]>::try_from(lists) else {
            unreachable!("four lists were read")
        };
        match args.split_first() {
            Some((&mem, args)) => {
                let data = AsmData { template, outputs, inputs, clobbers, options };
                Ok(self.world.asm_node(mem, data, args, &tys))
            }
            None => self.error_at(at, "expected the memory"),
        }
    }
}
