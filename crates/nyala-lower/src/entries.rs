//! Functions that a tool calls: tests and benchmarks, each behind an exported function without parameters.
//!
//! The exported function makes the arguments: the number of lanes as a constant, the device by a call, and all
//! others part by part from numbers that the runtime gives, one call of `nyala_generate` for each. The tool knows how
//! many these are, and of which types, so it decides which values the test sees. The result of a benchmark goes to the
//! tool as a list of numbers, as many as a message shows.

use nyala_ir::{CmpOp, Def, Linkage, Mark, Prim, Ty, TyKind};
use nyala_sema::tree::FnId;
use nyala_span::{Name, Span};

use crate::assertions::{MAX_SHOWN_PARTS, Message};
use crate::errors::LowerError;
use crate::frame::Frame;
use crate::instance::InstanceId;
use crate::lowerer::Lowerer;

/// A function that a tool calls.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which.
    pub function: FnId,
    /// The symbol that it is exported under.
    pub symbol: Name,
    /// Its first argument, if it takes a number of lanes.
    pub lanes: Option<u32>,
    /// The function that makes its next argument from the number of the device, if it takes one.
    pub device: Option<FnId>,
}

/// A generated argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// The name of the parameter; empty if it has none.
    pub name: String,
    /// The types of its parts, in the order in which they are generated.
    pub parts: Vec<Prim>,
    /// How it is shown: a template of `nyala_message` with a value for each part.
    pub template: String,
}

/// What the tool knows about an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    /// The arguments that are generated.
    pub inputs: Vec<Input>,
    /// How the result is shown: a template of `nyala_message` for the values that the tool gets.
    pub result: String,
}

/// The function of the runtime that gives the next generated number.
const GENERATE: &str = "nyala_generate";

/// The function of the runtime that uses a value in a way that the optimizer does not see.
const BLACK_BOX: &str = "nyala_black_box";

/// The function of the runtime that passes the values of a result on to the tool.
const RESULT: &str = "nyala_result";

/// An argument has at most so many generated parts: each is a call of its own.
const MAX_PARTS: usize = 4096;

impl Lowerer<'_> {
    /// Makes the function that a tool calls.
    pub(crate) fn entry(&mut self, entry: &Entry) -> Interface {
        let function = &self.program.fns[entry.function];
        self.at(function.span);
        let mem = self.world.types.mem();
        let ret_ty = self.world.types.cn(&[mem]);
        let cont = self.world.new_cont(entry.symbol, &[mem, ret_ty]);
        self.world.set_linkage(cont, Linkage::Exported(entry.symbol));
        let ret = self.world.param(cont, 1);
        let callee = self.fn_value(entry.function, &[], function.span);
        self.frame = Frame::new(&self.world, InstanceId::NOWHERE, cont);

        let mut args: Vec<Def> = entry.lanes.iter().map(|&lanes| self.world.lit_i32(lanes as i32)).collect();
        args.extend(entry.device.map(|device| self.device(device)));
        let is_known = !args.is_empty();
        let mut inputs = vec![];
        for param in &function.params[args.len()..] {
            let mut input = Input { name: String::new(), parts: vec![], template: String::new() };
            if let nyala_sema::tree::PatKind::Bind(local, _) = param.pat.kind {
                input.name = self.program.locals[local].name.to_string();
            }
            self.at(param.span);
            let ty = self.ty(param.ty);
            args.push(self.generated(ty, &mut input));
            inputs.push(input);
        }

        self.at(Span::NONE);
        let takes = self.world.types.as_cn(self.world.ty(callee)).expect("what is called is a function");
        let after = *takes.last().expect("tests and benchmarks return");
        let next = self.world.new_cont_of("next", after);
        let next_def = self.world.cont_def(next);
        args.push(next_def);
        // Lanes and devices have to be known where they are used.
        let callee = if is_known { self.world.mark(Mark::Force, callee) } else { callee };
        self.jump(callee, &args);
        self.enter(next);
        let results = self.world.cont(next).params[1..].to_vec();
        results.iter().for_each(|&result| self.keep(result));
        let result = self.report(&results);
        self.jump(ret, &[]);
        Interface { inputs, result }
    }

    /// Passes the results on to the tool; returns the template that shows them.
    fn report(&mut self, results: &[Def]) -> String {
        let mut message = Message::default();
        for (index, &result) in results.iter().enumerate() {
            message.template += if index == 0 { "" } else { ", " };
            self.show(result, MAX_SHOWN_PARTS, &mut message);
        }
        if message.values.is_empty() {
            return message.template;
        }
        let slot = self.values_slot(&message);
        let (mem, values) = (self.world.types.mem(), self.pointer_to(Prim::U64));
        let [ret_ty, u64] = [self.world.types.cn(&[mem]), self.world.types.prim(Prim::U64)];
        let report = self.runtime_function(RESULT, &[mem, values, u64, ret_ty]);
        let (values, count) =
            (self.world.bitcast(values, slot), self.world.lit(Prim::U64, message.values.len() as u64));
        let next = self.new_block("reported", &[]);
        let next_def = self.world.cont_def(next);
        self.jump(report, &[values, count, next_def]);
        self.enter(next);
        message.template
    }

    /// The first device, as a function of the prelude makes it.
    fn device(&mut self, make: FnId) -> Def {
        let callee = self.fn_value(make, &[], self.world.span);
        let takes = self.world.types.as_cn(self.world.ty(callee)).expect("what is called is a function");
        let after = *takes.last().expect("it returns the device");
        let next = self.world.new_cont_of("next", after);
        let (number, next_def) = (self.world.lit_i32(0), self.world.cont_def(next));
        self.jump(callee, &[number, next_def]);
        self.enter(next);
        self.world.param(next, 1)
    }

    /// A value of this type from generated numbers. Recurses on the nesting of types, which declarations bound.
    fn generated(&mut self, ty: Ty, input: &mut Input) -> Def {
        let (open, close, n_parts) = match self.world.types.kind(ty).clone() {
            TyKind::Prim(prim) => return self.generated_number(prim, input),
            TyKind::Tuple(parts) => ("(".to_owned(), ")", parts.len() as u64),
            TyKind::Array { len, .. } => ("[".to_owned(), "]", len),
            TyKind::Simd { lanes, .. } => ("simd[".to_owned(), "]", u64::from(lanes)),
            TyKind::Struct(id) => {
                let data = &self.world.types.structs[id];
                let open = format!("{} {{ ", nyala_message::escaped(data.name.as_str()));
                (open, " }", data.fields.len() as u64)
            }
            _ => unreachable!("checking accepts tests that take data only"),
        };
        input.template += &open;
        let mut parts = vec![];
        for index in 0..n_parts {
            if input.parts.len() >= MAX_PARTS {
                let of = self.world.types.display(ty).to_string();
                let reason = format!("`{of}` has more than {MAX_PARTS} parts");
                let name = "generated arguments";
                self.errors.push(LowerError::OperandTypes { name, at: self.world.span, reason });
                return self.world.undef(ty);
            }
            input.template += if index == 0 { "" } else { ", " };
            if let TyKind::Struct(id) = *self.world.types.kind(ty) {
                input.template += &format!("{}: ", self.world.types.structs[id].fields[index as usize].name);
            }
            let part_ty = self.world.types.part(ty, index).expect("the part is there");
            parts.push(self.generated(part_ty, input));
        }
        input.template += close;
        self.world.aggregate(ty, &parts)
    }

    fn generated_number(&mut self, prim: Prim, input: &mut Input) -> Def {
        input.parts.push(prim);
        input.template += &format!("%{}", if prim == Prim::F16 { "f32" } else { prim.name() });
        let [mem, u64] = [self.world.types.mem(), self.world.types.prim(Prim::U64)];
        let ret_ty = self.world.types.cn(&[mem, u64]);
        let generate = self.runtime_function(GENERATE, &[mem, ret_ty]);
        let next = self.new_block("generated", &[u64]);
        let next_def = self.world.cont_def(next);
        self.jump(generate, &[next_def]);
        self.enter(next);
        let bits = self.world.param(next, 1);
        if prim == Prim::Bool {
            let zero = self.world.lit(Prim::U64, 0);
            return self.world.cmp(CmpOp::Ne, bits, zero);
        }
        let unsigned = match prim.bits() {
            8 => Prim::U8,
            16 => Prim::U16,
            32 => Prim::U32,
            _ => Prim::U64,
        };
        let [unsigned, ty] = [unsigned, prim].map(|prim| self.world.types.prim(prim));
        let bits = self.world.cast(unsigned, bits);
        self.world.bitcast(ty, bits)
    }

    /// Uses a value, so that it is computed.
    fn keep(&mut self, value: Def) {
        let ty = self.world.ty(value);
        if self.world.types.as_cn(ty).is_some() {
            return;
        }
        let slot = self.slot(ty, Some(value));
        let [mem, bytes] = [self.world.types.mem(), self.pointer_to(Prim::I8)];
        let ret_ty = self.world.types.cn(&[mem]);
        let black_box = self.runtime_function(BLACK_BOX, &[mem, bytes, ret_ty]);
        let bytes = self.world.bitcast(bytes, slot);
        let next = self.new_block("kept", &[]);
        let next_def = self.world.cont_def(next);
        self.jump(black_box, &[bytes, next_def]);
        self.enter(next);
    }
}
