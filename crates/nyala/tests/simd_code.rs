//! SIMD code uses the vector instructions of the target processor; bodies that cannot be vectorized are reported.

mod support;

/// A divergent branch, contiguous accesses, and gathers.
const PROGRAM: &str = "
extern fn kernel(n: i32, x: &[f32], at: &[i32], out: &mut [f32]) -> () {
    for i in vectorize_range(16, 0, n) {
        let a = x(i);
        let b = if a > 1f { cpu_sqrtf(a) * 3f } else { a + 2f };
        out(i) = b * x(at(i));
    }
}
";

/// Fields of an array of structs, indices that may wrap, and an array of structs of arrays.
/// Each kernel has full groups of lanes, so that no mask is needed.
const LAYOUTS: &str = "
struct Vec { x: f32, y: f32, z: f32 }
extern fn fields(n: i32, a: &[f32], out: &mut [Vec]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) { let v = a(g * 16 + l); out(g * 16 + l) = Vec { x: v, y: v * 2f, z: -v }; }
    }
}
extern fn one_field(n: i32, a: &[f32], out: &mut [f32]) -> () {
    for g in range(0, n) { for l in vectorize(16) { out(2 * (g * 16 + l)) = a(g * 16 + l); } }
}
extern fn unsigned(n: i32, k: u32, a: &[f32], out: &mut [f32]) -> () {
    for g in range(0, n) { for l in vectorize(16) { out((g * 16 + l) as u32 + k) = a(g * 16 + l); } }
}
extern fn rgb8(n: i32, a: &[u8], out: &mut [u8]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) {
            let at = 3 * (g * 16 + l);
            let (r, g, b) = (a(at), a(at + 1), a(at + 2));
            out(at) = b; out(at + 1) = g; out(at + 2) = r;
        }
    }
}
extern fn rgba8_of_some(n: i32, a: &[u8], out: &mut [u8]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) {
            let at = 4 * (g * 16 + l);
            if a(at) > 7u8 {
                let (r, g, b, a) = (a(at), a(at + 1), a(at + 2), a(at + 3));
                out(at) = b; out(at + 1) = g; out(at + 2) = r; out(at + 3) = a;
            }
        }
    }
}
extern fn fields_of_some(n: i32, a: &[Vec], out: &mut [Vec]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) {
            let v = a(g * 16 + l);
            if v.x > 1f { let w = out(g * 16 + l); out(g * 16 + l) = Vec { x: w.z + v.x, y: w.x, z: w.y + v.z }; }
        }
    }
}
extern fn tiles(width: i32, a: &mut [f32]) -> () {
    for x in range_step(0, width, 8) {
        for l in vectorize(16) { let at = (l / 8) * width + x + l % 8; a(at) = a(at) * 3f; }
    }
}
struct Short { x: [f32 * 4], y: [f32 * 4] }
extern fn short_blocks(n: i32, a: &mut [Short]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) { let i = (g as u32) * 16u + l as u32; a(i / 4u).x(i % 4u) += a(i / 4u).y(i % 4u); }
    }
}
struct Block { x: [f32 * 16], y: [f32 * 16] }
extern fn blocks(n: i32, a: &mut [Block]) -> () {
    for g in range(0, n) {
        for l in vectorize(16) { let i = (g as u32) * 16u + l as u32; a(i / 16u).x(i % 16u) += a(i / 16u).y(i % 16u); }
    }
}
";

/// Streaming stores of rows, and prefetches.
const TRAFFIC: &str = "
extern fn rows(n: i32, width: i32, a: &[f32], out: &mut [f32]) -> () {
    let far = streaming(out);
    for y in range(0, n) {
        for x in range_step(0, width, 16) { for l in vectorize(16) { far(y * width + x + l) = a(x + l); } }
    }
}
extern fn fetched(a: &[f32], b: &[u8], c: &[f64], n: i32) -> () {
    for l in vectorize(16) {
        cpu_prefetch(bitcast[&u8](&a(n + l)), 0, 2, 1);
        cpu_prefetch(&b(n + l), 0, 2, 1);
        cpu_prefetch(bitcast[&u8](&c(n - l)), 0, 2, 1);
        cpu_prefetch(bitcast[&u8](&a(n)), 0, 2, 1);
    }
}
";

/// The instructions of the kernel for a processor of a target.
fn assembly(target: &str, cpu: &str) -> Vec<String> {
    assembly_of(PROGRAM, target, cpu)
}

/// The instructions of one function of [`LAYOUTS`].
fn layouts(function: &str, target: &str, cpu: &str) -> Vec<String> {
    function_of(LAYOUTS, function, target, cpu)
}

fn function_of(program: &str, function: &str, target: &str, cpu: &str) -> Vec<String> {
    let all = assembly_of(program, target, cpu);
    let label = format!("{function}:");
    let own = all.into_iter().skip_while(|line| !line.starts_with(&label)).skip(1);
    own.take_while(|line| !line.starts_with("ret")).collect()
}

fn assembly_of(program: &str, target: &str, cpu: &str) -> Vec<String> {
    let args = ["build", "-O2", "--emit", "asm", "--target", target, "--target-cpu", cpu, "-o", "-", "-"];
    let (status, text, errors) = support::run(&args, program);
    assert_eq!(status, Some(0), "{errors}");
    text.lines().map(|line| line.trim().replace('\t', " ")).filter(|line| !line.starts_with('.')).collect()
}

/// Whether there is an instruction on a register with this name.
fn has(assembly: &[String], instruction: &str, register: &str) -> bool {
    assembly.iter().any(|line| line.starts_with(instruction) && line.contains(register))
}

const X86: &str = "x86_64-unknown-linux-gnu";

#[test]
fn sse_has_registers_of_128_bits() {
    let assembly = assembly(X86, "nehalem");
    assert!(has(&assembly, "sqrtps", "%xmm") && has(&assembly, "mulps", "%xmm"), "{assembly:#?}");
    assert!(has(&assembly, "blendvps", "%xmm"), "{assembly:#?}");
    assert!(!has(&assembly, "v", "%ymm"), "{assembly:#?}");
}

#[test]
fn avx2_has_registers_of_256_bits_and_gathers() {
    let assembly = assembly(X86, "skylake");
    assert!(has(&assembly, "vsqrtps", "%ymm") && has(&assembly, "vmulps", "%ymm"), "{assembly:#?}");
    assert!(has(&assembly, "vgatherdps", "%ymm"), "{assembly:#?}");
    assert!(!has(&assembly, "v", "%zmm"), "{assembly:#?}");
}

#[test]
fn avx512_has_registers_of_512_bits_and_masks() {
    for cpu in ["icelake-server", "znver4"] {
        let assembly = assembly(X86, cpu);
        assert!(has(&assembly, "vsqrtps", "%zmm") && has(&assembly, "vmulps", "%zmm"), "{assembly:#?}");
        assert!(has(&assembly, "vgatherdps", "%zmm"), "{assembly:#?}");
        assert!(has(&assembly, "vcmp", "%k"), "{assembly:#?}");
    }
}

#[test]
fn neon_has_registers_of_four_floats() {
    let assembly = assembly("aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&assembly, "fsqrt", ".4s") && has(&assembly, "fmul", ".4s"), "{assembly:#?}");
    assert!(has(&assembly, "fcmgt", ".4s"), "{assembly:#?}");
}

#[test]
fn fields_of_structs_are_stored_by_shuffles() {
    for (cpu, register) in [("nehalem", "%xmm"), ("skylake", "%ymm"), ("znver4", "%zmm")] {
        let all = layouts("fields", X86, cpu);
        let is_store =
            |line: &&String| line.contains("mov") && line.contains(register) && line.ends_with(')');
        assert!(all.iter().any(|line| is_store(&line)), "{cpu}: {all:#?}");
        let is_single = |line: &&String| line.contains("scatter") || line.contains("extractps");
        assert_eq!(all.iter().find(is_single), None, "{cpu}");
    }
    let neon = layouts("fields", "aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&neon, "st3", ".4s"), "{neon:#?}");
}

#[test]
fn store_of_one_field_is_masked() {
    let all = layouts("one_field", X86, "znver4");
    let is_masked_store = |line: &String| line.starts_with("vmov") && line.contains(") {%k");
    assert!(all.iter().any(is_masked_store) && !has(&all, "vscatter", "%zmm"), "{all:#?}");
}

#[test]
fn alignment_test_of_a_row_computes_no_address() {
    let all = function_of(TRAFFIC, "rows", X86, "znver4");
    let tests_alignment = |line: &String| line.starts_with("testb $63");
    let computes = |line: &String| line.starts_with("lea") || line.starts_with("add");
    assert!(has(&all, "vmovntps", "%zmm") && all.iter().any(tests_alignment), "{all:#?}");
    assert!(!all.windows(2).any(|lines| computes(&lines[0]) && tests_alignment(&lines[1])), "{all:#?}");
}

#[test]
fn prefetch_is_executed_once_per_cache_line() {
    let all = function_of(TRAFFIC, "fetched", X86, "znver4");
    // One line of floats, one of bytes, two of doubles, and a single address.
    assert_eq!(all.iter().filter(|line| line.starts_with("prefetch")).count(), 5, "{all:#?}");
}

/// An access to a single lane.
fn single_lane(assembly: &[String]) -> Option<&String> {
    let names = ["gather", "scatter", "pinsr", "pextr", "insertps", "extractps"];
    assembly.iter().find(|line| names.iter().any(|name| line.contains(name)))
}

#[test]
fn channels_of_bytes_are_shuffled() {
    for cpu in ["nehalem", "skylake", "znver4"] {
        let all = layouts("rgb8", X86, cpu);
        assert!(
            single_lane(&all).is_none()
                && all.iter().any(|line| line.contains("pshufb") || line.contains("vpermb")),
            "{cpu}: {all:#?}"
        );
    }
    let neon = layouts("rgb8", "aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&neon, "tbl", ".16b") && has(&neon, "st3", ".16b"), "{neon:#?}");
}

#[test]
fn masked_channels_are_shuffled() {
    for (cpu, masked) in [("skylake", "vpmaskmovd"), ("znver4", "{%k")] {
        let all = layouts("rgba8_of_some", X86, cpu);
        assert!(
            single_lane(&all).is_none() && all.iter().any(|line| line.contains(masked)),
            "{cpu}: {all:#?}"
        );
    }
    for (cpu, masked) in [("skylake", "vmaskmovps"), ("znver4", "{%k")] {
        let all = layouts("fields_of_some", X86, cpu);
        assert!(
            single_lane(&all).is_none() && all.iter().any(|line| line.contains(masked)),
            "{cpu}: {all:#?}"
        );
    }
}

#[test]
fn unsigned_index_is_compared_once() {
    for (cpu, register) in [("nehalem", "%xmm"), ("skylake", "%ymm"), ("znver4", "%zmm")] {
        let all = layouts("unsigned", X86, cpu);
        let is_store = |line: &String| {
            (line.contains("movup") || line.contains("movdqu"))
                && line.contains(register)
                && line.ends_with(')')
        };
        assert!(has(&all, "cmpl", "$") && all.iter().any(is_store), "{cpu}: {all:#?}");
    }
    let neon = layouts("unsigned", "aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&neon, "cmn", "#") || has(&neon, "cmp", "#"), "{neon:#?}");
    assert!(has(&neon, "stp", "q") || has(&neon, "st1", ".4s"), "{neon:#?}");
}

#[test]
fn arrays_of_structs_of_arrays_are_contiguous() {
    for (cpu, register) in [("nehalem", "%xmm"), ("skylake", "%ymm"), ("znver4", "%zmm")] {
        let all = layouts("blocks", X86, cpu);
        let adds = if cpu == "nehalem" { "addps" } else { "vaddps" };
        assert!(has(&all, adds, register), "{cpu}: {all:#?}");
        let is_single =
            |line: &&String| line.contains("gather") || line.contains("scatter") || line.contains("insertps");
        assert_eq!(all.iter().find(is_single), None, "{cpu}");
    }
    let neon = layouts("blocks", "aarch64-unknown-linux-gnu", "cortex-a72");
    assert!(has(&neon, "fadd", ".4s") && !has(&neon, "ld1", "]["), "{neon:#?}");
}

#[test]
fn contiguous_groups_are_one_vector_each() {
    for (function, adds) in [("tiles", "mulps"), ("short_blocks", "addps")] {
        for cpu in ["nehalem", "skylake", "znver4"] {
            let all = layouts(function, X86, cpu);
            assert!(single_lane(&all).is_none(), "{cpu}: {all:#?}");
            assert!(all.iter().any(|line| line.contains(adds)), "{cpu}: {all:#?}");
        }
        let neon = layouts(function, "aarch64-unknown-linux-gnu", "cortex-a72");
        assert!(!has(&neon, "ld1", "][") && !has(&neon, "st1", "]["), "{neon:#?}");
    }
}

/// The exit status and the diagnostics for a body of `vectorize(4)`, which starts in line 3.
fn diagnostics_for(command: &[&str], body: &str) -> (Option<i32>, String) {
    let program = format!(
        "fn twice(x: i32) -> i32 {{ 2 * x }} fn thrice(x: i32) -> i32 {{ 3 * x }}
fn main() -> i32 {{ let out = ~[4: i32]; let f = ~[2: fn(i32) -> i32]; f(0) = twice; f(1) = thrice;
    for lane in vectorize(4) {{
        {body}
    }}
    out(3) }}"
    );
    let (status, _, errors) = support::run(command, &program);
    (status, errors)
}

#[test]
fn rejected_body_runs_lane_by_lane_with_a_warning() {
    let run: &[&str] = &["run", "-"];
    let build: &[&str] = &["build", "--emit", "llvm", "-o", "/dev/null", "-"];
    for (command, body, why, result) in [
        (run, "let g = f(lane & 1); if lane > 0 { out(lane) = g(lane) }", "a call of an unknown function", 9),
        (run, "asm(\"nop\"); out(lane) = lane;", "inline assembly", 3),
        (run, "for _ in parallel(0, 0, 1) { out(lane) = lane + 1; }", "a call of `parallel`", 4),
        (build, "with opencl(0, (1, 1, 1), (1, 1, 1)) { } out(lane) = 1;", "a call of `opencl`", 0),
    ] {
        let (status, errors) = diagnostics_for(command, body);
        assert_eq!(status, Some(result), "{body}: {errors}");
        assert!(errors.contains("warning[W0910]") && errors.contains("<stdin>:3:5"), "{body}: {errors}");
        let line = errors.lines().skip_while(|line| !line.contains(body)).nth(1);
        assert!(line.is_some_and(|line| line.contains(&format!("because of {why}"))), "{body}: {errors}");
    }
}

#[test]
fn rejected_body_with_a_collective_is_an_error() {
    let (status, errors) = diagnostics_for(&["run", "-"], "asm(\"nop\"); out(lane) = lanes_sum(lane);");
    assert_eq!(status, Some(1));
    assert!(errors.contains("error[E0912]") && errors.contains("because of inline assembly"), "{errors}");
}

/// Kernels in which SIMD code is faster than a loop, and slower: each lane walks a tree, or a table of its own.
const WINS: [&str; 6] = [
    "for i in vectorize_range(8, 0, n) { y(i) = x(i) * 2f + y(i); }",
    "for i in vectorize_range(8, 0, n) { if x(i) > 0f { y(i) = exp(x(i)) } else { y(i) = 1f } }",
    "for i in vectorize_range(8, 0, n) { let v = x(i); y(i) = x(k(i)) * v * v + 3f * v - v * v * v; }",
    "for i in vectorize_range(8, 0, n) {
        let cx = i as f32 * 0.01f; let mut a = 0f; let mut b = 0f; let mut c = 0;
        while c < 64 && a * a + b * b < 4f { let t = a * a - b * b + cx; b = 2f * a * b + 0.3f; a = t; c++; }
        y(i) = c as f32; }",
    "for i in vectorize_range(8, 0, n) { y(i) = x(3 * i) + x(3 * i + 1) + x(3 * i + 2); }",
    "for i in vectorize_range(8, 0, n) { let mut s = 0f; for j in range(0, n) { s += x(j) * y(i); } y(i) = s; }",
];
const LOSES: [&str; 4] = [
    "for i in vectorize_range(4, 0, n) {
        let mut stack: [i32 * 32]; let mut depth = 1; stack(0) = 1; let mut s = 0;
        while depth > 0 {
            depth--; let at = stack(depth);
            if at < n {
                if x(at) > y(i) { stack(depth) = 2 * at; depth++; }
                if x(at) < 2f * y(i) { stack(depth) = 2 * at + 1; depth++; }
            } else { s += at; }
        }
        y(i) = s as f32; }",
    "for i in vectorize_range(4, 0, n) { let mut at = i; for _ in range(0, 20) { at = k(at); } y(i) = at as f32; }",
    "for i in vectorize_range(8, 0, n) {
        let mut s = 0f; for j in range(k(i), k(i + 1)) { s += x(j) * y(k(j)); } y(i) = s; }",
    "for i in vectorize_range(8, 0, n) { let mut j = 0; while j < 32 && k(i + j) != 5 { j++; } y(i) = j as f32; }",
];

/// The warnings about a kernel for a processor.
fn estimated(kernel: &str, cpu: &str) -> String {
    let program = format!("extern fn f(n: i32, k: &[i32], x: &[f32], y: &mut [f32]) -> () {{ {kernel} }}");
    support::run(&["explain", "--vectorize", "--target-cpu", cpu, "-"], &program).2
}

/// Sorts the columns of 8 rows: 9 values are needed at once.
const SORT: &str = "
extern fn sort(n: i32, x: &[f32], y: &mut [f32]) -> () {
    for i in vectorize_range(16, 0, n) {
        let mut v: [f32 * 8];
        for k in unroll(0, 8) { v(k) = x(k * n + i); }
        for round in unroll(0, 8) {
            for pair in unroll(0, (7 - round % 2) / 2 + round % 2) {
                let a = 2 * pair + round % 2;
                if a < 7 {
                    let (low, high) = (cpu_fminf(v(a), v(a + 1)), cpu_fmaxf(v(a), v(a + 1)));
                    v(a) = low;
                    v(a + 1) = high;
                }
            }
        }
        for k in unroll(0, 8) { y(k * n + i) = v(k); }
    }
}
";

#[test]
fn as_many_lanes_are_executed_at_once_as_fit_into_the_registers() {
    for (cpu, is_narrowed) in [("x86-64-v3", true), ("x86-64-v4", false)] {
        let report = support::run(&["explain", "--vectorize", "--target-cpu", cpu, "-"], SORT).1;
        assert_eq!(report.contains("16 lanes, 8 at a time"), is_narrowed, "{cpu}: {report}");
    }
    let args = ["build", "-O2", "--emit", "asm", "--target-cpu", "x86-64-v3", "-o", "-", "-"];
    let (_, code, _) = support::run(&args, SORT);
    // The masked last group spills a few.
    let spills = code.lines().filter(|line| line.contains("%ymm") && line.contains("(%rsp)")).count();
    assert!(code.contains("vminps") && spills < 60, "{spills}");
}

/// Prints the sums of rows of a sparse matrix, for which SIMD code is slower than a loop.
const SPARSE: &str = "
fn main() -> i32 {
    let (bounds, columns, sums) = (~[17: i32], ~[64: i32], ~[16: i32]);
    for i in range(0, 17) { bounds(i) = 3 * i - i % 3; }
    for k in range(0, 64) { columns(k) = (7 * k) % 64; }
    for row in vectorize_range(8, 0, 13) {
        let mut sum = 0;
        for k in range(bounds(row), bounds(row + 1)) { sum += columns(columns(columns(columns(k)))); }
        sums(row) = sum;
    }
    let mut all = 0;
    for row in range(0, 13) { all = (31 * all + sums(row)) % 9973; }
    print_i32(all);
    0
}
";

#[test]
fn loop_is_executed_where_simd_code_is_expected_to_be_slower() {
    let (_, expected, _) = support::run(&["interp", "-"], SPARSE);
    for level in ["-O1", "-O2", "-O3"] {
        let (status, out, warnings) = support::run(&["run", level, "--target-cpu", "native", "-"], SPARSE);
        assert_eq!((status, &out), (Some(0), &expected), "{level}");
        let is_loop = warnings.contains("so its lanes run one after the other");
        assert_eq!(is_loop, level != "-O1", "{level}: {warnings}");
    }
    let report = support::run(&["explain", "--vectorize", "-"], SPARSE).1;
    assert!(report.contains("8 lanes, one after the other"), "{report}");
}

#[test]
fn warning_tells_where_simd_code_is_expected_to_be_slower() {
    for cpu in ["x86-64-v3", "x86-64-v4"] {
        for kernel in WINS {
            let warnings = estimated(kernel, cpu);
            assert!(!warnings.contains("W0911"), "{cpu}: {kernel}: {warnings}");
        }
        for kernel in LOSES {
            let warnings = estimated(kernel, cpu);
            assert!(
                warnings.contains("warning[W0911]") && warnings.contains("% of that"),
                "{cpu}: {kernel}: {warnings}"
            );
        }
    }
}
