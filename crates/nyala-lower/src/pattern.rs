//! Patterns: bindings, and the decision trees of matches.
//!
//! Matching has no effects, so tests can be done in any order. They are done row
//! by row: one `switch` or `branch` does the first test of the first row, and of all rows
//! directly below that test the same part. The other rows are tested if that fails.
//! So each arm is reached on one path only, and the code is never larger than the
//! patterns.

use std::collections::VecDeque;

use nyala_ir::{CmpOp, Cont, Def, Prim, TyKind};
use nyala_sema::tree::{Expr, LocalId, Pat, PatKind};
use nyala_sema::visit;
use nyala_span::Span;
use nyala_syntax::ast::BinaryOp;
use rustc_hash::FxHashMap;

use crate::lowerer::Lowerer;
use crate::vectors;

/// The result of compiling a match.
pub(crate) struct Decision {
    /// The start of each arm; `None` for an unreachable arm.
    pub(crate) leaves: Vec<Option<Leaf>>,
    /// Whether some value matches no arm.
    pub(crate) may_fail: bool,
}

/// The start of an arm.
pub(crate) struct Leaf {
    pub(crate) block: Cont,
    pub(crate) mem: Def,
    bindings: Vec<(LocalId, Def)>,
}

/// An arm that may still match.
struct Row<'p> {
    arm: usize,
    /// The remaining tests: values with literals or options.
    tests: Vec<(Def, &'p Pat)>,
    bindings: Vec<(LocalId, Def)>,
}

/// A block with the rows to be tested in it.
struct Task<'p> {
    block: Cont,
    mem: Def,
    /// A queue, because there may be many rows.
    rows: VecDeque<Row<'p>>,
    /// The target if no row matches; `None` if one must match.
    fail: Option<Cont>,
}

/// A test at the end of a block.
struct Test {
    block: Cont,
    mem: Def,
    value: Def,
    /// The target if no group matches.
    next: Option<Cont>,
    /// The groups cover all values.
    is_complete: bool,
}

/// Rows that make the same test with the same outcome.
struct Group<'p> {
    key: u64,
    rows: Vec<Row<'p>>,
}

// ---- Binding --------------------------------------------------------------------

impl<'p> Lowerer<'p> {
    /// Binds the variables of an irrefutable pattern.
    pub(crate) fn bind_pat(&mut self, pat: &'p Pat, value: Def) {
        for (local, value) in self.pat_bindings(pat, value) {
            self.bind_local(local, Some(value));
        }
    }

    /// The variables of an irrefutable pattern, with their values.
    pub(crate) fn pat_bindings(&mut self, pat: &'p Pat, value: Def) -> Vec<(LocalId, Def)> {
        let mut row = Row { arm: 0, tests: vec![], bindings: vec![] };
        self.add_tests(&mut row, value, pat);
        // An enum with one option is irrefutable: its payload needs no test of the tag.
        while let Some((value, pat)) = row.tests.pop() {
            self.add_payload_tests(&mut row, value, pat);
        }
        row.bindings
    }

    /// Whether a pattern matches, as a node, and its variables with the values they have
    /// if it does.
    pub(crate) fn pat_test(&mut self, pat: &'p Pat, value: Def) -> (Def, Vec<(LocalId, Def)>) {
        let mut row = Row { arm: 0, tests: vec![], bindings: vec![] };
        self.add_tests(&mut row, value, pat);
        let mut all = self.world.lit_bool(true);
        while let Some((value, pat)) = row.tests.pop() {
            let (number, prim) = self.tested(value);
            let key = self.world.lit(prim, test_key(pat));
            let holds = self.world.cmp(CmpOp::Eq, number, key);
            all = self.binary_op(BinaryOp::And, all, holds);
            self.add_payload_tests(&mut row, value, pat);
        }
        (all, row.bindings)
    }

    /// Declares the variables of a pattern without value.
    pub(crate) fn bind_uninit(&mut self, pat: &Pat) {
        for local in visit::bindings(pat) {
            self.bind_local(local, None);
        }
    }

    /// Binds the variables of an arm, at its beginning.
    pub(crate) fn bind_leaf(&mut self, leaf: Leaf) {
        for (local, value) in leaf.bindings {
            self.bind_local(local, Some(value));
        }
    }
}

// ---- Matching -------------------------------------------------------------------

impl<'p> Lowerer<'p> {
    /// Lowers each arm of a match on its path, by `arm`.
    pub(crate) fn match_arms(
        &mut self,
        span: Span,
        scrutinee: &'p Expr,
        arms: &'p [(Pat, Expr)],
        arm: &mut dyn FnMut(&mut Self, &'p Expr),
    ) {
        if let Some(scrutinee) = self.value(scrutinee) {
            self.match_on(span, scrutinee, arms, arm);
        }
    }

    /// As [`Lowerer::match_arms`], on a value.
    pub(crate) fn match_on(
        &mut self,
        span: Span,
        scrutinee: Def,
        arms: &'p [(Pat, Expr)],
        arm: &mut dyn FnMut(&mut Self, &'p Expr),
    ) {
        self.at(span);
        let decision = self.decide(scrutinee, arms.iter().map(|(pat, _)| pat), None);
        let base = self.frame.mark();
        let before = self.close(base, None);
        for (leaf, (_, value)) in decision.leaves.into_iter().zip(arms) {
            let Some(leaf) = leaf else { continue };
            self.go_on(base, before.led_to(leaf.block, leaf.mem));
            self.bind_leaf(leaf);
            arm(self, value);
        }
    }

    /// Ends the current block with a jump to the first pattern that matches `value`.
    pub(crate) fn decide(
        &mut self,
        value: Def,
        pats: impl Iterator<Item = &'p Pat>,
        fail: Option<Cont>,
    ) -> Decision {
        let mut rows = VecDeque::new();
        for (arm, pat) in pats.enumerate() {
            let mut row = Row { arm, tests: vec![], bindings: vec![] };
            self.add_tests(&mut row, value, pat);
            rows.push_back(row);
        }
        let leaves = rows.iter().map(|_| None).collect();
        let mut decision = Decision { leaves, may_fail: false };
        let mut tasks = vec![Task { block: self.frame.block, mem: self.frame.mem, rows, fail }];
        while let Some(task) = tasks.pop() {
            self.decide_task(task, fail, &mut tasks, &mut decision);
        }
        decision
    }

    fn decide_task(
        &mut self,
        mut task: Task<'p>,
        fail: Option<Cont>,
        tasks: &mut Vec<Task<'p>>,
        decision: &mut Decision,
    ) {
        let Some(first) = task.rows.front_mut() else {
            // Without arms nothing can be matched: the value has no option.
            self.world.set_unreachable(task.block, task.mem);
            return;
        };
        let Some(&(value, _)) = first.tests.first() else {
            let bindings = std::mem::take(&mut first.bindings);
            decision.leaves[first.arm] = Some(Leaf { block: task.block, mem: task.mem, bindings });
            return;
        };
        let tests_value = |row: &Row<'p>| row.tests.iter().any(|&(tested, _)| tested == value);
        let n_same = task.rows.iter().position(|row| !tests_value(row)).unwrap_or(task.rows.len());
        let same: Vec<Row<'p>> = task.rows.drain(..n_same).collect();
        let rest = task.rows;
        let next = match rest.is_empty() {
            true => task.fail,
            false => {
                let block = self.new_block("match_next", &[]);
                tasks.push(Task { block, mem: self.world.param(block, 0), rows: rest, fail: task.fail });
                Some(block)
            }
        };
        let groups = self.groups(value, same);
        let is_complete = self.n_options(value).is_some_and(|n| groups.len() as u64 == n);
        decision.may_fail |= !is_complete && next.is_some() && next == fail;
        let test = Test { block: task.block, mem: task.mem, value, next, is_complete };
        self.dispatch(test, groups, tasks);
    }

    /// The rows grouped by their test of `value`, without that test.
    fn groups(&mut self, value: Def, rows: Vec<Row<'p>>) -> Vec<Group<'p>> {
        let mut groups: Vec<Group<'p>> = vec![];
        let mut index: FxHashMap<u64, usize> = FxHashMap::default();
        for mut row in rows {
            let at = row.tests.iter().position(|&(tested, _)| tested == value);
            let (_, pat) = row.tests.remove(at.expect("rows of a group make its test"));
            let key = test_key(pat);
            self.add_payload_tests(&mut row, value, pat);
            let group = *index.entry(key).or_insert_with(|| {
                groups.push(Group { key, rows: vec![] });
                groups.len() - 1
            });
            groups[group].rows.push(row);
        }
        groups
    }

    /// Jumps to the group of the tested value.
    fn dispatch(&mut self, test: Test, mut groups: Vec<Group<'p>>, tasks: &mut Vec<Task<'p>>) {
        let otherwise = test.next.filter(|_| !test.is_complete);
        // If one group must match, the last one needs no test.
        let last = if otherwise.is_none() { groups.pop() } else { None };
        if groups.is_empty() {
            let rows = last.expect("there is at least one group").rows.into();
            tasks.push(Task { block: test.block, mem: test.mem, rows, fail: test.next });
            return;
        }
        let mut target = |this: &mut Self, group: Group<'p>| {
            let block = this.new_block("match_arm", &[]);
            tasks.push(Task {
                block,
                mem: this.world.param(block, 0),
                rows: group.rows.into(),
                fail: test.next,
            });
            this.world.cont_def(block)
        };
        let mut cases = vec![];
        for group in groups {
            cases.push((group.key, target(self, group)));
        }
        let default = match (last, otherwise) {
            (Some(last), _) => target(self, last),
            (None, Some(block)) => self.world.cont_def(block),
            (None, None) => unreachable!("the last group is the way out"),
        };
        self.emit_switch(test.block, test.mem, test.value, &cases, default);
    }

    fn emit_switch(&mut self, block: Cont, mem: Def, value: Def, cases: &[(u64, Def)], default: Def) {
        let (value, prim) = self.tested(value);
        match *cases {
            [(key, target)] if prim == Prim::Bool => {
                let (then, other) = if key != 0 { (target, default) } else { (default, target) };
                self.world.set_branch(block, mem, value, then, other);
            }
            [(key, target)] => {
                let key = self.world.lit(prim, key);
                let cond = self.world.cmp(CmpOp::Eq, value, key);
                self.world.set_branch(block, mem, cond, target, default);
            }
            _ => {
                let cases: Vec<(Def, Def)> =
                    cases.iter().map(|&(key, target)| (self.world.lit(prim, key), target)).collect();
                self.world.set_switch(block, mem, value, default, &cases);
            }
        }
    }

    /// The number that identifies the literal or option of `value`.
    fn tested(&mut self, value: Def) -> (Def, Prim) {
        match self.world.types.as_prim(self.world.ty(value)) {
            Some(prim) => (value, prim),
            None => (self.world.variant_tag(value), Prim::U32),
        }
    }

    /// The number of possible outcomes of a test of `value`, if it is finite.
    fn n_options(&self, value: Def) -> Option<u64> {
        match self.world.types.kind(self.world.ty(value)) {
            TyKind::Prim(Prim::Bool) => Some(2),
            TyKind::Enum(id) => Some(self.world.types.enums[*id].options.len() as u64),
            _ => None,
        }
    }

    /// Adds the tests for `pat` to match `value`, and its bindings.
    fn add_tests(&mut self, row: &mut Row<'p>, value: Def, pat: &'p Pat) {
        let mut todo = vec![(value, pat)];
        while let Some((value, pat)) = todo.pop() {
            match &pat.kind {
                PatKind::Wild => {}
                PatKind::Bind(local, inner) => {
                    row.bindings.push((*local, value));
                    todo.extend(inner.as_deref().map(|inner| (value, inner)));
                }
                PatKind::Lit(_) | PatKind::Variant(..) => row.tests.push((value, pat)),
                PatKind::Parts(parts) if self.is_vector_of_parts(pat, value) => {
                    for (i, part) in parts.iter().enumerate().rev() {
                        let (index, ty) = (self.world.lit_u32(i as u32), self.ty(part.ty));
                        todo.push((vectors::lane(&mut self.world, value, index, ty), part));
                    }
                }
                // The stack is processed last to first, so tests are in order from left to right.
                PatKind::Parts(parts) if self.is_aggregate(value) => {
                    for (i, part) in parts.iter().enumerate().rev() {
                        todo.push((self.world.extract_at(value, i as u32), part));
                    }
                }
                PatKind::Parts(parts) => todo.extend(parts.first().map(|part| (value, part))),
                PatKind::Struct(fields) => {
                    for (i, part) in fields.iter().rev() {
                        todo.push((self.world.extract_at(value, *i), part));
                    }
                }
                PatKind::Error => unreachable!("only programs without errors are lowered"),
            }
        }
    }

    /// Adds the tests of an option's payload, once `value` is known to be that option.
    fn add_payload_tests(&mut self, row: &mut Row<'p>, value: Def, pat: &'p Pat) {
        let PatKind::Variant(option, fields) = &pat.kind else { return };
        if fields.is_empty() {
            return;
        }
        let sema_ty = self.close_ty(pat.ty);
        let nyala_sema::types::TyKind::Enum(id, _) = self.types.kind(sema_ty) else {
            unreachable!("options belong to enums");
        };
        let n_fields = self.program.enums[*id].options[*option as usize].fields.len();
        let payload = self.world.variant_payload(*option, value);
        for (index, part) in fields {
            let field = if n_fields == 1 { payload } else { self.world.extract_at(payload, *index) };
            self.add_tests(row, field, part);
        }
    }

    /// Whether the parts of a pattern are the lanes of a vector that consists of other parts.
    fn is_vector_of_parts(&self, pat: &Pat, value: Def) -> bool {
        let is_vector = matches!(self.types.kind(pat.ty), nyala_sema::types::TyKind::Simd(..));
        is_vector
            && !matches!(self.world.types.kind(self.world.ty(value)), TyKind::Simd { .. } | TyKind::Prim(_))
    }

    /// Whether a value has parts; a simd value of one lane has not.
    fn is_aggregate(&self, value: Def) -> bool {
        matches!(
            self.world.types.kind(self.world.ty(value)),
            TyKind::Tuple(_) | TyKind::Array { .. } | TyKind::Simd { .. } | TyKind::Struct(_)
        )
    }
}

/// The number of a literal or option.
fn test_key(pat: &Pat) -> u64 {
    match pat.kind {
        PatKind::Lit(bits) => bits,
        PatKind::Variant(option, _) => u64::from(option),
        _ => unreachable!("tests are literals and options"),
    }
}
