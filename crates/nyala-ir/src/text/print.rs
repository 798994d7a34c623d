//! A world to text.
//!
//! Three steps: find what the roots reach, decide which operations stand
//! inline, and write one item after the other. Only the writing of inline
//! operations recurses, and [`MAX_INLINE_DEPTH`] bounds it.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use cranelift_entity::EntityRef;
use half::f16;
use nyala_span::Span;
use rustc_hash::FxHashMap;

use super::names::{Ident, NameSpace, TypeIdent, is_numbered};
use crate::node::{ArithFlags, AsmData, Cont, ContData, Def, Global, Intrinsic, Linkage, Node};
use crate::types::{EnumId, Prim, StructId, Ty, TyKind};
use crate::world::World;

/// An operation with more operators than this inside gets a line of its own.
const MAX_INLINE_OPS: u32 = 8;
/// An operation nested deeper than this gets a line of its own.
const MAX_INLINE_DEPTH: u32 = 4;

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrintOptions {
    /// Also continuations and globals that no root reaches. A world without
    /// roots is always printed whole.
    pub all: bool,
    /// Where each continuation, line and call stands in the source, as comments.
    pub spans: bool,
}

/// The text of all that the exported continuations and globals reach.
pub fn print(world: &World) -> String {
    print_with(world, PrintOptions::default())
}

/// The text of a world.
pub fn print_with(world: &World, options: PrintOptions) -> String {
    let mut reach = Reach::new(world);
    let exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
    let conts = world.conts().filter(|(_, data)| exported(&data.linkage)).map(|(_, data)| data.def);
    let globals = world.globals().filter(|(_, data)| exported(&data.linkage)).map(|(_, data)| data.def);
    let roots: Vec<Def> = conts.chain(globals).collect();
    reach.from(&roots);
    if options.all || roots.is_empty() {
        let conts = world.conts().filter(|(cont, _)| !world.is_builtin(*cont)).map(|(_, data)| data.def);
        let all: Vec<Def> = conts.chain(world.globals().map(|(_, data)| data.def)).collect();
        for def in all {
            reach.from(&[def]);
        }
    }
    Printer::new(world, reach, options).world()
}

/// The text of these continuations alone, in this order.
pub fn print_conts(world: &World, conts: &[Cont]) -> String {
    let mut reach = Reach::new(world);
    let roots: Vec<Def> = conts.iter().map(|&cont| world.cont_def(cont)).collect();
    reach.from(&roots);
    let mut printer = Printer::new(world, reach, PrintOptions::default());
    for &cont in conts {
        printer.cont(cont);
    }
    printer.out
}

/// One node by itself: `d41 = add(d12, pow.x)`. Operations are called by their ids.
pub fn print_node(world: &World, def: Def) -> String {
    let mut printer = Printer::new(world, Reach::new(world), PrintOptions::default());
    match world.node(def) {
        Node::Cont(_) | Node::Param { .. } | Node::Global(_) => printer.reference(def),
        Node::Lit(_) => printer.op(def, None),
        _ => {
            printer.put(format_args!("{def} = "));
            printer.op(def, None);
        }
    }
    printer.out
}

// ---- What there is to print ---------------------------------------------------

/// What some roots reach.
struct Reach<'w> {
    world: &'w World,
    reached: Vec<bool>,
    /// Roots first, then in the order in which bodies mention them.
    conts: Vec<Cont>,
    globals: Vec<Global>,
}

impl<'w> Reach<'w> {
    fn new(world: &'w World) -> Reach<'w> {
        Reach { world, reached: vec![false; world.node_count()], conts: vec![], globals: vec![] }
    }

    fn from(&mut self, roots: &[Def]) {
        let roots: Vec<Def> = roots.iter().copied().filter(|&root| self.mark(root)).collect();
        let mut stack = vec![];
        for root in roots {
            self.push_uses(root, &mut stack);
            while let Some(def) = stack.pop() {
                if self.mark(def) {
                    self.push_uses(def, &mut stack);
                }
            }
        }
    }

    /// Whether `def` is new.
    fn mark(&mut self, def: Def) -> bool {
        if std::mem::replace(&mut self.reached[def.index()], true) {
            return false;
        }
        match self.world.node(def) {
            Node::Cont(cont) if !self.world.is_builtin(cont) => self.conts.push(cont),
            Node::Global(global) => self.globals.push(global),
            _ => {}
        }
        true
    }

    /// Pushes what `def` mentions, the first on top.
    fn push_uses(&self, def: Def, stack: &mut Vec<Def>) {
        let from = stack.len();
        for_each_mention(self.world, def, |used| stack.push(used));
        stack[from..].reverse();
    }
}

/// Calls `each` with what `def` mentions: operands, bodies, filters, values of
/// globals, owners of parameters.
fn for_each_mention(world: &World, def: Def, mut each: impl FnMut(Def)) {
    match world.node(def) {
        Node::Cont(cont) => mentioned_by_cont(world.cont(cont)).for_each(each),
        Node::Global(global) => world.global(global).init.into_iter().for_each(each),
        Node::Param { cont, .. } => each(world.cont_def(cont)),
        _ => world.for_each_operand(def, each),
    }
}

fn mentioned_by_cont(data: &ContData) -> impl Iterator<Item = Def> {
    let body =
        data.body.iter().flat_map(|body| std::iter::once(body.callee).chain(body.args.iter().copied()));
    body.chain(data.filter.iter().copied())
}

/// For each node that is reached, whether it stands where it is used.
fn choose_inline(world: &World, reached: &[bool]) -> Vec<bool> {
    let uses = count_uses(world, reached);
    let mut inline = vec![false; reached.len()];
    // The operators inside what stands inline, and how deep they nest.
    let mut size = vec![(0u32, 0u32); reached.len()];
    for index in 0..reached.len() {
        let def = Def::new(index);
        if !reached[index] {
            continue;
        }
        let (mut ops, mut depth) = (0u32, 0);
        world.for_each_operand(def, |operand| {
            if inline[operand.index()] {
                let inner = size[operand.index()];
                ops = ops.saturating_add(inner.0);
                depth = depth.max(inner.1);
            }
        });
        (inline[index], size[index]) = match world.node(def) {
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => (false, (0, 0)),
            Node::Lit(_) | Node::Undef | Node::SizeOf(_) | Node::AlignOf(_) => (true, (0, 0)),
            Node::Load { .. }
            | Node::Store { .. }
            | Node::Slot { .. }
            | Node::Alloc { .. }
            | Node::Asm { .. } => (false, (0, 0)),
            _ if is_transparent(world, def) => (true, (ops, depth)),
            _ => {
                let size = (ops.saturating_add(1), depth + 1);
                (uses[index] <= 1 && size.0 <= MAX_INLINE_OPS && size.1 <= MAX_INLINE_DEPTH, size)
            }
        };
    }
    inline
}

/// How often each node would be written if all stood inline where they are used once.
fn count_uses(world: &World, reached: &[bool]) -> Vec<u32> {
    let mut uses = vec![0u32; reached.len()];
    let is_reached = |index: &usize| reached[*index];
    for index in (0..reached.len()).filter(is_reached) {
        if let Node::Cont(_) | Node::Global(_) = world.node(Def::new(index)) {
            for_each_mention(world, Def::new(index), |used| uses[used.index()] += 1);
        }
    }
    // Operands are older than what uses them, so counts are complete on arrival.
    for index in (0..reached.len()).rev().filter(is_reached) {
        let def = Def::new(index);
        let times = if is_transparent(world, def) { uses[index] } else { 1 };
        world.for_each_operand(def, |used| uses[used.index()] = uses[used.index()].saturating_add(times));
    }
    uses
}

/// `a.0` and `()` are as short as a name.
fn is_transparent(world: &World, def: Def) -> bool {
    match world.node(def) {
        Node::Extract { index, .. } => part_number(world, index).is_some(),
        Node::Aggregate(parts) => world.list(parts).is_empty(),
        _ => false,
    }
}

/// The value of a literal `u32`.
fn part_number(world: &World, index: Def) -> Option<u64> {
    world.as_lit(index).filter(|_| world.ty(index) == world.types.prim(Prim::U32))
}

// ---- Items ---------------------------------------------------------------------

/// Whose name space a name is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Cont(Cont),
    Global(Global),
}

struct Printer<'w> {
    world: &'w World,
    options: PrintOptions,
    reach: Reach<'w>,
    inline: Vec<bool>,
    out: String,
    top: NameSpace,
    owner_names: FxHashMap<Owner, String>,
    spaces: FxHashMap<Owner, NameSpace>,
    /// Parameters, and operations that have a line already.
    locals: FxHashMap<Def, (Owner, String)>,
    /// Whose lines are being written.
    owner: Option<Owner>,
}

impl<'w> Printer<'w> {
    fn new(world: &'w World, reach: Reach<'w>, options: PrintOptions) -> Printer<'w> {
        let mut top = NameSpace::default();
        for builtin in ["branch", "switch", "unreachable"] {
            top.unique(builtin);
        }
        Printer {
            world,
            options,
            inline: choose_inline(world, &reach.reached),
            reach,
            out: String::new(),
            top,
            owner_names: FxHashMap::default(),
            spaces: FxHashMap::default(),
            locals: FxHashMap::default(),
            owner: None,
        }
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("writing to a string cannot fail");
    }

    fn ty(&mut self, ty: Ty) {
        let world = self.world;
        self.put(format_args!("{}", world.types.display(ty)));
    }

    fn comma_list<T>(&mut self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            each(self, item);
        }
    }

    fn world(mut self) -> String {
        self.type_items();
        self.reach.globals.sort();
        let (declared, defined): (Vec<Cont>, Vec<Cont>) =
            self.reach.conts.iter().partition(|cont| self.world.cont(**cont).body.is_none());
        for global in self.reach.globals.clone() {
            self.global(global);
        }
        for cont in declared.into_iter().chain(defined) {
            self.cont(cont);
        }
        self.out
    }

    /// The structs and enums that anything printed has in its type.
    fn type_items(&mut self) {
        let world = self.world;
        let (structs, enums) = used_nominals(world, &self.reach);
        for id in structs {
            let data = &world.types.structs[id];
            self.put(format_args!("struct {} {{", TypeIdent(data.name.as_str())));
            self.braced(&data.fields, |this, field| {
                this.put(format_args!("{}: ", Ident(field.name.as_str())));
                this.ty(field.ty);
            });
        }
        for id in enums {
            let data = &world.types.enums[id];
            self.put(format_args!("enum {} {{", TypeIdent(data.name.as_str())));
            self.braced(&data.options, |this, option| {
                this.put(format_args!("{}", Ident(option.name.as_str())));
                if option.payload != world.types.unit() {
                    this.out.push_str(": ");
                    this.ty(option.payload);
                }
            });
        }
    }

    fn braced<T>(&mut self, items: &[T], each: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.out.push(' ');
            self.comma_list(items, each);
            self.out.push(' ');
        }
        self.out.push_str("}\n");
    }

    fn global(&mut self, global: Global) {
        let data = self.world.global(global);
        let name = self.owner_name(Owner::Global(global));
        self.owner = Some(Owner::Global(global));
        self.linkage_word(&data.linkage);
        let word = if data.is_mut { "global" } else { "const" };
        self.put(format_args!("{word} {}: ", Ident(&name)));
        self.ty(data.ty);
        if let Linkage::Exported(symbol) | Linkage::Imported(symbol) | Linkage::Device(symbol) = data.linkage
            && symbol.as_str() != name
        {
            self.out.push_str(" as ");
            self.string(symbol.as_str().as_bytes());
        }
        let Some(init) = data.init else {
            return self.end_line(data.span);
        };
        let before = self.out.len();
        self.out.push_str(":\n");
        let header = self.out.len();
        self.lines(std::iter::once(init));
        if self.out.len() == header {
            self.out.truncate(before);
            self.out.push_str(" = ");
        } else {
            self.out.push_str("    ");
        }
        self.expr(init, Some(data.ty));
        self.end_line(data.span);
    }

    fn cont(&mut self, cont: Cont) {
        let world = self.world;
        let data = world.cont(cont);
        let name = self.owner_name(Owner::Cont(cont));
        self.owner = Some(Owner::Cont(cont));
        self.linkage_word(&data.linkage);
        self.put(format_args!("{}(", Ident(&name)));
        self.comma_list(&data.params, |this, &param| {
            this.reference(param);
            this.out.push_str(": ");
            this.ty(world.ty(param));
        });
        self.out.push(')');
        self.symbol(&data.linkage, &name);

        // The filter may use lines of the body, so those are written first.
        let header = std::mem::take(&mut self.out);
        self.lines(mentioned_by_cont(data));
        if let Some(body) = &data.body {
            self.out.push_str("    ");
            self.call(body.callee, &body.args);
            self.end_line(body.span);
        }
        let body = std::mem::replace(&mut self.out, header);
        self.filter(&data.filter);
        if data.body.is_some() {
            self.out.push(':');
        }
        self.end_line(data.span);
        self.out.push_str(&body);
    }

    fn linkage_word(&mut self, linkage: &Linkage) {
        self.out.push_str(match linkage {
            Linkage::Internal => "",
            Linkage::Exported(_) => "export ",
            Linkage::Imported(_) => "import ",
            Linkage::Device(_) => "device ",
            Linkage::Intrinsic(_) => "intrinsic ",
        });
    }

    fn symbol(&mut self, linkage: &Linkage, name: &str) {
        match linkage {
            Linkage::Exported(symbol) | Linkage::Imported(symbol) | Linkage::Device(symbol)
                if symbol.as_str() != name =>
            {
                self.out.push_str(" = ");
                self.string(symbol.as_str().as_bytes());
            }
            Linkage::Intrinsic(intrinsic) if intrinsic.name() != name => {
                self.put(format_args!(" = {}", intrinsic.name()));
            }
            _ => {}
        }
    }

    fn filter(&mut self, filter: &[Def]) {
        let Some(&first) = filter.first() else { return };
        self.out.push_str(" @ ");
        if filter.iter().all(|&one| one == first) {
            return self.expr(first, None);
        }
        self.out.push('[');
        self.comma_list(filter, |this, &one| this.expr(one, None));
        self.out.push(']');
    }

    fn end_line(&mut self, span: Span) {
        if self.options.spans && !span.is_none() {
            self.put(format_args!("  ; {span:?}"));
        }
        self.out.push('\n');
    }

    fn call(&mut self, callee: Def, args: &[Def]) {
        let world = self.world;
        let params = world.types.as_cn(world.ty(callee)).unwrap_or_default();
        let switch = builtin_switch(world, callee);
        match switch {
            Some(cont) => self.top_reference(Owner::Cont(cont)),
            None => self.expr(callee, None),
        }
        // What is switched on says which switch it is, so its type must show.
        let hint = |i| if switch.is_some() && i == 1 { None } else { params.get(i).copied() };
        self.args(args.iter().enumerate().map(|(i, &arg)| (arg, hint(i))));
    }

    /// A line for each operation below `roots` that needs one and has none yet.
    fn lines(&mut self, roots: impl Iterator<Item = Def>) {
        enum Step {
            Enter(Def),
            Leave(Def),
        }
        let mut stack: Vec<Step> = roots.map(Step::Enter).collect();
        stack.reverse();
        while let Some(step) = stack.pop() {
            match step {
                Step::Enter(def) if self.has_lines_below(def) => {
                    self.reach.reached[def.index()] = false;
                    stack.push(Step::Leave(def));
                    let from = stack.len();
                    self.world.for_each_operand(def, |operand| stack.push(Step::Enter(operand)));
                    stack[from..].reverse();
                }
                Step::Leave(def) if !self.inline[def.index()] => self.line(def),
                _ => {}
            }
        }
    }

    /// Whether the lines of `def` and its operands are still to be written;
    /// `reached` is cleared when they are.
    fn has_lines_below(&self, def: Def) -> bool {
        self.reach.reached[def.index()]
            && !matches!(self.world.node(def), Node::Cont(_) | Node::Param { .. } | Node::Global(_))
    }

    fn line(&mut self, def: Def) {
        let owner = self.owner.expect("lines are written for an owner");
        self.out.push_str("    ");
        let before = self.out.len();
        self.op(def, None);
        // The name comes last: it is not in scope in its own line.
        let space = self.spaces.entry(owner).or_default();
        let name = match self.world.name(def) {
            Some(name) if !is_numbered(name.as_str()) => space.unique(name.as_str()),
            _ => space.numbered(),
        };
        self.out.insert_str(before, &format!("{} = ", Ident(&name)));
        self.locals.insert(def, (owner, name));
        self.end_line(self.world.span_of(def));
    }
}

/// The structs and enums in the types of what is reached, by age.
fn used_nominals(world: &World, reach: &Reach<'_>) -> (BTreeSet<StructId>, BTreeSet<EnumId>) {
    let types = &world.types;
    let mut seen = vec![false; types.len()];
    let mut stack: Vec<Ty> = vec![];
    for index in (0..reach.reached.len()).filter(|&index| reach.reached[index]) {
        stack.push(world.ty(Def::new(index)));
        if let Node::SizeOf(ty) | Node::AlignOf(ty) = world.node(Def::new(index)) {
            stack.push(ty);
        }
    }
    let (mut structs, mut enums) = (BTreeSet::new(), BTreeSet::new());
    while let Some(ty) = stack.pop() {
        if std::mem::replace(&mut seen[ty.index()], true) {
            continue;
        }
        match types.kind(ty) {
            TyKind::Mem | TyKind::Prim(_) => {}
            TyKind::Tuple(parts) | TyKind::Cn(parts) => stack.extend(parts),
            TyKind::Array { elem, .. } | TyKind::Slice(elem) | TyKind::Simd { elem, .. } => stack.push(*elem),
            TyKind::Ptr { pointee, .. } => stack.push(*pointee),
            TyKind::Struct(id) => {
                structs.insert(*id);
                stack.extend(types.structs[*id].fields.iter().map(|field| field.ty));
            }
            TyKind::Enum(id) => {
                enums.insert(*id);
                stack.extend(types.enums[*id].options.iter().map(|option| option.payload));
            }
        }
    }
    (structs, enums)
}

// ---- Expressions -------------------------------------------------------------------

impl Printer<'_> {
    /// `def` as an operand in a place that asks for type `hint`.
    fn expr(&mut self, def: Def, hint: Option<Ty>) {
        if self.inline[def.index()] { self.op(def, hint) } else { self.reference(def) }
    }

    /// `def` by name.
    fn reference(&mut self, def: Def) {
        let (owner, name) = match self.world.node(def) {
            Node::Cont(cont) => {
                self.top_reference(Owner::Cont(cont));
                if builtin_switch(self.world, def).is_some() {
                    let params = &self.world.cont(cont).params;
                    self.out.push('[');
                    self.ty(self.world.ty(params[1]));
                    self.put(format_args!(", {}]", (params.len() - 3) / 2));
                }
                return;
            }
            Node::Global(global) => return self.top_reference(Owner::Global(global)),
            Node::Param { cont, .. } => {
                self.owner_name(Owner::Cont(cont));
                self.locals[&def].clone()
            }
            _ => match self.locals.get(&def) {
                Some(local) => local.clone(),
                None if matches!(self.world.node(def), Node::Lit(_)) => return self.op(def, None),
                None => return self.put(format_args!("{def}")),
            },
        };
        if self.owner != Some(owner) {
            let owner = self.owner_name(owner);
            self.put(format_args!("{}.", Ident(&owner)));
        }
        self.put(format_args!("{}", Ident(&name)));
    }

    fn top_reference(&mut self, owner: Owner) {
        let name = self.owner_name(owner);
        let hidden =
            self.owner.and_then(|owner| self.spaces.get(&owner)).is_some_and(|space| space.has(&name));
        if hidden {
            self.out.push('.');
        }
        self.put(format_args!("{}", Ident(&name)));
    }

    /// The unique name of a continuation or global; names its parameters too.
    fn owner_name(&mut self, owner: Owner) -> String {
        if let Some(name) = self.owner_names.get(&owner) {
            return name.clone();
        }
        let name = match owner {
            Owner::Cont(cont) if self.world.is_builtin(cont) => self.world.cont(cont).name.to_string(),
            Owner::Cont(cont) => self.top.unique(self.world.cont(cont).name.as_str()),
            Owner::Global(global) => self.top.unique(self.world.global(global).name.as_str()),
        };
        self.owner_names.insert(owner, name.clone());
        if let Owner::Cont(cont) = owner {
            self.name_params(cont);
        }
        name
    }

    fn name_params(&mut self, cont: Cont) {
        let owner = Owner::Cont(cont);
        let params = &self.world.cont(cont).params;
        for (i, &param) in params.iter().enumerate() {
            let space = self.spaces.entry(owner).or_default();
            let is_last = i + 1 == params.len();
            let name = match (self.world.name(param), self.world.types.kind(self.world.ty(param))) {
                (Some(name), _) => space.unique(name.as_str()),
                (None, TyKind::Mem) => space.unique("mem"),
                (None, TyKind::Cn(_)) if is_last => space.unique("ret"),
                _ => space.unique(&format!("p{i}")),
            };
            self.locals.insert(param, (owner, name));
        }
    }

    /// The operation `def` itself.
    fn op(&mut self, def: Def, hint: Option<Ty>) {
        let ty = self.world.ty(def);
        match self.world.node(def) {
            Node::Cont(_) | Node::Param { .. } | Node::Global(_) => self.reference(def),
            Node::Lit(bits) => self.literal(ty, bits, hint),
            Node::Undef => self.typed("undef", ty),
            Node::Cast(value) => self.typed_op("cast", ty, &[value]),
            Node::Bitcast(value) => self.typed_op("bitcast", ty, &[value]),
            Node::Arith { op, flags, lhs, rhs } => self.flagged(op.name(), flags, &[lhs, rhs]),
            Node::Cmp { op, lhs, rhs } => self.flagged(op.name(), ArithFlags::STRICT, &[lhs, rhs]),
            Node::Math { op, flags, args } => self.flagged(op.name(), flags, self.world.list(args)),
            Node::Select { cond, then, other } => {
                self.hinted("select", &[(cond, None), (then, hint), (other, Some(ty))]);
            }
            Node::Extract { .. } | Node::Insert { .. } | Node::Aggregate(_) => self.aggregate_op(def, hint),
            Node::Variant { .. } | Node::VariantPayload { .. } => self.variant_op(def),
            Node::VariantTag(value) => self.hinted("tag", &[(value, None)]),
            Node::SizeOf(of) => self.layout_op("size_of", ty, of),
            Node::AlignOf(of) => self.layout_op("align_of", ty, of),
            Node::Known(value) => self.hinted("known", &[(value, None)]),
            Node::Hide(value) => self.hinted("hide", &[(value, hint)]),
            Node::Run(callee) => self.hinted("run", &[(callee, None)]),
            Node::Load { .. }
            | Node::Store { .. }
            | Node::Slot { .. }
            | Node::Alloc { .. }
            | Node::Lea { .. } => {
                self.memory_op(def);
            }
            Node::Asm { asm, args } => self.asm(self.world.asm_data(asm), ty, self.world.list(args)),
        }
    }

    fn typed(&mut self, word: &str, ty: Ty) {
        self.put(format_args!("{word}["));
        self.ty(ty);
        self.out.push(']');
    }

    fn typed_op(&mut self, word: &str, ty: Ty, args: &[Def]) {
        self.typed(word, ty);
        self.args(args.iter().map(|&arg| (arg, None)));
    }

    fn layout_op(&mut self, word: &str, ty: Ty, of: Ty) {
        self.typed(word, ty);
        self.out.push('(');
        self.ty(of);
        self.out.push(')');
    }

    /// Operands after the first have the type of the first.
    fn flagged(&mut self, word: &str, flags: ArithFlags, args: &[Def]) {
        self.out.push_str(word);
        self.out.push_str(match (flags.wrap, flags.fast) {
            (false, false) => "",
            (true, false) => "[wrap]",
            (false, true) => "[fast]",
            (true, true) => "[wrap, fast]",
        });
        let ty = args.first().map(|&first| self.world.ty(first));
        self.args(args.iter().enumerate().map(|(i, &arg)| (arg, ty.filter(|_| i > 0))));
    }

    fn hinted(&mut self, word: &str, args: &[(Def, Option<Ty>)]) {
        self.out.push_str(word);
        self.args(args.iter().copied());
    }

    fn args(&mut self, args: impl Iterator<Item = (Def, Option<Ty>)>) {
        self.out.push('(');
        self.comma_list(args, |this, (arg, hint)| this.expr(arg, hint));
        self.out.push(')');
    }

    fn aggregate_op(&mut self, def: Def, hint: Option<Ty>) {
        let types = &self.world.types;
        let ty = self.world.ty(def);
        let index_ty = Some(types.prim(Prim::U32));
        match self.world.node(def) {
            Node::Extract { agg, index } => match part_number(self.world, index) {
                Some(number) => {
                    self.expr(agg, None);
                    self.put(format_args!(".{number}"));
                }
                None => self.hinted("extract", &[(agg, None), (index, index_ty)]),
            },
            Node::Insert { agg, index, value } => {
                let part = types.elem(ty).or_else(|| types.part(ty, self.world.as_lit(index)?));
                self.hinted("insert", &[(agg, None), (index, index_ty), (value, part)]);
            }
            Node::Aggregate(parts) => self.aggregate(ty, self.world.list(parts), hint),
            _ => unreachable!("called for these only"),
        }
    }

    fn aggregate(&mut self, ty: Ty, parts: &[Def], hint: Option<Ty>) {
        let world = self.world;
        let typed = |(part, ty): (&Def, &Ty)| world.ty(*part) == *ty;
        let elem_hint = hint.and_then(|ty| world.types.elem(ty));
        match world.types.kind(ty) {
            TyKind::Tuple(tys) if tys.len() == parts.len() && parts.iter().zip(tys).all(typed) => {
                let hints = parts
                    .iter()
                    .enumerate()
                    .map(|(i, &part)| (part, hint.and_then(|ty| world.types.part(ty, i as u64))));
                self.args(hints);
            }
            TyKind::Struct(id) => {
                self.put(format_args!("{} {{", TypeIdent(world.types.structs[*id].name.as_str())));
                if !parts.is_empty() {
                    self.out.push(' ');
                    self.comma_list(parts.iter().enumerate(), |this, (i, &part)| {
                        this.expr(part, world.types.part(ty, i as u64));
                    });
                    self.out.push(' ');
                }
                self.out.push('}');
            }
            TyKind::Array { elem, len } if is_uniform(world, parts, *elem, *len) => {
                match self.literal_bytes(parts) {
                    Some(bytes) if world.types.as_prim(*elem) == Some(Prim::U8) => self.string(&bytes),
                    _ => self.elements("[", parts, elem_hint),
                }
            }
            TyKind::Simd { elem, lanes } if is_uniform(world, parts, *elem, u64::from(*lanes)) => {
                self.elements("simd[", parts, elem_hint);
            }
            _ => self.typed_op("aggregate", ty, parts),
        }
    }

    /// Elements after the first have the type of the first.
    fn elements(&mut self, open: &str, parts: &[Def], hint: Option<Ty>) {
        self.out.push_str(open);
        let ty = self.world.ty(parts[0]);
        self.comma_list(parts.iter().enumerate(), |this, (i, &part)| {
            this.expr(part, if i == 0 { hint } else { Some(ty) });
        });
        self.out.push(']');
    }

    fn literal_bytes(&self, parts: &[Def]) -> Option<Vec<u8>> {
        parts.iter().map(|&part| self.world.as_lit(part).map(|bits| bits as u8)).collect()
    }

    fn variant_op(&mut self, def: Def) {
        let world = self.world;
        let (enum_ty, option, operand) = match world.node(def) {
            Node::Variant { option, payload } => (world.ty(def), option, payload),
            Node::VariantPayload { option, value } => (world.ty(value), option, value),
            _ => unreachable!("called for these only"),
        };
        let TyKind::Enum(id) = *world.types.kind(enum_ty) else {
            return self.put(format_args!("{def}"));
        };
        let data = &world.types.enums[id];
        let option = &data.options[option as usize];
        if let Node::Variant { .. } = world.node(def) {
            self.put(format_args!(
                "variant[{}.{}]",
                TypeIdent(data.name.as_str()),
                Ident(option.name.as_str())
            ));
            self.args(std::iter::once((operand, Some(option.payload))));
        } else {
            self.put(format_args!("payload[{}]", Ident(option.name.as_str())));
            self.args(std::iter::once((operand, None)));
        }
    }

    fn memory_op(&mut self, def: Def) {
        let world = self.world;
        let types = &world.types;
        let pointee = |ptr: Ty| types.as_ptr(ptr).map(|(pointee, _)| pointee);
        let result = || types.part(world.ty(def), 1).and_then(pointee);
        match world.node(def) {
            Node::Load { mem, ptr } => self.hinted("load", &[(mem, None), (ptr, None)]),
            Node::Store { mem, ptr, value } => {
                self.hinted("store", &[(mem, None), (ptr, None), (value, pointee(world.ty(ptr)))]);
            }
            Node::Slot { mem } => {
                self.typed("slot", result().unwrap_or(types.unit()));
                self.args(std::iter::once((mem, None)));
            }
            Node::Alloc { mem, count } => {
                let elem = result().and_then(|slice| types.elem(slice)).unwrap_or(types.unit());
                self.typed("alloc", elem);
                self.args([(mem, None), (count, Some(types.prim(Prim::I64)))].into_iter());
            }
            Node::Lea { ptr, index } => {
                self.hinted("lea", &[(ptr, None), (index, Some(types.prim(Prim::U32)))]);
            }
            _ => unreachable!("called for these only"),
        }
    }

    fn asm(&mut self, data: &AsmData, ty: Ty, args: &[Def]) {
        let world = self.world;
        let outputs: Vec<Ty> = match world.types.kind(ty) {
            TyKind::Tuple(parts) => parts[1..].to_vec(),
            _ => vec![],
        };
        self.out.push_str("asm[");
        self.string(&data.template);
        self.out.push_str(", (");
        self.comma_list(outputs, |this, ty| this.ty(ty));
        self.out.push(')');
        for list in [&data.outputs, &data.inputs, &data.clobbers, &data.options] {
            self.out.push_str(", (");
            self.comma_list(list, |this, one| this.string(one));
            self.out.push(')');
        }
        self.out.push(']');
        self.args(args.iter().map(|&arg| (arg, None)));
    }

    fn literal(&mut self, ty: Ty, bits: u64, hint: Option<Ty>) {
        let Some(prim) = self.world.types.as_prim(ty) else {
            if bits == 0 {
                return self.typed("null", ty);
            }
            self.typed("address", ty);
            return self.put(format_args!("({bits:#x})"));
        };
        let hint =
            hint.and_then(|ty| self.world.types.as_prim(ty)).filter(|prim| prim.is_int() || prim.is_float());
        let suffix = if hint.unwrap_or(Prim::I32) == prim { "" } else { prim.name() };
        match prim {
            Prim::Bool => self.put(format_args!("{}", bits != 0)),
            Prim::F16 => self.float(prim, f64::from(f16::from_bits(bits as u16).to_f32()), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f16::from_bits(bits as u16).to_f32()));
            }),
            Prim::F32 => self.float(prim, f64::from(f32::from_bits(bits as u32)), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f32::from_bits(bits as u32)));
            }),
            Prim::F64 => self.float(prim, f64::from_bits(bits), bits, |this| {
                this.put(format_args!("{:?}{suffix}", f64::from_bits(bits)));
            }),
            _ if prim.is_signed() => self.put(format_args!("{}{suffix}", prim.sign_extend(bits))),
            _ => self.put(format_args!("{bits}{suffix}")),
        }
    }

    /// A finite float as `write` writes it, any other by its bits.
    fn float(&mut self, prim: Prim, value: f64, bits: u64, write: impl FnOnce(&mut Self)) {
        if value.is_finite() { write(self) } else { self.put(format_args!("{prim}({bits:#x})")) }
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for &byte in bytes {
            match byte {
                b'"' | b'\\' => self.put(format_args!("\\{}", byte as char)),
                b'\n' => self.out.push_str("\\n"),
                0 => self.out.push_str("\\0"),
                0x20..=0x7e => self.out.push(byte as char),
                _ => self.put(format_args!("\\x{byte:02x}")),
            }
        }
        self.out.push('"');
    }
}

/// The continuation that `def` is, if that is the undeclared `switch`.
fn builtin_switch(world: &World, def: Def) -> Option<Cont> {
    let is_switch = world.as_intrinsic(def) == Some(Intrinsic::Switch);
    world.as_cont(def).filter(|&cont| is_switch && world.is_builtin(cont))
}

/// Whether `[parts]` has type `[elem * len]`.
fn is_uniform(world: &World, parts: &[Def], elem: Ty, len: u64) -> bool {
    parts.len() as u64 == len && parts.first().is_some_and(|&first| world.ty(first) == elem)
}
