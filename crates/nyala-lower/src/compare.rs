//! `compare[T](&T, &T) -> bool`: structural equality of the targets of two pointers.
//!
//! One continuation `cn(mem, &T, &T, cn(mem, bool))` for each type: it compares
//! the parts in order and stops at the first difference.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Cont, Def, EnumId, Prim, Ty, TyKind};
use nyala_sema::tree::Function;
use nyala_span::Name;

use crate::lowerer::Lowerer;

/// A comparison under construction.
#[derive(Clone, Copy)]
struct Comparison {
    a: Def,
    b: Def,
    ret: Def,
    block: Cont,
    mem: Def,
}

impl Lowerer<'_> {
    /// The intrinsic `compare`, whose instance is the frame's for now.
    pub(crate) fn compare_intrinsic(&mut self, function: &Function, symbol: Name) -> Def {
        let tys: Vec<Ty> = function.params.iter().map(|param| self.ty(param.ty)).collect();
        match tys[..] {
            [a, b] if a == b && function.ret == self.types.bool() && self.world.types.as_ptr(a).is_some() => {
                self.comparer_of(a)
            }
            _ => self.wrong_shape(function, symbol, &["compare[T](&T, &T) -> bool"]),
        }
    }

    /// The function that compares the targets of two pointers of type `ptr`.
    pub(crate) fn comparer_of(&mut self, ptr: Ty) -> Def {
        let mut queue = vec![];
        let def = self.comparer(ptr, &mut queue);
        while let Some(cont) = queue.pop() {
            self.comparer_body(cont, &mut queue);
        }
        def
    }

    /// As [`Lowerer::comparer_of`]; new functions are in `queue`, without a body.
    fn comparer(&mut self, ptr: Ty, queue: &mut Vec<Cont>) -> Def {
        if let Some(&def) = self.helpers.comparers.get(&ptr) {
            return def;
        }
        let (mem, bool) = (self.world.types.mem(), self.world.types.bool());
        let ret = self.world.types.cn(&[mem, bool]);
        let cont = self.world.new_cont("compare", &[mem, ptr, ptr, ret]);
        let def = self.world.cont_def(cont);
        self.helpers.comparers.insert(ptr, def);
        queue.push(cont);
        def
    }

    fn comparer_body(&mut self, cont: Cont, queue: &mut Vec<Cont>) {
        let [mem, a, b, ret] = self.world.cont(cont).params[..] else {
            unreachable!("comparing functions have four parameters");
        };
        let at = Comparison { a, b, ret, block: cont, mem };
        let (ty, _) = self.world.types.as_ptr(self.world.ty(a)).expect("they compare behind pointers");
        match self.world.types.kind(ty).clone() {
            TyKind::Tuple(parts) => self.compare_parts(at, parts.len(), queue),
            TyKind::Struct(id) => {
                let n_fields = self.world.types.structs[id].fields.len();
                self.compare_parts(at, n_fields, queue);
            }
            TyKind::Array { len, .. } => self.compare_elements(at, len, queue),
            TyKind::Enum(id) => self.compare_options(at, id, queue),
            _ => self.compare_scalars(at),
        }
    }

    /// Ends with the result.
    fn compared(&mut self, at: Comparison, equal: Def) {
        self.world.set_body(at.block, at.ret, [at.mem, equal]);
    }

    /// Ends with "equal".
    fn all_compared(&mut self, at: Comparison) {
        let yes = self.world.lit_bool(true);
        self.compared(at, yes);
    }

    /// Loads both sides.
    fn load_both(&mut self, at: &mut Comparison) -> (Def, Def) {
        let (mem, a) = self.world.load(at.mem, at.a);
        let (mem, b) = self.world.load(mem, at.b);
        at.mem = mem;
        (a, b)
    }

    fn compare_scalars(&mut self, mut at: Comparison) {
        let (a, b) = self.load_both(&mut at);
        let equal = self.scalars_equal(a, b);
        self.compared(at, equal);
    }

    /// Whether numbers, pointers or simd values are equal. Functions never are.
    pub(crate) fn scalars_equal(&mut self, a: Def, b: Def) -> Def {
        match *self.world.types.kind(self.world.ty(a)) {
            TyKind::Cn(_) => self.world.lit_bool(false),
            TyKind::Simd { lanes, .. } => {
                let equal = self.world.cmp(CmpOp::Eq, a, b);
                let first = self.world.extract_at(equal, 0);
                (1..lanes).fold(first, |all, lane| {
                    let lane = self.world.extract_at(equal, lane);
                    self.world.arith(ArithOp::And, ArithFlags::STRICT, all, lane)
                })
            }
            _ => self.world.cmp(CmpOp::Eq, a, b),
        }
    }

    /// Continues in a new block if `cond` holds, else ends with "different".
    fn go_on_if(&mut self, at: Comparison, cond: Def) -> Comparison {
        let (differ, equal) = (self.new_block("differ", &[]), self.new_block("equal", &[]));
        let (differ_def, equal_def) = (self.world.cont_def(differ), self.world.cont_def(equal));
        self.world.set_branch(at.block, at.mem, cond, equal_def, differ_def);
        let no = self.world.lit_bool(false);
        self.compared(Comparison { block: differ, mem: self.world.param(differ, 0), ..at }, no);
        Comparison { block: equal, mem: self.world.param(equal, 0), ..at }
    }

    /// Compares the targets of `a` and `b`, and continues if they are equal.
    fn compare_part(&mut self, at: Comparison, a: Def, b: Def, queue: &mut Vec<Cont>) -> Comparison {
        let callee = self.comparer(self.world.ty(a), queue);
        let bool = self.world.types.bool();
        let result = self.new_block("compared", &[bool]);
        let result_def = self.world.cont_def(result);
        self.world.set_body(at.block, callee, [at.mem, a, b, result_def]);
        let at = Comparison { block: result, mem: self.world.param(result, 0), ..at };
        let equal = self.world.param(result, 1);
        self.go_on_if(at, equal)
    }

    fn compare_parts(&mut self, mut at: Comparison, n_parts: usize, queue: &mut Vec<Cont>) {
        for i in 0..n_parts {
            let index = self.world.lit_u32(i as u32);
            let (a, b) = (self.world.lea(at.a, index), self.world.lea(at.b, index));
            at = self.compare_part(at, a, b, queue);
        }
        self.all_compared(at);
    }

    /// Elements of an array, in a loop.
    fn compare_elements(&mut self, at: Comparison, len: u64, queue: &mut Vec<Cont>) {
        let i64 = self.world.types.prim(Prim::I64);
        let head = self.new_block("compare_head", &[i64]);
        let (body, exit) = (self.new_block("compare_elem", &[]), self.new_block("compare_exit", &[]));
        let (head_def, zero) = (self.world.cont_def(head), self.world.lit_i64(0));
        self.world.set_body(at.block, head_def, [at.mem, zero]);

        let (mem, i) = (self.world.param(head, 0), self.world.param(head, 1));
        let end = self.world.lit(Prim::I64, len);
        let more = self.world.cmp(CmpOp::Lt, i, end);
        let (body_def, exit_def) = (self.world.cont_def(body), self.world.cont_def(exit));
        self.world.set_branch(head, mem, more, body_def, exit_def);
        self.all_compared(Comparison { block: exit, mem: self.world.param(exit, 0), ..at });

        let (a, b) = (self.world.lea(at.a, i), self.world.lea(at.b, i));
        let in_body = Comparison { block: body, mem: self.world.param(body, 0), ..at };
        let next = self.compare_part(in_body, a, b, queue);
        let one = self.world.lit_i64(1);
        let i = self.world.arith(ArithOp::Add, ArithFlags::STRICT, i, one);
        self.world.set_body(next.block, head_def, [next.mem, i]);
    }

    /// The tag, then the payload of that option.
    fn compare_options(&mut self, mut at: Comparison, id: EnumId, queue: &mut Vec<Cont>) {
        let (a, b) = self.load_both(&mut at);
        let (tag_a, tag_b) = (self.world.variant_tag(a), self.world.variant_tag(b));
        let same = self.world.cmp(CmpOp::Eq, tag_a, tag_b);
        let at = self.go_on_if(at, same);
        let unit = self.world.types.unit();
        let payloads: Vec<Ty> =
            self.world.types.enums[id].options.iter().map(|option| option.payload).collect();
        let mut cases = vec![];
        for (option, &payload) in (0..).zip(&payloads) {
            if payload == unit {
                continue;
            }
            let block = self.new_block("compare_option", &[]);
            cases.push((self.world.lit_u32(option), self.world.cont_def(block)));
            let in_option = Comparison { block, mem: self.world.param(block, 0), ..at };
            self.compare_payloads(in_option, option, (a, b), queue);
        }
        if cases.is_empty() {
            return self.all_compared(at);
        }
        let plain = self.new_block("compare_tags", &[]);
        self.all_compared(Comparison { block: plain, mem: self.world.param(plain, 0), ..at });
        let plain = self.world.cont_def(plain);
        self.world.set_switch(at.block, at.mem, tag_a, plain, &cases);
    }

    /// Payloads have no address of their own: they are stored to be compared.
    fn compare_payloads(
        &mut self,
        mut at: Comparison,
        option: u32,
        values: (Def, Def),
        queue: &mut Vec<Cont>,
    ) {
        let store = |this: &mut Self, mem: Def, value: Def| {
            let payload = this.world.variant_payload(option, value);
            let (mem, slot) = this.world.slot(mem, this.world.ty(payload));
            (this.world.store(mem, slot, payload), slot)
        };
        let (mem, a) = store(self, at.mem, values.0);
        let (mem, b) = store(self, mem, values.1);
        at.mem = mem;
        let at = self.compare_part(at, a, b, queue);
        self.all_compared(at);
    }
}
