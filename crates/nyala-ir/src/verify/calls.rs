//! Rules about calls and callees: `call` and `intrinsic`.

use super::{is_mem, mismatch};
use crate::node::{Body, Def, Intrinsic, Node};
use crate::types::{Ty, TyKind};
use crate::world::World;

/// Whether `body` is a call that fits its callee.
pub(super) fn check_call(world: &World, body: &Body) -> Result<(), String> {
    let Some(params) = world.types.as_cn(world.ty(body.callee)) else {
        return Err(format!("the callee has type `{}`", world.types.display(world.ty(body.callee))));
    };
    if params.len() != body.args.len() {
        return Err(format!("the callee takes {} arguments, got {}", params.len(), body.args.len()));
    }
    for (index, (&param, &arg)) in params.iter().zip(&body.args).enumerate() {
        if world.ty(arg) != param {
            return Err(mismatch(world, &format!("argument {index}"), world.ty(arg), param));
        }
    }
    match called_intrinsic(world, body.callee) {
        Some(Intrinsic::Switch) => check_cases(world, &body.args),
        _ => Ok(()),
    }
}

fn called_intrinsic(world: &World, callee: Def) -> Option<Intrinsic> {
    match world.node(callee) {
        Node::Mark { callee, .. } => world.as_intrinsic(callee),
        _ => world.as_intrinsic(callee),
    }
}

/// `switch(mem, value, default, (lit, target)..)`
fn check_cases(world: &World, args: &[Def]) -> Result<(), String> {
    let is_lit = |case: &[Def]| world.as_lit(case[0]).is_some();
    match args.get(3..).unwrap_or(&[]).chunks(2).position(|case| !is_lit(case)) {
        Some(index) => Err(format!("case {index} is not a literal")),
        None => Ok(()),
    }
}

/// Whether `ty` is a shape that `intrinsic` may be declared in.
pub(super) fn check_declaration(world: &World, intrinsic: Intrinsic, ty: Ty) -> Result<(), String> {
    let params = world.types.as_cn(ty).unwrap_or(&[]);
    let fits = match intrinsic {
        Intrinsic::Branch => is_branch(world, params),
        Intrinsic::Switch => is_switch(world, params),
        Intrinsic::Unreachable => params.len() == 1 && is_mem(world, params[0]),
        _ => is_function(world, intrinsic, params),
    };
    if fits {
        Ok(())
    } else {
        Err(format!("has type `{}`, which is no shape of it", world.types.display(ty)))
    }
}

fn is_branch(world: &World, params: &[Ty]) -> bool {
    matches!(params, &[mem, cond, then, other]
        if is_mem(world, mem)
            && cond == world.types.bool()
            && is_target(world, then)
            && is_target(world, other))
}

fn is_switch(world: &World, params: &[Ty]) -> bool {
    let [mem, value, default, cases @ ..] = params else { return false };
    let is_case = |case: &[Ty]| matches!(case, &[lit, target] if lit == *value && is_target(world, target));
    is_mem(world, *mem)
        && world.types.as_prim(*value).is_some()
        && is_target(world, *default)
        && cases.chunks(2).all(is_case)
}

/// `cn(mem)`
fn is_target(world: &World, ty: Ty) -> bool {
    matches!(world.types.as_cn(ty), Some(&[mem]) if is_mem(world, mem))
}

/// `cn(mem, .., cn(mem, ..))` with a number of arguments that `intrinsic` has in
/// one of the language's generations, its functions in the right place.
fn is_function(world: &World, intrinsic: Intrinsic, params: &[Ty]) -> bool {
    let [mem, args @ .., ret] = params else { return false };
    let starts_with_mem = |ty: Ty| {
        let params = world.types.as_cn(ty);
        params.and_then(<[Ty]>::first).is_some_and(|&first| is_mem(world, first))
    };
    let declaration = intrinsic.declaration();
    let body_fits = !declaration.takes_body || args.last().is_some_and(|&body| starts_with_mem(body));
    is_mem(world, *mem)
        && starts_with_mem(*ret)
        && declaration.arities.contains(&args.len())
        && body_fits
        && args.iter().all(|&arg| !matches!(world.types.kind(arg), TyKind::Mem))
}
