//! One function: its blocks, and the values in them.
//!
//! [`Printer`] says which part is written when. Each copy of a value has a variable of its own. A block's
//! parameters are variables that are assigned before the jump; those of a block with one predecessor are what that
//! block passes.

use std::fmt::{Display, Write as _};

use nyala_ir::analysis::{Function, Mode};
use nyala_ir::{Def, Ty, World};
use rustc_hash::FxHashMap;

use super::expr::Expr;
use super::{ModuleWriter, Shared};
use crate::KernelShape;
use crate::skeleton::Printer;
use crate::skeleton::flow::Flow;
use crate::skeleton::moves::needs_copy;
use crate::skeleton::names::Names;
use crate::skeleton::values::Values;

/// A function that is being written.
pub(super) struct FunctionWriter<'m, 'w> {
    pub(super) module: &'m mut ModuleWriter<'w>,
    pub(super) world: &'w World,
    pub(super) flow: Flow<'w>,
    names: Names,
    values: Values<Expr>,
    /// Values that are used once, and the block in which that is.
    used_once: FxHashMap<Def, usize>,
    /// The labels of blocks; the first block has one only if it is jumped to.
    labels: Vec<Option<String>>,
    /// Declarations of variables.
    variables: String,
    lines: String,
    /// How many statements there are around the one that is being written.
    depth: u32,
    /// Whether control reaches the next block from the last one without a jump.
    falls_through: bool,
}

impl<'m, 'w> FunctionWriter<'m, 'w> {
    /// The function as text.
    pub(super) fn write(
        module: &'m mut ModuleWriter<'w>,
        function: &'w Function,
        kernel: Option<&KernelShape<'_>>,
    ) -> String {
        let flow = Flow::new(module.program, function, Mode::Smart, true);
        let mut names = Names::new('_');
        super::RESERVED.iter().for_each(|name| names.reserve(name));
        module.function_symbols.all().for_each(|name| names.reserve(name));
        let mut writer = FunctionWriter {
            world: module.world,
            module,
            names,
            values: Values::default(),
            used_once: single_uses(&flow),
            flow,
            labels: vec![],
            variables: String::new(),
            lines: String::new(),
            depth: 0,
            falls_through: false,
        };
        let head = writer.head(kernel);
        writer.make_blocks();
        writer.write_blocks();
        format!("{head} {{\n{}{}}}\n", writer.variables, writer.lines)
    }

    fn head(&mut self, kernel: Option<&KernelShape<'_>>) -> String {
        let cont = self.flow.function.entry;
        let name = self.module.name(cont);
        let mut params = vec![];
        for (index, param) in self.flow.program.value_params(cont).into_iter().enumerate() {
            let (variable, ty) = (self.fresh(param, "x"), self.module.type_of(param));
            let is_apart = kernel.is_some_and(|kernel| kernel.apart.get(index) == Some(&true));
            params.push(format!("{ty} {}{variable}", if is_apart { "restrict " } else { "" }));
            self.values.set_param(param, 0, Expr::param(param, variable));
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
        let results = self.flow.program.results_of(self.flow.function);
        self.module.result_type(&results)
    }

    fn make_blocks(&mut self) {
        let is_entry_jumped_to = self.flow.is_entry_jumped_to();
        for block in 0..self.flow.n_blocks() {
            let cont = self.flow.cont(block);
            let label = self.names.unique(self.world.cont(cont).name.as_str());
            self.labels.push((block > 0 || is_entry_jumped_to).then_some(label));
            if block > 0 && !self.flow.has_one_predecessor(block) {
                for param in self.flow.program.value_params(cont) {
                    let variable = self.fresh(param, "x");
                    self.declare_for(param, &variable);
                    self.values.set_param(param, block, Expr::param(param, variable));
                }
            }
        }
    }

    // ---- Values -------------------------------------------------------------------

    fn fresh(&mut self, def: Def, otherwise: &str) -> String {
        let name = self.world.name(def);
        self.temporary(name.as_ref().map_or(otherwise, |name| name.as_str()))
    }

    /// A new name.
    pub(super) fn temporary(&mut self, wanted: &str) -> String {
        self.names.unique(wanted)
    }

    /// Declares a variable for a value.
    fn declare_for(&mut self, def: Def, name: &str) {
        let ty = self.module.type_of(def);
        writeln!(self.variables, "    {ty} {name};").expect("strings take all text");
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
    pub(super) fn compute(&mut self, ty: Ty, wanted: &str, expr: impl Display) -> Expr {
        let name = self.temporary(wanted);
        self.declare(ty, &name);
        self.line(format!("{name} = {expr};"));
        Expr::atom(name)
    }

    /// Remembers the value of an operation: as an expression if it is used once and in this block, else in a variable.
    pub(super) fn set_operation(&mut self, def: Def, expr: String) {
        if self.used_once.get(&def) == Some(&self.flow.current()) {
            let mut reads = vec![];
            self.world.for_each_operand(def, |operand| {
                reads.extend(self.values.get(operand, &self.flow).iter().flat_map(|value| value.reads()));
            });
            return self.set(def, Expr::operation(expr, reads));
        }
        let value = self.keep(def, "v", expr);
        self.set(def, value);
    }

    /// A new variable with the type of a value, and this value.
    fn keep(&mut self, def: Def, otherwise: &str, expr: impl Display) -> Expr {
        let name = self.fresh(def, otherwise);
        self.declare_for(def, &name);
        self.line(format!("{name} = {expr};"));
        Expr::atom(name)
    }

    /// Says what the value of `def` is, from the current block on.
    pub(super) fn set(&mut self, def: Def, value: Expr) {
        self.values.set(def, self.flow.current(), value);
    }

    /// The value of `def` in the current block.
    pub(super) fn value(&mut self, def: Def) -> Expr {
        if let Some(value) = self.values.get(def, &self.flow) {
            return value.clone();
        }
        if let Some(constant) = self.module.constant(def) {
            return constant;
        }
        let name = self.world.cont(self.flow.function.entry).name.to_string();
        self.module.unsupported(self.flow.span(), format!("`{name}`, which is not in control-flow form"));
        Expr::atom("0")
    }

    // ---- Blocks -------------------------------------------------------------------

    /// Writes the label of the current block, unless control only falls into it.
    pub(super) fn begin(&mut self) {
        let falls_through = std::mem::take(&mut self.falls_through);
        if !falls_through && let Some(label) = &self.labels[self.flow.current()] {
            // A label stands in front of a statement.
            self.lines += &format!("{label}:;\n");
        }
    }

    /// Writes statements inside of another one.
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// Assigns values to the parameters of a block.
    pub(super) fn pass(&mut self, block: usize, values: &[Expr]) {
        let params = self.flow.program.value_params(self.flow.cont(block));
        if self.flow.has_one_predecessor(block) {
            for (param, value) in params.into_iter().zip(values) {
                let value = if value.is_atom() { value.clone() } else { self.keep(param, "next", value) };
                self.values.set_param(param, block, value);
            }
            return;
        }
        let copies = needs_copy(params.len().min(values.len()), |value, param| {
            values[value].reads().contains(&params[param])
        });
        let mut moves = vec![];
        for ((&param, value), needs_copy) in params.iter().zip(values).zip(copies) {
            let Some(variable) = self.values.param(param).map(|variable| variable.bare().to_owned()) else {
                continue;
            };
            let value = if needs_copy { self.keep(param, "next", value) } else { value.clone() };
            if !(value.is_atom() && value.bare() == variable) {
                moves.push(format!("{variable} = {value};"));
            }
        }
        moves.iter().for_each(|statement| self.line(statement));
    }

    /// Continues in a block, whose parameters have their values.
    pub(super) fn go_to_block(&mut self, block: usize) {
        let is_next = block == self.flow.current() + 1 && self.depth == 0;
        if is_next && self.flow.has_one_predecessor(block) {
            self.falls_through = true;
        } else if let Some(label) = &self.labels[block] {
            let line = format!("goto {label};");
            self.line(line);
        }
    }
}

/// The values that are used once, and the blocks in which that is.
fn single_uses(flow: &Flow<'_>) -> FxHashMap<Def, usize> {
    let world = flow.program.world;
    let mut uses: FxHashMap<Def, Vec<usize>> = FxHashMap::default();
    for block in 0..flow.n_blocks() {
        for &def in flow.operations(block) {
            world.for_each_operand(def, |used| uses.entry(used).or_default().push(block));
        }
        for &arg in world.cont(flow.cont(block)).body.iter().flat_map(|body| &body.args) {
            uses.entry(arg).or_default().push(block);
        }
    }
    let single = uses.into_iter().filter_map(|(def, uses)| match uses[..] {
        [block] => Some((def, block)),
        _ => None,
    });
    single.collect()
}
