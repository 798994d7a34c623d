//! A program as LLVM assembly.
//!
//! [`write()`] gives one module: types, globals, declarations, functions. Functions of the program take and return
//! LLVM values and use `tailcc`, so that tail calls need no stack; `arguments` has the exceptions. Each exported
//! function has a wrapper with its link name and the C calling convention.
//!
//! Read in this order:
//!
//! * `value` (typed values), `types`, `constants`, `symbols`, `globals`, `declarations`;
//! * `function`: values and text of a function, in parts: `text`, `frame`, `accesses`;
//! * `control`: how blocks end; `calls`, `intrinsics`: what is called; `arguments`: how values are passed;
//!   `closures`: functions as values; `regions`: bodies of loops on threads; `flow_graphs`: tasks;
//! * `abi`, `border`, `export`, `c_functions`: how values and functions are passed to and from C;
//! * `ops`, `math`, `vector_math`, `angles` (sine and cosine of one angle), `rare_paths` (what comes before them),
//!   `aggregates`, `lanes`, `asm` and `asm_template`, `atomics`: the operations;
//! * `memory`, with `alignment`, and `gathers`, `scatters` and `spread`, which combine accesses of lanes;
//! * `facts`, `known`: what LLVM cannot infer;
//! * `checks`: programs that report their errors at run time;
//! * `function_list`, `debug`: call chains and debuggers;
//! * `device`: what GPUs do differently; `on_host`: device functions that programs call on the host.
//!
//! # Invariants
//!
//! * Those of `skeleton`.
//! * Nothing reads the text of types and values back: `value::Type` and `value::Value` say what they are.

mod abi;
mod accesses;
mod aggregates;
mod alignment;
mod angles;
mod arguments;
mod asm;
mod asm_template;
mod atomics;
mod border;
mod c_functions;
mod calls;
mod checks;
mod closures;
mod constants;
mod control;
mod debug;
mod declarations;
mod device;
mod export;
mod facts;
mod flow_graphs;
mod frame;
mod function;
mod function_list;
mod gathers;
mod globals;
mod intrinsics;
mod known;
mod lanes;
mod math;
mod memory;
mod on_host;
mod ops;
mod rare_paths;
mod regions;
mod scatters;
mod spread;
mod symbols;
mod text;
mod types;
mod value;
mod vector_math;

use std::cell::OnceCell;

use nyala_ir::analysis::functions::{Uses, return_param};
use nyala_ir::analysis::{Function, Functions};
use nyala_ir::layout::layout;
use nyala_ir::{Cont, Def, Linkage, Node, Ty, TyKind, World};
use nyala_span::{SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::errors::CodegenError;
use crate::skeleton::names::{FunctionSymbols, Names};
use crate::skeleton::program::Program;
pub use abi::Abi;
use alignment::Alignment;
use debug::DebugInfo;
use declarations::Declarations;
pub use device::{Gpu, GpuKind};
use facts::Facts;
use function::FunctionWriter;
use globals::Globals;
use types::TypeWriter;
use value::Type;
use vector_math::{Kernel, Part};

/// A program as LLVM assembly.
#[derive(Clone, Debug)]
pub struct Module {
    /// The assembly.
    pub text: String,
    /// The functions that libraries must define.
    pub imports: Vec<Import>,
    /// The intrinsics that LLVM must have.
    pub intrinsics: Vec<Import>,
    /// The program's own functions: for each its symbol, its name and its position in the source. Each text ends with
    /// a zero, and so does the list. The runtime reads it when it reports a call chain.
    pub function_list: Vec<u8>,
}

/// A function that the module declares.
#[derive(Clone, Debug)]
pub struct Import {
    /// Its symbol.
    pub name: String,
    /// A call of it.
    pub span: Span,
}

/// Larger aggregates stay in memory where that is possible: LLVM treats each scalar of a value separately.
const MAX_VALUE_BYTES: u64 = 256;

/// Attributes of all functions on the host. Unwind tables give the call chain when the stack overflows; they cost no
/// instruction. Frames of more than a page touch each of their pages in order, so that none skips the guard page.
const HOST_ATTRIBUTES: &str = " uwtable \"probe-stack\"=\"inline-asm\"";

/// How to write a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options<'a> {
    /// How C functions are called.
    pub abi: Abi,
    /// Whether operations are checked at run time.
    pub checked: bool,
    /// The source files that positions refer to.
    pub sources: Option<&'a SourceMap>,
    /// The directory of the source files, if debug information is written.
    pub debug: Option<&'a str>,
    /// The device to write for; the host if there is none.
    pub gpu: Option<Gpu<'a>>,
    /// Whether the module is for an executable: then it registers its functions with the runtime when it starts.
    pub is_executable: bool,
    /// The contents of globals that the program only declares, by symbol.
    pub contents: &'a [(&'a str, &'a [u8])],
}

/// The program as LLVM assembly, or what is not supported.
pub fn write(world: &World, options: &Options<'_>) -> Result<Module, Vec<CodegenError>> {
    let functions = Functions::styled(world);
    let program = Program { world, functions: &functions };
    let mut module = ModuleWriter::new(program, options);
    for function in functions.all() {
        module.function_name(function.entry);
    }
    functions.all().iter().for_each(|function| module.check_jumps_out(function));
    if !module.errors.is_empty() {
        return Err(module.errors);
    }
    for function in functions.all() {
        let text = FunctionWriter::write(&mut module, function);
        module.functions.push(text);
        module.export(function);
    }
    module.export_globals();
    module.finish()
}

/// A module that is being written.
pub(crate) struct ModuleWriter<'a> {
    pub(crate) world: &'a World,
    pub(crate) options: &'a Options<'a>,
    pub(crate) program: Program<'a>,
    types: TypeWriter<'a>,
    names: Names,
    function_symbols: FunctionSymbols,
    wrapper_symbols: WrapperSymbols,
    globals: Globals,
    declarations: Declarations,
    functions: Vec<String>,
    /// The mathematical functions that were written.
    kernels: FxHashSet<(Kernel, Part)>,
    /// Attributes of parameters.
    facts: Facts,
    /// The alignment of vectors, once it is needed.
    alignment: OnceCell<Alignment>,
    /// Functions that are callers or callees of tail calls, once they are needed.
    in_tail_calls: OnceCell<FxHashSet<Cont>>,
    debug: Option<DebugInfo<'a>>,
    /// How many loops of kernels are unrolled.
    n_unrolled_loops: usize,
    /// Wrappers that C calls, by symbol, and the functions that they wrap.
    wrappers: Vec<(String, Cont)>,
    errors: Vec<CodegenError>,
}

/// The symbols of functions that are written beside those of the program.
#[derive(Default)]
struct WrapperSymbols {
    /// The code of function values without captures.
    values: FxHashMap<Cont, String>,
    /// Wrappers for C of functions that are not exported.
    for_c: FxHashMap<Cont, String>,
    /// The code of function values that are C functions, by type.
    of_c: FxHashMap<Ty, String>,
}

impl<'a> ModuleWriter<'a> {
    fn new(program: Program<'a>, options: &'a Options<'a>) -> ModuleWriter<'a> {
        let Program { world, functions } = program;
        let mut names = Names::new('.');
        names.reserve_linked(world);
        let exported = world.conts().filter_map(|(_, data)| match &data.linkage {
            Linkage::Exported(name) => Some(name.to_string()),
            _ => None,
        });
        let debug = options.sources.zip(options.debug);
        ModuleWriter {
            world,
            program,
            options,
            types: TypeWriter::new(&world.types, options.gpu.is_some()),
            names,
            function_symbols: FunctionSymbols::default(),
            wrapper_symbols: WrapperSymbols::default(),
            globals: Globals::default(),
            declarations: Declarations::besides(exported),
            functions: vec![],
            kernels: FxHashSet::default(),
            alignment: OnceCell::new(),
            in_tail_calls: OnceCell::new(),
            facts: if options.gpu.is_none() { Facts::of(world, functions) } else { Facts::default() },
            debug: debug
                .map(|(sources, directory)| DebugInfo::new(world, sources, directory, options.gpu.is_some())),
            n_unrolled_loops: 0,
            wrappers: vec![],
            errors: vec![],
        }
    }

    fn finish(self) -> Result<Module, Vec<CodegenError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let function_list = self.function_list();
        let Declarations { text: declarations, imports, intrinsics, .. } = self.declarations;
        let mut sections = vec![self.types.definitions, self.globals.text, declarations];
        sections.extend(self.options.is_executable.then(|| function_list::start(&function_list)));
        sections.extend(self.functions);
        // A function that removes its arguments from the stack moves the caller's frame for one
        // instruction. Debuggers would take that for another call, unless there is a frame pointer.
        let frame = if self.debug.is_some() { " \"frame-pointer\"=\"all\"" } else { "" };
        let host = if self.options.gpu.is_none() { HOST_ATTRIBUTES } else { "" };
        sections.push(format!("attributes #0 = {{ nounwind{host}{frame} }}\n"));
        sections.extend(self.debug.map(DebugInfo::finish));
        sections.push(device::loop_metadata(self.n_unrolled_loops));
        sections.retain(|section| !section.is_empty());
        Ok(Module { text: sections.join("\n"), imports, intrinsics, function_list })
    }

    /// Reports what is not supported; its value is poison.
    pub(crate) fn unsupported(&mut self, at: Span, what: impl Into<String>) -> String {
        self.errors.push(CodegenError::Unsupported { at, what: what.into() });
        "poison".into()
    }

    /// Reports bodies of parallel loops that call the return continuation of an enclosing function.
    fn check_jumps_out(&mut self, function: &Function) {
        for body in function.bodies(self.world) {
            let Some(intrinsic) = self.world.as_intrinsic(body.callee) else { continue };
            let values = Uses::of(self.world, self.program.functions.styles(), body).values.into_iter();
            let mut captures = values
                .filter_map(|value| self.world.as_cont(value))
                .flat_map(|body| self.program.functions.captures(body).iter().copied());
            if captures.any(|capture| self.is_return_continuation(capture)) {
                self.errors.push(CodegenError::JumpOut { at: body.span, name: intrinsic.name() });
            }
        }
    }

    fn is_return_continuation(&self, def: Def) -> bool {
        match self.world.node(def) {
            Node::Param { cont, .. } => return_param(self.world, cont) == Some(def),
            _ => false,
        }
    }

    pub(crate) fn ty(&mut self, ty: Ty) -> Type {
        self.types.ty(ty)
    }

    pub(crate) fn ty_of(&mut self, def: Def) -> Type {
        self.types.ty(self.world.ty(def))
    }

    pub(crate) fn align_of(&self, ty: Ty) -> u64 {
        layout(&self.world.types, ty).align
    }

    /// Whether values of this type stay in memory.
    pub(crate) fn is_large(&self, ty: Ty) -> bool {
        let is_aggregate = matches!(
            self.world.types.kind(ty),
            TyKind::Array { .. } | TyKind::Struct(_) | TyKind::Tuple(_) | TyKind::Enum(_)
        );
        is_aggregate && self.weight(ty) > MAX_VALUE_BYTES
    }

    /// The size of a value, with one lane for each vector.
    fn weight(&self, ty: Ty) -> u64 {
        let types = &self.world.types;
        match types.kind(ty) {
            TyKind::Simd { elem, .. } => layout(types, *elem).size,
            TyKind::Array { elem, len } => self.weight(*elem).saturating_mul(*len),
            TyKind::Tuple(parts) => parts.iter().map(|&part| self.weight(part)).sum(),
            _ => layout(types, ty).size,
        }
    }

    /// The type of values as parts of others, and in memory.
    pub(crate) fn part_ty(&mut self, ty: Ty) -> Type {
        self.types.part(ty)
    }

    /// The symbol of a function of the program.
    pub(crate) fn function_name(&mut self, cont: Cont) -> String {
        let (names, world) = (&mut self.names, self.world);
        let name = || names.unique(world.cont(cont).name.as_str());
        format!("@{}", self.function_symbols.get_or_insert(cont, name))
    }

    /// The calling convention of functions of the program, but for the exceptions of `arguments`. LLVM has no
    /// `tailcc` for RISC-V. There tail calls need no stack as long as registers hold their arguments; `fastcc` uses
    /// the most of them.
    pub(crate) fn convention(&self) -> &'static str {
        let is_riscv = self.options.abi == Abi::Lp64d;
        match self.options.gpu {
            Some(_) => "",
            None if is_riscv => "fastcc ",
            None => "tailcc ",
        }
    }

    /// Whether parameters of a type must not be stored as they are.
    ///
    /// Note [Parameters in pieces]: LLVM passes an aggregate or a vector as its scalars. Without optimization, when
    /// such a parameter is stored to a variable of the same size, and the first scalar is passed on the stack, it
    /// uses the stack slot of that scalar as the variable. It compares the sizes to see that the other scalars are
    /// elsewhere; on RISC-V the slot has eight bytes for scalars of any size, so two numbers of four bytes seem to
    /// be both in there. A value that is computed from the parameter is stored correctly.
    pub(crate) fn is_stored_wrongly(&self, ty: Ty) -> bool {
        let is_scalar = matches!(self.world.types.kind(ty), TyKind::Prim(_) | TyKind::Ptr { .. });
        self.options.abi == Abi::Lp64d && self.options.gpu.is_none() && !is_scalar
    }

    /// The address space of local variables.
    pub(crate) fn private_space(&self) -> u32 {
        self.options.gpu.map_or(0, |gpu| gpu.kind.private_space())
    }
}

/// An instruction that copies a parameter; every optimization level but 0 removes it. See Note [Parameters in pieces].
pub(crate) fn whole_param(ty: &Type, name: &str) -> String {
    format!("select i1 true, {ty} {name}, {ty} poison")
}
