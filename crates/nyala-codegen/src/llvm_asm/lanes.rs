//! Accesses to memory by lanes, and collective operations.
//!
//! A contiguous access whose mask is known to be true in all lanes is a plain load or store; others are LLVM's masked
//! loads, stores, gathers and scatters. Lanes that are `bool` are bytes in memory.
//!
//! A streaming store needs the alignment of a vector. Unless an address is known to have it (`alignment`), the
//! program tests it. The test is of the summands of the address that are not known to be aligned: they are
//! invariant in loops over rows of vectors, so LLVM moves the test out of such a loop.

use nyala_ir::analysis::Table;
use nyala_ir::{Def, LaneOp, Node, Prim, Ty};

use super::function::FunctionWriter;
use super::gathers::is_full;
use super::value::{Scalar, Type, Value, list};
use crate::llvm::lane_moves;

/// The smallest and the largest size in bytes of a streaming store. Larger vectors are stored in parts.
const MIN_STREAMED: u64 = 16;
const MAX_STREAMED: u64 = 64;

/// An access to memory by lanes.
struct Access {
    /// The lanes in memory.
    n_lanes: u32,
    elem: Scalar,
    /// Whether the lanes are `bool`, which are bytes in memory.
    are_bools: bool,
    align: u64,
    /// The address, or a vector of addresses.
    at: String,
    has_addresses: bool,
    mask: Def,
}

impl FunctionWriter<'_, '_> {
    /// Writes a load or gather.
    pub(crate) fn load_lanes(&mut self, def: Def, ptr: Def, mask: Def) -> Option<String> {
        if let Some(value) = self.accesses.gathers.read.remove(&def) {
            return Some(value);
        }
        if let Some(value) = self.load_spread(def) {
            return Some(value);
        }
        let ty = self.world.types.part(self.world.ty(def), 1)?;
        if let Some(value) = self.look_up(ty, ptr, mask) {
            return Some(value);
        }
        let access = self.access(ty, ptr, mask);
        if let Some(follower) = self.accesses.gathers.follower.remove(&def) {
            return Some(self.gather_pairs(access, follower));
        }
        let value = self.masked_load(&access);
        if !access.are_bools {
            return Some(value);
        }
        let bools = self.module.ty(ty);
        Some(self.compute("load", format!("trunc {} {value} to {bools}", access.ty())))
    }

    /// Writes a gather from a small array of known length. If a lane is active, all of the array may be read: see
    /// `llvm::lane_moves`.
    fn look_up(&mut self, ty: Ty, ptr: Def, mask: Def) -> Option<String> {
        let table = Table::of(self.world, ptr)?;
        let types = &self.world.types;
        let is_plain = types.is_simd(self.world.ty(table.index)) && types.elem(ty)? == types.prim(table.elem);
        let is_host = self.module.options.gpu.is_none() && !self.module.options.checked;
        if !(is_plain && is_host) {
            return None;
        }
        let of_index = types.lane_prim(self.world.ty(table.index))?;
        let (n, bits) = (types.lanes(ty)?, table.elem.bits());
        let (order, ints) = (Type::vector(n, Scalar::Int(32)), Type::vector(n, Scalar::Int(bits)));
        let mut at = self.typed(table.index);
        if of_index.bits() != 32 {
            let convert = match of_index {
                _ if of_index.bits() == 64 => "trunc",
                _ if of_index.is_signed() => "sext",
                _ => "zext",
            };
            at = Value::new(order.clone(), self.compute("index", format!("{convert} {at} to {order}")));
        }
        let args = [self.typed(table.array), at, self.typed(mask)];
        let name = format!("{}look_up.v{n}i{bits}.{}", lane_moves::PREFIX, table.len);
        let symbol = self.module.declare_for(&name, &ints, &args, self.flow.span());
        let found = self.compute("found", format!("call {ints} {symbol}({})", list(&args)));
        let to = self.module.ty(ty);
        Some(self.compute("found", format!("bitcast {ints} {found} to {to}")))
    }

    fn masked_load(&mut self, access: &Access) -> String {
        let (ty, at) = (access.ty(), access.address());
        if !access.has_addresses && self.is_full(access.mask) {
            return self.compute("load", format!("load {ty}, {at}, align {}", access.align));
        }
        let mask = self.typed(access.mask);
        self.load_masked("load", &access.masked("load", "gather"), &ty, &at, access.align, &mask)
    }

    /// Writes a gather of words together with that of the words behind them, and remembers the value of the latter.
    fn gather_pairs(&mut self, access: Access, follower: Def) -> String {
        let n_lanes = access.n_lanes;
        let words = Type::vector(2 * n_lanes, access.elem);
        let access = Access { elem: Scalar::Int(64), ..access };
        let both = Value::new(access.ty(), self.masked_load(&access));
        let words_of = self.compute("words", format!("bitcast {both} to {words}"));
        let [low, high] = [0, 1].map(|first| {
            let order: Vec<String> = (0..n_lanes).map(|lane| format!("i32 {}", 2 * lane + first)).collect();
            let order = format!("<{n_lanes} x i32> <{}>", order.join(", "));
            self.compute("word", format!("shufflevector {words} {words_of}, {words} poison, {order}"))
        });
        self.accesses.gathers.read.insert(follower, high);
        low
    }

    /// Writes a store or scatter.
    pub(crate) fn store_lanes(&mut self, ptr: Def, mask: Def, value: Def) {
        let access = self.access(self.world.ty(value), ptr, mask);
        let mut typed = self.typed(value);
        if access.are_bools {
            let bytes = self.compute("bytes", format!("zext {typed} to {}", access.ty()));
            typed = Value::new(access.ty(), bytes);
        }
        let (align, at) = (access.align, access.address());
        if !access.has_addresses && self.is_full(mask) {
            let bytes = self.world.layout(self.world.ty(value)).size;
            return match self.world.node(ptr) {
                Node::Streaming(_) if bytes >= MIN_STREAMED => {
                    self.streaming_store(&typed, ptr, &at, align, bytes)
                }
                _ => self.line(format!("store {typed}, {at}, align {align}")),
            };
        }
        let mask = self.typed(mask);
        self.store_masked(&access.masked("store", "scatter"), &typed, &at, align, &mask);
    }

    /// Calls an intrinsic for a masked load.
    pub(super) fn load_masked(
        &mut self,
        wanted: &str,
        name: &str,
        ty: &Type,
        at: &Value,
        align: u64,
        mask: &Value,
    ) -> String {
        let params = [&at.ty.to_string(), "i32 immarg", &mask.ty.to_string(), &ty.to_string()];
        let symbol = self.module.declare(name, ty, &params, self.flow.span());
        self.compute(wanted, format!("call {ty} {symbol}({at}, i32 {align}, {mask}, {ty} poison)"))
    }

    /// Calls an intrinsic for a masked store.
    pub(super) fn store_masked(&mut self, name: &str, value: &Value, at: &Value, align: u64, mask: &Value) {
        let params = [&value.ty.to_string(), &at.ty.to_string(), "i32 immarg", &mask.ty.to_string()];
        let symbol = self.module.declare(name, Type::Void, &params, self.flow.span());
        self.line(format!("call void {symbol}({value}, {at}, i32 {align}, {mask})"));
    }

    /// Writes a contiguous store: a streaming one if the address is aligned.
    fn streaming_store(&mut self, typed: &Value, ptr: Def, at: &Value, align: u64, bytes: u64) {
        let wanted = bytes.min(MAX_STREAMED);
        if align >= wanted {
            return self.line(format!("store {typed}, {at}, align {align}, !nontemporal !{{i32 1}}"));
        }
        let odd = self.odd_part(ptr, wanted);
        let rest = self.compute("rest", format!("and i64 {odd}, {}", wanted - 1));
        let is_aligned = self.compute("aligned", format!("icmp eq i64 {rest}, 0"));
        let [streamed, cached, stored] = ["streamed", "cached", "stored"].map(|label| self.new_label(label));
        self.line(format!("br i1 {is_aligned}, label %{streamed}, label %{cached}"));
        self.begin_part(&streamed);
        self.line(format!("store {typed}, {at}, align {wanted}, !nontemporal !{{i32 1}}"));
        self.line(format!("br label %{stored}"));
        self.begin_part(&cached);
        self.line(format!("store {typed}, {at}, align {align}"));
        self.line(format!("br label %{stored}"));
        self.begin_part(&stored);
    }

    /// An address without summands that are multiples of a power of two: its alignment to that power does not depend on
    /// them.
    fn odd_part(&mut self, ptr: Def, power: u64) -> String {
        let world = self.world;
        let ptr = if let Node::Streaming(plain) = world.node(ptr) { plain } else { ptr };
        let (start, summands, size) = match world.node(ptr) {
            Node::Lea { ptr: start, index } if let Some(size) = self.size_of_elements(start) => {
                (start, self.module.odd_summands(index, size, power), size)
            }
            _ => (ptr, vec![], 1),
        };
        let start = self.generic(start);
        let mut sum = self.compute("address", format!("ptrtoint ptr {start} to i64"));
        for summand in summands {
            let value = self.typed(summand);
            let wide = match value.ty {
                Type::I64 => value.text,
                _ => self.compute("wide", format!("zext {value} to i64")),
            };
            let bytes = self.compute("bytes", format!("mul i64 {wide}, {size}"));
            sum = self.compute("odd", format!("add i64 {sum}, {bytes}"));
        }
        sum
    }

    /// The size of the elements, if a pointer points to an array.
    fn size_of_elements(&self, ptr: Def) -> Option<u64> {
        let (array, _) = self.world.types.as_ptr(self.world.ty(ptr))?;
        self.world.types.elem(array).map(|elem| self.world.layout(elem).size)
    }

    fn access(&mut self, lanes: Ty, ptr: Def, mask: Def) -> Access {
        let world = self.world;
        let elem = world.types.elem(lanes).unwrap_or(lanes);
        let are_bools = elem == world.types.bool();
        let scalar = self.module.types.scalar(elem).unwrap_or(Scalar::PTR);
        let has_addresses = world.types.is_simd(world.ty(ptr));
        let of_lane = self.module.align_of(elem);
        Access {
            n_lanes: world.types.lanes(lanes).unwrap_or(1),
            elem: if are_bools { Scalar::Int(8) } else { scalar },
            are_bools,
            align: if has_addresses { of_lane } else { self.module.align_of_address(ptr).max(of_lane) },
            at: if has_addresses { self.value(ptr) } else { self.generic(ptr) },
            has_addresses,
            mask,
        }
    }

    /// Whether a mask is known to be true in all lanes.
    pub(super) fn is_full(&self, mask: Def) -> bool {
        is_full(self.world, mask)
    }

    /// Writes a collective operation.
    pub(crate) fn lane_op(&mut self, def: Def, op: LaneOp, args: &[Def]) -> String {
        let first = self.typed(args[0]);
        match op {
            LaneOp::Any => self.reduce("or", "or", first),
            LaneOp::All => self.reduce("and", "and", first),
            LaneOp::Ballot => {
                let n_lanes = self.world.types.lanes(self.world.ty(args[0])).unwrap_or(1);
                let bits = self.compute("bits", format!("bitcast {first} to i{n_lanes}"));
                match n_lanes {
                    64 => bits,
                    _ => self.compute("ballot", format!("zext i{n_lanes} {bits} to i64")),
                }
            }
            LaneOp::Permute => self.permute(def, args[0], args[1]),
            LaneOp::Compress | LaneOp::Expand => self.move_lanes(op.name(), args[0], args[1]),
        }
    }

    /// A move between lanes that is defined for the machine: see the module `llvm::lane_moves`. Floats, addresses
    /// and `bool` are moved as integers.
    fn move_lanes(&mut self, function: &str, lanes: Def, second: Def) -> String {
        let (value, ty) = (self.value(lanes), self.module.ty_of(lanes));
        let n = self.world.types.lanes(self.world.ty(lanes)).unwrap_or(1);
        let elem = self.world.types.elem(self.world.ty(lanes)).unwrap_or(self.world.ty(lanes));
        let (to, back, bits) = match self.world.types.as_prim(elem) {
            Some(Prim::Bool) => ("zext", "trunc", 8),
            Some(prim) => ("bitcast", "bitcast", prim.bits()),
            None => ("ptrtoint", "inttoptr", 64),
        };
        let ints = Type::vector(n, Scalar::Int(bits));
        let value = self.compute("ints", format!("{to} {ty} {value} to {ints}"));
        let args = [Value::new(ints.clone(), value), self.typed(second)];
        let name = format!("{}{function}.v{n}i{bits}", lane_moves::PREFIX);
        let symbol = self.module.declare_for(&name, &ints, &args, self.flow.span());
        let moved = self.compute(function, format!("call {ints} {symbol}({})", list(&args)));
        self.compute(function, format!("{back} {ints} {moved} to {ty}"))
    }

    /// A reduction of `bool` lanes with this operation; `wanted` is the name of the result.
    pub(super) fn reduce(&mut self, op: &str, wanted: &str, lanes: Value) -> String {
        let name = format!("llvm.vector.reduce.{op}.{}", lanes.ty.suffix());
        let args = [lanes];
        let symbol = self.module.declare_for(&name, &Type::BOOL, &args, self.flow.span());
        self.compute(wanted, format!("call i1 {symbol}({})", list(&args)))
    }

    fn permute(&mut self, def: Def, lanes: Def, order: Def) -> String {
        let (typed, ty) = (self.typed(lanes), self.module.ty_of(def));
        if self.module.constant(order).is_some() {
            let order = self.typed(order);
            return self.compute("permute", format!("shufflevector {typed}, {ty} poison, {order}"));
        }
        self.move_lanes("permute", lanes, order)
    }

    /// A broadcast of a value to all lanes.
    pub(crate) fn splat_of(&mut self, ty: Ty, lane: Def) -> String {
        let (text, lane) = (self.module.ty(ty), self.typed(lane));
        let n_lanes = self.world.types.lanes(ty).unwrap_or(1);
        let first = self.compute("first", format!("insertelement {text} poison, {lane}, i32 0"));
        let order = format!("<{n_lanes} x i32> zeroinitializer");
        self.compute("splat", format!("shufflevector {text} {first}, {text} poison, {order}"))
    }
}

impl Access {
    /// The type of the lanes in memory.
    fn ty(&self) -> Type {
        Type::vector(self.n_lanes, self.elem)
    }

    /// The address of the lanes, or their addresses.
    fn address(&self) -> Value {
        let ty = if self.has_addresses { Type::vector(self.n_lanes, Scalar::PTR) } else { Type::PTR };
        Value::new(ty, self.at.as_str())
    }

    /// The intrinsic for a masked access: a contiguous one, or one with an address for each lane.
    fn masked(&self, contiguous: &str, scattered: &str) -> String {
        let kind = if self.has_addresses { scattered } else { contiguous };
        format!("llvm.masked.{kind}.{}.{}", self.ty().suffix(), self.address().ty.suffix())
    }
}
