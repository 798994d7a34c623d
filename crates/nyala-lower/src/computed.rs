//! Values of statics that are computed by executing code at compile time.
//!
//! An initializer that does not fold (`statics`) is lowered as a function in a graph of its own,
//! with all that it calls, and executed. The caller provides the executor, see
//! [`Statics`]: this crate cannot execute a graph. The result is a [`Constant`], plain
//! data, which is rebuilt in the requesting graph.
//!
//! A mutable static has no value before the program runs. So an initializer that reads one is not
//! constant, and neither is one that returns a function or a pointer to memory of that execution.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use nyala_ir::{Cont, Def, Ty, TyKind, World};
use nyala_sema::tree::{Expr, StaticId};
use nyala_span::{Diagnostic, Name};
use rustc_hash::FxHashMap;

use crate::control::Tail;
use crate::errors::LowerError;
use crate::expr::MAX_CONSTANT;
use crate::frame::Frame;
use crate::instance::Instance;
use crate::lowerer::Lowerer;

/// Plain data: the value of a static.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Constant {
    /// Any value.
    Undef,
    /// A number or a `bool`; of a pointer, the null pointer.
    Bits(u64),
    /// The parts of a tuple, struct, array or simd value.
    Parts(Vec<Constant>),
    /// An option of an enum with its payload.
    Option(u32, Box<Constant>),
}

/// Why the execution of an initializer produced no constant.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The budget of all statics is spent.
    Spent {
        /// The resource.
        resource: Resource,
        /// The budget: steps, or MiB of memory.
        limit: u64,
    },
    /// The execution failed.
    Error(Box<Diagnostic>),
    /// The value has a part that is not plain data.
    NotData {
        /// A description of the part.
        part: &'static str,
    },
}

/// A resource that the evaluation of statics uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Operations and calls.
    Steps,
    /// Memory.
    Memory,
}

/// Calls a function of a graph whose parameters are its memory token and its return continuation, with one result.
pub type Run<'r> = &'r dyn Fn(&World, Cont) -> Result<Constant, Failure>;

/// The statics of one program whose values were computed by execution.
pub struct Statics<'r> {
    run: Run<'r>,
    /// `None` for those without value, after a report.
    values: RefCell<FxHashMap<StaticId, Option<Rc<Constant>>>>,
    /// The statics that are being computed; each needs the next one.
    open: RefCell<Vec<StaticId>>,
    /// Whether the budget is spent, which was reported.
    is_spent: Cell<bool>,
}

impl<'r> Statics<'r> {
    /// No static is computed yet; `run` executes initializers.
    pub fn new(run: Run<'r>) -> Statics<'r> {
        Statics { run, values: RefCell::default(), open: RefCell::default(), is_spent: Cell::default() }
    }
}

impl<'p> Lowerer<'p> {
    /// The value of a static, by execution of its initializer; `None` after a reported error.
    pub(crate) fn computed_value(&mut self, id: StaticId, init: &'p Expr) -> Option<Def> {
        let ty = self.closed_ty(self.program.statics[id].ty);
        let statics = self.computed;
        let known = statics.values.borrow().get(&id).cloned();
        let value = match known {
            Some(known) => known,
            None => {
                let value = match self.run_initializer(id, init, ty) {
                    Ok(value) => Some(Rc::new(value)),
                    Err(errors) => {
                        self.errors.extend(errors);
                        None
                    }
                };
                statics.values.borrow_mut().insert(id, value.clone());
                value
            }
        };
        value.map(|value| self.constant(ty, &value))
    }

    fn run_initializer(&mut self, id: StaticId, init: &'p Expr, ty: Ty) -> Result<Constant, Vec<LowerError>> {
        let item = &self.program.statics[id];
        let not_constant = |why: String| {
            vec![LowerError::StaticNotConstant { name: item.name, at: item.span, init: init.span, why }]
        };
        // Only the static at which the budget was spent is reported.
        if self.computed.is_spent.get() {
            return Err(vec![]);
        }
        if self.leaves(ty) > MAX_CONSTANT {
            return Err(vec![LowerError::HugeConstant { at: init.span, limit: MAX_CONSTANT }]);
        }
        let mut open = self.computed.open.borrow_mut();
        if open.contains(&id) {
            return Err(vec![LowerError::StaticCycle { name: item.name, at: item.span }]);
        }
        if open.len() >= MAX_OPEN {
            return Err(not_constant(format!(
                "it leads to more than {MAX_OPEN} others, each through a function"
            )));
        }
        open.push(id);
        drop(open);
        let mut inner = Lowerer::within(self);
        let function = inner.initializer(item.name, init);
        inner.lower_pending();
        self.computed.open.borrow_mut().pop();
        // Warnings are reported when the functions are lowered for the program.
        inner.errors.retain(LowerError::is_error);
        if !inner.errors.is_empty() {
            return Err(inner.errors);
        }
        let mutable = inner.world.globals().find(|(_, global)| global.is_mut);
        if let Some((_, global)) = mutable {
            return Err(not_constant(format!("it leads to the mutable static `{}`", global.name)));
        }
        (self.computed.run)(&inner.world, function).map_err(|failure| match failure {
            Failure::NotData { part } => not_constant(format!("its value has {part}")),
            Failure::Spent { resource, limit } => {
                self.computed.is_spent.set(resource == Resource::Steps);
                vec![LowerError::StaticTooExpensive { name: item.name, init: init.span, resource, limit }]
            }
            Failure::Error(error) => {
                vec![LowerError::StaticFails { name: item.name, init: init.span, error }]
            }
        })
    }

    /// A function that computes an initializer.
    fn initializer(&mut self, name: Name, init: &'p Expr) -> Cont {
        let result = self.closed_ty(init.ty);
        let (mem, ret) = (self.world.types.mem(), self.cn(&[result], None));
        let cont = self.world.new_cont(name, &[mem, ret]);
        let instance = self.instances.push(Instance::nowhere());
        self.frame = Frame::new(&self.world, instance, cont);
        let ret = self.world.param(cont, 1);
        self.tail(init, Tail::Return(ret));
        cont
    }

    /// A constant as a node. Recurses on the nesting of types, which declarations bound.
    fn constant(&mut self, ty: Ty, constant: &Constant) -> Def {
        match (self.world.types.kind(ty).clone(), constant) {
            (TyKind::Prim(prim), &Constant::Bits(bits)) => self.world.lit(prim, bits),
            (TyKind::Ptr { .. }, Constant::Bits(0)) => self.world.null(ty),
            (TyKind::Enum(id), Constant::Option(option, payload)) => {
                let payload_ty = self.world.types.enums[id].options[*option as usize].payload;
                let payload = self.constant(payload_ty, payload);
                self.world.variant(ty, *option, payload)
            }
            (_, Constant::Parts(parts)) => {
                let parts: Vec<Def> = parts
                    .iter()
                    .zip(0..)
                    .map(|(part, i)| {
                        let part_ty =
                            self.world.types.part(ty, i).expect("a value has the parts of its type");
                        self.constant(part_ty, part)
                    })
                    .collect();
                self.world.aggregate(ty, &parts)
            }
            _ => self.world.undef(ty),
        }
    }
}

/// So many statics may wait for each other, each computed by a function that uses the next one: the
/// functions are lowered inside each other.
const MAX_OPEN: usize = 32;
