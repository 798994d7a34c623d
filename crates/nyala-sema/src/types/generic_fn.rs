//! Generic functions as arguments: the types of the parameters that take them, and of what is passed.

use nyala_span::Name;

use super::{ParamKind, Ty, TyKind, TyParam, Types};
use crate::tree::FnId;

/// Which generic function an argument is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GenericFn {
    /// The function.
    pub function: FnRef,
    /// Its type arguments, which contain the parameters of the [`Signature`] that it is passed for.
    pub args: Box<[Ty]>,
    /// Of a nested function, the instance of the enclosing function, once lowering knows it.
    pub instance: Option<u32>,
}

/// A function in a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FnRef {
    /// A function of the program.
    Fn(FnId),
    /// What is passed for a parameter of the enclosing function.
    Param(TyParam),
}

/// The type of a parameter that takes a generic function, `fn[A](A) -> A`.
///
/// A generic function is no value. A function with such a parameter has one more type parameter, the type of the
/// argument, which is a [`TyKind::Generic`]; its values are empty. So each instance of the function knows which
/// functions it gets.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its own parameters.
    pub tparams: Vec<TyParam>,
    /// The type of the function.
    pub ty: Ty,
}

impl Types {
    /// A type parameter that stands for a generic function.
    pub fn declare_signature(&mut self, signature: Signature) -> TyParam {
        let names: Vec<&str> =
            signature.tparams.iter().map(|&param| self.params[param].name.as_str()).collect();
        let shown = self.display(signature.ty).to_string();
        let name = shown.replacen("fn", &format!("fn[{}]", names.join(", ")), 1);
        let param = self.declare_param(Name::new(&name), ParamKind::Type);
        self.signatures.insert(param, signature);
        param
    }

    /// Whether a type parameter stands for a generic function.
    pub fn is_generic_fn(&self, param: TyParam) -> bool {
        self.signatures.contains_key(&param)
    }

    /// The signature of the generic function that `ty` stands for.
    pub fn signature(&self, ty: Ty) -> Option<Signature> {
        match self.kind(ty) {
            TyKind::Param(param) => self.signatures.get(param).cloned(),
            _ => None,
        }
    }

    /// The function that `ty` is, which is passed for `param`, with other type arguments for the signature's
    /// parameters.
    pub fn applied(&mut self, param: TyParam, ty: Ty, args: &[Ty]) -> Option<GenericFn> {
        let TyKind::Generic(passed) = self.kind(ty).clone() else { return None };
        let signature = self.signatures.get(&param)?;
        let with = signature.tparams.iter().copied().zip(args.iter().copied()).collect();
        let args: Vec<Ty> = passed.args.iter().map(|&arg| self.substitute(arg, &with)).collect();
        Some(GenericFn { args: args.into(), ..passed })
    }
}
