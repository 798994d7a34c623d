//! Random partial-evaluation annotations for a program.
//!
//! Annotations never change the results of a program. So a program under any
//! assignment of them must compute the same. They are written into the text:
//! filters of functions, parameters, lambdas and loop bodies, `@@`, `@run` and `@halt` at calls, and `$`
//! around arguments and conditions.

use std::collections::BTreeSet;

use nyala_span::{Name, SourceMap, Span};
use nyala_syntax::ast::visit::{self, Visit};
use nyala_syntax::ast::{
    Cond, Dialect, Expr, ExprKind, FieldName, Fields, Filter, FnItem, ForExpr, Item, ItemKind, Lambda, Param,
    Pat, PatKind, Stmt, TypeExpr, TypeKind, UnaryOp,
};
use nyala_syntax::{Parse, parse};

use crate::random::Random;

/// A program with all sites of annotations.
pub struct Annotatable {
    text: String,
    /// The dialect of the text. An annotation could change the detected dialect.
    pub dialect: Dialect,
    sites: Vec<Site>,
}

/// A site of an annotation, in bytes of the text.
enum Site {
    /// A filter over these parameters; the annotation replaces an existing one.
    Filter { lo: usize, hi: usize, params: Vec<Name>, is_param: bool },
    /// A call that can be marked.
    Call { at: usize },
    /// A value that can be hidden.
    Value { lo: usize, hi: usize },
}

impl Annotatable {
    /// Finds the sites in a program. None if it has syntax errors, or uses `?` outside of
    /// filters: then annotations may change its results.
    pub fn new(text: &str) -> Option<Annotatable> {
        let mut sources = SourceMap::default();
        let id = sources.add("annotate.impala", text).ok()?;
        let file = sources.file(id);
        let Parse { file: tree, errors, .. } = parse(file);
        if !errors.is_empty() {
            return None;
        }
        let mut names = FunctionNames::default();
        names.items(&tree.items);
        let mut finder = Finder { base: file.base, functions: names.0, sites: vec![], asks: false };
        tree.items.iter().for_each(|item| finder.item(item));
        let dialect = tree.dialect;
        (!finder.asks).then(|| Annotatable { text: file.text.clone(), dialect, sites: finder.sites })
    }

    /// The program under a random assignment, from few annotations to many.
    pub fn assign(&self, random: &mut Random) -> String {
        let rarity = 1 + random.below(8);
        let mut edits: Vec<(usize, usize, String)> = vec![];
        // Several calls of a chain start at the same position, where one mark is allowed.
        let mut last_marked = None;
        for site in &self.sites {
            if random.below(rarity) != 0 {
                continue;
            }
            match site {
                Site::Filter { lo, hi, params, is_param } => {
                    edits.push((*lo, *hi, filter(random, params, *is_param)));
                }
                // These sites are frequent, and programs full of them are alike.
                Site::Call { at } => {
                    let mark = mark(random, &self.text[*at..]).filter(|_| last_marked != Some(*at));
                    last_marked = mark.and(Some(*at));
                    edits.extend(mark.map(|mark| (*at, *at, mark.into())));
                }
                Site::Value { lo, hi } if random.below(6) == 0 => {
                    edits.push((*lo, *lo, "$(".into()));
                    edits.push((*hi, *hi, ")".into()));
                }
                Site::Value { .. } => {}
            }
        }
        // Sites are in the order of the tree, so outer ones come first.
        edits.sort_by_key(|&(lo, ..)| lo);
        let (mut text, mut at) = (String::new(), 0);
        for (lo, hi, new) in edits {
            text += &self.text[at..lo];
            text += &new;
            at = hi;
        }
        text + &self.text[at..]
    }
}

/// A mark for a call with this text, or none. Words need a name after them.
fn mark(random: &mut Random, call: &str) -> Option<&'static str> {
    let has_name = call.starts_with(|first: char| first.is_ascii_alphabetic());
    match random.below(12) {
        0 if has_name => Some("@run "),
        1 if has_name => Some("@halt "),
        0..4 => Some("@@"),
        _ => None,
    }
}

/// A filter over these parameters.
fn filter(random: &mut Random, params: &[Name], is_param: bool) -> String {
    let mut known = || (!params.is_empty()).then(|| random.pick(params).as_str().to_owned());
    let pair = known().zip(known());
    match (random.below(7), pair) {
        (0, _) => String::new(),
        (1, _) if is_param => "@?".into(),
        (2, Some((a, _))) => format!("@(?{a}) "),
        (3, Some((a, b))) => format!("@(?{a} & ?{b}) "),
        (4, Some((a, b))) => format!("@(?{a} | ?{b}) "),
        (5, Some((a, _))) => format!("@(!?{a}) "),
        _ => "@".into(),
    }
}

/// The names that certainly refer to functions.
#[derive(Default)]
struct FunctionNames(BTreeSet<Name>);

impl FunctionNames {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            match &item.kind {
                ItemKind::Fn(function) if function.body.is_some() => {
                    self.0.insert(function.name.name);
                }
                ItemKind::Struct(item) => {
                    if let Fields::Record(fields) = &item.fields {
                        let functions = fields.iter().filter(|field| is_function(Some(&field.ty)));
                        self.0.extend(functions.map(|field| field.name.name));
                    }
                }
                ItemKind::Mod { items: Some(items), .. } => self.items(items),
                _ => {}
            }
        }
    }
}

fn is_function(ty: Option<&TypeExpr>) -> bool {
    ty.is_some_and(|ty| matches!(ty.kind, TypeKind::Fn { .. }))
}

/// Collects sites.
struct Finder {
    base: u32,
    functions: BTreeSet<Name>,
    sites: Vec<Site>,
    /// Whether there is a `?` outside of filters.
    asks: bool,
}

impl Finder {
    fn range(&self, span: Span) -> (usize, usize) {
        ((span.lo - self.base) as usize, (span.hi - self.base) as usize)
    }

    fn function(&mut self, function: &FnItem) {
        if function.body.is_some() {
            self.filter(&function.filter, function.name.span.lo, names(&function.params), false);
            self.params(&function.params);
            visit::walk_fn(self, function);
        }
    }

    /// A filter, or the site of one.
    fn filter(&mut self, filter: &Option<Filter>, at: u32, params: Vec<Name>, is_param: bool) {
        let span = filter.as_ref().map_or(Span { lo: at, hi: at }, |filter| filter.span);
        let (lo, hi) = self.range(span);
        self.sites.push(Site::Filter { lo, hi, params, is_param });
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            if let Some(name) = param.pat.as_ref().and_then(bound_name) {
                if is_function(param.ty.as_ref()) {
                    self.functions.insert(name);
                }
                if !param.is_implicit {
                    self.filter(&param.filter, param.span.lo, names(params), true);
                }
            }
        }
    }

    fn lambda(&mut self, lambda: &Lambda, span: Span) {
        self.filter(&lambda.filter, span.lo, names(&lambda.params), false);
        self.params(&lambda.params);
        lambda.body.iter().for_each(|body| self.expr(body));
    }

    fn for_loop(&mut self, for_expr: &ForExpr) {
        self.expr(&for_expr.call);
        if let ExprKind::Call { callee, mark: None, .. } = &for_expr.call.kind
            && self.callee_name(callee).is_none_or(|name| !self.functions.contains(&name))
        {
            self.call_site(callee.span);
        }
        let params = for_expr.pats.iter().filter_map(bound_name).collect();
        self.filter(&for_expr.filter, for_expr.body.span.lo, params, false);
        self.block(&for_expr.body);
    }

    fn call_site(&mut self, callee: Span) {
        let (at, _) = self.range(callee);
        self.sites.push(Site::Call { at });
    }

    /// The name of a callee, if it is a path or field.
    fn callee_name(&self, callee: &Expr) -> Option<Name> {
        match &callee.kind {
            ExprKind::Path(path) => path.segments.last().map(|segment| segment.name),
            ExprKind::TypeArgs { expr, .. } => self.callee_name(expr),
            ExprKind::Field { field: FieldName::Named(field), .. } => Some(field.name),
            _ => None,
        }
    }

    fn call(&mut self, callee: &Expr, args: &[Expr], is_marked: bool) {
        let is_function = self.callee_name(callee).is_some_and(|name| self.functions.contains(&name));
        if is_function && !is_marked {
            self.call_site(callee.span);
        }
        self.expr(callee);
        for arg in args {
            let is_value = matches!(arg.kind, ExprKind::Lit(_) | ExprKind::Path(_) | ExprKind::Chain { .. });
            if is_function && is_value {
                self.value_site(arg);
            }
            self.expr(arg);
        }
    }

    fn value_site(&mut self, value: &Expr) {
        let (lo, hi) = self.range(value.span);
        self.sites.push(Site::Value { lo, hi });
    }
}

impl Visit<'_> for Finder {
    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Fn(function) => self.function(function),
            _ => visit::walk_item(self, item),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { pat, init: Some(init), .. } => {
                let is_lambda = matches!(init.kind, ExprKind::Lambda(_));
                self.functions.extend(bound_name(pat).filter(|_| is_lambda));
            }
            Stmt::Item(item) => {
                let mut names = FunctionNames::default();
                names.items(std::slice::from_ref(item));
                self.functions.extend(names.0);
            }
            _ => {}
        }
        visit::walk_stmt(self, stmt);
    }

    fn cond(&mut self, cond: &Cond) {
        if let Cond::Expr(expr) = cond {
            self.value_site(expr);
        }
        visit::walk_cond(self, cond);
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Asm(_) => {}
            ExprKind::For(for_expr) | ExprKind::With(for_expr) => self.for_loop(for_expr),
            ExprKind::Lambda(lambda) => self.lambda(lambda, expr.span),
            ExprKind::Call { callee, args, mark } => self.call(callee, args, mark.is_some()),
            _ => {
                self.asks |= matches!(expr.kind, ExprKind::Unary { op: UnaryOp::Known, .. });
                visit::walk_expr(self, expr);
            }
        }
    }
}

/// The parameters that a filter can name.
fn names(params: &[Param]) -> Vec<Name> {
    params.iter().filter_map(|param| param.pat.as_ref().and_then(bound_name)).collect()
}

fn bound_name(pat: &Pat) -> Option<Name> {
    match &pat.kind {
        PatKind::Bind { name, .. } if !name.name.as_str().starts_with('_') => Some(name.name),
        PatKind::Typed { pat, .. } | PatKind::Paren(pat) => bound_name(pat),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_site_is_annotated() {
        let text = "fn f(x: i32) -> i32 { if x > 1 { g(x, |y| y) } else { 2 } }\n\
                    fn g(x: i32, h: fn(i32) -> i32) -> i32 { for i in range(0, x) { h(i); } f(x) }";
        let program = Annotatable::new(text).expect("it has no errors");
        let all: String = (0..200).map(|case| program.assign(&mut Random::new(1, case))).collect();
        for part in
            ["fn @f", "(@x", "$(x > 1)", "@@g(", "$(x)", "@|", "|@y|", "fn @(?x & ?h) g", "@@range", "@?h"]
        {
            assert!(all.contains(part), "{part}");
        }
        for part in ["@{", "@(?i) {", "@@h(i)", "@@f(x)", "@(!?x) x", "@run f(x)", "@halt g(", "@run range"] {
            assert!(all.contains(part), "{part}");
        }
    }

    #[test]
    fn known_test_outside_of_filters_excludes_a_program() {
        assert!(Annotatable::new("fn @(?x) f(x: i32) -> i32 { x }").is_some());
        assert!(Annotatable::new("fn f(x: i32) -> i32 { if ?x { 1 } else { 1 } }").is_none());
    }
}
