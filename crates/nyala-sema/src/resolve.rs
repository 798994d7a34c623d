//! From names and paths to definitions.
//!
//! A name is looked for in the body's scopes, then in the module around it, then in
//! the prelude if that module is the program's root. A module sees its own names
//! only; `super` is the module around it.

use nyala_span::Name;
use nyala_syntax::ast::{Dialect, Ident, Path};

use crate::checker::{Checker, Home, Progress};
use crate::convert::prim_named;
use crate::errors::{Error, Namespace};
use crate::scope::{Def, Entry, ModuleId, UseId};

/// Longer names are not compared for suggestions.
const MAX_SUGGESTION_LEN: usize = 64;

/// After this many diagnostics, unknown names are no longer compared with known ones.
const MAX_SUGGESTIONS: usize = 100;

/// Why a path has no definition yet.
enum Stuck {
    /// It leads through a `use` that is not resolved.
    Use(UseId),
    /// It has none.
    Failed(Error),
}

impl<'a> Checker<'a> {
    /// What a `use` brings in. Other uses on the way are resolved first, with a stack
    /// of our own, because chains of them may be long.
    pub fn resolve_use(&mut self, id: UseId) -> Def {
        let mut stack = vec![id];
        while let Some(&id) = stack.last() {
            if self.uses[id].progress == Progress::Done {
                stack.pop();
                continue;
            }
            self.uses[id].progress = Progress::Running;
            let (path, home) = (self.uses[id].path, self.uses[id].home);
            // In a block, what the `use` itself brings in is not what it means.
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

    /// What a path in the body or item that is being checked stands for, and how many
    /// functions are around its definition; reports what stands for nothing.
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
                    // Only the first name of a path can be undefined; the others are no members.
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

    /// What a single name stands for here, if anything; reports nothing.
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

    /// What a path in an item at `home` names, if anything; reports nothing.
    pub fn item_named(&self, path: &Path, home: Home) -> Option<Def> {
        let entry = self.entry_at(path, home);
        self.path_from(path, home.module, entry).ok()
    }

    /// What the scopes of the body around an item at `home` say about the start of a path.
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
            // An alias of an enum names its options too.
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

/// Whether a name may be bound often and used never.
pub(crate) fn is_anonymous(name: Name, dialect: Dialect) -> bool {
    name.is_underscore() || dialect == Dialect::Artic && name.as_str().starts_with('_')
}

/// The candidate that `name` was probably meant to be; ties go to the first in
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

/// How many letters to insert, delete, replace, or swap with a neighbour.
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
