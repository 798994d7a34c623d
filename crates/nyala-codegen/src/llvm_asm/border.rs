//! Values that are passed to and from C, as `abi` decides; `export` has the functions that C calls.
//!
//! In the program an aggregate is one value. It is converted to what C passes by way of a local variable, which LLVM
//! removes where it can.

use nyala_ir::Ty;
use nyala_ir::layout::{Layout, sequence};
use nyala_span::Span;

use super::ModuleWriter;
use super::abi::{Pass, Piece, Signature, signature};
use super::closures::closure_value;
use super::function::FunctionWriter;
use super::value::Type;
use crate::skeleton::names::Names;

/// A function that is being written: instructions and local variables.
pub(crate) trait Code {
    /// Writes an instruction that computes something.
    fn compute(&mut self, wanted: &str, instruction: String) -> String;
    /// Writes an instruction.
    fn line(&mut self, instruction: String);
    /// A local variable.
    fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String;
}

impl Code for FunctionWriter<'_, '_> {
    fn compute(&mut self, wanted: &str, instruction: String) -> String {
        FunctionWriter::compute(self, wanted, instruction)
    }

    fn line(&mut self, instruction: String) {
        FunctionWriter::line(self, instruction);
    }

    fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String {
        FunctionWriter::local(self, wanted, ty, align)
    }
}

/// How a value is passed to or from C.
#[derive(Clone)]
pub(crate) struct CPassing {
    ty: Type,
    layout: Layout,
    pass: Pass,
    /// For the result of a C function that is a function: code that calls it; see `c_functions`.
    code: Option<String>,
}

impl CPassing {
    /// The types of the C parameters, with attributes.
    pub(crate) fn params(&self) -> Vec<String> {
        let CPassing { ty, layout, pass, .. } = self;
        match pass {
            Pass::Nothing => vec![],
            Pass::Direct("") => vec![ty.to_string()],
            Pass::Direct(extension) => vec![format!("{ty} {extension}")],
            Pass::Pieces(pieces) => pieces.iter().map(|piece| piece.ty.to_string()).collect(),
            Pass::Stack => vec![format!("ptr byval({ty}) align {}", layout.align.max(8))],
            Pass::Address => {
                let Layout { size, align } = layout;
                vec![format!("ptr noalias noundef nonnull dereferenceable({size}) align {align}")]
            }
        }
    }

    /// The type of the C result, and the parameter with its address if it is returned in memory.
    pub(crate) fn result(&self) -> (String, Option<String>) {
        let CPassing { ty, layout, pass, .. } = self;
        match pass {
            Pass::Nothing => ("void".into(), None),
            Pass::Direct("") => (ty.to_string(), None),
            Pass::Direct(extension) => (format!("{extension} {ty}"), None),
            Pass::Pieces(pieces) => (pieces_type(pieces).to_string(), None),
            Pass::Stack | Pass::Address => {
                ("void".into(), Some(format!("ptr noalias sret({ty}) align {}", layout.align)))
            }
        }
    }

    /// A variable with space for the value and for all its pieces.
    fn variable(&self, code: &mut impl Code) -> String {
        let bytes = self.layout.size.next_multiple_of(8);
        code.local("crossing", &Type::array(bytes, &Type::I8), self.layout.align.max(8))
    }

    /// The C arguments for a value of the program.
    fn pass_to_c(&self, code: &mut impl Code, value: &str) -> Vec<String> {
        match &self.pass {
            Pass::Nothing => vec![],
            Pass::Direct(_) => vec![value.into()],
            Pass::Pieces(pieces) => {
                let variable = self.stored(code, value);
                pieces.iter().map(|piece| load_piece(code, &variable, piece)).collect()
            }
            Pass::Stack | Pass::Address => vec![self.stored(code, value)],
        }
    }

    fn stored(&self, code: &mut impl Code, value: &str) -> String {
        let variable = self.variable(code);
        code.line(format!("store {} {value}, ptr {variable}, align {}", self.ty, self.layout.align));
        variable
    }

    /// The value of the program for these C arguments.
    fn take_from_c(&self, code: &mut impl Code, values: &[String]) -> String {
        match &self.pass {
            Pass::Nothing => "zeroinitializer".into(),
            Pass::Direct(_) => match &self.code {
                Some(function) => closure_value(code, function, &values[0]),
                None => values[0].clone(),
            },
            Pass::Pieces(pieces) => {
                let variable = self.variable(code);
                for (piece, value) in pieces.iter().zip(values) {
                    let at = piece_address(code, &variable, piece);
                    code.line(format!("store {} {value}, ptr {at}, align {}", piece.ty, piece_align(piece)));
                }
                self.loaded(code, &variable)
            }
            Pass::Stack | Pass::Address => self.loaded(code, &values[0]),
        }
    }

    fn loaded(&self, code: &mut impl Code, address: &str) -> String {
        code.compute("arrived", format!("load {}, ptr {address}, align {}", self.ty, self.layout.align))
    }
}

/// The result type of a function that returns these pieces.
fn pieces_type(pieces: &[Piece]) -> Type {
    match pieces {
        [one] => one.ty.clone(),
        several => {
            let types: Vec<Type> = several.iter().map(|piece| piece.ty.clone()).collect();
            Type::structure(&types)
        }
    }
}

/// Variables are aligned to 8 bytes, and pieces as far as their offset allows.
fn piece_align(piece: &Piece) -> u64 {
    1 << piece.offset.trailing_zeros().min(3)
}

fn piece_address(code: &mut impl Code, variable: &str, piece: &Piece) -> String {
    match piece.offset {
        0 => variable.into(),
        offset => code.compute("piece", format!("getelementptr inbounds i8, ptr {variable}, i64 {offset}")),
    }
}

fn load_piece(code: &mut impl Code, variable: &str, piece: &Piece) -> String {
    let at = piece_address(code, variable, piece);
    code.compute("piece", format!("load {}, ptr {at}, align {}", piece.ty, piece_align(piece)))
}

/// How the parameters and the result of a C function are passed.
pub(crate) struct CSignature {
    params: Vec<CPassing>,
    result: CPassing,
}

impl CSignature {
    /// The types of all parameters, the address of the result first.
    pub(crate) fn param_types(&self) -> Vec<String> {
        let place = self.result.result().1;
        place.into_iter().chain(self.params.iter().flat_map(CPassing::params)).collect()
    }

    /// The type of the result.
    pub(crate) fn result_type(&self) -> String {
        self.result.result().0
    }

    /// Calls a C function with values of the program; gives the result as one value, if there is one.
    pub(crate) fn call(&self, code: &mut impl Code, callee: &str, values: &[String]) -> Option<String> {
        let place = self.result.result().1.map(|_| self.result.variable(code));
        let mut args: Vec<String> = place.clone().into_iter().collect();
        for (passing, value) in self.params.iter().zip(values) {
            args.extend(passing.pass_to_c(code, value));
        }
        let typed: Vec<String> =
            self.param_types().iter().zip(&args).map(|(ty, arg)| format!("{ty} {arg}")).collect();
        let call = format!("call {} {callee}({})", self.result_type(), typed.join(", "));
        match (&self.result.pass, place) {
            (Pass::Nothing, _) => {
                code.line(call);
                None
            }
            (_, Some(place)) => {
                code.line(call);
                Some(self.result.take_from_c(code, &[place]))
            }
            (Pass::Pieces(pieces), None) if pieces.len() > 1 => {
                let all = code.compute("result", call);
                let ty = pieces_type(pieces);
                let part = |i: usize| format!("extractvalue {ty} {all}, {i}");
                let parts: Vec<String> = (0..pieces.len()).map(|i| code.compute("result", part(i))).collect();
                Some(self.result.take_from_c(code, &parts))
            }
            _ => {
                let one = code.compute("result", call);
                Some(self.result.take_from_c(code, &[one]))
            }
        }
    }

    /// The values of the program that a function with this signature is called with.
    pub(crate) fn enter(&self, code: &mut impl Code) -> Vec<String> {
        let mut next = usize::from(self.result.result().1.is_some());
        let mut values = vec![];
        for passing in &self.params {
            let names: Vec<String> =
                (next..next + passing.params().len()).map(|index| format!("%{index}")).collect();
            next += names.len();
            values.push(passing.take_from_c(code, &names));
        }
        values
    }

    /// Returns from a function with this signature.
    pub(crate) fn give_back(&self, code: &mut impl Code, value: Option<&str>) {
        let Some(value) = value else { return code.line("ret void".into()) };
        let CPassing { ty, layout, pass, .. } = &self.result;
        match pass {
            Pass::Nothing => code.line("ret void".into()),
            Pass::Direct(_) => code.line(format!("ret {ty} {value}")),
            Pass::Pieces(pieces) => {
                let values = self.result.pass_to_c(code, value);
                let all = match &values[..] {
                    [one] => one.clone(),
                    several => several.iter().zip(pieces).enumerate().fold(
                        "poison".to_owned(),
                        |all, (i, (value, piece))| {
                            let (whole, part) = (pieces_type(pieces), &piece.ty);
                            code.compute("all", format!("insertvalue {whole} {all}, {part} {value}, {i}"))
                        },
                    ),
                };
                code.line(format!("ret {} {all}", pieces_type(pieces)));
            }
            Pass::Stack | Pass::Address => {
                code.line(format!("store {ty} {value}, ptr %0, align {}", layout.align));
                code.line("ret void".into());
            }
        }
    }
}

impl ModuleWriter<'_> {
    /// How the parameters and results of a C function are passed.
    pub(crate) fn c_signature(&mut self, params: &[Ty], results: &[Ty], at: Span) -> CSignature {
        let types = &self.world.types;
        let passes = signature(types, self.options.abi, params, results);
        let Signature { params: passes, result } = passes.unwrap_or_else(|ty| {
            let ty = types.display(ty);
            self.unsupported(at, format!("a value of type `{ty}` that is passed to or from C"));
            Signature { params: vec![Pass::Nothing; params.len()], result: Pass::Nothing }
        });
        let layout_of = |parts: &[Ty]| sequence(types, parts.iter().copied());
        let params = params.iter().zip(passes).map(|(&ty, pass)| CPassing {
            ty: self.type_outside(&[ty]),
            layout: layout_of(&[ty]),
            pass,
            code: None,
        });
        let params = params.collect();
        let result = CPassing {
            ty: self.type_outside(results),
            layout: layout_of(results),
            pass: result,
            code: self.code_of_result(results, at),
        };
        CSignature { params, result }
    }

    fn type_outside(&mut self, values: &[Ty]) -> Type {
        match *values {
            [function] if self.world.types.as_cn(function).is_some() => Type::PTR,
            _ => self.types.results(values),
        }
    }
}

/// A function with one block around another function.
pub(crate) struct Wrapper {
    names: Names,
    locals: String,
    lines: String,
    /// The debug location behind each instruction.
    place: String,
}

impl Wrapper {
    /// With a debug location behind each instruction.
    pub(crate) fn at(place: String) -> Wrapper {
        Wrapper { names: Names::new('.'), locals: String::new(), lines: String::new(), place }
    }

    /// Without debug information.
    pub(crate) fn new() -> Wrapper {
        Wrapper::at(String::new())
    }

    /// The text of the block.
    pub(crate) fn text(self) -> String {
        format!("start:\n{}{}", self.locals, self.lines)
    }
}

impl Code for Wrapper {
    fn compute(&mut self, wanted: &str, instruction: String) -> String {
        let name = format!("%{}", self.names.unique(wanted));
        self.line(format!("{name} = {instruction}"));
        name
    }

    fn line(&mut self, instruction: String) {
        self.lines += &format!("  {instruction}{}\n", self.place);
    }

    fn local(&mut self, wanted: &str, ty: &Type, align: u64) -> String {
        let name = format!("%{}", self.names.unique(wanted));
        self.locals += &format!("  {name} = alloca {ty}, align {align}\n");
        name
    }
}
