//! The definitions of moves between lanes, as LLVM assembly, register by register.
//!
//! A vector is divided into registers of the machine. A permutation takes for each register of the result one
//! instruction for each register, or pair of registers, that values come from, and selects by the upper bits of the
//! indices. Vectors that are compressed register by register are joined in memory, two registers of AVX2 by a
//! rotation.

use std::fmt::Write as _;

use super::lane_moves::Instructions;

/// A vector of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lanes {
    pub(super) n: u32,
    pub(super) bits: u32,
}

impl Lanes {
    fn ty(self) -> String {
        format!("<{} x i{}>", self.n, self.bits)
    }

    fn suffix(self) -> String {
        format!("v{}i{}", self.n, self.bits)
    }

    fn mask(self) -> String {
        format!("<{} x i1>", self.n)
    }

    fn size(self) -> u32 {
        self.n * self.bits
    }
}

/// A function of the machine that permutes one register.
struct Permutation {
    /// The lanes of a register.
    lanes: Lanes,
    name: &'static str,
    /// The function for two registers, if there is one: the operands are the first, the indices, and the second.
    pair: Option<&'static str>,
}

/// Indices of elements, as a vector.
#[derive(Clone)]
struct Order {
    value: String,
    lanes: Lanes,
}

/// The most registers that the table of a lookup is loaded into.
const MAX_TABLE: u32 = 16;

/// Orders that move the set lanes of a mask of 8 lanes to the front, one byte for each lane.
const FRONTS: &str = "nyala.fronts";

/// Writes definitions.
pub(super) struct Writer {
    instructions: Instructions,
    text: String,
    /// The functions of LLVM that are called, each with its declaration.
    declared: Vec<(String, String)>,
    n_values: usize,
    needs_fronts: bool,
}

impl Writer {
    pub(super) fn new(instructions: Instructions) -> Writer {
        Writer { instructions, text: String::new(), declared: vec![], n_values: 0, needs_fronts: false }
    }

    /// Defines the move `function`.
    pub(super) fn define(&mut self, symbol: &str, function: &str, lanes: Lanes) {
        let ty = lanes.ty();
        let second = match function {
            "permute" => format!("<{} x i32>", lanes.n),
            _ => lanes.mask(),
        };
        let head = format!("define internal {ty} @{symbol}({ty} %v, {second} %s) alwaysinline nounwind {{");
        writeln!(self.text, "{head}").expect("strings take all text");
        let result = match function {
            "permute" => self.permute(lanes, "%v", "%s"),
            "compress" => self.compress(lanes, "%v", "%s"),
            _ => self.expand(lanes, "%v", "%s"),
        };
        writeln!(self.text, "  ret {ty} {result}\n}}").expect("strings take all text");
    }

    /// Defines a lookup of `lanes` in a table of `n` elements. The table is only read if a lane is active.
    pub(super) fn define_look_up(&mut self, symbol: &str, lanes: Lanes, n: u32) {
        let (ty, table, mask) = (lanes.ty(), Lanes { n, ..lanes }, lanes.mask());
        let (order, align) = (format!("<{} x i32>", lanes.n), lanes.bits / 8);
        let params = format!("ptr %v, {order} %s, {mask} %m");
        let head = format!("define internal {ty} @{symbol}({params}) alwaysinline nounwind {{");
        writeln!(self.text, "{head}\nentry:").expect("strings take all text");
        let permutation = self.permutation(lanes.bits);
        let fits = |by: &Permutation| n.div_ceil(by.lanes.n) <= MAX_TABLE;
        let result = match permutation.filter(fits) {
            Some(permutation) => {
                let name = format!("llvm.vector.reduce.or.v{}i1", lanes.n);
                let any = self.call(&name, "i1", &[(&mask, "%m")]);
                let branch = format!("  br i1 {any}, label %some, label %done\nsome:");
                writeln!(self.text, "{branch}").expect("strings take all text");
                let all = self.value(&format!("load {}, ptr %v, align {align}", table.ty()));
                let found = self.permute_registers(&permutation, table, &all, lanes.n, "%s");
                writeln!(self.text, "  br label %done\ndone:").expect("strings take all text");
                self.value(&format!("phi {ty} [ poison, %entry ], [ {found}, %some ]"))
            }
            None => {
                let ptrs = format!("<{} x ptr>", lanes.n);
                let at = self.value(&format!("getelementptr i{}, ptr %v, {order} %s", lanes.bits));
                let name = format!("llvm.masked.gather.{}.v{}p0", lanes.suffix(), lanes.n);
                let align = align.to_string();
                self.call(&name, &ty, &[(&ptrs, &at), ("i32", &align), (&mask, "%m"), (&ty, "poison")])
            }
        };
        writeln!(self.text, "  ret {ty} {result}\n}}").expect("strings take all text");
    }

    /// The definitions, with the constant that they need, and declarations that `program` does not have.
    pub(super) fn finish(self, program: &str) -> String {
        let mut text = self.text;
        for (name, declaration) in &self.declared {
            if !program.contains(&format!("@{name}(")) {
                text += declaration;
            }
        }
        if self.needs_fronts {
            let front = |mask: u64| {
                let kept = (0..8).filter(|&lane| mask >> lane & 1 == 1);
                kept.enumerate().fold(0, |order: u64, (at, lane)| order | lane << (8 * at))
            };
            let orders: Vec<String> = (0..256).map(|mask| format!("i64 {}", front(mask))).collect();
            let orders = orders.join(", ");
            text += &format!("@{FRONTS} = private unnamed_addr constant [256 x i64] [{orders}]\n");
        }
        text
    }

    /// Writes an instruction with a result.
    fn value(&mut self, instruction: &str) -> String {
        let name = format!("%t{}", self.n_values);
        self.n_values += 1;
        writeln!(self.text, "  {name} = {instruction}").expect("strings take all text");
        name
    }

    /// Calls a function of LLVM that is declared once.
    fn call(&mut self, name: &str, result: &str, args: &[(&str, &str)]) -> String {
        let tys: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
        if !self.declared.iter().any(|(known, _)| known == name) {
            let declaration = format!("declare {result} @{name}({})\n", tys.join(", "));
            self.declared.push((name.to_owned(), declaration));
        }
        let args: Vec<String> = args.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
        self.value(&format!("call {result} @{name}({})", args.join(", ")))
    }

    /// `n` lanes of a vector from `first` on; those behind its end are undefined.
    fn slice(&mut self, lanes: Lanes, value: &str, first: u32, n: u32) -> String {
        if first == 0 && n == lanes.n {
            return value.to_owned();
        }
        let order = (first..first + n).map(|lane| (lane < lanes.n).then_some(lane));
        self.shuffle(lanes, value, order)
    }

    /// A shuffle by known lanes.
    fn shuffle(&mut self, lanes: Lanes, value: &str, order: impl Iterator<Item = Option<u32>>) -> String {
        let order: Vec<String> =
            order.map(|lane| lane.map_or("i32 poison".into(), |lane| format!("i32 {lane}"))).collect();
        let (ty, n) = (lanes.ty(), order.len());
        let order = order.join(", ");
        self.value(&format!("shufflevector {ty} {value}, {ty} poison, <{n} x i32> <{order}>"))
    }

    /// One vector of several with the same lanes, cut to `n` lanes.
    fn concat(&mut self, lanes: Lanes, parts: &[String], n: u32) -> String {
        let mut parts = parts.to_vec();
        let mut width = lanes.n;
        while parts.len() > 1 {
            let ty = Lanes { n: width, ..lanes }.ty();
            if parts.len() % 2 == 1 {
                parts.push("poison".into());
            }
            let order: Vec<String> = (0..2 * width).map(|lane| format!("i32 {lane}")).collect();
            let order = format!("<{} x i32> <{}>", 2 * width, order.join(", "));
            parts = parts
                .chunks(2)
                .map(|pair| self.value(&format!("shufflevector {ty} {}, {ty} {}, {order}", pair[0], pair[1])))
                .collect();
            width *= 2;
        }
        self.slice(Lanes { n: width, ..lanes }, &parts[0], 0, n)
    }

    /// Converts lanes to another size.
    fn resize(&mut self, lanes: Lanes, value: &str, bits: u32) -> String {
        let (from, to) = (lanes.ty(), Lanes { bits, ..lanes }.ty());
        match bits.cmp(&lanes.bits) {
            std::cmp::Ordering::Equal => value.to_owned(),
            std::cmp::Ordering::Less => self.value(&format!("trunc {from} {value} to {to}")),
            std::cmp::Ordering::Greater => self.value(&format!("zext {from} {value} to {to}")),
        }
    }

    // ---- Permutations -------------------------------------------------------------------------

    /// Each lane of `value` as `order`, a vector of `i32`, says.
    fn permute(&mut self, lanes: Lanes, value: &str, order: &str) -> String {
        if let Some(permutation) = self.permutation(lanes.bits) {
            return self.permute_registers(&permutation, lanes, value, lanes.n, order);
        }
        let can_halve = self.instructions.avx2 || self.instructions.neon;
        if can_halve && lanes.bits > 8 {
            return self.permute_halves(lanes, value, order);
        }
        match self.instructions.neon && lanes.n.next_multiple_of(16) <= 64 {
            true => self.permute_bytes(lanes, value, order),
            false => self.permute_each(lanes, value, order),
        }
    }

    /// The instruction that permutes lanes of this size.
    fn permutation(&self, bits: u32) -> Option<Permutation> {
        let have = self.instructions;
        let (register, name, pair) = match bits {
            32 if have.avx512 => {
                (512, "llvm.x86.avx512.permvar.si.512", Some("llvm.x86.avx512.vpermi2var.d.512"))
            }
            64 if have.avx512 => {
                (512, "llvm.x86.avx512.permvar.di.512", Some("llvm.x86.avx512.vpermi2var.q.512"))
            }
            16 if have.avx512_words => {
                (512, "llvm.x86.avx512.permvar.hi.512", Some("llvm.x86.avx512.vpermi2var.hi.512"))
            }
            8 if have.avx512_bytes => {
                (512, "llvm.x86.avx512.permvar.qi.512", Some("llvm.x86.avx512.vpermi2var.qi.512"))
            }
            32 if have.avx2 => (256, "llvm.x86.avx2.permd", None),
            8 if have.avx2 => (128, "llvm.x86.ssse3.pshuf.b.128", None),
            _ => return None,
        };
        Some(Permutation { lanes: Lanes { n: register / bits, bits }, name, pair })
    }

    /// `n` lanes of the vector `value`, as `order` says.
    fn permute_registers(
        &mut self,
        permutation: &Permutation,
        lanes: Lanes,
        value: &str,
        n: u32,
        order: &str,
    ) -> String {
        let register = permutation.lanes;
        let parts = |writer: &mut Writer, lanes: Lanes, value: &str| -> Vec<String> {
            let firsts = (0..lanes.n).step_by(register.n as usize);
            firsts.map(|first| writer.slice(lanes, value, first, register.n)).collect()
        };
        let sources = parts(self, lanes, value);
        let orders = |writer: &mut Writer, bits: u32| -> Vec<Order> {
            let order = writer.resize(Lanes { n, bits: 32 }, order, bits);
            let values = parts(writer, Lanes { n, bits }, &order);
            values.into_iter().map(|value| Order { value, lanes: Lanes { bits, ..register } }).collect()
        };
        let within = orders(self, register.bits);
        // Bytes cannot number more than 256 elements, so wider indices select between registers.
        let among = match lanes.bits == 8 && lanes.n > 256 {
            true => orders(self, 16),
            false => within.clone(),
        };
        let results: Vec<String> = within
            .iter()
            .zip(&among)
            .map(|(within, among)| self.permuted(permutation, &sources, &within.value, among))
            .collect();
        self.concat(register, &results, n)
    }

    /// One register, from all of `sources`: elements are permuted by `order`, whose bits the instruction needs, and
    /// registers are selected by `among`.
    fn permuted(
        &mut self,
        permutation: &Permutation,
        sources: &[String],
        order: &str,
        among: &Order,
    ) -> String {
        let register = permutation.lanes;
        let ty = register.ty();
        let (mut width, mut candidates) = (register.n, vec![]);
        match permutation.pair {
            Some(pair) if sources.len() > 1 => {
                width *= 2;
                for sources in sources.chunks(2) {
                    let second = sources.get(1).map_or("poison", String::as_str);
                    candidates.push(self.call(pair, &ty, &[(&ty, &sources[0]), (&ty, order), (&ty, second)]));
                }
            }
            _ => {
                // A byte shuffle gives 0 for indices with the highest bit.
                let limit = register.n - 1;
                let own = match register.bits == 8 && permutation.pair.is_none() {
                    true => self.value(&format!("and {ty} {order}, splat (i8 {limit})")),
                    false => order.to_owned(),
                };
                for source in sources {
                    candidates.push(self.call(permutation.name, &ty, &[(&ty, source), (&ty, &own)]));
                }
            }
        }
        // Each bit of the index selects between neighbours.
        while candidates.len() > 1 {
            let (index, bits) = (among.lanes.ty(), among.lanes.bits);
            let bit = self.value(&format!("and {index} {}, splat (i{bits} {width})", among.value));
            let is_upper = self.value(&format!("icmp ne {index} {bit}, zeroinitializer"));
            let mask = register.mask();
            let select = |writer: &mut Writer, pair: &[String]| match pair {
                [low, high] => writer.value(&format!("select {mask} {is_upper}, {ty} {high}, {ty} {low}")),
                _ => pair[0].clone(),
            };
            candidates = candidates.chunks(2).map(|pair| select(self, pair)).collect();
            width *= 2;
        }
        candidates.swap_remove(0)
    }

    /// A permutation of the halves of each lane.
    fn permute_halves(&mut self, lanes: Lanes, value: &str, order: &str) -> String {
        let halves = Lanes { n: 2 * lanes.n, bits: lanes.bits / 2 };
        let ty = format!("<{} x i32>", halves.n);
        let twice =
            self.shuffle(Lanes { bits: 32, ..lanes }, order, (0..halves.n).map(|lane| Some(lane / 2)));
        let doubled = self.value(&format!("add {ty} {twice}, {twice}"));
        let steps: Vec<String> = (0..halves.n).map(|lane| format!("i32 {}", lane % 2)).collect();
        let order = self.value(&format!("add {ty} {doubled}, <{}>", steps.join(", ")));
        let value = self.value(&format!("bitcast {} {value} to {}", lanes.ty(), halves.ty()));
        let moved = self.permute(halves, &value, &order);
        self.value(&format!("bitcast {} {moved} to {}", halves.ty(), lanes.ty()))
    }

    /// A table shuffle of NEON: a table has up to four registers.
    fn permute_bytes(&mut self, lanes: Lanes, value: &str, order: &str) -> String {
        let register = Lanes { n: 16, bits: 8 };
        let (ty, n_registers) = (register.ty(), lanes.n.div_ceil(16));
        let order = self.resize(Lanes { bits: 32, ..lanes }, order, 8);
        let table: Vec<String> = (0..n_registers).map(|at| self.slice(lanes, value, 16 * at, 16)).collect();
        let name = format!("llvm.aarch64.neon.tbl{n_registers}.v16i8");
        let mut results = vec![];
        for at in 0..n_registers {
            let order = self.slice(lanes, &order, 16 * at, 16);
            let args: Vec<(&str, &str)> =
                table.iter().chain([&order]).map(|value| (ty.as_str(), value.as_str())).collect();
            results.push(self.call(&name, &ty, &args));
        }
        self.concat(register, &results, lanes.n)
    }

    /// One lane after the other.
    fn permute_each(&mut self, lanes: Lanes, value: &str, order: &str) -> String {
        let (ty, elem) = (lanes.ty(), format!("i{}", lanes.bits));
        let mut all = "poison".to_owned();
        for at in 0..lanes.n {
            let from = self.value(&format!("extractelement <{} x i32> {order}, i32 {at}", lanes.n));
            let lane = self.value(&format!("extractelement {ty} {value}, i32 {from}"));
            all = self.value(&format!("insertelement {ty} {all}, {elem} {lane}, i32 {at}"));
        }
        all
    }

    // ---- Compression --------------------------------------------------------------------------

    /// The lanes of `value` that are set in `mask`, in front; the other lanes keep their value.
    fn compress(&mut self, lanes: Lanes, value: &str, mask: &str) -> String {
        let have = self.instructions;
        let is_narrow = lanes.bits < 32;
        if is_narrow && (have.avx512 || have.avx2) && !(have.avx512_packs_bytes) {
            let wide = Lanes { bits: 32, ..lanes };
            let value = self.resize(lanes, value, 32);
            let moved = self.compress(wide, &value, mask);
            return self.resize(wide, &moved, lanes.bits);
        }
        let register = match have {
            Instructions { avx512: true, .. } => 512,
            Instructions { avx2: true, .. } => 256,
            _ => 128,
        };
        if have.avx2 && !have.avx512 && lanes.size() == 512 {
            return self.compress_pair(lanes, value, mask);
        }
        match lanes.size() <= register {
            true => self.compress_register(lanes, value, mask),
            false => self.compress_parts(register / lanes.bits, lanes, value, mask),
        }
    }

    fn compress_register(&mut self, lanes: Lanes, value: &str, mask: &str) -> String {
        let have = self.instructions;
        if have.avx2 && !have.avx512 {
            return self.compress_by_table(lanes, value, mask);
        }
        // LLVM has instructions for whole registers.
        let least = (128 / lanes.bits).max(lanes.n.next_power_of_two());
        let whole = Lanes { n: least, ..lanes };
        let (ty, mask_ty) = (whole.ty(), whole.mask());
        let padded = self.slice(lanes, value, 0, whole.n);
        let mask = self.padded_mask(lanes, mask, whole.n);
        // LLVM 22 takes a constant mask of the general function for one without set lanes. That of the machine is
        // not folded.
        let moved = if have.avx512 {
            let name = format!("llvm.x86.avx512.mask.compress.{}", whole.suffix());
            self.call(&name, &ty, &[(&ty, &padded), (&ty, &padded), (&mask_ty, &mask)])
        } else {
            let name = format!("llvm.experimental.vector.compress.{}", whole.suffix());
            self.call(&name, &ty, &[(&ty, &padded), (&mask_ty, &mask), (&ty, &padded)])
        };
        self.slice(whole, &moved, 0, lanes.n)
    }

    /// A mask with further lanes that are not set.
    fn padded_mask(&mut self, lanes: Lanes, mask: &str, n: u32) -> String {
        if n == lanes.n {
            return mask.to_owned();
        }
        let order: Vec<String> = (0..n).map(|lane| format!("i32 {}", lane.min(lanes.n))).collect();
        let ty = lanes.mask();
        let order = order.join(", ");
        self.value(&format!("shufflevector {ty} {mask}, {ty} zeroinitializer, <{n} x i32> <{order}>"))
    }

    /// By a table of orders for each mask of 8 lanes of 32 bits. Lanes of 64 bits are pairs.
    fn compress_by_table(&mut self, lanes: Lanes, value: &str, mask: &str) -> String {
        if lanes.bits == 64 {
            let halves = Lanes { n: 2 * lanes.n, bits: 32 };
            let value = self.value(&format!("bitcast {} {value} to {}", lanes.ty(), halves.ty()));
            let bits = Lanes { bits: 1, ..lanes };
            let mask = self.shuffle(bits, mask, (0..halves.n).map(|lane| Some(lane / 2)));
            let moved = self.compress_by_table(halves, &value, &mask);
            return self.value(&format!("bitcast {} {moved} to {}", halves.ty(), lanes.ty()));
        }
        let whole = Lanes { n: 8, bits: 32 };
        let padded = self.slice(lanes, value, 0, 8);
        let mask = self.padded_mask(lanes, mask, 8);
        let (moved, count) = self.front_by_table(&padded, &mask);
        let moved = self.front_of(whole, &moved, &padded, &count);
        self.slice(whole, &moved, 0, lanes.n)
    }

    /// 8 lanes of 32 bits with those that are set in front, and how many these are. The lanes behind them have any
    /// value.
    fn front_by_table(&mut self, value: &str, mask: &str) -> (String, String) {
        self.needs_fronts = true;
        let bits = self.value(&format!("bitcast <8 x i1> {mask} to i8"));
        let bits = self.value(&format!("zext i8 {bits} to i64"));
        let at = self.value(&format!("getelementptr i64, ptr @{FRONTS}, i64 {bits}"));
        let order = self.value(&format!("load <8 x i8>, ptr {at}, align 8"));
        let order = self.value(&format!("zext <8 x i8> {order} to <8 x i32>"));
        let moved = self.permute(Lanes { n: 8, bits: 32 }, value, &order);
        (moved, self.call("llvm.ctpop.i64", "i64", &[("i64", &bits)]))
    }

    /// Two registers of 256 bits. The lanes of the second one rotate behind those of the first. In memory, loads
    /// would wait for two stores that overlap.
    fn compress_pair(&mut self, lanes: Lanes, value: &str, mask: &str) -> String {
        if lanes.bits == 64 {
            let halves = Lanes { n: 2 * lanes.n, bits: 32 };
            let value = self.value(&format!("bitcast {} {value} to {}", lanes.ty(), halves.ty()));
            let bits = Lanes { bits: 1, ..lanes };
            let mask = self.shuffle(bits, mask, (0..halves.n).map(|lane| Some(lane / 2)));
            let moved = self.compress_pair(halves, &value, &mask);
            return self.value(&format!("bitcast {} {moved} to {}", halves.ty(), lanes.ty()));
        }
        let half = Lanes { n: 8, bits: 32 };
        let [(low, n_low), (high, n_high)] = [0, 8].map(|first| {
            let own = self.slice(lanes, value, first, 8);
            let kept = self.slice(Lanes { bits: 1, ..lanes }, mask, first, 8);
            self.front_by_table(&own, &kept)
        });
        let count = self.value(&format!("trunc i64 {n_low} to i32"));
        let first = self.value(&format!("insertelement <8 x i32> poison, i32 {count}, i32 0"));
        let counts = self
            .value(&format!("shufflevector <8 x i32> {first}, <8 x i32> poison, <8 x i32> zeroinitializer"));
        let numbers: Vec<String> = (0..8).map(|lane| format!("i32 {lane}")).collect();
        let order = self.value(&format!("sub <8 x i32> <{}>, {counts}", numbers.join(", ")));
        let order = self.value(&format!("and <8 x i32> {order}, <{}>", ["i32 7"; 8].join(", ")));
        let rotated = self.permute(half, &high, &order);
        let low = self.front_of(half, &low, &rotated, &n_low);
        let order: Vec<String> = (0..16).map(|lane| format!("i32 {lane}")).collect();
        let front = self.value(&format!(
            "shufflevector <8 x i32> {low}, <8 x i32> {rotated}, <16 x i32> <{}>",
            order.join(", ")
        ));
        let end = self.value(&format!("add i64 {n_low}, {n_high}"));
        self.front_of(lanes, &front, value, &end)
    }

    /// The first `count` lanes of one vector, and the others of another one.
    fn front_of(&mut self, lanes: Lanes, front: &str, others: &str, count: &str) -> String {
        let n = lanes.n;
        let count = self.value(&format!("trunc i64 {count} to i32"));
        let first = self.value(&format!("insertelement <{n} x i32> poison, i32 {count}, i32 0"));
        let counts = self.value(&format!(
            "shufflevector <{n} x i32> {first}, <{n} x i32> poison, <{n} x i32> zeroinitializer"
        ));
        let numbers: Vec<String> = (0..n).map(|lane| format!("i32 {lane}")).collect();
        let is_front = self.value(&format!("icmp ult <{n} x i32> <{}>, {counts}", numbers.join(", ")));
        let ty = lanes.ty();
        self.value(&format!("select <{n} x i1> {is_front}, {ty} {front}, {ty} {others}"))
    }

    /// Compresses registers, and stores them one behind the other.
    fn compress_parts(&mut self, size: u32, lanes: Lanes, value: &str, mask: &str) -> String {
        let (elem, bytes, ty) = (format!("i{}", lanes.bits), lanes.bits / 8, lanes.ty());
        let place = self.value(&format!("alloca [{} x {elem}], align 64", lanes.n + size));
        let mut end = "0".to_owned();
        for first in (0..lanes.n).step_by(size as usize) {
            let part = Lanes { n: size.min(lanes.n - first), ..lanes };
            let lanes_of_part = self.slice(lanes, value, first, part.n);
            let kept = self.slice(Lanes { bits: 1, ..lanes }, mask, first, part.n);
            let front = self.compress_register(part, &lanes_of_part, &kept);
            let at = self.value(&format!("getelementptr {elem}, ptr {place}, i64 {end}"));
            writeln!(self.text, "  store {} {front}, ptr {at}, align {bytes}", part.ty())
                .expect("strings take all text");
            let n = part.n;
            let mut bits = self.value(&format!("bitcast <{n} x i1> {kept} to i{n}"));
            if n < 64 {
                bits = self.value(&format!("zext i{n} {bits} to i64"));
            }
            let count = self.call("llvm.ctpop.i64", "i64", &[("i64", &bits)]);
            end = self.value(&format!("add i64 {end}, {count}"));
        }
        let front = self.value(&format!("load {ty}, ptr {place}, align 64"));
        self.front_of(lanes, &front, value, &end)
    }

    // ---- Expansion ----------------------------------------------------------------------------

    /// The first lanes of `value` where `mask` is set; the other lanes keep their value.
    fn expand(&mut self, lanes: Lanes, value: &str, mask: &str) -> String {
        let have = self.instructions;
        let has_lanes = if lanes.bits < 32 { have.avx512_packs_bytes } else { have.avx512 };
        if has_lanes && lanes.size() <= 512 {
            let whole = Lanes { n: 512 / lanes.bits, ..lanes };
            let (ty, mask_ty) = (whole.ty(), whole.mask());
            let padded = self.slice(lanes, value, 0, whole.n);
            let mask = self.padded_mask(lanes, mask, whole.n);
            let name = format!("llvm.x86.avx512.mask.expand.{}", whole.suffix());
            let moved = self.call(&name, &ty, &[(&ty, &padded), (&ty, &padded), (&mask_ty, &mask)]);
            return self.slice(whole, &moved, 0, lanes.n);
        }
        // The lane that a set lane takes is the number of set lanes before it.
        let numbers = Lanes { bits: 32, ..lanes };
        let (ty, own) =
            (numbers.ty(), self.value(&format!("zext {} {mask} to {}", lanes.mask(), numbers.ty())));
        let mut sums = own.clone();
        let mut distance = 1;
        while distance < lanes.n {
            let order: Vec<String> = (0..lanes.n)
                .map(|lane| format!("i32 {}", lane.checked_sub(distance).unwrap_or(lanes.n)))
                .collect();
            let order = order.join(", ");
            let moved = self.value(&format!(
                "shufflevector {ty} {sums}, {ty} zeroinitializer, <{} x i32> <{order}>",
                lanes.n
            ));
            sums = self.value(&format!("add {ty} {sums}, {moved}"));
            distance *= 2;
        }
        let order = self.value(&format!("sub {ty} {sums}, {own}"));
        let moved = self.permute(lanes, value, &order);
        let ty = lanes.ty();
        self.value(&format!("select {} {mask}, {ty} {moved}, {ty} {value}", lanes.mask()))
    }
}
