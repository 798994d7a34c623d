//! Items of modules and blocks.

use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use super::Parser;
use super::types::starts_type;
use crate::ast::{
    Attr, AttrValue, Dialect, EnumItem, Expr, ExprKind, FieldDef, Fields, Filter, FilterKind, FnBody, FnItem,
    GenericParam, Item, ItemKind, Lit, LitKind, OptionDef, Param, Path, StructItem, UseKind, UseTree, Vis,
};
use crate::errors::SyntaxError;
use crate::token::TokenKind;

impl Parser<'_> {
    /// All items of the file.
    pub(super) fn file_items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.at(TokenKind::Eof) {
            if self.kind().is_closer() {
                // It belongs to a group that was abandoned after an error.
                self.bump();
            } else {
                self.module_item(&mut items);
            }
        }
        items
    }

    fn module_item(&mut self, items: &mut Vec<Item>) {
        match self.kind() {
            TokenKind::Semi => {
                self.bump();
            }
            TokenKind::Let => {
                self.error(SyntaxError::ModuleLet { at: self.span() });
                self.let_stmt();
            }
            _ if self.at_item(false) => items.push(self.item(false)),
            _ => self.no_item(),
        }
    }

    /// Reports malformed text and skips to the next item.
    fn no_item(&mut self) {
        match self.kind() {
            TokenKind::Ident(name) if name == self.words.trait_ || name == self.words.impl_ => {
                self.error(SyntaxError::Traits { at: self.span(), keyword: name.to_string() });
            }
            _ => self.error(SyntaxError::ExpectedItem { at: self.span(), found: self.found() }),
        }
        let start = self.pos;
        while !self.kind().is_closer() && !self.at(TokenKind::Eof) {
            if self.pos > start && self.at_item(false) {
                break;
            }
            let is_end = matches!(self.kind(), TokenKind::Semi | TokenKind::LBrace);
            self.skip_token_or_group();
            if is_end {
                break;
            }
        }
    }

    /// Whether an item starts here. In a block, words that only one dialect reserves
    /// start one only if they cannot be names.
    pub(super) fn at_item(&self, in_block: bool) -> bool {
        match self.kind() {
            TokenKind::Hash => true,
            TokenKind::Ident(name) => self.at_item_word(name, in_block),
            kind => is_item_keyword(kind),
        }
    }

    fn at_item_word(&self, name: Name, in_block: bool) -> bool {
        let (words, next) = (&self.words, self.nth(1));
        if name == words.extern_ {
            !in_block || matches!(next, TokenKind::Fn | TokenKind::Str(_))
        } else if name == words.pub_ || name == words.priv_ {
            !in_block || is_item_keyword(next) || matches!(next, TokenKind::Ident(_))
        } else if name == words.use_ {
            matches!(next, TokenKind::Ident(_))
        } else if name == words.implicit {
            let starts_afresh = matches!(next, TokenKind::Ident(_) | TokenKind::Fn | TokenKind::Simd);
            !in_block || starts_afresh || self.dialect == Dialect::Artic
        } else {
            false
        }
    }

    pub(super) fn item(&mut self, in_block: bool) -> Item {
        let lo = self.span();
        let attrs = self.attrs();
        let vis = self.opt_vis();
        let is_item = self.at_item(in_block) && !self.at(TokenKind::Hash);
        let mut kind = ItemKind::Error;
        if !is_item {
            if attrs.is_empty() {
                self.error(SyntaxError::ExpectedItem { at: self.span(), found: self.found() });
            } else {
                self.error(SyntaxError::AttrWithoutItem { at: self.span_from(lo) });
            }
        } else if self.enter() {
            kind = self.item_kind(&attrs);
            self.leave();
        }
        Item { attrs, vis, kind, span: self.span_from(lo) }
    }

    fn opt_vis(&mut self) -> Option<Vis> {
        if self.eat_word(self.words.pub_) {
            return Some(Vis::Pub);
        }
        self.eat_word(self.words.priv_).then_some(Vis::Priv)
    }

    fn item_kind(&mut self, attrs: &[Attr]) -> ItemKind {
        match self.kind() {
            TokenKind::Fn => self.fn_with_attrs(false, attrs),
            TokenKind::Struct => self.struct_item(),
            TokenKind::Enum => self.enum_item(),
            TokenKind::Type => self.alias(),
            TokenKind::Static => self.static_item(),
            TokenKind::Mod => self.module(),
            TokenKind::Ident(name) if name == self.words.extern_ => self.extern_item(attrs),
            TokenKind::Ident(name) if name == self.words.use_ => self.use_item(),
            TokenKind::Ident(name) if name == self.words.implicit => self.implicit(),
            _ => {
                self.error(SyntaxError::ExpectedItem { at: self.span(), found: self.found() });
                ItemKind::Error
            }
        }
    }

    // ---- Attributes -------------------------------------------------------------

    /// `#[a, b] #[c]`
    fn attrs(&mut self) -> Vec<Attr> {
        let mut attrs = Vec::new();
        while self.eat(TokenKind::Hash) {
            if !self.at(TokenKind::LBracket) {
                self.expect(TokenKind::LBracket);
                break;
            }
            attrs.extend(self.list(Self::attr));
        }
        // Attributes for the optimizer are the same in both dialects.
        let says_dialect = |attr: &&Attr| matches!(attr.name.name.as_str(), "export" | "import" | "intern");
        self.evidence.artic += attrs.iter().filter(says_dialect).count() as u32;
        self.report_duplicates(&attrs);
        attrs
    }

    fn attr(&mut self) -> Attr {
        let lo = self.span();
        let name = self.ident();
        let value = match self.kind() {
            TokenKind::Assign | TokenKind::EqEq => {
                self.expect_assign();
                self.attr_value()
            }
            TokenKind::LParen if name.name == self.words.tune => AttrValue::Exprs(self.list(Self::expr)),
            TokenKind::LParen if self.enter() => {
                let args = self.list(Self::attr);
                self.leave();
                self.report_duplicates(&args);
                AttrValue::List(args)
            }
            _ => AttrValue::None,
        };
        Attr { name, value, span: self.span_from(lo) }
    }

    fn attr_value(&mut self) -> AttrValue {
        match self.kind() {
            TokenKind::Ident(_) => AttrValue::Path(self.path()),
            TokenKind::LBracket => AttrValue::Array(self.list(Self::attr_literal)),
            TokenKind::Lit(_) | TokenKind::Str(_) | TokenKind::True | TokenKind::False => {
                AttrValue::Lit(self.literal())
            }
            _ => {
                self.expected("a literal or a name".into());
                AttrValue::None
            }
        }
    }

    /// A literal in a list.
    fn attr_literal(&mut self) -> Lit {
        match self.kind() {
            TokenKind::Lit(_) | TokenKind::Str(_) | TokenKind::True | TokenKind::False => self.literal(),
            _ => {
                self.expected("a literal".into());
                Lit { kind: LitKind::Error, span: self.prev.end() }
            }
        }
    }

    fn report_duplicates(&mut self, attrs: &[Attr]) {
        let mut seen: FxHashMap<Name, Span> = FxHashMap::default();
        for attr in attrs {
            if let Some(&first) = seen.get(&attr.name.name) {
                let name = attr.name.name.to_string();
                self.push_error(SyntaxError::DuplicateAttr { at: attr.name.span, first, name });
            } else {
                seen.insert(attr.name.name, attr.name.span);
            }
        }
    }

    // ---- Functions ----------------------------------------------------------------

    /// `extern fn ..`, `extern "C" { .. }`
    fn extern_item(&mut self, attrs: &[Attr]) -> ItemKind {
        self.evidence.impala += 1;
        match self.nth(1) {
            TokenKind::Fn => self.fn_with_attrs(true, attrs),
            TokenKind::Str(_) => {
                self.bump();
                self.extern_block()
            }
            _ => {
                self.bump();
                self.error(SyntaxError::BadExtern { at: self.span(), found: self.found() });
                self.skip_statement();
                ItemKind::Error
            }
        }
    }

    fn extern_block(&mut self) -> ItemKind {
        let abi = self.string();
        let opener = self.pos;
        if !self.expect(TokenKind::LBrace) {
            return ItemKind::ExternBlock { abi, fns: vec![] };
        }
        let mut fns = Vec::new();
        while !self.at_end_of(opener) {
            match self.kind() {
                TokenKind::Semi => {
                    self.bump();
                }
                TokenKind::Fn => {
                    let item = self.fn_item(false);
                    self.report_import_with_body(&item, abi.span);
                    fns.push(item);
                }
                _ => {
                    self.expected("a function".into());
                    self.bump();
                    self.skip_statement();
                }
            }
        }
        self.close(opener);
        ItemKind::ExternBlock { abi, fns }
    }

    fn fn_with_attrs(&mut self, is_extern: bool, attrs: &[Attr]) -> ItemKind {
        let item = self.fn_item(is_extern);
        match attrs.iter().find(|attr| attr.name.name == self.words.import) {
            Some(import) => self.report_import_with_body(&item, import.span),
            None if item.body.is_none() => {
                let name = item.name.name.to_string();
                self.push_error(SyntaxError::MissingBody { at: item.name.span, name });
            }
            None => {}
        }
        ItemKind::Fn(item)
    }

    fn report_import_with_body(&mut self, item: &FnItem, import: Span) {
        let body = match &item.body {
            Some(FnBody::Block(block)) => block.span,
            Some(FnBody::Expr(Expr { kind: ExprKind::Error, .. })) | None => return,
            Some(FnBody::Expr(expr)) => expr.span,
        };
        self.push_error(SyntaxError::ImportWithBody { body, import });
    }

    fn fn_item(&mut self, is_extern: bool) -> FnItem {
        let lo = self.span();
        if is_extern {
            self.bump();
        }
        self.bump();
        let link_name = matches!(self.kind(), TokenKind::Str(_)).then(|| self.string());
        let filter = match self.kind() {
            TokenKind::At => Some(self.filter()),
            TokenKind::AtQuestion => {
                self.filter_here("as `@?` before the name of a function");
                None
            }
            _ => None,
        };
        let (name, operator) = self.fn_name();
        let tparams = self.opt_tparams();
        let params = if self.at(TokenKind::LParen) {
            self.list(Self::fn_param)
        } else {
            self.expect(TokenKind::LParen);
            vec![]
        };
        let ret = match self.kind() {
            kind if (starts_type(kind) || kind == TokenKind::Not) && !self.at_new_line() => {
                self.error(SyntaxError::MissingArrow { at: self.span() });
                Some(self.ret())
            }
            TokenKind::FatArrow | TokenKind::Colon => {
                self.wrong_operator("->");
                Some(self.ret())
            }
            _ => self.opt_ret(),
        };
        let body = self.opt_body();
        let span = self.span_from(lo);
        FnItem { is_extern, link_name, filter, name, operator, tparams, params, ret, body, span }
    }

    fn opt_body(&mut self) -> Option<FnBody> {
        match self.kind() {
            TokenKind::LBrace => Some(FnBody::Block(self.block())),
            TokenKind::Assign => {
                self.evidence.artic += 1;
                self.bump();
                let body = self.expr();
                // Artic's programs of 2019 leave out the `;` before the next item.
                let is_last = self.at(TokenKind::Eof) || self.at_item(false) && self.at_new_line();
                if !is_last {
                    self.expect_semi("body");
                }
                Some(FnBody::Expr(body))
            }
            TokenKind::Semi => {
                self.bump();
                None
            }
            _ => {
                let n_errors = self.errors.len();
                self.expected("a body, `{ .. }` or `= ..;`".into());
                let is_reported = self.errors.len() > n_errors;
                let span = self.prev.end();
                if self.at_new_line() {
                    self.skip_open_body(is_reported);
                } else {
                    self.skip_statement();
                }
                Some(FnBody::Expr(Expr { kind: ExprKind::Error, span }))
            }
        }
    }

    /// Skips the body of a function that lacks its `{`, up to the next item. The `}` at
    /// its end is unmatched as a consequence; it is not reported again if the missing `{` was.
    fn skip_open_body(&mut self, is_reported: bool) {
        let from = self.prev.hi;
        while !self.at_item(false) && !self.kind().is_closer() && !self.at(TokenKind::Eof) {
            self.skip_token_or_group();
        }
        if is_reported {
            let to = self.span().lo;
            self.errors.retain(|error| match error {
                SyntaxError::StrayCloser { at, text: "}", opener: None } => at.lo < from || to < at.lo,
                _ => true,
            });
        }
        self.blamed = self.pos;
    }

    pub(super) fn opt_tparams(&mut self) -> Vec<GenericParam> {
        match self.kind() {
            TokenKind::LBracket => self.list(Self::generic_param),
            TokenKind::Lt => {
                if let Some(end) = self.end_of_angles() {
                    self.skip_angles("parameters", end);
                }
                vec![]
            }
            _ => vec![],
        }
    }

    /// `T`, `n: i32`
    fn generic_param(&mut self) -> GenericParam {
        let name = self.ident();
        let ty = self.eat(TokenKind::Colon).then(|| self.ty());
        GenericParam { name, ty }
    }

    /// `@`, `@(e)`
    pub(super) fn filter(&mut self) -> Filter {
        let lo = self.span();
        self.bump();
        let kind = if self.at(TokenKind::LParen) {
            FilterKind::If(Box::new(self.parenthesized()))
        } else {
            FilterKind::Always
        };
        Filter { kind, span: self.span_from(lo) }
    }

    /// Reports and skips a filter that is not allowed here.
    pub(super) fn filter_here(&mut self, place: &'static str) {
        let lo = self.span();
        let blamed = self.pos;
        let has_condition = self.at(TokenKind::At) && self.nth(1) == TokenKind::LParen;
        let is_filter = has_condition
            && matches!(self.kind_behind_group(self.pos + 1), TokenKind::Ident(_) | TokenKind::LBrace);
        self.bump();
        if is_filter {
            self.skip_token_or_group();
        }
        if self.blamed != blamed {
            self.push_error(SyntaxError::FilterHere { at: self.span_from(lo), place });
        }
    }

    /// `@`, `@(e)`, `@?`. The parenthesis of `@(a, b): (i32, i32)` is the parameter
    /// itself, not part of its filter.
    fn opt_param_filter(&mut self) -> Option<Filter> {
        let is_param = matches!(
            self.kind_behind_group(self.pos + 1),
            TokenKind::Colon | TokenKind::Comma | TokenKind::RParen | TokenKind::Or
        );
        match self.kind() {
            TokenKind::At if self.nth(1) == TokenKind::LParen && is_param => {
                Some(Filter { kind: FilterKind::Always, span: self.bump().span })
            }
            TokenKind::At => Some(self.filter()),
            TokenKind::AtQuestion => Some(Filter { kind: FilterKind::IfKnown, span: self.bump().span }),
            _ => None,
        }
    }

    /// A parameter of a function: `x: T`, `(a, b): T`, or only a type.
    fn fn_param(&mut self) -> Param {
        let lo = self.span();
        let is_implicit = self.at_word(self.words.implicit)
            && !matches!(self.nth(1), TokenKind::Colon | TokenKind::Comma | TokenKind::RParen);
        if is_implicit {
            self.evidence.artic += 1;
            self.bump();
        }
        let filter = self.opt_param_filter();
        let pat = self.at_param_pat().then(|| self.pat());
        let has_type = pat.is_none() || self.eat(TokenKind::Colon);
        let ty = has_type.then(|| self.ty());
        Param { is_implicit, filter, pat, ty, span: self.span_from(lo) }
    }

    /// Whether a parameter's pattern starts here, rather than its type.
    fn at_param_pat(&self) -> bool {
        if self.at(TokenKind::Mut) || self.at_word(self.words.underscore) {
            return true;
        }
        if self.at_word(self.words.typeof_) && self.nth(1) == TokenKind::LParen {
            return false;
        }
        let Some(behind) = self.behind_pat(self.pos) else { return false };
        let is_record = behind > 0 && self.kind_at(behind - 1) == TokenKind::RBrace;
        is_record
            || matches!(self.kind_at(behind), TokenKind::Colon | TokenKind::As)
            || self.is_list_in_brackets(behind)
            || (self.pos..behind).any(|index| self.is_in_patterns_only(index))
    }

    /// Whether the brackets that end before `behind` contain a list: the type of an array has one element.
    fn is_list_in_brackets(&self, behind: usize) -> bool {
        let mut index = self.pos + usize::from(self.at(TokenKind::Simd));
        if self.kind_at(index) != TokenKind::LBracket {
            return false;
        }
        index += 1;
        while index < behind {
            if self.kind_at(index) == TokenKind::Comma {
                return true;
            }
            index = self.pairs.closer(index).unwrap_or(index) + 1;
        }
        false
    }

    /// Whether the token at `index` of a parameter can be part of a pattern, but not of a type:
    /// `(a: i32, b: i32)`, `[x, y]`, `Pair(a, b)`.
    fn is_in_patterns_only(&self, index: usize) -> bool {
        let (before, words) = (index.checked_sub(1).map(|before| self.kind_at(before)), &self.words);
        match self.kind_at(index) {
            TokenKind::Colon | TokenKind::As | TokenKind::LBrace => true,
            TokenKind::Mut => !matches!(before, Some(TokenKind::And | TokenKind::AndAnd)),
            TokenKind::LParen => match before {
                Some(TokenKind::Ident(name)) => ![words.typeof_, words.cn, words.addrspace].contains(&name),
                _ => false,
            },
            _ => false,
        }
    }

    /// A parameter of a lambda: always a pattern.
    pub(super) fn lambda_param(&mut self) -> Param {
        let lo = self.span();
        let filter = self.opt_param_filter();
        let pat = Some(self.pat());
        let ty = self.eat(TokenKind::Colon).then(|| self.ty());
        Param { is_implicit: false, filter, pat, ty, span: self.span_from(lo) }
    }

    // ---- The other items ------------------------------------------------------------

    fn struct_item(&mut self) -> ItemKind {
        self.bump();
        let name = self.ident();
        let tparams = self.opt_tparams();
        let fields = self.fields(true);
        if !matches!(fields, Fields::Record(_)) {
            self.expect_semi("struct");
        }
        ItemKind::Struct(StructItem { name, tparams, fields })
    }

    fn fields(&mut self, with_defaults: bool) -> Fields {
        match self.kind() {
            TokenKind::LBrace => Fields::Record(self.list(|parser| parser.field_def(with_defaults))),
            TokenKind::LParen => Fields::Tuple(self.list(Self::ty)),
            _ => Fields::Unit,
        }
    }

    fn field_def(&mut self, with_default: bool) -> FieldDef {
        let name = self.ident();
        self.expect(TokenKind::Colon);
        let is_uniform = with_default && self.opt_uniform();
        let ty = self.ty();
        let default = (with_default && self.eat(TokenKind::Assign)).then(|| self.expr());
        FieldDef { name, is_uniform, ty, default }
    }

    /// `uniform` in front of a type; alone, it is the name of one.
    fn opt_uniform(&mut self) -> bool {
        let ends_type = matches!(
            self.nth(1),
            TokenKind::Comma | TokenKind::RBrace | TokenKind::Assign | TokenKind::ColonColon | TokenKind::Eof
        );
        let is_uniform = self.kind() == TokenKind::Ident(self.words.uniform) && !ends_type;
        if is_uniform {
            self.bump();
        }
        is_uniform
    }

    fn enum_item(&mut self) -> ItemKind {
        self.bump();
        let name = self.ident();
        let tparams = self.opt_tparams();
        let options = if self.at(TokenKind::LBrace) {
            self.list(|parser| OptionDef { name: parser.ident(), fields: parser.fields(false) })
        } else {
            self.expect(TokenKind::LBrace);
            vec![]
        };
        ItemKind::Enum(EnumItem { name, tparams, options })
    }

    fn alias(&mut self) -> ItemKind {
        self.bump();
        let name = self.ident();
        let tparams = self.opt_tparams();
        self.expect_assign();
        let ty = self.ty();
        self.expect_semi("type");
        ItemKind::Alias { name, tparams, ty }
    }

    fn static_item(&mut self) -> ItemKind {
        self.bump();
        let is_mut = self.eat(TokenKind::Mut);
        let name = self.ident();
        let ty = self.eat(TokenKind::Colon).then(|| self.ty());
        let has_init = matches!(self.kind(), TokenKind::Assign | TokenKind::EqEq) && self.expect_assign();
        let init = has_init.then(|| self.expr());
        self.expect_semi("static");
        ItemKind::Static { is_mut, name, ty, init }
    }

    fn module(&mut self) -> ItemKind {
        self.bump();
        let name = self.ident();
        if self.eat(TokenKind::Semi) {
            return ItemKind::Mod { name, items: None };
        }
        let opener = self.pos;
        let mut items = Vec::new();
        if self.expect(TokenKind::LBrace) {
            while !self.at_end_of(opener) {
                self.module_item(&mut items);
            }
            self.close(opener);
        }
        ItemKind::Mod { name, items: Some(items) }
    }

    fn use_item(&mut self) -> ItemKind {
        self.bump();
        let tree = self.use_tree();
        self.expect_semi("`use`");
        ItemKind::Use(tree)
    }

    /// `a::b`, `a::b as c`, `a::*`, `a::{..}`
    fn use_tree(&mut self) -> UseTree {
        let lo = self.span();
        let mut segments = vec![self.ident()];
        let mut span = self.span_from(lo);
        while self.eat(TokenKind::ColonColon) {
            if matches!(self.kind(), TokenKind::Star | TokenKind::LBrace) {
                let kind = self.use_group();
                return UseTree { path: Path { segments, span }, kind };
            }
            segments.push(self.ident());
            span = self.span_from(lo);
        }
        let rename = self.eat(TokenKind::As).then(|| self.ident());
        UseTree { path: Path { segments, span }, kind: UseKind::Name { rename } }
    }

    /// `*`, `{..}`
    fn use_group(&mut self) -> UseKind {
        if self.eat(TokenKind::Star) {
            return UseKind::Glob;
        }
        if !self.enter() {
            self.skip_token_or_group();
            return UseKind::List(vec![]);
        }
        let trees = self.list(Self::use_tree);
        self.leave();
        UseKind::List(trees)
    }

    fn implicit(&mut self) -> ItemKind {
        self.evidence.artic += 1;
        self.bump();
        let has_type = !matches!(self.kind(), TokenKind::Assign | TokenKind::EqEq);
        let ty = has_type.then(|| self.ty());
        self.expect_assign();
        let value = self.expr();
        self.expect_semi("`implicit`");
        ItemKind::Implicit { ty, value }
    }
}

/// The words that start an item in both dialects.
pub(super) fn is_item_keyword(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Fn
            | TokenKind::Struct
            | TokenKind::Enum
            | TokenKind::Type
            | TokenKind::Static
            | TokenKind::Mod
    )
}
