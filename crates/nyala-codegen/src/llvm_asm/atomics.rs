//! Atomic operations. Their intrinsics take the operation and the memory order as numbers.

use nyala_ir::{Def, Intrinsic, Node, Prim, TyKind};
use nyala_span::Span;

use super::function::FunctionWriter;
use super::value::Type;
use crate::errors::CodegenError;

/// Operations by number: in LLVM, and in the language.
const OPERATIONS: [(&str, &str); 13] = [
    ("xchg", "exchange"),
    ("add", "add"),
    ("sub", "sub"),
    ("and", "and"),
    ("nand", "nand"),
    ("or", "or"),
    ("xor", "xor"),
    ("max", "signed max"),
    ("min", "signed min"),
    ("umax", "unsigned max"),
    ("umin", "unsigned min"),
    ("fadd", "float add"),
    ("fsub", "float sub"),
];

/// Memory orders: the number, in LLVM, and in the language.
const ORDERS: [(u64, &str, &str); 6] = [
    (1, "unordered", "unordered"),
    (2, "monotonic", "relaxed"),
    (4, "acquire", "acquire"),
    (5, "release", "release"),
    (6, "acq_rel", "acquire-release"),
    (7, "seq_cst", "sequentially consistent"),
];

/// The valid orders of each kind of operation.
const OF_LOADS: &[u64] = &[1, 2, 4, 7];
const OF_STORES: &[u64] = &[1, 2, 5, 7];
const OF_FENCES: &[u64] = &[4, 5, 6, 7];
const OF_UPDATES: &[u64] = &[2, 4, 5, 6, 7];
/// Of a compare-and-exchange that fails: a load.
const OF_FAILURES: &[u64] = &[2, 4, 7];

impl FunctionWriter<'_, '_> {
    /// Writes an atomic operation; gives its results.
    pub(crate) fn atomic(&mut self, intrinsic: Intrinsic, args: &[Def]) -> Vec<String> {
        let span = self.flow.span();
        match (intrinsic, args) {
            (Intrinsic::Atomic, [op, addr, value, rest @ ..]) => {
                self.read_modify_write(*op, *addr, *value, rest, span)
            }
            (Intrinsic::AtomicLoad, [addr, rest @ ..]) => {
                let addr_ty = self.world.types.as_ptr(self.world.ty(*addr)).map(|(pointee, _)| pointee);
                let pointee = addr_ty.unwrap_or(self.world.types.unit());
                let (ty, align) = (self.module.ty(pointee), self.module.align_of(pointee));
                let (at, scope, order) =
                    (self.typed(*addr), self.scope(rest), self.order(rest, 0, OF_LOADS, span));
                vec![self.compute("load", format!("load atomic {ty}, {at} {scope}{order}, align {align}"))]
            }
            (Intrinsic::AtomicStore, [addr, value, rest @ ..]) => {
                let (at, typed) = (self.typed(*addr), self.typed(*value));
                let align = self.module.align_of(self.world.ty(*value));
                let (scope, order) = (self.scope(rest), self.order(rest, 0, OF_STORES, span));
                self.line(format!("store atomic {typed}, {at} {scope}{order}, align {align}"));
                vec![]
            }
            (Intrinsic::Fence, rest) => {
                let (scope, order) = (self.scope(rest), self.order(rest, 0, OF_FENCES, span));
                self.line(format!("fence {scope}{order}"));
                vec![]
            }
            (_, [addr, expected, new, rest @ ..]) => {
                let weak = if intrinsic == Intrinsic::CmpXchgWeak { "weak " } else { "" };
                let (at, expected, new) = (self.typed(*addr), self.typed(*expected), self.typed(*new));
                let scope = self.scope(rest);
                let success = self.order(rest, 0, OF_UPDATES, span);
                let failure = self.order(rest, 1, OF_FAILURES, span);
                let text = format!("cmpxchg {weak}{at}, {expected}, {new} {scope}{success} {failure}");
                let both = self.compute("exchanged", text);
                let ty = self.module.ty_of(args[1]);
                self.split_results(&Type::structure(&[ty, Type::BOOL]), both, 2)
            }
            _ => vec![self.module.unsupported(span, format!("this form of `{}`", intrinsic.name()))],
        }
    }

    fn read_modify_write(&mut self, op: Def, addr: Def, value: Def, rest: &[Def], span: Span) -> Vec<String> {
        let is_float = match self.world.types.kind(self.world.ty(value)) {
            TyKind::Prim(prim) => prim.is_float(),
            _ => false,
        };
        let number = self.world.as_lit(op);
        let known = number.and_then(|op| OPERATIONS.get(usize::try_from(op).ok()?));
        let op = match known {
            // The type decides between integer and float addition.
            Some(("add", _)) if is_float => "fadd",
            Some(("sub", _)) if is_float => "fsub",
            Some((op, _)) => op,
            None => {
                let names =
                    OPERATIONS.iter().enumerate().map(|(number, (_, name))| format!("{number} {name}"));
                return vec![self.wrong_argument("operation of `atomic`", number, names, span)];
            }
        };
        let (at, value) = (self.typed(addr), self.typed(value));
        let (scope, order) = (self.scope(rest), self.order(rest, 0, OF_UPDATES, span));
        vec![self.compute("old", format!("atomicrmw {op} {at}, {value} {scope}{order}"))]
    }

    /// The synchronization scope of an atomic operation: its last argument, if that is the name of one. The host
    /// has one scope.
    fn scope(&mut self, rest: &[Def]) -> String {
        let text = rest.last().and_then(|&text| self.text_of(text)).unwrap_or_default();
        match self.module.options.gpu {
            Some(_) if !text.is_empty() => format!("syncscope(\"{text}\") "),
            _ => String::new(),
        }
    }

    /// The string at a constant address, without its zero.
    fn text_of(&self, address: Def) -> Option<String> {
        let mut address = address;
        while let Node::Bitcast(from) = self.world.node(address) {
            address = from;
        }
        let Node::Global(global) = self.world.node(address) else { return None };
        let Node::Aggregate(letters) = self.world.node(self.world.global(global).init?) else { return None };
        let letters = self.world.list(letters).iter().map(|&letter| self.world.as_lit(letter));
        letters
            .take_while(|&letter| letter != Some(0))
            .map(|letter| letter.map(|bits| bits as u8 as char))
            .collect()
    }

    /// Order number `at` among the last arguments of an atomic operation; without it, the order is sequentially
    /// consistent.
    fn order(&mut self, rest: &[Def], at: usize, allowed: &[u64], span: Span) -> String {
        let prim = |def: Def| self.world.types.as_prim(self.world.ty(def));
        let Some(&order) = rest.get(at).filter(|&&order| prim(order) == Some(Prim::U32)) else {
            return "seq_cst".into();
        };
        let number = self.world.as_lit(order);
        let mut known = ORDERS.iter().filter(|(number, ..)| allowed.contains(number));
        match known.clone().find(|(known, ..)| Some(*known) == number) {
            Some((_, order, _)) => (*order).into(),
            None => {
                let names = known.by_ref().map(|(number, _, name)| format!("{number} {name}"));
                self.wrong_argument("memory order of this operation", number, names, span)
            }
        }
    }

    /// Reports an argument that is not one of the valid literals.
    fn wrong_argument(
        &mut self,
        what: &str,
        found: Option<u64>,
        allowed: impl Iterator<Item = String>,
        at: Span,
    ) -> String {
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        self.module.errors.push(CodegenError::Argument { at, what: what.into(), found, allowed });
        "poison".into()
    }
}
