//! Arithmetic on pairs, such as complex numbers in an array of structs.
//!
//! The lanes of the first and of the second elements are separated when they are loaded, and woven together when they
//! are stored. If both are computed alike, the pairs can stay as they are:
//!
//! ```text
//! %re = fadd %a.re, %b.re
//! %im = fadd %a.im, %b.im        =>   %pairs = fadd %a, %b
//! %pairs = weave %re, %im
//! ```
//!
//! The operands of both may be in another order, or one operand may be the same for both, as in products of complex
//! numbers. Then a shuffle within pairs makes that operand, which takes one instruction on any processor. A difference
//! and a sum are computed both, and blended: LLVM knows the instructions that do so at once. That comes after LLVM's
//! optimizations, which have brought the operations together.

use std::ffi::{c_int, c_uint};

use super::Llvm;
use super::api::{Api, Ref};
use super::compile::Module;

/// `LLVMOpcode`s.
const ADD: c_int = 8;
const FLOAT_ADD: c_int = 9;
const SUB: c_int = 10;
const FLOAT_SUB: c_int = 11;
const MUL: c_int = 12;
const FLOAT_MUL: c_int = 13;
const FLOAT_DIV: c_int = 16;
const AND: c_int = 23;
const OR: c_int = 24;
const XOR: c_int = 25;
const SHUFFLE_VECTOR: c_int = 52;

/// The deepest nesting of operations that are examined.
const MAX_DEPTH: u32 = 6;

/// How a vector of pairs is computed.
#[derive(Clone, Debug)]
enum Woven {
    /// Elements of pairs in memory: for both elements of a pair, which element of the other pair it is.
    Pairs(Ref, [u32; 2]),
    /// The lanes of two constants.
    Constants(Ref, Ref),
    /// An operation on pairs: the operation for both elements, the first of which has the flags.
    Operation([c_int; 2], Ref, Box<[Woven; 2]>),
}

impl Woven {
    /// The number of shuffles.
    fn cost(&self) -> usize {
        match self {
            Woven::Pairs(_, [0, 1]) | Woven::Constants(..) => 0,
            Woven::Pairs(..) => 1,
            Woven::Operation(_, _, operands) => operands.iter().map(Woven::cost).sum(),
        }
    }
}

/// Lets the arithmetic of an optimized module work on pairs.
///
/// # Safety
/// No other code uses the module.
pub(super) unsafe fn keep(llvm: &Llvm, module: &Module<'_>) {
    let api = &llvm.api;
    // SAFETY: the caller's promise. The builder is disposed of once.
    unsafe {
        let functions = module.functions().into_iter().filter(|&it| (api.LLVMIsDeclaration)(it) == 0);
        let blocks = functions
            .flat_map(|it| list((api.LLVMGetFirstBasicBlock)(it), |it| (api.LLVMGetNextBasicBlock)(it)));
        let instructions = blocks
            .flat_map(|it| list((api.LLVMGetFirstInstruction)(it), |it| (api.LLVMGetNextInstruction)(it)));
        let weaves = instructions.filter(|&it| is_weave(api, it));
        let pairs = Pairs { api };
        let found: Vec<(Ref, Woven)> = weaves
            .filter_map(|it| {
                let [first, second] = [0, 1].map(|at| (api.LLVMGetOperand)(it, at));
                Some((it, pairs.woven(first, second, MAX_DEPTH)?))
            })
            .filter(|(_, woven)| matches!(woven, Woven::Operation(..)))
            .collect();
        if found.is_empty() {
            return;
        }
        let builder = (api.LLVMCreateBuilderInContext)(module.context);
        let writer = Writer { api, context: module.context, builder };
        for (weave, woven) in found {
            (api.LLVMPositionBuilderBefore)(builder, weave);
            (api.LLVMReplaceAllUsesWith)(weave, writer.write(&woven));
            (api.LLVMInstructionEraseFromParent)(weave);
        }
        (api.LLVMDisposeBuilder)(builder);
    }
}

/// The members of one of LLVM's lists.
fn list(first: Ref, next: impl Fn(Ref) -> Ref) -> Vec<Ref> {
    let some = |member: Ref| (!member.is_null()).then_some(member);
    std::iter::successors(some(first), |&member| some(next(member))).collect()
}

/// Whether an instruction is a shuffle in this order.
///
/// # Safety
/// The value is alive.
unsafe fn is_shuffle(api: &Api, value: Ref, order: impl Fn(c_uint) -> c_uint) -> bool {
    // SAFETY: the caller's promise; only shuffles are asked for their order.
    unsafe {
        opcode(api, value) == Some(SHUFFLE_VECTOR)
            && (0..(api.LLVMGetNumMaskElements)(value))
                .all(|at| (api.LLVMGetMaskValue)(value, at) == order(at) as c_int)
    }
}

/// Whether an instruction weaves the lanes of two vectors.
///
/// # Safety
/// The value is alive.
unsafe fn is_weave(api: &Api, value: Ref) -> bool {
    // SAFETY: the caller's promise; the operands of a shuffle are vectors.
    unsafe {
        if opcode(api, value) != Some(SHUFFLE_VECTOR) {
            return false;
        }
        let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)((api.LLVMGetOperand)(value, 0)));
        (api.LLVMGetNumMaskElements)(value) == 2 * n
            && is_shuffle(api, value, |at| if at.is_multiple_of(2) { at / 2 } else { n + at / 2 })
    }
}

/// # Safety
/// The value is alive.
unsafe fn opcode(api: &Api, value: Ref) -> Option<c_int> {
    // SAFETY: the caller's promise.
    unsafe { (!(api.LLVMIsAInstruction)(value).is_null()).then(|| (api.LLVMGetInstructionOpcode)(value)) }
}

/// Finds what can be computed on pairs. Its methods are unsafe for the same reason: all values are alive.
struct Pairs<'a> {
    api: &'a Api,
}

impl Pairs<'_> {
    /// How to compute the pairs of the lanes of two vectors.
    unsafe fn woven(&self, first: Ref, second: Ref, depth: u32) -> Option<Woven> {
        let api = self.api;
        // SAFETY: see `Pairs`; the operations have two operands.
        unsafe {
            if let (Some((pairs, a)), Some((others, b))) = (self.element(first), self.element(second)) {
                return (pairs == others).then_some(Woven::Pairs(pairs, [a, b]));
            }
            if [first, second].iter().all(|&it| (api.LLVMIsConstant)(it) != 0) {
                let is_list = [first, second].iter().all(|&it| self.is_list(it));
                return is_list.then_some(Woven::Constants(first, second));
            }
            let depth = depth.checked_sub(1)?;
            if first == second || !self.is_used_once(first) || !self.is_used_once(second) {
                return None;
            }
            let opcodes = [opcode(api, first)?, opcode(api, second)?];
            let is_alike = match opcodes {
                [FLOAT_ADD, FLOAT_SUB] | [FLOAT_SUB, FLOAT_ADD] => true,
                [
                    ADD | FLOAT_ADD | SUB | FLOAT_SUB | MUL | FLOAT_MUL | FLOAT_DIV | AND | OR | XOR,
                    second,
                ] => opcodes[0] == second,
                _ => false,
            };
            if !is_alike {
                return None;
            }
            let [a, b] = [first, second].map(|it| [0, 1].map(|at| (api.LLVMGetOperand)(it, at)));
            let commutes = |opcode: c_int| !matches!(opcode, SUB | FLOAT_SUB | FLOAT_DIV);
            let mut orders = vec![(a, b)];
            if commutes(opcodes[1]) {
                orders.push((a, [b[1], b[0]]));
            } else if commutes(opcodes[0]) {
                orders.push(([a[1], a[0]], b));
            }
            let operands = orders
                .into_iter()
                .filter_map(|(a, b)| Some([self.woven(a[0], b[0], depth)?, self.woven(a[1], b[1], depth)?]));
            let cheapest = operands.min_by_key(|operands| operands.iter().map(Woven::cost).sum::<usize>())?;
            Some(Woven::Operation(opcodes, first, Box::new(cheapest)))
        }
    }

    /// The pairs of which a vector has the first or the second elements, if it does. They are not woven, so that they
    /// stay.
    unsafe fn element(&self, value: Ref) -> Option<(Ref, u32)> {
        let api = self.api;
        // SAFETY: see `Pairs`; the operands of a shuffle are vectors.
        unsafe {
            (opcode(api, value)? == SHUFFLE_VECTOR).then_some(())?;
            let pairs = (api.LLVMGetOperand)(value, 0);
            let n = (api.LLVMGetNumMaskElements)(value);
            let has_all = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(pairs)) == 2 * n;
            let element = (0..2).find(|&element| is_shuffle(api, value, |at| 2 * at + element))?;
            (has_all && !is_weave(api, pairs)).then_some((pairs, element))
        }
    }

    /// Whether the elements of a constant vector are known.
    unsafe fn is_list(&self, constant: Ref) -> bool {
        let api = self.api;
        // SAFETY: see `Pairs`.
        unsafe {
            let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(constant));
            (0..n).all(|at| !(api.LLVMGetAggregateElement)(constant, at).is_null())
        }
    }

    unsafe fn is_used_once(&self, value: Ref) -> bool {
        let api = self.api;
        // SAFETY: see `Pairs`.
        unsafe {
            let first = (api.LLVMGetFirstUse)(value);
            !first.is_null() && (api.LLVMGetNextUse)(first).is_null()
        }
    }
}

/// Writes operations on pairs. Its methods are unsafe for the same reason: all values are alive, and no other code uses
/// their module.
struct Writer<'a> {
    api: &'a Api,
    context: Ref,
    builder: Ref,
}

impl Writer<'_> {
    unsafe fn write(&self, woven: &Woven) -> Ref {
        let api = self.api;
        // SAFETY: see `Writer`; the elements of a constant are constants.
        unsafe {
            match woven {
                Woven::Pairs(pairs, [0, 1]) => *pairs,
                Woven::Pairs(pairs, elements) => {
                    let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(*pairs));
                    self.shuffle(*pairs, *pairs, (0..n).map(|at| at / 2 * 2 + elements[at as usize % 2]))
                }
                Woven::Constants(first, second) => {
                    let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(*first));
                    let element = |at: c_uint| {
                        let of = if at.is_multiple_of(2) { *first } else { *second };
                        (api.LLVMGetAggregateElement)(of, at / 2)
                    };
                    let mut elements: Vec<Ref> = (0..2 * n).map(element).collect();
                    (api.LLVMConstVector)(elements.as_mut_ptr(), 2 * n)
                }
                Woven::Operation([first, second], flags, operands) => {
                    let [a, b] = [0, 1].map(|at: usize| self.write(&operands[at]));
                    let of_first = self.operation(*first, a, b, *flags);
                    if first == second {
                        return of_first;
                    }
                    let of_second = self.operation(*second, a, b, *flags);
                    let n = (api.LLVMGetVectorSize)((api.LLVMTypeOf)(a));
                    self.shuffle(
                        of_first,
                        of_second,
                        (0..n).map(|at| if at.is_multiple_of(2) { at } else { n + at }),
                    )
                }
            }
        }
    }

    unsafe fn operation(&self, opcode: c_int, a: Ref, b: Ref, flags: Ref) -> Ref {
        let api = self.api;
        // SAFETY: see `Writer`; only operations on floats have flags, and folded ones are constants.
        unsafe {
            let value = (api.LLVMBuildBinOp)(self.builder, opcode, a, b, c"".as_ptr());
            let is_float = matches!(opcode, FLOAT_ADD | FLOAT_SUB | FLOAT_MUL | FLOAT_DIV);
            if is_float && !(api.LLVMIsAInstruction)(value).is_null() {
                (api.LLVMSetFastMathFlags)(value, (api.LLVMGetFastMathFlags)(flags));
            }
            value
        }
    }

    /// Lanes of two vectors; those of the second one are numbered behind those of the first.
    unsafe fn shuffle(&self, a: Ref, b: Ref, lanes: impl Iterator<Item = u32>) -> Ref {
        let api = self.api;
        // SAFETY: see `Writer`.
        unsafe {
            let int = (api.LLVMInt32TypeInContext)(self.context);
            let mut order: Vec<Ref> = lanes.map(|lane| (api.LLVMConstInt)(int, u64::from(lane), 0)).collect();
            let order = (api.LLVMConstVector)(order.as_mut_ptr(), order.len() as c_uint);
            (api.LLVMBuildShuffleVector)(self.builder, a, b, order, c"".as_ptr())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::llvm::testing::x86_assembly;

    /// The assembly of a function that loads two arrays of pairs, computes `%re` and `%im` of their elements, and
    /// stores them.
    fn assembly(body: &str, cpu: &str) -> String {
        let order = |step: u32, n: u32, lane: &dyn Fn(u32) -> u32| {
            let lanes: Vec<String> = (0..n).map(|at| format!("i32 {}", lane(at * step))).collect();
            format!("<{n} x i32> <{}>", lanes.join(", "))
        };
        let (even, odd) = (order(2, 8, &|at| at), order(2, 8, &|at| at + 1));
        let weave = order(1, 16, &|at| at / 2 + at % 2 * 8);
        let pairs = "<16 x float>";
        let mut text = "define void @f(ptr %p, ptr %q, ptr %r) {\n".to_owned();
        for (name, from) in [("a", "p"), ("b", "q")] {
            text += &format!("  %{name} = load {pairs}, ptr %{from}, align 4\n");
            text += &format!("  %{name}.re = shufflevector {pairs} %{name}, {pairs} poison, {even}\n");
            text += &format!("  %{name}.im = shufflevector {pairs} %{name}, {pairs} poison, {odd}\n");
        }
        text += body;
        text += &format!("  %w = shufflevector <8 x float> %re, <8 x float> %im, {weave}\n");
        text += &format!("  store {pairs} %w, ptr %r, align 4\n  ret void\n}}\n");
        x86_assembly(&text, cpu)
    }

    const PROCESSORS: [&str; 2] = ["x86-64-v3", "znver5"];

    /// Whether an instruction moves lanes from one part of 128 bits to another.
    fn crosses(code: &str) -> bool {
        ["vperm2", "vpermp", "vpermt2", "vpermi2", "vunpck", "vinsert"].iter().any(|name| code.contains(name))
    }

    #[test]
    fn sums_of_pairs_need_no_shuffle() {
        let body = "  %re = fadd <8 x float> %a.re, %b.re\n  %im = fadd <8 x float> %b.im, %a.im\n";
        for cpu in PROCESSORS {
            let code = assembly(body, cpu);
            assert!(!crosses(&code) && !code.contains("vshuf") && code.contains("vaddps"), "{code}");
        }
    }

    #[test]
    fn products_of_complex_numbers_are_shuffled_within_pairs() {
        let body = "  %rr = fmul fast <8 x float> %a.re, %b.re
  %ii = fmul fast <8 x float> %a.im, %b.im
  %re = fsub fast <8 x float> %rr, %ii
  %ri = fmul fast <8 x float> %a.re, %b.im
  %ir = fmul fast <8 x float> %a.im, %b.re
  %im = fadd fast <8 x float> %ir, %ri\n";
        for cpu in PROCESSORS {
            let code = assembly(body, cpu);
            assert!(!crosses(&code) && code.contains("vfmaddsub"), "{code}");
        }
    }

    #[test]
    fn elements_of_different_arrays_are_woven() {
        let body = "  %re = fadd <8 x float> %a.re, %b.im\n  %im = fmul <8 x float> %a.im, %b.re\n";
        assert!(crosses(&assembly(body, "x86-64-v3")));
    }
}
