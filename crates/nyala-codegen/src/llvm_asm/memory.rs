//! Operations on memory.
//!
//! A local variable is allocated once per call of the function, at its entry, so a variable in a loop does not need
//! more memory in every iteration. Only if its address escapes, other iterations may use it; then each iteration
//! allocates its own.

use nyala_ir::layout::{Layout, layout};
use nyala_ir::{ArithOp, Def, Node, Prim, Ty};

use super::function::FunctionWriter;
use super::gathers::shared_part;
use super::value::{Type, Value};

/// How deep sums are followed into their summands.
const MAX_DEPTH: u32 = 6;

impl FunctionWriter<'_, '_> {
    /// Whether `def` is an operation with an effect, whose first part is memory.
    pub(crate) fn is_effect(&self, def: Def) -> bool {
        nyala_ir::analysis::schedule::has_effect(self.world, def)
    }

    /// Writes an operation on memory; gives its result besides the memory token.
    pub(crate) fn memory_operation(&mut self, def: Def) -> Option<String> {
        match self.world.node(def) {
            Node::Extract { agg, index } => match self.large_part(agg, index) {
                Some(address) => {
                    self.set_address(def, address);
                    None
                }
                None => self.effect_part(agg, index),
            },
            Node::Load { ptr, .. } => {
                let ty = self.world.types.part(self.world.ty(def), 1)?;
                if self.module.options.checked {
                    self.check_access(def, ptr, ty, "read");
                }
                if self.module.is_large(ty) {
                    let at = self.generic(ptr);
                    let copy = self.copy_of(&at, ty);
                    self.set_address(def, copy);
                    return None;
                }
                let at = self.typed(ptr);
                Some(self.load(&at, ty, def))
            }
            Node::Store { ptr, value, .. } if self.world.is_for_debuggers(ptr) => {
                self.declare_stored(ptr, value);
                None
            }
            Node::Store { ptr, value, .. } => {
                if self.module.options.checked {
                    self.check_access(def, ptr, self.world.ty(value), "write");
                }
                match self.module.is_large(self.world.ty(value)) {
                    true => {
                        let at = self.generic(ptr);
                        self.store_to(&at, value);
                    }
                    false => {
                        let at = self.typed(ptr);
                        self.store_at(&at, value);
                    }
                }
                None
            }
            Node::LoadLanes { ptr, mask, .. } => self.load_lanes(def, ptr, mask),
            Node::StoreLanes { ptr, mask, value, .. } => {
                if !self.store_spread(def) {
                    self.store_lanes(ptr, mask, value);
                }
                None
            }
            // Its operand is computed and checked already.
            Node::Demand { .. } => None,
            Node::Slot { .. } => Some(self.slot(def)),
            Node::Alloc { count, .. } => Some(self.alloc(def, count)),
            Node::Lea { ptr, index } => Some(self.lea(ptr, index)),
            Node::Asm { asm, args } => {
                let (asm, inputs) = (self.world.asm_data(asm), &self.world.list(args)[1..]);
                self.asm(def, asm, inputs)
            }
            _ => Some(self.module.unsupported(self.world.span_of(def), "this operation")),
        }
    }

    fn effect_part(&mut self, effect: Def, index: Def) -> Option<String> {
        match self.world.as_lit(index) {
            Some(0) => None,
            Some(index) if matches!(self.world.node(effect), Node::Asm { .. }) => {
                Some(self.asm_part(effect, index))
            }
            _ => Some(self.value(effect)),
        }
    }

    /// The address of the result of an operation with an effect, if it is a large value.
    fn large_part(&self, effect: Def, index: Def) -> Option<String> {
        self.world.as_lit(index).filter(|&index| index > 0).and_then(|_| self.address(effect))
    }

    /// A copy of a large value in a new variable.
    pub(crate) fn copy_of(&mut self, from: &str, ty: Ty) -> String {
        let copy = self.local_of(ty);
        self.copy(&copy, from, ty);
        copy
    }

    /// Copies a value to another address.
    pub(crate) fn copy(&mut self, to: &str, from: &str, ty: Ty) {
        let Layout { size, align } = layout(&self.world.types, ty);
        let params = ["ptr", "ptr", "i64", "i1 immarg"].map(String::from);
        let symbol = self.module.declare("llvm.memcpy.p0.p0.i64", "void", &params, self.flow.span());
        let (to, from) = (format!("ptr align {align} {to}"), format!("ptr align {align} {from}"));
        self.line(format!("call void {symbol}({to}, {from}, i64 {size}, i1 false)"));
    }

    fn load(&mut self, at: &Value, ty: Ty, def: Def) -> String {
        if self.world.types.is_simd(self.world.ty(def)) {
            return self.module.unsupported(self.world.span_of(def), "this access to memory");
        }
        self.load_at(at, ty)
    }

    /// An address as a generic pointer.
    pub(crate) fn generic(&mut self, ptr: Def) -> String {
        match self.module.ty_of(ptr) {
            Type::PTR => self.value(ptr),
            _ => {
                let typed = self.typed(ptr);
                self.compute("generic", format!("addrspacecast {typed} to ptr"))
            }
        }
    }

    /// Loads a value.
    pub(crate) fn load_from(&mut self, at: &str, ty: Ty) -> String {
        self.load_at(&Value::ptr(at), ty)
    }

    /// Loads a value through a pointer.
    pub(crate) fn load_at(&mut self, at: &Value, ty: Ty) -> String {
        let (text, align) = (self.module.part_ty(ty), self.module.align_of(ty));
        let loaded = self.compute("load", format!("load {text}, {at}, align {align}"));
        self.unpacked(&loaded, ty)
    }

    /// The value of a part of an aggregate or of memory.
    pub(crate) fn unpacked(&mut self, part: &str, ty: Ty) -> String {
        let (stored, text) = (self.module.part_ty(ty), self.module.ty(ty));
        match stored == text {
            true => part.to_owned(),
            false => self.compute("bits", format!("trunc {stored} {part} to {text}")),
        }
    }

    /// A value as a part of an aggregate or of memory.
    pub(crate) fn typed_part(&mut self, value: Def) -> Value {
        let (typed, ty) = (self.typed(value), self.world.ty(value));
        let stored = self.module.part_ty(ty);
        match stored == self.module.ty(ty) {
            true => typed,
            false => {
                let bytes = self.compute("bytes", format!("zext {typed} to {stored}"));
                Value::new(stored, bytes)
            }
        }
    }

    /// Stores a value.
    pub(crate) fn store_to(&mut self, at: &str, value: Def) {
        let ty = self.world.ty(value);
        if let Some(from) = self.large_address(value) {
            return self.copy(at, &from, ty);
        }
        self.store_at(&Value::ptr(at), value);
    }

    /// Stores a value that is not large through a pointer.
    fn store_at(&mut self, at: &Value, value: Def) {
        let align = self.module.align_of(self.world.ty(value));
        let typed = self.typed_part(value);
        self.line(format!("store {typed}, {at}, align {align}"));
    }

    /// The pointee of the pointer that an operation with an effect results in.
    fn pointee(&self, def: Def) -> Ty {
        let ptr = self.world.types.part(self.world.ty(def), 1);
        let pointee = ptr.and_then(|ptr| self.world.types.as_ptr(ptr));
        pointee.map_or(self.world.types.unit(), |(pointee, _)| pointee)
    }

    fn slot(&mut self, def: Def) -> String {
        let ty = self.pointee(def);
        let align = self.module.align_of(ty);
        let text = self.module.part_ty(ty);
        let name = self.world.name(def);
        if self.outlives_its_iteration(def) && self.module.private_space() == 0 {
            return self.compute("slot", format!("alloca {text}, align {align}"));
        }
        self.local(name.as_ref().map_or("slot", |name| name.as_str()), &text, align)
    }

    fn alloc(&mut self, def: Def, count: Def) -> String {
        let array = self.pointee(def);
        let elem = self.world.types.elem(array).unwrap_or(array);
        let size = layout(&self.world.types, elem).size;
        // An allocation of no bytes is null.
        let is_something = size > 0 && self.world.as_lit(count).is_some_and(|count| count > 0);
        let attributes = if is_something { "nonnull " } else { "" };
        let count = self.value(count);
        let bytes = self.compute("bytes", format!("mul i64 {count}, {size}"));
        let args = [Value::new(Type::I32, "0"), Value::new(Type::I64, bytes)];
        self.call_library_with(attributes, "anydsl_alloc", &Type::PTR, &args)
    }

    fn lea(&mut self, ptr: Def, index: Def) -> String {
        let Some((pointee, _)) = self.world.types.lane_ptr(self.world.ty(ptr)) else {
            return self.module.unsupported(self.world.span_of(ptr), "this address");
        };
        let base = self.typed(ptr);
        match self.world.types.elem(pointee) {
            Some(elem)
                if self.world.types.lanes(self.world.ty(ptr)).is_none()
                    && let Some((own, all)) = shared_part(self.world, index) =>
            {
                // The uniform summand is added to the uniform address. The sum may be out of bounds.
                let (elem, all) = (self.module.part_ty(elem), self.value(all));
                let start = self.compute("start", format!("getelementptr {elem}, {base}, i64 {all}"));
                let (own, ptr_ty) = (self.typed(own), self.module.ty_of(ptr));
                self.compute("at", format!("getelementptr {elem}, {ptr_ty} {start}, {own}"))
            }
            Some(elem) => {
                let index_ty = self.same_lanes(self.world.ty(index), Prim::I64);
                let (elem, index) = (self.module.part_ty(elem), self.index(index));
                let inside = if self.accesses.in_function { "" } else { "inbounds " };
                self.compute("at", format!("getelementptr {inside}{elem}, {base}, {index_ty} {index}"))
            }
            None => {
                let (ty, index) = (self.module.ty(pointee), self.value(index));
                let inside = if self.accesses.in_function { "" } else { "inbounds " };
                self.compute("field", format!("getelementptr {inside}{ty}, {base}, i32 0, i32 {index}"))
            }
        }
    }

    /// An index, extended to 64 bits by the signedness of its type.
    pub(crate) fn index(&mut self, index: Def) -> String {
        // GPUs add 64 bits in two steps.
        let depth = if self.module.options.gpu.is_some() { 0 } else { MAX_DEPTH };
        self.wide_sum(index, depth)
    }

    /// An index, extended to 64 bits. A sum that does not overflow is the sum of its extended summands: so LLVM
    /// keeps the invariant ones of a loop in an address, instead of extending each index again.
    fn wide_sum(&mut self, index: Def, depth: u32) -> String {
        if depth > 0
            && let Node::Arith { op: op @ (ArithOp::Add | ArithOp::Sub), flags, lhs, rhs } =
                self.world.node(index)
            && self.world.types.as_prim(self.world.ty(index)) == Some(Prim::I32)
            && !flags.wrap
            && !self.is_checked(index)
        {
            let [lhs, rhs] = [lhs, rhs].map(|summand| self.wide_sum(summand, depth - 1));
            return self.compute("index", format!("{} nsw i64 {lhs}, {rhs}", op.name()));
        }
        let value = self.value(index);
        let prim = self.world.types.lane_prim(self.world.ty(index)).unwrap_or(Prim::I64);
        let is_literal = self.world.as_lit(index).is_some() && prim.is_signed();
        match prim.bits() {
            64 => value,
            _ if is_literal => value,
            _ => {
                let (extend, ty) = (if prim.is_signed() { "sext" } else { "zext" }, self.module.ty_of(index));
                let wide = self.same_lanes(self.world.ty(index), Prim::I64);
                self.compute("index", format!("{extend} {ty} {value} to {wide}"))
            }
        }
    }
}
