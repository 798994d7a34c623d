//! Items: their types, and the rules about them.

use cranelift_entity::EntityRef;
use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, AttrValue, Fields, LitKind};
use rustc_hash::FxHashMap;

use crate::checker::{Checker, Home, Progress};
use crate::errors::{Because, Error};
use crate::infer::Body;
use crate::scope::{AliasId, Def};
use crate::tree::{self, Abi, AttrArg, EnumOption, Field, FnId, Linkage, StaticId};
use crate::types::{EnumId, Prim, StructId, Ty, TyKind, TyParam};

/// How many items of each kind there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct ItemCounts {
    structs: usize,
    enums: usize,
    aliases: usize,
    fns: usize,
    statics: usize,
    uses: usize,
}

impl<'a> Checker<'a> {
    /// Checks everything that has been collected.
    pub fn check_items(&mut self) {
        self.declare_items_since(ItemCounts::default());
        self.find_main();
        // Bodies may bring new items with modules in blocks.
        let mut done = ItemCounts::default();
        while done.fns < self.fns.len() || done.statics < self.statics.len() {
            let now = self.item_counts();
            let in_module = |home: Home| !home.in_block;
            let statics = (done.statics..now.statics).map(StaticId::new);
            let statics: Vec<_> = statics.filter(|&id| in_module(self.statics[id].home)).collect();
            let fns = (done.fns..now.fns).map(FnId::new);
            let fns: Vec<_> = fns.filter(|&id| in_module(self.fns[id].home)).collect();
            self.check_open_bodies(&fns, &statics);
            statics.into_iter().for_each(|id| self.check_static(id));
            fns.into_iter().for_each(|id| self.check_fn(id));
            done = now;
        }
        for id in self.fns.keys() {
            self.check_linkage(id);
        }
        self.check_static_cycles();
    }

    /// How many items there are.
    pub fn item_counts(&self) -> ItemCounts {
        ItemCounts {
            structs: self.structs.len(),
            enums: self.enums.len(),
            aliases: self.aliases.len(),
            fns: self.fns.len(),
            statics: self.statics.len(),
            uses: self.uses.len(),
        }
    }

    /// Finds the types of all items that are newer than `before`.
    pub fn declare_items_since(&mut self, before: ItemCounts) {
        let now = self.item_counts();
        for id in (before.uses..now.uses).map(crate::scope::UseId::new) {
            self.resolve_use(id);
        }
        self.resolve_aliases((before.aliases..now.aliases).map(AliasId::new).collect());
        for id in (before.structs..now.structs).map(StructId::new) {
            self.declare_struct(id);
        }
        for id in (before.enums..now.enums).map(EnumId::new) {
            self.declare_enum(id);
        }
        self.check_containment(before.structs, before.enums);
        for id in (before.statics..now.statics).map(StaticId::new) {
            self.declare_static(id);
        }
        for id in (before.fns..now.fns).map(FnId::new) {
            self.declare_fn(id);
        }
        for id in (before.structs..now.structs).map(StructId::new) {
            self.check_defaults(id);
        }
    }

    /// Runs `f` where an item stands, with its type parameters in scope and those of a
    /// function around it out of reach.
    fn at_item<R>(
        &mut self,
        home: Home,
        names: &[ast::Ident],
        tparams: &[TyParam],
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let in_scope = |this: &mut Self| {
            this.body.scopes.enter();
            this.body.level += 1;
            this.define_tparams(names, tparams);
            let floor = std::mem::replace(&mut this.body.generic_floor, this.body.level);
            let result = f(this);
            this.body.generic_floor = floor;
            this.body.level -= 1;
            this.body.scopes.exit();
            result
        };
        if home.in_block { in_scope(self) } else { self.in_own_body(Body::new(home), in_scope) }
    }

    fn declare_struct(&mut self, id: StructId) {
        let (ast, home) = (self.structs[id].ast, self.structs[id].home);
        let tparams = self.program.structs[id].tparams.clone();
        let fields = self.at_item(home, &ast.tparams, &tparams, |this| this.declare_fields(&ast.fields));
        let mut numbers = FxHashMap::default();
        for (i, field) in fields.iter().enumerate() {
            if let Some(first) = numbers.insert(field.name, i as u32) {
                let first = fields[first as usize].span;
                self.report_redefinition(field.name, field.span, first);
            }
        }
        self.structs[id].fields = numbers;
        self.program.structs[id].fields = fields;
    }

    fn declare_fields(&mut self, fields: &'a Fields) -> Vec<Field> {
        match fields {
            Fields::Unit => vec![],
            Fields::Tuple(tys) => {
                let field = |(i, ty): (usize, &'a ast::TypeExpr)| Field {
                    name: Name::new(&i.to_string()),
                    span: ty.span,
                    ty: self.convert_sized(ty),
                    default: None,
                };
                tys.iter().enumerate().map(field).collect()
            }
            Fields::Record(defs) => {
                let field = |def: &'a ast::FieldDef| Field {
                    name: def.name.name,
                    span: def.name.span,
                    ty: self.convert_sized(&def.ty),
                    default: None,
                };
                defs.iter().map(field).collect()
            }
        }
    }

    fn declare_enum(&mut self, id: EnumId) {
        let (ast, home) = (self.enums[id].ast, self.enums[id].home);
        let tparams = self.program.enums[id].tparams.clone();
        let options = self.at_item(home, &ast.tparams, &tparams, |this| {
            let option = |def: &'a ast::OptionDef| EnumOption {
                name: def.name.name,
                span: def.name.span,
                fields: this.declare_fields(&def.fields),
                is_record: matches!(def.fields, Fields::Record(_)),
            };
            ast.options.iter().map(option).collect::<Vec<_>>()
        });
        for option in &options {
            let mut seen = FxHashMap::default();
            for field in &option.fields {
                if let Some(first) = seen.insert(field.name, field.span) {
                    self.report_redefinition(field.name, field.span, first);
                }
            }
        }
        self.program.enums[id].options = options;
    }

    /// Checks the defaults of a struct's fields.
    fn check_defaults(&mut self, id: StructId) {
        let Fields::Record(defs) = &self.structs[id].ast.fields else { return };
        let (ast, home) = (self.structs[id].ast, self.structs[id].home);
        for (i, def) in defs.iter().enumerate() {
            let Some(default) = &def.default else { continue };
            let tparams = self.program.structs[id].tparams.clone();
            let ty = self.program.structs[id].fields[i].ty;
            let home = Home { in_block: false, ..home };
            let value = self.at_item(home, &ast.tparams, &tparams, |this| {
                let value = this.check_expr(default, ty, Because::Field(def.name.span));
                this.finish_alone(value)
            });
            self.program.structs[id].fields[i].default = Some(value);
        }
    }

    /// Resolves aliases, each after those it mentions; the stack is our own, because
    /// chains of aliases may be long.
    fn resolve_aliases(&mut self, ids: Vec<AliasId>) {
        let mut state: FxHashMap<AliasId, Progress> = FxHashMap::default();
        for root in ids {
            let mut stack = vec![root];
            while let Some(&id) = stack.last() {
                match state.get(&id) {
                    Some(Progress::Done) => {
                        stack.pop();
                    }
                    Some(_) => {
                        stack.pop();
                        state.insert(id, Progress::Done);
                        if self.aliases[id].ty.is_none() {
                            self.resolve_alias(id);
                        }
                    }
                    None => {
                        state.insert(id, Progress::Running);
                        self.visit_alias_uses(id, &state, &mut stack);
                    }
                }
            }
        }
    }

    /// Pushes the unresolved aliases that `id` mentions; reports those that lead back.
    fn visit_alias_uses(
        &mut self,
        id: AliasId,
        state: &FxHashMap<AliasId, Progress>,
        stack: &mut Vec<AliasId>,
    ) {
        let info = &self.aliases[id];
        let (home, ast, names) = (info.home, info.ast, info.tparam_names);
        let mut paths = vec![];
        for_each_type(ast, &mut |ty| {
            if let ast::TypeKind::Path { path, .. } = &ty.kind {
                paths.push(path);
            }
        });
        let mut is_cyclic = false;
        for path in paths {
            if path.segments.len() == 1 && names.iter().any(|name| name.name == path.segments[0].name) {
                continue;
            }
            let Some(Def::Alias(used)) = self.item_named(path, home) else { continue };
            match state.get(&used) {
                Some(Progress::Done) => {}
                Some(_) => is_cyclic = true,
                None => stack.push(used),
            }
        }
        if is_cyclic {
            let name = self.aliases[id].name;
            self.report(Error::CyclicAlias { name: name.name, span: name.span });
            self.aliases[id].ty = Some(self.program.types.error());
        }
    }

    fn resolve_alias(&mut self, id: AliasId) {
        let info = &self.aliases[id];
        let (home, ast, names) = (info.home, info.ast, info.tparam_names);
        let tparams = info.tparams.clone();
        let ty = self.at_item(home, names, &tparams, |this| {
            let ty = this.convert(ast);
            this.zonk(ty)
        });
        self.aliases[id].ty = Some(ty);
    }

    fn declare_static(&mut self, id: StaticId) {
        let info = &self.statics[id];
        let (home, ty, attrs) = (info.home, info.ty, info.attrs);
        let name = self.program.statics[id].name;
        self.program.statics[id].linkage = self.static_linkage(attrs, name);
        if let Some(ty) = ty {
            let ty = self.at_item(home, &[], &[], |this| this.convert_sized(ty));
            self.program.statics[id].ty = ty;
            self.statics[id].progress = Progress::Done;
        }
    }

    fn static_linkage(&mut self, attrs: &'a [ast::Attr], name: Name) -> Linkage {
        self.known_attrs(attrs);
        match attrs.iter().find(|attr| attr.name.name.as_str() == "export") {
            Some(export) => Linkage::Export(symbol(export).unwrap_or(name)),
            None => Linkage::Internal,
        }
    }

    /// Finds the type of a function as far as it is written, unless that was done before.
    pub fn declare_fn(&mut self, id: FnId) {
        if self.fns[id].declared != Progress::Open {
            return;
        }
        self.fns[id].declared = Progress::Running;
        let (ast, home) = (self.fns[id].ast, self.fns[id].home);
        let tparams = self.declare_tparams(&ast.tparams);
        self.program.fns[id].tparams = tparams.clone();
        self.declare_linkage(id);
        let declare = |this: &mut Self| {
            this.body.scopes.enter();
            this.body.level += 1;
            this.define_tparams(&ast.tparams, &tparams);
            this.body.scopes.enter();
            this.declare_signature(id);
            this.body.scopes.exit();
            this.body.level -= 1;
            this.body.scopes.exit();
        };
        if home.in_block {
            declare(self)
        } else {
            self.in_own_body(Body::new(home), declare)
        }
        self.fns[id].declared = Progress::Done;
    }

    fn declare_signature(&mut self, id: FnId) {
        let ast = self.fns[id].ast;
        let params = self.param_types(ast);
        self.fns[id].n_implicit = ast.params.iter().rev().take_while(|param| param.is_implicit).count();
        let n_explicit = ast.params.len() - self.fns[id].n_implicit;
        if let Some(early) = ast.params[..n_explicit].iter().position(|param| param.is_implicit) {
            let span = ast.params[early + 1..].iter().find(|param| !param.is_implicit);
            let span = span.map_or(ast.params[early].span, |param| param.span);
            self.report(Error::ImplicitNotLast { span });
        }
        // For messages until the body is checked.
        let shown = ast.params.iter().zip(&params).map(|(param, &ty)| tree::Param {
            pat: tree::Pat { kind: tree::PatKind::Wild, ty, span: param.span },
            ty,
            filter: None,
            span: param.span,
        });
        self.program.fns[id].params = shown.collect();
        self.fns[id].params = params;
        match &ast.ret {
            Some(ret) => {
                let ret = self.convert_ret(ret);
                self.set_result(id, ret);
            }
            None if ast.body.is_none() => {
                self.report(Error::MissingResult { span: ast.name.span });
                self.set_result(id, self.program.types.error());
            }
            None if self.fns[id].home.in_block => {
                let ret = self.fresh_result(ast.name.span);
                self.set_result(id, ret);
            }
            None => {}
        }
    }

    /// The types of a function's parameters. A `typeof` behind a parameter may refer to it,
    /// up to the end of the signature.
    fn param_types(&mut self, ast: &'a ast::FnItem) -> Vec<Ty> {
        let ret = match &ast.ret {
            Some(ast::Ret::Type(ty)) => Some(ty),
            _ => None,
        };
        let mut has_typeof = false;
        for ty in ast.params.iter().filter_map(|param| param.ty.as_ref()).chain(ret) {
            for_each_type(ty, &mut |ty| has_typeof |= matches!(ty.kind, ast::TypeKind::Typeof(_)));
        }
        let mut types = vec![];
        for param in &ast.params {
            let ty = self.param_type(param, ast.body.is_some());
            if let Some(pat) = param.pat.as_ref().filter(|_| has_typeof) {
                self.check_pat(pat, ty);
            }
            types.push(ty);
        }
        types
    }

    fn param_type(&mut self, param: &'a ast::Param, has_body: bool) -> Ty {
        match &param.ty {
            Some(ty) if has_body && param.pat.is_none() && self.meant_variables(ty).is_some() => {
                self.report(Error::ParamType { span: ty.span });
                return self.program.types.error();
            }
            Some(ty) => return self.convert_sized(ty),
            None => {}
        }
        let of_pattern = param.pat.as_ref().and_then(|pat| self.written_pat_type(pat));
        match of_pattern {
            Some(ty) => ty,
            None => {
                self.report(Error::ParamType { span: param.span });
                self.program.types.error()
            }
        }
    }

    /// The names in a written type that is probably a pattern without type: names of nothing
    /// that look like variables, or a tuple of such.
    pub fn meant_variables(&mut self, ty: &ast::TypeExpr) -> Option<Vec<ast::Ident>> {
        let mut names = vec![];
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            match &ty.kind {
                ast::TypeKind::Paren(inner) => stack.push(inner),
                ast::TypeKind::Tuple(parts) => stack.extend(parts),
                ast::TypeKind::Path { path, args } if args.is_empty() => {
                    let [name] = *path.segments else { return None };
                    names.push(name);
                }
                _ => return None,
            }
        }
        let is_meant = !names.is_empty() && names.iter().all(|name| self.is_probably_a_variable(name.name));
        is_meant.then_some(names)
    }

    fn is_probably_a_variable(&mut self, name: Name) -> bool {
        let text = name.as_str();
        text.starts_with(|first: char| first.is_ascii_lowercase())
            && crate::convert::prim_named(text).is_none()
            && self.lookup(name).is_none()
    }

    fn declare_linkage(&mut self, id: FnId) {
        let info = &self.fns[id];
        let (ast, attrs, abi) = (info.ast, info.attrs, info.abi);
        let written = ast.link_name.as_ref().map(|name| Name::new(&String::from_utf8_lossy(&name.bytes)));
        if let Some(name) = &ast.link_name {
            self.check_link_name(name);
        }
        let by_attr = |name: &str| attrs.iter().find(|attr| attr.name.name.as_str() == name);
        let name = ast.name.name;
        let linkage = match (abi, by_attr("export")) {
            (Some(abi), _) => {
                let symbol = written.or_else(|| by_attr("import").and_then(symbol)).unwrap_or(name);
                Linkage::Import { abi, symbol }
            }
            (None, Some(export)) => Linkage::Export(symbol(export).or(written).unwrap_or(name)),
            (None, None) if ast.is_extern => Linkage::Export(written.unwrap_or(name)),
            (None, None) => Linkage::Internal,
        };
        self.program.fns[id].linkage = linkage;
        self.program.fns[id].attrs = self.known_attrs(attrs);
    }

    /// Reports unknown attributes; gives back those that later stages understand.
    fn known_attrs(&mut self, attrs: &'a [ast::Attr]) -> Vec<(Name, Option<AttrArg>)> {
        let mut kept = vec![];
        for attr in attrs {
            match attr.name.name.as_str() {
                "export" => self.check_symbol_attr(attr),
                "intern" => {
                    self.check_symbol_attr(attr);
                    kept.extend(symbol(attr).map(|symbol| (attr.name.name, Some(AttrArg::Name(symbol)))));
                }
                "import" => self.check_names_in(attr),
                "fast_math" | "must_specialize" => kept.push((attr.name.name, attr_arg(&attr.value))),
                // `pe_specialisations` is an older name.
                "pe_specializations" | "pe_specialisations" | "pe_growth" | "pe_depth" => {
                    match attr_arg(&attr.value) {
                        Some(limit @ AttrArg::Int(_)) => kept.push((attr.name.name, Some(limit))),
                        _ => self.report(Error::BadAttribute { span: attr.span, expected: "name = number" }),
                    }
                }
                _ => self.report(Error::UnknownAttribute { name: attr.name.name, span: attr.name.span }),
            }
        }
        kept
    }

    /// Reports what is neither `export` nor `export(name = "..")`; the same for `intern`.
    fn check_symbol_attr(&mut self, attr: &'a ast::Attr) {
        let is_symbol = |arg: &ast::Attr| {
            let is_text = matches!(&arg.value, AttrValue::Lit(lit) if matches!(lit.kind, LitKind::Str(_)));
            arg.name.name.as_str() == "name" && is_text
        };
        let is_well_formed = match &attr.value {
            AttrValue::None => true,
            AttrValue::List(args) => args.iter().all(is_symbol),
            _ => false,
        };
        if !is_well_formed {
            self.report(Error::BadAttribute { span: attr.span, expected: "name = \"..\"" });
        }
        self.check_names_in(attr);
    }

    /// Checks the link names in the arguments of an attribute.
    fn check_names_in(&mut self, attr: &'a ast::Attr) {
        let AttrValue::List(args) = &attr.value else { return };
        for arg in args.iter().filter(|arg| arg.name.name.as_str() == "name") {
            if let AttrValue::Lit(ast::Lit { kind: LitKind::Str(text), .. }) = &arg.value {
                self.check_link_name(text);
            }
        }
    }

    /// Reports a name that no symbol can have: object files end names with a zero, and assemblers read lines.
    fn check_link_name(&mut self, name: &ast::StrLit) {
        let why = match std::str::from_utf8(&name.bytes) {
            Ok("") => "it is empty",
            Ok(text) if text.contains(|letter: char| letter.is_control()) => "it has a control character",
            Ok(_) => return,
            Err(_) => "it is not UTF-8",
        };
        self.report(Error::LinkName { span: name.span, why });
    }

    fn find_main(&mut self) {
        match self.modules[self.root].names.get(&Name::new("main")) {
            Some(&(Def::Fn(id), _)) if self.fns[id].abi.is_none() => self.program.main = Some(id),
            Some(&(Def::Static(_), span)) => self.report(Error::MainIsStatic { span }),
            _ => {}
        }
    }

    /// Checks what crosses the border: exported functions, `main`, and what is imported from C.
    fn check_linkage(&mut self, id: FnId) {
        let function = &self.program.fns[id];
        let (name, span, ty) = (function.name, function.span, function.ty);
        if self.program.types.info(ty).has_error {
            return;
        }
        let is_main = self.program.main == Some(id);
        if is_main && !self.is_main_type(ty) {
            self.report(Error::MainSignature { span, ty });
        }
        let verb = match self.program.fns[id].linkage {
            Linkage::Import { abi: Abi::C, .. } => "imported",
            Linkage::Export(_) => "exported",
            _ if is_main => "exported",
            _ => return,
        };
        if !self.program.fns[id].tparams.is_empty() {
            self.report(Error::ForeignGeneric { verb, name, span });
            return;
        }
        if self.program.fns[id].parent.is_some() {
            self.report(Error::ExportNested { name, span });
        }
        let Some((params, ret)) = self.program.types.as_fn(ty) else { return };
        let crossing: Vec<Ty> = params.iter().copied().chain([ret]).collect();
        let is_import = verb == "imported";
        let crosses = |ty: Ty| !self.contains_function(ty) || is_import && self.is_plain_function(ty);
        if let Some(&ty) = crossing.iter().find(|&&ty| !crosses(ty)) {
            self.report(Error::ForeignHigherOrder { verb, name, span, ty });
        }
    }

    /// Whether a type is one that C has function pointers for.
    fn is_plain_function(&self, ty: Ty) -> bool {
        let Some((params, ret)) = self.program.types.as_fn(ty) else { return false };
        params.iter().chain([&ret]).all(|&part| !self.contains_function(part))
    }

    fn is_main_type(&mut self, ty: Ty) -> bool {
        let types = &mut self.program.types;
        let (i32, u8, unit) = (types.prim(Prim::I32), types.prim(Prim::U8), types.unit());
        let shared = ast::PtrKind::Shared;
        let bytes = types.intern(TyKind::Slice(u8));
        let string = types.ptr(shared, 0, bytes);
        let strings = types.intern(TyKind::Slice(string));
        let argv = types.ptr(shared, 0, strings);
        let Some((params, ret)) = types.as_fn(ty) else { return false };
        let args_fit = match *params {
            [] => true,
            [argc] => argc == i32,
            [argc, second] => argc == i32 && second == argv,
            _ => false,
        };
        args_fit && (ret == i32 || ret == unit)
    }

    /// Reports statics whose values need each other.
    fn check_static_cycles(&mut self) {
        let mut state = vec![Progress::Open; self.statics.len()];
        for root in self.statics.keys() {
            let mut stack = vec![root];
            while let Some(&id) = stack.last() {
                match state[id.index()] {
                    Progress::Done => {
                        stack.pop();
                    }
                    Progress::Running => {
                        state[id.index()] = Progress::Done;
                        stack.pop();
                    }
                    Progress::Open => {
                        state[id.index()] = Progress::Running;
                        self.visit_static_uses(id, &state, &mut stack);
                    }
                }
            }
        }
    }

    fn visit_static_uses(&mut self, id: StaticId, state: &[Progress], stack: &mut Vec<StaticId>) {
        let mut used = vec![];
        // A cycle that leaves a type unknown has been reported.
        let is_typed = self.program.statics[id].ty != self.program.types.error();
        if let Some(init) = self.program.statics[id].init.as_ref().filter(|_| is_typed) {
            crate::visit::walk(init, |expr| {
                if let tree::ExprKind::Static(id) = expr.kind {
                    used.push((id, expr.span));
                }
            });
        }
        let mut cycle: Option<Span> = None;
        for (used, span) in used {
            match state[used.index()] {
                Progress::Open => stack.push(used),
                Progress::Running => cycle = Some(span),
                Progress::Done => {}
            }
        }
        if let Some(span) = cycle {
            let it = &self.program.statics[id];
            let (name, declared) = (it.name, it.span);
            self.report(Error::StaticCycle { name, span, declared });
        }
    }
}

/// Calls `visit` on a written type and all types in it.
fn for_each_type<'a>(ty: &'a ast::TypeExpr, visit: &mut dyn FnMut(&'a ast::TypeExpr)) {
    use ast::TypeKind::*;
    visit(ty);
    match &ty.kind {
        Path { args: parts, .. } | Tuple(parts) | Cn(parts) => {
            parts.iter().for_each(|part| for_each_type(part, visit));
        }
        Paren(inner) | Slice(inner) => for_each_type(inner, visit),
        Array { elem, .. } | Simd { elem, .. } => for_each_type(elem, visit),
        Ptr { pointee, .. } => for_each_type(pointee, visit),
        Fn { params, ret } => {
            params.iter().for_each(|param| for_each_type(param, visit));
            if let Some(ret) = ret
                && let ast::Ret::Type(ret) = &**ret
            {
                for_each_type(ret, visit);
            }
        }
        Typeof(_) | Error => {}
    }
}

/// `name = ".."` in the arguments of an attribute.
fn symbol(attr: &ast::Attr) -> Option<Name> {
    let AttrValue::List(args) = &attr.value else { return None };
    let name = args.iter().find(|arg| arg.name.name.as_str() == "name")?;
    match &name.value {
        AttrValue::Lit(ast::Lit { kind: LitKind::Str(text), .. }) => {
            Some(Name::new(&String::from_utf8_lossy(&text.bytes)))
        }
        _ => None,
    }
}

fn attr_arg(value: &AttrValue) -> Option<AttrArg> {
    match value {
        AttrValue::Lit(ast::Lit { kind: LitKind::Int { value, .. }, .. }) => value.map(AttrArg::Int),
        AttrValue::Lit(ast::Lit { kind: LitKind::Str(text), .. }) => Some(AttrArg::Str(text.bytes.clone())),
        AttrValue::Path(path) => path.segments.last().map(|ident| AttrArg::Name(ident.name)),
        _ => None,
    }
}
