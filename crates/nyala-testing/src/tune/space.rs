//! Parameters, the benchmarks that measure them, and combinations of their values.
//!
//! A benchmark measures a parameter if it can reach it: by calls, by functions that it passes on, and by other statics.
//! Parameters that share a benchmark are tuned together; others do not influence each other.

use nyala_driver::tuning::Parameter;
use nyala_sema::tree::{Expr, ExprKind, FnId, Program, StaticId};
use nyala_sema::visit;
use nyala_span::Span;

use crate::discover::Case;

/// The number of a value for each parameter of a group.
pub type Combination = Vec<usize>;

/// Parameters that are tuned together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The benchmarks that measure them.
    pub cases: Vec<Case>,
}

impl Group {
    /// How many values each parameter has.
    pub fn sizes(&self) -> Vec<usize> {
        self.parameters.iter().map(|parameter| parameter.values.len()).collect()
    }

    /// The combination of the source.
    pub fn source(&self) -> Combination {
        vec![0; self.parameters.len()]
    }

    /// The texts of the values, with the names of their parameters.
    pub fn values(&self, combination: &[usize]) -> Vec<(String, String)> {
        let parameters = self.parameters.iter().zip(combination);
        parameters
            .map(|(parameter, &value)| (parameter.name.clone(), parameter.values[value].clone()))
            .collect()
    }
}

/// The groups of a program, and the parameters that no benchmark measures.
pub fn groups(program: &Program, parameters: &[Parameter], cases: &[Case]) -> (Vec<Group>, Vec<Parameter>) {
    let reached: Vec<Vec<Span>> = cases.iter().map(|case| reached_statics(program, case)).collect();
    let mut open: Vec<usize> = (0..parameters.len()).collect();
    let (mut groups, mut unmeasured) = (vec![], vec![]);
    while let Some(first) = (!open.is_empty()).then(|| open.remove(0)) {
        let (mut members, mut measuring) = (vec![first], vec![]);
        let mut at = 0;
        while let Some(&member) = members.get(at) {
            at += 1;
            let reaches = |case: &usize| reached[*case].contains(&parameters[member].span);
            for case in (0..cases.len()).filter(reaches) {
                if !measuring.contains(&case) {
                    measuring.push(case);
                    let (near, far) =
                        open.iter().partition(|&&other| reached[case].contains(&parameters[other].span));
                    (members, open) = ([members, near].concat(), far);
                }
            }
        }
        members.sort_unstable();
        measuring.sort_unstable();
        let parameters = members.iter().map(|&member| parameters[member].clone());
        match measuring.is_empty() {
            true => unmeasured.extend(parameters),
            false => groups.push(Group {
                parameters: parameters.collect(),
                cases: measuring.iter().map(|&case| cases[case].clone()).collect(),
            }),
        }
    }
    (groups, unmeasured)
}

/// The places of the statics that a benchmark can reach.
fn reached_statics(program: &Program, case: &Case) -> Vec<Span> {
    let mut reach = Reach::default();
    reach.fns.extend(case.function(program));
    let (mut next_fn, mut next_static) = (0, 0);
    loop {
        if let Some(&id) = reach.fns.get(next_fn) {
            next_fn += 1;
            visit::fn_exprs(&program.fns[id]).for_each(|expr| reach.add(expr));
        } else if let Some(&id) = reach.statics.get(next_static) {
            next_static += 1;
            let item = &program.statics[id];
            item.init.iter().chain(&item.candidates).for_each(|expr| reach.add(expr));
        } else {
            return reach.statics.iter().map(|&id| program.statics[id].span).collect();
        }
    }
}

#[derive(Default)]
struct Reach {
    fns: Vec<FnId>,
    statics: Vec<StaticId>,
}

impl Reach {
    fn add(&mut self, root: &Expr) {
        visit::walk(root, |expr| match expr.kind {
            ExprKind::Fn(id, _) if !self.fns.contains(&id) => self.fns.push(id),
            ExprKind::Static(id) if !self.statics.contains(&id) => self.statics.push(id),
            _ => {}
        });
    }
}
