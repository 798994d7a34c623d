//! The boundary between compiled programs and the compiler: arguments and results in arrays of words.

use std::rc::Rc;

use nyala_ir::{Def, Linkage, Prim};
use nyala_span::{Name, Span};

use super::{ENTRY, Lowerer, Place, Site, SiteValue, data_params};
use crate::code::{
    Body, BodyId, BodyKind, Closed, Code, Lambda, LambdaId, Param, ParamId, Stage, Term, Ty, Value,
};
use crate::machine::{Limits, Machine, Memory};
use crate::primitive::Primitive;

/// The compiler's function that specializes and compiles: its site and the values, and the code's address.
pub const COMPILE: &str = "nyala_stage_compile";

/// The compiler's function that calls compiled code: its address, the arguments and the result.
pub const CALL: &str = "nyala_stage_call";

impl Lowerer<'_> {
    /// `entry(args, out)`, which calls the function with the words of `args` and writes its result to `out`.
    pub(super) fn entry(&mut self, code: &Rc<Code>) -> Ty {
        let function = self.function(code);
        let var = self.types.function(code);
        let ty = self.types.resolve(var).unwrap_or(Ty::Stage);
        let Some((params, results)) = signature(&ty) else {
            self.error(
                code.lambda(code.root).span,
                "a compiled function takes numbers and pointers, and last its continuation",
            );
            return ty;
        };
        let words = self.ty(&Ty::Ptr(Prim::I64));
        let mem = self.world.types.mem();
        let ret = self.world.types.cn(&[mem]);
        let entry = self.world.new_cont(ENTRY, &[mem, words, words, ret]);
        self.world.set_linkage(entry, Linkage::Exported(Name::new(ENTRY)));
        let [mut mem, args, out, ret] = self.world.cont(entry).params[..] else {
            unreachable!("it was made with four")
        };
        let mut values = vec![];
        for (index, param) in params.iter().enumerate() {
            let at = self.word(args, index, param);
            let (next, value) = self.world.load(mem, at);
            mem = next;
            values.push(value);
        }
        let result_types: Vec<nyala_ir::Ty> = std::iter::once(self.world.types.mem())
            .chain(results.iter().map(|ty| self.ty(ty)).collect::<Vec<_>>())
            .collect();
        let done = self.world.new_cont("done", &result_types);
        let done_def = self.world.cont_def(done);
        self.world.set_body(entry, function, [mem].into_iter().chain(values).chain([done_def]));
        let mut mem = self.world.param(done, 0);
        if let Some(result) = results.first() {
            let (at, value) = (self.word(out, 0, result), self.world.param(done, 1));
            mem = self.world.store(mem, at, value);
        }
        self.world.set_body(done, ret, [mem]);
        ty
    }

    /// The address of word `index` as a pointer to a value of type `ty`.
    fn word(&mut self, words: Def, index: usize, ty: &Ty) -> Def {
        let index = self.world.lit_i64(index as i64);
        let at = self.world.lea(words, index);
        let ty = self.ty(ty);
        let ptr = self.world.types.ptr(ty, 0);
        self.world.bitcast(ptr, at)
    }

    /// A local array of words with these values, as `&[i64]`.
    fn words(&mut self, values: &[(Def, Ty)], len: usize, place: &mut Place) -> Def {
        let long = self.world.types.prim(Prim::I64);
        let array = self.world.types.array(long, len.max(1) as u64);
        let (mem, slot) = self.world.slot(place.mem, array);
        place.mem = mem;
        let slice = self.ty(&Ty::Ptr(Prim::I64));
        let words = self.world.bitcast(slice, slot);
        for (index, (value, ty)) in values.iter().enumerate() {
            let zero = self.world.lit_i64(0);
            let at = self.word(words, index, &Ty::Scalar(Prim::I64));
            place.mem = self.world.store(place.mem, at, zero);
            let at = self.word(words, index, ty);
            place.mem = self.world.store(place.mem, at, *value);
        }
        words
    }

    /// `compile f`: a call of the compiler, and a function that calls the code which it returns.
    pub(super) fn compile(
        &mut self,
        code: &Rc<Code>,
        function: &Value,
        mut place: Place,
        span: Span,
    ) -> Option<(Def, Place)> {
        let ty = self.value_ty(code, function, span);
        let Some((params, results)) = signature(&ty) else {
            self.error(span, "a compiled function takes numbers and pointers, and last its continuation");
            return None;
        };
        let (site, values) = self.site(code, function, &ty, span)?;
        let n_values = values.len();
        let values = self.words(&values, n_values, &mut place);
        let long = self.world.types.prim(Prim::I64);
        let number = self.world.lit_i64(site as i64);
        let (address, place) = self.call_import(COMPILE, &[number, values], Some(long), place);
        let address = address.expect("it has a result");
        Some((self.wrapper(address, &ty, &params, &results), place))
    }

    /// A function with the type of the compiled one, which calls its code.
    fn wrapper(&mut self, address: Def, ty: &Ty, params: &[Ty], results: &[Ty]) -> Def {
        let cn = self.ty(ty);
        let wrapper = self.world.new_cont_of("compiled", cn);
        let mut place = Place { cont: wrapper, mem: self.world.param(wrapper, 0) };
        let args: Vec<(Def, Ty)> = params
            .iter()
            .enumerate()
            .map(|(at, ty)| (self.world.param(wrapper, at + 1), ty.clone()))
            .collect();
        let n_args = args.len();
        let args = self.words(&args, n_args, &mut place);
        let out = self.words(&[], 1, &mut place);
        let (_, mut place) = self.call_import(CALL, &[address, args, out], None, place);
        let mut values = vec![];
        if let Some(result) = results.first() {
            let at = self.word(out, 0, result);
            let (mem, value) = self.world.load(place.mem, at);
            place.mem = mem;
            values.push(value);
        }
        let ret = self.world.param(wrapper, params.len() + 1);
        self.world.set_body(place.cont, ret, [place.mem].into_iter().chain(values));
        self.world.cont_def(wrapper)
    }

    /// Keeps a function for specialization at run time; returns its number, and the values that it uses.
    fn site(
        &mut self,
        code: &Rc<Code>,
        function: &Value,
        ty: &Ty,
        span: Span,
    ) -> Option<(usize, Vec<(Def, Ty)>)> {
        let free = match function {
            Term::Lambda(lambda) => free_params(code, *lambda),
            Term::Closed(_) => vec![],
            _ => {
                self.error(span, "`compile` needs a function that is written here");
                return None;
            }
        };
        let (mut words, mut values) = (vec![], vec![]);
        for param in &free {
            let ty = self.param_ty(code, *param, span);
            values.push(match ty {
                Ty::Stage => SiteValue::Stage,
                Ty::Scalar(_) | Ty::Ptr(_) => {
                    words.push((self.value(code, &Term::Param(*param), span), ty.clone()));
                    SiteValue::Word(ty)
                }
                _ if code.lambda(code.root).recursive == Some(*param) => {
                    SiteValue::Function(Closed(code.clone()))
                }
                _ => {
                    let name = code.param(*param).name;
                    let message =
                        format!("`compile` at run time needs `{name}`, which is a function or an aggregate");
                    self.error(span, message);
                    return None;
                }
            });
        }
        let site = Rc::new(site_code(code, function, free));
        self.sites.push(Site { code: site, values, function: ty.clone(), span });
        Some((self.context.first_site + self.sites.len() - 1, words))
    }
}

/// The parameters and results of a function that takes data and last a continuation for data.
pub fn signature(ty: &Ty) -> Option<(Vec<Ty>, Vec<Ty>)> {
    let Ty::Fn(params) = ty else { return None };
    let (last, params) = params.split_last()?;
    let Ty::Fn(results) = last else { return None };
    let is_data = |ty: &&Ty| matches!(ty, Ty::Scalar(_) | Ty::Ptr(_));
    let params: Vec<Ty> = data_params(params).cloned().collect();
    let results: Vec<Ty> = data_params(results).cloned().collect();
    let is_valid = params.iter().all(|ty| is_data(&ty)) && results.iter().all(|ty| is_data(&ty));
    (is_valid && results.len() <= 1).then_some((params, results))
}

/// The parameters that a function uses and does not bind, in order.
fn free_params(code: &Code, lambda: LambdaId) -> Vec<ParamId> {
    let (mut bound, mut used) = (vec![false; code.params.len()], vec![]);
    let mut bodies = vec![];
    let mut lambdas = vec![lambda];
    while let Some(lambda) = lambdas.pop() {
        let Lambda { params, stage, recursive, body, .. } = code.lambda(lambda);
        params.iter().chain([stage]).chain(recursive).for_each(|param| bound[param.0 as usize] = true);
        bodies.push(*body);
        while let Some(body) = bodies.pop() {
            let Body { stage, kind, .. } = code.body(body);
            stage.for_each_param(&mut |param| used.push(param));
            match kind {
                BodyKind::Fix { param, function, rest } => {
                    bound[param.0 as usize] = true;
                    lambdas.push(*function);
                    bodies.push(*rest);
                }
                BodyKind::Apply { callee, args } => {
                    for value in std::iter::once(callee).chain(args) {
                        value.for_each_part(&mut |part| match part {
                            Term::Param(param) => used.push(*param),
                            Term::Lambda(lambda) => lambdas.push(*lambda),
                            _ => {}
                        });
                    }
                }
            }
        }
    }
    used.retain(|param| !bound[param.0 as usize]);
    used.sort_unstable();
    used.dedup();
    used
}

/// `λ free. exit function`, without the rest of the program.
fn site_code(code: &Code, function: &Value, free: Vec<ParamId>) -> Code {
    let mut whole = code.clone();
    whole.params.push(Param { name: Name::new("_"), ty: Some(Ty::Stage) });
    let stage = ParamId(whole.params.len() as u32 - 1);
    let exit = BodyKind::Apply { callee: Term::Primitive(Primitive::Exit), args: vec![function.clone()] };
    whole.bodies.push(Body { stage: Stage::Always, kind: exit, span: Span::NONE });
    let body = BodyId(whole.bodies.len() as u32 - 1);
    whole.lambdas.push(Lambda { params: free, stage, recursive: None, body, span: Span::NONE });
    whole.root = LambdaId(whole.lambdas.len() as u32 - 1);
    Machine::new(&whole, Memory::default(), Limits::default()).snapshot().0
}
