//! Rules by example, and all of them against evaluation.

mod laws;

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

use crate::node::{Cont, Def};
use crate::text::{self, parse};
use crate::world::World;

/// The parameters that equations below may use.
const PARAMS: &str = "mem: mem, x: i32, y: i32, u: u32, v: u32, b: bool, c: bool, f: f32, g: f64, h: f16, \
    i: i8, j: u8, k: i64, w: u64, p: &i32, q: &i32, t: (i32, f32), s: P, a: [i32 * 3], e: E, n: i32, \
    va: simd[i32 * 4], vb: simd[bool * 4], big: [i32 * 100]";

const TYPES: &str = "struct P { a: i32, b: i32 }\nenum E { A, B: i32 }\nenum One { It: i32 }\n\
    const table: [i32 * 3] = [10, 20, 30]\nconst point: P = P { 4, 5 }\nglobal var: i32 = 1\n\
    const text: [u8 * 3] = \"ab\\0\"\nimport const outside: i32\n";

/// Checks that `left` folds to `right`.
#[track_caller]
fn check(left: &str, right: &str) {
    let text = format!("{TYPES}f({PARAMS}):\n    f({left}, {right})\n");
    let mut world = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (_, cont) = world.conts().next().expect("`f` comes first");
    let args = cont.body.clone().expect("`f` has a body").args;
    let (folded, expected) = (refold(&mut world, args[0]), refold(&mut world, args[1]));
    let show = |def| text::print_node(&world, def);
    assert_eq!(folded, expected, "{left} folds to {}, not {}", show(folded), show(expected));
}

/// Checks that `left` is in normal form.
#[track_caller]
fn check_stays(left: &str) {
    let text = format!("{TYPES}f({PARAMS}):\n    f({left})\n");
    let mut world = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let args = world.cont(Cont::new(0)).body.clone().expect("`f` has a body").args;
    let folded = refold(&mut world, args[0]);
    assert_eq!(folded, args[0], "{left} folds to {}", text::print_node(&world, folded));
}

/// Builds `def` again with folding, operands first.
fn refold(world: &mut World, def: Def) -> Def {
    let mut new: FxHashMap<Def, Def> = FxHashMap::default();
    // Operands are older than their users.
    for index in 0..=def.index() {
        let old = Def::new(index);
        let operands: Vec<Def> = world.operands(old).iter().map(|operand| new[operand]).collect();
        let rebuilt = world.rebuild(old, &operands);
        new.insert(old, rebuilt);
    }
    new[&def]
}

#[test]
fn integer_operations_fold() {
    check("add(2, x)", "add(x, 2)");
    check("add(y, x)", "add(x, y)");
    check_stays("sub(y, x)");
    check("add(2, 3)", "5");
    check("add(x, 0)", "x");
    check("sub(x, 0)", "x");
    check("mul(x, 1)", "x");
    check("mul(x, 0)", "0");
    check("div(x, 1)", "x");
    check("rem(x, 1)", "0");
    check("and(x, -1)", "x");
    check("and(x, 0)", "0");
    check("or(x, 0)", "x");
    check("or(x, -1)", "-1");
    check("shl(x, 0)", "x");
    check("shr(x, 0)", "x");
    check("sub(x, x)", "0");
    check("xor(x, x)", "0");
    check("and(x, x)", "x");
    check("or(x, x)", "x");
    check("add(x, -3)", "sub(x, 3)");
    check("sub(x, -3)", "add(x, 3)");
    check("and(x, or(x, y))", "x");
    check("and(or(y, x), x)", "x");
    check("or(x, and(x, y))", "x");
    check("xor(x, xor(x, y))", "y");
    check("xor(xor(x, -1), -1)", "x");
    check("and(x, xor(x, -1))", "0");
    check("or(x, xor(x, -1))", "-1");
    check("and(and(x, 12), 10)", "and(x, 8)");
    check("shr(shr(x, 20), 20)", "shr(x, 31)");
    check("shr(shr(u, 20), 20)", "0u32");
    check("shl(shl(u, 20), 20)", "0u32");
    check("shl(shl(u, 2), 3)", "shl(u, 5)");
    check("shl[wrap](shl[wrap](x, 2), 3)", "shl[wrap](x, 5)");
    check_stays("shl(shl(x, 2), 3)");
    check("sub(add(x, 3), x)", "3");
    check("sub(x, add(x, 3))", "-3");
    check("sub(add(sub(x, 1), 3), add(x, 4))", "-2");
    check_stays("sub(add(x, 3), y)");
}

#[test]
fn wrapping_integers_are_a_ring() {
    check("add[wrap](u, 1)", "add(u, 1)");
    check("sub(add(u, 1), 3)", "sub(u, 2)");
    check("sub(add[wrap](x, 1), 1)", "sub(add[wrap](x, 1), 1)");
    check("sub[wrap](add[wrap](x, 1), 1)", "x");
    check("sub[wrap](0, sub[wrap](0, x))", "x");
    check("sub(0u32, sub(u, v))", "sub(v, u)");
    check("sub(add(u, v), u)", "v");
    check("add(u, sub(v, u))", "v");
    check("sub(u, sub(u, v))", "v");
    check("mul(mul(u, 3), 5)", "mul(u, 15)");
}

#[test]
fn strict_overflow_is_not_exploited() {
    check("add(add(x, 1), 2)", "add(x, 3)");
    check("sub(sub(x, 1), 2)", "sub(x, 3)");
    check("sub(add(x, -1), 2)", "sub(x, 3)");
    check_stays("sub(add(x, 1), 1)");
    check_stays("add(add(x, 2147483647), 1)");
    check_stays("mul(mul(x, 3), 5)");
    check_stays("sub(0, sub(0, x))");
    check_stays("add(2147483647, 1)");
    check_stays("div(x, x)");
    check_stays("div(1, 0)");
    check_stays("rem(-2147483648, -1)");
    check_stays("shl(x, 32)");
    check_stays("shl(0, x)");
    check_stays("cast[i32](1e20f32)");
    check("add[wrap](2147483647, 1)", "-2147483648");
    check("shl(1, 31)", "-2147483648");
}

#[test]
fn float_operations_fold() {
    check("mul(f, 1.0)", "f");
    check("div(f, 1.0)", "f");
    check("sub(f, 0.0)", "f");
    check("add(f, -0.0)", "f");
    check_stays("add(f, 0.0)");
    check_stays("sub(f, -0.0)");
    check_stays("mul(f, 0.0)");
    check_stays("sub(f, f)");
    check_stays("add(add(f, 1.0), 2.0)");
    check("sub(-0.0f32, sub(-0.0f32, f))", "f");
    check_stays("sub(0.0f32, sub(0.0f32, f))");
    check("add[fast](f, 0.0)", "f");
    check("mul[fast](f, 0.0)", "0.0f32");
    check("sub[fast](f, f)", "0.0f32");
    check("add[fast](add[fast](f, 1.0), 2.0)", "add[fast](f, 3.0)");
    check_stays("add[fast](add(f, 1.0), 2.0)");
    check("add(0.1f32, 0.2)", "0.3f32");
    check("add(0.1, 0.2)", "0.30000000000000004");
    check("add(1.0f16, 2.0)", "3.0f16");
    check("add(1.0f32, f)", "add(f, 1.0)");
}

#[test]
fn comparisons_fold() {
    check("lt(2, x)", "gt(x, 2)");
    check("eq(y, x)", "eq(x, y)");
    check_stays("lt(y, x)");
    check("eq(x, x)", "true");
    check("lt(x, x)", "false");
    check_stays("eq(f, f)");
    check_stays("ne(f, f)");
    check("lt(f, f)", "false");
    check("lt(u, 0)", "false");
    check("ge(u, 0)", "true");
    check("le(i, 127)", "true");
    check("gt(x, 2147483647)", "false");
    check("eq(b, true)", "b");
    check("ne(b, true)", "xor(b, true)");
    check("eq(b, false)", "xor(b, true)");
    check("eq(add(u, 3), 5)", "eq(u, 2)");
    check("eq(sub[wrap](x, 3), 5)", "eq(x, 8)");
    check_stays("eq(add(x, 3), 5)");
    check("eq(xor(x, 3), 5)", "eq(x, 6)");
    check("eq(select(b, 1, 2), 1)", "b");
    check("lt(select(b, 1, 2), 2)", "b");
    check("eq(select(b, 1, 2), 2)", "xor(b, true)");
    check("lt(select(b, 1, 2), 3)", "true");
    check("ne(cast[i32](b), 0)", "b");
    check("eq(cast[u8](b), 2)", "false");
    check("xor(lt(x, y), true)", "ge(x, y)");
    check("xor(eq(f, 1.0), true)", "ne(f, 1.0)");
    check_stays("xor(lt(f, 1.0), true)");
    check("eq(null[&i32], p)", "eq(p, null[&i32])");
    check("eq(var, null[&i32])", "false");
    check("eq(null[&i32], null[&i32])", "true");
}

#[test]
fn selections_fold() {
    check("select(true, x, y)", "x");
    check("select(false, x, y)", "y");
    check("select(b, x, x)", "x");
    check("select(b, true, false)", "b");
    check("select(b, false, true)", "xor(b, true)");
    check("select(xor(b, true), x, y)", "select(b, y, x)");
    check("select(b, select(b, x, n), y)", "select(b, x, y)");
    check("select(b, x, select(b, n, y))", "select(b, x, y)");
    check_stays("select(b, select(c, x, n), y)");
}

#[test]
fn conversions_fold() {
    check("cast[i32](x)", "x");
    check("cast[i64](-1)", "-1i64");
    check("cast[bool](x)", "ne(x, 0)");
    check("cast[bool](f)", "ne(f, 0.0)");
    check("cast[i8](cast[i64](x))", "cast[i8](x)");
    check("cast[i64](cast[i32](i))", "cast[i64](i)");
    check("cast[i64](cast[u8](b))", "cast[i64](b)");
    check_stays("cast[i64](cast[u32](i))");
    check_stays("cast[i64](cast[i8](x))");
    check("cast[f32](cast[f64](f))", "f");
    check_stays("cast[f64](cast[f32](g))");
    check("cast[f64](cast[f32](i))", "cast[f64](i)");
    check_stays("cast[f64](cast[f32](x))");
    check("cast[i64](cast[f64](x))", "cast[i64](x)");
    check_stays("cast[i8](cast[f64](x))");
    check("cast[u8](cast[f32](h))", "cast[u8](h)");
    check("cast[&u8](cast[&i64](p))", "cast[&u8](p)");
    check("bitcast[u32](bitcast[f32](x))", "bitcast[u32](x)");
    check("bitcast[i32](bitcast[f32](x))", "x");
    check("bitcast[f32](1065353216)", "1.0f32");
    check("bitcast[&u8](0u64)", "null[&u8]");
    check_stays("bitcast[&u8](16u64)");
    check_stays("bitcast[bool](2u8)");
    check("size_of[i64](P)", "8i64");
    check("align_of[i32](E)", "4");
    check_stays("size_of[i8]([u8 * 1000])");
}

#[test]
fn aggregates_fold() {
    check("(x, y).1", "y");
    check("extract([x, y], 1i64)", "y");
    check_stays("extract([x, y], 2i64)");
    check_stays("extract([x, y], n)");
    check("undef[P].1", "undef[i32]");
    check("insert(P { x, y }, 0, n)", "P { n, y }");
    check("insert(undef[P], 0, n)", "P { n, undef[i32] }");
    check("insert(insert(s, 0, x), 1, y)", "P { x, y }");
    check("insert(insert(a, n, x), n, y)", "insert(a, n, y)");
    check("insert(insert(s, 0, x), 0, y)", "insert(s, 0, y)");
    check("insert(s, 0, s.0)", "s");
    check("insert(a, 1, x).1", "x");
    check("insert(a, 1, x).2", "a.2");
    check_stays("insert(a, n, x).2");
    check("extract(insert(a, n, x), n)", "x");
    check("(t.0, t.1)", "t");
    check("P { s.0, s.1 }", "s");
    check_stays("P { s.1, s.0 }");
    check_stays("(s.0, s.1)");
    check("P { undef[i32], undef[i32] }", "undef[P]");
    check("select(b, (x, y), (y, x)).0", "select(b, x, y)");
    check_stays("select(b, s, P { x, y }).0");
    check("tag(variant[E.B](x))", "1u32");
    check("payload[B](variant[E.B](x))", "x");
    check_stays("payload[A](variant[E.B](x))");
    check_stays("tag(e)");
    check("tag(select(b, variant[E.B](x), variant[E.A](())))", "select(b, 1u32, 0)");
    check("tag(select(b, variant[E.B](x), variant[E.B](y)))", "1u32");
    check_stays("tag(select(b, e, variant[E.B](y)))");
    check("payload[B](select(b, variant[E.B](x), variant[E.B](y)))", "select(b, x, y)");
    check_stays("payload[B](select(b, variant[E.B](x), variant[E.A](())))");
    check("tag(variant[One.It](x))", "0u32");
}

#[test]
fn vectors_of_constants_fold() {
    check("add(simd[1, 2, 3, 4], simd[1, 1, 1, 1])", "simd[2, 3, 4, 5]");
    check("add(va, simd[0, 0, 0, 0])", "va");
    check("mul(va, simd[0, 0, 0, 0])", "simd[0, 0, 0, 0]");
    check("add(simd[1, 2, 3, 4], va)", "add(simd[1, 2, 3, 4], va)");
    check_stays("div(simd[1, 2, 3, 4], simd[1, 0, 1, 1])");
    check("lt(simd[1, 2, 3, 4], simd[2, 2, 2, 4])", "simd[true, false, false, false]");
    check("eq(va, va)", "simd[true, true, true, true]");
    check("xor(xor(vb, simd[true, true, true, true]), simd[true, true, true, true])", "vb");
    check("cast[simd[f32 * 2]](simd[1, 2])", "simd[1.0f32, 2.0]");
    check("select(vb, va, va)", "va");
    check("select(simd[true, false], simd[1, 2], simd[3, 4])", "simd[1, 4]");
    check("sqrt(simd[4.0, 9.0])", "simd[2.0, 3.0]");
    check("fmax(simd[1.0, 5.0], simd[2.0, 2.0])", "simd[2.0, 5.0]");
    check("is_nan(simd[f32(0x7fc00000), 1.0f32])", "simd[true, false]");
}

#[test]
fn mathematical_functions_fold() {
    check("sqrt(4.0)", "2.0");
    check("fmin(f, f)", "f");
    check("fabs(fabs(f))", "fabs(f)");
    check("floor(floor(f))", "floor(f)");
    check("pow(f, 1.0)", "f");
    check("pow(f, 0.0)", "1.0f32");
    check_stays("pow(f, 2.0)");
    check("popcount(255)", "8");
    check("is_nan(f32(0x7fc00000))", "true");
}

#[test]
fn constants_are_known() {
    check("known(1)", "true");
    check("known((1, [2, 3]))", "true");
    check("known(var)", "true");
    check("known(lea(table, 1))", "true");
    check_stays("known(x)");
    check_stays("known((1, x))");
    check_stays("known(hide(1))");
    check_stays("known(div(1, 0))");
    check_stays("hide(1)");
    check("run(run(f))", "run(f)");
}

#[test]
fn loads_see_constants_and_earlier_stores() {
    check("load(mem, lea(table, 1)).1", "20");
    check("load(mem, lea(point, 1)).1", "5");
    check("load(mem, point).1", "P { 4, 5 }");
    check("load(mem, lea(bitcast[&[u8]](text), 1i64)).1", "98u8");
    check("load(mem, table).0", "mem");
    check_stays("load(mem, lea(table, n)).1");
    check_stays("load(mem, lea(table, 3)).1");
    check_stays("load(mem, lea(table, -1i32)).1");
    check_stays("load(mem, var).1");
    check_stays("load(mem, outside).1");
    check("load(store(mem, p, x), p).1", "x");
    check("load(store(mem, p, x), p).0", "store(mem, p, x)");
    check_stays("load(store(mem, p, x), q).1");
    check("load(load(mem, p).0, p).1", "load(mem, p).1");
    check("load(load(store(mem, p, x), q).0, p).1", "x");
    let slot = "slot[P](mem)";
    check(&format!("load(store({slot}.0, {slot}.1, s), lea({slot}.1, 1)).1"), "s.1");
    check(
        &format!("load(store(store({slot}.0, {slot}.1, s), lea({slot}.1, 0), x), lea({slot}.1, 1)).1"),
        "s.1",
    );
    check_stays(&format!("load(store({slot}.0, lea({slot}.1, 1), x), {slot}.1).1"));
    check(
        "load(store(slot[i32](mem).0, slot[i32](mem).1, x), var).0",
        "load(store(slot[i32](mem).0, slot[i32](mem).1, x), var).0",
    );
    check("load(store(store(slot[i32](mem).0, slot[i32](mem).1, x), var, y), slot[i32](mem).1).1", "x");
    check_stays("load(store(store(slot[i32](mem).0, slot[i32](mem).1, x), p, y), slot[i32](mem).1).1");
    check(
        "load(store(store(mem, lea(bitcast[&P](p), 0), x), lea(bitcast[&P](p), 1), y), lea(bitcast[&P](p), 0)).1",
        "x",
    );
    check("lea(bitcast[&[i32]](table), n)", "lea(table, n)");
    check("lea(bitcast[&[i32]](table), 2)", "lea(table, 2)");
    check_stays("lea(bitcast[&[i32]](table), 3)");
    check_stays("lea(bitcast[&[u32]](table), n)");
    check("streaming(streaming(p))", "streaming(p)");
    check("lea(streaming(bitcast[&P](p)), 1)", "streaming(lea(bitcast[&P](p), 1))");
    check_stays("load(store(mem, streaming(p), x), p).1");
    check("store(store(mem, p, x), p, y)", "store(mem, p, y)");
    check_stays("store(store(mem, p, x), q, y)");
}

#[test]
fn known_branches_are_jumps() {
    let mut world =
        parse("f(mem: mem, c: bool, x: i32): f(mem, c, x)\na(mem: mem): a(mem)\nb(mem: mem): b(mem)\n")
            .unwrap();
    let conts: Vec<Cont> = world.conts().map(|(cont, _)| cont).collect();
    let (f, a, b) = (conts[0], world.cont_def(conts[1]), world.cont_def(conts[2]));
    let (mem, c, x) = (world.param(f, 0), world.param(f, 1), world.param(f, 2));
    let (yes, two, three) = (world.lit_bool(true), world.lit_i32(2), world.lit_i32(3));
    let callee = |world: &World| world.cont(f).body.as_ref().map(|body| (body.callee, body.args.to_vec()));
    world.set_branch(f, mem, yes, a, b);
    assert_eq!(callee(&world), Some((a, vec![mem])));
    world.set_branch(f, mem, c, b, b);
    assert_eq!(callee(&world), Some((b, vec![mem])));
    world.set_branch(f, mem, c, a, b);
    assert_ne!(callee(&world), Some((a, vec![mem])));
    world.set_switch(f, mem, two, a, &[(three, a), (two, b)]);
    assert_eq!(callee(&world), Some((b, vec![mem])));
    world.set_switch(f, mem, two, a, &[(three, b)]);
    assert_eq!(callee(&world), Some((a, vec![mem])));
    world.set_switch(f, mem, x, a, &[(three, b)]);
    assert_ne!(callee(&world), Some((a, vec![mem])));
}

#[test]
fn many_inserts_into_a_large_array_stay_cheap() {
    let mut world = World::new();
    let i32 = world.types.prim(crate::Prim::I32);
    let n = 100_000;
    let ty = world.types.array(i32, n);
    let mut array = world.undef(ty);
    for i in 0..n as i32 {
        let index = world.lit_i32(i);
        array = world.insert(array, index, index);
    }
    assert!(world.pool_len() < 100 * n as usize);
    for i in (0..n as i32).step_by(997) {
        let index = world.lit_i32(i);
        assert_eq!(world.extract(array, index), index);
    }
}
