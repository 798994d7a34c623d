//! How functions of the program hand arguments to each other.
//!
//! Mostly each argument is one LLVM value of its type, and the convention is `tailcc`. Vectors are the
//! exception; see Note [Vectors on the stack].
//!
//! Note [Vectors on the stack]: on x86-64, caller and callee disagree about `tailcc` when a vector is passed on the
//! stack. The callee removes its arguments, as many bytes as they take. The caller believes that it removes a multiple of
//! the largest alignment among them: 40 bytes rather than 24 for a vector of 16 bytes and an integer behind it.
//! The stack pointer is wrong from then on. (`tests/llvm_faults/tailcc_stack_vector.ll` is a small example.)
//! So no vector of a `tailcc` function may reach the stack:
//!
//! * A function that takes no part in a tail call is `fastcc`. There the caller removes the arguments.
//! * Others take the vectors that registers may not hold as scalars of eight bytes, the size and
//!   alignment of everything else on the stack.
//!
//! Which registers a vector takes depends on the features of the processor. Here it takes as many as it does
//! without any. So a vector may be passed as scalars although registers would hold it; none
//! is passed as a vector that they do not hold.

use nyala_ir::analysis::Functions;
use nyala_ir::layout::layout;
use nyala_ir::{Cont, Def, Ty, TyKind, Types, World};
use rustc_hash::FxHashSet;

use super::border::Code;
use super::function::FunctionWriter;
use super::types::bool_lanes;
use super::value::{Scalar, Type};
use super::{Abi, ModuleWriter, whole_param};

/// Vector registers for arguments, on x86-64.
const REGISTERS: u64 = 8;

/// Bits of such a register that every processor has.
const REGISTER_BITS: u64 = 128;

/// Bits of a scalar that vectors are cut into.
const PIECE_BITS: u64 = 64;

/// How the arguments of a function are passed.
pub(crate) struct Arguments {
    /// The calling convention, with a space behind it.
    pub(crate) convention: &'static str,
    params: Vec<Param>,
}

struct Param {
    ty: Type,
    /// What is passed in place of the value, if it is not passed as it is.
    parts: Option<Vec<Part>>,
}

/// Some part of a value, up to all of it.
struct Part {
    /// Where it is in the aggregate.
    path: Vec<u64>,
    ty: Type,
    /// Cut into scalars.
    vector: Option<Vector>,
}

/// The type of a vector.
#[derive(Clone, Copy)]
struct Vector {
    lanes: u64,
    elem: Scalar,
}

impl ModuleWriter<'_> {
    /// How arguments of these types are passed to a function, or to any function that is a value.
    pub(crate) fn arguments(&mut self, callee: Option<Cont>, params: &[Ty]) -> Arguments {
        let mut in_parts = vec![false; params.len()];
        let mut convention = self.convention();
        if self.options.abi == Abi::SysV && self.options.gpu.is_none() {
            in_parts = may_be_on_stack(&self.world.types, params);
            if in_parts.contains(&true) && callee.is_some_and(|cont| !self.takes_part_in_tail_call(cont)) {
                in_parts.fill(false);
                convention = "fastcc ";
            }
        }
        let params = params
            .iter()
            .zip(in_parts)
            .map(|(&ty, in_parts)| Param { ty: self.ty(ty), parts: in_parts.then(|| self.parts(ty)) });
        Arguments { convention, params: params.collect() }
    }

    fn takes_part_in_tail_call(&self, cont: Cont) -> bool {
        self.in_tail_calls.get_or_init(|| in_tail_calls(self.world, self.program.functions)).contains(&cont)
    }

    /// The vectors in a value, and what is between them.
    fn parts(&mut self, ty: Ty) -> Vec<Part> {
        let types = &self.world.types;
        let whole = |ty: Type, vector| Part { path: vec![], ty, vector };
        if let TyKind::Simd { .. } = types.kind(ty) {
            return vec![whole(self.types.ty(ty), vector(types, ty))];
        }
        let mut parts = vec![];
        let mut work: Vec<(Vec<u64>, Ty)> = vec![(vec![], ty)];
        while let Some((path, ty)) = work.pop() {
            if !has_vector(types, ty) {
                parts.push(Part { path, ty: self.types.part(ty), vector: None });
                continue;
            }
            if let TyKind::Simd { .. } = types.kind(ty) {
                // Lanes that are `bool` are bytes there.
                let bytes = |lanes| Vector { lanes: u64::from(lanes), elem: Scalar::Int(8) };
                let vector = bool_lanes(types, ty).map(bytes).or_else(|| vector(types, ty));
                parts.push(Part { path, ty: self.types.part(ty), vector });
                continue;
            }
            if let TyKind::Enum(id) = *types.kind(ty) {
                let Storage { words, lanes } = storage(types, ty);
                let word = Vector { lanes, elem: Scalar::WORD };
                let at = |index: &[u64]| [&path, index].concat();
                parts.push(Part { path: at(&[1]), ty: self.types.tag(id), vector: None });
                let words = (0..words).rev().map(|index| Part {
                    path: at(&[0, index]),
                    ty: word.ty(),
                    vector: Some(word),
                });
                parts.extend(words);
                continue;
            }
            let inner = (0..).map_while(|index| Some((index, types.part(ty, index)?)));
            work.extend(inner.map(|(index, part)| ([&path[..], &[index]].concat(), part)));
        }
        // The last one was found first.
        parts.reverse();
        parts
    }
}

/// The parameters of a function of the program.
pub(super) struct Taken {
    pub(super) convention: &'static str,
    /// With types and attributes.
    pub(super) params: Vec<String>,
    pub(super) values: Vec<(Def, String)>,
}

impl FunctionWriter<'_, '_> {
    /// Takes the parameters of the function, before its first block.
    pub(super) fn take_params(&mut self, cont: Cont) -> Taken {
        let taken = self.module.program.value_params(cont);
        let types: Vec<Ty> = taken.iter().map(|&param| self.world.ty(param)).collect();
        let names: Vec<String> = taken.iter().map(|&param| self.fresh(param, "x")).collect();
        let attributes: Vec<String> =
            taken.iter().map(|&param| self.module.facts.attributes(param)).collect();
        let arguments = self.module.arguments(Some(cont), &types);
        let (params, values) = arguments.take(&mut Entry(self), &names, &attributes);
        let whole = |(ty, value): (Ty, String)| match self.module.is_stored_wrongly(ty) {
            true => {
                let ty = self.module.ty(ty);
                Entry(self).compute("whole", whole_param(&ty, &value))
            }
            false => value,
        };
        let values: Vec<String> = types.into_iter().zip(values).map(whole).collect();
        Taken { convention: arguments.convention, params, values: taken.into_iter().zip(values).collect() }
    }
}

/// The beginning of a function, where its local variables are.
struct Entry<'f, 'm, 'w>(&'f mut FunctionWriter<'m, 'w>);

impl Code for Entry<'_, '_, '_> {
    fn compute(&mut self, wanted: &str, instruction: String) -> String {
        let name = self.0.temporary(wanted);
        self.line(format!("{name} = {instruction}"));
        name
    }

    fn line(&mut self, instruction: String) {
        self.0.entry_line(&instruction);
    }

    fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String {
        self.0.local(wanted, ty, align)
    }
}

impl Arguments {
    /// The arguments of a call, with their types.
    pub(crate) fn give(&self, code: &mut impl Code, values: &[String]) -> Vec<String> {
        let mut typed = vec![];
        for (Param { ty, parts }, value) in self.params.iter().zip(values) {
            let Some(parts) = parts else {
                typed.push(format!("{ty} {value}"));
                continue;
            };
            for part in parts {
                let value = match &part.path[..] {
                    [] => value.clone(),
                    path => code.compute("part", format!("extractvalue {ty} {value}, {}", indices(path))),
                };
                match part.vector {
                    Some(vector) => typed.extend(vector.cut(code, value)),
                    None => typed.push(format!("{} {value}", part.ty)),
                }
            }
        }
        typed
    }

    /// The parameters of a definition, by name, each with its attributes; and their values.
    pub(crate) fn take(
        &self,
        code: &mut impl Code,
        names: &[String],
        attributes: &[String],
    ) -> (Vec<String>, Vec<String>) {
        let (mut typed, mut values) = (vec![], vec![]);
        for (index, (Param { ty, parts }, name)) in self.params.iter().zip(names).enumerate() {
            let Some(parts) = parts else {
                let attributes = attributes.get(index).map_or("", String::as_str);
                typed.push(format!("{ty}{attributes} {name}"));
                values.push(name.clone());
                continue;
            };
            let mut whole = "poison".to_owned();
            for (number, part) in parts.iter().enumerate() {
                let name = format!("{name}.part{number}");
                let value = match part.vector {
                    Some(vector) => vector.put_together(code, &name, &mut typed),
                    None => {
                        typed.push(format!("{} {name}", part.ty));
                        name
                    }
                };
                whole = match &part.path[..] {
                    [] => value,
                    path => {
                        let (part, path) = (&part.ty, indices(path));
                        code.compute("whole", format!("insertvalue {ty} {whole}, {part} {value}, {path}"))
                    }
                };
            }
            values.push(whole);
        }
        (typed, values)
    }
}

/// Names for the parameters of a function that has no others.
pub(crate) fn param_names(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("%arg{index}")).collect()
}

fn indices(path: &[u64]) -> String {
    path.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

impl Vector {
    fn ty(self) -> Type {
        Type::vector(self.lanes as u32, self.elem)
    }

    fn elem_bits(self) -> u64 {
        u64::from(self.elem.bits())
    }

    fn n_pieces(self) -> u64 {
        (self.lanes * self.elem_bits()).div_ceil(PIECE_BITS)
    }

    /// The type of the scalars. Masks leave their registers for integers anyway.
    fn piece(self) -> Scalar {
        if self.is_mask() { Scalar::WORD } else { Scalar::Double }
    }

    fn is_mask(self) -> bool {
        self.elem == Scalar::Int(1)
    }

    fn is_pointers(self) -> bool {
        matches!(self.elem, Scalar::Ptr(_))
    }

    /// As numbers; the same vector padded to whole pieces.
    fn padded(self) -> Vector {
        let elem = if self.is_pointers() { Scalar::WORD } else { self.elem };
        Vector { lanes: self.n_pieces() * PIECE_BITS / self.elem_bits(), elem }
    }

    /// The first of its lanes, and then as many as `to` has besides, of the vector after it.
    fn order(self, to: Vector) -> String {
        let lanes: Vec<String> = (0..to.lanes).map(|lane| format!("i32 {}", lane.min(self.lanes))).collect();
        format!("<{} x i32> <{}>", to.lanes, lanes.join(", "))
    }

    /// The scalars of a vector, with their types. One lane may be poison without the
    /// others; in a scalar it would be all of them.
    fn cut(self, code: &mut impl Code, value: String) -> Vec<String> {
        let (padded, piece) = (self.padded(), self.piece());
        let numbers = Vector { lanes: self.lanes, ..padded };
        let mut value = value;
        if self.is_pointers() {
            value = code.compute("numbers", format!("ptrtoint {} {value} to {}", self.ty(), numbers.ty()));
        }
        value = code.compute("frozen", format!("freeze {} {value}", numbers.ty()));
        if padded.lanes != self.lanes {
            let (ty, order) = (numbers.ty(), self.order(padded));
            let both = format!("shufflevector {ty} {value}, {ty} zeroinitializer, {order}");
            value = code.compute("padded", both);
        }
        if self.n_pieces() == 1 {
            let piece_of = format!("bitcast {} {value} to {piece}", padded.ty());
            return vec![format!("{piece} {}", code.compute("piece", piece_of))];
        }
        let pieces = Type::vector(self.n_pieces() as u32, piece);
        let all = code.compute("pieces", format!("bitcast {} {value} to {pieces}", padded.ty()));
        let get = |index| {
            let get = format!("extractelement {pieces} {all}, i64 {index}");
            format!("{piece} {}", code.compute("piece", get))
        };
        (0..self.n_pieces()).map(get).collect()
    }

    /// The vector of scalars that are parameters, which are added to `typed`.
    fn put_together(self, code: &mut impl Code, name: &str, typed: &mut Vec<String>) -> String {
        let (padded, piece) = (self.padded(), self.piece());
        let names: Vec<String> = (0..self.n_pieces()).map(|index| format!("{name}.piece{index}")).collect();
        typed.extend(names.iter().map(|name| format!("{piece} {name}")));
        let (all_ty, all) = match &names[..] {
            [one] => (Type::from(piece), one.clone()),
            several => {
                let ty = Type::vector(self.n_pieces() as u32, piece);
                let mut all = "poison".to_owned();
                for (index, name) in several.iter().enumerate() {
                    let insert = format!("insertelement {ty} {all}, {piece} {name}, i64 {index}");
                    all = code.compute("pieces", insert);
                }
                (ty, all)
            }
        };
        let mut value = code.compute("lanes", format!("bitcast {all_ty} {all} to {}", padded.ty()));
        let numbers = Vector { lanes: self.lanes, ..padded };
        if padded.lanes != self.lanes {
            let (ty, order) = (padded.ty(), padded.order(self));
            value = code.compute("lanes", format!("shufflevector {ty} {value}, {ty} poison, {order}"));
        }
        if self.is_pointers() {
            value = code.compute("lanes", format!("inttoptr {} {value} to {}", numbers.ty(), self.ty()));
        }
        value
    }
}

/// The type of a vector that is a value.
fn vector(types: &Types, ty: Ty) -> Option<Vector> {
    let TyKind::Simd { elem, lanes } = *types.kind(ty) else { return None };
    let elem = types.as_prim(elem).map_or(Scalar::PTR, Scalar::from);
    Some(Vector { lanes: u64::from(lanes), elem })
}

/// Room for the payload of an enum that has vectors; see `TypeWriter::storage`.
struct Storage {
    words: u64,
    lanes: u64,
}

fn storage(types: &Types, ty: Ty) -> Storage {
    let TyKind::Enum(id) = *types.kind(ty) else { return Storage { words: 0, lanes: 0 } };
    let payloads = types.enums[id].options.iter().map(|option| layout(types, option.payload));
    let (size, align) =
        payloads.fold((0, 1), |(size, align), one| (one.size.max(size), one.align.max(align)));
    Storage { words: size.div_ceil(align), lanes: align / 8 }
}

/// Whether LLVM finds a vector in values of a type.
fn has_vector(types: &Types, ty: Ty) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![ty];
    while let Some(ty) = work.pop() {
        if !seen.insert(ty) {
            continue;
        }
        match types.kind(ty) {
            TyKind::Simd { .. } => return true,
            TyKind::Enum(_) if storage(types, ty).lanes > 1 => return true,
            TyKind::Array { elem, .. } => work.push(*elem),
            TyKind::Tuple(_) | TyKind::Struct(_) => {
                work.extend((0..).map_while(|index| types.part(ty, index)));
            }
            _ => {}
        }
    }
    false
}

/// For each parameter, whether it has vectors that registers may not hold.
fn may_be_on_stack(types: &Types, params: &[Ty]) -> Vec<bool> {
    let mut left = REGISTERS;
    let mut is_outside = |&ty: &Ty| {
        let needed = registers(types, ty);
        let fits = needed <= left;
        // What does not fit takes what is left.
        left = left.saturating_sub(needed);
        !fits && has_vector(types, ty)
    };
    params.iter().map(&mut is_outside).collect()
}

/// How many vector registers a value takes at most.
fn registers(types: &Types, ty: Ty) -> u64 {
    let of_all = |parts: &mut dyn Iterator<Item = Ty>| {
        parts.fold(0u64, |sum, part| sum.saturating_add(registers(types, part)))
    };
    match types.kind(ty) {
        TyKind::Prim(prim) => u64::from(prim.is_float()),
        TyKind::Simd { .. } => vector(types, ty).map_or(0, registers_of_vector),
        TyKind::Array { elem, len } => registers(types, *elem).saturating_mul(*len),
        TyKind::Tuple(_) | TyKind::Struct(_) => of_all(&mut (0..).map_while(|index| types.part(ty, index))),
        TyKind::Enum(_) => {
            let Storage { words, lanes } = storage(types, ty);
            if lanes > 1 { words * (lanes * 64).div_ceil(REGISTER_BITS) } else { 0 }
        }
        _ => 0,
    }
}

fn registers_of_vector(vector: Vector) -> u64 {
    // A number of lanes that is no power of two may be taken apart, and so may what has no
    // instructions. A mask has at least a byte for each lane.
    if !vector.lanes.is_power_of_two() || vector.elem == Scalar::Half {
        return vector.lanes;
    }
    (vector.lanes * vector.elem_bits().max(8)).div_ceil(REGISTER_BITS).max(1)
}

/// The functions that a tail call leaves or enters, or may do so where they are values.
fn in_tail_calls(world: &World, program: &Functions) -> FxHashSet<Cont> {
    let mut found = FxHashSet::default();
    for function in program.all() {
        if function.is_value || function.is_re_entered || function.ret.is_none() {
            found.insert(function.entry);
        }
        for body in function.bodies(world) {
            let returns = body.args.last().copied() == function.ret || function.ret.is_none();
            let callee = world.as_cont(body.callee);
            let is_value = callee.is_none() && Some(body.callee) != function.ret;
            let called = callee.filter(|&cont| cont != function.entry && program.get(cont).is_some());
            if returns && (is_value || called.is_some()) {
                found.insert(function.entry);
                found.extend(called);
            }
        }
    }
    found
}
