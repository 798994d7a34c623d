//! The machine: registers, memory, and how control moves.
//!
//! Every call is a jump. A function loses its registers when it calls another
//! one; the closure that it passes as return continuation has captured what it
//! needs afterwards. So there is no stack: deep recursion is a long chain of
//! closures on the heap, and a tail call takes no space.
//!
//! # Where to look next
//!
//! [`exec`](crate::exec) executes the operations of a block,
//! [`native`](crate::native) functions without a body, and
//! [`parallel`](crate::parallel) runs instances of parallel bodies.

use std::rc::Rc;

use nyala_ir::{Cont, Linkage, World};
use nyala_span::Span;
use smallvec::SmallVec;

use crate::code::{Block, FRAME, List, Reg, Scope, Target, Term};
use crate::compile::Program;
use crate::errors::{Checked, ErrorKind, malformed};
use crate::graphs::FlowGraphs;
use crate::host::HostState;
use crate::memory::{AT_CALL, Memory};
use crate::parallel::Region;
use crate::value::{Activation, Closure, Code, HeldSlots, KeptAlive, Value};
use crate::{Ending, Io, Options};

/// The state of a run.
pub(crate) struct Machine<'w, 'io> {
    pub(crate) program: Program<'w>,
    pub(crate) memory: Memory,
    pub(crate) regs: Vec<Value>,
    /// Arguments on their way from a call to the parameters.
    pub(crate) args: Vec<Value>,
    pub(crate) scope: Rc<Scope>,
    pub(crate) block: u32,
    /// The registers to clear when control leaves the scope.
    pub(crate) dirty: Dirty,
    /// For each block, the visit of its scope in which it was last executed.
    visits: Vec<u64>,
    n_visits: u64,
    /// The local variables of the function being executed, if it has any.
    pub(crate) activation: Option<Rc<Activation>>,
    /// The variables that the last called closure kept alive. The closure itself may have been dropped.
    pub(crate) held: HeldSlots,
    /// The instance being executed; 0 is the program itself.
    pub(crate) task: u32,
    /// Parallel regions being executed, the innermost last.
    pub(crate) regions: Vec<Region>,
    pub(crate) n_regions: u32,
    /// Calls from C that have not returned, each with the number of regions at that time.
    pub(crate) callbacks: Vec<usize>,
    /// The instances of threads by their ids, until they are joined.
    pub(crate) threads: Vec<Option<u32>>,
    pub(crate) graphs: FlowGraphs,
    pub(crate) host: HostState,
    pub(crate) io: Io<'io>,
    /// The source text of libraries.
    pub(crate) libraries: Vec<Span>,
    steps: u64,
    limit: u64,
    n_consts: usize,
    outcome: Option<Ending>,
}

/// The blocks of the current scope whose registers are in use.
#[derive(Default)]
pub(crate) struct Dirty {
    /// Blocks that were executed since control entered the scope.
    blocks: Vec<u32>,
    /// The block at which a closure entered it.
    entered: Option<u32>,
}

/// The continuation of a call.
#[derive(Clone)]
pub(crate) enum Ret {
    Block(u32),
    Value(Value),
    None,
}

/// The results of a call.
pub(crate) type Results = SmallVec<[Value; 2]>;

impl<'w, 'io> Machine<'w, 'io> {
    pub(crate) fn new(world: &'w World, entry: Cont, options: &Options, io: Io<'io>) -> Machine<'w, 'io> {
        let nothing = Scope {
            id: u32::MAX,
            blocks: vec![],
            ops: vec![],
            defs: vec![],
            pool: vec![],
            shapes: vec![],
            end: FRAME,
        };
        Machine {
            program: Program::new(world, entry),
            memory: Memory::new(options.memory),
            regs: vec![Value::Undef; FRAME as usize],
            args: vec![],
            scope: Rc::new(nothing),
            block: 0,
            dirty: Dirty::default(),
            visits: vec![],
            n_visits: 0,
            activation: None,
            held: HeldSlots::new(),
            task: 0,
            regions: vec![],
            n_regions: 0,
            callbacks: vec![],
            threads: vec![],
            graphs: FlowGraphs::default(),
            host: HostState::new(options),
            io,
            libraries: options.libraries.clone(),
            steps: 0,
            limit: options.steps.unwrap_or(u64::MAX),
            n_consts: 0,
            outcome: None,
        }
    }

    /// Calls `cont` with `args` and a return continuation, and runs to the end.
    pub(crate) fn run(&mut self, cont: Cont, args: Vec<Value>) -> Checked<Ending> {
        self.args = args;
        self.args.push(Closure::value(Code::Halt));
        self.call_cont(cont)?;
        self.run_on()
    }

    /// Runs to the end of the program or of a callback.
    pub(crate) fn run_on(&mut self) -> Checked<Ending> {
        loop {
            if let Some(outcome) = self.outcome.take() {
                return Ok(outcome);
            }
            let scope = self.scope.clone();
            self.run_scope(&scope)?;
        }
    }

    /// Counts steps besides those of operations and calls. The next block checks the limit.
    pub(crate) fn count_steps(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps as u64);
    }

    /// How many steps were taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Executes blocks until control leaves the scope.
    fn run_scope(&mut self, scope: &Scope) -> Checked<()> {
        loop {
            let block = &scope.blocks[self.block as usize];
            self.enter_block(scope, block)?;
            self.exec(scope, block)?;
            self.memory.at = AT_CALL;
            match &block.term {
                Term::Jump { block, args, in_order } => self.jump(scope, *block, *args, *in_order)?,
                Term::Branch { cond, then, other } => {
                    let target = if self.decide(*cond, "a condition")? { *then } else { *other };
                    match target {
                        Target::Block(block) => self.block = block,
                        _ => return self.go(target),
                    }
                }
                Term::Switch { value, default, cases } => {
                    let target = self.choose(*value, *default, cases)?;
                    match target {
                        Target::Block(block) => self.block = block,
                        _ => return self.go(target),
                    }
                }
                Term::Call { cont, args } => {
                    self.take_args(scope, *args);
                    return self.call_cont(*cont);
                }
                Term::CallValue { callee, args } => {
                    self.take_args(scope, *args);
                    let callee = self.regs[*callee as usize].clone();
                    return self.call_value(callee);
                }
                Term::Native { cont, intrinsic, args, ret } => {
                    let args = scope.list(*args).iter().map(|&reg| self.regs[reg as usize].clone());
                    let args: SmallVec<[Value; 4]> = args.collect();
                    let ret = self.ret(*ret);
                    let is_here = matches!(ret, Ret::Block(_));
                    self.native(*cont, *intrinsic, &args, ret)?;
                    // Most calls return to this scope at once.
                    if !is_here || self.outcome.is_some() || self.scope.id != scope.id {
                        return Ok(());
                    }
                }
                Term::Unreachable => return Err(Box::new(ErrorKind::Unreachable)),
                Term::Stop => return malformed("a constant expression is called"),
            }
        }
    }

    /// Counts the steps of a block, and notes that it is executed.
    #[inline]
    fn enter_block(&mut self, scope: &Scope, block: &Block) -> Checked<()> {
        self.steps += u64::from(block.ops.end - block.ops.start) + 1;
        if self.steps > self.limit {
            return Err(Box::new(ErrorKind::OutOfSteps { limit: self.limit }));
        }
        if self.memory.races.is_watching() {
            self.memory.races.enter(scope.id, self.block);
            self.count_iteration(scope, block);
        }
        if !block.owning.is_empty() && self.visits[self.block as usize] != self.n_visits {
            self.visits[self.block as usize] = self.n_visits;
            self.dirty.blocks.push(self.block);
        }
        Ok(())
    }

    /// Jumps to a block of the scope. `in_order` is that of [`Term::Jump`].
    #[inline]
    fn jump(&mut self, scope: &Scope, target: u32, args: List, in_order: bool) -> Checked<()> {
        let block = &scope.blocks[target as usize];
        if block.is_fn && self.activation.is_some() {
            self.jump_to_fn(scope, block, args)?;
        } else if in_order {
            for (&param, &arg) in block.params.iter().zip(scope.list(args)) {
                let value = self.regs[arg as usize].clone();
                self.set(param, value);
            }
        } else {
            self.take_args(scope, args);
            self.set_params(block)?;
        }
        self.block = target;
        Ok(())
    }

    fn choose(&self, value: Reg, default: Target, cases: &[(u64, Target)]) -> Checked<Target> {
        let bits = match self.regs[value as usize] {
            Value::Bits(bits) => bits,
            Value::Undef => return Err(Box::new(ErrorKind::UndefinedUse { what: "a value to match" })),
            _ => return malformed("a switch on a value that is no number"),
        };
        let case = cases.iter().find(|(case, _)| *case == bits);
        Ok(case.map_or(default, |(_, target)| *target))
    }

    /// Continues at a target without arguments.
    fn go(&mut self, target: Target) -> Checked<()> {
        let ret = self.ret(target);
        self.deliver(ret, Results::new())
    }

    fn ret(&self, target: Target) -> Ret {
        match target {
            Target::Block(block) => Ret::Block(block),
            Target::Value(reg) => Ret::Value(self.regs[reg as usize].clone()),
            Target::None => Ret::None,
        }
    }

    /// Passes results to a continuation.
    pub(crate) fn deliver(&mut self, ret: Ret, results: Results) -> Checked<()> {
        match ret {
            Ret::Block(block) => {
                let scope = self.scope.clone();
                let target = &scope.blocks[block as usize];
                self.args.clear();
                self.args.extend(results);
                self.set_params(target)?;
                self.block = block;
                Ok(())
            }
            Ret::Value(callee) => {
                self.args.clear();
                self.args.extend(results);
                self.call_value(callee)
            }
            // The callee is declared not to return.
            Ret::None => Err(Box::new(ErrorKind::Unreachable)),
        }
    }

    pub(crate) fn finish(&mut self, outcome: Ending) {
        self.outcome = Some(outcome);
    }

    // ---- Calls ----------------------------------------------------------------

    fn take_args(&mut self, scope: &Scope, args: List) {
        self.args.clear();
        let regs = &self.regs;
        self.args.extend(scope.list(args).iter().map(|&reg| regs[reg as usize].clone()));
    }

    /// Moves the arguments to the parameters of a block.
    fn set_params(&mut self, block: &Block) -> Checked<()> {
        if self.args.len() != block.params.len() {
            let (expected, found) = (block.params.len(), self.args.len());
            return malformed(format!("{found} arguments for {expected} parameters"));
        }
        for (&param, arg) in block.params.iter().zip(self.args.drain(..)) {
            self.regs[param as usize] = arg;
        }
        Ok(())
    }

    /// Calls a top-level continuation with the arguments in `args`.
    pub(crate) fn call_cont(&mut self, cont: Cont) -> Checked<()> {
        let data = self.program.world.cont(cont);
        if data.body.is_none() {
            return self.call_native(cont);
        }
        let scope = self.program.enter(cont, &mut self.memory)?;
        if !self.program.new_globals.is_empty() {
            self.initialize_globals()?;
        }
        self.leave();
        self.activation = None;
        self.free_dead_slots();
        self.enter(scope, 0)
    }

    /// Calls a declaration as a value: the last argument is its return continuation.
    fn call_native(&mut self, cont: Cont) -> Checked<()> {
        let mut args: SmallVec<[Value; 4]> = self.args.drain(..).collect();
        let ret = match args.last() {
            Some(Value::Fn(_)) => args.pop().map_or(Ret::None, Ret::Value),
            _ => Ret::None,
        };
        let intrinsic = match self.program.world.cont(cont).linkage {
            Linkage::Intrinsic(intrinsic) => Some(intrinsic),
            _ => None,
        };
        self.native(cont, intrinsic, &args, ret)
    }

    /// Calls a value with the arguments in `args`.
    pub(crate) fn call_value(&mut self, callee: Value) -> Checked<()> {
        let mut callee = callee;
        loop {
            let closure = match callee {
                Value::Fn(closure) => closure,
                Value::Undef => return Err(Box::new(ErrorKind::UndefinedUse { what: "a function" })),
                _ => return Err(Box::new(ErrorKind::NotAFunction)),
            };
            self.check_jump(&closure)?;
            match closure.code {
                Code::Func(cont) => return self.call_cont(cont),
                Code::Block(_) => return self.call_block(closure),
                // A jump over a function of C would leave its frame on the stack.
                Code::Halt if !self.callbacks.is_empty() => return Err(Box::new(ErrorKind::JumpOut)),
                Code::ReturnToC { depth } if depth as usize + 1 != self.callbacks.len() => {
                    return Err(Box::new(ErrorKind::JumpOut));
                }
                Code::Halt | Code::ReturnToC { .. } => {
                    let results = std::mem::take(&mut self.args);
                    self.finish(Ending::Results(results));
                    return Ok(());
                }
                Code::InstanceEnd { .. } => {
                    self.leave();
                    self.activation = None;
                    drop(closure);
                    self.free_dead_slots();
                    return self.instance_done();
                }
                Code::KeepAlive => callee = closure.captured[0].clone(),
            }
        }
    }

    fn call_block(&mut self, closure: Rc<Closure>) -> Checked<()> {
        let Code::Block(place) = closure.code else { return malformed("a closure of another kind") };
        self.leave();
        let scope = self.program.scope(place.scope).clone();
        let block = &scope.blocks[place.block as usize];
        self.visit(&scope);
        self.dirty.entered = Some(place.block);
        // The last call of a closure moves its captures.
        match Rc::try_unwrap(closure) {
            Ok(mut closure) => {
                for (&reg, value) in block.live.iter().zip(closure.captured.drain(..)) {
                    self.regs[reg as usize] = value;
                }
                let kept = closure.kept_alive.take().map(|kept| *kept).unwrap_or_default();
                (self.activation, self.held) = (kept.activation, kept.slots);
            }
            Err(closure) => {
                for (&reg, value) in block.live.iter().zip(&closure.captured) {
                    self.regs[reg as usize] = value.clone();
                }
                let kept = closure.kept_alive.as_deref();
                self.activation = kept.and_then(|kept| kept.activation.clone());
                self.held = kept.map(|kept| kept.slots.clone()).unwrap_or_default();
            }
        }
        if block.is_fn {
            self.leave_functions(block.depth);
        }
        self.free_dead_slots();
        self.set_params(block)?;
        self.block = place.block;
        self.scope = scope;
        Ok(())
    }

    fn enter(&mut self, scope: Rc<Scope>, block: u32) -> Checked<()> {
        self.visit(&scope);
        self.load_consts();
        self.set_params(&scope.blocks[block as usize])?;
        self.block = block;
        self.scope = scope;
        Ok(())
    }

    /// Puts new constants into their registers.
    fn load_consts(&mut self) {
        let end = self.program.consts.len().min(FRAME as usize);
        if self.n_consts < end {
            self.regs[self.n_consts..end].clone_from_slice(&self.program.consts[self.n_consts..end]);
            self.n_consts = end;
        }
    }

    /// Control leaves the current function: its registers drop their values.
    pub(crate) fn leave(&mut self) {
        self.keep_activation_alive();
        let Machine { scope, regs, dirty, .. } = self;
        let blocks = dirty.blocks.drain(..).flat_map(|block| &scope.blocks[block as usize].owning);
        let entered = dirty.entered.take().map(|block| &scope.blocks[block as usize].live_owning);
        for &reg in blocks.chain(entered.into_iter().flatten()) {
            regs[reg as usize] = Value::Undef;
        }
    }

    /// Prepares the registers of a scope.
    pub(crate) fn visit(&mut self, scope: &Scope) {
        self.n_visits += 1;
        if self.regs.len() < scope.end as usize {
            self.regs.resize(scope.end as usize, Value::Undef);
        }
        if self.visits.len() < scope.blocks.len() {
            self.visits.resize(scope.blocks.len(), 0);
        }
    }

    pub(crate) fn free_dead_slots(&mut self) {
        if self.memory.has_dead_slots() {
            self.memory.free_dead_slots();
        }
    }

    /// Jumps to a function inside of the scope, which has its own local variables.
    fn jump_to_fn(&mut self, scope: &Scope, target: &Block, args: List) -> Checked<()> {
        self.take_args(scope, args);
        self.keep_activation_alive();
        self.leave_functions(target.depth);
        self.free_dead_slots();
        self.set_params(target)
    }

    /// Leaves the activations of functions that do not enclose a function of this depth.
    fn leave_functions(&mut self, depth: u32) {
        while let Some(activation) = &self.activation
            && activation.depth >= depth
        {
            self.activation = activation.parent.clone();
        }
    }

    /// A tail call leaves the function, but the callee may use its local variables until it calls its return
    /// continuation. If no closure among the arguments keeps the activation alive, the last one is wrapped in
    /// one that does.
    fn keep_activation_alive(&mut self) {
        let Some(activation) = &self.activation else { return };
        let slots = activation.slots.borrow();
        if slots.is_empty() || self.args.iter().any(|arg| keeps_alive(arg, activation)) {
            return;
        }
        let is_used = slots.allocs().any(|alloc| {
            self.memory.is_address_stored(alloc) || self.args.iter().any(|arg| self.points_into(arg, alloc))
        });
        drop(slots);
        if !is_used {
            return;
        }
        if let Some(ret) = self.args.iter_mut().rfind(|arg| matches!(arg, Value::Fn(_))) {
            let mut wrapper = Closure::new(Code::KeepAlive);
            wrapper.task = self.task;
            wrapper.captured.push(std::mem::take(ret));
            let kept_alive = KeptAlive { activation: Some(activation.clone()), slots: SmallVec::new() };
            wrapper.kept_alive = Some(Box::new(kept_alive));
            *ret = Value::Fn(Rc::new(wrapper));
        }
    }

    // ---- Globals --------------------------------------------------------------

    /// Initializes globals that were used for the first time.
    fn initialize_globals(&mut self) -> Checked<()> {
        let world = self.program.world;
        while let Some(global) = self.program.new_globals.pop() {
            let data = world.global(global);
            let Some(addr) = self.program.global_addr(global) else { continue };
            let Some(init) = data.init else {
                self.memory.zero(addr);
                continue;
            };
            let shape = self.program.shapes.of(&world.types, data.ty);
            let value = self.constant(init)?;
            self.memory.initialize(addr, &shape, &value)?;
        }
        Ok(())
    }

    /// The value of a constant expression. The registers of the caller keep their values.
    fn constant(&mut self, def: nyala_ir::Def) -> Checked<Value> {
        let (scope, reg) = self.program.expression(def, &mut self.memory)?;
        let frame = self.regs.split_off(FRAME as usize);
        self.regs.resize(scope.end as usize, Value::Undef);
        self.load_consts();
        let at = self.memory.at;
        let result = self.exec(&scope, &scope.blocks[0]);
        let value = self.regs[reg as usize].clone();
        self.memory.at = at;
        self.regs.truncate(FRAME as usize);
        self.regs.extend(frame);
        result.map(|()| value)
    }
}

/// Whether a value is a closure that keeps an activation alive.
fn keeps_alive(value: &Value, activation: &Rc<Activation>) -> bool {
    let Value::Fn(closure) = value else { return false };
    let mut kept = closure.kept_alive.as_ref().and_then(|kept| kept.activation.as_ref());
    while let Some(one) = kept {
        if Rc::ptr_eq(one, activation) {
            return true;
        }
        kept = one.parent.as_ref();
    }
    false
}
