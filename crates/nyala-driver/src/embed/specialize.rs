//! Functions made for arguments that are known when the host runs.
//!
//! A [`Specializer`] reads and checks a program once. Whoever then knows some arguments of an exported
//! function gets a function of the others: the partial evaluator runs with these values in place, as if
//! they stood in the source, and native code is made of what is left. Filters decide how far that
//! goes, as everywhere.
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
//! Arguments may also be structs, arrays, text and pointers to data that stays as it is ([`Known`]). A filter
//! whose weights come from a file is as fast as one that was written out:
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
//! Each function is made once for the same arguments, whichever threads ask for it, and kept as long as
//! the specializer is.

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

/// What a function is made from: its name, and for each of its parameters the argument if that is known.
type Key = (String, Vec<Option<Known>>);

/// A function, once somebody has made it.
type Made = Arc<OnceLock<Result<Module, CompileError>>>;

/// A program whose functions are made when some of their arguments are known.
pub struct Specializer {
    compiler: Compiler,
    /// Knows the sources, for diagnostics.
    session: Session,
    /// The program as it comes from the source; every function is made from a copy.
    world: Mutex<World>,
    interface: Interface,
    made: Mutex<HashMap<Key, Made>>,
}

impl Compiler {
    /// Reads and checks the program, and makes no code yet.
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
    /// The exported function with this name for the arguments that are known, one for each parameter; those that are not
    /// mentioned are not known. `F` is the type of the function of the other arguments.
    ///
    /// # Safety
    /// As for [`Module::function`].
    pub unsafe fn function<F: CFunction>(
        &self,
        name: &str,
        known: &[Option<Known>],
    ) -> Result<Function<F>, SpecialiseError> {
        let signature = self.signature(name, known)?;
        let key = (name.to_owned(), known.to_vec());
        let made = Arc::clone(lock(&self.made).entry(key).or_default());
        let module = made.get_or_init(|| self.make(name, known, signature)).as_ref();
        let module = module.map_err(|error| SpecialiseError::Compile(error.clone()))?;
        // SAFETY: the caller's promise.
        unsafe { module.function(name) }.map_err(SpecialiseError::Lookup)
    }

    /// What the program exports and imports.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The type of the function that is left.
    fn signature(&self, name: &str, known: &[Option<Known>]) -> Result<Signature, SpecialiseError> {
        let exported = self
            .interface
            .export(name)
            .ok_or_else(|| SpecialiseError::Lookup(LookupError::absent(name, &self.interface)))?;
        let Signature { params, result } = exported.signature.clone();
        if known.len() > params.len() {
            return Err(SpecialiseError::TooMany { name: name.into(), params: params.len() });
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
                return Err(SpecialiseError::OtherType { name, index, given, param });
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

/// What a mutex guards; nothing that panics leaves it half done.
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

/// Makes the exported function `name` one of the arguments that are not known, and the only one that is exported.
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

/// The parameters of an exported function that are arguments to the outside: not memory, the place to return to, or
/// what holds nothing.
fn passed_params(world: &World, cont: Cont) -> Vec<Def> {
    let ret = return_param(world, cont);
    let is_passed = |param: &Def| match world.types.kind(world.ty(*param)) {
        TyKind::Mem => false,
        TyKind::Tuple(parts) => !parts.is_empty(),
        _ => Some(*param) != ret,
    };
    world.cont(cont).params.iter().copied().filter(is_passed).collect()
}

/// For each parameter of an exported function, its value if that is known.
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

/// Why a function was not made.
#[derive(Clone, Debug)]
pub enum SpecialiseError {
    /// Nothing is exported under this name, or what is left has another type.
    Lookup(LookupError),
    /// There are more arguments than parameters.
    TooMany {
        /// The function.
        name: String,
        /// How many parameters it has.
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

impl fmt::Display for SpecialiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecialiseError::Lookup(error) => error.fmt(f),
            SpecialiseError::TooMany { name, params } => {
                write!(f, "the function `{name}` has {params} parameters, and more arguments are given")
            }
            SpecialiseError::OtherType { name, index, given, param } => {
                let number = index + 1;
                write!(f, "argument {number} of `{name}` is {given}, and the parameter is `{param}`")
            }
            SpecialiseError::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpecialiseError {}
