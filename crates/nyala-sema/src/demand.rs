//! The order in which types that are not written are found.
//!
//! A function without written result needs the bodies of those it calls to be checked
//! first. Asking on demand would nest as deeply as the program's calls do, so bodies
//! are visited here in an order that has (nearly) everything ready when it is asked
//! for. Names are taken as they stand, without regard to local variables that hide
//! them: an edge too many does no harm.

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
                paths.function(self.fns[id].ast);
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

impl<'a> Paths<'a> {
    fn function(&mut self, function: &'a ast::FnItem) {
        match &function.body {
            Some(ast::FnBody::Block(block)) => self.block(block),
            Some(ast::FnBody::Expr(expr)) => self.expr(expr),
            None => {}
        }
    }

    fn block(&mut self, block: &'a ast::Block) {
        for stmt in &block.stmts {
            match stmt {
                ast::Stmt::Let { init: Some(expr), .. } | ast::Stmt::Expr { expr, .. } => self.expr(expr),
                ast::Stmt::Let { init: None, .. } => {}
                ast::Stmt::Item(item) => self.item(item),
            }
        }
        if let Some(value) = &block.value {
            self.expr(value);
        }
    }

    fn item(&mut self, item: &'a ast::Item) {
        match &item.kind {
            ast::ItemKind::Fn(function) => self.function(function),
            ast::ItemKind::Static { init: Some(expr), .. } | ast::ItemKind::Implicit { value: expr, .. } => {
                self.expr(expr);
            }
            _ => {}
        }
    }

    fn all(&mut self, exprs: &'a [Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn cond(&mut self, cond: &'a ast::Cond) {
        match cond {
            ast::Cond::Expr(expr) | ast::Cond::Let(_, expr) => self.expr(expr),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Lit(_) | ExprKind::Error => {}
            ExprKind::Path(path) => self.found.push(path),
            ExprKind::Tuple(parts) | ExprKind::Array { elems: parts, .. } => self.all(parts),
            ExprKind::Paren(inner)
            | ExprKind::Repeat { value: inner, .. }
            | ExprKind::HeapArray { len: inner, .. }
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Cast { expr: inner, .. }
            | ExprKind::Ascribe { expr: inner, .. }
            | ExprKind::TypeArgs { expr: inner, .. }
            | ExprKind::Field { base: inner, .. } => self.expr(inner),
            ExprKind::Struct { fields, .. } => fields.iter().for_each(|field| self.expr(&field.value)),
            ExprKind::Update { base, fields } => {
                self.expr(base);
                fields.iter().for_each(|field| self.expr(&field.value));
            }
            ExprKind::Assign { place, value, .. } => {
                self.expr(place);
                self.expr(value);
            }
            ExprKind::Chain { first, rest } => {
                self.expr(first);
                rest.iter().for_each(|link| self.expr(&link.rhs));
            }
            ExprKind::Call { callee, args, .. } => {
                self.expr(callee);
                self.all(args);
            }
            _ => self.control(expr),
        }
    }

    fn control(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { arms, else_block } => {
                for arm in arms {
                    self.cond(&arm.cond);
                    self.block(&arm.block);
                }
                if let Some(block) = else_block {
                    self.block(block);
                }
            }
            ExprKind::Match { scrutinee, arms } => {
                self.expr(scrutinee);
                arms.iter().for_each(|arm| self.expr(&arm.value));
            }
            ExprKind::While { cond, body } => {
                self.cond(cond);
                self.block(body);
            }
            ExprKind::For(ast) | ExprKind::With(ast) => {
                self.expr(&ast.call);
                self.block(&ast.body);
            }
            ExprKind::Lambda(lambda) => {
                if let Some(body) = &lambda.body {
                    self.expr(body);
                }
            }
            ExprKind::Asm(asm) => {
                let operands = asm.outputs.iter().chain(&asm.inputs);
                operands.for_each(|(_, operand)| self.expr(operand));
            }
            _ => unreachable!("only control flow comes here"),
        }
    }
}
