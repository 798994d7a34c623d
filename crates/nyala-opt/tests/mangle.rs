//! Lambda mangling on small programs.
//!
//! Lines `; mangle ENTRY drop(PARAM = VALUE, ..) lift(VALUE, ..)` are executed in
//! order; several joined by ` with ` form a group. A value is a literal, a
//! parameter `cont.x`, or a line of the program, `cont.d`. All calls whose
//! arguments agree are then made calls of the copies, and the program is verified.

use std::process::ExitCode;

use nyala_ir::analysis::Scope;
use nyala_ir::{Body, Cont, Def, Node, World};
use nyala_opt::{Mangling, mangle_group};
use nyala_test_support::ir_files::{self, Failed, TestFile, find_cont, verified_text};

fn main() -> ExitCode {
    ir_files::run(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mangle"), render)
}

fn render(file: &TestFile) -> Result<String, Failed> {
    file.require_summary()?;
    let mut world = file.verified_world()?;
    for line in file.input.lines() {
        if let Some(directive) = line.strip_prefix("; mangle ") {
            execute(&mut world, directive)?;
            verified_text(&world)?;
        }
    }
    Ok(file.expecting(&verified_text(&world)?))
}

fn execute(world: &mut World, directive: &str) -> Result<(), Failed> {
    let mut requests = vec![];
    for one in directive.split(" with ") {
        let entry = find_cont(world, one.split_whitespace().next().ok_or("no entry")?)?;
        let mut drop = vec![None; world.cont(entry).params.len()];
        for pair in arguments(one, "drop") {
            let (param, given) = pair.split_once(" = ").ok_or("expected `param = value`")?;
            let index = param_index(world, entry, param)?;
            drop[index] = Some(value(world, world.param(entry, index), given)?);
        }
        let mut lift = vec![];
        for given in arguments(one, "lift") {
            lift.push(named(world, given)?);
        }
        requests.push((Scope::lifting(world, entry, &lift), drop));
    }
    let group: Vec<Mangling<'_>> =
        requests.iter().map(|(scope, drop)| Mangling { scope, drop: drop.clone() }).collect();
    let before: Vec<Cont> = world.conts().map(|(cont, _)| cont).collect();
    let copies = mangle_group(world, &group);
    for (mangling, copy) in group.iter().zip(copies) {
        for &cont in &before {
            redirect(world, cont, mangling, copy);
        }
    }
    Ok(())
}

/// The words of `keyword(..)` in a directive.
fn arguments<'a>(directive: &'a str, keyword: &str) -> Vec<&'a str> {
    let after = directive.split(&format!("{keyword}(")).nth(1);
    let inside = after.and_then(|after| after.split(')').next()).unwrap_or("");
    inside.split(", ").filter(|word| !word.is_empty()).collect()
}

fn param_index(world: &World, entry: Cont, name: &str) -> Result<usize, Failed> {
    let params = &world.cont(entry).params;
    let is_named = |&param: &Def| world.name(param).is_some_and(|found| found.as_str() == name);
    params.iter().position(is_named).ok_or_else(|| Failed::from(format!("there is no parameter `{name}`")))
}

/// A literal of the type of `like`, or a named value.
fn value(world: &mut World, like: Def, given: &str) -> Result<Def, Failed> {
    match (given.parse::<i64>(), world.types.as_prim(world.ty(like))) {
        (Ok(number), Some(prim)) => Ok(world.lit(prim, number as u64)),
        _ => named(world, given),
    }
}

/// `cont.x`: a parameter of that name, or an operation that the body needs.
fn named(world: &World, given: &str) -> Result<Def, Failed> {
    let (cont, name) = given.split_once('.').ok_or("expected `cont.name`")?;
    let data = world.cont(find_cont(world, cont)?);
    let mut found = None;
    let needed = data.body.iter().flat_map(|body| body.args.iter().copied());
    nyala_ir::analysis::references::for_each_node(world, data.params.iter().copied().chain(needed), |def| {
        let is_named = world.name(def).is_some_and(|name_of_def| name_of_def.as_str() == name);
        found = found.or(is_named.then_some(def));
    });
    found.ok_or_else(|| Failed::from(format!("there is no `{given}`")))
}

/// Makes a call of the original with arguments that agree a call of the copy.
fn redirect(world: &mut World, cont: Cont, mangling: &Mangling<'_>, copy: Cont) {
    let Some(body) = world.cont(cont).body.clone() else { return };
    let agrees = |(drop, &arg): (&Option<Def>, &Def)| drop.is_none_or(|drop| drop == arg);
    let calls = matches!(world.node(body.callee), Node::Cont(callee) if callee == mangling.scope.entry());
    if calls && mangling.drop.iter().zip(&body.args).all(agrees) {
        let kept =
            body.args.iter().zip(&mangling.drop).filter(|(_, drop)| drop.is_none()).map(|(&arg, _)| arg);
        let args = kept.chain(mangling.scope.lifted().iter().copied()).collect();
        world.replace_body(cont, Some(Body { callee: world.cont_def(copy), args, span: body.span }));
    }
}
