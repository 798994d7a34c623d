//! Random expressions.

use super::types::Ty;
use super::{Exit, Function, Generator, Region};

/// A placeholder for an index.
const INDEX: &str = "INDEX";

impl Generator<'_> {
    /// An expression of type `ty`, nested at most `depth` deep.
    pub fn expr(&mut self, ty: &Ty, depth: usize) -> String {
        if depth == 0 || self.left == 0 {
            return self.leaf(ty);
        }
        self.left -= 1;
        match self.random.below(15) {
            0 | 1 => self.leaf(ty),
            14 => self.call_generic(ty, depth - 1),
            2 => self.conditional(ty, depth - 1),
            3 => self.decision(ty, depth - 1),
            4 => self.block(ty, depth - 1),
            5 | 6 => self.call(ty, depth - 1),
            7 => self.part(ty).unwrap_or_else(|| self.leaf(ty)),
            _ => self.construct(ty, depth - 1),
        }
    }

    /// A variable, or a constant.
    pub fn leaf(&mut self, ty: &Ty) -> String {
        let fitting: Vec<&str> =
            self.vars.iter().filter(|var| var.ty == *ty).map(|var| var.name.as_str()).collect();
        if !fitting.is_empty() && self.random.below(4) != 0 {
            return (*self.random.pick(&fitting)).to_owned();
        }
        match ty {
            Ty::U32 => format!("{}u", [0, 1, 2, 3, 7, 100, 65_536, u32::MAX][self.random.below(8)]),
            Ty::I32 => format!("{}", [0, 1, 2, 3, 5, 1000][self.random.below(6)]),
            Ty::Bool => ["true", "false"][self.random.below(2)].into(),
            Ty::Num(num) => self.literal(*num),
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
                Ty::Array(element, length) if **element == *wanted => {
                    found.push(format!("{name}({})", length / 2));
                    found.push(format!("{name}({INDEX} & {})", length - 1));
                }
                _ => {}
            }
        }
        let found = (!found.is_empty()).then(|| self.random.pick(&found).clone())?;
        Some(found.replace(INDEX, &self.leaf(&Ty::I32)))
    }

    /// A call of a generic function with the result type `ty`.
    fn call_generic(&mut self, ty: &Ty, depth: usize) -> String {
        let shown = self.types.show(ty);
        match self.random.below(4) {
            0 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("choose({}, {a}, {b})", self.expr(&Ty::Bool, depth))
            }
            1 if self.region != Region::Kernel => {
                let from = self.types.data(self.random);
                let x = self.expr(&from, depth);
                format!("apply({x}, {})", self.lambda_here(&[from], ty, depth))
            }
            2 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("second[{shown}](two({a}, {b}))")
            }
            _ => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let some =
                    if self.one_in(2) { format!("some[{shown}]({a})") } else { format!("none[{shown}]()") };
                format!("or_else[{shown}]({some}, {b})")
            }
        }
    }

    /// A call with the result type `ty`.
    fn call(&mut self, ty: &Ty, depth: usize) -> String {
        let fits = |function: &Function| function.ret == *ty && (self.sink.is_none() || function.is_pure);
        let functions: Vec<usize> =
            (0..self.functions.len()).filter(|&number| fits(&self.functions[number])).collect();
        if let Some(fuel) = self.fuel
            && !functions.is_empty()
            && self.one_in(2)
        {
            let number = *self.random.pick(&functions);
            return self.call_function(number, fuel, depth);
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
            _ if self.region == Region::Kernel => self.construct(ty, depth),
            Ty::U32 => self.call_library(depth),
            Ty::Bool => {
                format!("{}({} & 7)", ["even", "odd"][self.random.below(2)], self.expr(&Ty::I32, depth))
            }
            _ => self.construct(ty, depth),
        }
    }

    /// A call of the library with the result type `u32`.
    fn call_library(&mut self, depth: usize) -> String {
        let x = self.expr(&Ty::U32, depth);
        let function = Ty::Fn(vec![Ty::U32], Box::new(Ty::U32));
        match self.random.below(10) {
            0 => self.noted(&x),
            9 => self.sum(&x),
            1 => format!("pow({x}, {} & 7)", self.expr(&Ty::I32, depth)),
            2 if self.one_in(2) => {
                format!("twice({})({x})", self.lambda_here(&[Ty::U32], &Ty::U32, depth))
            }
            2 => format!("twice({})({x})", self.expr(&function, depth)),
            3 => format!("run(\"{}\", 0, 1u, {x})", ["am", "axsma", "mmsxa", ""][self.random.below(4)]),
            4 => format!("table({x} & 7u)"),
            5 => format!("{}.next()", self.leaf(&Ty::Counter)),
            6 => self.loop_with_result(depth),
            7 => self.checked(&x),
            _ => match self.mutable(&Ty::U32) {
                Some(place) => format!("bump(&mut {place}, {x})"),
                None => self.noted(&x),
            },
        }
    }

    /// Notes `x`, and returns it.
    fn noted(&self, x: &str) -> String {
        match &self.sink {
            Some(sink) => format!("noted_in(&mut {sink}, {x})"),
            None => format!("noted({x})"),
        }
    }

    /// A sum over a slice of a local array; notes `x` if there is none.
    fn sum(&mut self, x: &str) -> String {
        let arrays = self.vars.iter().filter_map(|var| match &var.ty {
            Ty::Array(element, length) if **element == Ty::U32 => {
                Some(format!("sum(&{}, {length})", var.name))
            }
            _ => None,
        });
        let arrays: Vec<String> = arrays.collect();
        if arrays.is_empty() { self.noted(x) } else { format!("({} + {x})", self.random.pick(&arrays)) }
    }

    /// A call that may leave an enclosing construct.
    fn checked(&mut self, x: &str) -> String {
        if self.exits.is_empty() {
            return self.noted(x);
        }
        let (exit, takes) = self.visible_exit();
        let value = takes.map_or(String::new(), |ty| self.exit_value(&ty, 0));
        format!("check({x}, 50u, |bad| -> ! {{ {} {exit}({value}) }})", self.note("bad"))
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

    /// The maximum number of iterations of a loop.
    pub fn bound(&mut self) -> String {
        match self.random.below(3) {
            0 => format!("({} & 3)", self.leaf(&Ty::I32)),
            _ => format!("{}", self.random.below(5)),
        }
    }

    /// A value constructed from others.
    fn construct(&mut self, ty: &Ty, depth: usize) -> String {
        match ty {
            Ty::U32 => self.arithmetic(depth),
            Ty::I32 => self.signed_arithmetic(depth),
            Ty::Bool => self.comparison(depth),
            Ty::Num(num) => self.number(*num, depth),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.expr(ty, depth)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Array(element, length) => {
                let parts: Vec<String> = (0..*length).map(|_| self.expr(element, depth.min(1))).collect();
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

    /// A function that may be called after the enclosing call has ended. So it does not use its exits.
    pub fn lambda(&mut self, params: &[Ty], ret: &Ty, depth: usize) -> String {
        let exits = std::mem::take(&mut self.exits);
        let lambda = self.lambda_here(params, ret, depth);
        self.exits = exits;
        lambda
    }

    /// A function that is called only here: it may leave an enclosing construct.
    fn lambda_here(&mut self, params: &[Ty], ret: &Ty, depth: usize) -> String {
        self.in_scope(|g| {
            g.exits.push(Exit { name: "return".into(), takes: Some(ret.clone()) });
            let mut named = vec![];
            for ty in params {
                named.push(format!("{}: {}", g.define(ty.clone(), false), g.types.show(ty)));
            }
            let body = if g.one_in(2) { g.block(ret, depth) } else { g.expr(ret, depth) };
            format!("|{}| -> {} {{ {body} }}", named.join(", "), g.types.show(ret))
        })
    }
}
