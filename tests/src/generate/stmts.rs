//! Random statements.

use super::types::Ty;
use super::{Exit, Generator, Region};

impl Generator<'_> {
    /// Some statements, each on its own lines.
    pub fn statements(&mut self, depth: usize) -> String {
        if depth == 0 {
            return String::new();
        }
        let mut text = String::new();
        for _ in 0..self.random.below(4) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let statement = self.statement(depth - 1);
            text += &format!("{}{statement}\n", self.line_start());
        }
        text
    }

    fn statement(&mut self, depth: usize) -> String {
        let on_device = self.region == Region::Kernel;
        match self.random.below(18) {
            5 | 11 | 12 | 14 if on_device => self.binding(depth),
            14 => self.stored_exits(),
            15 if matches!(self.region, Region::Sequential | Region::Threads) => self.lanes(depth),
            16 if self.region == Region::Sequential && self.one_in(2) => self.threads(depth),
            17 => self.swap(),
            0..3 => self.binding(depth),
            3 | 4 => self.assignment(depth),
            5 => self.local_function(depth),
            6 => self.while_loop(depth),
            7 | 8 => self.for_loop(depth),
            9 => {
                let cond = self.expr(&Ty::Bool, depth);
                let then = self.unit_block(depth);
                let other = self.unit_block(depth);
                format!("if {cond} {then} else {other}")
            }
            10 => self.jump(depth),
            11 => self.named_exit(),
            12 => format!("{}.add({});", self.counter(), self.expr(&Ty::U32, depth)),
            _ => {
                let value = self.expr(&Ty::U32, depth);
                self.note(&value)
            }
        }
    }

    fn binding(&mut self, depth: usize) -> String {
        let ty = match self.region {
            Region::Kernel => self.types.data(self.random),
            _ => self.types.any(self.random),
        };
        let value = self.expr(&ty, depth);
        // A mutable variable with a function could lead to endless recursion.
        let is_mut = self.types.is_data(&ty) && self.one_in(2);
        let name = self.define(ty.clone(), is_mut);
        let keyword = if is_mut { "mut " } else { "" };
        format!("let {keyword}{name}: {} = {value};", self.types.show(&ty))
    }

    /// A statement that makes the result depend on `value`.
    pub fn note(&self, value: &str) -> String {
        match &self.sink {
            Some(sink) => format!("{sink} = {sink} * 31u + ({value});"),
            None => format!("note({value});"),
        }
    }

    /// A mutable location of this type: a variable, or a part of one.
    pub fn mutable(&mut self, ty: &Ty) -> Option<String> {
        let mut found = vec![];
        for var in self.vars.iter().filter(|var| var.is_mut) {
            let name = &var.name;
            match &var.ty {
                own if own == ty => found.push(name.clone()),
                Ty::Array(element, length) if **element == *ty => {
                    found.push(format!("{name}({})", length - 1))
                }
                Ty::Struct(number) => {
                    let fields = self.types.structs[*number].iter().enumerate();
                    found.extend(
                        fields.filter(|(_, field)| *field == ty).map(|(i, _)| format!("{name}.a{i}")),
                    );
                }
                _ => {}
            }
        }
        (!found.is_empty()).then(|| self.random.pick(&found).clone())
    }

    /// Swaps two locations through pointers.
    fn swap(&mut self) -> String {
        let types: Vec<Ty> = self.vars.iter().filter(|var| var.is_mut).map(|var| var.ty.clone()).collect();
        if types.is_empty() {
            return self.binding(0);
        }
        let ty = self.random.pick(&types).clone();
        match (self.mutable(&ty), self.mutable(&ty)) {
            (Some(a), Some(b)) => format!("swap(&mut {a}, &mut {b});"),
            _ => self.binding(0),
        }
    }

    fn assignment(&mut self, depth: usize) -> String {
        let places: Vec<(String, Ty)> =
            self.vars.iter().filter(|var| var.is_mut).map(|var| (var.name.clone(), var.ty.clone())).collect();
        if places.is_empty() {
            return self.binding(depth);
        }
        let (name, ty) = self.random.pick(&places).clone();
        match &ty {
            Ty::Array(element, length) => {
                let index = self.expr(&Ty::U32, depth);
                format!("{name}({index} & {}u) = {};", length - 1, self.expr(element, depth))
            }
            Ty::Struct(number) if self.random.below(3) != 0 => {
                let fields = &self.types.structs[*number];
                let field = self.random.below(fields.len());
                format!("{name}.a{field} = {};", self.expr(&fields[field], depth))
            }
            Ty::Tuple(parts) if self.random.below(3) != 0 => {
                let part = self.random.below(parts.len());
                format!("{name}({part}) = {};", self.expr(&parts[part], depth))
            }
            Ty::U32 if self.one_in(2) => {
                let operator = ["+=", "*=", "^="][self.random.below(3)];
                format!("{name} {operator} {};", self.expr(&ty, depth))
            }
            _ => format!("{name} = {};", self.expr(&ty, depth)),
        }
    }

    fn local_function(&mut self, depth: usize) -> String {
        let Ty::Fn(params, ret) = self.types.function(self.random) else {
            panic!("a function's type is one");
        };
        let name = self.fresh("g");
        let lambda = self.lambda(&params, &ret, depth);
        // The same text as a function: `|x: u32| -> u32 { .. }`.
        let (head, rest) = lambda[1..].split_once('|').expect("parameters stand between bars");
        let text = format!("fn {name}({head}){rest}");
        self.vars.push(super::Var { name, ty: Ty::Fn(params, ret), is_mut: false });
        text
    }

    fn unit_block(&mut self, depth: usize) -> String {
        self.in_scope(|g| {
            let body = g.indented(|g| {
                let statements = g.statements(depth);
                let value = g.expr(&Ty::U32, depth);
                format!("{statements}{}{}", g.line_start(), g.note(&value))
            });
            format!("{{\n{body}\n{}}}", g.line_start())
        })
    }

    fn while_loop(&mut self, depth: usize) -> String {
        let (i, bound) = (self.fresh("n"), self.bound());
        let body = self.in_scope(|g| {
            g.vars.push(super::Var { name: i.clone(), ty: Ty::I32, is_mut: false });
            g.exits.push(Exit { name: "break".into(), takes: None });
            g.exits.push(Exit { name: "continue".into(), takes: None });
            g.unit_block(depth)
        });
        let start = self.line_start();
        format!("let mut {i} = 0;\n{start}while {i} < {bound} {{ ++{i};\n{start}{body} }}")
    }

    fn for_loop(&mut self, depth: usize) -> String {
        let (generator, more) =
            [("count", ""), ("count_down", ""), ("stride", ", 2"), ("skip", "")][self.random.below(4)];
        let bound = self.bound();
        let body = self.in_scope(|g| {
            let i = g.define(Ty::I32, false);
            g.exits.push(Exit { name: "break".into(), takes: None });
            g.exits.push(Exit { name: "continue".into(), takes: None });
            format!("{i} in {generator}(0, {bound}{more}) {}", g.unit_block(depth))
        });
        format!("for {body}")
    }

    /// Leaves an enclosing construct under a condition.
    fn jump(&mut self, depth: usize) -> String {
        if self.exits.is_empty() {
            return self.binding(depth);
        }
        let cond = self.expr(&Ty::Bool, depth);
        let (name, takes) = self.visible_exit();
        let value = takes.map_or(String::new(), |ty| self.exit_value(&ty, depth));
        format!("if {cond} {{ {name}({value}) }}")
    }

    /// A continuation with a unique name: inner code can call it.
    fn named_exit(&mut self) -> String {
        if self.exits.is_empty() {
            return self.binding(0);
        }
        let (exit, takes) = self.visible_exit();
        let name = self.fresh("k");
        self.exits.push(Exit { name: name.clone(), takes });
        format!("let {name} = {exit};")
    }

    /// Two continuations in a struct or an array.
    fn stored_exits(&mut self) -> String {
        let is_visible = |(at, exit): &(usize, &Exit)| {
            exit.takes.is_none() && !self.exits[at + 1..].iter().any(|inner| inner.name == exit.name)
        };
        let visible = self.exits.iter().enumerate().filter(is_visible);
        let names: Vec<String> = visible.map(|(_, exit)| exit.name.clone()).collect();
        if names.is_empty() {
            return self.named_exit();
        }
        let (a, b) = (self.random.pick(&names).clone(), self.random.pick(&names).clone());
        let name = self.fresh("k");
        let leaves = |name: String| Exit { name, takes: None };
        if self.one_in(2) {
            let index = self.leaf(&Ty::U32);
            self.exits.push(leaves(format!("{name}({index} & 1u)")));
            return format!("let {name} = [{a}, {b}];");
        }
        self.exits.push(leaves(format!("{name}.one")));
        self.exits.push(leaves(format!("{name}.other")));
        format!("let {name} = Ways {{ one: {a}, other: {b} }};")
    }

    /// An exit that no other of the same name hides.
    pub fn visible_exit(&mut self) -> (String, Option<Ty>) {
        let exit = &self.exits[self.random.below(self.exits.len())];
        let visible = self.exits.iter().rev().find(|other| other.name == exit.name);
        let exit = visible.expect("it is among them");
        (exit.name.clone(), exit.takes.clone())
    }

    /// The arguments for an exit: the parts of a tuple are passed one by one.
    pub fn exit_value(&mut self, ty: &Ty, depth: usize) -> String {
        match ty {
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.expr(ty, depth)).collect();
                parts.join(", ")
            }
            _ => self.expr(ty, depth),
        }
    }

    fn counter(&mut self) -> String {
        let counters = self.vars.iter().filter(|var| var.ty == Ty::Counter);
        let counters: Vec<String> = counters.map(|var| var.name.clone()).collect();
        match counters.as_slice() {
            [] => "make_counter(2u)".into(),
            _ => self.random.pick(&counters).clone(),
        }
    }
}
