//! The files of modules: `mod m;` stands for `m.impala` in the folder of its module, or for all source files in the
//! folder `m`.
//!
//! The modules inside of `m` are in the folder `m` in both cases. A file that is declared as a module is not part of
//! the module around it, even if that consists of all files of a folder.

use std::collections::BTreeMap;

use nyala_package::{Folder, Source};
use nyala_span::{Code, Diagnostic, FileId, Name, Span};
use nyala_syntax::ast::{self, Item, ItemKind, Vis};

use crate::session::Session;

/// How deep modules may nest in folders. Links between folders may lead back.
const MAX_DEPTH: usize = 64;

/// A file and the module it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct ModuleFile {
    pub id: FileId,
    /// The place of the name in `mod m;`; none for the root module.
    pub module: Option<Span>,
}

/// A file that is read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub id: FileId,
    /// Where it is; none for a text that is not in a file.
    pub source: Option<Source>,
    /// The folder of the modules that it declares.
    pub modules: Option<Folder>,
}

/// `mod m;`
struct Declaration {
    name: Name,
    span: Span,
    /// The modules around it in its file.
    path: Vec<Name>,
}

/// The files of one module.
struct Module {
    files: Vec<Read>,
    span: Option<Span>,
    depth: usize,
}

impl Session {
    /// The files of a package: those of its root module, and those of all modules that they declare.
    pub(crate) fn module_files(&mut self, root: Vec<Read>) -> Vec<ModuleFile> {
        let mut found = vec![];
        let mut open = vec![Module { files: root, span: None, depth: 0 }];
        while let Some(Module { files, span, depth }) = open.pop() {
            let declared: Vec<Vec<Declaration>> =
                files.iter().map(|file| self.declarations(file.id)).collect();
            for (i, file) in files.iter().enumerate() {
                let mut others = files.iter().zip(&declared).enumerate().filter(|&(other, _)| other != i);
                if others.any(|(_, (other, declared))| claims(other, declared, file)) {
                    continue;
                }
                found.push(ModuleFile { id: file.id, module: span });
                for declaration in &declared[i] {
                    let Some(folder) = &file.modules else { continue };
                    let files = self.files_of(declaration, folder, &files, depth);
                    open.push(Module { files, span: Some(declaration.span), depth: depth + 1 });
                }
            }
        }
        found
    }

    /// The files of a declared module; reports it if there are none.
    fn files_of(
        &mut self,
        declared: &Declaration,
        folder: &Folder,
        known: &[Read],
        depth: usize,
    ) -> Vec<Read> {
        let folder = declared.path.iter().fold(folder.clone(), |folder, name| folder.join(name.as_str()));
        let inside = folder.join(declared.name.as_str());
        let sources = match folder.source(declared.name.as_str()) {
            Some(source) => vec![source],
            None => inside.sources(),
        };
        if sources.is_empty() || depth >= MAX_DEPTH {
            self.diagnostics.push(no_file(declared, &folder));
        }
        let mut files = vec![];
        for source in sources.into_iter().filter(|_| depth < MAX_DEPTH) {
            let known = known.iter().find(|file| file.source.as_ref() == Some(&source)).map(|file| file.id);
            let id = known.or_else(|| self.load_source(&source));
            files.extend(id.map(|id| Read { id, source: Some(source), modules: Some(inside.clone()) }));
        }
        files
    }

    /// The modules that a file declares and does not contain.
    fn declarations(&self, id: FileId) -> Vec<Declaration> {
        let file = self.sources.file(id);
        let mut found = vec![];
        if file.text.contains("mod") {
            let tree = nyala_syntax::parse(file).file;
            declarations_in(&tree.items, &mut vec![], &mut found);
        }
        found
    }
}

fn declarations_in(items: &[Item], path: &mut Vec<Name>, found: &mut Vec<Declaration>) {
    for item in items {
        match &item.kind {
            ItemKind::Mod { name, items: None } => {
                found.push(Declaration { name: name.name, span: name.span, path: path.clone() });
            }
            ItemKind::Mod { name, items: Some(items) } => {
                path.push(name.name);
                declarations_in(items, path, found);
                path.pop();
            }
            _ => {}
        }
    }
}

/// The module that a file belongs to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct ModulePath {
    /// Its names, from the root module on, which has none.
    pub names: Vec<Name>,
    /// Whether it or a module around it says `priv`.
    pub is_private: bool,
}

/// The modules of the files of a package. A file comes after the one that declares its module.
pub(crate) fn module_paths<'a>(
    files: impl IntoIterator<Item = (&'a ast::File, Option<Span>)>,
) -> Vec<ModulePath> {
    let mut declared: BTreeMap<u32, ModulePath> = BTreeMap::new();
    let mut paths = vec![];
    for (file, module) in files {
        let path = module.and_then(|span| declared.get(&span.lo).cloned()).unwrap_or_default();
        paths_in(&file.items, &path, &mut declared);
        paths.push(path);
    }
    paths
}

/// Recurses on modules, whose nesting the parser bounds.
fn paths_in(items: &[Item], path: &ModulePath, declared: &mut BTreeMap<u32, ModulePath>) {
    for item in items {
        let ItemKind::Mod { name, items } = &item.kind else { continue };
        let mut inner = path.clone();
        inner.names.push(name.name);
        inner.is_private |= item.vis == Some(Vis::Priv);
        match items {
            Some(items) => paths_in(items, &inner, declared),
            None => {
                declared.insert(name.span.lo, inner);
            }
        }
    }
}

/// Whether a declaration in `other` says that `file` is a module.
fn claims(other: &Read, declared: &[Declaration], file: &Read) -> bool {
    let Some(source) = &file.source else { return false };
    other.modules.as_ref() == Some(&source.folder)
        && declared.iter().any(|it| it.path.is_empty() && it.name.as_str() == source.stem())
}

fn no_file(declared: &Declaration, folder: &Folder) -> Diagnostic {
    let name = declared.name;
    let folder = folder.shown();
    Diagnostic::error(Code("E0028"), declared.span, format!("the module `{name}` has no file")).with_note(
        format!(
            "`{folder}` has neither `{name}.impala` nor `{name}.art` nor a folder `{name}` with source files"
        ),
    )
}
