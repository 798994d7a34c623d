//! The types of items, and the rules for them.

use cranelift_entity::EntityRef;
use nyala_span::{Name, Span};
use nyala_syntax::ast::{self, Fields};
use rustc_hash::FxHashMap;

use crate::checker::{Checker, Home, Progress};
use crate::errors::{Because, Error};
use crate::infer::Body;
use crate::scope::{AliasId, Def};
use crate::tree::{self, EnumOption, Field, FnId, StaticId};
use crate::types::{EnumId, StructId, Ty, TyParam};

/// The number of items of each kind.
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
    /// Checks all collected items.
    pub fn check_items(&mut self) {
        self.declare_items_since(ItemCounts::default());
        self.find_main();
        // Modules in blocks of bodies may add items.
        let mut done = ItemCounts::default();
        while done.fns < self.fns.len() || done.statics < self.statics.len() {
            let now = self.item_counts();
            let in_module = |home: Home| !home.in_block;
            let statics = (done.statics..now.statics).map(StaticId::new);
            let statics: Vec<_> = statics.filter(|&id| in_module(self.statics[id].home)).collect();
            let fns = (done.fns..now.fns).map(FnId::new);
            let fns: Vec<_> = fns.filter(|&id| in_module(self.fns[id].home)).collect();
            self.check_inferred_bodies(&fns, &statics);
            statics.into_iter().for_each(|id| self.check_static(id));
            fns.into_iter().for_each(|id| self.check_fn(id));
            done = now;
        }
        for id in self.fns.keys() {
            self.check_linkage(id);
            self.check_role(id);
        }
        self.check_static_cycles();
    }

    /// The current number of items.
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
        (before.fns..now.fns).map(FnId::new).for_each(|id| self.check_operator(id));
        for id in (before.structs..now.structs).map(StructId::new) {
            self.check_defaults(id);
        }
    }

    /// Runs `f` in the scope of an item: its type parameters can be used, those of an enclosing
    /// function cannot.
    fn at_item<R>(
        &mut self,
        home: Home,
        params: &[ast::GenericParam],
        tparams: &[TyParam],
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let in_scope = |this: &mut Self| {
            this.body.scopes.enter();
            this.body.level += 1;
            this.define_tparams(params, tparams);
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
                    is_uniform: false,
                };
                tys.iter().enumerate().map(field).collect()
            }
            Fields::Record(defs) => {
                let field = |def: &'a ast::FieldDef| Field {
                    name: def.name.name,
                    span: def.name.span,
                    ty: self.convert_sized(&def.ty),
                    default: None,
                    is_uniform: def.is_uniform,
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

    /// Resolves aliases, each after those it mentions. Chains of aliases may be long, so the
    /// stack is explicit.
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

    /// Pushes the unresolved aliases that `id` mentions; reports cycles.
    fn visit_alias_uses(
        &mut self,
        id: AliasId,
        state: &FxHashMap<AliasId, Progress>,
        stack: &mut Vec<AliasId>,
    ) {
        let info = &self.aliases[id];
        let (home, ast, params) = (info.home, info.ast, info.tparam_asts);
        let mut paths = vec![];
        for_each_type(ast, &mut |ty| {
            if let ast::TypeKind::Path { path, .. } = &ty.kind {
                paths.push(path);
            }
        });
        let mut is_cyclic = false;
        for path in paths {
            if path.segments.len() == 1 && params.iter().any(|param| param.name.name == path.segments[0].name)
            {
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
        let (home, ast, params) = (info.home, info.ast, info.tparam_asts);
        let tparams = info.tparams.clone();
        let ty = self.at_item(home, params, &tparams, |this| {
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
        self.check_tune(id);
        if let Some(ty) = ty {
            let ty = self.at_item(home, &[], &[], |this| this.convert_sized(ty));
            self.program.statics[id].ty = ty;
            self.statics[id].progress = Progress::Done;
        }
    }

    /// Finds the written type of a function, once.
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
        let params = self.param_types(id);
        self.fns[id].n_implicit = ast.params.iter().rev().take_while(|param| param.is_implicit).count();
        let n_explicit = ast.params.len() - self.fns[id].n_implicit;
        if let Some(early) = ast.params[..n_explicit].iter().position(|param| param.is_implicit) {
            let span = ast.params[early + 1..].iter().find(|param| !param.is_implicit);
            let span = span.map_or(ast.params[early].span, |param| param.span);
            self.report(Error::ImplicitNotLast { span });
        }
        // Until the body is checked, this type is for messages only.
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

    /// The types of a function's parameters. A later `typeof` in the signature may refer to a
    /// parameter.
    fn param_types(&mut self, id: FnId) -> Vec<Ty> {
        let ast = self.fns[id].ast;
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
            let ty = match self.generic_fn_param(id, param) {
                Some(generic) => generic,
                None => self.param_type(param, ast.body.is_some()),
            };
            if let Some(pat) = param.pat.as_ref().filter(|_| has_typeof) {
                self.check_pat(pat, ty);
            }
            types.push(ty);
        }
        types
    }

    fn param_type(&mut self, param: &'a ast::Param, has_body: bool) -> Ty {
        match &param.ty {
            Some(ty) if has_body && param.pat.is_none() && self.names_of_untyped_pattern(ty).is_some() => {
                self.report(Error::ParamType { span: ty.span });
                return self.program.types.error();
            }
            Some(ty) => return self.convert_sized(ty),
            None => {}
        }
        let of_pattern = param.pat.as_ref().and_then(|pat| self.written_pat_type(pat));
        match of_pattern {
            Some(ty) if !self.program.types.info(ty).has_infer => ty,
            _ => {
                self.report(Error::ParamType { span: param.span });
                self.program.types.error()
            }
        }
    }

    /// The names in a written type that is probably a pattern without type: undefined names
    /// that look like variables, or a tuple of such names.
    pub fn names_of_untyped_pattern(&mut self, ty: &ast::TypeExpr) -> Option<Vec<ast::Ident>> {
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

    /// Reports cycles in the initializers of statics.
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
        Fn { params, ret, .. } => {
            params.iter().for_each(|param| for_each_type(param, visit));
            if let Some(ret) = ret
                && let ast::Ret::Type(ret) = &**ret
            {
                for_each_type(ret, visit);
            }
        }
        Typeof(_) | Number(_) | Error => {}
    }
}
