//! Names that shadow names from outside, and names that others may use.
//!
//! A definition wins over the name of the prelude or of a `use a::*`. That may be an accident: a call that was
//! meant for the library reaches the program's own function. So it is reported, unless the item says `#[shadows]`.
//! Packages see their own names only, so the library itself is never changed.

use cranelift_entity::EntityRef as _;
use nyala_span::{Code, Diagnostic, Name, Span};
use nyala_syntax::ast::Ident;

use crate::checker::Checker;
use crate::package::{Package, Role};
use crate::scope::{Binding, Def, ModuleId, PackageId, Visibility};
use crate::tree::{FnId, Linkage, StaticId};

/// What other packages may use of the user's libraries.
#[derive(Default)]
pub(crate) struct Interface {
    pub fns: Vec<FnId>,
    pub statics: Vec<StaticId>,
}

impl<'a> Checker<'a> {
    /// Warnings about names that shadow others.
    pub fn shadowing(&self, packages: &[Package<'_>]) -> Vec<Diagnostic> {
        let mut warnings = vec![];
        for (module, info) in &self.modules {
            let package = &packages[info.package.index()];
            if package.role == Role::Foreign || !package.warn_shadowing {
                continue;
            }
            for (&name, binding) in &info.names {
                let is_definition = !matches!(binding.def, Def::Use(_)) && !binding.shadows;
                let hidden = if is_definition { self.hidden_by(module, name, binding) } else { None };
                warnings.extend(
                    hidden.map(|(def, origin)| self.shadow_warning(name, binding.span, def, &origin)),
                );
            }
        }
        warnings
    }

    /// What else the name would mean in the module, and where that comes from.
    fn hidden_by(&self, module: ModuleId, name: Name, binding: &Binding) -> Option<(Def, String)> {
        let package = self.modules[module].package;
        let ident = Ident { name, span: Span::NONE };
        let glob = self.glob_member(module, ident, module).ok().flatten();
        let from_glob = glob.and_then(|def| {
            let home = self.home_of(def).filter(|&home| home != package)?;
            let library = self.packages[home].name?;
            Some((def, format!("the library `{library}`")))
        });
        let from_prelude = || {
            let def = self.prelude_member(module, name).and_then(|def| self.through_use(def).ok())?;
            Some((def, "the prelude".to_owned()))
        };
        if self.is_import(binding.def) {
            return None;
        }
        from_glob.or_else(from_prelude)
    }

    /// Whether it declares a function of C or of a device. It has the name that is fixed elsewhere, so this is no
    /// accident.
    fn is_import(&self, def: Def) -> bool {
        matches!(def, Def::Fn(id) if matches!(self.program.fns[id].linkage, Linkage::Import { .. }))
    }

    fn shadow_warning(&self, name: Name, span: Span, hidden: Def, origin: &str) -> Diagnostic {
        let noun = hidden.noun();
        let article = if noun.starts_with(['a', 'e', 'o']) { "an" } else { "a" };
        let message = format!("`{name}` shadows {article} {noun} of {origin}");
        let warning = Diagnostic::warning(Code("W0012"), span, message)
            .with_label("defined here")
            .with_note(format!("{origin} itself still uses its own; `#[shadows]` in front of the item says that this is intended"));
        match self.span_of(hidden) {
            Some(other) => warning.with_secondary(other, "the shadowed one"),
            None => warning,
        }
    }

    fn span_of(&self, def: Def) -> Option<Span> {
        match def {
            Def::Fn(id) => Some(self.program.fns[id].span),
            Def::Static(id) => Some(self.program.statics[id].span),
            Def::Struct(id) => Some(self.program.structs[id].span),
            Def::Enum(id) => Some(self.program.enums[id].span),
            Def::Alias(id) => Some(self.aliases[id].name.span),
            _ => None,
        }
    }

    /// The package that defines something.
    fn home_of(&self, def: Def) -> Option<PackageId> {
        let module = match def {
            Def::Fn(id) => self.fns[id].home.module,
            Def::Static(id) => self.statics[id].home.module,
            Def::Struct(id) => self.structs[id].home.module,
            Def::Enum(id) | Def::Option(id, _) => self.enums[id].home.module,
            Def::Alias(id) => self.aliases[id].home.module,
            Def::Module(id) => id,
            Def::TyParam(_) | Def::Local(_) | Def::Use(_) | Def::Error => return None,
        };
        Some(self.modules[module].package)
    }

    /// What others may use of the packages that are libraries.
    pub fn interface(&self, packages: &[Package<'_>]) -> Interface {
        let mut interface = Interface::default();
        let mut open: Vec<ModuleId> = vec![];
        for (id, package) in self.packages.iter() {
            open.extend((packages[id.index()].role == Role::Library).then_some(package.root));
        }
        while let Some(module) = open.pop() {
            let visible = self.modules[module].names.values();
            for binding in visible.filter(|binding| binding.visibility == Visibility::Everywhere) {
                match binding.def {
                    Def::Fn(id) => interface.fns.push(id),
                    Def::Static(id) => interface.statics.push(id),
                    Def::Module(inner) => open.push(inner),
                    _ => {}
                }
            }
        }
        interface
    }
}
