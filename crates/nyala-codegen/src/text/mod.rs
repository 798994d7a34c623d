//! A program as LLVM assembly.
//!
//! [`write()`] gives one module: types, globals, declarations, functions. Functions
//! of the program take and return LLVM values and use `tailcc`, so that calls in
//! tail position need no stack. Each exported function has a second one in front
//! of it, with its own name and the calling convention of C.
//!
//! Read `types`, `constants`, `function` (blocks and values),
//! `control` (how blocks end), `calls` (what is called), and then `ops`, `math`,
//! `aggregates` and `memory` for the operations.
//!
//! # Invariants
//!
//! * An instruction is written where the schedule puts its operation, so nothing
//!   that may fail is executed unless the program asks for it.
//! * Memory tokens are not written: the schedule keeps their order.

mod aggregates;
mod calls;
mod constants;
mod control;
mod function;
mod intrinsics;
mod math;
mod memory;
mod names;
mod ops;
mod types;

use std::fmt::Write as _;

use nyala_ir::layout::layout;
use nyala_ir::{Cont, Def, Global, Linkage, Prim, Ty, TyKind, World};
use nyala_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::CodegenError;
use crate::form::{self, Function};
use function::FunctionWriter;
use names::{Names, symbol};
use types::TypeWriter;

/// A program as LLVM assembly.
#[derive(Clone, Debug)]
pub struct Module {
    /// The assembly.
    pub text: String,
    /// The functions that others must define.
    pub imports: Vec<Import>,
}

/// A function that others define.
#[derive(Clone, Debug)]
pub struct Import {
    /// Its symbol.
    pub name: String,
    /// A call of it.
    pub span: Span,
}

/// Aggregates with more bytes are kept in memory where that is possible: LLVM treats
/// each scalar of a value on its own.
const MAX_VALUE_BYTES: u64 = 256;

/// The program as LLVM assembly, or what cannot be written.
pub fn write(world: &World) -> Result<Module, Vec<CodegenError>> {
    let functions = form::functions(world)?;
    let mut module = ModuleWriter::new(world);
    for function in &functions {
        module.function_name(function.cont);
    }
    for function in &functions {
        let text = FunctionWriter::write(&mut module, function);
        module.functions.push(text);
        module.export(function);
    }
    module.finish()
}

/// A module in the making.
pub(crate) struct ModuleWriter<'a> {
    pub(crate) world: &'a World,
    types: TypeWriter<'a>,
    names: Names,
    function_names: FxHashMap<Cont, String>,
    global_names: FxHashMap<Global, String>,
    globals: String,
    /// Constants made here, by type and value.
    constants: FxHashMap<String, String>,
    declared: FxHashSet<String>,
    declarations: String,
    imports: Vec<Import>,
    functions: Vec<String>,
    errors: Vec<CodegenError>,
}

impl<'a> ModuleWriter<'a> {
    fn new(world: &'a World) -> ModuleWriter<'a> {
        let mut names = Names::default();
        let linkages = world.conts().map(|(_, data)| &data.linkage);
        for linkage in linkages.chain(world.globals().map(|(_, data)| &data.linkage)) {
            if let Linkage::Exported(name) | Linkage::Imported(name) | Linkage::Device(name) = linkage {
                names.reserve(name.as_str());
            }
        }
        let exported = world.conts().filter_map(|(_, data)| match &data.linkage {
            Linkage::Exported(name) => Some(name.to_string()),
            _ => None,
        });
        ModuleWriter {
            world,
            types: TypeWriter::new(&world.types),
            names,
            function_names: FxHashMap::default(),
            global_names: FxHashMap::default(),
            globals: String::new(),
            constants: FxHashMap::default(),
            declared: exported.collect(),
            declarations: String::new(),
            imports: vec![],
            functions: vec![],
            errors: vec![],
        }
    }

    fn finish(self) -> Result<Module, Vec<CodegenError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let mut sections = vec![self.types.definitions, self.globals, self.declarations];
        sections.extend(self.functions);
        sections.push("attributes #0 = { nounwind }\n".into());
        sections.retain(|section| !section.is_empty());
        Ok(Module { text: sections.join("\n"), imports: self.imports })
    }

    /// Reports what cannot be compiled; its value may be anything from here on.
    pub(crate) fn unsupported(&mut self, at: Span, what: impl Into<String>) -> String {
        let error = CodegenError::Unsupported { at, what: what.into() };
        self.report(error)
    }

    /// Reports an error, unless it is the same trouble in the same function again.
    pub(crate) fn report(&mut self, error: CodegenError) -> String {
        let is_known = |known: &CodegenError| match (known, &error) {
            (CodegenError::FunctionValue { name, .. }, CodegenError::FunctionValue { name: other, .. }) => {
                name == other
            }
            _ => false,
        };
        if !self.errors.iter().any(is_known) {
            self.errors.push(error);
        }
        "poison".into()
    }

    pub(crate) fn ty(&mut self, ty: Ty) -> String {
        self.types.ty(ty)
    }

    pub(crate) fn ty_of(&mut self, def: Def) -> String {
        self.types.ty(self.world.ty(def))
    }

    pub(crate) fn align_of(&self, ty: Ty) -> u64 {
        layout(&self.world.types, ty).align
    }

    /// Whether values of this type are better kept in memory.
    pub(crate) fn is_large(&self, ty: Ty) -> bool {
        let is_aggregate = matches!(
            self.world.types.kind(ty),
            TyKind::Array { .. } | TyKind::Struct(_) | TyKind::Tuple(_) | TyKind::Enum(_)
        );
        is_aggregate && layout(&self.world.types, ty).size > MAX_VALUE_BYTES
    }

    /// The address of a constant.
    pub(crate) fn private_constant(&mut self, ty: Ty, value: &str) -> String {
        let constant = format!("{} {value}", self.ty(ty));
        if let Some(name) = self.constants.get(&constant) {
            return name.clone();
        }
        let (name, align) = (format!("@{}", self.names.unique("const")), self.align_of(ty));
        self.globals += &format!("{name} = private unnamed_addr constant {constant}, align {align}\n");
        self.constants.insert(constant, name.clone());
        name
    }

    /// The symbol of a function of the program.
    pub(crate) fn function_name(&mut self, cont: Cont) -> String {
        let (names, world) = (&mut self.names, self.world);
        let name = self.function_names.entry(cont);
        name.or_insert_with(|| format!("@{}", names.unique(world.cont(cont).name.as_str()))).clone()
    }

    /// The symbol of a global, which is written when it is first used.
    pub(crate) fn global(&mut self, global: Global) -> String {
        if let Some(name) = self.global_names.get(&global) {
            return name.clone();
        }
        let world = self.world;
        let data = world.global(global);
        let (name, linkage) = match &data.linkage {
            Linkage::Exported(name) => (symbol(name.as_str()), ""),
            Linkage::Imported(name) | Linkage::Device(name) => (symbol(name.as_str()), "external "),
            Linkage::Internal | Linkage::Intrinsic(_) => {
                (format!("@{}", self.names.unique(data.name.as_str())), "internal ")
            }
        };
        self.global_names.insert(global, name.clone());
        let (ty, init) = match (linkage, data.init) {
            ("external ", _) => (self.ty(data.ty), String::new()),
            (_, None) => (self.ty(data.ty), "zeroinitializer".into()),
            (_, Some(init)) => self.initializer(init).unwrap_or_else(|| {
                let init = self.unsupported(data.span, format!("the first value of `{}`", data.name));
                (self.ty(data.ty), init)
            }),
        };
        let kind = if data.is_mut { "global" } else { "constant" };
        let align = self.align_of(data.ty);
        self.globals += &format!("{name} = {linkage}{kind} {ty} {init}, align {align}\n");
        name
    }

    /// Declares a function of the outside, once per name. Calls say themselves
    /// what they pass, so it does not matter which declaration is kept.
    pub(crate) fn declare(&mut self, name: &str, result: &str, params: &[String], span: Span) -> String {
        let text = symbol(name);
        if self.declared.insert(name.to_owned()) {
            let params = params.join(", ");
            writeln!(self.declarations, "declare {result} {text}({params})").expect("strings take all text");
            if !name.starts_with("llvm.") {
                self.imports.push(Import { name: name.to_owned(), span });
            }
        }
        text
    }

    /// How a value of type `ty` crosses the border to C, as a parameter or result;
    /// narrow integers are extended there.
    pub(crate) fn c_type(&mut self, ty: Ty, at: Span) -> String {
        let world = self.world;
        let text = self.ty(ty);
        match world.types.kind(ty) {
            TyKind::Prim(Prim::Bool | Prim::U8 | Prim::U16) => format!("{text} zeroext"),
            TyKind::Prim(Prim::I8 | Prim::I16) => format!("{text} signext"),
            TyKind::Prim(_) | TyKind::Ptr { .. } | TyKind::Simd { .. } => text,
            _ => {
                let ty = world.types.display(ty);
                self.unsupported(at, format!("a value of type `{ty}` that is passed to or from C"))
            }
        }
    }

    /// The result of a C function.
    pub(crate) fn c_result(&mut self, results: &[Ty], at: Span) -> String {
        match results {
            [] => "void".into(),
            [one] => {
                // Attributes come before the type of a result.
                let text = self.c_type(*one, at);
                text.split_once(' ').map_or(text.clone(), |(ty, extension)| match extension {
                    "zeroext" | "signext" => format!("{extension} {ty}"),
                    _ => text.clone(),
                })
            }
            _ => self.unsupported(at, "several results of a C function"),
        }
    }

    /// The data parameters of a function.
    pub(crate) fn data_params(&self, cont: Cont) -> Vec<Def> {
        let world = self.world;
        let is_data = |&&param: &&Def| is_data(world, world.ty(param));
        world.cont(cont).params.iter().filter(is_data).copied().collect()
    }

    /// The results that a return continuation takes; nothing if there is none.
    pub(crate) fn result_types(&self, ret: Option<Ty>) -> Vec<Ty> {
        let taken = ret.and_then(|ret| self.world.types.as_cn(ret)).unwrap_or(&[]);
        taken.iter().copied().filter(|&ty| is_data(self.world, ty)).collect()
    }

    /// The function that the outside calls.
    fn export(&mut self, function: &Function) {
        let world = self.world;
        let data = world.cont(function.cont);
        let Linkage::Exported(name) = &data.linkage else { return };
        let results = self.result_types(function.ret.map(|ret| world.ty(ret)));
        let (inner, inner_result) = (self.function_name(function.cont), self.types.results(&results));
        let (mut params, mut args) = (vec![], vec![]);
        for (index, param) in self.data_params(function.cont).into_iter().enumerate() {
            params.push(format!("{} %{index}", self.c_type(world.ty(param), data.span)));
            args.push(format!("{} %{index}", self.ty_of(param)));
        }
        let is_main = name.as_str() == "main";
        let result = match is_main {
            true => "i32".into(),
            false => self.c_result(&results, data.span),
        };
        let call = format!("call tailcc {inner_result} {inner}({})", args.join(", "));
        let body = match results[..] {
            [] if is_main => format!("  {call}\n  ret i32 0\n"),
            [] => format!("  {call}\n  ret void\n"),
            [ty] if is_main => {
                let status = self.exit_status(ty);
                format!("  %result = {call}\n{status}")
            }
            _ => format!("  %result = {call}\n  ret {inner_result} %result\n"),
        };
        let (name, params) = (symbol(name.as_str()), params.join(", "));
        self.functions.push(format!("define {result} {name}({params}) #0 {{\nstart:\n{body}}}\n"));
    }

    /// What `main` gives the system: its result if that is an integer, else success.
    fn exit_status(&mut self, ty: Ty) -> String {
        match self.world.types.as_prim(ty) {
            Some(Prim::I32 | Prim::U32) => "  ret i32 %result\n".into(),
            Some(Prim::I64 | Prim::U64) => "  %status = trunc i64 %result to i32\n  ret i32 %status\n".into(),
            Some(prim) if prim.is_int() || prim == Prim::Bool => {
                let (extend, ty) = (if prim.is_signed() { "sext" } else { "zext" }, self.ty(ty));
                format!("  %status = {extend} {ty} %result to i32\n  ret i32 %status\n")
            }
            _ => "  ret i32 0\n".into(),
        }
    }
}

/// Whether values of this type exist at run time, and are no return points.
pub(crate) fn is_data(world: &World, ty: Ty) -> bool {
    !matches!(world.types.kind(ty), TyKind::Mem | TyKind::Cn(_))
}
