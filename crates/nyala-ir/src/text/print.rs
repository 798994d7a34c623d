//! A world to text.
//!
//! Three steps: find the reachable nodes and decide which operations are inline
//! (`reach`), and write one item after the other, with expressions (`expr`) in them.
//! Only the writing of inline operations recurses, and `reach` bounds their depth.

mod expr;
mod reach;

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use cranelift_entity::EntityRef;
use nyala_span::Span;
use rustc_hash::FxHashMap;

use expr::builtin_switch;
use reach::{Reach, choose_inline, mentioned_by_cont};

use super::names::{Ident, NameSpace, TypeIdent, is_numbered};
use crate::node::{Cont, Def, Global, Linkage, Node};
use crate::types::{EnumId, StructId, Ty, TyKind};
use crate::world::World;

/// Options of the printer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrintOptions {
    /// Also continuations and globals that no root reaches. A world without
    /// roots is always printed whole.
    pub all: bool,
    /// Whether comments show the spans of continuations, lines and calls.
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
            Linkage::Debugger => "debugger ",
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
        // The type of the scrutinee selects the switch, so it must be printed.
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

/// The structs and enums in the types of reachable nodes, by age.
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
