//! Names that come with `use a::*`.
//!
//! They give way to names that a scope defines or uses by name. A name that comes from two places is an error where
//! it is used, unless both mean the same.

use nyala_syntax::ast::Ident;

use crate::checker::{Checker, Progress};
use crate::errors::Error;
use crate::resolve::{Start, Stuck};
use crate::scope::{Def, ModuleId, UseId};

/// A name found through a glob.
struct Candidate {
    def: Def,
    glob: UseId,
}

impl<'a> Checker<'a> {
    /// What a name of module `module` stands for that comes with a glob, as seen from module `from`.
    pub fn glob_member(&self, module: ModuleId, ident: Ident, from: ModuleId) -> Result<Option<Def>, Stuck> {
        if self.modules[module].globs.is_empty() {
            return Ok(None);
        }
        let mut candidates = vec![];
        self.collect_candidates(module, ident, from, &mut vec![module], &mut candidates)?;
        self.unique(ident, &candidates)
    }

    /// What a name stands for that comes with a glob in the blocks around, if no scope inside of that block has it.
    pub fn scope_glob_member(&self, ident: Ident, start: Start) -> Result<Option<Def>, Stuck> {
        let depth = start.entry.map(|entry| entry.depth);
        let mut globs = self.body.scopes.globs();
        while let Some(&innermost) = globs.last() {
            if depth.is_some_and(|depth| depth >= innermost.depth) || start.is_glob {
                return Ok(None);
            }
            let first = globs.partition_point(|glob| glob.depth < innermost.depth);
            let mut candidates = vec![];
            for glob in &globs[first..] {
                self.candidates_of(glob.id, ident, start.module, &mut vec![], &mut candidates)?;
            }
            if let Some(def) = self.unique(ident, &candidates)? {
                return Ok(Some(def));
            }
            globs = &globs[..first];
        }
        Ok(None)
    }

    /// The modules whose names come with the globs of a module, as far as they are resolved.
    pub fn glob_sources(&self, module: ModuleId) -> impl Iterator<Item = ModuleId> {
        let resolved =
            self.modules[module].globs.iter().filter(|&&id| self.uses[id].progress == Progress::Done);
        resolved.filter_map(|&id| match self.uses[id].target {
            Def::Module(source) => Some(source),
            _ => None,
        })
    }

    fn unique(&self, ident: Ident, candidates: &[Candidate]) -> Result<Option<Def>, Stuck> {
        let Some((first, rest)) = candidates.split_first() else { return Ok(None) };
        match rest.iter().find(|other| other.def != first.def) {
            Some(other) => {
                let places = [first.glob, other.glob].map(|glob| self.uses[glob].path.span);
                let (name, span) = (ident.name, ident.span);
                Err(Stuck::Failed(Error::AmbiguousGlob { name, span, places }))
            }
            None => Ok(Some(first.def)),
        }
    }

    /// Collects what all globs of a module have under a name. Modules are visited once, so globs may lead back.
    fn collect_candidates(
        &self,
        module: ModuleId,
        ident: Ident,
        from: ModuleId,
        visited: &mut Vec<ModuleId>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), Stuck> {
        for &glob in &self.modules[module].globs {
            if self.is_visible(self.uses[glob].visibility, module, from) {
                self.candidates_of(glob, ident, from, visited, candidates)?;
            }
        }
        Ok(())
    }

    fn candidates_of(
        &self,
        glob: UseId,
        ident: Ident,
        from: ModuleId,
        visited: &mut Vec<ModuleId>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), Stuck> {
        match self.through_use(Def::Use(glob))? {
            Def::Module(source) if visited.contains(&source) => {}
            Def::Module(source) => {
                visited.push(source);
                let binding = self.modules[source].names.get(&ident.name);
                match binding.filter(|binding| self.is_visible(binding.visibility, source, from)) {
                    Some(binding) => candidates.push(Candidate { def: self.through_use(binding.def)?, glob }),
                    None => {
                        let n_before = candidates.len();
                        self.collect_candidates(source, ident, from, visited, candidates)?;
                        // They are named by the glob that the reader sees.
                        candidates[n_before..].iter_mut().for_each(|candidate| candidate.glob = glob);
                    }
                }
            }
            Def::Enum(id) => {
                let option = self.enums[id].options.get(&ident.name);
                candidates.extend(option.map(|&option| Candidate { def: Def::Option(id, option), glob }));
            }
            _ => {}
        }
        Ok(())
    }
}
