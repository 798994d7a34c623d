//! Values that cross the border to C; `export` has the functions that C calls.
//!
//! Inside, an aggregate is one value. What `abi` says it is outside is made by way of
//! a variable, which LLVM removes where it can.

use nyala_ir::Ty;
use nyala_ir::layout::{Layout, sequence};
use nyala_span::Span;

use super::ModuleWriter;
use super::abi::{Pass, Piece, Signature, signature};
use super::closures::made_function;
use super::function::FunctionWriter;
use super::value::Type;
use crate::skeleton::names::Names;

/// A function in the making, as far as the border is concerned.
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

/// The type of a value on this side of the border, and its way to the other side.
#[derive(Clone)]
pub(crate) struct Crossing {
    ty: Type,
    layout: Layout,
    pass: Pass,
    /// The code of a function of C that arrives; see `c_functions`.
    code: Option<String>,
}

impl Crossing {
    /// The types of the parameters outside: what a declaration says.
    pub(crate) fn params(&self) -> Vec<String> {
        let Crossing { ty, layout, pass, .. } = self;
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

    /// The type of the result outside, and the parameter that says where to put it
    /// if it is in memory.
    pub(crate) fn result(&self) -> (String, Option<String>) {
        let Crossing { ty, layout, pass, .. } = self;
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

    /// A variable that a value of this type, and all its pieces, fit in.
    fn variable(&self, code: &mut impl Code) -> String {
        let bytes = self.layout.size.next_multiple_of(8);
        code.local("crossing", &Type::array(bytes, &Type::I8), self.layout.align.max(8))
    }

    /// Gives a value to the other side, as the values that cross.
    fn leave(&self, code: &mut impl Code, value: &str) -> Vec<String> {
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

    /// The value that the other side gave as these values.
    fn arrive(&self, code: &mut impl Code, values: &[String]) -> String {
        match &self.pass {
            Pass::Nothing => "zeroinitializer".into(),
            Pass::Direct(_) => match &self.code {
                Some(function) => made_function(code, function, &values[0]),
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

/// What a function returns that returns these pieces.
fn pieces_type(pieces: &[Piece]) -> Type {
    match pieces {
        [one] => one.ty.clone(),
        several => {
            let types: Vec<Type> = several.iter().map(|piece| piece.ty.clone()).collect();
            Type::structure(&types)
        }
    }
}

/// A variable has at least this alignment, and so has each piece as far as its place allows.
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

/// The border of a C function.
pub(crate) struct Border {
    params: Vec<Crossing>,
    result: Crossing,
}

impl Border {
    /// The types of all parameters, the place for a result first.
    pub(crate) fn param_types(&self) -> Vec<String> {
        let place = self.result.result().1;
        place.into_iter().chain(self.params.iter().flat_map(Crossing::params)).collect()
    }

    /// The type of the result.
    pub(crate) fn result_type(&self) -> String {
        self.result.result().0
    }

    /// Calls a C function with values of this side; gives the result as one value,
    /// if there is one.
    pub(crate) fn call(&self, code: &mut impl Code, callee: &str, values: &[String]) -> Option<String> {
        let place = self.result.result().1.map(|_| self.result.variable(code));
        let mut args: Vec<String> = place.clone().into_iter().collect();
        for (crossing, value) in self.params.iter().zip(values) {
            args.extend(crossing.leave(code, value));
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
                Some(self.result.arrive(code, &[place]))
            }
            (Pass::Pieces(pieces), None) if pieces.len() > 1 => {
                let all = code.compute("result", call);
                let ty = pieces_type(pieces);
                let part = |i: usize| format!("extractvalue {ty} {all}, {i}");
                let parts: Vec<String> = (0..pieces.len()).map(|i| code.compute("result", part(i))).collect();
                Some(self.result.arrive(code, &parts))
            }
            _ => {
                let one = code.compute("result", call);
                Some(self.result.arrive(code, &[one]))
            }
        }
    }

    /// The values of this side that a C function was called with.
    pub(crate) fn enter(&self, code: &mut impl Code) -> Vec<String> {
        let mut next = usize::from(self.result.result().1.is_some());
        let mut values = vec![];
        for crossing in &self.params {
            let names: Vec<String> =
                (next..next + crossing.params().len()).map(|index| format!("%{index}")).collect();
            next += names.len();
            values.push(crossing.arrive(code, &names));
        }
        values
    }

    /// Returns from a C function.
    pub(crate) fn give_back(&self, code: &mut impl Code, value: Option<&str>) {
        let Some(value) = value else { return code.line("ret void".into()) };
        let Crossing { ty, layout, pass, .. } = &self.result;
        match pass {
            Pass::Nothing => code.line("ret void".into()),
            Pass::Direct(_) => code.line(format!("ret {ty} {value}")),
            Pass::Pieces(pieces) => {
                let values = self.result.leave(code, value);
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
    /// How the parameters and results of a C function cross.
    pub(crate) fn border(&mut self, params: &[Ty], results: &[Ty], at: Span) -> Border {
        let types = &self.world.types;
        let passes = signature(types, self.options.abi, params, results);
        let Signature { params: passes, result } = passes.unwrap_or_else(|ty| {
            let ty = types.display(ty);
            self.unsupported(at, format!("a value of type `{ty}` that is passed to or from C"));
            Signature { params: vec![Pass::Nothing; params.len()], result: Pass::Nothing }
        });
        let layout_of = |parts: &[Ty]| sequence(types, parts.iter().copied());
        let params = params.iter().zip(passes).map(|(&ty, pass)| Crossing {
            ty: self.type_outside(&[ty]),
            layout: layout_of(&[ty]),
            pass,
            code: None,
        });
        let params = params.collect();
        let result = Crossing {
            ty: self.type_outside(results),
            layout: layout_of(results),
            pass: result,
            code: self.code_of_result(results, at),
        };
        Border { params, result }
    }

    fn type_outside(&mut self, values: &[Ty]) -> Type {
        match *values {
            [function] if self.world.types.as_cn(function).is_some() => Type::PTR,
            _ => self.types.results(values),
        }
    }
}

/// The body of a function with one block, around another function.
pub(crate) struct Shell {
    names: Names,
    locals: String,
    lines: String,
    /// What comes behind each instruction; for debuggers.
    place: String,
}

impl Shell {
    /// With something behind each instruction: where it is from.
    pub(crate) fn at(place: String) -> Shell {
        Shell { names: Names::new('.'), locals: String::new(), lines: String::new(), place }
    }

    /// With nothing for debuggers.
    pub(crate) fn new() -> Shell {
        Shell::at(String::new())
    }

    /// The text of the block.
    pub(crate) fn text(self) -> String {
        format!("start:\n{}{}", self.locals, self.lines)
    }
}

impl Code for Shell {
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
