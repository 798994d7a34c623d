//! `assert`, `assert_equal` and `assert_near`: checks that the program makes itself, with their place and values.
//!
//! A call becomes a branch in place. Where the check fails, the program ends in a call of the runtime, with the
//! place of the assertion, a template for the message (see `nyala_message`) and the values for it. So the message
//! needs no code but that call, and an assertion that holds costs a comparison.

use nyala_ir::{ArithFlags, ArithOp, CmpOp, Def, Linkage, Prim, Ty, TyKind};
use nyala_message::escaped;
use nyala_sema::tree::{self, Abi, Call, ExprKind, Function};
use nyala_sema::types as sema;
use nyala_span::{Name, Span};

use crate::errors::LowerError;
use crate::frame::Frame;
use crate::lowerer::Lowerer;

/// An intrinsic that checks something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Assertion {
    /// A condition holds.
    Holds,
    /// Two values are equal in all parts.
    Equal,
    /// Two values differ by at most a tolerance, in each part.
    Near,
}

/// The function of the runtime that ends the program.
const FAILED: &str = "nyala_assertion_failed";

/// So many parts of an array are shown.
const MAX_SHOWN_ELEMENTS: u64 = 16;

/// So many parts of a value are shown.
pub(crate) const MAX_SHOWN_PARTS: usize = 64;

/// The source of an assertion is part of its message up to so many bytes.
const MAX_SOURCE: usize = 80;

/// A message under construction.
#[derive(Default)]
pub(crate) struct Message {
    pub(crate) template: String,
    /// The values of the placeholders, as 64 bits each.
    pub(crate) values: Vec<Def>,
}

impl Assertion {
    fn from_name(name: &str) -> Option<Assertion> {
        match name {
            "assert" => Some(Assertion::Holds),
            "assert_equal" => Some(Assertion::Equal),
            "assert_near" => Some(Assertion::Near),
            _ => None,
        }
    }

    /// The types that it accepts, as people write them.
    pub(crate) fn shapes(self) -> &'static [&'static str] {
        match self {
            Assertion::Holds => &["assert(condition: bool) -> ()"],
            Assertion::Equal => &["assert_equal[T](left: T, right: T) -> ()"],
            Assertion::Near => &["assert_near[T, U](left: T, right: T, tolerance: U) -> ()"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Assertion::Holds => "assert",
            Assertion::Equal => "assert_equal",
            Assertion::Near => "assert_near",
        }
    }
}

impl<'p> Lowerer<'p> {
    /// The assertion that a function is, if it is declared as one.
    pub(crate) fn assertion_of(&self, function: &Function) -> Option<Assertion> {
        let tree::Linkage::Import { abi: Abi::Intrinsic, symbol } = function.linkage else { return None };
        Assertion::from_name(symbol.as_str())
    }

    /// The assertion that `call` is, if it is one in place.
    pub(crate) fn direct_assertion(&self, call: &Call) -> Option<Assertion> {
        let ExprKind::Fn(id, _) = &call.callee.kind else { return None };
        let function = &self.program.fns[*id];
        let is_direct =
            !call.is_jump && call.args.len() == function.params.len() && !self.frame.expands_calls;
        self.assertion_of(function).filter(|&assertion| is_direct && self.fits_assertion(function, assertion))
    }

    /// An assertion as a function value, whose instance is the frame's for now. Its place is that of the declaration.
    pub(crate) fn assertion_function(&mut self, function: &'p Function, assertion: Assertion) -> Def {
        let cont = self.function_cont(function.name, &function.params, function.ret);
        let params = self.world.cont(cont).params.clone();
        let [_, args @ .., ret] = &params[..] else { unreachable!("assertions return") };
        let frame = Frame::new(&self.world, self.frame.instance, cont);
        let outer = std::mem::replace(&mut self.frame, frame);
        self.assert_that(assertion, args);
        self.jump(*ret, &[]);
        self.frame = outer;
        self.specialize_always(cont);
        self.world.cont_def(cont)
    }

    /// Whether an assertion has the type that it is declared with.
    pub(crate) fn fits_assertion(&self, function: &Function, assertion: Assertion) -> bool {
        let params: Vec<sema::Ty> = function.params.iter().map(|param| param.ty).collect();
        let params_fit = match (assertion, &params[..]) {
            (Assertion::Holds, [cond]) => *cond == self.types.bool(),
            (Assertion::Equal, [left, right]) | (Assertion::Near, [left, right, _]) => left == right,
            _ => false,
        };
        params_fit && matches!(self.types.kind(function.ret), sema::TyKind::Tuple(parts) if parts.is_empty())
    }

    /// Goes on in a new block if the assertion holds; ends the program if not.
    pub(crate) fn assert_that(&mut self, assertion: Assertion, args: &[Def]) {
        let span = self.world.span;
        let cond = match assertion {
            Assertion::Holds => args[0],
            Assertion::Equal => self.are_equal(args[0], args[1]),
            Assertion::Near => self.are_near(args[0], args[1], args[2]),
        };
        let (holds, fails) = (self.new_block("assert_holds", &[]), self.new_block("assert_fails", &[]));
        let (holds_def, fails_def) = (self.world.cont_def(holds), self.world.cont_def(fails));
        self.world.set_branch(self.frame.block, self.frame.mem, cond, holds_def, fails_def);
        self.enter(fails);
        let message = self.message(assertion, span, args);
        self.end_program(span, message);
        // It never gets here. But SIMD code is made from bodies in which all paths reach the end.
        self.jump(holds_def, &[]);
        self.enter(holds);
    }

    // ---- Conditions ---------------------------------------------------------------------

    fn are_equal(&mut self, left: Def, right: Def) -> Def {
        let ty = self.world.ty(left);
        match self.world.types.kind(ty) {
            TyKind::Tuple(_) | TyKind::Struct(_) | TyKind::Array { .. } | TyKind::Enum(_) => {
                let (left, right) = (self.slot(ty, Some(left)), self.slot(ty, Some(right)));
                let comparer = self.comparer_of(self.world.ty(left));
                let bool = self.world.types.bool();
                let result = self.new_block("compared", &[bool]);
                let result_def = self.world.cont_def(result);
                self.jump(comparer, &[left, right, result_def]);
                self.enter(result);
                self.world.param(result, 1)
            }
            _ => self.scalars_equal(left, right),
        }
    }

    /// Whether all parts are numbers that differ by at most `tolerance`. Equal ones do, infinities too.
    fn are_near(&mut self, left: Def, right: Def, tolerance: Def) -> Def {
        let mut pairs = vec![];
        let is_number = self.number_parts(left, right, &mut pairs);
        let f64 = self.world.types.prim(Prim::F64);
        let tolerance_prim = self.world.types.as_prim(self.world.ty(tolerance));
        if !is_number || tolerance_prim.is_none_or(|prim| prim == Prim::Bool) {
            let [left, tolerance] =
                [left, tolerance].map(|def| self.world.types.display(self.world.ty(def)).to_string());
            let reason =
                format!("`{left}` is not made of numbers, or the tolerance `{tolerance}` is no number");
            self.errors.push(LowerError::OperandTypes {
                name: Assertion::Near.name(),
                at: self.world.span,
                reason,
            });
            return self.world.lit_bool(true);
        }
        // In `f64`, so that neither side nor the tolerance is rounded.
        let tolerance = self.world.cast(f64, tolerance);
        let mut all = self.world.lit_bool(true);
        for (left, right) in pairs {
            let [left, right] = [left, right].map(|part| self.world.cast(f64, part));
            let near = self.is_near(left, right, tolerance);
            all = self.world.arith(ArithOp::And, ArithFlags::STRICT, all, near);
        }
        all
    }

    /// `left == right || left - right <= tolerance && right - left <= tolerance`
    fn is_near(&mut self, left: Def, right: Def, tolerance: Def) -> Def {
        let equal = self.world.cmp(CmpOp::Eq, left, right);
        let [above, below] = [(left, right), (right, left)].map(|(a, b)| {
            let difference = self.world.arith(ArithOp::Sub, ArithFlags::STRICT, a, b);
            self.world.cmp(CmpOp::Le, difference, tolerance)
        });
        let within = self.world.arith(ArithOp::And, ArithFlags::STRICT, above, below);
        self.world.arith(ArithOp::Or, ArithFlags::STRICT, equal, within)
    }

    /// The numbers that two values of one type consist of, side by side; `false` if there are other parts, or too many.
    fn number_parts(&mut self, left: Def, right: Def, pairs: &mut Vec<(Def, Def)>) -> bool {
        let ty = self.world.ty(left);
        let n_parts = match self.world.types.kind(ty) {
            TyKind::Prim(prim) => {
                pairs.push((left, right));
                return *prim != Prim::Bool && pairs.len() <= MAX_NEAR_PARTS;
            }
            TyKind::Tuple(parts) => parts.len() as u64,
            TyKind::Struct(id) => self.world.types.structs[*id].fields.len() as u64,
            TyKind::Array { len, .. } => *len,
            TyKind::Simd { lanes, .. } => u64::from(*lanes),
            _ => return false,
        };
        (0..n_parts).all(|part| {
            let [left, right] = [left, right].map(|whole| self.world.extract_at(whole, part as u32));
            self.number_parts(left, right, pairs)
        })
    }

    // ---- Messages -----------------------------------------------------------------------

    /// The first line says what failed, and the others show the values.
    fn message(&mut self, assertion: Assertion, span: Span, args: &[Def]) -> Message {
        let source = self.sources.text(span);
        let shown = match source.len() <= MAX_SOURCE && !source.is_empty() && !source.contains('\n') {
            true => source,
            false => assertion.name(),
        };
        let template = format!("assertion failed: `{}`", escaped(shown));
        let mut message = Message { template, values: vec![] };
        let labels: &[&str] = match assertion {
            Assertion::Holds => &[],
            Assertion::Equal => &["left", "right"],
            Assertion::Near => &["left", "right", "tolerance"],
        };
        let width = labels.iter().map(|label| label.len()).max().unwrap_or(0);
        for (label, &arg) in labels.iter().zip(args) {
            message.template += &format!("\n{label:>width$}: ");
            let most = message.values.len() + MAX_SHOWN_PARTS;
            self.show(arg, most, &mut message);
        }
        message
    }

    /// Appends a value: up to `most` values in all. Recurses on the nesting of types, which declarations bound.
    pub(crate) fn show(&mut self, value: Def, most: usize, message: &mut Message) {
        let ty = self.world.ty(value);
        if message.values.len() >= most {
            message.template += "..";
            return;
        }
        match self.world.types.kind(ty).clone() {
            TyKind::Prim(prim) => self.show_number(prim, value, message),
            TyKind::Ptr { .. } => {
                let u64 = self.world.types.prim(Prim::U64);
                message.template += "%ptr";
                message.values.push(self.world.bitcast(u64, value));
            }
            TyKind::Tuple(parts) => self.show_parts(value, ("(", ")"), parts.len() as u64, most, message),
            TyKind::Array { len, .. } => self.show_parts(value, ("[", "]"), len, most, message),
            TyKind::Simd { lanes, .. } => {
                self.show_parts(value, ("simd[", "]"), u64::from(lanes), most, message);
            }
            TyKind::Struct(id) => {
                let data = self.world.types.structs[id].clone();
                message.template += &format!("{} {{ ", escaped(data.name.as_str()));
                for (index, field) in data.fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    message.template += &format!("{comma}{}: ", field.name);
                    let part = self.world.extract_at(value, index as u32);
                    self.show(part, most, message);
                }
                message.template += " }";
            }
            TyKind::Enum(id) => {
                let data = self.world.types.enums[id].clone();
                let names: Vec<&str> = data.options.iter().map(|option| option.name.as_str()).collect();
                message.template += &format!("{}::%<{}>", escaped(data.name.as_str()), names.join("|"));
                let u64 = self.world.types.prim(Prim::U64);
                let tag = self.world.variant_tag(value);
                message.values.push(self.world.cast(u64, tag));
            }
            TyKind::Cn(_) | TyKind::Mem | TyKind::Slice(_) => message.template += "a function",
        }
    }

    fn show_parts(
        &mut self,
        value: Def,
        (open, close): (&str, &str),
        n_parts: u64,
        most: usize,
        message: &mut Message,
    ) {
        message.template += open;
        for index in 0..n_parts.min(MAX_SHOWN_ELEMENTS) {
            message.template += if index == 0 { "" } else { ", " };
            let part = self.world.extract_at(value, index as u32);
            self.show(part, most, message);
        }
        if n_parts > MAX_SHOWN_ELEMENTS {
            message.template += &format!(", and {} more", n_parts - MAX_SHOWN_ELEMENTS);
        }
        message.template += close;
    }

    fn show_number(&mut self, prim: Prim, value: Def, message: &mut Message) {
        let [i64, u64] = [Prim::I64, Prim::U64].map(|prim| self.world.types.prim(prim));
        let [f32, u32] = [Prim::F32, Prim::U32].map(|prim| self.world.types.prim(prim));
        let (name, bits) = match prim {
            Prim::F16 | Prim::F32 => {
                let single = self.world.cast(f32, value);
                let bits = self.world.bitcast(u32, single);
                ("f32", self.world.cast(u64, bits))
            }
            Prim::F64 => ("f64", self.world.bitcast(u64, value)),
            _ if prim.is_signed() => {
                let wide = self.world.cast(i64, value);
                (prim.name(), self.world.bitcast(u64, wide))
            }
            _ => (prim.name(), self.world.cast(u64, value)),
        };
        message.template += &format!("%{name}");
        message.values.push(bits);
    }

    /// A slot with the values of a message.
    pub(crate) fn values_slot(&mut self, message: &Message) -> Def {
        let u64 = self.world.types.prim(Prim::U64);
        let ty = self.world.types.array(u64, message.values.len() as u64);
        let all = self.world.aggregate(ty, &message.values);
        self.slot(ty, Some(all))
    }

    /// Ends the program with a message.
    fn end_program(&mut self, span: Span, message: Message) {
        let place = self.text(&self.sources.describe(span));
        let template = self.text(&message.template);
        let mem = self.world.types.mem();
        let slot = self.values_slot(&message);
        let [text, values, ret] =
            [self.pointer_to(Prim::U8), self.pointer_to(Prim::U64), self.world.types.cn(&[mem])];
        let failed = self.runtime_function(FAILED, &[mem, text, text, values, ret]);
        let values = self.world.bitcast(values, slot);
        let next = self.new_block("next", &[]);
        let next_def = self.world.cont_def(next);
        self.jump(failed, &[place, template, values, next_def]);
        self.enter(next);
    }

    /// The address of a constant text with a zero at its end.
    fn text(&mut self, text: &str) -> Def {
        let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).chain([0]).collect();
        let text = self.string(&bytes);
        let (constant, ty) = (self.world.constant(text), self.pointer_to(Prim::U8));
        self.world.bitcast(ty, constant)
    }

    /// The type of a pointer to any number of `prim`.
    pub(crate) fn pointer_to(&mut self, prim: Prim) -> Ty {
        let prim = self.world.types.prim(prim);
        let slice = self.world.types.slice(prim);
        self.world.types.ptr(slice, 0)
    }

    /// A function of the runtime.
    pub(crate) fn runtime_function(&mut self, name: &'static str, params: &[Ty]) -> Def {
        let world = &mut self.world;
        *self.helpers.runtime.entry(name).or_insert_with(|| {
            let cont = world.new_cont(name, params);
            world.set_linkage(cont, Linkage::Imported(Name::new(name)));
            world.cont_def(cont)
        })
    }
}

/// So many numbers are compared with a tolerance in one assertion: each is a comparison of its own in the code.
const MAX_NEAR_PARTS: usize = 1024;
