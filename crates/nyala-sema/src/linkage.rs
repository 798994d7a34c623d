//! Linkage of functions: attributes, link names, `main`, and the types of exported and imported functions.
//!
//! `symbols` checks afterwards that declarations of one symbol agree.

use nyala_span::Name;
use nyala_syntax::ast::{self, AttrValue, LitKind};

use crate::checker::Checker;
use crate::errors::Error;
use crate::scope::{Binding, Def};
use crate::tree::{Abi, AttrArg, FnId, Linkage};
use crate::types::Ty;

impl<'a> Checker<'a> {
    /// Finds the linkage and the attributes of a function.
    pub(crate) fn declare_linkage(&mut self, id: FnId) {
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
        self.declare_role(id);
        if let Some(tune) = by_attr("tune") {
            self.report_tune(tune);
        }
    }

    /// The linkage of a static.
    pub(crate) fn static_linkage(&mut self, attrs: &'a [ast::Attr], name: Name) -> Linkage {
        self.known_attrs(attrs);
        match attrs.iter().find(|attr| attr.name.name.as_str() == "export") {
            Some(export) => Linkage::Export(symbol(export).unwrap_or(name)),
            None => Linkage::Internal,
        }
    }

    /// Reports unknown attributes; returns those for later stages.
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
                // See `declare_role` and `tuning`.
                "test" | "bench" | "tune" => {}
                // For the warning about names that shadow others.
                "shadows" => {}
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

    /// Reports an attribute other than `export` and `export(name = "..")`; the same for `intern`.
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

    /// Reports a name that no symbol can have: a zero ends names in object files, and assemblers read lines.
    fn check_link_name(&mut self, name: &ast::StrLit) {
        let why = match std::str::from_utf8(&name.bytes) {
            Ok("") => "it is empty",
            Ok(text) if text.contains(|letter: char| letter.is_control()) => "it has a control character",
            Ok(_) => return,
            Err(_) => "it is not UTF-8",
        };
        self.report(Error::LinkName { span: name.span, why });
    }

    /// Finds the entry point.
    pub(crate) fn find_main(&mut self) {
        let Some(package) = self.packages.get(self.program_package) else { return };
        match self.modules[package.root].names.get(&Name::new("main")) {
            Some(&Binding { def: Def::Fn(id), .. }) if self.fns[id].abi.is_none() => {
                self.program.main = Some(id);
            }
            Some(&Binding { def: Def::Static(_), span, .. }) => self.report(Error::MainIsStatic { span }),
            _ => {}
        }
    }

    /// Checks the types of exported functions, `main`, and functions imported from C.
    pub(crate) fn check_linkage(&mut self, id: FnId) {
        let function = &self.program.fns[id];
        let (name, span, ty) = (function.name, function.span, function.ty);
        if self.program.types.info(ty).has_error {
            return;
        }
        let verb = match self.program.fns[id].linkage {
            Linkage::Import { abi: Abi::C, .. } => "imported",
            Linkage::Export(_) => "exported",
            _ => return self.check_main(id, ty),
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

    /// Whether C has function pointers of this type.
    fn is_plain_function(&self, ty: Ty) -> bool {
        let Some((params, ret)) = self.program.types.as_fn(ty) else { return false };
        params.iter().chain([&ret]).all(|&part| !self.contains_function(part))
    }

    /// A `main` that cannot be exported is a function like any other. Only a program that is started needs more:
    /// see `nyala_ir::entry`.
    fn check_main(&mut self, id: FnId, ty: Ty) {
        let is_main = self.program.main == Some(id);
        let is_exported = self.program.fns[id].tparams.is_empty() && self.is_plain_function(ty);
        if is_main && !is_exported {
            self.program.main = None;
        }
    }
}

/// The value of `name = ".."` in the arguments of an attribute.
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
