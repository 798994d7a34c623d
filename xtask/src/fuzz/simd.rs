//! Random bodies for `vectorize`, mostly with divergent control flow.
//!
//! Numbers are between 0 and 255, loops end, indices are in range, and each lane writes to its own
//! memory: so every program has one result. `main` runs the same body with each number of lanes in
//! [`LANES`] and returns a checksum of the written values. The program itself, its SIMD form in the interpreter,
//! and native code for one of several processors must agree on it.

use std::fmt::Write as _;

use nyala_driver::{Options, Session};
use nyala_tests::random::Random;

use super::executions::{Executions, processor};
use super::worker::Case;

/// The maximum nesting of statements and expressions.
const MAX_DEPTH: usize = 4;

/// The numbers of lanes of each body; the first is not vectorized.
const LANES: [usize; 4] = [1, 4, 8, 16];

/// The maximum number of operations of a program in the interpreter.
pub(super) const MAX_STEPS: u64 = 16_000_000;

/// Native code takes longest, so one of this number of programs is run as native code.
const NATIVE_EVERY: usize = 8;

/// Runs the program of a case in all ways; returns whether all of it was vectorized.
pub fn run(case: &mut Case) -> Result<bool, String> {
    let text = program(&mut case.random());
    case.begin(&text);
    compare(case, &text)
}

fn compare(case: &mut Case, text: &str) -> Result<bool, String> {
    let mut session = Session::new(Options::default());
    session.add_text("simd.impala", text);
    let (mut executions, world) = Executions::begin(case, session, "simd", MAX_STEPS)?;
    let (vectorized, is_vectorized) = executions.vectorize(&world);
    executions.interpret_simd(&vectorized)?;
    if is_vectorized && text.len().is_multiple_of(NATIVE_EVERY) {
        let program = executions.outline(vectorized)?;
        executions.run_native(&program, 2, processor(text.len() / NATIVE_EVERY))?;
    }
    Ok(is_vectorized)
}

/// A random program.
fn program(random: &mut Random) -> String {
    let mut writer = Writer {
        random,
        text: String::new(),
        indent: 0,
        names: vec![],
        n_names: 0,
        loops: 0,
        functions: vec![],
        block: 1,
        channels: 1,
        pixel: "i",
    };
    writer.program();
    writer.text
}

struct Writer<'a> {
    random: &'a mut Random,
    text: String,
    indent: usize,
    /// The variables in scope, and whether they are mutable.
    names: Vec<(String, bool)>,
    n_names: usize,
    /// The number of loops around the current statement.
    loops: usize,
    /// The functions of the program, each with two parameters.
    functions: Vec<String>,
    /// The length of the arrays in `blocks`.
    block: usize,
    /// The number of adjacent elements in `floats` and `colors` per lane, and the order of the lanes in `colors`.
    channels: usize,
    pixel: &'static str,
}

/// The arrays that all functions get: one to read, and those of which each lane has a part.
const ARRAYS: &str = "inp, out, items, points, bytes, blocks, floats, doubles, colors";
const TYPED_ARRAYS: &str = "inp: &[i32], out: &mut [i32], items: &mut [Item], points: &mut [Point], \
    bytes: &mut [u8], blocks: &mut [Block], floats: &mut [f32], doubles: &mut [f64], colors: &mut [u8]";

impl Writer<'_> {
    fn program(&mut self) {
        let block = *self.random.pick(&[2, 4, 8, 16]);
        self.block = block;
        self.channels = *self.random.pick(&[1, 2, 3, 3, 4]);
        self.pixel = *self.random.pick(&["i", "i", "(31 - i)"]);
        self.line("enum Item { None, One(i32), Two(i32, i32) }");
        self.line("struct Point { x: i32, y: i32, z: i32 }");
        self.line(&format!("struct Block {{ a: [i32 * {block}], b: [u8 * {block}] }}"));
        for number in 0..self.random.below(3) {
            self.function(number);
        }
        let header = match self.random.below(3) {
            0 => "vectorize(lanes)".to_owned(),
            _ => {
                let random = self.random.below(8);
                let from = *self.random.pick(&[0, 0, block, random]);
                format!("vectorize_range(lanes, {from}, {})", (from + 1 + self.random.below(24)).min(32))
            }
        };
        self.line("fn @with_lanes(lanes: i32) -> uint {");
        self.indent += 1;
        self.line("let (inp, out, own) = (~[256: i32], ~[128: i32], ~[32: i32]);");
        self.line("for k in range(0, 256) { inp(k) = (k * 73 + 11) & 255; }");
        self.line("for k in range(0, 128) { out(k) = k & 7; }");
        self.line("for k in range(0, 32) { own(k) = k; }");
        self.line("let items = ~[32: Item];");
        self.line("for k in range(0, 32) { items(k) = if k & 1 == 0 { Item::None } else { Item::One(k) }; }");
        self.line("let (points, bytes, blocks) = (~[32: Point], ~[256: u8], ~[16: Block]);");
        self.line("for k in range(0, 32) { points(k) = Point { x: k, y: 2 * k, z: 3 }; }");
        self.line("for k in range(0, 256) { bytes(k) = (k * 5) as u8; }");
        let each = format!("for k in range(0, 16) {{ for l in range(0, {block}) {{");
        self.line(&format!("{each} blocks(k).a(l) = k + l; blocks(k).b(l) = l as u8; }} }}"));
        self.line("let (floats, doubles, colors) = (~[128: f32], ~[64: f64], ~[128: u8]);");
        self.line("for k in range(0, 128) { floats(k) = k as f32; colors(k) = (k * 3) as u8; }");
        self.line("for k in range(0, 64) { doubles(k) = (k & 15) as f64; }");
        self.line("let shared = inp(7);");
        self.line("let counts = ~[8: i32];");
        self.line("for k in range(0, 8) { counts(k) = 0; }");
        self.line("let total: &mut i32 = ~0;");
        self.line(&format!("for i in {header} {{"));
        self.indent += 1;
        self.names = vec![("i".into(), false), ("shared".into(), false)];
        if self.chance(2) {
            self.collectives();
        }
        self.statements(0, true);
        let result = self.expr(2);
        self.line(&format!("own(i) = {result};"));
        self.indent -= 1;
        self.line("}");
        self.line("let mut sum = 7u;");
        self.line("for k in range(0, 128) { sum = sum * 31u + out(k) as uint; }");
        self.line("for k in range(0, 32) { sum = sum * 31u + own(k) as uint; }");
        self.line("for k in range(0, 32) { sum = sum * 31u + (points(k).x + points(k).y * 3 + points(k).z * 7) as uint; }");
        self.line("for k in range(0, 256) { sum = sum * 31u + bytes(k) as uint; }");
        self.line("for k in range(0, 128) { sum = sum * 31u + floats(k) as uint + 3u * colors(k) as uint; }");
        self.line("for k in range(0, 64) { sum = sum * 31u + doubles(k) as uint; }");
        self.line("for k in range(0, 8) { sum = sum * 31u + counts(k) as uint; }");
        self.line("sum = sum * 31u + *total as uint;");
        let (first, end) = (self.random.below(64), self.random.below(160));
        self.line(&format!(
            "sum = sum * 31u + vectorize_reduce(lanes, {first}, {end}, 0, |a, b| a + b, |k| inp(k)) as uint;"
        ));
        self.line(&format!(
            "{each} sum = sum * 31u + blocks(k).a(l) as uint + blocks(k).b(l) as uint; }} }}"
        ));
        self.line("sum");
        self.indent -= 1;
        self.line("}");
        self.line("fn main() -> i32 {");
        self.indent += 1;
        self.line("let mut sum = 1u;");
        for lanes in LANES {
            self.line(&format!("sum = sum * 31u + with_lanes({lanes});"));
        }
        self.line("(sum >> 1u) as i32");
        self.indent -= 1;
        self.line("}");
    }

    /// Collective operations of all lanes of a group, accesses of one lane at a time, and loads at distances that may be known.
    fn collectives(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            let (name, value, cond) = (self.new_name(), self.expr(2), self.cond(1));
            let (step, near) = (1 + self.random.below(4), self.random.below(4));
            let (group, distance) = (1 << self.random.below(4), self.random.below(7) as i32 - 3);
            let result = match self.random.below(11) {
                0 => format!("lanes_inclusive_sum({value}) & 255"),
                1 => format!("lanes_exclusive_sum({value}) & 255"),
                2 => format!("lanes_inclusive_max({value})"),
                3 => format!("lanes_compress({value}, {cond})"),
                4 => format!("lanes_expand({value}, {cond})"),
                5 => format!("lanes_shift({value}, {distance}, 9)"),
                6 => format!("saturating_add({value} as u8, {step}u8 * 40u8) as i32"),
                7 => {
                    self.line(&format!(
                        "let {name}_sum = lanes_sum({value}); with scalar() {{ *total += {name}_sum; }}"
                    ));
                    format!("{name}_sum & 255")
                }
                8 => {
                    // Bytes that are computed with 16 bits, and some that are not.
                    let (factor, operation) =
                        (*self.random.pick(&[3, 77, 255, 300]), *self.random.pick(&["/ 255", ">> 3", "- 9"]));
                    let (channels, pixel) = (self.channels, self.pixel);
                    let [a, b] =
                        [0, channels - 1].map(|at| format!("colors({pixel} * {channels} + {at}) as i32"));
                    format!("(((({a}) * {factor} + ({b}) + {step}) {operation}) as u8 as i32)")
                }
                9 => format!(
                    "inp(i / {group} * {step} + i % {group} + {near}) + 0 * inp(i / {group} * {step} + {near})"
                ),
                _ => {
                    self.line(&format!("for _ in for_each_active() {{ counts(({value}) & 7) += {step}; }}"));
                    "lanes_sum(1)".to_owned()
                }
            };
            self.line(&format!("let {name} = {result};"));
            self.names.push((name, false));
        }
    }

    fn function(&mut self, number: usize) {
        let name = format!("f{number}");
        self.line(&format!("fn {name}({TYPED_ARRAYS}, i: i32, x: i32, y: i32) -> i32 {{"));
        self.indent += 1;
        self.names = vec![("x".into(), false), ("y".into(), false), ("i".into(), false)];
        if self.chance(3) {
            let (a, b) = (self.expr(1), self.expr(1));
            self.line(&format!("if y > 0 {{ return({name}({ARRAYS}, i, {a}, (y >> 1) & ({b} | 63))) }}"));
        }
        let loops = std::mem::replace(&mut self.loops, 0);
        self.statements(1, false);
        self.loops = loops;
        let result = self.expr(2);
        self.line(&result);
        self.indent -= 1;
        self.line("}");
        self.functions.push(name);
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{:1$}{text}", "", self.indent * 4).expect("strings take all text");
    }

    /// True with a probability of one in `n`.
    fn chance(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn statements(&mut self, depth: usize, is_body: bool) {
        let n_names = self.names.len();
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth, is_body);
        }
        self.names.truncate(n_names);
    }

    fn statement(&mut self, depth: usize, is_body: bool) {
        let is_deep = depth >= MAX_DEPTH;
        match self.random.below(16) {
            0..=2 => self.variable(),
            3..=5 => self.assignment(),
            6 | 7 if self.chance(2) => self.store(),
            6 | 7 => self.store_nearby(),
            8..=10 if !is_deep => self.branch(depth, is_body),
            11 | 12 if !is_deep => self.repeat(depth, is_body),
            13 if !is_deep => self.matching(depth, is_body),
            14 => self.leave(is_body),
            15 if self.chance(2) => self.option(),
            _ => self.local_array(),
        }
    }

    fn new_name(&mut self) -> String {
        self.n_names += 1;
        format!("v{}", self.n_names)
    }

    fn variable(&mut self) {
        let (name, value) = (self.new_name(), self.expr(3));
        self.line(&format!("let mut {name} = {value};"));
        self.names.push((name, true));
    }

    fn assignment(&mut self) {
        let mutable: Vec<String> =
            self.names.iter().filter(|(_, is_mut)| *is_mut).map(|(name, _)| name.clone()).collect();
        match mutable.is_empty() {
            true => self.variable(),
            false => {
                let (name, value) = (self.random.pick(&mutable).clone(), self.expr(3));
                self.line(&format!("{name} = {value};"));
            }
        }
    }

    fn store(&mut self) {
        let (index, value) = (self.expr(1), self.expr(3));
        self.line(&format!("out(i * 4 + ({index} & 3)) = {value};"));
    }

    /// Stores with a stride or with an index that wraps around.
    fn store_nearby(&mut self) {
        let (block, value, other) = (self.block, self.expr(2), self.expr(2));
        let field = *self.random.pick(&["x", "y", "z"]);
        let (channels, pixel) = (self.channels, self.pixel);
        let channel = self.random.below(channels);
        match self.random.below(10) {
            0 => self.line(&format!("points(i).{field} = {value};")),
            1 => {
                self.line(&format!("points(i).{field} = {value};"));
                let field = *self.random.pick(&["x", "y", "z"]);
                self.line(&format!("points(i).{field} = {other};"));
            }
            2 => self.line(&format!("points(i) = Point {{ x: {value}, y: {other}, z: points(i).{field} }};")),
            3 => {
                let at = self.random.below(4);
                self.line(&format!("out(i * 4 + {at}) = {value};"));
            }
            4 => self.line(&format!("bytes(i as u8 * 2u8 + 240u8) = ({value}) as u8;")),
            5 => self.line(&format!("floats(i * {channels} + {channel}) = ({value}) as f32;")),
            6 => self.line(&format!("doubles(i * 2 + {}) = ({value}) as f64;", channel & 1)),
            7 => {
                for (channel, value) in (0..channels).zip([&value, &other, &value, &other]) {
                    self.line(&format!("colors({pixel} * {channels} + {channel}) = ({value}) as u8;"));
                }
            }
            8 => self.line(&format!("colors({pixel} * {channels} + {channel}) = ({value}) as u8;")),
            _ => {
                let at = *self.random.pick(&[
                    "(i / L).a(i % L)",
                    "(i / L).b(i % L)",
                    "(i as u32 / Lu).a(i as u32 % Lu)",
                ]);
                let cast = if at.contains(".b") { " as u8" } else { "" };
                let at = at.replace('L', &block.to_string());
                self.line(&format!("blocks{at} = ({value}){cast};"));
            }
        }
    }

    /// A number from the elements that [`Writer::store_nearby`] writes, or from those of the lane.
    fn nearby(&mut self) -> String {
        let (block, at) = (self.block, self.random.below(256));
        let (channels, pixel) = (self.channels, self.pixel);
        let channel = self.random.below(channels);
        match self.random.below(12) {
            0 => format!("(points(i).{} & 255)", *self.random.pick(&["x", "y", "z"])),
            1 => format!("out(i * 4 + {})", at & 3),
            2 => "(bytes(i as u8 * 2u8 + 240u8) as i32)".into(),
            3 => format!("inp(i as u8 + {at}u8)"),
            4 => format!("inp({at}u8 - i as u8 * 3u8)"),
            5 => format!("(blocks(i / {block}).a(i % {block}) & 255)"),
            6 => format!("(blocks(i as u32 / {block}u).b(i as u32 % {block}u) as i32)"),
            7 => format!("(i / {})", *self.random.pick(&[2, block, 2 * block, 3])),
            8 => format!("(i % {})", *self.random.pick(&[2, block, 2 * block, 3])),
            9 => format!("(floats(i * {channels} + {channel}) as i32 & 255)"),
            10 => format!("(doubles(i * 2 + {}) as i32 & 255)", channel & 1),
            _ => format!("(colors({pixel} * {channels} + {channel}) as i32)"),
        }
    }

    fn local_array(&mut self) {
        let (name, at) = (self.new_name(), self.expr(1));
        let parts: Vec<String> = (0..4).map(|_| self.expr(1)).collect();
        self.line(&format!("let mut {name}: [i32 * 4];"));
        for (index, part) in parts.iter().enumerate() {
            self.line(&format!("{name}({index}) = {part};"));
        }
        let (other, value) = (self.new_name(), self.expr(2));
        self.line(&format!("{name}({at} & 3) = {value};"));
        let at = self.expr(1);
        self.line(&format!("let mut {other} = {name}({at} & 3);"));
        self.names.push((other, true));
    }

    /// An enum value that is matched again.
    fn option(&mut self) {
        let (name, cond) = (self.new_name(), self.cond(2));
        let (a, b, c) = (self.expr(2), self.expr(2), self.expr(1));
        self.line(&format!("let {name} = if {cond} {{ Item::One({a}) }} else {{ Item::Two({b}, {c}) }};"));
        if self.chance(2) {
            self.line(&format!("items(i) = {name};"));
        }
        let item = if self.chance(2) { "items(i)".to_owned() } else { name };
        let result = self.new_name();
        self.line(&format!(
            "let mut {result} = match {item} {{ Item::None => 3, Item::One(x) => x, Item::Two(x, y) => (x + y) & 255 }};"
        ));
        self.names.push((result, true));
    }

    fn branch(&mut self, depth: usize, is_body: bool) {
        let cond = self.cond(2);
        self.line(&format!("if {cond} {{"));
        self.block(depth, is_body);
        if self.chance(2) {
            self.line("} else {");
            self.block(depth, is_body);
        }
        self.line("}");
    }

    fn block(&mut self, depth: usize, is_body: bool) {
        self.indent += 1;
        self.statements(depth + 1, is_body);
        self.indent -= 1;
    }

    fn repeat(&mut self, depth: usize, is_body: bool) {
        let (counter, limit) = (self.new_name(), self.expr(2));
        let bound = *self.random.pick(&["& 3", "& 7", "% 5"]);
        self.line(&format!("let mut {counter} = 0;"));
        self.line(&format!("let {counter}_end = {limit} {bound};"));
        self.line(&format!("while {counter} < {counter}_end {{"));
        self.indent += 1;
        self.line(&format!("++{counter};"));
        self.indent -= 1;
        self.names.push((counter, false));
        self.loops += 1;
        self.block(depth, is_body);
        self.loops -= 1;
        self.line("}");
    }

    fn matching(&mut self, depth: usize, is_body: bool) {
        let value = self.expr(2);
        self.line(&format!("match {value} & 3 {{"));
        self.indent += 1;
        for pattern in ["0", "2", "_"] {
            self.line(&format!("{pattern} => {{"));
            self.block(depth, is_body);
            self.line("}");
        }
        self.indent -= 1;
        self.line("}");
    }

    /// A jump out of a loop or the body, taken by some lanes.
    fn leave(&mut self, is_body: bool) {
        let cond = self.cond(2);
        let jump = match (self.loops, is_body) {
            (0, true) => "continue()".into(),
            (0, false) => format!("return({})", self.expr(1)),
            (_, false) if self.chance(3) => format!("return({})", self.expr(1)),
            _ if self.chance(2) => "break()".into(),
            _ => "continue()".into(),
        };
        self.line(&format!("if {cond} {{ {jump} }}"));
    }

    fn cond(&mut self, depth: usize) -> String {
        let (a, b) = (self.expr(depth), self.expr(depth));
        let op = *self.random.pick(&["<", "<=", ">", "==", "!="]);
        match self.random.below(6) {
            0 => format!("({a}) & 1 == 0"),
            1 => format!("({a} {op} {b}) && ({b} & 2 == 0)"),
            2 => format!("({a} as f32 * 0.5f) {op} ({b} as f32)"),
            _ => format!("{a} {op} {b}"),
        }
    }

    /// A number between 0 and 255.
    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(4) {
            return match self.random.below(4) {
                0 => self.random.below(64).to_string(),
                _ => {
                    let names = self.names.clone();
                    self.random.pick(&names).0.clone()
                }
            };
        }
        if self.chance(6) {
            return self.nearby();
        }
        let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
        match self.random.below(14) {
            0 | 1 => format!("(({a} + {b}) & 255)"),
            2 => format!("(({a} - {b}) & 255)"),
            3 => format!("(({a} * {b}) & 127)"),
            4 => format!("({a} ^ {b})"),
            5 => format!("({a} / ({b} + 1))"),
            6 => format!("{{ let n = {a}; let d = {b}; if d != 0 {{ n % d }} else {{ n }} }}"),
            7 => format!("inp({a})"),
            8 => format!("inp((i + {a}) & 255)"),
            9 => {
                let cond = self.cond(depth - 1);
                format!("(if {cond} {{ {a} }} else {{ {b} }})")
            }
            10 => format!("((({a} as f32 * 0.25f + {b} as f32) as i32) & 255)"),
            11 => format!("((({a} as u8 + {b} as u8) as i32) & 255)"),
            12 => format!("((({a} as i64 << ({b} & 7) as i64) as i32) & 255)"),
            _ if !self.functions.is_empty() && self.chance(2) => {
                let functions = self.functions.clone();
                let function = self.random.pick(&functions).clone();
                format!("({function}({ARRAYS}, i, {a}, {b}) & 255)")
            }
            _ => format!("out(i * 4 + ({a} & 3))"),
        }
    }
}
