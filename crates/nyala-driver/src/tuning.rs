//! Parameters: statics with `#[tune(..)]`, and which of their values a program is compiled with.
//!
//! The value in the source and the candidates of the attribute are expressions of one type. After parsing, the
//! chosen one takes the place of the initializer, and the initializer its place among the candidates. So all stages
//! see an ordinary static, and none knows about tuning.
//!
//! Values come from the file of the program, `nyala.tune`, else from that of the package that a parameter belongs to;
//! `nyala tune` itself tries others. [`Tuned`] is the format of the file.

use std::path::{Path, PathBuf};

use nyala_package::Text;
use nyala_package::resolve::read;
use nyala_package::tuned::{Tuned, TunedValue};
use nyala_span::{Code, Diagnostic, SourceMap, Span, without_controls};
use nyala_syntax::ast::{Attr, AttrValue, Expr, Item, ItemKind};

use crate::modules::module_paths;
use crate::native;
use crate::pipeline::Trees;
use crate::session::Session;

/// Which values parameters have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Tuning {
    /// Those of the files with tuned values.
    #[default]
    Files,
    /// These, by the names of parameters. All others have the values in the source.
    Values(Vec<(String, String)>),
}

impl Tuning {
    /// The values in the source.
    pub const SOURCE: Tuning = Tuning::Values(vec![]);
}

/// A parameter of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its path, from the name of its package on.
    pub name: String,
    /// The name of the static.
    pub span: Span,
    /// The texts of its values: that in the source first, then the other candidates.
    pub values: Vec<String>,
    /// The number of the value that the program has.
    pub chosen: usize,
}

/// Gives all parameters their values, and lists them in the session.
pub(crate) fn choose(session: &mut Session, packages: &mut [Trees]) {
    let mut choices = Choices::load(session);
    let mut found = vec![];
    for (index, trees) in packages.iter_mut().enumerate() {
        let package = &session.packages[index];
        let own = choices.own(package.tuned.as_deref());
        let root = package.name.iter().map(ToString::to_string);
        let paths = module_paths(trees.iter().map(|(file, module)| (file, *module)));
        let mut walk = Walk { sources: &session.sources, choices: &mut choices, own, found };
        for ((file, _), path) in trees.iter_mut().zip(paths) {
            let path: Vec<String> = root.clone().chain(path.names.iter().map(ToString::to_string)).collect();
            walk.items(&mut file.items, &path);
        }
        found = walk.found;
    }
    let Choices { warnings, files, .. } = choices;
    session.diagnostics.extend(warnings);
    session.diagnostics.extend(files.first().map(|file| file.unknown(session, &found)).unwrap_or_default());
    session.parameters = Some(found);
}

/// The parameters of a parsed program and its packages.
pub fn parameters(session: &Session) -> &[Parameter] {
    session.parameters.as_deref().unwrap_or_default()
}

/// The processor whose tuned values a program gets: the requested one, else this one. None without LLVM,
/// which knows its name.
pub fn processor(session: &mut Session) -> Option<String> {
    match &session.options.cpu {
        Some(cpu) if cpu != "native" => Some(cpu.clone()),
        _ => native::load_llvm(&mut session.timings).ok().map(|llvm| llvm.host_cpu()),
    }
}

/// The file with the tuned values of the program.
pub fn file(session: &Session) -> Option<&Path> {
    session.packages.last()?.tuned.as_deref()
}

// ---- Values from files ----------------------------------------------------------------

/// What decides about values.
struct Choices {
    /// Values that are given; none if files decide.
    given: Option<Vec<(String, String)>>,
    /// The program's file first, if it has one that can be read.
    files: Vec<File>,
    cpu: Option<String>,
    warnings: Vec<Diagnostic>,
}

/// A file with tuned values.
struct File {
    path: PathBuf,
    values: Vec<TunedValue>,
    is_of_program: bool,
}

impl Choices {
    fn load(session: &mut Session) -> Choices {
        let mut choices = Choices { given: None, files: vec![], cpu: None, warnings: vec![] };
        // A program with errors is parsed twice. The second time, nothing is read and reported again.
        let again = session.parameters.as_ref().map(|known| {
            known.iter().map(|known| (known.name.clone(), known.values[known.chosen].clone())).collect()
        });
        choices.given = match &session.options.tuning {
            Tuning::Values(values) => Some(values.clone()),
            Tuning::Files => again,
        };
        if choices.given.is_some() {
            return choices;
        }
        let program = session.packages.len().saturating_sub(1);
        let paths: Vec<(PathBuf, bool)> = (session.packages.iter().enumerate().rev())
            .filter_map(|(index, package)| Some((package.tuned.clone()?, index == program)))
            .collect();
        for (path, is_of_program) in paths {
            if path.is_file() && !choices.files.iter().any(|file| file.path == path) {
                choices.read(session, path, is_of_program);
            }
        }
        choices
    }

    fn read(&mut self, session: &mut Session, path: PathBuf, is_of_program: bool) {
        let shown = path.display().to_string();
        let text = read(Text::Disk(path.clone())).map_err(|error| error.to_string());
        let added = text
            .and_then(|text| session.sources.add(shown.as_str(), text).map_err(|error| error.to_string()));
        let tuned = match added {
            Ok(id) => Tuned::parse(session.sources.file(id), &mut self.warnings),
            Err(reason) => {
                self.warnings.push(unreadable(&shown, &reason));
                None
            }
        };
        if let Some(tuned) = tuned.filter(|tuned| !tuned.is_empty()) {
            if self.cpu.is_none() {
                self.cpu = processor(session);
            }
            let values = self.cpu.iter().flat_map(|cpu| tuned.of(cpu)).cloned().collect();
            self.files.push(File { path, values, is_of_program });
        }
    }

    /// The number of a package's own file.
    fn own(&self, path: Option<&Path>) -> Option<usize> {
        self.files.iter().position(|file| Some(&*file.path) == path)
    }

    /// The number of the value that a parameter gets.
    fn of(&mut self, name: &str, values: &[String], own: Option<usize>) -> usize {
        let number = |text: &str| values.iter().position(|value| value == one_line(text).as_str());
        if let Some(given) = &self.given {
            let given = given.iter().find(|(given, _)| given == name);
            return given.and_then(|(_, text)| number(text)).unwrap_or(0);
        }
        let program = self.files.iter().position(|file| file.is_of_program);
        for file in [program, own].into_iter().flatten() {
            let Some(value) = self.files[file].values.iter().find(|value| value.name == name) else {
                continue;
            };
            match number(&value.value) {
                Some(number) => return number,
                None => self.warnings.push(stale(value, values)),
            }
        }
        0
    }
}

impl File {
    /// Warnings about values for parameters that the program does not have.
    fn unknown(&self, session: &Session, parameters: &[Parameter]) -> Vec<Diagnostic> {
        let is_known = |value: &&TunedValue| {
            let package = value.name.split("::").next().unwrap_or_default();
            parameters.iter().any(|parameter| parameter.name == value.name)
                // Other targets of the package may have it, and other programs may use other packages.
                || !session.packages.iter().any(|loaded| loaded.name.is_some_and(|name| name.as_str() == package))
                || session.is_part_of_package(package)
        };
        let unknown = self.values.iter().filter(|value| self.is_of_program && !is_known(value));
        unknown
            .map(|value| {
                let message = format!("there is no parameter `{}`", without_controls(&value.name));
                Diagnostic::warning(Code("W0033"), value.span, message)
                    .with_note("nothing uses this line; it may be from an older version of the package")
            })
            .collect()
    }
}

fn stale(value: &TunedValue, values: &[String]) -> Diagnostic {
    let (name, text) = (without_controls(&value.name), without_controls(&value.value));
    Diagnostic::warning(Code("W0032"), value.span, format!("`{text}` is no value of the parameter `{name}`"))
        .with_note(format!("its values are {}", values.join(", ")))
        .with_note(format!("{} is used, as in the source; `nyala tune` finds another one", values[0]))
}

fn unreadable(path: &str, reason: &str) -> Diagnostic {
    let message = format!("cannot read the tuned values in `{}`: {reason}", without_controls(path));
    Diagnostic::warning(Code("W0031"), Span::NONE, message).with_note("the values in the source are used")
}

// ---- Parameters in syntax trees ----------------------------------------------------------

/// Finds parameters in one package, and gives them their values.
struct Walk<'a> {
    sources: &'a SourceMap,
    choices: &'a mut Choices,
    own: Option<usize>,
    found: Vec<Parameter>,
}

impl Walk<'_> {
    /// Recurses on modules, whose nesting the parser bounds.
    fn items(&mut self, items: &mut [Item], path: &[String]) {
        for item in items {
            let within = |name: &str| path.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>();
            match &mut item.kind {
                ItemKind::Mod { name, items: Some(items) } => self.items(items, &within(name.name.as_str())),
                ItemKind::Static { is_mut: false, name, init: Some(init), .. } => {
                    if let Some(candidates) = candidates(&mut item.attrs) {
                        let name = (within(name.name.as_str()).join("::"), name.span);
                        self.parameter(name, init, candidates);
                    }
                }
                _ => {}
            }
        }
    }

    fn parameter(&mut self, (name, span): (String, Span), init: &mut Expr, candidates: &mut [Expr]) {
        let source = self.text(init.span);
        let texts: Vec<String> = candidates.iter().map(|candidate| self.text(candidate.span)).collect();
        let mut values = vec![source];
        for text in &texts {
            if !values.contains(text) {
                values.push(text.clone());
            }
        }
        let chosen = self.choices.of(&name, &values, self.own);
        if chosen > 0
            && let Some(place) = texts.iter().position(|text| *text == values[chosen])
        {
            std::mem::swap(init, &mut candidates[place]);
        }
        self.found.push(Parameter { name, span, values, chosen });
    }

    fn text(&self, span: Span) -> String {
        let file = self.sources.file_of(span).map(|file| self.sources.file(file));
        one_line(file.and_then(|file| file.text.get(file.local(span))).unwrap_or_default())
    }
}

fn candidates(attrs: &mut [Attr]) -> Option<&mut Vec<Expr>> {
    let tune = attrs.iter_mut().find(|attr| attr.name.name.as_str() == "tune")?;
    match &mut tune.value {
        AttrValue::Exprs(candidates) => Some(candidates),
        _ => None,
    }
}

/// Text of the source on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
