//! The text of operations, literals and names.

use cranelift_entity::EntityRef;
use half::f16;

use super::reach::part_number;
use super::{Owner, Printer};
use crate::node::{ArithFlags, AsmData, Cont, Def, Intrinsic, Node};
use crate::text::names::{Ident, TypeIdent};
use crate::types::{Prim, Ty, TyKind};
use crate::world::World;

impl Printer<'_> {
    /// `def` as an operand in a position that requires type `hint`.
    pub(super) fn expr(&mut self, def: Def, hint: Option<Ty>) {
        if self.inline[def.index()] { self.op(def, hint) } else { self.reference(def) }
    }

    /// `def` by name.
    pub(super) fn reference(&mut self, def: Def) {
        let (owner, name) = match self.world.node(def) {
            Node::Cont(cont) => {
                self.top_reference(Owner::Cont(cont));
                if builtin_switch(self.world, def).is_some() {
                    let params = &self.world.cont(cont).params;
                    self.out.push('[');
                    self.ty(self.world.ty(params[1]));
                    self.put(format_args!(", {}]", (params.len() - 3) / 2));
                }
                return;
            }
            Node::Global(global) => return self.top_reference(Owner::Global(global)),
            Node::Param { cont, .. } => {
                self.owner_name(Owner::Cont(cont));
                self.locals[&def].clone()
            }
            _ => match self.locals.get(&def) {
                Some(local) => local.clone(),
                None if matches!(self.world.node(def), Node::Lit(_)) => return self.op(def, None),
                None => return self.put(format_args!("{def}")),
            },
        };
        if self.owner != Some(owner) {
            let owner = self.owner_name(owner);
            self.put(format_args!("{}.", Ident(&owner)));
        }
        self.put(format_args!("{}", Ident(&name)));
    }

    pub(super) fn top_reference(&mut self, owner: Owner) {
        let name = self.owner_name(owner);
        let hidden =
            self.owner.and_then(|owner| self.spaces.get(&owner)).is_some_and(|space| space.has(&name));
        if hidden {
            self.out.push('.');
        }
        self.put(format_args!("{}", Ident(&name)));
    }

    /// The unique name of a continuation or global; names its parameters too.
    pub(super) fn owner_name(&mut self, owner: Owner) -> String {
        if let Some(name) = self.owner_names.get(&owner) {
            return name.clone();
        }
        let name = match owner {
            Owner::Cont(cont) if self.world.is_builtin(cont) => self.world.cont(cont).name.to_string(),
            Owner::Cont(cont) => self.top.unique(self.world.cont(cont).name.as_str()),
            Owner::Global(global) => self.top.unique(self.world.global(global).name.as_str()),
        };
        self.owner_names.insert(owner, name.clone());
        if let Owner::Cont(cont) = owner {
            self.name_params(cont);
        }
        name
    }

    fn name_params(&mut self, cont: Cont) {
        let owner = Owner::Cont(cont);
        let params = &self.world.cont(cont).params;
        for (i, &param) in params.iter().enumerate() {
            let space = self.spaces.entry(owner).or_default();
            let is_last = i + 1 == params.len();
            let name = match (self.world.name(param), self.world.types.kind(self.world.ty(param))) {
                (Some(name), _) => space.unique(name.as_str()),
                (None, TyKind::Mem) => space.unique("mem"),
                (None, TyKind::Cn(_)) if is_last => space.unique("ret"),
                _ => space.unique(&format!("p{i}")),
            };
            self.locals.insert(param, (owner, name));
        }
    }

    /// The operation `def` itself.
    pub(super) fn op(&mut self, def: Def, hint: Option<Ty>) {
        let ty = self.world.ty(def);
        match self.world.node(def) {
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => self.reference(def),
            Node::Lit(bits) => self.literal(ty, bits, hint),
            Node::Undef => self.typed("undef", ty),
            Node::Cast(value) => self.typed_op("cast", ty, &[value]),
            Node::Bitcast(value) => self.typed_op("bitcast", ty, &[value]),
            Node::Arith { op, flags, lhs, rhs } => self.flagged(op.name(), flags, &[lhs, rhs]),
            Node::Cmp { op, lhs, rhs } => self.flagged(op.name(), ArithFlags::STRICT, &[lhs, rhs]),
            Node::Math { op, flags, args } => self.flagged(op.name(), flags, self.world.list(args)),
            Node::Lanes { op, args } => {
                self.out.push_str(op.name());
                self.args(self.world.list(args).iter().map(|&arg| (arg, None)));
            }
            Node::Select { cond, then, other } => {
                self.hinted("select", &[(cond, None), (then, hint), (other, Some(ty))]);
            }
            Node::Extract { .. } | Node::Insert { .. } | Node::Aggregate(_) => self.aggregate_op(def, hint),
            Node::Variant { .. } | Node::VariantPayload { .. } => self.variant_op(def),
            Node::VariantTag(value) => self.hinted("tag", &[(value, None)]),
            Node::SizeOf(of) => self.layout_op("size_of", ty, of),
            Node::AlignOf(of) => self.layout_op("align_of", ty, of),
            Node::Known(value) => self.hinted("known", &[(value, None)]),
            Node::Hide(value) => self.hinted("hide", &[(value, hint)]),
            Node::Streaming(ptr) => self.hinted("streaming", &[(ptr, hint)]),
            Node::Mark { mark, callee } => self.hinted(mark.name(), &[(callee, None)]),
            Node::Load { .. }
            | Node::Store { .. }
            | Node::LoadLanes { .. }
            | Node::StoreLanes { .. }
            | Node::Slot { .. }
            | Node::Alloc { .. }
            | Node::Demand { .. }
            | Node::Lea { .. } => self.memory_op(def),
            Node::Asm { asm, args } => self.asm(self.world.asm_data(asm), ty, self.world.list(args)),
        }
    }

    fn typed(&mut self, word: &str, ty: Ty) {
        self.put(format_args!("{word}["));
        self.ty(ty);
        self.out.push(']');
    }

    fn typed_op(&mut self, word: &str, ty: Ty, args: &[Def]) {
        self.typed(word, ty);
        self.args(args.iter().map(|&arg| (arg, None)));
    }

    fn layout_op(&mut self, word: &str, ty: Ty, of: Ty) {
        self.typed(word, ty);
        self.out.push('(');
        self.ty(of);
        self.out.push(')');
    }

    /// Operands after the first have the type of the first.
    fn flagged(&mut self, word: &str, flags: ArithFlags, args: &[Def]) {
        self.out.push_str(word);
        self.out.push_str(match (flags.wrap, flags.fast) {
            (false, false) => "",
            (true, false) => "[wrap]",
            (false, true) => "[fast]",
            (true, true) => "[wrap, fast]",
        });
        let ty = args.first().map(|&first| self.world.ty(first));
        self.args(args.iter().enumerate().map(|(i, &arg)| (arg, ty.filter(|_| i > 0))));
    }

    fn hinted(&mut self, word: &str, args: &[(Def, Option<Ty>)]) {
        self.out.push_str(word);
        self.args(args.iter().copied());
    }

    pub(super) fn args(&mut self, args: impl Iterator<Item = (Def, Option<Ty>)>) {
        self.out.push('(');
        self.comma_list(args, |this, (arg, hint)| this.expr(arg, hint));
        self.out.push(')');
    }

    fn aggregate_op(&mut self, def: Def, hint: Option<Ty>) {
        let types = &self.world.types;
        let ty = self.world.ty(def);
        let index_ty = Some(types.prim(Prim::U32));
        match self.world.node(def) {
            Node::Extract { agg, index } => match part_number(self.world, index) {
                Some(number) => {
                    self.expr(agg, None);
                    self.put(format_args!(".{number}"));
                }
                None => self.hinted("extract", &[(agg, None), (index, index_ty)]),
            },
            Node::Insert { agg, index, value } => {
                let part = types.elem(ty).or_else(|| types.part(ty, self.world.as_lit(index)?));
                self.hinted("insert", &[(agg, None), (index, index_ty), (value, part)]);
            }
            Node::Aggregate(parts) => self.aggregate(ty, self.world.list(parts), hint),
            _ => unreachable!("called for these only"),
        }
    }

    fn aggregate(&mut self, ty: Ty, parts: &[Def], hint: Option<Ty>) {
        let world = self.world;
        let typed = |(part, ty): (&Def, &Ty)| world.ty(*part) == *ty;
        let elem_hint = hint.and_then(|ty| world.types.elem(ty));
        match world.types.kind(ty) {
            TyKind::Tuple(tys) if tys.len() == parts.len() && parts.iter().zip(tys).all(typed) => {
                let hints = parts
                    .iter()
                    .enumerate()
                    .map(|(i, &part)| (part, hint.and_then(|ty| world.types.part(ty, i as u64))));
                self.args(hints);
            }
            TyKind::Struct(id) => {
                self.put(format_args!("{} {{", TypeIdent(world.types.structs[*id].name.as_str())));
                if !parts.is_empty() {
                    self.out.push(' ');
                    self.comma_list(parts.iter().enumerate(), |this, (i, &part)| {
                        this.expr(part, world.types.part(ty, i as u64));
                    });
                    self.out.push(' ');
                }
                self.out.push('}');
            }
            TyKind::Array { elem, len } if is_uniform(world, parts, *elem, *len) => {
                match self.literal_bytes(parts) {
                    Some(bytes) if world.types.as_prim(*elem) == Some(Prim::U8) => self.string(&bytes),
                    _ => self.elements("[", parts, elem_hint),
                }
            }
            TyKind::Simd { elem, lanes } if is_uniform(world, parts, *elem, u64::from(*lanes)) => {
                match parts.windows(2).all(|pair| pair[0] == pair[1]) && parts.len() > 2 {
                    true => {
                        self.put(format_args!("splat[{lanes}]"));
                        self.args(std::iter::once((parts[0], elem_hint)));
                    }
                    false => self.elements("simd[", parts, elem_hint),
                }
            }
            _ => self.typed_op("aggregate", ty, parts),
        }
    }

    /// Elements after the first have the type of the first.
    fn elements(&mut self, open: &str, parts: &[Def], hint: Option<Ty>) {
        self.out.push_str(open);
        let ty = self.world.ty(parts[0]);
        self.comma_list(parts.iter().enumerate(), |this, (i, &part)| {
            this.expr(part, if i == 0 { hint } else { Some(ty) });
        });
        self.out.push(']');
    }

    fn literal_bytes(&self, parts: &[Def]) -> Option<Vec<u8>> {
        parts.iter().map(|&part| self.world.as_lit(part).map(|bits| bits as u8)).collect()
    }

    fn variant_op(&mut self, def: Def) {
        let world = self.world;
        let (enum_ty, option, operand) = match world.node(def) {
            Node::Variant { option, payload } => (world.ty(def), option, payload),
            Node::VariantPayload { option, value } => (world.ty(value), option, value),
            _ => unreachable!("called for these only"),
        };
        let TyKind::Enum(id) = *world.types.kind(enum_ty) else {
            return self.put(format_args!("{def}"));
        };
        let data = &world.types.enums[id];
        let option = &data.options[option as usize];
        if let Node::Variant { .. } = world.node(def) {
            self.put(format_args!(
                "variant[{}.{}]",
                TypeIdent(data.name.as_str()),
                Ident(option.name.as_str())
            ));
            self.args(std::iter::once((operand, Some(option.payload))));
        } else {
            self.put(format_args!("payload[{}]", Ident(option.name.as_str())));
            self.args(std::iter::once((operand, None)));
        }
    }

    fn memory_op(&mut self, def: Def) {
        let world = self.world;
        let types = &world.types;
        let pointee = |ptr: Ty| types.as_ptr(ptr).map(|(pointee, _)| pointee);
        let result = || types.part(world.ty(def), 1).and_then(pointee);
        match world.node(def) {
            Node::Load { mem, ptr } => self.hinted("load", &[(mem, None), (ptr, None)]),
            Node::Store { mem, ptr, value } => {
                self.hinted("store", &[(mem, None), (ptr, None), (value, pointee(world.ty(ptr)))]);
            }
            Node::LoadLanes { mem, ptr, mask } => {
                self.hinted("load_lanes", &[(mem, None), (ptr, None), (mask, None)]);
            }
            Node::StoreLanes { mem, ptr, mask, value } => {
                self.hinted("store_lanes", &[(mem, None), (ptr, None), (mask, None), (value, None)]);
            }
            Node::Demand { mem, value } => self.hinted("demand", &[(mem, None), (value, None)]),
            Node::Slot { mem } => {
                self.typed("slot", result().unwrap_or(types.unit()));
                self.args(std::iter::once((mem, None)));
            }
            Node::Alloc { mem, count } => {
                let elem = result().and_then(|slice| types.elem(slice)).unwrap_or(types.unit());
                self.typed("alloc", elem);
                self.args([(mem, None), (count, Some(types.prim(Prim::I64)))].into_iter());
            }
            Node::Lea { ptr, index } => {
                self.hinted("lea", &[(ptr, None), (index, Some(types.prim(Prim::U32)))]);
            }
            _ => unreachable!("called for these only"),
        }
    }

    fn asm(&mut self, data: &AsmData, ty: Ty, args: &[Def]) {
        let world = self.world;
        let outputs: Vec<Ty> = match world.types.kind(ty) {
            TyKind::Tuple(parts) => parts[1..].to_vec(),
            _ => vec![],
        };
        self.out.push_str("asm[");
        self.string(&data.template);
        self.out.push_str(", (");
        self.comma_list(outputs, |this, ty| this.ty(ty));
        self.out.push(')');
        for list in [&data.outputs, &data.inputs, &data.clobbers, &data.options] {
            self.out.push_str(", (");
            self.comma_list(list, |this, one| this.string(one));
            self.out.push(')');
        }
        self.out.push(']');
        self.args(args.iter().map(|&arg| (arg, None)));
    }

    fn literal(&mut self, ty: Ty, bits: u64, hint: Option<Ty>) {
        let Some(prim) = self.world.types.as_prim(ty) else {
            if bits == 0 {
                return self.typed("null", ty);
            }
            self.typed("address", ty);
            return self.put(format_args!("({bits:#x})"));
        };
        let hint =
            hint.and_then(|ty| self.world.types.as_prim(ty)).filter(|prim| prim.is_int() || prim.is_float());
        let suffix = if hint.unwrap_or(Prim::I32) == prim { "" } else { prim.name() };
        match prim {
            Prim::Bool => self.put(format_args!("{}", bits != 0)),
            Prim::F16 => self.float(prim, f64::from(f16::from_bits(bits as u16).to_f32()), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f16::from_bits(bits as u16).to_f32()));
            }),
            Prim::F32 => self.float(prim, f64::from(f32::from_bits(bits as u32)), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f32::from_bits(bits as u32)));
            }),
            Prim::F64 => self.float(prim, f64::from_bits(bits), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f64::from_bits(bits)));
            }),
            _ if prim.is_signed() => self.put(format_args!("{}{suffix}", prim.sign_extend(bits))),
            _ => self.put(format_args!("{bits}{suffix}")),
        }
    }

    /// A finite float as `write` writes it, any other by its bits.
    fn float(&mut self, prim: Prim, value: f64, bits: u64, write: impl FnOnce(&mut Self)) {
        if value.is_finite() { write(self) } else { self.put(format_args!("{prim}({bits:#x})")) }
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for &byte in bytes {
            match byte {
                b'"' | b'\\' => self.put(format_args!("\\{}", byte as char)),
                b'\n' => self.out.push_str("\\n"),
                0 => self.out.push_str("\\0"),
                0x20..=0x7e => self.out.push(byte as char),
                _ => self.put(format_args!("\\x{byte:02x}")),
            }
        }
        self.out.push('"');
    }
}

/// The continuation that `def` is, if that is the undeclared `switch`.
pub(super) fn builtin_switch(world: &World, def: Def) -> Option<Cont> {
    let is_switch = world.as_intrinsic(def) == Some(Intrinsic::Switch);
    world.as_cont(def).filter(|&cont| is_switch && world.is_builtin(cont))
}

/// Whether `[parts]` has type `[elem * len]`.
fn is_uniform(world: &World, parts: &[Def], elem: Ty, len: u64) -> bool {
    parts.len() as u64 == len && parts.first().is_some_and(|&first| world.ty(first) == elem)
}
