//! Finds tests, benchmarks and examples in a program.
//!
//! Tests and benchmarks are functions with an attribute; one that takes a number of lanes or a device is a case for
//! each of them. Examples are code in documentation comments. Each is a program of its own: see
//! [`nyala_driver::examples`].

use std::collections::BTreeMap;

use nyala_driver::examples::{self, Documented};
use nyala_driver::{Session, pipeline};
use nyala_lower::Entry;
use nyala_sema::tree::{FnId, Program, Role, RoleKind, Throughput};
use nyala_span::{Code, Diagnostic, FileId, Name, SourceFile, Span};
use nyala_syntax::ast::{self, Item, ItemKind};
use nyala_syntax::docs::{self, Docs, Example};

/// Something to be called: a test, an example or a benchmark, with all that is known before.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name; see [`make_unique`].
    pub name: String,
    /// Where it is, as `file:line:column`.
    pub place: String,
    /// What is called.
    callee: Callee,
    /// Its number of lanes.
    lanes: Option<u32>,
    /// What its device belongs to.
    pub platform: Option<Platform>,
    /// Whether it has to fail.
    pub fails: bool,
    /// Whether it is compiled only.
    pub no_run: bool,
    /// What a call processes, for benchmarks.
    pub throughput: Option<Throughput>,
    /// By how much floats of the result may differ if parameters have other values, for benchmarks.
    pub tolerance: f64,
}

/// What is called in a case.
#[derive(Clone, Copy, Debug)]
enum Callee {
    /// The function of the program whose name is here.
    Function(Span),
    /// The function with this name in this file, which is an example.
    Example(&'static str, FileId),
}

/// What devices belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Platform {
    /// NVIDIA GPUs.
    Cuda,
    /// OpenCL.
    OpenCl,
}

impl Platform {
    /// All of them.
    pub const ALL: [Platform; 2] = [Platform::Cuda, Platform::OpenCl];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Cuda => "cuda",
            Platform::OpenCl => "opencl",
        }
    }

    /// The function of the prelude that makes an `Accelerator`.
    fn accelerator(self) -> &'static str {
        match self {
            Platform::Cuda => "cuda_accelerator",
            Platform::OpenCl => "opencl_accelerator",
        }
    }

    /// The number that the runtime knows it by.
    pub fn number(self) -> u32 {
        match self {
            Platform::Cuda => 1,
            Platform::OpenCl => 2,
        }
    }
}

/// Cases that are compiled together.
pub struct Unit {
    /// The program.
    pub session: Session,
    /// What is called.
    pub cases: Vec<Case>,
}

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Tests.
    Tests,
    /// Benchmarks.
    Benchmarks,
}

/// Finds the tests or benchmarks of a checked program, in source order.
pub fn cases(session: &Session, program: &Program, wanted: Wanted) -> Vec<Case> {
    let mut cases = vec![];
    for function in program.fns.values() {
        let is_own = session.sources.file_of(function.span).is_some_and(|file| session.is_of_program(file));
        let Some(role) = function.role.as_ref().filter(|role| is_own && is_wanted(role, wanted)) else {
            continue;
        };
        cases.extend(variants(session, function.name, function.span, role));
    }
    cases
}

fn is_wanted(role: &Role, wanted: Wanted) -> bool {
    matches!(
        (&role.kind, wanted),
        (RoleKind::Test { .. }, Wanted::Tests) | (RoleKind::Bench { .. }, Wanted::Benchmarks)
    )
}

/// One case for each number of lanes and each platform.
fn variants(session: &Session, name: Name, span: Span, role: &Role) -> Vec<Case> {
    let (fails, throughput, tolerance) = match role.kind {
        RoleKind::Test { fails } => (fails, None, 0.0),
        RoleKind::Bench { throughput, tolerance } => (false, throughput, tolerance),
    };
    let lanes: Vec<Option<u32>> = match role.lanes.is_empty() {
        true => vec![None],
        false => role.lanes.iter().copied().map(Some).collect(),
    };
    let platforms: Vec<Option<Platform>> = match role.device {
        true => Platform::ALL.into_iter().map(Some).collect(),
        false => vec![None],
    };
    let mut cases = vec![];
    for &lanes in &lanes {
        for &platform in &platforms {
            let of_lanes = lanes.map(|lanes| format!("/lanes={lanes}"));
            let of_platform = platform.map(|platform| format!("/{}", platform.name()));
            let name =
                [Some(name.to_string()), of_lanes, of_platform].into_iter().flatten().collect::<String>();
            let place = session.sources.describe(span);
            cases.push(Case {
                name,
                place,
                callee: Callee::Function(span),
                lanes,
                platform,
                fails,
                no_run: false,
                throughput,
                tolerance,
            });
        }
    }
    cases
}

/// Adds the place to names that several cases of a run have.
pub fn make_unique<'a>(cases: impl IntoIterator<Item = &'a mut Case>) {
    let mut cases: Vec<&mut Case> = cases.into_iter().collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    cases.iter().for_each(|case| *count.entry(case.name.clone()).or_default() += 1);
    for case in cases.iter_mut().filter(|case| count[&case.name] > 1) {
        case.name = format!("{} ({})", case.name, case.place);
    }
}

impl Case {
    /// The function of a test or benchmark.
    pub(crate) fn function(&self, program: &Program) -> Option<FnId> {
        let Callee::Function(span) = self.callee else { return None };
        program.fns.iter().find(|(_, function)| function.span == span).map(|(id, _)| id)
    }

    /// The function to call in a program, exported under this symbol. An error says why a test has no such function.
    pub(crate) fn entry(
        &self,
        session: &Session,
        program: &Program,
        symbol: &str,
    ) -> Result<Entry, Box<Diagnostic>> {
        let in_file = |span: Span, file| session.sources.file_of(span) == Some(file);
        let named = |name: &str, is_it: &dyn Fn(Span) -> bool| {
            let found = program.fns.iter().find(|(_, function)| {
                function.name.as_str() == name && function.parent.is_none() && is_it(function.span)
            });
            found.map(|(id, _)| id)
        };
        let absent = |what: &str| {
            let message = format!("`{}` cannot be called: {what}", self.name);
            Box::new(Diagnostic::error(Code("E0465"), Span::NONE, message))
        };
        let function = match self.callee {
            Callee::Function(_) => self.function(program),
            // The `main` of an example gets no arguments.
            Callee::Example(name, file) => {
                named(name, &|span| in_file(span, file)).filter(|&id| program.fns[id].params.is_empty())
            }
        };
        let function = function.ok_or_else(|| absent("there is no function `main` without parameters"))?;
        let device = match self.platform.map(Platform::accelerator) {
            Some(name) => {
                let accelerator = named(name, &|_| true);
                Some(accelerator.ok_or_else(|| absent(&format!("there is no function `{name}`")))?)
            }
            None => None,
        };
        Ok(Entry { function, symbol: Name::new(symbol), lanes: self.lanes, device })
    }
}

// ---- Examples -------------------------------------------------------------------------

/// The function that an example without `main` is the body of.
const BODY: &str = "nyala_example";

/// The examples in the documentation of the program's own files, each as a program of its own.
pub fn examples(session: &Session) -> Vec<Unit> {
    let mut parsing = session.clone();
    let Some(trees) = pipeline::parse(&mut parsing) else { return vec![] };
    let documented = Documented::new(session, &parsing, &trees);
    let mut units = vec![];
    for (id, tree) in trees.iter().filter(|(id, _)| parsing.is_of_program(*id)) {
        let source = parsing.sources.file(*id);
        let mut found = vec![(None, docs::file_docs(tree, source))];
        item_docs(tree, source, &tree.items, &mut found);
        for (item, docs) in &found {
            let examples = docs.examples();
            units.extend(examples.iter().filter_map(|example| unit(&documented, source, *item, example)));
        }
    }
    units
}

/// The documentation of items, with their names, those of modules included.
fn item_docs<'a>(
    tree: &ast::File,
    source: &'a SourceFile,
    items: &[Item],
    found: &mut Vec<(Option<Name>, Docs<'a>)>,
) {
    for item in items {
        found.push((name_of(item), docs::docs_before(tree, source, item.span)));
        if let ItemKind::Mod { items, .. } = &item.kind {
            item_docs(tree, source, items.as_deref().unwrap_or_default(), found);
        }
    }
}

fn name_of(item: &Item) -> Option<Name> {
    let name = match &item.kind {
        ItemKind::Fn(function) => &function.name,
        ItemKind::Struct(item) => &item.name,
        ItemKind::Enum(item) => &item.name,
        ItemKind::Alias { name, .. } | ItemKind::Static { name, .. } | ItemKind::Mod { name, .. } => name,
        _ => return None,
    };
    Some(name.name)
}

/// The program of an example of an item or a file; none if it is not to be tried.
fn unit(
    documented: &Documented,
    source: &SourceFile,
    item: Option<Name>,
    example: &Example<'_, '_>,
) -> Option<Unit> {
    let has = |tag: &str| example.tags.contains(&tag);
    if !examples::is_impala(example) {
        return None;
    }
    let name = if examples::has_main(example) { "main" } else { BODY };
    let (session, file) = documented.program(source, example, BODY)?;
    let at = source.line_col(example.open.span.lo);
    let place = format!("{}:{}:{}", source.shown_name(), at.line, at.col);
    let of_item = item.map(|item| format!(" of {item}")).unwrap_or_default();
    let case = Case {
        name: format!("example{of_item} at {}:{}", source.shown_name(), at.line),
        place,
        callee: Callee::Example(name, file),
        lanes: None,
        platform: None,
        fails: has("fails"),
        no_run: has("no_run"),
        throughput: None,
        tolerance: 0.0,
    };
    Some(Unit { session, cases: vec![case] })
}
