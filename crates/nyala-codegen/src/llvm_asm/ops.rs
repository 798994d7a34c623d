//! Operations on scalars and vectors: arithmetic, comparison, conversion.

use nyala_ir::analysis::schedule::can_fail;
use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Node, Prim, Ty, TyKind};

use super::function::FunctionWriter;
use super::value::Type;

impl FunctionWriter<'_, '_> {
    /// Writes an operation; gives its value, if it has one.
    pub(crate) fn operation(&mut self, def: Def) -> Option<String> {
        if let Some(constant) = self.module.constant(def) {
            return Some(constant);
        }
        if self.large_operation(def) {
            return None;
        }
        let value = match self.world.node(def) {
            Node::Arith { op, flags, lhs, rhs } if self.is_checked(def) => {
                self.checked_arith(def, op, flags.wrap, lhs, rhs)
            }
            Node::Arith { op, flags, lhs, rhs } => self.arith(op, flags, lhs, rhs),
            Node::Cmp { op, lhs, rhs } => self.compare(op, lhs, rhs),
            Node::Math { op, flags, args } => {
                let args = self.world.list(args);
                self.math(op, flags, args)
            }
            Node::Cast(from) => self.cast(def, from),
            Node::Bitcast(from) => self.bitcast(def, from),
            Node::Select { cond, then, other } => {
                let text = format!("{}, {}, {}", self.typed(cond), self.typed(then), self.typed(other));
                self.compute("select", format!("select {text}"))
            }
            Node::Hide(value) | Node::Streaming(value) => self.value(value),
            Node::Cont(cont) => self.closure(cont),
            Node::Lanes { op, args } => self.lane_op(def, op, self.world.list(args)),
            _ => return self.aggregate_operation(def).or_else(|| self.memory_operation(def)),
        };
        Some(value)
    }

    /// Whether an operation is checked at run time.
    pub(crate) fn is_checked(&self, def: Def) -> bool {
        self.module.options.checked && can_fail(self.world, def)
    }

    fn lane(&self, def: Def) -> Option<Prim> {
        self.world.types.lane_prim(self.world.ty(def))
    }

    fn arith(&mut self, op: ArithOp, flags: ArithFlags, lhs: Def, rhs: Def) -> String {
        let prim = self.lane(lhs).unwrap_or(Prim::U64);
        if op == ArithOp::Rem && prim.is_float() && self.module.options.gpu.is_some() {
            return self.device_remainder(flags, lhs, rhs);
        }
        let name = arith_instruction(op, prim);
        let flag = match op {
            ArithOp::Div if prim.is_float() && flags.fast => QUOTIENT,
            _ if prim.is_float() => fast(flags),
            ArithOp::Add | ArithOp::Sub | ArithOp::Mul if prim.is_signed() && !flags.wrap => "nsw ",
            _ => "",
        };
        let is_sum_with_xor = op == ArithOp::Add && (self.is_xor_of(lhs, rhs) || self.is_xor_of(rhs, lhs));
        let (mut lhs, rhs) = (self.typed(lhs), self.value(rhs));
        if is_sum_with_xor {
            // LLVM does not see that both operands are made of the same value. See `Fault::SumWithXor`.
            lhs.text = self.compute("frozen", format!("freeze {lhs}"));
        }
        self.compute(op.name(), format!("{name} {flag}{lhs}, {rhs}"))
    }

    /// Whether `def` is `of` with some bits inverted.
    fn is_xor_of(&self, def: Def, of: Def) -> bool {
        matches!(self.world.node(def), Node::Arith { op: ArithOp::Xor, lhs, rhs, .. } if lhs == of || rhs == of)
    }

    fn compare(&mut self, op: CmpOp, lhs: Def, rhs: Def) -> String {
        // Addresses and bools are compared as unsigned numbers.
        let condition = compare_condition(op, self.lane(lhs).unwrap_or(Prim::U64));
        if self.world.types.as_cn(self.world.ty(lhs)).is_some() {
            // Functions without captures differ in their code.
            let [lhs, rhs] = [lhs, rhs].map(|function| self.typed(function));
            let [lhs, rhs] = [lhs, rhs].map(|value| self.compute("code", format!("extractvalue {value}, 0")));
            return self.compute(op.name(), format!("{condition} ptr {lhs}, {rhs}"));
        }
        let (lhs, rhs) = (self.typed(lhs), self.value(rhs));
        self.compute(op.name(), format!("{condition} {lhs}, {rhs}"))
    }

    fn cast(&mut self, def: Def, from: Def) -> String {
        let value = self.value(from);
        let (source, target) = (self.lane(from), self.lane(def));
        let (from_ty, to_ty) = (self.module.ty_of(from), self.module.ty_of(def));
        match (source, target) {
            (Some(source), Some(target)) if self.is_checked(def) => {
                self.check_cast(def, from, source, target);
                self.convert(source, target, &from_ty, &value, &to_ty)
            }
            (Some(source), Some(target)) => self.convert(source, target, &from_ty, &value, &to_ty),
            (None, None) if from_ty == to_ty => value,
            (None, None) => self.compute("ptr", format!("addrspacecast {from_ty} {value} to {to_ty}")),
            (None, Some(_)) => self.compute("address", format!("ptrtoint {from_ty} {value} to {to_ty}")),
            (Some(source), None) => {
                let wide = self.same_lanes(self.world.ty(def), Prim::U64);
                let value = self.convert(source, Prim::U64, &from_ty, &value, &wide);
                self.compute("ptr", format!("inttoptr {wide} {value} to {to_ty}"))
            }
        }
    }

    /// The type with the lanes of `ty` and another primitive type.
    pub(crate) fn same_lanes(&self, ty: Ty, prim: Prim) -> Type {
        match *self.world.types.kind(ty) {
            TyKind::Simd { lanes, .. } => Type::vector(lanes, prim),
            _ => Type::from(prim),
        }
    }

    fn convert(&mut self, source: Prim, target: Prim, from_ty: &Type, value: &str, to_ty: &Type) -> String {
        let instruction = match (source, target) {
            _ if source == target => return value.into(),
            (_, Prim::Bool) if source.is_float() => {
                return self.compute("bool", format!("fcmp une {from_ty} {value}, zeroinitializer"));
            }
            (_, Prim::Bool) => {
                return self.compute("bool", format!("icmp ne {from_ty} {value}, zeroinitializer"));
            }
            _ if source.is_float() && target.is_float() && source.bits() < target.bits() => "fpext",
            _ if source.is_float() && target.is_float() => "fptrunc",
            _ if source.is_float() && target.is_signed() => "fptosi",
            _ if source.is_float() => "fptoui",
            _ if target.is_float() && source.is_signed() => "sitofp",
            _ if target.is_float() => "uitofp",
            _ if source.bits() == target.bits() => return value.into(),
            _ if source.bits() > target.bits() => "trunc",
            _ if source.is_signed() => "sext",
            _ => "zext",
        };
        self.compute("cast", format!("{instruction} {from_ty} {value} to {to_ty}"))
    }

    fn bitcast(&mut self, def: Def, from: Def) -> String {
        let (from_ty, to_ty) = (self.module.ty_of(from), self.module.ty_of(def));
        if from_ty == to_ty {
            return self.value(from);
        }
        let kind = |def: Def| self.world.types.kind(self.world.ty(def));
        let is_scalar =
            |def: Def| matches!(kind(def), TyKind::Prim(_) | TyKind::Simd { .. } | TyKind::Ptr { .. });
        let has_bools = |def: Def| self.lane(def) == Some(Prim::Bool);
        if !is_scalar(def) || !is_scalar(from) || has_bools(def) || has_bools(from) {
            return self.through_memory(def, from);
        }
        let instruction = match (self.lane(from), self.lane(def)) {
            (None, Some(_)) => "ptrtoint",
            (Some(_), None) => "inttoptr",
            (None, None) => "addrspacecast",
            _ => "bitcast",
        };
        let value = self.value(from);
        self.compute("bits", format!("{instruction} {from_ty} {value} to {to_ty}"))
    }
}

/// The fast-math flags of a float operation.
pub(crate) fn fast(flags: ArithFlags) -> &'static str {
    // A product and a sum may always be fused.
    if flags.fast { "fast " } else { "contract " }
}

/// The fast-math flags of a quotient: all but reassociation. LLVM would factor the division out of a sum, and so
/// move an invariant one into a loop.
const QUOTIENT: &str = "nnan ninf nsz arcp contract afn ";

pub(crate) fn arith_instruction(op: ArithOp, prim: Prim) -> &'static str {
    let (float, signed) = (prim.is_float(), prim.is_signed());
    match op {
        ArithOp::Add if float => "fadd",
        ArithOp::Sub if float => "fsub",
        ArithOp::Mul if float => "fmul",
        ArithOp::Div if float => "fdiv",
        ArithOp::Rem if float => "frem",
        ArithOp::Add => "add",
        ArithOp::Sub => "sub",
        ArithOp::Mul => "mul",
        ArithOp::Div if signed => "sdiv",
        ArithOp::Div => "udiv",
        ArithOp::Rem if signed => "srem",
        ArithOp::Rem => "urem",
        ArithOp::And => "and",
        ArithOp::Or => "or",
        ArithOp::Xor => "xor",
        ArithOp::Shl => "shl",
        ArithOp::Shr if signed => "ashr",
        ArithOp::Shr => "lshr",
    }
}

fn compare_condition(op: CmpOp, prim: Prim) -> &'static str {
    let (float, signed) = (prim.is_float(), prim.is_signed());
    match op {
        CmpOp::Eq if float => "fcmp oeq",
        CmpOp::Ne if float => "fcmp une",
        CmpOp::Lt if float => "fcmp olt",
        CmpOp::Le if float => "fcmp ole",
        CmpOp::Gt if float => "fcmp ogt",
        CmpOp::Ge if float => "fcmp oge",
        CmpOp::Eq => "icmp eq",
        CmpOp::Ne => "icmp ne",
        CmpOp::Lt if signed => "icmp slt",
        CmpOp::Le if signed => "icmp sle",
        CmpOp::Gt if signed => "icmp sgt",
        CmpOp::Ge if signed => "icmp sge",
        CmpOp::Lt => "icmp ult",
        CmpOp::Le => "icmp ule",
        CmpOp::Gt => "icmp ugt",
        CmpOp::Ge => "icmp uge",
    }
}
