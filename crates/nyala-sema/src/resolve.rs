//! Name resolution: from names and paths to definitions.
//!
//! Lookup goes through the scopes of the body, then the enclosing module: first the names that it defines or uses by
//! name, then the names that come with `use a::*`. After that, every module of a package sees the dependencies of
//! the package, the word `package` for its root module, and the names of the prelude. A module does not see the names
//! of its parent module, which is `super`.
//!
//! The first name of a longer path is a module or an enum: other definitions of that name are skipped, so a package
//! `fft` may have a function `fft`.

use std::rc::Rc;

use nyala_span::{Name, Span, similar};
use nyala_syntax::ast::{Dialect, Ident, Path};

use crate::checker::{Checker, Home, Progress, UseInfo};
use crate::convert::prim_named;
use crate::errors::{Error, Hint, Namespace};
use crate::scope::{Def, Entry, ModuleId, UseId, Visibility};

/// After this many diagnostics there are no more suggestions of similar names.
const MAX_SUGGESTIONS: usize = 100;

/// Where a path starts.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub module: ModuleId,
    /// The entry of its first name in the scopes of the body.
    pub entry: Option<Entry>,
    /// The `use` that the path belongs to.
    pub of_use: Option<UseId>,
    /// Whether that is a `use a::*`.
    pub is_glob: bool,
}

/// Why a path was not resolved.
pub(crate) enum Stuck {
    /// It leads through a `use` that is not resolved.
    Use(UseId),
    /// It has no definition.
    Failed(Error),
}

impl<'a> Checker<'a> {
    /// Resolves a `use`, after the uses that its path leads through. Chains of uses may be long,
    /// so the stack is explicit.
    pub fn resolve_use(&mut self, id: UseId) -> Def {
        let mut stack = vec![id];
        while let Some(&id) = stack.last() {
            if self.uses[id].progress == Progress::Done {
                stack.pop();
                continue;
            }
            self.uses[id].progress = Progress::Running;
            let UseInfo { home, is_glob, .. } = self.uses[id];
            let path = Rc::clone(&self.uses[id].path);
            let start =
                Start { module: home.module, entry: self.entry_at(&path, home), of_use: Some(id), is_glob };
            let target = match self.path_from(&path, start).and_then(|def| self.use_target(id, def)) {
                Ok(def) => def,
                Err(Stuck::Use(next)) if self.uses[next].progress == Progress::Running => {
                    self.report(Error::CyclicUse { span: path.span });
                    Def::Error
                }
                Err(Stuck::Use(next)) => {
                    stack.push(next);
                    continue;
                }
                Err(Stuck::Failed(error)) => {
                    let wanted =
                        if path.segments.len() > 1 || is_glob { Namespace::Module } else { Namespace::Any };
                    self.report(error.in_namespace(wanted));
                    Def::Error
                }
            };
            self.uses[id].target = target;
            self.uses[id].progress = Progress::Done;
            stack.pop();
        }
        self.uses[id].target
    }

    /// The definition of a path in the current body or item, and the number of functions that
    /// enclose the definition. Reports undefined paths.
    pub fn resolve_path(&mut self, path: &Path, namespace: Namespace) -> (Def, u32) {
        let Some(first) = path.segments.first() else { return (Def::Error, 0) };
        let home = self.body.home;
        if path.segments.len() == 1 && is_anonymous(first.name, home.dialect) {
            self.report(Error::AnonymousUse { name: first.name, span: first.span });
            return (Def::Error, 0);
        }
        let entry = self.body.scopes.lookup(first.name);
        loop {
            let start = Start { module: home.module, entry, of_use: None, is_glob: false };
            match self.path_with_level(path, start) {
                Ok(found) => return found,
                Err(Stuck::Use(id)) => {
                    self.resolve_use(id);
                }
                Err(Stuck::Failed(error)) => {
                    if path.segments.len() == 1 && prim_named(first.name.as_str()).is_some() {
                        self.report_primitive(*first, namespace);
                        return (Def::Error, 0);
                    }
                    // Only the first name of a path can be undefined; a later one is a missing member.
                    let wanted = if path.segments.len() > 1 { Namespace::Module } else { namespace };
                    let error = self.hint_at_end(error.in_namespace(wanted), path);
                    self.report(error);
                    return (Def::Error, 0);
                }
            }
        }
    }

    /// The error about an undefined module with a better hint, if the path ends in a name that needs no path:
    /// `std::min`.
    fn hint_at_end(&mut self, error: Error, path: &Path) -> Error {
        match (error, path.segments.last()) {
            (Error::Undefined { name, span, hint: Hint::None | Hint::Similar(_), namespace }, Some(last))
                if path.segments.len() > 1 && self.lookup(last.name).is_some() =>
            {
                Error::Undefined { name, span, hint: Hint::Alone(last.name), namespace }
            }
            (error, _) => error,
        }
    }

    /// Reports the name of a primitive type where something else is needed.
    fn report_primitive(&mut self, Ident { name, span }: Ident, needed: Namespace) {
        let what = "primitive type";
        self.report(match needed {
            Namespace::Pattern => Error::NotAType { name, what, wanted: "an option or a struct", span },
            Namespace::Type => Error::NotAType { name, what, wanted: "a struct", span },
            _ => Error::NotAValue { name, what, span },
        });
    }

    /// The definition of a single name, if it has one; reports nothing.
    pub fn lookup(&mut self, name: Name) -> Option<Def> {
        let ident = Ident { name, span: Span::NONE };
        let entry = self.body.scopes.lookup(name);
        loop {
            let start = Start { module: self.body.home.module, entry, of_use: None, is_glob: false };
            match self.first_name(ident, start, false) {
                Ok(found) => return found.map(|(def, _)| def),
                Err(Stuck::Use(id)) => {
                    self.resolve_use(id);
                }
                Err(Stuck::Failed(_)) => return None,
            }
        }
    }

    /// The definition of a path in an item at `home`, if it has one; reports nothing.
    pub fn item_named(&self, path: &Path, home: Home) -> Option<Def> {
        let entry = self.entry_at(path, home);
        self.path_from(path, Start { module: home.module, entry, of_use: None, is_glob: false }).ok()
    }

    /// The entry for the start of a path in the scopes of the body that encloses an item at `home`.
    fn entry_at(&self, path: &Path, home: Home) -> Option<Entry> {
        let first = path.segments.first().filter(|_| home.in_block)?;
        self.body.scopes.lookup(first.name)
    }

    /// The target of a `use`: names come from a module or an enum only.
    fn use_target(&self, id: UseId, def: Def) -> Result<Def, Stuck> {
        let is_source = matches!(def, Def::Module(_) | Def::Enum(_) | Def::Error);
        if !self.uses[id].is_glob || is_source {
            return Ok(def);
        }
        let last = self.uses[id].path.segments.last().expect("a path has at least one segment");
        Err(Stuck::Failed(Error::NotAModule { name: last.name, span: last.span }))
    }

    fn path_from(&self, path: &Path, start: Start) -> Result<Def, Stuck> {
        self.path_with_level(path, start).map(|(def, _)| def)
    }

    /// What a path stands for, and how many functions are around the definition it starts from.
    fn path_with_level(&self, path: &Path, start: Start) -> Result<(Def, u32), Stuck> {
        let (first, rest) = path.segments.split_first().expect("a path has at least one segment");
        let from = start.module;
        let (mut def, level) = match self.first_name(*first, start, !rest.is_empty() || start.is_glob)? {
            Some(found) => found,
            None if first.name.as_str() == "super" => match self.modules[from].parent {
                Some(parent) => (Def::Module(parent), 0),
                None => return Err(Stuck::Failed(Error::SuperAtRoot { span: first.span })),
            },
            None => return Err(Stuck::Failed(self.undefined(*first, from))),
        };
        for (i, segment) in rest.iter().enumerate() {
            def = self.through_use(self.member(def, path.segments[i], *segment, from)?)?;
        }
        Ok((def, level))
    }

    /// What the first name of a path stands for. Where more follows, a module or an enum is preferred.
    fn first_name(
        &self,
        first: Ident,
        start: Start,
        wants_source: bool,
    ) -> Result<Option<(Def, u32)>, Stuck> {
        let mut other = None;
        let mut accept = |def: Def, level: u32| {
            let is_source = matches!(def, Def::Module(_) | Def::Enum(_) | Def::Alias(_) | Def::Error);
            other = other.or(Some((def, level)));
            (is_source || !wants_source).then_some((def, level))
        };
        if let Some(def) = self.scope_glob_member(first, start)? {
            return Ok(Some((def, 0)));
        }
        // The name that a `use` defines is hidden while its path is resolved.
        let is_itself = |def: Def| start.of_use.is_some_and(|id| def == Def::Use(id));
        let entry = start.entry.filter(|entry| !is_itself(entry.def));
        if let Some(entry) = entry
            && let Some(found) = accept(self.through_use(entry.def)?, entry.level)
        {
            return Ok(Some(found));
        }
        let own = self.modules[start.module].names.get(&first.name).filter(|own| !is_itself(own.def));
        if let Some(own) = own
            && let Some(found) = accept(self.through_use(own.def)?, 0)
        {
            return Ok(Some(found));
        }
        // The path of a `use a::*` does not depend on others, so their order does not matter.
        if !start.is_glob
            && let Some(def) = self.glob_member(start.module, first, start.module)?
            && let Some(found) = accept(def, 0)
        {
            return Ok(Some(found));
        }
        if let Some(def) = self.package_member(start.module, first.name)
            && let Some(found) = accept(def, 0)
        {
            return Ok(Some(found));
        }
        if let Some(def) = self.prelude_member(start.module, first.name)
            && let Some(found) = accept(self.through_use(def)?, 0)
        {
            return Ok(Some(found));
        }
        Ok(other)
    }

    /// A dependency of the package, or its root module.
    fn package_member(&self, module: ModuleId, name: Name) -> Option<Def> {
        let package = &self.packages[self.modules[module].package];
        let dependency = package.dependencies.get(&name).copied();
        let root = (name.as_str() == "package").then_some(package.root);
        dependency.or(root).map(Def::Module)
    }

    /// A name of the package's prelude.
    pub fn prelude_member(&self, module: ModuleId, name: Name) -> Option<Def> {
        let prelude = self.packages[self.modules[module].package].prelude?;
        let binding = self.modules[prelude].names.get(&name)?;
        self.is_visible(binding.visibility, prelude, module).then_some(binding.def)
    }

    /// Whether a name of module `of` may be used in module `from`.
    pub fn is_visible(&self, visibility: Visibility, of: ModuleId, from: ModuleId) -> bool {
        match visibility {
            Visibility::Everywhere => true,
            Visibility::Package => self.modules[of].package == self.modules[from].package,
            Visibility::Module(home) => {
                std::iter::successors(Some(from), |&module| self.modules[module].parent)
                    .any(|module| module == home)
            }
        }
    }

    pub fn through_use(&self, def: Def) -> Result<Def, Stuck> {
        match def {
            Def::Use(id) if self.uses[id].progress == Progress::Done => Ok(self.uses[id].target),
            Def::Use(id) => Err(Stuck::Use(id)),
            def => Ok(def),
        }
    }

    /// The member of a module or enum that a path in module `from` names.
    fn member(&self, of: Def, of_ident: Ident, segment: Ident, from: ModuleId) -> Result<Def, Stuck> {
        let Ident { name, span } = segment;
        let no_member = |what: &'static str, similar: Option<Name>| {
            Stuck::Failed(Error::NoSuchMember { of: of_ident.name, name, span, what, similar })
        };
        match of {
            Def::Module(module) if name.as_str() == "super" => match self.modules[module].parent {
                Some(parent) => Ok(Def::Module(parent)),
                None => Err(Stuck::Failed(Error::SuperAtRoot { span })),
            },
            Def::Module(module) => {
                let found = self.module_member(module, segment, from)?;
                let names = || self.visible_names(module, from);
                found.ok_or_else(|| no_member("module", most_similar(name, names())))
            }
            Def::Enum(id) => match self.enums[id].options.get(&name) {
                Some(&option) => Ok(Def::Option(id, option)),
                None => {
                    let options = self.enums[id].options.keys().copied();
                    Err(no_member("enum", most_similar(name, options)))
                }
            },
            // The options of an enum are also members of its aliases.
            Def::Alias(id) => match self.aliases[id].ty.map(|ty| self.program.types.kind(ty)) {
                Some(crate::types::TyKind::Enum(of, _)) => {
                    self.member(Def::Enum(*of), of_ident, segment, from)
                }
                _ => Err(Stuck::Failed(Error::NotAModule { name: of_ident.name, span: of_ident.span })),
            },
            Def::Error => Ok(Def::Error),
            _ => Err(Stuck::Failed(Error::NotAModule { name: of_ident.name, span: of_ident.span })),
        }
    }

    fn module_member(&self, module: ModuleId, ident: Ident, from: ModuleId) -> Result<Option<Def>, Stuck> {
        if let Some(binding) = self.modules[module].names.get(&ident.name) {
            if self.is_visible(binding.visibility, module, from) {
                return Ok(Some(binding.def));
            }
            let Ident { name, span } = ident;
            let declared = binding.span;
            let package = self.packages[self.modules[module].package].name;
            let package = package.filter(|_| binding.visibility == Visibility::Package);
            return Err(Stuck::Failed(Error::Private { name, span, declared, package }));
        }
        if let Some(def) = self.glob_member(module, ident, from)? {
            return Ok(Some(def));
        }
        // The root of a program is where modules that name `super` look for the prelude.
        let is_own_root = self.packages[self.modules[from].package].root == module;
        Ok(is_own_root.then(|| self.prelude_member(module, ident.name)).flatten())
    }

    /// The names of a module that may be used in module `from`.
    fn visible_names(&self, module: ModuleId, from: ModuleId) -> impl Iterator<Item = Name> {
        let names = self.modules[module].names.iter();
        names
            .filter(move |(_, binding)| self.is_visible(binding.visibility, module, from))
            .map(|(name, _)| *name)
    }

    fn undefined(&self, ident: Ident, module: ModuleId) -> Error {
        let package = &self.packages[self.modules[module].package];
        let outer = self.modules[module].parent;
        let mut dependencies = package.dependencies.iter();
        let has_it = |root: ModuleId| self.visible_names(root, module).any(|name| name == ident.name);
        let hint = if outer.is_some_and(|parent| self.modules[parent].names.contains_key(&ident.name)) {
            Hint::Super
        } else if let Some((&name, _)) = dependencies.find(|&(_, &root)| has_it(root)) {
            Hint::Dependency(name)
        } else {
            let is_cheap = self.diagnostics.len() < MAX_SUGGESTIONS;
            let similar = is_cheap.then(|| most_similar(ident.name, self.names_in_scope(module))).flatten();
            match similar {
                Some(similar) => Hint::Similar(similar),
                None if is_cheap => self.names_like(ident.name, module),
                None => Hint::None,
            }
        };
        Error::Undefined { name: ident.name, span: ident.span, hint, namespace: Namespace::Any }
    }

    /// Functions for single types, if `name` is what they have in common. All words for printing are one.
    fn names_like(&self, name: Name, module: ModuleId) -> Hint {
        let is_printing = name.as_str().starts_with("print") || name.as_str() == "puts";
        let prefix = if is_printing { "print_".to_owned() } else { format!("{name}_") };
        let mut names: Vec<Name> =
            self.names_in_scope(module).filter(|name| name.as_str().starts_with(&prefix)).collect();
        names.sort_by_key(|name| name.as_str());
        names.dedup();
        if names.len() > 1 { Hint::Prefix(names) } else { Hint::None }
    }

    /// All names that could stand for something here; in no order.
    fn names_in_scope(&self, module: ModuleId) -> impl Iterator<Item = Name> {
        let package = &self.packages[self.modules[module].package];
        let locals = self.body.scopes.names();
        let own = self.modules[module].names.keys().copied();
        let globs = self.glob_sources(module).flat_map(move |source| self.visible_names(source, module));
        let prelude =
            package.prelude.into_iter().flat_map(move |prelude| self.visible_names(prelude, module));
        locals.chain(own).chain(globs).chain(package.dependencies.keys().copied()).chain(prelude)
    }
}

/// Whether a name may be bound several times in one scope, and never used.
pub(crate) fn is_anonymous(name: Name, dialect: Dialect) -> bool {
    name.is_underscore() || dialect == Dialect::Artic && name.as_str().starts_with('_')
}

/// The candidate that is most similar to `name`.
pub(crate) fn most_similar(name: Name, candidates: impl Iterator<Item = Name>) -> Option<Name> {
    similar::most_similar(name.as_str(), candidates.map(Name::as_str)).map(Name::new)
}
