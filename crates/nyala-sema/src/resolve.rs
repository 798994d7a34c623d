//! Name resolution: from names and paths to definitions.
//!
//! Lookup goes through the scopes of the body, then the enclosing module, then the
//! prelude if that module is the root of the program. A module sees only its own
//! names; `super` is its parent module.

use nyala_span::Name;
use nyala_syntax::ast::{Dialect, Ident, Path};

use crate::checker::{Checker, Home, Progress};
use crate::convert::prim_named;
use crate::errors::{Error, Namespace};
use crate::scope::{Def, Entry, ModuleId, UseId};

/// The maximum length of names that are compared for suggestions.
const MAX_SUGGESTION_LEN: usize = 64;

/// After this many diagnostics there are no more suggestions of similar names.
const MAX_SUGGESTIONS: usize = 100;

/// Why a path was not resolved.
enum Stuck {
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
            let (path, home) = (self.uses[id].path, self.uses[id].home);
            // In a block, the name that the `use` defines is hidden while its path is resolved.
            let entry = self.entry_at(path, home).filter(|entry| entry.def != Def::Use(id));
            let target = match self.path_from(path, home.module, entry) {
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
                    let wanted = if path.segments.len() > 1 { Namespace::Module } else { Namespace::Any };
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
        let level = entry.map_or(0, |entry| entry.level);
        loop {
            match self.path_from(path, home.module, entry) {
                Ok(def) => return (def, level),
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
                    self.report(error.in_namespace(wanted));
                    return (Def::Error, 0);
                }
            }
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
        let def = match self.body.scopes.lookup(name) {
            Some(entry) => entry.def,
            None => self.module_member(self.body.home.module, name)?,
        };
        match def {
            Def::Use(id) => Some(self.resolve_use(id)),
            def => Some(def),
        }
    }

    /// The definition of a path in an item at `home`, if it has one; reports nothing.
    pub fn item_named(&self, path: &Path, home: Home) -> Option<Def> {
        let entry = self.entry_at(path, home);
        self.path_from(path, home.module, entry).ok()
    }

    /// The entry for the start of a path in the scopes of the body that encloses an item at `home`.
    fn entry_at(&self, path: &Path, home: Home) -> Option<Entry> {
        let first = path.segments.first().filter(|_| home.in_block)?;
        self.body.scopes.lookup(first.name)
    }

    fn path_from(&self, path: &Path, module: ModuleId, entry: Option<Entry>) -> Result<Def, Stuck> {
        let (first, rest) = path.segments.split_first().expect("a path has at least one segment");
        let found = entry.map(|entry| entry.def).or_else(|| self.module_member(module, first.name));
        let mut def = match found {
            Some(def) => self.through_use(def)?,
            None if first.name.as_str() == "super" => match self.modules[module].parent {
                Some(parent) => Def::Module(parent),
                None => return Err(Stuck::Failed(Error::SuperAtRoot { span: first.span })),
            },
            None => return Err(Stuck::Failed(self.undefined(*first, module))),
        };
        for (i, segment) in rest.iter().enumerate() {
            def = self.through_use(self.member(def, path.segments[i], *segment)?)?;
        }
        Ok(def)
    }

    fn through_use(&self, def: Def) -> Result<Def, Stuck> {
        match def {
            Def::Use(id) if self.uses[id].progress == Progress::Done => Ok(self.uses[id].target),
            Def::Use(id) => Err(Stuck::Use(id)),
            def => Ok(def),
        }
    }

    fn member(&self, of: Def, of_ident: Ident, segment: Ident) -> Result<Def, Stuck> {
        match of {
            Def::Module(module) if segment.name.as_str() == "super" => match self.modules[module].parent {
                Some(parent) => Ok(Def::Module(parent)),
                None => Err(Stuck::Failed(Error::SuperAtRoot { span: segment.span })),
            },
            Def::Module(module) => self.module_member(module, segment.name).ok_or_else(|| {
                let names = self.modules[module].names.keys().copied();
                let similar = most_similar(segment.name, names);
                Stuck::Failed(Error::NoSuchMember {
                    of: of_ident.name,
                    name: segment.name,
                    span: segment.span,
                    what: "module",
                    similar,
                })
            }),
            Def::Enum(id) => match self.enums[id].options.get(&segment.name) {
                Some(&option) => Ok(Def::Option(id, option)),
                None => Err(Stuck::Failed(Error::NoSuchMember {
                    of: of_ident.name,
                    name: segment.name,
                    span: segment.span,
                    what: "enum",
                    similar: most_similar(
                        segment.name,
                        self.enums[id].ast.options.iter().map(|option| option.name.name),
                    ),
                })),
            },
            // The options of an enum are also members of its aliases.
            Def::Alias(id) => match self.aliases[id].ty.map(|ty| self.program.types.kind(ty)) {
                Some(crate::types::TyKind::Enum(of, _)) => self.member(Def::Enum(*of), of_ident, segment),
                _ => Err(Stuck::Failed(Error::NotAModule { name: of_ident.name, span: of_ident.span })),
            },
            Def::Error => Ok(Def::Error),
            _ => Err(Stuck::Failed(Error::NotAModule { name: of_ident.name, span: of_ident.span })),
        }
    }

    fn module_member(&self, module: ModuleId, name: Name) -> Option<Def> {
        let module = &self.modules[module];
        let own = module.names.get(&name).map(|&(def, _)| def);
        own.or_else(|| self.modules[module.fallback?].names.get(&name).map(|&(def, _)| def))
    }

    fn undefined(&self, ident: Ident, module: ModuleId) -> Error {
        let in_module = self.modules[module].names.keys().copied();
        let fallback = self.modules[module].fallback.into_iter();
        let in_prelude = fallback.flat_map(|prelude| self.modules[prelude].names.keys().copied());
        let locals = self.body.scopes.names();
        let similar = (self.diagnostics.len() < MAX_SUGGESTIONS)
            .then(|| most_similar(ident.name, locals.chain(in_module).chain(in_prelude)))
            .flatten();
        let outer = self.modules[module].parent.and_then(|parent| self.module_member(parent, ident.name));
        Error::Undefined {
            name: ident.name,
            span: ident.span,
            similar,
            is_in_super: outer.is_some(),
            namespace: Namespace::Any,
        }
    }
}

/// Whether a name may be bound several times in one scope, and never used.
pub(crate) fn is_anonymous(name: Name, dialect: Dialect) -> bool {
    name.is_underscore() || dialect == Dialect::Artic && name.as_str().starts_with('_')
}

/// The candidate that is most similar to `name`; ties go to the first in
/// alphabetical order.
pub(crate) fn most_similar(name: Name, candidates: impl Iterator<Item = Name>) -> Option<Name> {
    let wanted = name.as_str();
    if wanted.len() > MAX_SUGGESTION_LEN {
        return None;
    }
    let limit = (wanted.len() / 3).max(1);
    candidates
        .map(Name::as_str)
        .filter(|text| text.len().abs_diff(wanted.len()) <= limit && !text.starts_with('_'))
        .map(|text| (edit_distance(wanted.as_bytes(), text.as_bytes()), text))
        .filter(|&(distance, text)| distance <= limit && distance > 0 && distance < text.len())
        .min()
        .map(|(_, text)| Name::new(text))
}

/// The number of insertions, deletions, replacements and swaps of adjacent letters.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_one_edit() {
        assert_eq!(edit_distance(b"range", b"rnage"), 1);
        assert_eq!(edit_distance(b"range", b"orange"), 1);
        assert_eq!(edit_distance(b"", b"abc"), 3);
    }
}
