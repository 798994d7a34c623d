//! Finds all items of a program and defines their names, before any item is
//! checked: every name is visible in its whole scope.

use std::rc::Rc;

use cranelift_entity::EntityRef as _;
use indexmap::IndexMap;
use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, AttrValue, Ident, Item, ItemKind, LitKind, Vis};
use rustc_hash::FxHashMap;

use crate::checker::{AliasInfo, Checker, EnumInfo, FnInfo, Home, Progress, StaticInfo, StructInfo, UseInfo};
use crate::errors::Error;
use crate::package::{self, Package};
use crate::scope::{Binding, Def, Module, ModuleId, PackageId, PackageInfo, Visibility};
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

/// Where the name of an item goes, and what the item says about it.
#[derive(Clone, Copy)]
struct Place {
    target: Target,
    vis: Option<Vis>,
    shadows: bool,
}

impl Place {
    fn binding(self, def: Def, span: Span, module: ModuleId) -> Binding {
        let visibility = match self.vis {
            Some(Vis::Priv) => Visibility::Module(module),
            // What a module uses is not part of its package's interface unless it says so.
            None if matches!(def, Def::Use(_)) => Visibility::Package,
            _ => Visibility::Everywhere,
        };
        Binding { def, span, visibility, shadows: self.shadows }
    }
}

fn has_attr(attrs: &[ast::Attr], name: &str) -> bool {
    attrs.iter().any(|attr| attr.name.name.as_str() == name)
}

impl<'a> Checker<'a> {
    /// Collects the items of a package.
    pub fn collect_package(&mut self, package: &Package<'a>) {
        let root_of = |this: &Self, number: usize| this.packages[PackageId::new(number)].root;
        let id = self.packages.next_key();
        let root = self.modules.push(Module::new(id, None));
        let prelude = package.prelude.map(|number| root_of(self, number));
        let mut dependencies = IndexMap::default();
        for dependency in &package.dependencies {
            dependencies.insert(dependency.name, root_of(self, dependency.package));
        }
        self.packages.push(PackageInfo { name: package.name, root, prelude, dependencies });
        for file in package.files.iter().filter_map(|file| Some((file.module?, file.ast))) {
            self.module_files.entry(file.0).or_default().push(file.1);
        }
        for file in package.files.iter().filter(|file| file.module.is_none()) {
            self.collect_file(file.ast, root);
        }
        for (dependency, span) in package.dependencies.iter().filter_map(|it| Some((it, it.glob?))) {
            self.glob_of_dependency(dependency, span, root);
        }
        if let Some(exports) = &package.exports {
            self.restrict_exports(root, exports, package.name);
        }
    }

    fn collect_file(&mut self, file: &'a ast::File, module: ModuleId) {
        let home = Home { module, dialect: file.dialect, edition_2015: file.edition_2015, in_block: false };
        for item in &file.items {
            self.collect_item(item, home, Target::Module, &mut Collected::default());
        }
    }

    /// Brings in all names of a dependency, as a program without `use` asks for it.
    fn glob_of_dependency(&mut self, dependency: &package::Dependency, span: Span, module: ModuleId) {
        let package = PackageId::new(dependency.package);
        let home = Home { module, dialect: ast::Dialect::Impala, edition_2015: false, in_block: false };
        let id = self.uses.push(UseInfo {
            path: Rc::new(ast::Path { segments: vec![Ident { name: dependency.name, span }], span }),
            home,
            is_glob: true,
            visibility: Visibility::Package,
            progress: Progress::Done,
            target: Def::Module(self.packages[package].root),
        });
        self.modules[module].globs.push(id);
    }

    /// Hides what a package does not export.
    fn restrict_exports(&mut self, root: ModuleId, exports: &[(Name, Span)], package: Option<Name>) {
        for (name, binding) in &mut self.modules[root].names {
            let is_exported = exports.iter().any(|(exported, _)| exported == name);
            if !is_exported && binding.visibility == Visibility::Everywhere {
                binding.visibility = Visibility::Package;
            }
        }
        for &(name, span) in exports {
            match self.modules[root].names.get_mut(&name) {
                Some(binding) if matches!(binding.def, Def::Use(_)) => {
                    binding.visibility = Visibility::Everywhere;
                }
                Some(_) => {}
                None => self.report(Error::UnknownExport { name, span, package }),
            }
        }
    }

    /// Collects one item.
    pub fn collect_item(&mut self, item: &'a Item, home: Home, target: Target, into: &mut Collected) {
        let home = Home { in_block: target == Target::Block, ..home };
        let target = Place { target, vis: item.vis, shadows: has_attr(&item.attrs, "shadows") };
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
                let package = self.modules[home.module].package;
                let module = self.modules.push(Module::new(package, Some(home.module)));
                self.define(*name, Def::Module(module), home, target);
                let home = Home { module, in_block: false, ..home };
                for item in items.iter().flatten() {
                    self.collect_item(item, home, Target::Module, &mut Collected::default());
                }
                if items.is_none() {
                    match self.module_files.remove(&name.span) {
                        Some(files) => files.into_iter().for_each(|file| self.collect_file(file, module)),
                        None => self.report(Error::NoModuleFile { name: name.name, span: name.span }),
                    }
                }
            }
            ItemKind::Use(tree) => self.collect_use(&[], tree, home, target),
            // In a block it is a local value, bound at its position.
            ItemKind::Implicit { .. } if home.in_block => {}
            ItemKind::Implicit { ty, value } => {
                let info = static_info(ty.as_ref(), Some(value), &item.attrs, home);
                let name = Ident { name: "implicit".into(), span: value.span };
                let id = self.new_static(name, false, info);
                self.modules[home.module].implicits.push(id);
            }
            ItemKind::Error => {}
        }
    }

    /// Collects what a `use` brings in, from where `prefix` leads.
    fn collect_use(&mut self, prefix: &[Ident], tree: &'a ast::UseTree, home: Home, target: Place) {
        let segments = [prefix, &tree.path.segments].concat();
        let (is_glob, name) = match &tree.kind {
            ast::UseKind::List(trees) => {
                return trees.iter().for_each(|tree| self.collect_use(&segments, tree, home, target));
            }
            ast::UseKind::Glob => (true, None),
            ast::UseKind::Name { rename } => (false, rename.or(segments.last().copied())),
        };
        let visibility = match target.vis {
            Some(Vis::Pub) => Visibility::Everywhere,
            Some(Vis::Priv) => Visibility::Module(home.module),
            None => Visibility::Package,
        };
        let id = self.uses.push(UseInfo {
            path: Rc::new(ast::Path { segments, span: tree.path.span }),
            home,
            is_glob,
            visibility,
            progress: Progress::Open,
            target: Def::Error,
        });
        match name {
            Some(name) => self.define(name, Def::Use(id), home, target),
            None if home.in_block => self.body.scopes.add_glob(id),
            None => self.modules[home.module].globs.push(id),
        }
    }

    fn collect_fn(
        &mut self,
        ast: &'a ast::FnItem,
        attrs: &'a [ast::Attr],
        abi: Option<Abi>,
        home: Home,
        target: Place,
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
        match ast.operator {
            Some(operator) => self.collect_operator(id, operator, target.vis),
            None => self.define(ast.name, Def::Fn(id), home, target),
        }
    }

    fn collect_struct(&mut self, ast: &'a ast::StructItem, home: Home, target: Place) {
        let id = self.structs.push(StructInfo { ast, home, fields: FxHashMap::default() });
        let shown = self.qualified(ast.name.name, home);
        self.program.types.struct_names.push(shown);
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

    fn collect_enum(&mut self, ast: &'a ast::EnumItem, home: Home, target: Place) {
        let mut options = FxHashMap::default();
        for (i, option) in ast.options.iter().enumerate() {
            if let Some(first) = options.insert(option.name.name, i as u32) {
                let first = ast.options[first as usize].name.span;
                self.report_redefinition(option.name.name, option.name.span, first);
            }
        }
        let id = self.enums.push(EnumInfo { ast, home, options });
        let shown = self.qualified(ast.name.name, home);
        self.program.types.enum_names.push(shown);
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

    /// What messages call a type. Those of other packages than the program come with their package, since two packages
    /// may have types of one name.
    fn qualified(&self, name: Name, home: Home) -> Name {
        let package = self.modules[home.module].package;
        match self.packages[package].name.filter(|_| package != self.program_package) {
            Some(package) => Name::new(&format!("{package}::{name}")),
            None => name,
        }
    }

    /// A static with its name; `None` if it repeats an earlier declaration.
    fn collect_static(
        &mut self,
        name: Ident,
        is_mut: bool,
        info: StaticInfo<'a>,
        target: Place,
    ) -> Option<StaticId> {
        // One of two declarations of a static may omit the initializer.
        if !info.home.in_block
            && let Some(&Binding { def: Def::Static(old), .. }) =
                self.modules[info.home.module].names.get(&name.name)
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
            candidates: vec![],
            linkage: tree::Linkage::Internal,
        })
    }

    fn define(&mut self, ident: Ident, def: Def, home: Home, target: Place) {
        if ident.name.is_underscore() {
            return;
        }
        let clash = match target.target {
            Target::Module => {
                let binding = target.binding(def, ident.span, home.module);
                let names = &mut self.modules[home.module].names;
                let first = names.get(&ident.name).copied();
                if first.is_none() {
                    names.insert(ident.name, binding);
                }
                first.map(|first| (first.def, first.span))
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
