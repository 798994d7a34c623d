//! The stages of the compiler, one after the other.
//!
//! [`check`], [`prepare`] and [`graphs`] take a program as far as their caller needs; the command line composes
//! nothing itself. The functions of single stages are for tests and tools that inspect a stage. Each function
//! reports to the session, and returns nothing if the program has errors.

use nyala_interface::Interface;
use nyala_interp::{ErrorKind, Io};
use nyala_ir::entry::NoEntry;
use nyala_ir::{Cont, World};
use nyala_lower::{Entry, LowerOptions, Statics};
use nyala_opt::outline::{Outlined, Platform};
use nyala_opt::partial_eval::Explanation;
use nyala_opt::vectorize::{Options as VectorizeOptions, SiteFacts};
use nyala_runtime::CALLED_BY_COMPILED_CODE;
use nyala_sema::Checked;
use nyala_sema::package::{self, Package, Role};
use nyala_sema::tree::{Linkage, Program};
use nyala_span::{Code, Diagnostic, FileId, Name, SourceMap, Span};
use nyala_syntax::{Parse, ParseOptions, ast};
use rustc_hash::FxHashSet;

use crate::compile_time::Budget;
use crate::edition::{Edition, Prelude};
use crate::errors::reserved_symbol;
use crate::loading::LoadedPackage;
use crate::machine;
use crate::prelude;
use crate::session::Session;
use crate::tuning;

/// Parses all files of the program, of libraries and of the prelude.
pub fn parse(session: &mut Session) -> Option<Vec<(FileId, ast::File)>> {
    let trees = parse_packages(session, Items::All)?;
    let files =
        session.packages.iter().zip(trees).flat_map(|(package, trees)| package.files.iter().zip(trees));
    Some(files.map(|(file, (tree, _))| (file.id, tree)).collect())
}

/// The syntax trees of a package, with the modules that the files belong to.
pub(crate) type Trees = Vec<(ast::File, Option<Span>)>;

/// Which items of the prelude are part of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    /// Those that the program needs; see [`prelude`].
    Needed,
    /// All of them.
    All,
}

/// Parses all files of all packages.
fn parse_packages(session: &mut Session, items: Items) -> Option<Vec<Trees>> {
    session.load_packages()?;
    session.timings.enter("parse");
    let n_preludes = session.packages.iter().take_while(|package| package.is_prelude()).count();
    let (preludes, packages) = session.packages.split_at(n_preludes);
    let (mut trees, mut errors, mut names) = (vec![], vec![], FxHashSet::default());
    for package in packages {
        let is_own = package.role != Role::Foreign;
        let rules = match session.options.prelude {
            Prelude::RulesOnly(edition) if is_own => Some(edition),
            _ => package.edition,
        };
        let options = ParseOptions {
            dialect: session.options.dialect.filter(|_| is_own),
            edition_2015: rules.map(|edition| edition == Edition::E2015),
        };
        let mut trees_of_package = vec![];
        for file in &package.files {
            let parse = nyala_syntax::parse_with(session.sources.file(file.id), options);
            trees_of_package.push((parse.file, file.module));
            errors.extend(parse.errors);
            names.extend(parse.names);
        }
        trees.push(trees_of_package);
    }
    let names = (items == Items::Needed).then_some(&names);
    let preludes = preludes.iter().map(|package| parse_prelude(&session.sources, package, names));
    let mut trees: Vec<Trees> = preludes.collect::<Vec<_>>().into_iter().chain(trees).collect();
    session.diagnostics.extend(errors);
    tuning::choose(session, &mut trees);
    (!session.has_errors()).then_some(trees)
}

/// Parses the items of a prelude that a program with these names needs; all of them if there are no names.
fn parse_prelude(sources: &SourceMap, package: &LoadedPackage, names: Option<&FxHashSet<Name>>) -> Trees {
    let prelude_files = &package.prelude_files;
    let pieces = names.map(|names| prelude::select(prelude_files, names.iter().copied()));
    let mut trees = vec![];
    for (index, (file, prelude_file)) in package.files.iter().zip(prelude_files).enumerate() {
        let options = ParseOptions { dialect: Some(prelude_file.dialect), edition_2015: Some(false) };
        let source = sources.file(file.id);
        let parse = match &pieces {
            Some(pieces) => nyala_syntax::parse_pieces(source, &pieces[index], options),
            None => nyala_syntax::parse_with(source, options),
        };
        trees.push((parse.file, file.module));
    }
    trees
}

/// Formats the file of a session.
pub fn format(session: &mut Session) -> Option<String> {
    let file = session.sources.file(session.files.first()?.id);
    let options = ParseOptions { dialect: session.options.dialect, edition_2015: None };
    let Parse { file: tree, errors, .. } = nyala_syntax::parse_with(file, options);
    let formatted = errors.is_empty().then(|| nyala_syntax::format(&tree, file));
    session.diagnostics.extend(errors);
    formatted
}

/// Checks the program: all static errors.
pub fn check(session: &mut Session) -> Option<Program> {
    let budget = Budget::new(session.options.statics);
    check_with(session, &Statics::new(&|world, function| budget.run(world, function)))
}

/// Checks the program as [`check`] does, and reports all errors and warnings before code generation: of lowering,
/// evaluation, parallel bodies and kernels.
pub fn check_all(session: &mut Session) {
    let _ = prepare(session);
}

fn check_with(session: &mut Session, statics: &Statics<'_>) -> Option<Program> {
    let items = if session.options.whole_prelude { Items::All } else { Items::Needed };
    let mut checked = check_packages(session, items)?;
    // Messages suggest similar names of the whole prelude.
    if items == Items::Needed && checked.diagnostics.iter().any(Diagnostic::is_error) {
        checked = check_packages(session, Items::All)?;
    }
    session.diagnostics.extend(checked.diagnostics);
    session.diagnostics.extend(reserved_symbols(&checked.program));
    if !session.has_errors() {
        session.timings.enter("statics");
        let errors =
            nyala_lower::check_statics(&checked.program, &session.sources, &lower_options(session), statics);
        session.diagnostics.extend(errors);
    }
    (!session.has_errors()).then_some(checked.program)
}

fn check_packages(session: &mut Session, items: Items) -> Option<Checked> {
    let trees = parse_packages(session, items)?;
    session.timings.enter("check");
    let packages: Vec<Package<'_>> =
        session.packages.iter().zip(&trees).map(|(package, trees)| package_of(package, trees)).collect();
    Some(nyala_sema::check(&packages))
}

/// A package for the checker.
fn package_of<'a>(package: &LoadedPackage, trees: &'a Trees) -> Package<'a> {
    Package {
        name: package.name,
        files: trees.iter().map(|(ast, module)| package::File { ast, module: *module }).collect(),
        prelude: package.prelude,
        dependencies: package.dependencies.clone(),
        exports: package.exports.clone(),
        role: package.role,
        warn_shadowing: package.warn_shadowing,
    }
}

/// Reports exported functions with reserved symbols.
fn reserved_symbols(program: &Program) -> impl Iterator<Item = Diagnostic> {
    program.fns.values().filter_map(|function| match function.linkage {
        Linkage::Export(symbol) if CALLED_BY_COMPILED_CODE.contains(&symbol.as_str()) => {
            Some(reserved_symbol(symbol.as_str(), function.span))
        }
        _ => None,
    })
}

/// Lowers the program to its graph.
pub fn emit(session: &mut Session) -> Option<World> {
    // The statics of checking are reused.
    let budget = Budget::new(session.options.statics);
    let run = |world: &World, function: Cont| budget.run(world, function);
    let statics = Statics::new(&run);
    let program = check_with(session, &statics)?;
    lower(session, &program, &statics)
}

/// The options of lowering. Checked code executes all operations that may fail.
fn lower_options(session: &Session) -> LowerOptions {
    let options = &session.options;
    LowerOptions { demands: options.lower.demands || options.checked, ..options.lower }
}

/// Lowers the program for the interpreter, which reports every operation that fails, also if its value is
/// unused.
pub fn emit_for_interp(session: &mut Session) -> Option<World> {
    session.options.lower.demands = true;
    emit(session)
}

/// Lowers a checked program.
fn lower(session: &mut Session, program: &Program, statics: &Statics<'_>) -> Option<World> {
    session.timings.enter("lower");
    match nyala_lower::lower(program, &session.sources, &lower_options(session), statics) {
        Ok(lowered) => {
            session.diagnostics.extend(lowered.warnings);
            Some(lowered.world)
        }
        Err(errors) => {
            session.diagnostics.extend(errors);
            None
        }
    }
}

/// Lowers the functions that `select` names, each exported for a tool that calls it. Also returns what the tool
/// knows about each of them, in the same order.
pub fn emit_entries(
    session: &mut Session,
    select: impl FnOnce(&Program) -> Result<Vec<Entry>, Box<Diagnostic>>,
) -> Option<(World, Vec<nyala_lower::Interface>)> {
    let budget = Budget::new(session.options.statics);
    let run = |world: &World, function: Cont| budget.run(world, function);
    let statics = Statics::new(&run);
    let program = check_with(session, &statics)?;
    let entries = select(&program).map_err(|error| session.diagnostics.push(*error)).ok()?;
    session.timings.enter("lower");
    let options = lower_options(session);
    match nyala_lower::lower_entries(&program, &session.sources, &options, &statics, &entries) {
        Ok(lowered) => {
            session.diagnostics.extend(lowered.warnings);
            Some((lowered.world, lowered.entries))
        }
        Err(errors) => {
            session.diagnostics.extend(errors);
            None
        }
    }
}

/// Runs the partial evaluator.
pub fn evaluate(session: &mut Session, world: &World) -> World {
    session.timings.enter("evaluate");
    let evaluated = nyala_opt::pipeline::evaluate(world, session.options.evaluation);
    settle(session, world);
    session.diagnostics.extend(evaluated.diagnostics);
    session.deep_functions = evaluated.deep;
    evaluated.world
}

/// Removes warnings that evaluation has settled: that the specialization of a function may not end (W0008). It has
/// ended, or a limit is reported.
fn settle(session: &mut Session, evaluated: &World) {
    let is_settled =
        |it: &Diagnostic| it.code == Code("W0008") && evaluated.origins.declares(it.primary.span);
    session.diagnostics.retain(|it| !is_settled(it));
}

/// Runs the partial evaluator, and records its decision at each call.
pub fn explain(session: &mut Session, world: &World) -> (World, Explanation) {
    session.timings.enter("evaluate");
    let options = nyala_opt::partial_eval::Options { explain: true, ..session.options.evaluation };
    let evaluated = nyala_opt::pipeline::evaluate(world, options);
    settle(session, world);
    session.diagnostics.extend(evaluated.diagnostics);
    (evaluated.world, evaluated.explanation.unwrap_or_default())
}

/// Reports jumps out of parallel bodies in an evaluated program.
fn check_parallel_bodies(session: &mut Session, world: &World) {
    session.timings.enter("check parallel bodies");
    session.diagnostics.extend(nyala_opt::jumps_out(world));
}

/// Converts an evaluated program to control-flow form.
pub fn control_flow_form(session: &mut Session, mut world: World) -> World {
    session.timings.enter("control-flow form");
    nyala_opt::pipeline::control_flow_form(&mut world);
    if session.options.warn_closures {
        session.diagnostics.extend(nyala_opt::closures_left(&world));
    }
    world
}

/// Vectorizes the bodies of `vectorize` in a program in control-flow form, if
/// possible.
pub fn vectorize(session: &mut Session, mut world: World) -> World {
    session.timings.enter("vectorize");
    let reports = nyala_opt::pipeline::vectorize(&mut world, &vectorize_options(session));
    session.diagnostics.extend(reports);
    world
}

/// As [`vectorize`], and records the decisions for each call.
pub fn explain_vectorize(session: &mut Session, mut world: World) -> Vec<SiteFacts> {
    session.timings.enter("vectorize");
    let (reports, facts) = nyala_opt::pipeline::explain_vectorize(&mut world, &vectorize_options(session));
    session.diagnostics.extend(reports);
    facts
}

fn vectorize_options(session: &Session) -> VectorizeOptions {
    let own = session.sources.files().filter(|&(id, _)| !session.is_foreign(id));
    VectorizeOptions {
        machine: machine::of_processor(session.options.cpu.as_deref()),
        adapts_lanes: session.options.adapts_lanes,
        own_files: own.map(|(_, file)| file.span()).collect(),
    }
}

/// Outlines the kernels of a vectorized program as separate programs.
pub fn outline(session: &mut Session, world: World) -> Option<Outlined> {
    session.timings.enter("outline kernels");
    let sources = &session.sources;
    let is_own = |span| sources.file_of(span).is_some_and(|file| !session.is_foreign(file));
    let outlined = nyala_opt::pipeline::outline(world, Some(sources), is_own);
    match outlined {
        Ok(outlined) => Some(outlined),
        Err(errors) => {
            let errors = errors.into_iter().map(|error| with_cause(error, &session.deep_functions));
            session.diagnostics.extend(errors.collect::<Vec<_>>());
            None
        }
    }
}

/// Adds to an error about an unknown function that a limit of partial evaluation may be its cause.
fn with_cause(error: Diagnostic, deep: &[Name]) -> Diagnostic {
    let shown: Vec<String> = deep.iter().take(3).map(|name| format!("`{name}`")).collect();
    if error.code.0 != "E0941" || shown.is_empty() {
        return error;
    }
    let names = shown.join(", ");
    error.with_note(format!(
        "partial evaluation stopped at {names}, which passes ever new functions to itself"
    ))
}

/// The stages of the program graph, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// After lowering.
    Emitted,
    /// After partial evaluation.
    Evaluated,
    /// In control-flow form: functions and basic blocks.
    Cff,
    /// After vectorization.
    Vectorized,
    /// The device programs, which contain the kernels.
    Device,
    /// The host program, the input of native code generation.
    Final,
}

/// A graph of a stage.
pub struct Graph {
    /// The platform, if this is a device program.
    pub platform: Option<Platform>,
    /// The graph.
    pub world: World,
}

/// The graphs of the program at a stage: one, or one for each platform at [`Stage::Device`].
pub fn graphs(session: &mut Session, stage: Stage) -> Option<Vec<Graph>> {
    let whole = |world| Some(vec![Graph { platform: None, world }]);
    let world = emit(session)?;
    if stage == Stage::Emitted {
        return whole(world);
    }
    let world = evaluate(session, &world);
    if stage == Stage::Evaluated {
        return whole(world);
    }
    check_parallel_bodies(session, &world);
    if session.has_errors() {
        return None;
    }
    let world = control_flow_form(session, world);
    if stage == Stage::Cff {
        return whole(world);
    }
    let world = vectorize(session, world);
    if stage == Stage::Vectorized {
        return whole(world);
    }
    if session.has_errors() {
        return None;
    }
    let outlined = outline(session, world)?;
    if stage == Stage::Final {
        return whole(outlined.host);
    }
    let devices = outlined.devices.into_iter();
    Some(devices.map(|device| Graph { platform: Some(device.platform), world: device.world }).collect())
}

/// The decisions of partial evaluation at each call.
pub fn explain_evaluation(session: &mut Session) -> Option<(World, Explanation)> {
    let world = emit(session)?;
    Some(explain(session, &world))
}

/// The decisions of the vectorizer for each `vectorize`.
pub fn explain_vectorization(session: &mut Session) -> Option<Vec<SiteFacts>> {
    let world = emit(session)?;
    let world = evaluate(session, &world);
    check_parallel_bodies(session, &world);
    if session.has_errors() {
        return None;
    }
    let world = control_flow_form(session, world);
    Some(explain_vectorize(session, world))
}

/// Compiles the program up to the input of back ends.
pub fn prepare(session: &mut Session) -> Option<Outlined> {
    let world = emit(session)?;
    prepare_graph(session, &world)
}

/// Compiles the program up to the input of back ends; also returns its interface.
pub fn prepare_with_interface(session: &mut Session) -> Option<(Outlined, Interface)> {
    let (world, interface) = emit_with_interface(session)?;
    Some((prepare_graph(session, &world)?, interface))
}

/// Lowers the program; also returns its interface.
pub fn emit_with_interface(session: &mut Session) -> Option<(World, Interface)> {
    let budget = Budget::new(session.options.statics);
    let run = |world: &World, function: Cont| budget.run(world, function);
    let statics = Statics::new(&run);
    let program = check_with(session, &statics)?;
    let world = lower(session, &program, &statics)?;
    session.timings.enter("interface");
    let sources = &session.sources;
    let is_own = |span| sources.file_of(span).is_some_and(|file| !session.is_foreign(file));
    Some((world, nyala_interface::collect(&program, is_own)))
}

/// Compiles a lowered graph up to the input of back ends.
pub fn prepare_graph(session: &mut Session, world: &World) -> Option<Outlined> {
    let world = evaluate(session, world);
    check_parallel_bodies(session, &world);
    if session.has_errors() {
        return None;
    }
    let world = control_flow_form(session, world);
    let world = vectorize(session, world);
    session.diagnostics.extend(nyala_opt::large_locals(&world));
    if session.has_errors() {
        return None;
    }
    outline(session, world)
}

/// Runs the program in the interpreter; returns its exit status.
pub fn interp(
    session: &mut Session,
    world: &World,
    options: &nyala_interp::Options,
    io: Io<'_>,
) -> Option<i32> {
    session.timings.enter("interpret");
    let options = nyala_interp::Options { libraries: session.library_text(), ..options.clone() };
    match nyala_interp::run_main(world, &options, io) {
        Ok(status) => Some(status),
        Err(error) => {
            let report = error.to_diagnostic();
            let is_missing = matches!(error.kind, ErrorKind::NoEntry(NoEntry::Missing));
            session.diagnostics.push(if is_missing { session.with_programs(report) } else { report });
            None
        }
    }
}
