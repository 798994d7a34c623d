//! Moves of values between lanes and lookups in small tables, by the instructions that the machine has.
//!
//! LLVM assembly of a program is the same for all processors, and LLVM moves lanes by indices that are only known
//! at run time one by one, or through memory. So the program declares `nyala.permute`, `nyala.compress` and
//! `nyala.expand` for each type of vector that it needs, and this module defines them for a machine: by `vperm*`,
//! `vpcompress*` and `vpexpand*` of AVX-512, by table shuffles of AVX2 and NEON, or lane by lane. The functions are
//! inlined. `nyala.look_up` reads elements of a table in memory: where the table fits into some registers, it is
//! loaded and permuted, and otherwise the elements are gathered.
//!
//! LLVM is asked which instructions there are ([`Instructions::of`]): it compiles operations that it has
//! instructions for.
//!
//! [`registers`](super::lane_registers) has the operations on vectors of several registers.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::lane_registers::{Lanes, Writer};

/// The prefix of the functions that are defined here.
pub(crate) const PREFIX: &str = "nyala.lanes.";

/// The instructions of a machine that not all have: those that move lanes, and fused ones.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Instructions {
    /// Those of 512 bits for lanes of 32 and 64 bits.
    pub(super) avx512: bool,
    /// Permutations of lanes of 16 bits, and of 8 bits.
    pub(super) avx512_words: bool,
    pub(super) avx512_bytes: bool,
    /// Compression of lanes of 8 and 16 bits.
    pub(super) avx512_packs_bytes: bool,
    /// Those for exponents and mantissas of floats, in registers of all sizes.
    pub(super) avx512_exponents: bool,
    pub(super) avx2: bool,
    pub(super) neon: bool,
    /// Products and sums that are rounded once.
    pub(super) fma: bool,
}

/// Operations whose instructions tell what a machine has.
const QUESTIONS: &str = "
declare <16 x i32> @llvm.experimental.vector.compress.v16i32(<16 x i32>, <16 x i1>, <16 x i32>)
declare <64 x i8> @llvm.experimental.vector.compress.v64i8(<64 x i8>, <64 x i1>, <64 x i8>)
define <16 x i32> @a(<16 x i32> %v, <16 x i1> %m) {
  %r = call <16 x i32> @llvm.experimental.vector.compress.v16i32(<16 x i32> %v, <16 x i1> %m, <16 x i32> %v)
  ret <16 x i32> %r
}
define <64 x i8> @b(<64 x i8> %v, <64 x i1> %m) {
  %r = call <64 x i8> @llvm.experimental.vector.compress.v64i8(<64 x i8> %v, <64 x i1> %m, <64 x i8> %v)
  ret <64 x i8> %r
}
define <32 x i16> @c(<32 x i16> %v, <32 x i16> %w) {
  %r = add <32 x i16> %v, %w
  ret <32 x i16> %r
}
define <64 x i8> @d(<64 x i8> %v, <64 x i8> %w) {
  %s = shufflevector <64 x i8> %v, <64 x i8> poison, <64 x i32> <i32 63, i32 5, i32 37, i32 12, i32 50, i32 1, i32 33, i32 20,
    i32 62, i32 4, i32 36, i32 13, i32 51, i32 2, i32 34, i32 21, i32 61, i32 7, i32 39, i32 14, i32 52, i32 3, i32 35, i32 22,
    i32 60, i32 6, i32 38, i32 15, i32 53, i32 8, i32 40, i32 23, i32 59, i32 9, i32 41, i32 16, i32 54, i32 10, i32 42, i32 24,
    i32 58, i32 11, i32 43, i32 17, i32 55, i32 25, i32 44, i32 26, i32 57, i32 27, i32 45, i32 18, i32 56, i32 28, i32 46, i32 29,
    i32 49, i32 30, i32 47, i32 19, i32 48, i32 31, i32 32, i32 0>
  ret <64 x i8> %s
}
define <8 x i32> @e(<8 x i32> %v, <8 x i32> %w) {
  %r = add <8 x i32> %v, %w
  ret <8 x i32> %r
}
declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
define <2 x double> @f(<2 x double> %v, <2 x double> %w) {
  %r = call <2 x double> @llvm.fma.v2f64(<2 x double> %v, <2 x double> %v, <2 x double> %w)
  ret <2 x double> %r
}
define <2 x i64> @g(<2 x i64> %v, <2 x i64> %w) {
  %r = mul <2 x i64> %v, %w
  ret <2 x i64> %r
}
";

impl Instructions {
    /// Those of a machine, which `assembly` compiles for.
    pub(super) fn of(triple: &str, assembly: impl FnOnce(&str) -> Option<String>) -> Instructions {
        let machine = triple.split('-').next().unwrap_or_default();
        if matches!(machine, "aarch64" | "arm64") {
            return Instructions { neon: true, fma: true, ..Instructions::default() };
        }
        if machine != "x86_64" {
            return Instructions { fma: machine == "riscv64", ..Instructions::default() };
        }
        let code = assembly(QUESTIONS).unwrap_or_default();
        let has = |name: &str, register: &str| {
            let is_it = |line: &str| line.trim_start().starts_with(name) && line.contains(register);
            code.lines().any(is_it)
        };
        Instructions {
            avx512: has("vpcompressd", "%zmm"),
            avx512_words: has("vpaddw", "%zmm"),
            avx512_bytes: has("vpermb", "%zmm"),
            avx512_packs_bytes: has("vpcompressb", "%zmm"),
            avx512_exponents: has("vpmullq", "%xmm"),
            avx2: has("vpaddd", "%ymm"),
            neon: false,
            fma: has("vfmadd", "%xmm"),
        }
    }
}

/// Whether a program declares functions of this module.
pub(super) fn are_in(text: &str) -> bool {
    text.contains(PREFIX)
}

/// LLVM assembly with definitions of the functions of this module that it declares.
pub(super) fn defined<'a>(text: &'a str, instructions: Instructions) -> Cow<'a, str> {
    let mut program = String::with_capacity(text.len());
    let mut writer = Writer::new(instructions);
    for line in text.split_inclusive('\n') {
        match declared(line) {
            Some(Declared { symbol, function, lanes, table: None }) => writer.define(symbol, function, lanes),
            Some(Declared { symbol, lanes, table: Some(n), .. }) => writer.define_look_up(symbol, lanes, n),
            None => program += line,
        }
    }
    let definitions = writer.finish(&program);
    writeln!(program, "{definitions}").expect("strings take all text");
    Cow::Owned(program)
}

/// A move that is declared: its symbol, what it does, and the vectors it is for.
struct Declared<'a> {
    symbol: &'a str,
    function: &'a str,
    lanes: Lanes,
    /// For lookups, the length of the table.
    table: Option<u32>,
}

/// The move that a line declares.
fn declared(line: &str) -> Option<Declared<'_>> {
    let (_, symbol) = line.strip_prefix("declare ")?.split_once('@')?;
    let symbol = symbol.split('(').next()?;
    let (function, ty) = symbol.trim_matches('"').strip_prefix(PREFIX)?.split_once('.')?;
    let (ty, table) = ty.split_once('.').map_or((ty, None), |(ty, table)| (ty, Some(table)));
    let (n, bits) = ty.strip_prefix('v')?.split_once('i')?;
    let table = table.map(str::parse).transpose().ok()?;
    Some(Declared { symbol, function, lanes: Lanes { n: n.parse().ok()?, bits: bits.parse().ok()? }, table })
}

#[cfg(test)]
mod tests {
    use crate::llvm::Output;
    use crate::llvm::testing::{X86, compiled, x86_assembly};

    /// The instructions of a function that calls a move, for a processor.
    fn code(target: &str, cpu: &str, function: &str, ty: &str, second: &str) -> String {
        let lanes = format!("<{}>", ty.replace('v', "").replace('i', " x i"));
        let text = format!(
            "define {lanes} @f({lanes} %x, {second} %y) {{
               %r = call {lanes} @nyala.lanes.{function}.{ty}({lanes} %x, {second} %y)
               ret {lanes} %r
             }}
             declare {lanes} @nyala.lanes.{function}.{ty}({lanes}, {second})\n"
        );
        let text: String = text.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        compiled(&text, target, cpu, Output::Assembly)
    }

    #[test]
    fn lanes_move_by_one_instruction_of_avx512() {
        let cases = [
            ("permute", "v16i32", "<16 x i32>", "vperm"),
            ("permute", "v32i32", "<32 x i32>", "vpermi2"),
            ("compress", "v16i32", "<16 x i1>", "vpcompressd"),
            ("compress", "v8i64", "<8 x i1>", "vpcompressq"),
            ("expand", "v16i32", "<16 x i1>", "vpexpandd"),
            ("compress", "v64i8", "<64 x i1>", "vpcompressb"),
            ("permute", "v64i8", "<64 x i32>", "vpermb"),
        ];
        for (function, ty, second, wanted) in cases {
            let code = code(X86, "znver4", function, ty, second);
            assert!(code.contains(wanted), "{function} {ty}: {code}");
            assert!(code.lines().count() < 60, "{function} {ty}: {code}");
        }
    }

    #[test]
    fn lanes_move_by_table_shuffles_of_avx2_and_neon() {
        let cases = [
            ("permute", "v8i32", "<8 x i32>", X86, "x86-64-v3", "vperm"),
            ("permute", "v4i64", "<4 x i32>", X86, "x86-64-v3", "vperm"),
            ("permute", "v16i8", "<16 x i32>", X86, "x86-64-v3", "vpshufb"),
            ("compress", "v8i32", "<8 x i1>", X86, "x86-64-v3", "vperm"),
            ("permute", "v4i32", "<4 x i32>", "aarch64-unknown-linux-gnu", "generic", "tbl"),
        ];
        for (function, ty, second, target, cpu, wanted) in cases {
            let code = code(target, cpu, function, ty, second);
            assert!(code.contains(wanted), "{function} {ty}: {code}");
        }
    }

    /// The instructions of a function that looks bytes or words up in a table, for a processor.
    fn look_up(cpu: &str, ty: &str, table: u32) -> String {
        let (n, elem) = ty.trim_start_matches('v').split_once('i').expect("it is a type of vectors");
        let (lanes, name) = (format!("<{n} x i{elem}>"), format!("nyala.lanes.look_up.{ty}.{table}"));
        let text = format!(
            "define {lanes} @f(ptr %t, <{n} x i8> %x) {{\n\
               %i = zext <{n} x i8> %x to <{n} x i32>\n\
               %r = call {lanes} @{name}(ptr %t, <{n} x i32> %i, <{n} x i1> splat (i1 true))\n\
               ret {lanes} %r\n\
             }}\n\
             declare {lanes} @{name}(ptr, <{n} x i32>, <{n} x i1>)\n"
        );
        x86_assembly(&text, cpu)
    }

    #[test]
    fn tables_in_some_registers_are_permuted() {
        for (cpu, ty, table, wanted) in [
            ("znver4", "v64i8", 256, "vperm"),
            ("znver4", "v64i8", 16, "vperm"),
            ("znver4", "v64i8", 576, "vperm"),
            ("znver4", "v32i16", 256, "vperm"),
            ("znver4", "v16i32", 64, "vperm"),
            ("x86-64-v3", "v32i8", 256, "vpshufb"),
            ("x86-64-v3", "v8i32", 16, "vperm"),
        ] {
            let code = look_up(cpu, ty, table);
            assert!(code.contains(wanted), "{cpu} {ty} {table}: {code}");
            assert!(!code.contains("gather") && !code.contains("pinsr"), "{cpu} {ty} {table}: {code}");
        }
    }

    #[test]
    fn elements_of_large_tables_are_gathered() {
        assert!(look_up("icelake-server", "v16i32", 4096).contains("vpgatherdd"));
        assert!(look_up("x86-64", "v16i8", 256).contains("mov"));
    }

    #[test]
    fn machines_without_such_instructions_move_lanes_one_by_one() {
        for function in ["permute", "compress", "expand"] {
            let second = if function == "permute" { "<8 x i32>" } else { "<8 x i1>" };
            let code = code(X86, "x86-64", function, "v8i32", second);
            assert!(!code.contains("nyala.lanes"), "{code}");
        }
    }
}
