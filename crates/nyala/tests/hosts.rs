//! A C program calls the functions of an Impala program, by its generated header, and is called
//! back; both are linked as a user would.

mod support;

use std::process::Command;

use support::{Folder, nyala, run_command};

const PROGRAM: &str = r#"
struct Particle { at: (f32, f32), mass: f64, alive: bool }
enum Shape { Point, Circle(f32), Box(f32, f32) }
extern "C" {
    fn on_particle(i32, &Particle) -> bool;
    fn make_shape(i32) -> Shape;
    fn for_each(n: i32, particles: &mut [Particle], fn(Particle, i32) -> Particle) -> ();
    fn operation(i32) -> fn(f64, f64) -> f64;
}

extern fn total_mass(n: i32, particles: &[Particle]) -> f64 {
    let mut mass = 0.0;
    for i in range(0, n) {
        if on_particle(i, &particles(i)) { mass += particles(i).mass }
    }
    mass
}
extern fn area(shape: Shape) -> f32 {
    match shape { Shape::Point => 0f, Shape::Circle(r) => 3f * r * r, Shape::Box(a, b) => a * b }
}
extern fn area_of(i: i32) -> f32 { area(make_shape(i)) }
extern fn divide(a: i32, b: i32) -> (i32, i32) { (a / b, a % b) }
extern fn moved(p: Particle, x: f32) -> Particle {
    Particle { at: (p.at(0) + x, p.at(1)), mass: p.mass, alive: !p.alive }
}
extern fn rotate(a: [i32 * 3]) -> [i32 * 3] { [a(1), a(2), a(0)] }
extern fn age(n: i32, particles: &mut [Particle]) -> () {
    for_each(n, particles, |p, i| Particle { at: p.at, mass: p.mass + i as f64, alive: false });
    for_each(n, particles, moved_by_index);
}
fn moved_by_index(p: Particle, i: i32) -> Particle { moved(p, i as f32) }
extern fn calculate(which: i32, a: f64, b: f64) -> f64 {
    let chosen = operation(which);
    chosen(chosen(a, b), b)
}
extern fn double(x: f64) -> f64 { x + x }
"#;

const HOST: &str = r#"
#include "particles.h"
#include <assert.h>
#include <stddef.h>

static int seen = 0;

bool on_particle(int32_t i, Particle const* particle) {
    seen += i;
    return particle->alive;
}

Shape make_shape(int32_t i) {
    Shape shape;
    shape.tag = i == 0 ? Shape_Circle : Shape_Box;
    if (i == 0) shape.data.Circle = 2.0f;
    else { shape.data.Box.e0 = 4.0f; shape.data.Box.e1 = 5.0f; }
    return shape;
}

void for_each(int32_t n, Particle *particles, Particle (*change)(Particle, int32_t)) {
    for (int32_t i = 0; i < n; i++) particles[i] = change(particles[i], i);
}

static double add(double a, double b) { return a + b; }
static double multiply(double a, double b) { return a * b; }
double (*operation(int32_t which))(double, double) { return which == 0 ? add : multiply; }

int main(void) {
    Particle particles[3] = {{{1, 2}, 10, true}, {{3, 4}, 20, false}, {{5, 6}, 30, true}};
    assert(total_mass(3, particles) == 40.0);
    assert(seen == 3);
    Shape point;
    point.tag = Shape_Point;
    assert(area(point) == 0.0f);
    assert(area_of(0) == 12.0f && area_of(1) == 20.0f);
    tuple_i32_i32 quotient = divide(17, 5);
    assert(quotient.e0 == 3 && quotient.e1 == 2);
    struct Particle away = moved(particles[0], 1.5f);
    assert(away.at.e0 == 2.5f && away.at.e1 == 2.0f && away.mass == 10 && !away.alive);
    array_i32_3 turned = rotate((array_i32_3){{1, 2, 3}});
    assert(turned.e[0] == 2 && turned.e[1] == 3 && turned.e[2] == 1);
    assert(double_(1.25) == 2.5);
    age(3, particles);
    assert(particles[2].mass == 32 && particles[2].alive && particles[2].at.e0 == 7);
    assert(calculate(0, 3, 4) == 11 && calculate(1, 3, 4) == 48);
    return 0;
}
"#;

#[test]
fn a_c_program_calls_and_gets_callbacks() {
    let folder = Folder::new("c-host");
    let source = folder.file("particles.impala", PROGRAM);
    folder.file("host.c", HOST);
    for level in ["-O0", "-O3"] {
        let args = ["build", level, "--emit", "obj,header", &source];
        let built = run_command(nyala().args(args).current_dir(&folder.0), "");
        assert_eq!(built, (Some(0), String::new(), String::new()));
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o", "host", "host.c", "particles.o"]);
        let compiled = run_command(cc.current_dir(&folder.0), "");
        assert_eq!(compiled, (Some(0), String::new(), String::new()));
        let ran = run_command(&mut Command::new(folder.path("host")), "");
        assert_eq!(ran, (Some(0), String::new(), String::new()));
    }
}

#[test]
fn the_header_has_pointers_to_functions() {
    let folder = Folder::new("function-pointers");
    let source = folder.file("particles.impala", PROGRAM);
    let (_, header, _) = run_command(nyala().args(["build", "--emit", "header", "-o", "-", &source]), "");
    let taken = "void for_each(int32_t n, Particle* particles, Particle (*)(Particle, int32_t));";
    assert!(header.contains(taken), "{header}");
    assert!(header.contains("double (*operation(int32_t))(double, double);"), "{header}");
}

#[test]
fn the_header_is_valid_cpp() {
    let folder = Folder::new("cpp-header");
    let source = folder.file("particles.impala", PROGRAM);
    let header = folder.path("particles.h");
    let built = run_command(nyala().args(["build", "--emit", "header", "-o", &header, &source]), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    match Command::new("c++").args(["-fsyntax-only", "-x", "c++", &header]).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("SKIPPED: there is no C++ compiler ({error})"),
    }
}

/// Names that mean something in C or C++: keywords, types and macros of the headers. They get other names, which differ
/// from all that are there, and the linker finds the functions all the same.
#[test]
fn the_header_avoids_names_of_c() {
    let folder = Folder::new("c-names");
    let text = "\
struct int32_t { register: i32, class: i32, double_: f32, double: f32, INT_MAX: i32, Pair: i32 }
struct Pair { new: i32, NULL: i64, Pair: i32 }
enum union { struct_, void(i32), linux(Pair) }
struct union_void { x: i32 }
extern fn foo(volatile: i32, auto: int32_t, NULL: i32, unsigned: u8) -> int32_t { auto }
extern fn switch(a: i32) -> i32 { a + 1 }
extern fn switch_(int: i32, int_: i32) -> i32 { int - int_ }
extern fn \"a b\\\"c\" spaced(Pair: Pair, other: Pair) -> i32 { Pair.new + other.Pair }
extern fn choose(value: union, other: union_void) -> i32 { match value { union::void(x) => x, _ => other.x } }
extern fn C_NAMES_H() -> i32 { 5 }
";
    let source = folder.file("c-names.impala", text);
    let stem = folder.path("c-names");
    let built = run_command(nyala().args(["build", "--emit", "obj,header", "-o", &stem, &source]), "");
    assert_eq!(built, (Some(0), String::new(), String::new()));
    let main = "\
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include \"c-names.h\"
int main(void) {
    int32_t_ value = {0};
    value.class_ = 20;
    return foo(1, value, 2, 3).class_ + switch__2(3) + switch_(7, 4) + C_NAMES_H();
}
";
    let objects = folder.path("c-names.o");
    for (compiler, language, file) in [("cc", "c", "main.c"), ("c++", "c++", "main.cpp")] {
        let main = folder.file(file, main);
        let exe = folder.path(language);
        let args =
            ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-o", &exe, &main, &objects];
        match Command::new(compiler).args(args).output() {
            Ok(output) => {
                let header = std::fs::read_to_string(folder.path("c-names.h")).expect("it was written");
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{language}: {stderr}\n{header}");
                assert_eq!(run_command(&mut Command::new(exe), "").0, Some(20 + 4 + 3 + 5));
            }
            Err(_) => assert_eq!(compiler, "c++", "there is a C compiler wherever programs are linked"),
        }
    }
}
