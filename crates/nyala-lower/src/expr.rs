//! Expressions that compute a value.
//!
//! [`Lowerer::value`] returns `None` for an expression that never produces a value: the
//! current block has ended, and the caller must stop building.

use nyala_ir::{ArithFlags, ArithOp, AsmData, CmpOp, Def, Prim, Ty, TyKind};
use nyala_sema::tree::{Asm, ChainLink, Coercion, Constructor, Expr, ExprKind};
use nyala_sema::types as sema;
use nyala_span::Span;
use nyala_syntax::ast::{BinaryOp, Operator};

use crate::errors::LowerError;
use crate::lowerer::Lowerer;
use crate::operators::Operation;
use crate::place::Place;
use crate::vectors;

impl<'p> Lowerer<'p> {
    /// The value of an expression; `None` if it never produces one.
    pub(crate) fn value(&mut self, expr: &'p Expr) -> Option<Def> {
        self.expansion.nesting += 1;
        let value = self.value_of_kind(expr);
        self.expansion.nesting -= 1;
        value
    }

    fn value_of_kind(&mut self, expr: &'p Expr) -> Option<Def> {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Lit(bits) => Some(self.literal(expr.ty, *bits)),
            ExprKind::Str(text) => Some(self.string(text)),
            ExprKind::Number(number) => Some(self.number(*number, expr.ty)),
            ExprKind::Fn(id, args) => Some(self.fn_value(*id, args, expr.span)),
            ExprKind::FnParam(local, args) => Some(self.fn_param_value(*local, args, expr.span)),
            ExprKind::Constructor(constructor) => Some(self.constructor(expr.ty, *constructor)),
            ExprKind::Lambda(lambda) => Some(self.lambda(lambda)),
            ExprKind::Local(_)
            | ExprKind::Static(_)
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::Deref(_) => self.read_place(expr),
            ExprKind::Tuple(parts) => self.parts(expr, parts),
            ExprKind::Array(parts) => self.elements(expr, parts),
            ExprKind::Repeat(elem) => self.repeat(expr, elem),
            ExprKind::Struct { .. } | ExprKind::Variant { .. } => self.nominal_value(expr),
            ExprKind::HeapArray { .. } | ExprKind::Box(_) => self.heap(expr),
            ExprKind::Block { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::While { .. } => self.control_value(expr),
            ExprKind::Call(call) => self.call_value(expr, call),
            ExprKind::Asm(asm) => self.asm(expr.span, asm),
            ExprKind::AddrOf(place) => self.address_of(expr.span, place),
            ExprKind::Neg(_) | ExprKind::Not(_) => self.unary(expr),
            ExprKind::Chain { first, rest } => self.chain(expr, first, rest),
            ExprKind::Assign { .. } => self.assign(expr),
            ExprKind::Step { .. } => self.step(expr),
            ExprKind::Cast(inner) => {
                let value = self.value(inner)?;
                self.at(expr.span);
                let cast = self.cast(expr, inner, value);
                Some(self.demanded(cast))
            }
            ExprKind::Coerce { kind, expr: inner } => self.coerce(expr, *kind, inner),
            ExprKind::Known(inner) => {
                let value = self.value(inner)?;
                Some(self.world.known(value))
            }
            ExprKind::Hide(inner) => {
                let value = self.value(inner)?;
                Some(self.world.hide(value))
            }
            ExprKind::Deferred(_) | ExprKind::Error => {
                unreachable!("only programs without errors are lowered")
            }
        }
    }

    /// Evaluates for effects only; `None` if control does not return.
    pub(crate) fn effect(&mut self, expr: &'p Expr) -> Option<()> {
        self.value(expr).map(|_| ())
    }

    fn read_place(&mut self, expr: &'p Expr) -> Option<Def> {
        let place = self.place(expr)?;
        self.at(expr.span);
        Some(self.read(&place))
    }

    // ---- Literals and aggregates ---------------------------------------------------

    /// A literal of a primitive type.
    pub(crate) fn literal(&mut self, ty: sema::Ty, bits: u64) -> Def {
        let ty = self.ty(ty);
        let prim = self.world.types.as_prim(ty).expect("literals have primitive types");
        self.world.lit(prim, bits)
    }

    /// A string as an array; its terminating zero is part of it.
    pub(crate) fn string(&mut self, text: &[u8]) -> Def {
        let bytes: Vec<Def> = text.iter().map(|&byte| self.world.lit(Prim::U8, u64::from(byte))).collect();
        let u8 = self.world.types.prim(Prim::U8);
        let ty = self.world.types.array(u8, bytes.len() as u64);
        self.world.aggregate(ty, &bytes)
    }

    /// The elements of an array or vector.
    fn elements(&mut self, expr: &'p Expr, elems: &'p [Expr]) -> Option<Def> {
        let mut defs = Vec::with_capacity(elems.len());
        for elem in elems {
            defs.push(self.value(elem)?);
        }
        self.at(expr.span);
        self.check_lanes(expr, elems);
        let ty = self.ty(expr.ty);
        let is_array =
            defs.first().is_none_or(|&first| self.world.types.elem(ty) == Some(self.world.ty(first)));
        Some(match is_array {
            true => self.world.aggregate(ty, &defs),
            false => vectors::join(&mut self.world, ty, &defs),
        })
    }

    /// Reports a vector whose lanes are vectors in an instance.
    fn check_lanes(&mut self, expr: &Expr, elems: &[Expr]) {
        if let (sema::TyKind::Simd(..), Some(first)) = (self.types.kind(expr.ty), elems.first()) {
            let lane = self.close_ty(first.ty);
            if matches!(self.types.kind(lane), sema::TyKind::Simd(..)) {
                self.lane(expr.ty, lane);
            }
        }
    }

    fn parts(&mut self, expr: &'p Expr, parts: &'p [Expr]) -> Option<Def> {
        let mut defs = Vec::with_capacity(parts.len());
        for part in parts {
            defs.push(self.value(part)?);
        }
        self.at(expr.span);
        let ty = self.ty(expr.ty);
        Some(self.world.aggregate(ty, &defs))
    }

    fn repeat(&mut self, expr: &'p Expr, elem: &'p Expr) -> Option<Def> {
        let elem = self.value(elem)?;
        self.at(expr.span);
        let ty = self.ty(expr.ty);
        match *self.world.types.kind(ty) {
            TyKind::Array { len, .. } if self.is_in_static() && len > MAX_CONSTANT => {
                self.errors.push(LowerError::HugeConstant { at: expr.span, limit: MAX_CONSTANT });
                Some(self.world.undef(ty))
            }
            TyKind::Array { len, .. } if !self.is_in_static() && len > MAX_WRITTEN_OUT => {
                Some(self.filled(ty, len, elem))
            }
            _ => Some(self.splat(ty, elem)),
        }
    }

    /// An array or simd value whose parts are all `elem`; a scalar type is `elem` itself.
    fn splat(&mut self, ty: Ty, elem: Def) -> Def {
        let n_parts = match *self.world.types.kind(ty) {
            TyKind::Array { len, .. } => len as usize,
            TyKind::Simd { lanes, .. } => lanes as usize,
            _ => return elem,
        };
        self.world.aggregate(ty, &vec![elem; n_parts])
    }

    /// A large array of equal elements: a loop fills a slot.
    fn filled(&mut self, ty: Ty, len: u64, elem: Def) -> Def {
        let slot = self.slot(ty, None);
        let i64 = self.world.types.prim(Prim::I64);
        let head = self.new_block("fill_head", &[i64]);
        let (body, exit) = (self.new_block("fill_body", &[]), self.new_block("fill_exit", &[]));
        let (head_def, zero) = (self.world.cont_def(head), self.world.lit_i64(0));
        self.jump(head_def, &[zero]);

        self.enter(head);
        let i = self.world.param(head, 1);
        let end = self.world.lit(Prim::I64, len);
        let more = self.world.cmp(CmpOp::Lt, i, end);
        let (body_def, exit_def) = (self.world.cont_def(body), self.world.cont_def(exit));
        self.world.set_branch(head, self.frame.mem, more, body_def, exit_def);

        self.enter(body);
        let at = self.world.lea(slot, i);
        self.store(at, elem);
        let one = self.world.lit_i64(1);
        let next = self.world.arith(ArithOp::Add, ArithFlags::STRICT, i, one);
        self.jump(head_def, &[next]);

        self.enter(exit);
        self.load(slot)
    }

    fn nominal_value(&mut self, expr: &'p Expr) -> Option<Def> {
        match &expr.kind {
            ExprKind::Struct { base: Some(base), fields } => {
                let base = self.value(base)?;
                fields.iter().try_fold(base, |whole, (index, value)| {
                    let value = self.value(value)?;
                    let index = self.world.lit_u32(*index);
                    Some(self.world.insert(whole, index, value))
                })
            }
            ExprKind::Struct { base: None, fields } => {
                let defs = self.fields(fields)?;
                self.at(expr.span);
                let ty = self.ty(expr.ty);
                Some(self.world.aggregate(ty, &defs))
            }
            ExprKind::Variant { option, fields } => {
                let defs = self.fields(fields)?;
                self.at(expr.span);
                let ty = self.ty(expr.ty);
                if let TyKind::Array { elem, len } = *self.world.types.kind(ty) {
                    return Some(self.variants(ty, (elem, len as u32), *option, &defs));
                }
                let payload = self.world.tuple(&defs);
                Some(self.world.variant(ty, *option, payload))
            }
            _ => unreachable!("called for structs and options"),
        }
    }

    /// A vector of enums, which are all the same option, from the vectors of its fields.
    fn variants(&mut self, ty: Ty, (elem, lanes): (Ty, u32), option: u32, fields: &[Def]) -> Def {
        let TyKind::Enum(id) = *self.world.types.kind(elem) else { unreachable!("options belong to enums") };
        let payload = self.world.types.enums[id].options[option as usize].payload;
        let tys: Vec<Ty> = match (fields.len(), self.world.types.kind(payload)) {
            (1, _) => vec![payload],
            (_, TyKind::Tuple(parts)) => parts.to_vec(),
            _ => vec![],
        };
        let mut all = vec![];
        for lane in 0..lanes {
            let index = self.world.lit_u32(lane);
            let parts = fields.iter().zip(&tys);
            let parts: Vec<Def> =
                parts.map(|(&field, &ty)| vectors::lane(&mut self.world, field, index, ty)).collect();
            let payload = self.world.tuple(&parts);
            all.push(self.world.variant(elem, option, payload));
        }
        self.world.aggregate(ty, &all)
    }

    /// Field values by number, evaluated in source order.
    fn fields(&mut self, fields: &'p [(u32, Expr)]) -> Option<Vec<Def>> {
        let mut defs = vec![];
        for (index, value) in fields {
            defs.push((*index, self.value(value)?));
        }
        defs.sort_by_key(|&(index, _)| index);
        Some(defs.into_iter().map(|(_, def)| def).collect())
    }

    /// An option with payload, or a tuple-like struct, as a function.
    fn constructor(&mut self, ty: sema::Ty, constructor: Constructor) -> Def {
        let ty = self.ty(ty);
        let option = match constructor {
            Constructor::Option { option, .. } => option,
            Constructor::Struct(_) => 0,
        };
        if let Some(&def) = self.helpers.constructors.get(&ty).and_then(|known| known.get(&option)) {
            return def;
        }
        let params = self.world.types.as_cn(ty).expect("a constructor is a function").to_vec();
        let cont = self.world.new_cont("construct", &params);
        let defs = self.world.cont(cont).params.clone();
        let [mem, fields @ .., ret] = &defs[..] else { unreachable!("a constructor returns what it builds") };
        let ret_params = self.world.types.as_cn(self.world.ty(*ret)).expect("a return continuation");
        let result = ret_params[1];
        let value = match constructor {
            Constructor::Struct(_) => self.world.aggregate(result, fields),
            Constructor::Option { option, .. } => {
                let payload = self.world.tuple(fields);
                self.world.variant(result, option, payload)
            }
        };
        self.world.set_body(cont, *ret, [*mem, value]);
        self.specialize_always(cont);
        let def = self.world.cont_def(cont);
        self.helpers.constructors.entry(ty).or_default().insert(option, def);
        def
    }

    fn heap(&mut self, expr: &'p Expr) -> Option<Def> {
        let (elem, count, value) = match &expr.kind {
            ExprKind::HeapArray { len, elem } => {
                let (count, i64) = (self.value(len)?, self.world.types.prim(Prim::I64));
                (self.ty(*elem), self.world.cast(i64, count), None)
            }
            ExprKind::Box(value) => {
                let value = self.value(value)?;
                (self.world.ty(value), self.world.lit_i64(1), Some(value))
            }
            _ => unreachable!("called for heap allocations"),
        };
        self.at(expr.span);
        let (mem, ptr) = self.world.alloc(self.frame.mem, elem, count);
        self.frame.mem = mem;
        let ty = self.ty(expr.ty);
        let ptr = self.world.bitcast(ty, ptr);
        if let Some(value) = value {
            self.store(ptr, value);
        }
        Some(ptr)
    }

    // ---- Operators ------------------------------------------------------------------

    /// The flags of operations on values of `ty`.
    pub(crate) fn flags(&self, ty: Ty) -> ArithFlags {
        let is_float = self.world.types.lane_prim(ty).is_some_and(Prim::is_float);
        let fast = self.options.fast_math || self.instances[self.frame.instance].fast_math;
        ArithFlags { wrap: self.options.wrapping && !is_float, fast: fast && is_float }
    }

    fn unary(&mut self, expr: &'p Expr) -> Option<Def> {
        let (ExprKind::Neg(inner) | ExprKind::Not(inner)) = &expr.kind else {
            unreachable!("called for unary operators");
        };
        let value = self.value(inner)?;
        self.at(expr.span);
        Some(self.operate(unary_operation(expr, inner), &[value]))
    }

    /// `-value` or `!value`.
    pub(crate) fn unary_op(&mut self, is_neg: bool, value: Def) -> Def {
        let ty = self.world.ty(value);
        let prim = self.world.types.lane_prim(ty).expect("operands of operators are numbers");
        let (op, bits) = match (is_neg, prim) {
            // -0.0 - x has the opposite sign for every x, also for zeros.
            (true, Prim::F16) => (ArithOp::Sub, 1 << 15),
            (true, Prim::F32) => (ArithOp::Sub, 1 << 31),
            (true, Prim::F64) => (ArithOp::Sub, 1 << 63),
            (true, _) => (ArithOp::Sub, 0),
            (false, _) => (ArithOp::Xor, u64::MAX),
        };
        let constant = self.world.lit(prim, bits);
        let constant = self.splat(ty, constant);
        // The minimum is its own negation, by definition of the language.
        let flags = ArithFlags { wrap: !prim.is_float(), ..self.flags(ty) };
        match op {
            ArithOp::Sub => self.world.arith(op, flags, constant, value),
            _ => self.world.arith(op, ArithFlags::STRICT, value, constant),
        }
    }

    fn chain(&mut self, expr: &'p Expr, first: &'p Expr, rest: &'p [ChainLink]) -> Option<Def> {
        if let Some(link) = rest.first()
            && matches!(link.op, BinaryOp::AndAnd | BinaryOp::OrOr)
        {
            return self.lazy_chain(expr, rest);
        }
        let (mut value, mut ty) = (self.value(first)?, first.ty);
        for link in rest {
            let rhs = self.value(&link.rhs)?;
            self.at(link.span);
            value = self.operate(link_operation(link, ty), &[value, rhs]);
            ty = link.ty;
        }
        Some(value)
    }

    /// `lhs op rhs`; `&&` and `||` evaluate both sides here.
    pub(crate) fn binary_op(&mut self, op: BinaryOp, lhs: Def, rhs: Def) -> Def {
        let arith = match op {
            BinaryOp::Eq => return self.world.cmp(CmpOp::Eq, lhs, rhs),
            BinaryOp::Ne => return self.world.cmp(CmpOp::Ne, lhs, rhs),
            BinaryOp::Lt => return self.world.cmp(CmpOp::Lt, lhs, rhs),
            BinaryOp::Le => return self.world.cmp(CmpOp::Le, lhs, rhs),
            BinaryOp::Gt => return self.world.cmp(CmpOp::Gt, lhs, rhs),
            BinaryOp::Ge => return self.world.cmp(CmpOp::Ge, lhs, rhs),
            BinaryOp::Or | BinaryOp::OrOr => ArithOp::Or,
            BinaryOp::And | BinaryOp::AndAnd => ArithOp::And,
            BinaryOp::Xor => ArithOp::Xor,
            BinaryOp::Shl => ArithOp::Shl,
            BinaryOp::Shr => ArithOp::Shr,
            BinaryOp::Add => ArithOp::Add,
            BinaryOp::Sub => ArithOp::Sub,
            BinaryOp::Mul => ArithOp::Mul,
            BinaryOp::Div => ArithOp::Div,
            BinaryOp::Rem => ArithOp::Rem,
        };
        let flags = self.flags(self.world.ty(lhs));
        self.world.arith(arith, flags, lhs, rhs)
    }

    /// `value`; it is computed here if it may fail and checks are on.
    pub(crate) fn demanded(&mut self, value: Def) -> Def {
        if self.options.demands {
            self.frame.mem = self.world.demand(self.frame.mem, value);
        }
        value
    }

    fn assign(&mut self, expr: &'p Expr) -> Option<Def> {
        let ExprKind::Assign { op, place, value, load_first, by } = &expr.kind else {
            unreachable!("called for assignments");
        };
        let ty = place.ty;
        let place = self.place(place)?;
        let early = (op.is_some() && *load_first).then(|| self.read(&place));
        let mut value = self.value(value)?;
        self.at(expr.span);
        if let Some(op) = op {
            let old = early.unwrap_or_else(|| self.read(&place));
            let (operator, by) = (Operator::Binary(*op), by.as_deref());
            let operation = Operation { operator, by, ty, n_operands: 2, at: expr.span };
            value = self.operate(operation, &[old, value]);
        }
        self.write(&place, value);
        Some(self.world.unit())
    }

    fn step(&mut self, expr: &'p Expr) -> Option<Def> {
        let ExprKind::Step { place, is_dec, is_post } = &expr.kind else {
            unreachable!("called for `++` and `--`");
        };
        let place: Place = self.place(place)?;
        self.at(expr.span);
        let old = self.read(&place);
        let ty = self.world.ty(old);
        let one = self.one(ty);
        let op = if *is_dec { BinaryOp::Sub } else { BinaryOp::Add };
        let new = self.binary_op(op, old, one);
        let new = self.demanded(new);
        self.write(&place, new);
        Some(if *is_post { old } else { new })
    }

    /// The number 1 of a type, in every lane.
    fn one(&mut self, ty: Ty) -> Def {
        let prim = self.world.types.lane_prim(ty).expect("only numbers are stepped");
        let bits = match prim {
            Prim::F16 => 0x3c00,
            Prim::F32 => u64::from(1f32.to_bits()),
            Prim::F64 => 1f64.to_bits(),
            _ => 1,
        };
        let one = self.world.lit(prim, bits);
        self.splat(ty, one)
    }

    // ---- Pointers, conversions, assembly ------------------------------------------------

    fn address_of(&mut self, span: Span, place: &'p Expr) -> Option<Def> {
        let place = self.place(place)?;
        self.at(span);
        Some(self.address(&place))
    }

    fn coerce(&mut self, expr: &'p Expr, kind: Coercion, inner: &'p Expr) -> Option<Def> {
        match kind {
            Coercion::AddrOf => self.address_of(expr.span, inner),
            Coercion::Retype => {
                let value = self.value(inner)?;
                self.at(expr.span);
                let ty = self.ty(expr.ty);
                Some(self.adapt(value, ty))
            }
            Coercion::Broadcast => {
                let value = self.value(inner)?;
                self.at(expr.span);
                let ty = self.ty(expr.ty);
                Some(vectors::broadcast(&mut self.world, ty, value))
            }
            Coercion::Generic => Some(self.world.unit()),
            Coercion::Never => {
                self.effect(inner)?;
                // Happens only if checking assumed that a call never returns.
                self.world.set_unreachable(self.frame.block, self.frame.mem);
                None
            }
        }
    }

    fn asm(&mut self, span: Span, asm: &'p Asm) -> Option<Def> {
        let mut places = vec![];
        for (_, place) in &asm.outputs {
            places.push(self.place(place)?);
        }
        let mut inputs = vec![];
        for (_, input) in &asm.inputs {
            inputs.push(self.value(input)?);
        }
        self.at(span);
        let output_tys: Vec<Ty> = asm.outputs.iter().map(|(_, place)| self.ty(place.ty)).collect();
        let constraints =
            |operands: &[(Vec<u8>, Expr)]| operands.iter().map(|(text, _)| text.clone()).collect();
        let data = AsmData {
            template: asm.template.clone(),
            outputs: constraints(&asm.outputs),
            inputs: constraints(&asm.inputs),
            clobbers: asm.clobbers.clone(),
            options: asm.options.clone(),
        };
        let (mem, outputs) = self.world.asm(self.frame.mem, data, &inputs, &output_tys);
        self.frame.mem = mem;
        for (place, value) in places.iter().zip(outputs) {
            self.write(place, value);
        }
        Some(self.world.unit())
    }
}

/// `-e`, `!e`
pub(crate) fn unary_operation<'p>(expr: &Expr, operand: &Expr) -> Operation<'p> {
    let operator = match expr.kind {
        ExprKind::Not(_) => Operator::Not,
        _ => Operator::Binary(BinaryOp::Sub),
    };
    Operation { operator, by: None, ty: operand.ty, n_operands: 1, at: expr.span }
}

/// The operator of a link whose left operand has type `ty`.
pub(crate) fn link_operation(link: &ChainLink, ty: sema::Ty) -> Operation<'_> {
    let (operator, by) = (Operator::Binary(link.op), link.by.as_deref());
    Operation { operator, by, ty, n_operands: 2, at: link.span }
}

/// Arrays of equal elements up to this length are written out as values; longer ones
/// are filled by a loop.
const MAX_WRITTEN_OUT: u64 = 1 << 12;

/// Arrays of equal elements in the initializers of statics cannot be filled by a
/// loop; longer ones than this are reported.
pub(crate) const MAX_CONSTANT: u64 = 1 << 24;
