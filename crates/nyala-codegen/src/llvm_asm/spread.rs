//! Accesses to memory with a small stride, or at known distances, as one contiguous access and shuffles.
//!
//! `gathers` and `scatters` find accesses that are combined; here they are written. All elements from the first to
//! the last are accessed at once. If some lanes are inactive, or some elements in between must not be written, the
//! access is masked: each element has the mask of its lane. If a lane accesses all of its elements without a gap,
//! such as a pixel of four bytes, they are one integer, and the mask of the lanes is enough.

use nyala_ir::{Def, Ty};

use super::function::FunctionWriter;
use super::value::{Scalar, Type, Value};

/// Accesses with a small stride.
#[derive(Clone)]
pub(super) struct Spread {
    /// The address of the first lane of the first access.
    pub(super) at: Def,
    /// Uniform numbers to add to the address, each with the size of its elements in bytes.
    pub(super) shared: Vec<(Def, i64)>,
    /// In elements; 0 if the lanes have no stride.
    pub(super) stride: i64,
    /// The distance of each lane from the first in elements.
    pub(super) lanes: Vec<i64>,
    pub(super) mask: Def,
    /// The distances of the accesses from the first one in elements, each once.
    pub(super) offsets: Vec<i64>,
}

/// The elements of an access in the order of memory.
struct Elements {
    /// The distance of the first lane of the first access from the beginning.
    behind: i64,
    /// By element: the access and the lane that it belongs to.
    owners: Vec<Option<(usize, i64)>>,
}

impl Spread {
    fn elements(&self, n_lanes: i64) -> Elements {
        let least = self.offsets.iter().min().copied().unwrap_or(0);
        let most = self.offsets.iter().max().copied().unwrap_or(0);
        let (first, last) = (self.lanes.iter().min().copied(), self.lanes.iter().max().copied());
        let begin = least + first.unwrap_or(0);
        let mut owners = vec![None; (most + last.unwrap_or(0) - begin + 1) as usize];
        for (number, offset) in self.offsets.iter().enumerate() {
            for (lane, distance) in (0..n_lanes).zip(&self.lanes) {
                owners[(offset + distance - begin) as usize] = Some((number, lane));
            }
        }
        Elements { behind: -begin, owners }
    }

    /// Whether there are no gaps between the elements.
    fn is_whole(&self) -> bool {
        self.offsets.len() as i64 == self.stride.abs()
    }

    /// Whether a masked access is cheaper than one access for each element: processors without masked loads and stores
    /// take time for each element, whether it is masked out or not.
    pub(super) fn pays_masked(&self) -> bool {
        2 * self.offsets.len() as i64 >= self.stride.abs()
    }
}

/// Elements that were loaded, in one vector or two.
struct Loaded {
    /// The number of elements of each vector.
    n: i64,
    ty: Type,
    parts: [String; 2],
    /// The number of elements at the end of the first that the second begins with.
    overlap: i64,
}

impl Loaded {
    /// The index of an element in both vectors together.
    fn position(&self, element: i64) -> i64 {
        if element < self.n { element } else { element + self.overlap }
    }
}

/// The least size of vector registers in bytes.
const REGISTER_BYTES: i64 = 16;

/// All elements from the first to the last that is accessed.
struct Accessed {
    n_lanes: i64,
    /// The type of an element, also as LLVM has it.
    elem: Ty,
    scalar: Scalar,
    elements: Elements,
    /// The alignment of `start`.
    align: u64,
    /// Where it begins.
    start: Value,
}

impl FunctionWriter<'_, '_> {
    /// Loads lanes of type `ty`; gives the vector of each offset.
    pub(super) fn load_elements(&mut self, spread: &Spread, ty: Ty) -> Vec<String> {
        let Accessed { n_lanes, elem, scalar, mut elements, align, start } = self.accessed(spread, ty);
        let n = elements.owners.len() as i64;
        let loaded = match self.number_of_lane(spread, elem) {
            _ if self.is_full(spread.mask) => self.load_all(&start, n, (elem, scalar), align),
            Some(bits) => {
                let mask = self.typed(spread.mask);
                let (numbers, wide) = (vector(n_lanes, Scalar::Int(bits)), vector(n, scalar));
                let all = self.load_all_masked(&numbers, &start, align, &mask);
                let all = self.compute("all", format!("bitcast {numbers} {all} to {wide}"));
                Loaded { n, ty: wide, parts: [all, "poison".to_owned()], overlap: 0 }
            }
            None => {
                elements.pad();
                let n = elements.owners.len() as i64;
                let mask = self.element_mask(spread.mask, &elements, n_lanes);
                let wide = vector(n, scalar);
                let all = self.load_all_masked(&wide, &start, align, &mask);
                Loaded { n, ty: wide, parts: [all, "poison".to_owned()], overlap: 0 }
            }
        };
        let pick = |writer: &mut Self, offset: &i64| {
            let at = |lane: i64| loaded.position(offset + elements.behind + spread.lanes[lane as usize]);
            let order: Vec<String> = (0..n_lanes).map(|lane| format!("i32 {}", at(lane))).collect();
            let order = format!("<{n_lanes} x i32> <{}>", order.join(", "));
            let Loaded { ty, parts: [first, second], .. } = &loaded;
            writer.compute("own", format!("shufflevector {ty} {first}, {ty} {second}, {order}"))
        };
        spread.offsets.iter().map(|offset| pick(self, offset)).collect()
    }

    /// Loads `n` elements without a mask, in one load or two that overlap.
    fn load_all(&mut self, start: &Value, n: i64, (elem, scalar): (Ty, Scalar), align: u64) -> Loaded {
        let of_lane = self.module.align_of(elem);
        let is_whole = (n * self.world.layout(elem).size as i64) % REGISTER_BYTES == 0;
        if is_whole || n.unsigned_abs().is_power_of_two() {
            let ty = vector(n, scalar);
            let all = self.compute("all", format!("load {ty}, {start}, align {align}"));
            return Loaded { n, ty, parts: [all, "poison".to_owned()], overlap: 0 };
        }
        let half = (n.unsigned_abs().next_power_of_two() / 2) as i64;
        let ty = vector(half, scalar);
        let first = self.compute("first", format!("load {ty}, {start}, align {align}"));
        let behind = self.compute("start", format!("getelementptr {scalar}, {start}, i64 {}", n - half));
        let behind = Value::new(start.ty.clone(), behind);
        let second = self.compute("second", format!("load {ty}, {behind}, align {of_lane}"));
        Loaded { n: half, ty, parts: [first, second], overlap: 2 * half - n }
    }

    /// Stores a vector for each offset.
    pub(super) fn store_elements(&mut self, spread: &Spread, values: &[Def]) {
        let Some(&first) = values.first() else { return };
        let ty = self.world.ty(first);
        let Accessed { n_lanes, elem, scalar, mut elements, align, start } = self.accessed(spread, ty);
        let is_plain = spread.is_whole() && self.is_full(spread.mask);
        let number = self.number_of_lane(spread, elem);
        if !is_plain && number.is_none() {
            elements.pad();
        }
        let wide = vector(elements.owners.len() as i64, scalar);
        let all = self.concatenated(values, scalar, n_lanes);
        let place = |owner: &Option<(usize, i64)>| match owner {
            Some((value, lane)) => format!("i32 {}", *value as i64 * n_lanes + lane),
            None => "i32 poison".to_owned(),
        };
        let order: Vec<String> = elements.owners.iter().map(place).collect();
        let order = format!("<{} x i32> <{}>", order.len(), order.join(", "));
        let woven = self.compute("woven", format!("shufflevector {all}, {} poison, {order}", all.ty));
        let woven = Value::new(wide, woven);
        if is_plain {
            return self.line(format!("store {woven}, {start}, align {align}"));
        }
        match number {
            Some(bits) => {
                let mask = self.typed(spread.mask);
                let numbers = vector(n_lanes, Scalar::Int(bits));
                let value = self.compute("numbers", format!("bitcast {woven} to {numbers}"));
                self.store_all_masked(&Value::new(numbers, value), &start, align, &mask);
            }
            None => {
                let mask = self.element_mask(spread.mask, &elements, n_lanes);
                self.store_all_masked(&woven, &start, align, &mask);
            }
        }
    }

    /// The elements that lanes of type `ty` access.
    fn accessed(&mut self, spread: &Spread, ty: Ty) -> Accessed {
        let n_lanes = i64::from(self.world.types.lanes(ty).unwrap_or(1));
        let elem = self.world.types.elem(ty).unwrap_or(ty);
        let scalar = self.module.types.scalar(elem).unwrap_or(Scalar::PTR);
        let elements = spread.elements(n_lanes);
        let align = self.align_of_start(spread, &elements, elem);
        let start = self.start(spread, &elements, scalar);
        Accessed { n_lanes, elem, scalar, elements, align, start }
    }

    /// Where the elements begin.
    fn start(&mut self, spread: &Spread, elements: &Elements, elem: Scalar) -> Value {
        let mut at = self.typed(spread.at);
        for &(number, size) in &spread.shared {
            let value = self.typed(number);
            let wide = match value.ty {
                Type::I64 => value.text,
                _ => self.compute("wide", format!("sext {value} to i64")),
            };
            let bytes = self.compute("bytes", format!("mul i64 {wide}, {size}"));
            let next = self.compute("at", format!("getelementptr i8, {at}, i64 {bytes}"));
            at = Value::new(at.ty.clone(), next);
        }
        let start = self.compute("start", format!("getelementptr {elem}, {at}, i64 {}", -elements.behind));
        Value::new(at.ty, start)
    }

    /// The alignment of where the elements begin.
    fn align_of_start(&self, spread: &Spread, elements: &Elements, elem: Ty) -> u64 {
        let bytes = elements.behind * self.world.layout(elem).size as i64;
        let of_first = self.module.align_of_address(spread.at);
        let of_start = if bytes == 0 { of_first } else { of_first.min(1 << bytes.trailing_zeros()) };
        of_start.max(self.module.align_of(elem))
    }

    /// The width of the integer that all elements of a lane are, if there is one.
    fn number_of_lane(&self, spread: &Spread, elem: Ty) -> Option<u32> {
        let bits = spread.stride * 8 * self.world.layout(elem).size as i64;
        let is_number = self.world.types.as_prim(elem).is_some() && (bits == 32 || bits == 64);
        (is_number && spread.is_whole()).then_some(bits as u32)
    }

    /// The mask of the elements for a mask of lanes.
    fn element_mask(&mut self, mask: Def, elements: &Elements, n_lanes: i64) -> Value {
        let ty = vector(elements.owners.len() as i64, Scalar::Int(1));
        if self.is_full(mask) {
            let bits: Vec<String> =
                elements.owners.iter().map(|owner| format!("i1 {}", owner.is_some())).collect();
            return Value::new(ty, format!("<{}>", bits.join(", ")));
        }
        let lanes = self.typed(mask);
        let bit = |owner: &Option<(usize, i64)>| format!("i32 {}", owner.map_or(n_lanes, |(_, lane)| lane));
        let order: Vec<String> = elements.owners.iter().map(bit).collect();
        let order = format!("<{} x i32> <{}>", order.len(), order.join(", "));
        let none = "zeroinitializer";
        let value = self.compute("mask", format!("shufflevector {lanes}, {} {none}, {order}", lanes.ty));
        Value::new(ty, value)
    }

    fn load_all_masked(&mut self, ty: &Type, start: &Value, align: u64, mask: &Value) -> String {
        let name = format!("llvm.masked.load.{}.{}", ty.suffix(), start.ty.suffix());
        self.load_masked("all", &name, ty, start, align, mask)
    }

    fn store_all_masked(&mut self, value: &Value, start: &Value, align: u64, mask: &Value) {
        let name = format!("llvm.masked.store.{}.{}", value.ty.suffix(), start.ty.suffix());
        self.store_masked(&name, value, start, align, mask);
    }

    /// Vectors of the same type, concatenated.
    fn concatenated(&mut self, values: &[Def], elem: Scalar, n_lanes: i64) -> Value {
        let mut n = n_lanes;
        let mut ty = vector(n, elem);
        let mut parts: Vec<String> = values.iter().map(|&value| self.value(value)).collect();
        while parts.len() > 1 {
            let order: Vec<String> = (0..2 * n).map(|lane| format!("i32 {lane}")).collect();
            let order = format!("<{} x i32> <{}>", 2 * n, order.join(", "));
            parts = parts
                .chunks(2)
                .map(|pair| {
                    let second = pair.get(1).map_or("poison", String::as_str);
                    let both = format!("shufflevector {ty} {}, {ty} {second}, {order}", pair[0]);
                    self.compute("both", both)
                })
                .collect();
            n *= 2;
            ty = vector(n, elem);
        }
        let value = parts.pop().unwrap_or_else(|| "poison".to_owned());
        Value::new(ty, value)
    }
}

fn vector(lanes: i64, elem: Scalar) -> Type {
    Type::vector(lanes as u32, elem)
}

impl Elements {
    /// Adds elements without a lane up to a power of two, the size that masked instructions have.
    fn pad(&mut self) {
        self.owners.resize(self.owners.len().next_power_of_two(), None);
    }
}
