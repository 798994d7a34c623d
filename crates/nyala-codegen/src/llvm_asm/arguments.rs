//! How functions of the program hand arguments to each other.
//!
//! Mostly each argument is one LLVM value of its type, and the convention is `tailcc`. The exceptions are
//! arguments on the stack of x86-64: see Note [Vectors on the stack] and Note [Bytes on the stack].
//!
//! Note [Vectors on the stack]: on x86-64, caller and callee disagree about `tailcc` when a vector is passed on the
//! stack. The callee removes its arguments, as many bytes as they take. The caller believes that it removes a
//! multiple of the largest alignment among them: 40 bytes rather than 24 for a vector of 16 bytes and an integer
//! behind it. The stack pointer is wrong from then on. (`tests/llvm_faults/tailcc_stack_vector.ll` is a small
//! example.) So no vector of a `tailcc` function may reach the stack:
//!
//! * A function that takes no part in a tail call is `fastcc`. There the caller removes the arguments.
//! * Others take the vectors that registers may not hold as scalars of eight bytes, the size and
//!   alignment of everything else on the stack.
//!
//! Which registers a vector takes depends on the features of the processor. Here it takes as many as it does
//! without any. So a vector may be passed as scalars although registers would hold it; none
//! is passed as a vector that they do not hold.
//!
//! Note [Bytes on the stack]: LLVM crashes when it schedules a tail call that has the result of a comparison
//! among its arguments on the stack, if another argument is computed by a function of the C library, such as the
//! remainder of floats. (`tests/llvm_faults/tailcc_stack_byte.ll` is a small example.) The instruction that stores
//! the result as a byte reads the flags, and has to be between two instructions that change them. With 32 bits the
//! result is in a register first, for which LLVM finds a place. So functions in tail calls take bytes and `bool`s
//! that registers may not hold as integers of 32 bits. Others are `fastcc`: LLVM makes tail calls of more calls
//! than the program has, such as that before a jump to the only `return`, but not with `fastcc` and arguments on
//! the stack.

mod on_stack;

use nyala_ir::analysis::Functions;
use nyala_ir::{Cont, Def, Ty, TyKind, World};
use rustc_hash::FxHashSet;

use super::border::Code;
use super::function::FunctionWriter;
use super::types::bool_lanes;
use super::value::{Scalar, Type};
use super::{Abi, ModuleWriter, whole_param};
use on_stack::{OnStack, Storage, has_byte, has_vector, vector};

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
    form: Form,
}

/// How a part of a value is passed.
#[derive(Clone, Copy)]
enum Form {
    /// As it is.
    Whole,
    /// A vector, cut into scalars.
    Pieces(Vector),
    /// An integer, extended to [`WIDENED`].
    Widened,
}

/// What bytes are extended to.
const WIDENED: Scalar = Scalar::Int(32);

/// The type of a vector.
#[derive(Clone, Copy)]
struct Vector {
    lanes: u64,
    elem: Scalar,
}

impl ModuleWriter<'_> {
    /// How arguments of these types are passed to a function, or to any function that is a value.
    pub(crate) fn arguments(&mut self, callee: Option<Cont>, params: &[Ty]) -> Arguments {
        let whole = || OnStack { vectors: vec![false; params.len()], bytes: vec![false; params.len()] };
        let mut on_stack = whole();
        let mut convention = self.convention();
        if self.options.abi == Abi::SysV && self.options.gpu.is_none() {
            on_stack = OnStack::new(&self.world.types, params);
            if callee.is_some_and(|cont| !self.takes_part_in_tail_call(cont)) {
                if on_stack.is_any() {
                    convention = "fastcc ";
                }
                on_stack = whole();
            }
        }
        let OnStack { vectors, bytes } = on_stack;
        let params = params.iter().zip(vectors.into_iter().zip(bytes)).map(|(&ty, (vectors, bytes))| Param {
            ty: self.ty(ty),
            parts: (vectors || bytes).then(|| self.parts(ty, vectors)),
        });
        Arguments { convention, params: params.collect() }
    }

    fn takes_part_in_tail_call(&self, cont: Cont) -> bool {
        self.in_tail_calls.get_or_init(|| in_tail_calls(self.world, self.program.functions)).contains(&cont)
    }

    /// The bytes in a value, and what is between them. A vector is a part of its own only if it is cut: its
    /// pieces take more registers, which may not be left for arguments after it.
    fn parts(&mut self, ty: Ty, cuts_vectors: bool) -> Vec<Part> {
        let types = &self.world.types;
        if let Some(vector) = vector(types, ty) {
            return vec![Part { path: vec![], ty: self.types.ty(ty), form: Form::Pieces(vector) }];
        }
        let mut parts = vec![];
        let mut work: Vec<(Vec<u64>, Ty)> = vec![(vec![], ty)];
        while let Some((path, ty)) = work.pop() {
            let is_split = has_byte(types, ty) || cuts_vectors && has_vector(types, ty);
            if !is_split {
                parts.push(Part { path, ty: self.types.part(ty), form: Form::Whole });
                continue;
            }
            let at = |index: &[u64]| [&path, index].concat();
            match *types.kind(ty) {
                TyKind::Prim(_) => parts.push(Part { path, ty: self.types.part(ty), form: Form::Widened }),
                TyKind::Simd { .. } => {
                    // Lanes that are `bool` are bytes there.
                    let bytes = |lanes| Vector { lanes: u64::from(lanes), elem: Scalar::Int(8) };
                    let vector = bool_lanes(types, ty).map(bytes).or_else(|| vector(types, ty));
                    let form = vector.filter(|_| cuts_vectors).map_or(Form::Whole, Form::Pieces);
                    parts.push(Part { path, ty: self.types.part(ty), form });
                }
                TyKind::Enum(id) => {
                    let storage = Storage::new(types, id);
                    let tag = self.types.tag(id);
                    let form = if tag == Type::int(8) { Form::Widened } else { Form::Whole };
                    parts.push(Part { path: at(&[1]), ty: tag, form });
                    let words = (0..storage.words).rev().map(|index| Part {
                        path: at(&[0, index]),
                        ty: storage.word(),
                        form: storage.form(cuts_vectors),
                    });
                    parts.extend(words);
                }
                _ => {
                    let inner = (0..).map_while(|index| Some((index, types.part(ty, index)?)));
                    work.extend(inner.map(|(index, part)| (at(&[index]), part)));
                }
            }
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
                match part.form {
                    Form::Whole => typed.push(format!("{} {value}", part.ty)),
                    Form::Pieces(vector) => typed.extend(vector.cut(code, value)),
                    Form::Widened => {
                        let wide = code.compute("wide", format!("zext {} {value} to {WIDENED}", part.ty));
                        typed.push(format!("{WIDENED} {wide}"));
                    }
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
                let value = match part.form {
                    Form::Whole => {
                        typed.push(format!("{} {name}", part.ty));
                        name
                    }
                    Form::Pieces(vector) => vector.put_together(code, &name, &mut typed),
                    Form::Widened => {
                        typed.push(format!("{WIDENED} {name}"));
                        code.compute("narrow", format!("trunc nuw {WIDENED} {name} to {}", part.ty))
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
