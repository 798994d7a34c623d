//! Attributes of pointer parameters: `dereferenceable`, `align`, `noalias`.
//!
//! LLVM does not infer them across functions, unless it inlines. They are inferred here from all calls of a function,
//! if all are known: the function is not exported, and not used as a value.
//!
//! A parameter is dereferenceable and aligned if at every call the argument points to a local variable, to a global
//! of the program, to a part of these, or is a parameter with the same attributes. It is `noalias` if at every call
//! the argument points to a local variable, or is such a parameter, and does not escape: it is only accessed, and
//! passed once per call to functions that do not let it escape.
//!
//! Of memory on the heap only the alignment is known: a callee may release it.

use nyala_ir::analysis::{AddressUse, Function, Functions, address_uses};
use nyala_ir::layout::{layout, offset};
use nyala_ir::{Cont, Def, Linkage, Node, World};
use rustc_hash::{FxHashMap, FxHashSet};

/// The least alignment of memory that the runtime allocates.
pub(super) const HEAP_ALIGN: u64 = 64;

/// What holds for a pointer at every call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fact {
    /// The least number of dereferenceable bytes.
    bytes: u64,
    align: u64,
}

impl Fact {
    const NOTHING: Fact = Fact { bytes: 0, align: 1 };

    fn and(self, other: Fact) -> Fact {
        Fact { bytes: self.bytes.min(other.bytes), align: self.align.min(other.align) }
    }

    /// Of the pointer that is so many bytes behind.
    fn behind(self, bytes: u64) -> Fact {
        let align = if bytes == 0 { self.align } else { self.align.min(1 << bytes.trailing_zeros()) };
        Fact { bytes: self.bytes.saturating_sub(bytes), align }
    }
}

/// The attributes of the parameters of all functions.
#[derive(Default)]
pub(crate) struct Facts {
    /// Pointer parameters that were seen in a call.
    addresses: FxHashMap<Def, Fact>,
    /// Parameters that are `noalias`.
    only: FxHashSet<Def>,
}

impl Facts {
    pub(crate) fn of(world: &World, functions: &Functions) -> Facts {
        let calls = Call::all(world, functions);
        let mut facts = Facts::default();
        facts.find_addresses(world, functions, &calls);
        facts.find_only(world, functions, &calls);
        facts
    }

    /// The attributes in front of the name of a parameter.
    pub(crate) fn attributes(&self, param: Def) -> String {
        let Fact { bytes, align } = self.addresses.get(&param).copied().unwrap_or(Fact::NOTHING);
        let mut text = String::new();
        if self.only.contains(&param) {
            text += " noalias";
        }
        if bytes > 0 {
            text += &format!(" noundef nonnull dereferenceable({bytes})");
        }
        if align > 1 {
            text += &format!(" align {align}");
        }
        text
    }

    /// Iterates over all calls to a fixed point: arguments depend on parameters of the caller.
    fn find_addresses(&mut self, world: &World, functions: &Functions, calls: &[Call]) {
        for function in functions.all().iter().filter(|function| !is_known(world, function)) {
            for &param in &world.cont(function.entry).params {
                self.addresses.insert(param, Fact::NOTHING);
            }
        }
        loop {
            let mut changed = false;
            for call in calls {
                for &(param, arg) in &call.args {
                    let fact = match call.is_nested {
                        true => Some(Fact::NOTHING),
                        false => self.fact(world, functions, arg),
                    };
                    let Some(fact) = fact else { continue };
                    let old = self.addresses.get(&param).copied();
                    let new = old.map_or(fact, |old| old.and(fact));
                    changed |= old != Some(new);
                    self.addresses.insert(param, new);
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// What is known of a pointer; nothing yet if it depends on a parameter that was not seen yet.
    fn fact(&self, world: &World, functions: &Functions, mut address: Def) -> Option<Fact> {
        let mut bytes_behind = 0u64;
        loop {
            let fact = match world.node(address) {
                Node::Param { cont, .. } if functions.get(cont).is_some() => {
                    return self.addresses.get(&address).map(|fact| fact.behind(bytes_behind));
                }
                Node::Global(global) => {
                    let data = world.global(global);
                    let is_ours = matches!(data.linkage, Linkage::Internal | Linkage::Exported(_));
                    let layout = layout(&world.types, data.ty);
                    if is_ours { Fact { bytes: layout.size, align: layout.align } } else { Fact::NOTHING }
                }
                Node::Extract { agg, .. } => match world.node(agg) {
                    Node::Slot { .. } => {
                        let pointee = world.types.as_ptr(world.ty(address)).map(|(pointee, _)| pointee);
                        let layout = pointee.map(|pointee| layout(&world.types, pointee));
                        layout
                            .map_or(Fact::NOTHING, |layout| Fact { bytes: layout.size, align: layout.align })
                    }
                    Node::Alloc { .. } => Fact { bytes: 0, align: HEAP_ALIGN },
                    _ => Fact::NOTHING,
                },
                Node::Lea { ptr, index } => match part_offset(world, ptr, index) {
                    Some(offset) => {
                        bytes_behind = bytes_behind.saturating_add(offset);
                        address = ptr;
                        continue;
                    }
                    None => Fact::NOTHING,
                },
                Node::Hide(from) | Node::Streaming(from) | Node::Bitcast(from) | Node::Cast(from)
                    if world.types.as_ptr(world.ty(from)).is_some() =>
                {
                    address = from;
                    continue;
                }
                _ => Fact::NOTHING,
            };
            return Some(fact.behind(bytes_behind));
        }
    }

    /// Starts with all pointer parameters, and removes those that a call contradicts.
    fn find_only(&mut self, world: &World, functions: &Functions, calls: &[Call]) {
        let kept = kept(world, functions);
        let is_pointer = |param: Def| world.types.as_ptr(world.ty(param)).is_some();
        let params = calls.iter().flat_map(|call| &call.args).map(|&(param, _)| param);
        self.only = params.filter(|&param| is_pointer(param) && !kept.contains(&param)).collect();
        for function in functions.all().iter().filter(|function| !is_known(world, function)) {
            for param in &world.cont(function.entry).params {
                self.only.remove(param);
            }
        }
        loop {
            let before = self.only.len();
            for call in calls {
                let roots: Vec<Option<Def>> = call.args.iter().map(|&(_, arg)| root(world, arg)).collect();
                for (&(param, _), &root) in call.args.iter().zip(&roots) {
                    let is_only = !call.is_nested
                        && root.is_some_and(|root| {
                            let is_own = match world.node(root) {
                                Node::Param { .. } => self.only.contains(&root),
                                _ => !kept.contains(&root),
                            };
                            is_own && roots.iter().filter(|&&other| other == Some(root)).count() == 1
                        });
                    if !is_only {
                        self.only.remove(&param);
                    }
                }
            }
            if self.only.len() == before {
                return;
            }
        }
    }
}

/// A call of a function of the program: its pointer parameters, with their arguments.
struct Call {
    args: Vec<(Def, Def)>,
    /// Whether the caller may use variables of another function, whose frame may be gone.
    is_nested: bool,
}

impl Call {
    fn all(world: &World, functions: &Functions) -> Vec<Call> {
        let mut calls = vec![];
        for function in functions.all() {
            for body in function.bodies(world) {
                let Some(callee) = world.as_cont(body.callee) else { continue };
                let is_block = function.contains(callee) && functions.get(callee).is_none();
                if is_block || world.cont(callee).body.is_none() {
                    continue;
                }
                let params = world.cont(callee).params.iter().copied().zip(body.args.iter().copied());
                let is_pointer = |&(param, _): &(Def, Def)| world.types.as_ptr(world.ty(param)).is_some();
                calls.push(Call {
                    args: params.filter(is_pointer).collect(),
                    is_nested: !function.captures.is_empty(),
                });
            }
        }
        calls
    }
}

/// Whether all calls of a function are known.
pub(super) fn is_known(world: &World, function: &Function) -> bool {
    let is_internal = matches!(world.cont(function.entry).linkage, Linkage::Internal);
    is_internal && !function.is_value && function.captures.is_empty() && !function.is_re_entered
}

/// Variables and pointer parameters that may escape.
fn kept(world: &World, functions: &Functions) -> FxHashSet<Def> {
    let mut kept = FxHashSet::default();
    let mut passed: Vec<(Def, Cont, usize)> = vec![];
    for function in functions.all() {
        for (root, how) in address_uses(world, functions, function) {
            match how {
                AddressUse::Passed { callee, index } => match world.as_cont(callee) {
                    Some(callee) if functions.get(callee).is_some() => passed.push((root, callee, index)),
                    _ => {
                        kept.insert(root);
                    }
                },
                AddressUse::Kept | AddressUse::Captured(_) => {
                    kept.insert(root);
                }
            }
        }
    }
    loop {
        let before = kept.len();
        for &(root, callee, index) in &passed {
            if kept.contains(&world.cont(callee).params[index]) {
                kept.insert(root);
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// The variable or parameter that a pointer is derived from.
fn root(world: &World, mut address: Def) -> Option<Def> {
    loop {
        address = match world.node(address) {
            Node::Slot { .. } | Node::Param { .. } => return Some(address),
            Node::Extract { agg: from, .. }
            | Node::Lea { ptr: from, .. }
            | Node::Hide(from)
            | Node::Streaming(from)
            | Node::Bitcast(from)
            | Node::Cast(from) => from,
            _ => return None,
        };
    }
}

/// The offset of a part, if it is known and small.
fn part_offset(world: &World, ptr: Def, index: Def) -> Option<u64> {
    let (pointee, _) = world.types.as_ptr(world.ty(ptr))?;
    let index = world.as_lit(index)?;
    match world.types.elem(pointee) {
        // Literals from here on are negative as signed bytes.
        Some(_) if index >= 1 << 7 => None,
        _ => Some(offset(&world.types, pointee, index)),
    }
}
