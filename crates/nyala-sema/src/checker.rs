//! The state of checking a program, and the order of its steps.

use std::rc::Rc;

use cranelift_entity::{EntityRef as _, PrimaryMap};
use nyala_span::{Diagnostic, Name, Span};
use nyala_syntax::ast::{self, Dialect};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::Error;
use crate::infer::Body;
use crate::package::{Package, Role};
use crate::scope::{AliasId, Def, ModuleId, Modules, PackageId, Packages, UseId, Visibility};
use crate::tree::{self, Abi, FnId, Program, StaticId};
use crate::types::{EnumId, StructId, Ty, TyParam};
use crate::{constness, exhaustive, simd_mode, symbols, warnings};

/// The result of checking.
pub struct Checked {
    /// The typed tree; may be lowered only if `diagnostics` has no error.
    pub program: Program,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a program. The last package is the program itself; each one comes after those it depends on.
pub fn check(packages: &[Package<'_>]) -> Checked {
    let mut checker = Checker::new(packages.len());
    for package in packages {
        checker.collect_package(package);
    }
    checker.check_items();
    let shadowing = checker.shadowing(packages);
    let interface = checker.interface(packages);
    let Checker { mut program, mut diagnostics, has_vector_control, .. } = checker;
    program.foreign = Files::where_(packages, |package, _| package.role == Role::Foreign).files;
    // A type that is converted twice is reported once.
    let mut seen = FxHashSet::default();
    diagnostics.retain(|it| seen.insert((it.code, it.primary.span, it.message.clone())));
    diagnostics.extend(exhaustive::check(&program));
    diagnostics.extend(constness::check(&program));
    // In a program with errors, warnings are often consequences of the errors.
    if !diagnostics.iter().any(Diagnostic::is_error) {
        let artic = Files::where_(packages, |_, file| file.dialect == Dialect::Artic);
        let is_foreign = |span: Span| program.is_foreign(span);
        let is_artic = |span: Span| artic.contains(span);
        let shared = shared_files(packages, &program);
        let is_shared = |span: Span| shared.iter().any(|file| file.contains(span.lo));
        diagnostics.extend(symbols::check(&program, &is_foreign));
        diagnostics.extend(warnings::check(&program, &interface, &is_foreign, &is_artic, &is_shared));
        diagnostics.extend(shadowing);
        if has_vector_control {
            diagnostics.extend(simd_mode::lower(&mut program));
        }
    }
    Checked { program, diagnostics }
}

/// The files without an entry point, if a program consists of several loose files: they may be part of other
/// programs too.
fn shared_files(packages: &[Package<'_>], program: &Program) -> Vec<Span> {
    let loose = packages.last().filter(|package| package.name.is_none() && package.files.len() > 1);
    let files = loose.into_iter().flat_map(|package| &package.files).map(|file| file.ast.span);
    let is_entry = |id: FnId, function: &tree::Function| {
        program.main == Some(id) || matches!(function.linkage, tree::Linkage::Export(_))
    };
    let entries = program.fns.iter().filter(|&(id, function)| is_entry(id, function));
    let entries: Vec<Span> = entries.map(|(_, function)| function.span).collect();
    files.filter(|file| !entries.iter().any(|entry| file.contains(entry.lo))).collect()
}

/// Some of the files of a program.
struct Files {
    /// Their places, sorted.
    files: Vec<Span>,
}

impl Files {
    /// The files that `is_one` accepts.
    fn where_(packages: &[Package<'_>], is_one: impl Fn(&Package<'_>, &ast::File) -> bool) -> Files {
        let mut files = vec![];
        for package in packages {
            files.extend(
                package.files.iter().filter(|file| is_one(package, file.ast)).map(|file| file.ast.span),
            );
        }
        files.sort();
        Files { files }
    }

    fn contains(&self, span: Span) -> bool {
        let after = self.files.partition_point(|file| file.lo <= span.lo);
        after.checked_sub(1).is_some_and(|file| self.files[file].contains(span.lo))
    }
}

/// The maximum number of reported errors. It bounds the memory of the reports.
const MAX_ERRORS: usize = 1000;

/// The state of the checker.
pub(crate) struct Checker<'a> {
    pub program: Program,
    pub diagnostics: Vec<Diagnostic>,
    pub modules: Modules,
    pub packages: Packages,
    /// The package that is the program itself, the last one.
    pub program_package: PackageId,
    /// The files of modules that are not written where they are declared, by the places of their names.
    pub module_files: FxHashMap<Span, Vec<&'a ast::File>>,
    pub fns: PrimaryMap<FnId, FnInfo<'a>>,
    pub structs: PrimaryMap<StructId, StructInfo<'a>>,
    pub enums: PrimaryMap<EnumId, EnumInfo<'a>>,
    pub statics: PrimaryMap<StaticId, StaticInfo<'a>>,
    pub aliases: PrimaryMap<AliasId, AliasInfo<'a>>,
    pub uses: PrimaryMap<UseId, UseInfo>,
    /// The current body.
    pub body: Body,
    /// The number of expressions being checked, over the current body and all suspended ones.
    pub depth: usize,
    /// Whether a condition is a vector.
    pub has_vector_control: bool,
}

/// The position of an item.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    pub module: ModuleId,
    pub dialect: Dialect,
    /// Whether `fn(T)` is a continuation.
    pub edition_2015: bool,
    /// Whether it is in a block, and sees the names of the enclosing body.
    pub in_block: bool,
}

/// The progress of a computation on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Not started.
    Open,
    /// In progress.
    Running,
    /// Finished.
    Done,
}

/// A function during checking.
pub(crate) struct FnInfo<'a> {
    pub ast: &'a ast::FnItem,
    pub attrs: &'a [ast::Attr],
    pub home: Home,
    /// Where it is defined, for declarations.
    pub abi: Option<Abi>,
    /// The types of its parameters.
    pub params: Vec<Ty>,
    /// The number of implicit parameters; they come last.
    pub n_implicit: usize,
    /// Progress of its result and type.
    pub progress: Progress,
    /// Progress of its parameters.
    pub declared: Progress,
    /// Whether its body has been checked.
    pub is_checked: bool,
}

/// A struct during checking.
pub(crate) struct StructInfo<'a> {
    pub ast: &'a ast::StructItem,
    pub home: Home,
    pub fields: FxHashMap<Name, u32>,
}

/// An enum during checking.
pub(crate) struct EnumInfo<'a> {
    pub ast: &'a ast::EnumItem,
    pub home: Home,
    pub options: FxHashMap<Name, u32>,
}

/// A static or `implicit` during checking.
pub(crate) struct StaticInfo<'a> {
    pub ty: Option<&'a ast::TypeExpr>,
    pub init: Option<&'a ast::Expr>,
    pub attrs: &'a [ast::Attr],
    pub home: Home,
    /// Progress of its type.
    pub progress: Progress,
    /// Whether its value has been checked.
    pub is_checked: bool,
}

/// An alias during checking.
pub(crate) struct AliasInfo<'a> {
    pub name: ast::Ident,
    pub tparam_asts: &'a [ast::GenericParam],
    pub tparams: Vec<TyParam>,
    pub ast: &'a ast::TypeExpr,
    pub home: Home,
    /// Its type, once resolved.
    pub ty: Option<Ty>,
}

/// A `use` during checking.
pub(crate) struct UseInfo {
    pub path: Rc<ast::Path>,
    pub home: Home,
    /// Whether it brings in all names of its target.
    pub is_glob: bool,
    /// Who may use the names that come with a glob.
    pub visibility: Visibility,
    pub progress: Progress,
    /// Its target, once resolved.
    pub target: Def,
}

impl<'a> Checker<'a> {
    fn new(n_packages: usize) -> Checker<'a> {
        Checker {
            program: Program::default(),
            diagnostics: vec![],
            modules: Modules::new(),
            packages: Packages::new(),
            program_package: PackageId::new(n_packages.saturating_sub(1)),
            module_files: FxHashMap::default(),
            fns: PrimaryMap::new(),
            structs: PrimaryMap::new(),
            enums: PrimaryMap::new(),
            statics: PrimaryMap::new(),
            aliases: PrimaryMap::new(),
            uses: PrimaryMap::new(),
            body: Body::new(Home {
                module: ModuleId::new(0),
                dialect: Dialect::Impala,
                edition_2015: false,
                in_block: false,
            }),
            depth: 0,
            has_vector_control: false,
        }
    }

    /// Reports an error.
    pub fn report(&mut self, error: Error) {
        self.body.has_errors = true;
        if self.diagnostics.len() < MAX_ERRORS {
            let diagnostic = error.render(&self.program);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports a second definition of a name in one scope.
    pub fn report_redefinition(&mut self, name: Name, span: Span, first: Span) {
        self.report(Error::Redefinition { name, span, first, of_another_kind: false });
    }

    /// A new function of which only the name is known.
    pub fn new_fn(&mut self, info: FnInfo<'a>) -> FnId {
        let error = self.program.types.error();
        let name = info.ast.name;
        self.fns.push(info);
        self.program.fns.push(tree::Function {
            name: name.name,
            span: name.span,
            tparams: vec![],
            params: vec![],
            ret: error,
            ty: error,
            filter: None,
            return_local: None,
            body: None,
            linkage: tree::Linkage::Internal,
            attrs: vec![],
            role: None,
            parent: None,
        })
    }
}
