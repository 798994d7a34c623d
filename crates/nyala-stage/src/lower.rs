//! Residual programs as graphs.
//!
//! A function of the calculus is a continuation of the graph. Staging expressions and staging parameters are gone:
//! what is left runs in the order of the text, which is the order of continuation-passing style. Applied functions
//! become straight-line code; no partial evaluator follows.
//!
//! Note [Specialization at run time]: a `compile` that is left in a residual program needs values that are known only
//! when the program runs. It becomes a call of the compiler: the function is kept as calculus in a [`Site`], with
//! the values that it uses as parameters, and the compiled program passes their values. `native` binds them and
//! stages, lowers and compiles the function.
//!
//! `operations` lowers primitives, `calls` the boundary to the compiler.

pub mod calls;
mod operations;

use std::rc::Rc;

use nyala_ir::{Cont, Def, Linkage, Prim, World};
use nyala_span::{Name, Span};
use rustc_hash::FxHashMap;

use crate::code::{Base, BodyId, BodyKind, Closed, Code, Const, LambdaId, ParamId, Pointer, Term, Ty, Value};
use crate::errors::{Error, ErrorKind};
use crate::machine::Memory;
use crate::primitive::Primitive;
use crate::types::Inference;

/// A function that is specialized while the compiled program runs.
#[derive(Clone, Debug)]
pub struct Site {
    /// A function of `values` that ends with `exit f`, where `f` is the function to compile.
    pub code: Rc<Code>,
    /// The values.
    pub values: Vec<SiteValue>,
    /// The type of `f`.
    pub function: Ty,
    /// Where it is in the source.
    pub span: Span,
}

/// A value that a function of a [`Site`] uses.
#[derive(Clone, Debug)]
pub enum SiteValue {
    /// Passed by the compiled program.
    Word(Ty),
    /// A stage. It is set, since the functions around the site are running.
    Stage,
    /// The recursive function around the site.
    Function(Closed),
}

/// A program as a graph.
pub struct Lowered {
    /// The graph.
    pub world: World,
    /// Its calls of the compiler, in the order of their numbers.
    pub sites: Vec<Site>,
}

/// What is known at compile time beside the program.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The objects that pointers in the program refer to.
    pub memory: &'a Memory,
    /// Whether objects that are not constants stay where they are, since the program runs in this process. Else the
    /// program gets copies of them.
    pub in_process: bool,
    /// The number of the first site.
    pub first_site: usize,
    /// Whether floats may be treated as real numbers.
    pub fast_math: bool,
}

/// The residual program as a graph with the function `main`.
pub fn lower_program(code: &Code, context: Context<'_>) -> Result<Lowered, Vec<Error>> {
    let mut lowerer = Lowerer::new(code, context)?;
    lowerer.main(code);
    lowerer.finish()
}

/// A library as a graph: the residual program is `exit [f, g]`, and its functions are exported under these names,
/// with the types that C has for them.
pub fn lower_library(code: &Code, exports: &[Name], context: Context<'_>) -> Result<Lowered, Vec<Error>> {
    let mut lowerer = Lowerer::new(code, context)?;
    lowerer.library(code, exports);
    lowerer.finish()
}

/// The name of the function that [`lower_function`] exports.
pub const ENTRY: &str = "nyala_stage_entry";

/// A closed function as a graph with the function [`ENTRY`], which takes the arguments from an array of words and
/// writes the result to another one.
pub fn lower_function(code: &Rc<Code>, context: Context<'_>) -> Result<(Lowered, Ty), Vec<Error>> {
    let mut lowerer = Lowerer::new(code, context)?;
    let ty = lowerer.entry(code);
    Ok((lowerer.finish()?, ty))
}

struct Lowerer<'a> {
    world: World,
    context: Context<'a>,
    types: Inference,
    /// The values of parameters.
    params: FxHashMap<(*const Code, ParamId), Def>,
    functions: FxHashMap<*const Code, Def>,
    objects: FxHashMap<u32, Def>,
    imports: FxHashMap<String, Def>,
    /// Functions whose bodies are not yet lowered.
    work: Vec<(Rc<Code>, BodyId, Cont)>,
    /// The return continuation of `main`.
    main_return: Option<Def>,
    /// The globals with the arguments of `main`.
    args: Option<(Def, Def)>,
    sites: Vec<Site>,
    errors: Vec<Error>,
}

/// Where code is added: a continuation whose body is not set yet, and its memory.
#[derive(Clone, Copy)]
struct Place {
    cont: Cont,
    mem: Def,
}

impl<'a> Lowerer<'a> {
    fn new(code: &Code, context: Context<'a>) -> Result<Lowerer<'a>, Vec<Error>> {
        let types = Inference::of(code);
        let errors: Vec<Error> = types
            .conflicts
            .iter()
            .map(|conflict| {
                let message =
                    format!("the residual program has two types for one value: {}", conflict.message);
                Error::new(ErrorKind::Compile, conflict.span, message)
            })
            .collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Lowerer {
            world: World::new(),
            context,
            types,
            params: FxHashMap::default(),
            functions: FxHashMap::default(),
            objects: FxHashMap::default(),
            imports: FxHashMap::default(),
            work: vec![],
            main_return: None,
            args: None,
            sites: vec![],
            errors: vec![],
        })
    }

    fn finish(mut self) -> Result<Lowered, Vec<Error>> {
        while let Some((code, body, cont)) = self.work.pop() {
            let mem = self.world.param(cont, 0);
            self.body(&code, body, Place { cont, mem });
        }
        if self.errors.is_empty() {
            Ok(Lowered { world: self.world, sites: self.sites })
        } else {
            Err(self.errors)
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push(Error::new(ErrorKind::Compile, span, message));
    }

    /// `main(argc, argv)`, which stores its arguments for `arg`.
    fn main(&mut self, code: &Code) {
        let (mem, int) = (self.world.types.mem(), self.world.types.prim(Prim::I32));
        let argv = self.argv_type();
        let ret = self.world.types.cn(&[mem, int]);
        let main = self.world.new_cont("main", &[mem, int, argv, ret]);
        self.world.set_linkage(main, Linkage::Exported(Name::new("main")));
        let [mut mem, argc, argv, ret] = self.world.cont(main).params[..] else {
            unreachable!("it was made with four")
        };
        self.main_return = Some(ret);
        let (argc_global, argv_global) = self.arg_globals();
        mem = self.world.store(mem, argc_global, argc);
        mem = self.world.store(mem, argv_global, argv);
        let code = Rc::new(code.clone());
        // The types are those of this copy.
        self.types = Inference::of(&code);
        let root = code.lambda(code.root).body;
        self.body(&code, root, Place { cont: main, mem });
    }

    /// Exports the functions of a library.
    fn library(&mut self, code: &Code, exports: &[Name]) {
        let code = Rc::new(code.clone());
        // The types are those of this copy.
        self.types = Inference::of(&code);
        let body = code.body(code.lambda(code.root).body);
        let functions = match &body.kind {
            BodyKind::Apply { callee: Term::Primitive(Primitive::Exit), args } => match &args[..] {
                [Term::Tuple(functions)] => functions,
                _ => return self.error(body.span, "the program does not end with a list of functions"),
            },
            _ => return self.error(body.span, "the program is not a library: it has instructions that wait"),
        };
        for (name, function) in exports.iter().zip(functions) {
            let Ty::Fn(_) = self.value_ty(&code, function, body.span) else { continue };
            let def = self.value(&code, function, body.span);
            let export = self.world.new_cont_of(*name, self.world.ty(def));
            self.world.set_linkage(export, Linkage::Exported(*name));
            let params = self.world.cont(export).params.clone();
            self.world.set_body(export, def, params);
        }
    }

    /// The graph's type of a type.
    fn ty(&mut self, ty: &Ty) -> nyala_ir::Ty {
        match ty {
            Ty::Scalar(prim) => self.world.types.prim(*prim),
            // Only in aggregates: as a parameter it is left out.
            Ty::Stage => self.world.types.bool(),
            Ty::Ptr(elem) => {
                let elem = self.world.types.prim(*elem);
                let slice = self.world.types.slice(elem);
                self.world.types.ptr(slice, 0)
            }
            Ty::Tuple(parts) => {
                let parts: Vec<nyala_ir::Ty> = parts.iter().map(|part| self.ty(part)).collect();
                self.world.types.tuple(&parts)
            }
            Ty::Fn(params) => {
                let mut types = vec![self.world.types.mem()];
                types.extend(data_params(params).map(|param| self.ty(param)).collect::<Vec<_>>());
                self.world.types.cn(&types)
            }
        }
    }

    fn param_ty(&mut self, code: &Code, param: ParamId, span: Span) -> Ty {
        let var = self.types.param(code, param);
        self.types.resolve(var).unwrap_or_else(|| {
            let name = code.param(param).name;
            self.error(span, format!("the type of `{name}` contains itself"));
            Ty::Scalar(Prim::I32)
        })
    }

    fn value_ty(&mut self, code: &Code, value: &Value, span: Span) -> Ty {
        let var = self.types.value(code, value);
        self.types.resolve(var).unwrap_or_else(|| {
            self.error(span, "the type of this value contains itself");
            Ty::Scalar(Prim::I32)
        })
    }

    /// A function as a continuation, whose body is lowered later.
    fn lambda(&mut self, code: &Rc<Code>, lambda: LambdaId, name: Name) -> Def {
        let data = code.lambda(lambda);
        let mut types = vec![self.world.types.mem()];
        let mut kept = vec![];
        for param in &data.params {
            let ty = self.param_ty(code, *param, data.span);
            if ty != Ty::Stage {
                types.push(self.ty(&ty));
                kept.push(*param);
            }
        }
        self.world.span = data.span;
        let cont = self.world.new_cont(name, &types);
        for (index, param) in kept.into_iter().enumerate() {
            let def = self.world.param(cont, index + 1);
            self.world.set_name(def, code.param(param).name);
            self.params.insert((Rc::as_ptr(code), param), def);
        }
        let def = self.world.cont_def(cont);
        if let Some(recursive) = data.recursive {
            self.params.insert((Rc::as_ptr(code), recursive), def);
        }
        self.work.push((code.clone(), data.body, cont));
        def
    }

    /// A closed function.
    fn function(&mut self, code: &Rc<Code>) -> Def {
        if let Some(def) = self.functions.get(&Rc::as_ptr(code)) {
            return *def;
        }
        let def = self.lambda(code, code.root, code.name);
        self.functions.insert(Rc::as_ptr(code), def);
        def
    }

    /// Lowers a body and what follows it.
    fn body(&mut self, code: &Rc<Code>, mut body: BodyId, mut place: Place) {
        loop {
            let data = code.body(body);
            self.world.span = data.span;
            match &data.kind {
                BodyKind::Fix { param, function, rest } => {
                    let def = self.lambda(code, *function, code.param(*param).name);
                    self.params.insert((Rc::as_ptr(code), *param), def);
                    body = *rest;
                }
                BodyKind::Apply { callee: Term::Lambda(lambda), args }
                    if code.lambda(*lambda).recursive.is_none() =>
                {
                    let values = args.iter().map(|arg| self.arg(code, arg, data.span)).collect::<Vec<_>>();
                    self.set_params(code, *lambda, &values);
                    body = code.lambda(*lambda).body;
                }
                BodyKind::Apply { callee: Term::Primitive(primitive), args } => {
                    match self.primitive(code, *primitive, args, place, data.span) {
                        Some((next, next_place)) => (body, place) = (next, next_place),
                        None => return,
                    }
                }
                BodyKind::Apply { callee, args } => {
                    return self.call(code, callee, args, place, data.span);
                }
            }
        }
    }

    /// Gives the parameters of an applied function their values; stages have none.
    fn set_params(&mut self, code: &Rc<Code>, lambda: LambdaId, values: &[Option<Def>]) {
        for (param, value) in code.lambda(lambda).params.iter().zip(values) {
            if let Some(value) = value {
                self.params.insert((Rc::as_ptr(code), *param), *value);
            }
        }
    }

    /// An argument; stages have no value.
    fn arg(&mut self, code: &Rc<Code>, value: &Value, span: Span) -> Option<Def> {
        match value {
            Term::Always | Term::Never => None,
            Term::Param(param) if self.param_ty(code, *param, span) == Ty::Stage => None,
            value => Some(self.value(code, value, span)),
        }
    }

    fn call(&mut self, code: &Rc<Code>, callee: &Value, args: &[Value], place: Place, span: Span) {
        let Ty::Fn(params) = self.value_ty(code, callee, span) else {
            return self.error(span, "the callee is not a function");
        };
        let mut values = vec![place.mem];
        for (param, arg) in params.iter().zip(args) {
            if *param != Ty::Stage {
                values.push(self.value(code, arg, span));
            }
        }
        let callee = self.value(code, callee, span);
        self.world.set_body(place.cont, callee, values);
    }

    fn value(&mut self, code: &Rc<Code>, value: &Value, span: Span) -> Def {
        match value {
            Term::Const(Const::Scalar(prim, bits)) => self.world.lit(*prim, *bits),
            Term::Const(Const::Ptr(pointer)) => self.pointer(*pointer),
            Term::Param(param) => match self.params.get(&(Rc::as_ptr(code), *param)) {
                Some(def) => *def,
                None => {
                    let name = code.param(*param).name;
                    self.error(span, format!("the stage `{name}` is used as a value"));
                    self.world.lit_i32(0)
                }
            },
            Term::Lambda(lambda) => self.lambda(code, *lambda, code.name),
            Term::Closed(Closed(function)) => self.function(function),
            Term::Tuple(parts) => {
                let parts: Vec<Def> = parts.iter().map(|part| self.value(code, part, span)).collect();
                self.world.tuple(&parts)
            }
            Term::Always | Term::Never => self.world.lit_bool(*value == Term::Always),
            Term::Primitive(primitive) => {
                self.error(span, format!("the primitive `{}` is used as a value", primitive.name()));
                self.world.lit_i32(0)
            }
            Term::Const(Const::Native(_)) => {
                self.error(span, "compiled code cannot be part of another compiled function");
                self.world.lit_i32(0)
            }
        }
    }

    /// A pointer to an object or an address. Constants and, unless the program runs in this process, all objects
    /// become globals.
    fn pointer(&mut self, pointer: Pointer) -> Def {
        let slice = self.ty(&Ty::Ptr(pointer.elem));
        let memory = self.context.memory;
        let is_global = |object: u32| memory.object(object).is_const || !self.context.in_process;
        match pointer.base {
            Base::Object(object) if is_global(object) => {
                let base = self.object(object);
                let base = self.world.bitcast(slice, base);
                self.offset(base, pointer.index, slice)
            }
            _ => {
                let address = self.world.lit_i64(memory.address(pointer) as i64);
                self.world.cast(slice, address)
            }
        }
    }

    fn offset(&mut self, base: Def, index: i64, slice: nyala_ir::Ty) -> Def {
        if index == 0 {
            return base;
        }
        let index = self.world.lit_i64(index);
        let element = self.world.lea(base, index);
        self.world.bitcast(slice, element)
    }

    fn object(&mut self, object: u32) -> Def {
        if let Some(def) = self.objects.get(&object) {
            return *def;
        }
        let data = self.context.memory.object(object);
        let elem = self.world.types.prim(data.elem);
        let array = self.world.types.array(elem, data.len as u64);
        let elements: Vec<u64> = (0..data.len).map(|index| data.get(index)).collect();
        let init = match elements.iter().all(|bits| *bits == 0) {
            true => None,
            false => {
                let elements: Vec<Def> =
                    elements.iter().map(|bits| self.world.lit(data.elem, *bits)).collect();
                Some(self.world.aggregate(array, &elements))
            }
        };
        let def = self.world.new_global("array", array, !data.is_const, init);
        self.objects.insert(object, def);
        def
    }
}

/// The parameters that have values at run time.
fn data_params(params: &[Ty]) -> impl Iterator<Item = &Ty> {
    params.iter().filter(|param| **param != Ty::Stage)
}
