//! Rules about single nodes: `operand` and `literal`.

use super::{Broken, Rule, is_mem, mismatch};
use crate::functions::Domain;
use crate::node::{ArithOp, CmpOp, Def, DefList, LaneOp, MathOp, Node};
use crate::types::{Prim, Ty, TyKind};
use crate::world::World;

type Check = Result<(), String>;

/// Whether `def` is well-typed and its literal canonical.
pub(super) fn check(world: &World, def: Def) -> Result<(), Broken> {
    if let Node::Lit(bits) = world.node(def) {
        return literal(world, world.ty(def), bits).map_err(|message| (Rule::Literal, message));
    }
    let checker = Checker { world, ty: world.ty(def) };
    checker.node(world.node(def)).map_err(|message| (Rule::Operand, message))
}

/// Whether a node of type `ty` would be well-typed.
pub(super) fn check_node(world: &World, node: Node, ty: Ty) -> Check {
    Checker { world, ty }.node(node)
}

/// Whether a mathematical function of these arguments would be well-typed.
pub(super) fn check_math(world: &World, op: MathOp, args: &[Def], ty: Ty) -> Check {
    Checker { world, ty }.math(op, args)
}

/// As [`check_node`], for an operation of lanes on each other.
pub(super) fn check_lanes(world: &World, op: LaneOp, args: &[Def], ty: Ty) -> Check {
    Checker { world, ty }.lane_op(op, args)
}

fn literal(world: &World, ty: Ty, bits: u64) -> Check {
    match *world.types.kind(ty) {
        TyKind::Prim(prim) if prim.canonical(bits) == bits => Ok(()),
        TyKind::Prim(prim) => Err(format!("{bits:#x} does not fit into `{prim}`")),
        TyKind::Ptr { .. } if bits == 0 => Ok(()),
        _ => Err(format!("{bits:#x} is no value of type `{}`", world.types.display(ty))),
    }
}

/// Checks one node of type `ty`.
struct Checker<'a> {
    world: &'a World,
    ty: Ty,
}

impl Checker<'_> {
    fn node(&self, node: Node) -> Check {
        match node {
            Node::Lit(_) | Node::Undef => Ok(()),
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => self.named(node),
            Node::Arith { op, lhs, rhs, .. } => self.arith(op, lhs, rhs),
            Node::Cmp { op, lhs, rhs } => self.cmp(op, lhs, rhs),
            Node::Math { op, args, .. } => self.math(op, self.world.list(args)),
            Node::Cast(value) => self.cast(value),
            Node::Bitcast(value) => self.bitcast(value),
            Node::Select { cond, then, other } => self.select(cond, then, other),
            Node::Aggregate(_) | Node::Extract { .. } | Node::Insert { .. } => self.aggregates(node),
            Node::Variant { .. } | Node::VariantTag(_) | Node::VariantPayload { .. } => self.variants(node),
            Node::SizeOf(_) | Node::AlignOf(_) => self.gives_int(),
            Node::Known(_) => self.gives(self.world.types.bool()),
            Node::Hide(value) => self.gives(self.world.ty(value)),
            Node::Streaming(ptr) => {
                let ty = self.world.ty(ptr);
                if self.world.types.lane_ptr(ty).is_none() {
                    return Err(format!("`{}` is no pointer", self.display(ty)));
                }
                self.gives(self.world.ty(ptr))
            }
            Node::Mark { callee, .. } => self.mark(callee),
            Node::Load { .. }
            | Node::Store { .. }
            | Node::LoadLanes { .. }
            | Node::StoreLanes { .. }
            | Node::Slot { .. }
            | Node::Alloc { .. }
            | Node::Demand { .. }
            | Node::Asm { .. } => self.effects(node),
            Node::Lea { ptr, index } => self.lea(ptr, index),
            Node::Lanes { op, args } => self.lane_op(op, self.world.list(args)),
        }
    }

    // ---- Common rules ----

    fn display(&self, ty: Ty) -> String {
        self.world.types.display(ty).to_string()
    }

    /// The node's own type is `ty`.
    fn gives(&self, ty: Ty) -> Check {
        if self.ty == ty { Ok(()) } else { Err(mismatch(self.world, "it", self.ty, ty)) }
    }

    fn gives_int(&self) -> Check {
        self.is_int("it", self.ty)
    }

    /// The operand has this type.
    fn has(&self, what: &str, def: Def, ty: Ty) -> Check {
        let found = self.world.ty(def);
        if found == ty { Ok(()) } else { Err(mismatch(self.world, what, found, ty)) }
    }

    fn is_int(&self, what: &str, ty: Ty) -> Check {
        match self.world.types.as_prim(ty) {
            Some(prim) if prim.is_int() => Ok(()),
            _ => Err(format!("{what} has type `{}`, expected an integer", self.display(ty))),
        }
    }

    /// The target type of a pointer operand, and its address space.
    fn pointee(&self, ptr: Def) -> Result<(Ty, u32), String> {
        let ty = self.world.ty(ptr);
        self.world.types.as_ptr(ty).ok_or_else(|| format!("`{}` is no pointer", self.display(ty)))
    }

    /// `bool`, with as many lanes as `like` has.
    fn gives_bool_like(&self, like: Ty) -> Check {
        let types = &self.world.types;
        let lane = match types.kind(self.ty) {
            TyKind::Simd { elem, .. } => *elem,
            _ => self.ty,
        };
        if lane == types.bool() && self.lanes(self.ty) == self.lanes(like) {
            return Ok(());
        }
        Err(format!(
            "it has type `{}`, expected `bool` for each lane of `{}`",
            self.display(self.ty),
            self.display(like)
        ))
    }

    /// `None` for other types.
    fn lanes(&self, ty: Ty) -> Option<u32> {
        match self.world.types.kind(ty) {
            TyKind::Simd { lanes, .. } => Some(*lanes),
            _ => None,
        }
    }

    /// The type of each lane; other types are their own lane.
    fn lane(&self, ty: Ty) -> Ty {
        match self.world.types.kind(ty) {
            TyKind::Simd { elem, .. } => *elem,
            _ => ty,
        }
    }

    fn is_scalar(&self, ty: Ty) -> bool {
        matches!(self.world.types.kind(ty), TyKind::Prim(_) | TyKind::Ptr { .. })
    }

    // ---- Nodes with an identity ----

    fn named(&self, node: Node) -> Check {
        let world = self.world;
        match node {
            Node::Cont(cont) => self.gives(world.cont(cont).ty),
            Node::Param { cont, index } => {
                let tys = world.types.as_cn(world.cont(cont).ty).unwrap_or(&[]);
                match tys.get(index as usize) {
                    Some(&ty) => self.gives(ty),
                    None => Err(format!("`{}` has no parameter {index}", world.cont(cont).name)),
                }
            }
            Node::Global(global) => match world.types.as_ptr(self.ty) {
                Some((pointee, _)) if pointee == world.global(global).ty => Ok(()),
                _ => {
                    Err(format!("it has type `{}`, which is no pointer to its value", self.display(self.ty)))
                }
            },
            _ => Ok(()),
        }
    }

    // ---- Numbers ----

    fn arith(&self, op: ArithOp, lhs: Def, rhs: Def) -> Check {
        let ty = self.world.ty(lhs);
        self.has("the right operand", rhs, ty)?;
        self.gives(ty)?;
        let works = self.world.types.lane_prim(ty).is_some_and(|prim| match op {
            ArithOp::Add | ArithOp::Sub | ArithOp::Mul | ArithOp::Div | ArithOp::Rem => prim != Prim::Bool,
            ArithOp::And | ArithOp::Or | ArithOp::Xor => !prim.is_float(),
            ArithOp::Shl | ArithOp::Shr => prim.is_int(),
        });
        if works { Ok(()) } else { Err(format!("`{}` does not work on `{}`", op.name(), self.display(ty))) }
    }

    fn cmp(&self, op: CmpOp, lhs: Def, rhs: Def) -> Check {
        let ty = self.world.ty(lhs);
        self.has("the right operand", rhs, ty)?;
        let are_functions = matches!(op, CmpOp::Eq | CmpOp::Ne) && self.world.types.as_cn(ty).is_some();
        if !are_functions && !self.is_scalar(self.lane(ty)) {
            return Err(format!("values of type `{}` are not compared", self.display(ty)));
        }
        self.gives_bool_like(ty)
    }

    fn math(&self, op: MathOp, args: &[Def]) -> Check {
        if args.len() != op.arity() {
            return Err(format!("`{}` takes {} arguments, got {}", op.name(), op.arity(), args.len()));
        }
        let ty = self.world.ty(args[0]);
        for &arg in args {
            self.has("an argument", arg, ty)?;
        }
        let info = op.info();
        let works = |prim: Prim| match info.domain {
            Domain::Int => prim.is_int(),
            Domain::Float => prim.is_float(),
            Domain::Any => prim.is_int() || prim.is_float(),
        };
        if !self.world.types.lane_prim(ty).is_some_and(works) {
            return Err(format!("`{}` does not work on `{}`", op.name(), self.display(ty)));
        }
        if info.gives_bool { self.gives_bool_like(ty) } else { self.gives(ty) }
    }

    fn cast(&self, value: Def) -> Check {
        let from = self.world.ty(value);
        let scalars = self.is_scalar(self.lane(from)) && self.is_scalar(self.lane(self.ty));
        if scalars && self.lanes(from) == self.lanes(self.ty) {
            return Ok(());
        }
        Err(format!("`{}` does not convert to `{}`", self.display(from), self.display(self.ty)))
    }

    fn bitcast(&self, value: Def) -> Check {
        let from = self.world.ty(value);
        let size = |ty: Ty| self.world.layout(ty).size;
        if size(from) == size(self.ty) && !is_mem(self.world, from) && !is_mem(self.world, self.ty) {
            return Ok(());
        }
        Err(format!("`{}` and `{}` differ in size", self.display(from), self.display(self.ty)))
    }

    fn select(&self, cond: Def, then: Def, other: Def) -> Check {
        let (cond, ty) = (self.world.ty(cond), self.world.ty(then));
        self.has("the other value", other, ty)?;
        self.gives(ty)?;
        let by_lane = self.lane(cond) == self.world.types.bool() && self.lanes(cond) == self.lanes(ty);
        if cond == self.world.types.bool() || by_lane {
            return Ok(());
        }
        Err(format!("`{}` does not select among `{}`", self.display(cond), self.display(ty)))
    }

    // ---- Aggregates ----

    fn aggregates(&self, node: Node) -> Check {
        match node {
            Node::Aggregate(parts) => self.aggregate(parts),
            Node::Extract { agg, index } => self.gives(self.part(self.world.ty(agg), index)?),
            Node::Insert { agg, index, value } => {
                self.has("the new part", value, self.part(self.world.ty(agg), index)?)?;
                self.gives(self.world.ty(agg))
            }
            _ => Ok(()),
        }
    }

    fn aggregate(&self, parts: DefList) -> Check {
        let types = &self.world.types;
        let parts = self.world.list(parts);
        let expected = match types.kind(self.ty) {
            TyKind::Tuple(tys) => tys.len() as u64,
            TyKind::Struct(id) => types.structs[*id].fields.len() as u64,
            TyKind::Array { len, .. } => *len,
            TyKind::Simd { lanes, .. } => u64::from(*lanes),
            _ => return Err(format!("`{}` is no aggregate", self.display(self.ty))),
        };
        if parts.len() as u64 != expected {
            return Err(format!("`{}` has {expected} parts, got {}", self.display(self.ty), parts.len()));
        }
        for (index, &part) in parts.iter().enumerate() {
            let ty = types.part(self.ty, index as u64).expect("as many types as parts");
            self.has(&format!("part {index}"), part, ty)?;
        }
        Ok(())
    }

    /// The type of part `index` of `ty`. An element's index need not be in
    /// range: that is an error of the program, when it is run.
    fn part(&self, ty: Ty, index: Def) -> Result<Ty, String> {
        self.part_at(ty, index, self.world.ty(index))
    }

    /// The type of part `index`, an integer of type `index_ty`.
    fn part_at(&self, ty: Ty, index: Def, index_ty: Ty) -> Result<Ty, String> {
        let types = &self.world.types;
        self.is_int("the index", index_ty)?;
        let known = || types.part(ty, self.world.as_lit(index)?);
        types.elem(ty).or_else(known).ok_or_else(|| format!("`{}` has no such part", self.display(ty)))
    }

    fn variants(&self, node: Node) -> Check {
        match node {
            Node::Variant { option, payload } => {
                self.has("the payload", payload, self.payload(self.ty, option)?)
            }
            Node::VariantTag(value) if self.is_enum(self.world.ty(value)) => {
                self.gives(self.world.types.prim(Prim::U32))
            }
            Node::VariantTag(value) => Err(format!("`{}` is no enum", self.display(self.world.ty(value)))),
            Node::VariantPayload { option, value } => self.gives(self.payload(self.world.ty(value), option)?),
            _ => Ok(()),
        }
    }

    fn is_enum(&self, ty: Ty) -> bool {
        matches!(self.world.types.kind(ty), TyKind::Enum(_))
    }

    fn payload(&self, ty: Ty, option: u32) -> Result<Ty, String> {
        let types = &self.world.types;
        let options = match types.kind(ty) {
            TyKind::Enum(id) => &types.enums[*id].options,
            _ => return Err(format!("`{}` is no enum", self.display(ty))),
        };
        let found = options.get(option as usize).map(|option| option.payload);
        found.ok_or_else(|| format!("`{}` has no option {option}", self.display(ty)))
    }

    // ---- Calls and memory ----

    fn mark(&self, callee: Def) -> Check {
        let ty = self.world.ty(callee);
        match self.world.types.as_cn(ty) {
            Some(_) => self.gives(ty),
            None => Err(format!("`{}` cannot be called", self.display(ty))),
        }
    }

    fn lea(&self, ptr: Def, index: Def) -> Check {
        let (pointee, space) = self.lane_pointee(ptr)?;
        let part = self.part_at(pointee, index, self.lane(self.world.ty(index)))?;
        let (ptr_lanes, index_lanes) = (self.lanes(self.world.ty(ptr)), self.lanes(self.world.ty(index)));
        if ptr_lanes.is_some() && index_lanes.is_some() && ptr_lanes != index_lanes {
            return Err("the address and the index have different lanes".into());
        }
        match self.world.types.lane_ptr(self.ty) {
            Some(found) if found == (part, space) && self.lanes(self.ty) == ptr_lanes.or(index_lanes) => {
                Ok(())
            }
            _ => Err(format!(
                "it has type `{}`, expected a pointer to `{}`",
                self.display(self.ty),
                self.display(part)
            )),
        }
    }

    /// The target type of a pointer operand or its lanes, and its address space.
    fn lane_pointee(&self, ptr: Def) -> Result<(Ty, u32), String> {
        let ty = self.world.ty(ptr);
        self.world.types.lane_ptr(ty).ok_or_else(|| format!("`{}` is no pointer", self.display(ty)))
    }

    /// `mask` is `simd[bool * n]`; gives `n`.
    fn mask(&self, mask: Def) -> Result<u32, String> {
        let ty = self.world.ty(mask);
        let lanes = self.lanes(ty).filter(|_| self.lane(ty) == self.world.types.bool());
        lanes.ok_or_else(|| format!("the mask has type `{}`, expected lanes of `bool`", self.display(ty)))
    }

    /// The lanes that an access through `ptr` for `mask` reads or writes have type `value`.
    fn access(&self, ptr: Def, mask: Def, value: Ty) -> Check {
        let lanes = self.mask(mask)?;
        let (elem, _) = self.lane_pointee(ptr)?;
        let has_lanes = |ty: Ty| self.lanes(ty) == Some(lanes);
        let ptr_ty = self.world.ty(ptr);
        match self.lane(value) == elem
            && has_lanes(value)
            && (has_lanes(ptr_ty) || !self.world.types.is_simd(ptr_ty))
        {
            true => Ok(()),
            false => Err(format!(
                "{lanes} lanes of type `{}` are accessed through `{}`",
                self.display(value),
                self.display(ptr_ty)
            )),
        }
    }

    fn lane_op(&self, op: LaneOp, args: &[Def]) -> Check {
        let types = &self.world.types;
        if args.len() != op.arity() {
            return Err(format!("`{}` takes {} operands", op.name(), op.arity()));
        }
        let first = self.world.ty(args[0]);
        match op {
            LaneOp::Any | LaneOp::All => self.mask(args[0]).and_then(|_| self.gives(types.bool())),
            LaneOp::Ballot if self.mask(args[0])? > 64 => Err("there are more than 64 lanes".into()),
            LaneOp::Ballot => self.gives(types.prim(Prim::U64)),
            LaneOp::Permute | LaneOp::Compress | LaneOp::Expand => {
                let lane = if op == LaneOp::Permute { types.prim(Prim::I32) } else { types.bool() };
                let second = self.world.ty(args[1]);
                let fits = self.lanes(first).is_some() && self.lanes(first) == self.lanes(second);
                match fits && self.lane(second) == lane {
                    true => self.gives(first),
                    false => Err(format!("the operands have different lanes for `{}`", op.name())),
                }
            }
        }
    }

    fn effects(&self, node: Node) -> Check {
        let types = &self.world.types;
        match node {
            Node::Load { mem, ptr } => {
                self.takes_mem(Some(mem))?;
                let (pointee, _) = self.pointee(ptr)?;
                self.gives_effect(|result| result == pointee)
            }
            Node::Store { mem, ptr, value } => {
                self.takes_mem(Some(mem))?;
                self.has("the value", value, self.pointee(ptr)?.0)?;
                self.gives(types.mem())
            }
            Node::Demand { mem, .. } => {
                self.takes_mem(Some(mem))?;
                self.gives(types.mem())
            }
            Node::LoadLanes { mem, ptr, mask } => {
                self.takes_mem(Some(mem))?;
                let value = types.part(self.ty, 1).ok_or("it gives no value")?;
                self.access(ptr, mask, value)?;
                self.gives_effect(|_| true)
            }
            Node::StoreLanes { mem, ptr, mask, value } => {
                self.takes_mem(Some(mem))?;
                self.access(ptr, mask, self.world.ty(value))?;
                self.gives(types.mem())
            }
            Node::Slot { mem } => {
                self.takes_mem(Some(mem))?;
                self.gives_effect(|result| types.as_ptr(result).is_some())
            }
            Node::Alloc { mem, count } => {
                self.takes_mem(Some(mem))?;
                self.has("the count", count, types.prim(Prim::I64))?;
                let is_slice = |ty: Ty| matches!(types.kind(ty), TyKind::Slice(_));
                self.gives_effect(|result| types.as_ptr(result).is_some_and(|(pointee, _)| is_slice(pointee)))
            }
            Node::Asm { args, .. } => {
                self.takes_mem(self.world.list(args).first().copied())?;
                self.gives_outputs()
            }
            _ => Ok(()),
        }
    }

    fn takes_mem(&self, mem: Option<Def>) -> Check {
        match mem {
            Some(mem) => self.has("the memory", mem, self.world.types.mem()),
            None => Err("takes no memory".into()),
        }
    }

    /// The node's own type is `(mem, T)` with a good `T`.
    fn gives_effect(&self, good: impl Fn(Ty) -> bool) -> Check {
        match self.world.types.kind(self.ty) {
            TyKind::Tuple(parts) if parts.len() == 2 && is_mem(self.world, parts[0]) && good(parts[1]) => {
                Ok(())
            }
            _ => Err(format!("it has type `{}`, which is not what it does", self.display(self.ty))),
        }
    }

    /// The node's own type is `mem` or `(mem, ..)`.
    fn gives_outputs(&self) -> Check {
        let is_effect = match self.world.types.kind(self.ty) {
            TyKind::Tuple(parts) => parts.first().is_some_and(|&first| is_mem(self.world, first)),
            kind => matches!(kind, TyKind::Mem),
        };
        if is_effect {
            Ok(())
        } else {
            Err(format!("it has type `{}`, without memory", self.display(self.ty)))
        }
    }
}
