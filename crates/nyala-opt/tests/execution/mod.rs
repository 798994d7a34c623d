//! Executes `main` of a program on generated inputs, to compare it before and after a pass.
//!
//! A pointer parameter `&[T]` becomes a buffer of [`N_ELEMS`] elements. The outcome is the content
//! of all buffers and the results of `main`.

use nyala_interp::{Ending, Io, Options, Value, exported};
use nyala_ir::{Cont, Def, Linkage, Prim, Ty, TyKind, World, text};
use nyala_test_support::ir_files::Failed;

/// The number of elements of each buffer.
const N_ELEMS: u64 = 128;

/// The number of inputs.
pub const N_INPUTS: u64 = 3;

/// Fails unless two programs have the same outcome for each input.
pub fn check_same_outcome(before: &World, after: &World) -> Result<(), Failed> {
    for input in 0..N_INPUTS {
        let expected =
            outcome(before, input).map_err(|why| format!("before the pass, input {input}: {why}"))?;
        let found = outcome(after, input).map_err(|why| format!("after the pass, input {input}: {why}"))?;
        let is_same = expected.len() == found.len() && expected.iter().zip(&found).all(|(a, b)| a.same(b));
        if !is_same {
            return Err(format!("input {input}: expected {expected:?}, found {found:?}").into());
        }
    }
    Ok(())
}

fn outcome(world: &World, input: u64) -> Result<Vec<Value>, String> {
    let mut world = text::parse(&text::print(world)).map_err(|error| error.to_string())?;
    let entry = add_entry(&mut world, input)?;
    let (mut output, mut stdin) = (vec![], std::io::empty());
    let io = Io { output: &mut output, input: &mut stdin, nanos: &mut || 0 };
    let options = Options { steps: Some(1_000_000), ..Options::default() };
    match nyala_interp::call(&world, entry, &[], &options, io).map(|run| run.ending) {
        Ok(Ending::Results(values)) => Ok(values),
        Ok(Ending::Exit(status)) => Err(format!("the program exits with status {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Adds a function without parameters that calls `main` and returns the outcome.
fn add_entry(world: &mut World, input: u64) -> Result<Cont, String> {
    let main = exported(world, "main").ok_or("`main` is missing")?;
    let tys: Vec<Ty> = world.cont(main).params.iter().map(|&param| world.ty(param)).collect();
    let [mem_ty, ref data @ .., ret] = tys[..] else { return Err("`main` has too few parameters".into()) };
    let results = world.types.as_cn(ret).ok_or("`main` does not return")?[1..].to_vec();
    let buffers: Vec<Option<Ty>> = data.iter().map(|&ty| buffer_ty(world, ty)).collect();

    let outcome: Vec<Ty> =
        buffers.iter().flatten().filter(|&&ty| !has_pointers(world, ty)).copied().collect();
    let outcome: Vec<Ty> = [mem_ty].into_iter().chain(outcome).chain(results).collect();
    let outcome_ty = world.types.cn(&outcome);
    let entry = world.new_cont("entry", &[mem_ty, outcome_ty]);
    world.set_linkage(entry, Linkage::Exported("entry".into()));
    let done = world.new_cont_of("done", ret);

    let (mut mem, mut args, mut slots) = (world.param(entry, 0), vec![], vec![]);
    for (index, (&ty, buffer)) in data.iter().zip(&buffers).enumerate() {
        let seed = input + 10 * index as u64;
        args.push(match *buffer {
            None => value(world, ty, seed, 0)?,
            Some(buffer) => {
                let content = value(world, buffer, seed, 0)?;
                let (allocated, slot) = world.slot(mem, buffer);
                mem = world.store(allocated, slot, content);
                slots.push((slot, buffer));
                world.bitcast(ty, slot)
            }
        });
    }
    let args: Vec<Def> = [mem].into_iter().chain(args).chain([world.cont_def(done)]).collect();
    world.set_body(entry, world.cont_def(main), args);

    let (mut mem, mut loaded) = (world.param(done, 0), vec![]);
    for (slot, _) in slots.into_iter().filter(|&(_, ty)| !has_pointers(world, ty)).collect::<Vec<_>>() {
        let (next, content) = world.load(mem, slot);
        mem = next;
        loaded.push(content);
    }
    let results = world.cont(done).params[1..].to_vec();
    let args: Vec<Def> = [mem].into_iter().chain(loaded).chain(results).collect();
    world.set_body(done, world.param(entry, 1), args);
    Ok(entry)
}

/// The buffer of a parameter that is a pointer to a slice.
fn buffer_ty(world: &mut World, ty: Ty) -> Option<Ty> {
    let (pointee, _) = world.types.as_ptr(ty)?;
    match *world.types.kind(pointee) {
        TyKind::Slice(elem) => Some(world.types.array(elem, N_ELEMS)),
        _ => None,
    }
}

fn has_pointers(world: &World, ty: Ty) -> bool {
    match *world.types.kind(ty) {
        TyKind::Ptr { .. } => true,
        TyKind::Array { elem, .. } => has_pointers(world, elem),
        _ => false,
    }
}

/// Input value number `at` of type `ty`. Integers are from 0 to 15, and 16 consecutive ones differ
/// for most inputs.
fn value(world: &mut World, ty: Ty, seed: u64, at: u64) -> Result<Def, String> {
    let number = match seed % 10 {
        0 => (at * 7 + 6 + seed / 10) % 16,
        1 => (at * 5 + 1) % 16,
        _ => [5, 12, 0, 3][at as usize % 4],
    };
    Ok(match *world.types.kind(ty) {
        TyKind::Prim(Prim::Bool) => world.lit_bool(number % 2 == 0),
        TyKind::Prim(Prim::F32) => world.lit(Prim::F32, u64::from((number as f32 / 2.0 - 3.0).to_bits())),
        TyKind::Prim(prim) if prim.is_int() => world.lit(prim, number),
        TyKind::Ptr { .. } => world.null(ty),
        TyKind::Array { elem, len } => {
            let parts: Vec<Def> =
                (0..len).map(|at| value(world, elem, seed, at)).collect::<Result<_, _>>()?;
            world.aggregate(ty, &parts)
        }
        TyKind::Struct(_) | TyKind::Tuple(_) => {
            let tys: Vec<Ty> = (0..).map_while(|index| world.types.part(ty, index)).collect();
            let parts = tys.into_iter().zip(at..).map(|(ty, at)| value(world, ty, seed, at));
            let parts: Vec<Def> = parts.collect::<Result<_, _>>()?;
            world.aggregate(ty, &parts)
        }
        _ => return Err(format!("there is no input of type `{}`", world.types.display(ty))),
    })
}
