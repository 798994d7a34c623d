//! Operations without side effects, for all lanes.

use nyala_ir::analysis::schedule::{can_fail, has_effect};
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Node, Prim, Ty, TyKind, World};

use super::Refusal;
use super::addresses::constant_summand;
use super::emit::{Emitter, Rep};
use super::lanewise;
use super::shapes::Shape;

/// The longest array that is indexed by comparing the index with each position.
const MAX_INDEXED: usize = 64;

impl Emitter<'_> {
    /// Writes an operation of a block.
    pub fn operation(&mut self, def: Def, block: usize) -> Result<(), Refusal> {
        let world = &*self.world;
        if has_effect(world, def) {
            return self.effect(def, block);
        }
        let new = match world.node(def) {
            Node::Extract { agg, .. } if has_effect(world, agg) => {
                if world.ty(def) == world.types.mem() {
                    return Ok(());
                }
                let ty = world.ty(def);
                let rep = self.rep(agg, block);
                self.shaped(def, rep, ty)
            }
            _ if world.ty(def) == world.types.mem() => return Ok(()),
            Node::Lea { ptr, .. } if self.is_only_part(def, ptr) => self.rep(ptr, block).def,
            _ => match self.task.shapes.of(def) {
                Shape::Varying => self.varying(def, block)?,
                _ => self.scalar(def, block),
            },
        };
        self.set(def, new);
        Ok(())
    }

    /// Whether `def` is a private address that equals the one it is derived from.
    fn is_only_part(&self, def: Def, ptr: Def) -> bool {
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        self.task.shapes.is_private(def)
            && pointee.is_some_and(|pointee| lanewise::is_single_part(self.world, pointee))
    }

    /// Converts a representation, which may be more precise in this block, to the shape that `def` has
    /// everywhere.
    pub fn shaped(&mut self, def: Def, rep: Rep, ty: Ty) -> Def {
        match self.task.shapes.of(def) {
            Shape::Varying => self.lanes_of(rep, ty),
            _ => rep.def,
        }
    }

    /// The operation on scalars: on uniform operands, or on those of lane 0. Constant summands of an
    /// index are added to the address. Otherwise an inactive lane 0 might wrap, and it would not show
    /// that `p(i)` and `p(i + 1)` are adjacent.
    fn scalar(&mut self, def: Def, block: usize) -> Def {
        let operands: Vec<Def> =
            self.world.operands(def).into_iter().map(|operand| self.rep(operand, block).def).collect();
        match self.world.node(def) {
            Node::Lea { index, .. } if !self.is_full() => match constant_summand(self.world, index) {
                Some((own, constant)) => {
                    let own = self.rep(own, block).def;
                    let start = self.world.lea(operands[0], own);
                    let slice = self.world.ty(operands[0]);
                    let start = self.world.bitcast(slice, start);
                    self.world.lea(start, constant)
                }
                None => self.world.rebuild(def, &operands),
            },
            _ => self.rebuilt(def, &operands),
        }
    }

    /// The operation on other operands, of one lane or of all.
    pub fn rebuilt(&mut self, def: Def, operands: &[Def]) -> Def {
        match self.world.node(def) {
            Node::Arith { op, flags, .. } => {
                let flags = self.flags(flags);
                self.world.arith(op, flags, operands[0], operands[1])
            }
            _ => self.world.rebuild(def, operands),
        }
    }

    /// Integers of inactive lanes wrap.
    fn flags(&mut self, flags: ArithFlags) -> ArithFlags {
        ArithFlags { wrap: flags.wrap || !self.is_full(), ..flags }
    }

    /// An operand as one value per lane.
    pub fn lanes(&mut self, operand: Def, block: usize) -> Def {
        let rep = self.rep(operand, block);
        self.lanes_of(rep, self.world.ty(operand))
    }

    /// A value of type `ty` as one value per lane.
    pub fn lanes_of(&mut self, rep: Rep, ty: Ty) -> Def {
        let lanes = self.task.lanes;
        match rep.shape {
            Shape::Varying => rep.def,
            Shape::Uniform => self.splat(rep.def),
            Shape::Strided { stride, .. } => match self.world.types.as_prim(ty) {
                Some(prim) => {
                    let first = self.world.splat(rep.def, lanes);
                    let steps = lanewise::steps(self.world, prim, stride, lanes);
                    self.world.arith(ArithOp::Add, ArithFlags::WRAP, first, steps)
                }
                None => {
                    let steps = lanewise::steps(self.world, Prim::I64, stride, lanes);
                    self.bytes_from(rep.def, ty, steps)
                }
            },
        }
    }

    /// Broadcasts a value.
    fn splat(&mut self, value: Def) -> Def {
        let (ty, lanes) = (self.world.ty(value), self.task.lanes);
        if lanewise::is_scalar(self.world, ty) {
            return self.world.splat(value, lanes);
        }
        if matches!(self.world.node(value), Node::Undef) {
            let lanes = lanewise::lanes_ty(self.world, ty, lanes);
            return self.world.undef(lanes);
        }
        if let TyKind::Enum(_) = self.world.types.kind(ty) {
            return self.splat_enum(ty, value);
        }
        let n_parts = lanewise::parts(self.world, ty).len();
        let mut parts = vec![];
        for index in 0..n_parts {
            let part = self.world.extract_at(value, index as u32);
            parts.push(self.splat(part));
        }
        lanewise::join(self.world, ty, lanes, &parts)
    }

    /// Broadcasts an enum value. Only the payload of its own option can be read.
    fn splat_enum(&mut self, ty: Ty, value: Def) -> Def {
        if let Node::Variant { option, payload } = self.world.node(value) {
            return self.variant(ty, option, payload);
        }
        let n_options = lanewise::parts(self.world, ty).len() - 1;
        let lanes_ty = lanewise::lanes_ty(self.world, ty, self.task.lanes);
        let (known, params) = self.start("broadcast", &[lanes_ty]);
        let tag = self.world.variant_tag(value);
        for option in 0..n_options as u32 {
            let number = self.world.lit_u32(option);
            let is_this = self.world.cmp(CmpOp::Eq, tag, number);
            let others = self.split(is_this);
            let payload = self.world.variant_payload(option, value);
            let this = self.variant(ty, option, payload);
            self.jump(known, &[this]);
            self.resume(others);
        }
        self.world.set_unreachable(self.cont, self.mem);
        self.resume(known);
        params[0]
    }

    /// Broadcasts an option of an enum with its payload.
    fn variant(&mut self, ty: Ty, option: u32, payload: Def) -> Def {
        let payload = self.splat(payload);
        self.option(ty, option, payload)
    }

    /// An enum value that has the same option in all lanes.
    fn option(&mut self, ty: Ty, option: u32, payload: Def) -> Def {
        let lanes = self.task.lanes;
        let tys = lanewise::parts(self.world, ty);
        let mut parts = vec![];
        for (at, part_ty) in tys.into_iter().enumerate() {
            let part_ty = lanewise::lanes_ty(self.world, part_ty, lanes);
            parts.push(match at.checked_sub(1) {
                None => {
                    let tag = self.world.lit_u32(option);
                    self.world.splat(tag, lanes)
                }
                Some(this) if this == option as usize => payload,
                Some(_) => self.world.undef(part_ty),
            });
        }
        lanewise::join(self.world, ty, lanes, &parts)
    }

    fn is_int(&self, ty: Ty) -> bool {
        self.world.types.lane_prim(ty).is_some_and(Prim::is_int)
    }

    fn varying(&mut self, def: Def, block: usize) -> Result<Def, Refusal> {
        let ty = self.world.ty(def);
        if !lanewise::is_supported(self.world, ty) {
            return Err(Refusal::varying(self.world, def));
        }
        let lanes = self.task.lanes;
        match self.world.node(def) {
            Node::Arith { op, flags, lhs, rhs } => {
                let flags = self.flags(flags);
                let (a, mut b) = (self.lanes(lhs, block), self.lanes(rhs, block));
                let is_division = matches!(op, ArithOp::Div | ArithOp::Rem);
                // A divisor that is never zero may be undefined in inactive lanes, and then the division traps.
                let may_be_undefined = is_division && self.world.as_lit(rhs).is_none() && self.is_int(ty);
                let is_total = matches!(op, ArithOp::Add | ArithOp::Sub | ArithOp::Mul);
                if may_be_undefined || !is_total && can_fail(self.world, def) {
                    b = self.safe_operand(ty, b, u64::from(is_division));
                }
                Ok(self.each(ty, &[a, b], |world, args| world.arith(op, flags, args[0], args[1])))
            }
            Node::Cmp { op, lhs, rhs } => {
                if let Some(narrow) = self.narrow_comparison(op, lhs, rhs, block) {
                    return Ok(narrow);
                }
                let of = self.world.ty(lhs);
                let args = [self.lanes(lhs, block), self.lanes(rhs, block)];
                Ok(self.each(of, &args, |world, args| world.cmp(op, args[0], args[1])))
            }
            Node::Math { op, flags, args } => {
                let args = self.world.list(args).to_vec();
                let of = self.world.ty(args[0]);
                let args: Vec<Def> = args.into_iter().map(|arg| self.lanes(arg, block)).collect();
                Ok(self.each(of, &args, |world, args| world.math(op, flags, args)))
            }
            Node::Cast(value) => {
                let from = self.world.ty(value);
                let mut operand = self.lanes(value, block);
                if can_fail(self.world, def) {
                    operand = self.safe_operand(from, operand, 0);
                }
                let to = self.world.types.elem(ty).unwrap_or(ty);
                let to = self.world.types.simd(to, lanes);
                if let Some(narrow) = self.narrowed(value, ty, block) {
                    return Ok(self.world.cast(to, narrow));
                }
                Ok(self.each(from, &[operand], |world, args| world.cast(to, args[0])))
            }
            Node::Bitcast(value) => {
                let from = self.world.ty(value);
                let bits = |ty: Ty| self.world.types.as_prim(ty).map_or(64, Prim::bits);
                let is_scalar = lanewise::is_scalar(self.world, from) && lanewise::is_scalar(self.world, ty);
                if !is_scalar || bits(from) != bits(ty) {
                    return self.bits_through_memory(def, value, block);
                }
                let operand = self.lanes(value, block);
                let to = self.world.types.simd(ty, lanes);
                Ok(self.world.bitcast(to, operand))
            }
            Node::Select { cond, then, other } => self.select(ty, cond, then, other, block),
            Node::Lea { ptr, index } => Ok(self.address(ptr, index, block)),
            // Streaming stores need contiguous addresses.
            Node::Hide(value) | Node::Streaming(value) => Ok(self.lanes(value, block)),
            Node::Aggregate(parts) => {
                let parts = self.world.list(parts).to_vec();
                let parts: Vec<Def> = parts.into_iter().map(|part| self.lanes(part, block)).collect();
                Ok(lanewise::join(self.world, ty, lanes, &parts))
            }
            Node::Variant { option, payload } => {
                let payload = self.lanes(payload, block);
                Ok(self.option(ty, option, payload))
            }
            Node::VariantTag(value) => {
                let (of, value) = (self.world.ty(value), self.lanes(value, block));
                Ok(lanewise::part(self.world, of, value, 0))
            }
            Node::VariantPayload { option, value } => {
                let (of, value) = (self.world.ty(value), self.lanes(value, block));
                Ok(lanewise::part(self.world, of, value, 1 + option as usize))
            }
            Node::Extract { agg, index } => self.extract(agg, index, block),
            Node::Insert { agg, index, value } => self.insert(agg, index, value, block),
            _ => Err(Refusal { at: self.world.span_of(def), why: "an operation on varying values".into() }),
        }
    }

    /// An operation on scalars of type `ty`, or on each element of the program's own simd values.
    fn each(&mut self, ty: Ty, args: &[Def], mut apply: impl FnMut(&mut World, &[Def]) -> Def) -> Def {
        let TyKind::Simd { lanes, .. } = *self.world.types.kind(ty) else { return apply(self.world, args) };
        let parts: Vec<Def> = (0..lanes)
            .map(|at| {
                let args: Vec<Def> = args.iter().map(|&arg| self.world.extract_at(arg, at)).collect();
                apply(self.world, &args)
            })
            .collect();
        let elem = self.world.ty(parts[0]);
        let array = self.world.types.array(elem, u64::from(lanes));
        self.world.aggregate(array, &parts)
    }

    /// Replaces the operands of inactive lanes by a number for which the operation does not fail.
    fn safe_operand(&mut self, ty: Ty, value: Def, number: u64) -> Def {
        if self.is_full() {
            return value;
        }
        let prim = self.world.types.lane_prim(ty).expect("a number has a primitive type");
        let (mask, lanes) = (self.mask, self.task.lanes);
        let number = self.world.lit(prim, number);
        let number = self.world.splat(number, lanes);
        lanewise::map(self.world, ty, lanes, &[value], &mut |world, _, args| {
            world.select(mask, args[0], number)
        })
    }

    fn select(&mut self, ty: Ty, cond: Def, then: Def, other: Def, block: usize) -> Result<Def, Refusal> {
        let (a, b) = (self.lanes(then, block), self.lanes(other, block));
        let lanes = self.task.lanes;
        let choice = self.rep(cond, block);
        if choice.shape == Shape::Uniform && !self.world.types.is_simd(self.world.ty(cond)) {
            return Ok(self.world.select(choice.def, a, b));
        }
        let cond_ty = self.world.ty(cond);
        let choice = self.lanes_of(choice, cond_ty);
        match *self.world.types.kind(cond_ty) {
            TyKind::Simd { lanes: n_elems, .. } => {
                let parts: Vec<Def> = (0..n_elems)
                    .map(|at| {
                        let [c, a, b] = [choice, a, b].map(|all| self.world.extract_at(all, at));
                        self.world.select(c, a, b)
                    })
                    .collect();
                Ok(lanewise::join(self.world, ty, lanes, &parts))
            }
            _ => Ok(lanewise::map(self.world, ty, lanes, &[a, b], &mut |world, _, args| {
                world.select(choice, args[0], args[1])
            })),
        }
    }

    fn extract(&mut self, agg: Def, index: Def, block: usize) -> Result<Def, Refusal> {
        let ty = self.world.ty(agg);
        let at = self.rep(index, block);
        if let Some(elements) = self.own_elements(agg, at, block) {
            return Ok(elements);
        }
        let all = self.lanes(agg, block);
        if at.shape == Shape::Uniform {
            return Ok(match self.world.as_lit(at.def) {
                Some(number) => lanewise::part(self.world, ty, all, number as usize),
                None => self.world.extract(all, at.def),
            });
        }
        let hits = self.lanes_of_each_element(ty, index, block)?;
        let part_ty = lanewise::parts(self.world, ty)[0];
        let mut found = lanewise::part(self.world, ty, all, 0);
        for (number, hit) in hits.into_iter().enumerate().skip(1) {
            let part = lanewise::part(self.world, ty, all, number);
            found = lanewise::select(self.world, part_ty, self.task.lanes, hit, part, found);
        }
        Ok(found)
    }

    /// The elements of a uniform simd value of the program of which each lane takes its own.
    fn own_elements(&mut self, agg: Def, at: Rep, block: usize) -> Option<Def> {
        let is_lane_index =
            matches!(at.shape, Shape::Strided { stride: 1, .. }) && self.world.as_lit(at.def) == Some(0);
        let rep = self.rep(agg, block);
        let lanes = self.world.types.lanes(self.world.ty(agg));
        (is_lane_index && rep.shape == Shape::Uniform && lanes == Some(self.task.lanes)).then_some(rep.def)
    }

    fn insert(&mut self, agg: Def, index: Def, value: Def, block: usize) -> Result<Def, Refusal> {
        let (ty, lanes) = (self.world.ty(agg), self.task.lanes);
        let (all, new) = (self.lanes(agg, block), self.lanes(value, block));
        let at = self.rep(index, block);
        let tys = lanewise::parts(self.world, ty);
        let known = self.world.as_lit(at.def).filter(|_| at.shape == Shape::Uniform);
        if at.shape == Shape::Uniform && known.is_none() {
            return Ok(self.world.insert(all, at.def, new));
        }
        let hits = if known.is_none() { self.lanes_of_each_element(ty, index, block)? } else { vec![] };
        let mut parts = vec![];
        for (number, &part_ty) in tys.iter().enumerate() {
            let old = lanewise::part(self.world, ty, all, number);
            parts.push(match known {
                Some(known) if known == number as u64 => new,
                Some(_) => old,
                None => lanewise::select(self.world, part_ty, lanes, hits[number], new, old),
            });
        }
        Ok(lanewise::join(self.world, ty, lanes, &parts))
    }

    /// For each element, the lanes whose index selects it.
    fn lanes_of_each_element(&mut self, ty: Ty, index: Def, block: usize) -> Result<Vec<Def>, Refusal> {
        let n_parts = lanewise::parts(self.world, ty).len();
        let prim = self.world.types.as_prim(self.world.ty(index));
        let (Some(prim), 1..=MAX_INDEXED) = (prim, n_parts) else {
            let why = format!("a varying index into an array value of {n_parts} elements");
            return Err(Refusal { at: self.world.span, why });
        };
        let numbers = self.lanes(index, block);
        let mut hits = vec![];
        for number in 0..n_parts {
            let number = self.world.lit(prim, number as u64);
            let number = self.world.splat(number, self.task.lanes);
            hits.push(self.world.cmp(CmpOp::Eq, numbers, number));
        }
        Ok(hits)
    }
}
