//! An interface as Rust declarations, which a crate that links the program includes.

use crate::{Function, Interface, Type, TypeDef, TypeDefKind};

/// Declarations of all types, functions and statics.
pub fn bindings(interface: &Interface) -> String {
    let mut sections = vec!["// The interface of a program, written by nyala.".to_owned()];
    sections.extend(interface.types.iter().map(definition));
    sections.extend(
        interface
            .opaque
            .iter()
            .map(|name| item(&format!("#[repr(C)]\npub struct {name} {{ _private: [u8; 0] }}"))),
    );
    sections.push(foreign_items(interface));
    sections.push(imports(interface));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// Names are those of the program, which may not follow the conventions of Rust.
fn item(text: &str) -> String {
    format!(
        "#[allow(missing_docs, dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]\n{text}"
    )
}

fn data(text: &str) -> String {
    item(&format!("#[derive(Clone, Copy)]\n{text}"))
}

fn definition(def: &TypeDef) -> String {
    let name = &def.name;
    let fields = |fields: &[(String, Type)]| -> String {
        fields.iter().map(|(field, ty)| format!("    pub {field}: {},\n", rust_type(ty))).collect()
    };
    match &def.kind {
        TypeDefKind::Struct(all) => data(&format!("#[repr(C)]\npub struct {name} {{\n{}}}", fields(all))),
        TypeDefKind::Simd { elem, lanes, bytes } => data(&format!(
            "#[repr(C, align({bytes}))]\npub struct {name}(pub [{}; {lanes}]);",
            rust_type(elem)
        )),
        TypeDefKind::Enum { options, tag_bits } => {
            let payloads: Vec<(String, Type)> = options
                .iter()
                .filter_map(|(option, payload)| Some((option.clone(), payload.clone()?)))
                .collect();
            let mut items = vec![];
            let mut parts = vec![];
            if !payloads.is_empty() {
                items.push(data(&format!("#[repr(C)]\npub union {name}_data {{\n{}}}", fields(&payloads))));
                parts.push(("data".to_owned(), Type::Named(format!("{name}_data"))));
            }
            parts.push(("tag".to_owned(), Type::int(*tag_bits, false)));
            items.push(data(&format!("#[repr(C)]\npub struct {name} {{\n{}}}", fields(&parts))));
            let tags = options.iter().enumerate();
            let tags: String = tags
                .map(|(tag, (option, _))| format!("    pub const {option}: u{tag_bits} = {tag};\n"))
                .collect();
            items.push(item(&format!("impl {name} {{\n{tags}}}")));
            items.join("\n\n")
        }
    }
}

fn foreign_items(interface: &Interface) -> String {
    let functions = interface.exports.iter().map(|function| declaration(interface, function));
    let statics = interface.statics.iter().map(|item| {
        let mutable = if item.is_mut { "mut " } else { "" };
        let (name, link_name) = (&item.name, link_name(&item.symbol, &item.name));
        format!("{link_name}    pub static {mutable}{name}: {};\n", rust_type(&item.ty))
    });
    let items: String = functions.chain(statics).collect();
    if items.is_empty() { items } else { item(&format!("unsafe extern \"C\" {{\n{items}}}")) }
}

/// The imported functions, as a comment: the linking program defines them.
fn imports(interface: &Interface) -> String {
    if interface.imports.is_empty() {
        return String::new();
    }
    let line = |function: &Function| format!("\n//     pub extern \"C\" {}", head(function));
    let lines: String = interface.imports.iter().map(line).collect();
    format!("// The program calls these functions, which the linking program defines:\n//{lines}")
}

fn declaration(interface: &Interface, function: &Function) -> String {
    let signature = &function.signature;
    if !signature.params.iter().chain([&signature.result]).all(|ty| is_passed(interface, ty)) {
        return format!("    // `{}` passes values that Rust has no types for.\n", function.symbol);
    }
    format!("{}    pub {};\n", link_name(&function.symbol, &function.name), head(function))
}

/// The name of a function and its type.
fn head(function: &Function) -> String {
    let signature = &function.signature;
    let named = function.params.iter().zip(&signature.params).enumerate();
    let params = named.map(|(index, (name, ty))| match name {
        Some(name) => format!("{name}: {}", rust_type(ty)),
        None => format!("arg{index}: {}", rust_type(ty)),
    });
    let params = params.collect::<Vec<_>>().join(", ");
    let result = match &signature.result {
        Type::Void => String::new(),
        result => format!(" -> {}", rust_type(result)),
    };
    format!("fn {}({params}){result}", function.name)
}

/// Whether Rust passes values of this type as C does: it has no half floats and no vectors.
fn is_passed(interface: &Interface, ty: &Type) -> bool {
    let mut waiting = vec![ty];
    while let Some(ty) = waiting.pop() {
        match ty {
            Type::Float { bits: 16 } => return false,
            Type::Array { elem, .. } => waiting.push(elem),
            Type::Named(name) => {
                match interface.types.iter().find(|def| def.name == *name).map(|def| &def.kind) {
                    Some(TypeDefKind::Struct(fields)) => waiting.extend(fields.iter().map(|(_, ty)| ty)),
                    Some(TypeDefKind::Enum { options, .. }) => {
                        waiting.extend(options.iter().filter_map(|(_, payload)| payload.as_ref()));
                    }
                    Some(TypeDefKind::Simd { .. }) | None => return false,
                }
            }
            _ => {}
        }
    }
    true
}

fn link_name(symbol: &str, name: &str) -> String {
    if symbol == name { String::new() } else { format!("    #[link_name = {symbol:?}]\n") }
}

/// A type with full paths; half floats are their bits.
fn rust_type(ty: &Type) -> String {
    match ty {
        Type::Float { bits: 16 } => "u16".into(),
        Type::Ptr { is_mut, to } => {
            let kind = if *is_mut { "mut" } else { "const" };
            match **to {
                Type::Void => format!("*{kind} ::core::ffi::c_void"),
                ref to => format!("*{kind} {}", rust_type(to)),
            }
        }
        Type::Array { elem, len } => format!("[{}; {len}]", rust_type(elem)),
        Type::Function(signature) => {
            let params: Vec<String> = signature.params.iter().map(rust_type).collect();
            let result = match &signature.result {
                Type::Void => String::new(),
                result => format!(" -> {}", rust_type(result)),
            };
            format!("extern \"C\" fn({}){result}", params.join(", "))
        }
        _ => ty.to_string(),
    }
}
