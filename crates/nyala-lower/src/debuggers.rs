//! Debug information for variables: which value a variable has from here on.
//!
//! Most values are named after their variables (see `frame`). Constants and the values of other variables cannot
//! be. The parameters of a loop's body are values of the generator's variables once the body is inlined. And an
//! operation is computed where its value is used, which may be later.

use nyala_ir::layout::layout;
use nyala_ir::{Def, Node, Ty, TyKind};
use nyala_sema::tree::{Local, LocalId};
use nyala_span::Name;

use crate::lowerer::Lowerer;

impl Lowerer<'_> {
    /// Records for debuggers that a variable has this value from here on.
    pub(crate) fn tell_debuggers(&mut self, name: Name, value: Def) {
        let ty = self.world.ty(value);
        if !self.options.tell_debuggers || !self.is_small_data(ty) {
            return;
        }
        let variable = match self.for_debuggers.get(&(name, ty)) {
            Some(&variable) => variable,
            None => {
                let variable = self.world.new_global_for_debuggers(name, ty);
                self.for_debuggers.insert((name, ty), variable);
                variable
            }
        };
        self.store(variable, value);
    }

    /// As [`Lowerer::tell_debuggers`], for a variable of the user: those of libraries are not shown in the user's
    /// loops.
    pub(crate) fn tell_debuggers_of(&mut self, local: LocalId, value: Def) {
        let Local { name, span, .. } = self.program.locals[local];
        if self.options.tell_debuggers && !name.is_underscore() && !self.program.is_foreign(span) {
            self.tell_debuggers(name, value);
        }
    }

    /// Whether a value is a tuple, struct or array of constants and parameters. The program may use only its
    /// parts, and then its name would be lost. No code is generated for debuggers.
    pub(crate) fn is_made_of_known_parts(&self, value: Def) -> bool {
        let Node::Aggregate(parts) = self.world.node(value) else { return false };
        self.options.tell_debuggers
            && self.world.list(parts).iter().all(|&part| match self.world.node(part) {
                Node::Lit(_) | Node::Param { .. } => true,
                _ => self.is_made_of_known_parts(part),
            })
    }

    /// Whether debuggers can show it in one line.
    fn is_small_data(&self, ty: Ty) -> bool {
        const MAX_BYTES: u64 = 64;
        let types = &self.world.types;
        let mut parts = vec![ty];
        while let Some(ty) = parts.pop() {
            match types.kind(ty) {
                TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Simd { .. } => {}
                TyKind::Array { elem, .. } => parts.push(*elem),
                TyKind::Tuple(_) | TyKind::Struct(_) => {
                    let count = types.part_count(ty).unwrap_or(0);
                    parts.extend((0..count).filter_map(|index| types.part(ty, index)));
                }
                TyKind::Enum(_) | TyKind::Cn(_) | TyKind::Mem | TyKind::Slice(_) => return false,
            }
        }
        layout(types, ty).size <= MAX_BYTES
    }
}
