//! Continuations that the compiler itself defines.

use nyala_ir::{Def, Intrinsic, Node, Prim, TyKind};
use nyala_span::Span;

use super::function::FunctionWriter;

impl FunctionWriter<'_, '_> {
    /// Ends a block with a call of an intrinsic.
    pub(crate) fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        match intrinsic {
            Intrinsic::Branch | Intrinsic::Switch | Intrinsic::Unreachable => {
                self.control(intrinsic, args, span)
            }
            Intrinsic::Atomic
            | Intrinsic::AtomicLoad
            | Intrinsic::AtomicStore
            | Intrinsic::CmpXchg
            | Intrinsic::CmpXchgWeak
            | Intrinsic::Fence => self.atomic(intrinsic, args, span),
            Intrinsic::Parallel
            | Intrinsic::Vectorize
            | Intrinsic::Pipeline
            | Intrinsic::Spawn
            | Intrinsic::Sync => self.region(intrinsic, args, span),
            Intrinsic::ReserveShared if self.module.options.gpu.is_some() => self.reserve_shared(args),
            // It has said what it knows at compile time.
            Intrinsic::PeInfo => match self.return_arg(args) {
                Some(ret) => self.go_on(ret, &[]),
                None => self.line("unreachable"),
            },
            other => {
                self.module.unsupported(span, format!("`{}`", other.name()));
                self.line("unreachable");
            }
        }
    }

    fn atomic(&mut self, intrinsic: Intrinsic, args: &[Def], span: Span) {
        let Some(ret) = self.return_arg(args) else { return self.line("unreachable") };
        let args = &args[1..args.len() - 1];
        let values = match (intrinsic, args) {
            (Intrinsic::Atomic, [op, addr, value, rest @ ..]) => {
                self.read_modify_write(*op, *addr, *value, rest, span)
            }
            (Intrinsic::AtomicLoad, [addr, rest @ ..]) => {
                let addr_ty = self.world.types.as_ptr(self.world.ty(*addr)).map(|(pointee, _)| pointee);
                let pointee = addr_ty.unwrap_or(self.world.types.unit());
                let (ty, align) = (self.module.ty(pointee), self.module.align_of(pointee));
                let (at, scope, order) = (self.typed(*addr), self.scope(rest), self.order(rest, 0, span));
                vec![self.compute("load", format!("load atomic {ty}, {at} {scope}{order}, align {align}"))]
            }
            (Intrinsic::AtomicStore, [addr, value, rest @ ..]) => {
                let (at, typed) = (self.typed(*addr), self.typed(*value));
                let align = self.module.align_of(self.world.ty(*value));
                let (scope, order) = (self.scope(rest), self.order(rest, 0, span));
                self.line(format!("store atomic {typed}, {at} {scope}{order}, align {align}"));
                vec![]
            }
            (Intrinsic::Fence, rest) => {
                let (scope, order) = (self.scope(rest), self.order(rest, 0, span));
                self.line(format!("fence {scope}{order}"));
                vec![]
            }
            (_, [addr, expected, new, rest @ ..]) => {
                let weak = if intrinsic == Intrinsic::CmpXchgWeak { "weak " } else { "" };
                let (at, expected, new) = (self.typed(*addr), self.typed(*expected), self.typed(*new));
                let scope = self.scope(rest);
                let (success, failure) = (self.order(rest, 0, span), self.order(rest, 1, span));
                let text = format!("cmpxchg {weak}{at}, {expected}, {new} {scope}{success} {failure}");
                let both = self.compute("exchanged", text);
                let ty = self.module.ty_of(args[1]);
                self.split_results(&format!("{{ {ty}, i1 }}"), both, 2)
            }
            _ => vec![self.module.unsupported(span, format!("this form of `{}`", intrinsic.name()))],
        };
        self.go_on(ret, &values);
    }

    fn read_modify_write(&mut self, op: Def, addr: Def, value: Def, rest: &[Def], span: Span) -> Vec<String> {
        const OPS: [&str; 13] =
            ["xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "fadd", "fsub"];
        let is_float = match self.world.types.kind(self.world.ty(value)) {
            TyKind::Prim(prim) => prim.is_float(),
            _ => false,
        };
        let op = self.world.as_lit(op).and_then(|op| OPS.get(op as usize)).copied();
        let op = match op {
            // A number is added as what it is.
            Some("add") if is_float => "fadd",
            Some("sub") if is_float => "fsub",
            Some(op) => op,
            None => return vec![self.module.unsupported(span, "an atomic operation that is not known")],
        };
        let (at, value) = (self.typed(addr), self.typed(value));
        let (scope, order) = (self.scope(rest), self.order(rest, 0, span));
        vec![self.compute("old", format!("atomicrmw {op} {at}, {value} {scope}{order}"))]
    }

    /// Among whom an atomic operation is one: the text that ends it, if it is the name of
    /// a scope. On the host there is one scope.
    fn scope(&mut self, rest: &[Def]) -> String {
        let text = rest.last().and_then(|&text| self.text_of(text)).unwrap_or_default();
        match self.module.options.gpu {
            Some(_) if !text.is_empty() => format!("syncscope(\"{text}\") "),
            _ => String::new(),
        }
    }

    /// The text at a constant address, up to its zero.
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

    /// Order number `at` of the orders and the scope that end an atomic operation;
    /// without them it is sequentially consistent.
    fn order(&mut self, rest: &[Def], at: usize, span: Span) -> String {
        let prim = |def: Def| self.world.types.as_prim(self.world.ty(def));
        let Some(&order) = rest.get(at).filter(|&&order| prim(order) == Some(Prim::U32)) else {
            return "seq_cst".into();
        };
        match self.world.as_lit(order) {
            Some(1) => "unordered".into(),
            Some(2) => "monotonic".into(),
            Some(4) => "acquire".into(),
            Some(5) => "release".into(),
            Some(6) => "acq_rel".into(),
            Some(7) => "seq_cst".into(),
            _ => self.module.unsupported(span, "this memory order"),
        }
    }
}
