//! Generated programs of any length that resemble hand-written ones.

use std::fmt::Write as _;

/// Parts of a program; `#` is the number of the part.
const PARTS: [&str; 6] = [
    "\
// A point of part #.
struct Point# {
    x: f32,
    y: f32,
    weight: i32
}

fn @scale#(p: Point#, factor: f32) -> Point# {
    Point# { x: p.x * factor, y: p.y * factor, weight: p.weight }
}

",
    "\
fn sum#(n: i32, values: &[i32]) -> i32 {
    let mut total = 0;
    for i in range(0, n) {
        if values(i) < 0 { continue() }
        total += values(i) * # % 7;
    }
    total
}

",
    "\
enum Shape# { Dot, Circle(f32), Box(f32, f32) }

fn area#(shape: Shape#) -> f32 {
    match shape {
        Shape#::Dot => 0f,
        Shape#::Circle(r) => 3.14159f * r * r,
        Shape#::Box(w, h) => w * h
    }
}

",
    "\
fn @(?n) power#(x: i64, n: i32) -> i64 {
    if n == 0 {
        1i64
    } else if n % 2 == 0 {
        let half = power#(x, n / 2);
        half * half
    } else {
        x * power#(x, n - 1)
    }
}

",
    "\
// Visits the cells of a grid, row by row.
fn @cells#(width: i32, height: i32, body: fn(i32, i32) -> ()) -> () {
    for y in range(0, height) {
        for x in range(0, width) { body(x, y) }
    }
}

fn blur#(width: i32, height: i32, src: &[f32], dst: &mut [f32]) -> () {
    let at = |x: i32, y: i32| src(y * width + x);
    for x, y in cells#(width, height) {
        if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
            dst(y * width + x) = at(x, y)
        } else {
            dst(y * width + x) = (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 4f
        }
    }
}

",
    "\
static table# = [1, 2, 4, 8, 16, 32, 64, 128];

extern fn hash#(text: &[u8], length: i32) -> u32 {
    let mut state = 2166136261u32;
    let mut i = 0;
    while i < length {
        state = (state ^ text(i) as u32) * 16777619u32;
        state += table#(i & 7) as u32;
        i++
    }
    state
}

",
];

/// A program of about `n_lines` lines.
pub fn generate(n_lines: usize) -> String {
    let mut text = String::new();
    let (mut number, mut lines) = (0, 0);
    while lines < n_lines {
        let part = PARTS[number % PARTS.len()];
        write!(text, "{}", part.replace('#', &number.to_string())).expect("strings take all text");
        lines += part.lines().count();
        number += 1;
    }
    text
}
