//! Names: definitions, modules, and the scopes of a body.
//!
//! Every scope has one namespace: a struct and a function of one name clash.
//! The scopes of a body are one table with an undo log, so a lookup takes constant
//! time.

use cranelift_entity::{PrimaryMap, entity_impl};
use indexmap::IndexMap;
use nyala_span::{Name, Span};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::tree::{FnId, LocalId, StaticId};
use crate::types::{EnumId, StructId, TyParam};

/// A module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ModuleId(u32);
entity_impl!(ModuleId, "module");

/// A package.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PackageId(u32);
entity_impl!(PackageId, "package");

/// A type alias.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AliasId(u32);
entity_impl!(AliasId, "alias");

/// A `use`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UseId(u32);
entity_impl!(UseId, "use");

/// The definition that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    Module(ModuleId),
    Struct(StructId),
    Enum(EnumId),
    /// An option of an enum.
    Option(EnumId, u32),
    Alias(AliasId),
    Static(StaticId),
    Fn(FnId),
    TyParam(TyParam),
    Local(LocalId),
    /// A `use`. Occurs in tables only; resolution replaces it by its target.
    Use(UseId),
    /// An error that was already reported.
    Error,
}

impl Def {
    /// Its noun in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Def::Module(_) => "module",
            Def::Struct(_) => "struct",
            Def::Enum(_) => "enum",
            Def::Option(..) => "option",
            Def::Alias(_) => "type alias",
            Def::Static(_) => "static",
            Def::Fn(_) => "function",
            Def::TyParam(_) => "type parameter",
            Def::Local(_) | Def::Use(_) | Def::Error => "variable",
        }
    }
}

/// A name in a scope.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub def: Def,
    /// Where it is defined.
    pub span: Span,
    /// The number of enclosing scopes.
    pub depth: u32,
    /// The number of enclosing functions and lambdas.
    pub level: u32,
}

/// Who may use a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visibility {
    /// All packages.
    Everywhere,
    /// The package.
    Package,
    /// This module, and modules in it.
    Module(ModuleId),
}

/// A name in a module.
#[derive(Clone, Copy)]
pub(crate) struct Binding {
    pub def: Def,
    /// Where it is defined.
    pub span: Span,
    pub visibility: Visibility,
    /// Whether it is meant to shadow a name from outside: `#[shadows]`.
    pub shadows: bool,
}

/// A module and its names.
pub(crate) struct Module {
    pub package: PackageId,
    /// The module around it; none for the root of a package.
    pub parent: Option<ModuleId>,
    pub names: IndexMap<Name, Binding, FxBuildHasher>,
    /// Where all visible names come from too, unless the module has a name itself.
    pub globs: Vec<UseId>,
    /// Its `implicit` values.
    pub implicits: Vec<StaticId>,
}

impl Module {
    pub fn new(package: PackageId, parent: Option<ModuleId>) -> Module {
        Module { package, parent, names: IndexMap::default(), globs: vec![], implicits: vec![] }
    }
}

/// A package while its program is checked.
pub(crate) struct PackageInfo {
    /// Its name; none for a program of loose files and for the prelude.
    pub name: Option<Name>,
    pub root: ModuleId,
    /// The root of its prelude.
    pub prelude: Option<ModuleId>,
    /// The roots of the packages it depends on.
    pub dependencies: IndexMap<Name, ModuleId, FxBuildHasher>,
}

/// All packages.
pub(crate) type Packages = PrimaryMap<PackageId, PackageInfo>;

/// All modules.
pub(crate) type Modules = PrimaryMap<ModuleId, Module>;

/// The scopes of a body, innermost last.
#[derive(Default)]
pub(crate) struct Scopes {
    table: FxHashMap<Name, Entry>,
    undo: Vec<(Name, Option<Entry>)>,
    marks: Vec<usize>,
    /// `use a::*` in blocks, innermost last.
    globs: Vec<ScopeGlob>,
}

/// A `use a::*` in a block.
#[derive(Clone, Copy)]
pub(crate) struct ScopeGlob {
    pub id: UseId,
    /// How many scopes are open around it.
    pub depth: u32,
}

impl Scopes {
    /// Opens a scope.
    pub fn enter(&mut self) {
        self.marks.push(self.undo.len());
    }

    /// Closes the innermost scope.
    pub fn exit(&mut self) {
        let mark = self.marks.pop().expect("each exit has its enter");
        for (name, old) in self.undo.drain(mark..).rev() {
            match old {
                Some(old) => self.table.insert(name, old),
                None => self.table.remove(&name),
            };
        }
        let depth = self.marks.len() as u32;
        while self.globs.pop_if(|glob| glob.depth > depth).is_some() {}
    }

    /// Adds a `use a::*` to the innermost scope.
    pub fn add_glob(&mut self, id: UseId) {
        let depth = self.marks.len() as u32;
        self.globs.push(ScopeGlob { id, depth });
    }

    /// Every `use a::*` in scope, innermost last.
    pub fn globs(&self) -> &[ScopeGlob] {
        &self.globs
    }

    /// The number of open scopes.
    pub fn depth(&self) -> usize {
        self.marks.len()
    }

    /// Defines a name in the innermost scope; returns its earlier definition there.
    pub fn define(&mut self, name: Name, def: Def, span: Span, level: u32) -> Result<(), Entry> {
        let depth = self.marks.len() as u32;
        let entry = Entry { def, span, depth, level };
        let old = self.table.get(&name).copied();
        if let Some(old) = old
            && old.depth == depth
        {
            return Err(old);
        }
        self.table.insert(name, entry);
        self.undo.push((name, old));
        Ok(())
    }

    /// The definition of a name here.
    pub fn lookup(&self, name: Name) -> Option<Entry> {
        self.table.get(&name).copied()
    }

    /// All names in scope, for suggestions, in any order.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.table.keys().copied()
    }
}
