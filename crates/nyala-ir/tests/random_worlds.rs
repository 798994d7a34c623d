//! Random worlds: invariants of the text form and of construction.

use std::collections::BTreeSet;

use nyala_ir::{
    ArithFlags, ArithOp, AsmData, CmpOp, Cont, Def, FieldData, Linkage, Mark, MathOp, Node, OptionData, Prim,
    Ty, TyKind, World, text,
};
use nyala_test_support::random::Random;

/// Builds a world of about `n_ops` operations, well typed but otherwise without sense.
fn random_world(seed: u64, n_ops: usize, folding: bool) -> World {
    let mut random = Random::new(seed, 0);
    let mut world = World::new();
    world.set_folding(folding);
    let tys = random_types(&mut world, &mut random);
    let conts = random_conts(&mut world, &mut random, &tys);
    let mut values: Vec<Def> = conts.iter().flat_map(|&cont| world.cont(cont).params.clone()).collect();
    for _ in 0..n_ops {
        if let Some(value) = random_op(&mut world, &mut random, &tys, &values) {
            values.push(value);
        }
    }
    let constants: Vec<Def> = tys.iter().filter_map(|&ty| constant(&mut world, &mut random, ty)).collect();
    for &value in &constants {
        let (name, is_mut) = (*random.pick(&["g", "mem", "true", "add"]), random.below(2) == 0);
        values.push(world.new_global(name, world.ty(value), is_mut, Some(value)));
    }
    for &cont in &conts {
        random_body(&mut world, &mut random, cont, &conts, &values);
    }
    world
}

fn random_types(world: &mut World, random: &mut Random) -> Vec<Ty> {
    let mut tys: Vec<Ty> = Prim::ALL.iter().map(|&prim| world.types.prim(prim)).collect();
    let (pair, pair_ty) = world.types.declare_struct("Pair[i32, `x`]".into());
    let (choice, choice_ty) = world.types.declare_enum("mem".into());
    tys.extend([pair_ty, choice_ty]);
    for _ in 0..8 {
        let (a, b) = (*random.pick(&tys), *random.pick(&tys));
        tys.push(match random.below(5) {
            0 => world.types.ptr(a, random.below(2) as u32),
            1 => world.types.array(a, 1 + random.below(3) as u64),
            2 => world.types.tuple(&[a, b]),
            3 => {
                let lane = world.types.prim(*random.pick(&Prim::ALL));
                world.types.simd(lane, 4)
            }
            _ => world.types.cn(&[a, b]),
        });
    }
    let scalars = &Prim::ALL.map(|prim| world.types.prim(prim));
    let field = |name: &str, ty| FieldData { name: name.into(), ty };
    world.types.structs[pair].fields =
        vec![field("a", *random.pick(scalars)), field("true", *random.pick(scalars))];
    let unit = world.types.unit();
    let option = |name: &str, payload| OptionData { name: name.into(), payload };
    world.types.enums[choice].options = vec![option("None", unit), option("Some", *random.pick(scalars))];
    tys
}

fn random_conts(world: &mut World, random: &mut Random, tys: &[Ty]) -> Vec<Cont> {
    let names = ["f", "f_1", "f_1_1", "branch", "a b", "true", "load", "x`y", ""];
    let mut conts = vec![];
    for _ in 0..2 + random.below(6) {
        let mut params = vec![world.types.mem()];
        params.extend((0..random.below(5)).map(|_| *random.pick(tys)));
        let cont = world.new_cont(*random.pick(&names), &params);
        if random.below(3) == 0 {
            world.set_linkage(cont, Linkage::Exported((*random.pick(&names)).into()));
        }
        if random.below(2) == 0 {
            world.set_name(world.param(cont, 0), *random.pick(&names));
        }
        conts.push(cont);
    }
    conts
}

fn constant(world: &mut World, random: &mut Random, ty: Ty) -> Option<Def> {
    match *world.types.kind(ty) {
        TyKind::Prim(prim) => Some(world.lit(prim, random.bits() << random.below(40))),
        TyKind::Ptr { .. } => Some(world.null(ty)),
        _ => Some(world.undef(ty)),
    }
}

/// A value of type `ty`: an old one if there is one.
fn value_of(world: &mut World, random: &mut Random, ty: Ty, values: &[Def]) -> Option<Def> {
    let fitting: Vec<Def> = values.iter().copied().filter(|&value| world.ty(value) == ty).collect();
    if fitting.is_empty() || random.below(4) == 0 {
        constant(world, random, ty)
    } else {
        Some(*random.pick(&fitting))
    }
}

fn random_op(world: &mut World, random: &mut Random, tys: &[Ty], values: &[Def]) -> Option<Def> {
    let ty = *random.pick(tys);
    let (a, b) = (value_of(world, random, ty, values)?, value_of(world, random, ty, values)?);
    let flags = ArithFlags { wrap: random.below(4) == 0, fast: random.below(4) == 0 };
    let prim = world.types.lane_prim(ty);
    match random.below(18) {
        0 | 1 => prim.map(|prim| {
            let ops: &[ArithOp] = match prim {
                Prim::Bool => &[ArithOp::And, ArithOp::Or, ArithOp::Xor],
                prim if prim.is_float() => &ArithOp::ALL[..5],
                _ => &ArithOp::ALL,
            };
            world.arith(*random.pick(ops), flags, a, b)
        }),
        2 => prim.map(|_| world.cmp(*random.pick(&CmpOp::ALL), a, b)),
        3 => {
            let bool = world.types.bool();
            let cond = value_of(world, random, bool, values)?;
            Some(world.select(cond, a, b))
        }
        4 => {
            let op = *random.pick(MathOp::ALL);
            let is_for_bits =
                matches!(op, MathOp::Popcount | MathOp::Clz | MathOp::Ctz | MathOp::Pext | MathOp::Pdep);
            prim.filter(|prim| if is_for_bits { prim.is_int() } else { prim.is_float() })
                .map(|_| world.math(op, flags, &[a, b, a][..op.arity()]))
        }
        5 => {
            let to = world.types.prim(*random.pick(&Prim::ALL));
            world.types.as_prim(ty).map(|_| world.cast(to, a))
        }
        6 => Some(world.tuple(&[a, b])),
        7 => {
            let index = random.below(world.types.part_count(ty)?.max(1) as usize) as u32;
            world.types.part(ty, u64::from(index))?;
            Some(world.extract_at(a, index))
        }
        8 => {
            let index = random.below(world.types.part_count(ty)?.max(1) as usize) as u32;
            let part = world.types.part(ty, u64::from(index))?;
            let (index, part) = (world.lit_u32(index), value_of(world, random, part, values)?);
            Some(world.insert(a, index, part))
        }
        9 => Some(match world.types.as_ptr(ty) {
            Some(_) if random.below(2) == 0 => world.streaming(a),
            _ => world.hide(a),
        }),
        10 => match *world.types.kind(ty) {
            TyKind::Enum(id) => {
                let option = random.below(world.types.enums[id].options.len()) as u32;
                let payload = world.types.enums[id].options[option as usize].payload;
                let payload = value_of(world, random, payload, values)?;
                Some(world.variant(ty, option, payload))
            }
            _ => None,
        },
        11 => match *world.types.kind(ty) {
            TyKind::Enum(_) if random.below(2) == 0 => Some(world.variant_tag(a)),
            TyKind::Enum(id) => {
                let option = random.below(world.types.enums[id].options.len()) as u32;
                Some(world.variant_payload(option, a))
            }
            _ => None,
        },
        12 => {
            let of = *random.pick(tys);
            let is_sized = !matches!(world.types.kind(of), TyKind::Cn(_));
            prim.filter(|prim| prim.is_int() && is_sized && world.types.as_prim(ty).is_some()).map(|_| {
                match random.below(2) {
                    0 => world.size_of(ty, of),
                    _ => world.align_of(ty, of),
                }
            })
        }
        13 => Some(world.known(a)),
        14 => {
            let others = Prim::ALL.iter().filter(|other| Some(other.bits()) == prim.map(Prim::bits));
            let others: Vec<Prim> = others.copied().collect();
            world.types.as_prim(ty)?;
            let to = world.types.prim(*random.pick(&others));
            Some(world.bitcast(to, a))
        }
        15 => {
            // A part whose number is not known.
            let is_array = matches!(world.types.kind(ty), TyKind::Array { .. } | TyKind::Simd { .. });
            let part = world.types.part(ty, 0).filter(|_| is_array)?;
            let i32 = world.types.prim(Prim::I32);
            let index = value_of(world, random, i32, values)?;
            match random.below(2) {
                0 => Some(world.extract(a, index)),
                _ => {
                    let part = value_of(world, random, part, values)?;
                    Some(world.insert(a, index, part))
                }
            }
        }
        16 => {
            let (pointee, _) = world.types.as_ptr(ty)?;
            let n_parts = world.types.part_count(pointee).filter(|&n| n > 0)?;
            let is_simd = matches!(world.types.kind(pointee), TyKind::Simd { .. } | TyKind::Enum(_));
            let index = world.lit_u32(random.below(n_parts as usize) as u32);
            (!is_simd).then(|| world.lea(a, index))
        }
        _ => {
            let parts: Vec<Ty> = (0..world.types.part_count(ty)?.min(4))
                .map(|at| world.types.part(ty, at))
                .collect::<Option<_>>()?;
            let parts: Vec<Def> =
                parts.into_iter().map(|part| value_of(world, random, part, values)).collect::<Option<_>>()?;
            (!parts.is_empty()).then(|| world.aggregate(ty, &parts))
        }
    }
}

/// A call that uses some operations on memory and some values.
fn random_body(world: &mut World, random: &mut Random, cont: Cont, conts: &[Cont], values: &[Def]) {
    if random.below(8) == 0 {
        return;
    }
    let mut mem = world.param(cont, 0);
    let target = *random.pick(conts);
    let mut args = vec![];
    for param in world.cont(target).params.clone() {
        let ty = world.ty(param);
        if ty == world.types.mem() {
            args.push(mem);
            continue;
        }
        let Some(mut value) = value_of(world, random, ty, values) else { return };
        if random.below(3) == 0 {
            let (next, slot) = world.slot(mem, ty);
            let stored = world.store(next, slot, value);
            (mem, value) = world.load(stored, slot);
        }
        args.push(value);
    }
    args[0] = random_effects(world, random, mem, values);
    let callee = world.cont_def(target);
    let callee = if random.below(4) == 0 { world.mark(*random.pick(&Mark::ALL), callee) } else { callee };
    world.set_body(cont, callee, args);
    random_jump(world, random, cont, conts, values);
    if random.below(2) == 0 {
        let bool = world.types.bool();
        let mut filter = vec![];
        for param in world.cont(cont).params.clone() {
            let (known, literal) =
                (world.known(param), constant(world, random, bool).expect("bool has literals"));
            filter.push(if random.below(2) == 0 { known } else { literal });
        }
        world.set_filter(cont, filter);
    }
}

/// Allocations and assembly, now and then.
fn random_effects(world: &mut World, random: &mut Random, mem: Def, values: &[Def]) -> Def {
    let (i32, i64) = (world.types.prim(Prim::I32), world.types.prim(Prim::I64));
    match random.below(6) {
        0 => {
            let count = value_of(world, random, i64, values).expect("numbers have literals");
            world.alloc(mem, i32, count).0
        }
        1 => {
            let input = value_of(world, random, i32, values).expect("numbers have literals");

            let texts = |text: &[u8]| vec![text.to_vec()];
            let asm = AsmData {
                template: b"nop \"$0\"".to_vec(),
                outputs: texts(b"=r"),
                inputs: texts(b"r"),
                clobbers: texts(b"memory"),
                options: texts(b"volatile"),
            };
            world.asm(mem, asm, &[input], &[i32]).0
        }
        _ => mem,
    }
}

/// Makes the call a branch, a switch or unreachable, now and then.
fn random_jump(world: &mut World, random: &mut Random, cont: Cont, conts: &[Cont], values: &[Def]) {
    let mem = world.param(cont, 0);
    let is_block = |&&target: &&Cont| world.cont(target).params.len() == 1;
    let blocks: Vec<Def> = conts.iter().filter(is_block).map(|&target| world.cont_def(target)).collect();
    match random.below(8) {
        0 if blocks.len() > 1 => {
            let bool = world.types.bool();
            let cond = value_of(world, random, bool, values).expect("bool has literals");
            let (then, other) = (*random.pick(&blocks), *random.pick(&blocks));
            world.set_branch(cont, mem, cond, then, other);
        }
        1 if blocks.len() > 1 => {
            let i32 = world.types.prim(Prim::I32);
            let value = value_of(world, random, i32, values).expect("numbers have literals");
            let cases: Vec<(Def, Def)> = (0..3).map(|i| (world.lit_i32(i), *random.pick(&blocks))).collect();
            world.set_switch(cont, mem, value, *random.pick(&blocks), &cases);
        }
        2 => world.set_unreachable(cont, mem),
        _ => {}
    }
}

const ROUNDS: u64 = 400;

#[test]
fn random_worlds_have_nodes_of_every_kind() {
    let mut kinds = BTreeSet::new();
    for seed in 0..ROUNDS {
        let world = random_world(seed, 10 + seed as usize % 90, false);
        let name = |def| format!("{:?}", world.node(def));
        let kind = |name: &str| name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        kinds.extend(world.defs().map(|def| kind(&name(def))));
    }
    let all = [
        "Aggregate",
        "AlignOf",
        "Alloc",
        "Arith",
        "Asm",
        "Bitcast",
        "Cast",
        "Cmp",
        "Cont",
        "Extract",
        "Global",
        "Hide",
        "Insert",
        "Known",
        "Lea",
        "Lit",
        "Load",
        "Mark",
        "Math",
        "Param",
        "Select",
        "SizeOf",
        "Slot",
        "Store",
        "Streaming",
        "Undef",
        "Variant",
        "VariantPayload",
        "VariantTag",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn print_parse_print_is_stable() {
    for seed in 0..ROUNDS {
        let world = random_world(seed, 10 + seed as usize % 90, seed % 2 == 0);
        let all = text::PrintOptions { all: true, spans: false };
        let printed = text::print_with(&world, all);
        let parsed = text::parse(&printed).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{printed}"));
        assert_eq!(text::print_with(&parsed, all), printed, "seed {seed}");
    }
}

#[test]
fn the_same_construction_gives_the_same_text() {
    for seed in 0..ROUNDS / 10 {
        let (a, b) = (random_world(seed, 60, true), random_world(seed, 60, true));
        assert_eq!(text::print(&a), text::print(&b));
    }
}

#[test]
fn folded_nodes_do_not_fold_again() {
    for seed in 0..ROUNDS {
        let mut world = random_world(seed, 60, true);
        // Each piece of assembly is one of its own.
        let is_asm = |def: &Def| matches!(world.node(*def), Node::Asm { .. });
        for def in world.defs().filter(|def| !is_asm(def)).collect::<Vec<_>>() {
            let operands = world.operands(def);
            let again = world.rebuild(def, &operands);
            assert_eq!(
                again,
                def,
                "seed {seed}: {} becomes {}",
                text::print_node(&world, def),
                text::print_node(&world, again)
            );
        }
    }
}

#[test]
fn broken_text_never_panics() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed, 1);
        let mut bytes = text::print(&random_world(seed, 20, false)).into_bytes();
        for _ in 0..1 + random.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = *random.pick(b"()[]{},.:=@&*`\"\\-0x1e "),
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        let _ = text::parse(&String::from_utf8_lossy(&bytes));
    }
}
