//! Functions that are specialized to arguments known at run time of the host.
//!
//! A [`Specializer`] parses and checks a program once. For known arguments of an exported
//! function it returns a function of the others: the partial evaluator runs with these values as if
//! they were written in the source, and the residual program is compiled. Filters decide, as
//! always.
//!
//! ```
//! use nyala_driver::embed::Compiler;
//!
//! let program = "fn @(?n) go(x: f64, n: i32) -> f64 { if n == 0 { 1.0 } else { x * go(x, n - 1) } }
//!                extern fn power(x: f64, n: i32) -> f64 { go(x, n) }";
//! let specializer = Compiler::new().text("power.impala", program).specializer()?;
//! // SAFETY: the program uses no memory but its own.
//! let cube = unsafe { specializer.function::<extern "C" fn(f64) -> f64>("power", &[None, Some(3.into())]) }?;
//! assert_eq!(cube(2.0), 8.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Arguments may also be structs, arrays, text and pointers to constant data ([`Known`]). A filter
//! with weights from a file is as fast as one with constant weights in the source:
//!
//! ```
//! use nyala_driver::embed::{Compiler, specialize::Known};
//!
//! let program = "fn @(?n) sum(w: &[f32], x: &[f32], n: i32) -> f32 {
//!                    if n == 0 { 0f } else if w(n - 1) == 0f { sum(w, x, n - 1) } else { sum(w, x, n - 1) + w(n - 1) * x(n - 1) }
//!                }
//!                extern fn weighted(w: &[f32], n: i32, x: &[f32]) -> f32 { sum(w, x, n) }";
//! let specializer = Compiler::new().text("weighted.impala", program).specializer()?;
//! let weights = Known::slice(&[0.5f32, 0.0, 0.0, 2.0]);
//! let known = [Some(weights), Some(4.into())];
//! // SAFETY: the function reads elements 0 and 3 of what it is given; the others have no weight.
//! let weighted = unsafe { specializer.function::<extern "C" fn(*const f32) -> f32>("weighted", &known) }?;
//! assert_eq!(weighted([2.0, 9.0, 9.0, 4.0].as_ptr()), 9.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each function is compiled once for the same arguments, also with several threads, and lives as long as
//! the specializer.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use nyala_interface::{Interface, Signature, Type};
use nyala_ir::analysis::Scope;
use nyala_ir::analysis::functions::return_param;
use nyala_ir::{Cont, Def, Linkage, TyKind, World};
use nyala_span::Name;

pub use super::known::Known;
use super::signature::CFunction;
use super::{Code, CompileError, Compiler, Function, LookupError, Module, on_large_stack};
use crate::pipeline;
use crate::session::Session;

/// The key of a specialization: the function, and for each parameter its argument if known.
type Key = (String, Vec<Option<Known>>);

/// A compiled function, or an empty cell.
type Made = Arc<OnceLock<Result<Module, CompileError>>>;

/// A program whose functions can be specialized.
pub struct Specializer {
    compiler: Compiler,
    /// The sources, for diagnostics.
    session: Session,
    /// The program after lowering; every specialization starts from a copy.
    world: Mutex<World>,
    interface: Interface,
    made: Mutex<HashMap<Key, Made>>,
}

impl Compiler {
    /// Parses and checks the program.
    pub fn specializer(&self) -> Result<Specializer, CompileError> {
        on_large_stack(|| {
            let mut session = self.session();
            let Some((world, interface)) = pipeline::emit_with_interface(&mut session) else {
                return Err(CompileError::of(session));
            };
            self.check_defined(&mut session, &interface);
            if session.has_errors() {
                return Err(CompileError::of(session));
            }
            session.diagnostics.clear();
            let (compiler, world, made) = (self.clone(), Mutex::new(world), Mutex::default());
            Ok(Specializer { compiler, session, world, interface, made })
        })
    }
}

impl Specializer {
    /// The exported function with this name, specialized to the known arguments, one for each parameter; omitted
    /// ones are unknown. `F` is the type of the function of the other arguments.
    ///
    /// # Safety
    /// As for [`Module::function`].
    pub unsafe fn function<F: CFunction>(
        &self,
        name: &str,
        known: &[Option<Known>],
    ) -> Result<Function<F>, SpecializeError> {
        let signature = self.signature(name, known)?;
        let key = (name.to_owned(), known.to_vec());
        let made = Arc::clone(lock(&self.made).entry(key).or_default());
        let module = made.get_or_init(|| self.make(name, known, signature)).as_ref();
        let module = module.map_err(|error| SpecializeError::Compile(error.clone()))?;
        // SAFETY: the caller's promise.
        unsafe { module.function(name) }.map_err(SpecializeError::Lookup)
    }

    /// The exports and imports of the program.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The type of the specialized function.
    fn signature(&self, name: &str, known: &[Option<Known>]) -> Result<Signature, SpecializeError> {
        let exported = self
            .interface
            .export(name)
            .ok_or_else(|| SpecializeError::Lookup(LookupError::absent(name, &self.interface)))?;
        let Signature { params, result } = exported.signature.clone();
        if known.len() > params.len() {
            return Err(SpecializeError::TooMany { name: name.into(), params: params.len() });
        }
        let world = lock(&self.world);
        let cont =
            exported_functions(&world).find(|(_, symbol)| symbol.as_str() == name).map(|(cont, _)| cont);
        let passed = cont.map_or(vec![], |cont| passed_params(&world, cont));
        let mut open = vec![];
        for (index, param) in params.into_iter().enumerate() {
            let Some(given) = known.get(index).and_then(Option::as_ref) else {
                open.push(param);
                continue;
            };
            let is_written = given.is_pointer() && matches!(param, Type::Ptr { is_mut: true, .. });
            let fits = passed.get(index).is_some_and(|&param| given.fits(&world.types, world.ty(param)));
            if is_written || !fits {
                let (name, given) = (name.to_owned(), given.clone());
                return Err(SpecializeError::OtherType { name, index, given, param });
            }
        }
        Ok(Signature { params: open, result })
    }

    fn make(
        &self,
        name: &str,
        known: &[Option<Known>],
        signature: Signature,
    ) -> Result<Module, CompileError> {
        on_large_stack(|| {
            let mut session = self.session.clone();
            let mut world = lock(&self.world).clone();
            apply(&mut world, name, known);
            let mut interface = self.interface.clone();
            interface.exports.retain(|function| function.symbol == name);
            for function in &mut interface.exports {
                function.params = vec![None; signature.params.len()];
                function.signature = signature.clone();
            }
            let program = pipeline::prepare_graph(&mut session, &world);
            let jit = program.and_then(|program| self.compiler.load(&mut session, &program, &self.interface));
            let code = jit.map(|jit| Module { code: Arc::new(Code { jit, interface }) });
            code.ok_or_else(|| CompileError::of(session))
        })
    }
}

/// The contents of a mutex, also after a panic: no code leaves them inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The functions that a program exports, with their symbols.
fn exported_functions(world: &World) -> impl Iterator<Item = (Cont, Name)> {
    world.conts().filter_map(|(cont, data)| match data.linkage {
        Linkage::Exported(symbol) => Some((cont, symbol)),
        _ => None,
    })
}

/// Replaces the exported function `name` by a function of the unknown arguments, and makes it the only export.
fn apply(world: &mut World, name: &str, known: &[Option<Known>]) {
    let exported: Vec<(Cont, Name)> = exported_functions(world).collect();
    for (cont, symbol) in exported {
        world.set_linkage(cont, Linkage::Internal);
        if symbol.as_str() == name {
            let values = values(world, cont, known);
            let scope = Scope::new(world, cont);
            let applied = nyala_opt::mangle(world, &scope, &values);
            world.set_linkage(applied, Linkage::Exported(symbol));
        }
    }
}

/// The parameters of an exported function that callers pass: without memory token, return continuation, and
/// empty values.
fn passed_params(world: &World, cont: Cont) -> Vec<Def> {
    let ret = return_param(world, cont);
    let is_passed = |param: &Def| match world.types.kind(world.ty(*param)) {
        TyKind::Mem => false,
        TyKind::Tuple(parts) => !parts.is_empty(),
        _ => Some(*param) != ret,
    };
    world.cont(cont).params.iter().copied().filter(is_passed).collect()
}

/// For each parameter of an exported function, its value if known.
fn values(world: &mut World, cont: Cont, known: &[Option<Known>]) -> Vec<Option<Def>> {
    let (params, passed) = (world.cont(cont).params.clone(), passed_params(world, cont));
    let mut value = |param: Def| {
        let index = passed.iter().position(|&other| other == param)?;
        let known = known.get(index)?.as_ref()?;
        let ty = world.ty(param);
        known.value(world, ty)
    };
    params.into_iter().map(&mut value).collect()
}

/// Why a function was not specialized.
#[derive(Clone, Debug)]
pub enum SpecializeError {
    /// No exported function has this name, or the specialized function has another type.
    Lookup(LookupError),
    /// There are more arguments than parameters.
    TooMany {
        /// The function.
        name: String,
        /// Its number of parameters.
        params: usize,
    },
    /// An argument has another type than its parameter.
    OtherType {
        /// The function.
        name: String,
        /// The number of the parameter, from 0.
        index: usize,
        /// The argument.
        given: Known,
        /// The type of the parameter.
        param: Type,
    },
    /// The program with these arguments has errors.
    Compile(CompileError),
}

impl fmt::Display for SpecializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecializeError::Lookup(error) => error.fmt(f),
            SpecializeError::TooMany { name, params } => {
                write!(f, "the function `{name}` has {params} parameters, and more arguments are given")
            }
            SpecializeError::OtherType { name, index, given, param } => {
                let number = index + 1;
                write!(f, "argument {number} of `{name}` is {given}, and the parameter is `{param}`")
            }
            SpecializeError::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpecializeError {}
