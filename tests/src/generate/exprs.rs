//! Random expressions.

use super::types::Ty;
use super::{Exit, Generator};

impl Generator<'_> {
    /// An expression of type `ty`, nested at most `depth` deep.
    pub fn expr(&mut self, ty: &Ty, depth: usize) -> String {
        if depth == 0 || self.left == 0 {
            return self.leaf(ty);
        }
        self.left -= 1;
        match self.random.below(14) {
            0 | 1 => self.leaf(ty),
            2 => self.conditional(ty, depth - 1),
            3 => self.decision(ty, depth - 1),
            4 => self.block(ty, depth - 1),
            5 | 6 => self.call(ty, depth - 1),
            7 => self.part(ty).unwrap_or_else(|| self.leaf(ty)),
            _ => self.construct(ty, depth - 1),
        }
    }

    /// A variable, or else a constant.
    fn leaf(&mut self, ty: &Ty) -> String {
        let fitting: Vec<&str> =
            self.vars.iter().filter(|var| var.ty == *ty).map(|var| var.name.as_str()).collect();
        if !fitting.is_empty() && self.random.below(4) != 0 {
            return (*self.random.pick(&fitting)).to_owned();
        }
        match ty {
            Ty::U32 => format!("{}u", [0, 1, 2, 3, 7, 100, 65_536, u32::MAX][self.random.below(8)]),
            Ty::I32 => format!("{}", [0, 1, 2, 3, 5, 1000][self.random.below(6)]),
            Ty::Bool => ["true", "false"][self.random.below(2)].into(),
            _ => self.types.sample(ty),
        }
    }

    fn conditional(&mut self, ty: &Ty, depth: usize) -> String {
        let cond = self.expr(&Ty::Bool, depth.min(2));
        let then = self.block(ty, depth);
        let other = self.block(ty, depth);
        format!("(if {cond} {then} else {other})")
    }

    fn decision(&mut self, ty: &Ty, depth: usize) -> String {
        let arms = match self.random.below(3) {
            0 => {
                let number = self.random.below(self.types.enums.len());
                return self.match_option(number, ty, depth);
            }
            1 => {
                let of = self.expr(&Ty::Tuple(vec![Ty::U32, Ty::Bool]), 1);
                let first = self.expr(ty, depth);
                let second = self.in_scope(|g| {
                    let name = g.define(Ty::U32, false);
                    format!("({name}, true) => {}", g.expr(ty, depth))
                });
                let other = self.expr(ty, depth);
                return format!("(match {of} {{ (2u, _) => {first}, {second}, _ => {other} }})");
            }
            _ => (0..1 + self.random.below(3)).map(|i| format!("{i}u => {}, ", self.expr(ty, depth))),
        };
        let arms: String = arms.collect::<Vec<_>>().concat();
        let of = self.expr(&Ty::U32, 1);
        format!("(match {of} & 3u {{ {arms}_ => {} }})", self.expr(ty, depth))
    }

    fn match_option(&mut self, number: usize, ty: &Ty, depth: usize) -> String {
        let of = self.expr(&Ty::Enum(number), 1);
        let options = self.types.enums[number].clone();
        let mut arms = vec![];
        for (i, payload) in options.into_iter().enumerate() {
            arms.push(self.in_scope(|g| {
                let names: Vec<String> = payload.into_iter().map(|ty| g.define(ty, false)).collect();
                let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
                format!("E{number}::O{i}{names} => {}", g.expr(ty, depth))
            }));
        }
        format!("(match {of} {{ {} }})", arms.join(", "))
    }

    /// `{ statements; value }`
    pub fn block(&mut self, ty: &Ty, depth: usize) -> String {
        self.in_scope(|g| {
            let body = g.indented(|g| {
                let statements = g.statements(depth);
                let value = g.expr(ty, depth);
                format!("{statements}{}{value}", g.line_start())
            });
            format!("{{\n{body}\n{}}}", g.line_start())
        })
    }

    /// A part of a variable.
    fn part(&mut self, wanted: &Ty) -> Option<String> {
        let mut found = vec![];
        for var in &self.vars {
            let name = &var.name;
            match &var.ty {
                Ty::Tuple(parts) => {
                    let fitting = parts.iter().enumerate().filter(|(_, ty)| *ty == wanted);
                    found.extend(fitting.map(|(i, _)| format!("{name}({i})")));
                }
                Ty::Struct(number) => {
                    let fields = self.types.structs[*number].iter().enumerate();
                    found.extend(fields.filter(|(_, ty)| *ty == wanted).map(|(i, _)| format!("{name}.a{i}")));
                }
                Ty::Array(length) if *wanted == Ty::U32 => found.push(format!("{name}({})", length / 2)),
                _ => {}
            }
        }
        (!found.is_empty()).then(|| self.random.pick(&found).clone())
    }

    /// A call that gives `ty`.
    fn call(&mut self, ty: &Ty, depth: usize) -> String {
        let functions: Vec<usize> =
            (0..self.functions.len()).filter(|&number| self.functions[number].ret == *ty).collect();
        if self.has_fuel && !functions.is_empty() && self.random.below(2) == 0 {
            let number = *self.random.pick(&functions);
            return self.call_function(number, "fuel - 1", depth);
        }
        let closures = self.vars.iter().filter_map(|var| match &var.ty {
            Ty::Fn(params, ret) if **ret == *ty => Some((var.name.clone(), params.clone())),
            _ => None,
        });
        let closures: Vec<_> = closures.collect();
        if !closures.is_empty() && self.random.below(4) != 0 {
            let (name, params) = self.random.pick(&closures).clone();
            let args: Vec<String> = params.iter().map(|ty| self.expr(ty, depth)).collect();
            return format!("{name}({})", args.join(", "));
        }
        match ty {
            Ty::U32 => self.call_library(depth),
            Ty::Bool => {
                format!("{}({} & 7)", ["even", "odd"][self.random.below(2)], self.expr(&Ty::I32, depth))
            }
            _ => self.construct(ty, depth),
        }
    }

    /// A call of the library that gives a `u32`.
    fn call_library(&mut self, depth: usize) -> String {
        let x = self.expr(&Ty::U32, depth);
        let function = Ty::Fn(vec![Ty::U32], Box::new(Ty::U32));
        match self.random.below(9) {
            0 => format!("noted({x})"),
            1 => format!("pow({x}, {} & 7)", self.expr(&Ty::I32, depth)),
            2 => format!("twice({})({x})", self.expr(&function, depth)),
            3 => format!("run(\"{}\", 0, 1u, {x})", ["am", "axsma", "mmsxa", ""][self.random.below(4)]),
            4 => format!("table({x} & 7u)"),
            5 => format!("{}.next()", self.leaf(&Ty::Counter)),
            6 => self.loop_with_result(depth),
            7 => self.checked(&x),
            _ => match self.mutable(&Ty::U32) {
                Some(var) => format!("bump(&mut {var}, {x})"),
                None => format!("noted({x})"),
            },
        }
    }

    /// A call that may leave what is around it.
    fn checked(&mut self, x: &str) -> String {
        if self.exits.is_empty() {
            return format!("noted({x})");
        }
        let (exit, takes) = self.visible_exit();
        let value = takes.map_or(String::new(), |ty| self.exit_value(&ty, 0));
        format!("check({x}, 50u, |bad| -> ! {{ note(bad); {exit}({value}) }})")
    }

    fn loop_with_result(&mut self, depth: usize) -> String {
        let (name, start) = match self.random.below(2) {
            0 => ("fold", ", 1u"),
            _ => ("gather", ""),
        };
        let bound = self.bound();
        let body = self.in_scope(|g| {
            let i = g.define(Ty::I32, false);
            let pattern = if start.is_empty() { i } else { format!("{i}, {}", g.define(Ty::U32, false)) };
            g.exits.push(Exit { name: "break".into(), takes: Some(Ty::U32) });
            g.exits.push(Exit { name: "continue".into(), takes: Some(Ty::U32) });
            format!("{pattern} in {name}(0, {bound}{start}) {}", g.block(&Ty::U32, depth))
        });
        format!("(for {body})")
    }

    /// How often a loop runs at most.
    pub fn bound(&mut self) -> String {
        match self.random.below(3) {
            0 => format!("({} & 3)", self.leaf(&Ty::I32)),
            _ => format!("{}", self.random.below(5)),
        }
    }

    /// A value made from others.
    fn construct(&mut self, ty: &Ty, depth: usize) -> String {
        match ty {
            Ty::U32 => self.arithmetic(depth),
            Ty::I32 => self.signed_arithmetic(depth),
            Ty::Bool => self.comparison(depth),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.expr(ty, depth)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Array(length) => {
                let parts: Vec<String> = (0..*length).map(|_| self.expr(&Ty::U32, depth.min(1))).collect();
                format!("[{}]", parts.join(", "))
            }
            Ty::Struct(number) => {
                let fields = self.types.structs[*number].clone();
                let fields = fields.iter().enumerate();
                let fields: Vec<String> =
                    fields.map(|(i, ty)| format!("a{i}: {}", self.expr(ty, depth))).collect();
                format!("S{number} {{ {} }}", fields.join(", "))
            }
            Ty::Enum(number) => {
                let option = self.random.below(self.types.enums[*number].len());
                let payload = self.types.enums[*number][option].clone();
                let payload: Vec<String> = payload.iter().map(|ty| self.expr(ty, depth)).collect();
                let payload =
                    if payload.is_empty() { String::new() } else { format!("({})", payload.join(", ")) };
                format!("E{number}::O{option}{payload}")
            }
            Ty::Fn(params, ret) => self.lambda(params, ret, depth),
            Ty::Counter => format!("make_counter({})", self.expr(&Ty::U32, depth)),
        }
    }

    pub fn lambda(&mut self, params: &[Ty], ret: &Ty, depth: usize) -> String {
        self.in_scope(|g| {
            // The exits around it are those of a call that may be over.
            let exits = std::mem::take(&mut g.exits);
            g.exits.push(Exit { name: "return".into(), takes: Some(ret.clone()) });
            let mut named = vec![];
            for ty in params {
                named.push(format!("{}: {}", g.define(ty.clone(), false), g.types.show(ty)));
            }
            let body = if g.one_in(2) { g.block(ret, depth) } else { g.expr(ret, depth) };
            g.exits = exits;
            format!("|{}| -> {} {{ {body} }}", named.join(", "), g.types.show(ret))
        })
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        let (a, b) = (self.expr(&Ty::U32, depth), self.expr(&Ty::U32, depth));
        match self.random.below(11) {
            0 => format!("({a} - {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} & {b})"),
            3 => format!("({a} | {b})"),
            4 => format!("({a} ^ {b})"),
            5 => format!("({a} / ({b} | 1u))"),
            6 => format!("({a} % ({b} | 1u))"),
            7 => format!("({a} << ({b} & 31u))"),
            8 => format!("({a} >> ({b} & 31u))"),
            9 => format!("({} as u32)", self.expr(&Ty::I32, depth)),
            _ => format!("({a} + {b})"),
        }
    }

    fn signed_arithmetic(&mut self, depth: usize) -> String {
        let (a, b) = (self.expr(&Ty::I32, depth), self.expr(&Ty::I32, depth));
        match self.random.below(7) {
            0 => format!("(({a} & 1023) - ({b} & 1023))"),
            1 => format!("(({a} & 255) * ({b} & 255))"),
            2 => format!("({a} ^ {b})"),
            3 => format!("({a} / (({b} & 15) + 1))"),
            4 => format!("({a} >> ({b} & 31))"),
            5 => format!("({} as i32)", self.expr(&Ty::U32, depth)),
            _ => format!("(({a} & 1023) + ({b} & 1023))"),
        }
    }

    fn comparison(&mut self, depth: usize) -> String {
        let ty = if self.one_in(2) { Ty::I32 } else { Ty::U32 };
        match self.random.below(6) {
            0 => format!("({} && {})", self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth)),
            1 => format!("({} || {})", self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth)),
            2 => format!("(!{})", self.expr(&Ty::Bool, depth)),
            n => {
                let operator = ["<", "==", ">="][n - 3];
                format!("({} {operator} {})", self.expr(&ty, depth), self.expr(&ty, depth))
            }
        }
    }
}
