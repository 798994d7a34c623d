//! Functions made for arguments that are known when the host runs.
//!
//! A [`Specialiser`] reads and checks a program once. Whoever then knows some arguments of an exported
//! function gets a function of the others: the partial evaluator runs with these values in place, as if
//! they stood in the source, and native code is made of what is left. Filters decide how far that
//! goes, as everywhere.
//!
//! ```
//! use nyala_driver::embed::Compiler;
//!
//! let program = "fn @(?n) go(x: f64, n: i32) -> f64 { if n == 0 { 1.0 } else { x * go(x, n - 1) } }
//!                extern fn power(x: f64, n: i32) -> f64 { go(x, n) }";
//! let specialiser = Compiler::new().text("power.impala", program).specialiser()?;
//! // SAFETY: the program uses no memory but its own.
//! let cube = unsafe { specialiser.function::<extern "C" fn(f64) -> f64>("power", &[None, Some(3.into())]) }?;
//! assert_eq!(cube(2.0), 8.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each function is made once for the same arguments, whichever threads ask for it, and kept as long as
//! the specialiser is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use nyala_interface::{Interface, Signature, Type};
use nyala_ir::analysis::Scope;
use nyala_ir::analysis::functions::return_param;
use nyala_ir::{Cont, Def, Linkage, TyKind, World};
use nyala_span::{Name, Prim};

use super::signature::{CFunction, CType};
use super::{Code, CompileError, Compiler, Function, LookupError, Module, on_large_stack};
use crate::pipeline;
use crate::session::Session;

/// An argument that is known: a number or a `bool`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Known {
    prim: Prim,
    bits: u64,
}

macro_rules! known {
    ($($ty:ty, $prim:ident, $value:ident => $bits:expr;)*) => {
        $(
            impl From<$ty> for Known {
                fn from($value: $ty) -> Known {
                    Known { prim: Prim::$prim, bits: $bits }
                }
            }
        )*
    };
}

known! {
    bool, Bool, value => value.into();
    i8, I8, value => value.cast_unsigned().into();
    i16, I16, value => value.cast_unsigned().into();
    i32, I32, value => value.cast_unsigned().into();
    i64, I64, value => value.cast_unsigned();
    u8, U8, value => value.into();
    u16, U16, value => value.into();
    u32, U32, value => value.into();
    u64, U64, value => value;
    f32, F32, value => value.to_bits().into();
    f64, F64, value => value.to_bits();
}

impl Known {
    /// The type of the parameter that it is for.
    fn ty(self) -> Type {
        match self.prim {
            Prim::Bool => bool::describe(),
            prim if prim.is_float() => Type::Float { bits: prim.bits() },
            prim => Type::int(prim.bits(), prim.is_signed()),
        }
    }
}

/// What a function is made from: its name, and for each of its parameters the argument if that is known.
type Key = (String, Vec<Option<Known>>);

/// A function, once somebody has made it.
type Made = Arc<OnceLock<Result<Module, CompileError>>>;

/// A program whose functions are made when some of their arguments are known.
pub struct Specialiser {
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
    pub fn specialiser(&self) -> Result<Specialiser, CompileError> {
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
            Ok(Specialiser { compiler, session, world, interface, made })
        })
    }
}

impl Specialiser {
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
        let mut open = vec![];
        for (index, param) in params.into_iter().enumerate() {
            match known.get(index).copied().flatten() {
                None => open.push(param),
                Some(known) if known.ty() == param => {}
                Some(known) => {
                    let (name, given) = (name.to_owned(), known.ty());
                    return Err(SpecialiseError::OtherType { name, index, given, param });
                }
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
            let world = pipeline::prepare_graph(&mut session, &world);
            let jit = world.and_then(|world| self.compiler.load(&mut session, &world));
            let code = jit.map(|jit| Module { code: Arc::new(Code { jit, interface }) });
            code.ok_or_else(|| CompileError::of(session))
        })
    }
}

/// What a mutex guards; nothing that panics leaves it half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the exported function `name` one of the arguments that are not known, and the only one that is exported.
fn apply(world: &mut World, name: &str, known: &[Option<Known>]) {
    let exported: Vec<(Cont, Name)> = world
        .conts()
        .filter_map(|(cont, data)| match data.linkage {
            Linkage::Exported(symbol) => Some((cont, symbol)),
            _ => None,
        })
        .collect();
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

/// For each parameter of an exported function, its value if that is known. Memory, the place to return
/// to, and what holds nothing are no arguments to the outside.
fn values(world: &mut World, cont: Cont, known: &[Option<Known>]) -> Vec<Option<Def>> {
    let ret = return_param(world, cont);
    let params = world.cont(cont).params.clone();
    let mut known = known.iter();
    let value = |param: &Def| {
        let ty = world.ty(*param);
        let is_passed = match world.types.kind(ty) {
            TyKind::Mem => false,
            TyKind::Tuple(parts) => !parts.is_empty(),
            _ => Some(*param) != ret,
        };
        let known = if is_passed { known.next().copied().flatten() } else { None };
        known.map(|known| world.lit(known.prim, known.bits))
    };
    params.iter().map(value).collect()
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
        /// The type of the argument.
        given: Type,
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
                write!(f, "argument {number} of `{name}` is `{given}`, and the parameter is `{param}`")
            }
            SpecialiseError::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpecialiseError {}
