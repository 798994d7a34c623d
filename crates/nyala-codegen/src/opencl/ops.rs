//! Operations as expressions and statements of C.

use nyala_ir::analysis::schedule::has_effect;
use nyala_ir::layout::layout;
use nyala_ir::{ArithOp, CmpOp, Def, MathOp, Node, Prim, Ty, TyKind};

use super::ModuleWriter;
use super::expr::{Expr, list};
use super::function::FunctionWriter;
use super::types::prim_type;

impl FunctionWriter<'_, '_> {
    /// Writes an operation.
    pub(super) fn operation(&mut self, def: Def) {
        let world = self.world;
        if let Some(constant) = self.module.constant(def) {
            return self.set(def, constant);
        }
        if self.statement(def) {
            return;
        }
        let expr = self.expression(def);
        if self.lanes(def).is_some_and(|lanes| !matches!(lanes, 2 | 4 | 8 | 16)) {
            let what = "vectors on OpenCL devices that have not 2, 4, 8 or 16 lanes";
            self.module.unsupported(world.span_of(def), what);
        }
        self.set_operation(def, expr);
    }

    /// Writes an operation that is a statement, or whose value is that of an operand; whether it is one.
    fn statement(&mut self, def: Def) -> bool {
        let world = self.world;
        match world.node(def) {
            Node::Extract { agg, index } if has_effect(world, agg) => {
                if world.as_lit(index) != Some(0) {
                    let value = self.value(agg);
                    self.set(def, value);
                }
            }
            Node::Load { ptr, .. } => {
                if let Some(ty) = world.types.part(world.ty(def), 1) {
                    let ptr = self.value(ptr);
                    let value = self.compute(ty, "load", format!("*{ptr}"));
                    self.set(def, value);
                }
            }
            Node::Store { ptr, .. } if world.is_for_debuggers(ptr) => {}
            Node::Store { ptr, value, .. } => {
                let (ptr, value) = (self.value(ptr), self.value(value));
                self.line(format!("*{ptr} = {value};"));
            }
            // Kernels have no run-time checks.
            Node::Demand { .. } => {}
            Node::Slot { .. } => self.slot(def),
            Node::Insert { agg, index, value } => {
                let (whole, value) = (self.value(agg), self.value(value));
                let name = self.compute(world.ty(def), "all", whole);
                let part = self.part(agg, &name, index);
                self.line(format!("{part} = {value};"));
                self.set(def, name);
            }
            Node::Variant { option, payload } => self.variant(def, option, payload),
            Node::Hide(value) | Node::Streaming(value) => {
                let value = self.value(value);
                self.set(def, value);
            }
            _ => return false,
        }
        true
    }

    /// An operation as an expression.
    fn expression(&mut self, def: Def) -> String {
        let world = self.world;
        let ty = world.ty(def);
        match world.node(def) {
            Node::Arith { op, lhs, rhs, .. } => self.arith(op, lhs, rhs),
            Node::Cmp { op, lhs, rhs } => self.compare(op, lhs, rhs),
            Node::Math { op, args, .. } => self.math(def, op, world.list(args)),
            Node::Cast(from) => self.cast(def, from),
            Node::Bitcast(from) => self.bitcast(def, from),
            Node::Select { cond, then, other } => self.select(cond, then, other),
            Node::Aggregate(parts) => {
                let parts: Vec<Expr> = world.list(parts).iter().map(|&part| self.value(part)).collect();
                self.module.composite(ty, &parts)
            }
            Node::Extract { agg, index } => self.extract(agg, index),
            Node::VariantTag(value) => format!("{}.tag", self.value(value)),
            Node::VariantPayload { option, value } if ty != world.types.unit() => {
                format!("{}.data.o{option}", self.value(value))
            }
            Node::Lea { ptr, index } => self.lea(ptr, index),
            Node::Asm { .. } => self.unsupported(def, "inline assembly on OpenCL devices"),
            _ => self.unsupported(def, "this operation on OpenCL devices"),
        }
    }

    fn compare(&mut self, op: CmpOp, lhs: Def, rhs: Def) -> String {
        let compared = format!("{} {} {}", self.operand(lhs), op.sign(), self.operand(rhs));
        match self.lanes(lhs) {
            // Lanes of a comparison are 0 or -1.
            Some(lanes) => format!("(convert_uchar{lanes}({compared}) & (uchar)1)"),
            None => compared,
        }
    }

    fn select(&mut self, cond: Def, then: Def, other: Def) -> String {
        let [cond_value, then_value, other_value] = [cond, then, other].map(|def| self.value(def));
        match self.lanes(cond) {
            // `select` tests the highest bit of each lane.
            Some(lanes) => {
                let mask = format!("-convert_{}{lanes}({cond_value})", self.signed_lane(then));
                format!("select({other_value}, {then_value}, {mask})")
            }
            None => format!("{cond_value} ? {then_value} : {other_value}"),
        }
    }

    fn extract(&mut self, agg: Def, index: Def) -> String {
        let whole = self.value(agg);
        match (self.lanes(agg), self.world.as_lit(index)) {
            // A dynamic index needs an address.
            (Some(_), None) => {
                let all = self.compute(self.world.ty(agg), "lanes", whole);
                self.part(agg, &all, index)
            }
            _ => self.part(agg, &whole, index),
        }
    }

    fn slot(&mut self, def: Def) {
        let ptr = self.world.types.part(self.world.ty(def), 1);
        let Some((pointee, _)) = ptr.and_then(|ptr| self.world.types.as_ptr(ptr)) else { return };
        let name = self.temporary("slot");
        self.declare(pointee, &name);
        self.set(def, Expr::operation(format!("&{name}"), vec![]));
    }

    fn variant(&mut self, def: Def, option: u32, payload: Def) {
        let name = self.temporary("variant");
        self.declare(self.world.ty(def), &name);
        if self.world.ty(payload) != self.world.types.unit() {
            let payload = self.value(payload);
            self.line(format!("{name}.data.o{option} = {payload};"));
        }
        self.line(format!("{name}.tag = {option};"));
        self.set(def, Expr::atom(name));
    }

    /// A part of the aggregate `whole`.
    fn part(&mut self, agg: Def, whole: &Expr, index: Def) -> String {
        match (self.world.types.elem(self.world.ty(agg)), self.world.as_lit(index)) {
            (Some(_), Some(lane)) if self.lanes(agg).is_some() => format!("{whole}.s{lane:x}"),
            (Some(elem), None) if self.lanes(agg).is_some() => {
                let elem = self.module.types.ty(elem);
                format!("(({elem}*)&{whole})[{}]", self.value(index))
            }
            (Some(_), _) => format!("{whole}.e[{}]", self.value(index)),
            (None, index) => format!("{whole}.e{}", index.unwrap_or(0)),
        }
    }

    /// The number of lanes of a vector.
    pub(super) fn lanes(&self, def: Def) -> Option<u32> {
        match *self.world.types.kind(self.world.ty(def)) {
            TyKind::Simd { lanes, .. } => Some(lanes),
            _ => None,
        }
    }

    /// The signed integers that are as wide as the lanes of a vector.
    fn signed_lane(&self, def: Def) -> &'static str {
        match self.world.types.lane_prim(self.world.ty(def)).map_or(64, |prim| prim.bits()) {
            ..=8 => "char",
            9..=16 => "short",
            17..=32 => "int",
            _ => "long",
        }
    }

    fn lea(&mut self, ptr: Def, index: Def) -> String {
        let (base, index_value) = (self.value(ptr), self.value(index));
        let pointee = self.world.types.as_ptr(self.world.ty(ptr)).map(|(pointee, _)| pointee);
        match pointee.map(|pointee| self.world.types.kind(pointee)) {
            Some(TyKind::Slice(_)) => format!("{base} + {index_value}"),
            Some(TyKind::Array { .. }) => format!("&{base}->e[{index_value}]"),
            Some(&TyKind::Simd { elem, .. }) => {
                let space = super::types::space_name(self.module.spaces.of(self.world, ptr));
                format!("({space}{}*){base} + {index_value}", self.module.types.ty(elem))
            }
            _ => format!("&{base}->e{}", self.world.as_lit(index).unwrap_or(0)),
        }
    }

    fn prim(&self, def: Def) -> Option<Prim> {
        self.world.types.as_prim(self.world.ty(def))
    }

    fn arith(&mut self, op: ArithOp, lhs: Def, rhs: Def) -> String {
        let prim = self.world.types.lane_prim(self.world.ty(lhs)).unwrap_or(Prim::U64);
        if prim == Prim::F16 {
            return self.half_arith(op, lhs, rhs);
        }
        let (a, b) = (self.value(lhs), self.value(rhs));
        if op == ArithOp::Rem && prim.is_float() {
            return format!("fmod({a}, {b})");
        }
        let sign = op.sign();
        match prim.bits() {
            // C promotes operands to `int`.
            ..=16 if !prim.is_float() && self.lanes(lhs).is_none() => {
                format!("({})({a} {sign} {b})", prim_type(prim))
            }
            _ => format!("{a} {sign} {b}"),
        }
    }

    fn cast(&mut self, def: Def, from: Def) -> String {
        match (self.is_half(from), self.is_half(def)) {
            (true, true) => return self.value(from).to_string(),
            (false, true) => return self.half_cast(from),
            _ => {}
        }
        let (value, ty) = (self.operand(from), self.module.type_of(def));
        match (self.lanes(def), self.prim(def)) {
            (Some(lanes), _) if self.world.types.lane_prim(self.world.ty(def)) == Some(Prim::Bool) => {
                format!("(convert_uchar{lanes}({value} != 0) & (uchar)1)")
            }
            (Some(_), _) => format!("convert_{ty}({value})"),
            (_, Some(Prim::Bool)) => format!("{value} != 0"),
            _ => format!("({ty}){value}"),
        }
    }

    fn bitcast(&mut self, def: Def, from: Def) -> String {
        let world = self.world;
        let (from_ty, to_ty) = (world.ty(from), world.ty(def));
        let (value, to) = (self.value(from), self.module.type_of(def));
        let is_pointer = |ty: Ty| matches!(world.types.kind(ty), TyKind::Ptr { .. });
        let is_number = |def: Def| self.prim(def).is_some() || self.lanes(def).is_some();
        match (is_number(from), is_number(def)) {
            (true, true) => format!("as_{to}({value})"),
            _ if is_pointer(to_ty) || is_pointer(from_ty) => format!("({to}){value}"),
            _ => {
                let from = self.module.types.ty(from_ty);
                format!("((union {{ {from} from; {to} to; }}){{ .from = {value} }}).to")
            }
        }
    }

    fn math(&mut self, def: Def, op: MathOp, args: &[Def]) -> String {
        let name = match op {
            MathOp::RoundEven => "rint",
            MathOp::Fmuladd => "fma",
            MathOp::IsNan => "isnan",
            MathOp::IsFinite => "isfinite",
            MathOp::Pext | MathOp::Pdep => {
                return self.unsupported(def, format!("`{}` on OpenCL devices", op.name()));
            }
            op => op.name(),
        };
        if args.iter().any(|&arg| self.is_half(arg)) {
            return self.half_math(def, op, name, args);
        }
        let values: Vec<Expr> = args.iter().map(|&arg| self.value(arg)).collect();
        format!("{name}({})", list(&values))
    }

    /// Reports an operation that is not supported; its value is 0.
    fn unsupported(&mut self, def: Def, what: impl Into<String>) -> String {
        self.module.unsupported(self.world.span_of(def), what);
        "0".into()
    }
}

impl ModuleWriter<'_> {
    /// `def` as an expression without operations; none if it is computed at run time.
    pub(super) fn constant(&mut self, def: Def) -> Option<Expr> {
        let world = self.world;
        let ty = world.ty(def);
        let text = match (world.node(def), world.types.kind(ty)) {
            (Node::Lit(bits), TyKind::Prim(prim)) => return Some(Expr::atom(literal(*prim, bits))),
            (Node::SizeOf(of), _) => return Some(Expr::atom(layout(&world.types, of).size.to_string())),
            (Node::AlignOf(of), _) => return Some(Expr::atom(layout(&world.types, of).align.to_string())),
            (Node::Known(_), _) => return Some(Expr::atom("0")),
            (Node::Lit(bits), TyKind::Simd { elem, .. }) => {
                let prim = world.types.as_prim(*elem)?;
                format!("({})({})", self.types.ty(ty), literal(prim, bits))
            }
            (Node::Lit(bits), _) => format!("(({}){bits}ul)", self.types.ty(ty)),
            (Node::Undef, TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Simd { .. }) => {
                format!("({})0", self.types.ty(ty))
            }
            (Node::Undef, _) => format!("({}){{0}}", self.types.ty(ty)),
            (Node::Global(global), _) => {
                let name = self.global(global);
                let pointee = self.types.ty(world.global(global).ty);
                format!("((__constant {pointee}*)&{name})")
            }
            (Node::Aggregate(parts), _) => {
                let parts: Option<Vec<Expr>> =
                    world.list(parts).iter().map(|&part| self.constant(part)).collect();
                self.composite(ty, &parts?)
            }
            _ => return None,
        };
        Some(Expr::constant(text))
    }

    /// `def` as the initializer of a global.
    pub(super) fn initializer(&mut self, def: Def) -> Option<Expr> {
        match self.world.node(def) {
            Node::Aggregate(parts) => {
                let parts: Option<Vec<Expr>> =
                    self.world.list(parts).iter().map(|&part| self.initializer(part)).collect();
                let ty = self.world.ty(def);
                Some(Expr::constant(match self.world.types.is_simd(ty) {
                    true => self.composite(ty, &parts?),
                    false => braces(self.is_array(ty), &parts?),
                }))
            }
            _ => self.constant(def),
        }
    }

    fn is_array(&self, ty: Ty) -> bool {
        matches!(self.world.types.kind(ty), TyKind::Array { .. })
    }

    /// A struct or array with these parts.
    pub(super) fn composite(&mut self, ty: Ty, parts: &[Expr]) -> String {
        match self.world.types.is_simd(ty) {
            true => format!("({})({})", self.types.ty(ty), list(parts)),
            false => format!("({}){}", self.types.ty(ty), braces(self.is_array(ty), parts)),
        }
    }
}

/// Parts in braces; an array is a struct around a C array.
fn braces(is_array: bool, parts: &[Expr]) -> String {
    match (is_array, parts) {
        (_, []) => "{0}".into(),
        (true, parts) => format!("{{ {{ {} }} }}", list(parts)),
        (false, parts) => format!("{{ {} }}", list(parts)),
    }
}

/// A literal of a primitive type, in parentheses if it has a sign.
fn literal(prim: Prim, bits: u64) -> String {
    match prim {
        Prim::Bool => bits.to_string(),
        Prim::F16 => format!("((ushort){bits})"),
        Prim::F32 => {
            float(f64::from(f32::from_bits(bits as u32)), "f", || format!("as_float({}u)", bits as u32))
        }
        Prim::F64 => float(f64::from_bits(bits), "", || format!("as_double({bits}ul)")),
        _ => {
            let suffix = match (prim.is_signed(), prim.bits()) {
                (true, 64) => "l",
                (true, _) => "",
                (false, 64) => "ul",
                (false, _) => "u",
            };
            let number = prim.sign_extend(bits);
            match number {
                // C has no literal for it.
                i64::MIN if prim.is_signed() => "(-9223372036854775807l - 1)".into(),
                -2147483648 if prim == Prim::I32 => "(-2147483647 - 1)".into(),
                ..0 if prim.is_signed() => format!("({number}{suffix})"),
                _ if prim.is_signed() => format!("{number}{suffix}"),
                _ => format!("{bits}{suffix}"),
            }
        }
    }
}

fn float(value: f64, suffix: &str, bits: impl FnOnce() -> String) -> String {
    match value {
        _ if !value.is_finite() => bits(),
        // The shortest text that is read as the same `f64`; for `f32` it has more digits than needed.
        _ if value.is_sign_negative() => format!("({value:?}{suffix})"),
        _ => format!("{value:?}{suffix}"),
    }
}
