//! The order in which items with inferred types are checked.
//!
//! A function without a written result type needs its callees to be checked first.
//! Checking callees on demand would recurse as deeply as the calls of the program. So
//! bodies are visited in an order in which (nearly) all callees come first. The order ignores
//! local variables that shadow items: a superfluous edge does no harm.

use nyala_syntax::ast::visit::{self, Visit};
use nyala_syntax::ast::{self, Expr, ExprKind};
use rustc_hash::FxHashMap;

use crate::checker::{Checker, Home, Progress};
use crate::scope::Def;
use crate::tree::{FnId, StaticId};
use crate::tuning;

/// An item whose type is inferred from its body.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum InferredItem {
    Fn(FnId),
    Static(StaticId),
}

impl<'a> Checker<'a> {
    /// Checks all bodies of items with inferred types, each after those it mentions.
    pub fn check_inferred_bodies(&mut self, fns: &[FnId], statics: &[StaticId]) {
        let fns = fns.iter().map(|&id| InferredItem::Fn(id));
        let statics = statics.iter().map(|&id| InferredItem::Static(id));
        let mut is_visited: FxHashMap<InferredItem, bool> = FxHashMap::default();
        for root in fns.chain(statics).filter(|&item| self.is_inferred(item)).collect::<Vec<_>>() {
            let mut stack = vec![root];
            while let Some(&item) = stack.last() {
                if let Some(is_done) = is_visited.insert(item, true) {
                    stack.pop();
                    if !is_done {
                        self.check_inferred(item);
                    }
                    continue;
                }
                is_visited.insert(item, false);
                let mentioned = self.mentioned(item).into_iter();
                stack.extend(mentioned.filter(|item| !is_visited.contains_key(item)));
            }
        }
    }

    fn is_inferred(&self, item: InferredItem) -> bool {
        match item {
            InferredItem::Fn(id) => self.fns[id].progress == Progress::Open && !self.fns[id].home.in_block,
            InferredItem::Static(id) => {
                self.statics[id].progress == Progress::Open && !self.statics[id].home.in_block
            }
        }
    }

    fn check_inferred(&mut self, item: InferredItem) {
        match item {
            InferredItem::Fn(id) => self.check_fn(id),
            InferredItem::Static(id) => self.check_static(id),
        }
    }

    /// The items with inferred types that `item` mentions.
    fn mentioned(&self, item: InferredItem) -> Vec<InferredItem> {
        let mut paths = Paths::default();
        let home: Home = match item {
            InferredItem::Fn(id) => {
                visit::walk_fn(&mut paths, self.fns[id].ast);
                self.fns[id].home
            }
            InferredItem::Static(id) => {
                let info = &self.statics[id];
                info.init.into_iter().chain(tuning::candidates(info.attrs)).for_each(|expr| paths.expr(expr));
                self.statics[id].home
            }
        };
        let defs = paths.found.into_iter().filter_map(|path| self.item_named(path, home));
        let items = defs.filter_map(|def| match def {
            Def::Fn(id) => Some(InferredItem::Fn(id)),
            Def::Static(id) => Some(InferredItem::Static(id)),
            _ => None,
        });
        items.filter(|&item| self.is_inferred(item)).collect()
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
