//! Atomic operations.
//!
//! OpenCL C has functions for integers of 32 bits, and in two extensions for those of 64. Floats are accessed by their
//! bits. Other operations are loops around a compare-and-exchange, in a helper function each.

use nyala_ir::functions::AtomicFn;
use nyala_ir::{Def, Intrinsic, Prim};

use super::expr::Expr;
use super::function::FunctionWriter;
use super::types::{prim_type, space_name, space_word};
use crate::skeleton::Printer as _;
use crate::skeleton::program::Call;

/// The extensions for atomic operations on 64 bits.
pub(super) const WIDE_EXTENSIONS: [&str; 2] = ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"];

/// A number in memory that is accessed atomically.
struct Place {
    /// Its address, as a pointer to an integer.
    address: String,
    prim: Prim,
    space: u32,
}

/// A helper function: an operation as a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Helper {
    op: &'static str,
    prim: Prim,
    space: u32,
}

impl Helper {
    fn name(self) -> String {
        let (Helper { op, space, .. }, prim) = (self, prim_type(self.prim));
        format!("atomic_{op}_{prim}_{}", space_word(space))
    }
}

impl FunctionWriter<'_, '_> {
    /// Writes an atomic operation; gives its results.
    pub(super) fn atomic(&mut self, intrinsic: Intrinsic, call: &Call) -> Vec<Expr> {
        let Some(expressions) = self.atomic_expressions(intrinsic, &call.args) else {
            self.reject(format!("this form of `{}` on OpenCL devices", intrinsic.name()));
            return FunctionWriter::no_results(&call.results);
        };
        let results = call.results.iter().zip(expressions);
        results.map(|(&ty, expression)| self.compute(ty, "result", expression)).collect()
    }

    fn atomic_expressions(&mut self, intrinsic: Intrinsic, args: &[Def]) -> Option<Vec<String>> {
        let values: Vec<Expr> = args.iter().map(|&arg| self.value(arg)).collect();
        match (intrinsic, args, &values[..]) {
            (Intrinsic::Atomic, &[op, addr, ..], [_, at, operand, ..]) => {
                let place = self.place(addr, at)?;
                let op = self.world.as_lit(op)?;
                Some(vec![self.read_modify_write(op, &place, operand)?])
            }
            (Intrinsic::AtomicLoad, &[addr, ..], [at, ..]) => {
                let place = self.place(addr, at)?;
                let (function, bits) = (function_name("or", place.prim), bits_type(place.prim));
                Some(vec![from_bits(place.prim, &format!("{function}({}, ({bits})0)", place.address))])
            }
            (Intrinsic::AtomicStore, &[addr, ..], [at, value, ..]) => {
                let place = self.place(addr, at)?;
                let function = function_name("xchg", place.prim);
                self.line(format!("{function}({}, {});", place.address, to_bits(place.prim, value)));
                Some(vec![])
            }
            (Intrinsic::CmpXchg | Intrinsic::CmpXchgWeak, &[addr, expected, ..], [at, old, new, ..]) => {
                let place = self.place(addr, at)?;
                let found =
                    self.compute(self.world.ty(expected), "found", compare_exchange(&place, old, new));
                let same = format!("{} == {}", to_bits(place.prim, &found), to_bits(place.prim, old));
                Some(vec![found.to_string(), same])
            }
            _ => None,
        }
    }

    /// Writes a call of an atomic function of OpenCL C; gives its result. Programs may declare it for floats and
    /// for 64 bits.
    pub(super) fn atomic_by_name(&mut self, function: AtomicFn, name: &str, call: &Call) -> Vec<Expr> {
        let Some(expression) = self.atomic_function(function, &call.args) else {
            self.reject(format!("this form of `{name}` on OpenCL devices"));
            return FunctionWriter::no_results(&call.results);
        };
        call.results.iter().map(|&ty| self.compute(ty, "result", expression.clone())).collect()
    }

    fn atomic_function(&mut self, function: AtomicFn, args: &[Def]) -> Option<String> {
        let values: Vec<Expr> = args.iter().map(|&arg| self.value(arg)).collect();
        let (&addr, [at, operands @ ..]) = (args.first()?, &values[..]) else { return None };
        let place = self.place(addr, at)?;
        let kind = (place.prim.is_float(), place.prim.is_signed());
        let op = match (function, kind) {
            (AtomicFn::Exchange, _) => 0,
            (AtomicFn::Add, _) => 1,
            (AtomicFn::Sub, _) => 2,
            (AtomicFn::And, _) => 3,
            (AtomicFn::Or, _) => 5,
            (AtomicFn::Xor, _) => 6,
            (AtomicFn::Max, (true, _)) => 13,
            (AtomicFn::Min, (true, _)) => 14,
            (AtomicFn::Max, (false, true)) => 7,
            (AtomicFn::Min, (false, true)) => 8,
            (AtomicFn::Max, (false, false)) => 9,
            (AtomicFn::Min, (false, false)) => 10,
            (AtomicFn::CompareExchange, _) => {
                let [old, new] = operands else { return None };
                return Some(compare_exchange(&place, old, new));
            }
            (AtomicFn::Increment | AtomicFn::Decrement, _) => return None,
        };
        let [operand] = operands else { return None };
        self.read_modify_write(op, &place, operand)
    }

    /// The number at an address, if it has 32 or 64 bits.
    fn place(&mut self, addr: Def, value: &Expr) -> Option<Place> {
        let (pointee, _) = self.world.types.as_ptr(self.world.ty(addr))?;
        let prim = self.world.types.as_prim(pointee).filter(|prim| matches!(prim.bits(), 32 | 64))?;
        self.module.has_wide_atomics |= prim.bits() == 64;
        let space = self.module.spaces.of(self.world, addr);
        let address = format!("(volatile {}{}*){value}", space_name(space), bits_type(prim));
        Some(Place { address, prim, space })
    }

    /// The call for an operation, by its number.
    fn read_modify_write(&mut self, op: u64, place: &Place, operand: &Expr) -> Option<String> {
        let prim = place.prim;
        let is_signed = prim.is_signed();
        let op = match (op, prim.is_float()) {
            (0, _) => "xchg",
            (1 | 11, true) | (1, false) => "add",
            (2 | 12, true) | (2, false) => "sub",
            (3, false) => "and",
            (4, false) => "nand",
            (5, false) => "or",
            (6, false) => "xor",
            (13, true) => "max",
            (14, true) => "min",
            (7, false) if is_signed => "max",
            (8, false) if is_signed => "min",
            (9, false) if !is_signed => "max",
            (10, false) if !is_signed => "min",
            _ => return None,
        };
        if op == "xchg" {
            let call = format!("{}({}, {})", function_name(op, prim), place.address, to_bits(prim, operand));
            return Some(from_bits(prim, &call));
        }
        if !prim.is_float() && op != "nand" {
            let operand = format!("({}){operand}", prim_type(prim));
            return Some(format!("{}({}, {operand})", function_name(op, prim), place.address));
        }
        let helper = Helper { op, prim, space: place.space };
        self.module.helpers.insert(helper);
        Some(format!("{}({}, {operand})", helper.name(), place.address))
    }
}

/// Writes `new` if the number at `place` is `old`; gives what was there.
fn compare_exchange(place: &Place, old: &Expr, new: &Expr) -> String {
    let [old, new] = [old, new].map(|value| to_bits(place.prim, value));
    let function = function_name("cmpxchg", place.prim);
    from_bits(place.prim, &format!("{function}({}, {old}, {new})", place.address))
}

/// The function for an operation on integers of the size of a number.
fn function_name(op: &str, prim: Prim) -> String {
    match prim.bits() {
        64 => format!("atom_{op}"),
        _ => format!("atomic_{op}"),
    }
}

/// The integer type of the bits of a number.
fn bits_type(prim: Prim) -> &'static str {
    match prim {
        Prim::F32 => "uint",
        Prim::F64 => "ulong",
        prim => prim_type(prim),
    }
}

fn to_bits(prim: Prim, value: &Expr) -> String {
    match prim.is_float() {
        true => format!("as_{}({value})", bits_type(prim)),
        false => value.to_string(),
    }
}

fn from_bits(prim: Prim, bits: &str) -> String {
    match prim.is_float() {
        true => format!("as_{}({bits})", prim_type(prim)),
        false => bits.to_owned(),
    }
}

/// The definition of a helper; it returns the old value.
pub(super) fn helper(helper: Helper) -> String {
    let Helper { op, prim, space } = helper;
    let (bits, exchange) = (bits_type(prim), function_name("cmpxchg", prim));
    let old = from_bits(prim, "old");
    let new = match op {
        "add" => format!("{old} + value"),
        "sub" => format!("{old} - value"),
        "min" => format!("fmin({old}, value)"),
        "max" => format!("fmax({old}, value)"),
        _ => format!("~({old} & value)"),
    };
    let new = if prim.is_float() { format!("as_{bits}({new})") } else { new };
    let (name, prim, space) = (helper.name(), prim_type(prim), space_name(space));
    format!(
        "static {prim} {name}(volatile {space}{bits}* at, {prim} value) {{\n    \
         {bits} old;\n    \
         {bits} now = *at;\n    \
         do {{\n        \
         old = now;\n        \
         now = {exchange}(at, old, {new});\n    \
         }} while (now != old);\n    \
         return {old};\n}}\n"
    )
}
