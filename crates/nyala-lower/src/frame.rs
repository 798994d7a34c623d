//! The block under construction, and the values of variables in it.
//!
//! A [`Frame`] holds the current value of every variable, with a log of changes. Where
//! control flow splits, each path starts from the same state; a path that reaches the
//! end is closed into an [`End`], which records its changes; ends that join make a block
//! with parameters.
//!
//! # Minimal, pruned SSA form
//!
//! The algorithm of Braun et al., run on a skeleton of the function (`ssa`, `skeleton`), decides which
//! variables need a parameter: live variables that different assignments reach. So loops carry only
//! these. At a forward join all values exist already, and a parameter is omitted as well if all of them
//! are the same node, as in Braun's algorithm. One difference is left: at a loop header, the
//! values of back edges are unknown when its parameters are made. So a variable that is
//! assigned its current value is carried all the same, and so is one whose assignment
//! is never reached.
//!
//! # Invariants
//!
//! * Targets of `branch` and `switch` are blocks `cn(mem)` with one predecessor,
//!   or blocks that no variable reaches changed.
//! * Each block's first parameter is its memory.
//! * A variable that is dead has no value.
//! * Once a construct never produces a value (its lowering gave `None`), the
//!   frame has no block to continue in, until one is entered.

use nyala_ir::{Cont, Def, Node, Ty, World};
use nyala_sema::tree::LocalId;
use nyala_span::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::instance::InstanceId;
use crate::lowerer::Lowerer;
use crate::skeleton::Join;

/// A function or lambda being lowered.
pub(crate) struct Frame {
    /// The instance that owns it, for lookups of variables and type arguments.
    pub(crate) instance: InstanceId,
    /// The block under construction.
    pub(crate) block: Cont,
    /// The memory at this point of the block.
    pub(crate) mem: Def,
    /// Whether calls of known functions are expanded in place: in the initializer of a static.
    pub(crate) expands_calls: bool,
    /// The enclosing loops whose jumps are only called by name, by their `break`.
    pub(crate) loops: FxHashMap<LocalId, OpenLoop>,
    /// The values of mutable variables that are not slots; `None` if the variable is dead.
    vars: FxHashMap<LocalId, Option<Def>>,
    /// Changes to `vars`, with the old values.
    log: Vec<(LocalId, Option<Option<Def>>)>,
}

/// A loop whose body is being lowered.
pub(crate) struct OpenLoop {
    pub(crate) head: Cont,
    /// The variables that are parameters of the head.
    pub(crate) carried: Vec<LocalId>,
    /// The state at the head.
    pub(crate) base: Mark,
    /// The paths that have left the loop.
    pub(crate) breaks: Vec<End>,
}

/// A saved state.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

/// The open end of a path: a block without body.
#[derive(Clone)]
pub(crate) struct End {
    block: Cont,
    mem: Def,
    /// The changes of the path since control flow split.
    changes: Vec<(LocalId, Option<Def>)>,
    /// Its value.
    value: Option<Def>,
}

impl End {
    /// The same path, with its value.
    pub(crate) fn with_value(self, value: Def) -> End {
        End { value: Some(value), ..self }
    }

    /// The same path, continued at `mem` of another block.
    pub(crate) fn led_to(&self, block: Cont, mem: Def) -> End {
        End { block, mem, ..self.clone() }
    }
}

impl Frame {
    /// A frame that starts at the beginning of `block`.
    pub(crate) fn new(world: &World, instance: InstanceId, block: Cont) -> Frame {
        let mem = world.param(block, 0);
        let (loops, vars) = (FxHashMap::default(), FxHashMap::default());
        Frame { instance, block, mem, expands_calls: false, loops, vars, log: vec![] }
    }

    /// The frame outside of functions; no code is built in it.
    pub(crate) fn idle(world: &mut World, instance: InstanceId) -> Frame {
        let mem = world.types.mem();
        let block = world.new_cont("idle", &[mem]);
        Frame::new(world, instance, block)
    }

    /// The value of a variable.
    pub(crate) fn var(&self, local: LocalId) -> Option<Def> {
        self.vars.get(&local).copied().flatten()
    }

    /// Assigns a variable.
    pub(crate) fn set_var(&mut self, local: LocalId, value: Def) {
        self.change(local, Some(value));
    }

    fn change(&mut self, local: LocalId, value: Option<Def>) {
        let before = self.vars.insert(local, value);
        self.log.push((local, before));
    }

    /// The current state.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Undoes all changes since `mark`.
    fn roll_back(&mut self, mark: Mark) {
        for (local, before) in self.log.drain(mark.0..).rev() {
            match before {
                Some(value) => self.vars.insert(local, value),
                None => self.vars.remove(&local),
            };
        }
    }

    /// The variables of `mark`'s state that have another value now, in the order
    /// of their first change.
    fn changes(&self, mark: Mark) -> Vec<(LocalId, Option<Def>)> {
        let mut seen = FxHashSet::default();
        let changed = self.log[mark.0..].iter().filter(|(local, before)| {
            // A variable without value in that state was declared later: it is out of scope at the join.
            seen.insert(*local) && before.is_some()
        });
        changed.map(|&(local, _)| (local, self.var(local))).collect()
    }
}

impl Lowerer<'_> {
    /// A new block with parameters after its memory.
    pub(crate) fn new_block(&mut self, name: &'static str, params: &[Ty]) -> Cont {
        let all: Vec<Ty> = std::iter::once(self.world.types.mem()).chain(params.iter().copied()).collect();
        self.world.new_cont(name, &all)
    }

    /// Assigns a parameter to a variable, and names the parameter after it.
    pub(crate) fn take_param(&mut self, local: LocalId, param: Def) {
        self.name_after(local, param);
        self.frame.set_var(local, param);
    }

    /// Names a value after its variable, unless it is a constant.
    pub(crate) fn name_after(&mut self, local: LocalId, value: Def) {
        let name = self.program.locals[local].name;
        self.name_value(name, value);
        // Operations are computed where their values are used, which may be later than a debugger looks.
        let is_param = matches!(self.world.node(value), Node::Param { .. });
        if !is_param && self.world.name(value) == Some(name) {
            self.tell_debuggers_of(local, value);
        }
    }

    /// Names a value, unless it is a constant or already has a name: `debuggers` handles these.
    pub(crate) fn name_value(&mut self, name: Name, value: Def) {
        let may_be_named = match self.world.node(value) {
            Node::Param { .. } => true,
            Node::Cont(_) => false,
            _ => {
                let mut is_operation = false;
                self.world.for_each_operand(value, |_| is_operation = true);
                is_operation && self.options.name_values
            }
        };
        if name.is_underscore() {
            return;
        }
        match self.world.name(value) {
            Some(same) if same == name => {}
            None if may_be_named && !self.is_made_of_known_parts(value) => self.world.set_name(value, name),
            _ => self.tell_debuggers(name, value),
        }
    }

    /// Continues at the beginning of `block`.
    pub(crate) fn enter(&mut self, block: Cont) {
        self.frame.block = block;
        self.frame.mem = self.world.param(block, 0);
    }

    /// Ends the current block with `callee(mem, args..)`.
    pub(crate) fn jump(&mut self, callee: Def, args: &[Def]) {
        let all: Vec<Def> = std::iter::once(self.frame.mem).chain(args.iter().copied()).collect();
        self.world.set_body(self.frame.block, callee, all);
    }

    /// Closes the current path and restores `base`.
    pub(crate) fn close(&mut self, base: Mark, value: Option<Def>) -> End {
        let end = self.end(base, value);
        self.frame.roll_back(base);
        end
    }

    /// The current path, as changes from `base`.
    pub(crate) fn end(&self, base: Mark, value: Option<Def>) -> End {
        End { block: self.frame.block, mem: self.frame.mem, changes: self.frame.changes(base), value }
    }

    /// Continues the path of `end` from the state `base`.
    pub(crate) fn go_on(&mut self, base: Mark, end: End) {
        self.frame.roll_back(base);
        (self.frame.block, self.frame.mem) = (end.block, end.mem);
        end.changes.into_iter().for_each(|(local, value)| self.frame.change(local, value));
    }

    /// Ends the current block with a branch; returns the two paths.
    pub(crate) fn split(&mut self, base: Mark, cond: Def) -> (End, End) {
        let (then, other) = (self.new_block("if_then", &[]), self.new_block("if_else", &[]));
        let (then_def, other_def) = (self.world.cont_def(then), self.world.cont_def(other));
        self.world.set_branch(self.frame.block, self.frame.mem, cond, then_def, other_def);
        let end = self.close(base, None);
        (end.led_to(then, self.world.param(then, 0)), end.led_to(other, self.world.param(other, 0)))
    }

    /// Continues at the join of `ends`; `false` if there are none.
    pub(crate) fn resume(&mut self, base: Mark, ends: Vec<End>, join: Join) -> bool {
        let exists = !ends.is_empty();
        self.merge(base, ends, join, None);
        exists
    }

    /// Continues at the join of `ends`, with the value they have computed;
    /// `None` if there are no ends.
    pub(crate) fn join(&mut self, base: Mark, ends: Vec<End>, join: Join) -> Option<Def> {
        let first = ends.first()?.value.expect("every joined end has a value");
        let all_equal = ends.iter().all(|end| end.value == Some(first));
        let result = (!all_equal).then(|| self.world.ty(first));
        Some(self.merge(base, ends, join, result).unwrap_or(first))
    }

    /// Creates the block of a join; returns the parameter for the value of the paths if they have a `result`.
    fn merge(&mut self, base: Mark, mut ends: Vec<End>, join: Join, result: Option<Ty>) -> Option<Def> {
        self.frame.roll_back(base);
        if ends.len() <= 1 {
            self.go_on(base, ends.pop()?);
            return None;
        }
        let changed = self.values_of_changed(&ends);
        let needs_param = self.facts.joined_vars(join);
        let needs_param = |local| needs_param.is_none_or(|vars| vars.contains(&local));
        let mut differing: Vec<(LocalId, Vec<Def>)> = vec![];
        let mut settled: Vec<(LocalId, Option<Def>)> = vec![];
        for (local, values) in changed {
            let all_equal = values.iter().all(|&value| value == values[0]);
            match values.iter().copied().collect::<Option<Vec<Def>>>() {
                Some(values) if !all_equal && needs_param(local) => differing.push((local, values)),
                _ => settled.push((local, values[0].filter(|_| all_equal))),
            }
        }
        let mut params: Vec<Ty> = result.into_iter().collect();
        params.extend(differing.iter().map(|(_, values)| self.world.ty(values[0])));
        let block = self.new_block("join", &params);
        let target = self.world.cont_def(block);
        for (i, end) in ends.iter().enumerate() {
            let mut args = vec![end.mem];
            args.extend(result.and(end.value));
            args.extend(differing.iter().map(|(_, values)| values[i]));
            self.world.set_body(end.block, target, args);
        }
        self.enter(block);
        let first_var = 1 + usize::from(result.is_some());
        for (i, &(local, _)) in differing.iter().enumerate() {
            self.take_param(local, self.world.param(block, first_var + i));
        }
        settled.into_iter().for_each(|(local, value)| self.frame.change(local, value));
        result.map(|_| self.world.param(block, 1))
    }

    /// The variables that some of `ends` have changed, in the order of their first changes, with their
    /// values on each.
    fn values_of_changed(&self, ends: &[End]) -> Vec<(LocalId, Vec<Option<Def>>)> {
        let mut changed: Vec<LocalId> = vec![];
        let mut seen = FxHashSet::default();
        let mut on_end: FxHashMap<(usize, LocalId), Option<Def>> = FxHashMap::default();
        for (i, end) in ends.iter().enumerate() {
            for &(local, value) in &end.changes {
                on_end.insert((i, local), value);
                if seen.insert(local) {
                    changed.push(local);
                }
            }
        }
        let values = |local: LocalId| {
            let before = self.frame.var(local);
            (0..ends.len()).map(|i| on_end.get(&(i, local)).copied().unwrap_or(before)).collect()
        };
        changed.into_iter().map(|local| (local, values(local))).collect()
    }
}
