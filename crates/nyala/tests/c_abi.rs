//! Values of many types go to C and back, by value: our code and that of the system's C
//! compiler agree where each is.
//!
//! For every struct there are functions on both sides that call each other: with
//! the struct alone, and with so many other arguments that registers run out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nyala_tests::random::Random;

/// A type of a field: ours, and C's.
#[derive(Clone, Copy)]
struct Field {
    ours: &'static str,
    c: &'static str,
    len: usize,
}

const FIELDS: [(&str, &str); 12] = [
    ("bool", "bool"),
    ("i8", "int8_t"),
    ("u8", "uint8_t"),
    ("i16", "int16_t"),
    ("u16", "uint16_t"),
    ("i32", "int32_t"),
    ("u32", "uint32_t"),
    ("i64", "int64_t"),
    ("u64", "uint64_t"),
    ("f32", "float"),
    ("f64", "double"),
    ("f32", "float"),
];

/// All structs of one field and of two, then random ones of more and of arrays.
fn structs() -> Vec<Vec<Field>> {
    let field = |index: usize, len| Field { ours: FIELDS[index].0, c: FIELDS[index].1, len };
    let mut all: Vec<Vec<Field>> = (0..FIELDS.len() - 1).map(|a| vec![field(a, 1)]).collect();
    for a in [0, 1, 5, 7, 9, 10] {
        all.extend([2, 3, 5, 7, 9, 10].map(|b| vec![field(a, 1), field(b, 1)]));
    }
    let mut random = Random::new(4, 0);
    for n_fields in 2..=6 {
        for _ in 0..10 {
            let lens = [1, 1, 1, 2, 3];
            let mut one = || field(random.below(FIELDS.len()), *random.pick(&lens));
            all.push((0..n_fields).map(|_| one()).collect());
        }
    }
    all.extend((2..=5).map(|n| vec![field(9, 1); n]));
    all.extend((2..=5).map(|n| vec![field(10, 1); n]));
    all
}

/// A value that distinguishes fields and is in range of every type.
fn value(field: usize, at: usize) -> usize {
    (field * 7 + at * 3 + 1) % 100
}

fn ours_type(field: &Field) -> String {
    if field.len == 1 { field.ours.into() } else { format!("[{} * {}]", field.ours, field.len) }
}

fn ours_literal(ty: &str, value: usize) -> String {
    match ty {
        "bool" => (value % 2 == 1).to_string(),
        "f32" | "f64" => format!("{value}{ty}"),
        _ => format!("{value}{ty}"),
    }
}

fn ours_value(index: usize, field: &Field) -> String {
    let one = |at| ours_literal(field.ours, value(index, at));
    match field.len {
        1 => one(0),
        len => format!("[{}]", (0..len).map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// The Impala side: creates, checks and passes each struct.
fn our_program(structs: &[Vec<Field>]) -> String {
    let (mut items, mut imports) = (String::new(), String::new());
    for (n, fields) in structs.iter().enumerate() {
        let members = |each: &dyn Fn(usize, &Field) -> String| {
            fields.iter().enumerate().map(|(i, field)| each(i, field)).collect::<Vec<_>>().join(", ")
        };
        let types = members(&|i, field| format!("m{i}: {}", ours_type(field)));
        let values = members(&|i, field| format!("m{i}: {}", ours_value(i, field)));
        let mut same = vec!["true".to_owned()];
        for (i, field) in fields.iter().enumerate() {
            same.extend((0..field.len).map(|at| {
                let part = if field.len == 1 { format!("s.m{i}") } else { format!("s.m{i}({at})") };
                format!("{part} == {}", ours_literal(field.ours, value(i, at)))
            }));
        }
        let same = same.join(" && ");
        write!(
            items,
            "struct S{n} {{ {types} }}
             extern fn make_{n}() -> S{n} {{ S{n} {{ {values} }} }}
             extern fn check_{n}(s: S{n}) -> bool {{ {same} }}
             extern fn pass_{n}(a: i32, s: S{n}, b: f64) -> S{n} {{ c_pass_{n}(a, s, b) }}
             extern fn many_{n}(a: i64, b: i64, c: i64, d: i64, s: S{n}, e: f64, f: f64, g: f64, h: f64,
                                i: f64, j: f32, t: S{n}, u: S{n}, k: u8, v: S{n}) -> S{n} {{
                 c_many_{n}(a, b, c, d, s, e, f, g, h, i, j, t, u, k, v)
             }}
             "
        )
        .expect("strings take all text");
        write!(
            imports,
            "fn c_pass_{n}(i32, S{n}, f64) -> S{n};
             fn c_many_{n}(i64, i64, i64, i64, S{n}, f64, f64, f64, f64, f64, f32, S{n}, S{n}, u8, S{n}) -> S{n};
             "
        )
        .expect("strings take all text");
    }
    format!("{items}\nextern \"C\" {{ {imports} }}\n")
}

/// The C side; its `main` reports errors.
fn c_program(structs: &[Vec<Field>]) -> String {
    let mut text = String::from(
        "#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n
         static int errors;\n#define CHECK(n, what) if (!(what)) { printf(\"S%d: %s\\n\", n, #what); errors++; }\n",
    );
    let mut main = String::new();
    for (n, fields) in structs.iter().enumerate() {
        let (mut members, mut values, mut same) = (String::new(), vec![], vec!["1".to_owned()]);
        for (i, field) in fields.iter().enumerate() {
            let array = if field.len == 1 { String::new() } else { format!("[{}]", field.len) };
            write!(members, "{} m{i}{array}; ", field.c).expect("strings take all text");
            let one = |at| if field.ours == "bool" { value(i, at) % 2 } else { value(i, at) };
            let all: Vec<String> = (0..field.len).map(|at| one(at).to_string()).collect();
            values.push(if field.len == 1 { all[0].clone() } else { format!("{{ {} }}", all.join(", ")) });
            same.extend((0..field.len).map(|at| {
                let part = if field.len == 1 { format!("s.m{i}") } else { format!("s.m{i}[{at}]") };
                format!("{part} == {}", one(at))
            }));
        }
        let (values, same) = (values.join(", "), same.join(" && "));
        let many = "int64_t a, int64_t b, int64_t c, int64_t d, S s, double e, double f, double g, double h, \
                    double i, float j, S t, S u, uint8_t k, S v";
        let many = many.replace('S', &format!("S{n}"));
        write!(
            text,
            "typedef struct {{ {members}}} S{n};
             S{n} make_{n}(void); bool check_{n}(S{n}); S{n} pass_{n}(int32_t, S{n}, double); S{n} many_{n}({many});
             static bool same_{n}(S{n} s) {{ return {same}; }}
             S{n} c_pass_{n}(int32_t a, S{n} s, double b) {{
                 CHECK({n}, a == -5 && b == 2.5) CHECK({n}, same_{n}(s)) return s;
             }}
             S{n} c_many_{n}({many}) {{
                 CHECK({n}, a == 1 && b == 2 && c == 3 && d == 4)
                 CHECK({n}, e == 5 && f == 6 && g == 7 && h == 8 && i == 9 && j == 10 && k == 200)
                 CHECK({n}, same_{n}(s)) CHECK({n}, same_{n}(t)) CHECK({n}, same_{n}(u)) CHECK({n}, same_{n}(v))
                 return t;
             }}
             "
        )
        .expect("strings take all text");
        write!(
            main,
            "{{ S{n} s = {{ {values} }};
               CHECK({n}, same_{n}(make_{n}())) CHECK({n}, check_{n}(s)) CHECK({n}, same_{n}(pass_{n}(-5, s, 2.5)))
               CHECK({n}, same_{n}(many_{n}(1, 2, 3, 4, s, 5, 6, 7, 8, 9, 10, s, s, 200, s))) }}
             "
        )
        .expect("strings take all text");
    }
    format!("{text}\nint main(void) {{\n{main}\nreturn errors != 0; }}\n")
}

/// An empty folder for the files of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Runs a command in a folder; returns whether it succeeded, and its output.
fn run(folder: &Path, program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(said.into_owned()) } else { Err(format!("{program} {args:?}: {said}")) }
}

/// A machine to compare on: its C compiler, its emulator, and its target name.
struct Machine {
    cc: &'static str,
    /// Its names.
    emulators: &'static [&'static str],
    target: &'static [&'static str],
}

const MACHINES: [Machine; 3] = [
    Machine { cc: "cc", emulators: &[], target: &[] },
    Machine {
        cc: "aarch64-linux-gnu-gcc",
        emulators: &["qemu-aarch64", "qemu-aarch64-static"],
        target: &["--target", "aarch64-unknown-linux-gnu"],
    },
    Machine {
        cc: "riscv64-linux-gnu-gcc",
        emulators: &["qemu-riscv64", "qemu-riscv64-static"],
        target: &["--target", "riscv64gc-unknown-linux-gnu"],
    },
];

/// The first of some programs that can be run, or why the last one cannot.
fn first_there(folder: &Path, programs: &[&'static str]) -> Result<&'static str, String> {
    let mut missing = String::new();
    for program in programs {
        match run(folder, program, &["--version"]) {
            Ok(_) => return Ok(program),
            Err(error) => missing = error,
        }
    }
    Err(missing)
}

/// Compiles both sides, links them and runs them, on each machine for which there are the tools.
fn check(name: &str, ours: &str, c: &str) {
    let folder = folder(name);
    std::fs::write(folder.join("ours.impala"), ours).expect("it can be written");
    std::fs::write(folder.join("host.c"), c).expect("it can be written");
    for Machine { cc, emulators, target } in MACHINES {
        let emulator = match emulators {
            [] => Ok(None),
            names => first_there(&folder, names).map(Some),
        };
        let tools = first_there(&folder, &[cc]).and(emulator);
        let emulator = match tools {
            Ok(emulator) => emulator,
            Err(error) => {
                eprintln!("SKIPPED: {cc} cannot be compared with ({error})");
                continue;
            }
        };
        let (program, args) = emulator.map_or(("./host", vec![]), |emulator| (emulator, vec!["./host"]));
        // An emulator does not find the machine's libraries.
        let link = if emulator.is_some() { "-static" } else { "-pie" };
        run(&folder, cc, &["-c", "-O1", "-w", "-fPIE", "-o", "host.o", "host.c"])
            .expect("the C side compiles");
        for level in ["-O0", "-O2"] {
            let build = ["build", level, "--emit", "obj", "--no-prelude", "-o", "ours.o", "ours.impala"];
            let steps = run(&folder, env!("CARGO_BIN_EXE_nyala"), &[&build, target].concat())
                .and_then(|_| run(&folder, cc, &[link, "-o", "host", "host.o", "ours.o", "-lm"]))
                .and_then(|_| run(&folder, program, &args));
            steps.unwrap_or_else(|error| panic!("{cc} {level}: {error}"));
        }
    }
}

#[test]
fn structs_of_many_shapes_are_passed_to_and_from_c() {
    let structs = structs();
    check("c_abi_structs", &our_program(&structs), &c_program(&structs));
}

#[test]
fn tuples_enums_and_nested_structs_are_passed_to_c() {
    check(
        "c_abi_others",
        "struct P { x: f32, y: f32 }
         struct Q { p: P, q: [P * 2] }
         enum E { A(i32), B(f64), C }
         extern fn pair(a: i32, b: f64) -> (i32, f64) { (a + 1, b + 1.0) }
         extern fn triple() -> (i64, i64, i64) { (1i64, 2i64, 3i64) }
         extern fn nested(q: Q) -> P { P { x: q.p.x + q.q(0).x, y: q.p.y + q.q(1).y } }
         extern fn option(e: E) -> i32 { match e { E::A(a) => a, E::B(b) => b as i32 * 10, E::C => -1 } }
         extern fn choose(which: i32) -> E { if which == 0 { E::A(7) } else { E::B(1.5) } }
         extern fn nothing(a: i32, unit: (), b: i32) -> () {}
         extern \"C\" { fn c_triple() -> (i64, i64, i64); fn c_nested(Q) -> P; }
         extern fn call() -> f64 {
             let (a, b, c) = c_triple();
             let p = c_nested(Q { p: P { x: 1f32, y: 2f32 }, q: [P { x: 3f32, y: 4f32 }, P { x: 5f32, y: 6f32 }] });
             (a + b * 10i64 + c * 100i64) as f64 + p.x as f64 + p.y as f64
         }",
        "#include <stdint.h>
         #include <stdio.h>
         typedef struct { float x, y; } P;
         typedef struct { P p; P q[2]; } Q;
         typedef struct { union { int32_t a; double b; } data; uint8_t tag; } E;
         typedef struct { int32_t e0; double e1; } Pair;
         typedef struct { int64_t e0, e1, e2; } Triple;
         Pair pair(int32_t, double); Triple triple(void); P nested(Q); int32_t option(E); E choose(int32_t);
         double call(void); void nothing(int32_t, int32_t);
         Triple c_triple(void) { return (Triple) { 1, 2, 3 }; }
         P c_nested(Q q) { return (P) { q.p.x + q.q[0].x + q.q[1].x, q.p.y + q.q[0].y + q.q[1].y }; }
         static int errors;
         #define CHECK(what) if (!(what)) { printf(\"%s\\n\", #what); errors++; }
         int main(void) {
             Pair p = pair(1, 2); CHECK(p.e0 == 2 && p.e1 == 3)
             Triple t = triple(); CHECK(t.e0 == 1 && t.e1 == 2 && t.e2 == 3)
             P n = nested((Q) { { 1, 2 }, { { 3, 4 }, { 5, 6 } } }); CHECK(n.x == 4 && n.y == 8)
             CHECK(option((E) { { .a = 5 }, 0 }) == 5)
             CHECK(option((E) { { .b = 4 }, 1 }) == 40)
             CHECK(option((E) { { 0 }, 2 }) == -1)
             CHECK(choose(0).tag == 0 && choose(0).data.a == 7)
             CHECK(choose(1).tag == 1 && choose(1).data.b == 1.5)
             nothing(1, 2);
             CHECK(call() == 321 + 9 + 12)
             return errors;
         }",
    );
}

#[test]
fn internal_functions_pass_all_types() {
    check(
        "c_abi_inside",
        "struct P { x: i32, y: i32 }
         enum E { A(P), B(f64), C }
         fn step(p: P, q: P, r: P, s: P, t: P, u: P, n: i32) -> i32 {
             if n == 0 { p.x + q.y + r.x + s.y + t.x * 10 + u.y * 100 } else { step(q, r, s, t, u, p, n - 1) }
         }
         fn size(e: E) -> i32 { match e { E::A(p) => p.x * p.y, E::B(f) => f as i32, E::C => 7 } }
         fn apply(f: fn(P, P, P, P, P, i32) -> i32, p: P, n: i32) -> i32 {
             if n > 100 { apply(f, p, n - 1) } else { f(p, p, p, p, p, n) + 1 }
         }
         fn main(argc: i32) -> i32 {
             let p = |i: i32| P { x: i, y: i + argc };
             let stepped = step(p(1), p(2), p(3), p(4), p(5), p(6), argc + 3);
             let sized = size(if argc > 5 { E::C } else { E::A(p(3)) }) + size(E::B(2.5));
             let mut a = [1, 2, 3, 4];
             a(argc) = 40;
             let k = a(argc + 1);
             let applied = apply(|_, _, q, _, r, x| x * k + a(argc) + q.y * 100 + r.x * 1000, p(2), argc + 4);
             if stepped == 546 && sized == 14 && applied == 2356 { 0 } else { 1 }
         }",
        "",
    );
}

#[test]
fn calls_in_tail_position_need_no_stack() {
    let letters: Vec<String> = ('a'..='k').map(String::from).collect();
    let params = |ty| letters.iter().map(|name| format!("{name}: {ty}")).collect::<Vec<_>>().join(", ");
    let turned = [&letters[1..], &letters[..1]].concat().join(", ");
    let floats = |prefix: &str| (0..8).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ");
    let float_params = floats("f").replace(',', ": f64,") + ": f64";
    // Three steps are left when the turns of eleven letters are taken away.
    let ours = format!(
        "fn even(n: i32, {0}, {1}) -> i32 {{
             if n == 0 {{ a + 10 * k + f0 as i32 }} else {{ odd(n - 1, {2}, {3}) }}
         }}
         fn odd(n: i32, {0}, {1}) -> i32 {{
             if n == 0 {{ b + 10 * c + f7 as i32 }} else {{ even(n - 1, {2}, {3}) }}
         }}
         fn main(argc: i32) -> i32 {{
             let n = argc * 3000000;
             let first = even(n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, {4});
             let second = odd(n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, {4});
             if first == 23 && second == 61 {{ 0 }} else {{ 1 }}
         }}",
        params("i32"),
        float_params,
        turned,
        floats("f"),
        (0..8).map(|i| format!("{i}.0")).collect::<Vec<_>>().join(", "),
    );
    check("c_abi_tail_calls", &ours, "");
}

#[test]
fn tail_calls_with_more_or_fewer_arguments_need_no_stack() {
    check(
        "c_abi_tail_calls_that_grow",
        "fn narrow(n: i32, a: i32, b: i32) -> i32 {
             if n == 0 { a - b }
             else if n % 3 == 0 { narrower(n - 1) }
             else { wide(n - 1, a, b, 3, 4, 5, 6, 7, 8, 9, a + 1, b + 1) }
         }
         fn wide(n: i32, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32, j: i32, k: i32) -> i32 {
             if n == 0 { a + b + c + d + e + f + g + h + i + j + k }
             else if n % 5 == 0 { narrow(n - 1, k, j) }
             else { wide(n - 1, b, c, d, e, f, g, h, i, j, k, a) }
         }
         fn narrower(n: i32) -> i32 { if n == 0 { 5 } else { narrow(n - 1, n % 7, 2) } }
         fn main(argc: i32) -> i32 {
             let from_narrow = narrow(argc * 2000000, 1, 2);
             let from_wide = wide(argc * 2000003, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
             let short = narrow(argc * 4, 1, 2) + wide(argc * 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
             if from_narrow == 52 && from_wide == 52 && short == 116 { 0 } else { 1 }
         }",
        "",
    );
}
