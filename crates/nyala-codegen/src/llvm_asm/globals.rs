//! Globals and private constants: each is written when it is first used.

use nyala_ir::{Global, Linkage, Ty};
use rustc_hash::FxHashMap;

use super::symbols::{escaped, symbol};
use super::value::{Scalar, Type};
use super::{ModuleWriter, device};

/// The globals of a module.
#[derive(Default)]
pub(crate) struct Globals {
    /// Their definitions.
    pub(crate) text: String,
    names: FxHashMap<Global, String>,
    /// Private constants, by type and value.
    constants: FxHashMap<String, String>,
}

impl<'a> ModuleWriter<'a> {
    /// The address of a constant.
    pub(crate) fn private_constant(&mut self, ty: Ty, value: &str) -> String {
        let constant = format!("{} {value}", self.ty(ty));
        let align = self.align_of(ty);
        self.private(constant, align)
    }

    /// The address of a constant, given as type and value.
    pub(crate) fn private(&mut self, constant: String, align: u64) -> String {
        if let Some(name) = self.globals.constants.get(&constant) {
            return name.clone();
        }
        let name = format!("@{}", self.names.unique("const"));
        let space = self.global_space();
        self.globals.text +=
            &format!("{name} = private unnamed_addr {space}constant {constant}, align {align}\n");
        let address = self.global_address(name);
        self.globals.constants.insert(constant, address.clone());
        address
    }

    /// The symbol of a global, which is written when it is first used.
    pub(crate) fn global(&mut self, global: Global) -> String {
        if let Some(name) = self.globals.names.get(&global) {
            return name.clone();
        }
        let world = self.world;
        let data = world.global(global);
        let (name, linkage) = match &data.linkage {
            Linkage::Exported(name) => (symbol(name.as_str()), ""),
            Linkage::Imported(name) | Linkage::Device(name) => (symbol(name.as_str()), "external "),
            Linkage::Internal | Linkage::Intrinsic(_) | Linkage::Debugger => {
                (format!("@{}", self.names.unique(data.name.as_str())), "internal ")
            }
        };
        let address = self.global_address(name.clone());
        self.globals.names.insert(global, address.clone());
        if let Some(contents) = self.contents_of(&data.linkage) {
            let ty = Type::array(contents.len() as u64, &Type::I8);
            self.globals.text +=
                &format!("{name} = internal constant {ty} c\"{}\", align 8\n", escaped(contents));
            return address;
        }
        let (ty, init) = match (linkage, data.init) {
            ("external ", _) => (self.ty(data.ty), String::new()),
            (_, None) => (self.ty(data.ty), "zeroinitializer".into()),
            (_, Some(init)) => self.initializer(init).unwrap_or_else(|| {
                let init = self.unsupported(data.span, format!("the initializer of `{}`", data.name));
                (self.ty(data.ty), init)
            }),
        };
        let kind = if data.is_mut { "global" } else { "constant" };
        let (align, space) = (self.align_of(data.ty), self.global_space());
        self.globals.text += &format!("{name} = {linkage}{space}{kind} {ty} {init}, align {align}\n");
        address
    }

    /// Writes the exported globals that no function uses. A device exports kernels only.
    pub(super) fn export_globals(&mut self) {
        let is_exported = |linkage: &Linkage| matches!(linkage, Linkage::Exported(_));
        for (global, _) in self.world.globals().filter(|(_, data)| is_exported(&data.linkage)) {
            if self.options.gpu.is_none() {
                self.global(global);
            }
        }
    }

    /// The contents of a global that the program only declares.
    fn contents_of(&self, linkage: &Linkage) -> Option<&'a [u8]> {
        let Linkage::Imported(name) = linkage else { return None };
        self.options
            .contents
            .iter()
            .find(|(symbol, _)| *symbol == name.as_str())
            .map(|&(_, contents)| contents)
    }

    /// The address space of globals, as it is written at their definition.
    fn global_space(&self) -> String {
        self.options.gpu.map_or(String::new(), |_| format!("addrspace({}) ", device::GLOBAL))
    }

    /// The address of a global as a generic pointer.
    fn global_address(&self, name: String) -> String {
        match self.options.gpu {
            Some(_) => format!("addrspacecast ({} {name} to ptr)", Scalar::Ptr(device::GLOBAL)),
            None => name,
        }
    }
}
