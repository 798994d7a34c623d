//! Operators in the text form.

use super::super::names::prim_from_name;
use super::{Nominal, Parsed, Parser};
use crate::node::{ArithFlags, ArithOp, AsmData, CmpOp, Def, LaneOp, Mark, MathOp, Node};
use crate::types::{Prim, Ty, TyKind};

/// The maximum number of lanes of a `splat`.
const MAX_SPLAT: u32 = 1 << 16;

impl<'a> Parser<'a> {
    pub(super) fn operator(&mut self, word: &'a str, hint: Option<Ty>) -> Parsed<Def> {
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

    pub(super) fn part_ty(&self, at: usize, ty: Ty, index: Def) -> Parsed<Ty> {
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
