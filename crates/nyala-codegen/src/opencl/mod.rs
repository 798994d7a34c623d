//! Kernels as OpenCL C, which the device's driver compiles when the program runs.
//!
//! A function is a C function, a block a label, a jump a `goto`. The parameters of blocks and all values are
//! variables of the function. A value that is used once is an expression in place of its use. Pointers have the
//! address space of their type, or that of the pointer that they are derived from.
//!
//! Read `types`, `spaces` (address spaces), `expr` (values), `function` (blocks and values), `ops` (operations),
//! `calls` (how blocks end, and what is called), `halves` (`f16`), and `atomics`.
//!
//! # Invariants
//!
//! * Values have the layout of [`nyala_ir::layout`], as C has it; `bool` is a byte.
//! * Only kernels declare shared memory; other functions take it as parameters.

mod atomics;
mod calls;
mod expr;
mod function;
mod halves;
mod ops;
mod spaces;
mod types;

use std::collections::BTreeSet;

use nyala_ir::analysis::{Function, Functions};
use nyala_ir::{Cont, Def, Global, Intrinsic, Linkage, Node, Ty, TyKind, World};
use nyala_span::Span;
use rustc_hash::FxHashMap;

use crate::KernelShape;
use crate::errors::CodegenError;
use crate::skeleton::names::{FunctionSymbols, Names};
use crate::skeleton::program::Program;
use atomics::Helper;
use expr::Expr;
use function::FunctionWriter;
use halves::HalfHelper;
use spaces::Spaces;
use types::{TypeWriter, space_name};

/// The kernels that a program exports as OpenCL C, or what is not supported.
pub fn write(world: &World, kernels: &[KernelShape<'_>]) -> Result<String, Vec<CodegenError>> {
    let functions = Functions::styled(world);
    let mut module = ModuleWriter::new(Program { world, functions: &functions });
    for function in functions.all() {
        module.name(function.entry);
    }
    module.find_shared();
    module.check_spaces();
    for function in functions.all() {
        let kernel = kernels.iter().find(|kernel| is_exported_as(world, function, kernel.name));
        let text = FunctionWriter::write(&mut module, function, kernel);
        module.functions.push(text);
    }
    module.finish()
}

fn is_exported_as(world: &World, function: &Function, name: &str) -> bool {
    matches!(&world.cont(function.entry).linkage, Linkage::Exported(exported) if exported.as_str() == name)
}

/// Memory of a work group that one call of `reserve_shared` reserves.
#[derive(Clone, PartialEq, Eq)]
struct Shared {
    /// The block that ends with the call.
    at: Cont,
    name: String,
    elem: Ty,
    count: u64,
}

/// A program that is being written.
struct ModuleWriter<'a> {
    world: &'a World,
    program: Program<'a>,
    types: TypeWriter<'a>,
    spaces: Spaces,
    names: Names,
    function_symbols: FunctionSymbols,
    global_names: FxHashMap<Global, String>,
    globals: String,
    /// The shared memory that each function and its callees reserve.
    shared: FxHashMap<Cont, Vec<Shared>>,
    /// Declarations of all functions, as they may be called before they are written.
    prototypes: String,
    functions: Vec<String>,
    /// Helper functions for atomic operations.
    helpers: BTreeSet<Helper>,
    /// Helper functions for `f16`.
    half_helpers: BTreeSet<HalfHelper>,
    /// Whether there are atomic operations on 64 bits.
    has_wide_atomics: bool,
    errors: Vec<CodegenError>,
}

impl<'a> ModuleWriter<'a> {
    fn new(program: Program<'a>) -> ModuleWriter<'a> {
        let Program { world, functions } = program;
        let mut names = Names::new('_');
        RESERVED.iter().for_each(|name| names.reserve(name));
        names.reserve_linked(world);
        ModuleWriter {
            world,
            program,
            types: TypeWriter::new(&world.types),
            spaces: Spaces::new(world, functions),
            names,
            function_symbols: FunctionSymbols::default(),
            global_names: FxHashMap::default(),
            globals: String::new(),
            shared: FxHashMap::default(),
            prototypes: String::new(),
            functions: vec![],
            helpers: BTreeSet::new(),
            half_helpers: BTreeSet::new(),
            has_wide_atomics: false,
            errors: vec![],
        }
    }

    fn finish(self) -> Result<String, Vec<CodegenError>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let extensions = atomics::WIDE_EXTENSIONS.into_iter().filter(|_| self.has_wide_atomics);
        let pragmas: String =
            extensions.map(|name| format!("#pragma OPENCL EXTENSION {name} : enable\n")).collect();
        let mut sections = vec![pragmas];
        sections.extend([self.types.definitions, self.globals]);
        sections.extend(self.half_helpers.into_iter().map(HalfHelper::definition));
        sections.extend(self.helpers.into_iter().map(atomics::helper));
        sections.push(self.prototypes);
        sections.extend(self.functions);
        sections.retain(|section| !section.is_empty());
        Ok(sections.join("\n"))
    }

    /// Reports what is not supported.
    fn unsupported(&mut self, at: Span, what: impl Into<String>) {
        self.errors.push(CodegenError::Unsupported { at, what: what.into() });
    }

    /// The name of a function; that of a kernel is its link name.
    fn name(&mut self, cont: Cont) -> String {
        let (names, data) = (&mut self.names, self.world.cont(cont));
        self.function_symbols.get_or_insert(cont, || match &data.linkage {
            Linkage::Exported(name) => name.to_string(),
            _ => names.unique(data.name.as_str()),
        })
    }

    /// Reports pointer parameters without a single address space.
    fn check_spaces(&mut self) {
        for param in std::mem::take(&mut self.spaces.mixed) {
            let Node::Param { cont, .. } = self.world.node(param) else { continue };
            let (data, name) = (self.world.cont(cont), self.world.name(param));
            let name = name.map_or(String::new(), |name| format!(" `{name}`"));
            let what =
                format!("a pointer{name} of `{}` to memory of different kinds on OpenCL devices", data.name);
            self.unsupported(data.span, what);
        }
    }

    /// Finds the shared memory of functions; callers also have that of their callees.
    fn find_shared(&mut self) {
        for function in self.program.functions.all() {
            let mut own = vec![];
            for &block in &function.blocks {
                if let Some((elem, count)) = reserved(self.world, block) {
                    let name = self.names.unique("shared");
                    own.push(Shared { at: block, name, elem, count });
                }
            }
            self.shared.insert(function.entry, own);
        }
        loop {
            let mut changed = false;
            for function in self.program.functions.all() {
                for callee in &function.mentions {
                    let needed = self.shared.get(callee).cloned().unwrap_or_default();
                    let all = self.shared.entry(function.entry).or_default();
                    for shared in needed {
                        if !all.contains(&shared) {
                            all.push(shared);
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The name of a global, which is written when it is first used.
    fn global(&mut self, global: Global) -> String {
        if let Some(name) = self.global_names.get(&global) {
            return name.clone();
        }
        let data = self.world.global(global);
        let name = self.names.unique(data.name.as_str());
        self.global_names.insert(global, name.clone());
        let init = match data.init {
            Some(init) => self.initializer(init),
            None => Some(Expr::constant("{0}".into())),
        };
        let init = init.unwrap_or_else(|| {
            self.unsupported(data.span, format!("the initializer of `{}`", data.name));
            Expr::atom("0")
        });
        let ty = self.types.ty(data.ty);
        self.globals += &format!("__constant {ty} {name} = {init};\n");
        name
    }

    /// The type of a value; a pointer has its address space.
    fn type_of(&mut self, def: Def) -> String {
        let ty = self.world.ty(def);
        match pointer(self.world, ty) {
            Some((pointee, _)) => {
                let space = self.spaces.of(self.world, def);
                format!("{}{}*", space_name(space), self.types.pointee(pointee))
            }
            None => self.types.ty(ty),
        }
    }

    fn result_type(&mut self, results: &[Ty]) -> String {
        match results {
            [] => "void".into(),
            [one] => self.types.ty(*one),
            several => self.types.tuple(several),
        }
    }
}

/// The element type and the length of what a block reserves by `reserve_shared`.
fn reserved(world: &World, block: Cont) -> Option<(Ty, u64)> {
    let body = world.cont(block).body.as_ref()?;
    if world.as_intrinsic(body.callee) != Some(Intrinsic::ReserveShared) {
        return None;
    }
    let &[_, count, ret] = &body.args[..] else { return None };
    let &[_, ptr] = world.types.as_cn(world.ty(ret))? else { return None };
    let (array, _) = world.types.as_ptr(ptr)?;
    Some((world.types.elem(array)?, world.as_lit(count)?))
}

/// The pointee and the address space of a pointer type.
fn pointer(world: &World, ty: Ty) -> Option<(Ty, u32)> {
    match *world.types.kind(ty) {
        TyKind::Ptr { pointee, space } => Some((pointee, space)),
        _ => None,
    }
}

/// Keywords and functions of OpenCL C that programs may use as names.
const RESERVED: [&str; 62] = [
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "size_t",
    "kernel",
    "global",
    "local",
    "constant",
    "private",
    "generic",
    "pipe",
    "read_only",
    "write_only",
    "read_write",
    "vec_step",
    "image2d_t",
    "sampler_t",
    "event_t",
    "step",
    "mix",
    "clamp",
    "select",
    "distance",
    "length",
    "normalize",
];
