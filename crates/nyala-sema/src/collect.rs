//! Finds all items of a program and defines their names, before any item is
//! checked: every name is visible in its whole scope.

use nyala_span::Span;
use nyala_syntax::ast::{self, AttrValue, Ident, Item, ItemKind, LitKind};
use rustc_hash::FxHashMap;

use crate::checker::{
    AliasInfo, CheckFile, Checker, EnumInfo, FnInfo, Home, Progress, StaticInfo, StructInfo, UseInfo,
};
use crate::errors::Error;
use crate::scope::{Def, Module};
use crate::tree::{self, Abi, FnId, StaticId};

/// The collected items of a block.
#[derive(Default)]
pub(crate) struct Collected {
    pub fns: Vec<FnId>,
    pub statics: Vec<StaticId>,
}

/// Where the names of items go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Into the module of the item.
    Module,
    /// Into the innermost scope of the body.
    Block,
}

impl<'a> Checker<'a> {
    /// Collects the items of one file.
    pub fn collect_file(&mut self, file: &CheckFile<'a>) {
        let module = if file.is_prelude { self.prelude } else { self.root };
        let home =
            Home { module, dialect: file.ast.dialect, edition_2015: file.ast.edition_2015, in_block: false };
        for item in &file.ast.items {
            self.collect_item(item, home, Target::Module, &mut Collected::default());
        }
    }

    /// Collects one item.
    pub fn collect_item(&mut self, item: &'a Item, home: Home, target: Target, into: &mut Collected) {
        let home = Home { in_block: target == Target::Block, ..home };
        match &item.kind {
            ItemKind::Fn(ast) => {
                let abi = self.import_abi(&item.attrs);
                self.collect_fn(ast, &item.attrs, abi, home, target, into);
            }
            ItemKind::ExternBlock { abi, fns } => {
                let abi = self.abi(&abi.bytes, abi.span);
                for ast in fns {
                    self.collect_fn(ast, &item.attrs, Some(abi), home, target, into);
                }
            }
            ItemKind::Struct(ast) => self.collect_struct(ast, home, target),
            ItemKind::Enum(ast) => self.collect_enum(ast, home, target),
            ItemKind::Alias { name, tparams, ty } => {
                let id = self.aliases.push(AliasInfo {
                    name: *name,
                    tparam_asts: tparams,
                    tparams: vec![],
                    ast: ty,
                    home,
                    ty: None,
                });
                self.aliases[id].tparams = self.declare_tparams(tparams);
                self.define(*name, Def::Alias(id), home, target);
            }
            ItemKind::Static { is_mut, name, ty, init } => {
                let info = static_info(ty.as_ref(), init.as_ref(), &item.attrs, home);
                if let Some(id) = self.collect_static(*name, *is_mut, info, target) {
                    into.statics.push(id);
                }
            }
            ItemKind::Mod { name, items } => {
                let module = self.modules.push(Module::new(Some(home.module), None));
                self.define(*name, Def::Module(module), home, target);
                for item in items {
                    let home = Home { module, in_block: false, ..home };
                    self.collect_item(item, home, Target::Module, &mut Collected::default());
                }
            }
            ItemKind::Use { path, rename } => {
                let target_def = Def::Error;
                let id = self.uses.push(UseInfo { path, home, progress: Progress::Open, target: target_def });
                let last = path.segments.last().copied();
                if let Some(name) = rename.or(last) {
                    self.define(name, Def::Use(id), home, target);
                }
            }
            // In a block it is a local value, bound at its position.
            ItemKind::Implicit { .. } if target == Target::Block => {}
            ItemKind::Implicit { ty, value } => {
                let info = static_info(ty.as_ref(), Some(value), &item.attrs, home);
                let name = Ident { name: "implicit".into(), span: value.span };
                let id = self.new_static(name, false, info);
                self.modules[home.module].implicits.push(id);
            }
            ItemKind::Error => {}
        }
    }

    fn collect_fn(
        &mut self,
        ast: &'a ast::FnItem,
        attrs: &'a [ast::Attr],
        abi: Option<Abi>,
        home: Home,
        target: Target,
        into: &mut Collected,
    ) {
        let id = self.new_fn(FnInfo {
            ast,
            attrs,
            home,
            abi,
            params: vec![],
            n_implicit: 0,
            progress: Progress::Open,
            declared: Progress::Open,
            is_checked: false,
        });
        into.fns.push(id);
        self.define(ast.name, Def::Fn(id), home, target);
    }

    fn collect_struct(&mut self, ast: &'a ast::StructItem, home: Home, target: Target) {
        let id = self.structs.push(StructInfo { ast, home, fields: FxHashMap::default() });
        self.program.types.struct_names.push(ast.name.name);
        let tparams = self.declare_tparams(&ast.tparams);
        self.program.structs.push(tree::Struct {
            name: ast.name.name,
            span: ast.name.span,
            tparams,
            fields: vec![],
            is_tuple_like: matches!(ast.fields, ast::Fields::Tuple(_)),
        });
        self.define(ast.name, Def::Struct(id), home, target);
    }

    fn collect_enum(&mut self, ast: &'a ast::EnumItem, home: Home, target: Target) {
        let mut options = FxHashMap::default();
        for (i, option) in ast.options.iter().enumerate() {
            if let Some(first) = options.insert(option.name.name, i as u32) {
                let first = ast.options[first as usize].name.span;
                self.report_redefinition(option.name.name, option.name.span, first);
            }
        }
        let id = self.enums.push(EnumInfo { ast, home, options });
        self.program.types.enum_names.push(ast.name.name);
        let tparams = self.declare_tparams(&ast.tparams);
        self.program.enums.push(tree::Enum {
            name: ast.name.name,
            span: ast.name.span,
            tparams,
            options: vec![],
        });
        if ast.options.is_empty() {
            self.report(Error::EmptyEnum { name: ast.name.name, span: ast.name.span });
        }
        self.define(ast.name, Def::Enum(id), home, target);
    }

    /// A static with its name; `None` if it repeats an earlier declaration.
    fn collect_static(
        &mut self,
        name: Ident,
        is_mut: bool,
        info: StaticInfo<'a>,
        target: Target,
    ) -> Option<StaticId> {
        // One of two declarations of a static may omit the initializer.
        if target == Target::Module
            && let Some(&(Def::Static(old), _)) = self.modules[info.home.module].names.get(&name.name)
            && (self.statics[old].init.is_none() || info.init.is_none())
        {
            if self.statics[old].init.is_none() {
                self.statics[old].init = info.init;
                self.statics[old].ty = self.statics[old].ty.or(info.ty);
            }
            return None;
        }
        let home = info.home;
        let id = self.new_static(name, is_mut, info);
        self.define(name, Def::Static(id), home, target);
        Some(id)
    }

    fn new_static(&mut self, name: Ident, is_mut: bool, info: StaticInfo<'a>) -> StaticId {
        self.statics.push(info);
        self.program.statics.push(tree::Static {
            name: name.name,
            span: name.span,
            ty: self.program.types.error(),
            is_mut,
            init: None,
            linkage: tree::Linkage::Internal,
        })
    }

    fn define(&mut self, ident: Ident, def: Def, home: Home, target: Target) {
        if ident.name.is_underscore() {
            return;
        }
        let clash = match target {
            Target::Module => {
                let names = &mut self.modules[home.module].names;
                let first = names.get(&ident.name).copied();
                if first.is_none() {
                    names.insert(ident.name, (def, ident.span));
                }
                first
            }
            Target::Block => {
                let level = self.body.level;
                let defined = self.body.scopes.define(ident.name, def, ident.span, level);
                defined.err().map(|entry| (entry.def, entry.span))
            }
        };
        if let Some((other, first)) = clash {
            let Ident { name, span } = ident;
            let is_import = |def| matches!(def, Def::Use(_));
            let of_another_kind = std::mem::discriminant(&other) != std::mem::discriminant(&def)
                && !is_import(other)
                && !is_import(def);
            self.report(Error::Redefinition { name, span, first, of_another_kind });
        }
    }

    /// The calling convention of `#[import(cc = "..")]`.
    fn import_abi(&mut self, attrs: &'a [ast::Attr]) -> Option<Abi> {
        let import = attrs.iter().find(|attr| attr.name.name.as_str() == "import")?;
        let AttrValue::List(args) = &import.value else {
            self.report(Error::BadAttribute { span: import.span, expected: "import(cc = \"C\")" });
            return Some(Abi::C);
        };
        let cc = args.iter().find(|arg| arg.name.name.as_str() == "cc");
        match cc.map(|arg| (&arg.value, arg.span)) {
            Some((AttrValue::Lit(ast::Lit { kind: LitKind::Str(text), span }), _)) => {
                Some(self.abi(&text.bytes, *span))
            }
            found => {
                let span = found.map_or(import.span, |(_, span)| span);
                self.report(Error::BadAttribute { span, expected: "cc = \"C\"" });
                Some(Abi::C)
            }
        }
    }

    fn abi(&mut self, text: &[u8], span: Span) -> Abi {
        match text {
            b"C" => Abi::C,
            b"device" => Abi::Device,
            b"thorin" | b"builtin" => Abi::Intrinsic,
            other => {
                self.report(Error::UnknownAbi { abi: String::from_utf8_lossy(other).into_owned(), span });
                Abi::C
            }
        }
    }
}

fn static_info<'a>(
    ty: Option<&'a ast::TypeExpr>,
    init: Option<&'a ast::Expr>,
    attrs: &'a [ast::Attr],
    home: Home,
) -> StaticInfo<'a> {
    StaticInfo { ty, init, attrs, home, progress: Progress::Open, is_checked: false }
}
