//! One function: its blocks, and the values in them.
//!
//! Blocks are written in reverse post order, so what dominates a block comes
//! before it. Parameters of blocks become phis, filled in as jumps are written.
//!
//! An operation may be scheduled in several blocks of which none dominates
//! another. So a value is looked up from a block: the copy is taken that was
//! computed in a dominator.
//!
//! A large aggregate that is read from memory or changed stays in memory, in a variable
//! of the operation that computes it; LLVM takes long over large values. It is read
//! from there where an instruction needs it as a value. The variable is written
//! again only when the operation is executed again, and then its old value can be
//! meant by a phi only, which holds a value.

use std::fmt::Write as _;

use nyala_ir::analysis::functions::Uses;
use nyala_ir::analysis::{AddressUse, Cfg, DomTree, Function, Mode, Schedule, address_uses};
use nyala_ir::{Cont, Def, Node, Ty, World};
use nyala_span::{Name, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ModuleWriter;
use super::closures::ENVIRONMENT;
use super::debug::Scope;
use super::gathers::Gathers;
use super::names::Names;
use super::scatters::Scatters;
use super::value::{Scalar, Type, Value};

/// A block in the making.
struct Block {
    label: String,
    /// For each parameter that is a phi, its name, type and incoming values.
    phis: Vec<Phi>,
    /// Where jumps back to the block meet; see Note [One way back].
    latch: Option<Latch>,
    lines: String,
}

/// Note [One way back]: a loop written as tail calls goes back from many places. LLVM would
/// take the values that some of them leave alone for loops within the loop. So where there
/// are several ways back, they meet in a block of their own. It is written behind the last of
/// them, as at the end of a loop in C: LLVM lays loops out in the order of the text.
struct Latch {
    label: String,
    phis: Vec<Phi>,
    /// The last block that jumps to it, once there is one.
    after: Option<usize>,
}

struct Phi {
    name: String,
    ty: Type,
    incoming: Vec<String>,
}

/// A function in the making.
pub(crate) struct FunctionWriter<'m, 'w> {
    pub(crate) module: &'m mut ModuleWriter<'w>,
    pub(crate) world: &'w World,
    pub(crate) function: &'w Function,
    /// Its blocks and how control moves between them.
    pub(crate) cfg: Cfg,
    /// Whether a call in tail position may give up this function's frame.
    pub(crate) frees_frame: bool,
    /// The variables whose address is put into memory or another variable, so that it
    /// may be used when the variable is made again. To lend it to a function that is
    /// called does not count.
    kept: FxHashSet<Def>,
    doms: DomTree,
    names: Names,
    values: FxHashMap<Def, Vec<(usize, String)>>,
    /// Addresses of large values.
    in_memory: FxHashMap<Def, Vec<(usize, String)>>,
    blocks: Vec<Block>,
    /// What is read together, and what is written, in the block that is being written.
    /// Whether lanes access memory. Addresses of lanes that are not there may be outside of what they are in.
    pub(crate) has_lanes: bool,
    pub(crate) gathers: Gathers,
    pub(crate) scatters: Scatters,
    /// Blocks between others, which only pass control on.
    detours: String,
    /// Local variables.
    pub(crate) slots: String,
    /// The block that is being written, and the label of its part.
    vertex: usize,
    label: String,
    /// Whether what is written goes to the detours.
    in_detour: bool,
    /// The call that ends the block.
    pub(crate) span: Span,
    /// The operation that is being written.
    pub(crate) at: Span,
    /// What debuggers are told: the function, and the addresses of its variables by name
    /// and type.
    pub(crate) scope: Option<Scope>,
    pub(crate) variables: FxHashMap<(Name, Ty), String>,
    /// Variables of the program that are in memory: debuggers look at them there.
    pub(crate) in_slots: FxHashSet<(Name, Ty)>,
}

impl<'m, 'w> FunctionWriter<'m, 'w> {
    /// The function as text.
    pub(crate) fn write(module: &'m mut ModuleWriter<'w>, function: &'w Function) -> String {
        let (world, program) = (module.world, module.program);
        let cfg = Cfg::of_function(world, program, function);
        let schedule = Schedule::of_function(world, program, function, &cfg, Mode::Machine);
        let is_slot = |variable: Def| matches!(world.node(variable), Node::Slot { .. });
        let mut uses = address_uses(world, program, function);
        uses.retain(|&(variable, _)| is_slot(variable));
        let is_kept = |how: AddressUse| !matches!(how, AddressUse::Passed { .. });
        let accesses_lanes =
            |&def: &Def| matches!(world.node(def), Node::LoadLanes { .. } | Node::StoreLanes { .. });
        let has_lanes =
            (0..cfg.conts().len()).any(|vertex| schedule.block(vertex).iter().any(accesses_lanes));
        let mut writer = FunctionWriter {
            module,
            world,
            function,
            has_lanes,
            frees_frame: uses.is_empty(),
            kept: uses.into_iter().filter(|&(_, how)| is_kept(how)).map(|(variable, _)| variable).collect(),
            doms: cfg.dominators(),
            cfg,
            names: Names::default(),
            values: FxHashMap::default(),
            in_memory: FxHashMap::default(),
            blocks: vec![],
            gathers: Gathers::default(),
            scatters: Scatters::default(),
            detours: String::new(),
            slots: String::new(),
            vertex: 0,
            label: String::new(),
            in_detour: false,
            span: Span::NONE,
            at: Span::NONE,
            scope: None,
            variables: FxHashMap::default(),
            in_slots: FxHashSet::default(),
        };
        let env = (!function.captures.is_empty()).then(|| writer.temporary("env"));
        let header = writer.header(env.as_deref());
        writer.make_blocks();
        if let Some(env) = env {
            writer.open_environment(&env);
        }
        for vertex in 0..writer.blocks.len() {
            writer.block(vertex, &schedule);
        }
        format!("{header}{}}}\n", writer.body())
    }

    fn header(&mut self, env: Option<&str>) -> String {
        let cont = self.function.entry;
        let known = self.environment_facts();
        let mut params: Vec<String> = env.iter().map(|env| format!("{ENVIRONMENT}{known} {env}")).collect();
        let arguments = self.take_params(cont);
        params.extend(arguments.params);
        for (param, value) in arguments.values {
            self.values.insert(param, vec![(0, value)]);
        }
        let result = self.result();
        let name = self.module.function_name(cont);
        self.scope = self.module.debug.as_mut().map(|debug| debug.function(cont, false));
        let debug = self.scope.as_ref().map_or(String::new(), Scope::attachment);
        let convention = arguments.convention;
        format!("define internal {convention}{result} {name}({}) #0 {debug}{{\n", params.join(", "))
    }

    /// What the function returns.
    pub(crate) fn result(&mut self) -> Type {
        let results = self.module.result_types(self.function.ret.map(|ret| self.world.ty(ret)));
        self.module.types.results(&results)
    }

    fn make_blocks(&mut self) {
        let is_loop = self.is_loop();
        self.names.reserve("entry");
        for (vertex, cont) in self.cfg.conts().to_vec().into_iter().enumerate() {
            let name = self.world.cont(cont).name;
            let label = match vertex {
                0 if !is_loop => "entry".into(),
                0 => self.names.unique("start"),
                _ => self.names.unique(name.as_str()),
            };
            let mut block = Block { label, phis: vec![], latch: None, lines: String::new() };
            if vertex > 0 || is_loop {
                for param in self.module.value_params(cont) {
                    block.phis.push(self.phi(vertex, param));
                }
                block.latch = self.latch(vertex, &block);
            }
            self.blocks.push(block);
        }
    }

    fn latch(&mut self, vertex: usize, block: &Block) -> Option<Latch> {
        let graph = self.cfg.graph();
        let ways_back = graph.preds(vertex).filter(|&pred| self.doms.dominates(vertex, pred)).count();
        if ways_back < 2 || block.phis.is_empty() {
            return None;
        }
        let label = self.names.unique(&format!("{}_again", block.label));
        let again = |phi: &Phi, name: String| Phi { name, ty: phi.ty.clone(), incoming: vec![] };
        let phis = block.phis.iter().map(|phi| again(phi, self.temporary("again"))).collect();
        Some(Latch { label, phis, after: None })
    }

    fn phi(&mut self, vertex: usize, param: Def) -> Phi {
        let name = self.fresh(param, "x");
        let mut incoming = vec![];
        // What the function was called with comes in from its entry.
        if let Some(values) = self.values.remove(&param) {
            incoming.extend(values.into_iter().map(|(_, value)| format!("[ {value}, %entry ]")));
        }
        self.values.insert(param, vec![(vertex, name.clone())]);
        Phi { name, ty: self.module.ty_of(param), incoming }
    }

    /// Whether the function calls itself in tail position, or goes back to its start.
    fn is_loop(&self) -> bool {
        let (world, styles) = (self.world, self.module.program.styles());
        let entry = world.cont_def(self.function.entry);
        self.function.bodies(world).any(|body| {
            self.is_self_jump(body.callee, &body.args)
                || Uses::of(world, styles, body).targets.contains(&entry)
        })
    }

    /// Whether a call starts this function anew, in place of itself.
    pub(crate) fn is_self_jump(&self, callee: Def, args: &[Def]) -> bool {
        let returns_here = |ret: Def| args.contains(&ret);
        self.frees_frame
            && self.world.as_cont(callee) == Some(self.function.entry)
            && self.function.ret.is_none_or(returns_here)
    }

    fn block(&mut self, vertex: usize, schedule: &Schedule) {
        self.vertex = vertex;
        self.label = self.blocks[vertex].label.clone();
        let cont = self.cfg.conts()[vertex];
        let body = self.world.cont(cont).body.as_ref();
        self.span = body.map_or(Span::NONE, |body| body.span);
        self.tell_params(cont, vertex);
        self.gathers = Gathers::new(self.world, schedule.block(vertex));
        self.scatters = Scatters::new(self.world, schedule.block(vertex));
        for &def in schedule.block(vertex) {
            self.at = self.world.span_of(def);
            if let Some(value) = self.operation(def) {
                self.tell(def, &value);
                self.set(def, value);
            }
        }
        self.at = self.span;
        match body {
            Some(body) => self.call(body.callee, &body.args, body.span),
            None => self.line("unreachable"),
        }
    }

    /// Whether debuggers are told of variables; of kernels they know the lines only.
    pub(crate) fn tells_variables(&self) -> bool {
        self.scope.is_some() && self.module.options.gpu.is_none()
    }

    fn tell_params(&mut self, cont: Cont, vertex: usize) {
        if !self.tells_variables() {
            return;
        }
        self.at = self.world.cont(cont).span;
        for (index, param) in self.module.value_params(cont).into_iter().enumerate() {
            let value = self.value(param);
            self.tell_value(param, &value, (vertex == 0).then_some(index));
        }
    }

    /// Tells debuggers of a value or a variable in memory.
    fn tell(&mut self, def: Def, value: &str) {
        if !self.tells_variables() {
            return;
        }
        let pointee = self.world.types.as_ptr(self.world.ty(def)).map(|(pointee, _)| pointee);
        if let Node::Extract { agg, .. } = self.world.node(def)
            && let Node::Slot { .. } = self.world.node(agg)
            && let Some(ty) = pointee
        {
            self.tell_address(def, ty, value);
        } else if !self.is_effect(def) && super::is_value(self.world, self.world.ty(def)) {
            self.tell_value(def, value, None);
        }
    }

    fn body(self) -> String {
        let mut text = format!("entry:\n{}", self.slots);
        if let Some(first) = self.blocks.first().filter(|first| first.label != "entry") {
            writeln!(text, "  br label %{}", first.label).expect("strings take all text");
        }
        let mut latches: Vec<String> = vec![String::new(); self.blocks.len()];
        for (vertex, mut block) in self.blocks.into_iter().enumerate() {
            if block.label != "entry" {
                writeln!(text, "\n{}:", block.label).expect("strings take all text");
            }
            if let Some(latch) = block.latch.take()
                && let Some(after) = latch.after
            {
                for (phi, again) in block.phis.iter_mut().zip(&latch.phis) {
                    phi.incoming.push(format!("[ {}, %{} ]", again.name, latch.label));
                }
                // Inner loops come later than outer ones, and end before them.
                latches[after].insert_str(0, &latch.text(&block.label));
            }
            write_phis(&mut text, &block.phis);
            text += &block.lines;
            text += &latches[vertex];
        }
        text + &self.detours
    }

    // ---- Values -------------------------------------------------------------------

    /// A new name that looks like what `def` is called.
    pub(crate) fn fresh(&mut self, def: Def, otherwise: &str) -> String {
        let name = self.world.name(def);
        format!("%{}", self.names.unique(name.as_ref().map_or(otherwise, |name| name.as_str())))
    }

    /// A new name.
    pub(crate) fn temporary(&mut self, wanted: &str) -> String {
        format!("%{}", self.names.unique(wanted))
    }

    /// A new label.
    pub(crate) fn new_label(&mut self, wanted: &str) -> String {
        self.names.unique(wanted)
    }

    /// Writes an instruction that computes something.
    pub(crate) fn compute(&mut self, wanted: &str, instruction: impl AsRef<str>) -> String {
        let name = self.temporary(wanted);
        self.line(format!("{name} = {}", instruction.as_ref()));
        name
    }

    /// Writes an instruction.
    pub(crate) fn line(&mut self, instruction: impl AsRef<str>) {
        let place = self.instruction_place();
        self.raw_line(&format!("{}{place}", instruction.as_ref()));
    }

    /// Writes something that is no instruction.
    pub(crate) fn raw_line(&mut self, text: &str) {
        let to = if self.in_detour { &mut self.detours } else { &mut self.blocks[self.vertex].lines };
        writeln!(to, "  {text}").expect("strings take all text");
    }

    /// A local variable of LLVM type `ty`; one for the whole call of the function.
    pub(crate) fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String {
        let name = self.temporary(wanted);
        let line = match self.module.private_space() {
            0 => format!("  {name} = alloca {ty}, align {align}\n"),
            space => {
                let own = self.temporary(&format!("{wanted}_private"));
                let pointer = Scalar::Ptr(space);
                format!(
                    "  {own} = alloca {ty}, align {align}, addrspace({space})\n  \
                     {name} = addrspacecast {pointer} {own} to ptr\n"
                )
            }
        };
        self.slots += &line;
        name
    }

    /// Whether a variable that is made here may be needed when it is made again.
    pub(crate) fn outlives_its_round(&self, slot: Def) -> bool {
        self.kept.contains(&slot) && self.is_in_loop()
    }

    /// Whether control can come back to the current block.
    fn is_in_loop(&self) -> bool {
        let graph = self.cfg.graph();
        let mut seen = FxHashSet::default();
        let mut work: Vec<usize> = graph.succs(self.vertex).collect();
        while let Some(vertex) = work.pop() {
            if seen.insert(vertex) {
                work.extend(graph.succs(vertex));
            }
        }
        seen.contains(&self.vertex)
    }

    /// Says what the value of `def` is, from the current block on.
    pub(crate) fn set(&mut self, def: Def, value: String) {
        self.values.entry(def).or_default().push((self.vertex, value));
    }

    /// Says where the large value of `def` is.
    pub(crate) fn set_address(&mut self, def: Def, address: String) {
        self.in_memory.entry(def).or_default().push((self.vertex, address));
    }

    /// Where the large value of `def` is, if it is in memory.
    pub(crate) fn address(&self, def: Def) -> Option<String> {
        self.visible(self.in_memory.get(&def)?)
    }

    /// What was computed in a dominator of the current block.
    fn visible(&self, copies: &[(usize, String)]) -> Option<String> {
        let copy = copies.iter().rev().find(|(vertex, _)| self.doms.dominates(*vertex, self.vertex));
        copy.map(|(_, value)| value.clone())
    }

    /// The value of `def` in the current block.
    pub(crate) fn value(&mut self, def: Def) -> String {
        if let Some(value) = self.values.get(&def).and_then(|copies| self.visible(copies)) {
            return value;
        }
        if let Some(address) = self.address(def) {
            return self.load_from(&address, self.world.ty(def));
        }
        if let Some(constant) = self.module.constant(def) {
            return constant;
        }
        let name = self.world.cont(self.function.entry).name.to_string();
        self.module.unsupported(self.span, format!("`{name}`, which is not in control-flow form"))
    }

    /// The value of `def` with its type.
    pub(crate) fn typed(&mut self, def: Def) -> Value {
        Value { ty: self.module.ty_of(def), text: self.value(def) }
    }

    // ---- Blocks -------------------------------------------------------------------

    /// Goes to a block of this function with values for its parameters.
    pub(crate) fn jump(&mut self, target: Cont, values: &[String]) {
        let vertex = self.cfg.index(target).expect("only blocks of the function are jumped to");
        let label = self.label.clone();
        let is_back = self.doms.dominates(vertex, self.vertex);
        let block = &mut self.blocks[vertex];
        let (to, phis) = match &mut block.latch {
            Some(latch) if is_back => {
                latch.after = Some(self.vertex);
                (&latch.label, &mut latch.phis)
            }
            _ => (&block.label, &mut block.phis),
        };
        for (phi, value) in phis.iter_mut().zip(values) {
            phi.incoming.push(format!("[ {value}, %{label} ]"));
        }
        let line = format!("br label %{to}");
        self.line(line);
    }

    /// The label of a block of this function that takes no data.
    pub(crate) fn block_label(&self, cont: Cont) -> Option<&str> {
        let vertex = self.cfg.index(cont).filter(|&vertex| vertex > 0)?;
        let block = &self.blocks[vertex];
        block.phis.is_empty().then_some(block.label.as_str())
    }

    /// Leaves the current block if a condition holds; what comes next is written behind that.
    pub(crate) fn branch_away(&mut self, condition: &str, to: &str) {
        let label = self.new_label("go_on");
        self.line(format!("br i1 {condition}, label %{to}, label %{label}"));
        self.begin_part(&label);
    }

    /// Begins the next part of the current block.
    pub(crate) fn begin_part(&mut self, label: &str) {
        let text = if self.in_detour { &mut self.detours } else { &mut self.blocks[self.vertex].lines };
        writeln!(text, "\n{label}:").expect("strings take all text");
        label.clone_into(&mut self.label);
    }

    /// Writes a block that is entered from the current one only; gives its label.
    pub(crate) fn detour(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let label = self.new_label("leave");
        let outer = std::mem::replace(&mut self.label, label.clone());
        let was_in_detour = std::mem::replace(&mut self.in_detour, true);
        writeln!(self.detours, "\n{label}:").expect("strings take all text");
        write(self);
        self.in_detour = was_in_detour;
        self.label = outer;
        label
    }
}

impl Latch {
    /// The block as text, which goes on to `header`.
    fn text(&self, header: &str) -> String {
        let mut text = format!("\n{}:\n", self.label);
        write_phis(&mut text, &self.phis);
        text + &format!("  br label %{header}\n")
    }
}

fn write_phis(text: &mut String, phis: &[Phi]) {
    for phi in phis {
        let incoming = phi.incoming.join(", ");
        writeln!(text, "  {} = phi {} {incoming}", phi.name, phi.ty).expect("strings take all text");
    }
}
