//! Errors as diagnostics: codes and words.

use nyala_span::{Code, Diagnostic, Name, Span};

use super::{Because, Error, Hint, ImmutablePlace, Method, Operand, Write};
use crate::tree::{FnId, Param, PatKind, Program};
use crate::types::{CASTS, Ty, TyKind};

/// What the user sees of an error.
pub(super) fn render(error: Error, program: &Program) -> Diagnostic {
    let render = Render { program };
    render
        .inference(error)
        .or_else(|error| render.name(error))
        .or_else(|error| render.item(error))
        .or_else(|error| render.operator(error))
        .or_else(|error| render.pattern(error))
        .or_else(|error| render.expression(error))
        .unwrap_or_else(|_| unreachable!("every error is in one of these groups"))
}

/// The diagnostic for an error of a group, or the error if it is in another one.
type Attempt = Result<Diagnostic, Error>;

pub(super) fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code(code), span, message)
}

fn plural(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

fn name_list(names: &[Name]) -> String {
    let shown: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn with_similar(diagnostic: Diagnostic, span: Span, similar: Option<Name>) -> Diagnostic {
    match similar {
        Some(name) => {
            diagnostic.with_suggestion(span, name.as_str(), format!("a similar name exists: `{name}`"))
        }
        None => diagnostic,
    }
}

/// Turns errors into diagnostics, with the program at hand for printing types.
pub(super) struct Render<'a> {
    pub(super) program: &'a Program,
}

impl Render<'_> {
    pub(super) fn ty(&self, ty: Ty) -> String {
        format!("`{}`", self.program.types.display(ty))
    }

    fn is_number(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Prim(prim) => prim.is_int() || prim.is_float(),
            _ => false,
        }
    }

    fn inference(&self, error_: Error) -> Attempt {
        Ok(match error_ {
            Error::CannotInfer { what, span, name } => {
                let diagnostic = error("E0201", span, format!("cannot infer {what}; add a type here"));
                match name {
                    Some(name) => diagnostic.with_label(format!("write `{name}: T`")),
                    None => diagnostic,
                }
            }
            Error::CannotInferNumber { name, span } => {
                error("E0201", span, format!("cannot infer the number `{name}`; give it here"))
                    .with_note("lengths of arguments and of the expected type give numbers; computed lengths such as `n + 1` do not")
            }
            Error::LengthMismatch { expected, found, span } => {
                let message = format!("expected length {}, found {}", self.ty(expected), self.ty(found));
                error("E0203", span, message)
            }
            Error::ArgumentCount { expected, cps, found, span, callee, ty } => {
                self.argument_count(expected, cps, found, span, callee, ty)
            }
            Error::Mismatch { expected, found, because, semicolon } => {
                let diagnostic = self.mismatch(expected, found.ty, found.span, because);
                let diagnostic = self.suggest_borrow(diagnostic, found.ty, expected, found.span);
                let diagnostic = self.suggest_cast(diagnostic, found, expected);
                match semicolon {
                    Some(at) => diagnostic.with_secondary(at, "without `;` this would be the value"),
                    None => diagnostic,
                }
            }
            Error::Generator { ty, n_args, span, artic } => {
                let args = (0..n_args).map(|_| "_, ").collect::<String>();
                let list = args.trim_end_matches(", ");
                let shapes = [
                    format!("fn({args}fn(..) -> ..) -> .."),
                    format!("fn(fn(..) -> ..) -> fn({list}) -> .."),
                ];
                let (first, second) = if artic { (&shapes[1], &shapes[0]) } else { (&shapes[0], &shapes[1]) };
                let given = plural(n_args, "argument");
                let label = match self.arguments_of_generator(ty) {
                    Some(n) => {
                        format!("this takes {} besides the body, found {n_args}", plural(n, "argument"))
                    }
                    None => format!("a generator with {given} has another type"),
                };
                error("E0216", span, format!("{} is not a generator for this loop", self.ty(ty)))
                    .with_label(label)
                    .with_note(format!("a generator is a `{first}` or a `{second}`"))
            }
            other => return Err(other),
        })
    }

    /// How many arguments a generator of this type takes besides the body; none if it takes
    /// no body.
    fn arguments_of_generator(&self, ty: Ty) -> Option<usize> {
        let TyKind::Fn { params, .. } = self.program.types.kind(ty) else { return None };
        let (&body, rest) = params.split_last()?;
        matches!(self.program.types.kind(body), TyKind::Fn { .. }).then_some(rest.len())
    }

    fn argument_count(
        &self,
        expected: usize,
        cps: bool,
        found: usize,
        span: Span,
        callee: Option<FnId>,
        ty: Ty,
    ) -> Diagnostic {
        let counts = plural(expected, "argument");
        let message = if cps {
            format!("expected {counts}, or {} with the continuation, found {found}", expected + 1)
        } else {
            format!("expected {counts}, found {found}")
        };
        let diagnostic = error("E0202", span, message).with_label(format!("the callee is a {}", self.ty(ty)));
        match callee {
            Some(id) => {
                let function = &self.program.fns[id];
                diagnostic.with_secondary(function.span, format!("`{}` is declared here", function.name))
            }
            None => diagnostic,
        }
    }

    fn mismatch(&self, expected: Ty, found: Ty, span: Span, because: Because) -> Diagnostic {
        let (want, have) = (self.ty(expected), self.ty(found));
        let diagnostic = error("E0203", span, format!("expected {want}, found {have}"))
            .with_label(format!("this is {have}"));
        let diagnostic = match because {
            Because::Nothing => diagnostic,
            Because::Param(id, index) => match self.program.fns[id].params.get(index) {
                Some(param) => {
                    let parameter = self.described(param);
                    diagnostic.with_secondary(param.span, format!("{parameter} takes {want}"))
                }
                None => diagnostic,
            },
            Because::Written(at) => diagnostic.with_secondary(at, format!("{want} because of this")),
            Because::Result(at) => {
                diagnostic.with_secondary(at, format!("{want} because of this result type"))
            }
            Because::Place(at) => diagnostic.with_secondary(at, format!("this place has type {want}")),
            Because::Arm(at) => diagnostic.with_secondary(at, format!("this arm is {want}")),
            Because::Elem(at) => diagnostic.with_secondary(at, format!("this element is {want}")),
            Because::Field(at) => diagnostic.with_secondary(at, format!("the field is {want}")),
            Because::Condition => diagnostic.with_note("a condition must be a `bool`"),
            Because::Filter => diagnostic.with_note("a filter must be a `bool`"),
            Because::NoElse(at) => diagnostic
                .with_secondary(at, "this `if` has no `else`")
                .with_note("without `else`, the value of an `if` is `()`"),
        };
        if want == have { self.with_definitions(diagnostic, [expected, found]) } else { diagnostic }
    }

    fn described(&self, param: &Param) -> String {
        match param.pat.kind {
            PatKind::Bind(local, None) => format!("parameter `{}`", self.program.locals[local].name),
            _ => "this parameter".to_owned(),
        }
    }

    /// Shows where types of one name are defined.
    fn with_definitions(&self, diagnostic: Diagnostic, tys: [Ty; 2]) -> Diagnostic {
        let defined = tys.into_iter().filter_map(|ty| match *self.program.types.kind(ty) {
            TyKind::Struct(id, _) => Some(self.program.structs[id].span),
            TyKind::Enum(id, _) => Some(self.program.enums[id].span),
            _ => None,
        });
        let labels = ["the expected type is defined here", "the found type is defined here"];
        defined.zip(labels).fold(diagnostic, |it, (span, label)| it.with_secondary(span, label))
    }

    /// How much a number can hold: more of it loses less.
    pub(super) fn rank(&self, ty: Ty) -> Option<(bool, u32)> {
        match self.program.types.kind(ty) {
            TyKind::Prim(prim) => Some((prim.is_float(), prim.bits())),
            _ => None,
        }
    }

    pub(super) fn suggest_cast(&self, diagnostic: Diagnostic, from: Operand, to: Ty) -> Diagnostic {
        if !self.is_number(from.ty) || !self.is_number(to) || from.ty == to {
            return diagnostic;
        }
        let diagnostic = diagnostic.with_note("numbers are never converted implicitly");
        if !from.is_tight {
            return diagnostic;
        }
        let cast = format!(" as {}", self.program.types.display(to));
        diagnostic.with_suggestion(from.span.end(), cast, "convert it")
    }

    fn suggest_borrow(&self, diagnostic: Diagnostic, found: Ty, expected: Ty, span: Span) -> Diagnostic {
        use nyala_syntax::ast::PtrKind;
        match (self.program.types.kind(expected), self.program.types.kind(found)) {
            (TyKind::Ptr { kind: PtrKind::Mut, pointee, .. }, _) if *pointee == found => {
                diagnostic.with_suggestion(span.start(), "&mut ", "take the address")
            }
            (_, TyKind::Ptr { pointee, .. }) if *pointee == expected => {
                diagnostic.with_suggestion(span.start(), "*", "read through the pointer")
            }
            _ => diagnostic,
        }
    }

    fn expression(&self, error_: Error) -> Attempt {
        Ok(match error_ {
            Error::NotCallable { ty, span } => {
                error("E0204", span, format!("{} can be neither called nor indexed", self.ty(ty)))
                    .with_label(format!("this is {}", self.ty(ty)))
                    .with_note(
                        "functions can be called; arrays, vectors, and pointers to them can be indexed",
                    )
            }
            Error::IndexType { ty, span } => {
                error("E0205", span, format!("an index must be an integer, found {}", self.ty(ty)))
            }
            Error::IndexCount { found, span } => {
                let message = format!("an index is one integer, found {}", plural(found, "argument"));
                error("E0205", span, message).with_note("an array of arrays is indexed twice: `a(i)(j)`")
            }
            Error::TupleIndex { ty, span } => {
                error("E0206", span, format!("invalid index into {}", self.ty(ty)))
                    .with_label("must be a literal below the number of elements")
            }
            Error::MissingFields { of, names, span } => {
                let fields = if names.len() == 1 { "field" } else { "fields" };
                error("E0207", span, format!("missing {fields} {} of `{of}`", name_list(&names)))
            }
            Error::NoSuchField { ty, name, span, similar } => {
                let diagnostic = error("E0208", span, format!("{} has no field `{name}`", self.ty(ty)));
                with_similar(diagnostic, span, similar)
            }
            Error::StructNeeded { ty, span, method } => {
                let diagnostic = error("E0209", span, format!("{} has no fields", self.ty(ty)));
                match (self.program.types.kind(ty), method) {
                    (_, Some(Method::Function(name))) => {
                        diagnostic.with_note(format!("there are no methods; call the function: `{name}(..)`"))
                    }
                    (TyKind::Array(..), Some(Method::Length)) => {
                        diagnostic.with_note("the length of an array is part of its type")
                    }
                    (_, Some(Method::Length)) => {
                        diagnostic.with_note("it has no length; pass the length as a parameter")
                    }
                    (TyKind::Ptr { .. }, None) => {
                        diagnostic.with_note("field access dereferences one pointer only")
                    }
                    _ => diagnostic,
                }
            }
            Error::FieldTwice { name, span, first } => {
                error("E0210", span, format!("field `{name}` is given twice"))
                    .with_secondary(first, "first given here")
            }
            Error::BadCast { from, to, span } => {
                error("E0213", span, format!("{} cannot be cast to {}", self.ty(from), self.ty(to)))
                    .with_note(CASTS)
            }
            Error::NotAPointer { ty, span } => {
                error("E0214", span, format!("{} is not a pointer", self.ty(ty)))
                    .with_label("only pointers can be dereferenced")
            }
            Error::AsmOperand { ty, span } => {
                error("E0217", span, format!("{} cannot be an operand of `asm`", self.ty(ty)))
                    .with_note("operands are numbers, `bool`, pointers, or vectors")
            }
            Error::Unreachable { span, jump } => {
                error("E0218", span, "this code is never reached").with_secondary(jump, "this never returns")
            }
            Error::LiteralRange { text, ty, span } => {
                error("E0220", span, format!("literal `{text}` is out of range for {}", self.ty(ty)))
            }
            Error::BodyParams { expected, found, span, ty } => {
                let message = format!("expected {}, found {found}", plural(expected, "parameter"));
                error("E0221", span, message).with_label(format!("this must be a {}", self.ty(ty)))
            }
            Error::InfiniteType { span } => {
                error("E0222", span, "the type of this expression contains itself")
            }
            Error::NotGeneric { span } => error("E0224", span, "this takes no type arguments")
                .with_note("elements are selected with parentheses: `a(i)`"),
            Error::NoPayload { name, span } => {
                error("E0225", span, format!("option `{name}` has named fields"))
                    .with_label("give them in `{ .. }`")
            }
            other => return Err(other),
        })
    }

    fn name(&self, error_: Error) -> Attempt {
        Ok(match error_ {
            Error::Undefined { name, span, hint, namespace } => {
                let message = match name.as_str() {
                    "break" | "continue" => format!("`{name}` outside of a loop"),
                    "return" => "`return` outside of a function that returns".into(),
                    _ => format!("undefined {} `{name}`", namespace.noun()),
                };
                let diagnostic = error("E0301", span, message).with_label("not found here");
                match hint {
                    Hint::None => diagnostic,
                    Hint::Similar(similar) => with_similar(diagnostic, span, Some(similar)),
                    Hint::Super => diagnostic.with_note("a module sees only its own names").with_suggestion(
                        span.start(),
                        "super::",
                        "use the name of the enclosing module",
                    ),
                    Hint::Dependency(package) => diagnostic.with_suggestion(
                        span.start(),
                        format!("{package}::"),
                        format!("use the name of the package `{package}`"),
                    ),
                    Hint::Prefix(names) => {
                        diagnostic.with_note(format!("there are {} for single types", name_list(&names)))
                    }
                    Hint::Alone(name) => diagnostic.with_note(format!("`{name}` is known without a path")),
                }
            }
            Error::Private { name, span, declared, package } => {
                let owner = match package {
                    Some(package) => format!("the package `{package}`"),
                    None => "its module".into(),
                };
                error("E0312", span, format!("`{name}` is private to {owner}"))
                    .with_secondary(declared, "declared here")
            }
            Error::AmbiguousGlob { name, span, places: [first, second] } => {
                error("E0313", span, format!("`{name}` comes from two places"))
                    .with_secondary(first, "from here")
                    .with_secondary(second, "and from here")
                    .with_note(format!("`use ..::{name};` or a path decides which one is meant"))
            }
            Error::NoModuleFile { name, span } => {
                error("E0028", span, format!("the module `{name}` has no file"))
                    .with_note("write its items here, in `{ .. }`")
            }
            Error::UnknownExport { name, span, package } => {
                let package = package.map_or_else(String::new, |package| format!(" `{package}`"));
                error(
                    "E0314",
                    span,
                    format!("the package{package} exports `{name}`, which its root module does not define"),
                )
            }
            Error::Redefinition { name, span, first, of_another_kind } => {
                let diagnostic = error("E0302", span, format!("`{name}` is defined twice in one scope"))
                    .with_label("defined again here")
                    .with_secondary(first, "first defined here");
                if of_another_kind {
                    diagnostic.with_note("types, values, functions and modules share one namespace")
                } else {
                    diagnostic
                }
            }
            Error::NoSuchMember { of, name, span, what, similar } => {
                let diagnostic = error("E0303", span, format!("{what} `{of}` has no `{name}`"));
                with_similar(diagnostic, span, similar)
            }
            Error::NotAModule { name, span } => {
                error("E0304", span, format!("`{name}` is neither a module nor an enum"))
            }
            Error::SuperAtRoot { span } => error("E0305", span, "this module has no parent module"),
            Error::AnonymousUse { name, span } => {
                error("E0306", span, format!("`{name}` is anonymous and cannot be used"))
            }
            Error::NotAValue { name, what, span } => {
                error("E0307", span, format!("{what} `{name}` is not a value"))
            }
            Error::NotAType { name, what, wanted, span } => {
                error("E0308", span, format!("{what} `{name}` is not {wanted}"))
            }
            Error::CyclicUse { span } => error("E0309", span, "this `use` refers to itself"),
            Error::OuterGeneric { param, span } => {
                let types = &self.program.types;
                let (kind, own) = match types.param_prim(param) {
                    Some(_) => ("integer", "an integer"),
                    None => ("type", "a type"),
                };
                let name = types.params[param].name;
                let message =
                    format!("{kind} parameter `{name}` of the enclosing function cannot be used here");
                error("E0310", span, message).with_note(format!("give the item {own} parameter of its own"))
            }
            Error::OuterLocal { name, span } => {
                error("E0311", span, format!("a static cannot use the local variable `{name}`"))
            }
            other => return Err(other),
        })
    }

    fn item(&self, error_: Error) -> Attempt {
        Ok(match error_ {
            Error::InfiniteSize { name, span } => error("E0401", span, format!("`{name}` contains itself"))
                .with_label("its values would be infinitely large")
                .with_note("use a pointer: `&T`"),
            Error::CyclicAlias { name, span } => {
                error("E0402", span, format!("type alias `{name}` refers to itself"))
            }
            Error::Unsized { ty, span } => {
                error("E0403", span, format!("{} has no size and cannot be held by value", self.ty(ty)))
                    .with_note("use a pointer to it, or give it a length: `[T * 4]`")
            }
            Error::SimdElement { ty, span } => {
                error("E0404", span, format!("{} cannot be the element type of a vector", self.ty(ty)))
                    .with_note("the elements of a vector are values of any type but `()`, `!`, vectors and slices")
            }
            Error::ArrayLength { span, why } => error("E0405", span, why),
            Error::NumberNeeded { span } => error("E0440", span, "expected a number, found a type")
                .with_label("an integer parameter takes an integer"),
            Error::TypeNeeded { span } => error("E0441", span, "expected a type, found a number"),
            Error::NumberParamType { name, span } => {
                error("E0442", span, format!("the parameter `{name}` needs an integer type"))
                    .with_note("without a type, a parameter stands for a type")
            }
            Error::NumberRange { number, name, prim, span } => {
                let message = format!("{} is no value of `{}`", self.ty(number), prim.name());
                error("E0443", span, message).with_label(format!("the argument for `{name}`"))
            }
            Error::UnknownAbi { abi, span } => {
                error("E0406", span, format!("unknown calling convention \"{abi}\""))
                    .with_note("the calling conventions are \"C\", \"device\", \"thorin\" and \"builtin\"")
            }
            Error::LinkName { span, why } => {
                error("E0427", span, "invalid link name").with_label(why)
            }
            Error::BadAttribute { span, expected } => {
                error("E0407", span, format!("malformed attribute, expected `{expected}`"))
            }
            Error::UnknownAttribute { name, span } => {
                error("E0408", span, format!("unknown attribute `{name}`"))
                    .with_note("the attributes are `export`, `import`, `intern`, `fast_math`, `test`, `bench` and `tune`")
                    .with_note(
                        "and for partial evaluation: `must_specialize`, `pe_depth`, `pe_growth`, `pe_specializations`",
                    )
            }
            Error::RoleType { attribute, name, span, why } => {
                let shape = match attribute {
                    "test" => "a test takes data, which is generated, and returns `()`",
                    _ => "a benchmark takes no arguments",
                };
                error("E0465", span, format!("`{name}` cannot be called as a `#[{attribute}]`"))
                    .with_label(why)
                    .with_note(shape)
            }
            Error::ExportNested { name, span } => {
                error("E0423", span, format!("nested function `{name}` cannot be exported"))
                    .with_label("only the enclosing function can call it")
            }
            Error::ForeignGeneric { verb, name, span } => {
                error("E0409", span, format!("{verb} function `{name}` has type parameters"))
            }
            Error::ForeignHigherOrder { verb, name, span, ty } => {
                error("E0410", span, format!("{verb} function `{name}` has a function in its type"))
                    .with_label(format!("this is {}", self.ty(ty)))
                    .with_note(match verb {
                        "imported" => "C has no pointers to functions that take or return functions",
                        _ => "C cannot pass functions of Impala; declare the callback in `extern \"C\"`",
                    })
            }
            Error::TypeArgCount { what, expected, found, span } => {
                let message = format!("{what} takes {}, found {found}", plural(expected, "type argument"));
                error("E0411", span, message)
            }
            Error::RecursiveResult { name, span, declared } => {
                error("E0412", span, format!("cannot infer the result of the recursive function `{name}`"))
                    .with_secondary(declared, "write its result here: `-> T`")
            }
            Error::ReturnWithoutResult { name, span, declared } => {
                error("E0436", span, format!("`{name}` uses `return`, so its result type must be written"))
                    .with_secondary(declared, "write its result here: `-> T`")
            }
            Error::StaticCycle { name, span, declared } => {
                error("E0413", span, format!("static `{name}` depends on itself"))
                    .with_secondary(declared, "declared here")
            }
            Error::StaticType { name, span } => {
                error("E0414", span, format!("static `{name}` has neither type nor value"))
            }
            Error::MainIsStatic { span } => error("E0415", span, "`main` cannot be a static")
                .with_note("`main` is the function that a program starts with"),
            Error::ParamType { span } => {
                error("E0416", span, "this parameter needs a type").with_label("write `name: T`")
            }
            Error::GenericFnType { span } => {
                error("E0428", span, "only a parameter of a function can have the type of a generic function")
                    .with_note("a generic function is no value: each use of it may have other types")
            }
            Error::GenericArgument { expected, found, ref params, span } => {
                let params: Vec<&str> = params.iter().map(|name| name.as_str()).collect();
                let expected = self.ty(expected).replacen("fn", &format!("fn[{}]", params.join(", ")), 1);
                error("E0230", span, format!("expected a generic function, {expected}"))
                    .with_label(format!("this is {}", self.ty(found)))
                    .with_note("pass the name of a generic function")
            }
            Error::MissingResult { span } => error("E0419", span, "missing result type")
                .with_note("write `-> T`, or `-> !` for a continuation"),
            Error::EmptyEnum { name, span } => error("E0420", span, format!("enum `{name}` has no option")),
            Error::AddrSpace { span } => error("E0421", span, "invalid address space").with_note(
                "0 is generic, 1 global, 2 texture, 3 shared, 4 constant, 8 shader inputs",
            ),
            Error::TypeTooLarge { span } => error("E0422", span, "this type is too large")
                .with_note("types may nest 256 levels deep and have a million parts"),
            other => return Err(other),
        })
    }

    fn pattern(&self, error_: Error) -> Attempt {
        Ok(match error_ {
            Error::BoundTwice { name, span, first } => {
                error("E0503", span, format!("`{name}` is bound twice in one pattern"))
                    .with_secondary(first, "first bound here")
            }
            Error::OptionArity { name, expected, found, span } => {
                error("E0504", span, format!("`{name}` has {}, found {found}", plural(expected, "field")))
            }
            Error::PatternType { ty, span, what } => {
                error("E0505", span, format!("{what} cannot match {}", self.ty(ty)))
            }
            Error::FloatPattern { span } => {
                error("E0506", span, "a pattern cannot be a floating-point number")
                    .with_note("compare with `==` or `<` instead")
            }
            Error::MissingFieldPatterns { of, names, span } => {
                error("E0507", span, format!("pattern omits {} of `{of}`", name_list(&names)))
                    .with_note("write `...` to ignore the rest")
            }
            Error::Immutable { write, place, span } => self.immutable(write, place, span),
            Error::NotAPlace { write, span } => {
                error("E0602", span, format!("cannot {} a value", write.phrase()))
                    .with_label("this is a temporary value, not a place")
            }
            Error::FilterName { name, span } => {
                error("E0702", span, format!("a filter cannot depend on `{name}`")).with_note(
                    "a filter may use parameters that never change, constants and immutable statics",
                )
            }
            Error::FilterEffect { span } => {
                error("E0703", span, "this expression is not allowed in a filter").with_note(
                    "a filter computes a `bool` from values, without side effects and without memory",
                )
            }
            Error::NoImplicit { ty, span } => {
                error("E0801", span, format!("no implicit value of type {} in scope", self.ty(ty)))
            }
            Error::AmbiguousImplicit { ty, span, candidates } => {
                let diagnostic =
                    error("E0802", span, format!("several implicit values of type {} in scope", self.ty(ty)));
                candidates.into_iter().fold(diagnostic, |it, span| it.with_secondary(span, "one of them"))
            }
            Error::ImplicitNotLast { span } => {
                error("E0803", span, "implicit parameters come last").with_label("not implicit")
            }
            other => return Err(other),
        })
    }

    fn immutable(&self, write: Write, place: ImmutablePlace, span: Span) -> Diagnostic {
        let verb = write.phrase();
        match place {
            ImmutablePlace::Local(name, at) => {
                error("E0601", span, format!("cannot {verb} `{name}`, which is not `mut`"))
                    .with_secondary(at, "bound here")
                    .with_suggestion(at.start(), "mut ", "make it mutable")
            }
            ImmutablePlace::Static(name, at) => {
                error("E0601", span, format!("cannot {verb} the static `{name}`, which is not `mut`"))
                    .with_secondary(at, "declared here")
                    .with_suggestion(at.start(), "mut ", "make it mutable")
            }
            ImmutablePlace::Pointer(at, ty) => {
                error("E0601", span, format!("cannot {verb} memory behind {}", self.ty(ty)))
                    .with_secondary(at, "this pointer is not `&mut`")
            }
        }
    }
}
