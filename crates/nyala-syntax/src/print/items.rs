//! Items.

use super::layout::Line;
use super::{BRACES, BRACKETS, PARENS, Printer};
use crate::ast::{
    Attr, AttrValue, Expr, FieldDef, Fields, File, Filter, FilterKind, FnBody, FnItem, GenericParam, Ident,
    Item, ItemKind, Operator, Param, TypeExpr, UseKind, UseTree, Vis,
};

impl Printer<'_> {
    pub(super) fn file(&mut self, file: &File) {
        self.skip_strays();
        for (i, item) in file.items.iter().enumerate() {
            if i > 0 {
                self.line_between();
            }
            self.item(item);
            self.skip_strays();
        }
        if !file.items.is_empty() && self.comment_before_token() {
            self.line_between();
        }
        self.comments_until(self.source.text.len());
    }

    /// Skips stray semicolons.
    pub(super) fn skip_strays(&mut self) {
        while self.at(";") {
            self.skip(";");
        }
    }

    pub(super) fn item(&mut self, item: &Item) {
        self.attrs(&item.attrs);
        match item.vis {
            Some(Vis::Pub) => self.keyword("pub"),
            Some(Vis::Priv) => self.keyword("priv"),
            None => {}
        }
        match &item.kind {
            ItemKind::Fn(item) => self.fn_item(item),
            ItemKind::ExternBlock { abi, fns } => {
                self.keyword("extern");
                self.string(abi);
                self.space();
                self.braced(fns, Self::fn_item);
            }
            ItemKind::Struct(item) => {
                self.keyword("struct");
                self.name(&item.name, &item.tparams);
                self.fields(&item.fields);
                if !matches!(item.fields, Fields::Record(_)) {
                    self.sep(";");
                }
            }
            ItemKind::Enum(item) => {
                self.keyword("enum");
                self.name(&item.name, &item.tparams);
                self.space();
                self.list(
                    BRACES,
                    &item.options,
                    |_| false,
                    |printer, option| {
                        printer.ident(&option.name);
                        printer.fields(&option.fields);
                    },
                );
            }
            ItemKind::Alias { name, tparams, ty } => self.alias(name, tparams, ty),
            ItemKind::Static { is_mut, name, ty, init } => {
                self.static_item(*is_mut, name, ty.as_ref(), init.as_ref());
            }
            ItemKind::Mod { name, items } => {
                self.keyword("mod");
                self.ident(name);
                match items {
                    Some(items) => {
                        self.space();
                        self.braced(items, Self::item);
                    }
                    None => self.sep(";"),
                }
            }
            ItemKind::Use(tree) => {
                self.keyword("use");
                self.use_tree(tree);
                self.sep(";");
            }
            ItemKind::Implicit { ty, value } => {
                self.keyword("implicit");
                if let Some(ty) = ty {
                    self.ty(ty);
                }
                self.initializer(value);
                self.sep(";");
            }
            ItemKind::Error => {}
        }
    }

    fn use_tree(&mut self, tree: &UseTree) {
        self.path(&tree.path);
        match &tree.kind {
            UseKind::Name { rename: None } => {}
            UseKind::Name { rename: Some(rename) } => {
                self.space();
                self.keyword("as");
                self.ident(rename);
            }
            UseKind::Glob => {
                self.tok("::");
                self.tok("*");
            }
            UseKind::List(trees) => {
                self.tok("::");
                self.list(BRACES, trees, |_| false, Self::use_tree);
            }
        }
    }

    /// A word and a space.
    pub(super) fn keyword(&mut self, word: &'static str) {
        self.tok(word);
        self.space();
    }

    /// `{ .. }` with one element per line.
    fn braced<T>(&mut self, elements: &[T], mut print: impl FnMut(&mut Self, &T)) {
        self.tok("{");
        self.skip_strays();
        if elements.is_empty() && !self.comment_before_token() {
            return self.tok("}");
        }
        self.doc.indent();
        for (i, element) in elements.iter().enumerate() {
            if i == 0 {
                self.line(Line::Hard)
            } else {
                self.line_between()
            }
            print(self, element);
            self.skip_strays();
        }
        self.close_block(elements.is_empty());
    }

    /// The end of a block, after its last statement.
    pub(super) fn close_block(&mut self, is_empty: bool) {
        self.comments_before_close(is_empty);
        self.doc.dedent();
        self.line(Line::Hard);
        self.tok("}");
    }

    fn attrs(&mut self, attrs: &[Attr]) {
        let mut attrs = attrs.iter();
        while self.at("#") {
            self.skip("#");
            self.skip("[");
            if self.at("]") {
                self.skip("]");
                continue;
            }
            self.comments_until(self.next_token());
            self.word("#");
            self.word("[");
            for attr in attrs.by_ref() {
                self.attr(attr);
                if self.at(",") {
                    self.skip(",");
                }
                if self.at("]") {
                    break;
                }
                self.word(",");
                self.space();
            }
            self.tok("]");
            self.line(Line::Hard);
        }
    }

    fn attr(&mut self, attr: &Attr) {
        self.ident(&attr.name);
        match &attr.value {
            AttrValue::None => {}
            AttrValue::Lit(lit) => {
                self.equals();
                self.lit(lit);
            }
            AttrValue::Path(path) => {
                self.equals();
                self.path(path);
            }
            AttrValue::Array(lits) => {
                self.equals();
                self.list(BRACKETS, lits, |_| false, Self::lit);
            }
            AttrValue::List(args) => self.list(PARENS, args, |_| false, Self::attr),
            AttrValue::Exprs(exprs) => self.list(PARENS, exprs, |_| false, Self::expr),
        }
    }

    /// ` = `
    pub(super) fn equals(&mut self) {
        self.space();
        self.keyword("=");
    }

    pub(super) fn initializer(&mut self, value: &Expr) {
        self.equals();
        self.expr(value);
    }

    /// A name with its type and integer parameters.
    fn name(&mut self, name: &Ident, tparams: &[GenericParam]) {
        self.ident(name);
        self.opt_tparams(tparams);
    }

    pub(super) fn opt_tparams(&mut self, tparams: &[GenericParam]) {
        if !tparams.is_empty() || self.at("[") {
            self.list(BRACKETS, tparams, |_| false, Self::generic_param);
        }
    }

    /// `operator +`, `operator()`
    fn operator_name(&mut self, operator: Operator) {
        self.tok("operator");
        match operator {
            Operator::Call => {
                self.tok("(");
                self.tok(")");
            }
            _ => {
                self.space();
                self.tok(operator.symbol());
            }
        }
    }

    fn generic_param(&mut self, param: &GenericParam) {
        self.ident(&param.name);
        if let Some(ty) = &param.ty {
            self.type_annotation(ty);
        }
    }

    fn alias(&mut self, name: &Ident, tparams: &[GenericParam], ty: &TypeExpr) {
        self.keyword("type");
        self.name(name, tparams);
        self.equals();
        self.ty(ty);
        self.sep(";");
    }

    fn static_item(&mut self, is_mut: bool, name: &Ident, ty: Option<&TypeExpr>, init: Option<&Expr>) {
        self.keyword("static");
        if is_mut {
            self.keyword("mut");
        }
        self.ident(name);
        if let Some(ty) = ty {
            self.type_annotation(ty);
        }
        if let Some(init) = init {
            self.initializer(init);
        }
        self.sep(";");
    }

    fn fields(&mut self, fields: &Fields) {
        match fields {
            Fields::Unit => {}
            Fields::Tuple(types) => self.list(PARENS, types, |_| false, Self::ty),
            Fields::Record(fields) => {
                self.space();
                self.list(BRACES, fields, |_| false, Self::field_def);
            }
        }
    }

    fn field_def(&mut self, field: &FieldDef) {
        self.ident(&field.name);
        self.tok(":");
        self.space();
        if field.is_uniform {
            self.keyword("uniform");
        }
        self.ty(&field.ty);
        if let Some(default) = &field.default {
            self.initializer(default);
        }
    }

    // ---- Functions ----------------------------------------------------------------

    fn fn_item(&mut self, item: &FnItem) {
        if item.is_extern {
            self.keyword("extern");
        }
        self.keyword("fn");
        if let Some(link_name) = &item.link_name {
            self.string(link_name);
            self.space();
        }
        if let Some(filter) = &item.filter {
            self.filter(filter);
            self.space_behind_condition(filter);
        }
        match item.operator {
            Some(operator) => self.operator_name(operator),
            None => self.ident(&item.name),
        }
        self.opt_tparams(&item.tparams);
        self.list(PARENS, &item.params, |_| false, Self::param);
        self.opt_ret(item.ret.as_ref());
        match &item.body {
            Some(FnBody::Block(block)) => {
                self.space();
                self.block_group(block);
            }
            Some(FnBody::Expr(expr)) => {
                self.initializer(expr);
                // It may be left out before the next item.
                if self.at(";") { self.sep(";") } else { self.word(";") }
            }
            None => self.sep(";"),
        }
    }

    /// `@`, `@(e)`, `@?`
    pub(super) fn filter(&mut self, filter: &Filter) {
        match &filter.kind {
            FilterKind::Always => self.tok("@"),
            FilterKind::IfKnown => self.tok("@?"),
            FilterKind::If(condition) => {
                self.tok("@");
                self.tok("(");
                self.expr(condition);
                self.tok(")");
            }
        }
    }

    pub(super) fn space_behind_condition(&mut self, filter: &Filter) {
        if matches!(filter.kind, FilterKind::If(_)) {
            self.space();
        }
    }

    pub(super) fn param(&mut self, param: &Param) {
        if param.is_implicit {
            self.keyword("implicit");
        }
        if let Some(filter) = &param.filter {
            self.filter(filter);
            self.space_behind_condition(filter);
        }
        match (&param.pat, &param.ty) {
            (Some(pat), Some(ty)) => {
                self.pat(pat);
                self.type_annotation(ty);
            }
            (Some(pat), None) => self.pat(pat),
            (None, Some(ty)) => self.ty(ty),
            (None, None) => {}
        }
    }
}
