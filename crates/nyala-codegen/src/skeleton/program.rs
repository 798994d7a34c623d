//! A program in control-flow form, as back ends read it.

use nyala_ir::analysis::functions::is_return;
use nyala_ir::analysis::{Function, Functions};
use nyala_ir::{Cont, Def, Intrinsic, Linkage, Ty, TyKind, World};

/// A program and its functions.
#[derive(Clone, Copy)]
pub(crate) struct Program<'w> {
    pub(crate) world: &'w World,
    pub(crate) functions: &'w Functions,
}

/// What a call calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee<'w> {
    /// A function of the program.
    Function(Cont),
    /// A function that is a value.
    Value(Def),
    /// A function that the program declares by name.
    External {
        /// The name.
        name: &'w str,
        /// Whether it is one of devices.
        is_device: bool,
    },
    /// An intrinsic that is no branch.
    Intrinsic(Intrinsic),
}

/// What a call passes, and what happens with its results.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The arguments that exist at run time, without the return continuation.
    pub(crate) args: Vec<Def>,
    /// The return continuation; nothing if the callee never returns, or if it is among the arguments.
    pub(crate) ret: Option<Def>,
    /// What the return continuation takes.
    pub(crate) results: Vec<Ty>,
    /// Whether the return continuation is an argument like others; see [`nyala_ir::analysis::styles`].
    pub(crate) is_passing: bool,
}

impl<'w> Program<'w> {
    /// The parameters of a function or block that are values.
    pub(crate) fn value_params(self, cont: Cont) -> Vec<Def> {
        let ret = self.functions.get(cont).and_then(|function| function.ret);
        self.values_but(ret, &self.world.cont(cont).params)
    }

    /// Those that exist at run time, without `ret`.
    pub(crate) fn values_but(self, ret: Option<Def>, defs: &[Def]) -> Vec<Def> {
        let is_value = |&def: &Def| is_value(self.world, self.world.ty(def)) && Some(def) != ret;
        defs.iter().copied().filter(is_value).collect()
    }

    /// The results that a return continuation of this type takes. No results without a return continuation.
    pub(crate) fn result_types(self, ret: Option<Ty>) -> Vec<Ty> {
        let taken = ret.and_then(|ret| self.world.types.as_cn(ret)).unwrap_or(&[]);
        taken.iter().copied().filter(|&ty| is_value(self.world, ty)).collect()
    }

    /// The results of a function.
    pub(crate) fn results_of(self, function: &Function) -> Vec<Ty> {
        self.result_types(function.ret.map(|ret| self.world.ty(ret)))
    }

    /// What `callee` is.
    pub(crate) fn callee(self, callee: Def) -> Callee<'w> {
        let Some(cont) = self.world.as_cont(callee) else { return Callee::Value(callee) };
        match &self.world.cont(cont).linkage {
            Linkage::Intrinsic(intrinsic) => Callee::Intrinsic(*intrinsic),
            Linkage::Imported(name) => Callee::External { name: name.as_str(), is_device: false },
            Linkage::Device(name) => Callee::External { name: name.as_str(), is_device: true },
            Linkage::Internal | Linkage::Exported(_) | Linkage::Debugger => Callee::Function(cont),
        }
    }

    /// A call of `callee` with these arguments.
    pub(crate) fn call(self, callee: Callee<'w>, args: &[Def]) -> Call {
        let is_passing = match callee {
            Callee::Function(cont) => self.functions.styles().is_passing(cont),
            Callee::Value(value) => self.functions.styles().is_passing_type(self.world.ty(value)),
            Callee::External { .. } | Callee::Intrinsic(_) => false,
        };
        let is_ret = |&last: &Def| is_return(&self.world.types, self.world.ty(last)) && !is_passing;
        let ret = args.last().copied().filter(is_ret);
        let passed = if ret.is_some() { &args[..args.len() - 1] } else { args };
        let results = self.result_types(ret.map(|ret| self.world.ty(ret)));
        Call { args: self.values_but(None, passed), ret, results, is_passing }
    }
}

/// Whether values of this type exist at run time.
pub(crate) fn is_value(world: &World, ty: Ty) -> bool {
    !matches!(world.types.kind(ty), TyKind::Mem)
}
