//! Rebuilds a node with other operands.
//!
//! Rewrites use the factories, so newly constant operations fold.

use crate::node::{Def, Node};
use crate::types::{Ty, TyKind};
use crate::world::World;

impl World {
    /// `def` with `operands` in place of its own, simplified. Nodes without
    /// operands are themselves. An effect that simplifies away gives the tuple of
    /// its parts, so that taking it apart gives those.
    pub fn rebuild(&mut self, def: Def, operands: &[Def]) -> Def {
        match self.node(def) {
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => def,
            node => self.rebuild_as(node, self.ty(def), operands),
        }
    }

    /// As [`World::rebuild`], with the place and the name of `def`; itself if it has these operands.
    pub fn replace_operands(&mut self, def: Def, operands: &[Def]) -> Def {
        let mut expected = operands.iter();
        let mut is_same = true;
        self.for_each_operand(def, |operand| is_same &= expected.next() == Some(&operand));
        if is_same {
            return def;
        }
        self.span = self.span_of(def);
        let new = self.rebuild(def, operands);
        if let Some(name) = self.name(def)
            && self.name(new).is_none()
        {
            self.set_name(new, name);
        }
        new
    }

    /// As [`World::rebuild`], for a node of another world with the same types (see
    /// [`World::with_types_of`]) that is no continuation, parameter or global.
    pub fn rebuild_as(&mut self, node: Node, ty: Ty, operands: &[Def]) -> Def {
        match (node, operands) {
            (Node::Lit(_) | Node::Undef, []) => self.intern(node, ty),
            (Node::Arith { op, flags, .. }, &[lhs, rhs]) => self.arith(op, flags, lhs, rhs),
            (Node::Cmp { op, .. }, &[lhs, rhs]) => self.cmp(op, lhs, rhs),
            (Node::Math { op, flags, .. }, args) => self.math(op, flags, args),
            (Node::Cast(_), &[value]) => self.cast(ty, value),
            (Node::Bitcast(_), &[value]) => self.bitcast(ty, value),
            (Node::Select { .. }, &[cond, then, other]) => self.select(cond, then, other),
            (Node::Aggregate(_), parts) => self.aggregate(ty, parts),
            (Node::Extract { .. }, &[agg, index]) => self.extract(agg, index),
            (Node::Insert { .. }, &[agg, index, value]) => self.insert(agg, index, value),
            (Node::Variant { option, .. }, &[payload]) => self.variant(ty, option, payload),
            (Node::VariantTag(_), &[value]) => self.variant_tag(value),
            (Node::VariantPayload { option, .. }, &[value]) => self.variant_payload(option, value),
            (Node::SizeOf(of), []) => self.size_of(ty, of),
            (Node::AlignOf(of), []) => self.align_of(ty, of),
            (Node::Known(_), &[value]) => self.known(value),
            (Node::Hide(_), &[value]) => self.hide(value),
            (Node::Mark { mark, .. }, &[callee]) => self.mark(mark, callee),
            (Node::Streaming(_), &[ptr]) => self.streaming(ptr),
            (Node::Lanes { op, .. }, args) => self.lanes(op, args),
            (Node::Lea { .. }, &[ptr, index]) => self.lea(ptr, index),
            _ => self.rebuild_effect(node, ty, operands),
        }
    }

    fn rebuild_effect(&mut self, node: Node, ty: Ty, operands: &[Def]) -> Def {
        let result = self.types.part(ty, 1);
        match (node, operands) {
            (Node::Store { .. }, &[mem, ptr, value]) => self.store(mem, ptr, value),
            (Node::Demand { .. }, &[mem, value]) => self.demand(mem, value),
            (Node::Load { .. }, &[mem, ptr]) => {
                let (mem, value) = self.load(mem, ptr);
                self.rejoin(&[mem, value])
            }
            (Node::LoadLanes { .. }, &[mem, ptr, mask]) => {
                let (mem, value) = self.load_lanes(mem, ptr, mask);
                self.rejoin(&[mem, value])
            }
            (Node::StoreLanes { .. }, &[mem, ptr, mask, value]) => self.store_lanes(mem, ptr, mask, value),
            (Node::Slot { .. }, &[mem]) => {
                let (pointee, _) =
                    result.and_then(|ty| self.types.as_ptr(ty)).expect("a slot gives a pointer");
                let (mem, ptr) = self.slot(mem, pointee);
                self.rejoin(&[mem, ptr])
            }
            (Node::Alloc { .. }, &[mem, count]) => {
                let (slice, _) = result.and_then(|ty| self.types.as_ptr(ty)).expect("alloc gives a pointer");
                let elem = self.types.elem(slice).expect("alloc gives a pointer to elements");
                let (mem, ptr) = self.alloc(mem, elem, count);
                self.rejoin(&[mem, ptr])
            }
            (Node::Asm { asm, .. }, &[mem, ref inputs @ ..]) => {
                let outputs: Vec<_> = match self.types.kind(ty) {
                    TyKind::Tuple(parts) => parts[1..].to_vec(),
                    _ => vec![],
                };
                let (mem, results) = self.asm(mem, self.asm_data(asm).clone(), inputs, &outputs);
                let parts: Vec<Def> = std::iter::once(mem).chain(results).collect();
                self.rejoin(&parts)
            }
            (node, _) => panic!("{node:?} does not have {} operands", operands.len()),
        }
    }
    /// The aggregate that `parts` were all extracted from, or else a tuple of them.
    fn rejoin(&mut self, parts: &[Def]) -> Def {
        let source = |part: Def| match self.node(part) {
            Node::Extract { agg, .. } => Some(agg),
            _ => None,
        };
        let first = source(parts[0]);
        match first.filter(|_| parts.iter().all(|&part| source(part) == first)) {
            Some(agg) => agg,
            None => self.tuple(parts),
        }
    }
}
