//! Primitives as operations of the graph.

use std::rc::Rc;

use nyala_ir::{ArithFlags, ArithOp, Def, Prim};
use nyala_span::{Name, Span};

use super::{Lowerer, Place};
use crate::code::{BodyId, Code, Const, Term, Ty, Value};
use crate::primitive::Primitive;

impl Lowerer<'_> {
    /// Lowers a primitive; returns the body and the place where the program goes on, if it does so here.
    pub(super) fn primitive(
        &mut self,
        code: &Rc<Code>,
        primitive: Primitive,
        args: &[Value],
        place: Place,
        span: Span,
    ) -> Option<(BodyId, Place)> {
        let expected = primitive.operands() + primitive.continuations();
        if args.len() != expected {
            self.error(span, format!("`{}` takes {expected} arguments", primitive.name()));
            return None;
        }
        let (operands, continuations) = args.split_at(primitive.operands());
        match primitive {
            Primitive::If => {
                let condition = self.value(code, &operands[0], span);
                let (then, other) =
                    (self.value(code, &continuations[0], span), self.value(code, &continuations[1], span));
                self.world.set_branch(place.cont, place.mem, condition, then, other);
                None
            }
            Primitive::Exit | Primitive::Quit => {
                self.end(code, primitive, &operands[0], place, span);
                None
            }
            Primitive::Compile => {
                let (function, place) = self.compile(code, &operands[0], place, span)?;
                self.go_on(code, &continuations[0], Some(function), place, span)
            }
            _ => {
                let (result, place) = self.operation(code, primitive, operands, place, span);
                self.go_on(code, &continuations[0], result, place, span)
            }
        }
    }

    /// Applies a continuation to a result.
    fn go_on(
        &mut self,
        code: &Rc<Code>,
        continuation: &Value,
        result: Option<Def>,
        place: Place,
        span: Span,
    ) -> Option<(BodyId, Place)> {
        if let Term::Lambda(lambda) = continuation {
            self.set_params(code, *lambda, &[result]);
            if let (Some(result), Some(param)) = (result, code.lambda(*lambda).params.first()) {
                self.world.set_name(result, code.param(*param).name);
            }
            return Some((code.lambda(*lambda).body, place));
        }
        let callee = self.value(code, continuation, span);
        self.world.set_body(place.cont, callee, [place.mem].into_iter().chain(result));
        None
    }

    fn operation(
        &mut self,
        code: &Rc<Code>,
        primitive: Primitive,
        operands: &[Value],
        mut place: Place,
        span: Span,
    ) -> (Option<Def>, Place) {
        let args: Vec<Def> = operands.iter().map(|operand| self.value(code, operand, span)).collect();
        let flags = ArithFlags { wrap: false, fast: self.context.fast_math };
        let world = &mut self.world;
        let result = match primitive {
            Primitive::Arith(op) => world.arith(op, flags, args[0], args[1]),
            Primitive::Cmp(op) => world.cmp(op, args[0], args[1]),
            Primitive::Math(op) => world.math(op, flags, &args),
            Primitive::Convert(to) => {
                let to = world.types.prim(to);
                world.cast(to, args[0])
            }
            Primitive::Not => {
                let one = world.lit_bool(true);
                world.arith(ArithOp::Xor, ArithFlags::STRICT, args[0], one)
            }
            Primitive::Select => world.select(args[0], args[1], args[2]),
            Primitive::Get => match &operands[1] {
                Term::Const(Const::Scalar(_, index)) => world.extract_at(args[0], *index as u32),
                _ => {
                    self.error(span, "a part of an aggregate needs a constant index");
                    args[0]
                }
            },
            Primitive::Load => {
                let element = world.lea(args[0], args[1]);
                let (mem, value) = world.load(place.mem, element);
                place.mem = mem;
                value
            }
            Primitive::Store => {
                let element = world.lea(args[0], args[1]);
                place.mem = world.store(place.mem, element, args[2]);
                return (None, place);
            }
            Primitive::Offset => {
                let slice = world.ty(args[0]);
                let element = world.lea(args[0], args[1]);
                world.bitcast(slice, element)
            }
            Primitive::Alloc(elem) => {
                let (pointer, place) = self.alloc(elem, args[0], place);
                return (Some(pointer), place);
            }
            Primitive::Print => return (None, self.print(code, &operands[0], place, span)),
            Primitive::Arg => {
                let (value, place) = self.program_arg(args[0], place);
                return (Some(value), place);
            }
            Primitive::If | Primitive::Exit | Primitive::Quit | Primitive::Compile => {
                unreachable!("they are lowered elsewhere")
            }
        };
        (Some(result), place)
    }

    /// The end of the program: `exit` prints its result.
    fn end(&mut self, code: &Rc<Code>, primitive: Primitive, value: &Value, place: Place, span: Span) {
        let Some(ret) = self.main_return else {
            return self.error(span, format!("`{}` in a function that is compiled", primitive.name()));
        };
        let (place, status) = match primitive {
            Primitive::Exit => (self.print(code, value, place, span), self.world.lit_i32(0)),
            _ => (place, self.value(code, value, span)),
        };
        self.world.set_body(place.cont, ret, [place.mem, status]);
    }

    fn print(&mut self, code: &Rc<Code>, value: &Value, place: Place, span: Span) -> Place {
        let (name, prim) = match self.value_ty(code, value, span) {
            Ty::Scalar(Prim::F32) => ("anydsl_print_f32", Prim::F32),
            Ty::Scalar(Prim::F64) => ("anydsl_print_f64", Prim::F64),
            Ty::Scalar(Prim::I64) => ("anydsl_print_i64", Prim::I64),
            Ty::Scalar(Prim::I32 | Prim::Bool) => ("anydsl_print_i32", Prim::I32),
            _ => {
                self.error(span, "only numbers are printed");
                return place;
            }
        };
        let value = self.value(code, value, span);
        let ty = self.world.types.prim(prim);
        let value = self.world.cast(ty, value);
        let (_, place) = self.call_import(name, &[value], None, place);
        let end = self.world.lit(Prim::U8, u64::from(b'\n'));
        self.call_import("anydsl_print_char", &[end], None, place).1
    }

    /// Memory with zeros.
    fn alloc(&mut self, elem: Prim, count: Def, place: Place) -> (Def, Place) {
        let long = self.world.types.prim(Prim::I64);
        let count = self.world.cast(long, count);
        let size = self.world.lit_i64(elem.bytes() as i64);
        let bytes = self.ty(&Ty::Ptr(Prim::U8));
        let (pointer, place) = self.call_import("calloc", &[count, size], Some(bytes), place);
        let slice = self.ty(&Ty::Ptr(elem));
        let pointer = pointer.expect("it has a result");
        (self.world.bitcast(slice, pointer), place)
    }

    /// An argument of the program as a number; 0 if there is none.
    fn program_arg(&mut self, index: Def, place: Place) -> (Def, Place) {
        let (argc, argv) = self.arg_globals();
        let long = self.world.types.prim(Prim::I64);
        let (mem, argc) = self.world.load(place.mem, argc);
        let (mem, argv) = self.world.load(mem, argv);
        let index = self.world.cast(long, index);
        let one = self.world.lit_i64(1);
        let index = self.world.arith(ArithOp::Add, ArithFlags::WRAP, index, one);
        let argc = self.world.cast(long, argc);
        let is_there = self.world.cmp(nyala_ir::CmpOp::Lt, index, argc);
        let (mem_ty, int) = (self.world.types.mem(), self.world.types.prim(Prim::I32));
        let then = self.world.new_cont("has_arg", &[mem_ty]);
        let other = self.world.new_cont("no_arg", &[mem_ty]);
        let next = self.world.new_cont("after_arg", &[mem_ty, int]);
        let (then_def, other_def) = (self.world.cont_def(then), self.world.cont_def(other));
        self.world.set_branch(place.cont, mem, is_there, then_def, other_def);
        let (mem, next_def) = (self.world.param(then, 0), self.world.cont_def(next));
        let element = self.world.lea(argv, index);
        let (mem, text) = self.world.load(mem, element);
        let (number, after) = self.call_import("anydsl_atoi", &[text], Some(int), Place { cont: then, mem });
        self.world.set_body(after.cont, next_def, [after.mem, number.expect("it has a result")]);
        let (mem, zero) = (self.world.param(other, 0), self.world.lit_i32(0));
        self.world.set_body(other, next_def, [mem, zero]);
        let value = self.world.param(next, 1);
        (value, Place { cont: next, mem: self.world.param(next, 0) })
    }

    pub(super) fn argv_type(&mut self) -> nyala_ir::Ty {
        let text = self.ty(&Ty::Ptr(Prim::U8));
        let slice = self.world.types.slice(text);
        self.world.types.ptr(slice, 0)
    }

    /// The globals that hold the number of arguments and the arguments.
    pub(super) fn arg_globals(&mut self) -> (Def, Def) {
        if let Some(args) = self.args {
            return args;
        }
        let (int, argv) = (self.world.types.prim(Prim::I32), self.argv_type());
        let argc = self.world.new_global("argc", int, true, None);
        let argv = self.world.new_global("argv", argv, true, None);
        self.args = Some((argc, argv));
        (argc, argv)
    }

    /// Calls a function of C or of the runtime.
    pub(super) fn call_import(
        &mut self,
        name: &str,
        args: &[Def],
        result: Option<nyala_ir::Ty>,
        place: Place,
    ) -> (Option<Def>, Place) {
        let mem = self.world.types.mem();
        let returned: Vec<nyala_ir::Ty> = [mem].into_iter().chain(result).collect();
        let import = match self.imports.get(name) {
            Some(import) => *import,
            None => {
                let mut types = vec![mem];
                types.extend(args.iter().map(|arg| self.world.ty(*arg)));
                types.push(self.world.types.cn(&returned));
                let cont = self.world.new_cont(name, &types);
                self.world.set_linkage(cont, nyala_ir::Linkage::Imported(Name::new(name)));
                let import = self.world.cont_def(cont);
                self.imports.insert(name.into(), import);
                import
            }
        };
        let next = self.world.new_cont("next", &returned);
        let next_def = self.world.cont_def(next);
        let values = [place.mem].into_iter().chain(args.iter().copied()).chain([next_def]);
        self.world.set_body(place.cont, import, values.collect::<Vec<_>>());
        let result = result.map(|_| self.world.param(next, 1));
        (result, Place { cont: next, mem: self.world.param(next, 0) })
    }
}
