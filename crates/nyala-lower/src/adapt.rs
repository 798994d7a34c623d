//! Conversions between two representations of one source type.
//!
//! * `&[T * n]` and `&[T]` are pointers of different types in the graph, alone and
//!   as parts of tuples and parameters of functions.
//! * The return continuation of `fn() -> T` takes the parts of a tuple one by one if
//!   `T` is one; a continuation `fn(T) -> !` written in a generic function takes
//!   `T` as one parameter, also if it is a tuple.

use nyala_ir::{Def, Ty, TyKind};

use crate::lowerer::Lowerer;

impl Lowerer<'_> {
    /// `value` converted to `ty`.
    pub(crate) fn adapt(&mut self, value: Def, ty: Ty) -> Def {
        let from = self.world.ty(value);
        if from == ty {
            return value;
        }
        match (self.world.types.kind(from).clone(), self.world.types.kind(ty).clone()) {
            (TyKind::Tuple(_), TyKind::Tuple(parts)) => {
                let adapted: Vec<Def> = parts
                    .iter()
                    .enumerate()
                    .map(|(i, &part_ty)| {
                        let part = self.world.extract_at(value, i as u32);
                        self.adapt(part, part_ty)
                    })
                    .collect();
                self.world.aggregate(ty, &adapted)
            }
            (TyKind::Cn(takes), TyKind::Cn(given)) => self.adapt_cont(value, &takes, &given),
            _ => self.world.bitcast(ty, value),
        }
    }

    /// A continuation with parameters `given` that calls `value` with its own parameter types.
    fn adapt_cont(&mut self, value: Def, takes: &[Ty], given: &[Ty]) -> Def {
        let cont = self.world.new_cont("adapt", given);
        let params = self.world.cont(cont).params.clone();
        let mut args = vec![params[0]];
        args.extend(self.adapt_args(&params[1..], &takes[1..]));
        self.world.set_body(cont, value, args);
        self.specialize_always(cont);
        self.world.cont_def(cont)
    }

    /// Arguments for parameters of types `takes`: a tuple for its parts, or the reverse.
    pub(crate) fn adapt_args(&mut self, given: &[Def], takes: &[Ty]) -> Vec<Def> {
        let args = match (given, takes) {
            _ if given.len() == takes.len() => given.to_vec(),
            ([tuple], takes) => (0..takes.len()).map(|i| self.world.extract_at(*tuple, i as u32)).collect(),
            (parts, [_]) => vec![self.world.tuple(parts)],
            _ => unreachable!("checking has counted the arguments"),
        };
        args.into_iter().zip(takes).map(|(arg, &ty)| self.adapt(arg, ty)).collect()
    }

    /// Lets calls of `cont` be specialized on all arguments.
    pub(crate) fn specialize_always(&mut self, cont: nyala_ir::Cont) {
        let (always, never) = (self.world.lit_bool(true), self.world.lit_bool(false));
        let n_params = self.world.cont(cont).params.len();
        let filter = std::iter::once(never).chain(std::iter::repeat_n(always, n_params - 1));
        self.world.set_filter(cont, filter);
    }
}
