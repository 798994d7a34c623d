//! Substitution: a parameter is replaced by a value in all bodies that mention it.

use std::rc::Rc;

use nyala_span::Name;

use super::{B, L, LiveBody, LiveKind, LiveLambda, LiveParam, LiveValue, Machine, P};
use crate::code::{Closed, Stage, Term};

impl Machine {
    pub(super) fn param(&self, param: P) -> &LiveParam {
        &self.params[param.0 as usize]
    }

    pub(super) fn lambda(&self, lambda: L) -> &LiveLambda {
        &self.lambdas[lambda.0 as usize]
    }

    pub(super) fn lambda_mut(&mut self, lambda: L) -> &mut LiveLambda {
        &mut self.lambdas[lambda.0 as usize]
    }

    pub(super) fn body(&self, body: B) -> &LiveBody {
        &self.bodies[body.0 as usize]
    }

    pub(super) fn body_mut(&mut self, body: B) -> &mut LiveBody {
        &mut self.bodies[body.0 as usize]
    }

    /// Replaces `param` by `value`; returns the bodies that have changed. The functions in `value` move to the
    /// first use; further uses share them, or get copies.
    pub(super) fn bind(&mut self, param: P, value: LiveValue) -> Vec<B> {
        let mut users = std::mem::take(&mut self.params[param.0 as usize].users);
        users.sort_unstable();
        users.dedup();
        users.retain(|user| self.mentions(*user, param));
        let n_uses: usize = users.iter().map(|user| self.uses(*user, param)).sum();
        let name = self.param(param).name;
        let mut value = self.shared(value, n_uses, name);
        let stage = Stage::of_value(&value);
        let mut is_moved = false;
        for user in &users {
            let stage_of_user = self.body(*user).stage.replace(&mut |found| match found == param {
                true => stage.clone(),
                false => Stage::Param(found),
            });
            self.body_mut(*user).stage = stage_of_user;
            if self.uses(*user, param) > 0 {
                let mut kind = std::mem::replace(&mut self.body_mut(*user).kind, LiveKind::Gone);
                if let LiveKind::Apply { callee, args } = &mut kind {
                    for slot in std::iter::once(callee).chain(args) {
                        self.replace_in(slot, param, &mut value, &mut is_moved, *user);
                    }
                }
                self.body_mut(*user).kind = kind;
            }
            self.note_users(&value, *user);
        }
        if !is_moved {
            self.discard(value);
        }
        users
    }

    fn replace_in(
        &mut self,
        slot: &mut LiveValue,
        param: P,
        value: &mut LiveValue,
        is_moved: &mut bool,
        user: B,
    ) {
        match slot {
            Term::Param(found) if *found == param => {
                *slot =
                    if std::mem::replace(is_moved, true) { self.copy_value(value) } else { value.clone() };
                self.set_owner(slot, user);
            }
            Term::Tuple(parts) => {
                for part in parts {
                    self.replace_in(part, param, value, is_moved, user);
                }
            }
            _ => {}
        }
    }

    pub(super) fn set_owner(&mut self, value: &LiveValue, owner: B) {
        match value {
            Term::Lambda(lambda) => self.lambda_mut(*lambda).owner = Some(owner),
            Term::Tuple(parts) => parts.iter().for_each(|part| self.set_owner(part, owner)),
            _ => {}
        }
    }

    /// Lists `user` with the parameters of a value.
    pub(super) fn note_users(&mut self, value: &LiveValue, user: B) {
        match value {
            Term::Param(param) => self.params[param.0 as usize].users.push(user),
            Term::Tuple(parts) => parts.iter().for_each(|part| self.note_users(part, user)),
            _ => {}
        }
    }

    /// The value for several uses: closed functions are shared.
    fn shared(&mut self, value: LiveValue, n_uses: usize, name: Name) -> LiveValue {
        match value {
            Term::Lambda(lambda) if n_uses > 1 || n_uses == 1 && self.lambda(lambda).recursive.is_some() => {
                match self.freeze_named(lambda, name) {
                    Some(code) => {
                        self.discard(Term::Lambda(lambda));
                        Term::Closed(Closed(Rc::new(code)))
                    }
                    None => Term::Lambda(lambda),
                }
            }
            Term::Tuple(parts) => {
                Term::Tuple(parts.into_iter().map(|part| self.shared(part, n_uses, name)).collect())
            }
            other => other,
        }
    }

    /// How often a body has `param` as callee or argument.
    fn uses(&self, body: B, param: P) -> usize {
        let LiveKind::Apply { callee, args } = &self.body(body).kind else { return 0 };
        let mut count = 0;
        for value in std::iter::once(callee).chain(args) {
            value.for_each_part(&mut |part| count += usize::from(*part == Term::Param(param)));
        }
        count
    }

    fn mentions(&self, body: B, param: P) -> bool {
        let mut found = self.uses(body, param) > 0;
        if !matches!(self.body(body).kind, LiveKind::Gone) {
            self.body(body).stage.for_each_param(&mut |mentioned| found |= mentioned == param);
        }
        found
    }

    pub(super) fn free_param(&mut self, param: P) {
        self.params[param.0 as usize].users.clear();
        self.free_params.push(param);
    }

    /// Removes a value with all that belongs to it.
    pub(super) fn discard(&mut self, value: LiveValue) {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            match value {
                Term::Tuple(parts) => values.extend(parts),
                Term::Lambda(lambda) => {
                    let data = self.lambda_mut(lambda);
                    let params = std::mem::take(&mut data.params);
                    let (stage, recursive, mut body) = (data.stage, data.recursive, data.body);
                    params
                        .into_iter()
                        .chain([stage])
                        .chain(recursive)
                        .for_each(|param| self.free_param(param));
                    self.free_lambdas.push(lambda);
                    loop {
                        let data = self.body_mut(body);
                        let kind = std::mem::replace(&mut data.kind, LiveKind::Gone);
                        data.is_pending = false;
                        self.free_bodies.push(body);
                        match kind {
                            LiveKind::Apply { callee, args } => {
                                values.extend(args);
                                values.push(callee);
                                break;
                            }
                            LiveKind::Fix { param, function, rest } => {
                                self.free_param(param);
                                values.push(Term::Lambda(function));
                                body = rest;
                            }
                            LiveKind::Gone => break,
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
