//! Operations without effect, on all values.
//!
//! [`nyala_ir::eval`] evaluates scalars. An undefined operand makes the result
//! undefined. SIMD values are computed lane by lane.

use std::rc::Rc;

use nyala_ir::eval::{self, EvalError};
use nyala_ir::{CmpOp, Def, Node, Prim, Ty, TyKind};

use crate::compile::scalar;
use crate::errors::{Checked, ErrorKind, malformed};
use crate::machine::Machine;
use crate::value::Value;
use crate::vectors::lane_op;

/// The maximum number of parts of an aggregate in a register. More is an error, as
/// if memory were exhausted.
const MAX_PARTS: usize = 1 << 26;

impl Machine<'_, '_> {
    /// The value of an operation from those of its operands.
    pub(crate) fn pure(&mut self, def: Def, args: &[Value]) -> Checked<Value> {
        let world = self.program.world;
        match (world.node(def), args) {
            (Node::Arith { op, flags, lhs, .. }, _) => self.lanes(world.ty(lhs), args, &|prim, args| {
                let result = eval::arith(op, flags, prim, args[0], args[1]);
                result.map_err(|error| failed(error, op.name(), prim, args))
            }),
            (Node::Cmp { op, .. }, [Value::Fn(a), Value::Fn(b)]) => {
                Ok(Value::Bits(u64::from(a.is_same_function(b) == (op == CmpOp::Eq))))
            }
            (Node::Cmp { op, lhs, .. }, _) => self.lanes(world.ty(lhs), args, &|prim, args| {
                Ok(u64::from(eval::cmp(op, prim, args[0], args[1])))
            }),
            (Node::Math { op, args: list, .. }, _) => {
                let Some(&first) = world.list(list).first() else { return malformed("no argument") };
                self.lanes(world.ty(first), args, &|prim, args| {
                    eval::math(op, prim, args).map_err(|error| failed(error, op.name(), prim, args))
                })
            }
            (Node::Cast(value), _) => {
                let to = world.types.lane_prim(world.ty(def)).unwrap_or(Prim::U64);
                self.lanes(world.ty(value), args, &|prim, args| {
                    let result = eval::cast(prim, to, args[0]);
                    result.map_err(|error| failed(error, to.name(), prim, args))
                })
            }
            (Node::Bitcast(value), [arg]) => self.bitcast(world.ty(value), world.ty(def), arg),
            // An undefined mask is one whose lanes are all undefined: so is each chosen lane.
            (Node::Select { cond, .. }, [Value::Undef, _, _]) if world.types.is_simd(world.ty(cond)) => {
                Ok(Value::Undef)
            }
            (Node::Select { .. }, [cond, then, other]) => select(cond, then, other),
            (Node::Extract { index, .. }, [agg, at]) => extract(agg, self.index(index, at)?),
            (Node::Insert { index, .. }, [agg, at, value]) => {
                let at = self.index(index, at)?;
                self.insert(world.ty(def), agg, at, value)
            }
            (Node::Variant { option, .. }, [payload]) => {
                Ok(Value::agg(vec![Value::Bits(u64::from(option)), payload.clone()]))
            }
            (Node::VariantPayload { option, .. }, [value]) => payload(option, value),
            (Node::Lanes { op, .. }, _) => lane_op(op, args),
            (Node::Lea { ptr, index }, [ptr_value, index_value]) => {
                self.lea_lanes(world.ty(ptr), index, ptr_value, index_value)
            }
            (node, _) => malformed(format!("{node:?} is no operation")),
        }
    }

    /// Applies a function on scalars of type `ty`, lane by lane if it is a SIMD type.
    fn lanes(&self, ty: Ty, args: &[Value], apply: &dyn Fn(Prim, &[u64]) -> Checked<u64>) -> Checked<Value> {
        if args.iter().any(|arg| matches!(arg, Value::Undef)) {
            return Ok(Value::Undef);
        }
        let types = &self.program.world.types;
        let lane = match types.kind(ty) {
            TyKind::Simd { elem, .. } => *elem,
            _ => ty,
        };
        let Some(prim) = scalar(self.program.world, lane) else {
            return malformed(format!("an operation on `{}`", types.display(ty)));
        };
        let bits = |args: &[&Value]| args.iter().map(|arg| arg.as_bits()).collect::<Option<Vec<u64>>>();
        let whole: Vec<&Value> = args.iter().collect();
        if let Some(bits) = bits(&whole) {
            return apply(prim, &bits).map(Value::Bits);
        }
        let parts: Option<Vec<&[Value]>> = args.iter().map(Value::as_parts).collect();
        let Some(parts) = parts else { return malformed("operands of different kinds") };
        let n_lanes = parts.iter().map(|parts| parts.len()).min().unwrap_or(0);
        let lane = |lane: usize| {
            let args: Vec<&Value> = parts.iter().map(|parts| &parts[lane]).collect();
            match bits(&args) {
                Some(bits) => apply(prim, &bits).map(Value::Bits),
                None => Ok(Value::Undef),
            }
        };
        (0..n_lanes).map(lane).collect::<Checked<Vec<Value>>>().map(Value::agg)
    }

    fn bitcast(&mut self, from: Ty, to: Ty, value: &Value) -> Checked<Value> {
        let types = &self.program.world.types;
        let (from, to) = (self.program.shapes.of(types, from), self.program.shapes.of(types, to));
        self.memory.reinterpret(value, &from, &to)
    }

    /// The value of an index operand.
    fn index(&self, index: Def, value: &Value) -> Checked<i64> {
        let prim = scalar(self.program.world, self.program.world.ty(index));
        match (prim, value) {
            (Some(prim), Value::Bits(bits)) => Ok(prim.sign_extend(*bits)),
            (_, Value::Undef) => Err(Box::new(ErrorKind::UndefinedUse { what: "an index" })),
            _ => malformed("an index that is no number"),
        }
    }

    fn insert(&mut self, ty: Ty, agg: &Value, index: i64, value: &Value) -> Checked<Value> {
        let mut parts = match agg {
            Value::Agg(parts) => parts.clone(),
            Value::Undef => Rc::new(vec![Value::Undef; self.n_parts(ty)?]),
            _ => return malformed("a part of a value that has no parts"),
        };
        let len = parts.len();
        self.count_steps(len);
        let place = usize::try_from(index).ok().and_then(|at| Rc::make_mut(&mut parts).get_mut(at));
        match place {
            Some(place) => *place = value.clone(),
            None => return Err(Box::new(ErrorKind::IndexRange { index, len })),
        }
        Ok(Value::Agg(parts))
    }

    fn n_parts(&self, ty: Ty) -> Checked<usize> {
        let types = &self.program.world.types;
        let n_parts = match types.kind(ty) {
            TyKind::Tuple(parts) => parts.len(),
            TyKind::Struct(id) => types.structs[*id].fields.len(),
            TyKind::Array { len, .. } => *len as usize,
            TyKind::Simd { lanes, .. } => *lanes as usize,
            _ => 0,
        };
        match n_parts > MAX_PARTS {
            true => Err(Box::new(ErrorKind::OutOfMemory { size: self.program.world.layout(ty).size })),
            false => Ok(n_parts),
        }
    }
}

fn select(cond: &Value, then: &Value, other: &Value) -> Checked<Value> {
    match cond {
        Value::Bits(bits) => Ok(if *bits != 0 { then.clone() } else { other.clone() }),
        Value::Undef => Err(Box::new(ErrorKind::UndefinedUse { what: "a condition" })),
        Value::Agg(lanes) => {
            let part = |value: &Value, lane: usize| match value {
                Value::Agg(parts) => parts.get(lane).cloned().unwrap_or_default(),
                _ => Value::Undef,
            };
            // Inactive lanes may be undefined. An undefined lane is an error only where it is used.
            let choose = |(lane, cond): (usize, &Value)| match cond {
                Value::Undef => Ok(Value::Undef),
                _ => select(cond, &part(then, lane), &part(other, lane)),
            };
            lanes.iter().enumerate().map(choose).collect::<Checked<Vec<Value>>>().map(Value::agg)
        }
        Value::Fn(_) => malformed("a condition that is no bool"),
    }
}

fn extract(agg: &Value, index: i64) -> Checked<Value> {
    match agg {
        Value::Agg(parts) => {
            let part = usize::try_from(index).ok().and_then(|at| parts.get(at));
            part.cloned().ok_or_else(|| Box::new(ErrorKind::IndexRange { index, len: parts.len() }))
        }
        Value::Undef => Ok(Value::Undef),
        _ => malformed("a part of a value that has no parts"),
    }
}

fn payload(option: u32, value: &Value) -> Checked<Value> {
    match value.as_parts() {
        Some([Value::Bits(tag), payload]) if *tag == u64::from(option) => Ok(payload.clone()),
        Some([Value::Bits(tag), _]) => {
            Err(Box::new(ErrorKind::WrongOption { found: *tag as u32, expected: option }))
        }
        _ if matches!(value, Value::Undef) => Ok(Value::Undef),
        _ => malformed("a payload of a value that is no enum"),
    }
}

fn failed(error: EvalError, name: &str, prim: Prim, args: &[u64]) -> Box<ErrorKind> {
    let shown: Vec<String> = args.iter().map(|&bits| show(prim, bits)).collect();
    Box::new(ErrorKind::Eval { error, what: format!("`{name}({})` on `{prim}`", shown.join(", ")) })
}

/// A number in decimal.
fn show(prim: Prim, bits: u64) -> String {
    match prim {
        Prim::Bool => (bits != 0).to_string(),
        _ if prim.is_float() => eval::float_value(prim, bits).to_string(),
        _ if prim.is_signed() => prim.sign_extend(bits).to_string(),
        _ => bits.to_string(),
    }
}
