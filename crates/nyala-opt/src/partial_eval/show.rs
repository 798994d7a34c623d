//! Values as source text.
//!
//! Reports show arguments and filters as in the source: `n + 1`,
//! `?n & (n < 10)`, `|i| ..`. Large values are abbreviated, so the length of a text is bounded.

use nyala_ir::types::{Ty, TyKind};
use nyala_ir::{Cont, Def, Linkage, Node, Prim, World, eval};
use nyala_span::Name;

/// Deeper operands are shown as `..`.
const MAX_DEPTH: u32 = 5;
/// Longer lists are abbreviated.
const MAX_PARTS: usize = 6;
/// A longer text is abbreviated.
const MAX_BYTES: usize = 60;

/// Facts that are not in the graph.
pub(super) trait Context {
    /// The names and values that a continuation captures.
    fn captured(&self, cont: Cont) -> Vec<(Option<Name>, Def)>;
    /// The function whose return continuation is `cont`.
    fn result_of(&self, cont: Cont) -> Option<Name>;
}

/// The text of a value.
pub(super) fn value(world: &World, def: Def, context: &dyn Context) -> String {
    let mut shower = Shower { world, context, out: String::new() };
    shower.expr(def, 0, false);
    shower.out
}

/// A string constant.
pub(super) fn string(world: &World, def: Def) -> Option<String> {
    let mut at = def;
    loop {
        at = match world.node(at) {
            Node::Bitcast(inner) | Node::Cast(inner) => inner,
            Node::Lea { ptr, index } if world.as_lit(index) == Some(0) => ptr,
            _ => break,
        };
    }
    let Node::Global(global) = world.node(at) else { return None };
    text(world, world.global(global).init?)
}

/// Whether bytes end with 0 and begin with a printable character.
fn is_string(world: &World, parts: &[Def]) -> bool {
    let byte = |part: Option<&Def>| part.and_then(|&part| world.as_lit(part));
    byte(parts.last()) == Some(0) && byte(parts.first()).is_some_and(|first| first >= 0x20)
}

/// An array of bytes as text.
fn text(world: &World, array: Def) -> Option<String> {
    let Node::Aggregate(parts) = world.node(array) else { return None };
    let is_text = match world.types.kind(world.ty(array)) {
        &TyKind::Array { elem, .. } => *world.types.kind(elem) == TyKind::Prim(Prim::U8),
        _ => false,
    };
    if !is_text {
        return None;
    }
    let bytes = world.list(parts).iter().map(|&part| Some(world.as_lit(part)? as u8));
    let mut bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

struct Shower<'a> {
    world: &'a World,
    context: &'a dyn Context,
    out: String,
}

impl Shower<'_> {
    /// Writes `def`, in parentheses if it is an operator and an operand.
    fn expr(&mut self, def: Def, depth: u32, is_operand: bool) {
        if depth > MAX_DEPTH || self.out.len() > MAX_BYTES {
            self.out += "..";
            return;
        }
        let world = self.world;
        match world.node(def) {
            Node::Lit(bits) => self.literal(def, bits),
            Node::Cont(cont) => self.function(cont, depth),
            Node::Param { cont, .. } => match world.name(def) {
                Some(name) => self.out += name.as_str(),
                None => match self.context.result_of(cont) {
                    Some(name) => self.out += &format!("{name}(..)"),
                    None => self.out += "<value>",
                },
            },
            Node::Global(global) => match string(world, def) {
                Some(text) => self.out += &format!("{text:?}"),
                None => self.out += &format!("&{}", world.global(global).name),
            },
            Node::Arith { op, lhs, rhs, .. } => self.binary(op.sign(), lhs, rhs, depth, is_operand),
            Node::Cmp { op, lhs, rhs } => self.binary(op.sign(), lhs, rhs, depth, is_operand),
            Node::Known(value) => self.prefix("?", value, depth),
            Node::Hide(value) => self.prefix("$", value, depth),
            Node::Mark { callee, .. } => self.expr(callee, depth + 1, is_operand),
            Node::Cast(value) | Node::Bitcast(value) => self.expr(value, depth + 1, is_operand),
            Node::Extract { agg, index } => self.extract(agg, index, depth),
            Node::Aggregate(parts) => self.aggregate(def, world.list(parts), depth),
            Node::Math { op, args, .. } => {
                self.out += op.name();
                let args = world.list(args).to_vec();
                self.list("(", &args, ")", depth);
            }
            Node::Select { cond, then, other } => self.select(cond, then, other, depth),
            Node::Lea { .. } => {
                self.out += "&";
                self.place(def, depth);
            }
            Node::Variant { option, payload } => self.option(def, option, payload, depth),
            Node::Load { ptr, .. } => self.place(ptr, depth),
            Node::Slot { .. } => self.out += "<variable>",
            Node::Alloc { .. } => self.out += "<allocation>",
            Node::Undef => self.out += "<undefined>",
            _ => self.out += "<value>",
        }
    }

    fn aggregate(&mut self, def: Def, parts: &[Def], depth: u32) {
        let world = self.world;
        match world.types.kind(world.ty(def)) {
            TyKind::Array { .. } => match text(world, def).filter(|_| is_string(world, parts)) {
                Some(text) => self.out += &format!("{text:?}"),
                None => self.list("[", parts, "]", depth),
            },
            TyKind::Struct(id) => {
                self.out += world.types.structs[*id].name.as_str();
                self.list(" { ", parts, " }", depth);
            }
            _ => self.list("(", parts, ")", depth),
        }
    }

    fn select(&mut self, cond: Def, then: Def, other: Def, depth: u32) {
        self.out += "if ";
        self.expr(cond, depth + 1, false);
        self.out += " { ";
        self.expr(then, depth + 1, false);
        self.out += " } else { ";
        self.expr(other, depth + 1, false);
        self.out += " }";
    }

    /// The place that a pointer refers to.
    fn place(&mut self, ptr: Def, depth: u32) {
        match self.world.node(ptr) {
            Node::Global(global) => self.out += self.world.global(global).name.as_str(),
            Node::Lea { ptr: whole, index } => {
                match self.world.node(whole) {
                    Node::Global(_) | Node::Lea { .. } if depth <= MAX_DEPTH => self.place(whole, depth + 1),
                    _ => self.expr(whole, depth + 1, true),
                }
                let pointee = self.world.types.as_ptr(self.world.ty(whole)).map(|(pointee, _)| pointee);
                self.part(pointee, index, depth);
            }
            _ => self.prefix("*", ptr, depth),
        }
    }

    fn prefix(&mut self, operator: &str, value: Def, depth: u32) {
        self.out += operator;
        self.expr(value, depth + 1, true);
    }

    fn binary(&mut self, operator: &str, lhs: Def, rhs: Def, depth: u32, is_operand: bool) {
        if is_operand {
            self.out += "(";
        }
        self.expr(lhs, depth + 1, true);
        self.out += &format!(" {operator} ");
        self.expr(rhs, depth + 1, true);
        if is_operand {
            self.out += ")";
        }
    }

    /// A part of a value. The second part of an operation with an effect is its value.
    fn extract(&mut self, agg: Def, index: Def, depth: u32) {
        match self.world.node(agg) {
            Node::Load { .. } | Node::Slot { .. } | Node::Alloc { .. } | Node::Asm { .. } => {
                self.expr(agg, depth, true);
            }
            _ => {
                self.expr(agg, depth + 1, true);
                self.part(Some(self.world.ty(agg)), index, depth);
            }
        }
    }

    /// The selection of a part of a value of type `whole`: `.field` or `(index)`.
    fn part(&mut self, whole: Option<Ty>, index: Def, depth: u32) {
        let types = &self.world.types;
        match (whole.map(|whole| types.kind(whole)), self.world.as_lit(index)) {
            (Some(TyKind::Struct(id)), Some(field)) => {
                self.out += &format!(".{}", types.structs[*id].fields[field as usize].name);
            }
            _ => self.list("(", &[index], ")", depth),
        }
    }

    fn list(&mut self, open: &str, parts: &[Def], close: &str, depth: u32) {
        self.out += open;
        for (i, &part) in parts.iter().take(MAX_PARTS).enumerate() {
            if i > 0 {
                self.out += ", ";
            }
            self.expr(part, depth + 1, false);
        }
        if parts.len() > MAX_PARTS {
            self.out += &format!(", .. {} more", parts.len() - MAX_PARTS);
        }
        self.out += close;
    }

    fn option(&mut self, def: Def, option: u32, payload: Def, depth: u32) {
        let types = &self.world.types;
        if let TyKind::Enum(id) = types.kind(self.world.ty(def)) {
            let data = &types.enums[*id];
            self.out += &format!("{}::{}", data.name, data.options[option as usize].name);
        }
        if self.world.ty(payload) != types.unit() {
            self.list("(", &[payload], ")", depth);
        }
    }

    fn literal(&mut self, def: Def, bits: u64) {
        let ty = self.world.ty(def);
        let text = match self.world.types.kind(ty) {
            TyKind::Prim(Prim::Bool) => (bits != 0).to_string(),
            TyKind::Prim(Prim::F32) => f32::from_bits(bits as u32).to_string(),
            TyKind::Prim(prim) if prim.is_float() => eval::float_value(*prim, bits).to_string(),
            TyKind::Ptr { .. } if bits == 0 => "null".into(),
            _ => match self.world.as_int(def) {
                Some(value) => value.to_string(),
                None => bits.to_string(),
            },
        };
        self.out += &text;
    }

    /// A function by its name, a lambda by its parameters and captures.
    fn function(&mut self, cont: Cont, depth: u32) {
        let data = self.world.cont(cont);
        let is_named = data.linkage != Linkage::Internal || data.name.as_str() != "lambda";
        match self.world.origin(cont) {
            Some(origin) if !is_named => {
                let names = origin.params.iter().map(|param| param.name.map_or("_", |name| name.as_str()));
                self.out += &format!("|{}| ..", names.collect::<Vec<_>>().join(", "));
            }
            Some(origin) => self.out += origin.name.as_str(),
            None if data.linkage == Linkage::Internal => self.out += "<continuation>",
            None => self.out += data.name.as_str(),
        }
        let captured = self.context.captured(cont);
        let is_renamed = |&(name, def): &(Name, Def)| self.world.name(def) != Some(name);
        let named = captured.iter().filter_map(|&(name, def)| Some((name?, def)));
        let named: Vec<_> = named.filter(is_renamed).collect();
        if named.is_empty() || self.world.origin(cont).is_none() {
            return;
        }
        for (i, &(name, def)) in named.iter().take(MAX_PARTS).enumerate() {
            self.out += &format!("{}{name} = ", if i == 0 { " with " } else { ", " });
            self.expr(def, depth + 2, false);
        }
    }
}
