//! The library `traversal` as native code: all loops, layouts and tests find what a test of all triangles finds, also for degenerate
//! triangles and useless rays.

use nyala_driver::embed::Compiler;

const PROGRAM: &str = include_str!("library.impala");

/// Rays of each kind for each mesh: more than two groups of a stream.
const N_RAYS: i32 = 150;

/// Arity, width of blocks, whether tests are robust, whether triangles are divided, and a loop.
const CASES: [(i32, i32, bool, bool, &str); 14] = [
    (8, 8, false, false, "cpu_traverse_single(vectorize_avx2(), rays, bvh, any, n, 0)"),
    (8, 8, true, false, "cpu_traverse_single(on_threads(2, vectorize_avx2()), rays, bvh, any, n, 0)"),
    (4, 4, true, false, "cpu_traverse_single(by_distance(vectorize_sse()), rays, bvh, any, n, 0)"),
    (8, 4, true, false, "cpu_traverse_single(by_distance(vectorize_avx2()), rays, bvh, any, n, 0)"),
    (2, 4, true, false, "cpu_traverse_single(vectorize_sse(), rays, bvh, any, n, 0)"),
    (
        8,
        8,
        true,
        false,
        "cpu_traverse_packet(vectorize_avx512(), coherent_packets(), 32, rays, bvh, any, n, 0)",
    ),
    (4, 8, true, false, "cpu_traverse_packet(vectorize_avx2(), packets(), 8, rays, bvh, any, n, 0)"),
    (8, 8, true, true, "cpu_traverse_hybrid(vectorize_avx512(), rays, bvh, any, n, 0)"),
    (2, 1, true, false, "cpu_traverse_hybrid(vectorize_sse(), rays, bvh, any, n, 0)"),
    (8, 8, false, true, "cpu_traverse_stream(vectorize_avx512(), streams(), rays, bvh, any, n, 0)"),
    (
        8,
        4,
        true,
        false,
        "cpu_traverse_stream(on_threads(2, vectorize_avx2()), streams(), rays, bvh, any, n, 0)",
    ),
    (8, 8, false, false, "cpu_traverse_stream(vectorize_avx512(), coherent_streams(), rays, bvh, any, n, 0)"),
    (
        4,
        8,
        true,
        false,
        "cpu_traverse_stream(vectorize_avx512(), StreamMode { dense_rays: 4 }, rays, bvh, any, n, 0)",
    ),
    (
        2,
        1,
        true,
        false,
        "cpu_traverse_stream(vectorize_sse(), StreamMode { dense_rays: 1 }, rays, bvh, any, n, 0)",
    ),
];

#[test]
fn all_loops_agree_with_a_test_of_all_triangles() {
    let function = |(i, (arity, width, is_robust, is_fine, code)): (usize, &(i32, i32, bool, bool, &str))| {
        format!(
            "extern fn case_{i}(n_rays: i32, seed: u32) -> i32 {{
                let trace = @|rays: RayLayout, bvh: Bvh, any: bool, n: i32| {code};
                check(Case {{ arity: {arity}, width: {width}, is_robust: {is_robust}, is_fine: {is_fine}, trace: trace }}, n_rays, seed)
            }}\n"
        )
    };
    let functions: String = CASES.iter().enumerate().map(function).collect();
    let module = Compiler::new().text("library.impala", format!("{PROGRAM}{functions}")).compile().unwrap();
    let mut found = vec![];
    for (i, case) in CASES.iter().enumerate() {
        // SAFETY: the functions use no memory but their own.
        let check =
            unsafe { module.function::<extern "C" fn(i32, u32) -> i32>(&format!("case_{i}")) }.unwrap();
        let n_wrong = check(N_RAYS, 7 + i as u32);
        if n_wrong > 0 {
            found.push(format!("{n_wrong} wrong: {case:?}"));
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn dividing_long_triangles_lowers_the_cost() {
    let module = Compiler::new().text("library.impala", PROGRAM).compile().unwrap();
    // SAFETY: the function uses no memory but its own.
    let cost = unsafe { module.function::<extern "C" fn(i32) -> f32>("cost_of_fine") }.unwrap();
    let relative = cost(2000);
    assert!(relative < 0.9, "{relative}");
}

#[test]
#[ignore = "needs 3 GB and half a minute"]
fn ten_million_triangles_are_hit_where_a_test_of_all_finds_them() {
    let module = Compiler::new().text("library.impala", PROGRAM).compile().unwrap();
    // SAFETY: the function uses no memory but its own.
    let large = unsafe { module.function::<extern "C" fn(i32, i32) -> i32>("large") }.unwrap();
    assert_eq!(large(10_000_000, 100), 0);
}
