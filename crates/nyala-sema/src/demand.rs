//! The order in which types that are not written are found.
//!
//! A function without written result needs the bodies of those it calls to be checked
//! first. Checking callees on demand would recurse as deeply as the program's calls do. So
//! bodies are visited in an order in which (nearly) all callees come first. Names are resolved
//! without regard to local variables that shadow them: a superfluous edge does no harm.

use nyala_syntax::ast::visit::{self, Visit};
use nyala_syntax::ast::{self, Expr, ExprKind};
use rustc_hash::FxHashMap;

use crate::checker::{Checker, Home, Progress};
use crate::scope::Def;
use crate::tree::{FnId, StaticId};

/// Something whose type is found by checking its body.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Open {
    Fn(FnId),
    Static(StaticId),
}

impl<'a> Checker<'a> {
    /// Checks all bodies whose types are not written, each after those it mentions.
    pub fn check_open_bodies(&mut self, fns: &[FnId], statics: &[StaticId]) {
        let fns = fns.iter().map(|&id| Open::Fn(id));
        let statics = statics.iter().map(|&id| Open::Static(id));
        let mut is_visited: FxHashMap<Open, bool> = FxHashMap::default();
        for root in fns.chain(statics).filter(|&open| self.is_open(open)).collect::<Vec<_>>() {
            let mut stack = vec![root];
            while let Some(&open) = stack.last() {
                if let Some(is_done) = is_visited.insert(open, true) {
                    stack.pop();
                    if !is_done {
                        self.check_open(open);
                    }
                    continue;
                }
                is_visited.insert(open, false);
                let mentioned = self.mentioned(open).into_iter();
                stack.extend(mentioned.filter(|open| !is_visited.contains_key(open)));
            }
        }
    }

    fn is_open(&self, open: Open) -> bool {
        match open {
            Open::Fn(id) => self.fns[id].progress == Progress::Open && !self.fns[id].home.in_block,
            Open::Static(id) => {
                self.statics[id].progress == Progress::Open && !self.statics[id].home.in_block
            }
        }
    }

    fn check_open(&mut self, open: Open) {
        match open {
            Open::Fn(id) => self.check_fn(id),
            Open::Static(id) => self.check_static(id),
        }
    }

    /// What `open` mentions that is open too.
    fn mentioned(&self, open: Open) -> Vec<Open> {
        let mut paths = Paths::default();
        let home: Home = match open {
            Open::Fn(id) => {
                visit::walk_fn(&mut paths, self.fns[id].ast);
                self.fns[id].home
            }
            Open::Static(id) => {
                if let Some(init) = self.statics[id].init {
                    paths.expr(init);
                }
                self.statics[id].home
            }
        };
        let defs = paths.found.into_iter().filter_map(|path| self.item_named(path, home));
        let opens = defs.filter_map(|def| match def {
            Def::Fn(id) => Some(Open::Fn(id)),
            Def::Static(id) => Some(Open::Static(id)),
            _ => None,
        });
        opens.filter(|&open| self.is_open(open)).collect()
    }
}

/// The paths in a body.
#[derive(Default)]
struct Paths<'a> {
    found: Vec<&'a ast::Path>,
}

impl<'a> Visit<'a> for Paths<'a> {
    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Path(path) => self.found.push(path),
            _ => visit::walk_expr(self, expr),
        }
    }
}
