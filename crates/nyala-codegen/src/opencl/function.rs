//! One function: its blocks, and the values in them.
//!
//! A value may be computed in several blocks of which none dominates another, each copy in a
//! variable of its own: it is looked up from a block. A block's parameters are variables
//! that are written before the jump.

use std::fmt::Write as _;

use nyala_ir::analysis::functions::Uses;
use nyala_ir::analysis::{Cfg, DomTree, Function, Mode, Schedule};
use nyala_ir::{Cont, Def, Ty, World};
use nyala_span::Span;
use rustc_hash::FxHashMap;

use super::{ModuleWriter, Shared};
use crate::KernelShape;
use crate::llvm_asm::is_value;
use crate::llvm_asm::names::Names;

/// A function in the making.
pub(super) struct FunctionWriter<'m, 'w> {
    pub(super) module: &'m mut ModuleWriter<'w>,
    pub(super) world: &'w World,
    pub(super) function: &'w Function,
    pub(super) cfg: Cfg,
    doms: DomTree,
    pub(super) names: Names,
    values: FxHashMap<Def, Vec<(usize, String)>>,
    /// Values that are used once, and the block in which that is.
    used_once: FxHashMap<Def, usize>,
    labels: Vec<String>,
    /// Variables, by their declarations.
    variables: String,
    lines: String,
    vertex: usize,
    /// The call that ends the block.
    pub(super) span: Span,
}

impl<'m, 'w> FunctionWriter<'m, 'w> {
    /// The function as text.
    pub(super) fn write(
        module: &'m mut ModuleWriter<'w>,
        function: &'w Function,
        kernel: Option<&KernelShape<'_>>,
    ) -> String {
        let (world, program) = (module.world, module.program);
        let cfg = Cfg::of_function(world, program, function);
        let schedule = Schedule::of_function(world, program, function, &cfg, Mode::Smart);
        let mut names = Names::default();
        super::RESERVED.iter().for_each(|name| names.reserve(name));
        module.function_names.values().for_each(|name| names.reserve(name));
        let mut writer = FunctionWriter {
            module,
            world,
            function,
            doms: cfg.dominators(),
            cfg,
            names,
            values: FxHashMap::default(),
            used_once: FxHashMap::default(),
            labels: vec![],
            variables: String::new(),
            lines: String::new(),
            vertex: 0,
            span: Span::NONE,
        };
        let head = writer.head(kernel);
        writer.find_single_uses(&schedule);
        writer.make_blocks();
        for vertex in 0..writer.labels.len() {
            writer.block(vertex, &schedule);
        }
        format!("{head} {{\n{}{}}}\n", writer.variables, writer.lines)
    }

    fn head(&mut self, kernel: Option<&KernelShape<'_>>) -> String {
        let cont = self.function.entry;
        let name = self.module.name(cont);
        let mut params = vec![];
        for (index, param) in self.module.value_params(cont).into_iter().enumerate() {
            let (variable, ty) = (self.fresh(param, "x"), self.module.type_of(param));
            let is_apart = kernel.is_some_and(|kernel| kernel.apart.get(index) == Some(&true));
            params.push(format!("{ty} {}{variable}", if is_apart { "restrict " } else { "" }));
            self.values.insert(param, vec![(0, variable)]);
        }
        let shared = self.module.shared.get(&cont).cloned().unwrap_or_default();
        if kernel.is_none() {
            for Shared { name, elem, .. } in &shared {
                params.push(format!("__local {}* {name}", self.module.types.ty(*elem)));
            }
        } else {
            for Shared { name, elem, count, .. } in &shared {
                let elem = self.module.types.ty(*elem);
                writeln!(self.variables, "    __local {elem} {name}[{}];", (*count).max(1))
                    .expect("strings take all text");
            }
        }
        let result = self.result();
        let params = if params.is_empty() { "void".into() } else { params.join(", ") };
        match kernel {
            Some(kernel) => {
                let block = kernel.block.map_or(String::new(), |[x, y, z]| {
                    format!("__attribute__((reqd_work_group_size({x}, {y}, {z}))) ")
                });
                format!("__kernel {block}void {name}({params})")
            }
            None => {
                let head = format!("static {result} {name}({params})");
                writeln!(self.module.prototypes, "{head};").expect("strings take all text");
                head
            }
        }
    }

    /// What the function returns.
    pub(super) fn result(&mut self) -> String {
        let results = self.module.result_types(self.function.ret.map(|ret| self.world.ty(ret)));
        self.module.result_type(&results)
    }

    fn find_single_uses(&mut self, schedule: &Schedule) {
        let mut uses: FxHashMap<Def, Vec<usize>> = FxHashMap::default();
        for (vertex, &cont) in self.cfg.conts().iter().enumerate() {
            for &def in schedule.block(vertex) {
                self.world.for_each_operand(def, |used| uses.entry(used).or_default().push(vertex));
            }
            for &arg in self.world.cont(cont).body.iter().flat_map(|body| &body.args) {
                uses.entry(arg).or_default().push(vertex);
            }
        }
        let single = uses.into_iter().filter_map(|(def, uses)| match uses[..] {
            [vertex] => Some((def, vertex)),
            _ => None,
        });
        self.used_once = single.collect();
    }

    fn make_blocks(&mut self) {
        let is_loop = self.is_loop();
        for (vertex, cont) in self.cfg.conts().to_vec().into_iter().enumerate() {
            let name = self.world.cont(cont).name;
            self.labels.push(self.names.unique(name.as_str()).replace('.', "_"));
            if vertex > 0 && !self.has_one_way_in(vertex) {
                for param in self.module.value_params(cont) {
                    let variable = self.fresh(param, "x");
                    self.declare_for(param, &variable);
                    self.values.insert(param, vec![(vertex, variable)]);
                }
            }
        }
        if !is_loop && let Some(first) = self.labels.first_mut() {
            first.clear();
        }
    }

    /// Whether control comes to a block from one other only; its parameters are what it is
    /// given there.
    fn has_one_way_in(&self, vertex: usize) -> bool {
        vertex > 0 && self.cfg.graph().preds(vertex).count() == 1
    }

    /// Whether the function goes back to its start.
    fn is_loop(&self) -> bool {
        let (world, styles) = (self.world, self.module.program.styles());
        let entry = world.cont_def(self.function.entry);
        self.function.bodies(world).any(|body| {
            self.is_self_jump(body.callee, &body.args)
                || Uses::of(world, styles, body).targets.contains(&entry)
        })
    }

    /// Whether a call starts this function anew, in place of itself.
    pub(super) fn is_self_jump(&self, callee: Def, args: &[Def]) -> bool {
        self.world.as_cont(callee) == Some(self.function.entry)
            && self.function.ret.is_none_or(|ret| args.contains(&ret))
    }

    fn block(&mut self, vertex: usize, schedule: &Schedule) {
        self.vertex = vertex;
        let label = self.labels[vertex].clone();
        let leads_here = format!("    goto {label};\n");
        if self.has_one_way_in(vertex) && self.lines.ends_with(&leads_here) {
            // Control gets here by itself.
            self.lines.truncate(self.lines.len() - leads_here.len());
        } else if !label.is_empty() {
            // A label stands in front of a statement.
            self.lines += &format!("{label}:;\n");
        }
        let body = self.world.cont(self.cfg.conts()[vertex]).body.as_ref();
        self.span = body.map_or(Span::NONE, |body| body.span);
        for &def in schedule.block(vertex) {
            self.operation(def);
        }
        match body {
            Some(body) => self.call(body.callee, &body.args, body.span),
            None => self.unreachable(),
        }
    }

    // ---- Values -------------------------------------------------------------------

    fn fresh(&mut self, def: Def, otherwise: &str) -> String {
        let name = self.world.name(def);
        self.temporary(name.as_ref().map_or(otherwise, |name| name.as_str()))
    }

    /// A new name.
    pub(super) fn temporary(&mut self, wanted: &str) -> String {
        self.names.unique(wanted).replace('.', "_")
    }

    /// Declares a variable for a value.
    pub(super) fn declare_for(&mut self, def: Def, name: &str) {
        let ty = self.module.type_of(def);
        writeln!(self.variables, "    {ty} {name};").expect("strings take all text");
    }

    /// Whether a value is used once, by an operation of the current block or by its end.
    pub(super) fn is_used_here_once(&self, def: Def) -> bool {
        self.used_once.get(&def) == Some(&self.vertex)
    }

    /// Declares a variable.
    pub(super) fn declare(&mut self, ty: Ty, name: &str) {
        let ty = self.module.types.ty(ty);
        writeln!(self.variables, "    {ty} {name};").expect("strings take all text");
    }

    /// Writes a statement.
    pub(super) fn line(&mut self, statement: impl AsRef<str>) {
        writeln!(self.lines, "    {}", statement.as_ref()).expect("strings take all text");
    }

    /// Computes a value into a new variable.
    pub(super) fn compute(&mut self, ty: Ty, wanted: &str, expr: impl AsRef<str>) -> String {
        let name = self.temporary(wanted);
        self.declare(ty, &name);
        self.line(format!("{name} = {};", expr.as_ref()));
        name
    }

    /// Says what the value of `def` is, from the current block on.
    pub(super) fn set(&mut self, def: Def, value: String) {
        self.values.entry(def).or_default().push((self.vertex, value));
    }

    /// The value of `def` in the current block.
    pub(super) fn value(&mut self, def: Def) -> String {
        let copies = self.values.get(&def).map_or(&[][..], |copies| copies);
        let copy = copies.iter().rev().find(|(vertex, _)| self.doms.dominates(*vertex, self.vertex));
        if let Some((_, value)) = copy {
            return value.clone();
        }
        if let Some(constant) = self.module.constant(def) {
            return constant;
        }
        let name = self.world.cont(self.function.entry).name.to_string();
        self.module.unsupported(self.span, format!("`{name}`, which is not in control-flow form"))
    }

    /// The values of arguments. The function's own place to return to is none.
    pub(super) fn values_of(&mut self, args: &[Def]) -> Vec<String> {
        let (world, ret) = (self.world, self.function.ret);
        let is_value = |&&arg: &&Def| is_value(world, world.ty(arg)) && Some(arg) != ret;
        args.iter().filter(is_value).map(|&arg| self.value(arg)).collect()
    }

    /// A new variable like a parameter, with this value.
    fn keep(&mut self, param: Def, value: &str) -> String {
        let name = self.fresh(param, "next");
        self.declare_for(param, &name);
        self.line(format!("{name} = {value};"));
        name
    }

    /// Goes to a block of this function with values for its parameters.
    pub(super) fn jump(&mut self, target: Cont, values: &[String]) {
        let vertex = self.cfg.index(target).expect("only blocks of the function are jumped to");
        let params = self.module.value_params(target);
        if self.has_one_way_in(vertex) {
            for (param, value) in params.into_iter().zip(values) {
                let value = if is_word(value) { value.clone() } else { self.keep(param, value) };
                self.values.insert(param, vec![(vertex, value)]);
            }
            let line = format!("goto {};", self.labels[vertex]);
            return self.line(line);
        }
        let variables: Vec<(Def, String)> =
            params.iter().map(|&param| (param, self.values[&param][0].1.clone())).collect();
        // A value may be in a variable that is written before it is read.
        let is_overwritten = |at: usize| variables[..at].iter().any(|(_, v)| mentions(&values[at], v));
        let mut moves = vec![];
        for (at, (param, variable)) in variables.iter().enumerate() {
            let value = match is_overwritten(at) {
                true => self.keep(*param, &values[at]),
                false => values[at].clone(),
            };
            if *variable != value {
                moves.push(format!("{variable} = {value};"));
            }
        }
        moves.iter().for_each(|statement| self.line(statement));
        let line = format!("goto {};", self.labels[vertex]);
        self.line(line);
    }
}

/// Whether an expression is a name or a number, which may be written often.
fn is_word(expr: &str) -> bool {
    expr.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'))
}

/// Whether an expression has a variable in it.
fn mentions(expr: &str, variable: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    expr.split(|letter: char| !is_part(letter)).any(|word| word == variable)
}
