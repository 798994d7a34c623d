//! Debug information: functions, lines, variables and types.
//!
//! Metadata is a list of numbered nodes; [`DebugInfo`] assigns the numbers. A type is numbered when it is first needed
//! and described later, so types may refer to each other and nothing recurses on them.
//!
//! A variable of the source has many values in the program graph: parameters of blocks, results of operations. All
//! values of one name and type in a function are stored to one variable, for debuggers only. Without optimization
//! it can always be inspected; otherwise LLVM removes it and tracks the values.

use nyala_ir::analysis::Function;
use nyala_ir::layout::{enum_layout, layout, offset};
use nyala_ir::{Cont, Def, EnumId, Node as Operation, Prim, Ty, TyKind, Types, World};
use nyala_span::{FileId, Name, SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ModuleWriter;
use super::function::FunctionWriter;
use super::symbols::escaped;
use crate::skeleton::program::is_value;

/// The number of a node, as it is written: `!3`.
type Node = String;

/// The metadata of a module.
pub(crate) struct DebugInfo<'a> {
    world: &'a World,
    sources: &'a SourceMap,
    /// The directory of relative file names.
    directory: &'a str,
    nodes: Vec<String>,
    /// Nodes by their text.
    known: FxHashMap<String, Node>,
    types: FxHashMap<Ty, Node>,
    /// Types with a number and without a description.
    waiting: Vec<(Ty, usize)>,
    unit: Node,
}

/// The debug information of a function.
#[derive(Clone)]
pub(crate) struct Scope {
    node: Node,
    file: Option<FileId>,
}

impl Scope {
    /// The attachment of the definition.
    pub(crate) fn attachment(&self) -> String {
        format!("!dbg {} ", self.node)
    }
}

impl<'a> DebugInfo<'a> {
    /// Of a program; devices have lines only.
    pub(crate) fn new(
        world: &'a World,
        sources: &'a SourceMap,
        directory: &'a str,
        only_lines: bool,
    ) -> DebugInfo<'a> {
        let mut debug = DebugInfo {
            world,
            sources,
            directory,
            nodes: vec![],
            known: FxHashMap::default(),
            types: FxHashMap::default(),
            waiting: vec![],
            unit: "!0".into(),
        };
        debug.nodes.push(String::new());
        let last = sources.files().last().map(|(id, _)| id);
        let file = debug.file(last);
        let producer = concat!("nyala ", env!("CARGO_PKG_VERSION"));
        let kind = if only_lines { "DebugDirectivesOnly" } else { "FullDebug" };
        debug.nodes[0] = format!(
            "distinct !DICompileUnit(language: DW_LANG_C99, file: {file}, producer: \"{producer}\", \
             isOptimized: false, runtimeVersion: 0, emissionKind: {kind})"
        );
        debug
    }

    /// All nodes as text.
    pub(crate) fn finish(mut self) -> String {
        while let Some((ty, at)) = self.waiting.pop() {
            self.nodes[at] = self.describe(ty);
        }
        let version = self.node("!{i32 2, !\"Debug Info Version\", i32 3}");
        let dwarf = self.node("!{i32 7, !\"Dwarf Version\", i32 4}");
        let mut text =
            format!("!llvm.dbg.cu = !{{{}}}\n!llvm.module.flags = !{{{version}, {dwarf}}}\n", self.unit);
        for (number, node) in self.nodes.iter().enumerate() {
            text += &format!("!{number} = {node}\n");
        }
        text
    }

    /// A node, once for each text.
    fn node(&mut self, text: impl Into<String>) -> Node {
        let text = text.into();
        if let Some(node) = self.known.get(&text) {
            return node.clone();
        }
        let node = self.new_node(text.clone());
        self.known.insert(text, node.clone());
        node
    }

    /// A node that is distinct from all others.
    fn new_node(&mut self, text: String) -> Node {
        self.nodes.push(text);
        format!("!{}", self.nodes.len() - 1)
    }

    fn list(&mut self, nodes: &[Node]) -> Node {
        self.node(format!("!{{{}}}", nodes.join(", ")))
    }

    fn file(&mut self, file: Option<FileId>) -> Node {
        let name = file.map_or("<no source>", |file| self.sources.file(file).name.as_str());
        let (name, directory) = (escaped(name.as_bytes()), escaped(self.directory.as_bytes()));
        self.node(format!("!DIFile(filename: \"{name}\", directory: \"{directory}\")"))
    }

    /// The line and column of a position; zeros if it is unknown.
    fn line_col(&self, span: Span) -> (u32, u32) {
        let file = self.sources.file_of(span).map(|file| self.sources.file(file));
        file.map_or((0, 0), |file| {
            let at = file.line_col(span.lo);
            (at.line, at.col)
        })
    }

    /// Describes a function, or its exported wrapper.
    pub(crate) fn function(&mut self, cont: Cont, is_exported: bool) -> Scope {
        let data = self.world.cont(cont);
        let source = self.sources.file_of(data.span);
        let (file, (line, _)) = (self.file(source), self.line_col(data.span));
        let none = self.node("!{null}");
        let ty = self.node(format!("!DISubroutineType(types: {none})"));
        let kind = match is_exported {
            true => "flags: DIFlagArtificial, spFlags: DISPFlagDefinition",
            false => "spFlags: DISPFlagDefinition | DISPFlagLocalToUnit",
        };
        let name = escaped(data.name.as_str().as_bytes());
        // Instances of a function have the same text.
        let node = self.new_node(format!(
            "distinct !DISubprogram(name: \"{name}\", scope: {file}, file: {file}, line: {line}, type: {ty}, \
             scopeLine: {line}, {kind}, unit: {})",
            self.unit
        ));
        Scope { node, file: source }
    }

    /// A location in a function. Code that partial evaluation inlined from another file keeps its file.
    pub(crate) fn location(&mut self, scope: &Scope, span: Span) -> Node {
        let ((line, column), file) = (self.line_col(span), self.sources.file_of(span));
        let mut node = scope.node.clone();
        if file.is_some() && file != scope.file {
            let file = self.file(file);
            node = self.node(format!("!DILexicalBlockFile(scope: {node}, file: {file}, discriminator: 0)"));
        }
        self.node(format!("!DILocation(line: {line}, column: {column}, scope: {node})"))
    }

    /// A variable of a function, or its parameter with this index.
    fn variable(&mut self, scope: &Scope, name: &str, ty: Ty, arg: Option<usize>, span: Span) -> Node {
        let (file, ty) = (self.file(scope.file), self.ty(ty));
        let arg = arg.map_or(String::new(), |arg| format!("arg: {}, ", arg + 1));
        let (line, name) = (self.line_col(span).0, escaped(name.as_bytes()));
        self.node(format!(
            "!DILocalVariable(name: \"{name}\", {arg}scope: {}, file: {file}, line: {line}, type: {ty})",
            scope.node
        ))
    }

    // ---- Types --------------------------------------------------------------------

    fn ty(&mut self, ty: Ty) -> Node {
        if let Some(node) = self.types.get(&ty) {
            return node.clone();
        }
        let node = format!("!{}", self.nodes.len());
        self.waiting.push((ty, self.nodes.len()));
        self.nodes.push(String::new());
        self.types.insert(ty, node.clone());
        node
    }

    fn describe(&mut self, ty: Ty) -> String {
        let types = &self.world.types;
        let bits = layout(types, ty).size.saturating_mul(8);
        match types.kind(ty) {
            TyKind::Prim(prim) => {
                format!("!DIBasicType(name: \"{prim}\", size: {bits}, encoding: {})", encoding(*prim))
            }
            TyKind::Ptr { pointee, .. } => {
                // As in C, the address of an array without length is that of its first element.
                let pointee = match types.kind(*pointee) {
                    TyKind::Slice(elem) => *elem,
                    _ => *pointee,
                };
                let pointee = self.ty(pointee);
                format!("!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {pointee}, size: 64)")
            }
            TyKind::Array { elem, len } => self.array(*elem, *len, bits, ""),
            TyKind::Slice(elem) => self.array(*elem, 0, bits, ""),
            TyKind::Simd { elem, lanes } => {
                self.array(*elem, u64::from(*lanes), bits, ", flags: DIFlagVector")
            }
            TyKind::Tuple(_) | TyKind::Struct(_) => self.structure(ty, bits),
            TyKind::Enum(id) => self.enumeration(*id, bits),
            TyKind::Cn(_) | TyKind::Mem => "!DIBasicType(tag: DW_TAG_unspecified_type, name: \"fn\")".into(),
        }
    }

    fn array(&mut self, elem: Ty, len: u64, bits: u64, flags: &str) -> String {
        let elem = self.ty(elem);
        let range = self.node(format!("!DISubrange(count: {len})"));
        let ranges = self.list(&[range]);
        format!(
            "!DICompositeType(tag: DW_TAG_array_type, baseType: {elem}, size: {bits}{flags}, elements: {ranges})"
        )
    }

    fn structure(&mut self, ty: Ty, bits: u64) -> String {
        let types = &self.world.types;
        let members: Vec<(String, Ty)> = match types.kind(ty) {
            TyKind::Struct(id) => {
                types.structs[*id].fields.iter().map(|field| (field.name.to_string(), field.ty)).collect()
            }
            TyKind::Tuple(parts) => {
                parts.iter().enumerate().map(|(i, &part)| (format!("e{i}"), part)).collect()
            }
            _ => vec![],
        };
        let members = members.into_iter().enumerate();
        let members: Vec<Node> =
            members.map(|(i, (name, part))| self.member(&name, part, offset(types, ty, i as u64))).collect();
        let name = self.type_name(types, ty);
        self.composite(&name, bits, &members)
    }

    /// An enum is a struct in which the payloads of all options are in one place.
    fn enumeration(&mut self, id: EnumId, bits: u64) -> String {
        let types = &self.world.types;
        let data = &types.enums[id];
        let (_, tag_at, tag) = enum_layout(types, id);
        let payloads = data.options.iter().filter(|option| layout(types, option.payload).size > 0);
        let mut members: Vec<Node> =
            payloads.map(|option| self.member(option.name.as_str(), option.payload, 0)).collect();
        let tag_bits = tag * 8;
        let tag_ty = self.node(format!(
            "!DIBasicType(name: \"u{tag_bits}\", size: {tag_bits}, encoding: DW_ATE_unsigned)"
        ));
        members.push(self.member_at("tag", &tag_ty, tag_bits, tag_at));
        self.composite(data.name.as_str(), bits, &members)
    }

    fn type_name(&self, types: &Types, ty: Ty) -> String {
        match types.kind(ty) {
            TyKind::Struct(id) => types.structs[*id].name.to_string(),
            _ => String::new(),
        }
    }

    fn composite(&mut self, name: &str, bits: u64, members: &[Node]) -> String {
        let (name, members) = (escaped(name.as_bytes()), self.list(members));
        format!(
            "distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"{name}\", size: {bits}, elements: {members})"
        )
    }

    fn member(&mut self, name: &str, ty: Ty, at: u64) -> Node {
        let bits = layout(&self.world.types, ty).size.saturating_mul(8);
        let ty = self.ty(ty);
        self.member_at(name, &ty, bits, at)
    }

    fn member_at(&mut self, name: &str, ty: &str, bits: u64, at: u64) -> Node {
        let (name, at) = (escaped(name.as_bytes()), at.saturating_mul(8));
        self.node(format!(
            "!DIDerivedType(tag: DW_TAG_member, name: \"{name}\", baseType: {ty}, size: {bits}, offset: {at})"
        ))
    }
}

fn encoding(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool => "DW_ATE_boolean",
        _ if prim.is_float() => "DW_ATE_float",
        _ if prim.is_signed() => "DW_ATE_signed",
        _ => "DW_ATE_unsigned",
    }
}

/// The debug information of a function that is being written.
pub(super) struct FunctionDebug {
    scope: Option<Scope>,
    /// Whether it has variables; of kernels debuggers know the lines only.
    has_variables: bool,
    /// The operation that is being written.
    pub(super) at: Span,
    /// Addresses of variables that are made for debuggers.
    variables: FxHashMap<(Name, Ty), String>,
    /// Variables of the program that are in memory: debuggers look at them there.
    in_slots: FxHashSet<(Name, Ty)>,
}

impl FunctionDebug {
    pub(super) fn new(module: &mut ModuleWriter<'_>, function: &Function) -> FunctionDebug {
        let scope = module.debug.as_mut().map(|debug| debug.function(function.entry, false));
        FunctionDebug {
            has_variables: scope.is_some() && module.options.gpu.is_none(),
            scope,
            at: Span::NONE,
            variables: FxHashMap::default(),
            in_slots: FxHashSet::default(),
        }
    }

    /// The attachment of the definition.
    pub(super) fn attachment(&self) -> String {
        self.scope.as_ref().map_or(String::new(), Scope::attachment)
    }
}

impl FunctionWriter<'_, '_> {
    /// The location behind an instruction.
    pub(super) fn instruction_location(&mut self) -> String {
        let span = if self.debug.at.is_none() { self.flow.span() } else { self.debug.at };
        match (&mut self.module.debug, &self.debug.scope) {
            (Some(debug), Some(scope)) => format!(", !dbg {}", debug.location(scope, span)),
            _ => String::new(),
        }
    }

    /// Declares the parameters of a block.
    pub(super) fn declare_params(&mut self, block: usize) {
        if self.debug.has_variables {
            let cont = self.flow.cont(block);
            self.debug.at = self.world.cont(cont).span;
            for (index, param) in self.flow.program.value_params(cont).into_iter().enumerate() {
                let value = self.value(param);
                self.declare_named(param, &value, (block == 0).then_some(index));
            }
        }
        self.debug.at = self.flow.span();
    }

    /// Declares the value of an operation, or a variable in memory that the operation makes.
    pub(super) fn declare_value(&mut self, def: Def, value: &str) {
        if !self.debug.has_variables {
            return;
        }
        let pointee = self.world.types.as_ptr(self.world.ty(def)).map(|(pointee, _)| pointee);
        if let Operation::Extract { agg, .. } = self.world.node(def)
            && let Operation::Slot { .. } = self.world.node(agg)
            && let Some(ty) = pointee
        {
            self.declare_slot(def, ty, value);
        } else if !self.is_effect(def) && is_value(self.world, self.world.ty(def)) {
            self.declare_named(def, value, None);
        }
    }

    /// Declares that the variable that `def` is called after has this value from here on.
    fn declare_named(&mut self, def: Def, value: &str, arg: Option<usize>) {
        if let Some(name) = self.world.name(def) {
            self.declare_variable(name, self.world.ty(def), value, arg);
        }
    }

    /// Declares what is stored to a global that stands for variables.
    pub(super) fn declare_stored(&mut self, ptr: Def, value: Def) {
        if let Operation::Global(global) = self.world.node(ptr)
            && self.debug.has_variables
        {
            let text = self.value(value);
            self.declare_variable(self.world.global(global).name, self.world.ty(value), &text, None);
        }
    }

    fn declare_variable(&mut self, name: Name, ty: Ty, value: &str, arg: Option<usize>) {
        if self.debug.in_slots.contains(&(name, ty)) || self.module.is_large(ty) {
            return;
        }
        let address = match self.debug.variables.get(&(name, ty)) {
            Some(address) => address.clone(),
            None => self.new_variable(name, ty, arg),
        };
        let (text, align) = (self.module.ty(ty), self.module.align_of(ty));
        let store = format!("store {text} {value}, ptr {address}, align {align}");
        match arg {
            // Without a location, so that a function starts after its parameters are stored.
            Some(_) => self.raw_line(&store),
            None => self.line(store),
        }
    }

    fn new_variable(&mut self, name: Name, ty: Ty, arg: Option<usize>) -> String {
        let (text, align) = (self.module.ty(ty), self.module.align_of(ty));
        let address = self.local(name.as_str(), &text, align);
        if let Some(record) = self.debug_record(name, ty, arg, &address) {
            self.entry_line(&record);
        }
        self.debug.variables.insert((name, ty), address.clone());
        address
    }

    /// Declares where the variable is that is called like `ptr`, its address.
    fn declare_slot(&mut self, ptr: Def, ty: Ty, address: &str) {
        let name = self.world.name(ptr);
        self.debug.in_slots.extend(name.map(|name| (name, ty)));
        if let Some(record) = name.and_then(|name| self.debug_record(name, ty, None, address)) {
            self.raw_line(&record);
        }
    }

    fn debug_record(&mut self, name: Name, ty: Ty, arg: Option<usize>, address: &str) -> Option<String> {
        let span = self.world.cont(self.flow.function.entry).span;
        let (debug, scope) = (self.module.debug.as_mut()?, self.debug.scope.as_ref()?);
        let variable = debug.variable(scope, name.as_str(), ty, arg, span);
        let place = debug.location(scope, span);
        Some(format!("#dbg_declare(ptr {address}, {variable}, !DIExpression(), {place})"))
    }
}
