//! What is checked: the packages of a program.
//!
//! The prelude is a package like any other, except that all its visible names are known without a path in the packages
//! that have it. A package sees its own names, those of its prelude, and its dependencies by their names;
//! never those of the packages that use it.

use nyala_span::{Name, Span};
use nyala_syntax::ast;

/// One package of a program.
#[derive(Clone, Default)]
pub struct Package<'a> {
    /// Its name, for messages; none for a program of loose files and for the prelude.
    pub name: Option<Name>,
    /// Its files, in any order.
    pub files: Vec<File<'a>>,
    /// Its prelude: the number of a package before this one.
    pub prelude: Option<usize>,
    /// The packages whose names may begin a path.
    pub dependencies: Vec<Dependency>,
    /// The names of the root module that other packages may use, where they are listed; all if absent.
    pub exports: Option<Vec<(Name, Span)>>,
    /// How far it is reported on.
    pub role: Role,
    /// Whether to warn of names that shadow names of the prelude or of a library.
    pub warn_shadowing: bool,
}

/// One file of a package.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// Its syntax tree.
    pub ast: &'a ast::File,
    /// The module whose contents it is: the place of the name in `mod m;`. None for the root module.
    pub module: Option<Span>,
}

/// A package that another one uses.
#[derive(Clone, Copy, Debug)]
pub struct Dependency {
    /// The name that begins paths to it.
    pub name: Name,
    /// The number of a package before this one.
    pub package: usize,
    /// Where the program asks for all its names without a path, if it does.
    pub glob: Option<Span>,
}

/// How far a package is reported on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// Written by others: no warnings.
    Foreign,
    /// The user's program: what it does not use is not used.
    #[default]
    Program,
    /// The user's library, or part of several programs: others may use what they can see.
    Library,
}

impl<'a> Package<'a> {
    /// A program of these files, without a prelude.
    pub fn program(files: impl IntoIterator<Item = &'a ast::File>) -> Package<'a> {
        let files = files.into_iter().map(|ast| File { ast, module: None }).collect();
        Package { files, ..Package::default() }
    }
}
