//! The factories of operations: fold first, intern second.

use super::World;
use crate::fold;
use crate::layout::{self, Layout};
use crate::node::{ArithFlags, ArithOp, AsmData, CmpOp, Def, LaneOp, Mark, MathOp, Node};
use crate::types::{Prim, Ty, TyKind};

impl World {
    /// A literal of a primitive type from its bits.
    pub fn lit(&mut self, prim: Prim, bits: u64) -> Def {
        let ty = self.types.prim(prim);
        self.intern(Node::Lit(prim.canonical(bits)), ty)
    }

    /// A literal `i32`.
    pub fn lit_i32(&mut self, value: i32) -> Def {
        self.lit(Prim::I32, value as u64)
    }

    /// A literal `u32`, the type of field numbers.
    pub fn lit_u32(&mut self, value: u32) -> Def {
        self.lit(Prim::U32, u64::from(value))
    }

    /// A literal `i64`.
    pub fn lit_i64(&mut self, value: i64) -> Def {
        self.lit(Prim::I64, value as u64)
    }

    /// A literal `bool`.
    pub fn lit_bool(&mut self, value: bool) -> Def {
        self.lit(Prim::Bool, u64::from(value))
    }

    /// The null pointer of a pointer type.
    pub fn null(&mut self, ptr_ty: Ty) -> Def {
        self.intern(Node::Lit(0), ptr_ty)
    }

    /// The value of a type that is zero in all its parts; `None` for types without zero:
    /// enums, functions, and unsized types.
    pub fn zero(&mut self, ty: Ty) -> Option<Def> {
        match *self.types.kind(ty) {
            TyKind::Prim(prim) => Some(self.lit(prim, 0)),
            TyKind::Ptr { .. } => Some(self.null(ty)),
            TyKind::Simd { elem, lanes } => {
                let zero = self.zero(elem)?;
                Some(self.splat(zero, lanes))
            }
            TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Array { .. } => {
                let parts = 0..self.types.part_count(ty)?;
                let tys: Vec<Ty> = parts.map(|part| self.types.part(ty, part)).collect::<Option<_>>()?;
                let parts: Vec<Def> = tys.into_iter().map(|ty| self.zero(ty)).collect::<Option<_>>()?;
                Some(self.aggregate(ty, &parts))
            }
            _ => None,
        }
    }

    /// The unit value.
    pub fn unit(&mut self) -> Def {
        let unit = self.types.unit();
        self.aggregate(unit, &[])
    }

    /// Any value of `ty`.
    pub fn undef(&mut self, ty: Ty) -> Def {
        self.intern(Node::Undef, ty)
    }

    /// `lhs op rhs`, simplified.
    pub fn arith(&mut self, op: ArithOp, flags: ArithFlags, lhs: Def, rhs: Def) -> Def {
        let ty = self.ty(lhs);
        if !self.folding {
            return self.intern(Node::Arith { op, flags, lhs, rhs }, ty);
        }
        let (flags, lhs, rhs) = fold::arith::normalize(self, op, flags, lhs, rhs);
        match fold::arith::fold(self, op, flags, lhs, rhs) {
            Some(folded) => folded,
            None => self.intern(Node::Arith { op, flags, lhs, rhs }, ty),
        }
    }

    /// `lhs op rhs`, simplified.
    pub fn cmp(&mut self, op: CmpOp, lhs: Def, rhs: Def) -> Def {
        let ty = self.bool_like(self.ty(lhs));
        if !self.folding {
            return self.intern(Node::Cmp { op, lhs, rhs }, ty);
        }
        let (op, lhs, rhs) = fold::compare::normalize(self, op, lhs, rhs);
        match fold::compare::cmp(self, op, lhs, rhs, ty) {
            Some(folded) => folded,
            None => self.intern(Node::Cmp { op, lhs, rhs }, ty),
        }
    }

    /// A mathematical function, simplified.
    pub fn math(&mut self, op: MathOp, flags: ArithFlags, args: &[Def]) -> Def {
        let first = self.ty(args[0]);
        let ty = if op.info().gives_bool { self.bool_like(first) } else { first };
        match self.when_folding(|world| fold::math::math(world, op, args, ty)) {
            Some(folded) => folded,
            None => self.intern_list(args, ty, |args| Node::Math { op, flags, args }),
        }
    }

    /// `value as ty`, simplified.
    pub fn cast(&mut self, ty: Ty, value: Def) -> Def {
        match self.when_folding(|world| fold::cast::cast(world, ty, value)) {
            Some(folded) => folded,
            None => self.intern(Node::Cast(value), ty),
        }
    }

    /// The bits of `value` as a `ty`, simplified.
    pub fn bitcast(&mut self, ty: Ty, value: Def) -> Def {
        match self.when_folding(|world| fold::cast::bitcast(world, ty, value)) {
            Some(folded) => folded,
            None => self.intern(Node::Bitcast(value), ty),
        }
    }

    /// `cond ? then : other`, simplified.
    pub fn select(&mut self, cond: Def, then: Def, other: Def) -> Def {
        let ty = self.ty(then);
        match self.when_folding(|world| fold::compare::select(world, cond, then, other)) {
            Some(folded) => folded,
            None => self.intern(Node::Select { cond, then, other }, ty),
        }
    }

    /// A tuple, struct, array or simd value of type `ty`. One part of a type that
    /// is no aggregate is that part itself (there are no one-tuples).
    pub fn aggregate(&mut self, ty: Ty, parts: &[Def]) -> Def {
        match self.when_folding(|world| fold::aggregate::aggregate(world, ty, parts)) {
            Some(folded) => folded,
            None => self.intern_list(parts, ty, Node::Aggregate),
        }
    }

    /// The tuple of `parts`; one part is itself.
    pub fn tuple(&mut self, parts: &[Def]) -> Def {
        let tys: Vec<Ty> = parts.iter().map(|&part| self.ty(part)).collect();
        let ty = self.types.tuple(&tys);
        self.aggregate(ty, parts)
    }

    /// Part `index` of `agg`, simplified.
    pub fn extract(&mut self, agg: Def, index: Def) -> Def {
        let ty = self.part_ty(self.ty(agg), index);
        match self.when_folding(|world| fold::aggregate::extract(world, agg, index)) {
            Some(folded) => folded,
            None => self.intern(Node::Extract { agg, index }, ty),
        }
    }

    /// Part number `index` of `agg`, simplified.
    pub fn extract_at(&mut self, agg: Def, index: u32) -> Def {
        let index = self.lit_u32(index);
        self.extract(agg, index)
    }

    /// `agg` with part `index` replaced, simplified.
    pub fn insert(&mut self, agg: Def, index: Def, value: Def) -> Def {
        match self.when_folding(|world| fold::aggregate::insert(world, agg, index, value)) {
            Some(folded) => folded,
            None => {
                let insert = self.intern(Node::Insert { agg, index, value }, self.ty(agg));
                fold::aggregate::note_insert(self, insert, agg);
                insert
            }
        }
    }

    /// Option `option` of the enum `ty` with its payload.
    pub fn variant(&mut self, ty: Ty, option: u32, payload: Def) -> Def {
        self.intern(Node::Variant { option, payload }, ty)
    }

    /// The option number of an enum value, as `u32`.
    pub fn variant_tag(&mut self, value: Def) -> Def {
        let ty = self.types.prim(Prim::U32);
        match self.when_folding(|world| fold::aggregate::variant_tag(world, value)) {
            Some(folded) => folded,
            None => self.intern(Node::VariantTag(value), ty),
        }
    }

    /// The payload of an enum value known to be `option`.
    pub fn variant_payload(&mut self, option: u32, value: Def) -> Def {
        let TyKind::Enum(id) = *self.types.kind(self.ty(value)) else {
            panic!("variant_payload of a value that is no enum");
        };
        let ty = self.types.enums[id].options[option as usize].payload;
        match self.when_folding(|world| fold::aggregate::variant_payload(world, option, value)) {
            Some(folded) => folded,
            None => self.intern(Node::VariantPayload { option, value }, ty),
        }
    }

    /// The size of `of` as an integer of type `ty`.
    pub fn size_of(&mut self, ty: Ty, of: Ty) -> Def {
        let size = self.layout(of).size;
        match self.when_folding(|world| fold::cast::size(world, ty, size)) {
            Some(folded) => folded,
            None => self.intern(Node::SizeOf(of), ty),
        }
    }

    /// The alignment of `of` as an integer of type `ty`.
    pub fn align_of(&mut self, ty: Ty, of: Ty) -> Def {
        let align = self.layout(of).align;
        match self.when_folding(|world| fold::cast::size(world, ty, align)) {
            Some(folded) => folded,
            None => self.intern(Node::AlignOf(of), ty),
        }
    }

    /// `?value`
    pub fn known(&mut self, value: Def) -> Def {
        let ty = self.types.bool();
        match self.when_folding(|world| fold::control::known(world, value)) {
            Some(folded) => folded,
            None => self.intern(Node::Known(value), ty),
        }
    }

    /// `$value`
    pub fn hide(&mut self, value: Def) -> Def {
        let ty = self.ty(value);
        self.intern(Node::Hide(value), ty)
    }

    /// `ptr`, for stores that may go past the caches.
    pub fn streaming(&mut self, ptr: Def) -> Def {
        let ty = self.ty(ptr);
        match self.node(ptr) {
            Node::Streaming(_) => ptr,
            _ => self.intern(Node::Streaming(ptr), ty),
        }
    }

    /// `callee`, with a mark for the call.
    pub fn mark(&mut self, mark: Mark, callee: Def) -> Def {
        let ty = self.ty(callee);
        match self.when_folding(|world| fold::control::mark(world, mark, callee)) {
            Some(folded) => folded,
            None => self.intern(Node::Mark { mark, callee }, ty),
        }
    }

    /// `callee` without its mark, and the mark.
    pub fn without_mark(&self, callee: Def) -> (Def, Option<Mark>) {
        match self.node(callee) {
            Node::Mark { mark, callee } => (callee, Some(mark)),
            _ => (callee, None),
        }
    }

    /// Reads through `ptr`: the new memory and the value.
    pub fn load(&mut self, mem: Def, ptr: Def) -> (Def, Def) {
        if let Some(folded) = self.when_folding(|world| fold::memory::load(world, mem, ptr)) {
            return folded;
        }
        let (pointee, _) = self.types.as_ptr(self.ty(ptr)).expect("load through a pointer");
        let ty = self.effect_ty(&[pointee]);
        let load = self.intern(Node::Load { mem, ptr }, ty);
        (self.extract_at(load, 0), self.extract_at(load, 1))
    }

    /// Writes through `ptr`: the new memory.
    pub fn store(&mut self, mem: Def, ptr: Def, value: Def) -> Def {
        let ty = self.types.mem();
        match self.when_folding(|world| fold::memory::store(world, mem, ptr, value)) {
            Some(folded) => folded,
            None => self.intern(Node::Store { mem, ptr, value }, ty),
        }
    }

    /// Computes `value` even if nothing uses it: the new memory.
    ///
    /// Note [Operations that must not be dropped]: an operation is computed where its value is used, and what
    /// nothing uses is not part of the program. So a division by zero goes unnoticed if its result is the argument
    /// for a parameter that the partial evaluator finds unused. Where mistakes are to be found (in the interpreter,
    /// and with `--checked`), lowering demands each operation that may fail where it stands in the source. The
    /// demand goes when the operands are known well enough: then the operation folds, or cannot fail. Programs that
    /// are compiled without checks have none of these nodes.
    pub fn demand(&mut self, mem: Def, value: Def) -> Def {
        let value = self.index_check(value).unwrap_or(value);
        match fold::memory::demand(self, mem, value) {
            Some(folded) => folded,
            None => {
                let ty = self.types.mem();
                self.intern(Node::Demand { mem, value }, ty)
            }
        }
    }

    /// An operation that fails as an access to an array of continuations does: if the index is outside. To demand
    /// the access itself would capture the continuations, such as a `break` in the body of a parallel loop.
    fn index_check(&mut self, access: Def) -> Option<Def> {
        let (Node::Extract { agg, index } | Node::Insert { agg, index, .. }) = self.node(access) else {
            return None;
        };
        let TyKind::Array { len, .. } = *self.types.kind(self.ty(agg)) else { return None };
        if !self.contains_conts(access) {
            return None;
        }
        let elem = self.types.bool();
        let flags = self.types.array(elem, len);
        let flags = self.undef(flags);
        Some(self.extract(flags, index))
    }

    /// A local variable of type `ty`: the new memory and its address.
    pub fn slot(&mut self, mem: Def, ty: Ty) -> (Def, Def) {
        let ptr = self.types.ptr(ty, 0);
        let ty = self.effect_ty(&[ptr]);
        let slot = self.intern(Node::Slot { mem }, ty);
        (self.extract_at(slot, 0), self.extract_at(slot, 1))
    }

    /// `count` elements on the heap: the new memory and their address, `&[elem]`.
    pub fn alloc(&mut self, mem: Def, elem: Ty, count: Def) -> (Def, Def) {
        let slice = self.types.slice(elem);
        let ptr = self.types.ptr(slice, 0);
        let ty = self.effect_ty(&[ptr]);
        let alloc = self.intern(Node::Alloc { mem, count }, ty);
        (self.extract_at(alloc, 0), self.extract_at(alloc, 1))
    }

    /// The address of part `index` of the target of `ptr`, simplified.
    pub fn lea(&mut self, ptr: Def, index: Def) -> Def {
        if let Some(folded) = self.when_folding(|world| fold::memory::lea(world, ptr, index)) {
            return folded;
        }
        let (pointee, space) = self.types.lane_ptr(self.ty(ptr)).expect("lea on a pointer");
        let part = self.part_ty(pointee, index);
        let lane = self.types.ptr(part, space);
        let lanes = self.types.lanes(self.ty(ptr)).or(self.types.lanes(self.ty(index)));
        let ty = lanes.map_or(lane, |lanes| self.types.simd(lane, lanes));
        self.intern(Node::Lea { ptr, index }, ty)
    }

    /// Reads a scalar for each lane that is set in `mask`: the new memory and the lanes.
    pub fn load_lanes(&mut self, mem: Def, ptr: Def, mask: Def) -> (Def, Def) {
        let (elem, _) = self.types.lane_ptr(self.ty(ptr)).expect("load through pointers");
        let lanes = self.types.lanes(self.ty(mask)).expect("a mask has lanes");
        let value = self.types.simd(elem, lanes);
        let ty = self.effect_ty(&[value]);
        let load = self.intern(Node::LoadLanes { mem, ptr, mask }, ty);
        (self.extract_at(load, 0), self.extract_at(load, 1))
    }

    /// Writes a scalar for each lane that is set in `mask`: the new memory.
    pub fn store_lanes(&mut self, mem: Def, ptr: Def, mask: Def, value: Def) -> Def {
        let ty = self.types.mem();
        self.intern(Node::StoreLanes { mem, ptr, mask, value }, ty)
    }

    /// An operation of lanes on each other, simplified.
    pub fn lanes(&mut self, op: LaneOp, args: &[Def]) -> Def {
        let ty = match op {
            LaneOp::Any | LaneOp::All => self.types.bool(),
            LaneOp::Ballot => self.types.prim(Prim::U64),
            LaneOp::Permute | LaneOp::Compress | LaneOp::Expand => self.ty(args[0]),
        };
        match self.when_folding(|world| fold::lanes::lanes(world, op, args)) {
            Some(folded) => folded,
            None => self.intern_list(args, ty, |args| Node::Lanes { op, args }),
        }
    }

    /// `lane` in each of `n` lanes.
    pub fn splat(&mut self, lane: Def, n: u32) -> Def {
        let ty = self.types.simd(self.ty(lane), n);
        self.aggregate(ty, &vec![lane; n as usize])
    }

    /// Inline assembly: the new memory and the outputs.
    pub fn asm(&mut self, mem: Def, asm: AsmData, inputs: &[Def], outputs: &[Ty]) -> (Def, Vec<Def>) {
        let node = self.asm_node(mem, asm, inputs, outputs);
        if outputs.is_empty() {
            return (node, vec![]);
        }
        let results = (1..=outputs.len()).map(|i| self.extract_at(node, i as u32)).collect();
        (self.extract_at(node, 0), results)
    }

    /// Inline assembly, as `(mem, outputs..)`.
    pub(crate) fn asm_node(&mut self, mem: Def, asm: AsmData, inputs: &[Def], outputs: &[Ty]) -> Def {
        let ty = self.effect_ty(outputs);
        let asm = self.asms.push(asm);
        let args: Vec<Def> = std::iter::once(mem).chain(inputs.iter().copied()).collect();
        self.intern_list(&args, ty, |args| Node::Asm { asm, args })
    }

    /// `(mem, parts..)`
    pub(crate) fn effect_ty(&mut self, parts: &[Ty]) -> Ty {
        let all: Vec<Ty> = std::iter::once(self.types.mem()).chain(parts.iter().copied()).collect();
        self.types.tuple(&all)
    }

    /// `bool`, or `simd[bool * n]` for a simd type.
    fn bool_like(&mut self, ty: Ty) -> Ty {
        let bool = self.types.bool();
        match *self.types.kind(ty) {
            TyKind::Simd { lanes, .. } => self.types.simd(bool, lanes),
            _ => bool,
        }
    }

    fn part_ty(&self, ty: Ty, index: Def) -> Ty {
        let elem = self.types.elem(ty);
        elem.or_else(|| self.types.part(ty, self.as_lit(index)?))
            .expect("a literal index within a tuple or struct")
    }

    /// The layout of a type.
    pub fn layout(&self, ty: Ty) -> Layout {
        layout::layout(&self.types, ty)
    }

    /// The result of a rule, if rules are enabled.
    fn when_folding<T>(&mut self, rule: impl FnOnce(&mut World) -> Option<T>) -> Option<T> {
        if self.folding { rule(self) } else { None }
    }
}
