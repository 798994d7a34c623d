//! One function: its header, its blocks, and the values in them.
//!
//! [`Printer`] says which part is written when. Parameters of blocks are phis.
//!
//! A large aggregate that is read from memory or changed stays in memory, in a variable of the operation that
//! computes it; LLVM takes long over large values. It is read from there where an instruction needs it as a value.
//! The variable is written again only when the operation is executed again, and then its old value can be meant by
//! a phi only, which holds a value.

use nyala_ir::analysis::{Function, Mode};
use nyala_ir::{Def, Ty, World};

use super::ModuleWriter;
use super::accesses::LaneAccesses;
use super::angles::Angles;
use super::closures::ENVIRONMENT;
use super::debug::FunctionDebug;
use super::frame::Frame;
use super::rare_paths;
use super::text::FunctionText;
use super::value::{Type, Value};
use crate::skeleton::Printer;
use crate::skeleton::flow::Flow;
use crate::skeleton::values::Values;

/// A function that is being written.
pub(crate) struct FunctionWriter<'m, 'w> {
    pub(super) module: &'m mut ModuleWriter<'w>,
    pub(super) world: &'w World,
    pub(super) flow: Flow<'w>,
    pub(super) frame: Frame,
    pub(super) debug: FunctionDebug,
    pub(super) accesses: LaneAccesses,
    pub(super) angles: Angles,
    values: Values<String>,
    /// Addresses of large values.
    addresses: Values<String>,
    text: FunctionText,
}

impl<'m, 'w> FunctionWriter<'m, 'w> {
    /// The function as text.
    pub(crate) fn write(module: &'m mut ModuleWriter<'w>, function: &'w Function) -> String {
        let (world, program) = (module.world, module.program);
        let frame = Frame::of(program, function);
        let mut flow = Flow::new(program, function, Mode::Machine, frame.is_free_at_tail_calls);
        flow.reorder(|operations| rare_paths::order(world, operations));
        let mut writer = FunctionWriter {
            debug: FunctionDebug::new(module, function),
            accesses: LaneAccesses::of(&flow),
            angles: Angles::of(&flow),
            module,
            world,
            flow,
            frame,
            values: Values::default(),
            addresses: Values::default(),
            text: FunctionText::new(),
        };
        let env = (!function.captures.is_empty()).then(|| writer.temporary("env"));
        let header = writer.header(env.as_deref());
        writer.make_blocks();
        if let Some(env) = env {
            writer.open_environment(&env);
        }
        writer.write_blocks();
        format!("{header}{}}}\n", writer.text.finish())
    }

    fn header(&mut self, env: Option<&str>) -> String {
        let cont = self.flow.function.entry;
        let known = self.environment_facts();
        let mut params: Vec<String> = env.iter().map(|env| format!("{ENVIRONMENT}{known} {env}")).collect();
        let arguments = self.take_params(cont);
        params.extend(arguments.params);
        for (param, value) in arguments.values {
            self.values.set_param(param, 0, value);
        }
        let result = self.result();
        let name = self.module.function_name(cont);
        let (debug, convention) = (self.debug.attachment(), arguments.convention);
        format!("define internal {convention}{result} {name}({}) #0 {debug}{{\n", params.join(", "))
    }

    /// What the function returns.
    pub(crate) fn result(&mut self) -> Type {
        let results = self.flow.program.results_of(self.flow.function);
        self.module.types.results(&results)
    }

    fn make_blocks(&mut self) {
        let is_entry_jumped_to = self.flow.is_entry_jumped_to();
        self.text.reserve_entry();
        for block in 0..self.flow.n_blocks() {
            let cont = self.flow.cont(block);
            if block == 0 && !is_entry_jumped_to {
                self.text.add_block(None);
                continue;
            }
            let name = self.world.cont(cont).name;
            self.text.add_block(Some(if block == 0 { "start" } else { name.as_str() }));
            for param in self.flow.program.value_params(cont) {
                self.add_phi(block, param);
            }
            self.text.add_latch(&self.flow);
        }
    }

    fn add_phi(&mut self, block: usize, param: Def) {
        let (name, ty) = (self.fresh(param, "x"), self.module.ty_of(param));
        let initial = self.values.remove_param(param);
        self.text.add_phi(name.clone(), ty, initial);
        self.values.set_param(param, block, name);
    }

    // ---- Values -------------------------------------------------------------------

    /// Says what the value of `def` is, from the current block on.
    pub(crate) fn set(&mut self, def: Def, value: String) {
        self.values.set(def, self.flow.current(), value);
    }

    /// Says where the large value of `def` is.
    pub(crate) fn set_address(&mut self, def: Def, address: String) {
        self.addresses.set(def, self.flow.current(), address);
    }

    /// Where the large value of `def` is, if it is in memory.
    pub(crate) fn address(&self, def: Def) -> Option<String> {
        self.addresses.get(def, &self.flow).cloned()
    }

    /// The value of `def` in the current block.
    pub(crate) fn value(&mut self, def: Def) -> String {
        if let Some(value) = self.values.get(def, &self.flow) {
            return value.clone();
        }
        if let Some(address) = self.address(def) {
            return self.load_from(&address, self.world.ty(def));
        }
        if let Some(constant) = self.module.constant(def) {
            return constant;
        }
        let name = self.world.cont(self.flow.function.entry).name.to_string();
        self.module.unsupported(self.flow.span(), format!("`{name}`, which is not in control-flow form"))
    }

    /// The value of `def` with its type.
    pub(crate) fn typed(&mut self, def: Def) -> Value {
        Value { ty: self.module.ty_of(def), text: self.value(def) }
    }

    // ---- Text ---------------------------------------------------------------------

    /// A new name that looks like what `def` is called.
    pub(crate) fn fresh(&mut self, def: Def, otherwise: &str) -> String {
        let name = self.world.name(def);
        self.temporary(name.as_ref().map_or(otherwise, |name| name.as_str()))
    }

    /// A new name of a value.
    pub(crate) fn temporary(&mut self, wanted: &str) -> String {
        self.text.value_name(wanted)
    }

    /// A new label.
    pub(crate) fn new_label(&mut self, wanted: &str) -> String {
        self.text.new_label(wanted)
    }

    /// Writes an instruction that computes something.
    pub(crate) fn compute(&mut self, wanted: &str, instruction: impl AsRef<str>) -> String {
        let name = self.temporary(wanted);
        self.line(format!("{name} = {}", instruction.as_ref()));
        name
    }

    /// Writes an instruction.
    pub(crate) fn line(&mut self, instruction: impl AsRef<str>) {
        let location = self.instruction_location();
        self.text.line(&format!("{}{location}", instruction.as_ref()));
    }

    /// Writes a line without a place in the source.
    pub(crate) fn raw_line(&mut self, line: &str) {
        self.text.line(line);
    }

    /// Writes a line before the first block.
    pub(crate) fn entry_line(&mut self, line: &str) {
        self.text.entry_line(line);
    }

    /// A local variable; one for the whole call of the function.
    pub(crate) fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String {
        self.text.local(wanted, ty, align, self.module.private_space())
    }

    /// A local variable for a value of the program.
    pub(crate) fn local_of(&mut self, ty: Ty) -> String {
        let (part, align) = (self.module.part_ty(ty), self.module.align_of(ty));
        self.local("tmp", &part, align)
    }

    /// Whether a variable that is made in the current block may be needed when it is made again.
    pub(crate) fn outlives_its_iteration(&self, slot: Def) -> bool {
        self.frame.keeps(slot) && self.flow.is_in_cycle(self.flow.current())
    }

    // ---- Blocks -------------------------------------------------------------------

    /// Begins a block of the program.
    pub(super) fn begin(&mut self, block: usize) {
        self.text.begin_block(block);
    }

    /// Passes values to a block; gives the label to jump to.
    pub(super) fn pass(&mut self, block: usize, values: &[String]) -> String {
        let is_back = self.flow.dominates_current(block);
        self.text.jump(block, is_back, values)
    }

    /// The label of a block of this function that takes no values.
    pub(super) fn label_without_params(&self, block: usize) -> Option<&str> {
        self.text.label_without_phis(block)
    }

    /// Leaves the current block if a condition holds; what comes next is written behind that.
    pub(crate) fn exit_if(&mut self, condition: &str, to: &str) {
        let label = self.new_label("go_on");
        self.line(format!("br i1 {condition}, label %{to}, label %{label}"));
        self.begin_part(&label);
    }

    /// Begins the next part of the current block.
    pub(crate) fn begin_part(&mut self, label: &str) {
        self.text.begin_part(label);
    }

    /// Writes a block that is entered from the current part only; gives its label.
    pub(crate) fn detour(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let (label, outer) = self.text.begin_detour();
        write(self);
        self.text.end_detour(outer);
        label
    }
}
